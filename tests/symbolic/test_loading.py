"""Modules are run by and by: what a name needs is run for it, in the order of the text, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

from retainlint import ir
from retainlint.files import Held
from retainlint.incident import Exploration
from retainlint.lowering import lower, lower_partly
from retainlint.modules import Modules
from retainlint.project import Project
from retainlint.source import Source
from retainlint.symbolic import explore, loading
from retainlint.symbolic.context import Machine
from retainlint.symbolic.state import State

HEAD = "import torch\nw = torch.ones(2, requires_grad=True)\nloss = (w * w).sum()\nloss.backward()\n"
LOSS = "w = torch.ones(2, requires_grad=True)\nloss = (w * w).sum()\n"


def explored(lowered: Callable[[Source], ir.Program], main: str, modules: dict[str, str]) -> Exploration:
    texts = {f"{name.replace('__', '/').replace('/init', '/__init__')}.py": text for name, text in modules.items()}
    files = {name: dedent(text).encode() for name, text in {**texts, "main.py": main}.items()}
    project = Project(Modules("main.py", Held(files)), lowered, files["main.py"])
    return explore(lower(Source("main.py", files["main.py"].decode())), project=project)


def rows(found: Exploration) -> list[tuple[str, int]]:
    return sorted((each.primary.source.name, each.primary.row) for each in found.incidents)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements of imported modules that were run, by their first words."""
    texts: list[str] = []
    followed = loading._followed

    def noted(machine: Machine, state: State, block: ir.Block) -> State:
        if block:
            source, last = block[-1].span.source, block[-1].span
            texts.append(source.row_text(last.row).strip())
        return followed(machine, state, block)

    monkeypatch.setattr(loading, "_followed", noted)
    return texts


USED = HEAD + "from other import keep\nif keep:\n    loss.backward()\n"
"""A program that fails if `keep` is true."""

ALIKE = {
    "one": "keep = 1",
    "none": "keep = 0",
    "bound twice": "keep = 1\nkeep = 0",
    "computed of the first": "first = 1\nkeep = first\nfirst = 0",
    "computed of the last": "first = 1\nfirst = 0\nkeep = first",
    "of a function": "def made():\n    return LATER\nLATER = 1\nkeep = made()",
    "of a function, before it changes": "def made():\n    return LATER\nLATER = 1\nkeep = made()\nLATER = 0",
    "of a function, behind a change": "def made():\n    return LATER\nLATER = 1\nLATER = 0\nkeep = made()\nLATER = 2",
    "a list that is filled": "things = []\nthings.append(1)\nkeep = len(things)\nthings.append(2)",
    "a list that is emptied": "things = [1]\nthings.clear()\nkeep = len(things)",
    "a dict that a function fills": "seen = {}\ndef enter(x):\n    seen[x] = x\nenter(1)\nkeep = 1 in seen",
    "a dict that a decorator fills": "seen = {}\ndef enter(f):\n    seen['f'] = f\n    return f\n@enter\ndef f(): pass\nkeep = 'f' in seen",
    "a dict that is filled too late": "seen = {}\nkeep = len(seen)\nseen[1] = 1",
    "by another name": "seen = {}\nother = seen\nother[1] = 1\nkeep = len(seen)",
    "of an attribute": "class Box:\n    x = 0\nBox.x = 1\nkeep = Box.x",
    "of a class in a loop": "class Box:\n    x = 0\nfor each in (Box,):\n    each.x = 1\nkeep = Box.x",
    "by setattr": "class Box:\n    x = 0\nsetattr(Box, 'x', 1)\nkeep = Box.x",
    "of a global": "x = 0\ndef change():\n    global x\n    x = 1\nchange()\nkeep = x",
    "conditional": "import sys\nif sys.maxsize > 1:\n    keep = 1\nelse:\n    keep = 1",
    "tried": "try:\n    import nothing\n    keep = 1\nexcept ImportError:\n    keep = 1",
    "with augmented": "keep = 0\nkeep += 1",
    "in one row": "a = 1; keep = a; a = 0",
    "unpacked": "a, keep = 0, 1",
    "deleted and bound": "keep = 0\ndel keep\nkeep = 1",
    "by a walrus": "if (keep := 1):\n    pass",
    "of a loop": "for keep in (0, 1):\n    pass",
    "of a with": "import contextlib\nwith contextlib.nullcontext(1) as keep:\n    pass",
    "in a class body": "things = []\nclass Box:\n    things.append(1)\nkeep = len(things)",
    "unread": "raise_ = 1\nkeep = 1\nif raise_ > 2:\n    raise ValueError",
    "by its main": "keep = 0\nif __name__ == '__main__':\n    keep = 1",
    "of a comprehension": "keep = [x for x in (1, 2)][0]\nx = [x for x in (0,)]",
    "of a lambda in a comprehension": "fs = [lambda: x for x in (1,)]\ngs = [lambda: x for x in (0,)]\nkeep = fs[0]()",
}  # fmt: skip


@pytest.mark.parametrize("name", ALIKE)
def test_a_name_is_what_the_whole_module_makes_of_it(name: str) -> None:
    other = {"other": ALIKE[name]}
    partly, whole = explored(lower_partly, USED, other), explored(lower, USED, other)
    assert rows(partly) == rows(whole)
    value: dict[str, object] = {"__name__": "other"}
    exec(ALIKE[name], value)
    assert rows(partly) == ([("main.py", 7)] if value["keep"] else [])


