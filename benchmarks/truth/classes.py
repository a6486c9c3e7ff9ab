"""Classes of a program: networks with a `forward`, trainers whose state lives over several methods."""

from __future__ import annotations

from benchmarks.truth.expressions import ANY, LIVE, Wish, expression
from benchmarks.truth.layers import Layer, layers, stackable, weighted
from benchmarks.truth.operations import Operation
from benchmarks.truth.pen import Pen
from benchmarks.truth.scope import Gathered, Live, Procedure, Scope, Variable
from benchmarks.truth.walks import keep, root

PARAMETERS = {"A": "4, 3", "M": "3, 3", "V": "3"}


def use(layer: Layer, name: str) -> Operation:
    """A layer under a name, as something to call."""
    call = layer.call.replace("{m}", name)
    return Operation(layer.rows, layer.shape, call, layer.light, thin=True, live=layer.owns_weights)


def network(pen: Pen, scope: Scope) -> str:
    """An nn.Module with layers, parameters of its own, perhaps state; returns the class's name."""
    name = pen.name(pen.dice.pick(("Net", "Encoder", "Critic", "Block")))
    gives = pen.dice.pick("AAAS")
    pen.tag("nn.Module")
    body = Scope(flags=list(scope.flags), calm=True, depth=1, gives=gives)
    with pen.page.block(f"class {name}(nn.Module):"):
        with pen.page.block("def __init__(self):"):
            pen.write("super().__init__()")
            _fill(pen, body)
            stateful = pen.dice.chance(0.25)
            if stateful:
                pen.tag("state in forward")
                pen.write(f"self.memory = {pen.dice.pick(('torch.zeros(4, 3)', 'None'))}")
        pen.write("")
        with pen.page.block("def forward(self, x):"):
            _forward(pen, body, gives, stateful)
    return f"{name}:{gives}"


def _fill(pen: Pen, body: Scope) -> None:
    """Layers and parameters in `__init__`."""
    for number in range(pen.dice.number(1, 3)):
        layer = pen.dice.pick(layers()) if number else pen.dice.pick(weighted())
        attribute = f"self.{pen.name('fc' if 'Linear' in layer.made else 'layer')}"
        pen.write(f"{attribute} = {layer.made}")
        body.callables.append(use(layer, attribute))
        pen.rows.update(layer.rows)
    if pen.dice.chance(0.3):
        pen.tag("Sequential")
        inside = ", ".join(
            layer.made
            for layer in [pen.dice.pick(weighted()), *(pen.dice.pick(stackable()) for _ in "12")]
            if layer in stackable()
        )
        pen.write(f"self.body = nn.Sequential({inside or 'nn.Linear(3, 3)'})")
        body.callables.append(Operation((), "A", "self.body({A})", thin=True, live="Linear(" in inside))
    if pen.dice.chance(0.4):
        shape = pen.dice.pick("AMV")
        attribute = f"self.{pen.name('weight')}"
        pen.write(f"{attribute} = nn.Parameter(torch.randn({PARAMETERS[shape]}))")
        body.variables.append(Variable(attribute, shape, Live.YES, leaf=True))


def _forward(pen: Pen, body: Scope, gives: str, stateful: bool) -> None:
    x = body.add(Variable("x", "A", Live.MAYBE, solid=False))
    if stateful:
        _remember(pen, body, x)
    pen.body(body, pen.dice.number(0, 3))
    must = Wish(must=x) if x in body.variables and x.name == "x" and pen.dice.chance(0.6) else LIVE
    if must is not LIVE:
        written = expression(pen, body, gives, must)
        own = next(one for one in body.callables)
        if not own.places or own.shape != gives:
            pen.write(f"return {written.text}")
        else:
            pen.write(f"return {own.filled([_as(pen, body, place, written.text, gives) for place in own.places])}")
        return
    pen.write(f"return {expression(pen, body, gives, LIVE, 3).text}")


def _as(pen: Pen, body: Scope, place: str, text: str, shape: str) -> str:
    return text if place == shape else expression(pen, body, place, ANY, 1).text


def _remember(pen: Pen, body: Scope, x: Variable) -> None:
    with pen.page.block("if self.memory is None:"):
        pen.write("self.memory = torch.zeros_like(x)")
    fresh = expression(pen, body, "A", LIVE, 1).text
    pen.write(
        f"self.memory = {pen.dice.pick(('torch.tanh(self.memory + {})', '0.5 * self.memory + {}', 'self.memory - ({})')).format(fresh)}"
    )
    if pen.dice.chance(0.7):
        pen.write("out = self.memory")
        body.add(Variable("out", "A", Live.YES, solid=False))
        body.owned.clear()
        pen.write("self.memory = self.memory.detach()")
    else:
        body.variables.append(Variable("self.memory", "A", Live.YES))


def trainer(pen: Pen, scope: Scope, net: str) -> None:
    """A class that trains: its state in attributes, its work in several methods; and an object of it."""
    name, made = pen.name(pen.dice.pick(("Trainer", "Agent", "Learner"))), pen.name("trainer")
    pen.tag("trainer class")
    body = Scope(flags=list(scope.flags), batches=list(scope.batches), depth=1)
    base = _base(pen) if pen.dice.chance(0.3) else ""
    with pen.page.block(f"class {name}{f'({base})' if base else ''}:"):
        with pen.page.block("def __init__(self):"):
            if base:
                pen.write("super().__init__()")
            _own(pen, body, net)
        if pen.dice.chance(0.4):
            _property(pen, body)
        if pen.dice.chance(0.5):
            _method(pen, body)
        steps = [_step(pen, body, made) for _ in range(pen.dice.number(1, 2))]
        if base:
            steps.append(Procedure(f"{made}.keep_last", ("S",)))
    pen.write("")
    pen.write(f"{made} = {name}()")
    scope.procedures += steps * 3


