"""Writes a failing path as a straight torch script, and replays it on the core.

The script holds what the failure needs and nothing else: the operations between the roots of the walks and the node
that raised, each on 2 x 2 tensors, then the walks and changes in their order. What is not torch's own operation is a
named stand-in that saves its inputs, or passes them on.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from retainlint.autograd import engine
from retainlint.autograd.errors import (
    GraphError,
    HookedViewModifiedError,
    InferenceLeafError,
    InferenceModifiedError,
    InferenceSavedError,
    LeafModifiedError,
    LeafViewModifiedError,
    NoGradInputError,
    NonLeafError,
    SharedViewModifiedError,
    UnusedError,
)
from retainlint.autograd.graph import Edge, Node, SavedTensor, leaf
from retainlint.autograd.ledger import Ledger
from retainlint.incident import (
    InferenceUsed,
    LeafModified,
    NoGraph,
    Refused,
    Said,
    UnknownArgument,
    ViewModified,
    Witness,
)
from retainlint.symbolic.detectors import witness_script
from retainlint.symbolic.detectors.witness_script import Straight, expression, one_line, statement
from retainlint.symbolic.state.graphs import Graphs
from retainlint.symbolic.state.state import BackwardRecord, Change
from retainlint.symbolic.state.values import CONVENTIONAL, GUESS
from retainlint.text.quoting import harmless
from retainlint.text.source import Span

_BINARY = {"add": "+", "sub": "-", "mul": "*", "div": "/", "matmul": "@", "mm": "@", "mv": "@", "dot": "@", "bmm": "@"}
_UNARY = {
    "exp", "log", "sqrt", "sin", "cos", "abs", "square", "sigmoid", "tanh", "relu", "neg", "clone", "t", "reciprocal",
    "rsqrt", "log1p", "expm1", "erf",
}  # fmt: skip
_CALLS = {
    "pow": "_0 ** 2", "linear": "F.linear(_0, _1)", "softmax": "_0.softmax(1)",
    "log_softmax": "_0.log_softmax(1)", "mse_loss": "F.mse_loss(_0, _1, reduction='none')",
    "transpose": "_0.t()", "gelu": "F.gelu(_0)", "silu": "F.silu(_0)", "softplus": "F.softplus(_0)",
    "leaky_relu": "F.leaky_relu(_0)", "sum": "_0.sum(0, keepdim=True).expand(2, 2)",
    "mean": "_0.mean(0, keepdim=True).expand(2, 2)", "rsub": "1 - _0", "cumprod": "_0.cumprod(0)",
    "cdist": "torch.cdist(_0, _1)",
}  # fmt: skip
_SPREAD = {
    "norm": "_0.norm(dim=0, keepdim=True).expand(2, 2)", "std": "_0.std(0, keepdim=True).expand(2, 2)",
    "vector_norm": "torch.linalg.vector_norm(_0, dim=0, keepdim=True).expand(2, 2)",
    "prod": "_0.prod(0, keepdim=True).expand(2, 2)", "logsumexp": "_0.logsumexp(0, keepdim=True).expand(2, 2)",
    "amax": "_0.amax(0, keepdim=True).expand(2, 2)", "amin": "_0.amin(0, keepdim=True).expand(2, 2)",
}  # fmt: skip
"""What saves its result, of which this is a view that can't be changed."""
_PLAIN = "torch.ones(2, 2, dtype=torch.float64)"
_TENSOR = "torch.ones(2, 2, dtype=torch.float64, requires_grad=True)"
_WALKED = {
    "Tensor.backward": "(t0 * t0).sum().backward()",
    "torch.autograd.backward": "torch.autograd.backward((t0 * t0).sum())",
    "torch.autograd.grad": "torch.autograd.grad((t0 * t0).sum(), t0)",
}


