"""Tells a refusal as an incident: the places that matter to the reader, the conditions that it needs, and the proof."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Set
from itertools import zip_longest
from typing import TypeGuard

from retainlint.autograd.graph import Edge, Node, SavedTensor
from retainlint.autograd.operations import rows
from retainlint.incident import (
    BackwardPass,
    Condition,
    Freed,
    LeafModified,
    Modified,
    Moment,
    NoGraph,
    Refused,
)
from retainlint.ir import facts
from retainlint.startup.records import replace
from retainlint.symbolic.detectors import holders, witness
from retainlint.symbolic.detectors.holders import later
from retainlint.symbolic.models.python import options
from retainlint.symbolic.models.unknown import weights
from retainlint.symbolic.state import events
from retainlint.symbolic.state.graphs import Birth, Graphs
from retainlint.symbolic.state.protocol import Machine
from retainlint.symbolic.state.state import MIXED, BackwardRecord, Change, Choice, GradientEvent, State
from retainlint.symbolic.state.values import (
    CONVENTIONAL,
    GUESS,
    Const,
    Method,
    OptimizerObj,
    Ref,
    Symbol,
    TensorObj,
    Term,
    Tuple,
    UnknownObj,
    Value,
)
from retainlint.symbolic.tape.observer import change_of
from retainlint.text.source import Span


def loop_begun(freed: Moment, reused: Moment) -> int:
    """When the loop began of which one turn freed what a later one needs; 0 if it is none, or nobody knows."""
    further = later(freed, reused)
    return further.begun if further is not None else 0


def conditions(state: State, since: int) -> tuple[Condition, ...]:
    """What the path has chosen; with that which is asked anew in each turn of the loop that began then."""
    return tuple(
        replace(condition, fleeting=is_fleeting(state, choice.term, since))
        for choice, condition in zip(state.choices, _conditions(state), strict=True)
    )


def is_scheduled(state: State, keeps: Value | None, since: int) -> bool:
    """Whether a walk keeps its graph by what is asked anew in each turn; a truth that is known was chosen before."""
    return keeps is not None and (isinstance(keeps, Const) or is_fleeting(state, keeps, since))


def is_fleeting(state: State, value: Value, since: int) -> bool:
    """Whether a value comes from something unseen that was made since, and isn't read off what was there before."""
    match value:
        case Term(op="not", args=args):
            return is_fleeting(state, args[0], since)
        case Term() if MIXED in state.imprecise and _is_counted(value):
            return bool(since)
        case Term(args=args) | Tuple(items=args):
            return bool(since) and any(is_fleeting(state, each, since) for each in args)
        case Method(obj=obj):
            return is_fleeting(state, obj, since)
        case Ref(id):
            return bool(since) and id > since and not _is_read(state, value, since)
    return False


def _is_counted(value: Term) -> bool:
    """Whether numbers are compared, of which one is known."""
    return value.op in ("==", "<", "<=") and any(
        isinstance(arg, Const) and isinstance(arg.value, int) for arg in value.args
    )


def _is_read(state: State, value: Ref, since: int) -> bool:
    """Whether it is an attribute, or an item under a constant, of something unknown that was there before."""
    seen = {value.id}  # unknowns may hold each other
    while (owner := _owner(state, value, seen)) is not None:
        if owner <= since:
            return True
        seen.add(owner)
        value = Ref(owner)
    return False


def _owner(state: State, value: Ref, but: set[int]) -> int | None:
    """The unknown of which a value is an attribute or an item, and that isn't one of some."""
    return next(
        (
            id
            for id, held in state.heap.items()
            if isinstance(held, UnknownObj) and id not in but and value in held.leading.values()
        ),
        None,
    )


