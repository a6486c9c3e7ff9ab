"""The script that shows a failure fails in torch, whatever operation of the table it stands for."""

from __future__ import annotations

import warnings

import pytest
from machine import Machine

from retainlint.autograd.operations import RESULT, UNCHECKED, Row, rows
from retainlint.incident import Modified

torch = pytest.importorskip("torch", reason="real torch is the judge here")

FREED = "out.sum().backward()\nout.sum().backward()\n"
CHANGED = "out.sum().backward(retain_graph=True)\nwith torch.no_grad():\n    {0}.add_(1)\nout.sum().backward()\n"
SAVING = {name: row for name, row in rows().items() if row.slots and row.names}


def _program(row: Row, data: int | None, end: str) -> str:
    """A program that makes `out` by an operation, of leaves, but for one operand that may need no gradient."""
    given = ["None"] * (max(row.places) + 1)
    text = "import torch\n"
    for at, (name, place) in enumerate(zip(row.inputs, row.places, strict=True)):
        several, needs = name.endswith("*"), "" if at == data else ", requires_grad=True"
        text += f"t{at} = torch.rand(2, 2{needs})\n"
        given[place] = f"[t{at}, t{at} * 2]" if several else f"t{at}"
    taken = "[0]" if row.fields or not row.result.isdisjoint(("list", "indexed")) else ""
    return f"{text}out = torch.{row.names[0]}({', '.join(given)}){taken}\n{end}"


def _raises(script: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(script, {})
        except RuntimeError as error:
            return str(error)
    return ""


@pytest.mark.parametrize("name", sorted(SAVING))
def test_what_was_freed(machine: Machine, name: str) -> None:
    for incident in machine(_program(SAVING[name], None, FREED)).incidents:
        assert incident.witness is not None
        assert "second time" in _raises(incident.witness.script), incident.witness.script


CHANGEABLE = sorted(name for name, row in SAVING.items() if any(slot.source != UNCHECKED for slot in row.slots))


@pytest.mark.parametrize("name", CHANGEABLE)
def test_what_was_changed(machine: Machine, name: str) -> None:
    row = SAVING[name]
    for changed in {slot.source for slot in row.slots} - {UNCHECKED}:
        tensor = "out" if changed == RESULT else f"t{changed}"
        for data in (None, *range(len(row.inputs))):
            for incident in machine(_program(row, data, CHANGED.format(tensor))).incidents:
                if isinstance(incident, Modified):
                    assert incident.witness is not None
                    assert "modified by an inplace" in _raises(incident.witness.script), incident.witness.script


@pytest.mark.parametrize("at", [0, 1, 4])
def test_an_input_that_is_not_used_stands_where_it_was_asked_for(machine: Machine, at: int) -> None:
    used = ", ".join(("w",) * at + ("x",))
    leaves = "w, x = torch.rand(2, requires_grad=True), torch.rand(2, requires_grad=True)"
    (incident,) = machine(f"import torch\n{leaves}\ntorch.autograd.grad(w.exp().sum(), [{used}, w])\n").incidents
    assert incident.witness is not None
    assert incident.witness.error == _raises(incident.witness.script)
    assert f"at index {at} " in incident.witness.error
