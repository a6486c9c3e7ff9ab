"""Options: what argparse, a dict of defaults or the environment may set, and the defaults that hold where none is given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, NoReturn

from retainlint.startup.records import replace
from retainlint.symbolic.solver import decisions, terms
from retainlint.symbolic.solver.terms import NotWorkedOut, worked_out
from retainlint.symbolic.state.protocol import Args, Machine
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import (
    COUNT,
    FALSE,
    NO_NOTES,
    NONE,
    TRUE,
    Closure,
    Const,
    DictObj,
    External,
    Instance,
    ListObj,
    Notes,
    Partial,
    Ref,
    Term,
    Tuple,
    UnknownObj,
    Value,
    Wrapped,
)
from retainlint.text.source import Span

_GROUPS = frozenset(("add_argument_group", "add_mutually_exclusive_group"))
METHODS = frozenset(("add_argument", "set_defaults", "parse_args", "parse_known_args")) | _GROUPS
"""Methods of a parser that tell of its options, or read them."""
_FLAGS: dict[Value, Value] = {Const("store_true"): FALSE, Const("store_false"): TRUE}
ENVIRONMENT = frozenset(("os.environ.get", "os.environ.setdefault", "os.getenv"))
"""Functions that give a variable of the environment, or what is given as its default."""
_UNSET = frozenset(("os.environ", "sys.argv"))
"""Where by default nothing stands of what a program asks them for."""


def variable(machine: Machine, state: State, args: Args, span: Span) -> Value:
    """A text that the environment may set; by default it is what is given, or None."""
    default = args.get(1, "default")
    if machine.unrolls and isinstance(default, Const):
        return default
    return state.new(UnknownObj(span, plain=True, notes=Notes(default=default if isinstance(default, Const) else None)))


CASTS: Mapping[str, Callable[..., Any]] = {each.__name__: each for each in (int, float, str, bool)}


def cast(state: State, name: str, value: Value, span: Span) -> Value | None:
    """What `int`, `float`, `str` or `bool` makes of an option; None of any other value."""
    held = state.get(value)
    told = held.notes.default if isinstance(held, UnknownObj) else None
    if not isinstance(told, Const):
        return None
    if name == "bool":
        return Term(name, (value,))
    with suppress(NotWorkedOut):
        known = Const(worked_out(CASTS[name], told.value))
        return state.new(UnknownObj(span, hint=COUNT if name == "int" else "", plain=True, notes=Notes(default=known)))
    return None


def has(held: UnknownObj, name: str) -> bool:
    """Whether an option has such a method, as what it is by default does."""
    told = held.notes.default
    return isinstance(told, Const) and told != NONE and hasattr(told.value, name)


def answered(state: State, given: Value, by_default: Sequence[Value]) -> None:
    """A method of an option has given this: an option as well, where that is known of the option's default."""
    held, (first, *others) = state.get(given), by_default
    if isinstance(held, UnknownObj) and isinstance(given, Ref) and isinstance(first, Const) and not others:
        state.set(given, replace(held, plain=True, notes=replace(held.notes, default=first)))


def parser(state: State, span: Span) -> Ref:
    """`ArgumentParser()`: a dict of its options' defaults goes with it, and with what it parses."""
    declared = state.new(DictObj({}))
    attrs = {_DECLARED: state.new(ListObj(()))}
    notes = Notes(options=declared)
    return state.new(UnknownObj(span, hint="instance", name="parser", attrs=attrs, plain=True, notes=notes))


_DECLARED = "<declared>"
"""Under this a parser holds how its options were declared: of each the arguments, and those with names."""


def method(
    machine: Machine, state: State, obj: Ref, held: UnknownObj, name: str, args: Args, span: Span
) -> Value | None:
    """A method of a parser, or of a group of its options; None where it is none."""
    declared = held.notes.options
    options = state.get(declared) if declared is not None else None
    if not isinstance(options, DictObj) or not isinstance(declared, Ref):
        return None
    if name in _GROUPS:
        return state.new(replace(held, made=span))
    if name == "add_argument" and (key := _name(args)) is not None:
        _declare(state, held, args)
        state.set(declared, replace(options, items={**options.items, key: _by_declaration(args)}))
    elif name == "set_defaults":
        more = {Const(key): value for key, value in args.named}
        state.set(declared, replace(options, items={**options.items, **more}))
    elif name == "parse_args":
        given = _parsed(machine, state, held, args, span)
        return state.new(UnknownObj(span, hint="instance", attrs=given, plain=True, notes=Notes(options=declared)))
    return NONE if name != "parse_known_args" else None


