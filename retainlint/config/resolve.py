"""Which configuration holds where: the nearest file above each checked file, under what the command line says."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property, lru_cache

from retainlint.config.globs import Globs
from retainlint.config.reading import bytes_of, displayed_path, may_configure, nearest_file
from retainlint.config.selection import KnownRules, Selection, Settings, chosen_codes
from retainlint.config.table import BY_KEY, COMMAND_LINE, DEFAULT, Layer, SettingValue, Stated, of_values
from retainlint.config.words import ConfigError, meant, shown
from retainlint.text import stubs


class Requested:
    """What the command line says of configuration: `texts` are files and `key = value` lines given as --config."""

    def __init__(
        self,
        values: Mapping[str, SettingValue],
        texts: tuple[str, ...] = (),
        isolated: bool = False,
        suppressions: bool = True,
    ) -> None:
        self.values, self.texts, self.isolated, self.suppressions = values, texts, isolated, suppressions


class Config:
    """All settings of the files below one configuration file."""

    def __init__(self, layers: tuple[Layer, ...], root: str, known: KnownRules, suppressions: bool) -> None:
        """`layers` from the weakest to the strongest; `root` is the directory of the strongest file, or the working
        directory."""
        self.layers, self.root = layers, root
        self.known, self._suppressions = known, suppressions

    def every(self, key: str) -> list[Stated]:
        """What the layers state of a key, the weakest first: of keys that add up all, of others the strongest."""
        found = [layer.stated[key] for layer in self.layers if key in layer.stated]
        return found if BY_KEY[key].adds else found[-1:]

    def stated(self, key: str) -> Stated:
        """What holds for a key, added up if it adds up; the origin is that of the strongest layer."""
        found = self.every(key)
        if not found:
            return Stated(BY_KEY[key].default, DEFAULT, self.root)
        if len(found) == 1:
            return found[0]
        value: SettingValue = tuple(part for one in found if isinstance(one.value, tuple) for part in one.value)  # type: ignore[assignment]
        return Stated(value, ", ".join(dict.fromkeys(one.origin for one in found)), found[-1].root)

    def flag(self, key: str) -> bool:
        return self.stated(key).value is True

    def text(self, key: str) -> str | None:
        value = self.stated(key).value
        return value if isinstance(value, str) else None

    def path(self, key: str) -> str | None:
        """The absolute path that a setting names."""
        stated = self.stated(key)
        if not isinstance(stated.value, str):
            return None
        return os.path.abspath(os.path.join(stated.root, os.path.expanduser(stated.value)))

    def check(self, version: str) -> None:
        """Raises ConfigError, led by the place, for another version required, and for a rule that there isn't."""
        required = self.stated("required-version")
        if isinstance(required.value, str):
            from retainlint.config.version import satisfies

            with _at(required.origin):
                if not satisfies(version, required.value):
                    raise ConfigError(f"this needs retainlint {required.value}, and here is {version}")
        for key in (key for key, setting in BY_KEY.items() if setting.rules):
            for stated in (layer.stated[key] for layer in self.layers if key in layer.stated):
                for selector, origin in _selectors(stated):
                    with _at(origin):
                        self.known.selected(selector)

    @cached_property
    def codes(self) -> frozenset[str]:
        """The rules that are on, wherever a file lies."""
        return chosen_codes((_selection(layer) for layer in self.layers), self.known)

    @cached_property
    def _per_file(self) -> list[tuple[bool, Globs, str, frozenset[str]]]:
        """Whether a pattern is turned round, the pattern and its root, and the codes that it ignores."""
        rows = []
        for stated in [*self.every("per-file-ignores"), *self.every("extend-per-file-ignores")]:
            for pattern, selectors in _by_pattern(stated.value):
                codes = frozenset(code for selector in selectors for code in self.known.selected(selector)[1])
                bare = pattern[1:] if pattern.startswith("!") else pattern
                rows.append((bare != pattern, Globs([(bare, stated.root)]), stated.root, codes))
        return rows

    def settings(self, name: str) -> Settings:
        """What the check of a file depends on."""
        if not self._per_file:
            return self._alike
        place = os.path.abspath(name)
        ignored = [codes for other, globs, root, codes in self._per_file if globs.cover(place, root) is not other]
        return _settings(self.codes.difference(*ignored), self._suppressions)

    @cached_property
    def _alike(self) -> Settings:
        return _settings(self.codes, self._suppressions)

    @cached_property
    def stubs(self) -> tuple[tuple[str, str], ...]:
        """The project's own stubs, each by its name and its text. Raises ConfigError for what is none."""
        stated = self.stated("stubs")
        return tuple(_stub(word, stated.at(number), stated.root) for number, word in enumerate(_words(stated.value)))

    @cached_property
    def _excluded(self) -> Globs:
        return self._globs("exclude", "extend-exclude")

    @cached_property
    def _included(self) -> Globs:
        return self._globs("include", "extend-include")

    def _globs(self, *keys: str) -> Globs:
        every = [stated for key in keys for stated in (self.every(key) or [self.stated(key)])]
        return Globs((word, stated.root) for stated in every for word in _words(stated.value))

    def excludes(self, place: str) -> bool:
        """Whether the file or directory at this absolute path is left out in a tree."""
        return self._excluded.match(place)

    def includes(self, place: str) -> bool:
        """Whether the file at this absolute path is checked in a tree."""
        return self._included.match(place)

    def excludes_anywhere(self, place: str) -> bool:
        """Whether the path or a directory above it, up to the root, is left out."""
        return self._excluded.cover(place, self.root)


