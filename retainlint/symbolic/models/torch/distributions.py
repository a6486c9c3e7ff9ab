"""torch.distributions: what building one computes, and which of its methods keep the graph."""

from __future__ import annotations

from collections.abc import Iterator

from retainlint.symbolic.models.torch import shapes
from retainlint.symbolic.models.torch.new_tensors import lost, operate
from retainlint.symbolic.models.unknown import objects
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.shape import UNKNOWN, Shape, broadcast
from retainlint.symbolic.state.state import State, ticket
from retainlint.symbolic.state.values import (
    CONVENTIONAL,
    Const,
    DistributionObj,
    ListObj,
    Ref,
    TensorObj,
    UnknownObj,
    Value,
)
from retainlint.text.distribution_names import CHOICES, REALS
from retainlint.text.source import Span

_CUT = {"sample", "sample_n", "enumerate_support", "arg_constraints", "batch_shape", "event_shape"}
_SIMPLE = {"mean", "loc", "mode", "scale", "stddev", "variance", "probs", "logits", "rate", "base_dist"}
METHODS = {"sample", "sample_n", "rsample", "log_prob", "entropy", "cdf", "icdf", "enumerate_support", "expand"}


def function(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results | None:
    """Make a distribution, or compare two."""
    if not path.startswith("torch.distributions."):
        return None
    kind = path.rpartition(".")[2]
    if kind == "kl_divergence":
        held_by = ((value, state.get(value)) for value in args.pos)
        parts = [p for value, d in held_by for p in (d.params if isinstance(d, DistributionObj) else (value,))]
        return [(state, _computed(machine, state, tuple(parts), span))]
    if not kind[:1].isupper():
        return None
    params = [each for value in args.all for each in _spread(state, value)]
    named = dict(args.named)
    if kind in ("Categorical", "OneHotCategorical") and params:
        if "logits" in named:  # normalised at once: logits - logits.logsumexp()
            total = operate(machine, state, "logsumexp", params[:1], span, spans=_spans(args))
            params = [operate(machine, state, "sub", (params[0], total), span, spans=_spans(args))]
        else:
            total = operate(machine, state, "sum", params[:1], span)
            params = [operate(machine, state, "div", (params[0], total), span, spans=_spans(args))]
    return [(state, state.new(DistributionObj(kind, tuple(params))))]


def _spread(state: State, value: Value) -> Iterator[Value]:
    """The tensors behind an argument: those of a distribution, and of each transform in a list."""
    held = state.get(value)
    if isinstance(held, DistributionObj):
        yield from held.params
    elif isinstance(held, ListObj) and any(isinstance(state.get(item), DistributionObj) for item in held.items):
        for item in held.items:
            yield from _spread(state, item)
    else:
        yield value


def _spans(args: Args) -> tuple[Span | None, ...]:
    return args.spans[:1] or (None,)


def method(machine: Machine, state: State, held: DistributionObj, name: str, args: Args, span: Span) -> Results:
    if name in _CUT:
        # of what never had a graph, as frozen weights make it, nothing was lost by a draw
        cut = None if objects.edges_in(machine, state, held.params) else lost(machine, state, held.params, span)
        drawn = _drawn(state, held, args) if name == "sample" else UNKNOWN
        return [(state, state.new(TensorObj(None, ticket(), cut=cut or ("sample", span), shape=drawn)))]
    match name:
        case "log_prob" | "cdf" | "icdf":
            return [(state, _log_prob(machine, state, held, args, span))]
        case "entropy" | "perplexity":
            if held.kind in ("Normal", "LogNormal"):  # 0.5 + 0.5 * log(2 pi) + log(scale)
                return [(state, operate(machine, state, "log", held.params[1:2], span))]
            return [(state, _computed(machine, state, (*held.params[:1], *held.params), span))]
        case "rsample":
            if held.kind in ("Normal", "Laplace", "Uniform") and len(held.params) > 1:
                noise = state.new(TensorObj(None, ticket(), shape=_drawn(state, held, args)))
                scaled = operate(machine, state, "mul", (held.params[1], noise), span)
                return [(state, operate(machine, state, "add", (held.params[0], scaled), span))]
            return [(state, _computed(machine, state, (*held.params[:1], *held.params), span))]
        case "expand":
            return [(state, state.new(held))]
    return [(state, objects.fresh(state, span))]


def _drawn(state: State, held: DistributionObj, args: Args) -> Shape:
    """The shape of a draw from a distribution over each element by itself."""
    if args.all or held.kind not in _BY_ELEMENT:
        return UNKNOWN
    return broadcast([shapes.of(state, each) for each in held.params])


_BY_ELEMENT = frozenset("Normal LogNormal Laplace Uniform Bernoulli Beta Gamma Exponential Poisson StudentT".split())


def _log_prob(machine: Machine, state: State, held: DistributionObj, args: Args, span: Span) -> Value:
    if held.kind in ("Categorical", "OneHotCategorical"):
        return operate(machine, state, "gather", held.params[:1], span)
    if held.kind == "Normal" and len(held.params) > 1:
        offset = operate(machine, state, "sub", (args.get(0, "value"), held.params[0]), span)
        square = operate(machine, state, "pow", (offset,), span)
        return operate(machine, state, "div", (square, held.params[1]), span)
    return _computed(machine, state, (*held.params[:1], *held.params, *args.pos), span)


def _computed(machine: Machine, state: State, operands: tuple[Value, ...], span: Span) -> Value:
    """Something of the parameters that surely saves them; how, is not modelled."""
    edges = objects.edges_in(machine, state, operands)
    if not state.grad or not edges:
        held = [state.get(each) for each in operands if isinstance(each, Ref)]
        if held and all(isinstance(each, TensorObj) and each.has_no_graph for each in held):
            return state.new(TensorObj(None, ticket(), cut=lost(machine, state, operands, span)))
        return objects.fresh(state, span, plain=True)
    assumed = "the distribution saves its parameters for the backward"
    edge = machine.graphs.unseen(state, edges, state.birth(span), CONVENTIONAL, assumed)
    return state.new(UnknownObj(span, edge, "tensor"))


def attribute(held: DistributionObj, name: str) -> Value | None:
    """A property of a distribution; None for a method."""
    if name in _SIMPLE and held.params:
        second = name in ("scale", "stddev", "variance") and len(held.params) > 1
        return held.params[1] if second else held.params[0]
    if name == "has_rsample" and held.kind in REALS | CHOICES:
        return Const(held.kind in REALS)
    return None
