"""libcst, imported quickly, is libcst."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
TEXTS = [*sorted(ROOT.glob("retainlint/lowering/*.py"))[::4], *sorted(ROOT.glob("fixtures/raises/*.py"))[::60]]

TELL = """
import dataclasses, hashlib, inspect, json, pickle, sys
from retainlint.startup import process
from retainlint.startup.libcst_import import import_libcst
process.ours = sys.argv[1] == "quickly"
import_libcst()
assert ("libcst" in sys.modules) == process.ours
import libcst as cst
assert ("libcst.metadata.scope_provider" in sys.modules) != process.ours
assert cst.metadata.MetadataWrapper is cst.MetadataWrapper and cst.metadata.base_provider is sys.modules["libcst.metadata.base_provider"]
from libcst import metadata
assert dataclasses.dataclass.__module__ == "dataclasses"

def classes(cls):
    for below in cls.__subclasses__():
        yield below
        yield from classes(below)

def raised(function):
    try:
        return repr(function())
    except Exception as error:
        return f"{type(error).__name__}: {error}"

told = {"late": [], "classes": {}, "texts": {}, "errors": []}
for path in sys.argv[2:]:
    module = cst.parse_module(open(path).read())
    places = metadata.MetadataWrapper(module, unsafe_skip_copy=True).resolve(metadata.PositionProvider)
    told["texts"][path] = [
        module.code == open(path).read(), hashlib.sha256(repr(module).encode()).hexdigest(),
        [repr(place) for place in places.values()], module.deep_clone().deep_equals(module),
        pickle.loads(pickle.dumps(module)).deep_equals(module),
    ]
name = cst.Name("x")
pair = cst.Tuple([cst.Element(name), cst.Element(cst.Integer("1"))])
told["errors"] = [
    raised(lambda: cst.Name("")), raised(lambda: cst.Integer("0777")), raised(lambda: cst.Name("x", lpar=[cst.LeftParen()])),
    raised(lambda: cst.Name()), raised(lambda: cst.Name("x", value="y")), raised(lambda: cst.Name("x", nothing=1)),
    raised(lambda: cst.Param(cst.Name("a"), star="?")), raised(lambda: cst.parse_module("def f(:")), raised(lambda: cst.While(1)),
    raised(lambda: name.with_changes(value="y").value), raised(lambda: dataclasses.replace(name, value="z").value),
    raised(lambda: cst.Name("x") == cst.Name("x")), raised(lambda: name == name and hash(name) == object.__hash__(name)),
    raised(lambda: cst.Module([]).code_for_node(pair)), raised(lambda: repr(pair)), raised(lambda: cst.CSTNode()),
    raised(lambda: cst.BaseExpression()), raised(lambda: cst.parse_expression("a + b * c").deep_equals(cst.parse_expression("a + b * c"))),
]
for cls in classes(cst.CSTNode):
    if cls.__init__.__name__ == "_first":
        told["late"].append(cls.__qualname__)
        raised(cls)
    try:
        signature = [(p.name, str(p.kind), p.default is p.empty) for p in inspect.signature(cls.__init__).parameters.values()][1:]
    except (ValueError, TypeError):
        signature = []
    told["classes"][cls.__module__ + "." + cls.__qualname__] = [
        signature, cls.__dataclass_params__.frozen, list(cls.__match_args__), list(cls.__dict__.get("__slots__", ())),
        [field.name for field in dataclasses.fields(cls)], inspect.isabstract(cls),
    ]
print(json.dumps(told))
"""


def tell(how: str) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-c", TELL, how, *map(str, TEXTS)], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, object] = json.loads(done.stdout)
    return told


@pytest.fixture(scope="module")
def plain() -> dict[str, object]:
    return tell("plainly")


@pytest.fixture(scope="module")
def quick() -> dict[str, object]:
    return tell("quickly")


def test_it_is_quick_at_all(plain: dict[str, list[str]], quick: dict[str, list[str]]) -> None:
    """Where libcst, or Python, makes its classes in another way, this says so; nothing else is wrong then."""
    assert plain["late"] == [] and len(quick["late"]) > 50


@pytest.mark.parametrize("what", ["texts", "errors"])
def test_it_reads_and_refuses_the_same(what: str, plain: dict[str, object], quick: dict[str, object]) -> None:
    assert quick[what] == plain[what]


def test_its_classes_are_the_same(
    plain: dict[str, dict[str, list[object]]], quick: dict[str, dict[str, list[object]]]
) -> None:
    abstract = {name for name, row in plain["classes"].items() if row[-1]}
    assert plain["classes"].keys() == quick["classes"].keys()
    for name, row in plain["classes"].items():
        assert quick["classes"][name][1:] == row[1:], name
        if name not in abstract:  # of which no object can be made
            assert quick["classes"][name][0] == row[0], name


READ = """
import sys
from retainlint.startup import process
from retainlint.startup import libcst_import as quick
process.ours = sys.argv[1] == "quickly"
quick.import_libcst()
import libcst as cst
for path in sys.argv[2:]:
    text = open(path).read()
    module = quick.parse_module(text)
    assert module.code == text
    assert repr(module) == repr(cst.parse_module(text))
