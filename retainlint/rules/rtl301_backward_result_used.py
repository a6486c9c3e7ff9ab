"""RTL301: what backward() returned is used."""

from __future__ import annotations

from retainlint.diagnostic import Cure, Diagnostic, DropAssignment, Label, Severity
from retainlint.incident import Incident, ResultUsed
from retainlint.rules.rule import Example, Rule
from retainlint.rules.warned import backward_text, warned
from retainlint.rules.wording import code
from retainlint.text.source import Span


class BackwardResultUsed(Rule):
    """The result of `backward()` is used, but it returns None.

    Gradients arrive in the `.grad` of the leaves. `loss = loss.backward()` loses the loss: from there on it is None, and
    the next use of it fails. To get gradients as values, ask `torch.autograd.grad`.
    """

    code = "RTL301"
    name = "backward-result-used"
    severity = Severity.WARNING

    def matches(self, incident: Incident) -> bool:
        return isinstance(incident, ResultUsed)

    def explain(self, incident: Incident) -> Diagnostic:
        assert isinstance(incident, ResultUsed)
        backward_pass, target = incident.backward_pass.moment.span, incident.target
        labels: tuple[Label, ...] = ()
        cures: tuple[Cure, ...] = ()
        message = f"{backward_text(incident.backward_pass)} returns None, and that is used"
        if target is not None:
            message = f"{code(target.text)} becomes None: {backward_text(incident.backward_pass)} returns nothing"
            labels = (Label(target, "None from here on"),)
            if target.start < backward_pass.start:
                cures = (DropAssignment(Span(backward_pass.source, target.start, backward_pass.end), backward_pass),)
        return warned(
            self,
            incident,
            message,
            "returns None",
            "write it as a statement of its own; the gradients are in the `.grad` of the leaves, or `torch.autograd.grad` "
            "returns them",
            *labels,
            cures=cures,
        )

    bad = (
        Example(
            "the loss is overwritten",
            """
              import torch

              w = torch.ones(3, requires_grad=True)
              loss = (w * w).sum()
            - loss = loss.backward()  #~ misused RTL301
            + loss.backward()
              print(loss)
            """,
        ),
        Example(
            "taken for the gradient",
            """
              import torch

              w = torch.ones(3, requires_grad=True)
              loss = (w * w).sum()
            - slope = loss.backward()  #~ misused RTL301
            + (slope,) = torch.autograd.grad(loss, w)
              print(slope)
            """,
        ),
    )
    good = (
        Example(
            "handed through by a helper",
            """
            import torch

            def walk(loss):
                return loss.backward()

            w = torch.ones(3, requires_grad=True)
            walk((w * w).sum())
            """,
        ),
        Example(
            "thrown away on purpose",
            """
            import torch

            w = torch.ones(3, requires_grad=True)
            _ = (w * w).sum().backward()
            """,
        ),
        Example(
            "a backward of one's own",
            """
            import torch

            class Layer:
                def backward(self, upstream=1.0):
                    return upstream * 2.0

            upstream = Layer().backward()
            w = torch.ones(3, requires_grad=True)
            (w * upstream).sum().backward()
            """,
        ),
    )
