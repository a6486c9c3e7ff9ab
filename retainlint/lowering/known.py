"""What the functions of a module may change when they are called; each is looked into when somebody calls it."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence

from retainlint.lowering.bindings import Kinds, kinds_of
from retainlint.lowering.effects import look_into
from retainlint.lowering.facts import Facts
from retainlint.parts import Effect, Part

DEEPEST = 40
"""So many functions are looked into on behalf of one name: beyond, anything may be changed."""

_DEFINES = re.compile(r"(?:@|(?:async[ \t]+)?def\b|class\b)")
_HEAD = re.compile(r"^(?:async[ \t]+)?(def|class)[ \t]+(\w+)", re.MULTILINE)


class Known:
    """The functions and classes of a module, by its tree."""

    def __init__(self, tree: ast.Module, kinds: Kinds) -> None:
        self.kinds = kinds
        self.nodes: dict[str, list[ast.AST]] = {}
        for node in _definitions(tree.body):
            self.nodes.setdefault(node.name, []).append(node)
        self.seen: dict[tuple[str, bool], Facts] = {}

    def follow(self, facts: Facts) -> None:
        """Add what the functions change that are called, and those that they call."""
        done: set[tuple[str, bool]] = set()
        pending = _called(facts)
        while pending:
            asked = pending.pop()
            if asked in done:
                continue
            done.add(asked)
            if len(done) > DEEPEST:
                facts.outside = True
                return
            inner = self._facts(*asked)
            facts.add(inner)
            pending += _called(inner)

    def effect(self, name: str, dropped: bool) -> Effect:
        """What a call of a function, or class, may change, and what is done with what it gives, if that isn't `dropped`;
        or a call of a method of what else the name is bound to: that, and whatever the module holds beside it."""
        if self.kinds.own.get(name) not in ("def", "class"):
            held = frozenset(each for each, kind in self.kinds.own.items() if kind == "data")
            return Effect(held, holds=True, origin=self.kinds.imported.get(name))
        facts = Facts(drops={name}) if dropped else Facts(calls={name})
        self.follow(facts)
        return Effect(frozenset(facts.changes), facts.outside or facts.sees, uses=tuple(facts.uses))

    def definitions(self, name: str) -> list[ast.AST]:
        return self.nodes.get(name, [])

    def _facts(self, name: str, dropped: bool) -> Facts:
        if (name, dropped) not in self.seen:
            found = self.seen[name, dropped] = Facts()
            for node in self.definitions(name):
                one = look_into(node, self.kinds, dropped)
                found.add(one)
                found.calls |= one.calls
                found.drops |= one.drops
        return self.seen[name, dropped]


class KnownByParts(Known):
    """The same by a module's text and its parts: what is defined in one of its own is only parsed when it is called."""

    def __init__(self, text: str, parts: Sequence[Part]) -> None:
        self.text = text
        self.waiting: dict[str, list[Part]] = {}
        rows = list(self._outer(parts))
        tree = _parsed("".join(rows))
        super().__init__(tree, kinds_of(tree.body))
        for name in self.waiting:
            self.nodes[name] = [node for node in self.nodes[name] if not _is_stub(node)]

    def definitions(self, name: str) -> list[ast.AST]:
        for part in self.waiting.pop(name, ()):
            self.nodes[name] += _definitions(_parsed(self.text[part.start : part.end]).body)
        return super().definitions(name)

    def _outer(self, parts: Sequence[Part]) -> Iterator[str]:
        """The text, with the bodies left out of what is defined in a part of its own."""
        for part in parts:
            head = _HEAD.search(self.text, part.start, part.end) if len(part.binds) == 1 else None
            if head is None or head[2] not in part.binds or not _DEFINES.match(self.text, part.start):
                yield self.text[part.start : part.end] + "\n"
            else:
                self.waiting.setdefault(head[2], []).append(part)
                yield f"{head[1]} {head[2]}(): ...\n"


def _is_stub(node: ast.AST) -> bool:
    return isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.end_lineno == node.lineno and _is_dots(node.body)


def _is_dots(body: list[ast.stmt]) -> bool:
    return len(body) == 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)


def _parsed(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def _called(facts: Facts) -> list[tuple[str, bool]]:
    """The functions that are called, and whether what they give is dropped."""
    return [*((name, False) for name in facts.calls), *((name, True) for name in facts.drops)]


def _definitions(body: Sequence[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node
            continue
        for name in ("body", "orelse", "handlers", "finalbody", "cases"):
            pending += getattr(node, name, ())
