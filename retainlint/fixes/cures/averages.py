"""A running average, `a = d * a + (1 - d) * x`: what goes into it is data, and is detached there."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from retainlint.diagnostic import Fix
from retainlint.fixes.code import EditableCode
from retainlint.fixes.edits import telling, unsafe
from retainlint.fixes.statements import backpropagated, calls_of, reads
from retainlint.text.quoting import short
from retainlint.text.syntax import called


def averaged(code: EditableCode, name: str) -> Iterator[Fix]:
    """The parts of which averages under a name, or an item of it, are made, detached; also where one begins with such a part.
    That it is an average, and no state, shows in what goes in: it is a statistic, and nothing of it is made of what the name
    held before."""
    for each in code.below(code.tree):
        if (added := _added(each, name)) is not None and _is_shared_out(code, name):
            words = f"Add `{short(code.of(added))}` detached to `{name}`: nothing is trained through a statistic"
            yield telling(words, code.detached(added), parts=True)
        if not isinstance(each, ast.Assign) or not _is_kept(each, name):
            continue
        scope, put_in = code.scope(each), [*_put_in(each.value)]
        old = {name} | _made_of(code, scope, {name}) if put_in else set()
        for held, part in put_in:
            if held not in old or reads(part) & old:
                continue
            if not _is_statistic(code, scope, part) and not _is_scaled(code, scope, part, old):
                continue
            edits = [code.detached(value) for value in (part, *_beginnings(code, scope, part, name))]
            words = f"Detach `{short(code.of(part))}` where it goes into the average `{code.of(each.targets[0])}`"
            yield unsafe(words, *edits, parts=True)  # what else the average led to is reached by its own way


def _added(statement: ast.AST, name: str) -> ast.expr | None:
    """What `total = total + x`, or `total += x`, adds to what has this name."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
        return statement.value if ast.unparse(statement.target) == name else None
    value = statement.value if isinstance(statement, ast.Assign) and _is_kept(statement, name) else None
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
        return None
    sides = (value.left, value.right), (value.right, value.left)
    return next((other for one, other in sides if ast.unparse(one) == name), None)


def _is_shared_out(code: EditableCode, name: str) -> bool:
    """Whether a mean is made of a total: `total / count`."""
    shared = {ast.unparse(each.left) for each in _quotients(code)}
    own = name.rpartition(".")[2]
    return name in shared or ("." in name and any(each.endswith(f".{own}") for each in shared))


def _quotients(code: EditableCode) -> list[ast.BinOp]:
    return [each for each in code.below(code.tree) if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Div)]


_REDUCES = ("mean", "sum", "var", "std", "norm", "median", "amax", "amin", "logsumexp")


def _is_statistic(code: EditableCode, scope: ast.AST, part: ast.expr) -> bool:
    """Whether it is one number of many, as a mean or a loss is; or goes into a method that only takes it in."""
    if calls_of([part], *_REDUCES):
        return True
    walked = [
        root for each in code.below(scope) if isinstance(each, ast.stmt) and (root := backpropagated(each)) is not None
    ]
    if walked or not isinstance(scope, ast.FunctionDef):
        return isinstance(part, ast.Name) and any(part.id in reads(root) for root in walked)
    return not any(isinstance(each, ast.Return | ast.Yield) and each.value is not None for each in code.below(scope))


def _is_scaled(code: EditableCode, scope: ast.AST, part: ast.expr, old: set[str]) -> bool:
    """Whether it is divided by its own average, or multiplied with it, which is no more than its scale then; also where a call
    gives that back."""
    for each in (each for each in code.below(code.tree) if isinstance(each, ast.BinOp)):
        for given, scale in _scalings(each):
            scales = _meanings(code, each, scale)
            if any(_is_asked(scope, value, given, part, old) for value in scales):
                return True
            if code.scope_around(each) is scope and ast.unparse(given) == ast.unparse(part):
                if any(ast.unparse(_whole(value)) in old for value in scales):
                    return True
    return False


def _scalings(node: ast.BinOp) -> list[tuple[ast.expr, ast.expr]]:
    """What is scaled, and by what."""
    if isinstance(node.op, ast.Div):
        return [(node.left, node.right)]
    return _factors(node)


