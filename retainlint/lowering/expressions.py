"""Names, literals, containers, operators, attributes, items and calls to instructions."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence

import libcst as cst

from retainlint import ir
from retainlint.lowering.builder import Builder, Value
from retainlint.lowering.parse import INTERPOLATED, INTERPOLATIONS, TEMPLATES

_CONSTANTS: dict[str, ir.Literal] = {"None": None, "True": True, "False": False}


BINARY: dict[type[cst.BaseBinaryOp], str] = {
    cst.Add: "+",
    cst.Subtract: "-",
    cst.Multiply: "*",
    cst.Divide: "/",
    cst.FloorDivide: "//",
    cst.Modulo: "%",
    cst.Power: "**",
    cst.MatrixMultiply: "@",
    cst.LeftShift: "<<",
    cst.RightShift: ">>",
    cst.BitOr: "|",
    cst.BitAnd: "&",
    cst.BitXor: "^",
}


_COMPARE: dict[type[cst.BaseCompOp], str] = {
    cst.LessThan: "<",
    cst.GreaterThan: ">",
    cst.Equal: "==",
    cst.LessThanEqual: "<=",
    cst.GreaterThanEqual: ">=",
    cst.NotEqual: "!=",
    cst.In: "in",
    cst.NotIn: "not in",
    cst.Is: "is",
    cst.IsNot: "is not",
}


_UNARY: dict[type[cst.BaseUnaryOp], str] = {cst.Plus: "+", cst.Minus: "-", cst.BitInvert: "~", cst.Not: "not"}


# -- names -------------------------------------------------------------------------------------------


def _name(b: Builder, node: cst.Name) -> ir.Register:
    if node.value in _CONSTANTS:
        return b.const(b.span(node), _CONSTANTS[node.value])
    return b.load(b.span(node), node.value)


# -- containers ---------------------------------------------------------------------------------------------------


def _element(b: Builder, element: cst.BaseElement | cst.BaseDictElement) -> ir.Item:
    if isinstance(element, cst.DictElement):
        key = b.value(element.key)
        return ir.Item(b.value(element.value), key)
    return ir.Item(b.value(element.value), starred=isinstance(element, (cst.StarredElement, cst.StarredDictElement)))


def _container(kind: ir.Kind) -> Value:
    def lower(b: Builder, node: cst.Tuple | cst.List | cst.Set | cst.Dict) -> ir.Register:
        return b.build(b.span(node), kind, [_element(b, element) for element in node.elements])

    return lower


# -- operators ----------------------------------------------------------------------------------------------------


def _unary(b: Builder, node: cst.UnaryOperation) -> ir.Register:
    if isinstance(node.operator, cst.Not):
        return b.put(ir.Unary, b.span(node), "not", condition(b, node.expression))
    return b.put(ir.Unary, b.span(node), _UNARY[type(node.operator)], b.value(node.expression))


def _binary(b: Builder, node: cst.BinaryOperation) -> ir.Register:
    return b.put(ir.Binary, b.span(node), BINARY[type(node.operator)], b.value(node.left), b.value(node.right))


def condition(b: Builder, node: cst.BaseExpression) -> ir.Register:
    """A value of which only the truth is asked."""
    if isinstance(node, cst.BooleanOperation):
        return _boolean(b, node, condition)
    return _comparison(b, node, asked=True) if isinstance(node, cst.Comparison) else b.value(node)


def _boolean(b: Builder, node: cst.BooleanOperation, lower: Value = Builder.value) -> ir.Register:
    left, dst = lower(b, node.left), b.fresh()
    span = b.span(node.left)
    with b.block() as decided:
        b.emit(ir.Move(span, dst, left))
    with b.block() as other:
        b.emit(ir.Move(b.span(node.right), dst, lower(b, node.right)))
    then, orelse = (other, decided) if isinstance(node.operator, cst.And) else (decided, other)
    b.emit(ir.If(span, left, tuple(then), tuple(orelse)))
    return dst


def _conditional(b: Builder, node: cst.IfExp) -> ir.Register:
    cond, dst = condition(b, node.test), b.fresh()
    with b.block() as then:
        b.emit(ir.Move(b.span(node.body), dst, b.value(node.body)))
    with b.block() as orelse:
        b.emit(ir.Move(b.span(node.orelse), dst, b.value(node.orelse)))
    b.emit(ir.If(b.span(node.test), cond, tuple(then), tuple(orelse)))
    return dst


def _comparison(b: Builder, node: cst.Comparison, *, asked: bool = False) -> ir.Register:
    left = b.value(node.left)
    if len(node.comparisons) == 1:
        target = node.comparisons[0]
        return b.put(ir.Compare, b.span(node), _COMPARE[type(target.operator)], left, b.value(target.comparator), asked)
    return _chain(b, node.left, left, node.comparisons, asked)


def _chain(
    b: Builder, first: cst.BaseExpression, left: ir.Register, targets: Sequence[cst.ComparisonTarget], asked: bool
) -> ir.Register:
    """`a < b < c` is `a < b and b < c`, with `b` computed once."""
    dst, outer = b.fresh(), b.out
    links = []
    for target in targets:
        right = b.value(target.comparator)
        result, span = b.fresh(), b.between(first, target.comparator)
        b.emit(ir.Compare(span, result, _COMPARE[type(target.operator)], left, right, asked))
        links.append((b.out, span, result))
        b.out, first, left = [], target.comparator, right
    b.out = outer
    last, span, result = links.pop()
    last.append(ir.Move(span, dst, result))
    inner = tuple(last)
    for before, span, result in reversed(links):
        before.append(ir.If(span, result, inner, (ir.Move(span, dst, result),)))
        inner = tuple(before)
    return dst


def _walrus(b: Builder, node: cst.NamedExpr) -> ir.Register:
    value = b.value(node.value)
    if isinstance(node.target, cst.Name):
        b.store(b.span(node.target), node.target.value, value)
    return value


# -- attributes, items, calls -------------------------------------------------------------------------------------


def index_of(b: Builder, node: cst.Subscript) -> ir.Register:
    """The register of what stands between the brackets of a subscript."""
    elements = node.slice
    starred = isinstance(elements[0].slice, cst.Index) and elements[0].slice.star is not None
    if len(elements) == 1 and not isinstance(elements[0].comma, cst.Comma) and not starred:
        return _index(b, elements[0]).value
    span = b.slice_span(elements[0], elements[-1])
    return b.build(span, ir.Kind.TUPLE, [_index(b, element) for element in elements])


def _index(b: Builder, element: cst.SubscriptElement) -> ir.Item:
    inner = element.slice
    if isinstance(inner, cst.Index):
        return ir.Item(b.value(inner.value), starred=inner.star is not None)
    if not isinstance(inner, cst.Slice):
        return ir.Item(b.unknown(b.span(element), "an index"))
    span = b.slice_span(element, element)
    parts = (inner.lower, inner.upper, inner.step)
    items = [ir.Item(b.const(span, None) if part is None else b.value(part)) for part in parts]
    return ir.Item(b.build(span, ir.Kind.SLICE, items))


def _call(b: Builder, node: cst.Call) -> ir.Register:
    is_first = isinstance(node.func, cst.Name) and node.func.value == "next"
    return b.put(ir.Call, b.span(node), b.value(node.func), arguments(b, node.args, lazy=is_first))


def arguments(b: Builder, args: Sequence[cst.Arg], *, lazy: bool = False) -> tuple[ir.Arg, ...]:
    """The arguments of a call or a class, as written; `f(a=x, *y)` computes `y` before `x`. What is called goes through a
    generator expression at once, nearly always; `lazy` is what asks for its first item alone."""
    order = range(len(args))
    if any(arg.star == "*" for arg in args):
        order_ = sorted(order, key=lambda at: args[at].keyword is not None or args[at].star == "**")
    else:
        order_ = list(order)
    lowered: dict[int, ir.Arg] = {}
    for at in order_:
        arg = args[at]
        is_list = isinstance(arg.value, cst.GeneratorExp) and not lazy
        value = b.value(arg.value, cst.ListComp if is_list else None)
        lowered[at] = ir.Arg(value, arg.keyword.value if arg.keyword is not None else None, len(arg.star), b.span(arg))
    return tuple(lowered[at] for at in order)


def _yield(b: Builder, node: cst.Yield) -> ir.Register:
    b.is_generator = True
    if isinstance(node.value, cst.From):
        src = b.value(node.value.item)
    else:
        src = b.const(b.span(node), None) if node.value is None else b.value(node.value)
    return b.put(ir.Yield, b.span(node), src, isinstance(node.value, cst.From))


VALUES: dict[type[cst.CSTNode], Value] = {
    cst.Name: _name,
    cst.Tuple: _container(ir.Kind.TUPLE),
    cst.List: _container(ir.Kind.LIST),
    cst.Set: _container(ir.Kind.SET),
    cst.Dict: _container(ir.Kind.DICT),
    cst.UnaryOperation: _unary,
    cst.BinaryOperation: _binary,
    cst.BooleanOperation: _boolean,
    cst.IfExp: _conditional,
    cst.Comparison: _comparison,
    cst.NamedExpr: _walrus,
    cst.Attribute: lambda b, node: b.put(
        ir.GetAttr, b.span(node), b.value(node.value), b.names.spelled(node.attr.value)
    ),
    cst.Subscript: lambda b, node: b.put(ir.GetItem, b.span(node), b.value(node.value), index_of(b, node)),
    cst.Call: _call,
    cst.Await: lambda b, node: b.put(ir.Await, b.span(node), b.value(node.expression)),
    cst.Yield: _yield,
}
"""What lowers each class of expression; literals, comprehensions and functions have tables of their own."""


_EQUAL = re.compile(r"\s*=\s*")

_BARE = re.compile(r"\\.|[\"\n]", re.DOTALL)
"""What needs an escape in a literal of one line, and escapes, which are passed over."""


def _number(b: Builder, node: cst.Integer | cst.Float | cst.Imaginary) -> ir.Register:
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


def _strings(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The parts of adjacent strings, which libcst nests to the right."""
    while isinstance(node, cst.ConcatenatedString):
        yield node.left
        node = node.right
    yield node


