"""By which names what outlives an iteration holds the graph of an earlier one, and the statements that would cut it there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from retainlint import ir
from retainlint.autograd.graph import Edge
from retainlint.incident import Holder, Iteration, Moment
from retainlint.startup.lazy_patterns import pattern
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.classes import of_program
from retainlint.symbolic.state.state import Frame, State
from retainlint.symbolic.state.values import (
    NONE,
    UNFOLLOWED,
    ClassObj,
    Closure,
    Const,
    DictObj,
    External,
    Imported,
    Instance,
    LayerObj,
    ListObj,
    Ref,
    Symbol,
    TensorObj,
    Term,
    Tuple,
    UnknownObj,
    Value,
)
from retainlint.text.source import Span

Held: TypeAlias = "tuple[str, str, tuple[Value, ...]]"
"""A name, an expression for its value without its graph, "" where none can be told, and this behind the dicts that hold it."""

Modules: TypeAlias = Mapping[str, "int | None"]
"""The frames of the modules that were imported, by their places."""


def later(before: Moment, now: Moment) -> Iteration | None:
    """The iteration in which a moment is further than another one; None outside of loops that they share."""
    return next((b for a, b in zip(before.iterations, now.iterations, strict=False) if a != b), None)


def holders(
    state: State, modules: Modules, built: Moment, spoilt: Moment, needed: Moment, holds: Callable[[Edge], bool]
) -> tuple[Holder, ...]:
    """All that `holds` a graph built in an iteration before the last moment's, seen from the function of the loop, or the
    method, that goes on. A list gathers in which such a graph stands beside what doesn't hold it."""
    further = later(spoilt, needed)
    if not any(further and each.loop == further.loop and each.number < further.number for each in built.iterations):
        return ()
    found = _seen(state, modules, spoilt, needed, holds)
    frame = _frame(state, further) if further is not None else None
    return tuple(
        Holder(
            name,
            text,
            _containers(state, value),
            _is_mixed(state, value, holds),
            _resets(state, frame, name),
            _owner(state, value),
        )
        for name, text, (*_, value) in found
        if text
    )


def _owner(state: State, value: Value) -> Span | None:
    """The class of the object one of whose attributes is a list."""
    if not isinstance(state.get(value), ListObj):
        return None
    owners = (each for each in state.heap.values() if isinstance(each, Instance) and value in each.attrs.values())
    cls = state.get(owner.cls) if (owner := next(owners, None)) is not None else None
    return cls.code.span if isinstance(cls, ClassObj) else None


def _resets(state: State, frame: Frame | None, name: str) -> tuple[str, ...]:
    """The calls that put an attribute back to what it was at first: of its object, or of one that holds this and others, then of
    others of that class."""
    root, *way = _STEPS.split(name)
    value = frame.names.get(root) if frame is not None and all(map(_PLAIN.fullmatch, way)) else None
    held = root
    while frame is not None and way and value is not None:
        owner = state.get(value)
        if not isinstance(owner, Instance | LayerObj):
            break
        if isinstance(owner, Instance) and (found := _putting_back(state, value, way)):
            others = [
                other
                for other, each in frame.names.items()
                if each != value and isinstance(one := state.get(each), Instance) and one.cls == owner.cls
            ]
            return tuple(f"{each}.{found[0]}()" for each in (held, *others))
        step = way.pop(0)
        value, held = owner.attrs.get(step.strip(".[]")), f"{held}{step}"
    return ()


_STEPS = pattern(r"(?=[.\[])")
_PLAIN = pattern(r"\.[^\W\d]\w*|\[\d+\]")
"""An attribute, or a module of several by its number."""


