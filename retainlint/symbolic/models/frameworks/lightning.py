"""Lightning's modules and trainers: who calls their steps, what is done with the loss, and the optimisers that they configure."""

from __future__ import annotations

from collections.abc import Iterator

from retainlint import ir
from retainlint.incident import Iteration
from retainlint.startup.records import replace
from retainlint.symbolic.models.frameworks import hugging_face
from retainlint.symbolic.models.torch import backward_calls
from retainlint.symbolic.models.torch import optimizers as stepping
from retainlint.symbolic.models.unknown import objects
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.classes import ancestry, class_of, find
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
    Instance,
    ListObj,
    OptimizerObj,
    Ref,
    TensorObj,
    Tuple,
    UnknownObj,
    Value,
    Wrapped,
)
from retainlint.text.source import Span


def stepped(machine: Machine, state: State, receiver: Value, code: ir.Code, number: int) -> None:
    """The steps of the optimisers that `configure_optimizers` surely makes; of several, with turns of their own, of this
    turn's. A trainer that accumulates gradients steps later."""
    configure = find(state, receiver, "configure_optimizers")
    if state.flow is not None or not isinstance(configure, Closure):
        return
    apart = state.fork()
    results = optimizers(machine, apart, receiver, code.span)
    if len(results) != 1 or results[0][0].flow is not None:
        return
    after, value = results[0]
    made = [after.get(each) for each in (value.items if isinstance(value, Tuple) else (value,))]
    in_iterations = any(param.name == "optimizer_idx" for param in code.params)
    for held in made[number - 1 : number] if in_iterations else made:
        if isinstance(held, OptimizerObj) and held.params is not None:
            known = tuple(param for param in held.params if not isinstance(param, Ref) or param.id in state.heap)
            stepping.step(machine, state, replace(held, params=known), returned(configure.code, 1))


def returned(code: ir.Code, number: int) -> Span:
    """The place where a step returns its loss; of several, that of this turn."""
    spans = sorted(
        {each.span for each in ir.walk(code.body) if isinstance(each, ir.Return)}, key=lambda span: span.start
    )
    return spans[min(number, len(spans)) - 1 if len(spans) == 2 else -1] if spans else code.span


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
        if isinstance(now, Instance):
            each.set(receiver, replace(now, notes=replace(now.notes, optimizers=one)))  # type: ignore[arg-type]
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


_STEPS = {"training_step": "LightningModule", "compute_loss": "Trainer"}
"""Methods whose result the framework walks, and what the class is derived from."""

_AT_FIRST = ("setup", "on_fit_start", "on_train_start", "on_train_epoch_start")

_AT_LAST = ("on_train_epoch_end", "on_train_end")

_BEFORE = ("on_train_batch_start", "on_batch_start")

_AFTER = ("on_before_zero_grad", "on_after_backward", "on_train_batch_end", "on_batch_end")


NOTHING = Args()


def is_step(state: State, receiver: Value, name: str) -> bool:
    """Whether the framework walks what this method returns: with automatic optimisation, and no walk of its own."""
    base = _STEPS.get(name)
    cls = class_of(state, receiver)
    if base is None or cls is None:
        return False
    bases = [b.path for b in ancestry(state, cls) if isinstance(b, External)]
    if not any(_is_base(path, base) for path in bases):
        return False
    if base == "Trainer":
        return find(state, receiver, "training_step") is None
    held = state.get(receiver)
    if isinstance(held, Instance) and held.attrs.get("automatic_optimization") == FALSE:
        return False
    method, made = find(state, receiver, name), state.get(cls)
    by_hand = isinstance(method, Closure) and any("backward" in each.name for each in method.code.facts.calls)
    by_hand |= isinstance(made, ClassObj) and "automatic_optimization" in made.code.facts.names
    return not by_hand and find(state, receiver, "automatic_optimization") is None


def _is_base(path: str, name: str) -> bool:
    """Whether a class of a framework, or a trainer made of it, is the one meant."""
    if path.startswith(("transformers.", "trl.")):
        return path.endswith(name)
    return path.rpartition(".")[2] == name and not (path.startswith("torch.") and name == "Trainer")


def is_fitted(state: State, value: Value) -> bool:
    """Whether a value is a Lightning module of the program, which a trainer's `fit` can train."""
    cls = class_of(state, value)
    bases = [base.path for base in ancestry(state, cls) if isinstance(base, External)] if cls is not None else []
    lightning = any(path.rpartition(".")[2] == "LightningModule" for path in bases)
    return lightning and isinstance(find(state, value, "training_step"), Closure)


def is_trained(state: State, value: Value) -> bool:
    """Whether a value is a trainer of the program's own, derived from Hugging Face's, that walks its losses."""
    if isinstance(find(state, value, "compute_loss"), Closure) and is_step(state, value, "compute_loss"):
        return True
    if not hugging_face.is_derived(state, value):
        return False
    seen = isinstance(state.get(hugging_face.model_of(state, value)), Instance)
    return seen or isinstance(find(state, value, "training_step"), Closure)


