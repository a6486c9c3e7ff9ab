"""What a small program does, before anybody decides how it is written: fields, networks, methods, and their actions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

SIZES = {"A": "4, 3", "M": "3, 3", "V": "3", "S": "()"}


@dataclass(frozen=True)
class Field:
    """A tensor that methods hand to each other. `home` says where it lives: "self", "state" (a dict), "record" (an object of
    plain attributes), "other" (an object with methods), "local" (returned and passed on), "property" (made when it is read)."""

    name: str
    shape: str
    home: str = "self"


@dataclass(frozen=True)
class Box:
    """Where scalars are gathered: a "list", "deque", "dict", "named" (tuples), or "memory" (an object of its own)."""

    name: str
    kind: str


@dataclass(frozen=True)
class Network:
    """A module of the program's own; `kind`: "plain", "recurrent", "buffered", "cached", "penalised"."""

    name: str
    kind: str
    layer: str

    @property
    def state(self) -> str:
        return f"{self.name}.{STATES[self.kind]}" if self.kind != "plain" else ""


STATES = {"recurrent": "hidden", "buffered": "trace", "cached": "scale", "penalised": "penalty"}


@dataclass(frozen=True)
class Make:
    """A new tensor; `text` names what it reads between two §."""

    field: str
    text: str
    reads: tuple[str, ...]
    weights: tuple[str, ...]
    saves: bool
    lazily: bool = False


@dataclass(frozen=True)
class Cut:
    """A field without its graph from here on; `form` is written with the field's place for `{}`."""

    field: str
    form: str


@dataclass(frozen=True)
class Gather:
    box: str
    field: str
    cut: bool = False


@dataclass(frozen=True)
class Clear:
    box: str
    form: str


@dataclass(frozen=True)
class Walk:
    """A backward pass from fields, from a box ("sum", "each", "roots"), or from each that a method has "yielded"."""

    roots: tuple[str, ...]
    how: str
    keep: str = ""


@dataclass(frozen=True)
class Step:
    optimizer: str
    clears: bool = True


@dataclass(frozen=True)
class Nudge:
    """Weights moved by hand."""

    weight: str
    form: str
    bumps: bool


@dataclass(frozen=True)
class Say:
    field: str


@dataclass(frozen=True)
class Test:
    """A flag, or a counter of the object: `name % every == 0`."""

    name: str
    negated: bool = False
    every: int = 0


@dataclass(frozen=True)
class Branch:
    test: Test
    body: tuple[Action, ...]
    other: tuple[Action, ...] = ()
    early: bool = False
    """Written as `if ...: body; return`, with `other` behind it."""


@dataclass(frozen=True)
class Loop:
    header: str
    times: int
    body: tuple[Action, ...]


@dataclass(frozen=True)
class Try:
    """`body`, then an exception if the flag is set, and its handler; without a flag one that stands around a failure."""

    body: tuple[Action, ...]
    flag: str
    error: str
    handler: tuple[Action, ...] = ()
    ending: str = ""
    """"raise" where the handler raises again what it caught; "" where it goes on."""


@dataclass(frozen=True)
class Call:
    method: str
    body: tuple[Action, ...] = ()
    """What stands inside of `with self.method():`."""


Action: TypeAlias = "Make | Cut | Gather | Clear | Walk | Step | Nudge | Say | Branch | Loop | Try | Call"


@dataclass
class Method:
    """`home`: "self", "base" (the base class has it), "split" (the base begins, the heir goes on), "callback", "function",
    "context" (a context manager: `actions` before, `after` behind), or "yields" (a generator of what it makes)."""

    name: str
    actions: tuple[Action, ...]
    home: str = "self"
    gives: tuple[str, ...] = ()
    packed: str = "tuple"
    takes: tuple[str, ...] = ()
    after: tuple[Action, ...] = ()
    at: int = 0
    counts: bool = False
    decorator: str = ""
    orchestrates: bool = False


@dataclass
class Plan:
    """A whole program, unwritten."""

    fields: dict[str, Field] = field(default_factory=dict)
    boxes: dict[str, Box] = field(default_factory=dict)
    networks: dict[str, Network] = field(default_factory=dict)
    weights: dict[str, str] = field(default_factory=dict)
    optimizers: dict[str, tuple[str, ...]] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    known: dict[str, bool] = field(default_factory=dict)
    """What the program itself says of its flags, if it does."""
    entry: str = "script"
    """How it is run: "script", "guarded", "spawn", "process", "partial", "environment", "argparse", "flags" (an uncalled
    `main(flags)`), "function" (an uncalled `train(cfg, batches)`), "library" (a class whose `fit` somebody calls once),
    "steps" (a class whose step somebody calls for each batch)."""
    begun: dict[str, Make | None] = field(default_factory=dict)
    """What `__init__` makes of a field; zeros where nothing stands; None for `None`."""
    properties: dict[str, Make] = field(default_factory=dict)
    methods: dict[str, Method] = field(default_factory=dict)
    top: tuple[str, ...] = ()
    """What the run calls, for each batch unless one of them takes them all."""
    last: tuple[str, ...] = ()
    """What it calls at the end, once."""
    turns: int = 5
    fresh: bool = False
    """Whether there is one object for each step, around networks that stay."""
