"""What registering a hook gives: the way to take it off again."""

from __future__ import annotations

from collections.abc import Callable


class Handle:
    """What `register_hook` returns."""

    def __init__(self, remove: Callable[[], None]) -> None:
        self._remove: Callable[[], None] | None = remove

    def remove(self) -> None:
        """Take the hook off again."""
        if self._remove is not None:
            self._remove()
        self._remove = None

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()
