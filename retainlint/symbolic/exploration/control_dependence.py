"""Control dependence: the answers without which a path can't come to a statement, read off the instructions around it."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TypeAlias

from retainlint import ir
from retainlint.incident import Freed, Incident, LeafModified, Modified, Moment, NoGraph, Refused
from retainlint.symbolic.interpreter.handlers import EXITS
from retainlint.symbolic.interpreter.instructions import only_raises
from retainlint.text.source import Span

Answer: TypeAlias = "tuple[Span, bool]"
"""A condition, and how it was answered."""


def controlling(incident: Incident, codes: Collection[ir.Code]) -> frozenset[Answer]:
    """Of the answers of a failing path those on which all its moments depend, and those without which an exception ends it
    before: that they are given says no more than that somebody comes to it. `codes` are the functions that were run, and
    the module."""
    needed = [reached_by(moment, codes) for moment in _moments(incident)]
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


def reached_by(moment: Moment, codes: Iterable[ir.Code]) -> frozenset[Answer]:
    """The answers on which a statement depends, and each call by which it was come to."""
    around = ((_around(place, codes), place) for place in (*moment.frames, moment.span))
    needed = (_needed(code.body, place) for code, place in around if code is not None)
    return frozenset(each for several in needed for each in several)


def _around(place: Span, codes: Iterable[ir.Code]) -> ir.Code | None:
    """The innermost function that holds a place, or the module."""
    inside = [code for code in codes if code.span.source is place.source and _is_within(place, code)]
    return min(inside, key=lambda code: code.extent[1] - code.extent[0] if code.qualname else sys.maxsize, default=None)


def _is_within(place: Span, code: ir.Code) -> bool:
    return not code.qualname or code.extent[0] <= place.start < code.extent[1]


def _is_guard(span: Span, taken: bool, codes: Iterable[ir.Code]) -> bool:
    """Whether the other answer raises, or ends the program."""
    code = _around(span, codes)
    others = (each.orelse if taken else each.then for each in (code.tests.get(span, ()) if code is not None else ()))
    return any(only_raises(each) or any(_exits(each)) for each in others)


def _exits(block: ir.Block) -> Iterator[bool]:
    """Of each call in a block whether it ends the program."""
    names: dict[ir.Register, tuple[str, str]] = {}
    for instr in block:
        match instr:
            case ir.Load(dst=dst, name=name):
                names[dst] = "", name
            case ir.GetAttr(dst=dst, obj=obj, name=name):
                names[dst] = names.get(obj, ("", ""))[1], name
            case ir.Call(func=func):
                yield names.get(func) in EXITS


def _needed(block: ir.Block, place: Span) -> list[Answer]:
    """The answers that lead to a place in a block."""
    found: list[Answer] = []
    left: dict[int, bool] = {}
    for around, at, arm in _way(block, place):
        for before, instr in enumerate(around[:at]):
            found += _passed(around[:before], instr, left)
        if arm is not None and isinstance(test := around[at], ir.If):
            found += _given(around[:at], test, arm == 0)
    return found


def _way(block: ir.Block, place: Span) -> list[tuple[ir.Block, int, int | None]]:
    """The blocks around a place, the outermost first: where in each, and in which block of that instruction, it goes on."""
    for at, instr in enumerate(block):
        if instr.span == place and not isinstance(instr, ir.If):
            return [(block, at, None)]
        for arm, inner in enumerate(ir.blocks(instr)):
            if way := _way(inner, place):
                return [(block, at, arm), *way]
    return []


def _passed(before: ir.Block, instr: ir.Instr, left: dict[int, bool]) -> Iterator[Answer]:
    """The answers that lead to what stands behind an instruction."""
    while isinstance(instr, ir.If) and (ends := _leaves(instr.then, left)) != _leaves(instr.orelse, left):
        yield from _given(before, instr, not ends)
        arm = instr.orelse if ends else instr.then
        if not arm:
            return
        for at, each in enumerate(arm[:-1]):
            yield from _passed(arm[:at], each, left)
        before, instr = arm[:-1], arm[-1]


def _leaves(block: ir.Block, left: dict[int, bool]) -> bool:
    """Whether a block never comes to what stands behind it; `left` tells what is known of others, by their identity."""
    if id(block) not in left:
        left[id(block)] = any(_exits(block)) or any(_goes(instr, left) for instr in reversed(block))
    return left[id(block)]


def _goes(instr: ir.Instr, left: dict[int, bool]) -> bool:
    match instr:
        case ir.Return() | ir.Raise() | ir.Break() | ir.Continue():
            return True
        case ir.If(then=then, orelse=orelse):
            return _leaves(then, left) and _leaves(orelse, left)
        case ir.With(body=body):
            return _leaves(body, left)
    return False


def _given(before: ir.Block, test: ir.If, answer: bool) -> Iterator[Answer]:
    """An answer, and those of what the test is joined of, by `and` if it holds, by `or` if it doesn't."""
    yield test.span, answer
    for instr in reversed(before):
        if not isinstance(instr, ir.If):
            continue
        if not _is_part(instr.span, test.span):
            return
        for each in ir.walk((instr,)):
            other = () if not isinstance(each, ir.If) else each.orelse if answer else each.then
            if len(other) == 1 and isinstance(other[0], ir.Move):
                yield each.span, answer


def _is_part(part: Span, whole: Span) -> bool:
    return part != whole and whole.start <= part.start and part.end <= whole.end
