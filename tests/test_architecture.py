"""The house: who may import whom, in one table, and what every module owes its reader."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "retainlint"

MAY_IMPORT: dict[str, set[str]] = {
    "": {"api"},  # the package's own __init__, when something of it is asked for
    "__main__": {"cli"},
    "api": {"linter", "running", "files", "commands", "config", "diagnostic", "incident", "source"},
    "packed": {"source", "diagnostic", "incident"},
    "cache": {"answers", "config", "files", "packs", "shelf"},
    "answers": {"cachedir", "ignores"},
    "packs": {"cachedir", "files", "places"},
    "places": {"files"},
    "cachedir": set(),
    "encoded": {"ir", "parts", "source"},
    "shelf": {"cachedir", "encoded", "ir", "lowering", "parts", "source"},
    "shipping": {"files", "modules"},
    "executor": {"process"},
    "process": set(),
    "tasks": {"", "linter", "config", "files", "packed", "packs", "shelf", "shipping"},
    "running": {
        "linter", "config", "files", "looks", "packed", "packs", "process", "cache", "shelf", "shipping", "executor", "tasks",
    },
    "looks": {"linter", "config", "files", "halves", "tasks"},
    "halves": set(),
    "flake8": {"", "linter", "files", "catalogue", "config", "suppressions", "report", "diagnostic", "source"},
    "records": set(),
    "source": {"records"},
    "kinds": set(),
    "patterns": set(),
    "walks": {"kinds"},
    "catalogue": set(),
    "config": set(),
    "writing": set(),
    "autograd": set(),
    "autograd.face": {"autograd"},
    "ir": {"parts", "records", "source"},
    "parts": {"records", "ir"},
    "incident": {"records", "source"},
    "suppressions": {"records", "source"},
    "baseline": {"source"},
    "discovery": {"answers", "ignores"},
    "ignores": set(),
    "magics": set(),
    "notebook": {"source", "magics"},
    "markdown": {"source", "magics", "walks"},
    "files": {"shelf"},
    "modules": {"files", "patterns"},
    "uncalled": {"patterns", "walks"},
    "spelling": {"patterns", "uncalled", "walks"},
    "reaching": {"patterns", "spelling", "uncalled", "walks"},
    "naming": {"patterns", "spelling", "modules"},
    "leading": {"patterns", "naming", "spelling", "modules", "walks"},
    "stepping": {"patterns", "naming", "spelling", "modules", "walks"},
    "project": {"leading", "reaching", "modules", "parts", "ir", "source", "walks"},
    "diagnostic": {"records", "incident", "source"},
    "reads": {"ir"},
    "lowering": {"parts", "process", "reads", "records", "ir", "source", "uncalled", "walks"},
    "symbolic": {"patterns", "parts", "reads", "records", "ir", "autograd", "incident", "source"},
    "rules": {"records", "incident", "diagnostic", "source"},
    "report": {"diagnostic", "incident", "source"},
    "fixes": {"diagnostic", "source"},
    "unchecked": {"catalogue", "source", "diagnostic"},
    "pipeline": {
        "records", "source", "kinds", "walks", "catalogue", "config", "modules", "project", "spelling", "stepping", "suppressions", "notebook",
        "markdown",
        "ir", "lowering", "symbolic", "incident", "rules", "diagnostic", "fixes", "unchecked",
    },
    "joining": {"source", "catalogue", "config", "suppressions", "diagnostic"},
    "linter": {
        "source", "walks", "config", "discovery", "answers", "files", "modules", "incident", "diagnostic", "pipeline", "unchecked", "joining",
    },
    "commands": {
        "", "catalogue", "linter", "pipeline", "kinds", "files", "running", "cache", "cachedir", "executor", "fixes", "report", "rules", "autograd", "autograd.face", "config", "baseline", "suppressions",
        "discovery", "writing", "diagnostic", "source", "incident", "notebook",
    },
    "cli": {"commands", "process", ""},
}  # fmt: skip
"""Room to rooms. A folder is one room, but for autograd/face; "" is the package itself, for its version."""

LIBRARIES: dict[str, set[str]] = {
    "click": {"cli"},
    "libcst": {"lowering", "fixes"},
    "numpy": {"autograd.face"},
    "pathspec": {"ignores"},
    "tomli": {"config"},
    "distributed": {"executor"},
    "watchfiles": {"commands"},
    "typing_extensions": {"records"},  # for a type checker's eyes only
}
"""Third-party library to the rooms that may know it. There are no others, and torch is nowhere."""

DRAWERS = {"utils", "util", "common", "helpers", "helper", "types", "core", "misc", "base", "tools"}
"""Names under which anything could be put."""


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py"))


def dotted(path: Path) -> str:
    """The module's name below the package; "" for the package itself."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room(module: str) -> str:
    """The row of the table that a module, named below the package, falls under."""
    if module == "autograd.face" or module.startswith("autograd.face."):
        return "autograd.face"
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


@pytest.mark.parametrize("path", modules(), ids=dotted)
def test_a_room_imports_only_the_rooms_it_may(path: Path) -> None:
    here = room(dotted(path))
    assert here in MAY_IMPORT, f"{path.name} is no room of the table"
    for line, name, _ in imports(path):
        if name.partition(".")[0] == "retainlint":
            there = room(name.partition(".")[2])
            assert there == here or there in MAY_IMPORT[here], f"{path}:{line}: {here} imports {there}"


@pytest.mark.parametrize("path", modules(), ids=dotted)
def test_a_library_is_known_only_in_its_rooms(path: Path) -> None:
    here = room(dotted(path))
    for line, name, _ in imports(path):
        library = name.partition(".")[0]
        if library != "retainlint" and library not in sys.stdlib_module_names:
            assert here in LIBRARIES.get(library, set()), f"{path}:{line}: {here} imports {library}"


@pytest.mark.parametrize("path", modules(), ids=dotted)
def test_every_module_says_what_it_is_for(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert docstring, f"{path} has no docstring"
    first = docstring.partition("\n")[0]
    assert first.endswith((".", ":")), f"{path}: its docstring doesn't open with one sentence"


@pytest.mark.parametrize("path", modules(), ids=dotted)
def test_no_name_is_a_drawer_for_anything(path: Path) -> None:
    assert not DRAWERS & set(path.relative_to(PACKAGE).with_suffix("").parts)


def test_no_two_modules_import_each_other() -> None:
    """Imports inside functions are left out: they can't stop a module from being imported."""
    graph = {
        dotted(path): {name.partition(".")[2] for _, name, at_import in imports(path) if at_import and is_ours(name)}
        for path in modules()
    }
    for module, targets in graph.items():  # a package names itself to reach its own modules
        targets.discard(module)
    done: set[str] = set()

    def visit(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, " -> ".join((*way, module))
        if module not in done:
            for target in sorted(graph.get(module, ())):
                visit(target, (*way, module))
            done.add(module)

    for module in graph:
        visit(module, ())


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

    assert {rule.code: (rule.name, rule.on_by_default) for rule in RULES} == CATALOGUE
