"""Statements in Python's richer spellings: contexts, configurations, records, recursion, decorators, globals."""

from __future__ import annotations

from benchmarks.truth.assignments import bind, define
from benchmarks.truth.expressions import ANY, LIVE, Wish, Written, expression
from benchmarks.truth.operations import Operation
from benchmarks.truth.pen import Pen
from benchmarks.truth.scope import Live, Procedure, Scope, Variable
from benchmarks.truth.walks import keep, root


def configuration(pen: Pen, scope: Scope) -> None:
    """Settings whose values stand in the source; they serve as flags."""
    if scope.depth != 0:
        return
    name = pen.name("config")
    pen.tag("config")
    first, second = pen.dice.pick(("True", "False")), pen.dice.pick(("True", "False"))
    if pen.dice.chance(0.5):
        pen.write(f'{name} = {{"keep": {first}, "warm": {second}}}')
        scope.flags += [f'{name}["keep"]', f'{name}.get("warm", False)']
    else:
        with pen.page.block(f"class {name.title()}:"):
            pen.write(f"keep = {first}")
            pen.write(f"warm = {second}")
        pen.write(f"{name} = {name.title()}()")
        scope.flags += [f"{name}.keep", f"{name}.warm"]


def record(pen: Pen, scope: Scope) -> None:
    """State kept in a dataclass, a named tuple, a dict or a list."""
    if not scope.grad or scope.depth != 0:
        return
    name = pen.name("memory")
    first, second = expression(pen, scope, "A", LIVE, 1), expression(pen, scope, "S", ANY, 1)
    kind = pen.dice.number(0, 3)
    pen.tag(("dataclass", "named tuple", "dict state", "list state")[kind])
    if kind == 0:
        pen.write("import dataclasses")
        pen.write("@dataclasses.dataclass")
        with pen.page.block(f"class {name.title()}:"):
            pen.write("hidden: torch.Tensor")
            pen.write("cost: object = None")
        pen.write(f"{name} = {name.title()}({first.text}, cost={second.text})")
    elif kind == 1:
        pen.write("import collections")
        pen.write(f'{name.title()} = collections.namedtuple("{name.title()}", ["hidden", "cost"])')
        pen.write(f"{name} = {name.title()}({first.text}, {second.text})")
    elif kind == 2:
        pen.write(f'{name} = {{"hidden": {first.text}, "cost": {second.text}}}')
    else:
        pen.write(f"{name} = [{first.text}, {second.text}]")
    paths = ((".hidden", ".cost"), (".hidden", ".cost"), ('["hidden"]', '["cost"]'), ("[0]", "[1]"))[kind]
    for path, shape, written in zip(paths, "AS", (first, second)):
        variable = bind(scope, f"{name}{path}", shape, written)
        if kind == 1:
            scope.owned.discard(variable)


def recursion(pen: Pen, scope: Scope) -> None:
    """A function that calls itself a known number of times."""
    if scope.depth != 0 or not scope.grad:
        return
    name, turns = pen.name("unroll"), pen.dice.number(1, 3)
    pen.tag("recursion")
    body = scope.function("A")
    body.calm = True
    target = body.add(Variable("t2", "A", Live.MAYBE, solid=False))
    with pen.page.block(f"def {name}(t2, depth):"):
        with pen.page.block("if depth == 0:"):
            pen.write("return t2")
        step = expression(pen, body, "A", Wish(must=target), 1).text
        pen.write(f"return {name}({step}, depth - 1)")
    scope.callables.append(Operation((), "A", f"{name}({{A}}, {turns})", thin=True, passes=False))


def descent(pen: Pen, scope: Scope) -> None:
    """A function that walks, and calls itself with a smaller number or a shorter list."""
    if scope.depth != 0 or not scope.grad:
        return
    name, loss = pen.name("descend"), pen.name("goal")
    pen.tag("recursion", "descent")
    if pen.dice.chance(0.5):
        depth = pen.dice.number(1, 4)
        with pen.page.block(f"def {name}({loss}, depth={depth}):"), pen.page.block("if depth > 0:"):
            retain = pen.dice.pick(("depth > 1", "depth > 1", "depth > 0", "True", "depth != 2", "False"))
            pen.write(f"{loss}.backward(retain_graph={retain})")
            pen.write(f"{name}({loss}, depth - 1)")
        scope.procedures.append(Procedure(name, ("S",)))
        return
    with pen.page.block(f"def {name}({loss}):"):
        with pen.page.block(f"if len({loss}) == 0:"):
            pen.write("return")
        pen.write(f"{loss}[0].backward({keep(pen, scope)[0]})")
        pen.write(f"{name}({loss}[1:])")
    goals = [expression(pen, scope, "S", LIVE, 2).text for _ in range(pen.dice.number(1, 3))]
    pen.write(f"{name}([{', '.join(goals)}])")
    if not pen.dice.chance(pen.slips):
        scope.spend()


