"""How the core says that it lacks something of torch's: the name, and the line that wants it."""

from __future__ import annotations

import os
import sys
from types import FrameType

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def users_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame that is not the core's, nor the import machinery's."""
    while frame is not None and (
        frame.f_code.co_filename.startswith((_HERE, "<frozen importlib"))
        or frame.f_globals.get("__name__", "").startswith(
            ("importlib.", "contextlib", "functools", "retainlint.autograd.")
        )
    ):
        frame = frame.f_back
    return frame


def sentence(name: str) -> str:
    """What the core says when it has no `name`."""
    frame = users_frame(sys._getframe(1))
    where = f" ({os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno})" if frame is not None else ""
    return f"retainlint's reference core has no {name} yet{where}"


class LackingName(AttributeError):
    """A function, class or method of torch's that the core hasn't got."""

    def __init__(self, name: str) -> None:
        super().__init__(sentence(name))


class LackingModule(ImportError):
    """A module of torch's that the core hasn't got."""

    def __init__(self, name: str) -> None:
        super().__init__(sentence(name), name=name)


class LackingUse(NotImplementedError):
    """An argument, or a use, of something that the core has only in part."""

    def __init__(self, what: str) -> None:
        super().__init__(sentence(what))
