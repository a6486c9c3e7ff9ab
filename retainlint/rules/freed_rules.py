"""What the seven rules about a graph that is used after it was freed have in common: labels, notes, the last cure."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable

from retainlint.diagnostic import (
    ComputeAnew,
    CreateGraph,
    Cure,
    Detach,
    Diagnostic,
    Help,
    KeepGraph,
    Label,
    MakeLeaf,
    NotRecorded,
    Severity,
)
from retainlint.incident import Freed, Moment
from retainlint.rules.rule import IncidentRule
from retainlint.rules.story import FreedStory, outer_call, shared_frames
from retainlint.rules.wording import core_note, keeps
from retainlint.text.quoting import code, short
from retainlint.text.source import Span

SENTENCE = "Trying to backward through the graph a second time"


class FreedRule(IncidentRule[Freed]):
    """The subclass says when it holds, and words what is its own."""

    kind = Freed
    built_text = "built here"

    @abstractmethod
    def fits(self, story: FreedStory) -> bool: ...

    @abstractmethod
    def message(self, story: FreedStory) -> str: ...

    @abstractmethod
    def helps(self, story: FreedStory) -> tuple[Help, ...]:
        """What a good engineer would try, the best first."""

    def built(self, story: FreedStory) -> str:
        """The first words of the label at the place that built the graph."""
        return self.built_text

    def holds(self, incident: Freed) -> bool:
        return self.fits(FreedStory(incident))

    def report(self, incident: Freed) -> Diagnostic:
        story = FreedStory(incident)
        when = story.iterations[1] if story.again is not None else "the second backward"
        return self.diagnostic(
            incident,
            self.message(story),
            (*self._built_labels(story), *_backward_labels(story)),
            *_leaf(story),
            *_constant_target(story),
            *self.helps(story),
            notes=(core_note(incident.witness, incident.op, SENTENCE, when, story.at(incident.built.span)),),
            severity=Severity.WARNING if incident.counted or _is_left_open(incident) else None,
        )

    def _built_labels(self, story: FreedStory) -> tuple[Label, ...]:
        incident = story.incident
        built = incident.built.span
        if built == story.second:
            return ()
        saves = keeps(incident.op, incident.saved, built.text)
        labels = [Label(built, f"{self.built(story)}: {saves}" if saves else self.built(story))]
        if not incident.in_init:
            labels += through(incident.built, story.nearest)
        if story.again is not None and not story.again.is_call:
            labels.append(Label(story.again.loop, ""))
        return tuple(labels)


def _is_left_open(incident: Freed) -> bool:
    """Whether a setting that nobody sees tells the first backward pass to keep its graph or not: who made it one may well set it."""
    return any(each.keeps and each.by_default is None for each in incident.conditions)


def _constant_target(story: FreedStory) -> tuple[Help, ...]:
    """What a loss compares with, as a constant to it: it trains what is compared. What is carried on is best cut where it is kept."""
    if (target := story.incident.target) is None or story.incident.holders:
        return ()
    words = f"detach {code(target.text)} where the loss compares with it: that is for the other one to train"
    return (Help(words, (Detach(target, target.text, meant=True),), needs_proof=True),)


def keep_graph(story: FreedStory, why: str, other: Span | None = None) -> Help:
    """`retain_graph=True` in the first backward pass, and in an `other` if need be, with its price."""
    where = "" if story.is_one_place else f" on {story.at(story.first)}"
    return Help(f"`retain_graph=True`{where}, {why} (it costs memory)", (KeepGraph(story.first, other),))


def create_graph(story: FreedStory) -> Help:
    """`create_graph=True` in the call that asks for a gradient, of which a loss may be made."""
    where = "" if story.is_one_place else f" on {story.at(story.first)}"
    words = f"`create_graph=True`{where}, if a later backward is to go through the gradient itself"
    return Help(words, (CreateGraph(story.first),), needs_proof=True)


_HIDDEN_LEAF = re.compile(r"\brequires_grad=True|\brequires_grad_\(|\bParameter\(")


def hides_leaf(text: str) -> bool:
    """Whether an expression makes a leaf, and computes something of it."""
    return _HIDDEN_LEAF.search(text) is not None


def _leaf(story: FreedStory) -> tuple[Help, ...]:
    """Of a tensor that is computed of a leaf within the same expression: nothing can train that, so it was meant for one."""
    built = story.incident.built.span
    if not hides_leaf(built.text):
        return ()
    return (Help(f"make `{story.what}` itself a leaf", (MakeLeaf(built),), needs_proof=True),)


def compute_anew(story: FreedStory) -> tuple[Cure, ...]:
    """What the second backward pass needs, computed again before it: before the call that leads to it, if both are one place."""
    second = outer_call(story.incident.reused.moment, story.incident.freed.moment) if story.is_one_place else None
    return (ComputeAnew(second or story.second, story.maker),)


def not_recorded(story: FreedStory, why: str = "", where: Callable[[Span], object] | None = None) -> tuple[Help, ...]:
    """Of what a network makes that no optimiser trains, or none is to: it needs no graph; best from `where` on, if it comes there."""
    if not (why or story.incident.unowned):
        return ()
    return (under_no_grad(story.incident.built, story.nearest, why, where),)


def under_no_grad(built: Moment, of: Moment, why: str = "", where: Callable[[Span], object] | None = None) -> Help:
    """What is made there, seen from where `of` happened or from their nearest common caller, is to have no graph."""
    calls = (*built.frames[shared_frames(built, of) :], built.span)
    if where is not None:
        calls = tuple(sorted(calls, key=lambda each: not where(each)))
    reason = f", {why}" if why else ": no optimiser trains what makes it"
    words = f"compute `{short(calls[0].text)}` under `torch.no_grad()`{reason}"
    return Help(words, tuple(NotRecorded(each, reason, why != "") for each in calls), needs_proof=True)


def uncut_by_both(story: FreedStory) -> Help:
    """Of what neither loss is to train: detached once, for both."""
    why = (
        "the later loss brings a new one of the same data to it"
        if story.incident.regressed
        else "neither loss trains what made it"
    )
    words = f"detach `{story.what}` where it is made: {why}"
    return Help(words, (Detach(story.maker, story.what, meant=True, made=True),))


def reason(is_untrained: bool, otherwise: str, made: str = "what made it") -> str:
    """Why what is shared may be cut off; where it isn't known that its loss trains nothing of it, on which condition."""
    return f": this loss doesn't train {made}" if is_untrained else f", if {otherwise}"


