"""What kind of thing each name of a module is bound to, and which names only look like a backward pass, told by Python's own tree."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from retainlint.program import Origin
from retainlint.text.prefilter import KERNELS

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


Spelled: TypeAlias = "ast.expr | ast.stmt"
"""A node that spells a walk."""


Rows: TypeAlias = "list[tuple[int, int]]"
"""The first and the last row of each function of one name."""


_ITSELF = frozenset(("backward", "manual_backward", "run_backward"))
"""Such a name is a walk wherever it is defined."""


_WORD = re.compile(r"[^\W\d]\w*")

_NEWLINE = re.compile(r"\r\n|\r|\n")


def without(tree: ast.Module, text: str, spelled: Sequence[Spelled]) -> list[Spelled]:
    """Of the nodes of a text that spell a walk, those that aren't namesakes.

    A call of what the text itself defines is one where neither the function's body, or what the name was made by, nor
    any function which that speaks of spells a walk. So is torch's own function for the gradient of one operation.
    """
    doubtful = [node for node in spelled if last_word(node).endswith("backward") and last_word(node) not in _ITSELF]
    dropped: set[Spelled] = {node for node in doubtful if isinstance(node, ast.Attribute) and _root(node) in KERNELS}
    bare = [node for node in doubtful if isinstance(node, ast.Name) and _may_define(text, node.id)]
    if bare:
        defined, bound = _definitions(tree)
        own = [node for node in bare if node.id in defined and node.id not in bound]
        waiting = dropped.union(own)
        rows = {node.lineno for node in spelled if node not in waiting}
        lines = _NEWLINE.split(text)
        dropped.update(node for node in own if not _leads(node.id, defined, rows, lines))
    return [node for node in spelled if node not in dropped]


def _may_define(text: str, name: str) -> bool:
    """Whether a text may define a function of some name, or make one: most are imported."""
    return re.search(rf"\bdef[ \t\\\r\n]+{name}\b|^{name}\b[ \t\\\r\n]*=", text, re.MULTILINE) is not None


def last_word(node: ast.AST) -> str:
    """The last word of a dotted name."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _root(node: ast.expr) -> str:
    """The variable with which a dotted name begins."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _definitions(tree: ast.Module) -> tuple[dict[str, Rows], set[str]]:
    """The functions of a text by name, with what such functions made for good of the module, and the names that are
    bound otherwise."""
    defined: dict[str, Rows] = {}
    bound: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):  # as most are
            if not isinstance(node.ctx, ast.Load):
                bound[node.id] += 1
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            defined.setdefault(node.name, []).append(_rows(node))
        elif isinstance(node, (ast.arg, ast.ClassDef, ast.Import, ast.ImportFrom)):
            bound.update(_bound(node))
    for statement in tree.body:
        name = _made(statement, defined)
        if bound[name] == 1:
            del bound[name]
            defined.setdefault(name, []).append(_rows(statement))
    return defined, set(bound)


def _rows(node: ast.stmt) -> tuple[int, int]:
    """The rows of a statement, with its decorators."""
    first = min((each.lineno for each in getattr(node, "decorator_list", ())), default=node.lineno)
    return first, node.end_lineno or node.lineno


def _made(statement: ast.stmt, defined: Container[str]) -> str:
    """The name that is given to what one of some functions returns; "" if none is."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id=function))):
            return name if function in defined else ""
    return ""


def _bound(node: ast.arg | ast.ClassDef | ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.arg):
        return [node.arg]
    return [node.name] if isinstance(node, ast.ClassDef) else [each.asname or each.name for each in node.names]


def _leads(name: str, defined: dict[str, Rows], rows: set[int], lines: list[str]) -> bool:
    """Whether a function holds a walk, in one of these rows, or speaks of one that does."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        if (name := waiting.pop()) in seen:
            continue
        seen.add(name)
        for first, last in defined[name]:
            if any(first <= row <= last for row in rows):
                return True
            body = "\n".join(lines[first - 1 : last])
            waiting += [word for word in _WORD.findall(body) if word in defined]
    return False
