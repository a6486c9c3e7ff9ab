"""RNN, LSTM and GRU, and their cells."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from retainlint.numeric.creation import empty, zeros
from retainlint.numeric.lacking import LackingUse
from retainlint.numeric.nn import functional as F
from retainlint.numeric.nn import init
from retainlint.numeric.nn.module import Module, Parameter
from retainlint.numeric.operations.pieces import cat, flip, stack
from retainlint.numeric.operations.products import linear
from retainlint.numeric.tensor import Tensor

Step = Callable[..., Any]


def _gates(x: Any, h: Any, w_x: Any, w_h: Any, b_x: Any, b_h: Any) -> Any:
    return linear(h, w_h, b_h) + linear(x, w_x, b_x)


def _tanh_step(x: Any, state: Any, *weights: Any) -> Any:
    return _gates(x, state, *weights).tanh()


def _relu_step(x: Any, state: Any, *weights: Any) -> Any:
    return _gates(x, state, *weights).relu()


def _lstm_step(x: Any, state: Any, *weights: Any) -> Any:
    h, c = state
    enter, forget, cell, leave = _gates(x, h, *weights).chunk(4, 1)
    c = forget.sigmoid() * c + enter.sigmoid() * cell.tanh()
    return leave.sigmoid() * c.tanh(), c


def _gru_step(x: Any, h: Any, w_x: Any, w_h: Any, b_x: Any, b_h: Any) -> Any:
    reset_x, update_x, new_x = linear(x, w_x, b_x).chunk(3, 1)
    reset_h, update_h, new_h = linear(h, w_h, b_h).chunk(3, 1)
    reset, update = (reset_x + reset_h).sigmoid(), (update_x + update_h).sigmoid()
    new = (new_x + reset * new_h).tanh()
    return (h - new) * update + new


class _Plain(Module):
    """How a network steps: h' = tanh(W x + U h)."""

    gates = 1
    step: Step = staticmethod(_tanh_step)
    has_cell = False


class _Gru(_Plain):
    gates = 3
    step = staticmethod(_gru_step)


class _Lstm(_Plain):
    gates = 4
    step = staticmethod(_lstm_step)
    has_cell = True


class _Cell(_Plain):
    """One step of a recurrent network."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        self.weight_ih = Parameter(empty(self.gates * hidden_size, input_size))
        self.weight_hh = Parameter(empty(self.gates * hidden_size, hidden_size))
        self.register_parameter("bias_ih", Parameter(empty(self.gates * hidden_size)) if bias else None)
        self.register_parameter("bias_hh", Parameter(empty(self.gates * hidden_size)) if bias else None)
        bound = 1 / math.sqrt(hidden_size) if hidden_size else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        alone = input.array.ndim == 1
        x = input.unsqueeze(0) if alone else input
        if hx is None:
            zero = zeros(x.array.shape[0], self.hidden_size, dtype=x.dtype)
            hx = (zero, zero) if self.has_cell else zero
        elif alone:
            hx = tuple(part.unsqueeze(0) for part in hx) if self.has_cell else hx.unsqueeze(0)
        weights = (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        found = self.step(x, tuple(hx) if self.has_cell else hx, *weights)
        if not alone:
            return found
        return tuple(part.squeeze(0) for part in found) if self.has_cell else found.squeeze(0)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


class RNNCell(_Cell):
    """h' = tanh(W x + U h)."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh") -> None:
        super().__init__(input_size, hidden_size, bias)
        if nonlinearity == "relu":
            self.step = _relu_step


class GRUCell(_Gru, _Cell):
    """A gated recurrent unit."""


class LSTMCell(_Lstm, _Cell):
    """Long short-term memory."""


