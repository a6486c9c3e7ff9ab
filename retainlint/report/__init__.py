"""Diagnostics as text: one file a format, each with one function `render`, and one table of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from retainlint.diagnostic import Diagnostic
    from retainlint.report.run import Run
    from retainlint.report.terminal import Style


class Format:
    """A format's line of help, and whether people read it on a terminal: then a summary follows."""

    def __init__(self, help: str, for_people: bool = False) -> None:
        self.help, self.for_people = help, for_people


FORMATS = MappingProxyType(
    {
        "full": Format("each finding drawn, with its story and its cures", for_people=True),
        "concise": Format("a line each: path:row:column: CODE severity: message", for_people=True),
        "grouped": Format("a line each, by file", for_people=True),
        "json": Format("one list with ruff's keys, the story and the witness"),
        "json-lines": Format("the same, a finding a line"),
        "markdown": Format("for a comment on a pull request, or a job's summary"),
        "html": Format("one page to send around: sources, stories, and graphs to step through"),
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


def render(name: str, diagnostics: Iterable[Diagnostic], style: Style, run: Run | None = None) -> Iterator[str]:
    """Pieces of text that, joined, are the report in the format called `name`; each ends with a line end."""
    from retainlint.report.run import Run

    module = import_module(f"retainlint.report.{name.replace('-', '_')}")
    pieces: Iterator[str] = module.render(diagnostics, style, run or Run())
    return pieces


__all__ = ["FORMATS", "Format", "render"]
