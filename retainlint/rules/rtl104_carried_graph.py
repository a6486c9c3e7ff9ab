"""RTL104: what an earlier turn or call built is carried into the next, which walks it again."""

from __future__ import annotations

import os
import re

from retainlint.diagnostic import Clear, Cure, Detach, SumLosses
from retainlint.rules.freed_rules import Cures, FreedRule
from retainlint.rules.source_hints import body, is_added_to, is_cached, is_list
from retainlint.rules.story import FreedStory

_OF_ONE_BACKWARD = re.compile(r"loss|log_?prob|saved|error|cost|penalt", re.IGNORECASE)
"""A list that holds what one walk is for, so that it is emptied after it."""
_TOTAL = re.compile(rf"{_OF_ONE_BACKWARD.pattern}|total|running|accumulat|average|(\b|_)sum(\b|_)", re.IGNORECASE)


class CarriedGraph(FreedRule):
    """A graph that an earlier turn or call built is carried into the next one, which walks it again.

    A hidden state, a running total, a list of losses, an attribute: what is kept over turns keeps its graph. The walk
    of turn 1 freed it; the walk of turn 2 goes back through the kept tensor into turn 1.

    Detach the state at the start of each turn: `h = h.detach()`, and `state = tuple(s.detach() for s in state)` for
    an LSTM (truncated backpropagation through time). Keep totals as numbers: `total += loss.item()`. To train through
    all turns, walk once, after the loop. `retain_graph=True` is no cure: each turn would walk all turns before it, and
    fail as soon as an `optimizer.step()` stands between them.
    """

    code = "RTL104"

    def fits(self, story: FreedStory) -> bool:
        return story.is_carried

    def built(self, story: FreedStory) -> str:
        return f"built in {story.again.noun} {story.again.built}" if story.again else "built here"

    def message(self, story: FreedStory) -> str:
        assert story.again is not None
        if story.root_is_named:
            return f"{story.backward_pass} walks again what `{story.what}` keeps of an earlier {story.again.noun}"
        name = f" through `{story.carried}`" if story.carried else ""
        return f"{story.backward_pass} reaches{name} into the graph of an earlier {story.again.noun}, which is freed"

    def cures(self, story: FreedStory) -> Cures:
        assert story.again is not None
        noun, what = story.again.noun, story.carried or story.what
        where = next((m.span for m in reversed(story.incident.via) if m.span.text == what), story.maker)
        cut: tuple[Cure, ...] = (Detach(where, what, story.again.loop),)
        once = f"after the {'last call' if story.again.is_call else 'loop'}"
        total: tuple[Cure, ...] = (SumLosses((story.second,)),)
        through = f"walk once, {once}, if gradients are to flow through all {noun}s", total
        if is_list(what, story.incident.built.span.source):
            cleared: tuple[str, tuple[Cure, ...]] = f"clear `{what}` after each walk", (Clear(story.second, what),)
            if _OF_ONE_BACKWARD.search(what):
                alone = f"walk only the loss of this {noun}, and keep detached values in `{what}`"
                return cleared, (alone, cut), (f"walk `{story.roots[1]}` once, {once}", total)
            return (f"keep detached values in `{what}`", cut), (cleared[0], ())
        if story.root_is_named and _is_total(story):
            alone = f"walk only the loss of this {noun}, and add detached values to `{what}`"
            whole = f"walk `{story.roots[1]}` once, {once}", total
            return ((alone, cut), whole) if ".step(" in body(story.again.loop) else (whole, (alone, cut))
        if is_cached(story.incident.built.span):
            return (f"compute `{what}` anew in each {noun}: what is cached keeps its graph", ()), (
                _detached(story),
                cut,
            )
        return (_detached(story), cut), through

    fails = {
        "a hidden state": """
              w, h = torch.randn(3, 3, requires_grad=True), torch.zeros(1, 3)
              for _ in range(3):
            +     h = h.detach()
                  h = torch.tanh(h @ w + 1)  #~ built
                  h.sum().backward()  #~ freed #~ reused RTL104
        """,
        "a running total": """
              model, total = torch.nn.Linear(4, 1), 0
              for batch in torch.randn(3, 2, 4):
                  total = total + (model(batch) ** 2).mean()  #~ built
            -     total.backward()  #~ freed #~ reused RTL104
            + total.backward()
        """,
        "a state kept on an object": """
              class Memory:
                  cell, state = torch.nn.Linear(3, 3), torch.zeros(1, 3)
                  def step(self, x):
            -         self.state = torch.tanh(self.cell(self.state + x))  #~ built
            +         self.state = torch.tanh(self.cell(self.state.detach() + x))
                      self.state.sum().backward()  #~ freed #~ reused RTL104

              memory = Memory()
              for x in torch.randn(3, 1, 3):
                  memory.step(x)
        """,
    }
    runs = {
        "a total of what has been walked": """
            w, total = torch.ones(3, requires_grad=True), 0
            for _ in range(3):
                (loss := (w * w).sum()).backward()
                total = total + loss
        """,
        "a state that saves nothing": """
            w, h = torch.ones(3, requires_grad=True), torch.zeros(3)
            for _ in range(3):
                (h := h + w).sum().backward()
        """,
    }


def _is_total(story: FreedStory) -> bool:
    """What is walked is a sum over the turns, not a state from which each turn computes its loss: `h.sum()`."""
    name = story.name
    is_asked = re.search(r"\w\(", story.roots[1]) is not None
    return is_added_to(name, story.incident.built.span.source) and (_TOTAL.search(name) is not None or not is_asked)


def _detached(story: FreedStory) -> str:
    """How the carried variable loses its graph between turns."""
    assert story.again is not None
    noun, name = story.again.noun, story.carried
    if not name:
        return f"detach what `{story.what}` hands on to the next {noun}"
    built, backpropagated = story.incident.built.span.source, story.second.source
    when = (
        f"at the start of each {noun}"
        if built is backpropagated
        else f"before {os.path.basename(built.name)} uses it again"
    )
    if re.search(r"lstm(?!_?cell)", story.incident.built.span.text, re.IGNORECASE):
        return f"`{name} = tuple(s.detach() for s in {name})` {when}"
    return f"`{name} = {name}.detach()` {when}"
