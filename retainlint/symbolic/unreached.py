"""Which walks of a function no path came to, where paths were dropped: it is then run for itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

from retainlint import ir
from retainlint.source import Span

_WALK = re.compile(r".*\.\s*backward\s*\([^()]*\)", re.DOTALL)


def has_walks(code: ir.Code, walked: set[Span]) -> bool:
    """Whether a walk stands in a function's own body that isn't among those that were executed."""
    return any(span not in walked for span in _walks(code.body))


def _walks(block: ir.Block) -> Iterator[Span]:
    for instr in block:
        match instr:
            case ir.Call(span=span) if _WALK.fullmatch(span.text):
                yield span
            case ir.If(then=then, orelse=orelse):
                yield from _walks(then + orelse)
            case ir.For(body=body, orelse=orelse):
                yield from _walks(body + orelse)
            case ir.While(test=test, body=body, orelse=orelse):
                yield from _walks(test + body + orelse)
            case ir.With(body=body):
                yield from _walks(body)
            case ir.Try(body=body, handlers=handlers, orelse=orelse, final=final):
                yield from _walks(body + orelse + final)
                for handler in handlers:
                    yield from _walks(handler.body)
