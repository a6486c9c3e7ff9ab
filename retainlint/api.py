"""What `from retainlint import ...` gives: checking from Python, without a process and without printing."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import Executor
from typing import TypeAlias

from retainlint import report
from retainlint.checking import linter
from retainlint.checking.scheduler import Running
from retainlint.commands import CommandError
from retainlint.commands.about import about_us
from retainlint.commands.configuring import command_errors, configured, requested
from retainlint.commands.known import Knowing
from retainlint.config import Configs
from retainlint.diagnostic import Diagnostic, Label, Severity
from retainlint.incident import Condition, Witness
from retainlint.report.terminal import Style
from retainlint.text.source import Source, Span

Path: TypeAlias = "str | os.PathLike[str]"

NAMELESS = "<text>"


def check(
    paths: Path | Iterable[Path],
    *,
    select: Iterable[str] | None = None,
    ignore: Iterable[str] = (),
    config: Path | None = None,
    isolated: bool = False,
    executor: Executor | None = None,
) -> list[Diagnostic]:
    """Check files and directories as `retainlint check` does: the findings by file, row, column and code.

    `select` and `ignore` take codes, prefixes and names. The configuration files above each file count, with their
    baselines; with `config` only that file, with `isolated` none. A file that can't be checked is a finding, RTL900.
    An `executor` shares the work out: a pool as in `concurrent.futures`, whose workers need no disk of ours.
    Nothing is printed or written. Raises CommandError for a missing path, an unknown rule, a wrong configuration.
    """
    several = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    configs = _configs(select, ignore, config, isolated)
    with command_errors():
        running = None if executor is None else Running(pool=executor)
        found = linter.check([os.fspath(path) for path in several], configs, running=running)
        return Knowing(configs).unknown(found.diagnostics)


def check_source(
    source: str | bytes,
    filename: Path | None = None,
    *,
    select: Iterable[str] | None = None,
    ignore: Iterable[str] = (),
    config: Path | None = None,
    isolated: bool = False,
) -> list[Diagnostic]:
    """Check one program that need not be in a file: the findings by row, column and code.

    `filename` is the name it is told under, and the place from which its imports and its configuration are looked for;
    without one its imports stay unknown. Bytes are decoded as Python would. Baselines don't count. A source that can't
    be checked is a finding, RTL900. Raises CommandError for an unknown rule and a wrong configuration.
    """
    name = NAMELESS if filename is None else os.fspath(filename)
    configs = _configs(select, ignore, config, isolated)
    data = source if isinstance(source, bytes) else Source(name, source).as_bytes()
    with command_errors():
        if filename is not None:
            return linter.Given(configs).check(name, data).diagnostics
        return list(linter.check_source(name, data, configs.settings(name)).diagnostics)


def render(
    diagnostics: Iterable[Diagnostic], output_format: str = "full", *, color: bool = False, width: int = 140
) -> str:
    """Findings as `retainlint check --output-format` writes them, in so many columns; no summary follows.

    Raises CommandError for a format that there isn't.
    """
    if output_format not in report.FORMATS:
        raise CommandError(f"there is no output format {output_format!r}; there are {', '.join(report.FORMATS)}")
    return "".join(report.render(output_format, diagnostics, Style(color, width), about_us()))


def _configs(select: Iterable[str] | None, ignore: Iterable[str], config: Path | None, isolated: bool) -> Configs:
    stated = {"ignore": ignore} if select is None else {"select": select, "ignore": ignore}
    values = {key: _words(rules, key) for key, rules in stated.items()}
    texts = () if config is None else (os.fspath(config),)
    return configured(requested(values, texts, isolated=isolated))


def _words(rules: Iterable[str], key: str) -> list[str]:
    if isinstance(rules, str):
        raise TypeError(f"{key} takes several rules: write {key}=[{rules!r}]")
    return list(rules)


__all__ = [
    "CommandError",
    "Condition",
    "Diagnostic",
    "Label",
    "Severity",
    "Span",
    "Witness",
    "check",
    "check_source",
    "render",
]
