"""Small programs, each of one point of the machine; `#!` marks the line on which torch raises first, if it does."""

HEAD = """import collections
import enum
import itertools
import operator
import types
import torch
import torch.nn.functional as F
from dataclasses import dataclass, field
from torch import nn
w = torch.rand(3, 3, requires_grad=True)
x = torch.rand(3, 3)
"""

PROGRAMS = {
    "the first of the errors that were collected": """
h = w.exp()
def first():
    (h * 2).sum().backward() #!
def second():
    (h * 3).sum().backward()
h.sum().backward()
errors = []
for work in (first, second):
    try:
        work()
    except RuntimeError as e:
        errors.append(e)
raise errors[0]
""",
    "an error that leaves the program tells of no other": """
import contextlib
h = w.exp()
h.sum().backward()
with contextlib.suppress(RuntimeError):
    h.sum().backward()
again = w.exp()
again.sum().backward()
try:
    again.sum().backward() #!
except RuntimeError as e:
    if "memory" in str(e):
        print(e)
    else:
        raise
""",
    "portions of an iterator by islice": """
stream = iter([(w * n).exp().sum() for n in range(4)])
for r in range(2):
    for loss in itertools.islice(stream, 2):
        loss.backward()
""",
    "portions of a cycle by islice, once too often": """
endless = itertools.cycle([(w * n).exp().sum() for n in range(4)])
for r in range(3):
    for loss in itertools.islice(endless, 2):
        loss.backward() #!
""",
    "portions of a cycle by islice": """
endless = itertools.cycle([(w * n).exp().sum() for n in range(4)])
for r in range(2):
    for loss in itertools.islice(endless, 2):
        loss.backward()
""",
    "an iterator that is numbered anew where the last loop left it": """
stream = iter([(w * n).exp().sum() for n in range(4)])
for r in range(2):
    for k, loss in enumerate(stream):
        loss.backward()
        if k == 1:
            break
""",
    "a part of an iterator that leaves some out": """
kept = [(w * n).exp().sum() for n in range(5)]
stream = iter(kept)
for loss in itertools.islice(stream, 1, 3):
    loss.backward()
for loss in stream:
    loss.backward()
kept[0].backward()
kept[1].backward() #!
""",
    "one numbering that goes on": """
numbered = enumerate(iter([(w * n).exp().sum() for n in range(4)]))
for k, loss in numbered:
    loss.backward()
    if k == 1:
        break
for k, loss in numbered:
    if k < 2:
        loss.backward()
    loss.backward()
""",
    "inference mode that isn't on": """
def score(a):
    if torch.is_inference_mode_enabled():
        return a.detach().sum()
    return (a * w).sum()
score(x).backward()
with torch.inference_mode():
    held = score(x)
held.backward() #!
""",
    "a loss that is cut off once enough is gathered": """
class Agent:
    def __init__(self):
        self.memory = collections.deque(maxlen=1000)
        self.net = nn.Linear(3, 2)
    def replay(self):
        if len(self.memory) < 40:
            return
        states = torch.stack(list(self.memory)[-40:])
        loss = self.net(states).detach().square().mean()
        loss.backward() #!
agent = Agent()
for step in range(60):
    agent.memory.append(torch.randn(3))
    agent.replay()
""",
    "a loss of what is cut off in some iterations, and made anew in others": """
class Agent:
    def __init__(self):
        self.memory = collections.deque(maxlen=1000)
        self.net = nn.Linear(3, 3)
        self.h = torch.zeros(3)
    def replay(self, step):
        self.h = self.net(self.h)
        if step % 10 < 8:
            self.h = self.h.detach()
        if step % 10 == 9 and len(self.memory) > 40:
            self.h.sum().backward()
agent = Agent()
for step in range(60):
    agent.memory.append(torch.randn(3))
    agent.replay(step)
""",
    "the node set to None detaches": """
total = torch.zeros(3, 3)
for _ in range(3):
    total.copy_(total + (w * x))
    total.exp().sum().backward()
    total._grad_fn = None
""",
    "the node of a part set to None": """
kept = [(w * 2).exp(), (w * 3).exp()]
for each in kept:
    each.sum().backward()
    each._grad_fn = None
for each in kept:
    (each * w).sum().backward()
""",
    "the node of another set to None": """
total = torch.zeros(3, 3)
for _ in range(3):
    total = total + (w * x)
    loss = total.exp().sum()
    loss.backward() #!
    loss._grad_fn = None
""",
    "what is popped under a key that nobody knows was there": """
mine = dict(nn.Linear(3, 3).named_parameters())
for name in open(__file__):
    held = mine.pop("weight" if name else name.strip(), None)
    if held is not None:
        held.zero_() #!
""",
    "losses by even numbers, and by odd ones": """
losses = [(w * k).exp().sum() for k, _ in enumerate(open(__file__))]
for i in range(len(losses) // 2):
    losses[2 * i].backward()
for i in range(len(losses) // 2):
    losses[2 * i + 1].backward()
""",
    "losses from both ends": """
losses = [(w * k).exp().sum() for k, _ in enumerate(open(__file__))]
low, high = 0, len(losses) - 1
while low < high:
    losses[low].backward()
    losses[high].backward()
    low, high = low + 1, high - 1
""",
    "all but the first, and then the first": """
losses = [(w * k).exp().sum() for k, _ in enumerate(open(__file__))]
for i in range(1, len(losses)):
    (losses[i] - 1).backward()
losses[0].backward()
""",
    "the first again, at the number that it was read by": """
losses = [(w * k).exp().sum() for k, _ in enumerate(open(__file__))]
for i in range(len(losses)):
    losses[i].backward()
losses[0].backward() #!
""",
    "the last again, from the end": """
losses = [(w * k).exp().sum() for k, _ in enumerate(open(__file__))]
for i in range(len(losses)):
    losses[i].backward()
losses[-1].backward() #!
""",
    "the worst, and then all others by their numbers": """
losses = [(w * k).exp().sum() for k, _ in enumerate(open(__file__))]
worst = max(range(len(losses)), key=lambda i: losses[i].item())
losses[worst].backward()
for i in range(len(losses)):
    if i != worst:
        losses[i].backward()
""",
    "what stood at a number that nobody knows is gone": """
losses = [(w * k).exp().sum() for k, _ in enumerate(open(__file__))]
worst = int(torch.stack(losses).argmax())
losses[worst].backward()
del losses[worst]
sum(losses).backward()
""",
    "numbers that are sorted by losses": """
losses = [(w * k).exp().sum() for k, _ in enumerate(open(__file__))]
for i in sorted(range(len(losses)), key=lambda i: losses[i].item()):
    losses[i].backward()
""",
    "numbers that are shuffled": """
import random
losses = [(w * k).exp().sum() for k, _ in enumerate(open(__file__))]
order = list(range(len(losses)))
random.shuffle(order)
half = len(order) // 2
for i in order[:half]:
    losses[i].backward()
for i in order[half:]:
    losses[i].backward()
""",
    "what they share is told": """
import random
base = w.exp()
losses = [(base * k).sum() for k, _ in enumerate(open(__file__))]
order = list(range(len(losses)))
random.shuffle(order)
for i in order:
    losses[i].backward() #!
""",
    "tasks by their names, which are sorted": """
names = sorted(set(open(__file__).read().split()))
losses = {name: (w * len(name)).exp().sum() for name in names}
for name in names:
    losses[name].backward()
""",
    "the same tasks once more": """
names = sorted(set(open(__file__).read().split()))
losses = {name: (w * len(name)).exp().sum() for name in names}
for _ in range(2):
    for name in names:
        losses[name].backward() #!
""",
    "groups by a key that nobody knows": """
groups = {}
for line in open(__file__):
    key = len(line)
    if key not in groups:
        groups[key] = []
    groups[key].append((w * key).exp().sum())
for key in sorted(groups):
    sum(groups[key]).backward()
""",
    "kept while anything is left": """
base, left = w.exp(), len(open(__file__).read().split())
while left:
    left -= 1
    base.sum().backward(retain_graph=left > 0)
""",
    "kept until the last key": """
base = w.exp()
losses = {name: base.sum() for name in dict.fromkeys(open(__file__).read().split())}
last = list(losses)[-1]
for name, loss in losses.items():
    loss.backward(retain_graph=name != last)
""",
    "a number that is counted down to none": """
import os
count, base = int(os.environ.get("COUNT", 3)), w.exp()
while count:
    count -= 1
    base.sum().backward(retain_graph=count != 0)
""",
    "a case of a tuple": """
h = torch.zeros(3)
for tag in [("init", 0), ("run", 1), ("run", 2)]:
    match tag:
        case ("init", _):
            h = torch.zeros(3)
        case ("run", _):
            h = h.detach()
    h = (w @ h + 1).tanh()
    h.sum().backward()
""",
    "a case of a list, with what is left of it": """
state = ["init"]
for _ in range(3):
    match state:
        case ["init"]:
            h = torch.zeros(3)
        case ["run", *rest]:
            h = rest[0].detach()
    h = (w @ h + 1).tanh()
    h.sum().backward()
    state = ["run", h]
""",
    "a case that cuts nothing off": """
state = ("init", None)
for _ in range(3):
    match state:
        case ("init", _):
            h = torch.zeros(3)
        case ("run", before):
            h = before
    h = (w @ h + 1).tanh()
    h.sum().backward() #!
    state = ("run", h)
""",
    "a deque that is rotated": """
losses = collections.deque((w * k).exp().sum() for k in range(3))
for _ in range(3):
    losses[0].backward()
    losses.rotate(-1)
""",
    "a deque that is rotated once too often": """
losses = collections.deque((w * k).exp().sum() for k in range(3))
for _ in range(4):
    losses[0].backward() #!
    losses.rotate(-1)
""",
    "results of a method that are forgotten by its class": """
import functools
class Bias(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.rand(3))
    @functools.lru_cache(maxsize=4)
    def __call__(self, n):
        return self.w[:n].tanh()
    bias = __call__
held = Bias()
for _ in range(3):
    held.bias(2).sum().backward()
    Bias.bias.cache_clear()
""",
    "a memory for one result": """
import functools
@functools.lru_cache(maxsize=1)
def bias(n):
    return w[:n].tanh()
for n in (1, 2, 1, 2):
    bias(n).sum().backward()
""",
    "a memory for two": """
import functools
@functools.lru_cache(maxsize=2)
def bias(n):
    return w[:n].tanh()
for n in (1, 2, 1, 2):
    bias(n).sum().backward() #!
""",
    "the largest of a heap": """
import heapq
heap = []
for k in range(4):
    loss = (w * k).exp().sum()
    if k > 1:
        loss = loss + sum(kept for *_, kept in heapq.nlargest(2, heap))
    loss.backward() #!
    heapq.heappush(heap, (float(loss), k, loss))
""",
    "each item of a heap once": """
import heapq
heap = [(k, (w * k).exp().sum()) for k in (3, 1, 2)]
heapq.heapify(heap)
while heap:
    heapq.heappop(heap)[1].backward()
""",
    "a list that is kept sorted": """
import bisect
best = [(0.0, torch.zeros(3))]
for k in range(3):
    h = (w @ best[-1][1] + 1).tanh()
    h.sum().backward() #!
    bisect.insort(best, (k + 1.0, h))
""",
    "queues of all kinds": """
import queue
first, last, least = queue.Queue(), queue.LifoQueue(), queue.PriorityQueue()
for k in range(3):
    first.put((w * k).exp().sum())
    last.put((w * k).exp().sum())
    least.put((k, (w * k).exp().sum()))
while not first.empty():
    first.get().backward()
    last.get_nowait().backward()
    least.get(timeout=1)[1].backward()
""",
    "what was taken of a queue is put there again": """
import queue
waiting = queue.PriorityQueue()
waiting.put((0, torch.zeros(3)))
for k in range(3):
    h = (w @ waiting.get()[1] + 1).tanh()
    h.sum().backward() #!
    waiting.put((k, h))
""",
    "parameters that are named by a pattern": """
import fnmatch
net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
for name, p in net.named_parameters():
    p.requires_grad = fnmatch.fnmatch(name, "head.*")
net(x).sum().backward() #!
""",
    "parameters that are named by an expression": """
import re
net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
for name, p in net.named_parameters():
    p.requires_grad_(re.search(r"^1\\.", name) is not None)
net(x).sum().backward()
""",
    "keys that are letters": """
held = {"a": torch.zeros(3), "b": torch.zeros(3)}
for i in range(4):
    name = "ab"[i % 2]
    h = (w @ held[name] + 1).tanh()
    h.sum().backward() #!
    held[name] = h if name == "b" else h.detach()
""",
    "a frozen weight to which something is added is no parameter": """
layer = nn.Linear(3, 3).requires_grad_(False)
try:
    layer.weight += w * 2
except ValueError:
    pass
else:
    w.exp().sum().backward()
    (w * 2).exp().sum().backward()
""",
    "who handles a failure, and ends the program": """
import sys
def train():
    loss = w.exp().sum()
    loss.backward()
    loss.backward() #!
try:
    train()
except ZeroDivisionError as error:
    print(error)
sys.exit(0)
""",
    "an answer of which inference mode depends": """
frozen = nn.Linear(3, 3).requires_grad_(False)
if len(open(__file__).read()) > 5:
    with torch.inference_mode():
        seen = frozen(x)
else:
    seen = frozen(x)
(w * seen).sum().backward() #!
""",
    "inference mode that a decorator asks for, on a method": """
class Teacher(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 3)
    @torch.inference_mode()
    def targets(self, given):
        return self.net(given).softmax(-1)
soft = Teacher().targets(x)
(w.log_softmax(-1) * soft).sum().backward() #!
""",
    "inference mode that was left again": """
with torch.inference_mode():
    with torch.inference_mode(False):
        kept = x * 2
    view = x[0]
(w * kept + view).exp().sum().backward()
""",
    "a tensor of inference mode that is changed outside": """
with torch.inference_mode():
    total = torch.zeros(3)
(w * 2).exp().sum().backward()
total.add_(1.0) #!
""",
    "a tensor of inference mode of which a copy is changed": """
with torch.inference_mode():
    total = torch.zeros(3) + 1
total = total.clone()
total.add_(1.0)
(w * total).exp().sum().backward()
""",
    "a tensor of inference mode that is asked for a gradient": """
with torch.inference_mode():
    seed = torch.zeros(3) + 1
seed.requires_grad_() #!
(w * seed).exp().sum().backward()
""",
    "inference mode of an exit stack": """
import contextlib
with contextlib.ExitStack() as stack:
    stack.enter_context(torch.inference_mode())
    seen = x.exp()
made = x.exp()
(w * made).sum().backward()
(w * seen).sum().backward() #!
""",
    "what autograd needn't save may be of inference mode": """
with torch.inference_mode():
    seen = x.exp()
made = w + seen.mean() - seen[0].detach()
made.exp().sum().backward()
""",
    "what is left behind that is nobody's guess": """
pending = {"a": w.exp().sum(), "b": (w * 2).exp().sum(), "c": w.sin().sum()}
for name in open(__file__):
    if name.strip() in pending:
        pending.pop(name.strip()).backward()
for rest in pending.values():
    rest.backward()
""",
    "a list that a loop has filled is gone through in pieces": """
rows, base = [], 0.0
for _ in range(8):
    rows.append(torch.rand(3))
for i in range(0, len(rows), 4):
    losses = [(w * row).exp().sum() * (1 - base) for row in rows[i:i + 4]]
    torch.stack(losses).sum().backward() #!
    base = sum(losses)
""",
    "pieces of such a list have nothing in common": """
losses = []
for k in range(8):
    losses.append((w * k).exp().sum())
sum(losses[-3:]).backward()
sum(losses[2:4]).backward()
sum(losses[:2]).backward()
losses[4].backward()
""",
    "turned round it holds the same": """
losses = []
for k in range(8):
    losses.append((w * k).exp().sum())
sum(losses).backward()
for each in losses[::-1]:
    each.backward() #!
""",
    "but for its ends": """
losses = []
for k in range(8):
    losses.append((w * k).exp().sum())
sum(losses[-3:]).backward()
losses[-1].backward() #!
""",
    "what a module's own dict doesn't hold": """
class Own(nn.Parameter):
    pass
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.w = nn.Linear(3, 3), nn.Parameter(torch.ones(3))
        self.register_buffer("b", torch.zeros(3))
def convert(module):
    for name, held in module.__dict__.items():
        if isinstance(held, nn.Parameter):
            held.zero_()
    for name, held in module._parameters.items():
        module._parameters[name] = Own(held.data)
    for name, held in module._buffers.items():
        held.add_(1)
net = Net()
net.apply(convert)
net.apply(convert)
(net.inner(x) * net.w + net.b).sum().backward()
""",
    "what a dataclass does behind its fields": """
@dataclass
class Base:
    n: int
    seen: list = field(default_factory=list, init=False)
    k: int = 3
    def __post_init__(self):
        self.loss = (w.exp() * self.k).sum()
@dataclass
class Heir(Base):
    m: int = 1
    def __post_init__(self):
        super().__post_init__()
        self.other = torch.full((self.k,), 1.0, requires_grad=True).exp().sum()
Base(2, 5).loss.backward()
heir = Heir(2, 3, 7)
heir.loss.backward()
heir.other.backward()
heir.other.backward()  #!
""",
    "a name that a function binds later": """
h = w.exp()
def step():
    try:
        loss = h.sum()
    except NameError:
        loss = w.exp().sum()
    h = w.exp()
    loss.backward()
h.sum().backward()
step()
""",
    "parameters of a class of one's own": """
class Own(nn.Parameter):
    pass
net = nn.Linear(3, 3)
net.weight = Own(net.weight.data)
net.bias = Own(net.bias.data)
net(x).sum().backward()
l = (net(x) * Own(torch.ones(3)).exp()).sum()
l.backward()
l.backward()  #!
""",
    "parameters of a class of one's own that makes them": """
class Own(nn.Parameter):
    def __new__(cls, data, scale=2.0):
        made = super().__new__(cls, data, True)
        made.scale = scale
        return made
net = nn.Linear(3, 3)
net.weight, net.bias = Own(net.weight.data), Own(net.bias.data)
(net(x) * net.weight.scale).sum().backward()
""",
    "a module's dict of parameters": """
net = nn.Linear(3, 3)
for name, held in net._parameters.items():
    held.add_(1)  #!
""",
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
    "a walk in a try, of a parameter, inside a function": """
p = nn.Parameter(torch.randn(()))
def learn():
    l = p.exp()
    try:
        l.backward()
    except RuntimeError:
        pass
    l.backward()  #!
learn()
""",
    "a walk in a try, from an item of a list": """
def walk(objective):
    objective.backward()  #!
def main():
    memory = [x.index_put((torch.tensor([0, 2, 1]),), w)]
    try:
        F.binary_cross_entropy_with_logits(memory[0], x).backward()
    except RuntimeError as failure:
        pass
    walk(memory[0].sum())
main()
""",
    "a walk in a try that fails for want of a gradient": """
h = nn.Linear(3, 2)(x).pow(2)
try:
    h.backward()
except RuntimeError:
    print("not a number")
h.mean().backward()
""",
    "a walk in a try, then one that is given its gradient": """
def shown(h):
    try:
        h.backward()
    except RuntimeError:
        print("not a number")
    h.backward(torch.ones_like(h))
shown(nn.Linear(3, 2)(x.reshape(-1, 3)).pow(2))
""",
    "a walk that is asserted to fail": """
import unittest
class Refusals(unittest.TestCase):
    def runTest(self):
        h = nn.Linear(3, 2)(x.reshape(-1, 3)).pow(2)
        with self.assertRaises(RuntimeError):
            h.backward()
        h.sum().backward()
Refusals().runTest()
""",
    "recursion as deep as a number says": """
def unroll(t, depth):
    if depth == 0:
        return t
    return unroll(t, depth - 1)
l = w.exp().sum()
l.backward()
unroll(l, 12).backward()  #!
""",
    "recursion that computes anew": """
def unroll(depth):
    return w.exp().sum() if depth == 0 else unroll(depth - 1)
unroll(5).backward()
unroll(5).backward()
""",
    "recursion over a list": """
def folded(parts):
    return parts[0] if len(parts) == 1 else parts[0] * folded(parts[1:])
parts = [w.sum(), w.mean(), w.sin().sum(), w[0].sum()]
folded(parts).backward()
parts[2].backward()  #!
""",
    "recursion down a structure": """
class Block(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.inner = Block(depth - 1) if depth > 0 else None
    def forward(self, t):
        return t if self.inner is None else self.inner(t)
l = w.exp().sum()
l.backward()
Block(6)(l).backward()  #!
""",
    "two functions that call each other": """
def even(n, t):
    return t if n == 0 else odd(n - 1, t)
def odd(n, t):
    return even(n - 1, t)
l = w.exp().sum()
l.backward()
even(20, l).backward()  #!
""",
    "a handler behind what can't raise": """
loss = w.sum().exp()
loss.backward()
try:
    loss = w.sum().exp()
except RuntimeError:
    print("no")
loss.backward()
""",
    "a handler behind what always raises": """
loss = w.sum().exp()
loss.backward()
try:
    w.add_(1)
    loss = w.sum().exp()
except RuntimeError:
    print("no")
loss.backward()  #!
""",
    "a gradient that is a function of nothing": """
l = w.median()
(g,) = torch.autograd.grad(l, w, create_graph=True)
l.backward()
(g * (w + 1)).sum().backward()
""",
    "a gradient that has no graph": """
(g,) = torch.autograd.grad(w.amax(), w, create_graph=True)
g.sum().backward()  #!
""",
    "a gradient behind a step has none either": """
(g,) = torch.autograd.grad(w.ceil().exp().sum(), w, create_graph=True)
(g * w).sum().backward()
(g * w).sum().backward()
""",
    "a gradient computed without create_graph": """
(g,) = torch.autograd.grad(w.exp().sum(), w)
(g.norm() - 1).pow(2).backward()  #!
""",
    "a gradient that leads to the leaf alone": """
l = w.sin().sum()
(g,) = torch.autograd.grad(l, w, create_graph=True)
l.backward()
g.sum().backward()
""",
    "a gradient that leads through the saved result": """
l = w.tanh().sum()
(g,) = torch.autograd.grad(l, w, create_graph=True)
l.backward()
g.sum().backward()  #!
""",
    "a number over a tensor saves the result": """
h = w + 1
y = 1 / h
h.mul_(2)
y.sum().backward()
""",
    "a view made under no_grad is a leaf of its own": """
h = w.exp()
h.sum().backward()
with torch.no_grad():
    v = h[0]
v.sum().backward()
v.sum().backward()
""",
    "a copy made under no_grad has no graph": """
with torch.no_grad():
    v = w[0] * 2
v.sum().backward()  #!
""",
    "a raise that another handler would take": """
loss = w.exp().sum()
loss.backward()
try:
    try:
        raise KeyError("a")
    except ValueError:
        loss.backward()
    loss.backward()
except LookupError:
    pass
""",
    "a raise that the second handler takes, by its base": """
class Odd(ValueError): pass
class Odder(Odd): pass
loss = w.exp().sum()
loss.backward()
try:
    raise Odder("a")
except KeyError:
    pass
except ValueError:
    loss.backward()  #!
""",
    "a raise that a handler of all takes": """
loss = w.exp().sum()
try:
    loss.backward()
    raise KeyError("a")
    loss.backward()
except:
    loss = w.exp().sum()
loss.backward()
""",
    "a raise under an older name of its class": """
loss = w.exp().sum()
loss.backward()
try:
    raise IOError("a")
except EnvironmentError:
    loss.backward()  #!
""",
    "an exit is no exception": """
loss = w.exp().sum()
loss.backward()
try:
    try:
        raise SystemExit
    except Exception:
        loss.backward()
except BaseException:
    pass
""",
    "a handler that raises on what it took": """
loss = w.exp().sum()
loss.backward()
try:
    try:
        raise KeyError("a")
    except KeyError:
        try:
            raise ValueError
        except ValueError:
            pass
        raise
except ValueError:
    loss.backward()
except LookupError:
    loss.sum()
""",
    "a handler that raises on what another takes": """
loss = w.exp().sum()
loss.backward()
try:
    try:
        raise KeyError("a")
    except KeyError:
        raise
except LookupError:
    loss.backward()  #!
""",
    "code behind a raise in a finally": """
loss = w.exp().sum()
loss.backward()
try:
    try:
        raise KeyError("a")
    except ValueError:
        pass
    finally:
        loss = w.exp().sum()
    loss.backward()
except KeyError:
    loss.backward()
""",
    "gradients that a called function switches off": """
def parameters(module):
    torch.set_grad_enabled(False)
    return sum(each.numel() for each in module.parameters())

layer = nn.Linear(3, 1)
count = parameters(layer)
layer(x).sum().backward()  #!
""",
    "an object is true by its length": """
class Bank:
    def __init__(self):
        self.kept = []

    def __len__(self):
        return len(self.kept)

bank = Bank()
for _ in range(2):
    if bank:
        bank.kept[0].backward()  #!
    bank.kept.append(w.exp().sum())
    bank.kept[0].backward(retain_graph=len(bank) > 1)
""",
    "an object is true as it says": """
class Gate:
    def __bool__(self):
        return False

l = w.exp().sum()
l.backward()
if Gate():
    l.backward()
""",
    "the rest of a list": """
kept = []
for _ in range(4):
    kept.append(w.exp().sum())
    kept = kept[-2:]
    sum(kept).backward()  #!
""",
    "a list of modules grows by +=": """
layers = nn.ModuleList()
layers += [nn.Linear(3, 3), nn.Linear(3, 1)]
h = x
for each in layers:
    h = each(h).tanh()
h.sum().backward()
h.mean().backward()  #!
""",
    "a number is no tensor that stack joins": """
l = w.exp().sum()
l.backward()
try:
    torch.stack([l, 1.0])
    l = w.exp().sum()
except TypeError:
    pass
l.backward()  #!
""",
    "as_tensor makes one of a number": """
l = w.exp().sum()
l.backward()
try:
    l = torch.stack([w.exp().sum(), torch.as_tensor(1.0)]).sum()
except TypeError:
    pass
l.backward()
""",
    "as_tensor makes one of an array, which has no graph": """
import numpy
amounts = numpy.asarray((w * 2).tolist())
total = numpy.full_like(amounts, 1.0)
total += numpy.clip(amounts - 1, 0, 2)
torch.as_tensor(total, dtype=w.dtype).mean().backward()  #!
""",
    "an object's own dict gets what it didn't hold": """
class Scale:
    held = {}
    def take(self, loss, key):
        scales = self.__dict__.setdefault(key, {})
        scales["mean"] = (scales.get("mean", 0) + loss) / 2
        return loss / scales["mean"]
scale = Scale()
scale.take(w.exp().sum(), "other").backward()
scale.take(w.exp().sum(), "held").backward()
scale.take(w.exp().sum(), "held").backward()  #!
""",
    "adapters stand in place of frozen layers, by names that are worked out": """
class Adapter(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base, self.down = base, nn.Parameter(torch.ones(3, 3))

    def forward(self, x):
        return self.base(x) + x @ self.down

net = nn.Sequential(nn.Sequential(nn.Linear(3, 3)), nn.Linear(3, 3)).requires_grad_(False)
for path, module in list(net.named_modules()):
    if isinstance(module, nn.Linear):
        parent, _, last = path.rpartition(".")
        setattr(net.get_submodule(parent), last, Adapter(module))
out = net(x)
out.sum().backward()
out.mean().backward() #!
""",
    "or by names that nobody knows": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(3, 3))
        self.last = nn.Linear(3, 3)

    def forward(self, x):
        return self.last(self.inner(x))

