"""The options that several commands share, and what they say of settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from retainlint.cli.group import Option, words

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from retainlint.config import Requested

    _TextParam = click.ParamType[str]
else:
    _TextParam = click.ParamType  # not generic in older versions

Function = TypeVar("Function", bound=Callable[..., Any])

CONFIGURATION, RULES, FILES, OUTPUT, EXIT = "Configuration", "Rules", "Files", "Output", "Exit code"
FIXES = "Fixes"
WORK = "Work"


class PathParam(_TextParam):
    """A path, whatever is there: a shell completes it. (Click's own type has its name translated, which costs more than
    to check a small file.)"""

    name = "path"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")]


class FormatParam(_TextParam):
    """One of the report's formats, which are imported only when one is asked for."""

    name = "format"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from retainlint.commands.configuring import format_names

        if value not in format_names():
            self._fail(str(value), param, ctx)
        return value

    def _fail(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> None:
        from retainlint.commands.configuring import format_names
        from retainlint.config import nearest, shown

        near = nearest(value, format_names())
        hint = f"did you mean '{near}'?" if near else f"there are {', '.join(format_names())}."
        self.fail(f"{shown(value)} is no format; {hint}", param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        from retainlint.commands.configuring import format_names

        return [CompletionItem(name) for name in format_names() if name.startswith(incomplete)]


class FormatOption(Option):
    """Its help lists the formats, which are imported only when it is read."""

    @property
    def help(self) -> str | None:
        from retainlint.commands.configuring import format_names

        default, *others = format_names()
        return f"{default} (default), {', '.join(others)}. ({self.envvar})"

    @help.setter
    def help(self, text: str | None) -> None:
        """Click states one for each option."""


class RulesParam(_TextParam):
    """Codes, prefixes and names by comma; checked with the configuration's own."""

    name = "rules"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        from retainlint.commands.configuring import known_rules

        before, comma, word = incomplete.rpartition(",")
        every = [text for code, name in known_rules().names.items() for text in (code, name)]
        return [CompletionItem(before + comma + text) for text in every if text.lower().startswith(word.lower())]


def option(group: str, *names: str, **given: Any) -> Callable[[Function], Function]:
    """An option under a heading of the help; one that isn't `usual` is left out of the short help."""
    return click.option(*names, **{"cls": Option, "group": group, **given})


def flag(group: str, *names: str, **given: Any) -> Callable[[Function], Function]:
    return option(group, *names, is_flag=True, **given)


def setting(group: str, *names: str, **given: Any) -> Callable[[Function], Function]:
    """An option that overrides the setting of its name."""
    return option(group, *names, setting=names[-1].removeprefix("--").partition("/")[0], **given)


def rule_options(function: Function) -> Function:
    """Which rules are on."""
    several: dict[str, Any] = {"multiple": True, "metavar": "RULES", "type": RulesParam()}
    pairs: dict[str, Any] = {"multiple": True, "metavar": "PATTERN:RULE", "type": str, "usual": False}
    return _with(
        function,
        setting(RULES, "--select", help="Only these: codes, prefixes, names or ALL.", **several),
        setting(RULES, "--ignore", help="Not these.", **several),
        setting(RULES, "--extend-select", help="These too.", **several),
        setting(RULES, "--extend-ignore", usual=False, help="Nor these.", **several),
        setting(RULES, "--per-file-ignores", help="Not these in some files.", **pairs),
        setting(RULES, "--extend-per-file-ignores", help="Nor these in some files.", **pairs),
        flag(RULES, "--ignore-noqa", usual=False, help="Report what comments suppress too."),
    )


def file_options(function: Function) -> Function:
    """Which files are checked."""
    several: dict[str, Any] = {"multiple": True, "metavar": "PATTERNS"}
    either: dict[str, Any] = {"usual": False, "default": None}
    named, ignored = "--force-exclude/--no-force-exclude", "--respect-gitignore/--no-respect-gitignore"
    return _with(
        function,
        setting(FILES, "--exclude", help="Leave these out instead of .venv, build...", **several),
        setting(FILES, "--extend-exclude", usual=False, help="Leave these out too.", **several),
        setting(FILES, named, help="Leave out what is excluded even if it is named.", **either),
        setting(FILES, ignored, help="Leave out what git ignores.", **either),
    )


def fix_options(function: Function) -> Function:
    """What is done about findings."""
    several: dict[str, Any] = {"multiple": True, "metavar": "RULES", "type": RulesParam(), "usual": False}
    written, unsafe = "Write the fixes, each proven on its result.", "Write those too that may change what is computed."
    return _with(
        function,
        setting(FIXES, "--fix/--no-fix", help=written, default=None),
        setting(FIXES, "--unsafe-fixes/--no-unsafe-fixes", help=unsafe, default=None),
        flag(FIXES, "--diff", help="Show what would be written; exit with 1 if anything."),
        flag(FIXES, "--fix-only", usual=False, help="Write the fixes, and report nothing."),
        flag(FIXES, "--show-fixes", usual=False, help="Say which fixes there are, or were written."),
        flag(FIXES, "--exit-non-zero-on-fix", usual=False, help="Exit with 1 if anything was fixed."),
        setting(FIXES, "--fixable", help="Fix only these.", **several),
        setting(FIXES, "--unfixable", help="Don't fix these.", **several),
    )


def configuration_options(function: Function) -> Function:
    """Where settings come from."""
    file: dict[str, Any] = {"multiple": True, "metavar": "FILE|KEY=VALUE"}
    return _with(
        function,
        option(CONFIGURATION, "--config", help="Use this file, or this setting.", **file),
        flag(CONFIGURATION, "--isolated", usual=False, help="Use no configuration file."),
    )


def cache_option(function: Function) -> Function:
    kept = "Where results are kept: .retainlint_cache. (RETAINLINT_CACHE_DIR)"
    place: dict[str, Any] = {"envvar": "RETAINLINT_CACHE_DIR", "metavar": "DIR", "type": PathParam()}
    return setting(WORK, "--cache-dir", usual=False, help=kept, **place)(function)


def unkept_option(function: Function) -> Function:
    unkept = "Neither use nor keep earlier results. (RETAINLINT_NO_CACHE)"
    return flag(WORK, "-n", "--no-cache", usual=False, envvar="RETAINLINT_NO_CACHE", help=unkept)(function)


def work_options(function: Function) -> Function:
    """How the work is done, which changes nothing of what is found."""
    number: dict[str, Any] = {"type": click.IntRange(min=1), "metavar": "N", "envvar": "RETAINLINT_JOBS"}
    jobs = "At most so many processes, if they pay: one a processor. (RETAINLINT_JOBS)"
    who: dict[str, Any] = {"default": "local", "metavar": "NAME", "help": "Who checks: local, or dask://HOST:PORT."}
    return _with(
        function,
        unkept_option,
        cache_option,
        option(WORK, "-j", "--jobs", usual=False, help=jobs, **number),
        option(WORK, "--executor", usual=False, **who),
        flag(WORK, "-w", "--watch", usual=False, help="Check again after each change, until Ctrl-C."),
    )


def baseline_option(help: str) -> Callable[[Function], Function]:
    return setting(CONFIGURATION, "--baseline", metavar="FILE", type=PathParam(), help=help)


def colour_option(function: Function) -> Function:
    when: dict[str, Any] = {"metavar": "WHEN", "type": click.Choice(["auto", "always", "never"]), "default": "auto"}
    words = "auto (on a terminal, without NO_COLOR), always, or never."
    return option(OUTPUT, "--color", usual=False, help=words, **when)(function)


def format_option(*names: str, help: str = "text, json or markdown.") -> Callable[[Function], Function]:
    """How a command other than `check` answers; "text" by default."""
    return option("", "--output-format", type=click.Choice(names), default="text", metavar="FORMAT", help=help)


def requested(ctx: click.Context) -> Requested:
    """What the options of a command say of settings. Raises CommandError."""
    from retainlint.commands.configuring import requested as build

    values: dict[str, object] = {}
    for option in ctx.command.params:
        if isinstance(option, Option) and option.setting is not None and option.name is not None:
            given = ctx.params.get(option.name)
            if option.setting.endswith("per-file-ignores") and given:
                values[option.setting] = _pairs(given, option, ctx)
            elif isinstance(given, tuple) and given:
                values[option.setting] = words(given)
            elif given is not None and given != ():
                values[option.setting] = given
    if ctx.params.get("no_baseline"):
        values["baseline"] = None
    return build(
        values,
        ctx.params.get("config", ()),
        isolated=ctx.params.get("isolated", False),
        suppressions=not ctx.params.get("ignore_noqa", False),
    )


def _pairs(given: tuple[str, ...], option: Option, ctx: click.Context) -> dict[str, list[str]]:
    """`PATTERN:RULE,PATTERN:RULE` as a table."""
    table: dict[str, list[str]] = {}
    for word in words(given):
        pattern, colon, rule = word.rpartition(":")
        if not colon or not pattern.strip() or not rule.strip():
            from retainlint.config import shown

            raise click.BadParameter(f"{shown(word)} is not written PATTERN:RULE.", ctx, option)
        table.setdefault(pattern.strip(), []).append(rule.strip())
    return table


def _with(function: Function, *options: Callable[[Function], Function]) -> Function:
    for option in reversed(options):
        function = option(function)
    return function
