"""The settings that there are, in one table, and a layer of what one place states of them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from retainlint.config.words import ConfigError, meant, shown

if TYPE_CHECKING:
    from retainlint.config.places import KeyPath

SettingValue: TypeAlias = "bool | str | tuple[str, ...] | tuple[tuple[str, tuple[str, ...]], ...] | None"
"""A flag, a text, a list of words, or words by pattern; None is a text that nobody gave."""


ADDRESSES = ("https://", "http://")
"""What an address of the web begins with."""


class SettingKind(Enum):
    """The form of a value, as one names it to people."""

    FLAG = "true or false"
    TEXT = "a string"
    WORDS = "a list of strings"
    BY_PATTERN = "a table of lists of strings"


class Setting:
    """One row. `adds` is true if what extended files and the command line say is added up, not replaced.

    `per_run` tells that it can't differ between the files of one run: the configuration of the working directory
    decides. `rules` are texts that must name rules, `path` is a text that is a path relative to its file, `address` one
    of the web.
    """

    def __init__(
        self,
        key: str,
        kind: SettingKind,
        default: SettingValue,
        doc: str,
        example: str,
        *,
        choices: tuple[str, ...] = (),
        adds: bool = False,
        per_run: bool = False,
        rules: bool = False,
        path: bool = False,
        address: bool = False,
    ) -> None:
        self.key, self.kind, self.default, self.doc, self.example = key, kind, default, doc, example
        self.choices, self.adds, self.per_run, self.rules, self.path = choices, adds, per_run, rules, path
        self.address = address

    def read(self, raw: object) -> SettingValue:
        """The value of this setting that a TOML value stands for. Raises WrongValue if it stands for none."""
        if self.kind is SettingKind.FLAG and isinstance(raw, bool):
            return raw
        if self.kind is SettingKind.TEXT and isinstance(raw, str):
            return self._chosen(raw)
        if self.kind is SettingKind.WORDS and isinstance(raw, list):
            return self._words(raw, ())
        if self.kind is SettingKind.BY_PATTERN and isinstance(raw, dict):
            return tuple((pattern, self._list(pattern, words)) for pattern, words in raw.items())
        raise WrongValue(f"'{self.key}' must be {self._form()}, not {_described(raw)}")

    def _form(self) -> str:
        if self.choices:
            return " or ".join(f'"{choice}"' for choice in self.choices)
        return f"{self.kind.value}, as in `{self.example}`"

    def _chosen(self, raw: str) -> str:
        if self.choices and raw not in self.choices:
            raise WrongValue(f"'{self.key}' must be {self._form()}, not {shown(raw)}{meant(raw, self.choices)}")
        if (
            self.address and raw and not raw.startswith(ADDRESSES)
        ):  # it becomes a link, which could be made to run something
            raise WrongValue(
                f"'{self.key}' must begin with {' or '.join(ADDRESSES)}, as in `{self.example}`, not {shown(raw)}"
            )
        return raw

    def _list(self, pattern: str, raw: object) -> tuple[str, ...]:
        if isinstance(raw, list):
            return self._words(raw, (pattern,))
        raise WrongValue(f"'{self.key}' must be {self._form()}: {shown(pattern)} has {_described(raw)}", (pattern,))

    def _words(self, raw: list[object], below: tuple[str, ...]) -> tuple[str, ...]:
        for number, word in enumerate(raw):
            if not isinstance(word, str):
                message = f"'{self.key}' must be {self._form()}: element {number + 1} is {_described(word)}"
                raise WrongValue(message, (*below, number))
        return tuple(word for word in raw if isinstance(word, str))


class WrongValue(ConfigError):
    """A value of the wrong form; `below` leads from the setting's key to the place that is wrong."""

    def __init__(self, message: str, below: tuple[str | int, ...] = ()) -> None:
        super().__init__(message)
        self.below = below


