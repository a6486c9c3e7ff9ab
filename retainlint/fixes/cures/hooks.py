"""What a hook does too seldom is done by another one, which the loop calls in each iteration."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from retainlint.diagnostic import Diagnostic, Edit, Fix, MoveHook
from retainlint.fixes.code import EditableCode
from retainlint.fixes.edits import unsafe
from retainlint.fixes.statements import calls_of, tuning
from retainlint.startup.records import replace
from retainlint.text.syntax import FunctionNode, SyntaxTree, is_function, syntax_of


def move_hook(code: EditableCode, cure: MoveHook, diagnostic: Diagnostic) -> Iterator[Fix]:
    """A method under the name of one that its class inherits, does nothing, and is called so in each iteration before the backward
    pass; nothing of what the method counts or adds up is to be done more often."""
    hook = code.function_around(code.expression_at(cure.span))
    owner = code.parents[hook] if hook is not None else None
    if hook is None or not isinstance(owner, ast.ClassDef) or _counts(code, hook):
        return
    own = {each.name for each in owner.body if is_function(each)}
    for name in dict.fromkeys(_called_alike(cure, hook.name, diagnostic)):
        at = re.compile(rf"(?:async\s+)?def\s+({hook.name})\b").match(code.text, code.start(hook))
        if at is not None and name not in own and _is_idle(code, owner, name, hook):
            message = f"Rename `{owner.name}.{hook.name}` to `{name}`, which the loop calls in each iteration"
            yield replace(unsafe(message, Edit(at.start(1), at.end(1), name)), tells=True)


def _called_alike(cure: MoveHook, hook: str, diagnostic: Diagnostic) -> Iterator[str]:
    """The names that a loop calls as elsewhere the hook is called: `self.emit("on_batch_start")`, `each.on_batch_start(self)`."""
    tree = syntax_of(cure.loop.source)
    loop, call, failing = tree.headed(cure.loop), tree.call(cure.call), tree.statement_of(diagnostic.primary.span)
    if loop is None or call is None:
        return
    end = tree.start(failing) if failing is not None and tree.within(failing, loop.body) else tree.end(loop)
    for other in tree.below(loop):
        if isinstance(other, ast.Call) and tree.start(other) < end:
            for name in _names(other):
                if name != hook and _with(tree, other, name, hook) == ast.unparse(call):
                    yield name


def _names(call: ast.Call) -> Iterator[str]:
    """What may be the name of a method in a call: that of its own, and the texts that it is given."""
    if isinstance(call.func, ast.Attribute):
        yield call.func.attr
    yield from (
        each.value
        for each in call.args
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and each.value.isidentifier()
    )


def _with(tree: SyntaxTree, call: ast.Call, name: str, other: str) -> str:
    """A call with another name of a method."""
    text = re.sub(rf"\b{name}\b", other, tree.of(call))
    try:
        return ast.unparse(ast.parse(text, mode="eval"))
    except SyntaxError:
        return ""


def _is_idle(code: EditableCode, owner: ast.ClassDef, name: str, hook: FunctionNode) -> bool:
    """Whether a class inherits a method that does nothing, and one by the name of the hook, which is given the same."""
    bases = {code.of(each) for each in owner.bases}
    for base in code.definitions:
        if isinstance(base, ast.ClassDef) and base.name in bases:
            methods = {each.name: each for each in base.body if isinstance(each, FunctionNode)}
            found, own = methods.get(name), methods.get(hook.name)
            if found is not None and own is not None and ast.dump(found.args) == ast.dump(hook.args):
                return type(found) is type(hook) and all(map(_does_nothing, found.body))
    return False


def _does_nothing(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )


_KEEPS = frozenset({"append", "extend", "add", "info", "debug", "warning", "log", "print", "save", "write"})
"""Calls that note something, which is to be noted as often as before."""


def _counts(code: EditableCode, hook: FunctionNode) -> bool:
    """Whether a method does more that is to be done as often as before: it counts, notes, begins what others add up, steps an
    optimiser or a schedule, or asks its base class."""
    begun = (ast.Constant, ast.List, ast.Dict)
    return bool(tuning([hook]) or calls_of([hook], "super", *_KEEPS)) or any(
        isinstance(each, ast.AugAssign) or (isinstance(each, ast.Assign) and isinstance(each.value, begun))
        for each in code.below(hook)
    )
