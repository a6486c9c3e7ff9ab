"""Whether a version is one that a project asks for: `1.2.3`, or conditions such as `>=1.2,<2`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

from retainlint.config.words import ConfigError, shown

_CONDITION = re.compile(
    r"\s*(?:(?P<sign>==|!=|>=|<=|~=|>|<)\s*)?v?(?P<numbers>\d{1,9}(?:\.\d{1,9}){0,9})(?P<any>\.\*)?\s*"
)
_SIGNS: dict[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_PLACES = 10


def satisfies(version: str, required: str) -> bool:
    """Whether each condition holds. Pre-releases count as their release. Raises ConfigError for what is no condition."""
    ours = re.match(r"\d+(?:\.\d+)*", version)
    have = _numbers(ours[0] if ours else "0")
    held = [_holds(have, condition) for condition in required.split(",")]  # all are read, also behind one that fails
    return all(held)


def _holds(have: tuple[int, ...], condition: str) -> bool:
    match = _CONDITION.fullmatch(condition)
    if match is None or (match["any"] and match["sign"] not in (None, "==", "!=")):
        raise ConfigError(f"{shown(condition)} is no condition on a version; write one like '>=0.4,<1'")
    sign, numbers = match["sign"] or "==", match["numbers"]
    length = numbers.count(".") + 1
    if sign == "~=":  # at least this, and the same but for the last part
        return have >= _numbers(numbers) and have[: max(length - 1, 1)] == _numbers(numbers)[: max(length - 1, 1)]
    if match["any"]:
        return _SIGNS[sign](have[:length], _numbers(numbers)[:length])
    return _SIGNS[sign](have, _numbers(numbers))


def _numbers(text: str) -> tuple[int, ...]:
    parts = [int(part) for part in text.split(".")][:_PLACES]
    return tuple(parts + [0] * (_PLACES - len(parts)))
