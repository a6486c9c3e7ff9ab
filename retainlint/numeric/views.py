"""Views and in-place changes: which are allowed, and how the graph is bent to go through them."""

from __future__ import annotations

from typing import Any

from retainlint.autograd import errors
from retainlint.autograd.graph import SavedTensor, short
from retainlint.numeric import grad_mode
from retainlint.numeric.dtypes import Array
from retainlint.numeric.layout import element_numbers, overlaps
from retainlint.numeric.tape import LEDGER, Grads, Meta, Saved, Step, recorded
from retainlint.numeric.tensor import Tensor, method


def as_view(of: Tensor, array: Array, shared: bool = False) -> Tensor:
    """A tensor over part of the memory of `of`, which remembers whose view it is."""
    made = Tensor.of(array, of.storage)
    made.made_in_inference, made.counts = of.made_in_inference, of.counts
    if of.made_in_inference:
        return made  # torch keeps no account of the views of such tensors
    made.base = of if of.base is None else of.base
    made.seen = LEDGER.version(of.storage)
    if of.base is not None and of.origin != "plain":
        made.origin = of.origin
    elif grad_mode.is_inference_mode_enabled():
        made.origin = "inference"
    elif not grad_mode.is_grad_enabled():
        made.origin = "no_grad"
    elif shared:
        made.origin = "shared"
    return made


def hooked(value: Any) -> Any:
    """What torch's function of full backward hooks makes of a tensor that has a graph, and of those in a tuple."""
    if isinstance(value, tuple):
        return tuple(map(hooked, value))
    if not isinstance(value, Tensor) or not value.requires_grad or not grad_mode.is_grad_enabled():
        return value
    made = as_view(value, value.array)
    made.node = recorded(
        "BackwardHookFunctionBackward", (), [value.edge()], _handed_on, Saved({}, {}, {}), [Meta.of(value)], [made]
    )
    made.origin = "hooked"
    return made


def _handed_on(saved: Saved, grads: list[Tensor | None]) -> Grads:
    return [*grads]


def check_change(tensor: Tensor, recorded: bool) -> None:
    """Raise as torch does where `tensor` must not be changed in place; `recorded`: a graph would go through it."""
    if not recorded:
        return
    if tensor.base is not None:
        _refuse_origin(tensor, by_base=False)
        if tensor.requires_grad and tensor.base.node is None:
            raise errors.LeafViewModifiedError().plain()
    if tensor.requires_grad and tensor.node is None:  # torch looks at a view's node before it makes it anew
        raise errors.LeafModifiedError().plain()


def _refuse_origin(view: Tensor, by_base: bool) -> None:
    """Raise for a view that can't follow a change: made without a graph, or one of several."""
    if view.origin == "plain":
        return
    maker = f"Output {view.output} of {short(view.node.op)}" if view.node is not None else ""
    if view.origin == "hooked":
        raise errors.HookedViewModifiedError(by_base).plain()
    if view.origin == "shared":
        raise errors.SharedViewModifiedError(maker, by_base).plain()
    raise errors.UntrackedViewModifiedError(view.origin, by_base, maker).plain()


def rebase(tensor: Tensor, step: Step) -> None:
    """Make `step`, which computes the changed values of `tensor`, part of its history."""
    if tensor.base is None:
        _move_retained(tensor, step)
        tensor.node, tensor.output = step, 0
        return
    base = tensor.base
    held = tuple(
        SavedTensor(s.name, s.storage, s.version, s.edge, s.is_result) for s in step.saved if s.storage is not None
    )
    edge = base.edge()
    numbers = {
        "function": step,
        "places": element_numbers(base.array, tensor.array),
        "overlapping": edge is not None and overlaps(tensor.array),
    }
    slots, edges = (SavedTensor("function"), *held), (edge, *step.next[1:])
    wanted = (Meta.of(base), *step.wanted[1:])
    chain = recorded("CopySlices", slots, edges, _through_slice, Saved({}, numbers, {}), wanted, [base])
    _move_retained(base, chain)
    base.node, base.output = chain, 0
    tensor._refresh()


@method()
def _refresh(view: Tensor) -> None:
    """Give a view a new node on top of its base's, if their memory was changed since it got its last one."""
    assert view.base is not None
    now = LEDGER.version(view.storage)
    if view.seen == now:
        return
    _refuse_origin(view, by_base=True)
    view.seen = now
    places = element_numbers(view.base.array, view.array)
    numbers = Saved({}, {"places": places}, {"self": view.base.array.shape})
    edge = view.base.edge()  # None where the base was detached: then the view's own graph is lost too
    node = recorded("AsStridedBackward0", (), [edge], _scatter, numbers, [Meta.of(view.base)], [view])
    _move_retained(view, node)
    view.node, view.output = node, 0


def _move_retained(tensor: Tensor, step: Step) -> None:
    """`retain_grad` follows a tensor to its new history."""
    if tensor.retains and isinstance(tensor.node, Step):
        hooks = tensor.node.prehooks.get(tensor.output, [])
        moved = [hook for hook in hooks if getattr(hook, "retains_grad", False)]
        tensor.node.prehooks[tensor.output] = [hook for hook in hooks if hook not in moved]
        step.prehooks.setdefault(0, []).extend(moved)


def _scatter(saved: Saved, grads: list[Tensor | None]) -> Grads:
    (grad,) = grads
    return [None if grad is None else grad._at_numbers(saved.shapes["self"], saved.places)]


def _through_slice(saved: Saved, grads: list[Tensor | None]) -> Grads:
    step: Step = saved.function
    (grad,) = grads
    if grad is None:
        return [None] * len(step.next)
    found: list[Any] = list(step.pull([grad._numbered(saved.places)]))
    if saved.overlapping:  # torch writes what it found into a gradient with the view's strides
        raise errors.OverlapError().plain()
    return [grad._renumbered(found[0], saved.places), *found[1:]]
