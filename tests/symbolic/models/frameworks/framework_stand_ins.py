"""The least of some frameworks that makes real torch do what they make it do, so that it can judge programs on them."""

from __future__ import annotations

import contextlib
import copy
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn


def _alone(given: tuple[Any, ...]) -> Any:
    return given[0] if len(given) == 1 else given


class Accelerator:
    """Of `accelerate`: hands back what it prepares, and walks."""

    def __init__(self, **options: Any) -> None:
        self.options = options

    def prepare(self, *given: Any) -> Any:
        return _alone(given)

    def unwrap_model(self, model: Any) -> Any:
        return model

    def backward(self, loss: Any, **flags: Any) -> None:
        loss.backward(**flags)

    def clip_grad_norm_(self, *given: Any) -> None:
        nn.utils.clip_grad_norm_(*given)

    def gather(self, value: Any) -> Any:
        return value

    def reduce(self, value: Any, reduction: str) -> Any:
        return value.clone()

    @contextlib.contextmanager
    def accumulate(self, *models: Any) -> Iterator[None]:
        yield

    no_sync = autocast = accumulate


class Fabric(Accelerator):
    """Of `lightning`."""

    setup = setup_dataloaders = Accelerator.prepare

    def seed_everything(self, seed: int) -> None:
        torch.manual_seed(seed)

    def clip_gradients(self, module: Any, optimizer: Any, max_norm: float) -> None:
        nn.utils.clip_grad_norm_(module.parameters(), max_norm)

    def print(self, *given: Any) -> None:
        print(*given)

    @contextlib.contextmanager
    def no_backward_sync(self, module: Any, enabled: bool = True) -> Iterator[None]:
        yield


class LightningModule(nn.Module):  # type: ignore[misc]
    """Of `lightning`: what a step returns is walked by `fit`."""

    automatic_optimization = True

    def log(self, *given: Any, **named: Any) -> None:
        """Where metrics go."""

    def manual_backward(self, loss: Any, **flags: Any) -> None:
        loss.backward(**flags)

    def backward(self, loss: Any) -> None:
        loss.backward()

    def made(self) -> list[Any]:
        """The optimisers, however the module says which."""
        if not hasattr(self, "_made"):
            given = self.configure_optimizers()
            given = given["optimizer"] if isinstance(given, dict) else given
            given = given[0] if isinstance(given, tuple | list) and isinstance(given[0], list) else given
            self._made = list(given) if isinstance(given, tuple | list) else [given]
        return self._made

    def optimizers(self) -> Any:
        return _alone(tuple(self.made()))

    def toggle_optimizer(self, optimizer: Any) -> None:
        """Only its parameters need gradients."""
        own = {id(weight) for group in optimizer.param_groups for weight in group["params"]}
        self._toggled = {weight: weight.requires_grad for weight in self.parameters()}
        for weight in self._toggled:
            weight.requires_grad_(self._toggled[weight] and id(weight) in own)

    def untoggle_optimizer(self, optimizer: Any) -> None:
        for weight, needed in self._toggled.items():
            weight.requires_grad_(needed)

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), 0.1)


class Trainer:
    """Of `lightning`."""

    def __init__(self, max_epochs: int = 1, callbacks: Any = (), **options: Any) -> None:
        self.max_epochs, self.callbacks = max_epochs, callbacks

    def fit(self, module: LightningModule, batches: Any, to_validate: Any = ()) -> None:
        self._validate(module, to_validate)
        _hook(module, "on_train_start")
        for _ in range(self.max_epochs):
            for number, batch in enumerate(batches):
                _hook(module, "on_train_batch_start", batch, number)
                for at in range(1 + ("optimizer_idx" in module.training_step.__code__.co_varnames)):
                    self._step(module, batch, number, at)
                for callback in self.callbacks:
                    callback.on_train_batch_end(self, module, None, batch, number)
            self._validate(module, to_validate)
            _hook(module, "on_train_epoch_end")

    def _step(self, module: LightningModule, batch: Any, number: int, at: int) -> None:
        several = "optimizer_idx" in module.training_step.__code__.co_varnames  # before Lightning 2
        loss = module.training_step(batch, number, at) if several else module.training_step(batch, number)
        loss = loss["loss"] if isinstance(loss, dict) else loss
        if not module.automatic_optimization or loss is None:
            return
        module.zero_grad()
        module.backward(loss)
        _hook(module, "on_after_backward")
        module.made()[0].step()

    def _validate(self, module: LightningModule, batches: Any) -> None:
        with torch.no_grad():
            for number, batch in enumerate(batches):
                module.validation_step(batch, number)


def _hook(module: LightningModule, name: str, *given: Any) -> None:
    if hasattr(module, name):
        getattr(module, name)(*given)


class Callback:
    """Of `lightning`."""


class TrainingArguments:
    """Of `transformers`."""

    def __init__(self, directory: str, max_steps: int = 3, per_device_train_batch_size: int = 2, **named: Any) -> None:
        self.max_steps, self.size = max_steps, per_device_train_batch_size


