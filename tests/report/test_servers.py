"""The formats that servers read (GitHub, GitLab, Azure, reviewdog, JUnit), each by a reader of its rules."""

from __future__ import annotations

import json
import os
import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from report.samples import ALL, HOSTILE, IN_CELLS, SEVERAL, TOLD, UNREAD, from_life, written


def github_command(line: str) -> tuple[str, dict[str, str], str] | None:
    """Read a line as the Actions runner does: a command only at its start, properties by comma, then unescaped."""
    match = re.match(r"\s*::(?P<command>[\w-]+)(?: (?P<given>.*?))?::(?P<data>.*)$", line)
    if match is None:
        return None
    given: dict[str, str] = {}
    for pair in filter(None, (match["given"] or "").split(",")):
        key, _, value = pair.partition("=")
        given[key] = plain(plain(value, "%3A", ":"), "%2C", ",")
    unescaped = {key: plain(plain(plain(value, "%0D", "\r"), "%0A", "\n"), "%25", "%") for key, value in given.items()}
    return match["command"], unescaped, plain(plain(plain(match["data"], "%0D", "\r"), "%0A", "\n"), "%25", "%")


def plain(text: str, escape: str, character: str) -> str:
    return text.replace(escape, character)


def test_github_annotates_the_place() -> None:
    (line,) = written("github", TOLD).splitlines()
    command = github_command(line)
    assert command is not None
    name, given, data = command
    assert name == "error"
    assert given == {
        "title": "retainlint RTL101 backward-in-loop",
        "file": os.path.abspath("pkg/m.py"),
        "line": "3",
        "endLine": "4",  # no columns: the runner takes them within one line only
    }
    assert data.splitlines() == [
        "it is walked twice",
        "pkg/m.py:1:5: built: `a[0](b)`",
        "pkg/m.py:3:10: walked",
        "core: n",
        "help: detach `{a}`; or `[x](http://evil)`",
    ]


def test_github_has_columns_within_a_line_and_cells_in_words() -> None:
    command = github_command(written("github", from_life()[0]))
    assert command is not None
    assert {"line", "endLine", "col", "endColumn"} <= command[1].keys()
    told = github_command(written("github", IN_CELLS))
    assert told is not None
    assert told[1]["line"] == "1"
    assert told[2].startswith("cell 3:2:1: it is walked twice\n")


def test_github_is_given_one_command_a_finding_and_nothing_else() -> None:
    lines = written("github", *ALL, *from_life()).split("\n")
    assert lines.pop() == ""
    assert len(lines) == len(ALL) + len(from_life())
    for line in lines:
        command = github_command(line)
        assert command is not None
        assert command[0] in ("error", "warning")
        assert set(command[1]) <= {"title", "file", "line", "endLine", "col", "endColumn"}
        assert "##[" not in line
        assert line.isprintable()
    evil = github_command(written("github", HOSTILE).rstrip("\n"))
    assert evil is not None
    assert evil[1]["file"].startswith(os.path.abspath("::error::x"))
    assert "%0A::error::<b>" in evil[2]


def azure_commands(text: str) -> list[tuple[str, dict[str, str], str]]:
    """Read as the Azure agent does: a command wherever it stands in a line, up to the first bracket."""
    found = []
    for line in text.split("\n"):
        for piece in line.split("##vso[")[1:]:
            head, _, message = piece.partition("]")
            command, _, given = head.partition(" ")
            pairs = (pair.partition("=") for pair in given.split(";") if pair.strip())
            found.append((command, {key.strip(): unescaped(value) for key, _, value in pairs}, unescaped(message)))
    return found


def unescaped(text: str) -> str:
    for escape, character in (("%3B", ";"), ("%0D", "\r"), ("%0A", "\n"), ("%5D", "]"), ("%AZP25", "%")):
        text = text.replace(escape, character)
    return text


def test_azure_logs_an_issue() -> None:
    assert azure_commands(written("azure", SEVERAL)) == [
        (
            "task.logissue",
            {
                "type": "warning",
                "sourcepath": os.path.abspath("pkg/m.py"),
                "linenumber": "3",
                "columnnumber": "10",
                "code": "RTL101",
            },
            "it is walked twice",
        )
    ]


def test_azure_is_given_one_command_a_finding_and_nothing_else() -> None:
    text = written("azure", *ALL, *from_life())
    commands = azure_commands(text)
    assert len(text.splitlines()) == len(commands) == len(ALL) + len(from_life())
    assert {command for command, _, _ in commands} == {"task.logissue"}
    assert "##[" not in text
    (_, given, _) = azure_commands(written("azure", HOSTILE))[0]
    assert set(given) == {"type", "sourcepath", "linenumber", "columnnumber", "code"}
    assert given["sourcepath"].endswith(",:;%.py")


