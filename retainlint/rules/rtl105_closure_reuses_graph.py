"""RTL105: an optimiser calls a closure again, but the graph that it backpropagates through was built outside."""

from __future__ import annotations

from retainlint.diagnostic import Cure, Detach, Help, MoveInto
from retainlint.rules.freed_rules import FreedRule, as_trained, not_recorded, reason
from retainlint.rules.story import FreedStory


class ClosureReusesGraph(FreedRule):
    """A closure that an optimiser calls several times backpropagates through a graph that was built outside of it.

    `torch.optim.LBFGS` evaluates its closure again and again within one `step(closure)`, with other weights each
    time. The first call's backward frees the graph; the next call finds it gone. Even retained, it would hold the
    loss of the old weights. Everything that depends on the weights belongs into the closure: zero the gradients,
    compute the loss, call backward on it, return it. SGD and Adam call a closure once: there the same program runs.
    """

    code = "RTL105"
    built_text = "built once, outside the closure"

    def fits(self, story: FreedStory) -> bool:
        return story.incident.in_closure

    def message(self, story: FreedStory) -> str:
        return f"{story.backward_pass} backpropagates through a graph that was built once, outside the closure that the optimiser calls again"

    def helps(self, story: FreedStory) -> tuple[Help, ...]:
        data: tuple[Cure, ...] = (MoveInto(story.maker, story.again.loop),) if story.again is not None else ()
        anew = Help(f"{story.renewal} inside the closure: each call has new weights and needs a new graph", data)
        if story.incident.same_root:
            return (anew,)
        if story.incident.aside:
            plain = not_recorded(story, "as this optimiser trains nothing of it")
            why = reason(True, "", "what it is made of")
            return (*plain, Help(story.cut("the loss") + why, (Detach(story.second, story.what, meant=True),)))
        why = reason(story.incident.trained is False, "what it is made of is not trained here", "what it is made of")
        cut = Help(story.cut("the loss") + why, (Detach(story.second, story.what, meant=True),))
        return as_trained(story, anew, cut)

    fails = {
        "a loss computed before the closure": """
              model = torch.nn.Linear(3, 1)
              x, y = torch.randn(8, 3), torch.randn(8, 1)
              optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)
            - loss = ((model(x) - y) ** 2).mean()  #~ built
              def closure():
                  optimizer.zero_grad()
            +     loss = ((model(x) - y) ** 2).mean()
                  loss.backward()  #~ freed #~ reused RTL105
                  return loss

              optimizer.step(closure)
        """,
        "a regulariser computed before the closure": """
              w = torch.randn(3, requires_grad=True)
              x, y = torch.randn(8, 3), torch.randn(8)
              optimizer = torch.optim.LBFGS([w], max_iter=4)
            - decay = (w ** 2).sum()  #~ built
              def closure():
                  optimizer.zero_grad()
            +     decay = (w ** 2).sum()
                  loss = ((x @ w - y) ** 2).mean() + 0.1 * decay
                  loss.backward()  #~ freed #~ reused RTL105
                  return loss

              optimizer.step(closure)
        """,
    }
    runs = {
        "an optimiser that calls its closure once": """
            w = torch.ones(3, requires_grad=True)
            optimizer = torch.optim.SGD([w], lr=0.1)
            loss = (w ** 2).sum()
            def closure():
                loss.backward()
                return loss

            optimizer.step(closure)
        """,
        "what was built outside needs no gradient": """
            w = torch.randn(3, requires_grad=True)
            optimizer = torch.optim.LBFGS([w], max_iter=4)
            with torch.no_grad():
                target = torch.exp(w) + 1
            def closure():
                optimizer.zero_grad()
                loss = ((w - target) ** 2).sum()
                loss.backward()
                return loss

            optimizer.step(closure)
        """,
    }
