"""How many places a new rule, report format or option takes: each is added in those alone, and works end to end."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import MappingProxyType, ModuleType

import pytest
from click import ClickException

from retainlint import report, rules
from retainlint.catalogue import CATALOGUE, FREED
from retainlint.cli import cli
from retainlint.cli.group import Option
from retainlint.cli.options import OUTPUT
from retainlint.cli.words.check import check as check_words
from retainlint.commands import check as command
from retainlint.commands.configuring import configured
from retainlint.config import Config
from retainlint.config.table import BY_KEY, Setting, SettingKind
from retainlint.diagnostic import Diagnostic, Help, Label
from retainlint.incident import Freed
from retainlint.report.run import Run
from retainlint.report.terminal import Style
from retainlint.rules.rule import IncidentRule

PROGRAM = "import torch\nw = torch.ones(3, requires_grad=True)\nl = (w * w).sum()\nl.backward()\nl.backward()\n"


class WalkedAgain(IncidentRule[Freed]):
    """A graph is walked again."""

    code = "RTL199"
    kind = Freed
    fails = MappingProxyType({"twice": "w = torch.ones(3)"})

    def report(self, incident: Freed) -> Diagnostic:
        return self.diagnostic(incident, "again!", (Label(incident.primary, "here", primary=True),), Help("don't"))


@pytest.fixture
def program(tmp_path: Path) -> str:
    (tmp_path / "train.py").write_text(PROGRAM)
    return str(tmp_path / "train.py")


def run(*args: str) -> int:
    return int(cli.main([*args], standalone_mode=False) or 0)


def test_a_rule_is_its_class_its_place_in_the_table_and_its_row_in_the_catalogue(
    program: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rule = WalkedAgain()
    monkeypatch.setattr(rules, "_FIRST_THAT_HOLDS", (rule, *rules._FIRST_THAT_HOLDS))
    monkeypatch.setattr(rules, "RULES", (rule, *rules.RULES))  # made of the former when the module is imported
    monkeypatch.setitem(CATALOGUE, "RTL199", ("walked-again", True, FREED))
    chosen = ("--select", "walked-again", "--output-format", "concise")
    assert run("check", "--isolated", "--no-cache", *chosen, program) == 1
    assert "train.py:5:1: RTL199 error: again!" in capsys.readouterr().out
    run("explain", "walked-again")
    assert "Fails: twice\n\n    import torch\n" in capsys.readouterr().out
    run("rules")
    assert "RTL199  walked-again" in capsys.readouterr().out


def test_a_format_is_its_module_and_its_row(
    program: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def render(diagnostics: Iterable[Diagnostic], style: Style, run: Run) -> Iterator[str]:
        for diagnostic in diagnostics:
            yield f"{diagnostic.code}!\n"

    module = ModuleType("retainlint.report.loud_words")
    module.__dict__["render"] = render
    monkeypatch.setitem(sys.modules, "retainlint.report.loud_words", module)
    monkeypatch.setattr(report, "FORMATS", {**report.FORMATS, "loud-words": report.Format("as loud as can be")})
    run("check", "--isolated", "--no-cache", "--output-format", "loud-words", program)
    assert capsys.readouterr().out == "RTL102!\n"
    run("check", "-h")
    assert "loud-words." in capsys.readouterr().out.replace("\n", " ")
    run("config", "--schema")
    assert '"loud-words"' in capsys.readouterr().out


def test_every_format_is_a_module_and_every_module_that_renders_a_report_is_a_format() -> None:
    room = Path(report.__file__).parent
    rendering = {
        path.stem.replace("_", "-")
        for path in room.glob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name == "render" and not node.args.kwonlyargs
    }
    assert rendering - {"--init--"} == set(report.FORMATS)


def test_an_option_of_check_is_its_line_and_its_field(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    loud = Option(["--loud"], group=OUTPUT, is_flag=True)
    monkeypatch.setattr(check_words, "params", [*check_words.params, loud])
    monkeypatch.setitem(command.CheckOptions.__annotations__, "loud", "bool")

    def noticed(options: command.CheckOptions, *_: object) -> int:
        seen.append(vars(options)["loud"])
        return 0

    monkeypatch.setattr(command, "check", noticed)
    run("check", "--loud", program)
    run("check", program)
    assert seen == [True, False]


def test_a_setting_is_its_row_and_the_option_that_overrides_it_a_line(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str | None, str]] = []
    tone = Option(["--tone"], group=OUTPUT, setting="tone")
    row = Setting("tone", SettingKind.TEXT, "low", "How loud.", 'tone = "high"')
    monkeypatch.setattr(check_words, "params", [*check_words.params, tone])
    monkeypatch.setitem(BY_KEY, "tone", row)
    monkeypatch.chdir(tmp_path)

    def noticed(options: command.CheckOptions, *_: object) -> int:
        config: Config = configured(options.requested).here
        seen.append((config.text("tone"), config.stated("tone").origin))
        return 0

    monkeypatch.setattr(command, "check", noticed)
    run("check", program)
    (tmp_path / "retainlint.toml").write_text('tone = "high"\n')
    run("check", program)
    run("check", "--tone", "shrill", program)
    assert seen == [("low", "default"), ("high", "retainlint.toml:1"), ("shrill", "command line")]


STUB = """MODULES = ("ourtrainer", "ourtrainer.loops")
STEPS = ("loss_of",)
CALLED = ("descend",)


