"""What holds code of its own: functions, lambdas, classes, and the decorators and type parameters on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import libcst as cst

from retainlint import ir
from retainlint.lowering import limits
from retainlint.lowering.builder import Builder, Statement, Unit, Value
from retainlint.lowering.expressions import arguments
from retainlint.lowering.guards import LoweringError
from retainlint.lowering.liveness import with_liveness
from retainlint.lowering.parse import no_collection, parse_body
from retainlint.lowering.scopes import Bindings, Holder, Names, bindings_of, walruses_of
from retainlint.lowering.statements import own_names, run_through
from retainlint.startup.process import room_to_recurse
from retainlint.text.source import Span


def _function(b: Builder, node: cst.FunctionDef) -> None:
    span, name = b.span(node.name), node.name.value
    decorators = [(b.span(decorator.decorator), b.value(decorator.decorator)) for decorator in node.decorators]
    _enter_type_parameters(b, node.type_parameters)
    params = _params(b, node.params)
    body, extent, is_async = _aside(b, node.body), b.unit.offsets[id(node)], node.asynchronous is not None
    head = ir.Head(name, _qualname(b, name), span, extent, body or extent, params, is_async, b.names.private or "")
    code = _later(b.unit, head) if body is not None else _code(b.unit, b.names, node.body, head)
    _leave_type_parameters(b, node.type_parameters)
    dst = b.put(ir.MakeFunction, span, code)
    _bind(b, span, name, decorators, dst)


def _code(unit: Unit, outer: Names, body: cst.BaseSuite, head: ir.Head) -> ir.Code:
    bindings = bindings_of(body.body, unit.walruses(*head.extent))
    bindings.bound.update(param.name for param in head.params)
    inner = Builder(unit, Names(Holder.FUNCTION, bindings, outer), head.qualname)
    inner.run(body)
    return finish(inner, head.name, head.span, head.extent, head.params, head.is_async)


def _aside(b: Builder, body: cst.BaseSuite) -> tuple[int, int] | None:
    """Where a function's statements start and end, if they stand aside."""
    first = body.body[0] if b.unit.aside else None
    if isinstance(first, cst.SimpleStatementLine):
        first = first.body[0]
    start = b.unit.offsets[id(first.value)][0] if isinstance(first, cst.Expr) else -1
    end = b.unit.aside.get(start)
    return None if end is None else (start, end)


def _later(unit: Unit, head: ir.Head) -> ir.Code:
    unit = replace(unit, offsets={}, gaps=[], aside={})  # the tree at hand needn't live as long as this
    return ir.Deferred(head, unit.backward_passes(*head.extent), partial(with_body, unit))


def with_body(unit: Unit, head: ir.Head) -> ir.Code:
    """A function of a module or class, lowered after the module that it stands in; unknown where it can't be read safely.

    What it doesn't bind itself is the module's, whatever stands around it.
    """
    try:
        with room_to_recurse(limits.PARSER_FRAMES), no_collection():
            tree = parse_body(unit.source, *head.body)
            holder = tree.module.body[0]
            assert isinstance(holder, cst.If)
            around = Names(Holder.MODULE, Bindings(), None, private=head.private)
            return _code(replace(unit, offsets=tree.offsets), around, holder.body, head)
    except (LoweringError, RecursionError):
        gap = ir.Opaque(head.span, f"the body of `{head.name}` can't be read")
        return ir.Code(head.name, head.qualname, head.span, (gap,), head.params, is_async=head.is_async)


def _lambda(b: Builder, node: cst.Lambda) -> ir.Register:
    span = b.span(node)
    params = _params(b, node.params)
    bound = walruses_of(node.body) if b.unit.holds_walrus(span.start, span.end) else set()
    bound.update(param.name for param in params)
    inner = _inside(b, Names(Holder.FUNCTION, Bindings(bound), b.names), "<lambda>")
    value = inner.value(node.body)
    inner.emit(ir.Return(inner.span(node.body), value))
    return b.put(ir.MakeFunction, span, finish(inner, "<lambda>", span, (span.start, span.end), params))


_SOURCE = ".0"
"""As Python calls what a generator expression goes through: computed where that stands, all else when an item is asked for."""


def _generator(b: Builder, node: cst.GeneratorExp) -> ir.Register:
    span = b.span(node)
    if (
        b.unit.holds_walrus(span.start, span.end)
        or node.for_in.asynchronous is not None
        or b.names.holder is Holder.CLASS
    ):
        return b.value(node, cst.ListComp)
    iterable = b.value(node.for_in.iter)
    bindings = Bindings({_SOURCE, *own_names(node)})
    inner = _inside(b, Names(Holder.FUNCTION, bindings, b.names), "<genexpr>")
    run_through(inner, node, node.for_in, inner.load(span, _SOURCE), None)
    given = (ir.Param(_SOURCE, "positional", span=span),)
    func = b.put(ir.MakeFunction, span, finish(inner, "<genexpr>", span, (span.start, span.end), given))
    return b.put(ir.Call, span, func, (ir.Arg(iterable, span=b.span(node.for_in.iter)),))


