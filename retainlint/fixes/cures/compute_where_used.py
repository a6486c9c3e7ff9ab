"""What `__init__` or the module computed once, computed in each function that uses it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from retainlint.diagnostic import ComputeWhereUsed, Diagnostic
from retainlint.fixes.code import Code, Function, Scope, Uneditable
from retainlint.fixes.edits import Applicability, Edit, Fix
from retainlint.fixes.statements import before, first, removed


def compute_where_used(code: Code, cure: ComputeWhereUsed, diagnostic: Diagnostic) -> Iterator[Fix]:
    built = code.statement(cure.span.start) if cure.span.source is code.source else None
    if not isinstance(built, ast.Assign) and len(writes := code.writes(code.tree, cure.name)) == 1:
        built = code.statement(code.start(writes[0]))  # it is built in a function that is called there
    if not isinstance(built, ast.Assign) or len(built.targets) != 1:
        return
    if not isinstance(built.targets[0], ast.Name | ast.Attribute):
        return
    name, home = ast.unparse(built.targets[0]), code.scope(built)
    users, value = _users(code, built, name), _value(code, home, built)
    if not users or value is None:
        return
    reads = [read for user in users for read in code.reads(user, name)]
    inline = len(reads) == 1 and "." in name and "\n" not in value and not code.writes(users[0], name)
    message = f"Compute `{value}` where it is used" if inline else f"Compute `{name}` where it is used"
    if inline:
        text = value if isinstance(built.value, ast.Call | ast.Name | ast.Attribute) else f"({value})"
        into: tuple[Edit, ...] = (Edit(code.start(reads[0]), code.end(reads[0]), text),)
    else:
        into = tuple(before(code, _user_row(code, user, name), f"{name} = {value}") for user in users)
    if inline or not _is_read_elsewhere(code, name, users):
        yield from _made(lambda: Fix(Applicability.UNSAFE, message, (removed(code, built), *into)))
    yield Fix(Applicability.UNSAFE, message, into)


def _made(make: Callable[[], Fix]) -> Iterator[Fix]:
    try:
        yield make()
    except Uneditable:  # a body would be left without statements
        return


def _users(code: Code, built: ast.stmt, name: str) -> list[Function]:
    """The functions, of the same class if it is an attribute, that read it and don't make it."""
    home = code.scope(built)
    within: ast.AST = code.tree
    if name.startswith("self."):
        within = next((up for up in code.above(built) if isinstance(up, ast.ClassDef)), code.tree)
    found: list[Function] = []
    for node in ast.walk(within):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node is not home and code.reads(node, name):
            above = list(code.above(node))
            if not any(up in found for up in above) and not (home in above and "." in name):
                found.append(node)
    return found


def _user_row(code: Code, user: Function, name: str) -> ast.stmt:
    return next((each for each in user.body if code.reads(each, name)), first(user.body))


def _value(code: Code, home: Scope, built: ast.Assign) -> str | None:
    """The text of what is computed, with the arguments of `__init__` by the attributes that keep them.

    None if it depends on something that only the function which computes it knows.
    """
    text = code.of(built.value)
    if isinstance(home, ast.Module):
        return text
    arguments = {each.arg for each in ast.walk(home.args) if isinstance(each, ast.arg)}
    stores = {each.id for each in ast.walk(home) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    inner = {
        each.id for each in ast.walk(built.value) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }
    own = (arguments | stores) - inner - {"self"}
    kept = _kept(home)
    start = code.start(built.value)
    names = [each for each in ast.walk(built.value) if isinstance(each, ast.Name) and each.id in own]
    for node in sorted(names, key=code.start, reverse=True):
        if node.id not in kept:
            return None
        at = code.start(node) - start
        text = f"{text[:at]}{kept[node.id]}{text[at + len(node.id) :]}"
    return text


def _kept(home: Function) -> dict[str, str]:
    """The attributes that keep a local name: `self.x = x`, `self.x, self.y = x, y`."""
    found = {}
    for node in ast.walk(home):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
            pairs = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
                pairs = list(zip(target.elts, value.elts))
            for one, other in pairs:
                if isinstance(one, ast.Attribute) and isinstance(other, ast.Name):
                    found[other.id] = ast.unparse(one)
    return found


def _is_read_elsewhere(code: Code, name: str, users: list[Function]) -> bool:
    """Whether anything that isn't rewritten reads it."""
    inside = {id(node) for user in users for node in ast.walk(user)}
    last = name.rpartition(".")[2]
    for node in ast.walk(code.tree):
        if id(node) in inside or not isinstance(node, ast.Attribute | ast.Name) or not isinstance(node.ctx, ast.Load):
            continue
        if (node.attr == last and "." in name) if isinstance(node, ast.Attribute) else node.id == name:
            return True
    return False
