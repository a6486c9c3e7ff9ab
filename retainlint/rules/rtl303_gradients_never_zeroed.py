"""RTL303: gradients are added up over all turns and never zeroed."""

from __future__ import annotations

from retainlint.diagnostic import Diagnostic, Label, Severity, ZeroFirst
from retainlint.incident import Incident, NeverZeroed
from retainlint.rules.rule import Example, Rule
from retainlint.rules.warned import loop_at, warned
from retainlint.rules.wording import code


class GradientsNeverZeroed(Rule):
    """A loop walks and steps, and nothing ever zeroes the gradients.

    `backward()` adds to `.grad`. Without `zero_grad()`, each step uses the sum of the gradients of all turns so far,
    computed at weights that are long gone. To add up over a few turns on purpose (gradient accumulation), zero after
    each step.

    This rule is off by default: gradients may be zeroed by a framework, or in code that isn't seen.
    """

    code = "RTL303"
    name = "gradients-never-zeroed"
    severity = Severity.WARNING
    on_by_default = False

    def matches(self, incident: Incident) -> bool:
        return isinstance(incident, NeverZeroed)

    def explain(self, incident: Incident) -> Diagnostic:
        assert isinstance(incident, NeverZeroed)
        home, owner = incident.primary.source, incident.owner
        return warned(
            self,
            incident,
            f"{code(incident.primary.text)} uses the gradients of all turns so far: nothing zeroes them",
            "uses the sum over all turns",
            f"call {code(f'{owner}.zero_grad()')} in each turn of {loop_at(incident.loop, home)}, before the walk",
            Label(incident.backward_pass, "adds to the gradients of the turns before"),
            Label(incident.loop, ""),
            cures=(ZeroFirst(incident.backward_pass, owner),),
        )

    bad = (
        Example(
            "zero_grad forgotten",
            """
              import torch

              model = torch.nn.Linear(4, 1)
              optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
              for _ in range(20):
                  loss = model(torch.randn(8, 4)).pow(2).mean()
            +     optimizer.zero_grad()
                  loss.backward()  #~ walked
            -     optimizer.step()  #~ misused RTL303
            +     optimizer.step()
            """,
        ),
        Example(
            "zeroed once, before the loop",
            """
              import torch

              w = torch.ones(3, requires_grad=True)
              optimizer = torch.optim.Adam([w])
            - optimizer.zero_grad()
              for _ in range(20):
            +     optimizer.zero_grad()
                  (w * w).sum().backward()  #~ walked
            -     optimizer.step()  #~ misused RTL303
            +     optimizer.step()
            """,
        ),
    )
    good = (
        Example(
            "gradients added up over four turns",
            """
            import torch

            model = torch.nn.Linear(4, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for i in range(20):
                (model(torch.randn(8, 4)).pow(2).mean() / 4).backward()
                if i % 4 == 3:
                    optimizer.step()
                    optimizer.zero_grad()
            """,
        ),
        Example(
            "zeroed in a helper, on the model",
            """
            import torch

            def start(model):
                model.zero_grad()

            model = torch.nn.Linear(4, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(20):
                start(model)
                model(torch.randn(8, 4)).pow(2).mean().backward()
                optimizer.step()
            """,
        ),
        Example(
            "set to None by hand",
            """
            import torch

            w = torch.ones(3, requires_grad=True)
            optimizer = torch.optim.SGD([w], lr=0.1)
            for _ in range(20):
                (w * w).sum().backward()
                optimizer.step()
                w.grad = None
            """,
        ),
        Example(
            "zeroed in the closure",
            """
            import torch

            w = torch.ones(3, requires_grad=True)
            optimizer = torch.optim.LBFGS([w])

            def closure():
                optimizer.zero_grad()
                loss = (w * w).sum()
                loss.backward()
                return loss

            for _ in range(20):
                optimizer.step(closure)
            """,
        ),
    )
