"""A text as statements and expressions with offsets, for those who edit it: where each stands, and what is around it."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, TypeGuard, TypeVar

from retainlint.text.source import Source, Span

LoopNode: TypeAlias = ast.For | ast.AsyncFor | ast.While
FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
ScopeNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Module
Node = TypeVar("Node", bound=ast.AST)


class Uneditable(Exception):
    """The text, or a place in it, is not one that we edit."""


@dataclass(frozen=True)
class Body:
    """The statements of one body, and what holds them."""

    owner: ast.AST
    statements: list[ast.stmt]

    def upto(self, first: ast.stmt, last: ast.stmt) -> list[ast.stmt]:
        """The statements between two of them."""
        return self.statements[self.statements.index(first) + 1 : self.statements.index(last)]


class EditableCode:
    """One text, parsed. Raises Uneditable for one that this Python can't parse."""

    def __init__(self, source: Source) -> None:
        self.source, self.text = source, source.text
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.tree = ast.parse(source.text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise Uneditable("not a text that this Python can parse") from error
        self._below: dict[ast.AST, list[ast.AST]] = {}
        self._spelt: dict[ast.expr, str] = {}
        self._names: dict[ast.AST, dict[str, list[ast.Name | ast.Attribute | ast.Subscript]]] = {}

    # -- places ---------------------------------------------------------------------------------------------------

    def start(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        return self._offset(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._offset(node.end_lineno, node.end_col_offset)

    def of(self, node: ast.expr | ast.stmt | ast.keyword) -> str:
        """The text of a node."""
        return self.text[self.start(node) : self.end(node)]

    def _offset(self, row: int, column: int) -> int:
        """Of a row from 1 and a column that counts the bytes of UTF-8."""
        at = self.source.row_starts[row - 1]
        text = self.text[at : at + column]
        return at + (column if text.isascii() else len(self.source.row_text(row).encode()[:column].decode()))

    @cached_property
    def calls(self) -> list[ast.Call]:
        """All of the text, from outside inwards."""
        return [node for node in self.below(self.tree) if isinstance(node, ast.Call)]

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in self.below(self.tree) for child in ast.iter_child_nodes(node)}

    def below(self, node: ast.AST) -> list[ast.AST]:
        """A node and all that it holds, from outside inwards."""
        if node not in self._below:
            self._below[node] = [*ast.walk(node)]
        return self._below[node]

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """What holds a node, the nearest first."""
        while (up := self.parents.get(node)) is not None:
            yield up
            node = up

    def loop_around(self, node: ast.AST) -> LoopNode | None:
        return next((up for up in self.above(node) if isinstance(up, ast.For | ast.AsyncFor | ast.While)), None)

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

    @cached_property
    def definitions(self) -> list[FunctionNode | ast.ClassDef]:
        """The functions and classes of the module."""
        return [
            node for node in self.tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        ]

    # -- finding --------------------------------------------------------------------------------------------------

    def expression(self, span: Span) -> ast.expr | None:
        """The largest expression that stands exactly at a span, or in the same brackets; None at one of another text."""
        if span.source is not self.source:
            return None
        found = self._expressions.get(self._bare(span.start, span.end), ())
        return next((node for node in found if not self._in_string(node)), None)

    @cached_property
    def _expressions(self) -> dict[tuple[int, int], list[ast.expr]]:
        """By where they start and end, the outer ones first."""
        found: dict[tuple[int, int], list[ast.expr]] = {}
        for node in self.below(self.tree):
            if isinstance(node, ast.expr):
                found.setdefault((self.start(node), self.end(node)), []).append(node)
        return found

    def _bare(self, start: int, end: int) -> tuple[int, int]:
        """A span without brackets around the whole of it."""
        text = self.text[start:end]
        try:
            node = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError):
            return start, end
        inner = EditableCode.__new__(EditableCode)
        inner.text, inner.source = text.strip(), Source("", text.strip())
        start += len(text) - len(text.lstrip())
        return start + inner.start(node), start + inner.end(node)

    def _in_string(self, node: ast.AST) -> bool:
        return any(isinstance(up, ast.JoinedStr) for up in self.above(node))

    def expression_at(self, span: Span) -> ast.expr:
        """The expression at a span. Raises Uneditable for one of another text, and if there is none."""
        return _there(self.expression(span), "expression")

    def call_at(self, span: Span) -> ast.Call:
        """The call at a span. Raises Uneditable, as do those around."""
        return _there(self.call(span), "call")

    def statement_at(self, span: Span) -> ast.stmt:
        """The innermost statement in which a span begins."""
        return _there(self.statement_of(span), "statement")

    def call(self, span: Span) -> ast.Call | None:
        """The call at a span."""
        found = self.expression(span)
        if isinstance(found, ast.Await):
            found = found.value
        return found if isinstance(found, ast.Call) else None

    def statement_of(self, span: Span) -> ast.stmt | None:
        """The innermost statement in which a span begins; None for one of another text."""
        return self.statement(span.start) if span.source is self.source else None

    def statement(self, offset: int) -> ast.stmt | None:
        """The innermost statement that a character stands in."""
        return next((node for start, end, node in self._statements if start <= offset < end), None)

    @cached_property
    def _statements(self) -> list[tuple[int, int, ast.stmt]]:
        """All statements with their places, the innermost first."""
        found = [node for node in self.below(self.tree) if isinstance(node, ast.stmt)]
        return [(self.start(node), self.end(node), node) for node in reversed(found)]

    def headed(self, span: Span) -> LoopNode | FunctionNode | None:
        """The loop or function whose header starts where a span does; None at one of another text."""
        if span.source is not self.source:
            return None
        for node in self.below(self.tree):
            if isinstance(node, ast.For | ast.AsyncFor | ast.While | ast.FunctionDef | ast.AsyncFunctionDef):
                if self.start(node) == span.start:
                    return node
        return None

    def block(self, statement: ast.stmt) -> Body:
        """The body that a statement stands in."""
        owner = self.parents[statement]
        for name in ("body", "orelse", "finalbody", "handlers"):
            statements = getattr(owner, name, None)
            if isinstance(statements, list) and statement in statements:
                return Body(owner, statements)
        raise Uneditable("a statement outside of a body")

    def scope(self, node: ast.AST) -> ScopeNode:
        """The function that a node stands in, or the module. Raises Uneditable in a class or a lambda."""
        for up in self.above(node):
            if isinstance(up, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
                return up
            if isinstance(up, ast.Lambda | ast.ClassDef):
                raise Uneditable("in a class body or a lambda")
        raise Uneditable("nowhere")

    def within(self, statement: ast.AST, body: Sequence[ast.stmt]) -> ast.stmt | None:
        """The one of the statements of a body that is, or holds, another."""
        chain = {statement, *self.above(statement)}
        return next((each for each in body if each in chain), None)

    # -- names ----------------------------------------------------------------------------------------------------

    def reads(self, inside: ast.AST, name: str) -> list[ast.expr]:
        """Where a name, an attribute or an item, as it is spelt, is read; in the order of the text."""
        found = (node for node in self._named(inside, name) if isinstance(node.ctx, ast.Load))
        return sorted((node for node in found if not self._in_string(node)), key=self.start)

    def writes(self, inside: ast.AST, name: str) -> list[ast.expr]:
        """Where it is bound."""
        found = (node for node in self._named(inside, name) if isinstance(node.ctx, ast.Store))
        return sorted(found, key=self.start)

    def holds(self, name: str) -> bool:
        """Whether a name, an attribute or an item is written in the text as code. What only a string of it holds, or what
        was worked out of one, is no code, and is not to become any."""
        return bool(self._named(self.tree, name))

    def _named(self, inside: ast.AST, name: str) -> Sequence[ast.Name | ast.Attribute | ast.Subscript]:
        wanted = normalized(name)
        if wanted is not None and inside not in self._names:
            found = self._names[inside] = {}
            for node in self.below(inside):
                if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
                    found.setdefault(self._spelling(node), []).append(node)
        return self._names[inside].get(wanted, ()) if wanted is not None else ()

    def _spelling(self, node: ast.expr) -> str:
        """An expression as `ast` writes it."""
        if isinstance(node, ast.Name):
            return node.id
        if node not in self._spelt:
            self._spelt[node] = ast.unparse(node)
        return self._spelt[node]

    # -- rows -----------------------------------------------------------------------------------------------------

    def row_of(self, offset: int) -> int:
        return self.source.place(offset)[0]

    def indent(self, statement: ast.stmt) -> str:
        """The blanks before a statement. Raises Uneditable if there is more before it."""
        row = self.row_of(self._first(statement))
        before = self.text[self.source.row_starts[row - 1] : self._first(statement)]
        if before.strip(" \t\f"):
            raise Uneditable("several statements in a row")
        return before

    def rows(self, statement: ast.stmt) -> tuple[int, int]:
        """From where to where the rows of a statement go. Raises Uneditable if it shares them with others."""
        self.indent(statement)
        first, last = self.row_of(self._first(statement)), self.row_of(max(self.end(statement) - 1, 0))
        end = self._row_end(last)
        rest = self.text[self.end(statement) : end].strip()
        if rest and not rest.startswith("#"):
            raise Uneditable("several statements in a row")
        return self.source.row_starts[first - 1], end

    def _first(self, statement: ast.stmt) -> int:
        """Where a statement starts, its decorators counted in."""
        decorators = getattr(statement, "decorator_list", [])
        if not decorators:
            return self.start(statement)
        return self.text.rindex("@", 0, self.start(decorators[0]))

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


def normalized(name: str) -> str | None:
    """A name, attribute or item as `ast` would write it; None for any other expression."""
    try:
        node = ast.parse(name, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    return ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) else None


def is_function(node: ast.AST) -> TypeGuard[FunctionNode]:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def bound(node: ast.AST) -> set[str]:
    """The plain names that a statement binds."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


def parameters(node: ast.AST) -> set[str]:
    """The names of the arguments that functions within it take."""
    return {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
