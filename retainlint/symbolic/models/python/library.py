"""The standard library's containers, contexts and helpers, as far as they carry graphs around."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable

from retainlint.startup.records import replace
from retainlint.symbolic.models.python import contexts, data_files, dataclasses, iteration, options, outcomes
from retainlint.symbolic.models.python.builtins import lazy, make_dict
from retainlint.symbolic.models.unknown import call_results, graphless, objects
from retainlint.symbolic.solver import terms
from retainlint.symbolic.state import known_libraries, limits
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import Flow, State, ticket
from retainlint.symbolic.state.values import (
    FALSE,
    NONE,
    TRUE,
    Bound,
    Const,
    DictObj,
    External,
    Failure,
    GeneratorObj,
    HeapObj,
    Instance,
    IteratorObj,
    LayerObj,
    ListObj,
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
from retainlint.text.source import Span

VALUES: dict[str, Value] = {
    "sys.version_info": Tuple(
        (Const(3), Symbol(-1, low=10), Symbol(-2), External("sys.version_info.releaselevel"), Const(0)),
        ("major", "minor", "micro", "releaselevel", "serial"),
    ),
    "six.PY2": FALSE,
    "six.PY3": TRUE,
}
"""What names of modules hold: torch runs on Python 3.10, or a later one."""

_OPERATORS = {
    "add": ("+", "add"), "sub": ("-", "sub"), "mul": ("*", "mul"), "truediv": ("/", "div"), "pow": ("**", "pow"),
    "matmul": ("", "matmul"), "neg": ("", "neg"), "abs": ("", "abs"),
}  # fmt: skip
"""Functions of `operator`: the sign, and torch's function of that meaning."""


def function(machine: Machine, state: State, path: str, name: str, args: Args, span: Span) -> Results:
    if (made_record := _record(machine, state, path, args, span)) is not None:
        return made_record
    if path in data_files.SAYING and (said := data_files.said(machine, state, path, args, span)) is not None:
        return said
    match path:
        case "argparse.ArgumentParser":
            return [(state, options.parser(state, span))]
        case "collections.OrderedDict":
            return [(state, make_dict(machine, state, args, span))]
        case "collections.defaultdict":
            factory = args.get(0, "default_factory")
            return [(state, state.new(DictObj({}, default=None if factory == NONE else factory)))]
        case "collections.Counter" if (counts := _counts(machine, state, args, span)) is not None:
            return [(state, state.new(counts))]
        case "collections.deque":
            return [(state, _deque(machine, state, args, span))]
        case "functools.partial" | "functools.partialmethod":
            made_partial = Partial(args.get(0, "func"), args.pos[1:], args.named)
            return [(state, made_partial if name == "partial" else Wrapped(name, made_partial))]
        case "functools.wraps":
            return [(state, External("builtins.identity_decorator"))]
        case "functools.lru_cache" | "functools.cache":
            return [(state, made(state, path, args))]
        case "functools.reduce":
            return _reduce(machine, state, args, span)
        case "copy.copy" | "copy.deepcopy":
            return _copy(machine, state, args.get(0, "x"), span, deep=name == "deepcopy")
        case "contextlib.closing" | "contextlib.nullcontext":
            return [(state, Partial(contexts.SHOWS_IT, args.pos[:1], ()))]
        case "contextlib.ExitStack" | "contextlib.AsyncExitStack":
            return [(state, contexts.stack_of(state))]
        case "sys.exit" | "os._exit" | "os.abort":
            return outcomes.ended(state, Const(1) if name == "abort" else args.get(0, "status"), raises=True)
        case "tqdm.tqdm" | "tqdm.trange" | "tqdm.auto.tqdm" | "tqdm.notebook.tqdm":
            if name == "trange":
                return [(state, lazy(state, "range", args, span))]
            return [(state, args.get(0, "iterable", objects.fresh(state, span, plain=True)))]
    if path.startswith("random."):
        return [(state, _of_random(machine, state, name, args, span))]
    if path.startswith("operator.") and (found := _of_operator(machine, state, name, args, span)) is not None:
        return found
    if path.startswith("itertools."):
        return _itertools(machine, state, name, args, span)
    if known_libraries.known_for("plain", path):
        scalars = bool(args.pos) and all(map(terms.is_scalar, args.all)) and path.startswith("math.")
        if scalars:
            return [(state, Term(path, args.all))]
        return [(state, objects.fresh(state, span, plain=True, name=name, returned=True))]
    return [(state, call_results.called(machine, state, External(path), args, span))]


