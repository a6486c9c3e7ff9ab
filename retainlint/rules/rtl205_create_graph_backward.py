"""RTL205: backward(create_graph=True), and the gradients are never let go."""

from __future__ import annotations

from retainlint.diagnostic import Diagnostic, Severity
from retainlint.incident import Cycle, Incident
from retainlint.rules.rule import Example, Rule
from retainlint.rules.warned import backward_text, warned


class CreateGraphBackward(Rule):
    """`backward(create_graph=True)` makes each parameter and its gradient hold each other.

    The gradient in `p.grad` has a graph of its own, which leads back to `p`: a cycle, and one through C++, which
    Python's collector can't free. All of it stays until somebody sets `p.grad` to None. `zero_grad()` does that, and
    behind it this rule is silent; torch itself warns of it at run time.

    `torch.autograd.grad(loss, parameters, create_graph=True)` returns the gradients instead, and makes no cycle.
    """

    code = "RTL205"
    name = "create-graph-backward"
    severity = Severity.WARNING

    def matches(self, incident: Incident) -> bool:
        return isinstance(incident, Cycle)

    def explain(self, incident: Incident) -> Diagnostic:
        assert isinstance(incident, Cycle)
        return warned(
            self,
            incident,
            f"{backward_text(incident.backward_pass)} makes the parameters and their gradients hold each other",
            "each `p.grad` leads back to `p`: neither is ever freed",
            "get the gradients from `torch.autograd.grad(..., create_graph=True)`; or set each `p.grad` to None after use",
        )

    bad = (
        Example(
            "the norm of the gradient",
            """
              import torch

              w = torch.ones(3, requires_grad=True)
              loss = (w ** 3).sum()
            - loss.backward(create_graph=True)  #~ wasted RTL205
            - print((w.grad ** 2).sum().item())
            + (slope,) = torch.autograd.grad(loss, w, create_graph=True)
            + print((slope ** 2).sum().item())
            """,
        ),
        Example(
            "in each turn",
            """
              import torch

              model = torch.nn.Linear(4, 1)
              for _ in range(20):
                  loss = model(torch.randn(8, 4)).pow(2).mean()
            -     loss.backward(create_graph=True)  #~ wasted RTL205
            -     norm = sum(p.grad.pow(2).sum() for p in model.parameters())
            +     slopes = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
            +     norm = sum(slope.pow(2).sum() for slope in slopes)
              print(norm.item())
            """,
        ),
    )
    good = (
        Example(
            "the gradients are set to None",
            """
            import torch

            w = torch.ones(3, requires_grad=True)
            loss = (w ** 3).sum()
            loss.backward(create_graph=True)
            print((w.grad ** 2).sum().item())
            w.grad = None
            """,
        ),
        Example(
            "zero_grad in the next turn",
            """
            import torch

            model = torch.nn.Linear(4, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(20):
                optimizer.zero_grad()
                loss = model(torch.randn(8, 4)).pow(2).mean()
                loss.backward(create_graph=True)
                optimizer.step()
            """,
        ),
        Example(
            "autograd.grad",
            """
            import torch

            w = torch.ones(3, requires_grad=True)
            (slope,) = torch.autograd.grad((w ** 3).sum(), w, create_graph=True)
            (slope ** 2).sum().backward()
            """,
        ),
    )
