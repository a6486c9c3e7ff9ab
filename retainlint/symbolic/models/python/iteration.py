"""What a loop runs over: how many items there are, which stands where, and how long things are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import TypeGuard

from retainlint.autograd.graph import Edge
from retainlint.startup.records import record, replace
from retainlint.symbolic.models.python import consumption, dataclasses, dict_views
from retainlint.symbolic.models.torch import data, new_tensors, shapes
from retainlint.symbolic.models.torch.names import NUMBERED
from retainlint.symbolic.models.unknown import objects
from retainlint.symbolic.solver import decisions, terms
from retainlint.symbolic.solver.terms import STUMBLES, NotWorkedOut, worked_out
from retainlint.symbolic.state import classes, limits
from retainlint.symbolic.state.classes import find
from retainlint.symbolic.state.protocol import Args, Machine, Results, in_turn
from retainlint.symbolic.state.reachability import each_once
from retainlint.symbolic.state.state import Flow, State, ticket
from retainlint.symbolic.state.values import (
    FALSE,
    NONE,
    TRUE,
    Bound,
    ClassObj,
    Closure,
    Const,
    DictObj,
    Failure,
    GeneratorObj,
    HeapObj,
    Instance,
    IteratorObj,
    LayerObj,
    ListObj,
    Method,
    Ref,
    Symbol,
    TensorObj,
    Term,
    Tuple,
    UnknownObj,
    Value,
)
from retainlint.text.source import Span


def index_choices(
    state: State, index: Value, items: Sequence[tuple[Value, Value]], told: Span | None = None
) -> list[tuple[State, Value]]:
    """Each item, or the one that is known to be meant, with the state in which it is; `items` come with their indices.
    Every one has its turn, so nothing is taken for granted; but with `told`, the place of a choice of one for all."""
    found: list[tuple[State, Value]] = []
    of = [item for _, item in items]
    for number, (key, item) in enumerate(items, 1):
        asked = decisions.compare(state, "==", index, key)
        truth = decisions.decide(state, asked)
        if truth is True:
            return [*found, (state, item)]
        if truth is None and number == len(items):
            return [*found, (state, supposed(state, item, of))]
        if truth is None:
            other = state.fork()
            for each, answer in ((state, True), (other, False)):
                if told is None:
                    each.truths[asked] = answer
                else:
                    each.assume(asked, answer, told, answer, shown(key))
            found.append((state, supposed(state, item, of)))
            state = other
    return found or [(state, supposed(state, items[-1][1], of))]


def supposed(state: State, item: Value, among: Iterable[Value] = (), *, whole: bool = False) -> Value:
    """An item that was read where nobody knows whether it is the one `among` some: so may another be that is read next. They
    are all there are if they are the `whole`."""
    _stand(state, item, among, None, whole=whole)
    return item


def shown(key: Value) -> str:
    """A key as the program may write it."""
    return repr(key.value) if isinstance(key, Const) else ""


def mirrored(index: Value, size: Value) -> Value:
    """The index from the end of what has that many items: one between the second and the last stays between."""
    last = terms.sum_of("-", size, Const(1))
    if index == last:
        return Const(0)
    if isinstance(index, Symbol):
        return Symbol(-index.id, 1, terms.sum_of("-", size, Const(3)), index.loop)
    return terms.sum_of("-", last, index)


def numbered(items: Iterable[Value]) -> list[tuple[Value, Value]]:
    """The items of a sequence with their indices."""
    return [(Const(number), item) for number, item in enumerate(items)]


def may_tell(index: Value, items: Collection[Value]) -> bool:
    """Whether it is worth it: a remainder that chooses between a few numbers, texts and the like, or functions."""
    is_counted = isinstance(index, Term) and index.op in ("%", "-", "+") and isinstance(index.args[0], Symbol | Term)
    return (
        is_counted
        and 1 < len(items) <= limits.ITEMS_ON_PATHS
        and all(isinstance(item, Const | Closure | Bound) for item in items)
    )


@record
class Source:
    """One iterable: its length if known, and its item at an index (a number, known or not)."""

    length: int | None
    at: Callable[[State, Value], Results]
    size: Value | None = None
    span: tuple[Value, Value] | None = None  # the ends of a range that counts one by one
    sizes: tuple[Value, ...] = ()  # other names of the size
    endless: bool = False
    counted: bool = False  # by a number of the program's, as `range(n)` is
    indexed: bool = False  # items differ by what they are, not only by who they are
    held: bool = False  # items are there already: nothing is run to get one
    whole: Value | None = None  # how long a list really is that a loop has filled, of which only some turns were run
    parts: bool = False  # items are layers, objects or weights, that differ by what is done to them


def known_items(machine: Machine, state: State, iterable: Value, span: Span) -> list[Value] | None:
    """All items, if they are few and known, and getting them doesn't fork."""
    source = source_of(machine, state, iterable, span)
    if source.length is None or source.length > (limits.HELD_ITEMS if source.held else limits.COMPUTED_ITEMS):
        return None
    after = state if source.held else state.fork()
    found: list[Value] = []
    for index in range(source.length):
        results = source.at(after, Const(index))
        if len(results) != 1 or results[0][0].flow is not None:
            return None
        after, item = results[0]
        found.append(item)
    if after is not state:
        state.become(after)
    return found


