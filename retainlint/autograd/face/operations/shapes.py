"""Shapes and views: the same numbers, arranged otherwise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from retainlint.autograd.face import modes
from retainlint.autograd.face.dtypes import dtype
from retainlint.autograd.face.operations.arithmetic import same
from retainlint.autograd.face.operations.registry import Operation, define
from retainlint.autograd.face.tape import alias
from retainlint.autograd.face.tensor import Tensor, method


def wrap_dim(dim: int, ndim: int) -> int:
    """A dimension counted from 0; IndexError, in torch's words, beyond the last."""
    low, high = (-ndim, ndim - 1) if ndim else (-1, 0)
    if not low <= dim <= high:
        raise IndexError(f"Dimension out of range (expected to be in range of [{low}, {high}], but got {dim})")
    return dim % ndim if ndim else 0


def dims_of(dim: Any, ndim: int) -> tuple[int, ...]:
    """All dimensions meant by an int, several, or None for all."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(ndim))
    found = tuple(wrap_dim(int(d), ndim) for d in (dim if isinstance(dim, (tuple, list)) else (dim,)))
    return found if ndim else ()


def sizes(given: Sequence[Any]) -> tuple[int, ...]:
    """A shape that was given as one sequence or as several numbers."""
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        given = given[0]
    return tuple(int(size) for size in given)


def infer(shape: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Fill in the one -1 of a shape for `count` elements; RuntimeError if it doesn't fit."""
    known = math.prod(size for size in shape if size != -1)
    if shape.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if -1 in shape and known and count % known == 0:
        return tuple(count // known if size == -1 else size for size in shape)
    if -1 in shape or known != count:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {count}")
    return shape


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


def _diagonal(x: Any, offset: int, one: int, other: int) -> Any:
    planes = np.moveaxis(x, (one, other), (-2, -1))
    planes = planes[..., :, offset:] if offset >= 0 else planes[..., -offset:, :]
    shape = (*planes.shape[:-2], min(planes.shape[-2:]))
    steps = (*planes.strides[:-2], planes.strides[-2] + planes.strides[-1])
    return np.lib.stride_tricks.as_strided(planes, shape, steps)  # numpy's own can't be written


def _slice_back(g: Any, s: Any) -> Any:
    from retainlint.autograd.face.operations.selections import put_places, zeros_of

    shape = s.shapes["self"]
    where = np.arange(math.prod(shape), dtype=np.int64).reshape(shape)[s.key]
    return put_places(zeros_of(shape, g), g, where)


view_: Operation = define("view", _viewed, casts="same", view=True, self=_reshape_shape)
unsafe_view: Operation = define("view", _viewed, casts="same", self=_reshape_shape)  # of what nobody else can reach
transpose_: Operation = define(
    "transpose",
    lambda x, one, other: np.swapaxes(x, one, other),
    casts="same",
    view=True,
    self=lambda g, s: transpose(g, s.one, s.other),
)
t_: Operation = define("t", np.transpose, casts="same", view=True, self=lambda g, s: t(g))
permute_: Operation = define(
    "permute",
    lambda x, order: np.transpose(x, order),
    casts="same",
    view=True,
    self=lambda g, s: permute(g, [int(i) for i in np.argsort(s.order)]),
)
expand_: Operation = define(
    "expand", _expanded, casts="same", view=True, self=lambda g, s: sum_to(g, s.shapes["self"], "ExpandBackward0")
)
squeeze_: Operation = define(
    "squeeze",
    lambda x, dims: np.squeeze(x, dims),
    casts="same",
    view=True,
    self=_reshape_shape,
)
unsqueeze_: Operation = define(
    "unsqueeze",
    lambda x, dim: np.expand_dims(x, dim),
    casts="same",
    view=True,
    self=lambda g, s: squeeze(g, s.dim),
)
select_: Operation = define("select", lambda x, key: x[key], casts="same", view=True, self=_slice_back)
slice_: Operation = define("slice", lambda x, key: x[key], casts="same", view=True, self=_slice_back)
unbind_: Operation = define(
    "unbind",
    lambda x, dim: [x[(slice(None),) * dim + (i, ...)] for i in range(x.shape[dim])],
    casts="same",
    view=True,
    self=lambda g, s: _unbind_back(g, s),
)
split_: Operation = define(
    "split",
    lambda x, keys, dim: [x[key] for key in keys],
    casts="same",
    view=True,
    self=lambda g, s: _split_back(g, s),
)
alias_: Operation = define("alias", lambda x: x[...], casts="same", view=True, self=same)
diagonal_: Operation = define(
    "diag",
    lambda x, offset=0, one=0, other=1: _diagonal(x, offset, one, other),
    casts="same",
    view=True,
    self=lambda g, s: _diagonal_back(g, s),
)
clone_: Operation = define("clone", lambda x: x.copy(), casts="same", self=same)
to_: Operation = define("to", lambda x, kind: x.astype(kind), casts="same", self=same)


def _unbind_back(g: Any, s: Any) -> Any:
    from retainlint.autograd.face.operations.joining import stack

    grads = g if isinstance(g, list) else [g]
    known = next(grad for grad in grads if grad is not None)
    return stack([known * 0 if grad is None else grad for grad in grads], s.dim)


def _split_back(g: Any, s: Any) -> Any:
    from retainlint.autograd.face.operations.joining import cat
    from retainlint.autograd.face.operations.selections import zeros_of

    grads = g if isinstance(g, list) else [g]
    known = next(grad for grad in grads if grad is not None)
    whole = np.broadcast_to(np.empty(()), s.shapes["self"])
    parts = [
        zeros_of(whole[key].shape, known) if grad is None else grad for grad, key in zip(grads, s.keys, strict=True)
    ]
    return cat(parts, s.dim)


def _diagonal_back(g: Any, s: Any) -> Any:
    from retainlint.autograd.face.operations.selections import put_places, zeros_of

    shape = s.shapes["self"]
    numbers = np.arange(math.prod(shape), dtype=np.int64).reshape(shape)
    where = np.diagonal(numbers, s.get("offset", 0), s.get("one", 0), s.get("other", 1))
    return put_places(zeros_of(shape, g), g, where)


def sum_to(grad: Tensor, shape: tuple[int, ...], op: str = "") -> Any:
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
        return unsafe_view(clone_(self), node="UnsafeViewBackward0", shape=wanted)
    return view_(self, shape=wanted, node="" if self.array.flags.c_contiguous else "ReshapeAliasBackward0")


@method()
def view_as(self: Tensor, other: Tensor) -> Any:
    """self in the shape of `other`, over the same memory."""
    return view(self, other.shape)


@method()
def reshape_as(self: Tensor, other: Tensor) -> Any:
    """self in the shape of `other`."""
    return reshape(self, other.shape)


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
    """One dimension."""
    return reshape(self, -1)


@method()
def unflatten(self: Tensor, dim: int, sizes: Sequence[int]) -> Any:
    """One dimension made several."""
    dim = wrap_dim(dim, self.array.ndim)
    shape = self.array.shape
    return view(self, (*shape[:dim], *infer(tuple(sizes), shape[dim]), *shape[dim + 1 :]))


@method()
def t(self: Tensor) -> Any:
    """The transpose of a matrix; a vector as it is."""
    if self.array.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.array.ndim}D")
    return t_(self)


