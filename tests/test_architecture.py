"""The house: who may import whom, in one table, and what every module owes its reader."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "retainlint"

FLOORS: dict[str, str] = {
    "startup": "",
    "catalogue": "",
    "autograd": "",
    "text": "startup",
    "config": "text",
    "numeric": "autograd",
    "ir": "text startup",
    "incident": "text startup",
    "suppressions": "text startup",
    "program": "ir text startup",
    "diagnostic": "incident text startup",
    "lowering": "program ir text startup",
    "symbolic": "lowering program ir incident autograd text startup",
    "rules": "diagnostic incident catalogue text startup",
    "fixes": "diagnostic incident catalogue text startup",
    "report": "diagnostic incident catalogue text",
    "project": "program text startup",
    "cache": "project lowering program ir diagnostic incident config text",
    "checking": "cache project lowering symbolic rules fixes suppressions diagnostic incident program config catalogue text startup",
    "commands": "checking cache project rules fixes report suppressions numeric diagnostic incident config catalogue text startup",
    "flake8": "checking report suppressions diagnostic config catalogue text startup",
    "api": "commands checking report diagnostic incident config text",
    "live": "commands checking report diagnostic config text",
    "": "api commands diagnostic incident text startup",
    "cli": "commands config text startup",
    "__main__": "cli",
}
"""The rooms, from the ground up, and whom each may import; "" is the package's own `__init__`."""

SYMBOLIC: dict[str, str] = {
    "state": "",
    "solver": "state",
    "tape": "solver state",
    "merging": "tape solver state",
    "models": "merging tape solver state",
    "interpreter": "models merging tape solver state",
    "detectors": "models tape solver state",
    "exploration": "detectors interpreter models merging tape solver state",
}
"""The rooms within symbolic/: the machine doesn't know its detectors."""

MOST_FLOORS, MOST_ROOMS, LONGEST_MODULE, LONGEST_FUNCTION = 10, 30, 700, 60

LIBRARIES: dict[str, set[str]] = {
    "click": {"cli"},
    "libcst": {"lowering", "fixes", "startup.libcst_import"},
    "numpy": {"numeric"},
    "pathspec": {"project.discovery"},
    "yaml": {"symbolic.models.python.data_files"},
    "tomli": {"config", "symbolic.models.python.data_files"},
    "distributed": {"checking.executor"},
    "watchfiles": {"commands"},
    "pygls": {"commands.server"},
    "lsprotocol": {"commands.server"},
    "torch": {"live"},
    "pytest": {"live.pytest_plugin"},
    "typing_extensions": {"startup.records"},  # for a type checker's eyes only
    "time": {"text.writing", "cache", "checking", "cli", "commands"},
    "random": set(),
    "pickle": {"commands.server"},  # what it reads comes from a process that it started
    "marshal": set(),
}
"""Third-party library to the modules and rooms that may know it. There are no others, and torch is known only where a
program of the user's is recorded. What finds failures knows no clock and no chance: it says the same on any machine."""

DRAWERS = {"utils", "util", "common", "helpers", "helper", "types", "core", "misc", "base", "tools"}
"""Names under which anything could be put."""


@cache
def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE / "stubs")


