"""A change in place written so that it makes a new tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from retainlint.diagnostic import Diagnostic, Edit, Fix, OutOfPlace
from retainlint.fixes.code import EditableCode
from retainlint.fixes.cures.gathered import gathered
from retainlint.fixes.cures.recompute import inside
from retainlint.fixes.edits import rewritten, telling, unsafe
from retainlint.fixes.statements import calls_of, reads
from retainlint.startup.records import replace
from retainlint.text.in_place_methods import UNPAIRED, VIEWS
from retainlint.text.loop_headers import gone_through
from retainlint.text.quoting import short
from retainlint.text.syntax import LoopNode, bound, called, parameters, without_items

_OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip


_TOLD = 80
"""Characters of a new value that are told as they are."""


def out_of_place(code: EditableCode, cure: OutOfPlace, diagnostic: Diagnostic) -> Iterator[Fix]:
    statement = code.statement_at(cure.span)
    if cure.name:
        reads = [*code.reads(statement, cure.name)]
        for read in reads:
            yield unsafe(f"Use `{cure.name}.clone()`", code.ended(read, ".clone()"))
        call = code.call(cure.span) if not reads else None
        for given in call.args if call is not None else ():
            if isinstance(given, ast.Call):  # which hands it out
                yield unsafe(f"Use `{code.of(given)}.clone()`", code.ended(given, ".clone()"))
        return
    if _is_update(code, statement):
        return
    if cure.whole:
        yield from _rebound(code, statement)
    yield from _joined(code, statement)
    yield from _masked(code, statement)
    yield from _listed(code, statement, cure.rows)
    if isinstance(statement, ast.AugAssign):
        yield from _augmented(code, statement)
    if cure.rows and isinstance(statement, ast.Assign):
        yield from _by_index(code, statement)
    elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
        yield from gathered(code, statement)
        yield from _read_as_copy(code, statement)
        yield from _taken_as_copy(code, statement)
        yield from _made_in_each(code, statement, statement.targets[0])
        yield from _cloned(code, statement, statement.targets[0])
    elif isinstance(statement, ast.Assign):
        yield from _read_as_copy(code, statement)
    call = code.call(cure.span)
    if call is not None:
        yield from _method(code, call, statement)
        yield from _flagged(code, call)
    for node in code.below(code.tree):
        if isinstance(node, ast.Call) and node is not call:
            yield from _flagged(code, node)


def _is_update(code: EditableCode, statement: ast.stmt) -> bool:
    """Whether a variable is changed under `no_grad`: a parameter, which another tensor of its name wouldn't be."""
    changed: ast.expr | None = statement.target if isinstance(statement, ast.AugAssign) else None
    if isinstance(statement, ast.Expr):
        changed = _chain(statement.value)[1]
    under = (item for up in code.above(statement) if isinstance(up, ast.With) for item in up.items)
    return isinstance(changed, ast.Name) and any("no_grad" in code.of(item.context_expr) for item in under)


def _masked(code: EditableCode, statement: ast.stmt) -> Iterator[Fix]:
    """`x[~valid] = 0.0` to `x = x.masked_fill(~valid, 0.0)`."""
    match statement:
        case ast.Assign(
            [ast.Subscript(ast.Name() as target, ast.Compare() | ast.UnaryOp(ast.Invert()) as mask)],
            ast.Constant() | ast.UnaryOp(operand=ast.Constant()) as value,
        ) if _is_local(code, target):
            row = f"{target.id} = {target.id}.masked_fill({code.of(mask)}, {code.of(value)})"
            edit = code.replaced(statement, row)
            yield telling(f"`{short(row, 80)}`: a new tensor, and nothing is written in place", edit)


def _rebound(code: EditableCode, statement: ast.stmt) -> Iterator[Fix]:
    """`x[:] = y` and `x.copy_(y)` to `x = y`, where that has the shape of all that it overwrites."""
    match statement:
        case ast.Assign([ast.Subscript(value=changed)], value):
            pass
        case ast.Expr(ast.Call(ast.Attribute(changed, "copy_"), [value], [])):
            pass
        case _:
            return
    if isinstance(changed, ast.Name | ast.Attribute) and _is_local(code, changed):
        row = f"{code.of(changed)} = {code.of(value)}"
        edit = code.replaced(statement, row)
        words = f"`{short(row, _TOLD)}` instead of `{short(code.of(statement), _TOLD)}`: all of it is overwritten"
        yield telling(words, edit, parts=True)  # of what was there before nothing was left


