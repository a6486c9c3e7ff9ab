"""Random expressions over what a scope holds."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.truth.operations import Operation, table, turned
from benchmarks.truth.pen import Pen
from benchmarks.truth.scope import Live, Scope, Variable

_CUTS = ("{}.detach()", "{}.data", "{}.detach().clone()", "torch.zeros_like({})")


@dataclass(frozen=True)
class Written:
    """An expression's text and what is known of its value; `thin`: its memory must not be written."""

    text: str
    live: Live
    light: bool = False
    thin: bool = False


@dataclass(frozen=True)
class Wish:
    """What an expression has to hold: a tensor that requires grad (`live`), or one variable (`must`)."""

    live: bool = False
    must: Variable | None = None


ANY = Wish()
LIVE = Wish(live=True)


def expression(pen: Pen, scope: Scope, shape: str, wish: Wish = ANY, depth: int = 2) -> Written:
    """An expression of a shape; as deep as `depth` calls."""
    if depth <= 0:
        return atom(pen, scope, shape, wish)
    options = list(table()[shape])
    if wish.must is None:
        options += [one for one in scope.callables if one.shape == shape] * 8
    else:
        options += [one for one in scope.callables if one.shape == shape and one.places and one.passes] * 8
    operation = pen.dice.pick(options)
    places = operation.places
    wished = pen.dice.number(0, len(places) - 1) if places else 0
    own = operation.live and wish.must is None
    operands = [
        expression(pen, scope, place, wish if number == wished and not own else ANY, depth - pen.dice.number(1, 2))
        for number, place in enumerate(places)
    ]
    pen.rows.update(operation.rows)
    return _joined(scope, operation, operands)


def _joined(scope: Scope, operation: Operation, operands: list[Written]) -> Written:
    lives = {operand.live for operand in operands} | ({Live.YES} if operation.live else set())
    live = Live.YES if Live.YES in lives else Live.MAYBE if Live.MAYBE in lives else Live.NO
    text = operation.filled([operand.text for operand in operands])
    light = operation.light and all(operand.light for operand in operands)
    return Written(text, live if scope.grad else Live.NO, light, operation.thin or not scope.grad)


def atom(pen: Pen, scope: Scope, shape: str, wish: Wish) -> Written:
    """A variable, turned to the shape if need be."""
    variable = wish.must or _chosen(pen, scope, shape, wish)
    if variable is None:
        return Written(_CONSTANTS[shape], Live.NO, light=True)
    text = turned(variable.name, variable.shape, shape)
    light = variable.light or variable.leaf or variable.live is Live.NO
    if wish == ANY and pen.dice.chance(pen.cuts):
        pen.tag("cut")
        cut = pen.dice.pick(_CUTS)
        return Written(turned(cut.format(variable.name), variable.shape, shape), Live.NO, light=True, thin=True)
    live = variable.live if scope.grad else Live.NO
    return Written(text, live, light and shape == variable.shape, thin=True)


_CONSTANTS = {"A": "torch.ones(4, 3)", "M": "torch.eye(3)", "V": "torch.zeros(3)", "S": "torch.tensor(1.5)"}


def _chosen(pen: Pen, scope: Scope, shape: str, wish: Wish) -> Variable | None:
    slip = pen.dice.chance(pen.slips)
    fit = [v for v in scope.variables if (slip or not v.spent) and (not wish.live or v.live is Live.YES)]
    if wish.live and not fit:
        fit = [v for v in scope.variables if v.live is Live.YES]
    spent = [v for v in fit if v.spent]
    if slip and spent and pen.dice.chance(0.6):
        fit = spent
    same = [v for v in fit if v.shape == shape]
    recent = same[-3:] if pen.dice.chance(0.5) else same
    return pen.dice.pick(recent or fit) if fit else None
