"""What an entry is given: what the only parser of its module makes of a command line, what its annotations say, the fixtures of a test."""

from __future__ import annotations

import ast
import contextlib
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence

from retainlint import ir
from retainlint.symbolic.exploration.entry_points import entries
from retainlint.symbolic.interpreter import calls, module_bodies, stub_modules
from retainlint.symbolic.interpreter.machine import Interpreter
from retainlint.symbolic.models.frameworks import test_runners
from retainlint.symbolic.models.python import dataclasses, options
from retainlint.symbolic.state import classes, limits
from retainlint.symbolic.state.protocol import Args
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import (
    COUNT,
    NONE,
    ClassObj,
    Closure,
    Const,
    DictObj,
    External,
    Module,
    Ref,
    Tuple,
    UnknownObj,
    Value,
)
from retainlint.text.source import Span
from retainlint.text.syntax import REFUSED

_PARSER = "ArgumentParser"
_PARSES = frozenset(("parse_args", "parse_known_args"))


def of_parser(machine: Interpreter, state: State, code: ir.Code) -> tuple[tuple[str, Value], ...]:
    """The parameter of a function that takes what the only parser of its module makes of a command line, with that: all that
    is read of it are options of this parser."""
    module = machine.program.module
    if _PARSER not in module.facts.names or any(
        each.name == code.name and not each.receiver for each in module.facts.calls
    ):
        return ()
    known = [*entries(module, None)]
    functions = {each.name: each for each, owner in known if owner is None and "." not in each.qualname}
    made = {owner.name: each for each, owner in known if owner is not None and each.name == "__init__"}
    read = {
        param.name: found
        for param in code.params
        if param.kind == "normal" and param.default is None and (param.annotation or "").rpartition(".")[2] in _SAID
        if (found := _Reads({**made, **functions}, [each for each, _ in known]).of(code, param.name))
    }
    parsed = _parsed(machine, state, functions, code.span) if read else None
    if parsed is None:
        return ()
    after, value, names = parsed
    fitting = [name for name, found in read.items() if found <= names]
    if len(fitting) != 1:
        return ()
    state.become(after)
    return ((fitting[0], value),)


_SAID = ("", "Namespace")


class _Reads:
    """What is read of a variable, where it is handed on within the module, and where it is kept as an attribute."""

    def __init__(self, called: Mapping[str, ir.Code], every: Sequence[ir.Code]) -> None:
        self._called, self._every = called, every
        self._found, self._written, self._kept = set[str](), set[str](), set[str]()
        self._seen: set[tuple[ir.Code, str]] = set()

    def of(self, code: ir.Code, name: str) -> frozenset[str]:
        """The attributes that are read of a parameter of a function; none where it is bound to something else."""
        if any(isinstance(each, ir.Store) and each.name == name for each in ir.walk(code.body)):
            return frozenset()
        self._follow(code, name)
        for each in self._every if self._kept else ():
            self._look(
                each, {one.dst for one in ir.walk(each.body) if isinstance(one, ir.GetAttr) and one.name in self._kept}
            )
        return frozenset(self._found - self._written)

    def _follow(self, code: ir.Code, name: str) -> None:
        if (code, name) in self._seen:
            return
        self._seen.add((code, name))
        self._look(code, {each.dst for each in ir.walk(code.body) if isinstance(each, ir.Load) and each.name == name})
        for call in code.facts.calls:
            callee = self._called.get(call.name) if not call.receiver else None
            if callee is None:
                self._kept.update(_named(call.node, name))
                continue
            for param in _taking(call.node, name, callee.params[callee.name == "__init__" :]):
                self._follow(callee, param)

    def _look(self, code: ir.Code, held: Container[ir.Register]) -> None:
        """What is done in a function with what lies in some registers."""
        for instr in ir.walk(code.body):
            match instr:
                case ir.GetAttr(obj=obj, name=attribute) if obj in held:
                    self._found.add(attribute)
                case ir.SetAttr(obj=obj, name=attribute) if obj in held:
                    self._written.add(attribute)
                case ir.SetAttr(src=src, name=attribute) if src in held:
                    self._kept.add(attribute)


