"""A straight script as data: statements as trees, comments as escaped lines, read back before anybody sees the text.

Nothing is pasted. A statement comes of a template of ours, in which `_0`, `_1` and so on stand for names and trees; what
the checked program gave gets into it only as a literal, and into a comment only without what could end one.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from keyword import iskeyword
from unicodedata import normalize

from retainlint.symbolic.state import limits
from retainlint.text.quoting import COMMAND, harmless

_NO_GRAD = "with torch.no_grad():"
_SAVING = """
def saving(*inputs):
    \"\"\"Stands for an operation that saves its inputs.\"\"\"
    return sum(x * x for x in inputs)
"""
_PASSING = """
def passing(*inputs):
    \"\"\"Stands for an operation that saves nothing.\"\"\"
    return sum(inputs) + 0
"""
_STAND_INS = {"saving": _SAVING.strip("\n"), "passing": _PASSING.strip("\n")}


class Unwritable(ValueError):
    """A text that can't stand where it was meant to."""


class _Filled(ast.NodeTransformer):
    """Puts trees in the places of `_0`, `_1` and so on."""

    def __init__(self, parts: Sequence[ast.expr]) -> None:
        self._parts = parts

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if not node.id.startswith("_"):
            return node
        part = self._parts[int(node.id[1:])]
        return ast.Name(part.id, node.ctx) if isinstance(part, ast.Name) else part


def statement(template: str, *parts: str | ast.expr) -> ast.stmt:
    """A statement of ours with names and trees in its places. Raises Unwritable for a name that is none."""
    trees = [name(part) if isinstance(part, str) else part for part in parts]
    made: ast.stmt = _Filled(trees).visit(ast.parse(template).body[0])
    return made


def expression(template: str, *parts: str | ast.expr) -> ast.expr:
    made = statement(template, *parts)
    assert isinstance(made, ast.Expr)
    return made.value


def call(function: str, arguments: Sequence[str | ast.expr]) -> ast.Call:
    args = [name(each) if isinstance(each, str) else each for each in arguments]
    return ast.Call(func=name(function), args=args, keywords=[])


def name(text: str) -> ast.Name:
    if not _is_name(text):
        raise Unwritable(f"{text!r} is no name")
    return ast.Name(text, ast.Load())


def keyword(text: str) -> ast.keyword:
    """`text=True` in a call, or `**{'text': True}`, which Python takes for the same, where the text is no name."""
    if _is_name(text):
        return ast.keyword(arg=text, value=ast.Constant(value=True))
    return ast.keyword(arg=None, value=ast.Dict(keys=[ast.Constant(value=text)], values=[ast.Constant(value=True)]))


def _is_name(text: str) -> bool:
    """Whether Python reads the text as a name, and as this one: it gives some letters another form."""
    return text.isidentifier() and not iskeyword(text) and text != "__debug__" and normalize("NFKC", text) == text


@dataclass
class Straight:
    """The statements of a script so far, each with its comment and whether it stands under `torch.no_grad()`."""

    rows: list[tuple[ast.stmt, str, bool]] = field(default_factory=list)
    stand_ins: set[str] = field(default_factory=set)

    def add(self, made: ast.stmt, comment: str = "", *, under_no_grad: bool = False) -> None:
        self.rows.append((made, comment, under_no_grad))

    def stand_in(self, function: str, arguments: Sequence[str | ast.expr]) -> ast.Call:
        """A call of `saving` or `passing`, which the script then defines."""
        self.stand_ins.add(function)
        return call(function, arguments)

    def sum(self, terms: Sequence[str | ast.expr]) -> ast.expr:
        if len(terms) > limits.WITNESS_TERMS:
            return self.stand_in("passing", terms)
        total = expression("_0", terms[0])
        for term in terms[1:]:
            total = expression("_0 + _1", total, term)
        return total

    def text(self) -> str | None:
        """The script; None if Python reads in the text anything else than the statements that were meant."""
        try:
            lines = [line for row in self.rows for line in _lines(*row)]
            head = ["import torch"]
            if any("F." in line for line in lines):
                head.append("import torch.nn.functional as F")
            functions = [text for key, text in _STAND_INS.items() if key in self.stand_ins]
            separator = "\n\n\n" if functions else "\n\n"
            text = separator.join(["\n".join(head), *functions, "\n".join(lines)]) + "\n"
            return text if ast.dump(ast.parse(text)) == ast.dump(self._meant([*head, *functions])) else None
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    def _meant(self, own: Sequence[str]) -> ast.Module:
        """The tree of the whole, of which only our `own` texts were parsed."""
        body = [each for text in own for each in ast.parse(text).body]
        for made, _, under_no_grad in self.rows:
            if under_no_grad:
                block = ast.parse(f"{_NO_GRAD} pass").body[0]
                assert isinstance(block, ast.With)
                block.body = [made]
                body.append(block)
            else:
                body.append(made)
        return ast.Module(body=body, type_ignores=[])


def _lines(made: ast.stmt, comment: str, under_no_grad: bool) -> list[str]:
    code = COMMAND.sub(r"#\\x23", ast.unparse(made))  # outside of a text there is no such sign in code
    line = f"{code}  # {harmless(comment)}" if comment else code
    return [_NO_GRAD, f"    {line}"] if under_no_grad else [line]


def one_line(text: str) -> str:
    """The checked program's text as a comment shows it: on one line, escaped, and not too long."""
    flat = harmless(" ".join(text.split()))
    return flat if len(flat) <= limits.WITNESS_TEXT else flat[: limits.WITNESS_TEXT - 3] + "..."
