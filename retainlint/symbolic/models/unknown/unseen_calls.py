"""Calls that nobody sees: how far each is trusted, and the functions of the program that it is handed, which it may call at any time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TypeGuard

from retainlint import ir
from retainlint.startup.records import replace
from retainlint.symbolic.models.unknown import conventions
from retainlint.symbolic.state import classes, known_libraries, limits
from retainlint.symbolic.state.protocol import Args, Machine
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import (
    CONVENTIONAL,
    GUESS,
    MODULES,
    Bound,
    Closure,
    Const,
    DictObj,
    External,
    Instance,
    LayerObj,
    ListObj,
    Method,
    Partial,
    Ref,
    UnknownObj,
    Value,
    Wrapped,
)
from retainlint.text.source import Span


def level(machine: Machine, state: State, func: Value, args: Args) -> tuple[int, str]:
    """How sure we are that a call builds a graph that saves, and the words for it."""
    held = state.get(func)
    if all(isinstance(each, Const) for each in args.all) and not args.open:
        return GUESS, ""  # no network is given options alone
    if isinstance(held, UnknownObj) and (is_network(held) or _is_called_loss(held)):
        return CONVENTIONAL, conventions.NETWORK.says.format(name=held.name or "the module")
    if isinstance(held, UnknownObj) and is_of_losses(held):
        return CONVENTIONAL, conventions.LOSS_CLASS.says.format(name=held.name or held.made.text)
    if isinstance(held, UnknownObj) and conventions.FORWARD.takes(held.name) and held.notes.owner is not None:
        return CONVENTIONAL, conventions.FORWARD.says.format(name=held.name)
    if isinstance(func, External) and func.path in machine.graphs.modules:
        return CONVENTIONAL, conventions.NETWORK.says.format(name=name_of(state, func))
    if is_operation(func) and conventions.TORCH_FUNCTION.takes(func.path):
        return CONVENTIONAL, conventions.TORCH_FUNCTION.says.format(name=func.path)
    if isinstance(held, Instance | LayerObj):
        return CONVENTIONAL, "calling the module builds a graph and saves tensors for it"
    return GUESS, ""


def is_network(held: UnknownObj) -> bool:
    """Whether something was used as a module, or is called like one."""
    if held.hint in MODULES:
        return True
    return held.hint in ("", "instance") and _is_named_so(held.name)


def is_called_network(held: UnknownObj) -> bool:
    """Whether something is called like a network or a layer with parameters, or the class is that made it."""
    return _is_named_so(held.name) or makes_networks(held.made.text.partition("(")[0])


def makes_networks(cls: str) -> bool:
    """Whether a class is called like one of networks, of layers with parameters, or of losses."""
    rows = (conventions.NETWORK_CLASS, conventions.LAYER_CLASS, conventions.LOSS_CLASS)
    return any(row.takes(cls) for row in rows)


@lru_cache(maxsize=limits.REMEMBERED_NAMES)
def _is_named_so(name: str) -> bool:
    return conventions.NETWORK.takes(name)


def _is_called_loss(held: UnknownObj) -> bool:
    """Whether something that is called is called a loss; a method of that name may cut what it is given."""
    is_method = held.made.text.endswith(f".{held.name}") and not held.made.text.startswith("self.")
    return not (held.hint or is_method) and conventions.LOSS.takes(held.name)


def is_criterion(held: UnknownObj) -> bool:
    """Whether what is called computes a loss of what it is given, by convention without weights of its own."""
    return conventions.CRITERION.takes(held.name) or is_of_losses(held)


def is_of_losses(held: UnknownObj) -> bool:
    """Whether an object was made by a class that is called one of losses."""
    return held.hint == "instance" and conventions.LOSS_CLASS.takes(held.made.text.partition("(")[0])


def gives_data(state: State, func: Value) -> bool:
    """Whether a callee is a method of what holds data, by its name."""
    if isinstance(func, Method):
        receiver = state.get(func.obj)
        return isinstance(receiver, UnknownObj) and conventions.DATA_SOURCE.takes(receiver.name)
    held = state.get(func)
    if not isinstance(held, UnknownObj):
        return False
    whole, dot, name = held.made.text.rpartition(".")
    return bool(dot) and name == held.name and conventions.DATA_SOURCE.takes(whole.rpartition(".")[2])


def is_operation(func: Value) -> TypeGuard[External]:
    """Whether a callee is a function of torch's."""
    return isinstance(func, External) and func.path.startswith("torch.")


