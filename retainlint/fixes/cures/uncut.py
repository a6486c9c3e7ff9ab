"""What cuts a graph, or keeps an old one, taken away."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import TypeAlias

from retainlint.diagnostic import Diagnostic, Edit, Fix, StraightThrough, Uncache, Uncut
from retainlint.fixes.code import EditableCode
from retainlint.fixes.cures.backward_calls import with_graph
from retainlint.fixes.cures.containers import stored
from retainlint.fixes.cures.expressions import with_argument
from retainlint.fixes.cures.frozen import frozen_as_copy, frozen_before, frozen_part, thawed_part
from retainlint.fixes.cures.no_grad import (
    around,
    enabled,
    recorded,
    recorded_before,
    switched,
    taken_off,
    undecorated,
    unwrapped,
    unwrapped_at_use,
)
from retainlint.fixes.edits import telling, unsafe
from retainlint.fixes.statements import backpropagated, calls_of, first, is_whole, meets, reads, writes
from retainlint.startup.records import replace
from retainlint.text.quoting import short
from retainlint.text.syntax import bound, called, is_function, parameters

_Builder: TypeAlias = "Callable[[EditableCode, Uncut, Diagnostic], Iterator[Fix]]"


def uncut(code: EditableCode, cure: Uncut, diagnostic: Diagnostic) -> Iterator[Fix]:
    yield from _BY_REASON[cure.reason](code, cure, diagnostic)


def _detached(code: EditableCode, cure: Uncut, diagnostic: Diagnostic) -> Iterator[Fix]:
    statement = code.statement_at(cure.span)
    leaf = list(_required(code, statement))
    yield from leaf
    for node in ast.walk(statement) if not leaf else ():
        yield from _suffix(code, node)


def _chosen_by(code: EditableCode, cure: Uncut, diagnostic: Diagnostic) -> Iterator[Fix]:
    """`loss = criterion(p > 0.5, y)`, by a name: `criterion(p, y)`."""
    compared, made = code.expression_at(cure.span), bound(code.statement_at(cure.span))
    root = backpropagated(code.statement_of(diagnostic.primary.span))
    if not isinstance(compared, ast.Compare) or root is None:
        return
    values = (each.value for each in code.bound_as(code.of(root)) if isinstance(each.value, ast.Call))
    given = [arg for value in values for arg in value.args if isinstance(arg, ast.Name) and arg.id in made]
    if given:
        left = code.of(compared.left)
        words = f"Compute `{code.of(root)}` of `{short(left)}` itself"
        yield unsafe(words, *(code.replaced(each, left) for each in given))


def _copied(code: EditableCode, cure: Uncut, diagnostic: Diagnostic) -> Iterator[Fix]:
    call = code.call_at(cure.span)
    alike = calls_of([code.scope(call)], called(call))
    for copies in (alike, [call]) if called(call) == "Parameter" else ([call],):
        edits = [edit for each in copies for edit in _given(code, each)]
        if len(edits) == 2 * len(copies):
            yield unsafe(f"Use `{short(code.of(call.args[0]))}` itself, with its graph", *edits)


def _leaf(code: EditableCode, cure: Uncut, diagnostic: Diagnostic) -> Iterator[Fix]:
    yield from _set_on_modules(code)
    yield from _asked_for(code, code.statement_at(cure.span))
    places = [
        code.statement_of(each.span) for each in diagnostic.cures if isinstance(each, Uncut) and each.reason == "frozen"
    ]
    yield from thawed_part(code, [each for each in places if each is not None])


def _pretrained(code: EditableCode, cure: Uncut, diagnostic: Diagnostic) -> Iterator[Fix]:
    if (call := code.call_at(cure.span)).args[1:] == []:
        yield unsafe("Let the given rows be trained: `freeze=False`", with_argument(code, call, "freeze", "False"))


def _drawn(code: EditableCode, cure: Uncut, diagnostic: Diagnostic) -> Iterator[Fix]:
    if called(call := code.call_at(cure.span)) == "sample":
        at = code.end(call.func) - len("sample")
        yield unsafe("Draw with `rsample()`", Edit(at, at, "r"))


def _not_recorded(code: EditableCode, cure: Uncut, diagnostic: Diagnostic) -> Iterator[Fix]:
    statement, asked = code.statement_at(cure.span), diagnostic.primary.span
    here = code.statement_at(asked) if asked.source is code.source else None
    if here is not None and code.of(code.expression_at(asked)).partition("(")[0].endswith("grad"):
        yield from recorded(code, statement, here)
    led = [each.span for each in diagnostic.cures if isinstance(each, Uncut)]
    for up in (statement, *code.above(statement)):
        if is_function(up):
            yield from unwrapped_at_use(code, up, led)
        for mode in ("no_grad", "inference_mode"):
            if isinstance(up, ast.With) and len(up.items) == 1 and mode in code.of(up.items[0].context_expr):
                yield unwrapped(code, up, up.body, f"Record the graph: don't compute it under `{mode}`")
            if isinstance(up, ast.FunctionDef | ast.AsyncFunctionDef):
                yield from taken_off(code, up, mode, here, led)


def _at_statement(make: Callable[[EditableCode, ast.stmt], Iterator[Fix]]) -> _Builder:
    return lambda code, cure, diagnostic: make(code, code.statement_at(cure.span))


def _at_call(make: Callable[[EditableCode, ast.Call], Iterator[Fix]]) -> _Builder:
    return lambda code, cure, diagnostic: make(code, code.call_at(cure.span))


def straight_through(code: EditableCode, cure: StraightThrough, diagnostic: Diagnostic) -> Iterator[Fix]:
    """`x.round().detach()` to `x + (x.round() - x).detach()`."""
    flat, cut = code.call_at(cure.span), code.call_at(cure.cut)
    given = flat.args[0] if flat.args else flat.func.value if isinstance(flat.func, ast.Attribute) else None
    if given is None or len(flat.args) > 1 or any(isinstance(each, ast.Call) for each in ast.walk(given)):
        return  # it would be computed twice
    if not isinstance(cut.func, ast.Attribute) or called(cut) != "detach" or cut.args:
        return
    taken = code.of(given) if isinstance(given, ast.Name | ast.Attribute) else f"({code.of(given)})"
    passed, message = (
        f"{taken} + ({code.of(flat)} - {taken}).detach()",
        f"Let `{short(code.of(flat))}` pass the gradient straight through",
    )
    if cut.func.value is flat and isinstance(code.parents[cut], ast.stmt):
        yield unsafe(message, code.replaced(cut, passed))
        return
    dropped = Edit(code.end(cut.func) - len(".detach"), code.end(cut), "")
    yield unsafe(message, code.replaced(flat, f"({passed})"), dropped)


def _of_other_kind(code: EditableCode, call: ast.Call) -> Iterator[Fix]:
    """A checkpoint that isn't reentrant."""
    edit = with_argument(code, call, "use_reentrant", "False")
    # the whole is one step then, by which each weight is reached once
    yield unsafe("Ask for a checkpoint that isn't reentrant: `use_reentrant=False`", edit, parts=True)


