"""The loss scale of mixed precision, which does nothing unless it is made for the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from retainlint.numeric.grad_mode import no_grad
from retainlint.numeric.tensor import Tensor


class GradScaler:
    """Scales a loss up before its walk and the gradients down again; off unless it is made for the CPU."""

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._enabled = enabled and device == "cpu"
        self._scale, self._interval = init_scale, growth_interval
        self._growth, self._backoff = growth_factor, backoff_factor
        self._good = 0
        self._unscaled: dict[int, bool] = {}

    def scale(self, outputs: Any) -> Any:
        """`outputs` times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * Tensor.of(np.asarray(self._scale, np.float32))
        return type(outputs)(self.scale(output) for output in outputs)

    def unscale_(self, optimizer: Any) -> None:
        """Divide the optimiser's gradients by the scale."""
        if not self._enabled:
            return
        if id(optimizer) in self._unscaled:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        finite = True
        with no_grad():
            for param in optimizer.parameters():
                if param.grad_ is not None:
                    finite = finite and bool(np.isfinite(param.grad_.array).all())
                    param.grad_.mul_(1 / self._scale)
        self._unscaled[id(optimizer)] = finite

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """The optimiser's step, unless a gradient overflowed."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if id(optimizer) not in self._unscaled:
            self.unscale_(optimizer)
        return optimizer.step(*args, **kwargs) if self._unscaled[id(optimizer)] else None

    def update(self, new_scale: Any = None) -> None:
        """Grow the scale after many good steps, shrink it after an overflow."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not all(self._unscaled.values()):
            self._scale, self._good = self._scale * self._backoff, 0
        else:
            self._good += 1
            if self._good == self._interval:
                self._scale, self._good = self._scale * self._growth, 0
        self._unscaled.clear()

    def get_scale(self) -> float:
        """The scale now."""
        return self._scale if self._enabled else 1.0

    def is_enabled(self) -> bool:
        """Whether it does anything."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Scale and count of good steps."""
        return {"scale": self._scale, "_growth_tracker": self._good} if self._enabled else {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        self._scale, self._good = state_dict.get("scale", self._scale), state_dict.get("_growth_tracker", 0)
