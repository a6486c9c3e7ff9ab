"""How a later backward pass uses the graph that an earlier one has freed: what is trained by it, and what was done in between."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Hashable, Iterable, Iterator, Sequence, Set
from itertools import pairwise, takewhile, zip_longest

from retainlint.autograd.graph import Edge, Node, walk
from retainlint.autograd.operations import rows
from retainlint.incident import Moment
from retainlint.ir import facts
from retainlint.startup.records import replace
from retainlint.symbolic.detectors.holders import later
from retainlint.symbolic.models.unknown import weights
from retainlint.symbolic.state.graphs import Graphs
from retainlint.symbolic.state.state import BackwardRecord, Change, GradientEvent, State
from retainlint.symbolic.state.values import CONVENTIONAL, OptimizerObj, Ref, TensorObj
from retainlint.text.source import Span


def foreign(graphs: Graphs, state: State, node: Node, first: BackwardRecord, second: BackwardRecord) -> bool:
    """Whether the shared graph belongs to a network that the first walk's optimiser doesn't own."""
    between = [step for step in state.steps if first.created <= step.created <= second.created]
    if not between or is_asked_for(graphs, node, second):
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


def astray(graphs: Graphs, state: State, node: Node, first: BackwardRecord, second: BackwardRecord) -> Moment | None:
    """Where the first walk comes from what its optimiser owns to what that owns nothing of, if the later one doesn't come there
    by the same way."""
    owned = next((each.owned for each in state.steps if first.created <= each.created <= second.created), frozenset())
    ways = (graphs.way(root, node, CONVENTIONAL) for root in first.roots)
    return _boundary(graphs, next(filter(None, ways), ()), owned, second)


def stepped(state: State, first: BackwardRecord) -> bool:
    """Whether weights that a backward pass gave gradients have moved since: by a step, or by hand."""
    if any(map(_is_step, _since(state, first))):
        return True
    since = {change.storage for change in state.changes if change.created >= first.created}
    tensors = (held for held in state.heap.values() if isinstance(held, TensorObj) and held.storage in since)
    return any(each.edge is not None and each.edge.node.is_leaf and each.edge.node in first.reach for each in tensors)


def steps_elsewhere(state: State, first: BackwardRecord, second: BackwardRecord) -> bool:
    """Whether optimisers stepped since a backward pass, none of which owns what a later one comes to."""
    steps = [each for each in _since(state, first) if _is_step(each)]
    owners = [state.get(each.owner) if each.owner is not None else None for each in steps]
    known = [_owned(state, each) for each in owners if isinstance(each, OptimizerObj) and not each.open]
    theirs = {each.variable for each in second.reach if each.is_leaf}
    return 0 < len(known) == len(steps) and all(leaves.isdisjoint(theirs) for leaves in known)


def is_apart(state: State, first: BackwardRecord) -> bool:
    """Whether the gradients of a backward pass are wanted by themselves: they were read, or zeroed, and no step used them."""
    since = _since(state, first)[1:]
    return any(each.touches for each in since) and not any(map(_is_step, since))


def has_left_gradients(state: State, first: BackwardRecord, second: BackwardRecord) -> bool:
    """Whether what a later backward pass asks the gradients of are leaves, of an optimiser that zeroed them before the earlier one,
    which has left just these gradients in `.grad`: nothing was done with them since."""
    since, asked = _since(state, first), {edge.node for edge in second.targets or ()}
    given = {each.variable for each in first.reach if each.is_leaf} if first.accumulate and not first.targets else set()
    if len(since) != 1 or not asked or not all(each.is_leaf and each.variable in given for each in asked):
        return False
    last = next((each for each in reversed(state.gradient_events[:-1]) if each.kind != "step"), None)
    owner = state.get(last.owner) if last is not None and last.kind == "zero" and last.owner is not None else None
    return isinstance(owner, OptimizerObj) and {each.variable for each in asked} <= _owned(state, owner)


def zeroed(state: State, first: BackwardRecord) -> str:
    """Whether the gradients of a backward pass were zeroed before anything could use them, or "later"."""
    kinds = [each.kind for each in _since(state, first)[1:]]
    return "at once" if kinds[:1] == ["zero"] else "later" if "zero" in kinds else ""


def _is_step(event: GradientEvent) -> bool:
    """Whether an optimiser stepped, or what a program calls so did what wasn't followed."""
    return event.kind == "step" or (event.kind == "other" and event.called == "step")


