"""Which model answers for a name: a function's path, or a method of a kind of value."""

from __future__ import annotations

from functools import lru_cache

from retainlint.startup.records import replace
from retainlint.symbolic.models.frameworks import libraries, stub_functions, test_runners, trainers
from retainlint.symbolic.models.python import (
    builtins,
    containers,
    contexts,
    data_files,
    dataclasses,
    iteration,
    library,
    numbers,
    options,
    reflection,
    text_patterns,
)
from retainlint.symbolic.models.torch import (
    autograd_function,
    data,
    distributions,
    functions,
    layers,
    modules,
    names,
    optimizers,
    parametrizations,
    tensors,
    transforms,
)
from retainlint.symbolic.models.unknown import call_results, conventions, objects, unseen_calls, weights
from retainlint.symbolic.state import classes, gradient_events, known_libraries, limits
from retainlint.symbolic.state.coverage import changes
from retainlint.symbolic.state.protocol import Args, Machine, Results
from retainlint.symbolic.state.state import Flow, State
from retainlint.symbolic.state.values import (
    FALSE,
    NONE,
    ClassObj,
    Closure,
    Const,
    DictObj,
    DistributionObj,
    External,
    Failure,
    GeneratorObj,
    GradMode,
    Instance,
    IteratorObj,
    LayerObj,
    ListObj,
    Method,
    OptimizerObj,
    Ref,
    Symbol,
    TensorObj,
    Term,
    UnknownObj,
    Value,
    Wrapped,
)
from retainlint.text.source import Span

_ALIASES = {
    "torch.nn.parameter": "torch.nn", "torch.nn.modules": "torch.nn", "torch.nn.modules.loss": "torch.nn",
    "torch.nn.modules.module": "torch.nn", "torch.functional": "torch", "torch.autograd.variable": "torch.autograd",
    "torch.optim.sgd": "torch.optim", "torch.optim.adam": "torch.optim", "torch.optim.lbfgs": "torch.optim",
    "torch.autograd.grad_mode": "torch", "torch.autograd.function": "torch.autograd",
    "torch.optim.optimizer": "torch.optim", "torch.utils.checkpoint.checkpoint": "torch.utils.checkpoint.checkpoint",
}  # fmt: skip
_RENAMED = {f"torch.autograd.{name}": f"torch.{name}" for name in ("no_grad", "enable_grad", "inference_mode")}


_TORCH = (
    data.function, transforms.transform_function, parametrizations.wrapping_function, transforms.pytree_function, functions.function, layers.function, optimizers.function,
    distributions.function,
)  # fmt: skip
_FRAMEWORKS = (
    stub_functions.function, trainers.function, test_runners.function, libraries.higher_function, libraries.outputs_function, transforms.transform_function, parametrizations.wrapping_function, libraries.einops_function, transforms.pytree_function,
)  # fmt: skip

_FRAMEWORK_METHODS = trainers.METHODS | test_runners.METHODS


def canonical(path: str) -> str:
    """The one path of what torch exports under several."""
    head, _, last = path.rpartition(".")
    return f"{_ALIASES[head]}.{last}" if head in _ALIASES else _RENAMED.get(path, path)


@lru_cache(maxsize=limits.REMEMBERED_NAMES)
def member(path: str, name: str) -> Value:
    """What an imported thing has under a name."""
    full = canonical(f"{path}.{name}")
    return library.VALUES.get(full) or External(full)


def is_inherited(name: str) -> bool:
    """Whether an object whose bases we can't see has this method from a framework that we know."""
    return name in trainers.INHERITED or name in test_runners.INHERITED


def is_optimizer_method(state: State, obj: Value, name: str) -> bool:
    """Whether an object of the program has `obj.name` from an optimiser of torch."""
    return name in optimizers.OF_HEIRS and classes.optimizer_of(state, obj) is not None


def is_function_method(state: State, obj: Value, name: str) -> bool:
    """Whether a custom function, or the context of one of its calls, has `obj.name` from torch."""
    return (name == "apply" or name in autograd_function.NOTES) and classes.is_function(state, obj)


