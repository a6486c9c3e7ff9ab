"""The commands as a user writes them, each with its options; what they do is in `commands/`."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import Any

import click

from retainlint import __version__
from retainlint.cli import options as shared
from retainlint.cli.group import Group, Option
from retainlint.cli.options import CONFIGURATION, EXIT, FILES, OUTPUT, RULES, FormatName, Rules, asked
from retainlint.cli.screen import progress, wants_colour, width


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s")
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


@cli.command()
@click.argument("paths", nargs=-1, type=click.Path())
@shared.rule_options
@click.option(
    "--add-noqa", cls=Option, group=RULES, usual=False, is_flag=True, help="Suppress each finding with a comment."
)
@shared.file_options
@click.option(
    "--stdin-filename", cls=Option, group=FILES, usual=False, metavar="NAME", type=click.Path(),
    help="Check standard input (-) as this file.",
)  # fmt: skip
@click.option(
    "--show-files", cls=Option, group=FILES, usual=False, is_flag=True, help="List the files, and check nothing."
)
@shared.fix_options
@shared.configuration_options
@shared.baseline_option("Don't tell of the findings in this file.")
@click.option(
    "--no-baseline", cls=Option, group=CONFIGURATION, usual=False, is_flag=True, help="Tell of known findings too."
)
@click.option(
    "--show-settings",
    cls=Option,
    group=CONFIGURATION,
    usual=False,
    is_flag=True,
    help="Show what holds, and check nothing.",
)
@click.option(
    "--output-format",
    cls=Option,
    group=OUTPUT,
    setting="output-format",
    metavar="FORMAT",
    type=FormatName(),
    help="full (default), concise, grouped, json, json-lines, sarif, github, gitlab, junit, azure, rdjson, pylint.",
)
@click.option(
    "-o", "--output-file", cls=Option, group=OUTPUT, usual=False, metavar="FILE", type=click.Path(), default="",
    help="Write the findings there.",
)  # fmt: skip
@shared.work_options
@click.option("--statistics", cls=Option, group=OUTPUT, is_flag=True, help="Count the findings of each rule.")
@click.option("--show-unknown", cls=Option, group=OUTPUT, usual=False, is_flag=True, help="Tell what wasn't followed.")
@click.option("-q", "--quiet", cls=Option, group=OUTPUT, is_flag=True, help="Findings only: no summary, no progress.")
@shared.colour_option
@click.option(
    "--fail-on", cls=Option, group=EXIT, setting="fail-on", metavar="LEVEL", type=click.Choice(["error", "warning"]),
    help="Exit with 1 from this level on: error or warning.",
)  # fmt: skip
@click.option("-e", "--exit-zero", cls=Option, group=EXIT, is_flag=True, help="Exit with 0 even if there are findings.")
@click.pass_context
def check(ctx: click.Context, /, paths: tuple[str, ...], quiet: bool, **given: Any) -> int:
    """Check files and directories (default: this one).

    In a directory, all .py and .ipynb files are checked but those that git ignores and those in places like .venv and build; a
    file that is named is always checked, also a .md with Python in it; `-` is standard input.
    """
    from retainlint.commands import check as command
    from retainlint.commands.fix import Fixing
    from retainlint.commands.given import Given
    from retainlint.commands.working import Means

    is_given = paths == ("-",) or (not paths and given["stdin_filename"] is not None)
    if not is_given and ("-" in paths or given["stdin_filename"] is not None):
        raise click.UsageError("Standard input (-) is checked alone.", ctx)
    name = os.path.normpath(given["stdin_filename"]) if given["stdin_filename"] else "-"
    paths = (name,) if is_given else paths or (".",)
    if given["show_settings"]:
        from retainlint.commands.config import config as run_config

        return run_config(paths[0], asked(ctx), sys.stdout, width=width(100))
    options = command.Options(
        paths=paths,
        asked=asked(ctx),
        exit_zero=given["exit_zero"],
        quiet=quiet,
        colour=wants_colour(given["color"]),
        width=width(),
        output_file=given["output_file"],
        statistics=given["statistics"],
        show_unknown=given["show_unknown"],
        fixing=Fixing(given["diff"], given["fix_only"], given["show_fixes"], given["exit_non_zero_on_fix"]),
        means=Means(given["jobs"] or 0, given["executor"], not given["no_cache"]),
    )
    if is_given and not given["show_files"]:
        if given["add_noqa"]:
            raise click.UsageError("--add-noqa writes files, not standard input.", ctx)
        options = replace(options, given=Given(name, sys.stdin.buffer.read()))
    if given["show_files"]:
        return command.show_files(options, sys.stdout)
    if given["watch"]:
        if is_given or given["add_noqa"] or given["diff"]:
            raise click.UsageError("--watch goes neither with standard input nor with --add-noqa or --diff.", ctx)
        from retainlint.commands.watch import watch

        return watch(options, sys.stdout)
    with progress(quiet) as bar:
        if given["add_noqa"]:
            from retainlint.commands.noqa import add_noqa

            return add_noqa(paths, options.asked, sys.stdout, bar)
        return command.check(options, sys.stdout, bar)


@cli.command()
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


@cli.command()
@click.option(
    "--output-format", cls=Option, type=click.Choice(["text", "json", "markdown"]), default="text", metavar="FORMAT",
    help="text, json or markdown.",
)  # fmt: skip
def rules(output_format: str) -> int:
    """List all rules."""
    from retainlint.commands.rules import rules as run_rules

    return run_rules(sys.stdout, as_json=output_format == "json", markdown=output_format == "markdown")


@cli.command(short_help="Explain a traceback: the story behind it, and the cure.")
@click.argument("output", metavar="[OUTPUT|FILE:LINE]", default="-")
@click.option(
    "--output-format", cls=Option, type=click.Choice(["text", "json"]), default="text", metavar="FORMAT",
    help="text or json.",
)  # fmt: skip
@click.option("-q", "--quiet", cls=Option, is_flag=True, help="Don't pass on what comes through a pipe.")
@shared.colour_option
def why(output: str, output_format: str, quiet: bool, color: str) -> int:
    """Explain a traceback: what was built, freed and needed again, and the cure.

    \b
      python train.py 2>&1 | retainlint why      what comes through is shown, too
      retainlint why slurm-1234.out              a file that holds the traceback
      retainlint why train.ipynb                 the last error in its outputs
      retainlint why train.py:14                 the line that raised

    Exit codes: 0 explained, 1 not explained, 2 it could not be done.
    """
    from retainlint.cli.screen import is_piped
    from retainlint.commands import why as command

    as_json = output_format == "json"
    look = command.Look(as_json, wants_colour(color), width())
    if output == "-":
        if sys.stdin.isatty():
            raise click.UsageError(
                "Give a traceback: `python train.py 2>&1 | retainlint why`, or a file that holds it."
            )
        echo = (sys.stderr if as_json else sys.stdout).buffer if is_piped(sys.stdin) and not quiet else None
        text = command.overheard(sys.stdin.buffer, echo)
        if echo is not None and not as_json:
            click.echo()
    elif os.path.isfile(output):
        text = command.text_of(output)
    else:
        return command.why_here(output, sys.stdout, look)
    return command.why(text, sys.stdout, look)


@cli.command()
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

    def run_script(script: str) -> int:
        from pathlib import Path

        from retainlint.commands.run import run as run_run

        return run_run(Path(script), [])

    return run_reproduce(place, sys.stdout, run_script if runs else None)


@cli.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("script", type=click.Path())
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@click.option("--trace", cls=Option, is_flag=True, help="Tell what is built, freed and walked, as it happens.")
@click.option("--graph", cls=Option, type=click.Path(dir_okay=False), help="Draw all graphs there, as SVG.")
def run(script: str, args: tuple[str, ...], trace: bool, graph: str | None) -> int:
    """Run a torch script on the reference core, without torch.

    What stands behind SCRIPT is passed to it.
    """
    from pathlib import Path

    from retainlint.commands.run import run as run_run

    return run_run(Path(script), args, trace=trace, graph=None if graph is None else Path(graph))


@cli.command()
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--show", cls=Option, is_flag=True, help="List what is in it.")
@click.option("--prune", cls=Option, is_flag=True, help="Only remove what fits no finding any more.")
@shared.baseline_option("The file to write, show or prune.")
@shared.configuration_options
@shared.rule_options
@shared.file_options
@click.option("-q", "--quiet", cls=Option, group=OUTPUT, is_flag=True, usual=False, help="No progress bar.")
@click.pass_context
def baseline(ctx: click.Context, /, paths: tuple[str, ...], show: bool, prune: bool, quiet: bool, **given: Any) -> int:
    """Write down today's findings, to be told of new ones only.

    `check` leaves out what is in the file that the setting `baseline` or the option --baseline names. A finding is
    known by its text, not its line: edits above it, and moving it, don't make it new.
    """
    from retainlint.commands import baseline as command

    if show:
        return command.show(asked(ctx), sys.stdout)
    with progress(quiet) as bar:
        return command.write(paths or (".",), asked(ctx), sys.stdout, prune=prune, progress=bar)


@cli.command()
@click.argument("path", default=".", type=click.Path())
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


@cli.command()
@shared.cache_option
@shared.configuration_options
@click.pass_context
def clean(ctx: click.Context, /, **given: Any) -> int:
    """Remove the results that earlier runs have kept."""
    from retainlint.commands.clean import clean as run_clean

    return run_clean(asked(ctx), sys.stdout)


@cli.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), required=False)
def completion(shell: str | None) -> int:
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
    sys.stdout.write(found(cli, {}, "retainlint", "_RETAINLINT_COMPLETE").source() + "\n")
    return 0