def _putting_back(state: State, value: Value | None, way: list[str]) -> list[str]:
    """The methods of an object that put back what lies that way below it, by those of the objects on it."""
    owner = state.get(value) if value is not None else None
    if not isinstance(owner, Instance):
        return []
    attr = way[0].strip(".[]")
    inner = _putting_back(state, owner.attrs.get(attr), way[1:]) if len(way) > 1 else []
    mild = frozenset(inner) if len(way) > 1 else _EMPTYING
    return [each.name for each in _methods(state, owner.cls) if mild and _only_puts_back(each, attr, mild)]


_EMPTYING = frozenset(("clear", "list", "dict", "deque"))


def _methods(state: State, cls: Value) -> Iterator[ir.Code]:
    """The methods of a class and of those that it derives from, but for those that Python calls."""
    for held in of_program(state, cls):
        yield from (
            each.code
            for each in held.attrs.values()
            if isinstance(each, Closure) and not each.code.name.startswith("_")
        )


def _only_puts_back(code: ir.Code, attr: str, mild: frozenset[str]) -> bool:
    """Whether a method, given nothing, empties an attribute, sets it to None or an empty container, or has it do so by methods of
    its own, the `mild` ones, and does no more than such."""
    body = [*ir.walk(code.body)] if len(code.params) == 1 else []
    plain = ir.Load | ir.GetAttr | ir.Const | ir.Build | ir.SetAttr | ir.Return | ir.Call
    if not body or not all(isinstance(each, plain) for each in body):
        return False
    called = {name for _, name in ir.calls(code.body)}
    begun = {each.dst for each in body if isinstance(each, ir.Const | ir.Build | ir.Call)}
    set_ = [each for each in body if isinstance(each, ir.SetAttr)]
    if not all(each.src in begun for each in set_):
        return False  # to what something else holds
    sets = any(each.name == attr for each in set_)
    asks = bool(called - {"list", "dict", "deque"}) and any(
        isinstance(each, ir.GetAttr) and each.name == attr for each in body
    )
    built = (each for each in body if isinstance(each, ir.Build))
    return (sets or asks) and called <= mild and not any(each.items for each in built)


def cut_off(
    state: State, modules: Modules, spoilt: Moment, needed: Moment, holds: Callable[[Edge], bool]
) -> tuple[str, ...]:
    """The names of all that holds such a graph, if these are containers of which some items, nobody knows which, were cut off
    in an iteration: these may be all. None where others hold it, too."""
    further = later(spoilt, needed)
    cut = {id for id, loops in state.base.weak_cuts.items() if further is not None and further.loop in loops}
    found = list(_seen(state, modules, spoilt, needed, holds))
    at = (any(isinstance(each, Ref) and each.id in cut for each in path) for _, _, path in found)
    return tuple(name for name, _, _ in found) if all(at) else ()


def aggregates(state: State) -> frozenset[str]:
    """The names, and attributes of what has one, by which the functions that are being called hold no tensor, but several."""
    return frozenset(
        name for name, kinds in _held_by_name(state).items() if "several" in kinds and "tensor" not in kinds
    )


def numbers(state: State) -> frozenset[str]:
    """Those by which they hold nothing but a number, a text or a truth of Python's."""
    return frozenset(name for name, kinds in _held_by_name(state).items() if kinds == {"number"})


def _held_by_name(state: State) -> dict[str, set[str]]:
    """What the functions that are being called hold by each name, and by attributes of what has one: a "tensor", "several", a
    "number" or "other" values."""
    found: dict[str, set[str]] = {}
    known: set[Value] = set()  # objects may hold each other

    def look(name: str, value: Value, depth: int) -> None:
        held, kind = state.get(value), "other"
        if isinstance(held, TensorObj):
            kind = "tensor"
        elif isinstance(value, Tuple) or isinstance(held, ListObj | DictObj | Instance | LayerObj):
            kind = "several"
        elif isinstance(value, Const | Term | Symbol) and value != UNFOLLOWED:
            kind = "number"
        found.setdefault(name, set()).add(kind)
        if depth and isinstance(held, Instance) and value not in known:
            known.add(value)
            for attr, part in held.attrs.items():
                look(f"{name}.{attr}", part, depth - 1)

    for frame in map(state.frames.__getitem__, state.stack):
        for name, value in frame.names.items():
            look(name, value, limits.HOLDER_DEPTH)
    return found