def _by_declaration(args: Args) -> Value:
    """What an option is where none is given; nothing is told of one that has to be."""
    named = dict(args.named)
    found = args.get(-1, "default", _FLAGS.get(named.get("action", NONE), NONE))
    is_needed = named.get("required") == TRUE or not _is_flag(args)
    return External("") if found == NONE and (is_needed or args.open) else found


def _is_flag(args: Args) -> bool:
    texts = [each.value for each in args.pos if isinstance(each, Const)]
    return any(isinstance(each, str) and each.startswith("-") for each in texts)


def _declare(state: State, held: UnknownObj, args: Args) -> None:
    ref = held.attrs.get(_DECLARED)
    declared = state.get(ref) if ref is not None else None
    if isinstance(ref, Ref) and isinstance(declared, ListObj):
        named = tuple(Tuple((Const(name), value)) for name, value in args.named)
        state.set(ref, replace(declared, items=(*declared.items, Tuple((Tuple(args.pos), Tuple(named))))))


_TYPES = {f"builtins.{name}": each for name, each in CASTS.items()}
_SILENT = frozenset(("help", "metavar", "required"))
"""What is said of an option that makes no difference to a line that is well-formed."""


def _parsed(machine: Machine, state: State, held: UnknownObj, args: Args, span: Span) -> Mapping[str, Value]:
    """What argparse makes of a command line that stands in the program: the options by their names; none where that, or how one
    of them was declared, isn't known. An empty one, as in a notebook, stands for any, but for flags."""
    declared = state.get(held.attrs.get(_DECLARED, NONE))
    line = _texts(state, args.get(0, "args"))
    if line is None or not isinstance(declared, ListObj):
        return {}
    try:
        read = worked_out(_read, state, declared.items, line)
    except NotWorkedOut:
        return {}
    return {name: _value(machine, state, each, span) for name, each in read.items() if line or isinstance(each, bool)}


class _Typed(NamedTuple):
    """A text that a function of the program makes a value of."""

    func: Value
    text: str


def _read(state: State, declared: Iterable[Value], line: Sequence[str]) -> dict[str, Any]:
    import argparse

    class Parser(argparse.ArgumentParser):
        def error(self, message: str) -> NoReturn:
            raise ValueError(message)

    known = Parser(add_help=False)
    for each in declared:
        assert isinstance(each, Tuple)
        flags, named = each.items
        known.add_argument(*(_texts(state, flags) or ("",)), **_declaration(state, named))
    return vars(known.parse_args(line))


def _declaration(state: State, named: Value) -> dict[str, Any]:
    """What `add_argument` is given by names. Raises KeyError for what isn't known."""
    import argparse

    found: dict[str, Any] = {}
    for name, value in _pairs(named):
        if name == "type":
            found[name] = _TYPES.get(value.path if isinstance(value, External) else "", partial(_Typed, value))
        elif name == "choices":
            found[name] = [each.value for each in state.items(value) or () if isinstance(each, Const)]
        elif isinstance(value, Const) and value.value not in ("help", "version"):  # which print, and exit
            found[name] = value.value
        elif value == External("argparse.BooleanOptionalAction"):
            found[name] = argparse.BooleanOptionalAction
        elif name == "default":
            found[name] = value  # argparse hands it on as it is
        elif name not in _SILENT:
            raise KeyError(name)
    return {name: each for name, each in found.items() if name not in _SILENT}


def _pairs(named: Value) -> Iterator[tuple[str, Value]]:
    for each in named.items if isinstance(named, Tuple) else ():
        if isinstance(each, Tuple) and isinstance(each.items[0], Const):
            yield str(each.items[0].value), each.items[1]


def _value(machine: Machine, state: State, made: Any, span: Span) -> Value:
    """What argparse made of a text, or a default that it was given; what a function makes of one in several ways is unknown."""
    if isinstance(made, list):
        return state.new(ListObj(tuple(_value(machine, state, each, span) for each in made)))
    if isinstance(made, _Typed):
        ways = machine.call(state.fork(), made.func, Args((Const(made.text),)), span)
        if len(ways) != 1 or ways[0][0].flow is not None:
            return state.new(UnknownObj(span, plain=True))
        state.become(ways[0][0])
        return ways[0][1]
    return Const(made) if isinstance(made, int | float | str) or made is None else made


