"""Exceptions: which instructions may raise, `try` statements, and whether the program may go on behind a handler."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from retainlint import ir
from retainlint.incident import Condition
from retainlint.startup.records import replace
from retainlint.symbolic.merging.merge_states import settled
from retainlint.symbolic.models.python import data_files
from retainlint.symbolic.solver import terms
from retainlint.symbolic.state import classes, known_libraries
from retainlint.symbolic.state.exception_types import CLASS, is_builtin, is_taken, kind_of, lineage, takes
from retainlint.symbolic.state.path_condition import Truths
from retainlint.symbolic.state.protocol import Machine
from retainlint.symbolic.state.state import Choice, Flow, State, ticket
from retainlint.symbolic.state.values import (
    FALSE,
    TRUE,
    Bound,
    ClassObj,
    Closure,
    Const,
    DictObj,
    External,
    Failure,
    GeneratorObj,
    GradMode,
    Instance,
    IteratorObj,
    LayerObj,
    ListObj,
    Method,
    OptimizerObj,
    Partial,
    Ref,
    Slice,
    Symbol,
    TensorObj,
    Term,
    Tuple,
    UnknownObj,
    Value,
    Wrapped,
)
from retainlint.text.source import Span

HANDLED = -2
"""The register that holds what a running handler has caught, for a `raise` alone."""


def thrown(state: State, register: int | None) -> Value:
    """What a `raise` throws: an object of the program, or an exception of which the class is all that matters."""
    value = state.frame.registers.get(HANDLED) if register is None else state.read(register)
    if isinstance(value, Failure) or isinstance(state.get(value) if value is not None else None, Instance):
        return value or Failure("")
    return kind_of(state, value)


def caught(state: State, handler: ir.Handler) -> list[str] | None:
    """The names of the classes that a handler catches; None if unknown or all."""
    if handler.type is None:
        return None
    return classes.named_exceptions(state, state.frame.registers.get(handler.type))


def _names(machine: Machine, instr: ir.Try, state: State) -> dict[int, list[str]]:
    """The names of the classes that those handlers catch to which a variable tells them: a parameter, an attribute."""
    found: dict[int, list[str]] = {}
    for handler in instr.handlers:
        if handler.type is not None and not is_python_own(handler):
            tested = machine.run(handler.test, [state.fork()])
            if len(tested) == 1 and (names := caught(tested[0], handler)) is not None:
                found[id(handler)] = names
    return found


def run_try(machine: Machine, instr: ir.Try, state: State) -> list[State]:
    entry = state.fork() if instr.handlers and _may_matter(instr) else None
    without = state.fork() if entry is None and _asks_for_packages(instr) else None
    guards = state.guards
    is_told = only_tells(instr) and _is_the_last(state, instr) and not _trains(machine, state, instr)
    if not (machine.tells_caught or is_told):
        state.guards += may_go_on([*machine.tries, instr], "RuntimeError", _names(machine, instr, state))
    after: list[State] = []
    ended, risky = _watched(machine, instr, state)
    supposed = risky and entry is not None and not any(_is_meant(instr.handlers[0], each) for each in ended)
    if without is not None:
        _suppose(machine, instr, without, ended)
    for each in ended:
        each.guards = guards
        if each.flow is not None and each.flow.kind == "raise" and instr.handlers:
            after += _handle(machine, instr, each)
        elif each.flow is None:
            after += machine.run(instr.orelse, [each])
        else:
            after.append(each)
    if entry is not None and supposed:
        entry.truths = Truths(entry.truths)
        entry.choices += (Choice(Condition(instr.handlers[0].span, True), Symbol(ticket())),)
        _fill(entry, instr.body)
        after += _enter(machine, instr.handlers[0], entry, Failure(GROUPS[0] if instr.is_group else ""))
    return settled(machine, run_finally(machine, instr, after), instr.live)


def _trains(machine: Machine, state: State, instr: ir.Try) -> bool:
    """Whether a handler calls a function of the module that runs backward passes: it does the work in another way."""
    home = machine.imports.of.get(instr.span.source)
    called = [name for handler in instr.handlers for _, name in ir.calls(handler.body)]
    found = [state.frames[home].names.get(name) for name in called] if home is not None else []
    return any(isinstance(each, Closure) and each.code.backward_passes for each in found)


def _is_the_last(state: State, instr: ir.Try) -> bool:
    """Whether nothing comes behind it, in the running function and those that called it: the program has done its work there, or
    has not."""
    frames = [state.frames[each].code for each in reversed(state.stack)]
    calls = reversed(state.calls)
    return (
        not state.iterations
        and ends_with(frames[0].body, lambda each: each is instr)
        and all(ends_with(code.body, partial(_runs, call)) for code, call in zip(frames[1:], calls))
    )


def _runs(call: Span, instr: ir.Instr) -> bool:
    return not ir.blocks(instr) and call == instr.span


def _is_meant(handler: ir.Handler, ended: State) -> bool:
    """Whether a path raised, in words, what a handler names: then that is what it waits for, and nothing else is supposed
    to have raised."""
    if ended.flow is None or ended.flow.kind != "raise" or not (raised := kind_of(ended, ended.flow.value)).type:
        return False
    names = {each.name for each in handler.test if isinstance(each, ir.Load | ir.GetAttr)}
    return not names.isdisjoint((raised.type, *raised.bases))


def _asks_for_packages(instr: ir.Try) -> bool:
    """Whether a `try` guards imports, for the case that a package isn't there."""
    wanted = {each.name for handler in instr.handlers for each in handler.test if isinstance(each, ir.Load)}
    return not wanted.isdisjoint(_MISSING) and any(isinstance(each, ir.Import) for each in instr.body)


