"""Follows a plan without torch, roughly: whether it will raise, and whether it runs although its backward passes share something."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field

from benchmarks.truth.projects.actions import (
    Action,
    Branch,
    Call,
    Clear,
    Cut,
    Gather,
    Loop,
    Make,
    Method,
    Nudge,
    Plan,
    Say,
    Step,
    Test,
    Try,
    Walk,
)


class Impossible(Exception):
    """The plan would fail for another reason than a graph."""


class Raised(Exception):
    """A backward pass would fail."""


class _Thrown(Exception):
    """The program's own exception."""


@dataclass(frozen=True)
class Graph:
    """A value: the nodes that it needs, each with whether it saves; `live` where there is a graph at all."""

    nodes: frozenset[tuple[int, bool]] = frozenset()
    live: bool = False


PLAIN = Graph()


@dataclass
class World:
    """One run of a plan, for one assignment of its flags."""

    plan: Plan
    flags: dict[str, bool]
    cuts: bool = True  # whether what is cut and cleared counts: without, a near miss raises
    values: dict[str, Graph | None] = field(default_factory=dict)
    boxes: dict[str, list[Graph]] = field(default_factory=dict)
    made: dict[int, tuple[str, ...]] = field(default_factory=dict)
    freed: set[int] = field(default_factory=set)
    stale: set[int] = field(default_factory=set)
    walked: set[int] = field(default_factory=set)
    counter: int = 0
    shares: bool = False
    walks: int = 0
    depth: int = 0

    def run(self) -> None:
        self._begin()
        for turn in range(self.plan.turns):
            if turn and self.plan.fresh:
                self._begin()
            for name in self.plan.top:
                self._call(self.plan.methods[name])
        for name in self.plan.last:
            self._call(self.plan.methods[name])

    def _begin(self) -> None:
        self.counter = 0
        self.boxes = {name: [] for name in self.plan.boxes}
        kept = {net.state: self.values.get(net.state, PLAIN) for net in self.plan.networks.values() if net.state}
        begun = {net.state: None for net in self.plan.networks.values() if net.kind in ("cached", "penalised")}
        self.values = dict.fromkeys(self.plan.fields, PLAIN) | begun | {k: v for k, v in kept.items() if v is not PLAIN}
        for name, make in self.plan.begun.items():
            self.values[name] = None
            if make is not None:
                self._act(make)

    def _call(self, method: Method, body: tuple[Action, ...] = ()) -> None:
        self.depth += 1
        if self.depth > 8:
            raise Impossible
        self.counter += method.counts
        self._all(method.actions)
        if method.home == "context":
            self._all(body)
            self._all(method.after)
        self.depth -= 1

    def _all(self, actions: Iterable[Action]) -> None:
        for action in actions:
            self._act(action)

    def _act(self, action: Action) -> None:
        match action:
            case Make():
                if not action.lazily or self.values.get(action.field) is None:
                    self.values[action.field] = self._made(action)
            case Cut(field=name):
                self._read(name)
                if self.cuts:
                    net = self.plan.networks.get(name.partition(".")[0])
                    self.values[name] = None if net is not None and net.kind == "cached" else PLAIN
            case Gather(box=box, field=name, cut=cut):
                self.boxes[box].append(PLAIN if cut and self.cuts else self._read(name))
            case Clear(box=box):
                self.boxes[box] = [] if self.cuts else self.boxes[box]
            case Walk():
                self._walk(action)
            case Step(optimizer=name):
                self._moved(self.plan.optimizers[name])
            case Nudge(weight=weight, bumps=bumps):
                self._moved((weight,) if bumps else ())
            case Say(field=name):
                self._read(name)
            case Branch(test=test, body=body, other=other):
                self._all(body if self._holds(test) else other)
            case Loop(times=times, body=body):
                for _ in range(times):
                    self._all(body)
            case Try():
                self._try(action)
            case Call(method=name, body=body):
                self._call(self.plan.methods[name], body)

    def _try(self, action: Try) -> None:
        try:
            self._all(action.body)
            if action.flag and self.flags[action.flag]:
                raise _Thrown
        except Raised:
            if action.error not in ("RuntimeError", "Exception") or action.ending == "raise":
                raise
            self._all(action.handler)
        except _Thrown:
            self._all(action.handler)

    def _holds(self, test: Test) -> bool:
        holds = self.counter % test.every == 0 if test.every else self.flags[test.name]
        return holds is not test.negated

    def _read(self, name: str) -> Graph:
        make = self.plan.properties.get(name)
        value = self._made(make) if make is not None else self.values.get(name, PLAIN)
        if value is None:
            raise Impossible
        return value

    def _made(self, make: Make) -> Graph:
        parts = [self._read(name) for name in make.reads]
        for net in (self.plan.networks[name] for name in make.weights if name in self.plan.networks):
            parts.append(self._applied(net.name))
        return self._node(parts, make.weights, make.saves)

    def _applied(self, name: str) -> Graph:
        net = self.plan.networks[name]
        if net.kind == "plain":
            return self._node([], (name,), True)
        kept = self.values.get(net.state)
        if net.kind == "cached":
            if kept is None:
                kept = self.values[net.state] = self._node([], (name,), True)
            return self._node([kept], (name,), True)
        if net.kind == "penalised":
            self.values[net.state] = self._node([], (name,), True)
            return self._node([], (name,), True)
        self.values[net.state] = self._node([kept or PLAIN], (name,), True)
        return self.values[net.state] or PLAIN

    def _node(self, parts: list[Graph], weights: tuple[str, ...], saves: bool) -> Graph:
        if not weights and not any(part.live for part in parts):
            return PLAIN
        number = len(self.made)
        self.made[number] = weights if saves else ()
        return Graph(frozenset().union({(number, saves)}, *(part.nodes for part in parts)), True)

    def _walk(self, walk: Walk) -> None:
        if walk.how == "yielded":
            for make in self.plan.methods[walk.roots[0]].actions:
                self._act(make)
                self._pass(self._read(make.field) if isinstance(make, Make) else PLAIN, walk.keep)
            return
        roots = self.boxes[walk.roots[0]] if walk.roots[0] in self.boxes else [self._read(name) for name in walk.roots]
        live = [root.live for root in roots]
        if (walk.how == "sum" and not any(live)) or (walk.how == "roots" and not all(live)):
            raise Impossible
        for root in roots if walk.how == "each" else [Graph(frozenset().union(*(r.nodes for r in roots)), True)]:
            if not root.live or not root.nodes:
                raise Impossible
            self._pass(root, walk.keep)

    def _pass(self, root: Graph, keep: str) -> None:
        if not root.live:
            raise Impossible
        self.walks += 1
        for number, saves in root.nodes:
            if saves and (number in self.freed or number in self.stale):
                raise Raised
            self.shares |= number in self.walked
        kept = "True" in keep or any(self.flags[flag] for flag in self.flags if f"§{flag}§" in keep)
        numbers = {number for number, _ in root.nodes}
        self.walked |= numbers
        self.freed |= set() if kept else numbers

    def _moved(self, weights: Iterable[str]) -> None:
        moved = set(weights)
        self.stale |= {number for number, owners in self.made.items() if not moved.isdisjoint(owners)}


def outcome(plan: Plan) -> str:
    """ "raise", "meet" (it runs although backward passes meet in one graph), "near" (it would raise if nothing were cut or
    cleared), "plain", or "" where it fails for another reason, or nothing is walked."""
    found = {_one(plan, flags, cuts=True) for flags in assignments(plan)}
    if "" in found:
        return ""
    if "raise" in found or "meet" in found:
        return "raise" if "raise" in found else "meet"
    return "near" if any(_one(plan, flags, cuts=False) == "raise" for flags in assignments(plan)) else "plain"


def assignments(plan: Plan) -> list[dict[str, bool]]:
    """Every way in which the program's flags may be set from outside."""
    if plan.known:
        return [plan.known]
    return [dict(zip(plan.flags, values)) for values in itertools.product((False, True), repeat=len(plan.flags))]


def _one(plan: Plan, flags: dict[str, bool], *, cuts: bool) -> str:
    world = World(plan, flags, cuts)
    try:
        world.run()
    except Raised:
        return "raise"
    except (Impossible, _Thrown):
        return ""
    return "" if not world.walks else "meet" if world.shares else "plain"
