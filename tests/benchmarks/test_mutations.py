"""Every class of mutation breaks a working program where it says, real torch being the judge."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.truth.judging import kind_of
from benchmarks.truth.mutants import MAKERS, Mutant, mutants
from benchmarks.truth.mutations import MARKS, Case, Outcome, chosen, kept, measured, note, put_into

CLASSIFIER = """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train(batches):
    for inputs, targets in batches:
        outputs = model(inputs)
        loss = criterion(outputs, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item())


train([(torch.randn(3, 4), torch.randn(3, 1)) for _ in range(3)])
"""
ADVERSARIAL = """\
import torch
from torch import nn

netG = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 4))
netD = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
optimizerD = torch.optim.Adam(netD.parameters())
optimizerG = torch.optim.Adam(netG.parameters())

for _ in range(2):
    fake = netG(torch.randn(3, 2))
    lossD = netD(fake.detach()).exp().mean()
    lossD.backward()
    optimizerD.step()
    optimizerD.zero_grad()
    output = netD(fake)
    lossG = -output.mean()
    lossG.backward()
    optimizerG.step()
"""
HEADS = """\
import torch
from torch import nn

encoder = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 4))
features = encoder(torch.randn(3, 2))
one = (features ** 2).mean()
two = torch.exp(features).mean()
one.backward(retain_graph=True)
two.backward()
"""
PROGRAMS = {"classifier": CLASSIFIER, "adversarial": ADVERSARIAL, "heads": HEADS}
EVERY = [(name, mutant) for name, text in PROGRAMS.items() for mutant in mutants(text)]


def judged(text: str, folder: Path) -> tuple[str | None, int | None]:
    pytest.importorskip("torch")
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from judge_torch import judge

    path = folder / "program.py"
    path.write_text(text)
    verdict = judge(path)
    return kind_of(verdict.error, verdict.sentence) or verdict.error, verdict.line


def test_each_class_is_there() -> None:
    assert len({mutant.kind for _, mutant in EVERY}) == len(MAKERS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_programs_run(name: str, tmp_path: Path) -> None:
    assert judged(PROGRAMS[name], tmp_path) == (None, None)


@pytest.mark.parametrize(("name", "mutant"), EVERY, ids=[f"{n}-{m.kind}-{m.row}" for n, m in EVERY])
def test_a_mutant_raises_where_it_says_and_is_found(name: str, mutant: Mutant, tmp_path: Path) -> None:
    kind, line = judged(mutant.text, tmp_path)
    assert kind in ("freed", "modified")
    assert line == mutant.row
    path = tmp_path / f"{name}.py"
    path.write_text(PROGRAMS[name])
    assert measured(Case(path, mutant)).word == "found"


@pytest.mark.parametrize(
    "text",
    [
        "import numpy\nloss = net(x)\nloss.backward()\n",
        "import torch\nloss.backward()\n",
        "import torch\nwith pytest.raises(RuntimeError):\n    loss = net(x)\n    loss.backward()\n",
        "import torch\nclass F(torch.autograd.Function):\n    def backward(self, g):\n        loss = net(g)\n        loss.backward()\n",
        "import torch\nloss = torch.tensor(1.0)\nloss.backward()\n",
        "import torch\nloss = net(x).detach()\nloss.backward()\n",
        "import torch\nfabric = setup(net(x))\nfabric.backward(net(x).sum())\n",
        "import torch\nprofile = False\nif profile:\n    loss = net(x)\n    loss.backward()\n",
        "import torch\nquick = True\nif not quick:\n    def train():\n        loss = net(x)\n        loss.backward()\n",
        "import torch\nquick = True\nif quick:\n    print(1)\nelse:\n    loss = net(x)\n    loss.backward()\n",
    ],
)  # fmt: skip
def test_nothing_is_made_of_what_is_not_certain(text: str) -> None:
    assert not list(mutants(text))


@pytest.mark.parametrize(
    "text",
    [
        "profile = True\nif profile:\n    loss = net(x)\n    loss.backward()\n",
        "profile = False\nprofile = ask()\nif profile:\n    loss = net(x)\n    loss.backward()\n",
        "profile = False\ndef f(profile):\n    if profile:\n        loss = net(x)\n        loss.backward()\n",
        "profile = False\nif not profile:\n    loss = net(x)\n    loss.backward()\n",
        "profile = False\nif profile:\n    print(1)\nelse:\n    loss = net(x)\n    loss.backward()\n",
    ],
)
def test_what_a_constant_does_not_switch_off_is_broken(text: str) -> None:
    assert len(list(mutants("import torch\n" + text))) == 2


@pytest.mark.parametrize(("between", "made"), [("", 1), ("fake = pool.query(fake)\n", 0)])
def test_no_cut_is_taken_away_behind_what_may_cut_itself(between: str, made: int) -> None:
    text = (
        f"import torch\nfake = netG(z)\n{between}loss_D = criterion(netD(fake.detach()), zero)\nloss_D.backward()\n"
        "loss_G = criterion(netD(fake), one)\nloss_G.backward()\n"
    )
    assert [mutant.kind for mutant in mutants(text)].count("detach deleted") == made


def test_a_file_that_is_indented_by_tabs_stays_python() -> None:
    broken = list(mutants(CLASSIFIER.replace("    ", "\t")))
    assert {mutant.kind for mutant in broken} >= {"backward pass put into a loop", "backward pass doubled"}
    for mutant in broken:
        compile(mutant.text, "mutant", "exec")


def test_a_kept_walk_is_not_doubled() -> None:
    kinds = {mutant.kind for mutant in mutants("import torch\nloss = net(x)\nloss.backward(retain_graph=True)\n")}
    assert not kinds


@pytest.mark.parametrize(
    ("second", "sure"),
    [
        ("(losses['actor'] * 2).mean()", True),
        ("losses['critic'].mean() + losses.get('actor', 0.0).mean()", True),
        ("sum(losses.values()).mean()", True),
        ("losses['critic'].mean()", False),
        ("losses['critic'].mean() + losses.get('entropy', 0.0)", False),
    ],
)
def test_items_of_one_forward_need_not_share_a_graph(second: str, sure: bool) -> None:
    text = f"""\
