"""What every rule is: a code, an explanation, examples, and a way to tell one kind of incident."""

from __future__ import annotations

import inspect
import re
import textwrap
from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar, Generic, TypeVar

from retainlint.catalogue import CATALOGUE
from retainlint.diagnostic import Diagnostic, Help, Label, Severity
from retainlint.incident import Incident
from retainlint.rules.wording import circumstances, graded
from retainlint.startup.records import record

MARK = re.compile(r"(?<! ) *#~.*$", re.MULTILINE)

Kind = TypeVar("Kind", bound=Incident)


@record
class Example:
    """A whole small torch program, marked on the line: `#~ built`, `#~ freed`, `#~ reused RTL101`.

    A bad example is written as a diff from the ailing program to the cured one: a gutter of two columns holds `- `
    before a line that only the ailing one has and `+ ` before one that only the cured one has.
    """

    title: str
    text: str

    @cached_property
    def _lines(self) -> list[str]:
        return textwrap.dedent(self.text).strip("\n").splitlines()

    @property
    def _is_diff(self) -> bool:
        return any(line[:2] in ("- ", "+ ") for line in self._lines)

    def _side(self, gutter: str) -> str:
        kept = (line[2:] for line in self._lines if line[:2] in ("", "  ", gutter))
        return "\n".join(kept) + "\n"

    @property
    def program(self) -> str:
        """The program, with its marks; of a bad example, the ailing one."""
        return self._side("- ") if self._is_diff else "\n".join(self._lines) + "\n"

    @property
    def fixed(self) -> str | None:
        """The cured program, without marks; None for a good example, which needs no cure."""
        return MARK.sub("", self._side("+ ")) if self._is_diff else None


def _examples(texts: Mapping[str, str]) -> tuple[Example, ...]:
    """Examples by title. One that doesn't import torch itself opens with that."""
    found = []
    for title, text in texts.items():
        written = textwrap.dedent(text).strip("\n")
        gutter = "  " if re.search(r"^[-+] ", written, re.MULTILINE) else ""
        opening = "" if "import torch" in written else f"{gutter}import torch\n\n"
        found.append(Example(title, opening + written))
    return tuple(found)


class Rule:
    """A code for one kind of mistake. The subclass's docstring is its explanation, the first line its summary.

    What isn't about an incident, but about the linting itself, is found by the linter: such a rule matches none.
    """

    code: ClassVar[str]
    severity: ClassVar[Severity] = Severity.ERROR
    fails: ClassVar[Mapping[str, str]] = {}
    """Bad examples by title; `import torch` stands before each that has none."""
    runs: ClassVar[Mapping[str, str]] = {}
    """Good examples by title."""

    @property
    def name(self) -> str:
        """The bad pattern in kebab-case; it reads well after "allow"."""
        return CATALOGUE[self.code][0]

    @property
    def on_by_default(self) -> bool:
        """False for a rule that must be selected."""
        return CATALOGUE[self.code][1]

    @property
    def family(self) -> str:
        return CATALOGUE[self.code][2]

    @cached_property
    def bad(self) -> tuple[Example, ...]:
        return _examples(self.fails)

    @cached_property
    def good(self) -> tuple[Example, ...]:
        return _examples(self.runs)

    @property
    def explanation(self) -> str:
        """Markdown; its first line is the summary."""
        return inspect.getdoc(type(self)) or self.name

    @property
    def summary(self) -> str:
        return self.explanation.partition("\n")[0]

    def matches(self, incident: Incident) -> bool:
        """Whether this rule's definition holds; of several rules, the table in `retainlint.rules` takes the first."""
        return False

    def explain(self, incident: Incident) -> Diagnostic:
        """Tell an incident that this rule matches."""
        raise ValueError(f"{self.code} explains no incident")


class IncidentRule(Rule, Generic[Kind]):
    """A rule about incidents of one kind."""

    kind: type[Kind]

    def matches(self, incident: Incident) -> bool:
        return isinstance(incident, self.kind) and self.holds(incident)

    def holds(self, incident: Kind) -> bool:
        return True

    def explain(self, incident: Incident) -> Diagnostic:
        assert isinstance(incident, self.kind)
        return self.report(incident)

    @abstractmethod
    def report(self, incident: Kind) -> Diagnostic: ...

    def diagnostic(
        self,
        incident: Kind,
        message: str,
        labels: tuple[Label, ...],
        *helps: Help,
        notes: tuple[str, ...] = (),
        severity: Severity | None = None,
    ) -> Diagnostic:
        """A finding of this rule, graded by what its path took for granted; what that is follows the notes."""
        assumptions = (*incident.assumptions, *([incident.guessed] if incident.guessed else ()))
        severity = Severity.WARNING if incident.guessed else severity or self.severity
        return Diagnostic(
            code=self.code,
            name=self.name,
            severity=graded(incident.conditions, severity),
            message=message,
            labels=labels,
            notes=(*notes, *circumstances(incident.conditions, assumptions, incident.primary.source)),
            helps=helps,
            witness=incident.witness,
        )
