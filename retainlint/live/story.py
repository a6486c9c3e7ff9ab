"""A failed backward pass as a story of places: the graph is built here, freed or changed there, needed again here."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from types import FrameType, ModuleType
from typing import Any

import torch

from retainlint.diagnostic import Label
from retainlint.live.graphs import Saved
from retainlint.live.places import Call, Stack, fork, row_of, span_of
from retainlint.report import full
from retainlint.report.terminal import Style
from retainlint.text.quoting import code

_VERSIONS = re.compile(r"\[(?P<shape>[\d, ]*)\][^\[]{0,200}is at version (?P<now>\d+); expected version (?P<then>\d+)")
_OF_MODULES = ("_buffers", "_modules")
"""Where an nn.Module has attributes of these kinds."""
MOST_ITEMS = 50
"""So many items of a container, or attributes of an object, are looked at for the name of a tensor."""


@dataclass(frozen=True)
class Pass:
    """A backward pass: its number in the run, which one of its place it is, both from 1, and where."""

    number: int
    here: int
    stack: Stack


@dataclass(frozen=True)
class Change:
    """A change in place by torch's function `name`, and the version of the tensor behind it."""

    stack: Stack
    name: str
    version: int
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Failure:
    """A backward pass that failed at the node called `node`, which was built at `built`, with `passes_before`
    backward passes before that. `carrier` is what the user calls the tensor through which the freed part was reached, as "`features`";
    where no variable holds it any more, `joined` is where the newer part of the graph was joined to it."""

    failed: Pass
    why: Saved
    node: str
    built: Stack
    passes_before: int
    freed: Pass | None = None
    carrier: str = ""
    joined: Stack = ()
    changes: tuple[Change, ...] = ()


class Story:
    """A failure with the places that tell of it, the built one first and the failing one last."""

    def __init__(self, failure: Failure) -> None:
        self.failure = failure
        self.labels = list(_labels(failure))

    @property
    def message(self) -> str:
        """What happened, in a sentence."""
        failure = self.failure
        failed = _numbered(failure.failed.number)
        if failure.why is Saved.FREED:
            by = _numbered(failure.freed.number) if failure.freed is not None else "one before the recording began"
            return f"{failed} needs a part of the graph that {by} has freed"
        return f"{failed} needs a tensor that `{failure.node}` had saved, and that was changed in place since"

    def text(self, style: Style | None = None) -> str:
        """The story as a terminal shows it: a row that says what happened, and the rows of the program."""
        style = style or Style(width=120)
        primary = self.labels[-1].span
        place = f"{primary.source.name}:{row_of(self.failure.failed.stack[0]) if self.failure.failed.stack else 0}"
        head = f"{style.paint(place, 'strong')}: {style.paint('recorded by retainlint', 'strong')}: {self.message}"
        return "\n".join([head, *full.body(self.labels, _notes(self.failure), style, "error")])


def _numbered(number: int) -> str:
    return f"backward pass {number}"


def _labels(failure: Failure) -> Iterator[Label]:
    reused = failure.failed.stack
    built, used = fork(failure.built, reused)
    if built is not None:
        before = (
            f" before {_numbered(failure.passes_before + 1)}"
            if failure.failed.number > failure.passes_before + 1
            else ""
        )
        yield Label(span_of(built), f"`{failure.node}` is built here{before}")
    if failure.freed is not None:
        freed, _ = fork(failure.freed.stack, reused)
        if freed is not None:
            yield Label(span_of(freed), f"{_numbered(failure.freed.number)} frees it")
    for change in failure.changes[:1]:
        changed, _ = fork(change.stack, reused)
        if changed is not None:
            yield Label(span_of(changed), f"`{change.name}` changes it in place")
    last = reused[0] if reused else used
    if last is not None:
        through = f", through {failure.carrier}" if failure.carrier else ""
        needs = "needs it again" if failure.why is Saved.FREED else "needs it as it was"
        yield Label(span_of(last), f"{_numbered(failure.failed.number)} {needs}{through}", primary=True)


def _notes(failure: Failure) -> Iterator[str]:
    """What the marks don't say: the innermost calls, and how often the place was passed before."""
    built, _ = fork(failure.built, failure.failed.stack)
    if failure.built and failure.built[0] != built:
        yield f"built: {_written(failure.built[0])}"
    if failure.joined:
        yield f"joined: {_written(failure.joined[0])} (takes it up again)"
    if failure.failed.here > 1:
        yield f"count: this line had run {failure.failed.here - 1} backward pass{'es' * (failure.failed.here > 2)} before"


def _written(call: Call) -> str:
    """A call's text and where it stands."""
    span = span_of(call)
    return f"{code(span.text)} at {span.source.name}:{row_of(call)}, in `{call.code.co_name}`"


def versions_in(message: str) -> tuple[tuple[int, ...], int, int] | None:
    """The shape, the version and the expected one that torch's message names; None if it doesn't."""
    found = _VERSIONS.search(message)
    if found is None:
        return None
    shape = tuple(int(size) for size in found["shape"].split(",") if size.strip())
    return shape, int(found["now"]), int(found["then"])


def name_in(frames: Sequence[FrameType], nodes: Collection[Any]) -> str:
    """What the user calls a tensor that one of the nodes made, as "`self.hidden`"; "" if no variable of the calls holds it."""
    for frame in frames:
        for name, value in frame.f_locals.items():
            for written, held in _within(name, value):
                if isinstance(held, torch.Tensor) and held.grad_fn is not None and held.grad_fn in nodes:
                    return f"`{written}`"
    return ""


def _within(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A variable and what it holds: items, and the attributes of an object, with those of the objects that it has."""
    yield name, value
    for depth_name, held in _parts(name, value):
        yield depth_name, held
        yield from _parts(depth_name, held)


def _parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, (list, tuple)):
        yield from ((f"{name}[{at}]", item) for at, item in enumerate(value[:MOST_ITEMS]))
    elif isinstance(value, dict):
        yield from ((f"{name}[{key!r}]", value[key]) for key in list(value)[:MOST_ITEMS] if isinstance(key, (str, int)))
    elif not isinstance(value, torch.Tensor | ModuleType):
        own = getattr(value, "__dict__", None)
        for held in (own, *(own.get(each) for each in _OF_MODULES)) if isinstance(own, dict) else ():
            if isinstance(held, dict):
                yield from ((f"{name}.{key}", held[key]) for key in list(held)[:MOST_ITEMS])
