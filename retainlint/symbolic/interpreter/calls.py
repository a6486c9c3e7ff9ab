"""Calls: functions and classes of the program are run inline, within limits; the rest is asked of the models."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import TypeAlias

from retainlint import ir
from retainlint.autograd.graph import Edge
from retainlint.startup.records import replace
from retainlint.symbolic.interpreter import attributes, reflected_calls, stub_modules
from retainlint.symbolic.merging.merge_states import join
from retainlint.symbolic.models import dispatch
from retainlint.symbolic.models.python import dataclasses, iteration, library, outcomes
from retainlint.symbolic.models.torch import hooks, optimizers, submodules
from retainlint.symbolic.models.unknown import call_results, objects, weights
from retainlint.symbolic.solver.terms import STUMBLES
from retainlint.symbolic.state import classes, events, havoc, limits, path_choice
from retainlint.symbolic.state.classes import find, is_module
from retainlint.symbolic.state.effort import OutOfSteps
from retainlint.symbolic.state.exception_types import is_taken, takes
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import Choice, Consumer, Frame, State
from retainlint.symbolic.state.values import (
    COUNT,
    GUESS,
    NONE,
    Bound,
    ClassObj,
    Closure,
    Const,
    DictObj,
    External,
    GeneratorObj,
    GradMode,
    Instance,
    IteratorObj,
    LayerObj,
    ListObj,
    Method,
    Notes,
    Partial,
    Ref,
    Tuple,
    UnknownObj,
    Value,
    Wrapped,
)
from retainlint.text.source import INITIALISERS, Span


def crosses(machine: Machine, state: State, code: ir.Code) -> bool:
    """Whether a call leads into another module; where no walk stands in the program, whether it leads about there."""
    source, here = code.span.source, machine.program
    if source.is_stub:
        return False
    return source is not here.source and (not here.module.backward_passes or source is not state.frame.code.span.source)


def followed(
    machine: Machine, state: State, func: Closure, args: Args, span: Span, *, plain: bool, on_graph: bool
) -> Results:
    """Call a function of another module: it is run, or left unseen. One that takes too long, and walks nothing meanwhile, is left; one that is called by such a function may take half of the steps that its caller has left.
    A `plain` one is no network's method; one that is called `on_graph` makes losses."""
    imports, code = machine.imports, func.code
    if _is_always_followed(machine, code):
        return _entered(machine, state, func, args, span)
    spent = imports.closed or (not imports.crossing and _is_spent(machine, state, code, plain=plain, on_graph=on_graph))
    if not _is_worth_it(machine, code, spent=spent):
        if code not in imports.told:
            why = f"`{code.qualname}` was not followed: calls into other modules take too many steps"
            machine.gap(span, why, spoils=False, spent=True)
        _note_left(machine, state, code, span, plain=plain, on_graph=on_graph)
        return _unseen(machine, state, func, args, span)
    outer, before, start, budget = imports.crossing, state.fork(), machine.steps, machine.budget
    allowance, known = (budget - start) // 2 if outer else imports.allowance, machine.backward_count
    entered = None if outer else frozenset(machine.entered)
    machine.budget = min(budget, start + allowance)
    imports.crossing = True
    try:
        return _entered(machine, state, func, args, span)
    except OutOfSteps:
        if machine.steps > budget:
            raise
    finally:
        machine.budget, imports.crossing = budget if outer else min(budget, limits.ENTRY_STEPS_WITH_IMPORTS), outer
        if not (outer or imports.loading or machine.trying):
            imports.spend(machine.steps - start, plain=plain, on_graph=on_graph)
        imports.note(code, machine.steps - start, machine.running if spent else None)
    if machine.backward_count > known:
        return _entered(machine, before, func, args, span)
    if entered is not None:
        machine.entered.intersection_update(entered)  # what was left unseen covers nothing
    if machine.trying:  # of what nobody knows it takes more than it does else
        return _unseen(machine, before, func, args, span)
    if allowance >= limits.LAST_TRY_STEPS:
        imports.endless.add(code)
    _note_left(machine, before, code, span, plain=plain, on_graph=on_graph)
    machine.gap(span, f"`{code.qualname}` was not followed: it takes too many steps", spoils=False, spent=True)
    return _unseen(machine, before, func, args, span)