class HuggingTrainer:
    """Of `transformers`."""

    def __init__(self, model: Any, args: TrainingArguments, train_dataset: list[dict[str, Any]]) -> None:
        self.model, self.args, self.data = model, args, train_dataset
        self.accelerator = Accelerator()

    def train(self) -> None:
        optimizer = torch.optim.SGD(self.model.parameters(), 0.1)
        size = self.args.size
        for number in range(self.args.max_steps):
            rows = self.data[number * size : (number + 1) * size]
            inputs = {name: torch.stack([row[name] for row in rows]) for name in rows[0]}
            self.training_step(self.model, inputs)
            optimizer.step()
            optimizer.zero_grad()

    def training_step(self, model: Any, inputs: dict[str, Any]) -> None:
        self.accelerator.backward(self.compute_loss(model, inputs))

    def compute_loss(self, model: Any, inputs: dict[str, Any], return_outputs: bool = False) -> Any:
        outputs = model(**inputs)
        return (outputs["loss"], outputs) if return_outputs else outputs["loss"]

    def _prepare_inputs(self, inputs: dict[str, Any]) -> dict[str, Any]:
        return inputs


class ModelOutput(dict[str, Any]):
    """Of `transformers`: what a model returns."""

    def __getattr__(self, name: str) -> Any:
        return self[name]


def rearrange(tensor: Any, pattern: str, **sizes: int) -> Any:
    """Of `einops`: a view."""
    return tensor.view(tensor.shape)


def reduce(tensor: Any, pattern: str, reduction: str) -> Any:
    """Of `einops`, here over all but the first dimension."""
    return getattr(tensor.flatten(1), reduction)(1)


def repeat(tensor: Any, pattern: str, b: int) -> Any:
    """Of `einops`, here of a first dimension of one."""
    return tensor.repeat(b, *(1 for _ in tensor.shape[1:]))


class NeuralNetRegressor:
    """Of `skorch`: walks what its `get_loss` returns."""

    def __init__(self, module: Any, max_epochs: int, batch_size: int, **named: Any) -> None:
        self.module, self.max_epochs, self.batch_size = module, max_epochs, batch_size

    def get_loss(self, y_pred: Any, y_true: Any, *given: Any, **named: Any) -> Any:
        return nn.functional.mse_loss(y_pred, y_true)

    def fit(self, x: Any, y: Any) -> None:
        optimizer = torch.optim.SGD(self.module.parameters(), 0.01)
        rows = zip(torch.as_tensor(x).split(self.batch_size), torch.as_tensor(y).split(self.batch_size), strict=True)
        for some, wanted in [row for row in rows for _ in range(self.max_epochs)]:
            optimizer.zero_grad()
            self.get_loss(self.module(some), wanted, X=some, training=True).backward()
            optimizer.step()


class DeepSpeedEngine(nn.Module):  # type: ignore[misc]
    """Of `deepspeed`: calls the model, walks and steps."""

    def __init__(self, module: Any, optimizer: Any, every: int) -> None:
        super().__init__()
        self.module, self.optimizer, self.every, self.backward_passes = module, optimizer, every, 0

    def forward(self, *given: Any) -> Any:
        return self.module(*given)

    def backward(self, loss: Any, retain_graph: bool = False) -> None:
        (loss / self.every).backward(retain_graph=retain_graph)
        self.backward_passes += 1

    def step(self) -> None:
        if self.backward_passes % self.every == 0:
            self.optimizer.step()
            self.optimizer.zero_grad()


def initialize(model: Any, config: dict[str, Any], optimizer: Any = None, model_parameters: Any = None) -> Any:
    """Of `deepspeed`."""
    if optimizer is None:
        optimizer = torch.optim.SGD(model_parameters, config["optimizer"]["params"]["lr"])
    engine = DeepSpeedEngine(model, optimizer, config["gradient_accumulation_steps"])
    return engine, engine.optimizer, None, None


class Events:
    """Of `ignite`."""

    ITERATION_COMPLETED, EPOCH_COMPLETED, COMPLETED = "iteration", "epoch", "end"


