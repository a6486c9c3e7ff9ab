"""Conventions: each row takes the names that it is for, leaves others, and changes what is said of a program."""

from __future__ import annotations

import re

import pytest
from machine import Machine

from retainlint.symbolic.models.unknown.conventions import TABLE, Convention
from retainlint.symbolic.state.known_libraries import KINDS, LIBRARIES, known_for
from retainlint.symbolic.state.values import CONVENTIONAL
from retainlint.text.name_guesses import GUESSES, Guess

PROGRAMS: dict[str, tuple[str, str, str]] = {
    "NETWORK": (
        "model",
        "model_path",
        """
        import torch, lib
        {0} = lib.make()
        loss = {0}(torch.ones(2)).sum()
        for _ in range(2):
            loss.backward()
        """,
    ),
    "LOSS": (
        "crit",
        "losses",
        """
        import torch, lib
        {0} = lib.make()
        def run(x, y):
            total = {0}(x, y)
            for _ in range(2):
                total.backward()
        run(torch.ones(2, requires_grad=True), torch.ones(2))
        """,
    ),
    "LOSS_CLASS": (
        "ChamferLoss",
        "ChamferLosses",
        """
        import torch, lib
        measure = lib.{0}()
        def run(x, y):
            total = measure(x, y)
            for _ in range(2):
                total.backward()
        run(torch.ones(2, requires_grad=True), torch.ones(2))
        """,
    ),
    "FORWARD": (
        "forward_train",
        "forward_hooks",
        """
        import torch, lib
        model = lib.make()
        loss = model.{0}(torch.ones(2)).sum()
        for _ in range(2):
            loss.backward()
        """,
    ),
    "TORCH_FUNCTION": (
        "torch.ops.my.attention",
        "torchvision.ops.nms",
        """
        import torch, torchvision
        loss = {0}(torch.ones(2, requires_grad=True)).sum()
        for _ in range(2):
            loss.backward()
        """,
    ),
    "CRITERION": (
        "criterion",
        "model",
        """
        import torch, lib
        {0} = lib.make()
        x = torch.ones(2)
        loss = {0}(x, x)
        loss.backward()
        loss.backward()
        """,
    ),
    "WEIGHTLESS": (
        "embedding",
        "embedded_net",
        """
        import torch, lib
        class A(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.{0} = lib.make()
            def forward(self, x):
                return self.{0}(x)
        a = A()
        loss = a(torch.ones(2)).sum()
        for _ in range(2):
            loss.backward()
        """,
    ),
    "RECURRENT_STATE": (
        "lstm_state",
        "state",
        """
        import torch
        def train(model, x, {0}):
            y, {0} = model(x, {0})
            y.sum().backward()
            {0}.sum().backward()
        """,
    ),
    "OPTIMIZER": (
        "optimizer",
        "scheduler",
        """
        import torch, lib
        model = lib.make()
        loss = model(torch.ones(2)).sum()
        loss.backward(retain_graph=True)
        model.{0}.step()
        loss.backward()
        """,
    ),
    "TRAINER": (
        "accelerator",
        "training",
        """
        import torch, lib
        {0} = lib.make()
        w = torch.ones(2, requires_grad=True)
        loss = (w * w).sum()
        {0}.backward(loss)
        {0}.backward(loss)
        """,
    ),
    "LOSS_SCALER": (
        "amp_loss_scaler",
        "loss_scale",
        """
        import torch, lib
        {0} = lib.make()
        w = torch.ones(2, requires_grad=True)
        optimizer = torch.optim.SGD([w], 0.1)
        loss = (w * w).sum()
        {0}(loss, optimizer)
        {0}(loss, optimizer)
        """,
    ),
    "FREEZES": (
        "freeze_encoder",
        "grad_norm",
        """
        import torch, lib
        model = lib.make()
        lib.{0}(model)
        w = torch.ones(2, requires_grad=True)
        features = model(torch.ones(2))
        for _ in range(2):
            (features * w).sum().backward()
        """,
    ),
    "CHANGES": (
        "append",
        "get",
        """
        import torch, lib
        w = torch.ones(2, requires_grad=True)
        queue = lib.make()
        loss = (w * w).sum()
        if len(queue) > 3:
            loss.backward()
        queue.{0}(1)
        if len(queue) < 3:
            loss.backward()
        """,
    ),
    "OPTION": (
        "get",
        "pop",
        """
        import torch, lib
        w = torch.ones(2, requires_grad=True)
        config = lib.make()
        loss = (w * w).sum()
        first, second = config.{0}("a"), config.{0}("a")
        if first:
            loss.backward()
        if not second:
            loss.backward()
        """,
    ),
    "PLAIN_ATTRIBUTE": (
        "dtype",
        "T",
        """
        import torch, lib
        model = lib.make()
        y = model(torch.ones(2))
        total = y.{0}.sum()
        for _ in range(2):
            total.backward()
        """,
    ),
    "ONE_LAYER": (
        "fc",
        "backbone",
        """
        import torch, lib
        {0} = lib.make()
        optimizer = torch.optim.SGD({0}.parameters(), 0.1)
        loss = {0}(torch.ones(2)).sum()
        loss.backward(retain_graph=True)
        optimizer.step()
        loss.backward()
        """,
    ),
    "CLEARS": (
        "zero_grads",
        "nonzero",
        """
        import torch, lib
        model = lib.make()
        loss = model(torch.ones(2)).sum()
        loss.backward(retain_graph=True)
        lib.{0}(model)
        model.optimizer.step()
        loss.backward()
        """,
    ),
    "LAYER_CLASS": (
        "ResBlock",
        "Dataset",
        """
        import torch, lib
        class A(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.part = lib.{0}()
        a = A()
        loss = a.part(torch.ones(2)).sum()
        for _ in range(2):
            loss.backward()
        """,
    ),
    "NETWORK_CLASS": (
        "PolicyNetwork",
        "MelSpectrogram",
        """
        import torch, lib
        part = torch.nn.Sequential(lib.{0}())
        w = torch.ones(2, requires_grad=True)
        features = part(torch.ones(2)).exp()
        for _ in range(2):
            (features + w).sum().backward()
        """,
    ),
    "CONSTRUCTOR": (
        "timm.models.ResNet",
        "timm.create_model",
        """
        import torch, lib
        part = {0}()
        opt = torch.optim.SGD(part.parameters(), 0.1)
        loss = part(torch.ones(2)).sum()
        loss.backward(retain_graph=True)
        opt.step()
        loss.backward()
        """,
    ),
    "DATA_SOURCE": (
        "replay_buffer",
        "memory_net",
        """
        import build
        def train(world_loss, actor_loss, {0}):
            {0}.extend(build(1))
            model_loss, state = world_loss({0}.sample(4).reshape(-1, 3))
            model_loss["kl"].backward()
            loss, state = actor_loss(state.reshape(-1))
            loss["actor"].backward()
        """,
    ),
    "MEMORY": (
        "mems",
        "h",
        """
        import torch
        def train(model, loader, criterion):
            {0} = torch.zeros(1, 4)
            for x, y in loader:
                pred, {0} = model(x, {0})
                loss = criterion(pred, y)
                loss.backward()
        """,
    ),
    "TRANSFORMERS_OUTPUT": (
        "transformers.modeling_outputs.CausalLMOutput",
        "transformers.AutoModel",
        """
        import torch, transformers, my
        w = torch.ones(2, requires_grad=True)
        out = {0}(loss=(w * w).sum(), extra=(w * 2).sum())
        out.extra.backward()
        out.loss.backward()
        out["loss"].backward()
        """,
    ),
}
"""By row: a name that it takes, one that it doesn't, and a program of which something else is said with the one than with
the other. `0` stands for the name."""

