"""torch.utils.checkpoint: functions whose saved tensors are let go at once, and that run again in backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retainlint.autograd.graph import SavedTensor
from retainlint.numeric.autograd_function import Function
from retainlint.numeric.backward_pass import backward, grad
from retainlint.numeric.grad_mode import enable_grad
from retainlint.numeric.random import get_rng_state, set_rng_state
from retainlint.numeric.tape import LEDGER, Grads, Meta, Saved, Step, needing
from retainlint.numeric.tensor import LeafKey, Tensor


class _Checkpoint(Function):
    """Reentrant: the body runs again in backward."""

    @staticmethod
    def forward(ctx: Any, run: Any, state: Any, *args: Any) -> Any:
        ctx.run, ctx.state = run, state
        ctx.plain_args = [None if isinstance(a, Tensor) else a for a in args]
        ctx.save_for_backward(*(a if isinstance(a, Tensor) else None for a in args))
        return run(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        args = [known if t is None else t.detach() for known, t in zip(ctx.plain_args, ctx.saved_tensors)]
        for arg, original in zip(args, ctx.saved_tensors):
            if isinstance(arg, Tensor) and original.requires_grad:
                arg.requires_grad = True
        with enable_grad():
            outputs = ctx.run(*args)
        several = [outputs] if isinstance(outputs, Tensor) else list(outputs)
        pairs = [(o, g) for o, g in zip(several, grads) if isinstance(o, Tensor) and o.requires_grad]
        backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *(a.grad_ if isinstance(a, Tensor) else None for a in args))


def checkpoint(function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None, **kwargs: Any) -> Any:
    """Run `function` without keeping what it saves; it runs again in backward."""
    for option in ("preserve_rng_state", "context_fn", "determinism_check"):
        kwargs.pop(option, None)
    if use_reentrant:
        return _Checkpoint.apply(lambda *a: function(*a, **kwargs), None, *args)
    return _recomputed(lambda *a: function(*a, **kwargs), args)


def _recomputed(run: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """One node in place of the body's graph, that builds it again when it is walked; parameters get their gradients
    through the graph that is built then."""
    before = get_rng_state()
    outputs = run(*args)
    if not isinstance(outputs, Tensor) or outputs.gradient_node() is None:
        return outputs
    leaves, saves = _below(outputs, [a for a in args if isinstance(a, Tensor)])
    inputs = leaves
    needs = needing(inputs)
    made = Tensor.of(outputs.array)

    def pull(saved: Saved, grads: list[Tensor | None]) -> Grads:
        after = get_rng_state()
        set_rng_state(before)
        stand_ins = {id(a): _begun_anew(a) for a in args if isinstance(a, Tensor) and a.requires_grad}
        with enable_grad():
            again = run(*(stand_ins.get(id(a), a) for a in args))
        set_rng_state(after)
        found: list[Any] = list(grad(again, [stand_ins.get(id(t), t) for t in inputs], grads[0], allow_unused=True))
        return found

    made.node = Step(
        "CheckpointBackward",
        (SavedTensor("function"),) if saves else (),
        tuple(t.edge() if need else None for t, need in zip(inputs, needs)),
        LEDGER.next_order(),
        pullback=pull,
        saved_numbers=Saved({}, {}, {}),
        wanted=tuple(Meta.of(t) if need else None for t, need in zip(inputs, needs)),
        outputs=(Meta.of(outputs),),
    )
    return made


def _begun_anew(tensor: Tensor) -> Tensor:
    """A leaf in the place of an argument: what lies behind it is walked once, by the walk that comes to the checkpoint."""
    leaf: Tensor = tensor.detach()
    leaf.requires_grad = True
    return leaf


def _below(output: Tensor, args: list[Tensor]) -> tuple[list[Tensor], bool]:
    """The tensors at which the graph of `output` ends (arguments, and leaves beyond them), and whether it saves."""
    stops = {(edge.node, edge.output): a for a in args if (edge := a.edge()) is not None}
    found: dict[int, Tensor] = {}
    saves = False
    first = output.edge()
    stack_, seen = [first], set()
    while stack_:
        edge = stack_.pop()
        if edge is None or (edge.node, edge.output) in seen:
            continue
        seen.add((edge.node, edge.output))
        stop = stops.get((edge.node, edge.output))
        if stop is not None:
            found[id(stop)] = stop
        elif edge.node.is_leaf:
            assert isinstance(edge.node.variable, LeafKey)
            leaf = edge.node.variable.tensor
            found[id(leaf)] = leaf
        else:
            saves = saves or bool(edge.node.saved)
            stack_.extend(edge.node.next)
    return list(found.values()), saves
