"""The life of a graph as a witness shows it: its script runs on the reference core, and what happens is noted step by step."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from retainlint.commands import CommandError
from retainlint.commands.replay import NAME, checked, surroundings
from retainlint.report.graph_life import Life, LifeNode, LifeStep, State

if TYPE_CHECKING:
    from retainlint.incident import Said, Witness
    from retainlint.numeric.recording import Event, Recorder

LONGEST = 400
"""Witnesses of more lines are not replayed for a picture, nor those with more than two hundred letters a line."""

LARGEST = 16
"""Numbers of a witness that is drawn are no larger."""

_STAND_INS = {
    "saving": lambda *inputs: sum((x * x for x in inputs), 0.0),
    "passing": lambda *inputs: sum(inputs, 0.0),
}
"""What a witness defines for operations that aren't torch's own."""

FOLDED = 3
"""So many operations in a row, of which nothing is told, are drawn as one."""

TEXT = 60
"""Letters of the program's text that a step shows."""

_CUTS = {"cuts the graph", "builds no graph"}
_RAISES = {
    "finds none": "finds no graph, and raises",
    "changes it in place": "changes a leaf that requires grad in place, and raises",
    "has no such argument": "is given an argument that it hasn't, and raises",
}
"""What is said of a statement of the witness, and how a step tells it."""


class _Row(NamedTuple):
    """A statement of a witness: what it sets, reads and does, and what the program says there."""

    statement: ast.stmt
    target: str
    names: tuple[str, ...]
    text: str
    place: str
    note: str


@lru_cache(maxsize=1024)
def life_of(witness: Witness) -> Life | None:
    """None where there is nothing to be drawn."""
    script = witness.script
    if script.count("\n") > LONGEST or len(script) > LONGEST * 200:
        return None
    with suppress(CommandError, ImportError):
        rows = list(_rows(script, witness.said))
        return _Telling(rows, _recorded(rows), witness.node).life()
    return None


def _rows(script: str, said: Sequence[Said]) -> Iterator[_Row]:
    """Raises CommandError for what is no witness, or could take long: the text may come from a cache that somebody else wrote."""
    tree = checked(script)
    tree.body = [each for each in tree.body if not isinstance(each, ast.FunctionDef)]
    for each in ast.walk(tree):
        is_large = (
            isinstance(each, ast.Constant) and isinstance(each.value, int) and not -LARGEST <= each.value <= LARGEST
        )
        if is_large or isinstance(each, ast.GeneratorExp):
            raise CommandError("the witness takes more than witnesses do; it isn't drawn")
        for name in ("left", "right", "operand"):
            part = getattr(each, name, None)
            if isinstance(part, ast.Constant) and isinstance(part.value, int):
                part.value = float(part.value)  # which can't grow without end
    imports = [each for each in tree.body if isinstance(each, ast.Import)]
    if len(tree.body) - len(imports) != len(said):
        raise CommandError("of this witness isn't said what it stands for; it isn't drawn")
    for each, (text, place, note) in zip(tree.body, [("", "", "")] * len(imports) + [*map(_told, said)], strict=True):
        inner = each.body[0] if isinstance(each, ast.With) else each
        target = ""
        if isinstance(inner, ast.Assign) and isinstance(inner.targets[0], ast.Name):
            target = inner.targets[0].id
        value = inner.value if isinstance(inner, ast.Assign | ast.Expr) else inner
        names = dict.fromkeys(node.id for node in ast.walk(value) if isinstance(node, ast.Name))
        if isinstance(inner, ast.Assign) and not target:  # `t0[0] = 1` changes what it names
            names = dict.fromkeys(node.id for node in ast.walk(inner.targets[0]) if isinstance(node, ast.Name))
        yield _Row(each, target, tuple(names), text, place, note)


def _told(said: Said) -> tuple[str, str, str]:
    """A place that the witness has cut is none."""
    return said.text, "" if said.place.endswith("...") else said.place, said.what


def _recorded(rows: Sequence[_Row]) -> Recorder:
    from retainlint.numeric.namespace import installed
    from retainlint.numeric.recording import Recorder

    recorder = Recorder()
    with installed() as torch:
        codes = [compile(ast.Module([row.statement], []), NAME, "exec") for row in rows]
        recorder.run(codes, {**surroundings(torch), **_STAND_INS})
    return recorder


