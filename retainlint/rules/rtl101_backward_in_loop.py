"""RTL101: backward goes through a graph built before a loop in each of its iterations."""

from __future__ import annotations

import re

from retainlint.diagnostic import Detach, DrawAnew, Help, MoveHook, MoveInto, SumLosses
from retainlint.rules.freed_rules import FreedRule, create_graph, keep_graph, not_recorded, reason
from retainlint.rules.loop_hints import uses_gradients
from retainlint.rules.source_hints import (
    closed_over,
    is_made_of_noise,
    overriding,
    stands_alone,
)
from retainlint.rules.story import FreedStory, shared_frames


class BackwardInLoop(FreedRule):
    """A graph that was built before a loop is used by a backward pass in every iteration of it.

    `backward()` frees what the forward pass saved. The first iteration uses the graph and frees it; the second finds it
    gone, even if most of its own graph is new: one shared product above the loop is enough.

    Compute in the loop what depends on parameters. If nothing above the loop is to be trained, detach it, or make it
    under `torch.no_grad()`. If the iterations are several losses over one forward pass, add them up and call backward
    on the sum once. A part that saves nothing (a sum, a view, an addition) may be shared: going through it again is
    legal.
    """

    code = "RTL101"
    built_text = "built once, here"

    def fits(self, story: FreedStory) -> bool:
        return story.again is not None and story.again.built is None

    def message(self, story: FreedStory) -> str:
        return f"{story.backward_pass} backpropagates through a graph that was built once, before {story.loop}"

    def helps(self, story: FreedStory) -> tuple[Help, ...]:
        return (*_of_hook(story), *self._helps(story))

    def _helps(self, story: FreedStory) -> tuple[Help, ...]:
        assert story.again is not None
        built, loop, incident = story.maker, story.again.loop, story.incident
        anew = _inside_closure(story) or Help(f"{story.renewal} inside the loop", (MoveInto(built, loop),))
        is_behind = built.source is loop.source and built.start > loop.start
        if is_behind and built.text.endswith(")") and stands_alone(built) and incident.trained is not None:
            return not_recorded(story, "as it only notes what was learnt so far")
        if story.first_is_grad:
            if incident.stepped and incident.trained:  # a graph that is kept is that of the weights before
                return anew, create_graph(story)
            kept = keep_graph(story, "since each iteration wants this graph"), create_graph(story)
            return (anew, *kept) if incident.stepped else (*kept, anew)
        if incident.same_root and not story.again.picks(incident.reused.root):
            once = Help(f"call backward on `{story.roots[1]}` once, outside the loop")
            return anew, once, keep_graph(story, "if the same gradient is really wanted again in each iteration")
        if incident.joint:
            words = "add the losses up, call backward on the sum once, and take each optimiser's step then"
            return Help(words, (SumLosses((story.first,)),)), Help(f"{story.renewal} again for each of them")
        if story.is_left_over:
            words = f"keep `{story.what}` detached: it is a constant to what comes after the call that made it"
            return (Help(words, (Detach(built, story.what, loop, holders=incident.holders),)),)
        if story.again.picks(incident.reused.root) or built in loop:
            return self._of_pieces(story)
        constant = incident.foreign or incident.trained is False
        why = reason(constant, "it needs no gradient through it")
        cut = Help(story.cut("the loss") + why, (Detach(built, story.what, meant=constant),))
        total = Help(
            "add the losses up and call backward on the sum once, after the loop", (SumLosses((story.first,)),)
        )
        if constant:
            is_part = story.is_part or story.what in incident.aggregates
            whole = not_recorded(story, "as no loss is to train it")
            if story.is_put_aside and not story.name:
                return whole
            return (*whole, cut, *_of_new_noise(story)) if is_part else (cut, *_of_new_noise(story), *whole)
        if story.is_made_outside and incident.stepped and not incident.term:
            return (*not_recorded(story, "if no loss is to train what makes it"), anew)
        if incident.apart and not incident.stepped:  # what is zeroed in between is no part of a sum
            return anew, keep_graph(story, "since each iteration's gradients are needed separately")
        if incident.trained:
            keep = keep_graph(story, "if each loss is to call backward itself: the gradients are those of the sum")
            return (anew,) if incident.stepped else (total, keep, anew)
        return anew, cut, total

    def _of_pieces(self, story: FreedStory) -> tuple[Help, ...]:
        """The loop runs over parts of one forward pass: several losses, or the elements of one result."""
        assert story.again is not None
        iterable = story.again.iterable
        written = f": `sum({iterable}).backward()`" if iterable else ", after the loop"
        total = Help(f"add the losses up and call backward on the sum once{written}", (SumLosses((story.first,)),))
        if story.incident.apart:
            return (keep_graph(story, "since each iteration's gradients are needed separately"),)
        if story.incident.in_turn:
            words = (
                f"{story.renewal} again for each of them, after the step of the one before: each trains its own part"
            )
            return (Help(words),)
        keep = keep_graph(story, "if each iteration's gradients are needed separately")
        if story.incident.stepped:
            return Help(f"{story.renewal} again for each of them"), total
        return (keep, total) if uses_gradients(story.again.loop) else (total, keep)

    fails = {
        "a product above the loop": """
              t, a = torch.eye(3), torch.ones(3, requires_grad=True)
            - y = t @ (a * a)  #~ built
              for _ in range(2):
            +     y = t @ (a * a)
                  loss = (torch.randn(3) * y).sum()
                  loss.backward()  #~ freed #~ reused RTL101
        """,
        "one forward pass, many steps": """
              model, data = torch.nn.Linear(4, 2), torch.randn(8, 4)
              optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            - loss = (model(data) ** 2).mean()  #~ built
              for _ in range(3):
                  optimizer.zero_grad()
            +     loss = (model(data) ** 2).mean()
                  loss.backward()  #~ freed #~ reused RTL101
                  optimizer.step()
        """,
        "losses over one hidden layer, one backward each": """
              w = torch.randn(4, 4, requires_grad=True)
              hidden = torch.tanh(torch.randn(2, 4) @ w)  #~ built
              losses = [hidden.sum(), hidden.mean()]
            - for loss in losses:
            -     loss.backward()  #~ freed #~ reused RTL101
            + sum(losses).backward()
        """,
    }
    runs = {
        "what is shared saves nothing": """
            w = torch.ones(3, requires_grad=True)
            shifted = (w + 1).view(3, 1)
            for _ in range(3):
                (shifted * 2).sum().backward()
        """,
        "the loop is left after backward": """
            w = torch.ones(3, requires_grad=True)
            loss = (w * w).sum()
            while True:
                loss.backward()
                break
        """,
    }