def _note_left(machine: Machine, state: State, code: ir.Code, span: Span, *, plain: bool, on_graph: bool) -> None:
    """A function of another module is left unseen; those that called it may have had their networks, or losses, of it."""
    machine.imports.told.add(code)
    if on_graph or not plain:
        machine.imports.lacking.update(state.frames[id].code for id in state.stack)
        machine.imports.left.add(span)


def follows(machine: Machine, state: State, code: ir.Code) -> bool:
    """Whether a call of a function, no plain one, would be run, as far as that shows before it is."""
    if not crosses(machine, state, code) or _is_always_followed(machine, code):
        return code not in machine.imports.endless
    imports = machine.imports
    spent = imports.closed or (not imports.crossing and _is_spent(machine, state, code, plain=False, on_graph=False))
    return _is_worth_it(machine, code, spent=spent)


def _is_always_followed(machine: Machine, code: ir.Code) -> bool:
    """Whether a function of another module is followed whatever it takes: for the backward pass that it leads to."""
    return code.backward_passes or (not machine.program.module.backward_passes and _leads_to_backward(machine, code))


def _is_worth_it(machine: Machine, code: ir.Code, *, spent: bool) -> bool:
    """Whether any other is: it was never given up, and there are steps left, or it takes next to none."""
    imports = machine.imports
    return code not in imports.endless and (not spent or imports.is_cheap(code, machine.running))


def _is_spent(machine: Machine, state: State, code: ir.Code, *, plain: bool, on_graph: bool) -> bool:
    """Whether an entry, and all before it, have spent their steps in functions of other modules."""
    imports = machine.imports
    if machine.unrolls:
        return False
    if imports.spent_before > limits.IMPORTED_STEPS_OF_FILE:
        return True
    if on_graph:
        return imports.spent_on_graphs > limits.IMPORTED_STEPS_ON_GRAPHS
    if state.frames[imports.of[code.span.source]].code.backward_passes:
        return imports.spent > limits.IMPORTED_STEPS_BESIDE_BACKWARD
    share = limits.IMPORTED_STEPS_OF_ENTRY if machine.backward_count else imports.share  # then they make its losses
    return imports.spent > share or (plain and imports.spent_on_plain > limits.IMPORTED_STEPS_OF_PLAIN)


def _leads_to_backward(machine: Machine, code: ir.Code) -> bool:
    """Whether a walk may be reached from a function of another module, by its name, or its class's where it has none."""
    project = machine.imports.project
    assert project is not None
    return project.reaches(known_as(code))


def known_as(code: ir.Code) -> str:
    """The name by which a function is called: that of its class, for what has no other."""
    *_, cls, name = ("", *code.qualname.rsplit(".", 2))
    return cls if name == "forward" or name.startswith("__") else name


def may_cut(state: State, obj: Value, forward: ir.Code) -> bool:
    """As one does that begins each call with a detached state: by what its forward says, and the methods of its own that
    this names."""
    return any(code.facts.detaches for code in havoc.with_own(state, obj, forward))


Size: TypeAlias = "tuple[str, int] | None"


def too_deep(machine: Machine, state: State, code: ir.Code, sizes: tuple[Size, ...]) -> bool:
    """Whether to cut a call: one of a function that calls itself, unless its own numbers bring that to an end."""
    frames = [state.frames[id] for id in state.stack]
    if len(frames) >= limits.FUNCTIONS_ON_STACK and len({frame.code for frame in frames}) >= limits.FUNCTIONS_ON_STACK:
        return True
    outer = [frame for frame in frames if frame.code is code]
    if not outer:
        return False
    machine.efforts.setdefault(code, 0)
    counts = sizes != outer[-1].sizes and state.choices == outer[-1].assumed
    if len(outer) < limits.RECURSIVE_CALLS:
        return not counts and _is_tiresome(machine, code)
    machine.deep[code] = machine.deep.get(code, 0) + 1
    return not counts or len(outer) >= limits.COUNTED_DEPTH or machine.deep[code] > limits.COUNTED_CALLS