MOST_CUTS = 8
"""Cuts of a text of which each is taken away by itself, to see which it was."""


def _whole(code: EditableCode) -> Iterator[Fix]:
    """Each `.detach()` and `.data` of a text taken away by itself."""
    for node in code.below(code.tree):
        for fix in _suffix(code, node):
            statement = code.statement(fix.edits[0].start)
            there = "" if statement is None else f" in `{short(code.of(statement))}`"
            yield replace(fix, message=f"{fix.message}{there}, which cuts it off", tells=True)


def uncache(code: EditableCode, cure: Uncache, diagnostic: Diagnostic) -> Iterator[Fix]:
    """What stands below `if self.x is None:`, or another question, or behind it, without it, and what is under `@cache`
    likewise."""
    statement = code.statement_at(cure.span)
    for up in (statement, *code.above(statement)):
        if isinstance(up, ast.If):
            message = f"Compute it each time: without `if {code.of(up.test)}`"
            if (alone := _moved_out(code, up, statement)) is not None:
                yield alone
            elif not up.orelse or code.within(statement, up.orelse):
                yield unwrapped(code, up, up.orelse or up.body, message)
        if isinstance(up, ast.FunctionDef | ast.AsyncFunctionDef):
            for each in up.body:
                if _looks_up(each) and code.start(each) < code.start(statement):
                    yield unsafe(f"Compute it each time: without `{short(code.of(each))}`", code.removed(each))
            yield from undecorated(code, up, "cache")
            return


