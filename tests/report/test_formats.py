"""The formats for editors and programs, read back."""

from __future__ import annotations

import json
import os
import re
import xml.etree.ElementTree as ET

import pytest
from fake_pipeline import finding, label
from report.samples import ACROSS

from retainlint.diagnostic import Diagnostic, Label
from retainlint.incident import Condition, Witness
from retainlint.report import FORMATS, render
from retainlint.report.run import Run
from retainlint.report.terminal import Style
from retainlint.startup.records import replace
from retainlint.text.source import Source, Span

SOURCE = Source("pkg/m.py", "é = a * b\nif flag:\n    loss.backward(\n    )\n")
TOLD = finding(
    label(SOURCE, "a * b", "built"),
    label(SOURCE, "loss.backward(\n    )", "walked", primary=True),
    help="h",
    notes=("core: n",),
)


def text(name: str, *diagnostics: Diagnostic) -> str:
    return "".join(render(name, diagnostics, Style()))


def test_concise_is_one_line_a_finding() -> None:
    lines = text("concise", TOLD, TOLD).splitlines()
    assert lines == ["pkg/m.py:3:5: RTL101 error: it is walked twice"] * 2
    assert re.fullmatch(r"(.+?):(\d+):(\d+): (\w+) (.+)", lines[0])


def test_concise_stays_one_line_whatever_the_names_hold() -> None:
    source = Source("a\nb\x1b.py", "x")
    line = text("concise", finding(Label(Span(source, 0, 1), "", primary=True)))
    assert line == "a\\x0ab\\x1b.py:1:1: RTL101 error: it is walked twice\n"


def test_json_has_ruff_s_keys_and_the_story() -> None:
    (entry,) = json.loads(text("json", TOLD))
    assert entry == {
        "cell": None,
        "code": "RTL101",
        "name": "backward-in-loop",
        "severity": "error",
        "message": "it is walked twice",
        "filename": os.path.abspath("pkg/m.py"),
        "location": {"row": 3, "column": 5},
        "end_location": {"row": 4, "column": 6},
        "fix": None,
        "noqa_row": 3,
        "url": None,
        "label": "walked",
        "related": [
            {
                "cell": None,
                "filename": os.path.abspath("pkg/m.py"),
                "location": {"row": 1, "column": 5},
                "end_location": {"row": 1, "column": 10},
                "message": "built",
            }
        ],
        "notes": ["core: n"],
        "help": "h",
        "witness": None,
    }


def test_json_tells_of_a_fix_of_several_files_no_half() -> None:
    (entry,) = json.loads(text("json", ACROSS))
    assert entry["fix"]["edits"] == []
    files = [(os.path.relpath(each["filename"]), len(each["edits"])) for each in entry["fix"]["files"]]
    assert files == [("pkg/m.py", 1), ("other/model.py", 1)]
    assert "suggestions" not in text("rdjson", ACROSS)


def test_json_holds_the_witness() -> None:
    choice = Condition(Span(SOURCE, SOURCE.text.index("flag"), SOURCE.text.index(":")), True)
    witness = Witness((choice,), "import torch\n", "second time", "MulBackward0")
    told = Diagnostic(TOLD.code, TOLD.name, TOLD.severity, TOLD.message, TOLD.labels, witness=witness)
    (entry,) = json.loads(text("json", told))
    choices = entry["witness"].pop("choices")
    assert entry["witness"] == {"script": "import torch\n", "error": "second time", "node": "MulBackward0"}
    assert [(c["condition"], c["taken"], c["location"]) for c in choices] == [("flag", True, {"row": 2, "column": 4})]


def test_json_survives_names_that_are_no_text() -> None:
    source = Source(os.fsdecode(b"\xff.py"), "x\n")
    written = text("json", finding(Label(Span(source, 0, 1), "\u202e", primary=True)))
    assert written.isascii()
    assert os.fsencode(os.path.basename(json.loads(written)[0]["filename"])) == b"\xff.py"


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_found_is_a_valid_report(name: str) -> None:
    written = text(name)
    if FORMATS[name].for_people or name in ("json-lines", "github", "azure", "pylint"):
        assert written == ""
    elif name == "junit":
        assert ET.fromstring(written).tag == "testsuites"
    elif name == "html":
        assert "All checks passed! 0 files checked." in written and written.endswith("</html>\n")
    elif name == "markdown":
        assert written == "## retainlint\n\nAll checks passed! 0 files checked.\n"
    else:
        assert not json.loads(written) or name in ("sarif", "rdjson")


def test_a_span_that_ends_with_its_cell_ends_in_its_cell() -> None:
    book = Source.of_cells("nb.ipynb", ["import torch\n", "y.backward()\n", "z\n"])
    whole = Span(book, book.cells[1], book.cells[2])
    (entry,) = json.loads(text("json", finding(Label(whole, "", primary=True))))
    assert (entry["cell"], entry["noqa_row"]) == (2, 1)
    assert (entry["location"], entry["end_location"]) == ({"row": 1, "column": 1}, {"row": 1, "column": 14})


def test_markdown_is_a_table_and_drawings() -> None:
    run = Run(files=3, browse="https://example.org/blob/abc/")
    hostile = replace(finding(label(SOURCE, "flag", "", primary=True)), message="`x|y` <b>@all [a](b)")
    written = "".join(render("markdown", [TOLD, hostile], Style(), run))
    head, _, drawings = written.partition("<details>")
    assert head.startswith(
        "## retainlint\n\nFound 2 errors. 3 files checked.\n\n| | where | what |\n| --- | --- | --- |\n"
    )
    assert (
        "| error | [`pkg/m.py:3:5`](https://example.org/blob/abc/pkg/m.py#L3) | **RTL101** backward-in-loop: " in head
    )
    assert r"`x\|y` \<b\>&#64;all \[a\](b) |" in head
    assert drawings.count("```text\n") == 2


def test_markdown_leaves_room_for_a_comment() -> None:
    written = text("markdown", *[TOLD] * 500)
    assert len(written) < 65_536 and written.endswith("\nand 470 more.\n")
