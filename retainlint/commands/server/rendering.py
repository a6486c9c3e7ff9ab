"""Findings as the protocol has them: diagnostics with their story, edits, and the text that is shown beside a place."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from lsprotocol import types
from pygls import uris

from retainlint.commands.server.checks import page_of
from retainlint.commands.server.documents import Columns, Notebook, Text
from retainlint.diagnostic import Applicability, Diagnostic, Edit, Label, Severity
from retainlint.report.markdown import marked
from retainlint.suppressions.comments import ignoring
from retainlint.text.source import Source, Span

Document: TypeAlias = "Text | Notebook"

SOURCE = "retainlint"

SEVERITIES = {Severity.ERROR: types.DiagnosticSeverity.Error, Severity.WARNING: types.DiagnosticSeverity.Warning}

TAGS: Mapping[str, types.DiagnosticTag] = {
    "RTL306": types.DiagnosticTag.Deprecated,
    "RTL901": types.DiagnosticTag.Unnecessary,
}
"""What editors strike through, or show faded: rules that say of all that they mark that it is outdated, or does nothing."""

REASON = "why this is meant"
"""What stands behind a suppression until who writes it says why."""


class Rendering:
    """Writes down what was found in one document; places in other files are named by their paths below `root`."""

    def __init__(self, document: Document, root: str, columns: Columns, pages: str) -> None:
        self._document, self._root, self._columns, self._pages = document, root, columns, pages

    def diagnostics(self, found: Iterable[Diagnostic]) -> dict[str, list[types.Diagnostic]]:
        """By the text in which they lie: every text of the document, also one without any."""
        by_uri: dict[str, list[types.Diagnostic]] = {uri: [] for uri in self._document.uris}
        for each in found:
            by_uri.setdefault(self._location(each.primary.span).uri, []).append(self.diagnostic(each))
        return by_uri

    def diagnostic(self, found: Diagnostic) -> types.Diagnostic:
        """The message with its first help; the story as related places, in the order in which it happens."""
        helped = [f"help: {found.helps[0].words}"] if found.helps else []
        page = uris.from_fs_path(page_of(self._pages, found.code))
        return types.Diagnostic(
            self._location(found.primary.span).range,
            "\n".join([found.message, *helped]),
            SEVERITIES[found.severity],
            found.code,
            types.CodeDescription(page) if page else None,
            SOURCE,
            [TAGS[found.code]] if found.code in TAGS else None,
            [types.DiagnosticRelatedInformation(self._location(label.span), label.text) for label in _story(found)],
        )

    def holds(self, found: Diagnostic, uri: str, wanted: types.Range) -> bool:
        """Whether a finding lies in a text, and touches a range of it."""
        there = self._location(found.primary.span)
        start, end = _place(there.range.start), _place(there.range.end)
        return there.uri == uri and start <= _place(wanted.end) and _place(wanted.start) <= end

    def _location(self, span: Span) -> types.Location:
        source = span.source
        place = os.path.abspath(os.path.join(self._root, source.name))
        if place == self._document.place:
            return self._document.located(span, self._columns)
        start, end = self._columns.position(source, span.start), self._columns.position(source, span.end)
        return types.Location(uris.from_fs_path(place) or "", types.Range(start, end))

    # -- edits -----------------------------------------------------------------------------------------------------

    def actions(self, found: Diagnostic) -> Iterator[types.CodeAction]:
        """What can be done about a finding by a click: its fix, and a comment that says that it is meant."""
        told = [self.diagnostic(found)]
        fix, source = found.fix, found.primary.span.source
        if fix is not None:
            is_safe = fix.applicability is Applicability.SAFE
            title = fix.message if is_safe else f"{fix.message} (unsafe: it may change what is computed)"
            edit = self.edit(fix.by_source(source))
            yield types.CodeAction(title, types.CodeActionKind.QuickFix, told, is_preferred=is_safe, edit=edit)
        comment = ignoring(source, found.code, found.primary.span, REASON)
        if comment is not None:
            title = f"Suppress {found.code} on this line, with a reason"
            at, text = comment
            edit = self.edit({source: [Edit(at, at, text)]})
            yield types.CodeAction(title, types.CodeActionKind.QuickFix, told, edit=edit)

    def edit(self, edits: Mapping[Source, Sequence[Edit]]) -> types.WorkspaceEdit:
        """Edits of programs, each in the text in which it lies."""
        by_uri: dict[str, list[types.TextEdit]] = {}
        for source, several in edits.items():
            for each in several:
                at = self._location(Span(source, each.start, each.end))
                by_uri.setdefault(at.uri, []).append(types.TextEdit(at.range, each.text))
        return self.versioned(by_uri)

    def versioned(self, by_uri: Mapping[str, Sequence[types.TextEdit]]) -> types.WorkspaceEdit:
        """Edits that only count for the texts that were checked."""
        known = set(self._document.uris)
        changes = [
            types.TextDocumentEdit(
                types.OptionalVersionedTextDocumentIdentifier(
                    uri=uri, version=self._document.version_of(uri) if uri in known else None
                ),
                list(edits),
            )
            for uri, edits in by_uri.items()
        ]
        return types.WorkspaceEdit(document_changes=changes)


def _place(position: types.Position) -> tuple[int, int]:
    return position.line, position.character


def _story(found: Diagnostic) -> list[Label]:
    """The marks that say something, if there are more than the one that is shown anyway."""
    told = [label for label in found.labels if label.text]
    return told if any(not label.primary for label in told) else []


def hover(found: Sequence[Diagnostic]) -> str:
    """The stories of findings as Markdown, one after the other."""
    return "\n\n---\n\n".join(map(_told, found))


def _told(found: Diagnostic) -> str:
    parts = [f"**{found.code}** {found.name}: {marked(found.message)}"]
    here = found.primary.span.source
    rows = []
    for number, label in enumerate(_story(found), 1):
        where = label.span.line if label.span.source is here else f"{label.span.source.name}:{label.span.row}"
        text = f"**{marked(label.text)}**" if label.primary else marked(label.text)
        rows.append(f"{number}. {where}: {text}  \n   {_code(label.span)}")
    if rows:
        parts.append("\n".join(rows))
    parts += [f"*{marked(note)}*" for note in found.notes]
    if found.helps:
        parts.append("\n".join(f"- {marked(each.words)}" for each in found.helps))
    return "\n\n".join(parts)


def _code(span: Span) -> str:
    """The row of a place, as code."""
    row = span.source.shown_row(span.row).strip() if span.source.text else ""
    fence = "``" if "`" in row else "`"
    return f"{fence}{row}{fence}" if row else ""


__all__ = ["Document", "Rendering", "hover"]
