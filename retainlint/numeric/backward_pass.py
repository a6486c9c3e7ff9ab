"""backward and grad: walks over the graphs with numbers, and what leaves receive."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from retainlint.autograd import errors
from retainlint.autograd.engine import Arithmetic, Observer, backward_pass
from retainlint.autograd.graph import Edge, Node, SavedTensor, leaf, short
from retainlint.numeric import grad_mode
from retainlint.numeric.lacking import LackingUse
from retainlint.numeric.tape import LEDGER, OBSERVERS, Meta, Step, fit
from retainlint.numeric.tensor import LeafKey, Tensor


class Numbers(Arithmetic[Tensor]):
    """Gradients are tensors; with `create` what is done to them is recorded, and can be differentiated again."""

    def __init__(self, create: bool) -> None:
        self.create = create

    def apply(self, node: Node, grads: list[Tensor | None]) -> Sequence[Tensor | None]:
        assert isinstance(node, Step)
        check_attached(node)
        for hook in node.whole_prehooks:
            found = hook(tuple(grads))
            if found is not None:
                grads = list(found) if isinstance(found, (tuple, list)) else [found]
        results = node.pull(grads)
        for hook in node.posthooks:
            found = hook(tuple(results), tuple(grads))
            if found is not None:
                results = list(found) if isinstance(found, (tuple, list)) else [found]
        return results

    def add(self, left: Tensor, right: Tensor) -> Tensor:
        return left + right

    def accumulate(self, variable: Hashable, grad: Tensor) -> None:
        assert isinstance(variable, LeafKey)
        tensor = variable.tensor
        if tensor.gradient_node() is not None:
            raise RuntimeError("leaf variable has been moved into the graph interior")
        if not tensor.requires_grad:
            return
        if tensor.grad_ is None:
            tensor.grad_ = grad.clone() if self.create else Tensor.of(grad.array.copy())
        elif self.create:
            tensor.grad_ = tensor.grad_ + grad
        else:
            tensor.grad_.add_(grad.detach())
        for after in list((tensor.__dict__.get("_after_hooks") or {}).values()):
            after(tensor)


def run_hooks(tensor: Tensor, grad: Tensor) -> Tensor:
    """A leaf's hooks, each of which may replace the gradient."""
    for hook in list((tensor.hooks or {}).values()):
        found = hook(grad)
        grad = grad if found is None else found
    return grad


class Watcher(Observer):
    """Runs the hooks on what arrives at a node, forgets what was freed, and words refusals as torch does."""

    def arrived(self, node: Node, grads: list[Any]) -> None:
        if not isinstance(node, Step):
            if grads and grads[0] is not None and isinstance(node.variable, LeafKey):
                tensor = node.variable.tensor
                fitted = fit(grads[0], Meta.of(tensor), "AccumulateGrad")
                assert fitted is not None
                grads[0] = run_hooks(tensor, fitted)
            return
        for output, hooks in node.prehooks.items():
            for hook in hooks:
                if output < len(grads) and grads[output] is not None:
                    found = hook(grads[output])
                    grads[output] = grads[output] if found is None else found

    def freed(self, node: Node) -> None:
        OBSERVERS[-1].freed(node)
        forget(node)

    def refused(self, node: Node, saved: SavedTensor, error: errors.GraphError) -> None:
        if isinstance(node, Step) and node.saved_numbers is not None and node.saved_numbers.checks_itself:
            return
        if isinstance(error, errors.ModifiedError):
            error = worded(node, saved)
        OBSERVERS[-1].refused(node, saved, error)
        raise error

    def ran(self, node: Node) -> None:
        OBSERVERS[-1].ran(node)


def forget(node: Node) -> None:
    """Drop the numbers that a freed node held."""
    if isinstance(node, Step) and node.saved_numbers is not None:
        inner = node.saved_numbers.params.get("function")
        if isinstance(inner, Step):
            forget(inner)
        node.saved_numbers.release()


def held_by(step: Step, name: str) -> Tensor | None:
    """The tensor in a slot, also where the node is an in-place change of a view around another node."""
    numbers = step.saved_numbers
    assert numbers is not None
    inner = numbers.params.get("function")
    return held_by(inner, name) if isinstance(inner, Step) else numbers.held.get(name)


def check_attached(step: Step, last: str = "") -> None:
    """Raise if a saved tensor has lost the graph that it was saved with; slots behind `last` aren't looked at."""
    for slot in step.saved:
        if slot.edge is not None and not slot.edge.node.is_leaf:
            held = held_by(step, slot.name)
            if held is not None and held.gradient_node() is None:
                raise errors.DetachedSavedError().plain()
        if slot.name == last:
            return