def as_trained(story: FreedStory, anew: Help, cut: Help) -> tuple[Help, ...]:
    """Of two cures the one that fits what the optimisers train, and both where nobody knows."""
    trained = story.incident.trained
    return (anew, cut) if trained is None else (anew,) if trained else (cut,)


def through(inner: Moment, of: Moment) -> list[Label]:
    """A label at the call through which `inner` happened, if it stands on a row of its own."""
    call = outer_call(inner, of)
    rows = {(moment.span.source, moment.span.row) for moment in (inner, of)}
    return [] if call is None or (call.source, call.row) in rows else [Label(call, "through this call")]


def _backward_labels(story: FreedStory) -> tuple[Label, ...]:
    way = _way(story)
    if story.again is not None:
        before, after = story.iterations
        if story.is_one_place:
            return (*way, Label(story.second, f"{before} frees it; {after} needs it again", primary=True))
        return (Label(story.first, f"{before} frees it"), *way, Label(story.second, f"{after} needs it", primary=True))
    if not story.is_one_place:
        return (Label(story.first, "frees it"), *way, Label(story.second, "needs it again", primary=True))
    freed, reused = story.incident.freed.moment, story.incident.reused.moment
    calls = outer_call(freed, reused), outer_call(reused, freed)
    marks = [Label(call, f"this call {does} it") for call, does in zip(calls, ("frees", "needs"), strict=True) if call]
    return (*marks, *way, Label(story.second, "the first call frees it; the second needs it again", primary=True))


def _way(story: FreedStory) -> tuple[Label, ...]:
    """Where the second backward pass's way comes down to the shared graph, if no other mark stands on that row."""
    taken = {(s.source, s.row) for s in (story.incident.built.span, story.first, story.second)}
    for moment in reversed(story.incident.via):
        span = moment.span
        if (span.source, span.row) not in taken:
            through = story.incident.name or (span.text if re.fullmatch(r"[\w.]+", span.text) else "")
            return (Label(span, f"reached again through {code(through)}" if through else "reached again from here"),)
    return ()
