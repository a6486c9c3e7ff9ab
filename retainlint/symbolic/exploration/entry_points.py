"""Which functions and methods of a program are run for themselves: those that hold a backward pass, and those that call what leads to one."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence

from retainlint import ir
from retainlint.ir.facts import Call
from retainlint.symbolic.models.frameworks import test_runners
from retainlint.symbolic.state.classes import derived, find, of_program
from retainlint.symbolic.state.coverage import is_change
from retainlint.symbolic.state.reachability import each_once
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import ClassObj, Closure, Ref, Value
from retainlint.text.name_guesses import COMMON
from retainlint.text.source import INITIALISERS

Leads = Callable[[str, str], bool]
"""Whether a name of another module leads to a walk, given the word before its dot, "" where there is none."""


_BACKWARD = ("backward", "loss_scaler")
"""What walks by itself ends so, but for `grad`: a method may also be named like those whose result a trainer walks."""


ITSELF = frozenset(("self", "cls", "super()", ")"))

_USED = (*INITIALISERS, "__enter__", "__exit__", "__call__", "__iter__", "__next__", "__getitem__")
"""What is called of a class by whoever makes an object of it, without its name."""


Entry = tuple[ir.Code, "ir.Code | None"]
"""A function, or a method with its class."""


def callers_first(known: Sequence[Entry], led: Collection[Entry] = ()) -> list[Entry]:
    """The functions and methods of a program that hold a walk, or are `led` to one, and those that call them by their names,
    each behind all that call it: what nobody calls is where the program starts, and what is reached from there isn't run
    for itself."""
    found = list(dict.fromkeys(known))
    named: dict[str, list[int]] = {}
    for at, (code, owner) in enumerate(found):
        is_used = owner is not None and code.name in _USED
        named.setdefault(owner.name if owner is not None and is_used else code.name, []).append(at)
    leads = {code.name for code, _ in led}
    callees = [[other for name in _called_names(code, leads) for other in named.get(name, ())] for code, _ in found]
    for at, (code, _) in enumerate(found):
        callees[at] += _handed_on(code, found, named)
    callers: list[list[int]] = [[] for _ in found]
    for at, others in enumerate(callees):
        for other in others:
            callers[other].append(at)
    begun = [at for at, each in enumerate(found) if each[0].backward_passes or each in led]
    leading = {*each_once(begun, callers.__getitem__)}
    order: list[int] = []
    _behind_callers(sorted(leading), callers, leading, order)
    return [found[at] for at in order]


def _handed_on(code: ir.Code, found: Sequence[Entry], named: Mapping[str, Sequence[int]]) -> Iterator[int]:
    """The methods of what a function makes that another one calls to which it may hand it, whatever they are called."""
    plain = {each.name for each in code.facts.calls if not each.receiver}
    functions = [found[at][0] for name in plain for at in named.get(name, ()) if found[at][1] is None]
    for name in {each.name for one in functions for each in one.facts.calls if each.receiver not in ITSELF}:
        for at in named.get(name, ()):
            owner = found[at][1]
            if owner is not None and owner.name in plain:
                yield at


def _called_names(code: ir.Code, leads: Container[str]) -> set[str]:
    """The names of what a function calls, or hands on to be called; methods with common names count on its own object, on
    what it made, and where a class inherits one that nobody else calls."""
    counted = (each for each in code.facts.calls if not each.receiver or each.name in leads or _counts(code, each))
    names = {each.name for each in counted} | code.facts.own
    return names | {name for each in code.facts.calls for name in each.given if name not in code.facts.stored}


def _counts(code: ir.Code, call: Call) -> bool:
    return not COMMON.takes(call.name) or call.receiver in ITSELF or call.receiver in code.facts.stored


def _behind_callers(
    roots: Sequence[int], callers: Sequence[Sequence[int]], leading: set[int], order: list[int]
) -> None:
    """Put each to the order behind those that call it; of a circle the one that stands first."""
    seen: set[int] = set()
    for root in roots:
        waiting = [(root, False)]
        while waiting:
            at, ready = waiting.pop()
            if ready:
                order.append(at)
            elif at not in seen:
                seen.add(at)
                waiting.append((at, True))
                waiting += [(each, False) for each in reversed(callers[at]) if each in leading and each not in seen]


def by_runner(state: State, found: Sequence[Entry]) -> list[Entry]:
    """The same, but the tests of a class by their names, where its runner goes by these."""
    order = list(found)
    for cls in {owner for _, owner in found if owner is not None}:
        made = class_made_by(state, cls)
        if made is not None and test_runners.is_unittest(state, made):
            places = [at for at, (code, owner) in enumerate(found) if owner is cls and code.name.startswith("test")]
            for at, each in zip(places, sorted((found[at] for at in places), key=lambda e: e[0].name), strict=True):
                order[at] = each
    return order


def no_leads(*names: str) -> bool:
    """Where there are no other modules, nothing leads to a backward pass there."""
    return False


def callers(
    entries: Iterable[tuple[ir.Code, ir.Code | None]], leads: Leads, backpropagating: Container[ir.Code]
) -> Iterator[tuple[ir.Code, ir.Code | None]]:
    """Functions and methods, each with its class, from which a walk is reached by calls, nearest first, if they add
    something to what is known of the callee alone. `walking` are the functions in which one was executed: what only speaks
    of one leads nowhere."""
    functions: set[str] = set()
    methods: dict[str, list[tuple[ir.Code, ir.Code | None]]] = {}
    known = [(code, owner) for code, owner in entries if code.backward_passes and code in backpropagating]
    near = [(code, owner) for code, owner in known if _backpropagates(code)]
    rest = [(code, owner) for code, owner in entries if not code.backward_passes]

    own = {(owner, code.name): code for code, owner in entries if owner is not None}

    def counts(code: ir.Code, receiver: str, name: str) -> bool:
        if not receiver:
            return name in functions or leads("", name)
        known = methods.get(name, ())
        is_own = receiver in ITSELF or not COMMON.takes(name) or _makes(code, known) or _is_given_one(code, known)
        return (name in methods and is_own) or leads(receiver, name)

    while near or rest:
        for code, owner in near:
            if owner is not None and code.name in INITIALISERS:
                functions.add(owner.name)
            elif owner is None:
                functions.add(code.name)
            else:
                methods.setdefault(code.name, []).append((code, owner))
        found = [[each for each in code.facts.calls if counts(code, each.receiver, each.name)] for code, _ in rest]
        near = [each for each, calls in zip(rest, found) if calls]
        for (code, owner), calls in zip(rest, found):
            if calls and (
                _adds(code, calls)
                or _sets_before(code, owner, calls, methods, own)
                or _calls_in_loop(code, calls, methods)
            ):
                yield code, owner
        rest = [each for each, calls in zip(rest, found) if not calls]
        if not near:
            break


def _backpropagates(code: ir.Code) -> bool:
    """Whether a function speaks of a walk, or calls for gradients."""
    facts = code.facts
    return any(each.endswith(_BACKWARD) for each in facts.names) or any(each.name == "grad" for each in facts.calls)


def _makes(code: ir.Code, methods: Sequence[tuple[ir.Code, ir.Code | None]]) -> bool:
    """Whether a function makes an object of a class that has one of these methods."""
    made = {each.name for each in code.facts.calls if not each.receiver}
    return any(owner is not None and owner.name in made for _, owner in methods)


def _sets_before(
    code: ir.Code,
    owner: ir.Code | None,
    calls: Sequence[Call],
    methods: Mapping[str, Sequence[tuple[ir.Code, ir.Code | None]]],
    own: Mapping[tuple[ir.Code, str], ir.Code],
) -> bool:
    """Whether a method leads to a walk on its own object, and to another call that sets there what the walk's reads."""
    leading = {each.name for each in calls if each.receiver == "self"}
    if owner is None or not leading:
        return False
    read = {name for each in leading for method, _ in methods.get(each, ()) for name in method.facts.own}
    others = {each.name for each in code.facts.calls if each.receiver == "self"} - leading
    return any(
        (method := own.get((owner, name))) is not None and not read.isdisjoint(method.facts.bound) for name in others
    )