def entries(machine: Machine, state: State, value: Value, span: Span) -> DictObj:
    """What a dict made of a value holds: of another one, or of pairs."""
    if (held := classes.mapping(state, value)) is not None:
        return held
    pairs = known_items(machine, state, value, span)
    found = {pair.items[0]: pair.items[1] for pair in pairs or () if isinstance(pair, Tuple) and len(pair.items) == 2}
    return DictObj(found, pairs is None)


def unknown_keys(state: State, held: DictObj) -> list[Value]:
    """The keys of a dict of which nobody knows which they are: any two may be one, also one that is known."""
    return [key for key in held.items if is_unknown_key(state.get(key))]


def is_unknown_key(held: object) -> bool:
    """Whether it is something that nobody sees, or a number that was computed of a tensor."""
    if isinstance(held, TensorObj):
        return held.cut is not None and held.cut[0] in NUMBERED
    return isinstance(held, UnknownObj)


def advanced(
    machine: Machine, state: State, iterator: Value, span: Span, sent: Value = NONE, default: Value | None = None
) -> Results:
    """`next(iterator, default)`, or `iterator.send(sent)`."""
    held, found = state.get(iterator), None
    if isinstance(held, Instance) and (method := find(state, iterator, "__next__")) is not None:
        found = machine.call(state, Bound(method, iterator), Args(), span)
    elif isinstance(held, GeneratorObj) and isinstance(iterator, Ref):
        found = machine.following(state, iterator, sent, span)
    elif isinstance(held, IteratorObj) and isinstance(iterator, Ref) and held.kind in _IN_ORDER:
        found = _next(machine, state, iterator, held, span)
    if found is None:
        return [(state, any_item(machine, state, iterator, span))]
    return [(each, value) if default is None else _unless_over(each, value, default) for each, value in found]


_IN_ORDER = frozenset(("iter", "cycle", "chain", "repeat", "enumerate", "zip"))
"""What gives one item after the other, and runs nothing of the program for it."""


def _next(machine: Machine, state: State, iterator: Ref, held: IteratorObj, span: Span) -> Results | None:
    """The item behind those that were taken, where it is known which items there are."""
    source = _iterator(machine, state, held, span)
    if source.length is None and not source.endless:
        return None
    if source.length is not None and held.taken >= source.length:
        if is_sample(state, *held.parts):
            return [(state, objects.fresh(state, span))]  # one of those that a loop has added and that weren't run
        state.flow = Flow("raise", Failure("StopIteration"))
        return [(state, NONE)]
    state.set(iterator, replace(held, taken=held.taken + 1))
    return source.at(state, Const(held.taken))


def is_sample(state: State, *iterables: Value) -> bool:
    """Whether one of these goes through a list that a loop has filled of which only some iterations were run."""

    def inner(value: Value) -> tuple[Value, ...]:
        return held.parts if isinstance(held := state.get(value), IteratorObj) else ()

    held = map(state.get, each_once(iterables, inner))
    return any(isinstance(each, ListObj) and each.sampled for each in held)


def _behind(source: Source, taken: int) -> Source:
    """What is left of it when so many items were taken."""
    if not taken:
        return source
    length = None if source.length is None else max(source.length - taken, 0)
    at = lambda s, i: source.at(s, terms.sum_of("+", i, Const(taken)))  # noqa: E731
    return replace(source, at=at, length=length, size=None, whole=None, span=None, sizes=())


