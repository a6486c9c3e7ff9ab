"""The shapes of results: what a row of the table of operations makes of the shapes of its operands, and of what a call says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from retainlint.autograd.operations import Row, rows
from retainlint.symbolic.solver import terms
from retainlint.symbolic.state import limits, shape
from retainlint.symbolic.state.protocol import Args, Machine
from retainlint.symbolic.state.shape import SCALAR, UNKNOWN, Shape, Size
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import (
    FALSE,
    NONE,
    TRUE,
    Const,
    ListObj,
    Slice,
    TensorObj,
    Term,
    Tuple,
    UnknownObj,
    Value,
)
from retainlint.text.source import Span


def of(state: State, value: Value) -> Shape:
    """The shape of an operand; a number has no dimension."""
    held = state.get(value)
    if isinstance(held, TensorObj):
        return held.shape
    return SCALAR if terms.is_scalar(value) else UNKNOWN


def rank(machine: Machine, state: State, value: Value) -> Value:
    """How many dimensions a tensor has. Where nobody knows, what is made in one place has as many in each iteration."""
    held, places = state.get(value), list[Span]()
    if isinstance(held, TensorObj):
        if held.ndim is not None:
            return Const(held.ndim)
        birth = machine.graphs.births.get(held.edge.node) if held.edge is not None else None
        places += (*birth.moment.frames, birth.moment.span) if birth is not None else ()
    elif isinstance(held, UnknownObj):
        places.append(held.made)
    return Term("dim", (Const(" ".join(f"{each.source.name}:{each.start}" for each in places)) if places else value,))


def size(value: Value) -> Size:
    """A number that says how long a dimension is, or which one is meant."""
    return value.value if isinstance(value, Const) and type(value.value) is int else None


def sizes(state: State, given: Sequence[Value]) -> list[Size] | None:
    """What is given as sizes or dimensions: one by one, or as a tuple, a list or another tensor's shape."""
    if len(given) != 1:
        return [size(each) for each in given] if given else None
    (value,) = given
    held = state.get(value)
    if isinstance(value, Term) and value.op == "shape":
        known = of(state, value.args[0])
        return list(known.sizes) if known.is_whole else None
    if isinstance(value, Tuple):
        return [size(each) for each in value.items]
    if isinstance(held, ListObj) and not (held.open or held.sampled):
        return [size(each) for each in held.items]
    return [size(value)] if terms.is_scalar(value) else None


# -- by operands --------------------------------------------------------------------------------------------------


def _reversed(known: Shape) -> Shape:
    return shape.permuted(known, range(len(known.sizes))[::-1])


_PRODUCTS = ("matmul", "mm", "mv", "bmm")
_ADDED_PRODUCTS = ("addmm", "addmv", "baddbmm")


def computed(state: State, row: str, operands: Sequence[Value]) -> Shape:
    """The shape of what a row gives, as far as its operands say."""
    words, given = rows()[row].result, [of(state, each) for each in operands]
    if "scalar" in words or not given:
        return SCALAR if given else UNKNOWN
    match row:
        case "t":
            return _reversed(given[0])
        case "linear" if len(given) > 1:
            return shape.ending(given[0], given[1].at(0) if given[1].ndim == 2 else None)
        case "embedding" if len(given) > 1:
            known = given[0].is_whole and given[1].is_whole
            return shape.whole((*given[0].sizes, given[1].at(-1))) if known else Shape(last=given[1].at(-1))
        case "scaled_dot_product_attention" if len(given) > 2:
            if not all(each.is_whole and len(each.sizes) > 1 for each in given[:3]):
                return Shape(last=given[2].at(-1))
            batch = shape.broadcast([shape.whole(each.sizes[:-2]) for each in given[:3]])
            return shape.whole((*batch.sizes, given[0].at(-2), given[2].at(-1)))
    if row in _PRODUCTS and len(given) == 2:
        return shape.product(*given)
    if row in _ADDED_PRODUCTS and len(given) == 3:
        return shape.product(*given[1:])
    if "same" in words:
        return shape.broadcast(given)
    return given[0] if "like" in words else shape.of_rank(given[0].ndim) if "first" in words else UNKNOWN


