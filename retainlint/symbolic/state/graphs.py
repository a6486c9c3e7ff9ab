"""Builds the core's nodes for symbolic values, and remembers of each node what the core doesn't: where, and how sure."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cache
from itertools import takewhile
from typing import TypeAlias

from retainlint.autograd.graph import Edge, Node, SavedTensor, leaf
from retainlint.autograd.operations import RESULT, UNCHECKED, Slot, rows
from retainlint.incident import STAND_INS, Moment
from retainlint.startup.records import record, replace
from retainlint.symbolic.state import events
from retainlint.symbolic.state.effort import Effort
from retainlint.symbolic.state.numbers import Taken
from retainlint.symbolic.state.state import State, ticket
from retainlint.symbolic.state.values import CONVENTIONAL, GUESS, PROVEN, HeapObj, Ref, TensorObj, UnknownObj, Value
from retainlint.text.source import Span


class Returned:
    """By the nodes that stand for what was returned; these never change, so all paths share it."""

    def __init__(self) -> None:
        self.callees: dict[Node, Value] = {}
        """What was called, where it is an object or a method of one."""
        self.criteria: set[Node] = set()
        """Calls of criteria: what they return has the graphs of what they were given, and no other."""
        self.wrapped: set[Node] = set()
        """Calls that were given a network and no data: perhaps what they return is one."""
        self.portions: dict[Node, str] = {}
        """Under which names parts were taken."""
        self.apart: set[Node] = set()
        """Of what single items were taken: perhaps that is no tensor."""
        self.needs: dict[Node, tuple[Node, ...]] = {}
        """What a root needs to have a graph, as `proof` has it."""
        self.states: set[Node] = set()
        """Parts of what a network returned that it was given back, as its state."""
        self.rooted: set[Node] = set()
        """Nodes that are known to lead to a leaf, or to a network."""


OPAQUE_CALL, PROJECTION = STAND_INS
"""The ops of nodes that stand for a call that we couldn't see, and for a part of what such a call returned."""


@record
class Birth:
    """Where a node was made and how sure we are of it: that it exists, that a gradient passes each edge, that each
    slot is filled. `operands` are where the inputs stand in the text; `assumed` words what level 1 rests on.
    `serves` tells of each slot for which of the node's edges the gradient is a function of it, None for all; of a
    node that isn't a row of the table of operations nobody knows."""

    moment: Moment
    exists: int
    passes: tuple[int, ...]
    slots: tuple[int, ...]
    operands: tuple[Span | None, ...] = ()
    operation: str = ""
    assumed: str = ""
    from_call: bool = False
    in_init: int = 0  # made while an `__init__` ran, within so many calls
    serves: tuple[tuple[int, ...] | None, ...] | None = None
    doubt: int = PROVEN  # of the operation itself
    of: int = 0  # the value that was there before it was asked for a graph


