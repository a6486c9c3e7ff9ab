"""How far calls of functions of other modules are followed: so many steps each, and so many in all."""

from __future__ import annotations

from collections.abc import Callable

from retainlint import ir
from retainlint.source import Span
from retainlint.symbolic.context import Machine, OutOfSteps, Results
from retainlint.symbolic.state import State

ALLOWANCE = 8_000
"""Steps that a call of another module may take before it is given up, unless it walks."""

LEAST = 1_000
"""A function that takes more is not tried again."""

SHARE, SHARE_OF_FILE = 12_000, 50_000
"""Steps that an entry, and all entries before it, may spend on calls of functions of other modules that hold no walk (an
entry twice as many where the module holds one); those behind are not followed."""

SHARE_OF_PLAIN = 6_000
"""The same of an entry's calls of functions that are no network's: most read files, parse options, write logs."""

BUDGET_WITH_IMPORTS = 40_000
"""Steps that an entry may take once it has called such a function; it is run again without them if it takes more."""

ALLOWANCE_BEYOND, SHARE_BEYOND = 1_000, 1_500
"""The same where the program holds no walk itself: what counts are the calls that lead to one."""


def crosses(machine: Machine, state: State, code: ir.Code) -> bool:
    """Whether a call leads into another module; where no walk stands in the program, whether it leads about there."""
    source, here = code.span.source, machine.program
    return source is not here.source and (not here.module.walks or source is not state.frame.code.span.source)


def followed(
    machine: Machine,
    state: State,
    code: ir.Code,
    enter: Callable[[State], Results],
    leave: Callable[[State], Results],
    span: Span,
    *,
    plain: bool,
) -> Results:
    """Call a function of another module: `enter` runs it, `leave` leaves it unseen. One that takes too long, and walks
    nothing meanwhile, is left; one that is called by such a function may take half of the steps that its caller has left.
    A `plain` one is no network's method."""
    imports = machine.imports
    if code.walks or (not machine.program.module.walks and _leads_to_walks(machine, code)):
        return enter(state)
    spent = imports.closed or (not imports.crossing and _is_spent(machine, state, code, plain=plain))
    if code in imports.endless or (spent and not imports.is_cheap(code, machine.running)):
        if code not in imports.told:
            why = f"`{code.qualname}` was not followed: calls into other modules take too many steps"
            machine.gap(span, why, spoils=False)
        imports.told.add(code)
        return leave(state)
    outer, before, start, budget = imports.crossing, state.fork(), machine.steps, machine.budget
    allowance, walks = (budget - start) // 2 if outer else imports.allowance, len(machine.waste.walks)
    entered = None if outer else frozenset(machine.entered)
    machine.budget = min(budget, start + allowance)
    imports.crossing = True
    try:
        return enter(state)
    except OutOfSteps:
        if machine.steps > budget:
            raise
    finally:
        machine.budget, imports.crossing = budget if outer else min(budget, BUDGET_WITH_IMPORTS), outer
        if not (outer or imports.loading):
            imports.spend(machine.steps - start, plain=plain)
        imports.note(code, machine.steps - start, machine.running if spent else None)
    if len(machine.waste.walks) > walks:
        return enter(before)
    if allowance >= LEAST:
        imports.endless.add(code)
    if entered is not None:
        machine.entered.intersection_update(entered)  # what was left unseen covers nothing
    imports.told.add(code)
    machine.gap(span, f"`{code.qualname}` was not followed: it takes more than {allowance} steps", spoils=False)
    return leave(before)


def _is_spent(machine: Machine, state: State, code: ir.Code, *, plain: bool) -> bool:
    """Whether an entry, and all before it, have spent their steps in functions of other modules."""
    imports = machine.imports
    if plain and imports.spent_on_plain > SHARE_OF_PLAIN:
        return True
    module = state.frames[imports.of[code.span.source]].code
    return imports.spent > imports.share * (1 + module.walks) or imports.spent_before > SHARE_OF_FILE


def _leads_to_walks(machine: Machine, code: ir.Code) -> bool:
    """Whether a walk may be reached from a function of another module, by its name, or its class's where it has none."""
    project = machine.imports.project
    assert project is not None
    return project.reaches(known_as(code))


def known_as(code: ir.Code) -> str:
    """The name by which a function is called: that of its class, for what has no other."""
    *_, cls, name = ("", *code.qualname.rsplit(".", 2))
    return cls if name == "forward" or name.startswith("__") else name
