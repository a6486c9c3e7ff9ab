"""The findings of a run's files as one list, each told once, and those that tell of a file that could not be checked."""

from __future__ import annotations

import os
from collections.abc import Mapping

from retainlint import suppressions
from retainlint.catalogue import CATALOGUE, NOT_CHECKED, UNUSED
from retainlint.config import Settings
from retainlint.diagnostic import Diagnostic, Help, Label, Severity
from retainlint.startup.records import replace
from retainlint.text.source import Source, Span


def joined(own: list[Diagnostic], beyond: list[Diagnostic], settings: Mapping[str, Settings]) -> list[Diagnostic]:
    """The findings of the files that were asked for, in order, with those that their importers led to: the simplest
    story of each place and code. One of a module that wasn't asked for is told where it is called."""
    names = {os.path.abspath(name): name for name in settings} if beyond else {}
    once = {each.place: each for each in own}
    used: list[Span] = []
    heeded = any(each.suppressions for each in settings.values())
    for diagnostic in sorted(beyond, key=_simplicity):
        here = _at_call(diagnostic)
        places = [(diagnostic, names.get(os.path.abspath(_source(diagnostic).name)))]
        if here is not None:
            places.append((here, names.get(os.path.abspath(_source(here).name))))
        told: tuple[Diagnostic, str] | None = None
        for each, name in places:
            covered, comments = _covering(each)
            used += comments if name is not None else ()
            if told is None and covered and (settings[name].suppressions if name is not None else heeded):
                break  # it is meant, where it fails
            if told is None and name is not None:
                told = each, name
        if told is not None and settings[told[1]].wants(diagnostic.code):
            once.setdefault((told[1], *told[0].place[1:]), told[0])
    left = (d for d in once.values() if d.code != UNUSED or not any(_holds(d.primary.span, each) for each in used))
    return sorted(left, key=lambda each: each.place)


def _covering(diagnostic: Diagnostic) -> tuple[bool, set[Span]]:
    """Whether a comment covers a finding, and the places of those that do."""
    found = [(diagnostic.code, diagnostic.name, diagnostic.primary.span)]
    (covered,), places = suppressions.read(_source(diagnostic)).split(found)
    return covered, places


def _holds(span: Span, inner: Span) -> bool:
    is_same = os.path.abspath(span.source.name) == os.path.abspath(inner.source.name)
    return is_same and span.start <= inner.start <= span.end


def _at_call(diagnostic: Diagnostic) -> Diagnostic | None:
    """A finding of a module that wasn't asked for, told where the program calls what fails there; nothing of the module is
    edited for that."""
    if diagnostic.called is None:
        return None
    there = diagnostic.primary
    others = tuple(replace(label, primary=False) for label in diagnostic.labels)
    message = f"{diagnostic.message} ({os.path.basename(there.span.source.name)}:{there.span.row})"
    helps = tuple(replace(each, cures=()) for each in diagnostic.helps)
    called = Label(diagnostic.called, "called here", primary=True)
    return replace(diagnostic, message=message, labels=(called, *others), helps=helps, fix=None, called=None)


def _simplicity(diagnostic: Diagnostic) -> tuple[bool, int, int, list[tuple[str, int, int]]]:
    """Sorts stories: errors first, then those that assume least and lead through the fewest files."""
    places = [(label.span.source.name, label.span.start, label.span.end) for label in diagnostic.labels]
    choices = len(diagnostic.witness.choices) if diagnostic.witness is not None else 0
    warning = diagnostic.severity.value == "warning"
    return warning, choices + len(diagnostic.notes), len({place[0] for place in places}), places


def _source(diagnostic: Diagnostic) -> Source:
    return diagnostic.primary.span.source


_RULE = (NOT_CHECKED, CATALOGUE[NOT_CHECKED][0])


def not_checked(source: Source, reason: str, row: int | None = None, column: int | None = None) -> Diagnostic:
    """RTL900: a file, or its place that stops us."""
    at = 0
    if source.text and row is not None:
        row = min(max(row, 1), len(source.row_starts))
        at = source.offset(row, min(max(column or 1, 1), len(source.row_text(row)) + 1))
    label = Label(Span(source, at, at), "here" if source.text else "", primary=True)
    return Diagnostic(*_RULE, Severity.ERROR, f"not checked: {reason}", (label,))


def bug(name: str, error: Exception) -> Diagnostic:
    """RTL900: a file in which we stumble ourselves."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {frames[-1].filename.rpartition('retainlint/')[2]}:{frames[-1].lineno}" if frames else ""
    return ended(name, f"internal error{where}: {_told(error)}")


_TELLING = (ArithmeticError, AssertionError, AttributeError, IndexError, MemoryError, RecursionError, TypeError)
"""Errors whose words are Python's or ours; those of others may hold a text of the checked file."""


def _told(error: Exception) -> str:
    what = f"{type(error).__name__}: {error}" if isinstance(error, _TELLING) else type(error).__name__
    return " ".join(what.split())[:200]


def report(error: Exception, frames: int) -> str:
    """A bug of ours as it may be pasted into an issue: where in our code, and with what; nothing of the checked file, and
    no path of the machine."""
    import platform
    import traceback

    from retainlint.startup.version import __version__

    ours = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
    found = traceback.extract_tb(error.__traceback__)[-frames:]
    rows = [
        f'  File "{_place(each.filename, ours)}", line {each.lineno}, in {each.name}\n    {each.line}\n'
        for each in found
    ]
    head = f"retainlint {__version__}, Python {platform.python_version()}, {platform.system()}\n"
    return "".join((head, "Traceback (most recent call last):\n", *rows, _told(error), "\n"))


def _place(file: str, ours: str) -> str:
    """A file of ours from our package on, another by its name."""
    inside = file.removeprefix(ours)
    return f"retainlint/{inside}".replace(os.sep, "/") if inside != file else os.path.basename(file)


def ended(name: str, reason: str) -> Diagnostic:
    """RTL900: a file whose check came to no end."""
    return Diagnostic(
        *_RULE,
        Severity.ERROR,
        f"not checked: {reason}",
        (Label(Span(Source(name, ""), 0, 0), "", primary=True),),
        helps=(Help("this is a bug in retainlint, not in your code: please report it, with the file if you can"),),
    )
