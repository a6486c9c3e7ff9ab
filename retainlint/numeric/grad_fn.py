"""What scripts see of a node: its name, what lies below it, what it saved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retainlint.autograd.errors import FreedError
from retainlint.autograd.graph import Node
from retainlint.numeric.autograd_function import Context
from retainlint.numeric.backward_pass import worded
from retainlint.numeric.hooks import Handle
from retainlint.numeric.tape import LEDGER, Step
from retainlint.numeric.tensor import LeafKey, Tensor


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
        """The name of the backward function."""
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


def _listed(hooks: list[Any], hook: Any) -> Handle:
    hooks.append(hook)
    return Handle(lambda: hooks.remove(hook))


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
