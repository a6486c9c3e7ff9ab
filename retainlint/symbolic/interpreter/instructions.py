"""What each instruction does to a state: one function a kind, in one table; names, branches and definitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from retainlint import ir
from retainlint.ir import facts
from retainlint.startup.records import replace
from retainlint.symbolic.interpreter import (
    attributes,
    calls,
    context_managers,
    exceptions,
    generators,
    loops,
    module_bodies,
    stub_modules,
    subscripts,
)
from retainlint.symbolic.interpreter.calls import call
from retainlint.symbolic.interpreter.module_bodies import resolve, waits
from retainlint.symbolic.merging import merge_states
from retainlint.symbolic.merging.equivalence import unchanged
from retainlint.symbolic.merging.merge_states import forget_dead, settled
from retainlint.symbolic.models import dispatch
from retainlint.symbolic.models.frameworks import test_runners
from retainlint.symbolic.models.python import containers, data_files, library, options, outcomes, reflection
from retainlint.symbolic.models.python.options import CLICK
from retainlint.symbolic.models.torch import operations
from retainlint.symbolic.models.unknown import conventions, objects
from retainlint.symbolic.solver import decisions, loop_periods
from retainlint.symbolic.state import classes, events, limits
from retainlint.symbolic.state.classes import find
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import Flow, Frame, State
from retainlint.symbolic.state.values import (
    NONE,
    Bound,
    ClassObj,
    Closure,
    Const,
    DictObj,
    External,
    Failure,
    GeneratorObj,
    GradMode,
    Imported,
    Instance,
    ListObj,
    Method,
    Partial,
    Ref,
    Term,
    Tuple,
    UnknownObj,
    Value,
    Wrapped,
)
from retainlint.text.source import Span


def run_if(machine: Machine, instr: ir.If, state: State) -> list[State]:
    after: list[State] = []
    for each, cond in _truth(machine, state, state.read(instr.cond), instr.span):
        after += [each] if each.flow is not None else _run_decided(machine, instr, each, cond)
    return after


def _truth(machine: Machine, state: State, cond: Value, span: Span) -> Results:
    """What decides a branch: of an object what its class says."""
    is_object = isinstance(state.get(cond), Instance)
    method = (find(state, cond, "__bool__") or find(state, cond, "__len__")) if is_object else None
    return [(state, cond)] if method is None else machine.call(state, Bound(method, cond), Args(), span)


def _run_decided(machine: Machine, instr: ir.If, state: State, cond: Value) -> list[State]:
    if loops := decisions.loops_of(cond):
        return _run_counted(machine, instr, state, cond, loops)
    return _run_arms(machine, instr, state, cond, decisions.decide(state, cond))


def _run_counted(machine: Machine, instr: ir.If, state: State, cond: Value, loops: tuple[int, ...]) -> list[State]:
    """Run a branch that a loop's number decides, and see whether that makes a difference."""
    deciding = state.base.deciding
    truth = decisions.known(state, cond)
    if not deciding.add(loops, instr) and not (
        truth is not None and _sets(instr, instr.then if truth else instr.orelse)
    ):
        return _run_arms(machine, instr, state, cond, truth)
    before = state.fork()
    backward_passes = machine.backward_count
    after = _run_arms(machine, instr, state, cond, truth)
    if machine.backward_count == backward_passes and len(after) == 1 and after[0].flow is None:
        if truth is None:
            deciding.leaves_no_trace(loops, instr, (True, False))
            return after
        for each in (before, after[0]):
            forget_dead(each, instr.live)
        if unchanged(machine.graphs, before, after[0], grown=True):
            deciding.leaves_no_trace(loops, instr, (truth,))
            return after
    deciding.leaves_trace(loops, instr)
    return after


def _sets(instr: ir.If, arm: ir.Block) -> bool:
    """Whether an arm sets what is needed behind the branch: perhaps to what it is in one iteration, and not in another."""
    return any(isinstance(each, ir.Store) and each.name in instr.live.names for each in ir.walk(arm))


