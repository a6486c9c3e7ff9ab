"""Where imports lead: each way that Python looks, and none that leaves the project."""

from __future__ import annotations

import os
import pickle
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from retainlint.project.import_resolution import Modules
from retainlint.text.files import THERE, Disk, Held

if TYPE_CHECKING:
    from retainlint.text.files import Files


def held(*names: str, **contents: str) -> Held:
    return Held(dict.fromkeys(names, b"") | {name: text.encode() for name, text in contents.items()})


def leads(files: Files, entry: str, module: str, level: int = 0, importer: str | None = None) -> str | None:
    """The module's file, relative to the working directory."""
    place = Modules(entry, files).find(importer or entry, module, level)
    return None if place is None else os.path.relpath(place) + ("/" if place.endswith("/") else "")


@pytest.mark.parametrize(
    ("files", "entry", "module", "wanted"),
    [
        ("train.py nets.py", "train.py", "nets", "nets.py"),  # beside the script
        ("train.py nets/__init__.py", "train.py", "nets", "nets/__init__.py"),
        ("train.py nets/__init__.py nets.py", "train.py", "nets", "nets/__init__.py"),
        ("train.py nets/gan.py", "train.py", "nets.gan", "nets/gan.py"),  # a package without an __init__
        ("train.py nets/deep/gan.py", "train.py", "nets.deep.gan", "nets/deep/gan.py"),
        ("train.py nets/gan.py", "train.py", "nets", None),  # such a package alone is no module
        (
            "p/setup.py p/tools/x/run.py p/nets.py",
            "p/tools/x/run.py",
            "nets",
            "p/nets.py",
        ),  # from above, up to the root
        ("p/setup.py p/tools/run.py nets.py", "p/tools/run.py", "nets", None),  # beyond the root
        ("p/pyproject.toml p/src/lib/a.py p/tests/t.py", "p/tests/t.py", "lib.a", "p/src/lib/a.py"),
        (
            "p/setup.py p/lib/__init__.py p/lib/a.py p/lib/wandb.py",
            "p/lib/a.py",
            "wandb",
            None,
        ),  # no script's directory
        ("p/setup.py p/lib/__init__.py p/lib/a.py p/lib/b.py", "p/lib/a.py", "lib.b", "p/lib/b.py"),
        (
            "p/setup.py p/__init__.py p/lib/__init__.py p/lib/a.py p/b.py",
            "p/lib/a.py",
            "b",
            "p/b.py",
        ),  # a root that is a package
        ("p/__init__.py p/lib/__init__.py p/lib/a.py p/b.py", "p/lib/a.py", "b", None),  # no root
        ("s/.git s/p/__init__.py s/p/main.py s/p/lib/a.py s/p/b.py", "s/p/lib/a.py", "b", "s/p/b.py"),  # run in p
        ("s/.git s/p/__init__.py s/p/main.py s/p/b.py", "s/p/main.py", "b", "s/p/b.py"),
        ("s/.git s/p/__init__.py s/p/main.py s/p/lib/a.py s/p/b.py s/b.py", "s/p/lib/a.py", "b", "s/b.py"),
        ("s/.git s/p/__init__.py s/p/lib/a.py s/p/b.py", "s/p/lib/a.py", "b", None),  # nothing is run there
        ("lib/__init__.py lib/sub/__init__.py lib/sub/a.py lib/b.py", "lib/sub/a.py", "lib.b", "lib/b.py"),  # no marker
        ("train.py torch/__init__.py", "train.py", "torch", None),  # the library, whatever lies about
        ("train.py torch/nn.py", "train.py", "torch.nn", None),
        ("train.py wandb/run.txt", "train.py", "wandb", None),
        ("train.py random.py", "train.py", "random", "random.py"),  # a file beside a script comes before the library's
        ("p/setup.py p/scripts/train.py p/random.py", "p/scripts/train.py", "random", None),
        ("train.py sys.py", "train.py", "sys", None),  # what is built in comes first
        ("train.py nets.py nets/gan.py", "train.py", "nets.gan", None),  # a module holds no modules
        ("wandb.py", "wandb.py", "wandb", None),  # not itself
        ("train.py site-packages/x.py", "train.py", "site-packages.x", None),
        (
            "site-packages/a/__init__.py site-packages/a/b.py",
            "site-packages/a/__init__.py",
            "a.b",
            "site-packages/a/b.py",
        ),
        ("site-packages/a/__init__.py site-packages/b.py", "site-packages/a/__init__.py", "b", None),  # a neighbour
        ("dist-packages/a.py dist-packages/b/__init__.py", "dist-packages/a.py", "b", None),
        ("packages/a/__init__.py packages/b.py", "packages/a/__init__.py", "b", "packages/b.py"),
    ],
)
def test_absolute_imports(files: str, entry: str, module: str, wanted: str | None) -> None:
    assert leads(held(*files.split()), entry, module) == wanted


