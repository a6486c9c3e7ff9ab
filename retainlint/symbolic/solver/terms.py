"""Numbers and texts that are computed from others, known or not."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any, TypeVar

from retainlint.symbolic.solver.intervals import SIZES
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.path_condition import linear
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import COUNT, Const, Symbol, Term, UnknownObj, Value

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<<": operator.lshift, ">>": operator.rshift,
}  # fmt: skip
_MASKS = (1, 3, 7, 15, 31)


def binary(op: str, left: Value, right: Value) -> Value | None:
    """The result on numbers and texts, known or not; None if a value is neither."""
    if isinstance(left, Const) and isinstance(right, Const):
        return _fold(op, left.value, right.value, both(left.loops, right.loops))
    if not (is_scalar(left) and is_scalar(right)):
        return None
    if op in ("%", "*") and left == Const(0):
        return left
    if op == "%" and right == Const(1) and _is_whole(left):
        return Const(0)
    if op == "-" and isinstance(right, Term) and right.op == "-" and len(right.args) == 2:
        first = binary("-", left, right.args[0])
        if isinstance(first, Const) and isinstance(first.value, int):
            return sum_of("+", right.args[1], first)
    if op == "&" and isinstance(right, Const) and right.value in _MASKS:
        return binary("%", left, Const(right.value + 1))
    if op in ("+", "-") and isinstance(right, Const) and isinstance(right.value, int):
        base, offset = linear(left)
        total = offset + (right.value if op == "+" else -right.value)
        return base if total == 0 and base is not None else _term("+", base or left, Const(total))
    if op == "+" and isinstance(left, Const) and isinstance(left.value, int):
        return binary("+", right, left)
    (base, offset), (other, ahead) = linear(left), linear(right)
    if op == "-" and base == other:
        return Const(offset - ahead)
    if op in ("+", "-") and ahead and base is not None and other is not None:  # what is known stands last
        return binary("+", _term(op, base, other), Const(offset + (ahead if op == "+" else -ahead)))
    return _term(op, left, right)


def _fold(op: str, left: Any, right: Any, loops: tuple[int, ...]) -> Value | None:
    try:
        if op in _BINARY and not worked_out(_swells, op, left, right):
            result = worked_out(_BINARY[op], left, right)
            if not isinstance(result, str | bytes) or len(result) <= limits.FOLDED_TEXT:
                return Const(result, loops)
    except NotWorkedOut:
        pass
    return Term(op, (Const(left), Const(right)))


def both(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The loops from whose turn numbers a value is computed, by those of its two parts."""
    return (*a, *(each for each in b if each not in a)) if a and b else a or b


def _swells(op: str, left: Any, right: Any) -> bool:
    """Whether a result may be too large to be worked out. Raises TypeError for what has no size."""
    if op in ("**", "<<"):
        return bool(abs(left) > limits.POWER_BASE or abs(right) > limits.SHIFT)
    if op == "*" and isinstance(right, str | bytes):
        left, right = right, left
    if isinstance(left, str | bytes):
        return len(left) * right > limits.FOLDED_TEXT if op == "*" else op == "%" and is_wide(left, right)
    return False


def is_wide(text: str | bytes, *values: object) -> bool:
    """Whether a text may ask for columns too wide to be filled, where values are written into it."""
    shown = text if isinstance(text, str) else text.decode("latin-1")
    given = any(isinstance(value, int) and abs(value) > limits.FOLDED_TEXT for value in values)
    return re.search(r"[0-9]{5}", shown) is not None or (given and re.search(r"\*|:[^{}:]*\{", shown) is not None)


def _term(op: str, *args: Value) -> Value:
    term = Term(op, args)
    return term if term.depth <= limits.TERM_DEPTH else Term("opaque", (Const(hash(term)),))


def is_scalar(value: Value) -> bool:
    """A number, a text or a truth, known or not."""
    return isinstance(value, (Const, Term, Symbol))


def is_truth(value: Value) -> bool:
    """Whether a value is surely true or false, known or not."""
    if isinstance(value, Const):
        return isinstance(value.value, bool)
    return isinstance(value, Term) and value.op in ("==", "!=", "<", "<=", ">", ">=", "not")


def _is_whole(value: Value) -> bool:
    """Whether a number is a loop's, or a size, and perhaps some more."""
    base, _ = linear(value)
    return (isinstance(base, Symbol) and base.loop != 0) or (isinstance(base, Term) and base.op in SIZES)


def is_count(state: State, value: Value) -> bool:
    """A number, or an unknown that others were divided by."""
    held = state.get(value)
    return is_scalar(value) or (isinstance(held, UnknownObj) and held.hint == COUNT)


def sum_of(op: str, left: Value, right: Value) -> Value:
    """The sum, or the difference, of two counts, known or not."""
    if (folded := binary(op, left, right)) is not None or right == Const(0):
        return folded or left
    if isinstance(right, Const) and isinstance(right.value, int):
        return _term("+", left, Const(right.value if op == "+" else -right.value))
    if op == "+" and isinstance(left, Const):
        return right if left == Const(0) else _term("+", right, left)
    return _term(op, left, right)


def strides(start: Value, stop: Value, step: Value) -> Value | None:
    """How many turns a range makes that counts by more than one, or by an unknown number, taken for positive."""
    if isinstance(step, Const) and not (isinstance(step.value, int) and step.value > 1):
        return None
    width = sum_of("+", sum_of("-", stop, start), sum_of("-", step, Const(1)))
    return Term("//", (width, step))


def product(left: Value, right: Value) -> Value:
    """The product of two counts, known or not."""
    return left if left == Const(0) else binary("*", left, right) or _term("*", left, right)


# -- constants that are worked out ------------------------------------------------------------------------------------


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