def _run_arms(machine: Machine, instr: ir.If, state: State, cond: Value, truth: bool | None) -> list[State]:
    if truth is None and (ends := [_ends_here(machine, state, arm) for arm in (instr.then, instr.orelse)]) != NEITHER:
        truth = not ends[0]
        settle(state, cond, truth)
    elif (
        truth is False
        and not (state.guards or state.swallowed)
        and isinstance(cond, Const)
        and is_assertion(instr.orelse)
    ):
        truth = True  # others, whom we didn't see, have seen to it; what the path itself has assumed is refuted
    elif truth is not None and not state.guards and _gives_up(machine, instr, state, truth):
        truth = not truth
    if truth is not None:
        machine.events.emit(events.ArmTaken(instr, truth))
        return machine.run(instr.then if truth else instr.orelse, [state])
    loop_periods.note(machine, instr, cond)
    after: list[State] = []
    usual = options.default(state, cond)
    ways = machine.part(state, cond, instr.span)
    for arm, taken in sorted(ways, key=lambda way: usual is not None and way[1] is not bool(usual.value)):
        machine.events.emit(events.ArmTaken(instr, taken))
        after += machine.run(instr.then if taken else instr.orelse, [arm])
    return settled(machine, after, instr.live)


NEITHER = [False, False]


def _ends_here(machine: Machine, state: State, arm: ir.Block) -> bool:
    """Whether an arm only raises what nobody waits for: the program is meant not to come there."""
    if state.guards or not only_raises(arm):
        return False
    return not (state.backward_passes and exceptions.may_go_on(machine.tries, exceptions.raised_by(arm)))


def _gives_up(machine: Machine, instr: ir.If, state: State, truth: bool) -> bool:
    """Whether a path would end here in what only raises, for a reason that need not hold: a list is asked for what some
    turns have put into it that may have had none, which it then hasn't; or no path has come to the walks behind, and this
    one to none so far."""
    taken, other = (instr.then, instr.orelse) if truth else (instr.orelse, instr.then)
    if not only_raises(taken) or only_raises(other):
        return False
    sampled = [each for name in facts.of_span(instr.span).names if (each := _sampled(state, name)) is not None]
    for ref, held in sampled:
        state.set(ref, replace(held, items=(), sampled=False, size=None))
    return bool(sampled) or (machine.forced and not state.ledger.freed)


def _sampled(state: State, name: str) -> tuple[Ref, ListObj] | None:
    value = state.frame.names.get(name)
    held = state.get(value) if isinstance(value, Ref) else None
    return (value, held) if isinstance(value, Ref) and isinstance(held, ListObj) and held.sampled else None


def settle(state: State, cond: Value, truth: bool) -> None:
    """Take for granted what the program itself insists on, by raising otherwise."""
    while isinstance(cond, Term) and cond.op == "not":
        cond, truth = cond.args[0], not truth
    state.truths[cond] = truth


def only_raises(block: ir.Block) -> bool:
    """Whether a block does nothing but raise."""
    return bool(block) and isinstance(block[-1], ir.Raise) and not any(isinstance(i, ir.If | ir.For) for i in block)


def is_assertion(block: ir.Block) -> bool:
    """Whether a block is what an `assert` does if it fails."""
    return only_raises(block) and "AssertionError" in ir.names(block)


def make_function(state: State, code: ir.Code) -> Closure:
    registers = state.frame.registers
    defaults = tuple((p.name, registers[p.default]) for p in code.params if p.default is not None)
    return Closure(code, state.stack[-1], defaults)


_WRAPPERS = {
    "builtins.property": "property", "functools.cached_property": "cached_property", "builtins.staticmethod": "staticmethod",
    "builtins.classmethod": "classmethod", "functools.cache": "cache", "functools.lru_cache": "cache",
    "contextlib.contextmanager": "context",
    "torch.no_grad": "mode", "torch.inference_mode": "mode", "torch.enable_grad": "mode",
    "torch.autograd.no_grad": "mode", "torch.autograd.once_differentiable": "mode", "torch.jit.script": "", "torch.compile": "",
}  # fmt: skip


