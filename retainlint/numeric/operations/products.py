"""Products of vectors and matrices, made of the same nodes as torch makes them of; inverses, factors and solutions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from retainlint.numeric import dtypes
from retainlint.numeric.operations.pieces import tril
from retainlint.numeric.operations.registry import Operation, define
from retainlint.numeric.operations.shapes import expand, permute, reshape, squeeze, t, transpose, unsafe_view, unsqueeze
from retainlint.numeric.tensor import Tensor, method


def _t(tensor: Any) -> Any:
    return transpose(tensor, -2, -1)


def _check(left: Any, right: Any) -> None:
    if left.dtype != right.dtype:
        a, b = dtypes.of_array(left).name, dtypes.of_array(right).name
        names = {"float32": "float", "float64": "double", "int64": "long long"}
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {names.get(a, a)} != {names.get(b, b)}"
        )


def _mm(left: Any, right: Any) -> Any:
    if left.ndim != 2 or right.ndim != 2:
        raise RuntimeError("self must be a matrix" if left.ndim != 2 else "mat2 must be a matrix")
    if left.shape[1] != right.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({left.shape[0]}x{left.shape[1]} and "
            f"{right.shape[0]}x{right.shape[1]})"
        )
    _check(left, right)
    return left @ right


def _mv(matrix: Any, vector: Any) -> Any:
    if matrix.shape[1] != vector.shape[0]:
        raise RuntimeError(
            f"size mismatch, got input ({matrix.shape[0]}), mat ({matrix.shape[0]}x{matrix.shape[1]}), vec "
            f"({vector.shape[0]})"
        )
    _check(matrix, vector)
    return matrix @ vector


def _dot(left: Any, right: Any) -> Any:
    if left.ndim != 1 or right.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {left.ndim}D and {right.ndim}D tensors")
    if left.shape != right.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{left.size}] and src [{right.size}] to have the same number of "
            f"elements, but got {left.size} and {right.size} elements respectively"
        )
    if left.dtype != right.dtype:
        a, b = dtypes.of_array(left).legacy, dtypes.of_array(right).legacy
        raise RuntimeError(f"dot : expected both vectors to have same dtype, but found {a} and {b}")
    return np.dot(left, right)


def _bmm(left: Any, right: Any) -> Any:
    if left.shape[0] != right.shape[0] or left.shape[2] != right.shape[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{left.shape[0]}, {left.shape[2]}] but got: "
            f"[{right.shape[0]}, {right.shape[1]}]."
        )
    _check(left, right)
    return left @ right


mm: Operation = define(
    "mm",
    _mm,
    self=lambda g, s: t(mm(s.mat2, t(g))) if "self" in s.columns else mm(g, t(s.mat2)),
    mat2=lambda g, s: t(mm(t(g), s.self)) if "mat2" in s.columns else mm(t(s.self), g),
    methods="mm",
)
mv: Operation = define("mv", _mv, self=lambda g, s: outer(g, s.vec), vec=lambda g, s: mv(t(s.self), g), methods="mv")
dot: Operation = define("dot", _dot, self=lambda g, s: g * s.tensor, tensor=lambda g, s: g * s.self, methods="dot")
bmm: Operation = define(
    "bmm", _bmm, self=lambda g, s: bmm(g, _t(s.mat2)), mat2=lambda g, s: bmm(_t(s.self), g), methods="bmm"
)
addmm: Operation = define(
    "addmm",
    lambda bias, left, right, beta=1, alpha=1: (
        bias * beta + _mm(left, right) * alpha if (beta, alpha) != (1, 1) else _mm(left, right) + bias
    ),
    self=lambda g, s: g if s.beta == 1 else g * s.beta,
    mat1=lambda g, s: _times(t(mm(s.mat2, t(g))) if "mat1" in s.columns else mm(g, t(s.mat2)), s),
    mat2=lambda g, s: _times(t(mm(t(g), s.mat1)) if "mat2" in s.columns else mm(t(s.mat1), g), s),
    methods="addmm",
    changes="addmm_",
)


def _times(product: Any, s: Any) -> Any:
    return product if s.alpha == 1 else product * s.alpha


@method("ger")
def outer(self: Tensor, vec2: Tensor) -> Any:
    return unsqueeze(self, 1) * vec2


@method("__matmul__")
def matmul(self: Tensor, other: Tensor) -> Any:
    """The product of vectors, matrices, or stacks of matrices."""
    if not isinstance(other, Tensor):
        raise TypeError(f"matmul(): argument 'other' (position 2) must be Tensor, not {type(other).__name__}")
    a, b = self.array.ndim, other.array.ndim
    if not a or not b:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {a}D and {b}D")
    if a <= 2 and b <= 2:
        return _small(self, other)
    if a >= 3 and b <= 2:
        return _folded(self, other)
    if a == 1:
        return squeeze(_batched(unsqueeze(self, 0), other), -2)
    return _batched(self, other)


def _small(left: Tensor, right: Tensor) -> Any:
    if left.array.ndim == 1:
        return dot(left, right) if right.array.ndim == 1 else squeeze(mm(unsqueeze(left, 0), right), 0)
    return mv(left, right) if right.array.ndim == 1 else mm(left, right)


def _folded(left: Tensor, right: Tensor) -> Any:
    """A stack times one matrix: the stack as one tall matrix."""
    lead = left.array.shape[:-1]
    tall = reshape(left, math.prod(lead), left.array.shape[-1])
    found = _small(tall, right)
    return unsafe_view(found, node="UnsafeViewBackward0", shape=(*lead, *right.array.shape[1:]))


def _batched(left: Tensor, right: Tensor) -> Any:
    if right.array.ndim == 1:
        return squeeze(_batched(left, unsqueeze(right, 1)), -1)
    batch = np.broadcast_shapes(left.array.shape[:-2], right.array.shape[:-2])
    a = reshape(expand(left, (*batch, *left.array.shape[-2:])), (math.prod(batch), *left.array.shape[-2:]))
    b = reshape(expand(right, (*batch, *right.array.shape[-2:])), (math.prod(batch), *right.array.shape[-2:]))
    shape = (*batch, left.array.shape[-2], right.array.shape[-1])
    return unsafe_view(bmm(a, b), node="UnsafeViewBackward0", shape=shape)


def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return input * beta + bmm(batch1, batch2) * alpha


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    """input @ weight.T + bias, for an input of any number of dimensions."""
    if bias is None:
        return matmul(input, t(weight))
    if input.array.ndim == 2:
        return addmm(bias, input, t(weight))
    if input.array.ndim == 3:
        lead = input.array.shape[:-1]
        tall = reshape(input, math.prod(lead), input.array.shape[-1])
        return addmm(bias, tall, t(weight)).view(*lead, weight.array.shape[0])
    return matmul(input, t(weight)).add_(bias)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    """input1 @ weight[k] @ input2 for each k, plus bias."""
    found = einsum("bi,kij,bj->bk", input1, weight, input2)
    return found if bias is None else found + bias


def einsum(equation: str, *operands: Any) -> Any:
    """Sums of products by their letters; two operands at a time, each pair one bmm."""
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    left, arrow, output = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if "." in equation:
        terms, output = _spell_dots(terms, output, operands, bool(arrow))
    elif not arrow:
        letters = "".join(terms)
        output = "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    found, have = operands[0], terms[0]
    if len(operands) == 1:
        found, have = _diagonals(found, have)
    for i in range(1, len(operands)):
        wanted = set(output).union(*terms[i + 1 :])
        found, have = _pair(found, have, operands[i], terms[i], wanted)
    extra = [i for i, c in enumerate(have) if c not in output]
    found = found.sum(extra) if extra else found
    have = "".join(c for c in have if c in output)
    return found if have == output else permute(found, [have.index(c) for c in output])


def _spell_dots(terms: list[str], output: str, operands: Any, arrow: bool) -> tuple[list[str], str]:
    free = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in output + "".join(terms)]
    counts = [op.array.ndim - len(term.replace("...", "")) for term, op in zip(terms, operands)]
    most = max(c if "..." in term else 0 for term, c in zip(terms, counts))
    spelled = [term.replace("...", "".join(free[most - c : most])) for term, c in zip(terms, counts)]
    if arrow:
        return spelled, output.replace("...", "".join(free[:most]))
    letters = "".join(term.replace("...", "") for term in terms)
    return spelled, "".join(free[:most]) + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))


def _diagonals(tensor: Any, letters: str) -> tuple[Any, str]:
    for c in letters:
        while letters.count(c) > 1:
            one, other = letters.index(c), letters.rindex(c)
            tensor = tensor.diagonal(0, one, other)
            letters = "".join(x for i, x in enumerate(letters) if i not in (one, other)) + c
    return tensor, letters


def _pair(left: Any, a: str, right: Any, b: str, wanted: set[str]) -> tuple[Any, str]:
    """Multiply two operands, summing over the letters that nobody else wants."""
    left, a = _without(left, a, set(b) | wanted)
    right, b = _without(right, b, set(a) | wanted)
    both = [c for c in a if c in b]
    batch = [c for c in both if c in wanted]
    summed = [c for c in both if c not in wanted]
    only_a, only_b = [c for c in a if c not in b], [c for c in b if c not in a]
    sizes = {**dict(zip(a, left.array.shape)), **dict(zip(b, right.array.shape))}
    x = permute(left, [a.index(c) for c in batch + only_a + summed])
    y = permute(right, [b.index(c) for c in batch + summed + only_b])

    def count(letters: list[str]) -> int:
        return math.prod(sizes[c] for c in letters)

    x = reshape(x, count(batch), count(only_a), count(summed))
    y = reshape(y, count(batch), count(summed), count(only_b))
    letters = batch + only_a + only_b
    return bmm(x, y).view([sizes[c] for c in letters]), "".join(letters)


def _without(tensor: Any, letters: str, wanted: set[str]) -> tuple[Any, str]:
    tensor, letters = _diagonals(tensor, letters)
    extra = [i for i, c in enumerate(letters) if c not in wanted]
    return (tensor.sum(extra), "".join(c for c in letters if c in wanted)) if extra else (tensor, letters)


def _distances(x1: Any, x2: Any, p: float) -> Any:
    return np.linalg.norm(x1[..., :, None, :] - x2[..., None, :, :], p, -1)


def _pulled(g: Any, s: Any) -> Any:
    """What each pair of rows gives to their difference; nothing, where there is none."""
    apart = unsqueeze(s.x1, -2) - unsqueeze(s.x2, -3)
    share = unsqueeze((g / s.result ** (s.p - 1)).masked_fill(s.result == 0, 0), -1)
    return share * (apart if s.p == 2 else apart.sign() * apart.abs() ** (s.p - 1))


cdist_: Operation = define(
    "cdist", _distances, x1=lambda g, s: _pulled(g, s).sum(-2), x2=lambda g, s: -_pulled(g, s).sum(-3)
)


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0) -> Any:
    """The distance of every row of one from every row of the other."""
    return cdist_(x1, x2, p)


def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Any:
    if isinstance(dims, int):
        ours, theirs = list(range(a.array.ndim - dims, a.array.ndim)), list(range(dims))
    else:
        ours, theirs = list(dims[0]), list(dims[1])
    left = [chr(97 + i) for i in range(a.array.ndim)]
    right = [chr(97 + a.array.ndim + i) for i in range(b.array.ndim)]
    for i, j in zip(ours, theirs):
        right[j] = left[i]
    kept = [c for i, c in enumerate(left) if i not in ours] + [c for j, c in enumerate(right) if j not in theirs]
    return einsum(f"{''.join(left)},{''.join(right)}->{''.join(kept)}", a, b)


def _cholesky(x: Any) -> Any:
    try:
        return np.linalg.cholesky(x)
    except np.linalg.LinAlgError as error:
        raise RuntimeError(
            "linalg.cholesky: The factorization could not be completed because the input is not positive-definite."
        ) from error


def _inverse(x: Any) -> Any:
    try:
        return np.linalg.inv(x)
    except np.linalg.LinAlgError as error:
        raise RuntimeError("linalg.inv: The diagonal element is zero, the inversion could not be completed.") from error


def _cholesky_back(g: Any, s: Any) -> Any:
    low = s.result
    inner = tril(matmul(_t(low), g))
    inner = inner - Tensor.of(0.5 * np.eye(inner.array.shape[-1], dtype=inner.array.dtype)) * inner
    back = inverse(low)
    found = matmul(_t(back), matmul(inner, back))
    return (found + _t(found)) * 0.5


def _solve_other(g: Any, s: Any) -> Any:
    return solve_(_t(s.self), g, vector=s.vector)


def _solve_self(g: Any, s: Any) -> Any:
    other, result = _solve_other(g, s), s.result
    if s.vector:
        return -(unsqueeze(other, -1) * unsqueeze(result, -2))
    return -matmul(other, _t(result))


cholesky_: Operation = define("cholesky", _cholesky, self=_cholesky_back)
inverse: Operation = define(
    "inverse", _inverse, self=lambda g, s: -matmul(_t(s.result), matmul(g, _t(s.result))), methods="inverse"
)
solve_: Operation = define(
    "solve",
    lambda a, b, vector: np.linalg.solve(a, b[..., None])[..., 0] if vector else np.linalg.solve(a, b),
    self=_solve_self,
    other=_solve_other,
)
logdet: Operation = define(
    "logdet",
    lambda x: np.asarray(np.linalg.slogdet(x)[1]),
    self=lambda g, s: unsqueeze(unsqueeze(g, -1), -1) * _t(inverse(s.self)),
    methods="logdet",
)


@method()
def cholesky(self: Tensor, *, upper: bool = False) -> Any:
    """The lower triangular factor of a positive matrix."""
    return _t(cholesky_(self)) if upper else cholesky_(self)


def solve(A: Tensor, B: Tensor) -> Any:
    """The X with A @ X == B."""
    return solve_(A, B, vector=B.array.ndim == 1)


def solve_triangular(A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """`solve`, of a triangle."""
    kept = A.triu() if upper else tril(A)
    return solve(kept, B) if left else _t(solve(_t(kept), _t(B)))


def cholesky_solve(B: Tensor, L: Tensor, upper: bool = False) -> Any:
    """The X with L @ L.T @ X == B."""
    low = _t(L) if upper else L
    return solve(_t(low), solve(low, B))


@method()
def det(self: Tensor) -> Any:
    return logdet(self).exp() * Tensor.of(np.asarray(np.linalg.slogdet(self.array)[0]))
