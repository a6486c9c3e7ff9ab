"""Fixes for `retainlint check`: written to where the text came from, shown as a diff, or put into the report."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

from retainlint.commands.configuring import known_rules
from retainlint.commands.known import plural
from retainlint.config.selection import KnownRules, Selection, chosen_codes
from retainlint.report.terminal import safe, safe_start
from retainlint.text import is_markdown, is_notebook

if TYPE_CHECKING:
    from typing import Protocol

    from retainlint.config import Configs
    from retainlint.diagnostic import Diagnostic
    from retainlint.fixes import Applied, Look, Seen
    from retainlint.incident import Definition
    from retainlint.text.source import Source

    class TextStore(Protocol):
        """Bytes by the name of their file. Both raise OSError; writing raises ValueError if they aren't `before` any
        more. Not every store `holds` every file."""

        def read(self, name: str) -> bytes: ...
        def write(self, name: str, before: bytes, after: bytes) -> None: ...
        def holds(self, name: str) -> bool: ...


class OnDisk:
    """Files, which are replaced whole."""

    def read(self, name: str) -> bytes:
        with open(name, "rb") as file:
            return file.read()

    def write(self, name: str, before: bytes, after: bytes) -> None:
        from retainlint.text.writing import rewrite

        rewrite(os.fspath(name), before, after)

    def holds(self, name: str) -> bool:
        return True


class Given:
    """What came through standard input, under the name of a file that need not be there, or hold the same."""

    def __init__(self, name: str, data: bytes) -> None:
        self.name, self.data = name, data

    def read(self, name: str) -> bytes:
        return self.data

    def write(self, name: str, before: bytes, after: bytes) -> None:
        self.data = after

    def holds(self, name: str) -> bool:
        return name == self.name

    def put_out(self, out: TextIO) -> None:
        """The text as it is now, to the byte where the stream takes bytes."""
        out.flush()
        bare = getattr(out, "buffer", None)
        if bare is None:
            out.write(self.data.decode("utf-8", "replace"))
        else:
            bare.write(self.data)
            bare.flush()


DISK = OnDisk()


class Done:
    """What became of the files with `found` findings: the fixes by file, those held back, the diff, and what couldn't
    be written."""

    def __init__(self, found: int) -> None:
        self.found = found
        self.applied: dict[str, tuple[Applied, ...]] = {}
        self.changed: dict[str, tuple[Source, Source]] = {}  # what each file was, and is by now
        self.held: list[Applied] = []
        self.wrong: list[str] = []

    @property
    def count(self) -> int:
        return sum(map(len, self.applied.values()))

    @property
    def diff(self) -> list[str]:
        return [line for before, after in self.changed.values() for line in _diff(before, after)]

    def now(self, source: Source) -> Source:
        """A file as the fixes have left it."""
        return self.changed.get(os.path.abspath(source.name), (source, source))[1]

    def first(self, source: Source) -> Source:
        """The same before all fixes."""
        return self.changed.get(os.path.abspath(source.name), (source, source))[0]

    def change(self, before: Source, after: Source) -> None:
        self.changed[os.path.abspath(before.name)] = self.first(before), after


def fix(
    found: Sequence[Diagnostic], every: Iterable[Diagnostic], configs: Configs, *, write: bool, texts: TextStore = DISK
) -> Done:
    """Fix the files of these findings, one after the other; the others of `every` are known ones, left as they are.

    A file is written whole or not at all, and so are the files that the fixes of one text edit together. One that can't
    be, or isn't any more what was checked, is told of.
    """
    done = Done(len(found))
    shown = {id(each) for each in found}
    hidden = (each for each in every if id(each) not in shown)
    kept = Counter((each.code, each.primary.span.source.name, each.primary.span.text) for each in hidden)
    for source in _sources(found):
        try:
            _fix_file(source, kept, configs, done, texts, write)
        except OSError as error:
            done.wrong.append(f"{source.name}: not fixed: {error.strerror or error}")
        except (SyntaxError, ValueError) as error:  # the first: another coding cookie now
            done.wrong.append(f"{source.name}: not fixed: {error}")
        except Exception as error:  # noqa: BLE001 -- a bug of ours in one file must not keep the others from being fixed
            what = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            done.wrong.append(f"{source.name}: not fixed: internal error, please report it: {what}")
    return done


def summary_lines(done: Done, show: bool, unsafe: bool, diff: bool) -> Iterator[str]:
    """Lines on what was fixed, and what would be with `--unsafe-fixes`."""
    if done.count:
        files = len(done.changed)
        yield f"{'Would fix' if diff else 'Fixed'} {done.count} {plural('finding', done.count)} in {files} {plural('file', files)}."
    if show:
        for name, applied in done.applied.items():
            yield f"- {safe(name)}:"
            for each in applied:
                yield safe(f"    {each.diagnostic.code} {each.diagnostic.name}: {each.fix.message}")
    if done.held and not unsafe:
        number = len(done.held)
        yield f"{number} {'more ' if done.count else ''}can be fixed with `--unsafe-fixes`, which may change what the program computes."
    if diff and done.found and not done.count and not done.held:
        yield f"No fix for {'this' if done.found == 1 else 'any of these'} {plural('finding', done.found)}: `retainlint check` shows what cures {'it' if done.found == 1 else 'them'}."


def listed(found: Iterable[Diagnostic]) -> Iterator[str]:
    """The fixes of findings, a line each."""
    for each in found:
        if (fix := each.fix) is not None:
            span = each.primary.span
            said = f"{each.code} fix ({fix.applicability.value}): {fix.message}"
            yield f"{safe_start(span.source.name)}:{span.row}: {safe(said)}"


# -- one file ------------------------------------------------------------------------------------------------------


def _fix_file(
    source: Source,
    kept: Counter[tuple[str, str, str]],
    configs: Configs,
    done: Done,
    texts: TextStore,
    write: bool,
) -> None:
    """Fix the findings of one text, there and in the modules that it leads to, and write these files if asked to."""
    from retainlint.fixes import fix_all

    source = done.now(source)
    _bytes(source if write else done.first(source), texts)
    changed = tuple(now for _, now in done.changed.values() if now is not source)
    seen, look = _seen(source, changed, configs)
    if seen is None:
        return
    config = configs.of_file(source.name)
    settings, fixable = configs.settings(source.name), _fixable(source.name, configs)

    def wanted(each: Diagnostic) -> bool:
        is_known = kept[each.code, source.name, each.primary.span.text] > 0
        return settings.wants(each.code) and each.code in fixable and not is_known

    def may_edit(other: Source) -> bool:
        return texts.holds(other.name) and _may_edit(other, configs)

    fixed = fix_all(seen, look, config.flag("unsafe-fixes"), wanted, may_edit, changed)
    done.held += fixed.held
    if not fixed.applied:
        return
    edits = []
    for was, now in fixed.changed:
        with _named(was.name, source.name):
            data = _bytes(was if write else done.first(was), texts)
            edits.append((was.name, data, _encoded(now, data)))
    if write:
        _write(source.name, edits, texts)
    for was, now in fixed.changed:
        done.change(was, now)
    done.applied[source.name] = (*done.applied.get(source.name, ()), *fixed.applied)


def _may_edit(other: Source, configs: Configs) -> bool:
    """Whether a fix of another file's finding may edit this one."""
    from retainlint.checking.pipeline import is_own

    return is_own(other) and not configs.of_file(other.name).excludes_anywhere(os.path.abspath(other.name))


