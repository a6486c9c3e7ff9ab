"""Tells a refusal as an incident: the places that matter to the reader, the conditions that it needs, and the proof."""

from __future__ import annotations

from collections.abc import Iterator

from retainlint.autograd.graph import Edge, Node, SavedTensor
from retainlint.autograd.operations import rows
from retainlint.incident import (
    BackwardPass,
    Freed,
    Holder,
    InferenceUsed,
    Iteration,
    LeafModified,
    Modified,
    Moment,
    NoGraph,
    Refused,
    ViewModified,
)
from retainlint.startup.records import replace
from retainlint.symbolic.detectors import conditions, holders, usage, witness
from retainlint.symbolic.detectors.holders import later
from retainlint.symbolic.models.unknown import weights
from retainlint.symbolic.solver.decisions import loops_of
from retainlint.symbolic.state import events
from retainlint.symbolic.state.graphs import Birth, Graphs
from retainlint.symbolic.state.protocol import Machine
from retainlint.symbolic.state.state import BackwardRecord, Change, State
from retainlint.symbolic.state.values import CONVENTIONAL, GUESS, Const
from retainlint.symbolic.tape.observer import change_of


def freed(machine: Machine, state: State, node: Node, first: BackwardRecord, second: BackwardRecord) -> None:
    """Report that `second` needs what `first` freed at `node`."""
    then, now = first.backward_pass.moment, second.backward_pass.moment
    if _is_called_once(machine, node, then, second) or (way := _way(machine, state, node, first, second)) is None:
        return
    graphs, birth = machine.graphs, machine.graphs.births[node := way[-1]]
    begun, root = conditions.loop_begun(then, now), second.backward_pass.root
    if _may_be_cut_off(machine, state, first, now) or _may_be_kept(machine, state, first, second, now, begun):
        return
    if conditions.is_of_a_made_key(state, begun, now):
        machine.leave_unjudged(now.span, "it isn't known whether the key comes again by which it is kept")
        return
    via, name = _via(graphs, way, first, second)
    above = [each for each in way if each not in first.reach]
    comparisons = [usage.comparison(graphs, each, node) for each in (first, second)]
    incident = Freed(
        op=node.op,
        saved=_saved(graphs, node),
        built=birth.moment,
        freed=first.backward_pass,
        reused=second.backward_pass,
        via=via,
        name=name or (root if root.isidentifier() and len(way) == 1 else ""),
        same_root=set(first.roots) == set(second.roots),
        conditions=(*conditions.since_begun(state, begun, first.keeps), *conditions.of_loop(then, now)),
        scheduled=isinstance(first.keeps, Const),
        counted=(counted := _is_counted(first, then, now)),
        assumptions=(*_assumptions(graphs, (*way, node)), *_iterations(then, now, counted), *_tried(first)),
        in_closure=_in_closure(birth.moment, now),
        in_init=_in_init(birth, then, now),
        foreign=(foreign := usage.foreign(graphs, state, node, first, second)),
        astray=usage.astray(graphs, state, node, first, second) if foreign else None,
        stepped=usage.stepped(state, first),
        elsewhere=usage.steps_elsewhere(state, first, second),
        apart=usage.is_apart(state, first),
        left=usage.has_left_gradients(state, first, second),
        zeroed=usage.zeroed(state, first),
        in_turn=usage.is_in_turn(state, first),
        weight=usage.weighing(graphs, node, first, second),
        aside=usage.is_aside(graphs, state, node, first, second) or all(comparisons),
        target=usage.target(graphs, comparisons),
        regressed=usage.is_regressed(graphs, way, first),
        predicted=usage.is_predicted(graphs, way, first),
        joint=usage.is_joint(state, first, second),
        whole=usage.is_whole(way, first),
        part=usage.is_part(second, first),
        trained=usage.trained(graphs, state, node, first, second, way),
        unowned=usage.is_unowned(graphs, state, node),
        total=usage.is_total(above),
        averaged=usage.is_average(above),
        term=usage.is_term(graphs, way, first),
        fed=usage.is_fed(graphs, way, first),
        by_item=usage.is_by_item(graphs, way, first, second),
        sought=usage.is_sought(graphs, way, first, second),
        cached=usage.is_cached(graphs, way, first),
        holders=_holders(machine, state, birth.moment, first, now),
        aggregates=holders.aggregates(state),
        numbers=holders.numbers(state),
    )
    machine.report(incident, lambda: witness.of_freed(graphs, first, second, node), _leaves(graphs, node, foreign))


