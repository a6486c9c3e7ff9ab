"""RTL206: a loop builds graphs that no backward uses."""

from __future__ import annotations

from retainlint.diagnostic import Diagnostic, Help, Label, UnderNoGrad
from retainlint.incident import NeverBackpropagated
from retainlint.rules.loop_hints import backward_within, steps_within
from retainlint.rules.source_hints import (
    backward_around,
)
from retainlint.rules.warning_rule import WarningRule, loop_at
from retainlint.rules.wording import place
from retainlint.text.quoting import code, short


class GraphNeverBackpropagated(WarningRule[NeverBackpropagated]):
    """An evaluation loop builds a graph in each iteration, and no backward uses any of them.

    Without `torch.no_grad()`, the forward pass saves all that a backward pass would need. It is let go with the result,
    so memory doesn't grow, but each iteration needs several times the memory that it could do with, and some more time.
    `model.eval()` doesn't change that.

    Where the loop trains something as well, it is the call that belongs under `no_grad`, not the loop.

    This rule is off by default: a function that evaluates may be called under `no_grad` from a place that isn't seen.
    """

    code = "RTL206"
    kind = NeverBackpropagated

    def report(self, incident: NeverBackpropagated) -> Diagnostic:
        home, built = incident.primary.source, incident.built.span
        trains = backward_within(incident.loop) or steps_within(incident.loop)
        whole = f"run {loop_at(incident.loop, home)} under `torch.no_grad()`"
        inside = built != incident.primary and backward_around(built)  # what it calls needs gradients elsewhere
        part = f"compute {code(short(incident.primary.text))} under `torch.no_grad()`"
        if inside:
            part = f"compute {code(short(built.text))} ({place(built, home)}) under `torch.no_grad()`"
        return self.warning(
            incident,
            f"{code(incident.primary.text)} builds a graph in each iteration that no backward pass uses",
            "saves all that a backward pass would need",
            Help(part) if trains or inside else Help(whole, (UnderNoGrad(incident.loop),)),
            *(() if built == incident.primary else (Label(built, "through this call"),)),
        )

    fails = {
        "an evaluation loop": """
              model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
              model.eval()
              right = 0
            - for _ in range(20):
            -     output = model(torch.randn(8, 4))  #~ wasted RTL206
            -     right += (output > 0).sum().item()
            + with torch.no_grad():
            +     for _ in range(20):
            +         output = model(torch.randn(8, 4))
            +         right += (output > 0).sum().item()
              print(right)
        """,
        "a validation loop behind the training loop": """
              model = torch.nn.Linear(4, 1)
              for _ in range(20):
                  model(torch.randn(8, 4)).pow(2).mean().backward()
              total = 0.0
            - for _ in range(20):
            -     output = model(torch.randn(8, 4))  #~ wasted RTL206
            -     total += output.pow(2).mean().item()
            + with torch.no_grad():
            +     for _ in range(20):
            +         output = model(torch.randn(8, 4))
            +         total += output.pow(2).mean().item()
        """,
    }
    runs = {
        "under no_grad": """
            model = torch.nn.Linear(4, 1)
            with torch.no_grad():
                for _ in range(20):
                    print(model(torch.randn(8, 4)).mean().item())
        """,
        "used behind the loop": """
            model, outputs = torch.nn.Linear(4, 1), []
            for _ in range(20):
                outputs.append(model(torch.randn(8, 4)))
            torch.cat(outputs).pow(2).mean().backward()
        """,
        "a frozen model": """
            model = torch.nn.Linear(4, 1)
            model.requires_grad_(False)
            for _ in range(20):
                print(model(torch.randn(8, 4)).mean().item())
        """,
    }
