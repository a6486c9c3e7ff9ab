"""What a module's statements bind, read and change: those that one of its names needs are run for it, and no others."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from functools import cached_property, partial
from typing import TYPE_CHECKING

from retainlint.ir import Code, Opaque
from retainlint.startup.records import record
from retainlint.text.source import Source

if TYPE_CHECKING:
    from retainlint.ir import Block


@record
class Program:
    """A module, lowered; with `parts` the body of its code is empty, and each of them is lowered when it is asked for."""

    source: Source
    module: Code
    gaps: tuple[Opaque, ...] = ()
    parts: Parts | None = None


ASKING = frozenset("""get items keys values copy index count format join split strip lower upper startswith endswith replace
    encode decode isidentifier title partition rpartition union intersection difference debug info
    warning warning_once warn error exception critical log""".split())  # fmt: skip
"""Methods that change nothing of the object that they belong to."""


@record
class Origin:
    """What an import asks for: `name` is that of `from module import name`, "*" for all, "" for the module itself."""

    module: str
    name: str
    level: int


@record
class Use:
    """A call of what was imported, or of an attribute of it: it may change what other modules hold. `alone` if it stands
    as a statement, and so can only be there for what it does. Not `called`, it is itself what may be changed: it is given
    to a call, or set. It may be called to `decorate` something, or to give what does."""

    origin: Origin
    attributes: tuple[str, ...]
    alone: bool
    called: bool = True
    decorates: bool = False

    @property
    def registers(self) -> bool:
        """Whether what is called says that it enters things somewhere."""
        return any("regist" in name.lower() for name in (self.origin.name, *self.attributes))


@record
class Effect:
    """What a call of a function of a module may change, or of a method of what it holds: `names` of that module, what its
    `uses` change in others, and `outside` anything. It `holds` what is no function nor a class, of which nobody knows what
    a call changes. For what the module only imports, where from."""

    names: frozenset[str] = frozenset()
    outside: bool = False
    holds: bool = False
    origin: Origin | None = None
    uses: tuple[Use, ...] = ()


@record(eq=False)
class Part:
    """A statement of a module, or several that share a row, from its first character to its last.

    `binds`, `reads` and `changes` are names of the module: those that it binds, needs, and may change in place. What
    functions read when they are called is none of that. With `always` it is run whatever is asked for, with `stars` it may
    bind what isn't spelt in it.
    """

    start: int
    end: int
    binds: frozenset[str]
    reads: frozenset[str]
    changes: frozenset[str]
    imports: tuple[Origin, ...] = ()
    uses: tuple[Use, ...] = ()
    always: bool = False
    stars: bool = False


class Parts:
    """The parts of a module in their order; `make` gives what one does, `effect` what a call of a function of the module
    may change, and whether what it gives is dropped."""

    def __init__(
        self, parts: Iterable[Part], make: Callable[[Part], Block], effect: Callable[[str, bool], Effect]
    ) -> None:
        self.all = tuple(parts)
        self.effect = effect
        self.make = make
        self._blocks: dict[int, Block] = {}
        self._groups: dict[str, tuple[int, ...]] = {}

    def block(self, number: int) -> Block:
        if number not in self._blocks:
            self._blocks[number] = self.make(self.all[number])
        return self._blocks[number]

    def through(self, around: Callable[[Callable[[Part], Block], Part], Block]) -> None:
        """Let `around` tell what a part does, which is given what would have told it."""
        self.make = partial(around, self.make)

    @cached_property
    def names(self) -> frozenset[str]:
        """All that the module binds."""
        return frozenset().union(*(part.binds for part in self.all))

    @cached_property
    def stars(self) -> tuple[int, ...]:
        """The parts that may bind any name."""
        return tuple(number for number, part in enumerate(self.all) if part.stars)

    @cached_property
    def _writing(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for number, part in enumerate(self.all):
            for name in part.binds | part.changes:
                found.setdefault(name, []).append(number)
        return found

    def binding(self, name: str) -> bool:
        return name in self.names

    def group(self, name: str) -> tuple[int, ...]:
        """The parts that make a name what it is in the end: those that bind it or change what it is bound to, and those
        that read it before the last of these has run."""
        if name not in self._groups:
            writing = self._writing.get(name, ())
            found = set(writing)
            if len(writing) > 1:
                found.update(number for number in range(writing[-1]) if name in self.all[number].reads)
            self._groups[name] = tuple(sorted(found))
        return self._groups[name]

    def before(self, numbers: Iterable[int], done: Container[int]) -> list[int]:
        """Some parts, and those that have to be run before them; in their order, without those that are `done`."""
        found: set[int] = set()
        pending = list(numbers)
        while pending:
            number = pending.pop()
            if number in found or number in done:
                continue
            found.add(number)
            part = self.all[number]
            for name in part.reads | part.binds | part.changes:
                pending += (each for each in self.group(name) if each < number)
        return sorted(found)