def _bytes(source: Source, texts: TextStore) -> bytes:
    """What the file of a text holds. Raises ValueError if that is another text by now."""
    data = texts.read(source.name)
    if _encoded(source, data) != data:
        raise ValueError("it was changed while it was checked")
    return data


@contextmanager
def _named(name: str, told: str) -> Iterator[None]:
    """What hinders us at a file is told with its name, where that isn't the one that is told of."""
    try:
        yield
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else "") or str(error)
        raise error if name == told else ValueError(f"{name}: {why}") from error


def _write(told: str, edits: Sequence[tuple[str, bytes, bytes]], texts: TextStore) -> None:
    """Write several files; where one can't be, those before it are put back, and it raises what hindered it."""
    done: list[tuple[str, bytes, bytes]] = []
    for name, before, after in edits:
        try:
            with _named(name, told):
                texts.write(name, before, after)
        except BaseException:
            for other, was, now in done:
                with suppress(OSError, ValueError):  # it was changed again within this moment
                    texts.write(other, now, was)
            raise
        done.append((name, before, after))


def _seen(source: Source, changed: tuple[Source, ...], configs: Configs) -> tuple[Seen | None, Look]:
    from retainlint.checking import pipeline
    from retainlint.text.files import Disk

    settings = configs.settings(source.name)

    files = Disk()

    seen = pipeline.look(source, changed, settings, files)
    unrolls = seen is None or seen.unrolled

    def look(text: Source, changed: Sequence[Source], left_out: Container[Definition]) -> Seen | None:
        return pipeline.look(text, changed, settings, files, left_out, unrolls=unrolls)

    return seen, look


