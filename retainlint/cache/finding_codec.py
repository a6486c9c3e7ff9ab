"""What a check found as JSON, so that it can be kept or sent: places without the texts, which are read again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias

from retainlint.text.source import Source, Span, UnreadableSource

if TYPE_CHECKING:
    from retainlint.diagnostic import Diagnostic
    from retainlint.incident import Definition, Gap

Json: TypeAlias = Any
Read: TypeAlias = Callable[[str], "bytes | None"]

NOTHING = ""


class Stale(Exception):
    """A text isn't what it was when the finding was made, or what was kept is nothing that we wrote."""


def pack(name: str, found: Sequence[object], digests: dict[str, str], here: str = "") -> str:
    """Findings or gaps as text, NOTHING for none; `unpack` makes the same of it.

    `digests` are the SHA-256 of the files whose texts they point into, by absolute path; `name` counts from `here`.
    Raises Stale for a place in a file that isn't among these.
    """
    if not found:
        return NOTHING
    writer = _Writer(name, digests, here)
    values = [writer.value(one) for one in found]
    return json.dumps([writer.sources, values], separators=(",", ":"))


def unpack(name: str, text: str, read: Read) -> tuple[Any, ...]:
    """What was packed. `read` gives the bytes at an absolute path; Raises Stale."""
    if text == NOTHING:
        return ()
    try:
        sources, values = json.loads(text)
        reader = _Reader(_sources(name, sources, read))
        return tuple(reader.value(value) for value in values)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise Stale(str(error)) from error


def unjudged(text: str) -> int:
    """How many backward passes of the file itself are among packed gaps; their texts aren't read. Raises Stale."""
    if "true" not in text:
        return 0
    try:
        sources, values = json.loads(text)
        gaps = [value["Gap"] for value in values]
        return len({(start, end) for (number, start, end), _, backward in gaps if backward and not sources[number][0]})
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise Stale(str(error)) from error


def pack_names(found: Sequence[Definition]) -> str:
    """Functions and methods of other files as text, NOTHING for none."""
    return json.dumps(found, separators=(",", ":")) if found else NOTHING


def unpack_names(text: str) -> tuple[Definition, ...]:
    """Raises Stale."""
    try:
        return tuple((str(name), str(qualified)) for name, qualified in json.loads(text)) if text else ()
    except (ValueError, TypeError, RecursionError) as error:
        raise Stale(str(error)) from error


class _Writer:
    """Spans become `[source, start, end]`, tuples `{"": [...]}`, everything else of ours `{"Class": [fields...]}`."""

    def __init__(self, name: str, digests: dict[str, str], here: str) -> None:
        self._name, self._digests, self._here = name, digests, here
        self._numbers: dict[Source, int] = {}
        self.sources: list[Json] = []

    def value(self, value: object) -> Json:
        if value is None or isinstance(value, (str, int)):
            return value
        if isinstance(value, Span):
            return [self._source(value.source), value.start, value.end]
        if isinstance(value, tuple):
            return {"": [self.value(part) for part in value]}
        if isinstance(value, Enum):
            return {type(value).__name__: [value.value]}
        if is_dataclass(value):
            return {type(value).__name__: [self.value(getattr(value, field.name)) for field in fields(value)]}
        raise TypeError(f"{type(value).__name__} can't be packed")

    def _source(self, source: Source) -> int:
        """Its number. A text that is more than the file's bytes decoded (a notebook's, a document's) is kept whole."""
        if source not in self._numbers:
            place = os.path.abspath(os.path.join(self._here, source.name))
            digest = self._digests.get(place, "")
            if not digest:
                raise Stale(f"{source.name} can't be told from another text")
            whole = (
                [source.text, source.cells, source.shown] if source.cells or source.shown or not source.text else None
            )
            own = source.name == self._name
            self._numbers[source] = len(self.sources)
            self.sources.append(["" if own else source.name, place, digest, whole])
        return self._numbers[source]


class _Reader:
    def __init__(self, sources: list[Source]) -> None:
        self._sources = sources
        self._classes = _classes()

    def value(self, value: Json) -> Any:
        if isinstance(value, list):
            number, start, end = value
            source = self._sources[number]
            if not 0 <= start <= end <= len(source.text):
                raise Stale("a place behind the text's end")
            return Span(source, start, end)
        if isinstance(value, dict):
            ((kind, parts),) = value.items()
            made = [self.value(part) for part in parts]
            return tuple(made) if kind == "" else self._classes[kind](*made)
        return value


def _classes() -> dict[str, Callable[..., object]]:
    """What may be made of what was packed: nothing but findings and their parts."""
    from retainlint import diagnostic, incident

    found = {**vars(incident), **vars(diagnostic)}
    return {
        name: one
        for name, one in found.items()
        if isinstance(one, type) and (is_dataclass(one) or issubclass(one, Enum))
    }


def _sources(name: str, rows: list[Json], read: Read) -> list[Source]:
    """The texts, each proven to be what it was."""
    from hashlib import sha256

    made = []
    for shown, place, digest, whole in rows:
        data = read(place)
        if data is None or sha256(data).hexdigest() != digest:
            raise Stale(place)
        if whole is not None:
            text, cells, behind = whole
            made.append(Source(shown or name, str(text), tuple(map(int, cells)), str(behind)))
            continue
        try:
            made.append(Source.decode(shown or name, data))
        except UnreadableSource as error:
            raise Stale(error.reason) from error
    return made


def unpack_diagnostics(name: str, text: str, read: Read) -> tuple[Diagnostic, ...]:
    """Raises Stale, also if there is anything else in it."""
    found = unpack(name, text, read)
    if found:
        from retainlint.diagnostic import Diagnostic, Label

        for one in found:
            texts = (one.code, one.name, one.message, one.help, *one.notes) if isinstance(one, Diagnostic) else (None,)
            if not all(isinstance(text, str) for text in texts) or not all(
                isinstance(label, Label) for label in one.labels
            ):
                raise Stale("not a finding")
            if sum(label.primary is True for label in one.labels) != 1:
                raise Stale("not a finding with one primary mark")
    return found


def unpack_gaps(name: str, text: str, read: Read) -> tuple[Gap, ...]:
    """Raises Stale, also if there is anything else in it."""
    found = unpack(name, text, read)
    if found:
        from retainlint.incident import Gap

        if not all(isinstance(one, Gap) for one in found):
            raise Stale("not gaps")
    return found
