"""Numbers that were taken of tensors with a graph, and what was computed of these: where a loss that has none lost it.

Only words hang on it, so that all paths share it, and what is asked here forks none of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from retainlint.autograd.graph import Node
from retainlint.incident import Moment, Numbers
from retainlint.startup.records import replace
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import (
    CUT,
    External,
    ListObj,
    Method,
    Ref,
    Symbol,
    TensorObj,
    Term,
    Tuple,
    UnknownObj,
    Value,
)
from retainlint.text.source import Span

TAKING = frozenset({"item", "tolist", "numpy"})
"""Methods of tensors that give their numbers."""

WRAPPING = frozenset({"tensor", "as_tensor", "asarray", "from_numpy", "scalar_tensor", "FloatTensor", "DoubleTensor"})
"""What makes a tensor of numbers."""

_CONVERSIONS = (External("builtins.float"), External("builtins.int"))
NEVER_HAD = ("leaf", "bare", "compared")
"""How it is told that a tensor had no graph which it could lose."""
_COUNTS = frozenset({"len", "shape", "dim", "numel", "size"})


class Taken:
    """By numbers, arrays and tensors what they were computed of, as far as that was seen."""

    def __init__(self) -> None:
        self._known: dict[Ref | Symbol, Numbers] = {}
        self.leaves: dict[Numbers, Node] = {}
        """Those that were taken of a leaf itself."""
        self.lost: dict[Numbers, TensorObj | UnknownObj] = {}
        """What had lost its graph before they were taken: by an operation, or because none was recorded."""

    def called(
        self,
        state: State,
        func: Method | External,
        given: Sequence[Value],
        span: Span,
        results: Iterable[tuple[State, Value]],
    ) -> None:
        """Note what a call that isn't followed returns: numbers of a tensor, or what it computed of such."""
        taken = self._of(state, func, given, span)
        if taken is None and self._known:
            owner = (func.obj,) if isinstance(func, Method) else ()
            taken = self.among(state, (*owner, *given))
        if taken is None:
            return
        if isinstance(func, External) and taken.wrapped is None:
            is_wrap = func.path.startswith("torch.") and func.path.rpartition(".")[2] in WRAPPING
            wrapped = replace(taken, wrapped=span) if is_wrap else taken
            if taken in self.lost:
                self.lost[wrapped] = self.lost[taken]
            taken = wrapped
        for _, made in results:
            self._note(made, taken)

    def computed(self, state: State, given: Iterable[Value], made: Value) -> None:
        """Note what an operation, or a read or written item, comes to."""
        if self._known and (taken := self.among(state, given)) is not None:
            self._note(made, taken)

    def among(self, state: State, values: Iterable[Value]) -> Numbers | None:
        """What the first of some values that comes of numbers was computed of: of what had a graph then, if one was."""
        found = [
            self._known[part]
            for value in values
            for part in _parts(state, value, limits.NUMBERS_LOOKED_FOR)
            if part in self._known
        ]
        return next((each for each in found if each not in self.lost), found[0] if found else None)

    def _note(self, made: Value, taken: Numbers) -> None:
        for part in made.args if isinstance(made, Term) else (made,):
            if isinstance(part, Ref | Symbol):
                self._known.setdefault(part, taken)

    def _of(self, state: State, func: Method | External, given: Sequence[Value], span: Span) -> Numbers | None:
        """The numbers that a call takes of a tensor which has a graph, or was cut off from one for that."""
        if isinstance(func, Method) and func.name in TAKING:
            held = state.get(func.obj)
        elif func in _CONVERSIONS and len(given) == 1:
            held = state.get(given[0])
        else:
            return None
        if not isinstance(held, TensorObj | UnknownObj):
            return None
        reason = held.cut[0] if held.cut is not None else "leaf"
        is_detached = reason in ("detach", "data")
        if isinstance(held, UnknownObj):
            is_detached = held.plain and held.hint == CUT and held.name == "detach"
        has_graph = held.edge is not None and not (isinstance(held, UnknownObj) and held.plain)
        had_graph = reason not in NEVER_HAD and held.edge is None
        if not (has_graph or is_detached or had_graph):
            return None
        taken = Numbers(Moment(span, frames=state.calls))
        if had_graph and not is_detached:
            self.lost[taken] = held
        if has_graph and isinstance(held, TensorObj) and held.edge is not None and held.edge.node.is_leaf:
            self.leaves[taken] = held.edge.node
        return taken


def _parts(state: State, value: Value, most: int) -> Iterator[Ref | Symbol]:
    """A value, and what it is made of, so far as few things hold it."""
    waiting = [value]
    while waiting and most > 0:
        most -= 1
        value = waiting.pop()
        match value:
            case Ref():
                yield value
                held = state.get(value)
                if isinstance(held, ListObj):
                    waiting += held.items
            case Symbol():
                yield value
            case Term(op=op, args=args) if op not in _COUNTS:
                waiting += args
            case Tuple(items=items):
                waiting += items
