"""What a function that nobody calls is given, if its module makes one parser of a command line and does nothing else with it."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence

from retainlint import ir
from retainlint.symbolic.exploration.entry_points import entries
from retainlint.symbolic.interpreter.machine import Interpreter
from retainlint.symbolic.models.python import options
from retainlint.symbolic.state.protocol import Args
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import NONE, Closure, Const, DictObj, Ref, UnknownObj, Value
from retainlint.text.source import Span

_PARSER = "ArgumentParser"
_PARSES = frozenset(("parse_args", "parse_known_args"))


def given(machine: Interpreter, state: State, code: ir.Code) -> tuple[tuple[str, Value], ...]:
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
