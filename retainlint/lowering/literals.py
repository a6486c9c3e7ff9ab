"""Numbers and strings to instructions, with what f-strings and t-strings interpolate."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence

import libcst as cst

from retainlint.ir import Item, Kind, Register
from retainlint.lowering.builder import Builder, Value
from retainlint.lowering.nodes import INTERPOLATED, INTERPOLATIONS, TEMPLATES

_EQUAL = re.compile(r"\s*=\s*")
_BARE = re.compile(r"\\.|[\"\n]", re.DOTALL)
"""What needs an escape in a literal of one line, and escapes, which are passed over."""


def _ellipsis(b: Builder, node: cst.Ellipsis) -> Register:
    return b.const(b.span(node), ...)


def _number(b: Builder, node: cst.Integer | cst.Float | cst.Imaginary) -> Register:
    try:
        value = ast.literal_eval(node.value)
    except (ValueError, SyntaxError):
        return b.unknown(b.span(node), "a number that Python can't read")
    return b.const(b.span(node), value)


def _text(literal: str) -> str | bytes:
    """The value of a string literal; empty where this Python can't read it."""
    quote = literal[0]
    if quote in "'\"" and "\\" not in literal:
        return literal[3:-3] if literal.startswith(quote * 3) and len(literal) > 5 else literal[1:-1]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape is nothing to us
            value = ast.literal_eval(literal)
    except (ValueError, SyntaxError):
        return ""
    return value if isinstance(value, (str, bytes)) else ""


def _string(b: Builder, node: cst.SimpleString) -> Register:
    return b.const(b.span(node), _text(node.value))


def _strings(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The parts of adjacent strings, which libcst nests to the right."""
    while isinstance(node, cst.ConcatenatedString):
        yield node.left
        node = node.right
    yield node


def _adjacent_strings(b: Builder, node: cst.ConcatenatedString) -> Register:
    parts = list(_strings(node))
    texts = [_text(part.value) for part in parts if isinstance(part, cst.SimpleString)]
    if len(texts) < len(parts):
        return _interpolated(b, node, parts)
    if isinstance(texts[0], bytes):
        return b.const(b.span(node), b"".join(text for text in texts if isinstance(text, bytes)))
    return b.const(b.span(node), "".join(text for text in texts if isinstance(text, str)))


def _formatted(b: Builder, node: cst.CSTNode) -> Register:
    return _interpolated(b, node, [node])


def _interpolated(b: Builder, node: cst.CSTNode, strings: Sequence[cst.CSTNode]) -> Register:
    """An f-string or t-string, or several strings side by side."""
    pieces: list[str | Item] = []
    for string in strings:
        if isinstance(string, cst.SimpleString):
            pieces.append(str(_text(string.value)))
        elif isinstance(string, INTERPOLATED):
            raw = "r" in string.start.lower()  # type: ignore[attr-defined]
            pieces += _pieces(b, string.parts, raw)  # type: ignore[attr-defined]
    kind = Kind.TEMPLATE if any(isinstance(string, TEMPLATES) for string in strings) else Kind.STRING
    items, texts = _sorted(pieces)
    return b.build(b.span(node), kind, items, texts)


def _pieces(b: Builder, parts: Sequence[cst.CSTNode], raw: bool) -> Iterator[str | Item]:
    for part in parts:
        if not isinstance(part, INTERPOLATIONS):
            yield _literal(part.value, raw)  # type: ignore[attr-defined]
            continue
        expression, spec = part.expression, part.format_spec  # type: ignore[attr-defined]
        value = b.value(expression)
        conversion = part.conversion or ""  # type: ignore[attr-defined]
        if part.equal is not None:  # type: ignore[attr-defined]
            yield _named(b, part)
            conversion = conversion or ("" if spec else "r")
        yield Item(value, conversion=conversion, spec=_spec(b, part, spec or (), raw))


def _named(b: Builder, part: cst.CSTNode) -> str:
    """The `x = ` of `{x = }`, which is printed as it is written."""
    text, expression = b.unit.source.text, part.expression  # type: ignore[attr-defined]
    behind = _EQUAL.match(text, b.end(expression))
    start = text.rindex("{", 0, b.span(expression).start) + 1
    return text[start : behind.end()] if behind is not None else ""


def _spec(b: Builder, part: cst.CSTNode, parts: Sequence[cst.CSTNode], raw: bool) -> str | Register:
    items, texts = _sorted(_pieces(b, parts, raw))
    if not items:
        return texts[0]
    return b.build(b.span(part.expression), Kind.STRING, items, texts)  # type: ignore[attr-defined]


def _sorted(pieces: Iterable[str | Item]) -> tuple[list[Item], tuple[str, ...]]:
    """The items, and the texts around them."""
    items: list[Item] = []
    texts = [""]
    for piece in pieces:
        if isinstance(piece, str):
            texts[-1] += piece
        else:
            items.append(piece)
            texts.append("")
    return items, tuple(texts)


def _literal(text: str, raw: bool) -> str:
    """The text between what an f-string interpolates, from how it is written."""
    text = text.replace("{{", "{").replace("}}", "}")
    if raw or "\\" not in text:
        return text
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return str(ast.literal_eval(f'"{_BARE.sub(_escaped, text)}"'))
    except (ValueError, SyntaxError):
        return text


def _escaped(found: re.Match[str]) -> str:
    return {'"': '\\"', "\n": "\\n"}.get(found.group(), found.group())


VALUES: dict[type[cst.CSTNode], Value] = {
    cst.Ellipsis: _ellipsis,
    cst.Integer: _number,
    cst.Float: _number,
    cst.Imaginary: _number,
    cst.SimpleString: _string,
    cst.ConcatenatedString: _adjacent_strings,
    **dict.fromkeys(INTERPOLATED, _formatted),
}