def freed(machine: Machine, state: State, node: Node, first: BackwardRecord, second: BackwardRecord) -> None:
    """Report that `second` needs what `first` freed at `node`."""
    births = machine.graphs.births
    birth = births[node]
    if _is_called_once(machine, node, first.backward_pass.moment, second):
        return
    level = max(second.reach.get(node, CONVENTIONAL), CONVENTIONAL)
    way = next((w for root in second.roots if (w := machine.graphs.way(root, node, level))), (node,))
    via, name = _via(machine.graphs, way, first, second)
    begun = loop_begun(first.backward_pass.moment, second.backward_pass.moment)

    def holds(edge: Edge) -> bool:
        return any(not each.is_leaf and each in first.reach for each in machine.graphs.reach([edge]))

    carried = state, birth.moment, first.backward_pass.moment, second.backward_pass.moment, holds
    incident = Freed(
        op=node.op,
        saved=_saved(machine.graphs, node),
        built=birth.moment,
        freed=first.backward_pass,
        reused=second.backward_pass,
        via=via,
        name=name or (second.backward_pass.root if second.backward_pass.root.isidentifier() and len(way) == 1 else ""),
        same_root=set(first.roots) == set(second.roots),
        conditions=(*conditions(state, begun), *_given(first.backward_pass.moment, second.backward_pass.moment)),
        scheduled=is_scheduled(state, first.keeps, begun),
        assumptions=(
            *_assumptions(machine.graphs, (*way, node)),
            *_iterations(first.backward_pass.moment, second.backward_pass.moment),
            *(
                (f"the backward call on {first.backward_pass.moment.span.line} succeeds, inside its `try`",)
                if first.uncertain
                else ()
            ),
        ),
        in_closure=_in_closure(birth.moment, second.backward_pass.moment),
        in_init=_in_init(birth, first.backward_pass.moment, second.backward_pass.moment),
        foreign=_foreign(machine.graphs, state, node, first, second),
        stepped=_stepped(state, first),
        apart=_is_apart(state, first),
        in_turn=_is_in_turn(state, first),
        weight=next(
            (word for word, each in (("first", first), ("second", second)) if _weighs(machine.graphs, each, node)), ""
        ),
        aside=_is_aside(machine.graphs, state, node, first, second),
        joint=_is_joint(state, first, second),
        trained=_trained(machine.graphs, state, node, first, second, way),
        unowned=_is_unowned(machine.graphs, state, node),
        total=_is_total([each for each in way if each not in first.reach]),
        term=_is_term(machine.graphs, way, first),
        cached=_is_cached(machine.graphs, way, first),
        cuts=holders.cuts(*carried),
        gathered=holders.gathered(*carried),
    )
    leaves = (
        frozenset(each for each in machine.graphs.reach([Edge(node)]) if each.is_leaf)
        if incident.foreign
        else frozenset()
    )
    machine.report(incident, lambda: witness.of_freed(machine.graphs, first, second, node), leaves)


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
    incident = Modified(
        op=node.op,
        saved=saved.name,
        name=change.name,
        built=graphs.births[node].moment,
        modified=change.moment,
        by_step=change.by_step,
        backward_pass=backward_pass.backward_pass,
        earlier=None if earlier is None else earlier.backward_pass,
        conditions=_conditions(state),
        assumptions=(
            *_assumptions(graphs, (*way, node)),
            *_about_weights(graphs, saved, change, backward_pass.backward_pass),
        ),
        supposed=change.level == GUESS or bool(change.assumed),
        recorded=change.recorded,
        cuts=holders.cuts(
            state,
            graphs.births[node].moment,
            change.moment,
            backward_pass.backward_pass.moment,
            lambda edge: not edge.node.is_leaf and graphs.leads(edge, node),
        ),
        unowned=next((graphs.births[each].moment for each in way if _is_unowned(graphs, state, each)), None),
        zeroed=_zeroed(state, change),
        aside=earlier is not None and _is_aside(graphs, state, node, earlier, backward_pass),
        constant=_constant(graphs, state, way, earlier, backward_pass) if earlier is not None else None,
    )
    machine.report(incident, lambda: witness.of_modified(graphs, earlier, backward_pass, node, saved, change))


def without_graph(machine: Machine, event: events.WithoutGraph) -> None:
    """Report a backward pass from a tensor that has no graph."""
    state, reason = event.state, event.reason
    switched = state.switched if reason == "no_grad" else None
    learns = any(True for each in _optimizers(state) for _ in weights.leaves(state, each.params or ()))
    cut, reason = (None, "leaf") if event.bare and learns else (event.cut, reason)  # nothing was lost there
    incident = NoGraph(event.backward_pass, cut, reason, switched, learns, conditions=_conditions(state))
    machine.report(incident, lambda: witness.of_no_graph(incident))


def leaf_modified(machine: Machine, event: events.LeafModified) -> None:
    """Report an in-place change of a leaf, outside of no_grad."""
    moment, conditions = event.state.moment(event.span), _conditions(event.state)
    incident = LeafModified(event.name, event.made, moment, event.view, event.taken, conditions=conditions)
    machine.report(incident, lambda: witness.of_leaf(incident))


