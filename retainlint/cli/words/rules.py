"""`retainlint rules`."""

from __future__ import annotations

import sys

import click

from retainlint.cli.group import Command, Option


@click.command(cls=Command)
@click.option(
    "--output-format", cls=Option, type=click.Choice(["text", "json", "markdown"]), default="text", metavar="FORMAT",
    help="text, json or markdown.",
)  # fmt: skip
def rules(output_format: str) -> int:
    """List all rules."""
    from retainlint.commands.rules import rules as run_rules

    return run_rules(sys.stdout, as_json=output_format == "json", markdown=output_format == "markdown")