def _moved_out(code: EditableCode, question: ast.If, statement: ast.stmt) -> Fix | None:
    """A statement behind the `if` that it stood under, with what else is done there only now and then: a schedule. None where
    that isn't there before, or nothing else is done."""
    own = code.within(statement, question.body)
    rest = [each for each in question.body if each is not own]
    if own is not None and meets(writes(own), reads(question.test)):
        return None  # it asks whether that is kept
    if own is None or not rest or question.orelse or any(meets(writes(own), reads(each)) for each in rest):
        return None
    made = {name for each in rest for name in bound(each)}
    ahead = [node for name in made & reads(own) for node in code.writes(code.scope(question), name)]
    begun = {ast.unparse(node) for node in ahead if code.start(node) < code.start(question)}
    if not made & reads(own) <= begun:
        return None
    message = f"Compute it each time: after `if {code.of(question.test)}`"
    return unsafe(message, code.removed(own), code.copied_after(question, [own]))


def _looks_up(statement: ast.stmt) -> bool:
    """`if self.x is not None: return self.x`, `if key in known: return known[key]`."""
    if not isinstance(statement, ast.If) or statement.orelse or not isinstance(found := statement.body[-1], ast.Return):
        return False
    return found.value is not None and reads(found.value) <= reads(statement.test)


def _given(code: EditableCode, call: ast.Call) -> Iterator[Edit]:
    """What the one argument of a call leaves of it: nothing, or brackets."""
    if len(call.args) == 1 and not call.keywords and not isinstance(given := call.args[0], ast.Starred):
        yield Edit(code.start(call), code.start(given), "" if is_whole(given) else "(")
        yield Edit(code.end(given), code.end(call), "" if is_whole(given) else ")")


def _stacked(code: EditableCode, cure: Uncut, diagnostic: Diagnostic) -> Iterator[Fix]:
    """`torch.tensor([...])` of tensors as `torch.stack([...])`, which keeps their graphs; wherever it was written so."""
    call = code.call_at(cure.span)
    others = [code.call_at(span) for span in cure.beside if span.source is code.source]
    for calls in ([call, *others], [call])[not others :]:
        for names in (False, True):  # which may stand for tensors, or for numbers, as the proof finds
            each = [_stack_of(code, each, names) for each in calls]
            if all(each):
                head = code.of(call.func).rpartition(".")[0]
                edits = {(edit.start, edit.end): edit for edits in each for edit in edits}
                yield unsafe(f"Use `{head}.stack`, which keeps the graphs", *edits.values())


def _stack_of(code: EditableCode, call: ast.Call, names: bool) -> list[Edit]:
    """What makes `torch.stack` of one such call; nothing where it can't be."""
    if called(call) not in ("tensor", "as_tensor") or len(call.args) != 1 or not isinstance(call.func, ast.Attribute):
        return []
    at, numbers = code.end(call.func), [each for each in ast.walk(call.args[0]) if isinstance(each, ast.Call)]
    listed = code.of(call.args[0]).rpartition(".")[2]
    for each in calls_of([code.tree], "append"):  # the numbers may be put into the list elsewhere
        owner = each.func.value if isinstance(each.func, ast.Attribute) else None
        if owner is not None and code.of(owner).rpartition(".")[2] == listed:
            numbers += [arg for arg in each.args if isinstance(arg, ast.Call)]
    bare = [
        Edit(code.end(each.func.value), code.end(each), "")
        for each in numbers
        if called(each) == "item" and isinstance(each.func, ast.Attribute)
    ]
    rows = _rows_stacked(code, call.args[0], code.of(call.func.value), names)
    return [Edit(at - len(call.func.attr), at, "stack"), *bare, *rows]


def _rows_stacked(code: EditableCode, listed: ast.expr, head: str, names: bool) -> Iterator[Edit]:
    """The rows of a list of lists as tensors of their own, and the numbers in a list as tensors; with `names` also what may
    be a number by name."""
    for each in listed.elts if isinstance(listed, ast.List) else ():
        start, end = code.start(each), code.end(each)
        if isinstance(each, ast.List) and all(map(_is_number, each.elts)):
            yield Edit(start, start, f"{head}.tensor(")
            yield Edit(end, end, ")")
        elif isinstance(each, ast.List):
            yield Edit(start, start, f"{head}.stack(")
            yield from _rows_stacked(code, each, head, names)
            yield Edit(end, end, ")")
        elif _is_number(each):
            yield Edit(start, end, f"{head}.tensor({code.of(each)})")
        elif names and isinstance(each, ast.Name | ast.Attribute):
            yield Edit(start, end, f"{head}.as_tensor({code.of(each)})")


