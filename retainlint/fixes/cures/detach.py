"""`.detach()` where a graph is handed on: at the turn of a loop, at a use, or where a value is kept."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import partial

from retainlint.diagnostic import Detach, Diagnostic
from retainlint.fixes.code import Code, Function, Loop, Uneditable
from retainlint.fixes.cures.carried import Carried, carried_names, entering, is_container, is_function
from retainlint.fixes.edits import Applicability, Fix
from retainlint.fixes.statements import detached
from retainlint.text.source import Span

MOST = 12
"""Uses of one name that are tried."""


def detach(code: Code, cure: Detach, diagnostic: Diagnostic) -> Iterator[Fix]:
    names = _names(code, cure, diagnostic)
    if cure.iteration is not None:
        for name, body in _over_iterations(code, cure, diagnostic, names):
            yield from _all(Carried(code, name, body, diagnostic.primary.span).fixes())
    for name in names:
        yield from _all(_uses(code, name, cure, diagnostic, _twins(code, names)))
    for label in diagnostic.labels:
        if not label.primary and label.span.source is code.source and (found := code.expression(label.span)):
            yield Fix(Applicability.UNSAFE, f"Detach `{_short(code.of(found))}`", (detached(code, found),))


def _all(fixes: Iterator[Callable[[], Fix]]) -> Iterator[Fix]:
    """The fixes that can be made."""
    while True:
        try:
            yield next(fixes)()
        except Uneditable:
            continue
        except StopIteration:
            return


def _names(code: Code, cure: Detach, diagnostic: Diagnostic) -> list[str]:
    """What the cure names, then what the statements that build the graph bind."""
    names = [cure.name] if code.holds(cure.name) else []
    for span in [cure.span, *(label.span for label in diagnostic.labels if not label.primary)]:
        built = code.statement(span.start) if span.source is code.source else None
        if isinstance(built, ast.Assign):
            bound = (each for target in built.targets for each in ast.walk(target))
            names += [
                code.of(e) for e in bound if isinstance(e, ast.Name | ast.Attribute) and isinstance(e.ctx, ast.Store)
            ]
    return list(dict.fromkeys(names))


def _places(code: Code, cure: Detach, diagnostic: Diagnostic) -> list[Span]:
    spans = (cure.span, *(label.span for label in diagnostic.labels))
    return [span for span in dict.fromkeys(spans) if span.source is code.source]


def _over_iterations(
    code: Code, cure: Detach, diagnostic: Diagnostic, names: list[str]
) -> list[tuple[str, Loop | Function]]:
    """Each name with what is run anew in each turn and carries it; first the names that a turn reads before it binds
    them, and of others those into which they are put."""
    found = []
    bodies: list[Loop | Function] = []
    loop = code.headed(cure.iteration) if cure.iteration is not None and cure.iteration.source is code.source else None
    if loop is not None:
        bodies.append(loop)
    for span in _places(code, cure, diagnostic):
        statement = code.statement(span.start)
        scope = code.scope(statement) if statement is not None else None
        if scope is not None and is_function(scope) and (loop is None or scope not in code.above(loop)):
            assert isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef)
            bodies.append(scope)
    for body in dict.fromkeys(bodies):
        for name in [*names, *carried_names(code, body, names)]:
            if (code.writes(body, name) or is_container(code, name)) and (name, body) not in found:
                found.append((name, body))
    return sorted(found, key=lambda each: not entering(code, each[1], each[0]))


def _twins(code: Code, names: list[str]) -> set[str]:
    """The names that are bound to what the same function returns: `real, fake = G(x), G(y)`, `b = G(z)`."""
    made: dict[str, set[str]] = {}
    for node in ast.walk(code.tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            bound = {ast.unparse(each) for each in node.targets if isinstance(each, ast.Name | ast.Attribute)}
            made.setdefault(ast.unparse(node.value.func), set()).update(bound)
    return set().union(*(bound for bound in made.values() if bound & set(names)))


def _uses(code: Code, name: str, cure: Detach, diagnostic: Diagnostic, twins: set[str]) -> Iterator[Callable[[], Fix]]:
    """Each read of a name detached, those nearest above the place of the cure first, alone and with its twins in the
    statement; then all of them above it."""
    scopes = []
    for span in _places(code, cure, diagnostic):
        statement = code.statement(span.start)
        try:
            scope = code.scope(statement) if statement is not None else None
        except Uneditable:
            continue
        if scope is not None and scope not in scopes:
            scopes.append(scope)
    message = f"Detach `{name}` where it is used"
    for scope in scopes:
        reads = [read for read in code.reads(scope, name) if _is_value(code, read)]
        above = [read for read in reads if code.start(read) < cure.span.end][::-1]
        below = [read for read in reads if code.start(read) >= cure.span.end]
        for read in (*above, *below)[:MOST]:
            yield partial(Fix, Applicability.UNSAFE, message, (detached(code, read),))
            statement = code.statement(code.start(read))
            together = [each for twin in sorted(twins) for each in code.reads(statement, twin)] if statement else []
            if len(together) > 1 and read in together:
                named = "`, `".join(dict.fromkeys(map(code.of, together)))
                edits = tuple(detached(code, each) for each in together)
                yield partial(Fix, Applicability.UNSAFE, f"Detach `{named}` where they are used", edits)
        if 1 < len(above) <= MOST:
            yield partial(Fix, Applicability.UNSAFE, message, tuple(detached(code, read) for read in above))


def _is_value(code: Code, read: ast.expr) -> bool:
    """Whether it is read for itself, and not to call one of its methods or be walked."""
    up = code.parents[read]
    is_owner = isinstance(up, ast.Attribute) and isinstance(code.parents[up], ast.Call)
    return not (is_owner and isinstance(up, ast.Attribute) and up.attr in ("backward", "detach", "append", "item"))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 40 else line[:39] + "…"