net = Net().requires_grad_(False)
for line in open(__file__):
    name = "inner" if line.startswith("class Net") else ""
    path = (line.strip() or "0") if not name else name
    if path in ("inner", "net"):
        setattr(net.get_submodule(path and ""), path, nn.Linear(3, 3))
net(x).sum().backward()
""",
    "what a text begins with tells which layers may have been replaced": """
class Net(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.head = nn.Linear(3, 3)
        for number in range(count):
            setattr(self, f"block{number}", nn.Linear(3, 3))

net = Net(len(open(__file__).readlines()))
net.head.requires_grad_(False)
net.head(x).sum().backward() #!
""",
    "a program is told to set what an object has by name": """
class Model:
    def __init__(self):
        self.w = w

    def loss(self):
        if not hasattr(self, "data"):
            raise ValueError("no data")
        return (self.w * self.data).sum()

model = Model()
model.data = x
loss = model.loss()
loss.backward()
loss.backward() #!
""",
    "a recurrent layer saves what it is given": """
y = (torch.rand(4, 5, 3) * w[0])
out, _ = nn.GRU(3, 3)(y)
y += 1
out.sum().backward() #!
""",
    "and a copy of batches, which it puts in another order": """
y = (torch.rand(4, 5, 3) * w[0])
out, _ = nn.GRU(3, 3, batch_first=True)(y)
y += 1
out.sum().backward()
""",
    "all parameters of recurrent layers are in their graph": """
for layer in (nn.RNN(3, 2), nn.GRU(3, 2), nn.LSTM(3, 2), nn.LSTM(3, 2, bias=False), nn.LSTM(3, 2, 2, bidirectional=True)):
    out, _ = layer(torch.rand(4, 1, 3))
    torch.autograd.grad(out.sum(), layer.parameters())
for cell in (nn.RNNCell(3, 2), nn.GRUCell(3, 2)):
    torch.autograd.grad(cell(x).sum(), cell.parameters())
torch.autograd.grad(nn.LSTMCell(3, 2)(x)[0].sum(), w) #!
""",
    "a normalisation learns where it is told to": """
for norm in (nn.InstanceNorm1d(3, affine=True), nn.InstanceNorm1d(3, 1e-5, 0.1, True)):
    norm(torch.rand(2, 3, 4)).sum().backward()
nn.InstanceNorm1d(3)(torch.rand(2, 3, 4)).sum().backward() #!
""",
    "a layer without a bias, by its place": """
layer = nn.Linear(3, 2, False)
if layer.bias is not None:
    raise ValueError
(grad,) = torch.autograd.grad(layer(x).sum(), layer.parameters())
out = layer(x).exp().sum()
out.backward()
out.backward() #!
""",
    "what is put under names that nobody knows, all at once": """
held, count = {}, len(open(__file__).readlines())
for i in range(count):
    held.update({f"w{i}": torch.eye(3, requires_grad=True)})
y = x
for i in range(count):
    y = y @ held[f"w{i}"]
torch.autograd.grad(y.sum(), held.values())
y.sum().backward() #!
""",
    "layers that a method adds which somebody gave to torch's class": """
nn.Module.add = lambda self, module: self.add_module(str(len(self) + 1), module)
net = nn.Sequential()
net.add(nn.Linear(3, 3))
net(x).sum().backward()
w.detach().sum().backward() #!
""",
    "the graph of a gradient saves the other weights": """
net, scale = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)), torch.ones(1, requires_grad=True)
(grad,) = torch.autograd.grad((scale * net(x)).sum(), [net[0].weight], create_graph=True)
with torch.no_grad():
    net[2].weight.sub_(0.1)
