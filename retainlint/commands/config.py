"""`retainlint config`: the settings that hold for a file and where each came from; what settings there are."""

from __future__ import annotations

import json
import os
import re
import textwrap
from typing import TextIO

from retainlint import report
from retainlint.commands import CommandError
from retainlint.commands.configuring import command_errors, configured, known_rules
from retainlint.config import Config, Requested
from retainlint.config.reading import displayed_path
from retainlint.config.schema import Json, plain, schema
from retainlint.config.table import DEFAULT, SETTINGS, Setting, SettingKind


def config(path: str, requested: Requested, out: TextIO, *, as_json: bool = False, width: int = 80) -> int:
    """What holds for the file or directory at `path`, as TOML with each value's origin. Raises CommandError."""
    if not os.path.exists(path):
        raise CommandError(f"{path}: no such file or directory")
    configs = configured(requested)
    place = os.path.abspath(path)
    with command_errors():
        found = configs.of_directory(place) if os.path.isdir(path) else configs.of_file(path)
    codes = sorted(found.codes if os.path.isdir(path) else found.settings(place).codes or ())
    if as_json:
        out.write(json.dumps(_json(found, path, codes), indent=2) + "\n")
        return 0
    out.write(f"# what holds for {_safe(path)}\n{_origin(found)}\n\n")
    for setting in SETTINGS:
        stated = found.stated(setting.key)
        if setting.key == "extend" or (stated.value is None and stated.origin == DEFAULT):
            value = plain(stated.value)
        else:
            value = plain(stated.value, setting.kind is SettingKind.BY_PATTERN)
        out.write(_row(setting.key, value, stated.origin, width))
    out.write("\n" + _filled(f"rules that are on: {', '.join(codes) or 'none'}", width))
    off = sorted(found.known.names.keys() - set(codes))
    out.write(_filled(f"rules that are off: {', '.join(off) or 'none'}", width))
    return 0


def settings(out: TextIO, *, as_json: bool = False, markdown: bool = False, width: int = 80) -> int:
    """What settings there are, what each means, what holds by default."""
    if as_json:
        rows = [_described(setting) for setting in SETTINGS]
        out.write(json.dumps(rows, indent=2) + "\n")
    elif markdown:
        out.write(_page())
    else:
        for setting in SETTINGS:
            out.write(f"{setting.key} ({setting.kind.value}; by default {_default(setting)})\n")
            out.write(textwrap.indent(textwrap.fill(setting.doc, width - 4), "    ") + "\n")
            out.write(f"    {setting.example}\n\n")
    return 0


def print_schema(out: TextIO) -> int:
    out.write(json.dumps(schema(known_rules(), tuple(report.FORMATS)), indent=2) + "\n")
    return 0


def _origin(found: Config) -> str:
    files = [layer.file for layer in found.layers if layer.file]
    if not files:
        return "# no configuration file counts here"
    extended = "".join(f", which extends {_safe(displayed_path(file))}" for file in reversed(files[:-1]))
    return f"# from {_safe(displayed_path(files[-1]))}{extended}"


def _row(key: str, value: Json, origin: str, width: int) -> str:
    """`key = value  # origin`, over several lines if it doesn't fit one."""
    note = f"  # {_safe(origin)}"
    if value is None:
        return f"# {key} is not set{note}\n"
    line = f"{key} = {toml(value)}"
    if len(line) + len(note) <= width or not isinstance(value, (list, dict)):
        return f"{line}{note}\n"
    if isinstance(value, list):
        body = textwrap.fill(
            ", ".join(toml(word) for word in value), width - 4, break_long_words=False, break_on_hyphens=False
        )
        return f"{key} = [{note}\n{textwrap.indent(body, '    ')}\n]\n"
    pairs = "".join(f"    {toml(pattern)} = {toml(words)},\n" for pattern, words in value.items())
    return f"{key} = {{{note}\n{pairs}}}\n"


