"""What the user is told: the message, its labels in the order of the story, and the cures as data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from retainlint.incident import Witness
from retainlint.source import Span


class Severity(Enum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Label:
    """A mark under a span. Exactly one label of a diagnostic is primary: there it fails."""

    span: Span
    text: str
    primary: bool = False


@dataclass(frozen=True)
class Detach:
    """Cut the graph off what is named `name`, at `span`."""

    span: Span
    name: str


@dataclass(frozen=True)
class KeepGraph:
    """Give the walk at `span` `retain_graph=True`."""

    span: Span


@dataclass(frozen=True)
class SumLosses:
    """Walk the sum of the roots once instead of each alone."""

    walks: tuple[Span, ...]


@dataclass(frozen=True)
class MoveInto:
    """Compute what stands at `span` anew in each turn of `loop`."""

    span: Span
    loop: Span


@dataclass(frozen=True)
class WalkFirst:
    """Move the walk at `walk` before the change at `change`."""

    walk: Span
    change: Span


@dataclass(frozen=True)
class OutOfPlace:
    """Write the in-place change at `span` so that it makes a new tensor."""

    span: Span


@dataclass(frozen=True)
class UnderNoGrad:
    """Wrap what stands at `span` in `with torch.no_grad():`."""

    span: Span


Cure: TypeAlias = Detach | KeepGraph | SumLosses | MoveInto | WalkFirst | OutOfPlace | UnderNoGrad


@dataclass(frozen=True)
class Diagnostic:
    """One finding. `message` is one line without the place; `notes` follow the drawing, `help` says what to do."""

    code: str
    name: str
    severity: Severity
    message: str
    labels: tuple[Label, ...]
    notes: tuple[str, ...] = ()
    help: str = ""
    cures: tuple[Cure, ...] = ()
    witness: Witness | None = None

    @property
    def primary(self) -> Label:
        return next(label for label in self.labels if label.primary)
