"""What one exploration kept or built for nothing: claims, made on some path, that hold if nothing on any path denies them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from retainlint import ir, program
from retainlint.autograd.graph import Edge, Node
from retainlint.incident import (
    BackwardPass,
    Condition,
    Cycle,
    Iteration,
    Kept,
    NeverBackpropagated,
    NeverZeroed,
    Retained,
    ThrownAway,
    Waste,
)
from retainlint.ir import facts
from retainlint.startup.records import record
from retainlint.symbolic.state import coverage, limits, reachability
from retainlint.symbolic.state.classes import is_module
from retainlint.symbolic.state.coverage import BACKWARD_NAMES, Arms, count, names_leading_to_backward
from retainlint.symbolic.state.graphs import OPAQUE_CALL, Graphs
from retainlint.symbolic.state.state import BackwardRecord, Choice, Flow, Frame, State
from retainlint.symbolic.state.values import CONVENTIONAL, GUESS, NONE, Ref, Tuple, Value
from retainlint.text.source import Span

OWNERS = frozenset(("self", "cls", "torch", "nn", "F", "np"))
"""Names that say nothing of the graph of what is written behind their dot."""

Stored = Mapping[tuple[int | None, Span], Sequence[tuple[tuple[Iteration, ...], Node, int]]]


@record
class Used:
    """The places at which something was built, or put, that is walked; and the calls in which it was built."""

    places: frozenset[Span] = frozenset()
    calls: frozenset[tuple[Span, ...]] = frozenset()


def used_elsewhere(graphs: Graphs, backpropagated: Mapping[Node, int], stored: Stored) -> Used:
    """Where somebody walks what is built, or was put into a container; `walked` says when a node was last walked."""
    put = (
        span for (_, span), items in stored.items() if any(backpropagated.get(node, 0) > at for _, node, at in items)
    )
    built = [graphs.births[node].moment for node in backpropagated if not node.is_leaf]
    return Used(frozenset(chain(put, (each.span for each in built))), frozenset(each.frames for each in built))


def is_used(incident: Waste, used: Used) -> bool:
    """Whether a graph that is kept for nothing in one call is walked in another: then the function is there to train."""
    if not isinstance(incident, Kept) or not incident.alive:
        return False
    frames = incident.kept.frames
    names = {_callee(each) for each in used.calls} - {""}
    return incident.kept.span in used.places or (frames not in used.calls and _callee(frames) in names)


def _callee(frames: tuple[Span, ...]) -> str:
    """How the innermost of some calls names the function."""
    return frames[-1].text.partition("(")[0].rpartition(".")[2].strip() if frames else ""


def may_happen(incident: Waste, settled: bool, untaken: frozenset[str], hides_backward: bool) -> bool:
    """Whether an arm that no path took may use what a claim says that nobody uses."""
    match incident:
        case NeverZeroed() | ThrownAway() | Cycle():
            return hides_backward or not untaken.isdisjoint(("zero_grad", "grad"))
        case (
            Kept(holder=text, alive=True)
            | Kept(holder=text, stored=True)
            | Retained(backward_pass=BackwardPass(root=text))
        ):
            return hides_backward or not (untaken - OWNERS).isdisjoint(_holding(text))
    return hides_backward and not settled


def _holding(text: str) -> frozenset[str]:
    """The names in an expression that aren't called."""
    found = facts.of_text(text)
    return found.names - {each.name for each in found.calls}


_BINDS = (ir.Store, ir.SetAttr, ir.SetItem)

_USES = (*_BINDS, ir.GetAttr, ir.GetItem, ir.Binary, ir.Unary, ir.Compare, ir.Call, ir.Build, ir.Unpack)
"""What can't be meant of None; to return it, or to ask whether it is true, may be."""


def is_dropped(code: ir.Code, call: Span) -> bool:
    """Whether the call at `call` is a statement of its own."""
    results, readers = _uses(code)
    return call in results and not readers.get(results[call])


def user(code: ir.Code, call: Span) -> tuple[ir.Instr, Span | None] | None:
    """What uses the result of the call at `call`, and the target that it is bound to, if it is."""
    results, readers = _uses(code)
    for instr in readers.get(results.get(call, -1), ()):
        if isinstance(instr, _USES) and not (isinstance(instr, ir.Store) and instr.name.startswith("_")):
            return instr, instr.span if isinstance(instr, _BINDS) else None
    return None