def _encoded(source: Source, data: bytes) -> bytes:
    """What the file holds when its program is `source`; `data` is what it holds now. Raises ValueError."""
    if not is_notebook(source.name):
        return source.encoded(data)
    from retainlint.text import notebook
    from retainlint.text.source import UnreadableSource

    try:
        return notebook.encoded(source, data)
    except UnreadableSource as error:
        raise ValueError(error.reason) from error


def _sources(found: Iterable[Diagnostic]) -> list[Source]:
    """The files whose check finds something with cures, each once, in order."""
    sources: dict[str, Source] = {}
    for diagnostic in found:
        source = (diagnostic.called or diagnostic.primary.span).source
        if diagnostic.cures and source.text and not is_markdown(source.name):  # its programs are parts of one text
            sources.setdefault(source.name, source)
    return list(sources.values())


def fixable(found: Iterable[Diagnostic], configs: Configs) -> list[Diagnostic]:
    """The findings, without the fixes of rules that the configuration doesn't let be fixed."""
    codes: dict[str, frozenset[str]] = {}
    kept = []
    for each in found:
        name = each.primary.span.source.name
        if each.fix is not None and not (
            each.code in codes.setdefault(name, _fixable(name, configs))
            and all(_may_edit(made.span.source, configs) for made in each.fix.elsewhere)
        ):
            from retainlint.startup.records import replace  # a run without findings needs none

            each = replace(each, fix=None)
        kept.append(each)
    return kept


def _fixable(name: str, configs: Configs) -> frozenset[str]:
    """The codes that the configuration lets be fixed: the more specific selector decides."""
    config = configs.of_file(name)
    words = [config.stated(key).value for key in ("fixable", "unfixable")]
    select, ignore = (
        tuple(w for w in value if isinstance(w, str)) if isinstance(value, tuple) else () for value in words
    )
    return chosen_codes([Selection(select, (), ignore)], KnownRules(known_rules().names))


def _diff(source: Source, after: Source) -> list[str]:
    """A unified diff, of each cell in a notebook."""
    if not source.cells:
        return _differing(source.name, source.text, after.text)
    pairs = zip(_cells(source), _cells(after), strict=True)
    return [
        line
        for number, (one, two) in enumerate(pairs, 1)
        for line in _differing(f"{source.name}:cell {number}", one, two)
    ]


def _cells(source: Source) -> list[str]:
    text = source.shown or source.text
    return [text[start:end] for start, end in zip(source.cells, (*source.cells[1:], len(text)), strict=True)]


def _differing(name: str, one: str, two: str) -> list[str]:
    """Lines that keep their ends, with the mark of a last row without one."""
    before, after = (re.findall(r"[^\n]*\n|[^\n]+", text) for text in (one, two))
    import difflib

    lines = difflib.unified_diff(before, after, quoted(name), quoted(name))
    return [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines]


def write_diff(done: Done, out: TextIO) -> None:
    """The diff of all files; on a terminal without the control characters that a source may hold."""
    terminal = out.isatty()
    for line in done.diff:
        out.write(safe(line.rstrip("\r\n")) + "\n" if terminal else line)


# -- names in a diff -----------------------------------------------------------------------------------------------

_SIGNS = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}
"""What C writes behind a backslash, by the byte."""


def quoted(name: str) -> str:
    """A file's name behind `---` or `+++`, as git quotes it, so that nobody who applies the diff reads another.

    In double quotes, with bytes in octal, if it holds what ends a line, what a terminal would act on, or a quote; or if
    it begins with a blank, which `patch` would skip. A tab ends one with blanks in it, or `patch` reads it up to the
    first, and changes another file.
    """
    name = name if os.sep == "/" else name.replace(os.sep, "/")
    if not name.isprintable() or name[:1] == " " or '"' in name or "\\" in name:
        name = f'"{"".join(map(_escaped, name))}"'
    return f"{name}\t" if " " in name else name


def _escaped(character: str) -> str:
    if character.isprintable() and character not in '"\\':
        return character
    try:
        data = character.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a character, which is no byte of a name either
        data = character.encode("utf-8", "surrogatepass")
    return "".join(f"\\{_SIGNS.get(byte) or f'{byte:03o}'}" for byte in data)
