"""`retainlint clean`."""

from __future__ import annotations

import sys
from typing import Any

import click

from retainlint.cli import options as shared
from retainlint.cli.group import Command
from retainlint.cli.options import asked


@click.command(cls=Command)
@shared.cache_option
@shared.configuration_options
@click.pass_context
def clean(ctx: click.Context, /, **given: Any) -> int:
    """Remove the results that earlier runs have kept."""
    from retainlint.commands.clean import clean as run_clean

    return run_clean(asked(ctx), sys.stdout)
