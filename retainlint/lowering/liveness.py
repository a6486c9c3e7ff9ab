"""What may still be read after each branch and loop: a backward walk over structured ir.

Registers and local names are tracked as members of one set: registers are numbers, names strings. That more is live
than will be read is safe, less is a bug: so where control may jump away, what is live at each landing stays live.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeAlias

from retainlint import ir
from retainlint.startup.records import record

Alive: TypeAlias = "set[ir.Register | str]"
Frozen: TypeAlias = "frozenset[ir.Register | str]"

_NONE: Frozen = frozenset()
BRANCHING = (ir.If, ir.For, ir.While, ir.With, ir.Try)
"""Instructions that tell what is alive behind them."""

SWALLOWERS = ("suppress", "raises", "ignore", "catch", "swallow", "skip", "timeout", "cancel")
"""In the text of a `with` item that may go on behind its block after an exception; case doesn't matter."""


def has_branches(body: Iterable[ir.Instr]) -> bool:
    """Whether anything in a body asks what is live."""
    return any(isinstance(instr, BRANCHING) for instr in body)


def with_liveness(body: ir.Block, kept: frozenset[str], own: ir.Scope = ir.Scope.LOCAL) -> ir.Block:
    """`body` with `live`, `live_iteration` and `carried` filled in; the names in `kept` are live everywhere.

    `own` is the scope of the code's own names: GLOBAL in a module, whose `kept` are the names that inner codes use.
    """
    if not has_branches(body):
        return body
    return _BackwardPass(kept, own).block(body, set(), _Landings(), filling=True)[1]


@record
class _Landings:
    """What is live where control may jump to."""

    broken: Frozen = _NONE  # behind the loop
    continued: Frozen = _NONE  # at the start of its next turn
    raised: Frozen = _NONE  # in the handlers around, and in the `finally` blocks, which every jump passes

    def behind(self, final: Alive) -> _Landings:
        """The landings inside of a `finally`, at whose start `final` is live: every way out passes it."""
        through = frozenset(final)
        return _Landings(through, through, self.raised | through)