def refused(machine: Machine, state: State, incident: Refused) -> None:
    """Report a call that torch refuses for what it is given."""
    incident = replace(incident, conditions=_conditions(state))
    machine.report(incident, lambda: witness.of_refused(incident))


def _saved(graphs: Graphs, node: Node) -> tuple[str, ...]:
    """What the node saved, in the words of the program where it has some."""
    birth = graphs.births[node]
    texts = [span.text for span in birth.operands if span is not None]
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


def _conditions(state: State) -> tuple[Condition, ...]:
    """What a path has chosen: `mode == "train"` says as well that it isn't "test"; and of two options that are alike by
    default one has to be other than that, if they were answered otherwise."""
    said = {each.term.args[0]: each for each in state.choices if each.answer and _is_equality(each.term)}
    found = [_condition(state, each, said) for each in state.choices]
    asked: dict[Value, bool] = {}
    for at, each in enumerate(state.choices):
        term = _by_default(state, each.term)
        if not isinstance(term, Const) and asked.setdefault(term, each.answer) is not each.answer:
            found[at] = replace(found[at], by_default=False)
    return tuple(found)


def _by_default(state: State, value: Value) -> Value:
    """What is asked where nobody gives an option."""
    if (known := options.default(state, value)) is not None:
        return known
    if isinstance(value, Term) and value.op in ("==", "<", "<=", "%", "not", "+", "-", "//"):
        return Term(value.op, tuple(_by_default(state, each) for each in value.args))
    return value


def _condition(state: State, choice: Choice, said: Mapping[Value, Choice]) -> Condition:
    """What a path has chosen, whether it would by the defaults of the program's options, and what says so as well."""
    known = options.default(state, choice.term)
    found = replace(choice.condition, measured=True) if _is_measured(choice.term) else choice.condition
    if known is not None:
        chooses = any(isinstance(each.value, str | bool) for each in options.defaults(state, choice.term))
        found = replace(found, by_default=bool(known.value) == choice.answer, chooses=chooses)
    if (
        not (choice.answer or found.item)
        and _is_equality(choice.term)
        and (other := said.get(choice.term.args[0])) is not None
    ):
        found = replace(found, implied=other.condition.span)
    return found


def _is_measured(value: Value) -> bool:
    """Whether a number goes into it that was read off a tensor, and not off its shape."""
    match value:
        case Term(op="item" | "positive", args=(Symbol(),)):
            return True
        case Term(args=args):
            return any(map(_is_measured, args))
    return False


def _is_equality(term: Value) -> TypeGuard[Term]:
    return isinstance(term, Term) and term.op == "==" and isinstance(term.args[1], Const)


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


def _iterations(freed: Moment, reused: Moment) -> tuple[str, ...]:
    """What is taken for granted of a loop whose count we can't read."""
    further = later(freed, reused)
    if further is None or further.sure or not further.by_default:
        return ()
    return (f"the loop on {further.loop.line} makes more than one iteration",)


def _given(freed: Moment, reused: Moment) -> tuple[Condition, ...]:
    """That a loop makes another iteration, where by the default of an option it doesn't."""
    further = later(freed, reused)
    if further is None or further.by_default:
        return ()
    number = further.number
    return (
        Condition(further.loop, True, iterations=reused.iterations, iteration=number, by_default=False, chooses=True),
    )


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
    """Whether it stands for what the object of a method was given when it was made, of which the method asked first."""
    span, (start, end) = machine.graphs.births[node].moment.span, machine.running.extent
    return not node.next and not (span.source is machine.running.span.source and start <= span.start < end)


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


def _foreign(graphs: Graphs, state: State, node: Node, first: BackwardRecord, second: BackwardRecord) -> bool:
    """Whether the shared graph belongs to a network that the first walk's optimiser doesn't own."""
    between = [step for step in state.steps if first.created <= step.created <= second.created]
    if not between:
        return False
    below = graphs.reach(edge for edge in node.next if edge is not None)
    place = graphs.births[node].moment
    near = [n for n in (node, *below) if graphs.births[n].moment == place]
    shared = {e.node.variable for n in near for e in n.next if e is not None and e.node.is_leaf}
    shared = shared or {n.variable for n in below if n.is_leaf}
    everything = {n.variable for n in first.reach if n.is_leaf}
    owned = between[0].owned
    lost = {n.variable for n in below if n.is_leaf}  # what a cut here would keep the optimiser from training
    return bool(owned & everything) and not owned & (shared | lost)


