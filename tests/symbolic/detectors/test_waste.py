"""Hostile little programs for the rules of waste: what is needed after all, by a way that is easy to overlook."""

from __future__ import annotations

import pytest
from fixture_marks import marks
from machine import Machine

HEAD = """import torch
from torch import nn
w = torch.rand(3, 3, requires_grad=True)
model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""

NEEDED = {
    "what goes from one list to another": """
outs, picked = [w.exp() for _ in open(__file__)], []
for i in range(len(outs)):
    picked.append(outs[i])
w.exp().sum().backward()
print(len(picked))
""",
    "a total of the items of what was computed before": """
probs, total = w.exp().softmax(0), 0
for i in range(len(open(__file__).read())):
    total = total + probs[i]
    if total > 0.5:
        break
""",
    "a mean that takes numbers, and cuts tensors": """
from somewhere import make
net = make()
class Mean:
    def __init__(self):
        self.value = 0.0
    def step(self, x):
        x = x.detach().cpu().numpy() if torch.is_tensor(x) else x
        self.value = 0.9 * self.value + 0.1 * x
mean, optimizer = Mean(), torch.optim.Adam(net.parameters())
for x in range(100):
    loss = net(x)
    loss.mean().backward()
    optimizer.step()
    mean.step(loss)
    optimizer.zero_grad()
""",
    "one of the parts is taken by a number from a table": """
from tables import make_table
table = make_table()
def chances(values):
    found = torch.zeros(9)
    for i, j in make_table():
        parts = []
        for v in range(8):
            parts.append(values[i + v, j])
            parts.append(1 - values[i + v, j])
        product = 1
        for v in range(8):
            product = product * parts[v * 2 + int(table[i][v])]
        found[i] = product
    return found
values = torch.rand(4, 4, requires_grad=True)
chances(values).sum().backward()
""",
    "retained for the next batch of features that were computed once": """
from torch.utils.data import DataLoader, TensorDataset
features = nn.Linear(3, 3)(torch.rand(9, 3)).tanh()
for batch in DataLoader(TensorDataset(features[:-1], features[1:]), batch_size=2):
    optimizer.zero_grad()
    model(batch[0]).mean().backward(retain_graph=True)
    optimizer.step()
""",
    "walked when a list is long enough": """
losses = []
for i in range(100):
    losses.append(model(torch.randn(4, 3)).mean())
    if len(losses) == 32:
        sum(losses).backward()
        losses = []
""",
    "walked when a count is reached, by a helper": """
def learn(parts):
    optimizer.zero_grad()
    torch.stack(parts).sum().backward()
    optimizer.step()
parts, count = [], 0
for i in range(100):
    parts.append(model(torch.randn(4, 3)).mean())
    count += 1
    if count == 16:
        learn(parts)
        parts, count = [], 0
""",
    "a total walked every so often": """
total, steps = 0, 0
for i in range(100):
    total = total + model(torch.randn(4, 3)).mean()
    steps += 1
    if steps >= 8:
        total.backward()
        total, steps = 0, 0
""",
    "a total handed to a function of another library": """
import trainer
total = 0
for i in range(100):
    total = total + model(torch.randn(4, 3)).mean()
trainer.minimise(total)
""",
    "retained for a closure that something unseen calls": """
import solver
loss = w.exp().sum()
loss.backward(retain_graph=True)
solver.minimise(lambda: loss.backward())
""",
    "retained, and stored in something unseen": """
import buffers
loss = w.exp().sum()
loss.backward(retain_graph=True)
buffers.pool.put(loss)
""",
    "retained in one arm, walked behind the join": """
flag = bool(torch.rand(1) > 0.5)
loss = w.exp().sum()
if flag:
    loss.backward(retain_graph=True)
else:
    loss.backward(retain_graph=True)
(loss * 2).backward()
""",
    "retained for the last turn's sake": """
h = w.exp()
for i in range(100):
    (h * i).sum().backward(retain_graph=True)
""",
    "retained, walked in the next turn only": """
previous = None
for i in range(100):
    if previous is not None:
        previous.backward()
    loss = model(torch.randn(4, 3)).mean()
    loss.backward(retain_graph=True)
    previous = loss
