"""RTL115: an optimiser is given a tensor that was computed."""

from __future__ import annotations

from retainlint.diagnostic import Diagnostic, GiveLeaf, Help, Label, MakeLeaf
from retainlint.incident import Refused
from retainlint.rules.freed_rules import hides_leaf
from retainlint.rules.rule import IncidentRule
from retainlint.rules.wording import core_note
from retainlint.text.quoting import code, short


class OptimisedComputedTensor(IncidentRule[Refused]):
    """An optimiser is given a tensor that was computed.

    An optimiser changes leaves: what is computed of one would not be computed again of what was learnt, so torch raises
    "can't optimize a non-leaf Tensor". A product, a `.to(device)` or `.double()` behind `requires_grad=True` makes a
    result of what was to be the leaf: compute first, and let the result require a gradient. To detach it makes the
    error go, and trains nothing.
    """

    code = "RTL115"
    kind = Refused

    def report(self, incident: Refused) -> Diagnostic:
        made, call = incident.made.span, incident.call.span
        words = "give it the leaf that this is computed of, and compute this from it in each iteration"
        helps = (Help(words, (GiveLeaf(call, made),)),)
        if hides_leaf(made.text):
            helps = (Help("let what is computed be the leaf: `requires_grad_()` after it", (MakeLeaf(made),)),)
        return self.diagnostic(
            incident,
            f"{code(call.text)} is given what `{short(made.text)}` computes, which is no leaf",
            (Label(made, "computed of a leaf"), Label(call, "an optimiser takes leaves alone", primary=True)),
            *helps,
            notes=(core_note(incident.witness, "", "can't optimize a non-leaf Tensor", "the optimiser", ""),),
        )

    fails = {
        "codes that are scaled behind requires_grad": """
            - codes = 0.1 * torch.randn(3, 2, requires_grad=True)
            + codes = (0.1 * torch.randn(3, 2)).requires_grad_()
              optimizer = torch.optim.Adam([codes])  #~ misused RTL115
              codes.square().sum().backward()
        """,
        "a width that is computed of what is learnt": """
              raw = torch.zeros(1, requires_grad=True)
            - width = raw.exp()
            - optimizer = torch.optim.SGD([width], lr=0.1)  #~ misused RTL115
            + optimizer = torch.optim.SGD([raw], lr=0.1)
              for _ in range(3):
                  optimizer.zero_grad()
            +     width = raw.exp()
                  width.sum().backward()
                  optimizer.step()
        """,
    }
    runs = {
        "a parameter made of what was computed": """
            codes = torch.nn.Parameter(torch.randn(3, 2) * 0.1)
            optimizer = torch.optim.Adam([codes])
            codes.square().sum().backward()
        """,
        "a computed tensor that is detached, and a leaf from there": """
            start = (torch.randn(3, requires_grad=True) * 2).detach().requires_grad_()
            optimizer = torch.optim.Adam([start])
            start.square().sum().backward()
        """,
    }
