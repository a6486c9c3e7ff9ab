"""The options that several commands share, and what they say of settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from retainlint.cli.group import Option, shown, words

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from retainlint.config import Asked

    _TextParam = click.ParamType[str]
else:
    _TextParam = click.ParamType  # not generic in older versions

Function = TypeVar("Function", bound=Callable[..., Any])

CONFIGURATION, RULES, FILES, OUTPUT, EXIT = "Configuration", "Rules", "Files", "Output", "Exit code"
FIXES = "Fixes"
WORK = "Work"


class Place(_TextParam):
    """A path, whatever is there: a shell completes it. (Click's own type has its name translated, which costs more than
    to check a small file.)"""

    name = "path"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")]


class FormatName(_TextParam):
    """One of the report's formats, which are imported only when one is asked for."""

    name = "format"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from retainlint.commands.formats import names

        if value not in names():
            self._fail(str(value), param, ctx)
        return value

    def _fail(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> None:
        from retainlint.commands import nearest
        from retainlint.commands.formats import names

        near = nearest(value, names())
        hint = f"did you mean '{near}'?" if near else f"there are {', '.join(names())}."
        self.fail(f"{shown(value)} is no format; {hint}", param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        from retainlint.commands.formats import names

        return [CompletionItem(name) for name in names() if name.startswith(incomplete)]


class Rules(_TextParam):
    """Codes, prefixes and names by comma; checked with the configuration's own."""

    name = "rules"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        from retainlint.commands.configuring import known

        before, comma, word = incomplete.rpartition(",")
        every = [text for code, name in known().names.items() for text in (code, name)]
        return [CompletionItem(before + comma + text) for text in every if text.lower().startswith(word.lower())]


def rule_options(function: Function) -> Function:
    """Which rules are on."""
    several: dict[str, Any] = {"cls": Option, "group": RULES, "multiple": True, "metavar": "RULES", "type": Rules()}
    pairs: dict[str, Any] = {**several, "metavar": "PATTERN:RULE", "type": str, "usual": False}
    return _with(
        function,
        click.option("--select", setting="select", help="Only these: codes, prefixes, names or ALL.", **several),
        click.option("--ignore", setting="ignore", help="Not these.", **several),
        click.option("--extend-select", setting="extend-select", help="These too.", **several),
        click.option("--extend-ignore", setting="extend-ignore", usual=False, help="Nor these.", **several),
        click.option("--per-file-ignores", setting="per-file-ignores", help="Not these in some files.", **pairs),
        click.option(
            "--extend-per-file-ignores", setting="extend-per-file-ignores", help="Nor these in some files.", **pairs
        ),
        click.option(
            "--ignore-noqa",
            cls=Option,
            group=RULES,
            usual=False,
            is_flag=True,
            help="Report what comments suppress too.",
        ),
    )


def file_options(function: Function) -> Function:
    """Which files are checked."""
    several: dict[str, Any] = {"cls": Option, "group": FILES, "multiple": True, "metavar": "PATTERNS"}
    either: dict[str, Any] = {"cls": Option, "group": FILES, "usual": False, "default": None}
    return _with(
        function,
        click.option("--exclude", setting="exclude", help="Leave these out instead of .venv, build...", **several),
        click.option("--extend-exclude", setting="extend-exclude", usual=False, help="Leave these out too.", **several),
        click.option(
            "--force-exclude/--no-force-exclude",
            setting="force-exclude",
            help="Leave out what is excluded even if it is named.",
            **either,
        ),
        click.option(
            "--respect-gitignore/--no-respect-gitignore",
            setting="respect-gitignore",
            help="Leave out what git ignores.",
            **either,
        ),
    )


def fix_options(function: Function) -> Function:
    """What is done about findings."""
    several: dict[str, Any] = {"cls": Option, "group": FIXES, "multiple": True, "metavar": "RULES", "type": Rules()}
    either: dict[str, Any] = {"cls": Option, "group": FIXES, "default": None}
    flag: dict[str, Any] = {"cls": Option, "group": FIXES, "is_flag": True, "usual": False}
    return _with(
        function,
        click.option("--fix/--no-fix", setting="fix", help="Write the fixes, each proven on its result.", **either),
        click.option(
            "--unsafe-fixes/--no-unsafe-fixes",
            setting="unsafe-fixes",
            help="Write those too that may change what is computed.",
            **either,
        ),
        click.option(
            "--diff", cls=Option, group=FIXES, is_flag=True, help="Show what would be written; exit with 1 if anything."
        ),
        click.option("--fix-only", help="Write the fixes, and report nothing.", **flag),
        click.option("--show-fixes", help="Tell which fixes there are, or were written.", **flag),
        click.option("--exit-non-zero-on-fix", help="Exit with 1 if anything was fixed.", **flag),
        click.option("--fixable", setting="fixable", usual=False, help="Fix only these.", **several),
        click.option("--unfixable", setting="unfixable", usual=False, help="Don't fix these.", **several),
    )


def configuration_options(function: Function) -> Function:
    """Where settings come from."""
    return _with(
        function,
        click.option(
            "--config",
            cls=Option,
            group=CONFIGURATION,
            multiple=True,
            metavar="FILE|KEY=VALUE",
            help="Use this file, or this setting.",
        ),
        click.option(
            "--isolated", cls=Option, group=CONFIGURATION, usual=False, is_flag=True, help="Use no configuration file."
        ),
    )


def cache_option(function: Function) -> Function:
    return click.option(
        "--cache-dir",
        cls=Option,
        group=WORK,
        usual=False,
        setting="cache-dir",
        envvar="RETAINLINT_CACHE_DIR",
        metavar="DIR",
        type=Place(),
        help="Where results are kept: .retainlint_cache. (RETAINLINT_CACHE_DIR)",
    )(function)


def work_options(function: Function) -> Function:
    """How the work is done, which changes nothing of what is found."""
    some: dict[str, Any] = {"cls": Option, "group": WORK, "usual": False}
    return _with(
        function,
        click.option(
            "-n", "--no-cache", is_flag=True, envvar="RETAINLINT_NO_CACHE",
            help="Neither use nor keep earlier results. (RETAINLINT_NO_CACHE)", **some,
        ),
        cache_option,
        click.option(
            "-j", "--jobs", type=click.IntRange(min=1), metavar="N", envvar="RETAINLINT_JOBS",
            help="At most so many processes, if they pay: one a processor. (RETAINLINT_JOBS)", **some,
        ),
        click.option(
            "--executor", default="local", metavar="NAME", help="Who checks: local, or dask://HOST:PORT.", **some
        ),
        click.option("-w", "--watch", is_flag=True, help="Check again after each change, until Ctrl-C.", **some),
    )  # fmt: skip


def baseline_option(help: str) -> Callable[[Function], Function]:
    return click.option(
        "--baseline",
        cls=Option,
        group=CONFIGURATION,
        setting="baseline",
        metavar="FILE",
        type=Place(),
        help=help,
    )


def colour_option(function: Function) -> Function:
    return click.option(
        "--color",
        cls=Option,
        group=OUTPUT,
        usual=False,
        metavar="WHEN",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        help="auto (on a terminal, without NO_COLOR), always, or never.",
    )(function)


def asked(ctx: click.Context) -> Asked:
    """What the options of a command say of settings. Raises CommandError."""
    from retainlint.commands.configuring import asked as build

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
            raise click.BadParameter(f"{shown(word)} is not written PATTERN:RULE.", ctx, option)
        table.setdefault(pattern.strip(), []).append(rule.strip())
    return table


def _with(function: Function, *options: Callable[[Function], Function]) -> Function:
    for option in reversed(options):
        function = option(function)
    return function
