"""The modules around the program: how the machine asks for them, and what it has of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from retainlint import ir
from retainlint.program import Parts, Program, Use
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.state import Base, State
from retainlint.symbolic.state.values import Value
from retainlint.text.source import Source, Span


class Project(Protocol):
    """The modules around the program, each named by its place. It is asked only for what a path needs."""

    entry: str

    def find(self, importer: Source, module: str, level: int) -> str | None:
        """Where an import leads; None if out of the project."""
        ...

    def top(self, importer: Source, module: str) -> str | None:
        """What `import a.b.c` binds: the place of `a`."""
        ...

    def submodule(self, place: str, name: str) -> str | None: ...

    def mentions(self, place: str, name: str) -> bool:
        """Whether a name stands anywhere in a module's text."""
        ...

    def registers(self, place: str) -> bool:
        """Whether a module may be imported for what its import does."""
        ...

    def alters(self, importer: Source, use: Use) -> frozenset[tuple[str, str]] | None:
        """What a text may change of what other modules hold by a call of something that it imported: the places of these
        modules, and names in them; None for anything."""
        ...

    def changes(self, place: str, name: str) -> frozenset[tuple[str, str]] | None:
        """The same of a call of a module's function."""
        ...

    def reaches(self, name: str) -> bool:
        """Whether a walk may be reached from a function, method or class of that name."""
        ...

    def leads(self, receiver: str, name: str) -> bool:
        """Whether a call of a name of another module leads to a walk, given the word before its dot."""
        ...

    def dotted(self, place: str) -> str: ...

    def said(self, path: str) -> bytes | None:
        """What is in a data file that a program opens under a path; None unless that is known, and stays so."""
        ...

    def where(self, name: str) -> str | None:
        """The absolute path of a module's own file, by its source's name; None if that isn't known."""
        ...

    def lowered(self, source: Source) -> Program:
        """A stub, which can be lowered."""
        ...

    def program(self, place: str) -> Program | str | None:
        """The module, lowered; else why it can't be read; None for a package without a text."""
        ...


@dataclass
class Loaded:
    """A module of which parts are run by and by."""

    place: str
    frame: int
    code: ir.Code
    parts: Parts
    done: set[int] = field(default_factory=set)  # the parts that were run, or are being run
    running: list[int] = field(default_factory=list)  # those that are, the one behind that asked for the one before
    settled: set[str] = field(default_factory=set)  # names of which all was run
    starred: bool = False  # whether all was run that may bind any name
    state: State | None = None  # the one in which its parts run, between them
    steps: int = 0
    spent: bool = False  # whether they took too many


@dataclass
class Waiting:
    """A decorator of what a module (by its frame) defines, that was not called yet."""

    frame: int
    decorator: Value
    target: Value
    span: Span
    done: bool = False


@dataclass
class Imports:
    """What one exploration knows of the modules around its program."""

    project: Project | None = None
    base: Base = field(default_factory=Base)
    frames: dict[str, int | None] = field(default_factory=dict)  # by place; None for one that can't be run
    loaded: dict[int, Loaded] = field(default_factory=dict)  # by frame
    owed: dict[tuple[str, str], list[tuple[int, int]]] = field(default_factory=dict)
    """By a module's place and a name in it: the parts of others (their frames and numbers) that may change it."""
    waiting: dict[tuple[str, str], list[Waiting]] = field(default_factory=dict)  # the decorators that may change it
    of: dict[Source, int] = field(default_factory=dict)  # a text -> the frame of its module
    stars: dict[int, dict[str, None]] = field(default_factory=dict)  # module's frame -> places it imports `*` from
    loading: list[int] = field(default_factory=list)  # the frames of the modules that are being run, outermost first
    allowance: int = 0  # steps that one of their functions may take that doesn't come to a walk
    share: int = 0  # steps that all such calls of an entry may take
    for_types: bool = False  # whether what runs is imported for its types alone: a lazy package tells so what it holds
    crossing: bool = False  # whether a function of another module is being run, within its allowance
    spent: int = 0  # steps of this entry within such functions
    spent_on_plain: int = 0  # those within functions that are no network's
    spent_on_graphs: int = 0  # others, within functions that were given a graph
    spent_before: int = 0  # those of the entries before it
    closed: bool = False  # whether such functions are left unseen, since the entry took too many steps
    wasted: int = 0  # the steps that it took
    told: set[ir.Code] = field(default_factory=set)  # functions of which a gap tells
    endless: set[ir.Code] = field(default_factory=set)  # those that were given up
    lacking: set[ir.Code] = field(default_factory=set)  # those in whose calls one was left unseen that may make a loss
    left: set[Span] = field(default_factory=set)  # such calls
    unseen: dict[Span, Span] = field(default_factory=dict)  # backward passes: the left call that their graph rests on
    whole: set[Span] = field(default_factory=set)  # backward passes of which a graph rests on none
    costs: dict[ir.Code, int] = field(default_factory=dict)  # the most steps that a call of theirs took
    late: dict[ir.Code, int] = field(default_factory=dict)  # by entry, steps of such calls behind those it may spend
    placed: dict[tuple[ir.Code, Span], ir.Code] = field(default_factory=dict)  # those of stubs where they are called
    written: set[str] = field(default_factory=set)  # the names of files that were opened to be written
    read: int = 0
    rows: int = 0

    def begin(self) -> None:
        """An entry begins, or is run once more."""
        self.spent = self.spent_on_plain = self.spent_on_graphs = 0

    def spend(self, steps: int, *, plain: bool, on_graph: bool) -> None:
        if on_graph:
            self.spent_on_graphs += steps
            return
        self.spent += steps
        self.spent_on_plain += steps if plain else 0

    def note(self, code: ir.Code, steps: int, late: ir.Code | None) -> None:
        """Note what a call took; `late` is the entry that had spent its steps before."""
        self.costs[code] = max(steps, self.costs.get(code, 0))
        if late is not None:
            self.late[late] = self.late.get(late, 0) + steps

    def is_cheap(self, code: ir.Code, entry: ir.Code) -> bool:
        """Whether a function is worth following though all steps are spent: no call of it took more than a few."""
        return (
            self.costs.get(code, limits.CHEAP_FUNCTION_STEPS + 1) <= limits.CHEAP_FUNCTION_STEPS
            and self.late.get(entry, 0) <= limits.CHEAP_STEPS_OF_ENTRY
        )
