"""The first cure of a finding is the one that a good engineer would try first, pattern by pattern, on the fixtures."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from retainlint.checking.linter import check_source
from retainlint.config import Settings
from retainlint.diagnostic import Diagnostic, Severity
from retainlint.lowering import lower
from retainlint.rules import diagnose
from retainlint.symbolic import explore
from retainlint.text.files import Disk
from retainlint.text.source import Source

RAISES = Path(__file__).resolve().parents[2] / "fixtures" / "raises"

FIRST = {
    # Carried state is detached, the list that feeds one walk is emptied, a cache is left, a total isn't walked.
    "rnn_hidden_between_batches": "`hidden = hidden.detach()` at the start of each iteration",
    "rnn_classic_hand_written": "`hidden = hidden.detach()` at the end of each call of `train`",
    "long_char_lstm_trainer": "`h = tuple(t.detach() for t in h)` at the start of each iteration",
    "rl_reinforce_log_probs_kept": "clear `policy.saved_log_probs` after backward",
    "rl_dqn_replay_keeps_q": "keep in `replay` what `q_net(state)` is made of, and make it again in each iteration",
    "init_cached_property": "make `matrix` a plain `@property`: what is cached keeps its graph",
    "cached_by_a_size_that_nobody_knows": "take `@functools.lru_cache(maxsize=None)` off `bias`: what is cached keeps its graph",
    # Another network's output is detached, whichever walk comes first.
    "gan_dcgan_loop": "use `fake.detach()` for `errD_fake`: its optimiser doesn't train what made it",
    "gan_generator_first": "use `fake.detach()` for `d_loss`: this loss doesn't train what made it",
    "gan_wgan_critic_steps": "use `fake.detach()` for the loss: this loss doesn't train what made it",
    "mutual_learning_peers_not_detached": "detach `peer.softmax(1)` where the loss compares with it: that is for the other one to train",
    "rl_ppo_advantage_outside_epochs": "use `advantage.detach()` for the loss: this loss doesn't train what made it",
    "closure_style_transfer_targets": "compute `style_targets` under `torch.no_grad()`, as this optimiser trains nothing of it",
    # Losses of one forward pass are added up.
    "seed_two_losses": "call backward once, on the sum: `(loss1 + loss2).backward()`",
    "long_multitask_trainer": 'call backward once, on the sum: `(losses["age"] + losses["gender"]).backward()`',
    "list_comprehension_shared_hidden": "add the losses up and call backward on the sum once: `sum(losses).backward()`",
    "generator_yields_slices": "add the losses up and call backward on the sum once, after the loop",
    # What stands above a loop moves into it.
    "seed_shared_product_loop": "compute `y` inside the loop",
    "closure_lbfgs_penalty_outside": "compute `penalty` inside the closure: each call has new weights and needs a new graph",
    "init_scaled_weight": "compute `self.scaled` in `forward` or a property, so that each backward finds a new graph",
    # The graph is really wanted twice.
    "jacobian_rows_by_hand": "`retain_graph=True`, since each iteration wants this graph (it costs memory)",
    "per_sample_gradients": "`retain_graph=True`, since each iteration's gradients are needed separately (it costs memory)",
    "partial_walk_then_whole": "`retain_graph=True` on line 9, since both backward passes want this graph (it costs memory)",
    "maml_inner_without_create_graph": "`create_graph=True`, if the second backward is to go through the gradient itself",
    # A walk too many.
    "seed_scalar_twice": "remove one of the two: the second only adds the same gradients again",
    "twice_loss_mean_of_scalar": "remove `loss.backward()` (line 10): the second goes through what it starts at",
    # Changes in place.
    "step_between_two_losses": "compute `loss_right` again after `optimizer.step()` on line 25",
    "inplace_relu_plus_residual": "`out = out + identity` instead of `out += identity`",
    "inplace_manual_sgd_between_walks": "call backward on `mae` before the change on line 15",
    "inplace_slice_of_activation": "change a copy: `h = h.clone()` before it",
    "inplace_detached_view_zeroed": "`snapshot = h.detach().clone()`: what is only detached is the same memory",
    "leaf_update_outside_no_grad": "do it under `with torch.no_grad():`",
    # No graph.
    "nograph_argmax_predictions": "an index has no gradient: compute the loss of the numbers that it is chosen by, as `F.cross_entropy(logits, target)` does",
    "nograph_loss_rewrapped": "`torch.stack` in place of `torch.tensor`: it keeps the graphs of what is in the list",
}

SMALL = {
    # What a function freezes by the names of weights was frozen on purpose, only too much of it.
    """
def freeze_except(model, prefix):
    for name, param in model.named_parameters():
        param.requires_grad = name.startswith(prefix)
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
freeze_except(model, "head")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.ones(2, 3)).sum().backward()
optimizer.step()
""": "don't freeze what is to be trained: `param.requires_grad` on line 5 is switched off",
    # An array goes on as one by whatever method of its own.
    """
import numpy as np
net = torch.nn.Linear(3, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
frames = net(torch.ones(2, 3)).detach().numpy()
torch.from_numpy(np.log(frames).astype(np.float32)).mean().backward()
""": "stay with torch's functions all the way: `net(torch.ones(2, 3)).detach().numpy()` on line 6 has no graph",
    # A window that is walked back through is longer than what lies between two steps.
    """
lin = torch.nn.Linear(4, 2)
opt, states = torch.optim.SGD(lin.parameters(), lr=0.1), [(None, torch.zeros(3, 2))]
for j, x in enumerate(torch.randn(12, 3, 2)):
    state = states[-1][1].detach().requires_grad_()
    new = torch.tanh(lin(torch.cat([x, state], 1)))
    states.append((state, new))
    while len(states) > 4:
        del states[0]
    if (j + 1) % 3 == 0:
        opt.zero_grad()
        new.square().mean().backward(retain_graph=True)
        for i in range(3):
            if states[-i - 2][0] is None:
                break
            states[-i - 2][1].backward(states[-i - 1][0].grad, retain_graph=i < 3)
        opt.step()
""": "keep no more in `states` than was computed since the last step, or take `opt.step()` only once all of it was walked through: it reaches back behind a step",
    # All that is kept beside what is asked for is computed each time.
    """
class Attend(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.k, self.v, self.kept_k, self.kept_v = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3), None, None
    def forward(self, x, memory):
        if self.kept_k is None:
            self.kept_k, self.kept_v = self.k(memory), self.v(memory)
        return torch.softmax(x @ self.kept_k.t(), -1) @ self.kept_v
net = Attend()
for x in torch.randn(3, 2, 3):
    net(x, torch.ones(4, 3)).square().mean().backward()
""": "compute `self.kept_k` and `self.kept_v` where they are used, each time: what is cached keeps its graph",
    # What each forward pass changes would be changed again by the one that was computed behind it.
    """
class Positive(torch.nn.Linear):
    def project(self):
        with torch.no_grad():
            self.weight.clamp_(min=0.0)
    def forward(self, x):
        self.project()
        return super().forward(x)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), Positive(4, 1))
