"""`retainlint check`, and what it may be asked."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from retainlint.cli import options as shared
from retainlint.cli.group import Command
from retainlint.cli.options import (
    CONFIGURATION,
    EXIT,
    FILES,
    OUTPUT,
    RULES,
    FormatOption,
    FormatParam,
    PathParam,
    flag,
    option,
    requested,
    setting,
)
from retainlint.cli.screen import progress, standard_input, wants_colour, width

STDIN = "Check standard input (-) as this file."
OUTPUT_FILE = "Write the findings there."
DIFF_BASE = "Report only what was brought since this commit or branch; auto: since what a pull request is merged into."
FORMAT_VARIABLE = "RETAINLINT_OUTPUT_FORMAT"
FAIL_ON = "Exit with 1 from this level on: error or warning."


@click.command(cls=Command)
@click.argument("paths", nargs=-1, type=PathParam())
@shared.rule_options
@option(RULES, "--add-noqa", usual=False, bare="", metavar="REASON", help="Suppress each finding with a comment.")
@shared.file_options
@option(FILES, "--stdin-filename", usual=False, metavar="NAME", type=PathParam(), help=STDIN)
@flag(FILES, "--show-files", usual=False, help="List the files, and check nothing.")
@shared.fix_options
@shared.configuration_options
@shared.baseline_option("Don't report the findings in this file.")
@flag(CONFIGURATION, "--no-baseline", usual=False, help="Report known findings too.")
@option(CONFIGURATION, "--diff-base", usual=False, metavar="REF", help=DIFF_BASE)
@flag(CONFIGURATION, "--show-settings", usual=False, help="Show what holds, and check nothing.")
@setting(OUTPUT, "--output-format", cls=FormatOption, metavar="FORMAT", type=FormatParam(), envvar=FORMAT_VARIABLE)
@option(OUTPUT, "-o", "--output-file", usual=False, metavar="FILE", type=PathParam(), default="", help=OUTPUT_FILE)
@shared.work_options
@flag(OUTPUT, "--statistics", help="Count the findings of each rule.")
@flag(OUTPUT, "--show-unknown", usual=False, help="Say what wasn't followed.")
@flag(OUTPUT, "-v", "--verbose", usual=False, help="Say what was looked at, and where the time went.")
@flag(OUTPUT, "-q", "--quiet", help="Findings only: no summary, no progress.")
@flag(OUTPUT, "-s", "--silent", usual=False, help="Nothing but the exit code; a file of -o is written.")
@shared.colour_option
@setting(EXIT, "--fail-on", metavar="LEVEL", type=click.Choice(["error", "warning"]), help=FAIL_ON)
@flag(EXIT, "-e", "--exit-zero", help="Exit with 0 even if there are findings.")
@click.pass_context
def check(ctx: click.Context, /, paths: tuple[str, ...], quiet: bool, **given: Any) -> int:
    """Check files and directories (default: this one).

    In a directory, all .py and .ipynb files are checked but those that git ignores and those in places like .venv and build; a
    file that is named is always checked, also a .md with Python in it; `-` is standard input.
    """
    from retainlint.commands import check as command
    from retainlint.commands.fix import Given
    from retainlint.commands.working import Means

    _refuse_together(ctx, given, quiet)
    is_given = paths == ("-",) or (not paths and given["stdin_filename"] is not None)
    if not is_given and ("-" in paths or given["stdin_filename"] is not None):
        raise click.UsageError("Standard input (-) is checked alone.", ctx)
    name = os.path.normpath(given["stdin_filename"]) if given["stdin_filename"] else "-"
    paths = (name,) if is_given else paths or (".",)
    if given["show_settings"]:
        from retainlint.commands.config import config as run_config

        return run_config(paths[0], requested(ctx), sys.stdout, width=width(100))
    means = Means(given["jobs"] or 0, given["executor"], not given["no_cache"])
    given.update(quiet=quiet or given["silent"], colour=wants_colour(given["color"]), width=width())
    options = command.CheckOptions(paths, requested(ctx), means, given)
    if is_given and given["diff_base"] is not None:
        raise click.UsageError("--diff-base compares files, not standard input.", ctx)
    if is_given and not given["show_files"]:
        if given["add_noqa"] is not None:
            raise click.UsageError("--add-noqa writes files, not standard input.", ctx)
        options.given = Given(name, standard_input().read())
    if given["show_files"]:
        return command.show_files(options, sys.stdout)
    if given["watch"]:
        if is_given or given["add_noqa"] is not None or given["diff"]:
            raise click.UsageError("--watch goes neither with standard input nor with --add-noqa or --diff.", ctx)
        from retainlint.commands.watch import watch

        return watch(options, sys.stdout)
    with progress(quiet or given["silent"]) as bar:
        if given["add_noqa"] is not None:
            from retainlint.commands.noqa import add_noqa

            return add_noqa(paths, options.requested, given["add_noqa"], sys.stdout, bar)
        return command.check(options, sys.stdout, bar)


def _refuse_together(ctx: click.Context, given: dict[str, Any], quiet: bool) -> None:
    """Options of which one says the contrary of another. Raises UsageError."""
    if quiet + given["verbose"] + given["silent"] > 1:
        raise click.UsageError("Only one of --verbose, --quiet and --silent can be meant.", ctx)
    if given["add_noqa"] is not None:
        for name in ("diff", "fix", "fix_only", "show_files"):
            if given[name]:
                raise click.UsageError(f"--add-noqa doesn't go with --{name.replace('_', '-')}.", ctx)
