"""Torch's exact words for each misuse of a graph, each once."""

from __future__ import annotations


class GraphError(RuntimeError):
    """A walk, or an in-place change, that autograd refuses; `str()` is what torch 2.13.0 says."""

    def plain(self) -> RuntimeError:
        """The same as torch raises it: nothing but a RuntimeError."""
        return RuntimeError(*self.args)


class FreedError(GraphError):
    """A walk needs what an earlier walk freed."""

    def __init__(self) -> None:
        super().__init__(
            "Trying to backward through the graph a second time (or directly access saved tensors after they have "
            "already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
            "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or "
            "if you need to access saved tensors after calling backward."
        )


class ModifiedError(GraphError):
    """A saved tensor is not what it was when it was saved."""

    def __init__(self, shown: str = "tensor", version: int = 1, expected: int = 0) -> None:
        super().__init__(
            "one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"[{shown}] is at version {version}; expected version {expected} instead. Hint: enable anomaly detection "
            "to find the operation that failed to compute its gradient, with "
            "torch.autograd.set_detect_anomaly(True, check_nan=False)."
        )


class NoGraphError(GraphError):
    """The root of a walk has no graph."""

    def __init__(self, index: int = 0) -> None:
        super().__init__(f"element {index} of tensors does not require grad and does not have a grad_fn")


class NotScalarError(GraphError):
    """The root of a walk has several elements, and no gradient was given."""

    def __init__(self) -> None:
        super().__init__("grad can be implicitly created only for scalar outputs")


class UnusedError(GraphError):
    """`autograd.grad` was asked for an input that the walk didn't reach."""

    def __init__(self, index: int = 0) -> None:
        super().__init__(
            f"The differentiated Tensor at index {index} appears to not have been used in the graph. "
            "Set allow_unused=True if this is the desired behavior."
        )


class NoGradInputError(GraphError):
    """`autograd.grad` was asked for an input that requires no gradient."""

    def __init__(self) -> None:
        super().__init__("One of the differentiated Tensors does not require grad")


class NonLeafError(ValueError):
    """An optimiser was given a tensor that was computed."""

    def __init__(self) -> None:
        super().__init__("can't optimize a non-leaf Tensor")


class LeafModifiedError(GraphError):
    """A leaf that requires grad was changed in place, outside no_grad."""

    def __init__(self) -> None:
        super().__init__("a leaf Variable that requires grad is being used in an in-place operation.")


class LeafViewModifiedError(GraphError):
    """A view of a leaf that requires grad was changed in place, outside no_grad."""

    def __init__(self) -> None:
        super().__init__("a view of a leaf Variable that requires grad is being used in an in-place operation.")


class SharedViewModifiedError(GraphError):
    """One of several views that one operation returned was changed in place; `maker` is "Output 0 of Unbind", or "" for one that
    has no graph yet."""

    def __init__(self, maker: str = "Output 0 of Split", by_base: bool = False) -> None:
        what = "its base or another view of its base has been" if by_base else "is being"
        start = f"{maker} is a view and {what} modified inplace"
        if not maker:
            start = f"A view was created in no_grad mode and {what} modified inplace with grad mode enabled"
        super().__init__(
            f"{start}. This view is the output of a "
            "function that returns multiple views. Such functions do not allow the output views to be modified "
            "inplace. You should replace the inplace operation by an out-of-place one."
        )


class HookedViewModifiedError(GraphError):
    """What a module with a full backward hook was given, or gave, was changed in place: torch hands it through a function of its
    own."""

    def __init__(self, by_base: bool = False) -> None:
        what = "its base or another view of its base has been" if by_base else "is being"
        super().__init__(
            f"Output 0 of BackwardHookFunction is a view and {what} modified inplace. This view was created inside a custom "
            "Function (or because an input was returned as-is) and the autograd logic to handle view+inplace would override "
            "the custom backward associated with the custom Function, leading to incorrect gradients. This behavior is "
            "forbidden. You can fix this by cloning the output of the custom Function."
        )


class UntrackedViewModifiedError(GraphError):
    """A view that was made where no graph was recorded is changed in place where one is, itself or by way of its base.

    `maker` names the output if it is in turn a view of such a view ("Output 0 of Slice").
    """

    def __init__(self, mode: str = "no_grad", by_base: bool = False, maker: str = "") -> None:
        what = "its base or another view of its base has been" if by_base else "is being"
        start = f"{maker} is a view of a view which" if maker else "A view"
        block, now = (
            ("no_grad", "with grad mode enabled") if mode == "no_grad" else ("inference_mode", "in normal mode")
        )
        super().__init__(
            f"{start} was created in {mode} mode and {what} modified inplace {now}. Given that this "
            "use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the "
            f"view and the inplace either both inside the {block} block (if you don't want the inplace to be tracked) "
            "or both outside (if you want the inplace to be tracked)."
        )


class InferenceSavedError(GraphError):
    """A tensor made in inference mode would have to be saved."""

    def __init__(self) -> None:
        super().__init__(
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
            "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and "
            "use it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
        )


class InferenceModifiedError(GraphError):
    """A tensor made in inference mode is changed in place outside it."""

    def __init__(self) -> None:
        super().__init__(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a "
            "normal tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
        )


class InferenceLeafError(GraphError):
    """A tensor made in inference mode is asked to require grad outside it."""

    def __init__(self) -> None:
        super().__init__("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")


class NotLeafError(GraphError):
    """`requires_grad` was set on what an operation computed."""

    def __init__(self) -> None:
        super().__init__(
            "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
            "subgraph that doesn't require differentiation use var_no_grad = var.detach()."
        )


class GradShapeError(GraphError):
    """A gradient given to a walk doesn't have its root's shape."""

    def __init__(self, index: int, given: tuple[int, ...], wanted: tuple[int, ...]) -> None:
        super().__init__(
            f"Mismatch in shape: grad_output[{index}] has a shape of torch.Size({list(given)}) and output[{index}] "
            f"has a shape of torch.Size({list(wanted)})."
        )


class OverlapError(GraphError):
    """An expanded tensor, whose elements share memory, is changed in place."""

    def __init__(self) -> None:
        super().__init__(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )


class PartialOverlapError(GraphError):
    """What an in-place change reads lies in the memory that it writes, but otherwise arranged."""

    def __init__(self) -> None:
        super().__init__(
            "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
            "location. Please clone() the tensor before performing the operation."
        )


class DetachedSavedError(GraphError):
    """A saved tensor was taken out of its graph by `detach_`."""

    def __init__(self) -> None:
        super().__init__(
            "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not supported, "
            "please use out-of-place `.detach()` instead"
        )
