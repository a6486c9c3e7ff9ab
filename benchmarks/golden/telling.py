"""Tells how two records differ: a line for each difference, then how many there are in each part and of each field."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence

from benchmarks.golden.comparing import Change, Difference
from benchmarks.golden.linting import Entry, Json

KINDS = ("lost", "new", "changed")
WIDTH = 70
"""At most so many characters are shown of a value."""

CONTEXT = 15
"""So many characters of what two texts share are shown on both sides of what differs."""


def told(found: Sequence[Difference], old: Sequence[Entry], new: Sequence[Entry], most: int) -> Iterator[str]:
    """At most `most` differences of each part are shown, 0 for all; all are counted."""
    shown: Counter[Json] = Counter()
    for one in found:
        shown[one.entry["part"]] += 1
        if not most or shown[one.entry["part"]] <= most:
            yield line(one)
    for part, count in sorted(shown.items(), key=str):
        if most and count > most:
            yield f"...     {part}: {count - most} more"
    if found:
        yield ""
    yield from _by_part(found, old, new)
    yield from _by_field(found)


def line(one: Difference) -> str:
    """What differs, and where."""
    entry = one.entry
    at = "".join(f":{entry[key]}" for key in ("row", "column") if key in entry)
    head = f"{one.kind:8}{entry['part']} {entry['file']}{at} {entry.get('code', entry['kind'])}"
    if one.changes:
        return f"{head}: {'; '.join(map(_change, one.changes))}"
    said = entry.get("message", entry.get("reason", entry.get("count", "")))
    return f"{head} {entry.get('severity', '')}".rstrip() + f": {_cut(str(said))}".rstrip(": ")


def _change(change: Change) -> str:
    old, new = change.old, change.new
    if isinstance(old, str) and isinstance(new, str):
        old, new = _apart(old, new)
    if isinstance(old, list) and isinstance(new, list):
        return f"{change.field} {len(old)} -> {len(new)} of them"
    return f"{change.field} {_cut(json.dumps(old))} -> {_cut(json.dumps(new))}"


def _apart(old: str, new: str) -> tuple[str, str]:
    """Two texts without most of what they share at their ends."""
    start = _shared(old, new)
    end = _shared(old[start:][::-1], new[start:][::-1])
    first = max(start - CONTEXT, 0)
    parts = []
    for text in (old, new):
        last = len(text) - max(end - CONTEXT, 0)
        parts.append(("..." if first else "") + text[first:last] + ("..." if last < len(text) else ""))
    return parts[0], parts[1]


def _shared(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    length = min(len(one), len(other))
    return next((at for at in range(length) if one[at] != other[at]), length)


def _cut(text: str) -> str:
    return text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."


def _by_part(found: Sequence[Difference], old: Sequence[Entry], new: Sequence[Entry]) -> Iterator[str]:
    """Findings and gaps before and after, and the differences."""
    counts = {
        word: Counter(entry["part"] for entry in entries if entry["kind"] != "files")
        for word, entries in (("old", old), ("now", new))
    }
    for kind in KINDS:
        counts[kind] = Counter(one.entry["part"] for one in found if one.kind == kind)
    parts = sorted({str(entry["part"]) for entry in (*old, *new)})
    width = max(map(len, [*parts, "all"]))
    yield " ".join([f"{'part':{width}}", *(f"{word:>7}" for word in counts)])
    for part in parts:
        yield " ".join([f"{part:{width}}", *(f"{count[part]:7}" for count in counts.values())])
    yield " ".join([f"{'all':{width}}", *(f"{sum(count.values()):7}" for count in counts.values())])


def _by_field(found: Sequence[Difference]) -> Iterator[str]:
    """In how many entries each field changed."""
    fields = Counter(field for one in found for field in {change.counted for change in one.changes})
    if fields:
        yield ""
        yield "changed field"
    for field, count in sorted(fields.items(), key=lambda item: (-item[1], item[0])):
        yield f"{count:7} {field}"
