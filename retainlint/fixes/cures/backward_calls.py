"""Edits around a backward pass: its graph retained, itself dropped or moved, gradients zeroed, a list cleared behind it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from retainlint import diagnostic as cures
from retainlint.diagnostic import Diagnostic, Edit, Fix
from retainlint.fixes.code import EditableCode
from retainlint.fixes.cures.expressions import with_argument, without_argument
from retainlint.fixes.edits import telling, unsafe
from retainlint.fixes.statements import backpropagated, calls, calls_of, is_whole, meets, reads, tuning, writes
from retainlint.text.quoting import short
from retainlint.text.source import INITIALISERS, Span
from retainlint.text.syntax import bindings, bound, called, is_function, parameters, syntax_of

_STEP, _ZERO = re.compile(r"step$"), re.compile(r"zero_grad")


def backward_first(code: EditableCode, cure: cures.BackwardFirst, diagnostic: Diagnostic) -> Iterator[Fix]:
    backward_pass, change = code.statement_at(cure.backward_pass), code.statement_at(cure.change)
    block = code.block(backward_pass)
    moved = code.within(change, block.statements)
    if moved is None or moved is backward_pass:
        return
    if block.statements.index(moved) > block.statements.index(backward_pass):
        yield from _behind_loop(code, moved)
        return
    if cure.parts:
        yield from _in_parts(code, moved, backward_pass)
        return
    if isinstance(moved, ast.If) and meets(reads(moved.test), reads(backward_pass)):
        return  # it asks the loss whether that is to be used
    between = block.upto(moved, backward_pass)
    if isinstance(moved, ast.With) and any(code.start(each.context_expr) == cure.change.start for each in moved.items):
        behind = [*between, backward_pass]
        message = f"Call backward inside `{_head(code, moved)}`, which changes a weight back at its end"
        rows = code.copied_after(moved.body[-1], behind), *(code.removed(each) for each in behind)
        yield unsafe(message, *rows)
        return
    steps = calls([moved], _STEP)
    if steps and _mixes(code, steps, backward_pass, between, block.statements):
        return
    if steps:
        yield _change_behind(code, moved, backward_pass, block.statements)
    else:  # a weight that a step changes as well is changed by hand behind that
        behind = block.behind(backward_pass)
        step = next((each for each in behind if isinstance(each, ast.Expr) and calls([each], _STEP)), None)
        if step is not None:
            message = f"Move `{_head(code, moved)}` after `{_head(code, step)}`"
            yield telling(message, code.removed(moved), code.copied_after(step, [moved]))
    is_cleared = bool(calls(between, _ZERO)) and not steps
    if not is_cleared and not any(meets(writes(each), reads(backward_pass)) for each in (moved, *between)):
        message = f"Call backward before `{_head(code, moved)}`"
        yield unsafe(message, code.copied_before(moved, [backward_pass]), code.removed(backward_pass))
    if not steps:
        yield _change_behind(code, moved, backward_pass, block.statements)


def change_behind(code: EditableCode, cure: cures.ChangeBehind, diagnostic: Diagnostic) -> Iterator[Fix]:
    change, step = code.statement_at(cure.change), code.statement_at(cure.step)
    for up in (change, *(each for each in code.above(change) if isinstance(each, ast.stmt))):
        block = code.block(up)
        if (behind := code.within(step, block.statements)) is None:
            continue
        asked, failed = reads(up.test) if isinstance(up, ast.If) else set(), diagnostic.primary.span
        if failed.source is code.source and meets(asked, reads(code.statement_at(failed))):
            return  # it asks the loss whether that is to be used
        if not any(bound(up) & reads(each) for each in (*block.upto(up, behind), behind)):
            also = f", with its `{_head(code, up)}`," if _head(code, up) != _head(code, change) else ""
            message = f"Move `{_head(code, change)}`{also} after `{cure.step.text}`"
            yield telling(message, code.removed(up), code.copied_after(behind, [up]))
        return


def _in_parts(code: EditableCode, change: ast.stmt, backward_pass: ast.stmt) -> Iterator[Fix]:
    """Of a sum whose terms are computed on both sides of a change: those before it are walked there, and the others where the sum
    was; gradients add up."""
    between, root = code.block(change).upto(change, backward_pass), backpropagated(backward_pass)
    name = code.of(root) if root is not None else ""
    made = [each.value for each in between if isinstance(each, ast.Assign) and name in map(code.of, each.targets)]
    terms = list(_terms(made[-1] if made else root)) if root is not None else []
    late = set().union(*map(writes, (change, *between)))
    before_it = [each for each in terms if reads(each) and not meets(late, reads(each))]
    behind_it = [each for each in terms if each not in before_it]
    zeroed = [each for each in between if calls([each], _ZERO)]
    if root is None or not before_it or not behind_it or not all(isinstance(each, ast.Expr) for each in zeroed):
        return
    one, two = (_summed(code, each) for each in (before_it, behind_it))
    at, is_bracketed = code.rows(change)[0], code.text[: code.start(root)].endswith("(")
    rows = code.copied_before(change, zeroed).text + code.before(change, f"{one}.backward()").text
    whole = Edit(code.start(root) - is_bracketed, code.end(root) + is_bracketed, two)
    edits = Edit(at, at, rows), whole, *(code.removed(each) for each in zeroed)
    words = (
        f"Call `{one}.backward()` before `{_head(code, change)}`, and `{two}.backward()` behind it: gradients add up"
    )
    yield telling(words, *edits)


def _terms(total: ast.expr) -> Iterator[ast.expr]:
    if isinstance(total, ast.BinOp) and isinstance(total.op, ast.Add):
        yield from _terms(total.left)
        yield from _terms(total.right)
    else:
        yield total


def _summed(code: EditableCode, terms: Sequence[ast.expr]) -> str:
    text = " + ".join(map(code.of, terms))
    return text if len(terms) == 1 and is_whole(terms[0]) else f"({text})"


def _behind_loop(code: EditableCode, step: ast.stmt) -> Iterator[Fix]:
    """A step that each iteration takes behind its backward pass, taken once with the gradients of all."""
    loop = code.block(step).owner
    if isinstance(loop, ast.For | ast.AsyncFor | ast.While) and isinstance(step, ast.Expr) and calls([step], _STEP):
        message = f"Take `{_head(code, step)}` once, after the loop"
        yield unsafe(message, code.removed(step), code.copied_after(loop, [step]))


def _mixes(
    code: EditableCode,
    steps: list[ast.Call],
    backward_pass: ast.stmt,
    between: Sequence[ast.stmt],
    body: Sequence[ast.stmt],
) -> bool:
    """Whether a step and a walk that change places would spoil each other's gradients: they are zeroed in between, or
    the walk's are meant for another optimiser."""
    owners = {_owner(call) for call in steps}
    zeroed = {_owner(call) for call in calls(between, _ZERO)}
    if zeroed & owners or any(f"{owner}.step(" not in code.text for owner in zeroed):
        return True
    later = {_owner(call) for call in calls(body[body.index(backward_pass) :], _STEP)}
    return bool(later) and not owners & later


