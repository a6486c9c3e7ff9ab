"""The prefilter: which texts may lead to a backward pass, told by their bytes alone, before anything is parsed."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache

from retainlint.startup.lazy_patterns import pattern
from retainlint.text import is_notebook

STEPS = ("training_step", "compute_loss")
"""Methods whose result a trainer walks."""


BACKWARD_CALLERS = ("loss_scaler", "create_supervised_trainer", "NativeScaler")
"""What walks when it is called, without the word: timm's scalers, ignite's trainer."""


KERNELS = ("torch", "aten", "prims")
"""What torch's own functions begin with, each of which computes one gradient: `torch.ops.aten.convolution_backward`."""


TRAINER = "Trainer"

TRAINED = rf"\bfrom[ \t]+transformers[ \t]+import\b[^)]*?\b{TRAINER}\b(?=[\s\S]*\bdef[ \t]+forward\b)"

TRAINED += r"|\bfrom[ \t]+skorch[\w.]*[ \t]+import\b(?=[\s\S]*\bdef[ \t]+get_loss\b)"
"""What a file says that has Hugging Face's trainer walk the losses of its own model, or skorch walk losses of its own."""


BY_OTHERS = rf"def[ \t]+(?:{'|'.join(STEPS)})[ \t]*\(|(?:{'|'.join(BACKWARD_CALLERS)})[ \t]*\("

_SPEAKING = (
    r"(?:_*(?:is|has|must|should|can|needs|use|set|reset|mark|track|save|register)_\w*"
    r"|(?:\w*_)?(?:for|in|of|during|before|after|pre|post)_|\w*_register_)"
)
"""What stands before `backward` in the names of questions, switches and hooks: `is_backward`, `save_for_backward`,
`set_is_last_backward`, `on_after_backward`, `_check_can_register_backward`. They walk nothing themselves."""


_ANY = rf"(?=\w*backward\b)(?!{_SPEAKING}backward\b)"

BACKWARD = rf"\.\s*{_ANY}\w*backward\b|(?<!def )\b{_ANY}\w*backward\s*\(|(?<!def )\bgrad\s*\(|{BY_OTHERS}|{TRAINED}"
"""`loss.backward`, `manual_backward(loss)`, `autograd.grad(...)`; not `def grad(...)`, nor `ctx.save_for_backward(x)`.
Comments and texts count too. So do `STEPS`, `BACKWARD_CALLERS` and `TRAINED`. Most files hold no word of it: patterns are compiled when one does."""


_TRAINS = (b".fit(", b".train(", b".learn(")

_TRAINING = r"(?m)^(?:\w+[ \t]*=[ \t]*)?\w+\.(?:fit|train|learn)\("


_OPTIMISERS = rb"optim(?<![A-Za-z]optim)(?:izer|iser)?s?(?![A-Za-z])"  # looked for by the letters with which it starts


_BEFORE = _SPEAKING.replace(r"\w", r"[\w\x80-\xff]").encode()

_BACKWARD = rb"backward(?![0-9A-Za-z_\x80-\xff])(\s*\()?"

_OTHERS = tuple(word.encode() for word in STEPS + BACKWARD_CALLERS)

_GRAD = rb"grad\s*\("

_WORD_BYTES = frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz") | frozenset(range(128, 256))

_SPACE = frozenset(b" \t\r\n\f\v")


def may_hold_backward(name: str, data: bytes) -> bool:
    """Whether a walk may stand in a file."""
    return may_backpropagate_in_cells(data) if is_notebook(name) else may_backpropagate(data) or b"\0" in data


def may_start_backward(data: bytes) -> bool:
    """Whether a file is a script, which may start walks that stand in other files: it says so, or it loops or trains
    outside of functions and imports nothing relatively, which no script can."""
    if b"__main__" in data:
        return True
    if b"\nfrom ." in data:  # first, for it is found soon
        return False
    return b"\nfor " in data or b"\nwhile " in data or _trains(data)


def may_lead_to_backward(data: bytes) -> bool:
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


def may_backpropagate(data: bytes) -> bool:
    """Whether `WALK` may be found in bytes; several times as fast, since it looks for whole words first."""
    if b"backward" in data:
        for found in re.finditer(_BACKWARD, data):
            start = at = _behind(data, found.start(), _WORD_BYTES)
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
            if (start == 0 or data[start - 1] not in _WORD_BYTES) and data[max(start - 4, 0) : start] != b"def ":
                return True
    may_train = (b"forward" in data and b"Trainer" in data) or (b"skorch" in data and b"get_loss" in data)
    return may_train and re.search(TRAINED.encode(), data) is not None


