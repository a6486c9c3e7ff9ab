"""A statement put under `torch.no_grad()`, or taken out; what cuts a graph, or keeps an old one, taken away."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice, pairwise

from retainlint.diagnostic import (
    Diagnostic,
    Edit,
    Fix,
    NotRecorded,
    RecordLater,
    StraightThrough,
    Uncache,
    Uncut,
    UnderNoGrad,
)
from retainlint.fixes.code import EditableCode, Uneditable, bound, parameters
from retainlint.fixes.cures.backward_calls import with_graph
from retainlint.fixes.edits import unsafe
from retainlint.fixes.statements import (
    before,
    called,
    calls,
    copied_after,
    copied_before,
    detached,
    first,
    meets,
    reads,
    removed,
    torch_name,
    writes,
)
from retainlint.startup.records import replace
from retainlint.text.quoting import short
from retainlint.text.source import spelt


def uncut(code: EditableCode, cure: Uncut, diagnostic: Diagnostic) -> Iterator[Fix]:
    if cure.reason == "apart":
        yield from islice(_whole(code), MOST_CUTS)
        return
    statement = code.statement_at(cure.span)
    if cure.reason in ("detach", "data"):
        leaf = list(_required(code, statement))
        yield from leaf
        for node in ast.walk(statement) if not leaf else ():
            yield from _suffix(code, node)
    if cure.reason == "renewed":
        yield from _uncut_leaf(code, cure)
    if cure.reason == "copied":
        call = code.call_at(cure.span)
        alike = [
            each for each in code.below(code.scope(call)) if isinstance(each, ast.Call) and called(each) == called(call)
        ]
        for copies in (alike, [call]) if called(call) == "Parameter" else ([call],):
            edits = [edit for each in copies for edit in _given(code, each)]
            if len(edits) == 2 * len(copies):
                yield unsafe(f"Use `{short(code.of(call.args[0]))}` itself, with its graph", *edits)
    if cure.reason == "leaf":
        yield from _set_on_modules(code)
        yield from _asked_for(code, statement)
    if cure.reason == "shared":
        yield from _frozen_as_copy(code, statement)
    if cure.reason == "frozen":
        yield from _frozen_before(code, statement)
    if cure.reason == "switch":
        yield from _switched(code, statement)
    if cure.reason == "checkpoint":
        yield _of_other_kind(code, code.call_at(cure.span))
    if cure.reason == "pretrained" and (call := code.call_at(cure.span)).args[1:] == []:
        yield unsafe("Let the given rows be trained: `freeze=False`", _told_false(code, call, "freeze"))
    if cure.reason == "wrapped":
        yield from _stacked(code, code.call_at(cure.span))
    if cure.reason == "numbers":
        yield from _kept(code, cure)
    if cure.reason == "off":
        yield from _recorded_before(code, statement)
    if cure.reason == "around":
        yield from _around(code, statement)
    if cure.reason == "no_grad":
        asked = diagnostic.primary.span
        if asked.source is code.source and code.of(code.expression_at(asked)).partition("(")[0].endswith("grad"):
            yield from _recorded(code, statement, code.statement_at(asked))
        for up in (statement, *code.above(statement)):
            if isinstance(up, ast.With) and len(up.items) == 1 and "no_grad" in code.of(up.items[0].context_expr):
                yield _unwrapped(code, up, up.body, "Record the graph: don't compute it under `no_grad`")
            if isinstance(up, ast.FunctionDef | ast.AsyncFunctionDef):
                yield from _undecorated(code, up, "no_grad")


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
        yield unsafe(message, Edit(code.start(cut), code.end(cut), passed))
        return
    dropped = Edit(code.end(cut.func) - len(".detach"), code.end(cut), "")
    yield unsafe(message, Edit(code.start(flat), code.end(flat), f"({passed})"), dropped)


def record_later(code: EditableCode, cure: RecordLater, diagnostic: Diagnostic) -> Iterator[Fix]:
    """`torch.no_grad` in place of `torch.inference_mode`, however the module is named there."""
    asked = re.match(r"(@?\s*[\w.]*\.)inference_mode(?=\(\)|\s*$)", cure.span.text)
    if asked is not None:
        begin = cure.span.start + asked.end(1)
        yield unsafe("Use `no_grad` instead of `inference_mode`", Edit(begin, begin + len("inference_mode"), "no_grad"))


def _of_other_kind(code: EditableCode, call: ast.Call) -> Fix:
    """A checkpoint that isn't reentrant."""
    fix = unsafe("Ask for the other kind: `use_reentrant=False`", _told_false(code, call, "use_reentrant"))
    return replace(fix, parts=True)  # the whole is one step then, by which each weight is reached once


