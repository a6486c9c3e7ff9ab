"""Comprehensions and generator expressions: a container, a loop that fills it, and variables of its own."""

from __future__ import annotations

import libcst as cst

from retainlint.ir import Append, Build, For, If, Item, Kind, Register
from retainlint.lowering.builder import Builder, Value
from retainlint.lowering.nodes import UNPACKING_DICT_COMPREHENSIONS
from retainlint.lowering.scopes import targets_of
from retainlint.lowering.targets import assign
from retainlint.source import Span

_KINDS: dict[type[cst.CSTNode], Kind] = {
    cst.ListComp: Kind.LIST,
    cst.GeneratorExp: Kind.LIST,
    cst.SetComp: Kind.SET,
    cst.DictComp: Kind.DICT,
    **dict.fromkeys(UNPACKING_DICT_COMPREHENSIONS, Kind.DICT),
}


def _comprehension(b: Builder, node: cst.BaseComp) -> Register:
    """The first iterable is computed outside of the comprehension's scope, all else inside."""
    span, dst = b.span(node), b.fresh()
    iterable = b.value(node.for_in.iter)
    b.emit(Build(span, dst, _KINDS[type(node)], ()))
    names: list[str] = []
    clause: cst.CompFor | None = node.for_in
    while clause is not None:
        names.extend(targets_of(clause.target))
        clause = clause.inner_for_in
    b.names.aliases.append(b.names.rename(dict.fromkeys(names)))
    b.names.comprehending += 1
    _loop(b, node, node.for_in, iterable, dst)
    b.names.comprehending -= 1
    b.names.aliases.pop()
    return dst


def _loop(b: Builder, node: cst.BaseComp, clause: cst.CompFor, iterable: Register, container: Register) -> None:
    item = b.fresh()
    with b.block() as body:
        assign(b, clause.target, item)
        _conditions(b, node, clause, 0, container)
    b.emit(For(_header(b, clause), iterable, item, tuple(body), (), comprehension=True))


def _conditions(b: Builder, node: cst.BaseComp, clause: cst.CompFor, at: int, container: Register) -> None:
    """What a turn does behind the conditions from `at` on."""
    if at < len(clause.ifs):
        test = clause.ifs[at].test
        cond = b.value(test)
        with b.block() as then:
            _conditions(b, node, clause, at + 1, container)
        b.emit(If(b.span(test), cond, tuple(then), ()))
    elif clause.inner_for_in is not None:
        iterable = b.value(clause.inner_for_in.iter)
        _loop(b, node, clause.inner_for_in, iterable, container)
    else:
        _append(b, node, container)


def _append(b: Builder, node: cst.BaseComp, container: Register) -> None:
    if isinstance(node, cst.DictComp):
        key = b.value(node.key)
        item, span = Item(b.value(node.value), key), b.between(node.key, node.value)
    else:
        element: cst.BaseExpression = node.value if isinstance(node, UNPACKING_DICT_COMPREHENSIONS) else node.elt  # type: ignore[attr-defined]
        span, starred = b.span(element), isinstance(node, UNPACKING_DICT_COMPREHENSIONS)
        if isinstance(element, cst.StarredElement):
            element, starred = element.value, True
        item = Item(b.value(element), starred=starred)
    b.emit(Append(span, container, item))


def _header(b: Builder, clause: cst.CompFor) -> Span:
    """`for ... in ...`; libcst keeps no place for it, but before the target stand only parentheses and the word."""
    start = b.unit.source.text.rindex("for", 0, b.span(clause.target).start)
    return Span(b.unit.source, start, b.end(clause.iter))


VALUES: dict[type[cst.CSTNode], Value] = dict.fromkeys(_KINDS, _comprehension)
