"""Members of enumerations: which is which is known, so that no path is run that Python never takes."""

from __future__ import annotations

import pytest
from machine import Machine

PROGRAM = """\
import enum
import torch
from enum import Enum, IntEnum, auto

class Stage(Enum):
    TRAIN = auto()
    VALID = auto()
    LAST = VALID

    def is_train(self):
        return self is Stage.TRAIN

class Kind(enum.Enum):
    A = "a"
    B = "b"
    C = "a"

class Same(Enum):
    ONE = 1
    TWO = 2

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0

class Level(IntEnum):
    LOW = 1
    HIGH = 2

def train(stage, kind, level):
    loss = torch.nn.Linear(2, 2)(torch.ones(2)).pow(2).sum()
    loss.backward()
    if {condition}:
        loss.backward()

train(Stage.TRAIN, Kind.A, Level.LOW)
"""
DEFINITIONS = PROGRAM.partition("def train(")[0].replace("import torch\n", "")
UNKNOWN = """\
import torch
from enum import Enum

class Stage(Enum):
    TRAIN = 1
    VALID = 2

def train(stage, loader):
    loss = torch.nn.Linear(2, 2)(torch.ones(2)).pow(2).sum()
    if {first}:
        loss.backward()
    if {second}:
        loss.backward()
"""


@pytest.mark.parametrize(
    "condition",
    [
        "stage == Stage.VALID", "stage is Stage.VALID", "Stage.VALID is not Stage.LAST", "stage != Stage.TRAIN", "Stage.LAST is stage",
        "stage in (Stage.VALID, None)", "stage not in [Stage.TRAIN]", "not stage.is_train()", "stage.value == 2",
        "stage.name == 'VALID'", "stage == 1", "stage is None", "stage == 'TRAIN'", "not stage", "kind == Kind.B",
        "kind != Kind.C", "Kind('b') is kind", "Stage['VALID'] is stage", "Kind['C'] != kind", "Same.ONE != Same.TWO", "kind == 'a'", "kind == stage", "{Kind.A: 0, Kind.B: 1}[kind]",
        "level == Level.HIGH", "level != 1", "level > Level.LOW",
    ],
)  # fmt: skip
@pytest.mark.parametrize("holds", [False, True])
def test_it_is_known_which_member_a_value_is(machine: Machine, condition: str, holds: bool) -> None:
    chosen: dict[str, object] = {}
    exec(DEFINITIONS + "stage, kind, level = Stage.TRAIN, Kind.A, Level.LOW", chosen)
    assert not eval(condition, chosen)
    program = PROGRAM.replace("{condition}", f"not ({condition})" if holds else condition)
    seen = machine(program)
    assert bool(seen.incidents) is holds
    assert not any(incident.conditions for incident in seen.incidents)


@pytest.mark.parametrize(
    ("first", "second", "fails"),
    [
        ("stage == Stage.TRAIN", "stage == Stage.VALID", False),
        ("stage is Stage.TRAIN", "stage != Stage.TRAIN", False),
        ("stage is Stage.TRAIN", "stage == Stage.TRAIN", True),
        ("stage == Stage.TRAIN", "stage in (Stage.TRAIN, Stage.VALID)", True),
        ("stage == Stage.TRAIN", "stage in (Stage.VALID,)", False),
    ],
)
def test_a_value_that_nobody_knows_is_one_member_at_a_time(
    machine: Machine, first: str, second: str, fails: bool
) -> None:
    seen = machine(UNKNOWN.replace("{first}", first).replace("{second}", second))
    assert bool(seen.incidents) is fails