@dataclass
class _Script:
    """A script in the making: the variable that holds each node's result, and the statements so far."""

    graphs: Graphs
    made: Straight = field(default_factory=Straight)
    said: list[Said] = field(default_factory=list)
    names: dict[Node, str] = field(default_factory=dict)
    kept: dict[Node, Node] = field(default_factory=dict)  # the program's node -> the replayed one
    constants: dict[Node, str] = field(default_factory=dict)
    spoilt: SavedTensor | None = None  # what is changed
    moved: Node | None = None  # a call that nobody sees, and of whose weights it is only known that they were changed
    ledger: Ledger = field(default_factory=Ledger)

    def say(self, said: ast.stmt, span: Span | None, what: str = "", *, under_no_grad: bool = False) -> None:
        """`span` is told by its file's last name: the script is the same wherever it is made."""
        place, text = ("", "") if span is None else (one_line(os.path.basename(str(span))), one_line(span.text))
        self.made.add(said, "  ".join(filter(None, (place and f"{place}: {text}", what))), under_no_grad=under_no_grad)
        self.said.append(Said(text, place, what))

    def leaf(self, node: Node | None) -> str:
        """A variable for a leaf, or for whatever is not on the way."""
        if node is not None and node in self.names:
            return self.names[node]
        name = self._new()
        span = self.graphs.births[node].moment.span if node is not None else None
        self.say(statement(f"_0 = {_TENSOR}", name), span if node is not None and node.is_leaf else None)
        if node is not None:
            self.names[node] = name
            self.kept[node] = leaf(name)
        return name

    def operation(self, node: Node, on_way: set[Node]) -> None:
        """One line for one node of the program."""
        birth = self.graphs.births[node]
        names = [
            self.leaf(edge.node) if edge.node not in on_way else self.names[edge.node] for edge in node.next if edge
        ]
        if node is self.moved:
            names.append(self._constant(node, _TENSOR, "a weight"))
        value = self._spelled(birth.operation, node, names)
        name = self._new()
        self.say(statement("_0 = _1", name, value), birth.moment.span)
        self.names[node] = name
        saved = tuple(SavedTensor(s.name, self._key(node, s, name), 0, None, s.is_result) for s in node.saved)
        following = tuple(Edge(self.kept[edge.node]) for edge in node.next if edge is not None)
        self.kept[node] = Node(node.op, saved, following, self.ledger.next_order())

    def _new(self) -> str:
        return f"t{len(self.names) + len(self.constants)}"

    def _key(self, node: Node, saved: SavedTensor, name: str) -> str | None:
        """The variable in which a saved tensor lies."""
        if saved.storage is None:
            return None
        if saved.is_result:
            return name
        return self.names.get(saved.edge.node) if saved.edge is not None else self.constants.get(node)

    def _spelled(self, operation: str, node: Node, names: list[str]) -> ast.expr:
        if self.spoilt in node.saved:
            return self._saving(operation, node, names)
        if operation == "add" and len(names) > 2:  # a sum
            return self.made.sum(names)
        if (own := self._own(operation, node, names)) is not None:
            return own
        if names and any(saved.is_result for saved in node.saved):
            return expression("_0.exp()", names[0] if len(names) == 1 else self.made.stand_in("passing", names))
        if any(map(_is_constant, node.saved)):
            return self._times_constant(node, names)
        if node.saved:
            return self.made.stand_in("saving", names or [expression(_TENSOR)])
        return self.made.stand_in("passing", names)

    def _saving(self, operation: str, node: Node, names: list[str]) -> ast.expr:
        """What saves what is changed before the gradients need it: the operation itself, if it can be written."""
        assert self.spoilt is not None
        if _is_constant(self.spoilt):
            return self._times_constant(node, names)
        own = None if self.spoilt.is_result and operation in _SPREAD else self._own(operation, node, names)
        if own is not None:
            return own
        if self.spoilt.is_result:
            return expression("_0.exp()", names[0] if len(names) == 1 else self.made.stand_in("passing", names))
        return self.made.stand_in("saving", names or [expression(_TENSOR)])

    def _own(self, operation: str, node: Node, names: list[str]) -> ast.expr | None:
        """The operation as torch spells it, if that can be said of 2 x 2 tensors."""
        if operation in _BINARY or operation in ("linear", "mse_loss"):
            left, right = (*names, self._constant(node))[:2] if len(names) == 1 else names[:2]
            if operation == "div" and len(names) == 1 and any(saved.edge is not None for saved in node.saved):
                left, right = right, left
            if operation in _BINARY:
                return expression(f"_0 {_BINARY[operation]} _1", left, right)
            return self.made.sum([expression(_CALLS[operation], left, right), *names[2:]])  # a bias may be on the way
        if operation in _UNARY and len(names) == 1:
            return expression("-_0" if operation == "neg" else f"_0.{operation}()", names[0])
        template = _CALLS.get(operation) or _SPREAD.get(operation)
        if template is None or len(names) < 1 + ("_1" in template):
            return None
        return expression(template, *names)

    def _times_constant(self, node: Node, names: list[str]) -> ast.expr:
        return self.made.sum([expression("_0 * _1", self._constant(node), names[0]), *names[1:]])

    def _constant(self, node: Node, text: str = _PLAIN, said: str = "needs no gradient") -> str:
        name = self._new()
        self.say(statement(f"_0 = {text}", name), None, said)
        self.constants[node] = name
        return name

    def witness(self, error: str, node: str) -> Witness | None:
        """None if the text isn't what was meant: then nobody gets to see it."""
        text = self.made.text()
        return None if text is None else Witness((), text, error, node, tuple(self.said))


