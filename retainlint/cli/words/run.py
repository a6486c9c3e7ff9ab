"""`retainlint run`."""

from __future__ import annotations

import click

from retainlint.cli.group import Command, Option
from retainlint.cli.options import Place


@click.command(cls=Command, context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("script", type=Place())
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@click.option("--trace", cls=Option, is_flag=True, help="Tell what is built, freed and walked, as it happens.")
@click.option("--graph", cls=Option, type=Place(), help="Draw all graphs there, as SVG.")
def run(script: str, args: tuple[str, ...], trace: bool, graph: str | None) -> int:
    """Run a torch script on the reference core, without torch.

    What stands behind SCRIPT is passed to it.
    """
    from pathlib import Path

    from retainlint.commands.run import run as run_run

    return run_run(Path(script), args, trace=trace, graph=None if graph is None else Path(graph))
