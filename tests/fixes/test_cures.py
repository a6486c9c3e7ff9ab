"""Fixes of programs in unusual clothes: what is written, to the character, and under other line ends too."""

from __future__ import annotations

import ast
from typing import cast

import pytest
from fixes.look import look

from retainlint.fixes import Seen, applying, fix_all
from retainlint.incident import Conduct
from retainlint.text.in_place_methods import FILLS
from retainlint.text.source import Source

HEAD = "import torch\n\nw = torch.ones(3, requires_grad=True)\n"

BANK = """\
class Bank:
    def __init__(self):
        self.kept = []

    def add(self, item):
        self.kept.append(item)
        if len(self.kept) > 2:
            self.kept.pop(0)


class Trainer:
    def __init__(self):
        self.net, self.bank = torch.nn.Linear(3, 1), None
        self.bank = Bank()

    def step(self, x):
{}        y = self.net(x).exp()
        self.bank.add(y)
        loss = sum(self.bank.kept).sum()
        loss.backward()


trainer = Trainer()
for _ in range(3):
    trainer.step(torch.randn(2, 3))
"""

UNROLLED = """\
def unroll(ws, rate):
    for _ in range(2):
        loss = sum((p**2).sum() for p in ws)
        grads = torch.autograd.grad(loss, ws, create_graph=True)
        ws = [p - rate * g for p, g in zip(ws, grads)]
    return ws


rate, ws = torch.tensor(0.1, requires_grad=True), [w]
for _ in range(3):
{}    ws = unroll(ws, rate)
    sum((p**3).sum() for p in ws).backward()
"""

PEERS = """\
nets = [torch.nn.Linear(3, 2) for _ in range(2)]
opts = [torch.optim.SGD(net.parameters(), lr=0.1) for net in nets]


def distance(mine, peer):
    return (mine.softmax(1) - peer.softmax(1)).square().sum()


for x in torch.ones(3, 2, 3):
    outs = [net(x) for net in nets]
    for i, opt in enumerate(opts):
        loss = distance(outs[i], outs[1 - i]{})
        opt.zero_grad()
        loss.backward()
        opt.step()
"""

TABLE = """\
class Table(torch.nn.Module):
    def __init__(self, rows):
        super().__init__()
        self.mix = torch.nn.Linear(4, 4)
        {}

    def forward(self, at):
        return {}[at]


table = Table(8)
opt = torch.optim.SGD(table.parameters(), lr=0.1)
for at in range(3):
    loss = table(at).square().sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""

SLOW = """\
net, slow = torch.nn.Linear(3, 1), torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 1))
w, opt = w.detach(), torch.optim.SGD(net.parameters(), lr=0.1)
{}with torch.no_grad():
    for each in slow.parameters():
        each.mul_(0.9)
(net(w) - goal).square().sum().backward()
opt.step()
"""

RECORD = """\
from dataclasses import dataclass
@dataclass(frozen=True)
@torch.jit.export
class State:
    h: torch.Tensor
    count: int
state = State(torch.zeros(3), 0)
for _ in range(3):
{}    state = State((state.h * w + 1).exp(), state.count + 1)
    state.h.sum().backward()
