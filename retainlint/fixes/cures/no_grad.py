"""Whether graphs are recorded: statements put under `torch.no_grad()`, or taken out."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator, Sequence
from itertools import chain, groupby, pairwise

from retainlint.diagnostic import Diagnostic, Edit, Fix, NotRecorded, RecordLater, UnderNoGrad
from retainlint.fixes.code import EditableCode, Uneditable
from retainlint.fixes.edits import rewritten, telling, unsafe
from retainlint.fixes.statements import calls_of, first, is_whole, reads
from retainlint.startup.records import replace
from retainlint.text.quoting import short
from retainlint.text.source import Span
from retainlint.text.syntax import (
    FunctionNode,
    SyntaxTree,
    bound,
    called,
    dotted,
    is_function,
    parameters,
    syntax_of,
    without_items,
)


def record_later(code: EditableCode, cure: RecordLater, diagnostic: Diagnostic) -> Iterator[Fix]:
    """`torch.no_grad` in place of `torch.inference_mode`, however the module is named there."""
    asked = re.match(r"(@?\s*[\w.]*\.)inference_mode(?=\(\)|\s*$)", cure.span.text)
    if asked is not None:
        begin = cure.span.start + asked.end(1)
        yield unsafe("Use `no_grad` instead of `inference_mode`", Edit(begin, begin + len("inference_mode"), "no_grad"))


MOST_RECORDED = 4
"""Statements that are recorded together within `no_grad`."""


def recorded(code: EditableCode, built: ast.stmt, asked: ast.stmt) -> Iterator[Fix]:
    """What a gradient is asked of within `no_grad`, recorded, and nothing else there."""
    block, torch = code.block(built).statements, code.torch
    if not torch or asked not in block:
        return
    end = block.index(asked) + 1
    for start in range(block.index(built), max(end - 1 - MOST_RECORDED, -1), -1):
        rows = list(dict.fromkeys(short(code.of(each)) for each in (block[start], asked)))
        message = f"Record this alone: `with {torch}.enable_grad():` around `{'` to `'.join(rows)}`"
        yield telling(message, _under(code, block[start:end], "enable_grad"))


def recorded_before(code: EditableCode, asked: ast.stmt) -> Iterator[Fix]:
    """What is differentiated where torch runs it with gradients off, recorded: the statements before that."""
    block, torch = code.block(asked).statements, code.torch
    end = block.index(asked)
    for start in range(end - 1, max(end - 1 - MOST_RECORDED, -1), -1) if torch else ():
        message = f"Put what is differentiated under `{torch}.enable_grad()`"
        yield unsafe(message, _under(code, block[start:end], "enable_grad"))


def enabled(code: EditableCode, asked: ast.stmt) -> Iterator[Fix]:
    """A function that computes and differentiates, recorded whatever its caller has switched off."""
    scope, torch = code.scope(asked), code.torch
    if not torch or not isinstance(scope, ast.FunctionDef):
        return
    if any("grad" in code.of(each) for each in scope.decorator_list):
        return
    if any(code.of(given) == scope.name for call in code.calls for given in call.args):
        return  # who is given a closure is to run it as that needs
    message = f"`@{torch}.enable_grad()` on `{scope.name}`: it differentiates, whatever its caller has switched off"
    yield telling(message, code.decorated(scope, f"{torch}.enable_grad()"))


def around(code: EditableCode, statement: ast.stmt) -> Iterator[Fix]:
    """A call that computes and differentiates, as a closure does, recorded within `no_grad`, which is meant for the rest."""
    torch, ways = code.torch, (statement, *code.above(statement))
    off = (item.context_expr for up in ways if isinstance(up, ast.With) for item in up.items)
    scope = next((up for up in ways if isinstance(up, ast.FunctionDef | ast.AsyncFunctionDef)), None)
    marks = (*off, *(scope.decorator_list if scope is not None else ()))
    if torch and any("no_grad" in code.of(each) for each in marks):
        message = f"`with {torch}.enable_grad():` around `{short(code.of(statement))}`: the rest is not to be recorded"
        yield telling(message, _under(code, [statement], "enable_grad"))


def imported(code: EditableCode, module: str) -> tuple[Edit, ...]:
    """The import of a module, where the text has none."""
    known = (name for each in code.tree.body if isinstance(each, ast.Import) for name in each.names)
    has = any(each.name == module and each.asname is None for each in known)
    return () if has else (code.before(_first_import(code), f"import {module}"),)


def switched(code: EditableCode, off: ast.stmt) -> Iterator[Fix]:
    """`if not train: set_grad_enabled(False)` as `set_grad_enabled(train)`; a function that switches gradients off for good,
    under `no_grad` as a whole."""
    scope, torch, asked = code.scope(off), code.torch, code.parents[off]
    if isinstance(asked, ast.If) and asked.body == [off] and not asked.orelse:
        test = asked.test
        is_not = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
        on = code.of(test.operand) if isinstance(test, ast.UnaryOp) and is_not else f"not {code.of(test)}"
        call = code.of(off).replace("False", on)
        if call != code.of(off) and isinstance(test, ast.Name | ast.Attribute | ast.UnaryOp):
            edit = code.replaced(asked, call)
            yield telling(f"Let them be switched on again as well: `{call}`", edit)
    if torch and isinstance(scope, ast.FunctionDef):
        yield unsafe(
            f"Put `{scope.name}` under `@{torch}.no_grad()`",
            code.decorated(scope, f"{torch}.no_grad()"),
            code.removed(off),
        )


def unwrapped(code: EditableCode, node: ast.With | ast.If, block: list[ast.stmt], message: str) -> Fix:
    start, end = code.rows(node)
    indent = code.indent(node)
    body = "".join(code.lifted(each, indent) for each in block)
    inner = code.text[code.source.row_starts[code.row_of(code.start(block[0])) - 1] : end]
    if inner.count("#") > body.count("#"):  # comments between the statements would be lost
        body = _shifted(inner, code.indent(block[0]), indent)
    return unsafe(message, Edit(start, end, body))


def _shifted(text: str, old: str, new: str) -> str:
    return "".join(new + line[len(old) :] if line.startswith(old) else line for line in text.splitlines(keepends=True))


def undecorated(code: EditableCode, node: ast.FunctionDef | ast.AsyncFunctionDef, word: str) -> Iterator[Fix]:
    for decorator in node.decorator_list:
        if word in code.of(decorator):
            if code.of(decorator).endswith("cached_property"):
                edit = code.replaced(decorator, "property")
                yield unsafe(
                    f"Use `@property` in place of `@{code.of(decorator)}`", edit, *_unimported(code, decorator)
                )
                continue
            yield _without_decorator(code, decorator)


def _without_decorator(code: EditableCode, decorator: ast.expr) -> Fix:
    row, starts = code.row_of(code.start(decorator)), code.source.row_starts
    edit = Edit(starts[row - 1], starts[row], "")
    return unsafe(f"Remove `@{code.of(decorator)}`", edit, *_unimported(code, decorator))


def _unimported(code: EditableCode, decorator: ast.expr) -> Iterator[Edit]:
    """The import that nothing but a decorator needs, taken out, with the blank rows that would be too many then."""
    name = re.split(r"\W", code.of(decorator), maxsplit=1)[0]
    if len(re.findall(rf"\b{name}\b", code.text)) > 2:
        return
    for each in code.tree.body:
        if isinstance(each, ast.Import | ast.ImportFrom) and [one.asname or one.name for one in each.names] == [name]:
            start, end = code.rows(each)
            is_apart = code.text[:start].endswith(("\n\n", "\r\n\r\n")) or not start
            if blank := re.match(r"(?:[ \t]*\r?\n)*", code.text[end:]) if is_apart else None:
                end += blank.end()
            if "#" not in code.text[start:end]:
                yield Edit(start, end, "")


def taken_off(
    code: EditableCode, function: FunctionNode, mode: str, asked: ast.stmt | None, led: Container[Span]
) -> Iterator[Fix]:
    """What a decorator keeps from being recorded, recorded for the call beside the backward pass, or that has `led` to it, alone:
    that computes by itself what the function returns, or the decorator goes, and the calls of which no more than numbers are taken
    go under what it stood for."""
    calls = calls_of([code.tree], function.name)
    scope = None if asked is None else code.scope_around(asked)
    beside = [call for call in calls if scope is not None and code.scope_around(call) is scope]
    training = [call for call in calls if call in beside or Span(code.source, code.start(call), code.end(call)) in led]
    others = [call for call in calls if call not in training]
    if len(training) == 1 and beside and others and (written := _written_out(code, function, training[0])):
        message = f"Call `{short(written)}` itself: `{function.name}` is under `{mode}`, for its other calls"
        edit = code.replaced(training[0], written)
        yield telling(message, edit)
    for fix in undecorated(code, function, mode):
        put = _under_by_calls(code, [each for each in others if training and _trains_nothing(code, each)], mode)
        if put:
            texts = " and ".join(f"`{short(each)}`" for each in put)
            message = f"Take `@{code.torch}.{mode}()` off `{function.name}`, and put it on {texts}"
            yield replace(fix, message=message, edits=(*fix.edits, *put.values()), tells=True)
        yield fix


def unwrapped_at_use(code: EditableCode, function: FunctionNode, led: Sequence[Span]) -> Iterator[Fix]:
    """A function without its decorator, the wrapper of which runs it unrecorded and does nothing else to it, where others are
    decorated so, too: these are to stay as they are."""
    sources = dict.fromkeys((code.source, *(span.source for span in led)))
    names = {name for span in led for name in _unrecording(syntax_of(span.source), span)}
    users = {
        (tree.source, node.name, tree.start(node))
        for tree in map(syntax_of, sources)
        for node in tree.below(tree.tree)
        if is_function(node) and any(_decorates(each) in names for each in node.decorator_list)
    }
    for decorator in function.decorator_list if len(users) > 1 else ():
        if _decorates(decorator) in names:
            text = code.of(decorator)
            message = (
                f"Take `@{text}` off `{function.name}`: it records no graph of what it is on, as it is to for others"
            )
            yield replace(_without_decorator(code, decorator), message=message, tells=True)


def _decorates(decorator: ast.expr) -> str:
    """The name of a decorator, without the module that it is of and what it is given."""
    func = decorator.func if isinstance(decorator, ast.Call) else decorator
    return dotted(func).rpartition(".")[2]


def _unrecording(tree: SyntaxTree, span: Span) -> Iterator[str]:
    """The names of the functions by which a decorator is made that has what it decorates called at a span, within `no_grad`, with
    just what its wrapper is given, and gives just what that returns."""
    call = tree.call(span)
    wrapper = tree.function_around(call) if call is not None else None
    if call is None or wrapper is None or not isinstance(call.func, ast.Name):
        return
    makers = [up for up in tree.above(wrapper) if is_function(up)]
    inside = [up for up in tree.above(call) if up is wrapper or up in tree.below(wrapper)]
    marks = [tree.of(mark) for up in inside for mark in _contexts(up)]
    returned = [each.value for each in tree.below(wrapper) if isinstance(each, ast.Return)]
    kept = {each.name for each in tree.bound_in(wrapper) if each.value is call} - {
        each.name for each in tree.bound_in(wrapper) if each.value is not call
    }
    if (
        call.func.id in set().union(*(parameters(up.args) for up in makers))
        and any(mode in mark for mark in marks for mode in ("no_grad", "inference_mode"))
        and _handed_on(wrapper.args) == [ast.unparse(each) for each in (*call.args, *call.keywords)]
        and all(each is call or (isinstance(each, ast.Name) and each.id in kept) for each in returned)
    ):
        yield from (up.name for up in makers)


def _handed_on(taken: ast.arguments) -> list[str]:
    """All that a function is given, as a call hands it on."""
    stars = [f"*{taken.vararg.arg}"] if taken.vararg is not None else []
    pairs = [f"**{taken.kwarg.arg}"] if taken.kwarg is not None else []
    names = [each.arg for each in (*taken.posonlyargs, *taken.args)]
    return [*names, *stars, *(f"{each.arg}={each.arg}" for each in taken.kwonlyargs), *pairs]


def _written_out(code: EditableCode, function: FunctionNode, call: ast.Call) -> str:
    """What a function that only returns something returns for a call, in the call's own words; "" where that can't be."""
    returned = first(function.body)
    owner = [call.func.value] if isinstance(call.func, ast.Attribute) else []
    taken, given = function.args.args, [*owner, *call.args]
    plain = (ast.Name, ast.Attribute, ast.Constant)
    if not isinstance(returned, ast.Return) or returned.value is None or returned is not function.body[-1]:
        return ""
    if call.keywords or len(taken) != len(given) or not all(isinstance(each, plain) for each in given):
        return ""
    if any(isinstance(node, ast.Lambda | ast.comprehension) for node in ast.walk(returned.value)):
        return ""  # which may have such names of its own
    names = {arg.arg: code.of(each) for arg, each in zip(taken, given, strict=True)}
    places = [node for node in ast.walk(returned.value) if isinstance(node, ast.Name) and node.id in names]
    put = [code.replaced(node, names[node.id]) for node in sorted(places, key=code.start)]
    text = rewritten(code.of(returned.value), code.start(returned.value), put)
    return text if isinstance(returned.value, ast.Call | ast.Name | ast.Attribute | ast.Subscript) else f"({text})"


def _trains_nothing(code: EditableCode, call: ast.Call) -> bool:
    """Whether no graph is needed of what a call returns: its function has no backward pass, and takes no more than numbers of it."""
    statement = code.statement(code.start(call))
    if not isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Return):
        return False
    scope = code.scope_around(call)
    if calls_of([scope], "backward", "grad") or any(isinstance(up, ast.Lambda) for up in code.above(call)):
        return False
    if code.gives_numbers(call):
        return True
    names = bound(statement)
    is_bound = isinstance(statement, ast.Assign) and statement.value is call and all(map(str.isidentifier, names))
    return is_bound and all(code.gives_numbers(each) for name in names for each in code.reads(scope, name))


def _under_by_calls(code: EditableCode, calls: Sequence[ast.Call], mode: str) -> dict[str, Edit]:
    """The statements of calls put under a context, where they don't stand under one, by their text; or the function that does nothing
    else, by its name."""
    torch, found = code.torch, dict[str, Edit]()
    for statement in dict.fromkeys(code.statement(code.start(call)) for call in calls if torch):
        assert statement is not None
        ways = (statement, *code.above(statement))
        if any(mode in code.of(mark) for up in ways for mark in _contexts(up)):
            continue
        scope = code.scope_around(statement)
        if isinstance(scope, ast.FunctionDef) and first(scope.body) is statement is scope.body[-1]:
            if not scope.decorator_list:
                found[scope.name] = code.decorated(scope, f"{torch}.{mode}()")
                continue
        found[code.of(statement)] = _under(code, [statement], mode)
    return found


def _contexts(node: ast.AST) -> Iterator[ast.expr]:
    """What a block or a function is entered with."""
    if isinstance(node, ast.With | ast.AsyncWith):
        yield from (item.context_expr for item in node.items)
    if is_function(node):
        yield from node.decorator_list


def under_no_grad(code: EditableCode, cure: UnderNoGrad, diagnostic: Diagnostic) -> Iterator[Fix]:
    statement, torch = code.statement_at(cure.span), code.torch
    imported: tuple[Edit, ...] = ()
    if not torch:
        if code.holds("torch"):
            return
        torch, imported = "torch", (code.before(_first_import(code), "import torch"),)
    wrapped = statement
    while True:  # a loop that does nothing else goes under it whole
        owner = code.parents[wrapped]
        if not isinstance(owner, ast.For) or owner.orelse:
            break
        if len(owner.body) > 1 and not all(map(_only_changes, owner.body)):
            break
        wrapped = owner
    for each in dict.fromkeys((wrapped, statement)):
        yield unsafe(f"Put it under `{torch}.no_grad()`", *imported, _under(code, [each], "no_grad", torch))
    if isinstance(statement, ast.Assign | ast.AugAssign):
        target = without_items(statement.targets[0] if isinstance(statement, ast.Assign) else statement.target)
        if isinstance(target, ast.Name):
            name = target.id
            yield unsafe(f"Change a clone of `{name}`", code.before(statement, f"{name} = {name}.clone()"))


def _only_changes(statement: ast.stmt) -> bool:
    """Whether a statement changes something in place, and binds nothing."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return called(statement.value).endswith("_")
    return isinstance(statement, ast.AugAssign)


