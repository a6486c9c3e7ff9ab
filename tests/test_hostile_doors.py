"""Texts that mean harm, aimed at every door by which the text of a program, or a name, leaves the linter again."""

from __future__ import annotations

import ast
import io
import json
import os
import re
import shutil
import subprocess
import unicodedata
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from command_line import Run

from retainlint.commands import CommandError, replay
from retainlint.commands.config import toml
from retainlint.commands.fix import quoted
from retainlint.diagnostic import AssignDetach, Clear, Detach, Diagnostic, Label, Severity, ZeroFirst
from retainlint.fixes.code import EditableCode
from retainlint.fixes.cures import BUILDERS
from retainlint.incident import Incident
from retainlint.lowering import lower
from retainlint.report import FORMATS
from retainlint.symbolic import explore
from retainlint.symbolic.detectors import witness, witness_script
from retainlint.symbolic.state.graphs import Graphs
from retainlint.text.source import Source, Span

posix = pytest.mark.skipif(os.name == "nt", reason="needs names that Windows hasn't")

TOUCH = "__import__('os').system('touch TAKEN')"
NAMES = (
    f"keep=1)\n{TOUCH}\n#", f"keep=1)\r{TOUCH}\r#", f"keep=1); {TOUCH} #", f"keep=1) or {TOUCH} or (", f"'}}); {TOUCH} #",
    "\\", "'''", '"""', "", " ", "a b", "class", "None", "__debug__", "ﬁt", "ｋeep", "a\0b", "a\x0bb", "a\x0cb", "a\x1cb",
    "a\x85b", "a\u2028b", "a\u202eb", "a\ud800b", "##vso[task.setvariable]x", "##[error]x", "\x1b]0;x\x07",
)  # fmt: skip
COMMENTS = (
    f"x\n{TOUCH}", f"x\r{TOUCH}", f"x\r\n{TOUCH}", f"x\x0b{TOUCH}", f"x\x0c{TOUCH}", f"x\x1c{TOUCH}", f"x\x1d{TOUCH}",
    f"x\x1e{TOUCH}", f"x\x85{TOUCH}", f"x\u2028{TOUCH}", f"x\u2029{TOUCH}", "x\0y", "x\u202ey\u2066z", "x\udcffy",
    "x\ud800y", "-*- coding: rot13 -*-", "##vso[task.x]", "\x1b[2J", "\ufeff", '"""',
)  # fmt: skip
WALKED = """import torch
w = torch.ones(3, requires_grad=True)
loss = (w * w).sum()
"""
TWICE = f"{WALKED}loss.backward()\nloss.backward()\n"
NEEDLESS = f"{WALKED}loss.backward(retain_graph=True)\n"