def _is_given_one(code: ir.Code, methods: Sequence[tuple[ir.Code, ir.Code | None]]) -> bool:
    """Whether a function is annotated to be given an object of a class that has one of these methods."""
    words = {word for param in code.params for word in re.findall(r"\w+", param.annotation or "")}
    return any(owner is not None and owner.name in words for _, owner in methods)


def _calls_in_loop(
    code: ir.Code, calls: Sequence[Call], methods: Mapping[str, Sequence[tuple[ir.Code, ir.Code | None]]]
) -> bool:
    """Whether a function calls one of these methods in a loop on an object that it is given: nobody calls another in between."""
    looped = {each.name for loop in code.facts.loops for each in loop.calls}
    return any(each.name in looped and _is_given_one(code, methods.get(each.name, ())) for each in calls)


def _adds(code: ir.Code, calls: Sequence[Call]) -> bool:
    """Whether a function calls more than once, or with what it has made itself, or on an object that it made: what is
    called again and again, with nothing new, tells no more than when it is run for itself."""
    if calls[0].receiver in code.facts.stored - ITSELF:
        return True
    return len(calls) > 1 or calls[0].is_given_new or not calls[0].given.isdisjoint(code.facts.stored)


def entries(code: ir.Code, owner: ir.Code | None) -> Iterator[tuple[ir.Code, ir.Code | None]]:
    """Functions and methods, each with the class whose body holds it."""
    for instr in ir.walk(code.body):
        if isinstance(instr, ir.MakeClass):
            yield from entries(instr.code, instr.code)
        elif isinstance(instr, ir.MakeFunction):
            yield instr.code, owner


