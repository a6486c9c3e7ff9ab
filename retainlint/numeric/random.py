"""Random numbers: torch's own streams on the CPU, number for number.

The generator is the Mersenne twister. Floats take 24 bits of one draw, doubles 53 bits of two; normal numbers come by
Box and Muller's method, in pairs that are kept for later when there are fewer than 16, in blocks of 16 otherwise.
Source: aten/src/ATen/core/DistributionsHelper.h and native/cpu/DistributionTemplates.h, measured at 2.13.0.
Masks and exponential numbers are those of processors where torch doesn't ask Intel's MKL for them.
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from retainlint.numeric.dtypes import Array


class Generator:
    """One stream of random numbers."""

    def __init__(self, device: Any = "cpu") -> None:
        self.device = device
        self.manual_seed(67280421310721)

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream anew."""
        self._seed = int(seed)
        self._twister = np.random.RandomState(self._seed & 0xFFFFFFFF)
        self._spare: float | None = None
        return self

    def seed(self) -> int:
        """Start the stream at a place nobody knows."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little"))
        return self._seed

    def initial_seed(self) -> int:
        """What it was started with."""
        return self._seed

    def get_state(self) -> Any:
        """All that is needed to go on from here (not in torch's format)."""
        return (self._seed, self._twister.get_state(), self._spare)

    def set_state(self, state: Any) -> Generator:
        """Go on from a state."""
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
        """Numbers from 0 up to, not including, 1."""
        if np.dtype(kind) == np.float64:
            return (self.wide_bits(count) & np.uint64(2**53 - 1)).astype(np.float64) / 2**53
        return ((self.bits(count) & np.uint64(2**24 - 1)).astype(np.float32) / np.float32(2**24)).astype(kind)

    def normal(self, count: int, kind: Any) -> Array:
        """Standard normal numbers."""
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
        """The numbers below `count` in random order."""
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


def manual_seed(seed: int) -> Generator:
    """Start the default stream anew."""
    return DEFAULT.manual_seed(seed)


def seed() -> int:
    """Start the default stream at a place nobody knows."""
    return DEFAULT.seed()


def initial_seed() -> int:
    """What the default stream was started with."""
    return DEFAULT.initial_seed()


def get_rng_state() -> Any:
    """The state of the default stream."""
    return DEFAULT.get_state()


def set_rng_state(state: Any) -> None:
    """Put the default stream back into a state."""
    DEFAULT.set_state(state)
