"""The JSON schema of the configuration, made from the table of settings, for editors."""

from __future__ import annotations

from typing import TypeAlias

from retainlint.config.selection import KnownRules
from retainlint.config.table import ADDRESSES, SETTINGS, Setting, SettingKind, SettingValue

Json: TypeAlias = "bool | int | str | list[Json] | dict[str, Json] | None"


def schema(known: KnownRules, formats: tuple[str, ...]) -> dict[str, Json]:
    """Of `[tool.retainlint]`, and of a whole retainlint.toml, given the rules and the output formats that there are."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "retainlint",
        "description": "Settings of retainlint, in retainlint.toml or below [tool.retainlint] in pyproject.toml.",
        "type": "object",
        "additionalProperties": False,
        "properties": {setting.key: _property(setting, formats) for setting in SETTINGS},
        "definitions": {
            "Rule": {
                "description": "A rule's code, a prefix of codes, a rule's name, or ALL.",
                "type": "string",
                "enum": list(selectors(known)),
            }
        },
    }


def selectors(known: KnownRules) -> tuple[str, ...]:
    """Every word that selects a rule, in its usual case."""
    prefixes = {code[:length] for code in known.names for length in range(3, len(code) + 1)}
    return ("ALL", *sorted(prefixes), *sorted(known.names.values()))


def _property(setting: Setting, formats: tuple[str, ...]) -> dict[str, Json]:
    row: dict[str, Json] = {"description": setting.doc, **_type(setting)}
    choices = formats if setting.key == "output-format" else setting.choices
    if choices:
        row["enum"] = list(choices)
    if setting.address:
        row["pattern"] = f"^({'|'.join(ADDRESSES)}|$)"
    if setting.default is not None:
        row["default"] = plain(setting.default, setting.kind is SettingKind.BY_PATTERN)
    return row


def _type(setting: Setting) -> dict[str, Json]:
    item: dict[str, Json] = {"$ref": "#/definitions/Rule"} if setting.rules else {"type": "string"}
    words: dict[str, Json] = {"type": "array", "items": item}
    match setting.kind:
        case SettingKind.FLAG:
            return {"type": "boolean"}
        case SettingKind.TEXT:
            return {"type": "string"}
        case SettingKind.WORDS:
            return words
        case SettingKind.BY_PATTERN:
            return {"type": "object", "additionalProperties": words}


def plain(value: SettingValue, by_pattern: bool = False) -> Json:
    """A value as JSON and TOML have it; an empty tuple is a list, or with `by_pattern` an object."""
    if not isinstance(value, tuple):
        return value
    pairs = [part for part in value if isinstance(part, tuple)]
    if pairs or by_pattern:
        joined: dict[str, Json] = {}
        for pattern, words in pairs:
            there = joined.setdefault(pattern, [])
            assert isinstance(there, list)
            there += words
        return joined
    return [word for word in value if isinstance(word, str)]
