"""Statements and comprehensions to instructions, but for definitions and `match`; and what may stand left of an assignment."""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst

from retainlint import ir
from retainlint.lowering import limits
from retainlint.lowering.builder import Builder, Statement, Value
from retainlint.lowering.expressions import BINARY, condition, index_of
from retainlint.lowering.parse import IMPORTS, IMPORTS_FROM, UNPACKING_DICT_COMPREHENSIONS
from retainlint.lowering.scopes import imported_name, targets_of
from retainlint.text.source import Span


def assign(b: Builder, target: cst.CSTNode, src: ir.Register) -> None:
    """Bind a target to the value in `src`."""
    if isinstance(target, cst.Name):
        b.store(b.span(target), target.value, src)
    elif isinstance(target, cst.Attribute):
        b.emit(ir.SetAttr(b.span(target), b.value(target.value), b.names.spelled(target.attr.value), src))
    elif isinstance(target, cst.Subscript):
        b.emit(ir.SetItem(b.span(target), b.value(target.value), index_of(b, target), src))
    elif isinstance(target, (cst.Tuple, cst.List)):
        _unpack(b, target, target.elements, src)
    else:
        b.opaque(b.span(target), f"an assignment to a {type(target).__name__}")


def _unpack(b: Builder, target: cst.CSTNode, elements: Sequence[cst.BaseElement], src: ir.Register) -> None:
    dsts = tuple(b.fresh() for _ in elements)
    stars = [at for at, element in enumerate(elements) if isinstance(element, cst.StarredElement)]
    b.emit(ir.Unpack(b.span(target), dsts, src, stars[0] if stars else None))
    for element, dst in zip(elements, dsts, strict=True):
        assign(b, element.value, dst)


def delete(b: Builder, target: cst.CSTNode) -> None:
    """`del target`."""
    if isinstance(target, cst.Name):
        name, scope = b.names.resolve(target.value)
        b.emit(ir.Delete(b.span(target), name, scope))
    elif isinstance(target, cst.Attribute):
        b.emit(ir.DelAttr(b.span(target), b.value(target.value), b.names.spelled(target.attr.value)))
    elif isinstance(target, cst.Subscript):
        b.emit(ir.DelItem(b.span(target), b.value(target.value), index_of(b, target)))
    elif isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            delete(b, element.value)
    else:
        b.opaque(b.span(target), f"a deletion of a {type(target).__name__}")


_KINDS: dict[type[cst.CSTNode], ir.Kind] = {
    cst.ListComp: ir.Kind.LIST,
    cst.GeneratorExp: ir.Kind.LIST,
    cst.SetComp: ir.Kind.SET,
    cst.DictComp: ir.Kind.DICT,
    **dict.fromkeys(UNPACKING_DICT_COMPREHENSIONS, ir.Kind.DICT),
}


def _comprehension(b: Builder, node: cst.BaseComp) -> ir.Register:
    """The first iterable is computed outside of the comprehension's scope, all else inside."""
    span, dst = b.span(node), b.fresh()
    iterable = b.value(node.for_in.iter)
    b.emit(ir.Build(span, dst, _KINDS[type(node)], ()))
    b.names.aliases.append(b.names.rename(dict.fromkeys(own_names(node))))
    b.names.comprehending += 1
    run_through(b, node, node.for_in, iterable, dst)
    b.names.comprehending -= 1
    b.names.aliases.pop()
    return dst


def own_names(node: cst.BaseComp) -> list[str]:
    """The names that a comprehension binds for itself."""
    names: list[str] = []
    clause: cst.CompFor | None = node.for_in
    while clause is not None:
        names.extend(targets_of(clause.target))
        clause = clause.inner_for_in
    return names


def run_through(
    b: Builder, node: cst.BaseComp, clause: cst.CompFor, iterable: ir.Register, container: ir.Register | None
) -> None:
    """The loops of a comprehension, that put each element into a container; of a generator, that yield it."""
    item = b.fresh()
    with b.block() as body:
        assign(b, clause.target, item)
        _conditions(b, node, clause, 0, container)
    b.emit(ir.For(_header(b, clause), iterable, item, tuple(body), (), comprehension=container is not None))