def _is_number(node: ast.expr) -> bool:
    node = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _kept(code: EditableCode, cure: Uncut) -> Iterator[Fix]:
    """`torch.tensor(x.item())` as `x`; of a list of such numbers, `torch.stack` of what they were taken of."""
    again = cure.again
    if again is None or again.source is not code.source:
        return
    taken, call = code.expression_at(cure.span), code.call_at(again)
    given = call.args[0] if len(call.args) == 1 and not isinstance(call.args[0], ast.Starred) else None
    if given is None or not isinstance(call.func, ast.Attribute) or not isinstance(taken, ast.Call):
        return
    is_given = code.start(given) <= code.start(taken) and code.end(taken) <= code.end(given)
    takers = [each for each in ast.walk(given) if isinstance(each, ast.Call)] if is_given else [taken]
    bare = [edit for each in takers for edit in _of_tensor(code, each)]
    if isinstance(given, ast.List | ast.ListComp | ast.Name | ast.Attribute) and called(taken) in ("item", "float"):
        at = code.end(call.func)
        told = [Edit(code.end(given), code.end(call) - 1, "")] if call.keywords else []
        stacked = Edit(at - len(call.func.attr), at, "stack")
        yield unsafe(
            f"Use `{code.of(call.func.value)}.stack` of the tensors, which keeps their graphs", stacked, *told, *bare
        )
    elif len(takers) == len([each for each in takers if list(_of_tensor(code, each))]):
        kept = taken.args[0] if given is taken and called(taken) == "float" else given
        is_bare = is_whole(kept) or (isinstance(code.parents[call], ast.stmt) and "\n" not in code.of(kept))
        start, end = ("", "") if is_bare else ("(", ")")
        around = Edit(code.start(call), code.start(given), start), Edit(code.end(given), code.end(call), end)
        words = f"Use the tensor itself, not `{short(code.of(call))}`"
        logged = () if is_given else _logged(code, call, given, around)
        yield from logged or (unsafe(words, *around, *bare),)


def _logged(code: EditableCode, call: ast.Call, given: ast.expr, around: tuple[Edit, ...]) -> tuple[Fix, ...]:
    """A list or dict of numbers, of which a loss was made, that holds tensors up to there, and numbers behind it, where it is
    read on."""
    scope, statement = code.scope(call), code.statement(code.start(call))
    if not isinstance(statement, ast.Assign):
        return ()
    for name in sorted(each for each in reads(given) if each.isidentifier()):
        values = [value for value, many in stored(code, scope, name) if not many]
        made = [each for each in code.bound_in(scope) if each.name == name]
        bare = [
            [edit for each in ast.walk(value) if isinstance(each, ast.Call) for edit in _of_tensor(code, each)]
            for value in values
        ]
        further = [each for each in code.reads(scope, name) if code.start(each) > code.end(call)]
        if not further or not bare or not all(bare) or len(made) != 1:
            continue
        if code.loop_around(made[0].target) is not code.loop_around(statement):
            continue
        if isinstance(made[0].value, ast.Dict) and not made[0].value.keys:
            row = f"{name} = {{name: value.item() for name, value in {name}.items()}}"
        elif isinstance(made[0].value, ast.List) and not made[0].value.elts:
            row = f"{name} = [each.item() for each in {name}]"
        else:
            continue
        words = (
            f"Keep tensors in `{name}`, use `{short(code.of(given))}` itself, and take the numbers behind it: `{row}`"
        )
        edits = *(edit for each in bare for edit in each), *around, code.after(statement, row)
        return (telling(words, *edits),)
    return ()