def decorate(machine: Machine, state: State, decorator: Value, target: Value, span: Span) -> Results:
    """`@decorator`: the known ones are understood, the program's own are run, any other is taken to keep the thing."""
    if isinstance(decorator, External) and decorator.path in test_runners.MARKS:
        decorator = test_runners.mark(state, Args()) or decorator
    if isinstance(decorator, GradMode):
        wrapped = Wrapped("mode", target, mode=decorator)
        return [(state, test_runners.marked(state, target, decorator) if decorator.guards else wrapped)]
    asked, options = decorator, dict[str, Value]()
    if isinstance(decorator, Partial) and isinstance(decorator.func, External):
        options, decorator = dict(decorator.kwargs), decorator.func
    decorator = stub_modules.standing_for(machine, state, decorator)
    if isinstance(decorator, External):
        if decorator.path == "abc.abstractmethod" and isinstance(target, Closure) and calls.says_nothing(target.code):
            return [(state, Wrapped("abstract", target))]
        kind = _WRAPPERS.get(decorator.path)
        if kind == "cache":
            assert isinstance(asked, External | Partial)
            return [(state, library.remembering(state, asked, target))]
        if kind == "mode":
            inference = span if decorator.path == "torch.inference_mode" else None
            mode = GradMode(decorator.path == "torch.enable_grad", inference=inference)
            return [(state, Wrapped(kind, target, mode=mode))]
        if kind:
            return [(state, Wrapped(kind, target))]
        if decorator.path in CLICK:
            return call(machine, state, asked, Args((target,)), span)
        if decorator.path.startswith("dataclasses."):
            _mark_dataclass(state, target, frozen=options.get("frozen") == Const(True))
        return [(state, target)]
    obj = state.get(decorator)
    if isinstance(obj, GeneratorObj) and isinstance(target, Closure):
        inside = stub_modules.standing_for(machine, state, External("contextlib.inside"))
        return call(machine, state, inside, Args((Partial(obj.func, obj.pos, obj.named), target)), span)
    if waits(machine, state, decorator, target, span):
        return [(state, target)]
    if isinstance(decorator, Closure | Bound | Partial) or isinstance(obj, Instance | ClassObj):
        imports, allowance = machine.imports, machine.imports.allowance
        imports.allowance = min(allowance, limits.DECORATOR_STEPS)
        try:
            return call(machine, state, decorator, Args((target,), spans=(span,)), span)
        finally:
            imports.allowance = allowance
    if isinstance(decorator, Method) and isinstance(decorator.obj, Wrapped):
        made = decorator.obj  # @x.setter keeps the getter
        return [(state, replace(made, setter=target) if decorator.name == "setter" else made)]
    if isinstance(obj, UnknownObj) and conventions.DATACLASS.takes(obj.name):
        _mark_dataclass(state, target)
    return [(state, target)]


def _mark_dataclass(state: State, target: Value, *, frozen: bool = False) -> None:
    obj = state.get(target)
    if isinstance(obj, ClassObj) and isinstance(target, Ref):
        state.set(target, replace(obj, dataclass=True, frozen=frozen))


def _make_class(machine: Machine, instr: ir.MakeClass, state: State) -> list[State]:
    """Run the class body; its names become the attributes."""
    registers = state.frame.registers
    given = [registers[arg.value] for arg in instr.bases if arg.name is None and not arg.star]
    known = [stub_modules.standing_for(machine, state, each, is_base=True) for each in given]
    bases = (*known, *stub_modules.behind(machine, instr.code, bool(known)))
    meta = next((registers[arg.value] for arg in instr.bases if arg.name == "metaclass"), None)
    meta = meta if isinstance(state.get(meta or NONE), ClassObj) else None
    frame_id = state.push(instr.code, state.stack[-1], None)
    done: list[State] = []
    for after in machine.run(instr.code.body, [state]):
        frame = after.frames[frame_id]
        ref = after.new(ClassObj(instr.code.name, bases, {}, instr.code))
        names = {name: resolve(machine, after, value, instr.span) for name, value in frame.names.items()}
        attrs = {name: _owned(value, ref) for name, value in names.items()}
        after.set(ref, ClassObj(instr.code.name, bases, attrs, instr.code, meta=meta))
        classes.make_members(after, ref)
        after.pop(None)
        done += _named(machine, instr, after, ref, attrs) if after.flow is None else [after]
    return done