@method("swapaxes", "swapdims")
def transpose(self: Tensor, dim0: int, dim1: int) -> Any:
    """Two dimensions swapped."""
    return transpose_(self, one=wrap_dim(dim0, self.array.ndim), other=wrap_dim(dim1, self.array.ndim))


@method()
def permute(self: Tensor, *dims: Any) -> Any:
    """The dimensions in another order."""
    return permute_(self, order=[wrap_dim(d, self.array.ndim) for d in sizes(dims)])


@method()
def movedim(self: Tensor, source: int, destination: int) -> Any:
    """One dimension moved."""
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
def expand_as(self: Tensor, other: Tensor) -> Any:
    """Expanded to the shape of `other`."""
    return expand(self, other.shape)


@method()
def broadcast_to(self: Tensor, shape: Any) -> Any:
    """Expanded to a shape."""
    return expand(self, shape)


@method()
def squeeze(self: Tensor, dim: Any = None) -> Any:
    """Without the dimensions of size 1: all, or those named."""
    dims = tuple(d for d in dims_of(dim, self.array.ndim) if self.array.shape[d] == 1)
    return squeeze_(self, dims=dims, node="SqueezeBackward0" if dim is None else "SqueezeBackward1")


@method()
def unsqueeze(self: Tensor, dim: int) -> Any:
    """With a dimension of size 1 put in."""
    return unsqueeze_(self, dim=wrap_dim(dim, self.array.ndim + 1))


@method()
def select(self: Tensor, dim: int, index: int) -> Any:
    """One slice, without its dimension."""
    dim = wrap_dim(dim, self.array.ndim)
    size = self.array.shape[dim]
    if not -size <= index < size:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self.array.shape)} at dimension {dim}"
        )
    return select_(self, key=(slice(None),) * dim + (int(index), ...))


