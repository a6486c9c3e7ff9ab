"""RTL112: backward is called on a tensor that has no graph."""

from __future__ import annotations

from retainlint.diagnostic import Diagnostic, Help, Label, Uncut
from retainlint.incident import NoGraph
from retainlint.rules.rule import IncidentRule
from retainlint.rules.source_hints import wrapped_above
from retainlint.rules.wording import code, core_note, place

SENTENCE = "element 0 of tensors does not require grad and does not have a grad_fn"
_CUTS = {
    "detach": (
        "cut off here: `detach()` drops the graph",
        "call backward on the tensor from before `detach()`; or, if a new leaf begins there, give that one `.requires_grad_()`",
    ),
    "no_grad": ("computed without a graph, under `no_grad`", "compute it outside of `torch.no_grad()`"),
    "data": ("cut off here: `.data` has no graph", "use the tensor itself, not its `.data`"),
    "item": ("a number from here on, without a graph", "keep the tensor for backward, and take `.item()` for the log"),
    "create_graph": ("a gradient without a graph of its own", "ask for its graph: `create_graph=True`"),
    "constant": (
        "this gradient is constant: it is a function of nothing that requires one",
        "leave the gradient out of the loss: it can't change",
    ),
    "checkpoint": (
        "nothing that this checkpoint is given requires a gradient: what it returns doesn't either",
        "ask for the other kind: `use_reentrant=False`",
    ),
    "leaf": ("requires no gradient", "let what is to be trained require a gradient: `requires_grad=True`"),
}


class BackwardWithoutGraph(IncidentRule[NoGraph]):
    """Backward is called on a tensor that has no graph: nothing below it requires a gradient.

    The graph was cut (`detach()`, `.data`, `.item()` wrapped into a tensor again), or never recorded (`torch.no_grad()`
    around the forward pass, or nothing that went in requires a gradient). Where backward itself is called doesn't
    matter: `backward()` inside `no_grad` is legal.

    Setting `requires_grad_()` on the loss makes the error go, and trains nothing.
    """

    code = "RTL112"
    kind = NoGraph

    def report(self, incident: NoGraph) -> Diagnostic:
        backward_pass, home = incident.backward_pass.moment.span, incident.primary.source
        label, cure = _CUTS.get(incident.reason, ("the graph ends here", "keep the graph up to the backward call"))
        if incident.reason == "detach" and incident.cut is not None and "detach" not in incident.cut.span.text:
            text = code(incident.cut.span.text)
            label, cure = (
                f"the graph ends here: no gradient flows through {text}",
                f"call backward on a loss of what goes into {text}",
            )
        if incident.cut is None and (wrapped := wrapped_above(backward_pass)):
            cure = f"keep the tensors: what {code(wrapped.text)} makes ({place(wrapped, home)}) has no graph; or {cure}"
        warning = f"note: `requires_grad_()` on {code(incident.backward_pass.root)} would only hide this: nothing would be trained"
        labels = [] if incident.cut is None or incident.cut.span == backward_pass else [Label(incident.cut.span, label)]
        can_uncut = incident.reason in ("detach", "data", "no_grad")
        data = (Uncut(incident.cut.span, incident.reason),) if incident.cut is not None and can_uncut else ()
        helps = [Help(words, data if number == 0 else ()) for number, words in enumerate(cure.split("; or "))]
        return self.diagnostic(
            incident,
            f"{code(backward_pass.text)} starts at a tensor without a graph",
            (*labels, Label(backward_pass, "no graph to backpropagate through", primary=True)),
            *helps,
            notes=(core_note(incident.witness, "", SENTENCE, "backward", ""), warning),
        )

    fails = {
        "a forward pass under no_grad": """
              model = torch.nn.Linear(3, 1)
            - with torch.no_grad():
            -     loss = model(torch.randn(4, 3)).mean()
            + loss = model(torch.randn(4, 3)).mean()
              loss.backward()  #~ walked RTL112
        """,
        "a loss detached for the log, then used for backward": """
              w = torch.ones(3, requires_grad=True)
            - loss = (w * w).sum().detach()
            + loss = (w * w).sum()
              print(loss.item())
              loss.backward()  #~ walked RTL112
        """,
        "nothing requires a gradient": """
            - w = torch.ones(3)
            + w = torch.ones(3, requires_grad=True)
              loss = (w * w).sum()
              loss.backward()  #~ walked RTL112
        """,
    }
    runs = {
        "only backward stands under no_grad": """
            w = torch.ones(3, requires_grad=True)
            loss = (w * w).sum()
            with torch.no_grad():
                loss.backward()
        """,
        "one of two operands is detached": """
            w = torch.ones(3, requires_grad=True)
            loss = (w * w.detach()).sum()
            loss.backward()
        """,
    }
