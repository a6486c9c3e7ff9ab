"""One fuzzed text by its number: which kind it is, and how it is made of a seed and of real files."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.fuzz import calling, exploding, grammar, mutations, patterns
from benchmarks.truth.program import generate

LARGEST = 25_000
"""Real files of more bytes are left out: a run is to come through many texts."""

FIXTURES = Path(__file__).resolve().parent.parent.parent / "fixtures"

TWICE = b"""
import torch
w_ = torch.ones(2, requires_grad=True)
loss_ = (w_ * w_).sum()
loss_.backward()
loss_.backward()
"""
"""Two backward passes over one graph: behind a text it has the whole pipeline see the text."""


@dataclass(frozen=True)
class Case:
    """A text with the name of the file that it would be."""

    number: int
    kind: str
    name: str
    data: bytes


@dataclass(frozen=True)
class Recipe:
    """What all texts of a run are made from: the seed, the kinds, and real files."""

    seed: int
    kinds: tuple[str, ...]
    sources: tuple[str, ...]

    def whole(self, number: int) -> Case:
        """The real file of that number as it is, under its own name, so that its imports are followed."""
        name = self.sources[number]
        return Case(number, WHOLE, name, Path(name).read_bytes())

    def make(self, number: int) -> Case:
        """The text of that number; the same wherever the sources are the same."""
        dice, kind = self._drawn(number)
        name, data = KINDS[kind][1](dice, self)
        return Case(number, kind, name, data)

    def kind(self, number: int) -> str:
        """Which kind of text has that number."""
        return self._drawn(number)[1]

    def _drawn(self, number: int) -> tuple[random.Random, str]:
        dice = random.Random(f"{self.seed}.{number}")
        return dice, dice.choices(self.kinds, [KINDS[kind][0] for kind in self.kinds])[0]


def found(folders: Iterable[str], largest: float = LARGEST) -> tuple[str, ...]:
    """The real files in these folders, in an order that is always the same."""
    names = {str(path) for folder in folders for path in Path(folder).rglob("*") if path.suffix in (".py", ".ipynb")}
    return tuple(sorted(name for name in names if os.path.isfile(name) and os.path.getsize(name) <= largest))


def _real(dice: random.Random, recipe: Recipe) -> tuple[str, bytes]:
    name = dice.choice(recipe.sources)
    data = Path(name).read_bytes()
    if name.endswith(".py") and b"backward" not in data and dice.random() < 0.8:
        data += TWICE
    return "f" + Path(name).suffix, data


def _mutated(dice: random.Random, recipe: Recipe) -> tuple[str, bytes]:
    name, data = _real(dice, recipe)
    return name, mutations.mutated(dice, data)


def _encoded(dice: random.Random, recipe: Recipe) -> tuple[str, bytes]:
    name, data = _real(dice, recipe)
    return name, mutations.encoded(dice, data)


def _spliced(dice: random.Random, recipe: Recipe) -> tuple[str, bytes]:
    """Rows of two files, and unusual syntax in between."""
    name, data = _real(dice, recipe)
    return name, mutations.spliced(dice, data, _real(dice, recipe)[1])


def _program(dice: random.Random, recipe: Recipe) -> tuple[str, bytes]:
    """One of the programs whose findings are measured, broken."""
    text = generate(f"{recipe.seed}.{dice.random()}").text.encode()
    return "f.py", mutations.mutated(dice, text) if dice.random() < 0.7 else mutations.swollen(dice, text)


def _grown(dice: random.Random, recipe: Recipe) -> tuple[str, bytes]:
    return "f.py", grammar.program(dice).encode("utf-8", "replace")


def _exploding(dice: random.Random, recipe: Recipe) -> tuple[str, bytes]:
    return "f.py", exploding.program(dice).encode("utf-8", "replace")


def _called(dice: random.Random, recipe: Recipe) -> tuple[str, bytes]:
    return "f.py", calling.program(dice).encode("utf-8", "replace")


def _aimed(dice: random.Random, recipe: Recipe) -> tuple[str, bytes]:
    return patterns.text(dice)


WHOLE = "whole"

KINDS: dict[str, tuple[float, Callable[[random.Random, Recipe], tuple[str, bytes]]]] = {
    "mutated": (24, _mutated),
    "spliced": (10, _spliced),
    "encoded": (8, _encoded),
    "program": (18, _program),
    "grown": (26, _grown),
    "exploding": (8, _exploding),
    "aimed": (6, _aimed),
    "called": (10, _called),
}
"""Each kind of text with its share of a run."""


def recipe(seed: int, kinds: Sequence[str], folders: Sequence[str], *, whole: bool = False) -> Recipe:
    """Without folders the real files are the project's own fixtures."""
    files = found(folders or [str(FIXTURES)], float("inf") if whole else LARGEST)
    return Recipe(seed, tuple(kinds) or tuple(KINDS), files)
