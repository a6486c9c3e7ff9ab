"""What a path knows of conditions: decides them where it can, from constants, earlier answers and bounds, and notes what follows."""

from __future__ import annotations

import builtins
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeGuard

from retainlint.autograd.graph import Node
from retainlint.ir import facts
from retainlint.startup.records import replace
from retainlint.symbolic.solver import intervals, trials
from retainlint.symbolic.solver.intervals import SIZES, by_bounds, by_others, within
from retainlint.symbolic.solver.terms import both, is_scalar, sum_of
from retainlint.symbolic.state import classes, known_libraries, limits
from retainlint.symbolic.state.classes import is_open
from retainlint.symbolic.state.graphs import OPAQUE_CALL, PROJECTION
from retainlint.symbolic.state.path_condition import linear
from retainlint.symbolic.state.state import State, ticket
from retainlint.symbolic.state.values import (
    COUNT,
    CUT,
    FALSE,
    NONE,
    TRUE,
    Bound,
    ClassObj,
    Closure,
    Const,
    DictObj,
    External,
    Failure,
    GradMode,
    HeapObj,
    Instance,
    IteratorObj,
    LayerObj,
    ListObj,
    Method,
    OptimizerObj,
    Partial,
    Ref,
    Symbol,
    TensorObj,
    Term,
    Tuple,
    UnknownObj,
    Value,
    Wrapped,
)

_NEVER_NONE = (Term, Tuple, Closure, Bound, Partial, Wrapped, GradMode, Method, Symbol, Failure)

SCALARS = {"int": int, "float": float, "str": str, "bool": bool, "bytes": bytes}


_CLASSES = (External, Ref)

_OF_TENSORS = ("leaf", "bare", "compared", "detach")
"""How what is surely a tensor may have lost its graph, or never had one."""

_OWN_CLASSES = frozenset(f"builtins.{name}" for name, each in vars(builtins).items() if isinstance(each, type)).union(
    (
        "collections.OrderedDict",
        "collections.defaultdict",
        "collections.deque",
        "types.FunctionType",
        "types.NoneType",
        "torch.Tensor",
    )
)
"""Classes of Python's own, and torch's, each of which is another."""

_ALIKE = {External("builtins.dict"): {"dict", "OrderedDict"}, External("builtins.set"): {"set", "frozenset"}}
"""What stands for others, too, as the class of something: which of these it is isn't kept."""

_SUBCLASSES = {"_BatchNorm": r"(Sync)?BatchNorm(\dd)?", "_ConvNd": r"Conv(Transpose)?\dd", "RNNBase": "RNN|LSTM|GRU"}
"""The layers that derive from a base of torch's own."""


def kind(state: State, value: Value) -> Value | None:
    """`type(value)`; None for what may be of many kinds."""
    held = state.get(value)
    if isinstance(held, Instance):
        return held.cls
    if isinstance(held, LayerObj):
        return External(f"torch.nn.{held.kind}")
    if isinstance(held, TensorObj):
        is_array = (
            held.cut is not None and held.cut[0] not in _OF_TENSORS
        )  # perhaps: it stands for what `numpy()` gives
        return None if is_array else External("torch.nn.Parameter" if held.parameter else "torch.Tensor")
    if isinstance(value, Const) and (name := type(value.value).__name__) in (*SCALARS, "NoneType"):
        return External(f"{'types' if value == NONE else 'builtins'}.{name}")
    if isinstance(value, Tuple) and not value.names:
        return External("builtins.tuple")
    if isinstance(value, Failure) and value.type and not value.open:
        return External(f"builtins.{value.type}")
    if isinstance(held, ListObj) and not held.open and held.kind in ("list", "tuple", "set"):
        return External(f"builtins.{held.kind}")
    if isinstance(held, DictObj) and held.of is None:
        return External("builtins.dict" if held.default is None else "collections.defaultdict")
    return External("types.FunctionType") if isinstance(value, Closure) else None


