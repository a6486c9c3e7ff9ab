"""`retainlint baseline`."""

from __future__ import annotations

import sys
from typing import Any

import click

from retainlint.cli import options as shared
from retainlint.cli.group import Command, Option
from retainlint.cli.options import OUTPUT, Place, asked
from retainlint.cli.screen import progress


@click.command(cls=Command)
@click.argument("paths", nargs=-1, type=Place())
@click.option("--show", cls=Option, is_flag=True, help="List what is in it.")
@click.option("--prune", cls=Option, is_flag=True, help="Only remove what fits no finding any more.")
@shared.baseline_option("The file to write, show or prune.")
@shared.configuration_options
@shared.rule_options
@shared.file_options
@click.option("-q", "--quiet", cls=Option, group=OUTPUT, is_flag=True, usual=False, help="No progress bar.")
@click.pass_context
def baseline(ctx: click.Context, /, paths: tuple[str, ...], show: bool, prune: bool, quiet: bool, **given: Any) -> int:
    """Write down today's findings, to be told of new ones only.

    `check` leaves out what is in the file that the setting `baseline` or the option --baseline names. A finding is
    known by its text, not its line: edits above it, and moving it, don't make it new.
    """
    from retainlint.commands import baseline as command

    if show:
        return command.show(asked(ctx), sys.stdout)
    with progress(quiet) as bar:
        return command.write(paths or (".",), asked(ctx), sys.stdout, prune=prune, progress=bar)
