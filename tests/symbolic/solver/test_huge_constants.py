"""What Python would fill the memory with is not worked out."""

from __future__ import annotations

import time

import pytest

from retainlint.checking.linter import check_source
from retainlint.config import Settings

START = "import torch\nw = torch.ones(2, requires_grad=True)\nloss = (w * w).sum()\n"
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
    result = check_source("a.py", (START + text + BACKWARD_NAMES).encode(), Settings())
    assert result.crash == "" and [found.code for found in result.diagnostics] == ["RTL102"]
    assert time.process_time() - begun < 10


@pytest.mark.parametrize(
    "truth",
    ["'ab' * 2 == 'abab'", "3 * b'x' == b'xxx'", "'{}-{}'.format(1, 2) == '1-2'", "'aba'.replace('a', 'c') == 'cbc'",
     "2**10 == 1024", "1 << 4 == 16", "7 % 4 == 3"],
)  # fmt: skip
def test_what_is_small_is_worked_out(truth: str) -> None:
    """A branch that isn't taken hides its walk."""
    text = f"{START}if not ({truth}):\n    loss.backward()\nloss.backward()\n"
    assert check_source("a.py", text.encode(), Settings()).diagnostics == ()
