"""What a path did with gradients: walks that add to them, zeroings, steps that use them; and what is odd in their order."""

from __future__ import annotations

from retainlint.incident import Moment, NeverZeroed, ThrownAway
from retainlint.symbolic.detectors.claims import Account, conditions, later_turn
from retainlint.symbolic.state.state import Deed, State
from retainlint.symbolic.state.values import Value
from retainlint.text.source import Span

MOST = 40
"""So many of a path's last deeds are remembered."""


def walked(state: State, moment: Moment) -> None:
    _note(state, Deed("walk", moment))


def hidden(account: Account, state: State, span: Span) -> None:
    """Something may have happened to the gradients that we can't tell."""
    if state.deeds and state.deeds[-1].kind != "other":
        _note(state, Deed("other", state.moment(span)))
    account.call_unseen()


def read(state: State, span: Span) -> None:
    """Somebody looks at a `.grad`, perhaps to change it."""
    if not state.deeds or state.deeds[-1].kind != "other":
        _note(state, Deed("other", state.moment(span)))


def zeroed(account: Account, state: State, owner: Value | None, span: Span, *, to_none: bool) -> None:
    """`owner.zero_grad()`, of an optimiser or (None) of anything else."""
    if to_none:
        account.clear()
    _note(state, Deed("zero" if owner is not None else "other", state.moment(span), owner, _receiver(span)))


def stepped(account: Account, state: State, owner: Value, span: Span) -> None:
    """`owner.step()`: with the gradients of which walk, and what happened to them since?"""
    now = Deed("step", state.moment(span), owner, _receiver(span))
    _order(account, state, now)
    _never_zeroed(account, state, now)
    _note(state, now)


def merged(a: tuple[Deed, ...], b: tuple[Deed, ...]) -> tuple[Deed, ...]:
    """Of two paths that go on as one: what both did, and after that nobody knows."""
    if a == b:
        return a
    length = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    rest = a[length:] or b[length:]
    return (*a[:length], Deed("other", rest[-1].moment))


def begins_afresh(before: State, after: State) -> bool:
    """Whether a call makes no use of gradients that an earlier one has left: each optimiser that steps in it has zeroed its
    own before, and stepped behind a walk; nobody looked at them first; and they hold no graph."""
    known = len(before.deeds)
    if len(after.deeds) > MOST or after.deeds[:known] != before.deeds:
        return False
    if any(walk.creates for walk in after.walks[len(before.walks) :]):
        return False
    walked: dict[Value | None, bool] = {}  # by what was zeroed, whether there was a walk since
    for number, deed in enumerate(after.deeds[known:]):
        if deed.kind == "zero":
            walked[deed.owner] = False
        elif (deed.kind == "step" and not walked.get(deed.owner)) or (deed.kind == "other" and number == 0):
            return False
        elif deed.kind != "step":
            walked = dict.fromkeys(walked, True)
    return True


def repeated(account: Account, before: State, after: State) -> None:
    """A call would be made once more as it was: its steps come behind what zeroes in it."""
    own = after.deeds[len(before.deeds) :]
    if any(deed.kind in ("zero", "other") for deed in own):
        for deed in own:
            if deed.kind == "step":
                account.deny(NeverZeroed, deed.moment.span)


def _note(state: State, deed: Deed) -> None:
    state.deeds = (*state.deeds[-MOST:], deed)


def _order(account: Account, state: State, step: Deed) -> None:
    """Walk, zero, step: the gradients are thrown away. It holds at a step only if it holds whenever it is reached."""
    since: list[Deed] = []
    for deed in reversed(state.deeds):
        if deed.kind == "step" and deed.owner == step.owner:
            break
        since.append(deed)
    zero = next((i for i, deed in enumerate(since) if deed.kind == "zero" and deed.owner == step.owner), None)
    if zero is None:
        return
    if any(deed.kind in ("walk", "other") for deed in since[:zero]):
        account.deny(ThrownAway, since[zero].moment.span)
        return
    walk = next((deed for deed in since[zero:] if deed.kind in ("walk", "other")), None)
    if walk is None or walk.kind == "other":
        return
    place, zeroing = walk.moment.span, since[zero]
    incident = ThrownAway(place, zeroing.moment, step.moment.span, step.text, conditions=conditions(state))
    account.claim(incident, settled=True)


def _never_zeroed(account: Account, state: State, step: Deed) -> None:
    """Steps of one optimiser in two turns, walks between them, and nothing that zeroes."""
    walk: Deed | None = None
    clean = True
    for deed in reversed(state.deeds):
        clean &= deed.kind not in ("zero", "other")
        walk = deed if deed.kind == "walk" else walk
        if deed.kind == "step" and deed.owner == step.owner and deed.moment.span == step.moment.span:
            turn = later_turn(deed.moment.turns, step.moment.turns)
            if not clean:
                account.deny(NeverZeroed, step.moment.span)
            elif turn is not None and walk is not None:
                told = NeverZeroed(step.moment, walk.moment.span, turn.loop, step.text, conditions=conditions(state))
                account.claim(told)
            return


def _receiver(span: Span) -> str:
    return span.text.rpartition("(")[0].rpartition(".")[0].strip()