def guarded(pen: Pen, scope: Scope) -> None:
    """A context manager of the program's own around a walk."""
    if scope.depth > 1 or not scope.grad:
        return
    name = pen.name("timed")
    pen.tag("context manager")
    if pen.dice.chance(0.5):
        pen.write("import contextlib")
        pen.write("@contextlib.contextmanager")
        with pen.page.block(f"def {name}():"):
            if scope.optimizers:
                pen.write(f"{scope.optimizers[0]}.zero_grad()")
            pen.write("yield")
            if scope.optimizers and pen.dice.chance(0.5):
                pen.write(f"{scope.optimizers[0]}.step()")
    else:
        with pen.page.block(f"class {name}:"):
            with pen.page.block("def __enter__(self):"):
                pen.write("return self")
            with pen.page.block("def __exit__(self, *error):"):
                pen.write(pen.dice.pick(("return False", "pass", "print('left')")))
    for _ in range(pen.dice.number(1, 2)):
        with pen.page.block(f"with {name}():"):
            pen.write(f"{root(pen, scope).name}.backward({keep(pen, scope)[0]})")
    scope.spend()


def graded(pen: Pen, scope: Scope) -> None:
    """A forward whose mode depends on a flag, or that turns gradients on again."""
    if not scope.grad:
        return
    pen.tag("grad mode")
    name = pen.name("forward")
    mode = pen.dice.pick(scope.flags) if scope.flags and pen.dice.chance(0.6) else "True"
    with pen.page.block(pen.dice.pick((f"with torch.set_grad_enabled({mode}):", "with torch.enable_grad():"))):
        written = expression(pen, scope, "A", LIVE)
        pen.write(f"{name} = {written.text}")
    scope.add(Variable(name, "A", Live.MAYBE, solid=False))
    if pen.dice.chance(0.5):
        pen.write("with torch.no_grad(), torch.enable_grad():")
        pen.write(f"    {name} = {name} * 1.0")


def freeze(pen: Pen, scope: Scope) -> None:
    """A network or a parameter that stops needing a gradient."""
    if scope.depth != 0 or not scope.models:
        return
    pen.tag("frozen")
    model = pen.dice.pick(scope.models)
    if pen.dice.chance(0.5):
        pen.write(f"{model}.requires_grad_(False)")
    else:
        with pen.page.block(f"for p in {model}.parameters():"):
            pen.write("p.requires_grad = False")
    scope.callables = [
        Operation(one.rows, one.shape, one.template, one.light, one.thin, False, one.passes)
        if one.template.startswith(f"{model}(")
        else one
        for one in scope.callables
    ]


def mapped(pen: Pen, scope: Scope) -> None:
    """`sum(map(...))`, functools.partial, starred arguments, a walrus, an f-string: other ways to the same walk."""
    if not scope.grad:
        return
    flags, kept = keep(pen, scope)
    choice = pen.dice.number(0, 4)
    leaf = next((v for v in scope.variables if v.leaf and v.live is Live.YES), None)
    if choice == 0 and scope.batches and leaf:
        pen.tag("map")
        pen.write(
            f"sum(map(lambda each: each.sum() * {leaf.name}.exp().sum(), {pen.dice.pick(scope.batches)})).backward({flags})"
        )
    elif choice == 1:
        pen.tag("functools.partial")
        loss = root(pen, scope)
        pen.write("import functools")
        pen.write(f"again = functools.partial({loss.name}.backward{', ' if flags else ''}{flags})")
        pen.write("again()")
    elif choice == 2:
        pen.tag("walrus")
        name = pen.name("loss")
        written = expression(pen, scope, "S", LIVE)
        pen.write(f"({name} := {written.text}).backward({flags})")
        bind(scope, name, "S", written)
    elif choice == 3:
        pen.tag("star arguments")
        first = root(pen, scope).name
        pen.write(f"options = {{'retain_graph': {pen.dice.pick(('True', 'False'))}}}")
        pen.write(f"{first}.backward(**options)")
    else:
        pen.tag("bound method")
        pen.write(f"go = {root(pen, scope).name}.backward")
        pen.write(f"go({flags})")
    if not kept:
        scope.spend()


