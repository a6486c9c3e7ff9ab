"""Functions whose results are kept for the same arguments: `lru_cache`, and what a call of one gives."""

from __future__ import annotations

import functools

from retainlint.symbolic.solver import terms
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import (
    Bound,
    Const,
    DictObj,
    External,
    Partial,
    Ref,
    Symbol,
    Term,
    Tuple,
    Value,
    Wrapped,
)
from retainlint.text.source import Span

_MOST = functools.lru_cache(len).cache_parameters()["maxsize"]
"""So many results a function keeps whose decorator says nothing of it."""


def made(state: State, path: str, args: Args) -> Value:
    """`lru_cache(function)`, or with options what makes such a thing of one."""
    options = tuple(each for each in args.pos if isinstance(each, Const))
    decorator = Partial(External(path), options, args.named)
    func = next((each for each in args.pos if not isinstance(each, Const)), None)
    if func is None:
        return decorator
    return remembering(state, decorator if options or args.named else External(path), func)


def remembering(state: State, decorator: External | Partial, func: Value) -> Wrapped:
    """A function with a memory for as many results as `functools.lru_cache`, or its like, was asked for."""
    asked: Value = Const(None)
    if isinstance(decorator, Partial):
        asked = dict(decorator.kwargs).get("maxsize", next(iter(decorator.args), Const(_MOST)))
    elif decorator.path.endswith("lru_cache"):
        asked = Const(_MOST)
    most = asked.value if isinstance(asked, Const) and isinstance(asked.value, int) else None
    return Wrapped("cache", func, state.new(DictObj({})), most=most)


def call(machine: Machine, state: State, func: Wrapped, args: Args, span: Span) -> Results:
    """A cached function: the same arguments give the same value, graph and all."""
    key, memo = Tuple(args.all), func.memo
    held = state.get(memo) if memo is not None else None
    if isinstance(held, DictObj) and key in held.items:
        if func.most == len(held.items) and isinstance(memo, Ref):  # which of them goes next is told by their last use
            items = {each: value for each, value in held.items.items() if each != key}
            state.set(memo, DictObj({**items, key: held.items[key]}))
        return [(state, held.items[key])]
    found: Results = []
    kept = list(held.items.items())[-1] if isinstance(held, DictObj) and held.items else None
    if kept is not None and _may_be(key, kept[0]):  # another number, for all that is known: perhaps that of before
        asked, again = Term("==", (key, kept[0])), state.fork()
        if state.truths.get(asked) is not False:
            again.truths[asked] = True
            state.truths[asked] = False
            found = [(again, kept[1])]
    results = machine.call(state, func.func, args, span)
    for after, value in results:
        known = after.get(memo) if memo is not None else None
        if isinstance(known, DictObj) and isinstance(memo, Ref):
            items = {**known.items, key: value}
            least = list(items)[: max(len(items) - func.most, 0)] if func.most is not None else ()
            after.set(memo, DictObj({each: kept for each, kept in items.items() if each not in least}))
    return [*found, *results]


def clear(state: State, func: Value) -> bool:
    """Forget what is kept of a function, or of a method; False if nothing is."""
    func = func.func if isinstance(func, Bound) else func
    if not isinstance(func, Wrapped) or not isinstance(func.memo, Ref):
        return False
    state.set(func.memo, DictObj({}))
    return True


def _may_be(key: Tuple, other: Value) -> bool:
    """Whether the arguments of two calls may be the same: numbers of which one isn't known, and what else is equal."""
    if not isinstance(other, Tuple) or len(other.items) != len(key.items):
        return False
    pairs = [(a, b) for a, b in zip(key.items, other.items, strict=True) if a != b]
    return all(isinstance(a, Term | Symbol) or isinstance(b, Term | Symbol) for a, b in pairs) and all(
        terms.is_scalar(each) for pair in pairs for each in pair
    )
