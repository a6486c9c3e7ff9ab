"""Scripts that only set up a trainer of another module: it is run for itself, and shows what it does with its heirs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

from retainlint import ir
from retainlint.symbolic import between, defining
from retainlint.symbolic.classes import ancestry
from retainlint.symbolic.context import OutOfSteps
from retainlint.symbolic.entries import class_of, driven, entries, inherited
from retainlint.symbolic.machine import Interpreter
from retainlint.symbolic.models import unknown
from retainlint.symbolic.state import State
from retainlint.symbolic.untaken import blocks
from retainlint.symbolic.values import ClassObj

PATIENCE = 200
"""A script that has come to no walk after so many steps is left, if its classes show what it leads to: what it prepares
is files, options and logs, and in the middle of that nobody can say any more what a trainer finds."""

Heirs: TypeAlias = "frozenset[ir.Code]"
NOBODY: Heirs = frozenset()

_GUARD = re.compile(r"""__name__\s*==\s*["']__main__["']|["']__main__["']\s*==\s*__name__""")

_MAKING = (ir.MakeFunction, ir.Store)

_DEFINED = re.compile(r"\b(?:def|class)[ \t]+(\w+)")
_WALK = re.compile(r"(?:backward|\bgrad)\s*\(")


def run(machine: Interpreter, begun: State, *, whole: bool = False) -> tuple[list[State], Heirs]:
    """Run a module's body; how it ended, and the heirs whose methods are to be run in the place of its script, if that was
    left. OutOfSteps if it takes too many steps."""
    body, state = machine.program.module.body, begun.fork()
    at = None if whole or machine.imports.project is None else guard(body)
    if at is None:
        return defining.run(machine, state, body), NOBODY
    script = body[at : at + 1]
    ended = defining.run(machine, state, body[:at] + body[at + 1 :])
    before = [each for each in ended if each.flow is None]
    heirs = _leads_to(machine, before[0], script) if before else NOBODY
    after = _script(machine, before, script) if heirs else machine.run(script, before)
    if after is None:
        return before, heirs
    return [each for each in ended if each.flow is not None] + after, NOBODY


def _script(machine: Interpreter, states: list[State], block: ir.Block) -> list[State] | None:
    """Run the last block of a module; None if it is left, since what its heirs do shows what it leads to."""
    known, machine.budget = len(machine.waste.walks), machine.steps + PATIENCE
    try:
        return machine.run(block, [each.fork() for each in states])
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
    for each in states:
        _open_names(each, block)
    return None


def guard(body: ir.Block) -> int | None:
    """Where in a module's body stands what only runs where the module is the program, if behind it nothing is done but
    that functions are made."""
    at = next((index for index, each in reversed([*enumerate(body)]) if type(each) not in _MAKING), len(body))
    script = body[at] if at < len(body) else None
    alone = isinstance(script, ir.If) and not script.orelse and _GUARD.fullmatch(script.span.text.strip("()"))
    return at if alone else None


def _leads_to(machine: Interpreter, state: State, script: ir.Block) -> Heirs:
    """The classes whose methods a trainer of another module calls, if they are all that a script leads to: all that its
    module speaks of, and from which a walk may be reached, are its own names, which stand for no more than its words, and
    the methods of these heirs, each walk of its own stands in such a method, and it leaves it to the trainer to call them."""
    module, project = machine.program.module, machine.imports.project
    methods = (*inherited(state, module), *driven(state, module))
    heirs = frozenset(heir for _, heir in methods)
    if project is None or not heirs:
        return NOBODY
    own = {code for code, _ in entries(module, None) if code.walks}
    text = module.span.source.text
    if not own <= {method for method, _ in methods} or _WALK.search(text, script[0].span.start):
        return NOBODY
    if re.search(rf"(?<!self)(?<!super\(\))\.(?:{'|'.join({method.name for method, _ in methods})})\(", text):
        return NOBODY
    known = {*_DEFINED.findall(text), *(store.name for store in _stores(module.body))}
    known -= {name for instr in _imports(module.body) for name in between.WORD.findall(instr.span.text)}
    known.update(name for heir in heirs for name in _methods(state, heir))
    return NOBODY if any(map(project.reaches, set(between.WORD.findall(text)) - known)) else heirs


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
