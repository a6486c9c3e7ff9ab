"""Stubs of frameworks: what stands in them in place of what a program imports, and their code as if it stood where it is called."""

from __future__ import annotations

from functools import cache

from retainlint import ir
from retainlint.program import Program
from retainlint.startup.records import replace
from retainlint.symbolic.interpreter import module_bodies
from retainlint.symbolic.state.imports import Loaded
from retainlint.symbolic.state.protocol import Machine
from retainlint.symbolic.state.state import Frame, State, ticket
from retainlint.symbolic.state.values import Closure, Const, External, Value
from retainlint.text import stubs
from retainlint.text.source import Source, Span


def standing_for(machine: Machine, state: State, value: Value) -> Value:
    """The function or class of a stub that stands for something imported; what has none is itself."""
    found = stubs.by_path().get(value.path) if isinstance(value, External) else None
    if found is None:
        return value
    stub, name = found
    return module_bodies.named(machine, state, _frame(machine, stub), name) or value


def _frame(machine: Machine, stub: stubs.Stub) -> int:
    """The frame of a stub, which is begun now if it wasn't."""
    imports, source = machine.imports, stubs.source_of(stub)
    if (frame := imports.frames.get(source.name)) is None:
        program = (_lowered if imports.project is None else imports.project.lowered)(source)
        assert program.parts is not None
        frame = imports.frames[source.name] = imports.of[program.source] = ticket()
        imports.base.frames[frame] = Frame(program.module, None, 0, {"__name__": Const(stub.modules[0])})
        imports.loaded[frame] = Loaded(source.name, frame, program.module, program.parts)
    return frame


def behind(machine: Machine, code: ir.Code) -> tuple[External, ...]:
    """What a stub's class is one of: the framework's own, of which it says only some."""
    if not code.span.source.is_stub:
        return ()
    module = machine.imports.base.frames[machine.imports.of[code.span.source]].names["__name__"]
    assert isinstance(module, Const)
    return (External(f"{module.value!s}.{code.name}"),)


@cache
def _lowered(source: Source) -> Program:
    from retainlint.lowering import lower_partly

    return lower_partly(source)


def placed(machine: Machine, func: Closure, span: Span) -> Closure:
    """A function of a stub with all that it does at the place of the program that calls it; any other as it is."""
    origin: ir.Code = func.code.origin or func.code
    if not origin.span.source.is_stub:
        return func
    known = machine.imports.placed
    if (origin, span) not in known:
        code = known[origin, span] = ir.moved(origin, span)
        code.origin = origin
    return replace(func, code=known[origin, span])
