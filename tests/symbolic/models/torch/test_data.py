"""Batches of data that holds no graph have none: what is computed of them alone can't be backpropagated."""

from __future__ import annotations

import pytest
from machine import Machine

from retainlint.incident import NoGraph

HEAD = """import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset
class Pairs(Dataset):
    def __init__(self):
        self.x, self.y = torch.randn(9, 3), torch.randn(9, 1)
    def __len__(self):
        return 9
    def __getitem__(self, i):
        return self.x[i], self.y[i]
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
"""


@pytest.mark.parametrize("data", ["TensorDataset(torch.randn(9, 3), torch.randn(9, 1))", "Pairs()"])
def test_a_loss_of_such_batches_has_no_graph_where_the_network_has_none(machine: Machine, data: str) -> None:
    loop = f"for x, y in DataLoader({data}, batch_size=3):\n"
    rest = "        out = net(x)\n    loss = (out - y).square().mean()\n    loss.backward()\n"
    assert machine(f"{HEAD}{loop}    with torch.no_grad():\n{rest}").lines == [16]
    assert machine(f"{HEAD}{loop}    if True:\n{rest}").lines == []


UNSEEN = """
import torch
from torch import nn
from torch.utils.data import DataLoader
def fit(dataset, augment, device):
    net = nn.Linear(3, 2)
    for x, y in DataLoader(dataset, batch_size=2):
        {before}
        loss = nn.functional.cross_entropy({out}, y.to(device))
        loss.backward()
"""


@pytest.mark.parametrize(
    ("before", "out", "fails"),
    [
        ("", "net(x).detach()", True),
        ("y = y.long().view(-1)", "net(x).detach()", True),
        ("", "net(x)", False),
        ("x.requires_grad_()", "x.exp()", False),
        ("x.requires_grad = True", "x.exp()", False),
        ("x = augment(x)", "x.exp()", False),
        ("augment(x)", "x.exp()", False),
        ("y = augment(y)", "net(x).detach()", False),
        ("y = y.float().requires_grad_()", "net(x).detach()", False),
    ],
)
def test_a_loader_of_what_nobody_sees_gives_what_has_no_graph(
    machine: Machine, before: str, out: str, fails: bool
) -> None:
    assert machine(UNSEEN.format(before=before or "pass", out=out)).lines == [10] * fails


def test_what_a_computed_index_chooses_has_lost_the_graph_there(machine: Machine) -> None:
    text = "import torch\nw = torch.ones(3, requires_grad=True)\nbins = torch.arange(3.0)\nloss = bins[w.argmax()]\nloss.backward()\n"
    (incident,) = machine(text).incidents
    assert isinstance(incident, NoGraph) and incident.cut is not None and incident.cut.span.text == "w.argmax()"


SPLIT = """    h = x * w * w
    for j, chunk in enumerate(h.split(2)):
        chunk.sum().backward(retain_graph=j < 1)
"""

ROWS = {  # the loader, and how often the loop over one batch goes on at most
    "DataLoader(TensorDataset(torch.randn(8, 3), torch.randn(8, 1)), batch_size=4)": 2,
    "DataLoader([(torch.randn(3), 1.0) for _ in range(8)], batch_size=4)": 2,
    "DataLoader(Pairs(), 4, drop_last=True)": 2,
    "DataLoader(Pairs(), batch_size=4)": 2,  # the last holds one sample
    "DataLoader(TensorDataset(torch.randn(6, 3), torch.randn(6, 1)), batch_size=5)": 3,
    "DataLoader(Pairs(), batch_size=6, shuffle=True)": 3,
}


@pytest.mark.parametrize("loader", ROWS)
def test_a_batch_holds_as_many_samples_as_it_was_asked_for(machine: Machine, loader: str) -> None:
    text = f"{HEAD}w = torch.ones(3, requires_grad=True)\nfor x, y in {loader}:\n{SPLIT}"
    assert machine(text).lines == ([] if ROWS[loader] == 2 else [16])


def test_the_last_batch_holds_those_that_are_left(machine: Machine) -> None:
    text = f"""{HEAD}w = torch.ones(3, requires_grad=True)
for x, y in DataLoader(TensorDataset(torch.randn({{}}, 3), torch.randn({{}}, 1)), batch_size=4):
    h = (x * w * w).sum()
    h.backward()
    if len(x) < 4:
        h.backward()
"""
    assert machine(text.format(6, 6)).lines == [17]
    assert machine(text.format(8, 8)).lines == []
