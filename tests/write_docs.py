"""Writes those pages of the documentation, and parts of pages, that the tool prints: `python tests/write_docs.py`."""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from importlib.metadata import version
from importlib.util import find_spec
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

This page is written from [unknown/conventions.py](../retainlint/symbolic/models/unknown/conventions.py),
[text/name_guesses.py](../retainlint/text/name_guesses.py) and
[state/known_libraries.py](../retainlint/symbolic/state/known_libraries.py).

## Names

| row | taken for | for example | but not | a finding says that it assumes that |
| --- | --- | --- | --- | --- |
"""


_GUESSES = """\
## Before a text is parsed

Which files are worth it, and which of their functions are run, is told by the names in their texts. No finding rests on one
of these guesses: a wrong one costs time, or leaves something unseen.

| row | taken for | for example | but not |
| --- | --- | --- | --- |
"""


def conventions_page() -> str:
    """docs/conventions.md."""
    from retainlint.symbolic.models.unknown.conventions import TABLE
    from retainlint.symbolic.state.known_libraries import KINDS, LIBRARIES
    from retainlint.text.name_guesses import GUESSES

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
    guesses = [
        f"| {row} | {each.taken_for} | {names(each.examples)} | {names(each.others)} |\n"
        for row, each in GUESSES.items()
    ]
    spelt = [f"{row}\n    {each.names}\n" for row, each in GUESSES.items()]
    libraries = [
        f"| {meaning} | {names(sorted(name for name, known in LIBRARIES.items() if kind in known))} |\n"
        for kind, meaning in KINDS.items()
    ]
    return "".join((
        _CONVENTIONS, *rows, "\nIn full, as regular expressions that are searched for in the name:\n\n```text\n", *patterns,
        "```\n\n", _GUESSES, *guesses, "\nIn full:\n\n```text\n", *spelt,
        "```\n\n## Libraries\n\n| known for | libraries |\n| --- | --- |\n", *libraries,
    ))  # fmt: skip


TORCH = "2.13"
"""The torch whose names the page about them lists; with another, or none, that page is left as it is."""

_NAMES = """# What is known of torch's names

Each name of torch {version} that can be called, beside the [table of operations](../retainlint/autograd/operations.py): one that has a row there is judged
by what it saves, as measured. Some others are listed as building no graph (factories, comparisons, what gives numbers or settings) or as keeping the
one that they are given, or are named in the machine's models of torch. What is called by another name gives something unknown: it may have a graph over what went in, so nothing is told that
needs to know. To teach retainlint an operation, write its row: [CONTRIBUTING](../CONTRIBUTING.md) tells how.

This page is written from torch and the table, by `python tests/write_docs.py`.

| | names | with a row | otherwise known | not known |
| --- | ---: | ---: | ---: | ---: |
{rows}

## Not known

{unknown}
"""


def _callables(room: object) -> list[str]:
    return [
        name
        for name in dir(room)
        if not name.startswith("_") and callable(getattr(room, name)) and not inspect.isclass(getattr(room, name))
    ]


def _known_by_path() -> set[str]:
    """The names that the machine's models of torch ask for in their code."""
    text = "".join(path.read_text() for path in (ROOT / "retainlint/symbolic/models/torch").glob("*.py"))
    return set(re.findall(r'"(?:torch\.(?:[a-z_]+\.)*)?(\w+)"', text))


def names_page() -> str | None:
    """What stands in torch's rooms, and what is known of it; None without that torch."""
    if find_spec("torch") is None or not version("torch").startswith(TORCH):
        return None
    import torch

    from retainlint.autograd.operations import by_name
    from retainlint.symbolic.models.torch import functions, layers, names

    operations = by_name()
    others = set().union(
        names.CUTS, names.NUMBERS, names.KEEPS, names.SPECIAL, names.OVERWRITES, names.ATTRIBUTES, names._RARE,
        functions.FACTORIES, functions._DROPOUTS, _known_by_path(),
    )  # fmt: skip
    settings = tuple(path.removeprefix("torch.") for path in functions._NO_GRAPH)

    def kind(name: str) -> int:
        bare = name.removesuffix("_")
        if name in operations or bare in operations:
            return 0
        return 1 if name in others or bare in others or name.startswith((*settings, "is_", "q_", "sym_")) else 2

    rooms: dict[str, tuple[list[str], Callable[[str], int]]] = {
        place: (_callables(reduce(getattr, place.split(".")[1:], torch)), kind)
        for place in ("torch", "torch.Tensor", "torch.nn.functional", "torch.special", "torch.linalg", "torch.fft")
    }
    modules = [
        name
        for name, each in vars(torch.nn).items()
        if inspect.isclass(each) and issubclass(each, torch.nn.Module) and name not in ("Module", "Container")
    ]
    rooms["torch.nn"] = sorted(modules), lambda name: 0 if name in layers.LAYERS else 1 if name in others else 2
    rows, unknown = [], []
    for place, (found, sort) in rooms.items():
        by_kind = [[name for name in found if sort(name) == number] for number in range(3)]
        rows.append(f"| `{place}` | {len(found)} | {' | '.join(str(len(each)) for each in by_kind)} |")
        unknown.append(f"`{place}`: {', '.join(f'`{name}`' for name in by_kind[2]) or 'none'}.")
    return _NAMES.format(version=TORCH, rows="\n".join(rows), unknown="\n\n".join(unknown))


def tables() -> Iterator[tuple[Path, str]]:
    """The pages that are written from a table in the code, and what they say."""
    yield DOCS / "limits.md", limits_page()
    yield DOCS / "conventions.md", conventions_page()
    names = names_page()
    if names is not None:
        yield DOCS / "torch-names.md", names


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
