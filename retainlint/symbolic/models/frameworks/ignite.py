"""Ignite's engines: who calls an update for each batch, and the handlers behind it."""

from __future__ import annotations

from retainlint.incident import Iteration
from retainlint.startup.records import replace
from retainlint.symbolic.models.torch import backward_calls, optimizers
from retainlint.symbolic.models.unknown import objects
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import (
    NONE,
    Bound,
    Closure,
    External,
    Notes,
    OptimizerObj,
    Partial,
    Ref,
    Tuple,
    UnknownObj,
    Value,
)
from retainlint.text.source import Span

NAME = "ignite"
METHODS = {"run", "on", "add_event_handler"}
_SUPERVISED = "ignite.engine.supervised_update"
_REGISTER = "ignite.engine.registered"
_EACH_BATCH, _AT_LAST = "ITERATION_COMPLETED", ("EPOCH_COMPLETED", "COMPLETED")


def function(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results | None:
    """Make an engine; None for any other path."""
    name = path.rpartition(".")[2]
    if not path.startswith("ignite.engine."):
        return None
    if path == _SUPERVISED:
        return _supervised(machine, state, args, span)
    if path == _REGISTER and len(args.pos) == 3:
        _keep(state, args.pos[0], args.pos[1], args.pos[2])
        return [(state, args.pos[2])]
    if name in ("Engine", "DeterministicEngine"):
        return [(state, _engine(state, args.get(0, "process_function"), span))]
    if name == "create_supervised_trainer":
        given = tuple(args.get(at, key) for at, key in enumerate(("model", "optimizer", "loss_fn")))
        return [(state, _engine(state, Partial(External(_SUPERVISED), given, ()), span))]
    return None


def _engine(state: State, update: Value, span: Span) -> Ref:
    return state.new(UnknownObj(span, hint="trainer", name=NAME, notes=Notes(update=update, handlers=Tuple(()))))


def method(machine: Machine, state: State, obj: Ref, held: UnknownObj, name: str, args: Args, span: Span) -> Results:
    """`engine.run(...)`, `engine.on(event)`, `engine.add_event_handler(event, handler, ...)`."""
    match name:
        case "run":
            assert held.notes.update is not None
            return _run(machine, state, obj, held.notes.update, span)
        case "on":
            register = Partial(External(_REGISTER), (obj, args.get(0, "event_name")), ())
            return [(state, Partial(register, (), ()))]  # a function of the program, as decorators go: it is called
        case _:
            handler = Partial(args.get(1, "handler"), (), args.named) if args.named else args.get(1, "handler")
            _keep(state, obj, args.get(0, "event_name"), handler)
    return [(state, NONE)]


def _keep(state: State, engine: Value, event: Value, handler: Value) -> None:
    held = state.get(engine)
    if isinstance(held, UnknownObj) and isinstance(engine, Ref):
        kept = held.notes.handlers
        items = kept.items if isinstance(kept, Tuple) else ()
        grown = Tuple((*items, Tuple((event, handler))))
        state.set(engine, replace(held, notes=replace(held.notes, handlers=grown)))


def _run(machine: Machine, state: State, engine: Ref, update: Value, span: Span) -> Results:
    """Call an engine's update for a batch, and for the next, with its handlers."""
    outer = state.iterations
    states = [state]
    for number in (1, 2):
        following: list[State] = []
        for each in states:
            if each.flow is not None:
                following.append(each)
                continue
            each.iterations = (*outer, Iteration(span, number, is_call=True, depth=len(each.calls)))
            batch = objects.fresh(each, span, name="batch")
            for after, output in machine.call(each, update, Args((engine, batch)), span):
                _put_out(machine, after, engine, output, span)
                following += _handled(machine, after, engine, (_EACH_BATCH,), span)
        states = following
    states = [after for each in states for after in _handled(machine, each, engine, _AT_LAST, span)]
    for each in states:
        each.iterations = outer
    return [(each, NONE) for each in states]


def _put_out(machine: Machine, state: State, engine: Ref, output: Value, span: Span) -> None:
    """`engine.state.output` is what the update returned."""
    inside = objects.derived(machine, state, engine, "state", span)
    held = state.get(inside)
    if isinstance(held, UnknownObj) and isinstance(inside, Ref):
        state.set(inside, replace(held, attrs={**held.attrs, "output": output}))


def _handled(machine: Machine, state: State, engine: Ref, events: tuple[str, ...], span: Span) -> list[State]:
    """Run the handlers of some events; one that listens to an event with a condition isn't followed."""
    held = state.get(engine)
    kept = held.notes.handlers if isinstance(held, UnknownObj) else None
    states = [state]
    for pair in kept.items if isinstance(kept, Tuple) else ():
        assert isinstance(pair, Tuple)
        event, handler = pair.items
        if not isinstance(event, External) or event.path.rpartition(".")[2] not in events:
            continue
        given = Args((engine,)) if _takes_engine(handler) else Args()
        following: list[State] = []
        for each in states:
            done = [each] if each.flow is not None else [s for s, _ in machine.call(each, handler, given, span)]
            following += done
        states = following
    return states


def _takes_engine(handler: Value) -> bool:
    """Whether a handler wants the engine: ignite gives it to those that have room for it."""
    bound = isinstance(handler, Bound)
    inner = handler.func if isinstance(handler, Bound) else handler
    return not isinstance(inner, Closure) or len(inner.code.params) > bound


def _supervised(machine: Machine, state: State, args: Args, span: Span) -> Results:
    """What `create_supervised_trainer` makes: forward, loss, walk, step."""
    model, optimizer, loss_fn = args.pos[:3]
    results: Results = []
    if isinstance(optimizer, Ref) and isinstance(state.get(optimizer), OptimizerObj):
        optimizers.method(machine, state, optimizer, "zero_grad", Args(), span)
    batch = objects.fresh(state, span, name="x", plain=True)
    for each, out in machine.call(state, model, Args((batch,)), span):
        target = objects.fresh(each, span, name="y", plain=True)
        for after, loss in machine.call(each, loss_fn, Args((out, target)), span):
            results += backward_calls.backward_for(machine, after, loss, Args((), span=span), span)
    for each, _ in results:
        if isinstance(optimizer, Ref) and isinstance(each.get(optimizer), OptimizerObj):
            optimizers.method(machine, each, optimizer, "step", Args(), span)
    return results