@method()
def narrow(self: Tensor, dim: int, start: int, length: int) -> Any:
    """`length` slices from `start`."""
    dim = wrap_dim(dim, self.array.ndim)
    if start + length > self.array.shape[dim]:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({self.array.shape[dim]}).")
    return slice_(self, key=(slice(None),) * dim + (slice(start, start + length),))


@method()
def unbind(self: Tensor, dim: int = 0) -> tuple[Any, ...]:
    """All slices along a dimension."""
    found = unbind_(self, dim=wrap_dim(dim, self.array.ndim))
    return tuple(found) if isinstance(found, tuple) else (found,)


@method()
def split(self: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """Consecutive parts along a dimension."""
    dim = wrap_dim(dim, self.array.ndim)
    size = self.array.shape[dim]
    if isinstance(split_size_or_sections, int):
        step = split_size_or_sections
        parts = [min(step, size - start) for start in range(0, size, step)] or [0]
        node = "SplitBackward0"
    else:
        parts, node = list(split_size_or_sections), "SplitWithSizesBackward0"
        if sum(parts) != size:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at dimension "
                f"{dim}), but got split_sizes={parts}"
            )
    ends = np.cumsum([0, *parts]).tolist()
    keys = [(slice(None),) * dim + (slice(a, b),) for a, b in zip(ends, ends[1:])]
    found = split_(self, dim=dim, keys=keys, node=node)
    return tuple(found) if isinstance(found, tuple) else (found,)


@method()
def chunk(self: Tensor, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    """At most `chunks` parts along a dimension."""
    size = self.array.shape[wrap_dim(dim, self.array.ndim)]
    parts: tuple[Any, ...] = split(self, max(1, -(-size // chunks)), dim)
    return parts


@method()
def diagonal(self: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """The diagonal, as a view."""
    ndim = self.array.ndim
    return diagonal_(self, offset=offset, one=wrap_dim(dim1, ndim), other=wrap_dim(dim2, ndim))


@method()
def diag(self: Tensor, diagonal: int = 0) -> Any:
    """The diagonal of a matrix, copied; or the matrix with this diagonal."""
    if self.array.ndim == 2:
        return clone_(diagonal_(self, offset=diagonal))
    from retainlint.autograd.face.operations.selections import put_places, zeros_of

    side = self.array.size + abs(diagonal)
    numbers = np.arange(side * side).reshape(side, side)
    return put_places(zeros_of((side, side), self), self, np.diagonal(numbers, diagonal))


@method()
def clone(self: Tensor, *, memory_format: Any = None) -> Any:
    """A copy, through which gradients pass."""
    return clone_(self)


@method()
def contiguous(self: Tensor, *, memory_format: Any = None) -> Any:
    """self if its memory is in order, else a copy."""
    return self if self.array.flags.c_contiguous else clone_(self)


@method()
def is_contiguous(self: Tensor, *, memory_format: Any = None) -> bool:
    """Whether the memory is in order."""
    return bool(self.array.flags.c_contiguous)


@method()
def stride(self: Tensor, dim: int | None = None) -> Any:
    """How many elements lie between neighbours."""
    steps = tuple(step // self.array.itemsize for step in self.array.strides)
    return steps if dim is None else steps[dim]


@method()
def detach(self: Tensor) -> Tensor:
    """The same memory and versions, without graph."""
    made = alias(self)
    made.counts = not modes.is_inference_mode_enabled()
    return made


@method()
def detach_(self: Tensor) -> Tensor:
    """Take this tensor out of its graph; nothing happens in inference mode."""
    if modes.is_inference_mode_enabled():
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


@method()
def size(self: Tensor, dim: int | None = None) -> Any:
    """The shape, or one size."""
    return self.shape if dim is None else self.array.shape[wrap_dim(dim, self.array.ndim)]


@method("nelement")
def numel(self: Tensor) -> int:
    """How many elements."""
    return int(self.array.size)


@method("ndimension")
def dim(self: Tensor) -> int:
    """How many dimensions."""
    return self.array.ndim


def _matrix_transpose(self: Tensor) -> Any:
    return transpose(self, -2, -1)


Tensor.T = property(lambda self: permute(self, list(reversed(range(self.array.ndim)))))  # type: ignore[attr-defined]
Tensor.mT = property(_matrix_transpose)  # type: ignore[attr-defined]