torch.autograd.grad(grad.sum(), scale) #!
""",
    "and not what it is a gradient of": """
layer, scale = nn.Linear(3, 1), torch.ones(1, requires_grad=True)
(grad,) = torch.autograd.grad((scale * layer(x)).sum(), [layer.weight], create_graph=True)
with torch.no_grad():
    layer.weight.sub_(0.1)
torch.autograd.grad(grad.sum(), scale)
""",
    "names that share a list of which nobody knows the length": """
losses = []
for row in open(__file__):
    losses.append((w * len(row)).exp().sum())
if len(losses) == 2:
    a, b = losses
    a.backward()
    b.backward()
one, *rest = [(w * len(row)).exp().sum() for row in open(__file__)]
one.backward()
for each in rest:
    each.backward()
""",
    "and each of them is one thing": """
def pair(rows):
    a, b = [(w * row).exp() for row in rows]
    b += 1
    (a * 2).sum().backward()
    (a * 3).sum().backward() #!
pair(x[:2])
""",
    "a state is detached unless it is None": """
def train(model, rows):
    state = None
    for row in rows:
        if state is not None:
            state = state.detach()
        output, state = model(row, state)
        output.sum().backward()
    return state
cell, h = nn.RNNCell(3, 3), None
for row in x:
    h = cell(row, h)
    h.sum().backward() #!
""",
    "layers by names that nobody knows, in two loops": """
class Policy(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.count = count
        for i in range(count):
            self.add_module("layer{0}".format(i), nn.Linear(3, 3))
    def forward(self, y):
        params = dict(self.named_parameters())
        for i in range(self.count):
            y = F.linear(y, params["layer{0}.weight".format(i)], params["layer{0}.bias".format(i)])
        return y
policy = Policy(len(open(__file__).readlines()))
torch.autograd.grad(policy(x * w).mean(), policy.parameters())
layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(2))
torch.autograd.grad(layers[0](x).mean(), layers.parameters()) #!
""",
    "a module that is imported by a function": """
library = __import__("torch")
layer = nn.Linear(3, 3)
with library.no_grad():
    layer.weight[0] = layer.weight[1]
layer.weight[0] = layer.weight[1] #!
""",
    "phases that a table names, of which most iterations find none": """
layer, phases = nn.Linear(3, 3), dict([(2, {"weight": False, "bias": False})])
for epoch in range(4):
    for prefix, flag in phases.get(epoch, {}).items():
        for name, p in layer.named_parameters():
            if name.startswith(prefix):
                p.requires_grad_(flag)
    layer(x).sum().backward() #!
""",
    "what has a graph is no array": """
import numpy
def ready(given):
    if isinstance(given, (numpy.ndarray, list)):
        given = torch.tensor(given)
    return given
t = torch.rand(3, 1, requires_grad=True)
y = ready(torch.cat([x, t], 1)).exp()
torch.autograd.grad(y.sum(), t, create_graph=True)
torch.autograd.grad(y.sum(), w) #!
""",
    "layers under names that are made of others": """
parts, act = collections.OrderedDict(), nn.Tanh()
for i in range(2):
    parts.update({f"linear_{i}": nn.Linear(3, 3), f"act_{str(act)}_{i}": act})
point = torch.rand(1, 3, requires_grad=True)
y = nn.Sequential(parts)(point)
(slope,) = torch.autograd.grad(y.sum(), point, create_graph=True)
torch.autograd.grad(slope.sum(), point, create_graph=True)
torch.autograd.grad(nn.Linear(3, 1)(point).sum(), w) #!
""",
    "what is kept for many, and cut off for all of them": """
names = open(__file__).read().split()
states = {name: torch.zeros(3) for name in names}
for step in range(3):
    for name in names:
        states[name] = (w @ states[name] + 1).tanh()
    sum(states.values()).sum().backward()
    for name in states:
        states[name] = states[name].detach()
rows = [torch.zeros(3) for _ in names]
for step in range(3):
    for at, name in enumerate(names):
        rows[at] = (w @ rows[at] + 1).tanh()
    sum(rows).sum().backward()
    for row in rows:
        row.detach_()
state = torch.zeros(3)
for step in range(3):
    state = (w @ state + 1).tanh()
    state.sum().backward() #!
""",
    "each of many is asked for by the key of another table": """
names = sorted(set(open(__file__).read().split()))
losses = {name: (w * len(name)).exp().sum() for name in names}
rates = {name: 0.1 for name in names}
for name, rate in rates.items():
    losses[name].backward()
count = len(names)
parts = [(w * i).exp().sum() for i in range(count)]
for i in reversed(range(count)):
    parts[i].backward()
whole = w.exp()
shares = [(whole * i).sum() for i in range(count)]
for i in reversed(range(count)):
    shares[i].backward() #!
""",
    "what is carried beside what is cut off for all": """
names = open(__file__).read().split()
states = {name: torch.zeros(3) for name in names}
state = torch.zeros(3)
for step in range(3):
    for name in names:
        states[name] = state = (w @ state + 1).tanh()
    sum(states.values()).sum().backward() #!
    for name in states:
        states[name] = states[name].detach()
""",
    "a list of the module that a function cuts off": """
rows = [torch.zeros(3) for _ in open(__file__).read().split()]
def train():
    for step in range(3):
        for at in range(len(rows)):
            rows[at] = (w @ rows[at] + 1).tanh()
        sum(rows).sum().backward()
        for row in reversed(rows):
            row.detach_()
train()
whole = w.exp().sum()
whole.backward()
whole.backward() #!
""",
    "whether a graph is kept is asked in each iteration": """
import heapq
left = []
for at, word in enumerate(open(__file__).read().split()):
    heapq.heappush(left, (len(word), at))
whole = w.exp()
while left:
    size, at = heapq.heappop(left)
    (whole * size).sum().backward(retain_graph=len(left) > 0)
pairs = list(itertools.combinations(range(3), 2))
whole = w.exp()
for pair in pairs:
    whole.sum().backward(retain_graph=pair != pairs[-1])
keep = len(open(__file__).read()) > 10 ** 9
whole = w.exp()
for word in open(__file__).read().split():
    if word:
        whole.sum().backward(retain_graph=keep) #!
""",
    "operators of a program's own classes": """
class Stage:
    def __init__(self, work): self.work = work
    def __ror__(self, given): return self.work(given)
    def __rshift__(self, other): return Stage(lambda given: other.work(self.work(given)))
    def __invert__(self): return self.work(w)
(w | (Stage(torch.exp) >> Stage(torch.sum))).backward()
kept = ~Stage(torch.exp)
kept.sum().backward()
kept.mean().backward() #!
""",
    "dicts are united": """
state = {"h": torch.zeros(3), "n": 0}
for _ in range(2):
    state = state | {"h": torch.tanh(w @ state["h"].detach() + 1), "n": state["n"] + 1}
    state["h"].sum().backward()
for _ in range(2):
    state |= {"h": torch.tanh(w @ state["h"] + 1)}
    state["h"].sum().backward() #!
""",
    "a module's forward is replaced on one object": """
class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.h = nn.Linear(3, 3), torch.zeros(3)
    def forward(self, x):
        self.h = torch.tanh(self.layer(x) + self.h)
        return self.h
class Cut(Cell):
    def forward(self, x):
        self.h = torch.tanh(self.layer(x) + self.h.detach())
        return self.h
one, two, three, plain = Cell(), Cell(), Cell(), nn.Linear(3, 3)
one.forward = types.MethodType(Cut.forward, one)
two.forward = Cut.forward.__get__(two, Cell)
of_plain, down, up = plain.forward, nn.Parameter(torch.rand(1, 3)), nn.Parameter(torch.rand(3, 1))
plain.requires_grad_(False)
plain.forward = lambda t: of_plain(t) + t @ down.t() @ up.t()
for row in x:
    one(row).sum().backward()
    two(row).sum().backward()
    plain(row).sum().backward()
for row in x:
    three(row).sum().backward() #!
""",
    "a metaclass makes one object": """
class Single(type):
    made = {}
    def __call__(cls, *args):
        if cls not in cls.made:
            cls.made[cls] = super().__call__(*args)
        return cls.made[cls]
class Basis(metaclass=Single):
    def __init__(self):
        self.table = w.exp()
first, second = Basis(), Basis()
first.table.sum().backward()
second.table.mean().backward() #!
""",
    "what itertools and filter let through": """
cells = [nn.GRUCell(3, 3) for _ in range(2)]
held = [torch.zeros(3), torch.zeros(3), None]
for _ in range(2):
    held = [cell(row, h) for cell, row, h in zip(cells, x, filter(lambda h: h is not None, held))]
    sum(h.sum() for h in held).backward()
    held = [h.detach() for h in held]
    [cell.zero_grad() for cell in filter(None, [*cells, None])]
for a, b in itertools.combinations([w.exp(), w.sin(), w.cos()], 2):
    (a + b).sum()
for part in itertools.chain.from_iterable([[w.exp()], [w.sin()]]):
    part.sum().backward()
whole = w.exp()
for a, b in itertools.product([whole], [1.0, 2.0]):
    (a * b).sum().backward() #!
""",
    "a tensor of each name is the same one": """
held = dict.fromkeys(["a", "b"], w.exp())
own = dict.fromkeys(["a", "b"])
for name in own:
    own[name] = w.exp()
    own[name].sum().backward()
held["a"].sum().backward()
held["b"].sum().backward() #!
""",
    "each of some tensors is changed in place": """
parts = [torch.rand(3, 3), torch.rand(3, 3)]
torch._foreach_mul_(parts, 0.9)
loss = sum((w * part).sum() for part in parts)
sums = torch._foreach_add(parts, 1.0)
loss.backward()
loss = sum((w * part).sum() for part in parts)
torch._foreach_add_(parts, sums)
loss.backward() #!
""",
    "what is computed is written to a tensor": """
kept, other = torch.rand(3, 3), torch.rand(3, 3)
loss = (w * kept).sum()
torch.mm(x, x, out=other)
loss.backward()
loss = (w * kept).sum()
torch.mm(x, x, out=kept)
loss.backward() #!
""",
    "a layer is told later not to overwrite its input": """
