"""`check --fix` and its kin on real files: what is written, what is kept as it was, what is told, and the exit code."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from command_line import Run, write

from retainlint.text import writing

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX modes and links")

NEEDLESS = """import torch

w = torch.ones(3, requires_grad=True)
for _ in range(3):
    loss = (w * w).sum()
    loss.backward(retain_graph=True)  # é
"""
CARRIED = """import torch

w, h = torch.randn(3, 3, requires_grad=True), torch.zeros(1, 3)
for _ in range(3):
    h = torch.tanh(h @ w + 1)
    h.sum().backward()
"""


@pytest.fixture(autouse=True)
def room(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    from retainlint import cli

    def called(*args: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            cli.main(["check", *args])
        told = capsys.readouterr()
        return int(stopped.value.code or 0), told.out, told.err

    return called


def text(name: str) -> str:
    return Path(name).read_bytes().decode()


def test_a_safe_fix_is_written_and_told(run: Run) -> None:
    write("a.py", NEEDLESS)
    assert run("--fix") == (0, "All checks passed! 1 file checked.\n", "Fixed 1 finding in 1 file.\n")
    assert text("a.py") == NEEDLESS.replace("retain_graph=True", "")
    assert run("--fix") == (0, "All checks passed! 1 file checked.\n", "")


def test_an_unsafe_fix_is_counted_and_written_only_when_asked(run: Run) -> None:
    write("a.py", CARRIED)
    code, out, err = run("--fix", "--output-format", "concise")
    assert (code, text("a.py")) == (1, CARRIED)
    assert "RTL104" in out
    assert err == "1 can be fixed with `--unsafe-fixes`, which may change what the program computes.\n"
    code, out, err = run("--fix", "--unsafe-fixes", "--show-fixes")
    assert (code, out) == (0, "All checks passed! 1 file checked.\n")
    assert err == (
        "Fixed 1 finding in 1 file.\n- a.py:\n    RTL104 carried-graph: `h = h.detach()` at the start of each iteration\n"
    )
    assert text("a.py") == CARRIED.replace("    h = torch", "    h = h.detach()\n    h = torch")


def test_a_diff_writes_nothing_and_can_be_applied(run: Run, room: Path) -> None:
    write("a.py", NEEDLESS)
    write("b.py", CARRIED.rstrip("\n"))
    code, out, err = run("--diff", "--unsafe-fixes")
    assert code == 1
    assert err == "Would fix 2 findings in 2 files.\n"
    assert (text("a.py"), text("b.py")) == (NEEDLESS, CARRIED.rstrip("\n"))
    patched = subprocess.run(["patch", "-p0"], input=out.encode(), cwd=room, capture_output=True)
    assert patched.returncode == 0, patched.stdout
    assert run("--diff", "--unsafe-fixes") == (0, "", "")
    assert not text("b.py").endswith("\n")


def test_exit_codes_as_in_ruff(run: Run) -> None:
    write("a.py", NEEDLESS)
    assert run("--fix", "--exit-non-zero-on-fix")[0] == 1
    assert run("--fix", "--exit-non-zero-on-fix")[0] == 0
    write("b.py", CARRIED)
    assert run("--fix-only") == (
        0,
        "",
        "1 can be fixed with `--unsafe-fixes`, which may change what the program computes.\n",
    )
    assert run("--fix-only", "--unsafe-fixes")[0] == 0
    assert text("b.py") != CARRIED


def test_what_may_be_fixed_is_configured(run: Run, room: Path) -> None:
    write("a.py", NEEDLESS)
    (room / "pyproject.toml").write_text('[tool.retainlint]\nfix = true\nunfixable = ["RTL2"]\n')
    assert run()[0] == 1
    assert text("a.py") == NEEDLESS
    assert run("--fixable", "RTL1", "--unfixable", "RTL104")[0] == 1
    assert run("--unfixable", "RTL104", "--quiet") == (0, "", "")
    assert text("a.py") != NEEDLESS


def test_no_fix_says_no(run: Run, room: Path) -> None:
    write("a.py", NEEDLESS)
    (room / "pyproject.toml").write_text("[tool.retainlint]\nfix = true\n")
    assert run("--no-fix")[0] == 1
    assert text("a.py") == NEEDLESS


def test_what_is_suppressed_or_known_is_left_as_it_is(run: Run) -> None:
    write("a.py", NEEDLESS.replace("# é", "# noqa: RTL201"))
    before = text("a.py")
    assert run("--fix")[0] == 0
    assert text("a.py") == before


def test_an_unused_suppression_is_removed(run: Run) -> None:
    write("a.py", NEEDLESS.replace("retain_graph=True", "").replace("# é", "# noqa: RTL201, E501  # why"))
    assert run("--fix")[0] == 0
    assert "loss.backward()  # noqa: E501  # why\n" in text("a.py")


def test_a_report_can_tell_the_fixes(run: Run) -> None:
    import json

    write("a.py", CARRIED)
    (found,) = json.loads(run("--output-format", "json")[1])
    assert found["fix"] == {
        "applicability": "unsafe",
        "message": "`h = h.detach()` at the start of each iteration",
        "edits": [
            {
                "content": "    h = h.detach()\n",
                "location": {"row": 5, "column": 1},
                "end_location": {"row": 5, "column": 1},
            }
        ],
    }


# -- several files -------------------------------------------------------------------------------------------------

PENALTY = """import torch


