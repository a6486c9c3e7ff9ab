"""What becomes of a call's result in the text: dropped, bound to a name, or used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields

from retainlint import ir
from retainlint.source import Span

_BINDS = (ir.Store, ir.SetAttr, ir.SetItem)
_USES = (*_BINDS, ir.GetAttr, ir.GetItem, ir.Binary, ir.Unary, ir.Compare, ir.Call, ir.Build, ir.Unpack)
"""What can't be meant of None; to return it, or to ask whether it is true, may be."""


@dataclass
class Uses:
    """The readers of every register of the codes that were asked for."""

    known: dict[int, tuple[ir.Code, dict[Span, int], dict[int, list[ir.Instr]]]] = field(default_factory=dict)

    def is_dropped(self, code: ir.Code, call: Span) -> bool:
        """Whether the call at `call` is a statement of its own."""
        results, readers = self._of(code)
        return call in results and not readers.get(results[call])

    def user(self, code: ir.Code, call: Span) -> tuple[ir.Instr, Span | None] | None:
        """What uses the result of the call at `call`, and the target that it is bound to, if it is."""
        results, readers = self._of(code)
        for instr in readers.get(results.get(call, -1), ()):
            if isinstance(instr, _USES) and not (isinstance(instr, ir.Store) and instr.name.startswith("_")):
                return instr, instr.span if isinstance(instr, _BINDS) else None
        return None

    def _of(self, code: ir.Code) -> tuple[dict[Span, int], dict[int, list[ir.Instr]]]:
        """Where each call's result goes, and who reads what; a code is told by its identity, which costs nothing."""
        if id(code) not in self.known:
            results: dict[Span, int] = {}
            readers: dict[int, list[ir.Instr]] = {}
            for instr in _all(code.body):
                if isinstance(instr, ir.Call):
                    results[instr.span] = instr.dst
                for register in _reads(instr):
                    readers.setdefault(register, []).append(instr)
            self.known[id(code)] = code, results, readers
        return self.known[id(code)][1:]


def _all(block: ir.Block) -> Iterator[ir.Instr]:
    """Every instruction of a code, those of inner blocks too."""
    for instr in block:
        yield instr
        match instr:
            case ir.If(then=then, orelse=orelse):
                yield from _all(then + orelse)
            case ir.For(body=body, orelse=orelse):
                yield from _all(body + orelse)
            case ir.While(test=test, body=body, orelse=orelse):
                yield from _all(test + body + orelse)
            case ir.With(body=body):
                yield from _all(body)
            case ir.Try(body=body, handlers=handlers, orelse=orelse, final=final):
                yield from _all(body + orelse + final)
                for handler in handlers:
                    yield from _all(handler.test + handler.body)


_WRITES = {"dst", "star", "level"}


def _reads(instr: ir.Instr) -> Iterator[int]:
    """The registers that an instruction reads; blocks inside it are not looked into."""
    for each in fields(instr):
        value = getattr(instr, each.name)
        if each.name in _WRITES or isinstance(value, bool):
            continue
        if isinstance(instr, ir.Const) or (isinstance(instr, ir.For) and each.name == "item"):
            continue
        if isinstance(value, int):
            yield value
        elif isinstance(value, ir.Item):
            yield from _parts(value)
        elif isinstance(value, tuple):
            for part in value:
                if isinstance(part, ir.Arg):
                    yield part.value
                elif isinstance(part, ir.Item):
                    yield from _parts(part)
        elif isinstance(value, ir.Code):
            yield from (param.default for param in value.params if param.default is not None)


def _parts(item: ir.Item) -> Iterator[int]:
    yield item.value
    if item.key is not None:
        yield item.key