def may_backpropagate_in_cells(data: bytes) -> bool:
    """The same of a notebook's bytes, whose cells are JSON: any character may be escaped."""
    return b"backward" in data or b"grad" in data or b"\\u00" in data


def _behind(data: bytes, at: int, kind: frozenset[int]) -> int:
    """Where the bytes of a kind start that end at `at`."""
    while at > 0 and data[at - 1] in kind:
        at -= 1
    return at


BACKPROPAGATING = ("backward", "manual_backward", "run_backward")
"""What walks wherever it is defined."""


_NAMED = pattern(rb"backward\b(?!\s*\()(\s*(?::(?!=)|is\b|[!=]=))?")

_NAME = pattern(rb"\w*\Z")

_DOTTED = pattern(rb"(\w*)\.\s*\Z")

_ASKED = pattern(rb"(?:\bis|\bnot|[!=]=)\s*[\w.]*\Z")

_BINDS = pattern(rb"\b(?:for|lambda)\b")

_OF_CLASSES = pattern(rb"(?:\w*_)?cls|\w*Function")


_HEAD = pattern(rb"backward[ \t]*\([ \t\n]*(self\b)?")

_DEFINED = pattern(rb"def(?<!\wdef)[ \t]+(\w*)\Z")

_CLASS = pattern(rb"^class\b", re.MULTILINE)

_CALL = pattern(rb"backward\s*\(")

_CALLED = pattern(rb"(?<![\w.])(def[ \t]+|self[ \t]*\.[ \t]*)?(\w+)\Z")

_WORD = pattern(rb"backward\b")


NEAR = 120
"""So many bytes before a name tell what is done with it."""


def without(spelled: bytes) -> bytes:
    """A text's code without what walks nothing in it."""
    return _without_own(without_asked(spelled))


def is_of_class(owner: str) -> bool:
    """Whether something is named like a class with a `backward` of its own, which walks no graph: torch's engine calls it.
    Only Tensor's is a walk, and is seldom called so."""
    return _OF_CLASSES.fullmatch(owner.encode()) is not None


def without_asked(spelled: bytes) -> bytes:
    """A text's code without those `x.backward` that aren't called there, nor can be elsewhere: what is compared, stands
    before a colon, or is a class's own; and without options of such a name, which no function of the text has. Their words
    stay, behind a comma."""
    if b"backward" not in spelled:
        return spelled
    kept: list[bytes] = []
    at = 0
    own = {name.decode(errors="replace") for name, _, _ in _own(spelled)}
    for found in _NAMED.finditer(spelled):
        near = spelled[max(found.start() - NEAR, 0) : found.start()]
        prefix = _NAME.search(near)
        assert prefix is not None  # it may be empty
        owner = _DOTTED.search(near, 0, prefix.start())
        if owner is None or not _backpropagates_nothing(
            found, near, owner, prefix[0].decode(errors="replace") + "backward", own
        ):
            continue
        dot = found.start() - len(near) + owner.end(1)
        kept += (spelled[at:dot], b",")
        at = dot + 1
    return b"".join((*kept, spelled[at:]))


def _backpropagates_nothing(
    found: re.Match[bytes], near: bytes, owner: re.Match[bytes], name: str, own: set[str]
) -> bool:
    if name not in BACKPROPAGATING[:2] and (name not in own or only_speaks(name)):
        return True
    if is_of_class(owner[1].decode(errors="replace")):
        return True
    row = near[near.rfind(b"\n") + 1 : owner.start()]
    if found[1] is not None:
        return _BINDS.search(row) is None
    return _ASKED.search(row) is not None


def _without_own(spelled: bytes) -> bytes:
    """A text's code without the calls of functions, and of an object's own methods, that it defines itself, such as
    `x_backward(...)`: they walk something only if a walk stands elsewhere in it. With them, if it speaks of one but in a
    call, or in the definition."""
    own = [each for each in _own(spelled) if each[0].decode(errors="replace") not in BACKPROPAGATING]
    if not own:
        return spelled
    classes = [found.start() for found in _CLASS.finditer(spelled)]
    functions = {name for name, of_object, _ in own if not of_object}
    methods = {(name, bisect_right(classes, start)) for name, of_object, start in own if of_object}
    kept: list[bytes] = []
    at = 0
    for found in _CALL.finditer(spelled):
        row, near = _row_before(spelled, found.start())
        call = _CALLED.search(near)
        if call is None:
            continue
        name, start = call[2] + b"backward", row + call.start()
        if call[1] is None:
            is_own = name in functions
        else:
            is_own = call[1].startswith(b"def") or (name, bisect_right(classes, start)) in methods
        if is_own:
            kept += (spelled[at:start], b"(")
            at = found.end()
    without = b"".join((*kept, spelled[at:]))
    named = {name for name, _, _ in own}
    words = (_name_before(without, found.start()) + b"backward" for found in _WORD.finditer(without))
    return spelled if any(word in named for word in words) else without


