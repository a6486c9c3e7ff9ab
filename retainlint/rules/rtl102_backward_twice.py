"""RTL102: two walks start at the same tensor."""

from __future__ import annotations

from retainlint.diagnostic import DropBackward
from retainlint.rules.freed_rules import Cures, FreedRule, compute_anew, keep_graph
from retainlint.rules.story import FreedStory


class BackwardTwice(FreedRule):
    """The same tensor is walked twice.

    The first `backward()` or `autograd.grad()` frees what the graph saved, so the second can't run. Mostly one of the
    two is a leftover. If new data or new weights are meant, compute the loss again. If both walks are meant, because
    one asks for some gradients and the other for the rest, ask for all of them in one walk, or retain the graph in
    the first: that keeps what was saved in memory until the second.
    """

    code = "RTL102"

    def fits(self, story: FreedStory) -> bool:
        return story.incident.same_root

    def message(self, story: FreedStory) -> str:
        if story.is_one_place:
            return f"{story.backward_pass} walks the same graph twice; the first walk frees it"
        return f"{story.backward_pass} walks a graph that {story.first_backward} already freed"

    def cures(self, story: FreedStory) -> Cures:
        root = story.roots[1]
        anew = f"compute `{root}` again before the second walk", compute_anew(story)
        if story.first_is_grad:
            keep = keep_graph(story, "since both walks want this graph")
            return keep, ("ask for all the gradients in one walk", ()), anew
        if story.second_is_grad:
            read = f"read `.grad` after {story.first_backward}, where the gradients of parameters are asked for", ()
            return read, keep_graph(story, "if both walks are wanted"), anew
        keep = keep_graph(story, "only if both walks are really wanted")
        return (
            (
                "remove one of the two walks: the second only adds the same gradients again",
                (DropBackward(story.second, story.first),),
            ),
            anew,
            keep,
        )

    fails = {
        "a second backward left over": """
              w = torch.ones(3, requires_grad=True)
              loss = (w * w).sum()  #~ built
              loss.backward()  #~ freed
            - loss.backward()  #~ reused RTL102
        """,
        "autograd.grad, then backward": """
              model = torch.nn.Linear(3, 1)
              x = torch.randn(5, 3, requires_grad=True)
              out = torch.tanh(model(x)).sum()  #~ built
            - (slope,) = torch.autograd.grad(out, x)  #~ freed
            + (slope,) = torch.autograd.grad(out, x, retain_graph=True)
              print(slope.shape)
              out.backward()  #~ reused RTL102
        """,
        "a helper that walks is called twice": """
              def update(loss, optimizer):
                  optimizer.zero_grad()
                  loss.backward()  #~ freed #~ reused RTL102
                  optimizer.step()

              w = torch.ones(3, requires_grad=True)
              optimizer = torch.optim.SGD([w], lr=0.1)
              loss = (w * w).sum()  #~ built
              update(loss, optimizer)
            + loss = (w * w).sum()
              update(loss, optimizer)
        """,
    }
    runs = {
        "a sum of leaves saves nothing": """
            w = torch.ones(3, requires_grad=True)
            loss = (w + 1).sum()
            loss.backward()
            loss.backward()
        """,
        "the arms exclude each other": """
            w = torch.ones(3, requires_grad=True)
            loss = (w * w).sum()
            if torch.rand(1).item() > 0.5:
                loss.backward()
            else:
                (loss * 2).backward()
        """,
    }
