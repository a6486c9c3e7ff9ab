"""Finds the Python files under the paths that were asked for, as git and ruff would choose them."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from retainlint.text.files import ancestors
from retainlint.text.files import read as read_file

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


class Ignores:
    """The patterns of one file, and those that hold in the directories above it.

    `root` is the directory, ending in a separator, that the patterns are relative to, and `text` what the file holds.
    """

    def __init__(self, root: str, text: str, above: Ignores | None) -> None:
        self.root, self.text, self.above = root, text, above

    @cached_property
    def spec(self) -> GitIgnoreSpec:
        """The patterns compiled; one that git would find wrong is left out, as git does."""
        from pathspec import GitIgnoreSpec

        lines = _patterns(self.text)
        try:
            return GitIgnoreSpec.from_lines(lines)
        except ValueError:
            return GitIgnoreSpec.from_lines(line for line in lines if _is_pattern(line))


def read(root: str, name: str, above: Ignores | None) -> Ignores | None:
    """The patterns `above` with those of a file in the directory `root` added, if there are any in it."""
    data = read_file(os.path.join(root, name))  # a checked repository may hold a link to what never ends
    if data is None:
        return above
    text = data.decode("utf-8", "surrogateescape").replace("\r\n", "\n").replace("\r", "\n")
    return Ignores(os.path.join(root, ""), text, above) if _patterns(text) else above


def ignored(ignores: Ignores, directory: str, names: Iterable[str]) -> set[str]:
    """Which of the names in an absolute directory git would ignore; those of directories end in `/`."""
    above = os.path.join(directory, "")
    return {name for name in names if _ignored(above + name, ignores)}


def _ignored(path: str, ignores: Ignores | None) -> bool:
    """Whether git would ignore a path: the nearest file that has an opinion decides."""
    while ignores is not None:
        opinion = ignores.spec.check_file(path[len(ignores.root) :]).include
        if opinion is not None:  # False to take it (`!pattern`)
            return opinion
        ignores = ignores.above
    return False


def _patterns(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip() and not line.startswith("#")]


def _is_pattern(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


if TYPE_CHECKING:
    from typing import Protocol

    class Answers(Protocol):
        """What is known of one tree's ignored names, from earlier runs or by asking."""

        def ignored(self, ignores: Ignores, directory: str, names: list[str]) -> Collection[str]: ...
        def save(self) -> None: ...

    class Choice(Protocol):
        """What is chosen among the files and directories of one directory, by absolute path."""

        def excludes(self, place: str) -> bool: ...
        def includes(self, place: str) -> bool: ...
        def excludes_anywhere(self, place: str) -> bool: ...

    class Choices(Protocol):
        """What is chosen in a run: `force_exclude` holds for named files too."""

        respect_gitignore: bool
        force_exclude: bool

        def of_directory(self, place: str, names: Collection[str] | None = None) -> Choice:
            """`names` are those of all that lies in the directory, if they are known."""
            ...


_EXCLUDE_FILE = os.path.join(".git", "info", "exclude")


MARKERS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
"""What lies in the root of a project."""


class MissingPath(Exception):
    """A path that was asked for and isn't there; the text is written for people."""


EXCLUDED, IGNORED = "excluded", "ignored by git"

MOST_TOLD = 1_000
"""So many of the places that are left out for a reason can be told of."""


class Found:
    """The files to check, in a stable order, each once; and the directories that couldn't be listed, with the reason.

    `listings` are the names in the directories that were, by absolute path. `left_out` are the first files and whole
    directories of trees that weren't taken, by the reason.
    """

    def __init__(self) -> None:
        self.left_out: dict[str, list[str]] = {EXCLUDED: [], IGNORED: []}
        self.listings: dict[str, frozenset[str]] = {}
        self.files: list[str] = []
        self.unlisted: list[tuple[str, str]] = []

    def leave_out(self, reason: str, place: str) -> None:
        if len(self.left_out[reason]) < MOST_TOLD:
            self.left_out[reason].append(place)


_Asking: TypeAlias = "Callable[[Ignores, str, list[str]], Collection[str]]"
"""Tells which of the names in a directory are ignored, as `ignores.ignored` does."""


