"""Which entries of a program an edit can't reach: what they do is as before, and needn't be run again to try a fix."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from retainlint.diagnostic import Edit, Fix
from retainlint.fixes.code import EditableCode
from retainlint.fixes.proof import Seen
from retainlint.incident import Definition, Entry
from retainlint.text.source import Source

WORTH = 2
"""What is left out must be this part of all steps, for the program without it is checked once more before any fix is."""


def beyond_reach(
    seen: Seen, fix: Fix, home: Source, parsed: Callable[[Source], EditableCode | None]
) -> frozenset[Definition]:
    """What needn't be run for itself to try a fix: what came to none of the functions and classes that it edits, and what was
    reached from there. Empty where that is little, or an edit stands outside of all of them."""
    units = {unit_of(parsed(source), each) for source, edits in fix.by_source(home).items() for each in edits}
    edited = frozenset(each for each in units if each is not None)
    if len(edited) < len(units):
        return frozenset()
    within, beyond = reaching(seen.entries, edited)
    if sum(entry.steps for entry in beyond) * WORTH < seen.steps:
        return frozenset()
    return frozenset(each for entry in beyond for each in (entry.start, *entry.reached)) - {
        each.start for each in within
    }


def reaching(entries: Sequence[Entry], edited: frozenset[Definition]) -> tuple[list[Entry], list[Entry]]:
    """The entries that came to functions and classes that are edited, or whose methods did, and the others."""
    groups: dict[Definition, list[Entry]] = {}  # methods of a class share its object, and what they know of each other
    for entry in entries[1:]:  # the module's body is run in any case
        groups.setdefault(outermost(entry.start), []).append(entry)
    within, beyond = list[Entry](), list[Entry]()
    for start, group in groups.items():
        reached = {start, *(outermost(each) for entry in group for each in entry.reached)}
        (beyond if edited.isdisjoint(reached) else within).extend(group)
    return within, beyond


def outermost(definition: Definition) -> Definition:
    """The function or class of the module in which one is defined."""
    return definition[0], definition[1].partition(".")[0]


def unit_of(code: EditableCode | None, edit: Edit) -> Definition | None:
    """The function or class of the module in which an edit stands; None for one that stands outside."""
    if code is None:
        return None
    for node in code.definitions:
        if code.start(node) <= edit.start:
            end = code.end(node)
            if not edit.text.strip() or edit.text[:1].isspace():  # its last row, or one that is added behind it
                end = code.text.find("\n", end) + 1 or len(code.text)
            if edit.end <= end:
                return code.source.name, node.name
    return None
