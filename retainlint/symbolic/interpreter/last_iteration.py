"""What a program takes for the number of a loop's iterations, if it keeps graphs and compares the counter with one less."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from retainlint import ir
from retainlint.ir import Register
from retainlint.symbolic.solver import trials
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.protocol import Machine
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import Const, IteratorObj, Ref, Term, Value

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
