"""A text as Python's own tree, with offsets: where each statement and expression stands, what is around it, and what it names."""

from __future__ import annotations

import ast
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import accumulate
from typing import TypeAlias, TypeGuard

from retainlint.startup.records import record
from retainlint.text.recalling import recalled
from retainlint.text.source import Source, Span

LoopNode: TypeAlias = ast.For | ast.AsyncFor | ast.While
FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
ScopeNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Module
NamedNode: TypeAlias = ast.Name | ast.Attribute | ast.Subscript
PlacedNode: TypeAlias = ast.expr | ast.stmt | ast.keyword
Assignment: TypeAlias = ast.Assign | ast.AnnAssign | ast.AugAssign

REFUSED = (SyntaxError, ValueError, IndexError, RecursionError, MemoryError)
"""What this Python raises for a text that it can't read, and what comes of places in f-strings before 3.12."""

LONGEST = 400
"""Characters of an item that may be asked for by how it is spelt: nobody carries a longer one on, and each takes its time."""

PARTS = 30
"""The same of the parts of a dotted name."""


def tree_of(text: str) -> ast.Module:
    """Python's own tree of a text, without a word about what it holds. Raises one of those that are `REFUSED`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


@record
class Body:
    """The statements of one body, and what holds them."""

    owner: ast.AST
    statements: list[ast.stmt]

    def upto(self, first: ast.stmt, last: ast.stmt) -> list[ast.stmt]:
        """The statements between two of them."""
        return self.statements[self.statements.index(first) + 1 : self.statements.index(last)]

    def before(self, statement: ast.stmt) -> list[ast.stmt]:
        """Those above one of them."""
        return self.statements[: self.statements.index(statement)]

    def behind(self, statement: ast.stmt) -> list[ast.stmt]:
        """Those below one of them."""
        return self.statements[self.statements.index(statement) + 1 :]


class SyntaxTree:
    """One text, parsed. Raises one of those that are `REFUSED` for one that this Python can't parse, unless a tree is given."""

    def __init__(self, source: Source, tree: ast.Module | None = None) -> None:
        self.source, self.text = source, source.text
        self.tree = tree_of(source.text) if tree is None else tree
        self._below: dict[ast.AST, list[ast.AST]] = {}
        self._bytes: dict[int, list[int]] = {}
        self._spelt: dict[ast.expr, str] = {}
        self._names: dict[tuple[ast.AST, bool], dict[str, list[NamedNode]]] = {}

    # -- places ---------------------------------------------------------------------------------------------------

    def start(self, node: PlacedNode) -> int:
        return self._offset(node.lineno, node.col_offset)

    def end(self, node: PlacedNode) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._offset(node.end_lineno, node.end_col_offset)

    def of(self, node: PlacedNode) -> str:
        """The text of a node."""
        return self.text[self.start(node) : self.end(node)]

    def _offset(self, row: int, column: int) -> int:
        """Of a row from 1 and a column that counts the bytes of UTF-8."""
        row = min(row, len(self.source.row_starts))  # within f-strings Python may count on
        at = self.source.row_starts[row - 1]
        if self.text.isascii():
            return at + column
        known = self._bytes.get(row)
        if known is None:  # a row may be long, and hold many nodes
            text = self.source.row_text(row)
            widths = () if text.isascii() else (len(character.encode()) for character in text)
            known = self._bytes[row] = [*accumulate(widths, initial=0)]
        return at + (bisect_left(known, column) if len(known) > 1 else column)

    def first(self, statement: ast.stmt) -> int:
        """Where a statement starts, its decorators counted in."""
        decorators = getattr(statement, "decorator_list", [])
        return self.decorator(decorators[0]) if decorators else self.start(statement)

    def decorator(self, node: ast.expr) -> int:
        """Where a decorator starts, with its sign."""
        return self.text.rindex("@", 0, self.start(node))

    @cached_property
    def calls(self) -> list[ast.Call]:
        """All of the text, from outside inwards."""
        return [node for node in self.below(self.tree) if isinstance(node, ast.Call)]

    @cached_property
    def bindings(self) -> list[Binding]:
        """What the statements of the text bind, in their order."""
        return [each for _, node in self._statements for each in bindings(node)]

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in self.below(self.tree) for child in ast.iter_child_nodes(node)}

    def below(self, node: ast.AST) -> list[ast.AST]:
        """A node and all that it holds, from outside inwards."""
        if node not in self._below:
            self._below[node] = [*ast.walk(node)]
        return self._below[node]

    def above(self, node: ast.AST | None) -> Iterator[ast.AST]:
        """What holds a node, the nearest first."""
        while node is not None and (node := self.parents.get(node)) is not None:
            yield node

    def taken(self, node: ast.AST | None) -> Iterator[ast.AST]:
        """What is taken of a node, one of the other: an attribute, an item, what a call gives."""
        for up in self.above(node):
            if head(up) is not node:
                return
            yield up
            node = up

    def loop_around(self, node: ast.AST) -> LoopNode | None:
        return next((up for up in self.above(node) if isinstance(up, LoopNode)), None)

    def function_around(self, node: ast.AST) -> FunctionNode | None:
        return next((up for up in self.above(node) if is_function(up)), None)

    def class_around(self, node: ast.AST) -> ast.ClassDef | None:
        return next((up for up in self.above(node) if isinstance(up, ast.ClassDef)), None)

    def scope_around(self, node: ast.AST) -> ScopeNode:
        """The function around, or the module."""
        return self.function_around(node) or self.tree

    def own(self, statement: ast.AST) -> Iterator[ast.AST]:
        """A statement and its expressions, without the statements in it."""
        pending = [statement]
        while pending:
            yield (node := pending.pop())
            pending += [each for each in ast.iter_child_nodes(node) if not isinstance(each, ast.stmt)]

    @cached_property
    def definitions(self) -> list[FunctionNode | ast.ClassDef]:
        """The functions and classes of the module."""
        return [node for node in self.tree.body if isinstance(node, FunctionNode | ast.ClassDef)]

    # -- finding --------------------------------------------------------------------------------------------------

    def expression(self, span: Span) -> ast.expr | None:
        """The largest expression that stands exactly at a span, or in the same brackets; None at one of another text."""
        if span.source is not self.source:
            return None
        known = self._expressions
        return known.get((span.start, span.end)) or known.get(self._bare(span.start, span.end))

    @cached_property
    def _expressions(self) -> dict[tuple[int, int], ast.expr]:
        """By where they start and end, of several the outermost; none in f-strings, whose places Python doesn't always know."""
        found: dict[tuple[int, int], ast.expr] = {}
        for node in self.below(self.tree):
            if isinstance(node, ast.expr) and node not in self._in_strings:
                found.setdefault((self.start(node), self.end(node)), node)
        return found

    def _bare(self, start: int, end: int) -> tuple[int, int]:
        """A span without brackets around the whole of it."""
        text = self.text[start:end]
        try:
            node = ast.parse(text.strip(), mode="eval").body
        except REFUSED:
            return start, end
        inner = SyntaxTree(Source("", text.strip()), ast.Module([], []))
        start += len(text) - len(text.lstrip())
        return start + inner.start(node), start + inner.end(node)

    @cached_property
    def _in_strings(self) -> set[ast.AST]:
        """All that stands in f-strings."""
        texts = (node for node in self.below(self.tree) if isinstance(node, ast.JoinedStr))
        return {each for text in texts for each in ast.walk(text) if each is not text}

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
        at = bisect_right(self._starts, offset)
        node: ast.AST | None = self._statements[at - 1][1] if at else None
        while node is not None and not (isinstance(node, ast.stmt) and offset < self.end(node)):
            node = self.parents.get(node)
        return node

    @cached_property
    def _statements(self) -> list[tuple[int, ast.stmt]]:
        """All statements with where they start, in the order of the text."""
        found = ((self.start(node), node) for node in self.below(self.tree) if isinstance(node, ast.stmt))
        return sorted(found, key=lambda each: each[0])

    @cached_property
    def _starts(self) -> list[int]:
        return [start for start, _ in self._statements]

    def headed(self, span: Span) -> LoopNode | FunctionNode | None:
        """The loop or function whose header starts where a span does; None at one of another text."""
        found = self.statement_of(span)
        is_headed = isinstance(found, LoopNode | FunctionNode) and self.start(found) == span.start
        return found if is_headed and isinstance(found, LoopNode | FunctionNode) else None

    def body(self, statement: ast.stmt) -> Body | None:
        """The body that a statement stands in."""
        owner = self.parents.get(statement)
        for name in ("body", "orelse", "finalbody", "handlers"):
            statements = getattr(owner, name, None)
            if owner is not None and isinstance(statements, list) and statement in statements:
                return Body(owner, statements)
        return None

    def within(self, statement: ast.AST, body: Sequence[ast.stmt]) -> ast.stmt | None:
        """The one of the statements of a body that is, or holds, another."""
        chain = {statement, *self.above(statement)}
        return next((each for each in body if each in chain), None)

    # -- names ----------------------------------------------------------------------------------------------------

    def reads(self, inside: ast.AST, name: str) -> list[ast.expr]:
        """Where a name, an attribute or an item, as it is spelt, is read; in the order of the text."""
        found = (node for node in self.named(inside, name) if isinstance(node.ctx, ast.Load))
        return sorted((node for node in found if node not in self._in_strings), key=self.start)

    def writes(self, inside: ast.AST, name: str) -> list[ast.expr]:
        """Where it is bound."""
        found = (node for node in self.named(inside, name) if isinstance(node.ctx, ast.Store))
        return sorted(found, key=self.start)

    def holds(self, name: str) -> bool:
        """Whether a name, an attribute or an item is written in the text as code. What only a string of it holds, or what
        was worked out of one, is no code, and is not to become any."""
        return bool(self.named(self.tree, name))

    def named(self, inside: ast.AST, name: str) -> Sequence[NamedNode]:
        """Where a name, an attribute or an item, as it is spelt, is read, bound or deleted."""
        if (wanted := normalized(name)) is None:
            return ()
        is_dotted = all(part.isidentifier() for part in wanted.split("."))
        return self._index(inside, computed=not is_dotted).get(wanted, ())

    def alike(self, name: str) -> Sequence[NamedNode]:
        """The same in the whole text; the attribute of another object is one of `self` in that object's methods."""
        owner, _, last = name.rpartition(".")
        if owner in ("", "self"):
            return self.named(self.tree, name)
        known = self._index(self.tree, computed=False).items()
        return [node for spelling, nodes in known if spelling.endswith(f".{last}") for node in nodes]

    def bound_as(self, name: str) -> list[Binding]:
        """What the statements of the text bind to what is named like that."""
        nodes = {*self.alike(name)}
        return [each for each in self.bindings if each.target in nodes]

    def calls_on(self, name: str) -> list[ast.Call]:
        """Calls of methods of what is named like that."""
        taken = (up for node in self.alike(name) if isinstance(up := self.parents[node], ast.Attribute))
        return [call for up in taken if isinstance(call := self.parents[up], ast.Call) and call.func is up]

    def bound_in(self, scope: ast.AST) -> list[Binding]:
        """What those of a function, or of the module, bind to names: in functions within it, to attributes alone."""
        there = (each for node in self.below(scope) for each in bindings(node) if each.name)
        own = [each for each in there if "." in each.name or self.scope_around(each.statement) is scope]
        return sorted(own, key=lambda each: self.start(each.statement))

    def _index(self, inside: ast.AST, *, computed: bool) -> dict[str, list[NamedNode]]:
        """What is named by how it is spelt: dotted names, or all; for most questions the first will do, and is made fast."""
        found = self._names.get((inside, computed))
        if found is None:
            found = self._names[inside, computed] = {}
            for node in self.below(inside):
                if isinstance(node, NamedNode):
                    found.setdefault(self.spelling(node) if computed else dotted(node), []).append(node)
            found.pop("", None)
        return found

    def spelling(self, node: ast.expr) -> str:
        """An expression as `ast` writes it; "" of a long one."""
        if name := dotted(node):
            return name
        if node not in self._spelt:
            self._spelt[node] = ""
            if self.end(node) - self.start(node) <= LONGEST:
                with suppress(RecursionError):
                    self._spelt[node] = ast.unparse(node)
        return self._spelt[node]


