"""Branches, loops, `with` blocks, `try`: statements that hold others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.truth.expressions import ANY, LIVE, expression
from benchmarks.truth.pen import Pen
from benchmarks.truth.scope import Live, Scope, Variable
from benchmarks.truth.walks import keep, walk

DEEPEST = 3


def condition(pen: Pen, scope: Scope) -> str:
    """Something to branch on: a flag, a turn of a loop."""
    options: list[str] = []
    if scope.flags:
        flag = pen.dice.pick(scope.flags)
        options += [flag, flag, f"not {flag}"]
    if len(scope.flags) > 1:
        first, second = pen.dice.some(scope.flags, 2, 2)
        options += [pen.dice.pick((f"{first} and {second}", f"{first} or {second}", f"{first} and not {second}"))]
    if scope.counters:
        i = pen.dice.pick(scope.counters)
        options += [f"{i} % 2 == 0", f"{i} == 1", f"{i} > 0", f"{i} < 1", f"{i} != 2", f"not {i}"]
    return pen.dice.pick(options) if options else pen.dice.pick(("True", "1 > 2", "torch.is_grad_enabled()"))


def branch(pen: Pen, scope: Scope) -> None:
    """`if`, with or without the other arm."""
    if scope.depth >= DEEPEST:
        return
    pen.tag("branch")
    before = [(v, v.spent) for v in scope.variables]
    with pen.page.block(f"if {condition(pen, scope)}:"):
        _arm(pen, scope)
    if pen.dice.chance(0.45):
        for variable, spent in before:
            variable.spent = spent
        if scope.flags and pen.dice.chance(0.2):
            with pen.page.block(f"elif {condition(pen, scope)}:"):
                _arm(pen, scope)
        with pen.page.block("else:"):
            _arm(pen, scope)


def _arm(pen: Pen, scope: Scope) -> None:
    inner = scope.inner()
    pen.body(inner, pen.dice.number(1, 3))
    if scope.in_loop and pen.dice.chance(0.12):
        pen.tag("break or continue")
        pen.write(pen.dice.pick(("break", "continue")))
    elif scope.gives in SHAPED and pen.dice.chance(0.15):
        pen.tag("early return")
        pen.write(f"return {expression(pen, inner, scope.gives, LIVE).text}")
    elif scope.gives == "nothing" and pen.dice.chance(0.1):
        pen.tag("early return")
        pen.write("return")


SHAPED = ("A", "M", "V", "S")


def choice(pen: Pen, scope: Scope) -> None:
    """A value that depends on a condition: `a if flag else b`, or a name bound in both arms."""
    shape = pen.dice.pick("AAS")
    left, right = expression(pen, scope, shape, LIVE), expression(pen, scope, shape, LIVE)
    name = pen.name("chosen")
    pen.tag("conditional value")
    test = condition(pen, scope)
    if pen.dice.chance(0.5):
        pen.write(f"{name} = {left.text} if {test} else {right.text}")
    else:
        with pen.page.block(f"if {test}:"):
            pen.write(f"{name} = {left.text}")
        with pen.page.block("else:"):
            pen.write(f"{name} = {right.text}")
    live = left.live if left.live is right.live else Live.MAYBE
    scope.add(Variable(name, shape, live, light=left.light and right.light, solid=not (left.thin or right.thin)))


# -- loops --------------------------------------------------------------------------------------------------------


def loop(pen: Pen, scope: Scope) -> None:
    """A loop over turns, batches, tensors; what is born outside counts as walked before, to a careful author."""
    if scope.depth >= DEEPEST or scope.loops >= 2:
        return
    pen.tag("nested loop" if scope.loops else "loop")
    kind = pen.dice.number(0, 9)
    if kind < 2:
        return _while(pen, scope)
    inner = scope.inner(loop=True)
    with pen.page.block(_header(pen, inner, kind)):
        _turn(pen, scope, inner)
    return _otherwise(pen, scope)


def _turn(pen: Pen, scope: Scope, inner: Scope) -> None:
    if not pen.dice.chance(pen.slips):
        scope.spend()
    pen.body(inner, pen.dice.number(2, 5))
    if pen.dice.chance(0.3):
        walk(pen, inner)
    if not pen.dice.chance(pen.slips):
        scope.spend()


def _otherwise(pen: Pen, scope: Scope) -> None:
    if pen.dice.chance(0.07):
        pen.tag("loop else")
        with pen.page.block("else:"):
            pen.body(scope.inner(), pen.dice.number(1, 2))


def _header(pen: Pen, inner: Scope, kind: int) -> str:
    """The loop's header; its targets are added to the scope of the body."""
    turns = pen.dice.number(1, 3)
    if kind < 5 or not inner.batches:
        counter = pen.name(pen.dice.pick(("i", "epoch", "turn")))
        inner.counters.append(counter)
        return f"for {counter} in range({pen.dice.pick((f'{turns}', f'{turns}', f'1, {turns + 1}', 'TURNS'))}):"
    batches = pen.dice.pick(inner.batches)
    if kind == 5:
        return f"for {_target(pen, inner)} in {batches}:"
    if kind == 6:
        pen.tag("enumerate")
        counter = pen.name("i")
        inner.counters.append(counter)
        return f"for {counter}, {_target(pen, inner)} in enumerate({batches}):"
    if kind == 7:
        pen.tag("zip")
        other = pen.dice.pick(inner.batches)
        return f"for {_target(pen, inner)}, {_target(pen, inner)} in zip({batches}, {other}):"
    live = [v for v in inner.variables if v.live is Live.YES and v.shape == "S" and not v.spent]
    if kind == 8 and live:
        pen.tag("loop over losses")
        names = [v.name for v in pen.dice.some(live, 2, 3)]
        target = Variable(pen.name("term"), "S", Live.YES, solid=False)
        inner.add(target)
        return f"for {target.name} in {'[{}]' if pen.dice.chance(0.5) else '({},)'}:".format(", ".join(names))
    pen.tag("reversed")
    return (
        f"for {_target(pen, inner)} in {pen.dice.pick((f'reversed({batches})', f'{batches}[:2]', f'list({batches})'))}:"
    )


