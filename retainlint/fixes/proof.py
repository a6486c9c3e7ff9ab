"""Whether a fix is one: the finding gone, nothing new found, nothing lost of what the program walked and trained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, TypeVar

from retainlint.catalogue import CATALOGUE, FREED, MODIFIED, WASTED
from retainlint.diagnostic import Applicability, Diagnostic, Edit, Fix, Identity
from retainlint.fixes.edits import is_written, moved
from retainlint.incident import Conduct, Definition, Entry, Leaf
from retainlint.text.source import Source, Span


@dataclass(frozen=True)
class Seen:
    """What the linter sees when it checks one text: the findings, also those in modules that it imports, and how the
    program behaves when it is run.

    `gaps` are what couldn't be followed, `unjudged` the backward passes of which nothing is known, `steps` what it took,
    `entries` what was run for itself; `unrolled` if all iterations of loops told something else, `shortened` if they weren't run.
    """

    source: Source
    diagnostics: tuple[Diagnostic, ...]
    conduct: Conduct
    gaps: tuple[Span, ...] = ()
    steps: int = 0
    entries: tuple[Entry, ...] = ()
    unjudged: frozenset[Span] = frozenset()
    unrolled: bool = False
    shortened: bool = False

    @cached_property
    def places(self) -> frozenset[Identity]:
        """Where the findings are, and which."""
        return frozenset(each.place for each in self.diagnostics)


Look: TypeAlias = Callable[[Source, Sequence[Source], Container[Definition]], "Seen | None"]
"""The linter, handed in: what it sees in a text, where other files have become these, and where these definitions aren't
run for themselves; None for a text that it can't check."""

Edits: TypeAlias = dict[str, tuple[Edit, ...]]
"""The edits of each file, by its name."""


def cures(
    fix: Fix, diagnostic: Diagnostic, before: Seen, after: Seen, *, partly: bool = False, wasteful: bool = False
) -> bool:
    """Whether `after`, what is seen once `fix` was applied, proves that it cures the finding and harms nothing; or `partly`
    so, where the same graph is still reached by another way. It may be `wasteful`: what is kept is kept for nothing then."""
    lost = len(before.conduct.backward_passes) - len(after.conduct.backward_passes)
    if lost > fix.merges or (lost > 0 and fix.applicability is Applicability.SAFE):
        return False
    if _texts(after.gaps) - _texts(before.gaps) or _texts(after.conduct.missing_reads) - _texts(
        before.conduct.missing_reads
    ):
        return False
    if any(_is_lost(text, before, after) for text in _texts(after.unjudged) - _texts(before.unjudged)):
        return False  # what isn't seen to fail any more isn't seen at all
    if _untrained(before, after, cuts=fix.cuts):
        return False
    edits = _edits(fix, diagnostic)
    if not (fix.merges or fix.parts) and _is_thinner(before, after, edits, cuts=fix.cuts):
        return False
    known = _pairs(before.conduct.fading) | _pairs(before.conduct.less)
    if _cuts_items(edits):  # of which each iteration reads others
        known |= _pairs_of(before.conduct.fresh)
    if not _only_keeps(edits) and _pairs(after.conduct.fading) - known:
        return False  # from the second iteration on less is trained than in the first
    if fix.applicability is Applicability.SAFE and _texts(after.conduct.leaves) != _texts(before.conduct.leaves):
        return False
    if not before.conduct.trained and _texts(before.conduct.leaves) - _texts(after.conduct.leaves) - _replaced(
        before, after
    ):
        return False  # nobody knows which of them are to be trained
    others = [each for each in before.diagnostics if each.place != diagnostic.place]
    left = [each for each in after.diagnostics if not is_behind(fix, diagnostic, each, partly=partly)]
    if partly:
        come = frozenset(map(id, come_to(fix, diagnostic, before, after)))
        left = [each for each in left if id(each) not in come]
    left = [
        each for each in left if not ((fix.cuts or wasteful) and CATALOGUE[each.code][2] == WASTED)
    ]  # the graph is built for nothing now
    left = [each for each in left if not _is_come_to(edits, diagnostic, each)]
    return not _is_there(edits, diagnostic, left) and not _new(edits, others, before, left, merges=fix.merges > 0)


def _is_lost(text: str, before: Seen, after: Seen) -> bool:
    """Whether nothing is known any more of a backward pass in an iteration in which it failed, or ahead of that; behind it, the
    steps may have run out."""
    failed = [numbers for span, numbers in before.conduct.failed if _text(span) == text]
    unseen = [numbers for span, numbers in after.conduct.unseen if _text(span) == text]
    pairs = [(one, two) for one in failed for two in unseen if len(one) == len(two)]  # else it was run for itself
    return not pairs or any(two <= one for one, two in pairs)


