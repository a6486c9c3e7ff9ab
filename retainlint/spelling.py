"""What of a text is code, and whether that spells a walk: told by its characters, nothing is parsed."""

from __future__ import annotations

import re
from functools import lru_cache

from retainlint import uncalled
from retainlint.patterns import pattern
from retainlint.walks import KERNELS, may_walk

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