def _adjacent_strings(b: Builder, node: cst.ConcatenatedString) -> ir.Register:
    parts = list(_strings(node))
    texts = [_text(part.value) for part in parts if isinstance(part, cst.SimpleString)]
    if len(texts) < len(parts):
        return _interpolated(b, node, parts)
    if isinstance(texts[0], bytes):
        return b.const(b.span(node), b"".join(text for text in texts if isinstance(text, bytes)))
    return b.const(b.span(node), "".join(text for text in texts if isinstance(text, str)))


def _interpolated(b: Builder, node: cst.CSTNode, strings: Sequence[cst.CSTNode]) -> ir.Register:
    """An f-string or t-string, or several strings side by side."""
    pieces: list[str | ir.Item] = []
    for string in strings:
        if isinstance(string, cst.SimpleString):
            pieces.append(str(_text(string.value)))
        elif isinstance(string, INTERPOLATED):
            raw = "r" in string.start.lower()  # type: ignore[attr-defined]
            pieces += _pieces(b, string.parts, raw)  # type: ignore[attr-defined]
    kind = ir.Kind.TEMPLATE if any(isinstance(string, TEMPLATES) for string in strings) else ir.Kind.STRING
    items, texts = _sorted(pieces)
    return b.build(b.span(node), kind, items, texts)


