"""Decorators of other modules that only note what they are given: they wait until somebody looks at what they note it in."""

from __future__ import annotations

from collections.abc import Iterator

from retainlint import ir
from retainlint.source import Span
from retainlint.symbolic.context import Machine
from retainlint.symbolic.project import Waiting
from retainlint.symbolic.state import State
from retainlint.symbolic.untaken import blocks
from retainlint.symbolic.values import Closure, Value

_LOOKING = frozenset("hasattr getattr isinstance issubclass callable vars dir id len str repr print".split())


def waits(machine: Machine, state: State, decorator: Value, target: Value, span: Span) -> bool:
    """Whether the decorator of what an imported module defines can wait; it is noted then."""
    imports = machine.imports
    running = imports.loaded.get(imports.loading[-1]) if imports.loading and len(state.stack) == 1 else None
    if running is None or imports.project is None or not isinstance(decorator, Closure):
        return False
    code = decorator.code
    home = imports.loaded.get(imports.of[code.span.source])
    if home is None or home is running or code.qualname != code.name or not gives_back(code):
        return False
    altered = imports.project.changes(home.place, code.name)
    if altered is None:
        return False
    waiting = Waiting(running.frame, decorator, target, span)
    for place, name in altered:
        imports.waiting.setdefault((place, name), []).append(waiting)
        frame = imports.frames.get(place)
        if frame in imports.loaded:
            imports.loaded[frame].settled.discard(name)
    return True


def gives_back(code: ir.Code) -> bool:
    """Whether a function returns the first thing that it is given, which it only looks at and notes."""
    last = code.body[-1] if code.body else None
    if not code.params or code.is_generator or code.params[0].kind != "normal" or not isinstance(last, ir.Return):
        return False
    name, everything = code.params[0].name, list(_inside(code.body))
    own = {each.dst for each in everything if isinstance(each, ir.Load) and each.name == name}
    mild = {each.dst for each in everything if isinstance(each, ir.Load) and each.name in _LOOKING}
    return name not in code.captured and not any(_changes(each, name, own, mild) for each in everything)


def _changes(instr: ir.Instr, name: str, own: set[int], mild: set[int]) -> bool:
    """Whether an instruction gives back something else than `own`, or may change it."""
    match instr:
        case ir.Return(src=src):
            return src not in own
        case ir.Store(name=stored) | ir.Delete(name=stored):
            return stored == name
        case ir.SetAttr(obj=obj) | ir.DelAttr(obj=obj) | ir.SetItem(obj=obj) | ir.DelItem(obj=obj):
            return obj in own
        case ir.Call(func=func, args=args):
            return func in own or (func not in mild and any(arg.value in own for arg in args))
        case ir.Load() | ir.GetAttr():
            return False
        case _:
            return getattr(instr, "dst", None) in own


def _inside(block: ir.Block) -> Iterator[ir.Instr]:
    for instr in block:
        yield instr
        for inner in blocks(instr):
            yield from _inside(inner)
