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
_AS_NUMPY_HAS_THEM = {
    **{name: name for name in ("ceil", "cos", "exp", "exp2", "floor", "gcd", "lcm", "log", "log10", "log2", "sin", "sqrt", "tanh", "trunc")},
    "abs": "fabs", "absolute": "fabs",
}  # fmt: skip


def _rounded(value: float, *digits: int) -> float:
    """`round`, but not to places that take long to be found."""
    if any(abs(each) > limits.ROUNDED_DIGITS for each in digits):
        raise OverflowError
    return round(value, *digits)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "builtins.abs": abs, "builtins.round": _rounded, "numpy.round": _rounded, "numpy.maximum": max, "numpy.minimum": min,
    **{f"math.{name}": getattr(math, name) for name in _OF_MATH if hasattr(math, name)},
    **{f"numpy.{name}": getattr(math, of) for name, of in _AS_NUMPY_HAS_THEM.items() if hasattr(math, of)},
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
