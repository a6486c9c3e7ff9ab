"""What of a text is code, and whether that spells a walk: told by its characters, nothing is parsed."""

from __future__ import annotations

import re
from functools import lru_cache

from retainlint import uncalled
from retainlint.walks import KERNELS, may_walk

_TRIPLED = (b'"""', b"'''")
_SPOKEN = re.compile(
    rb"#[^\n]*"
    rb'|"""(?:[^"\\]|\\.|"(?!""))*"""|\'\'\'(?:[^\'\\]|\\.|\'(?!\'\'))*\'\'\''
    rb'|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'',
    re.DOTALL,
)
"""Comments and texts."""

_NAMES = re.compile(rb"[\w.:]+")
_COMPUTED = re.compile(rb"\{([^{}]+)\}")

_KERNEL = re.compile(
    rb"(?<![\w.])(?:%s)(?:\.\w+)*\.(?!(?:run|manual)_backward\b)\w+_backward\b" % "|".join(KERNELS).encode()
)

_READ = 100
"""So many texts' code is remembered. It decides nothing but the time it takes."""


def may_spell_walk(data: bytes) -> bool:
    """Whether a walk may be spelt in a text, and not only be spoken of in a comment or a text."""
    if not may_walk(data):
        return False
    spelt = code(data)
    if any(mark in spelt for mark in _TRIPLED):
        return True  # a text that can't be read so has some left
    return may_walk(spelt) and may_walk(uncalled.without(spelt))


@lru_cache(maxsize=_READ * 5)
def spoken(text: bytes) -> str:
    """A text without its comments, without texts that are no names, and without walks that are only asked about."""
    return uncalled.without_asked(code(text)).decode(errors="replace")


@lru_cache(maxsize=_READ)
def code(text: bytes) -> bytes:
    """The same in bytes; without torch's own functions, too, which walk nothing for all their names."""
    left = _SPOKEN.sub(_short, text)
    return _KERNEL.sub(b"", left) if b"_backward" in left else left


def _short(found: re.Match[bytes]) -> bytes:
    """What is left of a text: a name, for `getattr` or a table, and what is computed within."""
    spoken = found[0]
    if spoken[:1] == b"#":
        return b""
    if spoken[:3] in _TRIPLED:
        return _computed(spoken) if b"{" in spoken and _computes(found) else b""
    if _NAMES.fullmatch(spoken, 1, len(spoken) - 1):
        return spoken
    return _computed(spoken) if b"{" in spoken else b'""'


def _computes(found: re.Match[bytes]) -> bool:
    """Whether the letters before a text make it one that computes."""
    before = found.string[max(found.start() - 2, 0) : found.start()].lower()
    return before[-1:] in (b"f", b"t") or before in (b"fr", b"tr")


def _computed(spoken: bytes) -> bytes:
    return b'"%s"' % b" ".join(_COMPUTED.findall(spoken))