"""

LISTS = """\
class Memory(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.keys, self.values = [], []
    def forward(self, x):
        self.keys.append((x * w).exp())
        self.values.append((x + w).exp())
        return (torch.stack(self.keys) * torch.stack(self.values)).sum()
net, optimizer = Memory(), torch.optim.SGD([w], lr=0.1)
for sequence in torch.randn(3, 2, 3):
    loss = sum(net(x) for x in sequence)
    optimizer.zero_grad()
    loss.backward()
{}    optimizer.step()
"""

RECORDS = """from typing import NamedTuple


class State(NamedTuple):
    h: torch.Tensor
    count: int


states = [State(torch.zeros(3), 0) for _ in range(2)]
for x in torch.ones(4, 3):
{}    states = [State((s.h * w + x).exp(), s.count + 1) for s in states]
    sum(s.h.sum() for s in states).backward()
"""
DETACHED = "    states = [t._replace(h=t.h.detach()) for t in states]\n"
SMOOTHED = """class Tracker:
    def __init__(self):
        self.mean = 0.0

    def update(self, value):
        self.mean = 0.9 * self.mean + 0.1 * value
        return self.mean / (1 - 0.9)


tracker = Tracker()
opt = torch.optim.SGD([w], lr=0.1)
for x in torch.ones(4, 3):
    loss = (w * x).exp().mean()
    {}tracker.update({})
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
FIELD = """import lib
net, x = lib.make(), torch.ones(3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
{}for _ in range(4):
    opt.zero_grad()
{}    loss = torch.nn.functional.mse_loss(out.F, x)
    loss.backward()
    opt.step()
"""
SHARES = """class Trainer:
    def __init__(self):
        self.logits = torch.zeros(3, requires_grad=True)
        self.opt = torch.optim.SGD([self.logits], lr=0.1)

    def setup(self, target):
        {}self.target = target

    def step(self, x):
        loss = ({} * x).log().sum()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()

    def fit(self, xs):
        self.setup(xs[0])
        [self.step(x) for x in xs]


Trainer().fit(torch.ones(4, 3))
"""
NAMED_LOSSES = """from collections import defaultdict


class Lists:
    def __init__(self):
        self.losses = defaultdict(list)


lists = Lists()
opt = torch.optim.SGD([w], lr=0.1)
for x in torch.ones(4, 3):
    lists.losses["a"].append((w * x).exp().mean())
    lists.losses["b"].append((w * x).sin().mean())
    loss = sum(torch.stack(values).mean() for values in lists.losses.values())
    opt.zero_grad()
    loss.backward()
{}    opt.step()
"""
PRODUCTS = """def product(loss, v):
    grad, = torch.autograd.grad(loss, [w]{})
    return torch.autograd.grad((grad * v).sum(), [w]{})[0]


loss, v = (w ** 3).sum(), torch.ones(3)
for _ in range(4):
    v = v - 0.1 * product(loss, v)
"""

PAIRS = {
    "a hook's change, of which the result takes the place": (
        "def shut(module, inputs, output):\n    output.mul_(torch.rand_like(output).round())\n\n\ngate = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Sigmoid())\ngate[1].register_forward_hook(shut)\ngate(torch.ones(2, 3)).sum().backward()\n",
        "def shut(module, inputs, output):\n    return output.mul(torch.rand_like(output).round())\n\n\ngate = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Sigmoid())\ngate[1].register_forward_hook(shut)\ngate(torch.ones(2, 3)).sum().backward()\n",
    ),
    "a change that a function makes for its caller": (
        "def shut(given, mask):\n    given.mul_(mask)\n\n\ngates = w.sigmoid()\nshut(gates, torch.ones(3).round())\ngates.sum().backward()\n",
        "def shut(given, mask):\n    return given.mul(mask)\n\n\ngates = w.sigmoid()\ngates = shut(gates, torch.ones(3).round())\ngates.sum().backward()\n",
    ),
    "what a hook is given before the call": (
        "def noise(module, inputs):\n    inputs[0].add_(0.1)\n\n\nnet = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Sigmoid(), torch.nn.Linear(3, 1))\nnet[2].register_forward_pre_hook(noise)\nnet(torch.ones(2, 3)).sum().backward()\n",
        "def noise(module, inputs):\n    return (inputs[0].add(0.1),)\n\n\nnet = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Sigmoid(), torch.nn.Linear(3, 1))\nnet[2].register_forward_pre_hook(noise)\nnet(torch.ones(2, 3)).sum().backward()\n",
    ),
    "half of a tensor": (
        "x = w * torch.ones(2, 1)\ny = x.exp() * x\nx[:, 1:] = x[:, 1:] * 2\n(x * y).sum().backward()\n",
        "x = w * torch.ones(2, 1)\ny = x.exp() * x\nx = torch.cat([x[:, :1], x[:, 1:] * 2], dim=1)\n(x * y).sum().backward()\n",
    ),
    "where a mask says so": (
        "x = w.sigmoid()\nx[x < 0.2] = 0.0\nx.sum().backward()\n",
        "x = w.sigmoid()\nx = x.masked_fill(x < 0.2, 0.0)\nx.sum().backward()\n",
    ),
    "a graph that a helper is asked for": (
        "def slope(y, x, create_graph=False):\n    return torch.autograd.grad(y.sum(), x, create_graph=create_graph)[0]\n\n\nfirst = slope(w.exp(), w)\nsecond = slope(first, w)\nprint(second)\n",
        "def slope(y, x, create_graph=False):\n    return torch.autograd.grad(y.sum(), x, create_graph=create_graph)[0]\n\n\nfirst = slope(w.exp(), w, create_graph=True)\nsecond = slope(first, w)\nprint(second)\n",
    ),
    "a schedule": (
        "gain = 1.0\nfor step in range(4):\n    if step % 2 == 0:\n        gain = gain * 0.5\n        mask = (w * gain).sigmoid()\n    loss = (mask * w).sum()\n    loss.backward()\n",
        "gain = 1.0\nfor step in range(4):\n    if step % 2 == 0:\n        gain = gain * 0.5\n    mask = (w * gain).sigmoid()\n    loss = (mask * w).sum()\n    loss.backward()\n",
    ),
    "a level that passes the gradient on": (
        "level = (w * 3).round().detach()\n(level * 2).sum().backward()\n",
        "level = (w * 3) + ((w * 3).round() - (w * 3)).detach()\n(level * 2).sum().backward()\n",
    ),
    "features of inference mode": (
        "with torch.inference_mode():\n    seen = torch.nn.Linear(3, 3)(torch.ones(3))\n(w * seen).sum().backward()\n",
        "with torch.no_grad():\n    seen = torch.nn.Linear(3, 3)(torch.ones(3))\n(w * seen).sum().backward()\n",
    ),
    "what max_norm changes": (
        "net = torch.nn.Embedding(3, 3, max_norm=1.0)\nloss = (net.weight ** 2).sum() + net(torch.tensor([1])).sum()\n"
        "loss.backward()\n",
        "net = torch.nn.Embedding(3, 3, max_norm=1.0)\nloss = (net.weight.clone() ** 2).sum() + net(torch.tensor([1])).sum()\n"
        "loss.backward()\n",
    ),
    "a head frozen with its body": (
        "body, head = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)\nnet = torch.nn.Sequential(body, head)\n"
        "for p in net.parameters():\n    p.requires_grad = False\n"
        "optimizer = torch.optim.SGD(head.parameters(), lr=0.1)\nnet(torch.ones(3)).sum().backward()\noptimizer.step()\n",
        "body, head = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)\nnet = torch.nn.Sequential(body, head)\n"
        "for p in net.parameters():\n    p.requires_grad = False\nhead.requires_grad_(True)\n"
        "optimizer = torch.optim.SGD(head.parameters(), lr=0.1)\nnet(torch.ones(3)).sum().backward()\noptimizer.step()\n",
    ),
    "lists of another object, emptied together": (
        LISTS.format(""),
        LISTS.format("    net.keys.clear()\n    net.values.clear()\n"),
    ),
    "carried in a frozen record, with another decorator between": (
        RECORD.format(""),
        RECORD.format("    state = State(h=state.h.detach(), count=state.count)\n"),
    ),
    "kept in a list of another object": (
        BANK.format(""),
        BANK.format("").replace("item):\n", "item):\n        self.kept = [t.detach() for t in self.kept]\n"),
    ),
    "computed ahead, and handed on with what it is made of": (
        "net, s = torch.nn.Linear(3, 1), torch.ones(3)\nv = net(s)\nfor _ in range(3):\n    t = s + 1\n    u = net(t)\n"
        "    (u - v).pow(2).sum().backward()\n    s, v = t, u\n",
        "net, s = torch.nn.Linear(3, 1), torch.ones(3)\nfor _ in range(3):\n    v = net(s)\n    t = s + 1\n    u = net(t)\n"
        "    (u - v).pow(2).sum().backward()\n    s = t\n",
    ),
    "a leaf that is scaled": (
        "codes = torch.randn(3, requires_grad=True) * 0.1\nopt = torch.optim.SGD([codes], lr=1)\n",
        "codes = (torch.randn(3) * 0.1).requires_grad_()\nopt = torch.optim.SGD([codes], lr=1)\n",
    ),
    "parameters of which some aren't used": (
        "v = torch.ones(3, requires_grad=True)\n(a, b) = torch.autograd.grad((w * w).sum(), (w, v), create_graph=True)\n",
        "v = torch.ones(3, requires_grad=True)\n(a, b) = torch.autograd.grad((w * w).sum(), (w, v), create_graph=True, allow_unused=True)\n",
    ),
    "a total that begins again": (
        "total = 0\nfor i in range(8):\n    total = total + w.exp().sum()\n    if i % 2:\n        total.backward()\n",
        "total = 0\nfor i in range(8):\n    total = total + w.exp().sum()\n    if i % 2:\n        total.backward()\n        total = 0\n",
    ),
    "what no optimiser trains, and is changed": (
        SLOW.format("goal = slow(w)\n"),
        SLOW.format("with torch.no_grad():\n    goal = slow(w)\n"),
    ),
    "semicolons": (
        "loss = (w*w).sum(); torch.autograd.grad(loss, w); loss.backward()\n",
        "loss = (w*w).sum(); torch.autograd.grad(loss, w, retain_graph=True); loss.backward()\n",
    ),
    "a body in the row of its header": (
        "loss = (w*w).sum()\nfor _ in range(2): torch.autograd.grad(loss, w)\n",
        "loss = (w*w).sum()\nfor _ in range(2): torch.autograd.grad(loss, w, retain_graph=True)\n",
    ),
    "a last row without an end": (
        "h = w.exp()\na, b = h.sum(), (h*h).sum()\na.backward()\nb.backward()",
        "h = w.exp()\na, b = h.sum(), (h*h).sum()\n(a + b).backward()",
    ),
    "a last row without an end moves out of a loop": (
        "total = 0\nfor _ in range(3):\n    total = total + w.exp().sum()\n    total.backward()",
        "total = 0\nfor _ in range(3):\n    total = total + w.exp().sum()\ntotal.backward()",
    ),
    "a string over rows": (
        'y = (w * w)\nfor _ in range(2):\n    s = """\nx\n"""; z = 1\n    loss = y.sum()\n    loss.backward()\n',
        'for _ in range(2):\n    s = """\nx\n"""; z = 1\n    y = (w * w)\n    loss = y.sum()\n    loss.backward()\n',
    ),
    "a statement over rows moves with its rows": (
        "y = w * \\\n    w\nfor _ in range(2):\n    (y * 2).sum() \\\n        .backward()\n",
        "for _ in range(2):\n    y = w * \\\n        w\n    (y * 2).sum() \\\n        .backward()\n",
    ),
    "characters of several bytes before the place": (
        "for _ in range(2):\n    é = 'ü𝄞'; loss = (w*w).sum(); loss.backward(retain_graph=True)  # ü\n",
        "for _ in range(2):\n    é = 'ü𝄞'; loss = (w*w).sum(); loss.backward()  # ü\n",
    ),
    "an argument in a row of its own": (
        "for _ in range(2):\n    loss = (w*w).sum()\n    loss.backward(\n        retain_graph=True,\n    )\n",
        "for _ in range(2):\n    loss = (w*w).sum()\n    loss.backward()\n",
    ),
    "an argument with a comment": (
        "for _ in range(2):\n    loss = (w*w).sum()\n    loss.backward(  # why\n        retain_graph=True\n    )\n",
        "for _ in range(2):\n    loss = (w*w).sum()\n    loss.backward(  # why\n        \n    )\n",
    ),
    "a flag by its position": (
        "for _ in range(2):\n    loss = (w*w).sum()\n    loss.backward(None, True)\n",
        "for _ in range(2):\n    loss = (w*w).sum()\n    loss.backward(None)\n",
    ),
    "a trailing comma": (
        "y = (w*w).sum()\ng, = torch.autograd.grad(y, w,)\ny.backward()\n",
        "y = (w*w).sum()\ng, = torch.autograd.grad(y, w, retain_graph=True)\ny.backward()\n",
    ),
    "an argument a row": (
        "y = (w*w).sum()\ng, = torch.autograd.grad(\n    y,\n    w,  # of w\n)\ny.backward()\n",
        "y = (w*w).sum()\ng, = torch.autograd.grad(\n    y,\n    w,  # of w\n    retain_graph=True,\n)\ny.backward()\n",
    ),
    "brackets where they are needed": (
        "h = w.exp()\na = h.sum()\n(a if True else -a).backward()\n(h.mean() - 1).backward()\n",
        "h = w.exp()\na = h.sum()\n((a if True else -a) + (h.mean() - 1)).backward()\n",
    ),
    "a buffer that each iteration fills": (
        "p, b = torch.eye(2), None\nb = torch.zeros(2, 2)\nfor k in range(4):\n    b[0, 0] = w[0] * k\n    p = p @ b\np.sum().backward()\n",
        "p, b = torch.eye(2), None\nfor k in range(4):\n    b = torch.zeros(2, 2)\n    b[0, 0] = w[0] * k\n    p = p @ b\np.sum().backward()\n",
    ),
    "all changes in place of one name": (
        "x = w.exp()\nfor _ in range(3):\n    e = torch.tanh(x * w)\n    x -= e\n    x *= 2\nx.sum().backward()\n",
        "x = w.exp()\nfor _ in range(3):\n    e = torch.tanh(x * w)\n    x = x - e\n    x = x * 2\nx.sum().backward()\n",
    ),
    "a closure that a step without gradients calls": (
        "class S(torch.optim.SGD):\n    @torch.no_grad()\n    def step(self, closure):\n        loss = closure()\n        w.sub_(w.grad)\n"
        "def closure():\n    loss = (w * w).sum()\n    loss.backward()\n    return loss\nS([w], lr=1).step(closure)\n",
        "class S(torch.optim.SGD):\n    @torch.no_grad()\n    def step(self, closure):\n        with torch.enable_grad():\n            loss = closure()\n"
        "        w.sub_(w.grad)\ndef closure():\n    loss = (w * w).sum()\n    loss.backward()\n    return loss\nS([w], lr=1).step(closure)\n",
    ),
    "an index with a backslash": (
        "with torch.no_grad():\n    d = {'\\u202e': w}\ny = torch.exp(d['\\u202e'].mul_(2))\ny.sum().backward()\n",
        "with torch.no_grad():\n    d = {'\\u202e': w}\ny = torch.exp(d['\\u202e'].mul(2))\ny.sum().backward()\n",
    ),
    "brackets that are there": (
        "s = torch.ones(3)\nloss = (w * s).sum()\ns *= (1 +\n  2)\nloss.backward()\n",
        "s = torch.ones(3)\nloss = (w * s).sum()\ns = s * (1 +\n  2)\nloss.backward()\n",
    ),
    "brackets around what is subtracted": (
        "s = torch.ones(3)\nloss = (w * s).sum()\ns -= 1 - 2\nloss.backward()\n",
        "s = torch.ones(3)\nloss = (w * s).sum()\ns = s - (1 - 2)\nloss.backward()\n",
    ),
    "a chain in place": (
        "y = w.exp()\ny.mul_(2).add_(1)\ny.sum().backward()\n",
        "y = w.exp()\ny = y.mul(2).add(1)\ny.sum().backward()\n",
    ),
    "a change in a function, of what isn't its own": (
        "s = torch.ones(3)\ndef f():\n    s.add_(1)\nloss = (w * s).sum()\nf()\nloss.backward()\n",
        "s = torch.ones(3)\ndef f():\n    s.add_(1)\nloss = (w * s).sum()\nloss.backward()\nf()\n",
    ),
    "a state that is None at first": (
        "h = None\nfor _ in range(3):\n    h = w.exp() if h is None else torch.tanh(h * w)\n    h.sum().backward()\n",
        "h = None\nfor _ in range(3):\n    h = w.exp() if h is None else torch.tanh(h * w)\n    h.sum().backward()\n"
        "    h = h.detach()\n",
    ),
    "what both of two computed again are used for is computed again once": (
        "D = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 1))\nstep = torch.optim.SGD(D.parameters(), lr=0.1).step\n"
        "a = D(torch.ones(3))\nb = D(w)\nz = a.exp() + b.exp()\nz.backward(retain_graph=True)\nstep()\nD.zero_grad()\ng = z.log()\ng.backward()\n",
        "D = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 1))\nstep = torch.optim.SGD(D.parameters(), lr=0.1).step\n"
        "a = D(torch.ones(3))\nb = D(w)\nz = a.exp() + b.exp()\nz.backward()\nstep()\nD.zero_grad()\nb = D(w)\na = D(torch.ones(3))\n"
        "z = a.exp() + b.exp()\ng = z.log()\ng.backward()\n",
    ),
    "comments stay with their rows": (
        "loss = (w*w).sum()\n# first\nloss.backward()  # one\n# second\nloss.backward()  # two\n",
        "loss = (w*w).sum()\n# first\nloss.backward()  # one\n# second\n",
    ),
    "a window that ends in every twelfth iteration": (
        "cell, h, total = torch.nn.Linear(3, 3), torch.zeros(1, 3), 0.0\nfor t in range(95):\n"
        "    h = torch.tanh(cell(h))\n    total = total + h.sum()\n    if (t + 1) % 12 == 0:\n"
        "        total.backward()\n        total = 0.0\n",
        "cell, h, total = torch.nn.Linear(3, 3), torch.zeros(1, 3), 0.0\nfor t in range(95):\n"
        "    h = torch.tanh(cell(h))\n    total = total + h.sum()\n    if (t + 1) % 12 == 0:\n"
        "        total.backward()\n        h = h.detach()\n        total = 0.0\n",
    ),
    "a state whose gradient is asked for": (
        "s = torch.zeros(3).requires_grad_()\nfor _ in range(3):\n"
        "    (g,) = torch.autograd.grad(s.exp().sum(), s, retain_graph=True)\n    s = s + g.detach() * w\n"
        "    s.exp().sum().backward()\n",
        "s = torch.zeros(3).requires_grad_()\nfor _ in range(3):\n    s = s.detach().requires_grad_()\n"
        "    (g,) = torch.autograd.grad(s.exp().sum(), s)\n    s = s + g.detach() * w\n"
        "    s.exp().sum().backward()\n",
    ),
    "a loss without a name in a total": (
        "net, total = torch.nn.Linear(3, 1), 0\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "for x in torch.ones(3, 2, 3):\n    out = net(x)\n"
        "    total += torch.nn.functional.mse_loss(out, x[:, :1])\n    opt.zero_grad()\n    total.backward()\n"
        "    opt.step()\n",
        "net, total = torch.nn.Linear(3, 1), 0\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "for x in torch.ones(3, 2, 3):\n    out = net(x)\n"
        "    loss = torch.nn.functional.mse_loss(out, x[:, :1])\n    total += loss.detach()\n"
        "    opt.zero_grad()\n    loss.backward()\n    opt.step()\n",
    ),
    "a running average, and what goes into it": (
        "net, mean = torch.nn.Linear(3, 1), torch.zeros(())\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "for x in torch.ones(3, 2, 3):\n    gain = net(x).exp()\n    mean = 0.9 * mean + 0.1 * gain.mean()\n"
        "    opt.zero_grad()\n    ((gain - mean) * gain).sum().backward()\n    opt.step()\n",
        "net, mean = torch.nn.Linear(3, 1), torch.zeros(())\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "for x in torch.ones(3, 2, 3):\n    gain = net(x).exp()\n"
        "    mean = 0.9 * mean + 0.1 * gain.mean().detach()\n    opt.zero_grad()\n"
        "    ((gain - mean) * gain).sum().backward()\n    opt.step()\n",
    ),
    "an average by name that begins with what goes into it": (
        "class Means:\n    def __init__(self):\n        self.kept = {'a': None}\n    def add(self, name, x):\n"
        "        old = self.kept[name]\n        if old is None:\n            self.kept[name] = x\n        else:\n"
        "            self.kept[name] = 0.9 * old + (1 - 0.9) * x\nnet, means = torch.nn.Linear(3, 1), Means()\n"
        "opt = torch.optim.SGD(net.parameters(), lr=0.1)\nfor x in torch.ones(3, 2, 3):\n"
        "    loss = net(x).exp().sum()\n    means.add('a', loss)\n    opt.zero_grad()\n"
        "    (loss / means.kept['a']).backward()\n    opt.step()\n",
        "class Means:\n    def __init__(self):\n        self.kept = {'a': None}\n    def add(self, name, x):\n"
        "        old = self.kept[name]\n        if old is None:\n            self.kept[name] = x.detach()\n"
        "        else:\n            self.kept[name] = 0.9 * old + (1 - 0.9) * x.detach()\n"
        "net, means = torch.nn.Linear(3, 1), Means()\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "for x in torch.ones(3, 2, 3):\n    loss = net(x).exp().sum()\n    means.add('a', loss)\n"
        "    opt.zero_grad()\n    (loss / means.kept['a']).backward()\n    opt.step()\n",
    ),
    "what is divided by its own average": (
        "class Relative:\n    def __init__(self):\n        self.kept = {}\n    def __call__(self, name, cost):\n"
        "        old = self.kept.get(name, cost)\n        self.kept[name] = 0.8 * old + (1 - 0.8) * cost\n"
        "        return cost / self.kept[name]\nnet, relative = torch.nn.Linear(3, 1), Relative()\n"
        "opt = torch.optim.SGD(net.parameters(), lr=0.1)\nfor x in torch.ones(3, 2, 3):\n"
        "    loss = relative('a', net(x).exp().sum())\n    opt.zero_grad()\n    loss.backward()\n    opt.step()\n",
        "class Relative:\n    def __init__(self):\n        self.kept = {}\n    def __call__(self, name, cost):\n"
        "        old = self.kept.get(name, cost.detach())\n"
        "        self.kept[name] = 0.8 * old + (1 - 0.8) * cost.detach()\n"
        "        return cost / self.kept[name]\nnet, relative = torch.nn.Linear(3, 1), Relative()\n"
        "opt = torch.optim.SGD(net.parameters(), lr=0.1)\nfor x in torch.ones(3, 2, 3):\n"
        "    loss = relative('a', net(x).exp().sum())\n    opt.zero_grad()\n    loss.backward()\n    opt.step()\n",
    ),
    "what is computed once of a buffer": (
        "class Bank(torch.nn.Module):\n    def __init__(self, rows):\n        super().__init__()\n"
        "        self.register_buffer('rows', rows)\n        self.embed = torch.nn.Linear(3, 3)\n"
        "        self.keys = self.embed(rows)\n    def forward(self, x):\n        return (x @ self.keys).exp()\n"
        "bank = Bank(torch.ones(3, 3))\nopt = torch.optim.SGD(bank.parameters(), lr=0.1)\nfor x in torch.ones(3, 2, 3):\n"
        "    opt.zero_grad()\n    bank(x).sum().backward()\n    opt.step()\n",
        "class Bank(torch.nn.Module):\n    def __init__(self, rows):\n        super().__init__()\n"
        "        self.register_buffer('rows', rows)\n        self.embed = torch.nn.Linear(3, 3)\n"
        "    def forward(self, x):\n        return (x @ self.embed(self.rows)).exp()\n"
        "bank = Bank(torch.ones(3, 3))\nopt = torch.optim.SGD(bank.parameters(), lr=0.1)\nfor x in torch.ones(3, 2, 3):\n"
        "    opt.zero_grad()\n    bank(x).sum().backward()\n    opt.step()\n",
    ),
    "numbers of losses that weights are made of, and weigh": (
        "class Worst:\n    def __init__(self):\n        self.shares = torch.full((2,), 0.5)\n"
        "    def __call__(self, losses):\n        losses = torch.tensor(losses)\n        grown = (0.3 * losses).exp()\n"
        "        w = self.shares * grown\n        self.shares = w / w.sum()\n        return self.shares @ losses\n"
        "net, worst = torch.nn.Linear(3, 1), Worst()\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "for x in torch.ones(3, 2, 2, 3):\n    losses = []\n    for part in x:\n"
        "        losses.append(net(part).square().mean().item())\n    opt.zero_grad()\n    worst(losses).backward()\n"
        "    opt.step()\n",
        "class Worst:\n    def __init__(self):\n        self.shares = torch.full((2,), 0.5)\n"
        "    def __call__(self, losses):\n        losses = torch.stack(losses)\n        grown = (0.3 * losses.detach()).exp()\n"
        "        w = self.shares * grown\n        self.shares = w / w.sum()\n        return self.shares @ losses\n"
        "net, worst = torch.nn.Linear(3, 1), Worst()\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "for x in torch.ones(3, 2, 2, 3):\n    losses = []\n    for part in x:\n"
        "        losses.append(net(part).square().mean())\n    opt.zero_grad()\n    worst(losses).backward()\n"
        "    opt.step()\n",
    ),
    "weights that were frozen with the others, of which an optimiser is given some": (
        "net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 1))\nfor p in net.parameters():\n"
        "    p.requires_grad_(False)\nchosen = {n: p for n, p in net.named_parameters() if n.startswith('1')}\n"
        "opt = torch.optim.SGD(chosen.values(), lr=0.1)\nnet(torch.ones(2, 3)).square().mean().backward()\nopt.step()\n",
        "net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 1))\nfor p in net.parameters():\n"
        "    p.requires_grad_(False)\nchosen = {n: p for n, p in net.named_parameters() if n.startswith('1')}\n"
        "for param in chosen.values():\n    param.requires_grad_(True)\n"
        "opt = torch.optim.SGD(chosen.values(), lr=0.1)\nnet(torch.ones(2, 3)).square().mean().backward()\nopt.step()\n",
    ),
    "rows of which each is computed of the one before": (
        "n = 20\nu = torch.zeros(n + 1, 3)\nu[0] = w.exp()\nfor k in range(n):\n"
        "    u[k + 1] = u[k] * u[k].sin() * w\nu.sum().backward()\n",
        "n = 20\nu = [w.exp()]\nfor k in range(n):\n    u.append(u[k] * u[k].sin() * w)\nu = torch.stack(u)\n"
        "u.sum().backward()\n",
    ),
    "a list of losses wrapped in another function": (
        "def joined(losses):\n    return torch.tensor(losses).mean()\nloss = joined([w.sum(), w.exp().sum()])\n"
        "loss.backward()\n",
        "def joined(losses):\n    return torch.stack(losses).mean()\nloss = joined([w.sum(), w.exp().sum()])\n"
        "loss.backward()\n",
    ),
    "a gradient through a virtual step": (
        "eps = torch.zeros(3, requires_grad=True)\n(g,) = torch.autograd.grad((eps * w.exp()).sum(), w)\n"
        "v = w - 0.1 * g\n(d,) = torch.autograd.grad(v.exp().sum(), eps)\n",
        "eps = torch.zeros(3, requires_grad=True)\n"
        "(g,) = torch.autograd.grad((eps * w.exp()).sum(), w, create_graph=True)\nv = w - 0.1 * g\n"
        "(d,) = torch.autograd.grad(v.exp().sum(), eps)\n",
    ),
    "gradients of all weights through steps whose gradients have no graph": (
        "net, x = torch.nn.Linear(3, 1), torch.ones(2, 3)\nv = torch.ones(3, requires_grad=True)\nfor _ in range(2):\n"
        "    (g,) = torch.autograd.grad(net(x * v).exp().mean(), v)\n    v = v - 0.1 * g\n"
        "grads = torch.autograd.grad(v.sum(), list(net.parameters()))\n",
        "net, x = torch.nn.Linear(3, 1), torch.ones(2, 3)\nv = torch.ones(3, requires_grad=True)\nfor _ in range(2):\n"
        "    (g,) = torch.autograd.grad(net(x * v).exp().mean(), v, create_graph=True)\n    v = v - 0.1 * g\n"
        "grads = torch.autograd.grad(v.sum(), list(net.parameters()))\n",
    ),
    "a gradient of what was detached on the way": (
        "net = torch.nn.Linear(1, 1)\ndef energy(x):\n    where = x.detach()\n    d = (where[1:] - where[:-1]).norm(dim=1)\n"
        "    return net(d[:, None]).sum()\nx = torch.rand(4, 3, requires_grad=True)\n"
        "(force,) = torch.autograd.grad(energy(x), x)\n",
        "net = torch.nn.Linear(1, 1)\ndef energy(x):\n    where = x\n    d = (where[1:] - where[:-1]).norm(dim=1)\n"
        "    return net(d[:, None]).sum()\nx = torch.rand(4, 3, requires_grad=True)\n"
        "(force,) = torch.autograd.grad(energy(x), x)\n",
    ),
    "gradients that are joined, of which some aren't there": (
        "v = torch.ones(3, requires_grad=True)\ngrads = torch.autograd.grad((w * w).sum(), (w, v))\n"
        "flat = torch.cat([g.reshape(-1) for g in grads])\n",
        "v = torch.ones(3, requires_grad=True)\n"
        "grads = torch.autograd.grad((w * w).sum(), (w, v), materialize_grads=True)\n"
        "flat = torch.cat([g.reshape(-1) for g in grads])\n",
    ),
    "heads with steps of their own, over one trunk": (
        "trunk, a, b = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)\n"
        "opts = opt, opt_a, opt_b = [torch.optim.SGD(net.parameters(), lr=0.1) for net in (trunk, a, b)]\n"
        "x = trunk(torch.nn.Linear(3, 3)(w).exp()).exp()\none, two = a(x).sum(), b(x).exp().sum()\n"
        "opt.zero_grad()\nopt_a.zero_grad()\nopt_b.zero_grad()\none.backward(retain_graph=True)\nopt_a.step()\n"
        "opt.step()\ntwo.backward()\nopt_b.step()\n",
        "trunk, a, b = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)\n"
        "opts = opt, opt_a, opt_b = [torch.optim.SGD(net.parameters(), lr=0.1) for net in (trunk, a, b)]\n"
        "x = trunk(torch.nn.Linear(3, 3)(w).exp()).exp()\none, two = a(x).sum(), b(x).exp().sum()\n"
        "opt.zero_grad()\nopt_a.zero_grad()\nopt_b.zero_grad()\n(one + two).backward()\nopt_a.step()\nopt.step()\n"
        "opt_b.step()\n",
    ),
    "a change that the loss itself needs": (
        "net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))\n"
        "def swap():\n    with torch.no_grad():\n        for p in net.parameters():\n            p.mul_(0.9)\n"
        "y = net(torch.ones(2, 3))\nswap()\nwith torch.no_grad():\n    goal = net(torch.zeros(2, 3))\n"
        "loss = (y - goal).square().sum()\nloss.backward()\n",
        "net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))\n"
        "def swap():\n    with torch.no_grad():\n        for p in net.parameters():\n            p.mul_(0.9)\n"
        "y = net(torch.ones(2, 3))\nwith torch.no_grad():\n    goal = net(torch.zeros(2, 3))\n"
        "loss = (y - goal).square().sum()\nloss.backward()\nswap()\n",
    ),
    "a buffer that each forward pass changes": (
        "class Scaled(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.lin = torch.nn.Linear(3, 3)\n        self.register_buffer('u', torch.ones(3))\n"
        "    def forward(self, x):\n        with torch.no_grad():\n            self.u.mul_(0.9)\n"
        "        return self.lin(x) * self.u\nnet = Scaled()\n"
        "loss = net(torch.ones(2, 3)).sum() + net(torch.zeros(2, 3)).sum()\nloss.backward()\n",
        "class Scaled(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.lin = torch.nn.Linear(3, 3)\n        self.register_buffer('u', torch.ones(3))\n"
        "    def forward(self, x):\n        with torch.no_grad():\n            self.u.mul_(0.9)\n"
        "        return self.lin(x) * self.u.clone()\nnet = Scaled()\n"
        "loss = net(torch.ones(2, 3)).sum() + net(torch.zeros(2, 3)).sum()\nloss.backward()\n",
    ),
    "what an optimiser is given, made of what is frozen": (
        "net = torch.nn.Linear(3, 1)\nfor p in net.parameters():\n    p.requires_grad_(False)\n"
        "prompt = net(torch.ones(2, 3)).clone()\nopt = torch.optim.SGD([prompt], lr=0.1)\n"
        "loss = prompt.exp().sum()\nloss.backward()\nopt.step()\n",
        "net = torch.nn.Linear(3, 1)\nfor p in net.parameters():\n    p.requires_grad_(False)\n"
        "prompt = net(torch.ones(2, 3)).clone()\nprompt.requires_grad_(True)\n"
        "opt = torch.optim.SGD([prompt], lr=0.1)\nloss = prompt.exp().sum()\nloss.backward()\nopt.step()\n",
    ),
    "kept for a stack in another method": (
        "class Agent:\n    def __init__(self):\n        self.net, self.kept = torch.nn.Linear(3, 1), []\n"
        "    def act(self, x):\n        out = self.net(x).tanh()\n        self.kept.append(out)\n"
        "        return out.detach()\n    def old(self):\n        return torch.stack(self.kept)\n"
        "agent = Agent()\nfor x in torch.ones(20, 3):\n    agent.act(x)\nprint(agent.old().mean().item())\n",
        "class Agent:\n    def __init__(self):\n        self.net, self.kept = torch.nn.Linear(3, 1), []\n"
        "    def act(self, x):\n        out = self.net(x).tanh()\n        self.kept.append(out.detach())\n"
        "        return out.detach()\n    def old(self):\n        return torch.stack(self.kept)\n"
        "agent = Agent()\nwith torch.no_grad():\n    for x in torch.ones(20, 3):\n        agent.act(x)\n"
        "print(agent.old().mean().item())\n",
    ),
    "a leaky state, which is no average": (
        "cell, h = torch.nn.Linear(3, 3), torch.zeros(2, 3)\nopt = torch.optim.SGD(cell.parameters(), lr=0.1)\n"
        "for x in torch.ones(4, 2, 3):\n    new = cell(x).tanh()\n    h = 0.9 * h + 0.1 * new\n"
        "    loss = (h - 1).pow(2).sum() + new.pow(2).sum()\n    opt.zero_grad()\n    loss.backward()\n"
        "    opt.step()\n",
        "cell, h = torch.nn.Linear(3, 3), torch.zeros(2, 3)\nopt = torch.optim.SGD(cell.parameters(), lr=0.1)\n"
        "for x in torch.ones(4, 2, 3):\n    h = h.detach()\n    new = cell(x).tanh()\n"
        "    h = 0.9 * h + 0.1 * new\n    loss = (h - 1).pow(2).sum() + new.pow(2).sum()\n    opt.zero_grad()\n"
        "    loss.backward()\n    opt.step()\n",
    ),
    "a part of what a meter is given": (
        "class Meter:\n    total = 0.0\n    def update(self, value):\n        self.total = self.total + value\n"
        "net, meter = torch.nn.Linear(3, 1), Meter()\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "for x in torch.ones(4, 2, 3):\n    out = net(x)\n"
        "    meter.update(torch.nn.functional.mse_loss(out, x[:, :1]))\n    opt.zero_grad()\n"
        "    meter.total.backward()\n    opt.step()\n",
        "class Meter:\n    total = 0.0\n    def update(self, value):\n        self.total = self.total + value\n"
        "net, meter = torch.nn.Linear(3, 1), Meter()\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "for x in torch.ones(4, 2, 3):\n    out = net(x)\n"
        "    loss = torch.nn.functional.mse_loss(out, x[:, :1])\n    meter.update(loss.detach())\n    opt.zero_grad()\n"
        "    loss.backward()\n    opt.step()\n",
    ),
    "an item of a list of what several networks make": (PEERS.format(""), PEERS.format(".detach()")),
    "what a module makes of what only `__init__` knows": (
        TABLE.format("self.rows = self.mix(torch.eye(rows, 4))", "self.rows"),
        TABLE.format(
            'self.register_buffer("rows_input", torch.eye(rows, 4), persistent=False)', "self.mix(self.rows_input)"
        ),
    ),
    "weights by whose gradients each round begins": (
        UNROLLED.format(""),
        UNROLLED.format("    ws = [t.detach().requires_grad_() for t in ws]\n"),
    ),
    "a change in place of a view": (
        "y = torch.sigmoid(w @ torch.ones(3, 4)).view(-1)\ny.clamp_(0.1, 0.9)\n(y.log() + (1 - y).log()).sum().backward()\n",
        "y = torch.sigmoid(w @ torch.ones(3, 4)).view(-1)\ny = y.clamp(0.1, 0.9)\n(y.log() + (1 - y).log()).sum().backward()\n",
    ),
    "a list in a dict that counts what is in it": (
        "pending = {'losses': [], 'count': 0}\nopt = torch.optim.SGD([w], lr=0.1)\nfor x in torch.ones(6, 3):\n"
        "    pending['losses'].append((w * x).exp().sum())\n    pending['count'] += 1\n    if pending['count'] == 2:\n"
        "        opt.zero_grad()\n        sum(pending['losses']).backward()\n        opt.step()\n        pending['count'] = 0\n",
        "pending = {'losses': [], 'count': 0}\nopt = torch.optim.SGD([w], lr=0.1)\nfor x in torch.ones(6, 3):\n"
        "    pending['losses'].append((w * x).exp().sum())\n    pending['count'] += 1\n    if pending['count'] == 2:\n"
        "        opt.zero_grad()\n        sum(pending['losses']).backward()\n        pending['losses'].clear()\n"
        "        opt.step()\n        pending['count'] = 0\n",
    ),
    "named tuples in a list": (RECORDS.format(""), RECORDS.format(DETACHED)),
    "a smoothed loss that takes the name of the loss": (
        SMOOTHED.format("loss = ", "loss"),
        SMOOTHED.format("", "loss.detach()"),
    ),
    "a field of what is computed once": (
        FIELD.format("out = net(x)\n", ""),
        FIELD.format("", "    out = net(x)\n"),
    ),
    "an attribute that a method makes once": (
        SHARES.format("self.shares = self.logits.softmax(0)\n        ", "self.shares"),
        SHARES.format("", "self.logits.softmax(0)"),
    ),
    "lists by their names that only an epoch empties": (
        NAMED_LOSSES.format(""),
        NAMED_LOSSES.format("    lists.losses.clear()\n"),
    ),
    "what raises first": (
        PRODUCTS.format("", ""),
        PRODUCTS.format(", create_graph=True", ""),
    ),
    "what is drawn, as a function of its parameters": (
        "net = torch.nn.Linear(3, 2)\nmean, scale = net(torch.ones(4, 3)).chunk(2, -1)\n"
        "z = torch.distributions.Normal(mean, scale.exp()).sample()\nz.square().mean().backward()\n",
        "net = torch.nn.Linear(3, 2)\nmean, scale = net(torch.ones(4, 3)).chunk(2, -1)\n"
        "z = torch.distributions.Normal(mean, scale.exp()).rsample()\nz.square().mean().backward()\n",
    ),
    "rows that were given to be trained": (
        "table = torch.nn.Embedding.from_pretrained(torch.ones(5, 3))\n"
        "table(torch.tensor([1, 2])).square().sum().backward()\n",
        "table = torch.nn.Embedding.from_pretrained(torch.ones(5, 3), freeze=False)\n"
        "table(torch.tensor([1, 2])).square().sum().backward()\n",
    ),
    "a hook that changes what it is given returns it": (
        "net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Sigmoid(), torch.nn.Linear(3, 1))\n"
        "def scaled(module, args, output):\n    output *= 0.5\nnet[1].register_forward_hook(scaled)\n"
        "net(torch.ones(2, 3)).sum().backward()\n",
        "net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Sigmoid(), torch.nn.Linear(3, 1))\n"
        "def scaled(module, args, output):\n    return output * 0.5\nnet[1].register_forward_hook(scaled)\n"
        "net(torch.ones(2, 3)).sum().backward()\n",
    ),
    "data that is prepared once under its own name": (
        "data = torch.ones(2, 3)\ndata = torch.tanh(data * w)\nfor step in range(3):\n    (data * step).sum().backward()\n",
        "data = torch.ones(2, 3)\ndata_before = data\nfor step in range(3):\n    data = torch.tanh(data_before * w)\n"
        "    (data * step).sum().backward()\n",
    ),
    "a weight of a module that is computed of its leaf": (
        "class Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.w = torch.randn(3, requires_grad=True) * 0.1\n    def forward(self, x):\n"
        "        return (x * self.w).exp().sum()\nnet = Net()\nfor x in torch.ones(3, 3):\n    net(x).backward()\n",
        "class Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.w = torch.nn.Parameter(torch.randn(3) * 0.1)\n    def forward(self, x):\n"
        "        return (x * self.w).exp().sum()\nnet = Net()\nfor x in torch.ones(3, 3):\n    net(x).backward()\n",
    ),
}

UNTOUCHED = {
    "a network that its builder has frozen on purpose, of which nothing tells which part is to be trained": (
        "def freeze(module):\n    for p in module.parameters():\n        p.requires_grad = False\n    return module\n"
        "def build():\n    net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 1))\n    return freeze(net)\n"
        "def tune(model):\n    opt = torch.optim.SGD(model.parameters(), lr=0.1)\n    for x in torch.ones(3, 2, 3):\n"
        "        opt.zero_grad()\n        model(x).square().mean().backward()\n        opt.step()\ntune(build())\n"
    ),
    "a network whose name for what freezes all but its head tells nothing of what it was made of": (
        "class Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.body, self.head = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)\n"
        "    def forward(self, x):\n        return self.head(self.body(x))\n"
        "def freeze_all_but_head(net):\n    for p in net.parameters():\n        p.requires_grad_(False)\n"
        "net = Net()\nfreeze_all_but_head(net)\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "for x in torch.ones(3, 2, 3):\n    opt.zero_grad()\n    net(x).square().mean().backward()\n    opt.step()\n"
    ),
    "a network that is frozen on purpose once it was trained, while the optimiser trains something else": (
        "class Net(torch.nn.Module):\n    def __init__(self, base):\n        super().__init__()\n"
        "        self.base, self.top = base, torch.nn.Linear(4, 1)\n"
        "    def forward(self, x):\n        return self.top(self.base(x).tanh())\n"
        "net, other = Net(torch.nn.Linear(3, 4)), torch.nn.Linear(3, 3)\n"
        "opt = torch.optim.SGD(net.parameters(), lr=0.1)\nfor x in torch.ones(3, 2, 3):\n    opt.zero_grad()\n"
        "    net(x).square().mean().backward()\n    opt.step()\n"
        "for p in net.parameters():\n    p.requires_grad_(False)\n"
        "opt = torch.optim.SGD(other.parameters(), lr=0.1)\nfor x in torch.ones(3, 2, 3):\n    opt.zero_grad()\n"
        "    net(x).square().mean().backward()\n    opt.step()\n"
    ),
    "a trainer that freezes what it is given, and makes its optimiser of that": (
        "class Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.body, self.head = torch.nn.Linear(3, 3), torch.nn.Identity()\n"
        "    def forward(self, x):\n        return self.head(self.body(x))\n"
        "    def add_head(self):\n        self.head = torch.nn.Linear(3, 1)\n"
        "class Tuner:\n    def __init__(self, net):\n        self.net = net\n        for p in net.parameters():\n"
        "            p.requires_grad_(False)\n        self.opt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "    def step(self, x):\n        self.net(x).square().mean().backward()\n        self.opt.step()\n"
        "net = Net()\nnet.add_head()\ntuner = Tuner(net)\ntuner.step(torch.ones(2, 3))\n"
    ),
    "arguments that may hold the flag": "y = (w*w).sum()\nkw = {'retain_graph': False}\ny.backward(**kw)\ny.sum().backward()\n",
    "a statement that shares its row": "w += 1; x = 3\n",
    "another thing called torch": "from torch import nn\ntorch = None\nlayer = nn.Linear(3, 1)\nlayer.weight += 1\n",
    "a learned first state would lose its gradient": (
        "h = w\nfor _ in range(2):\n    h = h.exp()\nopt = torch.optim.SGD([w], lr=0.1)\nopt.step()\nh.sum().backward()\nopt.step()\n"
    ),
}


def fixed(text: str) -> Seen:
    return fix_all(cast(Seen, look(Source("a.py", text))), look, True, lambda diagnostic: True).seen


@pytest.mark.parametrize("ends", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize(("before", "after"), PAIRS.values(), ids=PAIRS.keys())
def test_what_is_written(before: str, after: str, ends: str) -> None:
    seen = fixed((HEAD + before).replace("\n", ends))
    assert seen.source.text == (HEAD + after).replace("\n", ends)
    assert seen.diagnostics == ()
    ast.parse(seen.source.text)


@pytest.mark.parametrize("program", UNTOUCHED.values(), ids=UNTOUCHED.keys())
def test_what_is_left_alone(program: str) -> None:
    head = "" if program.startswith("from") else HEAD
    assert fixed(head + program).source.text == head + program


def test_a_fix_that_another_undoes_ends() -> None:
    """Two findings whose fixes would go back and forth: each text is made once."""
    text = HEAD + "y = w.exp()\nfor _ in range(2):\n    y.sum().backward()\n    (y * y).sum().backward()\n"
    seen = fixed(text)
    assert fixed(seen.source.text).source.text == seen.source.text


def test_files_that_are_as_they_were_before_all_fixes_count_as_one_text() -> None:
    """A fix of another file that is undone there leads back to the first text, of which nothing was edited."""
    main, was, now = Source("main.py", "import made\n"), Source("made.py", "a = 1\n"), Source("made.py", "a = 2\n")
    seen, edited = Seen(main, (), Conduct()), {"made.py": was}
    assert (
        applying._texts(seen, (), {}) == applying._texts(seen, (was,), edited) != applying._texts(seen, (now,), edited)
    )


def test_methods_without_a_twin_are_known_as_such() -> None:
    torch = pytest.importorskip("torch")
    in_place = (name for name in dir(torch.Tensor) if name.endswith("_") and not name.startswith("_"))
    alone = {name for name in in_place if not hasattr(torch.Tensor, name[:-1])}
    odd = {"share_memory_", "resize_as_sparse_", "sparse_resize_", "sparse_resize_and_clear_"}  # change no values
    assert {f"{name}_" for name in FILLS} == alone - odd
