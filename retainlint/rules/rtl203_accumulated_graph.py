"""RTL203: losses are added up with their graphs."""

from __future__ import annotations

from retainlint.rules.kept_rules import KeptRule


class AccumulatedGraph(KeptRule):
    """A running total, kept for the log, holds on to the graph of every iteration (`total += loss`).

    The sum of two tensors leads to both of their graphs, so nothing of them is let go before the total is. If the
    loss was used by backward, what its graph saved is gone and only the nodes stay: small, but growing with each
    iteration. If it never was (a validation loop without `no_grad`), or was used with `retain_graph=True`, all
    activations of all iterations stay, and memory runs out.

    A moving average (`average = 0.9 * average + 0.1 * loss`), totals in a dict and outputs that are joined in each
    iteration (`outputs = torch.cat([outputs, output])`) are such totals too.

    Where a loop says itself that it has six iterations or fewer (`range(5)`, a list of a few items), nothing is
    reported; where its length is an option, a parameter or that of a loader, it may be long.

    Add up `loss.item()`, or `loss.detach()`, which doesn't wait for the device. A total that backward is called on
    later is none of this rule's business.
    """

    code = "RTL203"
    stored = False

    fails = {
        "a running loss for the log": """
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
        "a validation loop without no_grad": """
              model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
              total = 0.0
              for _ in range(20):
                  loss = model(torch.randn(8, 4)).pow(2).mean()
            -     total = total + loss  #~ wasted RTL203
            +     total = total + loss.item()
              print(total)
        """,
        "a total that is set back every few iterations": """
              model, running = torch.nn.Linear(4, 1), 0.0
              for i in range(50):
                  loss = model(torch.randn(8, 4)).pow(2).mean()
                  loss.backward()  #~ freed
            -     running += loss  #~ wasted RTL203
            +     running += loss.item()
                  if i % 20 == 19:
                      print(running / 20)
                      running = 0.0
        """,
        "totals by key": """
              model, logs = torch.nn.Linear(4, 1), {}
              for _ in range(20):
                  loss = model(torch.randn(8, 4)).pow(2).mean()
                  loss.backward()  #~ freed
            -     logs["loss"] = logs.get("loss", 0) + loss  #~ wasted RTL203
            +     logs["loss"] = logs.get("loss", 0) + loss.item()
              print(logs)
        """,
        "an object that makes its losses itself": """
              class Learner:
                  def __init__(self):
                      self.w, self.running = torch.ones(3, requires_grad=True), 0.0

                  def learn(self, x):
                      loss = (self.w * x).pow(2).sum()
                      loss.backward()
            -         self.running += loss
            +         self.running += loss.item()

              learner = Learner()
              for _ in range(20):
                  learner.learn(torch.randn(3))  #~ wasted RTL203
        """,
        "a meter of one's own": """
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
    }
    runs = {
        "backward is called on the total": """
            w = torch.ones(3, requires_grad=True)
            total = 0
            for _ in range(20):
                total = total + (w * torch.randn(3)).pow(2).sum()
            total.backward()
        """,
        "added up without a graph": """
            model, total = torch.nn.Linear(4, 1), 0
            with torch.no_grad():
                for _ in range(20):
                    total += model(torch.randn(8, 4)).mean()
            print(total)
        """,
        "detached before the next iteration": """
            w = torch.ones(3, requires_grad=True)
            average = torch.zeros(())
            for _ in range(20):
                loss = (w * torch.randn(3)).pow(2).sum()
                average = 0.9 * average + 0.1 * loss
                loss.backward()
                average = average.detach()
        """,
        "a state that runs through a network": """
            block = torch.nn.Linear(4, 4)
            state = torch.randn(2, 4)
            for _ in range(20):
                state = state + torch.tanh(block(state))
            state.sum().backward()
        """,
        "the sum that a function returns": """
            w = torch.ones(3, requires_grad=True)

            def penalty(weight):
                total = 0
                for _ in range(20):
                    total = total + (weight * torch.randn(3)).pow(2).sum()
                return total

            loss = penalty(w)
            loss.backward()
        """,
    }
