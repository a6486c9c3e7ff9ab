"""RTL117: a tensor that was made in inference mode is used where autograd records."""

from __future__ import annotations

import re

from retainlint.diagnostic import Diagnostic, Help, Label, OutOfPlace, RecordLater
from retainlint.incident import InferenceUsed
from retainlint.rules.rule import IncidentRule
from retainlint.rules.source_hints import statement
from retainlint.rules.wording import core_note, named
from retainlint.text.quoting import code

_SENTENCES = {
    "saved": "Inference tensors cannot be saved for backward",
    "changed": "Inplace update to inference tensor outside InferenceMode is not allowed",
    "asked": "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed",
}


class InferenceTensorUsed(IncidentRule[InferenceUsed]):
    """A tensor that was made in inference mode is saved for a backward pass, changed in place or asked for a gradient outside.

    What is made under `torch.inference_mode()` counts no versions, so autograd can't tell later whether it was changed:
    an operation that would save it for its backward pass is refused, as soon as it runs. Features of a frozen encoder
    that a head is trained on, targets of a teacher and weights of a loss are made under `torch.no_grad()`, which costs
    hardly more and gives tensors that may be used anywhere. A `clone()` made outside of the block is such a tensor, too.
    What an operation doesn't save, as a term of a sum, may be an inference tensor.
    """

    code = "RTL117"
    kind = InferenceUsed

    def report(self, incident: InferenceUsed) -> Diagnostic:
        used, is_name = incident.used.span, re.fullmatch(r"[\w.]+", incident.name)
        name = f"{named(incident.name, '')}, a tensor of inference mode," if is_name else "a tensor of inference mode"
        message, label = {
            "saved": (f"{code(used.text)} saves {name} for its backward pass", "autograd has to save it, and refuses"),
            "changed": (f"{code(statement(used))} changes {name} in place outside", "changed in place outside of it"),
            "asked": (f"{code(used.text)} asks {name} for a gradient", "asked to require a gradient"),
        }[incident.reason]
        labels = [Label(incident.made, "made in inference mode")]
        if incident.block != incident.made:
            labels = [Label(incident.block, "begins inference mode"), Label(incident.made, "made there")]
        copy = f"`{incident.name}.clone()`" if is_name else "a `clone()`"
        return self.diagnostic(
            incident,
            message,
            (*labels, Label(used, label, primary=True)),
            Help(
                "`torch.no_grad()` instead of `torch.inference_mode()`: what is made there may be used anywhere",
                (RecordLater(incident.block),),
            ),
            Help(
                f"use {copy}, made outside of inference mode",
                (OutOfPlace(used, incident.name),) if is_name and incident.reason == "saved" else (),
            ),
            notes=(core_note(incident.witness, "", _SENTENCES[incident.reason], "the use", ""),),
        )

    fails = {
        "features of a frozen encoder": """
              encoder, head = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
            - with torch.inference_mode():
            + with torch.no_grad():
                  features = encoder(torch.ones(2, 3))
              head(features).sum().backward()  #~ modified RTL117
        """,
        "a decorated function": """
            - @torch.inference_mode()
            + @torch.no_grad()
              def targets(x):
                  return (x * 2).softmax(-1)

              w = torch.ones(3, requires_grad=True)
              loss = (w * targets(torch.ones(3))).sum()  #~ modified RTL117
              loss.backward()
        """,
    }
    runs = {
        "a copy that was made outside": """
            w = torch.ones(3, requires_grad=True)
            with torch.inference_mode():
                x = torch.ones(3) * 2
            (w * x.clone()).sum().backward()
        """,
        "a term of a sum, which isn't saved": """
            w = torch.ones(3, requires_grad=True)
            with torch.inference_mode():
                x = torch.ones(3) * 2
            (w + x).sum().backward()
        """,
        "a view of what was made before": """
            w, x = torch.ones(3, requires_grad=True), torch.ones(2, 3)
            with torch.inference_mode():
                row = x[0]
            (w * row).sum().backward()
        """,
    }
