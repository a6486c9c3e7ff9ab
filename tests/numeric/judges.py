"""The two who run a program: the core's face, and real torch where it is installed."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import pytest


class Judge(NamedTuple):
    """What a program imports."""

    torch: Any
    functional: Any


@cache
def core() -> Judge:
    """The core's face."""
    from retainlint.numeric.namespace import build

    made = build()
    return Judge(made["torch"], made["torch.nn.functional"])


def torch_or_skip() -> Judge:
    """Real torch; skips the test where there is none."""
    torch = pytest.importorskip("torch", reason="judged by torch, which is not installed")
    torch.set_num_threads(1)
    return Judge(torch, torch.nn.functional)
