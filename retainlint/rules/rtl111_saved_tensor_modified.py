"""RTL111: a tensor that the graph had saved was changed in place before the walk."""

from __future__ import annotations

from retainlint.diagnostic import Cure, Diagnostic, OutOfPlace, WalkFirst
from retainlint.incident import Incident, Modified
from retainlint.rules.modified import modified_diagnostic, rewritten
from retainlint.rules.rule import Example, Rule
from retainlint.rules.wording import code, place


class SavedTensorModified(Rule):
    """A tensor that the graph had saved was changed in place before the walk that needs it.

    Multiplying, dividing and matrix products save their operands, `exp`, `sigmoid`, `tanh`, `relu` and `softmax`
    their results. Autograd counts the in-place changes of each tensor and refuses to compute with one that is no
    longer what it was. `x += 1`, `x[0] = 0`, `x.clamp_()`, `copy_()` and `load_state_dict()` all count, under
    `torch.no_grad()` too, and so do changes of `x.detach()`, which is the same memory.

    Write the change out of place (`x = x + 1`), change a `clone()`, or walk first. A change through `.data` isn't
    counted: it gives wrong gradients in silence.
    """

    code = "RTL111"
    name = "saved-tensor-modified"

    def matches(self, incident: Incident) -> bool:
        return isinstance(incident, Modified)

    def explain(self, incident: Incident) -> Diagnostic:
        assert isinstance(incident, Modified)
        walk, change = incident.walk.moment.span, incident.modified.span
        name = code(incident.name) if incident.name else "a tensor"
        text = code(change.text)
        message = f"{code(walk.text)} needs {name}, which {text} changed in place after it was saved"
        words = [f"{rewritten(change.text)} instead of {text}"]
        cures: list[Cure] = [OutOfPlace(change)]
        if incident.name:
            of_result = incident.saved == "result"
            words.append(f"{'change' if of_result else 'build the graph from'} `{incident.name}.clone()`")
        if incident.modified.frames == incident.walk.moment.frames and change.start < walk.start:
            words.append(f"walk before the change on {place(change, walk.source)}")
            cures.append(WalkFirst(walk, change))
        return modified_diagnostic(self, incident, message, "; or ".join(words), tuple(cures))

    bad = (
        Example(
            "a factor changed after the product",
            """
              import torch

              w = torch.ones(3, requires_grad=True)
              scale = torch.ones(3)
              loss = (w * scale).sum()  #~ built
            - scale += 1  #~ modified
            + scale = scale + 1
              loss.backward()  #~ walked RTL111
            """,
        ),
        Example(
            "a result that its own function saved",
            """
              import torch

              w = torch.ones(3, requires_grad=True)
              y = torch.exp(w)  #~ built
            - y.mul_(2)  #~ modified
            + y = y.mul(2)
              y.sum().backward()  #~ walked RTL111
            """,
        ),
        Example(
            "a weight updated by hand before the walk",
            """
              import torch

              w = torch.ones(3, requires_grad=True)
              loss = (w ** 2).sum()  #~ built
            + loss.backward()
              with torch.no_grad():
                  w.sub_(0.1)  #~ modified
            - loss.backward()  #~ walked RTL111
            """,
        ),
    )
    good = (
        Example(
            "a product with a number doesn't save its result",
            """
            import torch

            w = torch.ones(3, requires_grad=True)
            y = w * 3
            y /= 2
            y.sum().backward()
            """,
        ),
        Example(
            "the changed tensor was only added",
            """
            import torch

            w = torch.ones(3, requires_grad=True)
            offset = torch.ones(3)
            loss = (w + offset).sum()
            offset += 1
            loss.backward()
            """,
        ),
    )