def shared_state(pen: Pen, scope: Scope) -> None:
    """A function with `global` state that it walks through each time."""
    if scope.depth != 0 or not scope.grad or pen.page.indented:
        return
    state, name = pen.name("carry"), pen.name("advance")
    pen.tag("global")
    pen.write(f"{state} = {pen.dice.pick(('torch.zeros(4, 3)', 'torch.randn(4, 3)'))}")
    body = scope.function("nothing")
    body.add(Variable("t3", "A", Live.MAYBE, solid=False))
    with pen.page.block(f"def {name}(t3):"):
        pen.write(f"global {state}")
        body.add(Variable(state, "A", Live.MAYBE, solid=False))
        pen.write(
            f"{state} = {pen.dice.pick(('torch.tanh({} + {})', '{} + ({})', '{} - ({})')).format(state, expression(pen, body, 'A', LIVE, 1).text)}"
        )
        pen.write(f"{state}.{pen.dice.pick(('sum()', 'pow(2).mean()'))}.backward({keep(pen, body)[0]})")
        if pen.dice.chance(0.6):
            pen.write(f"{state} = {state}.detach()")
    scope.procedures += [Procedure(name, ("A",))] * 2


def endless(pen: Pen, scope: Scope) -> None:
    """`while True` with a counter and a break."""
    if scope.depth > 1 or scope.loops > 1:
        return
    counter = pen.name("count")
    pen.tag("while", "break or continue")
    pen.write(f"{counter} = 0")
    inner = scope.inner(loop=True)
    inner.in_loop = False
    inner.counters.append(counter)
    if not pen.dice.chance(pen.slips):
        scope.spend()
    with pen.page.block("while True:"):
        pen.body(inner, pen.dice.number(1, 3))
        pen.write(f"{counter} += 1")
        with pen.page.block(f"if {counter} {pen.dice.pick(('== 2', '>= 1', '> 2'))}:"):
            pen.write("break")
        pen.body(inner, pen.dice.number(0, 1))
    scope.spend()


def matched(pen: Pen, scope: Scope) -> None:
    """`match` over a name known in the source, or over a flag."""
    if scope.depth > 1:
        return
    pen.tag("match")
    pen.write(f'phase = "{pen.dice.pick(("train", "eval"))}"')
    with pen.page.block(f"match {pen.dice.pick([*scope.flags, 'phase'])}:"):
        for case in ('"train" | True', "_"):
            with pen.page.block(f"case {case}:"):
                pen.body(scope.inner(), pen.dice.number(1, 2))


def starred(pen: Pen, scope: Scope) -> None:
    """A helper of any number of losses."""
    if scope.depth != 0 or not scope.grad:
        return
    name = pen.name("combine")
    pen.tag("star arguments")
    with pen.page.block(f"def {name}(*terms, weight=1.0):"):
        if pen.dice.chance(0.5):
            pen.write("total = 0")
            with pen.page.block("for term in terms:"):
                pen.write("total = total + weight * term")
            pen.write("return total")
        else:
            pen.write(
                pen.dice.pick(("return sum(terms)", "return torch.stack(terms).sum()", "return terms[0] + terms[-1]"))
            )
    template = pen.dice.pick(
        (f"{name}({{S}}, {{S}})", f"{name}({{S}}, {{S}}, {{S}}, weight=0.5)", f"{name}(*[{{S}}, {{S}}])")
    )
    scope.callables += [Operation((), "S", template, thin=True, passes=False)] * 2


def decorated(pen: Pen, scope: Scope) -> None:
    """A decorator of the program's own around a function that walks."""
    if scope.depth != 0 or not scope.grad:
        return
    wrapper, name = pen.name("logged"), pen.name("run")
    pen.tag("decorator")
    with pen.page.block(f"def {wrapper}(func):"):
        with pen.page.block("def inner(*args, **kwargs):"):
            if pen.dice.chance(0.3):
                pen.write("func(*args, **kwargs)")
            pen.write("return func(*args, **kwargs)")
        pen.write("return inner")
    body = scope.function("nothing")
    body.add(Variable("t4", "A", Live.MAYBE, solid=False))
    pen.write(f"@{wrapper}")
    with pen.page.block(f"def {name}(t4):"):
        pen.body(body, pen.dice.number(0, 2))
        pen.write(f"{root(pen, body).name}.backward({keep(pen, body)[0]})")
    scope.procedures.append(Procedure(name, ("A",)))