class Configs:
    """The configurations of a run. A file's is the nearest above it, unless the command line names one."""

    def __init__(self, requested: Requested, known: KnownRules, version: str, alike: Settings | None = None) -> None:
        """With `alike`, these are the settings of every file. Raises ConfigError for what means nothing."""
        self._requested, self._known, self._version, self._alike = requested, known, version, alike
        self._here = os.getcwd()
        texts = [text for text in requested.texts if not _is_file(text)]
        files = [text for text in requested.texts if _is_file(text)]
        self._top = [*_of_texts(texts, self._here), of_values(requested.values, self._here)]
        if len(files) > 1:
            raise ConfigError("--config names more than one file")
        if files and requested.isolated:
            raise ConfigError("--isolated means that no configuration file counts, but --config names one")
        self._by_directory: dict[str, Config] = {}
        self._by_name: dict[str, Config] = {}
        self._only: Config | None = None
        if files:
            self._only = self._built(_chain(files[0], self._here), self._here)
        elif requested.isolated:
            self._only = self._built([], self._here)
        self.respect_gitignore = self.here.flag("respect-gitignore")
        self._stubs = alike.stubs if alike is not None else self.here.stubs
        stubs.use(self._stubs)
        self.force_exclude = self.here.flag("force-exclude")

    @classmethod
    def alike(cls, settings: Settings) -> Configs:
        """No file and no option counts: the same settings for every file, and the default choice of files."""
        return cls(Requested({}, isolated=True), KnownRules({}), "0", settings)

    @cached_property
    def here(self) -> Config:
        """The configuration of the working directory, which decides on what concerns the run as a whole."""
        return self.of_directory(self._here)

    def of_file(self, name: str) -> Config:
        """The configuration that holds for a file. Raises ConfigError."""
        above = name[: name.rfind(os.sep) + 1]
        if above not in self._by_name:
            self._by_name[above] = self.of_directory(os.path.dirname(os.path.abspath(name)))
        return self._by_name[above]

    def of_directory(self, place: str, names: Collection[str] | None = None) -> Config:
        """The configuration that holds for what lies in the directory at this absolute path. Raises ConfigError.

        `names` are those of all that lies in it, if they are known.
        """
        if self._only is not None:
            return self._only
        passed: list[str] = []
        while place not in self._by_directory:
            passed.append(place)
            file = nearest_file(place) if names is None or may_configure(names) else None
            names = None  # of those above it
            above = os.path.dirname(place)
            if file is not None:
                self._by_directory[place] = self._built(_chain(file), place)
            elif above == place:
                self._by_directory[place] = self._built([], self._here)
            else:
                place = above
        found = self._by_directory[place]
        self._by_directory.update(dict.fromkeys(passed, found))
        return found

    def settings(self, name: str) -> Settings:
        """What one file's check depends on. Raises ConfigError."""
        found = self._alike or self.of_file(name).settings(name)
        return found if found.stubs == self._stubs else found._replace(stubs=self._stubs)

    def _built(self, below: list[Layer], root: str) -> Config:
        config = Config((*below, *self._top), root, self._known, self._requested.suppressions)
        config.check(self._version)
        return config


