"""Which instructions may raise for a reason that nobody sees: only behind these a handler is worth a path of its own."""

from __future__ import annotations

from retainlint import ir
from retainlint.symbolic import arithmetic, raised
from retainlint.symbolic.state import State
from retainlint.symbolic.values import (
    Bound,
    ClassObj,
    Closure,
    Const,
    DictObj,
    External,
    GeneratorObj,
    GradMode,
    Instance,
    IteratorObj,
    LayerObj,
    ListObj,
    Method,
    OptimizerObj,
    Partial,
    Ref,
    Slice,
    TensorObj,
    Tuple,
    UnknownObj,
    Value,
    Wrapped,
)

_SAFE_BUILTINS = frozenset(
    """print range enumerate zip len list tuple dict set frozenset sorted sum isinstance issubclass type id reversed super
    str repr bool hasattr callable max min map filter abs round any all object iter""".split()
)
_SAFE_ROOTS = ("torch", "collections", "functools", "itertools", "contextlib", "copy", "math", "time")
_RISKY = ("torch.load", "torch.save", "torch.compile", "torch.jit", "torch.distributed", "torch.cuda", "torch.hub")
_RISKY_METHODS = {"pop", "popleft", "remove", "index", "load_state_dict", "get_submodule"}


def may_raise(state: State, instr: ir.Instr) -> bool:
    """Operations on tensors that we know can't; a walk is judged where it runs."""
    match instr:
        case ir.Import() | ir.Opaque() | ir.Await():
            return True
        case ir.Call(func=func):
            return _call(state, state.read(func))
        case ir.GetAttr(obj=obj) | ir.SetItem(obj=obj) | ir.DelItem(obj=obj):
            return isinstance(state.get(state.read(obj)), UnknownObj)
        case ir.GetItem(obj=obj, index=index):
            return _item(state, state.read(obj), state.read(index))
        case ir.Unpack(src=src) | ir.For(iterable=src):
            held = state.get(state.read(src))
            return isinstance(held, UnknownObj) or (isinstance(held, ListObj) and held.open)
        case ir.With(context=context):
            value = state.read(context)
            known = isinstance(value, GradMode | Partial) or isinstance(state.get(value), Instance | GeneratorObj)
            return not known
    return False


def _call(state: State, func: Value) -> bool:
    """Whether what is called may raise by itself; what it runs of the program is asked instruction by instruction."""
    match func:
        case Closure() | GradMode():
            return False
        case Bound(func=inner) | Wrapped(func=inner) | Partial(func=inner):
            return _call(state, inner)
        case External(path=path):
            root, _, name = path.partition(".")
            if root == "builtins":
                return name not in _SAFE_BUILTINS and not raised.is_builtin(func)
            return root not in _SAFE_ROOTS or path.startswith(_RISKY)
        case Method(obj=obj, name=name):
            return name in _RISKY_METHODS or not _is_known(state, obj)
        case Ref():
            return not isinstance(state.get(func), ClassObj | LayerObj | Instance)
    return True


def _is_known(state: State, obj: Value) -> bool:
    held = state.get(obj)
    known = TensorObj | ListObj | DictObj | LayerObj | OptimizerObj | IteratorObj | GeneratorObj | Instance | ClassObj
    return isinstance(held, known) or arithmetic.is_scalar(obj) or isinstance(obj, Tuple)


def _item(state: State, obj: Value, index: Value) -> bool:
    """Whether an item may be missing."""
    held = state.get(obj)
    if isinstance(held, TensorObj) or isinstance(obj, External):
        return False
    if isinstance(held, DictObj):
        return index not in held.items
    items = obj.items if isinstance(obj, Tuple) else held.items if isinstance(held, ListObj) and not held.open else ()
    if isinstance(index, Slice):
        return not items
    return not (isinstance(index, Const) and isinstance(index.value, int) and -len(items) <= index.value < len(items))
