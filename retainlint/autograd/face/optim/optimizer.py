"""What all optimisers share: groups of parameters, their state, zeroing, stepping."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

from retainlint.autograd.face.handle import Handle
from retainlint.autograd.face.modes import enable_grad, no_grad
from retainlint.autograd.face.tensor import Tensor


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
                raise ValueError("can't optimize a non-leaf Tensor")
        known = set(chain.from_iterable(group["params"] for group in self.param_groups))
        if known & set(listed):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append({**self.defaults, **param_group, "params": listed})

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget, or zero, the gradients of all parameters."""
        for param in self.parameters():
            if param.grad_ is None:
                continue
            if set_to_none:
                param.grad_ = None
                continue
            if param.grad_.node is not None:
                param.grad_.detach_()
            else:
                param.grad_.requires_grad_(False)
            param.grad_.zero_()

    def parameters(self) -> Iterable[Tensor]:
        """All parameters of all groups."""
        return chain.from_iterable(group["params"] for group in self.param_groups)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Move every parameter that has a gradient."""
        loss = None
        for hook in list(self._before.values()):
            hook(self, (), {})
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                for param in group["params"]:
                    if param.grad_ is not None:
                        moved = param.data if group.get("fused") else param  # a fused kernel raises no version
                        self.update(moved, param.grad_.detach(), group, self.state[param])
        for hook in list(self._after.values()):
            hook(self, (), {})
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
        """Take over what `state_dict` gave."""
        params = list(self.parameters())
        for group, saved in zip(self.param_groups, state_dict["param_groups"]):
            group.update({k: v for k, v in saved.items() if k != "params"})
        for number, state in state_dict["state"].items():
            self.state[params[number]] = {k: v.clone() if isinstance(v, Tensor) else v for k, v in state.items()}

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call `hook(optimizer, args, kwargs)` before a step."""
        return self._hook(self._before, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call `hook(optimizer, args, kwargs)` after a step."""
        return self._hook(self._after, hook)

    def _hook(self, hooks: dict[int, Any], hook: Any) -> Handle:
        key = max(hooks, default=0) + 1
        hooks[key] = hook
        return Handle(lambda: hooks.pop(key, None) and None)

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        for number, group in enumerate(self.param_groups):
            text += f"\nParameter Group {number}\n"
            text += "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
        return text + ")"


def check_rate(lr: Any) -> None:
    """ValueError for a learning rate below 0."""
    if lr < 0:
        raise ValueError(f"Invalid learning rate: {lr}")