def _stepped(state: State, first: BackwardRecord) -> bool:
    """Whether weights that a backward pass gave gradients have moved since: by a step, or by hand."""
    if any(map(_is_step, _since(state, first))):
        return True
    since = {change.storage for change in state.changes if change.created >= first.created}
    tensors = (held for held in state.heap.values() if isinstance(held, TensorObj) and held.storage in since)
    return any(each.edge is not None and each.edge.node.is_leaf and each.edge.node in first.reach for each in tensors)


def _is_apart(state: State, first: BackwardRecord) -> bool:
    """Whether the gradients of a backward pass are wanted by themselves: they were read, or zeroed, and no step used them."""
    since = _since(state, first)[1:]
    return any(each.touches for each in since) and not any(map(_is_step, since))


def _is_step(event: GradientEvent) -> bool:
    """Whether an optimiser stepped, or what a program calls so did what wasn't followed."""
    return event.kind == "step" or (event.kind == "other" and event.called == "step")


def _is_in_turn(state: State, first: BackwardRecord) -> bool:
    """Whether the gradients of a backward pass were stepped with, and another optimiser then zeroed its own: each of the losses
    has an optimiser of its own."""
    since = _since(state, first)
    steps = [at for at, each in enumerate(since) if each.kind == "step"]
    owners = {since[at].owner for at in steps}
    return any(
        each.kind == "zero" and each.owner not in {None, *owners} for each in since[steps[0] if steps else len(since) :]
    )


def _zeroed(state: State, change: Change) -> str:
    """Whose gradients were zeroed last since an optimiser changed a weight: its own, or those of another; "" for none."""
    events = state.gradient_events
    steps = [at for at, each in enumerate(events) if each.kind == "step" and each.moment == change.moment]
    behind = [each.owner for each in events[steps[-1] :] if each.kind == "zero"] if steps else []
    return "" if not behind else "own" if behind[-1] == events[steps[-1]].owner else "other"


def _since(state: State, first: BackwardRecord) -> tuple[GradientEvent, ...]:
    """What was done with gradients since a backward pass."""
    events = state.gradient_events
    passes = [at for at, event in enumerate(events) if event.moment == first.backward_pass.moment]
    return events[passes[-1] :] if passes else ()


def _trained(
    graphs: Graphs, state: State, node: Node, first: BackwardRecord, second: BackwardRecord, way: tuple[Node, ...]
) -> bool | None:
    """Whether a graph is what the optimisers train: one owns a leaf of it. It isn't where it was made of data, or by what
    the later iteration makes again, and the later backward pass uses all of its leaves in the same way apart from it: then it
    is what that is compared with, unless it is a term of the loss, paired with each item of that, or joined to it before any step.
    None if there is no optimiser, or one that may own more than is seen."""
    nodes = graphs.reach([Edge(node)])
    below = {each.variable for each in nodes if each.is_leaf}
    if any(not below.isdisjoint(_owned(state, each)) for each in _optimizers(state)):
        above = [each for each in way if each not in first.reach]
        apart = _reached_apart(first, second)
        is_term = _is_total(_joined(above, apart)) or _is_linear(above)  # cut, it would add a constant to the loss
        meeting = _meeting(above)
        is_joined = meeting is not None and _is(graphs, meeting, "joined") and not _stepped(state, first)
        is_paired = meeting is not None and _is_paired(graphs, meeting)
        if is_term or is_joined or is_paired or not _uses(nodes) <= _uses(apart):
            return True
        fresh = second.reach.keys() - first.reach.keys()
        return not (any(_data(each) - {None} for each in nodes) or any(_is_again(node, each) for each in fresh))
    return False if _is_unowned(graphs, state, node) else None


def _is_unowned(graphs: Graphs, state: State, node: Node) -> bool:
    """Whether no optimiser of the program owns a leaf of a graph."""
    below = {each.variable for each in graphs.reach([Edge(node)]) if each.is_leaf}
    held = _optimizers(state)
    if not below or not held or any(each.params is None or each.open for each in held):
        return False
    return all(below.isdisjoint(_owned(state, each)) for each in held)


def _optimizers(state: State) -> list[OptimizerObj]:
    return [each for each in state.heap.values() if isinstance(each, OptimizerObj)]


def _owned(state: State, optimizer: OptimizerObj) -> set[Hashable]:
    """The leaves that an optimiser is known to own."""
    return {leaf.variable for leaf in weights.leaves(state, optimizer.params or ())}


