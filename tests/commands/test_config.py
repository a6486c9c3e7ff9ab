"""`retainlint config`."""

from __future__ import annotations

import json
import sys

import pytest
from command_line import Run, write

from retainlint.config.reading import parse
from retainlint.config.table import SETTINGS


def test_it_shows_what_holds_and_where_it_came_from(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    write("pyproject.toml", '[project]\n[tool.retainlint]\nselect = ["RTL1"]\nignore = ["RTL101"]\nfail-on = "error"\n')
    code, out, err = run("config", "--config", "baseline = 'b'")
    assert (code, err) == (0, "")
    assert out.startswith("# what holds for .\n# from pyproject.toml\n\n# extend is not set  # default\n")
    for line in (
        'select = ["RTL1"]  # pyproject.toml:3',
        'ignore = ["RTL101"]  # pyproject.toml:4',
        'baseline = "b"  # command line',
        "force-exclude = false  # default",
    ):
        assert f"\n{line}\n" in out
    assert "\n# rules that are on: RTL102, RTL103," in out
    assert max(map(len, out.splitlines())) <= 80


def test_what_it_shows_is_itself_a_configuration(run: Run) -> None:
    write(
        "retainlint.toml",
        'per-file-ignores = { "a\\"\\u202e\\\\/*" = ["RTL1"], b = [] }\nextend-exclude = ["\\u0000\\U0001F600é"]\nselect = []\n',
    )
    out = run("config")[1]
    assert all(character.isprintable() or character == "\n" for character in out)
    shown = parse(out, "shown")
    assert shown["per-file-ignores"] == {'a"\u202e\\/*': ["RTL1"], "b": []}
    assert shown["extend-exclude"] == ["\0😀é"]
    assert shown["select"] == []
    assert set(shown) == {setting.key for setting in SETTINGS if setting.default is not None} | {"select"}


def test_for_a_file_what_is_ignored_there_counts(run: Run) -> None:
    write("retainlint.toml", 'select = ["RTL1"]\n[per-file-ignores]\n"a.py" = ["RTL10"]\n')
    write("a.py")
    shown = json.loads(run("config", "a.py", "--output-format", "json")[1])
    assert "RTL101" not in shown["rules"]
    assert "RTL110" in shown["rules"]
    assert shown["settings"]["select"] == {"value": ["RTL1"], "origin": "retainlint.toml:1"}
    assert shown["settings"]["extend"] == {"value": None, "origin": "default"}
    assert [name.endswith("retainlint.toml") for name in shown["files"]] == [True]
    assert "RTL101" in json.loads(run("config", "--output-format", "json")[1])["rules"]


def test_show_settings_is_the_same(run: Run) -> None:
    write("a.py")
    assert run("check", "a.py", "--show-settings", "--select", "RTL1") == run(
        "check", "--select", "RTL1", "a.py", "--show-settings"
    )
    assert 'select = ["RTL1"]  # command line' in run("check", "--select", "RTL1", "--show-settings")[1]


def test_an_extended_file_is_named(run: Run) -> None:
    write("base.toml", 'ignore = ["RTL1"]\n')
    write("a/retainlint.toml", 'extend = "../base.toml"\n')
    out = run("config", "a")[1]
    assert "# from a/retainlint.toml, which extends base.toml\n" in out
    assert '\nignore = ["RTL1"]  # base.toml:1\n' in out


def test_the_list_has_every_setting(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    out = run("config", "--list")[1]
    assert all(f"{setting.key} (" in out and setting.example in out for setting in SETTINGS)
    prose = [line for line in out.splitlines() if " = " not in line and line.startswith(" ")]
    assert max(map(len, prose)) <= 60
    rows = json.loads(run("config", "--list", "--output-format", "json")[1])
    assert [row["key"] for row in rows] == [setting.key for setting in SETTINGS]


def test_what_is_wrong_is_told(run: Run) -> None:
    assert run("config", "nosuch") == (2, "", "error: nosuch: no such file or directory\n")
    write("retainlint.toml", "a\x1b[31m = 1")
    code, out, err = run("config")
    assert (code, out) == (2, "")
    assert err.startswith("error: retainlint.toml:1:2: this is no TOML: ")
    assert "\x1b" not in err


def test_toml_is_read_only_where_there_is_some(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("tomllib", "tomli"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    write("a.py", "x = 1\n")
    write("pyproject.toml", "[project]\nname = 'x'\n")
    assert run("check")[0] == 0
    assert not {"tomllib", "tomli"} & sys.modules.keys()
