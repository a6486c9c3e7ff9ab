"""RTL113: a leaf that requires a gradient is changed in place while autograd records."""

from __future__ import annotations

import re

from retainlint.diagnostic import Diagnostic, Help, Label, OutOfPlace, UnderNoGrad
from retainlint.incident import LeafModified, Moment
from retainlint.rules.modified_rules import base, rewritten
from retainlint.rules.rule import IncidentRule
from retainlint.rules.source_hints import is_for_effect, is_returned, is_returned_there, stands_alone, statement
from retainlint.rules.wording import core_note, named
from retainlint.text.in_place_methods import FILLS
from retainlint.text.quoting import code


class LeafModifiedInPlace(IncidentRule[LeafModified]):
    """A leaf that requires a gradient, or a view of one, is changed in place while autograd records.

    A parameter is a leaf: gradients arrive there. An in-place change would put it in the middle of a graph, so torch
    refuses. An update by hand, a clip, an initialisation belong under `torch.no_grad()`. Where the change is part of
    the computation, work on a `clone()`. `w = w - step` isn't in place, but makes `w` another tensor, that
    is no leaf and gets no `.grad`. A change through `.data` isn't noticed, not even where it spoils a saved tensor.
    """

    code = "RTL113"
    kind = LeafModified

    def report(self, incident: LeafModified) -> Diagnostic:
        change = incident.modified.span
        text = statement(change)
        item = (
            None if incident.view else re.match(r"[\w.]+\[[\w.]+\](?=\s*[-+*/@]=)", text)
        )  # of a list or a dictionary
        held = item[0] if item else base(change) or incident.name
        name = f"`{held}`" if item else named(held, "a tensor")
        kind = "a view of a leaf" if incident.view else "a leaf"
        sentence = f"{kind} Variable that requires grad is being used in an in-place operation"
        made = [] if incident.made is None else [Label(incident.made.span, f"{name} is a leaf that requires grad")]
        helps: tuple[Help, ...] = (Help("do it under `with torch.no_grad():`", (UnderNoGrad(change),)),)
        if base(change) and not item:
            helps += (Help(f"change `{held}.clone()`, if gradients are to flow through the change"),)
        is_scaled = text.count(held) > 1  # by its own norm: an update, which nothing is trained through
        is_update = incident.updated and is_for_effect(change)  # as of weights that follow others
        if incident.taken and not (is_scaled or is_update) and (new := rewritten(text)):
            why = "a new tensor: what goes into it has a graph, which `no_grad` would drop"
            if "+=" in text:
                why = "and no `requires_grad=True` for a total: it gets its graph from what is added"
            helps = (Help(f"{new}, {why}", (OutOfPlace(change),)),)
        is_computed = incident.given and (not incident.trained or is_returned(held, change))
        if is_computed and (new := rewritten(text)):
            helps = (
                Help(f"{new}: it is computed with, and its caller's own tensor stays the leaf", (OutOfPlace(change),)),
            )
        if not incident.view and (made_anew := _of_a_used_result(incident.modified, incident.name)) is not None:
            helps = (made_anew,)
        return self.diagnostic(
            incident,
            f"{code(text)} changes {name} in place, {kind} that requires grad",
            (*made, Label(change, "changed in place while autograd records", primary=True)),
            *helps,
            notes=(core_note(incident.witness, "", sentence, "the change", ""),),
        )

    fails = {
        "an activation in place on a parameter": """
              rectified = torch.nn.ReLU(inplace=True)
              w = torch.ones(3, requires_grad=True)
            - positive = rectified(w)  #~ modified RTL113
            + positive = rectified(w.clone())
              (positive / positive.sum()).prod().backward()
        """,
        "an update by hand": """
              w = torch.ones(3, requires_grad=True)
              (w * w).sum().backward()
            - w -= 0.1 * w.grad  #~ modified RTL113
            + with torch.no_grad():
            +     w -= 0.1 * w.grad
        """,
        "clipped weights": """
              model = torch.nn.Linear(3, 1)
            - for p in model.parameters():
            -     p.clamp_(-0.01, 0.01)  #~ modified RTL113
            + with torch.no_grad():
            +     for p in model.parameters():
            +         p.clamp_(-0.01, 0.01)
        """,
        "a row of a leaf": """
              table = torch.zeros(3, 2, requires_grad=True)
            - table[0] = 1.0  #~ modified RTL113
            + with torch.no_grad():
            +     table[0] = 1.0
              table.sum().backward()
        """,
        "an input, by a layer": """
              class Standardise(torch.nn.Module):
                  def forward(self, x):
            -         x -= 1.5  #~ modified RTL113
            +         x = x - 1.5
                      return x

              net = torch.nn.Sequential(Standardise(), torch.nn.Linear(3, 1))
              x = torch.ones(4, 3, requires_grad=True)
              (slope,) = torch.autograd.grad(net(x).sum(), x)
        """,
    }
    runs = {
        "a new tensor under the same name": """
            w = torch.ones(3, requires_grad=True)
            w = w - 1
            w += 1
            w.sum().backward()
        """,
        "a leaf that requires no gradient yet": """
            w = torch.ones(3)
            w[0] = 2.0
            w.requires_grad_()
            (w * w).sum().backward()
        """,
    }


def _of_a_used_result(modified: Moment, name: str) -> Help | None:
    """Of a call whose result the program goes on with: it is a step of what is computed, and under `no_grad` the leaf wouldn't
    be trained; None of one that stands alone, or fills the leaf with what isn't made of it."""
    change = modified.span
    is_handed_back = bool(modified.frames) and is_returned_there(change)
    is_alone = stands_alone(change) or (is_handed_back and stands_alone(modified.frames[-1]))
    copied = re.sub(rf"(?<![\w.]){re.escape(name)}(?!\w)", lambda _: f"{name}.clone()", change.text, count=1)
    if not name or is_alone or copied == change.text or not change.text.endswith(")"):
        return None
    if method := re.fullmatch(rf"{re.escape(name)}\.([a-z]\w*)_\((.*)\)", change.text, re.DOTALL):
        if method[1] in FILLS:
            return None
        new = f"{name}.{method[1]}({method[2]})"
        return Help(
            f"{code(new)} instead of {code(change.text)}: the program goes on with its result", (OutOfPlace(change),)
        )
    return Help(f"give it a copy, {code(copied)}: the program goes on with its result", (OutOfPlace(change, name),))
