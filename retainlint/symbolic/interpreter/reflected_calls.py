"""Calls that do what a statement does: an import, an attribute or an item that is set, an operator, a method that is bound."""

from __future__ import annotations

from retainlint.startup.records import replace
from retainlint.symbolic.interpreter import attributes, module_bodies, subscripts
from retainlint.symbolic.models.python import options
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import (
    NONE,
    Bound,
    Closure,
    Const,
    DictObj,
    External,
    ListObj,
    Method,
    TensorObj,
    Value,
)
from retainlint.text.source import Span


def reflected(machine: Machine, state: State, func: Method | External, args: Args, span: Span) -> Results | None:
    """A call that does what a statement does: an import, an attribute set past an own `__setattr__`, an item; None for any
    other."""
    if isinstance(func, Method):
        args, name = args.behind(func.obj), func.name
    else:
        name = func.path.rpartition(".")[2]
    if name == "__setattr__" and len(args.pos) == 3 and isinstance(key := args.pos[1], Const):
        return [(each, NONE) for each in attributes.put(machine, state, args.pos[0], str(key.value), args.pos[2], span)]
    if func in _IMPORTING and (module := _module(machine, state, name, args, span)) is not None:
        return [(state, module)]
    first = args.pos[0] if args.pos else NONE
    if (name == "__get__" or func == External("types.MethodType")) and len(args.pos) > 1 and isinstance(first, Closure):
        return [(state, Bound(*args.pos[:2]))]
    if isinstance(state.get(first), TensorObj | DictObj | ListObj) and (name.startswith("__") or func in _OPERATORS):
        return _operator(machine, state, name.strip("_"), args, span)
    if func == External("operator.item_of"):
        return subscripts.read(machine, state, args.pos[1], args.pos[0], span)
    return None


def _operator(machine: Machine, state: State, name: str, args: Args, span: Span) -> Results | None:
    """A method that an operator or an index stands for, called by its name: `x.__iadd__(y)`, `operator.setitem(x, i, y)`."""
    if name == "setitem" and len(args.pos) == 3:
        return [(each, NONE) for each in subscripts.write(machine, state, *args.pos, span)]
    if name == "getitem" and len(args.pos) == 2:
        return subscripts.read(machine, state, *args.pos, span)
    if name in _IN_PLACE and isinstance(state.get(args.pos[0]), TensorObj):
        return machine.call(state, Method(args.pos[0], _IN_PLACE[name]), replace(args, pos=args.pos[1:]), span)
    return None


_IN_PLACE = {"iadd": "add_", "isub": "sub_", "imul": "mul_", "itruediv": "div_", "ipow": "pow_"}

_OPERATORS = frozenset(External(f"operator.{name}") for name in ("setitem", "getitem", *_IN_PLACE))

_IMPORTING = (External("importlib.import_module"), External("builtins.__import__"))


def _module(machine: Machine, state: State, function: str, args: Args, span: Span) -> Value | None:
    """The module that is imported by a name which is known, or has a default; by `__import__` the outermost of its packages."""
    name = args.get(0, "name")
    name = options.default(state, name) or name
    if not isinstance(name, Const) or not isinstance(name.value, str):
        return None
    asked = name.value if function == "import_module" else name.value.partition(".")[0]
    return module_bodies.by_name(machine, state, asked, span)