_MISSING = frozenset(("ImportError", "ModuleNotFoundError"))
_THERE = sys.stdlib_module_names | {"torch"}


def _suppose(machine: Machine, instr: ir.Try, without: State, ended: list[State]) -> None:
    """The flags that tell whether a package is there may say both: what it is without them is read off the handler."""
    project, imports = machine.imports.project, [each for each in instr.body if isinstance(each, ir.Import)]
    if project is not None and any(project.find(each.span.source, each.module, each.level) for each in imports):
        return
    packages = {each.module.partition(".")[0] for each in imports if not each.level} - _THERE
    if len(ended) != 1 or ended[0].flow is not None or not packages:
        return
    lacking = _enter(machine, instr.handlers[0], without, Failure("ImportError"))
    if len(lacking) != 1 or lacking[0].flow is not None:
        return
    names = ended[0].writable().names
    is_there = Term("imported", tuple(map(Const, sorted(packages))))
    for name, value in lacking[0].frame.names.items():
        if (value, names.get(name)) in ((FALSE, TRUE), (TRUE, FALSE)):
            names[name] = is_there if value == FALSE else Term("not", (is_there,))


def _fill(state: State, body: ir.Block) -> None:
    """What raised may have done so behind some turns: the lists that are filled before it may hold more."""
    names = {each.dst: each.name for each in ir.walk(body) if isinstance(each, ir.Load)}
    for instr in ir.walk(body):
        name = names.get(instr.obj, "") if isinstance(instr, ir.GetAttr) and instr.name in classes.FILLING else ""
        value = state.frame.names.get(name)
        held = state.get(value) if value is not None else None
        if isinstance(held, ListObj) and isinstance(value, Ref):
            state.set(value, replace(held, open=True))


def _watched(machine: Machine, instr: ir.Try, state: State) -> tuple[list[State], bool]:
    """Run what a `try` guards; and whether anything in it may have raised for a reason that we don't see."""
    before = machine.risks
    machine.tries.append(instr)
    try:
        ended = machine.run(instr.body, [state])
    finally:
        machine.tries.pop()
    return ended, machine.risks > before


