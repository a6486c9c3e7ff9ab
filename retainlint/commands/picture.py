"""The graphs that a run built, drawn as a report draws them: what each node saved, and which nodes were freed."""

from __future__ import annotations

from retainlint.numeric.story import Places, slots
from retainlint.numeric.tape import LEDGER
from retainlint.numeric.tensor import LeafKey
from retainlint.report.graph_life import Life, LifeNode, LifeStep, State, svg

MOST = 150
"""More nodes than this are not drawn: the first ones are left out."""

_HEAD = '<svg xmlns="http://www.w3.org/2000/svg" '
_STYLE = """<style>
  text { font: 12px ui-monospace, Menlo, Consolas, monospace; fill: #1c2733 } .op, .at { font-size: 11px; fill: #54616f }
  .n rect { fill: #e8f1fb; stroke: #2f6fb3; stroke-width: 1.5 } .p rect { fill: #f6f8fa; stroke: #8a97a5 }
  .f rect { fill: #ffffff; stroke: #b04a3a; stroke-dasharray: 6 4 } .f .op { text-decoration: line-through }
  .leaf rect { fill: #eaf6e6; stroke: #4d8b3b } .e { fill: none; stroke: #8a97a5; stroke-width: 1.3 }
</style>"""


def draw(places: Places) -> str:
    """An SVG picture: leaves above, roots below; freed nodes dashed."""
    nodes = list(places.nodes or ())[-MOST:]
    leaves = (edge.node for node in nodes for edge in node.next if edge is not None and edge.node.is_leaf)
    numbers = {node: number for number, node in enumerate(dict.fromkeys((*leaves, *nodes)))}
    drawn, states = [], []
    for node in numbers:
        inputs = tuple(numbers[edge.node] for edge in node.next if edge is not None and edge.node in numbers)
        place, key = places.built_at.get(node), node.variable
        text = f"leaf {list(key.tensor.shape)}" if isinstance(key, LeafKey) else node.op
        says = "its gradient arrives here" if node.is_leaf else f"saves {slots(node) or 'nothing'}"
        drawn.append(LifeNode(text, place.shown if place is not None else "", says, inputs, node.is_leaf))
        states.append(State.FREED if node in LEDGER.freed else State.BUILT if node.saved else State.PASSED)
    life = Life(tuple(drawn), (LifeStep("run", "", tuple(states)),))
    head, *rest = svg(life, "Autograd graphs; dashed nodes were freed")
    return "\n".join((head.replace("<svg ", _HEAD, 1), _STYLE, *rest, ""))
