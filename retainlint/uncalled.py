"""What is spelt like a walk in a text's code, and walks nothing: names that are only asked about, and functions of its own."""

from __future__ import annotations

import re
from bisect import bisect_right

from retainlint.walks import only_speaks

WALKING = ("backward", "manual_backward", "run_backward")
"""What walks wherever it is defined."""

_NAMED = re.compile(rb"backward\b(?!\s*\()(\s*(?::(?!=)|is\b|[!=]=))?")
_NAME = re.compile(rb"\w*\Z")
_DOTTED = re.compile(rb"(\w*)\.\s*\Z")
_ASKED = re.compile(rb"(?:\bis|\bnot|[!=]=)\s*[\w.]*\Z")
_BINDS = re.compile(rb"\b(?:for|lambda)\b")
_OF_CLASSES = re.compile(rb"(?:\w*_)?cls|\w*Function")

_OWN = re.compile(rb"def(?<!\wdef)[ \t]+(\w*backward)[ \t]*\([ \t\n]*(self\b)?")
_CLASS = re.compile(rb"^class\b", re.MULTILINE)
_CALLED = re.compile(rb"(?<![\w.])(def[ \t]+|self[ \t]*\.[ \t]*)?(\w+backward)\s*\(")

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
    own = {name.decode(errors="replace") for name, _ in _OWN.findall(spelt)}
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
    own = [found for found in _OWN.finditer(spelt) if found[1].decode(errors="replace") not in WALKING]
    if not own:
        return spelt
    classes = [found.start() for found in _CLASS.finditer(spelt)]
    functions = {found[1] for found in own if not found[2]}
    methods = {(found[1], bisect_right(classes, found.start())) for found in own if found[2]}

    def left(call: re.Match[bytes]) -> bytes:
        if call[1] is None:
            return b"(" if call[2] in functions else call[0]
        is_own = call[1].startswith(b"def") or (call[2], bisect_right(classes, call.start())) in methods
        return b"(" if is_own else call[0]

    without = _CALLED.sub(left, spelt)
    named = b"|".join(sorted({found[1] for found in own}))
    return spelt if re.search(rb"(?<!\w)(?:%s)\b" % named, without) else without
