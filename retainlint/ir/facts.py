"""What the body of a function, class or module speaks of, calls, sets on its object and detaches, told by Python's own tree: nothing is lowered for that, and nobody reads its text besides."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache
from typing import Any

from retainlint.startup.records import record
from retainlint.text.recalling import recalled
from retainlint.text.source import Source, Span
from retainlint.text.syntax import REFUSED, paired, tree_of


@record(eq=False)
class Call:
    """A call of something that has a name. The receiver is the word before the dot: "" for none, "super()", and ")" for
    what is computed."""

    receiver: str
    name: str
    node: ast.Call

    @cached_property
    def given(self) -> frozenset[str]:
        """The names in its arguments."""
        return frozenset(name for each in self._arguments() for name in _words(each))

    @cached_property
    def is_given_new(self) -> bool:
        """Whether something is made for it, or handed out of the caller's own object."""
        return any(isinstance(each, _MAKING) or _own(each) for each in self._arguments())

    def switches(self) -> bool | None:
        """The one answer that it is given, if it is written there."""
        match self.node:
            case ast.Call(args=[ast.Constant(value=bool(answer))], keywords=[]):
                return answer
        return None

    def _arguments(self) -> Iterator[ast.AST]:
        for each in (*self.node.args, *self.node.keywords):
            yield from ast.walk(each.value if isinstance(each, ast.keyword) else each)


_MAKING = (ast.Call, ast.Tuple, ast.GeneratorExp)


@record(eq=False)
class Facts:
    """What is known of some code, with the functions, classes and loops that stand in it."""

    names: frozenset[str] = frozenset()  # all that is spelt: names, attributes, arguments, and texts that are a name
    texts: frozenset[str] = frozenset()  # of these the texts
    attributes: frozenset[str] = frozenset()
    defined: frozenset[str] = frozenset()  # functions and classes
    imported: frozenset[str] = frozenset()  # what imports bind, or name
    stored: frozenset[str] = frozenset()  # the names, and attributes, in the targets of assignments
    own: frozenset[str] = frozenset()  # attributes of `self` that are spoken of, or of `super()`
    bound: frozenset[str] = frozenset()  # those that are set anew
    changed: frozenset[str] = frozenset()  # those that are set, or changed in place
    cleared: frozenset[str] = (
        frozenset()
    )  # those that are set to what has no graph, None or what was detached; `net.h`, too
    measured: frozenset[str] = (
        frozenset()
    )  # the variables that are compared, by themselves or by their length or remainder
    calls: tuple[Call, ...] = ()
    detaches: bool = False
    has_remainder: bool = False
    loops: tuple[Facts, ...] = ()  # the outermost ones

    def calls_own(self, name: str) -> int:
        """How many calls of a method of its object are written."""
        return sum(each.name == name and each.receiver == "self" for each in self.calls)


@recalled
def of_source(source: Source) -> Facts:
    """The facts of all that a file holds."""
    tree = _parsed(source.text)
    return _unread(source.text) if tree is None else _look([tree])


@recalled
def places(text: str) -> frozenset[str]:
    """The variables and attributes that an expression speaks of, each whole: `args.steps`, of `range(1, args.steps + 1)`."""
    tree = _parsed(f"({text}\n)")
    found = set[str]()
    pending: list[ast.AST] = [] if tree is None else [tree]
    while pending:
        each = pending.pop()
        if isinstance(each, ast.Name | ast.Attribute):
            found.add(ast.unparse(each))
        else:
            pending += ast.iter_child_nodes(each)
    return frozenset(found)


