"""Which version of Python runs a program: torch needs 3.10, so that what is written for earlier ones isn't run."""

from __future__ import annotations

import pytest
from machine import Machine

PROGRAM = """\
import sys
import six
import torch
from sys import version_info

def train(x):
    loss = (x * torch.ones(2, requires_grad=True)).exp().sum()
    loss.backward()
    if {test}:
        loss.backward()
"""


@pytest.mark.parametrize(
    "test",
    [
        "sys.version_info[0] == 2",
        "sys.version_info < (3,)",
        "version_info < (3, 7)",
        "version_info[:2] <= (3, 9)",
        "not version_info >= (3, 10)",
        "(3, 0) > sys.version_info",
        "sys.version_info > (4,)",
        "sys.version_info.major < 3 or sys.version_info.minor < 10",
        "six.PY2",
    ],
)
def test_what_no_version_does_is_not_run(machine: Machine, test: str) -> None:
    assert not machine(PROGRAM.format(test=test)).lines


@pytest.mark.parametrize("test", ["sys.version_info >= (3, 6)", "version_info[0] == 3", "version_info > (3, 10)"])
def test_what_every_version_does_depends_on_nothing(machine: Machine, test: str) -> None:
    assert not machine(PROGRAM.format(test=test)).incident.conditions


@pytest.mark.parametrize(
    "test", ["sys.version_info >= (3, 12)", "version_info[1] < 11", "version_info == (3, 11, 4, 'final', 0)"]
)
def test_what_some_versions_do_is_run(machine: Machine, test: str) -> None:
    assert machine(PROGRAM.format(test=test)).incident.conditions


def test_one_version_runs_a_program(machine: Machine) -> None:
    text = PROGRAM.format(test="version_info < (3, 12)").replace(
        "    loss.backward()\n", "    version_info >= (3, 12) and loss.backward()\n", 1
    )
    assert not machine(text).lines
