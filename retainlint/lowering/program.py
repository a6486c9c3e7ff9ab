"""A module, lowered: the tree is parsed and walked here, and nowhere else."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager

from retainlint.ir import Program
from retainlint.lowering import comprehensions, expressions, functions, literals, patterns, statements
from retainlint.lowering.builder import Builder, Unit
from retainlint.lowering.errors import LoweringError
from retainlint.lowering.parse import Tree, parse, room_to_recurse
from retainlint.lowering.scopes import Holder, Names, bindings_of
from retainlint.source import Source, Span

_WALK = re.compile(r"\.\s*\w*backward\b|(?<!def )\b\w*backward\s*\(|\bgrad\s*\(")

_VALUES = {**expressions.VALUES, **literals.VALUES, **comprehensions.VALUES, **functions.VALUES}
_STATEMENTS = {**statements.STATEMENTS, **functions.STATEMENTS, **patterns.STATEMENTS}


def lower_source(source: Source) -> Program:
    """The program that a text spells; raises LoweringError for a text that isn't Python or can't be read safely."""
    try:
        with room_to_recurse(), _no_collection():
            return _lowered(source, parse(source))
    except RecursionError as error:
        raise LoweringError(source, "the code is nested too deeply to be checked", 0) from error


def _lowered(source: Source, tree: Tree) -> Program:
    text = source.text
    walk_offsets = [found.start() for found in _WALK.finditer(text)]
    unit = Unit(source, tree.offsets, _VALUES, _STATEMENTS, walk_offsets)
    bindings = bindings_of(tree.module.body, unit.holds_walrus(0, len(text)))
    builder = Builder(unit, Names(Holder.MODULE, bindings, None), "")
    for statement in tree.module.body:
        builder.statement(statement)
    module = functions.finish(builder, "<module>", Span(source, 0, len(text)), (0, len(text)))
    return Program(source, module, tuple(unit.gaps))


@contextmanager
def _no_collection() -> Iterator[None]:
    """A tree is all live objects and no garbage: looking for cycles in it takes a third of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
