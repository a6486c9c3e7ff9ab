"""Means over iterations, states that generators carry, new leaves and inputs: each with the fix that is written."""

from __future__ import annotations

from typing import cast

import pytest
from fixes.look import look

from retainlint.fixes import Seen, fix_all
from retainlint.rules import Example
from retainlint.text.source import Source

PROGRAMS = {
    "a mean of losses that have no name": """
            import torch
            net, total, seen = torch.nn.Linear(2, 1), 0.0, 0
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            for _ in range(3):
                x = torch.randn(4, 2)
          -     total += net(x).square().mean() * len(x)
          +     loss = net(x).square().mean()
          +     total += loss.detach() * len(x)
                seen += len(x)
                mean = total / seen
                opt.zero_grad()
          -     mean.backward()
          +     loss.backward()
                opt.step()
    """,
    "a loss that a meter is given": """
            import torch
            class Meter:
                def __init__(self):
                    self.sum, self.count = 0.0, 0
                def add(self, value, count):
                    self.sum, self.count = self.sum + value * count, self.count + count
                def mean(self):
                    return self.sum / self.count
            net, meter = torch.nn.Linear(2, 1), Meter()
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            for _ in range(3):
          -     meter.add(net(torch.randn(4, 2)).square().mean(), 4)
          +     loss = net(torch.randn(4, 2)).square().mean()
          +     meter.add(loss.detach(), 4)
                opt.zero_grad()
          -     meter.mean().backward()
          +     loss.backward()
                opt.step()
    """,
    "an average by which a loss is divided, kept from being nought": """
            import torch
            net, level = torch.nn.Linear(3, 2), {}
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            def rescaled(losses):
                out = {}
                for name, value in losses.items():
                    if name not in level:
          -             level[name] = value
          +             level[name] = value.detach()
                    else:
          -             level[name] = 0.8 * level[name] + 0.2 * value
          +             level[name] = 0.8 * level[name] + 0.2 * value.detach()
                    out[name] = value / (level[name] + 1e-8)
                return out
            for _ in range(3):
                y = net(torch.randn(4, 3))
                total = sum(rescaled({"a": y[:, 0].square().mean(), "b": y[:, 1].abs().mean()}).values())
                opt.zero_grad()
                total.backward()
                opt.step()
    """,
    "states that a generator carries": """
            import torch
            cell = torch.nn.LSTMCell(2, 2)
            opt = torch.optim.SGD(cell.parameters(), lr=0.1)
            def losses(rows):
                h = c = torch.zeros(1, 2)
                for chunk in rows.split(2):
                    for x in chunk:
                        h, c = cell(x[None], (h, c))
                    yield h.sum()
          +         c = c.detach()
          +         h = h.detach()
            for loss in losses(torch.randn(6, 2)):
                opt.zero_grad()
                loss.backward()
                opt.step()
    """,
    "a bank of which the last items are read": """
            import torch
            enc = torch.nn.Linear(3, 2)
            bank = []
            opt = torch.optim.SGD(enc.parameters(), lr=0.1)
            for step in range(4):
          +     bank = [t.detach() for t in bank]
                z = torch.tanh(enc(torch.randn(5, 3)))
                bank.append(z)
                negatives = torch.cat(bank[-3:])
                loss = (z @ negatives.t()).logsumexp(1).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
    """,
    "weights that are made anew as leaves within a meta step": """
            import torch
            net = torch.nn.Linear(2, 1)
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            for _ in range(2):
                w = net.weight
                for _ in range(2):
          -         (slope,) = torch.autograd.grad((torch.randn(4, 2) @ w.t()).square().mean(), w)
          -         w = (w - 0.1 * slope).detach().requires_grad_()
          +         (slope,) = torch.autograd.grad((torch.randn(4, 2) @ w.t()).square().mean(), w, create_graph=True)
          +         w = (w - 0.1 * slope)
                outer = (torch.randn(4, 2) @ w.t() - 1).square().mean()
                (net.weight.grad,) = torch.autograd.grad(outer, [net.weight])
                opt.step()
    """,
    "an input that was changed before it is used": """
            import torch
            net = torch.nn.Linear(4, 3)
            kind = torch.randint(0, 3, (5,))
            packet = torch.randn(5, 4)
            packet[:, :3] += torch.nn.functional.one_hot(kind, 3)
          + packet.requires_grad_()
            score = torch.nn.functional.cross_entropy(net(packet), kind)
            direction = torch.autograd.grad(score, packet)[0].sign()
    """,
    "states in a dict, by their names": """
            import torch
            cell = torch.nn.GRUCell(3, 4)
            opt = torch.optim.SGD(cell.parameters(), lr=0.1)
            states = {"left": None, "right": None}
            for x in torch.randn(3, 2, 3):
                for side in ("left", "right"):
                    states[side] = cell(x, states[side])
                loss = states["left"].sum() + states["right"].mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
          +     states = {k: t.detach() for k, t in states.items()}
    """,
    "a parameter isn't set to what is none": """
            import copy
            import torch
            net = torch.nn.Linear(3, 2)
            slow = copy.deepcopy(net).requires_grad_(False)
            opt = torch.optim.SGD(net.parameters(), lr=0.1)
            rate = torch.tensor(0.9)
            for step in range(5):
                x = torch.randn(4, 3)
                loss = (net(x) - slow(x)).pow(2).mean() + net(x).pow(2).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
                for p, q in zip(net.parameters(), slow.parameters()):
          -         q.mul_(rate).add_((1 - rate) * p)
          +         q.mul_(rate).add_(((1 - rate) * p).detach())
    """,
    "what goes through numpy, which refuses it, is left alone": """
            import numpy as np
            import torch
            net = torch.nn.Linear(3, 4)
            def smoothed(row):
                out = np.convolve(row.detach().numpy(), [0.5, 0.5], mode="same")
                return torch.from_numpy(out)
            smoothed(net(torch.randn(3))).square().mean().backward()
    """,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_the_program_is_fixed_as_its_author_would(text: str) -> None:
    example = Example("", text)
    seen = fix_all(cast(Seen, look(Source("a.py", example.program))), look, True, lambda diagnostic: True).seen
    assert seen.source.text == (example.fixed or example.program)
    assert [each.code for each in seen.diagnostics] == ["RTL112"] * (example.fixed is None)