def _class(b: Builder, node: cst.ClassDef) -> None:
    span, name = b.span(node.name), node.name.value
    decorators = [(b.span(decorator.decorator), b.value(decorator.decorator)) for decorator in node.decorators]
    _enter_type_parameters(b, node.type_parameters)
    bases = arguments(b, (*node.bases, *node.keywords))
    start, end = b.unit.offsets[id(node)]
    bindings = bindings_of(node.body.body, b.unit.walruses(start, end))
    inner = _inside(b, Names(Holder.CLASS, bindings, b.names, private=name.lstrip("_")), name)
    inner.run(node.body)
    code = finish(inner, name, span, (start, end))
    _leave_type_parameters(b, node.type_parameters)
    dst = b.put(ir.MakeClass, span, code, bases)
    _bind(b, span, name, decorators, dst)


def finish(
    b: Builder,
    name: str,
    span: Span,
    extent: tuple[int, int],
    params: tuple[ir.Param, ...] = (),
    is_async: bool = False,
) -> ir.Code:
    """The code that `b` has built, whose text reaches over `extent`."""
    own = b.names.bindings
    local_names = frozenset((own.bound - own.globals - own.nonlocals) | b.names.renamed)
    captured = frozenset(b.names.captured)
    kept = local_names if b.names.holder is Holder.CLASS or b.names.all_read else captured
    return ir.Code(
        name=name,
        qualname=b.qualname,
        span=span,
        body=with_liveness(tuple(b.out), kept, b.names.own),
        params=params,
        local_names=local_names,
        captured=captured,
        is_generator=b.is_generator,
        is_async=is_async,
        registers=b.registers,
        backward_passes=b.unit.backward_passes(*extent),
        extent=extent,
        annotated=tuple(dict.fromkeys(b.annotated)),
    )


def _inside(b: Builder, names: Names, name: str) -> Builder:
    return Builder(b.unit, names, _qualname(b, name))


def _qualname(b: Builder, name: str) -> str:
    if b.names.holder is Holder.FUNCTION:
        return f"{b.qualname}.<locals>.{name}"
    return f"{b.qualname}.{name}" if b.qualname else name


def _bind(
    b: Builder, span: Span, name: str, decorators: Sequence[tuple[Span, ir.Register]], target: ir.Register
) -> None:
    """Apply decorators, the last one first, and store what comes out."""
    for place, decorator in reversed(decorators):
        dst = b.put(ir.Decorate, place, decorator, target)
        target = dst
    b.store(span, name, target)


# -- parameters ---------------------------------------------------------------------------------------------------


def _listed(params: cst.Parameters) -> Iterator[tuple[cst.Param, str]]:
    for param in params.posonly_params:
        yield param, "positional"
    for param in params.params:
        yield param, "normal"
    if isinstance(params.star_arg, cst.Param):
        yield params.star_arg, "star"
    for param in params.kwonly_params:
        yield param, "keyword"
    if params.star_kwarg is not None:
        yield params.star_kwarg, "doublestar"


def _params(b: Builder, params: cst.Parameters) -> tuple[ir.Param, ...]:
    """The parameters; their defaults are computed in the code that holds the function."""
    lowered = []
    for param, kind in _listed(params):
        default = b.value(param.default) if param.default is not None else None
        annotation = b.text(param.annotation.annotation) if param.annotation is not None else None
        lowered.append(ir.Param(b.names.spelled(param.name.value), kind, default, annotation, b.span(param.name)))
    return tuple(lowered)


# -- type parameters ----------------------------------------------------------------------------------------------


def _enter_type_parameters(b: Builder, params: cst.TypeParameters | None) -> None:
    """`def f[T]()`: T lives in the definition only, under a name that can't clash."""
    if params is None:
        return
    names = [param.param.name for param in params.params]
    b.names.aliases.append(b.names.rename(name.value for name in names))
    for name in names:
        _make_type(b, name)


def _make_type(b: Builder, name: cst.Name) -> None:
    """Bind a name to a type; its bound, default or value are computed by those who ask for them, and nobody does."""
    dst = b.put(ir.MakeType, b.span(name), name.value)
    b.store(b.span(name), name.value, dst)


def _leave_type_parameters(b: Builder, params: cst.TypeParameters | None) -> None:
    if params is not None:
        b.names.aliases.pop()


VALUES: dict[type[cst.CSTNode], Value] = {cst.Lambda: _lambda, cst.GeneratorExp: _generator}
STATEMENTS: dict[type[cst.CSTNode], Statement] = {
    cst.FunctionDef: _function,
    cst.ClassDef: _class,
    cst.TypeAlias: lambda b, node: _make_type(b, node.name),
}
