"""Calls that don't do what they seem to: arguments that torch hasn't, results that are None or dropped, old names."""

from __future__ import annotations

from collections.abc import Iterable

from retainlint import ir
from retainlint.incident import Discarded, OldVariable, ResultUsed, UnknownArgument
from retainlint.startup.records import replace
from retainlint.symbolic.detectors.claims import Claims, conditions, is_dropped, user
from retainlint.symbolic.state.events import BackwardCalled, VariableMade
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import CONVENTIONAL, Value
from retainlint.text.source import Span

_TAKES = {
    "Tensor.backward": {"gradient", "retain_graph", "create_graph", "inputs"},
    "torch.autograd.backward": {"tensors", "grad_tensors", "retain_graph", "create_graph", "grad_variables", "inputs"},
    "torch.autograd.grad": {
        "outputs", "inputs", "grad_outputs", "retain_graph", "create_graph", "only_inputs", "allow_unused",
        "is_grads_batched", "materialize_grads",
    },
}  # fmt: skip
_DEPRECATED = {("torch.autograd.backward", "grad_variables"), ("torch.autograd.grad", "only_inputs")}
_OLD = {"retain_variables", "grad_variables"}
"""Names that only torch ever had: who writes them means torch."""


def arguments(claims: Claims, called: BackwardCalled) -> None:
    """Report the named arguments that a walk hasn't, today."""
    state, function, span = called.state, called.function, called.span
    names = [name for name in called.names if name not in _TAKES[function] or (function, name) in _DEPRECATED]
    if not names:
        return
    if state.guards or _is_tried(state.frame.code, span):
        return  # the program tries the name, and has another way
    sure = function != "Tensor.backward" or _known(claims, state, called.roots)
    for name in names:
        if not sure and name not in _OLD:
            continue
        value = dict(called.places).get(name)
        if (function, name) == ("torch.autograd.grad", "only_inputs") and (value is None or value.text == "True"):
            continue
        told = UnknownArgument(
            state.moment(span), function, name, value, (function, name) in _DEPRECATED, sure,
            conditions=conditions(state),
        )  # fmt: skip
        claims.claim(told, settled=True)


def _is_tried(code: ir.Code, span: Span) -> bool:
    """Whether a call stands in a `try` with a handler of TypeErrors."""
    tries = (each for each in ir.walk(code.body) if isinstance(each, ir.Try))
    return any(
        "TypeError" in _handled(each) and any(inner.span == span for inner in ir.walk(each.body)) for each in tries
    )


def _handled(instr: ir.Try) -> set[str]:
    """What the handlers of a `try` name."""
    return {name for handler in instr.handlers for name in ir.names(handler.test)}


def result(claims: Claims, called: BackwardCalled) -> None:
    """Report a walk whose result, None, is used."""
    state, backward_pass = called.state, called.backward_pass
    if backward_pass is None or not _known(claims, state, called.roots):
        return
    used = user(state.frame.code, backward_pass.moment.span)
    if used is not None:
        claims.claim(ResultUsed(backward_pass, used[1], conditions=conditions(state)), settled=True)


def detached(claims: Claims, state: State, tensor: Value, span: Span) -> None:
    """Report `tensor.detach()` whose result is dropped."""
    if is_dropped(state.frame.code, span) and _known(claims, state, (tensor,)):
        name = span.text.rpartition(".")[0].strip()
        claims.claim(Discarded(state.moment(span), name, conditions=conditions(state)), settled=True)


def variable(claims: Claims, made: VariableMade) -> None:
    """Report `Variable(...)`."""
    before = [
        (at, each.incident)
        for at, each in enumerate(claims.claims)
        if isinstance(each.incident, OldVariable) and each.incident.primary == made.span
    ]
    is_bare = made.bare and all(incident.bare for _, incident in before)
    for at, incident in before:
        claims.claims[at] = replace(claims.claims[at], incident=replace(incident, bare=is_bare))
    moment, given = made.state.moment(made.span), conditions(made.state)
    claims.claim(OldVariable(moment, made.argument, made.names, is_bare, conditions=given), settled=True)


def _known(claims: Claims, state: State, roots: Iterable[Value]) -> bool:
    """Whether these are surely tensors with a graph: seen being made, or walked before."""
    edges = [claims.graphs.edge(state, root) for root in roots]
    return bool(edges) and all(
        edge is not None
        and (
            claims.graphs.exists(edge) <= CONVENTIONAL or any(edge in record.roots for record in state.backward_passes)
        )
        for edge in edges
    )