def _conditions(b: Builder, node: cst.BaseComp, clause: cst.CompFor, at: int, container: ir.Register | None) -> None:
    """What a turn does behind the conditions from `at` on."""
    if at < len(clause.ifs):
        test = clause.ifs[at].test
        cond = condition(b, test)
        with b.block() as then:
            _conditions(b, node, clause, at + 1, container)
        b.emit(ir.If(b.span(test), cond, tuple(then), ()))
    elif clause.inner_for_in is not None:
        iterable = b.value(clause.inner_for_in.iter)
        run_through(b, node, clause.inner_for_in, iterable, container)
    elif container is None and isinstance(node, cst.GeneratorExp):
        b.is_generator, element = True, node.elt
        b.put(ir.Yield, b.span(element), b.value(element))
    elif container is not None:
        _append(b, node, container)


def _append(b: Builder, node: cst.BaseComp, container: ir.Register) -> None:
    if isinstance(node, cst.DictComp):
        key = b.value(node.key)
        item, span = ir.Item(b.value(node.value), key), b.between(node.key, node.value)
    else:
        element: cst.BaseExpression = node.value if isinstance(node, UNPACKING_DICT_COMPREHENSIONS) else node.elt  # type: ignore[attr-defined]
        span, starred = b.span(element), isinstance(node, UNPACKING_DICT_COMPREHENSIONS)
        if isinstance(element, cst.StarredElement):
            element, starred = element.value, True
        item = ir.Item(b.value(element), starred=starred)
    b.emit(ir.Append(span, container, item))


def _header(b: Builder, clause: cst.CompFor) -> Span:
    """`for ... in ...`; libcst keeps no place for it, but before the target stand only parentheses and the word."""
    start = b.unit.source.text.rindex("for", 0, b.span(clause.target).start)
    return Span(b.unit.source, start, b.end(clause.iter))


COMPREHENSIONS: dict[type[cst.CSTNode], Value] = dict.fromkeys(_KINDS, _comprehension)


_IN_PLACE: dict[type[cst.BaseAugOp], str] = {
    getattr(cst, f"{operator.__name__}Assign"): sign for operator, sign in BINARY.items()
}


_INERT = (cst.SimpleString, cst.Ellipsis, cst.BaseNumber)
"""As statements, docstrings and place-holders: they do nothing."""


_NO_FIELD = re.compile(r"""['"]?(?:\w+\.)?(?:ClassVar|KW_ONLY)\b""")
"""Annotations of names that are no fields of a dataclass."""


# -- simple statements --------------------------------------------------------------------------------------------


def _expression(b: Builder, node: cst.Expr) -> None:
    if isinstance(node.value, cst.Yield) and isinstance(node.value.value, cst.From):
        _yield_each(b, b.span(node.value), b.value(node.value.value.item))
    elif not isinstance(node.value, _INERT):
        b.value(node.value)


def _yield_each(b: Builder, span: Span, iterable: ir.Register) -> None:
    """`yield from` whose value nobody asks for is a loop that yields, though what is sent to it isn't handed on."""
    b.is_generator, item = True, b.fresh()
    with b.block() as body:
        b.put(ir.Yield, span, item)
    b.emit(ir.For(span, iterable, item, tuple(body), ()))


def _assign(b: Builder, node: cst.Assign) -> None:
    src = b.value(node.value)
    for assigned in node.targets:
        assign(b, assigned.target, src)


def _annotated(b: Builder, node: cst.AnnAssign) -> None:
    """Annotations aren't computed: newer Pythons do so only when asked, and nobody asks."""
    target = node.target
    if isinstance(target, cst.Name) and not _NO_FIELD.match(b.text(node.annotation.annotation)):
        b.annotated.append(b.names.spelled(target.value))
    if node.value is not None:
        assign(b, target, b.value(node.value))
    elif isinstance(target, (cst.Attribute, cst.Subscript)):  # whose object, and index, are computed all the same
        b.value(target.value)
        if isinstance(target, cst.Subscript):
            index_of(b, target)