def _is_come_to(edits: Edits, diagnostic: Diagnostic, found: Diagnostic) -> bool:
    """Whether it is waste all of which stands behind the backward pass that failed: the program came there for the first time."""
    file, end = _moved(edits, diagnostic.primary.span)
    places = (_place(each.span) for each in found.labels)
    return CATALOGUE[found.code][2] == WASTED and all(each[0] == file and each[1] > end for each in places)


def revives(before: Seen, after: Seen) -> bool:
    """Whether most of what a backward pass that failed comes to now is what its own iteration had no way to."""
    was, now = (
        Counter(place for _, place in _pairs_of(ways)) for ways in (before.conduct.fresh, after.conduct.arrivals)
    )
    return any(now[place] > 2 * count for place, count in was.items())


def leaves_behind(before: Seen, after: Seen) -> bool:
    """Whether the later iterations don't come to a leaf any more that the first one has trained."""
    return bool(_pairs(after.conduct.left) - _pairs(before.conduct.left))


def reaches_more(before: Seen, after: Seen, call: Span) -> bool:
    """Whether gradients that a call asks for come to a leaf by more ways than before: to what they had missed."""
    was, now = Counter[str](), Counter[str]()
    for ways, seen in ((was, before), (now, after)):
        for leaf, place, count in seen.conduct.arrivals:
            if _text(place) == _text(call):
                ways[_text(leaf)] += count
    return any(count > was[leaf] for leaf, count in now.items())


def trains(fix: Fix, diagnostic: Diagnostic, after: Seen) -> bool:
    """Whether an optimiser steps by what the backward pass of a finding leaves, once that is cured."""
    place = _moved(_edits(fix, diagnostic), diagnostic.primary.span)
    return any(_place(span) == place for _, span in after.conduct.trained)


def arrives_more(one: Seen, other: Seen) -> bool:
    """Whether a backward pass that stands in both texts comes to a leaf by more ways in the other."""
    was, now = (_ways(each.conduct.arrivals, _numbered(_every_leaf(each)), _by_order(each)) for each in (one, other))
    return any(count > was[pair] for pair, count in now.items() if pair in was)


def _untrained(before: Seen, after: Seen, *, cuts: bool) -> bool:
    """Whether a leaf isn't trained any more, or not by a backward pass that is still there. What only a backward pass that
    failed came to, and by what others had made, was never trained."""
    reached = {leaf for leaf, _, _ in (*before.conduct.arrivals, *before.conduct.fresh)} | before.conduct.further
    trained = [(leaf, place) for leaf, place in before.conduct.trained if leaf in reached or not reached]
    if _texts(leaf for leaf, _ in trained) - _texts(leaf for leaf, _ in after.conduct.trained):
        return True
    if cuts:
        return False
    kept = _texts(after.conduct.backward_passes)
    lost = _pairs(trained) - _pairs(after.conduct.trained)
    return any(kept[place] >= _texts(before.conduct.backward_passes)[place] for _, place in lost)


def cuts_others(fix: Fix, diagnostic: Diagnostic, before: Seen, after: Seen) -> bool:
    """Whether a cut that is meant for one backward pass takes something from others, which train it."""
    return _is_thinner(before, after, _edits(fix, diagnostic), cuts=False, others=True)


def _is_thinner(before: Seen, after: Seen, edits: Edits, *, cuts: bool, others: bool = False) -> bool:
    """Whether a backward pass comes to a leaf that it trains by fewer ways than before: a cut within what one iteration
    computes, where only what goes on to the next was to be cut. Of one that failed those count that its own iteration has
    made, and of `others` alone none; of the others, where a cut is meant, none. What began where a cut is taken away is no leaf any
    more."""
    was, now = _by_order(before), _by_order(after)
    kept, were = _texts(after.conduct.backward_passes), _texts(before.conduct.backward_passes)
    own, theirs = _known_again(before, after, edits)
    trained = {(own[leaf], was[place]) for leaf, place in before.conduct.trained}
    fresh, ways = _ways(before.conduct.fresh, own, was), _ways(after.conduct.arrivals, theirs, now)
    failed = {place for _, place in fresh}
    replaced = _replaced(before, after)
    joined = {own[leaf] for leaf in own if _is_cut_within(edits, leaf[0])}
    for pair, count in _ways(before.conduct.arrivals, own, was).items():
        if pair[0][0] in replaced or pair[0] in joined:
            continue
        if pair[1] in failed:
            count = 0 if others else min(count, fresh[pair])
        elif cuts:
            continue
        text, _ = pair[1]
        if ways[pair] < count and kept[text] >= were[text] and (not trained or pair in trained):
            return True
    return False


def _replaced(before: Seen, after: Seen) -> Counter[str]:
    """The leaves in whose place others are made."""
    one, two = (_texts(each.conduct.leaves | _every_leaf(each)) for each in (before, after))
    return one - two if (one - two).total() <= (two - one).total() else Counter()


