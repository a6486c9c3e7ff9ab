"""What a module's functions change is told alike by its whole tree, and by its parts of which few are parsed."""

from __future__ import annotations

import ast
from pathlib import Path
from textwrap import dedent

import pytest

import retainlint
from retainlint.lowering.bindings import kinds_of
from retainlint.lowering.outline import Known, KnownByParts, outline
from retainlint.program import Effect
from retainlint.text.source import Source

MODULE = """\
    import other
    from third import graph, table as entries
    things, seen = [], {}
    LIMIT = 1
    def enter(x):
        things.append(x)
    def outer(x):
        enter(x)
        graph.current.add(x)
    @other.register("name")
    def decorated(x):
        seen[x] = x
    async def waits(x):
        entries[x] = 1
    def makes(x):
        def inner(y):
            things.append(y)
        return inner
    def gives(x):
        @other.register(x)
        def inner(y):
            things.append(y)
        return inner
    class Box:
        def __init__(self):
            seen.clear()
        def fill(self):
            outer(self)
    if LIMIT:
        def chosen():
            things.clear()
    else:
        def chosen():
            seen.clear()
    def twice():
        things.clear()
    def twice():
        seen.clear()
    def short(): things.pop()
    def nothing(): ...
    box = Box()
    """

PACKAGE = Path(retainlint.__file__).parent
TEXTS = {path.name: path.read_text() for path in sorted((PACKAGE / "symbolic" / "models").glob("*.py"))[:12]}


def effects(known: Known) -> dict[tuple[str, bool], Effect]:
    names = [*known.kinds.own, *known.kinds.imported, "nowhere"]
    return {(name, dropped): known.effect(name, dropped) for name in names for dropped in (False, True)}


@pytest.mark.parametrize("text", [dedent(MODULE), *TEXTS.values()], ids=["module", *TEXTS])
def test_parts_tell_what_the_tree_tells(text: str) -> None:
    tree, found = ast.parse(text), outline(Source("a.py", text), parts=True)
    assert found is not None
    assert effects(KnownByParts(text, found.parts)) == effects(Known(tree, kinds_of(tree.body)))


@pytest.mark.parametrize(
    ("name", "dropped", "names"),
    [
        ("enter", False, {"things"}),
        ("outer", False, {"things"}),
        ("decorated", False, {"seen"}),
        ("makes", False, {"things"}),
        ("makes", True, set()),
        ("gives", False, {"things"}),
        ("gives", True, set()),
        ("Box", False, {"things", "seen"}),
        ("Box", True, {"things", "seen"}),
        ("chosen", False, {"things", "seen"}),
        ("twice", False, {"things", "seen"}),
        ("short", False, {"things"}),
        ("nothing", False, set()),
        ("box", False, {"things", "seen", "box"}),
    ],
)
def test_a_call_changes_names(name: str, dropped: bool, names: set[str]) -> None:
    text = dedent(MODULE)
    found = outline(Source("a.py", text), parts=True)
    assert found is not None
    assert KnownByParts(text, found.parts).effect(name, dropped).names == names


def test_what_is_not_called_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    text = dedent(MODULE)
    found = outline(Source("a.py", text), parts=True)
    assert found is not None
    parsed: list[str] = []
    whole = ast.parse

    def noted(text: str) -> ast.Module:
        parsed.append(text)
        return whole(text)

    monkeypatch.setattr(ast, "parse", noted)
    KnownByParts(text, found.parts).effect("outer", False)
    assert "graph.current" not in parsed[0] and [each.split("(")[0] for each in parsed[1:]] == [
        "def outer",
        "def enter",
    ]
