"""One walk of the sum in place of several walks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import partial

from retainlint.diagnostic import Diagnostic, Edit, Fix, SumLosses
from retainlint.fixes.code import EditableCode, Uneditable
from retainlint.fixes.cures.detach import entering
from retainlint.fixes.edits import unsafe
from retainlint.fixes.statements import backpropagated, calls, is_whole, meets, reads, tuning, writes
from retainlint.text.quoting import short
from retainlint.text.source import Span
from retainlint.text.syntax import LoopNode, bound, called

_STEP = re.compile(r"step$")

_once = partial(unsafe, merges=1)
"""A fix that drops a walk on purpose."""


def sum_losses(code: EditableCode, cure: SumLosses, diagnostic: Diagnostic) -> Iterator[Fix]:
    if cure.early:
        yield from _early(code, *cure.backward_passes)
    elif len(cure.backward_passes) > 1 and cure.backward_passes[0] != cure.backward_passes[-1]:
        yield from _two(code, cure.backward_passes[0], cure.backward_passes[-1])
    else:
        yield from _of_loop(code, cure.backward_passes[-1])


def _two(code: EditableCode, one: Span, two: Span) -> Iterator[Fix]:
    """The first walk taken out, and what it walked added to what the second walks."""
    first, second = code.statement_of(one), code.statement_of(two)
    roots = backpropagated(first), backpropagated(second)
    if first is None or second is None or roots[0] is None or roots[1] is None:
        return
    block = code.block(first)
    if second not in block.statements or code.start(first) > code.start(second):
        return
    between = block.upto(first, second)
    if tuning(between):
        return
    texts = [_summand(code, root) for root in roots if root is not None]
    rebound = [each for each in between if ast.unparse(roots[0]) in writes(each)]
    every = list(_backwards(block.statements[block.statements.index(first) :]))
    summed = [root for each in every if (root := backpropagated(each)) is not None]
    read = set[str]().union(*map(reads, summed))
    if not rebound and len(every) > 2 and not any(meets(writes(each), read) for each in block.upto(first, every[-1])):
        written = " + ".join(_summand(code, root) for root in summed)
        last = code.replaced(summed[-1], f"({written})")
        dropped = [code.removed(each) for each in every[:-1]]
        yield unsafe(f"Call backward once, on `{short(written)}`", *dropped, _bare(code, last), merges=len(dropped))
    if not rebound:
        total = code.replaced(roots[1], f"({texts[0]} + {texts[1]})")
        yield _once(f"Call backward once, on `{texts[0]} + {texts[1]}`", code.removed(first), _bare(code, total))
    elif texts[0] == texts[1] and len(rebound) == 1 and isinstance(rebound[0], ast.Assign):
        value = rebound[0].value
        if len(rebound[0].targets) == 1 and ast.unparse(rebound[0].targets[0]) == texts[0]:
            at = code.start(value)
            words = "Add the losses up, and call backward on the sum once"
            yield _once(words, code.removed(first), Edit(at, at, f"{texts[0]} + "))


def _early(code: EditableCode, one: Span, two: Span) -> Iterator[Fix]:
    """The second walk taken out, and what it walked added to what the first walks, if only steps use gradients between."""
    first, second = code.statement_at(one), code.statement_at(two)
    roots = backpropagated(first), backpropagated(second)
    if roots[0] is None or roots[1] is None or second not in code.block(first).statements:
        return
    between = code.block(first).upto(first, second)
    if any(called(call) != "step" for call in tuning(between)) or meets(
        set().union(*map(writes, between)), reads(roots[1])
    ):
        return
    total = " + ".join(_summand(code, root) for root in roots if root is not None)
    whole = code.replaced(first, f"({total}).backward()")
    yield _once(f"Call backward once, on the sum, before the step: `({total}).backward()`", whole, code.removed(second))


def _backwards(statements: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The backward passes at the start of some statements, before anything that uses their gradients."""
    for each in statements:
        if tuning([each]):
            return
        if backpropagated(each) is not None:
            yield each