def _unless_over(state: State, item: Value, default: Value) -> tuple[State, Value]:
    if state.flow is None or state.flow.value != Failure("StopIteration"):
        return state, item
    state.flow = None
    return state, default


def any_item(machine: Machine, state: State, iterable: Value, span: Span) -> Value:
    """Some item of an iterable that we can't follow."""
    source = source_of(machine, state, iterable, span)
    results = [(after, item) for after, item in source.at(state.fork(), Symbol(ticket())) if after.flow is None]
    if not results:
        return objects.fresh(state, span)
    after, item = results[0]
    state.become(after)
    return item


def source_of(machine: Machine, state: State, value: Value, span: Span) -> Source:
    """What is gone through, item by item. Of what a model stumbles over, a call without its arguments, nobody knows."""
    try:
        return _source_of(machine, state, value, span)
    except STUMBLES:
        machine.gap(span, "what is gone through can't be worked out")
        return Source(None, lambda s, i: [(s, objects.fresh(s, span))])


def _source_of(machine: Machine, state: State, value: Value, span: Span) -> Source:
    if isinstance(value, Tuple):
        return _sequence(state, value.items, span)
    if isinstance(value, Const) and isinstance(value.value, str):
        return _sequence(state, tuple(Const(c) for c in value.value[: limits.TEXT_ITEMS]), span)
    if isinstance(value, Const) and not hasattr(value.value, "__iter__"):
        machine.missing_reads.add(span)
    if isinstance(value, Method) and state.truths.get(value) is False:
        return _sequence(state, (), span)  # a list that is called like a method, and is empty
    obj = state.get(value)
    if isinstance(value, Method) and value.name == "__dict__" and isinstance(state.get(value.obj), Instance):
        return _sequence(state, tuple(map(Const, classes.instance_dict(state, value.obj))), span)
    match obj:
        case ListObj(items=items, open=False):
            found = _sequence(state, items, span)
            at = lambda s, i: [(after, note_read(after, obj, item)) for after, item in found.at(s, i)]  # noqa: E731
            return replace(found, at=at, whole=obj.size, size=_size(obj, value)) if obj.sampled else found
        case DictObj(items=entries, open=False, rest=()):
            return _sequence(state, tuple(entries), span)
        case LayerObj() if obj.kind in classes.KEYED:
            return _sequence(state, tuple(map(Const, obj.attrs)), span)
        case LayerObj(children=children) if children:
            return _sequence(state, children, span)
        case GeneratorObj():
            return source_of(machine, state, machine.drain(state, value), span)
        case ListObj(items=(Tuple(items=pair),), open=True) if (
            pair and decisions.naming(state.get(pair[0])) is not None
        ):
            run, (name, *others) = decisions.hint(), pair
            return Source(None, lambda s, i: [(s, Tuple((decisions.another(s, name, run), *others)))])
        case ListObj(items=items, open=True) if items:
            return Source(None, lambda s, i: [(s, note_read(s, obj, _placed(s, value, items, i)))], obj.size)
        case IteratorObj():
            return _behind(_iterator(machine, state, obj, span), obj.taken)
        case ClassObj() if classes.is_enum(state, value):
            return _sequence(state, tuple(classes.members(state, value)), span)
        case Instance():
            if parts := classes.children(state, value):
                return _sequence(state, parts, span)
            if (row := dataclasses.items(state, value)) is not None:
                return _sequence(state, row, span)
            if (content := classes.of(state, value)) != value and find(state, value, "__iter__") is None:
                return source_of(machine, state, content, span)
            return _object(machine, state, value, span)
        case TensorObj(length=length):
            return Source(length, lambda s, i: [(s, new_tensors.row_of(machine, s, value, span))])
    if (kind := decisions.naming(obj)) is not None:
        run, paired = decisions.hint(), kind != "keys"
        return Source(
            None, lambda s, i: [(s, _named(machine, s, _item(machine, s, value, i, span), run, paired))], _shown(obj)
        )
    if dict_views.is_view(obj):
        return Source(None, lambda s, i: [(s, _item(machine, s, value, i, span))], _shown(obj))
    return Source(None, lambda s, i: [(s, _fed(s, objects.item(machine, s, value, span)))], _shown(obj))


