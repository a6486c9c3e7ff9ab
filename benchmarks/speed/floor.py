"""What can't be avoided, as a program of its own: `python -m benchmarks.speed.floor [--bare] PATH...`.

It starts Python, imports click, reads all bytes and looks for a walk in them; where there is one it imports libcst,
outlines the file with `ast` and parses the definitions in which a walk stands. With `--bare` it parses the whole of
those files instead, as a linter would that knows of no outline. It finds nothing and reports nothing.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator

import click  # noqa: F401 -- its import is part of what is measured

from retainlint.text.prefilter import may_backpropagate


def main(arguments: list[str]) -> None:
    bare = "--bare" in arguments
    for path in arguments:
        for name in _files(path):
            with open(name, "rb") as file:
                data = file.read()
            if may_backpropagate(data):
                _read(data, bare)


def _files(path: str) -> Iterator[str]:
    if os.path.isfile(path):
        yield path
    for directory, folders, files in os.walk(path):
        folders[:] = [folder for folder in folders if not folder.startswith(".")]
        yield from (os.path.join(directory, file) for file in files if file.endswith(".py"))


def _read(data: bytes, bare: bool) -> None:
    import libcst

    try:
        text = data.decode()
        for piece in [text] if bare else _definitions(text):
            libcst.parse_module(piece)
    except (SyntaxError, ValueError, libcst.ParserSyntaxError):
        pass


def _definitions(text: str) -> Iterator[str]:
    """The texts of the functions, or statements of the module, in which a walk stands."""
    import ast

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
    rows = text.splitlines(keepends=True)
    walks = [text.count("\n", 0, found.start()) + 1 for found in re.finditer(r"backward\s*\(|\bgrad\s*\(", text)]
    pending: list[ast.stmt] = list(tree.body)
    while pending:
        node = pending.pop()
        if not any(node.lineno <= row <= (node.end_lineno or 0) for row in walks):
            continue
        if isinstance(node, ast.ClassDef):
            pending += node.body
        else:
            piece = "".join(rows[node.lineno - 1 : node.end_lineno])
            yield f"if 1:\n{piece}" if node.col_offset else piece


if __name__ == "__main__":
    main(sys.argv[1:])