def _of_tensor(code: EditableCode, call: ast.Call) -> Iterator[Edit]:
    """What takes the numbers of a tensor, away."""
    if called(call) == "float" and isinstance(call.func, ast.Name) and len(call.args) == 1:
        yield Edit(code.start(call), code.start(call.args[0]), "")
        yield Edit(code.end(call.args[0]), code.end(call), "")
    elif called(call) in _TAKE and isinstance(call.func, ast.Attribute):
        kept: ast.expr = call.func.value
        while isinstance(kept, ast.Call) and called(kept) in _AWAY and isinstance(kept.func, ast.Attribute):
            kept = kept.func.value
        if isinstance(kept, ast.Attribute) and kept.attr == "data":
            kept = kept.value
        yield Edit(code.end(kept), code.end(call), "")


_TAKE = ("item", "numpy", "tolist")

_AWAY = ("detach", "cpu")
"""What is called on a tensor before its numbers are taken."""


def _suffix(code: EditableCode, node: ast.AST) -> Iterator[Fix]:
    if isinstance(node, ast.Call) and called(node) == "detach" and isinstance(node.func, ast.Attribute):
        edit = Edit(code.end(node.func.value), code.end(node), "")
    elif isinstance(node, ast.Attribute) and node.attr == "data" and isinstance(node.ctx, ast.Load):
        edit = Edit(code.end(node.value), code.end(node), "")
    else:
        return
    start = edit.start
    while code.text[start : start + 1] == ")" or code.text[start : start + 1].isspace():  # brackets around what is cut
        start += 1
    yield unsafe(f"Remove `{code.text[start : edit.end]}`", Edit(start, edit.end, ""))


def _uncut_leaf(code: EditableCode, cure: Uncut) -> Iterator[Fix]:
    """`x.detach().requires_grad_()` as `x`; with the gradient that it is made of given a graph."""
    call = code.call_at(cure.span)
    cuts = [fix for node in ast.walk(call.func) for fix in _suffix(code, node)]
    if len(cuts) != 1 or called(call) != "requires_grad_" or not isinstance(call.func, ast.Attribute):
        return
    edit = cuts[0].edits[0]
    edits = [edit, Edit(code.end(call.func.value), code.end(call), "")]
    message = cuts[0].message
    if cure.creating is not None:
        edits += with_graph(code, code.call_at(cure.creating))
        message += ", and give the gradient a graph: `create_graph=True`"
    yield unsafe(message, *edits)


