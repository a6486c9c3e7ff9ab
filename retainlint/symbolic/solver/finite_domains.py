"""Which of a few values an option is: what a path has chosen of that, and what all paths know that were merged."""

from __future__ import annotations

from retainlint.symbolic.state import limits
from retainlint.symbolic.state.path_condition import linear
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import Const, External, Ref, Term, Tuple, UnknownObj, Value


def shared(a: State, b: State) -> dict[Value, bool]:
    """What both paths know together: an option is `"sum"` by one and `"mean"` by the other, so it is nothing else."""
    ours = _texts(a)
    theirs = _texts(b) if ours else {}
    found: dict[Value, bool] = {}
    for option in filter(theirs.__contains__, ours):
        texts = tuple(sorted(ours[option] | theirs[option]))
        if 1 < len(texts) <= limits.TEXT_CHOICES:
            found[Term("among", (option, Tuple(tuple(map(Const, texts)))))] = True
    return found


def decide(state: State, asked: Term) -> bool | None:
    """Whether an option is one of some values, or that one; None if it may be another one of those that are left."""
    option, wanted = asked.args[0], _values(asked)
    if wanted is None:
        return None
    left: frozenset[Value] | None = None
    excluded: frozenset[Value] = frozenset()
    for known, truth in state.truths.about(linear(option)[0]):
        if known.op in ("==", "among") and known.args[0] == option:
            values = _values(known)
            if values is None:
                continue
            if truth:
                left = values if left is None else left & values
            else:
                excluded |= values
    if left is None:
        return False if wanted <= excluded else None
    left -= excluded
    return True if left <= wanted else None if left & wanted else False


def is_consistent(state: State) -> bool:
    """Whether a path gives one answer to each question what an option is. Where it was merged with others it may have
    forgotten that it has answered before; an option is the same in every turn."""
    answers: dict[Value, bool] = {}
    return all(
        answers.setdefault(choice.term, state.truths.get(choice.term, choice.answer)) is choice.answer
        for choice in state.choices
        if asks(choice.term) or _is_in_option(state, choice.term)
    )


def asks(term: Value) -> bool:
    """Whether a condition asks of one value which text it is, or which of some."""
    if not (isinstance(term, Term) and term.op in ("==", "among") and isinstance(term.args[0], Ref | External)):
        return False
    values = _values(term)
    return values is not None and all(map(_is_text, values))


def _is_in_option(state: State, term: Value) -> bool:
    """Whether a condition asks if a text is in one value of which no item has that name, that a path may have set."""
    if not (isinstance(term, Term) and term.op == "in" and isinstance(term.args[0], Const) and _is_text(term.args[0])):
        return False
    held = state.get(term.args[1])
    return isinstance(held, UnknownObj) and f"[{term.args[0].value!r}]" not in held.attrs


def _is_text(value: Value) -> bool:
    return isinstance(value, Const) and isinstance(value.value, str)


def _values(known: Term) -> frozenset[Value] | None:
    """The values of which an option is one, by an answered condition; None if nobody knows one of them."""
    value = known.args[1]
    if known.op == "among" and isinstance(value, Tuple):
        return frozenset(value.items)
    return frozenset((value,)) if isinstance(value, Const) else None


def _texts(state: State) -> dict[Value, frozenset[str]]:
    found: dict[Value, frozenset[str]] = {}
    for known, truth in state.truths.items():
        if not truth or type(known) is not Term or known.op not in ("==", "among"):
            continue
        option, text = known.args
        if known.op == "among" and isinstance(text, Tuple):
            if texts := frozenset(
                each.value for each in text.items if isinstance(each, Const) and isinstance(each.value, str)
            ):
                found.setdefault(option, texts)
        elif isinstance(text, Const) and isinstance(text.value, str):
            found[option] = frozenset((text.value,))
    return found
