"""The ctx of a function that a script differentiates by itself."""

from __future__ import annotations

from typing import Any

from retainlint.autograd.errors import FreedError
from retainlint.autograd.face.tape import (
    LEDGER,
    Saved,
    Step,
)
from retainlint.autograd.face.tensor import Tensor
from retainlint.autograd.face.walking import worded


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
