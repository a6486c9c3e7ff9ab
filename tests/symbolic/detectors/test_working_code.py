"""What working code of public repositories does, and was told of wrongly once: with a twin that is told rightly."""

from __future__ import annotations

import pytest
from fixture_marks import marks
from machine import Machine

from retainlint.checking import linter
from retainlint.config import Settings
from retainlint.incident import Freed

ABSTRACT = """
import abc
import torch
import torch.nn.functional as F

class Learner(torch.nn.Module, metaclass=abc.ABCMeta):
    @abc.abstractmethod
    def forward(self, x):
        pass

    def learn(self, batches):
        for x, y in batches:
            loss = F.cross_entropy(self(x), torch.zeros(3).long())
            loss.backward()
"""
UNFINISHED = """
import torch
import torch.nn.functional as F

class Net(torch.nn.Module):
    def forward(self, x):
        scores = None
        # your code
        return scores

net = Net()
for x in torch.randn(3, 4):
    loss = F.cross_entropy(net(x), torch.zeros(3).long())
    loss.backward()
"""
DETACHED = """
import torch
from torch.distributions import Normal
from torch.distributions.kl import kl_divergence

def curvature(policy, x):
    pi = policy(x)
    old = Normal(torch.zeros(3), torch.ones(3))
    kl = torch.sum(kl_divergence(pi, old) * torch.ones(3))
    return torch.autograd.grad(kl, policy.parameters())
"""
MANUAL = """
import torch
import pytorch_lightning as pl

class Module(pl.LightningModule):
    def __init__(self, adversarial):
        super().__init__()
        self.net, self.adversarial = torch.nn.Linear(3, 3), adversarial

    def training_step(self, batch, index):
        loss = self.net(batch).pow(2).mean()
        if self.adversarial:
            self.manual_backward(loss)
            self.optimizers().step()
        return loss

    def configure_optimizers(self):
        if self.adversarial:
            self.automatic_optimization = False
        return torch.optim.Adam(self.parameters())
"""
SPIKES = """
import torch

class Spike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.gt(x, 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad / (1 + x.abs())

def threshold(x, method):
    if method == "heaviside":
        return torch.gt(x, 0).to(x.dtype)
    elif method == "super":
        return Spike.apply(x)
    else:
        raise ValueError(method)

def check(cell):
    state = cell.state
    state.v.requires_grad = True
    spikes = threshold(torch.ones(3) + state.v, cell.method)
    spikes.sum().backward()
"""
UNUSED = """
import torch
from torch.autograd import grad

def derivative(f, x):
    g = grad(f.sum(), x, create_graph=True, allow_unused=True)[0]
    if g is None:
        g = torch.zeros_like(x)
    return g

def second(f, x):
    first = derivative(f, x)
    return grad(first.sum(), x, create_graph=True, allow_unused=True)[0]
"""
MISSPELT = """
import torch

class Noise(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(n))

noise = Noise(3)
noise.scale.zeros_()
(noise.scale * 2).sum().backward()
"""
SAMPLED = """
import torch

class Trainer:
    def __init__(self, model, pde):
        self.model, self.pde = model, pde
        self.optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)

    def step(self, x, t):
        def closure():
            self.optimizer.zero_grad()
            losses = self.pde.compute_loss(self.model, x, t)
            losses["total"].backward()
            return losses["total"]

        self.optimizer.step(closure)

    def train(self, epochs):
        for _ in range(epochs):
            options = {}
            if self.strategy == "residual":
                options["model"] = self.model
            self.step(*self.pde.sample(100, **options))
"""
LEARNT = """
import torch

class Agent:
    def __init__(self, init):
        self.log_alpha = torch.log(torch.ones(1) * init).requires_grad_(True)

    def learn(self, entropy):
        for i in range(self.steps):
            loss = -(self.log_alpha * entropy.detach()).mean()
            loss.backward()
"""
NAMELESS = """
import torch

class Runner:
    def handle_batch(self, batch):
        loss = self.model(batch).sum()
        self.engine.backward({loss})
        self.engine.backward({loss})  #~ reused RTL102
"""
LEFT_OUT = """
import torch

def train(nets, x, step):
    losses = [net(x).tanh().sum() for net in nets]
    done = [False] * len(nets)
    for _ in range(20):
        live = [losses[i] for i in range(len(nets)){unless}]
        sum(live).backward()  #~ reused RTL101
        for i in range(len(nets)):
            if done[i]:
                continue
            if step(i):
                losses[i] = nets[i](x).tanh().sum()
            else:
                done[i] = True
        if sum(done) == len(nets):
            break
"""
SILENT = {
    "what is done is left out of what is summed": LEFT_OUT.format(unless=" if not done[i]"),
    "a number made a leaf": LEARNT,
    "points that are sampled with a network's help": SAMPLED,
    "zeros where a gradient is None": UNUSED,
    "a method that tensors don't have": MISSPELT,
    "an abstract forward": ABSTRACT,
    "a network that nobody wrote": UNFINISHED,
    "a distance to a distribution without a graph": DETACHED,
    "manual optimisation under a condition": MANUAL,
    "an option that cuts, over what isn't seen": SPIKES,
    "a loss that nothing binds, through an engine": NAMELESS.format(loss="the_loss"),
}

