"""Programs as people know them, each with its choices left open: what is kept, cut, stepped, and in which order."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.truth.expressions import ANY, LIVE, expression
from benchmarks.truth.pen import Pen
from benchmarks.truth.scope import Live, Scope, Variable
from benchmarks.truth.walks import keep


def _maybe(pen: Pen, text: str, probability: float = 0.5) -> None:
    if pen.dice.chance(probability):
        pen.write(text)


def _flags(pen: Pen, scope: Scope) -> str:
    return keep(pen, scope)[0]


def recurrent(pen: Pen, scope: Scope) -> None:
    """A recurrent cell over a sequence, walked in chunks; the hidden state is cut, or isn't."""
    pen.tag("scene: recurrent")
    kind = pen.dice.pick(("RNNCell", "GRUCell", "LSTMCell"))
    cell, head, opt = pen.name("cell"), pen.name("head"), pen.name("opt_rnn")
    pen.write(f"{cell} = nn.{kind}(3, 3)")
    pen.write(f"{head} = nn.Linear(3, 3)")
    pen.write(
        f"{opt} = torch.optim.{pen.dice.pick(('SGD', 'Adam'))}([*{cell}.parameters(), *{head}.parameters()], lr=0.1)"
    )
    zero = "torch.zeros(4, 3)"
    pair = kind == "LSTMCell"
    pen.write(f"hx{', cx' if pair else ''} = {f'{zero}, {zero}' if pair else zero}")
    inner = scope.inner(loop=True)
    inner.counters.append("t")
    with pen.page.block(f"for t in range({pen.dice.number(2, 4)}):"):
        reset = pen.dice.number(0, 5)
        if reset == 0:
            pen.write(f"hx = {zero}")
        pen.write(f"hx{', cx' if pair else ''} = {cell}(x, {'(hx, cx)' if pair else 'hx'})")
        inner.add(Variable("hx", "A", Live.YES))
        pen.write(
            f"error = {pen.dice.pick(('F.mse_loss({}, target)', '({} - target).pow(2).sum()', '{}.mean()')).format(f'{head}(hx)')}"
        )
        inner.add(Variable("error", "S", Live.YES))
        pen.body(inner, pen.dice.number(0, 1))
        _maybe(pen, f"{opt}.zero_grad()")
        pen.write(f"error.backward({_flags(pen, inner)})")
        _maybe(pen, f"{opt}.step()", 0.6)
        if pen.dice.chance(0.55):
            pen.write(pen.dice.pick(("hx = hx.detach()", "hx = hx.data", "hx.detach_()")))
        if pair:
            _maybe(pen, "cx = cx.detach()", 0.6)


def chunked(pen: Pen, scope: Scope) -> None:
    """Losses of several turns, walked together every k-th turn."""
    pen.tag("scene: chunked")
    inner = scope.inner(loop=True)
    inner.counters.append("t")
    pen.write("window = []")
    pen.write("memory = torch.zeros(4, 3)")
    with pen.page.block(f"for t in range({pen.dice.number(3, 5)}):"):
        fresh = expression(pen, inner, "A", LIVE, 1).text
        pen.write(f"memory = torch.tanh(memory + {fresh})")
        pen.write(f"window.append(memory.{pen.dice.pick(('sum()', 'pow(2).mean()'))})")
        with pen.page.block(f"if (t + 1) % {pen.dice.number(1, 3)} == 0:"):
            pen.write(f"{pen.dice.pick(('sum(window)', 'torch.stack(window).sum()'))}.backward({_flags(pen, inner)})")
            _maybe(pen, "memory = memory.detach()", 0.65)
            _maybe(pen, pen.dice.pick(("window = []", "window.clear()", "del window[:]")), 0.75)


