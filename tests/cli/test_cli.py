"""The command line as a user meets it: words, exit codes, colours, pipes, interrupts."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import types
from collections.abc import Sequence
from pathlib import Path

import pytest
from command_line import Run, write

from retainlint import __version__, cli
from retainlint.cli.screen import Progress
from retainlint.cli.words import WORDS
from retainlint.report import FORMATS

PACKAGE_PARENT = Path(cli.__file__).parents[2]


def test_findings_are_exit_code_1(run: Run) -> None:
    write("a.py")
    write("b.py", "x = 1\n")
    code, out, err = run("check")
    assert code == 1
    assert out.startswith(
        "a.py:1:1: error[RTL101] backward-in-loop: it is walked twice\n  |\n1 | bad.backward()\n  | ^^^^"
    )
    assert out.endswith("\n\nFound 1 error. 2 files checked.\n")
    assert err == ""


def test_nothing_found_is_exit_code_0(run: Run) -> None:
    write("a.py", "ok.backward()\n")
    assert run("check") == (0, "All checks passed! 1 file checked.\n", "")


def test_the_command_may_be_left_out_before_a_path_or_an_option(run: Run) -> None:
    write("a.py")
    write("pkg/b.py")
    assert run("a.py") == run("check", "a.py")
    assert run("pkg") == run("check", "pkg")
    assert run("--output-format", "concise", "a.py") == run("check", "--output-format=concise", "a.py")
    assert run("nosuch.py")[2] == "error: nosuch.py: no such file or directory\n"


def test_a_missing_path_is_exit_code_2_and_named(run: Run) -> None:
    write("a.py")
    assert run("check", "a.py", "nosuch") == (2, "", "error: nosuch: no such file or directory\n")


def test_a_word_that_is_nothing_gets_the_nearest_command(run: Run) -> None:
    code, out, err = run("chekc", "a.py")
    assert (code, out) == (2, "")
    assert "'chekc' is neither a command nor a path. Did you mean 'check'?" in err


@pytest.mark.parametrize(("args", "near"), [(["--selct", "RTL1"], "--select"), (["--output-format", "jsn"], "json")])
def test_a_wrong_option_is_exit_code_2_with_the_right_one(run: Run, args: list[str], near: str) -> None:
    code, out, err = run("check", *args)
    assert (code, out) == (2, "")
    assert near in err
    assert "Try 'retainlint check -" in err


def test_rules_are_selected_and_ignored_by_comma_or_again(run: Run) -> None:
    write("a.py")
    assert run("check", "--select", "RTL102,RTL9")[0] == 0
    assert run("check", "--select", "RTL102", "--select", "backward-in-loop")[0] == 1
    assert run("check", "--ignore", "RTL1")[0] == 0
    code, _, err = run("check", "--ignore", "backward-in-lop")
    assert (code, err) == (2, "error: unknown rule 'backward-in-lop'; did you mean 'backward-in-loop'?\n")


def test_exit_zero_and_quiet(run: Run) -> None:
    write("a.py")
    code, out, _ = run("check", "--exit-zero", "-q", "--output-format", "concise")
    assert (code, out) == (0, "a.py:1:1: RTL101 error: it is walked twice\n")


def test_silent_is_the_exit_code_alone(run: Run) -> None:
    assert run("check", "-s") == (0, "", "")
    write("a.py")
    assert run("check", "--silent", "--statistics", "--show-unknown") == (1, "", "")
    assert run("check", "-s", "-o", "found.txt") == (1, "", "")
    assert Path("found.txt").read_text().startswith("a.py:1:1: ")
    assert "Only one of" in run("check", "-s", "-q")[2]


def test_verbose_tells_what_was_looked_at_and_where_the_time_went(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(1000))
    monkeypatch.setattr("time.perf_counter", lambda: 2.0 * next(ticks))
    write("a.py")
    write("plain.py", "x = 1\n")
    write(".venv/b.py")
    code, out, err = run("check", "-v", "-j1")
    assert code == 1 and out.endswith("Found 1 error. 2 files checked.\n")
    first, *rest = err.splitlines()
    assert re.fullmatch(r"Looked at 2 files \(\.\) in \d+\.00 s, 2\.00 s of that to find them\.", first)
    assert rest == [
        "  1 skipped: nothing in them leads to a backward pass",
        "  0 as an earlier run left them in .retainlint_cache",
        "  1 followed, which took 2.00 s of work",
        f"Left out as excluded: {os.path.join('.venv', '')}.",
        "Took over a second:",
        "  a.py 2.0 s: fit 75%, the module 25%",
    ]


def test_verbose_tells_of_standard_input_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", types.SimpleNamespace(buffer=io.BytesIO(b"bad.backward()\n")))
    code, _, err = run("check", "-v", "-")
    assert code == 1 and err.startswith("Looked at 1 file (-) in ") and "\n  1 followed, which took " in err


def test_the_format_may_come_from_the_environment(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETAINLINT_OUTPUT_FORMAT", "json")
    assert run("check")[1] == "[]\n"
    assert run("check", "--output-format", "concise")[1] == "All checks passed! 0 files checked.\n"
    monkeypatch.setenv("RETAINLINT_OUTPUT_FORMAT", "jsn")
    assert run("check")[0] == 2


def test_a_bug_of_ours_is_exit_code_2_and_hides_nothing(run: Run) -> None:
    write("a.py", "BUG.backward()\n")
    write("b.py")
    code, out, err = run("check", "--output-format", "concise", "--exit-zero")
    assert code == 2
    assert re.search(r"a\.py:1:1: RTL900 error: not checked: internal error at .*: RecursionError: too deep\n", out)
    assert "b.py:1:1: RTL101" in out
    assert "first internal error, in a.py" in err
    assert "Traceback" in err


def test_json_is_nothing_but_json(run: Run) -> None:
    assert json.loads(run("check", "--output-format", "json")[1]) == []
    write("a.py")
    code, out, _ = run("check", "--output-format", "json")
    assert code == 1
    assert [entry["code"] for entry in json.loads(out)] == ["RTL101"]


def test_no_files_is_a_warning(run: Run) -> None:
    code, out, err = run("check")
    assert (code, out) == (0, "All checks passed! 0 files checked.\n")
    assert err == "warning: no Python files found under the given paths\n"


@pytest.mark.parametrize(
    ("args", "environment", "coloured"),
    [
        ([], {}, False),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": ""}, True),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colour_is_what_was_asked_for(
    run: Run, args: list[str], environment: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    write("a.py")
    assert ("\x1b[" in run("check", *args)[1]) is coloured


def test_the_drawing_fits_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.py", "x = " + "y + " * 60 + "bad.backward()\n")
    monkeypatch.setenv("COLUMNS", "50")
    out = run("check")[1]
    assert max(len(line) for line in out.splitlines()[1:-1]) <= 50


@pytest.mark.parametrize("word", ["", *WORDS])
def test_help_fits_one_screen(run: Run, word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    short, long = (run(*filter(None, [word]), flag) for flag in ("-h", "--help"))
    assert (short[0], long[0]) == (0, 0)
    assert len(short[1].splitlines()) <= 30
    assert max(map(len, (short[1] + long[1]).splitlines())) <= 80


def test_the_long_help_has_every_option_in_groups_and_the_short_one_says_so(run: Run) -> None:
    short, long = run("check", "-h")[1], run("check", "--help")[1]
    assert [line for line in long.splitlines() if line.endswith(":") and line[0] != " "] == [
        "Rules:", "Files:", "Fixes:", "Configuration:", "Output:", "Work:", "Exit code:", "Help:",
    ]  # fmt: skip
    options = re.findall(r"^  (?:-\w, )?(--[a-z\[\]-]+)", long, re.MULTILINE)
    assert "--extend-per-file-ignores" in options
    assert "--extend-per-file-ignores" not in short
    left_out = len(options) - len(re.findall(r"^  (?:-\w, )?(--[a-z\[\]-]+)", short, re.MULTILINE))
    assert f"`retainlint check --help` shows {left_out} more." in short


def test_help_names_every_format(run: Run) -> None:
    long = " ".join(run("check", "--help")[1].split())
    named = re.search(r"full \(default\), ([a-z, -]+)\.", long)
    assert named is not None
    assert ["full", *named[1].replace("- ", "-").split(", ")] == list(FORMATS)


def test_help_names_every_command_and_the_exit_codes(run: Run) -> None:
    out = run("--help")[1]
    assert all(f"  {name} " in out for name in ("check", "explain", "rules", "reproduce", "run"))
    assert "Exit codes: 0 nothing found, 1 findings, 2" in out


def test_version(run: Run) -> None:
    assert run("--version") == (0, f"retainlint {__version__}\n", "")


@pytest.mark.parametrize(
    ("args", "left", "own"),
    [
        (("--trace", "train.py", "--lr", "1", "-h"), ("--lr", "1", "-h"), (True, None)),
        (("train.py", "--lr", "--trace", "1"), ("--lr", "1"), (True, None)),
        (("train.py", "--graph", "g.svg", "x", "--trace=y"), ("x", "--trace=y"), (False, Path("g.svg"))),
        (("train.py", "--graph=g.svg", "--", "--trace", "--", "x"), ("--trace", "--", "x"), (False, Path("g.svg"))),
        (("--", "train.py", "--trace"), ("--trace",), (False, None)),
    ],
)
def test_run_takes_its_options_on_both_sides_of_a_script_and_hands_it_all_others(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    args: tuple[str, ...],
    left: tuple[str, ...],
    own: tuple[bool, Path | None],
) -> None:
    called: list[object] = []

    def fake(script: Path, args: Sequence[str], *, trace: bool, graph: Path | None) -> int:
        called.append((script, args, (trace, graph)))
        return 3

    module = types.ModuleType("retainlint.commands.run")
    monkeypatch.setattr(module, "run", fake, raising=False)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert run("run", *args)[0] == 3
    assert called == [(Path("train.py"), left, own)]


ENVIRONMENT = {**os.environ, "PYTHONPATH": str(PACKAGE_PARENT)}


def command(*args: str) -> list[str]:
    return [sys.executable, "-m", "retainlint", *args]


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX pipes")
def test_a_closed_pipe_is_quiet() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command("rules"), stdout=writer, stderr=subprocess.PIPE, env=ENVIRONMENT, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_told() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(command("rules"), stdout=full, stderr=subprocess.PIPE, env=ENVIRONMENT, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(b"error: No space left on device")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&-"])
def test_a_stream_that_is_closed_is_no_reason_to_fail(tmp_path: Path, closed: str) -> None:
    (tmp_path / "a.py").write_text("loss.backward((\n")
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *command("check", "--no-cache", str(tmp_path))],
        capture_output=True, env=ENVIRONMENT, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
@pytest.mark.parametrize("asked", [("check", "-"), ("why",)])
def test_no_standard_input_is_not_an_empty_one(asked: tuple[str, ...]) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *command(*asked)], capture_output=True, env=ENVIRONMENT, check=False
    )
    assert done.returncode == 2
    assert b"Standard input is closed." in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_an_interrupt_is_quiet(tmp_path: Path) -> None:
    pipe = tmp_path / "slow.py"
    os.mkfifo(pipe)  # reading it waits until someone writes
    # What starts the tests in the background may have told them to ignore interrupts, and children inherit that.
    script = "import signal; signal.signal(2, signal.default_int_handler); from retainlint.cli import main; main()"
    process = subprocess.Popen([sys.executable, "-c", script, "check", str(pipe)], stderr=-1, env=ENVIRONMENT)
    writer = _open_when_read(pipe)
    time.sleep(0.5)  # from the opening into the read, which a signal just before it wouldn't end
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    os.close(writer)
    assert process.returncode == 130, err
    assert b"Traceback" not in err


def test_an_interrupt_is_quiet_even_before_it_begins() -> None:
    script = """
