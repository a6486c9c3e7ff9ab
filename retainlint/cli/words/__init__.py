"""The commands as a user writes them, one module each with its options; what they do is in `commands/`."""

from __future__ import annotations

import click

from retainlint.cli.group import HELP, Group, Option
from retainlint.startup.version import __version__

WORDS = ("check", "explain", "rules", "why", "reproduce", "run", "baseline", "config", "clean", "completion")


def _show_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(f"retainlint {__version__}", color=ctx.color)
        ctx.exit()


@click.group(cls=Group, room=__name__, words=WORDS)
@click.option(
    "-V", "--version", cls=Option, group=HELP, is_flag=True, expose_value=False, is_eager=True, callback=_show_version,
    help="Show the version.",
)  # fmt: skip
def cli() -> None:
    """A borrow checker for PyTorch's autograd graphs.

    Finds, without running your code, the backward() that will raise "Trying to backward through the graph a second
    time", shows where the graph was built, freed and needed again, and proves it.

    \b
      retainlint check               check the files below this directory
      retainlint check train.py      check one file; `check` may be left out
      retainlint explain RTL101      what a finding means, and the cure

    Exit codes: 0 nothing found, 1 findings, 2 it could not be done.
    """
