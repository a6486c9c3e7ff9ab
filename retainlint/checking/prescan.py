"""Looks at many files before any is followed: at their bytes, then at their names; by two processes where that pays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from retainlint.checking import linter
from retainlint.text.files import Disk, read

if TYPE_CHECKING:
    from retainlint.checking.worker import Answer
    from retainlint.config import Settings

    File = tuple[str, int]
    """A name, and how many bytes the file has."""

Work = TypeVar("Work")
Done = TypeVar("Done")

MANY = 500
"""So many files are read by two processes sooner than by one."""


PORTIONS = 200
"""The files are taken in so many portions, by whoever is free."""


def skimmed(names: Sequence[str], digests: bool, both: bool) -> Iterator[tuple[str, int, str | None]]:
    """Each file by its name with the number of its bytes, and None if it may matter or can't be read; of one that doesn't
    the SHA-256, if `digests` are asked for. `both` processes may be used that the machine can run at once."""

    def skim(portion: Sequence[str]) -> list[tuple[int, str | None]]:
        return [_skimmed(name, digests) for name in portion]

    for portion, found in _shared(_portions(names), skim, both and len(names) >= MANY):
        for name, (size, digest) in zip(portion, found):
            yield name, size, digest


def _skimmed(name: str, digests: bool) -> tuple[int, str | None]:
    data = read(name)
    if data is None or linter.may_matter(name, data):
        return len(data or b""), None
    if not digests:
        return len(data), ""
    from hashlib import sha256

    return len(data), sha256(data).hexdigest()


def glanced(
    pending: Sequence[File], settings: Mapping[str, Settings], files: Disk, enough: int, both: bool
) -> Iterator[tuple[File, Answer | None]]:
    """Each file, in any order, with what its check gives if a look at names is enough for that, else None. Behind `enough`
    bytes of files that have to be followed no other is looked at."""
    from retainlint.checking.worker import answer_of

    left = enough // 2 if both else enough

    def glance(portion: Sequence[File]) -> list[Answer | None]:
        nonlocal left
        answers: list[Answer | None] = []
        for name, size in portion:
            data = read(name) if left > 0 else None
            result = linter.glance(name, data, settings[name], files) if data is not None else None
            answer = answer_of(result, data, "") if result is not None and data is not None else None
            left -= size if answer is None else 0
            answers.append(answer)
        return answers

    for portion, found in _shared(_portions(pending), glance, both):
        yield from zip(portion, found)


def _portions(files: Sequence[Work]) -> list[Sequence[Work]]:
    """Neighbours together, which import the same modules."""
    step = len(files) // PORTIONS + 1
    return [files[at : at + step] for at in range(0, len(files), step)]


def _shared(portions: Sequence[Work], work: Callable[[Work], Done], both: bool) -> Iterable[tuple[Work, Done]]:
    if not both:
        return ((portion, work(portion)) for portion in portions)
    from retainlint.checking.executor import shared

    return shared(portions, work)
