"""torch.func, functorch, torch.autograd.functional and pytrees: functions of functions, and what graph their results have."""

from __future__ import annotations

from retainlint.startup.records import replace
from retainlint.symbolic.models.unknown import call_results, objects
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.protocol import Args, Machine, Results, in_turn
from retainlint.symbolic.state.state import State, ticket
from retainlint.symbolic.state.values import (
    CONVENTIONAL,
    FALSE,
    Bound,
    Closure,
    DictObj,
    External,
    ListObj,
    Partial,
    Ref,
    TensorObj,
    Tuple,
    UnknownObj,
    Value,
)
from retainlint.text.source import Span

_HEADS = ("torch.func.", "functorch.", "torch._functorch.apis.")

_TRANSFORMS = {"grad", "grad_and_value", "jacrev", "jacfwd", "hessian"}

_DERIVATIVES = {"jacobian", "hessian", "vjp", "jvp", "vhp", "hvp"}


def transform_function(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results | None:
    """Make a transformed function, call one, or take a derivative; None for any other path."""
    head, _, name = path.rpartition(".")
    if path.startswith("torch.autograd.functional.") and name in _DERIVATIVES:
        return _derivative(machine, state, path, args, span)
    if path == "torch.vmap" or (path.startswith(_HEADS) and name == "vmap"):
        return [(state, args.get(0, "func"))]  # its results have the graph of a plain call
    if not path.startswith(_HEADS):
        return None
    if name in _TRANSFORMS:
        asked = tuple((key, value) for key, value in args.named if key != "func")
        asked += tuple((str(at), value) for at, value in enumerate(args.pos[1:], start=1))
        return [(state, Partial(External(f"{path}.applied"), (args.get(0, "func"),), asked))]
    if name == "applied":
        return _applied(machine, state, head.rpartition(".")[2], args, span)
    if name == "pulled":
        return [(state, Tuple((_made(machine, state, args.pos, "vjp", span),)))]
    if name == "jvp" and isinstance(primals := args.get(1, "primals"), Tuple) and not args.has(-1, "has_aux"):
        called = machine.call(state, args.get(0, "func"), Args(primals.items), span)
        return [(each, Tuple((value, _made(machine, each, (value,), "jvp", span)))) for each, value in called]
    if name == "vjp" and not args.has(-1, "has_aux"):
        called = machine.call(state, args.get(0, "func"), Args(args.pos[1:], spans=args.spans[1:]), span)
        pull = f"{head}.pulled"
        return [(each, Tuple((value, Partial(External(pull), (value,), ())))) for each, value in called]
    return None


def _derivative(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results:
    """What torch.autograd.functional returns has no graph unless `create_graph` asks for one; then it has one over what
    the function makes of its inputs."""
    name, func, given = path.rpartition(".")[2], args.get(0, "func"), args.get(1, "inputs")
    alone, single = name in ("jacobian", "hessian"), isinstance(state.get(given), TensorObj)  # the results are tensors
    if args.get(2 if alone else 3, "create_graph", FALSE) == FALSE:
        plain = (_cut(state, span) if single else objects.fresh(state, span, plain=True) for _ in range(2))
        return [(state, next(plain) if alone else Tuple(tuple(plain)))]
    if not state.grad or not isinstance(func, Closure | Bound | Partial | Ref):
        return [(state, call_results.called(machine, state, External(path), args, span))]
    found: Results = []
    for each, value in machine.call(state, func, Args(given.items if isinstance(given, Tuple) else (given,)), span):
        sources = (value, given) if single else (value,)
        made = tuple(_made(machine, each, sources, name, span, plainly=not single) for _ in range(1 if alone else 2))
        found.append((each, made[0] if alone else Tuple(made)))
    return found


def _cut(state: State, span: Span) -> Value:
    return state.new(TensorObj(None, ticket(), cut=("create_graph", span)))


def _applied(machine: Machine, state: State, name: str, args: Args, span: Span) -> Results:
    """A transformed function's result has a graph over what the function itself makes of its arguments, what it
    closes over too, and saves for it what it computes with."""
    func, given, *options = args.pos[0], args.pos[1:], *args.named
    if not state.grad:
        return [(state, objects.fresh(state, span, plain=True))]
    if options or not given or not isinstance(func, Closure | Bound | Partial | Ref):
        return [(state, _made(machine, state, given, name, span, plainly=True))]
    found: Results = []
    for each, value in machine.call(state, func, Args(given), span):
        first = each.get(given[0])
        if isinstance(first, DictObj):
            entry = _made(machine, each, (value,), name, span)
            derived: Value = each.new(DictObj(dict.fromkeys(first.items, entry), first.open))
        else:
            derived = _made(machine, each, (value,), name, span, plainly=not isinstance(first, TensorObj))
        found.append((each, Tuple((derived, value)) if name == "grad_and_value" else derived))
    return found


def _made(
    machine: Machine, state: State, sources: tuple[Value, ...], name: str, span: Span, *, plainly: bool = False
) -> Value:
    """What has a graph over some values, if they have any; `plainly` where it needn't be one tensor."""
    edges = objects.edges_in(machine, state, sources)
    held = [state.get(each) for each in sources]
    if not plainly and all(isinstance(each, TensorObj) and each.has_no_graph for each in held):
        return state.new(TensorObj(None, ticket()))
    if not edges:
        return objects.fresh(state, span)  # the function itself may bring some
    assumed = f"`{name}` saves what it computes with"
    edge = machine.graphs.unseen(state, edges, state.birth(span), CONVENTIONAL, assumed)
    return state.new(UnknownObj(span, edge, "tensor") if plainly else TensorObj(edge, ticket()))


_HOMES = ("torch.utils._pytree", "torch.utils.pytree", "optree")

_NAMED = ("func", "fn", "f")


def pytree_function(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results | None:
    """Call a function on each leaf of a tree; None for any other path, and where it isn't plain what a leaf is."""
    home, _, name = path.rpartition(".")
    only, in_place = "only" in name, name.endswith("_")
    if home not in _HOMES or name.removesuffix("_") not in ("tree_map", "tree_map_only"):
        return None
    func = next((value for key, value in args.named if key in _NAMED), args.get(int(only), "func"))
    tree = args.get(1 + only, "tree")
    known = {*_NAMED, "tree", "pytree", "type_or_types", "type_or_types_or_pred"}
    if len(args.pos) > 2 + only or args.open or {key for key, _ in args.named} - known or not _is_small(state, tree):
        return None
    tensors_only = only and args.get(0, "type_or_types") == External("torch.Tensor")
    if only and not tensors_only:
        return None
    made = _mapped(machine, state, func, tree, span, tensors_only)
    return [(each, tree) for each, _ in made] if in_place else made


def _parts(state: State, tree: Value) -> tuple[Value, ...] | None:
    """What a container holds; None for a leaf."""
    if isinstance(tree, Tuple):
        return tree.items
    match state.get(tree):
        case ListObj(kind="list" | "tuple", items=items):
            return items
        case DictObj(items=entries, rest=()):
            return tuple(entries.values())
    return None


def _is_small(state: State, tree: Value) -> bool:
    """Whether a tree has few parts, counted by every way; what holds itself has no end."""
    waiting = [tree]
    for _ in range(limits.TREE_PARTS):
        if not waiting:
            return True
        waiting.extend(_parts(state, waiting.pop()) or ())
    return not waiting


def _mapped(machine: Machine, state: State, func: Value, tree: Value, span: Span, tensors_only: bool) -> Results:
    parts = _parts(state, tree)
    if parts is None:
        if tensors_only and not isinstance(state.get(tree), TensorObj | UnknownObj):
            return [(state, tree)]
        return machine.call(state, func, Args((tree,)), span)

    def step(state: State, part: Value) -> Results:
        return [(state, part)] if state.flow is not None else _mapped(machine, state, func, part, span, tensors_only)

    return [(each, _like(each, tree, made)) for each, made in in_turn(state, parts, step)]


def _like(state: State, tree: Value, items: tuple[Value, ...]) -> Value:
    """A container of the same kind with other items."""
    if isinstance(tree, Tuple):
        return replace(tree, items=items)
    held = state.get(tree)
    if isinstance(held, ListObj):
        return state.new(replace(held, items=items, places=()))
    assert isinstance(held, DictObj)
    return state.new(replace(held, items=dict(zip(held.items, items))))
