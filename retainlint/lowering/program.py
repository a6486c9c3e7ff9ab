"""A module, lowered: the tree is parsed and walked here, and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from retainlint.ir import Block, Code, Head, Scope
from retainlint.lowering import expressions, functions, limits, patterns, statements
from retainlint.lowering.builder import Builder, Unit
from retainlint.lowering.guards import LoweringError
from retainlint.lowering.liveness import has_branches, with_liveness
from retainlint.lowering.outline import Outline, names_used
from retainlint.lowering.parse import no_collection, parse, parse_around, parse_rows
from retainlint.lowering.scopes import Holder, Names, bindings_of
from retainlint.program import Part, Program
from retainlint.startup.process import room_to_recurse
from retainlint.text.prefilter import backward, trained
from retainlint.text.source import Source, Span

_VALUES = {**expressions.VALUES, **expressions.LITERALS, **statements.COMPREHENSIONS, **functions.VALUES}
_STATEMENTS = {**statements.STATEMENTS, **functions.STATEMENTS, **patterns.STATEMENTS}


def lower_source(source: Source, found: Outline | None, whole: bool = False, later: bool = False) -> Program:
    """The program that a text spells; raises LoweringError for a text that isn't Python or can't be read safely."""
    try:
        with room_to_recurse(limits.PARSER_FRAMES), no_collection():
            return _lowered(source, found, whole, later)
    except RecursionError as error:
        raise LoweringError(source, "the code is nested too deeply to be checked", 0) from error


def _lowered(source: Source, found: Outline | None, whole: bool, later: bool = False) -> Program:
    text = source.text
    backward_passes = _spelled(text) if found is None else found.backward_passes
    unit = Unit(source, {}, _VALUES, _STATEMENTS, sorted(backward_passes))
    aside = {} if whole or found is None else dict(found.bodies) if later else found.aside()
    types = {} if whole or found is None else dict(found.types)
    tree = parse_around(source, {**aside, **types}) if aside or types else None
    if tree is not None:
        unit = replace(unit, aside=aside)
    else:
        tree = parse(source)
    unit.offsets.update(tree.offsets)
    bindings = bindings_of(tree.module.body, unit.walruses(0, len(text)))
    builder = Builder(unit, Names(Holder.MODULE, bindings, None), "")
    for statement in tree.module.body:
        builder.statement(statement)
    if unit.aside and has_branches(builder.out):
        used = names_used(text)
        if used is None:
            return _lowered(source, found, whole=True)
        builder.names.use_unseen(used)
    module = functions.finish(builder, "<module>", Span(source, 0, len(text)), (0, len(text)))
    return Program(source, module, tuple(unit.gaps))


def unit_of(source: Source, backward_passes: Iterable[int]) -> Unit:
    """A text of which parts are lowered."""
    return Unit(source, {}, _VALUES, _STATEMENTS, sorted(backward_passes))


def _spelled(text: str) -> list[int]:
    """Where a walk may be spelt in a text that has no outline."""
    return [found.start() for found in re.finditer(backward(), text)] + [start for start, _ in trained(text)]


def lower_part(unit: Unit, part: Part, pieces: dict[int, int], bodies: dict[int, int]) -> Block:
    """What a part of a module does; `pieces` of it are put aside, `bodies` among them.

    Raises LoweringError where it can't be read safely.
    """
    try:
        with room_to_recurse(limits.PARSER_FRAMES), no_collection():
            tree = parse_around(unit.source, pieces, part.start, part.end) if pieces else None
            unit = replace(unit, gaps=[], aside=bodies if tree is not None else {})
            tree = tree or parse_rows(unit.source, part.start, part.end)
            unit = replace(unit, offsets=tree.offsets)
            bindings = bindings_of(tree.module.body, unit.walruses(part.start, part.end))
            builder = Builder(unit, Names(Holder.MODULE, bindings, None, first=part.start), "")
            for statement in tree.module.body:
                builder.statement(statement)
            return with_liveness(tuple(builder.out), frozenset(), Scope.GLOBAL)
    except RecursionError as error:
        raise LoweringError(unit.source, "the code is nested too deeply to be checked", part.start) from error


def lower_waiting(source: Source, head: Head) -> Code:
    """A function whose body was put aside, for there is no walk in it."""
    return functions.with_body(Unit(source, {}, _VALUES, _STATEMENTS, []), head)
