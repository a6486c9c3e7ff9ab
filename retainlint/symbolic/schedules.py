"""What is asked anew in each turn of a loop, of things that nobody sees: two such answers may go together."""

from __future__ import annotations

from retainlint.incident import Condition, Moment
from retainlint.records import replace
from retainlint.symbolic.state import MIXED, State
from retainlint.symbolic.values import Const, Method, Ref, Term, Tuple, UnknownObj, Value


def begun(freed: Moment, reused: Moment) -> int:
    """When the loop began of which one turn freed what a later one needs; 0 if it is none, or nobody knows."""
    return next((b.begun for a, b in zip(freed.turns, reused.turns, strict=False) if a != b), 0)


def conditions(state: State, since: int) -> tuple[Condition, ...]:
    """What the path has chosen; with that which is asked anew in each turn of the loop that began then."""
    return tuple(
        replace(choice.condition, fleeting=True) if is_fleeting(state, choice.term, since) else choice.condition
        for choice in state.choices
    )


def is_scheduled(state: State, keeps: Value | None, since: int) -> bool:
    """Whether a walk keeps its graph by what is asked anew in each turn; a truth that is known was chosen before."""
    return keeps is not None and (isinstance(keeps, Const) or is_fleeting(state, keeps, since))


def is_fleeting(state: State, value: Value, since: int) -> bool:
    """Whether a value comes from something unseen that was made since, and isn't read off what was there before."""
    match value:
        case Term(op="not", args=args):
            return is_fleeting(state, args[0], since)
        case Term() if MIXED in state.vague and _is_counted(value):
            return bool(since)
        case Term(args=args) | Tuple(items=args):
            return bool(since) and any(is_fleeting(state, each, since) for each in args)
        case Method(obj=obj):
            return is_fleeting(state, obj, since)
        case Ref(id):
            return bool(since) and id > since and not _is_read(state, value, since)
    return False


def _is_counted(value: Term) -> bool:
    """Whether numbers are compared, of which one is known."""
    return value.op in ("==", "<", "<=") and any(
        isinstance(arg, Const) and isinstance(arg.value, int) for arg in value.args
    )


def _is_read(state: State, value: Ref, since: int) -> bool:
    """Whether it is an attribute, or an item under a constant, of something unknown that was there before."""
    seen = {value.id}  # unknowns may hold each other
    while (owner := _owner(state, value, seen)) is not None:
        if owner <= since:
            return True
        seen.add(owner)
        value = Ref(owner)
    return False


def _owner(state: State, value: Ref, but: set[int]) -> int | None:
    """The unknown of which a value is an attribute or an item, and that isn't one of some."""
    return next(
        (
            id
            for id, held in state.heap.items()
            if isinstance(held, UnknownObj) and id not in but and value in held.attrs.values()
        ),
        None,
    )