def queued(pen: Pen, scope: Scope) -> None:
    """A queue of tensors over turns: recent ones go into the loss, cut or not."""
    if scope.depth > 1 or not scope.grad:
        return
    name = pen.name("recent")
    pen.tag("deque")
    pen.write("import collections")
    pen.write(f"{name} = collections.deque(maxlen={pen.dice.number(1, 3)})")
    inner = scope.inner(loop=True)
    if not pen.dice.chance(pen.slips):
        scope.spend()
    with pen.page.block(f"for _ in range({pen.dice.number(2, 3)}):"):
        made = define(pen, inner, "A", LIVE, depth=1).name
        cut = pen.dice.pick((".detach()", ".detach()", ""))
        before = pen.dice.chance(0.5)
        if before:
            pen.write(f"{name}.append({made}{cut})")
        term = f"torch.stack(list({name})).mean()" if before else f"sum(each.mean() for each in {name})"
        pen.write(f"({made}.pow(2).sum() + {term}).backward({keep(pen, inner)[0]})")
        if not before:
            pen.write(f"{name}.append({made}{cut})")
    scope.spend()


def recomputed(pen: Pen, scope: Scope) -> None:
    """A custom autograd.Function, or a checkpointed helper."""
    if scope.depth != 0 or not scope.grad:
        return
    if pen.dice.chance(0.5):
        pen.tag("checkpoint")
        pen.write("from torch.utils.checkpoint import checkpoint")
        name = pen.name("piece")
        body = scope.function("A")
        target = body.add(Variable("t5", "A", Live.MAYBE, solid=False))
        with pen.page.block(f"def {name}(t5):"):
            pen.write(f"return {expression(pen, body, 'A', Wish(must=target), 2).text}")
        call = f"checkpoint({name}, {{A}}, use_reentrant=False)"
        scope.callables += [Operation((), "A", call, thin=True, passes=False)] * 2
        return
    name = pen.name("Scaled")
    saves = pen.dice.chance(0.6)
    pen.tag("autograd.Function")
    with pen.page.block(f"class {name}(torch.autograd.Function):"):
        pen.write("@staticmethod")
        with pen.page.block("def forward(ctx, value):"):
            if saves:
                pen.write("ctx.save_for_backward(value)")
            pen.write("return value * 2")
        pen.write("@staticmethod")
        with pen.page.block("def backward(ctx, slope):"):
            if saves:
                pen.write("value, = ctx.saved_tensors")
            pen.write("return slope * 2")
    scope.callables += [Operation((), "A", f"{name}.apply({{A}})", light=not saves, thin=True)] * 2


def hopeless(pen: Pen, scope: Scope) -> None:
    """A look at the loss's value that may end a loop, and never does."""
    if not scope.in_loop:
        return
    scalars = [v.name for v in scope.tensors("S") if "[" not in v.name]
    if scalars:
        pen.tag("early stop")
        with pen.page.block(f"if {pen.dice.pick(scalars)}.item() > 1e30:"):
            pen.write("break")


def unpacked(pen: Pen, scope: Scope) -> None:
    """A helper that returns several tensors."""
    if scope.depth != 0 or not scope.grad:
        return
    name = pen.name("heads")
    pen.tag("several results")
    body = scope.function()
    body.calm = True
    body.add(Variable("t6", "A", Live.MAYBE, solid=False))
    with pen.page.block(f"def {name}(t6):"):
        pen.body(body, pen.dice.number(0, 2))
        left, right = expression(pen, body, "A", LIVE), expression(pen, body, "S", LIVE)
        pen.write(f"return {left.text}, {right.text}")
    first, second = pen.name("left"), pen.name("right")
    pen.write(f"{first}, {second} = {name}({expression(pen, scope, 'A', ANY, 1).text})")
    bind(scope, first, "A", Written(first, left.live, thin=True))
    bind(scope, second, "S", Written(second, right.live))
