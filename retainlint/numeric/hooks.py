"""Hooks on tensors, the handles that take them off again, and backward passes as tensors' methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retainlint.numeric import backward_pass
from retainlint.numeric.tape import LEDGER, Step
from retainlint.numeric.tensor import Tensor, method


class Handle:
    """What `register_hook` returns."""

    def __init__(self, remove: Callable[[], None]) -> None:
        self._remove: Callable[[], None] | None = remove

    def remove(self) -> None:
        """Take the hook off again."""
        if self._remove is not None:
            self._remove()
        self._remove = None

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


@method()
def backward(
    self: Tensor,
    gradient: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Walk the graph from here."""
    backward_pass.backward(self, gradient, retain_graph, create_graph, inputs=inputs)


@method()
def retain_grad(self: Tensor) -> None:
    """Keep the gradient, though this is no leaf."""
    backward_pass.retain_grad(self)


@method()
def register_hook(self: Tensor, hook: Callable[[Tensor], Any]) -> Handle:
    """Call `hook` with the gradient of this tensor; what it returns replaces it."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    node = self.gradient_node()
    if isinstance(node, Step):
        hooks = node.prehooks.setdefault(self.output, [])
        before = next((i for i, known in enumerate(hooks) if getattr(known, "retains_grad", False)), len(hooks))
        hooks.insert(before, hook)  # what retain_grad keeps is what the hooks return
        return Handle(lambda: hooks.remove(hook))
    if self.hooks is None:
        self.hooks = {}
    key = max(self.hooks, default=0) + 1
    self.hooks[key] = hook
    known_hooks = self.hooks
    return Handle(lambda: known_hooks.pop(key, None) and None)


@method()
def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], Any]) -> Handle:
    """Call `hook` with the leaf, after a gradient was added to it."""
    hooks: dict[int, Any] = self.__dict__.setdefault("_after_hooks", {})
    key = max(hooks, default=0) + 1
    hooks[key] = hook
    return Handle(lambda: hooks.pop(key, None) and None)


Tensor._version = property(lambda self: LEDGER.version(self.storage))  # type: ignore[attr-defined]

Tensor._base = property(lambda self: self.base)  # type: ignore[attr-defined]

Tensor.retains_grad = property(lambda self: self.retains)  # type: ignore[attr-defined]

Tensor.output_nr = property(lambda self: self.output)  # type: ignore[attr-defined]
