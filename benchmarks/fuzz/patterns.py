"""Texts aimed at the regular expressions of the linter: what one of their repetitions fits a thousand times, and then not."""

from __future__ import annotations

import ast
import importlib
import json
import pkgutil
import random
import re
import sys
import time
from collections import deque
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import retainlint
from benchmarks.fuzz.vocabulary import PRELUDE

if sys.version_info >= (3, 11):
    from re import _constants as sre  # type: ignore[attr-defined]
    from re import _parser as parser  # type: ignore[attr-defined]
else:
    import sre_constants as sre
    import sre_parse as parser

MANY = (300, 3_000, 20_000)
"""So often is a repetition fitted."""

FEW = 8
"""A repetition that ends at so many is none."""


WAYS = ("match", "fullmatch", "search", "finditer", "findall", "sub", "split")
"""How a pattern may be asked."""


class Pattern(NamedTuple):
    """A pattern, where it stands, and in which ways it is asked."""

    where: str
    text: str
    flags: int
    ways: frozenset[str]

    def seconds(self, aim: str) -> float:
        """What it takes on a text, of the processor's time."""
        pattern = re.compile(self.text, self.flags)
        begun = time.process_time()
        if not self.ways <= {"match", "fullmatch"}:
            deque(pattern.finditer(aim), maxlen=0)
        for way in self.ways & {"match", "fullmatch"}:
            getattr(pattern, way)(aim)
        return time.process_time() - begun


@cache
def patterns() -> tuple[Pattern, ...]:
    """All patterns of the linter: those that its modules hold, and those that stand where they are used."""
    found: dict[tuple[str, int], tuple[str, frozenset[str]]] = {}
    written = _written()
    for info in pkgutil.walk_packages(retainlint.__path__, "retainlint."):
        if any(each in info.name for each in ("__main__", ".numeric", ".live")):  # torch alone takes 200 MiB
            continue
        for name, value in vars(importlib.import_module(info.name)).items():
            for each in _held(value):
                ways = written.get((info.name, name)) or written.get(("", name), frozenset())
                found.setdefault(each, (f"{info.name}.{name}", ways))
    for (where, way), texts in _inline().items():
        for text in texts:
            if way in WAYS or all(text != each for each, _ in found):
                found.setdefault((text, 0), (where, written.get(("", way), frozenset((way,)))))
    return tuple(sorted(Pattern(where, *each, ways) for each, (where, ways) in found.items()))


def _texts() -> Iterator[Path]:
    for path in Path(retainlint.__path__[0]).rglob("*.py"):
        if path.parent.name != "numeric":
            yield path


def _written() -> dict[tuple[str, str], frozenset[str]]:
    """In which ways a pattern is asked, by its module, or "" for all modules, and its name."""
    uses: dict[tuple[str, str], set[str]] = {}
    for path in _texts():
        text = path.read_text(encoding="utf-8")
        module = ".".join(("retainlint", *path.relative_to(retainlint.__path__[0]).with_suffix("").parts))
        found = [(name, way) for name, way in re.findall(rf"(\w+)\.({'|'.join(WAYS)})\b", text)]
        found += [(name, way) for way, name in re.findall(rf"re\.({'|'.join(WAYS)})\((\w+),", text)]
        found += [(name, "match") for name in re.findall(r"rows_with\(\w+, [^,]+, (\w+)", text)]
        for name, way in found:
            uses.setdefault((module, name), set()).add(way)
            uses.setdefault(("", name), set()).add(way)
    return {key: frozenset(ways) for key, ways in uses.items()}


def _inline() -> dict[tuple[str, str], list[str]]:
    """The patterns that are given to a function of `re`: by their place and that function, or what is compiled is called."""
    found: dict[tuple[str, str], list[str]] = {}
    for path in _texts():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Assign([ast.Name(name)], ast.Call(ast.Attribute(ast.Name("re"), "compile")) as call):
                    call.func = ast.Attribute(ast.Name("re"), name)  # which is come to behind this
                case ast.Call(ast.Attribute(ast.Name("re"), way), [ast.Constant(str(text)), *_]):
                    found.setdefault((f"{path.stem}:{node.lineno}", way), []).append(text)
                case ast.Call(ast.Attribute(ast.Name("re"), way), [ast.JoinedStr(values=parts), *_]):
                    pieces = [str(part.value) if isinstance(part, ast.Constant) else "name" for part in parts]
                    found.setdefault((f"{path.stem}:{node.lineno}", way), []).append("".join(pieces))
    return found


