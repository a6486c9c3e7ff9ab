"""What the two rules about a saved tensor that was changed in place have in common."""

from __future__ import annotations

import re

from retainlint.diagnostic import Cure, Diagnostic, Label, Severity
from retainlint.incident import Modified
from retainlint.rules.freed import through
from retainlint.rules.rule import Rule
from retainlint.rules.story import again
from retainlint.rules.wording import circumstances, code, core_note, graded, keeps, named, place
from retainlint.text.source import Span

SENTENCE = "one of the variables needed for gradient computation has been modified by an inplace operation"


def modified_diagnostic(rule: Rule, incident: Modified, message: str, help: str, cures: tuple[Cure, ...]) -> Diagnostic:
    """The finding told in the order saved, changed, needed."""
    home, built, backward_pass = incident.primary.source, incident.built.span, incident.backward_pass.moment
    iterations = again(incident.built, incident.modified, backward_pass)
    before, after = (
        (f"{iterations.noun} {n} " for n in (iterations.spoilt, iterations.needed)) if iterations else ("", "")
    )
    name = named(incident.name or base(incident.modified.span), "the weight" if incident.by_step else "the tensor")
    is_weight = incident.by_step and not incident.name
    saves = "saves a weight" if is_weight else keeps(incident.op, (incident.name or incident.saved,), built.text)
    labels = [Label(built, saves or "saved here"), *through(incident.built, backward_pass)]
    if incident.earlier is not None and incident.earlier.moment.span != backward_pass.span:
        labels.append(Label(incident.earlier.moment.span, "this walk kept the graph"))
    if iterations is not None and not iterations.is_call:
        labels.append(Label(iterations.loop, ""))
    labels.append(Label(incident.modified.span, f"{before}changes {name} in place"))
    labels += [label for label in through(incident.modified, backward_pass) if label not in labels]
    labels.append(Label(backward_pass.span, f"{after}needs {name} as it was when saved", primary=True))
    when = after.strip() or "the walk"
    return Diagnostic(
        code=rule.code,
        name=rule.name,
        severity=Severity.WARNING if incident.supposed else graded(incident.conditions, rule.severity),
        message=message,
        labels=tuple(labels),
        notes=(
            core_note(incident.witness, incident.op, SENTENCE, when, place(built, home)),
            *circumstances(incident.conditions, incident.assumptions, home),
        ),
        help=help,
        cures=cures,
        witness=incident.witness,
    )


def base(change: Span) -> str:
    """What an assignment to an index changes: `h` of `h[:, 0]`; "" of another change."""
    match = re.fullmatch(r"(?!return\b)([\w.]+)\s*\[.*\](\s*[-+*/@]?=(?!=).*)?", change.text.strip(), re.DOTALL)
    return match[1] if match else ""


def rewritten(text: str) -> str:
    """How the in-place change would be written out of place, in backticks, if that can be said."""
    if augmented := re.fullmatch(r"([\w.]+)\s*(\*\*|//|[-+*/@%])=\s*(.+)", text.strip(), re.DOTALL):
        target, operator, operand = augmented.groups()
        return code(f"{target} = {target} {operator} {operand}")
    text = re.sub(r"(?<=\))\.([a-z]\w*[a-z])_\(", r".\1(", text)  # what follows in the chain
    if method := re.fullmatch(r"([\w.]+)\.([a-z]\w*[a-z])_(\(.*\))", text.strip(), re.DOTALL):
        target, name, arguments = method.groups()
        if name not in ("copy", "zero", "fill", "normal", "uniform"):
            return code(f"{target} = {target}.{name}{arguments}")
    return ""
