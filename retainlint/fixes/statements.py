"""What statements call, read and write."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence

from retainlint.text.syntax import called

_TUNES = re.compile(r"step|zero_grad|clip_grad|unscale|optimi[sz]e|update")


def first(body: Sequence[ast.stmt]) -> ast.stmt:
    """The statement of a body before which one may be put: the first behind the docstring."""
    opening = body[0]
    is_docstring = isinstance(opening, ast.Expr) and isinstance(opening.value, ast.Constant)
    return body[1] if is_docstring and len(body) > 1 else opening


def is_whole(node: ast.expr) -> bool:
    """Whether an expression needs no brackets wherever it stands."""
    return isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript)


def calls(statements: Iterable[ast.AST], names: re.Pattern[str]) -> list[ast.Call]:
    """Calls of methods or functions in whose names the pattern is found."""
    found = [node for each in statements for node in ast.walk(each) if isinstance(node, ast.Call)]
    return [call for call in found if names.search(called(call))]


def calls_of(statements: Iterable[ast.AST], *names: str) -> list[ast.Call]:
    """Calls of methods or functions that have one of these names."""
    found = [node for each in statements for node in ast.walk(each) if isinstance(node, ast.Call)]
    return [call for call in found if called(call) in names]


def tuning(statements: Iterable[ast.AST]) -> list[ast.Call]:
    """Calls that, by their names, use or drop the gradients of a backward pass; none of what is handed a number: a mean is
    updated with that."""
    return [call for call in calls(statements, _TUNES) if not calls_of(call.args, "item", "float")]


def backpropagated(statement: ast.stmt | None) -> ast.expr | None:
    """What a statement `X.backward()` walks, if it does nothing else, and gives no argument but a flag to keep."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return None
    call = statement.value
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "backward" or call.args:
        return None
    return call.func.value if all(word.arg == "retain_graph" for word in call.keywords) else None


# -- what statements read and write ----------------------------------------------------------------------------


def reads(node: ast.AST) -> set[str]:
    """Names and attributes that are read, as `ast` spells them."""
    return {
        ast.unparse(each)
        for each in ast.walk(node)
        if isinstance(each, ast.Name | ast.Attribute) and isinstance(each.ctx, ast.Load)
    } | {ast.unparse(each.target) for each in ast.walk(node) if isinstance(each, ast.AugAssign)}


def writes(node: ast.AST) -> set[str]:
    """Names and attributes that are bound; a method called for itself may bind any attribute of its object."""
    inner = {
        id(name) for each in ast.walk(node) if isinstance(each, ast.comprehension) for name in ast.walk(each.target)
    }
    found = {
        ast.unparse(each)
        for each in ast.walk(node)
        if isinstance(each, ast.Name | ast.Attribute) and isinstance(each.ctx, ast.Store) and id(each) not in inner
    }
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        found.add(f"{ast.unparse(node.value.func.value)}.*")
    return found


def meets(written: set[str], read: set[str]) -> bool:
    """Whether something written may be something read: whoever is handed an object may read any attribute of it."""
    owners = tuple(name[:-1] for name in written if name.endswith(".*"))
    return bool(written & read) or any(f"{name}.".startswith(owners) for name in read if owners)


def uses(statement: ast.stmt, written: set[str]) -> bool:
    """Whether a statement may use something written; `self.total = 0.0` takes nothing of its object."""
    read = reads(statement)
    if isinstance(statement, ast.Assign) and written.isdisjoint(read):
        parts = [each for target in statement.targets for each in getattr(target, "elts", (target,))]
        if all(isinstance(each, ast.Name | ast.Attribute) for each in parts):
            read = reads(statement.value)
    return meets(written, read)


def dependents(start: ast.stmt, following: Sequence[ast.stmt], goal: set[str]) -> list[ast.stmt]:
    """`start` and those of the statements behind it that use what it makes, as far as the names of `goal` need them."""
    tainted = writes(start)
    chain = [start]
    for statement in following:
        if uses(statement, tainted):
            tainted |= writes(statement)
            chain.append(statement)
    needed, kept = set(goal), []
    for statement in reversed(chain):
        if meets(writes(statement), needed):
            needed |= reads(statement)
            kept.append(statement)
    return kept[::-1]
