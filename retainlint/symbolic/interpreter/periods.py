"""How far apart the iterations of a loop lie that run a backward pass: those up to the second are run one by one."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator
from typing import TypeAlias

from retainlint import ir
from retainlint.ir import facts
from retainlint.symbolic.interpreter import module_bodies
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.protocol import Machine
from retainlint.symbolic.state.state import Frame, State
from retainlint.symbolic.state.values import NONE, Const, Instance, UnknownObj, Value
from retainlint.text.source import Span

_Made: TypeAlias = "dict[ir.Register, ir.Const | ir.Load | ir.GetAttr]"

_Period: TypeAlias = "tuple[ir.If | None, int]"
"""A test, and every how many iterations it holds; None for what a backward pass is given."""


def is_periodic(body: ir.Block) -> bool:
    """Whether a remainder decides whether an iteration runs a backward pass."""
    return any(isinstance(each, ir.If) and _has_remainder(each) and _backpropagates(each) for each in body)


def two(machine: Machine, state: State, body: ir.Block, *, by_name: bool = True) -> int:
    """The iterations up to the second of those that run a backward pass, where it is known how far they lie apart, and, if they
    aren't too many, until each that changes something at another period has met one; else 0. With `by_name` also of those that call
    what leads to a backward pass, and of what an iteration counts itself."""
    frame, body = taking(state, body)
    if not (by_name or is_periodic(body)):
        return 0
    leading = machine.unreached.leading if by_name else ()
    periods = [*_of_remainders(machine, state, frame, body)]
    periods += _of_counters(machine, state, frame, body) if by_name else ()
    apart = next((period for test, period in periods if test is None or _backpropagates(test, leading)), 0)
    others = [period for test, period in periods if test is not None and _changes(test)]
    met = math.lcm(apart, *others)
    lengths = 2 * apart if met == apart else max(2 * apart, met + 1), 2 * apart
    return next((each for each in lengths if each <= limits.PERIODIC_ITERATIONS), 0)


def taking(state: State, body: ir.Block) -> tuple[Frame, ir.Block]:
    """The body that decides which iterations matter, and the call that it stands in: that of a generator's loop which yields
    is one with that of the loop that takes what it yields."""
    consumer = state.frame.consumer
    if consumer is None or consumer.loop is None or not any(isinstance(each, ir.Yield) for each in body):
        return state.frame, body
    frames = (state.frames[each] for each in reversed(state.stack))
    return next(each for each in frames if each.consumer is not consumer), consumer.loop.body


def asks_for_its_end(loop: Span, body: ir.Block) -> bool:
    """Whether a test in the body speaks of what says how long the loop is: `if step == args.steps - 1`; and not only beside a
    counter, so that the last iteration does what others do."""
    gone_through = facts.places(loop.text.partition(" in ")[2].rstrip(": "))
    counted = [test for test, *_ in _counted(body)]
    tests = (each.span.text for each in ir.walk(body) if isinstance(each, ir.If) and each not in counted)
    return any(not gone_through.isdisjoint(facts.places(each)) for each in tests)


def _has_remainder(test: ir.If) -> bool:
    return facts.of_span(test.span).has_remainder


def _backpropagates(test: ir.If, leading: Container[str] = ()) -> bool:
    return any(name.endswith("backward") or name in leading for _, name in ir.calls(test.then))


def _changes(test: ir.If) -> bool:
    return any(isinstance(each, ir.Store | ir.SetAttr) for each in ir.walk(test.then))


def _of_remainders(machine: Machine, state: State, frame: Frame, body: ir.Block) -> Iterator[_Period]:
    """The tests of a remainder by a known number."""
    made = _made(body)
    tests = [each for each in body if isinstance(each, ir.If) and _has_remainder(each)]
    asking = [call for call, name in ir.calls(body) if name.endswith("backward") and "%" in call.span.text]
    for each in body if tests or asking else ():
        if not isinstance(each, ir.Binary) or each.op != "%":
            continue
        divisor = _known(machine, state, frame, made, each.right)
        if divisor > 0:
            yield from ((test, divisor) for test in tests if each.span in test.span)
            yield from ((None, divisor) for call in asking if each.span in call.span)


def _of_counters(machine: Machine, state: State, frame: Frame, body: ir.Block) -> Iterator[_Period]:
    """The tests of what each iteration adds one to, and that begins anew where they hold: `count += 1`, `if count == 4`; also
    where that is one of several things that are asked for: `if count == 4 or is_last`."""
    for test, added, bound, made in _counted(body):
        most = _known(machine, state, frame, made, bound)
        if most > 0 and _known(machine, state, frame, made, added) == 1:
            yield test, most


def _counted(body: ir.Block) -> Iterator[tuple[ir.If, ir.Register, ir.Register, _Made]]:
    """Such tests, with what is added in each iteration, what the sum is compared with, and where such numbers come from."""
    asked, tests = [*body, *_asked_by_or(body)], {each.cond: each for each in body if isinstance(each, ir.If)}
    tests |= {each.src: tests[each.dst] for each in asked if isinstance(each, ir.Move) and each.dst in tests}
    made, sums = _made(asked), {each.dst: each for each in body if isinstance(each, ir.Binary) and each.op == "+"}
    stored = (each for each in body if isinstance(each, ir.Store | ir.SetAttr) and each.src in sums)
    counted = {each.name: sums[each.src].right for each in stored if _name(made.get(sums[each.src].left)) == each.name}
    for each in asked if counted else ():
        if isinstance(each, ir.Compare) and each.op in _REACHED and (test := tests.get(each.dst)) is not None:
            count, bound = (each.left, each.right)[:: -1 if each.op == "<=" else 1]
            name = _name(made.get(count))
            if name in counted and any(
                isinstance(inner, ir.Store | ir.SetAttr) and inner.name == name for inner in ir.walk(test.then)
            ):
                yield test, counted[name], bound, made


_REACHED = ("==", ">=", "<=")
"""What is asked of a counter and its bound; of the last the bound stands first."""


def _asked_by_or(body: ir.Block) -> list[ir.Instr]:
    """What is worked out within the tests of a body that are put together by `or`."""
    found: list[ir.Instr] = []
    for each in body:
        if (
            isinstance(each, ir.If)
            and each.then
            and isinstance(first := each.then[0], ir.Move)
            and first.src == each.cond
        ):
            found += [*each.then, *each.orelse, *_asked_by_or(each.orelse)]
    return found


def _made(body: Iterable[ir.Instr]) -> _Made:
    return {each.dst: each for each in body if isinstance(each, ir.Const | ir.Load | ir.GetAttr)}


def _name(instr: ir.Const | ir.Load | ir.GetAttr | None) -> str:
    return instr.name if isinstance(instr, ir.Load | ir.GetAttr) else ""


def _known(machine: Machine, state: State, frame: Frame, made: _Made, register: ir.Register) -> int:
    """The number that a constant stands for, or the name of one, or an attribute of what has a name; 0 if none is known."""
    value = _value(machine, state, frame, made, register)
    return value.value if isinstance(value, Const) and isinstance(value.value, int) else 0


def _value(machine: Machine, state: State, frame: Frame, made: _Made, register: ir.Register) -> Value | None:
    match made.get(register):
        case ir.Const(value=value):
            return Const(value)
        case ir.Load(name=name):
            module = machine.imports.of[frame.code.span.source]
            return frame.names.get(name) or module_bodies.named(machine, state, module, name, own=True)
        case ir.GetAttr(obj=owner, name=name):
            held = state.get(_value(machine, state, frame, made, owner) or NONE)
            return held.attrs.get(name) if isinstance(held, Instance | UnknownObj) else None
    return None
