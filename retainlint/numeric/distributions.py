"""torch.distributions: Normal, Categorical, Bernoulli, and a few of their kin."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from retainlint.numeric.grad_mode import no_grad
from retainlint.numeric.lacking import LackingName
from retainlint.numeric.layout import Size
from retainlint.numeric.operations.losses import binary_cross_entropy_with_logits
from retainlint.numeric.operations.pieces import broadcast_tensors
from retainlint.numeric.random import bernoulli, multinomial, normal, rand
from retainlint.numeric.tensor import Tensor


def _all(*values: Any) -> list[Any]:
    """Numbers and tensors, as tensors of one shape."""
    kinds = [v.dtype for v in values if isinstance(v, Tensor)]
    kind = kinds[0].numpy if kinds else np.dtype(np.float32)
    return list(broadcast_tensors(*(v if isinstance(v, Tensor) else Tensor.of(np.asarray(v, kind)) for v in values)))


class Distribution:
    """A distribution over tensors of shape `batch_shape + event_shape`."""

    batch_shape: Size
    event_shape = Size(())
    has_rsample = False

    def _extended(self, sample_shape: Any) -> tuple[int, ...]:
        return (*sample_shape, *self.batch_shape, *self.event_shape)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            found: Tensor = self.rsample(sample_shape)
        return found

    def rsample(self, sample_shape: Any = ()) -> Any:
        """A draw through which gradients pass."""
        raise NotImplementedError

    def log_prob(self, value: Any) -> Any:
        raise NotImplementedError

    def entropy(self) -> Any:
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise LackingName(f"torch.distributions.{type(self).__name__}.{name}")


def _check(holds: Any, distribution: Distribution, name: str, value: Tensor, constraint: str) -> None:
    if not bool(np.all(holds)):
        raise ValueError(
            f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
            f"{type(distribution).__name__}() to satisfy the constraint {constraint}, but found invalid values:\n{value}"
        )


class Normal(Distribution):
    """The normal distribution."""

    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = _all(loc, scale)
        self.batch_shape = self.loc.shape
        _check(~np.isnan(self.loc.array), self, "loc", self.loc, "Real()")
        _check(self.scale.array > 0, self, "scale", self.scale, "GreaterThan(lower_bound=0.0)")

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)
    stddev = property(lambda self: self.scale)
    variance = property(lambda self: self.scale.pow(2))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended(sample_shape)
        with no_grad():
            found: Tensor = normal(self.loc.expand(shape), self.scale.expand(shape))
        return found

    def rsample(self, sample_shape: Any = ()) -> Any:
        """loc + noise * scale."""
        shape = self._extended(sample_shape)
        noise = normal(0.0, 1.0, shape, dtype=self.loc.dtype)
        return self.loc + noise * self.scale

    def log_prob(self, value: Any) -> Any:
        var = self.scale**2
        return -((value - self.loc) ** 2) / (2 * var) - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def entropy(self) -> Any:
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()

    def cdf(self, value: Any) -> Any:
        return 0.5 * (1 + ((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)).erf())

    def __repr__(self) -> str:
        return _shown(self, loc=self.loc, scale=self.scale)


class _ByChances(Distribution):
    """A distribution that is given `probs` or `logits`, and works out the other when it is asked for."""

    def __init__(self, probs: Any, logits: Any) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        self._given = "probs" if probs is not None else "logits"

    def _safe_probs(self) -> Any:
        eps = float(np.finfo(self.probs.array.dtype).eps)
        return self.probs.clamp(min=eps, max=1 - eps)

    def _other(self, name: str) -> Any:
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        if name not in ("probs", "logits"):
            return super().__getattr__(name)
        found = self.__dict__[name] = self._other(name)
        return found


class Categorical(_ByChances):
    """One of several classes."""

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(probs, logits)
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
            _check((self.probs.array >= 0) & ~np.isnan(self.probs.array), self, "probs", self.probs, "Simplex()")
        else:
            self.logits = logits - logits.logsumexp(-1, keepdim=True)
            whole = "IndependentConstraint(Real(), 1)"
            _check(~np.isnan(self.logits.array), self, "logits", self.logits, whole)
        param = getattr(self, self._given)
        self._events = param.array.shape[-1]
        self.batch_shape = Size(param.array.shape[:-1])

    def _other(self, name: str) -> Any:
        return self._safe_probs().log() if name == "logits" else self.logits.softmax(-1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        count = math.prod(sample_shape)
        flat = Tensor.of(self.probs.array.reshape(-1, self._events))
        drawn = multinomial(flat, count, True).array.T
        return Tensor.of(drawn.reshape((*sample_shape, *self.batch_shape)))

    def log_prob(self, value: Any) -> Any:
        wide, logits = broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, wide[..., :1]).squeeze(-1)

    def entropy(self) -> Any:
        low = float(np.finfo(self.logits.array.dtype).min)
        return -(self.logits.clamp(min=low) * self.probs).sum(-1)

    def __repr__(self) -> str:
        return _shown(self, **{self._given: getattr(self, self._given)})


class Bernoulli(_ByChances):
    """0 or 1."""

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(probs, logits)
        if probs is not None:
            (self.probs,) = _all(probs)
            kept = (self.probs.array >= 0) & (self.probs.array <= 1)
            _check(kept, self, "probs", self.probs, "Interval(lower_bound=0.0, upper_bound=1.0)")
        else:
            (self.logits,) = _all(logits)
        self.batch_shape = getattr(self, self._given).shape

    def _other(self, name: str) -> Any:
        if name == "probs":
            return self.logits.sigmoid()
        safe = self._safe_probs()
        return safe.log() - (-safe).log1p()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            found: Tensor = bernoulli(self.probs.expand(self._extended(sample_shape)))
        return found

    def log_prob(self, value: Any) -> Any:
        logits, wide = broadcast_tensors(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, wide, reduction="none")

    def entropy(self) -> Any:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")


class Uniform(Distribution):
    """Every number of an interval."""

    has_rsample = True

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = _all(low, high)
        self.batch_shape = self.low.shape

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.low + rand(*self._extended(sample_shape), dtype=self.low.dtype) * (self.high - self.low)

    def log_prob(self, value: Any) -> Any:
        inside = (self.low.array <= value.array) & (value.array < self.high.array)
        return Tensor.of(inside.astype(self.low.array.dtype)).log() - (self.high - self.low).log()

    def entropy(self) -> Any:
        return (self.high - self.low).log()


class Independent(Distribution):
    """A distribution whose last dimensions belong to one event."""

    def __init__(self, base_distribution: Any, reinterpreted_batch_ndims: int) -> None:
        self.base_dist, self.count = base_distribution, reinterpreted_batch_ndims
        cut = len(base_distribution.batch_shape) - self.count
        self.batch_shape = Size(base_distribution.batch_shape[:cut])
        self.event_shape = Size((*base_distribution.batch_shape[cut:], *base_distribution.event_shape))

    def _summed(self, value: Any) -> Any:
        return value.sum(list(range(-self.count, 0))) if self.count else value

    def sample(self, sample_shape: Any = ()) -> Tensor:
        found: Tensor = self.base_dist.sample(sample_shape)
        return found

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Any:
        return self._summed(self.base_dist.log_prob(value))

    def entropy(self) -> Any:
        return self._summed(self.base_dist.entropy())


def kl_divergence(p: Any, q: Any) -> Any:
    """How much p differs from q."""
    if isinstance(p, Normal) and isinstance(q, Normal):
        ratio = (p.scale / q.scale).pow(2)
        return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())
    if isinstance(p, Categorical) and isinstance(q, Categorical):
        return (p.probs * (p.logits - q.logits)).sum(-1)
    if isinstance(p, Independent) and isinstance(q, Independent):
        return p._summed(kl_divergence(p.base_dist, q.base_dist))
    raise NotImplementedError(
        f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
    )


def _shown(distribution: Distribution, **params: Any) -> str:
    parts = [f"{k}: {v}" if v.array.size == 1 else f"{k}: {v.shape}" for k, v in params.items()]
    return f"{type(distribution).__name__}({', '.join(parts)})"