@recalled
def syntax_of(source: Source) -> SyntaxTree:
    """A text, parsed; one that this Python can't parse is as an empty one: nothing stands anywhere in it."""
    try:
        return SyntaxTree(source)
    except REFUSED:
        return SyntaxTree(source, ast.Module([], []))


def dotted(node: ast.AST) -> str:
    """A name, or an attribute of what has one, as it is spelt; "" of anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) < PARTS:
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def normalized(name: str) -> str | None:
    """A name, attribute or item as `ast` would write it; None for any other expression."""
    try:
        node = ast.parse(name, mode="eval").body
        return ast.unparse(node) if isinstance(node, NamedNode) else None
    except REFUSED:
        return None


def called(call: ast.Call) -> str:
    """The last name of what is called."""
    func = call.func
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""


def head(node: ast.AST) -> ast.expr | None:
    """What is called, or of what an item or an attribute is taken."""
    return (
        node.func
        if isinstance(node, ast.Call)
        else node.value
        if isinstance(node, ast.Attribute | ast.Subscript)
        else None
    )


def heads(node: ast.expr | None) -> Iterator[ast.expr]:
    """An expression, and what it begins with: of `f(x)[0].y` also `f(x)[0]`, `f(x)` and `f`."""
    while node is not None:
        yield node
        node = head(node)


def without_items(node: ast.expr) -> ast.expr:
    """What items are taken of: of `x[0][1:]` it is `x`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def names(node: ast.AST) -> set[str]:
    """The dotted names in it, with those that they begin with."""
    return {dotted(each) for each in ast.walk(node)} - {""}