Known = TypeVar("Known", Span, Leaf)

Place: TypeAlias = "tuple[str, int]"
"""A backward pass, or a leaf, by its text, and the number that it has among those of the same text."""


def _by_order(seen: Seen) -> dict[Span, Place]:
    """How each place of a backward pass is known again in an edited text."""
    spans = {*seen.conduct.backward_passes, *(place for _, place, _ in (*seen.conduct.arrivals, *seen.conduct.fresh))}
    return _numbered(spans | {place for _, place in seen.conduct.trained})


def _known_again(before: Seen, after: Seen, edits: Edits) -> tuple[dict[Leaf, Place], dict[Leaf, Place]]:
    """The same for a text before and after edits: what stands where it stood is the same leaf, also if another one that is made by
    the same words isn't reached any more."""
    one, two = _every_leaf(before), _every_leaf(after)
    places = {tuple(map(_place, leaf)): leaf for leaf in two}
    stayed = {leaf: places.get(tuple(_moved(edits, span) for span in leaf)) for leaf in one}
    same = {leaf: other for leaf, other in stayed.items() if other is not None and _text(other) == _text(leaf)}
    own, theirs = _numbered(one - same.keys()), _numbered(two - {*same.values()})
    for number, (leaf, other) in enumerate(same.items()):
        own[leaf] = theirs[other] = (_text(leaf), -1 - number)
    return own, theirs


def _every_leaf(seen: Seen) -> set[Leaf]:
    conduct = seen.conduct
    return {leaf for leaf, _, _ in (*conduct.arrivals, *conduct.fresh)} | {leaf for leaf, _ in conduct.trained}


def _numbered(places: Iterable[Known]) -> dict[Known, Place]:
    """Each with its text and a number, by where it stands: two networks may be made by the same words."""
    numbers: Counter[str] = Counter()
    found = {}
    for each in sorted(places, key=lambda each: [*map(_place, reversed(_spans(each)))]):
        found[each] = (_text(each), numbers[_text(each)])
        numbers[_text(each)] += 1
    return found


def _ways(
    arrivals: Iterable[tuple[Leaf, Span, int]], leaves: Mapping[Leaf, Place], places: Mapping[Span, Place]
) -> Counter[tuple[Place, Place]]:
    ways: Counter[tuple[Place, Place]] = Counter()
    for leaf, place, count in arrivals:
        ways[leaves[leaf], places[place]] += count
    return ways


def _pairs_of(ways: Iterable[tuple[Leaf, Span, int]]) -> set[tuple[str, str]]:
    return _pairs((leaf, place) for leaf, place, _ in ways)


def _pairs(places: Iterable[tuple[Leaf, Span]]) -> set[tuple[str, str]]:
    return {(_text(leaf), _text(place)) for leaf, place in places}


NEEDLESS, WITHOUT_GRAPH, LEAF_CHANGED, UNUSED = "RTL201", "RTL112", "RTL113", "RTL114"


def _new(
    edits: Edits, others: Sequence[Diagnostic], before: Seen, found: Iterable[Diagnostic], *, merges: bool
) -> bool:
    """Whether something is found besides the others that were there.

    A finding is known again by its code and place, or by its code and text; that of a backward pass which was dropped, at the
    one that is written in its place. A walk that had kept its graph against the failure may now keep it for nothing: that is
    no new harm.
    """
    places = {(each.code, _moved(edits, each.primary.span)) for each in others}
    texts = Counter((each.code, each.primary.span.text) for each in others)
    backward_passes = _texts(before.conduct.backward_passes)
    dropped = Counter(each.code for each in others if merges and _is_taken_out(edits, each.primary.span))
    for each in found:
        if dropped[each.code] > 0 and _is_written(edits, each.primary.span):
            dropped[each.code] -= 1
            continue
        if each.code == NEEDLESS and backward_passes[" ".join(each.primary.span.text.split())]:
            continue
        if (each.code, _place(each.primary.span)) not in places and texts[each.code, each.primary.span.text] <= 0:
            return True
        texts[each.code, each.primary.span.text] -= 1
    return False


def _is_written(edits: Edits, span: Span) -> bool:
    return is_written(edits.get(span.source.name, ()), span.start)


def _cuts_items(edits: Edits) -> bool:
    """Whether all that a dict holds is detached, behind what each iteration makes of it; a list is rather emptied."""
    return any(".detach() for " in each.text and ".items()" in each.text for found in edits.values() for each in found)


def _only_keeps(edits: Edits) -> bool:
    """Whether graphs are kept, or built of gradients, and nothing else is changed: no iteration trains less by that."""
    every = [each for made in edits.values() for each in made]
    return all(each.start == each.end and each.text.endswith("_graph=True") for each in every)


