"""The module: a tree of parameters, buffers and other modules that can be called, and loading a state into it."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from retainlint.numeric.backward_pass import clear_gradients
from retainlint.numeric.creation import zeros
from retainlint.numeric.dtypes import dtype
from retainlint.numeric.grad_mode import no_grad
from retainlint.numeric.hooks import Handle, registered
from retainlint.numeric.tensor import Tensor
from retainlint.numeric.views import hooked


class Parameter(Tensor):
    """A leaf that a module finds among its attributes."""

    is_parameter = True

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        source = zeros(0) if data is None else data
        made = cls.of(source.array, source.storage)
        made.leaf_needs = requires_grad
        if requires_grad and not made.dtype.is_floating_point:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        return (Parameter, (self.detach(), self.leaf_needs))


_Keys = namedtuple("_Keys", ["missing_keys", "unexpected_keys"])


class IncompatibleKeys(_Keys):
    """What a state dict lacked, and what it had too much."""

    def __repr__(self) -> str:
        return "<All keys matched successfully>" if not self[0] and not self[1] else super().__repr__()

    __str__ = __repr__


def load(module: Any, state: Mapping[str, Any], strict: bool, assign: bool) -> IncompatibleKeys:
    """What `module.load_state_dict` does; RuntimeError, with all that doesn't fit, after the rest was copied."""
    own = module.state_dict(keep_vars=True)
    missing = [name for name in own if name not in state]
    unexpected = [name for name in state if name not in own]
    problems = []
    if strict and unexpected:
        problems.append(f"Unexpected key(s) in state_dict: {_quoted(unexpected)}. ")
    if strict and missing:
        problems.append(f"Missing key(s) in state_dict: {_quoted(missing)}. ")
    with no_grad():
        for name in (name for name in own if name in state):
            value = state[name]
            if value.shape != own[name].shape:
                problems.append(
                    f"size mismatch for {name}: copying a param with shape {value.shape} from checkpoint, the shape in "
                    f"current model is {own[name].shape}."
                )
            elif assign:
                _put_there(module, name, value)
            else:
                own[name].copy_(value)
    if problems:
        raise RuntimeError(
            "Error(s) in loading state_dict for {}:\n\t{}".format(type(module).__name__, "\n\t".join(problems))
        )
    return IncompatibleKeys(missing, unexpected)


def _put_there(module: Any, path: str, value: Tensor) -> None:
    parent, _, name = path.rpartition(".")
    module = module.get_submodule(parent)
    if name in module._parameters:
        known = module._parameters[name]
        module._parameters[name] = Parameter(value, requires_grad=known is None or known.requires_grad)
    else:
        module._buffers[name] = value


