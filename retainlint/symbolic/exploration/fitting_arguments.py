"""What a caller gives for a network that a file trains, and says nothing of: an object of its only network, where that fits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from retainlint import ir
from retainlint.startup.records import record
from retainlint.symbolic.exploration import given_arguments
from retainlint.symbolic.exploration.entry_points import class_made_by, classes, entries
from retainlint.symbolic.interpreter.machine import Interpreter
from retainlint.symbolic.models.torch import modules
from retainlint.symbolic.models.unknown import conventions
from retainlint.symbolic.state.classes import ancestry, find, is_module
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import Closure, Ref, Value


@record
class Use:
    """What some functions do with a value: how many arguments they call it with, and which methods they ask for."""

    calls: frozenset[int]
    methods: frozenset[str]


def fitting(
    machine: Interpreter, state: State, code: ir.Code, owner: ir.Code | None
) -> tuple[ir.Param, ir.Code, Ref] | None:
    """The one parameter of a function, or of what makes its object, that is named as a network is, of which nothing is said and
    which the only network of the file fits: with that."""
    found = _only_network(machine, state)
    if found is None or owner is found[0]:
        return None
    begun = (method for method, _ in entries(owner, owner) if method.name == "__init__") if owner is not None else ()
    for each, of in ((code, None), *((init, owner) for init in begun)):
        unsaid = (param for param in each.params if not param.annotation and param.default is None)
        named = [param for param in unsaid if param.kind == "normal" and _is_network(param.name)]
        use = _use(_values(each, named[0].name, of)) if len(named) == 1 else None
        if use is not None and _fits(state, found[1], use):
            return named[0], *found
    return None


def _is_network(name: str) -> bool:
    return conventions.NETWORK.takes(name) and not conventions.CRITERION.takes(name)


def given(machine: Interpreter, state: State, code: ir.Code) -> tuple[tuple[str, Value], ...]:
    """The argument that is made so, where that is asked for."""
    if machine.fitting is None or all(each is not machine.fitting[0] for each in code.params):
        return ()
    param, cls = machine.fitting
    made = given_arguments.made_for(machine, state, cls, param)
    return ((param.name, made),) if made is not None else ()


def _only_network(machine: Interpreter, state: State) -> tuple[ir.Code, Ref] | None:
    """The class of a network that a file defines beside those which are its parts, or its bases, if there is just one."""
    known = [(code, cls) for code in classes(machine.program.module) if (cls := class_made_by(state, code)) is not None]
    networks = [(code, cls) for code, cls in known if is_module(state, cls)]
    parts = {
        cls
        for code, cls in networks
        for other, heir in networks
        if other is not code and (cls in ancestry(state, heir) or _speaks_of(other, code.name))
    }
    whole = [each for each in networks if each[1] not in parts]
    return whole[0] if len(whole) == 1 else None


def _speaks_of(owner: ir.Code, name: str) -> bool:
    return any(name in method.facts.names for method, _ in entries(owner, owner))


def _values(
    code: ir.Code, name: str, owner: ir.Code | None
) -> Iterator[tuple[Sequence[ir.Instr], frozenset[ir.Register]]]:
    """The functions in which a parameter is at hand, with the registers that hold it; under an attribute that `__init__` sets,
    all methods."""
    instrs = [*ir.walk(code.body)]
    held = frozenset(each.dst for each in instrs if isinstance(each, ir.Load) and each.name == name)
    yield instrs, held
    kept = {each.name for each in instrs if isinstance(each, ir.SetAttr) and each.src in held}
    for method, _ in entries(owner, owner) if owner is not None and kept else ():
        body = [*ir.walk(method.body)]
        own = {each.dst for each in body if isinstance(each, ir.Load) and each.name == "self"}
        read = (each for each in body if isinstance(each, ir.GetAttr) and each.obj in own and each.name in kept)
        yield body, frozenset(each.dst for each in read)


def _use(values: Iterable[tuple[Sequence[ir.Instr], frozenset[ir.Register]]]) -> Use:
    calls, methods = set[int](), set[str]()
    for instrs, held in values:
        for each in instrs:
            if isinstance(each, ir.Call) and each.func in held:
                calls.add(-1 if any(arg.star or arg.name for arg in each.args) else len(each.args))
            elif isinstance(each, ir.GetAttr) and each.obj in held:
                methods.add(each.name)
    return Use(frozenset(calls), frozenset(methods))


def _fits(state: State, cls: Ref, use: Use) -> bool:
    """Whether a network takes what it is called with, if it is, and has the methods that are asked for, of which one is its own
    else."""
    own = {each for each in use.methods if find(state, cls, each) is not None}
    if not own.union(use.calls) or not use.methods - own <= {*modules.METHODS, "training"}:
        return False
    forward = find(state, cls, "forward")
    if not isinstance(forward, Closure):
        return not use.calls
    taken = [each for each in forward.code.params[1:] if each.kind in ("normal", "positional")]
    least = sum(each.default is None for each in taken)
    return all(least <= count <= len(taken) for count in use.calls)
