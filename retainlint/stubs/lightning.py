"""Lightning: a trainer runs `training_step` for each batch, with hooks around it, and walks and steps where the module doesn't do so itself."""

import torch

from retainlint.stubs import loss_in, optimizers, seen, step, walks

MODULES = ("lightning", "lightning.pytorch", "pytorch_lightning")
ANYWHERE = ("LightningModule",)
STEPS = ("training_step",)


def _hook(self, *args):
    pass


class LightningModule(torch.nn.Module):
    automatic_optimization = True
    setup = on_fit_start = on_train_start = on_train_epoch_start = on_train_epoch_end = on_train_end = _hook
    on_train_batch_start = on_batch_start = on_before_zero_grad = on_after_backward = _hook
    on_train_batch_end = on_batch_end = _hook

    def run_training_step(self, number, trainer=None, callbacks=()):
        for callback in callbacks:
            callback.on_train_batch_start(trainer, self)
            callback.on_batch_start(trainer, self)
        self.on_train_batch_start()
        self.on_batch_start()
        output = self.training_step(optimizer_idx=number - 1)
        automatic = self.automatic_optimization
        if seen(automatic) and automatic and not walks(self.training_step):
            loss = loss_in(output)
            if loss is not None:
                for callback in callbacks:
                    callback.on_before_zero_grad(trainer, self)
                self.on_before_zero_grad()
                self.backward(loss)
                for callback in callbacks:
                    callback.on_after_backward(trainer, self)
                self.on_after_backward()
                step(self, number)
        for callback in callbacks:
            callback.on_train_batch_end(trainer, self)
            callback.on_batch_end(trainer, self)
        self.on_train_batch_end()
        self.on_batch_end()
        return output

    def backward(self, loss, *args, **kwargs):
        loss.backward(*args, **kwargs)

    manual_backward = backward

    def optimizers(self, *args, **kwargs):
        return optimizers(self)


class Callback:
    on_train_batch_start = on_batch_start = on_before_zero_grad = on_after_backward = _hook
    on_train_batch_end = on_batch_end = _hook


class Trainer:
    def __init__(self, *args, callbacks=None, **options):
        self.callbacks = callbacks

    def fit(self, model, *args, **kwargs):
        if not seen(model):
            return
        callbacks = [each for each in self.callbacks if seen(each)] if seen(self.callbacks) else []
        model.setup()
        model.on_fit_start()
        model.on_train_start()
        model.on_train_epoch_start()
        for number in (1, 2):  # what a batch leaves to the next one shows in two
            model.run_training_step(number, self, callbacks)
        model.on_train_epoch_end()
        model.on_train_end()