margin = net(torch.randn(5, 3)) - net(torch.randn(5, 3))
margin.exp().mean().backward()
""": (
        "take `self.weight.clamp_(min=0.0)` (line 6) out of the forward pass, each call of which makes it, and make it once the optimiser has stepped, and before the first"
    ),
    # An attribute that another method changes in two places is saved as a copy.
    """
class Bank(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("rows", torch.ones(3, 2))
    def forward(self, x):
        scores = x @ self.rows.t()
        self.update(x.detach())
        return scores
    def update(self, x):
        self.rows[0] = 0.9 * self.rows[0] + 0.1 * x.mean(0)
        self.rows.div_(self.rows.norm(dim=1, keepdim=True))
net = torch.nn.Sequential(torch.nn.Linear(3, 2), Bank())
net(torch.randn(5, 3)).exp().mean().backward()
""": "build the graph from `self.rows.clone()`",
    # What is to be computed again is named, all of it.
    """
policy = torch.nn.Linear(3, 4)
opt = torch.optim.SGD(policy.parameters(), lr=0.1)
x, old = torch.randn(5, 3), torch.randn(5, 4)
logps = policy(x).log_softmax(-1)
gap = old - logps
kl = gap.exp() - gap - 1
for _ in range(2):
    loss = ((logps - old).exp() + 0.1 * kl).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""": "compute `logps`, `gap` and `kl` inside the loop",
    # What one object builds and another reads is made in each forward pass, where the first is at hand.
    """
class Layer(torch.nn.Module):
    def __init__(self, bias):
        super().__init__()
        self.bias, self.own = bias, torch.nn.Linear(2, 1)

    def forward(self, x):
        return self.own(x) + self.bias


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.slope = torch.nn.Parameter(torch.randn(1))
        self.first = Layer(torch.exp(self.slope))

    def forward(self, x):
        return self.first(x)


net = Net()
for x in torch.randn(2, 3, 2):
    net(x).sum().backward()
""": (
        "compute `torch.exp(self.slope)` in each forward pass, and hand it on from there, so that each backward finds a new graph"
    ),
    # Items that a network takes as its input are a memory: it isn't emptied.
    """
import random
enc, worth, memory = torch.nn.Linear(3, 2), torch.nn.Linear(2, 1), []
opt = torch.optim.SGD([*enc.parameters(), *worth.parameters()], lr=0.1)
for tick in range(4):
    raw = torch.randn(3)
    memory.append((torch.tanh(enc(raw)), float(raw[0])))
    losses = [(worth(d) - pay).square() for d, pay in random.choices(memory, k=3)]
    opt.zero_grad()
    torch.cat(losses).mean().backward()
    opt.step()
""": "`memory = [(t[0].detach(), t[1]) for t in memory]` at the start of each iteration",
    # A gradient that is only looked at needs no graph.
    """
net = torch.nn.Linear(3, 1)
loss = torch.tanh(net(torch.randn(5, 3))).square().mean()
slope = torch.autograd.grad(loss, net.weight)[0].detach()
(loss / slope.norm()).backward()
""": "`retain_graph=True` on line 5, since both backward passes want this graph (it costs memory)",
    # Nothing flows back through an index, or a comparison with one.
    """
net, book = torch.nn.Linear(4, 3), torch.randn(3, 2)
picked = net(torch.randn(5, 4)).max(-1).indices
book[picked].square().mean().backward()
""": "call backward on a loss of what the indices are chosen by",
    """
net, y = torch.nn.Linear(4, 3), torch.randint(0, 3, (5,))
logits = net(torch.randn(5, 4))
(logits.argmax(-1) != y).float().mean().backward()
""": "an index has no gradient: compute the loss of the numbers that it is chosen by, as `F.cross_entropy(logits, target)` does",
    """
enc, book = torch.nn.Linear(4, 2), torch.nn.Embedding(3, 2).requires_grad_(False)
z = enc(torch.randn(5, 4))
nearest = torch.cdist(z, book.weight).argmin(1)
book(nearest).square().mean().backward()
""": "an index has no gradient: compute the loss of the numbers that it is chosen by, as `F.cross_entropy(logits, target)` does; a row `q` that is looked up for `z` passes the gradient on as `z + (q - z).detach()`",
    """
net, w = torch.nn.Linear(4, 12), 4
peak = net(torch.randn(5, 4)).argmax(dim=1)
row, col = torch.div(peak, w, rounding_mode="floor"), peak % w
(torch.stack([row, col], dim=1).float() - 1).square().mean().backward()
""": (
        "an index has no gradient: compute the position as the mean of all, weighted by the softmax of the numbers that it is"
        " chosen by (soft-argmax), as `(z.softmax(-1) * torch.arange(z.shape[-1])).sum(-1)`"
    ),
    # What both losses only compare with is a target, be the gradients of the first needed separately.
    """
net, x = torch.nn.Linear(3, 4), torch.randn(5, 3)
goal = net(x).softmax(1)
d = torch.randn(5, 3, requires_grad=True)
torch.nn.functional.kl_div(net(x + d).log_softmax(1), goal, reduction="batchmean").backward()
r = d.grad / d.grad.norm()
net.zero_grad()
loss = torch.nn.functional.kl_div(net(x + r).log_softmax(1), goal, reduction="batchmean")
loss.backward()
""": "use `goal.detach()` for `loss`: this loss doesn't train what made it",
    # A function that two losses share keeps its backward pass; an object that isn't seen to be made may hold the optimisers.
    """
class Agent:
    def __init__(self):
        self.act, self.cri = torch.nn.Linear(4, 2), torch.nn.Linear(4, 1)
        self.act_opt = self.cri_opt = None

    def prepare(self, make):
        self.act_opt, self.cri_opt = make(self.act), make(self.cri)

    def step(self, opt, goal):
        opt.zero_grad()
        goal.backward()
        opt.step()

    def update(self, x):
        wanted = self.act(x).exp().mean()
        self.step(self.act_opt, wanted)
        self.step(self.cri_opt, self.cri(x).square().mean() + wanted)
""": "use `wanted.detach()` for `self.step(…)`, if it needs no gradient through it",
    # A state from which each turn computes its loss is detached, be it walked through a method of its own.
    """
w, h = torch.randn(3, 3, requires_grad=True), torch.zeros(1, 3)
for _ in range(3):
    h = torch.tanh(h @ w + 1)
    h.sum().backward()
""": "`h = h.detach()` at the start of each iteration",
    """
w, state = torch.randn(3, 3, requires_grad=True), torch.zeros(1, 3)
for _ in range(3):
    state = state + torch.tanh(state @ w)
    (state - 1).pow(2).mean().backward()
""": "`state = state.detach()` at the start of each iteration",
    # A sum over the turns is walked once.
    """
w, total = torch.randn(3, 3, requires_grad=True), 0
for _ in range(3):
    total = total + torch.tanh(w).sum()
    total.backward()
""": "call backward on `total` once, after the loop",
    """
w, total = torch.randn(3, 3, requires_grad=True), torch.zeros(3)
for _ in range(3):
    total += torch.tanh(w).sum(0)
    total.mean().backward()
""": "call backward on `total.mean()` once, after the loop",
    # What is kept of the first iteration is a yardstick if it was made of data, and a cache if of weights alone.
    """
model, first = torch.nn.Linear(3, 1), None
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.randn(3, 4, 3):
    loss = model(x).pow(2).mean()
    if first is None:
        first = loss
    optimizer.zero_grad()
    (loss * (loss / first)).backward()
    optimizer.step()
""": "keep a detached `first`",
    """
w, kept = torch.randn(3, 3, requires_grad=True), None
optimizer = torch.optim.SGD([w], lr=0.1)
for x in torch.randn(3, 4, 3):
    if kept is None:
        kept = torch.exp(w)
    optimizer.zero_grad()
    (x @ w).pow(2).mean().sub(kept.sum()).backward()
    optimizer.step()
""": "compute `kept` where it is used, each time: what is cached keeps its graph",
    # What is zeroed in each iteration is no part of a sum.
    """
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(3, 5, 3):
    loss, scale = net(x).pow(2).mean(), 1.0
    for _ in range(3):
        optimizer.zero_grad()
        (scale * loss).backward()
        if net[0].weight.grad.norm() < 4:
            optimizer.step()
            break
        scale *= 0.5
""": "compute `loss` inside the loop",
    # Each iteration goes through another piece, though all are of one tensor.
    """
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(3, 6, 3):
    optimizer.zero_grad()
    for own in net(x).squeeze(1).split([2, 4]):
        own.backward(gradient=torch.ones_like(own))
    optimizer.step()
""": "add the losses up and call backward on the sum once, after the loop",
    # What is made by a call further down in the text isn't left over from an earlier one. The program has a call that makes it anew.
    """
class Trainer:
    def __init__(self):
        self.net, self.balance = torch.nn.Linear(3, 3), torch.nn.Parameter(torch.zeros(3))
        self.optimizer = torch.optim.SGD([*self.net.parameters(), self.balance], lr=0.1)
    def setup(self):
        self.weights = torch.softmax(self.balance, 0)
    def step(self, x):
        loss = (self.net(x) * self.weights).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
    def fit(self, data):
        self.setup()
        for x in data:
            self.step(x)
Trainer().fit(torch.randn(3, 4, 3))
""": "call `self.setup()` inside the loop",
    # What a network reads as a local variable is made anew by the call that has drawn it.
    """
class Noisy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.mean, self.rho, self.drawn = torch.nn.Parameter(torch.zeros(3)), torch.nn.Parameter(torch.zeros(3)), None
    def draw(self):
        self.drawn = self.mean + self.rho.exp() * torch.randn(3)
    def forward(self, x):
        weight = self.mean if self.drawn is None else self.drawn
        return (x * weight).sum()
class Trainer:
    def __init__(self):
        self.model = Noisy()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
    def loss(self, x):
        return self.model(x).square()
    def fit(self, data):
        self.model.draw()
        for x in data:
            self.optimizer.zero_grad()
            self.loss(x).backward()
            self.optimizer.step()
Trainer().fit(torch.randn(3, 3))
""": "call `self.model.draw()` inside the loop",
    # What `.grad` holds has no graph for want of one in the backward pass that left it.
    """
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
net(torch.ones(2, 3)).pow(2).mean().backward()
slopes = [p.grad for p in net.parameters()]
torch.autograd.grad(sum(g.pow(2).sum() for g in slopes), list(net.parameters()))
""": "ask for its graph: `create_graph=True`",
    # What a step has used is not to be added again.
    """
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loss = net(torch.ones(2, 3)).pow(2).mean()
loss.backward()
optimizer.step()
loss.backward()
print(net[0].weight.grad)
""": "remove `loss.backward()`: it would add the gradients of `loss.backward()` (line 6) again, and the weights have been stepped since",
    # A state that begins as a number is detached once it was returned.
    """
class Level:
    value = 0.0
    def follow(self, score):
        self.value = self.value * 0.9 + score
        return self.value

model, level = torch.nn.Linear(3, 1), Level()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.randn(3, 4, 3):
    score = torch.tanh(model(x)).mean()
    optimizer.zero_grad()
    (level.follow(score) * score).backward()
    optimizer.step()
""": "`self.value = self.value.detach()` at the end of each call of `follow`",
    # What is handed on, and all that its weights are trained by, isn't cut.
    """
critic = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
value = critic(torch.randn(3))
for state in torch.randn(3, 3):
    ahead = critic(state)
    optimizer.zero_grad()
    (1 + ahead.detach() - value).pow(2).sum().backward()
    optimizer.step()
    value = ahead
""": "compute `critic(state)` again after that step, of what it was computed of then: nothing else in `(1 + ahead.detach() - value).pow(2).sum()` trains anything",
    # A memory is written behind the backward pass that has saved it.
    """
net, bank = torch.nn.Linear(3, 4), torch.randn(5, 4)
for index, x in enumerate(torch.randn(3, 2, 3)):
    seen = net(x)
    scores = seen @ bank.t()
    with torch.no_grad():
        bank[index] = seen[0]
    loss = scores.logsumexp(1).mean()
    loss.backward()
""": "move `bank[index] = seen[0]` after `loss.backward()`",
    # A change that stands alone under `no_grad` is called by what it does.
    """
w = torch.full((3,), 0.3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for x in torch.randn(3, 3):
    optimizer.zero_grad()
    loss = (w * x).exp().sum() + w.square().sum()
    with torch.no_grad():
        w.clamp_(min=0)
    loss.backward()
    optimizer.step()
""": "move `w.clamp_(min=0)` after `optimizer.step()`",
    # Nobody calls backward ahead of what clears its gradients.
    """
net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
@torch.no_grad()
def bound():
    for p in net.parameters():
        p.clamp_(-1, 1)
def train(loss):
    bound()
    optimizer.zero_grad()
    loss.backward()
for x in torch.randn(3, 2, 3):
    train(net(x).square().mean())
    optimizer.step()
""": "make that change after `loss.backward()`, once the optimiser has stepped",
    # What a detach leaves as it is hasn't lost its graph there.
    """
rough = torch.nn.Parameter(torch.zeros(3))
optimizer = torch.optim.SGD([rough], lr=0.1)
for x in torch.randn(2, 3):
    flow = torch.tensor([each.exp().item() for each in rough])
    depth = (2 * flow).detach()
    optimizer.zero_grad()
    (depth * flow - x).square().sum().backward()
    optimizer.step()
""": "keep tensors all the way: `each.exp().item()` on line 6 gives numbers, which have no graph",
    # Frozen attention makes nothing that has a graph, and a comparison of data has lost none.
    """
attend, head = torch.nn.MultiheadAttention(4, 2, batch_first=True), torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
for net in (attend, head):
    for weight in net.parameters():
        weight.requires_grad_(False)
x = torch.where(torch.rand(2, 3, 4) < 0.5, torch.zeros(()), torch.ones(()))
h, _ = attend(x, x, x)
head(h).mean().backward()
optimizer.step()
""": "unfreeze what is to be trained; if only no graph was wanted, `torch.no_grad()` in place of `weight.requires_grad_(False)`",
    # What is let go again later was not frozen to have no graph.
    """
def set_trainable(module, flag):
    for p in module.parameters():
        p.requires_grad_(flag)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
set_trainable(net, False)
for epoch in range(4):
    if epoch == 2:
        set_trainable(net, True)
    loss = net(torch.ones(2, 3)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""": "freeze only what isn't to be trained yet, or unfreeze the rest behind `set_trainable(net, False)` on line 8, which freezes all of it",
    # Of two backward passes over one loss the one in a closure that is called once is one too many.
    """
net, x = torch.nn.Linear(3, 1), torch.randn(4, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    loss = net(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()

    def closure():
        loss.backward()
        return loss

    optimizer.step(closure)
""": "remove one of the two: the second only adds the same gradients again",
    # The numbers of what the optimiser holds are what lost the graph, not a block that is meant to record none.
    """
net, x = torch.nn.Linear(3, 3), torch.randn(4, 3)
with torch.no_grad():
    logits = net(x)
temperature = torch.nn.Parameter(torch.tensor(1.5))
optimizer = torch.optim.SGD([temperature], lr=0.1)
loss = (logits / max(temperature.item(), 0.05)).pow(2).mean()
optimizer.zero_grad()
loss.backward()
optimizer.step()
""": "keep tensors all the way: `temperature.item()` on line 8 gives numbers, which have no graph",
    # What a weight that is rescaled behind its use has made is of its old numbers, and so would a copy be.
    """
weight = torch.nn.Parameter(torch.randn(3, 3))
optimizer = torch.optim.SGD([weight], lr=0.1)

def layer(x):
    out = torch.nn.functional.linear(x, weight)
    with torch.no_grad():
        weight.div_(out.std())
    return out

x = torch.randn(4, 3, requires_grad=True)
layer(x).pow(2).mean().backward()
optimizer.step()
""": "compute `out` again after the change of `weight`: what was made before is of its old numbers",
    # A function that returns what it was given computes with it, whoever trains that.
    """
def standardised(x):
    x -= 0.5
    return x

x = torch.randn(3, requires_grad=True)
optimizer = torch.optim.SGD([x], lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    standardised(x).pow(2).sum().backward()
    optimizer.step()
""": "`x = x - 0.5`: it is computed with, and its caller's own tensor stays the leaf",
    # A default argument is made once, for all calls.
    """
def gathered(net, batch, losses=[]):
    losses.append(net(batch).pow(2).mean())
    return losses

net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for batch in torch.randn(3, 4, 3):
    loss = torch.stack(gathered(net, batch)).logsumexp(0)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""": "make `losses` anew in each call: the default of an argument is made once, and outlives the call",
    # An average that is itself a term of the loss trains what goes into it.
    """
net, usage = torch.nn.Linear(3, 4), torch.full((4,), 0.25)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for batch in torch.randn(3, 5, 3):
    share = net(batch).softmax(1)
    usage = 0.9 * usage + 0.1 * share.mean(0)
    loss = share.pow(2).mean() + (usage * usage.log()).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""": "`usage = usage.detach()` at the start of each iteration",
    # A comprehension walks each loss of a list.
    """
net, x = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh()), torch.randn(4, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
out = net(x)
losses = [out[:, column].pow(2).mean() for column in range(3)]
[loss.backward() for loss in losses]
optimizer.step()
""": "add the losses up and call backward on the sum once: `sum(losses).backward()`",
    # A reference is what the loop makes again, and compares with.
    """
made, code = torch.nn.Linear(2, 3), torch.ones(2, requires_grad=True)
optimizer = torch.optim.SGD([code, *made.parameters()], lr=0.1)
def weights():
    return torch.tanh(made(code))
old = weights()
for x in torch.randn(3, 4, 3):
    new = weights()
    optimizer.zero_grad()
    ((x @ new).pow(2).mean() + (new - old).pow(2).sum()).backward()
    optimizer.step()
""": "use `old.detach()` for the loss: this loss doesn't train what made it",
    # Gradients that are read and zeroed between two losses are wanted apart: their sum would leave none of either.
    """
net, head = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh()), torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
def slope(loss):
    optimizer.zero_grad()
    loss.backward()
    return net[0].weight.grad.clone()
out = head(net(torch.randn(5, 3)))
both = torch.stack([slope(out[:, 0].mean()), slope(out[:, 1].mean())])
""": "`retain_graph=True`, since the gradients of each are needed separately (it costs memory)",
    # A loop of losses, each for an optimiser of its own: none is summed with what trains another.
    """
actor, critic = torch.nn.Linear(3, 2), torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.Linear(4, 1))
optimizers = {"critic": torch.optim.SGD(critic.parameters(), lr=0.1), "actor": torch.optim.SGD(actor.parameters(), lr=0.1)}
seen, done = torch.randn(6, 3), torch.randn(6, 2)
losses = {
    "critic": critic(torch.cat([seen, done], 1)).pow(2).mean(),
    "actor": -critic(torch.cat([seen, actor(seen)], 1)).mean(),
}
for name, loss in losses.items():
    optimizers[name].zero_grad()
    loss.backward()
    optimizers[name].step()
""": "compute `loss` again in each iteration, after the step of the one before",
    # What an optimiser trains requires gradients: it is the loss that is made of numbers.
    """
def train(net, optimizer, x):
    loss = chosen(net(x).pow(2).squeeze(1)).mean()
    loss.backward()
    optimizer.step()
def chosen(losses):
    ranked = sorted(losses.tolist())
    return torch.tensor(ranked[: max(1, round(0.5 * len(ranked)))])
net = torch.nn.Linear(3, 1)
train(net, torch.optim.SGD(net.parameters(), lr=0.1), torch.randn(5, 3))
""": "keep tensors all the way: `losses.tolist()` on line 8 gives numbers, which have no graph",
    """
net = torch.nn.Linear(4, 3)
guess = net(torch.rand(2, 4)).argmax(dim=-1)
errors = [float(g != t) for g, t in zip(guess, [0, 2])]
torch.tensor(errors).mean().backward()
""": "an index has no gradient: compute the loss of the numbers that it is chosen by, as `F.cross_entropy(logits, target)` does",
    """
net = torch.nn.Linear(4, 3)
right = (net(torch.rand(2, 4)).argmax(dim=-1).numpy() == 1).mean()
torch.tensor(right).backward()
""": "an index has no gradient: compute the loss of the numbers that it is chosen by, as `F.cross_entropy(logits, target)` does",
    # A buffer that the call which makes the loss writes into can't be written behind the backward pass.
    """
class Keys(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(3, 4)
        self.register_buffer("kept", torch.randn(4, 5))
    def forward(self, x):
        seen = self.net(x)
        scores = seen @ self.kept
        with torch.no_grad():
            self.kept[:, :2] = seen.T
        return scores
keys = Keys()
for x in torch.randn(3, 2, 3):
    keys(x).logsumexp(1).mean().backward()
""": "build the graph from `self.kept.clone()`",
    # A term that is computed now and then is trained then, or always: who wrote it knows.
    """
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step, x in enumerate(torch.randn(6, 5, 3)):
    if step % 3 == 0:
        penalty = net(x).pow(2).mean()
    loss = net(x).mean() + penalty
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""": "compute `penalty` again in each iteration, or detach `penalty` after the backward of the one that computes it, if it is to be"
    " trained there alone",
    """
meta = [torch.randn(2, 3, requires_grad=True), torch.zeros(3, requires_grad=True)]
rate = torch.tensor(0.1, requires_grad=True)
optimizer = torch.optim.SGD([*meta, rate], lr=0.05)
fast = [each.clone() for each in meta]
for x in torch.randn(3, 4, 2):
    grads = torch.autograd.grad((x @ fast[0] + fast[1]).tanh().sum(), fast, create_graph=True)
    fast = [each - rate * grad for each, grad in zip(fast, grads)]
    optimizer.zero_grad()
    (x @ fast[0] + fast[1]).pow(2).sum().backward()
    optimizer.step()
""": "begin each iteration with `fast = [each.clone() for each in meta]`",
    """
cell, first = torch.nn.GRUCell(2, 3), torch.zeros(1, 3, requires_grad=True)
optimizer = torch.optim.SGD([*cell.parameters(), first], lr=0.05)
h = first.expand(4, 3)
for x in torch.randn(3, 4, 2):
    h = cell(x, h)
    optimizer.zero_grad()
    h.pow(2).sum().backward()
    optimizer.step()
""": "`h = h.detach()` at the end of each iteration",
    # What a loop of layers calls its input is all that the network computes.
    """
class Chain(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = torch.nn.ModuleList([torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)])
    def forward(self, h):
        for part in self.parts:
            h = part(h)
        return h
def mixed(held):
    order = torch.randperm(8)
    for at in range(len(held)):
        held[at] = held[at][order]
    return iter([[each[i : i + 4] for each in held] for i in (0, 4)])
def fit(chain, held, optimizer):
    for _ in range(3):
        pieces = mixed(held)
        for inputs, wanted in pieces:
            optimizer.zero_grad()
            out = chain(inputs)
            slope = torch.autograd.grad(out.sum(), inputs, create_graph=True)[0]
            loss = slope.square().sum() + (out - wanted).square().sum()
            loss.backward()
            optimizer.step()
chain, points = Chain(), torch.rand(8, 2, requires_grad=True)
fit(chain, [points, torch.rand(8, 1)], torch.optim.SGD(chain.parameters(), lr=0.1))
""": "detach what the loss takes from `mixed(held)`: this loss doesn't train what made it",
}


def test_beside_a_cut_that_is_meant_nothing_is_computed_again() -> None:
    """The gradients that the first loss has left in the other network would be used by its step."""
    (found,) = told("gan_dcgan_loop.py", (RAISES / "gan_dcgan_loop.py").read_bytes())
    assert [each.words.partition(" ")[0] for each in found.helps] == ["use"]


def test_what_one_backward_pass_freed_may_fail_for_two_reasons() -> None:
    found = told("two.py", f"import torch\n{TWO}".encode())
    assert [(each.code, each.primary.span.row, each.fix is not None) for each in found] == [
        ("RTL104", 15, True),
        ("RTL107", 18, True),
    ]


def test_another_cause_at_the_same_place_is_told_behind_the_first() -> None:
    found = told("behind.py", f"import torch\n{BEHIND}".encode())
    assert [(each.code, each.behind) for each in found] == [("RTL103", 0), ("RTL106", 1)]
    assert found[0].fix is not None and "logp.detach()" in found[0].helps[0].words


TWO = """
cell, critic = torch.nn.GRUCell(2, 3), torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
first = torch.optim.Adam(cell.parameters())
second = torch.optim.Adam(critic.parameters())
hidden = torch.zeros(1, 3)
for _ in range(3):
    x = torch.randn(1, 2)
    hidden = cell(x, hidden)
    advantage = torch.randn(1) - critic(x)
    score = (hidden.sum() * advantage).mean()
    first.zero_grad()
    second.zero_grad()

    score.backward()
    first.step()
    error = advantage.pow(2).mean()
    error.backward()
    second.step()
"""

PRICE = """
net, audit = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1)), torch.randn(4, 3)
opt, price = torch.optim.SGD(net.parameters(), lr=0.1), torch.tensor(0.5)
for _ in range(2):
    gap = net(audit).sigmoid().mean()
    for x in torch.randn(3, 4, 3):
        loss = net(x).square().mean() + price * (gap - 0.1)
        opt.zero_grad()
        loss.backward()
        opt.step()
        price = torch.relu(price + 0.5 * (gap - 0.1))
"""

BEHIND = """
class Agent:
    def __init__(self):
        self.policy = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.alpha = self.log_alpha.exp()
        self.one = torch.optim.SGD(self.policy.parameters(), lr=0.1)
        self.two = torch.optim.SGD([self.log_alpha], lr=0.1)

    def apply(self, optimizer, loss):
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def update(self, seen):
        logp = self.policy(seen).tanh()
        self.apply(self.one, (self.alpha * logp).mean())
        self.apply(self.two, -(self.log_alpha * (logp + 1)).mean())


agent = Agent()
for seen in torch.randn(3, 5, 3):
    agent.update(seen)
"""


@pytest.mark.parametrize(
    ("call", "is_error"),
    [
        ("loss.backward(retain_graph=settings.keep)", False),
        ("loss.backward(retain_graph=not settings.once)", False),
        ("walk(loss, retain_graph=settings.keep)", False),
        ("loss.backward(retain_graph=False)", True),
        ("(loss if settings.first else other).backward()", True),  # it says nothing of keeping
    ],
)
def test_who_made_it_a_setting_whether_a_graph_is_kept_may_set_it(call: str, is_error: bool) -> None:
    text = f"""
import settings, torch
def walk(loss, **options):
    loss.backward(**options)
loss, other = (torch.ones(3, requires_grad=True).exp().sum() for _ in range(2))
{call}
loss.backward()
"""
    (found,) = told("small.py", text.encode())
    assert (found.severity is Severity.ERROR) is is_error


@pytest.mark.parametrize("text", SMALL)
def test_the_right_cure_is_chosen_by_what_a_program_shows(text: str) -> None:
    (found,) = told("small.py", f"import torch\n{text}".encode())
    assert found.helps[0].words == SMALL[text]


@pytest.mark.parametrize(
    ("behind", "words"),
    [
        ("", "begin each iteration with `loss = 0`"),
        ("print(loss.item() / 5)\n", "`loss = loss.detach()` at the end of each iteration"),
    ],
)
def test_a_sum_that_nobody_reads_behind_the_loop_begins_anew_in_each_iteration(behind: str, words: str) -> None:
    text = """import torch
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loss = 0
for x, y in torch.rand(5, 2, 4, 3):
    optimizer.zero_grad()
    loss += net(x).pow(2).mean()
    loss += net(y).pow(2).mean()
    loss.backward()
    optimizer.step()
"""
    (found,) = told("small.py", (text + behind).encode())
    assert words in found.helps[0].words


@pytest.mark.parametrize(
    ("header", "row"),
    [("loss", "step(two, late)"), ("loss, *, clip=None", "step(two, loss=late)"), ("*parts", "step(two, late)")],
)
def test_what_a_function_is_given_is_called_as_where_it_is_given(header: str, row: str) -> None:
    used = "sum(parts)" if header == "*parts" else "loss"
    text = f"""import torch
one, two = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)
first, second = (torch.optim.SGD(each.parameters(), lr=0.1) for each in (one, two))
def step(optimizer, {header}):
    optimizer.zero_grad()
    {used}.backward(retain_graph=True)
    optimizer.step()
def learn(x):
    hidden = torch.tanh(one(x))
    early, late = two(hidden).square().mean(), two(hidden + 1).sin().mean()
    step(second, early)
    {row.replace("two", "first")}
learn(torch.randn(4, 3))
"""
    found = told("small.py", text.encode())[0]
    assert found.code == "RTL110"
    words = "sum(parts)" if header == "*parts" else "late"
    assert any(each.words == f"compute `{words}` again after `step(second, early)` on line 11" for each in found.helps)


def test_of_a_dict_the_values_are_detached() -> None:
    text = """import torch
class Memory:
    def __init__(self):
        self.states = {}
    def put(self, node, value):
        self.states[node] = value
cell, memory = torch.nn.GRUCell(3, 3), Memory()
optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
for xs in torch.randn(3, 2, 1, 3):
    loss = 0
    for node, x in enumerate(xs):
        memory.put(node, cell(x, memory.states.get(node)))
        loss = loss + memory.states[node].square().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
    found = [diagnose(each) for each in explore(lower(Source("small.py", text))).incidents]
    words = "detach the values of `memory.states` at the start of each iteration"
    assert words in [help.words for each in found for help in each.helps], [h.words for f in found for h in f.helps]


LEAKY = """import torch
from torch import nn
class Leaky(nn.Module):
    def __init__(self):
        super().__init__()
        self.v = 0.
    def reset(self):
        self.v = 0.
    def forward(self, dv):
        self.v = self.v * torch.sigmoid(dv) + dv
        return self.v
net = nn.Sequential(nn.Linear(3, 4), Leaky(), nn.Linear(4, 2), Leaky())
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
"""


@pytest.mark.parametrize(
    ("rows", "offered"),
    [
        ("for x in [torch.rand(4, 3)] * 4:\n    loss = net(x).sum()\n", [1]),
        (
            "for x in torch.rand(4, 6, 3):\n    loss = 0.\n    for each in x:\n        loss = loss + net(each).sum()\n",
            [0],
        ),
        (
            "net[1].reset()\nfor x in [torch.rand(4, 3)] * 4:\n    loss = net(x).sum()\n",
            [],
        ),  # carried on, and on purpose
    ],
)
def test_all_that_carry_a_state_are_reset_by_their_own_methods(rows: str, offered: list[int]) -> None:
    walk = "    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n"
    (found,) = told("small.py", (LEAKY + rows + walk).encode())
    words = "call `net[1].reset()` and `net[3].reset()` at the start of each iteration"
    assert [at for at, each in enumerate(found.helps) if each.words == words] == offered
    assert len(found.helps) > 1 or not offered


def test_of_numbers_of_what_has_lost_its_graph_before_both_places_are_told() -> None:
    text = """import torch
net = torch.nn.Linear(4, 3)
with torch.no_grad():
    scores = net(torch.rand(2, 4))
torch.tensor([float(each.sum()) for each in scores]).mean().backward()
"""
    assert [each.helps[0].words for each in told("small.py", text.encode())] == [
        "compute `scores` outside of `with torch.no_grad()` (line 3)",
        "keep tensors all the way: `float(each.sum())` on line 5 gives numbers, which have no graph",
    ]


def test_a_term_that_a_moved_price_weighs_is_computed_in_each_iteration() -> None:
    """The price leads back to it as well; cut, it would add a constant to the loss."""
    first, behind = told("small.py", f"import torch\n{PRICE}".encode())
    assert [each.words for each in first.helps] == ["compute `gap` inside the loop"]
    assert [each.words for each in behind.helps] == ["`price = price.detach()` at the start of each iteration"]


NOISY = """
enc, dec = torch.nn.Linear(3, 2), torch.nn.Linear(2, 3)
opt = torch.optim.SGD([*enc.parameters(), *dec.parameters()], lr=0.1)
for x in torch.randn(3, 4, 3):
    opt.zero_grad()
    z = enc(x)
    out = {"recon": dec(z + torch.randn_like(z)), "code": z.square()}
    for name, weight in (("recon", 1.0), ("code", 0.1)):
        loss = weight * out[name].square().mean()
        loss.backward()
    opt.step()
"""


def test_losses_of_one_forward_pass_are_summed_or_keep_its_graph_but_do_not_draw_its_noise_again() -> None:
    (found,) = told("small.py", f"import torch\n{NOISY}".encode())
    assert [each.words for each in found.helps] == [
        "add the losses up and call backward on the sum once, after the loop",
        "`retain_graph=True`, if each loss is to call backward itself: the gradients are those of the sum (it costs memory)",
    ]


STATEFUL = """\
import torch
from torch.utils.data import DataLoader
class Reader(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.h = torch.nn.GRUCell(3, 4), self.zeros()
    def zeros(self):
        return torch.zeros(2, 4)
    def forward(self, x):
        self.h = self.cell(x, self.h)
        return self.h
def score(net, xs):
    for x in xs:
        net.h = net.zeros()
        net(x)
net, loader = Reader(), DataLoader(torch.randn(8, 3), batch_size=2{})
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in loader:
    loss = net(x).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
score(net, torch.randn(3, 2, 3))
"""


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (", shuffle=True", "`net.h = net.zeros()` at the start of each iteration, as elsewhere"),
        ("", "detach `self.h` where it is used"),
    ],
)
def test_a_state_is_carried_on_from_batch_to_batch_where_they_are_in_order(order: str, words: str) -> None:
    (found,) = told("small.py", STATEFUL.format(order).encode())
    assert found.helps[0].words.startswith(words)