def _shown(obj: object) -> Value | None:
    """How long it is, if it is what a dict shows that nobody sees, or a list of which nobody knows an item."""
    return obj.notes.length if isinstance(obj, UnknownObj) else obj.size if isinstance(obj, ListObj) else None


def _item(machine: Machine, state: State, view: Value, index: Value, span: Span) -> Value:
    return dict_views.item(machine, state, view, index, span) or objects.item(machine, state, view, span)


def _named(machine: Machine, state: State, item: Value, run: str, paired: bool) -> Value:
    """An item of a dict that nobody sees: its name is another one in each turn."""
    pair = state.get(item)
    name = item
    if paired and isinstance(pair, UnknownObj):
        name = objects.derived(machine, state, item, "[0]", pair.made)
        dict_views.part(machine, state, item)
    decisions.mark(state, name, run)
    return _fed(state, item)


def _fed(state: State, item: Value) -> Value:
    """An item of a loader, or of something else that nobody sees."""
    held = state.get(item)
    if isinstance(held, UnknownObj) and isinstance(item, Ref) and not held.fed:
        state.set(item, replace(held, fed=True))
    return item


def _placed(state: State, of: Value, items: tuple[Value, ...], index: Value) -> Value:
    """The item at an iteration over a list of which only some are known, its last ones. Before the last iteration that is like
    the last one, and not the same; a key that nobody sees is the same one whenever the list is gone through."""
    listed = state.get(of)
    size = listed.size if isinstance(listed, ListObj) else None
    if index == terms.sum_of("-", size or Term("len", (of,)), Const(1)):
        return items[-1]
    at = index.value if isinstance(index, Const) and isinstance(index.value, int) else len(items) // 2
    at = min(max(at, 0), len(items) - 1)
    held = state.get(items[at])
    is_first = isinstance(index, Const) and index.value == 0
    if state.iterations and decisions.loops_of(index) and not is_first:
        _stand(state, items[at], items, state.iterations[-1].loop)
    if at == len(items) - 1 and isinstance(held, TensorObj):
        return state.new(held)
    item = items[at]
    is_unlike = _is_key(held) or any(type(each) is Symbol for each in (item.items if type(item) is Tuple else (item,)))
    if not isinstance(of, Ref) or not isinstance(listed, ListObj) or not is_unlike:
        return item
    known = next((item for place, item in listed.places if place == index), None)
    if known is None:
        known = state.new(held) if _is_key(held) else _renumbered(item)
        state.set(of, replace(listed, places=(*listed.places, (index, known))[-limits.LIST_PLACES :]))
    return known


def _renumbered(item: Value) -> Value:
    """A number that nobody knows, or what is paired with one, of another iteration."""
    if isinstance(item, Tuple):
        return replace(item, items=tuple(map(_renumbered, item.items)))
    return Symbol(ticket()) if isinstance(item, Symbol) else item


def _is_key(held: object) -> TypeGuard[UnknownObj]:
    """Whether it is something that nobody sees, and of which nothing is known."""
    return isinstance(held, UnknownObj) and held.edge is None and not (held.attrs or held.hint)


def _stand(state: State, item: Value, among: Iterable[Value], loop: Span | None, *, whole: bool = False) -> None:
    """Note that an item, or what is paired in it, is read in place of others `among` which it stands: in the iterations of a
    loop, or anywhere; and whether these are all, with a graph each."""
    graphs = [{*_edges(state, each)} for each in among if each != item]
    others = set[Edge]().union(*graphs)
    for edge in _edges(state, item):
        if not whole or not all(graphs):
            state.base.among_unseen.add(edge.node)
        state.base.may_be_others.setdefault(edge.node, {}).setdefault(loop, set()).update(others)


def note_read(state: State, held: HeapObj | None, item: Value) -> Value:
    """Note in which loop an item of a list was read; or a yes or no, if nobody knows at which places the list holds the other."""
    if not isinstance(held, ListObj) or not state.iterations:
        return item
    loop = state.iterations[-1].loop
    is_flag = isinstance(item, Const) and isinstance(item.value, bool)
    if is_flag and (held.open or held.sampled) and {TRUE, FALSE}.issubset(held.items):
        state.base.flagged.add(loop)
    for edge in _edges(state, item):
        state.base.read_in.setdefault(edge.node, set()).add(loop)
    return item


