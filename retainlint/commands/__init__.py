"""What the command line can do: one thin file a command, none of which knows how its options were spelt."""

from __future__ import annotations


class CommandError(Exception):
    """The command can't do what was asked, for a reason that lies outside the code checked; written for people."""
