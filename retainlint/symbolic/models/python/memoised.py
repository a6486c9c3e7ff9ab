"""Functions whose results are kept for the same arguments: `lru_cache`, and what a call of one gives."""

from __future__ import annotations

from retainlint.symbolic.solver import terms
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import Const, DictObj, External, Partial, Ref, Symbol, Term, Tuple, Value, Wrapped
from retainlint.text.source import Span


def made(state: State, path: str, args: Args) -> Value:
    """`lru_cache(function)`, or with options what makes such a thing of one."""
    if args.pos and not isinstance(args.pos[0], Const):
        return Wrapped("cache", args.pos[0], state.new(DictObj({})))
    return Partial(External(path), (), ())


def call(machine: Machine, state: State, inner: Value, memo: Value, args: Args, span: Span) -> Results:
    """A cached function: the same arguments give the same value, graph and all."""
    key = Tuple(args.all)
    held = state.get(memo)
    if isinstance(held, DictObj) and key in held.items:
        return [(state, held.items[key])]
    found: Results = []
    kept = list(held.items.items())[-1] if isinstance(held, DictObj) and held.items else None
    if kept is not None and _may_be(key, kept[0]):  # another number, for all that is known: perhaps that of before
        asked, again = Term("==", (key, kept[0])), state.fork()
        if state.truths.get(asked) is not False:
            again.truths[asked] = True
            state.truths[asked] = False
            found = [(again, kept[1])]
    results = machine.call(state, inner, args, span)
    for after, value in results:
        known = after.get(memo)
        if isinstance(known, DictObj) and isinstance(memo, Ref):
            after.set(memo, DictObj({**known.items, key: value}))
    return [*found, *results]


def _may_be(key: Tuple, other: Value) -> bool:
    """Whether the arguments of two calls may be the same: numbers of which one isn't known, and what else is equal."""
    if not isinstance(other, Tuple) or len(other.items) != len(key.items):
        return False
    pairs = [(a, b) for a, b in zip(key.items, other.items, strict=True) if a != b]
    return all(isinstance(a, Term | Symbol) or isinstance(b, Term | Symbol) for a, b in pairs) and all(
        terms.is_scalar(each) for pair in pairs for each in pair
    )
