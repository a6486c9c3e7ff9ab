"""The command line: options, colours, the progress bar and exit codes; the only room that knows click."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from retainlint import __version__
from retainlint.commands import CommandError, nearest

INTERRUPTED, PIPE_CLOSED, FAILED = 130, 141, 2


class _Group(click.Group):
    """A group whose command may be left out when a path comes first: then it is `check`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0].startswith("-") and args[0] not in ("-h", "--help", "-V", "--version"):
            args = ["check", *args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if self.get_command(ctx, word) is None:
            if os.path.lexists(word) or os.sep in word or word.endswith(".py"):
                return super().resolve_command(ctx, ["check", *args])
            near = nearest(word, self.list_commands(ctx))
            hint = f" Did you mean '{near}'?" if near else ""
            raise click.UsageError(f"'{word}' is neither a command nor a path.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)  # in the order of their use, not of the alphabet

    def invoke(self, ctx: click.Context) -> Any:
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
            return code
        except BrokenPipeError:  # here, since click would exit with 1, which says that there are findings
            _silence_output()
            return PIPE_CLOSED
        except CommandError as error:
            raise click.ClickException(str(error)) from error


class _Progress:
    """A bar on standard error, which appears if a run takes more than a second."""

    def __init__(self) -> None:
        self._appears = time.monotonic() + 1.0
        self._bar: Any = None

    def __call__(self, done: int, total: int) -> None:
        if self._bar is None:
            if time.monotonic() < self._appears or done == total:
                return
            self._bar = click.progressbar(length=total, label="Checking", file=sys.stderr, show_pos=True)
            self._bar.__enter__()
        self._bar.update(done - self._bar.pos)
        if done == total:  # the findings are written next
            self.close()

    def close(self) -> None:
        """Give the terminal its cursor and a new line back."""
        if self._bar is not None:
            self._bar.__exit__(None, None, None)
            self._bar = None


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
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
@click.option("--select", multiple=True, metavar="RULES", help="Only these: codes, prefixes or names, by comma.")
@click.option("--ignore", multiple=True, metavar="RULES", help="Not these: codes, prefixes or names, by comma.")
@click.option(
    "--output-format",
    metavar="FORMAT",
    type=click.Choice(["full", "concise", "json"]),
    default="full",
    help="full (with drawings), concise (a line each), or json.",
)
@click.option("-e", "--exit-zero", is_flag=True, help="Exit with 0 even if there are findings.")
@click.option("-q", "--quiet", is_flag=True, help="Findings only: no summary, no progress bar.")
@click.option(
    "--color",
    metavar="WHEN",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    help="auto (on a terminal, without NO_COLOR), always, or never.",
)
def check(
    paths: tuple[str, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    output_format: str,
    exit_zero: bool,
    quiet: bool,
    color: str,
) -> int:
    """Check files and directories (default: this one).

    In a directory, all .py files are checked but those that git ignores and those in places like .venv and build; a
    file that is named is always checked.
    """
    from retainlint.commands.check import Options
    from retainlint.commands.check import check as run_check

    options = Options(
        paths=paths or (".",),
        select=_by_comma(select),
        ignore=_by_comma(ignore),
        format=output_format,
        exit_zero=exit_zero,
        quiet=quiet,
        colour=_wants_colour(color),
        width=shutil.get_terminal_size((140, 24)).columns,
    )
    progress = _Progress() if sys.stderr.isatty() and not quiet else None
    try:
        return run_check(options, sys.stdout, progress)
    finally:
        if progress is not None:
            progress.close()


@cli.command()
@click.argument("rule", metavar="CODE|NAME")
def explain(rule: str) -> int:
    """Explain a rule: what fails, why, and the cure."""
    from retainlint.commands.explain import explain as run_explain

    return run_explain(rule, sys.stdout)


@cli.command()
def rules() -> int:
    """List all rules."""
    from retainlint.commands.rules import rules as run_rules

    return run_rules(sys.stdout)


@cli.command()
@click.argument("place", metavar="FILE:LINE")
@click.option("--run", "runs", is_flag=True, help="Run the script on the reference core instead of printing it.")
def reproduce(place: str, runs: bool) -> int:
    """Print a finding as a short torch script that fails.

    FILE:LINE is where the finding is reported, as in train.py:14. The script holds nothing but the operations and walks
    that matter, and raises the same error: `retainlint reproduce train.py:14 | python`.
    """
    from retainlint.commands.reproduce import reproduce as run_reproduce

    def run_script(script: str) -> int:
        from retainlint.commands.run import run as run_run

        return run_run(Path(script), [])

    return run_reproduce(place, sys.stdout, run_script if runs else None)


@cli.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("script", type=click.Path(path_type=Path))
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@click.option("--trace", is_flag=True, help="Tell what is built, freed and walked, as it happens.")
@click.option("--graph", type=click.Path(dir_okay=False, path_type=Path), help="Draw all graphs there, as SVG.")
def run(script: Path, args: tuple[str, ...], trace: bool, graph: Path | None) -> int:
    """Run a torch script on the reference core, without torch.

    What stands behind SCRIPT is passed to it.
    """
    from retainlint.commands.run import run as run_run

    return run_run(script, args, trace=trace, graph=graph)


def _by_comma(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for value in values for word in value.split(",") if word.strip())


def _wants_colour(choice: str) -> bool:
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def _silence_output() -> None:
    """What is still buffered goes nowhere, or Python would complain of it when it exits."""
    with contextlib.suppress(OSError, ValueError):  # when standard output is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit: 0, 1 with findings, 2 on an error, 130 when interrupted."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that can't show a character gets its number
    sys.exit(_outcome(args))


def _outcome(args: Sequence[str] | None) -> int:
    try:
        return int(cli.main(args, prog_name="retainlint", standalone_mode=False) or 0)
    except click.UsageError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        click.echo(f"error: {error.format_message()}", err=True)
        return FAILED
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except OSError as error:
        _silence_output()
        click.echo(f"error: {error}", err=True)
        return FAILED
