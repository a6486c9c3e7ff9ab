"""RTL201: a graph is retained and never used again."""

from __future__ import annotations

from retainlint.diagnostic import Diagnostic, DropRetain, Help
from retainlint.incident import Retained
from retainlint.rules.warning_rule import WarningRule, backward_text
from retainlint.text.quoting import code


class NeedlessRetainGraph(WarningRule[Retained]):
    """`retain_graph=True` in a backward pass after which nothing ever goes through any part of that graph again.

    What the graph saved, which is most of the memory of a training step, then stays alive as long as some variable
    still leads to it: through the optimiser's step, and into the next iteration's forward pass, where two iterations'
    graphs are alive at once. Often the argument is left from an attempt to silence "Trying to backward through the
    graph a second time", and hides the next mistake of that kind.

    It is said only where every later use of the graph is seen: not of a graph that came in from outside, was handed
    to code that can't be seen, or is kept in an object, a global, or a returned value.

    """

    code = "RTL201"
    kind = Retained

    def report(self, incident: Retained) -> Diagnostic:
        return self.warning(
            incident,
            f"{backward_text(incident.backward_pass)} retains a graph that nothing uses again",
            f"retained here, and never used again: what {code(incident.backward_pass.root)}'s graph saved stays alive",
            Help(
                "drop `retain_graph=True`: backward then frees the graph as it goes",
                (DropRetain(incident.backward_pass.moment.span, incident.value),),
            ),
        )

    fails = {
        "an ordinary training loop": """
              model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
              optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
              for _ in range(20):
                  loss = model(torch.randn(16, 4)).pow(2).mean()
                  optimizer.zero_grad()
            -     loss.backward(retain_graph=True)  #~ wasted RTL201
            +     loss.backward()
                  optimizer.step()
        """,
        "the discriminator's loss, over a detached fake": """
              generator, discriminator = torch.nn.Linear(2, 4), torch.nn.Linear(4, 1)
              of_g = torch.optim.SGD(generator.parameters(), lr=0.1)
              of_d = torch.optim.SGD(discriminator.parameters(), lr=0.1)
              for _ in range(20):
                  fake = generator(torch.randn(8, 2))
                  d_loss = discriminator(fake.detach()).pow(2).mean()
                  of_d.zero_grad()
            -     d_loss.backward(retain_graph=True)  #~ wasted RTL201
            +     d_loss.backward()
                  of_d.step()
                  g_loss = -discriminator(fake).pow(2).mean()
                  of_g.zero_grad()
                  g_loss.backward()
                  of_g.step()
        """,
    }
    runs = {
        "two losses over one hidden layer": """
            body, head, other = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1), torch.nn.Linear(8, 1)
            for _ in range(20):
                hidden = torch.tanh(body(torch.randn(16, 4)))
                head(hidden).pow(2).mean().backward(retain_graph=True)
                other(hidden).pow(2).mean().backward()
        """,
        "the rows of a Jacobian": """
            x = torch.randn(3, requires_grad=True)
            y = torch.tanh(x) * x
            rows = []
            for i in range(len(y)):
                x.grad = None
                y[i].backward(retain_graph=True)
                rows.append(x.grad.clone())
            print(torch.stack(rows).shape)
        """,
        "used again only sometimes": """
            w = torch.ones(3, requires_grad=True)
            loss = (w * w).sum()
            loss.backward(retain_graph=True)
            if torch.rand(1).item() > 0.5:
                (loss * 2).backward()
        """,
        "handed to the caller": """
            class Half:
                def __init__(self):
                    self.w = torch.ones(3, requires_grad=True)

                def run(self):
                    self.hidden = (self.w * self.w).sum()
                    self.hidden.backward(retain_graph=True)
                    return self.hidden

            half = Half()
            total = half.run() * 2
            total.backward()
        """,
        "a penalty on the gradient": """
            w = torch.ones(3, requires_grad=True)
            loss = (w ** 3).sum()
            (slope,) = torch.autograd.grad(loss, w, create_graph=True, retain_graph=True)
            (slope ** 2).sum().backward()
        """,
    }