def discover(paths: Iterable[str], choices: Choices, answers: Callable[[str], Answers] | None = None) -> Found:
    """All files that `paths` name, and those of the trees that they name which are chosen there.

    A file that is named is taken whatever it is called and whoever ignores it, unless exclusion is forced; so is a
    directory, for itself. In a tree, links to directories are not followed. `answers` gives what earlier runs know of
    a tree by its absolute path. Raises MissingPath, before anything is listed.
    """
    asked = list(dict.fromkeys(os.fspath(path) for path in paths))
    missing = [path for path in asked if not os.path.exists(path)]
    if missing:
        raise MissingPath("; ".join(_why_missing(path) for path in missing))
    shown_by_place: dict[str, str] = {}
    found = Found()
    for path in asked:
        place = os.path.abspath(path)
        if choices.force_exclude and choices.of_directory(os.path.dirname(place)).excludes_anywhere(place):
            continue
        if not os.path.isdir(path):
            shown_by_place[place] = _shown(path)
            continue
        shown = _shown(path)
        above, first = "" if shown == "." else os.path.join(shown, ""), len(os.path.join(place, ""))
        known = answers(place) if answers is not None else None
        for file in _tree(place, choices, found, ignored if known is None else known.ignored):
            shown_by_place.setdefault(file, above + file[first:])
        if known is not None:
            known.save()
    found.files = [shown_by_place[place] for place in sorted(shown_by_place)]
    return found


def below(directory: str, choices: Choices) -> Iterator[str]:
    """The absolute paths of the files that are chosen in a tree, in no order."""
    yield from _tree(os.path.abspath(directory), choices, Found(), ignored)


def holds_projects(directory: str) -> bool:
    """Whether all files in a directory belong to projects that lie in it as a whole."""
    place = os.path.abspath(directory)
    if _is_root(place):
        return True
    return not os.path.exists(os.path.join(place, "__init__.py")) and not any(map(_is_root, ancestors(place)))


def _is_root(place: str) -> bool:
    return any(os.path.exists(os.path.join(place, marker)) for marker in MARKERS)


def _why_missing(path: str) -> str:
    reason = "is a link to nothing" if os.path.islink(path) else "no such file or directory"
    return f"{path}: {reason}"


def _shown(path: str) -> str:
    """The path relative to the working directory if it lies below it, else as it was given, without `./`."""
    place, here = os.path.abspath(path), os.path.join(os.getcwd(), "")
    if os.path.join(place, "") == here:
        return "."
    return place[len(here) :] if place.startswith(here) else os.path.normpath(path)


def _tree(directory: str, choices: Choices, found: Found, ask: _Asking) -> Iterator[str]:
    """The files below an absolute directory. One with a repository of its own starts afresh, as for git."""
    gitignore = choices.respect_gitignore
    pending = [(directory, _ignores_above(directory, ask) if gitignore else None)]
    while pending:
        directory, ignores = pending.pop()
        try:
            with os.scandir(directory) as listing:
                entries = list(listing)
        except OSError as error:
            found.unlisted.append((_shown(directory), error.strerror or str(error)))
            continue
        names = found.listings[directory] = frozenset([entry.name for entry in entries])
        choice = choices.of_directory(directory, names)
        if gitignore:
            ignores = _ignores_in(directory, names, ignores)
        inner: dict[str, str] = {}
        files: dict[str, str] = {}
        for entry in entries:
            place = entry.path
            if _is_directory(entry):
                if not choice.excludes(place):
                    inner[entry.name + "/"] = place
                else:
                    found.leave_out(EXCLUDED, place + os.sep)
            elif choice.includes(place) and _is_file(entry):
                if not choice.excludes(place):
                    files[entry.name] = place
                else:
                    found.leave_out(EXCLUDED, place)
        if ignores is not None and (inner or files):
            for name in ask(ignores, directory, [*inner, *files]):
                (inner if name.endswith("/") else files).pop(name, None)
                found.leave_out(IGNORED, os.path.join(directory, name))
        pending += [(place, ignores) for place in inner.values()]
        yield from files.values()


def _ignores_in(directory: str, names: Collection[str], ignores: Ignores | None) -> Ignores | None:
    if ".git" in names:
        ignores = read(directory, _EXCLUDE_FILE, None)
    return read(directory, ".gitignore", ignores) if ".gitignore" in names else ignores


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Whether a name is a file or leads to one: no pipe, no dangling or circular link."""
    try:
        return entry.is_file()
    except OSError:
        return False


def _ignores_above(place: str, ask: _Asking) -> Ignores | None:
    """The patterns in force where the absolute `place` lies: those from its repository's root down to its parent.

    A file of patterns that ignores the place itself doesn't count, for the place was named.
    """
    parents: list[str] = []
    above = place
    while not os.path.lexists(os.path.join(above, ".git")):
        if above == (above := os.path.dirname(above)):
            return None
        parents.append(above)
    directory, name = os.path.split(place)
    ignores: Ignores | None = None
    files = [(parent, ".gitignore") for parent in reversed(parents)]
    for root, file in [(parents[-1], _EXCLUDE_FILE), *files] if parents else []:
        alone = read(root, file, None)
        if alone is not None and not ask(alone, directory, [name + "/"]):
            ignores = Ignores(alone.root, alone.text, ignores)
    return ignores
