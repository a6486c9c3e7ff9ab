"""What `def`, `class`, `@` and `import` make."""

from __future__ import annotations

from retainlint import ir
from retainlint.source import Span
from retainlint.symbolic import enums
from retainlint.symbolic.calls import call
from retainlint.symbolic.context import Args, Machine, Results
from retainlint.symbolic.imports import resolve
from retainlint.symbolic.registering import waits
from retainlint.symbolic.state import State
from retainlint.symbolic.values import (
    Bound,
    ClassObj,
    Closure,
    DictObj,
    External,
    GradMode,
    Instance,
    Method,
    Partial,
    Ref,
    UnknownObj,
    Value,
    Wrapped,
)

ALLOWANCE = 1_000
"""Steps that a decorator of another module may take before it is given up, unless it walks: what takes more writes docs."""


def make_function(state: State, code: ir.Code) -> Closure:
    registers = state.frame.registers
    defaults = tuple((p.name, registers[p.default]) for p in code.params if p.default is not None)
    return Closure(code, state.stack[-1], defaults)


_WRAPPERS = {
    "builtins.property": "property", "functools.cached_property": "cached_property", "builtins.staticmethod": "staticmethod",
    "builtins.classmethod": "classmethod", "functools.cache": "cache", "functools.lru_cache": "cache",
    "contextlib.contextmanager": "context",
    "torch.no_grad": "no_grad", "torch.inference_mode": "no_grad", "torch.enable_grad": "enable_grad",
    "torch.autograd.no_grad": "no_grad", "torch.jit.script": "", "torch.compile": "",
}  # fmt: skip


def decorate(machine: Machine, state: State, decorator: Value, target: Value, span: Span) -> Results:
    """`@decorator`: the known ones are understood, the program's own are run, any other is taken to keep the thing."""
    if isinstance(decorator, GradMode):
        return [(state, Wrapped("enable_grad" if decorator.enabled else "no_grad", target))]
    if isinstance(decorator, Partial) and isinstance(decorator.func, External):
        decorator = decorator.func
    if isinstance(decorator, External):
        if decorator.path == "abc.abstractmethod" and isinstance(target, Closure) and _says_nothing(target.code):
            return [(state, Wrapped("abstract", target))]
        kind = _WRAPPERS.get(decorator.path)
        if kind == "cache":
            return [(state, Wrapped(kind, target, state.new(DictObj({}))))]
        if kind:
            return [(state, Wrapped(kind, target))]
        if decorator.path.startswith("dataclasses."):
            _mark_dataclass(state, target)
        return [(state, target)]
    obj = state.get(decorator)
    if waits(machine, state, decorator, target, span):
        return [(state, target)]
    if isinstance(decorator, Closure | Bound | Partial) or isinstance(obj, Instance | ClassObj):
        imports, allowance = machine.imports, machine.imports.allowance
        imports.allowance = min(allowance, ALLOWANCE)
        try:
            return call(machine, state, decorator, Args((target,), spans=(span,)), span)
        finally:
            imports.allowance = allowance
    if isinstance(decorator, Method) and isinstance(decorator.obj, Wrapped):
        return [(state, decorator.obj)]  # @x.setter keeps the getter
    if isinstance(obj, UnknownObj) and obj.name.startswith("dataclass"):
        _mark_dataclass(state, target)
    return [(state, target)]


def _says_nothing(code: ir.Code) -> bool:
    """Whether a body holds no more than `pass`, `...` or a result."""
    return all(isinstance(each, ir.Const | ir.Return) for each in code.body)


def _mark_dataclass(state: State, target: Value) -> None:
    obj = state.get(target)
    if isinstance(obj, ClassObj) and isinstance(target, Ref):
        state.set(target, ClassObj(obj.name, obj.bases, obj.attrs, obj.code, dataclass=True))


def make_class(machine: Machine, state: State, instr: ir.MakeClass) -> list[State]:
    """Run the class body; its names become the attributes."""
    registers = state.frame.registers
    bases = tuple(registers[arg.value] for arg in instr.bases if arg.name is None and not arg.star)
    frame_id = state.push(instr.code, state.stack[-1], None)
    done: list[State] = []
    for after in machine.run(instr.code.body, [state]):
        frame = after.frames[frame_id]
        ref = after.new(ClassObj(instr.code.name, bases, {}, instr.code))
        names = {name: resolve(machine, after, value, instr.span) for name, value in frame.names.items()}
        attrs = {name: _owned(value, ref) for name, value in names.items()}
        after.set(ref, ClassObj(instr.code.name, bases, attrs, instr.code))
        enums.make_members(after, ref)
        after.pop(None)
        if after.flow is None:
            after.write(instr.dst, ref, instr.span)
        done.append(after)
    return done


def _owned(value: Value, owner: Ref) -> Value:
    if isinstance(value, Closure):
        return Closure(value.code, value.frame, value.defaults, owner)
    if isinstance(value, Wrapped):
        return Wrapped(value.kind, _owned(value.func, owner), value.memo)
    return value
