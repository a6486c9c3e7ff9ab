"""RTL301: what backward() returned is used."""

from __future__ import annotations

from retainlint.diagnostic import Cure, Diagnostic, DropAssignment, Help, Label
from retainlint.incident import ResultUsed
from retainlint.rules.warning_rule import WarningRule, backward_text
from retainlint.text.quoting import code
from retainlint.text.source import Span


class BackwardResultUsed(WarningRule[ResultUsed]):
    """The result of `backward()` is used, but it returns None.

    Gradients arrive in the `.grad` of the leaves. `loss = loss.backward()` loses the loss: from there on it is None,
    and the next use of it fails. To get gradients as values, ask `torch.autograd.grad`.
    """

    code = "RTL301"
    kind = ResultUsed

    def report(self, incident: ResultUsed) -> Diagnostic:
        backward_pass, target = incident.backward_pass.moment.span, incident.target
        labels: tuple[Label, ...] = ()
        cures: tuple[Cure, ...] = ()
        message = f"{backward_text(incident.backward_pass)} returns None, and that is used"
        if target is not None:
            message = f"{code(target.text)} becomes None: {backward_text(incident.backward_pass)} returns nothing"
            labels = (Label(target, "None from here on"),)
            if target.start < backward_pass.start:
                cures = (DropAssignment(Span(backward_pass.source, target.start, backward_pass.end), backward_pass),)
        return self.warning(
            incident,
            message,
            "returns None",
            Help("write it as a statement of its own; the gradients are in the `.grad` of the leaves", cures),
            Help("get the gradients from `torch.autograd.grad`, which returns them"),
            *labels,
        )

    fails = {
        "the loss is overwritten": """
              w = torch.ones(3, requires_grad=True)
              loss = (w * w).sum()
            - loss = loss.backward()  #~ misused RTL301
            + loss.backward()
              print(loss)
        """,
        "taken for the gradient": """
              w = torch.ones(3, requires_grad=True)
              loss = (w * w).sum()
            - slope = loss.backward()  #~ misused RTL301
            + (slope,) = torch.autograd.grad(loss, w)
              print(slope)
        """,
    }
    runs = {
        "handed through by a helper": """
            def update(loss):
                return loss.backward()

            w = torch.ones(3, requires_grad=True)
            update((w * w).sum())
        """,
        "thrown away on purpose": """
            w = torch.ones(3, requires_grad=True)
            _ = (w * w).sum().backward()
        """,
        "a backward of one's own": """
            class Layer:
                def backward(self, upstream=1.0):
                    return upstream * 2.0

            upstream = Layer().backward()
            w = torch.ones(3, requires_grad=True)
            (w * upstream).sum().backward()
        """,
    }
