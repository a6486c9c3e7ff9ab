"""Items: `obj[index]`, its assignment and deletion, and the unpacking of a value into several."""

from __future__ import annotations

import operator
from itertools import chain
from typing import Any

from retainlint import ir
from retainlint.startup.records import replace
from retainlint.symbolic.interpreter.exceptions import may_go_on
from retainlint.symbolic.models.python import containers, dataclasses, iteration, options, reflection, text_patterns
from retainlint.symbolic.models.torch import data, in_place_changes, new_tensors, submodules
from retainlint.symbolic.models.unknown import objects, weights
from retainlint.symbolic.solver import decisions, terms
from retainlint.symbolic.solver.terms import NotWorkedOut, worked_out
from retainlint.symbolic.state import classes, events, limits
from retainlint.symbolic.state.classes import find
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import Flow, State
from retainlint.symbolic.state.values import (
    NONE,
    Bound,
    ClassObj,
    Const,
    DictObj,
    External,
    Failure,
    Instance,
    IteratorObj,
    LayerObj,
    ListObj,
    Method,
    Ref,
    Slice,
    Symbol,
    TensorObj,
    Term,
    Tuple,
    UnknownObj,
    Value,
)
from retainlint.text.source import Span

_MODULES = External("sys.modules")
"""A module that is asked for by its name is anything."""


def read(machine: Machine, state: State, obj: Value, index: Value, span: Span) -> Results:
    """`obj[index]`."""
    if isinstance(obj, Tuple):
        if iteration.may_tell(index, obj.items):
            return iteration.index_choices(state, index, iteration.numbered(obj.items))
        return [(state, _from_sequence(state, obj.items, index, span, tuple_=True))]
    if isinstance(obj, Const) and (letters := _of_constant(machine, state, obj, index)) is not None:
        return letters
    if isinstance(obj, Term) and obj.op == "shape" and terms.is_scalar(index):
        return [(state, iteration.along(machine, state, obj.args[0], index, span))]
    if isinstance(obj, Term) and terms.is_scalar(index):
        return [(state, Term("item", (obj, index)))]
    if isinstance(obj, Method) and obj.name == "__dict__":
        index = options.default(state, index) or index
    if isinstance(obj, Method) and obj.name == "__dict__" and isinstance(index, Const):
        return machine.attribute(state, obj.obj, str(index.value), span)
    if obj == _MODULES:
        return [(state, objects.fresh(state, span))]
    if isinstance(obj, External):
        return [(state, obj)]  # list[int], Tensor["b c"], ...
    held = state.get(obj)
    match held:
        case ListObj():
            ways = _from_list(machine, state, obj, held, index, span)
            return [(each, iteration.note_read(each, held, item)) for each, item in ways]
        case DictObj():
            if containers.is_missing(held, index) and may_go_on(machine.tries, "KeyError"):
                state.flow = Flow("raise", Failure("KeyError"))
                return [(state, NONE)]
            return containers.lookup(machine, state, obj, held, index, span)
        case LayerObj(children=children) if children:
            if isinstance(index, Const) and isinstance(index.value, str):
                return machine.attribute(state, obj, index.value, span)
            if isinstance(index, Slice) and held.kind == "Sequential":
                return [(state, _slice_of_layers(state, held, index))]
            return [(state, _from_sequence(state, children, index, span))]
        case LayerObj(kind="Sequential" | "ModuleList" | "ModuleDict"):
            return [(state, objects.fresh(state, span, hint="module"))]
        case TensorObj():
            return [(state, new_tensors.index(machine, state, obj, index, span))]
        case IteratorObj(kind="range") if index == Slice((NONE, NONE, Const(-1))):
            return [(state, state.new(IteratorObj("reversed", (obj,))))]
        case IteratorObj(kind="range") if (numbers := iteration.known_items(machine, state, obj, span)) is not None:
            return [(state, _from_sequence(state, tuple(numbers), index, span))]
        case IteratorObj(kind=data.TENSORS | data.SUBSET):
            return data.sample(machine, state, obj, index, span)
        case ClassObj():
            return _from_class(machine, state, obj, index, span)
        case Instance() if (found := _from_instance(machine, state, obj, index, span)) is not None:
            return found
        case UnknownObj(hint="tensor") if _is_of_tensor(state, held, index):
            return [(state, new_tensors.index(machine, state, obj, index, span))]
        case UnknownObj():
            told = text_patterns.group(state, held, index) if held.hint == text_patterns.MATCH else None
            return [(state, told or objects.item(machine, state, obj, span, index))]
    return [(state, objects.fresh(state, span, plain=True))]


