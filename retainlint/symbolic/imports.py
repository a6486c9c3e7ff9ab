"""What an import binds: modules of the project are run when a name of theirs is used, each once for all paths."""

from __future__ import annotations

from retainlint import ir
from retainlint.source import Span
from retainlint.symbolic.context import Machine, OutOfSteps
from retainlint.symbolic.models import dispatch, unknown
from retainlint.symbolic.project import MODULES, ROWS, STEPS
from retainlint.symbolic.state import Base, State
from retainlint.symbolic.values import Const, External, Imported, Module, TensorObj, UnknownObj, Value

_TYPE_CHECKING = External("typing.TYPE_CHECKING")

# -- the statement ------------------------------------------------------------------------------------------------


def imported(machine: Machine, state: State, instr: ir.Import) -> Value:
    """What an import binds; the module is not run for it, unless that may be what it was imported for."""
    project, module, name, importer = machine.imports.project, instr.module, instr.name, instr.span.source
    place = project.find(importer, module, instr.level) if project is not None else None
    if project is None or place is None:
        if project is not None and name and not module.partition(".")[0]:
            return unknown.fresh(state, instr.span, name=name)
        return _foreign(state, instr)
    _run_registering(machine, state, place, name or "", instr.span)
    if name is None:
        top = project.top(importer, module)
        return External(module.partition(".")[0]) if top is None else Module(top)
    if name == "":
        return Module(place)
    if name == "*":
        machine.imports.stars.setdefault(machine.imports.of[importer], {})[place] = None
        return Const(None)
    return _now(machine, state, place, name) or Imported(place, name)


def _run_registering(machine: Machine, state: State, place: str, name: str, span: Span) -> None:
    project = machine.imports.project
    assert project is not None
    if machine.imports.for_types:
        return
    below = project.submodule(place, name) if name not in ("", "*") else None
    for each in (place, below):
        if each is not None and each not in machine.imports.frames and project.registers(each):
            _loaded(machine, state, each, span)


def _foreign(state: State, instr: ir.Import) -> Value:
    """An import that leads out of the project, or to what isn't there."""
    module, name = instr.module, instr.name
    if instr.level:
        return unknown.fresh(state, instr.span, name=name or module)
    if name is None:
        return External(module.partition(".")[0])
    return External(dispatch.canonical(f"{module}.{name}" if name else module))


def _now(machine: Machine, state: State, place: str, name: str) -> Value | None:
    """The value a name has now, where this path has changed the module's names: later it may be another."""
    frame = machine.imports.frames.get(place)
    return state.frames[frame].names.get(name) if frame is not None and dict.__contains__(state.frames, frame) else None


# -- names of modules ---------------------------------------------------------------------------------------------


def resolve(machine: Machine, state: State, value: Value, span: Span) -> Value:
    """The thing that was imported, if a value is one that hasn't been looked for yet."""
    return _followed(machine, state, value, span, set()) if isinstance(value, Imported) else value


def member(machine: Machine, state: State, module: Module, name: str, span: Span) -> Value:
    """`module.name`, as this path sees it."""
    frame = _loaded(machine, state, module.place, span)
    if frame is not None and frame in state.frames and name in (names := state.frames[frame].names):
        return resolve(machine, state, names[name], span)
    if name == "__name__" and machine.imports.project is not None:
        return Const(machine.imports.project.dotted(module.place))
    return _followed(machine, state, Imported(module.place, name), span, set())


def assign(machine: Machine, state: State, module: Module, name: str, value: Value, span: Span) -> None:
    """`module.name = value`."""
    frame = _loaded(machine, state, module.place, span)
    if frame is not None and frame in state.frames:
        state.writable(frame).names[name] = value


def from_star(machine: Machine, state: State, frame: int, name: str, span: Span) -> Value | None:
    """A name that a module got by `from ... import *`; the last such import counts."""
    imports = machine.imports
    if imports.project is None or frame not in imports.stars or name.startswith("_"):
        return None
    return _starred(machine, state, frame, name, span, set())


def _starred(machine: Machine, state: State, frame: int, name: str, span: Span, seen: set[Imported]) -> Value | None:
    for place in reversed(machine.imports.stars.get(frame, ())):
        found = _in_module(machine, state, place, name, span, seen)
        if found is not None:
            return found
    return None


