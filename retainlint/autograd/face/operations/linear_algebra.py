"""Inverses, factors and solutions of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from retainlint.autograd.face.operations.joining import tril
from retainlint.autograd.face.operations.products import matmul
from retainlint.autograd.face.operations.registry import Operation, define
from retainlint.autograd.face.operations.shapes import transpose, unsqueeze
from retainlint.autograd.face.tensor import Tensor, method


def _t(matrix: Any) -> Any:
    return transpose(matrix, -2, -1)


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


cholesky_: Operation = define("cholesky", _cholesky, casts="same", self=_cholesky_back)
inverse: Operation = define(
    "inverse",
    _inverse,
    casts="same",
    self=lambda g, s: -matmul(_t(s.result), matmul(g, _t(s.result))),
    methods="inverse",
)
solve_: Operation = define(
    "solve",
    lambda a, b, vector: np.linalg.solve(a, b[..., None])[..., 0] if vector else np.linalg.solve(a, b),
    casts="same",
    self=_solve_self,
    other=_solve_other,
)
logdet: Operation = define(
    "logdet",
    lambda x: np.asarray(np.linalg.slogdet(x)[1]),
    casts="same",
    self=lambda g, s: unsqueeze(unsqueeze(g, -1), -1) * _t(inverse(s.self)),
    methods="logdet",
)


@method()
def cholesky(self: Tensor, *, upper: bool = False) -> Any:
    """The lower triangular factor of a positive matrix."""
    return _t(cholesky_(self)) if upper else cholesky_(self)


def solve(A: Tensor, B: Tensor) -> Any:  # noqa: N803 -- torch's names
    """The X with A @ X == B."""
    return solve_(A, B, vector=B.array.ndim == 1)


def solve_triangular(A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:  # noqa: N803
    """`solve`, of a triangle."""
    kept = A.triu() if upper else tril(A)
    return solve(kept, B) if left else _t(solve(_t(kept), _t(B)))


def cholesky_solve(B: Tensor, L: Tensor, upper: bool = False) -> Any:  # noqa: N803
    """The X with L @ L.T @ X == B."""
    low = _t(L) if upper else L
    return solve(_t(low), solve(low, B))


@method()
def det(self: Tensor) -> Any:
    """The determinant, by its logarithm and its sign."""
    return logdet(self).exp() * Tensor.of(np.asarray(np.linalg.slogdet(self.array)[0]))