def _change_behind(code: EditableCode, change: ast.stmt, backward_pass: ast.stmt, body: Sequence[ast.stmt]) -> Fix:
    message = f"Move `{_head(code, change)}` after backward"
    following = body[body.index(backward_pass) + 1 : body.index(backward_pass) + 2]
    if following and ast.unparse(following[0]) == ast.unparse(change):
        return unsafe(message, code.removed(change))
    return unsafe(message, code.removed(change), code.copied_after(backward_pass, [change]))


def _owner(call: ast.Call) -> str:
    return ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) and called(call) else ""


def _head(code: EditableCode, statement: ast.stmt) -> str:
    """The first row of a statement, or of the one that stands alone under a `with`."""
    while isinstance(statement, ast.With) and len(statement.body) == 1:
        statement = statement.body[0]
    return code.of(statement).splitlines()[0]


def clear(code: EditableCode, cure: cures.Clear, diagnostic: Diagnostic) -> Iterator[Fix]:
    """A list of tensors emptied after the walk that used them, with the other lists that grow beside it; or where it is read."""
    yield from _emptied_beside(code, cure.held or (cure.name,))
    yield from _emptied_together(code, cure)
    yield from _emptied_behind(code, cure)
    if cure.backward_pass.source is not code.source:
        return
    backward_pass = code.statement_at(cure.backward_pass)
    if _is_made_anew(code, backward_pass, cure.name):
        return  # what each iteration hands to the next would be lost
    if cure.reset and code.holds(cure.reset.rpartition(".")[0]):
        yield unsafe(f"Call `{cure.reset}` after backward", code.after(backward_pass, cure.reset))
    if not code.holds(cure.name):
        for name in cure.held:  # another function has another name for what holds it
            parts = name.split(".")
            for own in (".".join(("self", *parts[at:])) for at in range(1, len(parts) - 1)):
                if code.holds(own.rpartition(".")[0]):
                    yield _cleared(code, backward_pass, (own,))
        if cure.held and all(code.holds(name.partition(".")[0].partition("[")[0]) for name in cure.held):
            yield _cleared(code, backward_pass, cure.held)
        return
    owner, _, own = cure.name.rpartition(".")
    beside = sorted(f"{owner}.{name}" for name in _growing(code) - {own}) if owner else []
    read = set().union(*(_read_for_themselves(code, each) for each in _scopes(code, code.scope(backward_pass))))
    paired = [code.of(arg) for call in code.calls if called(call) == "zip" for arg in call.args]
    beside += [each for each in paired if cure.name in paired and owner and each.rpartition(".")[0] == owner]
    grown = [name for name in dict.fromkeys(beside) if name in read and not code.is_emptied(name)]
    grown = [name for name in grown if name != cure.name]
    for names in dict.fromkeys(filter(None, ((cure.name, *grown), (cure.name,), cure.held))):
        yield _cleared(code, backward_pass, names)


