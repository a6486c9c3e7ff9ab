"""Whether a known text is like a pattern, and which parts of it are: what `fnmatch` and `re` tell of names."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Mapping
from typing import Any

from retainlint.symbolic.solver.terms import NotWorkedOut, worked_out
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.protocol import Args
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import Const, DictObj, ListObj, Tuple, UnknownObj, Value
from retainlint.text.source import Span

_OF_PATTERNS: Mapping[str, Callable[..., Any]] = {
    **{each.__name__: each for each in (re.match, re.search, re.fullmatch, re.findall, re.split, re.sub)},
    "finditer": lambda pattern, text: [*re.finditer(pattern, text)],
}
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **dict.fromkeys(("fnmatch.fnmatch", "fnmatch.fnmatchcase"), fnmatch.fnmatchcase),
    "re.compile": re.compile,
    **{f"re.{name}": function for name, function in _OF_PATTERNS.items()},
}
"""By its path, each with what it does."""

METHODS = frozenset((*_OF_PATTERNS, "group", "groups"))

PATTERN, MATCH = "pattern", "match"
"""As what they are noted on what `re` gives: a pattern that was compiled, and a match."""


def function(state: State, path: str, args: Args, span: Span) -> Value | None:
    """Whether a text is like a pattern, where both are known and that takes no time: the match, or None, as `re` has it; or all
    parts that are, or aren't."""
    given = [each.value for each in args.pos if isinstance(each, Const) and isinstance(each.value, str)]
    text = "" if path == "re.compile" else given[-1] if given else ""
    if not given or len(given) != len(args.all) or not _is_quick(given[0], text):
        return None
    try:
        return told(state, worked_out(FUNCTIONS[path], *given), span)
    except NotWorkedOut:
        return None


def leads(held: UnknownObj) -> bool:
    """Whether it is a compiled pattern, or a match."""
    return held.hint in (PATTERN, MATCH)


def method(state: State, held: UnknownObj, name: str, args: Args, span: Span) -> Value | None:
    """A method of a compiled pattern, or of a match; None where nobody knows what it gives."""
    if held.hint == PATTERN and name in _OF_PATTERNS:
        return function(state, f"re.{name}", args.behind(held.attrs["pattern"]), span)
    if held.hint == MATCH and name == "groups" and not args.all and isinstance(parts := held.attrs["<groups>"], Tuple):
        return Tuple(parts.items[1:])
    if held.hint == MATCH and name in ("group", "__getitem__") and len(args.all) < 2:
        return group(state, held, args.get(0, "group", Const(0)))
    return None


def group(state: State, held: UnknownObj, key: Value) -> Value | None:
    """What of a text a group of the pattern is like, by its number or its name."""
    parts, named = held.attrs["<groups>"], state.get(held.attrs["<names>"])
    if isinstance(parts, Tuple) and isinstance(key, Const) and type(key.value) is int and key.value < len(parts.items):
        return parts.items[key.value] if key.value >= 0 else None
    return named.items.get(key) if isinstance(named, DictObj) else None


def told(state: State, found: Any, span: Span) -> Value:
    """What `re` gives, or a method of a text, as a value."""
    if isinstance(found, re.Pattern):
        attrs: dict[str, Value] = {"pattern": Const(found.pattern)}
        return state.new(UnknownObj(span, hint=PATTERN, attrs=attrs, plain=True))
    if isinstance(found, re.Match):
        parts = Tuple(tuple(map(Const, (found[0], *found.groups()))))
        names = state.new(DictObj({Const(name): Const(text) for name, text in found.groupdict().items()}))
        match = state.new(UnknownObj(span, hint=MATCH, attrs={"<groups>": parts, "<names>": names}, plain=True))
        state.truths[match] = True
        return match
    if isinstance(found, list):
        return state.new(ListObj(tuple(told(state, each, span) for each in found)))
    return Tuple(tuple(map(Const, found))) if isinstance(found, tuple) else Const(found)


def _is_quick(pattern: str, text: str) -> bool:
    """Whether a pattern, should it be one, repeats little, and no group: others may try for ever."""
    repeats = re.findall(r"[*+{]", pattern[: limits.PATTERN_LENGTH])
    ways = len(text) ** len(repeats)
    short = len(pattern) <= limits.PATTERN_LENGTH and (not repeats or len(text) <= limits.PATTERN_LENGTH)
    return short and ways <= limits.PATTERN_WAYS and not re.search(r"\)[*+{?]|\\\d", pattern)
