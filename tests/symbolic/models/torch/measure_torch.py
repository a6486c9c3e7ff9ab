"""What torch's functions do to a graph: found by calling each on small tensors, walking twice, and changing in place."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional

SECOND = "second time"
CHANGED = "modified by an inplace operation"


@dataclass(frozen=True)
class GradientEvent:
    """What one function does to the graph of its first tensor."""

    differentiable: bool
    saves: bool = False  # a second walk raises
    keeps_input: bool = False  # changing the input in place raises
    keeps_result: bool = False
    view: bool = False
    several: bool = False  # it returns more than one tensor


def _square() -> Any:
    torch.manual_seed(0)
    return (torch.rand(4, 4) * 0.5 + 0.25 + torch.eye(4)).requires_grad_()


def _shaped(*size: int) -> Any:
    torch.manual_seed(0)
    return (torch.rand(*size) * 0.5 + 0.25).requires_grad_()


STARTS: Sequence[Callable[[], Any]] = (
    _square,
    lambda: _shaped(2, 4, 6),
    lambda: _shaped(2, 4, 6, 6),
    lambda: _shaped(2, 4, 6, 6, 6),
    lambda: _shaped(4),
    lambda: _shaped(4, 2),
)


INDEX = torch.tensor([0, 1, 2, 3])
LABELS = torch.tensor([0, 1, 2, 3])
CALLS: Sequence[Callable[[Callable[..., Any], Any], Any]] = (
    lambda f, x: f(x),
    lambda f, x: f(x, 2),
    lambda f, x: f(x, 0),
    lambda f, x: f(x, torch.ones_like(x) * 0.5),
    lambda f, x: f(x, x.detach() + 0.5),
    lambda f, x: f(x, 0.5),
    lambda f, x: f(x, 0, 0),
    lambda f, x: f(x, 0, 1),
    lambda f, x: f(x, (0,)),
    lambda f, x: f(x, (0, 1)),
    lambda f, x: f(x, (2, 2)),
    lambda f, x: f(x, (4, 4)),
    lambda f, x: f(x, [1, 3]),
    lambda f, x: f(x, INDEX),
    lambda f, x: f(x, LABELS),
    lambda f, x: f(x, 0, INDEX),
    lambda f, x: f(x, 0, INDEX[:, None]),
    lambda f, x: f(x, INDEX[:, None], 1),
    lambda f, x: f(x, 0.1, 0.5),
    lambda f, x: f(x, torch.ones(4)),
    lambda f, x: f(x, torch.ones(4), torch.ones(4)),
    lambda f, x: f(x, torch.ones(4, 1), torch.ones(1, 4)),
    lambda f, x: f(x, torch.ones(4, 4), torch.ones(4, 4)),
    lambda f, x: f(x, torch.ones_like(x) > 0),
    lambda f, x: f(x, torch.ones_like(x) > 0, 0.5),
    lambda f, x: f(x, torch.ones(4, 4), 0, 1),
    lambda f, x: f(x, 0, INDEX, torch.ones(4, 4)),
    lambda f, x: f(x, 0, INDEX[:, None], torch.ones(4, 4)),
    lambda f, x: f(x, 0, INDEX, torch.ones(4, 4), "amax"),
    lambda f, x: f(x, 0, INDEX[:, None], torch.ones(4, 4), "amax"),
    lambda f, x: f(x, torch.ones(4), 0, 1),
    lambda f, x: f(x, torch.ones(4), 0),
    lambda f, x: f(x, (4,), torch.ones(4)),
    lambda f, x: f(x, (6,)),
    lambda f, x: f(x, [2]),
    lambda f, x: f(x, [4]),
    lambda f, x: f(x, [6, 6]),
    lambda f, x: f(x, (2,), (1,)),
    lambda f, x: f((x, x)),
    lambda f, x: f(torch.ones(4, 4), x),
    lambda f, x: f(2, x),
    lambda f, x: f([x, torch.ones(4, 4)]),
    lambda f, x: f(x, torch.ones_like(x), torch.ones_like(x) * 0.5),
    lambda f, x: f(x, torch.ones(3, 4, 2)),
    lambda f, x: f(x, torch.ones(3, 4, 2, 2)),
    lambda f, x: f(x, torch.ones(3, 4, 2, 2, 2)),
    lambda f, x: f(x, torch.ones(4, 3, 2)),
    lambda f, x: f(x, torch.ones(4, 3, 2, 2)),
    lambda f, x: f(x, torch.ones(4, 3, 2, 2, 2)),
    lambda f, x: f(x, 2, 2),
    lambda f, x: f(x, 2.0, 2),
    lambda f, x: f(x, 2, output_size=3),
    lambda f, x: f(x, (2, 2), output_size=(3, 3)),
    lambda f, x: f(x, (2, 2, 2), output_size=(3, 3, 3)),
    lambda f, x: f(x, torch.ones(4), torch.ones(4), None, None, True),
    lambda f, x: f(x, torch.zeros(4), torch.ones(4)),
    lambda f, x: f(x, 0, 2, 2),
    lambda f, x: f(x, 2, 1, 1),
    lambda f, x: f(x, 0, 0, 1),
    lambda f, x: f(x, (4, 4), (4, 1)),
    lambda f, x: f(x, (6, 6), (2, 2)),
    lambda f, x: f(x, torch.ones(4, 3), torch.ones(3)),
    lambda f, x: f(x, 1, 2),
)


def _tensors(value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (tuple, list)):
        return [found for each in value for found in _tensors(each)]
    return []


def attempts() -> Iterator[tuple[int, int]]:
    """The numbers of every start with every call."""
    for start in range(len(STARTS)):
        for call in range(len(CALLS)):
            yield start, call


def measure(function: Callable[..., Any], start: int, call: int) -> GradientEvent | None:
    """What a function does, called in one of our ways; None if that doesn't suit it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            results = _tensors(CALLS[call](function, STARTS[start]() * 1))
            if not results:
                return None
            if not any(result.requires_grad for result in results):
                return GradientEvent(False, several=len(results) > 1)
            return _deed(function, CALLS[call], STARTS[start], results)
        except Exception:  # noqa: BLE001 - whatever: not the arguments that it wants
            return None


