"""RTL102: backward is called twice on the same tensor."""

from __future__ import annotations

from retainlint.diagnostic import DropBackward, Help, MoveInto, ReadGradients
from retainlint.rules.freed_rules import FreedRule, compute_anew, create_graph, keep_graph
from retainlint.rules.story import FreedStory, outer_call
from retainlint.text.quoting import short


class BackwardTwice(FreedRule):
    """Backward is called twice on the same tensor.

    The first `backward()` or `autograd.grad()` frees what the graph saved, so the second can't run. Mostly one of the
    two is a leftover. If new data or new weights are meant, compute the loss again. If both are meant, because
    one asks for some gradients and the other for the rest, ask for all of them in one call, or retain the graph in
    the first: that keeps what was saved in memory until the second.
    """

    code = "RTL102"

    def fits(self, story: FreedStory) -> bool:
        return story.incident.same_root

    def message(self, story: FreedStory) -> str:
        if story.is_one_place:
            return f"{story.backward_pass} backpropagates through the same graph twice; the first time frees it"
        return f"{story.backward_pass} backpropagates through a graph that {story.first_backward} already freed"

    def helps(self, story: FreedStory) -> tuple[Help, ...]:
        anew = Help(f"compute `{story.roots[1]}` again before the second backward", compute_anew(story))
        if story.first_is_grad:
            keep = keep_graph(story, "since both backward passes want this graph")
            return keep, create_graph(story), Help("ask for all the gradients in one call"), anew
        if story.second_is_grad:
            read = Help(f"read `.grad` after {story.first_backward}, where the gradients of parameters are asked for")
            if story.incident.left:
                words = f"read `.grad`, where {story.first_backward} has left the gradients that this asks for"
                read = Help(words, (ReadGradients(story.second, story.first),))
            return read, keep_graph(story, "if both backward passes are wanted"), anew
        freed, reused = story.incident.freed.moment, story.incident.reused.moment
        drop = DropBackward(story.second, outer_call(freed, reused) or freed.span)
        remove = Help("remove one of the two: the second only adds the same gradients again", (drop,))
        if not story.incident.stepped:
            if story.incident.zeroed == "at once":
                words = f"remove {story.first_backward}: its gradients are zeroed before anything uses them"
                return (Help(words, (DropBackward(story.first, story.second),)),)
            return (anew,) if story.incident.zeroed else (remove,)
        if not (story.incident.zeroed or story.is_one_place):
            words = f"remove `{short(story.second.text)}`: it would add the gradients of {story.first_backward} again, and the weights have been stepped since"
            return Help(words, (DropBackward(story.second, story.first, exact=True),)), anew
        words = f"compute `{story.roots[1]}` inside the closure: each call has new weights and needs a new graph"
        inside = Help(words, (MoveInto(story.maker, story.second),), needs_proof=True)
        return (inside, anew) if story.is_one_place else (anew,)

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
        "a helper that calls backward is called twice": """
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
