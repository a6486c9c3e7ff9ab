"""The commands as a user writes them, with their options; what they do is in `commands/`."""

from __future__ import annotations

import click

from retainlint.cli.group import HELP, Group
from retainlint.cli.options import flag
from retainlint.startup.version import __version__

WORDS = {
    "check": "check",
    **dict.fromkeys(("explain", "rules", "why", "reproduce", "run"), "findings"),
    **dict.fromkeys(("baseline", "config", "clean", "completion", "server"), "upkeep"),
}
"""Each command, in the order of its use, and the module that has it."""


def _show_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(f"retainlint {__version__}", color=ctx.color)
        ctx.exit()


@click.group(cls=Group, room=__name__, words=WORDS)
@flag(HELP, "-V", "--version", expose_value=False, is_eager=True, callback=_show_version, help="Show the version.")
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