def _paced(machine: Machine, code: ir.Code, state: State) -> list[State]:
    """Run a function's body: note what it takes if it calls itself, and follow one way where that was much. Of the ways
    through one that leads to no backward pass few are followed where it stands in another module, or once the entry has
    taken some steps."""
    chooser, beside, breadth, start = machine.chooser, machine.chooser.beside, machine.chooser.breadth, machine.steps
    if _is_tiresome(machine, code):
        chooser.crowd()
    if machine.imports.crossing or (machine.steps > limits.ASIDE_FROM_STEPS and not _leads(machine, code)):
        chooser.breadth = min(breadth, path_choice.ASIDE, key=lambda each: each.widest)
    try:
        return machine.run(code.body, [state])
    finally:
        chooser.beside, chooser.breadth = beside, breadth
        if code in machine.efforts:
            machine.efforts[code] += machine.steps - start


def _leads(machine: Machine, code: ir.Code) -> bool:
    """Whether a function may lead to a backward pass, as far as its program's names tell."""
    return code.backward_passes or code.is_stub or code in machine.leading or code.name in machine.unreached.leading


def _is_tiresome(machine: Machine, code: ir.Code) -> bool:
    return (
        machine.efforts.get(code, 0) > limits.RECURSIVE_STEPS
        and not code.backward_passes
        and code not in machine.leading
    )


def size(state: State, value: Value) -> Size:
    """A known number, the length of a known sequence, or which of the program's objects it is, or of its modules."""
    if type(value) is Ref:
        held = state.heap[value.id]
        if isinstance(held, Instance | LayerObj):
            return "object", value.id
        if isinstance(held, DictObj):
            return size(state, held.of) if held.of is not None else None
        return ("length", len(held.items)) if isinstance(held, ListObj) and not held.open else None
    if isinstance(value, Const):
        return ("number", value.value) if type(value.value) is int else None
    return ("length", len(value.items)) if isinstance(value, Tuple) else None


BUILTINS = frozenset(dir(builtins)) | {"__file__", "reveal_type", "ExceptionGroup", "BaseExceptionGroup"}


_SAYING = (ir.Const, ir.Load, ir.GetAttr, ir.Call, ir.Build)


def arguments(machine: Machine, state: State, instr: ir.Call) -> Args:
    """Evaluate the arguments of a call, with `*` and `**` spread where they are known."""
    pos: list[Value] = []
    spans: list[Span | None] = []
    named: dict[str, Value] = {}
    open_ = False
    places: list[tuple[str, Span]] = []
    frame = state.frame
    for arg in instr.args:
        value = frame.registers[arg.value]
        if arg.star == 1:
            spread = _spread(machine, state, value, instr.span)
            open_ |= spread is None
            if spread is None and frame.registers[instr.func] == _ZIP and isinstance(obj := state.get(value), ListObj):
                spread = obj.items  # they needn't be all to tell of what its rows are made
            pos += spread or ()
            spans += [None] * len(spread or ())
        elif arg.star == 2:
            obj = state.get(classes.of(state, value))
            if isinstance(obj, DictObj) and not obj.open:
                named |= {str(k.value): v for k, v in obj.items.items() if isinstance(k, Const)}
            elif (
                isinstance(value, Method)
                and value.name == "__dict__"
                and isinstance(held := state.get(value.obj), Instance)
            ):
                named |= held.attrs
            else:
                open_ = True
        elif arg.name is not None:
            named[arg.name] = value
            if (place := frame.spans.get(arg.value)) is not None:
                places.append((arg.name, place))
        else:
            pos.append(value)
            spans.append(frame.spans.get(arg.value))
    return Args(tuple(pos), tuple(named.items()), open_, tuple(spans), instr.span, tuple(places))


_ZIP = External("builtins.zip")


def _spread(machine: Machine, state: State, value: Value, span: Span) -> tuple[Value, ...] | None:
    if isinstance(value, Tuple):
        return value.items
    obj = state.get(value)
    if isinstance(obj, GeneratorObj | IteratorObj):
        known = iteration.known_items(machine, state, value, span)
        return tuple(known) if known is not None else None
    return obj.items if isinstance(obj, ListObj) and not obj.open else None


