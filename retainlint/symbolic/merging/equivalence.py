"""Whether two states of one path's siblings mean the same, so that one of them is enough: values, records and graphs in one order."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from itertools import chain, compress
from operator import is_not
from types import MappingProxyType
from typing import Any, TypeVar

from retainlint.autograd.graph import Edge, Node
from retainlint.ir import Code
from retainlint.symbolic.solver.decisions import is_cast
from retainlint.symbolic.state import limits, reachability
from retainlint.symbolic.state.graphs import Graphs, whole
from retainlint.symbolic.state.state import Frame, State, replaced
from retainlint.symbolic.state.values import (
    GUESS,
    Bound,
    Closure,
    Const,
    DictObj,
    External,
    Failure,
    GradMode,
    HeapObj,
    Imported,
    Instance,
    ListObj,
    Method,
    Module,
    Notes,
    Ref,
    Symbol,
    TensorObj,
    Term,
    Tuple,
    UnknownObj,
    Value,
)


class Shapes:
    """A comparison of graphs; `nodes` is the bijection found so far."""

    def __init__(self, graphs: Graphs, a: State, b: State, lenient: bool) -> None:
        self.graphs, self.a, self.b, self.lenient = graphs, a, b, lenient
        self.nodes: dict[Node, Node] = {}
        self.effort = 1  # values and nodes that were gone through

    def edges(self, a: Edge | None, b: Edge | None, lazy: bool = False) -> bool:
        """Two graphs are alike if they have the same shape, stem from the same places and are as free."""
        if a is None or b is None:
            known = self.never_backpropagated if lazy else self.guessed
            return a is b or (known(self.a, a) and known(self.b, b))
        if a.output != b.output:
            return False
        if self.graphs.exists(a) == self.graphs.exists(b) == GUESS:
            return self.as_freed(whole(a.node), whole(b.node))
        nodes, births, freed = self.nodes, self.graphs.births, self.a.ledger.freed
        stack = [(a.node, b.node)]
        while stack:
            left, right = stack.pop()
            self.effort += 3
            if (match := nodes.get(left)) is not None:
                if match is not right:
                    return False
                continue
            nodes[left] = right
            if not self.as_freed(left, right):
                return False
            if left in freed:
                continue  # whatever lies below, a walk ends here
            if left.saved and right.saved and not self.as_stale(left, right):
                return False
            if left is right:
                continue
            if left.is_leaf and right.is_leaf:
                graded = left.variable in self.a.ledger.graded, right.variable in self.b.ledger.graded
                if graded[0] != graded[1] and not self.lenient:
                    return False
            if left.op != right.op or len(left.next) != len(right.next) or len(left.saved) != len(right.saved):
                return False
            if births[left].moment.span != births[right].moment.span:
                return False
            for one, other in zip(left.next, right.next, strict=True):
                assert one is not None and other is not None
                if births[one.node].exists != GUESS or births[other.node].exists != GUESS:
                    stack.append((one.node, other.node))
                elif not self.as_freed(whole(one.node), whole(other.node)):
                    return False
        return True

    def guessed(self, state: State, edge: Edge | None) -> bool:
        """Whether there is no graph, or one that is a mere guess and was not walked."""
        return edge is None or (self.graphs.exists(edge) == GUESS and whole(edge.node) not in state.ledger.freed)

    def never_backpropagated(self, state: State, edge: Edge | None) -> bool:
        """Whether there is no graph, or one that no walk has spoilt."""
        if edge is None:
            return True
        node = whole(edge.node)
        return node not in state.ledger.freed and node not in state.reported

    def as_freed(self, left: Node, right: Node) -> bool:
        """Whether both were freed, and both told of, or neither."""
        equivalent = (left in self.a.ledger.freed) == (right in self.b.ledger.freed)
        return equivalent and (left in self.a.reported) == (right in self.b.reported)

    def as_stale(self, left: Node, right: Node) -> bool:
        """Whether the same saved tensors of two nodes were changed since."""
        a, b = self.a.ledger.versions.get, self.b.ledger.versions.get
        for x, y in zip(left.saved, right.saved, strict=False):
            if (a(x.storage, 0) == x.version) != (b(y.storage, 0) == y.version):
                return False
        return True

    def ledgers(self) -> bool:
        """What one freed, stepped or changed and the other didn't must be out of reach."""
        a, b = self.a.ledger, self.b.ledger
        told = {key[0] if isinstance(key, tuple) else key for key in self.a.reported ^ self.b.reported}
        freed = (a.freed ^ b.freed) | told
        graded = a.graded ^ b.graded
        changed = set[Hashable]()
        if a.versions != b.versions:
            changed = {key for key in a.versions.keys() | b.versions.keys() if a.version(key) != b.version(key)}
        if not freed and not changed and not graded:
            return True
        left = reachability.nodes(self.a)
        self.effort += 2 * len(left) + len(self.a.heap)
        told_apart = left & freed
        if graded and not self.lenient:
            told_apart |= {node for node in left if node.is_leaf and node.variable in graded}
        touched = [node for node in left if any(s.storage in changed for s in node.saved)] if changed else []
        if not told_apart and not touched:
            return True
        right = reachability.nodes(self.b)  # what only one side reaches was compared where it is held
        return right.isdisjoint(told_apart) and all(self.as_stale(node, node) for node in touched if node in right)


