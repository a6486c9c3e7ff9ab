"""Functions that map nested containers, as `torch.utils._pytree.tree_map` does."""

from __future__ import annotations

from retainlint.records import replace
from retainlint.source import Span
from retainlint.symbolic.context import Args, Machine, Results
from retainlint.symbolic.state import State
from retainlint.symbolic.values import DictObj, External, ListObj, TensorObj, Tuple, UnknownObj, Value

_HOMES = ("torch.utils._pytree", "torch.utils.pytree", "optree")
_NAMED = ("func", "fn", "f")
_MOST = 32
"""So many leaves are mapped one by one; what holds more is unknown."""


def function(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results | None:
    """Call a function on each leaf of a tree; None for any other path, and where it isn't plain what a leaf is."""
    home, _, name = path.rpartition(".")
    if home not in _HOMES or name not in ("tree_map", "tree_map_only"):
        return None
    only = name == "tree_map_only"
    func = next((value for key, value in args.named if key in _NAMED), args.get(int(only), "func"))
    tree = args.get(1 + only, "tree")
    known = {*_NAMED, "tree", "pytree", "type_or_types", "type_or_types_or_pred"}
    if len(args.pos) > 2 + only or args.open or {key for key, _ in args.named} - known or _leaves(state, tree) > _MOST:
        return None
    tensors_only = only and args.get(0, "type_or_types") == External("torch.Tensor")
    if only and not tensors_only:
        return None
    return _mapped(machine, state, func, tree, span, tensors_only)


def _parts(state: State, tree: Value) -> tuple[Value, ...] | None:
    """What a container holds; None for a leaf."""
    if isinstance(tree, Tuple):
        return tree.items
    match state.get(tree):
        case ListObj(kind="list", items=items):
            return items
        case DictObj(items=entries, rest=()):
            return tuple(entries.values())
    return None


def _leaves(state: State, tree: Value, depth: int = 0) -> int:
    parts = _parts(state, tree)
    if parts is None or depth > _MOST:  # what holds itself has no end
        return 1 if parts is None else _MOST + 1
    return sum(_leaves(state, each, depth + 1) for each in parts[: _MOST + 1])


def _mapped(machine: Machine, state: State, func: Value, tree: Value, span: Span, tensors_only: bool) -> Results:
    parts = _parts(state, tree)
    if parts is None:
        if tensors_only and not isinstance(state.get(tree), TensorObj | UnknownObj):
            return [(state, tree)]
        return machine.call(state, func, Args((tree,)), span)
    ways: list[tuple[State, tuple[Value, ...]]] = [(state, ())]
    for part in parts:
        ways = [
            (after, (*made, value))
            for each, made in ways
            for after, value in (
                [(each, part)] if each.flow is not None else _mapped(machine, each, func, part, span, tensors_only)
            )
        ]
    return [(each, _like(each, tree, made)) for each, made in ways]


def _like(state: State, tree: Value, items: tuple[Value, ...]) -> Value:
    """A container of the same kind with other items."""
    if isinstance(tree, Tuple):
        return replace(tree, items=items)
    held = state.get(tree)
    if isinstance(held, ListObj):
        return state.new(replace(held, items=items, places=()))
    assert isinstance(held, DictObj)
    return state.new(replace(held, items=dict(zip(held.items, items))))
