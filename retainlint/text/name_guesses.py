"""What is guessed of a text by the names in it, before anything of it is parsed: each guess in one row of one table.

A wrong one costs time, or leaves something unseen; no finding rests on it. `docs/conventions.md` is written from it.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Guess(NamedTuple):
    """Names, as the text of a regular expression, what has one of them is taken for, and others that look alike."""

    names: str
    taken_for: str
    examples: tuple[str, ...]
    others: tuple[str, ...]

    def takes(self, name: str) -> bool:
        return re.fullmatch(self.names, name) is not None


SPEAKS = Guess(
    r"(?:_*(?:is|has|must|should|can|needs|use|set|reset|mark|track|save|register)_\w*"
    r"|(?:\w*_)?(?:for|in|of|during|before|after|pre|post)_|\w*_register_)backward",
    "a question, a switch or a hook, which runs no backward pass itself",
    ("is_backward", "save_for_backward", "set_is_last_backward", "on_after_backward", "_check_can_register_backward"),
    ("backward", "manual_backward", "run_backward"),
)
OF_CLASS = Guess(
    r"cls|\w*_cls|\w*Function",
    "a class with a `backward` of its own, which torch's engine calls; only Tensor's runs a pass, and is seldom called so",
    ("cls", "scale_cls", "MyFunction"),
    ("self", "functions", "loss"),
)
LOSS_SCALER = Guess(
    r"loss_scaler|NativeScaler",
    "a loss scaler as in timm: a call of it is a backward pass and a step",
    ("loss_scaler", "NativeScaler"),
    ("scaler", "loss_scale"),
)
KEPT = Guess(
    r"\w*(?:loss|output|logit)\w*",
    "what may have a graph where it is added to a total, or put into a list",
    ("loss", "val_losses", "outputs", "logits"),
    ("accuracy", "count"),
)
MODEL = Guess(
    r"(?!(?:get|make|build|create|load|init)_)(?:\w+_)?(?:model|net|network|encoder|decoder|classifier)",
    "a network: what a call of it gives has a graph where it is put into a list",
    ("model", "net", "network", "encoder", "decoder", "classifier"),
    ("get_model", "planet", "models"),
)
OF_LAYER = Guess(
    r"weights?|bias(?:es)?",
    "a parameter of a layer, which can't be changed in place outside of `no_grad`",
    ("weight", "bias"),
    ("weight_decay", "data"),
)
UNCHANGING = Guess(
    r"(?:requires_grad|detach|share_memory|rename)_",
    "a method that changes no values, in spite of its name",
    ("requires_grad_", "detach_"),
    ("add_", "detach"),
)
STARTED = Guess(
    r"main|cli|worker|objective",
    "a function that is started from elsewhere: by a console script, a launcher of processes, a search for parameters",
    ("main", "worker"),
    ("domain", "workers"),
)
TRAINS = Guess(
    r"main|worker|\w*train\w*|fit\w*|run\w*",
    "a function that trains what it makes, in a text that doesn't speak of torch",
    ("main", "train_model", "fit_all", "run"),
    ("evaluate", "rerun"),
)
TRAINING = Guess(
    r"fit|train|learn",
    "a method that trains where a script calls it outside of functions",
    ("fit", "train", "learn"),
    ("fit_transform", "predict"),
)
COMMON = Guess(
    r"train|eval|step|update|forward|fit|run|append|add|get",
    "a method that many classes have: a call of it tells something only of the object itself, of a module, or of what was made",
    ("train", "step", "append"),
    ("training_step", "backward"),
)
REGISTERS = Guess(
    r"(?i:\w*regist\w*)",
    "what enters something into a registry: its module is run for what its import does",
    ("register", "register_model", "ModelRegistry"),
    ("regimen", "enter"),
)
REGISTER = Guess(
    r"(?i:\w*register\w*)",
    "a function that does so where a module calls it outside of functions",
    ("register", "register_model"),
    ("Registry", "enter"),
)
HOLDER = Guess(
    r"[a-z0-9_.]*[A-Z][\w.]*",
    "what a module outside of functions sets an item of, or updates, for others: it is run for that",
    ("MODELS", "models.Known"),
    ("models", "config.names"),
)
TABLE = Guess(
    r"[A-Z][A-Z_]*",
    "a table, given to a decorator that enters there what it decorates",
    ("MODELS", "ALL_MODELS"),
    ("Models", "models"),
)
FREEZES = Guess(
    r"_*(?:[Ff]reezes?|[Ff]rozen)(?!(?i:\w*(?:except|but|without|non|rest|other|unfr)))(?:_\w+|[A-Z]\w*)",
    "what freezes the part of a network that it names, and no more",
    ("freeze_backbone", "FreezeBackbone"),
    ("freeze", "unfreeze_head", "freeze_all_but_head", "frozen"),
)

GUESSES: dict[str, Guess] = {name: row for name, row in globals().items() if isinstance(row, Guess)}
"""All of them, by name."""