def call(machine: Machine, state: State, func: Value, args: Args, span: Span) -> Results:
    if type(func) is External:
        func = stub_modules.standing_for(machine, state, func)
    match func:
        case Closure():
            return run_closure(machine, state, func, args, span)
        case Bound(func=inner, self=first):
            optimizers.note_own_step(state, inner, first, span)
            return call(machine, state, inner, args.behind(first), span)
        case Wrapped(func=inner, mode=GradMode(guards=True) as mode):
            return _guarded(machine, state, inner, mode, args, span)
        case Wrapped(func=inner, mode=GradMode() as mode):
            before = state.enter(mode)
            results = call(machine, state, inner, args, span)
            for after, _ in results:
                after.enter(before)
            return results
        case Wrapped(memo=Ref()):
            return library.call(machine, state, func, args, span)
        case Wrapped(kind="command", func=inner):
            return call(machine, state, inner, Args(), span)
        case Wrapped(kind="abstract", func=Closure(code=code)) if args.pos:
            return _left_to_others(machine, state, code, args, span)
        case Wrapped(func=inner):
            return call(machine, state, inner, args, span)
        case Partial(func=inner, args=more, kwargs=named):
            merged = dict(named) | dict(args.named)
            spans = (None,) * len(more) + args.spans
            both = Args(more + args.pos, tuple(merged.items()), args.open, spans, args.span)
            return call(machine, state, inner, both, span)
        case Method(obj=Ref() as cls, name="__call__") if isinstance(state.get(cls), ClassObj):
            return instantiate(machine, state, cls, args, span)  # what a metaclass leaves to `type`
        case Method() | External():
            return _modelled(machine, state, func, args, span)
        case GradMode():
            return [(state, Wrapped("mode", args.get(0, "func"), mode=func))]
        case Ref():
            return _call_object(machine, state, func, args, span)
        case _:
            machine.gpu_missed |= func == NONE and machine.gpu_asked > 0
            return [(state, call_results.called(machine, state, func, args, span))]


def _guarded(machine: Machine, state: State, func: Value, mode: GradMode, args: Args, span: Span) -> Results:
    """Call what is expected to fail."""
    guards, catches = state.guards, None if mode.catches is None else list(mode.catches)
    state.guards += takes("RuntimeError", catches) is not False
    results = call(machine, state, func, args, span)
    for after, _ in results:
        after.guards = guards
        if (
            after.flow is not None
            and after.flow.kind == "raise"
            and is_taken(after, after.flow.value, catches) is not False
        ):
            after.flow = None
    return results


def _modelled(machine: Machine, state: State, func: Method | External, args: Args, span: Span) -> Results:
    """A call of what a model knows, or nobody. Operands that a model doesn't expect make the call one that nobody knows:
    they are the program's, and end no file."""
    try:
        if (found := reflected_calls.reflected(machine, state, func, args, span)) is not None:
            return found
        found = _of_models(machine, state, func, args, span)
        machine.graphs.numbers.called(state, func, args.all, span, found)
        return found
    except STUMBLES:
        machine.gap(span, "a call whose arguments fit no form that is known")
        return [(state, call_results.called(machine, state, func, args, span))]


def _of_models(machine: Machine, state: State, func: Method | External, args: Args, span: Span) -> Results:
    if isinstance(func, External):
        return dispatch.external(machine, state, func.path, args, span)
    if state.frame.returned and (place := state.frame.returned.get(func.obj)) is not None:
        # what a stub does to it stands where the program returned it
        args, span = replace(args, span=place), place
    return dispatch.method(machine, state, func.obj, func.name, args, span)


def _call_object(machine: Machine, state: State, func: Ref, args: Args, span: Span) -> Results:
    obj = state.heap[func.id]
    match obj:
        case ClassObj() if isinstance(own := classes.of_meta(state, func, "__call__"), Closure):
            return call(machine, state, Bound(own, func), args, span)
        case ClassObj():
            return instantiate(machine, state, func, args, span)
        case LayerObj() | Instance() if "forward" in obj.attrs and (
            is_module(state, func) or isinstance(obj, LayerObj)
        ):
            own = obj.attrs["forward"]  # set on this one alone
            return _noted(machine, hooks.around(machine, state, func, args, span, call, own), span)
        case LayerObj():
            return _noted(machine, hooks.around(machine, state, func, args, span, dispatch.layer_call, func), span)
        case Instance():
            names = ("__call__", "forward") if is_module(state, func) else ("__call__",)
            bound = next((Bound(found, func) for name in names if (found := find(state, func, name)) is not None), None)
            if bound is not None:
                return _noted(machine, hooks.around(machine, state, func, args, span, call, bound), span)
            if classes.layer(state, func) is not None:
                return _noted(machine, hooks.around(machine, state, func, args, span, dispatch.layer_call, func), span)
            objects.forget(machine, state, func)
            return [(state, call_results.called(machine, state, func, args, span))]
        case UnknownObj() if (scaled := dispatch.unknown_call(machine, state, obj, args, span)) is not None:
            return scaled
        case _:
            made = call_results.called(machine, state, func, args, span)
            if isinstance(obj, UnknownObj):  # a method of numbers that no model knows
                machine.graphs.numbers.computed(state, (func,), made)
            return [(state, made)]


