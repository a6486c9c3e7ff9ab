"""Compares two records: which entries are lost, which are new, and in which fields the others changed."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from benchmarks.golden.linting import Entry, Json

WORDLESS = frozenset(
    "part kind file row column end_row end_column count code severity labels primary witness error".split()
)
"""What is left of an entry if words don't count."""

LADDER: tuple[tuple[str, ...], ...] = (
    ("row", "column", "code", "reason"),
    ("row", "column", "code"),
    ("row", "column"),
    ("row", "code"),
)
"""By what, besides part, kind and file, an entry is found again that isn't the same; the first that fits."""

Pair: TypeAlias = "tuple[Entry, Entry]"


@dataclass(frozen=True)
class Change:
    """One field that is another; `field` is the way to it, such as `labels[1].row`."""

    field: str
    old: Json
    new: Json

    @property
    def counted(self) -> str:
        """The field, whichever of a list's parts it belongs to."""
        return re.sub(r"\[\d+\]", "", self.field)


@dataclass(frozen=True)
class Difference:
    """An entry that is lost (`new` is None), new (`old` is None), or changed."""

    old: Entry | None
    new: Entry | None
    changes: tuple[Change, ...] = ()

    @property
    def kind(self) -> str:
        return "new" if self.old is None else "lost" if self.new is None else "changed"

    @property
    def entry(self) -> Entry:
        """The newer of the two."""
        return self.new or self.old or {}


def differences(old: Sequence[Entry], new: Sequence[Entry]) -> list[Difference]:
    """By part and file."""
    lost, added = _without(old, new), _without(new, old)
    found: list[Difference] = []
    for keys in LADDER:
        pairs, lost, added = _paired(lost, added, keys)
        found += (Difference(before, after, tuple(changes(before, after))) for before, after in pairs)
    found += (Difference(entry, None) for entry in lost)
    found += (Difference(None, entry) for entry in added)
    return sorted(found, key=lambda one: (str(one.entry["part"]), str(one.entry["file"]), *_rows(one.entry)))


def _rows(entry: Entry) -> tuple[int, int]:
    row, column = entry.get("row"), entry.get("column")
    return (row if isinstance(row, int) else 0, column if isinstance(column, int) else 0)


def _without(some: Iterable[Entry], others: Iterable[Entry]) -> list[Entry]:
    """Those that aren't among the others, each as often as it is missing there."""
    there = Counter(json.dumps(entry, sort_keys=True) for entry in others)
    left: list[Entry] = []
    for entry in some:
        text = json.dumps(entry, sort_keys=True)
        if there[text]:
            there[text] -= 1
        else:
            left.append(entry)
    return left


def _paired(
    lost: list[Entry], added: list[Entry], keys: tuple[str, ...]
) -> tuple[list[Pair], list[Entry], list[Entry]]:
    """The entries that are one by these keys, and on both sides the others."""
    waiting: defaultdict[tuple[Json, ...], list[Entry]] = defaultdict(list)
    for entry in reversed(added):
        waiting[_key(entry, keys)].append(entry)
    pairs: list[Pair] = []
    left: list[Entry] = []
    for entry in lost:
        if several := waiting[_key(entry, keys)]:
            pairs.append((entry, several.pop()))
        else:
            left.append(entry)
    taken = {id(after) for _, after in pairs}
    return pairs, left, [entry for entry in added if id(entry) not in taken]


def _key(entry: Entry, keys: tuple[str, ...]) -> tuple[Json, ...]:
    return tuple(entry.get(key) for key in ("part", "kind", "file", *keys))


def changes(old: Json, new: Json, field: str = "") -> Iterator[Change]:
    """The innermost fields that differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            yield from changes(old.get(key), new.get(key), f"{field}.{key}" if field else key)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from changes(before, after, f"{field}[{number}]")
    elif old != new:
        yield Change(field, old, new)


def wordless(value: Json) -> Json:
    """What is left if only codes, severities, places and the witness's error count."""
    if isinstance(value, list):
        return [wordless(part) for part in value]
    if isinstance(value, dict):
        return {key: wordless(part) for key, part in value.items() if key in WORDLESS}
    return value