def of_freed(graphs: Graphs, first: BackwardRecord, second: BackwardRecord, node: Node) -> Witness | None:
    """Both walks over the way to the node that the first freed. None if the core doesn't agree."""
    script = _Script(graphs)
    ways = [_way(graphs, record, node) for record in (first, second)]
    _emit(script, ways)
    backward_passes = [
        (record, script.names[way[0]], script.kept[way[0]]) for record, way in zip((first, second), ways, strict=True)
    ]
    for number, (record, name, _) in enumerate(backward_passes):
        what = "frees what it goes through" if number == 0 else "needs it again"
        script.say(statement("_0.sum().backward(retain_graph=False)", name), record.backward_pass.moment.span, what)
    error = _replay(script.ledger.fork(), [(kept, False) for _, _, kept in backward_passes])
    honest = _replay(script.ledger.fork(), [(backward_passes[0][2], True), (backward_passes[1][2], False)])
    if error is None or honest is not None:
        return None
    return script.witness(str(error), node.op)


def of_modified(
    graphs: Graphs,
    earlier: BackwardRecord | None,
    backward_pass: BackwardRecord,
    node: Node,
    saved: SavedTensor,
    change: Change,
) -> Witness | None:
    """The walk behind a change of what the node saved, and the retained walk before it if there was one."""
    script = _Script(graphs, spoilt=saved)
    script.moved = node if saved.name == "weights" and saved.edge is None else None
    way = _way(graphs, backward_pass, node)
    ways = [way] if earlier is None else [_way(graphs, earlier, node), way]
    _emit(script, ways)
    kept = script.kept[node].saved[node.saved.index(saved)]
    if kept.storage is None:
        return None
    if earlier is not None:
        name = script.names[ways[0][0]]
        script.say(statement("_0.sum().backward(retain_graph=True)", name), earlier.backward_pass.moment.span)
    changed = statement("_0.add_(0.5)", str(kept.storage))
    script.say(changed, change.moment.span, "changes it in place", under_no_grad=True)
    backpropagated = statement("_0.sum().backward()", script.names[way[0]])
    script.say(backpropagated, backward_pass.backward_pass.moment.span, "needs it unchanged")
    before = [(script.kept[ways[0][0]], True)] if earlier is not None else []
    last = [(script.kept[way[0]], False)]
    honest = _replay(script.ledger.fork(), before + last)
    ledger = script.ledger.fork()
    _replay(ledger, before)
    ledger.bump(kept.storage)
    error = _replay(ledger, last)
    if error is None or honest is not None:
        return None
    return script.witness(str(error), node.op)


def of_no_graph(incident: NoGraph) -> Witness | None:
    """A walk from a tensor whose graph was lost in the same way, or never was."""
    script = _Script(Graphs())
    cut = incident.cut.span if incident.cut is not None else None
    is_leaf = incident.reason == "leaf"
    script.say(statement(f"t0 = {_PLAIN if is_leaf else _TENSOR}"), cut if is_leaf else None)
    if incident.reason == "no_grad":
        script.say(statement("t1 = t0 * t0"), cut, "builds no graph", under_no_grad=True)
    elif not is_leaf:
        cutting = "t1 = (t0 * t0).data" if incident.reason == "data" else "t1 = (t0 * t0).detach()"
        script.say(statement(cutting), cut, "cuts the graph")
    script.say(
        statement("_0.sum().backward()", "t0" if is_leaf else "t1"), incident.backward_pass.moment.span, "finds none"
    )
    try:
        engine.backward_pass([(None, True)], Ledger(), _Numb(), engine.Observer())
    except GraphError as error:
        return script.witness(str(error), "the root")
    return None


def of_leaf(incident: LeafModified) -> Witness | None:
    """An in-place change of a leaf, or of a view of one, while autograd records."""
    script = _Script(Graphs())
    script.say(statement(f"t0 = {_TENSOR}"), incident.made.span if incident.made else None)
    changed = statement("t0[0] = 1" if incident.view else "t0.add_(1)")
    script.say(changed, incident.modified.span, "changes it in place")
    error = LeafViewModifiedError() if incident.view else LeafModifiedError()
    return script.witness(str(error), "the leaf")


def of_view(incident: ViewModified) -> Witness | None:
    """An in-place change of one of several views, while autograd records."""
    script = _Script(Graphs())
    script.say(statement(f"t0 = {_TENSOR}"), None)
    if incident.is_hooked:
        script.say(statement("net = torch.nn.Identity()"), None)
        script.say(statement("net.register_full_backward_hook(torch.exp)"), None)
        script.say(statement("t1 = net(t0 * t0)"), incident.made, "gives a view")
        script.say(statement("t1.add_(1)"), incident.modified.span, "changes it in place")
        return script.witness(str(HookedViewModifiedError()), "the view")
    if not incident.op:
        script.say(statement(f"t1 = ({_PLAIN}).unbind()[0]"), incident.made, "gives several views")
        script.say(statement("t1.add_(t0[0])"), incident.modified.span, "changes one of them in place")
        return script.witness(str(SharedViewModifiedError("")), "the view")
    op = incident.op if incident.op in _SEVERAL else "Unbind"
    script.say(statement(f"t1 = (t0 * t0).{_SEVERAL[op]}[0]"), incident.made, "gives several views")
    script.say(statement("t1.add_(1)"), incident.modified.span, "changes one of them in place")
    return script.witness(str(SharedViewModifiedError(f"Output 0 of {op}")), "the view")


