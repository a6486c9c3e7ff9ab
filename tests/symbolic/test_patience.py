"""Where nothing new is come to, few siblings are followed; and all again, where something was found meanwhile."""

from __future__ import annotations

import pytest

from retainlint.incident import Exploration, Incident
from retainlint.lowering import lower
from retainlint.source import Source
from retainlint.symbolic import choosing, explore, machine

HELPERS = """
import torch


def pick(options, part):
    found = []
    for each in part:
        if each.first:
            found.append(options.first(each))
        if each.second:
            found.append(None)
    return found


def train(options, net, data):
"""
CALLS = "".join(f"    x{n} = pick(options, options.part{n})\n" for n in range(4))
USED = f"    print({', '.join(f'x{n}' for n in range(4))})\n"
SOUND = "    loss = net(data).mean()\n    loss.backward()\n"
TWICE = "    h = net(data)\n    h.mean().backward()\n    if options.more:\n        (h * h).mean().backward()\n"


def explored(text: str) -> Exploration:
    return explore(lower(Source("train.py", HELPERS + CALLS + text + USED)))


def asked(incident: Incident) -> list[tuple[str, bool]]:
    return [(each.span.text, each.taken) for each in incident.conditions]


def test_what_is_run_again_takes_fewer_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    hurried = explored(SOUND)
    monkeypatch.setattr(choosing, "BORED", ())
    patient = explored(SOUND)
    assert not hurried.incidents and not patient.incidents
    assert hurried.steps < 0.7 * patient.steps


def test_what_is_found_is_found_again_with_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    (hurried,) = explored(TWICE).incidents
    monkeypatch.setattr(choosing, "BORED", ())
    (patient,) = explored(TWICE).incidents
    assert hurried.primary.text == patient.primary.text
    assert asked(hurried) == asked(patient) == [("options.more", True)]


def test_patience_ends_with_its_entry() -> None:
    engine = machine.Interpreter(lower(Source("train.py", "")), 100_000)
    engine.steps, engine.woken, engine.patient = 700, 100, True
    assert engine.room == choosing.OWN.widest
    engine.patient = False
    assert engine.idle == 600
    assert engine.room == choosing.OWN.widest // 4


def test_straight_code_is_all_new() -> None:
    rows = "".join(f"    a{n} = data.f{n}(options.g{n})\n" for n in range(200))
    choice = "    x = net(data) if options.a else net(options)\n"
    walks = "    x.mean().backward()\n    (x * x).mean().backward()\n"
    (incident,) = explore(lower(Source("train.py", HELPERS + choice + rows + walks))).incidents
    assert not incident.conditions
