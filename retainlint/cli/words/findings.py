"""The commands that tell what a finding means: `explain`, `rules`, `why`, `reproduce`, `run`."""

from __future__ import annotations

import os
import sys

import click

from retainlint.cli import options as shared
from retainlint.cli.group import Command
from retainlint.cli.options import PathParam, RulesParam, flag, format_option, option
from retainlint.cli.screen import is_piped, standard_input, wants_colour, width


@click.command(cls=Command)
@click.argument("rule", metavar="[CODE|NAME]", required=False, type=RulesParam())
@flag("", "--all", "every", help="Explain all rules.")
@format_option(
    "text", "json", "markdown", "html", help="text, json, markdown, or html: a page with graphs to step through."
)
@click.pass_context
def explain(ctx: click.Context, /, rule: str | None, every: bool, output_format: str) -> int:
    """Explain a rule: what fails, why, and the cure."""
    from retainlint.commands.explain import explain as run_explain

    if (rule is None) is not every:
        raise click.UsageError("Name one rule, or say --all.", ctx)
    return run_explain(rule, sys.stdout, output_format)


@click.command(cls=Command)
@format_option("text", "json", "markdown")
def rules(output_format: str) -> int:
    """List all rules."""
    from retainlint.commands.explain import rules as run_rules

    return run_rules(sys.stdout, as_json=output_format == "json", markdown=output_format == "markdown")


class _Why(Command):
    """A command to be run stands behind `--`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        ctx.obj = args[at + 1 :]
        if at == len(args) - 1:
            raise click.UsageError("Give a command behind `--`, as in `retainlint why -- python train.py`.", ctx)
        return super().parse_args(ctx, args[:at])


@click.command(cls=_Why, short_help="Explain a traceback: the story behind it, and the cure.")
@click.argument("output", metavar="[OUTPUT|FILE:LINE]", default="-")
@format_option("text", "json", help="text or json.")
@flag("", "-q", "--quiet", help="Don't pass on what comes through a pipe.")
@shared.colour_option
@click.pass_obj
def why(program: list[str], /, output: str, output_format: str, quiet: bool, color: str) -> int:
    """Explain a traceback: what was built, freed and needed again, and the cure.

    \b
      python train.py 2>&1 | retainlint why      what comes through is shown, too
      retainlint why slurm-1234.out              a file that holds the traceback
      retainlint why train.ipynb                 the last error in its outputs
      retainlint why train.py:14                 the line that raised
      retainlint why -- python train.py          run it; the exit code is its own

    Exit codes: 0 explained, 1 not explained, 2 it could not be done.
    """
    from retainlint.commands import why as command

    as_json = output_format == "json"
    style = command.AnswerStyle(as_json, wants_colour(color), width())
    if program:
        if output != "-":
            raise click.UsageError(f"Give {output}, or a command behind `--`, not both.")
        text, code = command.ran(program)
        if code:
            click.echo(err=True)
            command.why(text, sys.stderr, style)
        return code
    if output == "-":
        stream = standard_input()
        if stream.isatty():
            raise click.UsageError(
                "Give a traceback: `python train.py 2>&1 | retainlint why`, or a file that holds it."
            )
        echo = (sys.stderr if as_json else sys.stdout).buffer if is_piped(stream) and not quiet else None
        text = command.overheard(stream, echo)
        if echo is not None and not as_json:
            click.echo()
    elif os.path.isfile(output):
        text = command.text_of(output)
    else:
        return command.why_here(output, sys.stdout, style)
    return command.why(text, sys.stdout, style)


@click.command(cls=Command)
@click.argument("place", metavar="FILE:LINE")
@flag("", "--run", "runs", help="Run the script on the reference core instead of printing it.")
def reproduce(place: str, runs: bool) -> int:
    """Print a finding as a short torch script that fails.

    FILE:LINE is where the finding is reported, as in train.py:14. The script holds nothing but the operations and backward passes
    that matter, and raises the same error: `retainlint reproduce train.py:14 | python`.
    """
    from retainlint.commands.reproduce import reproduce as run_reproduce

    if not runs:
        return run_reproduce(place, sys.stdout)
    from retainlint.commands.replay import replay

    return run_reproduce(place, sys.stdout, replay)


class _Running(Command):
    """Takes its own options behind SCRIPT too, up to a `--`; all other words there are the script's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        flags = {name: each.is_flag for each in self.params if isinstance(each, click.Option) for name in each.opts}
        own, others = list[str](), list[str]()
        for word in args[:end]:
            name, equals, _ = word.partition("=")
            is_value = bool(own) and flags.get(own[-1]) is False
            is_own = is_value or word in flags or (bool(equals) and flags.get(name) is False)
            (own if is_own else others).append(word)
        return super().parse_args(ctx, [*own, *others, *args[end + bool(others) :]])


@click.command(cls=_Running, context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("script", type=PathParam())
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@flag("", "--trace", help="Print what is built and freed, and which nodes each backward pass runs, as it happens.")
@option("", "--graph", type=PathParam(), help="Draw all graphs there, as SVG.")
def run(script: str, args: tuple[str, ...], trace: bool, graph: str | None) -> int:
    """Run a torch script on the reference core, without torch.

    What stands behind SCRIPT is passed to it, but for these options; behind `--` all is.
    """
    from pathlib import Path

    from retainlint.commands.run import run as run_run

    return run_run(Path(script), args, trace=trace, graph=None if graph is None else Path(graph))
