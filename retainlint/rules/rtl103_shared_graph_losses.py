"""RTL103: two losses share a part of their graphs, and each is walked."""

from __future__ import annotations

import re

from retainlint.diagnostic import Detach, SumLosses
from retainlint.rules.freed_rules import Cures, FreedRule, compute_anew, keep_graph
from retainlint.rules.source_hints import assigned, is_used_between
from retainlint.rules.story import FreedStory

_JUDGE = re.compile(
    r"(?i)(?:^|[\W_])(?:d|disc|discriminator|critic)(?:$|[\W_])|err_?d(?![a-z])|loss_?d(?![a-z])|d_?loss"
)
"""A root that is called as the loss of a network that judges another's output, and doesn't train that one."""


class SharedGraphLosses(FreedRule):
    """Two losses share a part of their graphs, and each is walked.

    The walk from the first loss frees the shared part, and the walk from the second needs it. Gradients add up, so
    one walk of the sum gives each parameter what two walks would: `(first + second).backward()`. Where the second loss is
    to train only what lies above the shared part, give it the shared tensor detached. Retaining the graph in the
    first walk is right where each walk's gradients are used apart, with no `optimizer.step()` in between.

    Losses that share only leaves (parameters, data) never collide: leaves aren't freed.
    """

    code = "RTL103"

    def fits(self, story: FreedStory) -> bool:
        return True

    def message(self, story: FreedStory) -> str:
        where = f"the graph of `{story.what}`" if story.name else f"the graph behind `{story.what}`"
        return f"{story.backward_pass} needs {where}, which {story.first_backward} already freed"

    def cures(self, story: FreedStory) -> Cures:
        first, second = story.roots
        words = f"{story.cut(f'`{second}`')}, if it needs no gradient through it"
        cut = words, (Detach(story.second, story.what),)
        anew = f"compute `{story.fresh}` anew for `{second}`", compute_anew(story)
        if story.first_is_grad:
            through = "`create_graph=True`, if the second walk is to go through the gradient itself", ()
            keep = keep_graph(story, "since both walks want this graph")
            if is_used_between(assigned(story.first), story.first, story.second):
                return through, keep
            return keep, through, *(() if story.what == first else (cut,))
        if story.second_is_grad:
            return keep_graph(story, "since both walks want this graph"), anew
        total = self._sum(story), (SumLosses((story.first, story.second)),)
        keep = keep_graph(story, "if the two walks must stay apart")
        if story.is_one_place and story.what.startswith("self."):
            return (f"compute `{story.what}` anew before each call", compute_anew(story)), cut, keep
        if story.what == first == second:  # `loss = loss.mean()`
            return (f"remove {story.first_backward}: the second walk goes through what it starts at", ()), keep
        if _JUDGE.search(second) and not _JUDGE.search(first) and not _JUDGE.search(story.maker.text):
            return cut, anew, keep
        return total, cut, keep

    def _sum(self, story: FreedStory) -> str:
        """One walk of both roots, written out where they are simple and stand in one function."""
        first, second = story.roots
        together = story.incident.freed.moment.frames == story.incident.reused.moment.frames
        if together and first != second and all(re.fullmatch(r"[\w.]+(\[[^][]*\])?", root) for root in story.roots):
            return f"walk both at once, `({first} + {second}).backward()`"
        return "walk the sum of both losses once"

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
        "a penalty walked by itself": """
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
        "the first walk stops above the shared part": """
            w = torch.ones(3, requires_grad=True)
            hidden = torch.exp(w)
            (slope,) = torch.autograd.grad((hidden ** 2).sum(), hidden)
            (hidden * slope.detach()).sum().backward()
        """,
    }
