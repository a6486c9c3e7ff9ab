"""What is told of all that the paths reported: one incident a place, with the fewest conditions, and its proof."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import TypeAlias

from retainlint import ir
from retainlint.autograd.graph import Node
from retainlint.incident import (
    AtBackward,
    Condition,
    Conduct,
    Definition,
    Exploration,
    Freed,
    Gap,
    GraphFailure,
    Incident,
    Iteration,
    Leaf,
    Modified,
    Moment,
    NoGraph,
    Refused,
    UnknownArgument,
    Witness,
)
from retainlint.ir import facts
from retainlint.startup.records import replace
from retainlint.symbolic.detectors import claims_of, witness
from retainlint.symbolic.exploration.control_dependence import Answer, controlling, enclosing, moments, reached_by
from retainlint.symbolic.interpreter.machine import Interpreter
from retainlint.symbolic.models.unknown import conventions
from retainlint.symbolic.state import coverage, limits
from retainlint.symbolic.state.reports import Report
from retainlint.text.quoting import short
from retainlint.text.source import Source, Span

Occasion: TypeAlias = "tuple[Span, tuple[tuple[Span, int], ...]]"
"""A condition, and how many turns of each loop lie between it and the failure."""


def mattering_conditions(incidents: Sequence[Incident]) -> list[tuple[Condition, ...]]:
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
            found.append(replace(each, iteration=each.iterations[-1].number))
    return tuple(found)


def _divided(incident: Incident) -> set[Span]:
    """The conditions that held in one iteration and didn't in another. Of two calls in one iteration each has its own
    answer, and both count."""
    asked = {(each.span, each.iterations, each.taken) for each in incident.conditions}
    twice = {span for span, iterations, taken in asked if taken and (span, iterations, False) in asked}
    held = {span for span, _, taken in asked if taken}
    return {span for span, _, taken in asked if not taken and span in held and span not in twice}


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
        case AtBackward():
            return incident.backward_pass.moment
        case Refused():
            return incident.call
    return None


def _occasion(condition: Condition, failed: Moment | None) -> Occasion | None:
    """When a condition was asked, as seen from the failure; None outside of the loops in which that stands."""
    if failed is None or not condition.iterations:
        return None
    pairs = list(zip(condition.iterations, failed.iterations, strict=False))
    if len(pairs) < len(condition.iterations) or any(a.loop != b.loop for a, b in pairs):
        return None
    return condition.span, tuple((a.loop, b.number - a.number) for a, b in pairs)


def told(machine: Interpreter, proves: bool) -> Exploration:
    """What an exploration comes to, with a witness of each failure if it `proves`."""
    if not proves:
        machine.reports[:] = [replace(each, proof=None) for each in machine.reports]
    machine.graphs.effort.end(machine.steps)
    machine.reports[:] = [_owned(machine, one) for one in machine.reports if _is_shown(machine, one)]
    likely = [one for one in _likely(machine) if not _is_unlikely(machine, one)]
    judged = [one for one in likely if not _takes_too_much(machine, one)]
    incidents = tuple(replace(_weighed(machine, one), first=_first(machine, one, judged)) for one in judged)
    project = machine.imports.project
    found = claims_of(machine).incidents(machine.program, None if project is None else project.reaches)
    wasted = _distinct(machine, (Report(incident, _proof(incident) if proves else None) for incident in found))
    waste = tuple(i for i in wasted if not isinstance(i, GraphFailure))
    scripts = sum(len(one.witness.script) for one in (*incidents, *waste) if one.witness is not None)
    machine.graphs.effort.add(scripts * limits.WITNESS_EFFORT)
    effort = machine.graphs.effort.steps
    unjudged = _unjudged(machine)
    conduct, gaps, entries = _conduct(machine), tuple(machine.gaps), tuple(machine.entries)
    steps = sum(each.steps for each in entries) + machine.imports.wasted
    followed = _followed(machine)
    return Exploration(incidents, gaps, steps, waste, conduct, unjudged, effort, entries, followed)


def _first(machine: Interpreter, incident: Incident, others: Iterable[Incident]) -> Span | None:
    """What surely fails before an incident, the first of it: in the same call, or one that is made there, and under no other
    conditions."""
    if (moment := _moment(incident)) is None:
        return None
    codes, found = _codes(machine), list[tuple[list[int], int, Span]]()
    for other in others:
        before, calls, loops = _moment(other), len(moment.frames), len(moment.iterations)
        if (
            before is None
            or before.frames[:calls] != moment.frames
            or not {*other.conditions} <= {*incident.conditions}
        ):
            continue
        when, then = ([(at.loop, at.number) for at in each.iterations] for each in (before, moment))
        if [loop for loop, _ in when[:loops]] == [loop for loop, _ in then] and _are_run(when[loops:], incident):
            at = [number for _, number in when[:loops]], (*before.frames, before.span)[calls].start
            is_ahead = at < ([number for _, number in then], moment.span.start)
            if is_ahead and reached_by(before, codes) <= reached_by(moment, codes):
                found.append((*at, before.span))
    return min(found, key=lambda each: each[:2])[2] if found else None


def _are_run(iterations: Sequence[tuple[Span, int]], incident: Incident) -> bool:
    """Whether an incident itself needs that loops come to these iterations."""
    run = [(at.loop, at.number) for moment in moments(incident) for at in moment.iterations]
    return all(any(loop == each and number >= least for each, number in run) for loop, least in iterations)


def _codes(machine: Interpreter) -> list[ir.Code]:
    """The module, and the functions that were run."""
    return [machine.program.module, *machine.entered]


def _followed(machine: Interpreter) -> frozenset[Definition]:
    """What was called of other modules, and run a backward pass; nothing if the steps ran out, and where paths were left only
    what came to its backward passes on others: more is known there of what it is given than where it runs for itself. What
    fails there is told of it, or it isn't followed; nor is it if what makes its loss was left unseen."""
    if machine.cut_short:
        return frozenset()
    codes, own = machine.leading & machine.entered, machine.program.source
    if machine.pruned:
        claims = claims_of(machine)
        codes = {code for code in codes if not claims.is_cut_short(code, machine.backpropagated)}
    if machine.imports.told:
        codes -= machine.imports.lacking
        codes = {code for code in codes if not coverage.rests_on_unknown(code, machine.unjudged)}
    codes = {code for code in codes if not takes_much(machine, code)}
    named = [(code, code.qualname) for code in codes]
    named += [(cls, f"{cls.qualname}.{code.name}") for code, cls in machine.inheriting if code in codes]
    return frozenset((code.span.source.name, name) for code, name in named if code.span.source is not own)


