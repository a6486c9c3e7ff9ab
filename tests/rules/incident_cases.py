"""One incident for each way in which a rule can word its finding; `messages.txt` holds what is said of each."""

from __future__ import annotations

from collections.abc import Callable

from rules.incidents_by_hand import Program

from retainlint.incident import Incident

CASES: dict[str, Callable[[], Incident]] = {}


def case(make: Callable[[], Incident]) -> Callable[[], Incident]:
    CASES[make.__name__.replace("_", " ")] = make
    return make


SHARED = """
    y = t @ a
    for _ in range(2):
        x_out = t @ (x + y)
        loss = measure(x_out, x)
        loss.backward()
    """


@case
def product_above_the_loop() -> Incident:
    p = Program(SHARED)
    loop = "for _ in range(2)"
    return p.freed(
        "MvBackward0",
        ("t", "a"),
        p.moment("t @ a"),
        p.backward_pass("loss.backward()", "loss", ((loop, 1),)),
        p.backward_pass("loss.backward()", "loss", ((loop, 2),)),
        via=(p.moment("measure(x_out, x)"), p.moment("y", nth=2)),
        name="y",
    )


@case
def product_without_a_name() -> Incident:
    p = Program("""
        pool.append(torch.tanh(net(x)))
        for _ in range(2):
            measure(pool).backward()
        """)
    loop = "for _ in range(2)"
    backward_passes = [p.backward_pass("measure(pool).backward()", "measure(pool)", ((loop, n),)) for n in (1, 2)]
    return p.freed("TanhBackward0", ("result",), p.moment("torch.tanh(net(x))"), *backward_passes)


@case
def one_loss_in_a_while_loop() -> Incident:
    p = Program("""
        loss = criterion(model(x), y)
        while not done():
            optimizer.zero_grad()
            loss.backward()
        """)
    backward_passes = [p.backward_pass("loss.backward()", "loss", (("while not done()", n),)) for n in (1, 2)]
    built = p.moment("criterion(model(x), y)")
    calling = ("calling `criterion` builds a graph",)
    return p.freed("MseLossBackward0", (), built, *backward_passes, name="loss", same_root=True, assumptions=calling)


@case
def losses_walked_one_by_one() -> Incident:
    p = Program("""
        hidden = torch.tanh(x @ w)
        losses = [head(hidden) for head in heads]
        for loss in losses:
            loss.backward()
        """)
    backward_passes = [p.backward_pass("loss.backward()", "loss", (("for loss in losses", n),)) for n in (1, 2)]
    return p.freed("TanhBackward0", ("result",), p.moment("torch.tanh(x @ w)"), *backward_passes, name="hidden")


@case
def scores_walked_one_by_one() -> Incident:
    p = Program("""
        scores = model(x).sum(0)
        for k in range(len(scores)):
            scores[k].backward()
            maps.append(x.grad)
        """)
    backward_passes = [
        p.backward_pass("scores[k].backward()", "scores[k]", (("for k in range(len(scores))", n),)) for n in (1, 2)
    ]
    return p.freed("AddmmBackward0", (), p.moment("model(x)"), *backward_passes)


@case
def outer_of_two_loops() -> Incident:
    p = Program("""
        prior = (w / 2).exp()
        for epoch in range(3):
            for batch in loader:
                loss = score(batch, prior)
                if last(batch):
                    loss.backward()
        """)
    outer, inner = "for epoch in range(3)", "for batch in loader"
    return p.freed(
        "ExpBackward0",
        ("result",),
        p.moment("(w / 2).exp()"),
        p.backward_pass("loss.backward()", "loss", ((outer, 1), (inner, 5))),
        p.backward_pass("loss.backward()", "loss", ((outer, 2), (inner, 1))),
        name="prior",
        conditions=(p.condition("last(batch)"),),
    )


@case
def walk_in_a_helper_that_the_loop_calls() -> Incident:
    p = Program("""
        def update(loss):
            optimizer.zero_grad()
            loss.backward()

        target = net(x) ** 2
        for batch in loader:
            update((net(batch) - target).mean())
        """)
    call = ("update((net(batch) - target).mean())",)
    backward_passes = [
        p.backward_pass("loss.backward()", "loss", (("for batch in loader", n),), frames=call) for n in (1, 2)
    ]
    return p.freed("PowBackward0", ("self",), p.moment("net(x) ** 2"), *backward_passes, name="target")