def found(name: str) -> Callable[..., Any] | None:
    """The function or method of torch of that name."""
    rooms = (torch.Tensor, torch, functional, torch.special, torch.linalg, torch.fft)
    return next((getattr(room, name) for room in rooms if hasattr(room, name)), None)


def _deed(function: Any, call: Any, start: Any, results: list[Any]) -> GradientEvent:
    at = next(i for i, result in enumerate(results) if result.requires_grad)

    def once() -> tuple[Any, Any]:
        given = start() * 1
        return given, _tensors(call(function, given))[at]

    given, result = once()
    if result is given:
        return GradientEvent(True, view=True)
    view = result._is_view() and result._base is not None
    _backward_pass(result, given)
    saves = _raises(result, given, SECOND)
    if view:
        return GradientEvent(True, saves, view=True, several=len(results) > 1)
    kept = []
    for changed in (0, 1):
        pair = once()
        with torch.no_grad(), contextlib.suppress(RuntimeError):
            pair[changed].mul_(1)
        kept.append(_raises(pair[1], pair[0], CHANGED))
    return GradientEvent(True, saves, kept[0], kept[1], False, len(results) > 1)


def _backward_pass(result: Any, given: Any) -> None:
    whole = torch.view_as_real(result) if result.is_complex() else result
    torch.autograd.grad(whole, given, torch.ones_like(whole), allow_unused=True)


def _raises(result: Any, given: Any, words: str) -> bool:
    try:
        _backward_pass(result, given)
    except RuntimeError as error:
        if words not in str(error):
            raise
        return True
    return False
