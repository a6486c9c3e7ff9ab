"""RTL900: a file that could not be checked."""

from __future__ import annotations

from retainlint.rules.rule import Rule


class FileNotChecked(Rule):
    """A file could not be read as Python, so nothing is known about it.

    A syntax error, an encoding that isn't what the file says, null bytes, missing permissions, or nesting too deep to
    be parsed. The message tells which, and where. The other files are checked as usual. If the file isn't meant to be
    Python, exclude it.
    """

    code = "RTL900"
