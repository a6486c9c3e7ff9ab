"""Which statements there are, how often each comes, and a block of them."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.truth import assignments, changes, control, definitions, gathering, idioms, walks
from benchmarks.truth.pen import Pen
from benchmarks.truth.scope import Scope

Statement = Callable[[Pen, Scope], None]

_CALM: tuple[tuple[Statement, float], ...] = (
    (assignments.compute, 10.0),
    (assignments.alias, 1.0),
    (assignments.cut, 1.0),
    (assignments.detach_here, 0.5),
    (assignments.swap, 0.7),
    (assignments.pair, 0.7),
    (assignments.forget, 0.4),
    (changes.change, 2.5),
    (changes.share, 1.0),
    (control.branch, 2.0),
    (control.choice, 1.0),
    (control.without_grad, 0.8),
    (walks.report, 0.7),
)
_WALKING: tuple[tuple[Statement, float], ...] = (
    (walks.walk, 6.0),
    (walks.plain_walk, 3.0),
    (walks.partial, 2.0),
    (walks.unrelated, 0.3),
    (walks.train, 3.0),
    (walks.step, 0.8),
    (walks.stale, 0.8),
    (walks.together, 3.0),
    (walks.clear, 0.8),
    (changes.update, 1.5),
    (control.loop, 4.0),
    (control.carried, 2.0),
    (control.attempt, 1.0),
    (control.needless, 0.3),
    (control.suppressed, 0.3),
    (gathering.gather, 1.8),
    (gathering.named_terms, 1.0),
    (gathering.yielded, 0.5),
    (definitions.helper, 0.7),
    (definitions.anonymous, 0.4),
    (definitions.procedure, 0.5),
    (definitions.closure, 0.5),
    (definitions.call, 2.0),
    (idioms.record, 0.5),
    (idioms.recursion, 0.3),
    (idioms.descent, 0.4),
    (idioms.guarded, 0.4),
    (idioms.graded, 0.4),
    (idioms.freeze, 0.2),
    (idioms.mapped, 1.5),
    (idioms.shared_state, 0.3),
    (idioms.endless, 0.6),
    (idioms.matched, 0.3),
    (idioms.starred, 0.4),
    (idioms.decorated, 0.3),
    (idioms.queued, 0.4),
    (idioms.recomputed, 0.5),
    (idioms.hopeless, 0.8),
    (idioms.unpacked, 0.4),
)
_UNDER_NO_GRAD = (*_CALM, (changes.update, 1.5), (walks.clear, 0.3), (walks.step, 0.3))


def block(pen: Pen, scope: Scope, size: int) -> None:
    """About `size` statements; none any more where the program's room is used up."""
    options = _CALM if scope.calm else _CALM + _WALKING if scope.grad else _UNDER_NO_GRAD
    for _ in range(size):
        if pen.room <= 0:
            return
        pen.dice.weighted(options)(pen, scope)


CLOSING: tuple[Statement, ...] = (walks.walk, walks.plain_walk, walks.train, gathering.gather, control.loop)
"""What a body may end with."""
