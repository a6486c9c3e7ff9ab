"""Functions that hold no walk and call what does, told by the names that stand before their brackets."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator
from typing import NamedTuple

from retainlint import ir
from retainlint.symbolic import between

Leads = Callable[[str, str], bool]
"""Whether a name of another module leads to a walk, given the word before its dot, "" where there is none."""

_LLAC = re.compile(r"\(\s*(\w*[A-Za-z_])\b(?:\s*\.\s*(\w+|[)\]]))?(?! fed)")
"""A call, read backwards: from its bracket it is found in a tenth of the time that trying each word takes."""
_WALK = re.compile(r"backward\b|loss_scaler\b|\bgrad\s*\(")
"""What walks by itself: a method may also be named like those whose result a trainer walks."""

_BRACKET = re.compile(r"[()]")
_MADE = re.compile(r"^[ \t]*([^\n=()\[\]#]+?)(?:[ \t]*:[^\n=]*)?[ \t]*[-+*/]?=(?!=)", re.MULTILINE)
_NAMED = re.compile(r"\w+\s*=(?!=)")

_ITSELF = frozenset(("self", "cls", ")"))
_COMMON = frozenset("train eval step update forward fit run append add get".split())
"""Methods that many classes have: a call of one counts only on the object itself."""


def no_leads(receiver: str, name: str) -> bool:
    """Where there are no other modules."""
    return False


class _Caller(NamedTuple):
    code: ir.Code
    owner: ir.Code | None
    text: str
    calls: list[tuple[str, str, int]]  # the word before the dot, the name, and where the arguments start


def callers(
    entries: Iterable[tuple[ir.Code, ir.Code | None]], leads: Leads, walking: Container[ir.Code]
) -> Iterator[tuple[ir.Code, ir.Code | None]]:
    """Functions and methods, each with its class, from which a walk is reached by calls, nearest first, if they add
    something to what is known of the callee alone. `walking` are the functions in which one was executed: what only speaks
    of one leads nowhere."""
    functions: set[str] = set()
    methods: set[str] = set()
    known = [(code, owner) for code, owner in entries if code.walks and code in walking]
    near = [(code, owner) for code, owner in known if _WALK.search(between.text_of(code))]
    rest = [_caller(code, owner) for code, owner in entries if not code.walks]

    def counts(receiver: str, name: str) -> bool:
        if not receiver:
            return name in functions or leads("", name)
        return (name in methods and (receiver in _ITSELF or name not in _COMMON)) or leads(receiver, name)

    while near or rest:
        for code, owner in near:
            if owner is not None and code.name == "__init__":
                functions.add(owner.name)
            else:
                (functions if owner is None else methods).add(code.name)
        spots = [[at for receiver, name, at in each.calls if counts(receiver, name)] for each in rest]
        near = [(each.code, each.owner) for each, found in zip(rest, spots) if found]
        yield from ((each.code, each.owner) for each, found in zip(rest, spots) if found and _adds(each.text, found))
        rest = [each for each, found in zip(rest, spots) if not found]
        if not near:
            break


def _caller(code: ir.Code, owner: ir.Code | None) -> _Caller:
    text = between.text_of(code)
    end = len(text)
    found = [
        (each[2][::-1] if each[2] else "", each[1][::-1], end - each.start())
        for each in _LLAC.finditer(text[: len(code.name) - 1 : -1])
    ]
    return _Caller(code, owner, text, found[::-1])


def _adds(text: str, spots: list[int]) -> bool:
    """Whether a function calls more than once, or with what it has made itself: what is called again and again, with
    nothing new, tells no more than when it is run for itself."""
    if len(spots) > 1:
        return True
    given = _arguments(text, spots[0])
    made = {word for names in _MADE.findall(text) for word in between.WORD.findall(names)}
    return "(" in given or "self." in given or not made.isdisjoint(between.WORD.findall(_NAMED.sub("", given)))


def _arguments(text: str, start: int) -> str:
    """What stands between the brackets of a call."""
    depth = 1
    for bracket in _BRACKET.finditer(text, start):
        depth += 1 if bracket[0] == "(" else -1
        if depth == 0:
            return text[start : bracket.start()]
    return text[start:]