def dotted(path: Path) -> str:
    """The module's name below the package; "" for the package itself."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room(module: str) -> str:
    """The room of a module, named below the package."""
    return module.partition(".")[0]


def imports(path: Path) -> Iterator[tuple[int, str, bool]]:
    """Line, dotted module and whether it is imported when the file is, of each import at whatever depth.

    `from a import b` counts as `a.b` where that is a module of ours.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = {id(node) for node in _run_at_import(tree.body)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, id(node) in top
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield node.lineno, inner if is_ours(inner) else str(node.module), id(node) in top


def _run_at_import(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test):
            continue
        yield statement
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        for part in (statement, *getattr(statement, "handlers", [])):
            for name in ("body", "orelse", "finalbody"):
                yield from _run_at_import(getattr(part, name, []))


def is_ours(name: str) -> bool:
    below = PACKAGE.joinpath(*name.split(".")[1:])
    return name.split(".")[0] == "retainlint" and (below.with_suffix(".py").is_file() or below.is_dir())


def arrows() -> dict[tuple[str, str], list[str]]:
    """Who imports whom, at whatever depth: module to module, named below the package, with where that is written."""
    found: dict[tuple[str, str], list[str]] = {}
    for path in modules():
        for line, name, _ in imports(path):
            if name.partition(".")[0] == "retainlint":
                found.setdefault((dotted(path), ours(name)), []).append(f"{path}:{line}")
    return found


def ours(name: str) -> str:
    """The module, below the package, that an imported name is, or is of."""
    while not is_ours(name):
        name = name.rpartition(".")[0]
    return name.partition(".")[2]


def test_rooms_import_whom_they_may() -> None:
    """Imports in functions and those for a type checker's eyes count; and no row says more than is so."""
    between: dict[tuple[str, str], list[str]] = {}
    inside: dict[tuple[str, str], list[str]] = {}
    for (here, there), places in arrows().items():
        if room(here) != room(there):
            between.setdefault((room(here), room(there)), []).extend(places)
        elif room(here) == "symbolic" and here != "symbolic" and sub_room(here) != sub_room(there):
            inside.setdefault((sub_room(here), sub_room(there)), []).extend(places)
    assert between.keys() - _pairs(FLOORS) == set(), {pair: between[pair] for pair in between.keys() - _pairs(FLOORS)}
    assert _pairs(FLOORS) - between.keys() == set()
    unplanned = inside.keys() - _pairs(SYMBOLIC)
    assert unplanned == set(), {pair: inside[pair] for pair in unplanned}
    assert len(inside) <= 30


def sub_room(module: str) -> str:
    return module.split(".")[1]


def _pairs(table: dict[str, str]) -> set[tuple[str, str]]:
    return {(here, there) for here, row in table.items() for there in row.split()}


def test_rooms_are_few_and_stand_on_few_floors() -> None:
    assert {room(dotted(path)) for path in modules()} == FLOORS.keys()
    assert len(FLOORS) <= MOST_ROOMS
    floors: dict[str, int] = {}
    for here, row in FLOORS.items():  # whoever imports stands further down in the table
        floors[here] = 1 + max((floors[there] for there in row.split()), default=0)
    assert max(floors.values()) <= MOST_FLOORS, floors
    assert all(there in list(SYMBOLIC)[:at] for at, row in enumerate(SYMBOLIC.values()) for there in row.split())


def test_no_circle_of_imports() -> None:
    """Imports in functions and those for a type checker's eyes count."""
    graph: dict[str, set[str]] = {}
    for here, there in arrows():
        if here != there:
            graph.setdefault(here, set()).add(there)
    done: set[str] = set()

    def visit(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, " -> ".join((*way, module))
        if module not in done:
            for target in sorted(graph.get(module, ())):
                visit(target, (*way, module))
            done.add(module)

    for module in graph:
        visit(module, ())


def test_libraries_are_known_only_in_their_rooms() -> None:
    for path in modules():
        for line, name, _ in imports(path):
            library = name.partition(".")[0]
            if library in LIBRARIES or (library != "retainlint" and library not in sys.stdlib_module_names):
                assert dotted(path).startswith(tuple(LIBRARIES.get(library, ()))), f"{path}:{line} imports {library}"


def test_modules_say_what_they_are_for_and_are_to_be_read_in_one_sitting() -> None:
    for path in modules():
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        first = (ast.get_docstring(tree) or "").partition("\n")[0]
        assert first.endswith((".", ":")), f"{path}: its docstring doesn't open with one sentence"
        assert not DRAWERS & set(path.relative_to(PACKAGE).with_suffix("").parts), f"{path}: a name for anything"
        assert text.count("\n") <= LONGEST_MODULE, f"{path} is too long"
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
                assert node.end_lineno - node.lineno < LONGEST_FUNCTION, f"{path}:{node.lineno} {node.name} is too long"


@pytest.mark.parametrize("module", ["retainlint", "retainlint.cli"])
def test_the_way_in_is_cheap(module: str) -> None:
    script = f"import {module}, sys; print(*sorted({{'numpy', 'libcst', 'pathspec', 'torch'}} & sys.modules.keys()))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=PACKAGE.parent
    )
    assert done.stdout.strip() == ""


def test_the_table_can_be_broken(tmp_path: Path) -> None:
    """The reader of imports sees those in functions, under conditions, and of modules by `from`."""
    module = tmp_path / "m.py"
    module.write_text(
        "def f():\n    from retainlint.checking import linter\ntry:\n    pass\nexcept E:\n    import torch.nn\n"
    )
    assert sorted(imports(module)) == [(2, "retainlint.checking.linter", False), (6, "torch.nn", True)]


def test_a_file_without_a_walk_loads_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    file = tmp_path / "plain.py"
    file.write_text("# a walk that is only spoken of: loss.backward()\nx = 1\n")
    costly = {
        "libcst",
        "numpy",
        "torch",
        "retainlint.ir",
        "retainlint.incident",
        "retainlint.symbolic",
        "retainlint.rules",
    }
    script = (
        "import sys; from retainlint.cli import main\n"
        f"try: main(['check', '--isolated', {str(file)!r}])\n"
        f"except SystemExit as ended: print(ended.code, *sorted({costly!r} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=PACKAGE.parent
    )
    assert done.stdout.splitlines()[-1] == "0"


def test_the_catalogue_is_that_of_the_rules() -> None:
    from retainlint.catalogue import CATALOGUE
    from retainlint.rules import RULES

    assert {rule.code: (rule.name, rule.on_by_default, rule.family) for rule in RULES} == CATALOGUE
