"""Weights of losses that grow with them, `w = w * exp(r * losses); w = w / w.sum()`: numbers to what they weigh."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from retainlint.diagnostic import Fix
from retainlint.fixes.code import EditableCode
from retainlint.fixes.edits import telling
from retainlint.fixes.statements import reads
from retainlint.text.syntax import called


def weighed(code: EditableCode, name: str) -> Iterator[Fix]:
    """What shares under a name are made of, where they then weigh the same: detached in all that makes them. That these are
    shares shows in that they add up to one."""
    for kept in code.below(code.tree):
        if not isinstance(kept, ast.Assign) or code.of(kept.targets[0]) != name or not _adds_up_to_one(kept.value):
            continue
        scope = code.scope(kept)
        for given in dict.fromkeys(_weighed_by(code, scope, kept, name)):
            making = _making(code, scope, kept, given)
            edits = [code.detached(read) for each in making for read in code.reads(each, given)]
            if edits:
                message = f"Detach `{given}` where it goes into the weights `{name}`"
                yield telling(message, *edits, parts=True)  # it is reached by its own way


def _adds_up_to_one(value: ast.expr) -> bool:
    """`w / w.sum()`, or a softmax."""
    match value:
        case ast.BinOp(left=part, op=ast.Div(), right=ast.Call(func=ast.Attribute(value=whole, attr="sum"))):
            return ast.unparse(part) == ast.unparse(whole)
        case ast.Call():
            return called(value) == "softmax"
    return False


def _making(code: EditableCode, scope: ast.AST, kept: ast.Assign, given: str) -> Iterator[ast.Assign]:
    """The statements of a function of which one is made, itself among them, but not those that make `given`."""
    yield kept
    needed = reads(kept.value) - {given}
    before = [
        each for each in code.below(scope) if isinstance(each, ast.Assign) and code.start(each) < code.start(kept)
    ]
    for each in sorted(before, key=code.start, reverse=True):
        if {target.id for target in each.targets if isinstance(target, ast.Name)} & needed:
            needed |= reads(each.value) - {given}
            yield each


def _weighed_by(code: EditableCode, scope: ast.AST, kept: ast.Assign, name: str) -> Iterator[str]:
    """The variables that they are multiplied with behind that."""
    for each in code.below(scope):
        if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Mult | ast.MatMult):
            if code.start(each) > code.end(kept):
                sides = (each.left, each.right), (each.right, each.left)
                yield from (
                    code.of(one) for one, other in sides if isinstance(one, ast.Name) and code.of(other) == name
                )
