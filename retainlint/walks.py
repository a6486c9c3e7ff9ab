"""Which texts may walk a graph: told by their characters alone, before anything is parsed."""

from __future__ import annotations

import re

STEPS = ("training_step", "compute_loss")
"""Methods whose result a trainer walks."""

WALKERS = ("loss_scaler", "create_supervised_trainer")
"""What walks when it is called, without the word: timm's scalers, ignite's trainer."""

_BY_OTHERS = rf"def[ \t]+(?:{'|'.join(STEPS)})[ \t]*\(|(?:{'|'.join(WALKERS)})[ \t]*\("
WALK = re.compile(rf"\.\s*\w*backward\b|(?<!def )\b\w*backward\s*\(|\bgrad\s*\(|{_BY_OTHERS}")
"""`loss.backward`, `manual_backward(loss)`, `autograd.grad(...)`; not `def backward(...)`. Comments and texts count too.
So do `STEPS` and `WALKERS`."""

_BACKWARD = re.compile(rb"backward(?![0-9A-Za-z_\x80-\xff])(\s*\()?")
_OTHERS = tuple(word.encode() for word in STEPS + WALKERS)
_WALKED_BY_OTHERS = re.compile(_BY_OTHERS.encode())
_GRAD = re.compile(rb"grad\s*\(")
_WORD = frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz") | frozenset(range(128, 256))
_SPACE = frozenset(b" \t\r\n\f\v")


def may_walk(data: bytes) -> bool:
    """Whether `WALK` may be found in bytes; several times as fast, since it looks for whole words first."""
    if b"backward" in data:
        for found in _BACKWARD.finditer(data):
            start = at = _behind(data, found.start(), _WORD)
            if at > 0:
                at = _behind(data, at, _SPACE)
            if data[at - 1 : at] == b"." or (found[1] is not None and data[max(start - 4, 0) : start] != b"def "):
                return True
    if any(word in data for word in _OTHERS):
        if _WALKED_BY_OTHERS.search(data) is not None:
            return True
    if b"grad" in data:
        for found in _GRAD.finditer(data):
            if found.start() == 0 or data[found.start() - 1] not in _WORD:
                return True
    return False


def may_walk_in_cells(data: bytes) -> bool:
    """The same of a notebook's bytes, whose cells are JSON: any character may be escaped."""
    return b"backward" in data or b"grad" in data or b"\\u00" in data


def _behind(data: bytes, at: int, kind: frozenset[int]) -> int:
    """Where the bytes of a kind start that end at `at`."""
    while at > 0 and data[at - 1] in kind:
        at -= 1
    return at
