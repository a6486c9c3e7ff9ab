"""`retain_graph=True` in a walk; in a counted loop, in all turns but the last."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from retainlint.diagnostic import Diagnostic, KeepGraph
from retainlint.fixes.code import Code
from retainlint.fixes.cures.arguments import with_argument
from retainlint.fixes.edits import Applicability, Fix


def keep_graph(code: Code, cure: KeepGraph, diagnostic: Diagnostic) -> Iterator[Fix]:
    call = code.call(cure.span) if cure.span.source is code.source else None
    if call is None:
        return
    if cure.span == diagnostic.primary.span and (counted := _but_the_last(code, call)):
        edit = with_argument(code, call, "retain_graph", counted)
        yield Fix(
            Applicability.UNSAFE, f"Retain the graph in all turns but the last: `retain_graph={counted}`", (edit,)
        )
    edit = with_argument(code, call, "retain_graph", "True")
    yield Fix(Applicability.UNSAFE, "Retain the graph: `retain_graph=True`", (edit,))


def _but_the_last(code: Code, call: ast.Call) -> str:
    """A condition that the last turn of the loop around a walk doesn't meet; "" if the loop doesn't count."""
    loop = next((up for up in code.above(call) if isinstance(up, ast.For | ast.While | ast.FunctionDef)), None)
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call) or loop.iter.keywords:
        return ""
    func, args = loop.iter.func, loop.iter.args
    if not isinstance(func, ast.Name) or len(args) != 1:
        return ""
    if func.id == "range" and isinstance(loop.target, ast.Name) and loop.target.id != "_":
        bound = args[0]
        is_plain = isinstance(bound, ast.Name | ast.Attribute | ast.Call)
        if isinstance(bound, ast.Constant) and isinstance(bound.value, int):
            return f"{loop.target.id} < {bound.value - 1}"
        return f"{loop.target.id} < {code.of(bound)} - 1" if is_plain else ""
    if func.id == "enumerate" and isinstance(loop.target, ast.Tuple) and isinstance(args[0], ast.Name | ast.Attribute):
        counter = loop.target.elts[0]
        return f"{counter.id} < len({code.of(args[0])}) - 1" if isinstance(counter, ast.Name) else ""
    return ""
