"""Ir to incidents, by running it on the core."""

from retainlint.symbolic.explorer import explore

__all__ = ["explore"]
