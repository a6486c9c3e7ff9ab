"""Which functions and methods of a program are run for themselves: those that hold a backward pass, and those that call what leads to one."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator
from typing import NamedTuple

from retainlint import ir
from retainlint.symbolic.state import code_text
from retainlint.symbolic.state.classes import ancestry, find
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import ClassObj, Closure, Ref, Value

Leads = Callable[[str, str], bool]
"""Whether a name of another module leads to a walk, given the word before its dot, "" where there is none."""


_CALL_TOKEN = re.compile(r"\(\s*(\w*[A-Za-z_])\b(?:\s*\.\s*(\w+|[)\]]))?(?! fed)")
"""A call, read backwards: from its bracket it is found in a tenth of the time that trying each word takes."""

_BACKWARD = re.compile(r"backward\b|loss_scaler\b|\bgrad\s*\(")
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
    entries: Iterable[tuple[ir.Code, ir.Code | None]], leads: Leads, backpropagating: Container[ir.Code]
) -> Iterator[tuple[ir.Code, ir.Code | None]]:
    """Functions and methods, each with its class, from which a walk is reached by calls, nearest first, if they add
    something to what is known of the callee alone. `walking` are the functions in which one was executed: what only speaks
    of one leads nowhere."""
    functions: set[str] = set()
    methods: set[str] = set()
    known = [(code, owner) for code, owner in entries if code.backward_passes and code in backpropagating]
    near = [(code, owner) for code, owner in known if _BACKWARD.search(code_text.text_of(code))]
    rest = [_caller(code, owner) for code, owner in entries if not code.backward_passes]

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
    text = code_text.text_of(code)
    end = len(text)
    found = [
        (each[2][::-1] if each[2] else "", each[1][::-1], end - each.start())
        for each in _CALL_TOKEN.finditer(text[: len(code.name) - 1 : -1])
    ]
    return _Caller(code, owner, text, found[::-1])


def _adds(text: str, spots: list[int]) -> bool:
    """Whether a function calls more than once, or with what it has made itself: what is called again and again, with
    nothing new, tells no more than when it is run for itself."""
    if len(spots) > 1:
        return True
    given = _arguments(text, spots[0])
    made = {word for names in _MADE.findall(text) for word in code_text.WORD.findall(names)}
    return "(" in given or "self." in given or not made.isdisjoint(code_text.WORD.findall(_NAMED.sub("", given)))


def _arguments(text: str, start: int) -> str:
    """What stands between the brackets of a call."""
    depth = 1
    for bracket in _BRACKET.finditer(text, start):
        depth += 1 if bracket[0] == "(" else -1
        if depth == 0:
            return text[start : bracket.start()]
    return text[start:]


def entries(code: ir.Code, owner: ir.Code | None) -> Iterator[tuple[ir.Code, ir.Code | None]]:
    """Functions and methods, each with the class whose body holds it."""
    for instr in ir.walk(code.body):
        if isinstance(instr, ir.MakeClass):
            yield from entries(instr.code, instr.code)
        elif isinstance(instr, ir.MakeFunction):
            yield instr.code, owner


def of_local_classes(code: ir.Code) -> Iterator[tuple[ir.Code, ir.Code]]:
    """The methods that walk of the classes that a function makes, each with its class."""
    for inner in _classes(code) if code.backward_passes else ():
        for method, owner in entries(inner, inner) if inner.backward_passes else ():
            if owner is not None and method.backward_passes:
                yield method, owner


def _classes(code: ir.Code) -> Iterator[ir.Code]:
    return (each.code for each in ir.walk(code.body) if isinstance(each, ir.MakeClass))


def inherited(state: State, code: ir.Code) -> Iterator[tuple[ir.Code, ir.Code]]:
    """Methods that walk and call what only an heir fills in, or the heir's own that do no more than to call such a one,
    each with that heir."""
    for subclass in _classes(code):
        cls = class_made_by(state, subclass)
        if cls is None:
            continue
        first, *bases = (obj for base in ancestry(state, cls) if isinstance(obj := state.get(base), ClassObj))
        own = [re.escape(name) for name, value in first.attrs.items() if isinstance(value, Closure)]
        calls_own = re.compile(rf"\bself\.(?:{'|'.join(own)})\(") if own else None
        for name, method in ((name, value) for base in bases for name, value in base.attrs.items()):
            if calls_own is None or not isinstance(method, Closure) or not method.code.backward_passes:
                continue
            found = find(state, cls, name)
            if (found == method or _passes_on(found, name)) and any(
                map(calls_own.search, code_text.texts([method.code]))
            ):
                yield (found.code if isinstance(found, Closure) else method.code), subclass


def _passes_on(method: Value | None, name: str) -> bool:
    """Whether a method holds no walk itself and calls the one that it stands for."""
    return (
        isinstance(method, Closure)
        and not method.code.backward_passes
        and f"super().{name}(" in code_text.text_of(method.code)
    )


def driven(state: State, code: ir.Code) -> Iterator[tuple[ir.Code, ir.Code]]:
    """Methods of its own that walk, and that a class of another module calls on its heir, each with that heir."""
    for method, subclass in entries(code, None):
        cls = class_made_by(state, subclass) if subclass is not None and method.backward_passes else None
        if subclass is not None and cls is not None and any(map(method.name.__eq__, _called_by_bases(state, cls))):
            yield method, subclass


def _called_by_bases(state: State, cls: Ref) -> Iterator[str]:
    """What the bases of a class, as far as they stand in other modules, name of their own object."""
    first, *bases = (obj for base in ancestry(state, cls) if isinstance(obj := state.get(base), ClassObj))
    for base in bases:
        if base.code.span.source is not first.code.span.source:
            for value in base.attrs.values():
                yield from code_text.said(code_text.OWN, value.code) if isinstance(value, Closure) else ()


def class_made_by(state: State, owner: ir.Code) -> Ref | None:
    for id, obj in state.heap.items():
        if isinstance(obj, ClassObj) and obj.code is owner:
            return Ref(id)
    return None