def test_what_is_imported_holds_graphs_as_what_is_made_here(tmp_path: Path) -> None:
    (tmp_path / "terms.py").write_text(
        "from collections import defaultdict\nclass Terms:\n    def __init__(self):\n        self.kept = defaultdict(list)\nTERMS = Terms()\n"
    )
    (tmp_path / "handed.py").write_text("from terms import TERMS\n")
    text = """\
        import torch
        from handed import TERMS

        net = torch.nn.Linear(3, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for x in torch.randn(3, 5, 3):
            y = net(x)
            TERMS.kept["norm"].append(y.pow(2).mean())
            TERMS.kept["size"].append(y.exp().mean())
            loss = y.sum()
            for name, terms in TERMS.kept.items():
                loss = loss + torch.stack(terms).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """
    program = tmp_path / "program.py"
    program.write_text(dedent(text))
    (found,) = told(str(program), program.read_bytes())
    assert found.helps[0].words == "clear `TERMS.kept` after backward"


def told(name: str, data: bytes) -> tuple[Diagnostic, ...]:
    return check_source(name, data, Settings(), Disk()).diagnostics


@pytest.mark.parametrize("name", FIRST)
def test_the_right_cure_comes_first(name: str) -> None:
    found = told(f"{name}.py", (RAISES / f"{name}.py").read_bytes())
    assert FIRST[name] in [each.helps[0].words for each in found]