@case
def second_backward_left_over() -> Incident:
    p = Program("""
        c = a * 5
        c.backward()
        print(a.grad)
        c.backward()
        """)
    backward_passes = [p.backward_pass("c.backward()", "c", nth=n) for n in (1, 2)]
    return p.freed("MulBackward0", ("a",), p.moment("a * 5"), *backward_passes, name="c", same_root=True)


@case
def grad_then_backward() -> Incident:
    p = Program("""
        out = model(x).sum()
        (slope,) = torch.autograd.grad(out, x, grad_outputs=torch.ones_like(out), create_graph=False)
        out.backward()
        """)
    grad = "torch.autograd.grad(out, x, grad_outputs=torch.ones_like(out), create_graph=False)"
    first, second = p.backward_pass(grad, "out"), p.backward_pass("out.backward()", "out")
    return p.freed("AddmmBackward0", (), p.moment("model(x)"), first, second, name="out", same_root=True)


@case
def helper_called_twice() -> Incident:
    p = Program("""
        def update(loss, optimizer):
            loss.backward()
            optimizer.step()

        loss = (w * w).sum()
        update(loss, optimizer_a)
        update(loss, optimizer_b)
        """)
    frames = ("update(loss, optimizer_a)", "update(loss, optimizer_b)")
    backward_passes = [p.backward_pass("loss.backward()", "loss", frames=(frame,)) for frame in frames]
    return p.freed("MulBackward0", ("w",), p.moment("w * w"), *backward_passes, name="loss", same_root=True)


@case
def two_heads_on_a_trunk_in_forward() -> Incident:
    p = Program("""
        class Net(nn.Module):
            def forward(self, x):
                h = torch.tanh(self.base(x))
                return self.actor(h), self.critic(h)

        policy, value = net(x)
        policy_loss, value_loss = policy.mean(), value.mean()
        policy_loss.backward()
        if shared:
            value_loss.backward()
        """)
    return p.freed(
        "TanhBackward0",
        ("result",),
        p.moment("torch.tanh(self.base(x))", frames=("net(x)",)),
        p.backward_pass("policy_loss.backward()", "policy_loss"),
        p.backward_pass("value_loss.backward()", "value_loss"),
        via=(p.moment("value.mean()"), p.moment("self.critic(h)", frames=("net(x)",))),
        name="h",
        conditions=(p.condition("shared"),),
    )


@case
def losses_in_two_files_and_without_names() -> Incident:
    p = Program("""
        first(features(x)).backward()
        second(features.last).backward()
        """)
    model = Program("self.last = torch.relu(self.conv(x))\n", "nets/model.py")
    return p.freed(
        "ReluBackward0",
        ("result",),
        model.moment("torch.relu(self.conv(x))"),
        p.backward_pass("first(features(x)).backward()", "first(features(x))"),
        p.backward_pass("second(features.last).backward()", "second(features.last)"),
        assumptions=("calling `first` builds a graph", "calling `second` builds a graph"),
    )


@case
def hidden_state() -> Incident:
    p = Program("""
        h = torch.zeros(1, 8)
        for batch in loader:
            out, h = rnn(batch, h)
            loss = criterion(out)
            loss.backward()
        """)
    loop = "for batch in loader"
    return p.freed(
        "AddmmBackward0",
        ("h", "weight_hh"),
        p.moment("rnn(batch, h)", ((loop, 1),)),
        p.backward_pass("loss.backward()", "loss", ((loop, 1),)),
        p.backward_pass("loss.backward()", "loss", ((loop, 2),)),
        via=(p.moment("criterion(out)", ((loop, 2),)), p.moment("h", nth=3), p.moment("rnn(batch, h)", ((loop, 1),))),
        name="h",
        assumptions=("calling `rnn` builds a graph",),
    )


@case
def running_total() -> Incident:
    p = Program("""
        for batch in loader:
            total = total + (model(batch) ** 2).mean()
            if step % 4 == 0:
                total.backward()
        """)
    loop = "for batch in loader"
    return p.freed(
        "PowBackward0",
        ("self",),
        p.moment("model(batch) ** 2", ((loop, 1),)),
        p.backward_pass("total.backward()", "total", ((loop, 1),)),
        p.backward_pass("total.backward()", "total", ((loop, 2),)),
        name="total",
        conditions=(p.condition("step % 4 == 0"),),
    )


