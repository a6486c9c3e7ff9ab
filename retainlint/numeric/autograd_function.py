"""The functions that a script differentiates by itself: torch.autograd.Function, and their ctx."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from retainlint.autograd.errors import FreedError
from retainlint.autograd.graph import SavedTensor
from retainlint.numeric import grad_mode
from retainlint.numeric.backward_pass import worded
from retainlint.numeric.tape import LEDGER, Grads, Meta, Saved, Step, alias, changed, needing, recorded, saved_slot
from retainlint.numeric.tensor import Tensor
from retainlint.numeric.views import as_view, check_change, rebase


class Context(Saved):
    """The `ctx` of a custom function. What it saves by `save_for_backward` is checked at the walk, and freed."""

    checks_itself = True

    def __init__(self) -> None:
        super().__init__({}, {}, {})
        self.step: Step | None = None
        self.to_save: tuple[Any, ...] = ()
        self.dirty: tuple[Tensor, ...] = ()
        self.plain: tuple[Tensor, ...] = ()
        self.materialize = True
        self.needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Save tensors; None is allowed."""
        self.to_save = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """These inputs were changed in place."""
        self.dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """These outputs have no gradient."""
        self.plain = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether `backward` sees zeros, or None, where there is no gradient."""
        self.materialize = value

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        step = self.step
        if step is None:
            return tuple(self.to_save)
        if step in LEDGER.freed and step.saved:
            raise FreedError().plain()
        for slot in step.saved:
            if slot.storage is not None and LEDGER.version(slot.storage) != slot.version:
                raise worded(step, slot).plain()
        return tuple(self.held.get(str(i)) for i in range(len(self.to_save)))

    saved_variables = saved_tensors

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def release(self) -> None:
        self.held.clear()
        self.to_save = (None,) * len(self.to_save)


class Function:
    """A function with its own backward: subclass it, and call `apply`."""

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """From the inputs to the outputs; what backward needs goes into `ctx`."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """From the gradients of the outputs to those of the inputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward, without a graph inside, and put one node on top."""
        tensors = [arg if isinstance(arg, Tensor) else None for arg in args]
        needs = needing(tensors)
        context = Context()
        context.needs_input_grad = tuple(needs)
        with grad_mode.no_grad():
            if "setup_context" in dir(cls):
                result = cls.forward(*args, **kwargs)
                cls.setup_context(context, args, result)  # type: ignore[attr-defined]
            else:
                result = cls.forward(context, *args, **kwargs)
        many = isinstance(result, tuple)
        outputs = list(result) if many else [result]
        for tensor in context.dirty:
            check_change(tensor, any(needs))
            changed(tensor)
        if any(needs):
            outputs = cls._record(context, tensors, needs, outputs)
        return tuple(outputs) if many else outputs[0]

    @classmethod
    def _record(
        cls, context: Context, tensors: list[Tensor | None], needs: list[bool], outputs: list[Any]
    ) -> list[Any]:
        edges = [t.edge() if need and t is not None else None for t, need in zip(tensors, needs)]
        wanted = [Meta.of(t) if need and t is not None else None for t, need in zip(tensors, needs)]
        fresh = [_as_output(context, tensors, output) for output in outputs]
        slots = tuple(_slot(context, i, t, outputs) for i, t in enumerate(context.to_save) if t is not None)
        known = [output for output in fresh if isinstance(output, Tensor)]

        def pull(saved: Saved, grads: list[Tensor | None]) -> Grads:
            return cls._pull(context, tensors, grads)

        step = context.step = recorded(f"{cls.__name__}Backward", slots, edges, pull, context, wanted, known)
        for number, output in enumerate(fresh):
            if (
                isinstance(output, Tensor)
                and output.dtype.is_floating_point
                and not _among(outputs[number], context.plain)
            ):
                if _among(output, context.dirty):
                    rebase(output, step)
                else:
                    output.node, output.output = step, number
        for i, tensor in enumerate(context.to_save):
            if isinstance(tensor, Tensor):
                at = next((n for n, output in enumerate(outputs) if output is tensor), None)
                context.held[str(i)] = tensor if at is None else _result(tensor, step, at)
        return fresh

    @classmethod
    def _pull(cls, context: Context, tensors: list[Tensor | None], grads: list[Tensor | None]) -> Grads:
        step = context.step
        assert step is not None
        if context.materialize:
            grads = [
                Tensor.of(np.zeros(meta.shape, meta.dtype.numpy)) if grad is None else grad
                for grad, meta in zip(grads, step.outputs)
            ]
        found = cls.backward(context, *grads)
        results = list(found) if isinstance(found, (tuple, list)) else [found]
        while len(results) > len(tensors) and results[-1] is None:
            results.pop()
        if len(results) != len(tensors):
            raise RuntimeError(
                f"function {cls.__name__}Backward returned an incorrect number of gradients (expected {len(tensors)}, got "
                f"{len(results)})"
            )
        return results


def _among(tensor: Any, several: Sequence[Any]) -> bool:
    return any(tensor is other for other in several)


def _as_output(context: Context, inputs: Sequence[Any], output: Any) -> Any:
    """A tensor of its own for what forward returned; an input that it returned as it was becomes a view."""
    if not isinstance(output, Tensor) or _among(output, context.dirty):
        return output
    if _among(output, inputs):
        return as_view(output, output.array)
    return output if output.node is None and not output.leaf_needs else alias(output)


def _slot(context: Context, number: int, tensor: Tensor, outputs: Sequence[Any]) -> SavedTensor:
    if _among(tensor, outputs):
        return SavedTensor(str(number), tensor.storage, LEDGER.version(tensor.storage), None, True)
    return saved_slot(str(number), tensor)


def _result(tensor: Tensor, step: Step, output: int) -> Tensor:
    held = alias(tensor)
    held.node, held.output = step, output
    return held


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """For a custom backward that can't be differentiated again."""

    def wrapped(*args: Any) -> Any:
        recorded = grad_mode.is_grad_enabled()
        with grad_mode.no_grad():
            found = function(*args)
        if not recorded or not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return found
        results = [_refusing(r) for r in (found if isinstance(found, tuple) else (found,))]
        return tuple(results) if isinstance(found, tuple) else results[0]

    return wrapped


def _refusing(result: Any) -> Any:
    if not isinstance(result, Tensor):
        return result

    def refuse(saved: Saved, grads: list[Tensor | None]) -> Grads:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")

    made = alias(result)
    made.node = Step("Error", (), (None,), LEDGER.next_order(), pullback=refuse, saved_numbers=Saved({}, {}, {}))
    return made
