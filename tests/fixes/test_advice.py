"""Helps are tried as far as a budget goes, and what can't be built is told untried."""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import libcst
import pytest
from fixes.look import look

from retainlint.checking import linter, pipeline
from retainlint.commands.configuring import configured, requested
from retainlint.config import Settings
from retainlint.fixes.advice import Advisor
from retainlint.fixes.edits import edited
from retainlint.fixes.proof import Seen
from retainlint.text.source import Source

if TYPE_CHECKING:
    from retainlint.incident import Definition
    from retainlint.text.files import Files

TWICE = "import torch\nw = torch.ones(2, requires_grad=True)\nloss = (w * w).sum()\nloss.backward()\nloss.backward()\n"


def test_a_chain_too_deep_to_be_written_ends_no_file() -> None:
    text = TWICE.replace("loss = (w * w).sum()", f"for _ in range(3):\n    z = w{'.x' * 400}\n    loss = (w * z).sum()")
    result = linter.check_source("m.py", text.encode(), Settings())
    assert (result.crash, [each.code for each in result.diagnostics]) == ("", ["RTL102"])


def test_no_check_is_begun_that_the_budget_does_not_cover(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retainlint.fixes.advice.STEPS", 1)
    monkeypatch.setattr(pipeline, "look", lambda *_, **__: pytest.fail("tried"))
    (found,) = linter.check_source("m.py", TWICE.encode(), Settings()).diagnostics
    assert found.code == "RTL102" and found.fix is None


def test_what_a_long_text_takes_to_be_read_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[Source] = []
    look = pipeline.look

    def counted(
        source: Source,
        changed: Sequence[Source],
        settings: Settings,
        files: Files | None,
        left_out: Container[Definition],
        *,
        unrolls: bool,
    ) -> Seen | None:
        tried.append(source)
        return look(source, changed, settings, files, left_out, unrolls=unrolls)

    monkeypatch.setattr(pipeline, "look", counted)
    monkeypatch.setattr("retainlint.fixes.advice.STEPS", 3_000)
    monkeypatch.setattr("retainlint.fixes.advice.LEAST", 0)
    linter.check_source("m.py", TWICE.encode(), Settings())
    few = len(tried)
    linter.check_source("m.py", (TWICE + "print('unasked')\n" * 500).encode(), Settings())
    assert few and len(tried) == few


def test_edits_ask_libcst_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes seconds for long chains, and longer ones crash it."""
    parse, asked = libcst.parse_module, list[str]()

    def parsed(text: str) -> libcst.Module:
        asked.append(text)
        return parse(text)

    monkeypatch.setattr(libcst, "parse_module", parsed)
    chained = f"def f(x):\n    return x{'(x)' * 1_500}\n"
    (found,) = linter.check_source("m.py", (chained + TWICE).encode(), Settings()).diagnostics
    assert found.code == "RTL102" and found.fix is not None
    assert asked and not any("(x)(x)" in text for text in asked)


TWO_TARGETS = """\
import torch
net, x = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh()), torch.ones(2)
image = torch.zeros(2, requires_grad=True)
optimizer = torch.optim.Adam([image])
style = net(x)
content = net(x + 1)
for step in range(3):
    out = net(image)
    loss = (out - style).pow(2).sum() + (out - content).pow(2).sum()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize("above", ["", "print()\n"], ids=["as it is", "further down"])
def test_a_cause_behind_the_first_is_a_finding_of_its_own(above: str) -> None:
    first, behind = linter.check_source("m.py", (above + TWO_TARGETS).encode(), Settings()).diagnostics
    assert [each.labels[0].span.text for each in (first, behind)] == ["net(x + 1)", "net(x)"]
    assert [each.helps[0].words.split()[1] for each in (first, behind)] == ["`content.detach()`", "`style.detach()`"]
    assert behind.primary.span == first.primary.span and behind.place > first.place
    assert behind.message == f"behind the first: {first.message}"
    assert behind.fix is not None and first.fix is not None
    assert behind.fix.message == f"{first.fix.message}; then: Detach `style` where it is used"
    done = edited(behind.primary.span.source, behind.fix.edits)  # it does both
    assert [row for row in done.text.split("\n") if "loss =" in row] == [
        "    loss = (out - style.detach()).pow(2).sum() + (out - content.detach()).pow(2).sum()"
    ]
    assert any(f"(line {5 + bool(above)})" in note for note in behind.notes)