class _Recurrent(_Plain):
    """Layers of cells over a sequence."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
    ) -> None:
        super().__init__()
        if proj_size:
            raise LackingUse(f"torch.nn.{type(self).__name__}(proj_size=...)")
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout, self.bidirectional = bias, batch_first, dropout, bidirectional
        width = self.gates * hidden_size
        for layer in range(num_layers):
            size = input_size if layer == 0 else hidden_size * (2 if bidirectional else 1)
            for end in self._ends():
                shapes: dict[str, tuple[int, ...]] = {"weight_ih": (width, size), "weight_hh": (width, hidden_size)}
                shapes |= {"bias_ih": (width,), "bias_hh": (width,)} if bias else {}
                for name, shape in shapes.items():
                    setattr(self, f"{name}_l{layer}{end}", Parameter(empty(*shape)))
        bound = 1 / math.sqrt(hidden_size) if hidden_size else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _ends(self) -> tuple[str, ...]:
        return ("", "_reverse") if self.bidirectional else ("",)

    def flatten_parameters(self) -> None:
        """Nothing to do here."""

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        alone = input.array.ndim == 2
        x = input.unsqueeze(0 if self.batch_first else 1) if alone else input
        x = x.transpose(0, 1).contiguous() if self.batch_first else x  # which torch saves: a copy, but of single rows
        states = self._states(x, hx, alone)
        last = []
        for layer in range(self.num_layers):
            outputs = []
            for number, end in enumerate(self._ends()):
                at = layer * len(self._ends()) + number
                output, state = self._layer(x, tuple(part[at] for part in states), f"l{layer}{end}")
                outputs.append(output)
                last.append(state)
            x = outputs[0] if len(outputs) == 1 else cat(outputs, 2)
            if self.dropout and layer + 1 < self.num_layers:
                x = F.dropout(x, self.dropout, self.training)
        finals = tuple(stack([state[i] for state in last]) for i in range(len(last[0])))
        x = x.transpose(0, 1) if self.batch_first else x
        if alone:
            x, finals = x.squeeze(0 if self.batch_first else 1), tuple(part.squeeze(1) for part in finals)
        return x, finals if self.has_cell else finals[0]

    def _states(self, x: Tensor, hx: Any, alone: bool) -> tuple[Any, ...]:
        count = self.num_layers * len(self._ends())
        if hx is None:
            made = zeros(count, x.array.shape[1], self.hidden_size, dtype=x.dtype)
            return (made, made) if self.has_cell else (made,)
        parts = tuple(hx) if self.has_cell else (hx,)
        wanted = (count, x.array.shape[1], self.hidden_size)
        for part in parts:
            if not alone and part.array.shape != wanted:
                raise RuntimeError(f"Expected hidden size {wanted}, got {list(part.array.shape)}")
        return tuple(part.unsqueeze(1) for part in parts) if alone else parts

    def _layer(self, x: Tensor, state: tuple[Any, ...], name: str) -> tuple[Any, tuple[Any, ...]]:
        weights = [getattr(self, f"{kind}_{name}") for kind in ("weight_ih", "weight_hh")]
        weights += [getattr(self, f"{kind}_{name}") if self.bias else None for kind in ("bias_ih", "bias_hh")]
        back = name.endswith("_reverse")
        outputs = []
        steps = flip(x, 0) if back else x
        for number in range(steps.array.shape[0]):
            found = self.step(steps[number], state if self.has_cell else state[0], *weights)
            state = found if self.has_cell else (found,)
            outputs.append(state[0])
        whole = stack(outputs)
        return (flip(whole, 0) if back else whole), state

    def extra_repr(self) -> str:
        parts = [str(self.input_size), str(self.hidden_size)]
        parts += [f"num_layers={self.num_layers}"] if self.num_layers != 1 else []
        parts += ["bias=False"] if not self.bias else []
        parts += ["batch_first=True"] if self.batch_first else []
        parts += [f"dropout={self.dropout}"] if self.dropout else []
        parts += ["bidirectional=True"] if self.bidirectional else []
        return ", ".join(parts)


class RNN(_Recurrent):
    """A plain recurrent network."""

    def __init__(self, *args: Any, nonlinearity: str = "tanh", **kwargs: Any) -> None:
        if len(args) > 3 and isinstance(args[3], str):
            nonlinearity, args = args[3], (*args[:3], *args[4:])
        super().__init__(*args, **kwargs)
        if nonlinearity == "relu":
            self.step = _relu_step


class GRU(_Gru, _Recurrent):
    """Gated recurrent units over a sequence."""


class LSTM(_Lstm, _Recurrent):
    """Long short-term memory over a sequence."""
