"""Ir to incidents, by running it on the core."""

from retainlint.symbolic.exploration.explorer import explore

__all__ = ["explore"]
