"""Functions of a program: helpers that compute, procedures that walk, lambdas, closures."""

from __future__ import annotations

from benchmarks.truth.expressions import LIVE, Wish, Written, expression
from benchmarks.truth.operations import Operation
from benchmarks.truth.pen import Pen
from benchmarks.truth.scope import Live, Procedure, Scope, Variable
from benchmarks.truth.walks import keep, root

_HEADS = ("measure", "encode", "shift", "mixture", "project", "features_of", "score")


def helper(pen: Pen, scope: Scope) -> None:
    """A function that computes a tensor from one or two."""
    if scope.depth >= 2:
        return
    name = pen.name(pen.dice.pick(_HEADS))
    shapes = [pen.dice.pick("AAAV") for _ in range(pen.dice.number(1, 2))]
    gives = pen.dice.pick("AASS")
    pen.tag("helper" if scope.depth == 0 else "closure")
    body = scope.function(gives)
    body.calm = True
    parameters = [_parameter(pen, body, shape) for shape in shapes]
    heads = [v.name for v in parameters]
    if pen.dice.chance(0.25):
        flag = pen.name("mode")
        body.flags.append(flag)
        heads.append(f"{flag}={pen.dice.pick(('True', 'False'))}")
        pen.tag("default argument")
    if pen.dice.chance(0.06):
        pen.tag("no_grad decorator")
        pen.write("@torch.no_grad()")
        body.grad = False
    with pen.page.block(f"def {name}({', '.join(heads)}):"):
        written = _computed(pen, body, parameters, gives)
    places = ", ".join(f"{{{shape}}}" for shape in shapes)
    scope.callables.append(
        Operation((), gives, f"{name}({places})", live=written.live is Live.YES, thin=True, passes=False)
    )


def _parameter(pen: Pen, body: Scope, shape: str) -> Variable:
    return body.add(Variable(pen.name("t"), shape, Live.MAYBE, solid=pen.dice.chance(0.3)))


def _computed(pen: Pen, body: Scope, parameters: list[Variable], gives: str) -> Written:
    """The function's statements and its `return`."""
    pen.body(body, pen.dice.number(0, 3))
    must = pen.dice.pick([v for v in parameters if v in body.variables] or parameters[:1])
    if must not in body.variables:
        written = expression(pen, body, gives, LIVE)
    else:
        written = expression(pen, body, gives, Wish(must=must) if pen.dice.chance(0.7) else LIVE)
    if pen.dice.chance(pen.cuts):
        pen.tag("cut in a helper")
        pen.write(f"return ({written.text}).detach()")
        return Written("", Live.NO)
    pen.write(f"return {written.text}")
    return written


def anonymous(pen: Pen, scope: Scope) -> None:
    """`scale = lambda t: ...`."""
    name, shape, gives = pen.name("apply"), pen.dice.pick("AV"), pen.dice.pick("AS")
    body = scope.function()
    target = body.add(Variable("t0", shape, Live.MAYBE))
    written = expression(pen, body, gives, Wish(must=target))
    pen.tag("lambda")
    pen.write(f"{name} = lambda t0: {written.text}")
    scope.callables.append(Operation((), gives, f"{name}({{{shape}}})", live=written.live is Live.YES, thin=True))


def procedure(pen: Pen, scope: Scope) -> None:
    """A function that walks: a training step, a walk with its flag as an argument."""
    if scope.depth != 0:
        return
    pen.tag("procedure")
    if pen.dice.chance(0.3):
        return _walker(pen, scope)
    name = pen.name(pen.dice.pick(("train_step", "update", "fit", "learn")))
    body = scope.function(gives="nothing")
    batch = _parameter(pen, body, "A")
    flag = pen.name("keep")
    flags = pen.dice.number(0, 1)
    if flags:
        body.flags.append(flag)
    header = f"def {name}({batch.name}{f', {flag}={pen.dice.pick(BOOLEANS)}' if flags else ''}):"
    with pen.page.block(header):
        pen.body(body, pen.dice.number(2, 5))
        pen.write(f"{root(pen, body).name}.backward({keep(pen, body)[0]})")
    scope.procedures.append(Procedure(name, ("A",), flags))
    return None


BOOLEANS = ("True", "False")


