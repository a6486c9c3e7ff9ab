"""Statements that walk a graph, and those that belong to them: steps, cleared gradients."""

from __future__ import annotations

from benchmarks.truth.assignments import bind, define
from benchmarks.truth.expressions import LIVE, Wish, Written
from benchmarks.truth.pen import Pen
from benchmarks.truth.scope import Live, Scope, Variable


def keep(pen: Pen, scope: Scope) -> tuple[str, bool]:
    """The flag of a walk (`retain_graph=True`, or "") and whether the author takes it for kept."""
    if not pen.dice.chance(pen.keeps):
        if pen.dice.chance(0.1):
            return "retain_graph=False", False
        return "", False
    choice = pen.dice.number(0, 9)
    if choice < 4:
        return "retain_graph=True", True
    if choice < 6 and scope.flags:
        pen.tag("retain by flag")
        flag = pen.dice.pick(scope.flags)
        return f"retain_graph={pen.dice.pick((flag, f'not {flag}'))}", pen.dice.chance(0.6)
    if choice < 8 and scope.counters:
        pen.tag("retain by turn")
        i = pen.dice.pick(scope.counters)
        return f"retain_graph={pen.dice.pick((f'{i} < 2', f'{i} == 0', f'{i} % 2 == 0', f'({i} != 1)'))}", False
    if choice == 8:
        pen.tag("create_graph")
        return pen.dice.pick(("create_graph=True", "retain_graph=True, create_graph=True")), True
    return "retain_graph=True", True


def root(pen: Pen, scope: Scope, shape: str = "S") -> Variable:
    """A loss to walk from: one that is there, or a new one."""
    slip = pen.dice.chance(pen.slips)
    fit = [v for v in scope.tensors(shape) if v.live is Live.YES and not v.leaf and (slip or not v.spent)]
    if slip and pen.dice.chance(0.05):
        fit = list(scope.tensors(shape)) or fit
    spent = [v for v in fit if v.spent]
    if spent and pen.dice.chance(0.5):
        return pen.dice.pick(spent)
    if fit and pen.dice.chance(0.55):
        return pen.dice.pick(fit)
    return define(pen, scope, shape, LIVE, stem="" if shape != "S" else "loss")


def walk(pen: Pen, scope: Scope) -> None:
    """One call of backward."""
    flags, kept = keep(pen, scope)
    pen.dice.weighted(
        ((_plain, 10.0), (_function, 1.5), (_roots, 1.5), (_inputs, 1.5), (_whole, 1.0), (_term, 2.0), (_twice, 1.0))
    )(pen, scope, flags)
    if not kept:
        scope.spend()


def _plain(pen: Pen, scope: Scope, flags: str) -> None:
    pen.write(f"{root(pen, scope).name}.backward({flags})")


def _function(pen: Pen, scope: Scope, flags: str) -> None:
    pen.tag("autograd.backward")
    loss = root(pen, scope).name
    pen.write(f"torch.autograd.backward({', '.join(filter(None, (loss, flags)))})")


def _roots(pen: Pen, scope: Scope, flags: str) -> None:
    pen.tag("several roots")
    several = [root(pen, scope).name for _ in range(pen.dice.number(1, 3))]
    bracket = "[{}]" if pen.dice.chance(0.7) or len(several) == 1 else "({})"
    pen.write(f"torch.autograd.backward({', '.join(filter(None, (bracket.format(', '.join(several)), flags)))})")


def _inputs(pen: Pen, scope: Scope, flags: str) -> None:
    live = [v for v in scope.variables if v.live is Live.YES and v.leaf]
    loss = root(pen, scope).name
    if not live:
        return pen.write(f"{loss}.backward({flags})")
    pen.tag("backward inputs")
    inputs = ", ".join(v.name for v in pen.dice.some(live, 1, 2))
    return pen.write(f"{loss}.backward({', '.join(filter(None, (flags, f'inputs=[{inputs}]')))})")


def _whole(pen: Pen, scope: Scope, flags: str) -> None:
    pen.tag("root with a gradient")
    tensor = root(pen, scope, pen.dice.pick("AAV")).name
    gradient = pen.dice.pick((f"torch.ones_like({tensor})", f"gradient=torch.randn_like({tensor})"))
    pen.write(f"{tensor}.backward({', '.join(filter(None, (gradient, flags)))})")


