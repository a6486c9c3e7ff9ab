"""Programs of several modules: what an import binds, when a module is run, and what one path may change in it."""

from __future__ import annotations

import pytest
from machine import Machine

from retainlint.symbolic.state import limits

HEAD = "import torch\nw = torch.ones(2, requires_grad=True)\nloss = (w * w).sum()\n"
TWICE = "loss.backward()\nloss.backward()\n"


def test_a_module_that_is_only_imported_is_not_read(machine: Machine) -> None:
    seen = machine("import other\nfrom pkg import thing, more\n" + HEAD + TWICE, other="x = 1", pkg="thing = 1")
    assert seen.places == [("main.py", 7)]
    assert seen.modules_read == []


@pytest.mark.parametrize(
    "line",
    [
        "from steps import walk",
        "from steps import walk as walk",
        "import steps\nwalk = steps.walk",
        "import steps as s\ndef walk(x): s.walk(x)",
        "from again import walk",
        "from again import *",
        "from pkg import walk",
        "from pkg.inner import walk",
        "import pkg.inner\nwalk = pkg.inner.walk",
        "import pkg\nwalk = pkg.inner.walk",
        "def walk(x):\n    from steps import walk as inner\n    inner(x)",
        "try:\n    from steps import walk\nexcept ImportError:\n    walk = None",
        "class Box:\n    from steps import walk\nwalk = Box.walk",
        "import steps\nsteps.walk = steps.twice\nwalk = steps.walk",
    ],
)
def test_ways_to_import_a_function(machine: Machine, line: str) -> None:
    steps = "def walk(loss):\n    loss.backward()\ndef twice(loss):\n    walk_once(loss)\ndef walk_once(l):\n    l.backward()\n"
    seen = machine(
        f"{line}\n{HEAD}walk(loss)\nwalk(loss)\n",
        steps=steps,
        again="from steps import *\n",
        pkg__init="from .inner import walk\n",
        pkg__inner="from steps import walk\n",
    )
    assert [file for file, _ in seen.places] == ["steps.py"], seen.gaps


def test_a_function_sees_the_globals_of_its_own_module(machine: Machine) -> None:
    main = "from steps import walk\nKEEP = False\n" + HEAD + "walk(loss)\nwalk(loss)\n"
    steps = "KEEP = {}\ndef walk(loss):\n    loss.backward(retain_graph=KEEP)\n"
    assert machine(main, steps=steps.format(True)).places == []
    assert machine(main, steps=steps.format(False)).places == [("steps.py", 3)]


def test_what_one_call_writes_into_a_module_the_next_one_reads(machine: Machine) -> None:
    main = "import state\n" + HEAD + "state.keep(loss)\nstate.walk()\nstate.walk()\n"
    kept = "loss = None\ndef keep(x):\n    global loss\n    loss = x\ndef walk():\n    loss.backward()\n"
    assert machine(main, state=kept).places == [("state.py", 6)]


def test_a_name_is_bound_when_it_is_imported(machine: Machine) -> None:
    """`from state import loss` before the module rebinds it: as in Python, the importer keeps the first one."""
    state = "import torch\nw = torch.ones(2, requires_grad=True)\nloss = (w * w).sum()\ndef renew():\n    global loss\n"
    state += "    loss = (w * w).sum()\n"
    main = "import state\nfrom state import loss\nloss.backward()\nstate.renew()\n"
    assert machine(main + "state.loss.backward()\n", state=state).places == []
    assert machine(main + "loss.backward()\n", state=state).places == [("main.py", 5)]
    later = "import state\nstate.loss.backward()\nstate.renew()\ndef again():\n    from state import loss\n    loss.backward()\n"
    assert machine(later + "again()\n", state=state).places == []


def test_the_body_of_an_imported_script_is_not_its_main(machine: Machine) -> None:
    other = HEAD + "if __name__ == '__main__':\n    loss.backward()\n"
    assert machine("from other import loss\nloss.backward()\nloss.backward()\n", other=other).places == [("main.py", 3)]


