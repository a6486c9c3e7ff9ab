"""The formats of one line a finding, read by the parsers of other tools."""

from __future__ import annotations

import re

import pytest
from report.samples import ALL, HOSTILE, IN_CELLS, SEVERAL, TOLD, from_life, written

from retainlint.report.terminal import Style


@pytest.mark.parametrize("name", ["concise", "pylint"])
def test_a_line_a_finding_whatever_the_names_hold(name: str) -> None:
    text = written(name, *ALL, *from_life())
    assert len(text.splitlines()) == len(ALL) + len(from_life())
    for line in text.split("\n"):
        assert line.isprintable()
        assert not line.startswith("::")
        assert "##vso[" not in line
        assert "##[" not in line


def test_concise_is_read_as_flake8_s_lines() -> None:
    reporter = pytest.importorskip("diff_cover.violationsreporters.violations_reporter", reason="needs diff-cover")
    found = reporter.flake8_driver.parse_reports([written("concise", TOLD, SEVERAL)])
    assert {path: [tuple(v) for v in lines] for path, lines in found.items()} == {
        "pkg/m.py": [(3, "RTL101 error: it is walked twice"), (3, "RTL101 warning: it is walked twice")]
    }
    life = reporter.flake8_driver.parse_reports([written("concise", *from_life())])
    assert sum(map(len, life.values())) == len(from_life())


def test_pylint_is_read_as_pylint_s_lines() -> None:
    reporter = pytest.importorskip("diff_cover.violationsreporters.violations_reporter", reason="needs diff-cover")
    found = reporter.PylintDriver().parse_reports([written("pylint", TOLD, *from_life())])
    assert [tuple(v) for v in found["pkg/m.py"]] == [(3, "RTL101: it is walked twice")]
    assert sum(map(len, found.values())) == 1 + len(from_life())


def test_a_place_in_a_notebook_is_cell_row_and_column() -> None:
    assert written("concise", IN_CELLS) == "nb.ipynb:cell 3:2:1: RTL101 error: it is walked twice\n"
    assert written("pylint", IN_CELLS) == "nb.ipynb:2: [RTL101] cell 3:2:1: it is walked twice\n"


def test_grouped_stands_below_its_file() -> None:
    assert written("grouped", TOLD, SEVERAL, IN_CELLS) == (
        "pkg/m.py:\n"
        "  3:10  RTL101 error: it is walked twice\n"
        "  3:10  RTL101 warning: it is walked twice\n"
        "\n"
        "nb.ipynb:\n"
        "  cell 3:2:1  RTL101 error: it is walked twice\n"
        "\n"
    )


@pytest.mark.parametrize("name", ["full", "concise", "grouped"])
def test_nothing_is_injected_into_a_log(name: str) -> None:
    for width in (40, 80, 140):
        text = written(name, HOSTILE, style=Style(width=width))
        for line in text.split("\n"):
            assert line.isprintable()
            assert not line.lstrip().startswith("::"), line
            assert not re.search(r"##(\[|vso\[)", line), line


def test_colour_changes_nothing_but_colour() -> None:
    for name in ("full", "concise", "grouped"):
        painted = written(name, TOLD, SEVERAL, style=Style(colour=True))
        assert re.sub(r"\x1b\[[\d;]*m", "", painted) == written(name, TOLD, SEVERAL)
        assert painted != written(name, TOLD, SEVERAL)
