"""What the rules say of incidents made by hand, compared with `messages.txt`, which was judged by reading it aloud.

`python tests/rules/test_messages.py` writes the file anew; read the difference.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

from rules.incident_cases import CASES

from retainlint.diagnostic import Diagnostic
from retainlint.rules import diagnose
from retainlint.text.source import Span

TOLD = Path(__file__).with_name("messages.txt")


def told(diagnostic: Diagnostic) -> str:
    """A diagnostic as plain lines; `>` stands at the primary label."""
    lines = [f"{diagnostic.severity.value} {diagnostic.code} {diagnostic.name}: {diagnostic.message}"]
    for label in diagnostic.labels:
        lines.append(f" {'>' if label.primary else ' '} {label.span} {label.text}".rstrip())
    lines += [f"    {note}" for note in diagnostic.notes]
    lines += [f"    help: {diagnostic.help}"]
    lines += [f"    cure: {type(c).__name__}({_places(c)})" for c in diagnostic.cures]
    return "\n".join(lines)


def _places(cure: object) -> str:
    values = [v for value in vars(cure).values() for v in (value if isinstance(value, tuple) else (value,))]
    return ", ".join(f"{value}:{value.column}" if isinstance(value, Span) else str(value) for value in values)


def everything() -> str:
    return "\n".join(f"# {name}\n{told(diagnose(make()))}\n" for name, make in CASES.items())


def _expected() -> dict[str, str]:
    blocks = TOLD.read_text(encoding="utf-8").split("# ")[1:]
    return {name: text.strip() for name, _, text in (block.partition("\n") for block in blocks)}


@pytest.mark.parametrize("name", CASES)
def test_incident_is_told_as_recorded(name: str) -> None:
    assert told(diagnose(CASES[name]())) == _expected()[name]


def test_record_holds_nothing_else() -> None:
    assert list(_expected()) == list(CASES)


if __name__ == "__main__":
    TOLD.write_text(everything(), encoding="utf-8")