def _is_again(one: Node, other: Node) -> bool:
    """Whether two nodes, and all below them, do the same to the same data and leaves."""
    known = {(one, other)}
    waiting = [*known]
    while waiting:
        a, b = waiting.pop()
        if (a.op, a.variable, len(a.next), _data(a)) != (b.op, b.variable, len(b.next), _data(b)):
            return False
        for x, y in zip(a.next, b.next, strict=True):
            if (x is None) != (y is None):
                return False
            if x is not None and y is not None and x.node is not y.node and (x.node, y.node) not in known:
                known.add((x.node, y.node))
                waiting.append((x.node, y.node))
    return True


def _data(node: Node) -> set[Hashable]:
    """The memory of what a node has saved of tensors that have no graph."""
    return {each.storage for each in node.saved if each.edge is None and not each.is_result}


def _is(graphs: Graphs, node: Node, word: str) -> bool:
    """What the table of operations says of a node's result."""
    row = rows().get(graphs.births[node].operation)
    return row is not None and word in row.result


def _meeting(way: list[Node]) -> Node | None:
    """The first operation on a way, from its end, of two that have graphs."""
    return next((each for each in reversed(way) if sum(edge is not None for edge in each.next) > 1), None)


def _is_paired(graphs: Graphs, node: Node) -> bool:
    """Whether an operation pairs all items of its operands."""
    operands = [each.node for each in node.next if each is not None]
    widened = any(each.op.startswith("Unsqueeze") for each in operands)
    return widened or (_is(graphs, node, "paired") and not any(each.is_leaf for each in operands))


_SHARES = frozenset(("MulBackward0", "DivBackward0"))

_LINEAR = _SHARES | {"AddBackward0", "SubBackward0", "NegBackward0", "SumBackward0", "MeanBackward0"}


def _is_log_probability(made: Span) -> bool:
    word = "log_prob"  # looked for first: of a sum of a thousand terms each part has a text of its own
    return word in made.text and any(each.name == word for each in facts.of_span(made).calls)


def _weighs(graphs: Graphs, record: BackwardRecord, node: Node) -> bool:
    """Whether a backward pass comes to a node only through what weighs the log-probability of something drawn: a reward, less
    what was expected."""
    drawn = {each for each in record.reach if _is_log_probability(graphs.births[each].moment.span)}
    found, waiting, is_weight = set[Node](), [edge.node for edge in record.roots] if drawn else [], False
    while waiting:
        each = waiting.pop()
        if each is node:
            return False
        if each in found:
            continue
        found.add(each)
        below = [edge.node for edge in each.next if edge is not None]
        sides = [graphs.reach([Edge(one)]) for one in below] if each.op == "MulBackward0" else []
        weights = [not drawn & set(side) and node in side for side in sides]
        if len(below) == 2 and any(weights) and any(drawn & set(side) for side in sides):
            below, is_weight = [one for one, weighs in zip(below, weights, strict=True) if not weighs], True
        waiting += below
    return is_weight


def _is_total(way: list[Node]) -> bool:
    """Whether all that a backward pass goes through, up to a graph of before, adds to it, or takes a share of the sum."""
    ops = {each.op for each in way}
    products = (each for each in way if each.op in _SHARES and sum(edge is not None for edge in each.next) > 1)
    return "AddBackward0" in ops and ops <= {"AddBackward0", "SubBackward0"} | _SHARES and not any(products)


def _is_linear(way: list[Node]) -> bool:
    """Whether what is backpropagated is a sum or a difference of what has a graph, and all that is done to it gives each of its
    terms the gradient that it would have alone."""
    many = {each.op for each in way if sum(edge is not None for edge in each.next) > 1}
    return bool(many) and many <= {"AddBackward0", "SubBackward0"} and {each.op for each in way} <= _LINEAR


def _joined(way: list[Node], apart: set[Node]) -> list[Node]:
    """A way up to where what is made of leaves apart from it was last added: what comes behind that makes one term. A
    difference may compare the two."""
    trained: set[Node] = set()
    for each in sorted(apart, key=lambda node: node.order):
        if any(edge is not None and (edge.node.is_leaf or edge.node in trained) for edge in each.next):
            trained.add(each)
    below = dict(zip(way, way[1:]))
    joints = [
        at
        for at, node in enumerate(way)
        for edge in node.next
        if edge is not None and edge.node is not below.get(node) and (edge.node.is_leaf or edge.node in trained)
    ]
    return way[: joints[-1] + 1] if joints and way[joints[-1]].op == "AddBackward0" else way