for wrong in ("x = 0777", "x = (", "def f(a=1, b): pass", "f(a=1, 2)"):
    try:
        quick.parse_module(wrong)
    except Exception as error:
        print(type(error).__name__)
    else:
        print("read")
for make in (lambda: cst.Name(""), lambda: cst.SimpleWhitespace("x"), lambda: cst.Name("x", lpar=[cst.LeftParen()])):
    try:
        make()
    except cst.CSTValidationError:
        print("refused")
"""


def test_what_it_parses_for_reading_is_the_same_tree() -> None:
    """What was parsed isn't validated but for what only that finds: afterwards all is."""
    told = [
        subprocess.run([sys.executable, "-c", READ, how, *map(str, TEXTS)], capture_output=True, text=True, cwd=ROOT)
        for how in ("plainly", "quickly")
    ]
    assert [each.returncode for each in told] == [0, 0], told[1].stderr
    assert told[1].stdout == told[0].stdout
    assert told[1].stdout.count("refused") == 3 and "Error" in told[1].stdout


@pytest.mark.parametrize("told", ["x = 1", "process.ours = True; import libcst"])
def test_elsewhere_it_is_imported_as_by_anybody(told: str) -> None:
    """In another's process, and where it is there already."""
    script = (
        f"from retainlint.startup import process\n{told}\nfrom retainlint.lowering import lower\nfrom retainlint.text.source import Source\n"
        "lower(Source('a.py', 'x = 1'))\nimport libcst\nprint(libcst.Name.__init__.__name__, libcst.Slice.__init__.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.split() == ["__init__", "__init__"]


def test_another_libcst_is_imported_plainly(tmp_path: Path) -> None:
    """Classes that can't be made late leave nothing behind."""
    (tmp_path / "libcst" / "_nodes").mkdir(parents=True)
    (tmp_path / "libcst" / "_nodes" / "__init__.py").write_text("")
    (tmp_path / "libcst" / "_nodes" / "base.py").write_text(
        "from dataclasses import dataclass, InitVar\n@dataclass(frozen=True)\nclass A:\n    x: int\n"
        "assert A(1).x == 1 and 'set' not in repr(A(2)), repr(A(2))\n@dataclass(frozen=True)\nclass B(A):\n    y: int = 2\nassert B(1) == B(1)\n"
    )
    (tmp_path / "libcst" / "__init__.py").write_text(
        "from libcst._nodes.base import A, B\nclass CSTNode: pass\ndef parse_module(text): return A(1)\n"
    )
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\nfrom retainlint.startup import process\nprocess.ours = True\n"
        "from retainlint.startup.libcst_import import import_libcst\nimport_libcst()\nimport libcst, dataclasses\n"
        "print(libcst.A(1) == libcst.A(1), libcst.B(1), dataclasses.dataclass.__module__, libcst.__file__.startswith(sys.argv[1]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.split() == ["True", "B(x=1,", "y=2)", "dataclasses", "True"]


def test_a_parser_that_was_loaded_is_not_loaded_twice() -> None:
    script = (
        "from retainlint.startup import process, records\nprocess.ours = True\nfrom retainlint.startup import libcst_import as quick\n"
        "def fails(*_: object, **__: object): raise TypeError\nquick.init_lines = fails\n"
        "from retainlint.lowering import lower\nfrom retainlint.text.source import Source\n"
        "lower(Source('a.py', 'x = 1'))\nimport libcst, dataclasses\n"
        "print(libcst.parse_module('y = 1').code, libcst.Slice.__init__.__name__, dataclasses.dataclass.__module__)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.split() == ["y", "=", "1", "__init__", "dataclasses"]