def _uses(code: ir.Code) -> tuple[dict[Span, int], dict[int, list[ir.Instr]]]:
    """Where each call's result goes, and who reads what; it is noted on the code, which each trial asks anew."""
    found: tuple[dict[Span, int], dict[int, list[ir.Instr]]] | None = code.uses
    if found is None:
        results: dict[Span, int] = {}
        readers: dict[int, list[ir.Instr]] = {}
        for instr in ir.walk(code.body):
            if isinstance(instr, ir.Call):
                results[instr.span] = instr.dst
            for register in ir.READS[type(instr)](instr):
                readers.setdefault(register, []).append(instr)
        found = code.uses = results, readers
    return found


Ways = list[tuple[State, Value]]


@record(eq=False)
class Claim:
    """An incident that holds unless a walk after `at` reaches one of `nodes`.

    If it is not `settled`, nothing may have been left unseen in its entry, and none of the nodes in `held` may be where
    somebody out of sight might walk it.
    """

    incident: Waste
    nodes: frozenset[Node]
    held: frozenset[Node]
    at: int
    entry: int
    settled: bool = False
    container: int | None = None  # the list that holds it, which must not shrink


class Claims:
    """The claims of one exploration, and what denies them. All paths share it; time is counted in events.

    A path's events come in its own order. Where two paths mix, a walk of the one may deny the claim of the other:
    that costs a finding, never makes a false one.
    """

    def __init__(self, graphs: Graphs, opened: set[Node]) -> None:
        """`opened` are nodes of whose graphs unseen parts were taken."""
        self.graphs, self.opened = graphs, opened
        self.arms = Arms()
        self.clock = 0
        self.entry = 0
        self.in_module = True
        self.claims: list[Claim] = []
        self._marks: list[int] = []
        self.denied: set[tuple[type, Span]] = set()
        self.spoilt: set[int] = set()
        self.dropped: set[int] = set()  # entries of whose conditions some answers were not followed
        self.pruned: set[int] = set()  # entries of whose paths some were not followed
        self.returned: set[int] = set()  # entries whose result has a graph
        self.unseen: dict[int, set[str]] = {}  # by entry, functions of the program that were not followed
        self.backward_passes: list[tuple[int, BackwardRecord]] = []
        self.survived: dict[Span, dict[tuple[Iteration, ...], list[tuple[Choice, ...]]]] = {}
        """By place and iterations, what the paths had chosen whose backward pass there didn't fail."""
        self.given_away: dict[Node, None] = {}
        self.shrunk: set[int] = set()
        self.stored: dict[tuple[int | None, Span], list[tuple[tuple[Iteration, ...], Node, int]]] = {}
        self.resets: dict[tuple[Span, str], Span | None] = {}  # by loop and name, where a total begins anew
        self.joined: dict[Span, set[int]] = {}  # the lists that a `+` made, by its place
        self.called: dict[Span, list[tuple[tuple[Iteration, ...], frozenset[Node]]]] = {}
        self.cleared: dict[int, int] = {}  # by entry, when gradients were last set to None
        self.opaque: dict[int, int] = {}  # by entry, when something unseen was last called

    # -- what happens ---------------------------------------------------------------------------------------------

    def tick(self) -> int:
        self.clock += 1
        return self.clock

    def begin(self) -> None:
        """A new entry."""
        self.entry += 1
        self.in_module = False

    def spoil(self) -> None:
        """This entry was not followed to its end, or something in it was not followed."""
        self.spoilt.add(self.entry)

    def is_cut_short(self, code: ir.Code, backpropagated: set[Span]) -> bool:
        """Whether a backward pass in a function's own body wasn't executed, and a path that was given up may have come to it."""
        arms = Arms() if self.dropped else self.arms
        return coverage.is_cut_short(code, backpropagated, arms)

    def prune(self, whole: bool) -> None:
        """Paths of this entry were given up; unless the others are the `whole`, with them an answer to some condition:
        it may have led to a walk."""
        self.pruned.add(self.entry)
        if not whole:
            self.dropped.add(self.entry)

    def survive(self, state: State, record: BackwardRecord) -> None:
        """A backward pass has succeeded."""
        moment = record.backward_pass.moment
        paths = self.survived.setdefault(moment.span, {}).setdefault(moment.iterations, [])
        if len(paths) < limits.SURVIVORS:
            paths.append(state.choices)

    def leave_unseen(self, name: str, edges: Iterable[Edge]) -> None:
        """A function of the program, of this name, was not followed; these graphs are in its hands."""
        self.unseen.setdefault(self.entry, set()).add(name)
        self.give(edges)

    def give(self, edges: Iterable[Edge]) -> None:
        """Graphs were handed to somebody whom we can't see."""
        self.given_away.update((edge.node, None) for edge in edges)

    def call_unseen(self) -> None:
        """Something that we can't see ran: it may have zeroed or set gradients."""
        self.opaque[self.entry] = self.tick()

    def clear(self) -> None:
        """Some gradients were set to None."""
        self.cleared[self.entry] = self.tick()

    def claim(
        self,
        incident: Waste,
        nodes: Iterable[Node] = (),
        held: Iterable[Node] = (),
        *,
        settled: bool = False,
        since: int | None = None,
        container: int | None = None,
    ) -> None:
        at = self.clock if since is None else since
        self.claims.append(Claim(incident, frozenset(nodes), frozenset(held), at, self.entry, settled, container))

    def mark(self) -> None:
        """What is claimed from here on may be forgotten."""
        self._marks.append(len(self.claims))

    def forget_since_mark(self) -> None:
        """Forget what was claimed since the last mark that is left."""
        del self.claims[self._marks.pop() :]

    def deny(self, kind: type, place: Span) -> None:
        """On this path, what others claim at `place` doesn't hold."""
        self.denied.add((kind, place))

    def leave(self, ways: Ways, *holders: Value) -> None:
        """An entry has ended: what its result, its object and the module hold, others may walk."""
        if any(claim.entry == self.entry and not claim.settled for claim in self.claims):
            for state, value in ways:
                flow, state.flow = state.flow, Flow("return", Tuple((value, *holders)))
                held = reachability.nodes(state)
                self.graphs.effort.add(len(held))
                self.given_away.update(dict.fromkeys(held))
                state.flow = flow
                if roots_of(state, value):
                    self.returned.add(self.entry)

    # -- what came of it ------------------------------------------------------------------------------------------

    def incidents(self, program: program.Program, reaches: Callable[[str], bool] | None) -> list[Waste]:
        """The incidents whose place nothing denies; not in other modules, since who else uses these isn't known.

        `reaches` says whether a walk may be reached from a function of some name; None where there are no other modules.
        """
        if not self.claims:
            return []
        waiting = {claim.entry for claim in self.claims if not claim.settled} - self.spoilt
        leads = reaches or names_leading_to_backward(program).__contains__
        self.spoilt |= {entry for entry in waiting if any(map(leads, self.unseen.get(entry, ())))}
        # what a path that was given up would have returned, nobody has shown
        self.spoilt |= self.pruned & self.returned
        if self.dropped and not self._is_sole(program):
            self.spoilt |= self.dropped
        backpropagated: dict[Node, int] = {}
        for at, backward_pass in self.backward_passes:
            backpropagated.update(dict.fromkeys(backward_pass.reach, at))
        away = self.graphs.reach([Edge(node) for node in (*self.given_away, *self.opened)])
        untaken = self.arms.untaken()
        hides_backward = not untaken.isdisjoint(names_leading_to_backward(program) if untaken else BACKWARD_NAMES)
        kept = any(isinstance(claim.incident, Kept) for claim in self.claims)
        used = used_elsewhere(self.graphs, backpropagated, self.stored) if kept else Used()
        holding: list[Waste] = []
        for claim in self.claims:
            place = type(claim.incident), claim.incident.primary
            if self._is_refuted(claim, backpropagated) or is_used(claim.incident, used):
                self.denied.add(place)
            elif not self._is_doubtful(claim, away) and not may_happen(
                claim.incident, claim.settled, untaken, hides_backward
            ):
                holding.append(claim.incident)
            elif not isinstance(claim.incident, Kept):
                self.denied.add(place)
        found = [i for i in holding if (type(i), i.primary) not in self.denied and i.primary.source is program.source]
        first: dict[Span, int] = {}
        for incident in found:
            if isinstance(incident, NeverBackpropagated):
                first.setdefault(incident.loop, incident.primary.start)
        return [i for i in found if not isinstance(i, NeverBackpropagated) or i.primary.start == first[i.loop]]

    def _is_sole(self, program: program.Program) -> bool:
        """Whether one walk is all that there is: what a path that was given up would have walked, others have shown."""
        return (
            count(program) == 1
            and len({backward_pass.backward_pass.moment.span for _, backward_pass in self.backward_passes}) == 1
        )

    def _is_refuted(self, claim: Claim, backpropagated: dict[Node, int]) -> bool:
        """Whether it was needed, or is let go."""
        if claim.container in self.shrunk or any(backpropagated.get(node, 0) > claim.at for node in claim.nodes):
            return True
        if isinstance(claim.incident, Cycle | NeverZeroed):
            return max(self.opaque.get(claim.entry, 0), self.cleared.get(claim.entry, 0)) > claim.at
        return False

    def _is_doubtful(self, claim: Claim, away: dict[Node, int]) -> bool:
        """Whether somebody out of sight may need it."""
        if claim.settled:
            return False
        is_cut_off = claim.entry in self.dropped and bool(claim.incident.conditions)  # its path may be one of those
        return is_cut_off or claim.entry in self.spoilt or not claim.held.isdisjoint(away)


