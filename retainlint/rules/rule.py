"""What every rule is: a code, a name, an explanation, examples, and a way to tell one incident."""

from __future__ import annotations

import inspect
import re
import textwrap
from abc import ABC, abstractmethod
from functools import cached_property
from typing import ClassVar

from retainlint.diagnostic import Diagnostic, Severity
from retainlint.incident import Incident
from retainlint.startup.records import record

_MARK = re.compile(r" *#~.*$", re.MULTILINE)


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

    @cached_property
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
        return _MARK.sub("", self._side("+ ")) if self._is_diff else None


class Rule(ABC):
    """A code for one kind of mistake. The subclass's docstring is its explanation, the first line its summary."""

    code: ClassVar[str]
    name: ClassVar[str]
    """The bad pattern in kebab-case; it reads well after "allow"."""
    severity: ClassVar[Severity] = Severity.ERROR
    on_by_default: ClassVar[bool] = True
    """False for a rule that must be selected."""
    bad: ClassVar[tuple[Example, ...]] = ()
    good: ClassVar[tuple[Example, ...]] = ()

    @property
    def explanation(self) -> str:
        """Markdown; its first line is the summary."""
        return inspect.getdoc(type(self)) or self.name

    @property
    def summary(self) -> str:
        return self.explanation.partition("\n")[0]

    @abstractmethod
    def matches(self, incident: Incident) -> bool:
        """Whether this rule's definition holds; of several rules, the table in `retainlint.rules` takes the first."""

    @abstractmethod
    def explain(self, incident: Incident) -> Diagnostic:
        """Tell an incident that this rule matches."""
