"""unittest and pytest: which methods are tests, what is called before each on an object of its own, and blocks that have to raise."""

from __future__ import annotations

from retainlint.startup.records import replace
from retainlint.symbolic.models.python import contexts
from retainlint.symbolic.models.unknown import objects
from retainlint.symbolic.state.classes import class_of, find, of_others
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import FALSE, Bound, ClassObj, Closure, GradMode, Ref, UnknownObj, Value, Wrapped
from retainlint.text.source import Span

TEST = "test"
"""How runners find the functions and methods that they run: by the beginning of their names."""

_OF_CLASSES = ("setUpClass", "setup_class")
_OF_TESTS = ("setUp", "asyncSetUp", "setup_method")
_BEHIND_TESTS = ("tearDown", "asyncTearDown", "teardown_method")
INHERITED = {"assertRaises", "assertRaisesRegex", "assertRaisesRegexp"}
METHODS = {"raises"} | INHERITED


def function(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results | None:
    """A block that has to raise what it is given, or a mark of tests that do; None for any other path."""
    if path in MARKS:
        return [(state, mark(state, args) or objects.fresh(state, span))]
    if path not in ("pytest.raises", "unittest.TestCase.assertRaises"):
        return None
    return [(state, contexts.guard(state, args.get(0, "expected_exception"), expects=True))]


MARKS = ("pytest.mark.xfail", "pytest.mark.skip", "unittest.expectedFailure", "unittest.skip")
"""Decorators of tests of which a runner expects that they fail, or that it doesn't run."""


def mark(state: State, args: Args) -> GradMode | None:
    """What such a decorator waits for; None where the condition under which it does so never holds."""
    if args.get(0, "condition") == FALSE:
        return None
    named = dict(args.named).get("raises")
    return contexts.guard(state, named) if named is not None else GradMode(None, guards=True)


def marked(state: State, target: Value, mode: GradMode) -> Value:
    """A test under such a decorator; of a class each of its tests is."""
    held = state.get(target)
    if not isinstance(held, ClassObj) or not isinstance(target, Ref):
        return Wrapped("mode", target, mode=mode)
    attrs = {
        name: Wrapped("mode", value, mode=mode) if name.startswith(TEST) and isinstance(value, Closure) else value
        for name, value in held.attrs.items()
    }
    state.set(target, replace(held, attrs=attrs))
    return target


def unknown_method(
    machine: Machine, state: State, obj: Ref, held: UnknownObj, name: str, args: Args, span: Span
) -> Results | None:
    """`self.assertRaises(RuntimeError)`."""
    return function(machine, state, "pytest.raises", args, span) if name in METHODS else None


def is_test(state: State, receiver: Value, name: str) -> bool:
    """Whether a runner calls this method: it is named so, and has a setup of which the class shows that it is a case."""
    return name.startswith(TEST) and _is_case(state, class_of(state, receiver))


def has_class_setup(state: State, receiver: Value) -> bool:
    """Whether the tests of a class share what one call has made."""
    cls = class_of(state, receiver)
    return cls is not None and any(find(state, cls, name) is not None for name in _OF_CLASSES)


def set_up_class(machine: Machine, state: State, cls: Ref, span: Span) -> list[State]:
    """What a runner calls once, before it makes the first object of a class of tests."""
    return _each(machine, state, _OF_CLASSES, cls, span) if _is_case(state, cls) else [state]


def is_unittest(state: State, cls: Value) -> bool:
    """Whether a class is a case of unittest: its tests are run in the order of their names, whoever runs them."""
    return any(path.endswith("TestCase") for path in of_others(state, cls))


def set_up(machine: Machine, state: State, receiver: Value, span: Span) -> list[State]:
    """What a runner calls before each test."""
    return _each(machine, state, _OF_TESTS, receiver, span)


def tear_down(machine: Machine, state: State, receiver: Value, span: Span) -> list[State]:
    """What it calls behind each."""
    return _each(machine, state, _BEHIND_TESTS, receiver, span)


def _each(machine: Machine, state: State, names: tuple[str, ...], receiver: Value, span: Span) -> list[State]:
    states = [state]
    for method in (found for name in names if (found := find(state, receiver, name)) is not None):
        func = method.func if isinstance(method, Wrapped) and method.kind == "classmethod" else method
        states = [after for each in states for after in _run(machine, each, func, receiver, span)]
    return states


def _run(machine: Machine, state: State, func: Value, receiver: Value, span: Span) -> list[State]:
    if state.flow is not None or not isinstance(func, Closure):
        return [state]
    return [after for after, _ in machine.call(state, Bound(func, receiver), Args(open=True), span)]


def _is_case(state: State, cls: Value | None) -> bool:
    """Whether a class derives from a test case, or says by pytest's names what comes before its tests."""
    if cls is None:
        return False
    return is_unittest(state, cls) or any(
        find(state, cls, name) is not None for name in ("setup_method", "setup_class")
    )