def packages(source: Source) -> frozenset[str]:
    """The outermost package of each module that a file imports: of its expressions nothing is asked."""
    found: set[str] = set()
    tree = _parsed(source.text)
    pending: list[ast.AST] = [] if tree is None else [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            found.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
        for block in ("body", "orelse", "handlers", "finalbody", "cases"):
            inner = getattr(node, block, ())
            pending += inner if isinstance(inner, list) else ()
    return frozenset(found)


@recalled
def alternatives(source: Source) -> list[frozenset[int]]:
    """The rows of the tests of each `if` with its `elif`s, and without an `else`, that ask one value which of some texts it
    is."""
    tree = _parsed(source.text)
    found: list[frozenset[int]] = []
    for node in ast.walk(tree) if tree is not None else ():
        tests, rest = [], [node]
        while len(rest) == 1 and isinstance(asked := rest[0], ast.If):
            tests.append(asked.test)
            rest = list(asked.orelse)
        asked_for = {_compared(test)[0] for test in tests}
        if len(tests) > 1 and not rest and len(asked_for) == 1 and "" not in asked_for:
            found.append(frozenset(test.lineno for test in tests))
    return found


def _compared(test: ast.expr) -> tuple[str, str]:
    """What is compared with a text, and that; "" for any other test."""
    match test:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=str(text))]):
            return ast.unparse(left), text
    return "", ""


_OPPOSITES: dict[type[ast.cmpop], ast.cmpop] = {
    ast.NotEq: ast.Eq(), ast.NotIn: ast.In(), ast.IsNot: ast.Is(), ast.GtE: ast.Lt(), ast.LtE: ast.Gt()
}  # fmt: skip


@lru_cache(maxsize=4096)
def answers(test: str, taken: bool) -> tuple[tuple[str, str], ...]:
    """What a test that came out so says, as questions with their answers: which text something is, and whether the test
    holds. Nothing of plain names, which may be others' from row to row, of parts of `self`, and of what is drawn."""
    tree = _parsed(f"({test}\n)")
    match tree.body if tree is not None else ():
        case [ast.Expr(value=asked)] if any(isinstance(each, _READS) for each in ast.walk(asked)):
            pass
        case _:
            return ()
    if {"self", "next"} & {each.id for each in ast.walk(asked) if isinstance(each, ast.Name)} or "rand" in test:
        return ()
    while True:
        match asked:
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                asked, taken = inner, not taken
            case ast.Compare(left=left, ops=[op], comparators=right) if type(op) in _OPPOSITES:
                asked, taken = ast.Compare(left, [_OPPOSITES[type(op)]], right), not taken
            case _:
                break
    subject, text = _compared(asked) if taken else ("", "")
    return ((ast.unparse(asked), str(taken)), *([(subject, text)] if subject else []))


_READS = (ast.Attribute, ast.Subscript, ast.Call)


@lru_cache(maxsize=4096)
def of_text(text: str) -> Facts:
    """The facts of an expression."""
    tree = _parsed(f"({text}\n)") or _parsed(text)
    return _unread(text) if tree is None else _look([tree])


def of_span(span: Span) -> Facts:
    """The facts of the expression that stands somewhere."""
    return of_text(span.text)


@lru_cache(maxsize=4096)
def bound_by(header: str) -> frozenset[str]:
    """The names that the header of a `for` binds in each iteration."""
    match getattr(_parsed(f"{header}: ..."), "body", ()):
        case [ast.For(target=target) | ast.AsyncFor(target=target)]:
            return frozenset(word for each in ast.walk(target) for word in _words(each))
    return frozenset()


NO_FACTS = Facts()


def of_definition(source: Source, start: int, end: int) -> Facts:
    """The facts of a function or a class, without its decorators, of which these are the first character and the last."""
    row = source.row_starts[source.place(start)[0] - 1]
    text = f"if 1:\n{source.text[row:end]}" if row < start else source.text[start:end]
    return _kept(text) if len(text) < _KEPT else _of_rows(text)


_KEPT = 10_000
"""The characters of a definition whose facts are at hand for the next text that holds it: their trees take memory."""


def _of_rows(text: str) -> Facts:
    tree = _parsed(text)
    if tree is None or not tree.body:
        return _unread(text)
    node = tree.body[0]
    node = node.body[0] if isinstance(node, ast.If) else node
    decorators = getattr(node, "decorator_list", ())
    return _look(each for each in ast.iter_child_nodes(node) if each not in decorators)


_kept = lru_cache(maxsize=64)(_of_rows)  # most of a text is as it was, where a fix is tried or an editor shows the next


def _parsed(text: str) -> ast.Module | None:
    try:
        return tree_of(text)
    except REFUSED:
        return None