class _BackwardPass:
    """A walk over one code.

    A loop's summary is what its turns read of what stood before the loop. As a loop may make no turn at all it hides
    nothing, so a summary doesn't depend on what surrounds it: each is made once, and the walk stays linear.
    """

    def __init__(self, kept: frozenset[str], own: ir.Scope) -> None:
        self.kept, self.own = kept, own
        self.summaries: dict[int, Frozen] = {}
        self.lives: dict[Frozen, ir.Live] = {}

    def block(self, body: ir.Block, live: Alive, landings: _Landings, filling: bool) -> tuple[Alive, ir.Block]:
        """What is live before `body`, given what is behind it (`live` is used up); and `body`, filled in if asked."""
        filled: list[ir.Instr] = []
        raised = landings.raised
        live |= raised  # any instruction may raise
        for instr in reversed(body):
            if isinstance(instr, BRANCHING):
                live, instr = _BRANCHES[type(instr)](self, instr, live, landings, filling)
            elif isinstance(instr, (ir.Return, ir.Raise, ir.Break, ir.Continue)):
                live = _jump(instr, landings)
            else:
                self._plain(instr, live, raised)
            if filling:
                filled.append(instr)
        return live, tuple(reversed(filled))

    def _plain(self, instr: ir.Instr, live: Alive, raised: Frozen) -> None:
        if isinstance(instr, ir.Store):
            if instr.scope is self.own:
                _kill(live, instr.name, raised)
            live.add(instr.src)
            return
        for dst in instr.dsts if isinstance(instr, ir.Unpack) else (getattr(instr, "dst", None),):
            if dst is not None:
                _kill(live, dst, raised)
        if isinstance(instr, (ir.Load, ir.Delete)):
            if instr.scope is self.own and instr.name not in self.kept:
                live.add(instr.name)
        else:
            live.update(ir.READS[type(instr)](instr))

    def live(self, alive: Alive) -> ir.Live:
        key = frozenset(alive)
        if key not in self.lives:
            names = frozenset(member for member in key if isinstance(member, str))
            self.lives[key] = ir.Live(frozenset(member for member in key if isinstance(member, int)), names | self.kept)
        return self.lives[key]

    # -- branches: each gives what is live before it, and itself with its `live` ------------------------------------

    def if_(self, instr: ir.If, live: Alive, landings: _Landings, filling: bool) -> tuple[Alive, ir.If]:
        after = self.live(live) if filling else None
        before, then = self.block(instr.then, set(live), landings, filling)
        other, orelse = self.block(instr.orelse, live, landings, filling)
        before |= other
        before.add(instr.cond)
        return before, instr if after is None else replace(instr, then=then, orelse=orelse, live=after)

    def for_(self, instr: ir.For, live: Alive, landings: _Landings, filling: bool) -> tuple[Alive, ir.For]:
        exhausted, orelse = self.block(instr.orelse, set(live), landings, filling)
        carried = self.summary(instr) | {instr.iterable}
        iteration = exhausted | live | carried
        if not filling:
            return iteration, instr
        inner = replace(landings, broken=frozenset(live), continued=frozenset(iteration))
        _, body = self.block(instr.body, set(iteration), inner, filling)
        behind, here, read = self.live(live), self.live(iteration), self.live(set(carried))
        return iteration, replace(instr, body=body, orelse=orelse, live=behind, live_iteration=here, carried=read)

    def while_(self, instr: ir.While, live: Alive, landings: _Landings, filling: bool) -> tuple[Alive, ir.While]:
        exhausted, orelse = self.block(instr.orelse, set(live), landings, filling)
        inner = replace(landings, broken=frozenset(live))
        if _endless(instr):
            iteration = self.block(instr.body, set(), inner, False)[0] if filling else set(live)
        else:
            iteration = self.block(instr.test, exhausted | {instr.cond}, landings, False)[0] | live
        carried = self.summary(instr)
        iteration |= carried
        if not filling:
            return iteration, instr
        inner = replace(inner, continued=frozenset(iteration))
        before, body = self.block(instr.body, set(iteration), inner, filling)
        _, test = self.block(instr.test, before | exhausted | {instr.cond}, landings, filling)
        behind, here, read = self.live(live), self.live(iteration), self.live(set(carried))
        filled = replace(instr, test=test, body=body, orelse=orelse, live=behind, live_iteration=here, carried=read)
        return iteration, filled

    def with_(self, instr: ir.With, live: Alive, landings: _Landings, filling: bool) -> tuple[Alive, ir.With]:
        after = self.live(live) if filling else None
        item = instr.span.text.lower()
        swallowed = live if any(word in item for word in SWALLOWERS) else set()
        inside = replace(landings, raised=landings.raised | swallowed | {instr.context})  # `__exit__` reads it
        before, body = self.block(instr.body, live, inside, filling)
        before.discard(instr.dst)
        return before, instr if after is None else replace(instr, body=body, live=after)

    def try_(self, instr: ir.Try, live: Alive, landings: _Landings, filling: bool) -> tuple[Alive, ir.Try]:
        after = self.live(live) if filling else None
        final: ir.Block = ()
        if instr.final:
            ways_out = live | landings.broken | landings.continued
            live, final = self.block(instr.final, ways_out, landings, filling)
            landings = landings.behind(live)
        caught: Alive = set(landings.raised)
        handlers: list[ir.Handler] = []
        for handler in reversed(instr.handlers):
            rest = frozenset(caught) if instr.is_group else _NONE  # which may run behind this one, however it ends
            inside = replace(landings, raised=landings.raised | rest)
            before, handler = self._handler(handler, live | rest, inside, filling)
            caught |= before
            handlers.insert(0, handler)
        before, orelse = self.block(instr.orelse, live, landings, filling)
        before, body = self.block(instr.body, before, replace(landings, raised=frozenset(caught)), filling)
        if after is None:
            return before, instr
        return before, replace(instr, body=body, handlers=tuple(handlers), orelse=orelse, final=final, live=after)

    def _handler(
        self, handler: ir.Handler, live: Alive, landings: _Landings, filling: bool
    ) -> tuple[Alive, ir.Handler]:
        live, body = self.block(handler.body, live, landings, filling)
        live.discard(handler.dst)
        if handler.type is not None:
            live.add(handler.type)
        live, test = self.block(handler.test, live, landings, filling)
        return live, replace(handler, test=test, body=body) if filling else handler

    def summary(self, loop: ir.For | ir.While) -> Frozen:
        """What the turns of a loop read of what stood before it."""
        if id(loop) not in self.summaries:
            live, _ = self.block(loop.body, set(), _Landings(), False)
            if isinstance(loop, ir.For):
                live.discard(loop.item)
            else:
                live.add(loop.cond)
                live, _ = self.block(loop.test, live, _Landings(), False)
            self.summaries[id(loop)] = frozenset(live)
        return self.summaries[id(loop)]


_BRANCHES: dict[type, Callable[[_BackwardPass, Any, Alive, _Landings, bool], tuple[Alive, ir.Instr]]] = {
    ir.If: _BackwardPass.if_,
    ir.For: _BackwardPass.for_,
    ir.While: _BackwardPass.while_,
    ir.With: _BackwardPass.with_,
    ir.Try: _BackwardPass.try_,
}


def _kill(live: Alive, member: ir.Register | str, raised: Frozen) -> None:
    """What is written isn't live before; but where an exception may jump to a reader, it may not have been written."""
    if member not in raised:
        live.discard(member)


def _jump(instr: ir.Return | ir.Raise | ir.Break | ir.Continue, landings: _Landings) -> Alive:
    live = set(landings.raised)
    if isinstance(instr, ir.Break):
        live |= landings.broken
    elif isinstance(instr, ir.Continue):
        live |= landings.continued
    elif instr.src is not None:
        live.add(instr.src)
    return live


def _endless(loop: ir.While) -> bool:
    """`while True` is left by `break` alone."""
    return len(loop.test) == 1 and isinstance(loop.test[0], ir.Const) and bool(loop.test[0].value)