def _containers(state: State, value: Value) -> tuple[str, ...]:
    """The kinds of what holds its tensors, from the outside in: by its first item, as the others are alike."""
    held = state.get(value)
    kind = held.kind if isinstance(held, ListObj) else "dict" if isinstance(held, DictObj) else ""
    parts = state.parts(value) if kind else ()
    return (kind, *(_containers(state, parts[0]) if parts else ())) if kind else ()


def _is_mixed(state: State, value: Value, holds: Callable[[Edge], bool]) -> bool:
    held = state.get(value)
    if isinstance(held, DictObj):
        return bool(held.items) and all(_is_mixed(state, each, holds) for each in held.items.values())
    return isinstance(held, ListObj) and not all(_is_held(state, each, holds) for each in held.items)


def _seen(
    state: State, modules: Modules, spoilt: Moment, needed: Moment, holds: Callable[[Edge], bool]
) -> Iterator[Held]:
    """Them, each with its value."""
    further = later(spoilt, needed)
    if further is None:
        return
    frame = _frame(state, further)
    if frame is None:
        return
    known: set[int] = set()
    loops = (each for each in ir.walk(frame.code.body) if isinstance(each, ir.For | ir.While))
    loop = next((each for each in loops if each.span == further.loop), None)
    dead: set[str] = set()  # what each iteration binds before it reads it
    if loop is not None:
        bound = {each.name for each in ir.walk(loop.body) if isinstance(each, ir.Store)}
        dead = bound - loop.carried.names - frame.code.captured
    named: dict[str, Value] = {}
    while True:  # its own names, then those around it
        named |= {name: value for name, value in frame.names.items() if name not in named}
        if frame.parent is None:
            break
        frame = state.frames[frame.parent]
    for name, value in {**_captured(state, named), **named}.items():
        if name in dead:
            continue
        if isinstance(value, Imported):
            value = _imported(state, modules, value)
            if not isinstance(state.get(value), Instance | LayerObj):
                continue  # set here, the name would be another one than the module's
        yield from _rows(state, name, (value,), holds, known, limits.HOLDER_DEPTH)


def _captured(state: State, named: Mapping[str, Value]) -> dict[str, Value]:
    """What the functions among these set in the one that has made them, by `nonlocal`."""
    found: dict[str, Value] = {}
    for value in named.values():
        if isinstance(value, Closure) and state.frames.has(value.frame):
            stores = (each for each in ir.walk(value.code.body) if isinstance(each, ir.Store))
            rebound = {each.name for each in stores if each.scope is ir.Scope.ENCLOSING}
            found |= {name: held for name, held in state.frames[value.frame].names.items() if name in rebound}
    return found


def _imported(state: State, modules: Modules, value: Value) -> Value:
    """What an imported name stands for, if somebody asked for it, through the modules that only hand it on."""
    seen: set[Imported] = set()
    while isinstance(value, Imported) and value not in seen:
        seen.add(value)
        frame = modules.get(value.place)
        if frame is not None and state.frames.has(frame):
            value = state.frames[frame].names.get(value.name, value)
    return value


def _frame(state: State, iteration: Iteration) -> Frame | None:
    """The function that goes on to the next iteration."""
    if iteration.is_call:
        frames = (state.frames[id] for id in state.stack)
        return next((each for each in frames if each.code.span == iteration.loop), None)
    within = len(state.calls) - iteration.depth
    return state.frames[state.stack[-1 - within]] if 0 <= within < len(state.stack) else None


