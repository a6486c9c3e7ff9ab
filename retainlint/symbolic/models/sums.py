"""`sum` of what may be tensors, lists, or objects that say themselves how they are added."""

from __future__ import annotations

from collections.abc import Sequence

from retainlint.source import Span
from retainlint.symbolic import arithmetic, iteration
from retainlint.symbolic.classes import find
from retainlint.symbolic.context import Args, Machine, Results
from retainlint.symbolic.models import operations, sequences, unknown
from retainlint.symbolic.state import State
from retainlint.symbolic.values import Bound, Const, External, Instance, ListObj, Term, UnknownObj, Value


def total(machine: Machine, state: State, args: Args, span: Span) -> Results:
    """`sum(losses)`: a chain of additions, which save nothing."""
    source = args.get(0, "iterable")
    known = iteration.known_items(machine, state, source, span)
    if known is None:
        held = state.get(source)
        known = list(held.items) if isinstance(held, ListObj) else [iteration.any_item(machine, state, source, span)]
        if isinstance(held, UnknownObj):
            return [(state, unknown.called(machine, state, External("builtins.sum"), args, span))]
    start = args.get(1, "start", Const(0))
    if any(isinstance(state.get(each), Instance) for each in (start, *known)):
        return _added(machine, state, (start, *known), span)
    known = known if arithmetic.is_scalar(start) else [start, *known]
    if not known:
        return [(state, start)]
    if (whole := sequences.chained(state, known)) is not None:
        return [(state, whole)]
    if all(map(arithmetic.is_scalar, known)):
        return [(state, Term("sum", tuple(known)[:4]))]
    made = operations.operate(machine, state, "add", known, span, spans=args.spans[:1] * len(known))
    return [(state, made)]


def _added(machine: Machine, state: State, values: Sequence[Value], span: Span) -> Results:
    """The sum of objects that say themselves how they are added."""
    results: Results = [(state, values[0])]
    for value in values[1:]:
        ways: Results = []
        for each, total in results:
            for obj, other, name in ((total, value, "__add__"), (value, total, "__radd__")):
                method = find(each, obj, name) if isinstance(each.get(obj), Instance) else None
                if method is not None:
                    ways += machine.call(each, Bound(method, obj), Args((other,)), span)
                    break
            else:
                ways.append((each, unknown.fresh(each, span)))
        results = ways
    return results
