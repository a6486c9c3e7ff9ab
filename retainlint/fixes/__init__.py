"""Cures to text edits, when someone asks for them; each is checked by running the machine on its result."""

from __future__ import annotations

from retainlint.fixes.advice import Advisor
from retainlint.fixes.applying import Applied, Fixed, fix_all
from retainlint.fixes.edits import edited
from retainlint.fixes.proof import Look, Seen

__all__ = ["Advisor", "Applied", "Fixed", "Look", "Seen", "edited", "fix_all"]