TOLD = {
    "what is done is summed all the same": LEFT_OUT.format(unless=""),
    "a loss, through an engine": NAMELESS.format(loss="loss"),
    "an abstract method with a body": """
import abc
import torch

class Learner(abc.ABC):
    @abc.abstractmethod
    def loss(self):
        return torch.zeros(3).sum()

class Zero(Learner):
    def loss(self):
        return torch.zeros(3).mean()

loss = Zero().loss()
loss.backward()  #~ backward RTL112
""",
    "a distance between two known ones": """
import torch
from torch.distributions import Normal, kl_divergence

scale = torch.ones(3, requires_grad=True)
kl = kl_divergence(Normal(torch.zeros(3), scale), Normal(torch.zeros(3), torch.ones(3))).sum()
kl.backward()
kl.backward()  #~ reused RTL102
""",
    "a graph that was built before the loop": """
import torch

def fisher(net, x):
    output = net(x)
    for i in range(output.shape[1]):
        loss = output[0, i].exp()
        loss.backward(retain_graph=i == 0)  #~ reused RTL101
""",
}


OWN_TRAIN = """
import torch

def learn(path, batch):
    learner, loss = torch.load(path), torch.zeros(1)
    optimizer = torch.optim.Adam(learner.policy.parameters())
    for i in range(7):
        loss += learner.train({given})
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize("given", ["batch", "batch.to('cpu'), 3"])
def test_a_train_that_is_given_data_is_not_that_of_a_module(machine: Machine, given: str) -> None:
    assert machine(OWN_TRAIN.format(given=given)).lines == []


KEPT = """
import torch

class Rollout:
    def __init__(self):
        self.probs, self.more = [], []
    def joined(self):
        return map(torch.stack, {chosen})

def learn(policy, states, n):
    optimizer = torch.optim.Adam(policy.parameters())
    for _ in range(n):
        rollout = Rollout()
        for state in states:
            rollout.probs += [policy(state)]
        probs, *_ = rollout.joined()
        optimizer.zero_grad()
        probs.mean().backward()
        optimizer.step()
"""


@pytest.mark.parametrize("chosen", ["filter(len, [self.probs, self.more])", "[self.probs]"])
def test_a_walk_frees_what_a_filter_lets_through(machine: Machine, chosen: str) -> None:
    assert machine(KEPT.format(chosen=chosen)).warnings == []


PARTLY = """
import torch

def evaluate(model, criterion, tasks):
    total = 0.0
    for x, y in tasks:
        loss = criterion(model.adapted(x), y)
        {walk}
        total += loss
    return 1
"""


@pytest.mark.parametrize(
    ("walk", "alive"),
    [
        ("g = torch.autograd.grad(loss, list(model.parameters()))", False),
        ("g = torch.autograd.grad(loss, list(model.parameters()), retain_graph=True)", True),
    ],
)
def test_gradients_of_some_inputs_free_what_nobody_sees(machine: Machine, walk: str, alive: bool) -> None:
    (kept,) = (one for one in machine(PARTLY.format(walk=walk)).warnings if one.code == "RTL203")
    assert ("stays alive" in kept.message) is alive


@pytest.mark.parametrize("name", SILENT)
def test_nothing_is_told_of_working_code(machine: Machine, name: str) -> None:
    assert machine(SILENT[name]).incidents == ()


@pytest.mark.parametrize("name", TOLD)
def test_its_failing_twin_is_told(machine: Machine, name: str) -> None:
    wanted = [(mark.line, mark.code) for mark in marks(TOLD[name], name) if mark.code]
    assert machine(TOLD[name]).failures == wanted


GRADIENT = """
import torch

