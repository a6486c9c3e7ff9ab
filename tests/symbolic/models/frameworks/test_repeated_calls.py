"""Libraries that call what they are given again and again: a study's objective, a sweep's run, what is timed."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from machine import Machine

from retainlint.text import stubs

PROGRAMS = {
    "one trial": """import torch
from torch import nn
import optuna
net = nn.Sequential(nn.Linear(2, 2), nn.Sigmoid())

f = net(torch.ones(1, 2))
def objective(trial):
    f.sum().backward()
    return 0.0
optuna.create_study().optimize(objective, n_trials=1)
""",
    "a trial that is pruned": """import torch
from torch import nn
import optuna
net = nn.Sequential(nn.Linear(2, 2), nn.Sigmoid())

def objective(trial):
    loss = net(torch.ones(1, 2)).sum()
    if trial.number == 1:
        raise optuna.TrialPruned()
    loss.backward()
    return loss.item()
study = optuna.create_study()
study.optimize(objective, n_trials=3)
f = net(torch.ones(1, 2)).sum()
f.backward()
f.backward() #!
""",
    "other errors are caught": """import torch
from torch import nn
import optuna
net = nn.Sequential(nn.Linear(2, 2), nn.Sigmoid())
def twice():
    loss = net(torch.ones(1, 2)).sum()
    loss.backward()
    loss.backward() #!
    return 0.0

study = optuna.create_study()
study.optimize(lambda trial: twice(), n_trials=1, catch=(ValueError,))
""",
    "errors of a class are caught": """import torch
from torch import nn
import optuna
net = nn.Sequential(nn.Linear(2, 2), nn.Sigmoid())
def twice():
    loss = net(torch.ones(1, 2)).sum()
    loss.backward()
    loss.backward()
    return 0.0

study = optuna.create_study()
study.optimize(lambda trial: twice(), n_trials=2, catch=RuntimeError)
""",
    "any errors are caught": """import torch
from torch import nn
import optuna
net = nn.Sequential(nn.Linear(2, 2), nn.Sigmoid())
def twice():
    loss = net(torch.ones(1, 2)).sum()
    loss.backward()
    loss.backward()
    return 0.0

study = optuna.create_study()
study.optimize(lambda trial: twice(), n_trials=2, catch=(Exception,))
""",
    "a graph of each trial": """import torch
from torch import nn
import optuna
net = nn.Sequential(nn.Linear(2, 2), nn.Sigmoid())

from functools import partial
def objective(trial, net):
    lr = trial.suggest_float("lr", 1e-3, 1e-1)
    opt = torch.optim.SGD(net.parameters(), lr=lr)
    for _ in range(2):
        loss = net(torch.ones(1, 2)).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()
study = optuna.create_study(direction="minimize")
study.optimize(partial(objective, net=net), n_trials=3)
print(study.best_trial.params["lr"], study.best_value)
""",
    "some trials, of what was built before": """import torch
from torch import nn
import optuna
net = nn.Sequential(nn.Linear(2, 2), nn.Sigmoid())

import sys
h = net(torch.ones(1, 2))
def objective(trial):
    h.sum().backward() #!
    return 0.0
optuna.create_study().optimize(objective, n_trials=len(sys.argv) + 1)
""",
    "a handler around all trials": """import torch
from torch import nn
import optuna
net = nn.Sequential(nn.Linear(2, 2), nn.Sigmoid())
def twice():
    loss = net(torch.ones(1, 2)).sum()
    loss.backward()
    loss.backward()
    return 0.0

study = optuna.create_study()
try:
    study.optimize(lambda trial: twice(), n_trials=2)
except RuntimeError as e:
    print(e)
""",
    "trials that the program asks for": """import torch
from torch import nn
import optuna
net = nn.Sequential(nn.Linear(2, 2), nn.Sigmoid())

study = optuna.create_study()
for _ in range(2):
    trial = study.ask()
    x = trial.suggest_float("x", 0, 1)
    loss = (net(torch.ones(1, 2)) * x).sum()
    loss.backward()
    study.tell(trial, loss.item())
""",
    "a state that is carried from trial to trial": """import torch
from torch import nn
import optuna
net = nn.Sequential(nn.Linear(2, 2), nn.Sigmoid())

class Search:
    def __init__(self):
        self.h = None
        self.cell = nn.RNNCell(2, 2)
    def __call__(self, trial):
        self.h = self.cell(torch.ones(1, 2), self.h)
        self.h.sum().backward() #!
        return 0.0