CURES_ROOM = RAISES.parent / "cures"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cold_start_index", "under `torch.no_grad()`, as it is renewed only now and then"),
        ("stacker_ppo", "under `torch.no_grad()`, as no loss is to train it"),
        ("compress_intents", "`@torch.inference_mode()`"),
        ("orthogonal_currents", "`with parametrize.cached():` within each iteration, around the forward pass alone"),
        ("pebble_bank", "store it detached: `self.memory[index] = F.normalize(entry, dim=1).detach()`"),
        ("splade_flops", "store it detached: `self.usage[side] = now.detach()`"),
        ("xray_phases", 'let `phase == "train"` be true where this is trained'),
    ],
)
def test_what_an_expert_would_say_of_a_whole_program_comes_first(name: str, words: str) -> None:
    program = CURES_ROOM / name / "program.py"
    found = told(str(program), program.read_bytes())
    assert words in found[0].helps[0].words


def test_what_a_backward_pass_comes_to_again_is_told_by_its_failure_alone() -> None:
    """Of what a hook keeps only the first items are read in each iteration; emptied, the list keeps nothing for nothing."""
    program = CURES_ROOM / "lora_hint_hooks" / "program.py"
    assert [each.code for each in told(str(program), program.read_bytes())] == ["RTL104"]


