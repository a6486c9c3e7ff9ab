"""What an operation is: a forward on arrays, and one backward formula an input, in terms of operations again.

    exp = define("exp", np.exp, self=lambda g, s: g * s.result)

`g` is the gradient of the result, `s` what was saved: tensors by the names that operations.py gives them (a formula can't
see what its row doesn't save), the operation's parameters, `s.shapes`, and `columns`, the matrices among its inputs that
lie column by column.

The parameters are those that the forward takes behind the arrays, and are given as torch's functions have them: by place
or by name. The forward sees dimensions counted from 0 (`dim`, `dim0`..., and `dims` for several, all if none are given),
and the arrays of tensors.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from types import FunctionType
from typing import Any

import numpy as np

from retainlint.autograd.errors import OverlapError, PartialOverlapError
from retainlint.autograd.operations import rows
from retainlint.numeric import dtypes
from retainlint.numeric.dtypes import Array, dtype
from retainlint.numeric.lacking import LackingUse
from retainlint.numeric.layout import by_columns, dims_of, overlaps, partly_shared, same_data, wrap_dim
from retainlint.numeric.tape import Grads, Recording, Saved, changed, needing
from retainlint.numeric.tensor import Tensor, put_there
from retainlint.numeric.views import as_view, check_change, rebase

Formula = Callable[..., Any]
"""From the gradient of the result and what was saved to the gradient of one input; None where there is none."""


REPEATABLE = ("fill_", "zero_", "masked_fill", "index_put")
"""Operations whose in-place form torch allows on expanded tensors."""


DEFINED: set[str] = set()
"""The rows of operations.py that have numbers."""


@dataclass(eq=False)
class Operation:
    """One differentiable operation. `casts` tells what its inputs become first: "same" leaves them, "promote" makes
    them one dtype, "float" one floating dtype; "wide" makes integers have 64 bits. The result of a `view` shares the first input's
    memory. The node of a `numbered` one ends in 1 where dimensions are named. `extra` is what it takes behind the forward's
    parameters: `inplace`; `dtype`, which the first input gets first. `in_memory` writes where elements share memory."""

    name: str
    forward: Callable[..., Any]
    vjps: dict[str, Formula]
    casts: str = "same"
    view: bool = False
    numbered: bool = False
    extra: str = ""
    in_memory: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        self.row = rows()[self.name]
        self.variadic = len(self.row.inputs) == 1 and self.row.inputs[0].endswith("*")
        self.names = tuple(entry.rstrip("*") for entry in self.row.inputs)
        behind = dict(islice(_parameters(self.forward, self.name), len(self.names), None))
        self.params = behind | dict.fromkeys(self.extra.split())
        self.dims = [name for name in self.params if re.fullmatch(r"dim\d?", name)]
        self.defaults = {name: value for name, value in self.params.items() if value is not inspect.Parameter.empty}
        self.required = self.params.keys() - self.defaults.keys()
        self.__doc__ = None
        unknown = set(self.vjps) - set(self.names)
        if unknown:
            raise TypeError(f"{self.name} has no input {unknown}")

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Bind as a method, as functions do."""
        return self if instance is None else partial(self, instance)

    def __call__(self, *operands: Any, into: Tensor | None = None, node: str = "", **params: Any) -> Any:
        """Run; `into` is the first operand where it is to be changed in place; `node` overrides the node's name."""
        if params or len(operands) > len(self.names):
            operands, params = self._by_name(operands, params)
        tensors = [as_operand(operand) for operand in (operands[0] if self.variadic else operands)]
        if not self.variadic:
            tensors += [None] * (len(self.names) - len(tensors))
        if self.params and not self.variadic:
            node = node or (self.row.node[:-1] + "1" if self.numbered and params.get("dims") is not None else "")
            params = self._read(tensors, params)
            into = tensors[0] if params.pop("inplace", False) else into
        needs = needing(tensors)
        if into is not None:
            check_change(into, any(needs))
        arrays = self._arrays(tensors, into)
        recording = Recording(self.row, tensors, needs, into is not None) if any(needs) else None
        if into is not None and self.in_memory is not None and overlaps(into.array):
            self.in_memory(*arrays, **params)
            result = into.array
        else:
            result = self.forward(arrays, **params) if self.variadic else self.forward(*arrays, **params)
        if into is not None:
            for tensor in tensors[1:]:
                if tensor is not None and not isinstance(tensor, Number) and self._collides(into, tensor):
                    raise PartialOverlapError().plain()
            source = tensors[1].array if self.name == "copy_" and tensors[1] is not None else None
            onto_itself = source is not None and same_data(into.array, source)  # torch then writes nothing
            outputs = [written(into, result, self.name in REPEATABLE or onto_itself)]
        else:
            several = isinstance(result, (tuple, list))
            outputs = [self._output(tensors[0], array, several) for array in (result if several else (result,))]
        if recording is not None and outputs[0].dtype.is_floating_point:
            shapes = {name: t.array.shape for name, t in zip(self.names, tensors) if t is not None}
            if self.variadic:
                shapes = {str(i): t.array.shape for i, t in enumerate(tensors) if t is not None}
            else:
                params["columns"] = by_columns(self.names, arrays)
            step = recording.finish(node or self.row.node, self._pullback(recording.reached), outputs, params, shapes)
            if into is not None:
                rebase(into, step)
            else:
                for number, output in enumerate(outputs):
                    output.node, output.output = step, number
        several = into is None and isinstance(result, (tuple, list))
        return tuple(outputs) if several else outputs[0]

    def _by_name(self, operands: tuple[Any, ...], params: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Inputs and parameters, which may be given by place or by name; the first is also called `input`, as torch's
        functions have it."""
        given, beyond = operands[: len(self.names)], operands[len(self.names) :]
        named: dict[str, Any] = {}
        if not params.keys() <= self.params.keys():
            named = {self.names[0]: params.pop("input")} if "input" in params and "input" not in self.names else {}
            named |= {name: params.pop(name) for name in self.names if name in params}
            if params.pop("out", None) is not None:
                raise LackingUse(f"the argument `out` of torch.{self.name}")
            for word, name in (("dim", "dims"), ("axis", "dims"), ("axis", "dim"), ("keepdims", "keepdim")):
                if word in params and word not in self.params and name in self.params:
                    params[name] = params.pop(word)
        if beyond:
            placed = dict(zip(self.params, beyond))
            if len(placed) < len(beyond) or placed.keys() & params.keys():
                raise TypeError(f"{self.name}() takes {len(self.names) + len(self.params)} arguments, each once")
            params |= placed
        return given + tuple(named[name] for name in self.names[len(given) :] if name in named), params

    def _read(self, tensors: list[Tensor | None], params: dict[str, Any]) -> dict[str, Any]:
        """The parameters as the forward takes them; the first operand in the dtype that is asked for."""
        params = {**self.defaults, **params}
        if self.required and (missing := self.required - params.keys()):
            names = ", ".join(f'"{name.replace("dims", "dim")}"' for name in self.params if name in missing)
            raise TypeError(f"{self.name}() missing {len(missing)} required positional arguments: {names}")
        first = tensors[0]
        assert first is not None
        if "dtype" in self.params and (kind := params.pop("dtype")) is not None:
            if not isinstance(kind, dtype):
                raise TypeError(f"{self.name}(): argument 'dtype' must be torch.dtype, not {type(kind).__name__}")
            first = tensors[0] = first.to(kind)
        elif self.casts == "wide" and not first.dtype.is_floating_point:
            first = tensors[0] = first.to(dtypes.int64)
        if "dims" in self.params:
            params["dims"] = dims_of(params["dims"], first.array.ndim)
        for name in self.dims:
            params[name] = wrap_dim(params[name], first.array.ndim)
        return {name: value.array if isinstance(value, Tensor) else value for name, value in params.items()}

    def _arrays(self, tensors: Sequence[Tensor | None], into: Tensor | None) -> list[Array | None]:
        if self.casts in ("same", "wide"):
            return [None if t is None else t.array for t in tensors]
        kind = result_dtype([t for t in tensors if t is not None])
        if self.casts == "float" and not kind.is_floating_point:
            kind = dtypes.default()
        if into is not None and kind.category > into.dtype.category:
            raise RuntimeError(
                f"result type {kind.legacy} can't be cast to the desired output type {into.dtype.legacy}"
            )
        return [None if t is None else t.array.astype(kind.numpy, copy=False) for t in tensors]

    def _collides(self, into: Tensor, tensor: Tensor) -> bool:
        """Whether torch refuses to read `tensor` while it writes `into`."""
        if self.name == "index_put":
            return np.may_share_memory(into.array, tensor.array)
        return partly_shared(into.array, tensor.array)

    def _output(self, first: Tensor | None, array: Any, many: bool) -> Tensor:
        if self.view and first is not None:
            return as_view(first, array, shared=many)
        return Tensor.of(array)

    def _pullback(self, needs: Sequence[bool]) -> Callable[[Saved, list[Tensor | None]], Grads]:
        def pull(saved: Saved, grads: list[Tensor | None]) -> Grads:
            if all(grad is None for grad in grads):
                return [None] * len(needs)
            g: Any = grads[0] if len(grads) == 1 else grads
            if self.variadic:
                many: Grads = self.vjps[self.names[0]](g, saved)
                return [grad if need else None for grad, need in zip(many, needs)]
            return [self.vjps[n](g, saved) if need and n in self.vjps else None for n, need in zip(self.names, needs)]

        return pull


def _parameters(forward: Callable[..., Any], name: str) -> Iterator[tuple[str, Any]]:
    """What a forward takes, with what it takes by default; nothing is told of numpy's own functions. Python's errors will
    call it by the name of its operation."""
    forward = inspect.unwrap(forward)
    if isinstance(forward, FunctionType):
        forward.__qualname__ = name
        for each in inspect.signature(forward).parameters.values():
            if each.kind is not each.VAR_KEYWORD:
                yield each.name, each.default


def define(
    name: str,
    forward: Callable[..., Any],
    *,
    casts: str = "same",
    view: bool = False,
    numbered: bool = False,
    extra: str = "",
    in_memory: Callable[..., Any] | None = None,
    methods: str = "",
    changes: str = "",
    **vjps: Formula,
) -> Operation:
    """The operation that saves what the row `name` of operations.py says.

    It becomes the tensors' `methods`, and its in-place form their `changes` (names, with blanks between).
    """
    made = Operation(name, forward, vjps, casts, view, numbered, extra, in_memory)
    DEFINED.add(name)
    put_there(made, methods, changes)
    return made


promoted = partial(define, casts="promote")


class Number(Tensor):
    """A Python number among tensors: it doesn't decide the dtype within its category."""


def as_operand(value: Any) -> Tensor | None:
    """A tensor of an operand: Python numbers have no dimensions; None stays."""
    if value is None or isinstance(value, Tensor):
        return value
    if isinstance(value, (bool, int, float, np.number, np.bool_)):
        kind = dtypes.of_scalar(value)  # type: ignore[arg-type]
        return Number.of(np.asarray(value, dtype=np.float64 if kind.is_floating_point else kind.numpy))
    raise TypeError(f"unsupported operand of type {type(value).__name__!r} for a tensor operation")


def result_dtype(tensors: Sequence[Tensor]) -> dtype:
    """The dtype that an operation on these gives."""
    numbers = [dtypes.default() if t.dtype.is_floating_point else t.dtype for t in tensors if isinstance(t, Number)]
    zero = [t.dtype for t in tensors if not t.array.ndim and not isinstance(t, Number)]
    return dtypes.result([t.dtype for t in tensors if t.array.ndim], zero, numbers)


def written(into: Tensor, result: Any, repeatable: bool = False) -> Tensor:
    """Write the result of an in-place operation, and count the change; `repeatable` if it may be written twice."""
    result = np.asarray(result)
    if result.shape != into.array.shape:
        raise RuntimeError(
            f"output with shape {list(into.array.shape)} doesn't match the broadcast shape {list(result.shape)}"
        )
    if overlaps(into.array) and not repeatable:
        raise OverlapError().plain()
    into.array[...] = result
    changed(into)
    return into