def _cleared(code: EditableCode, backward_pass: ast.stmt, names: Sequence[str]) -> Fix:
    said = " and ".join(f"`{name}`" for name in names)
    rows = "\n".join(f"{name}.clear()" for name in names)
    return unsafe(f"Clear {said} after backward", code.after(backward_pass, rows))


def _emptied_together(code: EditableCode, cure: cures.Clear) -> Iterator[Fix]:
    """Lists of one object, of which another holds things without a graph, emptied after the walk: they are read together, and
    would differ in length."""
    if cure.read is None or (read := code.statement_of(cure.read)) is None or not cure.held:
        return
    owners = {name.rpartition(".")[0] for name in cure.held}
    scopes = _scopes(code, code.scope(read))
    known = {name.rpartition(".")[2] for name in cure.held}
    beside = [
        name
        for name in sorted(_growing(code) - known)
        if any(code.reads(each, f"self.{name}") for each in scopes) and not code.is_emptied(f"self.{name}")
    ]
    backward_pass = code.statement_of(cure.backward_pass)
    if not beside or backward_pass is None or len(owners) > 1:
        return
    own = code.scope(backward_pass)
    if is_function(own) and all(code.reads(own, f"self.{name}") for name in known):  # it is a method's of theirs
        yield _cleared(code, backward_pass, [f"self.{name}" for name in (*sorted(known), *beside)])
    elif code.holds(owner := owners.pop()):
        yield _cleared(code, backward_pass, (*cure.held, *(f"{owner}.{name}" for name in beside)))


def _scopes(code: EditableCode, scope: ast.AST) -> list[ast.AST]:
    """A function, and those of the text that it calls, by their names."""
    within = [each for each in code.below(code.tree) if isinstance(each, ast.FunctionDef)]
    called_there = {called(each) for each in ast.walk(scope) if isinstance(each, ast.Call)}
    return [scope, *(each for each in within if each.name in called_there)]


def _growing(code: EditableCode) -> set[str]:
    """The lists that something is added to, each by the last part of its name; of what `+=` adds to those that begin as one."""
    appended = [each.func.value for each in calls_of([code.tree], "append") if isinstance(each.func, ast.Attribute)]
    added = [each.name for each in code.bindings if not each.is_anew]
    begun = [each.name for each in code.bindings if isinstance(each.value, ast.List) and not each.value.elts]
    last, also, new = ({name.rpartition(".")[2] for name in names} for names in (map(code.of, appended), added, begun))
    return last | also & new