def adversarial(pen: Pen, scope: Scope) -> None:
    """A generator against a critic."""
    pen.tag("scene: adversarial")
    pen.write("gen = nn.Sequential(nn.Linear(3, 3), nn.Tanh())")
    pen.write(
        f"critic = nn.Sequential(nn.Linear(3, 3), {pen.dice.pick(('nn.ReLU()', 'nn.LeakyReLU(0.2)', 'nn.Tanh()'))}, nn.Linear(3, 1))"
    )
    pen.write("opt_g = torch.optim.Adam(gen.parameters(), lr=0.01)")
    pen.write("opt_d = torch.optim.SGD(critic.parameters(), lr=0.01)")
    inner = scope.inner(loop=True)
    with pen.page.block(f"for turn in range({pen.dice.number(1, 2)}):"):
        inner.counters.append("turn")
        under = pen.dice.chance(0.1)
        if under:
            pen.write("with torch.no_grad():")
        pen.write(("    " if under else "") + "fake = gen(torch.randn(4, 3))")
        cut = pen.dice.pick((".detach()", ".detach()", "", ".data"))
        _maybe(pen, "opt_d.zero_grad()")
        pen.write(f"d_loss = F.softplus(critic(fake{cut})).mean() + F.softplus(-critic(x)).mean()")
        early = pen.dice.chance(0.25)
        again = "fake" if pen.dice.chance(0.7) else "gen(torch.randn(4, 3))"
        if early:
            pen.write(f"g_loss = -critic({again}).mean()")
        pen.write(f"d_loss.backward({_flags(pen, inner)})")
        _maybe(pen, "opt_d.step()", 0.7)
        _maybe(pen, "opt_g.zero_grad()")
        if not early:
            pen.write(
                f"g_loss = {pen.dice.pick(('-critic({}).mean()', 'F.softplus(-critic({})).mean()')).format(again)}"
            )
        pen.write(f"g_loss.backward({_flags(pen, inner)})")
        _maybe(pen, "opt_g.step()", 0.7)


def actor_critic(pen: Pen, scope: Scope) -> None:
    """A policy's and a value's loss over one trunk."""
    pen.tag("scene: actor-critic")
    pen.write(f"trunk = nn.Sequential(nn.Linear(3, 3), {pen.dice.pick(('nn.Tanh()', 'nn.ReLU()', 'nn.Identity()'))})")
    pen.write("actor, judge = nn.Linear(3, 3), nn.Linear(3, 1)")
    pen.write("opt_a = torch.optim.SGD([*trunk.parameters(), *actor.parameters()], lr=0.1)")
    pen.write("opt_c = torch.optim.Adam(judge.parameters(), lr=0.1)")
    inner = scope.inner(loop=True)
    inner.counters.append("episode")
    with pen.page.block(f"for episode in range({pen.dice.number(1, 3)}):"):
        pen.write("seen = trunk(x)")
        pen.write(f"values = judge(seen{pen.dice.pick(('', '.detach()', ''))}).squeeze(1)")
        pen.write(
            "chances = torch.distributions.Categorical(logits=actor(seen))"
            if pen.dice.chance(0.4)
            else "chances = None"
        )
        sampled = "chances" in pen.page.lines[-1] and "Categorical" in pen.page.lines[-1]
        score = "chances.log_prob(chances.sample())" if sampled else "F.log_softmax(actor(seen), dim=1)[:, 0]"
        pen.write(f"advantage = 1.0 - values{pen.dice.pick(('.detach()', '', '.detach()'))}")
        pen.write(f"actor_loss = -({score} * advantage).mean()")
        pen.write("critic_loss = (1.0 - values).pow(2).mean()")
        if pen.dice.chance(0.3):
            pen.write(f"(actor_loss + 0.5 * critic_loss).backward({_flags(pen, inner)})")
        else:
            first, second = pen.dice.some(("actor_loss", "critic_loss"), 2, 2)
            pen.write(
                f"{first}.backward({pen.dice.pick(('', 'retain_graph=True', 'retain_graph=True', _flags(pen, inner)))})"
            )
            _maybe(pen, "opt_a.step()", 0.35)
            pen.write(f"{second}.backward({_flags(pen, inner)})")
        _maybe(pen, "opt_a.step()")
        _maybe(pen, "opt_c.step()")


