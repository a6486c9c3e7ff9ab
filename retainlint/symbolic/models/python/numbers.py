"""Functions and methods of numbers, worked out where a program says which: `math.ceil(9 / 4)`, `math.prod(sizes)`."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from retainlint.symbolic.solver import terms
from retainlint.symbolic.solver.terms import NotWorkedOut, worked_out
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.protocol import Args
from retainlint.symbolic.state.values import Const, Value

_OF_MATH = """acos asin atan atan2 cbrt ceil copysign cos degrees exp exp2 expm1 fabs floor fmod gcd hypot isqrt lcm log log10 log1p
log2 pow radians remainder sin sqrt tan tanh trunc""".split()
_OF_NUMPY = "cos exp exp2 gcd lcm log log10 log2 sin sqrt tanh".split()
_OF_ITEMS: dict[str, Callable[..., Any]] = {
    "math.prod": math.prod, "math.fsum": math.fsum, "numpy.prod": math.prod, "numpy.sum": sum,
    "numpy.max": max, "numpy.amax": max, "numpy.min": min, "numpy.amin": min,
    "numpy.mean": statistics.fmean, "numpy.median": statistics.median, "numpy.average": statistics.fmean,
    "statistics.mean": statistics.mean, "statistics.fmean": statistics.fmean, "statistics.median": statistics.median,
    "numpy.argmax": lambda items: items.index(max(items)), "numpy.argmin": lambda items: items.index(min(items)),
}  # fmt: skip
METHODS = frozenset("bit_length bit_count is_integer conjugate __index__ __int__ __float__ __len__".split())
"""Of a number, or a text, without arguments."""


def _rounded(value: float, *digits: int) -> float:
    """`round`, but not to places that take long to be found."""
    if any(abs(each) > limits.ROUNDED_DIGITS for each in digits):
        raise OverflowError
    return round(value, *digits)


def _few(function: Callable[..., float]) -> Callable[..., float]:
    """One whose result is as long as its operands are large, of small ones alone."""

    def of_small(*values: float) -> float:
        if any(abs(each) > limits.COMBINED_NUMBER for each in values):
            raise OverflowError
        return function(*values)

    return of_small


def _of_same_type(function: Callable[..., float]) -> Callable[..., float]:
    """The whole number that a function gives, as numpy has it: one with a point of one with a point."""
    return lambda value, *more: type(value)(function(value, *more))


_GAINS = {"sigmoid": 1, "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4, "linear": 1} | {
    f"conv{kind}{size}d": 1 for kind in ("", "_transpose") for size in (1, 2, 3)
}


def gain(name: str, slope: float = 0.01) -> float:
    """`nn.init.calculate_gain`."""
    return math.sqrt(2 / (1 + slope**2)) if name == "leaky_relu" else _GAINS[name]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{f"builtins.{each.__name__}": each for each in (bin, chr, hex, int, oct, ord)},
    "builtins.abs": abs, "builtins.round": _rounded, "builtins.pow": _few(pow), "numpy.power": _few(pow),
    "math.comb": _few(math.comb), "math.perm": _few(math.perm), "math.factorial": _few(math.factorial),
    "numpy.clip": lambda value, least, most: min(max(value, least), most),
    **{f"numpy.{kind.__name__}{size}": kind for kind in (int, float) for size in ("16", "32", "64")},
    "numpy.abs": abs, "numpy.absolute": abs, "numpy.maximum": max, "numpy.minimum": min, "numpy.round": _of_same_type(_rounded),
    "numpy.ceil": _of_same_type(math.ceil), "numpy.floor": _of_same_type(math.floor), "numpy.trunc": _of_same_type(math.trunc),
    **{f"math.{name}": getattr(math, name) for name in _OF_MATH if hasattr(math, name)},
    **{f"numpy.{name}": getattr(math, name) for name in _OF_NUMPY if hasattr(math, name)},
}  # fmt: skip
"""None takes long, whatever it is given."""


def function(path: str, args: Args, items: Callable[[Value], Sequence[Value] | None]) -> Value | None:
    """Call one of them, or one of the `items` of what it is given; None if a number isn't known, or no such function."""
    if not args.pos or len(args.all) > len(args.pos):
        return None
    if path in _OF_ITEMS:
        known = items(args.pos[0]) if len(args.pos) == 1 else None
        return result(lambda *each: _OF_ITEMS[path](each), known) if known else None
    return result(FUNCTIONS[path], args.pos) if path in FUNCTIONS else None


def result(of: Callable[..., Any], values: Sequence[Value]) -> Const | None:
    """What a function gives for some numbers or texts, and of which loops' turn numbers."""
    known = [each for each in values if isinstance(each, Const) and isinstance(each.value, int | float | str)]
    if len(known) < len(values):
        return None
    try:
        found = worked_out(of, *(each.value for each in known))
    except NotWorkedOut:
        return None
    if not isinstance(found, int | float | str) or found != found:  # nothing is equal to nan
        return None
    return Const(found, reduce(terms.both, (each.loops for each in known), ()))
