"""What a program loads from a file of its project is known, by whatever path it is opened, and unless it may be another."""

from __future__ import annotations

import pytest
import yaml
from machine import Machine

KEPT, FREED = '{"keep": true, "steps": [1, 2]}', '{"keep": false, "steps": [1, 2]}'
PROGRAM = """\
import io, json, os, torch
from pathlib import Path
from types import SimpleNamespace
{load}
w = torch.ones(2, requires_grad=True)
loss = (w * w).sum()
loss.backward(retain_graph=hp["keep"])
loss.backward()
"""


def knows(
    machine: Machine, load: str, name: str = "hp.json", texts: tuple[str, str] = (KEPT, FREED), **modules: str
) -> bool:
    """Whether it is known what a program loads: it fails as the file says. Of what is unknown it may be told that it fails."""
    program = PROGRAM.format(load=load)
    beside = {"main.py": program, **{f"{module}/__init__.py": text for module, text in modules.items()}}
    kept, freed = (machine.among({**beside, name: text}).lines for text in texts)
    assert freed == [program.count("\n")]
    return kept == []


@pytest.mark.parametrize(
    "load",
    [
        'with open("hp.json") as f:\n    hp = json.load(f)',
        'with open("hp.json", "r", encoding="UTF-8") as f:\n    hp = json.load(fp=f)',
        'with open(file="hp.json", mode="rb") as f:\n    hp = json.loads(f.read())',
        'hp = json.load(open("./hp.json"))',
        'hp = json.load(io.open("hp.json"))',
        'f = open("hp.json")\nhp = json.load(f)\nf.close()',
        'with Path("hp.json").open() as f:\n    hp = json.load(f)',
        'hp = json.loads(Path("hp.json").read_text())',
        'hp = json.loads(Path("hp.json").read_bytes())',
        'hp = json.loads(Path("hp.json").read_text(encoding="utf8"))',
        'hp = json.load(open(os.path.join(os.path.dirname(__file__), "hp.json")))',
        'hp = json.load(open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "hp.json")))',
        'hp = json.load(open(os.path.dirname(os.path.realpath(__file__)) + "/hp.json"))',
        'HERE = os.path.dirname(__file__)\nhp = json.load(open(f"{HERE}/hp.json"))',
        'hp = json.load(open(os.path.join(os.getcwd(), "hp.json")))',
        'hp = json.loads((Path(__file__).parent / "hp.json").read_text())',
        'hp = json.loads((Path(__file__).resolve().parent / "hp.json").read_text())',
        'hp = json.load(open(Path(__file__).absolute().parents[0].joinpath("hp.json")))',
        'hp = json.loads(Path(__file__).with_name("hp.json").read_text())',
        'hp = json.load(open(str(Path.cwd() / "hp.json")))',
        'hp = json.load(open("hp.json"), object_hook=lambda read: dict(read))',
        'hp = vars(json.load(open("hp.json"), object_hook=lambda read: SimpleNamespace(**read)))',
        'def load(path="hp.json"):\n    with open(path) as f:\n        return json.load(f)\nhp = load()',
        'hp = {"keep": False}\nif os.path.exists("hp.json"):\n    hp = json.load(open("hp.json"))',
        'hp = {"keep": False}\nif Path("hp.json").is_file():\n    hp = json.load(open("hp.json"))',
        'try:\n    hp = json.load(open("hp.json"))\nexcept FileNotFoundError:\n    hp = {"keep": False}',
        'try:\n    with Path("hp.json").open() as f:\n        hp = json.loads(f.read())\nexcept OSError:\n    hp = {"keep": False}',
        'hp = json.load(open("hp.json"))\nwith open("out.json", "w") as f:\n    json.dump(hp, f)',
    ],
)
def test_what_is_loaded_from_a_file_is_known(machine: Machine, load: str) -> None:
    assert knows(machine, load)