""",
    "a graph from the caller": """
def walk(loss):
    loss.backward(retain_graph=True)
""",
    "an attribute that others walk": """
class Learner:
    def __init__(self):
        self.net = nn.Linear(3, 1)
    def first(self, x):
        self.loss = self.net(x).mean()
        self.loss.backward(retain_graph=True)
    def second(self):
        (self.loss * 2).backward()
""",
    "the rows of a Hessian": """
(g,) = torch.autograd.grad(w.exp().sum(), w, create_graph=True)
rows = []
for each in g.flatten():
    (row,) = torch.autograd.grad(each, w, retain_graph=True)
    rows.append(row)
""",
    "items of one unseen result": """
import losses
parts = losses.compute(model, torch.randn(4, 3))
parts["a"].backward(retain_graph=True)
parts["b"].backward()
""",
    "the roots of one walk, some of them unknown": """
import env
values = []
for i in range(100):
    value = model(torch.randn(4, 3)).mean()
    values.append(value)
torch.autograd.backward(values + [env.extra()], [None] * 101)
""",
    "a dictionary of heads, summed and walked": """
heads = nn.ModuleDict({"a": nn.Linear(3, 1), "b": nn.Linear(3, 1)})
for i in range(100):
    x, total = torch.randn(4, 3), 0
    for head in heads.values():
        total = total + head(x).pow(2).mean()
    total.backward()
""",
    "gradients put back by hand": """
for i in range(100):
    model(torch.randn(4, 3)).mean().backward()
    kept = [p.grad.clone() for p in model.parameters()]
    optimizer.zero_grad(set_to_none=False)
    for p, grad in zip(model.parameters(), kept):
        p.grad.copy_(grad)
    optimizer.step()
""",
    "zeroed unless a count says otherwise": """
count = 0
for i in range(100):
    model(torch.randn(4, 3)).mean().backward()
    optimizer.step()
    count += 1
    if count == 9:
        optimizer.zero_grad()
""",
    "a pool that lets go": """
pool = []
for i in range(100):
    loss = model(torch.randn(4, 3)).mean()
    loss.backward()
    pool.append(loss)
    if len(pool) > 10:
        pool.pop(0)
""",
    "a key of each epoch, whose value is a number in the end": """
kept = {}
for epoch in range(100):
    for _ in range(5):
        kept[epoch] = model(torch.randn(4, 3)).mean()
    kept[epoch] = kept[epoch].item()
    optimizer.zero_grad()
    model(torch.randn(4, 3)).mean().backward()
    optimizer.step()
""",
    "keys that each epoch writes again": """
kept = {}
for epoch in range(100):
    for name in ("a", "b", "c"):
        for _ in range(5):
            kept[name] = model(torch.randn(4, 3)).mean()
    optimizer.zero_grad()
    model(torch.randn(4, 3)).mean().backward()
    optimizer.step()
""",
    "a total that starts anew, to which a number is added": """
for step in range(100):
    total = 0
    for _ in range(50):
        total = total + 0.1
        total = total + model(torch.randn(4, 3)).mean()
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
""",
    "a total that starts anew in each turn": """
for i in range(100):
    total = 0
    total = total + model(torch.randn(4, 3)).mean()
    total = total + w.exp().sum()
    total.backward()
""",
    "a forward pass that collects": """
class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(depth))
    def forward(self, x):
        kept = []
        for layer in self.layers:
            kept.append(layer(x))
        return torch.stack(kept)
print(Net(20)(torch.randn(4, 3)).shape)
""",
    "a list of plain numbers": """
history = []
for i in range(100):
    loss = model(torch.randn(4, 3)).mean()
    loss.backward()
    history.append(float(loss))
    history.append(loss.detach())
    history.append(loss.data)
""",
    "a generator's walk": """
def turns():
    for i in range(100):
        loss = model(torch.randn(4, 3)).mean()
        loss.backward(retain_graph=True)
        yield loss
for loss in turns():
    (loss * 2).backward()
""",
    "create_graph with the gradients cleared elsewhere": """
import cleaner
w.exp().sum().backward(create_graph=True)
cleaner.clear(model)
""",
    "a leaky state that runs through a network": """