class _at:  # noqa: N801 -- read as a word
    """Puts the place before a ConfigError's text, unless it is the command line."""

    def __init__(self, origin: str) -> None:
        self._origin = origin

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, ConfigError) and self._origin != COMMAND_LINE:
            raise ConfigError(f"{self._origin}: {error}") from error


@lru_cache(maxsize=256)
def _settings(codes: frozenset[str], suppressions: bool) -> Settings:
    return Settings(codes, suppressions)


def _stub(word: str, origin: str, root: str) -> tuple[str, str]:
    """A stub's name and text."""
    place = os.path.abspath(os.path.join(root, os.path.expanduser(word)))
    name = displayed_path(place)
    if os.path.exists(place) and not os.path.isfile(place):
        raise ConfigError(f"{origin}: {shown(name)} is no file")
    try:
        stub = stubs.checked(name, bytes_of(place, origin, shown(name)).decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{origin}: {shown(name)} is no stub: it is not UTF-8") from error
    except stubs.BrokenStub as error:
        raise ConfigError(f"{origin}: {shown(name)} is no stub: {error}") from error
    return stub.name, stub.text


def _of_texts(texts: list[str], root: str) -> list[Layer]:
    if not texts:
        return []
    from retainlint.config.files import of_text

    return [of_text(_assignment(text), root) for text in texts]


def _chain(file: str, root: str | None = None) -> list[Layer]:
    from retainlint.config.files import chain  # a run without a configuration file reads no TOML

    return chain(file, root)


def _is_file(text: str) -> bool:
    return os.path.exists(text) and not os.path.isdir(text)


def _assignment(text: str) -> str:
    """The text if it looks like `key = value`. Raises ConfigError if it does not."""
    if "=" in text:
        return text
    if os.path.isdir(text):
        raise ConfigError(f"--config {shown(text)}: this is a directory; name a file, or write 'key = value'")
    raise ConfigError(f"--config {shown(text)}: no such file, and not 'key = value'{meant(text, BY_KEY)}")


def _selection(layer: Layer) -> Selection:
    def words(key: str) -> tuple[str, ...]:
        return _words(layer.stated[key].value) if key in layer.stated else ()

    select = words("select") if "select" in layer.stated else None
    return Selection(select, words("extend-select"), (*words("ignore"), *words("extend-ignore")))


def _words(value: SettingValue) -> tuple[str, ...]:
    return tuple(word for word in value if isinstance(word, str)) if isinstance(value, tuple) else ()


def _by_pattern(value: SettingValue) -> list[tuple[str, tuple[str, ...]]]:
    pairs = value if isinstance(value, tuple) else ()
    return [(pair[0], pair[1]) for pair in pairs if isinstance(pair, tuple)]


def _selectors(stated: Stated) -> Iterable[tuple[str, str]]:
    """Each selector of a value, and where it stands."""
    for number, word in enumerate(_words(stated.value)):
        yield word, stated.at(number)
    for pattern, words in _by_pattern(stated.value):
        for number, word in enumerate(words):
            yield word, stated.parts.get((pattern, number)) or stated.at(pattern)
