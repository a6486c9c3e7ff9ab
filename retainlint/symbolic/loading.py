"""Modules of the project are run by and by: the parts that a name needs, when it is asked for, each once for all paths."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator

from retainlint import ir
from retainlint.parts import Effect, Origin, Part, Parts, Use
from retainlint.source import Source, Span
from retainlint.symbolic.context import Args, Machine, OutOfSteps
from retainlint.symbolic.project import MODULES, ROWS, STEPS, Imports, Loaded, Project, Waiting
from retainlint.symbolic.state import Base, Frame, State, ticket
from retainlint.symbolic.values import Const, External, TensorObj, UnknownObj, Value

_TYPE_CHECKING = External("typing.TYPE_CHECKING")
_END = sys.maxsize

# -- what is asked for --------------------------------------------------------------------------------------------


def loaded(machine: Machine, state: State, place: str, span: Span) -> int | None:
    """The frame of a module, which is begun now if it wasn't; None if it can't be."""
    imports = machine.imports
    if place not in imports.frames:
        imports.frames[place] = None
        program = _program(machine, place, span)
        if program is not None:
            _begin(machine, state, place, program)
    return imports.frames[place]


def named(machine: Machine, state: State, frame: int, name: str, *, own: bool = False) -> Value | None:
    """What a module's text binds a name to, as this path sees it; `own` if it is the module itself that asks."""
    module = machine.imports.loaded.get(frame)
    if module is not None and name not in module.settled:
        _ask(machine, state, module, name, own)
    if module is not None and state.base.versions:
        for storage, version in state.base.versions.items():
            state.ledger.versions.setdefault(storage, version)
    found = state.frames[frame].names.get(name)
    if found is None and module is not None:
        found = state.base.frames[frame].names.get(name)  # this path changed the module before the name was asked for
    return found


def starred(machine: Machine, state: State, frame: int) -> None:
    """Run what may bind names of a module that aren't spelt in it."""
    module = machine.imports.loaded.get(frame)
    if module is not None and not module.starred:
        limit = module.running[-1] if module.running else _END
        module.starred = limit == _END
        _run(machine, state, module, (number for number in module.parts.stars if number < limit))


def _ask(machine: Machine, state: State, module: Loaded, name: str, own: bool) -> None:
    group = module.parts.group(name)
    limit = module.running[-1] if module.running else _END
    if not own and group and group[0] >= limit:
        limit = _END
    _run(machine, state, module, (number for number in group if number < limit))
    if _pay(machine, state, module, name) and (limit == _END or module.done.issuperset(group)):
        module.settled.add(name)


def _pay(machine: Machine, state: State, module: Loaded, name: str) -> bool:
    """Run what other modules may change of what a name is bound to; not where what changes it asks for it."""
    imports = machine.imports
    owed = imports.owed.get((module.place, name), ())
    waiting = [(frame, number) for frame, number in owed if number not in imports.loaded[frame].done]
    running = imports.loaded.get(imports.loading[-1]) if waiting and imports.loading else None
    if running is not None and running.running:
        number = running.running[-1]
        if (running.frame, number) in owed or (running is module and number in module.parts.group(name)):
            return False
    for frame, number in waiting:
        _run(machine, state, imports.loaded[frame], (number,))
    for each in imports.waiting.pop((module.place, name), ()):
        _decorate(machine, state, each)
    return True


# -- modules ------------------------------------------------------------------------------------------------------


def _program(machine: Machine, place: str, span: Span) -> ir.Program | None:
    imports = machine.imports
    assert imports.project is not None
    if imports.read >= MODULES or imports.rows >= ROWS:
        machine.gap(
            span, f"`{imports.project.dotted(place)}` was not read: this file's imports lead to too many modules"
        )
        return None
    program = imports.project.program(place)
    if isinstance(program, str):
        machine.gap(span, f"`{imports.project.dotted(place)}` was not read: {program}")
        return None
    if program is not None:
        imports.read += 1
        imports.rows += len(program.source.row_starts)
    return program


def _begin(machine: Machine, state: State, place: str, program: ir.Program) -> None:
    """Give a module its frame, and run what isn't there for its own names alone."""
    imports = machine.imports
    project = imports.project
    assert project is not None
    frame = ticket()
    names: dict[str, Value] = {"__name__": Const(project.dotted(place))}
    imports.base.frames[frame] = Frame(program.module, None, 0, names)
    imports.frames[place] = imports.of[program.source] = frame
    parts = program.parts or _whole(program)
    module = imports.loaded[frame] = Loaded(place, frame, program.module, parts)
    for_all: list[int] = []
    for number, part in enumerate(parts.all):
        altered = _altered(imports, project, program.source, part)
        if altered is None:
            for_all.append(number)
            continue
        for each in altered:
            imports.owed.setdefault(each, []).append((frame, number))
            other = imports.frames.get(each[0])
            if other in imports.loaded:
                imports.loaded[other].settled.discard(each[1])
    _run(machine, state, module, for_all)


def _whole(program: ir.Program) -> Parts:
    """A module that was lowered at once, as a single part."""
    part = Part(0, len(program.source.text), program.module.local_names, frozenset(), frozenset(), always=True)
    return Parts((part,), lambda part: program.module.body, lambda name, dropped: Effect(outside=True))


