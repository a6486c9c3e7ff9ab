"""Weights & Biases: an agent of a sweep calls its function for one run after the other."""

MODULES = ("wandb", "wandb.agents", "wandb.wandb_agent")


def agent(sweep_id, function=None, entity=None, project=None, count=None):
    if function is not None:
        for _ in _runs() if count is None else range(count):
            function()


def _runs(number):
    """Called without a number, as many as nobody knows."""
    return range(number)
