"""What ran aside and failed, as a coroutine or for a pool: its error comes out where somebody asks for the result, not where it ran."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeGuard

from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import Flow, State, ticket
from retainlint.symbolic.state.values import NONE, ClassObj, Const, External, Failure, Instance, Partial, Term, Value
from retainlint.text.source import Span

_FAILED = External("retainlint.stubs.failed")
"""What stands for an outcome: the value with which the machine goes on all the same, and the error."""


def function(machine: Machine, state: State, name: str, args: Args, span: Span) -> Results | None:
    """What a stub says of outcomes; None for any other name."""
    given = args.get(0, "outcome")
    match name:
        case "outcome":
            rest = Args(args.pos[1:], args.named, args.open)
            return aside(machine, state, lambda begun: machine.call(begun, given, rest, span), raises=True)
        case "settled":
            return [(state, settled(machine, state, given))]
        case "error_in":
            return [(state, error_in(machine, state, given))]
    return None


def aside(machine: Machine, state: State, run: Callable[[State], Results], *, raises: bool) -> Results:
    """Run something whose failures somebody else is told of: its results, and outcomes in the place of those that failed. If it
    `raises`, what the program itself raises there is kept for them, too."""
    since, known = ticket(), state.reported
    machine.reports.aside += 1
    try:
        results = run(state)
    finally:
        machine.reports.aside -= 1
    numbers = machine.reports.failures(since)
    failed = [id(each) for each, _ in results if each.reported != known] or [id(each) for each, _ in results]
    found: Results = []
    for each, value in results:
        if raises and each.flow is not None and each.flow.kind == "raise":
            error, each.flow = each.flow.value or Failure(""), None
            found.append((each, Partial(_FAILED, (NONE, error), ())))
        elif numbers and id(each) in failed and each.flow is None:
            found.append((each, Partial(_FAILED, (value, Failure("RuntimeError", kept=numbers)), ())))
        else:
            found.append((each, value))
    return found


def settled(machine: Machine, state: State, outcome: Value) -> Value:
    """What somebody gets who waits for it: its value, or it raises there."""
    if not _is_outcome(outcome := _held(state, outcome)):
        return outcome
    value, error = outcome.args
    if not isinstance(error, Failure) or not error.kept or raised(machine, state, error):
        state.flow = Flow("raise", error)
    return value


def raised(machine: Machine, state: State, error: Failure) -> bool:
    """An error that was kept comes out here: whether the program may go on behind it; then it is told if it leaves the entry."""
    if state.guards:
        withdraw(machine, error.kept, len(state.choices))
        state.swallowed += error.kept
    elif not machine.trying:
        machine.reports.restore(error.kept)
    return bool(state.guards)


def error_in(machine: Machine, state: State, outcome: Value) -> Value:
    """The error that somebody looks at instead of having it raised, None where there is none."""
    if not _is_outcome(outcome := _held(state, outcome)):
        return NONE
    _, error = outcome.args
    if isinstance(error, Failure):
        withdraw(machine, error.kept)
    return error


def ended(state: State, code: Value, *, raises: bool) -> Results:
    """The exception that ends the program, or it is raised: with a code that tells of a failure, those are told that were
    expected before."""
    is_known = isinstance(code, Const) and code.value not in (None, 0, False)
    fails = is_known or isinstance(code, Failure) or (isinstance(code, Term) and code.op in _TEXTS)
    error = Failure("SystemExit", kept=state.swallowed if fails else ())
    if not raises:
        return [(state, error)]
    state.flow = Flow("raise", error)
    return [(state, NONE)]


_TEXTS = frozenset(("text", "format", "str", "repr", "join"))
"""Terms that are texts, which nobody leaves empty."""


def withdraw(machine: Machine, numbers: Collection[int], choices: int | None = None) -> None:
    """Say nothing of some failures, unless all are asked for; a trial decides nothing."""
    if not (machine.trying or machine.tells_caught):
        machine.reports.withdraw(numbers, choices)


def _held(state: State, value: Value) -> Value:
    """What a future of a stub holds, or a task; anything else is itself."""
    held = state.get(value)
    cls = state.get(held.cls) if isinstance(held, Instance) else None
    is_future = isinstance(cls, ClassObj) and cls.code.span.source.is_stub
    return held.attrs.get("outcome", value) if is_future and isinstance(held, Instance) else value


def _is_outcome(value: Value) -> TypeGuard[Partial]:
    return isinstance(value, Partial) and value.func == _FAILED