careful = nn.Sequential(nn.Linear(3, 3), nn.Sigmoid(), nn.ReLU(inplace=True))
for part in careful.modules():
    if hasattr(part, "inplace"):
        part.inplace = False
careful(x).sum().backward()
careless = nn.Sequential(nn.Linear(3, 3), nn.Sigmoid(), nn.ReLU())
careless[2].inplace = True
careless(x).sum().backward() #!
""",
    "attributes that are items": """
class Space(dict):
    def __init__(self, **given):
        super().__init__(**given)
        self.__dict__ = self
class Other(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__
one, two = Space(h=torch.zeros(3)), Other(h=torch.zeros(3))
for _ in range(2):
    one.h = torch.tanh(w @ one["h"] + 1)
    two.h = torch.tanh(w @ two.h + 1)
    (one.h + two.h).sum().backward()
    one["h"] = one.h.detach()
    two.update({name: h.detach() for name, h in two.items()})
for _ in range(2):
    one.h = torch.tanh(w @ one["h"] + 1)
    one["h"].sum().backward() #!
""",
    "methods of operators by their names": """
total, held = torch.zeros(3), {}
for row in x:
    total.__iadd__(w @ row)
total.sum().backward()
held.__setitem__("h", w.exp())
held["h"].sum().backward()
kept = w.exp()
loss = kept.sum()
operator.iadd(kept, 1)
loss.backward() #!
""",
    "hooks that are given keywords": """
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
    def forward(self, x, shift=0.0):
        return torch.tanh(self.layer(x) + shift)
store = {"h": torch.zeros(3)}
def before(module, args, kwargs):
    return args, {**kwargs, "shift": store["h"]}
def behind(module, args, kwargs, result):
    store["h"] = result.detach()
def careless(module, args, kwargs, result):
    store["h"] = result
net = Layer()
net.register_forward_pre_hook(before, with_kwargs=True)
handle = net.register_forward_hook(behind, with_kwargs=True)
for row in x:
    net(row).sum().backward()
handle.remove()
net.register_forward_hook(careless, with_kwargs=True)
for row in x:
    net(row).sum().backward() #!
""",
    "a callable is called until it has no more": """
rows = [w.exp(), w.exp(), None]
for row in iter(lambda: rows.pop(0), None):
    row.sum().backward()
whole, left = w.exp(), [1, 2, None]
for row in iter(lambda: left.pop(0), None):
    (whole * row).sum().backward() #!
""",
    "members of an enumeration, and what a dict makes that it lacks": """
class Kind(enum.Enum):
    MEAN = "mean"
    SUM = "sum"
class Cache(dict):
    def __missing__(self, key):
        self[key] = (w * key).exp()
        return self[key]
for kind in Kind:
    getattr(w.exp(), kind.value)().backward()
cache = Cache()
cache[1].sum().backward()
cache[2].sum().backward()
cache[1].sum().backward() #!
""",
    "an object without a matrix product in place": """
kept = w.exp()
loss = kept.sum()
kept @= x
loss.backward()
soft = F.gumbel_softmax(w, hard=True)
soft.add_(1.0)
soft.sum().backward()
plain = torch.func.vmap(torch.func.grad(lambda row: (row * row).sum()))(x)
plain.sum().backward() #!
""",
    "an item by a number that nobody knows is another each time": """
losses = [(w * at).exp().sum() for at in range(len(open(__file__).read().split()))]
for at in torch.randperm(len(losses)).tolist():
    losses[at].backward()
three = [w.exp().sum(), w.sin().sum(), (w * w).sum()]
for at in torch.tensor([loss.item() for loss in three]).argsort():
    three[at].backward()
whole = w.exp()
shared = [(whole * at).sum() for at in range(3)]
for at in torch.randperm(3).tolist():
    shared[at].backward() #!
""",
    "items of a dict that a loop has filled": """
count = len(open(__file__).read().split())
losses = {f"loss {at}": (w * at).exp().sum() for at in range(count)}
for loss in losses.values():
    loss.backward()
losses = {at: (w * at).exp().sum() for at in range(count)}
for at, loss in losses.items():
    loss.backward()
whole = w.exp()
shared = {at: (whole * whole * (at + w)).sum() for at in range(count)}
for at, loss in shared.items():
    loss.backward() #!
""",
    "items that are gone through again": """
losses = [(w * len(name)).exp().sum() for name in open(__file__).read().split()]
for epoch in range(2):
    for loss in losses:
        loss.backward() #!
""",
    "tensors in lists of parameters are parameters": """
scale = nn.ParameterDict({name: torch.ones(3) for name in "ab"})
rows = nn.ParameterList([torch.ones(3)])
rows.append(torch.ones(3))
scale["c"] = torch.ones(3)
opt = torch.optim.SGD([*scale.parameters(), *rows], lr=0.1)
for row in x:
    loss = sum((row * scale[name]).exp().sum() for name in scale) + sum((row * each).exp().sum() for each in rows)
    opt.zero_grad()
    loss.backward()
    opt.step()
rows[1].mul_(2.0) #!
""",
    "what only says, or shows, what something is": """
import typing
held = types.MappingProxyType({"loss": w.exp()})
loss = typing.cast(torch.Tensor, held["loss"]).sum()
loss.backward()
held["loss"].sum().backward() #!
""",
    "two counters in step, the one of the program's own": """
state, pending, age = torch.zeros(3), [], 0
for step in range(1, len(open(__file__).read().split()) + 1):
    state = torch.tanh(state @ w)
    pending.append(state.sum())
    age += 1
    if age % 4 == 0:
        state = state.detach()
    if step % 4 == 0:
        torch.stack(pending).mean().backward()
        pending.clear()
""",
    "how many are gathered, beside a counter": """
state, pending = torch.zeros(3), []
for step, word in enumerate(open(__file__).read().split()):
    state = torch.tanh(state @ w)
    pending.append(state.sum())
    if len(pending) == 4:
        state = state.detach()
    if (step + 1) % 4 == 0:
        torch.stack(pending).mean().backward()
        pending.clear()
""",
    "a countdown, and when to keep the graph, by counters": """
made, left, kept, since = None, 0, None, 0
for step in range(len(open(__file__).read().split())):
    if left == 0:
        made, left = (w * w).sum(), 4
    left -= 1
    if step % 4 == 3:
        made.backward()
    if kept is None or since == 3:
        kept, since = (w * w).sum(), 0
    since += 1
    kept.backward(retain_graph=(step + 1) % 3 != 0)
""",
    "a period that only an object knows, and a backward pass in a method": """
class Trainer:
    def __init__(self, every):
        self.every, self.state, self.age, self.pending = every, torch.zeros(3), 0, []
    def observe(self):
        self.state = torch.tanh(self.state @ w)
        self.pending.append(self.state.sum())
        self.age += 1
        if self.age % self.every == 0:
            self.state = self.state.detach()
    def flush(self):
        torch.stack(self.pending).mean().backward()
        self.pending.clear()
    def fit(self, words):
        for step, word in enumerate(words, start=1):
            self.observe()
            if step % self.every == 0:
                self.flush()
Trainer(4).fit(open(__file__).read().split())
""",
    "two counters out of step": """
state, pending, age = torch.zeros(3), [], 0
for step in range(1, len(open(__file__).read().split()) + 1):
    state = torch.tanh(state @ w)
    pending.append(state.sum())
    age += 1
    if age % 3 == 0:
        state = state.detach()
    if step % 4 == 0:
        torch.stack(pending).mean().backward() #!
        pending.clear()
""",
    "what is carried past each fourth iteration, which the program counts": """
losses, count = [], 0
for word in open(__file__).read().split():
    (w * len(word)).exp().sum().backward()
    losses.append((w * len(word)).exp().sum())
    count += 1
    if count == 4:
        torch.stack(losses).sum().backward() #!
        count = 0
""",
    "the same, begun anew": """
losses, count = [], 0
for word in open(__file__).read().split():
    (w * len(word)).exp().sum().backward()
    losses.append((w * len(word)).exp().sum())
    count += 1
    if count == 4:
        torch.stack(losses).sum().backward()
        losses, count = [], 0
""",
    "what is taken out of a list, or a set, by its value": """
pool, rows, held = [], [], set()
for word in open(__file__).read().split()[:20]:
    item, row, loss = [(w * w).sum()], (w * w).sum(), w.exp().sum()
    pool.append(item)
    rows.append(row)
    held.add(loss)
    (sum(each[0] for each in pool) + sum(rows) + sum(held)).backward()
    pool.remove(item)
    del rows[rows.index(row)]
    held.discard(loss)
sum(rows, w.exp().sum()).backward()
kept = w.sin().sum()
rows += [kept, w.cos().sum()]
rows.remove(kept)
rows[0].backward()
kept.backward()
rows[0].backward() #!
""",
    "what an object's own iterator makes": """
shared = (w * w).sum()
class Streams:
    def __iter__(self):
        return iter([shared * at for at in range(3)])
for loss in Streams():
    loss.backward() #!
""",
    "a view by strides shares its memory": """
table = torch.zeros(4, 4)
table.as_strided((3,), (5,), 1).copy_(w[0] + 1)
table[0].logsumexp(-1).backward()
""",
    "a new tensor like another, that is asked to require a gradient": """
mask = x.new_zeros(3, 3, requires_grad=True)
torch.autograd.grad((x + mask).exp().sum(), [mask])
start = torch.zeros_like(x, requires_grad=True)
(start * 2).exp().sum().backward()
loss = (x.new_ones(3, requires_grad=True) * 2).exp().sum()
loss.backward()
loss.backward() #!
""",
    "what a program insists on is so on the path that it takes": """
order = int(open(__file__).read().count("a") > 3) + 1
loss = (w * x).exp().sum()
torch.autograd.grad(loss, [w], create_graph=order == 2)
assert order == 2
loss.backward()
""",
    "a layer that isn't given its input by torch's name": """
layers = nn.ModuleList([nn.Dropout(0.5), nn.Linear(3, 3)])
try:
    layers[0](batch=x)
except TypeError:
    loss = layers[1](input=x).exp().sum()
loss.backward()
loss.backward() #!
""",
    "a leaf that was changed before it was asked to be one": """
points = torch.rand(5, 2)
points[:, 0] += 1
points.requires_grad_(True)
torch.autograd.grad((points * points).sum(), points[:, 1:]) #!
""",
    "numpy refuses what requires a gradient": """
import numpy
made = (w * w).sum()
try:
    numpy.exp(w.sum(0))
    made.backward()
except RuntimeError:
    pass
try:
    w.numpy()
    made.backward()
except RuntimeError:
    pass
numpy.exp(w.detach().numpy())
made.backward()
""",
    "what is compared has lost its graph where its side had": """
picked = (x @ w).argmax(-1)
wrong = (picked != torch.zeros(3)).float().mean()
wrong.backward() #!
""",
    "a function that changes each leaf of a tree": """
from torch.utils._pytree import tree_map_
made = w.exp()
loss = made.sum()
tree_map_(lambda each: each.add_(1), [made])
loss.backward() #!
""",
    "keys that are no more than formatted, paired, or the identity of something": """
kept, rows = {}, [torch.rand(3) for _ in range(4)]
for at, row in enumerate(rows):
    for key in (f"row {at:03d}", (at, "row"), id(row)):
        found = kept.get(key)
        if found is None:
            found = kept[key] = (w * row).exp().sum()
        found.backward()
for key in ("row 002", (3, "row"), id(rows[0])):
    kept[key].backward() #!
""",
    "what is handed on by a queue between coroutines": """
import asyncio
async def produce(queues):
    made = w.exp()
    for each in queues:
        await each.put(made)
async def consume(queue):
    made = await queue.get()
    made.sum().backward() #!
async def run():
    queues = [asyncio.Queue(), asyncio.Queue()]
    await asyncio.gather(produce(queues), *(consume(each) for each in queues))
asyncio.run(run())
""",
    "what coroutines hand on one by one": """
import asyncio
net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
async def produce(queue):
    for _ in range(4):
        await queue.put(net(x))
        await queue.join()
    await queue.join()
    await queue.put(None)
async def learn(queue):
    while (out := await queue.get()) is not None:
        opt.zero_grad()
        out.square().mean().backward()
        opt.step()
        queue.task_done()
async def run():
    queue = asyncio.Queue(maxsize=2)
    await asyncio.gather(produce(queue), learn(queue))
asyncio.run(run())
""",
    "what coroutines hand on, each in its turn": """
import asyncio
net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
async def produce(queue):
    for _ in range(4):
        await queue.put(net(x))
        await asyncio.sleep(0.01)
    await queue.join()
    await queue.put(None)
async def learn(queue):
    while (out := await queue.get()) is not None:
        opt.zero_grad()
        out.square().mean().backward()
        opt.step()
        queue.task_done()
async def run():
    queue = asyncio.Queue(maxsize=2)
    await asyncio.gather(produce(queue), learn(queue))
asyncio.run(run())
""",
    "what coroutines hand on all at once": """
import asyncio
net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
async def produce(queue):
    for _ in range(4):
        await queue.put(net(x))
    await queue.join()
    await queue.put(None)
async def learn(queue):
    while (out := await queue.get()) is not None:
        opt.zero_grad()
        out.square().mean().backward() #!
        opt.step()
        queue.task_done()
async def run():
    queue = asyncio.Queue(maxsize=2)
    await asyncio.gather(produce(queue), learn(queue))
asyncio.run(run())
""",
    "a method that is chosen by what its argument is": """
from functools import singledispatchmethod
class Learner:
    def __init__(self):
        self.state = torch.zeros(3)
    @singledispatchmethod
    def handle(self, event):
        raise TypeError
    @handle.register
    def _(self, event: int):
        self.state = torch.tanh(self.state @ w + event)
    @handle.register
    def _(self, event: str):
        self.state.sum().backward()
        self.state = self.state.detach()
    @handle.register
    def _(self, event: float):
        self.state.sum().backward() #!
learner = Learner()
for event in (1, "learn", 2, "learn", 3, 0.5, 4, 0.5):
    learner.handle(event)
""",
    "what a long loop hands on late, and once": """
from collections import deque
late = deque()
for step in range(400):
    late.append((w * step).exp().sum())
    if len(late) > 6:
        late.popleft().backward()
""",
    "the last items of what a long loop gathers": """
gathered = []
for step in range(400):
    gathered.append((w * step).exp().sum())
    if len(gathered) % 4 == 0:
        torch.stack(gathered[-4:]).sum().backward()
""",
    "two counters of a long loop, one up and one down": """
state, total, up, down = torch.zeros(3), torch.zeros(()), 0, 5
for step in range(400):
    state = torch.tanh(state @ w)
    total = total + state.sum()
    up += 1
    down -= 1
    if up == 5:
        total.backward()
        total, up = torch.zeros(()), 0
    if down == 0:
        state, down = state.detach(), 5
""",
    "the last five of what a long loop gathers, of which one was there before": """
gathered = []
for step in range(400):
    gathered.append((w * step).exp().sum())
    if len(gathered) % 4 == 0:
        torch.stack(gathered[-5:]).sum().backward() #!
""",
    "what is cached by the number of an iteration": """
import functools
@functools.lru_cache(maxsize=8)
def made(step):
    return (w * step).exp().sum()
for step in range(400):
    (made(step) * 2).backward()
""",
    "what is next in turn": """
modes = itertools.cycle(["use", "build"])
made = w.exp().sum()
for step in range(10):
    if next(modes) == "use":
        made.backward()
    else:
        made = w.exp().sum()
keep = itertools.chain(itertools.repeat(True, 4), itertools.repeat(False))
for step in range(5):
    made.backward(retain_graph=next(keep))
again = iter([0, 0, 1])
for step in range(3):
    loss = w.exp().sum()
    loss.backward()
    if next(again):
        loss.backward() #!
""",
    "what is next behind the end": """
rest = iter([w.exp().sum()])
next(rest).backward()
try:
    next(rest).backward()
except StopIteration:
    pass
for loss in iter([w.exp().sum(), w.sin().sum()]):
    loss.backward()
left = iter([w.cos().sum(), w.sin().sum()])
first = next(left)
for loss in left:
    loss.backward()
first.backward()
first.backward() #!
""",
    "what a long loop does every so many iterations, by an object's countdown": """
class Trainer:
    def __init__(self, interval):
        self.net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
        self.interval = self.clock = interval
    def step(self, row):
        loss = self.net(row).sum()
        self.clock -= 1
        if self.clock == 0:
            with torch.no_grad():
                for each in self.net.parameters():
                    each.copy_(torch.zeros_like(each))
            self.clock = self.interval
        loss.backward() #!
trainer = Trainer(5)
for _ in range(400):
    trainer.step(torch.randn(2, 3))
""",
    "what is next in a list that a loop has filled": """
losses = [(w * len(word)).exp().sum() for word in open(__file__).read().split()]
rest = iter(losses)
for _ in range(9):
    next(rest).backward()
numbered = iter(enumerate([(w + len(word)).exp().sum() for word in open(__file__).read().split()]))
for _ in range(9):
    next(numbered)[1].backward()
loss = w.exp().sum()
loss.backward()
loss.backward() #!
""",
    "keys that are computed of dates": """
import datetime
of_day = {}
day = datetime.date(2024, 1, 1)
for _ in range(5):
    day = day + datetime.timedelta(days=1)
    if day not in of_day:
        of_day[day] = w.exp().sum()
    of_day[day].backward()
    if (before := of_day.get(day - datetime.timedelta(weeks=1))) is not None:
        before.backward()
for day in [datetime.date(2024, 1, d) for d in (13, 15, 18)]:
    key = ("load", day)
    if key not in of_day:
        of_day[key] = w.exp().sum()
    of_day[key].backward()
""",
    "classes of exceptions that a variable names": """
class Busy(ValueError):
    pass
class Again:
    errors = (OSError, Busy)
    def run(self, job, errors):
        for _ in range(2):
            try:
                return job(self.errors)
            except errors:
                pass
            except self.errors:
                print("again")
def told(errors):
    loss = w.exp().sum()
    loss.backward()
    try:
        loss.backward()
    except errors:
        print("once")
told((RuntimeError, KeyError))
loss = w.exp().sum()
tries = []
def job(errors):
    loss.backward() #!
    tries.append(1)
    if len(tries) < 2:
        raise Busy
Again().run(job, KeyError)
""",
    "what a context lets pass, of the classes that it suppresses": """
import contextlib
loss = w.exp().sum()
loss.backward()
with contextlib.suppress(RuntimeError):
    loss.backward()
with contextlib.suppress(KeyError, RuntimeError):
    loss.backward()
with contextlib.suppress(Exception):
    loss.backward()
again = w.exp().sum()
for turn in range(2):
    with contextlib.suppress(OSError):
        again.backward() #!
        raise OSError
""",
    "layers by the parts of a text": """
import re
def made(words):
    return nn.Sequential(*(nn.Tanh() if each[:4] == "tanh" else nn.ReLU(inplace=each[-1:] == "!") for each in words))
made(["relu!", "relu", "tanh"])(w * 1).sum().backward()
made(re.split("[-,]", "relu!-tanh,relu"))(w * 1).sum().backward()
for name, bang in re.findall("([a-z]+)(!?)", "relu-relu!"):
    (nn.Tanh() if name == "tanh" else nn.ReLU(inplace=bang == "!"))(w * 2).sum().backward()
made(re.split("[-,]", "tanh-relu!"))(w).sum().backward() #!
""",
    "things that are made once, by their classes": """
class Cut:
    pass
class Kept:
    pass
class Container:
    def __init__(self):
        self.made = {}
        self.how = {nn.Linear: lambda c: nn.Linear(3, 3), Cut: lambda c: c.get(nn.Linear)(x).tanh().detach(),
                    Kept: lambda c: c.get(nn.Linear)(x).tanh()}
    def get(self, key):
        if key not in self.made:
            self.made[key] = self.how[key](self)
        return self.made[key]
container = Container()
for _ in range(3):
    (container.get(nn.Linear)(x) * container.get(Cut)).sum().backward()
by_kind = {nn.Linear: w.exp().sum(), nn.Conv1d: w.sin().sum(), nn.Conv2d: w.cos().sum()}
for kind in (nn.Linear, nn.Conv2d):
    by_kind[kind].backward()
by_kind[nn.Conv1d].backward()
for _ in range(3):
    (container.get(nn.Linear)(x) * container.get(Kept)).sum().backward() #!
""",
    "what is kept by a function of torch": """
kept = {}
for make in (torch.exp, torch.tanh, F.gelu):
    if make not in kept:
        kept[make] = make(w).sum()
    kept[make].backward()
loss = w.exp().sum()
if torch.float == torch.float32 and x.dtype == torch.float:
    loss.backward()
for make in (torch.exp, torch.sin):
    if make in kept:
        kept[make].backward() #!
""",
    "a process changes a copy of what it is given": """
import multiprocessing
import threading
layer = nn.Linear(3, 1)
def reset(layer):
    with torch.no_grad():
        layer.weight.zero_()
scaled = layer(x).tanh() * layer.weight.exp()
process = multiprocessing.Process(target=reset, args=(layer,))
process.start()
process.join()
scaled.sum().backward()
scaled = layer(x).tanh() * layer.weight.exp()
(x * layer.weight).sum().backward()
again = layer(w).tanh()
thread = threading.Thread(target=reset, args=(layer,))
thread.start()
thread.join()
again.sum().backward() #!
""",
    "what keys are made of, and emptied in time": """
import hashlib
import json
import os
table = {name: torch.randn(3) for name in ("ab", "cd", "ef")}
makes = (lambda name: json.dumps({"n": name}), lambda name: repr((name, 3)), hash, lambda name: name.encode("utf8"),
         lambda name: os.path.join("cache", name), lambda name: frozenset((name,)))
kept = {}
for _ in range(2):
    for make in makes:
        kept.clear()
        for name in table:
            key = make(name)
            if key not in kept:
                kept[key] = (w * table[name]).exp()
            kept[key].sum().backward()
for make in makes[1:4]:
    kept.clear()
    for _ in range(2):
        for name in table:
            key = make(name)
            if key not in kept:
                kept[key] = (w * table[name]).exp()
            kept[key].sum().backward() #!
""",
    "threads record gradients, whoever starts them": """
import threading
from concurrent.futures import Future, ThreadPoolExecutor
class Inline:
    def submit(self, function, *args):
        future = Future()
        future.set_result(function(*args))
        return future
layer, kept = nn.Linear(3, 1), []
with torch.no_grad():
    future = ThreadPoolExecutor(1).submit(layer, x)
    thread = threading.Thread(target=lambda: kept.append(layer(x)))
    thread.start()
    thread.join()
    inline = Inline().submit(layer, x)
future.result().sum().backward()
kept[0].sum().backward()
inline.result().sum().backward() #!
""",
    "the least by a number, where what goes with it isn't compared": """
import heapq
held = [(-4.0, 0, (w * 1).exp()), (-10.0, 1, (w * 2).exp()), (-6.0, 2, (w * 3).exp())]
heapq.heapify(held)
for i in range(3):
    size, _, made = heapq.heappop(held)
    made.sum().backward()
    heapq.heappush(held, (size * 0.2, 3 + i, made))
held = [(-4.0, 0, (w * 1).exp()), (-10.0, 1, (w * 2).exp()), (-6.0, 2, (w * 3).exp())]
for i in range(3):
    size, _, made = heapq.heappop(held)
    made.sum().backward() #!
    heapq.heappush(held, (size * 0.7, 3 + i, made))
""",
    "what a generator gives, counted, in later iterations": """
def pairs(n):
    for _ in range(n):
        yield torch.randn(2, 3), torch.randn(2, 3)
class Pairs:
    def __iter__(self):
        yield from pairs(3)
for given in (pairs(3), Pairs()):
    for i, (a, b) in enumerate(given):
        loss = (w.sum() * a).mean()
        if i == 3:
            loss = b.mean()
        loss.backward()
for i, (a, b) in enumerate(pairs(3)):
    loss = (w.sum() * a).mean()
    if i == 2:
        loss = b.mean()
    loss.backward() #!
""",
    "what an exception of one's own brings along": """
class Stop(Exception):
    def __init__(self, value):
        super().__init__("stop")
        self.value = value
kept = w.exp().sum()
for i in range(2):
    try:
        if i == 0:
            raise Stop(w.exp().sum())
        kept.backward()
    except Stop as stop:
        stop.value.backward()
try:
    raise Stop(kept)
except (ValueError, Stop) as stop:
    stop.value.backward() #!
""",
    "weights by how many dimensions they have": """
net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3), nn.LayerNorm(3))
loss = net(x).sum()
with torch.no_grad():
    for p in net.parameters():
        if p.ndim == 3 or len(p.shape) > 2 or p.dim() == 0:
            p.mul_(2)
