"""A table of functions or classes that is asked for an unknown key: what only some of its items lead to is told with these."""

from __future__ import annotations

import pytest
from machine import Machine

BLOCK = """import torch
from torch import nn
from somewhere import config
def tanh():
    return nn.Tanh()
def silu():
    return nn.SiLU()
TABLE = {table}
{chosen}
h = act(nn.Linear(3, 3)(torch.ones(2, 3)))
h += 1
h.sum().backward()
"""
GIVEN = """def make(kind={default}):
    return TABLE[kind]()
act = make(**config)"""
KEPT = """kept = {}
for name in ("kind", "more"):
    if name in config:
        kept[name] = config[name]
"""


@pytest.mark.parametrize(
    ("table", "note"),
    [
        ("{'a': tanh, 'b': silu}", "`TABLE[config.act]` is the item under `'a'`"),
        ("{'b': silu, 'a': tanh}", "`TABLE[config.act]` is no item under `'b'`"),
        ("{'b': silu, 'c': nn.SiLU, 'a': tanh}", "`TABLE[config.act]` is no item under `'b', 'c'`"),
        ("{'b': silu, 'a': tanh, 'c': silu}", "`TABLE[config.act]` is the item under `'a'`"),
        ("{'a': nn.Tanh, 'b': nn.SiLU}", "`TABLE[config.act]` is the item under `'a'`"),
        ("{'a': tanh, 'b': nn.Tanh}", ""),
    ],
)
def test_a_failure_that_some_items_lead_to_is_told_with_these(machine: Machine, table: str, note: str) -> None:
    (told,) = machine(BLOCK.format(table=table, chosen="act = TABLE[config.act]()")).diagnostics
    conditions = [each for each in told.notes if "happens if" in each]
    assert (note in conditions[0]) if note else not conditions


@pytest.mark.parametrize("table", ["{'a': tanh, 'b': silu}", "{'b': silu, 'a': tanh}"])
@pytest.mark.parametrize(("default", "lines"), [("'a'", [14]), ("'b'", [])])
def test_what_nobody_sees_leaves_a_text_as_it_is_by_default(
    machine: Machine, table: str, default: str, lines: list[int]
) -> None:
    assert machine(BLOCK.format(table=table, chosen=GIVEN.format(default=default))).lines == lines


@pytest.mark.parametrize(("default", "lines"), [("'a'", [18]), ("'b'", [])])
def test_what_a_dict_may_lack_is_not_given(machine: Machine, default: str, lines: list[int]) -> None:
    chosen = KEPT + GIVEN.format(default=default).replace("config", "kept")
    assert machine(BLOCK.format(table="{'a': tanh, 'b': silu}", chosen=chosen)).lines == lines