def _owned(machine: Interpreter, report: Report) -> Report:
    """A graph is no other network's, if the gradients that its backward pass left there went into a step behind that."""
    incident = report.incident
    if isinstance(incident, Freed) and incident.foreign:
        if any((leaf, incident.freed.moment) in machine.trained for leaf in report.leaves):
            return replace(report, incident=replace(incident, foreign=False))
    return report


def takes_much(machine: Interpreter, code: ir.Code) -> bool:
    """Whether what fails in a function does so only behind so many conditions of its callers that it won't be told."""
    start, end = code.extent
    own = [
        each.incident
        for each in machine.reports
        if (span := each.incident.primary).source is code.span.source and start <= span.start < end
    ]
    return bool(own) and all(_count(machine, each) > limits.CONDITIONS_TOLD for each in own)


def _count(machine: Interpreter, incident: Incident) -> int:
    return len({each.span for each in incident.conditions} - machine.presumed)


def _takes_too_much(machine: Interpreter, incident: Incident) -> bool:
    """Whether a failure takes so many conditions that nobody knows whether they can hold together; then it isn't judged."""
    count = _count(machine, incident)
    if count > limits.CONDITIONS_TOLD:
        machine.leave_unjudged(incident.primary, f"a failure there takes {count} conditions at once")
    return count > limits.CONDITIONS_TOLD


def _unjudged(machine: Interpreter) -> tuple[Gap, ...]:
    """The backward passes of which nothing was known, each once, those whose graphs rest on calls that were left unseen, and
    those that nobody came to since the steps ran out."""
    unseen = machine.imports.unseen.items()
    left = {at: call for at, call in unseen if at not in machine.imports.whole}
    why = "of which nothing is seen: it takes too many steps"
    once = {
        at: Gap(at, f"its graph rests on `{short(call.text)}`, {why}", backward=True, spent=True)
        for at, call in left.items()
    }
    for code, reason in machine.cut_short.items():
        ahead = coverage.unreached(machine.program, code, machine.backpropagated)
        once |= {at: Gap(at, reason, backward=True, spent=True) for at in ahead}
    once |= {gap.span: gap for gap in reversed(machine.unjudged)}
    return tuple(sorted(once.values(), key=lambda gap: gap.span.start))


