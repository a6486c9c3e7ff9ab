"""Graphs that outlive their turn: added up, put into lists, or built in a loop and never walked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import TypeAlias

from retainlint import ir
from retainlint.autograd.graph import Edge, Node
from retainlint.incident import BackwardPass, Iteration, Kept, Moment, NeverBackpropagated
from retainlint.startup.records import replace
from retainlint.symbolic.detectors.claims import (
    Claims,
    assumptions,
    conditions,
    in_forward,
    later_iteration,
    may_be_trained_elsewhere,
    roots_of,
    saving,
)
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.graphs import Birth
from retainlint.symbolic.state.state import BackwardRecord, State
from retainlint.symbolic.state.values import (
    CONVENTIONAL,
    GUESS,
    DictObj,
    ListObj,
    Ref,
    TensorObj,
    Tuple,
    UnknownObj,
    Value,
)
from retainlint.text.source import Span

SCALINGS = frozenset(("mul", "div", "neg", "clone", "to", "alias", "view", "unsqueeze", "squeeze"))
_KEEPING = SCALINGS | {"add", "sub"}
"""Operations behind which a total is still one, if its graph alone goes in: numbers may be added to it as well."""
_ITEMS = frozenset(("select", "unbind"))
Places: TypeAlias = Sequence[Span | None]


def added(claims: Claims, state: State, total: Value, span: Span, places: Sequence[Span | None]) -> None:
    """What stands at `places` gave `total`: was one of them a total that held an earlier turn's graph?"""
    for edge in roots_of(state, total)[:1]:
        births, now = claims.graphs.births, state.moment(span)
        inputs = [each for each in edge.node.next if each is not None]
        for side in inputs:
            found = _earlier(births, side.node, span)
            if found is None:
                continue
            before, name = found
            iteration = later_iteration(births[before].moment.iterations, now.iterations)
            others = [each for each in inputs if each is not side]
            if iteration is None or not others or any(claims.graphs.leads(each, before) for each in others):
                continue  # a state that is carried through a network, not a sum
            if all(_is_part(births, each.node, iteration) for each in others):
                continue  # there are only so many
            holder, item = _parts(places, inputs.index(side))
            both = holder is not None and holder == item  # a list, as `cat` takes it
            holder = name or holder
            ways = (each for each in before.next if each is not None)
            added_before = tuple(each for each in ways if _earlier(births, each.node, span) is None)
            incident = Kept(
                now, _primary(now, iteration), item or span, _named(holder), False, True, iteration.loop,
                births[before].moment, None, inside=both or item is None, conditions=conditions(state),
                reset=_reset(claims, state.frame.code, iteration.loop, _named(holder)), single=_is_single(state, total),
            )  # fmt: skip
            _claim(claims, state, incident, added_before, (edge.node, before))


def _is_part(births: Mapping[Node, Birth], node: Node, iteration: Iteration) -> bool:
    """Whether a node gives an item of what was computed before the loop of an iteration."""
    if node.is_leaf or births[node].operation not in _ITEMS:
        return False
    whole = next(each.node for each in node.next if each is not None)
    return not whole.is_leaf and all(each.loop != iteration.loop for each in births[whole].moment.iterations)


def _parts(places: Sequence[Span | None], at: int) -> tuple[Span | None, Span | None]:
    """Where the total stands in the text, and where what is added to it does."""
    if at >= len(places):
        return None, None
    return places[at], next((each for n, each in enumerate(places) if n != at), None)


def _reset(claims: Claims, code: ir.Code, loop: Span, total: str) -> Span | None:
    """Where the loop sets its total back to a constant, or empties its list."""
    if (loop, total) not in claims.resets:  # each path asks, of a function that may be long
        claims.resets[loop, total] = next(_resets(code, loop, total), None)
    return claims.resets[loop, total]


def _resets(code: ir.Code, loop: Span, total: str) -> Iterator[Span]:
    body = [
        each
        for instr in ir.walk(code.body)
        if instr.span == loop
        for block in ir.blocks(instr)
        for each in ir.walk(block)
    ]
    constants = {
        each.dst for each in body if isinstance(each, ir.Const) or (isinstance(each, ir.Build) and not each.items)
    }
    resets = [each.span for each in body if isinstance(each, ir.Store | ir.SetAttr) and each.src in constants]
    yield from (each for each in resets if each.text == total)
    yield from (each.span for each in body if isinstance(each, ir.Call) and each.span.text == f"{total}.clear()")


