"""Which configuration holds where, and what is told of one that means nothing."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest
from config.building import KNOWN, configs

from retainlint.config import ConfigError, Configs, Requested, Settings
from retainlint.config.reading import nearest_file


@pytest.fixture(autouse=True)
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, text: str) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text, encoding="utf-8")


def codes(name: str, *texts: str, **values: tuple[str, ...]) -> str:
    settings = configs(*texts, **values).settings(name)
    return " ".join(sorted(code.removeprefix("RTL") for code in settings.codes or ()))


def refused(name: str = "a.py", *texts: str) -> str:
    with pytest.raises(ConfigError) as raised:
        configs(*texts).settings(name)
    message = str(raised.value)
    assert message.isprintable()
    assert len(message) < 400
    return message


def test_without_any_file_the_default_holds() -> None:
    assert codes("a.py") == "101 102 900"


@pytest.mark.parametrize("name", ["retainlint.toml", ".retainlint.toml"])
def test_a_file_of_our_own(name: str) -> None:
    write(name, 'select = ["RTL2"]')
    assert codes("a.py") == codes("deep/er/a.py") == "201"


def test_pyproject_counts_only_if_it_speaks_of_us() -> None:
    write("pyproject.toml", '[tool.retainlint]\nselect = ["RTL2"]')
    write("a/pyproject.toml", "[project]\nname = 'retainlint'")
    write("b/pyproject.toml", "[tool.retainlint]")
    assert codes("a/x.py") == "201"
    assert codes("b/x.py") == "101 102 900", "an empty table is a configuration, and the nearest"


def test_the_nearest_file_alone_counts_and_own_ones_come_first() -> None:
    write("retainlint.toml", 'ignore = ["RTL101"]')
    write("sub/pyproject.toml", "[tool.retainlint]\nextend-select = ['RTL2']")
    assert codes("sub/x.py") == "101 102 201 900"
    write("sub/retainlint.toml", "select = ['RTL9']")
    assert codes("sub/x.py") == "900"
    write("sub/.retainlint.toml", "select = ['RTL102']")
    assert codes("sub/x.py") == "102"


def test_a_broken_pyproject_of_others_is_not_ours_to_mend() -> None:
    write("pyproject.toml", "[[[")
    Path("b").mkdir()
    Path("b/pyproject.toml").write_bytes(b"\xff\xfe\x00")
    assert codes("b/a.py") == "101 102 900"


def test_extend_starts_from_another_file() -> None:
    write("base/retainlint.toml", 'select = ["RTL1", "RTL2"]\nextend-exclude = ["gen/x"]\nfail-on = "error"')
    write("project/retainlint.toml", 'extend = "../base/retainlint.toml"\nignore = ["RTL101"]\nextend-exclude = ["b"]')
    assert codes("project/a.py") == "102 201"
    config = configs().of_file("project/a.py")
    assert config.text("fail-on") == "error"
    assert config.stated("fail-on").origin == "base/retainlint.toml:3"
    assert config.stated("extend-exclude").value == ("gen/x", "b")
    assert config.excludes(os.path.abspath("base/gen/x"))
    assert config.excludes(os.path.abspath("project/b"))
    assert not config.excludes(os.path.abspath("project/gen/x")), "a pattern is relative to the file that states it"


def test_extend_in_a_circle_or_to_nothing_is_told_with_its_line() -> None:
    write("a/retainlint.toml", 'extend = "../b/retainlint.toml"')
    write("b/retainlint.toml", '\nextend = "../a/retainlint.toml"')
    assert refused("a/x.py").startswith("b/retainlint.toml:2: 'extend' leads in a circle: a/retainlint.toml -> b/")
    write("c/retainlint.toml", '\n\nextend = "nowhere.toml"')
    assert refused("c/x.py") == "c/retainlint.toml:3: c/nowhere.toml: no such file or directory"


def test_the_command_line_comes_first_and_inline_settings_next() -> None:
    write("retainlint.toml", 'select = ["RTL1"]\nfail-on = "error"')
    assert codes("a.py", select=("RTL2",)) == "201"
    assert codes("a.py", 'select = ["RTL2"]', ignore=("RTL2",)) == ""
    assert codes("a.py", "extend-select = ['RTL2']") == "101 102 201"
    assert codes("a.py", "tool.retainlint.select = ['RTL2']") == "201"
    assert configs("fail-on = 'warning'").here.stated("fail-on").origin == "command line"


def test_a_file_that_is_named_counts_for_all_relative_to_here() -> None:
    write("retainlint.toml", 'select = ["RTL1"]')
    write("sub/retainlint.toml", 'select = ["RTL1"]')
    write("conf/ours.toml", 'select = ["RTL2"]\nextend-exclude = ["gen/a"]')
    assert codes("sub/a.py", "conf/ours.toml") == "201"
    config = configs("conf/ours.toml").of_file("sub/a.py")
    assert config.excludes(os.path.abspath("gen/a"))
    assert not config.excludes(os.path.abspath("conf/gen/a"))
    write("conf/more.toml", 'extend = "ours.toml"')
    config = configs("conf/more.toml").here
    assert config.excludes(os.path.abspath("conf/gen/a")), "what it extends is relative to itself"
    write("conf/whole.toml", '[tool.retainlint]\nselect = ["RTL9"]')
    assert codes("a.py", "conf/whole.toml") == "900"


def test_isolated_means_that_no_file_counts() -> None:
    write("retainlint.toml", "nonsense")
    settings = Configs(Requested({"select": ("RTL2",)}, isolated=True), KNOWN, "1").settings("a.py")
    assert settings.codes == frozenset({"RTL201"})


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (("nosuch.toml",), "--config 'nosuch.toml': no such file, and not 'key = value'"),
        (("selct",), "--config 'selct': no such file, and not 'key = value'; did you mean 'select'?"),
        (("d",), "--config 'd': this is a directory; name a file, or write 'key = value'"),
        (("a.toml", "b.toml"), "--config names more than one file"),
        (("select = RTL1",), "--config:1:10: this is no TOML: invalid value"),
        (("slect = []",), "--config: unknown setting 'slect'; did you mean 'select'?"),
        (("select = ['RTLX']",), "unknown rule 'RTLX'; did you mean 'RTL101'?"),
    ],
)
def test_a_wrong_option_is_told(texts: tuple[str, ...], message: str) -> None:
    Path("d").mkdir()
    write("a.toml", "")
    write("b.toml", "")
    assert refused("a.py", *texts) == message


def test_a_file_and_none_contradict_each_other() -> None:
    write("a.toml", "")
    with pytest.raises(ConfigError, match="--isolated means"):
        Configs(Requested({}, ("a.toml",), isolated=True), KNOWN, "1")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('\nselct = ["RTL1"]', "2: unknown setting 'selct'; did you mean 'select'?"),
        ("per_file_ignores = 1", "1: unknown setting 'per_file_ignores'; did you mean 'per-file-ignores'?"),
        ("zzz = 1", "1: unknown setting 'zzz'; `retainlint config --list` shows what there is"),
        ('select = [\n"RTL1",\n"RTL10X"]', "3: unknown rule 'RTL10X'; did you mean 'RTL101'?"),
        ('[per-file-ignores]\na = ["RTL1"]\n"b/*" = [\n"RTL8"]', "4: unknown rule 'RTL8'; did you mean 'RTL101'?"),
        ('select = "RTL1"', """1: 'select' must be a list of strings, as in `select = ["RTL1", "needless-retain-graph"]`, not the string 'RTL1'"""),
        ("\nignore = [\n'RTL1',\n3]", "4: 'ignore' must be a list of strings, as in `ignore = [\"RTL107\"]`: element 2 is the number 3"),
        ("force-exclude = 1", "1: 'force-exclude' must be true or false, as in `force-exclude = true`, not the number 1"),
        ('fail-on = "errors"', """1: 'fail-on' must be "error" or "warning", not 'errors'; did you mean 'error'?"""),
        ("docs-url = 'javascript:a'", "1: 'docs-url' must begin with https:// or http://, as in `docs-url = \"https://docs.example.org/retainlint\"`, not 'javascript:a'"),
        ("[select]\na = 1", '1: \'select\' must be a list of strings, as in `select = ["RTL1", "needless-retain-graph"]`, not a table'),
        ('required-version = ">=99"', "1: this needs retainlint >=99, and here is 0.4.1"),
        ('required-version = "new"', "1: 'new' is no condition on a version; write one like '>=0.4,<1'"),
        ("fail-on = 1979-05-27", "1: 'fail-on' must be \"error\" or \"warning\", not a date"),
    ],
)  # fmt: skip
def test_a_wrong_setting_is_told_with_its_line(text: str, message: str) -> None:
    write("retainlint.toml", text)
    assert refused() == f"retainlint.toml:{message}"
    write("retainlint.toml", "")
    write("sub/pyproject.toml", "[tool.retainlint]\n")
    assert codes("sub/a.py") == "101 102 900"


def test_rows_are_those_of_the_file_behind_a_table_and_with_any_line_ends() -> None:
    Path("pyproject.toml").write_bytes(b'\xef\xbb\xbf[project]\r\nname = "x"\r\n[tool.retainlint]\r\nselct = 1\r\n')
    assert refused() == "pyproject.toml:4: unknown setting 'selct'; did you mean 'select'?"
    Path("pyproject.toml").write_bytes(b"[tool]\nretainlint = 3\n")
    assert refused() == "pyproject.toml:2: 'tool.retainlint' must be a table"


def test_hostile_values_are_shown_short_and_safe() -> None:
    write("retainlint.toml", '"\\u001b[31m' + "x" * 5000 + '" = 1')
    assert refused().startswith("retainlint.toml:1: unknown setting '\\x1b[31mxxx")
    write("retainlint.toml", 'select = ["\\u202e\\n::error::' + "y" * 5000 + '"]')
    assert r"'\u202e\n::error::yyy" in refused()
    write("retainlint.toml", f"select = {'9' * 4000}")
    assert "not a number" in refused()
    write("retainlint.toml", "select = ['" + "\\" * 3)
    assert refused().startswith("retainlint.toml:1:")


def test_a_file_that_cannot_be_read_is_told() -> None:
    write("retainlint.toml", "")
    Path("sub").mkdir()
    os.symlink("nowhere.toml", "sub/retainlint.toml")
    assert codes("sub/a.py") == "101 102 900", "a link to nothing is no file"
    Path("bad").mkdir()
    Path("bad/retainlint.toml").write_bytes(b"\n\nselect = '\xff'")
    assert refused("bad/a.py") == "bad/retainlint.toml:3: this is not UTF-8, which TOML must be (byte 0xff)"


def test_rules_are_ignored_by_file() -> None:
    write(
        "retainlint.toml",
        "[per-file-ignores]\n'tests/*' = ['RTL1']\n'x.py' = ['backward-twice']\n'!src/*' = ['RTL9']\n'legacy' = ['ALL']",
    )
    assert codes("src/a.py") == "101 102 900"
    assert codes("src/x.py") == "101 900"
    assert codes("a.py") == "101 102"
    assert codes("tests/deep/a.py") == ""
    assert codes("src/legacy/a.py") == "", "a directory that matches covers what is below it"
    assert codes("src/a.py", extend_per_file_ignores=(("a.py", ("RTL101",)),)) == "102 900"  # type: ignore[arg-type]
    assert codes("src/x.py", per_file_ignores=(("a.py", ("RTL101",)),)) == "101 102 900"  # type: ignore[arg-type]
    assert codes("tests/a.py", select=("RTL101",)) == "", "what is ignored in a file stays so whatever is selected"


def test_settings_are_one_frozen_value_that_can_be_sent_and_compared() -> None:
    one, other = configs().settings("a.py"), configs().settings("sub/b.py")
    assert one == other == pickle.loads(pickle.dumps(one))
    assert hash(one) == hash(other)
    assert configs(select=("RTL1",)).settings("a.py") != one


def test_one_value_for_all() -> None:
    write("retainlint.toml", "nonsense")
    settings = Settings(frozenset({"RTL101"}), suppressions=False)
    assert Configs.alike(settings).settings("a.py") is settings


def test_each_directory_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    write("retainlint.toml", "")
    asked: list[str] = []

    def look(place: str) -> str | None:
        asked.append(place)
        return nearest_file(place)

    monkeypatch.setattr("retainlint.config.resolve.nearest_file", look)
    found = configs()
    for name in ("a/b/c/x.py", "a/b/y.py", "a/b/c/z.py", "w.py"):
        found.settings(name)
    assert sorted(asked) == sorted(set(asked))
