"""What a program does, not how it is spelt: a small closed set of instructions, each with its span."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, fields
from enum import Enum
from functools import cached_property, partial
from types import EllipsisType
from typing import Any, TypeAlias

from retainlint.ir import facts
from retainlint.ir.facts import Facts
from retainlint.startup.records import record, replace
from retainlint.text.source import Span

Register: TypeAlias = int

Block: TypeAlias = "tuple[Instr, ...]"

Literal: TypeAlias = int | float | complex | str | bytes | bool | EllipsisType | None


class Scope(Enum):
    """Where a name lives, resolved by the lowering."""

    LOCAL = "local"
    ENCLOSING = "enclosing"  # a local of a function around this one (nonlocal, or free)
    GLOBAL = "global"  # the module's, else a builtin


_NOT_ASKED: Any = None
"""What no field holds: the machine notes an answer there that never changes, once it was asked for."""


@record
class Base:
    span: Span = field(compare=False)


# -- values -------------------------------------------------------------------------------------------------------


@record
class Const(Base):
    dst: Register
    value: Literal

    known = _NOT_ASKED  # the value that it makes


@record
class Move(Base):
    """`dst` becomes what `src` is: the arms of `and`, `or`, `x if c else y`."""

    dst: Register
    src: Register


@record
class Load(Base):
    dst: Register
    name: str
    scope: Scope


@record
class Store(Base):
    """`name = src`; the span is that of the target."""

    name: str
    scope: Scope
    src: Register


@record
class Delete(Base):
    name: str
    scope: Scope


@record
class GetAttr(Base):
    dst: Register
    obj: Register
    name: str


@record
class SetAttr(Base):
    obj: Register
    name: str
    src: Register


@record
class DelAttr(Base):
    obj: Register
    name: str


@record
class GetItem(Base):
    """`dst = obj[index]`; an index tuple is a built tuple, a slice a built slice."""

    dst: Register
    obj: Register
    index: Register


@record
class SetItem(Base):
    obj: Register
    index: Register
    src: Register


@record
class DelItem(Base):
    obj: Register
    index: Register


@record
class Unary(Base):
    """`op` as written: `-`, `+`, `~`, `not`."""

    dst: Register
    op: str
    operand: Register


@record
class Binary(Base):
    """`op` as written: `+`, `@`, `//`, ...; with `in_place`, the augmented assignment `left op= right`."""

    dst: Register
    op: str
    left: Register
    right: Register
    in_place: bool = False


@record
class Compare(Base):
    """`op` as written: `<`, `==`, `is`, `is not`, `in`, `not in`, ...; chains are lowered to branches. Of one that is `asked`
    only the truth counts, as in `if a < b`: no mask is made of it."""

    dst: Register
    op: str
    left: Register
    right: Register
    asked: bool = False


NAMELESS = ("<lambda>", "<genexpr>")
"""What Python calls the functions that expressions make."""


@record
class Arg:
    """One argument: `value`, `name=value`, `*value` (star 1) or `**value` (star 2)."""

    value: Register
    name: str | None = None
    star: int = 0
    span: Span | None = field(default=None, compare=False)


@record
class Call(Base):
    dst: Register
    func: Register
    args: tuple[Arg, ...]


class Kind(Enum):
    """What a `Build` builds."""

    TUPLE = "tuple"
    LIST = "list"
    SET = "set"
    DICT = "dict"  # items are key, value, key, value; a `**mapping` is a starred value whose key is absent
    SLICE = "slice"  # items are start, stop, step, absent ones None constants
    STRING = "string"  # an f-string: `texts` around its interpolated values
    TEMPLATE = "template"  # a t-string: the same


@record
class Item:
    """One element of a Build; `key` only in dicts, `conversion` (r, s or a) and `spec` (a text, or the register of one
    that is computed) only in strings."""

    value: Register
    key: Register | None = None
    starred: bool = False
    conversion: str = ""
    spec: str | Register = ""


@record
class Build(Base):
    """`texts`, in strings only, are the one before each item and the one behind the last."""

    dst: Register
    kind: Kind
    items: tuple[Item, ...]
    texts: tuple[str, ...] = ()


@record
class Append(Base):
    """A comprehension adds an element to the list, set or dict (then with a key) that it is building."""

    container: Register
    item: Item


@record
class Unpack(Base):
    """`a, *b, c = src`: one register a target; `star` is the index of the starred one."""

    dsts: tuple[Register, ...]
    src: Register
    star: int | None = None


@record
class Import(Base):
    """`import a.b` binds `a` (name None), `import a.b as c` binds a.b (name "", bound whole), `from ..a import b`.

    `level` counts the dots; `name` is the member asked for by a `from` import, "*" for all.
    """

    dst: Register
    module: str
    name: str | None = None
    level: int = 0


@record
class Param:
    """`kind` is one of "positional", "normal", "star", "keyword", "doublestar"."""

    name: str
    kind: str
    default: Register | None = None  # a register of the code that holds the def
    annotation: str | None = None  # its source text
    span: Span | None = field(default=None, compare=False)


@record(eq=False)
class Code:
    """The body of a module, class, function, lambda. Two are equal only if they are the same object."""

    name: str
    qualname: str  # "" for a module, "Class.method", "outer.<locals>.inner"
    span: Span = field(compare=False)  # of the `def` line's name, of the whole lambda, of the whole module
    body: Block
    params: tuple[Param, ...] = ()
    local_names: frozenset[str] = frozenset()
    captured: frozenset[str] = frozenset()  # its own names that an inner code reads or writes
    is_generator: bool = False
    is_async: bool = False
    registers: int = 0  # how many it uses
    annotated: tuple[str, ...] = ()  # the names that it annotates, in their order, but ClassVar: a dataclass's fields
    backward_passes: bool = True  # whether a walk may stand in it or in a code inside it (by its bytes)
    extent: tuple[int, int] = (0, 0)  # from its first character to its last

    dead_registers = _NOT_ASKED  # what its blocks read
    uses = _NOT_ASKED  # where its calls' results go, and who reads what
    origin = _NOT_ASKED  # the code that this one is, at another place: a stub's, where the program called it

    @property
    def is_stub(self) -> bool:
        return self.origin is not None

    @cached_property
    def facts(self) -> Facts:
        """What its text speaks of and does: its body isn't lowered for that."""
        source, (start, end) = self.span.source, self.extent
        if not self.qualname:
            return facts.of_source(source)
        return (
            facts.of_text(source.text[start:end]) if self.name in NAMELESS else facts.of_definition(source, start, end)
        )

    @cached_property
    def _called(self) -> frozenset[Register]:
        return frozenset(each.func for each in walk(self.body) if isinstance(each, Call))

    def may_call(self, register: Register) -> bool:
        """Whether its body calls a register's value; of a module that is run by parts, which has no body, any may be."""
        return not self.body or register in self._called

    @cached_property
    def tests(self) -> dict[Span, list[If]]:
        """The branches of its body, by what they ask: where a handler or a `finally` is lowered twice, there are several."""
        found: dict[Span, list[If]] = {}
        for each in walk(self.body):
            if isinstance(each, If):
                found.setdefault(each.span, []).append(each)
        return found


