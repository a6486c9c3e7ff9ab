"""A tensor's shape, as far as it is known: how many dimensions it has, and how long each is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

from retainlint.startup.records import record

Size: TypeAlias = "int | None"
"""How long a dimension is; None of one that nobody knows."""


@record
class Shape:
    """The first dimensions of a tensor: all of them if it `is_whole`. Else further ones may follow, of which the very last is
    `last` long."""

    sizes: tuple[Size, ...] = ()
    is_whole: bool = False
    last: Size = None

    @property
    def ndim(self) -> int | None:
        return len(self.sizes) if self.is_whole else None

    @property
    def numel(self) -> int | None:
        """How many elements it has."""
        known = [size for size in self.sizes if size is not None]
        return math.prod(known) if self.is_whole and len(known) == len(self.sizes) else None

    @property
    def is_many(self) -> bool:
        """Whether it surely has more than one element."""
        return any(size is not None and size > 1 for size in (*self.sizes, self.last))

    def at(self, dim: int) -> Size:
        """How long a dimension is; one below 0 counts from the end."""
        if dim < 0 and not self.is_whole:
            return self.last if dim == -1 else None
        dim = self.place(dim)
        return self.sizes[dim] if 0 <= dim < len(self.sizes) else None

    def place(self, dim: int, more: int = 0) -> int:
        """Where a dimension stands that may be counted from the end, of a tensor that has so many `more`."""
        return dim + len(self.sizes) + more if dim < 0 else dim


UNKNOWN = Shape()
SCALAR = Shape((), True)


def whole(sizes: Sequence[Size]) -> Shape:
    """A tensor that has just these dimensions."""
    return Shape(tuple(sizes), True)


def of_rank(ndim: int | None) -> Shape:
    """A tensor of so many dimensions."""
    return UNKNOWN if ndim is None else whole((None,) * ndim)


def total(sizes: Sequence[Size]) -> Size:
    """How long some lengths are together."""
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


def broadcast(shapes: Sequence[Shape]) -> Shape:
    """What tensors of some shapes come to, element by element."""
    wide = [shape for shape in shapes if shape != SCALAR]
    if len(wide) < 2:
        return wide[0] if wide else SCALAR
    if not all(shape.is_whole for shape in wide):
        return Shape(last=_met([shape.at(-1) for shape in wide]))
    rank = max(len(shape.sizes) for shape in wide)
    behind = [[shape.at(at) for shape in wide if -at <= len(shape.sizes)] for at in range(-rank, 0)]
    return whole([_met(sizes) for sizes in behind])


def _met(sizes: Sequence[Size]) -> Size:
    """How long a dimension becomes in which some tensors meet: those of length 1 are as long as the others."""
    longer = next((size for size in sizes if size is not None and size != 1), None)
    return longer if longer is not None or None in sizes else 1


def product(left: Shape, right: Shape) -> Shape:
    """What `left @ right` comes to."""
    if not (left.is_whole and right.is_whole and left.sizes and right.sizes):
        return UNKNOWN
    rows = left.sizes[-2:-1] if len(left.sizes) > 1 else ()
    columns = right.sizes[-1:] if len(right.sizes) > 1 else ()
    batch = broadcast([whole(left.sizes[:-2]), whole(right.sizes[:-2])])
    return whole((*batch.sizes, *rows, *columns))


def ending(shape: Shape, size: Size) -> Shape:
    """With another size of the last dimension, as a linear layer gives it."""
    if not shape.is_whole:
        return Shape(last=size)
    return whole((*shape.sizes[:-1], size)) if shape.sizes else UNKNOWN


def reduced(shape: Shape, dims: Sequence[int], *, keeps: bool) -> Shape:
    """What a sum over some dimensions leaves."""
    if not shape.is_whole:
        return UNKNOWN
    gone = {shape.place(dim) for dim in dims}
    if keeps:
        return whole([1 if at in gone else size for at, size in enumerate(shape.sizes)])
    return whole([size for at, size in enumerate(shape.sizes) if at not in gone])


def stacked(shapes: Sequence[Shape], dim: int) -> Shape:
    """What `torch.stack` makes of tensors, all of one shape."""
    known = next((shape for shape in shapes if shape.is_whole), UNKNOWN)
    return inserted(known, dim, len(shapes)) if known.is_whole else UNKNOWN if dim else Shape((len(shapes),))


_NOTHING = Shape((0,), True)
"""`torch.cat` passes over what is so, however many dimensions the others have."""


def joined(shapes: Sequence[Shape], dim: int, *, grows: bool) -> Shape:
    """What `torch.cat` makes of tensors; if it `grows` from one iteration to the next, nobody knows how long it becomes."""
    shapes = [shape for shape in shapes if shape != _NOTHING] or shapes
    known = next((shape for shape in shapes if shape.is_whole), UNKNOWN)
    if not known.is_whole:
        return UNKNOWN
    lengths = [shape.at(dim) for shape in shapes]
    return with_size(known, dim, None if grows else total(lengths))


def with_size(shape: Shape, dim: int, size: Size) -> Shape:
    """With another length of one dimension."""
    if not shape.is_whole:
        return UNKNOWN
    return whole([size if at == shape.place(dim) else each for at, each in enumerate(shape.sizes)])


def item(shape: Shape) -> Shape:
    """What stands at a place of the first dimension."""
    return Shape(shape.sizes[1:], shape.is_whole, shape.last) if shape.sizes else UNKNOWN


def inserted(shape: Shape, dim: int, size: Size) -> Shape:
    """With one more dimension."""
    if not shape.is_whole:
        return UNKNOWN if dim else Shape((size, *shape.sizes), last=shape.last)
    at = shape.place(dim, 1)
    return whole((*shape.sizes[:at], size, *shape.sizes[at:]))


def squeezed(shape: Shape, dims: Sequence[int] | None) -> Shape:
    """Without those of some dimensions that are 1 long."""
    if not shape.is_whole:
        return UNKNOWN
    asked = range(len(shape.sizes)) if dims is None else [shape.place(dim) for dim in dims]
    if any(shape.at(dim) is None for dim in asked):
        return UNKNOWN
    return whole([size for at, size in enumerate(shape.sizes) if size != 1 or at not in asked])


def viewed(shape: Shape, sizes: Sequence[Size]) -> Shape:
    """The same elements in other dimensions, of which one may be -1."""
    others = [size for size in sizes if size != -1]
    total, rest = shape.numel, whole(others).numel
    left = total // rest if total is not None and rest else None
    return whole([left if size == -1 else size for size in sizes])


def flattened(shape: Shape, first: int, last: int) -> Shape:
    """With the dimensions from `first` to `last` as one."""
    if not shape.is_whole or not shape.sizes:
        return UNKNOWN
    first, last = shape.place(first), shape.place(last)
    return whole((*shape.sizes[:first], whole(shape.sizes[first : last + 1]).numel, *shape.sizes[last + 1 :]))


def permuted(shape: Shape, order: Sequence[int]) -> Shape:
    """With its dimensions in another order."""
    places = [shape.place(dim) for dim in order]
    if not shape.is_whole or sorted(places) != [*range(len(shape.sizes))]:
        return UNKNOWN
    return whole([shape.sizes[at] for at in places])


def transposed(shape: Shape, one: int, other: int) -> Shape:
    """With two of its dimensions changed over."""
    one, other = shape.place(one), shape.place(other)
    swap = {one: other, other: one}
    return permuted(shape, [swap.get(at, at) for at in range(len(shape.sizes))])


def expanded(shape: Shape, sizes: Sequence[Size]) -> Shape:
    """Broadcast to some sizes; -1 is one that stays."""
    kept = len(sizes) - len(shape.sizes) if shape.is_whole else len(sizes)
    return whole([shape.at(at - kept) if size == -1 and at >= kept else size for at, size in enumerate(sizes)])


def repeated(shape: Shape, times: Sequence[Size]) -> Shape:
    """So many copies of it along each dimension."""
    if not shape.is_whole or len(times) < len(shape.sizes):
        return UNKNOWN
    lengths = [1] * (len(times) - len(shape.sizes)) + [*shape.sizes]
    return whole([None if None in pair else whole(pair).numel for pair in zip(lengths, times)])
