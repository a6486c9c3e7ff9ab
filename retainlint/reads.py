"""Which registers each plain instruction reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from retainlint import ir


def _items(instr: ir.Build) -> Iterable[ir.Register]:
    for item in instr.items:
        yield item.value
        if item.key is not None:
            yield item.key
        if isinstance(item.spec, int):
            yield item.spec


def _append(instr: ir.Append) -> Iterable[ir.Register]:
    return (instr.container, instr.item.value, *(() if instr.item.key is None else (instr.item.key,)))


def _call(instr: ir.Call) -> Iterable[ir.Register]:
    return (instr.func, *(arg.value for arg in instr.args))


def _class(instr: ir.MakeClass) -> Iterable[ir.Register]:
    return (arg.value for arg in instr.bases)


def _defaults(instr: ir.MakeFunction) -> Iterable[ir.Register]:
    return (param.default for param in instr.code.params if param.default is not None)


def _nothing(instr: ir.Instr) -> Iterable[ir.Register]:
    return ()


READS: dict[type, Callable[[Any], Iterable[ir.Register]]] = {
    ir.Const: _nothing,
    ir.Move: lambda instr: (instr.src,),
    ir.Load: _nothing,
    ir.Store: lambda instr: (instr.src,),
    ir.Delete: _nothing,
    ir.GetAttr: lambda instr: (instr.obj,),
    ir.SetAttr: lambda instr: (instr.obj, instr.src),
    ir.DelAttr: lambda instr: (instr.obj,),
    ir.GetItem: lambda instr: (instr.obj, instr.index),
    ir.SetItem: lambda instr: (instr.obj, instr.index, instr.src),
    ir.DelItem: lambda instr: (instr.obj, instr.index),
    ir.Unary: lambda instr: (instr.operand,),
    ir.Binary: lambda instr: (instr.left, instr.right),
    ir.Compare: lambda instr: (instr.left, instr.right),
    ir.Call: _call,
    ir.Build: _items,
    ir.Append: _append,
    ir.Unpack: lambda instr: (instr.src,),
    ir.Import: _nothing,
    ir.MakeFunction: _defaults,
    ir.Decorate: lambda instr: (instr.decorator, instr.target),
    ir.MakeClass: _class,
    ir.MakeType: _nothing,
    ir.Yield: lambda instr: (instr.src,),
    ir.Await: lambda instr: (instr.src,),
    ir.Opaque: _nothing,
}
