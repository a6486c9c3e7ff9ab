"""RTL103: two losses share a part of their graphs, and backward is called on each."""

from __future__ import annotations

import re

from retainlint.diagnostic import CreateGraph, Detach, DropBackward, Help, SumLosses
from retainlint.rules.freed_rules import FreedRule, compute_anew, keep_graph, reason
from retainlint.rules.source_hints import assigned, is_used_between
from retainlint.rules.story import FreedStory, outer_call
from retainlint.startup.records import replace
from retainlint.text.quoting import code, short


class SharedGraphLosses(FreedRule):
    """Two losses share a part of their graphs, and backward is called on each.

    The backward pass of the first loss frees the shared part, and that of the second needs it. Gradients add up, so
    backward on the sum gives each parameter what two calls would: `(first + second).backward()`. Where the second
    loss is to train only what lies above the shared part, give it the shared tensor detached. Retaining the graph in
    the first is right where each one's gradients are used apart, with no `optimizer.step()` in between.

    Losses that share only leaves (parameters, data) never collide: leaves aren't freed.

    """

    code = "RTL103"

    def fits(self, story: FreedStory) -> bool:
        return True

    def message(self, story: FreedStory) -> str:
        where = f"the graph of `{story.what}`" if story.name else f"the graph behind `{story.what}`"
        return f"{story.backward_pass} needs {where}, which {story.first_backward} already freed"

    def helps(self, story: FreedStory) -> tuple[Help, ...]:
        incident, (first, second) = story.incident, story.roots
        if story.second in incident.freed.moment.frames:  # in what it runs itself: a hook, the backward of a function
            return (Help(f"begin what `{first}` is computed of at a leaf of its own: `.detach().requires_grad_()`"),)
        is_constant = incident.trained is False or incident.aside
        why = reason(is_constant, "it needs no gradient through it")
        cut = Help(
            story.cut(f"`{self._taker(story)}`") + why,
            (Detach(story.second_call, story.what, meant=is_constant),),
            needs_proof=not is_constant,
        )
        anew = Help(f"{story.renewal} again for `{self._taker(story)}`", compute_anew(story))
        if story.first_is_grad:
            other = story.second if story.second_is_grad and not story.is_one_place else None
            through = Help(
                "`create_graph=True`, if the second backward is to go through the gradient itself",
                (CreateGraph(story.first, other),),
            )
            keep = keep_graph(story, "since both backward passes want this graph", other)
            if not story.is_one_place and is_used_between(assigned(story.first), story.first, story.second):
                return (through,)
            return keep, through, *(() if story.what == first else (cut,))
        if story.second_is_grad:
            return keep_graph(story, "since both backward passes want this graph"), anew
        if story.is_one_place and story.what.startswith("self."):
            return Help(f"compute `{story.what}` again before each call", compute_anew(story)), cut
        if incident.whole and not (incident.stepped or incident.apart or story.is_one_place):
            words = f"remove {story.first_backward}: the second goes through what it starts at"
            return (Help(words, (DropBackward(story.first, story.second),)),)
        if incident.part and not (incident.stepped or incident.apart or story.is_one_place):
            words = f"remove {code(short(story.second.text))}: {story.first_backward} has gone through all of it"
            return (Help(words, (DropBackward(story.second, story.first, exact=True),)),)
        if incident.weight:
            taker, span = (first, story.first) if incident.weight == "first" else (second, story.second)
            held = incident.name or story.what
            made = short(story.incident.built.span.text)
            words = (
                f"use `{held}.detach()` for `{taker}`" if incident.name else f"detach what `{taker}` takes of `{made}`"
            )
            words += ": it weighs a log-probability there"
            cuts = (Detach(each, held, meant=True) for each in (*reversed(incident.built.frames), span))
            return (Help(words, (Detach(span, held, meant=True),) if incident.name else tuple(cuts)),)
        if is_constant:
            return (cut,)
        if incident.elsewhere and not story.is_one_place:
            words = f"call backward once, on the sum, before that step: `({first} + {second}).backward()`"
            return Help(words, (SumLosses((story.first, story.second), early=True),)), replace(anew, needs_proof=True)
        if incident.stepped:
            return cut, anew
        if incident.apart:
            return (keep_graph(story, "since the gradients of each are needed separately"),)
        total = Help(self._sum(story), (SumLosses((story.first, story.second)),))
        keep = keep_graph(story, "if the two must stay apart")
        return (total, keep) if incident.trained else (total, cut, keep)

    def _taker(self, story: FreedStory) -> str:
        """What is to leave the shared part alone: the second loss, or the call that backpropagates through it."""
        freed, reused = story.incident.freed.moment, story.incident.reused.moment
        calls = outer_call(freed, reused), outer_call(reused, freed)
        one, other = (" ".join(each.text.split()) if each is not None else "" for each in calls)
        return short(other) if story.is_one_place and one != other != "" else story.roots[1]

    def _sum(self, story: FreedStory) -> str:
        """One backward pass from both roots, written out where they are simple and stand in one function."""
        first, second = story.roots
        together = story.incident.freed.moment.frames == story.incident.reused.moment.frames
        if together and first != second and all(re.fullmatch(r"[\w.]+(\[[^][]*\])?", root) for root in story.roots):
            return f"call backward once, on the sum: `({first} + {second}).backward()`"
        return "call backward once, on the sum of both losses"

    fails = {
        "two heads on one trunk": """
              trunk = torch.nn.Linear(4, 4)
              hidden = torch.tanh(trunk(torch.randn(2, 4)))  #~ built
              loss_a = (hidden ** 2).mean()
              loss_b = hidden.sum()
            - loss_a.backward()  #~ freed
            - loss_b.backward()  #~ reused RTL103
            + (loss_a + loss_b).backward()
        """,
        "a share of a loss, and the loss again": """
              model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
              loss = (model(torch.randn(5, 3)) ** 2).mean()  #~ built
              scaled = loss / 4
              scaled.backward()  #~ freed
            - loss.backward()  #~ reused RTL103
        """,
        "the product of two gradients": """
              mine, theirs = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
              game = torch.exp(mine * theirs)  #~ built
            - (wish,) = torch.autograd.grad(game.sum(), theirs)  #~ freed
            + (wish,) = torch.autograd.grad(game.sum(), theirs, create_graph=True)
            - (will,) = torch.autograd.grad((game ** 2).sum(), theirs)  #~ reused RTL103
            + (will,) = torch.autograd.grad((game ** 2).sum(), theirs, create_graph=True)
              (game.sum() + (wish * will).sum()).backward()
        """,
        "a backward for the penalty alone": """
              critic = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
              x = torch.randn(5, 3, requires_grad=True)
              score = critic(x).sum()  #~ built
              (slope,) = torch.autograd.grad(score, x, create_graph=True)
              penalty = ((slope ** 2).sum(1) - 1).mean()
            - penalty.backward()  #~ freed
            - score.backward()  #~ reused RTL103
            + (penalty + score).backward()
        """,
    }
    runs = {
        "only the parameters are shared": """
            model = torch.nn.Linear(4, 1)
            for batch in (torch.randn(2, 4), torch.randn(2, 4)):
                (model(batch) ** 2).mean().backward()
        """,
        "the first backward stops above the shared part": """
            w = torch.ones(3, requires_grad=True)
            hidden = torch.exp(w)
            (slope,) = torch.autograd.grad((hidden ** 2).sum(), hidden)
            (hidden * slope.detach()).sum().backward()
        """,
    }