h = torch.zeros(4, 3)
cell = nn.Linear(3, 3)
for i in range(100):
    h = 0.9 * h + 0.1 * torch.tanh(cell(h))
h.sum().backward()
""",
    "a moving average that is walked": """
average = 0
for i in range(100):
    average = 0.9 * average + 0.1 * model(torch.randn(4, 3)).mean()
average.backward()
""",
    "a moving average of what has no graph": """
average = 0
for i in range(100):
    loss = model(torch.randn(4, 3)).mean()
    loss.backward()
    average = 0.9 * average + 0.1 * loss.detach()
""",
    "outputs joined, and walked at the end": """
outputs = torch.empty(0)
for i in range(100):
    outputs = torch.cat([outputs, model(torch.randn(4, 3)).view(-1)])
outputs.pow(2).mean().backward()
""",
    "a sequence that a network makes longer": """
tokens = torch.randn(1, 3)
grow = nn.Linear(3, 3)
for i in range(100):
    tokens = torch.cat([tokens, grow(tokens)[-1:]])
tokens.sum().backward()
""",
    "the last few, cut off by a slice": """
window = []
for i in range(100):
    loss = model(torch.randn(4, 3)).mean()
    loss.backward()
    window = window[-9:] + [loss]
""",
    "the last few, the rest deleted": """
window = []
for i in range(100):
    loss = model(torch.randn(4, 3)).mean()
    loss.backward()
    window.append(loss)
    del window[:-10]
""",
    "by key, one for each name": """
latest = {}
for i in range(100):
    loss = model(torch.randn(4, 3)).mean()
    loss.backward()
    latest["loss"] = loss
""",
    "by key, taken out again": """
waiting = {}
for i in range(100):
    waiting[i] = model(torch.randn(4, 3)).mean()
    waiting.pop(i).backward()
""",
    "by key, walked at the end": """
parts = {}
for i in range(100):
    parts[i] = model(torch.randn(4, 3)).mean()
sum(parts.values()).backward()
""",
    "a list made anew each turn, walked at the end": """
losses = []
for i in range(100):
    losses = losses + [model(torch.randn(4, 3)).mean()]
torch.stack(losses).sum().backward()
""",
    "a reward that something unseen gives": """
import gym
env = gym.make("CartPole-v1")
actor = nn.Linear(4, 2)
state, rewards = torch.randn(4), 0
for i in range(100):
    action = torch.distributions.Categorical(logits=actor(state))
    state, reward, done, _ = env.step(action.sample())
    rewards += reward
    loss = reward * actor(state).logsumexp(0)
    loss.backward()
print(rewards)
""",
    "retained for an arm that no path takes": """
steps = 10
point = torch.rand(1, 3, requires_grad=True)
hidden = point.exp()
hidden.sum().backward(retain_graph=True)
if steps < 5:
    hidden.mean().backward()
""",
    "retained for one option among many": """
import options
def scale(x, o):
    if o.a: x = x * 1.1
    if o.b: x = x * 1.2
    if o.c: x = x * 1.3
    if o.d: x = x * 1.4
    if o.e: x = x * 1.5
    if o.f: x = x * 1.6
    if o.g: x = x * 1.7
    return x
o = options.read()
for i in range(100):
    loss = scale(model(torch.randn(4, 3)), o).mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    if o.g:
        (loss * 2).backward()
    optimizer.step()
""",
    "what one call only looks at, and another trains with": """
import data
w2 = torch.rand(3, 2, requires_grad=True)
def run(inputs):
    h1 = torch.einsum("abc,cd->abd", (inputs, w))
    inner, outer, record = torch.zeros(4, 3), torch.zeros(4, 3), []
    for t in range(100):
        out = torch.sigmoid(outer - 1.0)
        new_inner, new_outer = 0.9 * inner + h1[:, t], 0.9 * outer + inner
        record.append(out)
        inner, outer = new_inner, new_outer
    h2 = torch.einsum("abc,cd->abd", (torch.stack(record, dim=1), w2))
    total, totals = torch.zeros(4, 2), []
    for t in range(100):
        total = 0.9 * total + h2[:, t]
        totals.append(total)
    return torch.stack(totals, dim=1), record