optuna.create_study().optimize(Search(), n_trials=3)
""",
    "the best trial once more": """import torch
from torch import nn
import optuna
net = nn.Sequential(nn.Linear(2, 2), nn.Sigmoid())

best = {}
def objective(trial):
    loss = net(torch.ones(1, 2)).sum()
    loss.backward()
    best["loss"] = loss.detach()
    return loss.item()
study = optuna.create_study()
study.optimize(objective, n_trials=3, timeout=10)
objective(study.best_trial)
""",
    "points of a search": """import torch
from torch import nn
from hyperopt import fmin, hp, rand
net = nn.Sequential(nn.Linear(2, 2), nn.Sigmoid())
h = net(torch.ones(1, 2))
def objective(x):
    loss = (h * x).sum()
    loss.backward() #!
    return loss.item()
fmin(fn=objective, space=hp.uniform("x", 0, 1), algo=rand.suggest, max_evals=3)
""",
    "a timer": """import timeit
import torch
from torch import nn
net = nn.Sequential(nn.Linear(2, 2), nn.Sigmoid())
h = net(torch.ones(1, 2))
def again():
    h.sum().backward() #!
def fresh():
    net(torch.ones(1, 2)).sum().backward()
timeit.Timer(again).timeit(2)
""",
    "what is timed once, or builds its own": """import timeit
import torch
from torch import nn
net = nn.Sequential(nn.Linear(2, 2), nn.Sigmoid())
h = net(torch.ones(1, 2))
def again():
    h.sum().backward()
def fresh():
    net(torch.ones(1, 2)).sum().backward()
timeit.timeit(again, number=1)
timeit.timeit(fresh, number=2)
timeit.repeat("fresh()", globals=globals(), number=2, repeat=2)
""",
    "what is timed again": """import timeit
import torch
from torch import nn
net = nn.Sequential(nn.Linear(2, 2), nn.Sigmoid())
h = net(torch.ones(1, 2))
def again():
    h.sum().backward() #!
def fresh():
    net(torch.ones(1, 2)).sum().backward()
print(min(timeit.repeat(lambda: again(), number=1, repeat=2)))
""",
    "a timer that chooses how often": """import timeit
import torch
from torch import nn
net = nn.Sequential(nn.Linear(2, 2), nn.Sigmoid())
h = net(torch.ones(1, 2))
def again():
    h.sum().backward()
def fresh():
    net(torch.ones(1, 2)).sum().backward()
timer = timeit.Timer(stmt=fresh)
print(timer.timeit(number=3) / 3)
n, s = timer.autorange()
print(s / n)
""",
    "runs of a sweep": """import torch
from torch import nn
import wandb
net = nn.Sequential(nn.Linear(2, 2), nn.Sigmoid())
h = net(torch.ones(1, 2))
def train():
    with wandb.init():
        net(torch.ones(1, 2)).sum().backward()
        h.sum().backward() #!
wandb.agent("sweep", function=train, count=2)
""",
    "one run of a sweep": """import torch
from torch import nn
import wandb
net = nn.Sequential(nn.Linear(2, 2), nn.Sigmoid())
h = net(torch.ones(1, 2))
def train():
    h.sum().backward()
wandb.agent("sweep", train, count=1)
""",
}
"""`#!` marks the line on which torch raises first, if it does."""


def expected(text: str) -> list[int]:
    return [row for row, line in enumerate(text.splitlines(), 1) if line.endswith("#!")]


@pytest.mark.parametrize("name", PROGRAMS)
def test_says_what_the_library_does(machine: Machine, name: str) -> None:
    assert machine(PROGRAMS[name]).lines == expected(PROGRAMS[name])


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
@pytest.mark.parametrize("name", [name for name, text in PROGRAMS.items() if "wandb" not in text])
def test_the_library_does_it(name: str, tmp_path: Path) -> None:
    for package in ("optuna", "hyperopt"):
        if package in PROGRAMS[name]:
            pytest.importorskip(package)
    from judge_torch import judge

    script = tmp_path / "program.py"
    script.write_text(PROGRAMS[name], encoding="utf-8")
    assert judge(script).line == next(iter(expected(PROGRAMS[name])), None)


def test_they_compute_with_whatever_their_functions_do() -> None:
    assert {"optuna", "wandb", "hyperopt"}.isdisjoint(stubs.packages())
    assert {"lightning", "accelerate", "apex"} <= stubs.packages()
