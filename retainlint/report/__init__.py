"""Diagnostics as text: one file a format, each with one function `render`, and one table of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from retainlint.report.run import Edit, FixText, RuleText, Run
from retainlint.report.terminal import Style

if TYPE_CHECKING:
    from retainlint.diagnostic import Diagnostic


class Format(NamedTuple):
    """A format's line of help, and whether people read it on a terminal: then a summary follows."""

    help: str
    for_people: bool = False


FORMATS = MappingProxyType(
    {
        "full": Format("each finding drawn, with its story and its cures", for_people=True),
        "concise": Format("a line each: path:row:column: CODE message", for_people=True),
        "grouped": Format("a line each, by file", for_people=True),
        "json": Format("one list with ruff's keys, the story and the witness"),
        "json-lines": Format("the same, a finding a line"),
        "sarif": Format("SARIF 2.1.0, for code scanning"),
        "github": Format("annotations on GitHub"),
        "gitlab": Format("GitLab's code quality report"),
        "junit": Format("JUnit's XML, a test suite a file"),
        "azure": Format("issues in Azure Pipelines"),
        "rdjson": Format("for reviewdog"),
        "pylint": Format("pylint's lines"),
    }
)
"""The formats by name, each in the module of that name (`json-lines` in `json_lines`); the first is the default."""


class _Module(Protocol):
    def render(self, diagnostics: Iterable[Diagnostic], style: Style, run: Run) -> Iterator[str]: ...


_NOTHING_KNOWN = Run()


def render(name: str, diagnostics: Iterable[Diagnostic], style: Style, run: Run = _NOTHING_KNOWN) -> Iterator[str]:
    """Pieces of text that, joined, are the report in the format called `name`; each ends with a line end."""
    module = cast(_Module, import_module(f"retainlint.report.{name.replace('-', '_')}"))
    return module.render(diagnostics, style, run)


__all__ = ["FORMATS", "Edit", "FixText", "Format", "RuleText", "Run", "Style", "render"]