def _is_term(graphs: Graphs, way: tuple[Node, ...], first: BackwardRecord) -> bool:
    """Whether a later loss adds what was a term of an earlier one, beside others: no total that goes on."""
    entered = next((each for each in way if each in first.reach), None)
    if entered is None or not _is_total([each for each in way if each not in first.reach]):
        return False
    term = graphs.reach([Edge(entered)])
    return any(each.saved for each in first.reach if each not in term)


def _is_cached(graphs: Graphs, way: tuple[Node, ...], first: BackwardRecord) -> bool:
    """Whether the same operation took the same tensor before, for the earlier backward pass."""
    entered = next(
        ((a, b) for a, b in zip(way, way[1:], strict=False) if a not in first.reach and b in first.reach), None
    )
    if entered is None:
        return False
    above, below = entered

    def takes(node: Node) -> Iterator[tuple[Moment, Span | None]]:
        """Where it takes what is below: the place, without the iterations."""
        birth = graphs.births[node]
        for edge, span in zip_longest(node.next, birth.operands):
            if edge is not None and edge.node is below:
                yield replace(birth.moment, iterations=()), span

    return not {*takes(above)}.isdisjoint(each for node in first.reach for each in takes(node))


def _is_aside(graphs: Graphs, state: State, node: Node, first: BackwardRecord, second: BackwardRecord) -> bool:
    """Whether what only the later backward pass reaches has an optimiser of its own, which owns nothing of the graph; as has one
    that zeroes its gradients between the two."""
    shared = {each.variable for each in graphs.reach([Edge(node)]) if each.is_leaf}
    held, theirs = _optimizers(state), _owned_later(state, first, second, shared)
    if not theirs or any(each & shared for each in theirs):
        return False
    owned = [_owned(state, each) for each in held]
    return any(each & shared for each in owned) or not any(each.params is None or each.open for each in held)


def _owned_later(
    state: State, first: BackwardRecord, second: BackwardRecord, shared: Set[Hashable]
) -> list[Set[Hashable]]:
    """The leaves of each optimiser that the later backward pass is for: it owns what only that reaches, or zeroes its gradients
    between the two."""
    own = {each.variable for each in second.reach if each.is_leaf and each not in first.reach} - shared
    zeroed = [
        state.get(event.owner) for event in _since(state, first) if event.kind == "zero" and event.owner is not None
    ]
    owned = [(each, _owned(state, each)) for each in _optimizers(state)]
    return [leaves for each, leaves in owned if leaves & own or each in zeroed]


def _constant(
    graphs: Graphs, state: State, way: tuple[Node, ...], first: BackwardRecord, second: BackwardRecord
) -> Moment | None:
    """Where the later backward pass comes from what its optimiser owns to what that owns nothing of, if the first didn't go
    through that place."""
    theirs = set().union(*_owned_later(state, first, second, set()))
    for above, below in zip(way, way[1:], strict=False):
        if theirs.isdisjoint(each.variable for each in graphs.reach([Edge(below)]) if each.is_leaf):
            birth = graphs.births[above]
            spans = (
                span for edge, span in zip(above.next, birth.operands, strict=False) if edge and edge.node is below
            )
            span = next(spans, None)
            if above in first.reach or not theirs or span is None:
                return None
            return Moment(span, birth.moment.iterations, birth.moment.frames)
    return None


def _is_joint(state: State, first: BackwardRecord, second: BackwardRecord) -> bool:
    """Whether what only the later backward pass reaches has an optimiser of its own, which owns a part of what both reach: each
    of the two trains its own part of one graph."""
    one, two = ({each.variable for each in record.reach if each.is_leaf} for record in (first, second))
    return any(
        not leaves.isdisjoint(two - one) and not leaves.isdisjoint(one & two) and leaves.isdisjoint(one - two)
        for leaves in (_owned(state, each) for each in _optimizers(state))
    )


def _reached_apart(first: BackwardRecord, second: BackwardRecord) -> set[Node]:
    """What a backward pass reaches without going through what an earlier one went through."""
    found: set[Node] = set()
    waiting = [edge.node for edge in second.roots]
    while waiting:
        node = waiting.pop()
        if node not in found and node in second.reach and node not in first.reach:
            found.add(node)
            waiting += [edge.node for edge in node.next if edge is not None]
    return found


def _uses(nodes: Iterable[Node]) -> set[tuple[str, Hashable]]:
    """By which operations some nodes use leaves: a layer and a penalty on its weights do by others."""
    return {(n.op, e.node.variable) for n in nodes for e in n.next if e is not None and e.node.is_leaf}
