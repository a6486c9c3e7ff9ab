"""What unittest and pytest call before a test has run when the test does, on an object made for it."""

from __future__ import annotations

import pytest
from machine import Machine

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