def _leaves(graphs: Graphs, node: Node, foreign: bool) -> frozenset[Node]:
    """Those of a graph that is another network's."""
    return frozenset(each for each in (graphs.reach([Edge(node)]) if foreign else ()) if each.is_leaf)


def _way(
    machine: Machine, state: State, node: Node, first: BackwardRecord, second: BackwardRecord
) -> tuple[Node, ...] | None:
    """The nodes by which the second backward pass comes to what the first has freed. Where it comes there by an item that was
    read by a key which nobody knows, to what all that may be meant have in common; None where that is nothing, unless each
    leads to some of it."""
    graphs, then, now = machine.graphs, first.backward_pass.moment, second.backward_pass.moment

    def led(to: Node) -> tuple[Node, ...]:
        level = max(second.reach.get(to, CONVENTIONAL), CONVENTIONAL)
        return next((w for root in second.roots if (w := graphs.way(root, to, level))), (to,))

    found: tuple[Node, ...] | None = led(node)
    is_one = found is not None and _is_of_another(machine, state, found, then, now)
    if found is not None and is_one and not _leads_there_anyhow(machine, state, found, first):
        common = _common(machine, state, found, first, second)
        found = led(common) if common is not None else None
        if found is None or _is_of_another(machine, state, found, then, now):
            machine.leave_unjudged(now.span, "it isn't known which of many items is read there")
            return None
    if any(not state.base.flagged.isdisjoint(state.base.read_in.get(each, ())) for each in found or ()):
        machine.leave_unjudged(now.span, "it isn't known which of many items are left out there")
        return None
    return found


def _is_of_another(machine: Machine, state: State, way: tuple[Node, ...], then: Moment, now: Moment) -> bool:
    """Whether the graph is that of an item which an iteration read by a key that nobody knows, and not of all that may be
    meant: another iteration may read another."""
    further = later(then, now)
    read = [each for each in way if each in state.base.may_be_others] if further is not None else []
    return further is not None and any(_is_apart(machine, state, each, way, further) for each in read)


def _leads_there_anyhow(machine: Machine, state: State, way: tuple[Node, ...], first: BackwardRecord) -> bool:
    """Whether each item that may be meant in place of one that was read leads to what a backward pass has freed."""
    graphs, base = machine.graphs, state.base
    read = [each for each in way if each in base.may_be_others]
    if any(each in base.among_unseen for each in read):
        return False
    others = {edge for each in read for edges in base.may_be_others[each].values() for edge in edges}
    return bool(others) and all(
        any(
            each.saved and max(level, first.reach.get(each, GUESS)) <= CONVENTIONAL and each in first.freed
            for each, level in graphs.reach([other]).items()
        )
        for other in others
    )


def _common(
    machine: Machine, state: State, way: tuple[Node, ...], first: BackwardRecord, second: BackwardRecord
) -> Node | None:
    """What the first backward pass has freed as well that the second needs, whichever of the items was read: what lies below the
    others, too, or, where none is known, what wasn't made with the item."""
    graphs, births = machine.graphs, machine.graphs.births
    both = first.freed.intersection(second.reach)
    below = {node for node in both if max(first.reach.get(node, GUESS), second.reach[node]) <= CONVENTIONAL}
    for item in way:
        others = {edge for edges in state.base.may_be_others.get(item, {}).values() for edge in edges}
        for other in others:
            below &= graphs.reach([other]).keys()
        if not others and item in state.base.may_be_others:
            made = births[item].moment.iterations
            below = {each for each in below if births[each].moment.iterations != made}
    return max(below, key=lambda node: node.order, default=None)


def _is_apart(machine: Machine, state: State, item: Node, way: tuple[Node, ...], further: Iteration) -> bool:
    """Whether what an item leads to isn't below all others among which it stands; of many that a loop made one by one, whether
    it was made with the item, and not in the loop that goes on."""
    graphs, births = machine.graphs, machine.graphs.births
    row = rows().get(births[item].operation)
    if row is not None and "list" in row.result:
        return False  # its pieces are one node's
    known = state.base.may_be_others[item]
    if others := known.get(further.loop, known.get(None)):
        return any(way[-1] not in graphs.reach([other]) for other in others)
    made = births[way[-1]].moment.iterations
    loops = {each.loop for each in made if not each.is_call}
    is_outside = bool(loops) and further.loop not in loops
    return is_outside and births[item].moment.iterations == made


