"""Of what is computed again only what a backward pass needs: the rest keeps the numbers that are taken of it later."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from retainlint.diagnostic import Edit, Fix
from retainlint.fixes.code import EditableCode
from retainlint.fixes.edits import unsafe
from retainlint.fixes.statements import reads
from retainlint.text.syntax import FunctionNode, called, dotted, parameters

Field: TypeAlias = ast.Attribute | ast.Subscript
"""A part of an object by its name."""


class _Made(NamedTuple):
    """A statement that binds what a call gives."""

    statement: ast.Assign
    call: ast.Call


def spared_names(code: EditableCode, again: Sequence[ast.stmt], backward_pass: ast.stmt) -> set[str]:
    """The names that statements bind beside what a backward pass needs, `a, b = losses()`, and of which behind it no more than
    their numbers are taken: they keep what they were used with."""
    scope, needed = code.scope(backward_pass), reads(backward_pass).union(*map(reads, again))
    if code.reads(code.tree, "_"):
        return set()
    beside = {
        each.id
        for one in again
        if isinstance(one, ast.Assign) and len(one.targets) == 1 and isinstance(one.targets[0], ast.Tuple)
        for each in one.targets[0].elts
        if isinstance(each, ast.Name) and each.id not in needed and each.lineno == one.lineno
    }
    behind = {name: [r for r in code.reads(scope, name) if code.start(r) > code.end(backward_pass)] for name in beside}
    return {name for name in beside if all(code.gives_numbers(each) for each in behind[name])} - {"_"}


def without_names(code: EditableCode, statement: ast.stmt, indent: str, spared: set[str]) -> str:
    """The rows of a statement under another indent, which binds some names no more."""
    row, start = code.lifted(statement, indent), code.rows(statement)[0]
    made = statement.targets[0] if isinstance(statement, ast.Assign) else None
    shift = len(indent) - len(code.indent(statement))
    for each in reversed(made.elts) if isinstance(made, ast.Tuple) else ():
        if isinstance(each, ast.Name) and each.id in spared:
            at = code.start(each) - start + shift
            row = f"{row[:at]}_{row[at + len(each.id) :]}"
    return row


# -- one field of an object ---------------------------------------------------------------------------------------


def field_again(
    code: EditableCode, again: Sequence[ast.stmt], backward_pass: ast.stmt, place: ast.stmt
) -> Iterator[Fix]:
    """The one field that a backward pass needs of an object, `losses.actor`, computed again before a place and not the whole
    object: bound there where that lets it be, else under a name of its own."""
    found = (_needed_field(code, each, [*again, backward_pass]) for each in again if isinstance(each, ast.Assign))
    made, field = next((each for each in found if each is not None), (None, None))
    if made is None or field is None:
        return
    owner, whole = code.of(field.value), code.of(field)
    behind = [
        each for each in code.reads(code.scope(backward_pass), owner) if code.start(each) > code.end(backward_pass)
    ]
    others = [each for each in behind if (other := _field(code, each)) is None or code.of(other) != whole]
    if not others or not all(_is_reported(code, each) for each in others):
        return
    said, at, indent = f"Compute `{whole}` again before this backward", code.rows(place)[0], code.indent(place)
    if isinstance(field, ast.Subscript) or _may_be_bound(code, made.call, field):
        own = _row(code, made, indent, field, whole)
        rows = (own if each is made.statement else code.lifted(each, indent) for each in again)
        yield unsafe(said, Edit(at, at, "".join(rows)))
    elif (
        again == [made.statement]
        and all(_is_reported(code, each) for each in behind)
        and (name := _free_name(code, field))
    ):
        read = [code.parents[each] for each in code.reads(backward_pass, owner)]
        edits = (code.replaced(each, name) for each in read if isinstance(each, ast.expr))
        yield unsafe(said, Edit(at, at, _row(code, made, indent, field, name)), *edits)


def _needed_field(code: EditableCode, made: ast.Assign, users: Sequence[ast.stmt]) -> tuple[_Made, Field] | None:
    """A statement that binds what a call gives to a name, and the only field for which others read that."""
    target, value = made.targets[0], made.value
    if not isinstance(target, ast.Name) or not isinstance(value, ast.Call) or code.end(value) != code.end(made):
        return None
    fields = [_field(code, read) for each in users for read in code.reads(each, target.id)]
    field = next(iter(fields), None)
    is_alone = field is not None and all(each is not None and code.of(each) == code.of(field) for each in fields)
    return (_Made(made, value), field) if field is not None and is_alone and len(made.targets) == 1 else None


def _field(code: EditableCode, read: ast.expr) -> Field | None:
    """The attribute, or the item by a word, for which an object is read; None where it is read for more, or for a method."""
    up = code.parents[read]
    if isinstance(up, ast.Attribute):
        call = code.parents[up]
        return None if isinstance(call, ast.Call) and call.func is up else up
    if isinstance(up, ast.Subscript) and up.value is read and isinstance(up.slice, ast.Constant):
        return up if isinstance(up.slice.value, str) else None
    return None


def _is_reported(code: EditableCode, read: ast.expr) -> bool:
    """Whether of a field of an object only the number is taken, or the object is handed back as it is."""
    field = _field(code, read)
    return isinstance(code.parents[read], ast.Return) or (field is not None and code.gives_numbers(field))


def _may_be_bound(code: EditableCode, made: ast.Call, field: ast.Attribute) -> bool:
    """Whether an attribute of what a call makes may be bound: that is an object of a plain class of this text, which the call
    makes, or a function that it calls."""
    classes = {each.name: each for each in code.definitions if isinstance(each, ast.ClassDef)}
    functions = [n for n in code.below(code.tree) if isinstance(n, FunctionNode) and n.name == called(made)]
    results = [each.value for one in functions for each in ast.walk(one) if isinstance(each, ast.Return)] or [made]
    made_of = [classes.get(dotted(each.func)) if isinstance(each, ast.Call) else None for each in results]
    return all(each is not None and _is_plain(code, each, field.attr) for each in made_of)


def _is_plain(code: EditableCode, cls: ast.ClassDef, attribute: str) -> bool:
    """Whether an attribute of a class's objects may be bound: nothing there says otherwise."""
    told = [code.of(each) for each in cls.decorator_list]
    is_open = all(each.partition("(")[0].endswith("dataclass") and "frozen" not in each for each in told)
    own = {each.name for each in cls.body if isinstance(each, FunctionNode)}
    return is_open and not cls.bases and not cls.keywords and own.isdisjoint((attribute, "__setattr__"))


def _row(code: EditableCode, made: _Made, indent: str, field: Field, target: str) -> str:
    """The rows that bind a field of what a statement makes, under another indent and without the comment behind it."""
    statement = made.statement
    rows, behind = code.lifted(statement, indent), code.text[code.end(statement) : code.rows(statement)[1]]
    text = rows.rstrip("\r\n")
    value = text[len(indent) + code.start(made.call) - code.start(statement) : len(text) - len(behind.rstrip("\r\n"))]
    return f"{indent}{target} = {value}{code.of(field)[len(code.of(field.value)) :]}{rows[len(text) :]}"


def _free_name(code: EditableCode, field: ast.Attribute) -> str:
    """A name for a field that nothing of the text has, but for what classes declare; "" if none is at hand."""
    names = [each for each in code.below(code.tree) if isinstance(each, ast.Name)]
    taken = {each.id for each in names if not isinstance(code.parents[code.parents[each]], ast.ClassDef)}
    taken |= parameters(code.tree)
    return next((each for each in (field.attr, f"new_{field.attr}") if each not in taken), "")
