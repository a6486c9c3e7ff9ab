"""`retainlint check`: its options and the settings behind them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import BAD, Run, write

CONCISE = ("check", "--output-format", "concise")


def test_settings_of_each_file_count(run: Run) -> None:
    write("a/x.py")
    write("b/retainlint.toml", 'ignore = ["RTL101"]\n')
    write("b/x.py")
    assert run(*CONCISE)[1].count("RTL101") == 1
    assert run("check", "b")[0] == 0


def test_a_wrong_setting_is_exit_code_2_before_anything_is_checked(run: Run) -> None:
    write("a/x.py")
    write("b/pyproject.toml", '[tool.retainlint]\nselct = ["RTL1"]\n')
    write("b/x.py")
    told = "error: b/pyproject.toml:2: unknown setting 'selct'; did you mean 'select'?\n"
    assert run("check") == (2, "", told)
    assert run("check", "a")[0] == 1
    assert run("check", "--isolated")[0] == 1


def test_rules_off_in_some_files(run: Run) -> None:
    write("tests/x.py")
    write("x.py")
    assert run(*CONCISE, "--per-file-ignores", "tests/*:RTL1, x.py:backward-in-loop")[0] == 0
    assert run(*CONCISE, "--extend-per-file-ignores", "tests/*:RTL1")[1].startswith("x.py:1:1: RTL101 error:")
    code, _, err = run("check", "--per-file-ignores", "tests")
    assert code == 2
    assert "'tests' is not written PATTERN:RULE." in err
    assert run("check", "--per-file-ignores", "a:RTLX")[2] == "error: unknown rule 'RTLX'; did you mean 'RTL101'?\n"


def test_files_are_left_out(run: Run) -> None:
    write("a.py")
    write("gen/b.py")
    write(".gitignore", "a.py\n")
    assert run("check", "--show-files") == (0, "gen/b.py\n", "")
    assert run("check", "--show-files", "--exclude", "{gen,lib}", "--no-respect-gitignore")[1] == "a.py\n"
    assert run("check", "--show-files", "--extend-exclude", "gen", "gen/b.py")[1] == "gen/b.py\n"
    assert run("check", "--show-files", "--extend-exclude", "gen", "--force-exclude", "gen/b.py")[1] == ""
    write("retainlint.toml", "respect-gitignore = false\nforce-exclude = true\n")
    assert run("check", "--show-files", "--respect-gitignore")[1] == "gen/b.py\n"
    assert run("check", "--show-files", "a.py", "--extend-exclude", "a.py", "--no-force-exclude")[1] == "a.py\n"


def test_a_hook_that_forces_exclusion_may_have_nothing_to_check(run: Run) -> None:
    write("gen/b.py")
    code, out, err = run("check", "--force-exclude", "--extend-exclude", "gen", "gen/b.py")
    assert (code, out) == (0, "All checks passed! 0 files checked.\n")
    assert err.startswith("warning: no Python files found")


def test_the_format_may_be_configured(run: Run) -> None:
    write("a.py")
    write("retainlint.toml", 'output-format = "json"\n')
    assert json.loads(run("check")[1])[0]["code"] == "RTL101"
    assert run(*CONCISE)[1].startswith("a.py:1:1:")
    write("retainlint.toml", '\noutput-format = "jsn"\n')
    assert run("check")[2] == "error: retainlint.toml:2: there is no output format 'jsn'; did you mean 'json'?\n"


def test_findings_lead_to_the_documentations_site(run: Run) -> None:
    write("a.py")
    page = "https://docs.example.org/rtl/rules/RTL101/"
    (plain,) = json.loads(run("check", "--output-format", "json")[1])
    assert plain["url"] is None
    write("retainlint.toml", 'docs-url = "https://docs.example.org/rtl/"\n')
    (found,) = json.loads(run("check", "--output-format", "json")[1])
    assert found["url"] == page
    (told,) = json.loads(run("check", "--output-format", "sarif")[1])["runs"]
    assert page in [rule.get("helpUri") for rule in told["tool"]["driver"]["rules"]]


def test_severities_that_fail(run: Run) -> None:
    write("a.py", "ok.backward()  # noqa: RTL101\n")
    write("retainlint.toml", 'fail-on = "error"\n')
    assert run("check")[0] == 0
    assert run("check", "--fail-on", "warning")[0] == 1
    write("b.py")
    assert run("check")[0] == 1
    assert (
        "Choose from" in run("check", "--fail-on", "info")[2] or "is not one of" in run("check", "--fail-on", "info")[2]
    )


def test_the_version_that_is_required(run: Run) -> None:
    write("retainlint.toml", 'required-version = ">=99"\n')
    assert run("check")[2].startswith("error: retainlint.toml:1: this needs retainlint >=99, and here is ")


def test_findings_go_to_a_file(run: Run) -> None:
    write("a.py")
    code, out, err = run(*CONCISE, "-o", "found.txt", "--color", "always")
    assert (code, err) == (1, "")
    assert "Found 1 error." in out
    assert "a.py" not in out
    assert Path("found.txt").read_text() == "a.py:1:1: RTL101 error: it is walked twice\n"
    code, out, err = run("check", "-o", "no/such/dir.txt")
    assert code == 2
    assert err == "error: no/such/dir.txt: the report can't be written: No such file or directory\n"


def test_statistics_are_no_report_for_a_machine(run: Run) -> None:
    code, out, err = run("check", "--statistics", "--output-format", "sarif")
    assert (code, out) == (2, "") and "not sarif" in err


def test_statistics_count_by_rule(run: Run) -> None:
    write("a.py", BAD * 3)
    assert run("check", "--statistics")[1] == "3  RTL101  backward-in-loop\nFound 3 errors. 1 file checked.\n"


@pytest.mark.parametrize("args", [("--select", "\x1b[31mx"), ("--config", "a\x1b]0;x\x07"), ("\x1b[2J.py",)])
def test_what_the_user_wrote_is_shown_safely(run: Run, args: tuple[str, ...]) -> None:
    code, out, err = run("check", *args)
    assert code == 2
    assert "\x1b" not in out + err
    assert "\x07" not in out + err


def test_rules_and_explanations_for_programs(run: Run) -> None:
    listed = json.loads(run("rules", "--output-format", "json")[1])
    assert listed == json.loads(run("explain", "--all", "--output-format", "json")[1])
    one = json.loads(run("rule", "backward-in-loop", "--output-format", "json")[1])
    assert one == next(row for row in listed if row["code"] == "RTL101")
    assert one["bad"][0]["fixed"] != one["bad"][0]["program"]
    assert run("explain")[0] == run("explain", "RTL101", "--all")[0] == 2
    text = run("explain", "--all")[1]
    assert all(f"{row['code']} {row['name']} (" in text for row in listed)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(run: Run, shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = run("completion", shell)
    assert code == 0
    assert "_RETAINLINT_COMPLETE" in out
    monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
    assert run("completion") == (code, out, "")
    monkeypatch.setenv("SHELL", "/bin/other")
    assert run("completion")[0] == 2


@pytest.mark.parametrize(
    ("words", "offered"),
    [("retainlint ba", "baseline"), ("retainlint check --sel", "--select"), ("retainlint check --select RTL1", "RTL101"),
     ("retainlint check --ignore RTL102,backward-in", "RTL102,backward-in-loop"), ("retainlint explain backward-t", "backward-twice"),
     ("retainlint check --output-format gi", "github")],
)  # fmt: skip
def test_what_is_completed(run: Run, words: str, offered: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_RETAINLINT_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    assert f"plain,{offered}\n" in run()[1]
