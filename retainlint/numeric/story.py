"""Remembers where a script built, freed, changed and reused its graphs, and tells it as a story."""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from retainlint.autograd.errors import FreedError, GraphError, ModifiedError
from retainlint.autograd.graph import Node, SavedTensor
from retainlint.numeric.lacking import users_frame
from retainlint.numeric.tape import LEDGER, OBSERVERS, RunObserver
from retainlint.numeric.tensor import Tensor

LONGEST = 60
"""Characters of a source line that a story shows."""


@dataclass(frozen=True)
class Place:
    """A line of the script, and in which backward pass of the run (from 1; 0 before the first)."""

    filename: str
    line: int
    backward_pass: int = 0

    @property
    def shown(self) -> str:
        return f"{safe(os.path.basename(self.filename))}:{self.line}"

    @property
    def source(self) -> str:
        """The text of the line, made safe for a terminal."""
        text = safe(linecache.getline(self.filename, self.line).strip())
        return text if len(text) <= LONGEST else text[: LONGEST - 1] + "\u2026"


def safe(text: str) -> str:
    """Control characters escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


@dataclass(frozen=True)
class StoryEvent:
    """One line of the story."""

    role: str
    place: Place
    note: str


@dataclass(frozen=True)
class Story:
    """How an error came about; `message` is the error's own text."""

    message: str
    events: tuple[StoryEvent, ...]

    def __str__(self) -> str:
        roles = max(len(event.role) for event in self.events)
        shown = max(len(event.place.shown) for event in self.events)
        code = max(len(event.place.source) for event in self.events)
        return "\n".join(
            f"  {event.role:<{roles}}  {event.place.shown:<{shown}}  {event.place.source:<{code}}  {event.note}".rstrip()
            for event in self.events
        )


class Places(RunObserver):
    """Watches a run. `trace`, if given, is told each event in a line; `nodes` holds all nodes if they are kept."""

    def __init__(self, trace: Callable[[str], object] | None = None, keep: bool = False) -> None:
        self.trace = trace
        self.nodes: list[Node] | None = [] if keep else None
        self.built_at: WeakKeyDictionary[Node, Place] = WeakKeyDictionary()
        self.freed_at: WeakKeyDictionary[Node, Place] = WeakKeyDictionary()
        self.changed_at: WeakKeyDictionary[Hashable, Place] = WeakKeyDictionary()
        self.backward_passes = 0
        self.before = LEDGER.created  # nodes are numbered from the start of this run
        self.current = Place("", 0)
        self.story: Story | None = None

    def here(self) -> Place:
        """The script's line that is running."""
        frame = users_frame(sys._getframe(1))
        return Place("", 0) if frame is None else Place(frame.f_code.co_filename, frame.f_lineno, self.backward_passes)

    def named(self, node: Node) -> str:
        """A node's name and number."""
        return f"{node.op} #{node.order - self.before}"

    def _tell(self, place: Place, text: str) -> None:
        if self.trace is not None:
            self.trace(f"{place.shown}  {text}")

    def built(self, node: Node) -> None:
        place = self.built_at[node] = self.here()
        if self.nodes is not None:
            self.nodes.append(node)
        saves = f", saving {slots(node)}" if node.saved else ""
        self._tell(place, f"builds {self.named(node)}{saves}")

    def changed(self, tensor: Tensor) -> None:
        place = self.changed_at[tensor.storage] = self.here()
        self._tell(place, f"changes a tensor of shape {list(tensor.shape)} in place")

    def started(self, retain: bool) -> None:
        self.backward_passes += 1
        self.current = self.here()
        self._tell(
            self.current,
            f"backward pass {self.backward_passes} begins, {'keeping' if retain else 'freeing'} what it passes",
        )

    def ran(self, node: Node) -> None:
        self._tell(self.current, f"backward pass {self.backward_passes} runs {self.named(node)}")

    def freed(self, node: Node) -> None:
        self.freed_at[node] = self.current
        self._tell(self.current, f"backward pass {self.backward_passes} frees {slots(node)} of {self.named(node)}")

    def refused(self, node: Node, saved: SavedTensor, error: GraphError) -> None:
        built = self.built_at.get(node)
        events = [] if built is None else [StoryEvent("built", built, f"{node.op} saved {slots(node)}")]
        if isinstance(error, FreedError):
            freed = self.freed_at.get(node)
            events += (
                [] if freed is None else [StoryEvent("freed", freed, f"backward pass {freed.backward_pass} freed it")]
            )
            events += [StoryEvent("reused", self.current, f"backward pass {self.backward_passes} needs it again")]
        elif isinstance(error, ModifiedError):
            changed = self.changed_at.get(saved.storage) if saved.storage is not None else None
            events += (
                [] if changed is None else [StoryEvent("changed", changed, "in place, so that its version went up")]
            )
            events += [
                StoryEvent("failed", self.current, f"backward pass {self.backward_passes} needs {saved.name} as it was")
            ]
        self.story = Story(str(error), tuple(events))
        self._tell(self.current, f"backward pass {self.backward_passes} fails at {self.named(node)}")

    def rootless(self, tensor: Tensor) -> None:
        text = "element 0 of tensors does not require grad and does not have a grad_fn"
        note = "the root has no graph: it was made under no_grad, detached, or of tensors that need no gradient"
        self.story = Story(text, (StoryEvent("failed", self.here(), note),))


def slots(node: Node) -> str:
    """The names of what a node saves."""
    return ", ".join(dict.fromkeys(slot.name for slot in node.saved))


@contextmanager
def watched(places: Places) -> Iterator[Places]:
    """Within this block, `places` is told of all that happens."""
    OBSERVERS.append(places)
    try:
        yield places
    finally:
        OBSERVERS.pop()
