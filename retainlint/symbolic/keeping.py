"""Graphs that outlive their turn: added up, put into lists, or built in a loop and never walked."""

from __future__ import annotations

from dataclasses import replace

from retainlint.autograd.graph import Edge, Node
from retainlint.incident import Kept, Moment, NeverWalked, Turn, Walk
from retainlint.source import Span
from retainlint.symbolic.state import State, WalkRecord
from retainlint.symbolic.values import CONVENTIONAL, GUESS, ListObj, Ref, Value
from retainlint.symbolic.waste import Account, assumptions, conditions, in_forward, later_turn, roots_of, saving

MOST = 8
"""Of one place, so many stored graphs are remembered."""


def added(account: Account, state: State, total: Value, span: Span, places: tuple[Span | None, Span | None]) -> None:
    """A sum of what stands at `places` gave `total`: was one of them a total that held an earlier turn's graph?"""
    for edge in roots_of(state, total)[:1]:
        births, now = account.graphs.births, state.moment(span)
        for before in edge.node.next:
            if before is None or before.node.is_leaf or births[before.node].moment.span != span:
                continue
            turn = later_turn(births[before.node].moment.turns, now.turns)
            others = [e for e in edge.node.next if e is not None and e is not before]
            if turn is None or not others or before.node in account.graphs.reach(others):
                continue  # a state that is carried through a network, not a sum
            holder, place = places if before is edge.node.next[0] else places[::-1]
            earlier = births[before.node].moment
            added_before = tuple(e for e in before.node.next if e is not None and births[e.node].moment.span != span)
            incident = Kept(
                now, _primary(now, turn), place or span, holder.text if holder is not None else "the total", False,
                True, turn.loop, earlier, None, conditions(state), (),
            )  # fmt: skip
            _claim(account, state, incident, added_before, (edge.node, before.node))


def _primary(now: Moment, turn: Turn) -> Span:
    """Where the loop's own code keeps the graph: in a helper called from there, the call."""
    return now.frames[turn.depth] if len(now.frames) > turn.depth else now.span


def stored(account: Account, state: State, holder: Value, value: Value, span: Span, item: Span | None) -> None:
    """`holder.append(value)`: does it still hold what an earlier turn put there?"""
    held = state.get(holder)
    if not isinstance(held, ListObj) or not isinstance(holder, Ref):
        return
    now = state.moment(span)
    stack = account.stored.setdefault((holder.id, span), [])
    inside = {edge.node for each in held.items for edge in roots_of(state, each)}
    for root in roots_of(state, value):
        if held.limit is None:
            for turns, before, at in stack:
                turn = later_turn(turns, now.turns)
                if turn is None or before not in inside or before in account.graphs.reach([root]):
                    continue
                text = span.text.partition("(")[0].rpartition(".")[0]
                incident = Kept(
                    now, _primary(now, turn), item or span, text or "the list", True, True, turn.loop,
                    account.graphs.births[before].moment, None, conditions(state), (),
                )  # fmt: skip
                _claim(account, state, incident, (Edge(before),), (before,), since=at, container=holder.id)
                break
        stack.append((now.turns, root.node, account.tick()))
    del stack[:-MOST]


def _claim(
    account: Account,
    state: State,
    incident: Kept,
    roots: tuple[Edge, ...],
    nodes: tuple[Node, ...],
    since: int | None = None,
    container: int | None = None,
) -> None:
    """Claim that what an earlier turn added is still there: with all it saved, or as bare nodes that were freed."""
    graphs, freed = account.graphs, state.ledger.freed
    reached = graphs.reach(roots)
    spent = any(node in freed and (level <= CONVENTIONAL or Edge(node) in roots) for node, level in reached.items())
    alive = not spent and bool(saving(graphs, roots))
    if not alive and not spent:
        return
    if alive and (in_forward(state) or any(graphs.exists(edge) == GUESS for edge in roots)):
        return
    walk = _walk_over(state, reached)
    assumed = assumptions(graphs, reached) if alive else ()
    told = replace(incident, alive=alive, walk=walk, assumptions=assumed)
    account.claim(told, nodes, nodes, settled=not alive, since=since if alive else None, container=container)


def _walk_over(state: State, reached: dict[Node, int]) -> Walk | None:
    record: WalkRecord | None = next((r for r in reversed(state.walks) if any(n in r.reach for n in reached)), None)
    return None if record is None else record.walk


def called(account: Account, state: State, value: Value, span: Span) -> None:
    """A module's call gave `value`: in a loop, somebody should walk it."""
    if not state.turns or state.turns[-1].is_call or state.turns[-1].few or not state.grad or in_forward(state):
        return
    seen = account.called.setdefault(span, [])
    if len(seen) >= MOST:
        return
    now = state.moment(span)
    edges = roots_of(state, value)
    if not saving(account.graphs, edges):
        return
    nodes = frozenset(edge.node for edge in edges)
    before = [(turn, built) for turns, built in seen if (turn := later_turn(turns, now.turns))]
    if any(not built.isdisjoint(record.reach) for record in state.walks for _, built in before):
        account.deny(NeverWalked, span)
    elif before:
        incident = NeverWalked(now, before[0][0].loop, conditions(state), assumptions(account.graphs, nodes))
        account.claim(incident, nodes, nodes, since=0)
    seen.append((now.turns, nodes))