def _target(pen: Pen, inner: Scope) -> str:
    name = pen.name(pen.dice.pick(("x", "batch")))
    inner.add(Variable(name, "A", Live.NO, light=True, solid=False))
    return name


def _while(pen: Pen, scope: Scope) -> None:
    counter = pen.name("count")
    pen.tag("while")
    pen.write(f"{counter} = 0")
    inner = scope.inner(loop=True)
    inner.counters.append(counter)
    with pen.page.block(f"while {counter} < {pen.dice.number(1, 3)}:"):
        pen.write(f"{counter} += 1")
        _turn(pen, scope, inner)
    _otherwise(pen, scope)


def carried(pen: Pen, scope: Scope) -> None:
    """State that a loop takes from turn to turn: hidden, a running total, something made at the first turn."""
    if scope.depth >= DEEPEST or scope.loops >= 2 or not scope.grad:
        return
    shape = pen.dice.pick("AAAS")
    state = pen.name(pen.dice.pick(("hidden", "state") if shape == "A" else ("total", "running")))
    late = pen.dice.chance(0.3)
    start = {"A": ("torch.zeros(4, 3)", "torch.randn(4, 3)"), "S": ("0.0", "torch.zeros(())")}[shape]
    pen.tag("carried")
    pen.write(f"{state} = {'None' if late else pen.dice.pick(start)}")
    inner = scope.inner(loop=True)
    if not pen.dice.chance(pen.slips):
        scope.spend()
    with pen.page.block(_header(pen, inner, pen.dice.number(2, 7))):
        variable = Variable(state, shape, Live.MAYBE, solid=False)
        if late:
            pen.tag("is None")
            with pen.page.block(f"if {state} is None:"):
                pen.write(f"{state} = {expression(pen, inner, shape, LIVE, 1).text}")
        if shape == "A":  # a total may be a number until it is added to
            inner.add(variable)
            inner.born.discard(variable)
        _advance(pen, inner, variable)
        _cut_state(pen, variable)
    scope.spend()


