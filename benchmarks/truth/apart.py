"""Whether two roots take different items of what one forward returns."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from benchmarks.truth.sites import bindings


def taken_apart(suite: Sequence[ast.stmt], at: int, one: frozenset[int], other: frozenset[int]) -> bool:
    """Whether two roots take different items of what the statement at that place binds, which need not share a graph."""
    names = {name for name, _ in bindings(suite[at])}
    parts = [_items([suite[k] for k in sorted(drawn_from) if k > at], names) for drawn_from in (one, other)]
    return None not in parts and not (parts[0] or set()) & (parts[1] or set())


def _items(statements: Sequence[ast.stmt], names: set[str]) -> set[str] | None:
    """The constant keys under which items of some variables are read; None if one is read whole."""
    keys, item = set[str](), set[ast.AST]()
    for node in (node for each in statements for node in ast.walk(each)):
        match node:
            case ast.Subscript(ast.Name(name) as holder, ast.Constant(str(key))) if name in names:
                keys.add(key)
                item.add(holder)
            case ast.Call(ast.Attribute(ast.Name(name) as holder, "get" | "pop"), [ast.Constant(str(key)), *_]) if (
                name in names
            ):
                keys.add(key)
                item.add(holder)
            case ast.Name(name) if name in names and node not in item and isinstance(node.ctx, ast.Load):
                return None
    return keys
