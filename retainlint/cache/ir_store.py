"""Lowered modules kept on the disk: a file for each text, to which the bodies that were asked for are added."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from retainlint.cache.store import UNUSABLE, Store, plain, small

if TYPE_CHECKING:
    from retainlint.ir import Block, Code, Head
    from retainlint.program import Part, Program
    from retainlint.text.source import Source

_MODULE = -2
"""The number of the record that holds a module; those of bodies have the offset where the body starts."""


class IrStore(NamedTuple):
    """Where modules are kept, by the SHA-256 of their bytes. What is read is never run, and only used if it is whole; what
    can't be read is lowered."""

    store: Store

    def find(self, source: Source, digest: str) -> Program | None:
        """A module that was kept."""
        return _Kept(self.store, digest, "ir").module(source)

    def find_partly(self, source: Source, digest: str) -> Program | None:
        """The same of a module each part of which is lowered when it is asked for."""
        return _Kept(self.store, digest, "parts").partly(source)

    def keep(self, program: Program, digest: str) -> None:
        """Keep a module, and whatever parts and bodies of it are asked for from now on."""
        _Kept(self.store, digest, "ir" if program.parts is None else "parts").keep(program)


class _Kept:
    """What is kept of one text."""

    def __init__(self, store: Store, digest: str, kind: str) -> None:
        self._file = store.file(kind, digest, digest)
        self._records: dict[int, bytes] = {}

    def module(self, source: Source) -> Program | None:
        self._records = self._file.read()
        found = self._taken(_MODULE, source)
        if found is None:
            return None
        from retainlint.ir import Code
        from retainlint.program import Program

        code, gaps = found if isinstance(found, tuple) and len(found) == 2 else (None, ())
        return Program(source, code, gaps) if isinstance(code, Code) else None

    def partly(self, source: Source) -> Program | None:
        self._records = self._file.read()
        found = self._taken(_MODULE, source)
        if found is None:
            return None
        from retainlint.lowering import Outline
        from retainlint.lowering.partial import partly

        with contextlib.suppress(*UNUSABLE):
            program = partly(source, Outline(*found))
            if program.parts is not None:
                program.parts.through(partial(self._block, source))
            return program
        return None

    def _taken(self, number: int, source: Source) -> Any:
        """What a record holds, None if there is none that we wrote."""
        line = self._records.pop(number, None)
        if line is not None:
            from retainlint.cache import ir_codec

            with contextlib.suppress(*UNUSABLE):
                return ir_codec.read(plain(line), source, partial(self._body, source))
        return None

    def _block(self, source: Source, make: Callable[[Part], Block], part: Part) -> Block:
        """What a part does, as it was kept; else lowered, and kept."""
        found = self._taken(_number(part), source)
        return found if isinstance(found, tuple) else self._added_part(make, part)

    def _body(self, source: Source, head: Head) -> Code:
        """A function with its body, as it was kept; else lowered, and kept."""
        from retainlint.ir import Code
        from retainlint.lowering import lower_body

        found = self._taken(head.body[0], source)
        return found if isinstance(found, Code) else self._added(partial(lower_body, source), head)

    def keep(self, program: Program) -> None:
        """Write a module in place of what there is, and later the bodies that are asked for."""
        if program.parts is None:
            self._write((program.module, program.gaps), lambda line: self._file.write({_MODULE: line}))
            return
        from retainlint.lowering.partial import Lowering

        assert isinstance(program.parts.make, Lowering)
        known = program.parts.make.found
        outline = known.backward_passes, known.bodies, known.types, known.parts
        if self._write(outline, lambda line: self._file.write({_MODULE: line})):
            program.parts.through(self._added_part)

    def _added(self, make: Callable[[Head], Code], head: Head) -> Code:
        code = make(head)
        self._write(code, partial(self._file.append, head.body[0]))
        return code

    def _added_part(self, make: Callable[[Part], Block], part: Part) -> Block:
        from retainlint import ir

        block = make(part)
        if not all(isinstance(instr, ir.Import | ir.Store) for instr in block):  # these cost no more than to read them
            self._write(block, partial(self._file.append, _number(part)))
        return block

    def _write(self, value: object, write: Callable[[bytes], bool]) -> bool:
        """Whether something could be kept, and whatever bodies of it are asked for from now on."""
        from retainlint.cache import ir_codec

        with contextlib.suppress(ValueError, RecursionError):
            line, waiting = ir_codec.written(value)
            if write(small(line)):
                for each in waiting:
                    each.through(self._added)
                return True
        return False


def _number(part: Part) -> int:
    """The number of the record that holds a part."""
    return _MODULE - 1 - part.start
