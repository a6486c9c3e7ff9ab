"""DeepSpeed: an engine calls the model, walks losses, and steps where the configuration says nothing else."""

import torch

from retainlint.stubs import seen

MODULES = ("deepspeed",)
# it steps on copies, or with one of its own
COPIES = ("fp16", "bf16", "amp", "zero_optimization", "pipeline", "optimizer")


class DeepSpeedEngine(torch.nn.Module):
    def __init__(self, module, optimizer, config):
        self.module = module
        plain = seen(config) and config.get("gradient_accumulation_steps", 1) == 1
        self.moved = optimizer if plain and not [key for key in COPIES if key in config] else None

    def __call__(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def backward(self, loss, **options):
        loss.backward(**options)

    def step(self):
        if seen(self.moved) and self.moved is not None:
            self.moved.step()
            self.moved.zero_grad()


def initialize(args=None, model=None, optimizer=None, *rest, config=None, **options):
    def others(loader, scheduler):
        return loader, scheduler

    return (DeepSpeedEngine(model, optimizer, config), optimizer, *others())  # what isn't given, nobody knows
