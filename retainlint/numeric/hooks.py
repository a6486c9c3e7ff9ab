"""What scripts see of graphs: backward passes from a tensor, hooks and the handles that take them off, and a node's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retainlint.autograd.errors import FreedError
from retainlint.autograd.graph import Node
from retainlint.numeric import backward_pass
from retainlint.numeric.autograd_function import Context
from retainlint.numeric.backward_pass import worded
from retainlint.numeric.tape import LEDGER, Step
from retainlint.numeric.tensor import LeafKey, Tensor, method


class Handle:
    """What `register_hook` returns."""

    def __init__(self, remove: Callable[[], None]) -> None:
        self._remove: Callable[[], None] | None = remove

    def remove(self) -> None:
        if self._remove is not None:
            self._remove()
        self._remove = None

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


def registered(hooks: dict[int, Any], hook: Any) -> Handle:
    """Add a hook, and give the handle that takes it off."""
    key = max(hooks, default=0) + 1
    hooks[key] = hook
    return Handle(lambda: hooks.pop(key, None) and None)


def _listed(hooks: list[Any], hook: Any, at: int | None = None) -> Handle:
    hooks.insert(len(hooks) if at is None else at, hook)
    return Handle(lambda: hooks.remove(hook))


@method()
def backward(
    self: Tensor, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
) -> None:
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
        first = next((i for i, known in enumerate(hooks) if getattr(known, "retains_grad", False)), None)
        return _listed(hooks, hook, first)  # what retain_grad keeps is what the hooks return
    if self.hooks is None:
        self.hooks = {}
    return registered(self.hooks, hook)


@method()
def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], Any]) -> Handle:
    """Call `hook` with the leaf, after a gradient was added to it."""
    return registered(self.__dict__.setdefault("_after_hooks", {}), hook)


class GradFn:
    """A node as a script sees it: `next_functions`, `name()`, `_saved_*`, hooks."""

    def __init__(self, node: Node) -> None:
        self.node = node

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GradFn) and self.node is other.node

    def __hash__(self) -> int:
        return hash(self.node)

    def __repr__(self) -> str:
        return f"<{self.node.op} object at {id(self.node):#x}>"

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        return tuple((None, 0) if edge is None else (shown(edge.node), edge.output) for edge in self.node.next)

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad" if self.node.is_leaf else self.node.op

    @property
    def variable(self) -> Tensor:
        if not self.node.is_leaf:
            raise AttributeError(f"'{self.node.op}' object has no attribute 'variable'")
        assert isinstance(self.node.variable, LeafKey)
        return self.node.variable.tensor

    @property
    def metadata(self) -> dict[Any, Any]:
        found: dict[Any, Any] = self.__dict__.setdefault("_metadata", {})
        return found

    def register_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call `hook` with the gradients that the node gave and got."""
        return _listed(self.node.posthooks, hook) if isinstance(self.node, Step) else Handle(lambda: None)

    def register_prehook(self, hook: Callable[..., Any]) -> Handle:
        """Call `hook` with the gradients that the node gets."""
        return _listed(self.node.whole_prehooks, hook) if isinstance(self.node, Step) else Handle(lambda: None)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_saved_") and isinstance(self.node, Step):
            return _saved(self.node, name[len("_saved_") :], type(self).__name__)
        if name == "saved_tensors" and isinstance(self.node, Step) and isinstance(self.node.saved_numbers, Context):
            return self.node.saved_numbers.saved_tensors
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


def _saved(step: Step, name: str, shown_as: str) -> Any:
    numbers = step.saved_numbers
    slot = next((s for s in step.saved if s.name == name), None)
    assert numbers is not None
    if (slot is not None and slot.storage is not None) or name in numbers.held:
        assert slot is not None
        if step in LEDGER.freed:
            raise FreedError().plain()
        if slot.storage is not None and LEDGER.version(slot.storage) != slot.version:
            raise worded(step, slot).plain()
        return numbers.held[name]
    if name in numbers.params:
        return numbers.params[name]
    raise AttributeError(f"'{shown_as}' object has no attribute '_saved_{name}'")


_CLASSES: dict[str, type[GradFn]] = {}


def shown(node: Node) -> GradFn:
    """What a script sees of `node`: one object as long as someone holds it."""
    kind = _CLASSES.setdefault(node.op, type(node.op, (GradFn,), {"__module__": "builtins"}))
    return kind(node)


def _grad_fn(self: Tensor) -> GradFn | None:
    node = self.gradient_node()
    return None if node is None else shown(node)


Tensor.grad_fn = property(_grad_fn)  # type: ignore[attr-defined]
Tensor._version = property(lambda self: LEDGER.version(self.storage))  # type: ignore[attr-defined]
Tensor._base = property(lambda self: self.base)  # type: ignore[attr-defined]
Tensor.retains_grad = property(lambda self: self.retains)  # type: ignore[attr-defined]
Tensor.output_nr = property(lambda self: self.output)  # type: ignore[attr-defined]