def is_function(node: ast.AST) -> TypeGuard[FunctionNode]:
    return isinstance(node, FunctionNode)


@record
class Binding:
    """A name, an attribute or an item that a statement binds, and to what: of a tuple each to its own part, if those are
    written out."""

    target: ast.expr
    value: ast.expr
    statement: Assignment

    @property
    def name(self) -> str:
        """The name, or "" for an item."""
        return dotted(self.target)

    @property
    def is_anew(self) -> bool:
        """Whether what was there before doesn't matter."""
        return not isinstance(self.statement, ast.AugAssign)


def bindings(statement: ast.AST | None) -> Iterator[Binding]:
    """What an assignment binds; nothing of another statement."""
    if not isinstance(statement, Assignment) or statement.value is None:
        return
    for target in statement.targets if isinstance(statement, ast.Assign) else (statement.target,):
        for each, value in paired(target, statement.value):
            yield Binding(each, value, statement)


def paired(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What a target binds, each with its own part of a value, else with the whole."""
    if not isinstance(target, ast.Tuple | ast.List):
        yield target.value if isinstance(target, ast.Starred) else target, value
        return
    parts = value.elts if isinstance(value, ast.Tuple | ast.List) else []
    is_unpacked = any(isinstance(each, ast.Starred) for each in (*target.elts, *parts))
    values = parts if len(parts) == len(target.elts) and not is_unpacked else [value] * len(target.elts)
    for each, part in zip(target.elts, values):
        yield from paired(each, part)


def bound(node: ast.AST) -> set[str]:
    """The plain names that a statement binds."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


def parameters(node: ast.AST) -> set[str]:
    """The names of the arguments that functions within it take."""
    return {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