@pytest.mark.parametrize(
    "load",
    [
        'with open("hp.toml", "rb") as f:\n    hp = tomllib.load(f)["model"]',
        'with Path("hp.toml").open("rb") as f:\n    hp = tomllib.load(f)["model"]',
        'hp = tomllib.loads(Path("hp.toml").read_text())["model"]',
    ],
)
@pytest.mark.parametrize("library", ["tomllib", "tomli as tomllib"])
def test_toml_is_read_too(machine: Machine, load: str, library: str) -> None:
    kept, freed = (f"[model]\nkeep = {said}\nsince = 2020-01-01\n" for said in ("true", "false"))
    assert knows(machine, f"import {library}\n{load}", "hp.toml", (kept, freed))


def test_a_text_of_toml_in_the_program_is_read(machine: Machine) -> None:
    told = [
        machine(PROGRAM.format(load=f'import tomllib\nhp = tomllib.loads("keep = {said}")')).lines
        for said in ("true", "false")
    ]
    assert told == [[], [9]]


@pytest.mark.parametrize(
    "load",
    [
        'with open("hp.yaml") as f:\n    hp = yaml.safe_load(f)["model"]',
        'hp = yaml.load(open("hp.yaml"), Loader=yaml.FullLoader)["model"]',
        'hp = yaml.load(open("hp.yaml"), yaml.SafeLoader)["model"]',
        'hp = yaml.safe_load(Path("hp.yaml").read_text())["model"]',
        'with open("hp.yaml") as f:\n    hp = yaml.full_load(f.read())["model"]',
    ],
)
def test_yaml_is_read_too(machine: Machine, load: str) -> None:
    kept, freed = (f"model:\n  keep: {said}  # or not\n  steps: [1, 2]\n" for said in ("yes", "no"))
    assert knows(machine, f"import yaml\n{load}", "hp.yaml", (kept, freed))


def test_yaml_that_says_one_thing_many_times_is_unknown(machine: Machine) -> None:
    kept, freed = (f"a: &a {said}\nkeep: *a\n" for said in ("true", "false"))
    assert not knows(machine, 'import yaml\nhp = yaml.safe_load(open("hp.yaml"))', "hp.yaml", (kept, freed))


@pytest.mark.parametrize(
    "load",
    [
        'cp.read("hp.ini")\nhp = {"keep": cp.getboolean("model", "keep")}',
        'cp.read("hp.ini", encoding="utf-8")\nhp = {"keep": cp["model"].getboolean("Keep")}',
        'cp.read_file(open("hp.ini"))\nhp = {"keep": cp.get("model", "keep") == "yes"}',
        'with open("hp.ini") as f:\n    cp.read_string(f.read())\nhp = {"keep": cp["model"]["keep"] == "yes"}',
        'cp.read("hp.ini")\nhp = {"keep": int(cp["model"].get("keep") == "yes") > cp.getint("model", "none")}',
        'cp.read("hp.ini")\nhp = {k: v == "yes" for k, v in cp["model"].items()}',
        'cp.read("hp.ini")\nhp = {"keep": "lost" in cp or cp.getboolean("model", "keep", fallback=True)}',
        'cp.read("hp.ini")\nhp = {"keep": cp["model"].getfloat("lost", fallback=1.0) < 1 or cp["model"]["keep"] == "yes"}',
    ],
)
def test_sections_are_read_too(machine: Machine, load: str) -> None:
    kept, freed = (f"[model]\nkeep = {said}\nnone = 0\n" for said in ("yes", "no"))
    assert knows(machine, f"import configparser\ncp = configparser.ConfigParser()\n{load}", "hp.ini", (kept, freed))


