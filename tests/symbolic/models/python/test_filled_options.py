"""What libraries fill from a command line or the environment is by default what the program says: a failure by another value is a
warning, one by default an error."""

from __future__ import annotations

import pytest
from machine import Machine

from retainlint.diagnostic import Severity

BODY = """
def work(cfg=None):
    w, h = torch.ones(2, requires_grad=True), torch.zeros(2)
    for _ in range(3):
        h = torch.tanh(h + w)
        h.sum().backward()
        if {asked}:
            h = h.detach()
"""

RECORD = """
from dataclasses import dataclass, field
@dataclass
class Config:
    lr: float = 0.1
    keep: bool = {default}
    out: str = None
    sizes: list = field(default_factory=list)
"""

NESTED = """
from dataclasses import dataclass, field
@dataclass
class Train:
    keep: bool = {default}
@dataclass
class Config:
    train: Train = field(default_factory=Train)
"""

YES_NO = ("True", "False")
WORDS = ("'on'", "'off'")
SIGNS = ("'1'", "'0'")

PROGRAMS = {  # what is declared, what is asked, what is called, and the default by which nothing fails and another
    "absl": ("from absl import flags\nflags.DEFINE_bool('keep', {default}, '')", "flags.FLAGS.keep", "work()", YES_NO),
    "absl's holder": ("from absl import flags\nKEEP = flags.DEFINE_boolean('keep', {default}, '')", "KEEP.value", "work()", YES_NO),
    "absl's words": ("from absl import flags\nflags.DEFINE_enum('mode', {default}, ['on', 'off'], '')", "flags.FLAGS.mode == 'on'", "work()", WORDS),
    "absl without": ("from absl import flags\nflags.DEFINE_string('path', {default}, '')", "flags.FLAGS.path is None", "work()", ("None", "'a'")),
    "argparse without": ("import argparse\np = argparse.ArgumentParser()\np.add_argument('--path', default={default})", "cfg.path is None", "work(p.parse_args())", ("None", "'a'")),
    "argparse's dict": ("import argparse\np = argparse.ArgumentParser()\np.add_argument('--keep', default={default})", "cfg['keep']", "work(vars(p.parse_args()))", YES_NO),
    "argparse's methods": ("import argparse\np = argparse.ArgumentParser()\np.add_argument('--mode', default={default})", "cfg.mode.lower() in ['on', 'yes']", "work(p.parse_args())", ("'ON'", "'off'")),
    "a flag of two names": ("import argparse\np = argparse.ArgumentParser()\np.add_argument('--keep', action=argparse.BooleanOptionalAction, default={default})", "cfg.keep", "work(p.parse_args())", YES_NO),
    "tyro": ("import tyro" + RECORD, "cfg.keep", "work(tyro.cli(Config))", YES_NO),
    "tyro's own default": ("import tyro" + RECORD, "cfg.keep", "work(tyro.cli(Config, default=Config(keep={default})))", YES_NO),
    "tyro nested": ("import tyro" + NESTED, "cfg.train.keep", "work(tyro.cli(Config))", YES_NO),
    "tyro's function": ("import tyro", "cfg", "def main(keep: bool = {default}):\n    work(keep)\ntyro.cli(main)", YES_NO),
    "tyro's function of a record": ("import tyro" + RECORD, "cfg.keep", "def main(cfg: Config):\n    work(cfg)\ntyro.cli(main)", YES_NO),
    "simple_parsing": ("import simple_parsing" + RECORD, "cfg.keep", "work(simple_parsing.parse(Config))", YES_NO),
    "simple_parsing's parser": ("from simple_parsing import ArgumentParser" + RECORD, "cfg.keep", "p = ArgumentParser()\np.add_arguments(Config, dest='one')\nwork(p.parse_args().one)", YES_NO),
    "transformers": ("from transformers import HfArgumentParser" + RECORD, "cfg.keep", "(cfg,) = HfArgumentParser(Config).parse_args_into_dataclasses()\nwork(cfg)", YES_NO),
    "chz": ("import chz\n@chz.chz\nclass Config:\n    keep: bool = chz.field(default={default})", "cfg.keep", "def main(cfg: Config):\n    work(cfg)\nchz.nested_entrypoint(main)", YES_NO),
    "jsonargparse": ("from jsonargparse import CLI", "cfg", "def main(keep: bool = {default}):\n    work(keep)\nCLI(main)", YES_NO),
    "tap": ("from tap import Tap\nclass Config(Tap):\n    keep: bool = {default}", "cfg.keep", "work(Config().parse_args())", YES_NO),
    "typer": ("import typer\napp = typer.Typer()", "cfg", "@app.command()\ndef main(keep: bool = typer.Option({default})):\n    work(keep)\napp()", YES_NO),
    "typer runs": ("import typer", "cfg == 'on'", "def main(mode: str = typer.Argument({default})):\n    work(mode)\ntyper.run(main)", WORDS),
    "click's argument": ("import click", "cfg == 'on'", "@click.command()\n@click.argument('mode', default={default})\ndef main(mode):\n    work(mode)\nmain()", WORDS),
    "pydantic's environment": ("from pydantic import Field\nfrom pydantic_settings import BaseSettings\nclass Config(BaseSettings):\n    keep: bool = Field(default={default})", "cfg.keep", "work(Config())", YES_NO),
    "hydra": ("import hydra\nfrom hydra.core.config_store import ConfigStore" + NESTED + "ConfigStore.instance().store(name='base', node=Config)", "cfg.train.keep", "@hydra.main(config_name='base')\ndef main(cfg):\n    work(cfg)\nmain()", YES_NO),
    "omegaconf": ("from omegaconf import OmegaConf" + NESTED, "cfg['train'].keep", "work(OmegaConf.merge(OmegaConf.structured(Config), OmegaConf.from_cli()))", YES_NO),
    "the environment in each iteration": ("import os", "os.environ.get('KEEP', {default}) == '1'", "work()", SIGNS),
    "the environment read": ("import os\nKEEP = bool(int(os.getenv('KEEP', {default})))", "KEEP", "work()", SIGNS),
    "the environment's number": ("import os\nKEEP = float(os.getenv('KEEP', {default})) > 0.5", "KEEP", "work()", SIGNS),
    "the environment's text": ("import os\nKEEP = os.getenv('KEEP', {default}).strip().lower() in ('1', 'true')", "KEEP", "work()", ("' True'", "'no'")),
}  # fmt: skip

