"""Random programs by Python's own grammar, as `ast` states it for the Python that runs: what it knows is what is made.

hypothesmith does the like; measured in November 2026, it takes 0.2 s a text, mostly of a row or two, and knows no syntax
newer than 3.12.
"""

from __future__ import annotations

import ast
import contextlib
import random
import re
import textwrap
import warnings
from functools import cache
from typing import Any, cast

from benchmarks.fuzz.vocabulary import ATTRIBUTES, CONSTANTS, NAMES, PRELUDE

DEEPEST = 5
"""So deep nests what is drawn freely; below only what ends at once."""

_FIELD = re.compile(r"(\w+)([*?]?) (\w+)")
_LEAVES = {
    "expr": ("Name", "Constant"),
    "stmt": ("Pass", "Expr"),
    "pattern": ("MatchValue", "MatchAs"),
    "type_param": ("TypeVar",),
}
_SUMS = ("expr", "stmt", "pattern", "type_param", "boolop", "operator", "unaryop", "cmpop", "excepthandler")
_OFTEN = {
    "Expr": 8,
    "Assign": 10,
    "Call": 8,
    "Attribute": 4,
    "Name": 4,
    "For": 3,
    "If": 3,
    "FunctionDef": 2,
    "AugAssign": 2,
    "Yield": 0.3,
    "YieldFrom": 0.1,
    "Nonlocal": 0.1,
    "Global": 0.3,
}
_NEVER = {"Interactive", "Expression", "FunctionType", "TypeIgnore", "Starred", "Slice", "FormattedValue", "Interpolation", "MatchStar", "AugLoad", "Param", "Suite", "Index", "ExtSlice", "Num", "Str", "Bytes", "NameConstant", "Ellipsis"}  # fmt: skip


_NO_PROGRAM = (
    SyntaxError, ValueError, TypeError, AttributeError, RecursionError, LookupError, AssertionError, OverflowError, MemoryError,
)  # fmt: skip
"""What Python says of a tree that is none."""


_PLACES = (
    "",
    "def inner{}(self, x=x, loss=loss):\n",
    "async def inner{}(self, x=x, loss=loss):\n    for _ in items:\n",
)
"""Where a statement may stand: the first of these in which Python takes it."""


def program(dice: random.Random) -> str:
    """A text that mostly is a program: each of its statements is one, or some aren't."""
    strict = dice.random() < 0.85
    rows = [_statement(dice, number, strict=strict) for number in range(dice.randint(2, 10))]
    return "\n".join((f"{PRELUDE}{rows[0]}", *rows[1:], "loss.backward()\nloss.backward()\n"))


def _statement(dice: random.Random, number: int, *, strict: bool) -> str:
    """Drawn again until it can be written down, and compiled if it has to be; not for ever."""
    for _ in range(20):
        with warnings.catch_warnings(), contextlib.suppress(*_NO_PROGRAM):
            warnings.simplefilter("ignore")
            tree = ast.Module([cast("ast.stmt", _Grown(dice).node("stmt", 0))], [])
            text = ast.unparse(ast.fix_missing_locations(tree))
            for place in _PLACES if strict else ():
                with contextlib.suppress(SyntaxError):
                    placed = place.format(number) + textwrap.indent(text, "        " if place else "")
                    compile(placed, "f", "exec", dont_inherit=True)
                    return placed
            if not strict:
                return text
    return "pass"


