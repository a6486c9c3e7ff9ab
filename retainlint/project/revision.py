"""Files as a commit has them, read straight from git's objects: none of the repository's hooks and filters is run."""

from __future__ import annotations

import os
import subprocess
from typing import NamedTuple

from retainlint.text.files import Disk, ancestors

_QUIET = ("--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "diff.external=")
_ENVIRONMENT = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}


class NoRevision(Exception):
    """There is no such commit, or no git; the text is written for people."""


class Difference(NamedTuple):
    """What lies between a commit and HEAD, by absolute paths: where each renamed file was, and what was changed, removed
    or renamed, as the commit names it."""

    renamed: dict[str, str]
    changed: list[str]


class Revision(Disk):
    """The disk, with the repository around a directory as it was at a commit.

    Files that the commit doesn't have aren't there, but for those that git ignores, which no commit has.
    """

    def __init__(self, directory: str, name: str) -> None:
        """`name` is what git takes for a commit; where it isn't an ancestor, the newest common one counts. Raises
        NoRevision."""
        super().__init__()
        self._directory = directory
        self.root = os.path.realpath(_asked(directory, "rev-parse", "--show-toplevel").rstrip("\n"))
        self.commit = self._base(name)
        self._objects: dict[str, str] = {}
        for row in self._rows("ls-tree", "-r", "-z", self.commit):
            kind, _, path = row.partition("\t")
            mode, _, name = kind.split(" ")
            if mode.startswith("100"):  # a plain file, no link and no submodule
                self._objects[self._place(path)] = name
        self._directories = {above for place in self._objects for above in ancestors(place)}
        ignored = self._rows("ls-files", "-o", "-i", "--exclude-standard", "--directory", "-z", at=self.root)
        self._ignored = {self._place(path).rstrip(os.sep) for path in ignored}

    def _base(self, name: str) -> str:
        found = _asked(
            self._directory, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
        ).strip()
        try:
            return _asked(self._directory, "merge-base", found, "HEAD").strip()
        except NoRevision:  # a shallow clone knows of no ancestor
            return found

    def difference(self) -> Difference:
        """Between commits only: to look at the working tree, git would run the filters of the repository."""
        words = iter(self._rows("diff-tree", "-r", "-M", "-z", "--name-status", "--no-ext-diff", self.commit, "HEAD"))
        renamed: dict[str, str] = {}
        changed: list[str] = []
        for status in words:
            old = self._place(next(words))
            if status[0] in "RC":
                new = self._place(next(words))
                if status[0] == "R":
                    renamed[new] = old
            if status[0] != "A":
                changed.append(old)
        return Difference(renamed, changed)

    def exists(self, place: str) -> bool:
        real = self._inside(place)
        return super().exists(place) if real is None else real in self._objects or real in self._directories

    def read(self, place: str) -> bytes | None:
        real = self._inside(place)
        if real is None:
            return super().read(place)
        name = self._objects.get(real)
        return None if name is None else _run(self._directory, "cat-file", "blob", name)

    def _inside(self, place: str) -> str | None:
        """The path of what the commit decides on; None for what it says nothing of."""
        real = os.path.join(os.path.realpath(os.path.dirname(place)), os.path.basename(place))
        if not os.path.join(real, "").startswith(os.path.join(self.root, "")):
            return None
        return None if any(each in self._ignored for each in (real, *ancestors(real))) else real

    def _place(self, path: str) -> str:
        return os.path.join(self.root, *path.split("/"))

    def _rows(self, *words: str, at: str = "") -> list[str]:
        return [row for row in _asked(at or self._directory, *words).split("\0") if row]


def _asked(directory: str, *words: str) -> str:
    return os.fsdecode(_run(directory, *words))


def _run(directory: str, *words: str) -> bytes:
    """What git answers. Raises NoRevision."""
    try:
        done = subprocess.run(
            ["git", *_QUIET, *words],
            cwd=directory,
            env={**os.environ, **_ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise NoRevision(f"git can't be run: {error.strerror or error}") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise NoRevision(said.removeprefix("fatal: ") or "no such commit or branch")
    return done.stdout
