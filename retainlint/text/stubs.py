"""Stubs: small Python modules that the machine runs in place of a framework, and the words by which a text is known that needs one."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from retainlint.startup.lazy_patterns import pattern

if TYPE_CHECKING:
    from retainlint.text.source import Source

_OWN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "stubs")

_CALLERS = frozenset(("hyperopt", "optuna", "wandb", "click", "pytest", "pytest_asyncio"))
"""Libraries that call a program's functions again and again, whatever these compute with."""

MOST = 100_000
"""Characters of a stub."""

RUNS = "run_"
"""With the name of one of the program's `steps` behind it: the method of a stub's class that runs it once."""

Answer = TypeVar("Answer")

_HEADER = pattern(r'^(MODULES|ANYWHERE|STEPS|OVERRIDDEN|CALLED) = \(((?:"[\w.]+",? ?)+)\)$', 8)  # re.MULTILINE
_DEFINED = pattern(r"(?:^(?:class|def) (?=\w+[(:])|^(?=\w+ = )|(?<= = )(?=\w+ = ))([^\W\d_]\w*)", 8)


class Stub(NamedTuple):
    """A framework. What it defines at its top is found in each of its `modules`, and those classes `anywhere` from which the
    program derives its own; its `steps` are methods of the program
    whose losses it walks, those that are `overridden` are so only where it is imported, and who calls one of what is `called`
    has a walk run."""

    name: str
    text: str
    modules: tuple[str, ...]
    anywhere: tuple[str, ...]
    steps: tuple[str, ...]
    overridden: tuple[str, ...]
    called: tuple[str, ...]


class BrokenStub(Exception):
    """What is no stub; the text is written for people."""


def read(name: str, text: str) -> Stub:
    """A stub by its text, of which rows say what it is a stub of. Raises BrokenStub for one that says nothing."""
    header = {key: tuple(words.replace(",", "").replace('"', "").split()) for key, words in _HEADER.findall(text)}
    if "MODULES" not in header:
        raise BrokenStub('no row says which modules it stands for, as `MODULES = ("ourtrainer",)` does')
    return Stub(name, text, *(header.get(key, ()) for key in ("MODULES", "ANYWHERE", "STEPS", "OVERRIDDEN", "CALLED")))


def checked(name: str, text: str) -> Stub:
    """The same of a text that somebody else wrote. Raises BrokenStub for one that isn't Python."""
    import ast

    if len(text) > MOST:
        raise BrokenStub(f"more than {MOST:,} characters")
    try:
        ast.parse(text)
    except SyntaxError as error:
        raise BrokenStub(f"line {error.lineno}: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise BrokenStub("this is no Python that can be read") from error
    return read(name, text)


_forget: list[Callable[[], None]] = []


def by_stubs(question: Callable[[], Answer]) -> Callable[[], Answer]:
    """A question that is answered anew when other stubs are used."""
    known = cache(question)
    _forget.append(known.cache_clear)
    return known


_added: tuple[Stub, ...] = ()


def use(added: tuple[tuple[str, str], ...]) -> None:
    """Use these stubs beside our own, by their names and texts: whatever is told of texts from now on counts on them."""
    global _added
    if added != tuple((stub.name, stub.text) for stub in _added):
        _added = tuple(read(name, text) for name, text in added)
        for forget in _forget:
            forget()


@cache
def _own() -> tuple[Stub, ...]:
    found: list[Stub] = []
    for name in sorted(os.listdir(_OWN)):
        if name.endswith(".py"):
            with open(os.path.join(_OWN, name), encoding="utf-8") as file:
                found.append(read(f"stub of {name}", file.read()))
    return tuple(found)


def every() -> tuple[Stub, ...]:
    """The stubs that there are; what a later one says of a name counts."""
    return (*_own(), *_added)


def words(kind: str) -> tuple[str, ...]:
    """All that the stubs name of one kind: "steps", "called" or "anywhere"."""
    return tuple(word for stub in every() for word in getattr(stub, kind))


def overridden() -> tuple[tuple[str, str], ...]:
    """Packages, and methods whose losses are walked where one of them is imported."""
    rows = ((module.partition(".")[0], word) for stub in every() for word in stub.overridden for module in stub.modules)
    return tuple(dict.fromkeys(rows))


def stepping() -> tuple[str, ...]:
    """The modules of which a text speaks that derives classes with such methods."""
    return tuple(module for stub in every() if stub.steps for module in stub.modules)


def packages() -> frozenset[str]:
    """The frameworks of our own stubs: not what Python brings, nor what calls the program's functions whatever these compute with."""
    found = frozenset(module.partition(".")[0] for stub in _own() for module in stub.modules)
    return found - sys.stdlib_module_names - _CALLERS


@by_stubs
def by_path() -> dict[str, tuple[Stub, str]]:
    """Each function and class of a stub by the paths under which a program imports it; what is found anywhere by its name
    behind a dot."""
    found = {f".{name}": (stub, name) for stub in every() for name in stub.anywhere}
    for stub in every():
        found.update(
            (f"{module}.{name}", (stub, name)) for name in _DEFINED.findall(stub.text) for module in stub.modules
        )
    return found


@cache
def source_of(stub: Stub) -> Source:
    """A stub's text as the machine has it."""
    from retainlint.text.source import Source

    return Source(stub.name, stub.text, is_stub=True)
