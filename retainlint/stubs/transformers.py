"""Hugging Face's trainers walk what `compute_loss` returns; by default that is the loss which the model itself computes."""

from retainlint.stubs import loss_in, seen

MODULES = ("transformers", "transformers.trainer", "transformers.trainer_seq2seq", "trl")
ANYWHERE = ("Trainer",)
STEPS = ("compute_loss",)


class Trainer:
    def __init__(self, model=None, *args, **kwargs):
        self.model = model

    def train(self, *args, **kwargs):
        if seen(self.model) or seen(self.compute_loss) or seen(self.training_step):
            for number in (1, 2):  # what a batch leaves to the next one shows in two
                self.run_compute_loss(number)

    def run_compute_loss(self, number):
        return self.training_step(self.model)

    def training_step(self, model, inputs):
        loss = loss_in(self.compute_loss(model, inputs))
        if loss is not None:
            loss.backward()
        return loss

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        outputs = model(**inputs)
        if not seen(outputs):
            loss = outputs.loss
        elif isinstance(outputs, tuple):
            loss = outputs[0]
        else:
            loss = outputs["loss"]
        return (loss, outputs) if return_outputs else loss


Seq2SeqTrainer = SFTTrainer = DPOTrainer = PPOTrainer = KTOTrainer = GRPOTrainer = RewardTrainer = Trainer