def _named(holder: Span | None) -> str:
    """What a total is called: `logs['loss']`, also where it is read as `logs.get('loss', 0)`."""
    text = "the total" if holder is None else holder.text
    return f"{owner}[{key}]" if (owner := text.partition(".get(")[0]) != text and (key := _key(text)) else text


def _key(text: str) -> str:
    return text.partition(".get(")[2].partition(",")[0].rstrip(")").strip()


def _earlier(births: Mapping[Node, Birth], node: Node, span: Span) -> tuple[Node, Span | None] | None:
    """The sum made at `span` of which `node` is a multiple, as in moving averages, or to which numbers were added; and
    where that sum stands if it isn't `node` itself."""
    name: Span | None = None
    for _ in range(limits.TOTAL_OPERATIONS):
        if node.is_leaf:
            return None
        if births[node].moment.span == span:
            return node, name
        ways = [each for each in node.next if each is not None]
        if births[node].operation not in _KEEPING or len(ways) != 1:
            return None
        places = zip(node.next, births[node].operands, strict=False)
        name = name or next((place for each, place in places if each is not None), None)
        node = ways[0].node
    return None


def _primary(now: Moment, iteration: Iteration) -> Span:
    """Where the loop's own code keeps the graph: in a helper called from there, the call."""
    return now.frames[iteration.depth] if len(now.frames) > iteration.depth else now.span


def stored(claims: Claims, state: State, holder: Value, value: Value, span: Span, item: Span | None) -> None:
    """`holder.append(value)`, or the like: does it still hold what an earlier turn put there?"""
    held = state.get(holder)
    if not isinstance(held, ListObj | DictObj) or not isinstance(holder, Ref):
        return
    if not isinstance(held, ListObj) or held.limit is None or held.limit > limits.WINDOW:
        text = span.text.partition("(")[0].rpartition(".")[0]
        put(claims, state, holder.id, held, value, span, item, text or "the list")