def _bare(code: EditableCode, total: Edit) -> Edit:
    """The edit without brackets of its own, where the root already stands in some."""
    text = code.text
    if text[: total.start].endswith("(") and text[total.end :].startswith(").backward"):
        return Edit(total.start, total.end, total.text[1:-1])
    return total


def _of_loop(code: EditableCode, backward_pass: Span) -> Iterator[Fix]:
    """One walk behind a loop in place of one in each turn."""
    statement = code.statement_of(backward_pass)
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.ListComp | ast.SetComp):
        yield from _of_comprehension(code, statement, statement.value)
    root = backpropagated(statement)
    if statement is None or root is None:
        return
    block = code.block(statement)
    loop = block.owner
    if not isinstance(loop, ast.For | ast.AsyncFor | ast.While) or loop.orelse:
        yield from _of_loops(code, statement, root)
        return
    if tuning(loop.body):
        if isinstance(loop, ast.For):
            yield from _stepping_once(code, loop, statement, code.of(root))
            yield from _before_steps(code, loop, statement, code.of(root))
        return
    if any(isinstance(each, ast.Attribute) and each.attr == "grad" for each in code.below(loop)):
        return  # each iteration wants its own gradients
    if len(loop.body) == 1 and isinstance(loop, ast.For):
        source = code.of(loop.iter)
        each = ast.unparse(loop.target) == ast.unparse(root)
        total = source if each else f"{code.of(root)} for {code.of(loop.target)} in {source}"
        start, end = code.rows(loop)
        yield _once(
            "Call backward once, on the sum",
            Edit(start, end, f"{code.indent(loop)}sum({total}).backward(){code.ending(code.row_of(end - 1))}"),
        )
        return
    name = ast.unparse(root)
    if any(_adds_to(each, name) for each in ast.walk(loop)):
        words = f"Call backward on `{name}` once, after the loop"
        yield _once(words, code.removed(statement), code.copied_after(loop, [statement]))
        return
    if not _is_carried(code, loop, root):
        yield _accumulated(code, loop, statement, code.of(root))
    yield from _of_loops(code, statement, root)


def _of_loops(code: EditableCode, statement: ast.stmt, root: ast.expr) -> Iterator[Fix]:
    """One backward pass behind all loops around it that only add losses up, of pairs as well, of which there may be none."""
    outermost: LoopNode | None = None
    for up in code.above(statement):
        if isinstance(up, LoopNode) and (up.orelse or tuning(up.body)):
            break
        if not isinstance(up, LoopNode | ast.If):
            break
        outermost = up if isinstance(up, LoopNode) else outermost
    is_new = outermost is not code.block(statement).owner
    if outermost is not None and is_new and not _is_carried(code, outermost, root):
        yield _accumulated(code, outermost, statement, code.of(root))
        yield _gathered(code, outermost, statement, code.of(root))


def _is_carried(code: EditableCode, loop: LoopNode, root: ast.expr) -> bool:
    """Whether an iteration makes a loss of what the one before it has bound."""
    return any(entering(code, loop, each) for each in reads(root) if code.writes(loop, each))


def _gathered(code: EditableCode, loop: LoopNode, statement: ast.stmt, root: str) -> Fix:
    losses = _new_name(code, "losses", "all_losses")
    return _once(
        "Gather the losses, and call backward on their sum once, after the loop",
        code.before(loop, f"{losses} = []"),
        code.replaced(statement, f"{losses}.append({root})"),
        code.after(loop, f"if {losses}:\n    sum({losses}).backward()"),
    )


def _of_comprehension(code: EditableCode, statement: ast.Expr, loop: ast.ListComp | ast.SetComp) -> Iterator[Fix]:
    """`[loss.backward() for loss in losses]` to `sum(losses).backward()`."""
    over = loop.generators[0]
    is_plain = len(loop.generators) == 1 and not over.ifs and not over.is_async
    match loop.elt:
        case ast.Call(ast.Attribute(root, "backward"), [], []) if is_plain:
            total = f"{code.of(root)} for {code.of(over.target)} in {code.of(over.iter)}"
            total = code.of(over.iter) if ast.unparse(root) == ast.unparse(over.target) else total
            edit = code.replaced(statement, f"sum({total}).backward()")
            yield _once(f"Call backward once, on the sum: `sum({short(total)}).backward()`", edit)