def _noted(machine: Machine, results: Results, span: Span) -> Results:
    """Remember what a module's call built: somebody should walk it."""
    for state, value in results:
        machine.events.emit(events.ModuleCalled(state, value, span))
    return results


def says_nothing(code: ir.Code) -> bool:
    """Whether a body holds no more than `pass`, `...` or a result."""
    return all(isinstance(each, ir.Const | ir.Return) for each in code.body)


def run_closure(machine: Machine, state: State, func: Closure, args: Args, span: Span) -> Results:
    code = func.code
    if code.span.source.is_stub and says_nothing(code):
        return [(state, NONE)]  # a hook that the program leaves alone
    if not code.span.source.is_stub:
        machine.reached.add(code)
    if code.is_generator:
        machine.entered.add(code)
        return [(state, state.new(GeneratorObj(func, args.pos, args.named)))]
    if args.pos and not state.guards and is_left_to_others(code):
        return _left_to_others(machine, state, code, args, span)
    if args.pos and says_nothing(code) and _may_be_overridden(state, code, args.pos[0]):
        objects.forget_cleared(machine, state, args.pos[0], limits.HANDED_DEPTH)
    if code.is_async:
        return outcomes.aside(machine, state, lambda begun: run_body(machine, begun, func, args, span), raises=False)
    return run_body(machine, state, func, args, span)


def _may_be_overridden(state: State, code: ir.Code, obj: Value) -> bool:
    """Whether others may fill in a method of an object's class: nobody is seen to make the object, which stands for those of
    the classes, too, that they derive from its own."""
    is_entered = bool(state.iterations) and state.iterations[0].supposed and len(state.stack) > 1
    cls = state.get(classes.class_of(state, obj) or NONE)
    own = cls.attrs.get(code.name) if isinstance(cls, ClassObj) else None
    is_own = isinstance(own, Closure) and own.code is code
    return is_entered and is_own and state.frames[state.stack[1]].receiver == obj


def _left_to_others(machine: Machine, state: State, code: ir.Code, args: Args, span: Span) -> Results:
    """A call of a method that a class derived from this one has to define."""
    rest = Args(args.pos[1:], args.named, args.open, args.spans[1:], args.span, args.places)
    if isinstance(args.pos[0], Ref):
        objects.forget(machine, state, args.pos[0])
        objects.forget_cleared(machine, state, args.pos[0], limits.HANDED_DEPTH)
    return [(state, call_results.called(machine, state, Method(args.pos[0], code.name), rest, span))]


def is_left_to_others(code: ir.Code) -> bool:
    """Whether a method says no more than that a class derived from this one has to define it."""
    at = next((index for index, each in enumerate(code.body) if type(each) not in _SAYING), len(code.body))
    ended = code.body[at : at + 1]
    return bool(ended) and isinstance(ended[0], ir.Raise) and "NotImplementedError" in ir.names(code.body[:at])


def run_body(
    machine: Machine, state: State, func: Closure, args: Args, span: Span, consumer: Consumer | None = None
) -> Results:
    """Run a function's body in a frame of its own; `consumer` is what each yielded value is given to."""
    code = func.code
    if not code.span.source.is_stub:
        machine.reached.add(code)
    sizes = tuple([size(state, value) for value in args.all])
    if too_deep(machine, state, code, sizes):
        machine.gap(span, f"`{code.name}` calls itself: the inner call was not followed", spoils=False)
        _leave_unseen(machine, state, code, args)
        return [(state, call_results.called(machine, state, func, args, span))]
    if consumer is not None or not crosses(machine, state, code):
        return _joined(machine, _entered(machine, state, func, args, span, consumer))

    plain = not (args.pos and (is_module(state, args.pos[0]) or classes.is_function(state, args.pos[0])))
    on_graph = any(_is_computed(machine, edge) for edge in objects.edges_in(machine, state, args.all))
    since = state.choices
    results = followed(machine, state, func, args, span, plain=plain, on_graph=on_graph)
    return _joined(machine, results, since)


