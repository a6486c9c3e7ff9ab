"""The tensor: numbers, the memory that they share, and its place in a graph."""

from __future__ import annotations

import copy
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from retainlint.autograd.errors import InferenceLeafError, NotLeafError
from retainlint.autograd.graph import Edge, Node, leaf
from retainlint.numeric import dtypes, grad_mode
from retainlint.numeric.dtypes import Array, dtype
from retainlint.numeric.lacking import LackingName

if TYPE_CHECKING:
    from retainlint.numeric.dtypes import device


class Size(tuple[int, ...]):
    """A shape."""

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def numel(self) -> int:
        """How many elements a tensor of this shape has."""
        return int(np.prod(self, dtype=np.int64))

    def __getitem__(self, item: Any) -> Any:
        found = super().__getitem__(item)
        return Size(found) if isinstance(item, slice) else found

    def __add__(self, other: Any) -> Size:
        return Size(tuple(self) + tuple(other))


class Storage:
    """The key under which the ledger counts the changes of some memory; a tensor's views share it."""

    __slots__ = ("__weakref__",)


class LeafKey:
    """What a leaf's node holds: its tensor, compared by identity."""

    __slots__ = ("__weakref__", "tensor")

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


class Tensor:
    """An array with a shape and a dtype, and the edge at which its gradient goes back.

    `base` is the tensor that this one is a view of; `origin` tells how the view was made: "plain", "no_grad",
    "inference", or "shared" for one of several that an operation returned.
    """

    array: Array
    storage: Storage
    grad_: Tensor | None
    base: Tensor | None
    origin: str
    made_in_inference: bool
    counts: bool  # whether an inference tensor has a version after all: one that was detached outside has
    leaf_needs: bool  # the flag of a leaf
    node: Node | None  # what computed it; for a view ask gradient_node()
    output: int
    seen: int  # the version at which a view's `node` was made
    hooks: dict[int, Callable[[Tensor], Any]] | None
    retains: bool

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        from retainlint.numeric.creation import legacy_tensor

        return legacy_tensor(cls, *args, **kwargs)

    @classmethod
    def of(cls, array: Any, storage: Storage | None = None) -> Tensor:
        """A new tensor over `array` (not copied), which records nothing."""
        made: Tensor = object.__new__(cls)
        made.array = array if isinstance(array, np.ndarray) else np.asarray(array)
        made.storage = storage or Storage()
        made.grad_ = made.base = made.node = made.hooks = None
        made.origin, made.output, made.seen = "plain", 0, 0
        made.leaf_needs = made.retains = made.counts = False
        made.made_in_inference = grad_mode.is_inference_mode_enabled()
        return made

    # -- the graph

    def gradient_node(self) -> Node | None:
        """The node that computed this; that of a view is made anew if its memory was changed since."""
        if self.base is not None and (self.node is not None or self.base.requires_grad):
            from retainlint.numeric.views import refresh

            refresh(self)
        return self.node

    def edge(self) -> Edge | None:
        """Where the gradient of this tensor is sent; None if it needs none."""
        node = self.gradient_node()
        if node is not None:
            return Edge(node, self.output)
        return Edge(self.leaf_node()) if self.leaf_needs else None  # a view made without a graph has no leaf node

    def leaf_node(self) -> Node:
        """The node at which gradients of this leaf arrive: the same one, as long as anything holds it."""
        known: weakref.ref[Node] | None = self.__dict__.get("_leaf_node")
        node = known() if known is not None else None
        if node is None:
            node = leaf(LeafKey(self))
            self.__dict__["_leaf_node"] = weakref.ref(node)
        return node

    @property
    def grad_fn(self) -> Any:
        """What a script sees of the node that computed this."""
        node = self.gradient_node()
        if node is None:
            return None
        from retainlint.numeric.grad_fn import shown

        return shown(node)

    @property
    def requires_grad(self) -> bool:
        return self.leaf_needs or self.node is not None or (self.base is not None and self.base.requires_grad)

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        computed = self.node is not None  # without making a view's node anew, as torch has it
        if computed and not wanted:
            raise NotLeafError().plain()
        if wanted and not self.dtype.is_floating_point:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if wanted and self.made_in_inference and not grad_mode.is_inference_mode_enabled():
            raise InferenceLeafError().plain()
        if not computed:
            self.leaf_needs = bool(wanted)

    @property
    def is_leaf(self) -> bool:
        return not self.requires_grad or self.gradient_node() is None

    @property
    def grad(self) -> Tensor | None:
        if not self.is_leaf and not self.retains and self.grad_ is None:
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't "
                "be populated during autograd.backward(). If you indeed want the .grad field to be populated for a "
                "non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by "
                "mistake, make sure you access the leaf Tensor instead.",
                stacklevel=2,
            )
        return self.grad_

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(
                    f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__!r}"
                )
            if value.shape != self.shape:
                raise RuntimeError(
                    f"assigned grad has data of a different size. Expected {list(self.shape)}, got {list(value.shape)}"
                )
        self.grad_ = value

    @grad.deleter
    def grad(self) -> None:
        self.grad_ = None

    @property
    def data(self) -> Tensor:
        """The same memory, without graph and with versions of its own."""
        made = Tensor.of(self.array)
        made.made_in_inference = made.counts = self.made_in_inference
        return made

    @data.setter
    def data(self, value: Tensor) -> None:
        self.array = value.array

    # -- what it is

    @property
    def shape(self) -> Size:
        return Size(self.array.shape)

    @property
    def dtype(self) -> dtype:
        return dtypes.of_array(self.array)

    @property
    def ndim(self) -> int:
        return self.array.ndim

    @property
    def device(self) -> device:
        from retainlint.numeric.dtypes import CPU

        return CPU

    is_cuda = is_sparse = is_quantized = is_mkldnn = is_meta = False
    layout = "torch.strided"
    itemsize = property(lambda self: self.array.itemsize)
    nbytes = property(lambda self: self.array.nbytes)

    # -- Python's own questions

    def __len__(self) -> int:
        if not self.array.ndim:
            raise TypeError("len() of a 0-d tensor")
        return len(self.array)

    def __iter__(self) -> Iterator[Tensor]:
        if not self.array.ndim:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __bool__(self) -> bool:
        if self.array.size != 1:
            many = "more than one value" if self.array.size else "no values"
            raise RuntimeError(f"Boolean value of Tensor with {many} is ambiguous")
        return bool(self.array.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self.array.size != 1 or self.dtype.is_floating_point:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.array.item())

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        from retainlint.numeric.printing import show

        return show(self)

    def __format__(self, spec: str) -> str:
        if not self.array.ndim:
            return format(self.array.item(), spec)
        return object.__format__(self, spec) if spec else repr(self)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        array: Array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def __contains__(self, item: Any) -> bool:
        return bool((self == item).any())

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  "
                "If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, "
                "see https://github.com/pytorch/pytorch/pull/103001"
            )
        if id(self) in memo:
            known: Tensor = memo[id(self)]
            return known
        made = type(self).of(self.array.copy())
        memo[id(self)] = made
        made.leaf_needs = self.leaf_needs
        made.grad_ = copy.deepcopy(self.grad_, memo)
        return made

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        raise LackingName(f"Tensor.{name}")

    if TYPE_CHECKING:  # put in place by operations/

        def __add__(self, other: Any) -> Tensor: ...
        def __radd__(self, other: Any) -> Tensor: ...
        def __sub__(self, other: Any) -> Tensor: ...
        def __rsub__(self, other: Any) -> Tensor: ...
        def __mul__(self, other: Any) -> Tensor: ...
        def __rmul__(self, other: Any) -> Tensor: ...
        def __truediv__(self, other: Any) -> Tensor: ...
        def __rtruediv__(self, other: Any) -> Tensor: ...
        def __pow__(self, other: Any) -> Tensor: ...
        def __rpow__(self, other: Any) -> Tensor: ...
        def __mod__(self, other: Any) -> Tensor: ...
        def __matmul__(self, other: Any) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __invert__(self) -> Tensor: ...
        def __and__(self, other: Any) -> Tensor: ...
        def __or__(self, other: Any) -> Tensor: ...
        def __eq__(self, other: Any) -> Tensor: ...  # type: ignore[override]
        def __ne__(self, other: Any) -> Tensor: ...  # type: ignore[override]
        def __lt__(self, other: Any) -> Tensor: ...
        def __le__(self, other: Any) -> Tensor: ...
        def __gt__(self, other: Any) -> Tensor: ...
        def __ge__(self, other: Any) -> Tensor: ...
        def __getitem__(self, item: Any) -> Tensor: ...
        def __setitem__(self, item: Any, value: Any) -> None: ...


def method(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Put a function in place as a tensor's method, under its own name and `names`."""

    def put(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in (function.__name__, *names):
            setattr(Tensor, name, function)
        return function

    return put