def _joined(code: EditableCode, statement: ast.stmt) -> Iterator[Fix]:
    """`x[:, 2:] = x[:, 2:] * s` to `x = torch.cat([x[:, :2], x[:, 2:] * s], dim=1)`."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    operator = None
    if isinstance(statement, ast.AugAssign):
        target, operator = statement.target, _OPERATORS.get(type(statement.op))
    torch, part = code.torch, target.slice if isinstance(target, ast.Subscript) else None
    if not isinstance(statement, ast.Assign | ast.AugAssign) or not isinstance(target, ast.Subscript) or not torch:
        return
    places = part.elts if isinstance(part, ast.Tuple) else [] if part is None else [part]
    halved = [at for at, each in enumerate(places) if not (isinstance(each, ast.Slice) and code.of(each) == ":")]
    dots = isinstance(places[0], ast.Constant) and places[0].value is ...
    halved = halved[1:] if dots else halved
    whole, half = target.value, places[halved[0]] if len(halved) == 1 else None
    if not isinstance(whole, ast.Name) or not isinstance(half, ast.Slice) or half.step is not None:
        return
    if (half.lower is None) == (half.upper is None) or (dots and halved != [len(places) - 1]):
        return
    own, value = code.of(target), code.of(statement.value)
    if operator is None and own not in value:
        return  # it may be spread over them
    given = value
    if isinstance(statement, ast.AugAssign) and operator is not None:
        given = _written_out(code, statement, operator).text.removeprefix(" = ")
    bound = half.lower or half.upper
    assert bound is not None
    other = f":{code.of(bound)}" if half.lower is not None else f"{code.of(bound)}:"
    index = ", ".join(other if at == halved[0] else code.of(each) for at, each in enumerate(places))
    rest, dim = f"{whole.id}[{index}]", -1 if dots else halved[0]
    parts = f"{rest}, {given}" if half.lower is not None else f"{given}, {rest}"
    row = f"{whole.id} = {torch}.cat([{parts}], dim={dim})"
    edit = code.replaced(statement, row)
    yield telling(f"`{row if len(row) <= _TOLD else short(row)}`: a new tensor, and nothing is written in place", edit)


def _augmented(code: EditableCode, statement: ast.AugAssign) -> Iterator[Fix]:
    """`x *= a + b` to `x = x * (a + b)`; what stood in brackets keeps them."""
    target, operator = statement.target, _OPERATORS.get(type(statement.op))
    if operator is not None and isinstance(target, ast.Name) and not _is_local(code, target):
        yield from _returned(code, statement, operator)
    if operator is None or not (isinstance(target, ast.Subscript) or _is_local(code, target)):
        return
    name, whole = code.of(target), _written_out(code, statement, operator)
    message = f"Write `{name} = {name} {operator} …` instead of `{name} {operator}= …`"
    is_item = isinstance(target, ast.Subscript)  # of a list or dict, if that cures it
    yield unsafe(message, whole, tells=is_item, parts=_is_gathered(code, statement, name))
    if is_item:
        yield from _cloned(code, statement, target)
        return
    alike = {
        each: sign
        for each in code.below(code.scope(statement))
        if isinstance(each, ast.AugAssign) and ast.unparse(each.target) == name
        if (sign := _OPERATORS.get(type(each.op))) is not None
    }
    if len(alike) > 1:
        edits = (_written_out(code, each, sign) for each, sign in alike.items())
        many = "both" if len(alike) == 2 else f"all {len(alike)}"
        yield telling(f"Write {many} in-place changes of `{name}` out of place: `{name} = {name} …`", *edits)


def _returned(code: EditableCode, statement: ast.AugAssign, operator: str) -> Iterator[Fix]:
    """The last statement of a hook, whose result takes the place of what it was given."""
    function = code.parents[statement]
    if not isinstance(function, ast.FunctionDef) or function.body[-1] is not statement:
        return
    hooks = (call for call in code.calls if called(call) in ("register_forward_pre_hook", "register_forward_hook"))
    if any(code.of(arg).rpartition(".")[2] == function.name for call in hooks for arg in call.args[:1]):
        written = _written_out(code, statement, operator).text.removeprefix(" = ")
        row = code.replaced(statement, f"return {written}")
        yield telling(f"Return `{written}`: a hook's result takes the place of what it was given", row)


def _written_out(code: EditableCode, statement: ast.AugAssign, operator: str) -> Edit:
    """What stands behind the target, of which it may be an item of a list or a dictionary, too."""
    name, start, end = code.of(statement.target), code.end(statement.target), code.end(statement)
    value = code.text[code.text.index("=", start) + 1 : end].strip()
    in_brackets = code.end(statement.value) < end
    if not in_brackets and not _stands_alone(statement, value):
        value = f"({value})"
    return Edit(start, end, f" = {name} {operator} {value}")


def _is_gathered(code: EditableCode, statement: ast.stmt, name: str) -> bool:
    """Whether each iteration of a loop around it puts it into a list, which then holds one tensor many times."""
    put = calls_of([up for up in code.above(statement) if isinstance(up, LoopNode)], "append")
    return any(code.of(each.args[0]) == name for each in put if each.args)


def _listed(code: EditableCode, statement: ast.stmt, rows: bool) -> Iterator[Fix]:
    """`for w, g in zip(ws, gs): w -= g` to `ws = [w - g for w, g in zip(ws, gs)]`; of `rows` of a tensor to a tensor of new ones."""
    loop = code.parents[statement]
    if not isinstance(loop, ast.For) or loop.body != [statement] or loop.orelse:
        return
    target, new = _renewed(code, statement)
    for each, listed in gone_through(loop):
        if target and ast.unparse(each) == target and isinstance(listed, ast.Name):
            start, end = code.rows(loop)
            made = f"[{new} for {code.of(loop.target)} in {code.of(loop.iter)}]"
            made = f"torch.stack({made})" if rows else made
            row = f"{code.indent(loop)}{listed.id} = {made}{code.newline(loop)}"
            words, told = "new tensor" if rows else "new list", made if len(made) <= _TOLD else short(made)
            yield telling(f"Make a {words}: `{listed.id} = {told}`", Edit(start, end, row))


def _by_index(code: EditableCode, statement: ast.Assign) -> Iterator[Fix]:
    """`for row, n in zip(x, ns): row[n:] = 0` to `for i, (row, n) in enumerate(zip(x, ns)): x[i][n:] = 0`."""
    loop, target = code.loop_around(statement), without_items(statement.targets[0])
    if not isinstance(loop, ast.For) or not isinstance(target, ast.Name):
        return
    name, inner, index = target.id, loop.iter, ""
    if isinstance(loop.target, ast.Tuple) and isinstance(inner, ast.Call) and called(inner) == "enumerate":
        if len(inner.args) != 1 or inner.keywords:
            return  # it counts from elsewhere
        index = code.of(loop.target.elts[0])
    pairs = gone_through(loop)
    listed = next((of for each, of in pairs if isinstance(each, ast.Name) and each.id == name), None)
    read = [each for each in code.below(loop) if isinstance(each, ast.Name) and each.id == name and each is not target]
    if not isinstance(listed, ast.Name) or len(read) != 1:
        return  # it would read what is changed behind its back
    edits = [code.replaced(target, f"{listed.id}[{index or _FREE}]")]
    if not index:
        if code.holds(_FREE):
            return
        whole = code.of(loop.target)
        whole = f"({whole})" if isinstance(loop.target, ast.Tuple) and not whole.startswith("(") else whole
        edits.append(code.replaced(loop.target, f"{_FREE}, {whole}"))
        edits.append(code.replaced(inner, f"enumerate({code.of(inner)})"))
    edits.sort(key=lambda each: each.start)
    yield unsafe(f"Write to `{listed.id}` by its index: `{listed.id}[{index or _FREE}]` in place of `{name}`", *edits)


_FREE = "row"
"""What counts the rows of a tensor, in a text that has no such name."""


def _renewed(code: EditableCode, statement: ast.stmt) -> tuple[str, str]:
    """What a statement changes in place, and how that is written as a new tensor; "" for what it can't be."""
    if isinstance(statement, ast.AugAssign) and (operator := _OPERATORS.get(type(statement.op))) is not None:
        value = code.of(statement.value)
        value = value if _stands_alone(statement, value) else f"({value})"
        return ast.unparse(statement.target), f"{code.of(statement.target)} {operator} {value}"
    if isinstance(statement, ast.Expr):
        chain, owner = _chain(statement.value)
        if chain and not any(link.attr[:-1] in UNPAIRED for link in chain):
            bare = [Edit(code.end(link) - 1, code.end(link), "") for link in sorted(chain, key=code.end)]
            return ast.unparse(owner), rewritten(code.of(statement.value), code.start(statement.value), bare)
    return "", ""


