"""Optimisers: groups of parameters, their state, zeroing; and those whose step looks at the gradient alone, SGD, Adam and their kin."""

from __future__ import annotations

import math
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from itertools import chain
from typing import Any

from retainlint.autograd.errors import NonLeafError
from retainlint.numeric.arguments import bound, row
from retainlint.numeric.backward_pass import clear_gradients
from retainlint.numeric.creation import zeros_like
from retainlint.numeric.grad_mode import enable_grad, no_grad
from retainlint.numeric.hooks import Handle, registered
from retainlint.numeric.tensor import Tensor

_BEFORE_ALL: dict[int, Any] = OrderedDict()
_AFTER_ALL: dict[int, Any] = OrderedDict()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> Handle:
    """Call `hook(optimizer, args, kwargs)` before each step of any optimiser."""
    return registered(_BEFORE_ALL, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> Handle:
    """Call `hook(optimizer, args, kwargs)` after each step of any optimiser."""
    return registered(_AFTER_ALL, hook)


def _hooked(step: Callable[..., Any]) -> Callable[..., Any]:
    """A class's own `step` with the hooks around it; as in torch, one that it inherits is wrapped for it, too."""

    @wraps(step)
    def hooked(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        given: tuple[Any, ...] = (self, *args)
        for hook in [*_BEFORE_ALL.values(), *self._before.values()]:
            replaced = hook(self, given, kwargs)
            given, kwargs = (given, kwargs) if replaced is None else replaced
        loss = step(*given, **kwargs)
        for hook in [*self._after.values(), *_AFTER_ALL.values()]:
            hook(self, given, kwargs)
        return loss

    hooked.hooked = True  # type: ignore[attr-defined]
    return hooked


class Optimizer:
    """Changes its parameters by their gradients. Subclasses say in `update` how one parameter moves."""

    state: defaultdict[Tensor, dict[str, Any]]

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"torch.{params.dtype.legacy}Tensor"
            )
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        self.defaults = defaults
        self.state = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        self._before: dict[int, Any] = OrderedDict()
        self._after: dict[int, Any] = OrderedDict()
        if not getattr(type(self).step, "hooked", False):
            type(self).step = _hooked(type(self).step)  # type: ignore[method-assign]
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """More parameters, with options of their own."""
        params = param_group["params"]
        listed = [params] if isinstance(params, Tensor) else list(params)
        listed = [p[1] if isinstance(p, tuple) else p for p in listed]
        for param in listed:
            if not isinstance(param, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(param).__name__}")
            if not (param.is_leaf or param.retains or self.defaults.get("differentiable")):
                raise ValueError(*NonLeafError().args)
        known = set(chain.from_iterable(group["params"] for group in self.param_groups))
        if known & set(listed):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append({**self.defaults, **param_group, "params": listed})

    def zero_grad(self, set_to_none: bool = True) -> None:
        clear_gradients(self.parameters(), set_to_none)

    def parameters(self) -> Iterable[Tensor]:
        return chain.from_iterable(group["params"] for group in self.param_groups)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                for param in group["params"]:
                    if param.grad_ is not None:
                        moved = param.data if group.get("fused") else param  # a fused kernel raises no version
                        self.update(moved, param.grad_.detach(), group, self.state[param])
        return loss

    def update(self, param: Tensor, grad: Any, group: dict[str, Any], state: dict[str, Any]) -> None:
        """Move one parameter."""
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        """The state and the options, with parameters by number."""
        numbers = {param: i for i, param in enumerate(self.parameters())}
        groups = [
            {**{k: v for k, v in group.items() if k != "params"}, "params": [numbers[p] for p in group["params"]]}
            for group in self.param_groups
        ]
        return {"state": {numbers[p]: s for p, s in self.state.items() if p in numbers}, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        params = list(self.parameters())
        for group, saved in zip(self.param_groups, state_dict["param_groups"]):
            group.update({k: v for k, v in saved.items() if k != "params"})
        for number, state in state_dict["state"].items():
            self.state[params[number]] = {k: v.clone() if isinstance(v, Tensor) else v for k, v in state.items()}

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call `hook(optimizer, args, kwargs)` before a step."""
        return registered(self._before, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call `hook(optimizer, args, kwargs)` after a step."""
        return registered(self._after, hook)

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        for number, group in enumerate(self.param_groups):
            text += f"\nParameter Group {number}\n"
            text += "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
        return text + ")"


class _Rule(Optimizer):
    """An optimiser whose step looks at one parameter's gradient: its `options`, and how a parameter moves in `move`.

    `memory` names what it keeps of each parameter, zeros at first.
    """

    options: Mapping[str, Any] = row()
    memory: tuple[str, ...] = ()

    def __init__(self, params: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(params, self.checked(bound(type(self).__name__, self.options, args, kwargs)))

    def checked(self, given: dict[str, Any]) -> dict[str, Any]:
        """The options; ValueError for one that makes no sense."""
        if given["lr"] < 0:
            raise ValueError(f"Invalid learning rate: {given['lr']}")
        for number, beta in enumerate(given.get("betas", ())):
            if not 0 <= beta < 1:
                raise ValueError(f"Invalid beta parameter at index {number}: {beta}")
        return given

    def update(self, param: Tensor, grad: Any, group: dict[str, Any], state: dict[str, Any]) -> None:
        if self.memory:
            if not state:
                state.update({"step": 0} | {name: zeros_like(param) for name in self.memory})
            state["step"] += 1
        grad = -grad if group.get("maximize") else grad
        if group["weight_decay"] and not group.get("decoupled_weight_decay"):
            grad = grad.add(param, alpha=group["weight_decay"])
        self.move(param, grad, group, state)

    def move(self, param: Tensor, grad: Any, group: dict[str, Any], state: dict[str, Any]) -> None:
        """Move one parameter along its gradient, with weight decay and sign applied."""
        raise NotImplementedError


_KERNEL = row(foreach=None, differentiable=False)
_COMMON = row(maximize=False, capturable=False, **_KERNEL)
_BETAS = row(betas=(0.9, 0.999), eps=1e-8, weight_decay=0)


class SGD(_Rule):
    """Gradient descent, with momentum if wanted."""

    options = row(
        lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, maximize=False, **_KERNEL, fused=None
    )

    def checked(self, given: dict[str, Any]) -> dict[str, Any]:
        made = super().checked(given)
        if given["nesterov"] and (given["momentum"] <= 0 or given["dampening"] != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        return made

    def move(self, param: Tensor, grad: Any, group: dict[str, Any], state: dict[str, Any]) -> None:
        if group["momentum"]:
            known = state.get("momentum_buffer")
            if known is None:
                known = state["momentum_buffer"] = grad.clone()
            else:
                known.mul_(group["momentum"]).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(known, alpha=group["momentum"]) if group["nesterov"] else known
        param.add_(grad, alpha=-float(group["lr"]))


class Adam(_Rule):
    """Steps of about the same size for all parameters."""

    options = row(lr=1e-3, **_BETAS, amsgrad=False, **_COMMON, fused=None, decoupled_weight_decay=False)
    memory = ("exp_avg", "exp_avg_sq")

    def move(self, param: Tensor, grad: Any, group: dict[str, Any], state: dict[str, Any]) -> None:
        (beta1, beta2), lr = group["betas"], float(group["lr"])
        if group["weight_decay"] and group["decoupled_weight_decay"]:
            param.mul_(1 - lr * group["weight_decay"])
        state["exp_avg"].lerp_(grad, 1 - beta1)
        state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        spread = state["exp_avg_sq"]
        if group["amsgrad"]:
            largest = state.setdefault("max_exp_avg_sq", zeros_like(param))
            spread = state["max_exp_avg_sq"] = largest.maximum(spread)
        first, second = 1 - beta1 ** state["step"], 1 - beta2 ** state["step"]
        below = (spread.sqrt() / math.sqrt(second)).add_(group["eps"])
        param.addcdiv_(state["exp_avg"], below, value=-lr / first)


class AdamW(Adam):
    """Adam whose weight decay isn't part of the gradient."""

    options = row(**{**Adam.options, "weight_decay": 1e-2, "decoupled_weight_decay": True})


class Adamax(_Rule):
    """Adam by the largest gradient."""

    options = row(lr=2e-3, **_BETAS, **_COMMON)
    memory = ("exp_avg", "exp_inf")

    def move(self, param: Tensor, grad: Any, group: dict[str, Any], state: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        state["exp_avg"].lerp_(grad, 1 - beta1)
        state["exp_inf"].copy_((state["exp_inf"] * beta2).maximum(grad.abs() + group["eps"]))
        param.addcdiv_(state["exp_avg"], state["exp_inf"], value=-group["lr"] / (1 - beta1 ** state["step"]))


class RMSprop(_Rule):
    """Steps divided by the running size of the gradient."""

    options = row(lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, **_COMMON)
    memory = ("square_avg",)

    def move(self, param: Tensor, grad: Any, group: dict[str, Any], state: dict[str, Any]) -> None:
        state["square_avg"].mul_(group["alpha"]).addcmul_(grad, grad, value=1 - group["alpha"])
        below = state["square_avg"]
        if group["centered"]:
            mean = state.setdefault("grad_avg", zeros_like(param))
            mean.lerp_(grad, 1 - group["alpha"])
            below = below.addcmul(mean, mean, value=-1)
        below = below.sqrt().add_(group["eps"])
        if group["momentum"]:
            known = state.setdefault("momentum_buffer", zeros_like(param))
            known.mul_(group["momentum"]).addcdiv_(grad, below)
            param.add_(known, alpha=-float(group["lr"]))
        else:
            param.addcdiv_(grad, below, value=-float(group["lr"]))


class Adagrad(_Rule):
    """Steps divided by the size of all gradients so far."""

    options = row(
        lr=1e-2,
        lr_decay=0,
        weight_decay=0,
        initial_accumulator_value=0,
        eps=1e-10,
        maximize=False,
        **_KERNEL,
        fused=None,
    )
    memory = ("sum",)

    def move(self, param: Tensor, grad: Any, group: dict[str, Any], state: dict[str, Any]) -> None:
        if state["step"] == 1:
            state["sum"].add_(group["initial_accumulator_value"])
        lr = float(group["lr"]) / (1 + (state["step"] - 1) * group["lr_decay"])
        state["sum"].addcmul_(grad, grad, value=1)
        param.addcdiv_(grad, state["sum"].sqrt().add_(group["eps"]), value=-lr)


class Adadelta(_Rule):
    """Steps of the size of earlier steps."""

    options = row(lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, **_COMMON)
    memory = ("square_avg", "acc_delta")

    def move(self, param: Tensor, grad: Any, group: dict[str, Any], state: dict[str, Any]) -> None:
        rho, eps = group["rho"], group["eps"]
        state["square_avg"].mul_(rho).addcmul_(grad, grad, value=1 - rho)
        delta = state["acc_delta"].add(eps).sqrt() / state["square_avg"].add(eps).sqrt() * grad
        state["acc_delta"].mul_(rho).addcmul_(delta, delta, value=1 - rho)
        param.add_(delta, alpha=-float(group["lr"]))
