"""Cures to text edits, when someone asks for them; each is checked by running the machine on its result."""

from __future__ import annotations

from retainlint.fixes.applying import Applied, Fixed, fix_all, fix_of
from retainlint.fixes.edits import Applicability, Edit, Fix, edited
from retainlint.fixes.proof import Look, Seen

__all__ = ["Applicability", "Applied", "Edit", "Fix", "Fixed", "Look", "Seen", "edited", "fix_all", "fix_of"]
