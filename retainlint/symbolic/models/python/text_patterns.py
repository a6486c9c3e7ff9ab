"""Whether a known text is like a pattern, and which parts of it are: what `fnmatch` and `re` tell of names."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from retainlint.symbolic.solver.constants import NotWorkedOut, worked_out
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.protocol import Args
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import NONE, Const, ListObj, Tuple, UnknownObj, Value
from retainlint.text.source import Span

FUNCTIONS: MappingProxyType[str, Callable[[str, str], Any]] = MappingProxyType(
    {
        "fnmatch.fnmatch": fnmatch.fnmatchcase,
        "fnmatch.fnmatchcase": fnmatch.fnmatchcase,
        "re.match": lambda pattern, text: re.match(pattern, text),
        "re.search": lambda pattern, text: re.search(pattern, text),
        "re.fullmatch": lambda pattern, text: re.fullmatch(pattern, text),
        "re.findall": lambda pattern, text: re.findall(pattern, text),
        "re.split": lambda pattern, text: re.split(pattern, text),
    }
)
"""By its path, each with what it does."""


def function(state: State, path: str, args: Args, span: Span) -> Value | None:
    """Whether a text is like a pattern, where both are known and that takes no time: the match, or None, as `re` has it; or all
    parts that are, or aren't."""
    given = [each.value for each in args.pos if isinstance(each, Const) and isinstance(each.value, str)]
    if len(given) != 2 or len(args.all) != 2 or not all(map(_is_quick, given)):
        return None
    try:
        found = worked_out(FUNCTIONS[path], *given)
    except NotWorkedOut:
        return None
    if isinstance(found, bool):
        return Const(found)
    if found is None:
        return NONE
    if isinstance(found, list):
        parts = (Tuple(tuple(map(Const, each))) if isinstance(each, tuple) else Const(each) for each in found)
        return state.new(ListObj(tuple(parts)))
    match = state.new(UnknownObj(span, plain=True))
    state.truths[match] = True
    return match


def _is_quick(pattern: str) -> bool:
    """Whether a pattern, should it be one, repeats little, and no group: others may try for ever."""
    repeats = len(re.findall(r"[*+{]", pattern))
    return (
        len(pattern) <= limits.PATTERN_LENGTH
        and repeats <= limits.PATTERN_REPEATS
        and not re.search(r"\)[*+{?]|\\\d", pattern)
    )
