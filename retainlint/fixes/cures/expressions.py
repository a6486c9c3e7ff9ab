"""One expression or comment written otherwise: arguments, what a statement binds, numbers for tensors, suppressions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from retainlint import diagnostic as cures
from retainlint.diagnostic import Diagnostic, Edit, Fix
from retainlint.fixes.code import EditableCode, Uneditable
from retainlint.fixes.edits import safe, telling, unsafe
from retainlint.fixes.statements import calls_of, is_whole
from retainlint.text.syntax import called, is_function


def with_argument(code: EditableCode, call: ast.Call, name: str, value: str) -> Edit:
    """A keyword argument put into a call, or given another value."""
    for word in call.keywords:
        if word.arg == name:
            return code.replaced(word.value, value)
    close = code.end(call) - 1
    given: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    last = max(map(code.end, given), default=None)
    if last is None:
        return Edit(close, close, f"{name}={value}")
    if any(word.arg is None for word in call.keywords):
        raise Uneditable("the argument may be given twice")
    last = _behind_brackets(code, last, close)
    behind = re.match(r"\s*,", code.text[last:close])
    if behind is None:
        return Edit(last, last, f", {name}={value}")
    rest = code.text[last + behind.end() : close]
    if "\n" in rest or "\r" in rest:  # an argument a row, with a comma behind each
        row = code.row_of(last)
        blanks = re.match(r"[ \t]*", code.source.row_text(row))
        at = code.source.row_starts[row]
        return Edit(at, at, f"{blanks[0] if blanks else ''}{name}={value},{code.ending(row)}")
    return Edit(last + behind.end(), close, f" {name}={value}")


def without_argument(code: EditableCode, call: ast.Call, argument: ast.expr | ast.keyword) -> Edit:
    """An argument taken out of a call, with the comma that goes with it."""
    every: list[ast.expr | ast.keyword] = sorted([*call.args, *call.keywords], key=code.start)
    number = every.index(argument)
    start, end, close = code.start(argument), code.end(argument), code.end(call) - 1
    inside = code.text[code.end(call.func) : close]
    if len(every) == 1 and not {"#", "\\"} & set(inside.replace(code.of(argument), "")):
        return Edit(code.end(call.func) + inside.index("(") + 1, close, "")
    if number + 1 < len(every):
        return Edit(start, code.start(every[number + 1]), "")
    end = _behind_brackets(code, end, close)
    trailing = re.match(r"\s*,", code.text[end:close])
    if number == 0:
        return Edit(start, end + (trailing.end() if trailing else 0), "")
    return Edit(_behind_brackets(code, code.end(every[number - 1]), start), end, "")


def drop_retain(code: EditableCode, cure: cures.DropRetain, diagnostic: Diagnostic) -> Iterator[Fix]:
    call = code.call_at(cure.backward_pass)
    for word in call.keywords:
        if word.arg == "retain_graph":
            yield safe(f"Remove `{code.of(word)}`", without_argument(code, call, word))
    for argument in call.args:
        if code.start(argument) == cure.value.start:
            behind = [each for each in call.args if code.start(each) > code.start(argument)]
            edit = Edit(cure.value.start, cure.value.end, "None") if behind else without_argument(code, call, argument)
            yield safe("Don't retain the graph", edit)


def rename_argument(code: EditableCode, cure: cures.RenameArgument, diagnostic: Diagnostic) -> Iterator[Fix]:
    call = code.call_at(cure.call)
    given = {word.arg for word in call.keywords}
    for word in call.keywords:
        if word.arg != cure.old:
            continue
        if not cure.new or cure.new in given:
            yield safe(f"Remove `{code.of(word)}`", without_argument(code, call, word))
        elif code.text.startswith(cure.old, start := code.start(word)):  # or with letters that Python takes for these
            yield safe(f"Rename `{cure.old}` to `{cure.new}`", Edit(start, start + len(cure.old), cure.new))


def _behind_brackets(code: EditableCode, at: int, stop: int) -> int:
    """Behind the closing brackets that an expression, which ends here, stands in."""
    while match := re.match(r"\s*\)", code.text[at:stop]):
        at += match.end()
    return at


def allow_unused(code: EditableCode, cure: cures.AllowUnused, diagnostic: Diagnostic) -> Iterator[Fix]:
    """None; or zeros, which come first where what is given is computed with at once."""
    call, ways = code.call_at(cure.span), [("allow_unused", "None"), ("materialize_grads", "zeros")]
    for name, given in ways if isinstance(code.parents[call], ast.stmt) else reversed(ways):
        words = f"`{name}=True`: {given} for what isn't used in this pass"
        yield unsafe(words, with_argument(code, call, name, "True"))


def drop_assignment(code: EditableCode, cure: cures.DropAssignment, diagnostic: Diagnostic) -> Iterator[Fix]:
    """The call alone: safe if nothing reads the name, unsafe if something is to read what it was bound to before."""
    statement = code.statement_at(cure.span)
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
        return
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    if len(names) < len(targets):
        return
    start = code.start(statement)
    scope = code.scope(statement)
    read = [name for name in names if any(code.start(each) > start for each in code.reads(code.tree, name))]
    if any(all(code.start(each) >= start for each in code.writes(scope, name)) for name in read):
        return
    edit = Edit(start, code.start(statement.value), "")
    fix = unsafe if any(code.reads(code.tree, name) for name in names) else safe
    yield fix(f"Don't bind `{', '.join(names)}` to None", edit)


def assign_detach(code: EditableCode, cure: cures.AssignDetach, diagnostic: Diagnostic) -> Iterator[Fix]:
    if cure.span.source is code.source and cure.span.text.startswith(cure.name) and code.holds(cure.name):
        edit = Edit(cure.span.start, cure.span.start, f"{cure.name} = ")
        yield unsafe(f"Write `{cure.name} = {cure.span.text}`", edit)


def remove_variable(code: EditableCode, cure: cures.RemoveVariable, diagnostic: Diagnostic) -> Iterator[Fix]:
    """The argument alone, in brackets where what is around it would bind tighter."""
    call, argument = code.call_at(cure.call), code.expression_at(cure.argument)
    text = code.of(argument)
    if not cure.bare:
        detached = f"{text if is_whole(argument) else f'({text})'}.detach()"
        yield safe("Detach the tensor itself", code.replaced(call, detached))
        return
    up = code.parents[call]
    is_one = is_whole(argument) or isinstance(argument, ast.Constant)
    is_free = isinstance(up, ast.Assign | ast.Expr | ast.Return | ast.keyword | ast.AnnAssign)
    is_free = is_free or (isinstance(up, ast.Call) and call in up.args)
    if not (is_one or is_free) or ("\n" in text and isinstance(up, ast.stmt)):
        text = f"({text})"
    yield safe("Use the tensor itself", code.replaced(call, text))


def as_number(code: EditableCode, cure: cures.AsNumber, diagnostic: Diagnostic) -> Iterator[Fix]:
    """`.item()`, or `.detach()`, which stays a tensor; where a function's one caller gives it, there."""
    node = code.expression_at(cure.span)
    ways = ((".item()", "Keep the number"), (".detach()", "Keep it detached"))
    for ending, message in ways[cure.joined :]:
        for each in (_given(code, node), node):
            if each is not None:
                yield unsafe(f"{message}: `{code.of(each)}{ending}`", code.ended(each, ending))