def test_what_cuts_off_in_another_file_is_taken_away_and_what_stands_behind_is_told(tmp_path: Path) -> None:
    (tmp_path / "inner.py").write_text("""\
import torch
def fitted(w, scale):
    for _ in range(2):
        slope, = torch.autograd.grad((scale * w * w).sum(), w, create_graph=True)
        w = (w - 0.1 * slope).detach().requires_grad_()
    return w
""")
    (tmp_path / "main.py").write_text("""\
import torch
from inner import fitted
doubt = torch.zeros(2, requires_grad=True)
optimizer = torch.optim.SGD([doubt], lr=0.1)
scale = torch.sigmoid(doubt)
for _ in range(3):
    loss = fitted(torch.ones(2, requires_grad=True), scale).pow(2).sum()
    doubt.grad, = torch.autograd.grad(loss, [doubt])
    optimizer.step()
""")
    first, behind = linter.check(
        [str(tmp_path)], configured(requested({"select": ["RTL1"]}, isolated=True))
    ).diagnostics
    assert (first.code, behind.code, behind.behind) == ("RTL114", "RTL101", 1)
    assert first.helps[0].words.startswith("remove `.detach()` in `w = (")
    assert behind.helps[0].words == "compute `scale` inside the loop"


def test_a_list_that_its_object_forgets_is_emptied_in_another_file_where_another_one_is(tmp_path: Path) -> None:
    (tmp_path / "storage.py").write_text("""\
from dataclasses import dataclass, field
@dataclass
class Rollout:
    log_probs: list = field(default_factory=list)
    entropies: list = field(default_factory=list)
    def add(self, log_prob, entropy):
        self.log_probs.append(log_prob)
        self.entropies.append(entropy)
    def clear(self):
        self.log_probs.clear()
class Storage:
    def __init__(self, names):
        self.rollouts = {name: Rollout() for name in names}
    def __getitem__(self, name):
        return self.rollouts[name]
    def clear(self):
        for rollout in self.rollouts.values():
            rollout.clear()
""")
    (tmp_path / "main.py").write_text("""\
import torch
from storage import Storage
class Policy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(3, 2)
    def forward(self, obs):
        return torch.distributions.Categorical(logits=self.net(obs))
class Agents:
    def __init__(self):
        names = ("left", "right")
        self.policies = torch.nn.ModuleDict({name: Policy() for name in names})
        self.optims = {a: torch.optim.Adam(self.policies[a].parameters()) for a in names}
        self.storage = Storage(names)
    def play(self):
        for _ in range(3):
            chances = {a: policy(torch.randn(3)) for a, policy in self.policies.items()}
            for a in chances:
                self.storage[a].add(chances[a].log_prob(chances[a].sample()), chances[a].entropy())
    def learn(self):
        for a, opt in self.optims.items():
            rollout = self.storage[a]
            loss = torch.stack(rollout.log_probs).sum() - 0.1 * torch.stack(rollout.entropies).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        self.storage.clear()
agents = Agents()
for _ in range(3):
    agents.play()
    agents.learn()
""")
    (told,) = linter.check([str(tmp_path)], configured(requested({"select": ["RTL1"]}, isolated=True))).diagnostics
    assert told.helps[0].words == "empty it with the others: `self.entropies.clear()`"