def train(batches):
    optimizer = torch.optim.Adam([w, w2])
    for epoch in range(10):
        for batch in batches:
            totals, _ = run(batch.to_dense())
            optimizer.zero_grad()
            totals.mean().backward()
            optimizer.step()
train(data.load())
totals, record = run(torch.randn(4, 100, 3))
print(totals.detach(), record[0].detach())
""",
    "retained for a function that calls itself": """
def walk(tree, loss):
    if not tree.children:
        loss.backward()
        return
    walk(tree.children[0], loss)
def train(trees):
    for tree in trees:
        loss = w.exp().sum()
        loss.backward(retain_graph=True)
        walk(tree, loss)
""",
    "retained, and put into a pool by a function that calls itself": """
import buffers
def put(tree, loss):
    buffers.pool.put(loss)
    for each in tree.children:
        put(each, loss)
def train(trees):
    for tree in trees:
        loss = w.exp().sum()
        loss.backward(retain_graph=True)
        put(tree, loss)
""",
    "walked by a solver that is given a function": """
from scipy.sparse.linalg import LinearOperator, cg
class Solver:
    def twice(self, loss, v):
        first = torch.autograd.grad(loss, w, create_graph=True)[0]
        return torch.autograd.grad(first, w, v, retain_graph=True)[0]
    def penalty(self, net):
        total = 0
        for p in net.parameters():
            total += torch.sum(p * p)
        return total
    def solve(self, net, v):
        for i in range(10):
            loss = (w * w).sum()
            loss += 0.1 * self.penalty(net)
            op = LinearOperator((9, 9), matvec=lambda v: self.twice(loss, torch.from_numpy(v)).numpy())
            v = cg(op, v)[0]
        return v
""",
    "totals that a function of many paths returns": """
def residuals(net, X, n):
    marks = torch.cat((torch.ones(n), torch.ones(len(X) - n) * 2))
    inner, edge = torch.tensor(0.0), torch.tensor(0.0)
    for i in range(len(X)):
        x = X[i, :].unsqueeze(0).requires_grad_(True)
        region = int(marks[i].item())
        u = net(x)
        if region == 1:
            g = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
            inner += (g[:, 0] - u).pow(2).squeeze()
        elif region == 2:
            edge += u.pow(2).squeeze()
    inner /= n
    edge /= len(X) - n
    return 1.0 * inner + 1.0 * edge
""",
}

WASTED = {
    "what an evaluation that is called like a function collects": """
class Evaluator:
    def __init__(self, batches):
        self.batches = batches
    def __call__(self):
        scores = []
        for x in self.batches:
            scores.append(model(x))  #~ wasted RTL204 #~ wasted RTL206
        return torch.cat(scores).mean().item()
evaluator = Evaluator([torch.randn(4, 3) for _ in range(100)])
for _ in range(3):
    optimizer.zero_grad()
    model(torch.randn(4, 3)).mean().backward()
    optimizer.step()
    print(evaluator())
""",
    "a list in a dictionary": """
