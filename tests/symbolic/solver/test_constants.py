"""Odd and huge constants beside a failure: what they raise is the program's, what would fill the memory isn't worked out."""

from __future__ import annotations

import time

import pytest
from machine import Machine

from retainlint.checking.linter import check_source
from retainlint.config import Settings
from retainlint.symbolic.solver.terms import NotWorkedOut, worked_out

ODD = (
    "a = 'x' @ 2", "a = 1 @ 1.5", "a = -+~n", "a = +n + +n", "a = (+n) - 1", "if +n > 2: pass", "if -n % 3 == 1: pass", "a = (0, 1)[:'x']",
    "a = [0, 1][0:2:0]", "a = [0, 1][::1.5]", "a = (1,) * 9 ** 99", "a = () * 9 ** 99", "a = [1] * -9 ** 99", "a = 'x' * 9 ** 99", "a = 1 << 9 ** 99",
    "a = 2 ** 2 ** 2 ** 2 ** 2 ** 9", "a = 0 ** -1", "a = 1.5 ** 9 ** 9", "a = int('9' * 9999)", "a = int(1e999)",
    "a = float(10 ** 999)", "a = round(1e999)", "a = chr(-1)", "a = divmod(1, 0)", "a = '%*d' % (10 ** 9, 1)",
    "a = '{:{}}'.format(1, 10 ** 9)", "a = '{0.x}'.format(1)", "a = '{'.format()", "a = 'x'.split('')",
    "a = 'x'.splitlines(9 ** 99)", "a = 'x'.count()", "a = 'x'.replace('', '', 9 ** 99)", "a = b'x'.title(1)",
    "for i in range(9 ** 99): pass", "for i in range(0, -9 ** 99, -1): pass", "for i in range(0, 9, 0): pass",
    "for i in range(): pass", "for i in enumerate(): pass", "for i in reversed(): pass", "for i in zip(): pass",
    "for i in map(): pass", "for i in map(len): pass", "for i in filter(): pass", "for i in iter(): pass",
    "for i in sorted(): pass", "a = list(enumerate())", "a = [*reversed()]", "a = sum()", "a = min()", "a = next()",
    "a = getattr()", "a = getattr(w)", "setattr()", "a = isinstance(w)", "a = hasattr()", "a = super()", "a = dict(1)",
    "a = dict([1])", "a = dict([(1,)])", "a = len()", "a = abs()", "a = int()", "a = type()", "a = vars()", "a = divmod()",
    *(f"a = torch.{name}()" for name in """index_add scatter where cat stack einsum lerp pow clamp matmul addmm gather
    index_select masked_fill topk sort max chunk split unbind meshgrid tensor ones full arange linspace eye rand
    norm bmm baddbmm outer sum mean""".split()),
    *(f"a = torch.nn.functional.{name}()" for name in """layer_norm batch_norm cross_entropy pad dropout embedding
    linear conv2d nll_loss one_hot""".split()),
    *(f"a = w.{name}()" for name in """index_add scatter scatter_ where lerp pow add_ mul index_copy_ masked_fill_ view
    reshape expand repeat permute transpose to type_as register_hook narrow select""".split()),
    "a = torch.nn.Sequential()()", "a = torch.nn.ModuleList()[0]", "a = torch.optim.SGD()", "a = torch.nn.Linear()()",
)  # fmt: skip


@pytest.mark.parametrize("row", ODD)
def test_what_they_raise_hides_no_failure(machine: Machine, row: str) -> None:
    text = f"""import torch
w = torch.ones(3, requires_grad=True)
n = int(input())
loss = (w * w).sum()
try:
    {row}
except Exception:
    pass
loss.backward()
loss.backward()
"""
    begun = time.perf_counter()
    exploration = machine(text)
    assert 10 in {incident.primary.row for incident in exploration.incidents}
    assert time.perf_counter() - begun < 5


def test_whatever_an_operation_raises_is_one_exception() -> None:
    def broken() -> int:
        raise RuntimeError

    for operation, values in ((broken, ()), (pow, (2, 99_999)), (lambda: "x" * 2_000_000, ()), (int, (float("inf"),))):
        with pytest.raises(NotWorkedOut):
            worked_out(operation, *values)
    assert worked_out(pow, 2, 9) == 512


def test_remainders_by_many_numbers_take_no_room(machine: Machine) -> None:
    """Their rounds come back only after billions of turns."""
    rows = [
        f"    if i % {prime} == 1:\n        loss = (w * w).sum()\n" for prime in (7, 11, 13, 17, 19, 23, 29, 31, 37, 41)
    ]
    text = f"""import torch
w = torch.ones(3, requires_grad=True)
loss = (w * w).sum()
for i in range(n):
{"".join(rows)}loss.backward()
loss.backward()
"""
    begun = time.perf_counter()
    assert machine(text).lines == [len(rows) * 2 + 6]
    assert time.perf_counter() - begun < 30


BEFORE = "import torch\nw = torch.ones(2, requires_grad=True)\nloss = (w * w).sum()\n"
BACKWARD_NAMES = "\nloss.backward()\nloss.backward()\n"


@pytest.mark.parametrize(
    "text",
    [
        "a = 'a' * 10**12", "a = 10**12 * b'ab'", "a = len('a' * 10**12)", "a = '%999999999d' % 5", "a = '%*d' % (10**9, 5)",
        "a = '{:>999999999}'.format(5)", "a = '{:>{}}'.format(5, 10**9)", "a = f'{5:>999999999}'", "a = 2**64**64", "a = 1 << 10**12",
        "a = 'ab' * 5000\nb = a.replace('a', a)\nc = b.replace('a', b)", "a = [0] * 10**12", "a = list(range(10**12))",
        "a = 'a'\nwhile True:\n    a = a + a\n    if len(a) > 10**9: break",
    ],
)  # fmt: skip
def test_it_neither_hangs_nor_crashes(text: str) -> None:
    begun = time.process_time()
    result = check_source("a.py", (BEFORE + text + BACKWARD_NAMES).encode(), Settings())
    assert result.crash == "" and [found.code for found in result.diagnostics] == ["RTL102"]
    assert time.process_time() - begun < 10


@pytest.mark.parametrize(
    "truth",
    ["'ab' * 2 == 'abab'", "3 * b'x' == b'xxx'", "'{}-{}'.format(1, 2) == '1-2'", "'aba'.replace('a', 'c') == 'cbc'",
     "2**10 == 1024", "1 << 4 == 16", "7 % 4 == 3"],
)  # fmt: skip
def test_what_is_small_is_worked_out(truth: str) -> None:
    """A branch that isn't taken hides its walk."""
    text = f"{BEFORE}if not ({truth}):\n    loss.backward()\nloss.backward()\n"
    assert check_source("a.py", text.encode(), Settings()).diagnostics == ()
