"""The format SARIF 2.1.0 (OASIS), for code scanning: rules with their help, results with their story, notifications."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence

from retainlint.catalogue import NOT_CHECKED
from retainlint.diagnostic import Diagnostic, Edit, Json, Label, Severity
from retainlint.incident import Gap
from retainlint.report.json import dumped, well_formed
from retainlint.report.places import columns_in, in_cell, relative, uri
from retainlint.report.plain_text import Fingerprints
from retainlint.report.run import RuleText, Run
from retainlint.report.terminal import Style, safe
from retainlint.text.source import Source, Span

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "%SRCROOT%"
_SURE = {Severity.ERROR: "very-high", Severity.WARNING: "medium"}


def render(diagnostics: Iterable[Diagnostic], style: Style, run: Run) -> Iterator[str]:
    """One log with one run. Columns count UTF-16 units, which is what readers assume that don't look."""
    found = list(diagnostics)
    results = [diagnostic for diagnostic in found if diagnostic.code != NOT_CHECKED]
    rules = _rules(found, run)
    numbers = {rule.code: number for number, rule in enumerate(rules)}
    fingerprints = Fingerprints(run.root)
    driver: dict[str, Json] = {"name": "retainlint", "rules": [_rule(rule) for rule in rules]}
    if run.version:
        driver["version"] = run.version
    root = uri(os.path.abspath(run.root or os.curdir)).rstrip("/") + "/"
    log: Json = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "utf16CodeUnits",
                "newlineSequences": ["\r\n", "\n", "\r"],
                "originalUriBaseIds": {_ROOT: {"uri": root}},
                "invocations": [_invocation(found, numbers, run)],
                "results": [_result(diagnostic, numbers, fingerprints, run) for diagnostic in results],
            }
        ],
    }
    yield dumped(well_formed(log), indent=2) + "\n"


def _rules(found: list[Diagnostic], run: Run) -> list[RuleText]:
    """The run's rules, and by their names alone those that it doesn't tell of."""
    rules = {rule.code: rule for rule in run.rules}
    for diagnostic in found:
        words = diagnostic.name.replace("-", " ")
        rules.setdefault(
            diagnostic.code, RuleText(diagnostic.code, diagnostic.name, diagnostic.severity, f"{words.capitalize()}.")
        )
    return list(rules.values())


def _rule(rule: RuleText) -> Json:
    fields: dict[str, Json] = {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": _plain(rule.summary.replace("`", ""))},
        "fullDescription": {"text": _plain(rule.explanation.replace("`", ""))},
        "help": {"text": _plain(rule.explanation), "markdown": _braced(rule.explanation)},
        "defaultConfiguration": {"level": rule.severity.value},
        "properties": {
            "tags": ["pytorch", "autograd", "correctness"],
            "precision": _SURE[rule.severity],
            "problem.severity": rule.severity.value,
        },
    }
    if rule.url:
        fields["helpUri"] = rule.url
    return fields


def _result(diagnostic: Diagnostic, numbers: dict[str, int], fingerprints: Fingerprints, run: Run) -> Json:
    span = diagnostic.primary.span
    help = f"\n\nHelp: {diagnostic.help}" if diagnostic.help else ""
    fields: dict[str, Json] = {
        "ruleId": diagnostic.code,
        "ruleIndex": numbers[diagnostic.code],
        "level": diagnostic.severity.value,
        "message": _message(f"{in_cell(span)}{diagnostic.message}{help}"),
        "locations": [_location(span, run)],
        "partialFingerprints": {"retainlint/v1": fingerprints.of(diagnostic)},
    }
    steps = [label for label in diagnostic.labels if label.text]
    if related := [label for label in steps if not label.primary]:
        fields["relatedLocations"] = [_labelled(label, run, number) for number, label in enumerate(related, 1)]
        fields["codeFlows"] = [{"threadFlows": [{"locations": [_step(*step, run) for step in enumerate(steps, 1)]}]}]
    fix = diagnostic.fix
    edits = fix.by_source(span.source) if fix is not None else {}
    if fix is not None and not any(source.cells for source in edits):
        changes: list[Json] = [_change(source, each, run) for source, each in edits.items()]
        fields["fixes"] = [{"description": _message(fix.message), "artifactChanges": changes}]
    if bag := _properties(diagnostic):
        fields["properties"] = bag
    return fields


