"""`retainlint completion`."""

from __future__ import annotations

import os
import sys

import click

from retainlint.cli.group import Command


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
