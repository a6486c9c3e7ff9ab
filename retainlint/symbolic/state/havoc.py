"""What others may have done to an object, or to a module's variables, before an entry is called, or called again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from retainlint import ir
from retainlint.startup.records import replace
from retainlint.symbolic.state.code_text import OWN, _block, _but_init, _margin, said, text_of
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import Const, DictObj, Instance, ListObj, Ref, TensorObj, Value


def open_empty(state: State) -> None:
    """Lists and dicts that are empty when a module, or an object, is made, are there to be filled by others."""
    for id, held in list(state.heap.items()):
        if isinstance(held, ListObj | DictObj) and not held.items and not held.open:
            state.set(Ref(id), replace(held, open=True))


def forget_changed(state: State, receiver: Value, others: Sequence[ir.Code]) -> None:
    """Forget the tensors without a graph to which one of the class's `others` may have given one."""
    held = state.get(receiver)
    if not isinstance(held, Instance) or not isinstance(receiver, Ref):
        return
    bare = {name for name, value in held.attrs.items() if _is_bare(state.get(value))}
    if bare:
        lost = bare & {name for each in _but_init(others) for name in said(_CHANGED, each)}
        state.set(receiver, Instance(held.cls, {name: v for name, v in held.attrs.items() if name not in lost}))


def forget_reset(state: State, receiver: Value, entry: ir.Code, methods: Sequence[ir.Code]) -> None:
    """Forget what a method left on its object where another one, which it doesn't call, sets the same attribute: that
    may be how the graph is dropped before the next call. Where its object calls it in a loop, that is done in the loop."""
    held = state.get(receiver)
    if not isinstance(held, Instance) or not isinstance(receiver, Ref) or not held.attrs:
        return
    named: dict[str, list[ir.Code]] = {}
    for method in methods:
        named.setdefault(method.name, []).append(method)
    reached = _reached(named, {entry.name}) | {"__init__"}
    callers = [method for method in methods if method.name not in reached and entry.name in said(OWN, method)]
    iterations = [iteration for method in callers for iteration in _loops_calling(method, entry.name)]
    around = (
        _reached(named, {name for iteration in iterations for name in OWN.findall(iteration)})
        if iterations
        else named.keys()
    )
    others = [method for name, group in named.items() if name in around and name not in reached for method in group]
    lost = {name for method in _but_init(others) for name in said(_SET, method)}
    lost.update(name for iteration in iterations for name in _SET.findall(iteration))
    if lost & held.attrs.keys():
        state.set(receiver, Instance(held.cls, {name: v for name, v in held.attrs.items() if name not in lost}))


def _reached(named: Mapping[str, Sequence[ir.Code]], names: set[str]) -> set[str]:
    """Some methods, and all that they call on their own object."""
    reached: set[str] = set()
    waiting = set(names)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting |= {found for method in _but_init(named.get(name, ())) for found in said(OWN, method)}
    return reached


def _loops_calling(method: ir.Code, name: str) -> Iterator[str]:
    """The texts of the innermost loops in which a method calls another one of its object again and again."""
    text = text_of(method)
    for call in re.finditer(rf"\bself\.{name}\(", text):
        above = text[: call.start()]
        margin = _margin(above.rpartition("\n")[2])
        for row in reversed(above.splitlines(keepends=True)[:-1]):
            if row.strip() and _margin(row) < margin:
                margin = _margin(row)
                if _LOOP.match(row):
                    yield _block(text, above.rindex(row), margin)
                    break


def forget_given(state: State, receiver: Value, entry: ir.Code, methods: Sequence[ir.Code]) -> None:
    """Forget the constants that an object was made with where another method than the entry sets the attribute: that may
    have been called before."""
    held = state.get(receiver)
    if isinstance(held, Instance) and isinstance(receiver, Ref):
        others = [method for method in methods if method.name != entry.name]
        lost = {name for each in _but_init(others) for name in said(_SET_ANEW, each)}
        lost = {name for name in lost if isinstance(held.attrs.get(name), Const)}
        if lost:
            state.set(receiver, Instance(held.cls, {name: v for name, v in held.attrs.items() if name not in lost}))


def forget_set(state: State, receiver: Value, method: ir.Code) -> None:
    """Forget what a method that isn't followed sets anew on its object."""
    held = state.get(receiver)
    if isinstance(held, Instance) and isinstance(receiver, Ref):
        lost = {name for each in _but_init([method]) for name in said(_SET_ANEW, each)}
        if lost & held.attrs.keys():
            state.set(receiver, Instance(held.cls, {name: v for name, v in held.attrs.items() if name not in lost}))


_LOOP = re.compile(r"\s*(?:async\s+)?(?:for|while)\b")

_CHANGED = re.compile(r"\bself\.(?=(\w+)(?:\[[^\]\n]*\])?(?:\s*[-+*/@]?=(?!=)|\.\w+_\())")

_SET_ANEW = re.compile(r"\bself\.(\w+)(?=\s*(?:,[^=\n(]*)?=(?!=))")

_SET = re.compile(r"\bself\.(\w+)\s*=\s*(?:None\b|\[\]|\(\)|\{\}|0|torch\.|[^\n]*\.detach\(|[^\n]*\.data\b)")
"""What a method names of its own object, and what it sets to something that has no graph."""


def _is_bare(held: object) -> bool:
    return isinstance(held, TensorObj) and held.edge is None and held.cut is None
