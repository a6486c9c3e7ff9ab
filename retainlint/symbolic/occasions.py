"""Of conditions that one failing path answers both ways, in different turns: which of these answers matter, and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from retainlint.incident import AtWalk, Condition, Freed, Incident, Moment
from retainlint.records import replace
from retainlint.source import Span

Occasion: TypeAlias = "tuple[Span, tuple[tuple[Span, int], ...]]"
"""A condition, and how many turns of each loop lie between it and the failure."""


def conditions(incidents: Sequence[Incident]) -> list[tuple[Condition, ...]]:
    """The conditions of each of some failures at one place, but for those that are answered both ways and don't matter.

    One matters that was answered alike, as many turns before the failure, on every path that failed there.
    """
    if not any(map(_divided, incidents)):
        return [each.conditions for each in incidents]
    answers = [_answers(each) for each in incidents]
    return [_mattering(each, answers) for each in incidents]


def _mattering(incident: Incident, answers: Sequence[Mapping[Occasion, set[bool]]]) -> tuple[Condition, ...]:
    divided, moment = _divided(incident), _moment(incident)
    found: list[Condition] = []
    for each in incident.conditions:
        if each.span not in divided:
            found.append(each)
        elif (at := _occasion(each, moment)) and all(one.get(at) == {each.taken} for one in answers):
            found.append(replace(each, turn=each.turns[-1].number))
    return tuple(found)


def _divided(incident: Incident) -> set[Span]:
    """The conditions that held at one time and didn't at another."""
    asked = set(incident.conditions)
    return {each.span for each in asked if each.taken and Condition(each.span, False) in asked}


def _answers(incident: Incident) -> dict[Occasion, set[bool]]:
    moment = _moment(incident)
    found: dict[Occasion, set[bool]] = {}
    for each in incident.conditions:
        if at := _occasion(each, moment):
            found.setdefault(at, set()).add(each.taken)
    return found


def _moment(incident: Incident) -> Moment | None:
    """When the program fails."""
    match incident:
        case Freed():
            return incident.reused.moment
        case AtWalk():
            return incident.walk.moment
    return None


def _occasion(condition: Condition, failed: Moment | None) -> Occasion | None:
    """When a condition was asked, as seen from the failure; None outside of the loops in which that stands."""
    if failed is None or not condition.turns:
        return None
    pairs = list(zip(condition.turns, failed.turns, strict=False))
    if len(pairs) < len(condition.turns) or any(a.loop != b.loop for a, b in pairs):
        return None
    return condition.span, tuple((a.loop, b.number - a.number) for a, b in pairs)
