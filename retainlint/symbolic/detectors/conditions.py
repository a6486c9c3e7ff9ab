"""What a path has chosen, in the words of the program, and what of it holds by default or anew in each iteration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeGuard

from retainlint.incident import Condition, Moment
from retainlint.startup.records import replace
from retainlint.symbolic.detectors.holders import later
from retainlint.symbolic.models.python import options
from retainlint.symbolic.models.torch import names
from retainlint.symbolic.solver.intervals import is_measured
from retainlint.symbolic.state.state import MIXED, BackwardRecord, Choice, State
from retainlint.symbolic.state.values import Const, Method, Ref, Symbol, TensorObj, Term, Tuple, UnknownObj, Value


def loop_begun(freed: Moment, reused: Moment) -> int:
    """When the loop began of which one turn freed what a later one needs; 0 if it is none, or nobody knows."""
    further = later(freed, reused)
    return further.begun if further is not None else 0


def since_begun(state: State, since: int, keeps: Value | None) -> tuple[Condition, ...]:
    """What the path has chosen; with that which is asked anew in each turn of the loop that began then, and what goes into
    the flag by which a backward pass keeps its graph."""
    flag = {*_parts(keeps)} if keeps is not None else set()
    return tuple(
        replace(condition, fleeting=is_fleeting(state, choice.term, since), keeps=choice.term in flag)
        for choice, condition in zip(state.choices, chosen(state), strict=True)
    )


def _parts(value: Value) -> Iterator[Value]:
    """A value, and what it is computed of."""
    yield value
    for each in value.args if isinstance(value, Term) else ():
        yield from _parts(each)


def is_fleeting(state: State, value: Value, since: int) -> bool:
    """Whether a value comes from something unseen that was made since, and isn't read off what was there before."""
    match value:
        case Term(op="not", args=args):
            return is_fleeting(state, args[0], since)
        case Term() if MIXED in state.imprecise and _is_counted(value):
            return bool(since)
        case Term(args=args) | Tuple(items=args):
            return bool(since) and any(is_fleeting(state, each, since) for each in args)
        case Method(obj=obj):
            return is_fleeting(state, obj, since)
        case Ref(id):
            is_of_loop = id > since and not _is_read(state, value, since)
            return bool(since) and (is_of_loop or id in state.base.weak_cuts)
    return False


def is_asked_anew(state: State, first: BackwardRecord, second: BackwardRecord) -> bool:
    """Whether an iteration has chosen that the first backward pass keeps no graph by comparing two things that nobody sees, or a
    number of its own that is no counter, and the later one compares others: `key != last`."""
    then, now = first.backward_pass.moment, second.backward_pass.moment
    if later(then, now) is None or then.span != now.span or first.keeps == second.keeps:
        return False
    return any(
        each.condition.iterations == then.iterations and each.condition.span in then.span and _is_of_two(each.term)
        for each in state.choices
    )


def is_of_a_made_key(state: State, begun: int, now: Moment) -> bool:
    """Whether an iteration has chosen that a dict has a key which it has made by calls that nobody sees: a date, a digest."""
    return any(
        each.answer and each.term.op == "in" and _is_made(state, each.term.args[0], begun)
        for each in state.choices
        if isinstance(each.term, Term) and each.condition.iterations == now.iterations
    )


def _is_made(state: State, key: Value, begun: int) -> bool:
    """Whether a call has made it, or it is what such a thing made since a loop began holds, or has such a part."""
    if isinstance(key, Tuple):
        return any(_is_made(state, each, begun) for each in key.items)
    if isinstance(key, Term):
        return any(_is_made(state, each, begun) for each in key.args)
    held = state.get(key)
    if not isinstance(held, UnknownObj) or not isinstance(key, Ref) or held.fed:
        return False
    owner = _owner(state, key, set())
    return held.returned or (owner is not None and owner > begun and _is_made(state, Ref(owner), begun))


def _is_of_two(value: Value) -> bool:
    if not isinstance(value, Term) or value.op not in ("==", "is", "<", "<="):
        return False
    is_apart = value.op in ("==", "is") and all(isinstance(each, Ref) for each in value.args)
    return is_apart or any(isinstance(each, Symbol) and not each.loop for each in value.args)


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
            if isinstance(held, UnknownObj) and id not in but and value in held.leading.values()
        ),
        None,
    )


def chosen(state: State) -> tuple[Condition, ...]:
    """What a path has chosen: `mode == "train"` says as well that it isn't "test"; and of two options that are alike by
    default one has to be other than that, if they were answered otherwise."""
    said = {each.term.args[0]: each for each in state.choices if each.answer and _is_equality(each.term)}
    found = [_condition(state, each, said) for each in state.choices]
    asked: dict[Value, bool] = {}
    for at, each in enumerate(state.choices):
        term = options.by_default(state, each.term)
        if not isinstance(term, Const) and asked.setdefault(term, each.answer) is not each.answer:
            found[at] = replace(found[at], by_default=False)
    return tuple(found)


def _condition(state: State, choice: Choice, said: Mapping[Value, Choice]) -> Condition:
    """What a path has chosen, what kind of question that answers, and what says so as well."""
    found = replace(choice.condition, measured=True) if is_measured(choice.term) else choice.condition
    is_alike = (
        isinstance(choice.term, Term) and choice.term.op == "==" and choice.answer
    )  # as its program expects of it
    found = replace(found, described=True) if not is_alike and _is_described(state, choice.term) else found
    if (
        not (choice.answer or found.item)
        and _is_equality(choice.term)
        and (other := said.get(choice.term.args[0])) is not None
    ):
        found = replace(found, implied=other.condition.span)
    return found


_COUNTING = {"item", "__float__", "__int__", "__format__", "numel", "nelement", "__len__"}

_DESCRIBING = names.TOLD - {"retains_grad"} | names.NUMBERS - _COUNTING


def _is_described(state: State, value: Value) -> bool:
    """Whether it is asked what a tensor that has a graph is like, its type, shape or place: torch knows, and the program does."""
    match value:
        case Term(op="dim", args=(Const(),)):
            return True
        case Term(op=op, args=(Ref() as asked,)) if op in _DESCRIBING:
            held = state.get(asked)
            return isinstance(held, TensorObj) and held.edge is not None
        case Term(args=args):
            return any(_is_described(state, each) for each in args)
    return False


def _is_equality(term: Value) -> TypeGuard[Term]:
    return isinstance(term, Term) and term.op == "==" and isinstance(term.args[1], Const)


def of_loop(freed: Moment, reused: Moment) -> tuple[Condition, ...]:
    """That a loop makes another iteration, where by the default of an option it doesn't."""
    further = later(freed, reused)
    if further is None or further.by_default:
        return ()
    number = further.number
    return (
        Condition(further.loop, True, iterations=reused.iterations, iteration=number, by_default=False, chooses=True),
    )