CLOSURE = """\
    import torch

    def make_{0}(net, optimizer):
        table = net(torch.eye(3)).tanh()
        def {0}(x):
            loss = (x - table).square().mean()
            {1}
        return {0}

    net = torch.nn.Linear(3, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    {0} = make_{0}(net, optimizer)
    for x in torch.randn(3, 3, 3):
        {2}
    """


@pytest.mark.parametrize(
    ("name", "inside", "around"),
    [
        ("step", "loss.backward(); optimizer.step(); optimizer.zero_grad()", "step(x)"),
        ("loss", "return loss", "loss(x).backward(); optimizer.step(); optimizer.zero_grad()"),
    ],
)
def test_what_a_closure_reads_is_computed_inside_it(name: str, inside: str, around: str) -> None:
    """And not made anew with it, whether it calls backward itself or returns a loss."""
    (found,) = told("a.py", dedent(CLOSURE.format(name, inside, around)).encode())
    assert found.helps[0].words == f"compute `table` inside `{name}`"


def test_what_a_list_of_an_object_holds_is_detached_where_it_is_put_in() -> None:
    """The list itself has no `detach()`."""
    text = """\
        from dataclasses import dataclass
        import torch

        @dataclass
        class Item:
            out: torch.Tensor

        class Buffer:
            def __init__(self):
                self.items = []
            def add(self, outs):
                for out in outs:
                    if len(self.items) < 9:
                        self.items.append(Item(out))
                    else:
                        self.items[0] = Item(out)

        class Learner:
            def __init__(self):
                self.net, self.buffer = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh()), Buffer()
                self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
            def observe(self, x):
                out = self.net(x)
                loss = out.square().mean()
                if self.buffer.items:
                    loss = loss + torch.stack([item.out for item in self.buffer.items]).mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.buffer.add(out)

        learner = Learner()
        for x in torch.randn(3, 4, 3):
            learner.observe(x)
        """
    incidents = explore(lower(Source("a.py", dedent(text)))).incidents
    words = {help.words for each in incidents for help in diagnose(each).helps}
    assert "detach what is put into `learner.buffer.items`" in words
    assert not any(each.startswith("detach `learner.buffer") for each in words)


