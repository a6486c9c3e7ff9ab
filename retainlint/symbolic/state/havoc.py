"""What others may have done to an object, or to a module's variables, before an entry is called, or called again."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set

from retainlint import ir
from retainlint.ir.facts import Facts
from retainlint.startup.records import replace
from retainlint.symbolic.state import classes, limits
from retainlint.symbolic.state.coverage import by_name
from retainlint.symbolic.state.reachability import each_once
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import (
    Closure,
    Const,
    DictObj,
    Instance,
    ListObj,
    Ref,
    TensorObj,
    Tuple,
    UnknownObj,
    Value,
)
from retainlint.text.source import INITIALISERS


def open_empty(state: State) -> None:
    """Lists and dicts that are empty when a module, or an object, is made, are there to be filled by others."""
    for id, held in list(state.heap.items()):
        if isinstance(held, ListObj | DictObj) and not held.items and not held.open:
            state.set(Ref(id), replace(held, open=True))


def forget_changed(
    state: State, receiver: Value, entry: ir.Code, methods: Sequence[ir.Code], making: Container[str]
) -> None:
    """Forget the tensors without a graph to which another method of the class may have given one, which neither the entry
    calls nor its `making`."""
    held = state.get(receiver)
    if not isinstance(held, Instance) or not isinstance(receiver, Ref):
        return
    bare = {name for name, value in held.attrs.items() if _is_bare(state, value)}
    if bare:
        reached = _reached(by_name(methods), {entry.name})
        others = (each for each in methods if each.name not in reached and each.name not in making)
        lost = bare & {name for each in others for name in each.facts.changed}
        state.drop(receiver, lost)


def forget_reset(
    state: State, receiver: Value, entry: ir.Code, methods: Sequence[ir.Code], making: Container[str]
) -> None:
    """Forget what a method left on its object where another one, which it doesn't call, sets the same attribute: that
    may be how the graph is dropped before the next call. Where its object calls it in a loop, that is done in the loop.
    What belongs to its `making` is not done again."""
    held = state.get(receiver)
    if not isinstance(held, Instance) or not isinstance(receiver, Ref) or not held.attrs:
        return
    named = by_name(methods)
    reached = _reached(named, {entry.name}) | {*INITIALISERS}
    callers = [method for method in methods if method.name not in reached and entry.name in method.facts.own]
    loops = [loop for method in callers for loop in _loops_calling(method.facts, entry.name)]
    around = _reached(named, {name for loop in loops for name in loop.own}) if loops else named.keys()
    others = [method for name, group in named.items() if name in around and name not in reached for method in group]
    lost = {name for method in others if method.name not in making for name in method.facts.cleared}
    lost.update(name for loop in loops for name in loop.cleared)
    state.drop(receiver, lost)


def forget_parts(
    state: State, receiver: Value, entry: ir.Code, methods: Sequence[ir.Code], making: Container[str]
) -> None:
    """The same of what the object holds: another method may have called a method of that object which drops its graph, or set
    its attribute."""
    reached = _reached(by_name(methods), {entry.name})
    others = [each for each in methods if each.name not in reached and each.name not in making]
    cleared = [attr.split(".") for each in others for attr in each.facts.cleared if "." in attr]
    for name, value, _, called in _parts(state, receiver, others):
        lost = {attr for each in called for attr in each.cleared} | {attr for of, attr in cleared if of == name}
        state.drop(value, lost)


def _parts(
    state: State, receiver: Value, methods: Iterable[ir.Code]
) -> Iterator[tuple[str, Ref, Instance, list[Facts]]]:
    """The objects that one holds, by their names, each with what is known of their methods that its own call."""
    held = state.get(receiver)
    calls = {(call.receiver, call.name) for each in methods for call in each.facts.calls}
    for name, value in held.attrs.items() if isinstance(held, Instance) else ():
        part = state.get(value)
        if isinstance(part, Instance) and isinstance(value, Ref):
            called = (classes.find(state, value, method) for owner, method in calls if owner == name)
            yield name, value, part, [each.code.facts for each in called if isinstance(each, Closure)]


def called(entry: ir.Code, methods: Iterable[ir.Code]) -> list[ir.Code]:
    """A method, and all that it calls on its own object."""
    named = by_name(methods)
    return [each for name in _reached(named, {entry.name}) for each in named.get(name, ())]


def feeding(entry: ir.Code, methods: Sequence[ir.Code], around: Iterable[ir.Code]) -> list[ir.Code]:
    """The methods that carry on, or gather, what an entry reads on its object, and those that set what these read, if none of the
    class calls them: who uses the object calls them before the entry. What another method sets, or code `around` the class, is
    in nobody's order."""
    named = by_name(methods)
    reached, begun = _reached(named, {entry.name}), making(methods)
    begun |= {each.name for each in methods if each.span.source.is_stub}  # which a framework calls in its own order
    called = {name for each in methods for name in each.facts.own}
    elsewhere = {name for each in _but_init(around) for name in each.facts.stored}

    def setting(what: Callable[[ir.Code], Set[str]], readers: set[str]) -> Iterator[str]:
        """Of those that nobody calls the ones that alone do so with what some others read."""
        read = {name for each in readers for method in named.get(each, ()) for name in _attributes(method, ir.GetAttr)}
        for name in named.keys() - readers - reached - begun - called:
            own = [method for each in _reached(named, {name}) for method in named.get(each, ())]
            found = {attr for each in own for attr in what(each)} & read - elsewhere
            others = [each for each in methods if each not in own and each.name not in begun | reached | readers]
            if found and found.isdisjoint(attr for each in others for attr in each.facts.changed | each.facts.cleared):
                yield name

    carrying = set(setting(_carried, reached))
    found = carrying | set(setting(lambda each: each.facts.bound, carrying)) if carrying else carrying
    return sorted((named[name][0] for name in found), key=lambda each: each.span.start)


