"""Edits of whole statements: taking one out, putting one in, and what a run of statements reads and writes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence

from retainlint.diagnostic import Edit
from retainlint.fixes.code import EditableCode, Uneditable
from retainlint.text.source import INITIALISERS
from retainlint.text.syntax import Body, called

_TUNES = re.compile(r"step|zero_grad|clip_grad|unscale|optimi[sz]e|update")


def removed(code: EditableCode, statement: ast.stmt) -> Edit:
    """A statement taken out with its rows; Uneditable if its body would be empty."""
    if len(code.block(statement).statements) == 1:
        raise Uneditable("the only statement of a body")
    start, end = code.rows(statement)
    if start and not code.text[start:end].endswith(("\n", "\r")):  # the last row of a text stays without an end
        start -= 2 if code.text[:start].endswith("\r\n") else 1
    return Edit(start, end, "")


def before(code: EditableCode, statement: ast.stmt, text: str) -> Edit:
    """Rows of text, without indent and end, put before a statement."""
    at = code.rows(statement)[0]
    return Edit(at, at, _row(code, statement, text))


def decorated(code: EditableCode, function: ast.FunctionDef | ast.AsyncFunctionDef, decorator: str) -> Edit:
    """A decorator put beneath those that a function has, which may make a property of it, or a static method."""
    code.rows(function)  # which may be shared with others
    at = code.source.row_starts[code.row_of(code.start(function)) - 1]
    return Edit(at, at, _row(code, function, f"@{decorator}"))


def after(code: EditableCode, statement: ast.stmt, text: str) -> Edit:
    """The same behind it."""
    return _behind(code, statement, _row(code, statement, text))


def copied_before(code: EditableCode, statement: ast.stmt, moved: Iterable[ast.stmt], context: str = "") -> Edit:
    """Whole statements from elsewhere, as they are, put before one; all under a context, if one is given."""
    at, indent = code.rows(statement)[0], code.indent(statement)
    head = f"{indent}with {context}:{code.newline(statement)}" if context else ""
    inner = indent + code.unit if context else indent
    return Edit(at, at, head + "".join(code.lifted(each, inner) for each in moved))


def copied_after(code: EditableCode, statement: ast.stmt, moved: Iterable[ast.stmt]) -> Edit:
    indent = code.indent(statement)
    return _behind(code, statement, "".join(code.lifted(each, indent) for each in moved))


def first(body: Sequence[ast.stmt]) -> ast.stmt:
    """The statement of a body before which one may be put: the first behind the docstring."""
    opening = body[0]
    is_docstring = isinstance(opening, ast.Expr) and isinstance(opening.value, ast.Constant)
    return body[1] if is_docstring and len(body) > 1 else opening


def calls(statements: Iterable[ast.AST], names: re.Pattern[str]) -> list[ast.Call]:
    """Calls of methods or functions in whose names the pattern is found."""
    found = [node for each in statements for node in ast.walk(each) if isinstance(node, ast.Call)]
    return [call for call in found if names.search(called(call))]


def calls_of(statements: Iterable[ast.AST], *names: str) -> list[ast.Call]:
    """Calls of methods or functions that have one of these names."""
    found = [node for each in statements for node in ast.walk(each) if isinstance(node, ast.Call)]
    return [call for call in found if called(call) in names]


def tuning(statements: Iterable[ast.AST]) -> list[ast.Call]:
    """Calls that, by their names, use or drop the gradients of a backward pass; none of what is handed a number: a mean is
    updated with that."""
    return [call for call in calls(statements, _TUNES) if not calls_of(call.args, "item", "float")]


def backpropagated(statement: ast.stmt | None) -> ast.expr | None:
    """What a statement `X.backward()` walks, if it does nothing else, and gives no argument but a flag to keep."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return None
    call = statement.value
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "backward" or call.args:
        return None
    return call.func.value if all(word.arg == "retain_graph" for word in call.keywords) else None


def ended(code: EditableCode, node: ast.expr, ending: str) -> Edit:
    """An expression with something behind it (`.detach()`), in brackets where it needs them."""
    start, end = code.start(node), code.end(node)
    if isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
        return Edit(end, end, ending)
    if code.text[:start].endswith("(") and code.text[end:].startswith(")") and not _is_argument(code, node):
        return Edit(end + 1, end + 1, ending)
    return Edit(start, end, f"({code.text[start:end]}){ending}")


def detached(code: EditableCode, node: ast.expr) -> Edit:
    return ended(code, node, ".detach()")