def _is_of_tensor(state: State, held: UnknownObj, index: Value) -> bool:
    """Whether only a tensor is asked for such an item; by a number, one that was shown to be no tuple."""
    if isinstance(index, Slice | Tuple) or isinstance(state.get(index), TensorObj):
        return True
    return held.notes.operated is not None and new_tensors.is_basic(state, index)


def _from_class(machine: Machine, state: State, obj: Value, index: Value, span: Span) -> Results:
    """A member of an enumeration, what a class gives by its own method, or the class itself: `Box[int]`."""
    if classes.is_enum(state, obj):
        return [(state, classes.named(state, obj, index) or objects.fresh(state, span, plain=True))]
    if (getter := find(state, obj, "__class_getitem__")) is not None:
        return machine.call(state, Bound(getter, obj), Args((index,)), span)
    return [(state, obj)]


def _from_list(machine: Machine, state: State, obj: Value, held: ListObj, index: Value, span: Span) -> Results:
    items = held.items
    if held.sampled and isinstance(index, Slice):
        return [(state, _part_of_sampled(state, held, index, span))]
    if held.open:
        if any(weights.network_of(state, each) is not None for each in items):
            return [(state, weights.some(state, items[-1]))]
        if _is_behind(state, obj, held, index):
            return [(state, state.new(ListObj(())))]
        if (placed := _at_place(state, held, index, span)) is not None:
            _place(state, obj, held, index, placed)
            return [(state, placed)]
        is_rest = (
            isinstance(index, Slice) and isinstance(index.parts[1], Const) and not decisions.loops_of(index.parts[0])
        )
        if not is_rest and not (isinstance(index, Const) and index.value == -1 and items):
            some = iteration.supposed(state, items[-1], items) if items else objects.item(machine, state, obj, span)
            return [(state, some)]
    if held.sampled and isinstance(index, Const | Symbol | Term):
        found = _of_sampled(state, obj, held, index, span)
        _place(state, obj, held, index, found)
        return [(state, found)]
    if iteration.may_tell(index, items):
        return iteration.index_choices(state, index, iteration.numbered(items))
    if isinstance(index, Term):  # any of them may be read, beside the one that is
        machine.events.emit(events.Escaped(objects.edges_in(machine, state, items)))
    found = _from_sequence(state, items, index, span, open_=held.open)
    if not isinstance(index, Const | Slice):
        _fillable(state, items)
        _place(state, obj, held, index, found)
    return [(state, found)]


def _fillable(state: State, items: tuple[Value, ...]) -> None:
    """Whatever is put into one of several lists, nobody knows which: none of them is surely empty from now on."""
    for each in items:
        held = state.get(each)
        if isinstance(each, Ref) and isinstance(held, ListObj) and not held.items:
            state.set(each, replace(held, open=True))


def _from_instance(machine: Machine, state: State, obj: Value, index: Value, span: Span) -> Results | None:
    """By the class's own method, what it holds as a list or dict, or its parts; None if it has none of these."""
    getter = find(state, obj, "__getitem__")
    if getter is not None:
        return machine.call(state, Bound(getter, obj), Args((index,)), span)
    if (content := classes.of(state, obj)) != obj:
        missing = find(state, obj, "__missing__")
        if (
            missing is not None
            and isinstance(held := state.get(content), DictObj)
            and containers.is_missing(held, index)
        ):
            return machine.call(state, Bound(missing, obj), Args((index,)), span)
        return read(machine, state, content, index, span)
    layer = state.get(classes.layer(state, obj) or obj)
    if isinstance(index, Slice) and isinstance(layer, LayerObj) and layer.kind == "Sequential":
        return [(state, _slice_of_layers(state, layer, index))]
    if parts := classes.children(state, obj) or dataclasses.items(state, obj):
        return [(state, _from_sequence(state, parts, index, span))]
    return None


