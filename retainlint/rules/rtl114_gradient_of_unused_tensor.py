"""RTL114: a gradient is asked for of a tensor that isn't in the graph."""

from __future__ import annotations

import ast
import re

from retainlint.diagnostic import (
    AllowUnused,
    ComputeOf,
    CreateGraph,
    Diagnostic,
    DifferentiateWhole,
    Help,
    Label,
    Uncut,
)
from retainlint.incident import Refused
from retainlint.rules.cut_rules import CUTS, outside_of
from retainlint.rules.rule import IncidentRule
from retainlint.rules.source_hints import is_of_parameters, sole_name, unrecorded_in
from retainlint.rules.wording import core_note, place
from retainlint.text.quoting import code, short


class GradientOfUnusedTensor(IncidentRule[Refused]):
    """A gradient is asked for of a tensor that isn't in the graph.

    `torch.autograd.grad(y, x)` raises where `y` isn't computed of this very tensor. A part that is taken of the input, as
    `t = xt[:, 1:]`, is another tensor than the input: a network that is given `xt` doesn't come to `t`. Give the network what
    is put together of the parts, or ask for the gradient of the whole and take its part.

    An input that requires no gradient is refused, too: one that was detached, or made without `requires_grad=True`.

    Of a list of parameters some may be used in this pass, others not: `allow_unused=True` gives None for these, and
    `materialize_grads=True` zeros.
    """

    code = "RTL114"
    kind = Refused

    def holds(self, incident: Refused) -> bool:
        return incident.reason != "computed"

    def report(self, incident: Refused) -> Diagnostic:
        if incident.reason != "unused":
            return self._of_untracked(incident)
        call, given, root = incident.call.span, _given(incident), code(incident.root)
        labels = [Label(call, f"{given} isn't in the graph of {root}", primary=True)]
        if incident.made.span.row != call.row or incident.made.span.source is not call.source:
            labels.insert(0, Label(incident.made.span, "made here, and not used for it"))
        words = "`allow_unused=True`: None for what isn't used in this pass, zeros with `materialize_grads=True`"
        allow = Help(words, (AllowUnused(call),))
        helps: tuple[Help, ...] = (allow,) if incident.number is not None else ()
        if incident.kin is not None:
            name = sole_name(incident.kin.span)
            whole = code(name or incident.kin.span.text)
            labels.insert(0, Label(incident.kin.span, "both are computed of this"))
            itself = f"compute {root} of {given} itself, not of {whole}"
            if re.fullmatch(r"[\w.]+\s*\[.*\]", incident.made.span.text, re.DOTALL):
                part = f"ask for the gradient of {whole}, and take the part of it that belongs to {given}"
                helps = Help(itself), Help(part, (DifferentiateWhole(call, incident.made.span),))
            else:
                known = name != "" and incident.number is None and incident.given.isidentifier()
                instead = (ComputeOf(call, incident.made.span, incident.given, name),) if known else ()
                helps = (Help(itself, instead),)
        elif incident.number is None:
            words = f"compute {root} of {given} itself, not of a copy, or of what was there before it"
            helps = (Help(words, (Uncut(call, "apart"),)),)
        if incident.apart is not None and incident.apart.span.source is not call.source:
            labels.insert(0, Label(incident.apart.span, "a leaf of its own, cut off from what it is made of"))
        if (bare := incident.gradient) is not None:
            labels.insert(0, Label(bare.span, "a gradient without a graph of its own"))
            words = f"ask for the graph of the gradient on {place(bare.span, call.source)}: `create_graph=True`"
            helps = (Help(words, (CreateGraph(bare.span),)), *helps[: incident.number is not None])
        if (copied := incident.copied) is not None and "Parameter(" not in copied.span.text:
            labels.insert(0, Label(copied.span, f"a new leaf, cut off from {given}"))
            words = f"leave out the cut in {code(copied.span.text)}, through which no gradient gets to {given}"
            uncut = Uncut(call, "apart")
            if bare is not None:
                gradient = place(bare.span, call.source)
                words += f", and ask for the graph of the gradient on {gradient}: `create_graph=True`"
                uncut = Uncut(copied.span, "renewed", creating=bare.span)
            helps = (Help(words, (uncut,)),)
        elif copied is not None:
            labels.insert(0, Label(copied.span, f"a new leaf, cut off from {given}"))
            words = f"use what {code(copied.span.text)} is given itself: a `Parameter` made of it is a leaf of its own"
            helps = (Help(words, (Uncut(copied.span, "copied"),)),)
        note = core_note(
            incident.witness, "", "The differentiated Tensor appears to not have been used", "the call", ""
        )
        message = f"{code(call.text)} asks for the gradient of {given}, which isn't in the graph of {root}"
        return self.diagnostic(incident, message, tuple(labels), *helps, notes=(note,))

    def _of_untracked(self, incident: Refused) -> Diagnostic:
        """Of an input that requires no gradient."""
        call, given, cut, reason = incident.call.span, _given(incident), incident.made.span, incident.reason
        labels = [Label(call, f"{given} requires no gradient", primary=True)]
        if reason == "detach" and "detach" not in cut.text:  # what has no gradient has made it: that is data
            cut, reason = call, "leaf"
        if cut != call:
            labels.insert(0, Label(cut, CUTS[reason][0]))
        leaf = Help(f"let {given} require one before {code(incident.root)} is computed of it", (Uncut(call, "leaf"),))
        is_learned = "create_graph=True" in call.text and is_of_parameters(cut)
        if reason in ("detach", "data") and is_learned:
            whole = re.sub(r"\.(?:data|detach\(\))$", "", cut.text)
            words = (
                f"use {code(whole)} in place of {code(cut.text)}: what is made of the copies is to train the parameters"
            )
            leaf = Help(words, (Uncut(cut, reason),))
        elif reason in ("detach", "data") and cut != call:
            leaf = Help(
                f"let it require one from here on: `.requires_grad_()` after {code(cut.text)}", (Uncut(cut, reason),)
            )
        elif reason == "no_grad":
            block = unrecorded_in(incident.made)
            words = "compute it outside of `torch.no_grad()`" if block is None else outside_of(block, call.source, cut)
            leaf = Help(words, (Uncut(cut, reason),))
        note = core_note(
            incident.witness, "", "One of the differentiated Tensors does not require grad", "the call", ""
        )
        message = f"{code(call.text)} asks for the gradient of {given}, which requires none"
        return self.diagnostic(incident, message, tuple(labels), leaf, notes=(note,))

    fails = {
        "an input that is detached": """
              net = torch.nn.Linear(3, 1)
              x = torch.rand(5, 3)
              for step in range(3):
            -     x = x.detach()
            +     x = x.detach().requires_grad_()
                  (slope,) = torch.autograd.grad(net(x).sum(), x)  #~ backward RTL114
                  x = x - 0.1 * slope
        """,
        "an input that requires no gradient": """
              net = torch.nn.Linear(3, 1)
            - places = torch.rand(5, 3)
            + places = torch.rand(5, 3).requires_grad_()
              energy = net(places).square().sum()
              (slope,) = torch.autograd.grad(energy, places)  #~ backward RTL114
        """,
        "a part of the input": """
              net = torch.nn.Linear(2, 1)
              points = torch.rand(5, 2, requires_grad=True)
              t = points[:, 1:]
              u = net(points).square().sum()
            - (u_t,) = torch.autograd.grad(u, t)  #~ backward RTL114
            + (u_t,) = torch.autograd.grad(u, points)
            + u_t = u_t[:, 1:]
        """,
        "a copy of the input": """
              net = torch.nn.Linear(3, 1)
              places = torch.rand(5, 3, requires_grad=True)
              centred = places - places.mean(0)
            - energy = net(places).square().sum()
            + energy = net(centred).square().sum()
              (slope,) = torch.autograd.grad(energy, centred)  #~ backward RTL114
        """,
        "a parameter made of what another network computes": """
              make = torch.nn.Linear(2, 3)
            - weight = torch.nn.Parameter(make(torch.ones(2)))
            + weight = make(torch.ones(2))
              loss = (weight * torch.arange(3.0)).square().sum()
              grads = torch.autograd.grad(loss, list(make.parameters()))  #~ backward RTL114
        """,
        "a parameter that this pass doesn't use": """
              a, b = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
              weights = [a.weight, b.weight]
              loss = a(torch.ones(2)).square().sum()
            - grads = torch.autograd.grad(loss, weights)  #~ backward RTL114
            + grads = torch.autograd.grad(loss, weights, allow_unused=True)
        """,
    }
    runs = {
        "None is a fine answer": """
            w, unused = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
            first, second = torch.autograd.grad((w * w).sum(), (w, unused), allow_unused=True)
            assert second is None
        """,
        "the part is what goes in": """
            x = torch.rand(3, 2, requires_grad=True)
            part = x[:, :1]
            (slope,) = torch.autograd.grad((part * part).sum(), part)
        """,
    }


def _given(incident: Refused) -> str:
    """What isn't used, as the call has it."""
    if incident.number is None:
        return code(incident.given) if incident.given else "its input"
    try:
        listed = ast.parse(incident.given.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        listed = None
    if isinstance(listed, ast.Tuple | ast.List) and not any(isinstance(each, ast.Starred) for each in listed.elts):
        return f"`{short(ast.unparse(listed.elts[incident.number]))}`"
    return f"item {incident.number} of {code(incident.given)}"
