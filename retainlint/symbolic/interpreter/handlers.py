"""What handlers make of an exception, read off their instructions: whether the program may go on behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from retainlint import ir
from retainlint.symbolic.state.exception_types import CLASS, lineage, takes

SIGNALS = frozenset(("SkipTest", "Skipped", "TrialPruned", "StopIteration", "StopAsyncIteration"))
"""Exceptions that are raised to be caught by whoever called, and tell of no failure."""

EXITS = frozenset((("sys", "exit"), ("os", "_exit"), ("", "exit"), ("", "quit"), ("os", "abort")))


def may_go_on(tries: Sequence[ir.Try], raised: str, named: Mapping[int, Sequence[str]] = MappingProxyType({})) -> bool:
    """Whether one of the handlers within these `try` bodies, the innermost last, may take an exception, by the name of its class, and
    do anything but raise; or a `finally` may, which leaves the `try` itself. `named`: by a handler's id, the names of the classes
    that it catches, where a variable told them."""
    for instr in reversed(tries):
        if any(isinstance(each, _LEAVES) for each in ir.walk(instr.final)):
            return True
        for handler in instr.handlers:
            taken = takes(raised, named.get(id(handler)) or _named(handler))
            if taken is not False and not _raises(handler.body):
                return True
            if taken:
                instead = raised_by(handler.body)
                raised = instead if CLASS.fullmatch(instead) else raised
                break
    return False


_LEAVES = (ir.Return, ir.Break, ir.Continue)


def _raises(block: ir.Block) -> bool:
    """Whether a handler surely raises, and an error."""
    every = [*ir.walk(block)]
    if not block or any(isinstance(each, (*_LEAVES, ir.Try)) or _ends_program(every, each) for each in every):
        return False
    last = block[-1].body if isinstance(block[-1], ir.With) else block
    return isinstance(last[-1], ir.Raise) and raised_by(last) not in SIGNALS


def only_tells(instr: ir.Try) -> bool:
    """Whether what a `try` calls is all that a program does, and its handler takes whatever goes wrong there, and tells of it. Where
    the backward pass stands in it for itself, it may be there to show that it fails."""
    every = [each for each in instr.handlers if {*ir.names(each.test)} <= {"Exception", "BaseException"}]
    called = {name for _, name in ir.calls(instr.body)}
    is_shown = not called.isdisjoint(("backward", "grad"))
    tells = all(any(isinstance(each, ir.Call) for each in handler.body) for handler in every)
    return bool(every) and bool(called) and tells and not is_shown and not instr.orelse


def ends_with(block: ir.Block, is_it: Callable[[ir.Instr], bool]) -> bool:
    """Whether an instruction is the last that does something, or the last in what is; to end the program there is to do nothing."""
    for instr in reversed(block):
        if is_it(instr):
            return True
        if inner := ir.blocks(instr):
            return not isinstance(instr, ir.For | ir.While) and any(ends_with(each, is_it) for each in inner)
        if not (isinstance(instr, ir.Load | ir.GetAttr | ir.Const | ir.Return) or _ends_program(block, instr)):
            return False
    return False


def _ends_program(block: Sequence[ir.Instr], instr: ir.Instr) -> bool:
    """Whether it is a call of `sys.exit` or its like, or `raise SystemExit`."""
    if isinstance(instr, ir.Raise):
        return instr.src is not None and _class_of(block, instr.src) == "SystemExit"
    return isinstance(instr, ir.Call) and _class_of(block, instr.func) in {name for _, name in EXITS} | {"SystemExit"}


def raised_by(block: ir.Block) -> str:
    """The name of the class that a block raises at its end; "" if nobody knows."""
    last = block[-1] if block else None
    return _class_of(block, last.src) if isinstance(last, ir.Raise) and last.src is not None else ""


def _class_of(block: Sequence[ir.Instr], register: int) -> str:
    by_register = {instr.dst: instr for instr in block if isinstance(instr, ir.Load | ir.GetAttr | ir.Call)}
    found = by_register.get(register)
    if isinstance(found, ir.Call):
        found = by_register.get(found.func)
    return found.name if isinstance(found, ir.Load | ir.GetAttr) else ""


def is_python_own(handler: ir.Handler) -> bool:
    """Whether a handler's test is the name of one of Python's own exceptions."""
    names = _named(handler) or ()
    return len(names) == 1 and bool(lineage(names[0]))


def _named(handler: ir.Handler) -> Sequence[str] | None:
    """What stands in a handler's test, which was not run yet; None where it takes all."""
    if handler.type is None:
        return None
    return [instr.name for instr in handler.test if isinstance(instr, ir.Load | ir.GetAttr)]