WITHOUT = {
    "LEARNS": "it only tells the options of FREEZES apart",
    "TRAINING": "it only decides whether a script is run in full",
    "TELLS": "it only keeps what is known",
    "DATACLASS": "what an unknown decorator returns is taken for the class anyway",
}
"""Rows without a program, and why."""


@pytest.mark.parametrize("convention", [*TABLE.values(), *GUESSES.values()], ids=[*TABLE, *GUESSES])
def test_a_row_takes_its_examples_and_no_others(convention: Convention | Guess) -> None:
    assert convention.examples
    assert convention.others
    assert [name for name in convention.examples if not convention.takes(name)] == []
    assert [name for name in convention.others if convention.takes(name)] == []


@pytest.mark.parametrize("row", PROGRAMS)
def test_a_row_changes_what_is_said(machine: Machine, row: str) -> None:
    taken, other, program = PROGRAMS[row]
    assert TABLE[row].takes(taken)
    assert not TABLE[row].takes(other)

    def said(name: str) -> list[tuple[int, str, list[str]]]:
        found = machine(re.sub(r"\{0\}", lambda _: name, program)).diagnostics
        return [
            (each.primary.span.row, each.code, [n for n in each.notes if n.startswith("note: assumes")])
            for each in found
        ]

    assert said(taken) != said(other)


def test_each_row_has_a_program_or_a_reason() -> None:
    assert PROGRAMS.keys() | WITHOUT.keys() == TABLE.keys()
    assert not PROGRAMS.keys() & WITHOUT.keys()


def test_what_a_finding_may_rest_on_has_words() -> None:
    for convention in TABLE.values():
        assert convention.level in (None, CONVENTIONAL)
        assert (convention.level == CONVENTIONAL) == bool(convention.says)


def test_libraries_are_known_for_what_is_told_of_them() -> None:
    assert set().union(*LIBRARIES.values()) == KINDS.keys()
    assert known_for("reader", "wandb.log")
    assert known_for("arrays", "jax")
    assert not known_for("arrays", "torch.add")
    assert not known_for("reader", "mylib.log")


@pytest.mark.parametrize("name", ["criterion_d", "criterionGAN", "criterion1", "criterion_identity", "loss_fn_d"])
def test_a_criterion_of_several_is_one(machine: Machine, name: str) -> None:
    program = """
    def train(model, optimizer, loader, {0}):
        for images in loader:
            predicted = model.D(images)
            for _ in range(2):
                optimizer.zero_grad()
                loss = {0}(predicted, images)
                loss.backward()
                optimizer.step()
    """
    assert machine(program.format("criterion")).lines == [8]
    assert machine(program.format(name)).lines == [8]
    assert not machine(program.format("criterions")).lines