def _proof(incident: Incident) -> Callable[[], Witness | None] | None:
    """What runs needs no proof; a call that torch refuses has one."""
    if isinstance(incident, UnknownArgument) and incident.fails:
        return partial(witness.of_argument, incident)
    return None


def _conduct(machine: Interpreter) -> Conduct:
    births = machine.graphs.births

    def leaf(node: Node) -> Leaf:
        made = births[node].moment
        return made.span, *made.frames[-1:]

    def counted(ways: Mapping[Span, Counter[Node]]) -> Iterator[tuple[Leaf, Span, int]]:
        return ((leaf(node), at, count) for at, each in ways.items() for node, count in each.items())

    leaves = (leaf(node) for node in machine.passed if births[node].operation == "leaf")
    trained = ((leaf(node), moment.span) for node, moment in machine.trained)
    seen = {**machine.tried_arrivals, **machine.arrivals}.items()
    later = ((leaf(node), place) for place, each in seen for node in each.later or ())
    left = ((leaf(node), place) for place, each in seen for node in each.left)
    return Conduct(
        frozenset(machine.backpropagated),
        frozenset(leaves),
        frozenset(trained),
        frozenset(machine.missing_reads),
        tuple(counted({place: each.ways + each.others for place, each in seen})),
        tuple(counted({place: each.fresh for place, each in seen if each.fresh})),
        frozenset((leaf(node), place) for place, each in seen for node in each.less),
        frozenset(later),
        frozenset(left),
        frozenset(leaf(node) for _, each in seen for node in each.further),
        frozenset((place, numbers) for (place, _), numbers in machine.failed.items()),
        frozenset(machine.unseen),
    )


def _distinct(machine: Interpreter, reports: Iterable[Report]) -> list[Incident]:
    """One incident a place: the one that needs the fewest conditions, proven."""
    places: dict[tuple[Source, int, type], list[Report]] = {}
    for report in reports:
        places.setdefault(told_at(report.incident), []).append(report)
    return [_simplest(machine, likely) for found in places.values() if (likely := _unplanned(machine, found))]


def _unplanned(machine: Interpreter, reports: list[Report]) -> list[Report]:
    """Those that need no answer about what a tensor is like, which isn't known here and without which nothing fails, nor two
    answers that the program asks for anew in each turn, one of them whether to keep a graph: such a program has a schedule, by
    which the graph is built again where it wasn't kept."""
    if not any(_is_planned(report.incident) for report in reports):
        return reports
    clauses = _clauses(tuple(frozenset(report.incident.conditions) for report in reports))
    found: list[Report] = []
    for report in reports:
        asked = frozenset(report.incident.conditions)
        needed = next((clause for clause in clauses if clause <= asked), asked)
        known = [each for each in report.incident.conditions if each in needed]
        fleeting = {each.span for each in known if each.fleeting}
        is_scheduled = isinstance(report.incident, Freed) and report.incident.scheduled and len(fleeting) > 1
        if not is_scheduled and not _is_of_its_kind(machine, report.incident, known):
            found.append(report)
    return found


def _is_of_its_kind(machine: Interpreter, incident: Incident, needed: Iterable[Condition]) -> bool:
    """Whether it is by what a tensor is like that something fails: of paths to a backward pass, where not all were followed,
    those with another answer are seen to go on."""
    asked = [each for each in needed if each.described]
    if not asked or _moment(incident) is None or not machine.pruned:
        return bool(asked)
    return any(_opposite(each) in path for each in asked for path in _survivors(machine, incident))


def _is_planned(incident: Incident) -> bool:
    is_scheduled = isinstance(incident, Freed) and incident.scheduled
    return is_scheduled or any(each.described for each in incident.conditions)


def _likely(machine: Interpreter) -> list[Incident]:
    """What was reported, but for walks of what nothing was added to: conditions that don't matter are dropped before."""
    found = _with_options(machine, _distinct(machine, machine.reports))
    if not any(_adds_nothing(machine, incident) for incident in found):
        return found
    adding = (report for report in machine.reports if not _adds_nothing(machine, report.incident))
    others = _distinct(machine, adding)
    kept = [incident for incident in found if not _adds_nothing(machine, incident)]
    places = set(map(told_at, kept))
    return kept + [incident for incident in others if told_at(incident) not in places]