def layer_named(path: str) -> str | None:
    """Which layer of torch's a class is that others don't derive from, but for the base of all."""
    name = path.rpartition(".")[2]
    is_base = name.startswith("_") or name.endswith("Base")
    return name if path.startswith("torch.nn.") and name[:1].isupper() and not is_base else None


def is_layer(kind: str, path: str) -> bool | None:
    """Whether a layer of this kind is one of a class of torch's; None for bases that nobody here knows."""
    name = path.rpartition(".")[2]
    if name in _SUBCLASSES:
        return re.fullmatch(_SUBCLASSES[name], kind) is not None
    layer = layer_named(path)
    return None if layer is None else layer in ("Module", kind)


def is_same_class(state: State, left: Value, right: Value) -> bool | None:
    """Whether two classes are one, or two of torch's functions, which differ where their names do; None where they may be
    neither, or nobody knows."""
    if type(left) not in _CLASSES or type(right) not in _CLASSES:
        return None
    known = [_known_as(state, each) for each in (left, right)]
    if None not in known:
        return None if any(each.issuperset(known) for each in _ALIKE.values()) else known[0] == known[1]
    names = {
        each.path.rpartition(".")[2] for each in (left, right) if isinstance(each, External) and _is_of_torch(each)
    }
    return False if len(names) == 2 and known_libraries.ALIASES.isdisjoint(names) else None


def _is_of_torch(value: External) -> bool:
    return value.path.startswith("torch.") and known_libraries.is_definition(value.path)


def is_class(state: State, value: Value) -> bool:
    """Whether a value is surely a class, of which it is known whether another is the same."""
    return _known_as(state, value) is not None


def _known_as(state: State, value: Value) -> Value | str | None:
    """What tells a class from all others, if it is one."""
    if isinstance(state.get(value), ClassObj):
        return value
    if not isinstance(value, External):
        return None
    if value.path in _OWN_CLASSES:
        return value.path.rpartition(".")[2]
    return layer_named(value.path)


_KEY = "key"
"""The hint of such a name begins so, and goes on with the loop that runs over the dict."""

_NAMING = frozenset(("items", "keys", "named_parameters", "named_modules", "named_children", "named_buffers"))


def naming(obj: object) -> str | None:
    """What gives a dict's names, if an unknown came from there: "items", "keys", ..."""
    call = next(iter(facts.of_span(obj.made).calls), None) if isinstance(obj, UnknownObj) else None
    return call.name if call is not None and call.receiver and call.name in _NAMING and not call.node.args else None


def hint() -> str:
    """The hint of the names that one loop meets."""
    return f"{_KEY} {ticket()}"


def mark(state: State, name: Value, run: str) -> None:
    """Note that an unknown is one of the names that a loop meets."""
    held = state.get(name)
    if isinstance(held, UnknownObj) and isinstance(name, Ref):
        state.set(name, replace(held, hint=run, plain=True))


def another(state: State, name: Value, run: str) -> Value:
    """The name that a turn of a loop meets, where this one stands for them all."""
    held = state.get(name)
    found = name if held is None else state.new(held)
    mark(state, found, run)
    return found


def key_comparisons(state: State, left: Value, right: Value) -> Iterator[Value]:
    """That something is one of a dict's names, of which each comes once: where one of two values is such a name."""
    for name, other in ((left, right), (right, left)):
        held = state.get(name)
        if isinstance(held, UnknownObj) and held.hint.startswith(_KEY):
            yield Term(_KEY, (other, Const(held.hint)))


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "in": lambda a, b: a in b, "not in": lambda a, b: a not in b,
}  # fmt: skip

_TELLING = frozenset(("hash", "repr", "encode", "bytes"))
"""What gives another result for each other argument, as far as programs rest on it."""

_NEGATED = {"!=": "==", "is not": "is", "not in": "in", ">": "<=", ">=": "<"}


def is_telling(value: Value) -> TypeGuard[Term]:
    """Whether it is another for each other thing that it is made of: a hash, the bytes of a text."""
    return isinstance(value, Term) and value.op in _TELLING