def _named(call: ast.Call, name: str) -> Iterator[str]:
    """The names under which a call is given a variable as it is."""
    for each in call.keywords:
        if each.arg and isinstance(each.value, ast.Name) and each.value.id == name:
            yield each.arg


def _taking(call: ast.Call, name: str, params: tuple[ir.Param, ...]) -> Iterator[str]:
    """The parameters to which a call hands a variable as it is."""
    for param, each in zip(params, call.args):
        if isinstance(each, ast.Name) and each.id == name and param.kind in ("normal", "positional"):
            yield param.name
    yield from _named(call, name)


def _parsed(
    machine: Interpreter, state: State, functions: Mapping[str, ir.Code], span: Span
) -> tuple[State, Value, frozenset[str]] | None:
    """What the one parser makes of a command line that says nothing, behind that, and the names of its options; None where
    there are several, or somebody else asks it."""
    frame = state.frames[machine.imports.of[machine.program.source]]
    builders = _builders(functions)
    inside = Counter(each.name for one in builders for each in one.facts.calls)
    others = Counter(each.name for each in machine.program.module.facts.calls) - inside
    if any(each in others for each in (*_PARSES, *(one.name for one in builders))):
        return None
    found = [(state, each) for each in frame.names.values() if _declared(state, each) is not None]
    for each in builders:
        if each.name not in inside:
            func = frame.names.get(each.name)
            found += machine.call(state.fork(), func, Args(), span) if isinstance(func, Closure) else ((state, NONE),)
    if len(found) != 1:
        return None
    after, value = found[0][0].fork(), found[0][1]
    held, named = after.get(value), after.get(_declared(after, value) or NONE)
    if not isinstance(held, UnknownObj) or not isinstance(named, DictObj) or not isinstance(value, Ref):
        return None
    parsed = options.method(machine, after, value, held, "parse_args", Args(), span)
    names = frozenset(str(key.value) for key in named.items if isinstance(key, Const))
    return (after, parsed, names) if parsed is not None else None


def _builders(functions: Mapping[str, ir.Code]) -> list[ir.Code]:
    """The functions that return a parser which they make, or have made by another of these, as far as their texts tell."""
    found: dict[str, ir.Code] = {}
    while more := {
        name: code
        for name, code in functions.items()
        if name not in found and not code.backward_passes and _returns(code)
        if any(each.name == _PARSER or each.name in found for each in code.facts.calls)
    }:
        found |= more
    return [*found.values()]


def _returns(code: ir.Code) -> bool:
    """Whether a function takes nothing that it must be given, and returns something."""
    made = {each.dst: each for each in ir.walk(code.body) if isinstance(each, ir.Const)}
    is_free = all(each.default is not None or each.kind in ("star", "doublestar") for each in code.params)
    return is_free and any(isinstance(each, ir.Return) and each.src not in made for each in ir.walk(code.body))


def _declared(state: State, value: Value) -> Value | None:
    """The options of a parser, or of what it made of a command line."""
    held = state.get(value)
    return held.notes.options if isinstance(held, UnknownObj) else None


# -- by annotations ---------------------------------------------------------------------------------------------------


_PLAIN = {"builtins.int": COUNT, "builtins.bool": "", "builtins.str": ""}
"""What is no tensor, nor holds one."""


def by_annotations(
    machine: Interpreter, state: State, code: ir.Code, *, is_method: bool
) -> tuple[tuple[str, Value], ...]:
    """The arguments that are made by the annotations of a function's parameters; any other stays unknown."""
    made: list[tuple[str, Value]] = []
    if (home := machine.imports.of.get(code.span.source)) is None or not state.frames.has(home):
        return ()
    for param in code.params[is_method:]:
        if param.annotation and param.default is None and param.kind in ("normal", "keyword"):
            found = made_for(machine, state, _said(machine, state, param.annotation, code), param)
            made += [(param.name, found)] if found is not None else []
    return tuple(made)


