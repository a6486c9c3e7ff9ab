"""A module of which each part is lowered when it is asked for."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from retainlint.ir import Block, Code, If, Import, Instr, Load, Opaque, Scope, Store
from retainlint.lowering.bindings import asks_for_types
from retainlint.lowering.guards import LoweringError
from retainlint.lowering.outline import KnownByParts, Outline
from retainlint.program import Effect, Origin, Part, Parts, Program
from retainlint.startup.libcst_import import import_libcst
from retainlint.text.source import Source, Span

if TYPE_CHECKING:
    from retainlint.lowering.builder import Unit

_IMPORTS = re.compile(r"(?:import|from|if[ \t]+TYPE_CHECKING)\b")


def partly(source: Source, found: Outline) -> Program:
    """The program that a text spells, by its outline."""
    lowering = Lowering(source, found)
    parts = Parts(found.parts, lowering, lowering.effect)
    span = Span(source, 0, len(source.text))
    backward_passes, extent = bool(found.backward_passes), (0, len(source.text))
    module = Code("<module>", "", span, (), (), parts.names, parts.names, False, False, 0, (), backward_passes, extent)
    return Program(source, module, (), parts)


class Lowering:
    """Lowers the parts of a text."""

    def __init__(self, source: Source, found: Outline) -> None:
        self._source, self.found = source, found
        self._aside: dict[int, int] = {}
        self._pieces: list[tuple[int, int]] | None = None
        self._unit: Unit | None = None
        self._effects: dict[tuple[str, bool], Effect] = {}

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
            self._unit = unit_of(self._source, self.found.backward_passes)
            self._aside = self.found.aside()
            self._pieces = sorted({**self._aside, **dict(self.found.types)}.items())
        first, last = (bisect_left(self._pieces, (at, 0)) for at in (part.start, part.end))
        inner = dict(self._pieces[first:last])
        bodies = {start: end for start, end in inner.items() if start in self._aside}
        return lower_part(self._unit, part, inner, bodies)

    def effect(self, name: str, dropped: bool) -> Effect:
        """What a call of a function of the text may change, and whether what it gives is `dropped`."""
        if (name, dropped) not in self._effects:
            self._effects[name, dropped] = self._known.effect(name, dropped)
        return self._effects[name, dropped]

    @cached_property
    def _known(self) -> KnownByParts:
        return KnownByParts(self._source.text, self.found.parts)

    @cached_property
    def _knows_typing(self) -> bool:
        """Whether `TYPE_CHECKING` is what it is named like: where it is read, the module isn't run."""
        binding = [part.imports for part in self.found.parts if "TYPE_CHECKING" in part.binds]
        return len(binding) == 1 and Origin("typing", "TYPE_CHECKING", 0) in binding[0]

    def _imports(self, part: Part) -> Block | None:
        """The instructions of a part that holds nothing but imports, or those for types: no libcst is needed for that."""
        text = self._source.text
        if _IMPORTS.match(text, part.start, part.end) is None:
            return None
        rows = text[part.start : part.end]
        if not rows.isascii():
            return None
        body = ast.parse(rows).body
        if imports := _all_imports(body):
            return tuple(_imported(self._source, part.start, imports, 0))
        if len(body) == 1 and isinstance(body[0], ast.If) and isinstance(body[0].test, ast.Name):
            test, then, orelse = body[0].test, _all_imports(body[0].body), body[0].orelse
            asks = asks_for_types(test) and (not orelse or self._knows_typing)
            if then and asks and not any(isinstance(node, ast.ImportFrom) for node in orelse):
                asked = _span(self._source, part.start, test)
                block = tuple(_imported(self._source, part.start, then, 1))
                return Load(asked, 0, test.id, Scope.GLOBAL), If(asked, 0, block, ())
        return None


def _all_imports(body: list[ast.stmt]) -> list[ast.Import | ast.ImportFrom]:
    """Some statements, if they are nothing but imports."""
    found = [node for node in body if isinstance(node, (ast.Import, ast.ImportFrom))]
    return found if len(found) == len(body) else []


def _imported(source: Source, at: int, body: list[ast.Import | ast.ImportFrom], register: int) -> Iterator[Instr]:
    for node in body:
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


def _span(source: Source, at: int, node: ast.alias | ast.stmt | ast.expr) -> Span:
    first = source.place(at)[0] - 2
    start = source.row_starts[first + node.lineno] + node.col_offset
    end = source.row_starts[first + (node.end_lineno or node.lineno)] + (node.end_col_offset or 0)
    return Span(source, start, end)