def _advance(pen: Pen, inner: Scope, variable: Variable) -> None:
    """One turn: the state goes into its next value, and usually into a loss that is walked."""
    fresh = expression(pen, inner, variable.shape, LIVE)
    template = pen.dice.pick(("{0} + {1}", "{0} * 0.9 + {1}", "torch.tanh({0} + {1})", "{1} - {0}"))
    if variable.shape == "S":
        template = pen.dice.pick(("{0} + {1}", "{0} + {1}", "{0} * 0.9 + {1}", "{1} + {0}"))
    elif inner.callables and pen.dice.chance(0.4):
        template = "{2}"
    text = fresh.text if fresh.text.isidentifier() else f"({fresh.text})"
    pen.write(f"{variable.name} = {template.format(variable.name, text, f'{variable.name} + {text}')}")
    variable.live, variable.light = Live.YES, False
    if variable.shape == "S":
        inner.variables.append(variable)
    pen.body(inner, pen.dice.number(0, 2))
    flags, kept = keep(pen, inner)
    head = (
        variable.name
        if variable.shape == "S"
        else f"{variable.name}.{pen.dice.pick(('sum()', 'pow(2).mean()', 'mean()'))}"
    )
    if pen.dice.chance(0.3):
        head = f"({head} + {expression(pen, inner, 'S', ANY, 1).text})"
    if pen.dice.chance(0.85):
        pen.write(f"{head}.backward({flags})")
        if not kept:
            inner.spend()
    if pen.dice.chance(0.4) and inner.optimizers:
        pen.write(f"{pen.dice.pick(inner.optimizers)}.step()")


def _cut_state(pen: Pen, variable: Variable) -> None:
    if pen.dice.chance(0.75 - pen.slips):
        name = variable.name
        forms = [
            f"{name} = {name}.detach()",
            f"{name} = {name}.detach()",
            f"{name} = {name}.data",
            f"{name} = {name}.clone().detach()",
        ]
        if variable.shape == "S":
            forms.append(f"{name} = {name}.item()")
        pen.write(pen.dice.pick(forms))


# -- contexts -----------------------------------------------------------------------------------------------------


def without_grad(pen: Pen, scope: Scope) -> None:
    """A block under no_grad; what it computes has no graph."""
    if scope.depth >= DEEPEST:
        return
    pen.tag("no_grad")
    header = pen.dice.pick(("with torch.no_grad():", "with torch.no_grad():", "with torch.set_grad_enabled(False):"))
    with pen.page.block(header):
        inner = scope.inner()
        inner.grad = False
        before = len(inner.variables)
        pen.body(inner, pen.dice.number(1, 3))
    for variable in inner.variables[before:]:
        if variable.name.isidentifier() and variable in inner.born:
            scope.add(variable)
            variable.solid = False


_HANDLERS = ("except RuntimeError:", "except RuntimeError as failure:", "except Exception:", "except:")


def needless(pen: Pen, scope: Scope) -> None:
    """A `try` around what can't raise: its handler never runs, whatever stands there."""
    if scope.depth >= DEEPEST:
        return
    pen.tag("needless try")
    with pen.page.block("try:"):
        inner = scope.inner()
        inner.calm = True
        before = len(inner.variables)
        pen.body(inner, pen.dice.number(1, 2))
        pen.write("pass")
    with pen.page.block(pen.dice.pick(_HANDLERS)):
        pen.write("print('never')")
    for variable in inner.variables[before:]:
        if variable.name.isidentifier() and variable in inner.born:
            scope.add(variable)


def suppressed(pen: Pen, scope: Scope) -> None:
    """A walk whose failure is passed over."""
    if scope.depth >= DEEPEST:
        return
    pen.tag("suppress")
    pen.write("import contextlib")
    with pen.page.block("with contextlib.suppress(RuntimeError):"):
        inner = scope.inner()
        with slipping(pen, 0.6):
            walk(pen, inner)
    scope.spend()


def attempt(pen: Pen, scope: Scope) -> None:
    """A walk that may fail, and is expected to."""
    if scope.depth >= DEEPEST:
        return
    pen.tag("try")
    with pen.page.block("try:"):
        inner = scope.inner()
        with slipping(pen, 0.6):
            pen.body(inner, pen.dice.number(0, 1))
            walk(pen, inner)
    with pen.page.block(pen.dice.pick(_HANDLERS)):
        if pen.dice.chance(0.2):
            pen.tag("handler walks")
            walk(pen, scope.inner())
        else:
            pen.write(pen.dice.pick(("print('not again')", "pass", "print('failed')")))
    if pen.dice.chance(0.15):
        pen.tag("try else")
        with pen.page.block("else:"):
            walk(pen, scope.inner())
    if pen.dice.chance(0.2):
        with pen.page.block("finally:"):
            pen.write("print('done')")
    scope.spend()


@contextmanager
def slipping(pen: Pen, slips: float) -> Iterator[None]:
    """An author who is less careful for a while."""
    before, pen.slips = pen.slips, max(pen.slips, slips)
    yield
    pen.slips = before
