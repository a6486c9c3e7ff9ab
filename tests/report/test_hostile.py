"""Every format over sources, names and texts that nobody would write but to do harm."""

from __future__ import annotations

import json
import re
import unicodedata
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report.samples import from_life, written

from retainlint.diagnostic import Diagnostic, Help, Label, Severity
from retainlint.report import FORMATS
from retainlint.report.terminal import Style
from retainlint.text.source import Source, Span

PIECES = st.sampled_from(
    ["\x1b[2J", "\x9b", "\r", "\n", "\r\n", "\t", "\x00", "\u202e", "\u2028", "\ufffe", "\ud800", "\udcff", "e\u0301", "日本",
     "##vso[task.x]", "##[error]", "::error::", "%0A", "]]>", "<!--", "&", "`", "](http://x)", "{0}", "'", '"', "; or ",
     "😀", "\u1100\u1161", " ", "x", "word " * 30]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=12).map("".join)


@st.composite
def findings(draw: st.DrawFn) -> Diagnostic:
    source = Source(draw(TEXTS).replace("\0", "") or "m.py", draw(TEXTS))
    places = st.integers(0, len(source.text))
    spans = draw(st.lists(st.tuples(places, places).map(sorted), min_size=1, max_size=4))
    chosen = draw(st.integers(0, len(spans) - 1))
    labels = tuple(Label(Span(source, a, b), draw(TEXTS), n == chosen) for n, (a, b) in enumerate(spans))
    notes = tuple(draw(st.lists(TEXTS, max_size=2)))
    return Diagnostic("RTL101", "backward-in-loop", Severity.ERROR, draw(TEXTS), labels, notes, (Help(draw(TEXTS)),))


@settings(deadline=None)
@given(findings(), st.integers(20, 160))
def test_nothing_harms_its_reader(diagnostic: Diagnostic, width: int) -> None:
    for name in FORMATS:
        text = written(name, diagnostic, style=Style(width=width))
        assert all(c == "\n" or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in text), name
        for line in text.split("\n"):
            own = (
                (r"^::error ", "::")
                if name == "github"
                else (r"^##vso\[task\.logissue ", "")
                if name == "azure"
                else ("$", "")
            )
            rest = re.sub(*own, line) if name in ("github", "azure") else line
            assert not re.search(r"##(\[|vso\[)", rest), (name, line)
            assert name == "github" or not line.lstrip().startswith("::"), (name, line)
        if name in ("json", "sarif", "gitlab", "rdjson"):
            json.loads(text)
        elif name == "json-lines":
            assert all(json.loads(line) for line in text.splitlines())
        elif name == "junit":
            ET.fromstring(text.encode())
        elif name in ("concise", "github", "azure", "pylint"):
            assert text.count("\n") == 1, name


@pytest.mark.parametrize("width", [40, 60])
def test_drawings_fit_a_narrow_terminal(width: int) -> None:
    """But for the head of a finding, which the terminal wraps, and what can't be parted."""
    for diagnostic in from_life():
        for line in written("full", diagnostic, style=Style(width=width)).splitlines()[1:]:
            assert len(line) <= width or re.search(rf"[^ ]{{{width - 24},}}", line), line