def _read_for_themselves(code: EditableCode, scope: ast.AST) -> set[str]:
    """What is read in a function, but for lists of which it only says that something is added to them."""
    owners = {each.func.value for each in calls_of([scope], "append") if isinstance(each.func, ast.Attribute)}
    named = (each for each in code.below(scope) if isinstance(each, ast.Name | ast.Attribute) and each not in owners)
    return {ast.unparse(each) for each in named if isinstance(each.ctx, ast.Load)}


def _emptied_behind(code: EditableCode, cure: cures.Clear) -> Iterator[Fix]:
    """A list that another function than that of the backward pass adds up, emptied there."""
    if cure.read is None or (statement := code.statement_of(cure.read)) is None:
        return
    backward_pass = code.statement_of(cure.backward_pass)
    if backward_pass is not None and code.scope(statement) is code.scope(backward_pass):
        return
    if isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign) and code.holds(cure.name):
        row = f"{cure.name}.clear()"
        yield unsafe(f"Clear `{cure.name}` where it is read", code.after(statement, row))


def _is_made_anew(code: EditableCode, backward_pass: ast.stmt, name: str) -> bool:
    """Whether the loop around a backward pass binds a list to what it makes in each iteration."""
    loop = code.loop_around(backward_pass)
    bound = (each for each in code.below(loop) if isinstance(each, ast.Assign)) if loop is not None else ()
    return any(code.writes(each, name) and not isinstance(each.value, ast.List) for each in bound)


def _emptied_beside(code: EditableCode, names: Sequence[str]) -> Iterator[Fix]:
    """Lists emptied where another list of their object is."""
    own = [f"self.{name.rpartition('.')[2]}" for name in names]
    for node in code.below(code.tree):
        if not isinstance(node, ast.FunctionDef) or node.name in INITIALISERS or any(code.writes(node, n) for n in own):
            continue
        for each in code.below(node):
            if not isinstance(each, ast.Assign | ast.Expr):
                continue
            row = code.of(each)
            if (match := re.fullmatch(r"self\.\w+( = \[\]|\.clear\(\))", row)) and all(map(code.holds, own)):
                rows = [f"{name}{match[1]}" for name in own]
                said = "`, `".join(rows)
                yield unsafe(f"Empty it with the others: `{said}`", code.after(each, "\n".join(rows)))