def of_local_classes(code: ir.Code) -> Iterator[tuple[ir.Code, ir.Code]]:
    """The methods that walk of the classes that a function makes, each with its class."""
    for inner in classes(code) if code.backward_passes else ():
        for method, owner in entries(inner, inner) if inner.backward_passes else ():
            if owner is not None and method.backward_passes:
                yield method, owner


def classes(code: ir.Code) -> Iterator[ir.Code]:
    return (each.code for each in ir.walk(code.body) if isinstance(each, ir.MakeClass))


def changing(code: ir.Code) -> Iterator[tuple[ir.Code, ir.Code]]:
    """The classes that change something in place when an object is made, each with its `__init__`."""
    for owner in classes(code):
        own = {method.name: method for method, cls in entries(owner, owner) if cls is owner}
        begun = own.get("__init__")
        reached = (begun, *(own[name] for name in begun.facts.own if name in own)) if begun is not None else ()
        if begun is not None and any(map(_changes, reached)):
            yield owner, begun


def _changes(code: ir.Code) -> bool:
    """Whether a function changes something in place, by a method, an operator or an item."""
    return any(map(is_change, code.facts.calls)) or any(
        isinstance(each, ir.SetItem) or (isinstance(each, ir.Binary) and each.in_place) for each in ir.walk(code.body)
    )


def inherited(state: State, code: ir.Code) -> Iterator[tuple[ir.Code, ir.Code]]:
    """Methods that walk and call what only an heir fills in, or the heir's own that do no more than to call such a one,
    each with that heir."""
    for subclass in classes(code):
        cls = class_made_by(state, subclass)
        if cls is None:
            continue
        # what a stub has an heir do is known
        first, *bases = (each for each in of_program(state, cls) if not each.code.span.source.is_stub)
        own = [name for name, value in first.attrs.items() if isinstance(value, Closure)]
        for name, method in ((name, value) for base in bases for name, value in base.attrs.items()):
            if not isinstance(method, Closure) or not method.code.backward_passes or method.code.name in INITIALISERS:
                continue
            found = find(state, cls, name)
            if (found == method or _passes_on(found, name)) and any(map(method.code.facts.calls_own, own)):
                yield (found.code if isinstance(found, Closure) else method.code), subclass


def receivers(state: State, code: ir.Code, owner: ir.Code | None) -> list[ir.Code | None]:
    """The classes on whose objects an entry is run: of a method that only calls what walks, those derived from its own that
    fill in what their base calls, if there are such, since it is made for them."""
    base = class_made_by(state, owner) if owner is not None and not code.backward_passes else None
    held = state.get(base) if base is not None else None
    if base is None or not isinstance(held, ClassObj):
        return [owner]
    called = {name for each in held.attrs.values() if isinstance(each, Closure) for name in each.code.facts.own}
    found: list[ir.Code | None] = [
        each.code
        for _, each in derived(state, base)
        if code.name not in each.attrs and not called.isdisjoint(each.attrs)
    ]
    return found or [owner]


