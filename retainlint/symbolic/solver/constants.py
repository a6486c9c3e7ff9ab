"""Works out what a program does with its constants, under one guard: what raises, or would swell, stays unknown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from retainlint.symbolic.state import limits

Result = TypeVar("Result")


STUMBLES = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, AssertionError)
"""What a model raises that is given other operands than it looks for. A path that has no more steps isn't among them."""


class NotWorkedOut(Exception):
    """The operation raises on these operands, or its result is too large to go on with."""


def worked_out(operation: Callable[..., Result], *values: Any, **named: Any) -> Result:
    """What an operation of Python's gives for these constants; it may raise whatever it will. Raises NotWorkedOut."""
    try:
        result = operation(*values, **named)
    except Exception as error:  # operands are the program's, and so are the ways in which they don't fit
        raise NotWorkedOut from error
    if isinstance(result, int) and result.bit_length() > limits.CONSTANT_BITS:
        raise NotWorkedOut
    if isinstance(result, str | bytes | list | tuple) and len(result) > limits.CONSTANT_LENGTH:
        raise NotWorkedOut
    return result
