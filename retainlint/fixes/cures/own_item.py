"""Of what several networks make, one tensor each, and are then trained with one after the other: that of the others detached."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from retainlint.diagnostic import Diagnostic, Fix
from retainlint.fixes.code import EditableCode
from retainlint.fixes.edits import rewritten, telling
from retainlint.text.quoting import short
from retainlint.text.syntax import bound, called, parameters


def others_detached(code: EditableCode, diagnostic: Diagnostic) -> Iterator[Fix]:
    """`made.append(net(x))` in a loop over `enumerate(nets)`, `made = torch.cat(made)`, and each iteration of another loop over
    the same uses the whole: it then puts that together itself, with its own item as it is and the others detached."""
    backward_pass = code.statement_of(diagnostic.primary.span)
    loop = code.loop_around(backward_pass) if backward_pass is not None else None
    match loop:
        case ast.For(ast.Tuple([ast.Name(number), *_]), ast.Call(ast.Name("enumerate"))):
            pass
        case _:
            return
    block = code.block(loop).statements
    for joined in block[: block.index(loop)]:
        match joined:
            case ast.Assign([ast.Name(name)], ast.Call(args=[ast.Name() as listed, *_]) as joining):
                if called(joining) not in ("cat", "stack"):
                    continue
            case _:
                continue
        gathered = any(_gathers(each, listed.id, loop.iter) for each in block[: block.index(joined)])
        reads = [each for each in code.reads(code.scope(loop), name) if code.start(each) > code.end(joined)]
        inside = [each for each in reads if code.start(loop) < code.start(each) < code.end(loop)]
        if not gathered or not reads or len(inside) < len(reads) or code.writes(loop, name):
            continue
        taken = bound(code.scope(loop)) | parameters(code.scope(loop))
        at, item = (next(each for each in names if each not in taken) for names in (_names("at"), _names("each")))
        own = f"[{item} if {at} == {number} else {item}.detach() for {at}, {item} in enumerate({listed.id})]"
        whole = rewritten(code.of(joining), code.start(joining), [code.replaced(listed, own)])
        edits = [code.replaced(each, whole) for each in inside]
        message = f"Detach the items of the others: `{short(own)}`"
        yield telling(message, code.removed(joined), *edits)


def _names(stem: str) -> Iterator[str]:
    yield stem
    yield from (f"{stem}_{number}" for number in range(2, 100))


def _gathers(statement: ast.stmt, name: str, over: ast.expr) -> bool:
    """Whether a loop over the same adds to a list once in each iteration."""
    same = [ast.unparse(each) for each in (over, *getattr(over, "args", ()))]
    if not isinstance(statement, ast.For) or ast.unparse(statement.iter) not in same:
        return False
    rows = (each.value for each in statement.body if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call))
    return [ast.unparse(each.func) for each in rows].count(f"{name}.append") == 1