def _record(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results | None:
    """What makes records, or asks them for their fields; None for any other path."""
    match path:
        case "dataclasses.replace" | "copy.replace":
            return [(state, _replaced(machine, state, args, span))]
        case "dataclasses.is_dataclass" if (is_one := dataclasses.is_one(state, args.get(0, "obj"))) is not None:
            return [(state, Const(is_one))]
        case "dataclasses.fields":
            listed = dataclasses.listed(state, args.get(0, "class_or_instance"), span)
            return None if listed is None else [(state, listed)]
        case "types.SimpleNamespace" | "argparse.Namespace" if not (args.pos or args.open):
            return [(state, dataclasses.namespace(state, args, span))]
        case "dataclasses.field" | "dataclasses.dataclass" if not args.pos:  # with options
            return [(state, Partial(External(path), (), args.named))]
        case "collections.namedtuple":
            names = _field_names(state, args.get(1, "field_names"))
            return [(state, Partial(External("builtins.namedtuple"), names, ()))]
    return None


def _of_operator(machine: Machine, state: State, name: str, args: Args, span: Span) -> Results | None:
    """The functions of `operator`, and those that its getter of items makes."""
    if name == "itemgetter" and len(args.pos) == 1:
        return [(state, Partial(External("operator.item_of"), args.pos, ()))]
    return _operator(machine, state, name, args, span) if name in _OPERATORS else None


_CHOOSING = {
    "combinations": itertools.combinations, "permutations": itertools.permutations, "product": itertools.product,
    "combinations_with_replacement": itertools.combinations_with_replacement, "zip_longest": itertools.zip_longest,
}  # fmt: skip
"""Functions of `itertools` that give tuples of the items of others, in an order of their own."""


def _chosen(machine: Machine, state: State, name: str, args: Args, span: Span) -> Value | None:
    """What such a function gives of items that are known, if it isn't much."""
    numbers = [each.value for each in args.pos if isinstance(each, Const) and isinstance(each.value, int)]
    given = args.pos[: len(args.pos) - len(numbers)]
    columns = [iteration.known_items(machine, state, each, span) for each in given]
    options = {key: value if key == "fillvalue" else getattr(value, "value", None) for key, value in args.named}
    known = [each for each in columns if each is not None]
    asked = [each for each in (*numbers, *options.values()) if isinstance(each, int)]
    if args.open or len(known) < len(columns) or any(each > limits.HELD_ITEMS for each in asked):
        return None  # so many at a time would take the memory for them at once
    try:
        made = list(itertools.islice(_CHOOSING[name](*known, *numbers, **options), limits.HELD_ITEMS + 1))
    except (TypeError, ValueError):
        return None
    if len(made) > limits.HELD_ITEMS:
        return None
    items = (tuple(NONE if each is None else each for each in row) for row in made)
    return state.new(ListObj(tuple(map(Tuple, items))))


def _itertools(machine: Machine, state: State, name: str, args: Args, span: Span) -> Results:
    if name in _CHOOSING and (chosen := _chosen(machine, state, name, args, span)) is not None:
        return [(state, chosen)]
    match name:
        case "from_iterable" if (
            rows := iteration.known_items(machine, state, args.get(0, "iterable"), span)
        ) is not None:
            return [(state, state.new(IteratorObj("chain", tuple(rows))))]
        case "accumulate":
            return _accumulate(machine, state, args, span)
        case "count":
            begin, step = args.get(0, "start", Const(0)), args.get(1, "step", Const(1))
            return [(state, state.new(IteratorObj("count", (step,), begin)))]
        case "repeat" if args.has(0, "object"):
            return [(state, state.new(IteratorObj("repeat", (args.get(0, "object"),), args.get(1, "times"))))]
        case "starmap":
            return [(state, state.new(IteratorObj("starmap", args.pos[1:], args.get(0, "function"))))]
        case "chain":
            return [(state, state.new(IteratorObj("chain", args.pos)))]
        case "islice" if (part := _part(state, args)) is not None:
            return [(state, part)]
        case "islice" if len(args.pos) > 1 and isinstance(state.get(args.pos[0]), IteratorObj | GeneratorObj):
            return [(state, state.new(IteratorObj("islice", args.pos[:1], Tuple(args.pos[1:]))))]
    return [(state, objects.fresh(state, span, hint="iterator"))]


def _of_random(machine: Machine, state: State, name: str, args: Args, span: Span) -> Value:
    match name:
        case "Random" | "SystemRandom":
            return External("random")  # its methods are the module's functions
        case "sample" | "choices":
            return _drawn(machine, state, args, span)
        case "choice":
            return iteration.any_item(machine, state, args.get(0, "seq"), span)
        case "shuffle":
            objects.shuffled(state, args.get(0, "x"))
            return NONE
    return objects.fresh(state, span, hint="iterator")


def _drawn(machine: Machine, state: State, args: Args, span: Span) -> Value:
    """So many numbers or texts of some that are known: one of the draws; of all else, all that it is drawn from."""
    population, count = args.get(0, "population"), args.get(1, "k")
    count = dict(args.named).get("k", count)
    drawn = count.value if isinstance(count, Const) and isinstance(count.value, int) else None
    known = iteration.known_items(machine, state, population, span) if drawn is not None else None
    if not known or drawn is None or not 0 <= drawn <= limits.COMPUTED_ITEMS or not all(map(terms.is_scalar, known)):
        return population
    return state.new(ListObj(tuple(known[at % len(known)] for at in range(drawn))))


def _part(state: State, args: Args) -> Value | None:
    """`islice` of a sequence whose items are known: an iterator, of which others may take some, is left alone."""
    source, bounds = args.pos[0] if args.pos else None, args.pos[1:]
    held = state.get(source) if source is not None else None
    numbers: list[int | None] = []
    for each in bounds:
        number = each.value if isinstance(each, Const) else -1
        if not (number is None or (isinstance(number, int) and number >= 0)):
            return None
        numbers.append(number)
    if not numbers:
        return None
    if isinstance(held, ListObj) and not held.open and not held.sampled:
        items = held.items
    elif isinstance(source, Tuple):
        items = source.items
    else:
        return None
    return state.new(ListObj(items[slice(*numbers)]))


def _field_names(state: State, value: Value) -> tuple[Value, ...]:
    """The fields of a named tuple: a list of names, or one text."""
    if isinstance(value, Const) and isinstance(value.value, str):
        return (Tuple(tuple(Const(name) for name in value.value.replace(",", " ").split())),)
    return (Tuple(state.items(value) or ()),)


def _counts(machine: Machine, state: State, args: Args, span: Span) -> DictObj | None:
    """How often each of some known numbers or texts comes."""
    known = iteration.known_items(machine, state, args.get(0, "iterable"), span) if len(args.all) == 1 else None
    if (
        known is None
        or not all(isinstance(each, Const) for each in known)
        or isinstance(state.get(args.pos[0]), DictObj)
    ):
        return None
    return DictObj({each: Const(known.count(each)) for each in known}, default=External("builtins.int"))


def _deque(machine: Machine, state: State, args: Args, span: Span) -> Value:
    known = iteration.known_items(machine, state, args.pos[0], span) if args.pos else []
    limit = args.get(1, "maxlen")
    size = limit.value if isinstance(limit, Const) and isinstance(limit.value, int) else None
    items = tuple(known or ())
    return state.new(ListObj(items[-size:] if size else items, known is None, "deque", size))


def _reduce(machine: Machine, state: State, args: Args, span: Span) -> Results:
    known = iteration.known_items(machine, state, args.get(1, "sequence"), span)
    if known is not None and len(args.pos) > 2:
        known = [args.pos[2], *known]
    if not known:
        return [(state, call_results.called(machine, state, External("functools.reduce"), args, span))]
    results: Results = [(state, known[0])]
    for item in known[1:]:
        results = [r for each, v in results for r in machine.call(each, args.get(0, "func"), Args((v, item)), span)]
    return results


def _accumulate(machine: Machine, state: State, args: Args, span: Span) -> Results:
    """Running totals: each is made of the one before."""
    known = iteration.known_items(machine, state, args.get(0, "iterable"), span)
    first = args.get(-1, "initial")
    if not known:
        return [(state, call_results.called(machine, state, External("itertools.accumulate"), args, span))]
    known = known if first == NONE else [first, *known]
    ways: list[tuple[State, tuple[Value, ...]]] = [(state, (known[0],))]
    for item in known[1:]:
        grown: list[tuple[State, tuple[Value, ...]]] = []
        for each, totals in ways:
            pair = Args((totals[-1], item))
            func = args.get(1, "func", External("operator.add"))
            grown += [(after, (*totals, total)) for after, total in machine.call(each, func, pair, span)]
        ways = grown
    return [(each, each.new(ListObj(totals))) for each, totals in ways]


def _operator(machine: Machine, state: State, name: str, args: Args, span: Span) -> Results:
    """`operator.add` and its like, on numbers and tensors."""
    sign, torchs = _OPERATORS[name]
    folded = terms.binary(sign, *args.pos) if sign and len(args.pos) == 2 else None
    if folded is not None:
        return [(state, folded)]
    if any(isinstance(state.get(value), TensorObj) for value in args.pos):
        return machine.call(state, External(f"torch.{torchs}"), args, span)
    return [(state, call_results.called(machine, state, External(f"operator.{name}"), args, span))]


def _replaced(machine: Machine, state: State, args: Args, span: Span) -> Value:
    """A dataclass's object with some fields changed."""
    held = state.get(args.get(0, "obj"))
    if isinstance(held, Instance):
        return state.new(replace(held, attrs={**held.attrs, **dict(args.named)}))
    return call_results.called(machine, state, External("dataclasses.replace"), args, span)


def _copy(machine: Machine, state: State, value: Value, span: Span, *, deep: bool) -> Results:
    """A copy; deep copies of modules own other parameters. Of a tensor that was computed there is none."""
    held = state.get(value)
    if deep:
        for each in graphless.given(state, value):
            if graphless.may_be_computed(machine, state, each):
                graphless.tell(machine, state, each)
            elif graphless.is_computed(machine, state, each):
                state.flow = Flow("raise", Failure("RuntimeError"))
                return [(state, NONE)]
        return [(state, copied(machine, state, value, span))]
    if isinstance(held, ListObj | DictObj) or (isinstance(held, UnknownObj) and held.plain and held.attrs):
        return [(state, state.new(held))]
    if isinstance(held, UnknownObj):
        return [(state, objects.fresh(state, span, hint=held.hint, name=held.name))]
    return [(state, value)]


def copied(machine: Machine, state: State, value: Value, span: Span) -> Value:
    """A deep copy."""
    return _deep(machine, state, value, span, {})


def _deep(machine: Machine, state: State, value: Value, span: Span, memo: dict[Value, Value]) -> Value:
    """A deep copy: what was met twice is copied once, and a circle ends."""

    def twin(inner: Value) -> Value:
        return _deep(machine, state, inner, span, memo)

    if isinstance(value, Tuple):
        return replace(value, items=tuple(map(twin, value.items)))
    if not isinstance(value, Ref) or value in memo:
        return memo.get(value, value)
    held = state.get(value)
    match held:
        case TensorObj(edge=None):
            memo[value] = state.new(replace(held, storage=ticket(), base=None))
        case TensorObj(edge=edge, parameter=parameter) if edge is not None and edge.node.is_leaf:
            leaf = machine.graphs.leaf(state.moment(span))
            stands = held.storage == edge.node.variable  # for all weights of a layer: under this key they are saved
            memo[value] = state.new(TensorObj(leaf, leaf.node.variable if stands else ticket(), parameter=parameter))
        case UnknownObj(plain=True, attrs=attrs) if attrs:  # a namespace, or options
            made = memo[value] = state.new(held)
            state.set(made, replace(held, attrs={key: twin(attr) for key, attr in attrs.items()}))
        case UnknownObj(hint=hint, name=name):
            memo[value] = objects.fresh(state, span, hint=hint, name=name)
        case ListObj() | DictObj() | LayerObj() | Instance():
            made = memo[value] = state.new(held)
            state.set(made, _twinned(held, twin))
    return memo.get(value, value)


def _twinned(held: ListObj | DictObj | LayerObj | Instance, twin: Callable[[Value], Value]) -> HeapObj:
    match held:
        case ListObj(items=items):
            return replace(held, items=tuple(map(twin, items)))
        case DictObj(items=entries, rest=rest):
            kept = {key: twin(entry) for key, entry in entries.items()}
            return replace(held, items=kept, rest=tuple(map(twin, rest)))
        case LayerObj(kind=kind, attrs=attrs, children=children, training=training):
            named = {key: twin(attr) for key, attr in attrs.items()}
            return LayerObj(kind, named, tuple(map(twin, children)), training, held.notes.mapped(twin))
        case Instance(cls=cls, attrs=attrs):
            return Instance(cls, {key: twin(attr) for key, attr in attrs.items()}, held.notes.mapped(twin))


# -- functions whose results are kept ---------------------------------------------------------------------------------


_MOST = functools.lru_cache(len).cache_parameters()["maxsize"]
"""So many results a function keeps whose decorator says nothing of it."""


def made(state: State, path: str, args: Args) -> Value:
    """`lru_cache(function)`, or with options what makes such a thing of one."""
    options = tuple(each for each in args.pos if isinstance(each, Const))
    decorator = Partial(External(path), options, args.named)
    func = next((each for each in args.pos if not isinstance(each, Const)), None)
    if func is None:
        return decorator
    return remembering(state, decorator if options or args.named else External(path), func)


def remembering(state: State, decorator: External | Partial, func: Value) -> Wrapped:
    """A function with a memory for as many results as `functools.lru_cache`, or its like, was asked for."""
    asked: Value = Const(None)
    if isinstance(decorator, Partial):
        asked = dict(decorator.kwargs).get("maxsize", next(iter(decorator.args), Const(_MOST)))
    elif decorator.path.endswith("lru_cache"):
        asked = Const(_MOST)
    most = asked.value if isinstance(asked, Const) and isinstance(asked.value, int) else None
    return Wrapped("cache", func, state.new(DictObj({})), most=most)


def call(machine: Machine, state: State, func: Wrapped, args: Args, span: Span) -> Results:
    """A cached function: the same arguments give the same value, graph and all."""
    key, memo = Tuple(args.all), func.memo
    held = state.get(memo) if memo is not None else None
    if isinstance(held, DictObj) and key in held.items:
        if func.most == len(held.items) and isinstance(memo, Ref):  # which of them goes next is told by their last use
            items = {each: value for each, value in held.items.items() if each != key}
            state.set(memo, DictObj({**items, key: held.items[key]}))
        return [(state, held.items[key])]
    found: Results = []
    kept = list(held.items.items())[-1] if isinstance(held, DictObj) and held.items else None
    if kept is not None and _may_be(key, kept[0]):  # another number, for all that is known: perhaps that of before
        asked, again = Term("==", (key, kept[0])), state.fork()
        if state.truths.get(asked) is not False:
            again.truths[asked] = True
            state.truths[asked] = False
            found = [(again, kept[1])]
    results = machine.call(state, func.func, args, span)
    for after, value in results:
        known = after.get(memo) if memo is not None else None
        if isinstance(known, DictObj) and isinstance(memo, Ref):
            items = {**known.items, key: value}
            least = list(items)[: max(len(items) - func.most, 0)] if func.most is not None else ()
            after.set(memo, DictObj({each: kept for each, kept in items.items() if each not in least}))
    return [*found, *results]


def clear(state: State, func: Value) -> bool:
    """Forget what is kept of a function, or of a method; False if nothing is."""
    func = func.func if isinstance(func, Bound) else func
    if not isinstance(func, Wrapped) or not isinstance(func.memo, Ref):
        return False
    state.set(func.memo, DictObj({}))
    return True


def _may_be(key: Tuple, other: Value) -> bool:
    """Whether the arguments of two calls may be the same: numbers of which one isn't known, and what else is equal."""
    if not isinstance(other, Tuple) or len(other.items) != len(key.items):
        return False
    pairs = [(a, b) for a, b in zip(key.items, other.items, strict=True) if a != b]
    return all(isinstance(a, Term | Symbol) or isinstance(b, Term | Symbol) for a, b in pairs) and all(
        terms.is_scalar(each) for pair in pairs for each in pair
    )
