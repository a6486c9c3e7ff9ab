"""What kind of thing each name of a module is bound to, told by Python's own tree."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from retainlint.parts import Origin

KNOWN = frozenset(sys.stdlib_module_names) | frozenset("torch numpy torchvision torchaudio typing_extensions".split())
"""Libraries whose functions change nothing that a program's modules hold, but for what they are given to change."""

BLOCKS = ("body", "orelse", "finalbody")
_OTHERS = ("handlers", "cases")


@dataclass
class Kinds:
    """What kind of thing each name of a module is bound to: "def", "class", "data", "constant"; and what was imported."""

    own: dict[str, str] = field(default_factory=dict)
    imported: dict[str, Origin] = field(default_factory=dict)


def kinds_of(body: Iterable[ast.stmt]) -> Kinds:
    """The kinds of all names that a module's statements bind."""
    kinds = Kinds()
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            kinds.own[node.name] = "def" if kinds.own.get(node.name, "def") == "def" else "data"
        elif isinstance(node, ast.ClassDef):
            kinds.own[node.name] = "class" if kinds.own.get(node.name, "class") in ("class", "def") else "data"
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            kinds.imported.update(bound_by(node))
        elif isinstance(node, ast.Assign) and _is_constant(node.value):
            for name in stored(node):
                kinds.own.setdefault(name, "constant")
        else:
            for name in stored(node):
                kinds.own[name] = "data"
            pending += nested(node)
    return kinds


def _is_constant(value: ast.expr) -> bool:
    """Whether a value can't be changed."""
    if isinstance(value, ast.Tuple):
        return all(map(_is_constant, value.elts))
    return isinstance(value, (ast.Constant, ast.JoinedStr))


def stored(node: ast.AST) -> Iterator[str]:
    """The names that a statement binds itself, without those in its blocks."""
    for name, value in ast.iter_fields(node):
        if name in BLOCKS or name in _OTHERS:
            continue
        for part in value if isinstance(value, list) else (value,):
            if isinstance(part, ast.AST):
                for each in ast.walk(part):
                    if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load):
                        yield each.id
                    elif isinstance(each, (ast.MatchAs, ast.MatchStar)) and each.name is not None:
                        yield each.name
                    elif isinstance(each, ast.MatchMapping) and each.rest is not None:
                        yield each.rest
    if isinstance(node, ast.ExceptHandler) and node.name is not None:
        yield node.name


def nested(node: ast.AST) -> Iterator[ast.AST]:
    """The statements, handlers and cases in a statement."""
    for name in (*BLOCKS, *_OTHERS):
        yield from getattr(node, name, ())


def origins(node: ast.Import | ast.ImportFrom) -> Iterator[Origin]:
    """What an import asks for."""
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            yield Origin(node.module or "", alias.name, node.level)
        else:
            yield Origin(alias.name, "", 0)


def bound_by(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Origin]]:
    for alias, origin in zip(node.names, origins(node)):
        if isinstance(node, ast.Import) and alias.asname is None:
            head = alias.name.partition(".")[0]
            yield head, Origin(head, "", 0)
        elif alias.name != "*":
            yield alias.asname or alias.name, origin


def way_to(node: ast.expr) -> tuple[str | None, tuple[str, ...]]:
    """The name and the attributes by which a thing is reached; None where that isn't all."""
    way: list[str] = []
    while isinstance(node, ast.Attribute):
        way.append(node.attr)
        node = node.value
    return (node.id if isinstance(node, ast.Name) else None), tuple(reversed(way))


def given_back(node: ast.AST) -> Iterator[str]:
    """The functions that a function makes, and speaks of at most where it returns, but for those whose decorator may call
    them: one that registers doesn't."""
    everything = list(ast.walk(node))
    methods = {id(each) for cls in everything if isinstance(cls, ast.ClassDef) for each in cls.body}
    returned = {id(each.value) for each in everything if isinstance(each, ast.Return)}
    spoken = {each.id for each in everything if isinstance(each, ast.Name) and id(each) not in returned}
    for each in everything:
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)) and id(each) not in methods:
            if each.name not in spoken and all(map(_registers, each.decorator_list)):
                yield each.name


def _registers(decorator: ast.expr) -> bool:
    root, way = way_to(decorator.func if isinstance(decorator, ast.Call) else decorator)
    return root is not None and "regist" in (root, *way)[-1].lower()


def asks_for_types(test: ast.expr) -> bool:
    """Whether it is `TYPE_CHECKING`: what isn't run then is only read where it imports."""
    return way_to(test) in (("TYPE_CHECKING", ()), ("typing", ("TYPE_CHECKING",)))


def asks_for_main(test: ast.expr) -> bool:
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return False
    left, right = test.left, test.comparators[0]
    if isinstance(left, ast.Constant):
        left, right = right, left
    named = isinstance(left, ast.Name) and left.id == "__name__"
    return named and isinstance(right, ast.Constant) and right.value == "__main__"
