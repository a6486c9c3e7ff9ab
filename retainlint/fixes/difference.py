"""In which functions and classes two texts of a module differ, and which of them see that: by their names, without a run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from retainlint.fixes.code import EditableCode
from retainlint.incident import Definition
from retainlint.text.source import Span

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

IMPORTS = (ast.Import, ast.ImportFrom)


class _Statement(NamedTuple):
    start: int
    end: int
    node: ast.stmt


class Difference:
    """`edited` are the functions and classes that aren't in both texts as they are in one; `seeing` are those, and where a
    class or what stands outside of them differs, whoever reads its names, or the names of what is made of that."""

    def __init__(self, old: EditableCode, new: EditableCode) -> None:
        self._new, before, after = new, _statements(old), _statements(new)
        self._kept = [(*before[rows][:2], after[rows].start) for rows in before.keys() & after.keys()]
        changed = [(before.get(rows) or after[rows]).node for rows in before.keys() ^ after.keys()]
        edited = {each.name for node in changed for each in _outer(node)}
        imported = {name for each in new.tree.body if isinstance(each, IMPORTS) for name in _names(each)}
        one, other = ({each.name for each in code.definitions} for code in (old, new))
        names = (one ^ other) | {node.name for node in changed if isinstance(node, ast.ClassDef)}
        for node in changed:
            if not isinstance(node, DEFINITIONS):
                names |= _names(node) - (set() if isinstance(node, IMPORTS) else imported)
        self.edited, self.seeing = self._definitions(edited), self._definitions(self._seeing(edited, names, imported))

    def _seeing(self, units: set[str], names: set[str], imported: set[str]) -> set[str]:
        """Who reads some names, or those that are made, outside of functions, of such names and units."""
        used = [(node, _names(node)) for node in self._new.tree.body if not isinstance(node, IMPORTS)]
        units, known = set(units), -1
        while known < len(units) + len(names):
            known = len(units) + len(names)
            for node, own in used:
                if isinstance(node, DEFINITIONS):
                    units |= set() if own.isdisjoint(names) else {node.name}
                elif not own.isdisjoint(names | units):
                    names = names | own - imported
                    units |= {each.name for each in _outer(node)}
        return units

    def _definitions(self, names: set[str]) -> frozenset[Definition]:
        return frozenset((self._new.source.name, name) for name in names)

    def moved(self, span: Span) -> Span | None:
        """Where a part of the old text stands in the new one, or of another module's; None in a statement that isn't there."""
        if span.source.name != self._new.source.name:
            return span
        for start, end, now in self._kept:
            if start <= span.start and span.end <= end:
                return Span(self._new.source, span.start - start + now, span.end - start + now)
        return None


def _statements(code: EditableCode) -> dict[str, _Statement]:
    """The statements of a module by their rows, decorators included."""
    found: dict[str, _Statement] = {}
    ends = [*code.source.row_starts, len(code.text)]
    for node in code.tree.body:
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
        start, end = ends[first - 1], ends[node.end_lineno or first]
        found[code.text[start:end]] = _Statement(start, end, node)
    return found


def _outer(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """The functions and classes that a statement of a module makes there."""
    if isinstance(node, DEFINITIONS):
        yield node
    elif not isinstance(node, ast.expr):
        for each in ast.iter_child_nodes(node):
            yield from _outer(each)


def _names(node: ast.AST) -> set[str]:
    """The names that a statement binds, or reads of what is around it; of a function only what it reads."""
    if isinstance(node, IMPORTS):
        return {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    used, bound = set[str](), set[str]()
    pending = [*ast.iter_child_nodes(node)]
    while pending:
        match pending.pop():
            case ast.Name(id=name, ctx=context):
                (used if isinstance(context, ast.Load) else bound).add(name)
            case ast.arg(arg=name):
                bound.add(name)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() as inner:
                bound.add(inner.name)
                used |= _names(inner)
            case other:
                pending += ast.iter_child_nodes(other)
    return used - bound if isinstance(node, FUNCTIONS) else used | bound