DICTS = {
    # By its items.
    """
levels = {"a": torch.ones(())}
for x in torch.ones(4, 2, 3):
    loss = net(x).exp().mean()
    levels["a"] = torch.maximum(levels["a"], loss)
    (loss / levels["a"]).backward()
""": "detach the values of `levels` at the start of each iteration",
    # Whole.
    """
def step(x, state):
    return {"h": torch.tanh(net(x) + state["h"]), "c": torch.tanh(net(x) * state["c"])}

state = {"h": torch.zeros(3), "c": torch.zeros(3)}
for x in torch.ones(4, 2, 3):
    state = step(x, state)
    (state["h"] * state["c"]).exp().mean().backward()
""": "detach the values of `state` at the start of each iteration",
}


@pytest.mark.parametrize(("text", "words"), DICTS.items(), ids=("by its items", "whole"))
def test_a_dict_is_not_detached_itself_but_what_it_holds(text: str, words: str) -> None:
    incidents = explore(lower(Source("a.py", f"import torch\nnet = torch.nn.Linear(3, 3)\n{text}"))).incidents
    assert words in {help.words for each in incidents for help in diagnose(each).helps}


def test_what_a_change_is_made_of_is_not_computed_behind_it() -> None:
    text = """
import torch
net, protos = torch.nn.Linear(3, 4), torch.rand(2, 4)
def forward(x):
    z = net(x)
    return z, z @ protos.t()
for x in torch.rand(3, 5, 3):
    z, logits = forward(x)
    with torch.no_grad():
        protos.mul_(0.9).add_(z.mean(0), alpha=0.1)
    loss = logits.square().mean()
    loss.backward()
"""
    incidents = explore(lower(Source("a.py", text))).incidents
    words = {help.words for each in incidents for help in diagnose(each).helps}
    assert words
    assert not any(each.startswith("compute `forward(x)` after the change") for each in words)


