"""Methods that every nn.Module has, for layers of torch, modules of the program, and unknown ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from retainlint.startup.records import replace
from retainlint.symbolic.models.torch import hooks, submodules
from retainlint.symbolic.models.torch.in_place_changes import bump
from retainlint.symbolic.models.torch.names import is_of_precision
from retainlint.symbolic.models.unknown import call_results, conventions, objects, unseen_calls, weights
from retainlint.symbolic.solver.terms import is_scalar
from retainlint.symbolic.state import classes, gradient_events, limits
from retainlint.symbolic.state.classes import layer_of
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import State, ticket
from retainlint.symbolic.state.values import (
    CUT,
    FALSE,
    ITERATOR,
    NONE,
    PART,
    TRUE,
    Bound,
    Closure,
    Const,
    DictObj,
    External,
    HeapObj,
    Instance,
    LayerObj,
    ListObj,
    Method,
    Ref,
    TensorObj,
    Tuple,
    UnknownObj,
    Value,
)
from retainlint.text.source import Span

METHODS = {
    "parameters", "named_parameters", "buffers", "named_buffers", "modules", "named_modules", "children",
    "named_children", "train", "eval", "to", "cuda", "cpu", "float", "double", "half", "zero_grad", "state_dict",
    "load_state_dict", "apply", "requires_grad_", "register_buffer", "register_parameter", "add_module", "forward",
    *hooks.METHODS, "register_module", "share_memory", "type", "compile",
    "__init__", "append", "extend", "insert", "items", "keys", "values", "get_submodule", "extra_repr", "get_parameter",
    *submodules.REGISTERED, "__call__", "bfloat16", "xpu", "ipu", "to_empty",
}  # fmt: skip
OTHERS = {
    "flatten_parameters", "from_pretrained", "generate_square_subsequent_mask", "get_buffer", "get_extra_state", "set_extra_state", "join",
    "log_prob", "merge_masks", "mtia", "no_sync", "predict", "register_backward_hook",
    "register_load_state_dict_post_hook", "register_load_state_dict_pre_hook", "register_state_dict_post_hook",
    "register_state_dict_pre_hook", "reset_parameters", "reset_running_stats", "save",
}  # fmt: skip
"""Methods that layers of torch have besides, which make no other network of them."""
OF_DICTS = {"update", "pop", "clear", "get", "copy"}
"""Methods that a ModuleDict or ParameterDict has besides, as a dict."""
PROOFS = {"parameters", "named_parameters", "train", "eval", "state_dict", "load_state_dict", "modules", "children"}
"""Methods that prove that their object is a module."""
_SAME = {
    "train", "eval", "to", "cuda", "cpu", "xpu", "ipu", "float", "double", "half", "bfloat16", "type", "to_empty", "apply", "requires_grad_",
    "share_memory",
}  # fmt: skip


def is_method(name: str) -> bool:
    """Whether torch's classes of layers have a method of that name."""
    return name in METHODS or name in OTHERS or name.startswith("__")


def is_given(held: HeapObj | None, name: str) -> bool:
    """Whether torch's classes have no such method of layers, so that somebody has given it to them: it may add others."""
    return isinstance(held, LayerObj) and not (is_method(name) or name.startswith("_"))


