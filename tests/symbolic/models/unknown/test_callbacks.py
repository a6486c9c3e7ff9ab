"""Functions that are handed to what nobody sees, which may call them at any time."""

from __future__ import annotations

import pytest
from machine import Machine

HOOKED = """
import torch

def invert(model, module, image, epochs):
    {made}

    def hook(module, input, output):
        {fills}

    handle = module.register_forward_hook(hook)
    model(image)
    features = {read}
    noise = torch.randn(3, 4, requires_grad=True)
    opt = torch.optim.SGD([noise], lr=0.1)
    for _ in range(epochs):
        opt.zero_grad()
        model(noise)
        loss = ((features - {read}) ** 2).sum() + noise.abs().sum()
        loss.backward(retain_graph=True)
        opt.step()
    handle.remove()
"""


@pytest.mark.parametrize(
    ("made", "fills", "read"),
    [
        ("acts = [0]", "acts[0] = output", "acts[0]"),
        ("acts = [0]", "acts.append(output)", "acts[-1]"),
        ("acts = {'at': 0}", "acts['at'] = output", "acts['at']"),
        ("acts = {'at': 0}", "acts.update(at=output)", "acts['at']"),
    ],
)
def test_what_a_hook_of_an_unseen_module_puts_somewhere_may_have_a_graph(
    machine: Machine, made: str, fills: str, read: str
) -> None:
    """The features were made once, and each backward pass goes through them: the graph is wanted again."""
    assert not machine(HOOKED.format(made=made, fills=fills, read=read)).warnings


WEIGHED = """
import torch

def train(module, steps):
    factors = [2.0]

    def hook(module, input, output):
        {does}

    module.register_forward_hook(hook)
    x = torch.randn(3, 4, requires_grad=True)
    for _ in range(steps):
        (x.exp() * factors[0]).sum().backward(retain_graph=True)
"""


@pytest.mark.parametrize(("does", "codes"), [("print(factors[0])", ["RTL201"]), ("factors[0] = output.sum()", [])])
def test_what_it_only_reads_stays_known(machine: Machine, does: str, codes: list[str]) -> None:
    assert [told.code for told in machine(WEIGHED.format(does=does)).warnings] == codes


METHOD = """
import torch

class Inverter:
    def __init__(self, model, module):
        self.model, self.acts = model, [0]
        module.register_forward_hook({hook})

    def keep(self, module, input, output):
        self.acts[0] = output

    def show(self, module, input, output):
        print(self.acts[0])

    def run(self, steps):
        for _ in range(steps):
            x = torch.randn(3, 4, requires_grad=True)
            (x.exp() * self.acts[0]).sum().backward(retain_graph=True)
"""


@pytest.mark.parametrize(
    ("hook", "codes"),
    [
        ("self.show", ["RTL201"]),
        ("self.keep", []),
        ("lambda module, input, output: print(self.acts)", ["RTL201"]),
        ("lambda module, input, output: self.acts.append(output)", []),
    ],
)
def test_what_an_object_holds_is_filled_by_its_methods_and_by_others(
    machine: Machine, hook: str, codes: list[str]
) -> None:
    assert [told.code for told in machine(METHOD.format(hook=hook)).warnings] == codes