def _properties(diagnostic: Diagnostic) -> dict[str, Json]:
    bag: dict[str, Json] = {}
    if diagnostic.notes:
        bag["notes"] = list(diagnostic.notes)
    if diagnostic.witness is not None:
        bag["witness"] = diagnostic.witness.script
    return bag


def _step(number: int, label: Label, run: Run) -> Json:
    importance = "essential" if label.primary else "important"
    return {"location": _labelled(label, run), "executionOrder": number, "importance": importance}


def _labelled(label: Label, run: Run, number: int | None = None) -> Json:
    fields: dict[str, Json] = {} if number is None else {"id": number}
    return {**fields, **_location(label.span, run), "message": _message(in_cell(label.span) + label.text)}


def _location(span: Span, run: Run) -> dict[str, Json]:
    """In a notebook only the file: rows of a cell are none of the file's."""
    physical: dict[str, Json] = {"artifactLocation": _artifact(span.source.name, run)}
    if span.place.cell is None and span.source.text:
        physical["region"] = _region(span.source, span.start, span.end)
    return {"physicalLocation": physical}


def _artifact(name: str, run: Run) -> dict[str, Json]:
    path = relative(name, run.root)
    fields: dict[str, Json] = {"uri": uri(path)}
    if not os.path.isabs(path):
        fields["uriBaseId"] = _ROOT
    return fields


def _region(source: Source, start: int, end: int) -> dict[str, Json]:
    """An end column is that just behind the region."""
    return {
        "startLine": source.place(start)[0],
        "startColumn": columns_in(source, start, "utf-16-le", 2),
        "endLine": source.place(end)[0],
        "endColumn": columns_in(source, end, "utf-16-le", 2),
    }


def _change(source: Source, edits: Sequence[Edit], run: Run) -> Json:
    replacements: list[Json] = []
    for edit in edits:
        region = _region(source, edit.start, edit.end)
        replacements.append({"deletedRegion": region, "insertedContent": {"text": edit.text}})
    return {"artifactLocation": _artifact(source.name, run), "replacements": replacements}


def _invocation(found: list[Diagnostic], numbers: dict[str, int], run: Run) -> Json:
    """Files that weren't checked are told of here, as is what couldn't be followed; a bug of ours is no success."""
    notices: list[Json] = [_not_checked(d, numbers, run) for d in found if d.code == NOT_CHECKED]
    notices += [_gap(gap, run) for gap in run.gaps]
    invocation: dict[str, Json] = {"executionSuccessful": not run.crashes}
    if notices:
        invocation["toolExecutionNotifications"] = notices
    return invocation


def _not_checked(diagnostic: Diagnostic, numbers: dict[str, int], run: Run) -> Json:
    span = diagnostic.primary.span
    help = f"; {diagnostic.help}" if diagnostic.help else ""
    fields: dict[str, Json] = {
        "level": "error",
        "message": _message(in_cell(span) + diagnostic.message + help),
        "locations": [_location(span, run)],
        "associatedRule": {"id": diagnostic.code, "index": numbers[diagnostic.code]},
    }
    if crash := run.crashes.get(span.source.name):
        last = crash.strip().rpartition("\n")[2]
        kind, _, message = last.partition(": ")
        fields["exception"] = {"kind": safe(kind), "message": safe(message)}
    return fields


def _gap(gap: Gap, run: Run) -> Json:
    message = _message(f"{in_cell(gap.span)}not followed: {gap.reason}")
    return {"level": "note", "message": message, "locations": [_location(gap.span, run)]}


def _message(text: str) -> Json:
    return {"text": _plain(text)}


def _plain(text: str) -> str:
    """A plain message: no link may come of source text, and braces are doubled as the standard asks (3.11.5)."""
    lines = "\n".join(safe(line) for line in text.split("\n"))
    return _braced(re.sub(r"\](?=\()", "] ", lines))


def _braced(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
