"""The optimisers that a Lightning module makes, what their steps change, and where a step returns its loss."""

from __future__ import annotations

from collections.abc import Iterator

from retainlint import ir
from retainlint.records import replace
from retainlint.source import Span
from retainlint.symbolic.classes import find
from retainlint.symbolic.context import Args, Machine, Results
from retainlint.symbolic.models import optimizers as stepping
from retainlint.symbolic.models import unknown
from retainlint.symbolic.state import State
from retainlint.symbolic.values import (
    FALSE,
    Bound,
    Closure,
    Const,
    DictObj,
    Instance,
    ListObj,
    OptimizerObj,
    Ref,
    Tuple,
    Value,
)


def stepped(machine: Machine, state: State, receiver: Value, code: ir.Code, number: int) -> None:
    """The steps of the optimisers that `configure_optimizers` surely makes; of several, with turns of their own, of this
    turn's. A trainer that accumulates gradients steps later."""
    configure = find(state, receiver, "configure_optimizers")
    if state.flow is not None or not isinstance(configure, Closure):
        return
    apart = state.fork()
    results = optimizers(machine, apart, receiver, code.span)
    if len(results) != 1 or results[0][0].flow is not None:
        return
    after, value = results[0]
    made = [after.get(each) for each in (value.items if isinstance(value, Tuple) else (value,))]
    in_turns = any(param.name == "optimizer_idx" for param in code.params)
    for held in made[number - 1 : number] if in_turns else made:
        if isinstance(held, OptimizerObj) and held.params is not None:
            known = tuple(param for param in held.params if not isinstance(param, Ref) or param.id in state.heap)
            stepping.step(machine, state, replace(held, params=known), returned(configure.code, 1))


def returned(code: ir.Code, number: int) -> Span:
    """The place where a step returns its loss; of several, that of this turn."""
    spans = sorted({instr.span for instr in _returns(code.body)}, key=lambda span: span.start)
    return spans[min(number, len(spans)) - 1 if len(spans) == 2 else -1] if spans else code.span


def _returns(block: ir.Block) -> Iterator[ir.Return]:
    for instr in block:
        match instr:
            case ir.Return():
                yield instr
            case ir.If(then=then, orelse=orelse):
                yield from _returns(then + orelse)
            case ir.For(body=body) | ir.While(body=body) | ir.With(body=body) | ir.Try(body=body):
                yield from _returns(body)


def optimizers(machine: Machine, state: State, receiver: Value, span: Span) -> Results:
    """`self.optimizers()`: what the class's `configure_optimizers` makes."""
    configure = find(state, receiver, "configure_optimizers")
    if configure is None:
        return [(state, unknown.fresh(state, span, hint="optimizer"))]
    key = "(optimizers)"
    held = state.get(receiver)
    if isinstance(held, Instance) and key in held.attrs:
        return [(state, held.attrs[key])]
    found: Results = []
    for each, value in machine.call(state, Bound(configure, receiver), Args(), span):
        made = list(_made(each, value, 0))
        one = made[0] if len(made) == 1 else Tuple(tuple(made)) if made else unknown.fresh(each, span)
        now = each.get(receiver)
        if isinstance(now, Instance):
            each.set(receiver, Instance(now.cls, {**now.attrs, key: one}))  # type: ignore[arg-type]
        found.append((each, one))
    return found


def _made(state: State, value: Value, depth: int) -> Iterator[Value]:
    """The optimisers in a result of `configure_optimizers`: alone, in lists, or in dicts under "optimizer"."""
    held = state.get(value)
    if isinstance(held, OptimizerObj):
        yield value
    if depth > 3:
        return
    items = value.items if isinstance(value, Tuple) else held.items if isinstance(held, ListObj) else ()
    for item in items:
        yield from _made(state, item, depth + 1)
    if isinstance(held, DictObj):
        yield from _made(state, held.items.get(Const("optimizer"), FALSE), depth + 1)
