"""The commands for what a project keeps: `baseline`, `config`, `clean`, and a shell's `completion`."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from retainlint.cli import options as shared
from retainlint.cli.group import Command
from retainlint.cli.options import OUTPUT, PathParam, flag, format_option, requested
from retainlint.cli.screen import progress, width


@click.command(cls=Command)
@click.argument("paths", nargs=-1, type=PathParam())
@flag("", "--show", help="List what is in it.")
@flag("", "--prune", help="Only remove what fits no finding any more.")
@shared.baseline_option("The file to write, show or prune.")
@shared.configuration_options
@shared.rule_options
@shared.file_options
@flag(OUTPUT, "-q", "--quiet", usual=False, help="No progress bar.")
@click.pass_context
def baseline(ctx: click.Context, /, paths: tuple[str, ...], show: bool, prune: bool, quiet: bool, **given: Any) -> int:
    """Write down today's findings, so that only new ones are reported.

    `check` leaves out what is in the file that the setting `baseline` or the option --baseline names. A finding is
    known by its text, not its line: edits above it, and moving it, don't make it new.
    """
    from retainlint.commands import baseline as command

    if show:
        return command.show(requested(ctx), sys.stdout)
    with progress(quiet) as bar:
        return command.write(paths or (".",), requested(ctx), sys.stdout, prune=prune, progress=bar)


@click.command(cls=Command)
@click.argument("path", default=".", type=PathParam())
@flag("", "--list", "every", help="List the settings there are.")
@flag("", "--schema", help="Print the JSON schema of the settings.")
@format_option("text", "json", "markdown", help="text, json, or markdown (of --list).")
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
    return command.config(path, requested(ctx), sys.stdout, as_json=as_json, width=width(100))


@click.command(cls=Command)
@shared.cache_option
@shared.configuration_options
@click.pass_context
def clean(ctx: click.Context, /, **given: Any) -> int:
    """Remove the results that earlier runs have kept."""
    from retainlint.commands.working import clean as run_clean

    return run_clean(requested(ctx), sys.stdout)


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), required=False)
@click.pass_context
def completion(ctx: click.Context, /, shell: str | None) -> int:
    """Print what makes a shell complete commands and options.

    \b
      bash:  eval "$(retainlint completion bash)"     in ~/.bashrc
      zsh:   eval "$(retainlint completion zsh)"      in ~/.zshrc
      fish:  retainlint completion fish | source     in ~/.config/fish/config.fish
    """
    from click.shell_completion import get_completion_class

    name = shell or os.path.basename(os.environ.get("SHELL", ""))
    found = get_completion_class(name)
    if found is None:
        raise click.UsageError("Name a shell: bash, zsh or fish.")
    sys.stdout.write(found(ctx.find_root().command, {}, "retainlint", "_RETAINLINT_COMPLETE").source() + "\n")
    return 0


@click.command(cls=Command)
@shared.configuration_options
@shared.unkept_option
@shared.cache_option
@click.pass_context
def server(ctx: click.Context, /, **given: Any) -> int:
    """Run the language server, for editors.

    It speaks the Language Server Protocol over standard input and output, and needs pygls:
    pip install 'retainlint[server]'. docs/editors.md says how editors start it.
    """
    from retainlint.commands.server import serve

    return serve(requested(ctx), not given["no_cache"])