def toml(value: Json) -> str:
    """A value as TOML, with all escaped that a terminal, or the log of a build server, would act on."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(toml(word) for word in value)}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{toml(key)} = {toml(words)}' for key, words in value.items())} }}" if value else "{}"
    text = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_safe(text)}"'


def _escaped(character: str) -> str:
    number = ord(character)
    return f"\\u{number:04X}" if number < 0x10000 else f"\\U{number:08X}"


def _safe(text: str) -> str:
    """The text without what a terminal, or the log of a build server, would act on, escaped as TOML does."""
    made = "".join(c if c.isprintable() else _escaped(c) for c in text)
    return re.sub(r"(?i)##(?=\[|vso\[)", r"#\\u0023", made)


def _filled(text: str, width: int) -> str:
    return textwrap.fill(text, width, initial_indent="# ", subsequent_indent="#   ", break_on_hyphens=False) + "\n"


def _json(found: Config, path: str, codes: list[str]) -> Json:
    rows: dict[str, Json] = {}
    for setting in SETTINGS:
        stated = found.stated(setting.key)
        rows[setting.key] = {
            "value": plain(stated.value, setting.kind is SettingKind.BY_PATTERN and stated.value is not None),
            "origin": stated.origin,
        }
    files: list[Json] = [layer.file for layer in found.layers if layer.file]
    return {"path": path, "files": files, "settings": rows, "rules": list(codes)}


def _described(setting: Setting) -> Json:
    return {
        "key": setting.key,
        "type": setting.kind.value,
        "default": plain(setting.default, setting.kind is SettingKind.BY_PATTERN),
        "choices": list(setting.choices),
        "doc": setting.doc,
        "example": setting.example,
    }


def _default(setting: Setting) -> str:
    if setting.default is None:
        return "not set"
    if setting.key == "exclude":
        return "ruff's"
    return toml(plain(setting.default, setting.kind is SettingKind.BY_PATTERN))


def _page() -> str:
    parts = [_HEAD]
    for setting in SETTINGS:
        default = (
            f"`{toml(plain(setting.default, setting.kind is SettingKind.BY_PATTERN))}`"
            if setting.default is not None
            else "not set"
        )
        parts.append(
            f"### `{setting.key}`\n\n{textwrap.fill(setting.doc, 100)}\n\n"
            f"{textwrap.fill(f'Type: {_typed(setting)}. Default: {default}.', 100, break_long_words=False, break_on_hyphens=False)}"
            f"\n\n```toml\n{setting.example}\n```\n"
        )
    return "\n".join([*parts, _TAIL])


def _typed(setting: Setting) -> str:
    return " or ".join(f'`"{choice}"`' for choice in setting.choices) or setting.kind.value


_HEAD = """\
# Configuration

<!-- Written by `retainlint config --list --output-format markdown`; a test sees to it that it is current. -->

Settings stand below `[tool.retainlint]` in `pyproject.toml`, or at the top of `retainlint.toml` or `.retainlint.toml`.
For each file the nearest of these above it counts, and only that one, unless it says `extend`. In one directory
`.retainlint.toml` comes before `retainlint.toml`, and that before `pyproject.toml`. What concerns a run as a whole
(`output-format`, `force-exclude`, `respect-gitignore`) is taken from the configuration of the working directory.

Options of the command line come first, `--config "key = value"` for one setting after them, then the files.
`--config FILE` has that file count for all files, its paths relative to the working directory; `--isolated` has none
count. `retainlint config [PATH]` shows what holds for a file, and the line that each value came from.

Editors find a JSON schema in [retainlint.schema.json](retainlint.schema.json).

## Settings
"""

_TAIL = """\
## Comments

| | |
| --- | --- |
| `# noqa: RTL101` | on a row of the finding, or where its statement ends; `# noqa` alone is for every rule of every tool |
| `# retainlint: ignore[backward-in-loop]` | the same, for retainlint alone, by code or name; without the list for every rule |
| `# retainlint: ignore-file[RTL101]`, `# retainlint: noqa: RTL101` | on a row of its own: in the whole file; without the list for every rule |

A comment of ours that suppresses nothing is RTL901. `retainlint check --add-noqa` writes a `# noqa` behind each finding
there is; `--ignore-noqa` has no comment count.

## Baseline

`retainlint baseline` writes down the findings of today, and `check` then tells only of others. A finding is known by its
file, its rule, the function that it lies in and the text under its marks, and as often as it was counted: edits above it,
and moving it, don't make it new. What fits no finding any more is told; `retainlint baseline --prune` removes it, and
`retainlint baseline` writes it again. Entries of files that weren't checked stay as they are. The file is sorted, an
entry a line, and belongs into version control.
"""
