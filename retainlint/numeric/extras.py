"""What doesn't compute: clipping, checkpoints, and stand-ins for what only matters on other devices."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from retainlint.autograd.graph import SavedTensor
from retainlint.numeric.autograd_function import Function
from retainlint.numeric.backward_pass import backward, grad
from retainlint.numeric.grad_mode import enable_grad, no_grad
from retainlint.numeric.operations.pieces import cat, stack
from retainlint.numeric.random import get_rng_state, set_rng_state
from retainlint.numeric.tape import LEDGER, Grads, Meta, Saved, Step, needing
from retainlint.numeric.tensor import LeafKey, Tensor


def _listed(parameters: Any) -> list[Tensor]:
    return [parameters] if isinstance(parameters, Tensor) else list(parameters)


def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: Any = None
) -> Tensor:
    """Scale all gradients down, so that together they have at most this norm; the norm they had."""
    with no_grad():
        grads = [p.grad_ for p in _listed(parameters) if p.grad_ is not None]
        if not grads:
            return Tensor.of(np.zeros((), np.float32))
        total: Tensor = stack([g.norm(norm_type) for g in grads]).norm(norm_type)
        if error_if_nonfinite and not math.isfinite(total.item()):
            raise RuntimeError(f"The total norm of order {norm_type} for gradients from `parameters` is non-finite")
        scale = (max_norm / (total + 1e-6)).clamp(max=1.0)
        for g in grads:
            g.mul_(scale)
    return total


def clip_grad_value_(parameters: Any, clip_value: float, foreach: Any = None) -> None:
    """Cut off each gradient's elements at both ends."""
    with no_grad():
        for p in _listed(parameters):
            if p.grad_ is not None:
                p.grad_.clamp_(-clip_value, clip_value)


def parameters_to_vector(parameters: Iterable[Tensor]) -> Any:
    """All parameters in one vector, with its graph."""
    return cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Put a vector's parts into parameters."""
    offset = 0
    for p in parameters:
        p.data = vec[offset : offset + p.array.size].view_as(p).data
        offset += p.array.size


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
    options = {
        key: kwargs.pop(key) for key in ("preserve_rng_state", "context_fn", "determinism_check") if key in kwargs
    }
    del options
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


class GradScaler:
    """Scales a loss up before its walk and the gradients down again; off unless it is made for the CPU."""

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._enabled = enabled and device == "cpu"
        self._scale, self._growth, self._backoff, self._interval = (
            init_scale,
            growth_factor,
            backoff_factor,
            growth_interval,
        )
        self._good = 0
        self._unscaled: dict[int, bool] = {}

    def scale(self, outputs: Any) -> Any:
        """`outputs` times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * Tensor.of(np.asarray(self._scale, np.float32))
        return type(outputs)(self.scale(output) for output in outputs)

    def unscale_(self, optimizer: Any) -> None:
        """Divide the optimiser's gradients by the scale."""
        if not self._enabled:
            return
        if id(optimizer) in self._unscaled:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        finite = True
        with no_grad():
            for param in optimizer.parameters():
                if param.grad_ is not None:
                    finite = finite and bool(np.isfinite(param.grad_.array).all())
                    param.grad_.mul_(1 / self._scale)
        self._unscaled[id(optimizer)] = finite

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """The optimiser's step, unless a gradient overflowed."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if id(optimizer) not in self._unscaled:
            self.unscale_(optimizer)
        return optimizer.step(*args, **kwargs) if self._unscaled[id(optimizer)] else None

    def update(self, new_scale: Any = None) -> None:
        """Grow the scale after many good steps, shrink it after an overflow."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not all(self._unscaled.values()):
            self._scale, self._good = self._scale * self._backoff, 0
        else:
            self._good += 1
            if self._good == self._interval:
                self._scale, self._good = self._scale * self._growth, 0
        self._unscaled.clear()

    def get_scale(self) -> float:
        """The scale now."""
        return self._scale if self._enabled else 1.0

    def is_enabled(self) -> bool:
        """Whether it does anything."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Scale and count of good steps."""
        return {"scale": self._scale, "_growth_tracker": self._good} if self._enabled else {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        self._scale, self._good = state_dict.get("scale", self._scale), state_dict.get("_growth_tracker", 0)


class Ignored:
    """A block and decorator without effect, whatever it is given: autocast, anomaly detection, profilers."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __enter__(self) -> Ignored:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __call__(self, function: Any) -> Any:
        return function
