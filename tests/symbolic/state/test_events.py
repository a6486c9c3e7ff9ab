"""The machine emits what happens; whoever wants to know subscribes, and nobody has to."""

from __future__ import annotations

from retainlint.lowering import lower
from retainlint.symbolic.interpreter.machine import Interpreter
from retainlint.symbolic.state import events
from retainlint.symbolic.state.protocol import Machine
from retainlint.symbolic.state.state import State
from retainlint.text.source import Source

PROGRAM = """
import torch
w = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
loss = (w * w).sum()
losses = []
losses.append(loss)
loss.backward()
optimizer.step()
loss.backward()
"""


def heard(*kinds: type) -> list[object]:
    """The events of some kinds, in the order in which the machine emitted them."""
    found: list[object] = []

    def listening(machine: Machine) -> events.Events:
        listeners = events.Events()
        for kind in kinds:
            listeners.subscribe(kind, found.append)
        return listeners

    program = lower(Source("train.py", PROGRAM))
    machine = Interpreter(program, 10_000, listeners=listening)
    state = State(machine.imports.base)
    machine.imports.of[program.source] = state.push(program.module, None, None)
    machine.run(program.module.body, [state])
    return found


def test_events_come_in_the_order_of_the_program() -> None:
    kinds = (events.Stored, events.Backward, events.Step, events.Reused)
    assert [type(event) for event in heard(*kinds)] == [
        events.Stored, events.Backward, events.Step, events.Reused, events.Backward
    ]  # fmt: skip


def test_who_subscribes_to_nothing_hears_nothing() -> None:
    assert heard() == []