def _accumulated(code: EditableCode, loop: LoopNode, statement: ast.stmt, root: str) -> Fix:
    total, added = _added_up(code, loop, statement, root)
    words = "Add the losses up, and call backward on the sum once, after the loop"
    return _once(words, *added, code.after(loop, f"{total}.backward()"))


def _added_up(code: EditableCode, loop: LoopNode, statement: ast.stmt, root: str) -> tuple[str, list[Edit]]:
    """The losses added up in place of their backward passes, and what the sum is called."""
    total = _new_name(code, "total", "total_loss", "sum_of_losses")
    return total, [code.before(loop, f"{total} = 0"), code.replaced(statement, f"{total} = {total} + {root}")]


def _new_name(code: EditableCode, *names: str) -> str:
    """The first of these that the text doesn't have."""
    if (free := next((name for name in names if name not in code.text), None)) is None:
        raise Uneditable("each name is taken")
    return free


def _stepping_once(code: EditableCode, loop: ast.For, statement: ast.stmt, root: str) -> Iterator[Fix]:
    """The losses added up in a loop, and behind it, once, the backward pass and all that has to do with gradients, where that is
    the same in each iteration."""
    tunes = [each for each in loop.body if each is not statement and tuning([each])]
    made = set().union(*map(bound, loop.body), bound(loop))
    if not tunes or not all(isinstance(each, ast.Expr) and made.isdisjoint(reads(each)) for each in tunes):
        return
    total, added = _added_up(code, loop, statement, root)
    end, at, indent = code.rows(loop)[1], loop.body.index(statement), code.indent(loop)
    rows = [code.lifted(each, indent) for each in tunes]
    ahead = sum(loop.body.index(each) < at for each in tunes)
    rows.insert(ahead, f"{indent}{total}.backward(){code.newline(loop)}")
    words = f"Add the losses up, and call `{total}.backward()` and take the step once, after the loop"
    yield _once(words, *added, *map(code.removed, tunes), Edit(end, end, "".join(rows)))


def _before_steps(code: EditableCode, loop: ast.For, statement: ast.stmt, root: str) -> Iterator[Fix]:
    """A loop in two: the first adds the losses up, the second, behind the backward pass, does what uses gradients."""
    at = loop.body.index(statement)
    later = [each for each in loop.body[at + 1 :] if tuning([each])]
    made = set().union(*(bound(each) for each in loop.body if each not in later))
    # what is done in some iterations alone belongs to these
    is_plain = all(isinstance(each, ast.Expr) and made.isdisjoint(reads(each)) for each in later)
    if not later or not is_plain or calls(loop.body[:at], _STEP):
        return
    total, added = _added_up(code, loop, statement, root)
    header = code.text[code.start(loop) : code.start(loop.body[0])].rstrip()
    indent, newline, end = code.indent(loop), code.newline(loop), code.rows(loop)[1]
    inner = "".join(code.lifted(each, code.indent(each)) for each in later)
    behind = Edit(end, end, f"{indent}{total}.backward(){newline}{indent}{header}{newline}{inner}")
    words = f"Add the losses up, call `{total}.backward()` once, and take the steps in a loop after it"
    yield _once(words, *added, *map(code.removed, later), behind)


def _adds_to(node: ast.AST, name: str) -> bool:
    """Whether it is `name = name + ...`, or `name += ...`."""
    if isinstance(node, ast.AugAssign):
        return isinstance(node.op, ast.Add) and ast.unparse(node.target) == name
    if not isinstance(node, ast.Assign) or len(node.targets) != 1 or ast.unparse(node.targets[0]) != name:
        return False
    inside = [ast.unparse(each) for each in ast.walk(node.value) if isinstance(each, ast.Name | ast.Attribute)]
    return isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.Add) and name in inside


def _summand(code: EditableCode, root: ast.expr) -> str:
    is_sum = isinstance(root, ast.BinOp) and isinstance(root.op, ast.Add | ast.Mult | ast.Div)
    return code.of(root) if is_whole(root) or is_sum else f"({code.of(root)})"
