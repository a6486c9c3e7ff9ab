"""A name that keeps its graph from one turn of a loop, or one call of a function, to the next: where to detach it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

from retainlint.fixes.code import Code, Function, Loop, Uneditable, spelled
from retainlint.fixes.edits import Applicability, Edit, Fix
from retainlint.fixes.statements import after, before, detached, first, reads
from retainlint.text.source import Span


def is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def entering(code: Code, body: Loop | Function, name: str) -> list[ast.expr]:
    """Where the value of the turn before is read: up to the statement that binds the name anew."""
    writes = code.writes(body, name)
    binding = code.statement(code.start(writes[0])) if writes else None
    end = code.end(binding) if binding is not None else len(code.text)
    return [read for read in code.reads(body, name) if code.start(read) < end]


def carried_names(code: Code, body: Loop | Function, names: list[str]) -> list[str]:
    """Names into which any of `names` is put in the body, and which the next turn reads."""
    found = []
    for node in ast.walk(body):
        if isinstance(node, ast.Assign | ast.AugAssign) and reads(node) & set(names):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found += [code.of(each) for each in targets if isinstance(each, ast.Name | ast.Attribute)]
    return [name for name in dict.fromkeys(found) if name not in names and entering(code, body, name)]


def is_container(code: Code, name: str) -> bool:
    """Whether the text puts things into it."""
    return re.search(rf"(?<![\w.]){re.escape(name)}(\.append\(|\.extend\(| \+?= \[)", code.text) is not None


@dataclass
class Carried:
    """One name, and the loop or function that carries it."""

    code: Code
    name: str
    body: Loop | Function
    backward_pass: Span

    def fixes(self) -> Iterator[Callable[[], Fix]]:
        """At the start of each turn if it has a value then, at its end, where it is kept."""
        noun = "call" if is_function(self.body) else "turn"
        used = entering(self.code, self.body, self.name)
        if noun == "call" and len(used) == 1:
            yield lambda: _fix(f"Detach `{self.name}` where it is used", detached(self.code, used[0]))
        start, end = f"at the start of each {noun}", f"at the end of each {noun}"
        known = [row for row in self._rows if "[-1]" not in row] if self._is_known_before() else []
        for row in known:
            yield partial(self._put, row, start, self._at_start)
        for row in self._rows:
            yield partial(self._put, row, end, self._at_end)
            yield partial(self._put, row, "after the walk", self._after_backward)
        yield from self._kept()
        for row in known:
            yield partial(self._put, f"if {self.name} is not None:\n    {row}", start, self._at_start)

    def _put(self, row: str, where: str, edit: Callable[[str], Edit]) -> Fix:
        names = row.partition(" = ")[0].rpartition("    ")[2].replace(", ", "`, `")
        return _fix(f"Detach `{names}` {where}", edit(row))

    @cached_property
    def _rows(self) -> tuple[str, ...]:
        """How a statement may detach it: as a tensor, as what is packed with it, as a list or tuple of tensors."""
        rows = [f"{self.name} = {self.name}.detach()"]
        together = self._together()
        if len(together) > 1:
            rows.append(f"{', '.join(together)} = {', '.join(f'{each}.detach()' for each in together)}")
        name = re.escape(self.name)
        if is_container(self.code, self.name):
            is_list = re.search(rf"(?<![\w.]){name} = \[", self.code.text) is not None
            last = f"{self.name}[-1] = {self.name}[-1].detach()"
            rows = [f"{self.name} = [t.detach() for t in {self.name}]", last] if is_list else [last]
        elif self._is_tuple(name):
            rows.append(f"{self.name} = tuple(t.detach() for t in {self.name})")
        return tuple(rows)

    def _is_tuple(self, name: str) -> bool:
        """Whether the text has it as a tuple: packed, unpacked, or given by a call that it is given to."""
        text = self.code.text
        last = name.rpartition(".")[2]
        return bool(
            re.search(rf"(?<![\w.]){name} = \(", text)
            or re.search(rf"\w, \w+ = {name}(?![\w.])", text)
            or re.search(rf", {name} = .*[(=,] ?{name}\)", text)
            or (re.search(r"LSTM\(", text) and re.search(rf", (\w+\.)?{last} = ", text))
        )

    def _together(self) -> list[str]:
        """The names that are bound, or packed, together with it: `h, c = ...`, `(h, c)`."""
        for node in ast.walk(self.body):
            if isinstance(node, ast.Tuple) and all(isinstance(each, ast.Name | ast.Attribute) for each in node.elts):
                names = [ast.unparse(each) for each in node.elts]
                if spelled(self.name) in names and len(set(names)) == len(names) <= 4:
                    return names
        return []

    def _is_known_before(self) -> bool:
        """Whether the name has a value when the body is entered."""
        if not self.name.isidentifier():
            return True
        if isinstance(self.body, ast.FunctionDef | ast.AsyncFunctionDef):
            return self.name in {each.arg for each in ast.walk(self.body.args) if isinstance(each, ast.arg)}
        scope, start = self.code.scope(self.body), self.code.start(self.body)
        parameters = {each.arg for each in ast.walk(scope) if isinstance(each, ast.arg)}
        bound = (self.code.start(each) < start for each in self.code.writes(scope, self.name))
        return self.name in parameters or any(bound)

    def _at_start(self, row: str) -> Edit:
        return before(self.code, first(self.body.body), row)

    def _at_end(self, row: str) -> Edit:
        last = self.body.body[-1]
        if isinstance(last, ast.Return | ast.Continue | ast.Break | ast.Raise):
            return before(self.code, last, row)
        return after(self.code, last, row)

    def _after_backward(self, row: str) -> Edit:
        backward_pass = self.code.statement(self.backward_pass.start)
        if backward_pass is None or self.body not in self.code.above(backward_pass):
            raise Uneditable("the walk is elsewhere")
        return after(self.code, backward_pass, row)

    def _kept(self) -> Iterator[Callable[[], Fix]]:
        """Each statement that binds the name, with what it binds detached."""
        for write in self.code.writes(self.body, self.name):
            statement = self.code.statement(self.code.start(write))
            if isinstance(statement, ast.Assign) and statement.targets == [write]:
                value = statement.value
                parts = value.elts if isinstance(value, ast.Tuple) else [value]
                yield partial(_fix, f"Keep a detached `{self.name}`", *(detached(self.code, part) for part in parts))


def _fix(message: str, *edits: Edit) -> Fix:
    return Fix(Applicability.UNSAFE, message, edits)