def _may_be_kept(
    machine: Machine, state: State, first: BackwardRecord, second: BackwardRecord, now: Moment, begun: int
) -> bool:
    """Whether a program asks something that nobody sees in each iteration whether to keep the graph: it has its reasons."""
    asks = first.keeps is not None and (
        conditions.is_fleeting(state, first.keeps, begun) or conditions.is_asked_anew(state, first, second)
    )
    if asks:
        machine.leave_unjudged(now.span, "whether its graph is kept is asked in each iteration, of what isn't known")
    return asks


def _may_be_cut_off(machine: Machine, state: State, first: BackwardRecord, now: Moment) -> bool:
    """Whether a graph that an earlier backward pass has freed is held by what some items were cut off of, nobody knows which."""
    graphs, then = machine.graphs, first.backward_pass.moment

    def is_spoilt(edge: Edge) -> bool:
        return any(not each.is_leaf and each in first.reach for each in graphs.reach([edge]))

    seen = state, machine.imports.frames, then, now
    if cut := holders.cut_off(*seen, is_spoilt) if state.base.weak_cuts else ():
        names = " and ".join(f"`{each}`" for each in cut)
        machine.leave_unjudged(now.span, f"it isn't known which items of {names} are cut off")
    return bool(cut)


def _holders(machine: Machine, state: State, built: Moment, first: BackwardRecord, now: Moment) -> tuple[Holder, ...]:
    """What holds a graph which an earlier backward pass has freed; by now it may hold what this iteration has made in its
    stead."""
    graphs = machine.graphs

    def holds(edge: Edge) -> bool:
        return any(not each.is_leaf and each in first.reach for each in graphs.reach([edge]))

    def holds_successor(edge: Edge) -> bool:
        made = (graphs.births[each].moment.span for each in graphs.reach([edge]) if each not in first.reach)
        return built.span in made

    carried = state, machine.imports.frames, built, first.backward_pass.moment, now
    return holders.holders(*carried, holds) or tuple(
        replace(each, gathers=False) for each in holders.holders(*carried, holds_successor)
    )


def modified(machine: Machine, state: State, node: Node, saved: SavedTensor, backward_pass: BackwardRecord) -> None:
    """Report that what `node` saved was changed before `walk`."""
    graphs = machine.graphs
    change = change_of(state, node, saved)
    assert change is not None
    if _is_called_once(machine, node, change.moment, backward_pass):
        return
    earlier = next((r for r in reversed(state.backward_passes) if node in r.reach), None)
    level = max(backward_pass.reach.get(node, CONVENTIONAL), CONVENTIONAL)
    way = next((w for root in backward_pass.roots if (w := graphs.way(root, node, level))), (node,))
    leaf = saved.edge.node if saved.edge is not None and saved.edge.node.is_leaf else None
    incident = Modified(
        op=node.op,
        saved=saved.name,
        name=change.name,
        built=graphs.births[node].moment,
        modified=change.moment,
        by_step=change.by_step,
        backward_pass=backward_pass.backward_pass,
        earlier=None if earlier is None else earlier.backward_pass,
        conditions=conditions.chosen(state),
        assumptions=(
            *_assumptions(graphs, (*way, node)),
            *_about_weights(graphs, saved, change, backward_pass.backward_pass),
        ),
        supposed=change.level == GUESS or bool(change.assumed),
        recorded=change.recorded,
        holders=holders.holders(
            state,
            machine.imports.frames,
            graphs.births[node].moment,
            change.moment,
            backward_pass.backward_pass.moment,
            lambda edge: not edge.node.is_leaf and graphs.leads(edge, node),
        ),
        unowned=usage.unowned(graphs, state, way, since=change.moment),
        zeroed=usage.zeroed_by(state, change),
        aside=earlier is not None and usage.is_aside(graphs, state, node, earlier, backward_pass),
        constant=usage.constant(graphs, state, way, earlier, backward_pass) if earlier is not None else None,
        sole=usage.is_sole(backward_pass, change),
        leaf=leaf is not None,
        owned=leaf is not None and not change.by_step and usage.is_owned(state, leaf),
        whole=change.whole,
    )
    machine.report(incident, lambda: witness.of_modified(graphs, earlier, backward_pass, node, saved, change))


