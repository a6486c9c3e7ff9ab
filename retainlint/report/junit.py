"""The format of JUnit's XML: a test suite a file, a failed test a finding, with the drawing as its text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from xml.sax.saxutils import escape, quoteattr

from retainlint.catalogue import NOT_CHECKED
from retainlint.diagnostic import Diagnostic
from retainlint.report import full
from retainlint.report.places import in_file, relative
from retainlint.report.run import Run
from retainlint.report.terminal import Style, safe

WIDTH = 100
"""Columns of the drawings, whatever the terminal: they are read elsewhere."""


def render(diagnostics: Iterable[Diagnostic], style: Style, run: Run) -> Iterator[str]:
    """A run without findings is one passed test, since a report without tests counts as broken.

    What XML forbids, not even as a reference, is what a terminal isn't given either: it is escaped before.
    """
    found = list(diagnostics)
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f"<testsuites {_attributes(name='retainlint', **(_counts(found) if found else _PASSED))}>\n"
    for name, group in groupby(found, key=lambda diagnostic: diagnostic.primary.span.source.name):
        yield from _suite(relative(name, run.root), list(group), run)
    if not found:
        yield f"  <testsuite {_attributes(name='retainlint', **_PASSED)}>\n"
        yield f"    <testcase {_attributes(name='no findings', classname='retainlint', time='0')} />\n  </testsuite>\n"
    yield "</testsuites>\n"


_PASSED = {"tests": "1", "failures": "0", "errors": "0"}


def _counts(found: list[Diagnostic]) -> dict[str, str]:
    errors = sum(diagnostic.code == NOT_CHECKED for diagnostic in found)
    return {"tests": str(len(found)), "failures": str(len(found) - errors), "errors": str(errors)}


def _suite(path: str, found: list[Diagnostic], run: Run) -> Iterator[str]:
    yield f"  <testsuite {_attributes(name=path, **_counts(found))}>\n"
    for diagnostic in found:
        at = diagnostic.primary.span.place
        name = f"{diagnostic.code} {diagnostic.name} ({in_file(diagnostic.primary.span)})"
        classname = path.removesuffix(".py").replace("/", ".").strip(".")
        case = _attributes(name=name, classname=classname, file=path, line=str(at.row), time="0")
        kind = "error" if diagnostic.code == NOT_CHECKED else "failure"
        said = _attributes(message=diagnostic.message, type=diagnostic.severity.value)
        picture = "".join(full.render([diagnostic], Style(width=WIDTH), run)).rstrip("\n")
        yield f"    <testcase {case}>\n      <{kind} {said}>{escape(picture)}</{kind}>\n    </testcase>\n"
    yield "  </testsuite>\n"


def _attributes(**values: str) -> str:
    return " ".join(f"{name}={quoteattr(safe(value))}" for name, value in values.items())
