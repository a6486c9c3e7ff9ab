"""`retainlint reproduce`."""

from __future__ import annotations

import sys

import click

from retainlint.cli.group import Command, Option


@click.command(cls=Command)
@click.argument("place", metavar="FILE:LINE")
@click.option(
    "--run", "runs", cls=Option, is_flag=True, help="Run the script on the reference core instead of printing it."
)
def reproduce(place: str, runs: bool) -> int:
    """Print a finding as a short torch script that fails.

    FILE:LINE is where the finding is reported, as in train.py:14. The script holds nothing but the operations and walks
    that matter, and raises the same error: `retainlint reproduce train.py:14 | python`.
    """
    from retainlint.commands.reproduce import reproduce as run_reproduce

    if not runs:
        return run_reproduce(place, sys.stdout)
    from retainlint.commands.replay import replay

    return run_reproduce(place, sys.stdout, replay)
