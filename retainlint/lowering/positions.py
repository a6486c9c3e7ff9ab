"""Where each node of a libcst tree stands, as character offsets, by generating its code and only counting."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TypeAlias

import libcst as cst
from libcst._nodes.internal import CodegenState  # private, and the reason for a test against PositionProvider

Offsets: TypeAlias = "dict[int, tuple[int, int]]"
"""From the `id` of a node to where its first character is and where the next begins, without space around it."""


class _Recording(AbstractContextManager[None]):
    """What libcst enters and leaves around the syntax of one node."""

    __slots__ = ("end_node", "node", "start", "start_node", "state")

    def __init__(self, state: _Counter, node: cst.CSTNode, start: cst.CSTNode | None, end: cst.CSTNode | None) -> None:
        self.state = state
        self.node = node
        self.start_node = start
        self.end_node = end
        self.start = state.at

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        state, start, end = self.state, self.start, self.state.at
        if self.start_node is not None:
            start = state.offsets.get(id(self.start_node), (start, end))[0]
        if self.end_node is not None:
            end = state.offsets.get(id(self.end_node), (start, end))[1]
        state.offsets[id(self.node)] = (start, end)


class _Counter(CodegenState):
    """A code generator's state that writes nothing and counts characters, from `at` on."""

    def __init__(self, module: cst.Module, at: int = 0) -> None:
        super().__init__(module.default_indent, module.default_newline, tokens=[""])  # none at all means an empty file
        self.at = at
        self.offsets: Offsets = {}
        self.indentation = 0

    def increase_indent(self, value: str) -> None:
        self.indent_tokens.append(value)
        self.indentation += len(value)

    def decrease_indent(self) -> None:
        self.indentation -= len(self.indent_tokens.pop())

    def add_indent_tokens(self) -> None:
        self.at += self.indentation

    def add_token(self, value: str) -> None:
        self.at += len(value)

    def record_syntactic_position(  # type: ignore[override]  # libcst's own is a generator, three times as slow
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> _Recording:
        return _Recording(self, node, start_node, end_node)


class _Jumper(_Counter):
    """Counts on behind a gap, for which one character stands in, as if what stood there had been written."""

    def __init__(self, module: cst.Module, gaps: Mapping[int, int], at: int) -> None:
        super().__init__(module, at)
        self.behind = {start + 1: end for start, end in gaps.items()}

    def add_token(self, value: str) -> None:
        at = self.at + len(value)
        self.at = self.behind.get(at, at)


def measure(module: cst.Module, at: int = 0, gaps: Mapping[int, int] | None = None) -> tuple[Offsets, int]:
    """The offsets of the nodes of `module`, whose code starts at the offset `at`, and where it ends.

    `gaps` tells from where to where of the text there is but one character in the module's.
    Nodes for which PositionProvider records nothing but their extent with white space aren't in the answer.
    """
    state = _Jumper(module, gaps, at) if gaps else _Counter(module, at)
    module._codegen(state)
    # A module that doesn't end its last line has that line end generated, then popped.
    end = state.at if module.has_trailing_newline else state.at - len(module.default_newline)
    return state.offsets, max(end, at)


def align(module: cst.Module, text: str) -> Offsets | None:
    """The offsets in `text` where libcst's code for it lacks some of its white space; None if it lacks more.

    libcst loses a byte-order mark, a form feed before code, the blanks of `except E :` and those behind the last row.
    """
    state = _Aligner(module, text)
    try:
        module._codegen(state)
    except _Misaligned:
        return None
    if text[state.at :].strip(_BLANKS):
        return None
    offsets = {}
    for node, (start, end) in state.offsets.items():
        spelled = text[start:end]
        offsets[node] = (end - len(spelled.lstrip(_BLANKS)), end)
    return offsets


_BLANKS = " \t\f\r\n\\\ufeff"


class _Misaligned(Exception):
    pass


class _Aligner(_Counter):
    """Finds each token in the text, behind the one before and whatever white space is between them."""

    def __init__(self, module: cst.Module, text: str) -> None:
        super().__init__(module)
        self.text = text

    def add_indent_tokens(self) -> None:
        for token in self.indent_tokens:
            self.add_token(token)

    def add_token(self, value: str) -> None:
        at, text = self.at, self.text
        while not text.startswith(value, at):
            if at >= len(text) and not value.strip(_BLANKS):
                break  # the end of the last row, which libcst adds
            if at >= len(text) or text[at] not in _BLANKS:
                raise _Misaligned
            at += 1
        self.at = min(at + len(value), len(text))