# -- by what a call says ------------------------------------------------------------------------------------------


def called(state: State, name: str, row: Row, args: Args) -> Shape | None:
    """The shape of what a call of a function or method of the table gives; `args` begin with the tensor itself. None: what
    its operands say."""
    if name.endswith(("_loss", "entropy")):
        return None if args.has(-1, "reduction") else SCALAR
    rule = _RULES.get(name) or _BY_ROW.get(row.operation)
    if rule is None and ("reduced" in row.result or row.operation in _REDUCE):
        rule = _reduced
    return None if rule is None else rule(state, args)


_REDUCE = ("max_dim", "min_dim", "logsumexp", "nanmean")


def _reduced(state: State, args: Args, at: int = 1) -> Shape:
    dims = args.get(at, "dim", args.get(-1, "axis"))
    keeps = args.get(at + 1, "keepdim", FALSE)
    if dims == NONE or (isinstance(dims, Const) and isinstance(dims.value, bool)):  # as in `x.var(False)`
        return SCALAR if keeps == FALSE else UNKNOWN
    asked = sizes(state, (dims,))
    known = [dim for dim in asked or () if dim is not None]
    if asked is None or len(known) < len(asked) or keeps not in (TRUE, FALSE):
        return UNKNOWN
    return shape.reduced(of(state, args.get(0, "input")), known, keeps=keeps == TRUE)


def _whole(state: State, args: Args) -> Shape:
    return of(state, args.get(0, "input"))


def _dim(args: Args, at: int, name: str = "dim", default: int | None = None) -> int | None:
    given = args.get(at, name)
    return default if given == NONE else size(given)


def _parts(state: State, args: Args) -> list[Shape]:
    """The shapes of the tensors in a list; none if nobody knows how many there are."""
    listed = args.get(0, "tensors")
    held = state.get(listed)
    if isinstance(held, ListObj) and (held.open or held.sampled or held.perhaps):
        return []
    return [of(state, each) for each in state.items(listed) or ()]


def _stacked(state: State, args: Args) -> Shape:
    parts, dim = _parts(state, args), _dim(args, 1, default=0)
    return shape.stacked(parts, dim) if parts and dim is not None else UNKNOWN


def _joined(state: State, args: Args) -> Shape:
    parts, dim = _parts(state, args), _dim(args, 1, default=0)
    return shape.joined(parts, dim, grows=bool(state.iterations)) if parts and dim is not None else UNKNOWN


def _given(state: State, args: Args, name: str) -> list[Size] | None:
    return sizes(state, args.pos[1:] or (args.get(-1, name),))


Rule: TypeAlias = "Callable[[State, Args], Shape]"
"""The shape of what a call gives."""


def _by_sizes(name: str, rule: Callable[[Shape, list[Size]], Shape]) -> Rule:
    """A rule that is given sizes, one by one or under a name."""

    def found(state: State, args: Args) -> Shape:
        given = _given(state, args, name)
        return UNKNOWN if given is None else rule(_whole(state, args), given)

    return found


def _by_dim(rule: Callable[[Shape, int, State, Args], Shape]) -> Rule:
    """A rule that is given one dimension."""

    def found(state: State, args: Args) -> Shape:
        dim = _dim(args, 1)
        return UNKNOWN if dim is None else rule(_whole(state, args), dim, state, args)

    return found


def _flattened(state: State, args: Args) -> Shape:
    first, last = _dim(args, 1, "start_dim", 0), _dim(args, 2, "end_dim", -1)
    return UNKNOWN if first is None or last is None else shape.flattened(_whole(state, args), first, last)


def _squeezed(state: State, args: Args) -> Shape:
    asked = args.get(1, "dim")
    dims = None if asked == NONE else sizes(state, (asked,)) or [None]
    known = None if dims is None else [dim for dim in dims if dim is not None]
    return UNKNOWN if known != dims else shape.squeezed(_whole(state, args), known)


