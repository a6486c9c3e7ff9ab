"""`retainlint baseline`: write down today's findings, so that `check` tells only of new ones; show or prune them."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from typing import TextIO

from retainlint.checking import linter
from retainlint.commands import CommandError
from retainlint.commands.config import toml
from retainlint.commands.configuring import command_errors, configured
from retainlint.commands.known import entry, loaded, may_be_known, plural, stale_entries
from retainlint.config import Configs, Requested
from retainlint.config.reading import displayed_path
from retainlint.report.terminal import safe, safe_start
from retainlint.suppressions.baseline import FILE_NAME, Baseline, BaselineEntry
from retainlint.text.writing import replace


def write(
    paths: tuple[str, ...],
    requested: Requested,
    out: TextIO,
    *,
    prune: bool = False,
    progress: linter.Progress | None = None,
) -> int:
    """Put the findings of the files under `paths` into their baselines; with `prune` only take out what is stale.

    Entries of files that weren't checked stay, unless the file is gone. That a file can't be checked is told, and not
    put in. Raises CommandError.
    """
    configs = configured(requested)
    with command_errors():
        result = linter.check(paths, configs, progress)
        groups = _by_baseline(result, configs)
        if result.crashes:
            raise CommandError(f"{result.crashes[0].name}: {result.diagnostics[0].message}; nothing was written")
        for path, entries_of in groups.items():
            there = os.path.exists(path)
            baseline = loaded(path) if there else Baseline(path)
            entries = [entry(baseline, result.diagnostics[number]) for number in entries_of]
            _update(baseline, entries, result, configs, prune, there, out)
        _tell_unchecked(result, out)
    return 0


def show(requested: Requested, out: TextIO) -> int:
    """List what is in the baseline of the working directory. Raises CommandError if there is none."""
    configs = configured(requested)
    with command_errors():
        baseline = loaded(_path(configs, os.getcwd()))
    for one in sorted(baseline.known):
        count = f" ({baseline.known[one]} times)" if baseline.known[one] > 1 else ""
        place = f" in {one.function}" if one.function else ""
        mark = one.marks[0] if one.marks else ""
        out.write(safe_start(f"{one.file}: {one.code}{place}: {mark}{count}") + "\n")
    total = baseline.known.total()
    files = len({one.file for one in baseline.known})
    out.write(f"{total} {plural('finding', total)} in {files} {plural('file', files)}.\n")
    return 0


def _update(
    baseline: Baseline,
    entries: list[BaselineEntry],
    result: linter.Result,
    configs: Configs,
    prune: bool,
    there: bool,
    out: TextIO,
) -> None:
    new = sum(baseline.new(entries))
    stale = stale_entries(baseline, result, configs)
    name = safe_start(displayed_path(baseline.path))
    if not there and (prune or not entries):
        out.write(f"{name}: there is nothing to {'prune' if prune else 'put in'}; no file was written.\n")
        return
    before = Counter(baseline.known)
    baseline.known -= stale
    if not prune:
        baseline.known |= Counter(entries)
    if baseline.known != before or not there:
        try:
            replace(baseline.path, baseline.text().encode())
        except OSError as error:
            raise CommandError(f"{name}: the baseline can't be written: {error.strerror or error}") from error
    total, gone = baseline.known.total(), stale.total()
    parts = [f"{new} new"] if new and not prune else []
    parts += [f"{gone} {plural('is', gone)} gone"] if gone else []
    out.write(f"{name}: {total} known {plural('finding', total)} ({', '.join(parts) or 'as before'}).\n")
    if not there:
        _tell_how(baseline.path, configs, out)


def _tell_unchecked(result: linter.Result, out: TextIO) -> None:
    for each in result.diagnostics:
        if not may_be_known(each):
            span = each.primary.span
            out.write(
                safe_start(f"{span.source.name}:{span.row}: {each.code} {each.message}; a baseline doesn't hide this")
                + "\n"
            )


def _tell_how(path: str, configs: Configs, out: TextIO) -> None:
    config = configs.of_directory(os.path.dirname(path))
    if config.path("baseline") != path or config.stated("baseline").origin == "command line":
        try:
            stated = os.path.relpath(path, config.root)
        except ValueError:  # another drive
            stated = path
        name = toml(stated.replace(os.sep, "/"))
        given = safe(shlex.quote(displayed_path(path)))  # it is copied into a shell
        out.write(
            f"To have `retainlint check` know it, write `baseline = {name}` into the configuration,\n"
            f"below [tool.retainlint] in pyproject.toml; or use `retainlint check --baseline {given}`.\n"
        )


def _path(configs: Configs, directory: str) -> str:
    """The baseline for what lies in a directory: as configured, else one of the usual name where it would be used."""
    return configs.of_directory(directory).path("baseline") or os.path.join(os.getcwd(), FILE_NAME)


def _by_baseline(result: linter.Result, configs: Configs) -> dict[str, list[int]]:
    """The baselines of the files checked, each with the numbers of its findings."""
    groups: dict[str, list[int]] = {_path(configs, os.getcwd()): []}
    for name in result.names:
        groups.setdefault(_path(configs, os.path.dirname(os.path.abspath(name))), [])
    for number, diagnostic in enumerate(result.diagnostics):
        if not may_be_known(diagnostic):
            continue
        name = diagnostic.primary.span.source.name
        groups[_path(configs, os.path.dirname(os.path.abspath(name)))].append(number)
    return groups