def adapted(pen: Pen, scope: Scope) -> None:
    """Inner steps by gradient, an outer loss through them."""
    pen.tag("scene: meta")
    pen.write("meta = torch.randn(3, 3, requires_grad=True)")
    pen.write("outer = torch.optim.SGD([meta], lr=0.1)")
    create = pen.dice.pick(("create_graph=True", "create_graph=True", "", "retain_graph=True", "create_graph=False"))
    with pen.page.block(f"for task in range({pen.dice.number(1, 3)}):"):
        pen.write(
            "fast = meta"
            if pen.dice.chance(0.5)
            else f"fast = {pen.dice.pick(('meta.clone()', 'meta * 1.0', 'meta + 0'))}"
        )
        with pen.page.block(f"for _ in range({pen.dice.number(1, 2)}):"):
            pen.write(
                f"support = {pen.dice.pick(('(x @ fast).pow(2).mean()', 'F.mse_loss(x @ fast, target)', 'torch.tanh(x @ fast).sum()'))}"
            )
            pen.write(f"g, = torch.autograd.grad(support, fast{', ' if create else ''}{create})")
            pen.write("fast = fast - 0.1 * g")
        pen.write("query = ((x + 1) @ fast).pow(2).mean()")
        if pen.dice.chance(0.3):
            pen.write("query = query + 0.1 * support")
        inner = scope.inner(loop=True)
        inner.counters.append("task")
        pen.write(f"query.backward({_flags(pen, inner)})")
        _maybe(pen, "outer.step()")
        _maybe(pen, "outer.zero_grad()")


def closures(pen: Pen, scope: Scope) -> None:
    """An optimiser that calls a closure, once or several times."""
    pen.tag("scene: closure", "closure")
    kind = pen.dice.pick(
        ("LBFGS([{}], max_iter=3)", "LBFGS([{}], max_iter=1)", "SGD([{}], lr=0.1)", "LBFGS([{}], lr=0.5)")
    )
    leaf = pen.dice.pick([v for v in scope.variables if v.leaf])
    pen.write(f"solver = torch.optim.{kind.format(leaf.name)}")
    inside = pen.dice.chance(0.6)
    loss = f"({leaf.name} * 2 - 1).pow(2).sum()"
    penalty = expression(pen, scope, "S", LIVE if pen.dice.chance(0.5) else ANY, 1).text
    _hoisted(pen, loss, inside)
    outside = pen.dice.chance(0.4)
    if outside:
        pen.write(f"penalty0 = {penalty}")
    with pen.page.block("def closure():"):
        _maybe(pen, "solver.zero_grad()", 0.8)
        if inside:
            pen.write(f"objective0 = {loss}")
        head = f"(objective0 + {'penalty0' if outside else f'({penalty})'})" if pen.dice.chance(0.4) else "objective0"
        pen.write(f"{head}.backward({pen.dice.pick(('', '', '', 'retain_graph=True'))})")
        pen.write("return objective0")
    if pen.dice.chance(0.5):
        pen.write("solver.step(closure)")
    else:
        with pen.page.block(f"for _ in range({pen.dice.number(1, 3)}):"):
            pen.write("solver.step(closure)")


def _hoisted(pen: Pen, loss: str, inside: bool) -> None:
    if not inside:
        pen.write(f"objective0 = {loss}")


def supervised(pen: Pen, scope: Scope) -> None:
    """Stages in a row, each with a loss of its own."""
    pen.tag("scene: stages")
    pen.write(f"stages = nn.ModuleList([nn.Linear(3, 3) for _ in range({pen.dice.number(2, 3)})])")
    pen.write("feature = x")
    together = pen.dice.chance(0.3)
    if together:
        pen.write("parts0 = []")
    header = pen.dice.pick(
        ("for stage in stages:", "for number, stage in enumerate(stages):", "for number in range(len(stages)):")
    )
    inner = scope.inner(loop=True)
    with pen.page.block(header):
        stage = "stages[number]" if "range" in header else "stage"
        pen.write(
            f"feature = {pen.dice.pick(('torch.tanh({}(feature))', '{}(feature)', 'F.relu({}(feature))')).format(stage)}"
        )
        loss = pen.dice.pick(("feature.sum()", "F.mse_loss(feature, target)"))
        if together:
            pen.write(f"parts0.append({loss})")
        else:
            pen.write(f"{loss}.backward({_flags(pen, inner)})")
            _maybe(pen, "feature = feature.detach()", 0.55)
    if together:
        pen.write(f"sum(parts0).backward({_flags(pen, scope)})")


