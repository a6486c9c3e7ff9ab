"""The line search of L-BFGS: a step that satisfies the strong Wolfe conditions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


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
    for turn in range(most):
        if point.loss > start.loss + 1e-4 * point.step * start.slope or (turn > 0 and point.loss >= before.loss):
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