def not_recorded(code: EditableCode, cure: NotRecorded, diagnostic: Diagnostic) -> Iterator[Fix]:
    """A statement that only binds what is made there under `no_grad`; else that is detached, and like calls in the function."""
    made, torch = code.expression_at(cure.span), code.torch
    statement = code.statement_at(cure.span)
    if torch and isinstance(statement, ast.Assign | ast.Expr) and statement.value is made:
        message = f"Compute `{short(code.of(statement))}` under `{torch}.no_grad()`{cure.why}"
        yield unsafe(message, _under(code, [statement], "no_grad"), cuts=cure.meant)
    comprehension = next((up for up in code.above(made) if isinstance(up, ast.ListComp | ast.DictComp)), None)
    if torch and isinstance(statement, ast.Assign) and statement.value is comprehension:
        yield from _made_of(code, statement, cure)
        message = f"Compute `{code.of(statement.targets[0])}` under `{torch}.no_grad()`{cure.why}"
        yield unsafe(message, _under(code, [statement], "no_grad"), cuts=cure.meant)
    alike = [made]
    if isinstance(made, ast.Call):
        maker = code.of(made.func)
        alike = [each for each in calls_of([code.scope(made)], called(made)) if code.of(each.func) == maker]
    texts = [text if is_whole(each) else f"({text})" for each in alike if (text := short(code.of(each)))]
    ended = " and ".join(dict.fromkeys(f"`{text}.detach()`" for text in texts))
    yield unsafe(f"Write {ended}{cure.why}", *map(code.detached, alike), cuts=cure.meant)