def _stands_alone(statement: ast.AugAssign, value: str) -> bool:
    """Whether the value needs no brackets behind the operator."""
    node = statement.value
    if isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Constant):
        return True
    if isinstance(statement.op, ast.Add | ast.Sub) and isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Mult | ast.Div | ast.MatMult | ast.Pow) and "\n" not in value
    return False


def _method(code: EditableCode, call: ast.Call, statement: ast.stmt) -> Iterator[Fix]:
    """`x.mul_(2)` to `x = x.mul(2)`, a whole chain of them likewise; within an expression `x.relu_()` to `x.relu()`."""
    if not isinstance(call.func, ast.Attribute):
        return
    is_statement = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
    chain, owner = _chain(statement.value if is_statement and isinstance(statement, ast.Expr) else call)
    if not chain:
        return
    plain = tuple(Edit(code.end(link) - 1, code.end(link), "") for link in chain)
    if isinstance(statement, ast.Expr) and is_statement:
        yield from _handed_back(code, statement, owner, plain)
    if any(link.attr[:-1] in UNPAIRED for link in chain) or (is_statement and isinstance(owner, ast.Subscript)):
        if is_statement:
            yield from _cloned(code, statement, owner)
        return
    message = f"Use `{chain[0].attr[:-1]}` instead of `{chain[0].attr}`"
    if not is_statement:
        yield unsafe(message, *plain)
        return
    if _is_module(owner):
        owner = call.args[0] if call.args else owner
    if isinstance(owner, ast.Call):
        yield from _cloned(code, statement, owner)
    if isinstance(owner, ast.Name | ast.Attribute) and _is_local(code, owner):
        at = code.start(statement)
        yield unsafe(message, Edit(at, at, f"{code.of(owner)} = "), *plain)


