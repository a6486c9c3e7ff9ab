"""Functions of numbers, worked out where a program says which: `math.ceil(9 / 4)`, `round(x, 1)`, `np.sqrt(16)`."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

from retainlint.symbolic.solver import terms
from retainlint.symbolic.solver.constants import NotWorkedOut, worked_out
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.protocol import Args
from retainlint.symbolic.state.values import Const, Value

_OF_MATH = """acos asin atan atan2 cbrt ceil copysign cos degrees exp exp2 expm1 fabs floor fmod gcd hypot isqrt lcm log log10 log1p
log2 pow radians remainder sin sqrt tan tanh trunc""".split()
_OF_NUMPY = "cos exp exp2 gcd lcm log log10 log2 sin sqrt tanh".split()


def _rounded(value: float, *digits: int) -> float:
    """`round`, but not to places that take long to be found."""
    if any(abs(each) > limits.ROUNDED_DIGITS for each in digits):
        raise OverflowError
    return round(value, *digits)


def _of_same_type(function: Callable[..., float]) -> Callable[..., float]:
    """The whole number that a function gives, as numpy has it: one with a point of one with a point."""
    return lambda value, *more: type(value)(function(value, *more))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "builtins.abs": abs, "builtins.round": _rounded,
    "numpy.abs": abs, "numpy.absolute": abs, "numpy.maximum": max, "numpy.minimum": min, "numpy.round": _of_same_type(_rounded),
    "numpy.ceil": _of_same_type(math.ceil), "numpy.floor": _of_same_type(math.floor), "numpy.trunc": _of_same_type(math.trunc),
    **{f"math.{name}": getattr(math, name) for name in _OF_MATH if hasattr(math, name)},
    **{f"numpy.{name}": getattr(math, name) for name in _OF_NUMPY if hasattr(math, name)},
}  # fmt: skip
"""None takes long for numbers of a usual size, as `math.factorial` would."""


def function(path: str, args: Args) -> Value | None:
    """Call one of them; None if a number isn't known."""
    return result(FUNCTIONS[path], args.pos) if args.pos and len(args.all) == len(args.pos) else None


def result(of: Callable[..., Any], values: tuple[Value, ...]) -> Const | None:
    """What a function gives for some numbers, and of which loops' turn numbers."""
    known = [each for each in values if isinstance(each, Const) and isinstance(each.value, int | float)]
    if len(known) < len(values):
        return None
    try:
        found = worked_out(of, *(each.value for each in known))
    except NotWorkedOut:
        return None
    if not isinstance(found, int | float) or found != found:  # nothing is equal to nan
        return None
    return Const(found, reduce(terms.both, (each.loops for each in known), ()))
