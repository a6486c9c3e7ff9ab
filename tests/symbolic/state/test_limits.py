"""The tables of limits: each has one name, a meaning and a user, and no other module holds one of its own."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from write_docs import LIMITS, ROOT, limits

ROWS = [(table, name, value, meaning) for table in LIMITS for _, name, value, meaning in limits(table)]
ROOMS = ("symbolic", "lowering", "autograd")
FILES = sorted(path for room in ROOMS for path in (ROOT / "retainlint" / room).rglob("*.py"))
NO_LIMITS = {
    "PROVEN, CONVENTIONAL, GUESS": "an order",
    "LAST": "an order that is behind all others",
    "MIXED": "what stands for numbers that paths held otherwise",
    "_MASKS": "numbers of which each bit is set",
    "HANDLED": "what stands for a handler",
}
"""Numbers under names that bound nothing."""


def constants(path: Path) -> dict[str, int]:
    """Names of a module that hold a number, and where."""
    found: dict[str, int] = {}
    for row in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(row, ast.Assign | ast.AnnAssign) and row.value is not None:
            values = row.value.elts if isinstance(row.value, ast.Tuple) else [row.value]
            if all(isinstance(each, ast.Constant) and type(each.value) in (int, float) for each in values):
                target = row.targets[0] if isinstance(row, ast.Assign) else row.target
                found[ast.unparse(target)] = row.lineno
    return {name.strip("()"): at for name, at in found.items() if name.isupper()}


def test_each_name_stands_once_and_is_told() -> None:
    names = [name for _, name, _, _ in ROWS]
    assert len(names) == len(set(names))
    for table in LIMITS:
        assert set(constants(ROOT / table)) == {name for where, name, _, _ in ROWS if where == table}
    for _, name, _, meaning in ROWS:
        assert meaning.endswith("."), name


def test_each_is_read_somewhere() -> None:
    read = {
        found for path in FILES for found in re.findall(r"\blimits\.([A-Z_]+)\b(?!`)", path.read_text(encoding="utf-8"))
    }
    assert read == {name for _, name, _, _ in ROWS}


def test_no_module_has_limits_of_its_own() -> None:
    for path in FILES:
        if path.relative_to(ROOT).as_posix() not in LIMITS:
            assert not set(constants(path)) - set(NO_LIMITS), f"{path}: a limit stands in its table"
