"""A statement put under `with torch.no_grad():`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from retainlint.diagnostic import Diagnostic, UnderNoGrad
from retainlint.fixes.code import Code
from retainlint.fixes.edits import Applicability, Edit, Fix
from retainlint.fixes.statements import before


def under_no_grad(code: Code, cure: UnderNoGrad, diagnostic: Diagnostic) -> Iterator[Fix]:
    statement = code.statement(cure.span.start) if cure.span.source is code.source else None
    torch = _torch(code)
    if statement is None or not torch:
        return
    wrapped = statement
    while True:  # a loop that does nothing else goes under it whole
        owner = code.parents[wrapped]
        if not isinstance(owner, ast.For) or len(owner.body) > 1 or owner.orelse:
            break
        wrapped = owner
    for each in dict.fromkeys((wrapped, statement)):
        yield Fix(Applicability.UNSAFE, f"Put it under `{torch}.no_grad()`", (_under(code, each, torch),))
    if isinstance(statement, ast.Assign | ast.AugAssign):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        while isinstance(target, ast.Subscript):
            target = target.value
        if isinstance(target, ast.Name):
            name = target.id
            yield Fix(
                Applicability.UNSAFE,
                f"Change a clone of `{name}`",
                (before(code, statement, f"{name} = {name}.clone()"),),
            )


def _under(code: Code, statement: ast.stmt, torch: str) -> Edit:
    start, end = code.rows(statement)
    indent = code.indent(statement)
    text = code.lifted(statement, indent + _unit(code, statement))
    if not code.text[start:end].endswith(("\n", "\r")):
        text = text.rstrip("\r\n")
    return Edit(start, end, f"{indent}with {torch}.no_grad():{code.newline(statement)}{text}")


def _unit(code: Code, statement: ast.stmt) -> str:
    """By how much the text indents: as the body that the statement is in, or has, or the first there is."""
    for node in (statement, *code.above(statement), *ast.walk(code.tree)):
        body = getattr(node, "body", None)
        if isinstance(node, ast.stmt) and isinstance(body, list) and code.row_of(code.start(body[0])) > node.lineno:
            outer, inner = code.indent(node), code.indent(body[0])
            if inner.startswith(outer) and inner != outer:
                return inner[len(outer) :]
    return "    "


def _torch(code: Code) -> str:
    """The name that the module has for torch; "" if it has none."""
    for node in code.tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "torch" or (alias.name.startswith("torch.") and alias.asname is None):
                    return alias.asname or "torch"
    return ""
