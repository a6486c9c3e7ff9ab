"""Paths that lead to data files of the project, these files, opened and read, and what a text of JSON, TOML, YAML or sections says."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from itertools import accumulate
from typing import Any

from retainlint.startup.records import replace
from retainlint.symbolic.models.unknown import objects
from retainlint.symbolic.solver.terms import NotWorkedOut, worked_out
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.protocol import Args, Machine, Results, in_turn
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import (
    NONE,
    TRUE,
    Const,
    DictObj,
    External,
    ListObj,
    Method,
    Notes,
    Ref,
    Term,
    Tuple,
    UnknownObj,
    Value,
)
from retainlint.text.source import Span

FILE = "__file__"
"""The operation of a term that is the path of a module: its one argument is the name of its text."""

_SAME = frozenset(("abspath", "realpath", "normpath", "fspath", "resolve", "absolute", "as_posix", "__fspath__"))
"""What gives the same path, perhaps in another form."""
_JOINS = frozenset(("os.path.join", "pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath"))
_HERE = frozenset(("os.getcwd", "pathlib.Path.cwd"))
_OPENS = frozenset(("builtins.open", "io.open"))
_ASKS = frozenset(("exists", "isfile", "is_file"))
FUNCTIONS = _JOINS | _HERE | _OPENS | {"os.path.dirname", "os.fspath"} | {f"os.path.{name}" for name in _SAME | _ASKS}
"""What makes paths, asks of them, and opens files."""
_METHODS = {
    "path": _SAME | _ASKS | {"open", "read_text", "read_bytes", "write_text", "write_bytes", "joinpath", "with_name"},
    "opened": frozenset(("read", "close")),
}
"""The methods that we know, of paths and of open files."""
_TEXTS = frozenset(("utf-8", "utf8", "utf_8", "ascii", "us-ascii"))
"""Encodings in which a file is read as we read it."""


def file_of(state: State) -> Value:
    """`__file__` in the module that is run."""
    return Term(FILE, (Const(state.frame.code.span.source.name),))


def function(machine: Machine, state: State, path: str, args: Args, span: Span) -> Value | None:
    """A call that makes a path, or opens a file; None for any other, or if nobody knows which file it is."""
    if machine.imports.project is None or args.open:
        return None
    name, first = path.rpartition(".")[2], path_of(machine, state, args.all[0]) if args.all else None
    if path in _OPENS:
        return _opened(machine, state, first, args, (1, 3), span)
    if path in _HERE:
        return _made(state, "", span)
    if first is None or name in _ASKS:
        return _asked(machine, first)
    if path in _JOINS:
        return _made(state, _joined(machine, state, "", args), span)
    return _made(state, first if name in _SAME else _above(first), span)


def leads(held: UnknownObj) -> bool:
    """Whether something is a path that is known, or an open file."""
    return held.notes.path is not None or held.notes.opened is not None


def attribute(machine: Machine, state: State, obj: Ref, held: UnknownObj, name: str, span: Span) -> Value | None:
    """`path.parent` and its like, and what is called of a path, or of an open file."""
    if name in _METHODS["path" if held.notes.path is not None else "opened"]:
        return Method(obj, name)
    if held.notes.opened is not None:  # as `readline`, behind which not all is left to be read
        state.set(obj, replace(held, notes=replace(held.notes, opened=None)))
    path = path_of(machine, state, obj)
    if path is None or name not in ("parent", "parents") or (above := _above(path)) is None:
        return None
    if name == "parent":
        return _made(state, above, span)
    every = [above]
    while os.path.isabs(path) and (above := os.path.dirname(every[-1])) != every[-1]:
        every.append(above)
    return Tuple(tuple(state.new(_leading(each, span)) for each in every)) if os.path.isabs(path) else None


def method(
    machine: Machine, state: State, obj: Ref, held: UnknownObj, name: str, args: Args, span: Span
) -> Value | None:
    """A call of a method of a path, or of an open file; None where nothing is known of what it gives."""
    if (opened := held.notes.opened) is not None:
        if name != "close":
            state.set(obj, replace(held, notes=replace(held.notes, opened=None)))
        is_whole = name == "read" and not args.all
        return state.new(UnknownObj(span, plain=True, notes=Notes(text=opened))) if is_whole else None
    path = path_of(machine, state, obj)
    if path is None or args.open:
        return None
    if name in _SAME:
        return _made(state, path, span)
    if name in _ASKS:
        return _asked(machine, path)
    if name == "open":
        return _opened(machine, state, path, args, (0, 2), span)
    if name in ("read_text", "read_bytes"):
        is_read = _is_known(machine, path) and _reads_plainly(args.get(0, "encoding"))
        return state.new(UnknownObj(span, plain=True, notes=Notes(text=Const(path)))) if is_read else None
    if name in ("write_text", "write_bytes"):
        machine.imports.written.add(os.path.basename(path))
        return None
    before = path if name == "joinpath" else _above(path)
    return None if before is None else _made(state, _joined(machine, state, before, args), span)


def behind(machine: Machine, state: State, op: str, left: Value, right: Value, span: Span) -> Value | None:
    """`path / "name"`, and `text + "/name"`; None for anything else."""
    held = state.get(left)
    if not isinstance(held, UnknownObj) or held.notes.path is None:
        return None
    first, second = path_of(machine, state, left), path_of(machine, state, right)
    if first is None or second is None:
        return None
    return _made(state, os.path.join(first, second) if op == "/" else first + second, span)


def _joined(machine: Machine, state: State, before: str, args: Args) -> str | None:
    """The path that some parts make behind what goes before them; None if one isn't known."""
    parts = [path_of(machine, state, each) for each in args.pos]
    known = [each for each in parts if each is not None]
    return os.path.join(before, *known) if len(known) == len(parts) and not args.named else None