def equivalent(
    graphs: Graphs, a: State, b: State, *, lenient: bool = False, blind: bool = False, grown: bool = False
) -> bool:
    """Whether both will go on alike. Ignored: identities, histories, what one of them assumed.

    With `lenient`, numbers, texts and what holds nothing else are ignored too: dropping one of two real paths costs
    at most a finding, never a false one. With `grown`, only how many numbers and the like a list holds is ignored.
    """
    if a.stack != b.stack or a.grad != b.grad or a.guards != b.guards:
        return False
    if (a.flow is None) != (b.flow is None) or (a.flow and b.flow and a.flow.kind != b.flow.kind):
        return False
    found = Comparison(graphs, a, b, lenient, blind, grown or lenient)
    try:
        return found.run()
    finally:
        graphs.effort.add(found.effort)


def unchanged(graphs: Graphs, before: State, after: State, *, grown: bool = False) -> bool:
    """Whether what a path has run since left no trace: it goes on as it would have, and no name was bound or lost."""
    bound = all(left.names.keys() == right.names.keys() for _, left, right in _frames(before, after))
    return bound and equivalent(graphs, before, after, grown=grown)


Key = TypeVar("Key", str, int)

_MAPPINGS = (dict, MappingProxyType)

_MANY = (*_MAPPINGS, tuple, Ref, Notes)


_SIMPLE: frozenset[type] = frozenset({Const, External, Term, Symbol})

_COMPUTED: frozenset[type] = frozenset({Term, Symbol})

_PLAIN_LEAVES: frozenset[type] = frozenset({Const, External, Imported, Module, Failure, GradMode})

_LEAVES: frozenset[type] = _SIMPLE | _PLAIN_LEAVES
"""Values that lead to no record, so that one is always like itself."""

_HOLLOW: frozenset[type] = frozenset({UnknownObj, TensorObj, ListObj, DictObj})
"""Records that may hold no graph and no flag."""


def _frames(a: State, b: State) -> list[tuple[int, Frame, Frame]]:
    """The frames that both states know of and differ in, be it that only one of them has changed what the base holds."""
    left, right, base = a.frames, b.frames, a.base.frames
    differing = compress(left, map(is_not, left.values(), map(right.get, left)))
    found = [(id, left[id], right[id]) for id in differing if dict.__contains__(right, id)]
    if base and (own := (base.keys() & left.keys()) ^ (base.keys() & right.keys())):
        found += [(id, left[id], right[id]) for id in own if left[id] is not right[id]]
    return found


def _records(a: State, b: State) -> list[int]:
    """The same of records on the heap: of those that are in both, only what was replaced may differ."""
    left, right, base = a.heap, b.heap, a.base.heap
    found: list[int] = []
    for id in replaced(a, b):
        one, other = left.get(id) or base.get(id), right.get(id) or base.get(id)
        if one is not other and one is not None and other is not None:
            found.append(id)
    found.sort()
    return found