def backward_alone(code: EditableCode, cure: cures.BackwardAlone, diagnostic: Diagnostic) -> Iterator[Fix]:
    """`meter.update(loss)`, `meter.mean.backward()` to `meter.update(loss.detach())`, `loss.backward()`; a total that several
    iterations share begins again behind it."""
    backward_pass = code.statement_at(cure.backward_pass)
    root, block = backpropagated(backward_pass), code.block(backward_pass).statements
    loop = code.loop_around(backward_pass)
    if root is not None and loop is not None and _is_now_and_then(code, backward_pass, block, root):
        for begun in (code.statement(code.start(each)) for each in code.writes(code.scope(loop), code.of(root))):
            if isinstance(begun, ast.Assign) and code.end(begun) <= code.start(loop):
                row = _part(code, begun, code.of(root))
                put = code.before if isinstance(block[-1], ast.Continue | ast.Break | ast.Return) else code.after
                yield unsafe(f"Begin again after backward: `{row}`", put(block[-1], row))
    if root is None:
        return
    before_it = block[: block.index(backward_pass)]
    terms = [term for each in before_it if (term := _term(code, each, code.of(root))) is not None]
    is_computed = any(isinstance(each, ast.Call) for term in terms for each in ast.walk(term))
    if len(terms) == 1 and isinstance(term := terms[0], ast.BinOp) and is_computed:
        yield from _under_a_name(code, term, root, backward_pass)
        return
    if len(terms) == 1 and isinstance(term := terms[0], ast.BinOp | ast.Name):  # `loss / n`: with its share
        alone = code.of(term) if isinstance(term, ast.Name) else f"({code.of(term)})"
        edits = code.detached(term), code.replaced(root, alone)
        yield unsafe(f"Call backward on `{code.of(term)}` alone, and add it detached", *edits)
        return
    total = _divided(before_it, root)
    terms = terms or [term for each in before_it if total and (term := _term(code, each, total)) is not None]
    if len(terms) == 1 and not isinstance(loss := _weighed(terms[0]), ast.Name):
        yield from _under_a_name(code, loss, root, backward_pass)
        return
    for added in (code.statement_of(span) for span in cure.added):
        if added is None or added not in before_it:
            continue
        above = before_it[: before_it.index(added)]
        made = {name for each in above if isinstance(each, ast.Assign) for name in writes(each)}
        if (given := _given_itself(code, added, root)) is not None and reads(root) <= made:
            edits = Edit(code.start(added), code.start(given), ""), code.detached(given.args[-1])
            words = f"Call backward on `{code.of(root)}` alone, and give `{code.of(given.func)}` it detached"
            yield unsafe(words, *edits)
        if reads(root) & made:
            continue  # it is no total alone
        for name in (each for each in code.below(added) if isinstance(each, ast.Name) and each.id in made):
            around = (up for up in code.above(name) if isinstance(up, ast.Call))
            if sum(code.start(up) >= code.start(added) for up in around) > 1:
                continue  # of what is given, it is only a part
            edits = code.detached(name), code.replaced(root, name.id)
            yield unsafe(f"Call backward on `{name.id}` alone, and add it detached", *edits)
        call = added.value if isinstance(added, ast.Expr) else None
        given_calls = [each for each in call.args if isinstance(each, ast.Call)] if isinstance(call, ast.Call) else []
        if len(given_calls) == 1:
            yield from _under_a_name(code, given_calls[0], root, backward_pass)


def _is_now_and_then(code: EditableCode, backward_pass: ast.stmt, block: Sequence[ast.stmt], total: ast.expr) -> bool:
    """Whether some iterations that add to a total pass it over: it stands below an `if`, or behind one that goes on to the next."""
    above = block[: block.index(backward_pass)]
    added = next((at for at, each in enumerate(above) if meets(writes(each), {code.of(total)})), len(above))
    goes_on = (isinstance(each, ast.If) and isinstance(each.body[-1], ast.Continue) for each in above[added:])
    return isinstance(code.parents[backward_pass], ast.If) or any(goes_on)


def _divided(before_it: Sequence[ast.stmt], root: ast.expr) -> str:
    """The total of which a loss is a share: `total` of `mean = total / n`; "" if it is none."""
    bound = [each.value for each in before_it if isinstance(each, ast.Assign) and ast.unparse(root) in writes(each)]
    value = bound[-1] if bound else root
    return ast.unparse(value.left) if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div) else ""


def _weighed(term: ast.expr) -> ast.expr:
    """The loss in `loss * len(batch)`."""
    match term:
        case ast.BinOp(left, ast.Mult()) if not isinstance(left, ast.Constant):
            return left
    return term


def _given_itself(code: EditableCode, statement: ast.stmt, root: ast.expr) -> ast.Call | None:
    """The call of `loss = smoothed(loss)`: what it makes takes the name of what goes in last."""
    match statement:
        case ast.Assign([target], ast.Call(args=[*_, given]) as call) if isinstance(root, ast.Name):
            return call if code.of(target) == code.of(given) == code.of(root) else None
    return None


def _under_a_name(code: EditableCode, term: ast.expr, root: ast.expr, backward_pass: ast.stmt) -> Iterator[Fix]:
    """`total += criterion(x, y)` with what is added bound to a name before."""
    scope = code.scope(backward_pass)
    taken = reads(scope) | writes(scope)
    for name in [each for each in ("loss", "new_loss", "its_loss") if each not in taken][:1]:
        statement = code.statement_at(Span(code.source, code.start(term), code.end(term)))
        edits = (
            code.before(statement, f"{name} = {code.of(term)}"),
            code.replaced(term, f"{name}.detach()"),
            code.replaced(root, name),
        )
        made = f"`{name} = {short(code.of(term))}`"
        yield unsafe(f"Call backward on this iteration's loss alone, {made}, and add it detached", *edits)


