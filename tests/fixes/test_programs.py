"""Whole programs, each with the fix that is written: what goes wrong at a distance from the backward pass."""

from __future__ import annotations

from typing import cast

import pytest
from fixes.look import look

from retainlint.fixes import Seen, fix_all
from retainlint.rules import Example
from retainlint.text.source import Source

EVENTS = """
            import torch
            class Noisy(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.mean, self.rho = torch.nn.Parameter(torch.zeros(3)), torch.nn.Parameter(torch.zeros(3))
                def draw(self):
                    self.drawn = self.mean + self.rho.exp() * torch.randn(3)
                def forward(self, x):
                    return (x * self.drawn).sum()
            class Callback:
                def on_epoch_start(self, trainer):
                    pass
                def on_batch_start(self, trainer):
                    pass
                def on_batch_end(self, trainer):
                    pass
            class Sampler(Callback):
          -     def on_epoch_start(self, trainer):
          +     def on_batch_start(self, trainer):
                    trainer.model.draw()
            class Clock(Callback):
                def on_epoch_start(self, trainer):
                    print("epoch", trainer.epoch)
            class Trainer:
                def __init__(self, model, callbacks):
                    self.model, self.callbacks = model, callbacks
                    self.opt = torch.optim.SGD(model.parameters(), lr=0.1)
                def emit(self, event):
                    for each in self.callbacks:
                        getattr(each, event)(self)
                def fit(self, data):
                    for self.epoch in range(2):
                        self.emit("on_epoch_start")
                        for x in data:
                            self.emit("on_batch_start")
                            loss = self.model(x).square()
                            self.opt.zero_grad()
                            loss.backward()
                            self.opt.step()
                            self.emit("on_batch_end")
            Trainer(Noisy(), [Sampler(), Clock()]).fit(torch.randn(4, 3))
"""