def total(state: State, value: Value) -> Value:
    """The number that an unknown sum is; any other value is itself."""
    if type(value) is not Ref:
        return value
    held = state.heap[value.id]
    return held.notes.total or value if isinstance(held, UnknownObj) else value


def compare(state: State, op: str, left: Value, right: Value) -> Value:
    """The truth of a comparison, as a constant or a term."""
    left, right = total(state, left), total(state, right)
    if op in _NEGATED:
        return negate(compare(state, _NEGATED[op], left, right))
    held = type(left) is Ref or type(right) is Ref
    if held and op in ("is", "=="):
        signs = classes.sign(state, left), classes.sign(state, right)
        if signs != (None, None):
            op, left, right = "==", signs[0] or left, signs[1] or right
    if op in ("is", "==") and (one := is_same_class(state, left, right)) is not None:
        return Const(one)
    if op == "==" and held and _are_apart(state, left, right):
        return Const(False)
    if op == "==" and held and (held_by := _constant_set(state, left)) and (others := _constant_set(state, right)):
        return Const(held_by == others)
    if op == "is":
        same = _identical(state, left, right)
        return Const(same) if same is not None else _spelled(state, "is", left, right)
    if isinstance(left, Const) and isinstance(right, Const):
        try:
            return Const(bool(_COMPARE[op](left.value, right.value)), both(left.loops, right.loops))
        except (TypeError, ValueError):
            return Term(op, (left, right))
    if op == "==" and (known := _of_unlike_kinds(left, right)) is not None:
        return Const(known)
    if op == "==" and type(left) is Term and type(right) is Term and left.op == right.op:
        if left.op == "id":
            return compare(state, "is", left.args[0], right.args[0])
        if is_telling(left):
            return _are_equal(state, left.args, right.args)
    if op in ("==", "<", "<="):
        bounded = by_bounds(op, left, right)
        if bounded is not None:
            return Const(bounded, both(loops_of(left), loops_of(right)))
        if op == "==" and left == right and is_scalar(left):
            return Const(True)
        if op == "==" and isinstance(left, Const) and not isinstance(right, Const):
            left, right = right, left
        if held and op == "==" and any(asked in state.truths for asked in key_comparisons(state, left, right)):
            return Const(False)
    if op == "==" and isinstance(left, Tuple) and isinstance(right, Tuple):
        return _are_equal(state, left.items, right.items)
    if op == "==" and (ours := _listed(state, left)) is not None and (theirs := _listed(state, right)) is not None:
        return _are_equal(state, ours, theirs)
    if op in ("<", "<=") and isinstance(left, Tuple) and isinstance(right, Tuple):
        before = _comes_first(state, op, left.items, right.items)
        return Term(op, (left, right)) if before is None else Const(before)
    if op == "in":
        return _contains(state, left, right)
    return _spelled(state, op, left, right)


def _of_unlike_kinds(left: Value, right: Value) -> bool | None:
    """False of a tuple and a constant, or of the `id` of something and what is no number; None of others."""
    for one, other in ((left, right), (right, left)):
        is_text = type(other) is Tuple or (type(other) is Const and not isinstance(other.value, int))
        if (type(one) is Tuple and type(other) is Const) or (type(one) is Term and one.op == "id" and is_text):
            return False
    return None


def _are_equal(state: State, left: Sequence[Value], right: Sequence[Value]) -> Value:
    """Whether two tuples are equal, item by item."""
    return (
        _all_of(state, [compare(state, "==", *pair) for pair in zip(left, right)]) if len(left) == len(right) else FALSE
    )


def _all_of(state: State, asked: Sequence[Value]) -> Value:
    """The truth of several conditions that all have to hold."""
    answers = [decide(state, each) for each in asked]
    if False in answers:
        return FALSE
    unknown = tuple(each for each, answer in zip(asked, answers) if answer is None)
    return Term("all", unknown) if len(unknown) > 1 else next(iter(unknown), TRUE)