def _part(code: EditableCode, begun: ast.Assign, name: str) -> str:
    """What a statement gives to a name alone: `loss = 0` of `state, loss = start, 0`."""
    parts = {code.of(each.target): each.value for each in bindings(begun)}
    value = parts.get(name, begun.value)
    return code.of(begun) if value is begun.value else f"{name} = {code.of(value)}"


def _term(code: EditableCode, statement: ast.stmt, total: str) -> ast.expr | None:
    """What a statement adds to a total: `total = total + term`, `total += term`."""
    match statement:
        case ast.AugAssign(target, ast.Add(), value) if code.of(target) == total:
            return value
        case ast.Assign(value=ast.BinOp(left, ast.Add(), right)):
            return {code.of(left): right, code.of(right): left}.get(total)
    return None


def drop_backward(code: EditableCode, cure: cures.DropBackward, diagnostic: Diagnostic) -> Iterator[Fix]:
    """Nothing if gradients are used between the two walks, since then both may be meant. Of two in different functions the one
    stays behind which its function takes a step."""
    one, two = code.statement_of(cure.first), code.statement_of(cure.backward_pass)
    if cure.step is not None:
        yield from _stepped_once(code, one, two, code.statement_of(cure.step))
        return
    if cure.exact or one is None or two is None or code.scope(one) is not code.scope(two):
        for each in (two,) if cure.exact else (two, one):
            stays = each is None or (not cure.exact and _is_stepped_with(code, each))
            if each is not None and not stays and backpropagated(each) is not None:
                yield unsafe(f"Remove `{code.of(each)}`", code.removed(each), merges=1)
        return
    if one is two or backpropagated(two) is None:
        return
    block = code.block(two)
    before = code.within(one, block.statements)
    if before is None or before is two or tuning(block.upto(before, two)):
        return
    yield unsafe(f"Remove `{code.of(two)}`", code.removed(two), merges=1)


def _stepped_once(
    code: EditableCode, kept: ast.stmt | None, dropped: ast.stmt | None, step: ast.stmt | None
) -> Iterator[Fix]:
    """Of two backward passes of one loss the first is left out, and the step between them taken behind the other."""
    if kept is None or dropped is None or step is None:
        return
    block = code.block(kept).statements
    if dropped in block and step in block and backpropagated(dropped) is not None:
        message = (
            f"Call backward once: `{code.of(step)}` after `{code.of(kept)}`, and no `{code.of(dropped)}` before it"
        )
        edits = code.removed(dropped), code.removed(step), code.copied_after(kept, [step])
        yield telling(message, *edits, merges=1)


def _is_stepped_with(code: EditableCode, backward_pass: ast.stmt) -> bool:
    """Whether its function takes a step behind a backward pass, but for calls that are given the loss."""
    scope, walked = code.scope(backward_pass), reads(backward_pass)
    steps = [each for each in calls([scope], _STEP) if code.start(each) > code.start(backward_pass)]
    return any(code.scope(each) is scope and not any(reads(arg) & walked for arg in each.args) for each in steps)


def keep_graph(code: EditableCode, cure: cures.KeepGraph, diagnostic: Diagnostic) -> Iterator[Fix]:
    """In a counted loop, in all turns but the last; or in each."""
    call = code.call_at(cure.span)
    if cure.span == diagnostic.primary.span and (counted := _but_the_last(code, call)):
        edit = with_argument(code, call, "retain_graph", counted)
        yield unsafe(f"Retain the graph in all iterations but the last: `retain_graph={counted}`", edit)
    edit = with_argument(code, call, "retain_graph", "True")
    yield unsafe("Retain the graph: `retain_graph=True`", edit)
    if cure.other is not None:
        other = code.call_at(cure.other)
        message = f"`retain_graph=True` on lines {call.lineno} and {other.lineno}, since a third backward pass wants this graph (it costs memory)"
        yield telling(message, edit, with_argument(code, other, "retain_graph", "True"))


