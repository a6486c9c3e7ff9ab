"""What each instruction does to a state: one function a kind, in one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from retainlint import ir
from retainlint.symbolic import (
    attributes,
    branches,
    calls,
    contexts,
    definitions,
    failures,
    generators,
    imports,
    items,
    loops,
    raised,
    scopes,
)
from retainlint.symbolic.context import Machine, Results
from retainlint.symbolic.models import containers, operations, unknown
from retainlint.symbolic.state import Flow, State
from retainlint.symbolic.values import Const, External, Failure, Imported

_LOCAL = ir.Scope.LOCAL

Step: TypeAlias = Callable[[Machine, Any, State], "list[State] | None"]
"""Runs one instruction; the states that come out of it, None if that is the one that went in."""


def _put(results: Results, instr: Any, before: State) -> list[State] | None:
    """Write each result into its state's register; the states, as a step gives them."""
    dst, span = instr.dst, instr.span
    if len(results) == 1 and results[0][0] is before:
        if before.flow is None:
            before.write(dst, results[0][1], span)
        return None
    states: list[State] = []
    for state, value in results:
        if state.flow is None:
            state.write(dst, value, span)
        states.append(state)
    return states


# -- values -------------------------------------------------------------------------------------------------------


def _const(machine: Machine, instr: ir.Const, state: State) -> None:
    known: Const | None = vars(instr).get(_MADE)
    if known is None:
        known = vars(instr)[_MADE] = Const(instr.value)
    state.write(instr.dst, known, instr.span)


_MADE = " made"
"""Under this name a constant is noted on its instruction."""


def _move(machine: Machine, instr: ir.Move, state: State) -> None:
    state.write(instr.dst, state.read(instr.src), state.frame.spans.get(instr.src, instr.span))


def _load(machine: Machine, instr: ir.Load, state: State) -> None:
    if instr.scope is _LOCAL and not state.unless:
        frame = state.frames[state.stack[-1]]
        found = frame.names.get(instr.name)
        if found is not None and type(found) is not Imported:
            if frame.owner != state.me:
                frame = state.writable()
            frame.registers[instr.dst] = found
            frame.spans[instr.dst] = instr.span
            return
    loaded = scopes.load(machine, state, instr.name, instr.scope, instr.span)
    if loaded is None:
        state.flow = Flow("raise", Failure("NameError"))
    else:
        state.write(instr.dst, loaded, instr.span)


def _store(machine: Machine, instr: ir.Store, state: State) -> None:
    value = state.read(instr.src)
    unknown.named(machine, state, value, instr.name)
    scopes.bind(machine, state, instr.name, instr.scope, value)


def _delete(machine: Machine, instr: ir.Delete, state: State) -> None:
    scopes.frame_of(machine, state, instr.name, instr.scope).names.pop(instr.name, None)


def _unary(machine: Machine, instr: ir.Unary, state: State) -> None:
    value = operations.unary(machine, state, instr.op, state.read(instr.operand), instr.span)
    state.write(instr.dst, value, instr.span)


def _binary(machine: Machine, instr: ir.Binary, state: State) -> list[State] | None:
    return _put(operations.binary(machine, state, instr), instr, state)


def _compare(machine: Machine, instr: ir.Compare, state: State) -> list[State] | None:
    return _put(operations.compare(machine, state, instr), instr, state)


def _build(machine: Machine, instr: ir.Build, state: State) -> None:
    state.write(instr.dst, containers.build(machine, state, instr), instr.span)


def _append(machine: Machine, instr: ir.Append, state: State) -> None:
    item = instr.item
    key = None if item.key is None else state.read(item.key)
    containers.append(state, state.read(instr.container), state.read(item.value), key)


def _unpack(machine: Machine, instr: ir.Unpack, state: State) -> None:
    for dst, value in zip(instr.dsts, items.unpack(machine, state, instr), strict=True):
        state.write(dst, value, instr.span)


def _await(machine: Machine, instr: ir.Await, state: State) -> None:
    state.write(instr.dst, state.read(instr.src), instr.span)


def _opaque(machine: Machine, instr: ir.Opaque, state: State) -> None:
    machine.gap(instr.span, instr.reason)
    if instr.dst is not None:
        state.write(instr.dst, unknown.fresh(state, instr.span), instr.span)


