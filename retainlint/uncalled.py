"""What is spelt like a walk in a text's code, and walks nothing: names that are only asked about, and functions of its own."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from retainlint.patterns import pattern
from retainlint.walks import only_speaks

WALKING = ("backward", "manual_backward", "run_backward")
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


def without(spelt: bytes) -> bytes:
    """A text's code without what walks nothing in it."""
    return _without_own(without_asked(spelt))


def is_of_class(owner: str) -> bool:
    """Whether something is named like a class with a `backward` of its own, which walks no graph: torch's engine calls it.
    Only Tensor's is a walk, and is seldom called so."""
    return _OF_CLASSES.fullmatch(owner.encode()) is not None


def without_asked(spelt: bytes) -> bytes:
    """A text's code without those `x.backward` that aren't called there, nor can be elsewhere: what is compared, stands
    before a colon, or is a class's own; and without options of such a name, which no function of the text has. Their words
    stay, behind a comma."""
    if b"backward" not in spelt:
        return spelt
    kept: list[bytes] = []
    at = 0
    own = {name.decode(errors="replace") for name, _, _ in _own(spelt)}
    for found in _NAMED.finditer(spelt):
        near = spelt[max(found.start() - NEAR, 0) : found.start()]
        prefix = _NAME.search(near)
        assert prefix is not None  # it may be empty
        owner = _DOTTED.search(near, 0, prefix.start())
        if owner is None or not _walks_nothing(
            found, near, owner, prefix[0].decode(errors="replace") + "backward", own
        ):
            continue
        dot = found.start() - len(near) + owner.end(1)
        kept += (spelt[at:dot], b",")
        at = dot + 1
    return b"".join((*kept, spelt[at:]))


def _walks_nothing(found: re.Match[bytes], near: bytes, owner: re.Match[bytes], name: str, own: set[str]) -> bool:
    if name not in WALKING[:2] and (name not in own or only_speaks(name)):
        return True
    if is_of_class(owner[1].decode(errors="replace")):
        return True
    row = near[near.rfind(b"\n") + 1 : owner.start()]
    if found[1] is not None:
        return _BINDS.search(row) is None
    return _ASKED.search(row) is not None


def _without_own(spelt: bytes) -> bytes:
    """A text's code without the calls of functions, and of an object's own methods, that it defines itself, such as
    `x_backward(...)`: they walk something only if a walk stands elsewhere in it. With them, if it speaks of one but in a
    call, or in the definition."""
    own = [each for each in _own(spelt) if each[0].decode(errors="replace") not in WALKING]
    if not own:
        return spelt
    classes = [found.start() for found in _CLASS.finditer(spelt)]
    functions = {name for name, of_object, _ in own if not of_object}
    methods = {(name, bisect_right(classes, start)) for name, of_object, start in own if of_object}
    kept: list[bytes] = []
    at = 0
    for found in _CALL.finditer(spelt):
        row, near = _row_before(spelt, found.start())
        call = _CALLED.search(near)
        if call is None:
            continue
        name, start = call[2] + b"backward", row + call.start()
        if call[1] is None:
            is_own = name in functions
        else:
            is_own = call[1].startswith(b"def") or (name, bisect_right(classes, start)) in methods
        if is_own:
            kept += (spelt[at:start], b"(")
            at = found.end()
    without = b"".join((*kept, spelt[at:]))
    named = {name for name, _, _ in own}
    words = (_name_before(without, found.start()) + b"backward" for found in _WORD.finditer(without))
    return spelt if any(word in named for word in words) else without


def _own(spelt: bytes) -> Iterator[tuple[bytes, bool, int]]:
    """The definitions of what is called `x_backward`: the name, whether it is a method, and where it starts. The word is
    looked for first, many times as fast as a pattern that begins otherwise."""
    for found in _HEAD.finditer(spelt):
        row, near = _row_before(spelt, found.start())
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
