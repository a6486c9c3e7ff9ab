"""Text to ir; besides fixes/ the only room that knows libcst."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from retainlint.lowering import limits
from retainlint.lowering.guards import LoweringError
from retainlint.lowering.outline import Outline, outline
from retainlint.startup.libcst_import import import_libcst
from retainlint.text.source import Source

if TYPE_CHECKING:
    from retainlint.ir import Code, Head
    from retainlint.program import Program

_WORD = re.compile(r"\w+|[^\w\s]")

__all__ = ["LoweringError", "Outline", "lower", "lower_body", "lower_partly", "outline", "prepare"]


def lower(source: Source, found: Outline | None = None, *, whole: bool = False, later: bool = False) -> Program:
    """The program that `source` spells; what ir can't say is an `Opaque` in it, and listed in its gaps.

    Functions in which no backward pass stands are lowered when their body is first asked for, unless `whole` is; all of them,
    if it is to be done `later`. `found` is the source's outline, if the caller has it already.
    Raises LoweringError, and nothing else, for a text that isn't Python or is too deep to be read safely.
    """
    _check_length(source)
    import_libcst()
    from retainlint.lowering.program import lower_source  # libcst costs a quarter of a second to import

    return lower_source(source, found or outline(source), whole, later)


def lower_partly(source: Source) -> Program:
    """The same of a module that is imported, each part of which is lowered when it is asked for: all of it now, where
    Python doesn't tell what they are."""
    _check_length(source)
    found = outline(source, parts=True)
    if found is None:
        return lower(source)
    from retainlint.lowering.partial import partly

    return partly(source, found)


def _check_length(source: Source) -> None:
    if len(source.row_starts) > limits.TEXT_ROWS:
        rows = len(source.row_starts)
        raise LoweringError(
            source, f"the file is too long to be checked: {rows:,} lines, more than {limits.TEXT_ROWS:,}", 0
        )
    words = words_of(source) if len(source.text) > limits.TEXT_WORDS else 0
    if words > limits.TEXT_WORDS:
        raise LoweringError(
            source, f"the file is too long to be checked: {words:,} words, more than {limits.TEXT_WORDS:,}", 0
        )


def words_of(source: Source) -> int:
    """The words and signs of a text: what it costs to read goes with them."""
    return len(_WORD.findall(source.text))


def prepare() -> None:
    """Import what lowering needs."""
    import_libcst()
    import retainlint.lowering.program  # noqa: F401


def lower_body(source: Source, head: Head) -> Code:
    """A function that `lower` left without its body; unknown where that can't be read safely."""
    import_libcst()
    from retainlint.lowering.program import lower_waiting

    return lower_waiting(source, head)
