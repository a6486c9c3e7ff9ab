"""RTL106: a graph is built once, in `__init__` or at module level, and used by backward in later calls."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import dropwhile

from retainlint.diagnostic import ComputeWhereUsed, Detach, Help, NotRecorded
from retainlint.incident import Moment
from retainlint.rules.freed_rules import FreedRule, as_trained, reason
from retainlint.rules.source_hints import assigned, binds_there, enclosing_function
from retainlint.rules.story import FreedStory
from retainlint.text.quoting import short
from retainlint.text.source import INITIALISERS

_CALLED = ("forward", "__call__")
"""What runs in each forward pass."""


class GraphBuiltInInit(FreedRule):
    """A tensor is derived from parameters once, in `__init__` or at module level, and used by backward in later calls.

    `self.scale = self.log_scale.exp()` in `__init__` runs once, so it has one graph. The first training step uses and
    frees it; the second needs it again. It would be wrong even if it ran: after `optimizer.step()` the derived tensor
    still holds what the old parameters gave.

    Derive it where it is used: in `forward`, in a method, in a property; the same goes for a distribution made from
    parameters in `__init__`. What is not to be trained can be made under `torch.no_grad()`.

    """

    code = "RTL106"

    def fits(self, story: FreedStory) -> bool:
        return story.is_of_init or (story.again is not None and story.again.is_call and story.again.built is None)

    def _where(self, story: FreedStory) -> str:
        return f"in `{name}`" if (name := enclosing_function(story.incident.built.span)) else "at module level"

    def built(self, story: FreedStory) -> str:
        return f"built once, {self._where(story)}"

    def message(self, story: FreedStory) -> str:
        return f"{story.backward_pass} backpropagates through a graph that was built only once, {self._where(story)}"

    def helps(self, story: FreedStory) -> tuple[Help, ...]:
        own = story.incident.built
        kept = ((span, name) for span in (own.span, *reversed(own.frames)) for name in assigned(span))
        built, name = next(((span, name) for span, name in kept if name.startswith("self.")), (own.span, ""))
        what = name if built != own.span else story.what if story.incident.name else short(built.text)
        held = what.startswith("self.") or any(name.startswith("self.") for name in assigned(built))
        user = next((name for each in reversed(story.incident.via) if (name := enclosing_function(each.span))), "")
        method = user if user in _CALLED else "forward"
        where = f"in `{method}` or a property" if held else "in the function that uses it"
        if enclosing_function(built) in _CALLED:
            where = "again in each iteration"
        elif what.startswith("self.") and not any(binds_there(what, span) for span in (own.span, *own.frames)):
            handing = next(
                (span for span in reversed(own.frames) if enclosing_function(span) in INITIALISERS), own.span
            )
            what, where = short(handing.text), "in each forward pass, and hand it on from there"
        words = story.cut("the loss") if story.incident.name else f"detach `{what}`"
        fresh = Help(
            f"compute `{what}` {where}, so that each backward finds a new graph", (ComputeWhereUsed(built, what),)
        )
        if name and built != own.span and name not in words:  # one that goes through what it keeps
            words = f"keep detached values in `{name}`"
        why = reason(story.incident.trained is False, "it is not to be trained")
        cut = Help(f"{words}{why}", (Detach(built, what, meant=True),))
        plain = _not_recorded(own) if story.incident.unowned else ()
        return (*plain, *as_trained(story, fresh, cut))

    fails = {
        "a weight derived in __init__": """
              class Scaled(torch.nn.Module):
                  def __init__(self):
                      super().__init__()
                      self.log_scale = torch.nn.Parameter(torch.zeros(3))
            -         self.scale = self.log_scale.exp()  #~ built
                  def forward(self, x):
            -         return x * self.scale
            +         return x * self.log_scale.exp()

              model = Scaled()
              for x in torch.randn(3, 3):
                  model(x).sum().backward()  #~ freed #~ reused RTL106
        """,
        "a kernel computed at module level": """
              w = torch.ones(3, requires_grad=True)
            - kernel = torch.exp(-w)  #~ built
              def step(x):
            +     kernel = torch.exp(-w)
                  (kernel * x).sum().backward()  #~ freed #~ reused RTL106

              step(torch.ones(3))
              step(torch.ones(3))
        """,
    }
    runs = {
        "what __init__ derives saves nothing": """
            class Shifted(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.weight = torch.nn.Parameter(torch.zeros(3))
                    self.shifted = self.weight + 1
                def forward(self, x):
                    return x * self.shifted

            model = Shifted()
            for x in torch.randn(3, 3):
                model(x).sum().backward()
        """,
        "what __init__ derives becomes a parameter": """
            class Scaled(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.weight = torch.nn.Parameter(torch.nn.Linear(3, 3).weight * 2)
                def forward(self, x):
                    return x @ self.weight

            model = Scaled()
            for x in torch.randn(3, 3):
                model(x).sum().backward()
        """,
    }


def _not_recorded(built: Moment) -> Iterator[Help]:
    """What an initialiser makes, and keeps, of a network that no optimiser owns needs no graph."""
    calls = [*dropwhile(lambda each: enclosing_function(each) not in INITIALISERS, (*built.frames, built.span))]
    if calls:
        why = ": no optimiser trains what makes it"
        words = f"compute `{short(calls[0].text)}` under `torch.no_grad()`{why}"
        yield Help(words, tuple(NotRecorded(each, why) for each in calls), needs_proof=True)