def worded(node: Node, saved: SavedTensor) -> errors.ModifiedError:
    """The error about a changed tensor, with its type, shape and maker."""
    assert isinstance(node, Step) and saved.storage is not None
    check_attached(node, saved.name)
    held = held_by(node, saved.name)
    assert held is not None
    shown = f"torch.{held.dtype.legacy}Tensor {list(held.array.shape)}"
    maker = held.gradient_node()
    version = LEDGER.version(saved.storage)
    error = errors.ModifiedError(shown, version, saved.version)
    if maker is None:
        return error
    text = str(error).replace(
        "] is at version", f"], which is output {held.output} of {short(maker.op)}, is at version", 1
    )
    error.args = (text,)
    return error


def _start(index: int, output: Tensor, given: Any) -> Tensor:
    """The gradient from which a walk starts at `output`."""
    if given is not None:
        start = given if isinstance(given, Tensor) else Tensor.of(np.asarray(given, output.array.dtype))
        if start.array.shape != output.array.shape:
            raise errors.GradShapeError(index, start.array.shape, output.array.shape).plain()
        return start
    if output.requires_grad and output.array.size != 1:
        raise errors.NotScalarError().plain()
    return Tensor.of(np.ones_like(output.array))


def _edges(inputs: Sequence[Tensor], accumulate: bool) -> list[Edge]:
    edges = []
    for tensor in inputs:
        if accumulate:
            retain_grad(tensor)
        if not tensor.requires_grad:
            raise errors.NoGradInputError().plain()
        edges.append(tensor.edge() or Edge(leaf(tensor.storage)))  # the second is reached by nothing
    return edges


def _backward_pass(
    outputs: Sequence[Tensor],
    given: Sequence[Any],
    retain: bool | None,
    create: bool,
    inputs: Sequence[Tensor] | None,
    accumulate: bool,
) -> list[Tensor | None]:
    starts = [_start(i, output, grad) for i, (output, grad) in enumerate(zip(outputs, given, strict=True))]
    roots = [(output.edge(), grad) for output, grad in zip(outputs, starts)]
    for index, (edge, _) in enumerate(roots):
        if edge is None:
            OBSERVERS[-1].rootless(outputs[index])
            raise errors.NoGraphError(index).plain()
    edges = None if inputs is None else _edges(inputs, accumulate)
    keep = create if retain is None else bool(retain)
    OBSERVERS[-1].started(keep)
    try:
        with grad_mode.set_grad_enabled(create):
            return backward_pass(
                roots, LEDGER, Numbers(create), Watcher(), retain=keep, inputs=edges, accumulate=accumulate
            )
    except errors.GraphError as error:
        raise error.plain() from None


def _several(value: Any) -> list[Any]:
    return [value] if value is None or isinstance(value, Tensor) else list(value)


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Walk from `tensors` and add up the gradients in the leaves' `.grad`; or only in those of `inputs`."""
    outputs = _several(tensors)
    grads = [None] * len(outputs) if grad_tensors is None else _several(grad_tensors)
    targets = None if inputs is None else _several(inputs)
    if targets is not None and not targets:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    _backward_pass(outputs, grads, retain_graph, create_graph, targets, accumulate=True)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of `outputs` at `inputs`; only the nodes between them run, and are freed."""
    roots, targets = _several(outputs), _several(inputs)
    given = [None] * len(roots) if grad_outputs is None else _several(grad_outputs)
    if is_grads_batched:
        raise LackingUse("torch.autograd.grad(is_grads_batched=True)")
    found: list[Any] = _backward_pass(roots, given, retain_graph, create_graph, targets, accumulate=False)
    for index, (result, target) in enumerate(zip(found, targets)):
        if result is not None:
            continue
        if materialize_grads:
            found[index] = Tensor.of(np.zeros_like(target.array))
        elif not allow_unused:
            raise errors.UnusedError(index).plain()
    return tuple(found)


def retain_grad(tensor: Tensor) -> None:
    """Let a tensor that isn't a leaf keep its gradient."""
    if not tensor.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    node = tensor.gradient_node()
    if not isinstance(node, Step) or tensor.retains:
        return

    def keep(grad: Tensor) -> None:
        tensor.grad_ = grad.clone() if tensor.grad_ is None else tensor.grad_ + grad

    keep.retains_grad = True  # type: ignore[attr-defined]
    node.prehooks.setdefault(tensor.output, []).append(keep)
    tensor.retains = True


def clear_gradients(tensors: Iterable[Tensor], set_to_none: bool) -> None:
    """Forget the gradients of tensors, or take them out of their graphs and zero them."""
    for tensor in tensors:
        if tensor.grad_ is not None and not set_to_none:
            tensor.grad_.detach_() if tensor.grad_.node is not None else tensor.grad_.requires_grad_(False)
            tensor.grad_.zero_()
        elif set_to_none:
            tensor.grad_ = None
