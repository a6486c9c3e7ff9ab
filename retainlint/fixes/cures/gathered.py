"""Rows that a loop writes into one tensor, each computed of those before, gathered in a list and stacked behind it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from retainlint.diagnostic import Fix
from retainlint.fixes.code import EditableCode
from retainlint.fixes.edits import unsafe
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
    if made is None or begun is None or isinstance(begun.value, ast.Constant):
        return
    inside = code.named(loop, name)
    uses = [each for way in block[: block.index(loop)] for each in code.named(way, name)]
    if not _sets(row, f"{name}[{ast.unparse(loop.target)} + 1]"):
        return
    if len(uses) != 2 or not all(_is_of_one_row(code, each) for each in inside):
        return
    yield unsafe(
        f"Gather its rows in a list, and stack them after the loop: `{name}.append(…)`, `{name} = {torch}.stack({name})`",
        code.removed(made),
        code.replaced(begun, f"{name} = [{code.of(begun.value)}]"),
        code.replaced(row, f"{name}.append({code.of(row.value)})"),
        code.after(loop, f"{name} = {torch}.stack({name})"),
        parts=True,
    )


def _is_made(statement: ast.stmt, name: str, size: str) -> bool:
    """Whether it binds the name to a new tensor of so many rows."""
    match statement:
        case ast.Assign(
            [ast.Name(made)],
            ast.Call(args=[ast.Tuple([rows, *_]) | ast.List([rows, *_]) | rows, *_]) as call,
        ) if made == name and called(call) in ("zeros", "empty", "new_zeros", "new_empty"):
            return ast.unparse(rows) == size
    return False


def _sets(statement: ast.Assign, target: str) -> bool:
    return len(statement.targets) == 1 and ast.unparse(statement.targets[0]) == target


def _is_of_one_row(code: EditableCode, read: ast.expr) -> bool:
    """Whether one row is taken of it."""
    match code.parents[read]:
        case ast.Subscript(value, ast.Name() | ast.BinOp() | ast.Constant()):
            return value is read
    return False