def external(machine: Machine, state: State, path: str, args: Args, span: Span) -> Results:
    """Call something imported or built in."""
    root = path.partition(".")[0]
    if path in data_files.FUNCTIONS and (led := data_files.function(machine, state, path, args, span)) is not None:
        return [(state, led)]
    if path in text_patterns.FUNCTIONS and (like := text_patterns.function(state, path, args, span)) is not None:
        return [(state, like)]
    known = numbers.function(path, args, lambda items: iteration.known_items(machine, state, items, span))
    if known is not None:
        return [(state, known)]
    if path in options.CLICK:
        return [(state, options.optional(state, path, args, span))]
    if path in options.ENVIRONMENT:
        return [(state, options.variable(machine, state, args, span))]
    if root == "torch":
        is_on = dict(args.named).get("enabled") != FALSE
        machine.graphs.mixes |= is_on and names.is_of_precision(path.rpartition(".")[2], args.all)
        for function in _TORCH:
            found = function(machine, state, path, args, span)
            if found is not None:
                return found
    elif root == "builtins":
        return builtins.function(machine, state, path, args, span)
    elif root == "numpy" and path[6:] in names.ARRAYS and tensors.is_no_array(machine, state, args.get(0, "")):
        state.flow = Flow("raise", Failure("RuntimeError"))
        return [(state, NONE)]
    elif known_libraries.known_for("modelled", root):
        return library.function(machine, state, path, path.rpartition(".")[2], args, span)
    whole, _, name = path.rpartition(".")
    if name in modules.PROOFS or name == "zero_grad":
        machine.graphs.modules.add(whole)
    for function in _FRAMEWORKS:
        found = function(machine, state, path, args, span)
        if found is not None:
            return found
    return [(state, call_results.called(machine, state, External(path), args, span))]


def unknown_call(machine: Machine, state: State, held: UnknownObj, args: Args, span: Span) -> Results | None:
    """A call of something unknown that a framework's name tells of."""
    patched = libraries.called(machine, state, held, args, span)
    return trainers.called(machine, state, held, args, span) if patched is None else patched


def layer_call(machine: Machine, state: State, obj: Ref, args: Args, span: Span) -> Results:
    """Call a layer, or the one in an object, as it is now."""
    return layers.call(machine, state, classes.layer(state, obj) or obj, args, span)


def _module_method(machine: Machine, state: State, obj: Value, name: str, args: Args, span: Span) -> Results:
    """A method of a module; a layer's own `forward` is what it computes, whatever was set in its place."""
    if name == "forward" and isinstance(state.get(obj), LayerObj) and isinstance(obj, Ref):
        return layer_call(machine, state, obj, args, span)
    return modules.method(machine, state, obj, name, args, span)


