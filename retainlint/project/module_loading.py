"""The modules around a file, lowered when the machine asks for them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from retainlint.project.call_index import indexed
from retainlint.project.data_files import DataFiles
from retainlint.startup.lazy_patterns import pattern
from retainlint.text import name_guesses as guesses
from retainlint.text.recalling import Recalled, recalled
from retainlint.text.source import Source, UnreadableSource

if TYPE_CHECKING:
    from retainlint.program import Program, Use
    from retainlint.project.call_index import CallIndex

FAR = 4
"""So many imports lead from one to the next."""

NEAR = 3
"""So many calls and imports lead on from a decorator to what puts something into a table."""

FEW = 8
"""So many things of other modules are followed that a function may change."""

SMALL = 5_000
"""Bytes of an `__init__.py` that does little but import."""

_REGISTERS = pattern(
    rf"^(?:@(?:[\w.]*\.)?{guesses.REGISTERS.names}|(?:[\w.]*\.)?{guesses.REGISTER.names}\()".encode(), re.MULTILINE
)
_ENTERS = pattern(
    rf"^{guesses.HOLDER.names}(?:\[[^\]\n]+\] *= *[\w.]+ *$|\.update\()|^@[\w.]+\({guesses.TABLE.names}[,)]"
    r"|^class \w+\([^()]*\b(?!metaclass\b)\w+ *=".encode(),
    re.MULTILINE,
)
"""`MODELS["name"] = Model`, `MODELS.update(...)`, `@entered(MODELS, "name")`, or `class Model(Base, name="name")`."""

Altered: TypeAlias = "frozenset[tuple[str, str]] | None"
"""Places of modules and names in them; None for anything."""

_lowered = Recalled[tuple[str, bytes], "Program | str"](
    lambda _, found: len(found if isinstance(found, str) else found.source.text)
)
"""Most modules are imported again by the next file."""


@recalled
def _registers(text: bytes) -> bool:
    """Whether a module enters something into a registry, as far as its text tells."""
    return (b"regist" in text.lower() and _REGISTERS.search(text) is not None) or _ENTERS.search(text) is not None


class Project:
    """What the machine asks of a project; `index` is the entry's, `lower` gives a program or says why not."""

    def __init__(self, index: CallIndex, lower: Callable[[Source], Program | str]) -> None:
        assert index.modules is not None
        self._modules = modules = index.modules
        self._lower = lower
        self.reaches = index.reaches
        self.leads = index.leads
        files = DataFiles(index)
        self.said, self.where = files.said, files.where
        self._texts: dict[str, bytes | None] = {}
        self._registering: dict[str, bool] = {}
        self._altering: dict[tuple[str, Use], Altered] = {}
        self._changed: dict[tuple[str, str], Altered] = {}
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
            self._registering[place] = small or _registers(text) or self._decorates(place, text)
        return self._registering[place]

    def _decorates(self, place: str, text: bytes) -> bool:
        """Whether a module hands something to a decorator of another module that puts it into a table there."""
        if b"@" not in text:
            return False
        words = {word for each, _ in indexed(text).decorated for word in each}
        imported = ((word, each) for word, each in indexed(text).imported.items() if word in words)
        found = ((self._modules.find(place, each.module, each.level), each.name) for _, each in imported)
        return any(home is not None and self._fills(home, name) for home, name in found)

    def _fills(self, place: str, name: str, hops: int = NEAR) -> bool:
        """Whether a function puts something into a table of its module, or calls one that does, as far as its text tells."""
        index = indexed(self._text(place) or b"")
        if (made := index.definitions.get(name)) is None:
            if (origin := index.imported.get(name)) is None or not hops:
                return False
            home = self._modules.find(place, origin.module, origin.level)
            return home is not None and self._fills(home, origin.name, hops - 1)
        if made.registers or not hops:
            return made.registers
        return any(self._fills(place, each, hops - 1) for each in made.called if each not in made.methods)

    def alters(self, importer: Source, use: Use) -> Altered:
        """What a text may change of what other modules hold by a call of something that it imported: the places of these
        modules, and names in them; None for anything."""
        key = importer.name, use
        if key not in self._altering:
            self._altering[key] = self._alters(importer.name, use)
        return self._altering[key]

    def changes(self, place: str, name: str) -> Altered:
        """What a call of a module's function may change."""
        if (place, name) not in self._changed:
            self._changed[place, name] = self._changes(place, name, hops=FAR)
        return self._changed[place, name]

    def _alters(self, importer: str, use: Use, hops: int = FAR) -> Altered:
        from retainlint.program import ASKING

        place = self._modules.find(importer, use.origin.module, use.origin.level)
        names = [*filter(None, (use.origin.name,)), *use.attributes]
        while place is not None and names and (below := self._modules.submodule(place, names[0])) is not None:
            place = below
            del names[0]
        if place is None:
            return frozenset()
        if not names:
            return None if use.alone else frozenset()
        if len(names) == 1 and use.called:
            registers = use.alone or guesses.REGISTERS.takes(names[0])
            registers = registers or (use.decorates and self._fills(place, names[0]))
            return self._changes(place, names[0], dropped=use.alone, hops=hops) if registers else frozenset()
        asks = use.called and not use.alone and names[-1] in ASKING
        return frozenset() if asks else self._changes(place, names[0], called=use.called, held=True, hops=hops)

    def _changes(
        self, place: str, name: str, *, hops: int, held: bool = False, called: bool = True, dropped: bool = False
    ) -> Altered:
        """What a call of a module's function may change, and whether what it gives is `dropped`; or a call of a method of
        what is `held` under that name, or what is done with that, if nothing of it is `called`."""
        program = self.program(place) if hops else None
        if program is None or isinstance(program, str) or program.parts is None:
            return None
        if not program.parts.binding(name) and program.parts.stars:
            return None
        effect = program.parts.effect(name, dropped)
        found = frozenset(((place, name),)) if held else frozenset()
        if effect.origin is not None:
            below = self._modules.find(program.source.name, effect.origin.module, effect.origin.level)
            if below is None or not effect.origin.name:
                return found if below is None else None
            name = effect.origin.name
            more = self._changes(below, name, hops=hops - 1, held=held, called=called, dropped=dropped)
            return None if more is None else found | more
        if not called:
            return found
        if effect.outside or (effect.holds and not held) or len(effect.uses) > FEW:
            return None
        for more in (self._alters(program.source.name, each, hops - 1) for each in effect.uses):
            if more is None:
                return None
            found |= more
        return found | {(place, each) for each in effect.names}

    def program(self, place: str) -> Program | str | None:
        """A module, lowered; else why it can't be read; None for a package that has no text."""
        from hashlib import sha256

        data = self._text(place)
        if data is None:
            return None if place.endswith(os.sep) else "it can't be read"
        name = place if os.path.isabs(self._modules.entry) else os.path.relpath(place, self._modules.files.here or None)
        key = (name, sha256(data).digest())
        return _lowered.of(key, lambda: self._lowering(name, data, key[1].hex()))

    def _lowering(self, name: str, data: bytes, digest: str) -> Program | str:
        try:
            source = Source.decode(name, data)
        except UnreadableSource as error:
            return error.reason
        return self._kept(source, digest)

    def _kept(self, source: Source, digest: str) -> Program | str:
        ir_store = self._modules.files.ir_store
        kept = ir_store.find_partly(source, digest) if ir_store is not None else None
        found = self._lower(source) if kept is None else kept
        if ir_store is not None and kept is None and not isinstance(found, str):
            ir_store.keep(found, digest)
        return found

    def lowered(self, stub: Source) -> Program:
        """A stub, lowered."""
        from hashlib import sha256

        key = (stub.name, sha256(stub.text.encode()).digest())
        found = _lowered.of(key, lambda: self._kept(stub, key[1].hex()))
        assert not isinstance(found, str)
        return found

    def _text(self, place: str) -> bytes | None:
        if place not in self._texts:
            self._texts[place] = None if place.endswith(os.sep) else self._modules.read(place)
        return self._texts[place]
