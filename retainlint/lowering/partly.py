"""A module of which each part is lowered when it is asked for."""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_left
from collections.abc import Iterator
from typing import TYPE_CHECKING

from retainlint.ir import Block, Code, Import, Instr, Opaque, Program, Scope, Store
from retainlint.lowering.errors import LoweringError
from retainlint.lowering.outline import Outline
from retainlint.lowering.plan import effect_of
from retainlint.lowering.quick import import_libcst
from retainlint.parts import Effect, Part, Parts
from retainlint.source import Source, Span

if TYPE_CHECKING:
    from retainlint.lowering.builder import Unit

_IMPORTS = re.compile(r"(?:import|from)\b")


def partly(source: Source, found: Outline) -> Program:
    """The program that a text spells, by its outline."""
    lowering = Lowering(source, found)
    parts = Parts(found.parts, lowering, lowering.effect)
    span = Span(source, 0, len(source.text))
    module = Code("<module>", "", span, (), (), parts.names, parts.names, walks=bool(found.walks))
    return Program(source, module, (), parts)


class Lowering:
    """Lowers the parts of a text."""

    def __init__(self, source: Source, found: Outline) -> None:
        self._source, self.found = source, found
        self._aside: dict[int, int] = {}
        self._pieces: list[tuple[int, int]] | None = None
        self._unit: Unit | None = None
        self._effects: dict[str, Effect] = {}

    def __call__(self, part: Part) -> Block:
        """What a part does; unknown where it can't be read safely."""
        if (imports := self._imports(part)) is not None:
            return imports
        try:
            return self._lowered(part)
        except LoweringError as error:
            return (Opaque(Span(self._source, part.start, part.end), error.reason),)

    def _lowered(self, part: Part) -> Block:
        import_libcst()
        from retainlint.lowering.program import lower_part, unit_of

        if self._unit is None or self._pieces is None:
            self._unit = unit_of(self._source, self.found.walks)
            self._aside = self.found.aside()
            self._pieces = sorted({**self._aside, **dict(self.found.types)}.items())
        first, last = (bisect_left(self._pieces, (at, 0)) for at in (part.start, part.end))
        inner = dict(self._pieces[first:last])
        bodies = {start: end for start, end in inner.items() if start in self._aside}
        return lower_part(self._unit, part, inner, bodies)

    def effect(self, name: str) -> Effect:
        """What a call of a function of the text may change."""
        if name not in self._effects:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._effects[name] = effect_of(ast.parse(self._source.text), name)
        return self._effects[name]

    def _imports(self, part: Part) -> Block | None:
        """The instructions of a part that holds nothing but imports: no libcst is needed for those."""
        text = self._source.text
        if _IMPORTS.match(text, part.start, part.end) is None:
            return None
        rows = text[part.start : part.end]
        if not rows.isascii():
            return None
        body = ast.parse(rows).body
        if not all(isinstance(node, (ast.Import, ast.ImportFrom)) for node in body):
            return None
        return tuple(_imported(self._source, part.start, body))


def _imported(source: Source, at: int, body: list[ast.stmt]) -> Iterator[Instr]:
    register = 0
    for node in body:
        assert isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names:
            span = _span(source, at, node if alias.name == "*" else alias)
            if isinstance(node, ast.Import):
                yield Import(span, register, alias.name, None if alias.asname is None else "")
            else:
                yield Import(span, register, node.module or "", alias.name, node.level)
            if alias.name != "*":
                bound = alias.asname or (alias.name.partition(".")[0] if isinstance(node, ast.Import) else alias.name)
                yield Store(span, bound, Scope.GLOBAL, register)
            register += 1


def _span(source: Source, at: int, node: ast.alias | ast.Import | ast.ImportFrom) -> Span:
    first = source.place(at)[0] - 2
    start = source.row_starts[first + node.lineno] + node.col_offset
    end = source.row_starts[first + (node.end_lineno or node.lineno)] + (node.end_col_offset or 0)
    return Span(source, start, end)
