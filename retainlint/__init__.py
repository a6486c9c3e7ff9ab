"""retainlint: a borrow checker for PyTorch's autograd graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retainlint.startup.version import __version__

__all__ = [
    "CommandError",
    "Condition",
    "Diagnostic",
    "Label",
    "Severity",
    "Span",
    "Witness",
    "__version__",
    "check",
    "check_source",
    "render",
]

if TYPE_CHECKING:
    from retainlint.api import check, check_source, render
    from retainlint.commands import CommandError
    from retainlint.diagnostic import Diagnostic, Label, Severity
    from retainlint.incident import Condition, Witness
    from retainlint.text.source import Span
else:

    def __getattr__(name: str) -> object:
        """What is public is imported when it is first asked for: the command line doesn't need it."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from retainlint import api

        return getattr(api, name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