@pytest.fixture(autouse=True)
def room(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RETAINLINT_NO_CACHE", "1")
    (tmp_path / "pyproject.toml").write_text("")
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line over the real pipeline."""
    from retainlint import cli

    def called(*args: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            cli.main(list(args))
        told = capsys.readouterr()
        return int(stopped.value.code or 0), told.out, told.err

    return called


def found(name: str, text: str) -> list[Incident]:
    exploration = explore(lower(Source(name, text)))
    return [*exploration.incidents, *exploration.waste]


def script_of(incident: Incident) -> str:
    assert incident.witness is not None
    return incident.witness.script


def is_plain(text: str) -> bool:
    return all(c == "\n" or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in text)


# -- the witness ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_an_argument_stays_a_text(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = f"{WALKED}loss.backward(**{{{name!r}: True}})\n"
    (incident,) = found("m.py", text)
    script = script_of(incident)
    statements = ast.parse(script).body
    assert [type(each) for each in statements] == [ast.Import, ast.Assign, ast.Expr]
    assert len(script.splitlines()) == 4
    assert is_plain(script) and "##vso[" not in script and "##[" not in script
    call = statements[2].value  # type: ignore[attr-defined]
    assert isinstance(call, ast.Call) and not call.args
    (given,) = call.keywords
    assert (given.arg or ast.literal_eval(given.value)) in (name, {name: True})
    compile(script, "witness.py", "exec")
    assert replay.replay(script) == 1
    said = capsys.readouterr().err
    assert "TypeError" in said and is_plain(said)
    assert not Path("TAKEN").exists()


@pytest.mark.parametrize("name", [NAMES[0], "class", "ﬁt", "a b"])
def test_torch_refuses_the_call_of_the_witness_too(name: str) -> None:
    torch = pytest.importorskip("torch")
    (incident,) = found("m.py", f"{WALKED}loss.backward(**{{{name!r}: True}})\n")
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        exec(compile(script_of(incident), "witness.py", "exec"), {"torch": torch})
    assert not Path("TAKEN").exists()


def test_a_finding_names_it_on_one_line(run: Run) -> None:
    Path("m.py").write_text(f"{WALKED}loss.backward(**{{{NAMES[0]!r}: True}})\n")
    code, out, _ = run("check", "--output-format", "concise", "m.py")
    assert code == 1
    assert re.fullmatch(r"m\.py:4:1: RTL302 error: .* has no argument `keep=1\).*`\nFound 1 error.*\n", out)


@pytest.mark.parametrize("text", COMMENTS)
def test_a_comment_stays_a_comment(text: str) -> None:
    """It shows the file's name, and the code, which may hold what ends a line for one reader and not for another."""
    plain = script_of(found("m.py", TWICE)[0])
    named = script_of(found(f"{text}.py", TWICE)[0])
    assert ast.dump(ast.parse(named)) == ast.dump(ast.parse(plain))
    assert len(named.splitlines()) == len(plain.splitlines())
    assert is_plain(named) and "##vso[" not in named
    shown = script_of(found("m.py", TWICE.replace("(w * w)", f"(w * w + len({text!r}))"))[0])
    assert is_plain(shown)


@pytest.mark.parametrize("text", ["a = 1\x0c", "f(\n# \u2028 \u202e\n)", "'\u2028\x85\x1c'"])
def test_code_in_a_comment_is_one_line(text: str) -> None:
    source = Source("m.py", text)
    made = witness_script.Straight()
    made.add(witness_script.statement("t0 = 1"), witness_script.one_line(Span(source, 0, len(text)).text))
    script = made.text()
    assert script is not None and len(script.splitlines()) == 3 and is_plain(script)


def test_a_script_that_python_reads_otherwise_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second lock: it holds where the first is broken."""
    monkeypatch.setattr(witness_script, "harmless", lambda text: text)
    for text in COMMENTS[:3]:
        made = witness_script.Straight()
        made.add(witness_script.statement("t0 = 1"), text)
        assert made.text() is None
    monkeypatch.setattr(witness_script, "_is_name", lambda text: True)
    for text in NAMES[:4]:
        made = witness_script.Straight()
        made.add(witness_script.statement("t0 = 1"))
        call = witness_script.expression("t0.backward()")
        assert isinstance(call, ast.Call)
        call.keywords.append(witness_script.keyword(text))
        made.add(witness_script.statement("_0", call))
        assert made.text() is None


@pytest.mark.parametrize("name", ["a b", "a\nb", "class", "", "f()", "ﬁt"])
def test_a_variable_is_a_name(name: str) -> None:
    with pytest.raises(witness_script.Unwritable):
        witness_script.statement("_0 = 1", name)


def test_long_sums_are_written_flat() -> None:
    made = witness_script.Straight()
    made.add(witness_script.statement("_0 = _1", "t9999", made.sum([f"t{n}" for n in range(5_000)])))
    assert "passing(t0, t1" in (made.text() or "")


# -- running it ----------------------------------------------------------------------------------------------------

ESCAPES = (
    "open('TAKEN', 'w')",
    TOUCH,
    "import os\nos.system('touch TAKEN')",
    "import torch.os as F",
    "from torch import nn",
    "import torch\ntorch.ones.__globals__",
    "import torch\ntorch.serialization",
    "().__class__.__base__.__subclasses__()",
    "(x for x in y).gi_frame.f_back.f_globals",
    "getattr(sum, 'a')",
    "exec('x')",
    "lambda: 1",
    "class A: pass",
    "while True: pass",
    "f'{sum}'",
    "sum.x = 1",
)


@pytest.mark.parametrize("script", ESCAPES)
def test_nothing_but_a_witness_is_run(script: str) -> None:
    try:
        code = replay.replay(script)
    except CommandError as error:
        assert "it isn't run" in str(error)
    else:
        assert code == 1
    assert not Path("TAKEN").exists()


@pytest.mark.parametrize(
    "script", ["open('TAKEN', 'w')", "import os", "exec('x')", "getattr(sum, 'a')", "__import__('os')"]
)
def test_and_that_with_nothing_at_hand(
    script: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What came by the reader of witnesses finds no function that opens or imports."""
    monkeypatch.setattr(replay, "checked", ast.parse)
    assert replay.replay(script) == 1
    assert re.search("NameError|imports nothing but torch", capsys.readouterr().err)
    assert not Path("TAKEN").exists()


@pytest.mark.parametrize("operation", sorted({*witness._BINARY, *witness._UNARY, *witness._CALLS, *witness._SPREAD}))
def test_all_that_a_witness_is_made_of_may_run(operation: str) -> None:
    script = witness._Script(Graphs())
    node: Any = type("Bare", (), {"saved": ()})()
    made = witness_script.Straight()
    made.add(
        witness_script.statement(
            "_0", script._spelled(operation, node, ["t0", "t1"][: 1 + (operation in witness._BINARY)])
        )
    )
    replay.checked(made.text() or "1 +")


def test_the_script_that_is_run_is_the_witness_itself(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def kept(script: str) -> int:
        ran.append(script)
        return 1

    monkeypatch.setattr(replay, "replay", kept)
    Path("m.py").write_text(TWICE)
    _, printed, _ = run("reproduce", "m.py:5")
    run("reproduce", "--run", "m.py:5")
    assert ran == [printed]


# -- names of files ------------------------------------------------------------------------------------------------

ODD = (
    "m.py\n+++ victim.py", "m.py\n--- victim.py\n+++ victim.py\n@@ -1 +1 @@\n-kept\n+taken", "victim.py\t.py",
    "victim.py x.py", " victim.py", '"victim.py".py', "a\\nvictim.py", "m\r.py", "\x1b[2J.py", "m\u202e.py", "m\u2028.py",
)  # fmt: skip


@posix
@pytest.mark.parametrize("tool", [("patch", "-p0", "--batch"), ("git", "apply", "-p0")], ids=lambda tool: tool[0])
@pytest.mark.parametrize("name", ODD)
def test_a_diff_changes_the_file_that_it_names(name: str, tool: tuple[str, ...], run: Run) -> None:
    if shutil.which(tool[0]) is None:
        pytest.skip(f"without {tool[0]}")
    name = name if name.endswith(".py") else f"{name}.py"
    Path("victim.py").write_text("kept\n")
    Path("m.py").write_text(NEEDLESS)
    Path(name).write_text(NEEDLESS)
    code, diff, _ = run("check", "--diff", f"./{name}")
    assert code == 1
    assert len([line for line in diff.splitlines() if line.startswith(("---", "+++"))]) == 2
    subprocess.run(tool, input=diff.encode("utf-8", "surrogateescape"), check=True, capture_output=True)
    assert Path("victim.py").read_text() == "kept\n"
    assert Path("m.py").read_text() == NEEDLESS or name == "m.py"
    assert "retain_graph" not in Path(name).read_text()


def test_names_are_quoted_as_git_does() -> None:
    assert quoted("a/é.py") == "a/é.py"
    assert quoted("a b.py") == "a b.py\t"
    assert quoted('a"\n\\\x1b\x7f.py') == r'"a\"\n\\\033\177.py"'
    assert quoted("a\udcff\u202e.py") == r'"a\377\342\200\256.py"'
    assert quoted("nb.ipynb:cell 1") == "nb.ipynb:cell 1\t"


@posix
@pytest.mark.parametrize("name", [*ODD, "::error::x", "##vso[task.x]", "m\ud800", "$(touch TAKEN)", "<b>&]]>"])
def test_every_command_tells_of_the_file_harmlessly(name: str, run: Run) -> None:
    name = f"{name}.py"
    try:
        Path(name).write_text(f"{TWICE}loss.backward(**{{{NAMES[0]!r}: True}})\n")
    except UnicodeEncodeError:
        pytest.skip("no name of a file")
    for words in (
        *(("check", "--output-format", each, name) for each in FORMATS),
        ("check", "--show-unknown", "--show-fixes", name),
        ("check", "--show-files", name),
        ("check", "--statistics", name),
        ("config", name),
        ("reproduce", f"{name}:5"),
        ("reproduce", f"{name}:9"),
        ("reproduce", f"no{name}:9"),
        ("why", f"{name}:5"),
        ("baseline", name),
        ("baseline", "--show"),
        ("check", f"no{name}"),
        ("check", "--baseline", f"no{name}", name),
        ("check", "--config", f"no{name}", name),
        ("run", f"no{name}"),
        ("check", "--unsafe-fixes", "--fix", "--show-fixes", name),
    ):
        _, out, err = run(*words)
        assert is_plain(out) and is_plain(err), words
        assert not re.search(r"^(\+\+\+|---|@@) ", out + "\n" + err, re.MULTILINE), words  # a name is on one line
        rest = (
            re.sub(r"^(::error |##vso\[task\.logissue )", "", out, flags=re.M)
            if {"github", "azure"} & {*words}
            else out
        )
        assert not re.search(r"##(\[|vso\[)|^\s*::", rest + "\n" + err, re.M), words
        if "json" in words:
            assert json.loads(out)
        if "junit" in words:
            ET.fromstring(out.encode())
    Path("retainlint-baseline.json").unlink(missing_ok=True)


@posix
def test_a_command_to_be_copied_is_one_word_to_a_shell(run: Run) -> None:
    name = "$(touch TAKEN) ';touch TAKEN;'.py"
    Path(name).write_text(TWICE)
    _, out, _ = run("why", f"{name}:5")
    (command,) = re.findall(r"`(retainlint reproduce .*)` prints", out)
    done = subprocess.run(
        ["sh", "-c", command.replace("retainlint reproduce", "printf %s")], capture_output=True, text=True
    )
    assert done.stdout == f"{name}:5"
    assert not Path("TAKEN").exists()


@posix
def test_a_drawing_is_xml_whatever_the_file_is_called(run: Run) -> None:
    name = '<script>&\x1b\x0b\u202e\ufffe".py'
    Path(name).write_text(TWICE)
    code, _, err = run("run", "--graph", "graph.svg", "--trace", name)
    assert code == 1
    assert "<script>&\\x1b\\x0b" in err
    ET.parse("graph.svg")


# -- fixes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [f"h[{TOUCH}]", f"f({TOUCH}).x", f"h; {TOUCH}", f"h\n{TOUCH}\nh", f"h.x if {TOUCH} else h"]
)
def test_no_text_of_a_program_becomes_code(name: str) -> None:
    """A name may have been worked out of a text: of `setattr`, say."""
    text = f"import torch\nh = {name!r}\nfor _ in range(3):\n    h = h * 2\n    opt.step()\n    h.backward()\n"
    source = Source("m.py", text)
    backward_pass = Span(source, text.index("h.backward"), len(text) - 1)
    loop = Span(source, text.index("for"), len(text) - 1)
    whole = Span(source, text.index(repr(name)) + 1, text.index(repr(name)) + 1 + len(name))
    cures = (
        Detach(backward_pass, name, loop),
        Clear(backward_pass, name),
        ZeroFirst(backward_pass, name),
        AssignDetach(whole, name),
    )
    diagnostic = Diagnostic("RTL104", "carried-graph", Severity.ERROR, "", (Label(backward_pass, "", primary=True),))
    for cure in cures:
        for fix in BUILDERS[type(cure)](EditableCode(source), cure, diagnostic):
            assert not any("TAKEN" in edit.text for edit in fix.edits), fix


def test_a_fix_of_a_hostile_argument_leaves_the_text_alone(run: Run) -> None:
    text = f"{WALKED}loss.backward(**{{{NAMES[0]!r}: True}})\n"
    Path("m.py").write_text(text)
    run("check", "--fix", "--unsafe-fixes", "m.py")
    assert Path("m.py").read_text() == text


def test_comments_that_are_added_are_comments(run: Run) -> None:
    text = f'{WALKED}loss.backward()\nloss.backward(  # "\n)\ns = """\n{TOUCH}\n"""; loss.backward()\n'
    Path("m.py").write_text(text)
    run("check", "--add-noqa", "m.py")
    assert ast.dump(ast.parse(Path("m.py").read_text())) == ast.dump(ast.parse(text))
    assert run("check", "m.py")[0] == 0


# -- notebooks -----------------------------------------------------------------------------------------------------


@posix
@pytest.mark.parametrize("text", COMMENTS)
def test_a_cell_of_a_notebook(text: str, run: Run) -> None:
    """JSON can hold what no file can: null bytes, halves of characters."""
    cells = [f"{WALKED}s = {text!r}  # {text}\n", "loss.backward(retain_graph=True)\n"]
    raw = [{"cell_type": "code", "id": text, "metadata": {text: text}, "source": each} for each in cells]
    name = "n\n+++ victim.ipynb"
    Path(name).write_text(json.dumps({"cells": raw, "metadata": {}, "nbformat": 4}))
    for words in (*(("check", "--output-format", each, name) for each in FORMATS), ("reproduce", f"{name}:cell 2:1")):
        _, out, err = run(*words)
        assert is_plain(out) and is_plain(err), words
        assert not re.search(r"##(\[|vso\[)(?!task\.logissue)", out + err), words
    _, diff, err = run("check", "--diff", "--unsafe-fixes", name)
    heads = [line for line in diff.split("\n") if line.startswith(("--- ", "+++ "))]
    assert heads in ([], ['--- "n\\n+++ victim.ipynb:cell 2"\t', '+++ "n\\n+++ victim.ipynb:cell 2"\t'])
    assert is_plain(err)


# -- configuration -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [*NAMES, *COMMENTS])
def test_a_value_is_told_as_the_same_toml(text: str, run: Run) -> None:
    tomllib = pytest.importorskip("tomllib")
    if re.search("[\ud800-\udfff\0]", text):
        pytest.skip("no value in TOML")
    said = f"per-file-ignores = {{ {toml(text + '*')} = ['RTL1'] }}\n"
    Path("retainlint.toml").write_text(said, encoding="utf-8")
    _, out, err = run("config", ".")
    assert is_plain(out) and is_plain(err)
    assert not re.search(r"##(\[|vso\[)", out + err)
    assert tomllib.loads(f"x = {toml({text: [text]})}") == {"x": {text: [text]}}


@pytest.mark.parametrize("text", COMMENTS)
def test_a_wrong_configuration_is_told_on_one_line(text: str, run: Run) -> None:
    for key, value in (("output-format", toml(text)), ("select", f"[{toml(text)}]"), (toml(text), "1")):
        Path("retainlint.toml").write_text(f"{key} = {value}\n", encoding="utf-8", errors="replace")
        code, _, err = run("check", ".")
        assert code == 2
        assert is_plain(err) and err.count("\n") == 1 and not re.search(r"##(\[|vso\[)", err), err


# -- what is heard -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", COMMENTS)
def test_a_traceback_is_told_harmlessly(text: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    error = "RuntimeError: Trying to backward through the graph a second time"
    output = f'Traceback (most recent call last):\n  File "{text}.py", line 5, in {text}\n    {text}\n{error} {text}\n'
    given = io.TextIOWrapper(io.BytesIO(output.encode("utf-8", "surrogatepass")))
    monkeypatch.setattr("sys.stdin", given)
    Path("m.py").write_text(TWICE)
    _, out, err = run("why", "-")
    assert is_plain(out) and is_plain(err)