@record
class Head:
    """What is known of a function whose body waits: `extent` is from its first character to its last, `body` from its
    first statement to its last; `private` is the class that names like `__x` in it belong to, "" for none."""

    name: str
    qualname: str
    span: Span
    extent: tuple[int, int]
    body: tuple[int, int]
    params: tuple[Param, ...]
    is_async: bool
    private: str


class Deferred(Code):
    """A code that is lowered when its body is first asked for; what stands in its head is known before."""

    head: Head

    def __init__(self, head: Head, backward_passes: bool, make: Callable[[Head], Code]) -> None:
        known = {"name": head.name, "qualname": head.qualname, "span": head.span, "params": head.params}
        self.__dict__.update(
            known, is_async=head.is_async, backward_passes=backward_passes, head=head, _make=make, extent=head.extent
        )

    @cached_property
    def _made(self) -> Code:
        make: Callable[[Head], Code] = self.__dict__.pop("_make")
        return make(self.head)

    def through(self, around: Callable[[Callable[[Head], Code], Head], Code]) -> None:
        """Let `around` make the body, which is given what would have made it."""
        self.__dict__["_make"] = partial(around, self.__dict__["_make"])

    body = cached_property[Block](lambda self: self._made.body)
    local_names = cached_property[frozenset[str]](lambda self: self._made.local_names)
    captured = cached_property[frozenset[str]](lambda self: self._made.captured)
    is_generator = cached_property[bool](lambda self: self._made.is_generator)
    registers = cached_property[int](lambda self: self._made.registers)
    annotated = cached_property[tuple[str, ...]](lambda self: self._made.annotated)


