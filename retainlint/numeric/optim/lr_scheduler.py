"""Learning rates that change over the epochs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from retainlint.numeric.arguments import REQUIRED, bound, row
from retainlint.numeric.optim.optimizers import Optimizer


class _Scheduling:
    """What all have that change the rates of an optimiser."""

    optimizer: Optimizer

    def get_last_lr(self) -> list[Any]:
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.__dict__.update(state_dict)


class LRScheduler(_Scheduling):
    """Sets the rates of an optimiser at each `step()`; subclasses say which in `get_lr`."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer, self.last_epoch = optimizer, last_epoch
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self._last_lr = [group["lr"] for group in optimizer.param_groups]
        self.step()

    def get_lr(self) -> list[Any]:
        raise NotImplementedError

    def get_last_lr(self) -> list[Any]:
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        for group, lr in zip(self.optimizer.param_groups, self.get_lr()):
            group["lr"] = lr
        self._last_lr = super().get_last_lr()


class _Schedule(LRScheduler):
    """A schedule by its `options`, and its `rate`: of one group, from its first rate and the last one."""

    options: Mapping[str, Any] = row()
    rate: Any

    def __init__(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:
        given = bound(type(self).__name__, {**self.options, "last_epoch": -1}, args, kwargs)
        last_epoch = given.pop("last_epoch")
        self.__dict__.update(given)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        return [self.rate(base, group["lr"]) for base, group in zip(self.base_lrs, self.optimizer.param_groups)]

    def step(self, epoch: int | None = None) -> None:
        """To the next epoch; to one that is given, by way of all before it, from the first rates."""
        if epoch is not None:
            for group, base in zip(self.optimizer.param_groups, self.base_lrs):
                group["lr"] = base
            for earlier in range(epoch):
                super().step(earlier)
        super().step(epoch)


def _schedule(name: str, doc: str, rate: Callable[[Any, Any, Any], Any], **options: Any) -> type[_Schedule]:
    return type(name, (_Schedule,), {"__doc__": doc, "rate": rate, "options": options})


def _stepped(s: Any, base: Any, lr: Any) -> Any:
    return lr * s.gamma if s.last_epoch and s.last_epoch % s.step_size == 0 else lr


def _on_a_line(s: Any, base: Any, lr: Any) -> Any:
    part = min(s.last_epoch, s.total_iters) / s.total_iters
    return base * (s.start_factor + (s.end_factor - s.start_factor) * part)


def _cosine(s: Any, base: Any, at: int, length: int) -> Any:
    return s.eta_min + (base - s.eta_min) * ((1 + math.cos(math.pi * at / length)) / 2)


def _restarted(s: Any, base: Any, lr: Any) -> Any:
    at, length = s.last_epoch, s.T_0
    while at >= length:
        at, length = at - length, length * s.T_mult
    return _cosine(s, base, at, length)


StepLR = _schedule("StepLR", "Times `gamma` every `step_size` epochs.", _stepped, step_size=REQUIRED, gamma=0.1)
MultiStepLR = _schedule(
    "MultiStepLR",
    "Times `gamma` at the milestones.",
    lambda s, base, lr: lr * s.gamma ** list(s.milestones).count(s.last_epoch),
    milestones=REQUIRED,
    gamma=0.1,
)
ExponentialLR = _schedule(
    "ExponentialLR",
    "Times `gamma` each epoch.",
    lambda s, base, lr: lr * s.gamma if s.last_epoch else lr,
    gamma=REQUIRED,
)
ConstantLR = _schedule(
    "ConstantLR",
    "A smaller rate for the first epochs.",
    lambda s, base, lr: base * (s.factor if s.last_epoch < s.total_iters else 1),
    factor=1 / 3,
    total_iters=5,
)
LinearLR = _schedule(
    "LinearLR", "A rate that grows, or falls, on a line.", _on_a_line, start_factor=1 / 3, end_factor=1.0, total_iters=5
)
CosineAnnealingLR = _schedule(
    "CosineAnnealingLR",
    "Half a cosine down to `eta_min`.",
    lambda s, base, lr: _cosine(s, base, s.last_epoch, s.T_max),
    T_max=REQUIRED,
    eta_min=0.0,
)
CosineAnnealingWarmRestarts = _schedule(
    "CosineAnnealingWarmRestarts", "Half cosines, one after another.", _restarted, T_0=REQUIRED, T_mult=1, eta_min=0.0
)
PolynomialLR = _schedule(
    "PolynomialLR",
    "Down to 0 as a power of what is left.",
    lambda s, base, lr: base * max(0.0, 1 - s.last_epoch / s.total_iters) ** s.power,
    total_iters=5,
    power=1.0,
)


class LambdaLR(LRScheduler):
    """The first rate times a function of the epoch."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        count = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * count
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        return [base * scale(self.last_epoch) for base, scale in zip(self.base_lrs, self.lr_lambdas)]


class MultiplicativeLR(LambdaLR):
    """Each rate times a function of the epoch."""

    def get_lr(self) -> list[Any]:
        rates = [group["lr"] for group in self.optimizer.param_groups]
        if self.last_epoch == 0:
            return rates
        return [lr * scale(self.last_epoch) for lr, scale in zip(rates, self.lr_lambdas)]


class ReduceLROnPlateau(_Scheduling):
    """Times `factor` when a measure hasn't improved for `patience` epochs."""

    options = row(
        mode="min", factor=0.1, patience=10, threshold=1e-4, threshold_mode="rel", cooldown=0, min_lr=0, eps=1e-8
    )
    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:
        self.__dict__.update(bound(type(self).__name__, self.options, args, kwargs))
        self.optimizer = optimizer
        self.best = math.inf if self.mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = self.last_epoch = 0

    def _better(self, value: float) -> bool:
        sign = 1 if self.mode == "min" else -1
        margin = abs(self.best) * self.threshold if self.threshold_mode == "rel" else self.threshold
        return math.isinf(self.best) or sign * value < sign * self.best - margin

    def step(self, metrics: Any, epoch: int | None = None) -> None:
        value = float(metrics)
        self.last_epoch += 1
        if self._better(value):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group in self.optimizer.param_groups:
                lower = max(group["lr"] * self.factor, self.min_lr)
                if group["lr"] - lower > self.eps:
                    group["lr"] = lower
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0


class OneCycleLR(LRScheduler):
    """Up to `max_lr` and far down again, by cosines."""

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        **others: Any,
    ) -> None:
        self.total_steps = total_steps or (epochs or 0) * (steps_per_epoch or 0)
        self.max_lr, self.pct_start, self.cosine = max_lr, pct_start, anneal_strategy == "cos"
        self.start, self.end = max_lr / div_factor, max_lr / div_factor / final_div_factor
        super().__init__(optimizer)

    def _between(self, start: float, end: float, part: float) -> float:
        return end + (start - end) / 2 * (1 + math.cos(math.pi * part)) if self.cosine else start + (end - start) * part

    def get_lr(self) -> list[Any]:
        top = self.pct_start * self.total_steps - 1
        if self.last_epoch <= top:
            rate = self._between(self.start, self.max_lr, self.last_epoch / top)
        else:
            rate = self._between(self.max_lr, self.end, (self.last_epoch - top) / (self.total_steps - 1 - top))
        return [rate for _ in self.base_lrs]


class SequentialLR(_Scheduling):
    """One scheduler after another, changing at the milestones."""

    def __init__(self, optimizer: Optimizer, schedulers: Sequence[LRScheduler], milestones: Sequence[int]) -> None:
        self.optimizer, self.schedulers, self.milestones = optimizer, list(schedulers), list(milestones)
        self.last_epoch = 0
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        for scheduler in schedulers:
            scheduler.last_epoch -= 1
        schedulers[0].step()

    def step(self) -> None:
        self.last_epoch += 1
        at = sum(self.last_epoch >= milestone for milestone in self.milestones)
        if at and self.milestones[at - 1] == self.last_epoch:
            self.schedulers[at].step(0)
        else:
            self.schedulers[at].step()


_LRScheduler = LRScheduler
