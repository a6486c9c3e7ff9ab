"""RTL303: gradients are added up over all iterations and never zeroed."""

from __future__ import annotations

from retainlint.diagnostic import Diagnostic, Help, Label, ZeroFirst
from retainlint.incident import NeverZeroed
from retainlint.rules.warning_rule import WarningRule, loop_at
from retainlint.text.quoting import code


class GradientsNeverZeroed(WarningRule[NeverZeroed]):
    """A loop calls backward and steps, and nothing ever zeroes the gradients.

    `backward()` adds to `.grad`. Without `zero_grad()`, each step uses the sum of the gradients of all iterations so
    far, computed at weights that are long gone. To add up over a few iterations on purpose (gradient accumulation),
    zero after each step.

    This rule is off by default: gradients may be zeroed by a framework, or in code that isn't seen.

    """

    code = "RTL303"
    kind = NeverZeroed

    def report(self, incident: NeverZeroed) -> Diagnostic:
        home, owner = incident.primary.source, incident.owner
        return self.warning(
            incident,
            f"{code(incident.primary.text)} uses the gradients of all iterations so far: nothing zeroes them",
            "uses the sum over all iterations",
            Help(
                f"call {code(f'{owner}.zero_grad()')} in each iteration of {loop_at(incident.loop, home)}, before backward",
                (ZeroFirst(incident.backward_pass, owner),),
            ),
            Label(incident.backward_pass, "adds to the gradients of the iterations before"),
            Label(incident.loop, ""),
        )

    fails = {
        "zero_grad forgotten": """
              model = torch.nn.Linear(4, 1)
              optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
              for _ in range(20):
                  loss = model(torch.randn(8, 4)).pow(2).mean()
            +     optimizer.zero_grad()
                  loss.backward()  #~ backward
            -     optimizer.step()  #~ misused RTL303
            +     optimizer.step()
        """,
        "zeroed once, before the loop": """
              w = torch.ones(3, requires_grad=True)
              optimizer = torch.optim.Adam([w])
            - optimizer.zero_grad()
              for _ in range(20):
            +     optimizer.zero_grad()
                  (w * w).sum().backward()  #~ backward
            -     optimizer.step()  #~ misused RTL303
            +     optimizer.step()
        """,
    }
    runs = {
        "gradients added up over four iterations": """
            model = torch.nn.Linear(4, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for i in range(20):
                (model(torch.randn(8, 4)).pow(2).mean() / 4).backward()
                if i % 4 == 3:
                    optimizer.step()
                    optimizer.zero_grad()
        """,
        "zeroed in a helper, on the model": """
            def start(model):
                model.zero_grad()

            model = torch.nn.Linear(4, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(20):
                start(model)
                model(torch.randn(8, 4)).pow(2).mean().backward()
                optimizer.step()
        """,
        "set to None by hand": """
            w = torch.ones(3, requires_grad=True)
            optimizer = torch.optim.SGD([w], lr=0.1)
            for _ in range(20):
                (w * w).sum().backward()
                optimizer.step()
                w.grad = None
        """,
        "zeroed in the closure": """
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
    }