def run_finally(machine: Machine, instr: ir.Try, states: list[State]) -> list[State]:
    """Run what a `try` does in the end, whatever the flow."""
    if not instr.final:
        return states
    after: list[State] = []
    for state in states:
        flow, state.flow = state.flow, None
        for each in machine.run(instr.final, [state]):
            each.flow = each.flow or flow
            after.append(each)
    return after


def _may_matter(instr: ir.Try) -> bool:
    """Whether the first handler is worth running though nothing was seen to raise: it does not give up, and what it
    guards is more than an import."""
    handler = instr.handlers[0].body
    if any(isinstance(i, ir.Raise | ir.Return | ir.Break | ir.Continue) for i in handler):
        return False
    return any(isinstance(i, ir.Call | ir.For | ir.If | ir.While | ir.With) for i in instr.body)


def _handle(machine: Machine, instr: ir.Try, state: State) -> list[State]:
    """Send a raised exception to the handlers."""
    assert state.flow is not None
    raised = state.flow.value
    state.flow = None
    if instr.is_group:
        return _handle_group(machine, instr.handlers, state, raised or Failure(""))
    after: list[State] = []
    for handler in instr.handlers:
        for tested in machine.run(handler.test, [state]):
            state = tested
            takes = is_taken(tested, raised, caught(tested, handler))
            if takes:
                return after + _enter(machine, handler, tested, raised or Failure(""), tested=True)
            if takes is None:
                state, known = tested.fork(), Symbol(ticket())
                tested.choices += (Choice(Condition(handler.span, True), known),)
                state.choices += (Choice(Condition(handler.span, False), known, False),)
                after += _enter(machine, handler, tested, raised or Failure(""), tested=True)
    state.flow = Flow("raise", raised)
    return [*after, state]


GROUPS = ("ExceptionGroup", "BaseExceptionGroup")


def _handle_group(machine: Machine, handlers: tuple[ir.Handler, ...], state: State, raised: Value) -> list[State]:
    """Send what was raised to `except*` handlers: one exception to the first that takes it, one that we don't know to
    each of them, a group to some, one after the other; what none takes is raised on."""
    kind = kind_of(state, raised).type
    if kind in GROUPS:
        return _some_of(machine, handlers, state)
    if not kind:
        forks = [*(state.fork() for _ in handlers[1:]), state]
        return [
            after
            for handler, each in zip(handlers, forks)
            for after in _enter(machine, handler, _chosen(each, handler, handlers), Failure(GROUPS[0]))
        ]
    for handler in handlers:
        (state,) = machine.run(handler.test, [state])[:1]
        if is_taken(state, raised, caught(state, handler)):
            return _enter(machine, handler, state, Failure(GROUPS[0]), tested=True)
    state.flow = Flow("raise", raised)
    return [state]


def _some_of(machine: Machine, handlers: tuple[ir.Handler, ...], state: State) -> list[State]:
    """Run every choice of `except*` handlers but none; what one raises goes on behind the last."""
    paths: list[tuple[State, bool, Flow | None]] = [(state, False, None)]
    for number, handler in enumerate(handlers):
        behind: list[tuple[State, bool, Flow | None]] = []
        for each, taken, flow in paths:
            if taken or number + 1 < len(handlers):
                behind.append((each.fork(), taken, flow))
            for after in _enter(machine, handler, _chosen(each, handler, handlers), Failure(GROUPS[0])):
                behind.append((after, True, after.flow or flow))
                after.flow = None
        paths = behind
    for each, _, flow in paths:
        each.flow = flow
    return [each for each, _, _ in paths]


def _chosen(state: State, handler: ir.Handler, handlers: tuple[ir.Handler, ...]) -> State:
    """Note that the path takes this handler, where it might have taken another."""
    if len(handlers) > 1:
        state.choices += (Choice(Condition(handler.span, True), Symbol(ticket())),)
    return state


