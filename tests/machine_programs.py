"""Small programs, each of one point of the machine; `#!` marks the line on which torch raises first, if it does."""

HEAD = """import collections
import torch
import torch.nn.functional as F
from dataclasses import dataclass, field
from torch import nn
w = torch.rand(3, 3, requires_grad=True)
x = torch.rand(3, 3)
"""

PROGRAMS = {
    "a walk in a try that succeeds has freed": """
l = w.exp()
try:
    l.sum().backward()
except RuntimeError:
    pass
l.sum().backward()  #!
""",
    "a walk in a try that can't succeed has not": """
l = w.exp()
try:
    l.backward()
except RuntimeError:
    pass
l.sum().backward()
""",
    "named results": """
v = w.sort().values
v.sum().backward()
v.mean().backward()  #!
""",
    "several results": """
v, i = torch.topk(w, 2)
v.sum().backward()
v.mean().backward()  #!
""",
    "lerp with a tensor weight": """
h = torch.lerp(w, x, x).sum()
h.backward()
h.backward()  #!
""",
    "reflect padding": """
h = F.pad(w.reshape(1, 1, 9), (1, 1), mode="reflect")
h.sum().backward()
h.mean().backward()  #!
""",
    "constant padding": """
h = F.pad(w, (1, 1))
h.sum().backward()
h.mean().backward()
""",
    "an in-place operation saves a clone of what it overwrites": """
h = w + 1
h *= x
h.add_(1)
h.sum().backward()
""",
    "an in-place operation by itself": """
h = w + 1
h.mul_(h)
h.sum().backward()  #!
""",
    "an in-place layer": """
h = w.exp()
nn.ReLU(inplace=True)(h)
h.sum().backward()  #!
""",
    "another type is another tensor": """
b = w.to(torch.float64)
b.mul_(2)
""",
    "a number is not None": """
loss, r = w.exp().sum(), None
for t in range(2):
    if r is None:
        r = loss
    r = w.sum() + r
    r.backward()
    r = r.item()
""",
    "a named tuple": """
Memory = collections.namedtuple("Memory", ["hidden", "cost"])
memory = Memory(1, w.exp().sum())
memory.cost.backward()
memory.cost.backward()  #!
""",
    "a dataclass": """
@dataclass
class Memory:
    cost: torch.Tensor
    kept: list = field(default_factory=list)
memory = Memory(w.exp().sum())
memory.kept.append(memory.cost)
memory.kept[0].backward()
memory.cost.backward()  #!
""",
    "a mean over all is no pool": """
loss = F.adaptive_avg_pool2d(w.reshape(1, 1, 3, 3), 1).sum()
loss.backward()
loss.backward()
""",
    "a gradient that nobody computed": """
pred = w.exp() * w
with torch.no_grad():
    if w.grad is not None:
        w.sub_(w.grad)
pred.sum().backward()
""",
    "the second input of a bilinear layer": """
layer, norm = nn.Bilinear(3, 3, 3), nn.LayerNorm(3)
h = norm(x)
F.mse_loss(h, x).backward()
layer(x, h).sum().backward()  #!
""",
    "one condition twice": """
import os
warm = "WARM" in os.environ
l = w.exp().sum()
if warm:
    l.backward()
if not warm:
    l.backward()
""",
    "a condition over other values": """
l = w.exp().sum()
for i in range(4):
    l.backward(retain_graph=i < 3)
""",
    "the last turn of many": """
l = w.exp().sum()
n = 50
for i in range(n):
    l.backward(retain_graph=(i < n - 1))
""",
    "one turn too many": """
l = w.exp().sum()
n = 50
for i in range(n):
    l.backward(retain_graph=(i < n - 2))  #!
""",
    "a generator is lazy": """
opt = torch.optim.SGD([w], lr=0.1)
def losses():
    for _ in range(3):
        yield (w @ w).sum()
for l in losses():
    l.backward()
    opt.step()
""",
    "a list is not": """
opt = torch.optim.SGD([w], lr=0.1)
for l in [(w @ w).sum() for _ in range(3)]:
    l.backward()  #!
    opt.step()
""",
    "a context of one's own": """
from contextlib import contextmanager
@contextmanager
def walking(l):
    yield l * 2
    l.backward()  #!
with walking(w.exp().sum()) as l:
    l.backward()
""",
    "a cached function": """
import functools
@functools.lru_cache(maxsize=None)
def features(i):
    return (w * w).sum()
for _ in range(2):
    features(0).backward()  #!
""",
    "a partial walk frees its way only": """
h = w.exp()
l = h.sin().sum()
torch.autograd.grad(l, h)
h.sum().backward()
""",
    "a gradient of a gradient": """
l = w.exp().sum()
(g,) = torch.autograd.grad(l, w, create_graph=True)
g.pow(2).sum().backward()
l.backward()  #!
""",
    "recursion": """
def deep(t, n):
    return t if n == 0 else deep(t * 1.5, n - 1)
l = deep(w, 2).sum()
l.backward()
l.backward()  #!
""",
}