def is_in_turn(state: State, first: BackwardRecord) -> bool:
    """Whether the gradients of a backward pass were stepped with, and another optimiser then zeroed its own: each of the losses
    has an optimiser of its own."""
    since = _since(state, first)
    steps = [at for at, each in enumerate(since) if each.kind == "step"]
    owners = {since[at].owner for at in steps}
    return any(
        each.kind == "zero" and each.owner not in {None, *owners} for each in since[steps[0] if steps else len(since) :]
    )


def zeroed_by(state: State, change: Change) -> str:
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


def trained(
    graphs: Graphs, state: State, node: Node, first: BackwardRecord, second: BackwardRecord, way: tuple[Node, ...]
) -> bool | None:
    """Whether a graph is what the optimisers train: one owns a leaf of it; or what a gradient is asked for. It isn't where it was made of data, or by what
    the later iteration makes again, and the later backward pass uses all of its leaves in the same way apart from it: then it
    is what that is compared with, unless it is a term of the loss, paired with each item of that, joined to it before any step,
    or made beside it, before the earlier backward pass.
    None if there is no optimiser, or one that may own more than is seen."""
    entered = next((each for each in way if each in first.reach), node)
    nodes = graphs.reach([Edge(entered)])
    below = {each.variable for each in nodes if each.is_leaf}
    if is_asked_for(graphs, node, second):
        return True
    if any(not below.isdisjoint(_owned(state, each)) for each in optimizers(state)):
        above = [each for each in way if each not in first.reach]
        apart = _reached_apart(first, second)
        is_term = is_total(_joined(above, apart)) or (
            _is_linear([each for each in above if each.op not in _GATHERED]) and _meeting(above) is not None
        )  # cut, it would add a constant to the loss
        meeting = _meeting(above)
        is_joined = meeting is not None and _is(graphs, meeting, "joined") and not stepped(state, first)
        is_paired = meeting is not None and _is_paired(graphs, meeting)
        is_of_one_pass = any(each.order <= first.created for each in apart if not each.is_leaf)
        if is_term or is_joined or is_paired or is_of_one_pass or not _uses(nodes) <= _uses(apart):
            return True
        fresh = second.reach.keys() - first.reach.keys()
        return not (any(_data(each) - {None} for each in nodes) or any(_is_again(node, each) for each in fresh))
    return False if is_unowned(graphs, state, node) else None


def is_asked_for(graphs: Graphs, node: Node, second: BackwardRecord) -> bool:
    """Whether a gradient is asked for of what a graph is made of: cut off, there would be none."""
    targets = {edge.node for edge in second.targets or ()}
    return not targets.isdisjoint(graphs.reach([Edge(node)]))


def is_unowned(graphs: Graphs, state: State, node: Node, *, idle: Container[int] = ()) -> bool:
    """Whether no optimiser of the program owns a leaf of a graph, but for those that are `idle`."""
    held = optimizers(state, idle)
    if not held or any(each.params is None or each.open for each in held) or not graphs.leads_to_leaf(node):
        return False
    return not graphs.leads_to_leaf(node, frozenset[Hashable]().union(*(_owned(state, each) for each in held)))


def is_sole(backward_pass: BackwardRecord, change: Change) -> bool:
    """Whether none of the nodes that a backward pass comes to, and that were made since a change, leads to a leaf by itself."""
    fresh = (node for node in backward_pass.reach if not node.is_leaf and node.order > change.created)
    return not any(edge is not None and edge.node.is_leaf for node in fresh for edge in node.next)


def is_owned(state: State, leaf: Node) -> bool:
    """Whether an optimiser of the program is known to own a leaf."""
    return any(leaf.variable in _owned(state, each) for each in optimizers(state))


def unowned(graphs: Graphs, state: State, way: tuple[Node, ...], *, since: Moment) -> Moment | None:
    """Where on its way down a backward pass comes to what no optimiser owns: all that lies below is no one's either. If an
    iteration has passed since then, an optimiser that nothing was asked of is idle: each network has its own, also the one
    that only gives targets."""
    active = {event.owner.id for event in state.gradient_events if isinstance(event.owner, Ref)}
    is_known = bool(active) and later(since, state.moment(since.span)) is not None
    made = [id for id, each in state.heap.items() if isinstance(each, OptimizerObj)] if is_known else []
    idle = {id for id in made if id not in active}
    at = bisect_left(way, True, key=lambda node: is_unowned(graphs, state, node, idle=idle))
    return graphs.births[way[at]].moment if at < len(way) else None


