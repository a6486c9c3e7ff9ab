"""RTL304: gradients are zeroed between backward and the step."""

from __future__ import annotations

from retainlint.diagnostic import Diagnostic, Help, Label, SwapZeroAndStep
from retainlint.incident import ThrownAway
from retainlint.rules.warning_rule import WarningRule
from retainlint.text.quoting import code


class GradientsZeroedBeforeStep(WarningRule[ThrownAway]):
    """The gradients that `backward()` computed are zeroed before `step()` could use them.

    `zero_grad()` sets each `.grad` to None, and `step()` skips a parameter whose `.grad` is None: nothing is trained,
    in silence. Zero before backward, or after the step.
    """

    code = "RTL304"
    kind = ThrownAway

    def report(self, incident: ThrownAway) -> Diagnostic:
        zeroed, step = incident.zeroed.span, incident.step
        return self.warning(
            incident,
            f"{code(zeroed.text)} throws away the gradients before {code(step.text)} could use them",
            "zeroed here, unused",
            Help(f"move {code(zeroed.text)} before backward, or after the step", (SwapZeroAndStep(zeroed, step),)),
            Label(incident.backward_pass, "computes the gradients"),
            Label(step, "has only zeros to go by" if "False" in zeroed.text else "has nothing to do"),
        )

    fails = {
        "zero_grad between backward and step": """
              model = torch.nn.Linear(4, 1)
              optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
              for _ in range(20):
                  loss = model(torch.randn(8, 4)).pow(2).mean()
                  loss.backward()  #~ backward
            -     optimizer.zero_grad()  #~ misused RTL304
            +     optimizer.step()
            -     optimizer.step()
            +     optimizer.zero_grad()
        """,
        "in a helper that steps": """
              def update(optimizer):
            -     optimizer.zero_grad()  #~ misused RTL304
                  optimizer.step()
            +     optimizer.zero_grad()

              w = torch.ones(3, requires_grad=True)
              optimizer = torch.optim.SGD([w], lr=0.1)
              (w * w).sum().backward()  #~ backward
              update(optimizer)
        """,
    }
    runs = {
        "gradients of another network": """
            teacher, student = torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)
            t_optimizer = torch.optim.SGD(teacher.parameters(), lr=0.1)
            s_optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
            for x in torch.randn(4, 2, 3):
                s_optimizer.zero_grad()
                student(x).mean().backward()
                t_optimizer.zero_grad()
                t_optimizer.step()
                s_optimizer.step()
        """,
        "zeroed before backward": """
            w = torch.ones(3, requires_grad=True)
            optimizer = torch.optim.SGD([w], lr=0.1)
            for _ in range(20):
                loss = (w * w).sum()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        """,
        "another optimiser's gradients": """
            v, w = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
            of_v, of_w = torch.optim.SGD([v], lr=0.1), torch.optim.SGD([w], lr=0.1)
            for _ in range(20):
                (v * w).sum().backward()
                of_w.zero_grad()
                of_v.step()
                of_v.zero_grad()
        """,
        "gradients set by hand": """
            w = torch.ones(3, requires_grad=True)
            optimizer = torch.optim.SGD([w], lr=0.1)
            (w * w).sum().backward()
            clipped = w.grad.clamp(-1, 1)
            optimizer.zero_grad()
            w.grad = clipped
            optimizer.step()
        """,
        "a first backward for a measure alone": """
            w = torch.ones(3, requires_grad=True)
            optimizer = torch.optim.SGD([w], lr=0.1)
            w.exp().sum().backward()
            print(w.grad.norm().item())
            optimizer.zero_grad()
            (w * w).sum().backward()
            optimizer.step()
        """,
    }
