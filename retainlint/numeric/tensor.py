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
from retainlint.numeric.dtypes import Array
from retainlint.numeric.lacking import LackingName
from retainlint.numeric.layout import Size, sizes, wrap_dim


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
    "inference", "shared" for one of several that an operation returned, or "hooked" for what a module with a full backward
    hook was given or gave.
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
            self._refresh()
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

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        self.requires_grad = requires_grad
        return self

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
    def dtype(self) -> dtypes.dtype:
        return dtypes.of_array(self.array)

    @property
    def ndim(self) -> int:
        return self.array.ndim

    @property
    def device(self) -> dtypes.device:
        return dtypes.CPU

    is_cuda = is_sparse = is_quantized = is_mkldnn = is_meta = False
    layout = "torch.strided"
    itemsize = property(lambda self: self.array.itemsize)
    nbytes = property(lambda self: self.array.nbytes)

    def size(self, dim: int | None = None) -> Any:
        """The shape, or one size."""
        return self.shape if dim is None else self.array.shape[wrap_dim(dim, self.array.ndim)]

    def dim(self) -> int:
        return self.array.ndim

    def numel(self) -> int:
        return int(self.array.size)

    def stride(self, dim: int | None = None) -> Any:
        """How many elements lie between neighbours."""
        steps = tuple(step // self.array.itemsize for step in self.array.strides)
        return steps if dim is None else steps[dim]

    def is_contiguous(self, *, memory_format: Any = None) -> bool:
        return bool(self.array.flags.c_contiguous)

    def element_size(self) -> int:
        return self.array.itemsize

    def data_ptr(self) -> int:
        """The address of the first element."""
        found: int = self.array.__array_interface__["data"][0]
        return found

    def is_floating_point(self) -> bool:
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        return False

    def is_inference(self) -> bool:
        return self.made_in_inference

    ndimension, nelement = dim, numel

    # -- where it is: there are no other devices

    def get_device(self) -> int:
        return -1

    def cpu(self, memory_format: Any = None) -> Tensor:
        return self

    pin_memory = share_memory_ = cpu

    def cuda(self, device: Any = None, non_blocking: bool = False) -> Tensor:
        raise AssertionError("Torch not compiled with CUDA enabled")

    # -- what Python sees of the numbers

    def item(self) -> Any:
        """The one element as a Python number."""
        if self.array.size != 1:
            raise RuntimeError(f"a Tensor with {self.array.size} elements cannot be converted to Scalar")
        return self.array.item()

    def tolist(self) -> Any:
        return self.array.tolist()

    def numpy(self, *, force: bool = False) -> Any:
        """The array, over the same memory."""
        if self.requires_grad and not force:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        return self.array

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

    if TYPE_CHECKING:  # put in place by operations

        def _with(self, other: Any) -> Tensor: ...
        def _alone(self) -> Tensor: ...

        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _with
        __pow__ = __rpow__ = __mod__ = __matmul__ = __and__ = __or__ = __lt__ = __le__ = __gt__ = __ge__ = _with
        __eq__ = __ne__ = _with  # type: ignore[assignment]
        __neg__ = __invert__ = _alone
        __getitem__ = _with

        def __setitem__(self, item: Any, value: Any) -> None: ...


def method(*names: str, changes: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Put a function in place as a tensor's method, under its own name and `names`; its in-place form under `changes`
    (names, with blanks between)."""

    def put(function: Callable[..., Any]) -> Callable[..., Any]:
        put_there(function, " ".join((function.__name__, *names)), changes)
        return function

    return put


def put_there(function: Callable[..., Any], methods: str, changes: str) -> None:
    """Let tensors have a function as `methods`, and, with the tensor itself as `into`, as `changes`."""

    def change(self: Tensor, *operands: Any, **params: Any) -> Tensor:
        function(self, *operands, into=self, **params)
        return self

    for name in methods.split():
        setattr(Tensor, name, function)
    for name in changes.split():
        setattr(Tensor, name, change)


def called(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function under a name of torch's, which Python's errors call it by."""
    function.__name__ = function.__qualname__ = name
    return function


def array_of(data: Any, kind: Any = None) -> Array:
    """An array of nested sequences, numbers, arrays and tensors, in the dtype that torch would choose."""
    if isinstance(data, Tensor):
        return data.array.astype(kind.numpy if kind else data.array.dtype)
    if isinstance(data, (np.ndarray, np.generic)):
        found = np.array(data)
        return found.astype(kind.numpy) if kind else found
    plain = _plain(data)
    try:
        found = np.array(plain)
    except ValueError as error:
        raise ValueError(_uneven(plain, 0) or str(error)) from error
    if found.dtype.kind not in "biuf":
        if not isinstance(data, (list, tuple)):
            raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
        raise ValueError(f"too many dimensions or unequal lengths in {type(data).__name__}")
    if kind is not None:
        return found.astype(kind.numpy)
    if found.dtype.kind == "f":
        doubles = isinstance(data, (list, tuple)) and _has_doubles(data)
        return found.astype(np.float64 if doubles else dtypes.default().numpy)
    return found.astype(dtypes.default().numpy) if not found.size else found


def _uneven(data: Any, dim: int) -> str:
    """Where nested lists aren't equally long, in torch's words."""
    if not isinstance(data, list) or not data or not isinstance(data[0], list):
        return ""
    for entry in data:
        if not isinstance(entry, list) or len(entry) != len(data[0]):
            have = len(entry) if isinstance(entry, list) else 0
            return f"expected sequence of length {len(data[0])} at dim {dim + 1} (got {have})"
    return next(filter(None, (_uneven(entry, dim + 1) for entry in data)), "")


def _plain(data: Any) -> Any:
    if isinstance(data, Tensor):
        return data.array.item() if data.array.size == 1 and not data.array.ndim else data.array.tolist()
    if isinstance(data, (list, tuple, range)):
        return [_plain(entry) for entry in data]
    return data


def _has_doubles(data: Any) -> bool:
    if isinstance(data, (list, tuple)):
        return bool(len(data)) and _has_doubles(data[0])
    return isinstance(data, (np.float64, np.ndarray, Tensor)) and getattr(data, "dtype", None) in (
        np.dtype(np.float64),
        dtypes.float64,
    )


def legacy_tensor(cls: type[Tensor], *args: Any, **options: Any) -> Tensor:
    """torch.Tensor(2, 3), torch.Tensor([1, 2]): always of the default dtype; of a tensor, that with its graph."""
    kind = options.pop("kind", dtypes.default())
    if len(args) == 1 and isinstance(args[0], Tensor):
        return args[0].alias()  # type: ignore[no-any-return]
    if len(args) == 1 and not isinstance(args[0], int):
        return cls.of(array_of(args[0], kind))
    return cls.of(np.zeros(sizes(args), kind.numpy))
