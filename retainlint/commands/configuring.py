"""From what the command line says to the configurations of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from retainlint import report
from retainlint.catalogue import CATALOGUE, NOT_CHECKED
from retainlint.commands import CommandError
from retainlint.config import ConfigError, Configs, KnownRules, Requested, Settings, meant, shown
from retainlint.config.table import setting
from retainlint.project.discovery import MissingPath
from retainlint.startup.version import __version__


def requested(
    values: Mapping[str, object], texts: tuple[str, ...] = (), *, isolated: bool = False, suppressions: bool = True
) -> Requested:
    """What the command line says: settings by their keys, as TOML would give them, and the texts of --config.

    Raises CommandError for a value that isn't one of its setting's.
    """
    with command_errors():
        read = {key: None if value is None else setting(key).read(value) for key, value in values.items()}
    return Requested(read, texts, isolated, suppressions)


def configured(requested: Requested) -> Configs:
    """Raises CommandError for a configuration that means nothing."""
    with command_errors():
        return Configs(requested, known_rules(), __version__)


def whatever_is_chosen(*, thorough: bool = False) -> Configs:
    """The same for every file, whatever is selected, suppressed or left out: of the configuration only the stubs count.

    Raises CommandError for a configuration that means nothing.
    """
    stubs = configured(requested({})).here.stubs
    return Configs.alike(Settings(suppressions=False, thorough=thorough, stubs=stubs))


def known_rules() -> KnownRules:
    """The rules that there are."""
    return KnownRules(
        {code: name for code, (name, *_) in CATALOGUE.items()},
        off=frozenset(code for code, (_, on, _) in CATALOGUE.items() if not on),
        always=frozenset({NOT_CHECKED}),
    )


def output_format(configs: Configs) -> str:
    """Raises CommandError, with the nearest, if there is no such format."""
    stated = configs.here.stated("output-format")
    if isinstance(stated.value, str) and stated.value in report.FORMATS:
        return stated.value
    word = str(stated.value)
    raise CommandError(
        f"{stated.origin}: there is no output format {shown(word)}{meant(word, report.FORMATS, ', '.join(report.FORMATS))}"
    )


def format_names() -> list[str]:
    """For those who only want the names of the output formats."""
    return list(report.FORMATS)


@contextmanager
def command_errors() -> Iterator[None]:
    """The errors that are written for people become the command's."""
    try:
        yield
    except (ConfigError, MissingPath) as error:
        raise CommandError(str(error)) from error