def _meanings(code: EditableCode, place: ast.expr, scale: ast.expr) -> list[ast.expr]:
    """A scale as it is written, and what a variable that stands for it was given in the same function; of `1 / scale` that."""
    scope, found = code.scope_around(place), [_unguarded(scale)]
    for value in found:  # which grows
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div) and isinstance(value.left, ast.Constant):
            found.append(_unguarded(value.right))
        elif isinstance(value, ast.Name):
            given = [_unguarded(each.value) for each in code.bound_in(scope) if each.name == value.id]
            found += [each for each in given if len(given) == 1 and each not in found]
    return found


def _is_asked(scope: ast.AST, call: ast.expr, given: ast.expr, part: ast.expr, old: set[str]) -> bool:
    """Whether the function around is called with what goes into its average, and gives that back."""
    if not isinstance(scope, ast.FunctionDef) or not isinstance(call, ast.Call) or called(call) != scope.name:
        return False
    back = [each.value for each in ast.walk(scope) if isinstance(each, ast.Return) and each.value is not None]
    names = [each.arg for each in scope.args.args][isinstance(call.func, ast.Attribute) :]
    told = {name: ast.unparse(arg) for name, arg in zip(names, call.args)}
    told |= {word.arg: ast.unparse(word.value) for word in call.keywords if word.arg is not None}
    is_same = told.get(ast.unparse(part)) == ast.unparse(given)
    return is_same and any(ast.unparse(_whole(each)) in old for each in back)


def _unguarded(node: ast.expr) -> ast.expr:
    """What is kept from being nought: `level`, of `level + 1e-8`, `level.clamp(min=1e-8)`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = node.left, node.right
        return next((one for one, other in (sides, sides[::-1]) if isinstance(other, ast.Constant)), node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("clamp", "clamp_min"):
        return node.func.value
    return node


def _beginnings(code: EditableCode, scope: ast.AST, part: ast.expr, name: str) -> Iterator[ast.expr]:
    """Where an average, or one that is asked for, begins with what goes into it."""
    text = ast.unparse(part)
    for each in code.below(scope):
        if isinstance(each, ast.Assign) and _is_kept(each, name):
            yield from (value for value in _ways(each.value) if ast.unparse(value) == text)
        elif isinstance(each, ast.Call) and len(each.args) == 2 and called(each) in ("get", "setdefault"):
            if ast.unparse(_whole(each)) == name and ast.unparse(each.args[1]) == text:
                yield each.args[1]


def _is_kept(statement: ast.Assign, name: str) -> bool:
    target = statement.targets[0]
    return ast.unparse(target.value if isinstance(target, ast.Subscript) else target) == name


def _ways(value: ast.expr) -> list[ast.expr]:
    return [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]


def _made_of(code: EditableCode, scope: ast.AST, names: set[str]) -> set[str]:
    """The variables of a function that are made of some names."""
    found = set(names)
    for each in sorted((each for each in code.below(scope) if isinstance(each, ast.Assign)), key=code.start):
        if reads(each.value) & found:
            found |= {target.id for target in each.targets if isinstance(target, ast.Name)}
    return found - names


def _put_in(value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Of a mean of two things, by weights that add up to one, what the one is called, and the other."""
    for way in _ways(value):
        if not isinstance(way, ast.BinOp) or not isinstance(way.op, ast.Add):
            continue
        for one, other in ((way.left, way.right), (way.right, way.left)):
            for weight, held in _factors(one):
                for rest, new in _factors(other):
                    if _are_shares(weight, rest):
                        yield ast.unparse(_whole(held)), new


def _whole(node: ast.expr) -> ast.expr:
    """What an item is taken of, or is asked of."""
    match node:
        case ast.Call(ast.Attribute(inner, "get" | "setdefault" | "detach")):
            return _whole(inner)
    return node.value if isinstance(node, ast.Subscript) else node


def _factors(node: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    match node:
        case ast.BinOp(left, ast.Mult(), right):
            return [(left, right), (right, left)]
    return []


def _are_shares(one: ast.expr, other: ast.expr) -> bool:
    """Whether two weights add up to one, as they are written."""
    if isinstance(one, ast.Constant) and isinstance(other, ast.Constant):
        values = one.value, other.value
        return all(isinstance(each, float) for each in values) and abs(sum(map(float, values)) - 1) < 1e-9  # type: ignore[arg-type]
    texts = ast.unparse(one), ast.unparse(other)
    return any(text == f"1 - {rest}" or text == f"1.0 - {rest}" for text, rest in (texts, texts[::-1]))
