"""RTL101: a graph built before a loop is walked in each of its turns."""

from __future__ import annotations

from retainlint.diagnostic import Detach, MoveInto, SumLosses
from retainlint.rules.freed import Cures, FreedRule, keep_graph
from retainlint.rules.rule import Example
from retainlint.rules.story import Story


class BackwardInLoop(FreedRule):
    """A graph that was built before a loop is walked in every turn of it.

    `backward()` frees what the forward pass saved. The first turn walks the graph and frees it; the second finds it
    gone, even if most of its own graph is new: one shared product above the loop is enough.

    Compute in the loop what depends on parameters. If nothing above the loop is to be trained, detach it, or make it
    under `torch.no_grad()`. If the turns are several losses over one forward pass, add them up and walk the sum once.
    A part that saves nothing (a sum, a view, an addition) may be shared: walking it again is legal.
    """

    code = "RTL101"
    name = "backward-in-loop"
    built_text = "built once, here"

    def holds(self, story: Story) -> bool:
        return story.again is not None and story.again.built is None

    def message(self, story: Story) -> str:
        return f"{story.walk} walks a graph that was built once, before {story.loop}"

    def cures(self, story: Story) -> Cures:
        assert story.again is not None
        built, walks = story.maker, (story.first,)
        anew = f"compute `{story.what}` inside the loop", (MoveInto(built, story.again.loop),)
        if story.incident.same_root:
            once = f"walk `{story.roots[1]}` once, outside the loop", ()
            return anew, once, keep_graph(story, "if the same gradient is really wanted again in each turn")
        total = "add the losses up and walk their sum once", (SumLosses(walks),)
        if story.again.picks(story.incident.reused.root):
            written = f": `sum({story.again.iterable}).backward()`" if story.again.iterable else ", after the loop"
            keep = keep_graph(story, "if each turn's gradients are wanted by themselves")
            return (total[0] + written, total[1]), (f"compute `{story.what}` anew for each of them", ()), keep
        cut = f"{story.cut('the loss')}, if it needs no gradient through it", (Detach(built, story.what),)
        return anew, cut, (f"{total[0]}, after the loop", total[1])

    bad = (
        Example(
            "a product above the loop",
            """
              import torch

              t, a = torch.eye(3), torch.ones(3, requires_grad=True)
            - y = t @ (a * a)  #~ built
              for _ in range(2):
            +     y = t @ (a * a)
                  loss = (torch.randn(3) * y).sum()
                  loss.backward()  #~ freed #~ reused RTL101
            """,
        ),
        Example(
            "one forward pass, many steps",
            """
              import torch

              model, data = torch.nn.Linear(4, 2), torch.randn(8, 4)
              optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            - loss = (model(data) ** 2).mean()  #~ built
              for _ in range(3):
            +     loss = (model(data) ** 2).mean()
                  optimizer.zero_grad()
                  loss.backward()  #~ freed #~ reused RTL101
                  optimizer.step()
            """,
        ),
        Example(
            "losses over one hidden layer, walked one by one",
            """
              import torch

              w = torch.randn(4, 4, requires_grad=True)
              hidden = torch.tanh(torch.randn(2, 4) @ w)  #~ built
              losses = [hidden.sum(), hidden.mean()]
            - for loss in losses:
            -     loss.backward()  #~ freed #~ reused RTL101
            + sum(losses).backward()
            """,
        ),
    )
    good = (
        Example(
            "what is shared saves nothing",
            """
            import torch

            w = torch.ones(3, requires_grad=True)
            shifted = (w + 1).view(3, 1)
            for _ in range(3):
                (shifted * 2).sum().backward()
            """,
        ),
        Example(
            "the loop is left after the walk",
            """
            import torch

            w = torch.ones(3, requires_grad=True)
            loss = (w * w).sum()
            while True:
                loss.backward()
                break
            """,
        ),
    )
