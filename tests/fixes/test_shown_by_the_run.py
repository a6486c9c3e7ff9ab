"""Fixes that are chosen by what the run shows: who holds what, what is zeroed and stepped between, what trains what."""

from __future__ import annotations

import pytest
from fixes.test_cures import HEAD, fixed

PROGRAMS: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    "a backward pass that a helper has run before": (
        """def share(x):
    loss = (w * x).pow(2).sum()
    loss.backward()
    return loss
for x in torch.ones(2, 3):
    loss = share(x)
    loss.backward()
    print(loss.item())
""",
        (("share(x)\n    loss.backward()\n", "share(x)\n"),),
    ),
    "three losses over one trunk": (
        """y = w.exp()
a, b, c = y.sum(), y.mean(), y.max()
a.backward()
(2 * b).backward()
c.backward()
""",
        (("a.backward()\n(2 * b).backward()\nc.backward()\n", "(a + 2 * b + c).backward()\n"),),
    ),
    "a loss that is made before a step that changes what it needs": (
        """one, two = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)
first, second = (torch.optim.SGD(net.parameters(), lr=0.1) for net in (one, two))
x = torch.ones(2, 3)
loss = two(x).pow(2).mean()
score = -two(one(x)).mean()
second.zero_grad()
loss.backward()
second.step()
first.zero_grad()
score.backward()
first.step()
""",
        (
            ("score = -two(one(x)).mean()\n", ""),
            ("first.zero_grad()\n", "first.zero_grad()\nscore = -two(one(x)).mean()\n"),
        ),
    ),
    "weights in a dictionary, changed with a graph": (
        """fast = {"w": w}
(grad,) = torch.autograd.grad((w * w).sum(), w, create_graph=True)
for name in fast:
    fast[name] -= 0.1 * grad
fast["w"].sum().backward()
""",
        (("fast[name] -= ", "fast[name] = fast[name] - "),),
    ),
    "an input that is a leaf in each iteration": (
        """x = torch.rand(3, requires_grad=True)
for _ in range(3):
    loss = x.exp().sum()
    loss.backward()
    slope = x.grad
    x = (x.detach() + slope.sign()).detach()
""",
        (("sign()).detach()", "sign()).detach().requires_grad_()"),),
    ),
    "a total on an object, and the loss that is added": (
        """class Meter:
    def __init__(self):
        self.total = 0.0

    def learn(self, x):
        seen = (w * x).exp()
        loss = (seen - x).abs().sum()
        self.total = self.total + loss
        optimizer.zero_grad()
        self.total.backward()
        optimizer.step()


optimizer, meter = torch.optim.SGD([w], lr=0.1), Meter()
for x in torch.ones(3, 3):
    meter.learn(x)
""",
        (("total + loss\n", "total + loss.detach()\n"), ("self.total.backward()", "loss.backward()")),
    ),
    "a step in each iteration, with gradients that are zeroed before all": (
        """net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.ones(2, 5, 3):
    optimizer.zero_grad()
    losses = [each.mean() for each in net(x).unbind(1)]
    for loss in losses:
        loss.backward(retain_graph=True)
        optimizer.step()
    print(len(losses))
""",
        (("        optimizer.step()\n", "    optimizer.step()\n"),),
    ),
    "weights that are kept in bounds before their backward pass": (
        """net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
@torch.no_grad()
def bounded():
    for weight in net.parameters():
        weight.clamp_(-1, 1)
for x in torch.ones(3, 2, 3):
    optimizer.zero_grad()
    loss = net(x).mean()
    bounded()
    loss.backward()
    optimizer.step()
""",
        (
            (
                "    bounded()\n    loss.backward()\n    optimizer.step()\n",
                "    loss.backward()\n    optimizer.step()\n    bounded()\n",
            ),
        ),
    ),
    "a state that a list holds after each of its changes": (
        """state = torch.ones(3)
path = [state]
for _ in range(3):
    slope = torch.tanh(w * state)
    state += slope
    path.append(state)
torch.stack(path).sum().backward()
""",
        (("state += slope", "state = state + slope"),),
    ),
    "lists that are gone through together": (
        """class Memory:
    def __init__(self):
        self.kept, self.shares = [], []

    def add(self, kept, share):
        self.kept.append(kept)
        self.shares.append(share)


memory, optimizer = Memory(), torch.optim.SGD([w], lr=0.1)
for x in torch.ones(3, 3):
    memory.add((w * x).exp().sum(), 0.5)
    loss = sum(kept * share for kept, share in zip(memory.kept, memory.shares))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
        (("loss.backward()\n", "loss.backward()\n    memory.kept.clear()\n    memory.shares.clear()\n"),),
    ),
    "a window of old keys, and of values beside": (
        """from collections import deque
class Window:
    def __init__(self):
        self.keys, self.values = deque(maxlen=2), deque(maxlen=2)

    def add(self, key, value):
        self.keys.append(key)
        self.values.append(value)

    def read(self, query):
        shares = torch.stack([query, *self.keys]) @ query
        return shares.softmax(0) @ torch.stack([query, *self.values])


window, optimizer = Window(), torch.optim.SGD([w], lr=0.1)
for x in torch.ones(3, 3):
    seen = (w * x).exp()
    loss = window.read(seen).sum()
    window.add(seen, seen * x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
        (("append(key)", "append(key.detach())"), ("append(value)", "append(value.detach())")),
    ),
    "a loss through a helper, of what another one has trained": (
        """bias = torch.zeros(1, requires_grad=True)
def learn(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
one, two = torch.optim.SGD([w], lr=0.1), torch.optim.SGD([bias], lr=0.1)
y = w.exp()
learn(one, (y * 2).sum())
learn(two, -(bias * (y + 1)).sum())
""",
        (("(y + 1)", "(y.detach() + 1)"),),
    ),
    "a slower copy beside what is trained": (
        """import copy
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
slow = copy.deepcopy(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
def apart(x):
    aim = torch.softmax(slow(x), dim=1)
    return (net(x).softmax(1) - aim).pow(2).mean()
for x in torch.ones(3, 2, 3):
    loss = net(x).pow(2).mean() + apart(x)
    with torch.no_grad():
        for mine, other in zip(slow.parameters(), net.parameters()):
            mine.lerp_(other, 0.1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
        (
            (
                "    aim = torch.softmax(slow(x), dim=1)\n",
                "    with torch.no_grad():\n        aim = torch.softmax(slow(x), dim=1)\n",
            ),
        ),
    ),
    "the slope in a part of the input": (
        """xy = torch.rand(5, 2, requires_grad=True)
y = xy[:, 1:]
u = (xy * xy).sum()
slope = torch.autograd.grad(u, y, create_graph=True)[0]
""",
        (("grad(u, y, create_graph=True)[0]", "grad(u, xy, create_graph=True)[0][:, 1:]"),),
    ),
    "a rollout of which no part is trained": (
        """from typing import NamedTuple
class Rollout(NamedTuple):
    score: torch.Tensor
    value: torch.Tensor
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
def collect(x):
    out = net(x).exp()
    return Rollout(out[:, 0], out[:, 1])
for x in torch.ones(2, 5, 3):
    seen = collect(x)
    for _ in range(2):
        now = net(x).exp()
        loss = (now[:, 0] / seen.score).mean() + (now[:, 1] - seen.value).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
""",
        (("    seen = collect(x)\n", "    with torch.no_grad():\n        seen = collect(x)\n"),),
    ),
    "states in a list that each iteration makes anew": (
        """cells = torch.nn.ModuleList([torch.nn.RNNCell(3, 3), torch.nn.RNNCell(3, 3)])
def step(x, states):
    fresh = []
    for cell, state in zip(cells, states):
        x = cell(x, state)
        fresh.append(x)
    return x, fresh
states = [None, None]
for x in torch.ones(3, 2, 3):
    y, states = step(x, states)
    y.pow(2).sum().backward()
    print(y.shape)
""",
        (("    print(y.shape)\n", "    print(y.shape)\n    states = [t.detach() for t in states]\n"),),
    ),
    "a second derivative that a function makes for a loss": (
        """x = torch.rand(4, requires_grad=True)
def residual(u):
    (slope,) = torch.autograd.grad(u.sum(), x, create_graph=True)
    (bend,) = torch.autograd.grad(slope.sum(), x)
    return u + slope - 0.1 * bend
residual((w * x).exp()).pow(2).mean().backward()
""",
        (("grad(slope.sum(), x)", "grad(slope.sum(), x, create_graph=True)"),),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_fix_is_the_one_that_the_run_asks_for(name: str) -> None:
    before, edits = PROGRAMS[name]
    after = before
    for old, new in edits:
        after = after.replace(old, new)
    assert after != before
    assert fixed(HEAD + before).source.text == HEAD + after