import torch
losses = net(x)
one = losses['actor'].mean()
two = {second}
one.backward(retain_graph=True)
two.backward()
"""
    assert sure == any(mutant.kind == "retain_graph deleted" for mutant in mutants(text))


def test_a_gradient_asked_for_between_two_walks_raises_before_the_second() -> None:
    asked = HEADS.replace("two.backward()", "slope = torch.autograd.grad(features.sum(), x)\ntwo.backward()")
    assert not any(mutant.kind == "retain_graph deleted" for mutant in mutants(asked))


def test_a_sample_takes_small_classes_whole_and_is_the_same_for_a_seed() -> None:
    cases = [Case(Path(f"{n}.py"), Mutant("many" if n else "few", "", n, (1, 1), "")) for n in range(30)]
    sample = chosen(cases, 10, 3)
    assert sample == chosen(cases, 10, 3)
    assert len(sample) == 10
    assert sum(case.mutant.kind == "few" for case in sample) == 1


STEPPED = """\
import torch
from torch import nn
{body}
for inputs, targets in batches:
    loss = (model(inputs) - targets).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
OWN = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)"
NOT_CERTAIN = {
    "one layer": f"model = nn.Linear(4, 1)\n{OWN}",
    "one layer, and an activation": f"model = nn.Sequential(nn.Linear(4, 1), nn.Tanh())\n{OWN}",
    "a class of two numbers": "class Line(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    f"        self.a = nn.Parameter(torch.zeros(1))\n    def forward(self, x):\n        return x * self.a\nmodel = Line()\n{OWN}",
    "derived from one layer, with its optimiser": "class Line(nn.Linear):\n    def __init__(self, i, o):\n"
    f"        super().__init__(i, o)\n        self.opt = torch.optim.SGD(self.parameters(), lr=0.1)\nmodel = Line(4, 1)\n{OWN}",
    "a layer of two without a graph": "class Cut(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 1)\n    def forward(self, x):\n"
    f"        with torch.no_grad():\n            x = self.a(x)\n        return self.b(x)\nmodel = Cut()\n{OWN}",
    "embeddings": "class Pairs(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    f"        self.a, self.b = nn.Embedding(9, 3), nn.Embedding(9, 3)\nmodel = Pairs()\n{OWN}",
    "another network's optimiser": "model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))\nhead = nn.Linear(4, 1)\n"
    "optimizer = torch.optim.SGD(head.parameters(), lr=0.1)",
    "frozen": "model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))\n"
    f"for p in model.parameters():\n    p.requires_grad = False\n{OWN}",
    "imported, of one layer": f"from single import Single\nmodel = Single()\n{OWN}",
}
CERTAIN = {
    "two layers": f"model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))\n{OWN}",
    "two layers in a class, and a wrapper": "class Two(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    f"        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 1)\nmodel = nn.DataParallel(Two())\n{OWN}",
    "not read": f"from somewhere import Net\nmodel = Net()\n{OWN}",
}


def stepped(body: str, folder: Path) -> list[str]:
    (folder / "single.py").write_text(
        "from torch import nn\nclass Single(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.only = nn.Linear(4, 1)\n"
    )
    made = mutants(STEPPED.format(body=body), folder / "program.py")
    return [mutant.kind for mutant in made if mutant.kind == "step between two backward passes"]


@pytest.mark.parametrize("name", NOT_CERTAIN)
def test_no_step_is_put_where_it_may_be_legal(name: str, tmp_path: Path) -> None:
    assert stepped(NOT_CERTAIN[name], tmp_path) == []


def test_no_step_is_put_where_the_graph_is_that_of_a_copy() -> None:
    text = STEPPED.format(body=CERTAIN["not read"]).replace("    loss =", "    copied = model.clone()\n    loss =")
    for called in ("model", "copied"):
        made = mutants(text.replace("(model(inputs)", f"({called}(inputs)"))
        assert [mutant.kind for mutant in made].count("step between two backward passes") == (called == "model")


@pytest.mark.parametrize("name", CERTAIN)
def test_a_step_is_put_where_it_raises(name: str, tmp_path: Path) -> None:
    assert len(stepped(CERTAIN[name], tmp_path)) == 1


def test_what_was_measured_is_kept_for_the_next_run(tmp_path: Path) -> None:
    several = [Case(tmp_path / "program.py", Mutant("kind", f"text {n}", n, (1, 1), "")) for n in range(3)]
    log = tmp_path / "log"
    assert kept(log, several) == {}
    note(log, Outcome(several[1], "found", "", "script", "error"))
    with log.open("a") as file:
        file.write('{"key": "cut sho')
    assert kept(log, several) == {1: Outcome(several[1], "found", "", "script", "error")}


def test_a_table_is_put_between_its_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n{MARKS[0]}\nold\n{MARKS[1]}\n\nmore\n")
    put_into(page, ["", "| new |", ""])
    assert page.read_text() == f"# Page\n\n{MARKS[0]}\n\n| new |\n\n{MARKS[1]}\n\nmore\n"
    page.write_text("no marks\n")
    with pytest.raises(SystemExit):
        put_into(page, [])
    assert page.read_text() == "no marks\n"