def _term(pen: Pen, scope: Scope, flags: str) -> None:
    """The root is an expression of the walk's own."""
    first, second = root(pen, scope).name, root(pen, scope).name
    form = pen.dice.pick(
        ("({0} + {1})", "({0} / 2)", "({0} * 0.5 + {1})", "({0} - 0.1 * {1})", "sum([{0}, {1}])",
         "torch.stack([{0}, {1}]).mean()", "{0}.mean()", "{0}.clone()", "({0} + 1)")
    )  # fmt: skip
    pen.write(f"{form.format(first, second)}.backward({flags})")


def _twice(pen: Pen, scope: Scope, flags: str) -> None:
    """Two walks from one root; most authors keep the graph at the first."""
    loss = root(pen, scope).name
    kept = "retain_graph=True" if not pen.dice.chance(pen.slips) else flags
    pen.write(f"{loss}.backward({kept})")
    pen.write(f"{loss}.backward({flags})")


def partial(pen: Pen, scope: Scope) -> None:
    """`autograd.grad` towards something in the middle, and perhaps a use of what it gave."""
    if not scope.grad:
        return
    pen.tag("autograd.grad")
    middle = _middle(pen, scope)
    loss = define(pen, scope, "S", Wish(must=middle), stem="loss")
    more = [v for v in scope.variables if v.live is Live.YES and v.leaf]
    flags, kept = keep(pen, scope)
    create = pen.dice.chance(0.3)
    flags = "create_graph=True" if create else flags
    grad = pen.name("grad")
    if more and pen.dice.chance(0.25):
        pen.tag("allow_unused")
        wanted = f"[{middle.name}, {pen.dice.pick(more).name}]"
        flags = ", ".join(filter(None, (flags, "allow_unused=True")))
        pen.write(f"{grad}, {pen.name('other')} = torch.autograd.grad({loss.name}, {wanted}, {flags})")
    else:
        form = pen.dice.pick(("{0}, = {1}", "{0} = {1}[0]", "({0},) = {1}"))
        arguments = ", ".join(filter(None, (loss.name, pen.dice.pick((middle.name, f"[{middle.name}]")), flags)))
        pen.write(form.format(grad, f"torch.autograd.grad({arguments})"))
    if not kept and not create:
        scope.spend()
    bind(scope, grad, middle.shape, Written(grad, Live.MAYBE if create else Live.NO, thin=True))
    if create:
        _penalty(pen, scope, loss, grad)


def _middle(pen: Pen, scope: Scope) -> Variable:
    """A tensor that requires grad and isn't spent: a parameter, something computed, an input made for it."""
    choice = pen.dice.number(0, 2)
    if choice == 0:
        name = pen.name("point")
        pen.write(f"{name} = torch.randn(4, 3, requires_grad=True)")
        variable = scope.add(Variable(name, "A", Live.YES, leaf=True))
        scope.owned.discard(variable)
        return variable
    fit = [v for v in scope.variables if v.live is Live.YES and not v.spent]
    if fit and choice == 1:
        return pen.dice.pick(fit)
    return define(pen, scope, "A", LIVE)


def _penalty(pen: Pen, scope: Scope, loss: Variable, grad: str) -> None:
    """A gradient's own walk: with the loss (legal) or alone."""
    pen.tag("create_graph")
    penalty = pen.name("penalty")
    form = pen.dice.pick(("{}.pow(2).sum()", "({}.norm() - 1) ** 2", "{}.square().mean()"))
    pen.write(f"{penalty} = {form.format(grad)}")
    bind(scope, penalty, "S", Written(penalty, Live.MAYBE))
    if pen.dice.chance(0.8):
        flags, kept = keep(pen, scope)
        pen.write(f"({loss.name} + {pen.dice.pick(('', '0.1 * '))}{penalty}).backward({flags})")
        if not kept:
            scope.spend()


def unrelated(pen: Pen, scope: Scope) -> None:
    """`autograd.grad` towards what the loss doesn't reach: it walks nothing and frees nothing."""
    if not scope.grad:
        return
    name = pen.name("stranger")
    pen.tag("allow_unused", "autograd.grad")
    pen.write(f"{name} = torch.ones(3, requires_grad=True)")
    loss = root(pen, scope)
    if loss.live is not Live.YES:
        return
    pen.write(f"nothing = torch.autograd.grad({loss.name}, {name}, allow_unused=True)")