loss.backward()
loss = net(x).sum()
with torch.no_grad():
    for p in net.parameters():
        if len(p.shape) > 1:
            p.mul_(2)
loss.backward() #!
""",
    "sizes that are broadcast, and cut": """
kept = [w.exp().sum() for _ in range(4)]
rows = torch.zeros(4, 3) + 0.1 * torch.rand(4, 3)
for i, row in enumerate(rows[1:3]):
    kept[i].backward()
for i, row in enumerate(rows[:2] * torch.rand(3)):
    kept[2 + i].backward()
for i, row in enumerate(rows[0] + torch.zeros(1)):
    if i == 2:
        kept[0].backward() #!
""",
    "an item of what a settings file says is the same each time": """
import json
import os
import tempfile
path = os.path.join(tempfile.gettempdir(), "settings_of_a_program.json")
with open(path, "w") as file:
    json.dump({"carry": True, "deep": {"twice": False}}, file)
with open(path) as file:
    settings = json.load(file)
kept = None
for _ in range(3):
    if settings["carry"] and kept is not None:
        kept = kept.detach()
    loss = w.exp().sum() if kept is None else (w * kept).exp().sum()
    if settings["carry"]:
        kept = loss
    loss.backward()
    if settings["deep"]["twice"] and not settings["deep"]["twice"]:
        loss.backward()
""",
    "contexts that a stack of exits enters": """
from contextlib import ExitStack, contextmanager
parts = nn.ModuleDict({"a": nn.Linear(3, 3), "b": nn.Linear(3, 1)})
@contextmanager
def frozen(module):
    for p in module.parameters():
        p.requires_grad_(False)
    try:
        yield
    finally:
        for p in module.parameters():
            p.requires_grad_(True)
for names in (["a"], ["b"], ["a", "b"]):
    with ExitStack() as stack:
        for name in names:
            stack.enter_context(frozen(parts[name]))
        parts["b"](parts["a"](x)).sum().backward() #!
""",
    "records by what they are made of": """
@dataclass(order=True)
class Entry:
    rank: int
    name: str
    made: object
    last: bool = False
entries = [Entry(5, "a", w.exp(), True), Entry(3, "b", w.sin()), Entry(4, "c", w.cos())]
out = w.tanh()
for entry in sorted(entries):
    (out * entry.made).sum().backward(retain_graph=not entry.last)
entries = [Entry(3, "a", w.exp(), True), Entry(5, "b", w.sin())]
out = w.tanh()
for entry in sorted(entries):
    (out * entry.made).sum().backward(retain_graph=not entry.last) #!
""",
    "checkpoints of what needs no gradient, as by default": """