def _handed_back(code: EditableCode, statement: ast.Expr, owner: ast.expr, plain: tuple[Edit, ...]) -> Iterator[Fix]:
    """Of a function that returns nothing and changes what it is given: it returns the new one, with which its caller goes on."""
    function, given = code.parents[statement], owner.value if isinstance(owner, ast.Subscript) else owner
    if not isinstance(function, ast.FunctionDef) or not isinstance(given, ast.Name):
        return
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    if given.id not in names or function.body[-1] is not statement:
        return
    if any(isinstance(each, ast.Return | ast.Yield) for each in code.below(function)):
        return
    at = code.start(statement)
    registered = [each for each in code.calls if function.name in (code.of(arg) for arg in each.args)]
    hooked, words = {called(each) for each in registered}, f"Let `{function.name}` return what it makes"
    its_result = "a hook's result takes the place of what it was given"
    if "register_forward_hook" in hooked and given is owner:
        yield telling(f"{words}: {its_result}", Edit(at, at, "return "), *plain)
    if "register_forward_pre_hook" in hooked and given is not owner:
        whole = Edit(at, at, "return ("), *plain, Edit(code.end(statement), code.end(statement), ",)")
        yield telling(f"{words}: {its_result}", *whole)
    used = [each for each in code.calls if called(each) == function.name]
    ways = [
        (each, code.parents[each], each.args[names.index(given.id)])
        for each in used
        if len(each.args) > names.index(given.id)
    ]
    if given is owner and ways and len(ways) == len(used) and not registered:
        if all(isinstance(up, ast.Expr) and isinstance(arg, ast.Name) for _, up, arg in ways):
            bound_to = [Edit(code.start(each), code.start(each), f"{code.of(arg)} = ") for each, _, arg in ways]
            words = f"{words}, and go on with that where it is called"
            yield telling(words, Edit(at, at, "return "), *plain, *bound_to)


def _chain(node: ast.expr) -> tuple[list[ast.Attribute], ast.expr]:
    """The methods in place that are called one on the other, and what the first is called on."""
    chain = []
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if not node.func.attr.endswith("_") or node.func.attr.endswith("__"):
            break
        chain.append(node.func)
        node = node.func.value
    return chain, node


def _is_module(owner: ast.expr) -> bool:
    return isinstance(owner, ast.Name) and owner.id in ("torch", "F")


def _cloned(code: EditableCode, statement: ast.stmt, changed: ast.expr) -> Iterator[Fix]:
    """A clone made first, which is then changed, or of which a view is."""
    while isinstance(changed, ast.Subscript) or (isinstance(changed, ast.Call) and called(changed) in VIEWS):
        changed = changed.value if isinstance(changed, ast.Subscript) else changed.func
        changed = changed.value if isinstance(changed, ast.Attribute) and changed.attr in VIEWS else changed
    if isinstance(changed, ast.Name | ast.Attribute) and not _is_module(changed) and _is_local(code, changed):
        name = code.of(changed)
        edit = code.before(statement, f"{name} = {name}.clone()")
        yield unsafe(f"Change a clone of `{name}`", edit)


