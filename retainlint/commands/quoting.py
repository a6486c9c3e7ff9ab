"""File names as git quotes them in a diff, so that nobody who applies it reads another name."""

from __future__ import annotations

import os

_SIGNS = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}
"""What C writes behind a backslash, by the byte."""


def quoted(name: str) -> str:
    """The name behind `---` or `+++`.

    In double quotes, with bytes in octal, if it holds what ends a line, what a terminal would act on, or a quote; or if
    it begins with a blank, which `patch` would skip. A tab ends one with blanks in it, or `patch` reads it up to the
    first, and changes another file.
    """
    name = name if os.sep == "/" else name.replace(os.sep, "/")
    if not name.isprintable() or name[:1] == " " or '"' in name or "\\" in name:
        name = f'"{"".join(map(_escaped, name))}"'
    return f"{name}\t" if " " in name else name


def _escaped(character: str) -> str:
    if character.isprintable() and character not in '"\\':
        return character
    try:
        data = character.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a character, which is no byte of a name either
        data = character.encode("utf-8", "surrogatepass")
    return "".join(f"\\{_SIGNS.get(byte) or f'{byte:03o}'}" for byte in data)