def _unread(text: str) -> Facts:
    """Of what this Python can't read anything may be so."""
    words = frozenset(re.findall(r"[^\W\d]\w*", text))
    return Facts(
        words,
        words,
        words,
        own=words,
        bound=words,
        changed=words,
        cleared=words,
        measured=words,
        has_remainder="%" in text,
    )


class _Seen:
    """What was seen of some code, but for its loops, so far."""

    def __init__(self) -> None:
        self.sets: dict[str, set[str]] = {name: set() for name in _SETS}
        self.calls: list[Call] = []
        self.detaches = self.has_remainder = False
        self.loops: list[_Seen] = []

    def facts(self) -> Facts:
        loops = tuple([each.facts() for each in self.loops])
        return Facts(
            **{
                name: frozenset(found.union(*(getattr(each, name) for each in loops)))
                for name, found in self.sets.items()
            },
            calls=(*self.calls, *(call for each in loops for call in each.calls)),
            detaches=self.detaches or any(each.detaches for each in loops),
            has_remainder=self.has_remainder or any(each.has_remainder for each in loops),
            loops=loops,
        )


_SETS = (
    "names", "texts", "attributes", "defined", "imported", "stored", "own", "bound", "changed", "cleared",
    "measured",
)  # fmt: skip


def _look(nodes: Iterable[ast.AST]) -> Facts:
    outermost = _Seen()
    pending = [(node, outermost) for node in reversed([*nodes])]
    while pending:
        node, seen = pending.pop()
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            outer, seen = seen, _Seen()
            outer.loops.append(seen)
        if (note := _NOTES.get(type(node))) is not None:
            note(node, seen)
        pending += [(each, seen) for each in reversed([*ast.iter_child_nodes(node)])]
    return outermost.facts()


def _words(node: ast.AST) -> tuple[str, ...]:
    """The words that a node spells itself."""
    match node:
        case ast.Name(id=word) | ast.Attribute(attr=word) | ast.arg(arg=word) | ast.keyword(arg=str(word)):
            return (word,)
    return ()


def _own(node: ast.AST) -> str | None:
    """The attribute of `self` that a node is."""
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return name
    return None


def _part_of(node: ast.AST) -> str | None:
    """The attribute of `self` that a node is, or of which it is an item, or an attribute."""
    while isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and _own(node) is None):
        node = node.value
    return _own(node)


def _receiver(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=ast.Name(id="super")):
            return "super()"
    return ")"


def _name(node: ast.Name, seen: _Seen) -> None:
    seen.sets["names"].add(node.id)


def _attribute(node: ast.Attribute, seen: _Seen) -> None:
    seen.sets["names"].add(node.attr)
    seen.sets["attributes"].add(node.attr)
    if _receiver(node.value) in ("self", "super()"):
        seen.sets["own"].add(node.attr)


def _call(node: ast.Call, seen: _Seen) -> None:
    match node.func:
        case ast.Name(id=name):
            seen.calls.append(Call("", name, node))
            seen.detaches |= name == "Variable" and any(
                isinstance(each, ast.Attribute) and each.attr == "data" for arg in node.args for each in ast.walk(arg)
            )
        case ast.Attribute(value=value, attr=name):
            seen.calls.append(Call(_receiver(value), name, node))
            seen.detaches |= name in ("detach", "detach_")
            if name.endswith("_") and (part := _part_of(value)) is not None:
                seen.sets["changed"].add(part)


def _assigned(node: ast.Assign | ast.AnnAssign | ast.NamedExpr, seen: _Seen) -> None:
    for target in node.targets if isinstance(node, ast.Assign) else (node.target,):
        for each, value in paired(target, node.value) if node.value is not None else ():
            _bound(each, value, seen)


def _augmented(node: ast.AugAssign, seen: _Seen) -> None:
    seen.sets["stored"].update(word for each in ast.walk(node.target) for word in _words(each))
    if (part := _part_of(node.target)) is not None:
        seen.sets["changed"].add(part)


