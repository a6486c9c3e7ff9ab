"""Modules are run by and by: what a name needs is run for it, in the order of the text, and nothing else."""

from __future__ import annotations

import os
from typing import Any

import pytest
from machine import Machine

from retainlint import ir
from retainlint.lowering import lower, lower_partly
from retainlint.lowering.partial import Lowering
from retainlint.program import Part
from retainlint.symbolic.interpreter import calls, module_bodies
from retainlint.symbolic.interpreter.module_bodies import gives_back
from retainlint.symbolic.state import protocol
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import Closure
from retainlint.text.source import Source

HEAD = "import torch\nw = torch.ones(2, requires_grad=True)\nloss = (w * w).sum()\nloss.backward()\n"
LOSS = "w = torch.ones(2, requires_grad=True)\nloss = (w * w).sum()\n"


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements of imported modules that were run, by their first words."""
    texts: list[str] = []
    followed = module_bodies._run_part

    def noted(machine: protocol.Machine, state: State, block: ir.Block) -> State:
        if block:
            source, last = block[-1].span.source, block[-1].span
            texts.append(source.row_text(last.row).strip())
        return followed(machine, state, block)

    monkeypatch.setattr(module_bodies, "_run_part", noted)
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
    "a dict that a base class fills": "seen = {}\nclass Base:\n    def __init_subclass__(cls, **given):\n        seen.update(given)\nclass A(Base): pass\nclass B(A, x=1): pass\nkeep = 'x' in seen",
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
def test_a_name_is_what_the_whole_module_makes_of_it(machine: Machine, name: str) -> None:
    partly, whole = machine(USED, other=ALIKE[name]), machine.lowering(lower)(USED, other=ALIKE[name])
    assert partly.places == whole.places
    value: dict[str, object] = {"__name__": "other"}
    exec(ALIKE[name], value)
    assert partly.places == ([("main.py", 7)] if value["keep"] else [])


ENTERING = """\
entered = {"x": []}
def on(event):
    def enter(f):
        entered[event].append(f)
        return f
    return enter
"""

MAKING = """\
def remember(f):
    @on('x')
    def clear(): pass
    return f
