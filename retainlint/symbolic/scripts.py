"""Scripts that only set up a trainer of another module: it is run for itself, and shows what it does with its heirs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from retainlint import ir
from retainlint.symbolic.classes import ancestry
from retainlint.symbolic.context import OutOfSteps
from retainlint.symbolic.entries import class_of, inherited
from retainlint.symbolic.machine import Interpreter
from retainlint.symbolic.models import unknown
from retainlint.symbolic.state import State
from retainlint.symbolic.untaken import blocks
from retainlint.symbolic.values import ClassObj

PATIENCE = 1_000
"""A script that has come to no walk after so many steps is left, if its classes show what it leads to: what it prepares
is files, options and logs, and in the middle of that nobody can say any more what a trainer finds."""

_GUARD = re.compile(r"""__name__\s*==\s*["']__main__["']|["']__main__["']\s*==\s*__name__""")

_WORD = re.compile(r"[^\W\d]\w*")


def run(machine: Interpreter, begun: State, *, whole: bool = False) -> tuple[list[State], bool]:
    """Run a module's body; how it ended, and whether its script was left. OutOfSteps if it takes too many steps."""
    body, state = machine.program.module.body, begun.fork()
    at = None if whole or machine.imports.project is None or machine.program.module.walks else guard(body)
    ended = machine.run(body[:at], [state])
    if at is None:
        return ended, False
    before = [each for each in ended if each.flow is None]
    after = _script(machine, before, body[at:])
    if after is None:
        return before, True
    return [each for each in ended if each.flow is not None] + after, False


def _script(machine: Interpreter, states: list[State], block: ir.Block) -> list[State] | None:
    """Run the last block of a module; None if it is left, since what its heirs do shows what it leads to."""
    module, project = machine.program.module, machine.imports.project
    heirs = [heir for _, heir in inherited(states[0], module)] if len(states) == 1 else []
    if project is None or not heirs or not _leads_to_heirs_alone(module, states[0], heirs, project.reaches):
        return machine.run(block, states)
    known, machine.budget = len(machine.waste.walks), machine.steps + PATIENCE
    try:
        return machine.run(block, [states[0].fork()])
    except OutOfSteps:
        machine.budget = machine.full
        if len(machine.waste.walks) > known:
            return machine.run(block, states)
    finally:
        machine.budget = machine.full
    machine.waste.spoil()
    machine.gap(
        block[0].span,
        f"the script was left: no walk within {PATIENCE} steps, so what its classes inherit was run",
        spoils=False,
    )
    _open_names(states[0], block)
    return None


def guard(body: ir.Block) -> int | None:
    """Where in a module's body the last thing stands, if it only runs where the module is the program."""
    at = len(body) - 1
    last = body[at] if body else None
    return at if isinstance(last, ir.If) and not last.orelse and _GUARD.fullmatch(last.span.text.strip("()")) else None


def _leads_to_heirs_alone(
    module: ir.Code, state: State, heirs: Sequence[ir.Code], reaches: Callable[[str], bool]
) -> bool:
    """Whether all that a module speaks of, and from which a walk may be reached, are its own names, which stand for no more
    than its words, and the methods of its heirs."""
    known = {code.name for code in _codes(module.body)} | {store.name for store in _stores(module.body)}
    known -= {name for instr in _imports(module.body) for name in _WORD.findall(instr.span.text)}
    known.update(name for heir in heirs for name in _methods(state, heir))
    return not any(map(reaches, set(_WORD.findall(module.span.source.text)) - known))


def _codes(block: ir.Block) -> Iterator[ir.Code]:
    """The functions and classes of a module, with their methods."""
    for instr in block:
        if isinstance(instr, ir.MakeFunction | ir.MakeClass):
            yield instr.code
        if isinstance(instr, ir.MakeClass):
            yield from _codes(instr.code.body)
        for inner in blocks(instr):
            yield from _codes(inner)


def _methods(state: State, heir: ir.Code) -> Iterator[str]:
    cls = class_of(state, heir)
    for base in () if cls is None else ancestry(state, cls):
        held = state.get(base)
        yield from held.attrs if isinstance(held, ClassObj) else ()


def _open_names(state: State, block: ir.Block) -> None:
    """Bind the names that a block of the module would have bound, to what nobody knows."""
    names = state.writable().names
    for store in _stores(block):
        if store.name not in names:
            names[store.name] = unknown.fresh(state, store.span, name=store.name)


def _imports(block: ir.Block) -> Iterator[ir.Import]:
    for instr in block:
        if isinstance(instr, ir.Import):
            yield instr
        for inner in blocks(instr):
            yield from _imports(inner)


def _stores(block: ir.Block) -> Iterator[ir.Store]:
    for instr in block:
        if isinstance(instr, ir.Store):
            yield instr
        for inner in blocks(instr):
            yield from _stores(inner)