def path_of(machine: Machine, state: State, value: Value) -> str | None:
    """The path that a value is, if it is one that is known."""
    found: Value | None = value
    if isinstance(value, Term):
        if value.op == FILE and isinstance(value.args[0], Const) and machine.imports.project is not None:
            return machine.imports.project.where(str(value.args[0].value))
        if value.op == "str" and len(value.args) == 1:
            return path_of(machine, state, value.args[0])
        return _filled(machine, state, value) if value.op == "text" else None
    if isinstance(held := state.get(value), UnknownObj):
        found = held.notes.path
    return found.value if isinstance(found, Const) and isinstance(found.value, str) else None


def _filled(machine: Machine, state: State, text: Term) -> str | None:
    """The path that an f-string makes of others."""
    pieces = text.args[0].value if isinstance(text.args[0], Const) else None
    parts = [path_of(machine, state, each) for each in text.args[1:]]
    known = [each for each in parts if each is not None]
    if not isinstance(pieces, str) or len(known) < len(parts):
        return None
    first, *around = pieces.split("{:}")
    whole = len(around) == len(known)
    return first + "".join(part + after for part, after in zip(known, around, strict=True)) if whole else None


def text_of(machine: Machine, state: State, value: Value, *, is_file: bool) -> str | None:
    """What is in a file that is open, which is read by that, or in what was read of one; None if that isn't known, "" if
    it isn't followed."""
    held = state.get(value)
    if not isinstance(held, UnknownObj) or not isinstance(value, Ref):
        return None
    path = held.notes.opened if is_file else held.notes.text
    project = machine.imports.project
    if not isinstance(path, Const) or project is None:
        return None
    if is_file:
        state.set(value, replace(held, notes=replace(held.notes, opened=None)))
    data = project.said(str(path.value)) or b""
    try:
        return data.decode() if len(data) <= 4 * limits.SETTINGS_LENGTH else ""
    except UnicodeDecodeError:
        return ""


def _opened(
    machine: Machine, state: State, path: str | None, args: Args, at: tuple[int, int], span: Span
) -> Value | None:
    """An open file; the mode and the encoding stand `at` these places."""
    mode = args.get(at[0], "mode", Const("r"))
    if path is None:
        return None
    if not (isinstance(mode, Const) and isinstance(mode.value, str) and set(mode.value) <= set("rbtU")):
        machine.imports.written.add(os.path.basename(path))
        return None
    if not _is_known(machine, path) or not _reads_plainly(args.get(at[1], "encoding")):
        return None
    return state.new(UnknownObj(span, plain=True, notes=Notes(opened=Const(path))))


def _is_known(machine: Machine, path: str) -> bool:
    """Whether it is known what is in the file at a path, and the program didn't write it before."""
    imports = machine.imports
    if imports.project is None or os.path.basename(path) in imports.written:
        return False
    return imports.project.said(path) is not None


def _asked(machine: Machine, path: str | None) -> Value | None:
    return TRUE if path is not None and _is_known(machine, path) else None


def _reads_plainly(encoding: Value) -> bool:
    return encoding == NONE or (isinstance(encoding, Const) and str(encoding.value).lower() in _TEXTS)


def _above(path: str) -> str | None:
    """The directory that a path lies in, as its text tells."""
    return os.path.dirname(path) if os.path.basename(path) not in ("", ".", "..") else None


def _made(state: State, path: str | None, span: Span) -> Value | None:
    is_short = path is not None and len(path) <= limits.PATH_LENGTH
    return state.new(_leading(path, span)) if path is not None and is_short else None


def _leading(path: str, span: Span) -> UnknownObj:
    return UnknownObj(span, plain=True, returned=True, notes=Notes(path=Const(path)))


# -- texts of settings ------------------------------------------------------------------------------------------------


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
SAYING = frozenset(f"{library}.{name}" for library in _OTHERS for name in ("load", "loads")) | _OF_YAML


def said(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results | None:
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
        texts = (text_of(machine, state, source, is_file=is_file) for is_file in kinds)
        found = next((each for each in texts if each is not None), None)
        if found is None:
            return None
        text = found
    if len(text) <= limits.SETTINGS_LENGTH:
        machine.graphs.effort.add(len(text) * (limits.YAML_EFFORT if library == "yaml" else 1))
        try:
            read = worked_out(_READERS[library], text)
        except NotWorkedOut:
            return [(state, objects.fresh(state, span, plain=True))]
        hook = next(((name, given[name]) for name in _HOOKS if name in given), None)
        return _part(machine, state, read, hook, span)
    return [(state, objects.fresh(state, span, plain=not given))]


def are_told(func: External | Method, results: Results) -> bool:
    """Whether a call gave what a file says, or what leads to it: then it didn't raise."""
    reads = isinstance(func, External) and func.path in SAYING
    helds = [state.get(value) for state, value in results if state.flow is None]
    return bool(helds) and all(
        leads(held) or held.notes.text is not None if isinstance(held, UnknownObj) else reads for held in helds
    )


def _part(
    machine: Machine, state: State, value: Any, hook: tuple[str, Value] | None, span: Span, depth: int = 0
) -> Results:
    """The value that a part of a text stands for."""
    is_known = value is None or isinstance(value, str | int | float | dict | list)  # no date of TOML's
    if not is_known or depth > limits.SETTINGS_DEPTH or _is_long(value):
        return [(state, objects.fresh(state, span, plain=True))]
    if not isinstance(value, dict | list):
        return [(state, Const(value))]

    def step(state: State, each: Any) -> Results:
        return [(state, NONE)] if state.flow else _part(machine, state, each, hook, span, depth + 1)

    rows = in_turn(state, value.values() if isinstance(value, dict) else value, step)
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