class Engine:
    """Of `ignite`: calls an update for each batch, and handlers behind it."""

    def __init__(self, update: Callable[..., Any]) -> None:
        self.update = update
        self.state = types.SimpleNamespace(epoch=0, output=None)
        self.handlers: list[tuple[str, Callable[..., Any]]] = []

    def on(self, event: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def register(handler: Callable[..., Any]) -> Callable[..., Any]:
            self.add_event_handler(event, handler)
            return handler

        return register

    def add_event_handler(self, event: str, handler: Callable[..., Any]) -> None:
        self.handlers.append((event, handler))

    def fire(self, event: str) -> None:
        for wanted, handler in self.handlers:
            if wanted == event:
                handler(self)

    def run(self, batches: Any, max_epochs: int = 1) -> None:
        for _ in range(max_epochs):
            self.state.epoch += 1
            for batch in batches:
                self.state.output = self.update(self, batch)
                self.fire(Events.ITERATION_COMPLETED)
            self.fire(Events.EPOCH_COMPLETED)
        self.fire(Events.COMPLETED)


def create_supervised_trainer(model: Any, optimizer: Any, loss_fn: Any, device: Any = None) -> Engine:
    """Of `ignite`."""

    def update(engine: Engine, batch: Any) -> Any:
        optimizer.zero_grad()
        loss = loss_fn(model(batch[0]), batch[1])
        loss.backward()
        optimizer.step()
        return loss.item()

    return Engine(update)


class NativeScaler:
    """Of `timm`: walks what it is given, and steps."""

    def __init__(self, device: str = "cuda") -> None:
        self.device = device

    def __call__(
        self, loss: Any, optimizer: Any, create_graph: bool = False, need_update: bool = True, **named: Any
    ) -> None:
        loss.backward(create_graph=create_graph)
        if need_update:
            optimizer.step()


class ModelEmaV2:
    """Of `timm`."""

    def __init__(self, model: Any, decay: float) -> None:
        self.module, self.decay = copy.deepcopy(model), decay

    def update(self, model: Any) -> None:
        with torch.no_grad():
            for average, weight in zip(self.module.parameters(), model.parameters(), strict=True):
                average.lerp_(weight, 1 - self.decay)


@contextlib.contextmanager
def scale_loss(loss: Any, optimizer: Any, loss_id: int = 0) -> Iterator[Any]:
    """Of `apex.amp`."""
    yield [each * 2.0 for each in loss] if isinstance(loss, list) else loss * 2.0


def prepared(model: Any, optimizer: Any, **named: Any) -> Any:
    """Of `apex.amp`."""
    return model, optimizer


class _Patched:
    """Of `higher`: a module with weights of its own, all that it ever had."""

    def __init__(self, model: Any, tracks: bool) -> None:
        self.model, self.tracks = model, tracks
        self.times = [{name: weight.clone().requires_grad_() for name, weight in model.named_parameters()}]

    def __call__(self, x: Any) -> Any:
        return torch.func.functional_call(self.model, self.times[-1], (x,))

    def parameters(self, time: int = -1) -> list[Any]:
        return list(self.times[time].values())


class _Differentiable:
    """Of `higher`: a step that keeps the graph."""

    def __init__(self, patched: _Patched) -> None:
        self.patched = patched

    def step(self, loss: Any) -> None:
        tracks, before = self.patched.tracks, self.patched.times[-1]
        grads = torch.autograd.grad(loss, list(before.values()), create_graph=tracks)
        after = {name: weight - 0.1 * grad for (name, weight), grad in zip(before.items(), grads, strict=True)}
        if not tracks:
            after = {name: weight.detach().requires_grad_() for name, weight in after.items()}
        self.patched.times.append(after)


@contextlib.contextmanager
def innerloop_ctx(model: Any, optimizer: Any, track_higher_grads: bool = True, **named: Any) -> Iterator[Any]:
    """Of `higher`."""
    patched = _Patched(model, track_higher_grads)
    yield patched, _Differentiable(patched)


_LIGHTNING = {
    "Callback": Callback,
    "LightningModule": LightningModule,
    "Trainer": Trainer,
    "Fabric": Fabric,
    "seed_everything": torch.manual_seed,
}
_NAMES: dict[str, dict[str, Any]] = {
    "accelerate": {"Accelerator": Accelerator},
    "lightning": _LIGHTNING,
    "lightning.pytorch": _LIGHTNING,
    "lightning.fabric": _LIGHTNING,
    "pytorch_lightning": _LIGHTNING,
    "transformers": {"Trainer": HuggingTrainer, "TrainingArguments": TrainingArguments},
    "transformers.modeling_outputs": {"SequenceClassifierOutput": ModelOutput},
    "skorch": {"NeuralNetRegressor": NeuralNetRegressor},
    "einops": {"rearrange": rearrange, "reduce": reduce, "repeat": repeat},
    "deepspeed": {"initialize": initialize},
    "ignite": {},
    "ignite.engine": {"Engine": Engine, "Events": Events, "create_supervised_trainer": create_supervised_trainer},
    "timm": {},
    "timm.utils": {"NativeScaler": NativeScaler, "ModelEmaV2": ModelEmaV2},
    "apex": {"amp": types.SimpleNamespace(scale_loss=scale_loss, initialize=prepared)},
    "higher": {"innerloop_ctx": innerloop_ctx},
}


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """While it lasts, programs import the stand-ins."""
    before = {name: sys.modules.get(name) for name in _NAMES}
    for name, held in _NAMES.items():
        module = sys.modules[name] = types.ModuleType(name)
        module.__dict__.update(held)
        above, _, last = name.rpartition(".")
        if above:
            setattr(sys.modules[above], last, module)
    try:
        yield
    finally:
        for name, module_before in before.items():
            if module_before is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module_before
