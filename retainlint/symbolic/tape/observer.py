"""What a walk frees and what it is refused: a refusal that we are sure enough of becomes an incident."""

from __future__ import annotations

from functools import cached_property

from retainlint.autograd import engine
from retainlint.autograd.errors import FreedError, GraphError, ModifiedError
from retainlint.autograd.graph import Edge, Node, SavedTensor
from retainlint.incident import BackwardPass
from retainlint.startup.records import record
from retainlint.symbolic.solver import intervals, loop_periods, trials
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.events import UNWRITTEN, Flags, Reused, SavedModified
from retainlint.symbolic.state.graphs import OPAQUE_CALL
from retainlint.symbolic.state.protocol import Machine
from retainlint.symbolic.state.state import BackwardRecord, Change, State
from retainlint.symbolic.state.values import CONVENTIONAL, GUESS, PROVEN, Value
from retainlint.symbolic.tape import confidence
from retainlint.symbolic.tape.confidence import Certainty
from retainlint.text.source import Span


@record
class Request:
    """One call of backward or grad: from where, how, and what it is called in the text."""

    roots: tuple[Value, ...]
    text: str
    span: Span
    retain: bool
    create: bool
    targets: tuple[Edge, ...] | None
    accumulate: bool
    seeds: tuple[Edge | None, ...] = ()  # the graphs of the gradients that the walk starts from
    written: Flags = UNWRITTEN
    keeps: Value | None = None


class Refused(Exception):
    """A failure that the program expects: the walk ends here."""

    def __init__(self, error: type[GraphError], failure: Reused | SavedModified | None) -> None:
        self.error, self.failure = error, failure


