"""What is odd in the order of backward passes, zeroings and steps: gradients that are thrown away, or never zeroed."""

from __future__ import annotations

from retainlint.incident import NeverZeroed, ThrownAway
from retainlint.symbolic.detectors.claims import Claims, conditions, later_iteration
from retainlint.symbolic.state.state import GradientEvent, State
from retainlint.symbolic.state.values import OptimizerObj, TensorObj


def stepped(claims: Claims, state: State, step: GradientEvent) -> None:
    """With the gradients of which backward pass was stepped, and what happened to them since?"""
    _order(claims, state, step)
    _never_zeroed(claims, state, step)


def _order(claims: Claims, state: State, step: GradientEvent) -> None:
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
        claims.deny(ThrownAway, since[zero].moment.span)
        return
    before = (event for event in since[zero:] if event.kind in ("walk", "other"))
    backward_pass = next((event for event in before if event.kind == "other" or _reaches(state, event, step)), None)
    if backward_pass is None or backward_pass.kind == "other":
        return
    place, zeroing = backward_pass.moment.span, since[zero]
    incident = ThrownAway(place, zeroing.moment, step.moment.span, step.text, conditions=conditions(state))
    claims.claim(incident, settled=True)


def _reaches(state: State, backward_pass: GradientEvent, step: GradientEvent) -> bool:
    """Whether a backward pass may have given gradients to what an optimiser owns."""
    held = state.get(step.owner) if step.owner is not None else None
    record = next((r for r in state.backward_passes if r.backward_pass.moment == backward_pass.moment), None)
    if record is None or not isinstance(held, OptimizerObj) or held.params is None or held.open:
        return True
    owned = [state.get(each) for each in held.params]
    return any(not isinstance(each, TensorObj) or (each.edge and each.edge.node in record.reach) for each in owned)


def _never_zeroed(claims: Claims, state: State, step: GradientEvent) -> None:
    """Steps of one optimiser in two turns, walks between them, and nothing that zeroes."""
    backward_pass: GradientEvent | None = None
    clean = True
    for event in reversed(state.gradient_events):
        clean &= event.kind not in ("zero", "other")
        backward_pass = event if event.kind == "walk" else backward_pass
        if event.kind == "step" and event.owner == step.owner and event.moment.span == step.moment.span:
            iteration = later_iteration(event.moment.iterations, step.moment.iterations)
            if not clean:
                claims.deny(NeverZeroed, step.moment.span)
            elif iteration is not None and backward_pass is not None:
                told = NeverZeroed(
                    step.moment, backward_pass.moment.span, iteration.loop, step.text, conditions=conditions(state)
                )
                claims.claim(told)
            return
