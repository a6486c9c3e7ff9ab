"""RTL202: a carried graph is retained and walked anew, longer, in each turn."""

from __future__ import annotations

from retainlint.diagnostic import Detach, Diagnostic, Label
from retainlint.incident import Growing
from retainlint.rules.warning_rule import WarningRule, backward_text, loop_at


class GrowingGraph(WarningRule[Growing]):
    """A tensor is carried from turn to turn with its graph, which is retained and walked anew each time.

    Turn n walks the graphs of all n turns: time grows with the square of their number, memory with each. It also adds
    the gradients of early turns again and again. A hidden state is usually meant to carry numbers, not the graph:
    detach it at the start of each turn (truncated backpropagation through time). If the gradient through all turns is
    wanted, add up the losses and walk once, behind the loop.
    """

    code = "RTL202"
    kind = Growing

    def report(self, incident: Growing) -> Diagnostic:
        home = incident.primary.source
        return self.warning(
            incident,
            f"{backward_text(incident.backward_pass)} walks the graphs of all earlier turns again: they grow with each turn",
            "retains and walks all turns so far",
            "detach what is carried at the start of each turn; or add up the losses and walk once behind the loop",
            Label(incident.built.span, "each turn builds on the one before"),
            Label(incident.loop, ""),
            cures=(Detach(incident.built.span, "", incident.loop),),
            notes=(f"note: time and memory grow with each turn of {loop_at(incident.loop, home)}",),
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
        "a running total walked each turn": """
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
        "detached at the end of each turn": """
            cell = torch.nn.RNNCell(4, 8)
            hidden = torch.zeros(2, 8)
            for _ in range(20):
                hidden = cell(torch.randn(2, 4), hidden)
                loss = hidden.pow(2).mean()
                loss.backward()
                hidden = hidden.detach()
        """,
        "one graph, built before, walked in each turn": """
            w = torch.ones(3, requires_grad=True)
            shared = w.exp()
            for i in range(20):
                (shared * i).sum().backward(retain_graph=True)
            shared.sum().backward()
        """,
        "cut every other turn": """
            cell = torch.nn.RNNCell(4, 8)
            hidden = torch.zeros(2, 8)
            for i in range(20):
                hidden = cell(torch.randn(2, 4), hidden)
                loss = hidden.pow(2).mean()
                loss.backward(retain_graph=True)
                if i % 2:
                    hidden = hidden.detach()
        """,
        "the graph of all turns, walked once": """
            cell = torch.nn.RNNCell(4, 8)
            hidden, total = torch.zeros(2, 8), 0
            for _ in range(20):
                hidden = cell(torch.randn(2, 4), hidden)
                total = total + hidden.pow(2).mean()
            total.backward()
        """,
    }
