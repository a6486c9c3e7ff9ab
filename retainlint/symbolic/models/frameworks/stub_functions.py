"""What stubs ask of the machine itself, under `retainlint.stubs`: what is known of a value, and what is done without a trace."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping

from retainlint import ir
from retainlint.startup.records import replace
from retainlint.symbolic.models.python import dataclasses, options, outcomes
from retainlint.symbolic.models.torch import optimizers as stepping
from retainlint.symbolic.models.unknown import objects
from retainlint.symbolic.state import limits, reachability
from retainlint.symbolic.state.classes import find
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import (
    FALSE,
    NONE,
    Bound,
    ClassObj,
    Closure,
    Const,
    DictObj,
    External,
    GeneratorObj,
    Instance,
    IteratorObj,
    LayerObj,
    ListObj,
    OptimizerObj,
    Partial,
    Ref,
    TensorObj,
    Tuple,
    UnknownObj,
    Value,
)
from retainlint.text.source import Span

HOME = "retainlint.stubs."


def function(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results | None:
    """Call one; None for any other path."""
    given = args.get(0, "value")
    match path.removeprefix(HOME):
        case "unknown":
            return [(state, objects.fresh(state, span))]
        case "seen":
            return [(state, Const(_is_seen(state, given)))]
        case "computes":
            return [(state, Const(_computes(state, given)))]
        case "parameters" | "is_generator" as asked:
            code = given.code if isinstance(given, Closure) else None
            names = tuple(Const(each.name) for each in code.params) if code is not None else ()
            is_generator = Const(code is not None and code.is_generator)
            return [(state, is_generator if asked == "is_generator" else Tuple(names))]
        case "cycled":
            return [(state, state.new(IteratorObj("cycle", (given,))))]
        case "walks":
            return [(state, Const(_walks(given)))]
        case "annotated":
            return [(state, _annotated(state, given, span))]
        case "option":
            return [(state, settable(machine, state, given, "", span))]
        case "filled":
            return filled(machine, state, given, span)
        case "held":
            return [(state, Const(_is_held(machine, state, given)))]
        case "held_weakly":
            state.base.names_hold = True
            return [(state, given)]
        case "loss_in":
            return [(state, _loss(state, given) or NONE)]
        case "optimizers":
            return optimizers(machine, state, given, span)
        case "step":
            _step(machine, state, given, args.get(1, "number"), span)
            return [(state, NONE)]
    return outcomes.function(machine, state, path.removeprefix(HOME), args, span) if path.startswith(HOME) else None


def _is_seen(state: State, value: Value) -> bool:
    """Whether the program itself says what a value is: a constant, one of its objects, classes or functions, or what holds these."""
    if isinstance(value, Bound | Closure):
        func = value.func if isinstance(value, Bound) else value
        return isinstance(func, Closure) and not func.code.span.source.is_stub
    its_own = Instance | ClassObj | ListObj | DictObj | OptimizerObj
    return isinstance(value, Const | Tuple) or isinstance(state.get(value), its_own)


def _is_held(machine: Machine, state: State, value: Value) -> bool:
    """Whether anything but a class of the stub that asks holds an object, or a method's. Of what a function is given nobody
    knows who holds it, but for tensors."""
    value = value.self if isinstance(value, Bound) else value
    held = state.get(value)
    is_script = machine.running is machine.program.module
    if not isinstance(value, Ref) or not isinstance(held, TensorObj | Instance | LayerObj | UnknownObj):
        return True
    if not (isinstance(held, TensorObj) or (isinstance(held, UnknownObj) and held.edge) or is_script):
        return True
    asks = state.frame.code.origin or state.frame.code
    weak = [
        id
        for id, each in state.heap.items()
        if isinstance(each, Instance)
        and isinstance(cls := state.get(each.cls), ClassObj)
        and cls.code.span.source is asks.span.source
    ]
    return value.id not in state.heap or value.id in reachability.records(state, weak=weak)[0]


def _computes(state: State, value: Value) -> bool:
    """Whether each item of an iterator is computed when it is asked for, and then gone."""
    held = state.get(value)
    if isinstance(held, IteratorObj):
        return held.kind in ("map", "starmap", "filter") or any(_computes(state, part) for part in held.parts)
    return isinstance(held, GeneratorObj)


def _walks(method: Value) -> bool:
    """Whether a method runs a backward pass itself, by what it calls."""
    func = method.func if isinstance(method, Bound) else method
    return isinstance(func, Closure) and any("backward" in each.name for each in func.code.facts.calls)


def _annotated(state: State, func: Value, span: Span) -> Value:
    """The class that a function says of the first of its arguments of which it says one, unknown where that can't be told;
    None if it is no function or says nothing."""
    told = [param.annotation for param in func.code.params if param.annotation] if isinstance(func, Closure) else []
    said = next(iter(told), None)
    if not isinstance(func, Closure) or said is None:
        return NONE
    return annotated_class(state, func, said) or objects.fresh(state, span)


def _loss(state: State, value: Value) -> Value | None:
    """The loss in what a step returns: itself, under "loss", or the first of a tuple."""
    held = state.get(value)
    if isinstance(value, Tuple) and value.items:
        return _loss(state, value.items[0])
    if isinstance(held, DictObj):
        found = held.items.get(Const("loss"))
        return _loss(state, found) if found is not None else None
    if isinstance(held, TensorObj) and held.edge is not None:
        return value
    return value if isinstance(held, UnknownObj) and held.edge is not None and not held.plain else None


def _step(machine: Machine, state: State, receiver: Value, number: Value, span: Span) -> None:
    """The steps of the optimisers that `configure_optimizers` surely makes; of several, with turns of their own, of this
    turn's. A trainer that accumulates gradients steps later. They are made aside, or each call would seem to leave others."""
    configure, method = (find(state, receiver, name) for name in ("configure_optimizers", "training_step"))
    if not isinstance(configure, Closure):
        return
    results = optimizers(machine, state.fork(), receiver, span)
    if len(results) != 1 or results[0][0].flow is not None:
        return
    after, value = results[0]
    made = [after.get(each) for each in (value.items if isinstance(value, Tuple) else (value,))]
    in_iterations = isinstance(method, Closure) and any(each.name == "optimizer_idx" for each in method.code.params)
    if in_iterations and isinstance(number, Const) and isinstance(number.value, int):
        made = made[number.value - 1 : number.value]
    for held in made:
        if isinstance(held, OptimizerObj) and held.params is not None:
            known = tuple(param for param in held.params if not isinstance(param, Ref) or param.id in state.heap)
            stepping.step(machine, state, replace(held, params=known), _last_return(configure.code))


