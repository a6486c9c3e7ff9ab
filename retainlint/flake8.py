"""The plugin for flake8: retainlint's findings through flake8's own runner, options and `# noqa`."""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterable, Iterator
from typing import ClassVar

from retainlint import suppressions
from retainlint.catalogue import CATALOGUE
from retainlint.checking import linter
from retainlint.config import Configs, Settings
from retainlint.diagnostic import Diagnostic
from retainlint.startup.version import __version__
from retainlint.suppressions import Suppressions
from retainlint.text.source import Source

PREFIX = "RTL"


class Checker:
    """What flake8 makes of each file that it could parse: syntax errors are told by flake8 itself.

    Which codes are on, in which files, is flake8's to say; retainlint's own configuration doesn't count here. A rule
    that is off by default is on where `--select` or `--extend-select` names more of its code than RTL.
    """

    name = "retainlint"
    version = __version__
    _codes: ClassVar[frozenset[str]] = frozenset()
    _known: ClassVar[tuple[frozenset[str], linter.Given] | None] = None

    def __init__(self, tree: ast.AST, filename: str, lines: list[str]) -> None:
        self._name, self._lines = filename, lines

    @classmethod
    def parse_options(cls, options: argparse.Namespace) -> None:
        """Called once a run, before any file."""
        named = [
            selector
            for key in ("select", "extend_select", "extended_default_select")
            for selector in getattr(options, key, None) or ()
            if selector.startswith(PREFIX) and selector != PREFIX
        ]
        cls._codes = frozenset(
            code
            for code, (_, on_by_default, _) in CATALOGUE.items()
            if on_by_default or any(code.startswith(word) for word in named)
        )

    @classmethod
    def _given(cls) -> linter.Given:
        """The same for all files of a run: what is found for one of a project is remembered for the others."""
        if cls._known is None or cls._known[0] != cls._codes:
            cls._known = cls._codes, linter.Given(Configs.alike(Settings(cls._codes, suppressions=False)))
        return cls._known[1]

    def run(self) -> Iterator[tuple[int, int, str, type[Checker]]]:
        """Row from 1, column from 0, the code and the message."""
        source = Source(self._name, "".join(self._lines))
        data = source.as_bytes()
        for diagnostic in _unsuppressed(source, self._given().check(self._name, data).diagnostics):
            span = diagnostic.primary.span
            yield span.row, span.column - 1, f"{diagnostic.code} {as_one_line(diagnostic)}", type(self)


def as_one_line(diagnostic: Diagnostic) -> str:
    """The name, the message and the places of the story, on the one line that flake8 has for them."""
    from retainlint.report.terminal import safe

    here = diagnostic.primary.span.source
    places = []
    for label in diagnostic.labels:
        if label.text and not label.primary:
            place = f"line {label.span.row}" if label.span.source is here else str(label.span)
            places.append(f"{place}: {label.text}")
    story = f" ({'; '.join(places)})" if places else ""
    return safe(f"{diagnostic.name}: {diagnostic.message}{story}")


def _unsuppressed(source: Source, diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Without those that a `# retainlint: ...` comment covers; `# noqa` is left to flake8, which counts them."""
    read = suppressions.read(source)
    own = Suppressions(
        {row: tuple(one for one in comments if one.own) for row, comments in read.by_row.items()},
        tuple(one for one in read.of_file if one.own),
        read.ends,
    )
    covered, _ = own.split((each.code, each.name, each.primary.span) for each in diagnostics)
    yield from (each for each, is_covered in zip(diagnostics, covered) if not is_covered)