history = {"loss": []}
for i in range(100):
    loss = model(torch.randn(4, 3)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history["loss"].append(loss)  #~ wasted RTL204
""",
    "a total, beside a function that reads nothing of the call it was made in": """
import tools
def make():
    def double(x):
        return 2 * x
    return double
def train(xs):
    double = make()
    total = 0
    for x in xs:
        loss = (w * x).sum()
        total += loss  #~ wasted RTL203
        loss.backward()
    tools.use(double)
    print(total)
""",
    "a total to which its number is added as well": """
for step in range(10):
    total = 0.0
    for _ in range(100):
        loss = model(torch.randn(4, 3)).mean()
        total += loss.item()
        total += loss  #~ wasted RTL203
        loss.backward()
    print(total)
    optimizer.step()
    optimizer.zero_grad()
""",
    "a total from which a number is taken again": """
total = 0
for step in range(100):
    loss = model(torch.randn(4, 3)).mean()
    total = total + loss  #~ wasted RTL203
    total = total - loss.item() / 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "a key of each epoch, written again and again": """
kept, count = {}, 0
for epoch in range(100):
    for _ in range(10):
        optimizer.zero_grad()
        model(torch.randn(4, 3)).mean().backward()
        optimizer.step()
        count += 1
    for _ in range(5):
        kept[count] = model(torch.randn(4, 3)).mean()  #~ wasted RTL204
""",
    "a text of each epoch as a key": """
kept = {}
for epoch in range(100):
    optimizer.zero_grad()
    model(torch.randn(4, 3)).mean().backward()
    optimizer.step()
    for _ in range(5):
        kept[f"val_{epoch}"] = model(torch.randn(4, 3)).mean()  #~ wasted RTL204
""",
    "a total in place": """
total = torch.zeros(())
for i in range(100):
    loss = model(torch.randn(4, 3)).mean()
    loss.backward()
    total += loss  #~ wasted RTL203
""",
    "the other way round, before the walk": """
total = 0
for i in range(100):
    loss = model(torch.randn(4, 3)).mean()
    total = loss + total  #~ wasted RTL203
    loss.backward()
""",
    "a tuple in a list": """
memory = []
for i in range(100):
    out = model(torch.randn(4, 3))
    out.mean().backward()
    memory.append((i, out))  #~ wasted RTL204
""",
    "retained in a method, though nothing else walks": """
class Trainer:
    def step(self, x):
        loss = model(x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward(retain_graph=True)  #~ wasted RTL201
        optimizer.step()
        return loss.item()
trainer = Trainer()
for i in range(100):
    trainer.step(torch.randn(4, 3))
""",
    "retained under an option": """
import sys
loss = w.exp().sum()
if "--keep" in sys.argv:
    loss.backward(retain_graph=True)  #~ wasted RTL201
else:
    loss.backward()
""",
    "a total that is reset now and then": """
running = 0.0
for i in range(1000):
    loss = model(torch.randn(4, 3)).mean()
    loss.backward()
    running += loss  #~ wasted RTL203
    if i % 100 == 99:
        print(running / 100)
        running = 0.0
""",
    "grad, retained for nothing": """
loss = w.exp().sum()
(slope,) = torch.autograd.grad(loss, w, retain_graph=True)  #~ wasted RTL201
""",
    "an optimiser that is passed on": """
def finish(loss, optimizer):
    loss.backward()
    optimizer.zero_grad()  #~ misused RTL304
    optimizer.step()
for i in range(100):
    finish(model(torch.randn(4, 3)).mean(), optimizer)
""",
    "a moving average": """
average = 0
for i in range(100):
    loss = model(torch.randn(4, 3)).mean()
    loss.backward()
    average = 0.9 * average + 0.1 * loss  #~ wasted RTL203
""",
    "a mean that is updated": """
mean = 0
for i in range(100):
    loss = model(torch.randn(4, 3)).mean()
    loss.backward()
    mean = (mean * i + loss) / (i + 1)  #~ wasted RTL203
""",
    "a moving average that begins with the first loss": """
average = None
for i in range(100):
    loss = model(torch.randn(4, 3)).mean()
    loss.backward()
    average = loss if average is None else 0.9 * average + 0.1 * loss  #~ wasted RTL203
""",
    "an average interpolated": """
average = torch.zeros(())
for i in range(100):
    loss = model(torch.randn(4, 3)).mean()
    loss.backward()
    average = torch.lerp(average, loss, 0.1)  #~ wasted RTL203
""",
    "a total by its method": """
total = torch.zeros(())
for i in range(100):
    loss = model(torch.randn(4, 3)).mean()
    loss.backward()
    total.add_(loss)  #~ wasted RTL203
""",
    "totals by key": """
logs = {}
for i in range(100):
    loss = model(torch.randn(4, 3)).mean()
    loss.backward()
    for name, value in {"loss": loss, "twice": loss * 2}.items():
        logs[name] = logs.get(name, 0) + value  #~ wasted RTL203
""",
    "outputs joined": """
outputs = torch.empty(0)
for i in range(100):
    out = model(torch.randn(4, 3)).view(-1)
    out.mean().backward()
    outputs = torch.cat([outputs, out])  #~ wasted RTL203
""",
    "put in front": """
losses = []
for i in range(100):
    loss = model(torch.randn(4, 3)).mean()
    loss.backward()
    losses.insert(0, loss)  #~ wasted RTL204
""",
    "a list added to a list": """
losses = []
for i in range(100):
    loss = model(torch.randn(4, 3)).mean()
    loss.backward()
    losses += [loss]  #~ wasted RTL204
""",
    "a list made anew each turn": """
losses = []
for i in range(100):
    loss = model(torch.randn(4, 3)).mean()
    loss.backward()
    losses = losses + [loss]  #~ wasted RTL204
""",
    "a dict in a list": """
history = []
for i in range(100):
    loss = model(torch.randn(4, 3)).mean()
    loss.backward()
    history.append({"step": i, "loss": loss})  #~ wasted RTL204
""",
    "by the number of the turn": """
history = {}
for i in range(100):
    loss = model(torch.randn(4, 3)).mean()
    loss.backward()
    history[i] = loss  #~ wasted RTL204
""",
    "by a helper that training uses as well": """
class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 8), nn.Linear(8, 2)
    def choose(self, x):
        return torch.softmax(self.second(torch.relu(self.first(x))), -1)
    def learn(self, seen):
        loss = -torch.log(self.choose(seen)).mean()
        loss.backward()
policy = Policy()
for episode in range(100):
    seen = []
    for step in range(50):
        x = torch.randn(3)
        action = policy.choose(x).argmax().item()  #~ wasted RTL206
        seen.append(x)
    policy.learn(torch.stack(seen))
""",
    "retained, and shown by a writer": """
import boards
writer = boards.Writer()
for i in range(100):
    loss = model(torch.randn(4, 3)).mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=True)  #~ wasted RTL201
    optimizer.step()
    writer.add_scalar("loss", loss, i)
""",
    "never zeroed, and shown by a writer": """
import boards
writer = boards.Writer()
for i in range(100):
    loss = model(torch.randn(4, 3)).mean()
    loss.backward()
    optimizer.step()  #~ misused RTL303
    writer.add_scalar("loss", loss, i)
""",
    "retained, beside many options": """
import options
def scale(x, o):
    if o.a: x = x * 1.1
    if o.b: x = x * 1.2
    if o.c: x = x * 1.3
    if o.d: x = x * 1.4
    if o.e: x = x * 1.5
    if o.f: x = x * 1.6
    if o.g: x = x * 1.7
    return x
o = options.read()
for i in range(100):
    loss = scale(model(torch.randn(4, 3)), o).mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=True)  #~ wasted RTL201
    optimizer.step()
""",
    "added up and put into a list, of networks that aren't seen, and walked": """
import nets
class Trainer:
    def __init__(self, net):
        self.net = net
    def score(self, x):
        return torch.mean(self.net.run(x))
    def train(self, data):
        total, losses = 0, []
        for x in data:
            loss = self.score(x)
            total += loss  #~ wasted RTL203
            losses.append(loss)  #~ wasted RTL204
            loss.backward()
        print(total, losses)
""",
    "retained, beside an arm that no path takes and that says nothing of it": """
class Sampler:
    def __init__(self):
        self.net = nn.Linear(3, 1)
        self.steps = 10
    def slope(self, x):
        if self.steps < 5:
            self.steps = torch.zeros(1)
        point = torch.tensor(x, requires_grad=True)
        return torch.autograd.grad(torch.logsumexp(self.net(point), 1).sum(), [point], retain_graph=True)[0]  #~ wasted RTL201
print(Sampler().slope([[1.0, 2.0, 3.0]]))
""",
    "retained, beside a function that calls itself": """
def depth(tree):
    return 1 + max([depth(each) for each in tree.children], default=0)
def train(trees):
    for tree in trees:
        print(depth(tree))
        loss = w.exp().sum()
        loss.backward(retain_graph=True)  #~ wasted RTL201
""",
}


