"""What a path knows of conditions: decides them where it can, from constants, earlier answers and bounds."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

from retainlint.symbolic import outside, remainders
from retainlint.symbolic.bounds import by_bounds, linear, within
from retainlint.symbolic.state import State
from retainlint.symbolic.values import (
    COUNT,
    Bound,
    ClassObj,
    Closure,
    Const,
    DictObj,
    External,
    GradMode,
    Instance,
    LayerObj,
    ListObj,
    Method,
    OptimizerObj,
    Partial,
    Ref,
    Symbol,
    TensorObj,
    Term,
    Tuple,
    UnknownObj,
    Value,
    Wrapped,
)

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "in": lambda a, b: a in b, "not in": lambda a, b: a not in b,
}  # fmt: skip
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<<": operator.lshift, ">>": operator.rshift,
}  # fmt: skip
_NEGATED = {"!=": "==", "is not": "is", "not in": "in", ">": "<=", ">=": "<"}
_MASKS = (1, 3, 7, 15, 31)
_DEEPEST, _WIDEST = 6, 10_000


def binary(op: str, left: Value, right: Value) -> Value | None:
    """The result on numbers and texts, known or not; None if a value is neither."""
    if isinstance(left, Const) and isinstance(right, Const):
        return _fold(op, left.value, right.value, left.loop or right.loop)
    if not (is_scalar(left) and is_scalar(right)):
        return None
    if op == "%" and left == Const(0):
        return left
    if op == "&" and isinstance(right, Const) and right.value in _MASKS:
        return binary("%", left, Const(right.value + 1))
    if op in ("+", "-") and isinstance(right, Const) and isinstance(right.value, int):
        base, offset = linear(left)
        total = offset + (right.value if op == "+" else -right.value)
        return base if total == 0 and base is not None else _term("+", base or left, Const(total))
    if op == "+" and isinstance(left, Const) and isinstance(left.value, int):
        return binary("+", right, left)
    return _term(op, left, right)


def _fold(op: str, left: Any, right: Any, loop: int) -> Value | None:
    try:
        if _swells(op, left, right):
            return Term(op, (Const(left), Const(right)))
        result = _BINARY[op](left, right)
        if isinstance(result, str | bytes) and len(result) > _WIDEST:
            return Term(op, (Const(left), Const(right)))
        return Const(result, loop)
    except (ArithmeticError, TypeError, ValueError):
        return Term(op, (Const(left), Const(right)))


def _swells(op: str, left: Any, right: Any) -> bool:
    """Whether a result may be too large to be worked out. Raises TypeError for what has no size."""
    if op in ("**", "<<"):
        return bool(abs(left) > _WIDEST or abs(right) > 64)
    if op == "*" and isinstance(right, str | bytes):
        left, right = right, left
    if isinstance(left, str | bytes):
        return len(left) * right > _WIDEST if op == "*" else op == "%" and is_wide(left, right)
    return False


def is_wide(text: str | bytes, *values: object) -> bool:
    """Whether a text may ask for columns too wide to be filled, where values are written into it."""
    shown = text if isinstance(text, str) else text.decode("latin-1")
    given = any(isinstance(value, int) and abs(value) > _WIDEST for value in values)
    return re.search(r"[0-9]{5}", shown) is not None or (given and re.search(r"\*|:[^{}]*\{", shown) is not None)


def _term(op: str, *args: Value) -> Value:
    term = Term(op, args)
    return term if _depth(term) <= _DEEPEST else Term("opaque", (Const(hash(term)),))


def _depth(value: Value) -> int:
    return 1 + max(map(_depth, value.args), default=0) if isinstance(value, Term) else 0


def is_scalar(value: Value) -> bool:
    """A number, a text or a truth, known or not."""
    return isinstance(value, Const | Term | Symbol)


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
        return _term("+", right, left)
    return _term(op, left, right)


def compare(state: State, op: str, left: Value, right: Value) -> Value:
    """The truth of a comparison, as a constant or a term."""
    if op in _NEGATED:
        return negate(compare(state, _NEGATED[op], left, right))
    if op == "is" or (op == "==" and all(isinstance(state.get(each), ClassObj) for each in (left, right))):
        same = _identical(state, left, right)
        return Const(same) if same is not None else _spelt("is", left, right)
    if isinstance(left, Const) and isinstance(right, Const):
        try:
            return Const(bool(_COMPARE[op](left.value, right.value)), left.loop or right.loop)
        except (TypeError, ValueError):
            return Term(op, (left, right))
    if op in ("==", "<", "<="):
        bounded = by_bounds(op, left, right)
        if bounded is not None:
            return Const(bounded, _loop_of(left) or _loop_of(right))
        if op == "==" and left == right and is_scalar(left):
            return Const(True)
        if op == "==" and isinstance(left, Const) and not isinstance(right, Const):
            left, right = right, left
    if op == "in":
        return _contains(state, left, right)
    return _spelt(op, left, right)


def _spelt(op: str, left: Value, right: Value) -> Value:
    """A comparison as a term, the same one for all ways to write it: `a < b` and `b > a`, `i + 1 == n` and `i == n - 1`."""
    if isinstance(left, Const) or op not in ("==", "is", "<", "<="):
        return Term(op, (left, right))
    (lbase, loff), (rbase, roff) = linear(left), linear(right)
    if loff and lbase is not None and op != "is":
        if isinstance(right, Const) and rbase is None:
            return Term(op, (lbase, Const(roff - loff, right.loop)))
        if rbase is not None:
            left, right = lbase, rbase if roff == loff else sum_of("+", rbase, Const(roff - loff))
    if isinstance(right, Const):
        return Term(op, (left, right))
    if op == "<":
        return negate(_spelt("<=", right, left))
    if op in ("==", "is") and _order(right) < _order(left):
        (base, offset), (other, ahead) = linear(right), linear(left)
        if base is None or other is None or op == "is":
            return Term(op, (right, left))
        left, right = base, other if ahead == offset else sum_of("+", other, Const(ahead - offset))
    return Term(op, (left, right))


def _order(value: Value) -> tuple[int, str]:
    """A place among the values that a comparison may hold."""
    return (value.id, "") if isinstance(value, Ref) else (-1, _shown(linear(value)[0], _DEEPEST))


def _shown(value: Value | None, depth: int) -> str:
    """A text that tells numbers apart, without what lies deeper in one."""
    match value:
        case Term(op=op, args=args) if depth:
            return f"{op}({', '.join(_shown(each, depth - 1) for each in args)})"
        case Const() | Symbol() | Ref() | External():
            return repr(value)
    return type(value).__name__


def _contains(state: State, item: Value, container: Value) -> Value:
    obj = state.get(container)
    known: tuple[Value, ...] | None = None
    if isinstance(container, Tuple):
        known = container.items
    elif isinstance(obj, ListObj) and not obj.open:
        known = obj.items
    elif isinstance(obj, DictObj) and not obj.open:
        known = tuple(obj.items)
    if known is not None:
        answers = [decide(state, compare(state, "==", item, each)) for each in known]
        if any(answer is True for answer in answers):
            return Const(True)
        if all(answer is False for answer in answers):
            return Const(False)
    return Term("in", (item, container))


def is_cast(value: Term) -> bool:
    """Whether a term is the truth of another that has one of its own."""
    return value.op == "bool" and isinstance(value.args[0], Term | Symbol)


def negate(value: Value) -> Value:
    if isinstance(value, Const):
        return Const(not value.value, value.loop)
    if isinstance(value, Term) and value.op == "not":
        return value.args[0]
    return Term("not", (value,))


def _identical(state: State, left: Value, right: Value) -> bool | None:
    if left == right:
        return True
    if isinstance(left, Const) and isinstance(right, Const):
        return left.value is right.value
    for one, other in ((left, right), (right, left)):
        if one == Const(None):
            obj = state.get(other)
            if isinstance(other, Ref) and not isinstance(obj, UnknownObj):
                return False
            if isinstance(obj, UnknownObj) and obj.hint not in ("", "iterator"):
                return False
            if isinstance(other, External):
                return False if outside.is_definition(other.path) else None
            if isinstance(other, Term | Tuple | Closure | Bound | Partial | Wrapped | GradMode | Method | Symbol):
                return False
    if isinstance(left, Ref) and isinstance(right, Ref):
        known = [not isinstance(state.get(value), UnknownObj) for value in (left, right)]
        return False if all(known) else None
    return None


def _loop_of(value: Value) -> int:
    """The loop whose turn number a value was computed from."""
    if isinstance(value, Const | Symbol):
        return value.loop
    if isinstance(value, Term):
        return next((loop for arg in value.args if (loop := _loop_of(arg))), 0)
    return 0


def decide(state: State, value: Value) -> bool | None:
    """Whether a value is true; None if this path doesn't know."""
    if loop := _loop_of(value):
        state.deciding.add(loop)
    if isinstance(value, Const):
        return bool(value.value)
    if value in state.truths:
        return state.truths[value]
    if isinstance(value, Term):
        return _decide_term(state, value)
    if isinstance(value, Tuple):
        return bool(value.items)
    if isinstance(value, Ref):
        return _decide_object(state, value)
    if isinstance(value, Symbol):
        return True if value.low > 0 else None
    if isinstance(value, External) and not outside.is_definition(value.path):
        return False if state.truths.get(Term("is", (value, Const(None)))) else None
    return True  # functions, classes, modules


