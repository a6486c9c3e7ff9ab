"""Scripts that set up a trainer of another module: one that comes to no walk in time is left, and nothing is missed."""

from __future__ import annotations

import pytest

from retainlint.files import Held
from retainlint.incident import Exploration
from retainlint.lowering import lower
from retainlint.modules import Modules
from retainlint.project import Project
from retainlint.source import Source
from retainlint.symbolic import explore, explorer, scripts

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


def look(script: str, keep: str = "pass", first: str = "kept = 0.0", more: str = "", core: str = CORE) -> Exploration:
    main = MAIN.format(prepare=PREPARE, first=first, keep=keep, script=script, more=more)
    files = {"core.py": core.encode(), "main.py": main.encode()}
    project = Project(Modules("main.py", Held(files)), lower, files["main.py"])
    return explore(lower(Source("main.py", main)), project=project)


def is_left(found: Exploration) -> bool:
    return any("the script was left" in gap.reason for gap in found.gaps)


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
    script: str, keep: str, first: str, more: str, fails: bool
) -> None:
    seen = look(script, keep, first, more)
    assert is_left(seen) is ("prepare" in script)
    assert bool(seen.incidents) is fails


def test_a_script_that_is_left_costs_little() -> None:
    assert look(f"prepare('data'); {FIT}").steps < look(f"{FIT}; prepare('data')").steps


def test_a_script_that_leads_elsewhere_too_is_run() -> None:
    seen = look(
        f"prepare('data'); train(torch.nn.Linear(3, 3)); {FIT}", more="\nfrom core import train\n", core=CORE + TRAIN
    )
    assert not is_left(seen)
    assert [incident.primary.source.name for incident in seen.incidents] == ["core.py"]


def test_a_script_is_run_where_what_is_inherited_comes_to_no_walk_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explorer, "enter", lambda *given, **named: None)
    seen = look(f"prepare('data'); {FIT}", KEEP)
    assert [incident.primary.source.name for incident in seen.incidents] == ["core.py"]


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
    assert scripts.guard(lower(Source("main.py", text)).module.body) == at


def test_names_that_a_script_would_have_bound_may_be_anything() -> None:
    keep = "loss = loss * scale; " + KEEP
    seen = look(f"prepare('data'); scale = 2.0; {FIT}", keep)
    assert is_left(seen)
    assert seen.incidents
