"""Rows that a loop writes into one tensor, each computed of those before, gathered in a list and stacked behind it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from retainlint.diagnostic import Fix
from retainlint.fixes.code import EditableCode
from retainlint.fixes.edits import unsafe
from retainlint.startup.records import replace
from retainlint.text.syntax import called


def gathered(code: EditableCode, row: ast.Assign) -> Iterator[Fix]:
    """`u = torch.zeros(n + 1)`, `u[0] = a`, `for k in range(n): u[k + 1] = f(u[k])` to `u = [a]`, `u.append(f(u[k]))` and
    `u = torch.stack(u)` behind the loop; nothing where it is written otherwise."""
    target, loop, torch = row.targets[0], code.parents[row], code.torch
    if not (torch and isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name)):
        return
    if not isinstance(loop, ast.For) or loop.orelse:
        return
    name, block = target.value.id, code.block(loop).statements
    counted = ast.unparse(loop.iter).removeprefix("range(").removesuffix(")")
    made = next((each for each in block if _is_made(each, name, f"{counted} + 1")), None)
    begun = next((each for each in block if isinstance(each, ast.Assign) and _sets(each, f"{name}[0]")), None)
    if (
        made is None
        or begun is None
        or isinstance(begun.value, ast.Constant)
        or not _sets(row, f"{name}[{ast.unparse(loop.target)} + 1]")
    ):
        return
    inside = [each for each in code.below(loop) if isinstance(each, ast.Name) and each.id == name]
    before = block[: block.index(loop)]
    uses = [each for way in before for each in code.below(way) if isinstance(each, ast.Name) and each.id == name]
    if len(uses) != 2 or not all(_is_of_one_row(code, each) for each in inside):
        return
    fix = unsafe(
        f"Gather its rows in a list, and stack them after the loop: `{name}.append(…)`, `{name} = {torch}.stack({name})`",
        code.removed(made),
        code.replaced(begun, f"{name} = [{code.of(begun.value)}]"),
        code.replaced(row, f"{name}.append({code.of(row.value)})"),
        code.after(loop, f"{name} = {torch}.stack({name})"),
    )
    yield replace(fix, parts=True)


def _is_made(statement: ast.stmt, name: str, size: str) -> bool:
    """Whether it binds the name to a new tensor of so many rows."""
    if not isinstance(statement, ast.Assign) or not _sets(statement, name) or not isinstance(statement.value, ast.Call):
        return False
    call = statement.value
    first = call.args[0] if call.args else None
    rows = first.elts[0] if isinstance(first, ast.Tuple | ast.List) and first.elts else first
    return (
        called(call) in ("zeros", "empty", "new_zeros", "new_empty") and rows is not None and ast.unparse(rows) == size
    )


def _sets(statement: ast.Assign, target: str) -> bool:
    return len(statement.targets) == 1 and ast.unparse(statement.targets[0]) == target


def _is_of_one_row(code: EditableCode, read: ast.Name) -> bool:
    """Whether one row is taken of it."""
    up = code.parents[read]
    return (
        isinstance(up, ast.Subscript) and up.value is read and isinstance(up.slice, ast.Name | ast.BinOp | ast.Constant)
    )
