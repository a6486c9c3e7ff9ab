"""Where the texts that are fixed come from and go to: files, or standard input and output."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from typing import Protocol

    class Texts(Protocol):
        """Bytes by the name of their file. Both raise OSError; writing raises ValueError if they aren't `before` any
        more."""

        def read(self, name: str) -> bytes: ...
        def write(self, name: str, before: bytes, after: bytes) -> None: ...


class OnDisk:
    """Files, which are replaced whole."""

    def read(self, name: str) -> bytes:
        with open(name, "rb") as file:
            return file.read()

    def write(self, name: str, before: bytes, after: bytes) -> None:
        from retainlint.text.writing import replace

        if self.read(name) != before:
            raise ValueError("it was changed meanwhile")
        replace(os.fspath(name), after)


class Given:
    """What came through standard input, under the name of a file that need not be there, or hold the same."""

    def __init__(self, name: str, data: bytes) -> None:
        self.name, self.data = name, data

    def read(self, name: str) -> bytes:
        return self.data

    def write(self, name: str, before: bytes, after: bytes) -> None:
        self.data = after

    def put_out(self, out: TextIO) -> None:
        """The text as it is now, to the byte where the stream takes bytes."""
        out.flush()
        bare = getattr(out, "buffer", None)
        if bare is None:
            out.write(self.data.decode("utf-8", "replace"))
        else:
            bare.write(self.data)
            bare.flush()
