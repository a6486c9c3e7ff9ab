"""`retainlint why`."""

from __future__ import annotations

import os
import sys

import click

from retainlint.cli import options as shared
from retainlint.cli.group import Command, Option
from retainlint.cli.screen import wants_colour, width


@click.command(cls=Command, short_help="Explain a traceback: the story behind it, and the cure.")
@click.argument("output", metavar="[OUTPUT|FILE:LINE]", default="-")
@click.option(
    "--output-format", cls=Option, type=click.Choice(["text", "json"]), default="text", metavar="FORMAT",
    help="text or json.",
)  # fmt: skip
@click.option("-q", "--quiet", cls=Option, is_flag=True, help="Don't pass on what comes through a pipe.")
@shared.colour_option
def why(output: str, output_format: str, quiet: bool, color: str) -> int:
    """Explain a traceback: what was built, freed and needed again, and the cure.

    \b
      python train.py 2>&1 | retainlint why      what comes through is shown, too
      retainlint why slurm-1234.out              a file that holds the traceback
      retainlint why train.ipynb                 the last error in its outputs
      retainlint why train.py:14                 the line that raised

    Exit codes: 0 explained, 1 not explained, 2 it could not be done.
    """
    from retainlint.cli.screen import is_piped, standard_input
    from retainlint.commands import why as command

    as_json = output_format == "json"
    look = command.Look(as_json, wants_colour(color), width())
    if output == "-":
        stream = standard_input()
        if stream.isatty():
            raise click.UsageError(
                "Give a traceback: `python train.py 2>&1 | retainlint why`, or a file that holds it."
            )
        echo = (sys.stderr if as_json else sys.stdout).buffer if is_piped(stream) and not quiet else None
        text = command.overheard(stream, echo)
        if echo is not None and not as_json:
            click.echo()
    elif os.path.isfile(output):
        text = command.text_of(output)
    else:
        return command.why_here(output, sys.stdout, look)
    return command.why(text, sys.stdout, look)
