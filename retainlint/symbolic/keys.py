"""Names of a dict that nobody sees: a loop over them meets each once."""

from __future__ import annotations

import re
from collections.abc import Iterator

from retainlint.records import replace
from retainlint.symbolic.state import State, ticket
from retainlint.symbolic.values import Const, Ref, Term, UnknownObj, Value

_KEY = "key"
"""The hint of such a name begins so, and goes on with the loop that runs over the dict."""
_NAMING = re.compile(r"\.(items|keys|named_parameters|named_modules|named_children|named_buffers)\(\)$")


def naming(obj: object) -> str | None:
    """What gives a dict's names, if an unknown came from there: "items", "keys", ..."""
    found = _NAMING.search(obj.made.text) if isinstance(obj, UnknownObj) else None
    return None if found is None else found[1]


def hint() -> str:
    """The hint of the names that one loop meets."""
    return f"{_KEY} {ticket()}"


def mark(state: State, name: Value, run: str) -> None:
    """Note that an unknown is one of the names that a loop meets."""
    held = state.get(name)
    if isinstance(held, UnknownObj) and isinstance(name, Ref):
        state.set(name, replace(held, hint=run, plain=True))


def another(state: State, name: Value, run: str) -> Value:
    """The name that a turn of a loop meets, where this one stands for them all."""
    held = state.get(name)
    found = name if held is None else state.new(held)
    mark(state, found, run)
    return found


def asked(state: State, left: Value, right: Value) -> Iterator[Value]:
    """That something is one of a dict's names, of which each comes once: where one of two values is such a name."""
    for name, other in ((left, right), (right, left)):
        held = state.get(name)
        if isinstance(held, UnknownObj) and held.hint.startswith(_KEY):
            yield Term(_KEY, (other, Const(held.hint)))