def _told_false(code: EditableCode, call: ast.Call, name: str) -> Edit:
    told = next((each for each in call.keywords if each.arg == name), None)
    if told is not None:
        return Edit(code.start(told.value), code.end(told.value), "False")
    at = max(*map(code.end, call.args), *map(code.end, call.keywords), 0, 0)
    return Edit(at, at, f", {name}=False")


MOST_RECORDED = 4
"""Statements that are recorded together within `no_grad`."""


MOST_CUTS = 8
"""Cuts of a text of which each is taken away by itself, to see which it was."""


def _whole(code: EditableCode) -> Iterator[Fix]:
    """Each `.detach()` and `.data` of a text taken away by itself."""
    for node in code.below(code.tree):
        for fix in _suffix(code, node):
            statement = code.statement(fix.edits[0].start)
            there = "" if statement is None else f" in `{short(code.of(statement))}`"
            yield replace(fix, message=f"{fix.message}{there}, which cuts it off", tells=True)


def _recorded(code: EditableCode, built: ast.stmt, asked: ast.stmt) -> Iterator[Fix]:
    """What a gradient is asked of within `no_grad`, recorded, and nothing else there."""
    block, torch = code.block(built).statements, torch_name(code)
    if not torch or asked not in block:
        return
    end = block.index(asked) + 1
    for start in range(block.index(built), max(end - 1 - MOST_RECORDED, -1), -1):
        message = f"Record this alone: `with {torch}.enable_grad():` around `{short(code.of(asked))}`"
        yield replace(unsafe(message, _under(code, block[start:end], f"{torch}.enable_grad()")), tells=True)


def _recorded_before(code: EditableCode, asked: ast.stmt) -> Iterator[Fix]:
    """What is differentiated where torch runs it with gradients off, recorded: the statements before that."""
    block, torch = code.block(asked).statements, torch_name(code)
    end = block.index(asked)
    for start in range(end - 1, max(end - 1 - MOST_RECORDED, -1), -1) if torch else ():
        message = f"Put what is differentiated under `{torch}.enable_grad()`"
        yield unsafe(message, _under(code, block[start:end], f"{torch}.enable_grad()"))


def _around(code: EditableCode, statement: ast.stmt) -> Iterator[Fix]:
    """A call that computes and differentiates, as a closure does, recorded within `no_grad`, which is meant for the rest."""
    torch, ways = torch_name(code), (statement, *code.above(statement))
    off = (item.context_expr for up in ways if isinstance(up, ast.With) for item in up.items)
    scope = next((up for up in ways if isinstance(up, ast.FunctionDef | ast.AsyncFunctionDef)), None)
    marks = (*off, *(scope.decorator_list if scope is not None else ()))
    if torch and any("no_grad" in code.of(each) for each in marks):
        context = f"{torch}.enable_grad()"
        message = f"`with {context}:` around `{short(code.of(statement))}`: the rest is not to be recorded"
        yield replace(unsafe(message, _under(code, [statement], context)), tells=True)


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
                yield _unwrapped(code, up, up.orelse or up.body, message)
        if isinstance(up, ast.FunctionDef | ast.AsyncFunctionDef):
            for each in up.body:
                if _looks_up(each) and code.start(each) < code.start(statement):
                    yield unsafe(f"Compute it each time: without `{short(code.of(each))}`", removed(code, each))
            yield from _undecorated(code, up, "cache")
            return