def read_gradients(code: EditableCode, cure: cures.ReadGradients, diagnostic: Diagnostic) -> Iterator[Fix]:
    """`grad(loss, params)` as `[p.grad for p in params]`, behind a backward pass beside which the gradients are zeroed each time."""
    call, tree = code.call_at(cure.span), syntax_of(cure.first.source)
    walked, statement, scope = tree.statement_of(cure.first), code.statement_at(cure.span), code.scope_around(call)
    body = tree.body(walked) if walked is not None else None
    beside = [each.value for each in body.statements if isinstance(each, ast.Expr)] if body is not None else []
    zeroes = [each for each in beside if isinstance(each, ast.Call) and called(each) == "zero_grad"]
    is_bound = isinstance(statement, ast.Assign) and statement.value is call
    if not is_bound or len(call.args) != 2 or call.keywords or backpropagated(walked) is None:
        return
    if not any(not each.args and not each.keywords for each in zeroes):
        return  # what it only fills with zeros stays the same tensor
    if any(calls([each.tree], _ADJUSTS) for each in (code, tree)):
        return  # `.grad` may hold what was made of it
    if not all(_is_computed_with(code, each) for name in bound(statement) for each in code.reads(scope, name)):
        return  # who keeps it, or changes it, is to have a tensor of its own
    asked = call.args[1]
    parts = asked.elts if isinstance(asked, ast.List | ast.Tuple) else [asked]
    if parts != [asked] and all(isinstance(each, ast.Name | ast.Attribute) for each in parts):
        written = f"[{', '.join(f'{code.of(each)}.grad' for each in parts)}]"
    elif _is_list(code, scope, asked) and (
        each := next((n for n in ("p", "param", "leaf") if n not in bound(scope)), "")
    ):
        written = f"[{each}.grad for {each} in {code.of(asked)}]"
    else:
        return
    words = f"Read `.grad`, where `{short(cure.first.text)}` has left the gradients: `{written}`"
    yield telling(words, code.replaced(call, written), merges=1)


_ADJUSTS = re.compile(r"clip_grad|unscale_")
"""Calls that change gradients where they are."""

_COMPUTES = frozenset(
    {"norm", "sum", "mean", "abs", "pow", "square", "clone", "std", "var", "max", "min", "item", "cat", "stack"}
)
"""Methods and functions whose result has memory of its own."""


def _is_computed_with(code: EditableCode, read: ast.expr) -> bool:
    """Whether something with memory of its own is made there of the items of a list, or of one."""
    up = code.parents[read]
    made = code.parents[up]
    if isinstance(up, ast.comprehension) and isinstance(made, ast.ListComp | ast.GeneratorExp):
        outer = code.parents[made]
        return bool(calls_of([made.elt], *_COMPUTES)) or (isinstance(outer, ast.Call) and called(outer) in _COMPUTES)
    if isinstance(up, ast.Subscript) and isinstance(made, ast.Attribute):
        made = code.parents[made]
    return isinstance(up, ast.Subscript) and isinstance(made, ast.Call) and called(made) in _COMPUTES


def _is_list(code: EditableCode, scope: ast.AST, asked: ast.expr) -> bool:
    """Whether an expression is a list of leaves, or a name for one: `list(model.parameters())`."""
    if isinstance(asked, ast.Name):
        made = [each.value for each in code.bound_in(scope) if each.name == asked.id]
        return len(made) == 1 and not isinstance(made[0], ast.Name) and _is_list(code, scope, made[0])
    if isinstance(asked, ast.Call) and called(asked) in ("list", "tuple") and len(asked.args) == 1:
        return _is_list(code, scope, asked.args[0])
    match asked:
        case ast.Call(ast.Attribute(attr="parameters")) | ast.List() | ast.Tuple() | ast.ListComp():
            return True
    return False