def _is_argument(code: EditableCode, node: ast.expr) -> bool:
    """Whether the brackets right around it are those of a call, a class or a tuple."""
    return isinstance(code.parents[node], ast.Call | ast.ClassDef | ast.Tuple | ast.GeneratorExp)


_NUMBERS = frozenset({"item", "tolist", "detach", "float", "int", "bool", "str", "print"})
"""Calls that take no more than the numbers of a tensor."""


def gives_numbers(code: EditableCode, read: ast.expr) -> bool:
    """Whether no more than the numbers of a tensor, or of what operators and its methods make of it, are taken there."""
    node: ast.AST = read
    for up in code.above(read):
        if isinstance(up, ast.Call):
            if called(up) in _NUMBERS and (isinstance(up.func, ast.Attribute) == (node is up.func)):
                return True
            if node is not up.func:
                return False
        elif isinstance(up, ast.Compare | ast.FormattedValue) or (isinstance(up, ast.Attribute) and up.attr == "data"):
            return True
        elif not isinstance(up, ast.Attribute | ast.BinOp | ast.UnaryOp | ast.Subscript):
            return False
        node = up
    return False


def torch_name(code: EditableCode) -> str:
    """The name that the module has for torch; "" if it has none."""
    for node in code.tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "torch" or (alias.name.startswith("torch.") and alias.asname is None):
                    return alias.asname or "torch"
    return ""


def is_emptied(code: EditableCode, name: str) -> bool:
    """Whether a list is emptied, or made anew, anywhere but where its object is made."""
    written = (each for each in code.below(code.tree) if isinstance(each, ast.Assign) and code.writes(each, name))
    made = (getattr(code.scope(each), "name", "") for each in written)
    return f"{name}.clear(" in code.text or f"del {name}" in code.text or any(each not in INITIALISERS for each in made)


# -- what statements read and write ----------------------------------------------------------------------------


def reads(node: ast.AST) -> set[str]:
    """Names and attributes that are read, as `ast` spells them."""
    return {
        ast.unparse(each)
        for each in ast.walk(node)
        if isinstance(each, ast.Name | ast.Attribute) and isinstance(each.ctx, ast.Load)
    } | {ast.unparse(each.target) for each in ast.walk(node) if isinstance(each, ast.AugAssign)}


def writes(node: ast.AST) -> set[str]:
    """Names and attributes that are bound; a method called for itself may bind any attribute of its object."""
    inner = {
        id(name) for each in ast.walk(node) if isinstance(each, ast.comprehension) for name in ast.walk(each.target)
    }
    found = {
        ast.unparse(each)
        for each in ast.walk(node)
        if isinstance(each, ast.Name | ast.Attribute) and isinstance(each.ctx, ast.Store) and id(each) not in inner
    }
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        found.add(f"{ast.unparse(node.value.func.value)}.*")
    return found


def meets(written: set[str], read: set[str]) -> bool:
    """Whether something written may be something read: whoever is handed an object may read any attribute of it."""
    owners = tuple(name[:-1] for name in written if name.endswith(".*"))
    return bool(written & read) or any(f"{name}.".startswith(owners) for name in read if owners)


def dependents(start: ast.stmt, following: Sequence[ast.stmt], goal: set[str]) -> list[ast.stmt]:
    """`start` and those of the statements behind it that use what it makes, as far as the names of `goal` need them."""
    tainted = writes(start)
    chain = [start]
    for statement in following:
        if meets(tainted, reads(statement)):
            tainted |= writes(statement)
            chain.append(statement)
    needed, kept = set(goal), []
    for statement in reversed(chain):
        if meets(writes(statement), needed):
            needed |= reads(statement)
            kept.append(statement)
    return kept[::-1]


def around(code: EditableCode, block: Body, node: ast.AST) -> ast.stmt:
    """The statement of a block in which a node stands."""
    found = code.within(node, block.statements)
    if found is None:
        raise Uneditable("in another body")
    return found


def _row(code: EditableCode, statement: ast.stmt, text: str) -> str:
    newline, indent = code.newline(statement), code.indent(statement)
    return "".join(f"{indent}{row}{newline}" for row in text.split("\n"))


def _behind(code: EditableCode, statement: ast.stmt, rows: str) -> Edit:
    """Rows put behind a statement's; before the end of its last row, if the text or a cell ends there."""
    at, newline = code.rows(statement)[1], code.newline(statement)
    if at and code.text[at - 1] not in "\r\n":
        return Edit(at, at, newline + rows.removesuffix(newline))
    if at in code.source.cells:
        at -= 2 if code.text[:at].endswith("\r\n") else 1
        return Edit(at, at, newline + rows.removesuffix(newline))
    return Edit(at, at, rows)