def _carried(code: ir.Code) -> set[str]:
    """The attributes that a method sets and reads, and those that it appends to."""
    gathered = {each.receiver for each in code.facts.calls if each.name in classes.FILLING}
    return _attributes(code, ir.SetAttr) & _attributes(code, ir.GetAttr) | gathered


def _attributes(code: ir.Code, kind: type[ir.GetAttr | ir.SetAttr]) -> set[str]:
    return {each.name for each in ir.walk(code.body) if isinstance(each, kind)}


def making(methods: Sequence[ir.Code]) -> set[str]:
    """`__init__`, and the methods that it calls and no other does."""
    begun = {name for each in methods if each.name in INITIALISERS for name in each.facts.own}
    called = {name for each in methods if each.name not in INITIALISERS for name in each.facts.own}
    return {*INITIALISERS} | {each.name for each in methods if each.name in begun - called}


def _reached(named: Mapping[str, Sequence[ir.Code]], names: set[str]) -> set[str]:
    """Some methods, and all that they call on their own object."""

    def own(name: str) -> Iterator[str]:
        return (found for method in _but_init(named.get(name, ())) for found in method.facts.own)

    return {*each_once(names, own)}


def _loops_calling(facts: Facts, name: str) -> Iterator[Facts]:
    """The innermost loops in which a method calls another one of its object again and again."""
    for loop in facts.loops:
        yield from _loops_calling(loop, name)
        if loop.calls_own(name) > sum(inner.calls_own(name) for inner in loop.loops):
            yield loop


def _but_init(methods: Iterable[ir.Code]) -> Iterator[ir.Code]:
    return (each for each in methods if each.name not in INITIALISERS)


def forget_given(state: State, receiver: Value, entry: ir.Code, methods: Sequence[ir.Code]) -> None:
    """Forget the constants that an object was made with, or that stand in its class, where another method than the entry sets
    the attribute: that may have been called before. So may the entry, often: what it counts may be any number. And forget
    those of what the object holds that another method has its own methods change."""
    held = state.get(receiver)
    if isinstance(held, Instance) and isinstance(receiver, Ref):
        others = [method for method in methods if method.name != entry.name]
        lost = {name for each in _but_init(others) for name in each.facts.bound}
        counted = {name for name in entry.facts.changed if _is_count(held.attrs.get(name))}
        own = counted | {name for name in lost if isinstance(held.attrs.get(name), Const)}
        common = {
            name for name in lost.difference(held.attrs) if isinstance(classes.find(state, receiver, name), Const)
        }
        if own or common:
            left = {name: value for name, value in held.attrs.items() if name not in own}
            set_ = {name: state.new(UnknownObj(entry.span, name=name)) for name in sorted(common)}
            state.set(receiver, replace(held, attrs=left | set_))
        for _, value, part, called in _parts(state, receiver, _but_init(others)):
            names = {name for each in called for name in each.changed}
            state.drop(value, (name for name in names if isinstance(part.attrs.get(name), Const)))


def with_own(state: State, obj: Value, method: ir.Code) -> tuple[ir.Code, ...]:
    """A method, and those of its own object that it names, and so on."""
    reached = [method]
    for code in reached:
        for name in sorted(code.facts.own):
            found = classes.find(state, obj, name)
            if isinstance(found, Closure) and found.code not in reached:
                reached.append(found.code)
    return tuple(reached)


def forget_set(state: State, receiver: Value, method: ir.Code) -> None:
    """Forget what a method that isn't followed sets anew on its object, by itself or by others of its own."""
    held = state.get(receiver)
    if isinstance(held, Instance) and isinstance(receiver, Ref):
        lost = {name for each in _but_init(with_own(state, receiver, method)) for name in each.facts.bound}
        state.drop(receiver, lost)


def _is_count(value: Value | None) -> bool:
    return isinstance(value, Const) and type(value.value) is int


def _is_bare(state: State, value: Value, depth: int = 0) -> bool:
    """Whether something is a tensor without a graph, or holds one."""
    held = state.get(value)
    if isinstance(held, TensorObj):
        return held.edge is None and held.cut is None
    if isinstance(value, Tuple) or (isinstance(held, Instance) and classes.is_module(state, value)):
        return False
    inner = held.attrs.values() if isinstance(held, Instance) else state.parts(value)
    return depth < limits.HOLDER_DEPTH and any(_is_bare(state, each, depth + 1) for each in inner)
