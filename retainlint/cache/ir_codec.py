"""Instructions as lines of JSON and back; the bodies that wait stay where they are, and are lines of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retainlint import ir, program
from retainlint.cache.codec import WAITING, Codec, Reader, Writer
from retainlint.text.source import Source

CODEC = Codec(lambda: (ir, program), (ir.Live,))


def written(value: object) -> tuple[bytes, list[ir.Deferred]]:
    """Code, or a tuple of such, as a line without the bodies that wait; and whose these are. Raises ValueError and
    RecursionError, the former also where something couldn't be read: it may only have been too deep for the stack at hand."""
    block = value.body if isinstance(value, ir.Code) and value.qualname else value
    if isinstance(block, tuple) and block and isinstance(block[0], ir.Opaque):
        raise ValueError("it couldn't be read")
    writer, waiting = Writer(CODEC, lambda _: 0), list[ir.Deferred]()

    def wait(one: ir.Deferred) -> list[Any]:
        waiting.append(one)
        return [WAITING, writer.value(one.head), one.backward_passes]

    writer.plans[ir.Deferred] = wait
    return writer.line(writer.value(value)), waiting


def read(line: bytes, source: Source, make: Callable[[ir.Head], ir.Code] | None = None) -> Any:
    """What was written, with `make` for the bodies that wait; errors as a `Reader`'s."""
    reader = Reader(CODEC, [source])

    def waiting(row: Any) -> ir.Deferred:
        assert make is not None
        return ir.Deferred(reader.value(row[1]), row[2], make)

    reader.plans[WAITING] = waiting
    return reader.line(line)