def _quoted(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


class Module:
    """Base of all networks. Attributes that are parameters, modules or buffers are registered by name."""

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        for name, value in {
            "training": True,
            "_parameters": {},
            "_buffers": {},
            "_modules": {},
            "_transient": set(),
            "_forward_hooks": OrderedDict(),
            "_forward_pre_hooks": OrderedDict(),
            "_backward_hooks": OrderedDict(),
        }.items():
            object.__setattr__(self, name, value)

    forward: Callable[..., Any]

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        for hook in list(self._forward_pre_hooks.values()):
            found = hook(self, args)
            if found is not None:
                args = found if isinstance(found, tuple) else (found,)
        result = self.forward(*(hooked(args) if self._backward_hooks else args), **kwargs)
        for hook in list(self._forward_hooks.values()):
            found = hook(self, args, result)
            result = result if found is None else found
        if self._backward_hooks:
            result = hooked(result)
            _watch_backward(self, result)
        return result

    __call__: Callable[..., Any] = _call

    def __setattr__(self, name: str, value: Any) -> None:
        for room, kind, words, shown in (
            ("_parameters", Parameter, "parameters", "parameter"),
            ("_modules", Module, "module", "child module"),
        ):
            own = self.__dict__.get(room)
            if isinstance(value, kind):
                if own is None:
                    raise AttributeError(f"cannot assign {words} before Module.__init__() call")
                self._forget(name, own)
                own[name] = value
                return
            if own is not None and name in own:
                if value is not None:
                    wanted = f"(torch.nn.{kind.__name__} or None expected)"
                    raise TypeError(f"cannot assign '{_type_name(value)}' as {shown} '{name}' {wanted}")
                own[name] = None
                return
        if name in self.__dict__.get("_buffers", ()) and (value is None or isinstance(value, Tensor)):
            self._buffers[name] = value
        else:
            object.__setattr__(self, name, value)

    def _forget(self, name: str, own: Any) -> None:
        """Take a name out of all rooms but its own, where what is replaced keeps its place."""
        for room in (self.__dict__, self._parameters, self._buffers, self._modules):
            if room is not own:
                room.pop(name, None)

    def __getattr__(self, name: str) -> Any:
        for room in ("_parameters", "_buffers", "_modules"):
            known = self.__dict__.get(room)
            if known is not None and name in known:
                return known[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        for room in (self._parameters, self._buffers, self._modules):
            if name in room:
                del room[name]
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._parameters, *self._buffers, *self._modules]

    # -- registration

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        if param is None:
            self._parameters[name] = None
        else:
            setattr(self, name, param)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is no parameter but part of the state."""
        if hasattr(self, name) and name not in self._buffers:
            raise KeyError(f"attribute '{name}' already exists")
        self._buffers[name] = tensor
        (self._transient.discard if persistent else self._transient.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        self._modules[name] = module

    register_module = add_module

    # -- looking through the tree

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all below it, each once."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, child in self._modules.items():
            if child is not None:
                yield from child.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        seen: set[Module] = set()
        for name, child in self._modules.items():
            if child is not None and child not in seen:
                seen.add(child)
                yield name, child

    def children(self) -> Iterator[Module]:
        return (child for _, child in self.named_children())

    def _named(self, room: str, prefix: str, recurse: bool) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        for path, module in self.named_modules(prefix=prefix) if recurse else [(prefix, self)]:
            for name, value in getattr(module, room).items():
                if value is not None and id(value) not in seen:
                    seen.add(id(value))
                    yield f"{path}.{name}" if path else name, value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        return self._named("_parameters", prefix, recurse)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        return (value for _, value in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        return self._named("_buffers", prefix, recurse)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        return (value for _, value in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Module:
        found: Any = self
        for name in target.split(".") if target else []:
            found = getattr(found, name)
        module: Module = found
        return module

    def get_parameter(self, target: str) -> Parameter:
        path, _, name = target.rpartition(".")
        found: Parameter = getattr(self.get_submodule(path), name)
        return found

    # -- state

    def state_dict(self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> dict[str, Any]:
        """All parameters and lasting buffers by path; they share memory with the module."""
        made: dict[str, Any] = OrderedDict() if destination is None else destination
        for room in (self._parameters, self._buffers):
            for name, value in room.items():
                if value is not None and name not in self._transient:
                    made[prefix + name] = value if keep_vars else value.detach()
        for name, child in self._modules.items():
            if child is not None:
                child.state_dict(destination=made, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        return made

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        return load(self, state_dict, strict, assign)

    # -- changing all

    def apply(self, fn: Callable[[Module], Any]) -> Any:
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def _convert(self, change: Callable[[Tensor], Tensor]) -> Any:
        for module in self.modules():
            for parameter in module._parameters.values():
                if parameter is not None:
                    parameter.data = change(parameter.data)
                    if parameter.grad_ is not None:
                        parameter.grad_ = change(parameter.grad_)
            for name, buffer in module._buffers.items():
                if buffer is not None:
                    module._buffers[name] = change(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Any:
        kind = next((a for a in args if isinstance(a, dtype)), kwargs.get("dtype"))
        others = [a for a in args if not isinstance(a, dtype)]
        device = kwargs.get("device", others[0] if others else None)
        if device is not None and not isinstance(device, (bool, Tensor)):
            Tensor.of([0.0]).to(device)
        return self if kind is None else self._convert(lambda t: t.to(kind) if t.dtype.is_floating_point else t)

    def float(self) -> Any:
        return self._convert(lambda t: t.float() if t.dtype.is_floating_point else t)

    def type(self, dst_type: Any) -> Any:
        return self._convert(lambda t: t.type(dst_type))

    def double(self) -> Any:
        return self._convert(lambda t: t.double() if t.dtype.is_floating_point else t)

    def cpu(self) -> Any:
        return self

    share_memory = cpu

    def cuda(self, device: Any = None) -> Any:
        raise AssertionError("Torch not compiled with CUDA enabled")

    def train(self, mode: bool = True) -> Any:
        object.__setattr__(self, "training", mode)
        for child in self.children():
            child.train(mode)
        return self

    def eval(self) -> Any:
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        for parameter in self.parameters():
            parameter.requires_grad = requires_grad
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        clear_gradients(self.parameters(), set_to_none)

    # -- hooks

    def register_forward_hook(self, hook: Callable[..., Any], **options: Any) -> Handle:
        return registered(self._forward_hooks, hook)

    def register_forward_pre_hook(self, hook: Callable[..., Any], **options: Any) -> Handle:
        return registered(self._forward_pre_hooks, hook)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> Handle:
        """Call `hook(module, None, grad_output)` when the gradient of the output is known."""
        return registered(self._backward_hooks, hook)

    # -- how it looks

    def extra_repr(self) -> str:
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_indented(repr(child))}" for name, child in self._modules.items()]
        if not children and len(lines) <= 1:
            return f"{self._get_name()}({extra})"
        inner = "\n  ".join(lines + children)
        return f"{self._get_name()}(\n  {inner}\n)"


def _watch_backward(module: Module, result: Any) -> None:
    first = result[0] if isinstance(result, tuple) else result
    if isinstance(first, Tensor) and first.requires_grad:

        def arrived(grad: Tensor) -> None:
            for hook in list(module._backward_hooks.values()):
                hook(module, (None,), (grad,))

        first.register_hook(arrived)


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")


def _type_name(value: Any) -> str:
    kind = type(value)
    return (
        "torch.FloatTensor"
        if isinstance(value, Tensor)
        else f"{kind.__module__}.{kind.__name__}".removeprefix("builtins.")
    )