KNOWN = {  # the same where nobody may give another
    "pydantic": ("from pydantic import BaseModel\nclass Config(BaseModel):\n    keep: bool = False", "cfg.keep", "work(Config(keep={default}))", YES_NO),
    "pydantic's field": ("from pydantic import BaseModel, Field\nclass Config(BaseModel):\n    keep: bool = Field({default}, description='')", "cfg.keep", "work(Config())", YES_NO),
    "pydantic's copy": ("from pydantic import BaseModel\nclass Config(BaseModel):\n    keep: bool = False", "cfg.keep", "work(Config.model_validate({{}}).model_copy(update={{'keep': {default}}}))", YES_NO),
    "pydantic's environment, given": ("from pydantic_settings import BaseSettings\nclass Config(BaseSettings):\n    keep: bool = False", "cfg.keep", "work(Config(keep={default}))", YES_NO),
    "omegaconf": ("from omegaconf import OmegaConf", "cfg.a.b.keep", "work(OmegaConf.create({{'a': {{'b': {{'keep': {default}}}}}}}))", YES_NO),
    "omegaconf merged": ("from omegaconf import OmegaConf", "cfg.a.keep", "work(OmegaConf.merge({{'a': {{'keep': None, 'n': 1}}}}, {{'a': {{'keep': {default}}}}}))", YES_NO),
    "a line that stands there": ("import argparse\np = argparse.ArgumentParser()\np.add_argument('--keep', action=argparse.BooleanOptionalAction)", "cfg.keep", "work(p.parse_args([{default}]))", ("'--keep'", "'--no-keep'")),
    "a parameter of what nobody calls": ("", "keep", "", YES_NO),
}  # fmt: skip


