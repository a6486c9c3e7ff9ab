"""Networks that nobody sees: what a step of their optimiser is taken to change, what is said of it, and what is not."""

from __future__ import annotations

import pytest
from machine import Machine

from retainlint.diagnostic import Severity

HEAD = "import torch\nfrom somewhere import make\nnet, other = make('a'), make('b')\nx = torch.randn(3, 4)\n"


def test_says_what_it_takes_for_granted(machine: Machine) -> None:
    """The optimiser was seen to own the weights: an error, which names the network."""
    (told,) = machine(
        HEAD + "opt = torch.optim.Adam(net.parameters())\nloss = net(x).mean()\n"
        "loss.backward(retain_graph=True)\nopt.step()\nloss.backward()\n"
    ).diagnostics
    assert (told.code, told.severity) == ("RTL110", Severity.ERROR)
    assert "`net` has more than one layer, and so saves its weights" in told.notes[-1]


def test_warns_where_the_optimiser_is_not_seen_either(machine: Machine) -> None:
    (told,) = machine(
        HEAD
        + "opt = make('opt')\nloss = net(x).mean()\nloss.backward(retain_graph=True)\nopt.step()\nloss.backward()\n"
    ).diagnostics
    assert (told.code, told.severity) == ("RTL110", Severity.WARNING)
    assert "`opt` moves weights that the graph of `loss` has saved" in told.notes[-1]


@pytest.mark.parametrize(
    "owned",
    [
        "net.parameters()",
        "list(net.parameters())",
        "[p for p in net.parameters() if p.requires_grad]",
        "filter(lambda p: p.requires_grad, net.parameters())",
        "list(filter(lambda p: p.requires_grad, net.parameters()))",
        "[*other.parameters(), *net.parameters()]",
        "list(other.parameters()) + list(net.parameters())",
        "__import__('itertools').chain(other.parameters(), net.parameters())",
        "[{'params': other.parameters()}, {'params': net.parameters(), 'lr': 1}]",
        "[p for _, p in net.named_parameters()]",
    ],
)
def test_owns_however_the_parameters_are_listed(machine: Machine, owned: str) -> None:
    text = (
        f"import itertools\nopt = torch.optim.Adam({owned.replace('__import__(' + repr('itertools') + ')', 'itertools')})\n"
        "out = net.to('cpu').train()(x)\na, b = out[0, 0], out[0, 1]\n"
        "a.backward(retain_graph=True)\nopt.step()\nb.backward()\n"
    )
    assert [told.severity for told in machine(HEAD + text).diagnostics] == [Severity.ERROR]


@pytest.mark.parametrize(
    "between",
    [
        "opt.zero_grad()\nopt.step()",
        "net.zero_grad()\nopt.step()",
        "reset_gradients(opt)\nopt.step()",
        "for p in net.parameters():\n    p.grad = None\nopt.step()",
        "scheduler.step()",
        "other_opt.step()",
        "opt_some.step()",
        "opt_last.step()",
        "opt_ids.step()",
    ],
)
def test_silent_where_the_step_changes_nothing_that_is_needed(machine: Machine, between: str) -> None:
    text = (
        "from somewhere import reset_gradients, scheduler\n"
        "opt, other_opt = torch.optim.Adam(net.parameters()), torch.optim.Adam(other.parameters())\n"
        "opt_some = torch.optim.Adam([p for name, p in net.named_parameters() if 'bias' in name])\n"
        "opt_last = torch.optim.Adam(list(net.parameters())[-1:])\n"
        "opt_ids = torch.optim.Adam(filter(lambda p: id(p) not in make('ids'), net.parameters()))\n"
        "loss = net(x).mean() + other(x).mean().detach()\nloss.backward(retain_graph=True)\n"
        f"{between}\nloss.backward()\n"
    )
    assert machine(HEAD + text).diagnostics == []


@pytest.mark.parametrize(
    "freezing",
    [
        "net.requires_grad_(False)",
        "for p in net.parameters():\n    p.requires_grad = False",
        "for p in net.parameters():\n    p.requires_grad_(False)",
        "for name, p in net.named_parameters():\n    if 'head' not in name:\n        p.requires_grad = False",
        "freeze(net)",
        "net.freeze()",
        "set_requires_grad([net], False)",
    ],
)
def test_silent_over_what_was_frozen(machine: Machine, freezing: str) -> None:
    text = (
        f"from somewhere import freeze, set_requires_grad\n{freezing}\n"
        "opt = torch.optim.Adam(net.parameters())\nout = net(x)\na, b = out[0, 0], out[0, 1]\n"
        "a.backward(retain_graph=True)\nopt.step()\nb.backward()\n"
    )
    assert machine(HEAD + text).diagnostics == []


@pytest.mark.parametrize("name", ["embedding", "fc", "criterion", "dropout"])
def test_silent_over_what_may_save_no_weight(machine: Machine, name: str) -> None:
    """An embedding saves none; one layer on plain data neither."""
    text = (
        f"{name} = net\nopt = torch.optim.Adam({name}.parameters())\nout = {name}(x)\na, b = out[0, 0], out[0, 1]\n"
        "a.backward(retain_graph=True)\nopt.step()\nb.backward()\n"
    ).replace("net", f"make('{name}')")
    assert machine(HEAD + text).diagnostics == []


