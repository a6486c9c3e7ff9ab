"""`match` to tests, branches and stores: what Python's patterns mean, in the words of ir."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import libcst as cst

from retainlint import ir
from retainlint.lowering.builder import Builder, Statement
from retainlint.lowering.expressions import condition
from retainlint.text.source import Span

Test = Callable[[], "ir.Register | None"]
"""Emits a test and gives the register of its answer; None if it can't fail."""


def all_of(b: Builder, span: Span, tests: Sequence[Test]) -> ir.Register | None:
    """The `and` of some tests: each is emitted inside the branch where those before it hold."""
    outer = b.out
    before: list[tuple[list[ir.Instr], ir.Register]] = []
    for test in tests:
        answer = test()
        if answer is not None:
            before.append((b.out, answer))
            b.out = []
    trailing, b.out = b.out, outer
    if not before:
        return None
    dst = b.fresh()
    inner: ir.Block = (*trailing, ir.Move(span, dst, before[-1][1]))
    for out, answer in reversed(before):
        out.append(ir.If(span, answer, inner, (ir.Move(span, dst, answer),)))
        inner = tuple(out) if out is not outer else ()
    return dst


def compared(b: Builder, span: Span, op: str, left: ir.Register, right: ir.Register) -> ir.Register:
    return b.put(ir.Compare, span, op, left, right)


def builtin(b: Builder, span: Span, name: str) -> ir.Register:
    return b.put(ir.Load, span, name, ir.Scope.GLOBAL)


def called(b: Builder, span: Span, name: str, *args: ir.Register) -> ir.Register:
    func, dst = builtin(b, span, name), b.fresh()
    b.emit(ir.Call(span, dst, func, tuple(ir.Arg(arg) for arg in args)))
    return dst


def is_instance(b: Builder, span: Span, subject: ir.Register, cls: ir.Register) -> ir.Register:
    return called(b, span, "isinstance", subject, cls)


def imported(b: Builder, span: Span, module: str, name: str) -> ir.Register:
    return b.put(ir.Import, span, module, name)


_SELF_MATCHING = frozenset("bool bytearray bytes dict float frozenset int list set str tuple".split())
"""Classes whose one positional pattern is for the subject itself."""


@dataclass
class _Case:
    """A pattern under way: the names it captures, and the registers that hold them once it has matched."""

    b: Builder
    captures: dict[str, tuple[ir.Register, Span]] = field(default_factory=dict)

    def capture(self, node: cst.Name, src: ir.Register) -> None:
        """Note a captured value; every alternative of an or-pattern writes the same register."""
        span = self.b.span(node)
        if node.value not in self.captures:
            self.captures[node.value] = (self.b.fresh(), span)
        self.b.emit(ir.Move(span, self.captures[node.value][0], src))


def _match(b: Builder, node: cst.Match) -> None:
    subject, outer = b.value(node.subject), b.out
    arms: list[tuple[list[ir.Instr], Span, ir.Register, ir.Block]] = []
    orelse: ir.Block = ()
    for case in node.cases:
        span = b.span(case.pattern)
        matched = _matched(b, case, subject)
        if matched is None:
            b.run(case.body)
            orelse = tuple(b.out) if b.out is not outer else ()
            break
        test, stores = matched
        with b.block() as then:
            then.extend(stores)
            b.run(case.body)
        arms.append((b.out, span, test, tuple(then)))
        b.out = []
    else:
        orelse = tuple(b.out)
    b.out = outer
    for before, span, test, body in reversed(arms):
        before.append(ir.If(span, test, body, orelse))
        orelse = tuple(before) if before is not outer else ()


def _matched(b: Builder, node: cst.MatchCase, subject: ir.Register) -> tuple[ir.Register, ir.Block] | None:
    """The register that tells whether a case is taken, and the stores left to do; None if it always is."""
    case, before, start = _Case(b), b.out, len(b.out)
    test = _pattern(case, node.pattern, subject)
    # Not every path writes what is captured; without this the registers would seem to be read from earlier cases.
    before[start:start] = [ir.Const(span, dst, None) for dst, span in case.captures.values()]
    with b.block() as stores:
        for name, (src, span) in case.captures.items():
            b.store(span, name, src)
    if node.guard is None:
        if test is None:
            b.out.extend(stores)
            return None
        return test, tuple(stores)
    guard = node.guard

    def guarded() -> ir.Register:
        b.out.extend(stores)
        return condition(b, guard)

    both = all_of(b, b.span(guard), [lambda: test, guarded])
    return None if both is None else (both, ())


# -- patterns -----------------------------------------------------------------------------------------------------


def _pattern(case: _Case, node: cst.MatchPattern, subject: ir.Register) -> ir.Register | None:
    """Emit the test of a pattern; gives the register of its answer, None if it can't fail."""
    b, span = case.b, case.b.span(node)
    if isinstance(node, cst.MatchValue):
        return compared(b, span, "==", subject, b.value(node.value))
    if isinstance(node, cst.MatchSingleton):
        return compared(b, span, "is", subject, b.value(node.value))
    if isinstance(node, cst.MatchAs):
        return _captured(case, node, subject)
    if isinstance(node, cst.MatchOr):
        return _any(case, node, subject)
    if isinstance(node, (cst.MatchList, cst.MatchTuple)):
        return _sequence(case, node, subject)
    if isinstance(node, cst.MatchMapping):
        return _mapping(case, node, subject)
    if isinstance(node, cst.MatchClass):
        return _instance(case, node, subject)
    return b.unknown(span, f"a {type(node).__name__} pattern")


def _captured(case: _Case, node: cst.MatchAs, subject: ir.Register) -> ir.Register | None:
    test = None if node.pattern is None else _pattern(case, node.pattern, subject)
    if node.name is not None:
        case.capture(node.name, subject)
    return test