def test_gitlab_has_what_its_documentation_requires() -> None:
    issues = json.loads(written("gitlab", *ALL, *from_life()))
    assert len(issues) == len(ALL) + len(from_life())
    for issue in issues:
        assert isinstance(issue["description"], str)
        assert isinstance(issue["check_name"], str)
        assert re.fullmatch(r"[0-9a-f]{64}", issue["fingerprint"])
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert not issue["location"]["path"].startswith(("./", "/"))
        assert 1 <= issue["location"]["lines"]["begin"] <= issue["location"]["lines"]["end"]
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)
    assert issues[0]["location"] == {"path": "pkg/m.py", "lines": {"begin": 3, "end": 4}}
    assert issues[0]["description"] == "RTL101 it is walked twice"
    assert all(issue["description"].isprintable() for issue in issues)
    assert (issues[0]["severity"], issues[1]["severity"]) == ("major", "minor")


RDF: dict[str, Any] = {
    "diagnostics": [
        {
            "message": str,
            "location": {"path": str, "range": {"start": {"line": int, "column": int}, "end": {"line": int, "column": int}}},
            "severity": ("ERROR", "WARNING", "INFO"),
            "code": {"value": str, "url": str},
            "suggestions": [
                {"range": {"start": {"line": int, "column": int}, "end": {"line": int, "column": int}}, "text": str}
            ],
            "relatedLocations": [{"message": str}],
        }
    ],
    "source": {"name": str, "url": str},
}  # fmt: skip
RDF["diagnostics"][0]["relatedLocations"][0]["location"] = RDF["diagnostics"][0]["location"]
"""The fields of reviewdog's protocol buffer that we fill, in their JSON names; an unknown field is refused."""


def fits(value: Any, shape: Any) -> bool:
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(key in shape and fits(part, shape[key]) for key, part in value.items())
    if isinstance(shape, list):
        return isinstance(value, list) and all(fits(part, shape[0]) for part in value)
    return value in shape if isinstance(shape, tuple) else type(value) is shape


def test_rdjson_fits_reviewdog_s_message() -> None:
    assert fits(json.loads(written("rdjson", *ALL, *from_life())), RDF)
    assert not fits({"diagnostics": [{"message": 1}]}, RDF)
    assert not fits({"diagnostics": [{"msg": "x"}]}, RDF)


def test_rdjson_counts_columns_in_bytes() -> None:
    told = json.loads(written("rdjson", TOLD))["diagnostics"][0]
    start = told["location"]["range"]["start"]
    assert start["line"] == 3
    assert "    '𝔘'; loss.backward(".encode()[start["column"] - 1 :] == b"loss.backward("
    assert told["relatedLocations"][0]["location"]["range"]["start"] == {"line": 1, "column": 6}
    assert told["suggestions"] == [
        {"range": {"start": {"line": 3, "column": 13}, "end": {"line": 4, "column": 6}}, "text": ""}
    ]
    assert told["message"].startswith("it is walked twice\ndetach")
    (cells,) = json.loads(written("rdjson", IN_CELLS))["diagnostics"]
    assert cells["location"] == {"path": "nb.ipynb"}


def test_junit_is_read_by_a_junit_parser() -> None:
    junit = pytest.importorskip("junitparser", reason="needs junitparser")
    text = written("junit", *ALL, *from_life())
    report = junit.JUnitXml.fromstring(text.encode())
    total = len(ALL) + len(from_life())
    assert (report.tests, report.failures, report.errors) == (total, total - 1, 1)
    suites = list(report)
    assert sum(suite.tests for suite in suites) == total
    assert suites[0].name == "pkg/m.py"
    (case, _) = list(suites[0])
    assert case.name == "RTL101 backward-in-loop (3:10)"
    assert case.classname == "pkg.m"
    (failure,) = case.result
    assert isinstance(failure, junit.Failure)
    assert failure.message == "it is walked twice"
    assert "3 |       '𝔘'; loss.backward(" in failure.text
    (passed,) = list(junit.JUnitXml.fromstring(written("junit").encode()))
    assert (passed.tests, passed.failures, passed.errors) == (1, 0, 0)


def test_junit_is_xml_whatever_the_source_holds() -> None:
    text = written("junit", HOSTILE)
    root = ET.fromstring(text.encode())
    said = "".join(root.itertext())
    assert "<b>&]]>" in said
    assert not re.search(r"##(\[|vso\[)", said)
    assert "\\x1b" in said


def test_what_was_not_checked_is_an_error_in_junit() -> None:
    root = ET.fromstring(written("junit", UNREAD))
    (error,) = root.iter("error")
    assert error.get("message") == "not checked: null bytes"
    assert not list(root.iter("failure"))


@pytest.mark.parametrize("name", ["gitlab", "rdjson", "sarif", "json", "json-lines"])
def test_json_printed_to_a_build_server_s_log_holds_no_command(name: str) -> None:
    text = written(name, HOSTILE)
    assert text.isascii()
    assert "##" not in text
    assert not any(github_command(line) for line in text.splitlines())
    read = [json.loads(line) for line in (text.splitlines() if name == "json-lines" else [text])]
    if name in ("gitlab", "rdjson", "sarif"):  # readers in Go and Ruby refuse lone surrogates
        json.dumps(read, ensure_ascii=False).encode()