SILENT = {
    "a backward pass that may give no gradient stands before the step": """
def update(policy, value, states, rewards):
    policy_optimizer, value_optimizer = torch.optim.Adam(policy.parameters()), torch.optim.Adam(value.parameters())
    with torch.no_grad():
        errors = rewards - value(states)
    policy_optimizer.zero_grad()
    (policy(states) * errors).mean().backward()
    policy_optimizer.step()
    value_optimizer.zero_grad()
    errors.pow(2).mean().backward()
    value_optimizer.step()
""",
    "what a module tells its trainer": """
import pytorch_lightning as pl
class Learner(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 1)
    def training_step(self, batch, index):
        loss = self.net(batch).mean()
        for n, each in enumerate(loss.flatten()):
            self.log(f"part {n}", each)
        self.manual_backward(loss)
        return loss
""",
}


@pytest.mark.parametrize("name", NEEDED)
def test_what_is_needed_is_no_waste(machine: Machine, name: str) -> None:
    assert {code for _, code in machine(HEAD + NEEDED[name]).told} <= {"RTL206"}


@pytest.mark.parametrize("name", SILENT)
def test_what_builds_no_graph_is_no_waste(machine: Machine, name: str) -> None:
    assert machine(HEAD + SILENT[name]).told == []


@pytest.mark.parametrize("name", WASTED)
def test_waste_is_found_where_it_stands(machine: Machine, name: str) -> None:
    text = HEAD + WASTED[name]
    assert machine(text).told == [(mark.line, mark.code) for mark in marks(text)]


