"""Python's builtins and the standard library's containers, as far as they carry graphs around."""

from __future__ import annotations

from retainlint.source import Span
from retainlint.symbolic import classes, facts, iteration
from retainlint.symbolic.context import Args, Machine, Results
from retainlint.symbolic.models import operations, unknown
from retainlint.symbolic.state import Flow, State, ticket
from retainlint.symbolic.values import (
    NONE,
    Bound,
    ClassObj,
    Closure,
    Const,
    DictObj,
    External,
    Failure,
    GradMode,
    Instance,
    IteratorObj,
    LayerObj,
    ListObj,
    OptimizerObj,
    Partial,
    Ref,
    Super,
    TensorObj,
    Term,
    Tuple,
    UnknownObj,
    Value,
)

LIBRARIES = {"collections", "itertools", "functools", "copy", "math", "sys", "os", "contextlib", "operator", "random",
             "time", "numpy", "logging", "argparse", "json", "dataclasses", "typing", "tqdm", "pytest"}  # fmt: skip
_PLAIN = {
    "len", "int", "float", "bool", "str", "bytes", "repr", "format", "id", "hash", "type", "print", "input", "open",
    "round", "ord", "chr", "bin", "hex", "divmod", "callable", "isinstance", "issubclass", "any", "all", "hasattr",
    "delattr", "dir", "compile", "help", "breakpoint", "slice", "complex",
}  # fmt: skip
_LIBRARY_PLAIN = ("numpy", "math", "random", "time", "logging", "argparse", "json", "sys", "os", "typing")
_COPIES = {"list", "tuple", "set", "frozenset", "sorted"}
_LAZY = {"enumerate", "zip", "reversed", "map", "filter", "iter", "range"}