def _followed(machine: Machine, state: State, value: Value, span: Span, seen: set[Imported]) -> Value:
    """From import to import to what was defined, or a value that may be anything."""
    if not isinstance(value, Imported):
        return value
    project = machine.imports.project
    assert project is not None
    found = _in_module(machine, state, value.place, value.name, span, seen)
    if found is None:
        below = project.submodule(value.place, value.name)
        found = Module(below) if below is not None else None
    return found if found is not None else _missing(machine, state, value, span)


def _in_module(machine: Machine, state: State, place: str, name: str, span: Span, seen: set[Imported]) -> Value | None:
    """What a module's own text binds a name to."""
    imports = machine.imports
    assert imports.project is not None
    if (asked := Imported(place, name)) in seen:
        return None
    seen.add(asked)
    if place != imports.project.entry and not imports.project.mentions(place, name):
        frame = imports.frames.get(place)
        if frame is None and not imports.project.mentions(place, "import *"):
            return None
    frame = _loaded(machine, state, place, span)
    if frame is None or frame not in state.frames:
        return None
    bound = imports.base.frames.get(frame) or state.frames[frame]
    if name in bound.names:
        found = bound.names[name]
        if isinstance(found, Imported) and (found.place, found.name) == (place, name):
            return None  # `from . import x` in the package's own text
        return _followed(machine, state, found, span, seen)
    return _starred(machine, state, frame, name, span, seen)


def _missing(machine: Machine, state: State, value: Imported, span: Span) -> Value:
    """A name that we don't find: one unknown, the same for all who import it."""
    base = machine.imports.base
    if value not in base.missing:
        ref = unknown.fresh(state, span, name=value.name)
        base.heap[ref.id] = UnknownObj(span, name=value.name)
        base.missing[value] = ref
    return base.missing[value]


# -- running modules ----------------------------------------------------------------------------------------------


def _loaded(machine: Machine, state: State, place: str, span: Span) -> int | None:
    """The frame of a module, which is run now if it wasn't; None if it can't be."""
    imports = machine.imports
    if place not in imports.frames:
        imports.frames[place] = None
        program = _program(machine, place, span)
        if program is not None:
            if imports.loading and state.stack[:1] == tuple(imports.loading[-1:]):
                _share(imports.base, state)  # what runs now may ask for it
            _load(machine, place, program)
    for storage, version in imports.base.versions.items():
        state.ledger.versions.setdefault(storage, version)
    return imports.frames[place]


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


def _load(machine: Machine, place: str, program: ir.Program) -> None:
    """Run a module's body, in a state of its own, and let all paths see what it made."""
    imports = machine.imports
    assert imports.project is not None
    state = State(imports.base)
    state.ledger.created = imports.base.created
    frame = state.push(program.module, None, None)
    imports.frames[place] = imports.of[program.source] = frame
    state.frame.names["__name__"] = Const(imports.project.dotted(place))
    _share(imports.base, state)
    imports.loading.append(frame)
    steps, budget, claims = machine.steps, machine.budget, len(machine.waste.claims)
    machine.steps, machine.budget = 0, STEPS
    try:
        state = _run(machine, state, program.module)
    except OutOfSteps:
        machine.gap(program.module.span, "the module was not followed to its end: it takes too many steps")
    finally:
        machine.steps, machine.budget = steps, budget
        del machine.waste.claims[claims:]
        imports.loading.pop()
        imports.for_types = False
    state.writable(frame).registers.clear()
    _share(imports.base, state)


def _run(machine: Machine, state: State, module: ir.Code) -> State:
    """One way through a module's body: where it forks, the first that goes on."""
    for instr in module.body:
        machine.imports.for_types = isinstance(instr, ir.If) and state.read(instr.cond) == _TYPE_CHECKING
        going = [each for each in machine.run((instr,), [state]) if each.flow is None]
        if not going:
            break
        state = going[0]
        state.choices = ()
    return state


def _share(base: Base, state: State) -> None:
    """Give what a module has made so far to everybody."""
    base.frames.update(state.frames)
    for frame in state.frames.values():
        frame.owner = 0  # whoever writes to it from now on copies it
    base.heap.update(state.heap)
    base.versions.update(state.ledger.versions)
    base.created = max(base.created, state.ledger.created)
    tensors = ((id, obj) for id, obj in state.heap.items() if isinstance(obj, TensorObj | UnknownObj))
    base.graphs.update(id for id, obj in tensors if obj.edge is not None)
    state.frames.clear()
    state.heap.clear()