def _enter(machine: Machine, handler: ir.Handler, state: State, raised: Value, *, tested: bool = False) -> list[State]:
    states = [state] if tested else machine.run(handler.test, [state])
    before = [each.frame.registers.get(HANDLED) for each in states]
    after: list[State] = []
    for each, outer in zip(states, before, strict=True):
        each.write(handler.dst, raised, handler.span)
        each.write(HANDLED, raised, handler.span)
        for ended in machine.run(handler.body, [each]):
            registers = ended.writable().registers
            registers.pop(HANDLED, None)
            if outer is not None:
                registers[HANDLED] = outer
            after.append(ended)
    return after


_SAFE_BUILTINS = frozenset(
    """print range enumerate zip len list tuple dict set frozenset sorted sum isinstance issubclass type id reversed super
    str repr bool hasattr callable max min map filter abs round any all object iter""".split()
)

_RISKY_METHODS = {"pop", "popleft", "remove", "index", "load_state_dict", "get_submodule"}


def may_raise(state: State, instr: ir.Instr) -> bool:
    """Operations on tensors that we know can't; a walk is judged where it runs."""
    match instr:
        case ir.Import() | ir.Opaque() | ir.Await():
            return True
        case ir.Call(func=func):
            return _call(state, state.read(func))
        case ir.GetAttr(obj=obj) | ir.SetItem(obj=obj) | ir.DelItem(obj=obj):
            held = state.get(state.read(obj))
            return isinstance(held, UnknownObj) and not data_files.leads(held)
        case ir.GetItem(obj=obj, index=index):
            return _item(state, state.read(obj), state.read(index))
        case ir.Unpack(src=src) | ir.For(iterable=src):
            held = state.get(state.read(src))
            return isinstance(held, UnknownObj) or (isinstance(held, ListObj) and held.open)
        case ir.With(context=context):
            value = state.read(context)
            held = state.get(value)
            # a list is a stack of contexts
            known = isinstance(value, GradMode | Partial) or isinstance(held, Instance | GeneratorObj | ListObj)
            return not (known or (isinstance(held, UnknownObj) and data_files.leads(held)))
    return False


def _call(state: State, func: Value) -> bool:
    """Whether what is called may raise by itself; what it runs of the program is asked instruction by instruction."""
    match func:
        case Closure() | GradMode():
            return False
        case Bound(func=inner) | Wrapped(func=inner) | Partial(func=inner):
            return _call(state, inner)
        case External(path=path):
            root, _, name = path.partition(".")
            if root == "builtins":
                return name not in _SAFE_BUILTINS and not is_builtin(func)
            return not known_libraries.known_for("safe", root) or path.startswith(known_libraries.RISKY)
        case Method(obj=obj, name=name):
            return name in _RISKY_METHODS or not _is_known(state, obj)
        case Ref():
            return not isinstance(state.get(func), ClassObj | LayerObj | Instance)
    return True


_KNOWN = (TensorObj, ListObj, DictObj, LayerObj, OptimizerObj, IteratorObj, GeneratorObj, Instance, ClassObj)


def _is_known(state: State, obj: Value) -> bool:
    held = state.get(obj)
    return isinstance(held, _KNOWN) or terms.is_scalar(obj) or isinstance(obj, Tuple)


def _item(state: State, obj: Value, index: Value) -> bool:
    """Whether an item may be missing."""
    held = state.get(obj)
    if isinstance(held, TensorObj) or isinstance(obj, External) or (isinstance(obj, Term) and obj.op == "shape"):
        return False
    if isinstance(held, DictObj):
        return index not in held.items
    items = obj.items if isinstance(obj, Tuple) else held.items if isinstance(held, ListObj) and not held.open else ()
    if isinstance(index, Slice):
        return not items
    return not (isinstance(index, Const) and isinstance(index.value, int) and -len(items) <= index.value < len(items))


# -- what handlers make of an exception -------------------------------------------------------------------------------


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