def _is_cut_within(edits: Edits, span: Span) -> bool:
    """Whether a part of it is taken away, and nothing else."""
    each = edits.get(span.source.name, ())
    return any(not edit.text and span.start <= edit.start and edit.end < span.end for edit in each)


def _is_taken_out(edits: Edits, span: Span) -> bool:
    return any(edit.start <= span.start < edit.end for edit in edits.get(span.source.name, ()))


def _is_there(edits: Edits, diagnostic: Diagnostic, found: Iterable[Diagnostic]) -> bool:
    """Whether the finding is still there, at its place or where as many of its text are found as before."""
    place = _moved(edits, diagnostic.primary.span)
    return any(each.code == diagnostic.code and _place(each.primary.span) == place for each in found)


def is_behind(fix: Fix, diagnostic: Diagnostic, other: Diagnostic, *, partly: bool) -> bool:
    """Whether what is found after a fix is another graph that fails at the place of a finding, or at the backward pass that is
    written for those there: its cause stood behind that of the finding. Or, `partly`, the same graph, to which something
    else leads."""
    edits, one, two = _edits(fix, diagnostic), diagnostic.labels[0], other.labels[0]
    if partly and (diagnostic.code, other.code) == (WITHOUT_GRAPH, LEAF_CHANGED):
        return _is_written(edits, two.span)  # a leaf since then
    is_there = _place(other.primary.span) == _moved(edits, diagnostic.primary.span)
    is_there = is_there or (fix.merges > 0 and _is_written(edits, other.primary.span))
    if partly and diagnostic.code in (WITHOUT_GRAPH, UNUSED) and _kind(other.code) in (FREED, MODIFIED):
        return is_there  # it has a graph since then
    if _kind(other.code) != _kind(diagnostic.code) or not is_there or one.primary or two.primary:
        return False
    if other.code == WITHOUT_GRAPH and any(_is_written(edits, each.span) for each in other.labels):
        return False  # the fix has cut it off
    known = {_moved(edits, each.span) for each in diagnostic.labels if each.text}
    if _moved(edits, one.span) != _place(two.span) and _text(one.span) != _text(two.span):
        return not any(_place(each.span) in known for each in other.labels if each.text.startswith(REACHED))
    told = (each for each in other.labels if each.text and not each.primary)  # not the loop
    others = (each.span for each in told if _place(each.span) not in known)
    return partly and any(not _is_written(edits, each) for each in others)


def remains(fix: Fix, diagnostic: Diagnostic, other: Diagnostic, after: Seen) -> bool:
    """Whether another finding is still there once a fix of one was applied, or one of its kind and text."""
    place = _moved(_edits(fix, diagnostic), other.primary.span)
    alike = (each.primary.span for each in after.diagnostics if _kind(each.code) == _kind(other.code))
    return any(_place(each) == place or _text(each) == _text(other.primary.span) for each in alike)


def come_to(fix: Fix, diagnostic: Diagnostic, before: Seen, after: Seen) -> list[Diagnostic]:
    """What is found after a fix at a place of its own, and stood behind the finding: what only cuts graphs off leads no backward
    pass to what it had no way to, so that the program has only come there."""
    edits = _edits(fix, diagnostic)
    if not all(each.text == ".detach()" and each.start == each.end for made in edits.values() for each in made):
        return []
    known = {_moved(edits, each.primary.span) for each in before.diagnostics}
    failures = (each for each in after.diagnostics if _kind(each.code) in (FREED, MODIFIED))
    return [each for each in failures if _place(each.primary.span) not in known]


def _edits(fix: Fix, diagnostic: Diagnostic) -> Edits:
    return {source.name: made for source, made in fix.by_source(diagnostic.primary.span.source).items()}


def _kind(code: str) -> str:
    """The family of rules that tell one failure by its causes; else the rule itself."""
    family = CATALOGUE[code][2]
    return family if family in (FREED, MODIFIED) else code


FREES = "frees it"
"""The label of the backward pass that frees a graph."""

REACHED = "reached again"
"""How the label begins at which a backward pass comes to a graph of before."""


def _place(span: Span) -> tuple[str, int]:
    return span.source.name, span.start


def _moved(edits: Edits, span: Span) -> tuple[str, int]:
    """The place of a span after the edits."""
    return span.source.name, moved(edits.get(span.source.name, ()), span.start)


def _texts(spans: Iterable[Span | Leaf]) -> Counter[str]:
    return Counter(map(_text, set(spans)))


def _text(place: Span | Leaf) -> str:
    return " ".join(word for span in _spans(place) for word in span.text.split())


def _spans(place: Span | Leaf) -> tuple[Span, ...]:
    return (place,) if isinstance(place, Span) else place
