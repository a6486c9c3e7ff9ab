"""Numbers that a program works out: a graph that as many backward passes go through as a number says, each of which keeps it but
the last, is freed once; and twice, where the last but one doesn't keep it. Python says what the number is."""

from __future__ import annotations

import importlib

import pytest
from machine import Machine

from retainlint.diagnostic import Severity

MODULES = "collections functools itertools math operator random statistics".split()

KNOWN = """
math.prod([2, 2]); math.prod((1, 4)); pow(2, 2); pow(2, 2, 5); divmod(9, 2)[0]; math.comb(4, 1); math.perm(4, 1)
math.factorial(4) // 6; (15).bit_length(); int("100", 2); int("0x4", 16); ord("d") - 96; len(bin(3)); len(hex(10)) + 1
len(oct(7)) + 1; len(chr(97) * 4); statistics.mean([4, 4]); int(statistics.median([1, 4, 9])); sum([[1, 2], [3, 4]], []).pop()
[1, 1, 1, 1, 2].count(1); "a,b,c,d".count(",") + 1; "abcdz".index("z"); "abcd".rindex("d") + 1; len(b"abcd")
len("x" * 300) - 296; collections.Counter("aaaab")["a"]; len(collections.Counter("abcd")); collections.Counter("ab")["z"] + 4
next(i for i in range(9) if i * i > 9); next(i for i in range(20) if i > 3); next((i for i in range(3) if i > 3), 4)
next(len(w) for w in ["ab", "abcd"] if "d" in w); len(random.sample(range(10), 4)); len(random.choices([1, 2], k=4))
sum(1 for _ in range(4)); functools.reduce(operator.mul, [2, 2]); list(itertools.accumulate([1, 2, 1]))[-1]
"""


def _expressions() -> list[str]:
    return [each.strip() for line in KNOWN.strip().splitlines() for each in line.split(";")]


def _program(expression: str, last: int) -> str:
    return f"""
import torch, {", ".join(MODULES)}
n = {expression}
loss = torch.ones(2, requires_grad=True).exp().sum()
for step in range(n):
    loss.backward(retain_graph=step != {last})
"""


@pytest.mark.parametrize("expression", _expressions())
def test_a_number_is_worked_out(expression: str, machine: Machine) -> None:
    number = eval(expression, {name: importlib.import_module(name) for name in MODULES})
    assert number == 4
    assert not machine(_program(expression, 3)).lines
    told = machine(_program(expression, 2)).incident
    assert not told.conditions and not told.assumptions


def test_a_number_that_nobody_knows_makes_a_warning(machine: Machine) -> None:
    """Who writes which iteration frees the graph may have known that it is the last."""
    [warned] = machine(_program("int(input())", 3)).diagnostics
    assert warned.severity is Severity.WARNING
    assert any("goes on behind the iteration that frees the graph" in note for note in warned.notes)
    [certain] = machine(_program("8", 3)).diagnostics
    assert certain.severity is Severity.ERROR
