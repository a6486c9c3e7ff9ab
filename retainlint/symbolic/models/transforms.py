"""torch.func, functorch and torch.autograd.functional: functions of functions, and what graph their results have."""

from __future__ import annotations

from retainlint.source import Span
from retainlint.symbolic.context import Args, Machine, Results
from retainlint.symbolic.models import unknown
from retainlint.symbolic.state import State, ticket
from retainlint.symbolic.values import (
    CONVENTIONAL,
    FALSE,
    Bound,
    Closure,
    DictObj,
    External,
    Partial,
    Ref,
    TensorObj,
    Tuple,
    UnknownObj,
    Value,
)

_HEADS = ("torch.func.", "functorch.", "torch._functorch.apis.")
_TRANSFORMS = {"grad", "grad_and_value", "jacrev", "jacfwd", "hessian"}
_DERIVATIVES = {"jacobian", "hessian", "vjp", "jvp", "vhp", "hvp"}


def function(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results | None:
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
        plain = (_cut(state, span) if single else unknown.fresh(state, span, plain=True) for _ in range(2))
        return [(state, next(plain) if alone else Tuple(tuple(plain)))]
    if not state.grad or not isinstance(func, Closure | Bound | Partial | Ref):
        return [(state, unknown.called(machine, state, External(path), args, span))]
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
        return [(state, unknown.fresh(state, span, plain=True))]
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
    edges = unknown.edges_in(machine, state, sources)
    if not edges:
        return unknown.fresh(state, span)  # the function itself may bring some
    assumed = f"`{name}` saves what it computes with"
    edge = machine.graphs.unseen(state, edges, state.moment(span), CONVENTIONAL, assumed)
    return state.new(UnknownObj(span, edge, "tensor") if plainly else TensorObj(edge, ticket()))
