"""What stubs ask of the machine itself, under `retainlint.stubs`: what is known of a value, and what is done without a trace."""

from __future__ import annotations

from collections.abc import Iterator

from retainlint import ir
from retainlint.startup.records import replace
from retainlint.symbolic.models.frameworks import command_lines
from retainlint.symbolic.models.python import outcomes
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
    GeneratorObj,
    Instance,
    IteratorObj,
    LayerObj,
    ListObj,
    OptimizerObj,
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
            return [(state, command_lines.settable(machine, state, given, "", span))]
        case "filled":
            return command_lines.filled(machine, state, given, span)
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
    return command_lines.annotated_class(state, func, said) or objects.fresh(state, span)


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
    items = value.items if isinstance(value, Tuple) else held.items if isinstance(held, ListObj) else ()
    for item in items:
        yield from _made(state, item, depth + 1)
    if isinstance(held, DictObj):
        yield from _made(state, held.items.get(Const("optimizer"), FALSE), depth + 1)
