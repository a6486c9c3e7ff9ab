"""What makes the fixes of a cure: the function of these files that is called as the cure is; cures of one idea share a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, get_args

from retainlint.diagnostic import Cure, Diagnostic, Fix
from retainlint.fixes.code import EditableCode
from retainlint.fixes.cures import (
    backward_calls,
    carried,
    detach,
    expressions,
    hooks,
    no_grad,
    out_of_place,
    recompute,
    refused_calls,
    sum_losses,
    uncut,
)

FixBuilder: TypeAlias = Callable[[EditableCode, Any, Diagnostic], Iterator[Fix]]
"""From a cure to what could be done, in the order in which to try it."""

_FILES = (
    backward_calls, carried, detach, expressions, hooks, no_grad, out_of_place, recompute, refused_calls, sum_losses, uncut
)  # fmt: skip


def _builder(kind: type[Cure]) -> FixBuilder:
    """`keep_graph` of KeepGraph."""
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()
    found: FixBuilder = next(getattr(file, name) for file in _FILES if hasattr(file, name))
    return found


BUILDERS = {kind: _builder(kind) for kind in get_args(Cure)}
