"""Options: what argparse, a dict of defaults or the environment may set, and the defaults that hold where none is given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from retainlint.startup.records import replace
from retainlint.symbolic.solver import decisions, terms
from retainlint.symbolic.solver.constants import NotWorkedOut, worked_out
from retainlint.symbolic.state.protocol import Args, Machine
from retainlint.symbolic.state.state import Choice, State
from retainlint.symbolic.state.values import (
    COUNT,
    FALSE,
    NO_NOTES,
    NONE,
    TRUE,
    Const,
    DictObj,
    External,
    Instance,
    Notes,
    Ref,
    Term,
    UnknownObj,
    Value,
)
from retainlint.text.source import Span

_GROUPS = frozenset(("add_argument_group", "add_mutually_exclusive_group"))
METHODS = frozenset(("add_argument", "set_defaults", "parse_args", "parse_known_args")) | _GROUPS
"""Methods of a parser that tell of its options, or read them."""
_FLAGS: dict[Value, Value] = {Const("store_true"): FALSE, Const("store_false"): TRUE}
ENVIRONMENT = frozenset(("os.environ.get", "os.getenv"))
"""Functions that give a variable of the environment, or what is given as its default."""
_UNSET = frozenset(("os.environ", "sys.argv"))
"""Where by default nothing stands of what a program asks them for."""


def variable(machine: Machine, state: State, args: Args, span: Span) -> Value:
    """A text that the environment may set; by default it is what is given, or None."""
    default = args.get(1, "default")
    if machine.unrolls and isinstance(default, Const):
        return default
    return state.new(UnknownObj(span, plain=True, notes=Notes(default=default if isinstance(default, Const) else None)))


def number(state: State, value: Value, span: Span) -> Ref | None:
    """The number that is told by a variable of the environment; None of any other value."""
    held = state.get(value)
    told = held.notes.default if isinstance(held, UnknownObj) else None
    if not isinstance(told, Const) or not isinstance(told.value, str):
        return None
    try:
        default = Const(worked_out(int, told.value))
    except NotWorkedOut:
        return None
    return state.new(UnknownObj(span, hint=COUNT, plain=True, notes=Notes(default=default)))


def parser(state: State, span: Span) -> Ref:
    """`ArgumentParser()`: a dict of its options' defaults goes with it, and with what it parses."""
    declared = state.new(DictObj({}))
    return state.new(UnknownObj(span, hint="instance", name="parser", plain=True, notes=Notes(options=declared)))


def method(state: State, obj: Ref, held: UnknownObj, name: str, args: Args, span: Span) -> Value | None:
    """A method of a parser, or of a group of its options; None where it is none."""
    declared = held.notes.options
    options = state.get(declared) if declared is not None else None
    if not isinstance(options, DictObj) or not isinstance(declared, Ref):
        return None
    if name in _GROUPS:
        return state.new(replace(held, made=span, attrs={}))
    if name == "add_argument" and (key := _name(args)) is not None:
        found = _FLAGS.get(dict(args.named).get("action", NONE), NONE)
        state.set(declared, replace(options, items={**options.items, key: args.get(-1, "default", found)}))
    elif name == "set_defaults":
        more = {Const(key): value for key, value in args.named}
        state.set(declared, replace(options, items={**options.items, **more}))
    elif name == "parse_args":
        return state.new(UnknownObj(span, hint="instance", plain=True, notes=Notes(options=declared)))
    return NONE if name != "parse_known_args" else None


def _name(args: Args) -> Value | None:
    """Under which name the value of an option is found: its `dest`, or the first of its long names."""
    if (said := args.get(-1, "dest")) != NONE:
        return said
    texts = [each.value for each in args.pos if isinstance(each, Const) and isinstance(each.value, str)]
    chosen = next((text for text in texts if text.startswith("--")), texts[0] if texts else "")
    return Const(chosen.lstrip("-").replace("-", "_")) if chosen else None


def noted(state: State, held: UnknownObj, name: str) -> Value | None:
    """The default of the option that is read under a name from what a parser has parsed."""
    options = state.get(held.notes.options) if held.notes.options is not None else None
    found = options.items.get(Const(name)) if isinstance(options, DictObj) else None
    return found if isinstance(found, Const) and found.value is not None else None


def defaults(state: State, value: Value) -> Iterator[Const]:
    """The defaults of the options of which a value is made."""
    held = state.get(value)
    if isinstance(held, UnknownObj):
        found = held.notes.total or held.notes.default
        yield from (found,) if isinstance(found, Const) else () if found is None else defaults(state, found)
    elif isinstance(value, Term):
        for each in value.args:
            yield from defaults(state, each)


def way(states: list[State]) -> int | None:
    """Which of some states answers each option as by default, where others don't."""
    odd = [any(_is_odd(state, each) for each in state.choices) for state in states]
    return odd.index(False) if any(odd) and not all(odd) else None


def _is_odd(state: State, choice: Choice) -> bool:
    known = default(state, choice.term)
    return known is not None and bool(known.value) != choice.answer


def overridden(state: State, entries: Mapping[Value, Value], span: Span) -> dict[Value, Value]:
    """What a dict of constants holds behind an update by what nobody sees: each with a name may be another by then."""
    return {key: _option(state, key, value, span) for key, value in entries.items()}


def rebound(state: State, obj: Value, span: Span) -> None:
    """Attributes of an object may be others, by names that nobody sees."""
    held = state.get(obj)
    if isinstance(held, Instance) and isinstance(obj, Ref):
        attrs = {name: _option(state, Const(name), value, span) for name, value in held.attrs.items()}
        state.set(obj, replace(held, attrs=attrs))


def _option(state: State, key: Value, value: Value, span: Span) -> Value:
    if not isinstance(key, Const) or not isinstance(key.value, str) or not isinstance(value, Const):
        return value
    notes = Notes(default=value) if value != NONE else NO_NOTES
    return state.new(UnknownObj(span, name=key.value, plain=value != NONE, notes=notes))


def default(state: State, value: Value) -> Const | None:
    """What an option is where none is given; of a text that is made of some, as an f-string, the whole, and of what
    compares or adds some, the answer."""
    held = state.get(value)
    if isinstance(held, UnknownObj):
        if held.notes.total is not None:
            return default(state, held.notes.total)
        return held.notes.default if isinstance(held.notes.default, Const) else None
    if not isinstance(value, Term):
        return None
    if value.op == "in" and isinstance(holder := value.args[1], External) and holder.path in _UNSET:
        return FALSE
    found = by_default(state, value)
    if isinstance(found, Term) and found != value and (truth := decisions.decide(state, found)) is not None:
        return Const(truth)
    return found if isinstance(found, Const) else None


def by_default(state: State, value: Value) -> Value:
    """What is asked where nobody gives an option: a term of what each in it is then."""
    if not isinstance(value, Term):
        return default(state, value) or value
    parts = tuple(each if isinstance(each, Const) else by_default(state, each) for each in value.args)
    if parts == value.args:
        return value
    known = [each for each in parts if isinstance(each, Const)]
    if value.op == "text" and len(known) == len(parts):
        pieces, values = str(known[0].value).split("{:}"), [str(each.value) for each in known[1:]]
        whole = len(pieces) == len(parts)
        return Const("".join(text for pair in zip(pieces, [*values, ""]) for text in pair)) if whole else value
    if value.op == "not":
        return decisions.negate(parts[0])
    if value.op in ("==", "<", "<=", "is"):
        return decisions.compare(state, value.op, *parts)
    computed = terms.binary(value.op, *parts) if len(parts) == 2 else None
    return computed or Term(value.op, parts)