@pytest.mark.parametrize(
    ("text", "module", "wanted"),
    [
        (b"if __name__ == '__main__': main()", "nets", "p/lib/nets.py"),  # a script that lies in a package
        (b"import nets", "nets", None),  # a module of it
        (b"if __name__ == '__main__': main()", "tools", "p/tools.py"),  # what lies outside comes first
    ],
)
def test_a_script_in_a_package_sees_what_lies_beside_it(text: bytes, module: str, wanted: str | None) -> None:
    others = ("p/setup.py", "p/lib/__init__.py", "p/lib/nets.py", "p/lib/tools.py", "p/tools.py")
    assert leads(Held({"p/lib/a.py": text, **dict.fromkeys(others, b"")}), "p/lib/a.py", module) == wanted


@pytest.mark.parametrize(
    ("text", "module", "wanted"),
    [
        (b"from src.models.net import Net", "src.models.net", "p/src/models/net.py"),  # run beside `src`
        (b"from src.models import net", "src.losses", "p/src/losses.py"),  # and so all else
        (b"from tools.metrics import mean", "tools.metrics", "p/tools/metrics.py"),
        (b"import tools.metrics", "src.losses", "p/src/losses.py"),
        (b"import tools", "tools.metrics", None),  # too little to go by
        (b"from .net import Net", "src.losses", None),
        (b"from os.path import join", "os.path", None),
        (b"from torch.optim import Adam", "torch.optim", None),
    ],
)
def test_what_has_no_marker_reaches_up_to_where_its_imports_lead(text: bytes, module: str, wanted: str | None) -> None:
    others = ("p/src/models/net.py", "p/src/losses.py", "p/tools/metrics.py", "p/os/path.py", "p/torch/optim.py")
    assert (
        leads(Held({"p/src/training/run.py": text, **dict.fromkeys(others, b"")}), "p/src/training/run.py", module)
        == wanted
    )


def test_how_far_it_reaches() -> None:
    text, near, far = b"from lib.net import Net", "p/a/b/c/run.py", "p/a/b/c/d/run.py"
    for entry, wanted in ((near, "p/lib/net.py"), (far, None)):
        assert leads(Held({entry: text, "p/lib/net.py": b""}), entry, "lib.net") == wanted
    marked = {near: text, "p/lib/net.py": b"", "p/a/setup.py": b""}
    assert leads(Held(marked), near, "lib.net") is None


@pytest.mark.parametrize(
    ("module", "level", "wanted"),
    [
        ("b", 1, "p/q/b.py"),
        ("", 1, "p/q/__init__.py"),
        ("c", 2, "p/c.py"),
        ("q.b", 2, "p/q/b.py"),
        ("", 2, "p/"),
        ("p.c", 3, None),  # above the root
        ("missing", 1, None),
    ],
)
def test_relative_imports(module: str, level: int, wanted: str | None) -> None:
    files = held("p/setup.py", "p/q/__init__.py", "p/q/a.py", "p/q/b.py", "p/c.py", "p/p/c.py", "train.py")
    assert leads(files, "p/q/a.py", module, level) == wanted


def test_an_imported_module_looks_where_the_script_lies() -> None:
    files = held("run/train.py", "run/layers.py", "run/models/gan.py", "run/models/layers.py")
    assert leads(files, "run/train.py", "layers", importer="run/models/gan.py") == "run/layers.py"


def test_what_import_of_a_dotted_name_binds() -> None:
    files = held("train.py", "a/__init__.py", "a/b/c.py", "n/m/o.py")
    modules = Modules("train.py", files)
    assert modules.top("train.py", "a.b.c") == os.path.abspath("a/__init__.py")
    assert modules.top("train.py", "n.m.o") == os.path.abspath("n") + os.sep
    assert modules.top("train.py", "n.m.missing") is None
    assert modules.submodule(os.path.abspath("n") + os.sep, "m") is None  # a directory alone
    assert modules.submodule(os.path.abspath("a/b") + os.sep, "c") == os.path.abspath("a/b/c.py")
    assert modules.submodule(os.path.abspath("a/__init__.py"), "../train") is None