def program(row: tuple[str, str, str, tuple[str, str]], which: int) -> str:
    head, asked, call, defaults = row
    text = "import torch\n" + head + BODY.replace("{asked}", asked) + call + "\n"
    if not head:
        text = text.replace("work(cfg=None)", "work(keep={default})")
    return text.format(default=defaults[which])


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_fails_by_another_value_than_the_default_is_a_warning(machine: Machine, name: str) -> None:
    (told,) = machine(program(PROGRAMS[name], 0)).diagnostics
    assert told.severity is Severity.WARNING and any("not by default" in note for note in told.notes)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_fails_by_default_is_an_error(machine: Machine, name: str) -> None:
    (told,) = machine(program(PROGRAMS[name], 1)).diagnostics
    assert told.severity is Severity.ERROR


@pytest.mark.parametrize("name", KNOWN)
def test_what_nobody_may_set_is_what_it_is(machine: Machine, name: str) -> None:
    assert not machine(program(KNOWN[name], 0)).diagnostics
    (told,) = machine(program(KNOWN[name], 1)).diagnostics
    assert told.severity is Severity.ERROR


def test_a_record_behind_what_nobody_sees_has_options(machine: Machine) -> None:
    text = program(KNOWN["pydantic"], 0).replace("False", "True").replace("keep=True", "**given")
    (told,) = machine("from other import given\n" + text).diagnostics
    assert told.severity is Severity.WARNING


@pytest.mark.parametrize("said", ["args=['--keep', 'False']", "args=LINE"])
def test_a_line_of_the_programs_own_is_no_default(machine: Machine, said: str) -> None:
    text = program(PROGRAMS["tyro"], 0).replace("tyro.cli(Config)", f"tyro.cli(Config, {said})")
    (told,) = machine("LINE = ['--keep', 'False']\n" + text).diagnostics
    assert told.severity is Severity.ERROR


def test_a_field_of_a_class_that_nobody_sees_fill_it_is_its_default(machine: Machine) -> None:
    text = program(KNOWN["pydantic's field"], 0).replace("class Config(BaseModel)", "class Config(Base)")
    assert not machine("from other import Base\n" + text).diagnostics


@pytest.mark.parametrize(
    ("asked", "known"),
    [
        ("isinstance(1, Mine)", False),
        ("isinstance(Mine, (list, tuple))", False),
        ("isinstance(Mine, type)", True),
        ("isinstance(Mine(), type)", False),
        ("isinstance(Mine(), dict)", False),
        ("isinstance(Row(1), tuple)", True),
        ("isinstance(Held(), dict)", True),
        ("isinstance('a', Held)", False),
        ("dataclasses.is_dataclass(Mine)", False),
        ("dataclasses.is_dataclass(Given())", True),
        ("dataclasses.is_dataclass({})", False),
    ],
)
def test_kinds_are_told_apart(machine: Machine, asked: str, known: bool) -> None:
    head = (
        "import dataclasses\nfrom typing import NamedTuple\nclass Mine:\n    pass\nclass Held(dict):\n    pass\n"
        "class Row(NamedTuple):\n    x: int\n@dataclasses.dataclass\nclass Given:\n    x: int = 1\n"
    )
    scope: dict[str, object] = {}
    exec(head, scope)
    assert eval(asked, scope) is known
    for question, fails in ((asked, known), (f"not {asked}", not known)):
        text = f"import torch\n{head}loss = torch.ones(2, requires_grad=True).exp().sum()\nloss.backward()\nif {question}:\n    loss.backward()\n"
        told = machine(text).diagnostics
        assert bool(told) is fails
        assert not any("happens if" in note for each in told for note in each.notes)
