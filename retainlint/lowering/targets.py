"""What may stand left of an assignment: names, attributes, items, and unpacked sequences of them."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from retainlint.ir import DelAttr, Delete, DelItem, Register, SetAttr, SetItem, Unpack
from retainlint.lowering.builder import Builder
from retainlint.lowering.expressions import index_of


def assign(b: Builder, target: cst.CSTNode, src: Register) -> None:
    """Bind a target to the value in `src`."""
    if isinstance(target, cst.Name):
        b.store(b.span(target), target.value, src)
    elif isinstance(target, cst.Attribute):
        obj = b.value(target.value)
        b.emit(SetAttr(b.span(target), obj, b.names.spelt(target.attr.value), src))
    elif isinstance(target, cst.Subscript):
        obj = b.value(target.value)
        index = index_of(b, target)
        b.emit(SetItem(b.span(target), obj, index, src))
    elif isinstance(target, (cst.Tuple, cst.List)):
        _unpack(b, target, target.elements, src)
    else:
        b.opaque(b.span(target), f"an assignment to a {type(target).__name__}")


def _unpack(b: Builder, target: cst.CSTNode, elements: Sequence[cst.BaseElement], src: Register) -> None:
    dsts = tuple(b.fresh() for _ in elements)
    stars = [at for at, element in enumerate(elements) if isinstance(element, cst.StarredElement)]
    b.emit(Unpack(b.span(target), dsts, src, stars[0] if stars else None))
    for element, dst in zip(elements, dsts, strict=True):
        assign(b, element.value, dst)


def delete(b: Builder, target: cst.CSTNode) -> None:
    """`del target`."""
    if isinstance(target, cst.Name):
        name, scope = b.names.resolve(target.value)
        b.emit(Delete(b.span(target), name, scope))
    elif isinstance(target, cst.Attribute):
        obj = b.value(target.value)
        b.emit(DelAttr(b.span(target), obj, b.names.spelt(target.attr.value)))
    elif isinstance(target, cst.Subscript):
        obj = b.value(target.value)
        index = index_of(b, target)
        b.emit(DelItem(b.span(target), obj, index))
    elif isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            delete(b, element.value)
    else:
        b.opaque(b.span(target), f"a deletion of a {type(target).__name__}")