PROGRAMS = {
    "weights that a hook draws once an epoch, and another one of its class could in each iteration": EVENTS,
    "the same where the hooks are called by their names": EVENTS.replace(
        'self.emit("on_epoch_start")', "for each in self.callbacks: each.on_epoch_start(self)"
    ).replace('self.emit("on_batch_start")', "for each in self.callbacks: each.on_batch_start(self)"),
    "a call that draws for each batch, beside the reset of what the epoch adds up": """
            import torch
            class Noisy(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.mean, self.rho = torch.nn.Parameter(torch.zeros(3)), torch.nn.Parameter(torch.zeros(3))
                    self.drawn = None
                def draw(self):
                    self.drawn = self.mean + self.rho.exp() * torch.randn(3)
                def forward(self, x):
                    return (x * self.drawn).sum()
            class Trainer:
                def __init__(self):
                    self.model = Noisy()
                    self.opt = torch.optim.SGD(self.model.parameters(), lr=0.1)
                def begin(self):
                    self.model.draw()
                def epoch(self, data):
          -         self.begin()
                    self.total = 0.0
                    for x in data:
          +             self.begin()
                        loss = self.model(x).square()
                        self.opt.zero_grad()
                        loss.backward()
                        self.opt.step()
                        self.total += loss.item()
                    return self.total / len(data)
            trainer = Trainer()
            for _ in range(2):
                trainer.epoch(torch.randn(4, 3))
    """,
    "two graphs of what one call has collected, for steps that evaluate the agent anew": """
            import torch
            class Agent(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.policy, self.value = torch.nn.Linear(4, 3), torch.nn.Linear(4, 1)
                def forward(self, obs):
                    return self.policy(obs).log_softmax(-1), self.value(obs).squeeze(-1).tanh()
            def collect(agent, length):
                seen, logps, values = [], [], []
                for _ in range(length):
                    obs = torch.randn(4)
                    logp, value = agent(obs)
                    seen.append(obs)
                    logps.append(logp[0])
                    values.append(value)
                advantage = torch.randn(length) - torch.stack(values)
                batch = {"obs": torch.stack(seen), "logps": torch.stack(logps), "advantage": advantage / advantage.std()}
                return batch, length
            def loss_of(agent, batch):
                logp, value = agent(batch["obs"])
                ratio = (logp[:, 0] - batch["logps"]).exp()
                advantage = batch["advantage"]
                return -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean() + value.square().mean()
            def update(agent, opt, batch):
                for _ in range(3):
                    loss = loss_of(agent, batch)
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
            agent = Agent()
            opt = torch.optim.Adam(agent.parameters(), lr=0.01)
            for _ in range(4):
          -     batch, size = collect(agent, 8)
          +     with torch.no_grad():
          +         batch, size = collect(agent, 8)
                update(agent, opt, batch)
    """,
    "no graph of what a decorator's wrapper calls, which is on other functions, too": """
              import functools, time, torch
              def serving(fn):
                  @functools.wraps(fn)
                  def wrapper(*args, **kwargs):
                      start = time.perf_counter()
                      with torch.no_grad():
                          out = fn(*args, **kwargs)
                      print(fn.__name__, time.perf_counter() - start)
                      return out
                  return wrapper
              class Net(torch.nn.Module):
                  def __init__(self):
                      super().__init__()
                      self.layer = torch.nn.Linear(3, 1)
            -     @serving
                  def forecast(self, x):
                      return self.layer(x).tanh()
                  def forward(self, x):
                      return self.forecast(x) * 2
                  @serving
                  def predict(self, x):
                      return self(x).round()
              net = Net()
              opt = torch.optim.SGD(net.parameters(), lr=0.1)
              for x in torch.randn(3, 4, 3):
                  loss = net(x).square().mean()
                  opt.zero_grad()
                  loss.backward()
                  opt.step()
              print(net.predict(torch.randn(2, 3)))
    """,
    "no graph of what a decorator's wrapper calls, which also changes what it is given": """
              import torch
              def serving(fn):
                  def wrapper(self, x):
            -         with torch.no_grad():
            -             return fn(self, x / 255)
            +         return fn(self, x / 255)
                  return wrapper
              class Net(torch.nn.Module):
                  def __init__(self):
                      super().__init__()
                      self.layer = torch.nn.Linear(3, 1)
                  @serving
                  def forward(self, x):
                      return self.layer(x).tanh()
                  @serving
                  def features(self, x):
                      return self.layer(x)
              net = Net()
              opt = torch.optim.SGD(net.parameters(), lr=0.1)
              for x in torch.randn(3, 4, 3):
                  loss = net(x).square().mean()
                  opt.zero_grad()
                  loss.backward()
                  opt.step()
    """,
    "gradients that backward has left, asked for again by what records their norm": """
            import torch
            class Monitor:
                def __init__(self):
                    self.history = []
                def after_backward(self, trainer, loss):
                    params = list(trainer.model.parameters())
          -         grads = torch.autograd.grad(loss, params)
          +         grads = [p.grad for p in params]
                    self.history.append(torch.stack([g.norm() for g in grads]).norm().item())
            class Trainer:
                def __init__(self, model, monitors):
                    self.model, self.monitors = model, monitors
                    self.opt = torch.optim.SGD(model.parameters(), lr=0.1)
                def fit(self, data):
                    for x in data:
                        self.opt.zero_grad()
                        loss = self.model(x).square().mean()
                        loss.backward()
                        for each in self.monitors:
                            each.after_backward(self, loss)
                        self.opt.step()
            Trainer(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)), [Monitor()]).fit(torch.randn(3, 4, 3))
    """,
    "weights that are drawn for a method of the same object, once before the loop": """
            import torch
            class Noisy(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.mean, self.rho = torch.nn.Parameter(torch.zeros(3)), torch.nn.Parameter(torch.zeros(3))
                    self.drawn = None
                def draw(self):
                    self.drawn = self.mean + self.rho.exp() * torch.randn(3)
                def forward(self, x):
                    return (x * self.drawn).sum()
            class Trainer:
                def __init__(self):
                    self.model = Noisy()
                    self.opt = torch.optim.SGD(self.model.parameters(), lr=0.1)
                def loss(self, x):
                    return self.model(x).square()
                def epoch(self, data):
          -         self.model.draw()
                    total = 0.0
                    for x in data:
          +             self.model.draw()
                        self.opt.zero_grad()
                        loss = self.loss(x)
                        loss.backward()
                        self.opt.step()
                        total += loss.item()
                    return total / len(data)
            trainer = Trainer()
            for _ in range(2):
                trainer.epoch(torch.randn(3, 3))
    """,
    "a table that is cached with weights that are trained, by a decorator that nothing else needs": """
          - import functools
          -
            import torch
            class Season(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.mix = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
          -     @functools.lru_cache(maxsize=None)
                def table(self):
                    return self.mix(torch.eye(4)).squeeze(1)
                def forward(self, step):
                    return self.table()[step]
            season = Season()
            opt = torch.optim.SGD(season.parameters(), lr=0.1)
            for step in range(4):
                loss = season(step).square()
                opt.zero_grad()
                loss.backward()
                opt.step()
    """,
    "a list that its object empties by a method, which is called too rarely": """
            import torch
            class Tap:
                def __init__(self):
                    self.seen = []
                    self.names = []
                def add(self, name, out):
                    self.seen.append(out)
                    self.names.append(name)
                def penalty(self):
                    return sum(out.abs().mean() for out in self.seen)
                def reset(self):
                    self.seen = []
                    self.names = []
            net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            tap = Tap()
            for _ in range(2):
                tap.reset()
                for x in torch.randn(3, 8, 3):
                    h = net[:2](x)
                    tap.add("h", h)
                    loss = net[2](h).square().mean() + 0.1 * tap.penalty()
                    opt.zero_grad()
                    loss.backward()
          +         tap.reset()
                    opt.step()
    """,
    "a list that its object empties by a method, which forgets a number as well": """
            import torch
            class Stats:
                def __init__(self):
                    self.terms = []
                    self.steps = 0
                def add(self, term):
                    self.terms.append(term)
                    self.steps += 1
                def clear(self):
                    self.terms.clear()
                    self.steps = 0
            net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            stats = Stats()
            for epoch in range(2):
                stats.clear()
                for x in torch.randn(3, 8, 3):
                    stats.add(net(x).square().mean())
                    loss = torch.stack(stats.terms).sum()
                    opt.zero_grad()
                    loss.backward()
          +         stats.terms.clear()
                    opt.step()
                print(epoch, stats.steps)
    """,
    "chains that a buffer keeps, of a sampler that is trained through": """
            import torch
            class Buffer:
                def __init__(self):
                    self.items = []
                def sample(self):
                    return torch.stack(self.items[-4:]) if self.items else torch.rand(4, 2)
                def add(self, samples):
                    self.items.extend(samples.unbind(0))
            def chain(energy, x):
                if not x.requires_grad:
                    x.requires_grad_(True)
                for _ in range(3):
                    (g,) = torch.autograd.grad(energy(x).sum(), x, create_graph=True)
                    x = x - 0.1 * g
                return x
            def held(energy, x):
                for p in energy.parameters():
                    p.requires_grad_(False)
                out = energy(x).mean()
                for p in energy.parameters():
                    p.requires_grad_(True)
                return out
            energy = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.SiLU(), torch.nn.Linear(4, 1))
            opt = torch.optim.Adam(energy.parameters(), lr=0.01)
            buffer = Buffer()
            for real in torch.rand(5, 4, 2):
                fake = chain(energy, buffer.sample())
          -     buffer.add(fake)
          +     buffer.add(fake.detach())
                loss = energy(real).mean() - energy(fake.detach()).mean() + held(energy, fake)
                opt.zero_grad()
                loss.backward()
                opt.step()
    """,
    "a network under no_grad for the rollout, which is meant, and for the loss": """
            import torch
            class Policy(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.mean = torch.nn.Linear(3, 2)
                def dist(self, x):
                    return torch.distributions.Normal(self.mean(x), 1.0)
                @torch.no_grad()
                def act(self, x):
                    action = self.dist(x).sample()
                    return action, self.dist(x).log_prob(action).sum(-1)
          -     @torch.no_grad()
                def score(self, x, action):
                    return self.dist(x).log_prob(action).sum(-1)
            def update(policy, opt, x, action, old):
                for _ in range(3):
                    loss = -(policy.score(x, action) - old).exp().mean()
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
            policy = Policy()
            opt = torch.optim.Adam(policy.parameters())
            for x in torch.randn(3, 8, 3):
                update(policy, opt, x, *policy.act(x))
    """,
    "a teacher under no_grad, which is meant, and a student that the optimiser has": """
            import torch
            teacher, student = torch.nn.Linear(4, 3), torch.nn.Linear(4, 3)
            opt = torch.optim.SGD(student.parameters(), lr=0.1)
            @torch.no_grad()
            def soft(x):
                return teacher(x).softmax(-1)
          - @torch.no_grad()
            def predicted(x):
                return student(x).log_softmax(-1)
            for x in torch.randn(3, 8, 4):
                loss = -(soft(x) * predicted(x)).sum(-1).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
    """,
    "a table whose rows the look-up shortens that computes the loss": """
            import torch
            torch.manual_seed(0)
            words = torch.nn.Embedding(7, 4, max_norm=1.0)
            score = torch.nn.Linear(4, 4)
            opt = torch.optim.SGD([*words.parameters(), *score.parameters()], lr=0.3)
            for chosen in torch.randint(0, 7, (3, 5)):
          -     table = score(words.weight)
          +     table = score(words.weight.clone())
                loss = torch.nn.functional.cross_entropy(words(chosen) @ table.t(), chosen.roll(1))
                opt.zero_grad()
                loss.backward()
                opt.step()
    """,
    "a penalty that a property keeps, and each loss adds": """
            import torch
          - from functools import cached_property
            class Anchored:
                def __init__(self, net):
                    self.net = net
                    self.anchors = [p.detach().clone() for p in net.parameters()]
          -     @cached_property
          +     @property
                def penalty(self):
                    terms = [(p - a).square().sum() for p, a in zip(self.net.parameters(), self.anchors)]
                    return 0.5 * torch.stack(terms).sum()
            net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            parts = [Anchored(net)]
            for x in torch.randn(4, 2, 3):
                opt.zero_grad()
                loss = net(x).square().mean()
                loss = loss + sum(part.penalty for part in parts)
                loss.backward()
                opt.step()
    """,
    "what a buffer of objects keeps behind the backward pass": """
            import torch
            from dataclasses import dataclass
            @dataclass
            class Example:
                x: torch.Tensor
                out: torch.Tensor
            class Buffer:
                def __init__(self):
                    self.items = []
                def add(self, xs, outs):
                    for x, out in zip(xs, outs):
                        item = Example(x, out)
                        if len(self.items) < 9:
                            self.items.append(item)
                        else:
                            self.items[0] = item
                def sample(self):
                    return torch.stack([e.x for e in self.items]), torch.stack([e.out for e in self.items])
            torch.manual_seed(0)
            net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            buffer = Buffer()
            for step in range(4):
                x = torch.randn(4, 3)
                out = net(x)
                loss = out.square().mean()
                if step > 0:
                    xs, outs = buffer.sample()
                    loss = loss + (net(xs) - outs).square().mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
          -     buffer.add(x, out)
          +     buffer.add(x, out.detach())
    """,
    "what a memory is given as a part of an object that is made there": """
            import torch
            from collections import deque, namedtuple
            Item = namedtuple("Item", "x out")
            class Memory:
                def __init__(self):
                    self.data = deque(maxlen=8)
                def push(self, item):
                    self.data.append(item)
            net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            memory = Memory()
            for step in range(4):
                x = torch.randn(3)
                out = net(x)
                loss = out.square().mean()
                if step > 0:
                    xs, outs = torch.stack([i.x for i in memory.data]), torch.stack([i.out for i in memory.data])
                    loss = loss + (net(xs) - outs).square().mean()
          -     memory.push(Item(x, out))
          +     memory.push(Item(x, out.detach()))
                opt.zero_grad()
                loss.backward()
                opt.step()
    """,
    "a table that is made once beside the function that trains with it": """
            import torch
            def make_step(model, optimizer):
                'Builds the step.'
          -     table = model.embed(torch.eye(4)).tanh()
          -
                def step(x):
                    t = torch.randint(0, 4, (len(x),))
          +         table = model.embed(torch.eye(4)).tanh()
                    loss = (model.out(x) - table[t]).square().mean()
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    return loss.item()
                return step
            class Net(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.embed, self.out = torch.nn.Linear(4, 3), torch.nn.Linear(2, 3)
            def main():
                model = Net()
                step = make_step(model, torch.optim.SGD(model.parameters(), lr=0.1))
                for _ in range(3):
                    print(step(torch.randn(5, 2)))
            main()
    """,
    "a table of what the function that trains with it has another thing for": """
            import torch
            def training(net, optimizer, x):
                scale = net.scale(x).exp()
                def step(x):
                    loss = (net.out(x) * scale).square().mean()
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    return loss.item()
                return step
            class Net(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.scale, self.out = torch.nn.Linear(3, 1), torch.nn.Linear(3, 2)
            net = Net()
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            data = torch.randn(3, 5, 3)
          - step = training(net, opt, data[0])
            for batch in data:
          +     step = training(net, opt, data[0])
                print(step(batch))
    """,
    "what is overwritten whole in each iteration": """
            import torch
            class Sinkhorn(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.eps = torch.nn.Parameter(torch.ones(()))
                def forward(self, cost, mu, nu):
                    kernel = torch.exp(-cost / self.eps)
                    u, v = torch.ones_like(mu), torch.ones_like(nu)
                    for _ in range(3):
                        u = mu / (kernel @ v)
          -             v[:] = nu / (kernel.t() @ u)
          +             v = nu / (kernel.t() @ u)
                    return u[:, None] * kernel * v[None, :]
            layer, source, target = Sinkhorn(), torch.rand(9, 2), torch.rand(9, 2)
            opt = torch.optim.SGD(layer.parameters(), lr=0.1)
            for _ in range(2):
                x, y = source[torch.randperm(9)[:5]], target[torch.randperm(9)[:5]]
                cost = ((x[:, None] - y[None]) ** 2).sum(-1)
                weights = torch.full((len(x),), 0.2)
                loss = (layer(cost, weights, torch.full((len(y),), 0.2)) * cost).sum()
                opt.zero_grad()
                loss.backward()
                opt.step()
    """,
    "what is copied into a state whole": """
            import torch
            cell = torch.nn.Linear(6, 6)
            h = torch.zeros(4, 6)
            for t in range(3):
          -     h.copy_(torch.tanh(cell(h) + t))
          +     h = torch.tanh(cell(h) + t)
            h.square().mean().backward()
    """,
    "what is spread over all that it overwrites": """
            import torch
            w = torch.ones(6, 6, requires_grad=True)
            h = torch.ones(4, 6)
            for t in range(3):
                g = h @ w
          +     h = h.clone()
                h[:] = g.mean(0, keepdim=True)
            (h * g).sum().backward()
    """,
    "a freeze behind the parts that are to learn, beside that of another network": """
            import torch
            class Layer(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.mix, self.adapter = torch.nn.Linear(3, 3), torch.nn.Identity()
                def forward(self, x):
                    return self.adapter(self.mix(x).tanh())
                def add_adapter(self):
                    self.adapter = torch.nn.Linear(3, 3)
            def freeze(module):
                for p in module.parameters():
                    p.requires_grad = False
                return module
            class Trainer:
                def __init__(self, student, teacher):
                    self.student, self.teacher = student, teacher
                    self.opt = torch.optim.SGD(student.parameters(), lr=0.1)
                def step(self, x):
                    loss = (self.student(x) - self.teacher(x)).square().mean()
                    self.opt.zero_grad()
                    loss.backward()
                    self.opt.step()
            teacher = freeze(Layer())
            student = Layer()
          + freeze(student)
            student.add_adapter()
          - freeze(student)
            trainer = Trainer(student, teacher)
            for x in torch.randn(4, 2, 3):
                trainer.step(x)
    """,
    "what was drawn stays what it is, where what it was drawn by is computed anew": """
            import torch
            policy = torch.nn.Linear(4, 3)
            opt = torch.optim.Adam(policy.parameters(), lr=0.01)
            for update in range(2):
                obs = torch.randn(8, 4)
                dist = torch.distributions.Categorical(logits=policy(obs))
                actions = dist.sample()
                rewards = (actions == 1).float()
                for epoch in range(3):
          +         dist = torch.distributions.Categorical(logits=policy(obs))
                    loss = -(dist.log_prob(actions) * rewards).mean()
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
    """,
    "losses that one call computes, of which the second is computed again": """
            import torch
            actor, critic = torch.nn.Linear(3, 2), torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
            actor_opt = torch.optim.SGD(actor.parameters(), lr=0.1)
            critic_opt = torch.optim.SGD(critic.parameters(), lr=0.1)
            def losses(obs, act):
                value = critic(torch.cat([obs, act], 1)).square().mean()
                return value, -critic(torch.cat([obs, actor(obs)], 1)).mean()
            def update(obs, act):
                critic_loss, actor_loss = losses(obs, act)
                critic_opt.zero_grad()
                critic_loss.backward()
                critic_opt.step()
                actor_opt.zero_grad()
          +     _, actor_loss = losses(obs, act)
                actor_loss.backward()
                actor_opt.step()
                return critic_loss.item(), actor_loss.item()
            for _ in range(3):
                update(torch.randn(4, 3), torch.randn(4, 2))
    """,
    "what is shared is asked for its shape as well": """
            import torch
            world, actor = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh()), torch.nn.Linear(4, 4)
            world_opt = torch.optim.SGD(world.parameters(), lr=0.1)
            actor_opt = torch.optim.SGD(actor.parameters(), lr=0.1)
            def learn(x):
                feats = world(x)
                loss = feats.square().mean()
                world_opt.zero_grad()
                loss.backward()
                world_opt.step()
                return feats
            def behave(start):
          -     flat = start.reshape(-1, start.shape[-1])
          +     flat = start.detach().reshape(-1, start.shape[-1])
                actor_loss = actor(flat).tanh().mean()
                actor_opt.zero_grad()
                actor_loss.backward()
                actor_opt.step()
            for x in torch.randn(3, 2, 5, 3):
                behave(learn(x))
    """,
    "states of a kind of their own, put into a dict by another object": """
            import torch
            class Registry:
                def __init__(self):
                    self.states = {}
                def get(self, key):
                    return self.states.get(key)
                def put(self, key, state):
          -         self.states[key] = state
          +         self.states[key] = tuple(u.detach() for u in state)
            class Net(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.rnn, self.registry = torch.nn.LSTM(2, 3), Registry()
                def forward(self, key, x):
                    out, state = self.rnn(x, self.registry.get(key))
                    self.registry.put(key, state)
                    return out
            class Trainer:
                def __init__(self, model):
                    self.model = model
                    self.opt = torch.optim.SGD(model.parameters(), lr=0.1)
                def consume(self, key, x):
                    loss = self.model(key, x).square().mean()
                    self.opt.zero_grad()
                    loss.backward()
                    self.opt.step()
            trainer = Trainer(Net())
            for x in torch.randn(4, 5, 1, 2):
                trainer.consume("pump", x)
    """,
    "a state of a sequence that each epoch goes through again": """
            import torch
            class Evolving(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.begin = torch.nn.Parameter(torch.ones(1, 3))
                    self.cell, self.state = torch.nn.GRUCell(3, 3), None
                def forward(self, x):
                    state = self.begin if self.state is None else self.state
                    self.state = self.cell(x, state)
                    return self.state
            model = Evolving()
            weeks = [torch.randn(1, 3) for _ in range(4)]
            opt = torch.optim.SGD(model.parameters(), lr=0.1)
            for epoch in range(3):
          +     model.state = None
                cost = 0
                for week in weeks:
                    cost = cost + model(week).square().mean()
                opt.zero_grad()
                cost.backward()
                opt.step()
    """,
    "what is under no_grad for the measure alone, computed where it trains": """
            import torch
            @torch.no_grad()
            def predict(net, x):
                'Scores.'
                return net(x)
            def share(net, batches):
                return sum((predict(net, x) > 0).float().mean() for x in batches)
            net = torch.nn.Linear(3, 1)
            batches = [torch.randn(4, 3) for _ in range(3)]
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            def train(model, batches):
                for x in batches:
          -         loss = predict(model, x).square().mean()
          +         loss = model(x).square().mean()
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
            train(net, batches)
            print(share(net, batches))
    """,
    "a function under no_grad that trains, and measures elsewhere": """
            import torch
          - @torch.no_grad()
            def predict(net, x):
                hidden = net(x)
                return hidden - hidden.mean()
            def share(net, batches):
                found = []
                for x in batches:
          -         found.append((predict(net, x) > 0).float().mean().item())
          +         with torch.no_grad():
          +             found.append((predict(net, x) > 0).float().mean().item())
                return found
            net = torch.nn.Linear(3, 1)
            batches = [torch.randn(4, 3) for _ in range(3)]
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            for x in batches:
                loss = predict(net, x).square().mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
            print(share(net, batches))
    """,
    "a step under no_grad that one method trains with and another measures by": """
            import torch
            class Task(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.net = torch.nn.Linear(3, 1)
          -     @torch.no_grad()
                def shared(self, batch):
                    return self.net(batch).square().mean()
                def training_step(self, batch):
                    return self.shared(batch)
          +     @torch.no_grad()
                def validation_step(self, batch):
                    return self.shared(batch).item()
                def report(self, batch):
                    print("validating")
          -         loss = self.shared(batch)
          +         with torch.no_grad():
          +             loss = self.shared(batch)
                    print(f"{loss:.3f}", loss.item() < 1)
                def probe(self, batch):
                    return self.shared(batch)
            def fit(task, data):
                opt = torch.optim.SGD(task.parameters(), lr=0.1)
                for batch in data:
                    loss = task.training_step(batch)
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
                print(task.validation_step(data[0]), task.probe(data[0]))
                task.report(data[0])
            fit(Task(), torch.randn(3, 4, 3))
    """,
    "a step under no_grad that two methods train with": """
            import torch
            class Task(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.net = torch.nn.Linear(3, 1)
          -     @torch.no_grad()
                def shared(self, batch):
                    return self.net(batch).square().mean()
                def training_step(self, batch):
                    return self.shared(batch)
                def tune(self, batch):
                    loss = self.shared(batch)
                    loss.backward()
                    return loss.item()
            def fit(task, data, tuning):
                opt = torch.optim.SGD(task.parameters(), lr=0.1)
                for batch in data:
                    opt.zero_grad()
                    if tuning:
                        task.tune(batch)
                    else:
                        task.training_step(batch).backward()
                    opt.step()
            fit(Task(), torch.randn(3, 4, 3), False)
    """,
    "a state of a sequence that each batch draws anew": """
            import torch
            class Leaky(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.layer = torch.nn.Linear(3, 3)
                    self.rest()
                def rest(self):
                    self.mem = None
                def forward(self, x):
                    if self.mem is None:
                        self.mem = torch.zeros(2, 3)
                    self.mem = torch.sigmoid(self.mem + self.layer(x))
                    return self.mem
            def recordings(n):
                return torch.rand(n, 4, 3), torch.rand(n, 3)
            model = Leaky()
            opt = torch.optim.SGD(model.parameters(), lr=0.1)
          - model.rest()
            for batch in range(4):
          +     model.rest()
                events, wanted = recordings(2)
                out = 0
                for step in range(4):
                    out = out + model(events[:, step])
                loss = (out - wanted).square().mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
    """,
    "an activation in place on a parameter": """
            import torch
            act = torch.nn.ReLU(inplace=True)
            w = torch.nn.Parameter(torch.ones(2))
          - share = act(w)
          + share = act(w.clone())
            (share / share.sum()).prod().backward()
    """,
    "features that the later of two optimisers does not train": """
            import torch
            class Bidder(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.body = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh(), torch.nn.Linear(3, 3))
                    self.value, self.policy = torch.nn.Linear(3, 1), torch.nn.Linear(3, 2)
                def forward(self, x):
                    h = self.body(x)
          -         return self.policy(h), self.value(h)
          +         return self.policy(h.detach()), self.value(h)
            net = Bidder()
            first = torch.optim.SGD([*net.body.parameters(), *net.value.parameters()], lr=0.1)
            second = torch.optim.SGD(net.policy.parameters(), lr=0.1)
            for x in torch.ones(3, 2, 3):
                bid, worth = net(x)
                first.zero_grad()
          -     worth.square().mean().backward(retain_graph=True)
          +     worth.square().mean().backward()
                first.step()
                loss = bid.softmax(1)[:, 0].mean()
                second.zero_grad()
                loss.backward()
                second.step()
    """,
    "codes that a discriminator judges again": """
            import torch
            def net(*widths):
                return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, widths[0]))
            encoder, judge = net(3), net(2)
            opt, opt_d = (torch.optim.SGD(each.parameters(), lr=0.1) for each in (encoder, judge))
            for x in torch.ones(3, 2, 3):
                z = encoder(x)
                d_z = judge(z)
                loss = z.square().mean() + d_z[:, 0].mean()
                opt.zero_grad()
          -     loss.backward(retain_graph=True)
          +     loss.backward()
                opt.step()
                d_loss = d_z.square().mean()
                opt_d.zero_grad()
          +     d_z = judge(z.detach())
          +     d_loss = d_z.square().mean()
                d_loss.backward()
                opt_d.step()
    """,
    "what each of several actors does among the others": """
            import torch
            class Agent:
                def __init__(self):
                    self.net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
                    self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
            agents = [Agent() for _ in range(3)]
            for x in torch.ones(3, 2, 3):
                made = []
                for i, agent in enumerate(agents):
                    made.append(agent.net(x))
          -     made = torch.cat(made, 1)
                for i, agent in enumerate(agents):
          -         loss = made.tanh().sum(1).square().mean()
          +         loss = torch.cat([each if at == i else each.detach() for at, each in enumerate(made)], 1).tanh().sum(1).square().mean()
                    agent.opt.zero_grad()
                    loss.backward()
                    agent.opt.step()
    """,
    "what the last iteration of another loop has made": """
            import torch
            def net(width):
                return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, width))
            g, d = net(3), net(1)
            opt_g, opt_d = (torch.optim.SGD(each.parameters(), lr=0.1) for each in (g, d))
            for epoch in range(3):
                for j in range(2):
                    noise = torch.randn(2, 3)
                    fake = g(noise)
                    opt_d.zero_grad()
                    d(fake.detach()).mean().backward()
                    opt_d.step()
                for j in range(2):
                    opt_g.zero_grad()
          +         fake = g(noise)
                    err = -d(fake).mean()
          -         err.backward(retain_graph=True)
          +         err.backward()
                    opt_g.step()
    """,
    "a checkpoint of what a frozen layer makes": """
            import torch
            from torch.utils.checkpoint import checkpoint
            first, layer = torch.nn.Linear(3, 3).requires_grad_(False), torch.nn.Linear(3, 3)
            opt = torch.optim.SGD(layer.parameters(), lr=0.1)
          - checkpoint(layer, first(torch.ones(2, 3)), use_reentrant=True).sum().backward()
          + checkpoint(layer, first(torch.ones(2, 3)), use_reentrant=False).sum().backward()
            opt.step()
    """,
    "losses of which each has an optimiser with a part of what is shared": """
            import torch
            speak, act = ({name: torch.nn.Linear(3, 3) for name in "ab"} for _ in range(2))
            opts = {name: torch.optim.SGD([*speak[name].parameters(), *act[name].parameters()], lr=0.1) for name in "ab"}
            for x in torch.ones(3, 2, 3):
                heard, log = sum(torch.tanh(speak[name](x)) for name in speak), 0.0
          +     total = 0
                for name, opt in opts.items():
                    loss = act[name](heard).square().mean()
          -         loss.backward()
          +         total = total + loss
                    log += loss.item()
          +     total.backward()
          +     for name, opt in opts.items():
                    opt.step()
    """,
    "a cache in a dict": """
            import torch
            class Bank:
                def __init__(self, net):
                    self.net, self.known = net, {}
                def __getitem__(self, i):
                    if i in self.known:
                        return self.known[i]
                    else:
                        self.known[i] = self.net(torch.full((3,), float(i)))
                    return self.known[i]
            net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())
            bank, opt = Bank(net), torch.optim.SGD(net.parameters(), lr=0.1)
            for i in (0, 1, 0, 1):
                loss = (bank[i] - bank[0]).square().sum() + bank[i].sum()
                opt.zero_grad()
                loss.backward()
          +     bank.known.clear()
                opt.step()
    """,
    "a cache that returns early": """
            import torch
            class Gate(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.raw, self.kept = torch.nn.Parameter(torch.zeros(3)), None
                def forward(self):
          -         if self.kept is not None:
          -             return self.kept
                    made = torch.sigmoid(self.raw)
                    self.kept = made * made
                    return self.kept
            gate = Gate()
            opt = torch.optim.SGD(gate.parameters(), lr=0.1)
            for x in torch.ones(3, 2, 3):
                opt.zero_grad()
                (x * gate()).square().sum().backward()
                opt.step()
    """,
    "a list that another function adds up": """
            import torch
            class Router(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.gate, self.balance = torch.nn.Linear(3, 3), []
                def forward(self, x):
                    share = self.gate(x).softmax(-1)
                    self.balance.append(share.mean(0).square().sum())
                    return share
            def collected(net):
                total = 0.0
                for layer in net:
                    total = total + sum(layer.balance)
          +         layer.balance.clear()
                return total
            net = torch.nn.ModuleList([Router(), Router()])
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            for x in torch.ones(3, 2, 3):
                loss = net[1](net[0](x)).square().sum()
                loss = loss + collected(net)
                opt.zero_grad()
                loss.backward()
                opt.step()
    """,
    "a gradient that is asked for within no_grad": """
            import torch
            net = torch.nn.Linear(3, 1)
            opt = torch.optim.SGD(net.parameters(), lr=0.1)

            @torch.no_grad()
            def sample(x, steps=3):
                for _ in range(steps):
                    x = x.requires_grad_()
          +         with torch.enable_grad():
          -         energy = net(x).square()
          +             energy = net(x).square()
          -         total = energy.sum()
          +             total = energy.sum()
          -         (g,) = torch.autograd.grad(total, x)
          +             (g,) = torch.autograd.grad(total, x)
                    x = x.detach() - 0.1 * g
                return x

            for step in range(3):
                loss = net(sample(torch.randn(4, 3))).mean() - net(torch.randn(4, 3)).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
    """,
    "a property that differentiates, asked for within no_grad": """
            import torch
            class Field:
                def __init__(self):
                    self.net = torch.nn.Linear(3, 1)
                    self.x = torch.ones(4, 3)

                @property
          +     @torch.enable_grad()
                def force(self):
                    x = self.x.clone().requires_grad_()
                    return torch.autograd.grad(self.net(x).sum(), x)[0]

            field = Field()
            with torch.no_grad():
                print(field.force.norm().item())
    """,
    "a table that a look-up shortens, handed out by a method": """
            import torch
            class Items(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.table = torch.nn.Embedding(7, 4, max_norm=1.0)
                def catalogue(self):
                    return self.table.weight
                def forward(self, ids):
                    return self.table(ids)
            items, whiten = Items(), torch.nn.Linear(4, 4)
            opt = torch.optim.SGD([*items.parameters(), *whiten.parameters()], lr=0.1)
            for ids in torch.tensor([[1, 2], [3, 4]]):
          -     known = whiten(items.catalogue())
          +     known = whiten(items.catalogue().clone())
                loss = (items(ids) @ known.t()).square().mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
    """,
    "a memory of the last batches, which can be emptied": """
            import torch
            from collections import deque
            class Memory:
                def __init__(self):
                    self.kept = deque(maxlen=4)
                def push(self, features):
                    self.kept.append(features)
                def clear(self):
                    self.kept.clear()
            net, memory = torch.nn.Linear(3, 2), Memory()
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            for x in torch.ones(5, 4, 3):
                features = net(x)
                loss = features.square().mean()
                if len(memory.kept):
                    loss = loss + (features @ torch.cat(list(memory.kept)).t()).square().mean()
          -     memory.push(features)
          +     memory.push(features.detach())
                opt.zero_grad()
                loss.backward()
                opt.step()
    """,
    "a head that is frozen with the rest": """
            import torch
            def freeze(net):
                for p in net.parameters():
                    p.requires_grad = False
            class Net(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.body, self.head = torch.nn.Linear(3, 3), torch.nn.Linear(3, 9)
                def forward(self, x):
                    return self.head(self.body(x).tanh())
            net = Net()
          + freeze(net)
            net.head = torch.nn.Linear(3, 1)
          - freeze(net)
            opt = torch.optim.SGD([{"params": net.head.parameters()}], lr=0.1)
            for x in torch.ones(3, 2, 3):
                loss = net(x).square().mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
    """,
    "a switch that is only turned off": """
            import torch
            net = torch.nn.Linear(3, 1)
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            def mode(train):
                net.train(train)
          -     if not train:
          -         torch.set_grad_enabled(False)
          +     torch.set_grad_enabled(train)
            for epoch in range(2):
                mode(True)
                loss = net(torch.ones(2, 3)).square().mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
                mode(False)
                print(net(torch.ones(2, 3)).mean().item())
    """,
    "a statistic beside a list that is emptied": """
            import torch
            class Arm:
                def __init__(self):
                    self.net, self.mean, self.pending, self.rounds = torch.nn.Linear(3, 3), [torch.zeros(3)], [], 0
                    self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
                def see(self, x):
                    out = self.net(x).tanh()
                    self.pending.append((out @ self.mean[0] - 1).square())
          -         self.mean[0] = self.mean[0] + out
          +         self.mean[0] = (self.mean[0] + out).detach()
                    self.rounds += 1
                    if self.rounds % 10 == 0:
                        loss = torch.stack(self.pending).mean()
                        self.opt.zero_grad()
                        loss.backward()
                        self.opt.step()
                        self.pending.clear()
            arm = Arm()
            for x in torch.ones(40, 3):
                arm.see(x)
    """,
    "what is carried in a swap, and returned": """
            import torch
            class Policy(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.net, self.last = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh()), None
                def forward(self, x):
          +         if self.last is not None:
          +             self.last = self.last.detach()
                    plan = self.net(x)
                    before, self.last = self.last, plan
                    return plan, before
            policy = Policy()
            opt = torch.optim.SGD(policy.parameters(), lr=0.1)
            for x in torch.ones(3, 2, 3):
                plan, before = policy(x)
                loss = plan.pow(2).mean()
                if before is not None:
                    loss = loss + (plan - before).pow(2).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
    """,
    "a weight that evolves, and begins as a parameter": """
            import torch
            class Conv(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.start, self.evolve, self.now = torch.nn.Parameter(torch.ones(2, 2)), torch.nn.GRUCell(2, 2), None
                def restart(self):
                    self.now = self.start.clone()
                def forward(self, x):
                    self.now = self.evolve(self.now, self.now)
          -         return x @ self.now
          +         result = x @ self.now
          +         self.now = self.now.detach()
          +         return result
            conv = Conv()
            opt = torch.optim.SGD(conv.parameters(), lr=0.1)
            for epoch in range(2):
                conv.restart()
                for x in torch.ones(3, 4, 2):
                    opt.zero_grad()
                    conv(x).pow(2).mean().backward()
                    opt.step()
    """,
    "norms of two gradients weigh a third loss": """
            import torch
            net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
            opt, last = torch.optim.SGD(net.parameters(), lr=0.1), net[2].weight
            for x in torch.ones(2, 4, 3):
                out = net(x)
                nll, fooled = out.pow(2).mean(), -out.mean()
          -     (a,) = torch.autograd.grad(nll, last)
          +     (a,) = torch.autograd.grad(nll, last, retain_graph=True)
          -     (b,) = torch.autograd.grad(fooled, last)
          +     (b,) = torch.autograd.grad(fooled, last, retain_graph=True)
                opt.zero_grad()
                (nll + fooled * (a.norm() / b.norm()).detach()).backward()
                opt.step()
    """,
    "a half that goes on from what it is sent": """
            import torch
            lower = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh())
            upper = torch.nn.Linear(4, 1)
            one, two = (torch.optim.SGD(half.parameters(), lr=0.1) for half in (lower, upper))
            def answer(sent):
          -     sent.retain_grad()
          +     sent = sent.detach().requires_grad_()
                loss = upper(sent).exp().mean()
                two.zero_grad()
                loss.backward()
                two.step()
                return sent.grad
            for x in torch.ones(2, 5, 3):
                one.zero_grad()
                cut = lower(x)
                cut.backward(answer(cut))
                one.step()
    """,
    "what is left over at the end of an epoch": """
            import torch
            net = torch.nn.Linear(3, 1)
            opt, scaler = torch.optim.SGD(net.parameters(), lr=0.1), torch.amp.GradScaler("cpu", enabled=False)
            for i, x in enumerate(torch.ones(5, 4, 3)):
                loss = net(x).exp().mean() / 2
                scaler.scale(loss).backward()
                if (i + 1) % 2 == 0:
                    scaler.step(opt)
                    opt.zero_grad()
            if (i + 1) % 2 != 0:
          -     scaler.scale(loss).backward()
                scaler.step(opt)
    """,
    "an item of a leaf that is updated by hand": """
            import torch
            skill = torch.zeros(5, requires_grad=True)
            for who in (torch.tensor([0, 2]), torch.tensor([1, 3])):
                (skill[who] - 1).exp().sum().backward()
          +     with torch.no_grad():
          -     skill[who] -= 0.1 * skill.grad[who]
          +         skill[who] -= 0.1 * skill.grad[who]
                skill.grad = None
    """,
    "groups with options of their own": """
            import torch
            class Decay(torch.optim.Optimizer):
                def __init__(self, params, lr=0.1, decay=0.0):
                    super().__init__(params, dict(lr=lr, decay=decay))
                def step(self, closure=None):
                    for group in self.param_groups:
                        for p in group["params"]:
                            if group["decay"]:
          +                     with torch.no_grad():
          -                     p.mul_(1 - group["decay"])
          +                         p.mul_(1 - group["decay"])
          +                 with torch.no_grad():
          -                 p.add_(p.grad, alpha=-group["lr"])
          +                     p.add_(p.grad, alpha=-group["lr"])
            net = torch.nn.Linear(3, 1)
            opt = Decay([{"params": [net.weight], "decay": 0.1}, {"params": [net.bias]}])
            for x in torch.ones(2, 2, 3):
                opt.zero_grad()
                net(x).square().mean().backward()
                opt.step()
    """,
    "losses of one graph, with weights from before the loop": """
            import torch
            class Heads(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.body, self.heads = torch.nn.Linear(3, 3), torch.nn.ModuleList(torch.nn.Linear(3, 1) for _ in range(2))
                    self.raw = torch.nn.Parameter(torch.zeros(2))
            net = Heads()
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            for epoch in range(2):
          -     weights = net.raw.exp()
                for x in torch.ones(2, 4, 3):
                    hidden = net.body(x).tanh()
                    opt.zero_grad()
          +         total = 0
          +         weights = net.raw.exp()
                    for weight, head in zip(weights, net.heads):
                        loss = weight * head(hidden).square().mean()
          +             total = total + loss
          -             loss.backward()
          +         total.backward()
                    opt.step()
    """,
    "gradients of which a loss is made, asked for in a loop": """
            import torch
            def rows(z, x):
                for k in range(z.shape[1]):
          -         yield torch.autograd.grad(z[:, k].sum(), x)[0]
          +         yield torch.autograd.grad(z[:, k].sum(), x, create_graph=True)[0]
            net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            for batch in torch.ones(3, 2, 3):
                x = batch.requires_grad_()
                z = net(x)
                loss = z.square().mean() + sum(row.square().mean() for row in rows(z, x))
                opt.zero_grad()
                loss.backward()
                opt.step()
    """,
    "a walk beside that of the function which steps": """
            import torch
            def step(opt, loss):
                loss.backward()
                opt.step()
                opt.zero_grad()
            net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            for x in torch.ones(3, 2, 3):
                loss = net(x).square().mean()
          -     loss.backward()
                step(opt, loss)
    """,
    "a baseline that weighs a log-probability": """
            import torch
            policy, worth = torch.nn.Linear(3, 2), torch.nn.Linear(3, 1)
            opt = torch.optim.SGD([*policy.parameters(), *worth.parameters()], lr=0.1)
            for x in torch.ones(3, 4, 3):
                dist = torch.distributions.Categorical(logits=policy(x))
                value = worth(x).square().squeeze(1)
          -     gain = torch.rand(4) - value
          +     gain = torch.rand(4) - value.detach()
                actor = -(dist.log_prob(dist.sample()) * gain).mean()
                critic = (value - 1).square().mean()
                opt.zero_grad()
                actor.backward()
                critic.backward()
                opt.step()
    """,
    "a slow target that is the network itself": """
          + import copy
            import torch
            class Slow:
                def __init__(self, net):
          -         self.net = net
          +         self.net = copy.deepcopy(net)
                    for p in self.net.parameters():
                        p.requires_grad_(False)
            net = torch.nn.Linear(3, 3)
            slow = Slow(net)
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            for x in torch.ones(3, 2, 3):
                loss = (net(x) - slow.net(x)).square().mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
    """,
    "numbers beside what is trained, one of them by its name": """
            import torch
            shear, angle = 0.5, torch.zeros((), requires_grad=True)
          - turn = torch.tensor([[angle.cos(), shear], [-1, angle.cos()]])
          + turn = torch.stack([torch.stack([angle.cos(), torch.as_tensor(shear)]), torch.stack([torch.tensor(-1), angle.cos()])])
            (turn @ torch.ones(2)).sum().backward()
    """,
    "rewards without a graph, beside a list of what has one": """
            import torch
            class Agent(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.net, self.kept, self.rewards = torch.nn.Linear(3, 3), [], []
                def act(self, x):
                    self.kept.append(self.net(x).tanh().square().sum())
                def loss(self):
                    return (torch.stack(self.kept) * torch.tensor(self.rewards)).mean()
            agent = Agent()
            opt = torch.optim.SGD(agent.parameters(), lr=0.1)
            for x in torch.ones(3, 2, 3):
                agent.act(x)
                agent.rewards.append(1.0)
                loss = agent.loss()
                opt.zero_grad()
                loss.backward()
          +     agent.kept.clear()
          +     agent.rewards.clear()
                opt.step()
    """,
    "rewards that a method of the same object reads, beside a list of what has a graph": """
            import torch
            class Agent:
                def __init__(self):
                    self.net, self.kept, self.rewards = torch.nn.Linear(3, 3), [], []
                    self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
                def act(self, x):
                    self.kept.append(self.net(x).tanh().square().sum())
                    self.rewards.append(1.0)
                def returns(self):
                    return torch.tensor(self.rewards)
                def learn(self):
                    loss = (torch.stack(self.kept) * self.returns()).mean()
                    self.opt.zero_grad()
                    loss.backward()
          +         self.kept.clear()
          +         self.rewards.clear()
                    self.opt.step()
            agent = Agent()
            for x in torch.ones(3, 2, 3):
                agent.act(x)
                agent.learn()
    """,
    "peers that teach each other": """
            import torch
            F = torch.nn.functional
            def imitation(mine, other):
                target = other.softmax(1)
          -     return F.kl_div(mine.log_softmax(1), target, reduction="batchmean")
          +     return F.kl_div(mine.log_softmax(1), target.detach(), reduction="batchmean")
            peers = [torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)]
            opts = [torch.optim.SGD(each.parameters(), lr=0.1) for each in peers]
            for x in torch.ones(3, 4, 3):
                first, second = [each(x) for each in peers]
                losses = [first.mean() + imitation(first, second), second.mean() + imitation(second, first)]
                for opt in opts:
                    opt.zero_grad()
                for loss in losses:
                    loss.backward()
                for opt in opts:
                    opt.step()
    """,
    "a list that another method walks every so often, and a state": """
            import torch
            class Learner:
                def __init__(self, every=5):
                    self.cell, self.every, self.errors, self.state = torch.nn.RNNCell(3, 3), every, [], None
                    self.opt = torch.optim.SGD(self.cell.parameters(), lr=0.1)
                def read(self, x):
                    self.state = self.cell(x, self.state)
                    self.errors.append(self.state.square().mean())
                    if len(self.errors) % self.every == 0:
                        self.update()
                def update(self):
                    loss = torch.stack(self.errors).mean()
                    self.opt.zero_grad()
                    loss.backward()
          +         self.state = self.state.detach()
          +         self.errors.clear()
                    self.opt.step()
            learner = Learner()
            for x in torch.ones(40, 2, 3):
                learner.read(x)
    """,
    "a state that a method of the whole puts back, and that only its other loop calls": """
            import torch
            class Leaky(torch.nn.Module):
                def __init__(self, n, m):
                    super().__init__()
                    self.fc, self.mem = torch.nn.Linear(n, m), None
                def reset(self):
                    self.mem = None
                def forward(self, x):
                    now = self.fc(x)
                    self.mem = now if self.mem is None else torch.sigmoid(self.mem + now)
                    return self.mem
            class Spiking(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.first, self.last = Leaky(3, 4), Leaky(4, 2)
                def reset(self):
                    self.first.reset()
                    self.last.reset()
                def forward(self, train):
                    out = 0
                    for frame in train:
                        out = out + self.last(self.first(frame))
                    return out
            def score(net, trains):
                for train in trains:
                    net.reset()
                    print(net(train).sum().item())
            def fit(net, opt, trains):
                for train in trains:
          +         net.reset()
                    loss = net(train).pow(2).mean()
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
            net = Spiking()
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            fit(net, opt, torch.rand(4, 5, 2, 3))
    """,
    "what hooks gather, in objects that empty themselves": """
            import torch
            class Tap:
                def __init__(self, net):
                    self.seen = []
                    net.register_forward_hook(self.save)
                def save(self, module, given, out):
                    self.seen.append(out)
                def clear(self):
                    self.seen.clear()
            def apart(ones, others):
                return sum((one - other).pow(2).mean() for one, other in zip(ones, others))
            teacher, student = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
            shown, own = Tap(teacher), Tap(student)
            opt = torch.optim.SGD(student.parameters(), lr=0.1)
            for x in torch.rand(4, 2, 3):
          +     own.clear()
          +     shown.clear()
                with torch.no_grad():
                    teacher(x)
                student(x)
                loss = apart(own.seen, shown.seen)
                opt.zero_grad()
                loss.backward()
                opt.step()
    """,
    "a factor that is kept until it is asked to be made again": """
            import torch
            class Process(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.scale, self.factor = torch.nn.Parameter(torch.ones(3)), None
                def invalidate(self):
                    self.factor = None
                def cost(self):
                    if self.factor is None:
                        self.factor = self.scale.exp()
                    return (self.factor * self.factor).sum()
            process = Process()
            opt = torch.optim.SGD(process.parameters(), lr=0.1)
            for _ in range(3):
                opt.zero_grad()
                loss = process.cost()
                loss.backward()
                opt.step()
          +     process.invalidate()
    """,
    "a step for each exit of one forward pass": """
            import torch
            stages = torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(3))
            opt = torch.optim.SGD(stages.parameters(), lr=0.1)
            def exits(x):
                found = []
                for stage in stages:
                    x = torch.tanh(stage(x))
                    found.append(x)
                return found
            for x in torch.rand(4, 2, 3):
                outputs = exits(x)
                seen = 0.0
          +     total = 0
                for weight, out in zip((0.3, 0.3, 1.0), outputs):
                    loss = weight * out.pow(2).mean()
          -         opt.zero_grad()
          -         loss.backward(retain_graph=True)
          -         opt.step()
          +         total = total + loss
                    seen += loss.item()
          +     opt.zero_grad()
          +     total.backward()
          +     opt.step()
    """,
    "a base that is frozen behind what was put into it": """
            import torch
            class Adapter(torch.nn.Module):
                def __init__(self, base):
                    super().__init__()
                    self.base, self.low = base, torch.nn.Parameter(torch.zeros(3, 3))
                def forward(self, x):
                    return self.base(x) + x @ self.low
            class Net(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.body, self.head = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)
                def forward(self, x):
                    return self.head(self.body(x))
            def adapted(net):
                net.body = Adapter(net.body)
                return net
            def freeze(net):
                for weight in net.parameters():
                    weight.requires_grad_(False)
                return net
            net = Net()
          + net = freeze(net)
            net = adapted(net)
          - net = freeze(net)
            opt = torch.optim.SGD([each for name, each in net.named_parameters() if "low" in name], lr=0.1)
            for x in torch.rand(4, 2, 3):
                loss = net(x).pow(2).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
    """,
    "pairs of what one forward pass made, each walked by itself": """
            import torch
            net = torch.nn.Linear(3, 3)
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            def train(views):
                made = [torch.tanh(net(view)) for view in views]
                opt.zero_grad()
          +     total = 0
                for i, one in enumerate(made):
                    for j, other in enumerate(made):
                        if i < j:
                            loss = (one - other).pow(2).mean()
          -                 loss.backward()
          +                 total = total + loss
          +     total.backward()
                opt.step()
            for _ in range(3):
                train(list(torch.rand(3, 4, 3)))
    """,
    "weights that follow others, changed twice in a loop": """
            import copy
            import torch
            net = torch.nn.Linear(3, 1)
            target = copy.deepcopy(net)
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            def follow(tau):
          -     for p, q in zip(net.parameters(), target.parameters()):
          -         q.mul_(1 - tau)
          -         q.add_(tau * p)
          +     with torch.no_grad():
          +         for p, q in zip(net.parameters(), target.parameters()):
          +             q.mul_(1 - tau)
          +             q.add_(tau * p)
            for x in torch.rand(3, 4, 3):
                with torch.no_grad():
                    aim = target(x)
                loss = (net(x) - aim).pow(2).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
                follow(0.1)
    """,
    "two heads on a trunk with an optimiser of its own, and the step of the first between": """
            import torch
            trunk, one, two = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)
            opts = [torch.optim.SGD(each.parameters(), lr=0.1) for each in (trunk, one, two)]
            for x in torch.rand(4, 2, 3):
                for opt in opts:
                    opt.zero_grad()
                made = trunk(x).tanh()
                first, second = one(made).pow(2).mean(), two(made).pow(2).mean()
          -     first.backward()
          +     (first + second).backward()
                opts[1].step()
          -     second.backward()
                opts[2].step()
                opts[0].step()
    """,
    "a state that the method of a comprehension carries": """
            import torch
            class Trainer:
                def __init__(self):
                    self.cell = torch.nn.GRUCell(3, 4)
                    self.opt = torch.optim.SGD(self.cell.parameters(), lr=0.1)
                    self.state = None
                def step(self, x):
          +         if self.state is not None:
          +             self.state = {k: t.detach() for k, t in self.state.items()}
                    if self.state is None:
                        self.state = {"h": torch.zeros(2, 4)}
                    self.state = {"h": self.cell(x, self.state["h"])}
                    loss = self.state["h"].pow(2).mean()
                    self.opt.zero_grad()
                    loss.backward()
                    self.opt.step()
                    return loss.item()
            trainer = Trainer()
            print([trainer.step(x) for x in torch.rand(3, 2, 3)])
    """,
    "features of points at which a network is differentiated": """
            import torch
            net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            points, mixing = torch.rand(5, 2, requires_grad=True), torch.rand(2, 4)
          - features = (points @ mixing).sin()
            for _ in range(3):
          +     features = (points @ mixing).sin()
                made = net(features)
                slope = torch.autograd.grad(made.sum(), points, create_graph=True)[0]
                opt.zero_grad()
                slope.pow(2).mean().backward()
                opt.step()
    """,
    "two lists of losses, copied without their graphs": """
            import torch
            net = torch.nn.Linear(3, 1)
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            def loss_of(made):
                near, far, count = [], [], 0
                for one in made:
                    near.append(one.pow(2).sum())
                    far.append((1 - one).relu().sum())
                    count += 1
          -     return torch.tensor(near).mean() + torch.tensor(far).mean() / count
          +     return torch.stack(near).mean() + torch.stack(far).mean() / count
            for x in torch.rand(3, 4, 3):
                loss = loss_of(net(x))
                opt.zero_grad()
                loss.backward()
                opt.step()
    """,
    "a factor that a method of its own makes once": """
            import torch
            class Process(torch.nn.Module):
                def __init__(self, x):
                    super().__init__()
                    self.register_buffer("x", x)
                    self.scale = torch.nn.Parameter(torch.tensor(1.0))
                    self._factorise()
                def _factorise(self):
                    spread = torch.exp(-torch.cdist(self.x, self.x) * self.scale.exp())
                    self.factor = torch.linalg.cholesky(spread + torch.eye(4))
                def loss(self):
          +         self._factorise()
                    return self.factor.diagonal().log().sum() + self.factor.sum()
            process = Process(torch.rand(4, 2))
            opt = torch.optim.SGD(process.parameters(), lr=0.1)
            for _ in range(3):
                loss = process.loss()
                opt.zero_grad()
                loss.backward()
                opt.step()
    """,
    "features that one of two losses is to train": """
            import torch
            encoder, inverse, ahead = torch.nn.Linear(3, 4), torch.nn.Linear(8, 2), torch.nn.Linear(4, 4)
            opt = torch.optim.SGD([*encoder.parameters(), *inverse.parameters()], lr=0.1)
            other = torch.optim.SGD(ahead.parameters(), lr=0.1)
            for x in torch.rand(4, 2, 2, 3):
                now, then = encoder(x[0]).tanh(), encoder(x[1]).tanh()
                action = inverse(torch.cat([now, then], 1)).pow(2).mean()
          -     guess = (ahead(now) - then).pow(2).mean()
          +     guess = (ahead(now.detach()) - then.detach()).pow(2).mean()
                opt.zero_grad()
                action.backward()
                opt.step()
                other.zero_grad()
                guess.backward()
                other.step()
    """,
    "a penalty of every other step": """
            import torch
            critic = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
            opt = torch.optim.SGD(critic.parameters(), lr=0.1)
            def penalty(real, scores):
          -     (grad,) = torch.autograd.grad(scores.sum(), real)
          +     (grad,) = torch.autograd.grad(scores.sum(), real, create_graph=True)
                return grad.pow(2).sum()
            for step in range(4):
                real = torch.rand(2, 3).requires_grad_()
                scores = critic(real)
                loss = scores.exp().mean()
                if step % 2 == 0:
                    loss = loss + penalty(real, scores)
                opt.zero_grad()
                loss.backward()
                opt.step()
    """,
    "an input that goes on as its bare values": """
            import torch
            net = torch.nn.Linear(3, 1).requires_grad_(False)
            delta = torch.zeros(3, requires_grad=True)
            for x in torch.ones(3, 2, 3):
                net(x + delta).square().mean().backward()
          -     delta = (delta - 0.1 * delta.grad).data
          +     delta = (delta - 0.1 * delta.grad).detach().requires_grad_()
    """,
    "an index that is refreshed once and handed to each loss": """
            import torch
            class Index:
                def refresh(self, net):
                    self.rows = net(torch.ones(4, 3))
            def loss_of(index, x):
                return (index.rows @ x).square().mean()
            net, index = torch.nn.Linear(3, 2), Index()
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
          - index.refresh(net)
            for x in torch.ones(3, 2):
          +     index.refresh(net)
                loss = loss_of(index, x)
                opt.zero_grad()
                loss.backward()
                opt.step()
    """,
    "a loss by its own running average, which another object keeps and gives": """
            import torch
            class Scale:
                def __init__(self):
                    self.levels = {}
                def seen(self, name, loss):
                    if name not in self.levels:
          -             self.levels[name] = loss
          +             self.levels[name] = loss.detach()
                    else:
          -             self.levels[name] = 0.9 * self.levels[name] + 0.1 * loss
          +             self.levels[name] = 0.9 * self.levels[name] + 0.1 * loss.detach()
                    return self.levels[name]
            net, scale = torch.nn.Linear(3, 1), Scale()
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            for x in torch.ones(4, 2, 3):
                error = net(x).square().mean()
                loss = error / (scale.seen("error", error) + 1e-8)
                opt.zero_grad()
                loss.backward()
                opt.step()
    """,
    "losses by their own running averages, by variables that stand for the scales": """
            import torch
            class Balance:
                def __init__(self, names):
                    self.levels = {name: None for name in names}
                def update(self, name, loss):
                    old = self.levels[name]
                    if old is None:
          -             self.levels[name] = loss
          +             self.levels[name] = loss.detach()
                    else:
          -             self.levels[name] = 0.9 * old + (1 - 0.9) * loss
          +             self.levels[name] = 0.9 * old + (1 - 0.9) * loss.detach()
                    return self.levels[name]
                def __call__(self, losses):
                    total = 0.0
                    for name, value in losses.items():
                        level = self.update(name, value)
                        weight = 1.0 / (level + 1e-8)
                        total = total + weight * value
                    return total
            net, balance = torch.nn.Linear(3, 1), Balance(["error"])
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            for x in torch.ones(4, 2, 3):
                loss = balance({"error": net(x).square().mean()})
                opt.zero_grad()
                loss.backward()
                opt.step()
    """,
    "what a loss brings a new one of the same data to": """
            import torch
            def refined(judge, x):
                for _ in range(3):
                    x = x - 0.1 * torch.autograd.grad(judge(x).sum(), x)[0]
                return x
            maker = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
            judge = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
            opt_maker = torch.optim.SGD(maker.parameters(), lr=0.1)
            opt_judge = torch.optim.SGD(judge.parameters(), lr=0.1)
            for z in torch.ones(4, 2, 3):
          -     better = refined(judge, maker(z))
          +     better = refined(judge, maker(z)).detach()
                judged = judge(torch.ones(2, 2)).mean() - judge(better).mean()
                opt_judge.zero_grad()
                judged.backward()
                opt_judge.step()
                distance = (maker(z) - better).square().mean()
                opt_maker.zero_grad()
                distance.backward()
                opt_maker.step()
    """,
    "two rotations of their numbers alone": """
            import torch
            a = torch.zeros(1, requires_grad=True)
            b = torch.zeros(1, requires_grad=True)
            opt = torch.optim.SGD([a, b], lr=0.1)
            for x in torch.ones(4, 2):
          -     one = torch.tensor([[a[0].cos(), -a[0].sin()], [a[0].sin(), a[0].cos()]])
          -     other = torch.tensor([[b[0].cos(), 0.0], [0.0, 1.0]])
          +     one = torch.stack([torch.stack([a[0].cos(), -a[0].sin()]), torch.stack([a[0].sin(), a[0].cos()])])
          +     other = torch.stack([torch.stack([b[0].cos(), torch.tensor(0.0)]), torch.tensor([0.0, 1.0])])
                loss = (one @ other @ x).square().sum()
                opt.zero_grad()
                loss.backward()
                opt.step()
    """,
    "numbers by name that a loss is made of, and a caller rounds": """
            import torch
            def criterion(parts):
                log = {}
                for name, value in parts.items():
          -         log[name] = 0.5 * value.item()
          -     total = torch.tensor(sum(log.values()))
          +         log[name] = 0.5 * value
          +     total = sum(log.values())
          +     log = {name: value.item() for name, value in log.items()}
                return total, log
            net = torch.nn.Linear(3, 1)
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            sums = 0.0
            for x in torch.ones(3, 2, 3):
                loss, log = criterion({"one": net(x).square().mean(), "other": net(x).exp().mean()})
                opt.zero_grad()
                loss.backward()
                opt.step()
                sums = sums + log["one"]
                print(round(log["one"], 4))
    """,
    "weights that are moved for one of two losses, and put back behind the backward pass": """
            import torch
            class Nudge:
                def __init__(self, net):
                    self.weights = list(net.parameters())
                def there(self, loss):
                    grads = torch.autograd.grad(loss, self.weights)
                    self.kept = [w.detach().clone() for w in self.weights]
                    with torch.no_grad():
                        for w, g in zip(self.weights, grads):
                            w.add_(g, alpha=0.01)
                @torch.no_grad()
                def back(self):
                    for w, kept in zip(self.weights, self.kept):
                        w.copy_(kept)
            net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
            nudge, opt = Nudge(net), torch.optim.SGD(net.parameters(), lr=0.1)
            for x in torch.randn(3, 2, 3):
                clean = net(x).square().mean()
          +     opt.zero_grad()
          +     clean.backward()
                nudge.there(net(x + 1).square().mean())
                robust = net(x + 1).square().mean()
                loss = clean + 0.5 * robust
          -     opt.zero_grad()
          -     loss.backward()
          +     (0.5 * robust).backward()
                nudge.back()
                opt.step()
    """,
    "noise on a weight that is taken off again behind the backward pass": """
            import torch
            net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            for x in torch.randn(3, 2, 3):
                opt.zero_grad()
                clean, noise = net(x).square().mean(), torch.randn(1, 4)
          +     clean.backward()
                with torch.no_grad():
                    net[2].weight.add_(noise)
                noisy = net(x).square().mean()
          -     (clean + noisy).backward()
          +     noisy.backward()
                with torch.no_grad():
                    net[2].weight.sub_(noise)
                opt.step()
    """,
    "a memory that each step of a sequence writes, cut between the sequences": """
            import torch
            class Manager(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.memory, self.at = [torch.zeros(1, 4) for _ in range(3)], 0
                    self.cell = torch.nn.RNNCell(4, 4)
                def forward(self, x, hx):
                    old = self.memory[self.at]
                    self.memory[self.at] = hx
                    self.at = (self.at + 1) % 3
                    return self.cell(x, old)
            net = Manager()
            opt, hx = torch.optim.SGD(net.parameters(), lr=0.1), torch.zeros(1, 4)
            for update in range(3):
          +     net.memory = [t.detach() for t in net.memory]
                out = []
                for step in range(6):
                    hx = net(torch.randn(1, 4), hx)
                    out.append(hx.sum())
                opt.zero_grad()
          -     torch.stack(out).sum().backward(retain_graph=True)
          +     torch.stack(out).sum().backward()
                opt.step()
                hx = hx.detach()
    """,
    "a warm start for each of several, in a list of places": """
            import torch
            net = torch.nn.Linear(3, 3)
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            shapes = [torch.ones(2, 3), torch.zeros(2, 3)]
            plans = [torch.full((2, 3), 0.5) for _ in shapes]
            def nearer(cost, plan):
                return torch.softmax(cost * plan, -1)
            for epoch in range(3):
                for i, shape in enumerate(shapes):
                    cost = net(shape)
          -         plans[i] = nearer(cost, plans[i])
          +         plans[i] = nearer(cost, plans[i].detach())
                    loss = (cost * plans[i]).sum()
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
    """,
    "what an optimiser is given beside a frozen network": """
            import torch
            net = torch.nn.Linear(3, 2)
            with torch.no_grad():
                target = net(torch.ones(1, 3))
            for p in net.parameters():
                p.requires_grad_(False)
            code = torch.zeros(1, 3)
          + code.requires_grad_(True)
            opt = torch.optim.Adam([code], lr=0.1)
            for _ in range(3):
                loss = (net(code) - target).square().mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
    """,
    "two rows at once of those that were written before": """
            import torch
            rate = torch.tensor(0.5, requires_grad=True)
            opt = torch.optim.SGD([rate], lr=0.1)
            def step(u, v):
                return u + rate * u * v, v - rate * u * v
            for _ in range(3):
                film = torch.zeros(5, 2)
                film[0, 0], film[0, 1] = 1.0, 0.5
                for t in range(4):
          -         film[t + 1, 0], film[t + 1, 1] = step(film[t, 0], film[t, 1])
          +         film[t + 1, 0], film[t + 1, 1] = step(film[t, 0].clone(), film[t, 1].clone())
                loss = film.square().sum()
                opt.zero_grad()
                loss.backward()
                opt.step()
    """,
    "a loss of decisions, which are counted, too": """
            import torch
            net = torch.nn.Linear(3, 1)
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            criterion, hits = torch.nn.BCELoss(), 0.0
            for x in torch.ones(3, 2, 3):
                chance = torch.sigmoid(net(x))
                decided = (chance > 0.5).float()
          -     loss = criterion(decided, x[:, :1])
          +     loss = criterion(chance, x[:, :1])
                opt.zero_grad()
                loss.backward()
                opt.step()
                hits += (decided == x[:, :1]).sum().item()
    """,
    "weights pruned by what is called a step, though an optimiser takes another": """
            import torch
            class Pruner:
                def __init__(self, net):
                    self.weights = [m.weight for m in net if isinstance(m, torch.nn.Linear)]
                @torch.no_grad()
                def step(self):
                    for w in self.weights:
                        w.mul_(w.abs() > 0.1)
            net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
            pruner, opt = Pruner(net), torch.optim.SGD(net.parameters(), lr=0.1)
            for x in torch.randn(4, 8, 3):
                loss = net(x).square().mean()
          -     pruner.step()
                opt.zero_grad()
                loss.backward()
                opt.step()
          +     pruner.step()
    """,
    "weights that are bounded now and then, of the one of two networks that is trained first": """
            import torch
            def clip(net):
                with torch.no_grad():
                    for p in net.parameters():
                        p.clamp_(-0.1, 0.1)
            maker, critic = torch.nn.Linear(2, 3), torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 1))
            by_critic = torch.optim.SGD(critic.parameters(), lr=0.1)
            by_maker = torch.optim.SGD(maker.parameters(), lr=0.1)
            for n in range(6):
                cost = critic(maker(torch.randn(5, 2)).detach()).mean() - critic(torch.randn(5, 3)).mean()
          -     if n % 2 == 0:
          -         clip(critic)
                by_critic.zero_grad()
                cost.backward()
                by_critic.step()
          +     if n % 2 == 0:
          +         clip(critic)
                loss = -critic(maker(torch.randn(5, 2))).mean()
                by_maker.zero_grad()
                loss.backward()
                by_maker.step()
    """,
    "weights that are bounded before a function that trains them": """
            import torch
            def update(opt, loss):
                opt.zero_grad()
                loss.backward()
                opt.step()
            def clip(net):
                with torch.no_grad():
                    for p in net.parameters():
                        p.clamp_(-0.3, 0.3)
            net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            for x in torch.randn(4, 8, 3):
                loss = net(x).square().mean()
          +     update(opt, loss)
                clip(net)
          -     update(opt, loss)
    """,
    "an input that is attacked, of a network that is frozen on purpose": """
            import torch
            net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
            for p in net.parameters():
                p.requires_grad_(False)
            def attack(net, x, eps):
                adv = x + eps * torch.rand_like(x)
                for _ in range(3):
          +         adv = adv.detach().requires_grad_(True)
                    loss = net(adv).square().mean()
                    loss.backward()
                    with torch.no_grad():
                        adv = adv + 0.1 * adv.grad.sign()
                        adv = torch.min(torch.max(adv, x - eps), x + eps)
                return adv.detach()
            print(attack(net, torch.randn(5, 3), 0.3))
    """,
    "an input that is attacked, which requires a gradient in the first iteration alone": """
            import torch
            net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
            for p in net.parameters():
                p.requires_grad_(False)
            def attack(net, x):
                adv = x.clone().requires_grad_(True)
                for _ in range(3):
          +         adv = adv.detach().requires_grad_(True)
                    loss = net(adv).square().mean()
                    loss.backward()
                    with torch.no_grad():
                        adv = adv + 0.1 * adv.grad.sign()
                return adv
            print(attack(net, torch.randn(5, 3)))
    """,
    "an input that a function is handed, and asks the gradient of": """
            import torch
            net = torch.nn.Linear(3, 2)
            for p in net.parameters():
                p.requires_grad_(False)
            def attack(net, x):
          +     x = x.detach().requires_grad_(True)
                scores = net(x)
                loss = scores.square().mean()
                loss.backward()
                return (x + 0.1 * x.grad.sign()).detach()
            print(attack(net, torch.randn(5, 3)))
    """,
    "a perturbation that its object keeps, of a network that is frozen on purpose": """
            import torch
            class Attack:
                def __init__(self, net):
                    self.net = net
                    for p in net.parameters():
                        p.requires_grad = False
          -         self.delta = torch.zeros(1, 3)
          +         self.delta = torch.zeros(1, 3).requires_grad_()
                def step(self, x):
                    loss = self.net(x + self.delta).square().mean()
                    loss.backward()
                    with torch.no_grad():
                        self.delta -= 0.1 * self.delta.grad.sign()
                    self.delta.grad = None
            attack = Attack(torch.nn.Linear(3, 2))
            for x in torch.randn(3, 5, 3):
                attack.step(x)
    """,
    "targets of a network that no optimiser owns, kept by their names": """
            import torch
            class Features(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.low, self.high = torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)
                def forward(self, x):
                    low = torch.tanh(self.low(x))
                    return {"low": low, "high": self.high(low)}
            def gram(f):
                return f.t() @ f
            class Transfer:
                def __init__(self, net, content, style):
                    self.net = net
          -         of_style = net(style)
          -         of_content = net(content)
          +         with torch.no_grad():
          +             of_style = net(style)
          +             of_content = net(content)
                    self.styles = {name: gram(of_style[name]) for name in ("low", "high")}
                    self.contents = {name: of_content[name] for name in ("high",)}
                    self.image = content.clone().requires_grad_(True)
                def loss(self):
                    made = self.net(self.image)
                    loss = sum((gram(made[name]) - kept).square().mean() for name, kept in self.styles.items())
                    return loss + sum((made[name] - kept).square().mean() for name, kept in self.contents.items())
                def run(self):
                    opt = torch.optim.Adam([self.image], lr=0.1)
                    for _ in range(3):
                        opt.zero_grad()
                        loss = self.loss()
                        loss.backward()
                        opt.step()
            Transfer(Features(), torch.randn(5, 3), torch.randn(5, 3)).run()
    """,
    "targets of a network that no optimiser owns, made in one statement": """
            import torch
            class Inverter:
                def __init__(self, net, reference):
                    self.net = net
          -         self.targets = [f.mean(0) ** 2 for f in net(reference).split(2)]
          +         with torch.no_grad():
          +             self.targets = [f.mean(0) ** 2 for f in net(reference).split(2)]
                    self.x = torch.zeros(4, 3, requires_grad=True)
                def step(self, opt):
                    found = self.net(self.x).split(2)
                    loss = sum((f.mean(0) ** 2 - t).pow(2).sum() for f, t in zip(found, self.targets))
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
            inverter = Inverter(torch.nn.Linear(3, 2), torch.randn(4, 3))
            opt = torch.optim.Adam([inverter.x], lr=0.1)
            for _ in range(3):
                inverter.step(opt)
    """,
    "a list of which the first is read again, as the help that is told first empties it": """
            import torch
            model, parts = torch.nn.Linear(4, 3), []
            for _ in range(20):
                out = model(torch.randn(8, 4))
                parts.append(out)
                loss = parts[0].mean() + out.sum()
                loss.backward()
          +     parts.clear()
    """,
    "weights that are drawn before an epoch, of parameters that its loss names as well": """
            import torch
            class Noisy(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.mu = torch.nn.Parameter(torch.zeros(2, 3))
                    self.rho = torch.nn.Parameter(torch.full((2, 3), -2.0))
                    self.bias, self.weight = torch.nn.Parameter(torch.zeros(2)), None
                @property
                def sigma(self):
                    return torch.nn.functional.softplus(self.rho)
                def draw(self):
                    self.weight = self.mu + self.sigma * torch.randn_like(self.mu)
                def spread(self):
                    squared = self.sigma ** 2
                    return 0.5 * (squared + self.mu ** 2 - 1 - torch.log(squared)).sum()
                def forward(self, x):
                    return torch.nn.functional.linear(x, self.weight, self.bias)
            net = Noisy()
            opt = torch.optim.Adam(net.parameters(), lr=0.1)
            for epoch in range(2):
          -     net.draw()
                for x in torch.randn(3, 4, 3):
          +         net.draw()
                    loss = (net(x) - 1).square().mean() + net.spread() / 20
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
    """,
    "a window of iterations, of which the others go on to the next": """
            import torch
            model, every, total = torch.nn.Linear(3, 1), 4, 0.0
            opt = torch.optim.SGD(model.parameters(), lr=0.1)
            for i, x in enumerate(torch.randn(8, 2, 3), start=1):
                loss = model(x).square().mean()
                total = total + loss / every
                if i % every:
                    continue
                opt.zero_grad()
                total.backward()
                opt.step()
          +     total = 0.0
    """,
    "what is kept, and made again by an evaluation before it is used": """
            import torch
            class Mixed(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.gate, self.out = torch.nn.Parameter(torch.zeros(3)), torch.nn.Linear(3, 1)
                    self.mixed = None
                def reset(self):
                    self.mixed = None
                def forward(self, x):
          -         if self.mixed is None:
          -             self.mixed = torch.softmax(self.gate, 0)
          +         self.mixed = torch.softmax(self.gate, 0)
                    return self.out(x * self.mixed)
            @torch.no_grad()
            def measured(model, x):
                return model(x).mean().item()
            model, x = Mixed(), torch.randn(4, 3)
            opt = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(3):
                loss = model(x).square().mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
                measured(model, x)
    """,
    "soft targets of a network that no optimiser owns any more, kept by their number": """
            import torch
            from torch.nn import functional as F
            class Distiller:
                def __init__(self, teacher, student):
                    self.teacher, self.student, self.soft = teacher, student, {}
                    self.opt = torch.optim.Adam(student.parameters())
                def targets(self, key, x):
                    if key not in self.soft:
          -             self.soft[key] = F.softmax(self.teacher(x), -1)
          +             with torch.no_grad():
          +                 self.soft[key] = F.softmax(self.teacher(x), -1)
                    return self.soft[key]
                def epoch(self, batches):
                    for key, x in enumerate(batches):
                        loss = F.kl_div(F.log_softmax(self.student(x), -1), self.targets(key, x), reduction="batchmean")
                        self.opt.zero_grad()
                        loss.backward()
                        self.opt.step()
            distiller = Distiller(torch.nn.Linear(3, 2), torch.nn.Linear(3, 2))
            batches = torch.randn(2, 4, 3)
            for _ in range(2):
                distiller.epoch(batches)
    """,
    "what a batch keeps, and the losses of two players read in turn": """
            import torch
            from functools import cached_property
            class Batch:
                def __init__(self, real, made_by):
                    self.real, self.made_by = real, made_by
                @cached_property
                def fake(self):
                    return self.made_by(torch.randn(4, 2))
            def critics(batch, critic):
          -     return critic(batch.fake).relu().mean() - critic(batch.real).mean()
          +     return critic(batch.fake.detach()).relu().mean() - critic(batch.real).mean()
            def generators(batch, critic):
                return -critic(batch.fake).mean()
            losses = {"critic": critics, "generator": generators}
            made_by = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 3))
            critic = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
            opts = {"critic": torch.optim.Adam(critic.parameters()), "generator": torch.optim.Adam(made_by.parameters())}
            for real in torch.randn(3, 4, 3):
                batch = Batch(real, made_by)
                for role in ("critic", "generator"):
                    loss = losses[role](batch, critic)
                    opts[role].zero_grad()
                    loss.backward()
                    opts[role].step()
    """,
    "states that are made by a function of torch, and kept by their number": """
            import torch
            w, states = torch.ones(3, requires_grad=True), {}
            for i in range(6):
          +     states = {k: t.detach() for k, t in states.items()}
                key = i % int(torch.randint(2, 4, ()))
                old = states[key] if key in states else torch.zeros(3)
                states[key] = torch.tanh(w * w + old)
                states[key].sum().backward()
    """,
    "an input that is attacked by the gradient that is asked for, and cut off by a method": """
            import torch
            class Attack:
                def __init__(self, model):
                    self.model = model
                def project(self, x, clean):
                    return (clean + (x - clean).clamp(-0.1, 0.1)).detach()
                def __call__(self, clean):
                    x = clean.clone()
                    x.requires_grad_(True)
                    for _ in range(3):
          +             x = x.detach().requires_grad_(True)
                        loss = self.model(x).square().sum()
                        (grad,) = torch.autograd.grad(loss, x)
                        x = self.project(x + 0.1 * grad.sign(), clean)
                    return x
            model = torch.nn.Linear(3, 1).requires_grad_(False)
            print(Attack(model)(torch.rand(2, 3)).numpy())
    """,
    "a pair of states that a function keeps for the next call of it": """
            import torch
            def stepping(model, opt):
                state = None
                def step(x):
                    nonlocal state
                    out, state = model(x, state)
                    loss = out.square().mean()
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
          +         state = tuple(t.detach() for t in state)
                    return loss.item()
                return step
            model = torch.nn.LSTM(2, 3, batch_first=True)
            step = stepping(model, torch.optim.SGD(model.parameters(), lr=0.1))
            for x in torch.randn(3, 2, 4, 2):
                step(x)
    """,
    "one loss of an object that holds two, computed again behind the step": """
            import torch
            from dataclasses import dataclass
            @dataclass
            class Losses:
                critic: torch.Tensor
                actor: torch.Tensor
            actor, critic = torch.nn.Linear(3, 2), torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
            actor_opt, critic_opt = (torch.optim.SGD(net.parameters(), lr=0.1) for net in (actor, critic))
            def losses_of(obs, act, rew):
                q = critic(torch.cat([obs, act], 1))
                return Losses((q - rew).square().mean(), -critic(torch.cat([obs, actor(obs)], 1)).mean())
            for _ in range(2):
                obs = torch.randn(4, 3)
                losses = losses_of(
                    obs, torch.randn(4, 2), torch.randn(4, 1)
                )  # of one batch
                critic_opt.zero_grad()
                losses.critic.backward()
                critic_opt.step()
                actor_opt.zero_grad()
          +     losses.actor = losses_of(
          +         obs, torch.randn(4, 2), torch.randn(4, 1)
          +     ).actor
                losses.actor.backward()
                actor_opt.step()
                print(losses.critic.item(), losses.actor.item())
    """,
    "one loss of a tuple by names, which can't be bound there": """
            import torch
            from typing import NamedTuple
            class Losses(NamedTuple):
                critic: torch.Tensor
                policy: torch.Tensor
            actor, critic = torch.nn.Linear(3, 2), torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
            actor_opt, critic_opt = (torch.optim.SGD(net.parameters(), lr=0.1) for net in (actor, critic))
            def losses_of(obs, act, rew):
                q = critic(torch.cat([obs, act], 1))
                return Losses((q - rew).square().mean(), -critic(torch.cat([obs, actor(obs)], 1)).mean())
            def learn(obs, act, rew):
                losses = losses_of(obs, act, rew)
                critic_opt.zero_grad()
                losses.critic.backward()
                critic_opt.step()
                actor_opt.zero_grad()
          -     losses.policy.backward()
          +     policy = losses_of(obs, act, rew).policy
          +     policy.backward()
                actor_opt.step()
                return losses.critic.item()
            for _ in range(2):
                learn(torch.randn(4, 3), torch.randn(4, 2), torch.randn(4, 1))
    """,
    "one of the losses in a dict, which is handed back": """
            import torch
            actor, critic = torch.nn.Linear(3, 2), torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
            actor_opt, critic_opt = (torch.optim.SGD(net.parameters(), lr=0.1) for net in (actor, critic))
            def losses_of(obs, act, rew):
                q = critic(torch.cat([obs, act], 1))
                return {"critic": (q - rew).square().mean(), "actor": -critic(torch.cat([obs, actor(obs)], 1)).mean()}
            def learn(obs, act, rew):
                losses = losses_of(obs, act, rew)
                critic_opt.zero_grad()
                losses["critic"].backward()
                critic_opt.step()
                actor_opt.zero_grad()
          +     losses["actor"] = losses_of(obs, act, rew)["actor"]
                losses["actor"].backward()
                actor_opt.step()
                return losses
            for _ in range(2):
                told = learn(torch.randn(4, 3), torch.randn(4, 2), torch.randn(4, 1))
                print(told["critic"].item())
    """,
    "a table whose rows are computed of the rows before": """
            import torch
            moves = torch.nn.Parameter(torch.zeros(3, 3))
            opt = torch.optim.SGD([moves], lr=0.1)
            for seen in torch.rand(2, 5, 3):
                reached, total = torch.zeros(5, 3), torch.zeros(())
                reached[0] = seen[0]
                for t in range(1, 5):
          -         there = (reached[t - 1] @ moves.softmax(-1)) * seen[t]
          +         there = (reached[t - 1].clone() @ moves.softmax(-1)) * seen[t]
                    reached[t] = there / there.sum()
                    total = total + there.sum().log()
                opt.zero_grad()
                (-total).backward()
                opt.step()
    """,
    "all of a network frozen at first, of which only the part that it is given was meant": """
            import torch
            class Classifier(torch.nn.Module):
                def __init__(self, base):
                    super().__init__()
                    self.base, self.top = base, torch.nn.Linear(4, 1)
                def forward(self, x):
                    return self.top(self.base(x).tanh())
            def set_trainable(module, flag):
                for p in module.parameters():
                    p.requires_grad_(flag)
            class Warmup:
                def __init__(self, until):
                    self.until = until
                def on_start(self, model):
          -         set_trainable(model, False)
          +         set_trainable(model.base, False)
                def on_epoch(self, model, epoch):
                    if epoch == self.until:
                        set_trainable(model, True)
            def fit(model, data, warmup):
                opt = torch.optim.SGD(model.parameters(), lr=0.1)
                warmup.on_start(model)
                for epoch in range(4):
                    warmup.on_epoch(model, epoch)
                    for x in data:
                        loss = model(x).square().mean()
                        opt.zero_grad()
                        loss.backward()
                        opt.step()
            fit(Classifier(torch.nn.Linear(3, 4)), torch.ones(3, 2, 3), Warmup(2))
    """,
    "all of a network frozen by a function that is named after a part of it": """
            import torch
            class Net(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.encoder, self.head = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
                def forward(self, x):
                    return self.head(self.encoder(x).tanh())
            def freeze_encoder(model):
          -     for p in model.parameters():
          +     for p in model.encoder.parameters():
                    p.requires_grad = False
            net = Net()
            freeze_encoder(net)
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            for x in torch.ones(3, 2, 3):
                loss = net(x).square().mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
    """,
    "a network that freezes all of itself, and not what it was given alone": """
            import torch
            class Tuned(torch.nn.Module):
                def __init__(self, body):
                    super().__init__()
                    self.body = body
                    self.head = torch.nn.Linear(4, 1)
                def freeze(self):
          -         for p in self.parameters():
          +         for p in self.body.parameters():
                        p.requires_grad = False
                def forward(self, x):
                    return self.head(self.body(x).tanh())
            net = Tuned(torch.nn.Linear(3, 4))
            net.freeze()
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            for x in torch.ones(3, 2, 3):
                loss = net(x).square().mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
    """,
    "a head put in before a mode that freezes all, by what another function returns": """
            import torch
            class Net(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.body, self.fc = torch.nn.Linear(3, 3), torch.nn.Linear(3, 9)
                def forward(self, x):
                    return self.fc(self.body(x).tanh())
            def freeze(module):
                for p in module.parameters():
                    p.requires_grad = False
                return module
            def probe(net):
                return freeze(net)
            modes = {"probe": probe}
            def build(how, state):
                net = Net()
                net.load_state_dict(state)
                net.fc = torch.nn.Linear(3, 1)
          -     return modes[how](net)
          +     frozen = modes[how](net)
          +     net.fc.requires_grad_(True)
          +     return frozen
            def tune(net, data):
                opt = torch.optim.SGD(net.parameters(), lr=0.1)
                for x in data:
                    loss = net(x).square().mean()
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
            tune(build("probe", Net().state_dict()), torch.ones(3, 2, 3))
    """,
    "weights that are adapted to each task, from those that the last one was left with": """
            import torch
            class Learner:
                def __init__(self, net, rate):
                    self.net, self.rate = net, rate
                    self.fast = dict(net.named_parameters())
                def adapt(self, x, y, steps):
          +         self.fast = dict(self.net.named_parameters())
                    for _ in range(steps):
                        grads = torch.autograd.grad(self.loss(x, y), list(self.fast.values()), create_graph=True)
                        self.fast = {name: w - self.rate * g for (name, w), g in zip(self.fast.items(), grads)}
                def loss(self, x, y):
                    return (torch.func.functional_call(self.net, self.fast, (x,)) - y).square().mean()
            net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
            learner, opt = Learner(net, 0.1), torch.optim.SGD(net.parameters(), lr=0.1)
            for epoch in range(2):
                opt.zero_grad()
                for x, y in zip(torch.randn(3, 5, 3), torch.randn(3, 5, 1)):
                    learner.adapt(x, y, 2)
                    loss = learner.loss(x, y)
                    loss.backward()
                opt.step()
    """,
    "a prediction that is kept to be compared with what comes next, which would be all that is trained": """
            import torch
            class Learner:
                def __init__(self):
                    self.value = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
                    self.opt = torch.optim.SGD(self.value.parameters(), lr=0.1)
          -         self.prev_value = None
          +         self.prev_state = None
                def observe(self, state, reward):
                    v = self.value(state)
          -         if self.prev_value is not None:
          -             loss = (self.prev_value - (reward + 0.9 * v)).pow(2).sum()
          +         if self.prev_state is not None:
          +             loss = (self.value(self.prev_state) - (reward + 0.9 * v)).pow(2).sum()
                        self.opt.zero_grad()
                        loss.backward()
                        self.opt.step()
          -         self.prev_value = v
          +         self.prev_state = state
            learner = Learner()
            for state in torch.randn(5, 3):
                learner.observe(state, 1.0)
    """,
    "gradients of each loss over one trunk, whose sum is trained behind that": """
            import torch
            class Weights:
                def __init__(self, count):
                    self.weights = torch.ones(count)
                def norms(self, losses, shared):
                    out = []
                    for loss in losses:
          -             grads = torch.autograd.grad(loss, shared)
          +             grads = torch.autograd.grad(loss, shared, retain_graph=True)
                        out.append(grads[0].norm())
                    return torch.stack(out)
                def __call__(self, losses, shared):
                    n = self.norms(losses, shared)
                    self.weights = 0.8 * self.weights + 0.2 * n.mean() / (n + 1e-8)
                    return sum(w * l for w, l in zip(self.weights, losses))
            trunk = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh())
            heads = torch.nn.ModuleList(torch.nn.Linear(4, 1) for _ in range(3))
            weighting, opt = Weights(3), torch.optim.SGD([*trunk.parameters(), *heads.parameters()], lr=0.1)
            for x in torch.randn(4, 2, 3):
                z = trunk(x)
                total = weighting([head(z).square().mean() for head in heads], [trunk[0].weight])
                opt.zero_grad()
                total.backward()
                opt.step()
    """,
    "states by their names, in batches of which the first is the deepest": """
            import torch
            class Memory:
                def __init__(self):
                    self.states = {}
                def get(self, node):
                    return self.states[node] if node in self.states else torch.zeros(1, 3)
                def put(self, node, value):
                    self.states[node] = value
            message, cell, memory = torch.nn.Linear(6, 3), torch.nn.GRUCell(3, 3), Memory()
            optimizer = torch.optim.SGD([*message.parameters(), *cell.parameters()], lr=0.1)
            for pairs in ([(0, 1), (1, 2), (2, 3)], [(0, 2), (1, 3), (3, 0)], [(2, 1), (0, 3), (1, 0)]):
          +     memory.states = {k: t.detach() for k, t in memory.states.items()}
                loss = 0
                for u, v in pairs:
                    one, two = memory.get(u), memory.get(v)
                    sent = torch.relu(message(torch.cat([one, two], dim=1)))
                    new_one, new_two = cell(sent, one), cell(sent, two)
                    memory.put(u, new_one)
                    memory.put(v, new_two)
                    loss = loss + (new_one * new_two).sum()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    """,
    "a sum over the steps of a batch that is never set back to zero": """
            import torch
            net = torch.nn.Sequential(torch.nn.Linear(3, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1))
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
          - loss = 0
            for batch in range(5):
                x = torch.rand(6, 4, 3)
                opt.zero_grad()
          +     loss = 0
                for t in range(6):
                    loss += net(x[t]).pow(2).mean()
                loss.backward()
                opt.step()
                print(batch, loss.item() / 6)
    """,
    "a state of a solver that is put into a list behind the loop in which it is changed in place": """
            import torch
            net = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            def solve(z0, steps):
                z, path = z0.clone(), [z0]
                for _ in range(steps):
                    for _ in range(2):
          -             z += 0.1 * net(z)
          +             z = z + 0.1 * net(z)
                    path.append(z)
                return torch.stack(path)
            for _ in range(3):
                loss = solve(torch.ones(3, 2), 3).square().mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
    """,
    "a state that a generator carries over its yield, in the outer one of two loops": """
            import torch
            class Cell(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.linear = torch.nn.Linear(2, 2)
                def forward(self, h, x):
                    return torch.tanh(self.linear(h) + x)
            def windows(cell, xs, width):
                state = torch.zeros(2)
                for start in range(0, len(xs), width):
                    seen = []
                    for x in xs[start:start + width]:
                        state = cell(state, x)
                        seen.append(state)
                    yield torch.stack(seen), xs[start:start + width]
          +         state = state.detach()
            cell = Cell()
            opt = torch.optim.SGD(cell.parameters(), lr=0.1)
            for pred, seen in windows(cell, torch.ones(6, 2), 2):
                loss = (pred - seen).square().mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
    """,
    "chains whose gradient is read, through a network that is frozen meanwhile": """
            import contextlib
            import torch
            @contextlib.contextmanager
            def frozen(module):
                module.requires_grad_(False)
                try:
                    yield module
                finally:
                    module.requires_grad_(True)
            def moons(x, y):
                return torch.stack([x, y], 1)
            def sample(energy, x, steps):
                with frozen(energy):
                    for _ in range(steps):
                        x = x.detach()
          +             x.requires_grad_(True)
                        e = energy(x).square().sum()
                        e.backward()
                        x = x - 0.1 * x.grad
                return x.detach()
            energy = torch.nn.Linear(2, 1)
            data = moons(torch.rand(4), torch.rand(4))
            opt = torch.optim.SGD(energy.parameters(), lr=0.1)
            for _ in range(3):
                loss = energy(data).mean() - energy(sample(energy, torch.randn(4, 2), 5)).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
    """,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_the_program_is_fixed_as_its_author_would(text: str) -> None:
    example = Example("", text)
    seen = fix_all(cast(Seen, look(Source("a.py", example.program))), look, True, lambda diagnostic: True).seen
    assert seen.source.text == example.fixed
    assert seen.diagnostics == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("trainer.model.draw()\n", "trainer.model.draw(); print(trainer.epoch)\n"),
        ("trainer.model.draw()\n", "trainer.model.draw(); trainer.seen = []\n"),
        (
            "on_batch_start(self, trainer):\n        pass",
            "on_batch_start(self, trainer):\n        print(trainer.epoch)",
        ),
    ],
    ids=["notes", "begins what others add to", "the other one does something"],
)
def test_a_hook_of_an_epoch_that_does_more_stays_one(old: str, new: str) -> None:
    program = Example("", EVENTS).program
    assert old in program
    source = Source("a.py", program.replace(old, new))
    seen = fix_all(cast(Seen, look(source)), look, True, lambda diagnostic: True).seen
    assert "def on_epoch_start(self, trainer):\n        trainer.model.draw()" in seen.source.text


@pytest.mark.parametrize(("shown", "is_fixed"), [("round({}, 4)", False), ("{}", True)])
def test_what_a_program_rounds_is_left_a_number(shown: str, is_fixed: bool) -> None:
    """`round` of a tensor raises TypeError."""
    text = (
        """
        import torch
        class Criterion:
            def __call__(self, parts):
                self.log = [part.item() for part in parts]
                return torch.tensor(sum(self.log))
        net, criterion = torch.nn.Linear(3, 1), Criterion()
        loss = criterion([net(torch.ones(2, 3)).square().mean()])
        loss.backward()
    """
        + f"    print({shown.format('criterion.log[0]')})\n"
    )
    source = Source("a.py", Example("", text).program)
    seen = fix_all(cast(Seen, look(source)), look, True, lambda diagnostic: True).seen
    assert (seen.source.text != source.text) == is_fixed
