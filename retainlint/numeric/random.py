"""Random numbers and tensors of them: torch's own streams on the CPU, number for number.

The generator is the Mersenne twister. Floats take 24 bits of one draw, doubles 53 bits of two; normal numbers come by
Box and Muller's method, in pairs that are kept for later when there are fewer than 16, in blocks of 16 otherwise.
Source: aten/src/ATen/core/DistributionsHelper.h and native/cpu/DistributionTemplates.h, measured at 2.13.0.
Masks and exponential numbers are those of processors where torch doesn't ask Intel's MKL for them.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from retainlint.numeric import dtypes, grad_mode
from retainlint.numeric.creation import finish
from retainlint.numeric.dtypes import Array
from retainlint.numeric.layout import sizes
from retainlint.numeric.operations.arithmetic import nothing
from retainlint.numeric.operations.registry import define
from retainlint.numeric.tape import changed
from retainlint.numeric.tensor import Tensor, method
from retainlint.numeric.views import check_change


class Generator:
    """One stream of random numbers."""

    def __init__(self, device: Any = "cpu") -> None:
        self.device = device
        self.manual_seed(67280421310721)

    def manual_seed(self, seed: int) -> Generator:
        self._seed = int(seed)
        self._twister = np.random.RandomState(self._seed & 0xFFFFFFFF)
        self._spare: float | None = None
        return self

    def seed(self) -> int:
        self.manual_seed(int.from_bytes(os.urandom(8), "little"))
        return self._seed

    def initial_seed(self) -> int:
        return self._seed

    def get_state(self) -> Any:
        """All that is needed to go on from here (not in torch's format)."""
        return (self._seed, self._twister.get_state(), self._spare)

    def set_state(self, state: Any) -> Generator:
        self._seed, twister, self._spare = state
        self._twister.set_state(twister)
        return self

    def bits(self, count: int) -> Array:
        """`count` draws of 32 bits, as 64-bit numbers."""
        drawn: Array = self._twister._bit_generator.random_raw(count).astype(np.uint64)
        return drawn

    def wide_bits(self, count: int) -> Array:
        """`count` draws of 64 bits."""
        draws = self.bits(2 * count).reshape(-1, 2)
        return (draws[:, 0] << np.uint64(32)) | draws[:, 1]

    def uniform(self, count: int, kind: Any) -> Array:
        if np.dtype(kind) == np.float64:
            return (self.wide_bits(count) & np.uint64(2**53 - 1)).astype(np.float64) / 2**53
        return ((self.bits(count) & np.uint64(2**24 - 1)).astype(np.float32) / np.float32(2**24)).astype(kind)

    def normal(self, count: int, kind: Any) -> Array:
        if count >= 16:
            return self._blocks(count, kind)
        return np.array([self._one_normal() for _ in range(count)], dtype=kind)

    def _one_normal(self) -> float:
        if self._spare is not None:
            found, self._spare = self._spare, None
            return found
        first, second = self.uniform(2, np.float64).tolist()
        radius, angle = math.sqrt(-2 * math.log1p(-second)), 2 * math.pi * first
        self._spare = radius * math.sin(angle)
        return radius * math.cos(angle)

    def _blocks(self, count: int, kind: Any) -> Array:
        draws = self.uniform(count, kind)
        made = np.empty_like(draws)
        whole = count // 16 * 16
        made[:whole] = _box_muller(draws[:whole].reshape(-1, 16)).ravel()
        if whole != count:
            made[-16:] = _box_muller(self.uniform(16, kind).reshape(1, 16)).ravel()
        return made

    def integers(self, low: int, high: int, count: int) -> Array:
        """Whole numbers from `low` up to, not including, `high`."""
        span = high - low
        draws = self.wide_bits(count) if span >= 1 << 28 else self.bits(count)
        return (draws % np.uint64(span)).astype(np.int64) + low

    def any_integer(self, bits: int) -> int:
        """What `random_` gives a tensor of integers with so many bits."""
        return int(self.wide_bits(1)[0] % np.uint64(2**bits))

    def permutation(self, count: int) -> Array:
        made = np.arange(count)
        draws = self.bits(max(count - 1, 0)).tolist()
        for i, draw in enumerate(draws):
            j = i + draw % (count - i)
            made[i], made[j] = made[j], made[i]
        return made


def _box_muller(draws: Array) -> Array:
    """Normal numbers of uniform ones, in rows of 16: the first eight are radii, the others angles."""
    kind = draws.dtype.type
    radius = np.sqrt(kind(-2) * np.log(kind(1) - draws[:, :8]))
    angle = kind(2 * math.pi) * draws[:, 8:]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], 1)


DEFAULT = Generator()


manual_seed, seed, initial_seed = DEFAULT.manual_seed, DEFAULT.seed, DEFAULT.initial_seed
get_rng_state, set_rng_state = DEFAULT.get_state, DEFAULT.set_state


def _random(shape: Sequence[int], kind: dtypes.dtype, generator: Generator | None, normal: bool) -> Array:
    source = generator or DEFAULT
    draw = source.normal if normal else source.uniform
    return draw(math.prod(shape), kind.numpy).reshape(shape)


def _drawing(normal: bool) -> tuple[Any, Any]:
    """The factories of random tensors, uniform from 0 to 1 or standard normal: by sizes, and in another's shape."""

    def make(*size: Any, dtype: Any = None, generator: Generator | None = None, **options: Any) -> Tensor:
        shape = sizes((options.pop("size"),) if "size" in options else size)
        return finish(_random(shape, dtype or dtypes.default(), generator, normal), options)

    def make_like(input: Tensor, *, dtype: Any = None, **options: Any) -> Tensor:
        made: Tensor = make(input.array.shape, dtype=dtype or input.dtype, **options)
        return made

    return make, make_like


rand, rand_like = _drawing(normal=False)
randn, randn_like = _drawing(normal=True)


def randint(*bounds: Any, dtype: Any = None, generator: Generator | None = None, **options: Any) -> Tensor:
    """Whole numbers from low (0) up to, not including, high."""
    given = list(bounds)
    given.extend(options.pop(name) for name in ("low", "high", "size") if name in options)
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
    if size is not None:
        kind = options.pop("dtype", None) or dtypes.default()
        return finish(_random(sizes((size,)), kind, generator, True) * std + mean, options)
    shape = np.broadcast_shapes(np.shape(getattr(mean, "array", mean)), np.shape(getattr(std, "array", std)))
    kind = next(t.dtype for t in (mean, std) if isinstance(t, Tensor))
    drawn = _random(shape, kind, generator, True)
    return Tensor.of(np.asarray(drawn * getattr(std, "array", std) + getattr(mean, "array", mean), dtype=kind.numpy))


@method()
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


_bernoulli = define("bernoulli", _flipped, self=nothing)


@method()
def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None
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
