"""Statements over several losses: lists, dicts, comprehensions, generators, sums."""

from __future__ import annotations

from benchmarks.truth.assignments import bind
from benchmarks.truth.expressions import LIVE, Wish, Written, expression
from benchmarks.truth.pen import Pen
from benchmarks.truth.scope import Live, Scope, Variable
from benchmarks.truth.walks import keep

_SUMS = (
    "sum({})",
    "torch.stack({}).sum()",
    "torch.stack({}).mean()",
    "sum({}) / len({})",
    "torch.stack({})[0]",
    "{}[-1]",
)


def gather(pen: Pen, scope: Scope) -> None:
    """A list of losses, made in one of several ways, then walked in one of several."""
    if not scope.grad:
        return
    name = pen.name(pen.dice.pick(("losses", "terms", "history")))
    pen.tag("list of losses")
    pen.dice.pick((_display, _comprehension, _appended))(pen, scope, name)
    _consumed(pen, scope, name)


def _display(pen: Pen, scope: Scope, name: str) -> None:
    texts = [expression(pen, scope, "S", LIVE).text for _ in range(pen.dice.number(1, 3))]
    pen.write(f"{name} = [{', '.join(texts)}]")


def _comprehension(pen: Pen, scope: Scope, name: str) -> None:
    pen.tag("comprehension")
    inner = scope.inner()
    if scope.batches and pen.dice.chance(0.6):
        target = Variable("x0", "A", Live.NO, light=True, solid=False)
        inner.add(target)
        head = f"for x0 in {pen.dice.pick(scope.batches)}"
        written = expression(pen, inner, "S", Wish(must=target) if pen.dice.chance(0.4) else LIVE)
    else:
        head = f"for _ in range({pen.dice.number(1, 3)})"
        written = expression(pen, inner, "S", LIVE)
    if written.live is not Live.YES:
        leaf = next((v for v in scope.variables if v.leaf and v.live is Live.YES), None)
        text = f"{written.text} * {leaf.name}.sum()" if leaf else written.text
    else:
        text = written.text
    pen.write(f"{name} = {pen.dice.pick(('[{}]', 'list({})')).format(f'{text} {head}')}")


def _appended(pen: Pen, scope: Scope, name: str) -> None:
    pen.write(f"{name} = []")
    with pen.page.block(f"for _ in range({pen.dice.number(1, 3)}):"):
        inner = scope.inner(loop=True)
        if pen.dice.chance(0.4):
            pen.body(inner, 1)
        loss = expression(pen, inner, "S", LIVE).text
        pen.write(
            pen.dice.pick(
                (f"{name}.append({loss})", f"{name}.append({loss})", f"{name} += [{loss}]", f"{name}.insert(0, {loss})")
            )
        )
        if pen.dice.chance(0.25):
            flags, _ = keep(pen, scope)
            if pen.dice.chance(0.6):
                pen.write(f"sum({name}).backward({flags})")
            else:
                pen.write(f"{name}[-1].backward({flags})")
            scope.spend()


def _consumed(pen: Pen, scope: Scope, name: str) -> None:
    """The list's end: summed and walked, walked one by one, or a name for its sum."""
    flags, kept = keep(pen, scope)
    choice = pen.dice.number(0, 5)
    if choice < 2:
        total = pen.dice.pick(_SUMS).replace("{}", name)
        pen.write(f"{f'({total})' if '/' in total else total}.backward({flags})")
    elif choice == 2:
        pen.tag("loop over losses")
        with pen.page.block(f"for term in {pen.dice.pick((name, name, f'reversed({name})', f'{name}[:2]'))}:"):
            pen.write(f"term.backward({flags})")
    elif choice == 3:
        total = pen.name("total")
        pen.write(f"{total} = {pen.dice.pick(_SUMS).replace('{}', name)}")
        bind(scope, total, "S", Written(total, Live.YES))
        return
    elif choice == 4:
        pen.tag("several roots")
        pen.write(f"torch.autograd.backward({', '.join(filter(None, (name, flags)))})")
    else:
        pen.tag("pop")
        pen.write(f"{name}.pop().backward({flags})")
    if not kept:
        scope.spend()


def named_terms(pen: Pen, scope: Scope) -> None:
    """A dict of losses."""
    if not scope.grad:
        return
    name = pen.name("parts")
    pen.tag("dict of losses")
    keys = pen.dice.some(("data", "prior", "aux"), 2, 3)
    items = ", ".join(f'"{key}": {expression(pen, scope, "S", LIVE).text}' for key in keys)
    pen.write(f"{name} = {{{items}}}")
    flags, kept = keep(pen, scope)
    choice = pen.dice.number(0, 4)
    if choice == 0:
        pen.write(f"sum({name}.values()).backward({flags})")
    elif choice == 1:
        pen.tag("loop over losses")
        form = pen.dice.pick((f"for term in {name}.values():", f"for key, term in {name}.items():"))
        with pen.page.block(form):
            pen.write(f"term.backward({flags})")
    elif choice == 2:
        with pen.page.block(f"for key in {name}:"):
            pen.write(f"{name}[key].backward({flags})")
    else:
        for key in keys:
            scope.add(Variable(f'{name}["{key}"]', "S", Live.YES))
        return
    if not kept:
        scope.spend()


def yielded(pen: Pen, scope: Scope) -> None:
    """A generator of losses, walked as they come."""
    if not scope.grad:
        return
    name = pen.name("make_losses")
    pen.tag("generator")
    with pen.page.block(f"def {name}():"):
        inner = scope.function()
        if pen.dice.chance(0.5):
            with pen.page.block(f"for _ in range({pen.dice.number(1, 3)}):"):
                pen.write(f"yield {expression(pen, inner, 'S', LIVE).text}")
        else:
            pen.body(inner, 1)
            for _ in range(pen.dice.number(1, 2)):
                pen.write(f"yield {expression(pen, inner, 'S', LIVE).text}")
    flags, kept = keep(pen, scope)
    if pen.dice.chance(0.7):
        with pen.page.block(f"for term in {name}():"):
            pen.write(f"term.backward({flags})")
    else:
        pen.write(f"sum({name}()).backward({flags})")
    if not kept:
        scope.spend()
