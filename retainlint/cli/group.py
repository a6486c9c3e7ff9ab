"""How commands are found and how help is laid out: a default command, options in groups, a short help and a long one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import click

from retainlint.cli.screen import silence_output
from retainlint.commands import CommandError
from retainlint.text.quoting import harmless

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

PIPE_CLOSED = 141
HELP = "Help"
_SHORT = "retainlint.short"


class Option(click.Option):
    """An option under a heading of the help. `setting` is the key of the setting that it overrides.

    One that is not `usual` is left out of the short help. `bare` is the value of one that is given without any: then a
    value stands behind `=` alone, so that the next word isn't taken for it.
    """

    def __init__(
        self,
        *args: Any,
        group: str = "",
        usual: bool = True,
        setting: str | None = None,
        bare: str | None = None,
        **given: Any,
    ) -> None:
        super().__init__(*args, **given)
        self.group, self.usual, self.setting, self.bare = group, usual, setting, bare

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """A flag that has a contrary is shown as `--[no-]flag`, in the short help without that."""
        record = super().get_help_record(ctx)
        if record is not None and self.bare is not None:
            return f"{self.opts[-1]}[={self.metavar}]", record[1]
        if record is None or not self.secondary_opts:
            return record
        return self.opts[-1] if ctx.meta.get(_SHORT) else self.opts[-1].replace("--", "--[no-]", 1), record[1]


class _Helpful(click.Command):
    """`-h` shows the usual options, `--help` all of them, under their headings."""

    @cached_property
    def _help(self) -> list[Option]:
        return _help_options(self)

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        return self._help[-1]

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*self.params, *self._help]


class Command(_Helpful):
    """What a user asks for by a word of its own."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        bare = {name: each.bare for each in self.params if isinstance(each, Option) for name in each.opts}
        end = args.index("--") if "--" in args else len(args)
        given = [word if bare.get(word) is None else f"{word}={bare[word]}" for word in args[:end]]
        return super().parse_args(ctx, given + args[end:])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        short = bool(ctx.meta.get(_SHORT))
        groups: dict[str, list[tuple[str, str]]] = {}
        grouped = any(option.group not in ("", HELP) for option in self.params if isinstance(option, Option))
        left_out = 0
        for option in (option for option in self.get_params(ctx) if isinstance(option, Option)):
            record = option.get_help_record(ctx)
            if record is None:
                continue
            if short and not option.usual:
                left_out += 1
                continue
            groups.setdefault("" if short or not grouped else option.group, []).append(record)
        widest = max((len(record[0]) for rows in groups.values() for record in rows), default=0)
        for group in sorted(groups, key=lambda group: (group == HELP, group != "")):
            with formatter.section(group or "Options"):
                rows = [(f"{first:<{min(widest, 28)}}", text) for first, text in groups[group]]
                formatter.write_dl(rows)
        if left_out:
            formatter.write_paragraph()
            formatter.write_text(f"`{ctx.command_path} --help` shows {left_out} more.")


def _help_options(command: click.Command) -> list[Option]:
    """`-h` and `--help`, which differ if some options are unusual; the option of both names otherwise."""

    def show(ctx: click.Context, param: click.Parameter, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()

    def show_short(ctx: click.Context, param: click.Parameter, value: bool) -> None:
        ctx.meta[_SHORT] = bool(value)
        show(ctx, param, value)

    flags: dict[str, Any] = {"group": HELP, "is_flag": True, "expose_value": False, "is_eager": True}
    if all(option.usual for option in command.params if isinstance(option, Option)):
        return [Option(["-h", "--help"], help="Show this help.", callback=show, **flags)]
    return [
        Option(["-h", "short"], help="Show the usual options.", callback=show_short, **flags),
        Option(["--help"], help="Show all options.", callback=show, **flags),
    ]


class Group(_Helpful, click.Group):
    """A group whose command may be left out when a path comes first: then it is `check`. `aliases` aren't listed.

    `words` are its commands in the order of their use, each with its module in `room`; only that of the command that
    is requested is imported.
    """

    aliases: ClassVar[dict[str, str]] = {"rule": "explain"}

    def __init__(self, *args: Any, room: str, words: Mapping[str, str], **given: Any) -> None:
        super().__init__(*args, **given)
        self._room, self._words = room, words

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0].startswith("-") and args[0] not in ("-h", "--help", "-V", "--version"):
            args = ["check", *args]
        return super().parse_args(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        word = self.aliases.get(cmd_name, cmd_name)
        if word not in self._words:
            return None
        command: click.Command = getattr(import_module(f"{self._room}.{self._words[word]}"), word)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if self.get_command(ctx, word) is None:
            if os.path.lexists(word) or os.sep in word or word.endswith(".py"):
                return super().resolve_command(ctx, ["check", *args])
            from retainlint.config import nearest, shown

            near = nearest(word, self.list_commands(ctx))
            hint = f" Did you mean '{near}'?" if near else ""
            raise click.UsageError(f"{shown(word)} is neither a command nor a path.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._words)  # not by the alphabet

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [*super().shell_complete(ctx, incomplete), CompletionItem(incomplete, type="file")]

    def invoke(self, ctx: click.Context) -> Any:
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
            return code
        except BrokenPipeError:  # here, since click would exit with 1, which says that there are findings
            silence_output()
            return PIPE_CLOSED
        except CommandError as error:
            raise click.ClickException(harmless(str(error))) from error


def words(values: Iterable[str]) -> list[str]:
    """The words of an option that may be given again and lists them by comma; a comma in braces is a glob's."""
    found: list[str] = []
    for value in values:
        depth, word = 0, ""
        for sign in value + ",":
            depth += (sign == "{") - (sign == "}" and depth > 0)
            if sign == "," and (depth == 0 or "}" not in value):
                found.append(word.strip())
                word = ""
            else:
                word += sign
        found.append(word.rstrip(",").strip())
    return [word for word in found if word]
