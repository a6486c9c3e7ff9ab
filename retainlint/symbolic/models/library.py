"""The standard library's containers and helpers, as far as they carry graphs around."""

from __future__ import annotations

from retainlint.source import Span
from retainlint.symbolic import facts, iteration
from retainlint.symbolic.context import Args, Machine, Results
from retainlint.symbolic.models import unknown
from retainlint.symbolic.models.builtin import lazy, make_dict
from retainlint.symbolic.state import Flow, State, ticket
from retainlint.symbolic.values import (
    NONE,
    Const,
    DictObj,
    External,
    Failure,
    GradMode,
    Instance,
    IteratorObj,
    LayerObj,
    ListObj,
    Partial,
    TensorObj,
    Term,
    Tuple,
    UnknownObj,
    Value,
)

_LIBRARY_PLAIN = ("numpy", "math", "random", "time", "logging", "argparse", "json", "sys", "os", "typing")


LIBRARIES = {"collections", "itertools", "functools", "copy", "math", "sys", "os", "contextlib", "operator", "random",
             "time", "numpy", "logging", "argparse", "json", "dataclasses", "typing", "tqdm", "pytest"}  # fmt: skip


def function(machine: Machine, state: State, path: str, name: str, args: Args, span: Span) -> Results:
    match path:
        case "collections.OrderedDict":
            return [(state, make_dict(machine, state, args, span))]
        case "collections.defaultdict":
            factory = args.get(0, "default_factory")
            return [(state, state.new(DictObj({}, default=None if factory == NONE else factory)))]
        case "collections.deque":
            return [(state, _deque(machine, state, args, span))]
        case "dataclasses.field":
            return [(state, Partial(External(path), (), args.named))]
        case "collections.namedtuple":
            return [
                (state, Partial(External("builtins.namedtuple"), _field_names(state, args.get(1, "field_names")), ()))
            ]
        case "functools.partial":
            return [(state, Partial(args.get(0, "func"), args.pos[1:], args.named))]
        case "functools.wraps" | "functools.lru_cache" | "functools.cache":
            if name == "wraps" or (args.pos and not isinstance(args.pos[0], Const)):
                return [(state, args.get(0, "func") if name != "wraps" else External("builtins.identity_decorator"))]
            return [(state, Partial(External(path), (), ()))]
        case "functools.reduce":
            return _reduce(machine, state, args, span)
        case "itertools.chain":
            return [(state, state.new(IteratorObj("chain", args.pos)))]
        case "copy.copy" | "copy.deepcopy":
            return [(state, _copy(machine, state, args.get(0, "x"), span, deep=name == "deepcopy"))]
        case "random.sample" | "random.choices":
            return [(state, args.get(0, "population"))]
        case "random.choice":
            return [(state, iteration.any_item(machine, state, args.get(0, "seq"), span))]
        case "contextlib.suppress" | "pytest.raises":
            return [(state, GradMode(True, guards=True, expects=name == "raises"))]
        case "sys.exit" | "os._exit":
            state.flow = Flow("raise", Failure("SystemExit"))
            return [(state, NONE)]
        case "tqdm.tqdm" | "tqdm.trange" | "tqdm.auto.tqdm" | "tqdm.notebook.tqdm":
            if name == "trange":
                return [(state, lazy(state, "range", args, span))]
            return [(state, args.get(0, "iterable", unknown.fresh(state, span, plain=True)))]
    if path.startswith("itertools."):
        return [(state, unknown.fresh(state, span, hint="iterator"))]
    if path.partition(".")[0] in _LIBRARY_PLAIN:
        scalars = bool(args.pos) and all(map(facts.is_scalar, args.all)) and path.startswith("math.")
        return [(state, Term(path, args.all) if scalars else unknown.fresh(state, span, plain=True, name=name))]
    return [(state, unknown.called(machine, state, External(path), args, span))]


def _field_names(state: State, value: Value) -> tuple[Value, ...]:
    """The fields of a named tuple: a list of names, or one text."""
    if isinstance(value, Const) and isinstance(value.value, str):
        return (Tuple(tuple(Const(name) for name in value.value.replace(",", " ").split())),)
    held = state.get(value)
    items = value.items if isinstance(value, Tuple) else held.items if isinstance(held, ListObj) else ()
    return (Tuple(items),)


def _deque(machine: Machine, state: State, args: Args, span: Span) -> Value:
    known = iteration.known_items(machine, state, args.pos[0], span) if args.pos else []
    limit = args.get(1, "maxlen")
    size = limit.value if isinstance(limit, Const) and isinstance(limit.value, int) else None
    items = tuple(known or ())
    return state.new(ListObj(items[-size:] if size else items, known is None, "deque", size))


def _reduce(machine: Machine, state: State, args: Args, span: Span) -> Results:
    known = iteration.known_items(machine, state, args.get(1, "sequence"), span)
    if not known:
        return [(state, unknown.fresh(state, span))]
    results: Results = [(state, known[0])]
    for item in known[1:]:
        results = [r for each, v in results for r in machine.call(each, args.get(0, "func"), Args((v, item)), span)]
    return results


def _copy(machine: Machine, state: State, value: Value, span: Span, *, deep: bool) -> Value:
    """A copy; deep copies of modules own other parameters."""
    held = state.get(value)
    match held:
        case ListObj() | DictObj():
            return state.new(held)
        case TensorObj(edge=edge, parameter=parameter) if deep and edge is not None and edge.node.is_leaf:
            fresh = TensorObj(machine.graphs.leaf(state.moment(span)), ticket(), parameter=parameter)
            return state.new(fresh)
        case LayerObj(kind=kind, attrs=attrs, children=children, training=training) if deep:
            copies = {v: _copy(machine, state, v, span, deep=True) for v in (*attrs.values(), *children)}
            named = {key: copies[v] for key, v in attrs.items()}
            return state.new(LayerObj(kind, named, tuple(copies[v] for v in children), training))
        case Instance(cls=cls, attrs=attrs) if deep:
            return state.new(Instance(cls, {k: _copy(machine, state, v, span, deep=True) for k, v in attrs.items()}))
        case UnknownObj(hint=hint, name=name):
            return unknown.fresh(state, span, hint=hint, name=name)
    return value
