"""What handlers make of an exception, read off their instructions: whether the program goes on behind it, or is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from retainlint import ir
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.exception_types import CLASS, lineage, takes
from retainlint.symbolic.state.state import EXPECTED, Refusals
from retainlint.text.source import Source

Functions: TypeAlias = Callable[[str], "ir.Code | None"]
"""The function of the program that a name stands for where a handler is, if it is one."""

Named: TypeAlias = "Mapping[int, Sequence[str]]"
"""By a handler's id, the names of the classes that it catches, where a variable told them."""

MESSAGES = {error: str(error()) for error in EXPECTED}
"""What autograd may say in a RuntimeError."""

SIGNALS = frozenset(("SkipTest", "Skipped", "TrialPruned", "StopIteration", "StopAsyncIteration"))
"""Exceptions that are raised to be caught by whoever called, and tell of no failure."""

_NEXT, _LEFT, _GIVEN_UP = "next", "left", "given up"
_ERROR = object()
EXITS = frozenset((("sys", "exit"), ("os", "_exit"), ("", "exit"), ("", "quit"), ("os", "abort")))


def expected(tries: Sequence[ir.Try], functions: Functions, named: Named) -> Refusals:
    """Behind which of autograd's errors the program goes on within these `try` bodies, the innermost last."""
    return frozenset(
        error for error, message in MESSAGES.items() if goes_on(tries, "RuntimeError", message, functions, named)
    )


def goes_on(
    tries: Sequence[ir.Try],
    raised: str,
    message: str | None = None,
    functions: Functions = lambda name: None,
    named: Named = MappingProxyType({}),
) -> bool:
    """Whether one of the handlers may take an exception, by the name of its class, and the program goes on behind it; or a
    `finally` does, which leaves the `try` itself."""
    for depth in reversed(range(len(tries))):
        if _Run(raised, message, tries[:depth], functions).block(tries[depth].final) == {_LEFT}:
            return True
        for handler in tries[depth].handlers:
            taken = takes(raised, named.get(id(handler)) or _named(handler))
            if taken is False:
                continue
            if _Run(raised, message, tries[:depth], functions).handler(handler):
                return True
            if taken:
                return False
    return False


def only_tells(instr: ir.Try) -> bool:
    """Whether what a `try` calls is all that a program does, and its handler takes whatever goes wrong there, and tells of it. Where
    the backward pass stands in it for itself, it may be there to show that it fails."""
    every = [each for each in instr.handlers if {*ir.names(each.test)} <= {"Exception", "BaseException"}]
    called = {name for _, name in ir.calls(instr.body)}
    is_shown = not called.isdisjoint(("backward", "grad"))
    tells = all(any(isinstance(each, ir.Call) for each in handler.body) for handler in every)
    return bool(every) and bool(called) and tells and not is_shown and not instr.orelse


def ends_with(block: ir.Block, is_it: Callable[[ir.Instr], bool]) -> bool:
    """Whether an instruction is the last that does something, or the last in what is; to end the program there is to do nothing."""
    for instr in reversed(block):
        if is_it(instr):
            return True
        if inner := ir.blocks(instr):
            return not isinstance(instr, ir.For | ir.While) and any(ends_with(each, is_it) for each in inner)
        if not (isinstance(instr, ir.Load | ir.GetAttr | ir.Const | ir.Return) or _ends_program(block, instr)):
            return False
    return False


def _ends_program(block: ir.Block, instr: ir.Instr) -> bool:
    """Whether it is a call of `sys.exit` or its like, or `raise SystemExit`."""
    if isinstance(instr, ir.Raise):
        return instr.src is not None and _class_of(block, instr.src) == "SystemExit"
    return isinstance(instr, ir.Call) and _class_of(block, instr.func) in {name for _, name in EXITS} | {"SystemExit"}


def raised_by(block: ir.Block) -> str:
    """The name of the class that a block raises at its end; "" if nobody knows."""
    last = block[-1] if block else None
    return _class_of(block, last.src) if isinstance(last, ir.Raise) and last.src is not None else ""


def _class_of(block: ir.Block, register: int) -> str:
    by_register = {instr.dst: instr for instr in block if isinstance(instr, ir.Load | ir.GetAttr | ir.Call)}
    found = by_register.get(register)
    if isinstance(found, ir.Call):
        found = by_register.get(found.func)
    return found.name if isinstance(found, ir.Load | ir.GetAttr) else ""