def _made_in_each(code: EditableCode, statement: ast.stmt, changed: ast.expr) -> Iterator[Fix]:
    """What a loop writes into, made in each of its iterations and not once before it, if they write to the same places."""
    loop, changed = code.loop_around(statement), without_items(changed)
    if loop is None or not isinstance(changed, ast.Name):
        return
    name = changed.id
    made = next((each for each in reversed(code.block(loop).before(loop)) if name in bound(each)), None)
    rows = [each for each in code.below(loop) if isinstance(each, ast.Subscript) and code.of(each.value) == name]
    told = set().union(*map(bound, loop.body), bound(loop.target) if isinstance(loop, ast.For) else ())
    if any(isinstance(each.ctx, ast.Load) or not told.isdisjoint(reads(each.slice)) for each in rows):
        return
    if made is not None and (fix := inside(code, made, loop)) is not None:
        words = f"Make `{name}` anew in each iteration: backward still needs what it held before"
        yield replace(fix, message=words, tells=True, parts=True)


def _read_as_copy(code: EditableCode, statement: ast.Assign) -> Iterator[Fix]:
    """`x[t + 1] = f(x[t])` to `x[t + 1] = f(x[t].clone())`: what is saved is no view of what is written."""
    target = statement.targets[0]
    places = [each for each in getattr(target, "elts", [target]) if isinstance(each, ast.Subscript)]
    if not places:
        return
    name = ast.unparse(places[0].value)
    below = [each for each in code.below(statement.value) if isinstance(each, ast.Subscript)]
    rows = [each for each in below if ast.unparse(each.value) == name and isinstance(each.ctx, ast.Load)]
    if rows:
        copy, copies = _copies(code, rows)
        words = f"Read {copy} there, {copies}: what is read is saved"
        yield telling(words, *(code.ended(each, ".clone()") for each in rows))


def _copies(code: EditableCode, rows: Sequence[ast.expr]) -> tuple[str, str]:
    """How copies of some rows are spoken of, and how they are written."""
    written = " and ".join(dict.fromkeys(f"`{short(code.of(each))}.clone()`" for each in rows))
    return "a copy" if len(rows) == 1 else "copies", written


def _taken_as_copy(code: EditableCode, statement: ast.Assign) -> Iterator[Fix]:
    """`row = x[t]` to `row = x[t].clone()`, in the loop that writes `x[t + 1]`, wherever it reads a part of that."""
    target, loop = statement.targets[0], code.loop_around(statement)
    if loop is None or not isinstance(target, ast.Subscript):
        return
    name = ast.unparse(target.value)
    read = [each for each in code.below(loop) if isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Load)]
    taken = [each for each in read if ast.unparse(each.value) == name]
    if taken:
        copy, copies = _copies(code, taken)
        words = f"Take {copy}, {copies}: what is taken is saved, and `{name}` is written to"
        yield telling(words, *(code.ended(each, ".clone()") for each in taken))


def _flagged(code: EditableCode, call: ast.Call) -> Iterator[Fix]:
    for word in call.keywords:
        if word.arg == "inplace" and isinstance(word.value, ast.Constant) and word.value.value is True:
            edit = code.replaced(word.value, "False")
            yield unsafe("Use `inplace=False`", edit)


def _is_local(code: EditableCode, target: ast.expr) -> bool:
    """Whether binding it binds what is read further on: not a global, nor a name of an enclosing function, nor what a function
    reads no more, and others may hold."""
    if not isinstance(target, ast.Name):
        return isinstance(target, ast.Attribute)
    scope, further = code.scope(target), _is_read_further(code, code.scope(target), target)
    if isinstance(scope, ast.Module):
        return further or not _is_anew(code, target)
    declared = {name for each in ast.walk(scope) if isinstance(each, ast.Global | ast.Nonlocal) for name in each.names}
    if not further:
        return False  # it is changed for who called, or for what else holds it
    return target.id in parameters(scope.args) | bound(scope) | declared


def _is_read_further(code: EditableCode, scope: ast.AST, target: ast.Name) -> bool:
    """Whether a name is read behind a statement that changes it, or again in a loop that doesn't bind it anew."""
    statement = next(up for up in (target, *code.above(target)) if isinstance(up, ast.stmt))
    if code.loop_around(statement) is not None and not _is_anew(code, target):
        return True
    return any(code.start(each) >= code.end(statement) for each in code.reads(scope, target.id))


def _is_anew(code: EditableCode, target: ast.Name) -> bool:
    """Whether each iteration of the loop around binds a name anew."""
    loop = next((up for up in code.above(target) if isinstance(up, ast.For | ast.While)), None)
    return isinstance(loop, ast.For) and target.id in bound(loop.target)
