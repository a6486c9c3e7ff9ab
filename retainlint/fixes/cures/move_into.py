"""What was computed once, before a loop or outside a closure, computed in each of its turns."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from retainlint.diagnostic import Diagnostic, MoveInto
from retainlint.fixes.code import Code, Function, Loop
from retainlint.fixes.edits import Applicability, Fix
from retainlint.fixes.statements import (
    around,
    calls,
    copied_before,
    dependents,
    first,
    meets,
    reads,
    removed,
    writes,
)

MOST = 8
"""Statements that are moved together; more are a program to be rewritten."""

_DOES = re.compile(r"backward|step|zero_grad")
_MAKES_LEAVES = re.compile(r"requires_grad|Parameter\(|\bnn\.(?!functional)[A-Z]|\boptim\.")


def move_into(code: Code, cure: MoveInto, diagnostic: Diagnostic) -> Iterator[Fix]:
    if cure.loop.source is not code.source:
        return
    loop = code.headed(cure.loop) or _closure(code, diagnostic)
    spans = (cure.span, *(label.span for label in diagnostic.labels if not label.primary))
    for span in dict.fromkeys(spans):
        built = code.statement(span.start) if span.source is code.source else None
        if loop is not None and built is not None and (fix := _of(code, built, loop)) is not None:
            yield fix


def _of(code: Code, built: ast.stmt, loop: Loop | Function) -> Fix | None:
    """What is made by one statement, and by those behind it that the loop needs, moved into the loop."""
    while code.within(loop, code.block(built).statements) is None:  # built in a `with` or an `if` before the loop
        up = code.parents[built]
        if not isinstance(up, ast.stmt) or isinstance(up, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return None
        built = up
    block = code.block(built)
    anchor = around(code, block, loop)
    if block.statements.index(anchor) <= block.statements.index(built):
        return None
    between = block.upto(built, anchor)
    moved = dependents(built, between, reads(ast.Module(loop.body, [])))
    if built not in moved or len(moved) > MOST or calls(moved, _DOES):
        return None
    if any(_MAKES_LEAVES.search(code.of(each)) for each in moved):
        return None
    return _moved(code, loop, moved, between)


def _closure(code: Code, diagnostic: Diagnostic) -> Function | None:
    """The function that walks, if what calls it again is no loop but an optimiser's step."""
    backward_pass = code.statement(diagnostic.primary.span.start)
    scope = code.scope(backward_pass) if backward_pass is not None else None
    return scope if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef) else None


def _moved(code: Code, loop: Loop | Function, moved: list[ast.stmt], between: list[ast.stmt]) -> Fix:
    written = set().union(*map(writes, moved))
    target = next((each for each in loop.body if meets(written, reads(each))), None) or first(loop.body)
    code.rows(target)
    into = copied_before(code, target, moved)
    named = _named(written) or code.of(moved[0]).splitlines()[0]
    what = f"`{named}`" if len(moved) == 1 else f"what makes `{_named(writes(moved[-1])) or named}`"
    where = "closure" if isinstance(loop, ast.FunctionDef | ast.AsyncFunctionDef) else "loop"
    if _needed_outside(code, loop, moved, between, written):
        return Fix(Applicability.UNSAFE, f"Compute {what} anew inside the {where}", (into,))
    edits = (*(removed(code, each) for each in moved), into)
    return Fix(Applicability.UNSAFE, f"Compute {what} inside the {where}", edits)


def _needed_outside(
    code: Code, loop: Loop | Function, moved: list[ast.stmt], between: list[ast.stmt], written: set[str]
) -> bool:
    """Whether anything but the loop's body, and what follows a loop, reads what is moved."""
    if any(meets(written, reads(each)) for each in between if each not in moved):
        return True
    if isinstance(loop, ast.While):
        return meets(written, reads(loop.test))
    if isinstance(loop, ast.For | ast.AsyncFor):
        return meets(written, reads(loop.iter))
    inside = {id(node) for each in (*moved, *loop.body) for node in ast.walk(each)}
    others = (node for node in ast.walk(code.scope(loop)) if isinstance(node, ast.Name | ast.Attribute))
    return any(
        id(node) not in inside and isinstance(node.ctx, ast.Load) and ast.unparse(node) in written for node in others
    )


def _named(written: set[str]) -> str:
    return ", ".join(sorted(name for name in written if not name.endswith(".*")))