def method(machine: Machine, state: State, obj: Value, name: str, args: Args, span: Span) -> Results:
    """Call a method that a model knows, or nobody does."""
    machine.changed.update([span] if changes(name) else ())
    held = state.get(obj)
    match held:
        case TensorObj():
            return tensors.method(machine, state, obj, name, args, span)
        case ListObj(kind=contexts.STACK) if isinstance(obj, Ref):
            return contexts.method(machine, state, obj, name, args, span)
        case ListObj() if isinstance(obj, Ref):
            return containers.list_method(machine, state, obj, name, args, span)
        case DictObj() if isinstance(obj, Ref):
            return containers.dict_method(machine, state, obj, name, args, span)
        case OptimizerObj() if isinstance(obj, Ref):
            return optimizers.method(machine, state, obj, name, args, span)
        case Instance() if isinstance(obj, Ref) and is_optimizer_method(state, obj, name):
            return optimizers.heir_method(machine, state, obj, held, name, args, span)
        case ClassObj() | Instance() if isinstance(obj, Ref) and is_function_method(state, obj, name):
            return autograd_function.method(machine, state, obj, name, args, span)
        case LayerObj(kind=parametrizations.AVERAGED) if name == "update_parameters" and isinstance(obj, Ref):
            return parametrizations.averaged(machine, state, obj, span)
        case Instance() if classes.of(state, obj) != obj:
            return builtins.of_container(machine, state, obj, name, args, span)
        case LayerObj(kind=kind) if kind in classes.KEYED and name in modules.OF_DICTS and isinstance(obj, Ref):
            return modules.of_dict(machine, state, obj, held, name, args, span)
        case LayerObj() | Instance() if name in modules.METHODS or modules.is_given(held, name):
            return _module_method(machine, state, obj, name, args, span)
        case UnknownObj() if isinstance(obj, Ref):
            return _unknown_method(machine, state, obj, held, name, args, span)
        case DistributionObj():
            return distributions.method(machine, state, held, name, args, span)
        case ClassObj() if name == "__new__" and isinstance(obj, Ref):
            return [(state, builtins.made(state, args, span))]
        case Instance() if name == "optimizers":
            return stub_functions.optimizers(machine, state, obj, span)
        case Instance() if name in _FRAMEWORK_METHODS:
            asked = objects.fresh(state, span, name=name)
            return _unknown_method(machine, state, asked, UnknownObj(span, name=name), name, args, span)
        case GeneratorObj() if name in ("send", "__next__"):
            return iteration.advanced(machine, state, obj, span, args.get(0, "value"))
        case GeneratorObj() if name == "close":
            return [(state, NONE)]
        case IteratorObj():
            return [(state, objects.fresh(state, span))]
    if name in dataclasses.METHODS and (told := dataclasses.method(state, obj, name, args)) is not None:
        return [(state, told)]
    return _of_value(machine, state, obj, name, args, span)


def _of_value(machine: Machine, state: State, obj: Value, name: str, args: Args, span: Span) -> Results:
    """A method of what lies on no heap: of a number or a text, of a function, of a mode, of something imported."""
    if isinstance(obj, Method) and obj.name == "__dict__":
        return reflection.dict_method(machine, state, obj.obj, name, args, span)
    if name == "cache_clear" and library.clear(state, obj):
        return [(state, NONE)]
    if isinstance(obj, Const | Term | Symbol):
        return builtins.scalar_method(machine, state, obj, name, args, span)
    if isinstance(obj, External):
        return external(machine, state, f"{obj.path}.{name}", args, span)
    if isinstance(obj, GradMode) and name in ("__enter__", "__exit__") and not obj.guards:
        usual = None if obj.enabled is None else True
        left = GradMode(usual, inference=False if obj.inference else None, packs=False if obj.packs else None)
        state.enter(obj if name == "__enter__" else left)
        return [(state, obj)]
    return [(state, call_results.called(machine, state, Method(obj, name), args, span))]


def _unknown_method(
    machine: Machine, state: State, obj: Ref, held: UnknownObj, name: str, args: Args, span: Span
) -> Results:
    if (option := options.method(machine, state, obj, held, name, args, span)) is not None:
        return [(state, option)]
    if options.has(held, name):
        usual = builtins.scalar_method(machine, state.fork(), held.notes.default or NONE, name, args, span)
        given = objects.derived(machine, state, obj, f"{name}({', '.join(map(repr, args.pos))})", span)
        options.answered(state, given, [value for _, value in usual])
        return [(state, given)]
    if text_patterns.leads(held) and (told := text_patterns.method(state, held, name, args, span)) is not None:
        return [(state, told)]
    if data_files.leads(held) and (led := data_files.method(machine, state, obj, held, name, args, span)) is not None:
        return [(state, led)]
    for ask in (
        libraries.method,
        trainers.unknown_method,
        test_runners.unknown_method,
        modules.unknown_method,
        tensors.unknown_method,
    ):
        found = ask(machine, state, obj, held, name, args, span)
        if found is not None:
            return found
    return [(state, call_results.called(machine, state, Method(obj, name), args, span))]


