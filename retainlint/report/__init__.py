"""Diagnostics as text: one file a format, each with one function `render`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Protocol, cast

from retainlint.diagnostic import Diagnostic
from retainlint.report.terminal import Style

FORMATS = ("full", "concise", "json")
"""The formats' names, each that of its file; the first is the default."""


class _Format(Protocol):
    def render(self, diagnostics: Iterable[Diagnostic], style: Style) -> Iterator[str]: ...


def render(name: str, diagnostics: Iterable[Diagnostic], style: Style) -> Iterator[str]:
    """Pieces of text that, joined, are the report in the format called `name`; each ends with a line end."""
    module = cast(_Format, import_module(f"retainlint.report.{name}"))
    return module.render(diagnostics, style)


__all__ = ["FORMATS", "Style", "render"]
