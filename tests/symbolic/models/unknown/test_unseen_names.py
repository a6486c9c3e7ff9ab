"""What was imported from outside may be anything: conditions on it are named, and hold for the whole path."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from machine import Machine

from retainlint.diagnostic import Severity
from retainlint.rules import diagnose
from retainlint.symbolic.state.known_libraries import is_definition

HAS_TORCH = importlib.util.find_spec("torch") is not None

TRAIN = """{imports}

def train(model, loss_fn, x):
    loss = loss_fn(model(x))
{body}"""
CALL = """
import torch
train(torch.nn.Linear(3, 1), lambda y: (y * y).sum(), torch.ones(2, 3))
"""

FAILS: dict[str, tuple[str, str, int, list[tuple[str, bool]], tuple[str, ...]]] = {
    "a flag": (
        "from options import flag", "    if flag:\n        loss.backward()\n    loss.backward()", 7, [("flag", True)],
        ("flag = True",),
    ),
    "its opposite": (
        "from options import flag", "    if not flag:\n        loss.backward()\n    loss.backward()", 7,
        [("not flag", True)], ("flag = False",),
    ),
    "an attribute of it": (
        "from options import opt", "    if opt.twice:\n        loss.backward()\n    loss.backward()", 7,
        [("opt.twice", True)], ("class opt:\n    twice = True",),
    ),
    "whether it is None": (
        "from options import flag", "    if flag is None:\n        loss.backward()\n    loss.backward()", 7,
        [("flag is None", True)], ("flag = None",),
    ),
    "a comparison": (
        "from options import flag", "    if flag > 3:\n        loss.backward()\n    loss.backward()", 7,
        [("flag > 3", True)], ("flag = 4",),
    ),
    "a call": (
        "from options import flag", "    if flag():\n        loss.backward()\n    loss.backward()", 7,
        [("flag()", True)], ("flag = lambda: True",),
    ),
    "two flags": (
        "from options import one, two", "    if one:\n        loss.backward()\n    if two:\n        loss.backward()", 8,
        [("one", True), ("two", True)], ("one = two = True",),
    ),
    "a module is no flag": (
        "import options", "    if options:\n        loss.backward()\n    loss.backward()", 7, [], ("",),
    ),
    "a class is no flag": (
        "from options import Flag", "    if Flag is not None:\n        loss.backward()\n    loss.backward()", 7, [],
        ("class Flag: pass",),
    ),
    "a function of torch is no flag": (
        "import torch", "    if torch.compile:\n        loss.backward()\n    loss.backward()", 7, [], ("",),
    ),
    "an option that is called like a method": (
        "import torch\nfrom options import options",
        "    if options.eval:\n        x = None\n    else:\n        loss.backward()\n        loss.backward()", 10,
        [], ("class options: eval = False",),
    ),
    "one that a parser has read": (
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--eval', action='store_true')\n"
        "options = parser.parse_args([])",
        "    if options.eval:\n        x = None\n    else:\n        loss.backward()\n        loss.backward()", 12,
        [], ("",),
    ),
    "a setting of torch is one": (
        "import torch", "    if torch.backends.cudnn.enabled:\n        loss.backward()\n    loss.backward()", 7,
        [("torch.backends.cudnn.enabled", True)], ("",),
    ),
}  # fmt: skip

OPTIONS = tuple(f"class Options:\n    mode = {mode!r}\noptions = Options" for mode in "ab")
RUNS = {
    "a flag and its opposite": (
        "from options import flag",
        "    if flag:\n        loss.backward()\n    if not flag:\n        loss.backward()",
        ("flag = True", "flag = False"),
    ),
    "a comparison and its opposite": (
        "from options import flag",
        "    if flag > 3:\n        loss.backward()\n    if flag <= 3:\n        loss.backward()",
        ("flag = 3", "flag = 4"),
    ),
    "None, and true": (
        "from options import flag",
        "    if flag is None:\n        loss.backward()\n    if flag:\n        loss.backward()",
        ("flag = None", "flag = True"),
    ),
    "every so many turns, and all others": (
        "from options import every",
        "    for i in range(4):\n        loss = loss_fn(model(x))\n        if i % every == 0:\n            loss.backward()"
        "\n        if i % every != 0:\n            loss.backward()",
        ("every = 2", "every = 3"),
    ),
    "an option that is called like the data of a tensor": (
        "from options import options",
        "    if options().data == 'a':\n        loss.backward()\n    if options().data != 'a':\n        loss.backward()",
        tuple(f"class Options:\n    data = {data!r}\noptions = Options" for data in "ab"),
    ),
    "a variable of the environment": (
        "import os\nimport options",
        "    if os.environ.get('MODE') == 'a':\n        loss.backward()\n    if os.environ.get('MODE') != 'a':\n        loss.backward()",
        tuple(f"import os\nos.environ['MODE'] = {mode!r}" for mode in "ab"),
    ),
    "a function that is asked twice": (
        "import options",
        "    if options.flag() > 3:\n        loss.backward()\n    if not options.flag() > 3:\n        loss.backward()",
        ("flag = lambda: 3", "flag = lambda: 4"),
    ),
    "an option that each call of a function finds anew": (
        "from options import options",
        "    if options().mode == 'a':\n        loss.backward()\n    if options().mode == 'b':\n        loss.backward()",
        OPTIONS,
    ),
    "what an object of the program finds by the kind of what it holds": (
        "from options import found\nclass Found:\n    def __init__(self, held):\n        self.held = held\n"
        "    def __getattr__(self, name):\n        held = self.held[name]\n"
        "        return Found(held) if type(held) == dict else held\noptions = Found(found)",
        "    if options.part.mode == 'a':\n        loss.backward()\n    if options.part.mode == 'b':\n        loss.backward()",
        ("found = {'part': {'mode': 'a'}}", "found = {'part': {'mode': 'b'}}"),
    ),
    "a graph that is kept where it is walked again": (
        "from options import flag",
        "    loss.backward(retain_graph=flag)\n    if flag:\n        loss.backward()",
        ("flag = True", "flag = False"),
    ),
}


def raised(tmp_path: Path, text: str, options: str) -> int | None:
    from judge_torch import judge

    (tmp_path / "options.py").write_text(options + "\n", encoding="utf-8")
    script = tmp_path / "program.py"
    script.write_text(text + CALL, encoding="utf-8")
    line = judge(script, project=tmp_path).line
    assert line is None or line <= text.count("\n") + 1
    return line


@pytest.mark.parametrize("name", FAILS)
def test_a_finding_names_the_flags_that_it_needs(machine: Machine, name: str) -> None:
    imports, body, row, conditions, _ = FAILS[name]
    text = TRAIN.format(imports=imports, body=body)
    found = machine(text).incident
    assert found.primary.row == row
    assert [(c.span.text, c.taken) for c in found.conditions] == conditions
    assert diagnose(found).severity is (Severity.WARNING if len(conditions) > 1 else Severity.ERROR)


@pytest.mark.parametrize("name", RUNS)
def test_an_answer_holds_for_the_whole_path(machine: Machine, name: str) -> None:
    imports, body, _ = RUNS[name]
    assert not machine(TRAIN.format(imports=imports, body=body)).incidents


@pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed")
def test_torch_says_it(tmp_path: Path) -> None:
    """All in one test: the modules' names are the same."""
    for imports, body, row, _, options in FAILS.values():
        assert {raised(tmp_path, TRAIN.format(imports=imports, body=body), each) for each in options} == {row}
    for imports, body, options in RUNS.values():
        assert {raised(tmp_path, TRAIN.format(imports=imports, body=body), each) for each in options} == {None}


@pytest.mark.parametrize("target", ["model", "other"])
def test_a_condition_is_named_whatever_else_is_unseen(machine: Machine, target: str) -> None:
    """A walk through a graph that is a mere guess leaves another state than none: the two don't merge."""
    text = f"""
from somewhere import make_loss, {target}
def train(loader, flag):
    for batch in loader:
        loss = make_loss(model(batch))
        if flag:
            loss.backward()
        loss.backward()
"""
    found = machine(text).incident
    assert (found.primary.row, [c.span.text for c in found.conditions]) == (8, ["flag"])


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("options", True),
        ("options.flag", False),
        ("options.FLAG", False),
        ("options.Flag", True),
        ("options.opt.flag", False),
        ("builtins.print", True),
        ("torch.nn.functional.relu", True),
        ("torch.cuda.is_available", True),
        ("torch.backends.cudnn", True),
        ("torch.backends.cudnn.benchmark", False),
        ("torch.backends.mps.is_available", True),
        ("torch.version.cuda", False),
        ("torch.version", True),
        ("numpy.random.rand", True),
        ("sys.flags.debug", False),
    ],
)
def test_what_a_name_tells(path: str, is_one: bool) -> None:
    assert is_definition(path) is is_one
