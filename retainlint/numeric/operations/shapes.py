"""Shapes and views: the same numbers, arranged otherwise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from retainlint.numeric import grad_mode, tape
from retainlint.numeric.dtypes import dtype
from retainlint.numeric.layout import infer, sizes, wrap_dim
from retainlint.numeric.operations.arithmetic import same
from retainlint.numeric.operations.registry import Operation, define
from retainlint.numeric.tensor import Tensor, method


def _viewed(x: Any, shape: tuple[int, ...]) -> Any:
    made = x.reshape(shape)
    if x.size and not np.may_share_memory(made, x):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return made


def _reshape_shape(g: Any, s: Any) -> Any:
    return reshape(g, s.shapes["self"])


def _expanded(x: Any, shape: tuple[int, ...]) -> Any:
    steps = np.broadcast_to(x, shape).strides
    return np.lib.stride_tricks.as_strided(x, shape, steps)  # torch lets some changes through


view_ = define("view", _viewed, view=True, self=_reshape_shape)
unsafe_view = define("view", _viewed, self=_reshape_shape)  # of what nobody else can reach
transpose: Operation = define(
    "transpose",
    lambda x, dim0, dim1: np.swapaxes(x, dim0, dim1),
    view=True,
    methods="transpose swapaxes swapdims",
    self=lambda g, s: transpose(g, s.dim0, s.dim1),
)
t_ = define("t", np.transpose, view=True, self=lambda g, s: t(g))
permute_ = define(
    "permute",
    lambda x, order: np.transpose(x, order),
    view=True,
    self=lambda g, s: permute(g, [int(i) for i in np.argsort(s.order)]),
)
expand_ = define("expand", _expanded, view=True, self=lambda g, s: _sum_to(g, s.shapes["self"], "ExpandBackward0"))
squeeze = define(  # the dimensions of size 1: all, or those named
    "squeeze",
    lambda x, dims=None: np.squeeze(x, tuple(d for d in dims if x.shape[d] == 1)),
    view=True,
    numbered=True,
    methods="squeeze",
    self=_reshape_shape,
)
unsqueeze_ = define("unsqueeze", lambda x, at: np.expand_dims(x, at), view=True, self=lambda g, s: squeeze(g, s.at))
alias = define("alias", lambda x: x[...], view=True, methods="alias", self=same)
clone = define("clone", lambda x, memory_format=None: x.copy(), methods="clone", self=same)
to_ = define("to", lambda x, kind: x.astype(kind), self=same)


@method()
def _sum_to(grad: Tensor, shape: tuple[int, ...], op: str = "") -> Any:
    """Sum over what broadcasting added; RuntimeError where it can't have been broadcasting."""
    have = grad.array.shape
    lead = len(have) - len(shape)
    if lead < 0 or any(want not in (1, got) for want, got in zip(shape, have[lead:])):
        raise RuntimeError(
            f"Function {op} returned an invalid gradient at index 0 - got {list(have)} but expected shape compatible "
            f"with {list(shape)}"
        )
    if have and not shape:
        return grad.sum()  # torch makes no view here
    dims = [*range(lead), *(i + lead for i, want in enumerate(shape) if want == 1 and have[i + lead] != 1)]
    found = grad.sum(dims, keepdim=True) if dims else grad
    return found.view(shape) if lead else found


@method()
def view(self: Tensor, *shape: Any) -> Any:
    """The same memory in another shape; RuntimeError where that would take a copy."""
    if len(shape) == 1 and isinstance(shape[0], dtype):
        raise TypeError("view(dtype) is lacking in retainlint's reference core")
    return view_(self, shape=infer(sizes(shape), self.array.size))


@method()
def reshape(self: Tensor, *shape: Any) -> Any:
    """Another shape: a view where it can be, else a copy."""
    wanted = infer(sizes(shape), self.array.size)
    try:
        _viewed(self.array, wanted)
    except RuntimeError:
        return unsafe_view(clone(self), node="UnsafeViewBackward0", shape=wanted)
    return view_(self, shape=wanted, node="" if self.array.flags.c_contiguous else "ReshapeAliasBackward0")


