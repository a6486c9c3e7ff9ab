"""Which texts may walk a graph: told by their characters alone, before anything is parsed."""

from __future__ import annotations

import re

from retainlint.kinds import is_notebook

STEPS = ("training_step", "compute_loss")
"""Methods whose result a trainer walks."""

WALKERS = ("loss_scaler", "create_supervised_trainer", "NativeScaler")
"""What walks when it is called, without the word: timm's scalers, ignite's trainer."""

KERNELS = ("torch", "aten", "prims")
"""What torch's own functions begin with, each of which computes one gradient: `torch.ops.aten.convolution_backward`."""

TRAINER = "Trainer"
TRAINED = rf"\bfrom[ \t]+transformers[ \t]+import\b[^)]*?\b{TRAINER}\b(?=[\s\S]*\bdef[ \t]+forward\b)"
TRAINED += r"|\bfrom[ \t]+skorch[\w.]*[ \t]+import\b(?=[\s\S]*\bdef[ \t]+get_loss\b)"
"""What a file says that has Hugging Face's trainer walk the losses of its own model, or skorch walk losses of its own."""

BY_OTHERS = rf"def[ \t]+(?:{'|'.join(STEPS)})[ \t]*\(|(?:{'|'.join(WALKERS)})[ \t]*\("
_SPEAKING = (
    r"(?:_*(?:is|has|must|should|can|needs|use|set|reset|mark|track|save|register)_\w*"
    r"|(?:\w*_)?(?:for|in|of|during|before|after|pre|post)_|\w*_register_)"
)
"""What stands before `backward` in the names of questions, switches and hooks: `is_backward`, `save_for_backward`,
`set_is_last_backward`, `on_after_backward`, `_check_can_register_backward`. They walk nothing themselves."""

_ANY = rf"(?=\w*backward\b)(?!{_SPEAKING}backward\b)"
WALK = rf"\.\s*{_ANY}\w*backward\b|(?<!def )\b{_ANY}\w*backward\s*\(|(?<!def )\bgrad\s*\(|{BY_OTHERS}|{TRAINED}"
"""`loss.backward`, `manual_backward(loss)`, `autograd.grad(...)`; not `def grad(...)`, nor `ctx.save_for_backward(x)`.
Comments and texts count too. So do `STEPS`, `WALKERS` and `TRAINED`. Most files hold no word of it: patterns are compiled when one does."""

_TRAINS = (b".fit(", b".train(", b".learn(")
_TRAINING = r"(?m)^(?:\w+[ \t]*=[ \t]*)?\w+\.(?:fit|train|learn)\("

_OPTIMISERS = rb"optim(?<![A-Za-z]optim)(?:izer|iser)?s?(?![A-Za-z])"  # looked for by the letters with which it starts

_BEFORE = _SPEAKING.replace(r"\w", r"[\w\x80-\xff]").encode()
_BACKWARD = rb"backward(?![0-9A-Za-z_\x80-\xff])(\s*\()?"
_OTHERS = tuple(word.encode() for word in STEPS + WALKERS)
_GRAD = rb"grad\s*\("
_WORD = frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz") | frozenset(range(128, 256))
_SPACE = frozenset(b" \t\r\n\f\v")


def may_hold_walk(name: str, data: bytes) -> bool:
    """Whether a walk may stand in a file."""
    return may_walk_in_cells(data) if is_notebook(name) else may_walk(data) or b"\0" in data


def may_start_walks(data: bytes) -> bool:
    """Whether a file is a script, which may start walks that stand in other files: it says so, or it loops or trains
    outside of functions and imports nothing relatively, which no script can."""
    if b"__main__" in data:
        return True
    if b"\nfrom ." in data:  # first, for it is found soon
        return False
    return b"\nfor " in data or b"\nwhile " in data or _trains(data)


def may_lead_to_walks(data: bytes) -> bool:
    """Whether functions of a file may call walks that stand in other files: it speaks of torch and of optimisers."""
    at = data.find(b"optim")
    if at < 0 or b"torch" not in data or b"import " not in data or b"def " not in data:
        return False
    return re.compile(_OPTIMISERS).search(data, at) is not None


def _trains(data: bytes) -> bool:
    """Whether something is told to train outside of functions."""
    return any(word in data for word in _TRAINS) and re.search(_TRAINING.encode(), data) is not None


def only_speaks(name: str) -> bool:
    """Whether a name that ends in `backward` is that of a question, a switch or a hook."""
    return re.fullmatch(f"{_SPEAKING}backward", name) is not None


def may_walk(data: bytes) -> bool:
    """Whether `WALK` may be found in bytes; several times as fast, since it looks for whole words first."""
    if b"backward" in data:
        for found in re.finditer(_BACKWARD, data):
            start = at = _behind(data, found.start(), _WORD)
            if start < found.start() and re.fullmatch(_BEFORE, data[start : found.start()]):
                continue
            if at > 0:
                at = _behind(data, at, _SPACE)
            if data[at - 1 : at] == b"." or (found[1] is not None and data[max(start - 4, 0) : start] != b"def "):
                return True
    for word in _OTHERS:
        if word in data:
            if re.search(BY_OTHERS.encode(), data) is not None:
                return True
            break
    if b"grad" in data:
        for found in re.finditer(_GRAD, data):
            start = found.start()
            if (start == 0 or data[start - 1] not in _WORD) and data[max(start - 4, 0) : start] != b"def ":
                return True
    may_train = (b"forward" in data and b"Trainer" in data) or (b"skorch" in data and b"get_loss" in data)
    return may_train and re.search(TRAINED.encode(), data) is not None


def may_walk_in_cells(data: bytes) -> bool:
    """The same of a notebook's bytes, whose cells are JSON: any character may be escaped."""
    return b"backward" in data or b"grad" in data or b"\\u00" in data


def _behind(data: bytes, at: int, kind: frozenset[int]) -> int:
    """Where the bytes of a kind start that end at `at`."""
    while at > 0 and data[at - 1] in kind:
        at -= 1
    return at
