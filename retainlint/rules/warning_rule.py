"""What rules for programs that run have in common: one mark that counts, others beside it, and a warning."""

from __future__ import annotations

import re

from retainlint.diagnostic import Diagnostic, Help, Label, Severity
from retainlint.incident import BackwardPass
from retainlint.rules.rule import IncidentRule, Kind
from retainlint.rules.wording import place
from retainlint.text.quoting import code
from retainlint.text.source import Source, Span


class WarningRule(IncidentRule[Kind]):
    """A rule for what runs, and wastes or misses the point."""

    severity = Severity.WARNING

    def warning(
        self,
        incident: Kind,
        message: str,
        mark: str,
        *parts: Label | Help,
        notes: tuple[str, ...] = (),
        severity: Severity | None = None,
    ) -> Diagnostic:
        """A finding: `mark` stands under its place; `parts` are the helps, the best first, and the other marks."""
        others = (part for part in parts if isinstance(part, Label) and part.span != incident.primary)
        labels = (*others, Label(incident.primary, mark, primary=True))
        helps = (part for part in parts if isinstance(part, Help))
        return self.diagnostic(incident, message, labels, *helps, notes=notes, severity=severity)


def loop_at(loop: Span, home: Source) -> str:
    where = place(loop, home)
    return f"the loop {'on' if where.startswith('line') else 'in' if where.startswith('cell') else 'at'} {where}"


def backward_text(backward_pass: BackwardPass) -> str:
    return code(backward_pass.moment.span.text)


def name_of(text: str) -> str:
    """A variable's name, if that is all the text is, else ""."""
    return text if re.fullmatch(r"[A-Za-z_][\w.]*", text) else ""