def joined(claims: Claims, state: State, left: Value, right: Value, made: Value, places: Places, span: Span) -> None:
    """`left + right` gave the list `made`, or changed `left`: did a turn before make `left` here?"""
    held = state.get(left)
    if not isinstance(held, ListObj) or not isinstance(left, Ref) or not isinstance(made, Ref):
        return
    here = claims.joined.setdefault(span, set())
    if left.id in here or not here or made == left:
        more = right.items if isinstance(right, Tuple) else getattr(state.get(right), "items", ())
        claims.graphs.effort.add(len(more) // 4)
        name = places[0].text if places[0] is not None else "the list"
        put(claims, state, made.id if made == left else None, held, Tuple(tuple(more)), span, places[1], name)
    here.add(made.id)


def put(
    claims: Claims,
    state: State,
    container: int | None,
    held: ListObj | DictObj,
    value: Value,
    span: Span,
    item: Span | None,
    text: str,
    *,
    is_new: bool = True,
) -> None:
    """A value is put to what `held` has, in the place of another unless `is_new`; `container` is None if that makes a new
    list each time."""
    now = state.moment(span)
    roots = roots_of(state, value, limits.STORED_DEPTH)
    if not roots:
        return
    stack = claims.stored.setdefault((container, span), [])
    earlier = [
        (iteration, before, at)
        for iterations, before, at in stack
        if is_new and (iteration := later_iteration(iterations, now.iterations)) is not None
    ]
    there = () if not earlier else held.items if isinstance(held, ListObj) else tuple(held.items.values())
    claims.graphs.effort.add(len(roots) + len(there))
    inside = {edge.node for each in there for edge in roots_of(state, each, limits.STORED_DEPTH)}
    for root in roots:
        for iteration, before, at in earlier:
            if (
                before not in inside
                or claims.graphs.leads(root, before)
                or not _is_made_in(claims, root.node, iteration)
            ):
                continue
            incident = Kept(
                now, _primary(now, iteration), item or span, text, True, True, iteration.loop,
                claims.graphs.births[before].moment, None, conditions=conditions(state),
                inside=item is None or not isinstance(state.get(value), TensorObj | UnknownObj),
                reset=_reset(claims, state.frame.code, iteration.loop, text), single=_is_single(state, value),
            )  # fmt: skip
            _claim(claims, state, incident, (Edge(before),), (before,), since=at, container=container)
            break
        stack.append((now.iterations, root.node, claims.tick()))
    del stack[limits.STORED_FIRST : -limits.STORED_GRAPHS]


def _is_made_in(claims: Claims, node: Node, iteration: Iteration) -> bool:
    """Whether the loop of an iteration has made a node: of what was there before it, only so much can be put anywhere."""
    made = claims.graphs.births[node].moment.iterations
    return any((each.loop, each.begun) == (iteration.loop, iteration.begun) for each in made)


def _is_single(state: State, value: Value) -> bool | None:
    """Whether what is kept has one element, as a loss has: its shape says so, or that a backward pass began there."""
    parts = value.items if isinstance(value, Tuple) else (value,)
    told = {_has_one(state, part) for part in parts}
    return False if False in told else None if None in told else True


def _has_one(state: State, value: Value) -> bool | None:
    held = state.get(value)
    if not isinstance(held, TensorObj | UnknownObj):
        return None
    if isinstance(held, TensorObj) and (held.shape.is_many or held.ndim):
        return held.shape.numel == 1
    is_root = any(held.edge in record.roots for record in state.backward_passes)
    return True if is_root or (isinstance(held, TensorObj) and held.ndim == 0) else None


def _claim(
    claims: Claims,
    state: State,
    incident: Kept,
    roots: tuple[Edge, ...],
    nodes: tuple[Node, ...],
    since: int | None = None,
    container: int | None = None,
) -> None:
    """Claim that what an earlier turn added is still there: with all it saved, or as bare nodes that were freed."""
    graphs, freed = claims.graphs, state.ledger.freed
    reached = graphs.reach(roots)
    around = tuple(takewhile(lambda iteration: iteration.loop != incident.loop, incident.kept.iterations))
    backpropagated = any(
        edge in record.roots for record in state.backward_passes for edge in roots
    )  # so it had a graph, and was one
    spent = (backpropagated or any(graphs.exists(edge) <= CONVENTIONAL for edge in roots)) and any(
        node in freed
        and (backpropagated or level <= CONVENTIONAL)
        and graphs.births[node].moment.iterations[: len(around)] == around
        for node, level in reached.items()
    )
    spent = spent or any(_frees_unseen(record, roots) for record in state.backward_passes)
    kept = () if spent else tuple(saving(graphs, roots))
    alive = bool(kept)
    if not alive and not spent:
        return
    is_local = incident.holder in state.frame.names
    unseen = in_forward(state) or (is_local and may_be_trained_elsewhere(state))
    if alive and (unseen or any(graphs.exists(edge) == GUESS for edge in roots)):
        return
    backward_pass = _backward_over(state, reached)
    assumed = assumptions(graphs, reached) if alive else ()
    saved = (node for node in reached if node.saved)
    bare = alive and all(len(graphs.births[node].moment.iterations) <= len(around) for node in saved)
    told = replace(incident, alive=alive, bare=bare, backward_pass=backward_pass, assumptions=assumed)
    claims.claim(told, (*nodes, *kept), nodes, settled=not alive, since=since if alive else None, container=container)


def _frees_unseen(record: BackwardRecord, roots: tuple[Edge, ...]) -> bool:
    """Whether a backward pass to some inputs only has freed of what lies above them nobody knows how much."""
    if record.targets is None or record.freed or record.backward_pass.retained:
        return False
    return any(edge in record.roots for edge in roots)


def _backward_over(state: State, reached: dict[Node, int]) -> BackwardPass | None:
    record: BackwardRecord | None = next(
        (r for r in reversed(state.backward_passes) if any(n in r.reach for n in reached)), None
    )
    return None if record is None else record.backward_pass


def called(claims: Claims, state: State, value: Value, span: Span) -> None:
    """A module's call gave `value`: in a loop, somebody should walk it."""
    if not state.iterations or state.iterations[-1].is_call or state.iterations[-1].few or not state.grad:
        return
    seen = claims.called.setdefault(span, [])
    if len(seen) >= limits.STORED_GRAPHS or in_forward(state) or may_be_trained_elsewhere(state):
        return
    now = state.moment(span)
    edges = roots_of(state, value)
    if not saving(claims.graphs, edges):
        return
    nodes = frozenset(edge.node for edge in edges)
    iterations_before = [(later_iteration(iterations, now.iterations), built) for iterations, built in seen]
    before = [
        (iteration, built)
        for iteration, built in iterations_before
        if iteration is not None and iteration == now.iterations[-1]
    ]
    if any(not built.isdisjoint(record.reach) for record in state.backward_passes for _, built in before):
        claims.deny(NeverBackpropagated, _primary(now, state.iterations[-1]))
    elif before:
        iteration, assumed = before[0][0], assumptions(claims.graphs, nodes)
        incident = NeverBackpropagated(
            now, _primary(now, iteration), iteration.loop, conditions=conditions(state), assumptions=assumed
        )
        claims.claim(incident, nodes, nodes, since=0)
    seen.append((now.iterations, nodes))
