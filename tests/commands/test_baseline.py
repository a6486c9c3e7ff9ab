"""`retainlint baseline`, and `check` against one."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from command_line import BAD, Run, write

NAME = "retainlint-baseline.json"


@pytest.fixture
def known(run: Run) -> Run:
    """A project with a configured baseline of two findings in one file and one in another."""
    write("retainlint.toml", f'baseline = "{NAME}"\n')
    write("a.py", f"def f():\n    {BAD}    x\n    {BAD}")
    write("sub/b.py")
    assert run("baseline")[0] == 0
    return run


def entries() -> dict[str, list[dict[str, object]]]:
    found = json.loads(Path(NAME).read_text())["findings"]
    assert isinstance(found, dict)
    return found


def test_it_is_written_and_told_how_to_be_used(run: Run) -> None:
    write("a.py")
    code, out, err = run("baseline")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"{NAME}: 1 known finding (1 new).",
        f'To have `retainlint check` know it, write `baseline = "{NAME}"` into the configuration,',
        f"below [tool.retainlint] in pyproject.toml; or use `retainlint check --baseline {NAME}`.",
    ]
    assert run("check")[0] == 1
    assert run("check", "--baseline", NAME)[0] == 0


def test_known_findings_are_neither_shown_nor_do_they_fail(known: Run) -> None:
    assert entries() == {
        "a.py": [{"code": "RTL101", "in": "f", "at": ["bad.backward()"], "count": 2}],
        "sub/b.py": [{"code": "RTL101", "in": "", "at": ["bad.backward()"]}],
    }
    code, out, err = known("check")
    assert (code, err) == (0, "")
    assert out == "All checks passed! 2 files checked.\n3 known findings in the baseline are not shown.\n"
    assert known("check", "--output-format", "json") == (0, "[]\n", "3 known findings in the baseline are not shown.\n")
    assert known("check", "-q") == (0, "", "")
    assert known("check", "--no-baseline")[0] == 1
    assert known("check", "sub")[1].startswith("All checks passed! 1 file checked.\n1 known finding in the baseline is")


def test_edits_above_and_moved_lines_change_nothing(known: Run) -> None:
    write("a.py", f"import os\n\n\ndef g():\n    pass\n\ndef f():\n  x\n  {BAD}\n  {BAD}")
    assert known("check")[0] == 0


def test_one_more_and_one_elsewhere_are_new(known: Run) -> None:
    write("a.py", f"def f():\n    {BAD}    {BAD}    {BAD}")
    code, out, _ = known("check", "--output-format", "concise")
    assert code == 1
    assert out.startswith("a.py:4:5: RTL101 error: ")
    assert out.count("RTL101") == 1
    write("a.py", f"def g():\n    {BAD}")
    code, out, _ = known("check", "--output-format", "concise")
    assert code == 1
    assert out.startswith("a.py:2:5: RTL101 error: ")


def test_what_fits_nothing_any_more_is_told_and_pruned(known: Run) -> None:
    write("a.py", f"def f():\n    {BAD}")
    os.unlink("sub/b.py")
    stale = f"{NAME}: 2 entries fit no finding any more; `retainlint baseline --prune` removes what is stale.\n"
    code, out, _ = known("check")
    assert (code, out.endswith(stale)) == (0, True)
    assert stale not in known("check", "--select", "RTL102")[1].replace("2 entries", "1 entry"), (
        "not judged: not selected"
    )
    write("c.py")
    assert known("baseline", "--prune")[1] == f"{NAME}: 1 known finding (2 are gone).\n"
    assert list(entries()) == ["a.py"]
    assert known("check", "--output-format", "concise")[1].startswith("c.py:1:1:")


def test_an_update_keeps_what_was_not_checked_and_what_is_deselected(known: Run) -> None:
    write("a.py", "x = 1\n")
    write("c.py")
    assert known("baseline", "c.py")[1] == f"{NAME}: 4 known findings (1 new).\n"
    assert known("baseline", "--ignore", "RTL1")[1] == f"{NAME}: 4 known findings (as before).\n"
    assert known("baseline")[1] == f"{NAME}: 2 known findings (2 are gone).\n"
    before = os.stat(NAME).st_mtime_ns
    assert known("baseline")[1] == f"{NAME}: 2 known findings (as before).\n"
    assert os.stat(NAME).st_mtime_ns == before


def test_it_is_listed(known: Run) -> None:
    assert known("baseline", "--show") == (
        0,
        "a.py: RTL101 in f: bad.backward() (2 times)\nsub/b.py: RTL101: bad.backward()\n3 findings in 2 files.\n",
        "",
    )


def test_without_findings_no_file_is_written(run: Run) -> None:
    write("a.py", "x = 1\n")
    assert run("baseline") == (0, f"{NAME}: there is nothing to put in; no file was written.\n", "")
    assert run("baseline", "--prune") == (0, f"{NAME}: there is nothing to prune; no file was written.\n", "")
    assert not os.path.exists(NAME)


def test_each_project_has_its_own(run: Run) -> None:
    write("one/retainlint.toml", 'baseline = "known.json"\n')
    write("one/src/a.py")
    write("two/b.py")
    assert run("baseline")[0] == 0
    assert json.loads(Path("one/known.json").read_text())["findings"].keys() == {"src/a.py"}
    assert entries().keys() == {"two/b.py"}
    assert run("check", "one")[0] == 0
    assert run("check", "two")[0] == 1


def test_a_missing_or_broken_baseline_is_told(run: Run) -> None:
    write("retainlint.toml", '\nbaseline = "known.json"\n')
    write("a.py")
    told = (
        "error: known.json: there is no such baseline (named by retainlint.toml:2); `retainlint baseline` writes it\n"
    )
    assert run("check") == (2, "", told)
    assert "no.json: there is no such baseline (named on the command line);" in run("check", "--baseline", "no.json")[2]
    write("known.json", "{\n<<<<<<<")
    assert run("check")[2].startswith("error: known.json:2: this is no JSON: ")
    assert run("baseline")[2].startswith("error: known.json:2: this is no JSON: "), "nothing is overwritten"
    assert Path("known.json").read_text() == "{\n<<<<<<<"


def test_a_tree_that_cannot_be_written_is_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.py")

    def fail(*args: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkstemp", lambda *_, **__: fail())
    assert run("baseline") == (2, "", f"error: {NAME}: the baseline can't be written: Permission denied\n")


def test_a_file_that_a_bug_of_ours_kept_from_being_checked_is_not_judged(known: Run) -> None:
    write("a.py", "BUG.backward()\n")
    code, out, _ = known("check")
    assert code == 2
    assert "no finding any more" not in out


def test_a_bug_of_ours_writes_nothing(known: Run) -> None:
    before = Path(NAME).read_bytes()
    write("c.py", "BUG.backward()\n")
    code, _, err = known("baseline")
    assert code == 2
    assert err.startswith("error: c.py: ")
    assert Path(NAME).read_bytes() == before


def test_a_file_that_cannot_be_checked_is_never_known(known: Run) -> None:
    """An entry that an older version or a hand has written doesn't hide it either."""
    Path("broken.py").write_bytes(b"bad.backward()\n\xff\n")
    code, out, err = known("baseline")
    assert (code, err) == (0, "")
    first, told = out.splitlines()
    assert first == f"{NAME}: 3 known findings (as before)."
    assert told.startswith("broken.py:1: RTL900 not checked: ") and told.endswith("; a baseline doesn't hide this")
    assert "broken.py" not in entries()
    found = known("check")
    assert found[0] == 1 and "RTL900" in found[1]

    data = json.loads(Path(NAME).read_text())
    data["findings"]["broken.py"] = [{"code": "RTL900", "in": "", "at": [mark]} for mark in ("", "bad.backward()")]
    Path(NAME).write_text(json.dumps(data))
    code, out, err = known("check")
    assert code == 1 and "RTL900" in out
    known("baseline")
    assert "broken.py" not in entries()


def test_only_files_that_cannot_be_checked_make_no_baseline(run: Run) -> None:
    Path("broken.py").write_bytes(b"bad.backward()\n\xff\n")
    code, out, _ = run("baseline")
    assert code == 0
    assert out.splitlines()[0] == f"{NAME}: there is nothing to put in; no file was written."
    assert not Path(NAME).exists()
