"""What a path did with gradients: walks that add to them, zeroings, steps that use them; and what is odd in their order."""

from __future__ import annotations

from retainlint.incident import Moment, NeverZeroed, ThrownAway
from retainlint.symbolic.detectors.claims import Claims, conditions, later_iteration
from retainlint.symbolic.state.state import GradientEvent, State
from retainlint.symbolic.state.values import Value
from retainlint.text.source import Span

MOST = 40
"""So many of a path's last deeds are remembered."""


def backpropagated(state: State, moment: Moment) -> None:
    _note(state, GradientEvent("walk", moment))


def hidden(account: Claims, state: State, span: Span) -> None:
    """Something may have happened to the gradients that we can't tell."""
    if state.gradient_events and state.gradient_events[-1].kind != "other":
        _note(state, GradientEvent("other", state.moment(span)))
    account.call_unseen()


def read(state: State, span: Span) -> None:
    """Somebody looks at a `.grad`, perhaps to change it."""
    if not state.gradient_events or state.gradient_events[-1].kind != "other":
        _note(state, GradientEvent("other", state.moment(span)))


def zeroed(account: Claims, state: State, owner: Value | None, span: Span, *, to_none: bool) -> None:
    """`owner.zero_grad()`, of an optimiser or (None) of anything else."""
    if to_none:
        account.clear()
    _note(state, GradientEvent("zero" if owner is not None else "other", state.moment(span), owner, _receiver(span)))


def stepped(account: Claims, state: State, owner: Value, span: Span) -> None:
    """`owner.step()`: with the gradients of which walk, and what happened to them since?"""
    now = GradientEvent("step", state.moment(span), owner, _receiver(span))
    _order(account, state, now)
    _never_zeroed(account, state, now)
    _note(state, now)


def merged(a: tuple[GradientEvent, ...], b: tuple[GradientEvent, ...]) -> tuple[GradientEvent, ...]:
    """Of two paths that go on as one: what both did, and after that nobody knows."""
    if a == b:
        return a
    length = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    rest = a[length:] or b[length:]
    return (*a[:length], GradientEvent("other", rest[-1].moment))


def begins_afresh(before: State, after: State) -> bool:
    """Whether a call makes no use of gradients that an earlier one has left: each optimiser that steps in it has zeroed its
    own before, and stepped behind a walk; nobody looked at them first; and they hold no graph."""
    known = len(before.gradient_events)
    if len(after.gradient_events) > MOST or after.gradient_events[:known] != before.gradient_events:
        return False
    if any(backward_pass.creates for backward_pass in after.backward_passes[len(before.backward_passes) :]):
        return False
    backpropagated: dict[Value | None, bool] = {}  # by what was zeroed, whether there was a walk since
    for number, event in enumerate(after.gradient_events[known:]):
        if event.kind == "zero":
            backpropagated[event.owner] = False
        elif (event.kind == "step" and not backpropagated.get(event.owner)) or (event.kind == "other" and number == 0):
            return False
        elif event.kind != "step":
            backpropagated = dict.fromkeys(backpropagated, True)
    return True


def repeated(account: Claims, before: State, after: State) -> None:
    """A call would be made once more as it was: its steps come behind what zeroes in it."""
    own = after.gradient_events[len(before.gradient_events) :]
    if any(event.kind in ("zero", "other") for event in own):
        for event in own:
            if event.kind == "step":
                account.deny(NeverZeroed, event.moment.span)


def _note(state: State, event: GradientEvent) -> None:
    state.gradient_events = (*state.gradient_events[-MOST:], event)


def _order(account: Claims, state: State, step: GradientEvent) -> None:
    """Walk, zero, step: the gradients are thrown away. It holds at a step only if it holds whenever it is reached."""
    since: list[GradientEvent] = []
    for event in reversed(state.gradient_events):
        if event.kind == "step" and event.owner == step.owner:
            break
        since.append(event)
    zero = next((i for i, event in enumerate(since) if event.kind == "zero" and event.owner == step.owner), None)
    if zero is None:
        return
    if any(event.kind in ("walk", "other") for event in since[:zero]):
        account.deny(ThrownAway, since[zero].moment.span)
        return
    backward_pass = next((event for event in since[zero:] if event.kind in ("walk", "other")), None)
    if backward_pass is None or backward_pass.kind == "other":
        return
    place, zeroing = backward_pass.moment.span, since[zero]
    incident = ThrownAway(place, zeroing.moment, step.moment.span, step.text, conditions=conditions(state))
    account.claim(incident, settled=True)


def _never_zeroed(account: Claims, state: State, step: GradientEvent) -> None:
    """Steps of one optimiser in two turns, walks between them, and nothing that zeroes."""
    backward_pass: GradientEvent | None = None
    clean = True
    for event in reversed(state.gradient_events):
        clean &= event.kind not in ("zero", "other")
        backward_pass = event if event.kind == "walk" else backward_pass
        if event.kind == "step" and event.owner == step.owner and event.moment.span == step.moment.span:
            iteration = later_iteration(event.moment.iterations, step.moment.iterations)
            if not clean:
                account.deny(NeverZeroed, step.moment.span)
            elif iteration is not None and backward_pass is not None:
                told = NeverZeroed(
                    step.moment, backward_pass.moment.span, iteration.loop, step.text, conditions=conditions(state)
                )
                account.claim(told)
            return


def _receiver(span: Span) -> str:
    return span.text.rpartition("(")[0].rpartition(".")[0].strip()