class BackwardObserver(engine.Observer):
    """Sees what is freed and refused; a refusal that we are sure enough of becomes an incident."""

    def __init__(
        self, machine: Machine, state: State, request: Request, roots: tuple[Edge, ...], backward_pass: BackwardPass
    ) -> None:
        self.machine, self.state, self.request, self.roots = machine, state, request, roots
        self.backward_pass = backward_pass
        self.reach = machine.graphs.reach(roots)
        machine.graphs.effort.add(len(self.reach) * limits.BACKWARD_EFFORT)
        self.newly_freed: set[Node] = set()
        self.implied: dict[tuple[tuple[Edge, ...], bool], tuple[tuple[Node, ...], frozenset[Node]]] = {}
        self.levels: dict[tuple[Edge, ...], dict[Node, int]] = {}
        self.failed = False
        self.gone: set[Node] = set()  # what was found to be freed
        self.changed = 0  # how many of what was saved were told to have changed

    def freed(self, node: Node) -> None:
        self.newly_freed.add(node)

    def refused(self, node: Node, saved: SavedTensor, error: GraphError) -> None:
        if isinstance(error, FreedError):
            self._freed_before(node)
        else:
            self._modified(node, saved)

    def _freed_before(self, node: Node) -> None:
        state = self.state
        if node in state.reported:
            return
        record = next(r for r in reversed(state.backward_passes) if node in r.freed)
        if self._level(node, record) > CONVENTIONAL:
            return
        self._note_failure(node)
        is_told = self.is_possible and not loop_periods.may_have_renewed(
            self.machine, state, node, self.backward_pass.moment.span.text
        )
        if state.guards:
            raise Refused(FreedError, Reused(state.fork(), node, record, self.record()) if is_told else None)
        if is_told:
            self.machine.events.emit(Reused(state, node, record, self.record()))
        self.failed = True
        gone = record.freed
        if record.backward_pass.moment.span != self.backward_pass.moment.span:
            gone &= self.reach.keys()  # what else it freed may fail elsewhere, for another reason
        self.gone |= gone
        state.ledger.revive(gone)
        state.reported |= gone

    def _note_failure(self, node: Node) -> None:
        """Remember in which iterations it failed first at what was built at the same place."""
        moment, built = self.backward_pass.moment, self.machine.graphs.births[node].moment.span
        self.machine.failed.setdefault((moment.span, built), moment.numbers)

    def _level(self, node: Node, record: BackwardRecord) -> int:
        """How sure we are that both walks pass here and that something was saved; no surer than it has to be."""
        birth = self.machine.graphs.births[node]
        level = max(
            self.reach.get(node, GUESS), record.reach.get(node, GUESS), birth.exists, min(birth.slots, default=PROVEN)
        )
        if record.uncertain and self.request.seeds:  # it may have failed for want of them
            return GUESS
        if trials.is_out_of_step(self.state, record.backward_pass.moment.span):
            return GUESS
        if level < GUESS:
            return level
        proven = self._proven(node, record)
        return proven if proven <= CONVENTIONAL else self._levels(record).get(node, GUESS)

    def _levels(self, record: BackwardRecord) -> dict[Node, int]:
        """How sure what walks prove makes it that this one comes where another was."""
        if record.uncertain:
            return {}
        if (found := self.levels.get(record.roots)) is None:
            found = self.levels[record.roots] = self.certainty.levels(record.roots, self.roots)
        return found

    @cached_property
    def certainty(self) -> Certainty:
        """What the walks of this path prove; this one fails in another way if its root has no graph."""
        ran = [each.roots for each in self.state.backward_passes if not each.uncertain]
        return Certainty(self.machine.graphs, [*ran, () if self.state.guards else self.roots])

    @cached_property
    def reached(self) -> dict[Node, int]:
        """How sure what walks prove makes it that this one comes to each node."""
        return self.certainty.reached(self.roots)

    def _proven(self, node: Node, record: BackwardRecord) -> int:
        """How sure a walk that ran makes it that its root had a graph, and `node` in it."""
        graphs, first = self.machine.graphs, record.roots[0].node
        needed, implied = self._implied(record)
        if node in implied:
            return CONVENTIONAL  # all that alone can have given it a graph
        if not needed:
            return GUESS
        above = graphs.way(Edge(needed[-1]), node, GUESS)
        is_below = graphs.births[node].from_call and bool(node.next) and all(not n.saved for n in above[:-1])
        if node.op == OPAQUE_CALL and (node is first or is_below):
            return CONVENTIONAL  # the first walk ran, so its root had a graph
        return GUESS

    def _implied(self, record: BackwardRecord) -> tuple[tuple[Node, ...], frozenset[Node]]:
        """What a walk that ran proves to have had a graph, if this one surely comes there too."""
        if (found := self.implied.get((record.roots, record.uncertain))) is None:
            graphs, needed = self.machine.graphs, confidence.needed(self.machine.graphs, record.roots[0])
            carried = not record.uncertain and not self.certain.isdisjoint(needed)
            if carried or set(self.roots) == set(record.roots):
                alone = (confidence.implied(graphs, root) for root in (*record.roots, Edge(needed[-1])))
                found = needed, frozenset[Node]().union(*alone)
            else:
                alone = (
                    confidence.implied(graphs, root, self.certain) for root in record.roots if not record.uncertain
                )
                found = (), frozenset[Node]().union(*alone)
            self.implied[record.roots, record.uncertain] = found
        return found

    @cached_property
    def certain(self) -> frozenset[Node]:
        """What this walk surely comes to, if that has a graph."""
        return confidence.certain(self.machine.graphs, self.roots)

    def _modified(self, node: Node, saved: SavedTensor) -> None:
        state = self.state
        if self.changed >= limits.CHANGES_TOLD:
            return
        birth = self.machine.graphs.births[node]
        level = max(self.reach.get(node, GUESS), birth.exists, birth.slots[node.saved.index(saved)])
        if level == GUESS and birth.slots[node.saved.index(saved)] < GUESS:
            level = self.reached.get(node, GUESS)
        change = change_of(state, node, saved)
        before = next((r for r in reversed(state.backward_passes) if set(r.roots) == set(self.roots)), None)
        if level == GUESS and before is not None:
            level = self._proven(node, before)
            moved = {each.storage for each in state.changes if each.by_step and each.created >= before.created}
            seen = birth.slots[node.saved.index(saved)] <= CONVENTIONAL
            if seen and any(confidence.is_behind_weights(self.machine.graphs, root, moved) for root in self.roots):
                level = CONVENTIONAL
        if change is not None and not (change.level == GUESS and before is not None and _is_behind(change, before)):
            level = max(level, change.level)
        key = (node, saved.storage)
        if level > CONVENTIONAL or key in state.reported or node in state.reported or self.failed:
            return
        self._note_failure(node)
        if state.guards:
            told = SavedModified(state.fork(), node, saved, self.record()) if self.is_possible else None
            raise Refused(ModifiedError, told)
        if self.is_possible:
            self.machine.events.emit(SavedModified(state, node, saved, self.record()))
            self.changed += 1
        state.reported |= {key}

    @cached_property
    def is_possible(self) -> bool:
        """Whether the program can come here at all, with one choice of the numbers that nobody knows."""
        self.machine.graphs.effort.add(len(self.state.truths) * limits.CONDITION_EFFORT)
        return intervals.is_consistent(self.state) and trials.is_possible(self.state.truths)

    def record(self) -> BackwardRecord:
        request = self.request
        freed = frozenset(self.newly_freed)
        created = self.state.ledger.created
        return BackwardRecord(
            self.backward_pass, self.reach, freed, created, self.roots, request.targets, request.accumulate, request.create,
            keeps=request.keeps,
        )  # fmt: skip


def _is_behind(change: Change, backward_pass: BackwardRecord) -> bool:
    """Whether a step came behind a walk, and so moves some of the weights that this gave gradients to."""
    return change.by_step and change.created >= backward_pass.created


def change_of(state: State, node: Node, saved: SavedTensor) -> Change | None:
    """Which change of what a node saved is told: the last of those that are the surest."""
    since = [c for c in state.changes if c.storage == saved.storage and c.created >= node.order]
    return min(reversed(since), key=lambda change: change.level, default=None)