def _texts(state: State, value: Value) -> list[str] | None:
    held = state.get(value)
    items = (
        value.items if isinstance(value, Tuple) else held.items if isinstance(held, ListObj) and not held.open else None
    )
    texts = [each.value for each in items or () if isinstance(each, Const) and isinstance(each.value, str)]
    return texts if items is not None and len(texts) == len(items) else None


def _name(args: Args) -> Value | None:
    """Under which name the value of an option is found: its `dest`, or the first of its long names."""
    if (said := args.get(-1, "dest")) != NONE:
        return said
    texts = [each.value for each in args.pos if isinstance(each, Const) and isinstance(each.value, str)]
    chosen = next((text for text in texts if text.startswith("--")), texts[0] if texts else "")
    return Const(chosen.lstrip("-").replace("-", "_")) if chosen else None


CLICK = ("click.option", "click.argument", "click.command")


def optional(state: State, path: str, args: Args, span: Span) -> Value:
    """`click.option("--name", default=...)`, and what it makes of a function: unless somebody gives it, the parameter is that.
    What `click.command` makes reads a command line, whatever it is called with."""
    func = args.pos[-1] if args.pos else NONE
    if not isinstance(func, Closure):
        return Partial(External(path), args.pos, args.named)
    if path == "click.command":
        return Wrapped("command", func)
    texts = [
        each.value.partition("/")[0] for each in args.pos if isinstance(each, Const) and isinstance(each.value, str)
    ]
    named = next((text for text in texts if not text.startswith("-")), None)
    key = Const(named) if named else _name(Args(tuple(map(Const, texts))))
    default = args.get(-1, "default", FALSE if args.get(-1, "is_flag") == TRUE else NONE)
    if not isinstance(key, Const) or default == NONE:
        return func
    return replace(func, defaults=(*func.defaults, (str(key.value), _option(state, key, default, span))))


def noted(state: State, held: UnknownObj, name: str) -> Value | None:
    """The default of the option that is read under a name from what a parser has parsed."""
    options = state.get(held.notes.options) if held.notes.options is not None else None
    key = Const(name[2:-2] if name.startswith("['") else name)
    found = options.items.get(key) if isinstance(options, DictObj) else None
    return found if isinstance(found, Const) else None


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
    odd = [any(each.condition.by_default is False for each in state.choices) for state in states]
    return odd.index(False) if any(odd) and not all(odd) else None


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


def usual(state: State, term: Value) -> tuple[bool, bool] | None:
    """The answer to a condition that options decide, where none is given, and whether one of them is a text, yes or no; None
    where no option decides it. It is asked before the answer is chosen: what was read of them may be gone behind that."""
    if (known := _told(state, term)) is None:
        return None
    return bool(known.value), any(isinstance(each.value, str | bool) for each in defaults(state, term))


def given(state: State, value: Const, name: str, span: Span) -> Value:
    """An option of a name, which is this by default."""
    return state.new(UnknownObj(span, name=name, plain=True, notes=Notes(default=value)))


def default(state: State, value: Value) -> Const | None:
    """What an option is where none is given; of a text that is made of some, as an f-string, the whole, and of what
    compares or adds some, the answer. None if it is that, too: nothing is done with it then."""
    found = _told(state, value)
    return None if found == NONE else found


def _told(state: State, value: Value) -> Const | None:
    held = state.get(value)
    if isinstance(held, UnknownObj):
        if held.notes.total is not None:
            return _told(state, held.notes.total)
        return held.notes.default if isinstance(held.notes.default, Const) else None
    if not isinstance(value, Term):
        return None
    if value.op == "in" and isinstance(holder := value.args[1], External) and holder.path in _UNSET:
        return FALSE
    found = by_default(state, value)
    if isinstance(found, Term) and found != value and (truth := decisions.decide(state, found)) is not None:
        return Const(truth)
    return found if isinstance(found, Const) else None


_COMPUTED: Mapping[str, Callable[..., Any]] = {**CASTS, "startswith": str.startswith, "endswith": str.endswith}


def by_default(state: State, value: Value) -> Value:
    """What is asked where nobody gives an option: a term of what each in it is then."""
    if not isinstance(value, Term):
        return _told(state, value) or value
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
    if value.op == "among":
        return decisions.compare(state, "in", *parts)
    if value.op in _COMPUTED and len(known) == len(parts):
        with suppress(NotWorkedOut):
            return Const(worked_out(_COMPUTED[value.op], *[each.value for each in known]))
    if value.op in ("==", "<", "<=", "is"):
        return decisions.compare(state, value.op, *parts)
    computed = terms.binary(value.op, *parts) if len(parts) == 2 else None
    return computed or Term(value.op, parts)
