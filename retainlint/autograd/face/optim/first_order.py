"""Optimisers that look at the gradient alone: SGD, Adam and their kin."""

from __future__ import annotations

import math
from typing import Any

from retainlint.autograd.face.factories import full_like, zeros_like
from retainlint.autograd.face.optim.optimizer import Optimizer, check_rate
from retainlint.autograd.face.tensor import Tensor


class SGD(Optimizer):
    """Gradient descent, with momentum if wanted."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        options = {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay}
        options |= {"nesterov": nesterov, "maximize": maximize, "foreach": foreach, "differentiable": differentiable}
        super().__init__(params, {**options, "fused": fused})

    def update(self, param: Tensor, grad: Any, group: dict[str, Any], state: dict[str, Any]) -> None:
        grad = -grad if group["maximize"] else grad
        if group["weight_decay"]:
            grad = grad.add(param, alpha=group["weight_decay"])
        if group["momentum"]:
            known = state.get("momentum_buffer")
            if known is None:
                known = state["momentum_buffer"] = grad.clone()
            else:
                known.mul_(group["momentum"]).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(known, alpha=group["momentum"]) if group["nesterov"] else known
        param.add_(grad, alpha=-float(group["lr"]))


class Adam(Optimizer):
    """Steps of about the same size for all parameters."""

    decoupled = False
    decay = 0.0

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float | None = None,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        for number, beta in enumerate(betas):
            if not 0 <= beta < 1:
                raise ValueError(f"Invalid beta parameter at index {number}: {beta}")
        decay = self.decay if weight_decay is None else weight_decay
        options = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": decay, "amsgrad": amsgrad}
        options |= {"maximize": maximize, "foreach": foreach, "capturable": capturable}
        super().__init__(params, {**options, "differentiable": differentiable, "fused": fused})

    def update(self, param: Tensor, grad: Any, group: dict[str, Any], state: dict[str, Any]) -> None:
        (beta1, beta2), lr = group["betas"], float(group["lr"])
        grad = -grad if group["maximize"] else grad
        if not state:
            state.update(step=0, exp_avg=zeros_like(param), exp_avg_sq=zeros_like(param))
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = zeros_like(param)
        state["step"] += 1
        if group["weight_decay"] and self.decoupled:
            param.mul_(1 - lr * group["weight_decay"])
        elif group["weight_decay"]:
            grad = grad.add(param, alpha=group["weight_decay"])
        state["exp_avg"].lerp_(grad, 1 - beta1)
        state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        spread = state["exp_avg_sq"]
        if group["amsgrad"]:
            spread = state["max_exp_avg_sq"] = state["max_exp_avg_sq"].maximum(spread)
        first, second = 1 - beta1 ** state["step"], 1 - beta2 ** state["step"]
        below = (spread.sqrt() / math.sqrt(second)).add_(group["eps"])
        param.addcdiv_(state["exp_avg"], below, value=-lr / first)


class AdamW(Adam):
    """Adam whose weight decay isn't part of the gradient."""

    decoupled = True
    decay = 1e-2


class Adamax(Optimizer):
    """Adam by the largest gradient."""

    def __init__(
        self,
        params: Any,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
    ) -> None:
        check_rate(lr)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    def update(self, param: Tensor, grad: Any, group: dict[str, Any], state: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        if not state:
            state.update(step=0, exp_avg=zeros_like(param), exp_inf=zeros_like(param))
        state["step"] += 1
        if group["weight_decay"]:
            grad = grad.add(param, alpha=group["weight_decay"])
        state["exp_avg"].lerp_(grad, 1 - beta1)
        state["exp_inf"].copy_((state["exp_inf"] * beta2).maximum(grad.abs() + group["eps"]))
        param.addcdiv_(state["exp_avg"], state["exp_inf"], value=-group["lr"] / (1 - beta1 ** state["step"]))


class RMSprop(Optimizer):
    """Steps divided by the running size of the gradient."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        **others: Any,
    ) -> None:
        check_rate(lr)
        options = {"lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered}
        super().__init__(params, {**options, "weight_decay": weight_decay, **others})

    def update(self, param: Tensor, grad: Any, group: dict[str, Any], state: dict[str, Any]) -> None:
        if not state:
            state.update(step=0, square_avg=zeros_like(param))
        state["step"] += 1
        if group["weight_decay"]:
            grad = grad.add(param, alpha=group["weight_decay"])
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


class Adagrad(Optimizer):
    """Steps divided by the size of all gradients so far."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        **others: Any,
    ) -> None:
        check_rate(lr)
        options = {"lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, {**options, "initial_accumulator_value": initial_accumulator_value, **others})

    def update(self, param: Tensor, grad: Any, group: dict[str, Any], state: dict[str, Any]) -> None:
        if not state:
            state.update(step=0, sum=full_like(param, group["initial_accumulator_value"]))
        state["step"] += 1
        if group["weight_decay"]:
            grad = grad.add(param, alpha=group["weight_decay"])
        lr = float(group["lr"]) / (1 + (state["step"] - 1) * group["lr_decay"])
        state["sum"].addcmul_(grad, grad, value=1)
        param.addcdiv_(grad, state["sum"].sqrt().add_(group["eps"]), value=-lr)


class Adadelta(Optimizer):
    """Steps of the size of earlier steps."""

    def __init__(
        self, params: Any, lr: Any = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0, **others: Any
    ) -> None:
        check_rate(lr)
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, **others})

    def update(self, param: Tensor, grad: Any, group: dict[str, Any], state: dict[str, Any]) -> None:
        if not state:
            state.update(square_avg=zeros_like(param), acc_delta=zeros_like(param))
        if group["weight_decay"]:
            grad = grad.add(param, alpha=group["weight_decay"])
        rho, eps = group["rho"], group["eps"]
        state["square_avg"].mul_(rho).addcmul_(grad, grad, value=1 - rho)
        delta = state["acc_delta"].add(eps).sqrt() / state["square_avg"].add(eps).sqrt() * grad
        state["acc_delta"].mul_(rho).addcmul_(delta, delta, value=1 - rho)
        param.add_(delta, alpha=-float(group["lr"]))