# -- calls, attributes, items -------------------------------------------------------------------------------------


def _call(machine: Machine, instr: ir.Call, state: State) -> list[State] | None:
    args = calls.arguments(machine, state, instr)
    return _put(calls.call(machine, state, state.read(instr.func), args, instr.span), instr, state)


def _get_attr(machine: Machine, instr: ir.GetAttr, state: State) -> list[State] | None:
    return _put(attributes.read(machine, state, state.read(instr.obj), instr.name, instr.span), instr, state)


def _set_attr(machine: Machine, instr: ir.SetAttr, state: State) -> list[State]:
    obj, value = state.read(instr.obj), state.read(instr.src)
    return attributes.write(machine, state, obj, instr.name, value, instr.span)


def _del_attr(machine: Machine, instr: ir.DelAttr, state: State) -> None:
    attributes.delete(state, state.read(instr.obj), instr.name)


def _get_item(machine: Machine, instr: ir.GetItem, state: State) -> list[State] | None:
    return _put(items.read(machine, state, state.read(instr.obj), state.read(instr.index), instr.span), instr, state)


def _set_item(machine: Machine, instr: ir.SetItem, state: State) -> list[State]:
    obj, index, value = state.read(instr.obj), state.read(instr.index), state.read(instr.src)
    return items.write(machine, state, obj, index, value, instr.span)


def _del_item(machine: Machine, instr: ir.DelItem, state: State) -> None:
    items.delete(state, state.read(instr.obj), state.read(instr.index))


# -- definitions --------------------------------------------------------------------------------------------------


def _import(machine: Machine, instr: ir.Import, state: State) -> None:
    state.write(instr.dst, imports.imported(machine, state, instr), instr.span)


def _make_function(machine: Machine, instr: ir.MakeFunction, state: State) -> None:
    state.write(instr.dst, definitions.make_function(state, instr.code), instr.span)


def _make_class(machine: Machine, instr: ir.MakeClass, state: State) -> list[State]:
    return definitions.make_class(machine, state, instr)


def _make_type(machine: Machine, instr: ir.MakeType, state: State) -> None:
    state.write(instr.dst, External(f"typing.{instr.name}"), instr.span)


def _decorate(machine: Machine, instr: ir.Decorate, state: State) -> list[State] | None:
    decorator, target = state.read(instr.decorator), state.read(instr.target)
    return _put(definitions.decorate(machine, state, decorator, target, instr.span), instr, state)


# -- control flow -------------------------------------------------------------------------------------------------


def _break(machine: Machine, instr: ir.Break, state: State) -> None:
    state.flow = Flow("break")


def _continue(machine: Machine, instr: ir.Continue, state: State) -> None:
    state.flow = Flow("continue")


def _return(machine: Machine, instr: ir.Return, state: State) -> None:
    state.flow = Flow("return", state.read(instr.src))


def _raise(machine: Machine, instr: ir.Raise, state: State) -> None:
    state.flow = Flow("raise", raised.failure(state, instr.src))


STEPS: dict[type[ir.Instr], Step] = {
    ir.Const: _const,
    ir.Move: _move,
    ir.Load: _load,
    ir.Store: _store,
    ir.Delete: _delete,
    ir.GetAttr: _get_attr,
    ir.SetAttr: _set_attr,
    ir.DelAttr: _del_attr,
    ir.GetItem: _get_item,
    ir.SetItem: _set_item,
    ir.DelItem: _del_item,
    ir.Unary: _unary,
    ir.Binary: _binary,
    ir.Compare: _compare,
    ir.Call: _call,
    ir.Build: _build,
    ir.Append: _append,
    ir.Unpack: _unpack,
    ir.Import: _import,
    ir.MakeFunction: _make_function,
    ir.Decorate: _decorate,
    ir.MakeClass: _make_class,
    ir.MakeType: _make_type,
    ir.Yield: generators.run_yield,
    ir.Await: _await,
    ir.Opaque: _opaque,
    ir.If: branches.run_if,
    ir.For: loops.run_for,
    ir.While: loops.run_while,
    ir.With: contexts.run_with,
    ir.Try: failures.run_try,
    ir.Break: _break,
    ir.Continue: _continue,
    ir.Return: _return,
    ir.Raise: _raise,
}