def _rows(
    state: State, name: str, path: tuple[Value, ...], holds: Callable[[Edge], bool], known: set[int], depth: int
) -> Iterator[Held]:
    """What a name, or an attribute of what it names, holds."""
    value = path[-1]
    held = state.get(value)
    if isinstance(held, Instance | LayerObj):
        if isinstance(value, Ref) and value.id not in known and depth:
            known.add(value.id)
            cls = state.get(held.cls) if isinstance(held, Instance) else None
            made = _remade(cls) if isinstance(cls, ClassObj) else ""
            is_record = made or (isinstance(cls, ClassObj) and cls.dataclass)
            within = holds
            if is_record and any(_is_held(state, part, holds) for part in held.attrs.values()):
                within = _has_graph  # its other fields are of the same iteration
            if made:
                if _is_held(state, value, within):
                    yield name, _record(state, name, made, held.attrs.items(), within), path
                return
            for attr, part in held.attrs.items():
                if attr.isidentifier() or attr.isdecimal():  # of a list of modules, by their numbers
                    inner = f"{name}[{attr}]" if attr.isdecimal() else f"{name}.{attr}"
                    is_list = isinstance(state.get(part), ListObj)  # which may have been emptied
                    yield from _rows(state, inner, (part,), holds if is_list else within, known, depth - 1)
    elif isinstance(value, Tuple) and value.names:
        if _is_held(state, value, holds):
            yield name, _record(state, name, NAMED_TUPLE, zip(value.names, value.items, strict=False), holds), path
    elif (
        (is_held := _is_held(state, value, holds))
        and (text := _detached(state, name, value))
        and not _keeps_objects(state, value)
    ):
        yield name, text, path
    elif isinstance(held, DictObj) and held.of is None and depth:  # it holds other things as well
        rest = False
        for key, part in held.items.items():
            if isinstance(key, Const) and isinstance(key.value, str) and key.value.isidentifier():  # it goes into a fix
                spelt = f'"{key.value}"'  # as the program does, if it is seen to
                index = spelt if f"[{spelt}]" in state.frame.code.span.source.text else repr(key.value)
                yield from _rows(state, f"{name}[{index}]", (*path, part), holds, known, depth - 1)
            else:
                rest = rest or _is_held(state, part, holds)
        if rest or any(_is_held(state, part, holds) for part in held.rest):
            yield name, "", path
    elif is_held:
        yield name, "", path


def _keeps_objects(state: State, value: Value) -> bool:
    """Whether it is a dict of objects, which stay: their attributes are what iterations set."""
    held = state.get(value)
    items = map(state.get, held.items.values()) if isinstance(held, DictObj) else ()
    classes = (state.get(each.cls) for each in items if isinstance(each, Instance))
    return any(isinstance(each, ClassObj) and not _remade(each) for each in classes)


NAMED_TUPLE = "._replace"


def _fields(state: State, value: Value) -> tuple[str, list[tuple[str, Value]]] | None:
    """What makes another record like this one, and its fields; None of what is none."""
    if isinstance(value, Tuple):
        return (NAMED_TUPLE, list(zip(value.names, value.items, strict=False))) if value.names else None
    held = state.get(value)
    cls = state.get(held.cls) if isinstance(held, Instance) else None
    if not isinstance(held, Instance) or not isinstance(cls, ClassObj):
        return None
    made = _remade(cls) or (cls.name if cls.dataclass else "")
    return (made, list(held.attrs.items())) if made else None


def _remade(cls: ClassObj) -> str:
    """What makes another record in place of one whose fields can't be set: the method of a named tuple, the class of a
    frozen dataclass; "" of others."""
    if any(isinstance(base, External) and base.path.endswith("NamedTuple") for base in cls.bases):
        return NAMED_TUPLE
    return cls.name if cls.frozen else ""


def _record(
    state: State, path: str, maker: str, parts: Iterable[tuple[str, Value]], holds: Callable[[Edge], bool]
) -> str:
    """A record made again, without the graphs of those of its fields that are held."""
    return _again(
        path, maker, {name: f"{path}.{name}.detach()" * _is_tensor(state, part, holds) for name, part in parts}
    )


