"""What a path has chosen of conditions; its comparisons are at hand by what they compare."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import compress, count, islice
from operator import is_not
from typing import TypeAlias

from retainlint.symbolic.state import limits
from retainlint.symbolic.state.values import Const, Term, Value

Linear: TypeAlias = "tuple[Value | None, int]"
"""A number as its unknown part, None where it is known, and what is added to that."""

COMPARED = ("==", "<", "<=", "among")


def linear(value: Value) -> Linear:
    """A number as (unknown base, known offset); the base is None where the number is known."""
    if type(value) is Const:
        if isinstance(value.value, int):
            return None, int(value.value)
    elif type(value) is Term and value.op == "+":
        last = value.args[1]
        if type(last) is Const and isinstance(last.value, int):
            return value.args[0], last.value
    return value, 0


def sides(term: Term) -> tuple[Linear, Linear]:
    """Both sides of a comparison."""
    if term.sides is None:
        term.sides = linear(term.args[0]), linear(term.args[1])
    return term.sides


_Places: TypeAlias = "dict[Value | None, dict[int, tuple[Term, bool]]]"
"""All comparisons with their places in the order, by what stands on either side."""


class Truths(dict[Value, bool]):
    """Conditions and their answers, in the order in which they were chosen. They are changed one by one."""

    __slots__ = ("_late", "_places")

    def __init__(self, known: Mapping[Value, bool] | None = None) -> None:
        dict.__init__(self, known or ())
        self._places: _Places | None = None
        self._late: tuple[Term, ...] = ()  # what was added behind those in the places
        if type(known) is Truths:
            self._places, self._late = known._places, known._late

    def __setitem__(self, term: Value, truth: bool) -> None:
        if type(term) is Term and term.op in COMPARED and self._places is not None:
            if len(self._late) >= limits.UNSORTED_COMPARISONS or term in self:
                self._places = None
            else:
                self._late += (term,)
        dict.__setitem__(self, term, truth)

    def __delitem__(self, term: Value) -> None:
        if type(term) is Term and term.op in COMPARED:
            self._places = None
        super().__delitem__(term)

    def about(self, *bases: Value | None) -> Iterable[tuple[Term, bool]]:
        """The comparisons, with several values too, one side of which is one of some values, or that and a number; in
        their order."""
        places = self._compared() if self._places is None else self._places
        found = [known for base in bases if (known := places.get(base)) is not None]
        late = [(term, self[term]) for term in self._late if _is_about(term, bases)] if self._late else []
        if not found:
            return late
        if len(found) == 1:
            return [*found[0].values(), *late] if late else found[0].values()
        both = found[0] | found[1]
        return [*(both[place] for place in sorted(both)), *late]

    def _compared(self) -> _Places:
        places: _Places = {}
        for place, (term, truth) in enumerate(self.items()):
            if type(term) is Term and term.op in COMPARED:
                for base, _ in sides(term):
                    if base is not None:
                        places.setdefault(base, {})[place] = term, truth
        self._places, self._late = places, ()
        return places

    def apart(self, other: Truths) -> tuple[dict[Value, bool], dict[Value, bool]]:
        """What each of two paths has chosen that the other hasn't, or otherwise. What they chose before they parted
        are the same objects in both, which is cheap to tell."""
        equivalent = min(begun_equivalent(self, other), begun_equivalent(self.values(), other.values()))
        ours, theirs = self._behind(equivalent), other._behind(equivalent)
        return _without(ours, theirs), _without(theirs, ours)

    def _behind(self, place: int) -> dict[Value, bool]:
        """What was chosen from a place in the order on, which is the least part."""
        return dict([*islice(reversed(self.items()), len(self) - place)][::-1])


def _is_about(term: Term, bases: tuple[Value | None, ...]) -> bool:
    (left, _), (right, _) = sides(term)
    return (left is not None and left in bases) or (right is not None and right in bases)


def _without(one: dict[Value, bool], other: dict[Value, bool]) -> dict[Value, bool]:
    return {term: truth for term, truth in one.items() if other.get(term) is not truth}


def begun_equivalent(a: Collection[object], b: Collection[object]) -> int:
    """How many objects two collections begin with that are the same."""
    return next(compress(count(), map(is_not, a, b)), min(len(a), len(b)))