def method(machine: Machine, state: State, obj: Value, name: str, args: Args, span: Span) -> Results:
    """A method of a module that we know, or that nobody does."""
    assert isinstance(obj, Ref)
    machine.graphs.mixes |= is_of_precision(name, args.all)
    held = state.heap[obj.id]
    if is_given(held, name):
        state.set(obj, UnknownObj(span, hint="module"))
        return [(state, call_results.called(machine, state, Method(obj, name), args, span))]
    if (listed := _listed(state, obj, held, name)) is not None:
        return [(state, listed)]
    match name:
        case "parameters" | "named_parameters":
            return [(state, _iterated(state, _parameters(machine, state, obj, name, args)))]
        case "apply":
            return _apply(machine, state, obj, args.get(0, "fn"), span)
        case _ if name in hooks.METHODS:
            return [(state, hooks.register(state, obj, name, args, span))]
        case "train" | "eval":
            mode = name == "train" and args.get(0, "mode", TRUE) != FALSE
            return _trained(machine, state, obj, mode, span, is_own=name == "eval")
        case "zero_grad":
            clear(machine, state, submodules.owned(state, obj)[0], args, 0, (obj,))
            gradient_events.zeroed(machine, state, None, span, to_none=args.get(0, "set_to_none", TRUE) != FALSE)
            return [(state, NONE)]
        case "requires_grad_":
            return _require(machine, state, obj, args, span)
        case "load_state_dict":
            _loaded(machine, state, obj, args, span)
            return [(state, NONE)]
        case "forward":
            return machine.call(state, classes.layer(state, obj) or obj, args, span)
        case "__call__":
            return _replaced_call(machine, state, obj, args, span)
        case "get_submodule" | "get_parameter":
            path = args.get(0, "target")
            found_part = submodules.named(state, obj, str(path.value)) if isinstance(path, Const) else None
            return [(state, found_part or submodules.some_part(state, obj, span))]
        case "__init__" if (kind := layer_of(state, obj)) is not None:
            made = machine.call(state, External(f"torch.nn.{kind}"), args, span)
            for each, layer in made:
                classes.hold_layer(each, obj, layer)
            return [(each, NONE) for each, _ in made]
        case "register_buffer" | "register_parameter" | "add_module" | "register_module":
            _registered(state, obj, name, args, span)
        case "append" | "extend":
            _grow(machine, state, obj, args, span)
        case "insert":
            submodules.insert(state, obj, args.get(0, "index"), args.get(1, "module"))
        case "reset_parameters" if isinstance(held, LayerObj):
            _loaded(machine, state, obj, Args(), span, "the parameters that are set anew")
        case "state_dict":
            return [(state, _state_dict(state, obj, args, span))]
        case "keys":
            return [(state, objects.fresh(state, span))]
    return [(state, obj if name in _SAME else NONE)]


def _state_dict(state: State, obj: Ref, args: Args, span: Span) -> Value:
    """Its parameters, cut off from their graphs unless they are to be kept, on the same memory; what buffers it holds isn't
    known."""
    found, sure = submodules.named_parameters(state, obj, deep=True)
    sure &= not any(_has_buffers(state, part) for part in (obj, *submodules.below(state, obj)))
    keep = args.get(2, "keep_vars", FALSE)
    if keep not in (TRUE, FALSE):
        return objects.fresh(state, span)
    items: dict[Value, Value] = {}
    for name, value in islice(found.items(), limits.HELD_ITEMS):
        held = state.get(value)
        if isinstance(held, TensorObj):
            bare = replace(held, edge=None, base=None, cut=("detach", span), parameter=False)
            items[Const(name)] = value if keep == TRUE else state.new(bare)
    is_whole = sure and len(items) == len(found)
    return state.new(DictObj(items, open=not is_whole)) if items else objects.fresh(state, span, plain=True)


_WITH_BUFFERS = ("BatchNorm", "InstanceNorm")
"""Layers that hold more than parameters."""


def _has_buffers(state: State, part: Value) -> bool:
    """Whether a state dict may hold more of a part of a module than its parameters, or under other names."""
    held, layer = state.get(part), state.get(classes.layer(state, part) or part)
    if isinstance(layer, LayerObj) and (layer.notes.parametrized or any(kind in layer.kind for kind in _WITH_BUFFERS)):
        return True
    attrs = held.attrs.values() if isinstance(held, LayerObj | Instance) else ()
    known = (state.get(each) for each in attrs)
    return any(isinstance(each, UnknownObj) or (isinstance(each, TensorObj) and not each.parameter) for each in known)


def _parameters(machine: Machine, state: State, obj: Ref, name: str, args: Args) -> Value:
    recurse = args.get(int(name == "named_parameters"), "recurse", TRUE)
    found, sure = submodules.named_parameters(state, obj, deep=recurse != FALSE)
    sure &= recurse in (TRUE, FALSE)
    if recurse != FALSE:
        weights.note(machine, state, obj, found, sure=sure)
    items = tuple(found.values())
    if name == "named_parameters":
        items = tuple(Tuple((Const(key), value)) for key, value in found.items())
    return state.new(ListObj(items, not sure and weights.UNSEEN not in found))


def _replaced_call(machine: Machine, state: State, obj: Ref, args: Args, span: Span) -> Results:
    """torch's own `__call__`, which a class that has one of its own asks for what that replaces."""
    if classes.find(state, obj, "__call__") is None:
        return machine.call(state, obj, args, span)
    forward = classes.find(state, obj, "forward")
    inner = Method(obj, "forward") if forward is None else Bound(forward, obj)
    return hooks.around(machine, state, obj, args, span, lambda machine, *call: machine.call(*call), inner)