def _own(spelled: bytes) -> Iterator[tuple[bytes, bool, int]]:
    """The definitions of what is called `x_backward`: the name, whether it is a method, and where it starts. The word is
    looked for first, many times as fast as a pattern that begins otherwise."""
    for found in _HEAD.finditer(spelled):
        row, near = _row_before(spelled, found.start())
        head = _DEFINED.search(near)
        if head is not None:
            yield head[1] + b"backward", found[1] is not None, row + head.start()


def _row_before(text: bytes, at: int) -> tuple[int, bytes]:
    """Where a row starts, and what stands in it up to some place."""
    row = text.rfind(b"\n", 0, at) + 1
    return row, text[row:at]


def _name_before(text: bytes, at: int) -> bytes:
    """The letters just before some place."""
    found = _NAME.search(_row_before(text, at)[1])
    return found[0] if found is not None else b""


_TRIPLED = (b'"""', b"'''")

_SPOKEN = pattern(
    rb"(#[^\n]*"
    rb'|"(?:""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""|[^"\\\n]*(?:\\.[^"\\\n]*)*")'
    rb"|'(?:''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''|[^'\\\n]*(?:\\.[^'\\\n]*)*'))",
    re.DOTALL,
)
"""Comments and texts."""


_NAMES = pattern(rb"[\w.:]+")

_COMPUTED = pattern(rb"\{([^{}]+)\}")


_KERNEL = pattern(
    rb"(?<![\w.])(?:%s)(?:\.\w+)*\.(?!(?:run|manual)_backward\b)\w+_backward\b" % "|".join(KERNELS).encode()
)


_READ = 100
"""So many texts' code is remembered. It decides nothing but the time it takes."""


def may_spell_backward(data: bytes) -> bool:
    """Whether a walk may be spelt in a text, and not only be spoken of in a comment or a text."""
    if not may_backpropagate(data):
        return False
    spelled = code(data)
    if any(mark in spelled for mark in _TRIPLED):
        return True  # a text that can't be read so has some left
    return may_backpropagate(spelled) and may_backpropagate(without(spelled))


@lru_cache(maxsize=_READ * 5)
def spoken(text: bytes) -> str:
    """A text without its comments, without texts that are no names, and without walks that are only asked about."""
    return without_asked(code(text)).decode(errors="replace")


@lru_cache(maxsize=_READ)
def code(text: bytes) -> bytes:
    """The same in bytes; without torch's own functions, too, which walk nothing for all their names."""
    pieces = _SPOKEN.split(text)  # what is spoken stands between what is code
    for number in range(1, len(pieces), 2):
        spoken = pieces[number]
        if spoken[:1] == b"#":
            pieces[number] = b""
        elif not spoken[1:-1].isalnum():  # most texts that are are names
            pieces[number] = _short(spoken, pieces[number - 1][-2:].lower())
    return _without_kernels(b"".join(pieces))


def _without_kernels(text: bytes) -> bytes:
    """Each stands in one row: the others aren't searched, for a pattern is several times as slow as a word is found."""
    kept: list[bytes] = []
    done, at = 0, text.find(b"_backward")
    while at >= 0:
        start, end = text.rfind(b"\n", done, at) + 1 or done, text.find(b"\n", at)
        end = len(text) if end < 0 else end
        kept += (text[done:start], _KERNEL.sub(b"", text[start:end]))
        done, at = end, text.find(b"_backward", end)
    return b"".join((*kept, text[done:])) if kept else text


def _short(spoken: bytes, before: bytes) -> bytes:
    """What is left of a text behind two letters: a name, for `getattr` or a table, and what is computed within."""
    if spoken[:3] in _TRIPLED:
        computes = before[-1:] in (b"f", b"t") or before in (b"fr", b"tr")
        return _computed(spoken) if computes and b"{" in spoken else b""
    if _NAMES.fullmatch(spoken, 1, len(spoken) - 1):
        return spoken
    return _computed(spoken) if b"{" in spoken else b'""'


def _computed(spoken: bytes) -> bytes:
    return b'"%s"' % b" ".join(_COMPUTED.findall(spoken))
