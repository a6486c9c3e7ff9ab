"""Where an import leads, within the project that the importing file belongs to."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from retainlint.project.discovery import MARKERS
from retainlint.startup.lazy_patterns import pattern, rows_with
from retainlint.text import stubs
from retainlint.text.files import THERE, Disk, ancestors
from retainlint.text.recalling import recalled

if TYPE_CHECKING:
    from retainlint.text.files import Files

LIBRARIES = frozenset(("torch", "torchvision", "torchaudio", "numpy", *stubs.packages()))
"""What the models and our stubs know. These names never lead to a local file, not even within such a library's own repository: a model
says more than the library's own code would, and a stray directory called `torch` says nothing."""

_IMPORT = pattern(
    r"[ \t]*(?:from[ \t]+(?=[.\w])(\.*)((?:\w[\w.]*)?)[ \t]+import[ \t]*(?:\(([^)]*)\)|((?:\\\n|[^\n;#])*))|import[ \t]+([^\n;#]+))"
)
_NAME = pattern(r"([\w.]+|\*)(?:\s+as\s+(\w+))?")

SCRIPTS = ("main.py", "train.py", "run.py")
"""What programs are called that are run where they stand."""

REACH = 3
"""How many directories above a file of what has no marker may be the one that its imports count from."""

INSTALLED = frozenset(("site-packages", "dist-packages"))
"""Where packages are installed, each a project of its own."""