def is_python_own(handler: ir.Handler) -> bool:
    """Whether a handler's test is the name of one of Python's own exceptions."""
    names = _named(handler) or ()
    return len(names) == 1 and bool(lineage(names[0]))


def _named(handler: ir.Handler) -> Sequence[str] | None:
    """What stands in a handler's test, which was not run yet; None where it takes all."""
    if handler.type is None:
        return None
    return [instr.name for instr in handler.test if isinstance(instr, ir.Load | ir.GetAttr)]


_UNDECIDED = (ir.For, ir.While, ir.Try)


class _Spent(Exception):
    """What a handler asks takes too much to tell."""


class _Asking:
    """What a handler's question to a function of a module, its `home`, has taken so far."""

    def __init__(self, home: Source) -> None:
        self.home, self.left = home, limits.HANDLER_STEPS

    def step(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise _Spent


class _Run:
    """A handler is run on the text of what was raised, as far as that decides where it goes."""

    def __init__(
        self,
        raised: str,
        message: str | None,
        outer: Sequence[ir.Try],
        functions: Functions,
        asking: _Asking | None = None,
    ) -> None:
        self.raised, self.message, self.outer, self.functions = raised, message, outer, functions
        self.asking = asking  # of a function that is asked
        self.registers: dict[int, object] = {}
        self.names: dict[str, object] = {}
        self.returned: list[object] = []

    def handler(self, handler: ir.Handler) -> bool:
        self.registers[handler.dst] = _ERROR
        return self.block(handler.body) != {_GIVEN_UP}

    def result(self, code: ir.Code, args: list[object]) -> object:
        """What a function returns that is given these; None where that isn't decided, or takes a loop to tell."""
        if code.is_generator or code.is_async or any(isinstance(each, _UNDECIDED) for each in ir.walk(code.body)):
            return None
        given = [each.name for each in code.params]
        self.names = {**dict.fromkeys(given), **dict(zip(given, args))}
        ways = self.block(code.body)
        return self.returned[0] if ways == {_LEFT} and len(set(map(repr, self.returned))) == 1 else None

    def block(self, block: ir.Block) -> set[str]:
        """How it may end: it comes to what stands next, it leaves for what stands elsewhere, or it gives up."""
        seen: set[str] = set()
        for instr in block:
            if self.asking is not None:
                self.asking.step()
            ways = self.instr(instr, block)
            seen |= ways - {_NEXT}
            if _NEXT not in ways:
                return seen
        return seen | {_NEXT}

    def instr(self, instr: ir.Instr, block: ir.Block) -> set[str]:
        match instr:
            case ir.Raise(src=src):
                return {_LEFT if self.is_caught(block, src) else _GIVEN_UP}
            case ir.Return(src=src):
                self.returned.append(self.registers.get(src))
                return {_LEFT}
            case ir.Break() | ir.Continue():
                return {_LEFT}
            case ir.If(cond=cond, then=then, orelse=orelse):
                known = self.registers.get(cond)
                if isinstance(known, bool):
                    return self.block(then if known else orelse)
                return self.either(cond, then, orelse)
            case ir.With(body=body):
                return self.block(body)
            case ir.Try(body=body, handlers=handlers, final=final):
                ways = self.block(body)
                if handlers:
                    ways = {_LEFT if way is _GIVEN_UP else way for way in ways} | {_NEXT}
                return ways if _NEXT not in ways else ways - {_NEXT} | self.block(final)
            case ir.Call(func=func, args=args) if self.registers.get(func) in EXITS:
                fails = self.registers[func] == ("os", "abort") or self.is_failure(args)
                return {_GIVEN_UP if fails and not goes_on(self.outer, "SystemExit") else _LEFT}
            case ir.For() | ir.While():
                return {_NEXT}
        self.compute(instr)
        return {_NEXT}

    def either(self, cond: int, then: ir.Block, orelse: ir.Block) -> set[str]:
        """What nobody knows takes the one or the other way; behind them is known what is so on both."""
        before = dict(self.registers), dict(self.names)
        self.registers[cond] = True
        ways = self.block(then)
        other = self.registers, self.names
        self.registers, self.names = {**before[0], cond: False}, before[1]
        ways |= self.block(orelse)
        for mine, theirs in ((self.registers, other[0]), (self.names, other[1])):
            for each in {*mine, *theirs}:
                if mine.get(each) != theirs.get(each):
                    mine[each] = None
        return ways

    def is_caught(self, block: ir.Block, src: int | None) -> bool:
        """Whether others wait for what a handler raises."""
        if src is None or self.registers.get(src) is _ERROR:
            return goes_on(self.outer, self.raised, self.message)
        name = _class_of(block, src)
        if name == "SystemExit":
            made = next((instr for instr in block if isinstance(instr, ir.Call) and instr.dst == src), None)
            if made is None or not self.is_failure(made.args):
                return True
        return name in SIGNALS or goes_on(self.outer, name)

    def is_failure(self, args: Sequence[ir.Arg]) -> bool:
        """Whether a program that exits so surely tells its caller that it failed."""
        code = self.registers.get(args[0].value) if args else None
        return code is _ERROR or (isinstance(code, int | str) and bool(code))

    def compute(self, instr: ir.Instr) -> None:
        registers = self.registers
        match instr:
            case ir.Const(dst=dst, value=value):
                registers[dst] = value
            case ir.Move(dst=dst, src=src):
                registers[dst] = registers.get(src)
            case ir.Store(name=name, src=src):
                self.names[name] = registers.get(src)
            case ir.Load(dst=dst, name=name):
                registers[dst] = self.names.get(name, ("", name))
            case ir.GetAttr(dst=dst, obj=obj, name=name):
                registers[dst] = self.attribute(registers.get(obj), name)
            case ir.GetItem(dst=dst, obj=obj, index=index):
                is_message = registers.get(obj) == (_ERROR, "args") and registers.get(index) == 0
                registers[dst] = self.message if is_message else None
            case ir.Unary(dst=dst, op="not", operand=operand):
                known = registers.get(operand)
                registers[dst] = not known if isinstance(known, bool) else None
            case ir.Unary(dst=dst, op="-", operand=operand):
                registers[dst] = registers.get(operand)
            case ir.Build(dst=dst, kind=ir.Kind.STRING, texts=texts):
                registers[dst] = "".join(texts) or None
            case ir.Binary(dst=dst, op="%" | "+", left=left) if isinstance(registers.get(left), str):
                registers[dst] = registers[left]  # "... %s" % error: a text as well
            case ir.Compare(dst=dst, op=op, left=left, right=right):
                registers[dst] = _compare(op, registers.get(left), registers.get(right))
            case ir.Call(dst=dst, func=func, args=args):
                plain = not any(arg.name or arg.star for arg in args)
                registers[dst] = (
                    self.call(registers.get(func), [registers.get(arg.value) for arg in args]) if plain else None
                )

    def asked(self, code: ir.Code, args: list[object]) -> object:
        """What a function of the program says, which asks only those of the handler's own module itself."""
        home = self.asking.home if self.asking is not None else code.span.source
        if code.span.source is not home:
            return None
        run = _Run(self.raised, self.message, (), self.functions, self.asking or _Asking(home))
        try:
            return run.result(code, args)
        except _Spent:
            if self.asking is not None:
                raise
            return None

    def attribute(self, obj: object, name: str) -> object:
        if isinstance(obj, tuple) and isinstance(obj[0], str):
            return f"{obj[0]}.{obj[1]}".lstrip("."), name
        return (obj, name) if obj is _ERROR or isinstance(obj, str) else None

    def call(self, func: object, args: list[object]) -> object:
        match func, args:
            case ("", "str" | "repr"), [error] if error is _ERROR:
                return self.message
            case ("", "isinstance"), [error, (_, str(name))] if error is _ERROR and lineage(self.raised):
                return name in lineage(self.raised) or (False if CLASS.fullmatch(name) else None)
            case ("", str(name)), _ if (code := self.functions(name)) is not None:
                return self.asked(code, args)
            case (str(text), "format"), _ if text:
                return text
            case (str(text), "lower" | "upper" | "strip" | "casefold" as name), [] if text:
                return getattr(text, name)()
            case (str(text), "startswith" | "endswith" as name), [str(part)] if text:
                return getattr(text, name)(part)
        return None


def _compare(op: str, left: object, right: object) -> bool | None:
    if not (isinstance(left, str) and isinstance(right, str)):
        return None
    return {"in": left in right, "not in": left not in right, "==": left == right, "!=": left != right}.get(op)