def _with_options(machine: Interpreter, found: list[Incident]) -> list[Incident]:
    """The same, but for failures for which an option would have to be none of those that the program knows, or one thing would
    have to be so and otherwise: in their place stands what fails without that, if anything does."""
    odd = {told_at(each) for each in found if _takes_no_option(each.conditions) or _answers_twice(each)}
    if not odd:
        return found
    asked = ((one, one.incident) for one in machine.reports)
    others = (one for one, each in asked if not (_takes_no_option(each.conditions) or _answers_twice(each)))
    kept = [each for each in found if told_at(each) not in odd]
    return kept + _distinct(machine, (one for one in others if told_at(one.incident) in odd))


def told_at(incident: Incident) -> tuple[Source, int, type[Incident]]:
    return incident.primary.source, incident.primary.start, type(incident)


def _adds_nothing(machine: Interpreter, incident: Incident) -> bool:
    """A walk of what was begun as zeros, on a path that adds nothing to it, where others do: such a path is rarely one
    that the program can take, but for the one that it takes by the defaults of its options."""
    if not isinstance(incident, NoGraph) or incident.reason != "leaf" or incident.cut is not None:
        return False
    if all(each.by_default for each in incident.conditions) and _by_default(machine, incident):
        return False
    return _is_backpropagated(machine, incident.primary)


def _by_default(machine: Interpreter, incident: Incident) -> bool:
    """Whether an incident needs nothing but the defaults of options, those of its conditions counted that are answered both
    ways: what one iteration adds nothing to, another may."""
    place = told_at(incident)
    asked = (frozenset(one.incident.conditions) for one in machine.reports if told_at(one.incident) == place)
    return any(all(each.by_default for each in clause) for clause in _clauses(tuple(asked)))


def _is_unlikely(machine: Interpreter, incident: Incident) -> bool:
    """What torch refuses on a path of many conditions, for it has no graph; or of what a called function has cut, or frozen, by
    an option of its own, where other paths aren't refused: who trains doesn't take that option, but where it is taken by
    default."""
    asked = tuple(each for each in incident.conditions if not each.by_default)
    if not isinstance(incident, NoGraph | Refused) or (moment := _moment(incident)) is None:
        return False
    if len(asked) > limits.UNLIKELY_CONDITIONS:
        return True
    if isinstance(incident, Refused) and incident.reason in ("unused", "computed"):
        return False
    codes = _codes(machine)
    running = {machine.program.module, *(enclosing(place, codes) for place in (*moment.frames, moment.span))}
    is_own = any(enclosing(each.span, codes) not in running and not _is_measured(each) for each in asked)
    return is_own and (isinstance(incident, Refused) or _is_backpropagated(machine, incident.primary))


def _weighed(machine: Interpreter, incident: Incident) -> Incident:
    """Whether there is no graph only where a function that was called finds something in what it was given, as no item at
    all: it may be that nobody gives it such."""
    if not isinstance(incident, NoGraph):
        return incident
    calls = len(incident.backward_pass.moment.frames)
    asked = any(each.depth > calls and _is_measured(each) for each in incident.conditions)
    return replace(incident, rarely=asked and _is_backpropagated(machine, incident.primary))


def _is_measured(condition: Condition) -> bool:
    """Whether a condition asks what was computed, as `loss.mean() > 1` does, rather than for an option."""
    calls = facts.of_span(condition.span).calls
    return condition.measured or any(each.receiver and not conventions.OPTION.takes(each.name) for each in calls)


def _is_shown(machine: Interpreter, report: Report) -> bool:
    """Whether a failure would be one whichever paths were followed: where some were given up, those on which a tensor never
    had a graph may be all that is left."""
    match report.incident:
        case NoGraph(reason="leaf", cut=None, conditions=(_, *_), primary=place) if machine.pruned:
            machine.leave_unjudged(place, "on paths that were not followed it may have a graph")
            return False
    return not _is_never_otherwise(machine, report)