def _augmented(b: Builder, node: cst.AugAssign) -> None:
    """The object and the index of the target are computed once, before the right side."""
    target, span = node.target, b.span(node.target)

    def computed(left: ir.Register) -> ir.Register:
        return b.put(ir.Binary, b.span(node), _IN_PLACE[type(node.operator)], left, b.value(node.value), in_place=True)

    if isinstance(target, cst.Name):
        b.store(span, target.value, computed(b.value(target)))
    elif isinstance(target, cst.Attribute):
        obj, left = b.value(target.value), b.fresh()
        name = b.names.spelled(target.attr.value)
        b.emit(ir.GetAttr(span, left, obj, name))
        b.emit(ir.SetAttr(span, obj, name, computed(left)))
    elif isinstance(target, cst.Subscript):
        obj = b.value(target.value)
        index, left = index_of(b, target), b.fresh()
        b.emit(ir.GetItem(span, left, obj, index))
        b.emit(ir.SetItem(span, obj, index, computed(left)))
    else:
        b.opaque(span, f"an augmented assignment to a {type(target).__name__}")


def _return(b: Builder, node: cst.Return) -> None:
    src = b.const(b.span(node), None) if node.value is None else b.value(node.value)
    b.emit(ir.Return(b.span(node), src))


def _raise(b: Builder, node: cst.Raise) -> None:
    src = None if node.exc is None else b.value(node.exc)
    if node.cause is not None:
        b.value(node.cause.item)
    b.emit(ir.Raise(b.span(node), src))


def _assert(b: Builder, node: cst.Assert) -> None:
    span = b.span(node)
    cond = condition(b, node.test)
    with b.block() as failed:
        error = b.load(span, "AssertionError")
        args = () if node.msg is None else (ir.Arg(b.value(node.msg), span=b.span(node.msg)),)
        dst = b.put(ir.Call, span, error, args)
        b.emit(ir.Raise(span, dst))
    b.emit(ir.If(b.span(node.test), cond, (), tuple(failed)))


def _import(b: Builder, node: cst.Import) -> None:
    for alias in node.names:
        span, dst = b.span(alias), b.fresh()
        b.emit(ir.Import(span, dst, b.names.spelled(_dotted(alias.name)), None if alias.asname is None else ""))
        b.store(span, imported_name(alias), dst)


def _import_from(b: Builder, node: cst.ImportFrom) -> None:
    module = "" if node.module is None else b.names.spelled(_dotted(node.module))
    level = len(node.relative)
    if isinstance(node.names, cst.ImportStar):
        b.emit(ir.Import(b.span(node), b.fresh(), module, "*", level))
        return
    for alias in node.names:
        span, dst = b.span(alias), b.fresh()
        b.emit(ir.Import(span, dst, module, b.names.spelled(_dotted(alias.name)), level))
        b.store(span, imported_name(alias), dst)


def _dotted(name: cst.BaseExpression) -> str:
    parts = []
    while isinstance(name, cst.Attribute):
        parts.append(name.attr.value)
        name = name.value
    parts.append(name.value if isinstance(name, cst.Name) else "")
    return ".".join(reversed(parts))


def _nothing(b: Builder, node: cst.CSTNode) -> None:
    """`pass`; `global` and `nonlocal` were heeded when the names were collected."""


# -- compound statements ------------------------------------------------------------------------------------------


def _if(b: Builder, node: cst.If) -> None:
    """`elif` nests in ir, but isn't lowered by recursion: hundreds of them are usual."""
    outer = b.out
    arms: list[tuple[list[ir.Instr], Span, ir.Register, ir.Block]] = []
    arm: cst.If | cst.Else | None = node
    while isinstance(arm, cst.If):
        cond = condition(b, arm.test)
        arms.append((b.out, b.span(arm.test), cond, b.suite(arm.body)))
        b.out, arm = [], arm.orelse
    b.out = outer
    orelse = b.suite(arm)
    for before, span, cond, then in reversed(arms):
        before.append(ir.If(span, cond, then, orelse))
        orelse = tuple(before) if before is not outer else ()


