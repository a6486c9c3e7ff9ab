"""What torch refuses a call for, given otherwise: a gradient of what isn't in the graph, an optimiser of what was computed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from retainlint.diagnostic import ComputeOf, Diagnostic, DifferentiateWhole, Edit, Fix, GiveLeaf
from retainlint.fixes.code import EditableCode
from retainlint.fixes.edits import unsafe
from retainlint.fixes.statements import reads, writes


def compute_of(code: EditableCode, cure: ComputeOf, diagnostic: Diagnostic) -> Iterator[Fix]:
    """`energy = potential(positions)` as `energy = potential(centred)`: one read of the whole, or all between."""
    call, made = code.call_at(cure.span), code.statement_at(cure.made)
    block = code.block(made)
    behind = block.upto(made, code.around(block, call))
    found = [read for each in behind for read in code.reads(each, cure.whole)]
    every = [(read,) for read in found] + ([tuple(found)] if len(found) > 1 else [])
    for chosen in every:
        edits = [code.replaced(read, cure.given) for read in chosen]
        yield unsafe(f"Compute it of `{cure.given}`, not of `{cure.whole}`", *edits)


def differentiate_whole(code: EditableCode, cure: DifferentiateWhole, diagnostic: Diagnostic) -> Iterator[Fix]:
    """`(u_t,) = grad(u, t)` as `(u_t,) = grad(u, points)`, `u_t = u_t[:, 1:]`."""
    call, made = code.call_at(cure.span), code.statement_at(cure.made)
    statement = code.statement_at(cure.span)
    part = made.value if isinstance(made, ast.Assign) else None
    if not isinstance(part, ast.Subscript) or len(call.args) < 2 or not isinstance(statement, ast.Assign):
        return
    given = call.args[1]
    if isinstance(given, ast.List | ast.Tuple):
        return
    whole, index = code.of(part.value), code.text[code.end(part.value) : code.end(part)]
    asked = code.replaced(given, whole)
    message = f"Ask for the gradient of `{whole}`, and take `{index}` of it"
    up, target = code.parents[call], statement.targets[0]
    if isinstance(up, ast.Subscript) and code.of(up).endswith("[0]"):
        yield unsafe(message, asked, Edit(code.end(up), code.end(up), index))
    elif up is statement and isinstance(target, ast.Tuple) and len(target.elts) == 1:
        name = code.of(target.elts[0])
        yield unsafe(message, asked, code.after(statement, f"{name} = {name}{index}"))


def give_leaf(code: EditableCode, cure: GiveLeaf, diagnostic: Diagnostic) -> Iterator[Fix]:
    """The leaf that something is computed of, in its place; that is computed where a loop reads it."""
    call, made = code.call_at(cure.span), code.statement_at(cure.made)
    if not isinstance(made, ast.Assign) or len(made.targets) != 1:
        return
    name, scope = code.of(made.targets[0]), code.scope(made)
    given = [read for each in call.args[:1] for read in code.reads(each, name)]
    others = [read for read in code.reads(scope, name) if read not in given]
    loops = {loop for read in others for loop in code.above(read) if isinstance(loop, ast.For | ast.While)}
    block = code.block(made)
    loop = next((each for each in block.statements if each in loops), None)
    inside = set(code.below(loop)) if loop is not None else set()
    for leaf in sorted(reads(made.value) - {name}):
        if len(given) != 1 or any(read not in inside for read in others) or not isinstance(loop, ast.For | ast.While):
            return
        user = next(each for each in loop.body if any(read in code.below(each) for read in others))
        if name in set().union(*map(writes, loop.body)):
            return
        edits = code.removed(made), code.replaced(given[0], leaf)
        message = f"Give it `{leaf}`, and compute `{name}` in each iteration"
        yield unsafe(message, *edits, code.copied_before(user, [made]))