def invert(generator, image, noise, n):
    z = noise(n)
    optimizer = torch.optim.Adam([z], lr=0.1)
    for _ in range(n):
        {zeroing}
        loss = torch.sum(torch.abs(image - generator(z)))
        loss.backward()
        optimizer.step()
    return z
"""


@pytest.mark.parametrize(("zeroing", "wasted"), [("z.grad is None or z.grad.zero_()", 0), ("pass", 1)])
def test_who_reads_a_gradient_may_zero_it(machine: Machine, zeroing: str, wasted: int) -> None:
    seen = machine(GRADIENT.format(zeroing=zeroing))
    assert [one.code for one in seen.warnings] == ["RTL303"] * wasted


ITEMS = """
class Trainer:
    def train(self):
        for batch in self.batches:
            {change}
            self.losses["total"].backward()
"""


@pytest.mark.parametrize(
    "change",
    [
        "for k in self.losses: self.losses[k] = measure(k, batch)",
        "self.losses.update(measure(batch))",
        "self.losses.clear(); self.losses.update(measure(batch))",
        "self.losses.setdefault('total', measure(batch))",
        "measure(self.losses, batch)",
        "del self.losses['total']; self.losses.add(measure(batch))",
    ],
)
def test_what_is_done_to_a_dict_that_nobody_sees_may_set_its_items_anew(machine: Machine, change: str) -> None:
    assert machine(ITEMS.format(change=change)).incidents == ()


def test_what_is_put_there_by_name_is_what_is_read(machine: Machine) -> None:
    kept = "if batch.first: self.losses['total'] = measure(batch, self.net(batch).exp())"
    (found,) = machine(ITEMS.format(change=kept)).incidents
    assert isinstance(found, Freed) and found.op == "UnseenBackward"


AGENT = """
import torch
from torch import nn

class Buffer:
    def __init__(self):
        self.rows, self.size = [], 0
    def add(self, x):
        self.rows.append(x)
        self.size += 1
    def __len__(self):
        return self.size

class Agent:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
        self.buffer = Buffer()
    def see(self, x):
        {see}
    def episode_end(self):
        self._update()
    def _update(self):
        if len(self.buffer) == 0:
            return
        loss = self.net(torch.ones(2, 3)).exp().mean()
        loss.backward()
        loss.backward()
"""


@pytest.mark.parametrize(("see", "count"), [("self.buffer.add(x)", 1), ("pass", 0)])
def test_a_buffer_that_others_fill_is_not_empty_for_good(machine: Machine, see: str, count: int) -> None:
    assert len(machine(AGENT.format(see=see)).incidents) == count


LISTED = """
import torch
class Stack(torch.nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = torch.nn.Sequential(*layers)
    def backward(self):
        first, loss, _ = self.layers[-1].backward()
        return first, loss
"""


def test_an_item_of_modules_is_no_tensor() -> None:
    """It may be of a class that has a `backward` of its own, which returns something."""
    found = linter.check_source("m.py", LISTED.encode(), Settings())
    assert [each.code for each in found.diagnostics] == []


LAYERED = """
import torch
from elsewhere import read

sizes, layers, x = {0}, torch.nn.ModuleList(), torch.ones(3)
for n in range(len(sizes)):
    layers.append(torch.nn.Linear(3, 3))
neurons = [torch.zeros(3, requires_grad=True) for n in sizes]
for t in range(4):
    given, phi = [x] + neurons, 0.0
    for n in range({1}):
        phi += (layers[n](given[n]) * given[n + 1]).sum()
    grads = torch.autograd.grad(phi, neurons)
    for n in range(len(neurons) - 1):
        neurons[n] = torch.tanh(grads[n])
        neurons[n].requires_grad = True
    neurons[-1] = torch.tanh(grads[-1]).requires_grad_()
"""


@pytest.mark.parametrize(
    ("sizes", "used", "lines"),
    [("read()", "len(layers)", []), ("[3, 3]", "len(layers)", []), ("[3, 3]", "1", [13])],
)
def test_another_iteration_may_use_what_a_gradient_is_asked_of(
    machine: Machine, sizes: str, used: str, lines: list[int]
) -> None:
    assert machine(LAYERED.format(sizes, used)).lines == lines
