"""The modules around a file, lowered when the machine asks for them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from retainlint.modules import Modules
from retainlint.source import Source, UnreadableSource
from retainlint.walks import may_walk

if TYPE_CHECKING:
    from retainlint.ir import Program

KEPT = 200
"""So many modules stay lowered: most are imported again by the next file. It decides nothing but the time it takes."""

SEARCHED = 12
"""So many modules are searched for a walk on behalf of a script that holds none."""

SMALL = 5_000
"""Bytes of an `__init__.py` that does little but import."""

_REGISTERS = re.compile(rb"^(?:@[\w.]*regist|[\w.]*register\w*\()", re.MULTILINE | re.IGNORECASE)
_IMPORT = re.compile(rb"^[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import\b|import[ \t]+([\w.]+))", re.MULTILINE)

_lowered: dict[tuple[str, bytes], Program | str] = {}


def may_start_walks(data: bytes) -> bool:
    """Whether a file is a script."""
    return b"__main__" in data


def starts_walks(modules: Modules, data: bytes) -> bool:
    """Whether a file is a script whose imports lead to a module of its project in which a walk may stand: then it is
    run, though it holds none itself."""
    pending = [(modules.entry, data)] if may_start_walks(data) else []
    seen: set[str] = set()
    while pending and len(seen) < SEARCHED:
        importer, data = pending.pop(0)
        for dots, origin, whole in _IMPORT.findall(data):
            place = modules.find(importer, (origin or whole).decode(errors="replace"), len(dots))
            if place is None or place.endswith(os.sep) or place in seen:
                continue
            text = modules.read(place) or b""
            if may_walk(text):
                return True
            seen.add(place)
            pending.append((place, text))
    return False


class Project:
    """What the machine asks of a project; `modules` knows where an import leads, `lower` gives a program or says why not."""

    def __init__(self, modules: Modules, lower: Callable[[Source], Program | str]) -> None:
        self._modules = modules
        self._lower = lower
        self._texts: dict[str, bytes | None] = {}
        self._registering: dict[str, bool] = {}
        self.entry = modules.place(modules.entry)

    def find(self, importer: Source, module: str, level: int) -> str | None:
        """Where an import in the text `importer` leads: a module's place, None if out of the project."""
        return self._modules.find(importer.name, module, level)

    def top(self, importer: Source, module: str) -> str | None:
        """The place of `a`, for an `import a.b.c`."""
        return self._modules.top(importer.name, module)

    def submodule(self, place: str, name: str) -> str | None:
        return self._modules.submodule(place, name)

    def dotted(self, place: str) -> str:
        return self._modules.dotted(place)

    def mentions(self, place: str, text: str) -> bool:
        """Whether a module holds a text; it is not parsed for that."""
        return text.encode(errors="replace") in (self._text(place) or b"")

    def registers(self, place: str) -> bool:
        """Whether a module may be imported for what its import does: it enters its names into some registry."""
        if place not in self._registering:
            text = self._text(place) or b""
            small = place.endswith("__init__.py") and len(text) < SMALL and b"import" in text
            self._registering[place] = small or (b"regist" in text.lower() and _REGISTERS.search(text) is not None)
        return self._registering[place]

    def program(self, place: str) -> Program | str | None:
        """A module, lowered; else why it can't be read; None for a package that has no text."""
        from hashlib import sha256

        data = self._text(place)
        if data is None:
            return None if place.endswith(os.sep) else "it can't be read"
        name = place if os.path.isabs(self._modules.entry) else os.path.relpath(place, self._modules.files.here or None)
        key = (name, sha256(data).digest())
        if (found := _lowered.pop(key, None)) is None:
            found = self._lowering(name, data)
            if len(_lowered) >= KEPT:
                del _lowered[next(iter(_lowered))]
        _lowered[key] = found  # the one used last is the last to go
        return found

    def _lowering(self, name: str, data: bytes) -> Program | str:
        try:
            return self._lower(Source.decode(name, data))
        except UnreadableSource as error:
            return error.reason

    def _text(self, place: str) -> bytes | None:
        if place not in self._texts:
            self._texts[place] = None if place.endswith(os.sep) else self._modules.read(place)
        return self._texts[place]
