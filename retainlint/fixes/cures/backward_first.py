"""A walk before the change in place that it can't bear: the change moved behind it, or the walk before the change."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from retainlint.diagnostic import BackwardFirst, Diagnostic
from retainlint.fixes.code import Code
from retainlint.fixes.edits import Applicability, Fix
from retainlint.fixes.statements import called, calls, copied_after, copied_before, meets, reads, removed, writes

_STEP, _ZERO = re.compile(r"step$"), re.compile(r"zero_grad")


def backward_first(code: Code, cure: BackwardFirst, diagnostic: Diagnostic) -> Iterator[Fix]:
    if cure.backward_pass.source is not code.source or cure.change.source is not code.source:
        return
    backward_pass, change = code.statement(cure.backward_pass.start), code.statement(cure.change.start)
    if backward_pass is None or change is None:
        return
    block = code.block(backward_pass)
    moved = code.within(change, block.statements)
    if moved is None or moved is backward_pass or block.statements.index(moved) > block.statements.index(backward_pass):
        return
    between = block.upto(moved, backward_pass)
    steps = calls([moved], _STEP)
    if steps and _mixes(code, steps, backward_pass, between, block.statements):
        return
    if steps:
        yield _change_behind(code, moved, backward_pass, block.statements)
    if not any(meets(writes(each), reads(backward_pass)) for each in (moved, *between)):
        message = f"Walk before `{_head(code, moved)}`"
        yield Fix(
            Applicability.UNSAFE, message, (copied_before(code, moved, [backward_pass]), removed(code, backward_pass))
        )
    if not steps:
        yield _change_behind(code, moved, backward_pass, block.statements)


def _mixes(
    code: Code, steps: list[ast.Call], backward_pass: ast.stmt, between: Sequence[ast.stmt], body: Sequence[ast.stmt]
) -> bool:
    """Whether a step and a walk that change places would spoil each other's gradients: they are zeroed in between, or
    the walk's are meant for another optimiser."""
    owners = {_owner(call) for call in steps}
    zeroed = {_owner(call) for call in calls(between, _ZERO)}
    if zeroed & owners or any(f"{owner}.step(" not in code.text for owner in zeroed):
        return True
    later = {_owner(call) for call in calls(body[body.index(backward_pass) :], _STEP)}
    return bool(later) and not owners & later


def _change_behind(code: Code, change: ast.stmt, backward_pass: ast.stmt, body: Sequence[ast.stmt]) -> Fix:
    message = f"Move `{_head(code, change)}` behind the walk"
    following = body[body.index(backward_pass) + 1 : body.index(backward_pass) + 2]
    if following and ast.unparse(following[0]) == ast.unparse(change):
        return Fix(Applicability.UNSAFE, message, (removed(code, change),))
    return Fix(Applicability.UNSAFE, message, (removed(code, change), copied_after(code, backward_pass, [change])))


def _owner(call: ast.Call) -> str:
    return ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) and called(call) else ""


def _head(code: Code, statement: ast.stmt) -> str:
    return code.of(statement).splitlines()[0]
