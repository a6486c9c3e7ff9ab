"""Of what was frozen as a whole the part that is to be trained let go again, or never frozen."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from retainlint.diagnostic import Diagnostic, Edit, Fix
from retainlint.fixes.code import EditableCode
from retainlint.fixes.cures.no_grad import imported
from retainlint.fixes.edits import telling
from retainlint.fixes.statements import calls_of, meets, reads, writes
from retainlint.startup.records import replace
from retainlint.text.name_guesses import FREEZES
from retainlint.text.quoting import short
from retainlint.text.source import Source, Span
from retainlint.text.syntax import bindings, bound, called, is_function, parameters, syntax_of


def thawed_part(code: EditableCode, places: list[ast.stmt]) -> Iterator[Fix]:
    """What an optimiser is given, where something else was frozen in the same function, of which it is a part; what was frozen
    itself was so on purpose."""
    for call in (each for each in code.calls if called(each) == "parameters"):
        optimizer, owner = code.statement(code.start(call)), call.func
        if not isinstance(optimizer, ast.Assign) or optimizer.value is not code.parents[call]:
            continue
        scope = code.scope(optimizer)
        there = [
            up
            for each in places
            if code.scope(each) is scope
            for up in (each, *code.above(each))
            if up is each or isinstance(up, ast.For)
        ]
        met = set().union(*(reads(each) | writes(each) for each in there))
        if there and isinstance(owner, ast.Attribute) and code.of(owner.value) not in met:
            name = code.of(owner.value)
            row = code.before(optimizer, f"{name}.requires_grad_(True)")
            yield telling(f"Let `{name}`, which the optimiser is to train, require gradients again", row)


def frozen_as_copy(code: EditableCode, frozen: ast.stmt) -> Iterator[Fix]:
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
        with_copy = imported(code, "copy")
        edit = Edit(code.start(kept.value), code.end(kept.value), f"copy.deepcopy({name})")
        words = (
            f"Freeze a copy: `{code.of(kept.targets[0])} = copy.deepcopy({name})`, as `{name}` itself is to be trained"
        )
        yield telling(words, *with_copy, edit)


def frozen_before(code: EditableCode, statement: ast.stmt) -> Iterator[Fix]:
    """`model.head = Linear(...)`, `freeze(model)`: the other way round, what is made anew is trained."""
    while isinstance(up := code.parents[statement], ast.For) and up.body == [statement]:
        statement = up
    if not isinstance(statement, ast.Expr | ast.For | ast.Assign | ast.Return):
        return
    own = bound(statement.target) if isinstance(statement, ast.For) else set()
    block, frozen = code.block(statement).statements, reads(statement) - own
    for made in reversed(block[: block.index(statement)]):
        target = made.targets[0] if isinstance(made, ast.Assign) else None
        is_set = isinstance(target, ast.Attribute) and ast.unparse(target.value) in frozen
        is_call = any(isinstance(each, ast.Call) for each in ast.walk(made))
        if isinstance(statement, ast.Return):
            if target is not None and is_set and is_call:
                yield from _thawed_behind(code, statement, code.of(target))
                return
        elif is_set or (is_call and meets(writes(made), frozen) and meets(frozen, reads(made))):
            name = code.of(target) if target is not None and is_set else short(code.of(made))
            message = f"Freeze before `{name}`{' is made' * is_set}: `{short(code.of(statement))}` above it"
            edits = code.copied_before(made, [statement]), code.removed(statement)
            yield telling(message, *edits)
            return


def _thawed_behind(code: EditableCode, statement: ast.Return, part: str) -> Iterator[Fix]:
    """`model.head = Linear(...)`, `return freeze(model)`: what is made anew requires gradients again behind that, which may give
    anything back."""
    free = next((each for each in ("frozen", "result") if not re.search(rf"\b{each}\b", code.text)), None)
    if free is not None and isinstance(statement.value, ast.Call):
        row, value = f"{part}.requires_grad_(True)", statement.value
        kept = code.before(statement, f"{free} = {code.of(value)}\n{row}")
        message = f"Let `{part}`, which is made anew, require gradients again: `{row}` behind `{short(code.of(value))}`"
        yield telling(message, kept, code.replaced(value, free))


def frozen_part(code: EditableCode, place: Span, diagnostic: Diagnostic) -> Iterator[Fix]:
    """A network that is frozen as a whole, though an optimiser is to train it: only the part that what freezes it is named after, or
    else the one that the network was given; what it has made beside that is to be trained from the start."""
    statement = code.statement_at(place)
    backward_pass = syntax_of(diagnostic.primary.span.source).statement_of(diagnostic.primary.span)
    if backward_pass is None or not _is_stepped(diagnostic.primary.span.source, backward_pass):
        return
    around = [up for up in code.above(statement) if is_function(up) or isinstance(up, ast.ClassDef)]
    purpose = set().union(*(_words(up.name) for up in around if FREEZES.takes(up.name)))
    function = next((up for up in around if is_function(up)), None)
    handed = parameters(function.args) if function is not None else set[str]()
    sources = dict.fromkeys([code.source, *(label.span.source for label in diagnostic.labels)])
    networks = [each for source in sources for each in syntax_of(source).definitions if isinstance(each, ast.ClassDef)]
    for whole, is_helper in _frozen_wholes(code, statement, place):
        name = code.of(whole)
        own = [each for each in networks if name != "self" or each.name in {up.name for up in around}]
        for given, made in filter(None, map(_parts, own)):
            named = sorted((part for part in (*given, *made) if _words(part) <= purpose), key=len, reverse=True)
            if not named and is_helper and name in handed - {"self"}:
                continue  # it freezes whatever it is given
            for part in named[:1] or (given if made and len(given) == 1 else ()):
                words = f"Freeze `{name}.{part}` alone, not all of `{name}`: the optimiser is to train the rest from the start"
                fix = telling(words, Edit(code.end(whole), code.end(whole), f".{part}"))
                yield replace(fix, parts=True)  # a later iteration, in which all is let go, isn't the first any more


def _words(name: str) -> set[str]:
    """The words of a name, `FreezeBackbone`, `freeze_backbone`."""
    return {each.lower() for each in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)}


def _is_stepped(source: Source, backward_pass: ast.stmt) -> bool:
    """Whether an optimiser steps in the function of a backward pass."""
    tree = syntax_of(source)
    return any(
        isinstance(each, ast.Call) and called(each) == "step" for each in tree.below(tree.scope_around(backward_pass))
    )


def _frozen_wholes(code: EditableCode, statement: ast.stmt, place: Span) -> Iterator[tuple[ast.expr, bool]]:
    """What may be frozen as a whole: that of whose parameters the loop around a statement, or itself, is told, or what a call is given;
    with whether it is the former."""
    loops = [up for up in (statement, *code.above(statement)) if isinstance(up, ast.For)]
    scope = code.scope_around(statement)
    heads = [each.iter for each in loops if code.scope_around(each) is scope]
    for call in calls_of([*heads, *([] if heads else [statement])], "parameters", "named_parameters", "modules"):
        whole = call.func.value if isinstance(call.func, ast.Attribute) and not call.args else None
        if isinstance(whole, ast.Name | ast.Attribute):
            yield whole, True
    if isinstance(freezing := code.expression(place), ast.Call) and called(freezing) != "requires_grad_":
        yield from ((each, False) for each in freezing.args if isinstance(each, ast.Name | ast.Attribute))


def _parts(network: ast.ClassDef) -> tuple[list[str], list[str]] | None:
    """The attributes that a network calls, those that it was given, and those that it has made; None for what is none."""
    methods = [each for each in network.body if isinstance(each, ast.FunctionDef)]
    init = next((each for each in methods if each.name == "__init__"), None)
    if init is None or not any(each.name in ("forward", "__call__") for each in methods):
        return None
    called_on = {ast.unparse(each.func) for each in ast.walk(network) if isinstance(each, ast.Call)}
    own = [(each.name.removeprefix("self."), each.value) for node in ast.walk(init) for each in bindings(node)]
    own = [(name, value) for name, value in own if f"self.{name}" in called_on]
    given = [name for name, value in own if isinstance(value, ast.Name) and value.id in parameters(init.args)]
    return given, [name for name, value in own if isinstance(value, ast.Call)]
