"""RTL302: backward is given an argument that it hasn't."""

from __future__ import annotations

from retainlint.diagnostic import Cure, Diagnostic, Help, Label, RenameArgument, Severity
from retainlint.incident import UnknownArgument
from retainlint.rules.warning_rule import WarningRule
from retainlint.text.quoting import code, short

_NEW = {
    "retain_variables": "retain_graph", "keep_graph": "retain_graph", "retain": "retain_graph",
    "retain_grad": "retain_graph", "create": "create_graph", "grad_tensors": "gradient", "grad_output": "gradient",
    "grad_outputs": "gradient", "grad_variables": "gradient", "grad": "gradient",
}  # fmt: skip
"""What was meant, in the arguments of `Tensor.backward`."""


def _meant(function: str, name: str) -> str:
    if name == "variables" and function == "torch.autograd.backward":
        return "tensors"
    new = _NEW.get(name, "")
    if new == "gradient" and function != "Tensor.backward":
        return "grad_tensors" if function.endswith("backward") else "grad_outputs"
    return new


class UnknownBackwardArgument(WarningRule[UnknownArgument]):
    """Backward is given an argument by a name that torch doesn't have, or no longer has.

    `retain_variables` became `retain_graph` in torch 0.2, and today it is a TypeError; `grad_variables` became
    `gradient` in `Tensor.backward()` and `grad_tensors` in `torch.autograd.backward()`. `Tensor.backward()` takes
    `gradient`, `retain_graph`, `create_graph` and `inputs`.

    Where it is surely torch's function that is called, and the name is none of its arguments, the finding is an error:
    the call raises a TypeError, and its witness shows it. Elsewhere, and for a name that is only deprecated, it is a
    warning. A call that a handler of TypeErrors guards is left alone.
    """

    code = "RTL302"
    kind = UnknownArgument

    def report(self, incident: UnknownArgument) -> Diagnostic:
        new = _meant(incident.function, incident.name)
        given = short(incident.name)  # behind `**` it may be any text
        fails = f"`{incident.function}()` has no argument `{given}`"
        says = f"TypeError: {incident.function.rpartition('torch.autograd.')[2]}() got an unexpected keyword argument"
        labels = () if incident.value is None else (Label(incident.value, f"given as `{given}`"),)
        cures: tuple[Cure, ...] = ()
        if new or incident.deprecated:
            cures = (RenameArgument(incident.call.span, incident.name, new),)
        return self.warning(
            incident,
            f"{code(incident.call.span.text)}: `{given}` is deprecated" if incident.deprecated else fails,
            f"`{given}` is ignored or renamed" if incident.deprecated else f"{says} '{given}'",
            Help(f"it is called `{new}` today" if new else f"leave `{given}` out", cures),
            *labels,
            severity=Severity.ERROR if incident.fails else self.severity,
        )

    fails = {
        "an argument of torch 0.1": """
              w = torch.ones(3, requires_grad=True)
              loss = (w * w).sum()
            - loss.backward(retain_variables=True)  #~ misused RTL302
            + loss.backward(retain_graph=True)
              loss.backward()
        """,
        "a gradient under its old name": """
              w = torch.ones(3, requires_grad=True)
              y = w * w
            - y.backward(grad_variables=torch.ones(3))  #~ misused RTL302
            + y.backward(gradient=torch.ones(3))
        """,
    }
    runs = {
        "all four by name": """
            w = torch.ones(3, requires_grad=True)
            y = w * w
            y.backward(gradient=torch.ones(3), retain_graph=False, create_graph=False, inputs=[w])
        """,
        "a backward of one's own": """
            class Engine:
                def backward(self, loss, scale=1.0):
                    (loss * scale).backward()

            w = torch.ones(3, requires_grad=True)
            Engine().backward((w * w).sum(), scale=0.5)
        """,
        "torch.autograd.backward": """
            w = torch.ones(3, requires_grad=True)
            torch.autograd.backward([w * w], grad_tensors=[torch.ones(3)])
        """,
    }