def _registered(state: State, obj: Ref, name: str, args: Args, span: Span) -> None:
    """A part, or a buffer, under a name that is told."""
    key, value = args.get(0, "name"), args.get(1, "tensor")
    if name.endswith("module"):
        adopt(state, value)
    if name == "register_buffer" and isinstance(given := state.get(value), TensorObj) and given.edge is None:
        assert isinstance(value, Ref)
        state.set(value, replace(given, cut=("bare", span)))  # nobody is to train it
    held = state.heap[obj.id]
    if isinstance(held, Instance | LayerObj):
        label = str(key.value) if isinstance(key, Const) else f"_{len(held.attrs)}"
        submodules.put(state, obj, label, value)


def _iterated(state: State, listed: Value) -> Value:
    """What a method gives that yields one part of a module after the other."""
    if isinstance(listed, Ref) and isinstance(held := state.get(listed), ListObj):
        state.set(listed, replace(held, kind=ITERATOR))
    return listed


def _listed(state: State, obj: Ref, held: HeapObj, name: str) -> Value | None:
    """What lists the parts of a module, or its buffers; None for any other method."""
    match name:
        case "children" | "named_children" | "modules" | "named_modules":
            return _iterated(state, submodules.listed(state, obj, name))
        case "buffers" | "named_buffers":
            return _iterated(state, submodules.buffers(state, obj, name))
        case "values" if isinstance(held, LayerObj):
            return state.new(ListObj(held.children, not held.children))
        case "keys" if isinstance(held, LayerObj) and held.kind in classes.KEYED:
            return state.new(ListObj(tuple(map(Const, held.attrs))))
        case "items" if isinstance(held, LayerObj):
            return state.new(ListObj(tuple(Tuple((Const(key), value)) for key, value in held.attrs.items())))
    return None


def of_dict(machine: Machine, state: State, obj: Ref, held: LayerObj, name: str, args: Args, span: Span) -> Results:
    """A method that a ModuleDict or ParameterDict has as a dict."""
    key = args.get(0, "key")
    if name == "copy":
        return [(state, state.new(held))]
    if name == "update":
        more = classes.mapping(state, args.get(0, "modules"))
        for each, part in more.items.items() if more is not None else ():
            adopt(state, part)
            submodules.at(state, obj, each, submodules.as_parameter(machine, state, held.kind, part, span), span)
        return [(state, NONE)]
    taken = next((part for each, part in held.attrs.items() if Const(each) == key), None)
    if name == "get":
        missing = args.get(1, "default") if isinstance(key, Const) else objects.fresh(state, span)
        return [(state, taken or missing)]
    kept = {} if name == "clear" else {each: part for each, part in held.attrs.items() if Const(each) != key}
    state.set(obj, replace(held, attrs=kept, children=tuple(kept.values())))
    return [(state, NONE if name == "clear" else taken or objects.fresh(state, span))]


def adopt_layer(state: State, part: Value) -> None:
    """What is set on a module is a part of it, and a module, if the class that made it is called like a layer."""
    held = state.get(part)
    if isinstance(held, UnknownObj) and isinstance(part, Ref) and held.hint == "instance" and not held.plain:
        if conventions.LAYER_CLASS.takes(held.made.text.partition("(")[0]):
            state.set(part, replace(held, hint="submodule"))


def adopt(state: State, part: Value) -> None:
    """What is put into a module as a part of it is a module."""
    held = state.get(part)
    if isinstance(held, UnknownObj) and isinstance(part, Ref) and held.hint in ("", "instance"):
        state.set(part, replace(held, hint=PART, plain=False))


def parametrize(state: State, module: Value, name: Value, parametrization: Value | None) -> Value:
    """`register_parametrization(module, name, parametrization)`: the weight is computed anew at each use. Without one, what it was
    computed from is the weight."""
    held = state.get(module)
    if isinstance(held, LayerObj) and isinstance(module, Ref) and isinstance(name, Const):
        kept: dict[str, Value] = {key: each for key, each in held.notes.parametrized.items() if key != str(name.value)}
        if parametrization is not None:
            kept[str(name.value)] = Tuple((held.attrs.get(str(name.value), NONE), parametrization))
        state.set(module, replace(held, notes=replace(held.notes, parametrized=kept)))
    return module