def _slice_of_layers(state: State, held: LayerObj, index: Slice) -> Value:
    """A part of a Sequential, which is one again; all of it, if nobody knows which."""
    bounds = [_bound(state, part, len(held.children)) for part in index.parts]
    try:
        children: tuple[Value, ...] = worked_out(operator.getitem, held.children, slice(*bounds))
    except NotWorkedOut:
        children = held.children
    return submodules.sequential(state, children, training=held.training)


def _of_constant(machine: Machine, state: State, obj: Const, index: Value) -> Results | None:
    """A letter of a text, or several. None has no items: on a path to which an answer leads, that is where it ends."""
    if obj == NONE and state.choices and not machine.forced:
        state.flow = Flow("raise", Failure("TypeError"))
        return [(state, NONE)]
    text = obj.value
    if not isinstance(text, str | bytes):
        return None
    if isinstance(index, Const) and isinstance(index.value, int) and -len(text) <= index.value < len(text):
        return [(state, Const(text[index.value], index.loops))]
    if isinstance(index, Slice) and "?" not in (bounds := [_bound(state, part, len(text)) for part in index.parts]):
        try:
            part = worked_out(_sliced, text, bounds)
        except NotWorkedOut:
            return None
        return [(state, Const(part, decisions.loops_of(Term("slice", index.parts))))]
    letters = tuple(map(Const, text)) if len(text) <= limits.ITEMS_ON_PATHS else ()
    if iteration.may_tell(index, letters):
        return iteration.index_choices(state, index, iteration.numbered(letters))
    return [(state, Term("item", (obj, index)))]  # a text or a number, never a tensor


def _sliced(text: str | bytes, bounds: list[Any]) -> str | bytes:
    return text[slice(*bounds)]


def _from_sequence(
    state: State, items: tuple[Value, ...], index: Value, span: Span, *, tuple_: bool = False, open_: bool = False
) -> Value:
    if isinstance(index, Const) and isinstance(index.value, int):
        at = int(index.value)
        state.base.deciding.add(index.loops)
        if -len(items) <= at < len(items):
            return items[at]
        return objects.fresh(state, span)
    if isinstance(index, Slice):
        bounds = [_bound(state, part, len(items)) for part in index.parts]
        try:
            if "?" not in bounds and not open_:
                part: tuple[Value, ...] = worked_out(operator.getitem, items, slice(*bounds))
                return Tuple(part) if tuple_ else state.new(ListObj(part))
        except NotWorkedOut:
            pass
        return state.new(ListObj(items, True))
    if isinstance(index, Symbol) and index.loop and len(items) >= limits.LOOP_ITERATIONS:
        return items[-2]  # an iteration in the middle, which isn't the last one
    return iteration.supposed(state, items[-1], items) if items else objects.fresh(state, span)


def _at_place(state: State, held: ListObj, index: Value, span: Span) -> Value | None:
    """What an open list holds at a number, where items were put by such numbers: in each turn of a loop that is another
    item, and not the one that was put last. The number of a loop's last turn is computed from its size."""
    for place, item in held.places:
        if place == index or _are_alike(place, index):
            return item
    loops = set(decisions.loops_of(index))
    if not held.places or not (loops or isinstance(index, Term) or _is_from_start(index)):
        return None
    if isinstance(index, Term) or (
        loops and not any(loops.issubset(decisions.loops_of(place)) for place, _ in held.places)
    ):
        return objects.fresh(state, span)
    elsewhere = [item for place, item in held.places if loops or _are_two(state, place, index)]
    put = (item for _, item in reversed(held.places))
    return next((each for each in chain(put, reversed(held.items)) if each not in elsewhere), None) or objects.fresh(
        state, span
    )


