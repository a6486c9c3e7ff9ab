"""Which names a body binds, and where a name that it uses lives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

import libcst as cst

from retainlint.ir import Scope
from retainlint.lowering.parse import IMPORTS, IMPORTS_FROM

SEERS = frozenset({"locals", "globals", "vars", "eval", "exec"})
"""Builtins that read names which nobody spells."""


class Holder(Enum):
    """What kind of code holds the names."""

    MODULE = "module"
    CLASS = "class"
    FUNCTION = "function"


@dataclass
class Bindings:
    """The names that a body binds, and those that it declares to live elsewhere."""

    bound: set[str] = field(default_factory=set)
    globals: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)


@dataclass
class Names:
    """The names of one code while it is being lowered.

    `aliases` are the names of comprehension variables and type parameters around the place that is being lowered,
    innermost last, and what they are called in this code; `comprehending` counts the comprehensions around it.
    `private` is the name of the class around, without the underscores it starts with: names like `__x` belong to it.
    """

    holder: Holder
    bindings: Bindings
    outer: Names | None
    captured: set[str] = field(default_factory=set)
    aliases: list[dict[str, str]] = field(default_factory=list)
    renamed: set[str] = field(default_factory=set)
    comprehending: int = 0
    all_read: bool = False
    private: str | None = None  # None: that of the code around
    first: int = 0  # the number of the first name that it makes up

    def __post_init__(self) -> None:
        if self.private is None:
            self.private = "" if self.outer is None else self.outer.private
        if self.private:
            own = self.bindings
            self.bindings = Bindings(
                *({self.spelled(n) for n in names} for names in (own.bound, own.globals, own.nonlocals))
            )

    def spelled(self, name: str) -> str:
        """What Python calls a name, or an attribute, that is written in this code: `__x` is `_C__x` in a class C."""
        private = self.private and name.startswith("__") and not name.endswith("__") and "." not in name
        return f"_{self.private}{name}" if private else name

    @property
    def own(self) -> Scope:
        return Scope.GLOBAL if self.holder is Holder.MODULE else Scope.LOCAL

    def resolve(self, name: str) -> tuple[str, Scope]:
        """What `name` is called, and where it lives."""
        name = self.spelled(name)
        for renames in reversed(self.aliases):
            if name in renames:
                return renames[name], self.own
        if self.holder is Holder.MODULE:
            return name, Scope.GLOBAL
        if name in self.bindings.globals:
            return self.lend_global(name)
        hidden = self.holder is Holder.CLASS and self.comprehending
        if name in self.bindings.bound and name not in self.bindings.nonlocals and not hidden:
            return name, Scope.LOCAL
        return self.outer.lend(name) if self.outer is not None else (name, Scope.GLOBAL)

    def lend(self, name: str) -> tuple[str, Scope]:
        """What `name` is called, and where it lives, for a code inside this one."""
        for renames in reversed(self.aliases):
            if name in renames:
                self.captured.add(renames[name])
                return renames[name], Scope.GLOBAL if self.holder is Holder.MODULE else Scope.ENCLOSING
        if self.holder is Holder.FUNCTION:
            if name in self.bindings.globals:
                return self.lend_global(name)
            if name in self.bindings.bound and name not in self.bindings.nonlocals:
                self.captured.add(name)
                return name, Scope.ENCLOSING
        return self.outer.lend(name) if self.outer is not None else self.lend_global(name)

    def lend_global(self, name: str) -> tuple[str, Scope]:
        """A name of the module, for a code inside of it."""
        module = self
        while module.outer is not None:
            module = module.outer
        module.captured.add(name)
        return name, Scope.GLOBAL

    def read_unspelled(self) -> None:
        """Note that any name of this code and of the module may be read, by `eval` and the like."""
        names: Names | None = self
        while names is not None:
            names.all_read = names.all_read or names is self or names.holder is Holder.MODULE
            names = names.outer

    def use_unseen(self, names: Iterable[str]) -> None:
        """Note that codes of this module which are lowered later use these names of it."""
        self.captured.update(names)
        self.all_read = self.all_read or not SEERS.isdisjoint(names)

    def rename(self, names: Iterable[str]) -> dict[str, str]:
        """Fresh names, that no program can spell, for names that live only in a part of this code."""
        fresh = {}
        for name in map(self.spelled, names):
            fresh[name] = f"{name}#{self.first + len(self.renamed)}"
            self.renamed.add(fresh[name])
        return fresh


def bindings_of(body: Sequence[cst.CSTNode], holds_walrus: Callable[[cst.CSTNode], bool] | None) -> Bindings:
    """What the statements of a body bind; looks for `:=` only in those which are said to hold one maybe."""
    found = Bindings()
    for statement in body:
        _bind(statement, found)
        if holds_walrus is not None and holds_walrus(statement):
            statement.visit(_Walruses(found.bound))
    return found


def targets_of(target: cst.CSTNode) -> Iterator[str]:
    """The names that an assignment's target binds."""
    if isinstance(target, cst.Name):
        yield target.value
    elif isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from targets_of(element.value)
    elif isinstance(target, cst.StarredElement):
        yield from targets_of(target.value)