def _decide_object(state: State, value: Ref) -> bool | None:
    obj = state.get(value)
    if isinstance(obj, ListObj):
        return True if obj.items else None if obj.open else False
    if isinstance(obj, DictObj):
        return True if obj.items else None if obj.open or obj.rest else False
    if isinstance(obj, LayerObj | OptimizerObj | ClassObj):
        return True
    if isinstance(obj, Instance):
        cls = state.get(obj.cls)
        magic = {"__len__", "__bool__"}
        return True if isinstance(cls, ClassObj) and not magic & set(cls.attrs) else None
    if isinstance(obj, TensorObj | UnknownObj) and Term("is", (value, Const(None))) in state.truths:
        return False if state.truths[Term("is", (value, Const(None)))] else None
    return None


def _decide_term(state: State, value: Term) -> bool | None:
    if value.op == "not":
        inner = decide(state, value.args[0])
        return None if inner is None else not inner
    if value.op == "==":
        left, right = value.args
        for known, truth in state.truths.items():
            if isinstance(known, Term) and known.op == "==" and known.args[0] == left and truth:
                other = known.args[1]
                if isinstance(other, Const) and isinstance(right, Const):
                    return bool(other.value == right.value)
    if value.op in ("%", "==", "<", "<=") and (told := remainders.decide(state, value)) is not None:
        return told
    if value.op in ("==", "<", "<="):
        return within(state, value.op, *value.args)
    if value.op == "bool":
        return decide(state, value.args[0])
    if value.op == "is" and value.args[1] == Const(None):
        truth_of = state.truths.get(value.args[0])
        if truth_of:
            return False
    return None