def test_what_cuts_off_where_no_gradient_is_asked_for_is_taken_away_too(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text("""\
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 4)
    def forward(self, t):
        t = t.clone().detach().requires_grad_(True)
        return self.layer(t).tanh()
""")
    (tmp_path / "main.py").write_text("""\
import torch
from net import Net
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    t = torch.rand(5, 1).requires_grad_(True)
    slope, = torch.autograd.grad(net(t).sum(), t, create_graph=True)
    optimizer.zero_grad()
    slope.pow(2).mean().backward()
    optimizer.step()
""")
    (told,) = linter.check([str(tmp_path)], configured(requested({"select": ["RTL1"]}, isolated=True))).diagnostics
    assert told.code == "RTL114"
    assert told.helps[0].words.startswith("remove `.detach()` in `t = ")


FROZEN_BEHIND = """\
import torch
class Tuner:
    def __init__(self, net):
        self.net = net
        self.table = net.weight
        self.first = self.table.detach().clone()
        self.table.requires_grad_(True)
        for p in net.parameters():
            p.requires_grad_(False)
        self.optimizer = torch.optim.SGD([self.table], lr=0.1)
    def step(self, x):
        self.optimizer.zero_grad()
        self.net(x).sum().backward()
        self.optimizer.step()
        self.table[0] = self.first[0]
tuner = Tuner(torch.nn.Embedding(3, 2))
for _ in range(2):
    tuner.step(torch.tensor([1]))
"""


def test_a_leaf_that_is_changed_once_it_requires_a_gradient_is_told_behind_that() -> None:
    first, behind = linter.check_source("m.py", FROZEN_BEHIND.encode(), Settings()).diagnostics
    assert first.helps[0].words == "let `self.table`, which the optimiser is to train, require a gradient"
    assert (behind.code, behind.primary.span.row, behind.behind) == ("RTL113", 15, 1)


CARRIED_BEHIND = """\
import torch
encoder, actor = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
critic_opt, actor_opt = (torch.optim.SGD(net.parameters(), lr=0.1) for net in (encoder, actor))
before = torch.zeros(2)
for x in torch.ones(3, 4, 2):
    z = encoder(x).tanh()
    critic_opt.zero_grad()
    (z - before).pow(2).mean().backward()
    critic_opt.step()
    actor_opt.zero_grad()
    actor(z).mean().backward()
    actor_opt.step()
    before = z
"""


def test_what_a_program_comes_to_elsewhere_once_a_graph_is_cut_is_told_behind_that() -> None:
    first, behind = linter.check_source("m.py", CARRIED_BEHIND.encode(), Settings()).diagnostics
    assert (first.code, first.helps[0].words.partition(":")[0]) == ("RTL103", "use `z.detach()` for `actor(z).mean()`")
    assert (behind.code, behind.primary.span.row, behind.behind) == ("RTL104", 8, 1)
    assert behind.helps[0].words == "`before = before.detach()` at the start of each iteration"


def test_what_stands_behind_a_cure_that_moves_rows_is_told_where_it_stands_now() -> None:
    text = (
        "import torch\nw = torch.ones(2, requires_grad=True)\noptimizer = torch.optim.SGD([w], 0.1)\n"
        "a = (w * 2).exp()\nb = (w * 3).sin()\nfor _ in range(3):\n    optimizer.zero_grad()\n"
        "    (a.cos() + b.cos()).sum().backward()\n    optimizer.step()\n"
    )
    first, behind = linter.check_source("m.py", text.encode(), Settings()).diagnostics
    assert [label.span.row for label in first.labels] == [5, 6, 8] and first.fix is not None
    assert [label.span.row for label in behind.labels] == [4, 6, 8]  # one row less lay above the loop
    assert behind.fix is not None
    done = edited(behind.primary.span.source, behind.fix.edits)
    assert not linter.check_source("m.py", done.text.encode(), Settings()).diagnostics


TWO_WAYS = """\
import torch
trunk, head, judge = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD([*trunk.parameters(), *head.parameters()], 0.1)
own = torch.optim.SGD(judge.parameters(), 0.1)
a, b = trunk(torch.ones(2)).exp(), trunk(torch.zeros(2)).exp()
optimizer.zero_grad()
(head(a) + judge(b)).sum().backward()
optimizer.step()
own.zero_grad()
(judge(a) - judge(b)).pow(2).sum().backward()
own.step()
"""


def test_who_zeroes_between_two_backward_passes_trains_nothing_of_the_first() -> None:
    first, behind = linter.check_source("m.py", TWO_WAYS.encode(), Settings()).diagnostics
    assert first.helps[0].words.endswith(
        ".detach()` for `(judge(a) - judge(b)).pow(2).sum()`: this loss doesn't train what made it"
    )
    assert "`a.detach()`" in behind.helps[0].words


OWN_STEP = """\
import torch
class Sign(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, dict(lr=0.1))
    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                if p.grad.norm() < 9:
                    continue
                p.sub_(p.grad.sign(), alpha=group["lr"])
def train(loader, net, warmup):
    optimizer = Sign(net.parameters())
    for i, x in enumerate(loader):
        out = net(x)
        optimizer.zero_grad()
        out.pow(2).mean().backward()
        optimizer.step()
        if i >= warmup:
            optimizer.zero_grad()
            out.exp().mean().backward()
            optimizer.zero_grad()
"""


def test_a_step_that_a_program_writes_itself_is_one_on_all_paths() -> None:
    (found,) = linter.check_source("m.py", OWN_STEP.encode(), Settings()).diagnostics
    assert [help.words for help in found.helps] == ["compute `out` again for `out.exp().mean()`"]


PROTOTYPES = """\
import torch
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh())
optimizer = torch.optim.SGD(net.parameters(), 0.1)
first = net(torch.zeros(3, 2))
for x in torch.ones(3, 4, 2):
    optimizer.zero_grad()
    {}.sum().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("used", "told"),
    [
        ("torch.cdist(net(x), first).exp()", "compute `first` inside the loop"),
        ("(net(x) @ first.t()).exp()", "compute `first` inside the loop"),
        ("(net(x).unsqueeze(1) - first.unsqueeze(0)).pow(2)", "compute `first` inside the loop"),
        ("(net(x)[:3] - first).pow(2)", "use `first.detach()` for the loss: this loss doesn't train what made it"),
    ],
)
def test_what_is_paired_with_all_that_is_new_is_no_reference(used: str, told: str) -> None:
    (found,) = linter.check_source("m.py", PROTOTYPES.format(used).encode(), Settings()).diagnostics
    assert [each.words for each in found.helps] == [told]


APART = """\
import torch
layer = torch.nn.Linear(2, 1)

def first(x):
    loss = layer(x).exp().sum()
    loss.backward()
    loss.backward()
"""
OTHER = """
def other_{}(x, epochs):
    for epoch in range(epochs):
        if epoch % 4:
            x = x + 1
        for each in x:
            layer(each).sin().cos().sin().cos().exp().sum().backward()
"""
APART += "".join(map(OTHER.format, range(4)))


def test_what_an_edit_cannot_reach_is_not_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[tuple[bool, int]] = []
    look = pipeline.look

    def counted(
        source: Source,
        changed: Sequence[Source],
        settings: Settings,
        files: Files | None,
        left_out: Container[Definition],
        *,
        unrolls: bool,
    ) -> Seen | None:
        seen = look(source, changed, settings, files, left_out, unrolls=unrolls)
        looked.append((("m.py", "other_0") in left_out, len(seen.conduct.backward_passes) if seen is not None else 0))
        return seen

    monkeypatch.setattr(pipeline, "look", counted)
    (found,) = linter.check_source("m.py", APART.encode(), Settings()).diagnostics
    assert found.code == "RTL102" and found.fix is not None
    assert looked and all(is_left and passes <= 2 for is_left, passes in looked)


def test_what_every_function_calls_is_tried_with_all_of_them() -> None:
    text = APART.replace("layer(x)", "ready(x)") + "\ndef ready(x):\n    return layer(x)\n"
    (found,) = linter.check_source("m.py", text.encode(), Settings()).diagnostics
    assert found.code == "RTL102" and found.fix is not None


def test_what_is_drawn_is_trained_by_its_log_probability() -> None:
    text = (
        "import torch\nlogits = torch.nn.Linear(2, 3)(torch.ones(4, 2))\n"
        "action = torch.distributions.Categorical(logits=logits).sample()\n(action.float() * 2).sum().backward()\n"
    )
    (found,) = linter.check_source("m.py", text.encode(), Settings()).diagnostics
    assert found.code == "RTL112"
    assert "log_prob" in found.helps[0].words and "rsample" in found.helps[1].words


def test_only_a_switch_that_was_run_is_named() -> None:
    text = (
        "import torch\nw = torch.ones(2, requires_grad=True)\n\ndef evaluate():\n    torch.set_grad_enabled(False)\n\n"
    )
    text += "{}loss = (w * w).sum()\nloss.backward()\n"
    run, idle = (
        linter.check_source("m.py", text.format(each).encode(), Settings()).diagnostics for each in ("evaluate()\n", "")
    )
    assert [label.text for label in run[0].labels][:1] == ["no graph is recorded from here on"] and not idle


LATE = """\
import torch
from collections import deque
w = torch.ones(3, requires_grad=True)
recent = deque(maxlen=20)
for step in range(1, 61):
    recent.append((w * step).exp())
    if step % 16 == 0 and len(recent) == recent.maxlen:
        torch.stack(list(recent)).sum().backward()
"""


@pytest.mark.parametrize("text, unrolled", [(LATE, True), (LATE.replace("20", "16"), False), (TWICE, False)])
def test_what_only_all_iterations_tell_is_tried_with_all(
    text: str, unrolled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: set[bool] = set()
    look = pipeline.look

    def noting(*arguments: Any, unrolls: bool) -> Seen | None:
        asked.add(unrolls)
        return look(*arguments, unrolls=unrolls)

    monkeypatch.setattr(pipeline, "look", noting)
    found = linter.check_source("m.py", text.encode(), Settings()).diagnostics
    assert bool(found) is (unrolled or text == TWICE)
    assert asked == ({unrolled} if found else set())


BASELINE = """\
import torch
class Learner:
    def __init__(self):
        self.net, self.baseline = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh()), 0.0
    def update(self, rows):
        losses, values = [], []
        for row in rows:
            value = self.net(row).exp().sum()
            losses.append(value * (1 - self.baseline))
            values.append(value)
        torch.tensor(losses).mean().backward()
        self.baseline = 0.9 * self.baseline + sum(values) / len(values)
