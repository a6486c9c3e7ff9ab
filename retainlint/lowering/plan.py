"""A module's statements as parts, each with what it needs and does: nothing is lowered for that."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from retainlint.lowering.bindings import kinds_of
from retainlint.lowering.effects import look
from retainlint.lowering.facts import Facts
from retainlint.lowering.known import Known
from retainlint.parts import Part
from retainlint.records import record
from retainlint.source import Source


@record
class Extent:
    """Statements that share rows: from their first character to their last."""

    start: int
    end: int
    nodes: tuple[ast.stmt, ...]


def plan(source: Source, tree: ast.Module) -> tuple[Part, ...]:
    """The parts of a module."""
    kinds = kinds_of(tree.body)
    known = Known(tree, kinds)
    extents = list(_extents(source, tree.body))
    seen = [look(extent.nodes, kinds) for extent in extents]
    tied = _tied(seen)
    for facts in seen:
        known.follow(facts)
        facts.changes.update(*[tied.get(name, ()) for name in facts.changes])
    if any(facts.sees for facts in seen):
        return (_whole(source, seen),)
    own = frozenset(name for facts in seen for name in facts.binds)
    return tuple(_part(extent, facts, own) for extent, facts in zip(extents, seen))


def _part(extent: Extent, facts: Facts, own: frozenset[str]) -> Part:
    uses = tuple(use for use in facts.uses if use.alone or use.attributes or use.registers)
    binds, reads, changes = frozenset(facts.binds), frozenset(facts.reads & own), frozenset(facts.changes & own)
    imports = tuple(facts.imports)
    return Part(extent.start, extent.end, binds, reads, changes, imports, uses, facts.outside, facts.stars)


def _whole(source: Source, seen: Sequence[Facts]) -> Part:
    """All of a module that reads or binds names which nobody spells."""
    binds = frozenset(name for facts in seen for name in facts.binds)
    return Part(0, len(source.text), binds, frozenset(), frozenset(), always=True, stars=True)


def _tied(seen: Sequence[Facts]) -> dict[str, set[str]]:
    """The names by whose values a change may be seen that is made by another: what one keeps the other has."""
    groups: dict[str, set[str]] = {}
    for facts in seen:
        if facts.keeps:
            group = set(facts.binds | facts.keeps)
            for name in list(group):
                group |= groups.get(name, set())
            groups.update(dict.fromkeys(group, group))
    return groups


def _extents(source: Source, body: Sequence[ast.stmt]) -> Iterator[Extent]:
    """The statements, those together that share a row."""
    nodes: list[ast.stmt] = []
    first = last = 0
    for node in body:
        begin = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
        if nodes and begin <= last:
            nodes.append(node)
            last = node.end_lineno or begin
            continue
        if nodes:
            yield _extent(source, first, last, nodes)
        nodes, first, last = [node], begin, node.end_lineno or begin
    if nodes:
        yield _extent(source, first, last, nodes)


def _extent(source: Source, first: int, last: int, nodes: list[ast.stmt]) -> Extent:
    start = source.row_starts[first - 1]
    end = source.row_starts[last] if last < len(source.row_starts) else len(source.text)
    return Extent(start, end, tuple(nodes))