def _described(raw: object) -> str:
    if isinstance(raw, bool):
        return "true" if raw else "false"
    if isinstance(raw, str):
        return f"the string {shown(raw)}"
    if isinstance(raw, (int, float)):
        return f"the number {str(raw)[:20]}" if abs(raw) < 1e20 else "a number"
    return "a list" if isinstance(raw, list) else "a table" if isinstance(raw, dict) else "a date"


EXCLUDED = tuple(
    """.bzr .direnv .eggs .git .git-rewrite .hg .ipynb_checkpoints .mypy_cache .nox .pants.d .pyenv .pytest_cache .pytype
    .retainlint_cache .ruff_cache .svn .tox .venv .vscode __pypackages__ _build buck-out build dist node_modules
    site-packages venv""".split()
)
"""Ruff's defaults, and our own cache."""


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "extend", SettingKind.TEXT, None,
        "Another configuration file to start from, relative to this one. What this file says comes on top; lists of "
        "`extend-...` settings are added up, others are replaced.",
        'extend = "../retainlint.toml"', path=True,
    ),
    Setting(
        "required-version", SettingKind.TEXT, None,
        "The versions of retainlint that may check this project: `0.4.0`, or conditions such as `>=0.4,<1`. Any other "
        "version stops.",
        'required-version = ">=0.1"',
    ),
    Setting(
        "select", SettingKind.WORDS, None,
        "The rules that are on: codes, prefixes of codes, names, or ALL. By default all rules but those that "
        "`retainlint rules` lists as off; to select such a rule turns it on. RTL900, which names files that could not "
        "be checked, is on unless it is ignored.",
        'select = ["RTL1", "needless-retain-graph"]', rules=True,
    ),
    Setting(
        "extend-select", SettingKind.WORDS, (), "Rules that are on besides those of `select`.",
        'extend-select = ["RTL2"]', adds=True, rules=True,
    ),
    Setting(
        "ignore", SettingKind.WORDS, (),
        "The rules that are off. Between `select` and `ignore` the more specific one decides: a code or name before a "
        "prefix, a longer prefix before a shorter one; and `ignore` if both are alike.",
        'ignore = ["RTL107"]', rules=True,
    ),
    Setting(
        "extend-ignore", SettingKind.WORDS, (), "Rules that are off besides those of `ignore`.",
        'extend-ignore = ["RTL201"]', adds=True, rules=True,
    ),
    Setting(
        "per-file-ignores", SettingKind.BY_PATTERN, (),
        "The rules that are off in files that match a pattern; with `!` before it, in those that don't. A pattern "
        "without a slash is matched with names, one with a slash with the path below this file's directory; what "
        "matches a directory covers all below it.",
        'per-file-ignores = { "tests/*" = ["RTL101"] }', rules=True,
    ),
    Setting(
        "extend-per-file-ignores", SettingKind.BY_PATTERN, (), "The same, besides those of `per-file-ignores`.",
        'extend-per-file-ignores = { "legacy/*" = ["RTL2"] }', adds=True, rules=True,
    ),
    Setting(
        "include", SettingKind.WORDS, ("*.py", "*.ipynb"),
        "The files that are checked when a directory is: names or patterns. A file that is named is always checked.",
        'include = ["src/**/*.py"]',
    ),
    Setting(
        "extend-include", SettingKind.WORDS, (), "Files that are checked besides those of `include`.",
        'extend-include = ["*.pyw"]', adds=True,
    ),
    Setting(
        "exclude", SettingKind.WORDS, EXCLUDED,
        "Files and directories that are left out: names (`build`, at any depth) or patterns with a slash, relative "
        "to this file's directory. `*` stands for anything, slashes too, as in ruff.",
        'exclude = ["venv", "third_party/*"]',
    ),
    Setting(
        "extend-exclude", SettingKind.WORDS, (), "What is left out besides `exclude`.",
        'extend-exclude = ["generated"]', adds=True,
    ),
    Setting(
        "force-exclude", SettingKind.FLAG, False,
        "Leave out what is excluded even if it is named on the command line, as a pre-commit hook does.",
        "force-exclude = true", per_run=True,
    ),
    Setting(
        "respect-gitignore", SettingKind.FLAG, True, "Leave out the files that git ignores.",
        "respect-gitignore = false", per_run=True,
    ),
    Setting(
        "fail-on", SettingKind.TEXT, "warning",
        "The least severity that makes `check` exit with 1. With `error`, warnings are shown but don't fail.",
        'fail-on = "error"', choices=("error", "warning"),
    ),
    Setting(
        "fix", SettingKind.FLAG, False, "Write the fixes, as `--fix` does.", "fix = true", per_run=True,
    ),
    Setting(
        "unsafe-fixes", SettingKind.FLAG, False,
        "Write unsafe fixes too: those that may change what the program computes, or that choose what it was to mean.",
        "unsafe-fixes = true",
    ),
    Setting(
        "fixable", SettingKind.WORDS, ("ALL",), "The rules whose findings may be fixed.",
        'fixable = ["RTL2"]', rules=True,
    ),
    Setting(
        "unfixable", SettingKind.WORDS, (), "The rules whose findings are shown, and left to you.",
        'unfixable = ["RTL104"]', rules=True,
    ),
    Setting(
        "baseline", SettingKind.TEXT, None,
        "A file of findings that are known, written by `retainlint baseline`; they are neither shown nor do they fail.",
        'baseline = "retainlint-baseline.json"', path=True,
    ),
    Setting(
        "cache-dir", SettingKind.TEXT, ".retainlint_cache",
        "Where results are kept, so that the next run checks only what has changed. `retainlint clean` empties it, "
        "`--no-cache` leaves it alone.",
        'cache-dir = "~/.cache/retainlint"', per_run=True, path=True,
    ),
    Setting(
        "stubs", SettingKind.WORDS, (),
        "Python modules that say what frameworks of your own do, relative to this file; they are read, never run. The page "
        "about stubs tells how one is written.",
        'stubs = ["tools/ourtrainer.py"]', per_run=True,
    ),
    Setting(
        "output-format", SettingKind.TEXT, "full", "How findings are written; `retainlint check --help` lists the formats.",
        'output-format = "grouped"', per_run=True,
    ),
    Setting(
        "docs-url", SettingKind.TEXT, "",
        "Where the documentation's site lies. With it, findings lead to their rule's page: the `url` of JSON, SARIF's "
        "`helpUri`, links of the HTML page.",
        'docs-url = "https://docs.example.org/retainlint"', per_run=True, address=True,
    ),
)  # fmt: skip