class Graphs:
    """The births of all nodes of one exploration; nodes never change, so all paths share it."""

    def __init__(self, emit: Callable[[object], None] = lambda event: None) -> None:
        self.emit = emit
        self.effort = Effort()
        self.births: dict[Node, Birth] = {}
        self.networks: dict[Node, tuple[Value, str]] = {}
        """Leaves that stand for the weights of a network that nobody sees: which, and its name."""
        self.partly: set[Node] = set()
        """Such leaves of networks of which some path has frozen a part, nobody knows which."""
        self.listed: dict[Ref, frozenset[Value]] = {}
        """Modules whose parameters somebody listed: those that are known."""
        self.modules: set[str] = set()
        """Imported things that were used as modules are, by their paths."""
        self.read: dict[tuple[int, str], Ref] = {}
        """What stands for the attributes of unknown objects that were read: by the object, and the name."""
        self.copied: dict[Node, Edge] = {}
        """Leaves that were made of the numbers of what has a graph: of which, as `nn.Parameter(x)`, `x.detach().requires_grad_()`."""
        self.cut_off: dict[Span, Edge] = {}
        """Where a tensor was cut off from its graph: from which, last."""
        self.returned = Returned()
        self.items: dict[tuple[Edge, Value], Edge] = {}
        """Items of what nobody sees: of which graph, at which place, unknown too."""
        self._unrecorded: dict[Span, dict[tuple[Span, ...], list[Edge]]] = {}
        """Where an operation left no graph under `no_grad`: through which calls it was reached, the last at the end, and of which
        graphs it computed then."""
        self._lost_with: dict[Span, dict[Span, None]] = {}
        """Where a graph was lost that is told, and where those that went into the same operation."""
        self.frozen: dict[int, Moment] = {}
        """Tensors that were asked to require no gradient: where, and through which calls, last."""
        self._thawed: dict[int, Edge] = {}
        """The leaves that they were before, and are again where they are to require one."""
        self.rewrapped: dict[Span, None] = {}
        """Calls that have made a tensor of the numbers of those in a list, which have graphs."""
        self.mixes = False
        """Whether the program computes in other precisions than the usual one: then nobody knows whether `float()` copies."""
        self.numbers = Taken()
        self._held: dict[frozenset[Hashable] | None, dict[Node, bool]] = {}
        """By some leaves whether a node leads to one of them."""

    def edge(self, state: State, value: Value) -> Edge | None:
        """Where the gradients of a value are sent. An unknown gets a graph that it may have, once."""
        obj = state.get(value)
        if isinstance(obj, TensorObj):
            return obj.edge
        if isinstance(obj, UnknownObj) and not obj.plain and obj.hint in ("", "tensor"):
            if obj.edge is None:
                assert isinstance(value, Ref)
                edge = self.unseen(
                    state, (), _made(state, obj.made), GUESS, "", from_call=obj.called, fed=obj.fed, of=value.id
                )
                state.set(value, replace(obj, edge=edge))
                return edge
            return obj.edge
        return None

    def exists(self, edge: Edge | None) -> int:
        """How sure it is that a gradient passes there."""
        return GUESS if edge is None else self.births[edge.node].exists

    def leaf(self, moment: Moment, exists: int = PROVEN, variable: Hashable | None = None) -> Edge:
        """A tensor that requires grad and was not computed; one that has a variable has been a leaf before."""
        node = leaf(ticket() if variable is None else variable)
        self.births[node] = Birth(moment, exists, (), (), operation="leaf")
        return Edge(node)

    def weights(self, moment: Moment, network: Value, name: str) -> Edge:
        """A leaf that stands for all weights of a network that nobody sees; its variable is the key of their memory."""
        edge = self.leaf(moment, CONVENTIONAL)
        self.networks[edge.node] = (network, name)
        return edge

    def unseen(
        self,
        state: State,
        inputs: Sequence[Edge],
        moment: Moment,
        level: int,
        assumed: str,
        *,
        weights: Sequence[tuple[Edge, int]] = (),
        from_call: bool = True,
        fed: bool = False,
        of: int = 0,
    ) -> Edge:
        """What a call that we can't see returns: a fresh graph over the tensors that went in, which saves them, and over
        the weights of the networks that it ran, which it saves too. Of a call of nobody knows what, it saves some."""
        saved = [SavedTensor("inputs", edge=inputs[0] if inputs else None)]
        for edge, _ in weights:
            key = edge.node.variable
            saved.append(SavedTensor("weights", key, state.ledger.version(key), edge))
        if not (weights or fed):
            saved.append(SavedTensor("weights", ticket()))
        following = (*inputs, *(edge for edge, _ in weights))
        sure = (level,) * len(inputs) + tuple(max(level, how) for _, how in weights)
        node = Node(OPAQUE_CALL, kept(state, saved), following, state.ledger.next_order())
        passes = tuple(max(how, self.exists(edge)) for edge, how in zip(following, sure, strict=True))
        inside = state.in_init
        slots = (level, *(sure[len(inputs) :] or (level,) * (len(saved) - 1)))
        self.births[node] = Birth(
            moment, level, passes, slots, (), "data" if fed else "unseen", assumed, from_call, inside, of=of
        )
        return Edge(node)

    def part(
        self,
        state: State,
        whole: Edge,
        moment: Moment,
        level: int = GUESS,
        assumed: str = "",
        *,
        operation: str = "part",
    ) -> Edge:
        """A part of what nobody sees: it may have the graph of the whole, and saves nothing. `level` is how sure that is;
        a "slice" is all of it that counts."""
        node = Node(PROJECTION, (), (whole,), state.ledger.next_order())
        self.births[node] = Birth(
            moment,
            level,
            (max(level, self.exists(whole)),),
            (),
            operation=operation,
            assumed=assumed,
            in_init=state.in_init,
        )
        return Edge(node)

    def item(self, state: State, whole: Edge, moment: Moment, index: Value | None, operation: str) -> Edge:
        """An item of what nobody sees: at one place, it is the same whenever a path asks for it."""
        known = self.items.get((whole, index)) if index is not None else None
        if known is not None and known.node.order <= state.ledger.created:
            return known
        edge = self.part(state, whole, moment, operation=operation)
        if index is not None:
            self.items[whole, index] = edge
        return edge

    def build(
        self,
        state: State,
        operation: str,
        operands: Sequence[Value],
        span: Span,
        *,
        spans: Sequence[Span | None] = (),
        doubt: int = PROVEN,
        assumed: str = "",
        storage: int | None = None,
        in_place: bool = False,
    ) -> Edge | None:
        """A node for one operation of the table; None if nothing that goes in needs a gradient.

        `doubt` is the level of the operation itself: 1 for what we only suppose to be this operation, 2 for what may do
        nothing, and pass the gradient on anyway. `storage`
        is the key of the result's memory. Build an `in_place` node before the change is recorded.
        """
        if not state.grad:
            return None
        taken = rows()[operation].takes(operands)
        edges = tuple(None if operand is None else self.edge(state, operand) for operand in taken)
        unseen = isinstance(state.get(operands[-1]), UnknownObj) and self.exists(edges[-1]) == GUESS
        if unseen and operation == "div" and edges[0] is None:
            return None  # what nobody sees, and something without a graph is divided by, is a number by convention
        if not any(edges):
            return None
        row = rows()[operation]
        filled, serving = _filled(operation, tuple(edge is not None for edge in edges))
        self._refuse_inference(state, filled, operands, span, spans)
        node = self._node(state, filled, row.node, operands, edges, storage, in_place)
        passing = PROVEN if doubt == GUESS else doubt
        passes = tuple(max(passing, self.exists(edge)) for edge in edges if edge is not None)
        slots = tuple(max(doubt, PROVEN if s.condition is None else self.exists(edges[s.condition])) for s in filled)
        operand_spans = tuple(spans[i] if i < len(spans) else None for i, e in enumerate(edges) if e is not None)
        self.births[node] = Birth(
            state.birth(span), min(passes), passes, slots, operand_spans, row.operation, assumed, False,
            state.in_init, serving, doubt,
        )  # fmt: skip
        return Edge(node)

    def _refuse_inference(
        self,
        state: State,
        filled: tuple[Slot, ...],
        operands: Sequence[Value],
        span: Span,
        spans: Sequence[Span | None],
    ) -> None:
        """Of what was made in inference mode nothing is saved."""
        for slot in filled:
            held = state.get(operands[slot.source]) if slot.source >= 0 else None
            if isinstance(held, TensorObj) and held.inference is not None:
                name = spans[slot.source] if slot.source < len(spans) else None
                self.emit(
                    events.InferenceUsed(state, name.text if name is not None else "", held.inference, span, "saved")
                )
                return

    def _node(
        self,
        state: State,
        filled: tuple[Slot, ...],
        name: str,
        operands: Sequence[Value],
        edges: tuple[Edge | None, ...],
        storage: int | None,
        in_place: bool,
    ) -> Node:
        saved: list[SavedTensor] = []
        for slot in filled:
            if slot.source == UNCHECKED:
                saved.append(SavedTensor(slot.name))
            elif slot.source == RESULT:
                version = state.ledger.version(storage) + in_place
                saved.append(SavedTensor(slot.name, storage, version, None, is_result=True))
            else:
                overwritten = in_place and slot.source == 0  # torch then saves a clone
                held = None if overwritten else storage_of(state, operands[slot.source])
                saved.append(SavedTensor(slot.name, held, state.ledger.version(held), edges[slot.source]))
        following = tuple(edge for edge in edges if edge is not None)
        return Node(name, kept(state, saved), following, state.ledger.next_order())

    def reach(self, roots: Iterable[Edge]) -> dict[Node, int]:
        """Every node that the roots lead to, with the least level of a way there: the largest on that way."""
        found: dict[Node, int] = {}
        waiting: dict[int, list[Node]] = {PROVEN: [], CONVENTIONAL: [], GUESS: []}
        births = self.births
        for edge in roots:
            waiting[births[edge.node].exists].append(edge.node)
        for level in (PROVEN, CONVENTIONAL, GUESS):
            stack = waiting[level]
            while stack:
                node = stack.pop()
                if node in found:
                    continue
                found[node] = level
                for following, passes in zip(node.next, births[node].passes, strict=True):
                    if following is not None and following.node not in found:
                        waiting[passes if passes > level else level].append(following.node)
        self.effort.add(len(found))
        return found

    def leads(self, root: Edge, target: Node) -> bool:
        """Whether there is a way from a root to a node; what was made before that can't lead there."""
        begun = -1 if target.is_leaf else target.order
        found: set[Node] = set()
        stack = [root.node]
        while stack:
            node = stack.pop()
            if node is target:
                self.effort.add(len(found))
                return True
            if node.order > begun and node not in found:
                found.add(node)
                stack += node.below
        self.effort.add(len(found))
        return False

    def flat(self, root: Edge) -> Node | None:
        """What all ways from a root to what may be trained come through, though its gradient is always zero; the nearest such."""
        found: list[Node] = []
        seen, stack = {root.node}, [root.node]
        while stack:
            node = stack.pop()
            row = rows().get(self.births[node].operation)
            if row is not None and row.nought:
                found.append(node)
            elif node.is_leaf:
                return None
            else:
                below = [edge.node for edge in node.next if edge is not None and edge.node not in seen]
                seen.update(below)
                stack += below
        self.effort.add(len(seen))
        return max(found, key=lambda node: node.order, default=None)

    def freeze(self, state: State, id: int, held: TensorObj, span: Span) -> None:
        """A leaf is asked to require no gradient."""
        self.frozen[id] = Moment(span, frames=state.calls)
        if held.edge is not None:
            self._thawed[id] = held.edge
        state.set(Ref(id), replace(held, edge=None, cut=("leaf", span), unsure=False))

    def thawed(self, id: int, moment: Moment, exists: int = PROVEN) -> Edge:
        """The leaf of what is to require a gradient: of the variable that it was before it was frozen."""
        known = self._thawed.get(id)
        return self.leaf(moment, exists, None if known is None else known.node.variable)

    def note_unrecorded(self, span: Span, calls: tuple[Span, ...], edges: list[Edge]) -> None:
        """An operation on what leads there left no graph under `no_grad`."""
        ways = self._unrecorded.setdefault(span, {})
        ways.pop(calls, None)
        ways[calls] = edges

    def note_lost_with(self, told: Span, other: Span) -> None:
        """An operation computed of what had lost its graph at two places."""
        self._lost_with.setdefault(told, {})[other] = None

    def unrecorded_with(self, cut: Moment, calls: tuple[Span, ...]) -> list[tuple[Moment, list[Edge]]]:
        """What left no graph under `no_grad` where one was lost, and what did so beside it: the nearest to some calls first, and
        of which graphs it computed."""
        spans = [cut.span, *self._lost_with.get(cut.span, ())]
        ways = [
            (_apart(way, calls), Moment(span, frames=way), edges)
            for span in spans
            for way, edges in reversed(self._unrecorded.get(span, {}).items())
        ]
        return [(at, edges) for _, at, edges in sorted(ways, key=lambda each: each[0])]

    def unrecorded_near(self, span: Span, calls: tuple[Span, ...]) -> tuple[Span, ...] | None:
        """Through which calls an operation was reached that left no graph under `no_grad`: where several have led there, those
        that are nearest to some calls, the last of them."""
        ways = reversed(self._unrecorded.get(span, {}))
        return min(ways, key=lambda way: _apart(way, calls), default=None)

    def unrecorded_apart(self, span: Span, calls: tuple[Span, ...]) -> int:
        """How many of some calls an operation stands outside of that left no graph under `no_grad`."""
        return min((_apart(way, calls) for way in self._unrecorded.get(span, ())), default=0)

    def note_copied(self, leaf: Edge | None, held: HeapObj | None) -> None:
        """A leaf was made of a tensor that had been cut off from its graph, if it had."""
        cut = held.cut if isinstance(held, TensorObj) else None
        if leaf is not None and cut is not None and (source := self.cut_off.get(cut[1])) is not None:
            self.copied[leaf.node] = source

    def copy_of(self, target: Node, among: Iterable[Node]) -> Node | None:
        """The leaf among some nodes that was made of the numbers of what leads to another node, or of such a leaf in turn."""
        for each in among:
            waiting, seen = [each], {each}
            while waiting:
                source = self.copied.get(waiting.pop())
                if source is not None and self.leads(source, target):
                    return each
                below = self.reach([source]) if source is not None else ()
                waiting += [node for node in below if node in self.copied and node not in seen]
                seen.update(waiting)
        return None

    def leads_to_leaf(self, root: Node, variables: frozenset[Hashable] | None = None) -> bool:
        """Whether a node leads to a leaf of one of these variables; without them, to any."""
        known = self._held.setdefault(variables, {})
        stack = [root]
        while stack:
            if (node := stack[-1]) in known:
                stack.pop()
                continue
            self.effort.add(1)
            below = node.below
            if node.is_leaf:
                known[node] = variables is None or node.variable in variables
            elif any(map(known.get, below)):
                known[node] = True
            elif waiting := [each for each in below if each not in known]:
                stack += waiting
            else:
                known[node] = False
        return known[root]

    def way(self, root: Edge, target: Node, level: int) -> tuple[Node, ...]:
        """The nodes from the root down to `target`, on edges no less sure than `level`; empty if there is no way."""
        came: dict[Node, Node | None] = {root.node: None}
        stack = [root.node]
        while stack:
            node = stack.pop()
            if node is target:
                break
            for edge, passes in zip(node.next, self.births[node].passes, strict=True):
                if edge is not None and passes <= level and edge.node not in came:
                    came[edge.node] = node
                    stack.append(edge.node)
        self.effort.add(len(came))
        way: list[Node] = []
        step = target if target in came else None
        while step is not None:
            way.append(step)
            step = came[step]
        return tuple(reversed(way))