class Data:
    def __init__(self, n):
        self.rows = []
        for _ in range(n):
            self.rows.append(torch.randn(2))
    def batches(self, size):
        for i in range(0, len(self.rows), size):
            yield self.rows[i:i + size]
def main():
    data, learner = Data(320), Learner()
    for epoch in range(4):
        [learner.update(rows) for rows in data.batches(32)]
main()
"""


def test_what_only_all_iterations_tell_stands_behind_a_fix_as_well() -> None:
    first, behind = linter.check_source("m.py", BASELINE.encode(), Settings()).diagnostics
    assert first.code == "RTL112" and behind.code == "RTL104" and first.primary.span == behind.primary.span


GUARDED = """\
import torch
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
optimizer, good = torch.optim.SGD(net.parameters(), lr=0.1), torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
def is_spoilt(value):
    if value > 4:
        net.load_state_dict(good.state_dict())
        return True
    return False
for x in torch.randn(3, 5, 3):
    loss = net(x).pow(2).mean()
    if is_spoilt(loss.item()):
        print("spoilt")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
STALE = """\
import torch
doubt, net = torch.zeros(4, requires_grad=True), torch.nn.Linear(3, 1)
outer = torch.optim.SGD([doubt], lr=0.1)
weight = torch.sigmoid(-doubt)
for x in torch.randn(3, 4, 3):
    loss = (weight * net(x).squeeze(1).pow(2)).mean()
    (doubt.grad,) = torch.autograd.grad(loss, [doubt])
    outer.step()
"""


