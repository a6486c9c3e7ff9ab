"""What an operation is: a forward on arrays, and one backward formula an input, in terms of operations again.

    exp = define("exp", np.exp, self=lambda g, s: g * s.result)

`g` is the gradient of the result, `s` what was saved: tensors by the names that saves.py gives them (a formula can't
see what its row doesn't save), the operation's parameters, `s.shapes`, and `columns`, the matrices among its inputs that
lie column by column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from retainlint.autograd.errors import OverlapError, PartialOverlapError
from retainlint.autograd.saves import rows
from retainlint.numeric import dtypes
from retainlint.numeric.dtypes import Array, dtype
from retainlint.numeric.lacking import LackingUse
from retainlint.numeric.layout import by_columns, overlaps, partly_shared, same_data
from retainlint.numeric.tape import Grads, Recording, Saved, changed, needing
from retainlint.numeric.tensor import Tensor
from retainlint.numeric.views import as_view, check_change, rebase

Formula = Callable[..., Any]
"""From the gradient of the result and what was saved to the gradient of one input; None where there is none."""


REPEATABLE = ("fill_", "zero_", "masked_fill", "index_put")
"""Operations whose in-place form torch allows on expanded tensors."""


DEFINED: set[str] = set()
"""The rows of saves.py that have numbers."""


class Operation:
    """One differentiable operation. `casts` tells what its inputs become first: "same" leaves them, "promote" makes
    them one dtype, "float" one floating dtype. The result of a `view` shares the first input's memory."""

    def __init__(
        self, name: str, forward: Callable[..., Any], casts: str, view: bool, vjps: dict[str, Formula]
    ) -> None:
        self.name, self.forward, self.casts, self.view, self.vjps = name, forward, casts, view, vjps
        self.row = rows()[name]
        self.in_memory: Callable[..., Any] | None = None  # how it writes where elements share memory
        self.variadic = len(self.row.inputs) == 1 and self.row.inputs[0].endswith("*")
        self.names = tuple(entry.rstrip("*") for entry in self.row.inputs)
        unknown = set(vjps) - set(self.names)
        if unknown:
            raise TypeError(f"{name} has no input {unknown}")

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Bind as a method, as functions do."""
        return self if instance is None else partial(self, instance)

    def __call__(self, *operands: Any, into: Tensor | None = None, node: str = "", **params: Any) -> Any:
        """Run; `into` is the first operand where it is to be changed in place; `node` overrides the node's name."""
        if params:
            operands, params = self._by_name(operands, params)
        tensors = [as_operand(operand) for operand in (operands[0] if self.variadic else operands)]
        if not self.variadic:
            tensors += [None] * (len(self.names) - len(tensors))
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
            if (columns := by_columns(self.names, arrays)) and not self.variadic:
                params = {**params, "columns": columns}
            if self.variadic:
                shapes = {str(i): t.array.shape for i, t in enumerate(tensors) if t is not None}
            step = recording.finish(node or self.row.node, self._pullback(recording.reached), outputs, params, shapes)
            if into is not None:
                rebase(into, step)
            else:
                for number, output in enumerate(outputs):
                    output.node, output.output = step, number
        several = into is None and isinstance(result, (tuple, list))
        return tuple(outputs) if several else outputs[0]

    def _by_name(self, operands: tuple[Any, ...], params: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Inputs may be given by name; the first is also called `input`, as torch's functions have it."""
        named = {self.names[0]: params.pop("input")} if "input" in params and "input" not in self.names else {}
        named |= {name: params.pop(name) for name in self.names if name in params}
        if params.pop("out", None) is not None:
            raise LackingUse(f"the argument `out` of torch.{self.name}")
        return operands + tuple(named[name] for name in self.names[len(operands) :] if name in named), params

    def _arrays(self, tensors: Sequence[Tensor | None], into: Tensor | None) -> list[Array | None]:
        if self.casts == "same":
            return [None if t is None else t.array for t in tensors]
        kind = result_dtype([t for t in tensors if t is not None])
        if self.casts == "float":
            kind = dtypes.floating(kind)
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


def define(
    name: str,
    forward: Callable[..., Any],
    *,
    casts: str = "promote",
    view: bool = False,
    in_memory: Callable[..., Any] | None = None,
    methods: str = "",
    changes: str = "",
    **vjps: Formula,
) -> Operation:
    """The operation that saves what the row `name` of saves.py says.

    It becomes the tensors' `methods`, and its in-place form their `changes` (names, with blanks between).
    """
    made = Operation(name, forward, casts, view, vjps)
    made.in_memory = in_memory
    DEFINED.add(name)
    for attribute in methods.split():
        setattr(Tensor, attribute, made)
    for attribute in changes.split():
        setattr(Tensor, attribute, in_place(made))
    return made


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


def in_place(operation: Operation) -> Callable[..., Tensor]:
    """The in-place form of an operation whose result has its first operand's shape."""

    def change(self: Tensor, *operands: Any, **params: Any) -> Tensor:
        operation(self, *operands, into=self, **params)
        return self

    return change
