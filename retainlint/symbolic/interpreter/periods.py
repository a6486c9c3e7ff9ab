"""What the tests in a loop's body say of its iterations: how far apart those lie that run a backward pass, and which is the last."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator
from itertools import islice
from typing import TypeAlias

from retainlint import ir
from retainlint.ir import Register, facts
from retainlint.symbolic.interpreter import module_bodies
from retainlint.symbolic.solver import trials
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.protocol import Machine
from retainlint.symbolic.state.state import Frame, State
from retainlint.symbolic.state.values import NONE, Const, Instance, IteratorObj, Ref, Term, UnknownObj, Value
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


# -- the last iteration -----------------------------------------------------------------------------------------------


_ASKING = {"<": 0, ">=": 0, "!=": 0, "==": 0, "<=": 1, ">": 1}
"""How a counter is compared that looks for the last iteration, as in `i + 1 < n`; by `<=` with one less."""

_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}

_MEASURES = frozenset(("len", "size", "numel", "nelement"))
"""What may be called to tell the number."""


def numbers(machine: Machine, state: State, iterable: Value, loop: ir.For, sizes: Iterable[Value]) -> Iterator[Value]:
    """What stands for the number of iterations in the tests of the body that look for the last one, worked out ahead of the
    first; it says nothing of the `sizes` that are known to be that number."""
    begun, kind = _begun(state.get(iterable))
    name = _counter(loop, kind)
    if not name or not any(arg.name == "retain_graph" for call, _ in ir.calls(loop.body) for arg in call.args):
        return
    known = {leaf for each in sizes for leaf in trials.leaves(each)}
    meant = (number for number, behind in _tests(loop.body, name) if behind + begun == 1)
    for number in islice(meant, limits.LAST_ITERATION_TESTS):
        making = _making(loop.body, number)
        ways = machine.run(making, [state.fork()]) if making else []
        if len(ways) == 1 and ways[0].flow is None and isinstance(found := ways[0].read(number), Term | Ref):
            state.become(ways[0])  # what was asked of what nobody sees is what the test will find
            if known.isdisjoint(trials.leaves(found)):
                yield found


def _begun(held: object) -> tuple[int, str]:
    """What the counter of the first iteration is, and by which builtin a loop counts."""
    match held:
        case IteratorObj(kind="enumerate", start=Const(int(begun))):
            return begun, "enumerate"
        case IteratorObj(kind="range", parts=(Const(int(begun)), _, Const(1))):
            return begun, "range"
    return 0, ""


def _counter(loop: ir.For, kind: str) -> str:
    """The variable that holds a loop's counter; "" if none does, or its body sets it, too."""
    register = loop.item if kind == "range" else None
    names: list[str] = []
    for instr in loop.body if kind else ():
        if kind == "enumerate" and isinstance(instr, ir.Unpack) and instr.src == loop.item:
            register = instr.dsts[0]
        elif isinstance(instr, ir.Store) and instr.src == register:
            names.append(instr.name)
    stored = [each.name for each in ir.walk(loop.body) if isinstance(each, ir.Store)] if names else []
    return names[0] if names and stored.count(names[0]) == 1 else ""


def _tests(body: ir.Block, counter: str) -> Iterator[tuple[Register, int]]:
    """The numbers that the counter is compared with, and how far: 1 for `counter + 1 < n` and for `counter < n - 1`."""
    known: dict[Register, int] = {}
    counts: dict[Register, int] = {}
    others: dict[Register, tuple[Register, int]] = {}
    for instr in ir.walk(body):
        match instr:
            case ir.Load(dst=dst, name=name) if name == counter:
                counts[dst] = 0
            case ir.Const(dst=dst, value=int(value)):
                known[dst] = value
            case ir.Binary(dst=dst, op="+" | "-" as op, left=left, right=right) if right in known:
                by = known[right] if op == "+" else -known[right]
                if left in counts:
                    counts[dst] = counts[left] + by
                else:
                    others[dst] = left, by
            case ir.Compare(op=op, left=left, right=right):
                if right in counts:
                    op, left, right = _MIRRORED.get(op, op), right, left
                if op in _ASKING and left in counts:
                    number, by = others.get(right, (right, 0))
                    yield number, counts[left] - by - _ASKING[op]


def _making(body: ir.Block, register: Register) -> ir.Block:
    """The instructions that work a number out, if these only read what the body doesn't set; else none."""
    made = {each.dst: each for each in ir.walk(body) if isinstance(each, _READING)}
    stored = {each.name for each in ir.walk(body) if isinstance(each, ir.Store)}
    names = {each.dst: each.name for each in made.values() if isinstance(each, ir.Load | ir.GetAttr)}
    found: set[int] = set()
    wanted = [register]
    while wanted:
        each = made.get(wanted.pop())
        match each:
            case ir.Load(name=name) if name not in stored:
                pass
            case ir.Const():
                pass
            case ir.GetAttr(obj=obj):
                wanted.append(obj)
            case ir.GetItem(obj=obj, index=index):
                wanted += (obj, index)
            case ir.Call(func=func, args=args) if names.get(func) in _MEASURES:
                wanted += (func, *(arg.value for arg in args))
            case _:
                return ()
        found.add(id(each))
    return tuple(each for each in ir.walk(body) if id(each) in found)


_READING = (ir.Load, ir.Const, ir.GetAttr, ir.GetItem, ir.Call)
