"""torch.func and torch.autograd.functional: functions made of functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from retainlint.numeric import backward_pass, grad_mode
from retainlint.numeric.nn.module import Module
from retainlint.numeric.operations.pieces import stack
from retainlint.numeric.tensor import Tensor


def functional_call(
    module: Module, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: Any = None, **rest: Any
) -> Any:
    """Call a module with other tensors in place of its parameters and buffers, for this call."""
    given = parameter_and_buffer_dicts
    state = given if isinstance(given, Mapping) else {k: v for part in given for k, v in part.items()}
    kept: list[tuple[dict[str, Any], str, Any]] = []
    for path, tensor in state.items():
        parent, _, name = path.rpartition(".")
        owner = module.get_submodule(parent)
        room: dict[str, Any] = owner._parameters if name in owner._parameters else owner._buffers
        if name not in room:
            raise RuntimeError(f"`{path}` is not a valid parameter or buffer of {type(module).__name__}")
        kept.append((room, name, room[name]))
        room[name] = tensor
    inputs = () if args is None else args if isinstance(args, tuple) else (args,)
    try:
        return module(*inputs, **(kwargs or {}))
    finally:
        for room, name, value in reversed(kept):
            room[name] = value


def _fresh(value: Any) -> Any:
    """Tensors to differentiate at; what led to them stays reachable."""
    if isinstance(value, Tensor):
        return value.view_as(value) if value.requires_grad else value.detach().requires_grad_()
    return {k: _fresh(v) for k, v in value.items()} if isinstance(value, Mapping) else type(value)(map(_fresh, value))


def _leaves(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    return [leaf for part in (value.values() if isinstance(value, Mapping) else value) for leaf in _leaves(part)]


def _rebuilt(value: Any, leaves: list[Any]) -> Any:
    """`leaves`, used up from the front, in the arrangement of `value`."""
    if isinstance(value, Tensor):
        return leaves.pop(0)
    if isinstance(value, Mapping):
        return {k: _rebuilt(v, leaves) for k, v in value.items()}
    return type(value)(_rebuilt(part, leaves) for part in value)


def grad_and_value(func: Callable[..., Any], argnums: int = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that gives the gradient of `func`, and its value."""

    def made(*args: Any, **kwargs: Any) -> Any:
        outer = any(t.requires_grad for t in _leaves(args[argnums]))
        with grad_mode.enable_grad():
            point = _fresh(args[argnums])
            found = func(*args[:argnums], point, *args[argnums + 1 :], **kwargs)
            value = found[0] if has_aux else found
            parts = list(
                backward_pass.grad(value, _leaves(point), create_graph=True, allow_unused=True, materialize_grads=True)
            )
        parts = parts if outer else [p.detach() for p in parts]
        return _rebuilt(point, parts), (found if outer or has_aux else value.detach())

    return made


def grad(func: Callable[..., Any], argnums: int = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that gives the gradient of `func`."""
    both = grad_and_value(func, argnums, has_aux)
    return lambda *args, **kwargs: (lambda g, v: (g, v[1]) if has_aux else g)(*both(*args, **kwargs))


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: int = 0, **options: Any) -> Callable[..., Any]:
    """`func` for each item of a batch, one after another."""

    def made(*args: Any) -> Any:
        dims = in_dims if isinstance(in_dims, tuple) else (in_dims,) * len(args)
        size = next(_leaves(arg)[0].array.shape[dim] for arg, dim in zip(args, dims) if dim is not None)
        found = [func(*(_item(arg, dim, i) for arg, dim in zip(args, dims))) for i in range(size)]
        parts = [_leaves(item) for item in found]
        return _rebuilt(found[0], [stack(list(column), out_dims) for column in zip(*parts)])

    return made


def _item(value: Any, dim: int | None, number: int) -> Any:
    if dim is None:
        return value
    return _rebuilt(value, [leaf.select(dim, number) for leaf in _leaves(value)])


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """New leaves that stack the weights of several models, and their buffers, by name."""

    def stacked(named: list[dict[str, Tensor]]) -> dict[str, Tensor]:
        return {name: stack([each[name].detach() for each in named]) for name in named[0]}

    weights = stacked([dict(model.named_parameters()) for model in models])
    for each in weights.values():
        each.requires_grad_()
    return weights, stacked([dict(model.named_buffers()) for model in models])


def jacobian(func: Callable[..., Any], inputs: Any, create_graph: bool = False, **options: Any) -> Any:
    """All derivatives of all outputs by all inputs."""
    several = inputs if isinstance(inputs, tuple) else (inputs,)
    with grad_mode.enable_grad():
        points = [_fresh(point) if create_graph else point.detach().requires_grad_() for point in several]
        output = func(*points)
        if not isinstance(output, Tensor):
            return tuple(jacobian(lambda *a, i=i: func(*a)[i], inputs, create_graph) for i in range(len(output)))
        rows: list[list[Any]] = [[] for _ in points]
        for number in range(output.array.size):
            one = np.zeros(output.array.size, output.array.dtype)
            one[number] = 1
            parts = backward_pass.grad(
                output,
                points,
                Tensor.of(one.reshape(output.array.shape)),
                retain_graph=True,
                create_graph=create_graph,
                allow_unused=True,
                materialize_grads=True,
            )
            for row, part in zip(rows, parts):
                row.append(part)
        made = [stack(row).reshape(*output.array.shape, *p.array.shape) for row, p in zip(rows, points)]
    return tuple(made) if isinstance(inputs, tuple) else made[0]


def hessian(func: Callable[..., Any], inputs: Any, create_graph: bool = False, **options: Any) -> Any:
    """All second derivatives of a scalar function."""
    first = lambda *a: jacobian(func, a if isinstance(inputs, tuple) else a[0], create_graph=True)  # noqa: E731
    return jacobian(first, inputs, create_graph)
