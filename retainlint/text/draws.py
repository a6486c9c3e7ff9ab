"""What draws noise, by the names of the functions that are called."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from retainlint.text.syntax import FunctionNode, SyntaxTree, called

NOISE = frozenset("normal rand rand_like randn randn_like".split())
"""Functions of torch's, and numpy's, that draw real numbers of a fixed distribution."""


def draws_noise(tree: SyntaxTree, statements: Iterable[ast.AST]) -> bool:
    """Whether statements draw noise themselves, or call a function of their text that does."""
    made = _called(statements)
    functions = (node for node in tree.below(tree.tree) if isinstance(node, FunctionNode) and node.name in made)
    return not NOISE.isdisjoint(made | _called(functions))


def _called(nodes: Iterable[ast.AST]) -> set[str]:
    return {called(each) for node in nodes for each in ast.walk(node) if isinstance(each, ast.Call)}