OWN = """
class Agent:
    def learn(self, state, action):
        critic_loss = (self.critic(state, action) - 1).pow(2).mean()
        actor_loss = -self.critic(state, self.actor(state)).mean()
        critic_loss.backward()
        self.critic.optimizer.step()
        {between}
        actor_loss.backward()
        self.actor.optimizer.step()
"""


def test_warns_of_the_optimiser_that_a_network_keeps(machine: Machine) -> None:
    (told,) = machine(HEAD + OWN.format(between="pass")).diagnostics
    assert (told.code, told.severity) == ("RTL110", Severity.WARNING)
    assert "`optimizer` of `critic` owns its weights" in told.notes[-1]


@pytest.mark.parametrize(
    "between", ["actor_loss = -self.critic(state, self.actor(state)).mean()", "self.critic.scheduler.step()"]
)
def test_silent_where_it_moves_nothing_that_is_needed(machine: Machine, between: str) -> None:
    text = OWN if "scheduler" not in between else OWN.replace("self.critic.optimizer.step()", "pass")
    assert machine(HEAD + text.format(between=between)).diagnostics == []


LAYERS = """
from graphs import {first}, {second}
class Layers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = {first}(4, 8), {second}(8, 1)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))

layers = Layers()
opt = torch.optim.Adam(layers.parameters())
loss = layers(x).mean()
loss.backward(retain_graph=True)
opt.step()
loss.backward()
"""


@pytest.mark.parametrize(
    ("first", "second", "codes"), [("GraphConv", "GraphConv", ["RTL110"]), ("Padding", "Scorer", [])]
)
def test_what_is_called_like_a_layer_is_a_part_of_its_module(
    machine: Machine, first: str, second: str, codes: list[str]
) -> None:
    assert [told.code for told in machine(HEAD + LAYERS.format(first=first, second=second)).diagnostics] == codes


JUDGED = """\
import torch
from src.solver import BaseSolver
class Solver(BaseSolver):
    def set_model(self):
        self.model = torch.nn.Linear(3, 4)
        self.seq_loss = torch.nn.CrossEntropyLoss()
    def exec(self):
        for x, y in self.loader:
            self.backward(self.seq_loss(self.model(x), y))
            self.validate()
    def validate(self):
        losses = []
        for x, y in self.loader:
            with torch.{mode}():
                scores = self.model(x)
            losses.append(self.seq_loss(scores.view(-1, 4), y.reshape(-1)))
        return sum(losses)
"""


@pytest.mark.parametrize(("mode", "rows"), [("no_grad", []), ("enable_grad", [16])])
def test_a_criterion_of_what_has_no_graph_builds_none(machine: Machine, mode: str, rows: list[int]) -> None:
    assert machine(JUDGED.format(mode=mode)).wasted == rows


OF_AGENTS = """
import torch

def train(actor, critic, batch, args, k):
    optimizer = torch.optim.Adam(actor.parameters())
    actions = []
    for agent in range(args.agents):
        actions.append(batch[agent])
    critic(actions)
    {act}
    loss = critic(actions).mean()
    loss.backward(retain_graph=True)
    optimizer.step()
    loss.backward()
"""


@pytest.mark.parametrize(
    "act", ["actions[k] = actor(batch)", "actions.append(actor(batch))", "actions = [actor(batch)]"]
)
def test_a_list_of_data_stays_what_it_is_where_a_network_reads_it(machine: Machine, act: str) -> None:
    assert machine(OF_AGENTS.format(act=act)).lines == [14]


MADE = """
import torch

class Agent:
    def __init__(self, make_critic, shape):
        self.critic = make_critic(shape)
        self.optimizer = torch.optim.Adam(self.critic.parameters())
    def update(self, x, y):
        loss = (self.critic(x) - y).pow(2).mean()
        loss.backward(retain_graph=True)
        self.optimizer.step()
        loss.backward()
"""


def test_what_makes_a_network_is_none(machine: Machine) -> None:
    assert machine(MADE).lines == [12]


FIELD = HEAD + "for _ in range(3):\n    loss = (out.{0} - x).square().mean()\n    loss.backward()\n"


@pytest.mark.parametrize("field", ["F", "features", "sample", "logits"])
def test_what_is_read_of_an_output_and_not_called_is_a_part_of_it(machine: Machine, field: str) -> None:
    text = FIELD.format(field)
    assert machine(text.replace("for", "out = net(x)\nfor", 1)).lines == [8]
    assert machine(text.replace("    loss", "    out = net(x)\n    loss", 1)).lines == []


def test_the_method_of_an_output_may_build_its_own_graph(machine: Machine) -> None:
    assert machine(FIELD.format("features()").replace("for", "out = net(x)\nfor", 1)).lines == []