def test_what_an_imported_body_does_wrong_is_not_the_importers(machine: Machine) -> None:
    assert machine("import other\nx = other.loss\nx.backward\n", other=HEAD + TWICE).places == []


def test_imports_in_a_circle(machine: Machine) -> None:
    a = "from b import second\ndef first(x):\n    second(x)\n"
    b = "import a\ndef second(x):\n    x.backward()\ndef third(x):\n    a.first(x)\n"
    assert machine("import b\n" + HEAD + "b.third(loss)\nb.third(loss)\n", a=a, b=b).places == [("b.py", 3)]


def test_names_that_lead_in_a_circle_are_unknown(machine: Machine) -> None:
    seen = machine("from a import x\nx()\n" + HEAD + TWICE, a="from b import x\n", b="from a import x\n")
    assert seen.places == [("main.py", 7)]


def test_the_entry_itself_may_be_imported(machine: Machine) -> None:
    main = HEAD + "import other\nother.walk()\nother.walk()\n"
    assert machine(main, other="import main\ndef walk():\n    main.loss.backward()\n").places == [("other.py", 3)]


def test_classes_over_three_modules(machine: Machine) -> None:
    base = "class Base:\n    def fit(self, loss):\n        for _ in range(2):\n            self.step(loss)\n"
    middle = "from base import Base\nclass Middle(Base):\n    def step(self, loss):\n        self.walk(loss)\n"
    main = "from middle import Middle\nclass Top(Middle):\n    def walk(self, loss):\n        loss.backward()\n"
    assert machine(main + HEAD + "Top().fit(loss)\n", base=base, middle=middle).places == [("main.py", 4)]


def test_a_module_that_is_registered_by_its_import(machine: Machine) -> None:
    registry = "ALL = {}\ndef register(f):\n    ALL['it'] = f\n    return f\n"
    parts = "from registry import register\n@register\ndef walk(loss):\n    loss.backward()\n"
    main = "import parts\nfrom registry import ALL\n" + HEAD + "ALL['it'](loss)\nALL['it'](loss)\n"
    assert machine(main, registry=registry, parts=parts).places == [("parts.py", 4)]


def test_two_paths_change_a_module_each_for_itself(machine: Machine) -> None:
    state = "kept = {}\n"
    main = f"import state, sys\n{HEAD}if len(sys.argv) > 1:\n    state.kept['loss'] = loss\nelse:\n"
    main += "    state.kept['loss'] = (w * w).sum()\nloss.backward()\nstate.kept['loss'].backward()\n"
    seen = machine(main, state=state)
    assert seen.places == [("main.py", 10)]
    assert [condition.taken for condition in seen.incident.conditions] == [True]


def test_a_modules_own_constants_may_be_changed_in_place(machine: Machine) -> None:
    table = "import torch\nw = torch.ones(2, requires_grad=True)\nt = torch.zeros(2)\nt[0] = 1\ny = (w * t).sum()\n"
    assert machine("from table import y\ny.backward()\n", table=table).places == []


@pytest.mark.parametrize("text", ["def f(:\n", "x = 1\n" * 31_000, "y = '\\ud800'\nx = (((\n"])
def test_a_module_that_cannot_be_read_is_a_gap(machine: Machine, text: str) -> None:
    seen = machine("from other import f\nf()\n" + HEAD + TWICE, other=text + "f = 1\n")
    assert seen.places == [("main.py", 7)]
    assert seen.says("`other` was not read")


def test_a_missing_name_is_unknown(machine: Machine) -> None:
    seen = machine("from other import f\nimport other\nf(other.g)\n" + HEAD + TWICE, other="def __getattr__(n): ...\n")
    assert seen.places == [("main.py", 8)]


