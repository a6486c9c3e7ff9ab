"""L-BFGS: steps by an estimate of the curvature and a line search; it calls its closure several times a step."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from retainlint.numeric.creation import zeros
from retainlint.numeric.grad_mode import enable_grad, no_grad
from retainlint.numeric.operations.pieces import cat
from retainlint.numeric.optim.optimizers import Optimizer
from retainlint.numeric.tensor import Tensor


@dataclass
class Point:
    """A step length, the loss there, its gradient, and the slope along the direction."""

    step: float
    loss: float
    gradient: Any
    slope: float


def cubic_minimum(one: Point, other: Point, bounds: tuple[float, float] | None = None) -> float:
    """Where the cubic through two points with these slopes is least, within bounds.

    Source: Nocedal and Wright, Numerical Optimization, equation 3.59.
    """
    low, high = bounds or (min(one.step, other.step), max(one.step, other.step))
    first = one.slope + other.slope - 3 * (one.loss - other.loss) / (one.step - other.step)
    square = first**2 - one.slope * other.slope
    if square < 0:
        return (low + high) / 2
    root = math.sqrt(square)
    if one.step <= other.step:
        found = other.step - (other.step - one.step) * (
            (other.slope + root - first) / (other.slope - one.slope + 2 * root)
        )
    else:
        found = one.step - (one.step - other.step) * ((one.slope + root - first) / (one.slope - other.slope + 2 * root))
    return min(max(found, low), high)


def strong_wolfe(
    measure: Callable[[float], Point],
    start: Point,
    step: float,
    longest: float,
    tolerance: float = 1e-9,
    most: int = 25,
) -> tuple[Point, int]:
    """A point with enough descent and a flat enough slope, and how many points were measured.

    `start` is the point of step 0; `longest` the largest element of the direction. Source: the same, algorithms 3.5, 3.6.
    """
    point, count = measure(step), 1
    before, bracket = start, [start, point]
    for iteration in range(most):
        if point.loss > start.loss + 1e-4 * point.step * start.slope or (iteration > 0 and point.loss >= before.loss):
            bracket = [before, point]
            break
        if abs(point.slope) <= -0.9 * start.slope:
            return point, count
        if point.slope >= 0:
            bracket = [before, point]
            break
        bounds = (point.step + 0.01 * (point.step - before.step), point.step * 10)
        following = cubic_minimum(before, point, bounds)
        before = point
        point = measure(following)
        count += 1
    else:
        bracket = [start, point]
        return min(bracket, key=lambda p: p.loss), count
    return _zoom(measure, start, bracket, longest, tolerance, most, count)


def _zoom(
    measure: Callable[[float], Point],
    start: Point,
    bracket: list[Point],
    longest: float,
    tolerance: float,
    most: int,
    count: int,
) -> tuple[Point, int]:
    """Narrow a bracket until a point in it will do."""
    stuck = False
    low, high = sorted(bracket, key=lambda p: p.loss)
    for _ in range(count - 1, most):
        width = abs(low.step - high.step)
        if width * longest < tolerance:
            break
        step = cubic_minimum(bracket[0], bracket[1])
        left, right = min(low.step, high.step), max(low.step, high.step)
        margin = 0.1 * width
        if min(right - step, step - left) < margin:
            if stuck or step >= right or step <= left:
                step = right - margin if abs(step - right) < abs(step - left) else left + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        point = measure(step)
        count += 1
        if point.loss > start.loss + 1e-4 * step * start.slope or point.loss >= low.loss:
            bracket[bracket.index(high)] = point
        else:
            done = abs(point.slope) <= -0.9 * start.slope
            if not done and point.slope * (high.step - low.step) >= 0:
                bracket[bracket.index(high)] = low
            bracket[bracket.index(low)] = point
            if done:
                return point, count
        low, high = sorted(bracket, key=lambda p: p.loss)
    return low, count


class LBFGS(Optimizer):
    """Limited-memory BFGS. Source: Nocedal and Wright, Numerical Optimization, algorithm 7.4."""

    def __init__(
        self,
        params: Any,
        lr: float = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        if line_search_fn not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")
        options = {"lr": lr, "max_iter": max_iter, "tolerance_grad": tolerance_grad, "history_size": history_size}
        options |= {"max_eval": max_iter * 5 // 4 if max_eval is None else max_eval}
        super().__init__(params, {**options, "tolerance_change": tolerance_change, "line_search_fn": line_search_fn})
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    def _gradient(self) -> Any:
        parts = [
            zeros(p.array.size, dtype=p.dtype) if p.grad_ is None else p.grad_.detach().reshape(-1)
            for p in self.param_groups[0]["params"]
        ]
        return cat(parts, 0)

    def _move(self, step: float, direction: Any) -> None:
        offset = 0
        for param in self.param_groups[0]["params"]:
            size = param.array.size
            param.add_(direction[offset : offset + size].view_as(param), alpha=step)
            offset += size

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step, of up to `max_iter` iterations."""
        assert closure is not None, "LBFGS needs a closure"
        with no_grad():
            return self._step(closure)

    def _step(self, closure: Callable[[], Any]) -> Any:
        group = self.param_groups[0]
        state = self.state[group["params"][0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        with enable_grad():
            first = closure()
        loss = float(first)
        state["func_evals"] += 1
        evaluations, iterations = 1, 0
        gradient = self._gradient()
        if float(gradient.abs().max()) <= group["tolerance_grad"]:
            return first
        while iterations < group["max_iter"]:
            iterations += 1
            state["n_iter"] += 1
            direction = self._direction(state, gradient, group["history_size"])
            state["previous"] = gradient.clone()
            length = group["lr"]
            if state["n_iter"] == 1:
                length = min(1.0, 1.0 / float(gradient.abs().sum())) * group["lr"]
            state["direction"], state["length"] = direction, length
            slope = float(gradient.dot(direction))
            if slope > -group["tolerance_change"]:
                break
            before, gained = loss, 0
            if group["line_search_fn"] is not None:
                start = Point(0.0, loss, gradient, slope)
                longest = float(direction.abs().max())
                found, gained = strong_wolfe(self._measure(closure, direction), start, length, longest)
                loss, gradient, length = found.loss, found.gradient, found.step
                state["length"] = length
                self._move(length, direction)
            else:
                self._move(length, direction)
            if group["line_search_fn"] is None and iterations != group["max_iter"]:
                with enable_grad():
                    loss = float(closure())
                gradient = self._gradient()
                gained = 1
            evaluations += gained
            state["func_evals"] += gained
            if iterations == group["max_iter"] or evaluations >= group["max_eval"]:
                break
            if float(gradient.abs().max()) <= group["tolerance_grad"]:
                break
            if float((direction * length).abs().max()) <= group["tolerance_change"]:
                break
            if abs(loss - before) < group["tolerance_change"]:
                break
        return first

    def _measure(self, closure: Callable[[], Any], direction: Any) -> Callable[[float], Point]:
        """What tells loss and slope at a step length, and puts the parameters back."""
        params = self.param_groups[0]["params"]
        kept = [p.detach().clone() for p in params]

        def measure(step: float) -> Point:
            self._move(step, direction)
            with enable_grad():
                loss = float(closure())
            gradient = self._gradient()
            for param, value in zip(params, kept):
                param.copy_(value)
            return Point(step, loss, gradient, float(gradient.dot(direction)))

        return measure

    def _direction(self, state: dict[str, Any], gradient: Any, history: int) -> Any:
        """The quasi-Newton direction, by two passes over what the last steps taught."""
        if "previous" not in state:
            state.update(steps=[], changes=[], scale=1.0)
            return gradient.neg()
        change, step = gradient.sub(state["previous"]), state["direction"].mul(state["length"])
        curvature = float(change.dot(step))
        if curvature > 1e-10:
            for memory, entry in ((state["steps"], step), (state["changes"], change)):
                if len(memory) == history:
                    memory.pop(0)
                memory.append(entry)
            state["scale"] = curvature / float(change.dot(change))
        weights = []
        q = gradient.neg()
        for s, y in zip(reversed(state["steps"]), reversed(state["changes"])):
            weights.append(float(s.dot(q)) / float(y.dot(s)))
            q = q.add(y, alpha=-weights[-1])
        found = q.mul(state["scale"])
        for s, y, weight in zip(state["steps"], state["changes"], reversed(weights)):
            found = found.add(s, alpha=weight - float(y.dot(found)) / float(y.dot(s)))
        return found

    def update(self, param: Tensor, grad: Any, group: dict[str, Any], state: dict[str, Any]) -> None:
        raise AssertionError("LBFGS moves all parameters at once")
