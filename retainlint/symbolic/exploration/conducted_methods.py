"""Methods that a class inherits and that lead what it fills in: they are run on the heir, in place of what they call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from retainlint import ir
from retainlint.symbolic.exploration.entry_points import ITSELF, Entry, class_made_by, classes, entries
from retainlint.symbolic.state.classes import ancestry
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import ClassObj
from retainlint.text.source import INITIALISERS


def conducted(state: State, code: ir.Code, reaches: Callable[[str], bool]) -> dict[Entry, set[ir.Code]]:
    """Methods that a class inherits, that nobody calls on their own object, and that come to a walk there by what the heir
    fills in, methods or attributes: each with that heir, and what of the heir's own it leads to. What such a one calls is
    called in its order, and no otherwise."""
    found: dict[Entry, set[ir.Code]] = {}
    for subclass in classes(code):
        versions = _versions(state, subclass)
        own = {method for method, owner in entries(subclass, subclass) if owner is subclass}
        if own.issuperset(each for group in versions.values() for each in group):
            continue
        filled = {each.name for each in own} | {name for each in own for name in each.facts.bound}
        calls = {name: _own_calls(group) & versions.keys() - {name} for name, group in versions.items()}
        leading = {name for name, group in versions.items() if any(_may_walk(each, reaches) for each in group)}
        while more := {name for name, called in calls.items() if not called.isdisjoint(leading)} - leading:
            leading |= more
        called = {name for each in leading for name in calls[each]}
        for name in versions:  # in their order, which no set keeps
            if name not in leading or name in called or name in INITIALISERS:
                continue
            codes = {each for one in _reached(calls, name) for each in versions[one]}
            inherited = codes - own
            if any(not each.facts.own.isdisjoint(filled) or _hands_itself_on(each) for each in inherited):
                found[versions[name][0], subclass] = own
    return found


def _hands_itself_on(code: ir.Code) -> bool:
    return any("self" in call.given for call in code.facts.calls)


def _versions(state: State, subclass: ir.Code) -> dict[str, list[ir.Code]]:
    """The methods of a class, each with those that it overrides behind it; of stubs none."""
    cls = class_made_by(state, subclass)
    found: dict[str, list[ir.Code]] = {}
    for base in ancestry(state, cls) if cls is not None else ():
        held = state.get(base)
        if isinstance(held, ClassObj) and not held.code.span.source.is_stub:
            for method, owner in entries(held.code, held.code):
                if owner is held.code:
                    found.setdefault(method.name, []).append(method)
    return found


def _own_calls(versions: Iterable[ir.Code]) -> set[str]:
    return {name for each in versions for name in each.facts.own}


def _may_walk(code: ir.Code, reaches: Callable[[str], bool]) -> bool:
    if code.backward_passes:
        return True
    return any(each.receiver not in ITSELF and reaches(each.name) for each in code.facts.calls)


def _reached(calls: Mapping[str, set[str]], name: str) -> set[str]:
    reached: set[str] = set()
    waiting = {name}
    while waiting:
        each = waiting.pop()
        reached.add(each)
        waiting |= calls[each] - reached
    return reached