def without_graph(machine: Machine, event: events.WithoutGraph) -> None:
    """Report a backward pass from a tensor that has no graph."""
    state, reason = event.state, event.reason
    switched = state.switched if reason == "no_grad" else None
    learns = any(True for each in usage.optimizers(state) for _ in weights.leaves(state, each.params or ()))
    is_frozen = not learns and usage.owns_frozen(state)
    cut, reason = (
        (None, "leaf") if (event.bare and learns) or is_frozen else (event.cut, reason)
    )  # nothing was lost there
    if cut is not None and reason == "leaf":
        cut = usage.frozen(machine.graphs, state, cut, learns=learns)
    if cut is not None and reason == "no_grad" and state.switched not in state.calls:
        cut = usage.nearest_trained(machine.graphs, state, cut)
    known = machine.graphs.numbers
    leaf = known.leaves.get(event.numbers) if event.numbers is not None else None
    taken = event.numbers.taken.span if cut is not None and event.numbers in known.lost else None
    is_sought = cut is not None and reason == "no_grad" and leaf is not None and usage.is_owned(state, leaf)
    numbers = event.numbers if cut is None or is_sought else None
    whole = machine.graphs.cut_off.get(cut.span) if cut is not None and reason == "detach" else None
    flat = machine.graphs.flat(whole) if whole is not None else None
    incident = NoGraph(
        event.backward_pass, cut, reason, switched, learns, numbers, taken, conditions=conditions.chosen(state),
        flat=None if flat is None else machine.graphs.births[flat].moment.span,
        beside=() if cut is None or reason != "wrapped" else tuple(e for e in machine.graphs.rewrapped if e != cut.span),
    )  # fmt: skip
    machine.report(incident, lambda: witness.of_no_graph(incident))


def leaf_modified(machine: Machine, event: events.LeafModified) -> None:
    """Report an in-place change of a leaf, outside of no_grad."""
    moment, chosen = event.state.moment(event.span), conditions.chosen(event.state)
    outer = event.made.frames
    is_inside = moment.frames[: len(outer)] == outer != moment.frames
    is_trained = event.parameter or event.leaf.variable in event.state.ledger.graded
    is_trained = is_trained or usage.is_owned(event.state, event.leaf)
    is_updated = is_trained and not any(each.creates for each in event.state.backward_passes)
    incident = LeafModified(
        event.name, event.made, moment, event.view, event.taken, is_inside, is_trained, is_updated, conditions=chosen
    )
    machine.report(incident, lambda: witness.of_leaf(incident))


def view_modified(machine: Machine, event: events.ViewModified) -> None:
    """Report an in-place change of one of several views, outside of no_grad."""
    moment, given = event.state.moment(event.span), conditions.chosen(event.state)
    incident = ViewModified(event.name, event.made, event.op, moment, conditions=given)
    machine.report(incident, lambda: witness.of_view(incident))


def inference_used(machine: Machine, event: events.InferenceUsed) -> None:
    """Report a use of what was made in inference mode where autograd records."""
    moment, given = event.state.moment(event.span), conditions.chosen(event.state)
    incident = InferenceUsed(event.name, *event.made, moment, event.reason, conditions=given)
    machine.report(incident, lambda: witness.of_inference(incident))


def refused(machine: Machine, state: State, incident: Refused) -> None:
    """Report a call that torch refuses for what it is given."""
    incident = replace(incident, conditions=conditions.chosen(state))
    machine.report(incident, lambda: witness.of_refused(incident))


def _saved(graphs: Graphs, node: Node) -> tuple[str, ...]:
    """What the node saved, in the words of the program where it has some."""
    if node.saved and all(each.is_result for each in node.saved):
        return ("result",)
    texts = [span.text for span in graphs.births[node].operands if span is not None]
    names = [text for text in texts if text.replace(".", "").replace("_", "").isalnum()]
    return tuple(dict.fromkeys(names)) if names and len(node.saved) >= len(names) else ()


def _via(
    graphs: Graphs, way: tuple[Node, ...], first: BackwardRecord, second: BackwardRecord
) -> tuple[tuple[Moment, ...], str]:
    """Where the later walk's way comes to an earlier iteration, or enters what the first had freed: the operand that leads
    there, and its name."""
    further = later(first.backward_pass.moment, second.backward_pass.moment)
    steps = list(zip(way, way[1:], strict=False))
    own = [further in graphs.births[node].moment.iterations for node in way]
    carried = [step for step, *is_own in zip(steps, own, own[1:], strict=False) if is_own == [True, False]]
    for above, below in carried[:1] or steps:
        if carried or (below in first.reach and above not in first.reach):
            birth = graphs.births[above]
            for edge, span in zip(above.next, birth.operands, strict=False):
                if edge is not None and edge.node is below and span is not None:
                    name = span.text if span.text.replace(".", "").replace("_", "").isalnum() else ""
                    return (Moment(span, birth.moment.iterations, birth.moment.frames),), name
            return (birth.moment,), ""
    return (), ""


