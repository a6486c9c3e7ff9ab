"""Recording a program's graphs in real torch: the story's places, and that the program doesn't notice."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any, ClassVar

import pytest
from fixture_marks import marks

torch = pytest.importorskip("torch", reason="programs are recorded in real torch")

from retainlint.live import __main__ as program  # noqa: E402
from retainlint.live import load_ipython_extension, record  # noqa: E402
from retainlint.live.predictions import predictions  # noqa: E402
from retainlint.live.recorder import Recording  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent.parent
FIXTURES = ROOT / "fixtures" / "raises"
TEXTS = {path: path.read_text(encoding="utf-8") for path in sorted(FIXTURES.glob("*.py"))}
TOLD = [path for path, text in TEXTS.items() if "#~ reused" in text and "threading" not in text][7::24]
"""Another thread's operations aren't recorded."""

HOISTED = """
import torch
w = torch.ones(3, requires_grad=True)
def encode(x):
    return (x * w).exp()
def main():
    features = encode(torch.ones(3))
    for epoch in range(3):
        loss = features.sum()
        loss.backward()
"""
CARRIED = """
import torch
class Cell:
    def __init__(self):
        self.w, self.h = torch.ones(3, requires_grad=True), torch.zeros(3)
    def step(self):
        self.h = torch.tanh(self.w * self.h)
        return self.h.sum()
def main():
    cell = Cell()
    for i in range(3):
        cell.step().backward()
"""
CHANGED = """
import torch
def main():
    w = torch.ones(3, requires_grad=True)
    y = w.exp()
    y += 1
    y[0] = 2
    y.sum().backward()
"""
STEP_BETWEEN = """
import torch
def main():
    net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 1))
    optimizer = torch.optim.Adam(net.parameters())
    first, second = net(torch.ones(2, 3)).sum(), net(torch.ones(2, 3)).mean()
    first.backward()
    optimizer.step()
    second.backward()
"""
HALF_FREED = """
import torch
def main():
    a, b = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    left, right = a.exp(), b.exp()
    loss = (left * 2).sum() + right.sum()
    torch.autograd.grad(loss, b)
    right.sum().backward()
"""
OWN_FUNCTION = """
import torch
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, gradient):
        return 2 * ctx.saved_tensors[0] * gradient
def main():
    w = torch.ones(3, requires_grad=True)
    y = Square.apply(w)
    y.sum().backward()
    y.sum().backward()
"""


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def load(room: Path, text: str) -> ModuleType:
    path = room / "train.py"
    path.write_text(text.lstrip(), encoding="utf-8")
    module = ModuleType("train")
    exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
    return module


def recorded(room: Path, text: str) -> Recording:
    """The program's `main`, which torch refuses."""
    module = load(room, text)
    with record() as recording, pytest.raises(RuntimeError):
        module.main()
    assert recording.defects == 0
    return recording


BUFFER = """
import torch
class Bank(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("keys", torch.ones(3))
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.bank, self.layer = Bank(), torch.nn.Linear(3, 3)
def main():
    net = Net()
    net.bank.keys = torch.tanh(net.layer(net.bank.keys))
    for i in range(2):
        (net.bank.keys * net.layer.bias).sum().backward()
"""


@pytest.mark.parametrize(
    ("text", "rows", "words"),
    [
        (BUFFER, (12, 14, 14), "through `net.bank.keys`"),
        (HOISTED, (6, 9, 9), "needs it again, through `features`"),
        (CARRIED, (11, 11, 11), "at train.py:6, in `step` (takes it up again)"),
        (CHANGED, (4, 5, 7), "backward pass 1 needs it as it was"),
        (STEP_BETWEEN, (5, 7, 8), "changes it in place"),
        (HALF_FREED, (4, 6, 7), "needs it again, through `right`"),
        (OWN_FUNCTION, (12, 13, 14), "`SquareBackward` is built here"),
    ],
)
def test_the_three_places(room: Path, text: str, rows: tuple[int, ...], words: str) -> None:
    (story,) = recorded(room, text).stories
    assert tuple(label.span.row for label in story.labels) == rows
    assert words in story.text()


