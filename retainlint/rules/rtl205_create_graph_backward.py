"""RTL205: backward(create_graph=True), and the gradients are never let go."""

from __future__ import annotations

from retainlint.diagnostic import Diagnostic, Help
from retainlint.incident import Cycle
from retainlint.rules.warning_rule import WarningRule, backward_text


class CreateGraphBackward(WarningRule[Cycle]):
    """`backward(create_graph=True)` makes each parameter and its gradient hold each other.

    The gradient in `p.grad` has a graph of its own, which leads back to `p`: a cycle, and one through C++, which
    Python's collector can't free. All of it stays until somebody sets `p.grad` to None. `zero_grad()` does that, and
    behind it this rule is silent; torch itself warns of it at run time.

    `torch.autograd.grad(loss, parameters, create_graph=True)` returns the gradients instead, and makes no cycle.
    """

    code = "RTL205"
    kind = Cycle

    def report(self, incident: Cycle) -> Diagnostic:
        return self.warning(
            incident,
            f"{backward_text(incident.backward_pass)} makes the parameters and their gradients hold each other",
            "each `p.grad` leads back to `p`: neither is ever freed",
            Help("get the gradients from `torch.autograd.grad(..., create_graph=True)`"),
            Help("set each `p.grad` to None after use"),
        )

    fails = {
        "the norm of the gradient": """
              w = torch.ones(3, requires_grad=True)
              loss = (w ** 3).sum()
            - loss.backward(create_graph=True)  #~ wasted RTL205
            - print((w.grad ** 2).sum().item())
            + (slope,) = torch.autograd.grad(loss, w, create_graph=True)
            + print((slope ** 2).sum().item())
        """,
        "in each iteration": """
              model = torch.nn.Linear(4, 1)
              for _ in range(20):
                  loss = model(torch.randn(8, 4)).pow(2).mean()
            -     loss.backward(create_graph=True)  #~ wasted RTL205
            -     norm = sum(p.grad.pow(2).sum() for p in model.parameters())
            +     slopes = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
            +     norm = sum(slope.pow(2).sum() for slope in slopes)
              print(norm.item())
        """,
    }
    runs = {
        "the gradients are set to None": """
            w = torch.ones(3, requires_grad=True)
            loss = (w ** 3).sum()
            loss.backward(create_graph=True)
            print((w.grad ** 2).sum().item())
            w.grad = None
        """,
        "zero_grad in the next iteration": """
            model = torch.nn.Linear(4, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(20):
                optimizer.zero_grad()
                loss = model(torch.randn(8, 4)).pow(2).mean()
                loss.backward(create_graph=True)
                optimizer.step()
        """,
        "autograd.grad": """
            w = torch.ones(3, requires_grad=True)
            (slope,) = torch.autograd.grad((w ** 3).sum(), w, create_graph=True)
            (slope ** 2).sum().backward()
        """,
    }