def _assumptions(graphs: Graphs, nodes: tuple[Node, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for node in nodes if (text := graphs.births[node].assumed)))


def _about_weights(graphs: Graphs, saved: SavedTensor, change: Change, backward_pass: BackwardPass) -> Iterator[str]:
    """What is taken for granted of a network that nobody sees, or of an optimiser."""
    if saved.edge is not None and saved.edge.node in graphs.networks:
        name = graphs.networks[saved.edge.node][1]
        yield f"{f'`{name}`' if name else 'the network'} has more than one layer, and so saves its weights"
    if change.level == GUESS:
        owner = change.moment.span.text.partition(".step")[0]
        yield f"`{owner}` moves weights that the graph of `{backward_pass.root}` has saved"
    if change.assumed:
        yield change.assumed


def _is_counted(first: BackwardRecord, freed: Moment, reused: Moment) -> bool:
    """Whether the number of an iteration told the first to keep no graph, in a loop whose count we can't read: who wrote that
    may have known which is the last."""
    further = later(freed, reused)
    return further is not None and not further.sure and first.keeps is not None and bool(loops_of(first.keeps))


def _tried(first: BackwardRecord) -> tuple[str, ...]:
    """What is taken for granted of a backward pass in a `try`."""
    place = first.backward_pass.moment.span.line
    return (f"the backward call on {place} succeeds, inside its `try`",) if first.uncertain else ()


def _iterations(freed: Moment, reused: Moment, counted: bool) -> tuple[str, ...]:
    """What is taken for granted of a loop whose count we can't read."""
    further = later(freed, reused)
    if further is None or further.sure or not further.by_default:
        return ()
    what = "goes on behind the iteration that frees the graph" if counted else "makes more than one iteration"
    return (f"the loop on {further.loop.line} {what}",)


def _is_called_once(machine: Machine, node: Node, spoilt: Moment, second: BackwardRecord) -> bool:
    """Whether the failure is one of a second call that nobody was seen to make, on an object that may be made for one: its
    graph is older than both calls, and nothing goes into the walk that only the later one was given."""
    births = machine.graphs.births
    further = later(spoilt, second.backward_pass.moment)
    if further is None or not further.supposed:
        return False
    if any(each.loop == further.loop for each in births[node].moment.iterations) and not _is_given(machine, node):
        return False
    moments = (births[each].moment for each in second.reach if not each.next and not each.is_leaf and each is not node)
    return not any(further in moment.iterations for moment in moments)


def _is_given(machine: Machine, node: Node) -> bool:
    """Whether it stands for what the object of a method was given when it was made, of which the method asked first, or for
    what lies in that."""
    birth, (start, end) = machine.graphs.births[node], machine.running.extent
    is_outside = not (
        birth.moment.span.source is machine.running.span.source and start <= birth.moment.span.start < end
    )
    return not node.next and (is_outside or not birth.from_call)


def _in_closure(built: Moment, reused: Moment) -> bool:
    """Whether the walk runs in a call that an optimiser repeats, over a graph from outside of it."""
    calls = [iteration for iteration in reused.iterations if iteration.by_optimizer]
    return bool(calls) and all(iteration.loop not in {t.loop for t in built.iterations} for iteration in calls)


def _in_init(birth: Birth, freed: Moment, reused: Moment) -> bool:
    """Whether the graph was made while an object or the module was made, and is walked in later calls."""
    built = birth.moment
    if birth.in_init:
        return not all(_is_within(built, each, birth.in_init) for each in (freed, reused))
    if built.span.source is not freed.span.source and not built.frames and not built.iterations:
        return True  # another module's body
    if built.frames or built.iterations or not freed.frames:
        return False
    if freed.frames != reused.frames:
        return True
    further = later(freed, reused)
    return further is not None and further.depth < len(reused.frames)


def _is_within(one: Moment, other: Moment, calls: int) -> bool:
    """Whether two moments are of one call, within so many of them."""
    around = ((each.frames[:calls], [i for i in each.iterations if i.depth < calls]) for each in (one, other))
    return next(around) == next(around)