def _base(pen: Pen) -> str:
    """A base class with a method that stores what it is given."""
    name = pen.name("Base")
    pen.tag("inheritance")
    with pen.page.block(f"class {name}:"):
        with pen.page.block("def __init__(self):"):
            pen.write("self.last = None")
        pen.write("")
        with pen.page.block("def keep_last(self, loss):"):
            if pen.dice.chance(0.6):
                with pen.page.block("if self.last is not None:"):
                    pen.write(
                        f"({pen.dice.pick(('self.last', 'loss + self.last', 'loss - self.last.detach()'))}).backward({pen.dice.pick(('', 'retain_graph=True'))})"
                    )
            pen.write(f"self.last = loss{pen.dice.pick(('', '.detach()', ' * 2'))}")
    pen.write("")
    return name


def _own(pen: Pen, body: Scope, net: str) -> None:
    """What `__init__` sets: parameters, a network, an optimiser, tensors, lists."""
    kind, gives = net.split(":")
    pen.write(f"self.net = {kind}()")
    body.callables += [Operation((), gives, "self.net({A})", thin=True, passes=False)] * 2
    shape = pen.dice.pick("AMV")
    pen.write(f"self.w = torch.randn({PARAMETERS[shape]}, requires_grad=True)")
    body.variables.append(Variable("self.w", shape, Live.YES, leaf=True))
    pen.write(
        f"self.optimizer = torch.optim.{pen.dice.pick(('SGD', 'Adam'))}([self.w, *self.net.parameters()], lr=0.1)"
    )
    body.optimizers.append("self.optimizer")
    body.models.append("self.net")
    if pen.dice.chance(0.6):
        pen.write(f"self.state = {pen.dice.pick(('torch.zeros(4, 3)', 'torch.randn(4, 3)'))}")
        body.variables.append(Variable("self.state", "A", Live.MAYBE))
        body.owned.add(body.variables[-1])
    if pen.dice.chance(0.25):
        pen.tag("built in init")
        written = expression(pen, body, "A", LIVE, 1)
        pen.write(f"self.prior = {written.text}")
        spent = not pen.dice.chance(pen.slips * 3)
        body.variables.append(Variable("self.prior", "A", Live.YES, solid=not written.thin, spent=spent))
    if pen.dice.chance(0.3):
        pen.write("self.losses = []")
        body.gathered.append(Gathered("self.losses", "S"))


def _property(pen: Pen, body: Scope) -> None:
    name = pen.name("penalty")
    pen.tag("property")
    pen.write("")
    pen.write("@property")
    with pen.page.block(f"def {name}(self):"):
        pen.write(f"return {expression(pen, body, 'S', LIVE).text}")
    body.callables.append(Operation((), "S", f"self.{name}", live=True, thin=True))


def _method(pen: Pen, body: Scope) -> None:
    """A method that computes a loss."""
    name = pen.name("compute_loss")
    inner = body.function("S")
    inner.calm, inner.owned = True, set(body.owned)
    target = inner.add(Variable("batch", "A", Live.MAYBE, solid=False))
    pen.tag("method")
    pen.write("")
    with pen.page.block(f"def {name}(self, batch):"):
        pen.body(inner, pen.dice.number(0, 2))
        wish = LIVE if target not in inner.variables or pen.dice.chance(0.6) else Wish(must=target)
        written = expression(pen, inner, "S", wish)
        pen.write(f"return {written.text}")
    body.callables.append(
        Operation((), "S", f"self.{name}({{A}})", live=written.live is Live.YES, thin=True, passes=False)
    )


def _step(pen: Pen, body: Scope, made: str) -> Procedure:
    """A method that walks."""
    name = pen.name(pen.dice.pick(("step", "train_on", "optimize")))
    inner = body.function("nothing")
    inner.owned = set(body.owned)
    inner.add(Variable("batch", "A", Live.MAYBE, solid=False))
    flag = pen.dice.chance(0.4)
    if flag:
        inner.flags.append("keep")
    pen.write("")
    with pen.page.block(f"def {name}(self, batch{', keep=False' if flag else ''}):"):
        pen.body(inner, pen.dice.number(1, 4))
        if inner.gathered and pen.dice.chance(0.6):
            pen.tag("list of losses")
            pen.write(f"self.losses.append({expression(pen, inner, 'S', LIVE).text})")
            flags, _ = keep(pen, inner)
            pen.write(
                f"{pen.dice.pick(('sum(self.losses)', 'self.losses[-1]', 'torch.stack(self.losses).sum()'))}.backward({flags})"
            )
            if pen.dice.chance(0.6):
                pen.write(pen.dice.pick(("self.losses.clear()", "self.losses = []")))
        else:
            pen.write(f"{root(pen, inner).name}.backward({keep(pen, inner)[0]})")
        _leave(pen, inner)
    return Procedure(f"{made}.{name}", ("A",), int(flag))


def _leave(pen: Pen, inner: Scope) -> None:
    """The end of a step: the optimiser, and the state cut or not."""
    if pen.dice.chance(0.5):
        pen.write("self.optimizer.step()")
        pen.write("self.optimizer.zero_grad()")
    state = next((v for v in inner.variables if v.name == "self.state"), None)
    if state is not None and pen.dice.chance(0.6):
        pen.write(pen.dice.pick(("self.state = self.state.detach()", "self.state = torch.zeros(4, 3)")))