def optimizers(state: State, idle: Container[int] = ()) -> list[OptimizerObj]:
    return [each for id, each in state.heap.items() if isinstance(each, OptimizerObj) and id not in idle]


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
    return next((each for each in reversed(way) if len(each.below) > 1), None)


def _is_paired(graphs: Graphs, node: Node) -> bool:
    """Whether an operation pairs all items of its operands."""
    operands = node.below
    widened = any(each.op.startswith("Unsqueeze") for each in operands)
    return widened or (_is(graphs, node, "paired") and not any(each.is_leaf for each in operands))


_SHARES = frozenset(("MulBackward0", "DivBackward0"))


_LINEAR = _SHARES | {"AddBackward0", "SubBackward0", "NegBackward0", "SumBackward0", "MeanBackward0"}


_GATHERED = frozenset(("StackBackward0", "CatBackward0"))
"""What puts the items of a list side by side; what adds them up behind that adds each of them."""


def _is_log_probability(made: Span) -> bool:
    word = "log_prob"  # looked for first: of a sum of a thousand terms each part has a text of its own
    return word in made.text and any(each.name == word for each in facts.of_span(made).calls)


_COMPARISONS = {"mse_loss", "smooth_l1_loss", "huber_loss", "kl_div"}
"""Losses of what was computed, the first, and what it is to come to."""


def weighing(graphs: Graphs, node: Node, first: BackwardRecord, second: BackwardRecord) -> str:
    """Which of two backward passes, "first" or "second", comes to a node so; "" for none."""
    return next((word for word, each in (("first", first), ("second", second)) if weighs(graphs, each, node)), "")


def weighs(graphs: Graphs, record: BackwardRecord, node: Node) -> bool:
    """Whether a backward pass comes to a node only through what weighs the log-probability of something drawn: a reward, less
    what was expected; and through what a loss beside that compares with it."""
    drawn = {each for each in record.reach if _is_log_probability(graphs.births[each].moment.span)}
    found, waiting, is_weight = set[Node](), [edge.node for edge in record.roots] if drawn else [], False
    while waiting:
        each = waiting.pop()
        if each is node:
            return False
        if each in found:
            continue
        found.add(each)
        below = each.below
        if _is_for_target(graphs, each, node):
            below = below[:1]  # what the values are to come to is no more meant to be trained than the weight
        sides = [graphs.reach([Edge(one)]) for one in below] if each.op == "MulBackward0" else []
        shares = [graphs.births[one].operation == "softmax" for one in below]  # of samples, by their own probabilities
        weights = [node in side and (share or not drawn & set(side)) for side, share in zip(sides, shares)]
        if len(below) == 2 and any(weights) and any(drawn & set(side) for side in sides):
            below, is_weight = [one for one, weighs in zip(below, weights, strict=True) if not weighs], True
        waiting += below
    return is_weight


def _is_for_target(graphs: Graphs, compared: Node, node: Node) -> bool:
    """Whether a loss comes to a node only through what values are to come to."""
    below = compared.below
    is_comparison = graphs.births[compared].operation in _COMPARISONS and len(below) == 2
    return is_comparison and node in graphs.reach([Edge(below[1])]) and node not in graphs.reach([Edge(below[0])])


def comparison(graphs: Graphs, record: BackwardRecord, node: Node) -> Node | None:
    """The loss through which a backward pass comes to a node, where it does so only through what values are to come to."""
    found, waiting, comparing = set[Node](), [edge.node for edge in record.roots], None
    while waiting:
        each = waiting.pop()
        if each is node:
            return None
        if each not in found:
            found.add(each)
            below = each.below
            if _is_for_target(graphs, each, node):
                below, comparing = below[:1], each
            waiting += below
    return comparing


def target(graphs: Graphs, comparisons: Sequence[Node | None]) -> Span | None:
    """What the loss of one of two backward passes compares with, where that alone comes to what they share in such a way."""
    found = [each for each in comparisons if each is not None]
    operands = graphs.births[found[0]].operands if len(found) == 1 else ()
    return operands[1] if len(operands) > 1 else None


