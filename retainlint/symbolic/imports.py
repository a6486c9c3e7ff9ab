"""What an import binds: modules of the project are run when a name of theirs is used."""

from __future__ import annotations

from retainlint import ir
from retainlint.source import Span
from retainlint.symbolic import loading
from retainlint.symbolic.context import Machine
from retainlint.symbolic.models import dispatch, unknown
from retainlint.symbolic.state import State
from retainlint.symbolic.values import Const, External, Imported, Module, UnknownObj, Value

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
    for each in loading.imported_by(project, place, name):
        if each not in machine.imports.frames and project.registers(each):
            loading.loaded(machine, state, each, span)


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
    frame = loading.loaded(machine, state, module.place, span)
    if frame is not None and frame in state.frames:
        found = loading.named(machine, state, frame, name)
        if found is not None:
            return resolve(machine, state, found, span)
    if name == "__name__" and machine.imports.project is not None:
        return Const(machine.imports.project.dotted(module.place))
    return _followed(machine, state, Imported(module.place, name), span, set())


def assign(machine: Machine, state: State, module: Module, name: str, value: Value, span: Span) -> None:
    """`module.name = value`."""
    frame = loading.loaded(machine, state, module.place, span)
    if frame is not None and frame in state.frames:
        loading.named(machine, state, frame, name)  # what makes it mustn't run later
        state.writable(frame).names[name] = value


def from_star(machine: Machine, state: State, frame: int, name: str, span: Span) -> Value | None:
    """A name that a module got by `from ... import *`; the last such import counts."""
    imports = machine.imports
    if imports.project is None or name.startswith("_"):
        return None
    loading.starred(machine, state, frame)
    if frame not in imports.stars:
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
    frame = loading.loaded(machine, state, place, span)
    if frame is None or frame not in state.frames:
        return None
    loading.named(machine, state, frame, name)
    bound = imports.base.frames.get(frame) or state.frames[frame]
    if name in bound.names:
        found = bound.names[name]
        if isinstance(found, Imported) and (found.place, found.name) == (place, name):
            return None  # `from . import x` in the package's own text
        return _followed(machine, state, found, span, seen)
    loading.starred(machine, state, frame)
    return _starred(machine, state, frame, name, span, seen)


def _missing(machine: Machine, state: State, value: Imported, span: Span) -> Value:
    """A name that we don't find: one unknown, the same for all who import it."""
    base = machine.imports.base
    if value not in base.missing:
        ref = unknown.fresh(state, span, name=value.name)
        base.heap[ref.id] = UnknownObj(span, name=value.name)
        base.missing[value] = ref
    return base.missing[value]
