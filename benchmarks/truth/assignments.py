"""Statements that compute: new tensors, rebound names, aliases, swaps, cuts."""

from __future__ import annotations

from benchmarks.truth.expressions import ANY, LIVE, Wish, Written, expression
from benchmarks.truth.pen import Pen
from benchmarks.truth.scope import Live, Scope, Variable

_STEMS = {"A": ("h", "out", "z", "features", "pred"), "M": ("m", "gram"), "V": ("v", "stats"), "S": ("loss", "cost")}
_SHAPES = (("A", 6.0), ("S", 4.0), ("V", 1.5), ("M", 1.5))


def bind(scope: Scope, name: str, shape: str, written: Written) -> Variable:
    """A new variable that holds what was written."""
    return scope.add(Variable(name, shape, written.live, light=written.light, solid=not written.thin))


def define(pen: Pen, scope: Scope, shape: str, wish: Wish = ANY, stem: str = "", depth: int = 2) -> Variable:
    """`name = expression`, under a new name."""
    written = expression(pen, scope, shape, wish, depth)
    name = pen.name(stem or pen.dice.pick(_STEMS[shape]))
    pen.write(f"{name} = {written.text}")
    return bind(scope, name, shape, written)


def compute(pen: Pen, scope: Scope) -> None:
    """A new tensor, or a new value under an old name."""
    shape = pen.dice.weighted(_SHAPES)
    owned = [v for v in scope.tensors(shape) if v in scope.owned]
    if owned and pen.dice.chance(0.35):
        rebind(pen, scope, pen.dice.pick(owned))
    else:
        define(pen, scope, shape, LIVE if pen.dice.chance(0.6) else ANY)


def rebind(pen: Pen, scope: Scope, variable: Variable) -> None:
    """`h = f(h)`. What was surely live before a loop or a branch stays so."""
    bound = variable.live is Live.YES and variable not in scope.born
    if bound and not scope.grad:
        return
    careful = variable.spent and not pen.dice.chance(pen.slips)
    wish = LIVE if bound or careful or pen.dice.chance(0.3) else Wish(must=variable)
    written = expression(pen, scope, variable.shape, wish)
    if bound and written.live is not Live.YES:
        return
    pen.tag("rebinding")
    pen.write(f"{variable.name} = {written.text}")
    settle(scope, variable, written)


def settle(scope: Scope, variable: Variable, written: Written) -> None:
    """What is known of a variable after it was rebound here."""
    if variable in scope.born:
        variable.live, variable.light, variable.solid = written.live, written.light, not written.thin
        variable.spent = variable.leaf = False
        return
    variable.live = variable.live if variable.live is written.live else Live.MAYBE
    variable.light &= written.light
    variable.solid &= not written.thin


def alias(pen: Pen, scope: Scope) -> None:
    """A second name for a tensor."""
    if not scope.variables:
        return
    old = pen.dice.pick(scope.variables)
    name = pen.name(pen.dice.pick(("saved", "previous", "same")))
    pen.tag("alias")
    pen.write(f"{name} = {old.name}")
    scope.add(Variable(name, old.shape, old.live, old.leaf, old.light, old.solid, old.spent))
    scope.owned.discard(scope.variables[-1])


def cut(pen: Pen, scope: Scope) -> None:
    """A tensor without its graph: detach, .data, .item(), a copy under no_grad."""
    if not scope.variables:
        return
    old = pen.dice.pick(scope.variables)
    forms = [f"{old.name}.detach()", f"{old.name}.data", f"{old.name}.detach().clone()", f"{old.name}.clone().detach()"]
    if old.shape == "S":
        forms += [f"torch.tensor({old.name}.item())"]
    name = pen.name(pen.dice.pick(("frozen", "fixed", "cut")))
    pen.tag("cut")
    pen.write(f"{name} = {pen.dice.pick(forms)}")
    scope.add(Variable(name, old.shape, Live.NO, light=True, solid=old.solid))


def detach_here(pen: Pen, scope: Scope) -> None:
    """`h = h.detach()`, or with a fresh `requires_grad_()` where h has to stay live."""
    owned = [v for v in scope.variables if v in scope.owned]
    if not owned:
        return
    variable = pen.dice.pick(owned)
    pen.tag("cut")
    if variable.live is Live.YES and variable not in scope.born:
        pen.write(f"{variable.name} = {variable.name}.detach().requires_grad_()")
        variable.light = True
        return
    pen.write(f"{variable.name} = {variable.name}.detach()")
    settle(scope, variable, Written("", Live.NO, light=True))


def swap(pen: Pen, scope: Scope) -> None:
    """`a, b = f(a), g(b)`: one assignment of several names."""
    owned = [v for v in scope.variables if v in scope.born and v.shape in "AV"]
    if len(owned) < 2:
        return
    first, second = pen.dice.some(owned, 2, 2)
    left, right = expression(pen, scope, first.shape, LIVE, 1), expression(pen, scope, second.shape, ANY, 1)
    pen.tag("unpacking")
    pen.write(f"{first.name}, {second.name} = {left.text}, {right.text}")
    settle(scope, first, left)
    settle(scope, second, right)


def pair(pen: Pen, scope: Scope) -> None:
    """Two losses in one statement, unpacked from a tuple or from the pieces of one tensor."""
    first, second = pen.name("first"), pen.name("second")
    pen.tag("unpacking")
    if pen.dice.chance(0.3):
        whole = expression(pen, scope, "A", LIVE, 1)
        text = whole.text if whole.text.isidentifier() else f"({whole.text})"
        pieces = pen.dice.pick((f"{text}.chunk(2)", f"torch.split({whole.text}, 2)", f"{text}.unbind(0)[:2]"))
        pen.write(f"{first}, {second} = (part.mean() for part in {pieces})")
        for name in (first, second):
            bind(scope, name, "S", Written(name, whole.live, whole.light))
        return
    left, right = expression(pen, scope, "S", LIVE), expression(pen, scope, "S", LIVE)
    pen.write(f"{first}, {second} = {left.text}, {right.text}")
    bind(scope, first, "S", left)
    bind(scope, second, "S", right)


def forget(pen: Pen, scope: Scope) -> None:
    """`del h`, of something born here."""
    fit = [v for v in scope.variables if v in scope.born and v in scope.owned and v.name.isidentifier()]
    inside = [line for line in pen.page.lines if line.startswith(" ") or "lambda" in line]
    variable = fit[-1] if fit else None
    if variable is None or (scope.depth == 0 and any(variable.name in line for line in inside)):
        return  # a function may read it later
    pen.tag("del")
    pen.write(f"del {variable.name}")
    scope.variables.remove(variable)
    scope.owned.discard(variable)
