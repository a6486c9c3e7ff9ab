"""Which of a few texts an option is, where each of the paths that were merged had found it to be one of them."""

from __future__ import annotations

from retainlint.symbolic.state import State
from retainlint.symbolic.values import Const, Term, Tuple, Value

_MOST = 8


def shared(a: State, b: State) -> dict[Value, bool]:
    """What both paths know together: an option is `"sum"` by one and `"mean"` by the other, so it is nothing else."""
    ours = _texts(a)
    theirs = _texts(b) if ours else {}
    found: dict[Value, bool] = {}
    for option in ours.keys() & theirs.keys():
        texts = tuple(sorted(ours[option] | theirs[option]))
        if 1 < len(texts) <= _MOST:
            found[Term("among", (option, Tuple(tuple(map(Const, texts)))))] = True
    return found


def decide(state: State, option: Value, asked: Value) -> bool | None:
    """Whether an option is that text; None if it may be another one of those that are left."""
    if not isinstance(asked, Const) or not isinstance(asked.value, str):
        return None
    for known in state.truths:
        if isinstance(known, Term) and known.op == "among" and known.args[0] == option:
            texts = known.args[1]
            assert isinstance(texts, Tuple)
            if asked not in texts.items:
                return False
            left = (each for each in texts.items if state.truths.get(Term("==", (option, each))) is not False)
            return True if all(each == asked for each in left) else None
    return None


def _texts(state: State) -> dict[Value, frozenset[str]]:
    found: dict[Value, frozenset[str]] = {}
    for known, truth in state.truths.items():
        if not truth or not isinstance(known, Term) or known.op not in ("==", "among"):
            continue
        option, text = known.args
        if known.op == "among" and isinstance(text, Tuple):
            found.setdefault(option, frozenset(str(each.value) for each in text.items if isinstance(each, Const)))
        elif isinstance(text, Const) and isinstance(text.value, str):
            found[option] = frozenset((text.value,))
    return found
