"""`retainlint check`: lint files and trees, report, and say by the exit code what came of it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TextIO

from retainlint import report
from retainlint.checking import linter
from retainlint.commands import CommandError
from retainlint.commands import fix as fixes
from retainlint.commands.about import about_us
from retainlint.commands.configuring import command_errors, configured, output_format
from retainlint.commands.known import Knowing
from retainlint.commands.working import working
from retainlint.report import render, statistics
from retainlint.report.terminal import Style, safe, safe_start

if TYPE_CHECKING:
    from retainlint.commands.brought import Brought
    from retainlint.commands.working import Means
    from retainlint.config import Configs, Requested
    from retainlint.diagnostic import Diagnostic
    from retainlint.report.run import Run


class CheckOptions:
    """What `retainlint check` was asked for besides settings: each option that is listed here, by its name.

    `width` in columns, `output_file` "" for standard output. If a text is `given`, it is checked instead of paths. With
    `diff` nothing is written; `fix_only` reports nothing else.
    """

    diff: bool
    fix_only: bool
    show_fixes: bool
    exit_non_zero_on_fix: bool
    exit_zero: bool
    quiet: bool
    silent: bool
    verbose: bool
    colour: bool
    width: int
    output_file: str
    statistics: bool
    show_unknown: bool
    diff_base: str | None

    def __init__(self, paths: tuple[str, ...], requested: Requested, means: Means, chosen: Mapping[str, Any]) -> None:
        self.paths, self.requested, self.means = paths, requested, means
        self.given: fixes.Given | None = None
        for name in CheckOptions.__annotations__:
            setattr(self, name, chosen[name])


def check(options: CheckOptions, out: TextIO, progress: linter.Progress | None = None) -> int:
    """0 without findings that fail, 1 with some, 2 if a bug of ours kept a file from being checked.

    A text that is given is checked instead of the paths; fixed, it goes to `out`, and the report to standard error.
    Raises CommandError for a missing path, an unknown rule, a wrong configuration.
    """
    begun = time.perf_counter()
    configs = configured(options.requested)
    format = output_format(configs)
    if options.statistics and format != "json" and not report.FORMATS[format].for_people:
        raise CommandError(f"--statistics is a text or json, not {format}: choose another --output-format")
    with command_errors():
        knowing = Knowing(configs)
        brought = _brought(options, configs)
        result = _checked(options, configs, progress)
        shown = _new(brought, knowing.unknown(result.diagnostics))
        done = _fixed(options, configs, shown, result)
        if options.diff:
            fixes.write_diff(done, out)
            return 2 if result.crashes else _after_fixes(options, configs, done)
        seconds = time.perf_counter() - begun
        if done.applied:
            knowing = Knowing(configs)
            result = _checked(options, configs)
            shown = _new(brought, knowing.unknown(result.diagnostics))
        if options.given is not None and _wants_fixes(options, configs):
            options.given.put_out(out)
            out = sys.stderr
        if options.fix_only:
            return 2 if result.crashes else _after_fixes(options, configs, done)
    if not result.files and not options.silent:
        print("warning: no Python files found under the given paths", file=sys.stderr)
    _report(options, configs, format, fixes.fixable(shown, configs), result, out)
    if not options.quiet:
        for line in [*knowing.notes(result), *([brought.note] if brought is not None and brought.note else [])]:
            print(line, file=out if report.FORMATS[format].for_people and not options.output_file else sys.stderr)
    if options.verbose:
        from retainlint.commands import account

        for line in account.lines(options.paths, configs, result, seconds):
            print(line, file=sys.stderr)
    for crashed in result.crashes[: 0 if options.silent else 1]:
        _print_crash(crashed.name, crashed.crash)
    fixed = _after_fixes(options, configs, done)
    if result.crashes:
        return 2
    return 1 if not options.exit_zero and _fails(shown, configs) else fixed


def _brought(options: CheckOptions, configs: Configs) -> Brought | None:
    if options.diff_base is None:
        return None
    from retainlint.commands.brought import Brought

    return Brought(configs, options.diff_base)


def _new(brought: Brought | None, found: list[Diagnostic]) -> list[Diagnostic]:
    return found if brought is None else brought.new(found)


def _print_crash(name: str, crash: str) -> None:
    lines = "\n".join(map(safe_start, crash.split("\n")))
    print(f"\nThe first internal error, in {safe(name)}:\n\n{lines}", file=sys.stderr)


def _fixed(options: CheckOptions, configs: Configs, shown: list[Diagnostic], result: linter.Result) -> fixes.Done:
    """Write the fixes, or with --diff only work them out, if that was asked, and there may be any."""
    if not shown or not _wants_fixes(options, configs):
        return fixes.Done(0)
    return fixes.fix(shown, result.diagnostics, configs, write=not options.diff, texts=options.given or fixes.DISK)


def _wants_fixes(options: CheckOptions, configs: Configs) -> bool:
    return options.diff or options.fix_only or configs.here.flag("fix")


def _checked(options: CheckOptions, configs: Configs, progress: linter.Progress | None = None) -> linter.Result:
    if options.given is None:
        with working(options.means, configs, options.show_unknown, progress) as running:
            answers = running.cache.answers if running.cache is not None else None
            return linter.check(options.paths, configs, progress, running, answers)
    return linter.Given(configs).check(options.given.name, options.given.data)


def _after_fixes(options: CheckOptions, configs: Configs, done: fixes.Done) -> int:
    """Tell what was fixed; 1 if that is to fail the run. Raises CommandError if something couldn't be written."""
    if not options.quiet:
        for line in fixes.summary_lines(done, options.show_fixes, configs.here.flag("unsafe-fixes"), options.diff):
            print(line, file=sys.stderr)
    if done.wrong:
        raise CommandError("; ".join(done.wrong))
    return 1 if done.applied and (options.diff or options.exit_non_zero_on_fix) else 0


