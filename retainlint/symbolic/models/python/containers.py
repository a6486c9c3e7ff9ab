"""Lists, dicts, sets, tuples, deques and texts: how they are built, and what their methods do."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType

from retainlint import ir
from retainlint.autograd.graph import walk
from retainlint.startup.lazy_patterns import pattern
from retainlint.startup.records import replace
from retainlint.symbolic.models.python import iteration, options, sequences
from retainlint.symbolic.models.python.sequences import in_order
from retainlint.symbolic.models.torch import submodules
from retainlint.symbolic.models.unknown import conventions, objects
from retainlint.symbolic.solver import decisions
from retainlint.symbolic.solver.terms import NotWorkedOut, worked_out
from retainlint.symbolic.state import classes, events, limits, reachability
from retainlint.symbolic.state.exception_types import as_text
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import (
    FALSE,
    NONE,
    ClassObj,
    Closure,
    Const,
    DictObj,
    External,
    LayerObj,
    ListObj,
    Ref,
    Slice,
    TensorObj,
    Term,
    Tuple,
    UnknownObj,
    Value,
)
from retainlint.text.source import Span

_PLAIN_FORMAT = pattern(r"[<>^=]?[-+ ]?0?\d{0,2}(?:\.\d{1,2})?[bdeEfFgGnosxX%]?")
"""How a number or a text is written in an f-string: `03d`, `.2f`, `>8`."""


def build(machine: Machine, state: State, instr: ir.Build) -> Value:
    """A display: `(a, b)`, `[a, *b]`, `{k: v}`, `a:b`, `f"{a}"`."""
    if instr.kind is ir.Kind.SLICE:
        return Slice(tuple(state.read(item.value) for item in instr.items))
    if instr.kind is ir.Kind.STRING:
        return _text(state, instr)
    if instr.kind is ir.Kind.TEMPLATE:
        return Term("text", tuple(state.read(item.value) for item in instr.items)[: limits.TERM_PARTS])
    if instr.kind is ir.Kind.DICT:
        return _build_dict(state, instr)
    items: list[Value] = []
    open_ = False
    for item in instr.items:
        value = state.read(item.value)
        if item.starred:
            known = iteration.known_items(machine, state, value, instr.span)
            held = state.get(value)
            items += held.items if known is None and isinstance(held, ListObj) else known or ()
            open_ |= known is None
        else:
            items.append(value)
    if instr.kind is ir.Kind.TUPLE and not open_ and len(items) <= limits.HELD_ITEMS:
        return Tuple(tuple(items))
    held_items = sequences.distinct(items) if instr.kind is ir.Kind.SET else tuple(items)
    return state.new(ListObj(held_items, open_, instr.kind.value))


_MOVING = frozenset(("appendleft", "insert", "extendleft", "popleft", "clear", "remove", "reverse", "rotate", "sort"))
"""Methods behind which an item of a list stands at another place."""
_ELSEWHERE = ((Tuple(()), NONE),)
"""Places of a list of which nobody knows what stands there: something does, under no number."""


def _text(state: State, instr: ir.Build) -> Value:
    """An f-string: known where its parts are and nothing but their plain text is asked for."""
    values = [as_text(state.read(item.value)) for item in instr.items]
    pieces = [instr.texts[0]]
    for value, item, text in zip(values, instr.items, instr.texts[1:]):
        known = value.value if isinstance(value, Const) and not item.conversion else ...
        if not isinstance(known, (str, int, float, bool, NoneType)):
            break
        if item.spec and not (isinstance(item.spec, str) and _PLAIN_FORMAT.fullmatch(item.spec)):
            break
        try:
            pieces += (worked_out(format, known, item.spec or ""), text)
        except NotWorkedOut:
            break
    else:
        if sum(map(len, pieces)) <= limits.SPELLED_TEXT:
            loops = dict.fromkeys(loop for value in values for loop in decisions.loops_of(value))
            return Const("".join(pieces), tuple(loops))
    shape = [f"{text}{{{item.conversion}:{item.spec}}}" for text, item in zip(instr.texts, instr.items)]
    return Term("text", (Const("".join(shape) + instr.texts[-1]), *values[: limits.TERM_PARTS]))


def _build_dict(state: State, instr: ir.Build) -> Value:
    entries: dict[Value, Value] = {}
    open_ = False
    for item in instr.items:
        value = state.read(item.value)
        if item.key is not None:
            entries[state.read(item.key)] = value
            continue
        held = classes.mapping(state, value)
        if held is None or held.open:
            entries, open_ = options.overridden(state, entries, instr.span), True
        entries |= held.items if held is not None else {}
    if all(item.key is not None for item in instr.items):
        return state.new(DictObj(entries, open_))
    made = _merged(DictObj({}, open_), entries)
    return state.new(replace(made, open=made.open or bool(made.rest)))


def append(state: State, container: Value, value: Value, key: Value | None = None) -> None:
    """Add an element at the end."""
    held = state.get(container)
    if not isinstance(container, Ref):
        return
    if isinstance(held, ListObj) and not (held.kind == "set" and value in held.items):
        items = (*held.items, value)
        if held.limit is not None and len(items) > held.limit:
            items = items[len(items) - held.limit :]
        if len(items) > limits.LIST_ITEMS:
            items, held = items[-limits.LIST_ITEMS_KEPT :], replace(held, open=True)
        state.set(container, replace(held, items=items))
    elif isinstance(held, DictObj) and key is not None:
        store(state, container, held, key, value)


def is_missing(held: DictObj, key: Value) -> bool:
    """Whether a dict surely has nothing under a key, so that `d[key]` raises."""
    if held.open or held.rest or held.default is not None:
        return False
    return not held.items or (key not in held.items and all(map(_is_constant, (key, *held.items))))


def _is_constant(key: Value) -> bool:
    """Whether a key is known: a constant, a tuple of such, or what tells them apart."""
    parts = key.items if isinstance(key, Tuple) else key.args if decisions.is_telling(key) else None
    return isinstance(key, Const) or (parts is not None and all(map(_is_constant, parts)))


def _is_apart(state: State, held: DictObj, key: Value) -> bool:
    """Whether a key that is no constant is none of those of a dict."""
    if isinstance(key, Const) or held.open or held.rest:
        return False
    return all(decisions.decide(state, decisions.compare(state, "==", key, each)) is False for each in held.items)


def lookup(
    machine: Machine, state: State, ref: Value, held: DictObj, key: Value, span: Span, default: Value | None = None
) -> Results:
    """`d[key]`, or `d.get(key, default)`."""
    if (known := options.default(state, key)) is not None and known in held.items:
        key = known
    if key in held.items:
        if isinstance(key, Const):
            state.base.deciding.add(key.loops)
        return [(state, held.items[key])]
    if default is not None and _is_apart(state, held, key):
        state.base.deciding.add(decisions.loops_of(key))
        return [(state, default)]
    if held.rest:
        return [(state, iteration.supposed(state, held.rest[-1], (*held.items.values(), *held.rest)))]
    if held.default is not None and isinstance(ref, Ref):
        found: Results = []
        for after, made in machine.call(state, held.default, Args(), span):
            begun = after.get(made)
            if not isinstance(key, Const) and isinstance(begun, ListObj) and isinstance(made, Ref) and _may_hold(held):
                after.set(made, replace(begun, open=True))  # what stands under one of the other keys, if it is this one
            after.set(ref, replace(held, items={**held.items, key: made}))
            found.append((after, made))
        return found
    if isinstance(key, Const) and not held.open and default is not None:
        state.base.deciding.add(key.loops)  # another iteration may ask for what is there
        return _under_one_of(machine, state, held, key, default, span)
    if isinstance(key, Const) and not held.open:
        if (found_one := _under_unknown(machine, state, held)) is not None:
            return [(state, found_one)]
        is_plain = all(is_bare(state, each) for each in held.items.values())
        if is_plain and (ways := _under_one_of(machine, state, held, key, None, span)):
            return ways
    if not isinstance(key, Const) and held.items and not held.open:
        if iteration.may_tell(key, held.items.values()):
            return iteration.index_choices(state, key, list(held.items.items()))
        if _is_choice(state, held):
            return iteration.index_choices(state, key, list(held.items.items()), told=span)
        last = list(held.items.values())[-1]
        if default is None or not isinstance(state.get(key), UnknownObj):
            return [(state, iteration.supposed(state, last, held.items.values(), whole=default is None))]
        found = []
        for each, is_there in machine.branch(state, decisions.compare(state, "in", key, ref), span):
            given = iteration.supposed(each, last, held.items.values(), whole=True) if is_there else default
            found.append((each, given))
        return found
    made = objects.fresh(state, span, name=str(key.value) if isinstance(key, Const) else "")
    if isinstance(ref, Ref):
        state.set(ref, replace(held, items={**held.items, key: made}))  # it is there, or the program would end here
    return [(state, made)]


def _under_one_of(
    machine: Machine, state: State, held: DictObj, key: Const, default: Value | None, span: Span
) -> Results:
    """What stands under a key that may be one of those nobody knows, each thing on a path of its own, and the default where it
    is none of them: without one, the program would end there. Of many things, one stands for all."""
    under: dict[Value, list[Value]] = {}
    for each, value in held.items.items():
        if not isinstance(each, Const) and decisions.may_be_scalar(state, each):
            under.setdefault(value, []).append(decisions.compare(state, "==", key, each))
    values = [*under]
    if len(under) > limits.ITEMS_ON_PATHS:
        under = {values[-1]: [asked for each in under.values() for asked in each]}
    if default is None and under:
        default = iteration.supposed(state, under.popitem()[0], values)
    found: Results = []
    for value, asked in under.items():
        ways = {is_there: each for each, is_there in machine.branch(state, decisions.any_of(asked), span)}
        if True in ways:
            found.append((ways[True], iteration.supposed(ways[True], value, values)))
        if False not in ways:
            return found
        state = ways[False]
    return [*found, (state, default)] if default is not None else found


def _under_unknown(machine: Machine, state: State, held: DictObj) -> Value | None:
    """What stands under a key that isn't seen among those that are known: one of those whose keys nobody knows, or the
    program would end here. None if it matters which."""
    values = [held.items[key] for key in iteration.unknown_keys(state, held)]
    if len(values) > 1 and not all(_is_spoilt(machine, state, each) for each in values):
        return None
    return values[-1] if values else None


def _is_spoilt(machine: Machine, state: State, value: Value) -> bool:
    """Whether no backward pass comes through a graph in it any more."""
    below = {*walk(edge.node for edge in objects.edges_in(machine, state, (value,)))}
    machine.graphs.effort.add(len(below))
    return any(reachability.is_spoilt(state, node) for node in below)


def _may_hold(held: DictObj) -> bool:
    """Whether a dict has keys of which nobody knows whether another that nobody knows is one of them."""
    return held.open or any(not isinstance(each, Const) for each in held.items)


def _is_choice(state: State, held: DictObj) -> bool:
    """Whether a dict offers a few classes or functions, of the program or of torch, or layers, of which each may be meant."""
    if not 1 < len(held.items) <= limits.ITEMS_ON_PATHS:
        return False
    return any(
        isinstance(each, Closure | External) or isinstance(state.get(each), ClassObj | LayerObj)
        for each in held.items.values()
    )


def store(state: State, ref: Ref, held: DictObj, key: Value, value: Value) -> None:
    if held.of is not None and isinstance(key, Const):
        submodules.put(state, held.of, str(key.value), value)
    if not (isinstance(key, Const) or decisions.is_class(state, key)):
        decisions.forget(state, ref)  # it may be another key, and one more
        if is_bare(state, value):
            state.note_weak_cut(ref.id)
    if held.rest and key not in held.items and iteration.is_unknown_key(state.get(key)):
        state.set(ref, replace(held, rest=(value,)))  # it may be the one that was put there last
        return
    state.set(ref, _merged(held, {key: value}))


def is_bare(state: State, value: Value) -> bool:
    """Whether neither a value nor what it holds has a graph."""
    held = state.get(value)
    if isinstance(held, TensorObj | UnknownObj):
        return held.edge is None
    if isinstance(value, Tuple) or isinstance(held, ListObj | DictObj):
        return all(is_bare(state, each) for each in state.parts(value))
    return isinstance(value, Const)


def _merged(held: DictObj, more: Mapping[Value, Value]) -> DictObj:
    """A dict that is given more; of two keys that nobody knows the one may be the other, so that the last is kept."""
    known = {
        key: value
        for key, value in more.items()
        if isinstance(key, External | Ref | Tuple) or _is_identity(key) or _is_constant(key)
    }
    rest = [value for key, value in more.items() if key not in known]
    return replace(held, items={**held.items, **known}, rest=tuple(rest[-1:]) or held.rest)


def _is_identity(key: Value) -> bool:
    """Whether it is the `id` of some object."""
    return isinstance(key, Term) and key.op == "id"


def list_method(machine: Machine, state: State, ref: Ref, name: str, args: Args, span: Span) -> Results:
    held = state.heap[ref.id]
    assert isinstance(held, ListObj)
    if held.places and (name in _MOVING or (name == "pop" and args.pos)):
        held = replace(held, places=_ELSEWHERE)
        state.set(ref, held)
    if (held.open or held.sampled or held.perhaps) and conventions.CHANGES.takes(name):
        decisions.forget(state, ref)  # how long it was, it isn't any more
        held = replace(held, size=None, perhaps=False)
        state.set(ref, held)
    if held.kind == "set" and name in sequences.METHODS:
        others = [iteration.known_items(machine, state, each, span) for each in args.pos]
        if (combined := sequences.method(state, ref, name, others)) is not None:
            return [(state, combined)]
    match name:
        case "append" | "add":
            _stored(machine, state, ref, args, 0, span)
            append(state, ref, args.get(0, "object"))
        case "appendleft":
            _stored(machine, state, ref, args, 0, span)
            state.set(ref, replace(held, items=(args.get(0, "x"), *held.items)))
        case "insert":
            _stored(machine, state, ref, args, 1, span)
            at = args.get(0, "index")
            place = at.value if isinstance(at, Const) and isinstance(at.value, int) else len(held.items)
            state.set(ref, replace(held, items=(*held.items[:place], args.get(1, "object"), *held.items[place:])))
        case "extend" | "update" | "extendleft":
            _stored(machine, state, ref, args, 0, span)
            more = iteration.known_items(machine, state, args.get(0, "iterable"), span)
            some = more if more is not None else [iteration.any_item(machine, state, args.get(0, "iterable"), span)]
            items = (*held.items, *some) if held.kind != "set" else sequences.distinct((*held.items, *some))
            given = state.get(args.get(0, "iterable"))
            sampled = held.sampled or (isinstance(given, ListObj) and given.sampled)
            state.set(ref, replace(held, items=items, open=held.open or more is None, sampled=sampled))
        case "pop" | "popleft":
            machine.events.emit(events.ContainerShrunk(ref.id))
            return [(state, _pop(state, ref, held, args, span, left=name == "popleft"))]
        case "clear":
            state.set(ref, replace(held, items=(), open=False))
        case "sort" if not (held.open or held.sampled):
            state.set(ref, replace(held, items=in_order(machine, state, held.items, args, span)))
        case "remove" | "discard":
            machine.events.emit(events.ContainerShrunk(ref.id))
            _take_out(state, ref, held, args.get(0, "value"))
        case "reverse":
            state.set(ref, replace(held, items=held.items[::-1]))
        case "rotate":
            state.set(ref, replace(held, items=_rotated(held.items, args.get(0, "n", Const(1)))))
        case "copy":
            return [(state, state.new(held))]
        case "index" if len(args.pos) == 1 and not (held.open or held.sampled) and args.pos[0] in held.items:
            return [(state, Const(held.items.index(args.pos[0])))]
        case "count" if (found := _count(held, args)) is not None:
            return [(state, found)]
        case "index" | "count":
            return [(state, Term(name, (ref, *args.pos)))]
        case _:
            return [(state, NONE if name == "sort" else objects.fresh(state, span))]
    return [(state, NONE)]


def _count(held: ListObj, args: Args) -> Const | None:
    """How often something stands in a list, where both are known."""
    if held.open or held.sampled or len(args.pos) != 1:
        return None
    known = [each.value for each in (*args.pos, *held.items) if isinstance(each, Const)]
    return Const(known[1:].count(known[0])) if len(known) == len(held.items) + 1 else None


def _rotated(items: tuple[Value, ...], steps: Value) -> tuple[Value, ...]:
    """Those of a deque, so many places further."""
    by = steps.value if isinstance(steps, Const) and isinstance(steps.value, int) else 1
    first = -by % max(len(items), 1)
    return items[first:] + items[:first]


def _take_out(state: State, ref: Ref, held: ListObj, value: Value) -> None:
    """What may be in a list, or a set, is taken out of it."""
    rest = held
    if value in held.items:
        at = held.items.index(value)
        rest = replace(held, items=held.items[:at] + held.items[at + 1 :], open=held.open or held.sampled)
    elif held.open or held.sampled or not all(isinstance(each, Const) for each in (value, *held.items)):
        rest = replace(held, open=True)
    state.set(ref, rest)
    if rest.open:
        state.note_weak_cut(ref.id)


def _stored(machine: Machine, state: State, ref: Ref, args: Args, at: int, span: Span) -> None:
    """Argument number `at` is put into a list."""
    if len(args.pos) > at:
        item = args.spans[at] if len(args.spans) > at else None
        machine.events.emit(events.Stored(state, ref, args.pos[at], span, item))


def _pop(state: State, ref: Ref, held: ListObj, args: Args, span: Span, *, left: bool) -> Value:
    at = args.get(0, "index", Const(0 if left else -1))
    if not held.items:
        return objects.fresh(state, span)
    place = at.value if isinstance(at, Const) and isinstance(at.value, int) else -1
    if held.open and place >= 0:  # whichever it is, it isn't popped again
        state.set(ref, replace(held, items=held.items[1:]))
        return held.items[0]
    place = place if -len(held.items) <= place < len(held.items) else -1
    items = list(held.items)
    value = items.pop(place)
    in_loop = any(not iteration.is_call for iteration in state.iterations)
    # what filled it may have been a loop of which we ran few turns: its first part taken off, it isn't empty
    state.set(ref, replace(held, items=tuple(items), open=held.open or not (items or in_loop)))
    return value


def dict_method(machine: Machine, state: State, ref: Ref, name: str, args: Args, span: Span) -> Results:
    held = state.heap[ref.id]
    assert isinstance(held, DictObj)
    match name:
        case "get":
            return lookup(machine, state, ref, held, args.get(0, "key"), span, args.get(1, "default"))
        case "keys":
            return [(state, _listed(state, ref, held, tuple(held.items)))]
        case "values":
            return [(state, _listed(state, ref, held, (*held.items.values(), *held.rest)))]
        case "items":
            pairs = tuple(Tuple((key, value)) for key, value in held.items.items())
            rest = tuple(Tuple((Term("key", (value,)), value)) for value in held.rest)
            return [(state, _listed(state, ref, held, pairs + rest))]
        case "update":
            _update(machine, state, ref, held, args, span)
        case "setdefault":
            key = args.get(0, "key")
            if key not in held.items:
                store(state, ref, held, key, args.get(1, "default"))
            return [(state, state_item(state, ref, key, args.get(1, "default")))]
        case "pop":
            machine.events.emit(events.ContainerShrunk(ref.id))
            return _popped(machine, state, ref, held, args, span)
        case "popitem":
            machine.events.emit(events.ContainerShrunk(ref.id))
            decisions.forget(state, ref)
            if not held.items or held.open or iteration.unknown_keys(state, held):  # nobody knows which it is
                return [(state, Tuple((objects.fresh(state, span), objects.fresh(state, span))))]
            key, value = list(held.items.items())[0 if args.get(0, "last") == FALSE else -1]
            state.set(ref, replace(held, items={k: v for k, v in held.items.items() if k != key}))
            return [(state, Tuple((key, value)))]
        case "clear":
            state.set(ref, replace(held, items={}, open=False, rest=()))
        case "copy":
            return [(state, state.new(held))]
        case _:
            return [(state, objects.fresh(state, span))]
    return [(state, NONE)]


def _popped(machine: Machine, state: State, ref: Ref, held: DictObj, args: Args, span: Span) -> Results:
    """`d.pop(key)`: under a key that nobody knows one of those that are there, and nobody knows which are left."""
    key, default = args.get(0, "key"), args.get(1, "default", NONE) if args.has(1, "default") else None
    if not isinstance(key, Const):
        decisions.forget(state, ref)
        state.note_weak_cut(ref.id)
    if key not in held.items and not isinstance(key, Const) and held.items and not held.open:
        state.set(ref, replace(held, items={}, open=True))
        return [(state, list(held.items.values())[-1])]
    found = [(state, held.items[key])] if key in held.items else []
    if not found and isinstance(key, Const) and not (held.open or held.rest):
        found = _under_one_of(machine, state, held, key, default, span)
    found = found or [(state, objects.fresh(state, span) if default is None else default)]
    for after, _ in found:
        left = {each: item for each, item in held.items.items() if not decisions.are_one(after, key, each)}
        after.set(ref, without(replace(held, items=left), key))
    return found


def without(held: DictObj, key: Value) -> DictObj:
    """A dict behind what has taken a key out of it: of what stands under keys that nobody knows, another that nobody knows may
    be the last."""
    if key in held.items:
        return replace(held, items={each: item for each, item in held.items.items() if each != key})
    return replace(held, rest=(), open=True) if held.rest and not isinstance(key, Const) else held


def state_item(state: State, ref: Ref, key: Value, default: Value) -> Value:
    held = state.heap[ref.id]
    return held.items.get(key, default) if isinstance(held, DictObj) else default


def _listed(state: State, ref: Ref, held: DictObj, items: tuple[Value, ...]) -> Value:
    is_open, is_sampled = held.open or bool(held.rest), bool(iteration.unknown_keys(state, held))
    size = Term("len", (ref,)) if is_open or is_sampled else None
    return state.new(ListObj(items, is_open, size=size, sampled=is_sampled and not is_open))


def _update(machine: Machine, state: State, ref: Ref, held: DictObj, args: Args, span: Span) -> None:
    begun = options.overridden(state, held.items, span) if args.open else held.items
    made = replace(held, items={**begun, **{Const(k): v for k, v in args.named}}, open=held.open or args.open)
    for value in args.pos:
        other = iteration.entries(machine, state, value, span)
        if other.open:
            made = replace(made, items=options.overridden(state, made.items, span), open=True)
        made = _merged(made, other.items)
        made = replace(made, rest=other.rest or made.rest, open=made.open or bool(made.rest))
        for key, each in other.items.items():
            if held.of is not None and isinstance(key, Const):
                submodules.put(state, held.of, str(key.value), each)
    state.set(ref, made)
