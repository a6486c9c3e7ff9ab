"""RTL202: a carried graph is retained and gone through again, longer, in each iteration."""

from __future__ import annotations

from retainlint.diagnostic import Detach, Diagnostic, Help, Label
from retainlint.incident import Growing
from retainlint.rules.warning_rule import WarningRule, backward_text, loop_at


class GrowingGraph(WarningRule[Growing]):
    """A tensor is carried from iteration to iteration with its graph, which is retained and gone through again each time.

    Iteration n goes through the graphs of all n iterations: time grows with the square of their number, memory with
    each. It also adds the gradients of early iterations again and again. A hidden state is usually meant to carry
    numbers, not the graph: detach it at the start of each iteration (truncated backpropagation through time). If the
    gradient through all iterations is wanted, add up the losses and call backward once, behind the loop.
    """

    code = "RTL202"
    kind = Growing

    def report(self, incident: Growing) -> Diagnostic:
        home = incident.primary.source
        return self.warning(
            incident,
            f"{backward_text(incident.backward_pass)} backpropagates again through the graphs of all earlier iterations: they grow with each iteration",
            "retains and goes through all iterations so far",
            Help(
                "detach what is carried at the start of each iteration",
                (Detach(incident.built.span, "", incident.loop),),
            ),
            Help("add up the losses and call backward once after the loop"),
            Label(incident.built.span, "each iteration builds on the one before"),
            Label(incident.loop, ""),
            notes=(f"note: time and memory grow with each iteration of {loop_at(incident.loop, home)}",),
        )

    fails = {
        "a hidden state carried with its graph": """
              cell = torch.nn.RNNCell(4, 8)
              hidden = torch.zeros(2, 8)
              for _ in range(20):
            +     hidden = hidden.detach()
                  hidden = cell(torch.randn(2, 4), hidden)  #~ built
                  loss = hidden.pow(2).mean()
            -     loss.backward(retain_graph=True)  #~ wasted RTL202
            +     loss.backward()
        """,
        "backward on a running total in each iteration": """
              w = torch.ones(3, requires_grad=True)
              total = torch.zeros(())
              for _ in range(20):
            +     total = total.detach()
                  total = total + (w * torch.randn(3)).pow(2).sum()  #~ built
            -     total.backward(retain_graph=True)  #~ wasted RTL202
            +     total.backward()
        """,
    }
    runs = {
        "detached at the end of each iteration": """
            cell = torch.nn.RNNCell(4, 8)
            hidden = torch.zeros(2, 8)
            for _ in range(20):
                hidden = cell(torch.randn(2, 4), hidden)
                loss = hidden.pow(2).mean()
                loss.backward()
                hidden = hidden.detach()
        """,
        "one graph, built before, used in each iteration": """
            w = torch.ones(3, requires_grad=True)
            shared = w.exp()
            for i in range(20):
                (shared * i).sum().backward(retain_graph=True)
            shared.sum().backward()
        """,
        "cut every other iteration": """
            cell = torch.nn.RNNCell(4, 8)
            hidden = torch.zeros(2, 8)
            for i in range(20):
                hidden = cell(torch.randn(2, 4), hidden)
                loss = hidden.pow(2).mean()
                loss.backward(retain_graph=True)
                if i % 2:
                    hidden = hidden.detach()
        """,
        "the graph of all iterations, used once": """
            cell = torch.nn.RNNCell(4, 8)
            hidden, total = torch.zeros(2, 8), 0
            for _ in range(20):
                hidden = cell(torch.randn(2, 4), hidden)
                total = total + hidden.pow(2).mean()
            total.backward()
        """,
    }
