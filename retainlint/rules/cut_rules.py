"""How graphs get lost, and what is to be done about that: what the rules on missing graphs have in common."""

from __future__ import annotations

import re

from retainlint.rules.source_hints import sole_name
from retainlint.rules.wording import place
from retainlint.text.quoting import code, short
from retainlint.text.source import Source, Span

CUTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "detach": (
        "cut off here: `detach()` drops the graph",
        (
            "call backward on the tensor from before `detach()`",
            "if a new leaf begins there, give that one `.requires_grad_()`",
        ),
    ),
    "no_grad": ("computed without a graph, under `no_grad`", ("compute it outside of `torch.no_grad()`",)),
    "data": ("cut off here: `.data` has no graph", ("use the tensor itself, not its `.data`",)),
    "copied": (
        "a copy of its numbers, without a graph",
        ("use the tensor itself: `torch.tensor` makes a new one of its numbers",),
    ),
    "item": (
        "a number from here on, without a graph",
        ("keep the tensor for backward, and take `.item()` for the log",),
    ),
    "wrapped": (
        "the numbers of some tensors, without their graphs",
        ("`torch.stack` in place of `torch.tensor`: it keeps the graphs of what is in the list",),
    ),
    "create_graph": ("a gradient without a graph of its own", ("ask for its graph: `create_graph=True`",)),
    "constant": (
        "this gradient is constant: it is a function of nothing that requires one",
        ("leave the gradient out of the loss: it can't change",),
    ),
    "checkpoint": (
        "nothing that this checkpoint is given requires a gradient: what it returns doesn't either",
        ("`use_reentrant=False`: that kind of checkpoint records whatever its inputs require",),
    ),
    "plain": (
        "what this function returns here has no gradient: it is marked as not differentiable",
        ("leave it out of the loss, or let the function give its gradient, and not `mark_non_differentiable` it",),
    ),
    "indices": (
        "no gradient flows through the indices that this gives",
        ("call backward on a loss of what the indices are chosen by",),
    ),
    "leaf": ("requires no gradient", ("let what is to be trained require a gradient: `requires_grad=True`",)),
}
"""How a graph gets lost: what is said of the place, and what to do about it."""


def outside_of(block: Span, home: Source, made: Span) -> str:
    """What is to be done about a block, or a decorator, under which no graph is recorded of what is made there."""
    text = block.text.strip().removesuffix(":")
    if (asked := re.search(r"set_grad_enabled\((?!False\b)(.+)\)", text)) is not None:
        return f"let {code(asked[1])} be true where this is trained: {code(text)} on {place(block, home)} records no graph while it isn't"
    if text.startswith("@"):
        name = re.search(r"\bdef\s+(\w+)", block.source.text[block.end :])
        function = code(name[1]) if name is not None else "the function"
        return (
            f"take {code(text)} off {function} ({place(block, home)}); a call of it that trains nothing goes under"
            " `with torch.no_grad():` where it stands"
        )
    return f"compute {code(sole_name(made) or short(made.text))} outside of {code(text)} ({place(block, home)})"
