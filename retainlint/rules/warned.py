"""What the rules of waste and misuse have in common: how a warning is put together."""

from __future__ import annotations

import re

from retainlint.diagnostic import Cure, Diagnostic, Label
from retainlint.incident import BackwardPass, Waste
from retainlint.rules.rule import Rule
from retainlint.rules.wording import circumstances, code, place
from retainlint.text.source import Source, Span


def warned(
    rule: Rule,
    incident: Waste,
    message: str,
    told: str,
    help: str,
    *labels: Label,
    cures: tuple[Cure, ...] = (),
    notes: tuple[str, ...] = (),
) -> Diagnostic:
    """A finding of `rule`: `told` stands under its place, `labels` are the other marks."""
    primary = incident.primary
    others = tuple(label for label in labels if label.span != primary)
    return Diagnostic(
        code=rule.code,
        name=rule.name,
        severity=rule.severity,
        message=message,
        labels=(*others, Label(primary, told, primary=True)),
        notes=(*notes, *circumstances(incident.conditions, incident.assumptions, primary.source)),
        help=help,
        cures=cures,
        witness=incident.witness,
    )


def loop_at(loop: Span, home: Source) -> str:
    where = place(loop, home)
    return f"the loop {'on' if where.startswith('line') else 'in' if where.startswith('cell') else 'at'} {where}"


def backward_text(backward_pass: BackwardPass) -> str:
    return code(backward_pass.moment.span.text)


def name_of(text: str) -> str:
    """A variable's name, if that is all the text is, else ""."""
    return text if re.fullmatch(r"[A-Za-z_][\w.]*", text) else ""