def _pieces(b: Builder, parts: Sequence[cst.CSTNode], raw: bool) -> Iterator[str | ir.Item]:
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
        yield ir.Item(value, conversion=conversion, spec=_spec(b, part, spec or (), raw))


def _named(b: Builder, part: cst.CSTNode) -> str:
    """The `x = ` of `{x = }`, which is printed as it is written."""
    text, expression = b.unit.source.text, part.expression  # type: ignore[attr-defined]
    behind = _EQUAL.match(text, b.end(expression))
    start = text.rindex("{", 0, b.span(expression).start) + 1
    return text[start : behind.end()] if behind is not None else ""


def _spec(b: Builder, part: cst.CSTNode, parts: Sequence[cst.CSTNode], raw: bool) -> str | ir.Register:
    items, texts = _sorted(_pieces(b, parts, raw))
    if not items:
        return texts[0]
    return b.build(b.span(part.expression), ir.Kind.STRING, items, texts)  # type: ignore[attr-defined]


def _sorted(pieces: Iterable[str | ir.Item]) -> tuple[list[ir.Item], tuple[str, ...]]:
    """The items, and the texts around them."""
    items: list[ir.Item] = []
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


LITERALS: dict[type[cst.CSTNode], Value] = {
    cst.Ellipsis: lambda b, node: b.const(b.span(node), ...),
    cst.Integer: _number,
    cst.Float: _number,
    cst.Imaginary: _number,
    cst.SimpleString: lambda b, node: b.const(b.span(node), _text(node.value)),
    cst.ConcatenatedString: _adjacent_strings,
    **dict.fromkeys(INTERPOLATED, lambda b, node: _interpolated(b, node, [node])),
}