MODULES: dict[str, tuple[str, dict[str, str]]] = {
    "a star": ("from other import *\n", {"other": "from below import *", "below": "keep = 1"}),
    "a star behind a name": ("from other import *\n", {"other": "keep = 1\nfrom below import *", "below": "x = 0"}),
    "a package": ("from pkg import keep\n", {"pkg__init": "from .inner import keep", "pkg__inner": "keep = 1"}),
    "a name of the package's own": ("from pkg import keep\n", {"pkg__init": "from . import keep", "pkg__keep": "x = 1"}),
    "one another": (
        "from one import keep\n",
        {"one": "import two\nfirst = 1\nkeep = two.second", "two": "import one\nsecond = 1\ndef f():\n    return one.first"},
    ),
    "one another, by a function": (
        "from one import keep\n",
        {"one": "import two\nfirst = 1\nkeep = two.f()\nfirst = 0", "two": "import one\ndef f():\n    return one.first"},
    ),
    "another's registry": (
        "import plugins\nfrom registry import table\nkeep = 'a' in table\n",
        {
            "registry": "table = {}\ndef register(f):\n    table['a'] = f\n    return f",
            "plugins": "from registry import register\n@register\ndef a(): pass\n",
        },
    ),
    "another's registry, by a name beside it": (
        "from plugins import b\nfrom registry import table\nb()\nkeep = 'a' in table\n",
        {
            "registry": "table = {}\ndef register(f):\n    table['a'] = f\n    return f",
            "plugins": "from registry import register\ndef b(): pass\n@register\ndef a(): pass\n",
        },
    ),
    "another's object": (
        "from plugins import b\nfrom registry import table\nb()\nkeep = len(table)\n",
        {"registry": "table = []", "plugins": "from registry import table\ndef b(): pass\ntable.append(1)"},
    ),
    "another's attribute": (
        "from patches import b\nimport other\nb()\nkeep = other.keep\n",
        {"other": "keep = 0", "patches": "import other\ndef b(): pass\nother.keep = 1"},
    ),
    "another's attribute, by a function": (
        "from patches import b\nimport other\nb()\nkeep = other.keep\n",
        {"other": "keep = 0", "patches": "import other\ndef b(): pass\ndef patch():\n    other.keep = 1\npatch()"},
    ),
    "another's attribute, by its own function": (
        "from patches import b\nimport other\nb()\nkeep = other.keep\n",
        {"other": "keep = 0\ndef patch():\n    global keep\n    keep = 1", "patches": "from other import patch\ndef b(): pass\npatch()"},
    ),
    "what a program sets": ("import other\nother.keep = 1\nkeep = other.keep\n", {"other": "keep = 0\nkeep = 0"}),
    "what a program sets first": ("import other\nother.x = 2\nkeep = other.f()\n", {"other": "x = 0\ndef f():\n    return x == 2"}),
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_modules_hold_what_they_would(name: str) -> None:
    head, modules = MODULES[name]
    main = head + HEAD + "if keep:\n    loss.backward()\n"
    partly, whole = explored(lower_partly, main, modules), explored(lower, main, modules)
    assert rows(partly) == rows(whole) == [("main.py", main.count("\n"))]


def test_what_nobody_asks_for_is_not_run(ran: list[str]) -> None:
    other = """\
        '''Words.'''
        import logging
        import torch
        LOG = logging.getLogger(__name__)
        LOG.info("loaded")
        table = [LOG, 1]
        class Base:
            pass
        class Other(Base):
            x = table
        def walk(loss):
            table.append(loss)
            loss.backward()
        """
    main = "from other import walk\n" + HEAD + "walk(loss)\n"
    assert rows(explored(lower_partly, main, {"other": other})) == [("other.py", 13)]
    assert ran[0] == "def walk(loss):" and "table = [LOG, 1]" in ran and "import torch" not in ran
    assert "class Base:" not in ran and "class Other(Base):" not in ran


def test_a_part_is_run_once_for_all(ran: list[str]) -> None:
    main = (
        "import other\nfrom other import keep\n"
        + HEAD
        + "a = other.keep\nb = keep\ndef f():\n    return other.keep\nf()\n"
    )
    explored(lower_partly, main, {"other": "keep = 1"})
    assert ran == ["keep = 1"]


def test_a_module_that_sees_its_names_is_run_whole(ran: list[str]) -> None:
    main = HEAD + "from other import keep\nif keep:\n    loss.backward()\n"
    explored(lower_partly, main, {"other": "a = 0\nfor x in (1, 2):\n    globals()['keep'] = x\n"})
    assert len(ran) == 1


def test_a_graph_of_a_module_is_older_than_all(ran: list[str]) -> None:
    other = "import torch\nbefore = torch.ones(2, requires_grad=True)\nscale = before * 2\nother = 1\n"
    main = "import torch\nfrom other import scale\nfor _ in range(2):\n    (scale * torch.ones(2)).sum().backward()\n"
    assert len(rows(explored(lower_partly, main, {"other": other}))) == 1
    assert "other = 1" not in ran


def test_what_asks_for_more_of_its_module_goes_on(ran: list[str]) -> None:
    """A statement that is being run asks for a name, whose statement is run in between, in registers of its own."""
    other = "def made():\n    return [LATER, LATER][0]\nLATER = [0, 1, 2]\nkeep = [made()[1], made()[2]][0]\n"
    main = HEAD + "from other import keep\nif keep:\n    loss.backward()\n"
    assert rows(explored(lower_partly, main, {"other": other})) == [("main.py", 7)]
    assert ran[0].startswith("def made") and set(ran[1:]) == {"LATER = [0, 1, 2]", other.splitlines()[-1]}