@case
def method_that_a_trainer_calls_again() -> Incident:
    p = Program("""
        class Model:
            def training_step(self, batch):
                out, self.hidden = self.rnn(batch, self.hidden)
                if self.manual and not self.frozen:
                    self.manual_backward(out.mean())
        """)
    call = "call:training_step"
    return p.freed(
        "",
        (),
        p.moment("self.rnn(batch, self.hidden)", ((call, 1),)),
        p.backward_pass("self.manual_backward(out.mean())", "out.mean()", ((call, 1),)),
        p.backward_pass("self.manual_backward(out.mean())", "out.mean()", ((call, 2),)),
        name="self.hidden",
        conditions=(p.condition("self.manual"), p.condition("self.frozen", False)),
        assumptions=("calling `self.rnn` builds a graph",),
    )


@case
def loss_outside_a_closure() -> Incident:
    p = Program("""
        loss = criterion(model(x), y)

        def closure():
            optimizer.zero_grad()
            loss.backward()
            return loss

        optimizer.step(closure)
        """)
    backward_passes = [
        p.backward_pass("loss.backward()", "loss", (("call:closure", n),), frames=("optimizer.step(closure)",))
        for n in (1, 2)
    ]
    built = p.moment("criterion(model(x), y)")
    return p.freed("MseLossBackward0", (), built, *backward_passes, name="loss", same_root=True, in_closure=True)


@case
def weight_derived_in_init() -> Incident:
    p = Program("""
        class Model(nn.Module):
            def __init__(self):
                self.scale = self.log_scale.exp()

        model = Model()
        for x in data:
            (model(x) * model.scale).sum().backward()
        """)
    backward_pass = "(model(x) * model.scale).sum().backward()"
    backward_passes = [
        p.backward_pass(backward_pass, "(model(x) * model.scale).sum()", (("for x in data", n),)) for n in (1, 2)
    ]
    built = p.moment("self.log_scale.exp()", frames=("Model()",))
    return p.freed("ExpBackward0", ("result",), built, *backward_passes, name="self.scale", in_init=True)


@case
def kernel_at_module_level() -> Incident:
    p = Program("""
        kernel = torch.exp(-w)

        def fit(x):
            loss = (kernel * x).sum()
            loss.backward()

        fit(a)
        fit(b)
        """)
    backward_passes = [p.backward_pass("loss.backward()", "loss", frames=(call,)) for call in ("fit(a)", "fit(b)")]
    used = p.moment("kernel", frames=("fit(b)",), nth=2)
    built = p.moment("torch.exp(-w)")
    return p.freed("ExpBackward0", ("result",), built, *backward_passes, via=(used,), name="kernel", in_init=True)


@case
def fake_images_not_detached() -> Incident:
    p = Program("""
        for real in loader:
            fake = G(torch.randn(8, 2))
            d_loss = bce(D(fake), zeros) + bce(D(real), ones)
            d_loss.backward()
            opt_D.step()
            g_loss = bce(D(fake), ones)
            g_loss.backward()
        """)
    iteration = (("for real in loader", 1),)
    return p.freed(
        "AddmmBackward0",
        (),
        p.moment("G(torch.randn(8, 2))", iteration),
        p.backward_pass("d_loss.backward()", "d_loss", iteration),
        p.backward_pass("g_loss.backward()", "g_loss", iteration),
        via=(p.moment("bce(D(fake), ones)", iteration), p.moment("D(fake)", iteration, nth=2)),
        name="fake",
        foreign=True,
    )


@case
def both_losses_called_loss() -> Incident:
    p = Program("""
        advantage = target - critic(state)
        loss = (log_prob * advantage).mean()
        loss.backward()
        actor_opt.step()
        loss = (advantage ** 2).mean()
        loss.backward()
        """)
    backward_passes = [p.backward_pass("loss.backward()", "loss", nth=n) for n in (1, 2)]
    built = p.moment("critic(state)")
    return p.freed("AddmmBackward0", ("state",), built, *backward_passes, name="advantage", foreign=True)


@case
def features_of_a_helper() -> Incident:
    p = Program("""
        def features(x):
            return torch.relu(conv(x))

        pools.append(features(image))
        for target in targets:
            criterion(pools, target).backward()
        """)
    loop, backward_pass = "for target in targets", "criterion(pools, target).backward()"
    backward_passes = [
        p.backward_pass(backward_pass, backward_pass.removesuffix(".backward()"), ((loop, n),)) for n in (1, 2)
    ]
    built = p.moment("torch.relu(conv(x))", frames=("features(image)",))
    return p.freed("ReluBackward0", ("result",), built, *backward_passes)


