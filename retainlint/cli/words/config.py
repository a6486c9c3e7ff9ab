"""`retainlint config`."""

from __future__ import annotations

import sys
from typing import Any

import click

from retainlint.cli import options as shared
from retainlint.cli.group import Command, Option
from retainlint.cli.options import Place, asked
from retainlint.cli.screen import width


@click.command(cls=Command)
@click.argument("path", default=".", type=Place())
@click.option("--list", "every", cls=Option, is_flag=True, help="Tell what settings there are.")
@click.option("--schema", cls=Option, is_flag=True, help="Print the JSON schema of the settings.")
@click.option(
    "--output-format", cls=Option, type=click.Choice(["text", "json", "markdown"]), default="text", metavar="FORMAT",
    help="text, json, or markdown (of --list).",
)  # fmt: skip
@shared.configuration_options
@click.pass_context
def config(ctx: click.Context, /, path: str, every: bool, schema: bool, output_format: str, **given: Any) -> int:
    """Show the settings for a file, and where each came from."""
    from retainlint.commands import config as command

    if schema:
        return command.print_schema(sys.stdout)
    as_json = output_format == "json"
    if every:
        return command.settings(
            sys.stdout, as_json=as_json, markdown=output_format == "markdown", width=min(width(80), 100)
        )
    return command.config(path, asked(ctx), sys.stdout, as_json=as_json, width=width(100))
