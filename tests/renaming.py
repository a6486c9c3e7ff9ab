"""Gives all local variables of a program other names, which say nothing."""

from __future__ import annotations

import builtins
from collections.abc import Collection

import libcst as cst

_LEFT = frozenset(dir(builtins)) | {"__all__", "__name__", "_"}
_SPELLING = frozenset(("eval", "exec", "globals", "locals", "vars"))
"""What reaches names by their letters."""


class _Names(cst.CSTVisitor):
    """The names that assignments, loops and contexts bind, and those that something else binds or spells."""

    def __init__(self) -> None:
        self.bound: dict[str, None] = {}
        self.kept: set[str] = set()
        self.classes = 0

    def _bind(self, target: cst.BaseExpression) -> None:
        if isinstance(target, cst.Name):
            (self.kept.add if self.classes else lambda name: self.bound.setdefault(name))(target.value)
        elif isinstance(target, cst.Tuple | cst.List):
            for element in target.elements:
                self._bind(element.value)
        elif isinstance(target, cst.StarredElement):
            self._bind(target.value)

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        self._bind(node.target)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        self._bind(node.target)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        self._bind(node.target)

    def visit_NamedExpr(self, node: cst.NamedExpr) -> None:
        self._bind(node.target)

    def visit_For(self, node: cst.For) -> None:
        self._bind(node.target)

    def visit_CompFor(self, node: cst.CompFor) -> None:
        self._bind(node.target)

    def visit_AsName(self, node: cst.AsName) -> None:
        self._bind(node.name)

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        self.kept.add(node.name.value)
        self.classes += 1

    def leave_ClassDef(self, original_node: cst.ClassDef) -> None:
        self.classes -= 1

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self.kept.add(node.name.value)
        self._outer = getattr(self, "_outer", [])
        self._outer.append(self.classes)
        self.classes = 0

    def leave_FunctionDef(self, original_node: cst.FunctionDef) -> None:
        self.classes = self._outer.pop()

    def visit_Param(self, node: cst.Param) -> None:
        self.kept.add(node.name.value)

    def visit_Arg(self, node: cst.Arg) -> None:
        if node.keyword is not None:
            self.kept.add(node.keyword.value)

    def visit_ImportAlias(self, node: cst.ImportAlias) -> None:
        name: cst.BaseExpression = node.asname.name if node.asname is not None else node.name
        while isinstance(name, cst.Attribute):
            name = name.value
        assert isinstance(name, cst.Name)
        self.kept.add(name.value)

    def visit_SimpleString(self, node: cst.SimpleString) -> None:
        self.kept |= set(str(node.raw_value).replace(".", " ").split())


class _Renamed(cst.CSTTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        return updated_node.with_changes(value=self.names.get(updated_node.value, updated_node.value))

    def visit_Attribute_attr(self, node: cst.Attribute) -> None:
        self.names, self._aside = {}, self.names

    def leave_Attribute_attr(self, node: cst.Attribute) -> None:
        self.names = self._aside


def renamed(text: str, kept: Collection[str] = ()) -> str:
    """The program with other names for what its assignments bind; as it is, if it reaches names by their letters."""
    tree = cst.parse_module(text)
    found = _Names()
    tree.visit(found)
    if any(f"{word}(" in text for word in _SPELLING):
        return text
    names = [name for name in found.bound if name not in found.kept | _LEFT | set(kept)]
    return tree.visit(_Renamed({name: f"var{number}" for number, name in enumerate(names)})).code
