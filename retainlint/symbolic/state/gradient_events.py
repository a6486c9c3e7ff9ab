"""What a path did with gradients: backward passes that add to them, zeroings, steps that use them."""

from __future__ import annotations

from retainlint.incident import Moment
from retainlint.symbolic.state import events, limits
from retainlint.symbolic.state.protocol import Machine
from retainlint.symbolic.state.state import GradientEvent, State
from retainlint.symbolic.state.values import Value
from retainlint.text.source import Span


def backpropagated(state: State, moment: Moment) -> None:
    _note(state, GradientEvent("walk", moment))


def hidden(machine: Machine, state: State, span: Span, called: str) -> None:
    """Something may have happened to the gradients that we can't tell, in a call of a method or function by this name."""
    if state.gradient_events:
        _looked(state, span, called)
    machine.events.emit(events.OpaqueCall())


def read(state: State, span: Span) -> None:
    """Somebody looks at a `.grad`, perhaps to change it."""
    _looked(state, span, "grad")


def zeroed(machine: Machine, state: State, owner: Value | None, span: Span, *, to_none: bool) -> None:
    """`owner.zero_grad()`, of an optimiser or (None) of anything else."""
    if to_none:
        machine.events.emit(events.GradientsCleared())
    kind = "zero" if owner is not None else "other"
    _note(state, GradientEvent(kind, state.moment(span), owner, _receiver(span), "zero_grad"))


def stepped(machine: Machine, state: State, owner: Value, span: Span) -> None:
    """`owner.step()`."""
    now = GradientEvent("step", state.moment(span), owner, _receiver(span))
    machine.events.emit(events.Step(state, now))
    _note(state, now)


def steps_itself(state: State, owner: Value, span: Span) -> None:
    """`owner.step()` of a class of the program's, which moves the weights by hand: no detector takes it for torch's."""
    _note(state, GradientEvent("step", state.moment(span), owner, _receiver(span)))


def merged(a: tuple[GradientEvent, ...], b: tuple[GradientEvent, ...]) -> tuple[GradientEvent, ...]:
    """Of two paths that go on as one: what both did, and after that nobody knows."""
    if a == b:
        return a
    length = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    rest = a[length:] or b[length:]
    return (*a[:length], GradientEvent("other", rest[-1].moment))


def _looked(state: State, span: Span, called: str) -> None:
    last = state.gradient_events[-1] if state.gradient_events else None
    if last is None or last.kind != "other" or called not in ("", last.called):
        _note(state, GradientEvent("other", state.moment(span), called=called))


def _note(state: State, event: GradientEvent) -> None:
    state.gradient_events = (*state.gradient_events[-limits.GRADIENT_EVENTS :], event)


def _receiver(span: Span) -> str:
    return span.text.rpartition("(")[0].rpartition(".")[0].strip()