def _is_computed(machine: Machine, edge: Edge) -> bool:
    """Whether a graph is no weight's and no guess, but perhaps what a network gives of which some weights are frozen."""
    is_guess = machine.graphs.exists(edge) == GUESS and not machine.graphs.births[edge.node].from_call
    return not (is_guess or edge.node.is_leaf)


def _leave_unseen(machine: Machine, state: State, code: ir.Code, args: Args) -> None:
    """A function of the program is not followed: it may walk, if its name leads to a walk, or keep what it is given, also
    in its object."""
    held = [each for each in map(state.get, args.all) if isinstance(each, Instance)]
    around = (*args.all, *(value for each in held for value in each.leading.values()))
    machine.events.emit(events.CalleeSkipped(known_as(code), objects.edges_in(machine, state, around)))


def _unseen(machine: Machine, state: State, func: Closure, args: Args, span: Span) -> Results:
    """A call that we could run, and don't."""
    _leave_unseen(machine, state, func.code, args)
    made = args.pos[0] if args.pos else NONE
    submodules.forget_set(state, made, func.code)
    if func.code.name in ("forward", "__call__") and is_module(state, made):
        rest = Args(args.pos[1:], args.named, args.open, args.spans[1:], args.span, args.places)
        states = hooks.of_parts(machine, state, made, span)
        cuts = may_cut(state, made, func.code)
        return [(each, call_results.called(machine, each, made, rest, span, cuts=cuts)) for each in states]
    value = call_results.called(machine, state, func, args, span)
    if func.code.name in INITIALISERS:
        objects.keep(state, made, args.all[1:])
        weights.made(machine, state, made, args.named)
    return [(state, value)]


def _entered(
    machine: Machine, state: State, func: Closure, args: Args, span: Span, consumer: Consumer | None = None
) -> Results:
    """Run a function's body, and leave it."""
    func = stub_modules.placed(machine, func, span)
    code = func.code
    outer = state.frame
    if outer.code.is_stub or not _is_refused(func, args):  # what a stub doesn't give isn't known
        machine.entered.add(code)
    call = None if code.is_stub else span  # what is placed there is called by nobody else
    if code.is_stub:
        stub_modules.repeated(state, code, args)
        machine.budget += sum(1 for _ in ir.walk(code.body))  # what a stub takes itself isn't the program's
    frame_id = state.push(code, func.frame, call)
    frame = state.frames[frame_id]
    frame.cls = func.owner
    frame.consumer = consumer
    frame.returned = outer.returned if code.is_stub else {}
    frame.sizes, frame.assumed = tuple([size(state, value) for value in args.all]), state.choices
    _bind(state, frame, func, args, span)
    return [(after, _leave(after, frame_id, code, call)) for after in _paced(machine, code, state)]


def _leave(state: State, frame_id: int, code: ir.Code, call: Span | None) -> Value:
    """Leave a call; its value."""
    frame = state.frames[frame_id]
    value: Value = NONE
    place: Span | None = None
    if state.flow is not None and state.flow.kind == "return":
        value, place = state.flow.value or NONE, state.flow.place
        state.flow = None
    if code.is_generator and frame.consumer is None:
        value = state.new(ListObj(frame.yielded, size=frame.length))
    state.pop(call)
    if state.stack:
        stub_modules.given(state, frame, value, place)
    if not code.captured:
        state.frames.pop(frame_id, None)  # the base has it, where what was imported meanwhile might have asked for it
    elif frame.registers:
        frame = state.writable(frame_id)
        frame.registers.clear()
        frame.spans.clear()
    return value


def _joined(machine: Machine, results: Results, since: tuple[Choice, ...] | None = None) -> Results:
    """Merge the ways through a call that ended alike; `since` is what was chosen before a call of another module."""
    if len(results) < 2:
        return results
    for state, value in results:
        if state.flow is None:
            state.writable().registers[-1] = value
    joined = join(machine.graphs, [state for state, _ in results], since, beside=machine.chooser.beside)
    return [(state, state.writable().registers.pop(-1, NONE)) for state in joined]


