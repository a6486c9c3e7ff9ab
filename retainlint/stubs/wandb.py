"""Weights & Biases: an agent of a sweep calls its function for one run after the other."""

from retainlint.stubs import unknown

MODULES = ("wandb", "wandb.agents", "wandb.wandb_agent")


def agent(sweep_id, function=None, entity=None, project=None, count=None):
    if function is not None:
        for _ in range(unknown()) if count is None else range(count):
            function()