def _last_return(code: ir.Code) -> Span:
    spans = [each.span for each in ir.walk(code.body) if isinstance(each, ir.Return)]
    return max(spans, key=lambda span: span.start, default=code.span)


def optimizers(machine: Machine, state: State, receiver: Value, span: Span) -> Results:
    """`self.optimizers()`: what the class's `configure_optimizers` makes."""
    configure = find(state, receiver, "configure_optimizers")
    if configure is None:
        return [(state, objects.fresh(state, span, hint="optimizer"))]
    held = state.get(receiver)
    if isinstance(held, Instance) and held.notes.optimizers is not None:
        return [(state, held.notes.optimizers)]
    found: Results = []
    for each, value in machine.call(state, Bound(configure, receiver), Args(), span):
        made = list(_made(each, value, 0))
        one = made[0] if len(made) == 1 else Tuple(tuple(made)) if made else objects.fresh(each, span)
        now = each.get(receiver)
        if isinstance(now, Instance) and isinstance(receiver, Ref):
            each.set(receiver, replace(now, notes=replace(now.notes, optimizers=one)))
        found.append((each, one))
    return found


def _made(state: State, value: Value, depth: int) -> Iterator[Value]:
    """The optimisers in a result of `configure_optimizers`: alone, in lists, or in dicts under "optimizer"."""
    held = state.get(value)
    if isinstance(held, OptimizerObj):
        yield value
    if depth > limits.OPTIMIZER_LIST_DEPTH:
        return
    for item in state.items(value) or ():
        yield from _made(state, item, depth + 1)
    if isinstance(held, DictObj):
        yield from _made(state, held.items.get(Const("optimizer"), FALSE), depth + 1)


# -- what is filled from a command line -------------------------------------------------------------------------------


_FIELD = External("dataclasses.field")


