"""Scripts that set up a trainer of another module: one that comes to no walk in time is left, and nothing is missed."""

from __future__ import annotations

import pytest
from machine import Machine

from retainlint.lowering import lower
from retainlint.symbolic.exploration import explorer, script_entry
from retainlint.text.source import Source

CORE = """\
import torch

class Brain:
    def __init__(self, net, batches):
        self.net, self.batches = net, batches
        self.optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def compute_objectives(self, batch):
        raise NotImplementedError

    def on_stage_start(self, stage):
        pass

    def on_batch_end(self, loss):
        pass

    def fit_batch(self, batch):
        loss = self.compute_objectives(batch)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.on_batch_end(loss)

    def fit(self, epochs):
        for epoch in range(epochs):
            self.on_stage_start(epoch)
            for batch in self.batches:
                self.fit_batch(batch)
"""
TRAIN = """
def train(model):
    loss = model(torch.ones(3)).sum()
    loss.backward()
    loss.backward()
"""
MAIN = """\
import torch
from core import Brain

{prepare}
class Recipe(Brain):
    {first}

    def compute_objectives(self, batch):
        loss = self.net(batch).pow(2).mean()
        {keep}
        return loss
{more}
if __name__ == "__main__":
    {script}
"""
PREPARE = "def prepare(path):\n    names = []\n" + "    names.append(path + '/train')\n" * 300 + "    return names\n"
FIT = "Recipe(torch.nn.Linear(3, 3), [torch.ones(3)] * 4).fit(2)"
KEEP = "loss = self.kept = self.kept + loss"
START = "def on_stage_start(self, stage):\n        self.kept = 0.0"


LEFT = "the script was left"


def program(script: str, keep: str = "pass", first: str = "kept = 0.0", more: str = "") -> str:
    return MAIN.format(prepare=PREPARE, first=first, keep=keep, script=script, more=more)


@pytest.mark.parametrize("script", [f"{FIT}", f"names = prepare('data'); {FIT}"])
@pytest.mark.parametrize(
    ("keep", "first", "more", "fails"),
    [
        ("pass", "kept = 0.0", "", False),
        (KEEP, "kept = 0.0", "", True),
        (KEEP, START, "", True),
        (KEEP + "; self.kept = self.kept.detach()", START, "", False),
        (KEEP, START, "\n    def on_batch_end(self, loss):\n        self.kept = 0.0\n", False),
        (KEEP, "kept = 0.0", "\n    def on_batch_end(self, loss):\n        self.kept = loss.detach()\n", False),
        ("self.kept = loss", "kept = 0.0", "", False),
    ],
)
def test_what_is_kept_is_found_whether_the_script_is_left_or_not(
    machine: Machine, script: str, keep: str, first: str, more: str, fails: bool
) -> None:
    seen = machine(program(script, keep, first, more), core=CORE)
    assert seen.says(LEFT) is ("prepare" in script)
    assert bool(seen.incidents) is fails


def test_a_script_that_is_left_costs_little(machine: Machine) -> None:
    assert (
        machine(program(f"prepare('data'); {FIT}"), core=CORE).steps
        < machine(program(f"{FIT}; prepare('data')"), core=CORE).steps
    )


OWN = """
    def fit_batch(self, batch):
        loss = self.compute_objectives(batch)
        loss.backward()
        {again}
        self.optimizer.step()
        self.optimizer.zero_grad()
"""


@pytest.mark.parametrize(("again", "fails"), [("pass", False), ("loss.backward()", True)])
def test_a_script_is_left_too_if_its_own_walks_stand_in_what_the_trainer_calls(
    machine: Machine, again: str, fails: bool
) -> None:
    own = OWN.format(again=again)
    seen, whole = (
        machine(program(f"prepare('data'); {FIT}", more=own), core=CORE),
        machine(program(f"{FIT}; prepare('data')", more=own), core=CORE),
    )
    assert seen.says(LEFT)
    assert not whole.says(LEFT)
    assert bool(seen.incidents) is bool(whole.incidents) is fails
    assert seen.steps < whole.steps


@pytest.mark.parametrize("keep", ["pass", KEEP])
def test_what_an_heir_passes_on_to_its_trainer_is_run(machine: Machine, keep: str) -> None:
    more = "\n    def fit_batch(self, batch):\n        return super().fit_batch(batch)\n"
    seen = machine(program(f"prepare('data'); {FIT}", keep, more=more), core=CORE)
    assert seen.says(LEFT)
    assert bool(seen.incidents) is (keep == KEEP)


