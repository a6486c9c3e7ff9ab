"""What a text of JSON, TOML, YAML or sections says that stands in the program, or in a file of its project, and what hooks make of that."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from itertools import accumulate
from typing import Any

from retainlint.symbolic.models.python import data_files
from retainlint.symbolic.models.unknown import objects
from retainlint.symbolic.solver.constants import NotWorkedOut, worked_out
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import NONE, Const, DictObj, External, ListObj, Method, Tuple, UnknownObj, Value
from retainlint.text.source import Span

_HOOKS = ("object_pairs_hook", "object_hook")
"""What Python calls for each object in place of making a dict; the first goes before the other."""


def _toml(text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads(text.replace("\r\n", "\n"))


def _sections(text: str) -> dict[str, dict[str, str]]:
    import configparser

    parser = configparser.ConfigParser()
    parser.read_string(text)
    return {name: dict(section) for name, section in parser.items()}


def _yaml(text: str) -> Any:
    import yaml

    signs = (1 if sign in "[{" else -1 if sign in "]}" else 0 for sign in text)
    deep = max(accumulate(signs), default=0) > limits.SETTINGS_DEPTH
    if deep or any(mark * limits.SETTINGS_DEPTH in text for mark in ("- ", "? ")) or ("&" in text and "*" in text):
        raise ValueError  # it nests, or would be made of what stands in it as often as it refers to that
    return yaml.safe_load(text)


_READERS: dict[str, Callable[[str], Any]] = {
    "json": json.loads, "tomllib": _toml, "tomli": _toml, "yaml": _yaml, "ini": _sections,
}  # fmt: skip
"""By the module that reads it; `ini` is what the stub of `configparser` reads by."""
_OF_YAML = frozenset(f"yaml.{kind}load" for kind in ("", "safe_", "full_", "unsafe_"))
"""These take a file or a text."""
_OTHERS = _READERS.keys() - {"yaml"}
FUNCTIONS = frozenset(f"{library}.{name}" for library in _OTHERS for name in ("load", "loads")) | _OF_YAML


def function(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results | None:
    """`json.loads(text)`, `json.load(file)` and the same of TOML; None if the text isn't known, or how it is to be read."""
    library, _, name = path.partition(".")
    source = args.all[0] if args.all else NONE
    rest = args.named if args.pos else args.named[1:]
    given = {name: value for name, value in rest if value != NONE and not (library == "yaml" and name == "Loader")}
    if args.open or len(args.pos) > 1 + (library == "yaml"):
        return None
    if not given.keys() <= set(_HOOKS if library == "json" else ()):
        return None
    if isinstance(source, Const) and (name == "loads" or path in _OF_YAML):
        text = source.value if isinstance(source.value, str) else ""
    else:
        kinds = (True, False) if path in _OF_YAML else (name == "load",)
        texts = (data_files.text_of(machine, state, source, is_file=is_file) for is_file in kinds)
        found = next((each for each in texts if each is not None), None)
        if found is None:
            return None
        text = found
    if len(text) <= limits.SETTINGS_LENGTH:
        machine.graphs.effort.add(len(text) * (limits.YAML_EFFORT if library == "yaml" else 1))
        try:
            said = worked_out(_READERS[library], text)
        except NotWorkedOut:
            return [(state, objects.fresh(state, span, plain=True))]
        hook = next(((name, given[name]) for name in _HOOKS if name in given), None)
        return _made(machine, state, said, hook, span)
    return [(state, objects.fresh(state, span, plain=not given))]


def are_told(func: External | Method, results: Results) -> bool:
    """Whether a call gave what a file says, or what leads to it: then it didn't raise."""
    reads = isinstance(func, External) and func.path in FUNCTIONS
    helds = [state.get(value) for state, value in results if state.flow is None]
    return bool(helds) and all(
        data_files.leads(held) or held.notes.text is not None if isinstance(held, UnknownObj) else reads
        for held in helds
    )


def _made(
    machine: Machine, state: State, value: Any, hook: tuple[str, Value] | None, span: Span, depth: int = 0
) -> Results:
    """The value that a part of a text stands for."""
    is_known = value is None or isinstance(value, str | int | float | dict | list)  # no date of TOML's
    if not is_known or depth > limits.SETTINGS_DEPTH or _is_long(value):
        return [(state, objects.fresh(state, span, plain=True))]
    if not isinstance(value, dict | list):
        return [(state, Const(value))]
    rows: list[tuple[State, tuple[Value, ...]]] = [(state, ())]
    for each in value.values() if isinstance(value, dict) else value:
        longer: list[tuple[State, tuple[Value, ...]]] = []
        for before, row in rows:
            found = [(before, NONE)] if before.flow else _made(machine, before, each, hook, span, depth + 1)
            longer += [(after, (*row, item)) for after, item in found]
        rows = longer
    if isinstance(value, list):
        return [(each, each.new(ListObj(row))) for each, row in rows]
    names = tuple(map(Const, value))
    return [result for each, row in rows for result in _object(machine, each, names, row, hook, span)]


def _is_long(value: Any) -> bool:
    return isinstance(value, int) and value.bit_length() > limits.CONSTANT_BITS


def _object(
    machine: Machine,
    state: State,
    names: tuple[Const, ...],
    row: tuple[Value, ...],
    hook: tuple[str, Value] | None,
    span: Span,
) -> Results:
    if hook is None or state.flow is not None:
        return [(state, state.new(DictObj(dict(zip(names, row, strict=True)))))]
    pairs = tuple(map(Tuple, zip(names, row, strict=True)))
    taken = ListObj(pairs) if hook[0] == "object_pairs_hook" else DictObj(dict(zip(names, row, strict=True)))
    return machine.call(state, hook[1], Args((state.new(taken),)), span)