WRAPPED = "from peft import criterion, wrap\nnet.load_state_dict(torch.load('a'))\nlm = {}\nfor _ in range(3):\n"


@pytest.mark.parametrize(
    "made", ["wrap(net, 'config')", "net.merge()", "wrap(net).cuda()", "wrap(net).to('cpu').eval()"]
)
@pytest.mark.parametrize("loss", ["criterion(lm, x)", "other.get_loss(lm)", "other.compute_loss(batch=x, of=lm)"])
def test_what_is_made_of_a_network_alone_may_be_one(machine: Machine, made: str, loss: str) -> None:
    """No graph is built once: a loss that is given a network runs it."""
    text = HEAD + WRAPPED.format(made) + f"    loss = {loss}\n    loss.backward()\n"
    assert machine(text).lines == []


def test_class_labels_that_nobody_sees_have_no_graph(machine: Machine) -> None:
    text = (
        HEAD + "out = net(x)\nfor _ in range(3):\n    labels = make('labels')\n"
        "    loss = torch.nn.functional.cross_entropy(out.F, labels)\n    loss.backward()\n"
    )
    assert machine(text).lines == [9]


@pytest.mark.parametrize(
    "rows",
    [
        "out, state = model(x, state)",
        "out, (h, c) = model(x, (h, c))",
        "h, c = out, _ = model(x, (h, c))",
    ],
)
def test_a_state_is_handed_on_alone_or_in_a_tuple(machine: Machine, rows: str) -> None:
    text = f"""
import torch
def train(model, loader, state, h, c):
    for x, y in loader:
        {rows}
        loss = (out - y).pow(2).mean()
        loss.backward()
"""
    assert machine(text).lines == [7]


def test_the_gradients_of_an_unseen_part_are_cleared_with_the_others(machine: Machine) -> None:
    text = """
import torch
from library import Switch
model = Switch()
opt = torch.optim.Adam(model.parameters())
for _ in range(100):
    opt.zero_grad()
    loss = model(torch.randn(4, 3)).pow(2).sum(1)
    if model.gate.grad is None:
        model.gate.grad = loss.clone()
    else:
        model.gate.grad += loss.clone()
    loss.mean().backward()
    opt.step()
"""
    assert machine(text).incidents == ()


PARTS_SET_ELSEWHERE = """
import torch
from torch import nn
from tracing import convert

class Traced(nn.Module):
    def __init__(self, model):
        super().__init__()
        convert(self, model)
    def forward(self, x):
        found = None
        waiting = [self._modules[key] for key in self._modules.keys()]
        while len(waiting) > 0:
            found = waiting[0](x)
            waiting = waiting[1:]
        return found

class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi = Traced(nn.Linear(3, 2))
        self.softmax = nn.Softmax(-1)
        self.alpha = torch.tensor(0.1)
    def probs(self, x):
        p = self.pi.forward(x)
        return self.softmax(p.clip(-10, 10))
    def learn(self, x):
        p = self.probs(x)
        (self.alpha * torch.log(p) * p).sum().backward()
"""


def test_what_a_method_of_none_gives_is_no_number(machine: Machine) -> None:
    """The parts are registered where nobody sees it; without them the network would give None."""
    assert not machine(PARTS_SET_ELSEWHERE).incidents


LISTED = """
import torch
from sounds import {made}
class Own({made}):
    def forward(self, x):
        return super().forward(x).log()
part = {part}
{between}
features = part(torch.ones(2)).exp()
for _ in range(2):
    w = torch.ones(2, requires_grad=True)
    (features + w).sum().backward()
"""

PARTS = ["torch.nn.Sequential({made}())", "torch.nn.ModuleList([{made}()])[0]", "Own()"]


def told_of_listed(machine: Machine, part: str, made: str, between: str = "") -> list[int]:
    return machine(LISTED.format(made=made, part=part.format(made=made), between=between)).lines


@pytest.mark.parametrize(
    "part", [*PARTS, "torch.nn.ModuleDict({{'mel': {made}()}})['mel']", "torch.nn.Sequential(Own())"]
)
def test_what_a_module_lists_may_have_no_parameters(machine: Machine, part: str) -> None:
    """What nobody sees of data has a graph only if something says that it has weights, wherever it lies."""
    assert told_of_listed(machine, part, "MelSpectrogram") == []
    assert told_of_listed(machine, part, "PolicyNetwork") == [12]


@pytest.mark.parametrize("part", [*PARTS, "torch.nn.Sequential({made}(), {made}())"])
def test_what_an_optimiser_trains_has_parameters(machine: Machine, part: str) -> None:
    assert told_of_listed(machine, part, "MelSpectrogram", "opt = torch.optim.Adam(part.parameters())") == [12]


def test_passes_on_the_graph_of_what_it_is_given(machine: Machine) -> None:
    text = (
        "import lib\npart = torch.nn.Sequential(lib.Scale())\nw = torch.rand(3, requires_grad=True)\n"
        "out = part(w.exp())\n(out * 2).sum().backward()\n(out * 3).sum().backward()\n"
    )
    assert machine(HEAD + text).lines == [10]
