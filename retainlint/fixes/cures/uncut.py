"""A graph that was cut, or never recorded, before the walk: what cut it taken away."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from retainlint.diagnostic import Diagnostic, Uncut
from retainlint.fixes.code import Code
from retainlint.fixes.edits import Applicability, Edit, Fix
from retainlint.fixes.statements import called


def uncut(code: Code, cure: Uncut, diagnostic: Diagnostic) -> Iterator[Fix]:
    if cure.span.source is not code.source:
        return
    statement = code.statement(cure.span.start)
    if statement is None:
        return
    if cure.reason in ("detach", "data"):
        for node in ast.walk(statement):
            yield from _suffix(code, node)
        yield from _required(code, statement)
    if cure.reason == "no_grad":
        for up in (statement, *code.above(statement)):
            if isinstance(up, ast.With) and len(up.items) == 1 and "no_grad" in code.of(up.items[0].context_expr):
                yield _unwrapped(code, up)
            if isinstance(up, ast.FunctionDef | ast.AsyncFunctionDef):
                yield from _undecorated(code, up)


def _suffix(code: Code, node: ast.AST) -> Iterator[Fix]:
    if isinstance(node, ast.Call) and called(node) == "detach" and isinstance(node.func, ast.Attribute):
        edit = Edit(code.end(node.func.value), code.end(node), "")
    elif isinstance(node, ast.Attribute) and node.attr == "data" and isinstance(node.ctx, ast.Load):
        edit = Edit(code.end(node.value), code.end(node), "")
    else:
        return
    start = edit.start
    while code.text[start : start + 1] == ")" or code.text[start : start + 1].isspace():  # brackets around what is cut
        start += 1
    yield Fix(Applicability.UNSAFE, f"Remove `{code.text[start : edit.end]}`", (Edit(start, edit.end, ""),))


def _required(code: Code, statement: ast.stmt) -> Iterator[Fix]:
    """A detached tensor whose gradient the program asks for: it is to be a leaf that requires one."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return
    value, name = statement.value, code.of(statement.targets[0])
    if isinstance(value, ast.Call) and called(value) == "detach" and f"{name}.grad" in code.text:
        edit = Edit(code.end(value), code.end(value), ".requires_grad_()")
        yield Fix(Applicability.UNSAFE, f"Let `{name}` require a gradient", (edit,))


def _unwrapped(code: Code, node: ast.With) -> Fix:
    start, end = code.rows(node)
    indent = code.indent(node)
    body = "".join(code.lifted(each, indent) for each in node.body)
    inner = code.text[code.source.row_starts[code.row_of(code.start(node.body[0])) - 1] : end]
    if inner.count("#") > body.count("#"):  # comments between the statements would be lost
        body = _shifted(inner, code.indent(node.body[0]), indent)
    return Fix(Applicability.UNSAFE, "Record the graph: don't compute it under `no_grad`", (Edit(start, end, body),))


def _shifted(text: str, old: str, new: str) -> str:
    return "".join(new + line[len(old) :] if line.startswith(old) else line for line in text.splitlines(keepends=True))


def _undecorated(code: Code, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Fix]:
    for decorator in node.decorator_list:
        if "no_grad" in code.of(decorator):
            row = code.row_of(code.start(decorator))
            starts = code.source.row_starts
            yield Fix(
                Applicability.UNSAFE, f"Remove `@{code.of(decorator)}`", (Edit(starts[row - 1], starts[row], ""),)
            )