@case
def buffer_changed_in_forward() -> Incident:
    p = Program("""
        class Norm(nn.Module):
            def forward(self, x):
                y = x * self.scale
                self.scale.mul_(0.9)
                return y

        out = norm(x)
        out.sum().backward()
        """)
    backward_pass = p.backward_pass("out.sum().backward()", "out.sum()")
    inside = ("norm(x)",)
    built, change = p.moment("x * self.scale", frames=inside), p.moment("self.scale.mul_(0.9)", frames=inside)
    return p.modified("MulBackward0", "other", "self.scale", built, change, backward_pass)


@case
def step_between_two_losses() -> Incident:
    p = Program("""
        out = model(x)
        loss_a.backward(retain_graph=True)
        optimizer.step()
        loss_b.backward()
        """)
    return p.modified(
        "AddmmBackward0",
        "mat2",
        "model.1.weight",
        p.moment("model(x)"),
        p.moment("optimizer.step()"),
        p.backward_pass("loss_b.backward()", "loss_b"),
        by_step=True,
        earlier=p.backward_pass("loss_a.backward(retain_graph=True)", "loss_a"),
    )


@case
def gradient_step_then_walk() -> Incident:
    p = Program("""
        inner = (pred - y).pow(2).mean()
        (g,) = torch.autograd.grad(inner, w)
        outer = measure(w - 0.1 * g, pred)
        outer.backward()
        """)
    first, second = (
        p.backward_pass("torch.autograd.grad(inner, w)", "inner"),
        p.backward_pass("outer.backward()", "outer"),
    )
    return p.freed("PowBackward0", ("self",), p.moment("(pred - y).pow(2)"), first, second)


@case
def state_inside_a_model() -> Incident:
    p = Program("""
        class Net(nn.Module):
            def forward(self, x, hidden):
                return self.gru(self.embed(x), hidden)

        def train():
            for x, y in loader:
                output, hidden = net(x, hidden)
                loss = criterion(output, y)
                if y.any():
                    loss.backward()

        if __name__ == "__main__":
            train()
        """)
    loop = "for x, y in loader"
    backward_passes = [
        p.backward_pass("loss.backward()", "loss", ((loop, n),), frames=("train()",), nth=1) for n in (1, 2)
    ]
    built = p.moment("self.gru(self.embed(x), hidden)", ((loop, 1),), ("train()", "net(x, hidden)"))
    conditions = (p.condition("y.any()"), p.condition("y.any()", taken=False))
    return p.freed("MulBackward0", (), built, *backward_passes, conditions=conditions)


@case
def step_in_a_helper() -> Incident:
    p = Program("""
        def update(opt):
            opt.step()

        score = D(fake)
        update(opt_D)
        score.mean().backward()
        """)
    backward_pass, step = (
        p.backward_pass("score.mean().backward()", "score.mean()"),
        p.moment("opt.step()", frames=("update(opt_D)",)),
    )
    return p.modified("AddmmBackward0", "mat2", "D.1.weight", p.moment("D(fake)"), step, backward_pass, by_step=True)


@case
def walk_and_step_in_two_helpers() -> Incident:
    p = Program("""
        def update(opt):
            opt.step()

        def walk(loss):
            loss.backward()

        score = D(fake)
        update(opt_D)
        walk(score.mean())
        """)
    step = p.moment("opt.step()", frames=("update(opt_D)",))
    backward_pass = p.backward_pass("loss.backward()", "loss", frames=("walk(score.mean())",))
    return p.modified("AddmmBackward0", "mat2", "D.1.weight", p.moment("D(fake)"), step, backward_pass, by_step=True)


@case
def step_over_a_weight_without_a_name() -> Incident:
    p = Program("""
        h = body(obs)
        policy_loss.backward(retain_graph=True)
        pi_opt.step()
        value_loss.backward()
        """)
    backward_pass, step = p.backward_pass("value_loss.backward()", "value_loss"), p.moment("pi_opt.step()")
    return p.modified("AddmmBackward0", "weight", "", p.moment("body(obs)"), step, backward_pass, by_step=True)