import sys
class Interrupting:
    def find_spec(self, name, *rest):
        if name == "click":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
from retainlint.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, env=ENVIRONMENT, check=False)
    assert (done.returncode, done.stderr) == (130, b"")


def _open_when_read(pipe: Path) -> int:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # nobody reads yet
            time.sleep(0.01)
    pytest.fail("the file was never opened")


def test_output_survives_a_narrow_encoding(tmp_path: Path) -> None:
    source = tmp_path / "a.py"
    source.write_text("x.backward((  # é 日本\n", encoding="utf-8")
    done = subprocess.run(
        command("check", str(source)),
        capture_output=True,
        env={**ENVIRONMENT, "PYTHONIOENCODING": "ascii"},
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert rb"\xe9 \u65e5\u672c" in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_long_run_shows_a_bar_on_a_terminal_only(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abcd":
        write(f"{name}.py")
    ticks = iter(range(1000))
    monkeypatch.setattr("time.monotonic", lambda: float(next(ticks)))
    assert run("check", "--jobs", "1")[2] == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    code, out, err = run("check", "--jobs", "1", "--output-format", "concise")
    assert code == 1
    assert "Checking" in err
    assert "Checking" not in out
    assert err.endswith("\r\x1b[K") and err.count("Checking") >= 4, "nothing of it stays"
    assert run("check", "--jobs", "1", "-q")[2] == ""


def test_the_bar_tells_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    bar = Progress()
    bar(412, 1830, 3)
    assert bar.line(now, 80) == "Checking [#####-------------------] 412 of 1,830 files, 3 findings"
    bar.left(1.0)
    bar.at(["models/slow\x1b.py", "b.py"])
    now = 10.0
    bar.left(0.5)
    told = "Checking [#####-------------------] 412 of 1,830 files, 3 findings, about 10 s left, models/slow\\x1b.py for 10 s"
    assert bar.line(now, 200) == told
    assert bar.line(now, 40) == f"{told[:37]}..."
    now = 200.0
    bar.left(0.4)
    assert bar.line(now, 200).endswith("findings, models/slow\\x1b.py for 200 s"), "how long that takes nobody knows"
    bar.at(["b.py"])
    assert bar.line(now, 200).endswith("findings, about 2 min left")
    bar.close()


@pytest.mark.parametrize(
    ("asked", "code", "told"),
    [
        (("why", "--"), 2, "Give a command behind `--`"),
        (("why", "train.log", "--", "python"), 2, "Give train.log, or a command behind `--`, not both."),
        (("why", "--", sys.executable, "-c", "raise SystemExit(7)"), 7, "nothing to explain"),
        (("why", "--", sys.executable, "-c", ""), 0, ""),
    ],
)
def test_a_command_behind_dashes(run: Run, asked: tuple[str, ...], code: int, told: str) -> None:
    ended, out, err = run(*asked)
    assert (ended, out) == (code, "")
    assert told in err


def test_numpy_is_needed_only_to_compute(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import torch\ny = torch.ones(3, requires_grad=True).exp().sum()\ny.backward()\ny.backward()\n"
    )
    script = "import sys; sys.modules['numpy'] = None; from retainlint.cli import main; main()"

    def without_numpy(*asked: str) -> tuple[int, str, str]:
        words = [sys.executable, "-c", script, *asked]
        done = subprocess.run(words, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    code, out, err = without_numpy("check", "--no-cache", "--output-format", "html")
    assert (code, err) == (1, "")
    assert "RTL102" in out
    assert "pip install 'retainlint[run]'" in out
    for asked in (("run", "train.py"), ("reproduce", "--run", "train.py:4")):
        code, out, err = without_numpy(*asked)
        assert (code, out) == (2, "")
        assert err.endswith("needs numpy: pip install 'retainlint[run]'\n")
        assert err.startswith("error: ")
