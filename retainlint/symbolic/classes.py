"""Classes of the program: their ancestors, and what an object finds in them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from retainlint.symbolic.state import State
from retainlint.symbolic.values import ClassObj, External, Instance, Ref, Value

MODULE_BASES = (
    "torch.nn.Module", "pytorch_lightning.LightningModule", "lightning.LightningModule",
    "lightning.pytorch.LightningModule", "pl.LightningModule",
)  # fmt: skip


_NO_LAYERS = {"Module", "Parameter", "Buffer", "UninitializedParameter", "UninitializedBuffer", "DataParallel"}


def ancestry(state: State, cls: Value) -> Iterator[Value]:
    """A class and its bases, nearest first; what is not of the program comes as it is."""
    yield cls
    obj = state.get(cls)
    while isinstance(obj, ClassObj) and len(obj.bases) == 1:
        yield (cls := obj.bases[0])
        obj = state.get(cls)
    if isinstance(obj, ClassObj):
        seen: set[Value] = set()
        for base in obj.bases:
            for ancestor in ancestry(state, base):
                if ancestor not in seen:
                    seen.add(ancestor)
                    yield ancestor


def class_of(state: State, value: Value) -> Ref | None:
    obj = state.get(value)
    return obj.cls if isinstance(obj, Instance) else None


def is_module(state: State, value: Value) -> bool:
    """Whether an object's class derives from nn.Module, or from a layer."""
    cls = class_of(state, value) or value
    return any(
        isinstance(base, External) and (base.path in MODULE_BASES or _layer(base.path)) for base in ancestry(state, cls)
    )


def layer_of(state: State, value: Value) -> str | None:
    """The layer of torch.nn from which an object's class derives."""
    cls = class_of(state, value)
    bases = ancestry(state, cls) if cls is not None else ()
    return next((kind for base in bases if isinstance(base, External) and (kind := _layer(base.path))), None)


@cache
def _layer(path: str) -> str:
    """The name of a layer by its path; "" of anything else."""
    kind = path.removeprefix("torch.nn.")
    return kind if kind != path and kind.isidentifier() and kind[0].isupper() and kind not in _NO_LAYERS else ""


def is_open(state: State, cls: Value) -> bool:
    """Whether a class has bases that we can't see."""
    return any(True for _ in unseen(state, cls))


def unseen(state: State, cls: Value) -> Iterator[Value]:
    """The bases of a class that we can't see, layers of torch too."""
    known = ("builtins.object", "abc.ABC", "torch.autograd.Function", "torch.utils.data.Dataset", "typing.NamedTuple")
    for base in ancestry(state, cls):
        is_known = isinstance(base, External) and (base.path in MODULE_BASES or base.path in known)
        if not is_known and not isinstance(state.get(base), ClassObj):
            yield base


def find(state: State, obj: Value, name: str, after: Value | None = None) -> Value | None:
    """What the class of an object holds under a name; with `after`, beyond that class."""
    cls = class_of(state, obj) or obj
    waiting = after is not None
    for base in ancestry(state, cls):
        if waiting:
            waiting = base != after
            continue
        found = state.get(base)
        if isinstance(found, ClassObj) and name in found.attrs:
            return found.attrs[name]
    return None
