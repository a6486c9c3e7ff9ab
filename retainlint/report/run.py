"""What a report may say of a run besides its findings: rule texts, counts, what couldn't be followed, crashes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from retainlint.diagnostic import Severity
    from retainlint.incident import Gap, Witness
    from retainlint.report.graph_life import Life

_NONE: Mapping[Any, Any] = MappingProxyType({})


class RuleText(NamedTuple):
    """One rule in words. `explanation` is Markdown, its first line the summary; `url` is its page, "" without one."""

    code: str
    name: str
    severity: Severity
    explanation: str
    url: str = ""

    @property
    def summary(self) -> str:
        return self.explanation.partition("\n")[0]


class Run(NamedTuple):
    """The run that found what is reported. All may be left out; a format says less then.

    `crashes` are the tracebacks of bugs of ours, by file name. `root` is
    the directory below which files are named by relative paths in formats for servers: "" is the current one; `browse` is
    the address below which they can be read, with a slash at its end, "" where none is known. `replay` makes a graph's life of a
    witness.
    """

    version: str = ""
    rules: tuple[RuleText, ...] = ()
    files: int = 0
    gaps: tuple[Gap, ...] = ()
    crashes: Mapping[str, str] = _NONE
    root: str = ""
    browse: str = ""
    replay: Callable[[Witness], Life | None] | None = None

    def rule(self, code: str) -> RuleText | None:
        return next((rule for rule in self.rules if rule.code == code), None)

    def url(self, code: str) -> str | None:
        rule = self.rule(code)
        return rule.url or None if rule else None
