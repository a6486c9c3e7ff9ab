"""Numbers and strings to instructions, with what f-strings and t-strings interpolate."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator

import libcst as cst

from retainlint.ir import Item, Kind, Register
from retainlint.lowering.builder import Builder, Value
from retainlint.lowering.nodes import INTERPOLATED, INTERPOLATIONS


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
        return b.build(b.span(node), Kind.STRING, [item for part in parts for item in _interpolations(b, part)])
    if isinstance(texts[0], bytes):
        return b.const(b.span(node), b"".join(text for text in texts if isinstance(text, bytes)))
    return b.const(b.span(node), "".join(text for text in texts if isinstance(text, str)))


def _formatted(b: Builder, node: cst.CSTNode) -> Register:
    return b.build(b.span(node), Kind.STRING, list(_interpolations(b, node)))


def _interpolations(b: Builder, node: cst.CSTNode) -> Iterator[Item]:
    """What an f-string or t-string interpolates, and what the format specifications in it do."""
    for part in getattr(node, "parts", ()):
        if isinstance(part, INTERPOLATIONS):
            yield Item(b.value(part.expression))  # type: ignore[attr-defined]
            for inner in part.format_spec or ():  # type: ignore[attr-defined]
                if isinstance(inner, INTERPOLATIONS):
                    yield Item(b.value(inner.expression))  # type: ignore[attr-defined]


VALUES: dict[type[cst.CSTNode], Value] = {
    cst.Ellipsis: _ellipsis,
    cst.Integer: _number,
    cst.Float: _number,
    cst.Imaginary: _number,
    cst.SimpleString: _string,
    cst.ConcatenatedString: _adjacent_strings,
    **dict.fromkeys(INTERPOLATED, _formatted),
}