def test_the_innermost_call_is_named_beside_the_one_that_leads_there(room: Path) -> None:
    (story,) = recorded(room, HOISTED).stories
    assert "(x * w).exp()` at train.py:4, in `encode`" in story.text()  # on 3.10 with the row around it
    assert "= count: this line had run 1 backward pass before" in story.text()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions carry notes since 3.11")
def test_the_error_carries_the_story(room: Path) -> None:
    module = load(room, HOISTED)
    with record() as recording, pytest.raises(RuntimeError) as caught:
        module.main()
    assert caught.value.__notes__ == [recording.stories[0].text()]


def test_where_errors_carry_no_notes_the_story_is_told_at_once(
    room: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Python 3.10."""
    monkeypatch.setattr("retainlint.live.recorder.CARRIES_NOTES", False)
    with pytest.raises(RuntimeError) as caught, record() as recording:
        load(room, HOISTED).main()
    assert not hasattr(caught.value, "__notes__")
    assert capsys.readouterr().err == recording.stories[0].text() + "\n"


def test_what_is_retained_is_not_freed(room: Path) -> None:
    kept = "import torch\ndef main():\n    y = torch.ones(3, requires_grad=True).exp().sum()\n" + (
        "    y.backward(retain_graph=True)\n    y.backward()\n    y.backward()\n"
    )
    (story,) = recorded(room, kept).stories
    assert story.message == "backward pass 3 needs a part of the graph that backward pass 2 has freed"


def test_the_program_does_not_notice(room: Path) -> None:
    """The same numbers, and torch as it was behind it; nothing that was recorded is left on it."""
    working = """
    import torch
    def main():
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
        optimizer = torch.optim.Adam(net.parameters())
        for _ in range(3):
            loss = torch.utils.checkpoint.checkpoint(net, torch.randn(4, 3), use_reentrant=False).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return loss.item()
    """
    module = load(room, dedent(working))
    engine, apply = torch.autograd.Variable._execution_engine, torch.autograd.Function.apply
    plain = module.main()
    with record() as recording:
        assert module.main() == plain
    assert (recording.stories, recording.defects, recording.backward_passes) == ([], 0, 3)
    assert torch.autograd.Variable._execution_engine is engine
    assert torch.autograd.Function.apply == apply


def test_statements_of_a_cell_that_are_compiled_alone(room: Path) -> None:
    path = room / "cell.py"
    path.write_text("features = (w * w).exp()\nfor _ in range(2):\n    features.sum().backward()\n", encoding="utf-8")
    names = {"w": torch.ones(3, requires_grad=True)}

    def run_cell() -> None:
        for statement in ast.parse(path.read_text(encoding="utf-8")).body:
            exec(compile(ast.Module([statement], []), str(path), "exec"), names)

    with record() as recording, pytest.raises(RuntimeError):
        run_cell()
    (story,) = recording.stories
    assert [(label.span.source.name, label.span.row) for label in story.labels] == [
        ("cell.py", row) for row in (1, 3, 3)
    ]


def test_what_was_freed_before_the_recording(room: Path) -> None:
    y = torch.ones(3, requires_grad=True).exp().sum()
    y.backward()
    with record() as recording, pytest.raises(RuntimeError):
        load(room, "def main(y):\n    y.backward()\n").main(y)
    (story,) = recording.stories
    assert story.message == "backward pass 1 needs a part of the graph that one before the recording began has freed"


def test_tensors_that_count_no_versions() -> None:
    with record() as recording:
        with torch.inference_mode():
            torch.ones(3).add_(1)
        torch.ones(3).to_sparse().mul_(2)
    assert recording.defects == 0


def test_one_recording_at_a_time() -> None:
    with record(), pytest.raises(RuntimeError, match="is being recorded already"), record():
        pass


def test_other_errors_are_left_alone(room: Path) -> None:
    recording = recorded(room, "import torch\ndef main():\n    torch.ones(3).sum().backward()\n")
    assert recording.stories == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each program runs in a process of its own")
def test_stories_of_real_programs() -> None:
    """Beside the marks that people gave them, which torch has judged, and torch's own anomaly mode."""
    command = [sys.executable, "-m", "benchmarks.live", "stories", *map(str, TOLD)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    answers = [json.loads(row) for row in done.stdout.splitlines()]
    assert [each["path"] for each in answers] == list(map(str, TOLD))
    for told in answers:
        text = Path(told["path"]).read_text(encoding="utf-8")
        assert told["defects"] == 0 and told["judged"] in ("right", "anomaly mode names no node"), told
        for role in ("freed", "reused", "modified"):
            meant = {mark.line for mark in marks(text) if mark.role == role}
            assert not meant or meant & set(told["story"]["rows"][role]), told


def test_predictions_beside_the_run(room: Path) -> None:
    text = HOISTED + dedent("""
    def unused():
        y = encode(torch.ones(3)).sum()
        y.backward()
        y.backward()
    """)
    found = [(each.finding.primary.span.row, str(each)) for each in predictions(recorded(room, text))]
    assert found == [
        (9, "confirmed: it failed so in this run"),
        (14, "not reached: no backward pass ran there"),
    ]


def run(room: Path, *arguments: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "retainlint.live", *arguments], cwd=room, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_a_whole_program(room: Path) -> None:
    (room / "train.py").write_text(
        HOISTED.lstrip() + 'if __name__ == "__main__":\n    import sys\n    print(sys.argv[1:])\n    main()\n'
    )
    code, out, told = run(room, "train.py", "--lr", "3")
    assert (code, out) == (1, "['--lr', '3']\n")
    assert "recorder.py" not in told.partition("Traceback")[0]
    assert re.search(r"^RuntimeError: Trying to backward", told, re.MULTILINE)
    assert "backward pass 2 needs it again, through `features`" in told
    assert told.endswith(
        "retainlint recorded 2 backward passes, 1 of which failed.\n"
        "train.py:9: RTL101 backward-in-loop: confirmed: it failed so in this run\n"
    )


@pytest.mark.parametrize(("ending", "code"), [("sys.exit(3)", 3), ("sys.exit()", 0), ("sys.exit('no')", 1), ("", 0)])
def test_the_exit_code_is_the_programs(
    room: Path, capsys: pytest.CaptureFixture[str], ending: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (room / "train.py").write_text(f"import sys\n{ending}\n")
    for name in ("argv", "path"):
        monkeypatch.setattr(sys, name, list(getattr(sys, name)))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    assert program.main(["--no-check", "train.py"]) == code
    told = capsys.readouterr().err
    assert told == ("no\n" if "no" in ending else "") + "retainlint recorded 0 backward passes.\n"


def test_a_plugin_of_pytest(room: Path) -> None:
    (room / "test_twice.py").write_text(
        "import torch\ndef test_twice():\n    y = torch.ones(3, requires_grad=True).exp().sum()\n"
        "    y.backward()\n    y.backward()\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    plugin = ["-p", "retainlint.live.pytest_plugin", "--retainlint-live"]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run([*command, *plugin], cwd=room, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 1
    assert "backward pass 2 needs it again, through `y`" in done.stdout


def test_a_magic_of_notebooks(room: Path, capsys: pytest.CaptureFixture[str]) -> None:
    class Shell:
        magics: ClassVar[dict[tuple[str, str], Any]] = {}

        def register_magic_function(self, function: Any, kind: str, name: str) -> None:
            self.magics[kind, name] = function

        def run_cell(self, cell: str) -> Any:
            class Result:
                success, error_in_exec = False, ValueError()

            with contextlib.suppress(RuntimeError):
                load(room, cell).main()
            return Result()

    load_ipython_extension(Shell())
    Shell.magics["cell", "retainlint_live"]("", HOISTED)
    assert "through `features`" in capsys.readouterr().out