def slope(out, x):
    return torch.autograd.grad(out.sum(), x)[0].pow(2).mean()
"""
ACROSS = """import torch
from penalty import slope

w = torch.randn(3, 3, requires_grad=True)
x = torch.randn(2, 3, requires_grad=True)
loss = slope(torch.tanh(x @ w), x)
loss.backward()
"""


def test_a_fix_edits_the_module_that_the_failure_comes_from(run: Run) -> None:
    write("a.py", ACROSS)
    write("penalty.py", PENALTY)
    code, out, err = run("--diff", "--unsafe-fixes", "a.py")
    assert (text("a.py"), text("penalty.py")) == (ACROSS, PENALTY)
    assert (
        "--- penalty.py\n+++ penalty.py\n" in out
        and "+    return torch.autograd.grad(out.sum(), x, create_graph" in out
    )
    code, out, err = run("--fix", "--unsafe-fixes", "a.py")
    assert (code, err) == (0, "Fixed 1 finding in 1 file.\n")
    assert (text("a.py"), text("penalty.py")) == (ACROSS, PENALTY.replace(", x)[0]", ", x, create_graph=True)[0]"))


def test_a_fix_of_another_file_says_whose_edits_they_are(run: Run, room: Path) -> None:
    import json

    write("a.py", ACROSS)
    write("penalty.py", PENALTY)
    (found,) = json.loads(run("--output-format", "json", "a.py")[1])
    assert found["fix"]["edits"] == []
    (file,) = found["fix"]["files"]
    assert file["filename"] == str(room / "penalty.py")
    assert [(each["content"], each["location"]) for each in file["edits"]] == [
        (", create_graph=True", {"row": 5, "column": 44})
    ]


def test_a_function_of_another_file_is_recorded_again(run: Run) -> None:
    unit = "import torch\n\n\n@torch.no_grad()\ndef unit(z):\n    return z / z.norm()\n"
    write("scaling.py", unit)
    write(
        "a.py",
        "import torch\nfrom scaling import unit\n\nw = torch.ones(3, requires_grad=True)\nunit(w).sum().backward()\n",
    )
    code, _, err = run("--fix", "--unsafe-fixes", "a.py")
    assert (code, err) == (0, "Fixed 1 finding in 1 file.\n")
    assert text("scaling.py") == "def unit(z):\n    return z / z.norm()\n"  # nothing else needs torch


def test_what_is_left_out_of_the_check_is_not_edited_for_another_file(run: Run, room: Path) -> None:
    write("a.py", ACROSS)
    write("penalty.py", PENALTY)
    (room / "pyproject.toml").write_text('[tool.retainlint]\nextend-exclude = ["penalty.py"]\n')
    code, _, err = run("--fix", "--unsafe-fixes", "a.py")
    assert (code, text("penalty.py")) == (1, PENALTY)
    assert "Fixed" not in err


def test_of_files_that_are_fixed_together_all_are_written_or_none(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.py", ACROSS.replace("loss.backward()", "loss.backward()\n\n" + NEEDLESS))
    write("penalty.py", PENALTY)
    before, real = text("a.py"), writing.rewrite

    def rewrite(name: str, *given: Any) -> None:
        if name.endswith("penalty.py"):
            write("penalty.py", "x = 1\n")
        real(name, *given)

    monkeypatch.setattr(writing, "rewrite", rewrite)
    code, _, err = run("--fix", "--unsafe-fixes", "a.py")
    assert (code, text("a.py"), text("penalty.py")) == (2, before, "x = 1\n")
    assert "a.py: not fixed: penalty.py: it was changed meanwhile" in err


def test_two_programs_that_need_the_same_module_mended_have_it_mended_once(run: Run) -> None:
    write("a.py", ACROSS)
    write("b.py", ACROSS)
    write("penalty.py", PENALTY)
    for more in ("--diff", "--fix"):
        code, out, _ = run(more, "--unsafe-fixes", ".")
        assert out.count("+    return torch") == (more == "--diff")
    assert (code, text("penalty.py").count("create_graph=True")) == (0, 1)


# -- bytes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encoding", "head", "ends"),
    [
        ("utf-8", "", "\n"),
        ("utf-8", "", "\r\n"),
        ("utf-8-sig", "", "\r\n"),
        ("latin-1", "# -*- coding: latin-1 -*-\n", "\n"),
        ("utf-16", "", "\n"),
    ],
)
def test_encoding_mark_and_line_ends_stay(run: Run, encoding: str, head: str, ends: str) -> None:
    before = (head + CARRIED.replace("w, h", "é = 'ü'\nw, h")).replace("\n", ends).encode(encoding)
    Path("a.py").write_bytes(before)
    run("--fix", "--unsafe-fixes")
    after = Path("a.py").read_bytes()
    if encoding == "utf-16":  # not Python
        assert after == before
        return
    row = f"    h = h.detach(){ends}".encode(encoding.removesuffix("-sig"))
    assert row in after
    assert after.replace(row, b"") == before


@pytest.mark.parametrize("odd", ["\x0c", "def f():\n\tif 1:\n\t\tpass\n", "s = '''\n  a\n'''\n", "x = 1;\n"])
def test_what_is_oddly_written_keeps_its_bytes(run: Run, odd: str) -> None:
    before = CARRIED.replace("\nw, h", f"\n{odd}w, h")
    write("a.py", before)
    run("--fix", "--unsafe-fixes")
    assert "h.detach()" in text("a.py")
    assert text("a.py").replace("    h = h.detach()\n", "") == before


def test_bytes_that_are_no_character_stay_in_a_comment(run: Run) -> None:
    before = CARRIED.encode().replace(b"\nw, h", b"  # caf\xe9\nw, h")
    Path("a.py").write_bytes(before)
    assert "+    h = h.detach()" in run("--diff", "--unsafe-fixes")[1]
    run("--fix", "--unsafe-fixes")
    assert Path("a.py").read_bytes().replace(b"    h = h.detach()\n", b"") == before


def test_a_mixed_indent_is_followed(run: Run) -> None:
    write("a.py", CARRIED.replace("    ", "\t"))
    run("--fix", "--unsafe-fixes")
    assert "\n\th = h.detach()\n\th = torch" in text("a.py")


@posix
def test_mode_and_link_stay(run: Run, room: Path) -> None:
    (room / "real").mkdir()
    write("real/a.py", NEEDLESS)
    os.chmod("real/a.py", 0o754)
    os.symlink("real/a.py", "link.py")
    assert run("--fix", "link.py")[0] == 0
    assert os.path.islink("link.py")
    assert stat.S_IMODE(os.stat("real/a.py").st_mode) == 0o754
    assert "retain" not in text("real/a.py")


def test_a_disk_that_is_full_loses_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.py", NEEDLESS)
    write("b.py", NEEDLESS)
    real = os.fsync
    failed: list[int] = []

    def full(handle: int) -> None:
        if not failed:
            failed.append(handle)
            raise OSError(28, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", full)
    code, _, err = run("--fix")
    assert code == 2
    assert re.search(r"error: a\.py: not fixed: No space left on device\n$", err)
    assert text("a.py") == NEEDLESS
    assert text("b.py") != NEEDLESS
    assert sorted(set(os.listdir()) - {".retainlint_cache"}) == ["a.py", "b.py", "pyproject.toml"]


@posix
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write anything")
def test_a_read_only_file_is_told(run: Run) -> None:
    write("a.py", NEEDLESS)
    os.chmod("a.py", 0o444)
    code, _, err = run("--fix")
    assert (code, text("a.py")) == (2, NEEDLESS)
    assert "a.py: not fixed: Permission denied" in err


def test_a_file_that_changes_meanwhile_is_not_overwritten(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.py", NEEDLESS)
    real = writing.rewrite

    def rewrite(*given: Any) -> None:
        write("a.py", "x = 1\n")
        real(*given)

    monkeypatch.setattr(writing, "rewrite", rewrite)
    code, _, err = run("--fix")
    assert (code, text("a.py")) == (2, "x = 1\n")
    assert "a.py: not fixed: it was changed meanwhile" in err


def test_a_diff_on_a_terminal_injects_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    write("a.py", NEEDLESS.replace("# é", "# \x1b[31mred"))
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda self: True, raising=False)
    assert "\x1b[31mred" not in run("--diff", "--color", "never")[1]


def test_markdown_is_offered_no_fixes(run: Run) -> None:
    text = "import torch\nw = torch.ones(3, requires_grad=True)\ny = (w * w).sum()\ny.backward()\ny.backward()\n"
    write("a.py", text)
    write("a.md", f"```python\n{text}```\n")
    assert "1 hidden with `--unsafe-fixes`" in run("a.py")[1]
    code, told, notes = run("a.md")
    assert code == 1 and "RTL102" in told
    assert "hidden" not in told + notes
