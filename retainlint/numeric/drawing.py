"""Draws graphs as SVG: what each node saved, and which nodes were freed."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from retainlint.autograd.graph import Node
from retainlint.numeric.story import Places, slots
from retainlint.numeric.tape import LEDGER
from retainlint.numeric.tensor import LeafKey

WIDTH, HEIGHT, GAP, ROW = 204, 58, 26, 104
MOST = 150
"""More nodes than this are not drawn: the first ones are left out."""

STYLE = """
  text { font: 12px ui-monospace, Menlo, Consolas, monospace; fill: #1c2733; text-anchor: middle }
  .small { font-size: 11px; fill: #54616f } .gone { text-decoration: line-through; fill: #98a2ad }
  .node rect { fill: #e8f1fb; stroke: #2f6fb3; stroke-width: 1.5 }
  .light rect { fill: #f6f8fa; stroke: #8a97a5; stroke-width: 1.2 }
  .freed rect { fill: #ffffff; stroke: #b04a3a; stroke-width: 1.5; stroke-dasharray: 6 4 }
  .leaf rect { fill: #eaf6e6; stroke: #4d8b3b; stroke-width: 1.5 }
  path { fill: none; stroke: #8a97a5; stroke-width: 1.3 }
""".strip()


def draw(places: Places) -> str:
    """An SVG picture of the graphs that a run built: roots above, leaves below; freed nodes dashed."""
    nodes = list(places.nodes or ())[-MOST:]
    known = dict.fromkeys(nodes)
    for node in nodes:
        known.update((edge.node, None) for edge in node.next if edge is not None and edge.node.is_leaf)
    rows = _rows(list(known))
    spots = _spots(rows)
    width = max((x + WIDTH for x, _ in spots.values()), default=0) + GAP
    height = max((y + HEIGHT for _, y in spots.values()), default=0) + GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" role="img">',
        "<title>Autograd graphs; dashed nodes were freed</title>",
        f"<style>\n  {STYLE}\n</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" style="fill:#8a97a5;stroke:none"/></marker></defs>',
    ]
    parts += [_arrow(spots[node], spots[e.node]) for node in spots for e in node.next if e and e.node in spots]
    parts += [_box(node, spot, places) for node, spot in spots.items()]
    return "\n".join([*parts, "</svg>", ""])


def _rows(nodes: Sequence[Node]) -> list[list[Node]]:
    """The nodes by their longest way from a root."""
    depth = dict.fromkeys(nodes, 0)
    for node in sorted(nodes, key=lambda n: -n.order if not n.is_leaf else 1):
        for edge in node.next:
            if edge is not None and edge.node in depth:
                depth[edge.node] = max(depth[edge.node], depth[node] + 1)
    rows: list[list[Node]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for node in nodes:
        rows[depth[node]].append(node)
    return rows


def _spots(rows: list[list[Node]]) -> dict[Node, tuple[float, float]]:
    """Where each node's box stands: near the middle of the nodes above that lead to it."""
    spots: dict[Node, tuple[float, float]] = {}
    above: dict[Node, list[float]] = {}
    for number, row in enumerate(rows):
        wanted = {
            node: sum(above[node]) / len(above[node]) if above.get(node) else i * (WIDTH + GAP)
            for i, node in enumerate(row)
        }
        left = float(GAP)
        for node in sorted(row, key=lambda n: wanted[n]):
            left = max(left, wanted[node])
            spots[node] = (left, GAP + number * ROW)
            inner = [edge.node for edge in node.next if edge is not None]
            for i, child in enumerate(inner):
                above.setdefault(child, []).append(left + (i - (len(inner) - 1) / 2) * (WIDTH + GAP))
            left += WIDTH + GAP
    return spots


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    x1, y1, x2, y2 = start[0] + WIDTH / 2, start[1] + HEIGHT, end[0] + WIDTH / 2, end[1] - 2
    middle = (y1 + y2) / 2
    return f'<path d="M{x1:g} {y1:g}C{x1:g} {middle:g} {x2:g} {middle:g} {x2:g} {y2:g}" marker-end="url(#tip)"/>'


def _box(node: Node, spot: tuple[float, float], places: Places) -> str:
    x, y = spot
    middle = x + WIDTH / 2
    place = places.built_at.get(node)
    freed = node in LEDGER.freed
    kind = "leaf" if node.is_leaf else "freed" if freed else "node" if node.saved else "light"
    title = f"leaf {list(node.variable.tensor.shape)}" if isinstance(node.variable, LeafKey) else node.op
    below = "its gradient arrives here" if node.is_leaf else slots(node) or "saves nothing"
    gone = ' class="small gone"' if freed else ' class="small"'
    lines = [
        f'<g class="{kind}"><rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="8"/>',
        f'<text x="{middle:g}" y="{y + 19:g}">{escape(title)}</text>',
        f'<text x="{middle:g}" y="{y + 35:g}"{gone}>{escape(below)}</text>',
    ]
    if place is not None:
        lines.append(f'<text x="{middle:g}" y="{y + 50:g}" class="small">{escape(place.shown)}</text>')
    return "".join(lines) + "</g>"