def _of_sampled(state: State, obj: Value, held: ListObj, index: Value, span: Span) -> Value:
    """What a list that a loop has filled holds at a number: another item at each, as far as they aren't surely one number. A last
    iteration's number is computed from a size."""
    at = _from_end(obj, held, index)
    alike = [item for place, item in held.places if _are_alike(place, index)]
    taken = [item for place, item in held.places if not decisions.are_one(state, _from_end(obj, held, place), at)]
    taken = [item for item in taken if item not in alike]
    if isinstance(index, Const) or not held.items:
        found = _from_sequence(state, held.items, index, span)
        return objects.fresh(state, span) if found in taken else found
    known = [item for place, item in held.places if place == index] + alike
    *first, last = held.items
    others = [
        item
        for number, item in enumerate(first)
        if number >= limits.FIRST_ITERATIONS or not _are_two(state, Const(number), index)
    ]
    left = [last, *reversed(others)] if isinstance(index, Term) else [*reversed(others), last]
    return next((each for each in (*known, *left) if each not in taken), None) or objects.fresh(state, span)


def _are_alike(one: Value, other: Value) -> bool:
    """Whether two numbers stand for the iterations in the middle of two loops that go through as much."""
    if not isinstance(one, Symbol) or not isinstance(other, Symbol) or one.loop == other.loop:
        return False
    return one.high is not None and (one.low, one.high) == (other.low, other.high)


def _from_end(obj: Value, held: ListObj, index: Value) -> Value:
    """A number from a list's start in place of one from its end."""
    if isinstance(index, Const) and isinstance(index.value, int) and index.value < 0:
        return terms.sum_of("+", held.size or Term("len", (obj,)), index)
    return index


def _part_of_sampled(state: State, held: ListObj, index: Slice, span: Span) -> Value:
    """A slice of such a list: all of it, the first ones, the last ones, or items that none of the known ones is."""
    start, stop, step = index.parts
    if index.parts == (NONE, NONE, Const(-1)):
        return state.new(replace(held, items=held.items[::-1], places=()))
    if step in (NONE, Const(1)) and held.items:
        begins = start in (NONE, Const(0))
        if begins and stop == NONE:
            return state.new(replace(held, places=()))
        if begins and len(held.items) > 1:
            return state.new(ListObj(held.items[:-1], sampled=True))
        if isinstance(start, Const) and isinstance(start.value, int) and stop == NONE:
            if start.value < 0:
                return state.new(ListObj(held.items[-1:], start.value != -1))
            if start.value < len(held.items) - 1:
                return state.new(ListObj(held.items[start.value :], sampled=True))
    return state.new(ListObj((), True))


def _place(state: State, obj: Value, held: ListObj, index: Value, item: Value) -> None:
    """From now on an open list holds this item at that number."""
    if isinstance(obj, Ref) and (index, item) not in held.places:
        places = (*held.places, (index, item))[-limits.LIST_PLACES :]
        state.set(obj, replace(held, places=places))


def _is_from_start(index: Value) -> bool:
    """Whether a known number counts from a list's start: two such are two items."""
    return isinstance(index, Const) and isinstance(index.value, int) and index.value >= 0


def _are_two(state: State, one: Value, other: Value) -> bool:
    """Whether two numbers from a list's start surely differ."""
    if isinstance(one, Const) and not _is_from_start(one):
        return False
    return decisions.decide(state, decisions.compare(state, "==", one, other)) is False


def _is_behind(state: State, obj: Value, held: ListObj, index: Value) -> bool:
    """Whether a slice surely begins where a list ends, of which only some items are known."""
    if not isinstance(index, Slice) or index.parts[0] == NONE:
        return False
    size = held.size or Term("len", (obj,))
    return decisions.decide(state, decisions.compare(state, "==", index.parts[0], size)) is True


def _bound(state: State, part: Value, most: int) -> ir.Literal:
    """A slice's bound, by what the path has chosen of it; "?" if nobody knows."""
    if isinstance(part, Const):
        return part.value
    if not (terms.is_count(state, part) or isinstance(state.get(part), UnknownObj)):
        return "?"
    numbers = (n for n in range(1, most + 1) if decisions.decide(state, decisions.compare(state, "==", part, Const(n))))
    return next(numbers, "?")