_NAMES: dict[type, tuple[str, ...]] = {}


def _names_of(kind: type) -> tuple[str, ...]:
    """The names of a dataclass's fields."""
    if kind not in _NAMES:
        _NAMES[kind] = tuple(each.name for each in fields(kind))
    return _NAMES[kind]


class Comparison(Shapes):
    """One comparison; `ids` are the bijection found so far, as `nodes` are that of graphs."""

    def __init__(self, graphs: Graphs, a: State, b: State, lenient: bool, blind: bool, grown: bool) -> None:
        super().__init__(graphs, a, b, lenient)
        self.blind, self.grown = blind, grown
        self.ids: dict[int, int] = {}
        self.back: dict[int, int] = {}
        self.pending: list[tuple[int, int]] = []
        self.kept: list[int] = []  # records that both hold, in places where both hold the same
        self.kept_tuples: dict[
            int, Tuple
        ] = {}  # which hold nothing but such, by identity: one may stand in many places
        self.alike: dict[tuple[int, int], tuple[Tuple, Tuple]] = {}  # those of both sides that were found to be alike
        self.known_plain: dict[tuple[bool, int], tuple[Tuple, bool]] = {}  # the same of those that hold no graph
        self.known_bare: dict[tuple[bool, int], bool] = {}  # of either side: many lists may hold one

    def run(self) -> bool:
        a, b = self.a, self.b
        if a.flow is not None and b.flow is not None and not self.optional(a.flow.value, b.flow.value):
            return False
        frames = _frames(a, b)
        for _, left, right in frames:
            if self.apart(left.names, right.names) or self.apart(left.registers, right.registers):
                return False
        records = _records(a, b)
        self.effort += 2 * len(records)
        if any(map(self.records_apart, records)):
            return False
        if not all(self.frame(left, right) for _, left, right in frames):
            return False
        if not all(self.refs(id, id) for id in records):
            return False
        if a.hooks is not b.hooks and not self.values(a.hooks.items, b.hooks.items):
            return False
        while self.pending:
            if not self.heap(*self.pending.pop()):
                return False
        return self.keeps() and self.ledgers()

    def apart(self, a: Mapping[Key, Value], b: Mapping[Key, Value]) -> bool:
        """Whether both hold a flag, a number or the like under one name, and differ: most states do, so it is asked first."""
        get = b.get
        self.effort += len(a) // 8
        for name, left in a.items():
            right = get(name, left)
            if left is not right and self.differ(left, right):
                return True
        return False

    def differ(self, a: Value, b: Value) -> bool:
        """Whether two values are unlike whatever else is alike: no bijection is asked or added to."""
        kind, other = type(a), type(b)
        if kind in _SIMPLE or other in _SIMPLE:
            return not self.value(a, b)
        return kind is not other

    def records_apart(self, id: int) -> bool:
        """Whether both states' records of one number are unlike whatever else is alike."""
        left, right = self.a.heap[id], self.b.heap[id]
        if left is right or (type(left) in _HOLLOW and self.bare(self.a, left) and self.bare(self.b, right)):
            return False
        if type(left) is not type(right):
            return True
        if isinstance(left, Instance) and isinstance(right, Instance):
            return self.apart(left.leading, right.leading)
        if isinstance(left, UnknownObj) and isinstance(right, UnknownObj):
            return self.kinds_apart(left, right) or self.apart(left.leading, right.leading)
        if isinstance(left, DictObj) and isinstance(right, DictObj):
            if left.open != right.open or len(left.items) != len(right.items) or len(left.rest) != len(right.rest):
                return True
            return any(map(self.differ, (*left.items.values(), *left.rest), (*right.items.values(), *right.rest)))
        if isinstance(left, ListObj) and isinstance(right, ListObj):
            if left.open != right.open or len(left.items) != len(right.items):
                return True
            self.effort += len(left.items) // 4
            return any(map(self.differ, left.items, right.items))
        return False

    def frame(self, a: Frame, b: Frame) -> bool:
        return (
            self.variables(a.names, b.names)
            and self.variables(a.registers, b.registers)
            and self.values(a.yielded, b.yielded)
        )

    def variables(self, a: Mapping[Any, Value], b: Mapping[Any, Value]) -> bool:
        """A name or register that one side hasn't bound can't be read there, so it tells nothing."""
        get, as_kept = b.get, self.as_kept
        here, there, kept = self.a.heap.get, self.b.heap.get, self.kept
        self.effort += len(a) // 4
        for name, left in a.items():
            right = get(name)
            if left is right:
                if type(left) is Ref and here(id := left.id) is there(id):  # as nearly all are
                    kept.append(id)
                elif type(left) not in _LEAVES and not as_kept(left) and not self.value(left, right):
                    return False
            elif right is not None and not self.value(left, right):
                return False
        return True

    def as_kept(self, value: Value) -> bool:
        """Whether the same value leads to the same records in both, which are then left for the end: nearly all are."""
        kind = type(value)
        if kind is Ref:
            id = value.id  # type: ignore[union-attr]
            if self.a.heap.get(id) is self.b.heap.get(id):
                self.kept.append(id)
                return True
            return False
        if kind in _PLAIN_LEAVES:
            return True
        if isinstance(value, Closure):
            return not value.defaults or all(self.as_kept(each) for _, each in value.defaults)
        if isinstance(value, Tuple):
            return self.tuple_as_kept(value)
        if isinstance(value, Bound):
            return self.as_kept(value.func) and self.as_kept(value.self)
        return isinstance(value, Method) and self.as_kept(value.obj)

    def tuple_as_kept(self, value: Tuple) -> bool:
        if id(value) in self.kept_tuples:
            return True
        self.effort += len(value.items) // 4
        found = all(map(self.as_kept, value.items))
        if found:
            self.kept_tuples[id(value)] = value
        return found

    def keeps(self) -> bool:
        """Whether the records that are the same in both stand for no others."""
        crossed = {one for one, other in self.ids.items() if one != other}
        crossed |= set(map(self.ids.__getitem__, crossed))
        for id in crossed.intersection(self.kept) if crossed else ():
            left, right = self.a.heap[id], self.b.heap[id]
            if not (type(left) in _HOLLOW and self.bare(self.a, left) and self.bare(self.b, right)):
                return False
        return True

    def attributes(self, a: Mapping[Any, Value], b: Mapping[Any, Value]) -> bool:
        """Attributes; one that was only read so far, and is unknown, is as good as absent."""
        for key in chain(
            (each for each in a if each not in b), (each for each in b if each not in a)
        ):  # in their order
            state, value = (self.a, a[key]) if key in a else (self.b, b[key])
            held = state.get(value)
            if not isinstance(held, UnknownObj) or not self.guessed(state, held.edge):
                return False
        return self.items(a, b)

    def items(self, a: Mapping[Any, Value], b: Mapping[Any, Value]) -> bool:
        """What stands under the keys that both have."""
        self.effort += 4 + 2 * len(a)
        for key, left in a.items():  # no set's order may tell how much is gone through
            if key not in b:
                continue
            right = b[key]
            if not (left is right and self.as_kept(left)) and not self.value(left, right):
                return False
        return True

    def values(self, a: Iterable[Value], b: Iterable[Value]) -> bool:
        left, right = tuple(a), tuple(b)
        self.effort += len(left) // 4
        return len(left) == len(right) and all(map(self.value, left, right))

    def optional(self, a: Value | None, b: Value | None) -> bool:
        return a is b if a is None or b is None else self.value(a, b)

    def value(self, a: Value, b: Value) -> bool:
        if type(a) is Ref and type(b) is Ref:
            return self.refs(a.id, b.id)
        if self.plain(self.a, a) and self.plain(self.b, b):
            return self.blind or self.told(self.a, a) == self.told(self.b, b)
        if type(a) is not type(b):
            return False
        if isinstance(a, Const) and isinstance(b, Const):
            counted = a.loops and b.loops and self.a.base.deciding.isdisjoint(a.loops + b.loops)
            return bool(counted) or a == b
        if isinstance(a, (External, Imported, Module)):
            return a == b
        if isinstance(a, Symbol):
            return True
        if isinstance(a, Closure) and isinstance(b, Closure):
            same = a.code is b.code and self.values(dict(a.defaults).values(), dict(b.defaults).values())
            return same and self.other_frames(a.frame, b.frame)
        if isinstance(a, Tuple) and isinstance(b, Tuple):
            return self.tuples(a, b)
        return self.parts(a, b)

    def tuples(self, a: Tuple, b: Tuple) -> bool:
        """One may stand in many places of another."""
        if (key := (id(a), id(b))) not in self.alike:
            self.effort += len(a.items) // 4
            if not self.parts(a, b):
                return False
            self.alike[key] = a, b
        return True

    def told(self, state: State, value: Value) -> bool | None:
        """What a path has chosen that a flag is: whoever holds it may yet ask it."""
        negated = False
        while type(value) is Term and (value.op == "not" or is_cast(value)):
            negated ^= value.op == "not"
            value = value.args[0]
        truth = state.truths.get(value) if isinstance(value, (Term, Ref)) else None
        return None if truth is None else truth != negated

    def plain(self, state: State, value: Value, depth: int = 0) -> bool:
        """Whether a value can hold no graph and is no flag; a list may hold itself."""
        if type(value) is Const:
            return self.lenient and (self.blind or not isinstance(value.value, (bool, type(None))))
        if type(value) is Ref:
            key = state is self.a, value.id
            if key not in self.known_bare:
                self.known_bare[key] = False  # while it is gone into: it may hold itself
                self.known_bare[key] = depth < limits.EMPTINESS_DEPTH and self.bare(state, state.heap[value.id], depth)
            return self.known_bare[key]
        if type(value) is Tuple:
            return self.lenient and self.plain_tuple(state, value, depth)
        return type(value) in _COMPUTED or (type(value) is External and not value.path.startswith("torch"))

    def plain_tuple(self, state: State, value: Tuple, depth: int) -> bool:
        if (key := (state is self.a, id(value))) not in self.known_plain:
            self.effort += len(value.items) // 4
            known = depth < limits.EMPTINESS_DEPTH and all(self.plain(state, each, depth + 1) for each in value.items)
            self.known_plain[key] = value, known
        return self.known_plain[key][1]

    def bare(self, state: State, held: HeapObj, depth: int = 0) -> bool:
        """The same of what a reference leads to."""
        if type(held) is UnknownObj:
            if held.leading and not (depth and self.lenient and self.all_plain(state, held.leading.values(), depth)):
                return False
            return held.plain or self.weak(state, held)
        if type(held) is TensorObj:
            return held.inference is None and self.weak(state, held)
        if type(held) is ListObj:
            items, may_be = held.items, self.grown
        elif type(held) is DictObj:
            items, may_be = (*held.items.values(), *held.rest), self.lenient
        else:
            return False
        return may_be and self.all_plain(state, items, depth)

    def all_plain(self, state: State, values: Collection[Value], depth: int) -> bool:
        self.effort += 1 + len(values) // 4
        return all(self.plain(state, each, depth + 1) for each in values)

    def weak(self, state: State, held: TensorObj | UnknownObj) -> bool:
        """Whether a tensor's graph is at most a guess, and was not walked."""
        if held.edge is None:
            return isinstance(held, TensorObj) or held.hint == ""
        return self.graphs.exists(held.edge) == GUESS and whole(held.edge.node) not in state.ledger.freed

    def other_frames(self, a: int, b: int) -> bool:
        """Frames that only closures hold."""
        if self.ids.get(-a) == -b:
            return True
        if not self.a.frames.has(a) or not self.b.frames.has(b):
            return a == b
        if a == b and not self.a.frames[a].code.is_generator:  # which may have gone on
            return True
        self.ids[-a] = -b
        return self.variables(self.a.frames[a].names, self.b.frames[b].names)

    def parts(self, a: object, b: object) -> bool:
        """Compare two records of one type field by field."""
        if not is_dataclass(a):
            return a == b
        for name in _names_of(type(a)):
            left, right = getattr(a, name), getattr(b, name)
            if left is right and not isinstance(left, (Ref, tuple)):
                continue
            if isinstance(left, tuple) and isinstance(right, tuple):
                if len(left) != len(right) or not all(self.part(x, y) for x, y in zip(left, right, strict=True)):
                    return False
            elif not self.part(left, right):
                return False
        return True

    def part(self, a: object, b: object) -> bool:
        if a is b and self.as_kept(a):  # type: ignore[arg-type]
            return True
        if isinstance(a, Code):
            return a is b
        if isinstance(a, tuple) and isinstance(b, tuple):
            return len(a) == len(b) and all(map(self.part, a, b))
        if is_dataclass(a) and type(a) is type(b):
            return self.value(a, b)  # type: ignore[arg-type]
        return a == b

    def refs(self, a: int, b: int) -> bool:
        left, right = self.a.heap[a], self.b.heap[b]
        if type(left) in _HOLLOW and self.bare(self.a, left) and self.bare(self.b, right):
            if a != b and not self.lenient and self.told(self.a, Ref(a)) != self.told(self.b, Ref(b)):
                return False
            return left is right or not (_is_cut_where(left, right) or _is_cut_where(right, left))
        if a in self.ids or b in self.back:
            return self.ids.get(a) == b and self.back.get(b) == a
        self.ids[a], self.back[b] = b, a
        if a != b or left is not right:
            self.pending.append((a, b))
        return True

    def heap(self, a: int, b: int) -> bool:
        left, right = self.a.heap[a], self.b.heap[b]
        if left is right:
            return True
        self.effort += 6
        if type(left) is not type(right):
            return False
        if isinstance(left, TensorObj) and isinstance(right, TensorObj):
            same = self.edges(left.edge, right.edge) and self.optional(left.base, right.base)
            return same and (left.inference is None) == (right.inference is None)
        if isinstance(left, UnknownObj) and isinstance(right, UnknownObj):
            return self.unknowns(left, right)
        if isinstance(left, DictObj) and isinstance(right, DictObj):
            same = left.open == right.open and self.values(left.items, right.items)
            same = same and self.values(left.items.values(), right.items.values())
            return same and self.values(left.rest, right.rest)
        return self.records(left, right)

    def kinds_apart(self, a: UnknownObj, b: UnknownObj) -> bool:
        """Whether different things are known of two unknowns."""
        return a.plain != b.plain or (a.cut is None) != (b.cut is None) or (a.hint != b.hint and not self.lenient)

    def unknowns(self, a: UnknownObj, b: UnknownObj) -> bool:
        if self.kinds_apart(a, b) or not self.edges(a.edge, b.edge, lazy=True):
            return False
        return self.items(a.attrs, b.attrs) and self.items(a.notes.named, b.notes.named)

    def records(self, a: HeapObj, b: HeapObj) -> bool:
        for name in _names_of(type(a)):
            left, right = getattr(a, name), getattr(b, name)
            if left is right and not isinstance(left, _MANY):
                continue
            if isinstance(left, _MAPPINGS):
                if not self.attributes(left, right):
                    return False
            elif isinstance(left, Notes):
                if not self.attributes(left.named, right.named):
                    return False
            elif not self.parts_or_equal(left, right):
                return False
        return True

    def parts_or_equal(self, a: object, b: object) -> bool:
        if isinstance(a, tuple) and isinstance(b, tuple):
            return len(a) == len(b) and all(map(self.part, a, b))
        return self.part(a, b)


def _is_cut_where(a: HeapObj, b: HeapObj) -> bool:
    """Whether one state has surely cut what may have a graph in the other."""
    if not isinstance(a, TensorObj) or a.cut is None or a.edge is not None:
        return False
    return isinstance(b, TensorObj | UnknownObj) and b.edge is not None
