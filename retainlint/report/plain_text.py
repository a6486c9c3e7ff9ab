"""A finding without its drawing: a few lines of text, and the fingerprint that tells it when code above it changes."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256

from retainlint.diagnostic import Diagnostic
from retainlint.report.places import pointed, relative
from retainlint.text.source import Span


class Fingerprints:
    """Fingerprints of one report's findings, in their order; equal findings in a file are numbered."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._seen: Counter[str] = Counter()

    def of(self, diagnostic: Diagnostic) -> str:
        """64 hexadecimal digits, the same on every machine and in every checkout."""
        home = relative(diagnostic.primary.span.source.name, self._root)
        marks = [f"{relative(m.span.source.name, self._root)}\0{_marked(m.span)}" for m in diagnostic.labels]
        key = "\0".join([diagnostic.code, home, *marks])
        self._seen[key] += 1
        return sha256(f"{key}\0{self._seen[key]}".encode("utf-8", "surrogatepass")).hexdigest()


def _marked(span: Span) -> str:
    """The marked text and the row around it, whatever its blanks and its indent."""
    row = span.source.row_text(span.row) if span.source.text else ""
    return f"{' '.join(span.text.split())}\0{' '.join(row.split())}"


def as_text(diagnostic: Diagnostic) -> str:
    """Not yet safe for any reader: source text stands in it as it is."""
    return "\n".join([diagnostic.message, *story(diagnostic), *diagnostic.notes, *helped(diagnostic)])


def story(diagnostic: Diagnostic) -> list[str]:
    """`path:row:column: text` for each mark that says something, in the order of what happens."""
    return [f"{pointed(label.span)}: {label.text}" for label in diagnostic.labels if label.text]


def helped(diagnostic: Diagnostic) -> list[str]:
    return [f"help: {diagnostic.help}"] if diagnostic.help else []