def _held(value: object, deep: int = 3) -> Iterator[tuple[str, int]]:
    """The patterns in a value: compiled, lazily compiled, or in what holds some."""
    if isinstance(value, re.Pattern) or type(value).__name__ == "_Pattern":
        made: Any = value
        text = made.pattern
        yield (text.decode("latin-1") if isinstance(text, bytes) else text), made.flags & ~(re.UNICODE | re.ASCII)
    elif deep and isinstance(value, (tuple, list, dict, frozenset)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _held(each, deep - 1)
    elif deep and getattr(type(value), "__module__", "").startswith("retainlint") and hasattr(value, "__dict__"):
        for each in vars(value).values():
            yield from _held(each, deep - 1)


@cache
def attacks(text: str, flags: int) -> tuple[tuple[str, str], ...]:
    """For each repetition of a pattern what leads to it, and what it fits."""
    made: list[tuple[str, str]] = []
    _walk(list(parser.parse(text, flags)), "", made)
    return tuple(dict.fromkeys(made))


def _walk(parts: list[Any], before: str, made: list[tuple[str, str]]) -> None:
    for op, argument in parts:
        if op in _REPEATS:
            _, most, inner = argument
            once = _sample(list(inner))
            if most == sre.MAXREPEAT or most > FEW:
                made += [(before, once or " "), (before + once, " "), (before, once + "\n")]
                if before:  # it may begin once more wherever anything may stand
                    made += [
                        (before, again or " ")
                        for again in (_sample(list(inner), before[0]), _sample(list(inner), before[-1]))
                    ]
            _walk(list(inner), before, made)
        elif op is sre.SUBPATTERN:
            _walk(list(argument[-1]), before, made)
        elif op is sre.BRANCH:
            for branch in argument[1]:
                _walk(list(branch), before, made)
        elif op in (sre.ASSERT, sre.ASSERT_NOT):
            _walk(list(argument[1]), before, made)
        before += _sample([(op, argument)])


_REPEATS = tuple(getattr(sre, name) for name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") if hasattr(sre, name))


def _sample(parts: list[Any], anything: str = "a") -> str:
    """A short text that these parts fit, mostly; `anything` where they fit whatever there is."""
    text = ""
    for op, argument in parts:
        if op is sre.LITERAL:
            text += chr(argument)
        elif op is sre.ANY:
            text += anything
        elif op is sre.NOT_LITERAL:
            text += "a" if argument != ord("a") else "b"
        elif op is sre.IN:
            text += _one_of(argument)
        elif op in _REPEATS:
            text += _sample(list(argument[2]), anything) * max(argument[0], 1)
        elif op is sre.SUBPATTERN:
            text += _sample(list(argument[-1]), anything)
        elif op is sre.BRANCH:
            text += _sample(list(argument[1][0]), anything)
        elif op is getattr(sre, "ATOMIC_GROUP", None):
            text += _sample(list(argument), anything)
    return text


_CLASSES = {sre.CATEGORY_DIGIT: "1", sre.CATEGORY_WORD: "a", sre.CATEGORY_SPACE: " ", sre.CATEGORY_NOT_SPACE: "a", sre.CATEGORY_NOT_WORD: " ", sre.CATEGORY_NOT_DIGIT: "a"}  # fmt: skip


def _one_of(items: list[Any]) -> str:
    if items[0][0] is sre.NEGATE:
        tried = re.compile("".join(_class(items)), re.DOTALL)
        return next(sign for sign in "a 1.(=" if tried.match(sign)) if any(tried.match(s) for s in "a 1.(=") else "~"
    for op, argument in items:
        if op is sre.LITERAL:
            return chr(argument)
        if op is sre.RANGE:
            return chr(argument[0])
        if op is sre.CATEGORY:
            return _CLASSES.get(argument, "a")
    return "a"


def _class(items: list[Any]) -> Iterator[str]:
    """The pattern of a set that isn't to be fitted."""
    names = {sre.CATEGORY_DIGIT: r"\d", sre.CATEGORY_WORD: r"\w", sre.CATEGORY_SPACE: r"\s", sre.CATEGORY_NOT_SPACE: r"\S", sre.CATEGORY_NOT_WORD: r"\W", sre.CATEGORY_NOT_DIGIT: r"\D"}  # fmt: skip
    yield "[^"
    for op, argument in items[1:]:
        if op is sre.LITERAL:
            yield re.escape(chr(argument))
        elif op is sre.RANGE:
            yield f"{re.escape(chr(argument[0]))}-{re.escape(chr(argument[1]))}"
        elif op is sre.CATEGORY:
            yield names.get(argument, "")
    yield "]"


def aimed(dice: random.Random) -> str:
    """A text aimed at one repetition of one pattern."""
    chosen = dice.choice(patterns())
    found = attacks(chosen.text, chosen.flags)
    before, pump = dice.choice(found) if found else ("", chosen.text)
    pump = pump or "a"  # what is repeated may fit nothing
    times = dice.choice(MANY)
    body = pump * min(times, 200_000 // len(pump) + 1)
    return dice.choice((f"{before}{body}!", f"{before}{body}\0", f"{before}{body}\n", (before + pump) * (min(times, 200_000 // len(before + pump) + 1)), f"{before}{body}{before}!"))  # fmt: skip


def text(dice: random.Random) -> tuple[str, bytes]:
    """It in a place where some pattern may look: a row, a comment, a text, a cell, a page."""
    aim = aimed(dice)
    end = "loss.backward()\nloss.backward()\n"
    place = dice.randrange(8)
    if place == 0:
        source = f"{PRELUDE}{aim}\n{end}"
        return "f.ipynb", json.dumps(
            {"cells": [{"cell_type": "code", "source": source}, {"cell_type": "code", "source": [end]}]}
        ).encode()
    if place == 1:
        return "f.md", f"{aim}\n```python\n{PRELUDE}{end}```\n{aim}\n```py\n{aim}\n".encode("utf-8", "replace")
    made = {
        2: f"{aim}\n{PRELUDE}{end}",
        3: f"{PRELUDE}# {aim}\n{end}",
        4: f"{PRELUDE}s = {aim!r}\n{end}",
        5: f'{PRELUDE}s = """\n{aim}\n"""\n{end}',
        6: f"{PRELUDE}{end}{aim}",
        7: f"{PRELUDE}loss.backward()\nloss.backward(  # {aim}\n  )\n{end}",
    }[place]
    return "f.py", made.encode("utf-8", "replace")