def _altered(imports: Imports, project: Project, source: Source, part: Part) -> frozenset[tuple[str, str]] | None:
    """What a part may change of what other modules hold; None if that may be anything, or if it imports what may do so, or
    if it changes what somebody may have already."""
    if part.always or any(_registers(project, source, each) for each in part.imports):
        return None
    found: set[tuple[str, str]] = set()
    for use in part.uses:
        altered = project.alters(source, use)
        if altered is None or (_is_object(use) and any(_is_known(imports, *each) for each in altered)):
            return None
        found |= altered
    return frozenset(found)


def _is_object(use: Use) -> bool:
    """Whether what may be changed is a thing that can be held without its name."""
    return bool(use.attributes) or not use.called


def _is_known(imports: Imports, place: str, name: str) -> bool:
    """Whether a module's name was asked for."""
    frame = imports.frames.get(place)
    return frame in imports.loaded and name in imports.loaded[frame].settled


def _registers(project: Project, source: Source, origin: Origin) -> bool:
    place = project.find(source, origin.module, origin.level)
    return place is not None and any(map(project.registers, imported_by(project, place, origin.name)))


def imported_by(project: Project, place: str, name: str) -> list[str]:
    """The modules that an import of a name from a place imports."""
    below = project.submodule(place, name) if name not in ("", "*") else None
    return [place] if below is None else [place, below]


# -- running ------------------------------------------------------------------------------------------------------


def _run(machine: Machine, state: State, module: Loaded, numbers: Iterable[int]) -> None:
    """Run some parts, and those that they need, in a state of their own, and let all paths see what they made."""
    needed = module.parts.before(numbers, module.done)
    if not needed or module.spent:
        return

    def run(own: State) -> Iterator[State]:
        for number in needed:
            if number not in module.done:
                module.done.add(number)
                module.running.append(number)
                own = _followed(machine, own, module.parts.block(number))
                module.running.pop()
                yield own

    _aside(machine, state, module, run)


def _decorate(machine: Machine, state: State, waiting: Waiting) -> None:
    """Call a decorator that has waited, with what it notes."""
    module = machine.imports.loaded[waiting.frame]
    if waiting.done or module.spent:
        return
    waiting.done = True

    def run(own: State) -> Iterator[State]:
        results = machine.call(own, waiting.decorator, Args((waiting.target,)), waiting.span)
        yield next((each for each, _ in results if each.flow is None), own)

    _aside(machine, state, module, run)


def _aside(machine: Machine, state: State, module: Loaded, run: Callable[[State], Iterator[State]]) -> None:
    """Run something of a module in a state of its own, and let all paths see what it made; `run` gives the state behind
    each thing that it has done."""
    imports = machine.imports
    if imports.loading and state.stack[:1] == tuple(imports.loading[-1:]):
        _share(imports.base, state)  # what runs now may ask for it
    own = module.state
    if own is None:
        own = State(imports.base)
        own.ledger.created = imports.base.created
    module.state = None  # what asks for more meanwhile has one of its own
    own.stack, own.flow = (module.frame,), None
    own.ledger.created = max(own.ledger.created, imports.base.created)
    around = imports.base.frames[module.frame]  # of a part that is being run, and has asked for these
    frame = own.writable(module.frame)
    frame.registers, frame.spans = {}, {}
    imports.loading.append(module.frame)
    steps, budget, claims = machine.steps, machine.budget, len(machine.waste.claims)
    running = len(module.running)
    machine.steps, machine.budget = module.steps, STEPS
    try:
        for after in run(own):
            own = after
    except OutOfSteps:
        module.spent = True
        machine.gap(module.code.span, "the module was not followed to its end: it takes too many steps")
    finally:
        module.steps = max(module.steps, machine.steps)
        machine.steps, machine.budget = steps, budget
        del machine.waste.claims[claims:], module.running[running:]
        imports.loading.pop()
        imports.for_types = False
    own.stack, own.flow = (module.frame,), None
    frame = own.writable(module.frame)
    frame.registers, frame.spans = around.registers, around.spans
    _share(imports.base, own)
    module.state = own


def _followed(machine: Machine, state: State, block: ir.Block) -> State:
    """One way through some statements: where it forks, the first that goes on."""
    for instr in block:
        run: ir.Block = (instr,)
        machine.imports.for_types = isinstance(instr, ir.If) and state.read(instr.cond) == _TYPE_CHECKING
        if isinstance(instr, ir.If) and machine.imports.for_types:
            run = run if any(isinstance(each, ir.Import) and each.name for each in instr.orelse) else instr.then
        going = [each for each in machine.run(run, [state]) if each.flow is None]
        if not going:
            state.flow = None
            break
        state = going[0]
        state.choices = ()
    return state


def _share(base: Base, state: State) -> None:
    """Give what a module has made so far to everybody."""
    for id, frame in state.frames.items():
        known = base.frames.get(id)
        if known is not None and frame.parent is None:  # what another path through the module has asked for
            frame.names = {**known.names, **frame.names}
        frame.owner = 0  # whoever writes to it from now on copies it
        base.frames[id] = frame
    base.heap.update(state.heap)
    base.versions.update(state.ledger.versions)
    base.created = max(base.created, state.ledger.created)
    tensors = ((id, obj) for id, obj in state.heap.items() if isinstance(obj, TensorObj | UnknownObj))
    base.graphs.update(id for id, obj in tensors if obj.edge is not None)
    state.frames.clear()
    state.heap.clear()