def whole(node: Node) -> Node:
    """What a part is a part of; any other node itself."""
    while node.op == PROJECTION and node.next[0] is not None:
        node = node.next[0].node
    return node


def _made(state: State, span: Span) -> Moment:
    """When something was made that nobody asked for a graph before: in no turn of a loop that begins behind it."""
    now = state.moment(span)
    depth = len(state.calls)
    inside = (
        t.is_call or t.depth != depth or t.loop.source is not span.source or t.loop.start < span.start
        for t in now.iterations
    )
    return replace(
        now, iterations=tuple(iteration for iteration, holds in zip(now.iterations, inside, strict=True) if holds)
    )


Serving: TypeAlias = "tuple[tuple[int, ...] | None, ...] | None"
"""For which of a node's edges the gradient is a function of each slot; None where a slot hides its graph."""


@cache
def _filled(operation: str, needs: tuple[bool, ...]) -> tuple[tuple[Slot, ...], Serving]:
    """The slots that are filled where such operands need a gradient, and what they serve."""
    row = rows()[operation]
    last = len(row.inputs) - 1
    many = last >= 0 and row.inputs[last].endswith("*")
    filled = tuple(
        each
        for slot in row.saved(needs)
        for each in (
            [replace(slot, source=at) for at in range(last, len(needs))] if many and slot.source == last else [slot]
        )
        if each.source < len(needs)
    )
    if any(slot.computed for slot in filled):
        return filled, None
    at = {number: place for place, number in enumerate(n for n, needed in enumerate(needs) if needed)}
    serving = (None if s.serves is None else tuple(at[n] for n in s.serves if n in at) for s in filled)
    return filled, tuple(serving)


def _apart(way: tuple[Span, ...], calls: tuple[Span, ...]) -> int:
    """How many of some calls, from the innermost, another way doesn't lead through."""
    return len(calls) - sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(way, calls)))


def kept(state: State, saved: Sequence[SavedTensor]) -> tuple[SavedTensor, ...]:
    """What a node saves; nobody asks for the version of what hooks have packed."""
    return tuple(each._replace(storage=None) for each in saved) if state.packs else tuple(saved)


def storage_of(state: State, value: Value) -> int | None:
    """The key of a tensor's memory."""
    obj = state.get(value)
    if isinstance(obj, TensorObj):
        assert obj.storage is None or isinstance(obj.storage, int)
        return obj.storage
    return None