def _bound(target: ast.expr, value: ast.expr, seen: _Seen) -> None:
    """Note what is bound to a value."""
    seen.sets["stored"].update(word for each in ast.walk(target) for word in _words(each))
    if (part_of := _part_of(target)) is not None:
        seen.sets["changed"].add(part_of)
    if (own := _own(target)) is not None:
        seen.sets["bound"].add(own)
        if _has_no_graph(value):
            seen.sets["cleared"].add(own)
    elif isinstance(target, ast.Attribute) and (holder := _own(target.value)) is not None and _has_no_graph(value):
        seen.sets["cleared"].add(f"{holder}.{target.attr}")


def _has_no_graph(value: ast.expr) -> bool:
    """Whether a value is nothing, or empty, or torch's own, or cut off its graph."""
    match value:
        case ast.Constant(value=None | 0) | ast.List(elts=[]) | ast.Tuple(elts=[]) | ast.Dict(keys=[]):
            return not (isinstance(value, ast.Constant) and value.value is False)
        case ast.Call(func=ast.Name(id="list" | "dict" | "set" | "tuple"), args=[], keywords=[]):
            return True
    return _root(value) == "torch" or any(_cuts(each) for each in ast.walk(value))


def _cuts(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(attr="data") | ast.Call(func=ast.Attribute(attr="detach")):
            return True
    return False


def _root(node: ast.expr) -> str:
    """The name with which an expression begins."""
    while True:
        match node:
            case ast.Attribute(value=inner) | ast.Subscript(value=inner) | ast.Call(func=inner) | ast.BinOp(left=inner):
                node = inner
            case ast.Name(id=name):
                return name
            case _:
                return ""


def _loop(node: ast.For | ast.AsyncFor, seen: _Seen) -> None:
    for each in ast.walk(node.target):
        if (part := _own(each)) is not None:
            seen.sets["bound"].add(part)
            seen.sets["changed"].add(part)


def _text(node: ast.Constant, seen: _Seen) -> None:
    if isinstance(node.value, str) and node.value.isidentifier():
        seen.sets["texts"].add(node.value)
        seen.sets["names"].add(node.value)


def _import(node: ast.Import | ast.ImportFrom, seen: _Seen) -> None:
    found = set((node.module or "").split(".")) if isinstance(node, ast.ImportFrom) else set[str]()
    found.update(word for alias in node.names for word in (*alias.name.split("."), alias.asname or ""))
    seen.sets["imported"] |= found - {""}
    seen.sets["names"] |= found - {""}


def _definition(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, seen: _Seen) -> None:
    seen.sets["defined"].add(node.name)
    seen.sets["names"].add(node.name)


def _parameter(node: ast.arg | ast.keyword, seen: _Seen) -> None:
    if node.arg is not None:
        seen.sets["names"].add(node.arg)


def _declared(node: ast.Global | ast.Nonlocal, seen: _Seen) -> None:
    seen.sets["names"].update(node.names)


def _matched(node: ast.MatchClass, seen: _Seen) -> None:
    seen.sets["names"].update(node.kwd_attrs)


def _operation(node: ast.BinOp, seen: _Seen) -> None:
    if isinstance(node.op, ast.Mod):
        seen.has_remainder = True
        seen.sets["measured"].update(_measured(node.left))


def _comparison(node: ast.Compare, seen: _Seen) -> None:
    if isinstance(node.ops[0], (ast.Eq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
        seen.sets["measured"].update(_measured(node.left))


def _measured(node: ast.expr) -> tuple[str, ...]:
    """The variable that a node is, or of which it is the length."""
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]) | ast.Name(id=name):
            return (name,)
    return ()


_NOTES: dict[type[ast.AST], Callable[[Any, _Seen], None]] = {
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.Assign: _assigned,
    ast.AnnAssign: _assigned,
    ast.NamedExpr: _assigned,
    ast.AugAssign: _augmented,
    ast.For: _loop,
    ast.AsyncFor: _loop,
    ast.Constant: _text,
    ast.Import: _import,
    ast.ImportFrom: _import,
    ast.FunctionDef: _definition,
    ast.AsyncFunctionDef: _definition,
    ast.ClassDef: _definition,
    ast.arg: _parameter,
    ast.keyword: _parameter,
    ast.Global: _declared,
    ast.Nonlocal: _declared,
    ast.MatchClass: _matched,
    ast.BinOp: _operation,
    ast.Compare: _comparison,
}