def owns_frozen(state: State) -> bool:
    """Whether an optimiser is given tensors, none of which requires a gradient, and no weights of modules."""
    given = [[state.get(each) for each in held.params] for held in optimizers(state) if held.params and not held.open]
    bare = [
        all(isinstance(each, TensorObj) and each.edge is None and not (each.parameter or each.unsure) for each in every)
        for every in given
    ]
    return bool(bare) and all(bare)


def frozen(graphs: Graphs, state: State, cut: Moment, *, learns: bool) -> Moment:
    """Through which calls what an optimiser is given was frozen, of all that was at a place; where nothing `learns` that it is
    given, at a place of its own if none was there."""
    given = {each: state.get(each) for held in optimizers(state) for each in held.params or () if isinstance(each, Ref)}
    plain = {each.id for each, held in given.items() if isinstance(held, TensorObj) and held.edge is None}
    there = [(id not in plain, at.span != cut.span, at) for id, at in graphs.frozen.items()]
    there = [each for each in there if not each[1] or not (learns or each[0])]
    return min(there, key=lambda each: each[:2], default=(True, True, cut))[2]


def nearest_trained(graphs: Graphs, state: State, cut: Moment) -> Moment:
    """Of the places where a graph was lost under `no_grad` the nearest at which an optimiser has what would be trained, or that
    which is told."""
    ways = graphs.unrecorded_with(cut, state.calls)
    owned = (at for at, edges in ways if any(each.is_leaf and is_owned(state, each) for each in graphs.reach(edges)))
    return next(owned, cut)


def is_regressed(graphs: Graphs, way: tuple[Node, ...], first: BackwardRecord) -> bool:
    """Whether the later loss compares the shared graph with what the same leaves make anew of the same data: that is to come to it."""
    for above, below in zip(way, way[1:], strict=False):
        if above in first.reach:
            return False
        if graphs.births[above].operation in _DIFFERENCES:
            anew = [edge for edge in above.next if edge is not None and edge.node is not below]
            return any(_makes_same(graphs, each, way[-1]) for each in anew)
    return False


_DIFFERENCES = _COMPARISONS | {"sub", "l1_loss", "cosine_similarity"}


def _makes_same(graphs: Graphs, anew: Edge, made: Node) -> bool:
    one, other = graphs.reach([anew]), graphs.reach([Edge(made)])
    leaves = [{each.variable for each in reach if each.is_leaf} for reach in (one, other)]
    data = [
        {each.storage for node in reach for each in node.saved if each.edge is None and not each.is_result} - {None}
        for reach in (one, other)
    ]
    return made not in one and bool(leaves[0]) and leaves[0] >= leaves[1] and not data[0].isdisjoint(data[1])


def is_predicted(graphs: Graphs, way: tuple[Node, ...], first: BackwardRecord) -> bool:
    """Whether the later loss compares what is shared, as it is, with what the same leaves make next and data is added to: with
    what it is to come to."""
    for above, below in zip(way, way[1:], strict=False):
        if above in first.reach:
            return False
        if (op := graphs.births[above].operation) in _DIFFERENCES:
            others = [edge for edge in above.next if edge is not None and edge.node is not below]
            is_first = op not in _COMPARISONS or (above.next[0] is not None and above.next[0].node is below)
            return is_first and below in first.reach and any(_is_shifted(graphs, each, below) for each in others)
    return False


def _is_shifted(graphs: Graphs, edge: Edge, shared: Node) -> bool:
    """Whether something is a sum of data and of what the same leaves have made."""
    node, is_sum = edge.node, False
    while (op := graphs.births[node].operation) in ("add", "sub", "mul", "div") and len(node.below) == 1:
        node, is_sum = node.below[0], is_sum or op in ("add", "sub")
    leaves = [{each.variable for each in graphs.reach([Edge(at)]) if each.is_leaf} for at in (node, shared)]
    return is_sum and bool(leaves[1]) and leaves[0] >= leaves[1]


def is_total(way: list[Node]) -> bool:
    """Whether all that a backward pass goes through, up to a graph of before, adds to it, or takes a share of the sum."""
    ops = {each.op for each in way}
    products = (each for each in way if each.op in _SHARES and len(each.below) > 1)
    return "AddBackward0" in ops and ops <= {"AddBackward0", "SubBackward0"} | _SHARES and not any(products)


def is_average(way: list[Node]) -> bool:
    """Whether a loss is the weighted sum of what a way, from the loss down, leads to and of one thing more."""
    sums = [at for at, each in enumerate(way) if each.op in ("AddBackward0", "SubBackward0")]
    return is_total(way) and len(sums) == 1 and any(map(is_scaling, way[sums[0] :]))