def of_inference(incident: InferenceUsed) -> Witness | None:
    """A tensor of inference mode, used where autograd records."""
    script = _Script(Graphs())
    script.say(
        ast.parse(f"with torch.inference_mode():\n    t0 = {_PLAIN}").body[0],
        incident.made,
        "makes it in inference mode",
    )
    if incident.reason == "changed":
        script.say(statement("t0.add_(1)"), incident.used.span, "changes it in place")
        return script.witness(str(InferenceModifiedError()), "the change")
    if incident.reason == "asked":
        script.say(statement("t0.requires_grad_()"), incident.used.span, "asks it to require a gradient")
        return script.witness(str(InferenceLeafError()), "the tensor")
    script.say(statement(f"t1 = {_TENSOR}"), None)
    script.say(statement("t1 * t0"), incident.used.span, "has to save it")
    return script.witness(str(InferenceSavedError()), "the tensor")


_SEVERAL = {"Split": "chunk(2)", "Unbind": "unbind()"}


def of_refused(incident: Refused) -> Witness | None:
    """A gradient of what isn't in the graph, or an optimiser of what is computed."""
    script = _Script(Graphs())
    script.say(statement(f"t0 = {_TENSOR}"), None)
    if incident.reason == "computed":
        script.say(statement("t1 = t0 * t0"), incident.made.span, "is no leaf")
        script.say(statement("torch.optim.SGD([t1], lr=0.1)"), incident.call.span, "refuses it")
        return script.witness(str(NonLeafError()), "the optimiser")
    if incident.reason == "unused":
        script.say(statement(f"t1 = {_TENSOR}"), incident.made.span, "isn't used")
    else:
        script.say(statement(f"t1 = {_PLAIN}"), incident.made.span, "requires no gradient")
    at = (incident.number or 0) if incident.reason == "unused" else 0
    asked = f"[t0] * {at} + [t1]" if at > 1 else "[t0, t1]" if at else "t1"
    error = UnusedError(at) if incident.reason == "unused" else NoGradInputError()
    script.say(statement(f"torch.autograd.grad((t0 * t0).sum(), {asked})"), incident.call.span, "doesn't come to it")
    return script.witness(str(error), "the call")


def of_argument(incident: UnknownArgument) -> Witness | None:
    """A walk that is given an argument by a name that it hasn't, and which may be any text."""
    script = _Script(Graphs())
    script.say(statement(f"t0 = {_TENSOR}"), None)
    backward_pass = expression(_WALKED[incident.function])
    assert isinstance(backward_pass, ast.Call)
    backward_pass.keywords.append(witness_script.keyword(incident.name))
    script.say(statement("_0", backward_pass), incident.call.span, "has no such argument")
    function, name = incident.function.removeprefix("torch.autograd."), harmless(incident.name)
    return script.witness(f"{function}() got an unexpected keyword argument '{name}'", "the call")


def _way(graphs: Graphs, record: BackwardRecord, node: Node) -> tuple[Node, ...]:
    for level in (CONVENTIONAL, GUESS):
        for root in record.roots:
            if way := graphs.way(root, node, level):
                return way
    return (node,)


def _emit(script: _Script, ways: Sequence[tuple[Node, ...]]) -> None:
    on_way = {each for way in ways for each in way}
    for each in sorted(on_way, key=lambda n: n.order):
        script.operation(each, on_way)


def _is_constant(saved: SavedTensor) -> bool:
    """Whether a saved tensor is one of the program's that needs no gradient."""
    return saved.storage is not None and saved.edge is None and not saved.is_result and saved.name != "weights"


class _Numb:
    """An arithmetic in which every gradient is there."""

    def apply(self, node: Node, grads: list[bool | None]) -> Sequence[bool | None]:
        return [True] * len(node.next)

    def add(self, left: bool, right: bool) -> bool:
        return True

    def accumulate(self, variable: object, grad: bool) -> None:
        """Nothing is added up."""


def _replay(ledger: Ledger, backward_passes: Sequence[tuple[Node, bool]]) -> GraphError | None:
    """Run some walks on the core; what it raised, if it did."""
    try:
        for root, retain in backward_passes:
            engine.backward_pass([(Edge(root), True)], ledger, _Numb(), engine.Observer(), retain=retain)
    except GraphError as error:
        return error.with_traceback(None)  # whose frames hold the error, and the whole machine
    return None