def _moved_out(code: EditableCode, question: ast.If, statement: ast.stmt) -> Fix | None:
    """A statement behind the `if` that it stood under, with what else is done there only now and then: a schedule. None where
    that isn't there before, or nothing else is done."""
    own = code.within(statement, question.body)
    rest = [each for each in question.body if each is not own]
    if own is None or not rest or question.orelse or any(meets(writes(own), reads(each)) for each in rest):
        return None
    made = {name for each in rest for name in bound(each)}
    ahead = [node for name in made & reads(own) for node in code.writes(code.scope(question), name)]
    begun = {ast.unparse(node) for node in ahead if code.start(node) < code.start(question)}
    if not made & reads(own) <= begun:
        return None
    message = f"Compute it each time: behind `if {code.of(question.test)}`"
    return unsafe(message, removed(code, own), copied_after(code, question, [own]))


def _looks_up(statement: ast.stmt) -> bool:
    """`if self.x is not None: return self.x`, `if key in known: return known[key]`."""
    if not isinstance(statement, ast.If) or statement.orelse or not isinstance(found := statement.body[-1], ast.Return):
        return False
    return found.value is not None and reads(found.value) <= reads(statement.test)


def _given(code: EditableCode, call: ast.Call) -> Iterator[Edit]:
    """What the one argument of a call leaves of it: nothing, or brackets."""
    if len(call.args) == 1 and not call.keywords and not isinstance(given := call.args[0], ast.Starred):
        is_one = isinstance(given, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
        yield Edit(code.start(call), code.start(given), "" if is_one else "(")
        yield Edit(code.end(given), code.end(call), "" if is_one else ")")


def _stacked(code: EditableCode, call: ast.Call) -> Iterator[Fix]:
    """`torch.tensor([...])` of tensors as `torch.stack([...])`, which keeps their graphs."""
    if called(call) not in ("tensor", "as_tensor") or len(call.args) != 1 or not isinstance(call.func, ast.Attribute):
        return
    at, numbers = code.end(call.func), [each for each in ast.walk(call.args[0]) if isinstance(each, ast.Call)]
    listed = code.of(call.args[0]).rpartition(".")[2]
    for each in (
        call for call in code.calls if called(call) == "append"
    ):  # the numbers may be put into the list elsewhere
        owner = each.func.value if isinstance(each.func, ast.Attribute) else None
        if owner is not None and code.of(owner).rpartition(".")[2] == listed:
            numbers += [arg for arg in each.args if isinstance(arg, ast.Call)]
    items = [each for each in numbers if called(each) == "item" and isinstance(each.func, ast.Attribute)]
    bare = [
        Edit(code.end(each.func.value), code.end(each), "") for each in items if isinstance(each.func, ast.Attribute)
    ]
    head = code.of(call.func.value)
    for names in (False, True):  # which may stand for tensors, or for numbers, as the proof finds
        rows = _rows_stacked(code, call.args[0], head, names)
        edits = (Edit(at - len(call.func.attr), at, "stack"), *bare, *rows)
        yield unsafe(f"Use `{head}.stack`, which keeps the graphs", *edits)


def _rows_stacked(code: EditableCode, listed: ast.expr, head: str, names: bool) -> Iterator[Edit]:
    """The rows of a list of lists as tensors of their own, and the numbers in a list as tensors; with `names` also what may
    be a number by name."""
    for each in listed.elts if isinstance(listed, ast.List) else ():
        start, end = code.start(each), code.end(each)
        if isinstance(each, ast.List):
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
    if (
        again is None
        or again.source is not code.source
        or not isinstance(taken := code.expression_at(cure.span), ast.Call)
    ):
        return
    call = code.call_at(again)
    given = call.args[0] if len(call.args) == 1 and not isinstance(call.args[0], ast.Starred) else None
    if given is None or not isinstance(call.func, ast.Attribute):
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
        around = Edit(code.start(call), code.start(given), "("), Edit(code.end(given), code.end(call), ")")
        if given is taken:
            around = Edit(code.start(call), code.start(given), ""), Edit(code.end(given), code.end(call), "")
        yield unsafe(f"Use the tensor itself, not `{short(code.of(call))}`", *around, *bare)


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
    is_asked = f"{name}.grad" in code.text or name in _differentiated(code)
    inside = [each for each in code.below(value) if isinstance(each, ast.Call) and called(each) == "detach"]
    loop = code.loop_around(statement)
    if is_asked and not cut and loop is not None and any(code.of(each.func) == f"{name}.detach" for each in inside):
        message = (
            f"`{name}.requires_grad_()` at the start of each iteration: what the one before has made requires none"
        )
        yield unsafe(message, before(code, first(loop.body), f"{name}.requires_grad_()"), tells=True)
    if cut and is_asked:
        edits = [Edit(code.end(each), code.end(each), ".requires_grad_()") for each in cut]
        yield unsafe(
            f"Let `{name}` require a gradient: `.requires_grad_()` behind `{code.of(cut[0])}`", *edits, tells=True
        )


def _differentiated(code: EditableCode) -> set[str]:
    """What `autograd.grad` is asked for the gradient of, by its text."""
    given = [each.args[1] for each in code.calls if called(each) == "grad" and len(each.args) > 1]
    parts = (each.elts if isinstance(each, ast.Tuple | ast.List) else (each,) for each in given)
    return {code.of(part) for each in parts for part in each}


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
        yield unsafe(words, *(Edit(code.end(to), code.end(each), "_(True)") for each, to in told), tells=True)


def _asked_for(code: EditableCode, backward_pass: ast.stmt) -> Iterator[Fix]:
    """The names whose gradient the function of a backward pass reads are to require one, wherever it binds them; or what an
    optimiser is given, where more than that was frozen."""
    scope = code.scope(backward_pass)
    read = {
        code.of(each.value) for each in code.below(scope) if isinstance(each, ast.Attribute) and each.attr == "grad"
    } | _differentiated(code)
    for name in sorted(each for each in read if each.isidentifier()):
        made = (code.statement(code.start(each)) for each in code.writes(scope, name))
        values = [each.value for each in made if isinstance(each, ast.Assign) and isinstance(each.value, ast.Call)]
        edits = [Edit(code.end(each), code.end(each), ".requires_grad_()") for each in values]
        if edits and len(edits) == len(code.writes(scope, name)):
            yield unsafe(f"Let `{name}` require a gradient: `.requires_grad_()` where it is made", *edits, tells=True)
    yield from _required_before(code, backward_pass)
    yield from _listed(code, scope)
    for call in (each for each in code.calls if called(each) == "parameters"):
        optimizer, owner = code.statement(code.start(call)), call.func
        if (
            isinstance(optimizer, ast.Assign)
            and optimizer.value is code.parents[call]
            and isinstance(owner, ast.Attribute)
        ):
            name = code.of(owner.value)
            if not re.search(rf"{spelt(name)}(\.parameters\(\):|\.requires_grad_\(False)", code.text):
                row = before(code, optimizer, f"{name}.requires_grad_(True)")
                yield unsafe(f"Let `{name}`, which the optimiser is to train, require gradients again", row, tells=True)


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
            yield unsafe(
                f"Let `{given}` require a gradient: `{row}` before it is used", before(code, place, row), tells=True
            )


def _listed(code: EditableCode, scope: ast.AST) -> Iterator[Fix]:
    """What an optimiser is given by its names, `Adam([prompt])`, as leaves that require a gradient. One that is an attribute may
    be made in another function."""
    within = set(code.below(scope))
    for made in code.below(code.tree):
        if not isinstance(made, ast.Assign) or not isinstance(made.value, ast.Call):
            continue
        if made not in within and not isinstance(made.targets[0], ast.Attribute):
            continue
        given = made.value.args[0] if made.value.args else None
        if given is not None and f"{code.of(made.targets[0])}.step(" in code.text:
            yield from _chosen(code, scope, made, given)
        if not isinstance(given, ast.List | ast.Tuple) or f"{code.of(made.targets[0])}.step(" not in code.text:
            continue
        names = [code.of(each) for each in given.elts if isinstance(each, ast.Name | ast.Attribute)]
        if names and len(names) == len(given.elts):
            rows = "\n".join(f"{name}.requires_grad_(True)" for name in names)
            said = "`, `".join(names)
            words = f"Let `{said}`, which the optimiser is to train, require a gradient"
            yield unsafe(words, before(code, made, rows), tells=True)


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
        yield unsafe(words, before(code, made, row), tells=True)


def _frozen_as_copy(code: EditableCode, frozen: ast.stmt) -> Iterator[Fix]:
    """`self.net = net`, and its weights frozen: a copy is, where what was handed over is to be trained."""
    scope = code.scope(frozen)
    if not isinstance(scope, ast.FunctionDef):
        return
    around = next((up for up in (frozen, *code.above(frozen)) if code.parents[up] is scope), frozen)
    for kept in code.below(scope):
        if not isinstance(kept, ast.Assign) or not isinstance(kept.value, ast.Name) or kept.value.id == "self":
            continue
        name = kept.value.id
        if name not in parameters(scope.args) or not meets(writes(kept), reads(around) | reads(frozen)):
            continue
        imported = () if re.search(r"^import copy\b", code.text, re.MULTILINE) else (_imported(code, "copy"),)
        edit = Edit(code.start(kept.value), code.end(kept.value), f"copy.deepcopy({name})")
        words = (
            f"Freeze a copy: `{code.of(kept.targets[0])} = copy.deepcopy({name})`, as `{name}` itself is to be trained"
        )
        yield unsafe(words, *imported, edit, tells=True)


def _imported(code: EditableCode, module: str) -> Edit:
    return before(code, _first_import(code), f"import {module}")


def _frozen_before(code: EditableCode, statement: ast.stmt) -> Iterator[Fix]:
    """`model.head = Linear(...)`, `freeze(model)`: the other way round, what is made anew is trained."""
    while isinstance(up := code.parents[statement], ast.For) and up.body == [statement]:
        statement = up
    if not isinstance(statement, ast.Expr | ast.For):
        return
    block, frozen = code.block(statement).statements, reads(statement)
    for made in reversed(block[: block.index(statement)]):
        target = made.targets[0] if isinstance(made, ast.Assign) else None
        if isinstance(target, ast.Attribute) and ast.unparse(target.value) in frozen:
            message = f"Freeze before `{code.of(target)}` is made: `{short(code.of(statement))}` above it"
            edits = copied_before(code, made, [statement]), removed(code, statement)
            yield unsafe(message, *edits, tells=True)
            return


def _switched(code: EditableCode, off: ast.stmt) -> Iterator[Fix]:
    """`if not train: set_grad_enabled(False)` as `set_grad_enabled(train)`; a function that switches gradients off for good,
    under `no_grad` as a whole."""
    scope, torch, asked = code.scope(off), torch_name(code), code.parents[off]
    if isinstance(asked, ast.If) and asked.body == [off] and not asked.orelse:
        test = asked.test
        is_not = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
        on = code.of(test.operand) if isinstance(test, ast.UnaryOp) and is_not else f"not {code.of(test)}"
        call = code.of(off).replace("False", on)
        if call != code.of(off) and isinstance(test, ast.Name | ast.Attribute | ast.UnaryOp):
            edit = Edit(code.start(asked), code.end(asked), call)
            yield unsafe(f"Let them be switched on again as well: `{call}`", edit, tells=True)
    if torch and isinstance(scope, ast.FunctionDef):
        yield unsafe(
            f"Put `{scope.name}` under `@{torch}.no_grad()`",
            before(code, scope, f"@{torch}.no_grad()"),
            removed(code, off),
        )


def _unwrapped(code: EditableCode, node: ast.With | ast.If, block: list[ast.stmt], message: str) -> Fix:
    start, end = code.rows(node)
    indent = code.indent(node)
    body = "".join(code.lifted(each, indent) for each in block)
    inner = code.text[code.source.row_starts[code.row_of(code.start(block[0])) - 1] : end]
    if inner.count("#") > body.count("#"):  # comments between the statements would be lost
        body = _shifted(inner, code.indent(block[0]), indent)
    return unsafe(message, Edit(start, end, body))


def _shifted(text: str, old: str, new: str) -> str:
    return "".join(new + line[len(old) :] if line.startswith(old) else line for line in text.splitlines(keepends=True))


def _undecorated(code: EditableCode, node: ast.FunctionDef | ast.AsyncFunctionDef, word: str) -> Iterator[Fix]:
    for decorator in node.decorator_list:
        if word in code.of(decorator):
            if code.of(decorator).endswith("cached_property"):
                edit = Edit(code.start(decorator), code.end(decorator), "property")
                yield unsafe(f"Use `@property` in place of `@{code.of(decorator)}`", edit)
                continue
            row = code.row_of(code.start(decorator))
            starts = code.source.row_starts
            yield unsafe(f"Remove `@{code.of(decorator)}`", Edit(starts[row - 1], starts[row], ""))


def under_no_grad(code: EditableCode, cure: UnderNoGrad, diagnostic: Diagnostic) -> Iterator[Fix]:
    statement, torch = code.statement_at(cure.span), torch_name(code)
    imported: tuple[Edit, ...] = ()
    if not torch:
        if code.holds("torch"):
            return
        torch, imported = "torch", (before(code, _first_import(code), "import torch"),)
    wrapped = statement
    while True:  # a loop that does nothing else goes under it whole
        owner = code.parents[wrapped]
        if not isinstance(owner, ast.For) or len(owner.body) > 1 or owner.orelse:
            break
        wrapped = owner
    for each in dict.fromkeys((wrapped, statement)):
        yield unsafe(f"Put it under `{torch}.no_grad()`", *imported, _under(code, [each], f"{torch}.no_grad()"))
    if isinstance(statement, ast.Assign | ast.AugAssign):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        while isinstance(target, ast.Subscript):
            target = target.value
        if isinstance(target, ast.Name):
            name = target.id
            yield unsafe(f"Change a clone of `{name}`", before(code, statement, f"{name} = {name}.clone()"))


def not_recorded(code: EditableCode, cure: NotRecorded, diagnostic: Diagnostic) -> Iterator[Fix]:
    """A statement that only binds what is made there under `no_grad`; else that is detached, and like calls in the function."""
    made, torch = code.expression_at(cure.span), torch_name(code)
    statement = code.statement_at(cure.span)
    if torch and isinstance(statement, ast.Assign | ast.Expr) and statement.value is made:
        message = f"Compute `{short(code.of(statement))}` under `{torch}.no_grad()`{cure.why}"
        yield replace(unsafe(message, _under(code, [statement], f"{torch}.no_grad()")), cuts=cure.meant)
    alike = [made]
    if isinstance(made, ast.Call):
        maker = code.of(made.func)
        alike = [each for each in calls([code.scope(made)], re.compile("")) if code.of(each.func) == maker]
    ended = " and ".join(dict.fromkeys(f"`{short(code.of(each))}.detach()`" for each in alike))
    yield replace(unsafe(f"Write {ended}{cure.why}", *(detached(code, each) for each in alike)), cuts=cure.meant)


def _first_import(code: EditableCode) -> ast.stmt:
    """The statement before which a module may be imported."""
    imports = (each for each in code.tree.body if isinstance(each, ast.Import | ast.ImportFrom))
    last = next((each for each in imports if getattr(each, "module", "") != "__future__"), None)
    return last or first(code.tree.body)


def _under(code: EditableCode, statements: Sequence[ast.stmt], context: str) -> Edit:
    """Statements that follow each other put under a context. Raises Uneditable if there is more between them."""
    if any(code.rows(one)[1] != code.rows(two)[0] for one, two in pairwise(statements)):
        raise Uneditable("comments or blank rows between statements")
    statement = statements[0]
    (start, _), (_, end), indent = code.rows(statement), code.rows(statements[-1]), code.indent(statement)
    unit = next(filter(None, map(code.unit_of, chain((statement,), code.above(statement)))), code.unit)
    text = "".join(code.lifted(each, indent + unit) for each in statements)
    if not code.text[start:end].endswith(("\n", "\r")):
        text = text.rstrip("\r\n")
    return Edit(start, end, f"{indent}with {context}:{code.newline(statement)}{text}")
