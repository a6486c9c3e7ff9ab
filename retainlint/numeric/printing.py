"""Tensors as torch prints them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from retainlint.numeric import dtypes
from retainlint.numeric.dtypes import Array
from retainlint.numeric.tensor import Tensor, method


@dataclass
class Options:
    """What `set_printoptions` sets."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


OPTIONS = Options()
PROFILES = {"default": Options(), "short": Options(2, 1000, 2), "full": Options(4, math.inf)}


def set_printoptions(profile: str | None = None, **options: Any) -> None:
    if profile is not None:
        OPTIONS.__dict__.update(PROFILES[profile].__dict__)
    for name, value in options.items():
        if value is not None or name == "sci_mode":
            setattr(OPTIONS, name, value)


class _Style:
    """How the numbers of one tensor are written: all alike, and as wide as the widest."""

    def __init__(self, shown: Array) -> None:
        self.floats = shown.dtype.kind == "f"
        self.whole = self.scientific = False
        self.width = 1
        if not self.floats:
            self.width = max((len(str(value)) for value in shown.ravel().tolist()), default=1)
            return
        real = np.abs(shown[np.isfinite(shown) & (shown != 0)].astype(np.float64))
        self.whole = bool((real == np.ceil(real)).all())
        if real.size:
            top, low = float(real.max()), float(real.min())
            self.scientific = top / low > 1000 or top > 1e8 or (not self.whole and low < 1e-4)
        if OPTIONS.sci_mode is not None:
            self.scientific = OPTIONS.sci_mode
        signed = shown[np.isfinite(shown) & (shown != 0)].tolist()
        self.width = max((len(self.text(value)) for value in signed), default=1)

    def text(self, value: Any) -> str:
        """One number, not yet padded."""
        if not self.floats:
            return str(value)
        if self.scientific:
            return f"{value:.{OPTIONS.precision}e}"
        if self.whole:
            return f"{value:.0f}" + ("." if math.isfinite(value) else "")
        return f"{value:.{OPTIONS.precision}f}"

    def padded(self, value: Any) -> str:
        """One number, as wide as the others."""
        return self.text(value).rjust(self.width)


def _row(row: Array, style: _Style, indent: int, shorten: bool) -> str:
    values = row.tolist()
    if shorten and len(values) > 2 * OPTIONS.edgeitems:
        edge = OPTIONS.edgeitems
        entries = [*map(style.padded, values[:edge]), " ...", *map(style.padded, values[-edge:])]
    else:
        entries = [style.padded(value) for value in values]
    per_line = max(1, (OPTIONS.linewidth - indent) // (style.width + 2))
    lines = [", ".join(entries[i : i + per_line]) for i in range(0, len(entries), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _body(array: Array, style: _Style, indent: int, shorten: bool) -> str:
    if not array.ndim:
        return style.padded(array.item())
    if array.ndim == 1:
        return _row(array, style, indent, shorten)
    edge = OPTIONS.edgeitems
    if shorten and len(array) > 2 * edge:
        parts = [_body(part, style, indent + 1, shorten) for part in array[:edge]]
        parts += ["..."] + [_body(part, style, indent + 1, shorten) for part in array[-edge:]]
    else:
        parts = [_body(part, style, indent + 1, shorten) for part in array]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def _edges(array: Array) -> Array:
    """What is shown of an array that is too large."""
    for dim, size in enumerate(array.shape):
        if size > 2 * OPTIONS.edgeitems:
            edge = OPTIONS.edgeitems
            array = np.concatenate([array.take(range(edge), dim), array.take(range(size - edge, size), dim)], dim)
    return array


@method("__repr__")
def _shown(tensor: Tensor, *, tensor_contents: Any = None) -> str:
    array = tensor.array
    prefix = "tensor("
    suffixes = []
    kind = tensor.dtype
    if not array.size:
        body = "[]"
        if array.ndim != 1:
            suffixes.append(f"size={tuple(array.shape)}")
        if kind is not dtypes.default():
            suffixes.append(f"dtype={kind!r}")
    else:
        shorten = array.size > OPTIONS.threshold
        body = _body(array, _Style(_edges(array) if shorten else array), len(prefix), shorten)
        if kind not in (dtypes.default(), dtypes.int64, dtypes.bool_):
            suffixes.append(f"dtype={kind!r}")
    try:
        node = tensor.gradient_node()
        name = None if node is None else node.op
    except RuntimeError:
        name = "Invalid"
    if name is not None:
        suffixes.append(f"grad_fn=<{name}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    text = _with_suffixes(prefix + body, suffixes, len(prefix))
    return f"Parameter containing:\n{text}" if getattr(tensor, "is_parameter", False) else text


def _with_suffixes(text: str, suffixes: list[str], indent: int) -> str:
    length = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if length + len(suffix) + 2 > OPTIONS.linewidth:
            text += ",\n" + " " * indent + suffix
            length = indent + len(suffix)
        else:
            text += ", " + suffix
            length += len(suffix) + 2
    return text + ")"