@record
class MakeFunction(Base):
    dst: Register
    code: Code


@record
class Decorate(Base):
    """`dst = decorator(target)`, written as `@decorator`."""

    dst: Register
    decorator: Register
    target: Register


@record
class MakeClass(Base):
    dst: Register
    code: Code
    bases: tuple[Arg, ...]


@record
class MakeType(Base):
    """A type parameter, or what a `type` statement names: inert; what it stands for is computed when asked for."""

    dst: Register
    name: str


@record
class Yield(Base):
    """`dst = yield src`; `dst = yield from src` with `delegates`: without the `dst`, that is a loop."""

    dst: Register
    src: Register
    delegates: bool = False


@record
class Await(Base):
    dst: Register
    src: Register


@record
class Opaque(Base):
    """What the lowering can't express; `dst`, if it has one, becomes unknown."""

    reason: str
    dst: Register | None = None


# -- control flow -------------------------------------------------------------------------------------------------
# `live` names the registers and locals that may be read after the instruction; the rest may be forgotten there.


@record
class Live:
    registers: frozenset[Register] = frozenset()
    names: frozenset[str] = frozenset()

    dead = _NOT_ASKED  # a code that holds it, and the names of that which are dead here


@record
class If(Base):
    """The span is that of the condition."""

    cond: Register
    then: Block
    orelse: Block
    live: Live = field(default=Live(), compare=False)


@record
class For(Base):
    """`body` starts with the instructions that bind the target from `item`. The span is that of `for ... in ...`."""

    iterable: Register
    item: Register
    body: Block
    orelse: Block
    comprehension: bool = False
    live: Live = field(default=Live(), compare=False)  # after the loop
    live_iteration: Live = field(default=Live(), compare=False)  # at the start of each turn, before `item` is written
    carried: Live = field(default=Live(), compare=False)  # what its iterations read of what stood before them


@record
class While(Base):
    """`test` computes `cond` before each turn."""

    test: Block
    cond: Register
    body: Block
    orelse: Block
    live: Live = field(default=Live(), compare=False)
    live_iteration: Live = field(default=Live(), compare=False)  # at the start of each turn, before `test`
    carried: Live = field(default=Live(), compare=False)  # what its iterations, and `test`, read of what stood before


@record
class With(Base):
    """One `with` item: `dst` is what `__enter__` gave; several items nest. The span is that of the item."""

    context: Register
    dst: Register
    body: Block
    live: Live = field(default=Live(), compare=False)


@record
class Handler:
    """`test` computes `type`; `body` starts with the Store of the name, read from `dst`."""

    span: Span = field(compare=False)
    test: Block
    type: Register | None
    dst: Register
    body: Block


@record
class Try(Base):
    """With `is_group`, the handlers are `except*`: each in turn takes its part of an exception group, and is given a
    group; what none took is raised again behind the last, with what they raised."""

    body: Block
    handlers: tuple[Handler, ...]
    orelse: Block
    final: Block
    is_group: bool = False
    live: Live = field(default=Live(), compare=False)


@record
class Break(Base):
    pass


@record
class Continue(Base):
    pass


@record
class Return(Base):
    src: Register


@record
class Raise(Base):
    """`raise src`; a bare `raise` has none."""

    src: Register | None


Instr: TypeAlias = (
    Const | Move | Load | Store | Delete | GetAttr | SetAttr | DelAttr | GetItem | SetItem | DelItem | Unary | Binary
    | Compare | Call | Build | Append | Unpack | Import | MakeFunction | Decorate | MakeClass | MakeType | Yield | Await
    | Opaque | If | For | While | With | Try | Break | Continue | Return | Raise
)  # fmt: skip


def moved(code: Code, span: Span) -> Code:
    """A code of which all that it does stands at another place."""
    known = {each.name: getattr(code, each.name) for each in fields(Code)}
    return Code(**{**known, "body": _moved(code.body, span)})


def _moved(part: Any, span: Span) -> Any:
    if isinstance(part, tuple):
        return tuple(_moved(each, span) for each in part)
    if isinstance(part, Live):
        return replace(part)  # for each code notes of its own
    if not isinstance(part, Base | Handler | Arg):
        return part
    inner = {each.name: _moved(getattr(part, each.name), span) for each in fields(part)}
    return replace(part, **{**inner, "span": span})


