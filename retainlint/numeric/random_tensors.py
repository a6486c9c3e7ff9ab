"""Random tensors, and filling tensors with random numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from retainlint.numeric import dtypes, grad_mode
from retainlint.numeric.creation import finish
from retainlint.numeric.dtypes import Array
from retainlint.numeric.layout import sizes
from retainlint.numeric.operations.arithmetic import nothing
from retainlint.numeric.operations.registry import define
from retainlint.numeric.random import DEFAULT, Generator
from retainlint.numeric.tape import changed
from retainlint.numeric.tensor import Tensor, method
from retainlint.numeric.views import check_change


def _random(shape: Sequence[int], kind: dtypes.dtype, generator: Generator | None, normal: bool) -> Array:
    source = generator or DEFAULT
    draw = source.normal if normal else source.uniform
    return draw(math.prod(shape), kind.numpy).reshape(shape)


def rand(*size: Any, dtype: Any = None, generator: Generator | None = None, **options: Any) -> Tensor:
    """Uniform numbers from 0 to 1."""
    shape = sizes((options.pop("size"),) if "size" in options else size)
    return finish(_random(shape, dtype or dtypes.default(), generator, False), options)


def randn(*size: Any, dtype: Any = None, generator: Generator | None = None, **options: Any) -> Tensor:
    """Standard normal numbers."""
    shape = sizes((options.pop("size"),) if "size" in options else size)
    return finish(_random(shape, dtype or dtypes.default(), generator, True), options)


def rand_like(input: Tensor, *, dtype: Any = None, **options: Any) -> Tensor:
    """Uniform numbers in the same shape."""
    return rand(input.array.shape, dtype=dtype or input.dtype, **options)


def randn_like(input: Tensor, *, dtype: Any = None, **options: Any) -> Tensor:
    """Normal numbers in the same shape."""
    return randn(input.array.shape, dtype=dtype or input.dtype, **options)


def randint(*bounds: Any, dtype: Any = None, generator: Generator | None = None, **options: Any) -> Tensor:
    """Whole numbers from low (0) up to, not including, high."""
    given = list(bounds)
    for name in ("low", "high", "size"):
        if name in options:
            given.append(options.pop(name))
    low, high, size = (0, *given) if len(given) == 2 else given
    shape = sizes((size,))
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    drawn = (generator or DEFAULT).integers(int(low), int(high), math.prod(shape))
    return finish(drawn.reshape(shape).astype((dtype or dtypes.int64).numpy), options)


def randint_like(input: Tensor, *bounds: int, **options: Any) -> Tensor:
    """Whole numbers in the same shape and dtype."""
    return randint(*bounds, tuple(input.array.shape), dtype=options.pop("dtype", input.dtype), **options)


def randperm(n: int, *, dtype: Any = None, generator: Generator | None = None, **options: Any) -> Tensor:
    """The numbers below n in random order."""
    return finish((generator or DEFAULT).permutation(n).astype((dtype or dtypes.int64).numpy), options)


def normal(mean: Any, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None, **options: Any) -> Any:
    """Normal numbers with these means and deviations."""
    if size is not None:
        kind = options.pop("dtype", None) or dtypes.default()
        return finish(_random(sizes((size,)), kind, generator, True) * std + mean, options)
    shape = np.broadcast_shapes(np.shape(getattr(mean, "array", mean)), np.shape(getattr(std, "array", std)))
    kind = next(t.dtype for t in (mean, std) if isinstance(t, Tensor))
    drawn = _random(shape, kind, generator, True)
    return Tensor.of(np.asarray(drawn * getattr(std, "array", std) + getattr(mean, "array", mean), dtype=kind.numpy))


def bernoulli(input: Tensor, p: Any = None, *, generator: Generator | None = None) -> Tensor:
    """1 with the given probabilities, else 0."""
    source = generator or DEFAULT
    if p is not None:
        drawn = source.uniform(input.array.size, np.float64).reshape(input.array.shape)
        return Tensor.of((drawn < p).astype(input.array.dtype))
    made: Tensor = _bernoulli(input, source=source)
    return made


def _flipped(chances: Array, source: Generator) -> Array:
    drawn = source.uniform(chances.size, np.float64 if chances.dtype == np.float64 else np.float32)
    return (drawn.reshape(chances.shape) < chances).astype(chances.dtype)


_bernoulli = define("bernoulli", _flipped, casts="same", self=nothing)


def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Numbers of classes, drawn by their weights."""
    source = generator or DEFAULT
    weights = input.array.reshape(-1, input.array.shape[-1])
    if (weights < 0).any() or not np.isfinite(weights).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not replacement or num_samples == 1:
        waiting = exponential(weights.size, weights.dtype, source).reshape(weights.shape)
        scores = weights / waiting
        drawn = np.argsort(-scores, 1, kind="stable")[:, :num_samples]
    else:
        steps = np.cumsum(weights / weights.sum(1, keepdims=True), 1)
        draws = source.uniform(len(weights) * num_samples, np.float64).reshape(len(weights), num_samples)
        drawn = np.stack([np.searchsorted(row, draw, side="left") for row, draw in zip(steps, draws)])
    return Tensor.of(drawn.reshape(*input.array.shape[:-1], num_samples).astype(np.int64))


def exponential(count: int, kind: Any, source: Generator, rate: float = 1.0) -> Array:
    """Exponentially distributed numbers."""
    return (-np.log1p(-source.uniform(count, np.float64)) / rate).astype(kind)


def _write(self: Tensor, values: Array) -> Tensor:
    check_change(self, self.requires_grad and grad_mode.is_grad_enabled())
    self.array[...] = values.reshape(self.array.shape)
    changed(self)
    return self


@method()
def uniform_(self: Tensor, a: float = 0.0, b: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with uniform numbers."""
    kind = self.array.dtype.type
    return _write(self, _random(self.array.shape, self.dtype, generator, False) * kind(b - a) + kind(a))


@method()
def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with normal numbers."""
    source = generator or DEFAULT
    if self.array.size < 16:
        return _write(self, source.normal(self.array.size, np.float64) * std + mean)
    kind = self.array.dtype.type
    return _write(self, source.normal(self.array.size, self.array.dtype) * kind(std) + kind(mean))


@method()
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fill with 1 and 0."""
    return _write(self, bernoulli(self.detach(), None if isinstance(p, Tensor) else p, generator=generator).array)


@method()
def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with exponentially distributed numbers."""
    return _write(self, exponential(self.array.size, self.array.dtype, generator or DEFAULT, lambd))


@method()
def random_(self: Tensor, *bounds: int, generator: Generator | None = None) -> Tensor:
    """Fill with whole numbers."""
    source = generator or DEFAULT
    if bounds:
        low, high = (0, bounds[0]) if len(bounds) == 1 else bounds
        return _write(self, source.integers(low, high, self.array.size))
    bits = {"f": 24, "i": 63}.get(self.array.dtype.kind, 8)
    return _write(self, np.array([source.any_integer(bits) for _ in range(self.array.size)]))


method()(multinomial)


method()(bernoulli)