def make_leaf(code: EditableCode, cure: cures.MakeLeaf, diagnostic: Diagnostic) -> Iterator[Fix]:
    """`torch.randn(3, requires_grad=True) * 0.1` to `(torch.randn(3) * 0.1).requires_grad_()`, or to a parameter of a module."""
    node = code.expression_at(cure.span)
    while isinstance(up := code.parents[node], ast.BinOp | ast.UnaryOp | ast.Attribute) or (
        isinstance(up, ast.Call) and up.func is node
    ):
        node = up
    plain = [edit for each in code.below(node) if isinstance(each, ast.Call) for edit in _not_required(code, each)]
    if len(plain) != 1:
        return
    start, end, made = code.start(node), code.end(node), plain[0]
    text = code.text[start : made.start] + made.text + code.text[made.end : end]
    whole = text if isinstance(node, ast.Call | ast.Subscript) else f"({text})"
    way, message = f"{whole}.requires_grad_()", "Make it itself a leaf: `"
    if isinstance(up, ast.Assign) and len(up.targets) == 1:
        name = code.of(up.targets[0])
        message = f"Make `{name}` itself a leaf: `{name} = "
        if name.startswith("self.") and (maker := _parameter(code)):
            way = f"{maker}({text})"
    yield telling(f"{message}{' '.join(way.split())}`", Edit(start, end, way))


def _not_required(code: EditableCode, call: ast.Call) -> Iterator[Edit]:
    """A call that makes a leaf, as one that makes a plain tensor."""
    for word in call.keywords:
        if word.arg == "requires_grad" and isinstance(word.value, ast.Constant) and word.value.value is True:
            yield without_argument(code, call, word)
    if called(call) == "requires_grad_" and isinstance(call.func, ast.Attribute):
        yield Edit(code.end(call.func.value), code.end(call), "")
    if called(call) == "Parameter" and len(call.args) == 1:
        yield code.replaced(call, code.of(call.args[0]))


def _parameter(code: EditableCode) -> str:
    """How the text calls `nn.Parameter`; "" if it has no name for it."""
    for node in code.below(code.tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                if alias.name in ("Parameter", "nn", "torch.nn"):
                    name = alias.asname or alias.name
                    return name if alias.name == "Parameter" else f"{name}.Parameter"
    torch = code.torch
    return f"{torch}.nn.Parameter" if torch else ""


def _given(code: EditableCode, node: ast.expr) -> ast.expr | None:
    """What the only call of the function around gives for a parameter."""
    scope = next((up for up in code.above(node) if is_function(up) or isinstance(up, ast.Lambda)), None)
    if scope is None or not is_function(scope) or not isinstance(node, ast.Name):
        return None
    parameters = [each.arg for each in scope.args.args]
    calls = calls_of([code.tree], scope.name)
    if node.id not in parameters or len(calls) != 1:
        return None
    at = parameters.index(node.id) - (parameters[0] == "self")
    named = {word.arg: word.value for word in calls[0].keywords}
    plain = calls[0].args if not any(isinstance(each, ast.Starred) for each in calls[0].args) else []
    return plain[at] if at < len(plain) else named.get(node.id)


def remove_suppression(code: EditableCode, cure: cures.RemoveSuppression, diagnostic: Diagnostic) -> Iterator[Fix]:
    if cure.span.source is code.source:
        edit = Edit(cure.span.start, cure.span.end, cure.left)
        message = "Shorten the list of what is suppressed" if cure.left.strip(" #") else "Remove the unused suppression"
        yield safe(message, edit)