def write(machine: Machine, state: State, obj: Value, index: Value, value: Value, span: Span) -> list[State]:
    """`obj[index] = value`."""
    held = state.get(obj)
    if isinstance(obj, Method) and obj.name == "__dict__" and isinstance(index, Const):
        return [each for each, _ in machine.call(state, reflection.PUT, Args((obj.obj, index, value)), span)]
    if not isinstance(obj, Ref):
        return [state]
    match held:
        case ListObj(items=items, open=open_, kind=kind, limit=limit):
            most = 0 if open_ else len(items)  # of an open one the last items are known, and not where they stand
            if isinstance(index, Const) and isinstance(index.value, int) and -len(items) <= index.value < most:
                changed = list(items)
                changed[index.value] = value
                places = tuple((place, value if place == index else each) for place, each in held.places)
                state.set(obj, replace(held, items=tuple(changed), places=places))
            elif isinstance(index, Slice) and all(part == NONE for part in index.parts):
                given = iteration.known_items(machine, state, value, span)
                state.set(obj, ListObj(tuple(given or ()), given is None, kind, limit))
            else:
                stands = _standing(state, obj, held, index, span)
                if isinstance(index, Const | Symbol | Term) and stands in items:
                    state.base.deciding.add(decisions.loops_of(index))
                    places = (*(each for each in held.places if each[1] != stands), (index, value))
                    changed = [value if each == stands else each for each in items]  # one of each iteration
                    state.set(obj, replace(held, items=tuple(changed), places=places[-limits.LIST_PLACES :]))
                    return [state]
                if containers.is_bare(state, value):
                    state.note_weak_cut(obj.id)
                known = () if open_ or held.sampled else tuple((Const(i), each) for i, each in enumerate(items))
                apart = (each for each in known[: limits.LIST_PLACES] if _are_two(state, each[0], index))
                places = (*apart, *(each for each in held.places if each[0] != index), (index, value))
                state.set(obj, ListObj((*items, value), True, kind, limit, places=places[-limits.LIST_PLACES :]))
        case DictObj():
            if isinstance(index, Const):
                text, is_new = span.text.partition("[")[0], index not in held.items
                machine.events.emit(events.ItemSet(state, obj.id, held, value, span, text, is_new))
            if isinstance(state.get(index), UnknownObj):
                held = replace(held, items=options.overridden(state, held.items, span))
            containers.store(state, obj, held, index, value)
        case TensorObj():
            in_place_changes.set_item(machine, state, obj, index, value, span)
        case Instance():
            setter = find(state, obj, "__setitem__")
            if setter is not None:
                return [s for s, _ in machine.call(state, Bound(setter, obj), Args((index, value)), span)]
            if (content := classes.of(state, obj)) != obj:
                return write(machine, state, content, index, value, span)
            submodules.at(state, obj, index, value, span)
        case LayerObj(kind=kind):
            submodules.at(state, obj, index, submodules.as_parameter(machine, state, kind, value, span), span)
        case UnknownObj():
            machine.events.emit(events.Escaped(objects.edges_in(machine, state, (value,))))
            objects.set_item(machine, state, obj, index, value)
            if isinstance(index, Slice | Tuple) and machine.graphs.edge(state, value) is not None:
                edge = machine.graphs.build(state, "copy_slices", (obj, value), span)  # as its index tells, a tensor's
                if edge is not None:
                    state.set(obj, replace(held, edge=edge, plain=False, hint="tensor"))
    return [state]


def _standing(state: State, obj: Value, held: ListObj, index: Value, span: Span) -> Value | None:
    """What is known to stand at a number of a list of which only some items are known."""
    if held.sampled and not held.open:
        return _of_sampled(state, obj, held, index, span)
    return next((item for place, item in held.places if place == index or _are_alike(place, index)), None)