def _comes_first(state: State, op: str, left: Sequence[Value], right: Sequence[Value]) -> bool | None:
    """Whether a tuple is less than another, or (`<=`) not greater: by the first items that differ, and by its length where none
    does; None if that isn't known."""
    answer: bool | None = len(left) < len(right) or (op == "<=" and len(left) == len(right))
    for one, other in reversed([*zip(left, right)]):
        less = decide(state, compare(state, "<", one, other))
        same = decide(state, compare(state, "==", one, other))
        if less or same is False:
            answer = less
        elif not same and (answer or less is None):
            answer = None
    return answer


def _spelled(state: State, op: str, left: Value, right: Value) -> Value:
    """A comparison as a term, the same one for all ways to write it: `a < b` and `b > a`, `i + 1 == n` and `i == n - 1`."""
    (lbase, loff), (rbase, roff) = linear(left), linear(right)
    if op in ("==", "<", "<=") and rbase is None and (parts := _difference(lbase)):
        return compare(state, op, parts[0], sum_of("+", parts[1], Const(roff - loff)))
    if op in ("==", "<", "<=") and lbase is None and (parts := _difference(rbase)):
        return compare(state, op, sum_of("+", parts[1], Const(loff - roff)), parts[0])
    if isinstance(left, Const) and op in ("<", "<=") and lbase is None and rbase is not None and roff:
        return Term(op, (Const(loff - roff, left.loops), rbase))
    if isinstance(left, Const) or op not in ("==", "is", "<", "<="):
        return Term(op, (left, right))
    if loff and lbase is not None and op != "is":
        if isinstance(right, Const) and rbase is None:
            return Term(op, (lbase, Const(roff - loff, right.loops)))
        if rbase is not None:
            left, right = lbase, rbase if roff == loff else sum_of("+", rbase, Const(roff - loff))
    if isinstance(right, Const):
        return Term(op, (left, right))
    if op == "<":
        return negate(_spelled(state, "<=", right, left))
    if op in ("==", "is") and _comes_before(right, left):
        (base, offset), (other, ahead) = linear(right), linear(left)
        if base is None or other is None or op == "is":
            return Term(op, (right, left))
        left, right = base, other if ahead == offset else sum_of("+", other, Const(ahead - offset))
    return Term(op, (left, right))


def _difference(base: Value | None) -> tuple[Value, ...]:
    """What an unknown number is the difference of."""
    return base.args if isinstance(base, Term) and base.op == "-" and len(base.args) == 2 else ()


def _comes_before(value: Value, other: Value) -> bool:
    """Whether a value has an earlier place among those that a comparison may hold: references come last, by their numbers,
    and all else goes by its text."""
    if type(value) is Ref or type(other) is Ref:
        return type(other) is Ref and (type(value) is not Ref or value.id < other.id)
    return _shown(linear(value)[0], limits.TERM_DEPTH) < _shown(linear(other)[0], limits.TERM_DEPTH)


def _shown(value: Value | None, depth: int) -> str:
    """A text that tells numbers apart, without what lies deeper in one."""
    match value:
        case Term(op=op, args=args) if depth:
            return f"{op}({', '.join(_shown(each, depth - 1) for each in args)})"
        case Const() | Symbol() | Ref() | External():
            return repr(value)
    return type(value).__name__


