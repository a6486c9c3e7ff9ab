"""Whether graphs are recorded: grad mode and inference mode, as blocks, decorators and statements."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class _State:
    recording = True
    inference = False


def is_grad_enabled() -> bool:
    """Whether operations record a graph."""
    return _State.recording


def is_inference_mode_enabled() -> bool:
    """Whether what is made can never enter a graph."""
    return _State.inference


class _Mode:
    """A block that sets the modes, and puts them back; also a decorator."""

    recording = True
    inference: bool | None = None

    def __init__(self) -> None:
        self._before: list[tuple[bool, bool]] = []

    def __enter__(self) -> None:
        self._before.append((_State.recording, _State.inference))
        _State.recording = self.recording
        if self.inference is not None:
            _State.inference = self.inference

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _State.recording, _State.inference = self._before.pop()

    def clone(self) -> _Mode:
        """A fresh one for each call of a decorated function."""
        return type(self)()

    def __call__(self, function: F) -> F:
        decorated: F = self._decorate(function)
        return decorated

    def _decorate(self, function: Any) -> Any:
        if inspect.isclass(function):
            decorated = self._decorate(function.__init__)
            function.__init__ = decorated  # type: ignore[method-assign]
            return function
        if inspect.isgeneratorfunction(function):
            return self._decorate_generator(function)

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return wrapped

    def _decorate_generator(self, function: Any) -> Any:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                generator = function(*args, **kwargs)
            sent: Any = None
            while True:
                with self.clone():
                    try:
                        value = generator.send(sent)
                    except StopIteration as stop:
                        return stop.value
                sent = yield value

        return wrapped


class no_grad(_Mode):  # noqa: N801
    """Nothing records a graph here."""

    recording = False

    def __new__(cls, function: Any = None) -> Any:
        made = super().__new__(cls)
        if function is None:
            return made
        made.__init__()  # type: ignore[misc]
        return made(function)

    def __init__(self, function: Any = None) -> None:
        super().__init__()


class enable_grad(no_grad):  # noqa: N801
    """A graph is recorded here, also inside no_grad."""

    recording = True


class set_grad_enabled(_Mode):  # noqa: N801
    """Sets the mode at once; as a block, puts it back at the end."""

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self.recording = bool(mode)
        self._outside = (_State.recording, _State.inference)
        _State.recording = self.recording

    def __enter__(self) -> None:
        self._before.append(self._outside)
        _State.recording = self.recording

    def __call__(self, function: F) -> F:
        _State.recording = self._outside[0]
        return super().__call__(function)

    def clone(self) -> _Mode:
        return set_grad_enabled(self.recording)


class inference_mode(_Mode):  # noqa: N801
    """Nothing records here, and what is made here can't enter a graph later."""

    def __new__(cls, mode: Any = True) -> Any:
        made = super().__new__(cls)
        if isinstance(mode, bool):
            return made
        made.__init__()  # type: ignore[misc]
        return made(mode)

    def __init__(self, mode: Any = True) -> None:
        super().__init__()
        self.inference = mode if isinstance(mode, bool) else True
        self.recording = not self.inference

    def clone(self) -> _Mode:
        made: _Mode = inference_mode(bool(self.inference))
        return made