def walruses_of(expression: cst.CSTNode) -> set[str]:
    """The names that an expression binds with `:=`."""
    bound: set[str] = set()
    expression.visit(_Walruses(bound))
    return bound


def _bind(node: cst.CSTNode, found: Bindings) -> None:
    """Add what a statement and the statements in it bind, but for those of inner codes."""
    pending: list[cst.CSTNode | None] = [node]
    while pending:
        node_ = pending.pop()
        if isinstance(node_, (cst.SimpleStatementLine, cst.SimpleStatementSuite, cst.IndentedBlock)):
            pending.extend(node_.body)
        elif isinstance(node_, cst.BaseSmallStatement):
            _bind_small(node_, found)
        elif isinstance(node_, (cst.FunctionDef, cst.ClassDef)):
            found.bound.add(node_.name.value)
        elif isinstance(node_, (cst.If, cst.While)):
            pending += (node_.body, node_.orelse)
        elif isinstance(node_, cst.For):
            found.bound.update(targets_of(node_.target))
            pending += (node_.body, node_.orelse)
        elif isinstance(node_, (cst.Else, cst.Finally)):
            pending.append(node_.body)
        elif isinstance(node_, (cst.With, cst.Try, cst.TryStar, cst.ExceptHandler, cst.ExceptStarHandler)):
            pending += _bind_guarded(node_, found)
        elif isinstance(node_, cst.Match):
            for case in node_.cases:
                found.bound.update(captures_of(case.pattern))
                pending.append(case.body)


def _bind_guarded(
    node: cst.With | cst.Try | cst.TryStar | cst.ExceptHandler | cst.ExceptStarHandler, found: Bindings
) -> Iterator[cst.CSTNode | None]:
    yield node.body
    if isinstance(node, cst.With):
        for item in node.items:
            if item.asname is not None:
                found.bound.update(targets_of(item.asname.name))
    elif isinstance(node, (cst.Try, cst.TryStar)):
        yield from node.handlers
        yield from (node.orelse, node.finalbody)
    elif node.name is not None:
        found.bound.update(targets_of(node.name.name))


def _bind_small(node: cst.BaseSmallStatement, found: Bindings) -> None:
    if isinstance(node, cst.Assign):
        for assigned in node.targets:
            found.bound.update(targets_of(assigned.target))
    elif isinstance(node, (cst.AugAssign, cst.AnnAssign, cst.Del)):
        found.bound.update(targets_of(node.target))
    elif isinstance(node, (*IMPORTS, *IMPORTS_FROM)):
        names = node.names  # type: ignore[attr-defined]
        if not isinstance(names, cst.ImportStar):
            found.bound.update(imported_name(alias) for alias in names)
    elif isinstance(node, cst.Global):
        found.globals.update(item.name.value for item in node.names)
    elif isinstance(node, cst.Nonlocal):
        found.nonlocals.update(item.name.value for item in node.names)
    elif isinstance(node, cst.TypeAlias):
        found.bound.add(node.name.value)


def imported_name(alias: cst.ImportAlias) -> str:
    """The name that an import binds: `c` of `a.b as c`, `a` of `a.b`."""
    if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
        return alias.asname.name.value
    name: cst.BaseExpression = alias.name
    while isinstance(name, cst.Attribute):
        name = name.value
    return name.value if isinstance(name, cst.Name) else ""


def captures_of(pattern: cst.CSTNode) -> Iterator[str]:
    """The names that a `case` pattern binds."""
    name = pattern.name if isinstance(pattern, (cst.MatchAs, cst.MatchStar)) else None
    name = pattern.rest if isinstance(pattern, cst.MatchMapping) else name
    if name is not None:
        yield name.value
    for part in pattern.children:
        yield from captures_of(part)


class _Walruses(cst.CSTVisitor):
    """Collects the targets of `:=`; those in a comprehension belong to the code around it."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def visit_NamedExpr(self, node: cst.NamedExpr) -> None:
        self.names.update(targets_of(node.target))

    def visit_Lambda(self, node: cst.Lambda) -> bool:
        node.params.visit(self)
        return False

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        for part in (*node.decorators, node.params):
            part.visit(self)
        return False

    def visit_ClassDef(self, node: cst.ClassDef) -> bool:
        for part in (*node.decorators, *node.bases, *node.keywords):
            part.visit(self)
        return False