import argparse
from torch.utils.checkpoint import checkpoint
parser = argparse.ArgumentParser()
parser.add_argument("--spacing", type=int, default=1)
args = parser.parse_args([])
blocks = nn.ModuleList(nn.Linear(3, 3) for _ in range(4))
def forward(x, spacing):
    for i, block in enumerate(blocks):
        x = checkpoint(block, x, use_reentrant=True) if i % spacing == 0 else block(x)
    return x
for _ in range(3):
    forward(x, 2).sum().backward()
for _ in range(3):
    forward(x, args.spacing).sum().backward() #!
""",
    "records that hold themselves, in a row": """
@dataclass(order=True)
class Plain:
    one: object
    other: object
    made: object = None
first = Plain(1, 2)
rows = [Plain(first, 2, w.exp().sum()), Plain(first, 1, w.sin().sum())]
whole = Plain(1, 1)
whole.one = whole.other = whole
try:
    sorted([whole, whole, Plain(whole, whole)])
except RecursionError:
    pass
for row in sorted(rows):
    row.made.backward()
sorted(rows)[0].made.backward() #!
""",
    "losses parted by the number that each comes to": """
losses = [(w.exp() * scale).pow(2).sum() for scale in (0.0, 5.0, torch.rand(()))]
for loss in losses:
    if loss.item() > 1.0:
        loss.backward()
for loss in losses:
    if loss.item() <= 1.0:
        loss.backward()
for loss in losses:
    if float(loss) > 1.0:
        loss.backward() #!
""",
    "iterators that were gone through have nothing left": """
y = w.exp().sum()
y.backward()
numbers = iter([1.0, 2.0])
for _ in numbers:
    pass
for _ in numbers:
    y.backward()
scaled = map(float, [1, 2])
total = sum(scaled)
for _ in scaled:
    y.backward()
doubled = (2 * each for each in [1, 2])
kept = list(doubled)
for _ in doubled:
    y.backward()
parts = nn.Linear(3, 3).parameters()
count = len(list(parts))
for _ in parts:
    y.backward()
for _ in kept:
    y.backward() #!
""",
    "weights that were counted and then are let go again": """
net = nn.Linear(3, 1)
tuned = net.parameters()
count = sum(p.numel() for p in tuned)
net.requires_grad_(False)
for p in tuned:
    p.requires_grad_(True)
net(x).sum().backward() #!
""",
    "weights that are listed, counted and let go again": """
net = nn.Linear(3, 1)
tuned = list(net.parameters())
count = sum(p.numel() for p in tuned)
net.requires_grad_(False)
for p in tuned:
    p.requires_grad_(True)
net(x).sum().backward()
""",
    "a generator expression computes what it is asked for": """
net = nn.Linear(3, 1)
flags = (p.requires_grad for p in net.parameters())
for p in net.parameters():
    p.requires_grad_(False)
for p, flag in zip(net.parameters(), flags):
    p.requires_grad_(flag)
net(x).sum().backward() #!
""",
    "losses of a generator expression, each computed behind the step before it": """
net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
opt = torch.optim.SGD(net.parameters(), 0.1)
losses = (net(x * scale).sum() for scale in (1.0, 2.0, 3.0))
for loss in losses:
    loss.backward()
    opt.step()
losses = [net(x * scale).sum() for scale in (1.0, 2.0, 3.0)]
for loss in losses:
    loss.backward() #!
    opt.step()
""",
    "what is cycled through is computed once": """
def encoded():
    return map(lambda scale: w * scale, [1.0, 2.0])
again = map(lambda scale: (w * scale).pow(2).sum(), itertools.cycle([1.0, 2.0]))
for _ in range(5):
    next(again).backward()
once = itertools.cycle(encoded())
for _ in range(5):
    next(once).pow(2).sum().backward() #!
""",
    "dimensions that nobody knows are as many in each iteration": """
encode = None
kept = None
for row in open(__file__):
    code = encode(row) if callable(encode) else w.exp()
    if code.dim() > 1:
        kept = code * 2
    loss = code.pow(2).mean() if kept is None else code.pow(2).mean() + kept.mean()
    loss.backward()
""",
    "command lines that stand in the program": """
import argparse
def parsed(line):
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep", type=bool, default=False)
    parser.add_argument("--steps", type=int, default=9)
    parser.add_argument("--mode", choices=["once", "twice"], default="twice")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--device", default=torch.device("cpu"))
    return parser.parse_args(line)
args = parsed(["--steps", "2", "--mode=once", "-v"])
y = w.exp().sum()
for i in range(args.steps):
    y.backward(retain_graph=i == 0 and args.verbose and not args.keep)
    if args.mode == "twice":
        y.backward()
args = parsed(["--keep", "False"])
y = w.exp().sum()
y.backward(retain_graph=args.keep)
y.backward()
y.backward() #!
""",
    "options of which a function of the program makes values": """
import argparse
def flag(text):
    return text.lower() in {"1", "true", "yes"}
def parsed(line):
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep", type=flag, default=False)
    parser.add_argument("--steps", type=lambda text: 2 * int(text), default="1")
    return parser.parse_args(line)
for line in (["--keep", "Yes"], ["--steps", "1", "--keep=1"]):
    args = parsed(line)
    y = w.exp().sum()
    for _ in range(args.steps):
        y.backward(retain_graph=args.keep)
y = w.exp().sum()
y.backward(retain_graph=parsed(["--keep", "False"]).keep)
y.backward() #!
""",
    "flags that no command line gives": """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--again", action="store_true")
parser.add_argument("--once", action="store_false")
args = parser.parse_args([])
y = w.exp().sum()
y.backward()
if args.again or not args.once:
    y.backward()
given = parser.parse_args(["--again"])
if given.again and given.once:
    y.backward() #!
""",
    "a metaclass that wraps some of the names": """
class Guarded(type):
    def __new__(mcls, name, bases, namespace, **options):
        for key, value in list(namespace.items()):
            if callable(value) and key.startswith(("load_", "clip_")):
                namespace[key] = torch.no_grad()(value)
        return super().__new__(mcls, name, bases, dict(namespace))
class Base(nn.Module, metaclass=Guarded):
    pass
class Net(Base, kind=1):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.rand(3))
    def load_w(self, values):
        self.w.copy_(values)
    def clip_w(self):
        self.w.clamp_(0, 1)
    def set_w(self, values):
        self.w.copy_(values) #!
net = Net()
net.load_w(torch.ones(3))
net.clip_w()
net.w.sum().backward()
net.set_w(torch.ones(3))
""",
    "a metaclass that changes what it has made": """
class Guarded(type):
    made = []
    def __init__(cls, name, bases, namespace):
        super().__init__(name, bases, namespace)
        Guarded.made.append(cls)
        for key in namespace:
            if key.startswith("load_"):
                setattr(cls, key, torch.no_grad()(namespace[key]))
class Net(metaclass=Guarded):
    def __init__(self):
        self.w = torch.rand(3, requires_grad=True)
    def load_w(self, values):
        self.w.copy_(values)
    def set_w(self, values):
        self.w.copy_(values) #!
net = Guarded.made[0]()
net.load_w(torch.ones(3))
net.set_w(torch.ones(3))
""",
    "what derives from a class that wraps methods": """
class Base(nn.Module):
    def __init_subclass__(cls, also="", **options):
        super().__init_subclass__(**options)
        for key, value in list(vars(cls).items()):
            if key.startswith("load_"):
                setattr(cls, key, torch.no_grad()(value))
        if also in cls.__dict__:
            setattr(cls, also, torch.no_grad()(cls.__dict__[also]))
class Net(Base, also="clip_w"):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.rand(3))
    def load_w(self, values):
        self.w.copy_(values)
    def clip_w(self):
        self.w.clamp_(0, 1)
    def set_w(self, values):
        self.w.copy_(values) #!
net = Net()
net.load_w(torch.ones(3))
net.clip_w()
net.w.sum().backward()
net.set_w(torch.ones(3))
""",
    "methods that are wrapped by names that nobody knows": """
class Net:
    def __init__(self):
        self.w = torch.rand(3, requires_grad=True)
    def load_w(self, values):
        self.w.copy_(values)
    def set_w(self, values):
        self.w.copy_(values)
setattr(Net, "load" + open(__file__).read()[:0] + "_w", torch.no_grad()(Net.load_w))
Net().load_w(torch.ones(3))
for key in dir(Net):
    if key.startswith("set"):
        setattr(Net, key, torch.no_grad()(getattr(Net, key)))
Net().set_w(torch.ones(3))
""",
    "weak references to what a name holds": """
import weakref
class Keeper:
    def __init__(self, state):
        self.state = state
    def cut(self):
        self.state["h"] = self.state["h"].detach()
def listened(count):
    state = {"h": w * 1}
    held = Keeper(state)
    refs = [weakref.WeakMethod(held.cut), weakref.WeakMethod(Keeper(state).cut), weakref.ref(held)]
    for _ in range(count):
        state["h"] = (state["h"] * w).exp()
        state["h"].sum().backward()
        for ref in refs[:2]:
            method = ref()
            if method is not None:
                method()
    assert refs[1]() is None and refs[2]() is held
listened(3)
""",
    "weak references to what only a temporary held": """
import weakref
class Keeper:
    def __init__(self, state):
        self.state = state
    def cut(self):
        self.state["h"] = self.state["h"].detach()
def listened(count):
    state = {"h": w * 1}
    ref = weakref.WeakMethod(Keeper(state).cut)
    for _ in range(count):
        state["h"] = (state["h"] * w).exp()
        state["h"].sum().backward() #!
        method = ref()
        if method is not None:
            method()
listened(3)
""",
    "weak values that the last iteration's name holds": """
import weakref
class Memo:
    def __init__(self):
        self.live = weakref.WeakValueDictionary()
    def code(self, key="all"):
        found = self.live.get(key)
        if found is None:
            found = w.exp()
            self.live[key] = found
        return found
def trained(memo, drops):
    for _ in range(3):
        code = memo.code()
        loss = code.sum()
        loss.backward() #!
        if drops:
            del code, loss
trained(Memo(), True)
for _ in range(3):
    Memo().code().sum().backward()
live = weakref.WeakValueDictionary()
kept = live["a"] = w.exp()
live["b"] = w.exp()
assert "a" in live and "b" not in live and len(live) == 1
for each in live.values():
    each.sum().backward(retain_graph=True)
trained(Memo(), False)
""",
    "a set of weak references": """
import weakref
class Keeper:
    def __init__(self, state):
        self.state = state
    def cut(self):
        self.state["h"] = self.state["h"].detach()
def listened(keepers, state):
    refs = weakref.WeakSet()
    for each in keepers:
        refs.add(each)
    for _ in range(3):
        state["h"] = (state["h"] * w).exp()
        state["h"].sum().backward()
        for each in refs:
            each.cut()
state = {"h": w * 1}
listened([Keeper(state)], state)
def alone(state):
    refs = weakref.WeakSet()
    refs.add(Keeper(state))
    for _ in range(3):
        state["h"] = (state["h"] * w).exp()
        state["h"].sum().backward() #!
        for each in refs:
            each.cut()
alone({"h": w * 1})
""",
    "a class that says itself what is in it": """
class Even:
    def __contains__(self, number):
        return number % 2 == 0
y = w.exp().sum()
y.backward(retain_graph=4 in Even() and 3 not in Even())
if 3 in Even():
    y.backward()
y.backward()
if 2 in Even():
    y.backward() #!
""",
    "parts of texts by patterns": r"""
import re
row, key = re.compile(r"(\w+)\s*x\s*(\d+)"), re.compile(r"keep=(?P<keep>\w+)")
plan = "train x 1 valid x 2"
y = w.exp().sum()
for name, times in row.findall(plan):
    if name == "valid" and int(times) == 1:
        y.backward()
told = key.match("keep=yes")
y.backward(retain_graph=told.group("keep") == "yes")
y.backward(retain_graph=told[1] == told.groups()[0] == "yes")
counts = [int(each.group(2)) for each in row.finditer(plan)]
y.backward(retain_graph=counts == [1, 2] and re.sub("a", "b", "aa") == "bb")
y.backward()
for name, times in row.findall(plan):
    if name == "valid" and int(times) == 2:
        y.backward() #!
""",
    "gradients are off for who takes items from where they are switched off": """
def stream(count):
    with torch.no_grad():
        for _ in range(count):
            yield torch.rand(3, 3)
def numbered(items):
    for number, item in enumerate(items):
        yield {"number": number, "item": item}
with torch.no_grad():
    outer = [each for each in stream(2)]
for each in outer:
    (w * each).sum().backward()
for each in numbered(stream(2)):
    loss = (w * each["item"]).sum()
    loss.backward() #!
""",
    "gradients are off behind the first item that was asked for": """
def stream(count):
    for _ in range(count):
        with torch.no_grad():
            item = w * 2
        yield item
def held(count):
    with torch.no_grad():
        for _ in range(count):
            yield w * 2
one = stream(2)
(next(one) * w).sum().backward()
(next(one) * w).sum().backward()
two = held(2)
loss = (next(two) * w).sum()
loss.backward() #!
""",
    "rows of a batch beside a stream that has no end": """
def rows(model, data):
    while True:
        made = model(data)
        for part in made.split(2):
            yield part
def train(model, data):
    other, stream = nn.Linear(3, 3), rows(model, data)
    for item, part in zip(torch.rand(4, 2, 3), stream):
        loss = (other(item) - part).pow(2).sum()
        loss.backward() #!
train(nn.Linear(3, 3), torch.rand(4, 3))
""",
    "a named tuple of states, cut by its own method": """
State = collections.namedtuple("State", "mean spread")
state = State(torch.zeros(3, 3), torch.ones(3, 3))
for _ in range(3):
    state = state._replace(mean=state.mean.detach(), spread=state.spread.detach())
    state = State(state.mean * w.exp(), state.spread * w.exp())
    (state.mean.sum() + state.spread.pow(2).sum()).backward()
