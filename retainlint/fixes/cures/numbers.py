"""A number, or a tensor without its graph, kept in place of a tensor with it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from retainlint.diagnostic import AsNumber, Diagnostic
from retainlint.fixes.code import Code
from retainlint.fixes.edits import Applicability, Fix
from retainlint.fixes.statements import called, ended


def as_number(code: Code, cure: AsNumber, diagnostic: Diagnostic) -> Iterator[Fix]:
    """`.item()`, or `.detach()`, which stays a tensor; where a function's one caller gives it, there."""
    node = code.expression(cure.span) if cure.span.source is code.source else None
    if node is None:
        return
    for ending, message in ((".item()", "Keep the number"), (".detach()", "Keep it detached")):
        for each in (_given(code, node), node):
            if each is not None:
                edit = ended(code, each, ending)
                yield Fix(Applicability.UNSAFE, f"{message}: `{code.of(each)}{ending}`", (edit,))


def _given(code: Code, node: ast.expr) -> ast.expr | None:
    """What the only call of the function around gives for a parameter."""
    scope = code.scope(node)
    if isinstance(scope, ast.Module) or not isinstance(node, ast.Name):
        return None
    parameters = [each.arg for each in scope.args.args]
    calls = [each for each in ast.walk(code.tree) if isinstance(each, ast.Call) and called(each) == scope.name]
    if node.id not in parameters or len(calls) != 1:
        return None
    at = parameters.index(node.id) - (parameters[0] == "self")
    named = {word.arg: word.value for word in calls[0].keywords}
    plain = calls[0].args if not any(isinstance(each, ast.Starred) for each in calls[0].args) else []
    return plain[at] if at < len(plain) else named.get(node.id)