def _named(machine: Machine, instr: ir.MakeClass, state: State, cls: Ref, attrs: Mapping[str, Value]) -> list[State]:
    """A class has been made of its body: its metaclass may want to know, descriptors, and what it derives from."""
    named = ((arg.name, arg.value) for arg in instr.bases)
    given = tuple((name, state.read(value)) for name, value in named if name is not None and name != "metaclass")
    state.write(instr.dst, cls, instr.span)
    begun = _by_metaclass(machine, instr, state, cls, "__new__", given)
    for after in begun:
        attributes.name_descriptors(machine, after, cls, attrs, instr.span)
    announced = [each for after in begun for each in _announced(machine, after, cls, given, instr.span)]
    return [each for after in announced for each in _by_metaclass(machine, instr, after, cls, "__init__", given)]


def _by_metaclass(
    machine: Machine, instr: ir.MakeClass, state: State, cls: Ref, name: str, named: tuple[tuple[str, Value], ...]
) -> list[State]:
    """What the program's own metaclass does with the names of a class. What it makes that isn't followed is unknown."""
    held, hook = state.get(cls), classes.of_meta(state, cls, name)
    if state.flow is not None or not isinstance(held, ClassObj) or not isinstance(hook, Closure):
        return [state]
    own = state.new(DictObj({Const(each): value for each, value in held.attrs.items()}))
    first = classes.begin(state, cls) if name == "__new__" else cls
    args = Args((first, Const(held.name), Tuple(held.bases), own), named)
    results = call(machine, state, hook, args, instr.span)
    for after, made in results:
        if name == "__new__" and after.flow is None:
            after.write(instr.dst, made, instr.span)
    return [after for after, _ in results]


def _announced(
    machine: Machine, state: State, cls: Ref, named: tuple[tuple[str, Value], ...], span: Span
) -> list[State]:
    """A class has been derived from others: one of them may have an `__init_subclass__` that wants to know."""
    hook = classes.find(state, cls, "__init_subclass__", after=cls)
    while isinstance(hook, Wrapped):
        hook = hook.func
    if state.flow is not None or not isinstance(hook, Closure):
        return [state]
    return [after for after, _ in call(machine, state, hook, Args((cls,), named), span)]


def _owned(value: Value, owner: Ref) -> Value:
    if isinstance(value, Closure):
        return Closure(value.code, value.frame, value.defaults, owner)
    if isinstance(value, Wrapped):
        setter = None if value.setter is None else _owned(value.setter, owner)
        return replace(value, func=_owned(value.func, owner), setter=setter)
    return value


_BUILTINS = {name: External(f"builtins.{name}") for name in calls.BUILTINS}

_LOCAL_SCOPE, _GLOBAL, _ENCLOSING = ir.Scope.LOCAL, ir.Scope.GLOBAL, ir.Scope.ENCLOSING  # asked for in each step


def frame_of(machine: Machine, state: State, name: str, scope: ir.Scope) -> Frame:
    """The frame that a write to `name` goes to."""
    if scope is _LOCAL_SCOPE:
        return state.writable()
    if scope is _GLOBAL:
        return state.writable(_module(machine, state))
    holder = _holder(state, name)
    return state.writable(holder if holder is not None else _module(machine, state))


def load(machine: Machine, state: State, name: str, scope: ir.Scope, span: Span) -> Value | None:
    """The value of a name; None where this path has not bound a name of its own, and so can't come here."""
    if state.unless:
        if merge_states.is_unbound(state, state.stack[-1], name):
            return None
        merge_states.learn(state, state.stack[-1], name)
    found = _bound(machine, state, name, scope, span)
    return module_bodies.resolve(machine, state, found, span) if type(found) is Imported else found