def _is_never_otherwise(machine: Interpreter, report: Report) -> bool:
    """Whether a backward pass fails on a path that answered a test of a loop's own variable alike in each iteration, and goes
    on where that came out otherwise: what stands under such a test is meant for some iterations, and not for others. One that
    fails for an earlier one goes on in the first iteration in any case."""
    incident = report.incident
    again = isinstance(incident, Freed | Modified)
    went_on = _survivors(machine, incident) if again else [*_came(machine, incident)]
    answers: dict[tuple[Span, int], set[bool]] = {}
    for each in _of_items(incident) if went_on else ():
        if not each.by_default and not all(each in path for path in went_on):
            answers.setdefault((each.span, each.depth), set()).add(each.taken)
    return any(len(found) == 1 for found in answers.values())


def _of_items(incident: Incident) -> Iterator[Condition]:
    """The conditions that ask something of a loop's own variable, in a loop that has ended before the failure."""
    if (moment := _moment(incident)) is None:
        return
    for each in incident.conditions:
        left = _left(each.iterations, moment.iterations)
        if left and not facts.of_span(each.span).names.isdisjoint(facts.bound_by(left[-1].loop.text)):
            yield each


def _idle(machine: Interpreter, incident: Incident) -> frozenset[Condition]:
    """Of these the ones without which a path came to the backward pass in any iteration: it takes no item that is so."""
    came = [*_came(machine, incident)]
    return frozenset(each for each in _of_items(incident) if not all(each in path for path in came))


def _came(machine: Interpreter, incident: Incident) -> Iterator[frozenset[Condition]]:
    """What the paths had answered that came to the same backward pass in any iteration, and went on."""
    for paths in claims_of(machine).survived.get(incident.primary, {}).values():
        yield from (frozenset(choice.condition for choice in path) for path in paths)


def _left(asked: Sequence[Iteration], failed: Sequence[Iteration]) -> Sequence[Iteration]:
    """The iterations in which a condition was asked of loops that have ended before something failed."""
    common = next((at for at, (one, other) in enumerate(zip(asked, failed, strict=False)) if one != other), None)
    if common is None:
        return asked[len(failed) :]
    return asked[common:] if asked[common].loop != failed[common].loop else ()


def _takes_no_option(asked: Sequence[Condition]) -> bool:
    """Whether an option would have to be none of the texts that the program asks it for, one after the other, and has
    nothing to do for any other."""
    denied: dict[Source, set[int]] = {}
    for each in asked:
        if not each.taken:
            denied.setdefault(each.span.source, set()).add(each.span.row)
    return any(
        tests <= rows for source, rows in denied.items() if len(rows) > 1 for tests in facts.alternatives(source)
    )


def _answers_twice(incident: Incident) -> bool:
    """Whether one function would have to find two answers where it asks one thing twice in an iteration: that of the failing
    backward pass, or one that calls it, as others may have been called twice."""
    failed = _moment(incident)
    calls = len(failed.frames) if failed is not None else 0
    known: dict[tuple[Source, int, tuple[Iteration, ...], str], str] = {}
    for each in (one for one in incident.conditions if not one.item):
        for question, answer in facts.answers(each.span.text, each.taken) if each.depth <= calls else ():
            if known.setdefault((each.span.source, each.depth, each.iterations, question), answer) != answer:
                return True
    return False


def _is_backpropagated(machine: Interpreter, place: Span) -> bool:
    """Whether a walk there had a graph on some path."""
    return any(record.backward_pass.moment.span == place for _, record in claims_of(machine).backward_passes)


def _simplest(machine: Interpreter, reports: list[Report]) -> Incident:
    """The incident that needs the fewest conditions, once those are dropped that don't matter, with its witness."""
    reports = [each for each in reports if not each.incident.guessed] or reports
    every, reports = reports, _undivided(reports)
    asked = mattering_conditions([report.incident for report in reports])
    clauses = _clauses(tuple(map(frozenset, asked)))
    best, chosen = min(
        zip(reports, asked), key=lambda pair: (len(_needed(pair[1], clauses)), len(pair[0].incident.conditions))
    )
    failed = [frozenset(each) for each in asked]
    survivors = _survivors(machine, best.incident)
    needed = _telling(_needed(chosen, clauses), failed, survivors) - _idle(machine, best.incident)
    needed -= _leading(needed, controlling(best.incident, _codes(machine)), survivors)
    told, odd = {each.span for each in needed}, {each for each in chosen if each.by_default is False}
    conditions = tuple(
        replace(each, by_default=False) if each in odd else each  # asked again, it came out as by default
        for each in dict.fromkeys(chosen)
        if each in needed and each.implied not in told
    )
    others = [_not_by_default(report.incident) for report in every]
    if all(others) and odd.isdisjoint(conditions):  # whichever it is, some option has to be other than by default
        conditions += _not_by_default(best.incident)[:1]
    proof = best.proof() if best.proof is not None else None
    witness = None if proof is None else replace(proof, choices=conditions)
    starts = {report.incident.alone for report in every}
    alone = best.incident.alone if len(starts) == 1 else ""
    return replace(best.incident, conditions=conditions, witness=witness, alone=alone)


