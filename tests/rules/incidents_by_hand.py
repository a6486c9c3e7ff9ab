"""Makes incidents by hand, from a program's text and snippets of it, for the tests of what rules say of them."""

from __future__ import annotations

import re
import textwrap
from typing import Any

from retainlint.incident import BackwardPass, Condition, Freed, Iteration, LeafModified, Modified, Moment, NoGraph
from retainlint.text.source import Source, Span

Turns = tuple[tuple[str, int], ...]


class Program:
    """A program whose places are named by their text; `call:name` as a loop stands for a method called again."""

    def __init__(self, text: str, name: str = "train.py") -> None:
        self.source = Source(name, textwrap.dedent(text).lstrip("\n"))

    def span(self, text: str, nth: int = 1) -> Span:
        """The nth place where `text` stands, as a whole word if it is a name."""
        bound = r"\b" if text.isidentifier() else ""
        found = list(re.finditer(f"{bound}{re.escape(text)}{bound}", self.source.text))[nth - 1]
        return Span(self.source, found.start(), found.end())

    def moment(self, text: str, iterations: Turns = (), frames: tuple[str, ...] = (), nth: int = 1) -> Moment:
        told = []
        for loop, number in iterations:
            called = loop.removeprefix("call:")
            told.append(Iteration(self.span(called), number, is_call=called != loop))
        return Moment(self.span(text, nth), tuple(told), tuple(self.span(frame) for frame in frames))

    def backward_pass(self, text: str, root: str, iterations: Turns = (), **place: Any) -> BackwardPass:
        return BackwardPass(self.moment(text, iterations, **place), root)

    def condition(self, text: str, taken: bool = True) -> Condition:
        return Condition(self.span(text), taken)

    def freed(
        self, op: str, saved: tuple[str, ...], built: Moment, first: BackwardPass, second: BackwardPass, **more: Any
    ) -> Freed:
        fields = {"via": (), "name": "", "same_root": False, "conditions": (), "assumptions": (), **more}
        return Freed(op, saved, built, first, second, **fields)

    def modified(
        self, op: str, saved: str, name: str, built: Moment, change: Moment, backward_pass: BackwardPass, **m: Any
    ) -> Modified:
        fields = {"by_step": False, "earlier": None, "conditions": (), "assumptions": (), **m}
        return Modified(backward_pass, op, saved, name, built, change, **fields)

    def no_graph(self, backward_pass: BackwardPass, reason: str, cut: Moment | None = None) -> NoGraph:
        return NoGraph(backward_pass, cut, reason, conditions=())

    def leaf_modified(self, name: str, change: Moment, made: Moment | None = None, view: bool = False) -> LeafModified:
        return LeafModified(name, made, change, view, conditions=())