@method()
def flatten(self: Tensor, start_dim: int = 0, end_dim: int = -1) -> Any:
    """The dimensions from `start_dim` to `end_dim` made one."""
    if not self.array.ndim:
        return reshape(self, 1)
    start, end = wrap_dim(start_dim, self.array.ndim), wrap_dim(end_dim, self.array.ndim)
    if start == end:
        return self
    shape = self.array.shape
    return reshape(self, (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]))


@method()
def ravel(self: Tensor) -> Any:
    return reshape(self, -1)


@method()
def unflatten(self: Tensor, dim: int, sizes: Sequence[int]) -> Any:
    dim = wrap_dim(dim, self.array.ndim)
    shape = self.array.shape
    return view(self, (*shape[:dim], *infer(tuple(sizes), shape[dim]), *shape[dim + 1 :]))


@method()
def t(self: Tensor) -> Any:
    """The transpose of a matrix; a vector as it is."""
    if self.array.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.array.ndim}D")
    return t_(self)


@method()
def permute(self: Tensor, *dims: Any) -> Any:
    return permute_(self, order=[wrap_dim(d, self.array.ndim) for d in sizes(dims)])


@method()
def movedim(self: Tensor, source: int, destination: int) -> Any:
    order = [i for i in range(self.array.ndim) if i != wrap_dim(source, self.array.ndim)]
    order.insert(wrap_dim(destination, self.array.ndim), wrap_dim(source, self.array.ndim))
    return permute(self, order)


@method()
def expand(self: Tensor, *shape: Any) -> Any:
    """Dimensions of size 1 repeated, without taking memory."""
    wanted = list(sizes(shape))
    lead = len(wanted) - self.array.ndim
    if lead < 0:
        raise RuntimeError(
            f"expand({self.dtype.legacy}Tensor{{{list(self.array.shape)}}}, size={wanted}): the number of sizes provided "
            f"({len(wanted)}) must be greater or equal to the number of dimensions in the tensor ({self.array.ndim})"
        )
    for i, have in enumerate(self.array.shape, start=lead):
        if wanted[i] == -1:
            wanted[i] = have
        if have not in (1, wanted[i]):
            raise RuntimeError(
                f"The expanded size of the tensor ({wanted[i]}) must match the existing size ({have}) at non-singleton "
                f"dimension {i}.  Target sizes: {wanted}.  Tensor sizes: {list(self.array.shape)}"
            )
    return expand_(self, shape=tuple(wanted))


@method()
def broadcast_to(self: Tensor, shape: Any) -> Any:
    return expand(self, shape)


@method()
def unsqueeze(self: Tensor, dim: int) -> Any:
    return unsqueeze_(self, wrap_dim(dim, self.array.ndim + 1))


@method()
def contiguous(self: Tensor, *, memory_format: Any = None) -> Any:
    """self if its memory is in order, else a copy."""
    return self if self.array.flags.c_contiguous else clone(self)


@method()
def detach(self: Tensor) -> Tensor:
    """The same memory and versions, without graph."""
    made = tape.alias(self)
    made.counts = not grad_mode.is_inference_mode_enabled()
    return made


@method()
def detach_(self: Tensor) -> Tensor:
    """Take this tensor out of its graph; nothing happens in inference mode."""
    if grad_mode.is_inference_mode_enabled():
        return self
    if self.base is not None:
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
            "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
            "detach_() cannot be called on these gradients. To fix this error, please refer to the "
            "Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution."
        )
    self.node, self.output, self.leaf_needs = None, 0, False
    return self


Tensor.T = property(lambda self: permute(self, list(reversed(range(self.array.ndim)))))  # type: ignore[attr-defined]
Tensor.mT = property(lambda self: transpose(self, -2, -1))  # type: ignore[attr-defined]
Tensor.view_as = lambda self, other: view(self, other.shape)  # type: ignore[attr-defined]
Tensor.reshape_as = lambda self, other: reshape(self, other.shape)  # type: ignore[attr-defined]
Tensor.expand_as = lambda self, other: expand(self, other.shape)  # type: ignore[attr-defined]