def _is_method(held: UnknownObj, name: str) -> bool:
    """Whether what is read under a name, of something unknown, is known to be a method."""
    return (
        name in _FRAMEWORK_METHODS
        or name in modules.METHODS
        or names.is_method(name)
        or libraries.is_method(held, name)
        or conventions.CHANGES.takes(name)
    )


def field(machine: Machine, state: State, method: Method, span: Span) -> Value:
    """What is read and not called, which may be a method: of what an unseen call returned it is a part, where no tensor has
    anything of that name."""
    held = state.get(method.obj)
    if isinstance(held, LayerObj) and isinstance(method.obj, Ref) and not modules.is_method(method.name):
        return modules.field(state, method.obj, held, method.name, span)
    if not isinstance(held, UnknownObj) or _is_method(held, method.name) or not names.is_foreign(method.name):
        return method
    return objects.derived(machine, state, method.obj, method.name, span)


def attribute(machine: Machine, state: State, obj: Value, name: str, span: Span) -> Value:
    """Read an attribute of anything but the program's own objects and classes."""
    held = state.get(obj)
    match held:
        case TensorObj():
            return tensors.attribute(machine, state, obj, name, span)
        case UnknownObj() if isinstance(obj, Ref):
            if name in held.attrs:
                if name == "grad":
                    gradient_events.read(state, span)
                return held.attrs[name]
            if name == "requires_grad" and held.notes.network is not None:
                return Const(True)
            if data_files.leads(held) and (led := data_files.attribute(machine, state, obj, held, name, span)):
                return led
            if held.notes.options is not None:  # one may be called like a method: `args.eval`
                return (
                    Method(obj, name) if name in options.METHODS else objects.derived(machine, state, obj, name, span)
                )
            if name in names.WRAPPED and unseen_calls.is_network(held):
                return obj  # a wrapper is what it wraps
            if _is_method(held, name) or options.has(held, name):
                return Method(obj, name)
            if text_patterns.leads(held) and name in text_patterns.METHODS:
                return Method(obj, name)
            if names.is_attribute(name) and held.hint in ("", "tensor"):
                return tensors.unknown_attribute(machine, state, obj, held, name, span)
            if (held.hint == "tensor" or held.edge is not None) and not objects.is_part(held, name):
                return (
                    Method(obj, name) if not name.startswith("_") else objects.derived(machine, state, obj, name, span)
                )
            return objects.derived(machine, state, obj, name, span)
        case ListObj(limit=int(limit)) if name == "maxlen":
            return Const(limit)
        case DistributionObj():
            found = distributions.attribute(held, name)
            return found if found is not None else Method(obj, name)
        case OptimizerObj():
            return optimizers.attribute(state, obj, name)
        case LayerObj():
            return modules.attribute(state, obj, name, span)
        case Instance():
            return modules.attribute(state, obj, name, span)
    if isinstance(obj, Closure | Wrapped) and name.startswith("__"):
        return Const(name)
    return Method(obj, name)


def set_unknown_attribute(
    machine: Machine, state: State, obj: Value, held: UnknownObj, name: str, value: Value
) -> None:
    """Write an attribute of something unknown; the weights of a network may be told so that they need no gradients, or
    lose theirs."""
    assert isinstance(obj, Ref)
    network = weights.network_of(state, obj)
    if network is not None and name == "requires_grad":
        weights.require(machine, state, network, value, obj)
        state.set(obj, replace(held, attrs={**held.attrs, name: value}))
        return
    if name == "requires_grad" and value != FALSE:
        objects.may_be_leaf(machine, state, obj)
    if network is not None and name == "grad" and value == NONE:
        weights.clear(machine, state, [network])
    if name == "_grad_fn" and value == NONE and network is None:
        objects.cut(state, obj)
    asked = state.heap[obj.id]
    assert isinstance(asked, UnknownObj)
    state.set(obj, replace(asked, attrs={**asked.attrs, name: value}))