class _Grown:
    """Trees of one text."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice

    def node(self, kind: str, depth: int) -> ast.AST:
        """A node of a sum such as `stmt`."""
        leaves = _LEAVES.get(kind, ()) if depth >= DEEPEST else ()
        names = leaves or tuple(_alternatives(kind))
        name = self.dice.choices(names, [_OFTEN.get(name, 1) for name in names])[0]
        return self.made(name, depth)

    def made(self, name: str, depth: int) -> ast.AST:
        fields = {field: self.field(name, field, kind, many, depth) for kind, many, field in _fields(name)}
        node: ast.AST = getattr(ast, name)(**fields)
        self._mend(node, depth)
        _agree(node)
        return node

    def field(self, owner: str, field: str, kind: str, many: str, depth: int) -> Any:
        if many == "?" and self.dice.random() < 0.6:
            return None
        if many == "*":
            least = (
                1
                if field
                in ("body", "targets", "names", "items", "generators", "cases", "patterns", "values", "handlers")
                else 0
            )
            return [self._one(kind, field, depth + 1) for _ in range(max(least, self.dice.choice((0, 1, 1, 2, 3))))]
        return self._one(kind, field, depth + 1)

    def _one(self, kind: str, field: str, depth: int) -> Any:
        if kind == "identifier":
            return self.dice.choice(ATTRIBUTES if field in ("attr", "arg") else NAMES)
        if kind == "constant":
            return self.dice.choice(CONSTANTS)
        if kind == "int":
            return 0
        if kind == "string":
            return None
        if kind == "expr_context":
            return ast.Load()
        return self.node(kind, depth) if kind in _SUMS else self.made(kind, depth)

    def _mend(self, node: ast.AST, depth: int) -> None:
        """What the grammar leaves open: what can be assigned to, and lists of one length."""
        match node:
            case ast.Assign():
                node.targets = [self._target(depth) for _ in node.targets]
            case ast.AugAssign() | ast.AnnAssign():
                node.target = self._plain_target(depth)
                if isinstance(node, ast.AnnAssign):
                    node.simple = int(isinstance(node.target, ast.Name))
            case ast.For() | ast.AsyncFor() | ast.comprehension():
                node.target = self._target(depth)
            case ast.withitem() if node.optional_vars is not None:
                node.optional_vars = self._target(depth)
            case ast.Delete():
                node.targets = [self._plain_target(depth) for _ in node.targets]
            case ast.NamedExpr():
                node.target = ast.Name(self.dice.choice(NAMES), ast.Store())
            case ast.Dict():
                node.values = [self.node("expr", depth + 1) for _ in node.keys]  # type: ignore[misc]
            case ast.Compare():
                node.comparators = [self.node("expr", depth + 1) for _ in node.ops]  # type: ignore[misc]
            case ast.JoinedStr():
                node.values = [ast.FormattedValue(self.node("expr", depth + 1), -1, None), ast.Constant("a")]  # type: ignore[arg-type]
            case ast.MatchMapping():
                node.keys = [ast.Constant(number) for number in range(len(node.patterns))]
            case ast.MatchClass():
                node.kwd_patterns = [self.node("pattern", depth + 1) for _ in node.kwd_attrs]  # type: ignore[misc]
            case ast.MatchValue():
                node.value = ast.Constant(self.dice.choice((1, "a", 2.5)))
            case ast.MatchSingleton():
                node.value = self.dice.choice((None, True, False))
            case ast.MatchAs() if node.name is None:
                node.pattern = None
            case ast.MatchOr() | ast.BoolOp() if len(_parts(node)) < 2:
                _parts(node).extend([self.node("pattern" if isinstance(node, ast.MatchOr) else "expr", depth + 1)])
            case ast.ImportFrom():
                node.level = self.dice.choice((0, 0, 1, 2))
                node.module = node.module or "torch"
            case ast.Call() if self.dice.random() < 0.2:
                node.args.append(ast.Starred(self.node("expr", depth + 1), ast.Load()))  # type: ignore[arg-type]
            case ast.Subscript() if self.dice.random() < 0.3:
                node.slice = ast.Slice(None, self.node("expr", depth + 1), None)  # type: ignore[arg-type]

    def _plain_target(self, depth: int) -> Any:
        name = ast.Name(self.dice.choice(NAMES), ast.Store())
        if self.dice.random() < 0.6 or depth >= DEEPEST:
            return name
        inner = self.node("expr", depth + 1)
        if self.dice.random() < 0.5:
            return ast.Attribute(inner, self.dice.choice(ATTRIBUTES), ast.Store())  # type: ignore[arg-type]
        return ast.Subscript(inner, self.node("expr", depth + 1), ast.Store())  # type: ignore[arg-type]

    def _target(self, depth: int) -> Any:
        if self.dice.random() < 0.75:
            return self._plain_target(depth)
        parts = [self._plain_target(depth) for _ in range(self.dice.randint(1, 3))]
        if self.dice.random() < 0.4:
            parts[-1] = ast.Starred(parts[-1], ast.Store())
        return ast.Tuple(parts, ast.Store())


def _agree(node: ast.AST) -> None:
    """Parts of a node that allow or need each other."""
    match node:
        case ast.arguments():
            node.defaults = node.defaults[: len(node.args) + len(node.posonlyargs)]
            node.kw_defaults = [None for _ in node.kwonlyargs]
            for number, each in enumerate(each for each in ast.walk(node) if isinstance(each, ast.arg)):
                each.arg += str(number) if number else ""
        case ast.Lambda():
            for part in ast.walk(node.args):
                if isinstance(part, ast.arg):
                    part.annotation = None
        case ast.ExceptHandler():
            node.type = node.type or ast.Name("Exception", ast.Load())
        case ast.Raise() if node.exc is None:
            node.cause = None
        case ast.Try() if not node.handlers and not node.finalbody:
            node.finalbody = [ast.Pass()]


def _parts(node: Any) -> list[Any]:
    parts: list[Any] = node.patterns if isinstance(node, ast.MatchOr) else node.values
    return parts


@cache
def _alternatives(kind: str) -> list[str]:
    """The names of a sum's nodes."""
    return sorted(each.__name__ for each in getattr(ast, kind).__subclasses__() if each.__name__ not in _NEVER)


@cache
def _fields(name: str) -> list[tuple[str, str, str]]:
    """Type, number and name of each field, as the node's documentation states them."""
    said = getattr(ast, name).__doc__ or ""
    return [found.groups() for found in _FIELD.finditer(said.partition("(")[2])]  # type: ignore[misc]
