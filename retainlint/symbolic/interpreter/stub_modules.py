"""Stubs of frameworks: what stands in them in place of what a program imports, and their code as if it stood where it is called."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from retainlint import ir
from retainlint.program import Program
from retainlint.startup.records import replace
from retainlint.symbolic.interpreter import module_bodies
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.classes import find
from retainlint.symbolic.state.imports import Loaded
from retainlint.symbolic.state.protocol import Args, Machine
from retainlint.symbolic.state.state import Frame, State, ticket
from retainlint.symbolic.state.values import NONE, Closure, Const, External, ListObj, Ref, UnknownObj, Value
from retainlint.text import stubs
from retainlint.text.source import Source, Span


def standing_for(machine: Machine, state: State, value: Value, *, is_base: bool = False) -> Value:
    """The function or class of a stub that stands for something imported; what has none is itself."""
    found = stubs.by_path().get(value.path) if isinstance(value, External) else None
    if found is None and is_base and isinstance(value, External) and not value.path.startswith("torch."):
        found = stubs.by_path().get(f".{value.path.rpartition('.')[2]}")
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


def given(state: State, left: Frame, value: Value, place: Span | None) -> None:
    """A call has returned something at a place: if a stub has called a function of the program, what that does to it, or to
    what it holds, stands there."""
    if not state.frame.code.is_stub:
        return
    if left.code.is_stub:
        state.writable().returned = left.returned
    elif place is not None:
        within = dict.fromkeys(_parts(state, value, limits.RETURNED_DEPTH), place)
        state.writable().returned = {**state.frame.returned, **within}


def _parts(state: State, value: Value, depth: int) -> Iterator[Value]:
    held = state.get(value)
    yield value
    inner = held.attrs.values() if isinstance(held, UnknownObj) else state.parts(value)
    for each in inner if depth else ():
        yield from _parts(state, each, depth - 1)


def runner(state: State, receiver: Value, name: str) -> Closure | None:
    """What a stub runs a method of the program by, where nobody is seen to do so."""
    found = find(state, receiver, stubs.RUNS + name)
    return found if isinstance(found, Closure) and found.code.span.source.is_stub else None


def ended(machine: Machine, state: State) -> list[State]:
    """How a path ends on which threads still wait when an entry has come to its end: they run then, and never again."""
    waiting = used(machine, state, "queue.WAITING")
    held = state.get(waiting) if waiting is not None else None
    if not isinstance(waiting, Ref) or not isinstance(held, ListObj) or not held.items or state.flow is not None:
        return [state]
    proceed = used(machine, state, "queue.proceed")
    after = machine.call(state.fork(), proceed or NONE, Args(), machine.running.span)
    state.set(waiting, replace(held, items=()))
    return [each for each, _ in after]


def used(machine: Machine, state: State, path: str) -> Value | None:
    """What a stub holds under a path; None if nothing has come to that stub so far."""
    stub, name = stubs.by_path()[path]
    frame = machine.imports.frames.get(stubs.source_of(stub).name)
    return module_bodies.named(machine, state, frame, name) if frame is not None else None


def repeated(state: State, code: ir.Code, args: Args) -> None:
    """A stub runs a method of the program in a loop: that is what is called again and again."""
    last = state.iterations[-1] if state.iterations else None
    if last is None or not last.is_call or not args.pos or not code.name.startswith(stubs.RUNS):
        return
    method = find(state, args.pos[0], code.name.removeprefix(stubs.RUNS))
    if isinstance(method, Closure) and not method.code.span.source.is_stub and last.depth == len(state.calls):
        state.iterations = (*state.iterations[:-1], replace(last, loop=method.code.span))


def behind(machine: Machine, code: ir.Code, is_whole: bool) -> tuple[External, ...]:
    """What a stub's class is one of: the framework's own, of which it says only some, unless what it derives from is known."""
    if not code.span.source.is_stub or is_whole:
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
