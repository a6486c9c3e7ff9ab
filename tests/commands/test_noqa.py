"""`retainlint check --add-noqa`, and RTL901 through the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import BAD, Run, write

from retainlint.incident import Exploration, Gap
from retainlint.text.source import Source, Span

CONCISE = ("check", "--output-format", "concise")


def test_every_finding_gets_a_comment_once(run: Run) -> None:
    write("a.py", f"{BAD}x = 1\n{BAD.strip()}  # noqa: F401\n")
    assert run("check", "--add-noqa") == (0, "Added 2 `# noqa` comments.\n", "")
    text = "bad.backward()  # noqa: RTL101\nx = 1\nbad.backward()  # noqa: F401, RTL101\n"
    assert Path("a.py").read_text() == text
    assert run("check")[0] == 0
    assert run("check", "--add-noqa")[1] == "Added 0 `# noqa` comments.\n"
    assert Path("a.py").read_text() == text


def test_a_reason_goes_behind_the_codes(run: Run) -> None:
    write("a.py", f"{BAD}{BAD.strip()}  # noqa: F401 as ever\n")
    assert run("check", "--add-noqa=the graph is\n meant", "a.py") == (0, "Added 2 `# noqa` comments.\n", "")
    text = "bad.backward()  # noqa: RTL101 the graph is meant\nbad.backward()  # noqa: F401, RTL101 as ever\n"
    assert Path("a.py").read_text() == text
    assert run("check")[0] == 0
    assert run("check", "--add-noqa=\x1b[2J")[0] == 2


def test_a_word_behind_it_is_a_path(run: Run) -> None:
    write("a.py")
    assert run("check", "--add-noqa", "a.py") == (0, "Added 1 `# noqa` comment.\n", "")


@pytest.mark.parametrize("other", ["--diff", "--fix", "--fix-only", "--show-files"])
def test_it_is_refused_beside_what_says_the_contrary(run: Run, other: str) -> None:
    write("a.py")
    code, out, err = run("check", "--add-noqa", other)
    assert (code, out) == (2, "") and f"--add-noqa doesn't go with {other}." in err
    assert Path("a.py").read_text() == BAD


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbfbad.backward()\r\n\xc3\xa9 = 1\r\n",
        b"# coding: latin-1\n\xe9 = 1; bad.backward()\n",
        b"bad.backward()",
        b"\x0cbad.backward()\rx\r",
        b"def f():\n\tbad.backward()\n",
    ],
)
def test_line_ends_encoding_and_mark_stay(run: Run, data: bytes) -> None:
    Path("a.py").write_bytes(data)
    assert run("check", "--add-noqa")[0] == 0
    assert Path("a.py").read_bytes() == data.replace(b"backward()", b"backward()  # noqa: RTL101")
    assert run("check")[0] == 0


def test_only_what_is_selected_and_not_known(run: Run) -> None:
    write("a.py")
    assert run("check", "--add-noqa", "--select", "RTL102")[1] == "Added 0 `# noqa` comments.\n"
    assert Path("a.py").read_text() == BAD


def test_a_file_that_cannot_be_written_is_told_and_the_rest_goes_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from retainlint.commands import noqa
    from retainlint.text import writing

    def picky(path: str, before: bytes, after: bytes) -> None:
        if path == "a.py":
            raise PermissionError(13, "Permission denied")
        writing.rewrite(path, before, after)

    monkeypatch.setattr(noqa, "rewrite", picky)
    write("a.py")
    write("b.py")
    assert run("check", "--add-noqa") == (2, "Added 1 `# noqa` comment.\n", "error: a.py: Permission denied\n")
    assert Path("a.py").read_text() == BAD
    assert "noqa" in Path("b.py").read_text()


def test_files_that_are_not_checked_are_left(run: Run) -> None:
    write("a.py", "backward((")
    assert run("check", "--add-noqa") == (0, "Added 0 `# noqa` comments.\n", "")


def test_a_comment_that_suppresses_nothing_is_a_warning(run: Run) -> None:
    write("a.py", "ok.backward()  # noqa: RTL101, F401\n")
    code, out, _ = run("check", "--output-format", "concise")
    assert code == 1
    assert out.startswith("a.py:1:16: RTL901 warning: `RTL101` found nothing here\n")
    assert "1 warning" in out
    assert run("check", "--fail-on", "error")[0] == 0
    assert run("check", "--ignore", "RTL901")[0] == 0
    assert run("check", "--ignore", "RTL101")[0] == 0, "a rule that is off leaves it open"
    assert run("check", "--ignore-noqa")[0] == 0


def test_an_unknown_rule_in_a_comment_gets_the_nearest(run: Run) -> None:
    write("a.py", "bad.backward()  # retainlint: ignore[backward-in-lop]\n")
    code, out, _ = run("check")
    assert code == 1
    assert "[RTL901] unused-suppression: `backward-in-lop` is no rule" in out
    assert "did you mean `backward-in-loop`?" in out
    assert "RTL101" in out


def test_ignore_noqa_shows_what_is_suppressed(run: Run) -> None:
    write("a.py", "bad.backward()  # noqa: RTL101\n")
    write("b.py", f"# retainlint: ignore-file\n{BAD}")
    assert run("check")[0] == 0
    code, out, _ = run("check", "--ignore-noqa", "--output-format", "concise")
    assert (code, out.count("RTL101")) == (1, 2)


def test_a_file_that_was_not_followed_to_its_end_leaves_it_open(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.py", "ok.backward()  # noqa: RTL101\nok.backward()  # retainlint: ignore\nx  # noqa: RTL999\n")
    assert run(*CONCISE)[1].count("RTL901") == 3
    assert run(*CONCISE, "--ignore", "RTL102")[1].count("RTL901") == 2, (
        "without a list it may be for a rule that is off"
    )
    gap = Gap(Span(Source("a.py", ""), 0, 0), "its budget ran out")
    monkeypatch.setattr("retainlint.symbolic.explore", lambda program, **_: Exploration((), (gap,)))
    assert run(*CONCISE)[1].startswith("a.py:3:4: RTL901 warning: `RTL999` is no rule\nFound 1 warning.")
