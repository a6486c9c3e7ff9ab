"""The shapes of results: a graph that as many backward passes go through as a result is long, each of which keeps it but the
last, is freed once; and twice, where the last but one doesn't keep it. Torch says how long each dimension is."""

from __future__ import annotations

from types import ModuleType

import pytest
from machine import Machine

HEAD = """
import torch
import torch.nn.functional as F
from torch import nn
w = torch.ones(2, requires_grad=True)
a, b, c, v, s = torch.rand(3, 4), torch.rand(4, 5), torch.rand(2, 3, 4), torch.rand(4), torch.rand(())
g = torch.rand(3, 4, requires_grad=True)
"""

KNOWN = """
a + s; a * v; a[:, None] + b[:3, :4]; c + a; 2 ** a; a.exp(); -a; a.clamp(min=0); torch.where(a > 0, a, s)
a @ b; a @ v; c @ b; torch.matmul(v, b); torch.mm(a, b); torch.bmm(c, c.transpose(1, 2)); torch.outer(v, a[0])
a.sum(0); a.sum(1, keepdim=True).expand(3, 4); c.mean(dim=(0, 2)); c.mean(-1); a.max(dim=1).values; a.norm(dim=1)
c.logsumexp(dim=1); a.std(0); c.amax(2); a.cumsum(0); a.softmax(-1); F.log_softmax(c, dim=1); F.cosine_similarity(c, c)
torch.stack([a, a]); torch.stack((v, v, v), dim=1); torch.stack([s, s, s]); torch.cat([a, a]); torch.cat((a, a), dim=-1)
a.view(-1); c.view(6, 4); c.view(2, -1); a.reshape(2, 6); c.flatten(1); torch.flatten(a); a.view(4, 3).view_as(b[:, :3])
a.unsqueeze(1).expand(3, 5, 4); a[None].expand(2, -1, -1); a[None].squeeze(0); v.unsqueeze(-1).squeeze(); a.t(); a.T; c.mT
c.transpose(0, 2); c.permute(2, 0, 1); c.swapaxes(0, 1)
a[torch.tensor([0, 2])].sum(0); a[torch.tensor([True, False, True])].sum(0)
a[0]; a[1:]; a[:, 1:3]; a[..., 0]; c[0, :, 1]; c[:, -1]; a[:, None, :].expand(3, 2, 4); a[::2]; a.select(1, 0)
a.narrow(1, 1, 2); a.index_select(0, torch.tensor([0, 2])); c.unbind(0)[0]; c.split(3, dim=2)[1]; b.chunk(2)[1]; c.split([1, 2], 1)[1]; a.repeat(2, 1); torch.gather(a, 1, torch.zeros(3, 2).long())
torch.zeros_like(a); torch.randn(a.shape); torch.full((3, 2), 1.0); torch.eye(3); torch.arange(5); torch.tensor([[1, 2, 3], [4, 5, 6]])
torch.einsum('ij,jk->ik', a, b); torch.einsum('bij->bj', c); torch.randint(0, 9, (2, 3)); torch.ones(2, 3)
nn.Linear(4, 5)(a); nn.Linear(in_features=4, out_features=5)(c); nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))(a)
F.linear(a, b.t()); nn.Embedding(10, 6)(torch.zeros(2, 3).long()); nn.LayerNorm(4)(a); nn.BatchNorm1d(4)(a); nn.Dropout(0.5)(c)
nn.GRU(4, 5)(c)[0]; nn.GRU(4, 5, 3)(c)[1]; nn.LSTM(4, 3, batch_first=True, bidirectional=True)(c)[0]; nn.RNN(4, 3)(a)[1]; nn.RNN(4, 3, 1, "tanh", True, True)(c)[1]
nn.LSTM(4, 3, 2, batch_first=True, bidirectional=True)(c)[1][1]; nn.GRU(4, 5, batch_first=True)(c, torch.zeros(1, 2, 5))[1]
nn.Linear(4, 5).weight; nn.Parameter(torch.zeros(2, 3)); a.detach(); a.data; a.clone(); a.double(); g.detach()
torch.rand(3, 4).t_(); torch.rand(4).unsqueeze_(0).expand(2, 4); F.relu(a); torch.square(a); a.masked_fill(a > 0, 0.0)
"""
"""Expressions all of whose dimensions are known, in numbers that stand in the text."""


def _expressions(text: str) -> list[str]:
    return [each.strip() for line in text.strip().splitlines() for each in line.split(";")]


def _sizes(torch: ModuleType, expression: str) -> list[int]:
    torch.manual_seed(0)
    names: dict[str, object] = {}
    exec(f"{HEAD}y = {expression}", names)
    return [int(size) for size in names["y"].shape]  # type: ignore[attr-defined]


def _program(expression: str, sizes: list[int], short: int) -> str:
    rows = [HEAD, f"y = {expression}"]
    for dim, size in enumerate(sizes):
        if size > 1:
            row = f"out.sum().backward(retain_graph=i + {short + 1} < y.size({dim}))"
            rows += ["out = w.exp()", f"for i in range({size}):", f"    {row}"]
    return "\n".join(rows)


@pytest.mark.parametrize("expression", _expressions(KNOWN))
def test_known(machine: Machine, expression: str) -> None:
    sizes = _sizes(pytest.importorskip("torch"), expression)
    assert not machine(_program(expression, sizes, 0)).lines
    asked = _program(expression, sizes, 1)
    rows = [number for number, row in enumerate(asked.splitlines(), 1) if ".backward(" in row]
    assert rows
    assert machine(asked).lines == rows
