"""RTL203: losses are added up with their graphs."""

from __future__ import annotations

from retainlint.diagnostic import Severity
from retainlint.rules.kept import KeptRule
from retainlint.rules.rule import Example


class AccumulatedGraph(KeptRule):
    """A running total, kept for the log, holds on to the graph of every turn (`total += loss`).

    The sum of two tensors leads to both of their graphs, so nothing of them is let go before the total is. If the loss
    was walked, what its graph saved is gone and only the nodes stay: small, but growing with each turn. If it never was
    (a validation loop without `no_grad`), or was walked with `retain_graph=True`, all activations of all turns stay, and
    memory runs out.

    A moving average (`average = 0.9 * average + 0.1 * loss`), totals in a dict and outputs that are joined in each turn
    (`outputs = torch.cat([outputs, output])`) are such totals too.

    Add up `loss.item()`, or `loss.detach()`, which doesn't wait for the device. A total that is walked later is none of
    this rule's business.
    """

    code = "RTL203"
    name = "accumulated-graph"
    severity = Severity.WARNING
    stored = False

    bad = (
        Example(
            "a running loss for the log",
            """
              import torch

              model = torch.nn.Linear(4, 1)
              optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
              running = 0.0
              for _ in range(20):
                  loss = model(torch.randn(8, 4)).pow(2).mean()
                  optimizer.zero_grad()
                  loss.backward()  #~ freed
                  optimizer.step()
            -     running += loss  #~ wasted RTL203
            +     running += loss.item()
              print(running / 20)
            """,
        ),
        Example(
            "a validation loop without no_grad",
            """
              import torch

              model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
              total = 0.0
              for _ in range(20):
                  loss = model(torch.randn(8, 4)).pow(2).mean()
            -     total = total + loss  #~ wasted RTL203
            +     total = total + loss.item()
              print(total)
            """,
        ),
        Example(
            "totals by key",
            """
              import torch

              model, logs = torch.nn.Linear(4, 1), {}
              for _ in range(20):
                  loss = model(torch.randn(8, 4)).pow(2).mean()
                  loss.backward()  #~ freed
            -     logs["loss"] = logs.get("loss", 0) + loss  #~ wasted RTL203
            +     logs["loss"] = logs.get("loss", 0) + loss.item()
              print(logs)
            """,
        ),
        Example(
            "a meter of one's own",
            """
              import torch

              class Meter:
                  def __init__(self):
                      self.sum = 0.0

                  def update(self, value):
                      self.sum += value

              w, meter = torch.ones(3, requires_grad=True), Meter()
              for _ in range(20):
                  loss = (w * torch.randn(3)).pow(2).sum()
                  loss.backward()
            -     meter.update(loss)  #~ wasted RTL203
            +     meter.update(loss.item())
            """,
        ),
    )
    good = (
        Example(
            "the total is walked",
            """
            import torch

            w = torch.ones(3, requires_grad=True)
            total = 0
            for _ in range(20):
                total = total + (w * torch.randn(3)).pow(2).sum()
            total.backward()
            """,
        ),
        Example(
            "added up without a graph",
            """
            import torch

            model, total = torch.nn.Linear(4, 1), 0
            with torch.no_grad():
                for _ in range(20):
                    total += model(torch.randn(8, 4)).mean()
            print(total)
            """,
        ),
        Example(
            "detached before the next turn",
            """
            import torch

            w = torch.ones(3, requires_grad=True)
            average = torch.zeros(())
            for _ in range(20):
                loss = (w * torch.randn(3)).pow(2).sum()
                average = 0.9 * average + 0.1 * loss
                loss.backward()
                average = average.detach()
            """,
        ),
        Example(
            "a state that runs through a network",
            """
            import torch

            block = torch.nn.Linear(4, 4)
            state = torch.randn(2, 4)
            for _ in range(20):
                state = state + torch.tanh(block(state))
            state.sum().backward()
            """,
        ),
        Example(
            "the sum that a function returns",
            """
            import torch

            w = torch.ones(3, requires_grad=True)

            def penalty(weight):
                total = 0
                for _ in range(20):
                    total = total + (weight * torch.randn(3)).pow(2).sum()
                return total

            loss = penalty(w)
            loss.backward()
            """,
        ),
    )
