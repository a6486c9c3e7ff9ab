"""Python's builtins, as far as they carry graphs around."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from contextlib import suppress

from retainlint import ir
from retainlint.ir import facts
from retainlint.startup.records import replace
from retainlint.symbolic.models.python import (
    consumption,
    containers,
    dataclasses,
    iteration,
    numbers,
    options,
    outcomes,
    reflection,
    sequences,
    text_patterns,
)
from retainlint.symbolic.models.python.sequences import in_order, ordered
from retainlint.symbolic.models.torch import new_tensors
from retainlint.symbolic.models.unknown import call_results, counts, objects
from retainlint.symbolic.solver import decisions, terms
from retainlint.symbolic.solver.terms import NotWorkedOut, worked_out
from retainlint.symbolic.state import classes, events, gradient_events, limits
from retainlint.symbolic.state.classes import find
from retainlint.symbolic.state.exception_types import as_text
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import State, ticket
from retainlint.symbolic.state.values import (
    COUNT,
    ITERATOR,
    NONE,
    Bound,
    ClassObj,
    Closure,
    Const,
    DictObj,
    External,
    Failure,
    Instance,
    IteratorObj,
    ListObj,
    Method,
    Notes,
    Ref,
    Super,
    Symbol,
    TensorObj,
    Term,
    Tuple,
    UnknownObj,
    Value,
)
from retainlint.text.source import Span


def total(machine: Machine, state: State, args: Args, span: Span) -> Results:
    """`sum(losses)`: a chain of additions, which save nothing."""
    source = args.get(0, "iterable")
    start = args.get(1, "start", Const(0))
    known = iteration.known_items(machine, state, source, span)
    if known is not None and (added := numbers.result(lambda *each: sum(each), (start, *known))) is not None:
        return [(state, added)]
    if known is None:
        held = state.get(source)
        known = list(held.items) if isinstance(held, ListObj) else [iteration.any_item(machine, state, source, span)]
        if isinstance(held, UnknownObj):
            return [(state, call_results.called(machine, state, External("builtins.sum"), args, span))]
    if any(isinstance(state.get(each), Instance) for each in (start, *known)):
        return _added(machine, state, (start, *known), span)
    known = known if terms.is_scalar(start) else [start, *known]
    if not known:
        return [(state, start)]
    if (whole := sequences.chained(state, known)) is not None:
        return [(state, whole)]
    if all(map(terms.is_scalar, known)):
        return [(state, Term("sum", tuple(known)[: limits.TERM_PARTS]))]
    made = new_tensors.operate(machine, state, "add", known, span, spans=args.spans[:1] * len(known))
    return [(state, made)]


def _added(machine: Machine, state: State, values: Sequence[Value], span: Span) -> Results:
    """The sum of objects that say themselves how they are added."""
    results: Results = [(state, values[0])]
    for value in values[1:]:
        ways: Results = []
        for each, total in results:
            for obj, other, name in ((total, value, "__add__"), (value, total, "__radd__")):
                method = find(each, obj, name) if isinstance(each.get(obj), Instance) else None
                if method is not None:
                    ways += machine.call(each, Bound(method, obj), Args((other,)), span)
                    break
            else:
                ways.append((each, objects.fresh(each, span)))
        results = ways
    return results


_PLAIN = {
    "len", "int", "float", "bool", "str", "bytes", "repr", "format", "id", "hash", "type", "print", "input", "open",
    "round", "ord", "chr", "bin", "hex", "oct", "divmod", "callable", "isinstance", "issubclass", "any", "all", "hasattr",
    "delattr", "dir", "compile", "help", "breakpoint", "slice", "complex",
}  # fmt: skip


_COPIES = {"list", "tuple", "set", "frozenset", "sorted"}


def _unbound(machine: Machine, state: State, name: str, args: Args, span: Span) -> Results:
    """A method of dict or list that is called by its class: `dict.get(d, key)`, `dict.fromkeys(keys, value)`."""
    if name == "fromkeys":
        keys, value = iteration.known_items(machine, state, args.pos[0], span), args.get(1, "value")
        made = DictObj({}, True, rest=(value,)) if keys is None else DictObj(dict.fromkeys(keys, value))
        return [(state, state.new(made))]
    rest = Args(args.pos[1:], args.named, args.open, args.spans[1:], args.span, args.places)
    return of_container(machine, state, args.pos[0], name, rest, span)


def _let_through(machine: Machine, state: State, args: Args, span: Span) -> Value | None:
    """Those of some known items of which a function says yes; None where it isn't known of each. Nothing lets tensors
    through: of whether they are zero it doesn't ask."""
    asked = args.get(0, "function")
    known = iteration.known_items(machine, state, args.get(1, "iterable"), span)
    passed: list[Value] = []
    for item in known or ():
        ways = [(state, item)] if asked == NONE else machine.call(state.fork(), asked, Args((item,)), span)
        truth = decisions.decide(*ways[0]) if len(ways) == 1 and ways[0][0].flow is None else None
        if truth is None and not (asked == NONE and isinstance(state.get(item), TensorObj)):
            known = None
            break
        passed += (item,) * (truth is not False)
    if known is None:  # who walks what is let through walks some of all that was given, nobody knows which
        machine.events.emit(events.Escaped(objects.edges_in(machine, state, args.all)))
        return None
    return state.new(ListObj(tuple(passed), kind=ITERATOR))