@pytest.mark.parametrize(
    ("script", "more"),
    [
        (f"prepare('data'); {FIT}; torch.ones(1, requires_grad=True).exp().backward()", ""),
        (f"prepare('data'); walk(torch.ones(1)); {FIT}", "\ndef walk(x):\n    x.exp().backward()\n"),
        (f"prepare('data'); {FIT}", "\n    def walk(self, x):\n        x.exp().backward()\n"),
    ],
)
def test_a_script_with_a_walk_that_no_trainer_comes_to_is_run(machine: Machine, script: str, more: str) -> None:
    assert not machine(program(script, more=more), core=CORE).says(LEFT)


def test_a_script_that_does_the_trainers_work_itself_is_run(machine: Machine) -> None:
    script = "prepare('data'); recipe = Recipe(torch.nn.Linear(3, 3), [])"
    own = "\n    def fit_batch(self, batch):\n        self.compute_objectives(batch).backward()\n"
    assert machine(program(f"{script}; recipe.fit(3)", more=own), core=CORE).says(LEFT)
    assert not machine(
        program(f"{script}; [recipe.fit_batch(torch.ones(3)) for _ in range(3)]", more=own), core=CORE
    ).says(LEFT)


@pytest.mark.parametrize(("behind", "left"), [("def test():\n    pass\n", True), ("print(1)\n", False)])
def test_functions_may_stand_behind_a_script(machine: Machine, behind: str, left: bool) -> None:
    assert machine(program(f"prepare('data'); {FIT}\n\n{behind}"), core=CORE).says(LEFT) is left


def test_a_function_inside_another_is_the_programs_own(machine: Machine) -> None:
    """The other module has one of that name, which walks."""
    core = CORE + "\ndef pipeline(x):\n    x.backward()\n"
    inner = "\ndef items():\n    def pipeline(x):\n        return x\n    return pipeline\n"
    assert machine(program(f"prepare('data'); items(); {FIT}", more=inner), core=core).says(LEFT)


def test_what_leads_to_the_trainer_alone_is_not_run_for_itself_where_the_script_was_left(machine: Machine) -> None:
    more = "\n    def again(self):\n        self.fit(2)\n        self.fit(3)\n"
    assert (
        machine(program(f"prepare('data'); {FIT}", more=more), core=CORE).steps
        < machine(program(f"prepare('data'); {FIT}"), core=CORE).steps + 10
    )


def test_a_script_that_leads_elsewhere_too_is_run(machine: Machine) -> None:
    seen = machine(
        program(f"prepare('data'); train(torch.nn.Linear(3, 3)); {FIT}", more="\nfrom core import train\n"),
        core=CORE + TRAIN,
    )
    assert not seen.says(LEFT)
    assert [file for file, _ in seen.places] == ["core.py"]


def test_a_script_is_run_where_what_is_inherited_comes_to_no_walk_by_itself(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explorer, "enter", lambda *given, **named: None)
    seen = machine(program(f"prepare('data'); {FIT}", KEEP), core=CORE)
    assert [file for file, _ in seen.places] == ["core.py"]


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("if __name__ == '__main__':\n    a()\n", 3),
        ("if '__main__' == __name__:\n    a()\n", 3),
        ("if (__name__ == '__main__'):\n    a()\n", 3),
        ("if __name__ == '__main__':\n    a()\nb()\n", None),
        ("if __name__ == '__main__':\n    a()\nelse:\n    b()\n", None),
        ("if __name__ != '__main__':\n    a()\n", None),
        ("if name == '__main__':\n    a()\n", None),
        ("", None),
    ],
)
def test_a_script_is_what_only_runs_as_the_program(text: str, at: int | None) -> None:
    assert script_entry.guard(lower(Source("main.py", text)).module.body) == at


def test_names_that_a_script_would_have_bound_may_be_anything(machine: Machine) -> None:
    keep = "loss = loss * scale; " + KEEP
    seen = machine(program(f"prepare('data'); scale = 2.0; {FIT}", keep), core=CORE)
    assert seen.says(LEFT)
    assert seen.incidents