def show_files(options: CheckOptions, out: TextIO) -> int:
    """The files that would be checked, a line each."""
    from retainlint.project.discovery import discover

    configs = configured(options.requested)
    with command_errors():
        found = discover(options.paths, configs)
    for name in found.files:
        out.write(safe_start(name) + "\n")
    return 0


def _report(
    options: CheckOptions, configs: Configs, format: str, shown: list[Diagnostic], result: linter.Result, out: TextIO
) -> None:
    if options.silent and not options.output_file:
        return
    style = Style(options.colour and not options.output_file, options.width)
    if options.statistics:
        pieces = statistics.render(shown, style, as_json=format == "json")
    elif shown or not report.FORMATS[format].for_people:
        pieces = render(format, shown, style, _run(options, configs, result))
    else:
        pieces = iter(())
    if options.output_file:
        _write(options.output_file, pieces)
    else:
        for piece in pieces:
            out.write(piece)
    for_people = report.FORMATS[format].for_people
    if options.show_unknown and not options.silent:
        aside = out if for_people and not options.output_file else sys.stderr
        for piece in statistics.render_gaps(result.gaps, style):
            aside.write(piece)
    if options.show_fixes and for_people and not options.output_file:
        for line in fixes.listed(shown):
            out.write(line + "\n")
    if not options.quiet and (for_people or options.output_file):
        out.write(statistics.summary(shown, Style(options.colour, options.width), result.files) + "\n")
        for line in (statistics.unfollowed(result.unjudged, options.show_unknown), statistics.fixable(shown)):
            out.write(f"{line}\n" if line else "")


def _run(options: CheckOptions, configs: Configs, result: linter.Result) -> Run:
    gaps = tuple(result.gaps) if options.show_unknown else ()
    crashes = {one.name: one.crash for one in result.crashes}
    root, browse = _served(os.environ)
    about = about_us(configs.here.text("docs-url") or "")
    return about._replace(files=result.files, gaps=gaps, crashes=crashes, root=root, browse=browse)


def _served(environment: Mapping[str, str]) -> tuple[str, str]:
    """Where a build server has put the project, and the address at which it shows its files."""
    said = environment.get
    if said("GITHUB_REPOSITORY") and said("GITHUB_SHA") and said("GITHUB_SERVER_URL"):
        page = f"{said('GITHUB_SERVER_URL')}/{said('GITHUB_REPOSITORY')}/blob/{said('GITHUB_SHA')}/"
        return said("GITHUB_WORKSPACE", ""), page
    if said("CI_PROJECT_URL") and said("CI_COMMIT_SHA"):
        return said("CI_PROJECT_DIR", ""), f"{said('CI_PROJECT_URL')}/-/blob/{said('CI_COMMIT_SHA')}/"
    return "", ""


def _write(path: str, pieces: Iterator[str]) -> None:
    from retainlint.text.writing import replace

    text = "".join(pieces)
    try:
        replace(path, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise CommandError(f"{path}: the report can't be written: {error.strerror or error}") from error


def _fails(diagnostics: Iterable[Diagnostic], configs: Configs) -> bool:
    """Whether a finding is as severe as its file's `fail-on` says."""
    return any(
        d.severity.value == "error" or configs.of_file(d.primary.span.source.name).text("fail-on") == "warning"
        for d in diagnostics
    )
