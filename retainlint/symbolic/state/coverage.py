"""Which arms of branches and which backward passes of the program no path came to: what stands there may still happen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from functools import cached_property

from retainlint import ir, program
from retainlint.incident import Gap
from retainlint.ir import facts
from retainlint.startup.lazy_patterns import pattern
from retainlint.symbolic.state import known_libraries
from retainlint.symbolic.state.reachability import each_once
from retainlint.text.name_guesses import UNCHANGING
from retainlint.text.source import Span

BACKWARD_NAMES = frozenset({"backward", "manual_backward", "autograd"})
"""Names in whose neighbourhood something is walked."""


_LEAVING = (ir.Return, ir.Raise, ir.Break, ir.Continue)


class Arms:
    """Which arms of which branches were taken, and the bodies of which loops."""

    def __init__(self) -> None:
        self.taken: dict[int, tuple[ir.If | ir.For | ir.While, int]] = {}
        """By the identity of the instruction; 1 for then, 2 for orelse."""

    def take(self, instr: ir.If | ir.For | ir.While, arm: bool) -> None:
        way = 1 if arm else 2
        known = self.taken.get(id(instr), (instr, 0))[1]
        if not known & way:
            self.taken[id(instr)] = instr, known | way

    def never(self, block: ir.Block) -> Iterator[ir.Block]:
        """What stands in a block, or in the blocks inside it, that the same answer to a branch kept every path from which came
        to it."""
        for at, instr in enumerate(block, 1):
            way = self.taken[id(instr)][1] if id(instr) in self.taken else 0
            if isinstance(instr, ir.For | ir.While) and way == 2:
                yield instr.body
            if isinstance(instr, ir.If) and way in (1, 2):
                taken, other = (instr.then, instr.orelse) if way == 1 else (instr.orelse, instr.then)
                yield other
                if taken and isinstance(taken[-1], _LEAVING):
                    yield block[at:]
            for inner in ir.blocks(instr):
                yield from self.never(inner)

    def untaken(self) -> frozenset[str]:
        """The names that the untaken arms of the branches that were reached mention."""
        taken = ((instr, arms) for instr, arms in self.taken.values() if isinstance(instr, ir.If) and arms != 3)
        blocks = (instr.orelse if arms == 1 else instr.then for instr, arms in taken)
        return frozenset(name for block in blocks for name in ir.names(block))


def names_leading_to_backward(program: program.Program) -> frozenset[str]:
    """The names of walks, and of the program's functions that walk or call one of these."""
    found = BACKWARD_NAMES
    while more := {code.name for code in _functions(program.module.body, found) if code.name not in found}:
        found |= more
    return found


def count(program: program.Program) -> int:
    """How many walks are written in a program, at most."""
    codes = (program.module, *_functions(program.module.body, BACKWARD_NAMES, classes=True))
    read = (each for code in codes for each in ir.walk(code.body) if isinstance(each, ir.Load | ir.GetAttr))
    return sum(each.name in BACKWARD_NAMES for each in read)


def _functions(block: ir.Block, names: frozenset[str], *, classes: bool = False) -> Iterator[ir.Code]:
    """Those that speak of some names; the same of classes, if these are asked for."""
    for instr in ir.walk(block):
        if isinstance(instr, ir.MakeFunction | ir.MakeClass) and not names.isdisjoint(instr.code.facts.names):
            if classes or isinstance(instr, ir.MakeFunction):
                yield instr.code
            yield from _functions(instr.code.body, names, classes=classes)


def has_backward(code: ir.Code, backpropagated: set[Span]) -> bool:
    """Whether a walk stands in a function's own body that isn't among those that were executed; one of another library
    than torch is no walk."""
    return any(
        span not in backpropagated for span in _backward_passes(code.body)
    ) and not known_libraries.speaks_another(code.span.source)


def unreached(program: program.Program, code: ir.Code, backpropagated: Set[Span]) -> Iterator[Span]:
    """The walks in a function, and in those of the program to which it leads, that nobody came to."""
    if known_libraries.speaks_another(code.span.source):
        return
    made = ir.walk(program.module.body, classes=True)
    functions = by_name(instr.code for instr in made if isinstance(instr, ir.MakeFunction))
    for each in each_once([code], lambda each: (one for name in each.facts.names for one in functions.get(name, ()))):
        yield from (span for span in _backward_passes(each.body) if span not in backpropagated)


def is_cut_short(code: ir.Code, backpropagated: set[Span], arms: Arms) -> bool:
    """The same, but for those that no path could come to, as far as each was followed."""
    never = {each.span for block in arms.never(code.body) for each in ir.walk(block)}
    return has_backward(code, backpropagated | never)


def rests_on_unknown(code: ir.Code, unjudged: Iterable[Gap]) -> bool:
    """Whether a walk stands in a function's own body that was executed, and of whose graph nothing was known."""
    own = frozenset(_backward_passes(code.body))
    return any(gap.span in own for gap in unjudged)


def makes_backward(code: ir.Code, entered: set[ir.Code]) -> bool:
    """Whether a function makes one that walks, and that nobody called."""
    return any(each.backward_passes and each not in entered for each in made(code))