def create_graph(code: EditableCode, cure: cures.CreateGraph, diagnostic: Diagnostic) -> Iterator[Fix]:
    """A graph for the gradient, which keeps the one that it was computed from; or for both gradients, whose product is a loss."""
    call = code.call_at(cure.span)
    yield from _handed_on(code, call)
    yield unsafe("Give the gradient a graph: `create_graph=True`", *with_graph(code, call))
    if cure.other is not None:
        other = code.call_at(cure.other)
        where = f"lines {call.lineno} and {other.lineno}"
        message = f"`create_graph=True` on {where}: a later backward goes through both gradients"
        yield telling(message, *with_graph(code, call), *with_graph(code, other))


MOST_ASKED = 4
"""Calls of a function that asks for a gradient, of which each may be the one that needs its graph."""


def _handed_on(code: EditableCode, call: ast.Call) -> Iterator[Fix]:
    """`create_graph=True` for a function of the program that hands it on: `derivative(u, x)`."""
    asked = next((each.value for each in call.keywords if each.arg == "create_graph"), None)
    scope = code.scope(call)
    star = next((each.value for each in call.keywords if each.arg is None), None)
    if not is_function(scope) or not isinstance(asked or star, ast.Name):
        return
    own = scope.args.kwarg.arg if scope.args.kwarg is not None else ""
    name = asked.id if isinstance(asked, ast.Name) and asked.id in parameters(scope.args) else ""
    if asked is None and isinstance(star, ast.Name) and star.id == own:
        name = "create_graph"
    if not name:
        return
    for outer in [each for each in code.calls if called(each) == scope.name][:MOST_ASKED]:
        if all(each.arg != name for each in outer.keywords):
            words = f"Ask for the graph of the gradient that `{short(code.of(outer))}` gives: `{name}=True`"
            yield telling(words, with_argument(code, outer, name, "True"))


def with_graph(code: EditableCode, call: ast.Call) -> list[Edit]:
    """A call of `autograd.grad` with `create_graph=True`, which keeps the graph by itself."""
    edits = [with_argument(code, call, "create_graph", "True")]
    return edits + [without_argument(code, call, word) for word in call.keywords if word.arg == "retain_graph"]


def _but_the_last(code: EditableCode, call: ast.Call) -> str:
    """A condition that the last turn of the loop around a walk doesn't meet; "" if the loop doesn't count."""
    loop = next((up for up in code.above(call) if isinstance(up, ast.For | ast.While | ast.FunctionDef)), None)
    match loop:
        case ast.For(ast.Name(number), ast.Call(ast.Name("range"), [end], [])) if number != "_":
            if isinstance(end, ast.Constant) and isinstance(end.value, int):
                return f"{number} < {end.value - 1}"
            return f"{number} < {code.of(end)} - 1" if isinstance(end, ast.Name | ast.Attribute | ast.Call) else ""
        case ast.For(
            ast.Tuple([ast.Name(number), *_]),
            ast.Call(ast.Name("enumerate"), [ast.Name() | ast.Attribute() as over], []),
        ):
            return f"{number} < len({code.of(over)}) - 1"
    return ""


def zero_first(code: EditableCode, cure: cures.ZeroFirst, diagnostic: Diagnostic) -> Iterator[Fix]:
    """In each turn, and not once before the loop."""
    backward_pass = code.statement_at(cure.backward_pass)
    if not code.holds(cure.owner):
        return
    row = f"{cure.owner}.zero_grad()"
    edits = [code.before(backward_pass, row)]
    loop = code.loop_around(backward_pass)
    for each in code.block(loop).statements if loop is not None else ():
        if code.start(each) < code.start(backward_pass) and ast.unparse(each) == row:
            edits.append(code.removed(each))
    yield unsafe(f"Zero the gradients first: `{row}`", *edits)


def swap_zero_and_step(code: EditableCode, cure: cures.SwapZeroAndStep, diagnostic: Diagnostic) -> Iterator[Fix]:
    zero, step = code.statement_at(cure.zero), code.statement_at(cure.step)
    if step not in code.block(zero).statements:
        return
    one, two = code.of(zero), code.of(step)
    edits = (code.replaced(zero, two), code.replaced(step, one))
    yield unsafe(f"Step before the gradients are zeroed: `{two}`, then `{one}`", *edits)