def delete(machine: Machine, state: State, obj: Value, index: Value) -> None:
    """`del obj[index]`."""
    obj = classes.of(state, obj)
    held = state.get(obj)
    if isinstance(obj, Method) and obj.name == "__dict__" and isinstance(index, Const):
        reflection.remove(state, obj.obj, str(index.value))
    if isinstance(held, ListObj) and isinstance(obj, Ref):
        machine.events.emit(events.ContainerShrunk(obj.id))
        if isinstance(index, Slice) and all(part == NONE for part in index.parts):
            state.set(obj, ListObj((), False, held.kind, held.limit))
        elif not held.open and (left := _left(state, held.items, index)) is not None:
            state.set(obj, replace(held, items=left))
        elif (gone := next((item for place, item in held.places if place == index), None)) is not None:
            left = tuple(item for item in held.items if item != gone)
            state.set(obj, ListObj(left, True, held.kind, held.limit))
        else:
            rest = () if isinstance(index, Slice) else held.items
            state.set(obj, ListObj(rest, True, held.kind, held.limit))
    elif isinstance(held, DictObj) and isinstance(obj, Ref):
        machine.events.emit(events.ContainerShrunk(obj.id))
        if held.of is not None and isinstance(index, Const):
            reflection.remove(state, held.of, str(index.value))
        if not isinstance(index, Const):
            state.note_weak_cut(obj.id)
        state.set(obj, containers.without(held, index))
    elif isinstance(held, LayerObj | Instance) and isinstance(obj, Ref):
        submodules.remove(state, obj, index)
    elif isinstance(held, UnknownObj):
        objects.forget_items(machine, state, obj, numbered=True)


def _left(state: State, items: tuple[Value, ...], index: Value) -> tuple[Value, ...] | None:
    """What a list holds behind `del items[index]`; None if nobody knows."""
    places = range(len(items))
    if isinstance(index, Slice) and "?" not in (bounds := [_bound(state, part, len(items)) for part in index.parts]):
        try:
            gone = worked_out(operator.getitem, places, slice(*bounds))
        except NotWorkedOut:
            return None
    elif isinstance(index, Const) and isinstance(index.value, int):
        gone = places[index.value : index.value + 1 or None]
    else:
        return None
    return tuple(item for at, item in enumerate(items) if at not in gone)


def unpack(machine: Machine, state: State, instr: ir.Unpack) -> list[Value]:
    """The values of `a, *b, c = src`."""
    src, count = state.read(instr.src), len(instr.dsts)
    known = src.items if isinstance(src, Tuple) else _known(machine, state, src, instr.span)
    if known is not None:
        if instr.star is None and len(known) == count:
            return list(known)
        if instr.star is not None and len(known) >= count - 1:
            head, tail = instr.star, count - instr.star - 1
            middle = known[head : len(known) - tail]
            return [*known[:head], state.new(ListObj(tuple(middle))), *known[len(known) - tail :]]
    behind = count if instr.star is None else instr.star
    places = [i if i <= behind else i - count for i in range(count)]
    values: list[Value] = [objects.item(machine, state, src, instr.span, Const(i)) for i in places]
    if isinstance(src, Term) and src.op == "shape":
        values = [iteration.along(machine, state, src.args[0], Const(i), instr.span) for i in range(count)]
    if isinstance(listed := state.get(src), ListObj) and (listed.sampled or len(listed.items) > 1):
        values = _apart(state, listed.items, count, behind, instr.span)
    if isinstance(whole := state.get(src), TensorObj):
        row = "unbind" if whole.length == count else "select"  # else what is taken for a tensor may be a pair of such
        values = [new_tensors.row_of(machine, state, src, instr.span, row) for _ in range(count)]
    if instr.star is not None:
        values[instr.star] = state.new(ListObj((values[instr.star],), True))
    return values


def _apart(state: State, items: tuple[Value, ...], count: int, behind: int, span: Span) -> list[Value]:
    """What some names have of items of which a loop has shown a few: no two the same, the first and the last where they stand;
    those from number `behind` on stand at the end."""
    ending = min(count - behind, len(items))
    ahead, last = items[: len(items) - ending], items[len(items) - ending :]
    unseen = [objects.fresh(state, span) for _ in range(count - len(ahead[:behind]) - ending)]
    return [*ahead[:behind], *unseen, *last]


def _known(machine: Machine, state: State, src: Value, span: Span) -> tuple[Value, ...] | None:
    held = state.get(src)
    if isinstance(held, UnknownObj | TensorObj):
        return None
    if isinstance(held, Instance) and find(state, src, "__iter__") is None and dataclasses.items(state, src) is None:
        return None
    found = iteration.known_items(machine, state, src, span)
    return None if found is None else tuple(found)