def clear(pen: Pen, scope: Scope) -> None:
    """Gradients forgotten or zeroed."""
    if not scope.optimizers:
        return
    pen.write(f"{pen.dice.pick(scope.optimizers)}.zero_grad({pen.dice.pick(('', '', 'set_to_none=False'))})")


def step(pen: Pen, scope: Scope) -> None:
    """An optimiser moves its parameters."""
    if not scope.optimizers:
        return
    pen.tag("step")
    pen.write(f"{pen.dice.pick(scope.optimizers)}.step()")
    scope.spend()


def train(pen: Pen, scope: Scope) -> None:
    """zero_grad, backward, step, as everyone writes it."""
    if not scope.optimizers:
        return
    pen.tag("step")
    optimizer = pen.dice.pick(scope.optimizers)
    loss = root(pen, scope)
    flags, _ = keep(pen, scope)
    pen.write(f"{optimizer}.zero_grad()")
    pen.write(f"{loss.name}.backward({flags})")
    if pen.dice.chance(0.3):
        pen.write(f"torch.nn.utils.clip_grad_norm_({optimizer}.param_groups[0]['params'], 1.0)")
    pen.write(f"{optimizer}.step()")
    scope.spend()


def stale(pen: Pen, scope: Scope) -> None:
    """A walk that keeps its graph, an optimiser's step, and another walk: legal only if no stepped weight was saved."""
    if not scope.optimizers or pen.dice.chance(0.5 - pen.slips / 2):
        return
    pen.tag("step between walks")
    optimizer = pen.dice.pick(scope.optimizers)
    first = root(pen, scope)
    pen.write(f"{first.name}.backward(retain_graph=True)")
    if pen.dice.chance(0.3):
        pen.write(f"{optimizer}.zero_grad({pen.dice.pick(('', 'set_to_none=False'))})")
    pen.write(f"{optimizer}.step()")
    second = first if pen.dice.chance(0.6) else root(pen, scope)
    pen.write(f"{second.name}.backward({keep(pen, scope)[0]})")
    scope.spend()


def report(pen: Pen, scope: Scope) -> None:
    """A look at a number; it touches no graph."""
    scalars = [v.name for v in scope.tensors("S")]
    if scalars:
        name = pen.dice.pick(scalars)
        forms = (f"print({name}.item())", f"print('loss %.3f' % {name}.item())", f"print(float({name}.detach()))")
        pen.write(pen.dice.pick(forms))


def plain_walk(pen: Pen, scope: Scope) -> None:
    """A fresh loss, walked."""
    loss = define(pen, scope, "S", LIVE, stem="loss")
    flags, kept = keep(pen, scope)
    pen.write(f"{loss.name}.backward({flags})")
    if not kept:
        scope.spend()


_LIGHT = (
    "{} + 1",
    "-{}",
    "{}.clone()",
    "1 - {}",
    "{}.flip(0)",
    "{}[:]",
    "{} - {}.detach()",
    "torch.cat([{}])",
    "{}.cumsum(0)",
)


def together(pen: Pen, scope: Scope) -> None:
    """Several losses over one trunk, walked one by one: kept until the last, or over a trunk that saves nothing."""
    if not scope.grad:
        return
    pen.tag("shared trunk")
    leaves = [v for v in scope.variables if v.leaf and v.live is Live.YES and v.shape != "S"]
    light = bool(leaves) and pen.dice.chance(0.4)
    if light:
        leaf = pen.dice.pick(leaves)
        name = pen.name("trunk")
        pen.write(f"{name} = {pen.dice.pick(_LIGHT).format(leaf.name, leaf.name)}")
        trunk = bind(scope, name, leaf.shape, Written(name, Live.YES, light=True))
    else:
        trunk = define(pen, scope, "A", LIVE, stem="trunk")
    number = pen.dice.number(2, 3)
    losses = [define(pen, scope, "S", Wish(must=trunk), stem="loss", depth=1).name for _ in range(number)]
    for place, loss in enumerate(losses):
        careless = pen.dice.chance(pen.slips / 2)
        kept = not light and not careless and place < number - 1
        pen.write(f"{loss}.backward({'retain_graph=True' if kept else ''})")
    scope.spend()
    trunk.spent = not light