def test_what_asks_the_loss_is_not_moved_behind_its_step() -> None:
    (found,) = linter.check_source("m.py", GUARDED.encode(), Settings()).diagnostics
    assert found.code == "RTL111" and found.fix is None


def test_a_graph_of_the_weights_before_a_step_is_not_kept() -> None:
    (found,) = linter.check_source("m.py", STALE.encode(), Settings()).diagnostics
    assert found.code == "RTL101" and not any("retain_graph" in help.words for help in found.helps)


SWITCHED_OFF = """import torch
net = torch.nn.Linear(3, 1)
def learn(x):
    torch.set_grad_enabled(False)
    if net(x).mean().item() < 2:
        torch.set_grad_enabled(True)
    net(x).sum().backward()
learn(torch.rand(2, 3))
"""


def test_what_a_fix_cuts_off_itself_did_not_stand_behind() -> None:
    """With the whole function under `no_grad` the backward pass fails at the same place, by the fix's doing."""
    (found,) = linter.check_source("m.py", SWITCHED_OFF.encode(), Settings()).diagnostics
    assert found.code == "RTL112"
    assert found.fix is None or "no_grad()" not in found.fix.message


def test_a_script_that_goes_on_for_too_long_behind_a_cure_takes_none_from_the_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a script does once nothing fails any more may take more steps than it has; the module tells for itself."""
    agent = (
        "import torch\n"
        "class Agent:\n"
        "    def __init__(self):\n"
        "        self.actor = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Linear(4, 1))\n"
        "        self.critic = torch.nn.Sequential(torch.nn.Linear(1, 4), torch.nn.Linear(4, 1))\n"
        "        self.opt_a = torch.optim.Adam(self.actor.parameters())\n"
        "        self.opt_c = torch.optim.Adam(self.critic.parameters())\n"
        "    def update(self, s, a, r):\n"
        "        critic_loss = (self.critic(a) - r).square().mean()\n"
        "        actor_loss = -self.critic(self.actor(s)).mean()\n"
        "        self.opt_c.zero_grad()\n"
        "        critic_loss.backward()\n"
        "        self.opt_c.step()\n"
        "        self.opt_a.zero_grad()\n"
        "        actor_loss.backward()\n"
        "        self.opt_a.step()\n"
    )
    (tmp_path / "agent.py").write_text(agent)
    row = "agent.update(torch.randn(8, 2), torch.randn(8, 1), torch.randn(8, 1))\n"
    (tmp_path / "main.py").write_text("import torch\nfrom agent import Agent\nagent = Agent()\n" + row)
    look = pipeline.look

    def wearied(source: Source, *given: Any, **named: Any) -> Seen | None:
        seen = look(source, *given, **named)
        if seen is None or not source.name.endswith("main.py") or seen.diagnostics:
            return seen
        return dataclasses.replace(seen, unjudged=seen.conduct.backward_passes)

    monkeypatch.setattr(pipeline, "look", wearied)
    result = linter.check([str(tmp_path)], configured(requested({}, isolated=True)))
    (found,) = result.diagnostics
    assert (found.code, found.fix is not None) == ("RTL110", True)


LEFT = """\
import torch
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
kept, params = [], list(net.parameters())
for n, x in enumerate(torch.randn(4, 5, 3)):
    {}
    loss = net(x).square().mean()
    loss.backward({})
    {}
    grads = torch.autograd.grad(loss, params)
    {}
    opt.step()
