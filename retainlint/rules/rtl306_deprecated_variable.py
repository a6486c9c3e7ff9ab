"""RTL306: Variable, which is the tensor without its graph."""

from __future__ import annotations

from retainlint.diagnostic import Cure, Diagnostic, Help, RemoveVariable
from retainlint.incident import OldVariable
from retainlint.rules.warning_rule import WarningRule
from retainlint.text.quoting import code


class DeprecatedVariable(WarningRule[OldVariable]):
    """`Variable(x)` has no use since torch 0.4: it is `x` without its graph, as `x.detach()` is.

    Its option `volatile` has no effect any more: the forward pass that it was meant to run without a graph builds one,
    and all that this costs. Use `torch.no_grad()`.

    This rule is off by default: but for `volatile`, it is a matter of style.
    """

    code = "RTL306"
    kind = OldVariable

    def report(self, incident: OldVariable) -> Diagnostic:
        volatile = "volatile" in incident.options
        argument = incident.argument
        cures: tuple[Cure, ...] = ()
        if argument is not None and not incident.options:
            cures = (RemoveVariable(incident.primary, argument, incident.bare),)
        given = code(argument.text) if argument is not None else "the tensor"
        cure = (
            f"use {given} itself"
            if incident.bare or volatile
            else f"detach {given}, or use it itself to keep its graph"
        )
        return self.warning(
            incident,
            "`volatile` has no effect: the graph is built"
            if volatile
            else "`Variable` is the tensor without its graph",
            "builds a graph all the same" if volatile else "nothing but its argument, detached",
            Help(f"{cure}, under `torch.no_grad()`" if volatile else cure, cures),
        )

    fails = {
        "a wrapped input": """
              import torch
              from torch.autograd import Variable

              w = torch.ones(3, requires_grad=True)
            - x = Variable(torch.randn(3))  #~ misused RTL306
            + x = torch.randn(3)
              (w * x).sum().backward()
        """,
        "a wrapped result": """
              import torch
              from torch.autograd import Variable

              w = torch.ones(3, requires_grad=True)
            - h = Variable((w * w).tanh())  #~ misused RTL306
            + h = (w * w).tanh().detach()
              (w * h).sum().backward()
        """,
        "volatile": """
              import torch
              from torch.autograd import Variable

              w = torch.ones(3, requires_grad=True)
            - x = Variable(torch.randn(3), volatile=True)  #~ misused RTL306
            - print((w * x).sum())
            + with torch.no_grad():
            +     print((w * torch.randn(3)).sum())
        """,
    }
    runs = {
        "only imported": """
            import torch
            from torch.autograd import Variable

            w = torch.ones(3, requires_grad=True)
            print(isinstance(w, Variable))
        """,
        "a Variable of one's own": """
            class Variable:
                def __init__(self, value):
                    self.value = value

            x = Variable(torch.ones(3, requires_grad=True))
            x.value.sum().backward()
        """,
    }