def _items(instr: Build) -> Iterable[Register]:
    for item in instr.items:
        yield item.value
        if item.key is not None:
            yield item.key
        if isinstance(item.spec, int):
            yield item.spec


def _append(instr: Append) -> Iterable[Register]:
    return (instr.container, instr.item.value, *(() if instr.item.key is None else (instr.item.key,)))


def _call(instr: Call) -> Iterable[Register]:
    return (instr.func, *(arg.value for arg in instr.args))


def _class(instr: MakeClass) -> Iterable[Register]:
    return (arg.value for arg in instr.bases)


def _defaults(instr: MakeFunction) -> Iterable[Register]:
    return (param.default for param in instr.code.params if param.default is not None)


def _nothing(instr: Instr) -> Iterable[Register]:
    return ()


READS: dict[type, Callable[[Any], Iterable[Register]]] = {
    Const: _nothing,
    Move: lambda instr: (instr.src,),
    Load: _nothing,
    Store: lambda instr: (instr.src,),
    Delete: _nothing,
    GetAttr: lambda instr: (instr.obj,),
    SetAttr: lambda instr: (instr.obj, instr.src),
    DelAttr: lambda instr: (instr.obj,),
    GetItem: lambda instr: (instr.obj, instr.index),
    SetItem: lambda instr: (instr.obj, instr.index, instr.src),
    DelItem: lambda instr: (instr.obj, instr.index),
    Unary: lambda instr: (instr.operand,),
    Binary: lambda instr: (instr.left, instr.right),
    Compare: lambda instr: (instr.left, instr.right),
    Call: _call,
    Build: _items,
    Append: _append,
    Unpack: lambda instr: (instr.src,),
    Import: _nothing,
    MakeFunction: _defaults,
    Decorate: lambda instr: (instr.decorator, instr.target),
    MakeClass: _class,
    MakeType: _nothing,
    Yield: lambda instr: (instr.src,),
    Await: lambda instr: (instr.src,),
    Opaque: _nothing,
    If: lambda instr: (instr.cond,),
    For: lambda instr: (instr.iterable,),
    While: lambda instr: (instr.cond,),
    With: lambda instr: (instr.context,),
    Try: lambda instr: (each.type for each in instr.handlers if each.type is not None),
    Break: _nothing,
    Continue: _nothing,
    Return: lambda instr: (instr.src,),
    Raise: lambda instr: () if instr.src is None else (instr.src,),
}
"""The registers that an instruction reads itself; what stands in its blocks reads for itself."""


_BLOCKS: dict[type, Callable[[Any], tuple[Block, ...]]] = {
    If: lambda instr: (instr.then, instr.orelse),
    For: lambda instr: (instr.body, instr.orelse),
    While: lambda instr: (instr.test, instr.body, instr.orelse),
    With: lambda instr: (instr.body,),
    Try: lambda instr: (
        instr.body, *(block for each in instr.handlers for block in (each.test, each.body)), instr.orelse, instr.final,
    ),
}  # fmt: skip


def blocks(instr: Instr) -> tuple[Block, ...]:
    """The blocks that an instruction holds, in their order; most hold none."""
    found = _BLOCKS.get(type(instr))
    return () if found is None else found(instr)


def walk(block: Block, *, classes: bool = False) -> Iterator[Instr]:
    """The instructions of a block and of all blocks inside it, in their order; those of functions are left out, and those
    of classes, unless these are asked for."""
    pending = [*reversed(block)]
    while pending:
        instr = pending.pop()
        yield instr
        if (found := _BLOCKS.get(type(instr))) is not None:
            for inner in reversed(found(instr)):
                pending += reversed(inner)
        elif classes and isinstance(instr, MakeClass):
            pending += reversed(instr.code.body)


def calls(block: Block) -> Iterator[tuple[Call, str]]:
    """The calls in a block, and in all blocks inside it, of what has a name, or is an attribute of such a name."""
    names: dict[Register, str] = {}
    for instr in walk(block):
        if isinstance(instr, Load | GetAttr):
            names[instr.dst] = instr.name
        elif isinstance(instr, Call) and instr.func in names:
            yield instr, names[instr.func]


def names(block: Block) -> Iterator[str]:
    """The names and attributes that a block reads, with those that its functions and classes speak of."""
    for instr in walk(block):
        if isinstance(instr, Load | GetAttr):
            yield instr.name
        elif isinstance(instr, MakeFunction | MakeClass):
            yield from instr.code.facts.names