def _transposed(state: State, args: Args) -> Shape:
    one, other = _dim(args, 1, "dim0"), _dim(args, 2, "dim1")
    return UNKNOWN if one is None or other is None else shape.transposed(_whole(state, args), one, other)


def _permuted(state: State, args: Args) -> Shape:
    order = [dim for dim in _given(state, args, "dims") or () if dim is not None]
    return shape.permuted(_whole(state, args), order)


def _outer(state: State, args: Args) -> Shape:
    return shape.whole((_whole(state, args).at(0), of(state, args.get(1, "vec2")).at(0)))


def _similar(state: State, args: Args) -> Shape:
    both, dim = [of(state, args.get(at, f"x{at + 1}")) for at in (0, 1)], _dim(args, 2, default=1)
    return UNKNOWN if dim is None else shape.reduced(shape.broadcast(both), [dim], keeps=False)


def _repeated(state: State, args: Args) -> Shape:
    given = _given(state, args, "repeats")
    if given is not None and state.iterations:  # what is repeated in each iteration grows, but for what is taken once
        given = [each if each == 1 else None for each in given]
    return UNKNOWN if given is None else shape.repeated(_whole(state, args), given)


def _padded(state: State, args: Args) -> Shape:
    """`pad(x, (left, right, top, bottom))`: the last dimension's numbers come first."""
    known, given = _whole(state, args), sizes(state, (args.get(1, "pad"),))
    if not known.is_whole or given is None or len(given) > 2 * len(known.sizes):
        return shape.of_rank(known.ndim)
    more = [shape.total(given[at : at + 2]) for at in range(0, len(given) - 1, 2)]
    kept = len(known.sizes) - len(more)
    return shape.whole((*known.sizes[:kept], *map(shape.total, zip(known.sizes[kept:], reversed(more)))))


def _resized(state: State, args: Args) -> Shape:
    """`interpolate`: as many items and channels."""
    known = _whole(state, args)
    return shape.whole((*known.sizes[:2], *(None for _ in known.sizes[2:]))) if known.is_whole else UNKNOWN


