"""Which functions and methods of a program are run for themselves: those that hold a walk, and those that lead to one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from retainlint import ir
from retainlint.symbolic import between
from retainlint.symbolic.classes import ancestry, find
from retainlint.symbolic.state import State
from retainlint.symbolic.values import ClassObj, Closure, Ref, Value


def entries(code: ir.Code, owner: ir.Code | None) -> Iterator[tuple[ir.Code, ir.Code | None]]:
    """Functions and methods, each with the class whose body holds it."""
    for inner, is_class in _made(code.body):
        if is_class:
            yield from entries(inner, inner)
        else:
            yield inner, owner


def of_local_classes(code: ir.Code) -> Iterator[tuple[ir.Code, ir.Code]]:
    """The methods that walk of the classes that a function makes, each with its class."""
    for inner, is_class in _made(code.body) if code.walks else ():
        for method, owner in entries(inner, inner) if is_class and inner.walks else ():
            if owner is not None and method.walks:
                yield method, owner


def inherited(state: State, code: ir.Code) -> Iterator[tuple[ir.Code, ir.Code]]:
    """Methods that walk and call what only an heir fills in, or the heir's own that do no more than to call such a one,
    each with that heir."""
    for heir, is_class in _made(code.body):
        cls = class_of(state, heir) if is_class else None
        if cls is None:
            continue
        first, *bases = (obj for base in ancestry(state, cls) if isinstance(obj := state.get(base), ClassObj))
        own = [re.escape(name) for name, value in first.attrs.items() if isinstance(value, Closure)]
        calls_own = re.compile(rf"\bself\.(?:{'|'.join(own)})\(") if own else None
        for name, method in ((name, value) for base in bases for name, value in base.attrs.items()):
            if calls_own is None or not isinstance(method, Closure) or not method.code.walks:
                continue
            found = find(state, cls, name)
            if (found == method or _passes_on(found, name)) and any(
                map(calls_own.search, between.texts([method.code]))
            ):
                yield (found.code if isinstance(found, Closure) else method.code), heir


def _passes_on(method: Value | None, name: str) -> bool:
    """Whether a method holds no walk itself and calls the one that it stands for."""
    return isinstance(method, Closure) and not method.code.walks and f"super().{name}(" in between.text_of(method.code)


def driven(state: State, code: ir.Code) -> Iterator[tuple[ir.Code, ir.Code]]:
    """Methods of its own that walk, and that a class of another module calls on its heir, each with that heir."""
    for method, heir in entries(code, None):
        cls = class_of(state, heir) if heir is not None and method.walks else None
        if heir is not None and cls is not None and any(map(method.name.__eq__, _called_by_bases(state, cls))):
            yield method, heir


def _called_by_bases(state: State, cls: Ref) -> Iterator[str]:
    """What the bases of a class, as far as they stand in other modules, name of their own object."""
    first, *bases = (obj for base in ancestry(state, cls) if isinstance(obj := state.get(base), ClassObj))
    for base in bases:
        if base.code.span.source is not first.code.span.source:
            for value in base.attrs.values():
                yield from between.said(between.OWN, value.code) if isinstance(value, Closure) else ()


def _made(block: ir.Block) -> Iterator[tuple[ir.Code, bool]]:
    for instr in block:
        match instr:
            case ir.MakeFunction(code=code):
                yield code, False
            case ir.MakeClass(code=code):
                yield code, True
            case ir.If(then=then, orelse=orelse):
                yield from _made(then)
                yield from _made(orelse)
            case ir.For(body=body) | ir.While(body=body) | ir.With(body=body):
                yield from _made(body)
            case ir.Try(body=body, handlers=handlers, orelse=orelse, final=final):
                yield from _made(body + orelse + final)
                for handler in handlers:
                    yield from _made(handler.body)


def class_of(state: State, owner: ir.Code) -> Ref | None:
    for id, obj in state.heap.items():
        if isinstance(obj, ClassObj) and obj.code is owner:
            return Ref(id)
    return None