"""


@pytest.mark.parametrize(
    ("zero", "given", "between", "use", "is_read"),
    [
        ("opt.zero_grad()", "", "", "print(sum(g.norm() for g in grads))", True),
        ("opt.zero_grad()", "", "", "print(torch.cat([g.flatten() for g in grads]).norm())", True),
        ("opt.zero_grad()", "", "", "print(grads[0].abs().max())", True),
        ("if n % 2 == 0: opt.zero_grad()", "", "", "print(sum(g.norm() for g in grads))", False),
        ("pass", "", "", "print(sum(g.norm() for g in grads))", False),
        ("opt.zero_grad()", "torch.tensor(2.0)", "", "print(sum(g.norm() for g in grads))", False),
        (
            "opt.zero_grad()",
            "",
            "torch.nn.utils.clip_grad_norm_(params, 1.0)",
            "print(sum(g.norm() for g in grads))",
            False,
        ),
        ("opt.zero_grad()", "", "net[0].weight.grad.mul_(2)", "print(sum(g.norm() for g in grads))", False),
        ("opt.zero_grad()", "", "", "kept.append(grads)", False),
        ("opt.zero_grad()", "", "", "for g in grads: g.mul_(2)", False),
        ("opt.zero_grad(set_to_none=False)", "", "", "print(sum(g.norm() for g in grads))", False),
    ],
)
def test_gradients_are_read_where_backward_has_left_just_these(
    zero: str, given: str, between: str, use: str, is_read: bool
) -> None:
    """Not what was added up, scaled or clipped, and no tensor that somebody keeps or changes."""
    found = linter.check_source("m.py", LEFT.format(zero, given, between, use).encode(), Settings()).diagnostics
    fixed = [each.fix for each in found if each.code == "RTL102"]
    assert fixed
    assert any(fix is not None and "[p.grad for p in params]" in str(fix.edits) for fix in fixed) is is_read


EPISODES = """\
import torch
from torch.distributions import Categorical
class Policy:
    def __init__(self):
        self.net = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
        self.begin()
    def begin(self):
        self.log_probs = []
        self.rewards = []
    def act(self, obs):
        dist = Categorical(logits=self.net(obs))
        action = dist.sample()
        self.log_probs.append(dist.log_prob(action))
        return action.item()