@pytest.mark.parametrize(
    "made",
    [
        'configparser.ConfigParser({"more": "1"})',
        'configparser.ConfigParser(inline_comment_prefixes="#")',
        "configparser.ConfigParser()\ncp.optionxform = str",
    ],
)
def test_sections_that_are_read_in_another_way_are_unknown(machine: Machine, made: str) -> None:
    load = f'import configparser\ncp = {made}\ncp.read("hp.ini")\nhp = {{"keep": cp.getboolean("model", "keep")}}'
    assert not knows(machine, load, "hp.ini", ("[model]\nkeep = yes\n", "[model]\nkeep = no\n"))


def test_sections_that_nobody_sees_are_unknown(machine: Machine) -> None:
    load = 'import configparser\ncp = configparser.ConfigParser()\ncp.read(unseen("hp.ini"))\nhp = {"keep": cp.getboolean("model", "keep")}'
    assert not knows(machine, load, "hp.ini", ("[model]\nkeep = yes\n", "[model]\nkeep = no\n"))


@pytest.mark.parametrize(
    "load",
    [
        'hp = json.load(open("hp.json", encoding="utf-16"))',
        'hp = json.load(open("hp.json", "r+"))',
        'hp = json.load(open(unseen("hp.json")))',
        'hp = json.load(open("hp.json"), parse_float=unseen)',
        'hp = json.loads(open("hp.json").read(9))',
        'f = open("hp.json")\nf.readline()\nhp = json.load(f)',
        'f = open("hp.json")\nf.read()\nhp = json.loads(f.read())',
        'hp = json.load(open("~/hp.json"))',
        'with open("hp.json", "w") as f:\n    f.write(unseen)\nhp = json.load(open("hp.json"))',
        'Path("hp.json").write_text(unseen)\nhp = json.load(open("hp.json"))',
        'def save(path):\n    with open(path, "w") as f:\n        f.write(unseen)\nfor each in ("hp.json",):\n    save(each)\n'
        'hp = json.load(open("hp.json"))',
    ],
)
def test_what_may_be_something_else_is_unknown(machine: Machine, load: str) -> None:
    assert not knows(machine, load)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no JSON",
        '{"keep": true',
        f'{{"keep": true, "long": "{"x" * 30_000}"}}',
        f'{{"keep": {"[" * 5_000}{"]" * 5_000}}}',
    ],
)
def test_a_file_that_is_not_read_is_unknown(machine: Machine, text: str) -> None:
    assert machine.among(
        {"main.py": PROGRAM.format(load='hp = json.load(open("hp.json"))'), "hp.json": text}
    ).lines == [8]


def test_a_module_knows_its_own_path(machine: Machine) -> None:
    load = "from conf import hp"
    module = 'import json, os\nhp = json.load(open(os.path.join(os.path.dirname(__file__), "hp.json")))\n'
    assert knows(machine, load, "conf/hp.json", conf=module)


def test_without_a_project_there_are_no_files(machine: Machine) -> None:
    assert machine(PROGRAM.format(load='hp = json.load(open("hp.json"))')).lines == [8]


def test_numbers_that_json_does_not_have(machine: Machine) -> None:
    files = {"main.py": PROGRAM.format(load='hp = json.load(open("hp.json"))\nhp["keep"] = hp["x"] == hp["x"]')}
    assert machine.among({**files, "hp.json": '{"x": 1, "x": NaN, "y": [Infinity, 1e999]}'}).lines in ([], [9])


@pytest.mark.parametrize("text", ["[" * 19_000, "[1, " * 4_900, "- " * 9_000 + "x", "? " * 9_000, "- {a: 1}\n" * 2_000])
def test_yaml_that_takes_long_is_read_as_often_as_there_is_time(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    read: list[str] = []
    monkeypatch.setattr(yaml, "safe_load", read.append)
    loads = "".join(f"c{number} = yaml.safe_load(text)\n" for number in range(60))
    machine(f"import torch, yaml\ntext = {text!r}\n{loads}torch.ones(3, requires_grad=True).exp().sum().backward()\n")
    assert sum(map(len, read)) <= 200_000 * text.startswith("- {")
