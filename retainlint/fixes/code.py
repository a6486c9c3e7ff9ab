"""A text as rows that are edited: where a statement's rows begin and end, and how they are indented."""

from __future__ import annotations

import ast
import io
import tokenize
from functools import cached_property
from typing import TypeVar

from retainlint.text.source import Source, Span
from retainlint.text.syntax import REFUSED, Body, ScopeNode, SyntaxTree, is_function

Node = TypeVar("Node", bound=ast.AST)


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


def _there(found: Node | None, kind: str) -> Node:
    if found is None:
        raise Uneditable(f"no {kind} of this text")
    return found
