"""Control dependence: the answers without which a path can't come to a statement, read off the instructions around it."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias

from retainlint import ir
from retainlint.incident import (
    Freed,
    Incident,
    InferenceUsed,
    LeafModified,
    Modified,
    Moment,
    NoGraph,
    Refused,
    ViewModified,
)
from retainlint.symbolic.interpreter.exceptions import EXITS
from retainlint.symbolic.interpreter.instructions import only_raises
from retainlint.text.source import Span

Answer: TypeAlias = "tuple[Span, bool]"
"""A condition, and how it was answered."""

Trail: TypeAlias = "tuple[Trail, Answer] | None"
"""The last of the answers that lead to a place, behind those before it: what lies on one way shares them."""


def controlling(incident: Incident, codes: Collection[ir.Code]) -> frozenset[Answer]:
    """Of the answers of a failing path those on which all its moments depend, and those without which an exception ends it
    before: that they are given says no more than that somebody comes to it. `codes` are the functions that were run, and
    the module."""
    needed = [reached_by(moment, codes) for moment in moments(incident)]
    found = frozenset[Answer]().union(*needed[:1]).intersection(*needed[1:])
    asked = ((each.span, each.taken) for each in incident.conditions)
    return found | {(span, taken) for span, taken in asked if _is_guard(span, taken, codes)}


def moments(incident: Incident) -> Sequence[Moment]:
    """What has to happen for it, the failure itself first."""
    match incident:
        case Freed():
            return incident.reused.moment, incident.freed.moment
        case Modified():
            return incident.backward_pass.moment, incident.modified
        case NoGraph():
            return (incident.backward_pass.moment,)
        case LeafModified() | ViewModified():
            return (incident.modified,)
        case InferenceUsed():
            return (incident.used,)
        case Refused():
            return (incident.call,)
    return ()


def reached_by(moment: Moment, codes: Iterable[ir.Code]) -> frozenset[Answer]:
    """The answers on which a statement depends, and each call by which it was come to."""
    around = ((enclosing(place, codes), place) for place in (*moment.frames, moment.span))
    trails = (_trails(code).get(place) for code, place in around if code is not None)
    return frozenset(answer for trail in trails for answer in _along(trail))


def enclosing(place: Span, codes: Iterable[ir.Code]) -> ir.Code | None:
    """The innermost function that holds a place, or the module."""
    inside = [code for code in codes if code.span.source is place.source and _is_within(place, code)]
    return min(inside, key=lambda code: code.extent[1] - code.extent[0] if code.qualname else sys.maxsize, default=None)


def _is_within(place: Span, code: ir.Code) -> bool:
    return not code.qualname or code.extent[0] <= place.start < code.extent[1]


def _is_guard(span: Span, taken: bool, codes: Iterable[ir.Code]) -> bool:
    """Whether the other answer raises, or ends the program."""
    code = enclosing(span, codes)
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


@lru_cache(maxsize=4)
def _trails(code: ir.Code) -> dict[Span, Trail]:
    """By each place in a body the answers that lead there; many failures may stand in one."""
    found: dict[Span, Trail] = {}
    _follow(code.body, None, {}, found)
    return found


def _follow(block: ir.Block, trail: Trail, left: dict[int, bool], found: dict[Span, Trail]) -> None:
    """Note how each place in a block is come to, of which `trail` leads to the block itself."""
    for at, instr in enumerate(block):
        if not isinstance(instr, ir.If):
            found.setdefault(instr.span, trail)
            for inner in ir.blocks(instr):
                _follow(inner, trail, left, found)
            continue
        before = block[:at]
        _follow(instr.then, _on(trail, _given(before, instr, True)), left, found)
        _follow(instr.orelse, _on(trail, _given(before, instr, False)), left, found)
        trail = _on(trail, _passed(before, instr, left))


def _on(trail: Trail, answers: Iterable[Answer]) -> Trail:
    for answer in answers:
        trail = trail, answer
    return trail


def _along(trail: Trail) -> Iterator[Answer]:
    while trail is not None:
        trail, answer = trail
        yield answer


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
        if instr.span == test.span or instr.span not in test.span:
            return
        for each in ir.walk((instr,)):
            other = () if not isinstance(each, ir.If) else each.orelse if answer else each.then
            if len(other) == 1 and isinstance(other[0], ir.Move):
                yield each.span, answer