BY_KEY = {setting.key: setting for setting in SETTINGS}


def setting(key: str) -> Setting:
    """The setting of that name. Raises ConfigError, with the nearest one, if there is none."""
    if key in BY_KEY:
        return BY_KEY[key]
    known = key.replace("_", "-")
    if known in BY_KEY:
        raise ConfigError(f"unknown setting {shown(key)}; did you mean '{known}'?")
    raise ConfigError(
        f"unknown setting {shown(key)}{meant(key, BY_KEY, '`retainlint config --list` shows what there is')}"
    )


COMMAND_LINE = "command line"

DEFAULT = "default"


_NO_PARTS: Mapping[KeyPath, str] = {}


class Stated:
    """A value, the place where it is stated (`file:row`), those of its parts, and what its paths are relative to."""

    def __init__(self, value: SettingValue, origin: str, root: str, parts: Mapping[KeyPath, str] = _NO_PARTS) -> None:
        self.value, self.origin, self.root, self.parts = value, origin, root, parts

    def at(self, *below: str | int) -> str:
        """Where a part of the value is stated: an element by its number, below its pattern if it has one."""
        return self.parts.get(below, self.origin)


class Layer:
    """The settings that one place states. `file` is its absolute path, "" for what is no file."""

    def __init__(self, stated: Mapping[str, Stated], file: str = "") -> None:
        self.stated, self.file = stated, file


def of_values(values: Mapping[str, SettingValue], root: str) -> Layer:
    """The layer of the command line's own options."""
    return Layer({key: Stated(value, COMMAND_LINE, root) for key, value in values.items()})
