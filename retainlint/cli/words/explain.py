"""`retainlint explain`."""

from __future__ import annotations

import sys

import click

from retainlint.cli.group import Command, Option
from retainlint.cli.options import Rules


@click.command(cls=Command)
@click.argument("rule", metavar="[CODE|NAME]", required=False, type=Rules())
@click.option("--all", "every", cls=Option, is_flag=True, help="Explain all rules.")
@click.option(
    "--output-format", cls=Option, type=click.Choice(["text", "json", "markdown"]), default="text", metavar="FORMAT",
    help="text, json or markdown.",
)  # fmt: skip
@click.pass_context
def explain(ctx: click.Context, /, rule: str | None, every: bool, output_format: str) -> int:
    """Explain a rule: what fails, why, and the cure."""
    from retainlint.commands.explain import explain as run_explain

    if (rule is None) is not every:
        raise click.UsageError("Name one rule, or say --all.", ctx)
    return run_explain(rule, sys.stdout, as_json=output_format == "json", markdown=output_format == "markdown")