def sharpness(pen: Pen, scope: Scope) -> None:
    """Two forwards and walks a turn, the weights moved between."""
    pen.tag("scene: sharpness")
    pen.write("model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))")
    pen.write("base_opt = torch.optim.SGD(model.parameters(), lr=0.1)")
    inner = scope.inner(loop=True)
    with pen.page.block("for turn in range(2):"):
        pen.write("objective1 = F.mse_loss(model(x), target)")
        pen.write(f"objective1.backward({_flags(pen, inner)})")
        with pen.page.block("with torch.no_grad():"), pen.page.block("for p in model.parameters():"):
            pen.write(pen.dice.pick(("p.add_(0.05 * p.grad)", "p += 0.05 * p.grad", "p.data.add_(p.grad, alpha=0.05)")))
        if pen.dice.chance(0.6):
            pen.write("objective1 = F.mse_loss(model(x), target)")
        _maybe(pen, "base_opt.zero_grad()")
        pen.write(f"objective1.backward({_flags(pen, inner)})")
        pen.write("base_opt.step()")


def penalised(pen: Pen, scope: Scope) -> None:
    """A gradient penalty."""
    pen.tag("scene: gradient penalty")
    pen.write("judge0 = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))")
    inner = scope.inner(loop=True)
    with pen.page.block(f"for turn in range({pen.dice.number(1, 2)}):"):
        pen.write(
            f"mixed = {pen.dice.pick(('x.clone().requires_grad_()', 'torch.randn(4, 3, requires_grad=True)', '(0.5 * x).requires_grad_(True)'))}"
        )
        pen.write("scores = judge0(mixed).sum()")
        create = pen.dice.pick(
            (
                "create_graph=True",
                "create_graph=True",
                "create_graph=True, retain_graph=True",
                "create_graph=True, retain_graph=False",
                "retain_graph=True",
                "",
            )
        )
        pen.write(f"slopes = torch.autograd.grad(scores, mixed{', ' if create else ''}{create})[0]")
        pen.write("limit = (slopes.norm(dim=1) - 1).pow(2).mean()")
        if pen.dice.chance(0.6):
            pen.write(
                f"({pen.dice.pick(('scores', '-scores', 'judge0(x).mean()'))} + limit).backward({_flags(pen, inner)})"
            )
        else:
            pen.write(f"scores.backward({_flags(pen, inner)})")
            _maybe(pen, "limit.backward()")


def trunk_shared(pen: Pen, scope: Scope) -> None:
    """Several tasks over one trunk, walked one by one."""
    pen.tag("scene: shared trunk")
    trunk = expression(pen, scope, "A", LIVE, 2).text
    pen.write(f"shared0 = {trunk}")
    tasks = pen.dice.number(2, 3)
    heads = [pen.dice.pick(("shared0.sum()", "(shared0 * 2).mean()", "F.mse_loss(shared0, target)", "shared0[0].sum()",
                            "(shared0 @ w).sum()", "shared0.detach().sum() * w.sum()", "shared0.max()")) for _ in range(tasks)]  # fmt: skip
    if pen.dice.chance(0.3):
        pen.write(f"tasks = [{', '.join(heads)}]")
        with pen.page.block(
            pen.dice.pick(("for k, task in enumerate(tasks):", "for k, task in zip(range(3), tasks):"))
        ):
            inner = scope.inner(loop=True)
            inner.counters.append("k")
            pen.write(
                f"task.backward({pen.dice.pick(('retain_graph=True', f'retain_graph=k < {tasks - 1}', f'retain_graph=k < {tasks - 2}', 'retain_graph=k != len(tasks) - 1', _flags(pen, inner)))})"
            )
        return
    for number, head in enumerate(heads):
        last = number == tasks - 1
        flags = _flags(pen, scope) if last or pen.dice.chance(0.3) else "retain_graph=True"
        pen.write(f"({head}).backward({flags})")


SCENES: tuple[Callable[[Pen, Scope], None], ...] = (
    recurrent, chunked, adversarial, actor_critic, adapted, closures, supervised, sharpness, penalised, trunk_shared,
)  # fmt: skip