policy = Policy()
opt = torch.optim.SGD(policy.net.parameters(), lr=0.1)
for episode in range(6):
    done = False
    while not done:
        policy.rewards.append(float(policy.act(torch.randn(2))))
        done = torch.rand(1).item() > 0.6
    terms = [-lp * g for lp, g in zip(policy.log_probs, policy.rewards)]
    loss = torch.stack(terms).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    policy.rewards.clear()
"""


def test_what_is_cured_with_what_raises_before_it_is_no_finding() -> None:
    """The weights of before are reached only through the list that the first cure empties."""
    found = linter.check_source("m.py", EPISODES.encode(), Settings()).diagnostics
    untried = linter.check_source("m.py", EPISODES.encode(), Settings(tried=False)).diagnostics
    assert [each.code for each in untried] == ["RTL104", "RTL110"]
    assert [each.code for each in found] == ["RTL104"] and found[0].fix is not None


CRITIC = """\
import torch
gen, critic = torch.nn.Linear(2, 3), torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
opt_g, opt_c = (torch.optim.SGD(net.parameters(), lr=0.1) for net in (gen, critic))
def noise():
    return torch.randn(5, 2)
for _ in range(2):
    z = noise()
    fake = gen(z)
    for real in torch.randn(3, 5, 3):
        opt_c.zero_grad()
        loss = critic(fake).mean() - critic(real).mean()
        loss.backward()
        opt_c.step()
    opt_g.zero_grad()
    (-critic(gen(noise())).mean()).backward()
    opt_g.step()
"""


def test_what_is_made_of_noise_for_each_step_of_a_critic_may_be_made_of_new_noise() -> None:
    (found,) = linter.check_source("m.py", CRITIC.encode(), Settings()).diagnostics
    assert [each.words for each in found.helps] == [
        "use `fake.detach()` for the loss: this loss doesn't train what made it",
        "compute `z` and `fake` inside the loop under `torch.no_grad()`, of new noise",
    ]
    seen = look(Source("m.py", CRITIC))
    assert seen is not None
    (each,) = seen.diagnostics
    trial = Advisor(seen, look, lambda _: False).fix(dataclasses.replace(each, helps=each.helps[1:]))
    assert trial is not None and trial.after.diagnostics == ()
    rows = "        with torch.no_grad():\n            z = noise()\n            fake = gen(z)\n"
    loss = "        loss = critic(fake)"
    without = CRITIC.replace("    z = noise()\n    fake = gen(z)\n", "")
    assert trial.after.source.text == without.replace(loss, rows + loss)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("torch.randn(5, 2)", "torch.linspace(0, 1, 10).view(5, 2)"),
        ("critic(real).mean()", "critic(real).mean() + z.mean()"),
        ("gen(noise())", "fake"),
        (
            ", opt_c = (torch.optim.SGD(net.parameters(), lr=0.1) for net in (gen, critic))",
            ", opt_c = (torch.optim.SGD(critic.parameters(), lr=0.1) for _ in range(2))",
        ),
    ],
    ids=["of no noise", "of what the critic is given, too", "the generator is trained by it", "nothing trains it"],
)
def test_no_other_is_made_anew_for_each_step(before: str, after: str) -> None:
    assert before in CRITIC
    found = linter.check_source("m.py", CRITIC.replace(before, after).encode(), Settings()).diagnostics
    assert found and not any("new noise" in help.words for each in found for help in each.helps)
