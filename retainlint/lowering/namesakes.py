"""Namesakes of walks: what is called `..._backward` and walks nothing, told by where it is defined."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Container, Sequence
from typing import TypeAlias

from retainlint.walks import KERNELS

Spelt: TypeAlias = "ast.expr | ast.stmt"
"""A node that spells a walk."""

Rows: TypeAlias = "list[tuple[int, int]]"
"""The first and the last row of each function of one name."""

_ITSELF = frozenset(("backward", "manual_backward", "run_backward"))
"""Such a name is a walk wherever it is defined."""

_WORD = re.compile(r"[^\W\d]\w*")
_NEWLINE = re.compile(r"\r\n|\r|\n")


def without(tree: ast.Module, text: str, spelt: Sequence[Spelt]) -> list[Spelt]:
    """Of the nodes of a text that spell a walk, those that aren't namesakes.

    A call of what the text itself defines is one where neither the function's body, or what the name was made by, nor
    any function which that speaks of spells a walk. So is torch's own function for the gradient of one operation.
    """
    doubtful = [node for node in spelt if _name(node).endswith("backward") and _name(node) not in _ITSELF]
    dropped: set[Spelt] = {node for node in doubtful if isinstance(node, ast.Attribute) and _root(node) in KERNELS}
    bare = [node for node in doubtful if isinstance(node, ast.Name) and _may_define(text, node.id)]
    if bare:
        defined, bound = _definitions(tree)
        own = [node for node in bare if node.id in defined and node.id not in bound]
        waiting = dropped.union(own)
        rows = {node.lineno for node in spelt if node not in waiting}
        lines = _NEWLINE.split(text)
        dropped.update(node for node in own if not _leads(node.id, defined, rows, lines))
    return [node for node in spelt if node not in dropped]


def _may_define(text: str, name: str) -> bool:
    """Whether a text may define a function of some name, or make one: most are imported."""
    return re.search(rf"\bdef[ \t\\\r\n]+{name}\b|^{name}\b[ \t\\\r\n]*=", text, re.MULTILINE) is not None


def _name(node: Spelt) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _root(node: ast.expr) -> str:
    """The variable with which a dotted name begins."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _definitions(tree: ast.Module) -> tuple[dict[str, Rows], set[str]]:
    """The functions of a text by name, with what such functions made for good of the module, and the names that are
    bound otherwise."""
    defined: dict[str, Rows] = {}
    bound: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):  # as most are
            if not isinstance(node.ctx, ast.Load):
                bound[node.id] += 1
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            defined.setdefault(node.name, []).append(_rows(node))
        elif isinstance(node, (ast.arg, ast.ClassDef, ast.Import, ast.ImportFrom)):
            bound.update(_bound(node))
    for statement in tree.body:
        name = _made(statement, defined)
        if bound[name] == 1:
            del bound[name]
            defined.setdefault(name, []).append(_rows(statement))
    return defined, set(bound)


def _rows(node: ast.stmt) -> tuple[int, int]:
    """The rows of a statement, with its decorators."""
    first = min((each.lineno for each in getattr(node, "decorator_list", ())), default=node.lineno)
    return first, node.end_lineno or node.lineno


def _made(statement: ast.stmt, defined: Container[str]) -> str:
    """The name that is given to what one of some functions returns; "" if none is."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id=function))):
            return name if function in defined else ""
    return ""


def _bound(node: ast.arg | ast.ClassDef | ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.arg):
        return [node.arg]
    return [node.name] if isinstance(node, ast.ClassDef) else [each.asname or each.name for each in node.names]


def _leads(name: str, defined: dict[str, Rows], rows: set[int], lines: list[str]) -> bool:
    """Whether a function holds a walk, in one of these rows, or speaks of one that does."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        if (name := waiting.pop()) in seen:
            continue
        seen.add(name)
        for first, last in defined[name]:
            if any(first <= row <= last for row in rows):
                return True
            body = "\n".join(lines[first - 1 : last])
            waiting += [word for word in _WORD.findall(body) if word in defined]
    return False
