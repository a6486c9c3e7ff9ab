"""What a `for` loop goes through under which names, as its header says."""

from __future__ import annotations

import ast


def gone_through(loop: ast.For | ast.AsyncFor | ast.comprehension) -> list[tuple[ast.expr, ast.expr]]:
    """What each name, or tuple of names, stands for an item of; of `enumerate` and `zip` of what these are given."""
    target, over = loop.target, loop.iter
    if isinstance(target, ast.Tuple) and isinstance(over, ast.Call) and isinstance(over.func, ast.Name):
        if over.func.id == "zip":
            return list(zip(target.elts, over.args))
        if over.func.id == "enumerate":
            return list(zip(target.elts[1:], over.args))
    return [(target, over)]
