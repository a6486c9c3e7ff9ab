"""The life of a failing path's graph, step by step: what a replay hands over, where its nodes are drawn, and the drawing as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from html import escape
from typing import NamedTuple

from retainlint.report.terminal import safe

WIDTH, HEIGHT, GAP, ROW = 214, 58, 24, 94
"""Of a node's box in units of the drawing, between two boxes, and from one row to the next."""

LETTERS = 27
"""So many fit in a box."""


class State(Enum):
    """What a node is like at a step; the value is its class in the page."""

    UNBUILT = "u"
    BUILT = "b"
    RUNNING = "r"
    PASSED = "p"
    FREED = "f"
    CHANGED = "c"
    FAILED = "x"


class LifeNode(NamedTuple):
    """One operation of the path (or several in a row, as one) in the program's words, where it stands, what is to be said of
    it, and the nodes that it reads from; a `leaf` is a tensor without an operation."""

    text: str
    place: str
    says: str = ""
    inputs: tuple[int, ...] = ()
    leaf: bool = False


class LifeStep(NamedTuple):
    """What happens, in words with code in backticks; each node's state then; and the arrows, each from a node to one that
    it reads from, along which a gradient goes. `kind` is "build", "begin", "run", "change" or "fail"."""

    kind: str
    words: str
    states: tuple[State, ...]
    arrows: tuple[tuple[int, int], ...] = ()


class Life(NamedTuple):
    """All of it, in the order in which it happens."""

    nodes: tuple[LifeNode, ...]
    steps: tuple[LifeStep, ...]


def svg(life: Life, name: str) -> Iterator[str]:
    """The drawing as it is after the last step; each node and arrow has its class and its number for who steps through.
    What is computed first stands above, and backward passes go up. `name` is told to those who can't see it."""
    spots = _spots(life.nodes)
    width = max((x for x, _ in spots), default=0) + WIDTH + 2
    height = max((y for _, y in spots), default=0) + HEIGHT + 2
    yield f'<svg class="graph" viewBox="0 0 {width:g} {height:g}" width="{width:g}" role="img" aria-label="{marked_up(name)}">'
    last = life.steps[-1]
    for below, node in enumerate(life.nodes):
        for above in node.inputs:
            kind = "on" if (below, above) in last.arrows else ""
            shown = "u" if State.UNBUILT in (last.states[below], last.states[above]) else kind
            yield f'<path class="e {shown}" data-e="{below}-{above}" d="{_arrow(spots[below], spots[above])}"/>'
    for number, (node, state) in enumerate(zip(life.nodes, last.states, strict=True)):
        yield f'<g class="n {state.value}{" leaf" if node.leaf else ""}" data-n="{number}">{_box(node, *spots[number])}</g>'
    yield "</svg>"


def _spots(nodes: Sequence[LifeNode]) -> list[tuple[float, float]]:
    """Where each box stands: a row below all that it reads from, near their middle."""
    rows: dict[int, list[int]] = {}
    depth: list[int] = []
    for number, node in enumerate(nodes):
        depth.append(1 + max((depth[each] for each in node.inputs), default=-1))
        rows.setdefault(depth[-1], []).append(number)
    step = WIDTH + GAP
    widest = max(map(len, rows.values()), default=1) * step - GAP
    middles: dict[int, float] = {}
    for row in (rows[each] for each in sorted(rows)):
        wish = {
            each: sum(middles[above] for above in nodes[each].inputs) / len(nodes[each].inputs)
            if nodes[each].inputs
            else widest / 2
            for each in row
        }
        ordered = sorted(row, key=lambda each: (wish[each], each))
        centre = sum(wish.values()) / len(wish)
        left = min(max(centre - (len(row) - 1) * step / 2, WIDTH / 2), widest - WIDTH / 2 - (len(row) - 1) * step)
        middles.update((each, left + at * step) for at, each in enumerate(ordered))
    return [(middles[each] - WIDTH / 2 + 1, depth[each] * ROW + 1) for each in range(len(nodes))]


def _arrow(below: tuple[float, float], above: tuple[float, float]) -> str:
    """From the box that reads up to the one that it reads from: the way of a gradient."""
    x1, y1, x2, y2 = below[0] + WIDTH / 2, below[1], above[0] + WIDTH / 2, above[1] + HEIGHT + 2
    middle = (y1 + y2) / 2
    return f"M{x1:g} {y1:g}C{x1:g} {middle:g} {x2:g} {middle:g} {x2:g} {y2:g}"


def _box(node: LifeNode, x: float, y: float) -> str:
    """Three lines: text, place, and what is said."""
    lines = (
        ("", _cut(node.text, LETTERS), 19),
        ("at", _tail(node.place, LETTERS + 4), 34),
        ("op" if node.says.startswith("saves ") else "at", _cut(node.says, LETTERS + 4), 49),
    )
    texts = "".join(
        f'<text class="{kind}" x="{x + 11:g}" y="{y + down:g}">{marked_up(said)}</text>'
        for kind, said, down in lines
        if said
    )
    hint = " · ".join(part for part in (node.text, node.place, node.says) if part)
    box = f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="9"/>'
    return f"<title>{marked_up(hint)}</title>{box}{texts}"


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 1] + "…"


def _tail(text: str, room: int) -> str:
    return text if len(text) <= room else "…" + text[1 - room :]


def marked_up(text: str) -> str:
    """Any text as HTML or SVG shows it, between tags or in an attribute."""
    return escape(safe(text))


__all__ = ["Life", "LifeNode", "LifeStep", "State", "marked_up", "svg"]