@pytest.mark.parametrize(
    ("train", "advice"), [("", "run the loop on line"), ("    loss.backward()\n", "compute `model(")]
)
def test_what_trains_is_not_sent_under_no_grad(machine: Machine, train: str, advice: str) -> None:
    program = (
        "for i in range(100):\n    loss = w.exp().sum()\n    shown = model(torch.randn(4, 3)).mean().item()\n" + train
    )
    found = machine(HEAD + program)
    assert [each.help.partition("torch")[0][: len(advice)] for each in found.warnings] == [advice]


def test_what_a_walk_around_the_loop_freed_is_not_told_of_each_turn(machine: Machine) -> None:
    program = """
hidden, cell = torch.zeros(1, 3), nn.Linear(3, 3)
for batch in range(90):
    words, loss = torch.zeros(1, 3), 0
    for i in range(100):
        hidden = torch.tanh(cell(hidden))
        words = torch.cat([words, hidden])
        loss = loss + hidden.sum()
    loss.backward()
"""
    found = machine(HEAD + program)
    assert [each.code for each in found.diagnostics] == ["RTL104"]
    assert "RTL203" not in [each.code for each in found.warnings]


@pytest.mark.parametrize(("operation", "saves"), [("(a + b) / 2", False), ("a + b.exp()", True)])
def test_what_saves_nothing_keeps_nothing_saved(machine: Machine, operation: str, saves: bool) -> None:
    seen = machine(f"""
    import torch

    weights = torch.nn.Parameter(torch.rand(10))
    a, b = weights.exp().min(), weights.max()
    while b - a >= 1e-3:
        a = {operation}
    print(a)
    """)
    (told,) = seen.warnings
    assert (told.code, "saved" in told.message) == ("RTL203", saves)
    assert any("which save nothing" in note for note in told.notes) is not saves


PREDICTING = """import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1))
    def forward(self, x):
        return self.net(x)
    def unrolled(self, xs):
        outputs = []
        for x in xs:
            outputs.append(self.net(x))
        return torch.stack(outputs).mean()
def predict(model, loader):
    model.eval()
    results = []
    for x in loader:
        results.append(model(x))
    return torch.cat(results)
net, batches = Net(), [torch.rand(4, 3) for _ in range(500)]
"""


@pytest.mark.parametrize(
    "rows, found",
    [
        ("predict(net, batches)\n", [(18, "RTL204"), (18, "RTL206")]),
        ("net.requires_grad_(False)\npredict(net, batches)\n", []),
        ("torch.autograd.set_grad_enabled(False)\npredict(net, batches)\n", []),
        ("predict(net, batches[:3])\n", []),
        ("predict(net, batches).sum().backward()\n", []),
        ("print(net.unrolled(batches))\n", []),
        ("", []),
    ],
)
def test_predictions_are_kept_with_their_graphs_where_nothing_is_trained(
    machine: Machine, rows: str, found: list[tuple[int, str]]
) -> None:
    assert machine(PREDICTING + rows).told == found