def test_a_module_of_many_steps_is_cut(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MODULE_BODY_STEPS", 1_000)
    long = "x = 0\n" + "x = x + 1\n" * 600 + "def f(): return x\n"
    seen = machine("from other import f\nf()\n" + HEAD + TWICE, other=long)
    assert seen.places == [("main.py", 7)]
    assert seen.says("too many steps")


def test_so_many_modules_are_read_and_no_more(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MODULES_READ", 3)
    chain = {f"m{i}": f"from m{i + 1} import f as g\ndef f(x):\n    g(x)\n" for i in range(5)}
    seen = machine("from m0 import f\nf(1)\n" + HEAD + TWICE, **chain, m5="def f(x): pass\n")
    assert seen.modules_read == ["m0", "m1", "m2"]
    assert seen.places == [("main.py", 7)]
    assert seen.says("too many modules")


def test_a_call_that_takes_too_long_is_left_unseen_unless_it_walks(machine: Machine) -> None:
    slow = "def slow(x):\n" + "    y = x\n" * 5_000
    seen = machine("from other import slow\nslow(1)\nslow(2)\n" + HEAD + TWICE, other=slow)
    assert seen.places == [("main.py", 8)]
    assert [gap.span.row for gap in seen.gaps] == [2]
    assert seen.steps < 9_000
    backward_passes = "def slow(x):\n    go(x)\n" + "    y = x\n" * 5_000 + "    go(x)\ndef go(x):\n    x.backward()\n"
    main = "from other import slow\n" + HEAD + "slow(loss)\ndef other(x):\n    x.backward()\n"
    assert machine(main, other=backward_passes).places == [("other.py", 5005)]


def test_a_slow_call_within_a_call_is_left_unseen_alone(machine: Machine) -> None:
    """What its caller makes of it is known: that the graph of `w * w` is in it."""
    slow = "def slow(x):\n" + "    y = x\n" * 5_000
    outer = "from inner import slow\ndef make(x):\n    slow(1)\n    return (x * x).sum()\n"
    main = "import torch\nfrom outer import make\nw = torch.ones(2, requires_grad=True)\nloss = make(w)\n" + TWICE
    seen = machine(main, outer=outer, inner=slow)
    assert seen.places == [("main.py", 6)]
    assert ["slow" in gap.reason for gap in seen.gaps] == [True]
    assert seen.steps < 9_000


def test_a_script_without_a_walk_is_followed_to_those_of_others(machine: Machine) -> None:
    """What doesn't lead there may take few steps."""
    slow = "def prepare(x):\n" + "    y = x\n" * 3_000
    engine = "from slow import prepare\ndef fit(loss):\n    prepare(1)\n    for _ in range(2):\n        go(loss)\n"
    engine += "def go(loss):\n    loss.backward()\n"
    main = "from slow import prepare\nfrom engine import fit\n" + HEAD + "prepare(1)\nfit(loss)\n"
    seen = machine(main, slow=slow, engine=engine)
    assert seen.places == [("engine.py", 7)]
    assert seen.steps < 3_000


def test_what_is_imported_for_its_types_is_not_run(machine: Machine) -> None:
    parts = "from registry import register\n@register\ndef f(): pass\n"
    lazy = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import parts\nx = 1\n"
    main = "from lazy import x\nprint(x)\n" + HEAD + TWICE
    assert machine(main, lazy=lazy, parts=parts).modules_read == ["lazy"]
    assert machine(main, lazy=lazy + "import parts\n", parts=parts).modules_read == ["lazy", "parts"]


def test_without_a_project_nothing_is_looked_for(machine: Machine) -> None:
    assert machine("from other import f\nimport a.b\nf(a.b)\n" + HEAD + TWICE).lines == [8]


def test_stars_in_a_circle_are_searched_once(machine: Machine) -> None:
    names = [f"s{i}" for i in range(12)]
    stars = "".join(f"from {name} import *\n" for name in names)
    seen = machine("from s0 import wanted\nwanted()\n" + HEAD + TWICE, **dict.fromkeys(names, stars + "# wanted\n"))
    assert seen.places == [("main.py", 7)]
