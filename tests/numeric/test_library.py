"""What torch is written of in Python, done again by the core: losses, layers, optimisers, schedules, data, distributions."""

from __future__ import annotations

import math
import warnings
from typing import Any

import pytest
from numeric.judges import Judge, core, torch_or_skip

STATES = """
p = nn.Parameter(torch.tensor([1.0, -2.0]))
def steps(optimizer, scheduler=None, measure=lambda i: ()):
    told = []
    for i in range(9):
        optimizer.zero_grad()
        (p * p).sum().backward()
        optimizer.step()
        scheduler and scheduler.step(*measure(i))
        told += [optimizer.param_groups[0]["lr"], p.tolist()]
    return told
S, D, U = torch.optim.lr_scheduler, torch.distributions, torch.utils.data
def sgd():
    return torch.optim.SGD([p], lr=0.5)
def scheduled(make, measure=lambda i: ()):
    optimizer = sgd()
    return steps(optimizer, make(optimizer), measure)[::2]
def known(module, *inputs):
    return repr(module), [name for name, _ in module.named_parameters()], module(*inputs)
a = torch.tensor([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], requires_grad=True)
b = torch.tensor([[0.3, 0.1, 0.2], [0.5, 0.1, 0.9]])
"""

RULES = ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax")
SCHEDULES = (
    "S.StepLR(o, 3)", "S.MultiStepLR(o, [2, 5])", "S.ExponentialLR(o, 0.9)", "S.ConstantLR(o)", "S.LinearLR(o)",
    "S.CosineAnnealingLR(o, 5)", "S.CosineAnnealingWarmRestarts(o, 3)", "S.PolynomialLR(o)",
    "S.LambdaLR(o, lambda e: 0.9**e)", "S.MultiplicativeLR(o, lambda e: 0.9)", "S.OneCycleLR(o, 1.0, total_steps=10)",
    "S.SequentialLR(o, [S.ConstantLR(o, 0.1), S.ExponentialLR(o, 0.9)], [4])",
)  # fmt: skip
LOSSES = (
    "mse_loss(a, b, None, None, 'sum')", "mse_loss(a, b, False)", "smooth_l1_loss(a, b, None, None, 'sum', 0.1)",
    "l1_loss(a, b, reduce=False)", "nll_loss(a, torch.tensor([0, 2]), None, False)", "kl_div(a, b, False)",
    "cross_entropy(a, torch.tensor([0, 2]), None, None, 2, None, 'sum')", "huber_loss(a, b, 'sum')",
    "poisson_nll_loss(a, b, True, False, False)", "margin_ranking_loss(a, b, torch.ones(2, 3), 0.1, False)",
    "hinge_embedding_loss(a, torch.ones(2, 3), 1.0, False)", "binary_cross_entropy(b, b, None, False)",
)  # fmt: skip
EXPRESSIONS = [
    *(f"steps(torch.optim.{rule}([p], lr=0.1, weight_decay={decay}))" for rule in RULES for decay in (0, 0.1)),
    *(f"scheduled(lambda o: {schedule})" for schedule in SCHEDULES),
    "scheduled(lambda o: S.ReduceLROnPlateau(o, 'max', 0.3, patience=1, cooldown=1), lambda i: (1.0,))",
    "scheduled(lambda o: S.ReduceLROnPlateau(o, patience=1, threshold_mode='abs'), lambda i: (max(3 - i, 1.0),))",
    *(f"F.{loss}" for loss in LOSSES),
    *(f"known(nn.{kind}(2, 3), torch.ones(3, 2, 2))" for kind in ("RNN", "LSTM", "GRU")),
    *(f"known(nn.{kind}(2, 3, 2, batch_first=True, bidirectional=True), a[None, :, :2])" for kind in ("LSTM", "GRU")),
    *(f"known(nn.{kind}Cell(2, 3), torch.ones(3, 2))" for kind in ("RNN", "LSTM", "GRU")),
    *(f"nn.init.{name}_(torch.empty(3, 2))" for name in ("xavier_normal", "kaiming_normal", "orthogonal", "eye")),
    "[list(each) for each in U.DataLoader(U.TensorDataset(a, b), batch_size=2, shuffle=True)]",
    "[list(U.RandomSampler(range(6), True, 4)), list(U.BatchSampler(range(5), 2, False))]",
    "[list(each) for each in U.random_split(range(5), [3, 2])]",
    "(lambda d: [d.sample((2,)), d.log_prob(d.sample()), d.entropy()])(D.Normal(torch.zeros(2), torch.ones(2)))",
    "(lambda d: [d.sample((2,)), d.log_prob(d.sample()), d.entropy()])(D.Categorical(logits=a))",
    "(lambda d: [d.sample((2,)), d.log_prob(d.sample()), d.entropy()])(D.Bernoulli(b))",
    "[torch.initial_seed(), torch.get_rng_state() is None, torch.manual_seed(3).initial_seed(), torch.rand(2)]",
    "torch.autograd.functional.jacobian(lambda x: x**2, torch.tensor([1.0, 2.0]))",
]


def found(judge: Judge, expression: str) -> Any:
    """What an expression gives, from seed 0: tensors as their shape and numbers."""
    names: dict[str, Any] = {"torch": judge.torch, "nn": judge.torch.nn, "F": judge.functional}
    judge.torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(STATES, names)
        return shown(judge, eval(expression, names))


def shown(judge: Judge, value: Any) -> Any:
    if isinstance(value, judge.torch.Tensor):
        return tuple(value.shape), value.tolist()
    if isinstance(value, (list, tuple)):
        return [shown(judge, each) for each in value]
    return value


def alike(one: Any, other: Any) -> bool:
    """Whether two results are the same but for rounding."""
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-4, abs_tol=1e-6)
    return bool(one == other)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_core_gives_what_torch_gives(expression: str) -> None:
    ours, torchs = found(core(), expression), found(torch_or_skip(), expression)
    assert alike(ours, torchs), (ours, torchs)