def _walker(pen: Pen, scope: Scope) -> None:
    """`def walk(loss, keep=False): loss.backward(retain_graph=keep)`."""
    name, loss, flag = pen.name("walk"), pen.name("objective"), pen.name("keep")
    with pen.page.block(f"def {name}({loss}, {flag}={pen.dice.pick(BOOLEANS)}):"):
        if scope.optimizers and pen.dice.chance(0.3):
            pen.write(f"{pen.dice.pick(scope.optimizers)}.zero_grad()")
        if pen.dice.chance(0.2):
            pen.write(f"if {flag}:")
            pen.write(f"    {loss}.backward(retain_graph=True)")
            pen.write("else:")
            pen.write(f"    {loss}.backward()")
        else:
            pen.write(f"{loss}.backward(retain_graph={flag})")
        if scope.optimizers and pen.dice.chance(0.3):
            pen.write(f"{pen.dice.pick(scope.optimizers)}.step()")
    scope.procedures.append(Procedure(name, ("S",), 1))


def call(pen: Pen, scope: Scope) -> None:
    """A procedure, called for what it does."""
    if scope.procedures:
        _called(pen, scope, pen.dice.pick(scope.procedures))


def call_all(pen: Pen, scope: Scope) -> None:
    """Each procedure that wasn't called yet, or only in a block that may never run."""
    for procedure in scope.procedures:
        if procedure.name not in pen.called:
            _called(pen, scope, procedure)


def use_all(pen: Pen, scope: Scope) -> None:
    """Each function that computes, if nothing used it: what never runs, torch doesn't judge."""
    body = "\n".join(pen.page.lines)
    for operation in dict.fromkeys(scope.callables):
        name = operation.template.partition("(")[0]
        if body.count(f"{name}(") < 2:
            pen.write(f"print({operation.filled([f'torch.ones({SIZES[place]})' for place in operation.places])}.shape)")


SIZES = {"A": "4, 3", "M": "3, 3", "V": "3", "S": "()"}


def _called(pen: Pen, scope: Scope, procedure: Procedure) -> None:
    if scope.depth == 0:
        pen.called.add(procedure.name)
    arguments = []
    for shape in procedure.shapes:
        live = shape == "S"
        arguments.append(
            root(pen, scope).name if live else expression(pen, scope, shape, depth=pen.dice.number(0, 1)).text
        )
    if procedure.flags and pen.dice.chance(0.6):
        options = [*BOOLEANS, *scope.flags]
        options += [f"{i} < 1" for i in scope.counters]
        arguments.append(pen.dice.pick(options))
    pen.tag("procedure called")
    pen.write(f"{procedure.name}({', '.join(arguments)})")
    if not pen.dice.chance(pen.slips):
        scope.spend()


def closure(pen: Pen, scope: Scope) -> None:
    """A nested function over the names around it, with `nonlocal` state of its own: a factory of steps."""
    if scope.depth != 0 or not scope.grad:
        return
    factory, inner_name, kept, made = pen.name("make_step"), pen.name("step"), pen.name("last"), pen.name("advance")
    pen.tag("closure", "nonlocal")
    body = scope.function()
    with pen.page.block(f"def {factory}():"):
        pen.write(f"{kept} = {expression(pen, body, 'A', LIVE if pen.dice.chance(0.4) else Wish(), 1).text}")
        with pen.page.block(f"def {inner_name}(t1):"):
            pen.write(f"nonlocal {kept}")
            inner = body.function(gives="nothing")
            inner.add(Variable("t1", "A", Live.MAYBE, solid=False))
            state = inner.add(Variable(kept, "A", Live.MAYBE))
            inner.born.discard(state)
            fresh = expression(pen, inner, "A", LIVE, 1).text
            pen.write(
                f"{kept} = {pen.dice.pick(('torch.tanh({} + {})', '{} + ({})', '0.5 * {} + ({})')).format(kept, fresh)}"
            )
            pen.write(f"{kept}.{pen.dice.pick(('sum()', 'pow(2).mean()'))}.backward({keep(pen, inner)[0]})")
            if pen.dice.chance(0.7):
                pen.write(f"{kept} = {kept}.detach()")
        pen.write(f"return {inner_name}")
    pen.write(f"{made} = {factory}()")
    scope.procedures.append(Procedure(made, ("A",)))
