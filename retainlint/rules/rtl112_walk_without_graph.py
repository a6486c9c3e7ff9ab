"""RTL112: a walk starts at a tensor that has no graph."""

from __future__ import annotations

from retainlint.diagnostic import Diagnostic, Label
from retainlint.incident import Incident, NoGraph
from retainlint.rules.rule import Example, Rule
from retainlint.rules.wording import circumstances, code, core_note, graded

SENTENCE = "element 0 of tensors does not require grad and does not have a grad_fn"
_CUTS = {
    "detach": ("cut off here: `detach()` drops the graph", "walk the tensor from before `detach()`"),
    "no_grad": ("computed without a graph, under `no_grad`", "compute it outside of `torch.no_grad()`"),
    "data": ("cut off here: `.data` has no graph", "use the tensor itself, not its `.data`"),
    "item": ("a number from here on, without a graph", "keep the tensor for the walk, and take `.item()` for the log"),
    "leaf": ("requires no gradient", "create what is to be trained with `requires_grad=True`"),
}


class WalkWithoutGraph(Rule):
    """A walk starts at a tensor that has no graph: nothing below it requires a gradient.

    The graph was cut (`detach()`, `.data`, `.item()` wrapped into a tensor again), or never recorded (`torch.no_grad()`
    around the forward pass, or nothing that went in requires a gradient). Where the walk itself stands doesn't
    matter: `backward()` inside `no_grad` is legal.

    Setting `requires_grad_()` on the loss makes the error go, and trains nothing.
    """

    code = "RTL112"
    name = "walk-without-graph"

    def matches(self, incident: Incident) -> bool:
        return isinstance(incident, NoGraph)

    def explain(self, incident: Incident) -> Diagnostic:
        assert isinstance(incident, NoGraph)
        walk, home = incident.walk.moment.span, incident.primary.source
        label, cure = _CUTS.get(incident.reason, ("the graph ends here", "keep the graph up to the walk"))
        warning = f" (`requires_grad_()` on {code(incident.walk.root)} would only hide this: nothing would be trained)"
        labels = [] if incident.cut is None or incident.cut.span == walk else [Label(incident.cut.span, label)]
        return Diagnostic(
            code=self.code,
            name=self.name,
            severity=graded(incident.conditions, self.severity),
            message=f"{code(walk.text)} starts at a tensor without a graph",
            labels=(*labels, Label(walk, "nothing to walk", primary=True)),
            notes=(
                core_note(incident.witness, "", SENTENCE, "the walk", ""),
                *circumstances(incident.conditions, incident.assumptions, home),
            ),
            help=cure + warning,
            witness=incident.witness,
        )

    bad = (
        Example(
            "a forward pass under no_grad",
            """
              import torch

              model = torch.nn.Linear(3, 1)
            - with torch.no_grad():
            -     loss = model(torch.randn(4, 3)).mean()
            + loss = model(torch.randn(4, 3)).mean()
              loss.backward()  #~ walked RTL112
            """,
        ),
        Example(
            "a loss detached for the log, then walked",
            """
              import torch

              w = torch.ones(3, requires_grad=True)
            - loss = (w * w).sum().detach()
            + loss = (w * w).sum()
              print(loss.item())
              loss.backward()  #~ walked RTL112
            """,
        ),
        Example(
            "nothing requires a gradient",
            """
              import torch

            - w = torch.ones(3)
            + w = torch.ones(3, requires_grad=True)
              loss = (w * w).sum()
              loss.backward()  #~ walked RTL112
            """,
        ),
    )
    good = (
        Example(
            "only the walk stands under no_grad",
            """
            import torch

            w = torch.ones(3, requires_grad=True)
            loss = (w * w).sum()
            with torch.no_grad():
                loss.backward()
            """,
        ),
        Example(
            "one of two operands is detached",
            """
            import torch

            w = torch.ones(3, requires_grad=True)
            loss = (w * w.detach()).sum()
            loss.backward()
            """,
        ),
    )