def bound_elsewhere(instr: ir.Load, lost: list[State], done: list[State]) -> tuple[list[State], list[State]]:
    """Where no path has bound a name, and the program works, a turn has that wasn't run: `lost` go on with anything.
    Those that go on, and those that don't."""
    failure = Failure("NameError")
    for state in lost:
        if state.flow is not None and state.flow.value == failure and not state.guards:
            state.flow = None
            state.write(instr.dst, objects.fresh(state, instr.span, name=instr.name), instr.span)
    return [state for state in lost if state.flow is None], [state for state in done if state.flow is not None]


def bind(machine: Machine, state: State, name: str, scope: ir.Scope, value: Value) -> None:
    frame_of(machine, state, name, scope).names[name] = value
    if state.unless:
        merge_states.bound(state, state.stack[-1], name)


def _module(machine: Machine, state: State) -> int:
    """The frame of the module in whose text the running code stands."""
    return machine.imports.of[state.frame.code.span.source]


def _holder(state: State, name: str) -> int | None:
    """The nearest frame around the running one that has `name` as a local."""
    at = state.frame.parent
    while at is not None and state.frames.has(at):
        frame = state.frames[at]
        if name in frame.code.local_names and not isinstance(frame.cls, str):
            return at
        at = frame.parent
    return None


def _bound(machine: Machine, state: State, name: str, scope: ir.Scope, span: Span) -> Value | None:
    """What a name is bound to."""
    if scope is _LOCAL_SCOPE:
        found = state.frame.names.get(name)
        if found is not None:
            return found
        if state.frame.parent is not None and not isinstance(state.frame.cls, str):  # a module's own is never meant
            machine.missing_reads.add(span)
            return None
    elif scope is _ENCLOSING:
        holder = _holder(state, name)
        if holder is not None and (found := state.frames[holder].names.get(name)) is not None:
            return found
    module = _module(machine, state)
    found = module_bodies.named(machine, state, module, name, own=True)
    if found is not None:
        return found
    if name in calls.BUILTINS:
        return _BUILTINS[name] if name != data_files.FILE else data_files.file_of(state)
    if (starred := module_bodies.from_star(machine, state, module, name, span)) is not None:
        return starred
    machine.missing_reads.add(span)
    if scope is not _ENCLOSING and name in state.frame.code.local_names:
        return None
    missing = objects.fresh(state, span, name=name)
    frame_of(machine, state, name, scope).names[name] = missing
    return missing


_LOCAL = ir.Scope.LOCAL


Step: TypeAlias = Callable[[Machine, Any, State], "list[State] | None"]
"""Runs one instruction; the states that come out of it, None if that is the one that went in."""


def _put(results: Results, instr: Any, before: State) -> list[State] | None:
    """Write each result into its state's register; the states, as a step gives them."""
    dst, span = instr.dst, instr.span
    if len(results) == 1 and results[0][0] is before:
        if before.flow is None:
            before.write(dst, results[0][1], span)
        return None
    states: list[State] = []
    for state, value in results:
        if state.flow is None:
            state.write(dst, value, span)
        states.append(state)
    return states


# -- values -------------------------------------------------------------------------------------------------------


def _const(machine: Machine, instr: ir.Const, state: State) -> None:
    known: Const | None = instr.known
    if known is None:
        known = instr.known = Const(instr.value)
    state.write(instr.dst, known, instr.span)


def _move(machine: Machine, instr: ir.Move, state: State) -> None:
    state.write(instr.dst, state.read(instr.src), state.frame.spans.get(instr.src, instr.span))


def _load(machine: Machine, instr: ir.Load, state: State) -> None:
    if instr.scope is _LOCAL and not state.unless:
        frame = state.frames[state.stack[-1]]
        found = frame.names.get(instr.name)
        if found is not None and type(found) is not Imported:
            if frame.owner != state.me:
                frame = state.writable()
            frame.registers[instr.dst] = found
            frame.spans[instr.dst] = instr.span
            return
    loaded = load(machine, state, instr.name, instr.scope, instr.span)
    if loaded is None:
        state.flow = Flow("raise", Failure("NameError"))
    else:
        state.write(instr.dst, loaded, instr.span)


