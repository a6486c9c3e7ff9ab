"""Of what several networks make, one tensor each, and are then trained with one after the other: that of the others detached."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from retainlint.diagnostic import Diagnostic, Fix
from retainlint.fixes.code import EditableCode
from retainlint.fixes.edits import telling
from retainlint.text.quoting import short
from retainlint.text.syntax import bound, called, parameters


def others_detached(code: EditableCode, diagnostic: Diagnostic) -> Iterator[Fix]:
    """`made.append(net(x))` in a loop over `enumerate(nets)`, `made = torch.cat(made)`, and each iteration of another loop over
    the same uses the whole: it then puts that together itself, with its own item as it is and the others detached."""
    backward_pass = code.statement_of(diagnostic.primary.span)
    loop = code.loop_around(backward_pass) if backward_pass is not None else None
    number = _counter(loop)
    if not isinstance(loop, ast.For) or number is None:
        return
    block = code.block(loop).statements
    for joined in block[: block.index(loop)]:
        listed = _joined(joined)
        if listed is None or not isinstance(joined, ast.Assign):
            continue
        name = ast.unparse(joined.targets[0])
        gathered = any(_gathers(each, listed.id, loop.iter) for each in block[: block.index(joined)])
        reads = [each for each in code.reads(code.scope(loop), name) if code.start(each) > code.end(joined)]
        inside = [each for each in reads if code.start(loop) < code.start(each) < code.end(loop)]
        if not gathered or not reads or len(inside) < len(reads) or code.writes(loop, name):
            continue
        taken = bound(code.scope(loop)) | parameters(code.scope(loop))
        at, item = (next(each for each in names if each not in taken) for names in (_names("at"), _names("each")))
        own = f"[{item} if {at} == {number} else {item}.detach() for {at}, {item} in enumerate({listed.id})]"
        start, value = code.start(listed), code.of(joined.value)
        first = start - code.start(joined.value)
        whole = value[:first] + own + value[first + len(listed.id) :]
        edits = [code.replaced(each, whole) for each in inside]
        message = f"Detach the items of the others: `{short(own)}`"
        yield telling(message, code.removed(joined), *edits)


def _names(stem: str) -> Iterator[str]:
    yield stem
    yield from (f"{stem}_{number}" for number in range(2, 100))


def _counter(loop: ast.AST | None) -> str | None:
    """The name that a loop over `enumerate(...)` has for the number of its iteration."""
    if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) and called(loop.iter) == "enumerate":
        if isinstance(loop.target, ast.Tuple) and isinstance(loop.target.elts[0], ast.Name):
            return loop.target.elts[0].id
    return None


def _joined(statement: ast.stmt) -> ast.Name | None:
    """The list of which a statement makes one tensor."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    value = statement.value
    if isinstance(value, ast.Call) and called(value) in ("cat", "stack") and value.args:
        if isinstance(statement.targets[0], ast.Name) and isinstance(value.args[0], ast.Name):
            return value.args[0]
    return None


def _gathers(statement: ast.stmt, name: str, over: ast.expr) -> bool:
    """Whether a loop over the same adds to a list once in each iteration."""
    if not isinstance(statement, ast.For) or ast.unparse(statement.iter) not in (
        ast.unparse(over),
        *(ast.unparse(each) for each in getattr(over, "args", ())),
    ):
        return False
    rows = (each.value for each in statement.body if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call))
    return [ast.unparse(each.func) for each in rows].count(f"{name}.append") == 1