def _contains(state: State, item: Value, container: Value) -> Value:
    container = classes.of(state, container)
    obj = state.get(container)
    if isinstance(container, Method) and container.name == "__dict__":
        return _is_set(state, container.obj, item) or _spelled(state, "in", item, container)
    known: tuple[Value, ...] | None = None
    if isinstance(obj, IteratorObj) and obj.kind == "range" and obj.parts[2] == Const(1) and _is_number(item):
        return _all_of(state, (compare(state, "<=", obj.parts[0], item), compare(state, "<", item, obj.parts[1])))
    if isinstance(container, Tuple):
        known = container.items
    elif isinstance(obj, ListObj) and not obj.open:
        known = obj.items
    elif (entries := classes.mapping(state, container)) is not None and not entries.open and not entries.rest:
        known = tuple(entries.items)
    if known is not None:
        asked = [compare(state, "==", item, each) for each in known]
        answers = [decide(state, each) for each in asked]
        if True in answers:
            return Const(True)
        if None not in answers:
            return Const(False)
        if (is_scalar(item) or isinstance(item, Ref | External | Method)) and all(
            isinstance(each, Const) for each in known
        ):
            return Term("among", (item, Tuple(known)))
        is_whole = not (isinstance(obj, ListObj) and (obj.sampled or obj.perhaps))
        others = [each for each, answer in zip(known, answers) if answer is None]
        if is_whole and is_scalar(item) and all(may_be_scalar(state, each) for each in others):
            return any_of([each for each, answer in zip(asked, answers) if answer is None])
    return Term("in", (item, container))


def _is_number(value: Value) -> bool:
    """Whether it is a whole number, known or not; one that isn't may be a text as well."""
    return isinstance(value.value, int) if isinstance(value, Const) else is_scalar(value)


def may_be_scalar(state: State, value: Value) -> bool:
    """Whether a value may be a number or a text that another one is compared with."""
    held = state.get(value)
    is_unknown = isinstance(held, UnknownObj) and (held.hint in ("", COUNT, CUT) or held.hint.startswith(_KEY))
    return is_unknown or is_scalar(value)


def any_of(asked: Sequence[Value]) -> Value:
    """The truth of several conditions of which one is enough; of one condition, itself."""
    return asked[0] if len(asked) == 1 else Term("any", tuple(asked))


def _is_set(state: State, obj: Value, name: Value) -> Const | None:
    """Whether an object of the program has an attribute of its own; None if others may have set it."""
    held = state.get(obj)
    if not isinstance(held, Instance) or not isinstance(name, Const):
        return None
    if str(name.value) in held.attrs:
        return TRUE
    return None if is_open(state, held.cls) else FALSE


def is_cast(value: Term) -> bool:
    """Whether a term is the truth of another that has one of its own."""
    return value.op == "bool" and isinstance(value.args[0], (Term, Symbol, Ref))


def negate(value: Value) -> Value:
    if isinstance(value, Const):
        return Const(not value.value, value.loops)
    if isinstance(value, Term) and value.op == "not":
        return value.args[0]
    return Term("not", (value,))


def _listed(state: State, value: Value) -> tuple[Value, ...] | None:
    """The items of a list all of which are known."""
    held = state.get(value)
    is_known = isinstance(held, ListObj) and held.kind == "list" and not (held.open or held.sampled or held.perhaps)
    return held.items if is_known and isinstance(held, ListObj) else None


def _constant_set(state: State, value: Value) -> frozenset[Value]:
    """What a set holds, if that is known; nothing of anything else."""
    held = state.get(value)
    if not isinstance(held, ListObj) or held.kind != "set" or held.open:
        return frozenset()
    return frozenset(held.items) if all(isinstance(each, Const) for each in held.items) else frozenset()


def _are_apart(state: State, left: Value, right: Value) -> bool:
    """Whether an object of the program is compared with a constant, or with another one, by a class that says nothing of being
    equal."""
    one, other = (left, right) if type(left) is Ref else (right, left)
    if isinstance(other, Ref) and (one == other or not isinstance(state.get(other), Instance)):
        return False
    cls = classes.class_of(state, one) if isinstance(other, Const | Ref) else None
    if cls is None or classes.is_open(state, cls) or classes.find(state, cls, "__eq__") is not None:
        return False
    return isinstance(other, Const) or not any(each.dataclass for each in classes.of_program(state, cls))


def are_one(state: State, one: Value, other: Value) -> bool:
    """Whether two values are surely the same."""
    return one == other or decide(state, compare(state, "==", one, other)) is True