# -- what several kinds of claims ask ---------------------------------------------------------------------------------


def conditions(state: State) -> tuple[Condition, ...]:
    return tuple(choice.condition for choice in state.choices)


def assumptions(graphs: Graphs, nodes: Iterable[Node]) -> tuple[str, ...]:
    """What a claim over these nodes takes for granted, in words."""
    ordered = sorted(nodes, key=lambda node: node.order)
    return tuple(dict.fromkeys(text for node in ordered if (text := graphs.births[node].assumed)))[
        : limits.ASSUMPTIONS_SHOWN
    ]


def is_foreign(graphs: Graphs, node: Node) -> bool:
    """Whether a node stands for a graph that others may hold too: what came in from outside and is not plain data."""
    birth = graphs.births[node]
    return node.op == OPAQUE_CALL and birth.exists == GUESS and birth.operation != "data"


def later_iteration(before: tuple[Iteration, ...], now: tuple[Iteration, ...]) -> Iteration | None:
    """The turn of `now` in which it is further than `before`, if both are in the same loops and it is a real loop
    of many turns."""
    if len(before) != len(now):
        return None
    for old, new in zip(before, now, strict=True):
        if old is new:
            continue
        if old.loop != new.loop:
            return None
        if old.number != new.number:
            return new if new.number > old.number and not new.is_call and not new.few else None
    return None


