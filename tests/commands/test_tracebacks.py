"""Tracebacks out of programs' outputs, in all their forms."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
import traceback
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retainlint.autograd import errors
from retainlint.commands.advice import recognised
from retainlint.commands.frames import is_users
from retainlint.commands.tracebacks import Raised, TracebackFrame, has_traceback, last_raised

TOLD = str(errors.FreedError())
LIBRARY = """\
  File "/venv/lib/python3.11/site-packages/torch/_tensor.py", line 623, in backward
    torch.autograd.backward(
  File "/venv/lib/python3.11/site-packages/torch/autograd/graph.py", line 979, in _engine_run_backward
    return Variable._execution_engine.run_backward(  # Calls into the C++ engine
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
"""
PLAIN = f"""\
Traceback (most recent call last):
  File "/home/ann/train.py", line 30, in <module>
    main()
    ~~~~^^
  File "/home/ann/train.py", line 14, in main
    loss.backward()
    ^^^^^^^^^^^^^^^
{LIBRARY}RuntimeError: {TOLD}
"""
USERS = (
    TracebackFrame("/home/ann/train.py", 30, "<module>", "main()"),
    TracebackFrame("/home/ann/train.py", 14, "main", "loss.backward()"),
)


def read(output: str) -> Raised:
    raised = last_raised(output)
    assert raised is not None
    return raised


def users(output: str) -> tuple[TracebackFrame, ...]:
    return tuple(frame for frame in read(output).frames if is_users(frame))


def led(text: str, lead: str) -> str:
    return "".join(f"{lead}{row}" for row in text.splitlines(keepends=True))


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (errors.FreedError(), "freed"),
        (errors.ModifiedError(), "modified"),
        (errors.NoGraphError(), "no-graph"),
        (errors.NoGraphError(3), "no-graph"),
        (errors.LeafModifiedError(), "leaf-modified"),
        (errors.LeafViewModifiedError(), "leaf-modified"),
        (errors.NotScalarError(), "not-scalar"),
        (errors.UnusedError(), "unused"),
        (errors.NoGradInputError(), "no-grad-input"),
        (errors.InferenceSavedError(), "inference-saved"),
    ],
)
def test_torchs_own_words_are_recognised(error: errors.GraphError, name: str) -> None:
    found = recognised(f"RuntimeError: {error}")
    assert found is not None
    assert (found[0].name, found[1], found[2]) == (name, "RuntimeError", str(error))


def test_words_of_older_versions_are_recognised() -> None:
    for words in (
        "Trying to backward through the graph a second time, but the buffers have already been freed.",
        "a leaf Variable that requires grad has been used in an in-place operation.",
        "element 0 of variables does not require grad and does not have a grad_fn",
    ):
        assert recognised(f"RuntimeError: {words}") is not None


@pytest.mark.parametrize(
    "line",
    [
        '    raise RuntimeError("Trying to backward through the graph a second time")',
        "RuntimeError: x",
        f"# see {TOLD}",
    ],
)
def test_source_that_speaks_of_one_is_none(line: str) -> None:
    assert recognised(line) is None


def test_pythons_own() -> None:
    raised = read("epoch 1\n" + PLAIN + "done\n")
    assert raised.frames[:2] == USERS
    assert (raised.type, raised.message) == ("RuntimeError", TOLD)
    assert users(PLAIN) == USERS


@pytest.mark.parametrize(
    "lead",
    ["[rank0]: ", "[rank 3]:", "2024-01-01 10:00:00,123 ERROR ", "ERROR    ", "| ", "  |   ", "0: ", "(worker pid=1) "],
)
def test_whatever_stands_before_each_row(lead: str) -> None:
    assert users(led(PLAIN, lead)) == USERS


def test_colours_and_progress_bars() -> None:
    coloured = re.sub(r'"[^"]+"|\d+|\^+|RuntimeError', lambda m: f"\x1b[1;35m{m[0]}\x1b[0m", PLAIN)
    assert users(f" 10%|███ | 3/30\r 20%|████ | 6/30\r{coloured}") == USERS
    assert users(PLAIN.replace("\n", "\r\n")) == USERS


def test_the_last_graph_error_counts_whatever_comes_after() -> None:
    other = PLAIN.replace("train.py", "old.py")
    handling = (
        "\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n"
    )
    after = f'{handling}  File "/home/ann/train.py", line 40, in <module>\n    raise ValueError("x")\nValueError: x\n'
    assert users(other + PLAIN + after) == USERS
    assert users(PLAIN + f"Failed: RuntimeError: {TOLD}\n") == USERS  # a summary without calls


def test_two_ranks_at_once() -> None:
    rows = zip(
        led(PLAIN.replace("train", "zero"), "[rank0]: ").splitlines(), led(PLAIN, "[rank1]: ").splitlines(), strict=True
    )
    assert users("\n".join(row for pair in rows for row in pair)) == USERS


def test_anomaly_detection_tells_of_the_forward_call() -> None:
    warning = (
        "graph.py:979: UserWarning: Error detected in ExpBackward0. Traceback of forward call that caused the error:\n"
        '  File "/home/ann/train.py", line 5, in f\n    y = torch.exp(x)\n (Triggered internally at x.cpp:122.)\n'
    )
    raised = read(warning + PLAIN)
    assert raised.forward == (TracebackFrame("/home/ann/train.py", 5, "f", "y = torch.exp(x)"),)
    assert raised.frames[:2] == USERS


IPYTHON = """\
---------------------------------------------------------------------------
RuntimeError                              Traceback (most recent call last)
Cell In[3], line 3
      1 print(1)
----> 3 train(loss)

File ~/proj/helpers.py:12, in train(l)
     11 def train(l):
---> 12     l.backward()

File /venv/lib/python3.11/site-packages/torch/_tensor.py:623, in Tensor.backward(self, gradient)
    613 if has_torch_function_unary(self):
--> 623 torch.autograd.backward(
"""
OLD_IPYTHON = """\
RuntimeError                              Traceback (most recent call last)
<ipython-input-3-0a1b2c> in <module>
      1 print(1)
----> 3 train(loss)

~/proj/helpers.py in train(l)
     11 def train(l):
---> 12     l.backward()
"""
COLAB = OLD_IPYTHON.replace(
    "<ipython-input-3-0a1b2c> in <module>", "/tmp/ipython-input-3-123456.py in <cell line: 0>()"
)
MIDDLE = IPYTHON.replace("Cell In[3], line 3", "Input In [3], in <cell line: 3>()")


@pytest.mark.parametrize("text", [IPYTHON, OLD_IPYTHON, COLAB, MIDDLE], ids=["new", "old", "colab", "middle"])
def test_notebooks(text: str) -> None:
    cell, helper = users(f"{text}\nRuntimeError: {TOLD}")
    assert (cell.cell, cell.row, cell.text) == (3, 3, "train(loss)")
    assert (helper.file, helper.row, helper.text) == ("~/proj/helpers.py", 12, "l.backward()")


def test_pytests_and_richs() -> None:
    pytests = (
        f"train.py:30: in <module>\n    main()\ntrain.py:14: in main\n    loss.backward()\nE   RuntimeError: {TOLD}\n"
    )
    assert [(f.file, f.row) for f in users(pytests)] == [("train.py", 30), ("train.py", 14)]
    rich = (
        "╭──── Traceback (most recent call last) ────╮\n│ /home/ann/train.py:14 in main             │\n"
        f"│   13                                     │\n│ ❱ 14 loss.backward()                     │\n╰────╯\nRuntimeError: {TOLD}\n"
    )
    assert [(f.file, f.row, f.text) for f in users(rich)] == [("/home/ann/train.py", 14, "loss.backward()")]


@pytest.mark.parametrize("kind", ["plain", "cause", "context", "group", "log"])
def test_what_this_python_prints(tmp_path: Path, kind: str) -> None:
    if kind == "group" and sys.version_info < (3, 11):
        pytest.skip("no groups yet")
    script = f"""\
        import logging
        def walk():
            raise RuntimeError({TOLD!r})
        try:
            walk()
        except RuntimeError as error:
            found = error
        if {kind!r} == "log":
            logging.error("failed", exc_info=found)
        elif {kind!r} == "group":
            raise ExceptionGroup("several", [found, ValueError(1)])
        elif {kind!r} == "cause":
            raise ValueError(2) from found
        elif {kind!r} == "context":
            try:
                raise found
            finally:
                1 / 0
        else:
            raise found
        """
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(script))
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True)
    frame = read(done.stderr).frames[-1]
    assert (frame.file, frame.row, frame.name) == (str(path), 3, "walk")
    assert frame.text.startswith("raise RuntimeError(")


def test_there_may_be_none() -> None:
    assert last_raised("epoch 1\n") is None
    assert not has_traceback("epoch 1\n")
    division = PLAIN.replace(TOLD, "division by zero")
    assert last_raised(division) is None
    assert has_traceback(division)


@pytest.mark.parametrize(
    "path",
    [
        "/venv/lib/python3.11/site-packages/x.py",
        "C:\\Python\\Lib\\site-packages\\x.py",
        "<frozen runpy>",
        "<string>",
        "/usr/lib/python3.12/runpy.py",
    ],
)
def test_files_that_the_user_didnt_write(path: str) -> None:
    assert not is_users(TracebackFrame(path, 1))


@given(
    st.lists(
        st.sampled_from(
            [*PLAIN.splitlines(), *IPYTHON.splitlines(), *COLAB.splitlines(), "\x1b[31m", "❱ 1", "-> 2", 'File "', ""]
        ),
        max_size=30,
    )
)
def test_shuffled_rows_harm_nothing(rows: list[str]) -> None:
    raised = last_raised("\n".join(rows))
    assert raised is None or TOLD in raised.message


@pytest.mark.parametrize(
    ("program", "name"),
    [
        ("w.mul(2).unbind()[0].add_(1)", "view-of-several"),
        ("for piece in w.mul(2).split(1):\n    piece += 1", "view-of-several"),
        ("with torch.no_grad():\n    y = w[:2]\ny += 1", "view-from-no-grad"),
        ("import copy\ncopy.deepcopy(w * 2)", "copy-of-graph"),
        ("torch.optim.SGD([w * 2], lr=0.1)", "optimised-result"),
        (
            "with torch.autograd.set_detect_anomaly(True):\n    (w * 0).sqrt().mul(0).sum().backward()",
            "not-a-number",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_torchs_other_errors_are_known_by_their_words(program: str, name: str) -> None:
    pytest.importorskip("torch", reason="its own words are looked for")
    try:
        exec(f"import torch\nw = torch.ones(3, requires_grad=True)\n{program}\n", {})
    except (RuntimeError, ValueError):
        raised = last_raised(traceback.format_exc())
    assert raised is not None and raised.misuse is not None
    assert raised.misuse.name == name
