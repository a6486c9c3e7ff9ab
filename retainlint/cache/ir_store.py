"""Lowered modules kept on the disk: a file for each text, to which the bodies that were asked for are added."""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from retainlint.cache.directory import ITSELF, prepared_ir_store, read, replace

if TYPE_CHECKING:
    from retainlint.ir import Block, Code, Head
    from retainlint.program import Part, Parts, Program
    from retainlint.text.source import Source

_MODULE = -1
"""The number of the record that holds a module; those of bodies have the offset where the body starts."""

_UNUSABLE = (zlib.error, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError)
"""What comes of reading what we didn't write."""

_UNKEPT = (OSError, ValueError, RecursionError)
"""What comes of writing where we may not, and of a module that can't be written."""

_QUICK = 1
"""How hard zlib tries: a third of the size for a tenth of the time that writing JSON takes."""


class IrStore(NamedTuple):
    """Where modules are kept: a directory in that of the cache, for one version of this program, which `tool` names.

    What is read is never run, and only used if it is whole. Like the cache it raises nothing: what can't be read is
    lowered, what can't be written is lost.
    """

    cache: str
    tool: str

    def find(self, source: Source, digest: str) -> Program | None:
        """A module that was kept, by the SHA-256 of its bytes."""
        return _File(self, digest, "ir").module(source)

    def find_partly(self, source: Source, digest: str) -> Program | None:
        """The same of a module each part of which is lowered when it is asked for."""
        return _File(self, digest, "parts").partly(source)

    def keep(self, program: Program, digest: str) -> None:
        """Keep a module, and whatever parts and bodies of it are asked for from now on."""
        _File(self, digest, "ir" if program.parts is None else "parts").keep(program)

    @property
    def name(self) -> str:
        """The shelf's own directory in that of the cache."""
        return f"{zlib.crc32(_bytes(self.tool)):08x}.lowered"


class _File:
    """What is kept of one text: records, each a row with checksum, number and length, and that many bytes."""

    def __init__(self, ir_store: IrStore, digest: str, kind: str) -> None:
        self._ir_store = ir_store
        self._mark = _bytes(f"{ir_store.tool} {digest}")  # what its module begins with
        self._path = os.path.join(ir_store.cache, ir_store.name, f"{digest}.{kind}")
        self._bodies: dict[int, bytes] = {}

    def module(self, source: Source) -> Program | None:
        """The module, if a whole one is kept."""
        with contextlib.suppress(*_UNUSABLE):
            if (line := self._line()) is not None:
                from retainlint.cache import ir_codec

                return ir_codec.read_module(line, source, partial(self._body, source))
        return None

    def partly(self, source: Source) -> Program | None:
        """The same of one in parts."""
        with contextlib.suppress(*_UNUSABLE):
            if (line := self._line()) is not None:
                from retainlint.cache import ir_codec
                from retainlint.lowering import Outline
                from retainlint.lowering.partial import partly

                program = partly(source, Outline(*ir_codec.read_outline(line)))
                if program.parts is not None:
                    program.parts.through(partial(self._block, source))
                return program
        return None

    def _line(self) -> bytes | None:
        """What is kept of the module itself. Raises ValueError where the file isn't whole."""
        data = read(self._path)
        if data is None:
            return None
        self._bodies = dict(_records(data))
        mark, _, line = zlib.decompress(self._bodies.pop(_MODULE)).partition(b"\n")
        return line if mark == self._mark else None

    def _block(self, source: Source, make: Callable[[Part], Block], part: Part) -> Block:
        """What a part does, as it was kept; else lowered, and kept."""
        from retainlint.cache import ir_codec

        line = self._bodies.pop(_number(part), None)
        if line is not None:
            with contextlib.suppress(*_UNUSABLE):
                return ir_codec.read_block(zlib.decompress(line), source, partial(self._body, source))
        return self._added_part(make, part)

    def _body(self, source: Source, head: Head) -> Code:
        """A function with its body, as it was kept; else lowered, and kept."""
        from retainlint.cache import ir_codec

        line = self._bodies.pop(head.body[0], None)
        if line is not None:
            with contextlib.suppress(*_UNUSABLE):
                return ir_codec.read_body(zlib.decompress(line), source)
        from retainlint.lowering import lower_body

        return self._added(partial(lower_body, source), head)

    def keep(self, program: Program) -> None:
        """Write a module in place of what there is, and later the bodies that are asked for."""
        from retainlint.cache import ir_codec

        with contextlib.suppress(*_UNKEPT):
            if not prepared_ir_store(self._ir_store.cache, self._ir_store.name):
                return
            if program.parts is not None:
                replace(self._path, _record(_MODULE, self._mark + b"\n" + _outline(program.parts)))
                program.parts.through(self._added_part)
                return
            line, waiting = ir_codec.module(program)
            replace(self._path, _record(_MODULE, self._mark + b"\n" + line))
            for each in waiting:
                each.through(self._added)

    def _added(self, make: Callable[[Head], Code], head: Head) -> Code:
        from retainlint.cache import ir_codec

        code = make(head)
        with contextlib.suppress(*_UNKEPT):
            self._append(_record(head.body[0], ir_codec.body(code)))
        return code

    def _added_part(self, make: Callable[[Part], Block], part: Part) -> Block:
        from retainlint import ir
        from retainlint.cache import ir_codec

        block = make(part)
        if not all(isinstance(instr, ir.Import | ir.Store) for instr in block):  # these cost no more than to read them
            with contextlib.suppress(*_UNKEPT):
                line, waiting = ir_codec.block(block)
                self._append(_record(_number(part), line))
                for each in waiting:
                    each.through(self._added)
        return block

    def _append(self, record: bytes) -> None:
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | ITSELF)
        try:
            os.write(file, record)  # all at once, so that another process's stands before it or behind
        finally:
            os.close(file)


def _number(part: Part) -> int:
    """The number of the record that holds a part."""
    return _MODULE - 1 - part.start


def _outline(parts: Parts) -> bytes:
    from retainlint.cache import ir_codec
    from retainlint.lowering.partial import Lowering

    assert isinstance(parts.make, Lowering)
    found = parts.make.found
    return ir_codec.outline(found.backward_passes, found.bodies, found.types, found.parts)


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _record(number: int, data: bytes) -> bytes:
    data = zlib.compress(data, _QUICK)
    return b"%08x %d %d\n%s" % (zlib.crc32(data), number, len(data), data)


def _records(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The records of a file, still compressed. Raises ValueError where it isn't whole."""
    at = 0
    while at < len(data):
        start = data.index(b"\n", at) + 1
        checksum, number, length = data[at:start].split()
        at = start + max(int(length), 0)
        if zlib.crc32(data[start:at]) != int(checksum, 16):
            raise ValueError("not what was written")
        yield int(number), data[start:at]