def _store(machine: Machine, instr: ir.Store, state: State) -> None:
    value = state.read(instr.src)
    objects.named(machine, state, value, instr.name)
    bind(machine, state, instr.name, instr.scope, value)


def _delete(machine: Machine, instr: ir.Delete, state: State) -> None:
    frame_of(machine, state, instr.name, instr.scope).names.pop(instr.name, None)


def _unary(machine: Machine, instr: ir.Unary, state: State) -> list[State] | None:
    operand = state.read(instr.operand)
    found = operations.own_unary(machine, state, instr.op, operand, instr.span)
    for each, value in found:
        machine.graphs.numbers.computed(each, (operand,), value)
    return _put(found, instr, state)


def _binary(machine: Machine, instr: ir.Binary, state: State) -> list[State] | None:
    if instr.op in ("/", "+") and isinstance(left := state.read(instr.left), Ref):
        led = data_files.behind(machine, state, instr.op, left, state.read(instr.right), instr.span)
        if led is not None:
            return _put([(state, led)], instr, state)
    return _put_computed(machine, operations.binary(machine, state, instr), instr, state)


def _compare(machine: Machine, instr: ir.Compare, state: State) -> list[State] | None:
    return _put_computed(machine, operations.compare(machine, state, instr), instr, state)


def _put_computed(machine: Machine, found: Results, instr: ir.Binary | ir.Compare, state: State) -> list[State] | None:
    operands = state.read(instr.left), state.read(instr.right)
    for each, value in found:
        machine.graphs.numbers.computed(each, operands, value)
    return _put(found, instr, state)


def _build(machine: Machine, instr: ir.Build, state: State) -> None:
    state.write(instr.dst, containers.build(machine, state, instr), instr.span)


def _append(machine: Machine, instr: ir.Append, state: State) -> None:
    item = instr.item
    key = None if item.key is None else state.read(item.key)
    containers.append(state, state.read(instr.container), state.read(item.value), key)


def _unpack(machine: Machine, instr: ir.Unpack, state: State) -> None:
    for dst, value in zip(instr.dsts, subscripts.unpack(machine, state, instr), strict=True):
        state.write(dst, value, instr.span)


def _await(machine: Machine, instr: ir.Await, state: State) -> list[State] | None:
    return _put([(state, outcomes.settled(machine, state, state.read(instr.src)))], instr, state)


def _opaque(machine: Machine, instr: ir.Opaque, state: State) -> None:
    machine.gap(instr.span, instr.reason)
    if instr.dst is not None:
        state.write(instr.dst, objects.fresh(state, instr.span), instr.span)


# -- calls, attributes, items -------------------------------------------------------------------------------------


def _call(machine: Machine, instr: ir.Call, state: State) -> list[State] | None:
    func, args = state.read(instr.func), calls.arguments(machine, state, instr)
    found = calls.call(machine, state, func, args, instr.span)
    if machine.tries and isinstance(func, External | Method) and data_files.are_told(func, found):
        machine.risks -= 1  # which was counted, since it may raise where the file isn't known
    return _put(found, instr, state)


def _get_attr(machine: Machine, instr: ir.GetAttr, state: State) -> list[State] | None:
    found = attributes.read(machine, state, state.read(instr.obj), instr.name, instr.span)
    if any(type(value) is Method for _, value in found) and not state.frame.code.may_call(instr.dst):
        found = [
            (each, dispatch.field(machine, each, value, instr.span) if type(value) is Method else value)
            for each, value in found
        ]
    if state.frame.code.may_call(instr.dst):
        for each, value in found:
            if isinstance(each.get(value), UnknownObj):
                machine.graphs.numbers.computed(each, (state.read(instr.obj),), value)
    return _put(found, instr, state)