def name_of(state: State, func: Value) -> str:
    """What a callee is called."""
    held = state.get(func)
    match func:
        case Ref() if isinstance(held, UnknownObj):
            return held.name
        case Method(name=name):
            return name
        case External(path=path):
            return path.rpartition(".")[2]
        case Closure(code=code):
            return code.name
    return ""


def keeps_nothing(state: State, func: Value) -> bool:
    """Whether a callee surely keeps no graph that it is given, walks none, and zeroes no gradients."""
    if not isinstance(func, Closure) and conventions.TELLS.takes(name_of(state, func)):
        return True
    if not isinstance(func, External) or func.path.startswith(known_libraries.NO_OPERATIONS):
        return False
    return known_libraries.known_for("reader", func.path)


def is_library(func: Value) -> bool:
    """Whether a callee surely keeps and walks nothing that it is given."""
    return isinstance(func, External) and known_libraries.known_for("harmless", func.path)


# -- functions of the program that are handed to what nobody sees -----------------------------------------------------


def captured(state: State, values: Iterable[Value]) -> Iterator[Value]:
    """What functions among some values read of the call that they were made in."""
    for func in _functions(state, values):
        frame = state.frames[func.frame]
        if frame.parent is not None:
            yield from (frame.names[name] for name in sorted(frame.code.captured.intersection(frame.names)))


def run_unseen(state: State, values: Iterable[Value], span: Span) -> None:
    """What functions and methods among some values put into lists and dicts around them is unknown from now on."""
    for each in values:
        owner = each.self if isinstance(each, Bound) else None
        for func in _functions(state, (each,)):
            for name, attribute in sorted(filled(func.code)):
                value = _found(state, func, owner, name, attribute)
                held = state.get(value) if isinstance(value, Ref) else None
                if isinstance(value, Ref) and isinstance(held, ListObj | DictObj):
                    emptied = replace(held, open=True)  # it is there to be filled
                    state.set(value, UnknownObj(span, name="items") if held.items else emptied)


OWN = ""
"""In place of a name: what a function is given first, a method's object."""


def filled(code: ir.Code) -> frozenset[tuple[str, str]]:
    """The names from outside of a function, or OWN, into whose containers it puts something; or the name and an attribute, into
    whose containers."""
    first = code.params[0].name if code.params else None
    held: dict[ir.Register, tuple[str, str]] = {}
    found = set[tuple[str, str]]()
    for instr in ir.walk(code.body):
        if isinstance(instr, ir.Load) and (instr.name == first or instr.scope is not ir.Scope.LOCAL):
            held[instr.dst] = (OWN if instr.name == first else instr.name, "")
        elif isinstance(instr, ir.SetItem | ir.GetAttr) and instr.obj in held:
            name, attribute = held[instr.obj]
            if isinstance(instr, ir.SetItem) or instr.name in classes.FILLING:
                found.add((name, attribute))
            elif not attribute:
                held[instr.dst] = (name, instr.name)
    return frozenset(found)


def _functions(state: State, values: Iterable[Value]) -> Iterator[Closure]:
    for value in values:
        while isinstance(value, Bound | Wrapped | Partial):
            value = value.func
        if isinstance(value, Closure) and state.frames.has(value.frame):  # one that reads nothing may have lost it
            yield value


def _found(state: State, func: Closure, owner: Value | None, name: str, attribute: str) -> Value | None:
    """What a name means to a function, or its attribute."""
    value, place = owner if name == OWN else None, func.frame if name != OWN else None
    while value is None and place is not None and state.frames.has(place):
        value, place = state.frames[place].names.get(name), state.frames[place].parent
    held = state.get(value) if attribute and value is not None else None
    return held.attrs.get(attribute) if isinstance(held, Instance) else None if attribute else value