"""

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
    "another's object, by its method": (
        "from plugins import b\nfrom registry import table\nb()\nkeep = len(table.held)\n",
        {
            "registry": "class Table:\n    def __init__(self):\n        self.held = []\n    def enter(self, f):\n"
            "        self.held.append(f)\n        return f\ntable = Table()",
            "plugins": "from registry import table\ndef b(): pass\n@table.enter\ndef a(): pass\n",
        },
    ),
    "another's object, by its method, through a package": (
        "from plugins import b\nfrom pkg.registry import table\nb()\nkeep = len(table)\n",
        {
            "pkg__init": "from .registry import table as things",
            "pkg__registry": "table = []",
            "plugins": "from pkg import things\ndef b(): pass\nthings.append(1)",
        },
    ),
    "what another's method fills beside its object": (
        "from plugins import b\nfrom registry import seen\nb()\nkeep = len(seen)\n",
        {
            "registry": "seen = []\nclass Table:\n    def enter(self, f):\n        seen.append(f)\n        return f\ntable = Table()",
            "plugins": "from registry import table\ndef b(): pass\ntable.enter(1)\n",
        },
    ),
    "another's item": (
        "from plugins import b\nfrom registry import table\nb()\nkeep = 'a' in table\n",
        {"registry": "table = {}", "plugins": "from registry import table\ndef b(): pass\ntable['a'] = 1"},
    ),
    "another's class": (
        "from plugins import b\nfrom registry import Box\nb()\nkeep = Box.x\n",
        {"registry": "class Box:\n    x = 0", "plugins": "from registry import Box\ndef b(): pass\nBox.x = 1"},
    ),
    "another's object, given to a function of its own": (
        "from plugins import b\nfrom registry import table\nb()\nkeep = len(table)\n",
        {
            "registry": "table = []",
            "plugins": "from registry import table\ndef b(): pass\ndef fill(it):\n    it.append(1)\nfill(table)\n",
        },
    ),
    "another's registry, that a third fills": (
        "from plugins import b\nfrom registry import table\nb()\nkeep = len(table)\n",
        {
            "registry": "table = []\ndef register(x):\n    table.append(x)",
            "third": "from registry import register\ndef register_all():\n    register(1)\n",
            "plugins": "import third\ndef b(): pass\nthird.register_all()\n",
        },
    ),
    "what a decorator notes": (
        "from plugins import Box\nfrom registry import table\nkeep = Box in table\n",
        {"registry": "table = {}\ndef note(f):\n    table[f] = 1\n    return f", "plugins": "import registry\n@registry.note\nclass Box: pass"},
    ),
    "what a decorator notes, of a name that was asked for": (
        "from registry import table\nfirst = len(table)\nfrom plugins import a\na()\nkeep = len(table) > first\n",
        {
            "registry": "table = []\ndef note(f):\n    table.append(f)\n    return f",
            "plugins": "from registry import note\n@note\ndef a(): pass",
        },
    ),
    "what a decorator counts": (
        "from plugins import a\nimport registry\na()\nkeep = registry.count == 2\n",
        {
            "registry": "count = 0\ndef note(f):\n    global count\n    count += 1\n    return f",
            "plugins": "from registry import note\n@note\n@note\ndef a(): pass",
        },
    ),
    "what a decorator notes while that is asked for": (
        "from plugins import a\nimport registry\nkeep = a() == 1 and registry.ask() == 1\n",
        {
            "registry": "table = []\ndef ask():\n    return len(table)\ndef note(f):\n    if ask() == 0:\n        table.append(f)\n    return f",
            "plugins": "import registry\n@registry.note\ndef a():\n    return registry.ask()\n",
        },
    ),
    "another's registry, by a third's class that is made": (
        "from plugins import b\nfrom registry import table\nb()\nkeep = len(table)\n",
        {
            "registry": "table = []\ndef register(x):\n    table.append(x)",
            "third": "from registry import register\nclass Setup:\n    def __init__(self):\n        register(1)\n",
            "plugins": "import third\ndef b(): pass\nthird.Setup()\n",
        },
    ),
    "by a method of a class in a function": (
        "from other import keep\n",
        {
            "other": "things = []\ndef enter():\n    class Inner:\n        def go(self):\n            things.append(1)\n"
            "    Inner().go()\nenter()\nkeep = len(things)\n"
        },
    ),
    "by a function in a function": (
        "from other import keep\n",
        {"other": "things = []\ndef enter():\n    def go():\n        things.append(1)\n    go()\nenter()\nkeep = len(things)\n"},
    ),
    "by a function that a decorator is given": (
        "from other import keep\n",
        {
            "other": "things = []\ndef twice(f):\n    f()\n    return f\ndef enter():\n    @twice\n    def go():\n"
            "        things.append(1)\nenter()\nkeep = len(things)\n"
        },
    ),
    "what somebody has already": (
        "from registry import table\nclass Holder:\n    held = table\nimport plugins\nplugins.b()\nkeep = len(Holder.held)\n",
        {"registry": "table = []", "plugins": "from registry import table\ndef b(): pass\ntable.append(1)"},
    ),
    "a decorator that calls what it is given back": (
        "from other import keep\n",
        {
            "other": "keep = 0\ndef enter(x):\n    def inner(f):\n        global keep\n        keep = x\n        return f\n"
            "    return inner\n@enter(1)\ndef a(): pass\n"
        },
    ),
    "gradients that are turned off": (
        "from other import keep\n",
        {
            "other": "import torch\ntorch.set_grad_enabled(False)\nw = torch.ones(2, requires_grad=True) * 2\n"
            "keep = not w.requires_grad\n"
        },
    ),
    "a decorator that enters what it makes": (
        "from events import entered, on\nfrom model import a\n@on('x')\ndef own(): pass\na()\nkeep = len(entered['x']) > 1\n",
        {"events": ENTERING + MAKING, "model": "from events import remember\n@remember\ndef a(): pass\n"},
    ),
    "a decorator that has another module enter what it makes": (
        "from events import entered, on\nfrom model import a\n@on('x')\ndef own(): pass\na()\nkeep = len(entered['x']) > 1\n",
        {
            "events": ENTERING,
            "memo": "from events import on\n"
            + MAKING.replace("@on('x')", "").replace("    return f", "    on('x')(clear)\n    return f"),
            "model": "from memo import remember\n@remember\ndef a(): pass\n",
        },
    ),
    "a table of classes that say what they are": (
        "from bases import kinds\nimport models\nkeep = 'a' in kinds\n",
        {
            "bases": "kinds = {}\nclass Base:\n    def __init_subclass__(cls, kind):\n        kinds[kind] = cls\n",
            "models": "from bases import Base\nclass A(Base, kind='a'): pass\n",
        },
    ),
    "a tensor that torch changes": (
        "from other import keep\n",
        {"other": "import torch\nkeep = [0]\ndef fill(x):\n    x[0] = 1\nfill(keep)\ntorch.manual_seed(0)\nkeep = keep[0]"},
    ),
    "what a program sets": ("import other\nother.keep = 1\nkeep = other.keep\n", {"other": "keep = 0\nkeep = 0"}),
    "what a program sets first": ("import other\nother.x = 2\nkeep = other.f()\n", {"other": "x = 0\ndef f():\n    return x == 2"}),
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_modules_hold_what_they_would(machine: Machine, name: str) -> None:
    head, modules = MODULES[name]
    main = head + HEAD + "if keep:\n    loss.backward()\n"
    partly, whole = machine(main, **modules), machine.lowering(lower)(main, **modules)
    assert partly.places == whole.places == [("main.py", main.count("\n"))]


def test_what_nobody_asks_for_is_not_run(machine: Machine, ran: list[str]) -> None:
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
    assert machine(main, other=other).places == [("other.py", 13)]
    assert ran[0] == "def walk(loss):" and "table = [LOG, 1]" in ran and "import torch" not in ran
    assert "class Base:" not in ran and "class Other(Base):" not in ran


REGISTRY = """\
    import torch
    from third import graph
    lowerings = {}
    def register(name):
        def enter(f):
            lowerings[name] = f
            return f
        return enter
    def register_fallback(name):
        if name in lowerings:
            torch.backends.flag = True
        @register(name)
        def inner(x):
            graph.current.enter(x)
            graph.table[0] = x
            return x
        return inner
    @register("a")
    def a(x):
        return x
    register_fallback("b")
    torch.manual_seed(0)
    torch.backends.flag = False
    def plain(loss):
        loss.backward()
    """


def test_registrations_are_run_for_who_looks_them_up(machine: Machine, ran: list[str]) -> None:
    """Not for a name that lies beside them, though functions that they make may change other modules when called."""
    third = "class Graph:\n    table = {}\ngraph = Graph()\n"
    main = "from other import plain\n" + HEAD + "plain(loss)\n"
    assert machine(main, other=REGISTRY, third=third).places == [("other.py", 25)]
    assert ran == ["def plain(loss):"]
    ran.clear()
    asks = "from other import lowerings\n" + HEAD + "if len(lowerings) == 2:\n    loss.backward()\n"
    assert machine(asks, other=REGISTRY, third=third).places == [("main.py", 7)]
    assert 'register_fallback("b")' in ran and "torch.manual_seed(0)" not in ran


def test_what_notes_a_class_waits(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until somebody looks at what it is noted in; that isn't a reason to call it twice."""
    called: list[str] = []
    entered = calls._entered

    def noted(machine: protocol.Machine, state: State, func: Closure, *rest: Any) -> Any:
        called.append(func.code.name)
        return entered(machine, state, func, *rest)

    monkeypatch.setattr(calls, "_entered", noted)
    registry = "table = {}\ndef note(cls):\n    table[cls] = 1\n    return cls\n"
    plugins = "from registry import note\n@note\nclass Box:\n    x = 1\n    def read(self):\n        return self.x\n"
    main = HEAD + "from plugins import Box\nif Box().read():\n    loss.backward()\n"
    asks = "import registry\nlen(registry.table)\nlen(registry.table)\n"
    for more, times in (("", 0), (asks, 1)):
        called.clear()
        assert machine(main + more, registry=registry, plugins=plugins).places == [("main.py", 7)]
        assert called.count("note") == times and "read" in called