_LAZY = {"enumerate", "zip", "reversed", "map", "filter", "iter", "range"}


def _truth(state: State, value: Value) -> Value | None:
    """`bool(value)`, if that is known, or asks whether a list or a dict holds anything."""
    if (truth := decisions.decide(state, value)) is not None:
        return Const(truth)
    return Term("bool", (value,)) if isinstance(state.get(value), ListObj | DictObj) else None


_TAKING = (*_COPIES, "sum", "min", "max", "dict")
"""What takes all items of its first argument."""


def function(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results:
    """Call something built in, or of the standard library."""
    results = _called(machine, state, path, args, span)
    if args.pos and path.rpartition(".")[2] in _TAKING:
        for each, _ in results:
            consumption.exhaust(each, args.pos[0])
    return results


def _called(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results:
    whole, _, name = path.rpartition(".")
    if whole in ("builtins.dict", "builtins.list") and args.pos:
        return _unbound(machine, state, name, args, span)
    if path in ("builtins.object.__new__", "builtins.type.__new__"):
        return [(state, made(state, args, span))]
    if name in _LAZY:
        passed = _let_through(machine, state, args, span) if name == "filter" else None
        return [(state, passed or lazy(state, name, args, span))]
    if name in _COPIES:
        return [(state, _copied(machine, state, name, args, span))]
    if (asked := _about_objects(machine, state, name, args, span)) is not None:
        return asked
    match name:
        case "dict":
            return [(state, make_dict(machine, state, args, span))]
        case "type" if (cls := _class(machine, state, args, span)) is not None:
            return [(state, cls)]
        case "len":
            return [(state, iteration.length(machine, state, args.get(0, "obj"), span))]
        case "sum":
            return total(machine, state, args, span)
        case "min" | "max":
            return [(state, _extreme(machine, state, name, args, span))]
        case "any" | "all" if args.pos and (found := _many(machine, state, name, args.pos[0], span)) is not None:
            return [(state, found)]
        case "bool" if args.pos and (truth := _truth(state, args.pos[0])) is not None:
            return [(state, truth)]
        case "divmod" if len(args.pos) == 2 and all(map(terms.is_scalar, args.pos[:1])):
            parts = (terms.binary(op, *args.pos) or Term(op, args.pos) for op in ("//", "%"))
            return [(state, Tuple(tuple(parts)))]
        case "abs":
            return _abs(machine, state, args, span)
        case "next":
            default = args.pos[1] if len(args.pos) > 1 else None
            return iteration.advanced(machine, state, args.get(0, "iterator"), span, default=default)
        case "exec" if len(args.all) == 1 and not isinstance(args.all[0], Const):
            _rebound(state, span)
        case "exit" | "quit" | "SystemExit":
            return outcomes.ended(state, args.get(0, "code"), raises=name != "SystemExit")
        case "record_of" if (known := iteration.known_items(machine, state, args.get(1, "iterable"), span)) is not None:
            return machine.call(state, args.pos[0], Args(tuple(known)), span)
        case "namedtuple":
            return [(state, _named_tuple(state, args, span))]
    if name.endswith(("Error", "Exception", "Warning", "Interrupt", "Iteration", "Exit", "ExceptionGroup")):
        return [(state, Failure(name))]
    if name in options.CASTS and not args.all:
        return [(state, Const(options.CASTS[name]()))]
    if (
        name in options.CASTS
        and len(args.all) == 1
        and (read := options.cast(state, name, args.all[0], span)) is not None
    ):
        return [(state, read)]
    if name in options.CASTS and len(args.all) == 1 and args.pos and _is_number(state, args.pos[0]):
        return [(state, _cast(name, args.pos[0]))]
    if name in _PLAIN:
        return [(state, _plain(machine, state, name, args, span))]
    return [(state, call_results.called(machine, state, External(path), args, span))]


def _plain(machine: Machine, state: State, name: str, args: Args, span: Span) -> Value:
    """What has no graph, whatever it is made of; a number of Python's that nobody knows is one in whatever it is put to."""
    if args.pos and all(map(terms.is_scalar, args.pos)):
        return Term(name, args.pos)
    if isinstance(args.get(0, "obj"), Tuple) and decisions.is_telling(told := Term(name, args.pos)):
        return told
    if name in ("round", "divmod") and args.pos and getattr(state.get(args.pos[0]), "edge", None) is not None:
        machine.missing_reads.add(span)  # a tensor has no such method; one without a graph may stand for numbers
    if args.pos and name == "float":
        held = state.get(args.pos[0])
        if isinstance(held, TensorObj) and isinstance(args.pos[0], Ref):
            return new_tensors.number_of(state, args.pos[0], held)
        return Term("item", (Symbol(ticket()),))
    return objects.fresh(state, span, plain=True, hint=COUNT if name == "int" else "", returned=True)


def _about_objects(machine: Machine, state: State, name: str, args: Args, span: Span) -> Results | None:
    """What asks an object for what it is and has, or changes that; None for any other name."""
    match name:
        case "super":
            return [(state, _super(state, args))]
        case "isinstance":
            return [(state, reflection.isinstance_(state, args))]
        case "issubclass":
            return [(state, reflection.issubclass_(state, args))]
        case "hasattr":
            return [(state, reflection.hasattr_(state, args))]
        case "getattr":
            return reflection.getattr_(machine, state, args, span)
        case "setattr":
            return reflection.setattr_(machine, state, args, span)
        case "globals":
            return [(state, _globals(state))]
        case "callable":
            asked = args.get(0, "obj")
            is_known = isinstance(asked, Closure | Bound | Const | Tuple)
            return [(state, Const(isinstance(asked, Closure | Bound)) if is_known else Term(name, args.pos))]
        case "vars" if len(args.pos) == 1 and (shown := dataclasses.shown(state, args.pos[0])) is not None:
            return [(state, shown)]
        case "dir" if args.pos and isinstance(state.get(args.pos[0]), ClassObj):
            names = dict.fromkeys(Const(name) for each in classes.of_program(state, args.pos[0]) for name in each.attrs)
            return [(state, state.new(ListObj(tuple(names))))]
        case "id" if len(args.pos) == 1 and isinstance(args.pos[0], Ref | Tuple):
            return [(state, Term(name, args.pos))]
        case "object":
            return [(state, objects.fresh(state, span, plain=True))]
        case "len" if isinstance(state.get(args.get(0, "obj")), Instance):
            own = find(state, args.all[0], "__len__")
            return machine.call(state, Bound(own, args.all[0]), Args(), span) if own is not None else None
    return None


def made(state: State, args: Args, span: Span) -> Value:
    """`object.__new__(cls)`, or `type.__new__(meta, name, bases, namespace)`, which makes the class that was begun."""
    cls = args.get(0, "cls")
    if len(args.pos) == 4 and find(state, cls, classes.BEGUN) is not None:  # of names that aren't known: one unknown
        return classes.begun(state, *args.pos[::3]) or objects.fresh(state, span)
    return classes.blank(state, cls) if isinstance(cls, Ref) and isinstance(state.get(cls), ClassObj) else NONE


def _globals(state: State) -> Value:
    """`globals()`, as far as the module's names are known now."""
    frame = state.frame
    while frame.parent is not None and state.frames.has(frame.parent):
        frame = state.frames[frame.parent]
    return state.new(DictObj({Const(name): value for name, value in frame.names.items()}, True))


def of_container(machine: Machine, state: State, obj: Value, name: str, args: Args, span: Span) -> Results:
    """A method that an object has from dict or list."""
    content = classes.of(state, obj)
    held = state.get(content)
    if name == "__init__" and isinstance(obj, Ref):
        made = (
            make_dict(machine, state, args, span)
            if isinstance(held, DictObj)
            else _copied(machine, state, "list", args, span)
        )
        classes.hold_content(state, obj, made)
        return [(state, NONE)]
    if name == "__getitem__" and args.pos and isinstance(held, DictObj):
        return containers.lookup(machine, state, content, held, args.pos[0], span)
    if name == "__setitem__" and len(args.pos) == 2 and isinstance(content, Ref) and isinstance(held, DictObj):
        containers.store(state, content, held, *args.pos)
        return [(state, NONE)]
    return machine.call(state, Method(content, name), args, span)


def _many(machine: Machine, state: State, name: str, value: Value, span: Span) -> Value | None:
    """Whether any, or all, of some known truths hold; None if the answer is not theirs alone."""
    known = iteration.known_items(machine, state, value, span)
    if known is None or not all(terms.is_scalar(each) or isinstance(each, Ref) for each in known):
        return None
    found = Term(name, tuple(known))
    truth = decisions.decide(state, found)
    return found if truth is None else Const(truth)


def _rebound(state: State, span: Span) -> None:
    """A text that nobody sees was executed: it may have set the options of the module."""
    names = state.writable().names
    for name, value in tuple(names.items()):
        if isinstance(value, Const) and not name.startswith("__") and not state.calls:
            names[name] = objects.fresh(state, span, name=name, plain=True)


def _class(machine: Machine, state: State, args: Args, span: Span) -> Value | None:
    """The class of an object; where it isn't known, the same each time. That of which an entry is a method may be one of an heir."""
    if len(args.pos) != 1 or args.open:
        return None
    if machine.running is not machine.program.module and len(state.stack) > 1:
        if state.frames[state.stack[1]].receiver == args.pos[0]:
            return None
    if isinstance(held := state.get(args.pos[0]), UnknownObj):
        return objects.derived(machine, state, args.pos[0], "__class__", span) if held.edge is None else None
    return decisions.kind(state, args.pos[0])


def _named_tuple(state: State, args: Args, span: Span) -> Value:
    """Call a class that namedtuple made: its field names come first."""
    fields, given = args.pos[0], args.pos[1:]
    assert isinstance(fields, Tuple)
    names = tuple(str(name.value) for name in fields.items if isinstance(name, Const))
    named = dict(args.named)
    values = [given[i] if i < len(given) else named.get(name) for i, name in enumerate(names)]
    return Tuple(tuple(value or objects.fresh(state, span) for value in values), names)


def _is_number(state: State, value: Value) -> bool:
    """Whether a value is a number, a text or an error, or an option that was read somewhere: each time it is the same."""
    held = state.get(value)
    return (
        terms.is_scalar(value)
        or isinstance(value, Failure)
        or (isinstance(held, UnknownObj) and held.edge is None and held.hint == "")
    )


def _cast(name: str, value: Value) -> Value:
    value = as_text(value) if name == "str" else value
    if isinstance(value, Const):
        try:
            return Const(worked_out(options.CASTS[name], value.value), value.loops)
        except NotWorkedOut:
            return Term(name, (value,))
    return value if name == "int" and terms.is_scalar(value) else Term(name, (value,))


def lazy(state: State, name: str, args: Args, span: Span) -> Value:
    if args.open and name in ("zip", "map"):  # `zip(*loaders)`: of how many each item is made, nobody knows
        return _columns(state, args.pos) or objects.fresh(state, span)
    match name:
        case "range":
            ends = tuple(counts.counted(state, value) for value in args.pos)
            bounds = {1: (Const(0), *ends, Const(1)), 2: (*ends, Const(1)), 3: ends}.get(len(ends))
            return state.new(IteratorObj("range", bounds)) if bounds else objects.fresh(state, span)
        case "enumerate":
            return state.new(
                IteratorObj("enumerate", args.pos[:1], counts.counted(state, args.get(1, "start", Const(0))))
            )
        case "map":
            return state.new(IteratorObj("map", args.pos[1:], args.get(0, "func")))
        case "filter":
            asks = isinstance(func := args.get(0, "func"), Closure) and _asks_for_gradients(func.code)
            given = args.get(1, "iterable")
            notes = Notes(filtered=given) if asks else Notes(chosen=given)
            return state.new(UnknownObj(span, hint="iterator", notes=notes))
        case "iter" if len(args.pos) == 2:  # what is returned until it is the second
            return state.new(IteratorObj("calls", (), args.pos[0]))
        case "iter":
            given = args.get(0, "iterable")
            is_held = isinstance(given, Tuple) or isinstance(state.get(given), ListObj)
            return state.new(IteratorObj("iter", (given,))) if is_held else given
    return state.new(IteratorObj(name, args.pos))


def _columns(state: State, rows: tuple[Value, ...]) -> Value | None:
    """`zip(*rows)` of rows that are not all known: as many columns as each row has items, each of unknown length."""
    known = [row.items for row in rows if isinstance(row, Tuple)]
    if not known or len(known) < len(rows) or len(set(map(len, known))) > 1:
        return None
    return Tuple(tuple(state.new(ListObj(column, True)) for column in zip(*known, strict=True)))


def _asks_for_gradients(code: ir.Code) -> bool:
    """Whether a function tells of its one argument whether it requires a gradient."""
    match code.body:
        case (ir.Load(name=name), ir.GetAttr(name="requires_grad"), ir.Return()):
            return [param.name for param in code.params] == [name]
    return False


def _copied(machine: Machine, state: State, name: str, args: Args, span: Span) -> Value:
    kind = "set" if name in ("set", "frozenset") else name if name == "tuple" else "list"
    if not args.pos:
        return Tuple(()) if name == "tuple" else state.new(ListObj((), kind=kind))
    given = iteration.iterated(machine, state, args.pos[0], span)
    held = state.get(given)
    if name == "sorted" and not (isinstance(held, ListObj) and (held.open or held.sampled)):
        known = iteration.known_items(machine, state, given, span)
        if known is not None:
            return state.new(ListObj(in_order(machine, state, known, args, span)))
    if isinstance(held, ListObj):
        whole = name == "tuple" and not (held.open or held.sampled)
        items = sequences.distinct(held.items) if kind == "set" else held.items
        return Tuple(items) if whole else state.new(ListObj(items, held.open, kind))
    known = iteration.known_items(machine, state, given, span)
    if known is None:
        if isinstance(held, UnknownObj) and held.hint in ("", "iterator"):
            notes = Notes(filtered=held.notes.filtered, chosen=held.notes.chosen)
            return state.new(UnknownObj(span, name=held.name, notes=notes))
        item = iteration.any_item(machine, state, given, span)
        return state.new(ListObj((item,), True, kind))
    items = sequences.distinct(known) if kind == "set" else tuple(known)
    return Tuple(items) if name == "tuple" else state.new(ListObj(items, kind=kind))


def make_dict(machine: Machine, state: State, args: Args, span: Span) -> Value:
    of = iteration.entries(machine, state, args.pos[0], span) if args.pos else DictObj({})
    named: dict[Value, Value] = {Const(key): value for key, value in args.named}
    begun = options.overridden(state, of.items, span) if args.open else of.items
    return state.new(DictObj({**begun, **named}, args.open or of.open))


def _extreme(machine: Machine, state: State, name: str, args: Args, span: Span) -> Value:
    values = list(args.pos)
    if len(values) == 1:
        values = iteration.known_items(machine, state, values[0], span) or []
    sought = replace(args, named=(*args.named, ("reverse", Const(name == "max"))))
    if values and (found := ordered(machine, state, values, sought, span)) is not None:
        return found[0]  # the first of several, as `sorted` leaves them
    if args.has(-1, "key"):
        return values[0] if values else objects.fresh(state, span)
    numbers = [v.value for v in values if isinstance(v, Const) and isinstance(v.value, int | float)]
    if values and len(numbers) == len(values):
        return Const(max(numbers) if name == "max" else min(numbers))
    values = [decisions.total(state, each) for each in values]
    counts = any(map(decisions.loops_of, values)) and all(_is_number(state, each) for each in values)
    if values and (counts or all(map(terms.is_scalar, values))):
        return Term(name, tuple(values))
    return values[0] if values else objects.fresh(state, span)


def _abs(machine: Machine, state: State, args: Args, span: Span) -> Results:
    value = args.get(0, "x")
    if isinstance(state.get(value), TensorObj):
        return [(state, new_tensors.operate(machine, state, "abs", (value,), span, spans=args.spans))]
    return [(state, Term("abs", (value,)) if terms.is_scalar(value) else objects.fresh(state, span))]


def _super(state: State, args: Args) -> Value:
    frame = state.frame
    if len(args.pos) == 2:
        return Super(args.pos[1], args.pos[0])
    at: int | None = state.stack[-1]
    while at is not None and state.frames.has(at):
        frame = state.frames[at]
        if frame.cls is not None and frame.receiver is not None:
            return Super(frame.receiver, frame.cls)
        at = frame.parent
    return External("builtins.object")


def _is_of_an_attribute(name: str, span: Span) -> bool:
    """Whether a method is called on an attribute: `self.flow.log_prob(x)`."""
    methods = (call.node.func for call in facts.of_span(span).calls if call.name == name)
    return any(isinstance(each, ast.Attribute) and isinstance(each.value, ast.Attribute) for each in methods)


_OF_TEXT = frozenset(
    """lower upper strip startswith endswith replace title find count isdigit removeprefix removesuffix lstrip rstrip
    capitalize casefold index rfind rindex isalpha isalnum isupper islower split rsplit splitlines partition rpartition
    format""".split()
)


def _of_text(state: State, text: str, name: str, args: Args, span: Span) -> Value | None:
    """What a method gives of a text, where all that it is given is known."""
    values = [a.value for a in map(as_text, args.pos) if isinstance(a, Const)]
    named = {key: a.value for key, given in args.named if isinstance(a := as_text(given), Const)}
    is_known = len(values) == len(args.pos) and len(named) == len(args.named)
    if not is_known or name not in _OF_TEXT or (name == "format" and terms.is_wide(text, *values, *named.values())):
        return None
    with suppress(NotWorkedOut, IndexError):
        if name != "replace" or len(text) * len(str(values[-1])) < limits.REPLACED_LENGTH:
            return text_patterns.told(state, worked_out(getattr(text, name), *values, **named), span)
    return None


def _joined(machine: Machine, state: State, text: str, parts: Value, span: Span) -> Value:
    """`text.join(parts)`, known where all of these are."""
    known = iteration.known_items(machine, state, parts, span) or []
    given = [each.value for each in known if isinstance(each, Const) and isinstance(each.value, str)]
    if known and len(given) == len(known) and sum(map(len, given)) <= limits.SPELLED_TEXT:
        loops = dict.fromkeys(loop for each in known for loop in decisions.loops_of(each))
        return Const(text.join(given), tuple(loops))
    return Term("join", (Const(text), *known[: limits.TERM_PARTS])) if known else objects.fresh(state, span, plain=True)


def scalar_method(machine: Machine, state: State, obj: Value, name: str, args: Args, span: Span) -> Results:
    """Methods of texts and numbers. None has none: where one of an attribute's is called, something else will be there."""
    if obj == NONE and _is_of_an_attribute(name, span):
        return [(state, call_results.called(machine, state, Method(obj, name), args, span))]
    if obj == NONE:
        gradient_events.hidden(machine, state, span, name)
    if isinstance(obj, Const) and isinstance(obj.value, str) and name == "join" and len(args.pos) == 1:
        return [(state, _joined(machine, state, obj.value, args.pos[0], span))]
    if name in ("startswith", "endswith") and len(args.pos) == 1 and isinstance(args.pos[0], Tuple):
        asked = [scalar_method(machine, state, obj, name, Args((each,)), span)[0][1] for each in args.pos[0].items]
        truth = decisions.decide(state, any_of := Term("any", tuple(asked)))
        return [(state, any_of if truth is None else Const(truth))]
    if isinstance(obj, Const) and isinstance(obj.value, str):
        if (found := _of_text(state, obj.value, name, args, span)) is not None:
            return [(state, found)]
        if name == "format":
            return [(state, Term("format", (obj, Tuple(args.pos))))]
    if (
        name in numbers.METHODS
        and not args.all
        and (found := numbers.result(lambda x: getattr(x, name)(), (obj,))) is not None
    ):
        return [(state, found)]
    if name == "item":
        return [(state, obj)]
    if all(map(terms.is_scalar, args.pos)):
        return [(state, Term(name, (obj, *args.pos)))]
    return [(state, objects.fresh(state, span, plain=True))]