def _is_linear(way: Sequence[Node]) -> bool:
    """Whether all that is done on a way gives what it leads to the gradient that it would have alone, or a share of it."""
    many = {each.op for each in way if len(each.below) > 1}
    return many <= {"AddBackward0", "SubBackward0"} and {each.op for each in way} <= _LINEAR


def is_whole(way: tuple[Node, ...], first: BackwardRecord) -> bool:
    """Whether a later backward pass goes through what an earlier one starts at, as a term of what it starts at itself."""
    roots = {edge.node for edge in first.roots}
    entered = next((at for at, each in enumerate(way) if each in roots), 0)
    return entered > 0 and _is_linear(way[:entered])


def is_part(second: BackwardRecord, first: BackwardRecord) -> bool:
    """Whether a later backward pass starts at a share or a term of what an earlier one has started at, or both start at a
    share of the same: it gives the same gradients again."""
    roots = {_whole(edge.node, first) for edge in second.roots}
    if not roots <= first.reach.keys():
        return False
    is_scaled = not roots <= {edge.node for edge in second.roots}
    leading = set(roots)
    for node in sorted(first.reach, key=lambda each: each.order):
        if any(edge is not None and edge.node in leading for edge in node.next):
            leading.add(node)
    above = leading - roots
    return bool(above) and (all(map(is_scaling, above)) if is_scaled else _is_linear([*above]))


def _whole(node: Node, first: BackwardRecord) -> Node:
    """What a node is a share of, as far as an earlier backward pass didn't come to it."""
    if node in first.reach or not is_scaling(node):
        return node
    return _whole(node.below[0], first)


def is_scaling(node: Node) -> bool:
    """Whether a node multiplies what it is given by a number, or by what has no graph."""
    return node.op in _SHARES and len(node.below) == 1


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


def is_term(graphs: Graphs, way: tuple[Node, ...], first: BackwardRecord) -> bool:
    """Whether a later loss adds what was a term of an earlier one, beside others: no total that goes on."""
    entered = next((each for each in way if each in first.reach), None)
    if entered is None or not is_total([each for each in way if each not in first.reach]):
        return False
    term = graphs.reach([Edge(entered)])
    beside = (each for each in first.reach if each.saved and each not in term)
    return any(not graphs.leads(Edge(each), entered) for each in beside)


def is_fed(graphs: Graphs, way: tuple[Node, ...], first: BackwardRecord) -> bool:
    """Whether a later loss is computed by weights of what an earlier one was made of, as of an input."""
    above, on_way = [each for each in way if each not in first.reach and not _is_linear([each])], {*way}
    beside = (edge.node for each in above for edge in each.next if edge is not None and edge.node not in on_way)
    return any(_seen_through(graphs, each).is_leaf for each in beside)


def is_by_item(graphs: Graphs, way: tuple[Node, ...], first: BackwardRecord, second: BackwardRecord) -> bool:
    """Whether the later loss adds a term for what an earlier iteration has made, and one computed at the same place for what its
    own has made: one for each item of a list."""
    above = [each for each in way if each not in first.reach]
    linear = [*takewhile(lambda each: _is_linear([each]), above)]
    if len(linear) == len(above) or not any(each.op == "AddBackward0" for each in linear):
        return False
    term = above[len(linear)]
    place = graphs.births[term].moment.span, term.op
    fresh = (each for each in second.reach if each not in first.reach and each is not term)
    return any((graphs.births[each].moment.span, each.op) == place for each in fresh)


def _seen_through(graphs: Graphs, node: Node) -> Node:
    """What a view, or a view of one, is of: of a transposed weight, the weight."""
    while not node.is_leaf and (row := rows().get(graphs.births[node].operation)) is not None and "view" in row.result:
        if (below := node.next[0]) is None:
            break
        node = below.node
    return node


def is_sought(graphs: Graphs, way: tuple[Node, ...], first: BackwardRecord, second: BackwardRecord) -> bool:
    """Whether a term of the later loss is made of what was carried, and what that iteration has added to it, and of nothing
    else that has a graph: what was added is to be trained by it."""
    above = [each for each in way if each not in first.reach]
    meeting = _meeting(above)
    if meeting is None or not _is_linear(above[above.index(meeting) :]):
        return False
    linear = list(takewhile(lambda each: _is_linear([each]), above))
    term = next((each for each in above if each not in linear), meeting)
    apart = walk((term,), lambda node: node.below if node is not meeting else [])
    return meeting not in linear and all(each.next for each in apart if each is not meeting)