def _edges(state: State, item: Value) -> Iterator[Edge]:
    """The graphs of an item, or of what is paired or listed in it."""
    parts = state.items(item)
    for each in map(state.get, (item,) if parts is None else parts):
        if isinstance(each, TensorObj | UnknownObj) and each.edge is not None:
            yield each.edge


def _sequence(state: State, items: tuple[Value, ...], span: Span) -> Source:
    def at(state: State, index: Value) -> Results:
        if isinstance(index, Const) and isinstance(index.value, int) and -len(items) <= index.value < len(items):
            return [(state, items[index.value])]
        return [(state, items[len(items) // 2] if items else objects.fresh(state, span))]

    parts = len(items) > limits.EXACT_ITERATIONS and all(_is_part(state, item) for item in items)
    return Source(len(items), at, indexed=True, held=True, parts=parts)


def _is_part(state: State, item: Value) -> bool:
    """Whether an item is a layer, an object, a list, a dict or a weight, or a pair with one."""
    if isinstance(item, Tuple):
        return any(_is_part(state, each) for each in item.items)
    held = state.get(item)
    if isinstance(held, UnknownObj):
        return held.notes.network is not None
    return isinstance(held, LayerObj | Instance | ListObj | DictObj) or (isinstance(held, TensorObj) and held.parameter)


def iterated(machine: Machine, state: State, value: Value, span: Span) -> Value:
    """What an object of the program gives that is iterated over; any other value is itself."""
    if not isinstance(state.get(value), Instance) or (iterates := find(state, value, "__iter__")) is None:
        return value
    results = machine.call(state.fork(), Bound(iterates, value), Args(), span)
    if len(results) != 1 or results[0][0].flow is not None:
        return value
    after, given = results[0]
    state.become(after)
    return given


def _islice(inner: Source, bounds: Value) -> Source:
    """`islice(inner, stop)`, or `islice(inner, start, stop)`: some of what another gives."""
    known = consumption.bounds(bounds)
    if known is None:
        return replace(inner, length=None, size=None, sizes=(), whole=None, span=None)
    first, last = known
    count = last - first if last is not None else inner.length
    if count is not None and inner.length is not None:
        count = min(count, max(inner.length - first, 0))
    shifted = Const(first)

    def at(current: State, index: Value) -> Results:
        return inner.at(current, terms.sum_of("+", index, shifted) if first else index)

    return replace(inner, length=count, at=at, size=None, sizes=(), whole=None, span=None, endless=False)


def _object(machine: Machine, state: State, value: Value, span: Span) -> Source:
    """An object of the program: what its `__iter__` gives, or its items by their numbers."""
    if (given := iterated(machine, state, value, span)) != value:
        return source_of(machine, state, given, span)
    if find(state, value, "__next__") is not None:
        return Source(None, lambda s, i: advanced(machine, s, value, span))
    getter = find(state, value, "__getitem__")
    if getter is not None and find(state, value, "__iter__") is None:
        return Source(None, lambda s, i: machine.call(s, Bound(getter, value), Args((i,)), span))
    held = state.get(value)
    if isinstance(held, Instance) and dataclasses.names(state, held.cls) and not dataclasses.is_tuple(state, held.cls):
        machine.missing_reads.add(span)  # no dataclass gives its fields one after the other
    return Source(None, lambda s, i: [(s, objects.derived(machine, s, value, "item", span))])


def _iterator(machine: Machine, state: State, obj: IteratorObj, span: Span) -> Source:
    if obj.kind == "range":
        return _range(obj)
    if obj.kind == "count":
        return Source(None, lambda s, i: [(s, _counted(i, obj.start, obj.parts[0]))], endless=True)
    if obj.kind == "repeat":
        return _repeated(obj)
    if obj.kind == data.LOADER:
        return Source(data.batches(machine, state, obj, span), lambda s, i: data.batch(machine, s, obj, i, span))
    if obj.kind in (data.TENSORS, data.SUBSET):
        whole = state.new(obj)
        return Source(data.samples(machine, state, whole, span), lambda s, i: data.sample(machine, s, whole, i, span))
    parts = [source_of(machine, state, part, span) for part in obj.parts]
    match obj.kind:
        case "calls":
            return Source(None, lambda s, i: machine.call(s, obj.start, Args(), span))
        case "enumerate":
            inner = parts[0]
            size = inner.size or Term("len", (obj.parts[0],))

            def numbered(current: State, index: Value) -> Results:
                number = terms.sum_of("+", index, obj.start)
                return [(s, Tuple((number, item))) for s, item in inner.at(current, index)]

            return replace(inner, at=numbered, size=size)
        case "zip":
            return _zip(parts, obj.parts)
        case "reversed":
            return _backwards(parts[0], obj.parts[0])
        case "chain":
            return _chain(parts, span)
        case "cycle":
            return _cycle(parts[0])
        case "islice":
            return _islice(parts[0], obj.start)
        case "map" | "starmap":
            func = obj.start
            inner = _zip(parts, obj.parts) if len(parts) > 1 else parts[0]

            def mapped(current: State, index: Value) -> Results:
                found: Results = []
                for s, item in inner.at(current, index):
                    spread = len(parts) > 1 or obj.kind == "starmap"
                    args = item.items if spread and isinstance(item, Tuple) else (item,)
                    found += machine.call(s, func, Args(args), span)
                return found

            return Source(inner.length, mapped, inner.size, indexed=inner.indexed)
        case _:
            return parts[0] if parts else Source(None, lambda s, i: [(s, objects.fresh(s, span))])


def _backwards(inner: Source, iterable: Value) -> Source:
    """The same items from the last to the first."""
    length = inner.length
    if length is not None:
        return replace(inner, at=lambda s, i: inner.at(s, terms.binary("-", Const(length - 1), i) or i), size=None)
    size = inner.size or Term("len", (iterable,))
    return replace(inner, at=lambda s, i: inner.at(s, mirrored(i, size)), size=size, span=None)


def _zip(parts: list[Source], iterables: tuple[Value, ...]) -> Source:
    """Several iterables side by side; of those whose length nobody knows, all are as long as the first."""
    lengths = [part.length for part in parts if part.length is not None]
    ending = [(of, part) for of, part in zip(iterables, parts) if part.length is None and not part.endless]
    sizes = [part.size or Term("len", (of,)) for of, part in ending]
    others = (*sizes[1:], Term("min", tuple(sizes)), Term("min", tuple(reversed(sizes)))) if len(sizes) > 1 else ()

    def zipped(state: State, index: Value) -> Results:
        return [(s, Tuple(row)) for s, row in in_turn(state, parts, lambda s, part: part.at(s, index))]

    length = min(lengths) if lengths else None
    held, indexed = all(part.held for part in parts), any(part.indexed for part in parts)
    whole = any(part.parts for part in parts)
    size = sizes[0] if sizes else None
    filled = next((part.whole for part in parts if part.whole is not None and part.length == length), None)
    return Source(length, zipped, size, sizes=others, indexed=indexed, held=held, whole=filled, parts=whole)


def _chain(parts: list[Source], span: Span) -> Source:
    """One behind the other, up to the first of which nobody knows how long it is."""
    known = list(takewhile(lambda part: part.length is not None, parts))
    rest = parts[len(known)] if len(known) < len(parts) else None
    begun = sum(part.length or 0 for part in known)

    def at(state: State, index: Value) -> Results:
        left = index.value if isinstance(index, Const) and isinstance(index.value, int) else begun if rest else 0
        for part in known:
            if left < (part.length or 0):
                return part.at(state, Const(left))
            left -= part.length or 0
        behind = terms.sum_of("-", index, Const(begun))
        return rest.at(state, behind) if rest is not None else [(state, objects.fresh(state, span))]

    if rest is not None:
        size = None if rest.size is None else terms.sum_of("+", rest.size, Const(begun))
        return rest if not begun else Source(None, at, size, endless=rest.endless, indexed=True)
    held, whole = all(part.held for part in parts), any(part.parts for part in parts)
    return Source(begun, at, indexed=True, held=held, parts=whole)


def _repeated(obj: IteratorObj) -> Source:
    """`repeat(item)`, or `repeat(item, times)`."""
    item, times = obj.parts[0], obj.start
    length = max(times.value, 0) if isinstance(times, Const) and isinstance(times.value, int) else None
    size = None if times == NONE else times
    return Source(length, lambda s, i: [(s, item)], size, endless=size is None, counted=size is not None, held=True)


def _cycle(inner: Source) -> Source:
    """The same items over and over: of a few, each turn takes one that may be its."""
    length = inner.length
    if length is None or not 0 < length <= limits.ITEMS_ON_PATHS:
        return replace(inner, length=None, size=None, endless=True)

    def at(state: State, index: Value) -> Results:
        within = terms.binary("%", index, Const(length)) or index
        ways = index_choices(state, within, numbered(map(Const, range(length))))
        return [found for each, number in ways for found in inner.at(each, number)]

    return replace(inner, length=None, size=None, at=at, endless=True)


def _counted(index: Value, start: Value, step: Value) -> Value:
    scaled = index if step == Const(1) else terms.product(index, step)
    return terms.sum_of("+", scaled, start)


def _iterations(start: int, stop: int, step: int) -> int | None:
    """How many turns a range makes; None for more than Python can count by."""
    try:
        return worked_out(len, range(start, stop, step))
    except NotWorkedOut:
        return None


def _range(obj: IteratorObj) -> Source:
    start, stop, step = obj.parts
    if step == Const(-1) and not (isinstance(start, Const) and isinstance(stop, Const)):
        up = (terms.sum_of("+", stop, Const(1)), terms.sum_of("+", start, Const(1)), Const(1))
        return _backwards(_range(IteratorObj("range", up)), NONE)
    numbers = [part.value for part in obj.parts if isinstance(part, Const) and isinstance(part.value, int)]
    length: int | None = None
    if len(numbers) == 3 and numbers[2] != 0:
        length = _iterations(*numbers)
    size = terms.sum_of("-", stop, start) if step == Const(1) else terms.strides(start, stop, step)
    by_one = step == Const(1) and length is None and size is not None
    last = terms.sum_of("-", size, Const(1)) if size is not None and by_one else None
    before_stop = terms.sum_of("-", stop, Const(1))

    def at(state: State, index: Value) -> Results:
        return [(state, before_stop if index == last else _counted(index, start, step))]

    return Source(length, at, size, None if last is None else (start, stop), counted=True)


def length(machine: Machine, state: State, value: Value, span: Span) -> Value:
    """`len(value)`."""
    value = classes.of(state, value)
    held = state.get(value)
    if isinstance(value, Const) and isinstance(value.value, str | bytes):
        return Const(len(value.value), value.loops)
    if isinstance(value, Term) and value.op == "shape":
        return shapes.rank(machine, state, value.args[0])
    if isinstance(held, TensorObj) and held.length is not None:
        return Const(held.length)
    if isinstance(held, UnknownObj) and (shown := _shown(held)) is not None:
        return shown
    if isinstance(held, UnknownObj | TensorObj | Instance) and not classes.children(state, value):
        return Term("len", (value,))
    if isinstance(held, IteratorObj):  # a loader: none else has a length
        number = source_of(machine, state, value, span).length
        return Const(number) if number is not None else Term("len", (value,))
    if isinstance(held, ListObj) and (held.sampled or held.perhaps):
        return _size(held, value)
    if isinstance(held, DictObj) and unknown_keys(state, held):
        return Term("len", (value,))
    known = known_items(machine, state, value, span)
    if known is None and isinstance(held, ListObj) and held.size is not None:
        return held.size
    return Const(len(known)) if known is not None else Term("len", (value,))


def _size(held: ListObj, value: Value) -> Value:
    """How long a list is that a loop has filled of which only some turns were run."""
    return held.size if held.size is not None and held.limit is None else Term("len", (value,))


def along(machine: Machine, state: State, value: Value, dimension: Value, span: Span) -> Value:
    """`value.size(dimension)`, or `value.shape[dimension]`: along the first it is what `len` tells."""
    if dimension == Const(0):
        return length(machine, state, value, span)
    held, at = state.get(value), dimension.value if isinstance(dimension, Const) else None
    if isinstance(held, TensorObj) and isinstance(at, int) and (known := held.shape.at(at)) is not None:
        return Const(known)
    return Term("item", (Term("shape", (value,)), dimension))
