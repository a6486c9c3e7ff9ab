"""A text whose rows are edited: where a statement's begin and end, how they are indented, and what is put there or taken out."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterable
from functools import cached_property
from typing import TypeVar

from retainlint.diagnostic import Edit
from retainlint.fixes.statements import is_whole
from retainlint.text.source import INITIALISERS, Source, Span
from retainlint.text.syntax import REFUSED, Body, PlacedNode, ScopeNode, SyntaxTree, called, is_function

Node = TypeVar("Node", bound=ast.AST)

_NUMBERS = frozenset({"item", "tolist", "detach", "float", "int", "bool", "str", "print"})
"""Calls that take no more than the numbers of a tensor."""


class Uneditable(Exception):
    """The text, or a place in it, is not one that we edit."""


class EditableCode(SyntaxTree):
    """One text, parsed. Raises Uneditable for one that this Python can't parse."""

    def __init__(self, source: Source) -> None:
        try:
            super().__init__(source)
        except REFUSED as error:
            raise Uneditable("not a text that this Python can parse") from error

    # -- finding --------------------------------------------------------------------------------------------------

    def expression_at(self, span: Span) -> ast.expr:
        """The expression at a span. Raises Uneditable for one of another text, and if there is none."""
        return _there(self.expression(span), "expression")

    def call_at(self, span: Span) -> ast.Call:
        """The call at a span. Raises Uneditable, as do those around."""
        return _there(self.call(span), "call")

    def statement_at(self, span: Span) -> ast.stmt:
        """The innermost statement in which a span begins."""
        return _there(self.statement_of(span), "statement")

    def block(self, statement: ast.stmt) -> Body:
        """The body that a statement stands in."""
        if (found := self.body(statement)) is None:
            raise Uneditable("a statement outside of a body")
        return found

    def scope(self, node: ast.AST) -> ScopeNode:
        """The function that a node stands in, or the module. Raises Uneditable in a class or a lambda."""
        for up in self.above(node):
            if is_function(up) or isinstance(up, ast.Module):
                return up
            if isinstance(up, ast.Lambda | ast.ClassDef):
                raise Uneditable("in a class body or a lambda")
        raise Uneditable("nowhere")

    # -- rows -----------------------------------------------------------------------------------------------------

    @cached_property
    def unit(self) -> str:
        """By how much the text indents the first body there is."""
        return next(filter(None, map(self.unit_of, self.below(self.tree))), "    ")

    def unit_of(self, node: ast.AST) -> str:
        """By how much a statement's body is indented; "" for one that has none in rows of its own."""
        body = getattr(node, "body", None)
        if isinstance(node, ast.stmt) and isinstance(body, list) and self.row_of(self.start(body[0])) > node.lineno:
            outer, inner = self.indent(node), self.indent(body[0])
            return inner[len(outer) :] if inner.startswith(outer) else ""
        return ""

    def row_of(self, offset: int) -> int:
        return self.source.place(offset)[0]

    def indent(self, statement: ast.stmt) -> str:
        """The blanks before a statement. Raises Uneditable if there is more before it."""
        row = self.row_of(self.first(statement))
        before = self.text[self.source.row_starts[row - 1] : self.first(statement)]
        if before.strip(" \t\f"):
            raise Uneditable("several statements in a row")
        return before

    def rows(self, statement: ast.stmt) -> tuple[int, int]:
        """From where to where the rows of a statement go. Raises Uneditable if it shares them with others."""
        self.indent(statement)
        first, last = self.row_of(self.first(statement)), self.row_of(max(self.end(statement) - 1, 0))
        end = self._row_end(last)
        rest = self.text[self.end(statement) : end].strip()
        if rest and not rest.startswith("#"):
            raise Uneditable("several statements in a row")
        return self.source.row_starts[first - 1], end

    def _row_end(self, row: int) -> int:
        starts = self.source.row_starts
        return starts[row] if row < len(starts) else len(self.text)

    def newline(self, statement: ast.stmt) -> str:
        """How the row of a statement, or else the first of the text, ends."""
        return self.ending(self.row_of(self.start(statement))) or self.ending(1) or "\n"

    def ending(self, row: int) -> str:
        """How a row ends; "" for a last one without an end."""
        text = self.text[self.source.row_starts[row - 1] : self._row_end(row)]
        return text[len(text.rstrip("\r\n")) :]

    def lifted(self, statement: ast.stmt, indent: str) -> str:
        """The rows of a statement under another indent, ended by a newline; what stands in strings is left alone."""
        start, end = self.rows(statement)
        old = self.indent(statement)
        first = self.row_of(start)
        text = ""
        for row in range(first, self.row_of(max(end - 1, start)) + 1):
            line = self.text[self.source.row_starts[row - 1] : self._row_end(row)]
            if row not in self._inside_strings and line.startswith(old) and line.strip():
                line = indent + line[len(old) :]
            text += line
        return text if text.endswith(("\n", "\r")) else text + self.newline(statement)

    @cached_property
    def _inside_strings(self) -> set[int]:
        """Rows that begin within a string."""
        found: set[int] = set()
        rows = [self.source.row_text(row) for row in range(1, len(self.source.row_starts) + 1)]
        opened: list[int] = []
        for token in tokenize.generate_tokens(io.StringIO("\n".join(rows) + "\n").readline):
            kind = tokenize.tok_name[token.type]
            if kind == "STRING":
                found.update(range(token.start[0] + 1, token.end[0] + 1))
            elif kind.endswith("STRING_START"):
                opened.append(token.start[0])
            elif kind.endswith("STRING_END"):
                found.update(range(opened.pop() + 1, token.end[0] + 1))
        return found

    # -- edits -------------------------------------------------------------------------------------------------------

    def replaced(self, node: PlacedNode, text: str) -> Edit:
        """A node with another text in its place."""
        return Edit(self.start(node), self.end(node), text)

    def removed(self, statement: ast.stmt) -> Edit:
        """A statement taken out with its rows; Uneditable if its body would be empty."""
        if len(self.block(statement).statements) == 1:
            raise Uneditable("the only statement of a body")
        start, end = self.rows(statement)
        if start and not self.text[start:end].endswith(("\n", "\r")):  # the last row of a text stays without an end
            start -= 2 if self.text[:start].endswith("\r\n") else 1
        return Edit(start, end, "")

    def before(self, statement: ast.stmt, text: str) -> Edit:
        """Rows of text, without indent and end, put before a statement."""
        at = self.rows(statement)[0]
        return Edit(at, at, self._row(statement, text))

    def after(self, statement: ast.stmt, text: str) -> Edit:
        """The same behind it."""
        return self._behind(statement, self._row(statement, text))

    def copied_before(self, statement: ast.stmt, moved: Iterable[ast.stmt], context: str = "") -> Edit:
        """Whole statements from elsewhere, as they are, put before one; all under a context, if one is given."""
        at, indent = self.rows(statement)[0], self.indent(statement)
        head = f"{indent}with {context}:{self.newline(statement)}" if context else ""
        inner = indent + self.unit if context else indent
        return Edit(at, at, head + "".join(self.lifted(each, inner) for each in moved))

    def copied_after(self, statement: ast.stmt, moved: Iterable[ast.stmt]) -> Edit:
        indent = self.indent(statement)
        return self._behind(statement, "".join(self.lifted(each, indent) for each in moved))

    def decorated(self, function: ast.FunctionDef | ast.AsyncFunctionDef, decorator: str) -> Edit:
        """A decorator put beneath those that a function has, which may make a property of it, or a static method."""
        self.rows(function)  # which may be shared with others
        at = self.source.row_starts[self.row_of(self.start(function)) - 1]
        return Edit(at, at, self._row(function, f"@{decorator}"))

    def ended(self, node: ast.expr, ending: str) -> Edit:
        """An expression with something behind it (`.detach()`), in brackets where it needs them."""
        start, end = self.start(node), self.end(node)
        if is_whole(node):
            return Edit(end, end, ending)
        if self.text[:start].endswith("(") and self.text[end:].startswith(")") and not self._is_argument(node):
            return Edit(end + 1, end + 1, ending)
        return self.replaced(node, f"({self.of(node)}){ending}")

    def detached(self, node: ast.expr) -> Edit:
        return self.ended(node, ".detach()")

    def _is_argument(self, node: ast.expr) -> bool:
        """Whether the brackets right around it are those of a call, a class or a tuple."""
        return isinstance(self.parents[node], ast.Call | ast.ClassDef | ast.Tuple | ast.GeneratorExp)

    def _row(self, statement: ast.stmt, text: str) -> str:
        newline, indent = self.newline(statement), self.indent(statement)
        return "".join(f"{indent}{row}{newline}" for row in text.split("\n"))

    def _behind(self, statement: ast.stmt, rows: str) -> Edit:
        """Rows put behind a statement's; before the end of its last row, if the text or a cell ends there."""
        at, newline = self.rows(statement)[1], self.newline(statement)
        if at and self.text[at - 1] not in "\r\n":
            return Edit(at, at, newline + rows.removesuffix(newline))
        if at in self.source.cells:
            at -= 2 if self.text[:at].endswith("\r\n") else 1
            return Edit(at, at, newline + rows.removesuffix(newline))
        return Edit(at, at, rows)

    # -- asking ------------------------------------------------------------------------------------------------------

    @cached_property
    def torch(self) -> str:
        """The name that the module has for torch; "" if it has none."""
        for node in self.tree.body:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name == "torch" or (alias.name.startswith("torch.") and alias.asname is None):
                        return alias.asname or "torch"
        return ""

    def gives_numbers(self, read: ast.expr) -> bool:
        """Whether no more than the numbers of a tensor, or of what operators and its methods make of it, are taken there."""
        node: ast.AST = read
        for up in self.above(read):
            if isinstance(up, ast.Call):
                if called(up) in _NUMBERS and (isinstance(up.func, ast.Attribute) == (node is up.func)):
                    return True
                if node is not up.func:
                    return False
            elif isinstance(up, ast.Compare | ast.FormattedValue) or (
                isinstance(up, ast.Attribute) and up.attr == "data"
            ):
                return True
            elif not isinstance(up, ast.Attribute | ast.BinOp | ast.UnaryOp | ast.Subscript):
                return False
            node = up
        return False

    def is_emptied(self, name: str) -> bool:
        """Whether a list is emptied, or made anew, anywhere but where its object is made."""
        written = (each for each in self.below(self.tree) if isinstance(each, ast.Assign) and self.writes(each, name))
        made = (getattr(self.scope(each), "name", "") for each in written)
        return (
            f"{name}.clear(" in self.text
            or f"del {name}" in self.text
            or any(each not in INITIALISERS for each in made)
        )

    def around(self, block: Body, node: ast.AST) -> ast.stmt:
        """The statement of a block in which a node stands."""
        found = self.within(node, block.statements)
        if found is None:
            raise Uneditable("in another body")
        return found


def _there(found: Node | None, kind: str) -> Node:
    if found is None:
        raise Uneditable(f"no {kind} of this text")
    return found
