"""Control dependence: the answers without which a path can't come to a statement, read off the instructions around it."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TypeAlias

from retainlint import ir
from retainlint.incident import Freed, Incident, LeafModified, Modified, Moment, NoGraph, Refused
from retainlint.symbolic.interpreter.handlers import gives_up, leaves
from retainlint.text.source import Span

Answer: TypeAlias = "tuple[Span, bool]"
"""A condition, and how it was answered."""


def controlling(incident: Incident, codes: Collection[ir.Code]) -> frozenset[Answer]:
    """Of the answers of a failing path those on which all its moments depend, and those without which an exception ends it
    before: that they are given says no more than that somebody comes to it. `codes` are the functions that were run, and
    the module."""
    needed = [_of_moment(moment, codes) for moment in _moments(incident)]
    found = frozenset[Answer]().union(*needed[:1]).intersection(*needed[1:])
    asked = ((each.span, each.taken) for each in incident.conditions)
    return found | {(span, taken) for span, taken in asked if _is_guard(span, taken, codes)}


def _moments(incident: Incident) -> Sequence[Moment]:
    """What has to happen for it, the failure itself first."""
    match incident:
        case Freed():
            return incident.reused.moment, incident.freed.moment
        case Modified():
            return incident.backward_pass.moment, incident.modified
        case NoGraph():
            return (incident.backward_pass.moment,)
        case LeafModified():
            return (incident.modified,)
        case Refused():
            return (incident.call,)
    return ()


def _of_moment(moment: Moment, codes: Iterable[ir.Code]) -> frozenset[Answer]:
    """Those of a statement, and of each call by which it was come to."""
    needed = (_needed(_around(place, codes), place) for place in (*moment.frames, moment.span))
    return frozenset(each for several in needed for each in several or ())


def _around(place: Span, codes: Iterable[ir.Code]) -> ir.Block:
    """The body of the innermost function that holds a place, or of the module."""
    inside = [code for code in codes if code.span.source is place.source and _is_within(place, code)]
    inner = min(
        inside, key=lambda code: code.extent[1] - code.extent[0] if code.qualname else sys.maxsize, default=None
    )
    return () if inner is None else inner.body


def _is_within(place: Span, code: ir.Code) -> bool:
    return not code.qualname or code.extent[0] <= place.start < code.extent[1]


def _is_guard(span: Span, taken: bool, codes: Iterable[ir.Code]) -> bool:
    """Whether the other answer raises."""
    tests = (each for each in ir.walk(_around(span, codes)) if isinstance(each, ir.If) and each.span == span)
    return any(gives_up(each.orelse if taken else each.then) for each in tests)


def _needed(block: ir.Block, place: Span) -> list[Answer] | None:
    """The answers that lead to a place in a block; None if it isn't there."""
    found: list[Answer] = []
    for at, instr in enumerate(block):
        if instr.span == place and not isinstance(instr, ir.If):
            return found
        for number, inner in enumerate(ir.blocks(instr)):
            if (deeper := _needed(inner, place)) is not None:
                own = _given(block[:at], instr, number == 0) if isinstance(instr, ir.If) else ()
                return [*found, *own, *deeper]
        found += _passed(block[:at], instr)
    return None


def _passed(before: ir.Block, instr: ir.Instr) -> Iterator[Answer]:
    """The answers that lead to what stands behind an instruction."""
    if isinstance(instr, ir.If) and (left := leaves(instr.then)) != leaves(instr.orelse):
        yield from _given(before, instr, not left)
        arm = instr.orelse if left else instr.then
        for at, each in enumerate(arm):
            yield from _passed(arm[:at], each)


def _given(before: ir.Block, test: ir.If, answer: bool) -> Iterator[Answer]:
    """An answer, and those of what the test is joined of, by `and` if it holds, by `or` if it doesn't."""
    yield test.span, answer
    for each in ir.walk(before):
        if isinstance(each, ir.If) and each.span.source is test.span.source and _is_part(each.span, test.span):
            other = each.orelse if answer else each.then
            if len(other) == 1 and isinstance(other[0], ir.Move):
                yield each.span, answer


def _is_part(part: Span, whole: Span) -> bool:
    return part != whole and whole.start <= part.start and part.end <= whole.end