def _of_new_noise(story: FreedStory) -> tuple[Help, ...]:
    """Of what a network with an optimiser of its own makes of noise for steps of another one, as a generator does for a critic:
    each of them is better given what is made of new noise."""
    assert story.again is not None
    incident = story.incident
    if not (incident.stepped and incident.foreign) or incident.unowned or not is_made_of_noise(story.maker):
        return ()
    words = f"{story.renewal} inside the loop under `torch.no_grad()`, of new noise"
    return (Help(words, (DrawAnew(story.maker, story.again.loop),), needs_proof=True),)


def _of_hook(story: FreedStory) -> tuple[Help, ...]:
    """Of what is made by a method that is called before the loop by its name, and is one of several classes', as for an event."""
    assert story.again is not None
    built = story.incident.built
    call, *inner = (*built.frames[shared_frames(built, story.nearest) :], built.span)
    names = ((each, overriding(each)) for each in inner)
    hooks = [each for each, name in names if name and re.search(rf"\b{name}\b", call.text)]
    words = "have it done by the hook that the loop calls in each iteration"
    cures = tuple(MoveHook(each, call, story.again.loop) for each in reversed(hooks))
    return (Help(words, cures, needs_proof=True),) if cures else ()


def _inside_closure(story: FreedStory) -> Help | None:
    """Of what is made once beside a function that is called again in the loop, and reads it there."""
    built, moments = story.incident.built, (*story.incident.via, story.incident.reused.moment)
    used = [span for each in moments for span in (each.span, *each.frames)]
    for made in (built.span, *reversed(built.frames)):
        if (found := closed_over(made, used)) is not None:
            name, function, inner = found
            return Help(f"compute `{name}` inside `{function}`", (MoveInto(made, inner),))
    return None