def _identical(state: State, left: Value, right: Value) -> bool | None:
    if left == right:
        return None if left in _ALIKE else True
    if isinstance(left, Const) and isinstance(right, Const):
        return left.value is right.value
    for one, other in ((left, right), (right, left)):
        if one == NONE:
            obj = state.get(other)
            if isinstance(other, Ref) and not isinstance(obj, UnknownObj):
                return False
            if isinstance(obj, UnknownObj) and obj.hint not in ("", "iterator"):
                return False
            if isinstance(other, External):
                return False if known_libraries.is_definition(other.path) else None
            if isinstance(other, _NEVER_NONE):
                return False
    if isinstance(left, Ref) and isinstance(right, Ref):
        held = [state.get(value) for value in (left, right)]
        if not any(isinstance(each, UnknownObj) for each in held):
            return False
        made = [node for each in held if (node := _computed(each)) is not None]
        return False if len(made) == 2 and made[0] is not made[1] else None
    return None


def _computed(held: HeapObj | None) -> Node | None:
    """What computed a tensor, by an operation that is seen."""
    edge = held.edge if isinstance(held, TensorObj | UnknownObj) else None
    return edge.node if edge is not None and edge.node.next and edge.node.op not in (OPAQUE_CALL, PROJECTION) else None


def loops_of(value: Value) -> tuple[int, ...]:
    """All loops whose turn numbers a value was computed from."""
    if type(value) is Term:
        if value.loops is None:
            value.loops = tuple(dict.fromkeys([loop for arg in value.args for loop in loops_of(arg)]))
        return value.loops
    if type(value) is Const:
        return value.loops
    return (value.loop,) if type(value) is Symbol and value.loop else ()


_COUNTS = frozenset((*SIZES, "item"))


def asked(state: State, value: Value) -> Value:
    """What decides whether a value is true: of a count, and of what others were taken from, as `left - 1`, whether it is another
    than 0."""
    base, offset = linear(value)
    is_number = offset or (isinstance(base, Term) and base.op in _COUNTS)
    return compare(state, "!=", value, Const(0)) if base is not None and is_number else value


def decide(state: State, value: Value) -> bool | None:
    """Whether a value is true; None if this path doesn't know. A loop's number of which it was computed decides then."""
    if loops := loops_of(value):
        state.base.deciding.add(loops)
    return known(state, value)


def known(state: State, value: Value) -> bool | None:
    """The same for who decides nothing by it."""
    if isinstance(value, Const):
        return bool(value.value)
    if (told := state.truths.get(value)) is not None:
        return told
    if isinstance(value, Term):
        return _decide_term(state, value)
    if isinstance(value, Tuple):
        return bool(value.items)
    if isinstance(value, Ref):
        return _decide_object(state, value)
    if isinstance(value, Symbol):
        return True if value.low > 0 else None
    if isinstance(value, External) and not known_libraries.is_definition(value.path):
        return False if state.truths.get(Term("is", (value, Const(None)))) else None
    if isinstance(value, Method) and isinstance(state.get(value.obj), UnknownObj):
        return None  # nobody asks whether there is a method: it is an option that is called like one, as `args.train`
    return True  # functions, classes, modules


def _decide_object(state: State, value: Ref) -> bool | None:
    if isinstance(content := classes.of(state, value), Ref):
        value = content
    obj = state.get(value)
    if isinstance(obj, ListObj):
        is_filled = _is_filled(state, value) if obj.open or obj.perhaps or obj.sampled else bool(obj.items)
        is_open = (obj.open and not obj.items) or obj.perhaps
        return is_filled if is_open or is_filled is False else bool(obj.items)
    if isinstance(obj, DictObj):
        return True if obj.items else _is_filled(state, value) if obj.open or obj.rest else False
    if isinstance(obj, LayerObj | OptimizerObj | ClassObj):
        return True
    if isinstance(obj, Instance):
        cls = state.get(obj.cls)
        magic = {"__len__", "__bool__"}
        return True if isinstance(cls, ClassObj) and not magic & set(cls.attrs) else None
    if isinstance(obj, (TensorObj, UnknownObj)) and (told := state.truths.get(Term("is", (value, NONE)))) is not None:
        return False if told else None
    return _is_filled(state, value) if isinstance(obj, UnknownObj) else None


