"""The least of some frameworks that makes real torch do what they make it do, so that it can judge programs on them."""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn


class Accelerator:
    """Of `accelerate`: hands back what it prepares, and walks."""

    sync_gradients = True

    def __init__(self, **options: Any) -> None:
        self.options = options

    def prepare(self, *given: Any) -> Any:
        return given[0] if len(given) == 1 else given

    setup = prepare

    def backward(self, loss: Any, **flags: Any) -> None:
        loss.backward(**flags)

    @contextlib.contextmanager
    def accumulate(self, *models: Any) -> Iterator[None]:
        yield


class LightningModule(nn.Module):  # type: ignore[misc]
    """Of `lightning`: what a step returns is walked by `fit`."""

    automatic_optimization = True

    def log(self, *given: Any, **named: Any) -> None:
        """Where metrics go."""

    def manual_backward(self, loss: Any, **flags: Any) -> None:
        loss.backward(**flags)

    def optimizers(self) -> Any:
        if not hasattr(self, "_made"):
            self._made = self.configure_optimizers()
        return self._made

    def toggle_optimizer(self, optimizer: Any) -> None:
        """Only its parameters would need gradients; no program here depends on it."""

    untoggle_optimizer = toggle_optimizer

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), 0.1)


class Trainer:
    """Of `lightning`: two batches."""

    def fit(self, module: LightningModule, batches: Any) -> None:
        step: Callable[..., Any] = module.training_step
        several = "optimizer_idx" in step.__code__.co_varnames
        for number, batch in enumerate(batches):
            self._hook(module, "on_train_batch_start", batch, number)
            for at in (0, 1) if several else (None,):
                loss = step(batch, number) if at is None else step(batch, number, at)
                loss = loss["loss"] if isinstance(loss, dict) else loss
                if module.automatic_optimization and loss is not None:
                    loss.backward()

    def _hook(self, module: LightningModule, name: str, *given: Any) -> None:
        if hasattr(module, name):
            getattr(module, name)(*given)


class HuggingTrainer:
    """Of `transformers`."""

    def __init__(self, model: Any, batches: Any) -> None:
        self.model, self.batches = model, batches

    def train(self) -> None:
        for batch in self.batches:
            self.compute_loss(self.model, batch).backward()  # type: ignore[attr-defined]


class DeepSpeedEngine(nn.Module):  # type: ignore[misc]
    """Of `deepspeed`: walks and steps."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        self.module = module
        self.optimizer = torch.optim.SGD(module.parameters(), 0.1)

    def forward(self, *given: Any) -> Any:
        return self.module(*given)

    def backward(self, loss: Any) -> None:
        loss.backward()

    def step(self) -> None:
        self.optimizer.step()
        self.optimizer.zero_grad()


def initialize(model: Any, **named: Any) -> Any:
    """Of `deepspeed`."""
    engine = DeepSpeedEngine(model)
    return engine, engine.optimizer, None, None


class Engine:
    """Of `ignite`: calls an update for each batch."""

    def __init__(self, update: Callable[..., Any]) -> None:
        self.update = update

    def run(self, batches: Any, max_epochs: int = 1) -> None:
        for _ in range(max_epochs):
            for batch in batches:
                self.update(self, batch)


def create_supervised_trainer(model: Any, optimizer: Any, loss_fn: Any) -> Engine:
    """Of `ignite`."""

    def update(engine: Engine, batch: Any) -> Any:
        optimizer.zero_grad()
        loss = loss_fn(model(batch), batch)
        loss.backward()
        optimizer.step()
        return loss.item()

    return Engine(update)


class NativeScaler:
    """Of `timm`: walks what it is given, and steps."""

    def __call__(self, loss: Any, optimizer: Any, create_graph: bool = False, **named: Any) -> None:
        loss.backward(create_graph=create_graph)
        optimizer.step()


@contextlib.contextmanager
def scale_loss(loss: Any, optimizer: Any) -> Iterator[Any]:
    """Of `apex.amp`."""
    yield loss * 2.0


def prepared(model: Any, optimizer: Any, **named: Any) -> Any:
    """Of `apex.amp`."""
    return model, optimizer


class _Differentiable:
    """Of `higher`: a step that keeps the graph."""

    def __init__(self, fast: dict[str, Any]) -> None:
        self.fast = fast

    def step(self, loss: Any) -> None:
        grads = torch.autograd.grad(loss, list(self.fast.values()), create_graph=True)
        self.fast.update({name: w - 0.1 * g for (name, w), g in zip(self.fast.items(), grads, strict=True)})


@contextlib.contextmanager
def innerloop_ctx(model: Any, optimizer: Any, **named: Any) -> Iterator[Any]:
    """Of `higher`."""
    fast = dict(model.named_parameters())
    yield lambda x: torch.func.functional_call(model, fast, (x,)), _Differentiable(fast)


_NAMES: dict[str, dict[str, Any]] = {
    "accelerate": {"Accelerator": Accelerator},
    "lightning": {"LightningModule": LightningModule, "Trainer": Trainer, "Fabric": Accelerator},
    "pytorch_lightning": {"LightningModule": LightningModule, "Trainer": Trainer},
    "transformers": {"Trainer": HuggingTrainer},
    "deepspeed": {"initialize": initialize},
    "ignite": {},
    "ignite.engine": {"Engine": Engine, "create_supervised_trainer": create_supervised_trainer},
    "timm": {},
    "timm.utils": {"NativeScaler": NativeScaler},
    "apex": {"amp": types.SimpleNamespace(scale_loss=scale_loss, initialize=prepared)},
    "higher": {"innerloop_ctx": innerloop_ctx},
}


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """While it lasts, programs import the stand-ins."""
    before = {name: sys.modules.get(name) for name in _NAMES}
    for name, held in _NAMES.items():
        module = types.ModuleType(name)
        module.__dict__.update(held)
        sys.modules[name] = module
    try:
        yield
    finally:
        for name, module_before in before.items():
            if module_before is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module_before