def _undivided(reports: list[Report]) -> list[Report]:
    """The same, but for those that answer a condition in both ways by which alone, answered in one, others fail already, with all
    options as they are by default."""
    plain = [each for each in reports if not (_divided(each.incident) or _not_by_default(each.incident))]
    told = {condition.span for each in plain for condition in each.incident.conditions}
    return [each for each in reports if not (divided := _divided(each.incident)) or not divided <= told]


def _leading(
    needed: Iterable[Condition], given: Container[Answer], survivors: Sequence[frozenset[Condition]]
) -> frozenset[Condition]:
    """Of these the conditions that say no more than that somebody comes to a failure: not options that have to be given, nor
    those by whose other answer a path came there, as behind a handler, and went on."""
    leading = (each for each in needed if (each.span, each.taken) in given and each.by_default is not False)
    return frozenset(each for each in leading if not any(_opposite(each) in path for path in survivors))


def _not_by_default(incident: Incident) -> tuple[Condition, ...]:
    return tuple(each for each in incident.conditions if each.by_default is False)


@lru_cache(maxsize=2)
def _clauses(asked: tuple[frozenset[Condition], ...]) -> list[frozenset[Condition]]:
    """What leads to a place: the conditions of each report, and what is left of these where both a condition and its
    opposite do, other things being equal; the fewest first. Many places may be led to by the same."""
    found = dict.fromkeys(asked)
    waiting = list(found)
    compared = 0
    while waiting and len(found) < limits.CONDITION_SETS and compared < limits.CONDITION_SETS_COMPARED:
        clause = waiting.pop()
        compared += len(clause) * len(found)
        for condition in sorted(clause, key=_place):
            rest, opposite = clause - {condition}, _opposite(condition)
            if rest not in found and any(opposite in other and other - {opposite} <= rest for other in found):
                found[rest] = None
                waiting.append(rest)
                waiting += [other for other in found if rest < other]
    return sorted(found, key=len)


def _needed(asked: Iterable[Condition], clauses: Iterable[frozenset[Condition]]) -> frozenset[Condition]:
    """The fewest of an incident's conditions that lead to its place."""
    own = frozenset(asked)
    return next((clause for clause in clauses if clause <= own), own)


def _survivors(machine: Interpreter, incident: Incident) -> list[frozenset[Condition]]:
    """What the paths had answered that came to the same backward pass, in the same iterations, and went on."""
    if (moment := _moment(incident)) is None:
        return []
    paths = claims_of(machine).survived.get(moment.span, {}).get(moment.iterations, ())
    return [frozenset(choice.condition for choice in path) for path in paths]


def _telling(
    needed: frozenset[Condition], failed: Sequence[frozenset[Condition]], survivors: Sequence[frozenset[Condition]]
) -> frozenset[Condition]:
    """Of the conditions of a failing path those that tell it from each that came there and went on, and those that none
    which came there answered otherwise."""
    found = {each for each in needed if not any(_opposite(each) in path for path in (*failed, *survivors))}
    apart = [{each for each in needed if _opposite(each) in path and each not in path} for path in survivors]
    while apart := [each for each in apart if found.isdisjoint(each)]:
        counts = Counter(each for several in apart for each in several)
        if not all(apart):
            return needed  # it differs from one that went on in nothing that was asked
        found.add(max(counts, key=lambda each: (counts[each], _place(each))))
    return frozenset(found)


def _place(condition: Condition) -> tuple[str, int, int, str, bool]:
    span = condition.span
    return span.source.name, span.start, span.end, condition.item, condition.taken


def _opposite(condition: Condition) -> Condition:
    return Condition(condition.span, not condition.taken, condition.item)