def _is_filled(state: State, value: Ref) -> bool | None:
    """Whether something holds anything, by what is known of its length."""
    size = Term("len", (value,))
    if any(size in term.args for term, _ in state.truths.about(size)):
        empty = within(state, "<=", size, Const(0))
        return None if empty is None else not empty
    return None


def _decide_term(state: State, value: Term) -> bool | None:
    if value.op == "not":
        inner = known(state, value.args[0])
        return None if inner is None else not inner
    if value.op in ("==", "<", "<=") and (told := by_others(state, value.op, *value.args)) is not None:
        return told
    if value.op in ("==", "among") and (told := intervals.decide(state, value)) is not None:
        return told
    if value.op in ("%", "==", "<", "<=") and (told := trials.decide(state, value)) is not None:
        return told
    if value.op in ("==", "<", "<="):
        return within(state, value.op, *value.args)
    if value.op == "bool":
        return known(state, value.args[0])
    if value.op == "+" and (compared := asked(state, value)) is not value:
        return known(state, compared)
    if value.op in ("any", "all"):
        return _decide_many(value.op == "any", [known(state, each) for each in value.args])
    if value.op == "is" and value.args[1] == NONE:
        truth_of = state.truths.get(value.args[0])
        if truth_of:
            return False
    return None


def _without_graph(value: Value, truth: bool) -> Value | None:
    """What an answer tells to be no tensor, or nothing: `x is None`, `isinstance(x, dict)`, `not x`. Of a tensor nobody asks
    whether it is nothing."""
    if not isinstance(value, Term):
        return None if truth else value
    asks = truth and value.args[1] == NONE if value.op == "is" else not truth and value.op == "isinstance"
    return value.args[0] if asks and (value.op == "is" or _asks_for_tensors(value.args[1])) else None


def _decide_many(asked: bool, answers: list[bool | None]) -> bool | None:
    """Whether any of some truths holds (asked: True), or all of them do (False)."""
    if asked in answers:
        return asked
    return None if None in answers else not asked


def follow(state: State, value: Value, truth: bool) -> None:
    """Note what else a path knows that has chosen so: where none of several holds, each of them doesn't."""
    if isinstance(value, Term) and value.op == "==" and truth:
        for asked in key_comparisons(state, *value.args):
            state.truths[asked] = True
    nothing = _without_graph(value, truth)
    if isinstance(nothing, Ref) and isinstance(held := state.get(nothing), UnknownObj):
        state.set(nothing, replace(held, edge=None, plain=True))
    if not (isinstance(value, Term) and value.op == ("all" if truth else "any")):
        return
    for each in value.args:
        answer = truth
        while isinstance(each, Term) and (each.op == "not" or is_cast(each)):
            answer ^= each.op == "not"
            each = each.args[0]
        if not isinstance(each, Const):
            state.truths[each] = answer
            follow(state, each, answer)


def _asks_for_tensors(kinds: Value) -> bool:
    return External("torch.Tensor") in (kinds.items if isinstance(kinds, Tuple) else (kinds,))


def presume(state: State, value: Value) -> set[Value]:
    """Take for granted that a comparison of numbers holds which can't be decided; what is noted for that."""
    truth = True
    while isinstance(value, Term) and value.op == "not":
        value, truth = value.args[0], not truth
    if not (isinstance(value, Term) and value.op in ("==", "<", "<=")):
        return set()
    state.truths[value] = truth
    return {value}


def forget(state: State, value: Value) -> None:
    """Forget what a path has chosen of something that holds others now."""
    size = Term("len", (value,))
    for term in [term for term in state.truths if term == value or _is_made_of(term, size)]:
        del state.truths[term]


def _is_made_of(term: Value, part: Value) -> bool:
    """Whether a condition, or a number in it, is computed of another: `len(a) % n == 0` of `len(a)`."""
    return isinstance(term, Term) and any(each == part or _is_made_of(each, part) for each in term.args)