def _any(case: _Case, node: cst.MatchOr, subject: ir.Register) -> ir.Register | None:
    """Each alternative is tried in the branch where those before it failed."""
    b, outer = case.b, case.b.out
    failed: list[tuple[list[ir.Instr], ir.Register, Span]] = []
    dst = b.fresh()
    inner: ir.Block = ()
    for alternative in node.patterns:
        span = b.span(alternative.pattern)
        answer = _pattern(case, alternative.pattern, subject)
        if answer is None:
            if not failed:
                return None
            b.emit(ir.Move(span, dst, b.const(span, True)))
            break
        failed.append((b.out, answer, span))
        b.out = []
    else:
        out, answer, span = failed.pop()
        out.append(ir.Move(span, dst, answer))
        b.out = out
    inner = tuple(b.out) if b.out is not outer else ()
    b.out = outer
    for out, answer, span in reversed(failed):
        out.append(ir.If(span, answer, (ir.Move(span, dst, answer),), inner))
        inner = tuple(out) if out is not outer else ()
    return dst


def _sequence(case: _Case, node: cst.MatchList | cst.MatchTuple, subject: ir.Register) -> ir.Register | None:
    b, span = case.b, case.b.span(node)
    stars = [at for at, element in enumerate(node.patterns) if isinstance(element, cst.MatchStar)]

    def is_sequence() -> ir.Register:
        return is_instance(b, span, subject, imported(b, span, "collections.abc", "Sequence"))

    def is_no_text() -> ir.Register:
        texts = [ir.Item(builtin(b, span, name)) for name in ("str", "bytes", "bytearray")]
        kinds = b.put(ir.Build, span, ir.Kind.TUPLE, tuple(texts))
        return compared(b, span, "is", is_instance(b, span, subject, kinds), b.const(span, False))

    def is_long_enough() -> ir.Register:
        length = called(b, span, "len", subject)
        wanted = b.const(span, len(node.patterns) - len(stars))
        return compared(b, span, ">=" if stars else "==", length, wanted)

    def elements_match() -> ir.Register | None:
        dsts = tuple(b.fresh() for _ in node.patterns)
        b.emit(ir.Unpack(span, dsts, subject, stars[0] if stars else None))
        return all_of(b, span, [_element(case, element, dst) for element, dst in zip(node.patterns, dsts, strict=True)])

    return all_of(b, span, [is_sequence, is_no_text, is_long_enough, elements_match])


def _element(case: _Case, element: cst.MatchSequenceElement | cst.MatchStar, src: ir.Register) -> Test:
    def test() -> ir.Register | None:
        if isinstance(element, cst.MatchSequenceElement):
            return _pattern(case, element.value, src)
        if element.name is not None:
            case.capture(element.name, src)
        return None

    return test


def _mapping(case: _Case, node: cst.MatchMapping, subject: ir.Register) -> ir.Register | None:
    b, span = case.b, case.b.span(node)
    keys: list[ir.Register] = []

    def is_mapping() -> ir.Register:
        return is_instance(b, span, subject, imported(b, span, "collections.abc", "Mapping"))

    def entry(element: cst.MatchMappingElement) -> Test:
        def has_key() -> ir.Register:
            keys.append(b.value(element.key))
            return compared(b, b.span(element), "in", keys[-1], subject)

        def value_matches() -> ir.Register | None:
            value = b.put(ir.GetItem, b.span(element), subject, keys[-1])
            return _pattern(case, element.pattern, value)

        return lambda: all_of(b, b.span(element), [has_key, value_matches])

    def rest() -> None:
        if node.rest is not None:
            others = called(b, span, "dict", subject)
            for key in keys:
                b.emit(ir.DelItem(span, others, key))
            case.capture(node.rest, others)

    return all_of(b, span, [is_mapping, *(entry(element) for element in node.elements), rest])


def _instance(case: _Case, node: cst.MatchClass, subject: ir.Register) -> ir.Register | None:
    b, span = case.b, case.b.span(node)
    cls = b.value(node.cls)
    itself = (
        isinstance(node.cls, cst.Name)
        and node.cls.value in _SELF_MATCHING
        and b.names.resolve(node.cls.value)[1] is ir.Scope.GLOBAL
    )

    def positional(at: int, element: cst.MatchSequenceElement) -> Test:
        def attribute_name() -> ir.Register:
            names, name = b.fresh(), b.fresh()
            b.emit(ir.GetAttr(span, names, cls, "__match_args__"))
            b.emit(ir.GetItem(span, name, names, b.const(span, at)))
            return name

        if itself:
            return lambda: _pattern(case, element.value, subject)
        return lambda: _attribute(case, b.span(element), subject, attribute_name(), element.value)

    def keyword(element: cst.MatchKeywordElement) -> Test:
        place = b.span(element)
        return lambda: _attribute(case, place, subject, b.const(place, element.key.value), element.pattern)

    return all_of(
        b,
        span,
        [
            lambda: is_instance(b, span, subject, cls),
            *(positional(at, element) for at, element in enumerate(node.patterns)),
            *(keyword(element) for element in node.kwds),
        ],
    )


def _attribute(
    case: _Case, span: Span, subject: ir.Register, name: ir.Register, pattern: cst.MatchPattern
) -> ir.Register | None:
    """Whether the subject has an attribute, and that matches."""
    b = case.b
    return all_of(
        b,
        span,
        [
            lambda: called(b, span, "hasattr", subject, name),
            lambda: _pattern(case, pattern, called(b, span, "getattr", subject, name)),
        ],
    )


STATEMENTS: dict[type[cst.CSTNode], Statement] = {cst.Match: _match}
