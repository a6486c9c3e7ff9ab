"""What the two rules about a saved tensor that was changed in place have in common."""

from __future__ import annotations

import re

from retainlint.diagnostic import Diagnostic, Help, Label, Severity
from retainlint.incident import Modified
from retainlint.rules.freed_rules import through, under_no_grad
from retainlint.rules.rule import IncidentRule
from retainlint.rules.story import again
from retainlint.rules.wording import core_note, keeps, named, place
from retainlint.text.in_place_methods import FILLS, VIEWS
from retainlint.text.quoting import code
from retainlint.text.source import Span

SENTENCE = "one of the variables needed for gradient computation has been modified by an inplace operation"


class ModifiedRule(IncidentRule[Modified]):
    """The finding is told in the order saved, changed, needed."""

    kind = Modified

    def modified(self, incident: Modified, message: str, *helps: Help) -> Diagnostic:
        built, backward_pass = incident.built.span, incident.backward_pass.moment
        iterations = again(incident.built, incident.modified, backward_pass)
        before, after = (
            (f"{iterations.noun} {n} " for n in (iterations.spoilt, iterations.needed)) if iterations else ("", "")
        )
        name = named(incident.name or base(incident.modified.span), "the weight" if incident.by_step else "the tensor")
        is_weight = incident.by_step and not incident.name
        saves = "saves a weight" if is_weight else keeps(incident.op, (incident.name or incident.saved,), built.text)
        labels = [Label(built, saves or "saved here"), *through(incident.built, backward_pass)]
        if incident.earlier is not None and incident.earlier.moment.span != backward_pass.span:
            labels.append(Label(incident.earlier.moment.span, "this backward kept the graph"))
        if iterations is not None and not iterations.is_call:
            labels.append(Label(iterations.loop, ""))
        labels.append(Label(incident.modified.span, f"{before}changes {name} in place"))
        labels += [label for label in through(incident.modified, backward_pass) if label not in labels]
        labels.append(Label(backward_pass.span, f"{after}needs {name} as it was when saved", primary=True))
        if incident.unowned is not None:
            helps = (under_no_grad(incident.unowned, backward_pass), *helps)
        at = place(built, incident.primary.source)
        note = core_note(incident.witness, incident.op, SENTENCE, after.strip() or "backward", at)
        severity = Severity.WARNING if incident.supposed else self.severity
        return self.diagnostic(incident, message, tuple(labels), *helps, notes=(note,), severity=severity)


def base(change: Span) -> str:
    """What an assignment to an index changes: `h` of `h[:, 0]`; "" of another change."""
    match = re.fullmatch(r"(?!return\b)([\w.]+)\s*\[.*\](\s*[-+*/@]?=(?!=).*)?", change.text.strip(), re.DOTALL)
    return match[1] if match else ""


def without_twin(text: str) -> str:
    """What a method changes that has no form out of place, or that changes a view of it: `d` of `d.fill_diagonal_(0)` and of
    `d.diagonal().add_(1)`; "" of another change."""
    filled = re.fullmatch(r"([\w.]+)\.(\w+)_\(.*\)", text, re.DOTALL)
    if filled is not None and filled[2] in FILLS:
        return filled[1]
    viewed = re.match(r"([\w.]+)\.(\w+)\(.*\)\.\w+_\(", text)
    return viewed[1] if viewed is not None and viewed[2] in VIEWS else ""


def rewritten(text: str) -> str:
    """How the in-place change would be written out of place, in backticks, if that can be said."""
    if augmented := re.fullmatch(r"([\w.]+(?:\[[\w.]+\])?)\s*(\*\*|//|[-+*/@%])=\s*(.+)", text.strip(), re.DOTALL):
        target, operator, operand = augmented.groups()
        is_whole = re.fullmatch(r"[\w.]+(?:\([^()]*\)|\[[^][]*\])?", operand.strip()) is not None
        return code(f"{target} = {target} {operator} {operand if is_whole else f'({operand})'}")
    text = re.sub(r"(?<=\))\.([a-z]\w*[a-z])_\(", r".\1(", text)  # what follows in the chain
    if method := re.fullmatch(r"([\w.]+)\.([a-z]\w*[a-z])_(\(.*\))", text.strip(), re.DOTALL):
        target, name, arguments = method.groups()
        if name not in FILLS:
            return code(f"{target} = {target}.{name}{arguments}")
    return ""
