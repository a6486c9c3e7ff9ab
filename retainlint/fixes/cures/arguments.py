"""Edits of a call's keyword arguments: one added, one taken out, one renamed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from retainlint.diagnostic import Diagnostic, DropRetain, RenameArgument
from retainlint.fixes.code import Code, Uneditable
from retainlint.fixes.edits import Applicability, Edit, Fix


def with_argument(code: Code, call: ast.Call, name: str, value: str) -> Edit:
    """A keyword argument put into a call, or given another value."""
    for word in call.keywords:
        if word.arg == name:
            return Edit(code.start(word.value), code.end(word.value), value)
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


def without_argument(code: Code, call: ast.Call, argument: ast.expr | ast.keyword) -> Edit:
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


def drop_retain(code: Code, cure: DropRetain, diagnostic: Diagnostic) -> Iterator[Fix]:
    call = code.call(cure.backward_pass) if cure.backward_pass.source is code.source else None
    if call is None:
        return
    for word in call.keywords:
        if word.arg == "retain_graph":
            edit = without_argument(code, call, word)
            yield Fix(Applicability.SAFE, f"Remove `{code.of(word)}`", (edit,))
    for argument in call.args:
        if code.start(argument) == cure.value.start:
            behind = [each for each in call.args if code.start(each) > code.start(argument)]
            edit = Edit(cure.value.start, cure.value.end, "None") if behind else without_argument(code, call, argument)
            yield Fix(Applicability.SAFE, "Don't retain the graph", (edit,))


def rename_argument(code: Code, cure: RenameArgument, diagnostic: Diagnostic) -> Iterator[Fix]:
    call = code.call(cure.call) if cure.call.source is code.source else None
    if call is None:
        return
    given = {word.arg for word in call.keywords}
    for word in call.keywords:
        if word.arg != cure.old:
            continue
        if not cure.new or cure.new in given:
            edit = without_argument(code, call, word)
            yield Fix(Applicability.SAFE, f"Remove `{code.of(word)}`", (edit,))
        else:
            start = code.start(word)
            edit = Edit(start, start + len(cure.old), cure.new)
            yield Fix(Applicability.SAFE, f"Rename `{cure.old}` to `{cure.new}`", (edit,))


def _behind_brackets(code: Code, at: int, stop: int) -> int:
    """Behind the closing brackets that an expression, which ends here, stands in."""
    while match := re.match(r"\s*\)", code.text[at:stop]):
        at += match.end()
    return at