def made(code: ir.Code) -> list[ir.Code]:
    """The functions that a function makes, whatever happens."""
    return [each.code for each in code.body if isinstance(each, ir.MakeFunction)]


_Found = tuple[frozenset[Span], frozenset[Span]]
"""The walks below a loop, and the changes in place."""


class Sites:
    """The walks of a program, and of what was run of other modules, and the names of its functions that lead there;
    with them what changes a tensor in place where gradients are recorded: a leaf can't be changed so."""

    def __init__(self, program: program.Program, defined: Set[ir.Code], entered: Set[ir.Code]) -> None:
        self.program, self._defined, self._entered = program, defined, entered
        self._found: dict[tuple[int, int, int], tuple[ir.For | ir.While, _Found]] = {}
        """By the identity of a loop, and how many functions were defined and entered."""

    @cached_property
    def leading(self) -> frozenset[str]:
        """The names of the functions that lead there."""
        return names_leading_to_backward(self.program)

    def may_backpropagate(self, loop: ir.For | ir.While) -> bool:
        """Whether a loop's body leads to such a walk."""
        return bool(self._of(loop)[0])

    def is_reached(self, loop: ir.For | ir.While, reached: set[Span]) -> bool:
        """Whether some path came to each walk that a loop's body leads to, and if there is one to each change in place."""
        found, changes = self._of(loop)
        return found <= reached and (not found or changes <= reached)

    def _of(self, loop: ir.For | ir.While) -> _Found:
        key = id(loop), len(self._defined), len(self._entered)
        if key not in self._found:
            found = [(_backward_passes(loop.body), _changes(loop.body)), *map(self._within, self._below(loop))]
            walks, changes = (frozenset(span for each in found for span in each[at]) for at in (0, 1))
            self._found[key] = loop, (walks, changes)
        return self._found[key][1]

    def _within(self, code: ir.Code) -> tuple[Iterable[Span], Iterable[Span]]:
        """The walks and the changes in a function; of one that wasn't entered it stands for them itself."""
        may_walk, may_change = code.backward_passes, any(map(is_change, code.facts.calls))
        if code in self._entered:
            return _backward_passes(code.body) if may_walk else (), _changes(code.body) if may_change else ()
        walks = may_walk and any(each.name == "backward" for each in code.facts.calls)
        return [code.span] if walks else (), [code.span] if may_change else ()

    def _below(self, loop: ir.For | ir.While) -> Iterator[ir.Code]:
        """The functions to which a loop leads."""
        others = [code for code in self._defined if code.span.source is not self.program.source]
        functions = (self._functions, by_name(others))
        seen: set[str] = set()
        waiting = set(ir.names((loop,)))
        while new := waiting - seen:
            seen |= new
            for code in (code for name in new for known in functions for code in known.get(name, ())):
                waiting |= code.facts.names
                yield code

    @cached_property
    def _functions(self) -> dict[str, list[ir.Code]]:
        made = ir.walk(self.program.module.body, classes=True)
        return by_name(instr.code for instr in made if isinstance(instr, ir.MakeFunction))


def by_name(codes: Iterable[ir.Code]) -> dict[str, list[ir.Code]]:
    """Functions by what they are called."""
    found: dict[str, list[ir.Code]] = {}
    for code in codes:
        found.setdefault(code.name, []).append(code)
    return found


def _backward_passes(block: ir.Block) -> Iterator[Span]:
    return (call.span for call, name in ir.calls(block) if name == "backward")


_IN_PLACE = pattern(r"[a-z]\w*[a-z\d]_")

_BESIDE_GRAPHS = frozenset(("", "data", "grad", "init", "utils"))
"""What is changed in place through these is no leaf that requires a gradient, or is changed under `no_grad`."""


def is_change(call: facts.Call) -> bool:
    """Whether a call may change a leaf in place while gradients are recorded."""
    return call.receiver not in _BESIDE_GRAPHS and changes(call.name)


def changes(name: str) -> bool:
    """Whether a method is named like one that changes tensors in place, or is known to."""
    return name == "load_state_dict" or (_IN_PLACE.fullmatch(name) is not None and not UNCHANGING.takes(name))


def _changes(block: ir.Block) -> Iterator[Span]:
    """The changes in place in a block and in all blocks inside it, but for those under `no_grad`."""
    pending, names = [block], dict[int, str]()
    while pending:
        for instr in pending.pop():
            if isinstance(instr, ir.With) and "no_grad" in facts.of_span(instr.span).names:
                continue
            pending += ir.blocks(instr)
            if isinstance(instr, ir.Load):
                names[instr.dst] = instr.name
            elif isinstance(instr, ir.GetAttr):
                beside = names.get(instr.obj, ")") in _BESIDE_GRAPHS
                names[instr.dst] = _CHANGE if not beside and changes(instr.name) else instr.name
            elif isinstance(instr, ir.Call) and names.get(instr.func) == _CHANGE:
                yield instr.span


_CHANGE = "a change in place"