def _made_of(code: EditableCode, kept: ast.Assign, cure: NotRecorded) -> Iterator[Fix]:
    """What the items that are kept are made of, `features = net(x)`, under `no_grad`, and what the same network makes beside it."""
    block, torch = code.block(kept).statements, code.torch
    named = [
        (each, each.value)
        for each in block
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.Call) and isinstance(each.targets[0], ast.Name)
    ]
    makers = {code.of(value.func) for each, value in named if bound(each) & reads(kept.value)}
    runs = groupby(
        enumerate(block), lambda pair: any(pair[1] is each and code.of(value.func) in makers for each, value in named)
    )
    groups = [[each for _, each in pairs] for is_alike, pairs in runs if is_alike]
    if groups:
        names = " and ".join(f"`{name}`" for group in groups for each in group for name in sorted(bound(each)))
        edits = (_under(code, group, "no_grad") for group in groups)
        yield unsafe(f"Compute {names} under `{torch}.no_grad()`{cure.why}", *edits, cuts=cure.meant)


def _first_import(code: EditableCode) -> ast.stmt:
    """The statement before which a module may be imported."""
    imports = (each for each in code.tree.body if isinstance(each, ast.Import | ast.ImportFrom))
    last = next((each for each in imports if getattr(each, "module", "") != "__future__"), None)
    return last or first(code.tree.body)


def _under(code: EditableCode, statements: Sequence[ast.stmt], mode: str, torch: str = "") -> Edit:
    """Statements that follow each other put under a mode of torch's. Raises Uneditable if there is more between them."""
    if any(code.rows(one)[1] != code.rows(two)[0] for one, two in pairwise(statements)):
        raise Uneditable("comments or blank rows between statements")
    statement = statements[0]
    (start, _), (_, end), indent = code.rows(statement), code.rows(statements[-1]), code.indent(statement)
    unit = next(filter(None, map(code.unit_of, chain((statement,), code.above(statement)))), code.unit)
    text = "".join(code.lifted(each, indent + unit) for each in statements)
    if not code.text[start:end].endswith(("\n", "\r")):
        text = text.rstrip("\r\n")
    return Edit(start, end, f"{indent}with {torch or code.torch}.{mode}():{code.newline(statement)}{text}")
