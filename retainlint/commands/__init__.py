"""What the command line can do: one thin file a command, none of which knows how its options were spelt."""

from __future__ import annotations

from importlib.util import find_spec


class CommandError(Exception):
    """The command can't do what was asked, for a reason that lies outside the code checked; written for people."""


def has_core() -> bool:
    """Whether the reference core can compute: it needs numpy, which reading code doesn't."""
    return find_spec("numpy") is not None


def need_core(what: str) -> None:
    """Raises CommandError if it can't, in which `what` is what was asked for."""
    if not has_core():
        raise CommandError(f"{what} needs numpy: pip install 'retainlint[run]'")