def _required(code: EditableCode, statement: ast.stmt) -> Iterator[Fix]:
    """A detached tensor whose gradient the program asks for: it is to be a leaf that requires one."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return
    value, name = statement.value, code.of(statement.targets[0])
    arms = (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,)
    cut = [each for each in arms if isinstance(each, ast.Call) and called(each) == "detach"]
    bare = [each for each in arms if isinstance(each, ast.Attribute) and each.attr == "data"]
    is_asked = f"{name}.grad" in code.text or name in _differentiated(code)
    inside = [each for each in code.below(value) if isinstance(each, ast.Call) and called(each) == "detach"]
    loop = code.loop_around(statement)
    if is_asked and not cut and loop is not None and any(code.of(each.func) == f"{name}.detach" for each in inside):
        message = (
            f"`{name}.requires_grad_()` at the start of each iteration: what the one before has made requires none"
        )
        yield telling(message, code.before(first(loop.body), f"{name}.requires_grad_()"))
    if cut and is_asked:
        edits = [Edit(code.end(each), code.end(each), ".requires_grad_()") for each in cut]
        yield telling(f"Let `{name}` require a gradient: `.requires_grad_()` after `{code.of(cut[0])}`", *edits)
    elif bare and is_asked:
        edits = [Edit(code.end(each) - len(each.attr), code.end(each), "detach().requires_grad_()") for each in bare]
        yield telling(f"Let `{name}` require a gradient: `.detach().requires_grad_()` in place of `.data`", *edits)


def _differentiated(code: EditableCode) -> set[str]:
    """What `autograd.grad` is asked for the gradient of, by its text."""
    given = [each.args[1] for each in code.calls if called(each) == "grad" and len(each.args) > 1]
    parts = (each.elts if isinstance(each, ast.Tuple | ast.List) else (each,) for each in given)
    return {code.of(part) for each in parts for part in each}


def _read_of(code: EditableCode, backward_pass: ast.stmt) -> Iterator[Fix]:
    """What goes into a loss, and whose gradient is read behind its backward pass, `x.grad`, or asked for by `grad(loss, x)`, as a
    leaf that requires one: an input that is attacked, or explained. One that each iteration binds anew is such a leaf at the start
    of each."""
    calls = (each for each in ast.walk(backward_pass) if isinstance(each, ast.Call) and called(each) == "grad")
    call = next((each for each in calls if len(each.args) > 1), None)
    root = call.args[0] if call is not None else backpropagated(backward_pass)
    scope, making = code.scope(backward_pass), list[ast.stmt]()
    needed = reads(root) if root is not None else set[str]()
    for each in reversed(code.block(backward_pass).before(backward_pass)):
        if meets(writes(each), needed):
            needed |= reads(each)
            making.insert(0, each)
    behind = (each for each in code.below(scope) if isinstance(each, ast.Attribute) and each.attr == "grad")
    asked = dict.fromkeys(code.of(each.value) for each in behind if code.start(each) > code.end(backward_pass))
    asked |= dict.fromkeys(map(code.of, call.args[1:2] if call is not None else ()))
    lists = [each for each in code.below(code.tree) if isinstance(each, ast.List)]
    listed = {
        code.of(part)
        for each in lists
        for part in each.elts
        if isinstance(part, ast.Attribute) or code.scope_around(each) is scope
    }
    for name in (each for each in asked if each in needed - listed):  # what is listed, an optimiser may own
        made = max((code.end(each) for each in making if name in bound(each)), default=-1)
        use = next((each for each in making if name in reads(each) and code.start(each) > made), None)
        if use is not None:
            yield from _required_at(code, name, use, scope, is_made=made >= 0)


def _required_at(code: EditableCode, name: str, use: ast.stmt, scope: ast.AST, *, is_made: bool) -> Iterator[Fix]:
    """A leaf that requires a gradient from the row on that uses it, or, if nothing binds it beside, where it is made."""
    every = [each for each in code.bound_as(name) if each.is_anew]
    own = [each for each in every if code.scope_around(each.statement) is scope]
    is_handed = is_function(scope) and name in parameters(scope.args)
    is_renewed = any(code.start(each.statement) > code.start(use) for each in own)
    if is_made or is_handed or is_renewed:
        row = f"{name}.requires_grad_(True)" if is_made else f"{name} = {name}.detach().requires_grad_(True)"
        loop = code.loop_around(use)
        is_each = is_renewed and not is_made and loop is not None and use in loop.body
        where = "at the start of each iteration" if is_each else f"before `{short(code.of(use))}`"
        words = f"`{row}` {where}: its gradient is needed, and it requires none there"
        yield telling(words, code.before(use, row))
    elif len(every) == 1 and isinstance(value := every[0].value, ast.Call):
        words = f"Let `{name}` require a gradient: `.requires_grad_()` where it is made"
        yield telling(words, Edit(code.end(value), code.end(value), ".requires_grad_()"))


def _set_on_modules(code: EditableCode) -> Iterator[Fix]:
    """`module.requires_grad = True`, which is an attribute like any other there, as `module.requires_grad_(True)`."""
    targets = [
        (each, each.targets[0])
        for each in code.below(code.tree)
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.Constant) and each.value.value is True
    ]
    told = [(each, to) for each, to in targets if isinstance(to, ast.Attribute) and to.attr == "requires_grad"]
    if told:
        words = f"Call `{short(code.of(told[0][1]))}_(True)`: set on a module, `requires_grad` changes no parameter"
        yield telling(words, *(Edit(code.end(to), code.end(each), "_(True)") for each, to in told))


def _asked_for(code: EditableCode, backward_pass: ast.stmt) -> Iterator[Fix]:
    """The names whose gradient the function of a backward pass reads are to require one, wherever it binds them; or what an
    optimiser is given by its names."""
    scope = code.scope(backward_pass)
    read = {
        code.of(each.value) for each in code.below(scope) if isinstance(each, ast.Attribute) and each.attr == "grad"
    } | _differentiated(code)
    for name in sorted(each for each in read if each.isidentifier()):
        made = (code.statement(code.start(each)) for each in code.writes(scope, name))
        values = [each.value for each in made if isinstance(each, ast.Assign) and isinstance(each.value, ast.Call)]
        edits = [Edit(code.end(each), code.end(each), ".requires_grad_()") for each in values]
        if edits and len(edits) == len(code.writes(scope, name)):
            yield telling(f"Let `{name}` require a gradient: `.requires_grad_()` where it is made", *edits)
    yield from _required_before(code, backward_pass)
    yield from _listed(code, scope)


def _required_before(code: EditableCode, asked: ast.stmt) -> Iterator[Fix]:
    """What `autograd.grad(y, x)` asks for the gradient of requires one from the row on that computes `y` of it."""
    block = code.block(asked).statements
    for call in (each for each in ast.walk(asked) if isinstance(each, ast.Call) and called(each) == "grad"):
        if len(call.args) < 2 or not isinstance(call.args[1], ast.Name | ast.Attribute):
            continue
        root, given = reads(call.args[0]), code.of(call.args[1])
        above = block[: block.index(asked)]
        made = [each for each in above if root & writes(each) and reads(call.args[1]) & reads(each)]
        place = made[0] if made else asked if reads(call.args[1]) & root else None
        if place is not None:
            row = f"{given}.requires_grad_()"
            yield telling(f"Let `{given}` require a gradient: `{row}` before it is used", code.before(place, row))


def _listed(code: EditableCode, scope: ast.AST) -> Iterator[Fix]:
    """What an optimiser is given by its names, `Adam([prompt])`, as leaves that require a gradient. One that is an attribute may
    be made in another function."""
    within = set(code.below(scope))
    for made in code.below(code.tree):
        match made:
            case ast.Assign([target, *_], ast.Call(args=[given, *_])) if f"{code.of(target)}.step(" in code.text:
                if made in within or isinstance(target, ast.Attribute):
                    yield from _chosen(code, scope, made, given)
                    yield from _written_out(code, made, given)


def _written_out(code: EditableCode, made: ast.stmt, given: ast.expr) -> Iterator[Fix]:
    parts = given.elts if isinstance(given, ast.List | ast.Tuple) else []
    names = [code.of(each) for each in parts if isinstance(each, ast.Name | ast.Attribute)]
    if names and len(names) == len(parts):
        rows = "\n".join(f"{name}.requires_grad_(True)" for name in names)
        words = f"Let `{'`, `'.join(names)}`, which the optimiser is to train, require a gradient"
        yield telling(words, code.before(made, rows))


def _chosen(code: EditableCode, scope: ast.AST, made: ast.stmt, given: ast.expr) -> Iterator[Fix]:
    """The weights that a comprehension has chosen for an optimiser, `Adam(chosen.values())`, let go again."""
    match given:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="values"), args=[], keywords=[]):
            kind: type[ast.expr] = ast.DictComp
        case ast.Name(id=name):
            kind = ast.ListComp
        case _:
            return
    bound = [each for each in code.below(scope) if isinstance(each, ast.Assign) and name in map(code.of, each.targets)]
    free = next((each for each in ("param", "trained", "let_go") if not re.search(rf"\b{each}\b", code.text)), None)
    if free is not None and len(bound) == 1 and isinstance(bound[0].value, kind):
        row = f"for {free} in {code.of(given)}:\n    {free}.requires_grad_(True)"
        words = f"Let `{name}`, which the optimiser is to train, require gradients again"
        yield telling(words, code.before(made, row))


def _frozen(code: EditableCode, cure: Uncut, diagnostic: Diagnostic) -> Iterator[Fix]:
    yield from frozen_before(code, code.statement_at(cure.span))
    yield from frozen_part(code, cure.span, diagnostic)


_BY_REASON: Mapping[str, _Builder] = MappingProxyType(
    {
        "apart": lambda code, cure, diagnostic: islice(_whole(code), MOST_CUTS),
        "around": _at_statement(around),
        "checkpoint": _at_call(_of_other_kind),
        "choice": _chosen_by,
        "copied": _copied,
        "data": _detached,
        "detach": _detached,
        "drawn": _drawn,
        "enabled": _at_statement(enabled),
        "frozen": _frozen,
        "leaf": _leaf,
        "no_grad": _not_recorded,
        "numbers": lambda code, cure, diagnostic: _kept(code, cure),
        "off": _at_statement(recorded_before),
        "pretrained": _pretrained,
        "read": _at_statement(_read_of),
        "renewed": lambda code, cure, diagnostic: _uncut_leaf(code, cure),
        "shared": _at_statement(frozen_as_copy),
        "switch": _at_statement(switched),
        "wrapped": _stacked,
    }
)
"""How a graph was lost, as `Uncut` names it, and what takes that away."""