def _gated(state: State, args: Args) -> Shape:
    """`glu`: half as long."""
    known, dim = _whole(state, args), _dim(args, 1, default=-1)
    if dim is None:
        return shape.of_rank(known.ndim)
    length = known.at(dim)
    return shape.with_size(known, dim, None if length is None else length // 2)


def _apart(state: State, args: Args) -> Shape:
    """`pairwise_distance`."""
    both, keeps = [of(state, args.get(at, f"x{at + 1}")) for at in (0, 1)], args.get(4, "keepdim", FALSE)
    return shape.reduced(shape.broadcast(both), [-1], keeps=keeps == TRUE) if keeps in (TRUE, FALSE) else UNKNOWN


def _of_pairs(state: State, args: Args) -> Shape:
    """`cdist`: each row of one with each of the other."""
    one, other = (of(state, args.get(at, f"x{at + 1}")) for at in (0, 1))
    if not (one.is_whole and other.is_whole and len(one.sizes) > 1 and len(other.sizes) > 1):
        return UNKNOWN
    batch = shape.broadcast([shape.whole(each.sizes[:-2]) for each in (one, other)])
    return shape.whole((*batch.sizes, one.at(-2), other.at(-2)))


def _unfolded(state: State, args: Args) -> Shape:
    """`x.unfold(dim, size, step)`."""
    known, dim = _whole(state, args), _dim(args, 1, "dimension")
    length, step = _dim(args, 2, "size"), _dim(args, 3, "step")
    if dim is None or not known.is_whole:
        return UNKNOWN
    of_dim = known.at(dim)
    count = None if of_dim is None or length is None or not step else (of_dim - length) // step + 1
    return shape.whole((*shape.with_size(known, dim, count).sizes, length))


def _of_two(state: State, args: Args) -> Shape:
    return shape.broadcast([_whole(state, args), of(state, args.get(1, "other", args.get(-1, "mask")))])


def patches(known: Shape) -> Shape:
    """What `functional.unfold` makes of pictures: one column of numbers for each place."""
    if known.ndim == 4:
        return shape.whole((known.sizes[0], None, None))
    return shape.of_rank(2 if known.ndim == 3 else None)


def one_hot(state: State, args: Args) -> Shape:
    return shape.inserted(_whole(state, args), -1, _dim(args, 1, "num_classes"))


_SPLIT_ALONG = {"vsplit": 0, "dsplit": 2}
_COUNTED = frozenset(("chunk", "unsafe_chunk", "tensor_split", "hsplit", "vsplit", "dsplit"))
"""What falls into so many parts where a number is given, and not into parts that are so long."""


def _along(known: Shape, name: str, args: Args) -> int | None:
    """The dimension along which a tensor is split."""
    if name == "hsplit":
        return None if known.ndim is None else min(known.ndim - 1, 1)
    return _SPLIT_ALONG[name] if name in _SPLIT_ALONG else _dim(args, 1 if name == "unbind" else 2, default=0)


def _asked_of_split(args: Args) -> Value:
    names = "chunks split_size split_sizes split_size_or_sections indices_or_sections indices sections".split()
    return next((args.get(1, each) for each in names if args.has(1, each)), NONE)


def parts(state: State, name: str, args: Args) -> int | None:
    """Into how many parts a tensor is split of which nobody knows how long it is."""
    asked = _asked_of_split(args)
    if isinstance(asked, Const):
        return size(asked) if name in _COUNTED else None
    listed = sizes(state, (asked,))
    return None if listed is None or terms.is_scalar(asked) else len(listed) + (name in _COUNTED)


def pieces(state: State, name: str, args: Args) -> list[Shape]:
    """The shapes of what a tensor falls into; none, if nobody knows how many there are."""
    known = _whole(state, args)
    dim = _along(known, name, args)
    if dim is None or not known.is_whole or not (length := known.at(dim)):
        return []
    if name == "unbind":
        return [shape.reduced(known, [dim], keeps=False)] * min(length, limits.SPLIT_PARTS + 1)
    asked = _asked_of_split(args)
    given = sizes(state, (asked,))
    if not given or None in given or asked == NONE:
        return []
    lengths = _lengths(name, length, [each for each in given if each is not None], listed=not isinstance(asked, Const))
    return [shape.with_size(known, dim, each) for each in lengths]


def _lengths(name: str, length: int, given: list[int], *, listed: bool) -> list[int]:
    """How long the parts are into which so much is split; none where torch would refuse it."""
    if listed and name in _COUNTED:
        ends = [0, *(min(max(each + length if each < 0 else each, 0), length) for each in given), length]
        return [max(end - start, 0) for start, end in zip(ends, ends[1:])]
    if listed:
        return given
    if (asked := given[0]) < 1:
        return []
    if name in _COUNTED and not name.endswith("chunk"):
        return [length // asked + (at < length % asked) for at in range(min(asked, limits.SPLIT_PARTS + 1))]
    each = -(-length // asked) if name in _COUNTED else asked
    return [min(each, length - at) for at in range(0, length, each)[: limits.SPLIT_PARTS + 1]]


_RULES: Mapping[str, Rule] = {
    **dict.fromkeys(("view", "reshape"), _by_sizes("shape", shape.viewed)),
    **dict.fromkeys(("view_as", "reshape_as", "expand_as"), lambda state, args: of(state, args.get(1, "other"))),
    **dict.fromkeys(("flatten", "ravel"), _flattened),
    **dict.fromkeys(("transpose", "swapdims", "swapaxes"), _transposed),
    **dict.fromkeys(("outer", "ger"), _outer),
    **dict.fromkeys(("cat", "concat", "concatenate"), _joined),
    **dict.fromkeys(("atleast_1d", "atleast_2d", "atleast_3d", "resize", "resize_as"), lambda state, args: UNKNOWN),
    **dict.fromkeys(("view_as_complex", "view_as_real"), lambda state, args: UNKNOWN),
    "unsqueeze": _by_dim(lambda known, dim, state, args: shape.inserted(known, dim, 1)),
    "squeeze": _squeezed,
    "adjoint": lambda state, args: shape.transposed(_whole(state, args), -2, -1),
    "permute": _permuted,
    "expand": _by_sizes("size", shape.expanded),
    "narrow": _by_dim(lambda known, dim, state, args: shape.with_size(known, dim, _dim(args, 3, "length"))),
    "select": _by_dim(lambda known, dim, state, args: shape.reduced(known, [dim], keeps=False)),
    **dict.fromkeys(("norm", "vector_norm"), lambda state, args: _reduced(state, args, 2)),
    **dict.fromkeys(("pad", "constant_pad_nd"), _padded),
    **dict.fromkeys(("interpolate", "upsample", "upsample_bilinear", "upsample_nearest"), _resized),
    **dict.fromkeys(("floor_divide", "masked_scatter"), _of_two),
    "cosine_similarity": _similar,
    "pairwise_distance": _apart,
    "cdist": _of_pairs,
    "glu": _gated,
    "bilinear": lambda state, args: shape.ending(
        of(state, args.get(0, "input1")), of(state, args.get(2, "weight")).at(0)
    ),
    "unfold": _unfolded,
    "repeat": _repeated,
    "t": lambda state, args: _reversed(_whole(state, args)),
}
"""By the name of a call, where its row alone doesn't say it."""

_BY_ROW: Mapping[str, Rule] = {
    "stack": _stacked,
    "index_select": _by_dim(
        lambda known, dim, state, args: shape.with_size(known, dim, of(state, args.get(2, "index")).at(0))
    ),
    "gather": lambda state, args: of(state, args.get(2, "index")),
}


def of_einsum(state: State, equation: Value, operands: Sequence[Value]) -> Shape:
    """The shape of what an equation as `ij,jk->ik` comes to."""
    text = equation.value.replace(" ", "") if isinstance(equation, Const) and isinstance(equation.value, str) else ""
    given, arrow, made = text.partition("->")
    if not arrow or "." in text:
        return UNKNOWN
    lengths: dict[str, Size] = {}
    for letters, value in zip(given.split(","), operands):
        known = of(state, value)
        if known.is_whole and len(known.sizes) == len(letters):
            lengths.update((each, length) for each, length in zip(letters, known.sizes) if length is not None)
    return shape.whole([lengths.get(each) for each in made])


# -- by an index --------------------------------------------------------------------------------------------------


def indexed(state: State, value: Value, key: Value) -> Shape:
    """The shape of `tensor[key]`, of a key that is made of integers, slices, `None` and `...`."""
    known, parts = of(state, value), key.items if isinstance(key, Tuple) else (key,)
    left, found = list(known.sizes), list[Size]()
    for at, part in enumerate(parts):
        if part == NONE:
            found.append(1)
        elif isinstance(part, Const) and part.value is ...:
            rest = sum(each != NONE for each in parts[at + 1 :])
            if not known.is_whole or len(left) < rest:
                return UNKNOWN
            found, left = found + left[: len(left) - rest], left[len(left) - rest :]
        elif not left:
            return UNKNOWN
        elif isinstance(part, Slice):
            found.append(_cut(left.pop(0), part))
        elif terms.is_scalar(part) or of(state, part) == SCALAR:
            left.pop(0)
        elif len(parts) == 1 and of(state, part).ndim == 1:
            left.pop(0)
            found.append(None)  # so many as it has, or of a mask as are true
        else:
            return UNKNOWN
    return Shape((*found, *left), known.is_whole, known.last if left else None)


def _cut(length: Size, part: Slice) -> Size:
    """How long a slice of something of that length is."""
    first, end, step = (size(each) for each in part.parts)
    if all(each == NONE for each in part.parts):
        return length
    is_known = all(each == NONE or size(each) is not None for each in part.parts)
    return len(range(length)[first:end:step]) if length is not None and is_known and step != 0 else None