def weight(machine: Machine, state: State, module: Ref, name: str, span: Span) -> Value:
    """A layer's weight: what its parametrization makes of the original, once inside `parametrize.cached()`."""
    held = state.heap[module.id]
    assert isinstance(held, LayerObj)
    made = held.notes.parametrized.get(name)
    if not isinstance(made, Tuple):
        return held.attrs.get(name, NONE)
    key = Tuple((module, Const(name)))
    cache = state.get(state.cache) if state.cache is not None else None
    if isinstance(cache, DictObj) and key in cache.items:
        return cache.items[key]
    results = machine.call(state, made.items[1], Args((made.items[0],)), span)
    value = results[0][1] if len(results) == 1 and results[0][0] is state else objects.fresh(state, span)
    if isinstance(cache, DictObj) and state.cache is not None:
        state.set(state.cache, DictObj({**cache.items, key: value}))
    return value


def _apply(machine: Machine, state: State, obj: Value, func: Value, span: Span) -> Results:
    """`module.apply(fn)`: every submodule, then itself."""
    held = state.get(obj)
    inner: tuple[Value, ...] = ()
    if isinstance(held, LayerObj | Instance):
        seen = (v for v in held.attrs.values() if isinstance(state.get(v), LayerObj | Instance))
        inner = tuple(each for each in seen if classes.is_part(state, each))
    results: Results = [(state, obj)]
    for part in inner:
        results = [done for each, _ in results for done in _apply(machine, each, part, func, span)]
    return [(after, obj) for each, _ in results for after, _ in machine.call(each, func, Args((obj,)), span)]


def _grow(machine: Machine, state: State, obj: Ref, args: Args, span: Span) -> None:
    held, value = state.get(classes.layer(state, obj) or obj), args.get(0, "module")
    if not isinstance(held, LayerObj):
        return
    more = state.get(value)
    children = more.items if isinstance(more, ListObj) else (value,)
    children = tuple(submodules.as_parameter(machine, state, held.kind, each, span) for each in children)
    for child in children:
        adopt(state, child)
    listed = {str(i): child for i, child in enumerate(children, len(held.children))}
    owner = state.heap[obj.id]
    if isinstance(owner, Instance):
        state.set(obj, replace(owner, attrs={**owner.attrs, **listed}))
    else:
        state.set(obj, replace(held, children=(*held.children, *children), attrs={**held.attrs, **listed}))


def _trained(machine: Machine, state: State, obj: Ref, mode: bool, span: Span, *, is_own: bool) -> Results:
    """Set the mode of a module and its parts, by the `train` of those that have one of their own; of itself if `is_own`."""
    own: list[Value] = []
    _set_training(state, obj, mode, own, set(), is_own=is_own)
    states = [state]
    for part in own:
        train = Bound(classes.find(state, part, "train") or NONE, part)
        states = [after for each in states for after, _ in machine.call(each, train, Args((Const(mode),)), span)]
    return [(each, obj) for each in states]


def _set_training(
    state: State, value: Value, mode: bool, own: list[Value], seen: set[Value], *, is_own: bool = True
) -> None:
    held = state.get(value)
    if value in seen or not isinstance(value, Ref):
        return
    seen.add(value)
    parts: Iterable[Value] = ()
    if isinstance(held, LayerObj):
        state.set(value, replace(held, training=mode))
        parts = held.children
    elif isinstance(held, Instance) and is_own and isinstance(classes.find(state, value, "train"), Closure):
        own.append(value)
    elif isinstance(held, Instance):
        state.set(value, replace(held, attrs={**held.attrs, "training": Const(mode)}))
        parts = held.attrs.values()
    for child in parts:
        _set_training(state, child, mode, own, seen)


def clear(
    machine: Machine, state: State, params: Sequence[Value], args: Args, index: int, networks: Iterable[Value] = ()
) -> None:
    """`zero_grad(set_to_none=True)`: afterwards no parameter has a gradient."""
    if args.get(index, "set_to_none", TRUE) == FALSE:
        return
    weights.clear(machine, state, networks)
    for value in params:
        held = state.get(value)
        if isinstance(held, TensorObj) and held.edge is not None:
            state.ledger.graded.discard(held.edge.node.variable)


def _require(machine: Machine, state: State, obj: Value, args: Args, span: Span) -> Results:
    """`requires_grad_(wanted)`: on a path of its own each way where nobody knows."""
    ways = machine.branch(state, args.get(0, "requires_grad", TRUE), args.place(0, "requires_grad", span))
    for each, wanted in ways:
        weights.require(machine, each, obj, Const(wanted))
        for value in submodules.owned(each, obj)[0]:
            held = each.get(value)
            if not isinstance(held, TensorObj) or not isinstance(value, Ref):
                continue
            if not wanted:
                machine.graphs.freeze(each, value.id, held, span)
            elif held.edge is None:
                each.set(value, replace(held, edge=machine.graphs.thawed(value.id, each.moment(span))))
    return [(each, obj) for each, _ in ways]


