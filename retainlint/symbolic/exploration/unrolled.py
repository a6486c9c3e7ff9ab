"""Runs a script once more, with all iterations of its loops along few paths, where a known count of them was cut short.

What fails only then is told, and what can't fail there isn't.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container

from retainlint.incident import Exploration, GraphFailure, Growing, Incident, Kept, NeverBackpropagated
from retainlint.startup.records import replace
from retainlint.symbolic.exploration import findings, script_entry
from retainlint.symbolic.interpreter.machine import Interpreter
from retainlint.symbolic.state import limits, path_choice
from retainlint.symbolic.state.effort import OutOfSteps
from retainlint.symbolic.state.state import State
from retainlint.text.source import Span

NOT_ALL = "not all iterations of its loops were run: they take too many steps"


def run(machine: Interpreter, begun: State) -> tuple[bool, frozenset[Span]]:
    """Run the module's body on a machine that unrolls, with options as they are by default; whether it came to its end by the
    only way that there is then. If it did but for the last iterations of long loops, which backward passes ran again and again."""
    machine.chooser.breadth, effort = path_choice.UNROLLED, machine.graphs.effort
    machine.begin_entry()
    effort.limit = min(effort.limit, limits.UNROLLED_EFFORT)
    ended: list[State] = []
    try:
        ended, _ = script_entry.run(machine, begun, whole=True)
    except (OutOfSteps, RecursionError):
        if machine.steps > machine.full or effort.is_spent:
            machine.gap(machine.program.module.span, NOT_ALL, spent=True)
    is_only = [each.flow for each in ended] == [None] and not machine.forked
    if not is_only or machine.gaps or machine.unjudged or machine.risks or machine.sampled > machine.first_only:
        return False, frozenset()
    ran = Counter(each.backward_pass.moment.span for each in ended[0].backward_passes)
    return not machine.sampled, frozenset(span for span, often in ran.items() if often >= limits.UNROLLED_OFTEN)


def merged(sampled: Exploration, unrolled: Exploration, is_only: bool, often: Container[Span]) -> Exploration:
    """What is told of a program of which some iterations were run along many paths, and all along few: what fails on either, with
    the fewest conditions. Where these few are the only one, nothing else is, but of what was run for itself or takes another
    option; where only the first of very many iterations were run, of what ran `often` in them."""
    failures = {findings.told_at(each): each for each in unrolled.incidents if isinstance(each, GraphFailure)}
    wasted = set(map(findings.told_at, unrolled.waste))
    kept = [
        each
        for each in sampled.incidents
        if not (is_only or (isinstance(each, GraphFailure) and each.primary in often)) or _is_confirmed(each, failures)
    ]
    found = {findings.told_at(each): each for each in kept}
    for place, each in failures.items():
        found[place] = min(found.get(place, each), each, key=lambda one: len(one.conditions))
    judged = unrolled.conduct.backward_passes if is_only else set()
    whole = unrolled.conduct.backward_passes - {gap.span for gap in unrolled.unjudged}
    missing = sampled.conduct.missing_reads | unrolled.conduct.missing_reads
    waste = tuple(each for each in sampled.waste if not is_only or _is_confirmed(each, wasted))
    return replace(
        sampled,
        incidents=tuple(found.values()),
        waste=waste,
        conduct=replace(sampled.conduct, missing_reads=missing),
        unrolled=set(found) != set(map(findings.told_at, sampled.incidents)) or waste != sampled.waste,
        gaps=(*sampled.gaps, *(gap for gap in unrolled.gaps if gap.reason is NOT_ALL)),
        unjudged=tuple(gap for gap in sampled.unjudged if gap.span not in (whole if gap.spent else judged)),
        followed=sampled.followed | unrolled.followed if is_only else sampled.followed,
        steps=sampled.steps + unrolled.steps,
        effort=unrolled.effort,
    )


def _is_confirmed(incident: Incident, found: Container[object]) -> bool:
    """Whether the only way through a script comes to an incident of it, or it is one of what was run for itself, or of
    another choice than by default."""
    by_script = isinstance(incident, GraphFailure | Growing | Kept | NeverBackpropagated) and not incident.alone
    is_chosen = any(each.by_default is False and each.chooses for each in incident.conditions)
    return not by_script or is_chosen or findings.told_at(incident) in found