@dataclass
class Modules:
    """The project around one file, the entry; `files` is how it is read.

    A module is named by its place: the absolute path of its file, or of its directory with a separator at the end for a
    package without an `__init__.py`. Where an import leads depends on the entry, as it does for Python, which puts the
    script's directory first. `lookups` holds all that was asked of the files: None for what wasn't there, THERE, or the
    SHA-256 of what was read; the answers depend on nothing else.
    """

    entry: str
    files: Files = field(default_factory=Disk)
    lookups: dict[str, str | None] = field(default_factory=dict)
    _found: dict[tuple[str, str, int], str | None] = field(default_factory=dict)
    _heads: dict[tuple[str, str], bool] = field(default_factory=dict)
    _dotted: dict[str, str] = field(default_factory=dict)
    _places: dict[str, str] = field(default_factory=dict)
    _below_of: dict[tuple[str, str], str | None] = field(default_factory=dict)

    def place(self, name: str) -> str:
        """The absolute path of a file by its name."""
        if (place := self._places.get(name)) is None:
            place = self._places[name] = os.path.abspath(os.path.join(self.files.here, name))
        return place

    def find(self, importer: str, module: str, level: int) -> str | None:
        """The place of a module that the file `importer` (a path) imports; None if it isn't the project's, or is that file.

        `level` counts the dots of a relative import.
        """
        key = (os.path.dirname(self.place(importer)) if level else "", module, level)
        if key not in self._found:
            self._found[key] = self._relative(*key) if level else self._absolute(module)
        found = self._found[key]
        itself = found == self.place(importer) and not level and os.path.basename(importer) != "__init__.py"
        return None if itself else found

    def top(self, importer: str, module: str) -> str | None:
        """The place of `a`, where `a.b.c` is a module of the project: what `import a.b.c` binds."""
        place = self.find(importer, module, 0)
        for _ in range(module.count(".") if place is not None else 0):
            assert place is not None
            directory = os.path.dirname(place.rstrip(os.sep))
            if os.path.basename(place) == "__init__.py":
                directory = os.path.dirname(directory)
            place = self._package(directory)
        return place

    def submodule(self, place: str, name: str) -> str | None:
        """The place of a module in a package, by its name; None if the package has none of that name."""
        asked = place, name
        if asked not in self._below_of:
            self._below_of[asked] = self._submodule(place, name)
        return self._below_of[asked]

    def _submodule(self, place: str, name: str) -> str | None:
        directory, last = os.path.split(place)
        if last not in ("", "__init__.py") or not name.isidentifier():
            return None
        base = os.path.join(directory, name)
        for candidate in (os.path.join(base, "__init__.py"), f"{base}.py"):
            if self._there(candidate) and self._inside(candidate):
                self._dotted.setdefault(candidate, f"{self.dotted(place)}.{name}".lstrip("."))
                return candidate
        return None

    def imported(self, importer: str, data: bytes) -> list[str]:
        """The places of the modules that a text imports, as far as can be told by a glance."""
        found: list[str | None] = []
        for each in imports_of(data):
            place = self.find(importer, each.module, each.level)
            found.append(place)
            if place is not None and place.endswith((os.sep, "__init__.py")):
                found.append(self.submodule(place, each.name))
        return [place for place in dict.fromkeys(found) if place is not None and not place.endswith(os.sep)]

    def dotted(self, place: str) -> str:
        """The name under which a module was found: what its `__name__` is."""
        if place not in self._dotted:
            stem = place.removesuffix("__init__.py").removesuffix(".py").rstrip(os.sep)
            self._dotted[place] = os.path.relpath(stem, self.root).replace(os.sep, ".").lstrip(".")
        return self._dotted[place]

    def read(self, place: str) -> bytes | None:
        """The bytes of a module that was found."""
        data = self.files.read(place)
        self.lookups[place] = None if data is None else _digest(data)
        return data

    def data(self, place: str) -> bytes | None:
        """The bytes of a file of the project that is no module; None if there is none."""
        inside = _within(place, self.root) and self._there(place) and self._inside(place)
        return self.read(place) if inside else None

    # -- the ways -------------------------------------------------------------------------------------------------

    @cached_property
    def root(self) -> str:
        """The project's root: the nearest directory above the entry that holds a marker, else the one that holds the
        entry's outermost package, or one above that to which its own imports lead."""
        directory = os.path.dirname(self.place(self.entry))
        for above in (directory, *ancestors(directory)):
            if any(self._there(os.path.join(above, marker)) for marker in MARKERS):
                return above
        while self._is_package(directory):
            directory = os.path.dirname(directory)
        return self._led_to(directory)

    def _led_to(self, directory: str) -> str:
        """Where no marker is, the directory from which a dotted import of the entry leads to a file: that one, or one of a
        few above, as for `from src.models.net import Net` in `src/training/`, which is run beside `src`."""
        wanted = [each for each in imports_of(self.files.read(self.place(self.entry)) or b"") if not each.level]
        dotted = [each for each in wanted if "." in each.module and not _is_library(each.module.partition(".")[0])]
        for above in (directory, *islice(ancestors(directory), REACH)):
            if any(self._leads(above, each) for each in dotted):
                return above
        return directory

    def _leads(self, directory: str, asked: Import) -> bool:
        """Whether an import's module, or the name that it takes of a package, is a file below a directory."""
        base = os.path.join(directory, *asked.module.split("."))
        names = (f"{base}.py", os.path.join(base, "__init__.py"), os.path.join(base, f"{asked.name}.py"))
        return any(map(self._there, names))

    @cached_property
    def path(self) -> tuple[str, ...]:
        """Where absolute imports are looked for: the entry's directory and those above it up to the root, nearest first,
        then the root's `src`. A directory inside a package is none of them, but for a root that is marked as such, and for
        those of an entry that is run as a script, or in which a script seems to stand, which come last."""
        directory = os.path.dirname(self.place(self.entry))
        found, last = [], []
        for above in (directory, *ancestors(directory)):
            if not self._is_package(above) or above == self.root:
                found.append(above)
            elif (above == directory and self._is_script()) or self._holds_script(above):
                last.append(above)
            if above == self.root:
                break
        return (*found, os.path.join(self.root, "src"), *last)

    def _holds_script(self, directory: str) -> bool:
        """Whether a program is run in a directory, as far as its name tells: Python looks there first."""
        return any(self._there(os.path.join(directory, name)) for name in SCRIPTS)

    def _is_script(self) -> bool:
        """Whether the entry says what it does when it is run itself."""
        return b"__main__" in (self.files.read(self.place(self.entry)) or b"")

    def _absolute(self, module: str) -> str | None:
        head = module.partition(".")[0]
        if head in LIBRARIES or head in sys.builtin_module_names or self._is_neighbour(head):
            return None
        path = self.path
        if head in sys.stdlib_module_names:  # only a file beside the script comes before it
            path = tuple(each for each in path[:1] if each == os.path.dirname(self.place(self.entry)))
        for directory in path:
            if not self._holds(directory, head):
                continue
            self._dotted.setdefault(os.path.join(directory, ""), "")
            found = self._below(directory, module)
            if found is not None:
                return found
        return None

    def _is_neighbour(self, head: str) -> bool:
        """Whether it may only be another package that was installed beside the entry's own."""
        if os.path.basename(self.root) not in INSTALLED:
            return False
        own = os.path.relpath(self.place(self.entry), self.root).split(os.sep)[0]
        return head != own.removesuffix(".py")

    def _holds(self, directory: str, head: str) -> bool:
        """Whether there is a package or a module of some name: most names are those of libraries, and lead nowhere."""
        if (directory, head) not in self._heads:
            base = os.path.join(directory, head)
            self._heads[directory, head] = self._there(base) or self._there(base + ".py")
        return self._heads[directory, head]

    def _relative(self, directory: str, module: str, level: int) -> str | None:
        for _ in range(level - 1):
            directory = os.path.dirname(directory)
        if not _within(directory, self.root):
            return None
        return self._below(directory, module) if module else self._package(directory)

    def _below(self, directory: str, module: str) -> str | None:
        """A module whose name counts from a directory, through packages with and without an `__init__.py`."""
        *packages, last = module.split(".")
        place = os.path.join(directory, "")
        for name in packages:
            package = os.path.join(os.path.dirname(place), name)
            if self._there(package + ".py") and not self._is_package(package):
                return None
            place = self._package(package)
        return self.submodule(place, last)

    def _package(self, directory: str) -> str:
        return os.path.join(directory, "__init__.py" if self._is_package(directory) else "")

    def _is_package(self, directory: str) -> bool:
        return self._there(os.path.join(directory, "__init__.py"))

    def _there(self, place: str) -> bool:
        if place not in self.lookups:
            self.lookups[place] = THERE if self.files.exists(place) else None
        return self.lookups[place] is not None

    def _inside(self, place: str) -> bool:
        """Whether a file is the project's own: no link out of it, nothing that was installed into it."""
        below = place.removeprefix(self.root) if _within(place, self.root) else os.path.relpath(place, self.root)
        installed = "-packages" in below and not INSTALLED.isdisjoint(below.split(os.sep))
        return not installed and _within(self.files.real(place), self.files.real(self.root))


@recalled
def _digest(data: bytes) -> str:
    from hashlib import sha256

    return sha256(data).hexdigest()


class Import(NamedTuple):
    """A name that a text binds, and where it comes from: a module, and a name in it; "" for the module itself."""

    bound: str
    level: int
    module: str
    name: str


def imports_in(text: str) -> tuple[Import, ...]:
    """The imports in a text, told by their characters; one of all names binds `*`."""
    found: list[Import] = []
    for statement in rows_with(text, "import", _IMPORT):
        dots, module, bracketed, plain, whole = statement.groups("")
        found += (Import(alias or name, len(dots), module, name) for name, alias in _NAME.findall(bracketed or plain))
        found += (Import(alias or name.rpartition(".")[2], 0, name, "") for name, alias in _NAME.findall(whole))
    return tuple(found)


@recalled
def imports_of(data: bytes) -> tuple[Import, ...]:
    return imports_in(data.decode(errors="replace"))


def _is_library(head: str) -> bool:
    return head in LIBRARIES or head in sys.stdlib_module_names


def _within(place: str, root: str) -> bool:
    return os.path.join(place, "").startswith(os.path.join(root, ""))
