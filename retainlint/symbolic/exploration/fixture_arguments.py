"""What pytest gives to a test: the values of the fixtures that its parameters name, of its module and of each `conftest.py` above."""

from __future__ import annotations

from collections.abc import Mapping

from retainlint import ir
from retainlint.symbolic.interpreter import module_bodies, stub_modules
from retainlint.symbolic.interpreter.machine import Interpreter
from retainlint.symbolic.models.frameworks import test_runners
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.protocol import Args
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import NONE, Const, DictObj, Module, Tuple, Value


def load(machine: Interpreter, state: State) -> None:
    """Run what lies above a module of tests, before its own body adds to that."""
    module = machine.program.module
    if not any(each.startswith(test_runners.TEST) for each in module.facts.defined):
        return
    for level in range(1, limits.CONFTEST_LEVELS + 1):
        found = module_bodies.by_name(machine, state, "." * level + "conftest", module.span)
        if isinstance(found, Module):
            module_bodies.whole(machine, state, found, module.span)


def given(machine: Interpreter, state: State, code: ir.Code, receiver: Value = NONE) -> tuple[tuple[str, Value], ...]:
    """The arguments of a test that are fixtures, behind what is made for each test; none of any other function. A method's `receiver`
    is held meanwhile: nobody names it, and what nobody names is gone behind a call."""
    if not is_test(machine, state, code):
        return ()
    known = _items(state, stub_modules.used(machine, state, "pytest.FIXTURES"))
    state.write(_HELD, receiver, code.span)
    _asked(machine, state, "pytest.begin", code)
    wanted = [each.name for each in code.params if Const(each.name) in known]
    found = [(name, _asked(machine, state, "pytest.value_of", code, Const(name))) for name in wanted]
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


def _asked(machine: Interpreter, state: State, path: str, code: ir.Code, *given: Value) -> Value | None:
    """What a function of the stub returns, on the first path that comes to its end."""
    func = stub_modules.used(machine, state, path)
    ways = machine.call(state.fork(), func, Args(given), code.span) if func is not None else []
    after, value = next(((each, value) for each, value in ways if each.flow is None), (None, None))
    if after is not None:
        state.become(after)
    return value