def fit(machine: Machine, state: State, model: Value, span: Span, callbacks: tuple[Value, ...] = ()) -> Results:
    """`trainer.fit(model)`: hooks, its own and those of callbacks that we know, and two batches of the model."""
    states = _hooks(machine, [state], model, _AT_FIRST, span)
    for number in (1, 2):
        states = _called_back(machine, states, model, callbacks, _BEFORE, span)
        states = _batch(machine, states, model, "training_step", number, span)
        states = _called_back(machine, states, model, callbacks, _AFTER, span)
    return [(each, NONE) for each in _hooks(machine, states, model, _AT_LAST, span)]


def train(machine: Machine, state: State, trainer: Value, span: Span) -> Results:
    """`trainer.train()`: two batches of a trainer that we know."""
    states = [state]
    own = (name for name in _STEPS if find(state, trainer, name) is not None)
    name = next(own, "")
    for number in (1, 2):
        states = _batch(machine, states, trainer, name, number, span)
    return [(each, NONE) for each in states]


def _batch(machine: Machine, states: list[State], receiver: Value, name: str, number: int, span: Span) -> list[State]:
    """One batch on each state; with manual optimisation, the step alone. Without a step of its own, a trainer walks the
    loss that its model returns."""
    found: list[State] = []
    for each in states:
        model = hugging_face.model_of(each, receiver)
        method = find(each, receiver, name) if name else find(each, model, "forward")
        if each.flow is not None or not isinstance(method, Closure):
            found.append(each)
            continue
        code, outer = method.code, each.iterations
        each.iterations = (*outer, Iteration(code.span, number, is_call=True, depth=len(each.calls)))
        given = Args() if model == NONE else Args((model, objects.fresh(each, code.span, name="inputs")))
        if not name:
            results = hugging_face.default_loss(machine, each, model, Args(), code.span)
            done = _backpropagated(machine, results, receiver, code, number)
        elif is_step(each, receiver, name):
            done = step(machine, each, receiver, method, code, number, given)
        else:
            done = machine.call(each, Bound(method, receiver), given, code.span)
        for after, _ in done:
            after.iterations = outer
            found.append(after)
    return machine.prune(found, span)


def _called_back(
    machine: Machine,
    states: list[State],
    model: Value,
    callbacks: tuple[Value, ...],
    names: tuple[str, ...],
    span: Span,
) -> list[State]:
    for callback in callbacks:
        for name in names:
            following: list[State] = []
            for each in states:
                hook = find(each, callback, name) if each.flow is None else None
                if hook is None:
                    following.append(each)
                    continue
                given = Args((objects.fresh(each, span, name="trainer"), model))
                following += [after for after, _ in machine.call(each, Bound(hook, callback), given, span)]
            states = following
    return states


def step(
    machine: Machine,
    state: State,
    receiver: Value,
    method: Value,
    code: ir.Code,
    number: int,
    given: Args = NOTHING,
) -> Results:
    """One batch, as the framework runs it: hooks, the step, the walk of what it returned, hooks."""
    begun = _hooks(machine, [state], receiver, _BEFORE, code.span)
    args = _arguments(method, number) if given == NOTHING else given
    results = [way for each in begun for way in machine.call(each, Bound(method, receiver), args, code.span)]
    return _backpropagated(machine, results, receiver, code, number)


def _arguments(func: Value, number: int) -> Args:
    """What a trainer says of its own: which optimiser's turn it is."""
    inner = func.func if isinstance(func, Wrapped) else func
    if isinstance(inner, Closure) and any(param.name == "optimizer_idx" for param in inner.code.params):
        return Args(named=(("optimizer_idx", Const(number - 1)),), open=True)
    return Args()


def _backpropagated(machine: Machine, results: Results, receiver: Value, code: ir.Code, number: int) -> Results:
    """Walk what the step returned, as the framework does, and run what comes behind."""
    found: Results = []
    for state, value in results:
        loss = _loss(state, value)
        if state.flow is not None or loss is None:
            found.append((state, value))
            continue
        own = find(state, receiver, "backward")
        if own is not None:
            backpropagated = [s for s, _ in machine.call(state, Bound(own, receiver), Args((loss,)), code.span)]
        else:
            span = returned(code, number)
            args = Args((), (), False, (), span)
            backpropagated = [s for s, _ in backward_calls.backward_for(machine, state, loss, args, span)]
        for each in backpropagated:
            stepped(machine, each, receiver, code, number)
        found += [(s, value) for s in _hooks(machine, backpropagated, receiver, _AFTER, code.span)]
    return found


def _hooks(machine: Machine, states: list[State], receiver: Value, names: tuple[str, ...], span: Span) -> list[State]:
    for name in names:
        for_this: list[State] = []
        for state in states:
            hook = find(state, receiver, name) if state.flow is None else None
            if hook is None:
                for_this.append(state)
            else:
                for_this += [s for s, _ in machine.call(state, Bound(hook, receiver), Args(), span)]
        states = for_this
    return states


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
