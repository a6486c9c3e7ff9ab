"""`.detach()` of what is handed to a call that is made for its effect alone: whoever keeps it there keeps no graph."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterator

from retainlint.diagnostic import Diagnostic, Fix
from retainlint.fixes.code import EditableCode
from retainlint.fixes.edits import rewritten, unsafe
from retainlint.text.quoting import short
from retainlint.text.syntax import called, dotted

MOST_CALLS = 3
"""Calls of which it is tried."""


def detached_arguments(code: EditableCode, names: Collection[str], diagnostic: Diagnostic) -> Iterator[Fix]:
    """`buffer.add(x, logits)` to `buffer.add(x, logits.detach())`, of one of some names, or of what built the graph: those
    behind the backward pass first."""
    spans = [label.span for label in diagnostic.labels if label.span.source is code.source]
    statements = [each for each in map(code.statement_of, spans) if each is not None]
    scopes = dict.fromkeys(code.scope_around(each) for each in statements)
    built = [found for each in spans if (found := code.expression(each)) is not None]
    end = max(map(code.end, statements), default=0)
    effects = (each.value for scope in scopes for each in code.below(scope) if isinstance(each, ast.Expr))
    calls = [each for each in effects if isinstance(each, ast.Call) and _may_store(each)]
    tried = 0
    for call in sorted(calls, key=lambda call: code.start(call) < end):
        given = (part for part in _handed(call) if part in built or dotted(part) in names)
        edits = sorted((code.detached(part) for part in given), key=lambda edit: edit.start)
        if edits and tried < MOST_CALLS:
            tried += 1
            text = rewritten(code.of(call), code.start(call), edits)
            yield unsafe(f"Store it detached: `{short(text, 80)}`", *edits)


def _may_store(call: ast.Call) -> bool:
    """Whether it is no function of Python's own, and doesn't just add an item to a list: which list that is tells where to cut."""
    return not hasattr(builtins, called(call)) and (called(call) not in _ADDS or len(call.args) > 1)


_ADDS = ("append", "appendleft", "extend")


def _handed(call: ast.Call) -> Iterator[ast.expr]:
    """What a call is given, also in a tuple, a list or an object that is made there."""
    pending = [*call.args, *(each.value for each in call.keywords)]
    while pending:
        match pending.pop(0):
            case ast.Tuple(parts) | ast.List(parts) | ast.Dict(_, parts):
                pending += parts
            case ast.Call(ast.Name(name) | ast.Attribute(attr=name), given, named) if name[:1].isupper():
                pending += [*given, *(each.value for each in named)]
            case part:
                yield part
