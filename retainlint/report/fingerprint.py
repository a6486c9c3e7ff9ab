"""What tells a finding from others when the code above it changes: its rule, its file, and the code at its marks."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256

from retainlint.diagnostic import Diagnostic
from retainlint.report.places import relative
from retainlint.text.source import Span


class Fingerprints:
    """Fingerprints of one report's findings, in their order; equal findings in a file are numbered."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._seen: Counter[str] = Counter()

    def of(self, diagnostic: Diagnostic) -> str:
        """64 hexadecimal digits, the same on every machine and in every checkout."""
        home = relative(diagnostic.primary.span.source.name, self._root)
        marks = [f"{relative(m.span.source.name, self._root)}\0{_code(m.span)}" for m in diagnostic.labels]
        key = "\0".join([diagnostic.code, home, *marks])
        self._seen[key] += 1
        return sha256(f"{key}\0{self._seen[key]}".encode("utf-8", "surrogatepass")).hexdigest()


def _code(span: Span) -> str:
    """The marked text and the row around it, whatever its blanks and its indent."""
    row = span.source.row_text(span.row) if span.source.text else ""
    return f"{' '.join(span.text.split())}\0{' '.join(row.split())}"
