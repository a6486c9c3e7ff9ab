"""A function that nobody calls takes what the only parser of its module gives, if all that it reads of it are options of that."""

from __future__ import annotations

import pytest
from machine import Machine

from retainlint.diagnostic import Severity

BUILDER = """
def build_parser():
    parser = argparse.ArgumentParser()
    parser.add_argument('--inner', type=int, default={default})
    parser.add_argument('--rate', type=float, default=0.1)
    return parser
"""
NAMED = """
parser = argparse.ArgumentParser()
parser.add_argument('--inner', type=int, default={default})
"""
MAIN = """
def main(flags):
    h = w * w
    for k in range(flags.inner):
        (h * h).sum().backward()
"""

PARSED = {  # each reads the option
    "a function that returns the parser": BUILDER + MAIN,
    "a function that parses": BUILDER + "def parse():\n    return build_parser().parse_args()\n" + MAIN,
    "a parser of the module": NAMED + MAIN,
    "beside other arguments": NAMED + MAIN.replace("main(flags)", "train(model, args)").replace("flags", "args").replace("    h =", "    model.train()\n    h ="),
    "handed on": BUILDER + MAIN.replace("main(flags)", "fit(cfg)").replace("flags", "cfg") + "def run(args):\n    fit(args)\n",
    "kept by an object": BUILDER + MAIN.replace("def main(flags)", "class Trainer:\n  def __init__(self, cfg):\n    self.cfg = cfg\n  def fit(self)").replace("flags", "self.cfg") + "def main(flags):\n    Trainer(flags).fit()\n",
    "kept in a namespace": BUILDER + MAIN.replace("main(flags)", "fit(state)").replace("flags", "state.cfg") + "def main(flags):\n    fit(argparse.Namespace(cfg=flags))\n",
    "annotated": BUILDER + MAIN.replace("(flags)", "(flags: argparse.Namespace)"),
    "said by the function": BUILDER + MAIN.replace("    h =", "    flags.device = 'cpu'\n    print(flags.device)\n    h ="),
}  # fmt: skip

OTHERS = {  # nothing says that what is parsed goes there
    "no parser": MAIN,
    "two parsers": BUILDER + BUILDER.replace("build_parser", "build_another") + MAIN,
    "two parsers of the module": NAMED + NAMED.replace("parser", "other") + MAIN,
    "what is no option": BUILDER + MAIN.replace("    h =", "    print(flags.verbose)\n    h ="),
    "what is no option of what is kept": BUILDER + MAIN.replace("def main(flags)", "class Trainer:\n  def __init__(self, cfg):\n    self.cfg = cfg\n  def fit(self)").replace("flags", "self.cfg").replace("    h =", "    print(self.cfg.verbose)\n    h =") + "def main(flags):\n    Trainer(flags).fit()\n",
    "somebody else asks it": BUILDER + MAIN + "def show():\n    print(build_parser().parse_args().rate)\n",
    "somebody else parses": NAMED + MAIN + "def show():\n    print(parser.parse_args().rate)\n",
    "annotated otherwise": BUILDER + MAIN.replace("(flags)", "(flags: 'Config')"),
    "called otherwise": BUILDER + MAIN + "def start(n):\n    main(argparse.Namespace(inner=n))\n",
}  # fmt: skip


def program(text: str, default: int) -> str:
    head = "import argparse\nimport torch\nw = torch.ones(3, requires_grad=True)\n"
    return head + text.replace("{default}", str(default))


@pytest.mark.parametrize("name", PARSED)
def test_what_fails_by_another_value_than_the_default_is_a_warning(machine: Machine, name: str) -> None:
    (told,) = machine(program(PARSED[name], 1)).diagnostics
    assert told.severity is Severity.WARNING and any("not by default" in note for note in told.notes)


@pytest.mark.parametrize("name", PARSED)
def test_what_fails_by_default_is_an_error(machine: Machine, name: str) -> None:
    (told,) = machine(program(PARSED[name], 2)).diagnostics
    assert told.severity is Severity.ERROR


@pytest.mark.parametrize("name", OTHERS)
def test_otherwise_it_is_unknown(machine: Machine, name: str) -> None:
    (told,) = machine(program(OTHERS[name], 1)).diagnostics
    assert told.severity is Severity.ERROR


OBJECT = """
parser = argparse.ArgumentParser()
parser.add_argument('--retain', type=bool, default={default})
class Scaler:
    def backward(self, loss, **kwargs):
        (loss * 8).backward(**kwargs)
class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        self.scaler = Scaler()
    def fit(self):
        loss = w.exp().sum()
        self.scaler.backward(loss, retain_graph=self.cfg.retain)
        self.scaler.backward(loss)
def main(flags):
    Trainer(flags).fit()
"""


def test_a_method_that_it_leads_to_is_not_run_with_other_values(machine: Machine) -> None:
    text = "import argparse\nimport torch\nw = torch.ones(3, requires_grad=True)\n" + OBJECT
    assert machine(text.format(default=True)).lines == []
    assert machine(text.format(default=False)).lines == [9]