def _set_attr(machine: Machine, instr: ir.SetAttr, state: State) -> list[State]:
    obj, value = state.read(instr.obj), state.read(instr.src)
    return attributes.write(machine, state, obj, instr.name, value, instr.span)


def _del_attr(machine: Machine, instr: ir.DelAttr, state: State) -> None:
    reflection.remove(state, state.read(instr.obj), instr.name)


def _get_item(machine: Machine, instr: ir.GetItem, state: State) -> list[State] | None:
    obj, index = state.read(instr.obj), state.read(instr.index)
    found = subscripts.read(machine, state, obj, index, instr.span)
    for each, value in found:
        machine.graphs.numbers.computed(each, (obj,), value)
    return _put(found, instr, state)


def _set_item(machine: Machine, instr: ir.SetItem, state: State) -> list[State]:
    obj, index, value = state.read(instr.obj), state.read(instr.index), state.read(instr.src)
    machine.graphs.numbers.computed(state, (value,), obj)
    return subscripts.write(machine, state, obj, index, value, instr.span)


def _del_item(machine: Machine, instr: ir.DelItem, state: State) -> None:
    subscripts.delete(machine, state, state.read(instr.obj), state.read(instr.index))


# -- definitions --------------------------------------------------------------------------------------------------


def _import(machine: Machine, instr: ir.Import, state: State) -> None:
    state.write(instr.dst, module_bodies.imported(machine, state, instr), instr.span)


def _make_function(machine: Machine, instr: ir.MakeFunction, state: State) -> None:
    machine.defined.add(instr.code)
    state.write(instr.dst, make_function(state, instr.code), instr.span)


def _make_type(machine: Machine, instr: ir.MakeType, state: State) -> None:
    state.write(instr.dst, External(f"typing.{instr.name}"), instr.span)


def _decorate(machine: Machine, instr: ir.Decorate, state: State) -> list[State] | None:
    decorator, target = state.read(instr.decorator), state.read(instr.target)
    return _put(decorate(machine, state, decorator, target, instr.span), instr, state)


# -- control flow -------------------------------------------------------------------------------------------------


def _break(machine: Machine, instr: ir.Break, state: State) -> None:
    state.flow = Flow("break")


def _continue(machine: Machine, instr: ir.Continue, state: State) -> None:
    state.flow = Flow("continue")


def _return(machine: Machine, instr: ir.Return, state: State) -> None:
    state.flow = Flow("return", state.read(instr.src), instr.span)


def _raise(machine: Machine, instr: ir.Raise, state: State) -> None:
    error = exceptions.thrown(state, instr.src)
    if isinstance(error, Failure) and error.kept:
        outcomes.raised(machine, state, error)
    state.flow = Flow("raise", error)


STEPS: dict[type[ir.Instr], Step] = {
    ir.Const: _const,
    ir.Move: _move,
    ir.Load: _load,
    ir.Store: _store,
    ir.Delete: _delete,
    ir.GetAttr: _get_attr,
    ir.SetAttr: _set_attr,
    ir.DelAttr: _del_attr,
    ir.GetItem: _get_item,
    ir.SetItem: _set_item,
    ir.DelItem: _del_item,
    ir.Unary: _unary,
    ir.Binary: _binary,
    ir.Compare: _compare,
    ir.Call: _call,
    ir.Build: _build,
    ir.Append: _append,
    ir.Unpack: _unpack,
    ir.Import: _import,
    ir.MakeFunction: _make_function,
    ir.Decorate: _decorate,
    ir.MakeClass: _make_class,
    ir.MakeType: _make_type,
    ir.Yield: generators.run_yield,
    ir.Await: _await,
    ir.Opaque: _opaque,
    ir.If: run_if,
    ir.For: loops.run_for,
    ir.While: loops.run_while,
    ir.With: context_managers.run_with,
    ir.Try: exceptions.run_try,
    ir.Break: _break,
    ir.Continue: _continue,
    ir.Return: _return,
    ir.Raise: _raise,
}
