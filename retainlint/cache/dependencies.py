"""What was looked up for the sake of checked files, by numbers, and whether it is still as it was."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from retainlint.text.files import NO_LISTINGS, Listings, are_absent

Row: TypeAlias = "tuple[str, str | None, str]"
"""A path, what was there (None for nothing), and its stamp."""

Needs: TypeAlias = "list[int]"
"""Numbers as ranges in their order: the first, and the one behind the last, of each."""


def needs_of(numbers: Iterable[int]) -> Needs:
    needs: Needs = []
    for number in sorted(set(numbers)):
        if needs and needs[-1] == number:
            needs[-1] = number + 1
        else:
            needs += (number, number + 1)
    return needs


def numbers_in(needs: Needs) -> Iterator[int]:
    for each in _ranges(needs):
        yield from each


def _ranges(needs: Needs) -> Iterator[range]:
    return map(range, needs[::2], needs[1::2])


MANY = 16
"""To list a directory takes as long as to ask for so many names in it, or less."""


class Places:
    """The rows, of which those that told of nothing are read by directory: they are most by far. Call `doubt` first.

    Of those in `doubtful` it isn't known yet whether they are as they were; those in `broken` aren't.
    """

    def __init__(self) -> None:
        self._absent: list[tuple[int, str, list[str]]] = []
        self._gone: dict[int, str] = {}
        self._first = 0
        self._rows: list[Row] = []
        self._numbers: dict[tuple[str, str | None], int] = {}
        self.doubtful: set[int] = set()
        self._sound = 0  # none below this number is doubtful
        self.broken: set[int] = set()

    def __len__(self) -> int:
        return self._first + len(self._rows)

    def __getitem__(self, number: int) -> Row:
        if number >= self._first:
            return self._rows[number - self._first]
        if number not in self._gone:
            self._gone = {row: place for group in self._absent for row, place in _spelled(*group)}
        return self._gone[number], None, ""

    @property
    def present(self) -> list[Row]:
        """Among others, all rows of what was there."""
        return self._rows

    def add(self, place: str, state: str | None, stamp: str) -> int:
        """The number of a row, which is entered or given its newest stamp."""
        if not self._numbers:
            self._numbers = {self[number][:2]: number for number in range(len(self))}
        number = self._numbers.setdefault((place, state), len(self))
        if number == len(self):
            self._rows.append((place, state, stamp))
            self.doubtful.add(number)
        elif stamp:
            self.renew(number, stamp)
        return number

    def renew(self, number: int, stamp: str) -> None:
        """Give what was there its newest stamp."""
        place, state, _ = self[number]
        self._rows[number - self._first] = (place, state, stamp)

    def doubt(self, listings: Listings = NO_LISTINGS) -> None:
        """Forget which rows are as they were, but for what `listings` say of what wasn't there."""
        self.broken = set()
        self.doubtful = set(range(self._first, len(self)))
        for start, directory, names in self._absent:
            if not are_absent(directory, names, listings):
                self._gone.update(_spelled(start, directory, names))
                self.doubtful.update(range(start, start + len(names)))
        self._sound = min(self.doubtful, default=0)

    def doubtful_in(self, needs: Needs, listed: Callable[[str], Listings]) -> list[int]:
        """The doubtful ones; `listed` is asked for what is in a directory where many of them weren't."""
        found = self._doubtful_in(needs)
        if len(found) < MANY:
            return found
        self._sift(found, listed)
        return self._doubtful_in(needs)

    def _sift(self, numbers: Iterable[int], listed: Callable[[str], Listings]) -> None:
        """Settle what isn't there by one look at each directory in which at least MANY of these rows were looked for."""
        starts = [start for start, _, _ in self._absent]
        asked = Counter(bisect_right(starts, number) - 1 for number in numbers if number < self._first)
        for start, directory, names in (self._absent[group] for group, count in asked.items() if count >= MANY):
            if are_absent(directory, names, listed(directory)):
                self.doubtful.difference_update(range(start, start + len(names)))

    def settle(self, number: int, holds: bool) -> None:
        self.doubtful.discard(number)
        if not holds:
            self.broken.add(number)

    def _doubtful_in(self, needs: Needs) -> list[int]:
        found: list[int] = []
        if self.doubtful:  # which they mostly are but once, and most ranges lie below any that is
            for last in range(len(needs) - 1, 0, -2):
                if needs[last] <= self._sound:
                    break
                found += self.doubtful.intersection(range(max(needs[last - 1], self._sound), needs[last]))
        return found

    def hold(self, needs: Needs) -> bool:
        """Whether none of these is known to be broken."""
        return not self.broken or all(self.broken.isdisjoint(each) for each in _ranges(needs))

    # -- as JSON ----------------------------------------------------------------------------------------------------

    @classmethod
    def loaded(cls, data: Any) -> Places:
        """What `packed` gave. Raises ValueError or TypeError for anything else."""
        absent, rows = data
        found = cls()
        for directory, names in absent.items():
            found._absent.append((found._first, str(directory), [str(name) for name in names]))
            found._first += len(names)
        found._rows = [(str(place), None if state is None else str(state), str(stamp)) for place, state, stamp in rows]
        return found

    def packed(self, needed: Sequence[Needs]) -> tuple[Any, list[Needs]]:
        """The rows that are needed as what can be written, and the needs in the numbers that they have there.

        Those that most files need come first in their directory, so that few ranges hold what a file needs.
        """
        counts = Counter(number for needs in needed for number in numbers_in(needs))
        rows = {number: self[number] for number in counts}
        there = sorted((number for number, row in rows.items() if row[1] is not None), key=lambda n: rows[n][0])
        gone = [(*_parted(rows[number][0]), number) for number in counts if rows[number][1] is None]
        gone.sort(key=lambda one: (one[0], -counts[one[2]], one[1]))
        absent: dict[str, list[str]] = {}
        for directory, name, _ in gone:
            absent.setdefault(directory, []).append(name)
        new = {old: number for number, old in enumerate([*(number for *_, number in gone), *there])}
        renumbered = [needs_of(new[number] for number in numbers_in(needs)) for needs in needed]
        return [absent, [rows[number] for number in there]], renumbered


def _spelled(start: int, directory: str, names: list[str]) -> Iterator[tuple[int, str]]:
    """The paths of what wasn't in a directory, by their numbers."""
    return enumerate((directory + os.sep + name for name in names), start)


def _parted(place: str) -> tuple[str, str]:
    directory, _, name = place.rpartition(os.sep)
    return directory, name