@case
def step_of_the_turn_before() -> Incident:
    p = Program("""
        for x in data:
            out, state = rnn(x, state)
            loss = out.mean()
            loss.backward(retain_graph=True)
            optimizer.step()
        """)
    loop = "for x in data"
    backward_passes = [p.backward_pass("loss.backward(retain_graph=True)", "loss", ((loop, n),)) for n in (1, 2)]
    return p.modified(
        "AddmmBackward0",
        "mat2",
        "rnn.weight_hh",
        p.moment("rnn(x, state)", ((loop, 1),)),
        p.moment("optimizer.step()", ((loop, 1),)),
        backward_passes[1],
        by_step=True,
        earlier=backward_passes[0],
    )


@case
def steps_over_one_forward_pass() -> Incident:
    p = Program("""
        out = model(x)
        for k in range(2):
            loss = out[:, k].mean()
            loss.backward(retain_graph=True)
            optimizer.step()
        """)
    loop = "for k in range(2)"
    backward_passes = [p.backward_pass("loss.backward(retain_graph=True)", "loss", ((loop, n),)) for n in (1, 2)]
    step = p.moment("optimizer.step()", ((loop, 1),))
    more = {"by_step": True, "earlier": backward_passes[0]}
    return p.modified(
        "AddmmBackward0", "mat2", "model.1.weight", p.moment("model(x)"), step, backward_passes[1], **more
    )


@case
def factor_changed_after_the_product() -> Incident:
    p = Program("""
        loss = (w * scale).sum()
        scale += 1
        loss.backward()
        """)
    backward_pass = p.backward_pass("loss.backward()", "loss")
    return p.modified("MulBackward0", "other", "scale", p.moment("w * scale"), p.moment("scale += 1"), backward_pass)


@case
def result_changed_by_a_method() -> Incident:
    p = Program("""
        y = torch.exp(w)
        y.clamp_(max=2.0)
        y.sum().backward()
        """)
    backward_pass = p.backward_pass("y.sum().backward()", "y.sum()")
    return p.modified(
        "ExpBackward0", "result", "y", p.moment("torch.exp(w)"), p.moment("y.clamp_(max=2.0)"), backward_pass
    )


@case
def element_assigned() -> Incident:
    p = Program("""
        out = buffer * w
        buffer[0] = 0.0
        out.sum().backward()
        """)
    backward_pass = p.backward_pass("out.sum().backward()", "out.sum()")
    return p.modified(
        "MulBackward0", "self", "buffer", p.moment("buffer * w"), p.moment("buffer[0] = 0.0"), backward_pass
    )


@case
def walk_of_a_detached_loss() -> Incident:
    p = Program("""
        loss = criterion(out, y).detach()
        loss.backward()
        """)
    return p.no_graph(p.backward_pass("loss.backward()", "loss"), "detach", p.moment("criterion(out, y).detach()"))


@case
def walk_of_a_loss_made_under_no_grad() -> Incident:
    p = Program("""
        with torch.no_grad():
            loss = criterion(model(x), y)
        loss.backward()
        """)
    return p.no_graph(p.backward_pass("loss.backward()", "loss"), "no_grad", p.moment("criterion(model(x), y)"))


@case
def walk_over_plain_data() -> Incident:
    p = Program("""
        w = torch.ones(3)
        (w * w).sum().backward()
        """)
    return p.no_graph(p.backward_pass("(w * w).sum().backward()", "(w * w).sum()"), "leaf", p.moment("torch.ones(3)"))


@case
def leaf_updated_by_hand() -> Incident:
    p = Program("""
        w = torch.ones(3, requires_grad=True)
        w -= 0.1 * w.grad
        """)
    return p.leaf_modified("w", p.moment("w -= 0.1 * w.grad"), p.moment("torch.ones(3, requires_grad=True)"))


@case
def row_of_a_leaf() -> Incident:
    p = Program("table[0] = 1.0\n")
    return p.leaf_modified("table", p.moment("table[0] = 1.0"), view=True)


@case
def walk_over_several_rows_with_hostile_text() -> Incident:
    p = Program("""
        loss = f(x)
        torch.autograd.backward(
            [loss, other_loss_with_a_long_name, '\x1b[31m'],
            retain_graph=False,
        )
        torch.autograd.backward([loss])
        """)
    text = p.source.text
    first = text[text.index("torch") : text.rindex(")\ntorch") + 1]
    backward_passes = (
        p.backward_pass(first, "[loss, other_loss_with_a_long_name]"),
        p.backward_pass("torch.autograd.backward([loss])", "loss"),
    )
    return p.freed("", (), p.moment("f(x)"), *backward_passes)