def _bind(state: State, frame: Frame, func: Closure, args: Args, span: Span) -> None:
    """Give the parameters their values; those that we don't know are unknown."""
    pos, named = list(args.pos), dict(args.named)
    defaults = dict(func.defaults)
    names = frame.names
    for param in func.code.params:
        if param.kind == "star":
            names[param.name] = state.new(ListObj((), True)) if args.open else Tuple(tuple(pos))
            pos = []
        elif param.kind == "doublestar":
            rest: Mapping[Value, Value] = {Const(key): value for key, value in named.items()}
            names[param.name] = state.new(DictObj(rest, args.open))
        elif pos and param.kind != "keyword":
            names[param.name] = pos.pop(0)
        elif param.name in named and param.kind != "positional":
            names[param.name] = named.pop(param.name)
        elif param.name in defaults and (not args.open or _is_optimiser(defaults[param.name])):
            names[param.name] = defaults[param.name]
        else:
            default = defaults.get(param.name)
            is_number, is_text = _is_number(default), isinstance(default, Const) and isinstance(default.value, str)
            made = UnknownObj(param.span or span, hint=COUNT if is_number else "", name=param.name, plain=is_number)
            names[param.name] = state.new(replace(made, notes=Notes(default=default)) if is_text else made)
    first = next(iter(func.code.params), None)
    frame.receiver = names[first.name] if first is not None else None


def _is_refused(func: Closure, args: Args) -> bool:
    """Whether Python refuses a call for want of an argument; what it would have run is then run with unknown ones."""
    if args.span is None or args.open:
        return False
    named, defaults = {name for name, _ in args.named}, {name for name, _ in func.defaults}
    needed = [each for each in func.code.params if each.kind not in ("star", "doublestar")]
    return any(each.name not in named and each.name not in defaults for each in needed[len(args.pos) :])


def _is_number(default: Value | None) -> bool:
    """Whether a parameter's default is a number: what is given in its place is one, too; but for those by which nothing is
    added, or multiplied, in whose place tensors are given."""
    return isinstance(default, Const) and isinstance(default.value, int | float) and default.value not in (0, 1)


def _is_optimiser(default: Value) -> bool:
    """Whether a parameter's default is a class of torch's optimisers: whatever is given in its place steps as that does."""
    return isinstance(default, External) and default.path.startswith("torch.optim.")


def instantiate(machine: Machine, state: State, cls: Ref, args: Args, span: Span) -> Results:
    """Make an object and run its `__init__`."""
    obj = state.heap[cls.id]
    assert isinstance(obj, ClassObj)
    if args.pos and classes.is_enum(state, cls):
        return [(state, classes.member(state, cls, args.pos[0]) or objects.fresh(state, span))]
    maker = find(state, cls, "__new__")
    if (tensors := classes.tensor_class(state, cls)) is not None:
        if maker is None and find(state, cls, "__init__") is None:
            return call(machine, state, tensors, args, span)
        return [(state, objects.fresh(state, span, hint="tensor"))]  # with or without a graph
    if isinstance(maker, Closure) and not classes.is_open(state, cls):
        found = call(machine, state, maker, args.behind(cls), span)
        return [done for each, made in found for done in _begun(machine, each, cls, made, args, span)]
    # who makes one with arguments that we don't know may have changed it
    return _initialised(machine, state, cls, classes.blank(state, cls, trains=not args.open), args, span)


def _begun(machine: Machine, state: State, cls: Ref, made: Value, args: Args, span: Span) -> Results:
    """What `__new__` returned; its `__init__` is run if it is an object of the class, be it one that was kept."""
    held = state.get(made)
    if state.flow is not None or not isinstance(made, Ref) or not isinstance(held, Instance):
        return [(state, made)]
    return _initialised(machine, state, cls, made, args, span) if held.cls == cls else [(state, made)]


def _initialised(machine: Machine, state: State, cls: Ref, made: Ref, args: Args, span: Span) -> Results:
    """Run the `__init__` of a new object."""
    init = find(state, made, "__init__")
    if init is not None:
        return [(after, made) for after, _ in call(machine, state, Bound(init, made), args, span)]
    elif dataclasses.names(state, cls) is not None:
        return attributes.fill_fields(machine, state, made, args, span)
    elif (
        classes.kind(state, cls) is not None
        or classes.derives(state, made)
        or dispatch.is_optimizer_method(state, made, "__init__")
    ):
        dispatch.method(machine, state, made, "__init__", args, span)
    return [(state, made)]