class _Telling:
    """Makes steps of events: nodes by the rows at which they were built, told in the program's words."""

    def __init__(self, rows: Sequence[_Row], recorder: Recorder, failing: str) -> None:
        self._rows, self._nodes_built, self._events, self._failing = rows, recorder.nodes, recorder.events, failing
        self._row_of = {
            node: row
            for node, (row, _) in enumerate(recorder.nodes)
            if rows[row].target and rows[row].note not in _CUTS
        }
        self._of_row: dict[int, list[int]] = {}
        for node, row in self._row_of.items():
            self._of_row.setdefault(row, []).append(node)
        self._setting = {row.target: number for number, row in enumerate(rows) if row.target}
        changed = {
            self._setting[name]
            for event in self._events
            if event.kind in ("change", "fail") and event.node is None
            for name in rows[event.row].names
            if name in self._setting
        }
        self._drawn = sorted({*self._of_row, *changed})
        self._number = {row: number for number, row in enumerate(self._drawn)}
        self._fold(changed)
        self._states = [State.UNBUILT] * len(self._nodes)
        self._steps: list[LifeStep] = []
        self._freed_by: dict[int, int] = {}
        self._through: set[tuple[int, int]] = set()

    def life(self) -> Life | None:
        done = passes = 0
        begun = -1
        running: dict[int, bool] = {}
        for event in self._events:
            done = self._build(done, event.row)
            if event.kind in ("run", "free"):
                number = self._of(event.node)
                if number is not None:
                    running[number] = running.get(number, False) or event.kind == "free"
                continue
            if event.kind == "change" and event.row == begun:
                continue  # a pass adds gradients up
            failed = self._of(event.node)
            self._run({number: frees for number, frees in running.items() if number != failed}, passes)
            running = {}
            if event.kind == "begin":
                passes, begun = passes + 1, event.row
                self._begin(event, passes)
            elif event.kind == "change":
                self._change(event)
            else:
                self._fail(event, passes)
        self._run(running, passes)
        return Life(tuple(self._nodes), tuple(self._steps)) if self._nodes and self._steps else None

    # -- nodes ------------------------------------------------------------------------------------------------------

    def _inputs(self, row: int) -> list[int]:
        read = (self._setting[name] for name in self._rows[row].names if name in self._setting)
        return [each for each in dict.fromkeys(read) if each in self._number and each != row]

    def _fold(self, changed: set[int]) -> None:
        """Long chains, of which nothing but their length is told, become one node."""
        readers: dict[int, list[int]] = {row: [] for row in self._drawn}
        for row in self._drawn:
            for each in self._inputs(row):
                readers[each].append(row)
        failed = {
            self._row_of.get(event.node) for event in self._events if event.kind == "fail" and event.node is not None
        }
        chains: list[list[int]] = []
        for row in self._drawn:
            inputs = self._inputs(row)
            plain = len(inputs) == 1 and len(readers[row]) == 1 and row not in changed and row not in failed
            if plain and chains and chains[-1] and inputs[0] == chains[-1][-1] and len(readers[inputs[0]]) == 1:
                chains[-1].append(row)
            else:
                chains.append([row] if plain else [])
        together = {row: chain[0] for chain in chains if len(chain) >= FOLDED for row in chain}
        size = {chain[0]: chain for chain in chains if len(chain) >= FOLDED}
        kept = [row for row in self._drawn if together.get(row, row) == row]
        place = {row: number for number, row in enumerate(kept)}
        self._number = {row: place[together.get(row, row)] for row in self._drawn}
        self._last = {place[first]: chain[-1] for first, chain in size.items()}
        self._saved: dict[int, tuple[str, ...]] = {}
        self._nodes = [self._node(row, size.get(row, ())) for row in kept]

    def _node(self, row: int, chain: Sequence[int]) -> LifeNode:
        said, inputs = self._rows[row], tuple(dict.fromkeys(self._number[each] for each in self._inputs(row)))
        number = self._number[row]
        nodes = self._of_row.get(row, [])
        saves = self._saved[number] = () if chain else self._saves(row, nodes)
        if chain:
            places = dict.fromkeys(self._rows[each].text or "…" for each in chain)
            return LifeNode(f"{len(chain)} operations", said.place, " → ".join(places), inputs)
        if nodes:
            return LifeNode(said.text or "an operation", said.place, f"saves {', '.join(saves) or 'nothing'}", inputs)
        if said.note in _CUTS:
            return LifeNode(said.text, said.place, said.note, inputs)
        requires = "requires_grad" in ast.unparse(said.statement)
        return LifeNode(
            said.text or "a tensor", said.place, "requires grad" if requires else "requires no grad", (), leaf=True
        )

    def _saves(self, row: int, nodes: Iterable[int]) -> tuple[str, ...]:
        """What an operation keeps: results of others in the program's words, its own, and inputs that have no name."""
        found: dict[str, None] = {}
        unnamed = 0
        for origin in (origin for node in nodes for origin in self._nodes_built[node].saved):
            of = None if origin is None else self._row_of.get(origin)
            if origin is not None and origin < 0:
                found["its result"] = None
            elif of is None:
                unnamed += 1
            elif of != row and self._rows[of].text:
                found[self._rows[of].text] = None
        return (*(["its inputs" if unnamed > 1 else "its input"] if unnamed else []), *found)

    # -- steps ------------------------------------------------------------------------------------------------------

    def _say(self, kind: str, words: str, arrows: Iterable[tuple[int, int]] = ()) -> None:
        self._steps.append(LifeStep(kind, words, tuple(self._states), tuple(arrows)))
        for number, state in enumerate(self._states):
            if state is State.RUNNING:
                self._states[number] = State.PASSED

    def _build(self, done: int, until: int) -> int:
        """Tell what is built by the rows up to one."""
        for row in range(done, until + 1):
            number = self._number.get(row)
            if number is None or self._last.get(number, row) != row:
                continue  # of several in a row the last tells
            node = self._nodes[number]
            self._states[number] = State.BUILT
            where = f"{self._what(number)}{f' ({node.place})' if node.place else ''}"
            if number in self._last:
                self._say("build", f"{where} build their nodes")
            elif row not in self._of_row:
                self._say("build", f"{where} {'makes a tensor that ' if node.leaf else ''}{node.says}")
            else:
                failing = any(event.kind == "fail" and self._of(event.node) == number for event in self._events)
                built = f"builds {self._failing}, which" if failing else "builds a node that"
                saved = self._saved[number]
                self._say("build", f"{where} {built} saves {_listed(saved) if saved else 'nothing'}")
        return max(done, until + 1)

    def _what(self, number: int) -> str:
        return self._nodes[number].text if number in self._last else _code(self._nodes[number].text)

    def _begin(self, event: Event, passes: int) -> None:
        keeps = "keeps what it passes" if event.retained else "frees what it passes"
        self._say("begin", f"backward pass {passes} begins: {self._row(event)} {keeps}")

    def _run(self, running: Mapping[int, bool], passes: int) -> None:
        """Tell what a pass ran, and whether it freed that."""
        for number, frees in running.items():
            saved = self._saved[number]
            lost = f", and frees {_listed(saved) if saved else 'what they saved'}" if frees else ""
            self._states[number] = State.RUNNING
            self._through.add((passes, number))
            arrows = [(number, each) for each in self._nodes[number].inputs]
            self._say("run", f"pass {passes} runs {self._what(number)}{lost}", arrows)
            if frees:
                self._states[number] = State.FREED
                self._freed_by[number] = passes

    def _change(self, event: Event) -> None:
        self._mark(event, State.CHANGED)
        self._say("change", f"{self._row(event)} changes a tensor in place")

    def _fail(self, event: Event, passes: int) -> None:
        number = self._of(event.node)
        if number is None:
            self._mark(event, State.FAILED)
            self._say("fail", f"{self._row(event)} {_RAISES.get(self._rows[event.row].note, 'raises')}")
            return
        needs = _listed(self._saved[number]) if self._saved[number] else "what it saved"
        by = self._freed_by.get(number)
        lost = f"{needs}, which pass {by} freed" if by else f"{needs} as before the change"
        self._states[number] = State.FAILED
        arrows = [(each, number) for each, one in enumerate(self._nodes) if number in one.inputs]
        arrows = [arrow for arrow in arrows if (passes, arrow[0]) in self._through]
        self._say("fail", f"pass {passes} comes to {self._what(number)}: {self._failing} needs {lost}", arrows)

    def _mark(self, event: Event, state: State) -> None:
        """Of what a statement names."""
        for name in self._rows[event.row].names:
            number = self._number.get(self._setting.get(name, -1))
            if number is not None:
                self._states[number] = state

    def _row(self, event: Event) -> str:
        row = self._rows[event.row]
        return f"{_code(row.text)}{f' ({row.place})' if row.place else ''}"

    def _of(self, node: int | None) -> int | None:
        return self._number.get(self._row_of.get(node, -1)) if node is not None else None


def _code(text: str) -> str:
    shown = text if len(text) <= TEXT else f"{text[: TEXT - 1]}…"
    return f"`{shown.replace('`', chr(39))}`" if text else "an operation"


def _listed(parts: Iterable[str]) -> str:
    *first, last = (part if part.startswith("its ") else _code(part) for part in parts)
    return f"{', '.join(first)} and {last}" if first else last
