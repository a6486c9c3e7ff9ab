"""RTL900: a file that could not be checked."""

from __future__ import annotations

from retainlint.diagnostic import Diagnostic
from retainlint.incident import Incident
from retainlint.rules.rule import Rule


class FileNotChecked(Rule):
    """A file could not be read as Python, so nothing is known about it.

    A syntax error, an encoding that isn't what the file says, null bytes, missing permissions, or nesting too deep to
    be parsed. The message tells which, and where. The other files are checked as usual. If the file isn't meant to be
    Python, exclude it.
    """

    code = "RTL900"
    name = "file-not-checked"

    def matches(self, incident: Incident) -> bool:
        return False

    def explain(self, incident: Incident) -> Diagnostic:
        """Never called: the linter itself makes these findings, before there are incidents."""
        raise ValueError(f"{self.code} explains no incident")
