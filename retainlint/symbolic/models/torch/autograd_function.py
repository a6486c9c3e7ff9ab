"""Classes of the program that derive from autograd.Function: what `apply` puts into the graph."""

from __future__ import annotations

from retainlint import ir
from retainlint.autograd.graph import Edge, Node, SavedTensor
from retainlint.symbolic.state.classes import ancestry, find
from retainlint.symbolic.state.graphs import Birth
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import State, ticket
from retainlint.symbolic.state.values import PROVEN, ClassObj, Closure, External, Ref, TensorObj, Tuple, Value, Wrapped
from retainlint.text.source import Span

BASE = External("torch.autograd.Function")


def is_function(state: State, cls: Value) -> bool:
    return isinstance(state.get(cls), ClassObj) and BASE in list(ancestry(state, cls))


def apply(machine: Machine, state: State, cls: Ref, args: Args, span: Span) -> Results:
    """`Class.apply(...)`: one node over the tensors that go in; it saves if its forward says save_for_backward, or what
    sets its context up."""
    held = state.heap[cls.id]
    assert isinstance(held, ClassObj)
    forward = find(state, cls, "forward")
    inner = forward.func if isinstance(forward, Wrapped) else forward
    saves = any(
        isinstance(each, Closure) and _mentions(each.code.body, "save_for_backward")
        for each in (inner, _setup(state, cls))
    )
    edges = tuple(e for value in args.all if (e := machine.graphs.edge(state, value)) is not None)
    count = _results(inner.code.body) if isinstance(inner, Closure) else 1
    if not edges or not state.grad:
        made: list[Value] = [state.new(TensorObj(None, ticket())) for _ in range(count)]
    else:
        result = ticket()
        saved = _saved(state, inner, args, result) if saves else ()
        node = Node(f"{held.name}Backward", saved, edges, state.ledger.next_order())
        passes = tuple(machine.graphs.exists(edge) for edge in edges)
        born = Birth(state.moment(span), min(passes), passes, (PROVEN,) * len(saved), args.spans[: len(edges)], "apply")
        machine.graphs.births[node] = born
        made = [state.new(TensorObj(Edge(node, i), result if not i else ticket())) for i in range(count)]
    return [(state, made[0] if count == 1 else Tuple(tuple(made)))]


def _saved(state: State, forward: Value | None, args: Args, result: int) -> tuple[SavedTensor, ...]:
    """What `save_for_backward` is given, where it is an argument of `forward`, or what that returns; of anything else that
    it saves nobody else has the memory."""
    unknown = (SavedTensor("saved_tensors"),)
    if not isinstance(forward, Closure):
        return unknown
    instrs = list(ir.walk(forward.code.body))
    savers = {each.dst for each in instrs if isinstance(each, ir.GetAttr) and each.name == "save_for_backward"}
    given = {arg.value for each in instrs if isinstance(each, ir.Call) and each.func in savers for arg in each.args}
    names = [each.name for each in instrs if isinstance(each, ir.Load) and each.dst in given]
    bound = {each.name for each in instrs if isinstance(each, ir.Store)}
    loaded = {each.dst: each.name for each in instrs if isinstance(each, ir.Load)}
    returned = [loaded.get(each.src) for each in instrs if isinstance(each, ir.Return)]
    inputs = dict(zip([param.name for param in forward.code.params[1:]], args.pos, strict=False))
    found: list[SavedTensor] = []
    for name in names:
        value = state.get(inputs[name]) if name in inputs and name not in bound else None
        if isinstance(value, TensorObj) and isinstance(value.storage, int):
            version = state.ledger.version(value.storage)
            found.append(SavedTensor(name, value.storage, version, value.edge))
        elif returned == [name] and name in bound:
            found.append(SavedTensor(name, result, state.ledger.version(result), None, is_result=True))
    return tuple(found) or unknown


def _setup(state: State, cls: Ref) -> Value | None:
    found = find(state, cls, "setup_context")
    return found.func if isinstance(found, Wrapped) else found


def _mentions(block: ir.Block, name: str) -> bool:
    return any(isinstance(i, ir.GetAttr) and i.name == name for i in ir.walk(block))


def _results(block: ir.Block) -> int:
    """How many values a function returns, if it returns a display of several."""
    built = {i.dst: len(i.items) for i in ir.walk(block) if isinstance(i, ir.Build) and i.kind is ir.Kind.TUPLE}
    returned = [built.get(i.src, 1) for i in ir.walk(block) if isinstance(i, ir.Return)]
    return max(returned, default=1)
