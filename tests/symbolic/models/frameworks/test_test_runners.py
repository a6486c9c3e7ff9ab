"""What unittest and pytest call before a test has run when the test does, on an object made for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from machine import Machine

from retainlint.checking import linter
from retainlint.config import Configs, Settings

CASE = """
import unittest
import torch

class Base(unittest.TestCase):
    def setUp(self):
        self.w = torch.ones(3, requires_grad=True)

class TestLoss(Base):
    def setUp(self):
        super().setUp()
        self.loss = self.w.exp().sum()

    def test_once(self):
        self.loss.backward()

    def test_again(self):
        self.loss.backward()

    def test_expected(self):
        self.loss.backward()
        with self.assertRaises(RuntimeError):
            self.loss.backward()
"""
TWICE = """
    def test_twice(self):
        self.loss.backward()
        self.loss.backward()
"""
SHARED = """
import unittest
import torch

class TestLoss(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.w = torch.ones(3, requires_grad=True)
        cls.hidden = cls.w.exp()

    def test_sum(self):
        self.hidden.sum().backward()

    def test_product(self):
        self.hidden.prod().backward()
"""
PLAIN = """
import torch

class TestLoss:
    def setup_method(self):
        self.hidden = torch.ones(3, requires_grad=True).exp()

    def test_sum(self):
        self.hidden.sum().backward()
"""


def test_each_test_has_what_was_set_up_for_it(machine: Machine) -> None:
    assert machine(CASE).lines == machine(PLAIN).lines == []


def test_a_test_that_uses_it_twice_fails(machine: Machine) -> None:
    assert machine(CASE + TWICE).lines == [len((CASE + TWICE).splitlines())]


def test_tests_share_what_their_class_was_given(machine: Machine) -> None:
    assert machine(SHARED).lines == machine(SHARED.replace("setUpClass", "setup_class")).lines != []


def test_tests_run_by_their_names(machine: Machine) -> None:
    rows = SHARED.splitlines()
    assert machine(SHARED).lines == [rows.index("        self.hidden.sum().backward()") + 1]
    ordered = SHARED.replace("test_sum", "test_a_sum")
    assert machine(ordered).lines == [len(rows)]


def test_what_is_torn_down_behind_a_test_is_there_for_the_next(machine: Machine) -> None:
    torn = SHARED + "    def tearDown(self):\n        TestLoss.hidden = self.w.exp()\n"
    assert machine(torn).lines == []


def test_the_backward_passes_of_tests_are_judged(machine: Machine) -> None:
    assert not machine(CASE).exploration.unjudged


MARKED = """
import pytest
import unittest
import torch
from torch import nn

def twice():
    loss = torch.sigmoid(nn.Linear(2, 1)(torch.ones(1, 2))).mean()
    loss.backward()
    loss.backward()

"""


@pytest.mark.parametrize(
    ("test", "fails"),
    [
        ("@pytest.mark.xfail\ndef test_a():\n    twice()", False),
        ("@pytest.mark.xfail(raises=(RuntimeError, ValueError), strict=True)\ndef test_a():\n    twice()", False),
        ("@pytest.mark.xfail(raises=ValueError)\ndef test_a():\n    twice()", True),
        ("@pytest.mark.xfail(False, reason='never')\ndef test_a():\n    twice()", True),
        ("@pytest.mark.xfail\nclass TestA:\n    def test_a(self):\n        twice()", False),
        ("class TestA:\n    @pytest.mark.xfail()\n    def test_a(self):\n        twice()", False),
        ("class A(unittest.TestCase):\n    @unittest.expectedFailure\n    def test_a(self):\n        twice()", False),
        ("@pytest.mark.skip(reason='broken')\ndef test_a():\n    twice()", False),
        ("@pytest.mark.xfail\ndef test_a():\n    twice()\ndef test_b():\n    twice()", True),
    ],
)
def test_a_test_that_is_marked_to_fail_may(machine: Machine, test: str, fails: bool) -> None:
    assert machine(MARKED + test + "\n").lines == [10] * fails


FIXTURES = """
import pytest
import torch
from torch import nn

@pytest.fixture
def net():
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh())

@pytest.fixture({options})
def {name}(net):
    {gives} net(torch.ones(2, 3))

def test_shape(out, tmp_path):
    assert out.shape == (2, 4)

def test_once(net, out):
    out.sum().backward() #1

def test_again(out):
    out.mean().backward() #2
    {more}
"""


@pytest.mark.parametrize(
    ("options", "name", "gives", "more", "rows"),
    [
        ("", "out", "return", "", []),
        ("", "out", "return", "out.sum().backward() #3", ["3"]),
        ("name='out'", "made", "yield", "out.sum().backward() #3", ["3"]),
        ("name='out'", "made", "yield", "net.zero_grad()", []),
        ("scope='module'", "out", "return", "", ["2"]),
        ("scope='session'", "out", "yield", "", ["2"]),
    ],
)
def test_a_test_is_given_what_the_fixtures_make_that_its_parameters_name(
    machine: Machine, options: str, name: str, gives: str, more: str, rows: list[str]
) -> None:
    text = FIXTURES.format(options=options, name=name, gives=gives, more=more)
    assert [text.splitlines()[line - 1][-1] for line in machine(text).lines] == rows


CLASSES = """
import pytest
import torch
from torch import nn

@pytest.fixture({options})
def out():
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh())(torch.ones(2, 3))

@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)

class TestOnce:
    def setup_method(self):
        self.loss = nn.Linear(3, 1)(torch.ones(2, 3)).exp().sum()

    def test_own(self):
        self.loss.backward()

    def test_both(self, out):
        self.loss.backward()
        out.sum().backward() #1

class TestTwice:
    @pytest.fixture(autouse=True)
    def prepared(self):
        self.h = torch.ones(3, requires_grad=True).exp()

    def test_one(self, out):
        out.sum().backward() #2

    def test_two(self, out):
        out.mean().backward() #3
        {more}
"""


@pytest.mark.parametrize(
    ("options", "more", "rows"),
    [
        ("", "", []),
        ("", "out.sum().backward() #4", ["4"]),
        ("scope='class'", "", ["3"]),
    ],
)
def test_a_test_of_a_class_runs_once_on_what_is_set_up_and_made_for_it(
    machine: Machine, options: str, more: str, rows: list[str]
) -> None:
    text = CLASSES.format(options=options, more=more)
    assert [text.splitlines()[line - 1][-1] for line in machine(text).lines] == rows


OFF = """
import pytest
import torch

@pytest.fixture(autouse={used})
def off():
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    yield
    torch.set_grad_enabled(before)
"""
TESTED = """
import pytest
import torch
@pytest.fixture
def unused():
    return 3
w = torch.ones(3, requires_grad=True)

def test_one({given}):
    w.exp().sum().backward()

class TestTwo:
    def test_two(self{more}):
        w.exp().sum().backward()
"""


@pytest.mark.parametrize(
    ("used", "given", "lines"), [(True, "", [10, 14]), (False, "", []), (False, "off", [10, 14]), (False, "x", [])]
)
def test_fixtures_lie_above_the_tests_too(tmp_path: Path, used: bool, given: str, lines: list[int]) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "conftest.py").write_text(OFF.format(used=used), encoding="utf-8")
    test = tmp_path / "inner" / "test_it.py"
    test.write_text(TESTED.format(given=given, more=given and f", {given}"), encoding="utf-8")
    found = linter.check([str(test)], Configs.alike(Settings())).diagnostics
    assert [each.primary.span.row for each in found if each.code == "RTL112"] == lines