def is_cached(graphs: Graphs, way: tuple[Node, ...], first: BackwardRecord) -> bool:
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


def is_aside(graphs: Graphs, state: State, node: Node, first: BackwardRecord, second: BackwardRecord) -> bool:
    """Whether what only the later backward pass reaches has an optimiser of its own, which owns nothing of the graph; as has one
    that zeroes its gradients between the two. The graph is for both where it has one of its own, too, which waits for them."""
    shared = {each.variable for each in graphs.reach([Edge(node)]) if each.is_leaf}
    held, theirs = optimizers(state), _owned_later(state, first, second, shared)
    if not theirs or any(each & shared for each in theirs):
        return False
    owned = [(each, leaves) for each in held if (leaves := _owned(state, each)) & shared]
    alone = {each.variable for each in first.reach if each.is_leaf and each not in second.reach}
    active = [
        state.get(event.owner) for event in _since(state, first) if event.kind in ("step", "zero") and event.owner
    ]
    if any(each not in active and not leaves & alone for each, leaves in owned):
        return False
    return bool(owned) or not any(each.params is None or each.open for each in held)


def _owned_later(
    state: State, first: BackwardRecord, second: BackwardRecord, shared: Set[Hashable]
) -> list[Set[Hashable]]:
    """The leaves of each optimiser that the later backward pass is for: it owns what only that reaches, or zeroes its gradients
    between the two."""
    own = {each.variable for each in second.reach if each.is_leaf and each not in first.reach} - shared
    zeroed = [
        state.get(event.owner) for event in _since(state, first) if event.kind == "zero" and event.owner is not None
    ]
    owned = [(each, _owned(state, each)) for each in optimizers(state)]
    return [leaves for each, leaves in owned if leaves & own or each in zeroed]


def constant(
    graphs: Graphs, state: State, way: tuple[Node, ...], first: BackwardRecord, second: BackwardRecord
) -> Moment | None:
    """Where the later backward pass comes from what its optimiser owns to what that owns nothing of, if the first didn't go
    through that place."""
    return _boundary(graphs, way, frozenset().union(*_owned_later(state, first, second, set())), first)


def _boundary(graphs: Graphs, way: tuple[Node, ...], owned: Set[Hashable], other: BackwardRecord) -> Moment | None:
    """Where a way comes from what is `owned` to what has nothing of that, if the other backward pass didn't go through that place."""
    for above, below in pairwise(way):
        if owned.isdisjoint(each.variable for each in graphs.reach([Edge(below)]) if each.is_leaf):
            birth = graphs.births[above]
            spans = (
                span for edge, span in zip(above.next, birth.operands, strict=False) if edge and edge.node is below
            )
            span = next(spans, None)
            if above in other.reach or not owned or span is None:
                return None
            return Moment(span, birth.moment.iterations, birth.moment.frames)
    return None


def is_joint(state: State, first: BackwardRecord, second: BackwardRecord) -> bool:
    """Whether what only the later backward pass reaches has an optimiser of its own, which owns a part of what both reach: each
    of the two trains its own part of one graph."""
    if first.targets is not None or second.targets is not None:
        return False  # which asks for gradients, and trains nothing
    one, two = ({each.variable for each in record.reach if each.is_leaf} for record in (first, second))
    return any(
        not leaves.isdisjoint(two - one) and not leaves.isdisjoint(one & two) and leaves.isdisjoint(one - two)
        for leaves in (_owned(state, each) for each in optimizers(state))
    )


def _reached_apart(first: BackwardRecord, second: BackwardRecord) -> set[Node]:
    """What a backward pass reaches without going through what an earlier one went through."""

    def apart(nodes: Iterable[Node]) -> list[Node]:
        return [node for node in nodes if node in second.reach and node not in first.reach]

    return {*walk(apart(edge.node for edge in second.roots), lambda node: apart(node.below))}


def _uses(nodes: Iterable[Node]) -> set[tuple[str, Hashable]]:
    """By which operations some nodes use leaves: a layer and a penalty on its weights do by others."""
    return {(n.op, e.node.variable) for n in nodes for e in n.next if e is not None and e.node.is_leaf}
