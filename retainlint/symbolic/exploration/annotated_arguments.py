"""What a caller gives by the annotations of parameters: an object of a class of the program, a module, a number or a text."""

from __future__ import annotations

import ast
import contextlib

from retainlint import ir
from retainlint.symbolic.interpreter import calls, module_bodies
from retainlint.symbolic.interpreter.machine import Interpreter
from retainlint.symbolic.models.python import dataclasses
from retainlint.symbolic.state import classes
from retainlint.symbolic.state.protocol import Args
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import COUNT, ClassObj, Closure, External, Ref, UnknownObj, Value
from retainlint.text.syntax import REFUSED

_PLAIN = {"builtins.int": COUNT, "builtins.bool": "", "builtins.str": ""}
"""What is no tensor, nor holds one."""


def given(machine: Interpreter, state: State, code: ir.Code, *, is_method: bool) -> tuple[tuple[str, Value], ...]:
    """The arguments that are made by the annotations of a function's parameters; any other stays unknown."""
    arguments: list[tuple[str, Value]] = []
    if (home := machine.imports.of.get(code.span.source)) is None or not state.frames.has(home):
        return ()
    for param in code.params[is_method:]:
        if param.annotation and param.default is None and param.kind in ("normal", "keyword"):
            found = made(machine, state, _said(machine, state, param.annotation, code), param)
            arguments += [(param.name, found)] if found is not None else []
    return tuple(arguments)


def _said(machine: Interpreter, state: State, annotation: str, code: ir.Code) -> Value | None:
    """The class that an annotation names, be it in quotes, or one that may be None."""
    with contextlib.suppress(*REFUSED):
        return _named(machine, state, ast.parse(annotation, mode="eval").body, code)
    return None


def _named(machine: Interpreter, state: State, node: ast.expr, code: ir.Code) -> Value | None:
    match node:
        case ast.Constant(value=str(text)):
            return _said(machine, state, text, code)
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return _named(machine, state, left, code)
        case ast.Subscript(value=ast.Name(id="Optional") | ast.Attribute(attr="Optional"), slice=inner):
            return _named(machine, state, inner, code)
        case ast.Name(id=name):
            frame = state.frames[machine.imports.of[code.span.source]]
            builtin = External(f"builtins.{name}") if f"builtins.{name}" in _PLAIN else None
            return module_bodies.resolve(machine, state, frame.names.get(name, builtin or External("")), code.span)
        case ast.Attribute(value=inner, attr=name) if (home := _named(machine, state, inner, code)) is not None:
            found = machine.attribute(state.fork(), home, name, code.span)
            return found[0][1] if len(found) == 1 else None
    return None


def made(machine: Interpreter, state: State, cls: Value | None, param: ir.Param) -> Value | None:
    """What stands for a parameter of which a class is said."""
    span = param.span or machine.running.span
    if isinstance(cls, External):
        if cls.path in _PLAIN:
            return state.new(UnknownObj(span, hint=_PLAIN[cls.path], name=param.name, plain=True))
        is_module = cls.path == classes.MODULE or bool(classes.layer_at(cls.path))
        return state.new(UnknownObj(span, hint="module", name=param.name)) if is_module else None
    held = state.get(cls) if cls is not None else None
    if not isinstance(cls, Ref) or not isinstance(held, ClassObj) or not _is_made_so(state, cls, held):
        return None
    ways = calls.instantiate(machine, state.fork(), cls, Args(open=True), span)
    after, found = next(((each, value) for each, value in ways if each.flow is None), (None, None))
    if after is not None:
        state.become(after)
    return found


def _is_made_so(state: State, cls: Ref, held: ClassObj) -> bool:
    """Whether a caller who is asked for an object of a class gives one of just this class, as it is when it is made: settings
    and records are made with what the caller has, and what others derive from may stand for any of these."""
    if held.code.span.source.is_stub or dataclasses.names(state, cls) is not None or classes.is_enum(state, cls):
        return False
    derived = (each for each in state.heap.values() if isinstance(each, ClassObj) and each is not held)
    is_base = any(cls in each.bases for each in derived)
    makes = classes.find(state, cls, "__init__")
    return not is_base and isinstance(makes, Closure) and not classes.is_open(state, cls)