def function(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results:
    """Call something built in, or of the standard library."""
    name = path.rpartition(".")[2]
    if not path.startswith("builtins."):
        return _library(machine, state, path, name, args, span)
    if name in _LAZY:
        return [(state, _lazy(state, name, args, span))]
    if name in _COPIES:
        return [(state, _copied(machine, state, name, args, span))]
    match name:
        case "dict":
            return [(state, _dict(machine, state, args, span))]
        case "len":
            return [(state, _length(machine, state, args.get(0, "obj"), span))]
        case "sum":
            return _sum(machine, state, args, span)
        case "min" | "max":
            return [(state, _extreme(machine, state, name, args, span))]
        case "abs":
            return _abs(machine, state, args, span)
        case "next":
            source = args.get(0, "iterator")
            return [(state, iteration.any_item(machine, state, source, span))]
        case "super":
            return [(state, _super(state, args))]
        case "isinstance":
            return [(state, _isinstance(state, args))]
        case "hasattr":
            return [(state, _hasattr(state, args))]
        case "getattr":
            return _getattr(machine, state, args, span)
        case "setattr":
            return _setattr(machine, state, args, span)
        case "callable":
            return [(state, Const(True) if isinstance(args.get(0, "obj"), Closure | Bound) else Term(name, args.pos))]
        case "exit" | "quit":
            state.flow = Flow("raise", Failure("SystemExit"))
            return [(state, NONE)]
        case "namedtuple":
            return [(state, _named_tuple(state, args, span))]
        case "object":
            return [(state, unknown.fresh(state, span, plain=True))]
    if name.endswith(("Error", "Exception", "Warning", "Interrupt", "Iteration", "Exit")):
        return [(state, Failure(name))]
    if name in ("int", "float", "str", "bool") and args.pos and facts.is_scalar(args.pos[0]):
        return [(state, _cast(name, args.pos[0]))]
    if name in _PLAIN:
        return [(state, Term(name, args.pos) if all(map(facts.is_scalar, args.pos)) and args.pos else
                 unknown.fresh(state, span, plain=True))]  # fmt: skip
    return [(state, unknown.called(machine, state, External(path), args, span))]


def _field_names(state: State, value: Value) -> tuple[Value, ...]:
    """The fields of a named tuple: a list of names, or one text."""
    if isinstance(value, Const) and isinstance(value.value, str):
        return (Tuple(tuple(Const(name) for name in value.value.replace(",", " ").split())),)
    held = state.get(value)
    items = value.items if isinstance(value, Tuple) else held.items if isinstance(held, ListObj) else ()
    return (Tuple(items),)


def _named_tuple(state: State, args: Args, span: Span) -> Value:
    """Call a class that namedtuple made: its field names come first."""
    fields, given = args.pos[0], args.pos[1:]
    assert isinstance(fields, Tuple)
    names = tuple(str(name.value) for name in fields.items if isinstance(name, Const))
    named = dict(args.named)
    values = [given[i] if i < len(given) else named.get(name) for i, name in enumerate(names)]
    return Tuple(tuple(value or unknown.fresh(state, span) for value in values), names)


def _cast(name: str, value: Value) -> Value:
    if isinstance(value, Const):
        try:
            return Const({"int": int, "float": float, "str": str, "bool": bool}[name](value.value))
        except (TypeError, ValueError):
            return Term(name, (value,))
    return value if name == "int" else Term(name, (value,))


def _library(machine: Machine, state: State, path: str, name: str, args: Args, span: Span) -> Results:
    match path:
        case "collections.OrderedDict":
            return [(state, _dict(machine, state, args, span))]
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
            return [(state, GradMode(True, guards=True))]
        case "sys.exit" | "os._exit":
            state.flow = Flow("raise", Failure("SystemExit"))
            return [(state, NONE)]
        case "tqdm.tqdm" | "tqdm.trange" | "tqdm.auto.tqdm" | "tqdm.notebook.tqdm":
            if name == "trange":
                return [(state, _lazy(state, "range", args, span))]
            return [(state, args.get(0, "iterable", unknown.fresh(state, span, plain=True)))]
    if path.startswith("itertools."):
        return [(state, unknown.fresh(state, span, hint="iterator"))]
    if path.partition(".")[0] in _LIBRARY_PLAIN:
        scalars = bool(args.pos) and all(map(facts.is_scalar, args.all)) and path.startswith("math.")
        return [(state, Term(path, args.all) if scalars else unknown.fresh(state, span, plain=True, name=name))]
    return [(state, unknown.called(machine, state, External(path), args, span))]


def _lazy(state: State, name: str, args: Args, span: Span) -> Value:
    match name:
        case "range":
            bounds = {1: (Const(0), *args.pos, Const(1)), 2: (*args.pos, Const(1)), 3: args.pos}.get(len(args.pos))
            return state.new(IteratorObj("range", bounds)) if bounds else unknown.fresh(state, span)
        case "enumerate":
            return state.new(IteratorObj("enumerate", args.pos[:1], args.get(1, "start", Const(0))))
        case "map":
            return state.new(IteratorObj("map", args.pos[1:], args.get(0, "func")))
        case "filter":
            return unknown.fresh(state, span, hint="iterator")
        case "iter":
            return args.get(0, "iterable")
    return state.new(IteratorObj(name, args.pos))


def _copied(machine: Machine, state: State, name: str, args: Args, span: Span) -> Value:
    kind = "set" if name in ("set", "frozenset") else "list"
    if not args.pos:
        return Tuple(()) if name == "tuple" else state.new(ListObj((), kind=kind))
    held = state.get(args.pos[0])
    if isinstance(held, ListObj):
        return state.new(ListObj(held.items, held.open, kind))
    known = iteration.known_items(machine, state, args.pos[0], span)
    if known is None:
        if isinstance(held, UnknownObj) and held.hint in ("", "iterator"):
            return unknown.fresh(state, span, name=held.name)
        item = iteration.any_item(machine, state, args.pos[0], span)
        return state.new(ListObj((item,), True, kind))
    return Tuple(tuple(known)) if name == "tuple" else state.new(ListObj(tuple(known), kind=kind))


def _dict(machine: Machine, state: State, args: Args, span: Span) -> Value:
    entries: dict[Value, Value] = {}
    open_ = args.open
    for value in args.pos[:1]:
        held = state.get(value)
        if isinstance(held, DictObj):
            entries |= held.items
            open_ |= held.open
            continue
        pairs = iteration.known_items(machine, state, value, span)
        open_ |= pairs is None
        entries |= {p.items[0]: p.items[1] for p in pairs or () if isinstance(p, Tuple) and len(p.items) == 2}
    entries |= {Const(key): value for key, value in args.named}
    return state.new(DictObj(entries, open_))


def _deque(machine: Machine, state: State, args: Args, span: Span) -> Value:
    known = iteration.known_items(machine, state, args.pos[0], span) if args.pos else []
    limit = args.get(1, "maxlen")
    size = limit.value if isinstance(limit, Const) and isinstance(limit.value, int) else None
    items = tuple(known or ())
    return state.new(ListObj(items[-size:] if size else items, known is None, "deque", size))


def _length(machine: Machine, state: State, value: Value, span: Span) -> Value:
    if isinstance(state.get(value), UnknownObj | TensorObj | Instance):
        return Term("len", (value,))
    known = iteration.known_items(machine, state, value, span)
    return Const(len(known)) if known is not None else Term("len", (value,))


def _sum(machine: Machine, state: State, args: Args, span: Span) -> Results:
    """`sum(losses)`: a chain of additions, which save nothing."""
    source = args.get(0, "iterable")
    known = iteration.known_items(machine, state, source, span)
    if known is None:
        held = state.get(source)
        known = list(held.items) if isinstance(held, ListObj) else [iteration.any_item(machine, state, source, span)]
        if isinstance(held, UnknownObj):
            return [(state, unknown.called(machine, state, External("builtins.sum"), args, span))]
    if not known:
        return [(state, Const(0))]
    if all(map(facts.is_scalar, known)):
        return [(state, Term("sum", tuple(known)[:4]))]
    total: Value = operations.operate(machine, state, "add", known, span, spans=args.spans[:1] * len(known))
    return [(state, total)]


def _extreme(machine: Machine, state: State, name: str, args: Args, span: Span) -> Value:
    values = list(args.pos)
    if len(values) == 1:
        values = iteration.known_items(machine, state, values[0], span) or []
    numbers = [v.value for v in values if isinstance(v, Const) and isinstance(v.value, int | float)]
    if values and len(numbers) == len(values):
        return Const(max(numbers) if name == "max" else min(numbers))
    if values and all(map(facts.is_scalar, values)):
        return Term(name, tuple(values))
    return values[0] if values else unknown.fresh(state, span)


def _abs(machine: Machine, state: State, args: Args, span: Span) -> Results:
    value = args.get(0, "x")
    if isinstance(state.get(value), TensorObj):
        return [(state, operations.operate(machine, state, "abs", (value,), span, spans=args.spans))]
    return [(state, Term("abs", (value,)) if facts.is_scalar(value) else unknown.fresh(state, span))]


def _super(state: State, args: Args) -> Value:
    frame = state.frame
    if len(args.pos) == 2:
        return Super(args.pos[1], args.pos[0])
    at: int | None = state.stack[-1]
    while at is not None and at in state.frames:
        frame = state.frames[at]
        if frame.cls is not None and frame.receiver is not None:
            return Super(frame.receiver, frame.cls)
        at = frame.parent
    return External("builtins.object")


_KINDS = {
    "list": ListObj, "dict": DictObj, "torch.Tensor": TensorObj, "torch.nn.Parameter": TensorObj,
    "torch.optim.Optimizer": OptimizerObj,
}  # fmt: skip
_SCALARS = {"int": int, "float": float, "str": str, "bool": bool, "bytes": bytes}


def _isinstance(state: State, args: Args) -> Value:
    """Whether an object is of a class, where both are known."""
    value, kinds = args.get(0, "obj"), args.get(1, "class")
    answers = [_is_of(state, value, k) for k in (kinds.items if isinstance(kinds, Tuple) else (kinds,))]
    if any(answer is True for answer in answers):
        return Const(True)
    if all(answer is False for answer in answers):
        return Const(False)
    return Term("isinstance", (value, kinds))


def _is_of(state: State, value: Value, kind: Value) -> bool | None:
    held = state.get(value)
    name = kind.path.removeprefix("builtins.") if isinstance(kind, External) else ""
    if isinstance(held, UnknownObj) or isinstance(value, Term):
        return None
    if isinstance(held, Instance):
        if any(base == kind for base in classes.ancestry(state, held.cls)):
            return True
        return False if isinstance(state.get(kind), ClassObj) and not classes.is_open(state, held.cls) else None
    if name == "tuple":
        return isinstance(value, Tuple)
    if name in _KINDS:
        return isinstance(held, _KINDS[name])
    if isinstance(value, Const) and name in _SCALARS:
        return isinstance(value.value, _SCALARS[name])
    if isinstance(held, LayerObj) and name.startswith("torch.nn."):
        return name in ("torch.nn.Module", f"torch.nn.{held.kind}")
    if name in _SCALARS and isinstance(held, ListObj | DictObj | TensorObj | LayerObj):
        return False
    return None


def _hasattr(state: State, args: Args) -> Value:
    obj, name = args.get(0, "obj"), args.get(1, "name")
    held = state.get(obj)
    if isinstance(held, Instance) and isinstance(name, Const):
        key = str(name.value)
        if key in held.attrs or classes.find(state, obj, key) is not None:
            return Const(True)
        if not classes.is_open(state, held.cls):
            return Const(False)
    return Term("hasattr", (obj, name))


def _getattr(machine: Machine, state: State, args: Args, span: Span) -> Results:
    obj, name = args.get(0, "obj"), args.get(1, "name")
    if not isinstance(name, Const) or not isinstance(name.value, str):
        return [(state, unknown.fresh(state, span))]
    if len(args.pos) > 2 and _hasattr(state, args) == Const(False):
        return [(state, args.pos[2])]
    return machine.attribute(state, obj, name.value, span)


def _setattr(machine: Machine, state: State, args: Args, span: Span) -> Results:
    obj, name, value = args.get(0, "obj"), args.get(1, "name"), args.get(2, "value")
    if isinstance(name, Const) and isinstance(name.value, str):
        return [(each, NONE) for each in machine.set_attribute(state, obj, name.value, value, span)]
    unknown.forget(machine, state, obj) if isinstance(obj, Ref) else None
    return [(state, NONE)]


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


def scalar_method(machine: Machine, state: State, obj: Value, name: str, args: Args, span: Span) -> Results:
    """Methods of texts and numbers."""
    if isinstance(obj, Const) and isinstance(obj.value, str) and all(isinstance(a, Const) for a in args.pos):
        if name in (
            "lower",
            "upper",
            "strip",
            "startswith",
            "endswith",
            "replace",
            "title",
            "find",
            "count",
            "isdigit",
        ):
            try:
                return [(state, Const(getattr(obj.value, name)(*(a.value for a in args.pos if isinstance(a, Const)))))]
            except (TypeError, ValueError):
                pass
    if name == "item":
        return [(state, obj)]
    if name == "format" and isinstance(obj, Const) and all(isinstance(a, Const) for a in args.all):
        try:
            named = {key: a.value for key, a in args.named if isinstance(a, Const)}
            return [
                (state, Const(str(obj.value).format(*(a.value for a in args.pos if isinstance(a, Const)), **named)))
            ]
        except (ValueError, IndexError, KeyError, AttributeError):
            return [(state, Term(name, (obj, *args.pos)))]
    if all(map(facts.is_scalar, args.pos)):
        return [(state, Term(name, (obj, *args.pos)))]
    return [(state, unknown.fresh(state, span, plain=True))]