@pytest.mark.parametrize(
    "body",
    [
        "return g",
        "table[f] = 1",
        "if table:\n        return None\n    return f",
        "f.seen = 1\n    return f",
        "setattr(f, 'seen', 1)\n    return f",
        "f = wrapped(f)\n    return f",
        "wrapped(f)\n    return f",
        "f()\n    return f",
        "f[0] = 1\n    return f",
        "g = f or 1\n    return g",
        "def inner():\n        nonlocal f\n        f = 1\n    return f",
        "yield 1\n    return f",
    ],
)
def test_a_decorator_that_does_more_is_called(body: str) -> None:
    program = lower(Source("a.py", f"def d(f):\n    {body}\n"))
    [made] = [each for each in program.module.body if isinstance(each, ir.MakeFunction)]
    assert not gives_back(made.code)


def test_imports_for_types_need_no_tree(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that tells only type checkers what it holds, and finds it when it is asked."""
    read: list[str] = []
    whole = Lowering._lowered

    def noted(self: Lowering, part: Part) -> ir.Block:
        read.append(self._source.name)
        return whole(self, part)

    monkeypatch.setattr(Lowering, "_lowered", noted)
    lazy = """\
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from .inner import keep, other
        else:
            import sys
            sys.modules[__name__] = object()
        """
    files = {"pkg__init": lazy, "pkg__inner": "keep = 1\nother = 0"}
    assert machine(USED.replace("other", "pkg"), **files).places == [("main.py", 7)]
    assert [os.path.basename(os.path.dirname(each)) for each in read].count("pkg") == 1  # what `inner` holds


def test_a_name_like_that_of_types_is_asked(machine: Machine) -> None:
    lazy = "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from below import keep\nelse:\n    keep = 0\n"
    for each in (lower_partly, lower):
        assert machine.lowering(each)(USED, other=lazy, below="keep = 1").places == []


def test_a_part_is_run_once_for_all(machine: Machine, ran: list[str]) -> None:
    main = (
        "import other\nfrom other import keep\n"
        + HEAD
        + "a = other.keep\nb = keep\ndef f():\n    return other.keep\nf()\n"
    )
    machine(main, other="keep = 1")
    assert ran == ["keep = 1"]


def test_a_module_that_sees_its_names_is_run_whole(machine: Machine, ran: list[str]) -> None:
    main = HEAD + "from other import keep\nif keep:\n    loss.backward()\n"
    machine(main, other="a = 0\nfor x in (1, 2):\n    globals()['keep'] = x\n")
    assert len(ran) == 1


def test_a_graph_of_a_module_is_older_than_all(machine: Machine, ran: list[str]) -> None:
    other = "import torch\nbefore = torch.ones(2, requires_grad=True)\nscale = before * 2\nother = 1\n"
    main = "import torch\nfrom other import scale\nfor _ in range(2):\n    (scale * torch.ones(2)).sum().backward()\n"
    assert len(machine(main, other=other).places) == 1
    assert "other = 1" not in ran


def test_what_asks_for_more_of_its_module_goes_on(machine: Machine, ran: list[str]) -> None:
    """A statement that is being run asks for a name, whose statement is run in between, in registers of its own."""
    other = "def made():\n    return [LATER, LATER][0]\nLATER = [0, 1, 2]\nkeep = [made()[1], made()[2]][0]\n"
    main = HEAD + "from other import keep\nif keep:\n    loss.backward()\n"
    assert machine(main, other=other).places == [("main.py", 7)]
    assert ran[0].startswith("def made") and set(ran[1:]) == {"LATER = [0, 1, 2]", other.splitlines()[-1]}
