"""Statements that bind the wrong thing: None from a walk, nothing from `detach()`, a `Variable` that is the tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from retainlint.diagnostic import AssignDetach, Diagnostic, DropAssignment, RemoveVariable
from retainlint.fixes.code import Code
from retainlint.fixes.edits import Applicability, Edit, Fix


def drop_assignment(code: Code, cure: DropAssignment, diagnostic: Diagnostic) -> Iterator[Fix]:
    """The call alone: safe if nothing reads the name, unsafe if something is to read what it was bound to before."""
    statement = code.statement(cure.span.start) if cure.span.source is code.source else None
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
        return
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    if len(names) < len(targets):
        return
    start = code.start(statement)
    scope = code.scope(statement)
    read = [name for name in names if any(code.start(each) > start for each in code.reads(code.tree, name))]
    if any(all(code.start(each) >= start for each in code.writes(scope, name)) for name in read):
        return
    edit = Edit(start, code.start(statement.value), "")
    applicability = Applicability.UNSAFE if any(code.reads(code.tree, name) for name in names) else Applicability.SAFE
    yield Fix(applicability, f"Don't bind `{', '.join(names)}` to None", (edit,))


def assign_detach(code: Code, cure: AssignDetach, diagnostic: Diagnostic) -> Iterator[Fix]:
    if cure.span.source is code.source and cure.span.text.startswith(cure.name) and code.holds(cure.name):
        edit = Edit(cure.span.start, cure.span.start, f"{cure.name} = ")
        yield Fix(Applicability.UNSAFE, f"Write `{cure.name} = {cure.span.text}`", (edit,))


def remove_variable(code: Code, cure: RemoveVariable, diagnostic: Diagnostic) -> Iterator[Fix]:
    """The argument alone, in brackets where what is around it would bind tighter."""
    if cure.call.source is not code.source:
        return
    call, argument = code.call(cure.call), code.expression(cure.argument)
    if call is None or argument is None:
        return
    text = code.of(argument)
    up = code.parents[call]
    is_whole = isinstance(argument, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Constant)
    is_free = isinstance(up, ast.Assign | ast.Expr | ast.Return | ast.keyword | ast.AnnAssign)
    is_free = is_free or (isinstance(up, ast.Call) and call in up.args)
    if not (is_whole or is_free) or ("\n" in text and isinstance(up, ast.stmt)):
        text = f"({text})"
    yield Fix(Applicability.SAFE, "Use the tensor itself", (Edit(code.start(call), code.end(call), text),))