def in_forward(state: State) -> bool:
    """Whether a module computes its result: what is collected there lives as long as that result."""
    frames = (state.frames[id] for id in state.stack)
    return any(
        each.code.name == "forward" or (each.code.name == "__call__" and is_module(state, _first(each)))
        for each in frames
    )


def may_be_trained_elsewhere(state: State) -> bool:
    """Whether a module's method computes its result, and nobody here has trained anything: another file may."""
    owner = state.frame.code.qualname.rpartition(".")[0]
    is_method = owner != "" and not owner.endswith("<locals>")
    return is_method and not state.backward_passes and is_module(state, _first(state.frame))


def _first(frame: Frame) -> Value:
    """What a function was given first, if it is bound still."""
    return frame.names.get(frame.code.params[0].name, NONE) if frame.code.params else NONE


def saving(graphs: Graphs, roots: Iterable[Edge], level: int = CONVENTIONAL) -> list[Node]:
    """The nodes below some roots that exist and save, at most so unsure."""
    return [
        node
        for node, way in graphs.reach(roots).items()
        if node.saved and max(way, graphs.births[node].exists, *graphs.births[node].slots[:1]) <= level
    ]


def roots_of(state: State, value: Value, depth: int = 1) -> list[Edge]:
    """The graphs of a tensor, or of the tensors in a tuple; with more `depth`, of those in lists and dicts too. What is held
    in several places is gone into once, unless it lies less deep there: a list may hold itself."""
    return [*_roots(state, value, depth, {})]


def _roots(state: State, value: Value, depth: int, known: dict[int, int]) -> Iterator[Edge]:
    """`known` says how much depth was left in each list, dict and tuple."""
    held = state.get(value) if isinstance(value, Ref) else None
    edge = getattr(held, "edge", None)
    if isinstance(edge, Edge):
        yield edge
        return
    parts = state.parts(value) if depth > 1 or isinstance(value, Tuple) else ()
    key = -value.id if isinstance(value, Ref) else id(value)
    if depth > known.get(key, 0):
        known[key] = depth
        for part in parts:
            yield from _roots(state, part, depth - 1, known)
