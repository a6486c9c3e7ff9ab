"""Torch's graph errors as a traceback shows them: which rules tell of each, what it means, and what to try."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from retainlint.catalogue import CATALOGUE, FREED, MODIFIED


@dataclass(frozen=True)
class Misuse:
    """One of torch's errors. `words` begin its message in every version of torch, but for what it names first; `codes` are the rules that find it."""

    name: str
    words: str
    codes: tuple[str, ...]
    meaning: str
    cures: tuple[str, ...]


def _of(family: str) -> tuple[str, ...]:
    return tuple(code for code, (*_, each) in CATALOGUE.items() if each == family)


_FREED = Misuse(
    "freed",
    "Trying to backward through the graph a second time",
    _of(FREED),
    "a backward pass (backward or autograd.grad) came to a part of the graph that an earlier one had freed",
    (
        "if a tensor is carried from one iteration to the next (a hidden state, a running total): `detach()` it between them",
        "if the loss uses another network's output that isn't trained here: `detach()` that output",
        "if two losses share a forward pass: call backward once, on their sum",
        "if something is computed once, before the loop: compute it inside",
        "`retain_graph=True` in the earlier backward only if the same graph is really wanted twice",
    ),
)
_MODIFIED = Misuse(
    "modified",
    "one of the variables needed for gradient computation has been modified",
    _of(MODIFIED),
    "a tensor that the graph had saved was changed in place before the backward pass that needs it",
    (
        "run it with `torch.autograd.set_detect_anomaly(True)`: then torch says which operation had saved it, and"
        " `retainlint why` reads that too",
        "look for `+=`, `x[...] = ...` and methods that end in `_` between that operation and the backward call, and write them"
        " out of place",
        "if an optimiser's `step()` stands between forward and backward: call backward first, then step",
    ),
)
_NO_GRAPH = Misuse(
    "no-graph",
    "does not require grad and does not have a grad_fn",
    ("RTL112",),
    "backward starts at a tensor that has no graph",
    (
        "look for `detach()`, `.data`, `.item()`, `.numpy()`, `argmax`, comparisons, and `torch.no_grad()` on the way"
        " from the parameters to the loss",
        "see that the parameters aren't frozen: `any(p.requires_grad for p in model.parameters())`",
        "don't wrap a loss in a new tensor: `torch.tensor(loss)` is a new leaf",
    ),
)
_LEAF = Misuse(
    "leaf-modified",
    "a leaf Variable that requires grad",
    ("RTL113",),
    "a parameter, or another leaf that requires grad, was changed in place while a graph was recorded",
    (
        "change it inside `with torch.no_grad():`",
        "or make a new tensor: `x = x + 1` instead of `x += 1`",
    ),
)
_LEAF_VIEW = replace(_LEAF, words="a view of a leaf Variable that requires grad")
_UNUSED = "autograd.grad was asked for a tensor that the backward pass doesn't reach"
_UNUSED_CURES = (
    "see that the output is computed from that very tensor, not from a copy made before or after",
    "`allow_unused=True`, if None is a fine answer",
)
_UNUSED_WORDS = (
    "One of the differentiated Tensors appears to not have been used in the graph",
    "The differentiated Tensor at index",
)
_OTHERS = (
    Misuse(
        "not-scalar", "grad can be implicitly created only for scalar outputs", (),
        "backward() was called on a tensor of several elements",
        ("reduce the loss to one number first: `.mean()` or `.sum()`", "or give `backward` a gradient of its shape"),
    ),
    *(Misuse("unused", words, (), _UNUSED, _UNUSED_CURES) for words in _UNUSED_WORDS),
    Misuse(
        "no-grad-input", "One of the differentiated Tensors does not require grad", (),
        "autograd.grad was asked for a tensor that requires no gradient",
        ("call `requires_grad_()` on it before it is used",),
    ),
    Misuse(
        "inference-saved", "Inference tensors cannot be saved for backward", ("RTL117",),
        "a tensor that was made under torch.inference_mode() came into a graph",
        ("use `torch.no_grad()` instead, or `clone()` the tensor outside",),
    ),
    Misuse(
        "view-of-several", "is a view and is being modified inplace. This view is the output of a function that returns", ("RTL116",),
        "a piece that `unbind`, `split` or `chunk` gave was changed in place; torch can't follow a change of one of several views",
        (
            "write it out of place: `piece = piece + 1` instead of `piece += 1`",
            "or take the piece by its index, `x[0]`, which may be changed in place",
        ),
    ),
    Misuse(
        "view-from-no-grad", "A view was created in no_grad mode", (),
        "a view was made under `torch.no_grad()` and changed in place outside of it",
        ("put both into the `torch.no_grad()` block, or both outside", "or copy it there: `clone()`"),
    ),
    Misuse(
        "copy-of-graph", "Only Tensors created explicitly by the user (graph leaves) support the deepcopy", (),
        "`copy.deepcopy` came to a tensor that has a graph: a module or an object keeps a computed tensor as an attribute",
        (
            "keep it detached: `self.h = h.detach()`",
            "if it is a weight that a parametrization computes (weight norm), copy the `state_dict` into a module made anew",
        ),
    ),
    Misuse(
        "optimised-result", "can't optimize a non-leaf Tensor", ("RTL115",),
        "an optimiser was given a tensor that was computed, so nobody would compute it again from what was learned",
        (
            "give it the tensor that the computation began with",
            "make a leaf: `torch.randn(3, device=device, requires_grad=True)`, or `x.detach().requires_grad_()`; a `.to(device)`,"
            " or a product behind `requires_grad=True` makes a result of it",
        ),
    ),
    Misuse(
        "not-a-number", "returned nan values in its", (),
        "anomaly detection found that a backward pass computed something that is no number",
        (
            "look at the row that anomaly detection names: `sqrt`, `log`, a division, a norm or a power at 0, `atan2` at (0, 0)",
            "keep the argument away from there before the operation, by `clamp(min=eps)` or `+ eps`; to mask the result behind it"
            " doesn't help: nought times infinity is no number",
        ),
    ),
)  # fmt: skip

MISUSES = (_FREED, _MODIFIED, _NO_GRAPH, _LEAF_VIEW, _LEAF, *_OTHERS)
FAILURES = (*_FREED.codes, *_MODIFIED.codes, *_NO_GRAPH.codes, *_LEAF.codes)
"""The rules that tell of a program that raises."""

_RAISED = re.compile(
    r"(?:(?P<type>(?<![\w.])[A-Za-z_][\w.]*):\s{1,2}|^[\W\d]*)(?P<message>(?:element \d+ of \w+ |Output \d+ of \w+ |Function '\w+' )?(?:"
    + "|".join(re.escape(misuse.words) for misuse in MISUSES)
    + r").*)"
)


def recognised(line: str) -> tuple[Misuse, str, str] | None:
    """The error that a line of output tells of, its type and its message; a line of source that names it is none."""
    if not any(misuse.words in line for misuse in MISUSES):
        return None
    found = _RAISED.search(line)
    if found is None:
        return None
    misuse = next(misuse for misuse in MISUSES if misuse.words in found["message"])
    return misuse, found["type"] or "RuntimeError", found["message"].strip(" \t│|")