def test_names_of_modules() -> None:
    files = held("p/setup.py", "p/src/lib/__init__.py", "p/src/lib/a.py", "p/t/x.py")
    modules = Modules("p/t/x.py", files)
    for module in ("lib", "lib.a"):
        place = modules.find("p/t/x.py", module, 0)
        assert place is not None and modules.dotted(place) == module


def test_every_lookup_is_recorded_absent_ones_too() -> None:
    modules = Modules("p/train.py", held("p/train.py", "p/nets.py", **{"p/setup.py": "x"}))
    place = modules.find("p/train.py", "nets", 0)
    assert place is not None
    assert modules.read(place) == b""
    seen = {os.path.relpath(key): value for key, value in modules.lookups.items()}
    assert seen["p/nets.py"] == sha256(b"").hexdigest()
    assert seen["p/nets/__init__.py"] is None and seen["p/pyproject.toml"] is None
    assert seen["p/setup.py"] == THERE
    assert modules.read("/nowhere") is None and modules.lookups["/nowhere"] is None


def test_where_an_import_leads_depends_on_nothing_but_the_lookups(tmp_path: Path) -> None:
    """A second look with only what the first had looked up says the same."""
    files = held("p/setup.py", "p/run/train.py", "p/nets/__init__.py", "p/nets/gan.py", "p/other.py")
    first = Modules("p/run/train.py", files)
    asked = [("nets", 0), ("nets.gan", 0), ("other", 0), ("gone", 0), ("other", 2)]
    answers = [first.find("p/run/train.py", *each) for each in asked]

    class Recorded:
        here = ""
        ir_store = None

        def exists(self, place: str) -> bool:
            return first.lookups[place] is not None

        def read(self, place: str) -> bytes | None:
            raise AssertionError

        def real(self, place: str) -> str:
            return place

    assert [Modules("p/run/train.py", Recorded()).find("p/run/train.py", *each) for each in asked] == answers
    assert all(answers[:3])


def test_held_files_can_go_to_another_process() -> None:
    files = held("a/train.py", "a/nets.py")
    assert files.exists(os.path.abspath("a"))
    again = pickle.loads(pickle.dumps(files))
    assert again.read(os.path.abspath("a/nets.py")) == b""
    assert not again.exists(os.path.abspath("b"))


# -- on the disk --------------------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    (root / "train.py").write_bytes(b"")
    monkeypatch.chdir(root)
    return root


def test_a_link_out_of_the_project_is_not_followed(tree: Path) -> None:
    (tree.parent / "outside.py").write_bytes(b"")
    (tree / "outside.py").symlink_to(tree.parent / "outside.py")
    (tree / "nets.py").write_bytes(b"")
    (tree / "alias.py").symlink_to("nets.py")
    assert leads(Disk(), "train.py", "outside") is None
    assert leads(Disk(), "train.py", "alias") == "alias.py"


def test_circular_links_and_pipes_do_no_harm(tree: Path) -> None:
    (tree / "loop.py").symlink_to("loop.py")
    (tree / "packages").mkdir()
    (tree / "packages" / "again").symlink_to("..", target_is_directory=True)
    os.mkfifo(tree / "pipe.py")
    assert leads(Disk(), "train.py", "loop") is None
    modules = Modules("train.py", Disk())
    place = modules.find("train.py", "packages.again.packages.again.train", 0)
    assert place is None or modules.read(place) == b""
    piped = modules.find("train.py", "pipe", 0)
    assert piped is not None and modules.read(piped) is None


def test_a_directory_that_is_called_like_a_file_is_unreadable(tree: Path) -> None:
    (tree / "odd.py").mkdir()
    modules = Modules("train.py", Disk())
    place = modules.find("train.py", "odd", 0)
    assert place is None or modules.read(place) is None


def test_a_linked_project_is_its_own_root(tree: Path) -> None:
    (tree / "nets.py").write_bytes(b"")
    alias = tree.parent / "alias"
    alias.symlink_to(tree, target_is_directory=True)
    assert Modules(str(alias / "train.py"), Disk()).find(str(alias / "train.py"), "nets", 0) == str(alias / "nets.py")
