"""What the tests of `match` are made of: comparisons, calls of builtins, and their `and`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from retainlint.ir import Arg, Block, Call, Compare, If, Import, Instr, Load, Move, Register, Scope
from retainlint.lowering.builder import Builder
from retainlint.source import Span

Test = Callable[[], "Register | None"]
"""Emits a test and gives the register of its answer; None if it can't fail."""


def all_of(b: Builder, span: Span, tests: Sequence[Test]) -> Register | None:
    """The `and` of some tests: each is emitted inside the branch where those before it hold."""
    outer = b.out
    before: list[tuple[list[Instr], Register]] = []
    for test in tests:
        answer = test()
        if answer is not None:
            before.append((b.out, answer))
            b.out = []
    trailing, b.out = b.out, outer
    if not before:
        return None
    dst = b.fresh()
    inner: Block = (*trailing, Move(span, dst, before[-1][1]))
    for out, answer in reversed(before):
        out.append(If(span, answer, inner, (Move(span, dst, answer),)))
        inner = tuple(out) if out is not outer else ()
    return dst


def compared(b: Builder, span: Span, op: str, left: Register, right: Register) -> Register:
    dst = b.fresh()
    b.emit(Compare(span, dst, op, left, right))
    return dst


def builtin(b: Builder, span: Span, name: str) -> Register:
    dst = b.fresh()
    b.emit(Load(span, dst, name, Scope.GLOBAL))
    return dst


def called(b: Builder, span: Span, name: str, *args: Register) -> Register:
    func, dst = builtin(b, span, name), b.fresh()
    b.emit(Call(span, dst, func, tuple(Arg(arg) for arg in args)))
    return dst


def is_instance(b: Builder, span: Span, subject: Register, cls: Register) -> Register:
    return called(b, span, "isinstance", subject, cls)


def imported(b: Builder, span: Span, module: str, name: str) -> Register:
    dst = b.fresh()
    b.emit(Import(span, dst, module, name))
    return dst
