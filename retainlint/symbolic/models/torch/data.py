"""Data that was computed with a graph: torch.utils.data's datasets of tensors, and the loaders that hand out batches."""

from __future__ import annotations

from collections.abc import Iterable

from retainlint import ir
from retainlint.startup.records import replace
from retainlint.symbolic.models.torch import new_tensors, shapes
from retainlint.symbolic.models.unknown import call_results, objects
from retainlint.symbolic.state import shape
from retainlint.symbolic.state.classes import find
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.reachability import each_once
from retainlint.symbolic.state.state import State, ticket
from retainlint.symbolic.state.values import (
    CUT,
    FALSE,
    GUESS,
    NONE,
    TRUE,
    Bound,
    Closure,
    Const,
    DictObj,
    External,
    Instance,
    IteratorObj,
    ListObj,
    Partial,
    Ref,
    Symbol,
    TensorObj,
    Term,
    Tuple,
    UnknownObj,
    Value,
)
from retainlint.text.source import Span

_HEAD = "torch.utils.data."
TENSORS, SUBSET, LOADER = "tensors", "subset", "loader"
"""What such an iterable is: all samples of some tensors, some of another dataset's, or batches of one."""


def function(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results | None:
    """Make a dataset or a loader; None where no graph goes in: then it is one that nobody needs to see."""
    if not path.startswith(_HEAD) or not args.pos + args.named:
        return None
    given = args.get(0, "dataset")
    match path.rpartition(".")[2]:
        case "TensorDataset" if have_graphs(machine, state, args.pos) or _are_seen(state, args.pos):
            return [(state, state.new(IteratorObj(TENSORS, args.pos)))]
        case "Subset" if _has_graph(machine, state, given):
            chosen = samples(machine, state, args.get(1, "indices"), span)
            return [(state, state.new(IteratorObj(SUBSET, (given,), Const(chosen))))]
        case "random_split" if _has_graph(machine, state, given) and isinstance(
            sizes := state.get(args.get(1, "lengths")), ListObj
        ):
            return [(state, Tuple(tuple(state.new(IteratorObj(SUBSET, (given,), size)) for size in sizes.items)))]
        case "DataLoader" if _has_graph(machine, state, given) or _collects(machine, state, args.get(6, "collate_fn")):
            size, dropped = args.get(1, "batch_size", Const(1)), args.get(8, "drop_last", FALSE)
            parts = (given, size, args.get(6, "collate_fn"), dropped)
            sampled = args.has(3, "sampler") or args.has(4, "batch_sampler")
            return [(state, state.new(IteratorObj(LOADER, parts, Const(sampled))))]
    made = call_results.called(machine, state, External(path), args, span)
    held = state.get(made)
    no_graph = not objects.edges_in(machine, state, args.all)  # perhaps: then its batches have that graph, too
    if path == f"{_HEAD}DataLoader" and no_graph and isinstance(held, UnknownObj) and isinstance(made, Ref):
        state.set(made, replace(held, hint=CUT))
    return [(state, made)]


def sample(machine: Machine, state: State, dataset: Value, index: Value, span: Span) -> Results:
    """`dataset[index]`."""
    held = state.get(dataset)
    match held:
        case IteratorObj(kind="tensors", parts=tensors):
            return [(state, Tuple(tuple(_row(machine, state, each, span) for each in tensors)))]
        case IteratorObj(kind="subset", parts=(whole,)):
            return sample(machine, state, whole, Symbol(ticket()), span)
        case Instance() if (getter := find(state, dataset, "__getitem__")) is not None:
            return machine.call(state, Bound(getter, dataset), Args((index,)), span)
        case ListObj(items=items) if items:
            at = index.value if isinstance(index, Const) and isinstance(index.value, int) else len(items) // 2
            return [(state, items[at] if -len(items) <= at < len(items) else items[-1])]
        case TensorObj():
            return [(state, _row(machine, state, dataset, span))]
    return [(state, objects.fresh(state, span))]


def batch(machine: Machine, state: State, loader: IteratorObj, index: Value, span: Span) -> Results:
    """The one that a loader gives at an index."""
    dataset, _, collate, _ = loader.parts
    rows = _rows(machine, state, loader, index, span)
    found: Results = []
    for each, item in sample(machine, state, dataset, Symbol(ticket()), span):
        if each.flow is not None:
            continue
        if collate == NONE:
            found.append((each, _collated(machine, each, item, rows, span)))
        else:
            found += machine.call(each, collate, Args((each.new(ListObj((item, item))),)), span)
    return found or [(state, objects.fresh(state, span))]


def _rows(machine: Machine, state: State, loader: IteratorObj, index: Value, span: Span) -> shape.Size:
    """How many samples a batch holds: the last one those that are left, and any other as many as it was asked for."""
    dataset, size, _, dropped = loader.parts
    number = samples(machine, state, dataset, span)
    is_drawn = loader.start == Const(True)  # by a sampler, which may give others, or make the batches
    if isinstance(size, Term) and size.op == "len":
        return number
    most = shapes.size(size)
    if most is None or most < 1 or (is_drawn and most == 1):
        return None
    at = shapes.size(index)
    if number is None or at is None or is_drawn or dropped == TRUE:
        return most
    return min(most, number - at * most) if number > at * most else None


def batches(machine: Machine, state: State, loader: IteratorObj, span: Span) -> int | None:
    """How many batches a loader has, if that is known."""
    dataset, size, _, dropped = loader.parts
    number = samples(machine, state, dataset, span)
    if isinstance(size, Term) and size.op == "len":
        return 1  # all that there are
    if number is None or loader.start == Const(True) or not isinstance(dropped, Const):
        return None
    if not isinstance(size, Const) or not isinstance(size.value, int) or size.value < 1:
        return None
    return number // size.value if dropped.value else -(-number // size.value)


def samples(machine: Machine, state: State, dataset: Value, span: Span) -> int | None:
    """How many samples a dataset has, if that is known."""
    held = state.get(dataset)
    match held:
        case IteratorObj(kind="tensors", parts=tensors):
            lengths = (obj.length for each in tensors if isinstance(obj := state.get(each), TensorObj))
            return next((length for length in lengths if length is not None), None)
        case ListObj(items=items, open=False, sampled=False):
            return len(items)
        case TensorObj(length=length):
            return length
        case IteratorObj(kind="subset", start=Const(value=int(length))):
            return length
        case Instance() | IteratorObj(kind="range"):
            results = machine.call(state.fork(), External("builtins.len"), Args((dataset,)), span)
            told = [value.value for each, value in results if each.flow is None and isinstance(value, Const)]
            return told[0] if len(told) == len(results) == 1 and isinstance(told[0], int) else None
    return None


def _row(machine: Machine, state: State, tensor: Value, span: Span) -> Value:
    if isinstance(state.get(tensor), TensorObj):
        return new_tensors.row_of(machine, state, tensor, span, "select")
    return objects.item(machine, state, tensor, span)


def _collated(machine: Machine, state: State, item: Value, rows: shape.Size, span: Span) -> Value:
    """So many samples as one, as torch's own function makes it of them: tensors are stacked, also those in a sample."""
    held = state.get(item)
    match held:
        case TensorObj():
            made = new_tensors.operate(machine, state, "stack", (item,), span)
            return new_tensors.shaped(state, made, shape.inserted(held.shape, 0, rows))
        case DictObj(open=False, rest=()):
            return state.new(
                DictObj({key: _collated(machine, state, each, rows, span) for key, each in held.items.items()})
            )
        case ListObj(items=items, open=False):
            return state.new(ListObj(tuple(_collated(machine, state, each, rows, span) for each in items)))
    if isinstance(item, Tuple):
        return Tuple(tuple(_collated(machine, state, each, rows, span) for each in item.items), item.names)
    if isinstance(item, Const) and isinstance(item.value, int | float):
        return state.new(TensorObj(None, ticket(), shape=shape.whole([rows])))
    return item


def _are_seen(state: State, tensors: Iterable[Value]) -> bool:
    """Whether all samples are rows of tensors that the program makes: then what has no graph is known, too."""
    return all(isinstance(state.get(each), TensorObj) for each in tensors)


def _collects(machine: Machine, state: State, collate: Value) -> bool:
    """Whether a function of the program makes batches of samples, and of what was computed before."""
    owner = state.get(collate.self) if isinstance(collate, Bound) else state.get(collate)
    while isinstance(collate, Bound | Partial):
        collate = collate.func
    if isinstance(owner, Instance):
        kept = list(owner.leading.values())
        made = collate if isinstance(collate, Closure) else find(state, collate, "__call__")
        return have_graphs(machine, state, kept) or (isinstance(made, Closure) and _refills(state, made, kept))
    if not isinstance(collate, Closure) or not state.frames.has(collate.frame):
        return False
    names, frame = collate.code.facts.names, state.frames[collate.frame]
    return have_graphs(machine, state, [value for name, value in frame.names.items() if name in names])


def _refills(state: State, collate: Closure, kept: list[Value]) -> bool:
    """Whether a function changes tensors in place, and those that its object keeps may be meant: batches share their memory."""
    body = collate.code.body
    changes = any(isinstance(each, ir.SetItem) for each in ir.walk(body)) or any(
        name.endswith("_") and not name.endswith("__") for _, name in ir.calls(body)
    )
    found = each_once(kept, lambda value: state.items(value) or ())
    return changes and any(isinstance(state.get(value), TensorObj) for value in found)


def _has_graph(machine: Machine, state: State, dataset: Value) -> bool:
    """Whether samples of a dataset have a graph that was built before, or surely none: they are made of tensors that it holds."""
    held = state.get(dataset)
    match held:
        case IteratorObj(kind="tensors" | "subset"):
            return True
        case Instance() if find(state, dataset, "__getitem__") is not None:
            kept = held.leading.values()
            return have_graphs(machine, state, kept) or any(isinstance(state.get(each), TensorObj) for each in kept)
        case TensorObj():
            return True
        case ListObj(items=items):
            is_seen = bool(items) and not held.open and all(_is_made_of_tensors(state, each) for each in items)
            return is_seen or have_graphs(machine, state, (dataset,))
    return False


def _is_made_of_tensors(state: State, sample: Value) -> bool:
    """Whether a sample is a tensor that the program made, or several, or such and numbers."""
    if isinstance(sample, Tuple):
        return bool(sample.items) and all(_is_made_of_tensors(state, each) for each in sample.items)
    return isinstance(state.get(sample), TensorObj) or (
        isinstance(sample, Const) and type(sample.value) in (int, float)
    )


def have_graphs(machine: Machine, state: State, values: Iterable[Value]) -> bool:
    """Whether among some values are tensors that were surely computed, and have a graph of that."""
    edges = objects.edges_in(machine, state, (each for each in values if isinstance(each, Ref | Tuple)))
    return any(not edge.node.is_leaf and machine.graphs.exists(edge) < GUESS for edge in edges)