def _said(machine: Interpreter, state: State, annotation: str, code: ir.Code) -> Value | None:
    """The class that an annotation names, be it in quotes, or one that may be None."""
    with contextlib.suppress(*REFUSED):
        return _class_named(machine, state, ast.parse(annotation, mode="eval").body, code)
    return None


def _class_named(machine: Interpreter, state: State, node: ast.expr, code: ir.Code) -> Value | None:
    match node:
        case ast.Constant(value=str(text)):
            return _said(machine, state, text, code)
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return _class_named(machine, state, left, code)
        case ast.Subscript(value=ast.Name(id="Optional") | ast.Attribute(attr="Optional"), slice=inner):
            return _class_named(machine, state, inner, code)
        case ast.Name(id=name):
            frame = state.frames[machine.imports.of[code.span.source]]
            builtin = External(f"builtins.{name}") if f"builtins.{name}" in _PLAIN else None
            return module_bodies.resolve(machine, state, frame.names.get(name, builtin or External("")), code.span)
        case ast.Attribute(value=inner, attr=name) if (home := _class_named(machine, state, inner, code)) is not None:
            found = machine.attribute(state.fork(), home, name, code.span)
            return found[0][1] if len(found) == 1 else None
    return None


def made_for(machine: Interpreter, state: State, cls: Value | None, param: ir.Param) -> Value | None:
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


# -- fixtures: of a module of tests, and of each `conftest.py` above --------------------------------------------------


def load_fixtures(machine: Interpreter, state: State) -> None:
    """Run what lies above a module of tests, before its own body adds to that."""
    module = machine.program.module
    if not any(each.startswith(test_runners.TEST) for each in module.facts.defined):
        return
    for level in range(1, limits.CONFTEST_LEVELS + 1):
        found = module_bodies.by_name(machine, state, "." * level + "conftest", module.span)
        if isinstance(found, Module):
            module_bodies.whole(machine, state, found, module.span)


def of_fixtures(
    machine: Interpreter, state: State, code: ir.Code, receiver: Value = NONE
) -> tuple[tuple[str, Value], ...]:
    """The arguments of a test that are fixtures, behind what is made for each test; none of any other function. A method's `receiver`
    is held meanwhile: nobody names it, and what nobody names is gone behind a call."""
    if not is_test(machine, state, code):
        return ()
    known = _items(state, stub_modules.used(machine, state, "pytest.FIXTURES"))
    state.write(_HELD, receiver, code.span)
    _of_stub(machine, state, "pytest.begin", code)
    wanted = [each.name for each in code.params if Const(each.name) in known]
    found = [(name, _of_stub(machine, state, "pytest.value_of", code, Const(name))) for name in wanted]
    state.writable().registers.pop(_HELD, None)
    return tuple((name, value) for name, value in found if value is not None)


_HELD = -4
"""The register that holds the object on which a test is to run, while fixtures do."""


def is_test(machine: Interpreter, state: State, code: ir.Code) -> bool:
    """Whether pytest runs a function or method, once, and there are fixtures for it."""
    is_named = code.name.startswith(test_runners.TEST)
    return is_named and bool(_items(state, stub_modules.used(machine, state, "pytest.FIXTURES")))


def are_shared(machine: Interpreter, state: State) -> bool:
    """Whether a test leaves values of fixtures to those behind it."""
    known = _items(state, stub_modules.used(machine, state, "pytest.FIXTURES"))
    made = (known.get(name) for name in _items(state, stub_modules.used(machine, state, "pytest.VALUES")))
    return any(isinstance(each, Tuple) and each.items[1] != Const("function") for each in made)


def _items(state: State, value: Value | None) -> Mapping[Value, Value]:
    held = state.get(value) if value is not None else None
    return held.items if isinstance(held, DictObj) else {}


def _of_stub(machine: Interpreter, state: State, path: str, code: ir.Code, *given: Value) -> Value | None:
    """What a function of the stub returns, on the first path that comes to its end."""
    func = stub_modules.used(machine, state, path)
    ways = machine.call(state.fork(), func, Args(given), code.span) if func is not None else []
    after, value = next(((each, value) for each, value in ways if each.flow is None), (None, None))
    if after is not None:
        state.become(after)
    return value
