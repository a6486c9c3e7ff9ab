"""Whose process this is: in one of our own, what others might use too may be changed for speed's sake."""

from __future__ import annotations

ours = False
"""Set by the command line, and in the processes that it starts."""