def _loaded(
    machine: Machine, state: State, obj: Value, args: Args, span: Span, text: str = "the loaded weights"
) -> None:
    """`load_state_dict` copies into the parameters: an in-place change of each, unless it assigns."""
    for value in submodules.owned(state, obj)[0]:
        held = state.get(value)
        if isinstance(held, TensorObj) and isinstance(value, Ref):
            if args.get(2, "assign", FALSE) == TRUE:
                state.set(value, replace(held, storage=ticket()))
            else:
                bump(state, held.storage, span, text=text, loads=True)


def attribute(state: State, obj: Value, name: str, span: Span) -> Value:
    """An attribute that a module's class and assignments don't give."""
    held = state.get(obj)
    if name in submodules.REGISTERED:
        return submodules.registered(state, obj, name)
    if name in METHODS or (name == "update_parameters" and isinstance(held, LayerObj)):
        return Method(obj, name)
    if name in OF_DICTS and isinstance(held, LayerObj) and held.kind in classes.KEYED:
        return Method(obj, name)
    if name == "__dict__":
        return state.new(DictObj({}, open=True))  # of a layer: its weights aren't in it
    if name == "module":
        return obj  # what DataParallel and its kin wrap, and we don't
    if name == "training":
        return Const(held.training) if isinstance(held, LayerObj) else TRUE
    if isinstance(held, LayerObj) and f"_{name}" in held.attrs:
        return held.attrs[f"_{name}"]
    return Method(obj, name)


def field(state: State, obj: Ref, held: LayerObj, name: str, span: Span) -> Value:
    """What is read of a layer, and not called, that nothing else gives: one of its settings."""
    made = objects.fresh(state, span, name=name)
    state.set(obj, replace(held, attrs={**held.attrs, name: made}))
    return made


def unknown_method(
    machine: Machine, state: State, obj: Ref, held: UnknownObj, name: str, args: Args, span: Span
) -> Results | None:
    """What an unknown's method tells of it: `.parameters()`, `.train()` prove a module; `.to()` keeps what it is."""
    if name in ("to", "cuda", "cpu", "float", "double", "half", "train", "eval", "requires_grad_", "apply"):
        machine.graphs.mixes |= is_of_precision(name, args.all)
        if name in PROOFS and held.hint in ("", "instance", "submodule", PART):
            state.set(obj, replace(held, hint="module"))
        elif (
            name == "requires_grad_" and held.hint == CUT and held.plain and args.get(0, "requires_grad", TRUE) == TRUE
        ):
            leaf = machine.graphs.leaf(state.moment(span))
            objects.doubt(state, obj)
            state.set(obj, TensorObj(leaf, ticket()))  # what was cut off its graph is a tensor, and has none
            return [(state, obj)]
        elif name == "requires_grad_" and held.plain and args.get(0, "requires_grad", TRUE) != FALSE:
            objects.may_be_leaf(machine, state, obj)  # a tensor, and from now on one that may have a graph
        elif name == "requires_grad_" and (network := weights.network_of(state, obj)) is not None:
            weights.require(machine, state, network, args.get(0, "requires_grad", TRUE), obj)
        elif name == "requires_grad_" and held.hint != "tensor":
            weights.require(machine, state, obj, args.get(0, "requires_grad", TRUE))
        if name == "requires_grad_" and args.get(0, "requires_grad", TRUE) != FALSE:
            objects.may_be_leaf(machine, state, obj)
        if name == "train" and not all(map(is_scalar, args.all)):
            return [(state, objects.fresh(state, span))]  # it may be given data, by a class of one's own
        return [(state, obj)]
    if name in ("forward", "__call__") and args.all and unseen_calls.is_network(held):
        return machine.call(state, obj, args, span)
    if name not in PROOFS or held.hint in ("tensor",):
        return None
    if held.hint in ("", "instance", "submodule", PART):
        state.set(obj, replace(held, hint="module"))
    if name in ("parameters", "named_parameters") and (own := weights.listed(machine, state, obj)) is not None:
        item = own if name == "parameters" else Tuple((objects.fresh(state, span, name="name", plain=True), own))
        return [(state, state.new(ListObj((item,), True, ITERATOR)))]
    return [(state, objects.fresh(state, span, name=name, plain=name in ("state_dict", "load_state_dict")))]
