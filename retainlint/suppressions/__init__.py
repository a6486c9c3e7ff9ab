"""The comments by which a source says that a finding is meant: reading, judging and adding them."""

from __future__ import annotations

from retainlint.suppressions.comments import OURS, Suppression, Suppressions, read
from retainlint.suppressions.unused import Unused, unused

__all__ = ["OURS", "Suppression", "Suppressions", "Unused", "read", "unused"]