def _again(path: str, maker: str, fields: Mapping[str, str]) -> str:
    """A record made again with other fields: by the texts of those that are detached, "" of each that stays; by its class
    with all of them. "" where all stay."""
    changed = {name: text for name, text in fields.items() if text}
    by_class = {name: text or f"{path}.{name}" for name, text in fields.items()}
    given = ", ".join(f"{name}={text}" for name, text in (changed if maker == NAMED_TUPLE else by_class).items())
    return f"{path * (maker == NAMED_TUPLE)}{maker}({given})" if changed else ""


def _detached(state: State, text: str, value: Value, names: str = "tuv") -> str:
    """An expression for what stands as `text`, detached; "" for what can't be told to be made of tensors alone."""
    held = state.get(value)
    if isinstance(held, TensorObj) or (isinstance(held, UnknownObj) and held.edge is not None):
        return f"{text}.detach()"
    name, inner = names[:1], names[1:]
    if isinstance(held, ListObj) and held.kind == "deque":
        made = {_detached(state, name, part, inner) for part in held.items} if name else set()
        return (
            f"type({text})(({made.pop()} for {name} in {text}), {text}.maxlen)" if len(made) == 1 and all(made) else ""
        )
    if (record := _fields(state, value)) is not None:
        maker, fields = record
        return _again(text, maker, {each: _detached(state, f"{text}.{each}", part, names) for each, part in fields})
    listed = ListObj(value.items, kind="tuple") if isinstance(value, Tuple) else held
    if isinstance(listed, ListObj) and listed.kind in ("list", "tuple"):
        made_of = _alike(state, name, listed.items, inner)
        each = f"{made_of} for {name} in {text}" if made_of else ""
        if isinstance(value, Tuple) and not each:
            return _place_by_place(state, text, value, names)
        return (f"tuple({each})" if listed.kind == "tuple" else f"[{each}]") if each else ""
    if isinstance(held, DictObj) and held.of is None and name:
        made_of = _alike(state, name, (*held.items.values(), *held.rest), inner)
        return f"{{k: {made_of} for k, {name} in {text}.items()}}" if made_of else ""
    return ""


def _alike(state: State, name: str, parts: Iterable[Value], inner: str) -> str:
    """The expression by which all parts of a container are detached, by their name there; some may be None. "" if there is none."""
    parts = tuple(parts)
    made = {_detached(state, name, part, inner) for part in parts if part != NONE} if name else set()
    if len(made) != 1 or not all(made):
        return ""
    return f"{name} if {name} is None else {made.pop()}" if NONE in parts else made.pop()


def _place_by_place(state: State, text: str, value: Tuple, names: str) -> str:
    """A tuple of unlike things, of which those that hold graphs are detached: `(t[0].detach(), t[1])`."""
    made = [f"{text}[{at}]" for at in range(len(value.items))]
    held = [at for at, part in enumerate(value.items) if _is_held(state, part, _has_graph)]
    for at in held:
        made[at] = _detached(state, made[at], value.items[at], names)
    return f"({', '.join(made)})" if held and all(made) and len(made) > 1 else ""


def _has_graph(edge: Edge) -> bool:
    return not edge.node.is_leaf


def _is_tensor(state: State, value: Value, holds: Callable[[Edge], bool]) -> bool:
    held = state.get(value)
    return isinstance(held, TensorObj | UnknownObj) and held.edge is not None and holds(held.edge)


def _is_held(state: State, value: Value, holds: Callable[[Edge], bool], depth: int = limits.STORED_DEPTH) -> bool:
    """Whether a tensor, or one of a container, holds such a graph."""
    parts = state.parts(value)
    if (record := _fields(state, value)) is not None:
        parts = tuple(part for _, part in record[1])
    if depth and parts:
        return any(_is_held(state, part, holds, depth - 1) for part in parts)
    return _is_tensor(state, value, holds)
