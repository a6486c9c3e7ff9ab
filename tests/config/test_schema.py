"""The table of settings against what is made from it: the schema, its committed copy, the page."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from retainlint.commands.config import print_schema, settings
from retainlint.config import ConfigError
from retainlint.config.reading import parse
from retainlint.config.table import SETTINGS

jsonschema = pytest.importorskip("jsonschema", reason="judges the schema")

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    out = io.StringIO()
    print_schema(out)
    written = json.loads(out.getvalue())
    assert isinstance(written, dict)
    return written


def test_the_committed_schema_is_current(schema: dict[str, Any]) -> None:
    """Else: retainlint config --schema > docs/retainlint.schema.json"""
    assert json.loads((ROOT / "docs" / "retainlint.schema.json").read_text(encoding="utf-8")) == schema


def test_the_page_is_current() -> None:
    """Else: retainlint config --list --output-format markdown > docs/configuration.md"""
    out = io.StringIO()
    settings(out, markdown=True)
    assert (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8") == out.getvalue()


def test_it_is_a_schema(schema: dict[str, Any]) -> None:
    jsonschema.Draft7Validator.check_schema(schema)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.key)
def test_every_example_is_right_for_the_schema_and_for_the_reader(setting: Any, schema: dict[str, Any]) -> None:
    table = parse(setting.example, "example")
    assert list(table) == [setting.key]
    jsonschema.validate(table, schema)
    assert setting.read(table[setting.key]) is not None
    assert setting.doc.endswith((".", "hook does."))


@pytest.mark.parametrize(
    "table",
    [
        {"selct": ["RTL1"]}, {"select": "RTL1"}, {"select": [1]}, {"force-exclude": "yes"}, {"fail-on": "info"},
        {"per-file-ignores": ["x"]}, {"per-file-ignores": {"x": "RTL1"}}, {"per-file-ignores": {"x": [True]}},
        {"baseline": 3}, {"extend": ["x"]}, {"respect-gitignore": 1},
    ],
)  # fmt: skip
def test_what_the_reader_refuses_the_schema_refuses(table: dict[str, Any], schema: dict[str, Any]) -> None:
    from retainlint.config import table as rows

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(table, schema)
    ((key, value),) = table.items()
    with pytest.raises(ConfigError):
        rows.setting(key).read(value)


def test_an_unknown_rule_is_refused_by_the_schema(schema: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"select": ["RTL8"]}, schema)