def _passes_on(method: Value | None, name: str) -> bool:
    """Whether a method holds no walk itself and calls the one that it stands for."""
    if not isinstance(method, Closure) or method.code.backward_passes:
        return False
    return any(each.receiver == "super()" and each.name == name for each in method.code.facts.calls)


def driven(state: State, code: ir.Code) -> Iterator[tuple[ir.Code, ir.Code]]:
    """Methods of its own that walk, and that a class of another module calls on its heir, each with that heir."""
    for method, subclass in entries(code, None):
        cls = class_made_by(state, subclass) if subclass is not None and method.backward_passes else None
        if subclass is not None and cls is not None and any(map(method.name.__eq__, _called_by_bases(state, cls))):
            yield method, subclass


def _called_by_bases(state: State, cls: Ref) -> Iterator[str]:
    """What the bases of a class, as far as they stand in other modules, name of their own object."""
    first, *bases = of_program(state, cls)
    for base in bases:
        if base.code.span.source is not first.code.span.source and not base.code.span.source.is_stub:
            for value in base.attrs.values():
                yield from value.code.facts.own if isinstance(value, Closure) else ()


def class_made_by(state: State, owner: ir.Code) -> Ref | None:
    for id, obj in state.heap.items():
        if isinstance(obj, ClassObj) and obj.code is owner:
            return Ref(id)
    return None


# -- inherited methods that lead what an heir fills in ----------------------------------------------------------------


def conducted(state: State, code: ir.Code, reaches: Callable[[str], bool]) -> dict[Entry, set[ir.Code]]:
    """Methods that a class inherits, that nobody calls on their own object, and that come to a walk there by what the heir
    fills in, methods or attributes: each with that heir, and what of the heir's own it leads to. What such a one calls is
    called in its order, and no otherwise."""
    found: dict[Entry, set[ir.Code]] = {}
    for subclass in classes(code):
        versions = _versions(state, subclass)
        own = {method for method, owner in entries(subclass, subclass) if owner is subclass}
        if own.issuperset(each for group in versions.values() for each in group):
            continue
        filled = {each.name for each in own} | {name for each in own for name in each.facts.bound}
        calls = {name: _own_calls(group) & versions.keys() - {name} for name, group in versions.items()}
        leading = {name for name, group in versions.items() if any(_may_walk(each, reaches) for each in group)}
        while more := {name for name, called in calls.items() if not called.isdisjoint(leading)} - leading:
            leading |= more
        called = {name for each in leading for name in calls[each]}
        for name in versions:  # in their order, which no set keeps
            if name not in leading or name in called or name in INITIALISERS:
                continue
            codes = {each for one in each_once([name], calls.__getitem__) for each in versions[one]}
            inherited = codes - own
            if any(not each.facts.own.isdisjoint(filled) or _hands_itself_on(each) for each in inherited):
                found[versions[name][0], subclass] = own
    return found


def _hands_itself_on(code: ir.Code) -> bool:
    return any("self" in call.given for call in code.facts.calls)


def _versions(state: State, subclass: ir.Code) -> dict[str, list[ir.Code]]:
    """The methods of a class, each with those that it overrides behind it; of stubs none."""
    cls = class_made_by(state, subclass)
    found: dict[str, list[ir.Code]] = {}
    for code in (each.code for each in of_program(state, cls) if not each.code.span.source.is_stub):
        for method, owner in entries(code, code):
            if owner is code:
                found.setdefault(method.name, []).append(method)
    return found


def _own_calls(versions: Iterable[ir.Code]) -> set[str]:
    return {name for each in versions for name in each.facts.own}


def _may_walk(code: ir.Code, reaches: Callable[[str], bool]) -> bool:
    if code.backward_passes:
        return True
    return any(each.receiver not in ITSELF and reaches(each.name) for each in code.facts.calls)
