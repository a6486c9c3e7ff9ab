"""Where an import leads, within the project that the importing file belongs to."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

LIBRARIES = frozenset(
    "torch torchvision torchaudio numpy pytorch_lightning lightning lightning_fabric accelerate deepspeed ignite apex".split()
)
"""What the models know. These names never lead to a local file, not even within such a library's own repository: a model
says more than the library's own code would, and a stray directory called `torch` says nothing."""

MARKERS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
"""What lies in the root of a project."""

THERE = "there"
"""What a lookup found that asked only whether there is such a file or directory."""


class Files(Protocol):
    """A way to look at files by their absolute paths; picklable, if checks are to go to other processes.

    Names that aren't absolute count from the directory `here`, "" for the working directory.
    """

    here: str

    def exists(self, place: str) -> bool:
        """Whether there is such a file or directory."""
        ...

    def read(self, place: str) -> bytes | None:
        """The bytes of a regular file, None if there is none that can be read."""
        ...

    def real(self, place: str) -> str:
        """Where a path leads once links are followed."""
        ...


class Disk:
    """Files as they lie on the disk. What exists is asked once and remembered: make a new one for each run."""

    here = ""

    def __init__(self) -> None:
        self._exists: dict[str, bool] = {}

    def exists(self, place: str) -> bool:
        if place not in self._exists:
            self._exists[place] = os.path.exists(place)
        return self._exists[place]

    def read(self, place: str) -> bytes | None:
        try:
            if not os.path.isfile(place):  # a pipe would never end
                return None
            with open(place, "rb") as file:
                return file.read()
        except (OSError, ValueError):
            return None

    def real(self, place: str) -> str:
        return os.path.realpath(place)


@dataclass
class Held:
    """Files held in memory, by name; names that aren't absolute count from the working directory."""

    contents: Mapping[str, bytes]
    here: str = ""

    @cached_property
    def _by_place(self) -> dict[str, bytes]:
        return {os.path.abspath(os.path.join(self.here, name)): data for name, data in self.contents.items()}

    @cached_property
    def _directories(self) -> set[str]:
        return {above for place in self._by_place for above in _ancestors(place)}

    def exists(self, place: str) -> bool:
        return place in self._by_place or place in self._directories

    def read(self, place: str) -> bytes | None:
        return self._by_place.get(place)

    def real(self, place: str) -> str:
        return place


@dataclass
class Modules:
    """The project around one file, the entry; `files` is how it is read.

    A module is named by its place: the absolute path of its file, or of its directory with a separator at the end for a
    package without an `__init__.py`. Where an import leads depends on the entry, as it does for Python, which puts the
    script's directory first. `lookups` holds all that was asked of the files: None for what wasn't there, THERE, or the
    SHA-256 of what was read; the answers depend on nothing else.
    """

    entry: str
    files: Files
    lookups: dict[str, str | None] = field(default_factory=dict)
    _found: dict[tuple[str, str, int], str | None] = field(default_factory=dict)
    _dotted: dict[str, str] = field(default_factory=dict)

    def place(self, name: str) -> str:
        """The absolute path of a file by its name."""
        return os.path.abspath(os.path.join(self.files.here, name))

    def find(self, importer: str, module: str, level: int) -> str | None:
        """The place of a module that the file `importer` (a path) imports; None if it isn't the project's, or is that file.

        `level` counts the dots of a relative import.
        """
        key = (os.path.dirname(self.place(importer)), module, level)
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
        directory, last = os.path.split(place)
        if last not in ("", "__init__.py") or not name.isidentifier():
            return None
        base = os.path.join(directory, name)
        for candidate in (os.path.join(base, "__init__.py"), f"{base}.py"):
            if self._there(candidate) and self._inside(candidate):
                self._dotted.setdefault(candidate, f"{self.dotted(place)}.{name}".lstrip("."))
                return candidate
        return None

    def dotted(self, place: str) -> str:
        """The name under which a module was found: what its `__name__` is."""
        if place not in self._dotted:
            stem = place.removesuffix("__init__.py").removesuffix(".py").rstrip(os.sep)
            self._dotted[place] = os.path.relpath(stem, self.root).replace(os.sep, ".").lstrip(".")
        return self._dotted[place]

    def read(self, place: str) -> bytes | None:
        """The bytes of a module that was found."""
        from hashlib import sha256

        data = self.files.read(place)
        self.lookups[place] = None if data is None else sha256(data).hexdigest()
        return data

    # -- the ways -------------------------------------------------------------------------------------------------

    @cached_property
    def root(self) -> str:
        """The project's root: the nearest directory above the entry that holds a marker, else the one that holds the
        entry's outermost package."""
        directory = os.path.dirname(self.place(self.entry))
        for above in (directory, *_ancestors(directory)):
            if any(self._there(os.path.join(above, marker)) for marker in MARKERS):
                return above
        while self._is_package(directory):
            directory = os.path.dirname(directory)
        return directory

    @cached_property
    def path(self) -> tuple[str, ...]:
        """Where absolute imports are looked for: the entry's directory and those above it up to the root, nearest first,
        then the root's `src`. A directory inside a package is none of them."""
        directory = os.path.dirname(self.place(self.entry))
        found = []
        for above in (directory, *_ancestors(directory)):
            if not self._is_package(above):
                found.append(above)
            if above == self.root:
                break
        return (*found, os.path.join(self.root, "src"))

    def _absolute(self, module: str) -> str | None:
        head = module.partition(".")[0]
        if head in LIBRARIES or head in sys.builtin_module_names:
            return None
        path = self.path
        if head in sys.stdlib_module_names:  # only a file beside the script comes before it
            path = tuple(each for each in path[:1] if each == os.path.dirname(self.place(self.entry)))
        for directory in path:
            self._dotted.setdefault(os.path.join(directory, ""), "")
            found = self._below(directory, module)
            if found is not None:
                return found
        return None

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
        installed = {"site-packages", "dist-packages"} & set(os.path.relpath(place, self.root).split(os.sep))
        return not installed and _within(self.files.real(place), self.files.real(self.root))


def _ancestors(place: str) -> Iterator[str]:
    """The directories above a path, nearest first."""
    while place != (place := os.path.dirname(place)):
        yield place


def _within(place: str, root: str) -> bool:
    return os.path.join(place, "").startswith(os.path.join(root, ""))