""",
    "parameters that are detached in place stay parameters": """
net, other = nn.BatchNorm1d(3), nn.BatchNorm1d(3)
for p in net.parameters():
    p.detach_()
    p.requires_grad_()
for own, theirs in zip(net.buffers(), other.buffers()):
    own.copy_(theirs)
for own, theirs in zip(net.parameters(), other.parameters()):
    own.mul_(0.9).add_(theirs) #!
""",
    "lists that hold the same are equal": """
y = w.exp().sum()
y.backward(retain_graph=[1, 2] == [1, 2])
y.backward(retain_graph=[1, "a"] != [1, "b"])
y.backward(retain_graph=[1] == [1, 1])
y.backward() #!
""",
    "a method that is chosen by what stands on the command line": """
class Steps:
    def __init__(self, mode):
        self.step = getattr(self, "step_" + mode)
    def step_once(self, loss):
        loss.backward()
    def step_twice(self, loss):
        loss.backward()
        loss.backward() #!
Steps("once").step(w.exp().sum())
Steps("twice").step(w.exp().sum())
""",
    "iterators go on behind what was taken of them": """
def numbers(count):
    for number in range(count):
        yield number
for made in (iter([1, 2]), numbers(2), map(float, [1, 2])):
    for number in made:
        break
    y = w.exp().sum()
    for number in made:
        y.backward()
    for number in made:
        y.backward()
for made in (iter([1, 2, 3]), numbers(3), map(float, [1, 2, 3])):
    for number in made:
        break
    z = w.exp().sum()
    for number in made:
        z.backward() #!
""",
    "functions of numbers are worked out": """
import math
import numpy as np
for n in (math.ceil(9 / 4), int(np.ceil(9 / 4)), round(2.9), abs(-3), sum([1, 2]), math.isqrt(9), int(np.log2(8)), round(3.04, 1)):
    y = w.exp().sum()
    for i in range(3):
        y.backward(retain_graph=i < n - 1)
for n in (math.ceil(7 / 4), round(2.4), abs(-2), sum([1], 1), math.sqrt(4), np.maximum(1, 2), np.floor(2.9)):
    y = w.exp().sum()
    for i in range(3):
        y.backward(retain_graph=i < n - 1) #!
""",
    "what is reshaped behind a transposition is a copy": """
x = torch.rand(2, 3, 4)
for made in (lambda y: y.transpose(1, 2).reshape(2, -1), lambda y: y.permute(2, 0, 1).flatten(), lambda y: y.mT.reshape(24)):
    y = torch.sigmoid(x * w.sum())
    made(y).mul_(2)
    y.sum().backward()
y = torch.sigmoid(x * w.sum())
y.reshape(2, -1).mul_(2)
y.sum().backward() #!
""",
    "contiguous gives the tensor itself where that is contiguous": """
x = torch.rand(2, 3, 4)
for made in (lambda y: y.transpose(1, 2).contiguous(), lambda y: y[:, 1:].contiguous(), lambda y: y.mT.contiguous()):
    y = torch.sigmoid(x * w.sum())
    made(y).mul_(2)
    y.sum().backward()
y = torch.sigmoid(x * w.sum())
y.view(2, -1).contiguous().mul_(2)
y.sum().backward() #!
z = torch.sigmoid(x[:1, :1] * w.sum())
z.transpose(1, 2).contiguous().mul_(2)
z.sum().backward() #!
""",
    "loops over what has no end are run up to where they count themselves": """
from itertools import count, cycle
def counted():
    for i in count():
        if i >= 20:
            return
        yield i
def paired():
    for i, x in enumerate(cycle([1, 2])):
        if i >= 20:
            return
        yield i
for kept in (20, 12):
    n, y = 0, w.exp().sum()
    for i in counted():
        n += 1
        y.backward(retain_graph=n < kept) #!
for kept in (20, 12):
    n, y = 0, w.exp().sum()
    for i in paired():
        n += 1
        y.backward(retain_graph=n < kept) #!
for kept in (20, 12):
    n, y = 0, w.exp().sum()
    for i, x in enumerate(cycle([1, 2])):
        n += 1
        y.backward(retain_graph=n < kept) #!
        if i == 19:
            break
made = cycle(map(lambda i: (w * i).exp().sum(), [1, 2, 3, 4, 5, 6, 7]))
for i in count():
    if i == 9:
        break
    next(made).backward() #!
""",
    "what remembers results is told to forget through a method": """
import functools
def memo(made):
    store = {}
    @functools.wraps(made)
    def wrapper(*args):
        if args not in store:
            store[args] = made(*args)
        return store[args]
    wrapper.forget = store.clear
    return wrapper
class Model:
    @memo
    def encode(self, key):
        return w.exp().sum()
model = Model()
for _ in range(3):
    model.encode(1).backward()
    model.encode.forget()
for _ in range(3):
    model.encode(2).backward() #!
""",
    "the stacked weights of frozen models are frozen": """
from torch.func import functional_call, stack_module_state, vmap
models = [nn.Linear(2, 1) for _ in range(3)]
def one(params, buffers, x):
    return functional_call(models[0], (params, buffers), (x,))
def total():
    return vmap(one, in_dims=(0, 0, None))(*stack_module_state(models), torch.ones(4, 2)).sum()
total().backward()
for model in models:
    model.requires_grad_(False)
total().backward() #!
""",
    "an index of bits and a mask are no integers": """
basis = torch.arange(4)
bit = (basis >> 1) & 1
for key in (basis[bit == 0], bit == 0, ~(bit == 0), (bit == 0) | (bit == 1), basis ^ 1):
    x = torch.zeros(4)
    y = x[key] * w.sum()
    x[key] = 1.0
    y.sum().backward()
x = torch.zeros(4)
y = x[1] * w.sum()
x[1] = 1.0
y.sum().backward() #!
""",
    "a filter has nothing left when it was gone through": """
chosen = tuple(filter(lambda n: n > 1, [1, 2, 3]))
print(list(chosen))
y = w.exp().sum()
for n in chosen:
    y.backward() #!
chosen = filter(lambda n: n > 1, [1, 2, 3])
print(list(chosen))
y = w.exp().sum()
for n in chosen:
    y.backward()
y.backward()
""",
    "a dict of parameters is filled later": """
held = nn.ParameterDict()
for name in ("a", "b"):
    held[name] = torch.ones(2)
held.update({"c": torch.ones(2)})
for name in held:
    y = held[name].exp().sum()
    y.backward()
for p in held.parameters():
    p.requires_grad_(False)
sum(p.exp().sum() for p in held.values()).backward() #!
""",
    "what remembers a method is told how many results it keeps": """
from functools import lru_cache
class Table:
    def __init__(self, most):
        self.lookup = lru_cache(maxsize=most)(self.made)
    def made(self, key):
        return w.exp().sum() * key
few = Table(1)
for key in (5, 7, 5, 7):
    few.lookup(key).backward()
more = Table(2)
for key in (5, 7, 5, 7):
    more.lookup(key).backward() #!
""",
    "a state dict handed to functional_call has no graph": """
from torch.func import functional_call
model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
x = torch.rand(4, 3)
named = {**dict(model.named_parameters()), **dict(model.named_buffers())}
functional_call(model, named, (x,)).sum().backward()
functional_call(model, model.state_dict(), (x,)).sum().backward() #!
""",
    "lists of states of several agents, over more steps than are run": """
N = 10
class Agent:
    def __init__(self):
        self.net = nn.Linear(4, 4)
    def act(self, h):
        h = torch.tanh(self.net(h))
        return h, (h * h).sum()
    def update(self, rewards, terms):
        loss = 0
        for i in reversed(range(len(rewards))):
            loss -= rewards[i] * terms[i]
        loss.backward()

agents = [Agent() for _ in range(N)]
for episode in range(1):
    terms = [[] for _ in range(N)]
    rewards = []
    h = [torch.zeros(1, 4) for _ in range(N)]
    for t in range(300):
        h, out = zip(*[agents[i].act(h[i]) for i in range(N)])
        for i in range(N):
            terms[i].append(out[i])
        rewards.append(1.0)
    for m in range(N):
        agents[m].update(rewards, terms[m])
""",
    "a counter that begins anew, or the last batch": """
net = nn.Linear(4, 1)
def train(batches, until=5):
    total, since, before = 0, 0, 0
    for at in range(len(batches)):
        total += net(batches[at]).pow(2).mean()
        since += 1
        if until <= since or at == len(batches) - 1:
            loss = total / since + 0.1 * before
            loss.backward() #!
            before, total, since = loss, 0, 0
train(torch.rand(60, 2, 4))
""",
    "the last batch, or a counter that begins anew, with what is cut off": """
net = nn.Linear(4, 1)
def train(batches, until=5):
    total, since, before = 0, 0, 0
    for at in range(len(batches)):
        total += net(batches[at]).pow(2).mean()
        since += 1
        if at == len(batches) - 1 or since >= until:
            loss = total / since + 0.1 * before
            loss.backward()
            before, total, since = loss.detach(), 0, 0
train(torch.rand(60, 2, 4))
""",
    "a counter behind the last batch's question, that isn't set back": """
net = nn.Linear(4, 1)
def train(batches, until=5):
    total, since = 0, 0
    for at in range(len(batches)):
        total += net(batches[at]).pow(2).mean()
        since += 1
        if at == len(batches) - 1 or since >= until:
            (total / since).backward() #!
            since = 0
train(torch.rand(60, 2, 4))
""",
    "what hooks have packed may be changed": """
from torch.autograd.graph import allow_mutation_on_saved_tensors, save_on_cpu, saved_tensors_hooks
layer = nn.Linear(3, 1)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
h = w * 2
with allow_mutation_on_saved_tensors():
    with torch.no_grad():
        z = w.exp()
    power = h.square().sum()
    h.mul_(0.5)
    (h.sum() + power + z.sum()).backward()
@allow_mutation_on_saved_tensors()
def inside():
    h = (w * 2).exp()
    h.mul_(2)
    h.sum().backward()
inside()
h = w * 2
with saved_tensors_hooks(lambda t: t, lambda t: t):
    power = h.square().sum()
h.mul_(0.5)
power.backward()
with save_on_cpu():
    loss = layer(x * w).sum()
loss.backward(retain_graph=True)
optimizer.step()
loss.backward()
""",
    "what was saved before the context may not": """
from torch.autograd.graph import allow_mutation_on_saved_tensors
h = w * 2
power = h.square().sum()
with allow_mutation_on_saved_tensors():
    h.mul_(0.5)
    power.backward() #!
""",
    "nor what is saved behind it": """
from torch.autograd.graph import save_on_cpu
with save_on_cpu():
    w.exp().sum().backward()
h = w * 2
power = h.square().sum()
h.mul_(0.5)
power.backward() #!
""",
    "what is packed is freed as all else": """
from torch.autograd.graph import save_on_cpu
with save_on_cpu():
    loss = w.exp().sum()
loss.backward()
loss.backward() #!
""",
    "a gain of one changes nothing": """
layer = nn.Linear(3, 2)
for gain in (nn.init.calculate_gain("sigmoid"), nn.init.calculate_gain("conv_transpose2d"), nn.init.calculate_gain("leaky_relu", 1)):
    if gain != 1:
        layer.weight.mul_(gain)
layer(x).sum().backward()
""",
    "another does": """
layer = nn.Linear(3, 2)
if 1.4 < nn.init.calculate_gain(nonlinearity="leaky_relu", param=None) < nn.init.calculate_gain("relu") < 5 / 3:
    if nn.init.calculate_gain("tanh") != nn.init.calculate_gain("selu"):
        layer.weight.mul_(nn.init.calculate_gain("tanh")) #!
""",
    "what is computed of each item of a state dict has no graph": """
from torch.func import functional_call
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.body = nn.LayerNorm(3), nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
    def forward(self, x):
        return self.body(self.norm(x))
net = Net()
def noisy(**options):
    made = {}
    for name, value in net.state_dict(**options).items():
        made[name] = value + 0.1 * torch.randn_like(value)
    return made
functional_call(net, noisy(keep_vars=True), (x,)).sum().backward()
some = {name: value * 2 for name, value in net.state_dict().items() if "body" in name}
functional_call(net, some, (x,)).sum().backward()
functional_call(net, noisy(), (x,)).sum().backward() #!
""",
    "as many batches as a dataset's own length makes": """
from torch.utils.data import DataLoader, Dataset, Subset, random_split
class Days(Dataset):
    def __init__(self, days):
        self.x = torch.randn(days, 3)
    def __len__(self):
        return len(self.x)
    def __getitem__(self, i):
        return self.x[i]
def counted(dataset, **options):
    loss, number = w.exp().sum(), 0
    for batch in DataLoader(dataset, batch_size=8, **options):
        number += 1
    if number == 3:
        loss.backward()
    loss.backward() #!
counted(Days(25))
counted(Days(23), drop_last=True)
counted(Subset(Days(48), range(16)))
for part in random_split(Days(48), [32, 16]):
    counted(part)
    counted(Subset(Days(48), list(range(28))))
counted(Subset(Days(48), range(24)))
""",
    "as many as by drop_last": """
from torch.utils.data import DataLoader, Dataset
class Days(Dataset):
    def __len__(self):
        return 25
    def __getitem__(self, i):
        return self.x[i]
days = Days()
days.x = torch.randn(25, 3)
loss, number = w.exp().sum(), 0
for batch in DataLoader(days, batch_size=8, drop_last=True):
    number += 1
if number == 3:
    loss.backward()
loss.backward() #!
""",
    "a list of rows of what a gradient moved": """
samples = [torch.randn(3) for _ in range(4)]
for _ in range(3):
    samples[0] = torch.randn(3)
    start = torch.randn(4, 3).requires_grad_(True)
    force, = torch.autograd.grad((start @ w).sum(), start, create_graph=True)
    out = start - force.exp()
    loss = torch.cdist(out, torch.stack(samples)).mean()
    loss.backward() #!
    samples = list(out)
