"""The documentation says what the tool prints now, its links lead somewhere, and its options and codes exist."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from write_docs import DOCS, PAGES, ROOT, filled, generated, printed, tables

from retainlint import cli
from retainlint.rules import RULES

WRITTEN = {path.relative_to(ROOT).as_posix(): command for path, command in generated()}
EVERY = sorted([*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
AGAIN = "run `python tests/write_docs.py`"


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("name", WRITTEN)
def test_a_page_is_what_is_printed(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8") == printed(WRITTEN[name]), AGAIN


def test_a_page_of_a_table_says_what_stands_in_it() -> None:
    for path, page in tables():
        assert path.read_text(encoding="utf-8") == page, AGAIN


@pytest.mark.parametrize("name", PAGES)
def test_what_a_page_shows_is_what_is_printed(name: str) -> None:
    page = (DOCS / name).read_text(encoding="utf-8")
    assert filled(page) == page, AGAIN
    assert re.search(r"^```console\n\$ .*\n.+\n", page, re.MULTILINE), "it shows nothing"


def test_there_is_a_page_for_each_rule_and_no_other() -> None:
    assert {path.stem for path in (DOCS / "rules").glob("*.md")} == {rule.code for rule in RULES} | {"README"}


@pytest.mark.parametrize("page", EVERY, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(
        r"^(?: {4}[^\n]*| *```.*?^ *```)$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not target.startswith(("https://", "http://")):
            file, _, heading = target.partition("#")
            there = (page.parent / file).resolve() if file else page
            assert there.exists(), f"{name_of(page)} links to {target}"
            if heading:
                text = there.read_text(encoding="utf-8")
                anchors = {re.sub(r"[^\w -]", "", line.lstrip("# ")).lower().replace(" ", "-")
                           for line in text.splitlines() if line.startswith("#")}  # fmt: skip
                assert heading in anchors, f"{name_of(page)} links to {target}"


@pytest.mark.parametrize("page", EVERY, ids=name_of)
def test_commands_options_and_codes_named_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for code in set(re.findall(r"\bRTL\d{3}\b", text)):
        assert code in {rule.code for rule in RULES}, code
    for command, rest in re.findall(r"(?<![\w.-])retainlint ([a-z]+)((?: [^`\n|]*)?)", _code(text)):
        if found := cli.cli.get_command(click.Context(cli.cli), command):
            known = {option for each in found.params for option in (*each.opts, *each.secondary_opts)}
            own = rest.partition(" -- ")[0]  # behind it stands another program's command
            for option in re.findall(r"(?<![\w-])--[a-z-]+", own):
                assert option in known | {"--help"}, f"`retainlint {command}{rest}`"
        else:
            assert command in ("train", "is"), f"`retainlint {command}`"


def test_every_output_format_is_mentioned() -> None:
    from retainlint.report import FORMATS

    text = (DOCS / "integrations.md").read_text(encoding="utf-8")
    people = {name for name, kind in FORMATS.items() if kind.for_people} | {"pylint"}
    assert set(FORMATS) - people <= set(re.findall(r"[a-z]+(?:-[a-z]+)?", text))


@pytest.mark.parametrize("name", ["SECURITY.md", "benchmarks/fuzz/README.md"])
def test_what_is_said_to_hold_a_promise_is_there(name: str) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    texts = {path: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")}
    held = {*re.findall(r"def (test_\w+)\(", "\n".join(texts.values())), *(path.stem for path in texts)}
    assert set(re.findall(r"\btest_\w+\b(?!\.{3})", page)) <= held
    assert all((ROOT / place).exists() for place in re.findall(r"\btests/[\w/]+(?:\.py)?", page))


def _code(text: str) -> str:
    """What stands in code: blocks of a shell, and between single backquotes."""
    blocks = re.findall(r"^```(?:sh|console|yaml)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return "\n".join([*blocks, *re.findall(r"`(retainlint [^`\n]+)`", text)])
