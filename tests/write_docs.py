"""Writes those pages of the documentation, and parts of pages, that the tool prints: `python tests/write_docs.py`."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = ("how-the-proof-works.md",)
"""Pages with blocks of `$ retainlint ...`, whose programs begin with `# name.py`."""

_CONSOLE = re.compile(r"^```console\n\$ retainlint (?P<command>.*)\n(?P<output>(?:.*\n)*?)```$", re.MULTILINE)
_PROGRAM = re.compile(r"^```python\n(?P<text># (?P<name>\w+\.py)\n(?:.*\n)*?)```$", re.MULTILINE)


def printed(args: Sequence[str]) -> str:
    """What the command prints on a terminal of 100 columns without colours."""
    from retainlint import cli

    out = io.StringIO()
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "100"
    try:
        with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
            cli.main(list(args))
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before
    return out.getvalue()


def generated() -> Iterator[tuple[Path, list[str]]]:
    """The pages that are printed whole, and by which command."""
    from retainlint.rules import RULES

    yield DOCS / "rules" / "README.md", ["rules", "--output-format", "markdown"]
    for rule in RULES:
        yield DOCS / "rules" / f"{rule.code}.md", ["explain", rule.code, "--output-format", "markdown"]
    yield DOCS / "configuration.md", ["config", "--list", "--output-format", "markdown"]
    yield DOCS / "retainlint.schema.json", ["config", "--schema"]


LIMITS = ("retainlint/symbolic/state/limits.py", "retainlint/lowering/limits.py")
"""The tables of limits: assignments with a text behind each, under comments that are headings."""

_LIMITS = """\
# Limits

Retainlint executes a program's paths one instruction at a time (a *step* is one instruction), and has to come to an end.
These numbers bound how far it goes. Beyond most of them something becomes unknown, or a path is left unseen, so that a
failure may be missed; `--show-unknown` tells where that happened to calls, loops and whole files. They count steps and
things, never seconds, so that a program's findings don't depend on the machine. They are no settings.

This page is written from {tables}.
"""


def limits(table: str) -> Iterator[tuple[str, str, str, str]]:
    """Heading, name, value as it is written, and meaning of each row of a table."""
    text = (ROOT / table).read_text(encoding="utf-8")
    body = ast.parse(text).body
    headings = {number: row[2:] for number, row in enumerate(text.splitlines(), 1) if row.startswith("# ")}
    for row, meaning in zip(body, body[1:]):
        if isinstance(row, ast.Assign) and isinstance(meaning, ast.Expr):
            heading = headings[max(number for number in headings if number < row.lineno)]
            words = " ".join(str(ast.literal_eval(meaning.value)).split())
            yield heading, ast.unparse(row.targets[0]), str(ast.get_source_segment(text, row.value)), words


def limits_page() -> str:
    """docs/limits.md."""
    parts = [
        _LIMITS.format(tables=" and ".join(f"[{Path(table).parent.name}/limits.py](../{table})" for table in LIMITS))
    ]
    before = None
    for heading, name, value, meaning in (row for table in LIMITS for row in limits(table)):
        if heading != before:
            parts.append(f"\n## {heading}\n\n| limit | value | what it bounds |\n| --- | --- | --- |\n")
        before = heading
        parts.append(f"| `{name}` | {value.replace('_', ',')} | {meaning} |\n")
    return "".join(parts)


_CONVENTIONS = """\
# Conventions

What can't be seen (a network from a library, a logger, what a framework returns) is taken for something by its name. Each
such guess is a row here: what its names look like, what they are taken for, and, where a finding may rest on it, the words
for that. Such a finding always names them, in a note (`note: assumes that ...`). The other rows have no words: they only
decide what is followed, kept or forgotten, and mostly make the linter say less.

This page is written from [unknown/conventions.py](../retainlint/symbolic/models/unknown/conventions.py) and
[state/known_libraries.py](../retainlint/symbolic/state/known_libraries.py).

## Names

| row | taken for | for example | but not | a finding says that it assumes that |
| --- | --- | --- | --- | --- |
"""


def conventions_page() -> str:
    """docs/conventions.md."""
    from retainlint.symbolic.models.unknown.conventions import TABLE
    from retainlint.symbolic.state.known_libraries import KINDS, LIBRARIES

    def names(given: Iterable[str]) -> str:
        return ", ".join(f"`{each}`" for each in given)

    rows = [
        f"| {row} | {each.taken_for} | {names(each.examples)} | {names(each.others)} | {each.says.replace('`', '')} |\n"
        for row, each in TABLE.items()
    ]
    patterns = [
        f"{row}{' (in any case)' if each.names.flags & re.IGNORECASE else ''}\n    {each.names.pattern}\n"
        for row, each in TABLE.items()
    ]
    libraries = [
        f"| {meaning} | {names(sorted(name for name, known in LIBRARIES.items() if kind in known))} |\n"
        for kind, meaning in KINDS.items()
    ]
    return "".join((
        _CONVENTIONS, *rows, "\nIn full, as regular expressions that are searched for in the name:\n\n```text\n", *patterns,
        "```\n\n## Libraries\n\n| known for | libraries |\n| --- | --- |\n", *libraries,
    ))  # fmt: skip


def tables() -> Iterator[tuple[Path, str]]:
    """The pages that are written from a table in the code, and what they say."""
    yield DOCS / "limits.md", limits_page()
    yield DOCS / "conventions.md", conventions_page()


def filled(page: str) -> str:
    """The page with what its commands print, run where its programs are."""
    with tempfile.TemporaryDirectory() as room:
        for program in _PROGRAM.finditer(page):
            Path(room, program["name"]).write_text(program["text"], encoding="utf-8")
        before = os.getcwd()
        os.chdir(room)
        try:
            return _CONSOLE.sub(_console, page)
        finally:
            os.chdir(before)


def _console(block: re.Match[str]) -> str:
    return f"```console\n$ retainlint {block['command']}\n{printed(shlex.split(block['command']))}```"


def main() -> None:
    (DOCS / "rules").mkdir(exist_ok=True)
    for path, command in generated():
        path.write_text(printed(command), encoding="utf-8")
    for path, page in tables():
        path.write_text(page, encoding="utf-8")
    for name in PAGES:
        path = DOCS / name
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