def settable(machine: Machine, state: State, value: Value, name: str, span: Span, depth: int = 0) -> Value:
    """What is this value unless somebody gives another: an option, or an object that holds such. Of None, or where a library
    has that somebody gives one, nothing is known."""
    held = state.get(value)
    if isinstance(held, Instance) and depth < limits.SETTINGS_DEPTH and dataclasses.names(state, held.cls) is not None:
        attrs = {key: settable(machine, state, each, key, span, depth + 1) for key, each in held.attrs.items()}
        return state.new(replace(held, attrs=attrs))
    if isinstance(value, Const) and not machine.unrolls and value.value is not ...:
        return options.given(state, value, name, span)
    is_said = not isinstance(value, External) and value != Const(...)
    return value if is_said else objects.fresh(state, span, name=name, plain=True)


def filled(machine: Machine, state: State, made: Value, span: Span, depth: int = 0) -> Results:
    """What a class makes, or a function returns, of whose fields and parameters each may be given, and is what it is by default."""
    held = state.get(made)
    if isinstance(held, ClassObj) and isinstance(made, Ref):
        if (fields := dataclasses.names(state, made)) is not None:
            return _record(machine, state, made, fields, span)
        init = find(state, made, "__init__")
        args = _arguments(machine, state, init, 1, span, depth) if isinstance(init, Closure) else Args()
        return machine.call(state, made, args, span)
    if isinstance(held, Instance):
        return [(state, settable(machine, state, made, "", span))]
    func = made.func if isinstance(made, Bound) else made
    if isinstance(func, Closure):
        return machine.call(state, made, _arguments(machine, state, func, func is not made, span, depth), span)
    return machine.call(state, made, Args(open=True), span)


def _record(machine: Machine, state: State, cls: Ref, fields: tuple[str, ...], span: Span) -> Results:
    given = dict(_fields(machine, state, {name: find(state, cls, name) for name in fields}, span))
    results = machine.call(state, cls, Args(named=tuple(given.items())), span)
    for after, made in results:
        held = after.get(made)
        if isinstance(held, Instance) and isinstance(made, Ref):
            others = {name: each for name, each in held.attrs.items() if name in fields and name not in given}
            more = {name: settable(machine, after, each, name, span) for name, each in others.items()}
            after.set(made, replace(held, attrs={**held.attrs, **more}))
    return results


def _fields(
    machine: Machine, state: State, said: Mapping[str, Value | None], span: Span
) -> Iterator[tuple[str, Value]]:
    """What a command line gives for fields by what is said of them: not what a function makes anew."""
    for name, default in said.items():
        value: Value | None = External("") if default is None else default
        if isinstance(default, Partial) and default.func == _FIELD:
            ways = dict(default.kwargs)
            value = (
                None if ways.get("init") == FALSE or "default_factory" in ways else ways.get("default", External(""))
            )
        if isinstance(value, Const | External):
            yield name, settable(machine, state, value, name, span)


def _arguments(machine: Machine, state: State, func: Closure, begin: int, span: Span, depth: int) -> Args:
    found: list[tuple[str, Value]] = []
    defaults = dict(func.defaults)
    for param in func.code.params[begin:]:
        if param.kind not in ("star", "doublestar", "positional"):
            default = defaults.get(param.name)
            value = _of_class(machine, state, func, param, span, depth) if default is None else default
            found.append((param.name, settable(machine, state, value, param.name, span)))
    return Args(named=tuple(found))


def _of_class(machine: Machine, state: State, func: Closure, param: ir.Param, span: Span, depth: int) -> Value:
    """An object of the class that a parameter without a default says, with what is given for its fields."""
    cls = annotated_class(state, func, param.annotation or "")
    if not isinstance(state.get(cls or NONE), ClassObj) or cls is None or depth > limits.SETTINGS_DEPTH:
        return External("")
    ways = filled(machine, state.fork(), cls, span, depth + 1)
    if len(ways) != 1 or ways[0][0].flow is not None:
        return External("")
    state.become(ways[0][0])
    return ways[0][1]


def annotated_class(state: State, func: Closure, said: str) -> Value | None:
    """The class that an annotation of a function names; None where that can't be told."""
    root, _, rest = said.partition(".")
    frame = state.frames[func.frame]
    # a method's class, and then its module
    while (found := frame.names.get(root)) is None and frame.parent is not None:
        frame = state.frames[frame.parent]
    if found is None and not rest and hasattr(builtins, root):
        return External(f"builtins.{root}")
    if isinstance(found, External) and rest:
        return External(f"{found.path}.{rest}")
    return None if rest else found
