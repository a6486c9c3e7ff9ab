"""What a text must show before an edit of it counts as a fix."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from fake_pipeline import label

from retainlint.diagnostic import Applicability, Diagnostic, Edit, Fix, Replacement, Severity
from retainlint.fixes.edits import edited
from retainlint.fixes.proof import Seen, cures
from retainlint.incident import Conduct, Leaf
from retainlint.text.source import Source, Span

BEFORE = Source("a.py", "net = make()\nloss.backward()\nother()\nloss.backward()\n")
FIX = Fix(Applicability.UNSAFE, "", (Edit(0, 0, "import torch\n"),))


def spans(source: Source, *texts: str) -> frozenset[Span]:
    return frozenset(Span(source, source.text.index(text), source.text.index(text) + len(text)) for text in texts)


def leaves(source: Source, *texts: str) -> frozenset[Leaf]:
    return frozenset((span,) for span in spans(source, *texts))


def found(source: Source, text: str, code: str = "RTL101", nth: int = 0) -> Diagnostic:
    mark = label(source, text, nth=nth, primary=True)
    return Diagnostic(code, "name", Severity.ERROR, "message", (mark,))


def seen(source: Source, *diagnostics: Diagnostic) -> Seen:
    every = leaves(source, "make()")
    backward_passes = frozenset(label(source, "loss.backward()", nth=nth).span for nth in (0, 1))
    trained = frozenset((leaf, place) for leaf in every for place in backward_passes)
    return Seen(source, diagnostics, Conduct(backward_passes, every, trained))


def conducted(before: Seen, **changes: Any) -> Seen:
    """The same, if the program had behaved so."""
    return replace(before, conduct=replace(before.conduct, **changes))


TARGET = found(BEFORE, "loss.backward()", nth=1)
OLD = seen(BEFORE, TARGET, found(BEFORE, "other()", "RTL305"))
AFTER = edited(BEFORE, FIX.edits)
NEW = seen(AFTER, found(AFTER, "other()", "RTL305"))


def test_the_finding_is_gone_and_the_rest_is_as_it_was() -> None:
    assert cures(FIX, TARGET, OLD, NEW)


@pytest.mark.parametrize(
    "after",
    [
        replace(NEW, diagnostics=(found(AFTER, "loss.backward()", nth=1),)),
        replace(NEW, diagnostics=(*NEW.diagnostics, found(AFTER, "make()", "RTL112"))),
        replace(NEW, diagnostics=(*NEW.diagnostics, found(AFTER, "loss.backward()", nth=0))),
        conducted(NEW, backward_passes=spans(AFTER, "loss.backward()")),
        conducted(NEW, trained=frozenset()),
        conducted(NEW, missing_reads=spans(AFTER, "other()")),
        replace(NEW, gaps=tuple(spans(AFTER, "other()"))),
    ],
    ids=["still there", "another", "moved", "a walk lost", "untrained", "a slip", "a gap"],
)
def test_what_is_no_fix(after: Seen) -> None:
    assert not cures(FIX, TARGET, OLD, after)


def test_a_cure_may_drop_the_walks_that_it_means_to() -> None:
    after = conducted(NEW, backward_passes=spans(AFTER, "loss.backward()"))
    assert cures(replace(FIX, merges=1), TARGET, OLD, after)
    assert not cures(Fix(Applicability.SAFE, "", FIX.edits, merges=1), TARGET, OLD, after)


def test_gradients_that_nobody_steps_with_may_be_lost_but_not_by_a_safe_fix() -> None:
    both = leaves(BEFORE, "make()", "other()")
    after = NEW
    assert cures(FIX, TARGET, conducted(OLD, leaves=both), after)
    assert not cures(replace(FIX, applicability=Applicability.SAFE), TARGET, conducted(OLD, leaves=both), after)
    unknown = conducted(OLD, leaves=both, trained=frozenset())
    assert not cures(FIX, TARGET, unknown, conducted(after, trained=frozenset()))


def test_a_walk_that_kept_its_graph_may_now_keep_it_for_nothing() -> None:
    needless = found(AFTER, "loss.backward()", "RTL201")
    assert cures(FIX, TARGET, OLD, replace(NEW, diagnostics=(*NEW.diagnostics, needless)))
    new = found(AFTER, "other()", "RTL201")
    assert not cures(FIX, TARGET, OLD, replace(NEW, diagnostics=(*NEW.diagnostics, new)))


def test_waste_behind_the_backward_pass_that_failed_is_no_new_one() -> None:
    target = found(BEFORE, "loss.backward()")
    behind, above = (found(AFTER, text, "RTL203") for text in ("other()", "make()"))
    assert cures(FIX, target, seen(BEFORE, target), seen(AFTER, behind))
    assert not cures(FIX, target, seen(BEFORE, target), seen(AFTER, above))


TWO = Source("a.py", "net = make()\na = net(x)\na.backward()\nb = net(x)\nb.backward()\n")
CUT = Fix(Applicability.UNSAFE, "", (Edit(0, 0, "import torch\n"),))


def conduct(source: Source, *pairs: tuple[str, str], ways: int = 2) -> Seen:
    """Two backward passes over `make()`, of which those in `pairs` train it, by so many ways."""
    (leaf,) = leaves(source, "make()")
    places = spans(source, "a.backward()", "b.backward()")
    trained = frozenset((leaf, place) for _, text in pairs for place in spans(source, text))
    arrivals = tuple((leaf, place, ways) for place in places)
    return Seen(source, (), Conduct(places, frozenset((leaf,)), trained, arrivals=arrivals))


BOTH = (("make()", "a.backward()"), ("make()", "b.backward()"))
CUT_TEXT = edited(TWO, CUT.edits)


def test_a_leaf_that_one_backward_pass_does_not_train_any_more_is_lost_unless_the_cut_is_meant() -> None:
    target = found(TWO, "b.backward()")
    before, after = replace(conduct(TWO, *BOTH), diagnostics=(target,)), conduct(CUT_TEXT, BOTH[0])
    assert cures(CUT, target, before, conduct(CUT_TEXT, *BOTH))
    assert not cures(CUT, target, before, after)
    assert cures(replace(CUT, cuts=True), target, before, after)
    assert not cures(replace(CUT, cuts=True), target, before, conduct(CUT_TEXT))


def test_a_cut_within_an_iteration_shows_in_the_ways_to_what_it_trains() -> None:
    target = found(TWO, "b.backward()")
    before, after = replace(conduct(TWO, *BOTH), diagnostics=(target,)), conduct(CUT_TEXT, *BOTH, ways=1)
    assert not cures(CUT, target, before, after)
    assert cures(replace(CUT, cuts=True), target, before, after)
    assert cures(replace(CUT, merges=1), target, before, after)


def test_a_meant_cut_leaves_what_the_iteration_that_failed_had_made_itself() -> None:
    target, (leaf,), (place,) = found(TWO, "b.backward()"), leaves(TWO, "make()"), spans(TWO, "b.backward()")
    before = conducted(replace(conduct(TWO, *BOTH), diagnostics=(target,)), fresh=((leaf, place, 1),))
    for ways, is_cured in ((1, True), (0, False)):
        (made,), (first, second) = leaves(CUT_TEXT, "make()"), spans(CUT_TEXT, "a.backward()", "b.backward()")
        if CUT_TEXT.text[first.start] != "a":
            first, second = second, first
        after = conducted(conduct(CUT_TEXT, *BOTH), arrivals=((made, first, 2), (made, second, ways)))
        assert cures(replace(CUT, cuts=True), target, before, after) is is_cured


def test_later_iterations_train_as_much_as_the_first() -> None:
    target, (leaf,), (place,) = found(TWO, "b.backward()"), leaves(TWO, "make()"), spans(TWO, "b.backward()")
    before, fading = replace(conduct(TWO, *BOTH), diagnostics=(target,)), frozenset({(leaf, place)})
    after = conducted(conduct(CUT_TEXT, *BOTH), fading=fading)
    assert not cures(CUT, target, before, after)
    assert cures(CUT, target, conducted(before, fading=fading), after)


def test_another_graph_that_fails_at_the_same_place_stood_behind() -> None:
    def failing(source: Source, built: str) -> Diagnostic:
        target = found(source, "b.backward()")
        return replace(target, labels=(label(source, built), *target.labels))

    target = failing(TWO, "net(x)")
    before = replace(conduct(TWO, *BOTH), diagnostics=(target,))
    for built, is_cured in (("make()", True), ("net(x)", False)):
        after = replace(conduct(CUT_TEXT, *BOTH), diagnostics=(failing(CUT_TEXT, built),))
        assert cures(CUT, target, before, after) is is_cured


def test_a_finding_of_a_module_is_known_again_by_its_file() -> None:
    module = Source("m.py", TWO.text)
    fix = Fix(Applicability.UNSAFE, "", (), elsewhere=(Replacement(Span(module, 0, 0), "import torch\n"),))
    after = edited(module, CUT.edits)
    target, other = found(TWO, "b.backward()"), found(module, "a.backward()")
    before = replace(conduct(TWO, *BOTH), diagnostics=(target, other))
    assert cures(fix, target, before, replace(conduct(TWO, *BOTH), diagnostics=(found(after, "a.backward()"),)))
    assert not cures(fix, target, before, replace(conduct(TWO, *BOTH), diagnostics=(target, other)))


@pytest.mark.parametrize(
    ("iterations", "is_cured"), [((3, 1), True), ((1, 3), True), ((1, 2), False), ((1, 1), False), ((3,), False)]
)
def test_a_backward_pass_is_lost_sight_of_only_beyond_where_it_failed(
    iterations: tuple[int, ...], is_cured: bool
) -> None:
    place = label(AFTER, "loss.backward()", nth=1).span
    before = conducted(OLD, failed=frozenset({(TARGET.primary.span, (1, 2))}))
    after = replace(conducted(NEW, unseen=frozenset({(place, iterations)})), unjudged=frozenset({place}))
    assert cures(FIX, TARGET, before, after) == is_cured
