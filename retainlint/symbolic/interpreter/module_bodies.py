"""Modules of the project: what an import binds, and the parts of a module's body that are run when a name needs them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator

from retainlint import ir, program
from retainlint.program import Effect, Origin, Part, Parts, Use
from retainlint.symbolic.models import dispatch
from retainlint.symbolic.models.unknown import objects
from retainlint.symbolic.state import events, limits
from retainlint.symbolic.state.effort import OutOfSteps
from retainlint.symbolic.state.imports import Imports, Loaded, Project, Waiting
from retainlint.symbolic.state.protocol import Args, Machine
from retainlint.symbolic.state.state import Base, Frame, State, ticket
from retainlint.symbolic.state.values import Closure, Const, External, Imported, Module, TensorObj, UnknownObj, Value
from retainlint.text import stubs
from retainlint.text.source import Source, Span

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


def _program(machine: Machine, place: str, span: Span) -> program.Program | None:
    imports = machine.imports
    assert imports.project is not None
    if imports.read >= limits.MODULES_READ or imports.rows >= limits.ROWS_READ:
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


def _begin(machine: Machine, state: State, place: str, program: program.Program) -> None:
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


def _whole(program: program.Program) -> Parts:
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
                own = _run_part(machine, own, module.parts.block(number))
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
    steps, budget = machine.steps, machine.budget
    tries, machine.tries = machine.tries, []  # it was imported before whatever asks for it now
    machine.events.emit(events.ModulePartBegun())
    running = len(module.running)
    effort = machine.graphs.effort
    machine.steps, machine.budget = module.steps, min(limits.MODULE_BODY_STEPS, module.steps + effort.steps_left)
    try:
        for after in run(own):
            own = after
    except OutOfSteps:
        module.spent = True
        machine.gap(module.code.span, "the module was not followed to its end: it takes too many steps")
    finally:
        effort.charge(machine.steps - module.steps)
        module.steps = max(module.steps, machine.steps)
        machine.steps, machine.budget, machine.tries = steps, budget, tries
        machine.events.emit(events.ModulePartEnded())
        del module.running[running:]
        imports.loading.pop()
        imports.for_types = False
    own.stack, own.flow = (module.frame,), None
    frame = own.writable(module.frame)
    frame.registers, frame.spans = around.registers, around.spans
    _share(imports.base, own)
    module.state = own


def _run_part(machine: Machine, state: State, block: ir.Block) -> State:
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


# -- the statement ------------------------------------------------------------------------------------------------


def imported(machine: Machine, state: State, instr: ir.Import) -> Value:
    """What an import binds; the module is not run for it, unless that may be what it was imported for."""
    project, module, name, importer = machine.imports.project, instr.module, instr.name, instr.span.source
    place = project.find(importer, module, instr.level) if project is not None and not importer.is_stub else None
    if project is None or place is None:
        if project is not None and name and not module.partition(".")[0]:
            return objects.fresh(state, instr.span, name=name)
        return _foreign(state, instr)
    if name and (stub := _in_stub(project, place, name)) is not None:
        return stub
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


def _in_stub(project: Project, place: str, name: str) -> Value | None:
    """What a module of the project holds of which a stub tells: that says more."""
    path = f"{project.dotted(place)}.{name}"
    return External(path) if path in stubs.by_path() else None


def by_name(machine: Machine, state: State, name: str, span: Span) -> Value | None:
    """What `import_module(name)` gives; None where that is no module of the project, nor one from outside."""
    project, bare = machine.imports.project, name.lstrip(".")
    level = len(name) - len(bare)
    place = project.find(span.source, bare, level) if project is not None else None
    if place is None:
        return None if level else External(dispatch.canonical(bare))
    _run_registering(machine, state, place, "", span)
    return Module(place)


def whole(machine: Machine, state: State, module: Module, span: Span) -> None:
    """Run all of a module, for what it does beside making its names."""
    frame = loaded(machine, state, module.place, span)
    found = machine.imports.loaded.get(frame) if frame is not None else None
    if found is not None:
        _run(machine, state, found, range(len(found.parts.all)))


def _run_registering(machine: Machine, state: State, place: str, name: str, span: Span) -> None:
    project = machine.imports.project
    assert project is not None
    if machine.imports.for_types:
        return
    for each in imported_by(project, place, name):
        if each not in machine.imports.frames and project.registers(each):
            loaded(machine, state, each, span)


def _foreign(state: State, instr: ir.Import) -> Value:
    """An import that leads out of the project, or to what isn't there."""
    module, name = instr.module, instr.name
    if instr.level:
        return objects.fresh(state, instr.span, name=name or module)
    if name is None:
        return External(module.partition(".")[0])
    return dispatch.member(module, name) if name else External(dispatch.canonical(module))


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
    project = machine.imports.project
    if project is not None and (stub := _in_stub(project, module.place, name)) is not None:
        return stub
    frame = loaded(machine, state, module.place, span)
    if frame is not None and state.frames.has(frame):
        found = named(machine, state, frame, name)
        if found is not None:
            return resolve(machine, state, found, span)
    if name == "__name__" and project is not None:
        return Const(project.dotted(module.place))
    return _followed(machine, state, Imported(module.place, name), span, set())