WINDOWS = """
import torch
cell = torch.nn.Linear(2, 2)
def windows(xs, width):
    state, seen = torch.zeros(2), []
    for start in range(0, len(xs), width):
        for x in xs[start:start + width]:
            state = torch.tanh(cell(state) + x)
            seen.append(state)
        yield torch.stack(seen)
        seen.clear()
for pred in windows(torch.ones(6, 2), 2):
    pred.square().mean().backward()
"""


@pytest.mark.parametrize(
    ("text", "is_told"),
    [(WINDOWS, True), (WINDOWS.replace("seen.clear()", "state = state.detach()"), False)],
    ids=["the state", "the list beside it"],
)
def test_what_a_generator_carries_is_detached_behind_its_yield(text: str, is_told: bool) -> None:
    incidents = explore(lower(Source("a.py", text))).incidents
    words = {help.words for each in incidents for help in diagnose(each).helps}
    assert words
    assert ("detach `state` after the `yield` on line 10" in words) == is_told


COLLECTED = """
import torch
net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
buffer = {}
def collect():
    x = torch.randn(5, 3)
    buffer["x"], buffer["old"] = x, net(x).exp()
    return x.mean().item()
for _ in range(2):
    mean = collect()
    for _ in range(3):
        loss = (net(buffer["x"]).exp() / buffer["old"]).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
"""


@pytest.mark.parametrize("rest", ["", "    print(mean)\n"], ids=["that nobody reads", "that is read"])
def test_a_number_is_not_to_be_detached(rest: str) -> None:
    incidents = explore(lower(Source("a.py", COLLECTED + rest))).incidents
    words = {help.words for each in incidents for help in diagnose(each).helps}
    assert words
    assert not any("mean" in each and "detach" in each for each in words)