def _for(b: Builder, node: cst.For) -> None:
    iterable, item = b.value(node.iter), b.fresh()
    with b.block() as body:
        assign(b, node.target, item)
        b.run(node.body)
    header = Span(b.unit.source, b.span(node).start, b.end(node.iter))
    b.emit(ir.For(header, iterable, item, tuple(body), b.suite(node.orelse)))


def _while(b: Builder, node: cst.While) -> None:
    with b.block() as test:
        cond = condition(b, node.test)
    header = Span(b.unit.source, b.span(node).start, b.end(node.test))
    body = b.suite(node.body)
    b.emit(ir.While(header, tuple(test), cond, body, b.suite(node.orelse)))


def _with(b: Builder, node: cst.With, at: int = 0) -> None:
    """One item after the other, each inside the one before."""
    if at == limits.NESTED_CONTEXTS:
        _unknown_contexts(b, node.items[at:])
        b.run(node.body)
        return
    item = node.items[at]
    context, dst = b.value(item.item), b.fresh()
    with b.block() as body:
        if item.asname is not None:
            assign(b, item.asname.name, dst)
        if at + 1 < len(node.items):
            _with(b, node, at + 1)
        else:
            b.run(node.body)
    b.emit(ir.With(b.span(item), context, dst, tuple(body)))


def _unknown_contexts(b: Builder, items: Sequence[cst.WithItem]) -> None:
    """Contexts that are one too many: nobody knows what they do."""
    reason = f"a `with` of more than {limits.NESTED_CONTEXTS} contexts"
    b.opaque(Span(b.unit.source, b.span(items[0]).start, b.end(items[-1])), reason)
    for item in items:
        b.value(item.item)
        if item.asname is not None:
            assign(b, item.asname.name, b.unknown(b.span(item), reason))


def _try(b: Builder, node: cst.Try | cst.TryStar) -> None:
    span = Span(b.unit.source, b.span(node).start, b.span(node).start + len("try"))
    body = b.suite(node.body)
    handlers = tuple(_handler(b, handler) for handler in node.handlers)
    orelse = b.suite(node.orelse)
    b.emit(ir.Try(span, body, handlers, orelse, b.suite(node.finalbody), isinstance(node, cst.TryStar)))


def _handler(b: Builder, node: cst.ExceptHandler | cst.ExceptStarHandler) -> ir.Handler:
    dst, kind = b.fresh(), None
    start = b.span(node).start
    end = start + len("except")
    with b.block() as test:
        if node.type is not None:
            kind = b.value(node.type)
            end = b.end(node.type)
    with b.block() as body:
        if node.name is not None:
            end = b.end(node.name.name)
            assign(b, node.name.name, dst)
        b.run(node.body)
        if node.name is not None and isinstance(node.name.name, cst.Name):
            _forget(b, node.name.name)
    return ir.Handler(Span(b.unit.source, start, end), tuple(test), kind, dst, tuple(body))


def _forget(b: Builder, node: cst.Name) -> None:
    """Python unbinds a handler's name behind it, even where the handler has deleted it already."""
    name, scope = b.names.resolve(node.value)
    b.store(b.span(node), node.value, b.const(b.span(node), None))
    b.emit(ir.Delete(b.span(node), name, scope))


STATEMENTS: dict[type[cst.CSTNode], Statement] = {
    cst.Expr: _expression,
    cst.Assign: _assign,
    cst.AnnAssign: _annotated,
    cst.AugAssign: _augmented,
    cst.Del: lambda b, node: delete(b, node.target),
    cst.Return: _return,
    cst.Raise: _raise,
    cst.Assert: _assert,
    **dict.fromkeys(IMPORTS, _import),
    **dict.fromkeys(IMPORTS_FROM, _import_from),
    cst.Pass: _nothing,
    cst.Global: _nothing,
    cst.Nonlocal: _nothing,
    cst.Break: lambda b, node: b.emit(ir.Break(b.span(node))),
    cst.Continue: lambda b, node: b.emit(ir.Continue(b.span(node))),
    cst.If: _if,
    cst.For: _for,
    cst.While: _while,
    cst.With: _with,
    cst.Try: _try,
    cst.TryStar: _try,
}
"""What lowers each class of statement; definitions and `match` have tables of their own."""
