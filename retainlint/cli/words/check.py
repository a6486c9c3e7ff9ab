"""`retainlint check`, and what it may be asked."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from retainlint.cli import options as shared
from retainlint.cli.group import Command, Option
from retainlint.cli.options import CONFIGURATION, EXIT, FILES, OUTPUT, RULES, FormatName, Place, asked
from retainlint.cli.screen import progress, standard_input, wants_colour, width


@click.command(cls=Command)
@click.argument("paths", nargs=-1, type=Place())
@shared.rule_options
@click.option(
    "--add-noqa", cls=Option, group=RULES, usual=False, is_flag=True, help="Suppress each finding with a comment."
)
@shared.file_options
@click.option(
    "--stdin-filename", cls=Option, group=FILES, usual=False, metavar="NAME", type=Place(),
    help="Check standard input (-) as this file.",
)  # fmt: skip
@click.option(
    "--show-files", cls=Option, group=FILES, usual=False, is_flag=True, help="List the files, and check nothing."
)
@shared.fix_options
@shared.configuration_options
@shared.baseline_option("Don't tell of the findings in this file.")
@click.option(
    "--no-baseline", cls=Option, group=CONFIGURATION, usual=False, is_flag=True, help="Tell of known findings too."
)
@click.option(
    "--show-settings",
    cls=Option,
    group=CONFIGURATION,
    usual=False,
    is_flag=True,
    help="Show what holds, and check nothing.",
)
@click.option(
    "--output-format",
    cls=Option,
    group=OUTPUT,
    setting="output-format",
    metavar="FORMAT",
    type=FormatName(),
    help="full (default), concise, grouped, json, json-lines, sarif, github, gitlab, junit, azure, rdjson, pylint.",
)
@click.option(
    "-o", "--output-file", cls=Option, group=OUTPUT, usual=False, metavar="FILE", type=Place(), default="",
    help="Write the findings there.",
)  # fmt: skip
@shared.work_options
@click.option("--statistics", cls=Option, group=OUTPUT, is_flag=True, help="Count the findings of each rule.")
@click.option("--show-unknown", cls=Option, group=OUTPUT, usual=False, is_flag=True, help="Tell what wasn't followed.")
@click.option("-q", "--quiet", cls=Option, group=OUTPUT, is_flag=True, help="Findings only: no summary, no progress.")
@shared.colour_option
@click.option(
    "--fail-on", cls=Option, group=EXIT, setting="fail-on", metavar="LEVEL", type=click.Choice(["error", "warning"]),
    help="Exit with 1 from this level on: error or warning.",
)  # fmt: skip
@click.option("-e", "--exit-zero", cls=Option, group=EXIT, is_flag=True, help="Exit with 0 even if there are findings.")
@click.pass_context
def check(ctx: click.Context, /, paths: tuple[str, ...], quiet: bool, **given: Any) -> int:
    """Check files and directories (default: this one).

    In a directory, all .py and .ipynb files are checked but those that git ignores and those in places like .venv and build; a
    file that is named is always checked, also a .md with Python in it; `-` is standard input.
    """
    from retainlint.commands import check as command
    from retainlint.commands.options import Fixing, Options
    from retainlint.commands.working import Means

    is_given = paths == ("-",) or (not paths and given["stdin_filename"] is not None)
    if not is_given and ("-" in paths or given["stdin_filename"] is not None):
        raise click.UsageError("Standard input (-) is checked alone.", ctx)
    name = os.path.normpath(given["stdin_filename"]) if given["stdin_filename"] else "-"
    paths = (name,) if is_given else paths or (".",)
    if given["show_settings"]:
        from retainlint.commands.config import config as run_config

        return run_config(paths[0], asked(ctx), sys.stdout, width=width(100))
    options = Options(
        paths,
        asked(ctx),
        Fixing(given["diff"], given["fix_only"], given["show_fixes"], given["exit_non_zero_on_fix"]),
        Means(given["jobs"] or 0, given["executor"], not given["no_cache"]),
        exit_zero=given["exit_zero"],
        quiet=quiet,
        colour=wants_colour(given["color"]),
        width=width(),
        output_file=given["output_file"],
        statistics=given["statistics"],
        show_unknown=given["show_unknown"],
    )
    if is_given and not given["show_files"]:
        if given["add_noqa"]:
            raise click.UsageError("--add-noqa writes files, not standard input.", ctx)
        from retainlint.commands.given import Given

        options.given = Given(name, standard_input().read())
    if given["show_files"]:
        return command.show_files(options, sys.stdout)
    if given["watch"]:
        if is_given or given["add_noqa"] or given["diff"]:
            raise click.UsageError("--watch goes neither with standard input nor with --add-noqa or --diff.", ctx)
        from retainlint.commands.watch import watch

        return watch(options, sys.stdout)
    with progress(quiet) as bar:
        if given["add_noqa"]:
            from retainlint.commands.noqa import add_noqa

            return add_noqa(paths, options.asked, sys.stdout, bar)
        return command.check(options, sys.stdout, bar)