""",
    "all rows of it are written": """
samples = [torch.randn(3) for _ in range(4)]
for _ in range(3):
    for at in range(len(samples)):
        samples[at] = samples[at].detach()
    start = torch.randn(4, 3).requires_grad_(True)
    force, = torch.autograd.grad((start @ w).sum(), start, create_graph=True)
    out = start - force.exp()
    loss = torch.cdist(out, torch.stack(samples)).mean()
    loss.backward()
    samples = list(out)
""",
    "what a stack undoes only where its block raises": """
from contextlib import ExitStack
cell, state = nn.RNNCell(3, 3), {}
def leg(xs):
    with ExitStack() as stack:
        stack.callback(state.clear)
        for each in xs:
            if not torch.isfinite(each).all():
                raise ValueError("bad sensor")
            state["h"] = cell(each, state.get("h", torch.zeros(each.shape[0], 3)))
        state["h"].square().sum().backward() #!
        stack.pop_all()
for number in range(4):
    try:
        leg(torch.rand(4, 2, 3))
    except ValueError:
        print("skipped")
""",
    "what a stack undoes at its end": """
from contextlib import ExitStack
cell, state = nn.RNNCell(3, 3), {}
def leg(xs):
    with ExitStack() as stack:
        stack.callback(state.clear)
        for each in xs:
            if not torch.isfinite(each).all():
                raise ValueError("bad sensor")
            state["h"] = cell(each, state.get("h"))
        state["h"].square().sum().backward()
for number in range(4):
    try:
        leg(torch.rand(4, 2, 3))
    except ValueError:
        print("skipped")
""",
    "a window that is reset to what it began as": """
layer = nn.Linear(3, 1)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
window, size = 0.0, 0
for i in range(6):
    if i % 3 == 0:
        window, size = 0.0, 0
    window = window + layer(x).sum()
    size += 1
    if size == 3:
        window.backward()
        optimizer.zero_grad()
window.backward() #!
""",
    "a window that is left open": """
layer = nn.Linear(3, 1)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
window, size = 0.0, 0
for i in range(5):
    if i % 3 == 0:
        window, size = 0.0, 0
    window = window + layer(x).sum()
    size += 1
    if size == 3:
        window.backward()
        optimizer.zero_grad()
window.backward()
if size == 1:
    window.backward()
""",
    "a distribution of choices has no rsample, and says so": """
from torch import distributions
def drawn(dist):
    return dist.rsample() if dist.has_rsample else dist.sample()
drawn(distributions.Normal(w, 1.0)).sum().backward()
drawn(distributions.OneHotCategorical(logits=w)).sum().backward() #!
""",
    "a draw of each element has the shape of the parameters": """
dist = torch.distributions.Normal(nn.Linear(3, 2)(x), 1.0)
chance = dist.log_prob(dist.rsample()).sum(-1)
chance.exp().mean().backward()
kept = chance.detach() if chance.dim() == 0 else chance
(kept * w[0]).sum().backward() #!
""",
    "float gives the tensor itself where there is one precision": """
net = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
out = net(x).float()
out.mul_(0.5)
out.sum().backward() #!
""",
    "float copies what another precision has computed": """
net = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
with torch.autocast("cpu", dtype=torch.bfloat16):
    out = net(x).float()
out.mul_(0.5)
out.sum().backward()
double = nn.Sequential(nn.Linear(3, 3), nn.Tanh()).double()
out = double(x.double()).float()
out.mul_(0.5)
out.sum().backward()
""",
    "autocast that is off computes in one precision": """
net = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
with torch.autocast("cpu", dtype=torch.bfloat16, enabled=False):
    out = net(x).float()
out.mul_(0.5)
out.sum().backward() #!
""",
    "a number that is read off a tensor is below a million": """
loss = (w * w).sum()
loss.backward()
if loss.item() < 1e6:
    loss = (w * w).sum()
loss.backward()
if loss / 2 > 1e7:
    loss.backward()
best, kept = float("inf"), loss
for each in range(3):
    found = (w * each).sum()
    if found.item() < best:
        best, kept = found.item(), found
    elif best == float("inf"):
        loss.backward()
if not kept.item() > 1e6:
    loss.backward() #!
""",
    "contexts by which a failure goes are asked for that": """
import contextlib
class Guard:
    def __init__(self, kind):
        self.kind = kind
    def __enter__(self):
        return self
    def __exit__(self, kind, value, trace):
        return kind is not None and issubclass(kind, self.kind)
class Quiet(contextlib.suppress):
    pass
@contextlib.contextmanager
def guard():
    try:
        yield
    except RuntimeError:
        pass
@guard()
def again(loss):
    loss.backward()
def leave(loss):
    try:
        loss.backward()
    finally:
        return None
loss = (w * w).sum()
loss.backward()
with Guard(RuntimeError):
    loss.backward()
with contextlib.ExitStack() as stack:
    stack.enter_context(contextlib.suppress(RuntimeError))
    loss.backward()
with contextlib.ExitStack() as stack:
    stack.enter_context(Guard(Exception))
    loss.backward()
with Quiet(ValueError, RuntimeError):
    loss.backward()
again(loss)
leave(loss)
with Guard(ValueError), contextlib.ExitStack() as stack:
    stack.enter_context(contextlib.suppress(KeyError))
    loss.backward() #!
""",
    "classes of exceptions that have a name of the program's": """
Recoverable = (MemoryError, RuntimeError)
Failed = RuntimeError
Other = ValueError
loss = (w * w).sum()
loss.backward()
try:
    loss.backward()
except Recoverable:
    pass
try:
    loss.backward()
except Failed:
    pass
try:
    loss.backward() #!
except Other:
    pass
""",
    "a handler that gives up at the last attempt": """
def step():
    loss = (w * w).sum()
    loss.backward()
    loss.backward() #!
for attempt in range(3):
    try:
        step()
        break
    except RuntimeError:
        if attempt == 2:
            raise
""",
    "an attempt that works before the handler gives up": """
loss = (w * w).sum()
loss.backward()
for attempt in range(3):
    try:
        loss.backward()
        break
    except RuntimeError:
        loss = (w * w).sum()
        if attempt == 2:
            raise
""",
    "what was caught is raised behind the loop": """
last = None
loss = (w * w).sum()
for attempt in range(3):
    try:
        loss.backward() #!
    except RuntimeError as error:
        last = error
if last is not None:
    raise last
""",
    "what is surely a tensor is no list": """
def first(part):
    if type(part) is not list:
        part = [part]
    torch.set_grad_enabled(False)
    kept = part[0]
    torch.set_grad_enabled(True)
    return kept * 2
torch.autograd.grad(first(w * w).sum(), [w])
""",
    "the classes of what is known are compared": """
out, loss = w * w, (w * w).sum()
loss.backward()
layer = nn.Linear(3, 3)
if type(out) in (list, tuple) or out.__class__ is dict or type(out) is not torch.Tensor or type(out) is type([]):
    loss.backward()
if type(layer.weight) is not nn.Parameter or type({}) is list or [out].__class__ is dict or type(None) is list:
    loss.backward()
if type(layer) == torch.Tensor or type(out.detach()) is tuple:
    loss.backward()
if type(collections.OrderedDict()) is not dict and type(frozenset()) is not set:
    loss.backward() #!
""",
    "what numpy gives is no tensor": """
out, loss = w * w, (w * w).sum()
loss.backward()
if type(out.detach().numpy()) is not torch.Tensor and type(out.tolist()) is not torch.Tensor:
    loss.backward() #!
""",
    "a copy of a namespace says what it says": """
import copy, types
def train(options):
    loss = (w * w).sum()
    loss.backward(retain_graph=options.keep)
    loss.backward()
train(copy.deepcopy(types.SimpleNamespace(keep=True)))
train(copy.copy(types.SimpleNamespace(keep=True)))
(options,) = copy.deepcopy((types.SimpleNamespace(keep=False),))
other = (w * w).sum()
other.backward(retain_graph=options.keep)
other.backward() #!
""",
    "columns that are cut off are copied to lie in a row": """
x = torch.rand(4, 4) + w.sum()
parts = [x.tensor_split(2, dim=1)[0], x.tensor_split([1, 3], 1)[1], x.hsplit(2)[0], torch.hsplit(x, (1, 3))[1],
         x.split_with_sizes([1, 3], 1)[1], x.reshape(2, 2, 4).dsplit(2)[1], x.unfold(0, 2, 1)]
losses = [(part.contiguous() * w.sum().tanh()).sum() for part in parts]
x[:, 2:] = 0.0
sum(losses).backward()
""",
    "columns that are cut off lie in what is changed": """
x = torch.rand(4, 4) + w.sum()
left, right = x.hsplit(2)
first, second, third = x.tensor_split([1, 2], dim=1)
loss = (right * w.sum()).sum() + (left * third).sum()
x[:, :2] = 0.0
loss.backward() #!
""",
    "so many parts fall off as are asked for": """
x = torch.rand(4, 7) + w.sum()
first, second, third = (len(part.t()) for part in x.tensor_split(3, dim=1))
top, bottom = x.vsplit([1])
back, _ = x.split([2, 5], dim=1)
loss = (w * w).sum()
loss.backward()
if (first, second, third) != (3, 2, 2) or len(top) + len(bottom) != 4 or len(x.hsplit(7)) != 7 or back.shape[1] != 2:
    loss.backward()
if len(x[:, :0].tensor_split(3, dim=1)) == 3:
    loss.backward() #!
""",
    "the first dimension of what is computed": """
K, L = torch.rand(4, 6, requires_grad=True), torch.rand(4, 6)
P = torch.rand(2, 3, 4, 4, requires_grad=True)
made = [F.normalize(K), torch.renorm(K, 2, 0, 1.0), K.nan_to_num(), torch.logcumsumexp(K, 1), K.tril(), K.cumprod(1), K.sort(1)[0],
        F.glu(K), F.pairwise_distance(K, L), F.pad(K, (1, 2)), F.pad(K, (0, 1, 2, -2)), torch.cdist(K, torch.rand(9, 6)),
        torch.linalg.vector_norm(K, dim=1), F.bilinear(K, L, torch.rand(3, 6, 6)), K.unfold(1, 2, 2), F.one_hot(torch.arange(4), 5) * K[:, :5],
        torch.addmm(torch.rand(7), K, torch.rand(6, 7)), torch.cat([torch.rand(0), K]), K.scatter(1, torch.zeros(4, 1, dtype=torch.long), 1.0)]
pictures = [F.interpolate(P, scale_factor=2), F.unfold(P, 2), F.pad(P, (1, 1, 1, 1), mode="reflect"), F.local_response_norm(P, 2),
            F.scaled_dot_product_attention(P, P, P)]
loss = (w * w).sum()
loss.backward()
if any(len(each) != 4 for each in made) or any(len(each) != 2 for each in pictures):
    loss.backward()
if F.glu(K).shape != (4, 3) or F.pad(K, (0, 1, 2, 0)).shape != (6, 7) or torch.linalg.vector_norm(K, dim=1, keepdim=True).shape[1] != 1:
    loss.backward()
if K.unfold(1, 4, 2).shape != (4, 2, 4) or (P[0, 0] // torch.rand(3, 1, 4)).shape[0] != 3 or torch.linalg.vector_norm(K).dim():
    loss.backward()
if len(F.pairwise_distance(K, L, keepdim=True).t()) == 1:
    loss.backward() #!
""",
    "what is repeated in each iteration is as long where it is taken once": """
out, kept = torch.rand(4, 6) * w.sum(), []
for step in range(3):
    row = out.repeat(1, 2)[:, :5] * w.sum()
    kept.append(row)
    while sum(len(each) for each in kept) > 16:
        del kept[0]
    loss = sum(each.sum() for each in kept)
    loss.backward() #!
""",
    "a queue of normalized keys is emptied by their number": """
queue = []
for step in range(3):
    key = F.normalize(torch.rand(5, 3) @ w, dim=1)
    (sum(each.sum() for each in queue) + key.pow(2).sum()).backward()
    queue.append(key)
    while sum(len(each) for each in queue) > 4:
        del queue[0]
""",
    "a queue of normalized keys holds the last ones": """
queue = []
for step in range(3):
    key = F.normalize(torch.rand(5, 3) @ w, dim=1)
    (sum(each.sum() for each in queue) + key.pow(2).sum()).backward() #!
    queue.append(key)
    while sum(len(each) for each in queue) > 16:
        del queue[0]
""",
    "each of many items is cut from its graph by a helper": """
def cut(slots, key):
    slots[key] = slots[key].detach()
def train(count):
    slots = {key: torch.zeros(3) for key in "abcdefghi"}
    for step in range(count):
        slots = {key: torch.tanh(h @ w) for key, h in slots.items()}
        torch.stack([h.sum() for h in slots.values()]).mean().backward()
        for key in "abcdefghi":
            cut(slots, key)
train(int(torch.randint(3, 5, (1,))))
""",
    "each of many tensors of a list is cut from its graph in place": """
def train(count):
    states = [torch.zeros(3) for _ in range(9)]
    for step in range(count):
        states = [torch.tanh(h @ w) for h in states]
        torch.stack([h.sum() for h in states]).mean().backward()
        for h in states:
            h.detach_()
train(int(torch.randint(3, 5, (1,))))
""",
    "all but one of many items are cut from their graphs": """
def train(count):
    states = [torch.zeros(3) for _ in range(9)]
    for step in range(count):
        states = [torch.tanh(h @ w) for h in states]
        torch.stack([h.sum() for h in states]).mean().backward() #!
        for i in range(8):
            states[i] = states[i].detach()
train(int(torch.randint(3, 5, (1,))))
""",
}
