"""RTL305: the result of detach() is dropped."""

from __future__ import annotations

from retainlint.diagnostic import AssignDetach, Diagnostic, Help
from retainlint.incident import Discarded
from retainlint.rules.warning_rule import WarningRule, name_of
from retainlint.text.quoting import code


class DiscardedDetach(WarningRule[Discarded]):
    """`h.detach()` alone on a line does nothing.

    `detach()` returns a new tensor without the graph; the one that it is called on keeps its graph. Bind the result
    (`h = h.detach()`), or detach in place (`h.detach_()`).
    """

    code = "RTL305"
    kind = Discarded

    def report(self, incident: Discarded) -> Diagnostic:
        name = name_of(incident.name)
        return self.warning(
            incident,
            f"the result of {code(incident.primary.text)} is dropped; {code(incident.name)} keeps its graph",
            "does nothing",
            Help(f"write `{name} = {name}.detach()`, or `{name}.detach_()`", (AssignDetach(incident.primary, name),))
            if name
            else Help("bind the result, or use `detach_()`"),
        )

    fails = {
        "a hidden state that isn't cut": """
              cell = torch.nn.RNNCell(4, 8)
              hidden = torch.zeros(2, 8)
              hidden = cell(torch.randn(2, 4), hidden)
            - hidden.detach()  #~ misused RTL305
            + hidden = hidden.detach()
              print(hidden.requires_grad)
        """,
        "an attribute": """
              class Memory:
                  pass

              memory, w = Memory(), torch.ones(3, requires_grad=True)
              memory.state = w * 2
            - memory.state.detach()  #~ misused RTL305
            + memory.state = memory.state.detach()
              print(memory.state.requires_grad)
        """,
    }
    runs = {
        "detached in place": """
            w = torch.ones(3, requires_grad=True)
            hidden = w * 2
            hidden.detach_()
            print(hidden.requires_grad)
        """,
        "used at once": """
            w = torch.ones(3, requires_grad=True)
            print((w * 2).detach())
            last = [(w * 3).detach()]
        """,
        "something that is no tensor": """
            class Probe:
                def detach(self):
                    self.on = False

            import torch

            probe = Probe()
            probe.detach()
            torch.ones(3, requires_grad=True).sum().backward()
        """,
    }