def descend(loss, again=False):
    loss.backward(retain_graph=again)


class Loop:
    def run(self, batches):
        for batch in batches:
            descend(self.loss_of(batch))
"""
LOOP = """import torch
from ourtrainer.loops import Loop

weight = torch.ones(3, requires_grad=True)

class Mine(Loop):
    def __init__(self):
        self.scale = weight.exp()

    def loss_of(self, batch):
        return (self.scale{} * weight * batch).sum()

Mine().run([torch.ones(3), torch.ones(3)])
"""


def test_a_framework_is_its_stub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Named in the configuration; what it does is told at the places of the program."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "trainer.py").write_text(STUB)
    (tmp_path / "ourtrainer").mkdir()  # the stub says more than the module itself
    (tmp_path / "ourtrainer" / "__init__.py").write_text("from ours._native import descend\n")
    (tmp_path / "ourtrainer" / "loops.py").write_text("from ours._native import Loop\n")
    (tmp_path / "retainlint.toml").write_text('stubs = ["tools/trainer.py"]\n')
    twice = "import ourtrainer\n" + PROGRAM.replace("l.backward()", "ourtrainer.descend(l)")
    programs = {"twice.py": twice, "loop.py": LOOP.format(""), "runs.py": LOOP.format(".detach()")}
    for name, text in programs.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    check = ("check", "--output-format", "concise", *programs)
    for _ in range(2):  # the second time from the cache
        run(*check)
        found = [line.partition(" error")[0] for line in capsys.readouterr().out.splitlines() if ": RTL" in line]
        assert found == ["loop.py:11:9: RTL106", "twice.py:6:1: RTL102"]
    run("reproduce", "loop.py:11")
    assert "loop.py:11" in capsys.readouterr().out
    (tmp_path / "tools" / "trainer.py").write_text(STUB.replace("again=False", "again=True"))
    run(*check)
    assert "error" not in capsys.readouterr().out
    run(*check, "--isolated")
    assert "error" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "no such file or directory"),
        (b"MODULES = ()\n", "no row says which modules it stands for"),
        (b'MODULES = ("ours",)\ndef f(:\n', "line 2: "),
        (b'MODULES = ("ours",)\n\0', "no stub: "),
        (b"\xff", "it is not UTF-8"),
        (b"# " + b"-" * 200_000, "more than 100,000 characters"),
    ],
)
def test_a_broken_stub_is_one_clear_error(
    text: bytes | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if text is not None:
        (tmp_path / "ours.py").write_bytes(text)
    (tmp_path / "retainlint.toml").write_text('stubs = [\n    "ours.py",\n]\n')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ClickException) as raised:
        run("check", ".")
    assert str(raised.value).startswith("retainlint.toml:2: 'ours.py'"), raised.value
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)
