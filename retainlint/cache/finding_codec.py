"""What a check found as JSON, so that it can be kept or sent: places without the texts, which are read again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from retainlint.cache.codec import Codec, Json, Reader, Writer
from retainlint.text.source import Source, UnreadableSource

if TYPE_CHECKING:
    from retainlint.diagnostic import Diagnostic
    from retainlint.incident import Definition, Gap

Read: TypeAlias = Callable[[str], "bytes | None"]

NOTHING = ""


class Stale(Exception):
    """A text isn't what it was when the finding was made, or what was kept is nothing that we wrote."""


class Found(NamedTuple):
    """What one file's check gave: its findings, those beyond it, what couldn't be followed, what of others was followed; and
    how many backward passes of the file itself are among what couldn't be."""

    diagnostics: tuple[Diagnostic, ...] = ()
    beyond: tuple[Diagnostic, ...] = ()
    gaps: tuple[Gap, ...] = ()
    followed: tuple[Definition, ...] = ()
    unjudged: int = 0


def _modules() -> tuple[ModuleType, ...]:
    from retainlint import diagnostic, incident

    return diagnostic, incident


_CODEC = Codec(_modules)


def pack(name: str, found: Found, digests: dict[str, str], here: str = "") -> str:
    """It as text, NOTHING for none; `unpack` makes the same of it.

    `digests` are the SHA-256 of the files whose texts they point into, by absolute path; `name` counts from `here`.
    Raises Stale for a place in a file that isn't among these.
    """
    if not any(found[:4]):
        return NOTHING
    rows: list[Json] = []
    numbers: dict[Source, int] = {}

    def number(source: Source) -> int:
        """A text's. One that is more than the file's bytes decoded (a notebook's, a document's) is kept whole."""
        if source not in numbers:
            place = os.path.abspath(os.path.join(here, source.name))
            if not (digest := digests.get(place, "")):
                raise Stale(f"{source.name} can't be told from another text")
            is_more = source.cells or source.shown or not source.text
            whole = [source.text, source.cells, source.shown] if is_more else None
            numbers[source] = len(rows)
            rows.append(["" if source.name == name else source.name, place, digest, whole])
        return numbers[source]

    writer = Writer(_CODEC, number)
    parts = [writer.value(part) for part in found[:4]]
    own = {(gap.span.start, gap.span.end) for gap in found.gaps if gap.backward and gap.span.source.name == name}
    return json.dumps([rows, *parts, len(own)], separators=(",", ":"))


def unpack(name: str, text: str, read: Read, gaps: bool = True) -> Found:
    """What was packed, without the gaps if they aren't asked for. `read` gives the bytes at an absolute path. Raises Stale."""
    if text == NOTHING:
        return Found()
    try:
        rows, own, beyond, unseen, followed, unjudged = json.loads(text)
        value = Reader(_CODEC, _Sources(name, rows, read)).value
        names = tuple((str(module), str(qualified)) for module, qualified in value(followed))
        found = Found(value(own), value(beyond), value(unseen) if gaps else (), names, int(unjudged))
        _refuse_forged(found)
        return found
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise Stale(str(error)) from error


class _Sources(list[Source]):
    """The texts by their numbers, each read and proven to be what it was when it is first asked for."""

    def __init__(self, name: str, rows: list[Json], read: Read) -> None:
        self._made = cache(lambda number: _source(name, rows[number], read))

    def __getitem__(self, number: int) -> Source:  # type: ignore[override]
        return self._made(number)


def _source(name: str, row: Json, read: Read) -> Source:
    shown, place, digest, whole = row
    from hashlib import sha256

    data = read(place)
    if data is None or sha256(data).hexdigest() != digest:
        raise Stale(place)
    if whole is not None:
        text, cells, behind = whole
        return Source(shown or name, str(text), tuple(map(int, cells)), str(behind))
    try:
        return Source.decode(shown or name, data)
    except UnreadableSource as error:
        raise Stale(error.reason) from error


def _refuse_forged(found: Any) -> None:
    """Raises Stale for anything else than findings with one primary mark, and gaps."""
    if not any(found[:3]):
        return
    from retainlint.diagnostic import Diagnostic, Label
    from retainlint.incident import Gap

    for one in found.diagnostics + found.beyond:
        texts = (one.code, one.name, one.message, one.help, *one.notes) if isinstance(one, Diagnostic) else (None,)
        if not all(isinstance(text, str) for text in texts) or not all(isinstance(each, Label) for each in one.labels):
            raise Stale("not a finding")
        if sum(label.primary is True for label in one.labels) != 1:
            raise Stale("not a finding with one primary mark")
    if not all(isinstance(gap, Gap) for gap in found.gaps):
        raise Stale("not gaps")
