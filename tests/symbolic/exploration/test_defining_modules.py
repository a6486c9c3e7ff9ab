"""A module that only defines things is run along one way; one that calls what may train, along all."""

from __future__ import annotations

import pytest
from machine import Machine

from retainlint.lowering import lower
from retainlint.symbolic.exploration.script_entry import only_defines
from retainlint.text.source import Source

WAYS = "import os\nimport tools\n" + "".join(
    f"if os.path.exists('{name}'):\n    {name.upper()} = tools.{name}\nelse:\n    {name.upper()} = None\n"
    for name in "abcd"
)
"""A module's head behind which there are sixteen ways."""

TWICE = "def twice(loss):\n    loss.backward()\n    loss.backward()\n"


def test_what_only_defines_is_run_along_one_way(machine: Machine) -> None:
    defining = "".join(f"class C{n}:\n    x = tools.made({n})\n" for n in range(20))
    few, none = machine(WAYS + defining + TWICE, other=""), machine("import tools\n" + defining + TWICE, other="")
    assert len(few.lines) == len(none.lines) == 1
    assert few.steps < none.steps + 100


def test_what_calls_its_own_is_run_along_all_ways(machine: Machine) -> None:
    calls = (
        "w = torch.ones(2, requires_grad=True)\nloss = (w * w).sum()\nloss.backward()\nif C is None:\n    again(loss)\n"
    )
    main = "import torch\n" + WAYS + "def again(loss):\n    loss.backward()\n" + calls
    assert machine(main, other="").lines == [21]


@pytest.mark.parametrize(
    ("text", "defines"),
    [
        ("import logging\nlog = logging.getLogger(__name__)\n", True),
        ("class A:\n    def run(self):\n        train()\n", True),
        ("def f():\n    pass\nx = f\n", True),
        ("def f():\n    pass\nx = f()\n", True),
        ("def f(loss):\n    loss.backward()\nx = f()\n", False),
        ("def f(loss):\n    loss.backward()\ndef g():\n    h()\ndef h():\n    f(1)\nx = g()\n", False),
        ("class A:\n    def f(self, loss):\n        loss.backward()\nx = [A() for _ in y]\n", False),
        ("class A:\n    def f(self):\n        pass\nx = [A() for _ in y]\n", True),
        ("import tools\nif tools.there():\n    tools.train_all()\n", False),
        ("from tools import main\nif __name__ == '__main__':\n    main()\n", False),
        ("import tools\nclass A:\n    x = tools.fit()\n", False),
        ("import other\nother.rest()\n", True),
        ("import other\nother.Trainer(1).fit(2)\n", False),
        ("import other\n{'a': other.walk}['a']()\n", False),
    ],
)
def test_what_a_module_calls_tells_whether_it_only_defines(text: str, defines: bool) -> None:
    assert only_defines(lower(Source("main.py", text)).module.body) is defines


def test_what_walks_all_the_same_is_run_along_all_ways(machine: Machine) -> None:
    other = "def twice(loss, really):\n    loss.backward()\n    if really is None:\n        loss.backward()\n"
    ways = WAYS.replace("tools.", "1, tools.")
    main = (
        ways + "from other import twice\nimport torch\nw = torch.ones(2, requires_grad=True)\ntwice((w * w).sum(), C)\n"
    )
    assert machine(main + TWICE, other=other).places == [("main.py", 25), ("other.py", 4)]


def test_a_decorator_that_takes_long_is_given_up(machine: Machine) -> None:
    """It writes documentation: what it decorates is unknown then, and all else is followed."""
    documented = "def documented(f):\n    text = ''\n" + "    text = text + 'x'\n" * 1_500 + "    return f\n"
    other = documented + "def short(f):\n    f.__doc__ = 'x'\n    return f\n"
    main = (
        "from other import documented, short\n@documented\nclass A:\n    pass\n@short\ndef f(loss):\n    return loss\n"
    )
    found = machine(main + "def walk(loss):\n    loss.backward()\n    f(loss).backward()\n", other=other)
    assert found.lines == [10] and found.steps < 1_500