def assign(machine: Machine, state: State, module: Module, name: str, value: Value, span: Span) -> None:
    """`module.name = value`."""
    frame = loaded(machine, state, module.place, span)
    if frame is not None and state.frames.has(frame):
        named(machine, state, frame, name)  # what makes it mustn't run later
        state.writable(frame).names[name] = value


def from_star(machine: Machine, state: State, frame: int, name: str, span: Span) -> Value | None:
    """A name that a module got by `from ... import *`; the last such import counts."""
    imports = machine.imports
    if imports.project is None or name.startswith("_"):
        return None
    starred(machine, state, frame)
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
    frame = loaded(machine, state, place, span)
    if frame is None or not state.frames.has(frame):
        return None
    named(machine, state, frame, name)
    bound = imports.base.frames.get(frame) or state.frames[frame]
    if name in bound.names:
        found = bound.names[name]
        if isinstance(found, Imported) and (found.place, found.name) == (place, name):
            return None  # `from . import x` in the package's own text
        return _followed(machine, state, found, span, seen)
    starred(machine, state, frame)
    return _starred(machine, state, frame, name, span, seen)


def _missing(machine: Machine, state: State, value: Imported, span: Span) -> Value:
    """A name that we don't find: one unknown, the same for all who import it."""
    base = machine.imports.base
    if value not in base.missing:
        ref = objects.fresh(state, span, name=value.name)
        base.heap[ref.id] = UnknownObj(span, name=value.name)
        base.missing[value] = ref
    return base.missing[value]


_LOOKING = frozenset("hasattr getattr isinstance issubclass callable vars dir id len str repr print".split())


def waits(machine: Machine, state: State, decorator: Value, target: Value, span: Span) -> bool:
    """Whether the decorator of what an imported module defines can wait; it is noted then."""
    imports = machine.imports
    running = imports.loaded.get(imports.loading[-1]) if imports.loading and len(state.stack) == 1 else None
    if running is None or imports.project is None or not isinstance(decorator, Closure):
        return False
    code = decorator.code
    home = imports.loaded.get(imports.of[code.span.source])
    if home is None or home is running or code.qualname != code.name or not gives_back(code):
        return False
    altered = imports.project.changes(home.place, code.name)
    if altered is None:
        return False
    waiting = Waiting(running.frame, decorator, target, span)
    for place, name in altered:
        imports.waiting.setdefault((place, name), []).append(waiting)
        frame = imports.frames.get(place)
        if frame in imports.loaded:
            imports.loaded[frame].settled.discard(name)
    return True


def gives_back(code: ir.Code) -> bool:
    """Whether a function returns the first thing that it is given, which it only looks at and notes."""
    last = code.body[-1] if code.body else None
    if not code.params or code.is_generator or code.params[0].kind != "normal" or not isinstance(last, ir.Return):
        return False
    name, everything = code.params[0].name, list(ir.walk(code.body))
    own = {each.dst for each in everything if isinstance(each, ir.Load) and each.name == name}
    mild = {each.dst for each in everything if isinstance(each, ir.Load) and each.name in _LOOKING}
    return name not in code.captured and not any(_changes(each, name, own, mild) for each in everything)


def _changes(instr: ir.Instr, name: str, own: set[int], mild: set[int]) -> bool:
    """Whether an instruction gives back something else than `own`, or may change it."""
    match instr:
        case ir.Return(src=src):
            return src not in own
        case ir.Store(name=stored) | ir.Delete(name=stored):
            return stored == name
        case ir.SetAttr(obj=obj) | ir.DelAttr(obj=obj) | ir.SetItem(obj=obj) | ir.DelItem(obj=obj):
            return obj in own
        case ir.Call(func=func, args=args):
            return func in own or (func not in mild and any(arg.value in own for arg in args))
        case ir.Load() | ir.GetAttr():
            return False
        case _:
            return getattr(instr, "dst", None) in own
