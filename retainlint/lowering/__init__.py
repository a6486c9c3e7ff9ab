"""Text to ir; besides fixes/ the only room that knows libcst."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retainlint.lowering import limits
from retainlint.lowering.guards import LoweringError, words_in
from retainlint.lowering.outline import Outline, outline
from retainlint.startup.libcst_import import import_libcst
from retainlint.text.source import Source

if TYPE_CHECKING:
    from retainlint.ir import Code, Head
    from retainlint.program import Program

__all__ = ["LoweringError", "Outline", "lower", "lower_body", "lower_partly", "outline", "prepare", "words_in"]


def lower(source: Source, found: Outline | None = None, *, whole: bool = False, later: bool = False) -> Program:
    """The program that `source` spells; what ir can't say is an `Opaque` in it, and listed in its gaps.

    Functions in which no backward pass stands are lowered when their body is first asked for, unless `whole` is; all of them,
    if it is to be done `later`, or the text is long. `found` is the source's outline, if the caller has it already.
    Raises LoweringError, and nothing else, for a text that isn't Python or is too deep to be read safely.
    """
    words = _check_length(source)
    import_libcst()
    from retainlint.lowering.program import lower_source  # libcst costs a quarter of a second to import

    return lower_source(source, found or outline(source), whole, later or words > limits.PIECE_WORDS)


def lower_partly(source: Source) -> Program:
    """The same of a module that is imported, each part of which is lowered when it is asked for: all of it now, where
    Python doesn't tell what they are."""
    _check_length(source)
    found = outline(source, parts=True)
    if found is None:
        return lower(source)
    from retainlint.lowering.partial import partly

    return partly(source, found)


def _check_length(source: Source) -> int:
    """How many words a long text has; 0 for a short one. Raises LoweringError for one that is too long."""
    if len(source.row_starts) > limits.TEXT_ROWS:
        rows = len(source.row_starts)
        raise LoweringError(
            source, f"the file is too long to be checked: {rows:,} lines, more than {limits.TEXT_ROWS:,}", 0
        )
    words = words_in(source.text) if len(source.text) > limits.PIECE_WORDS else 0
    if words > limits.TEXT_WORDS:
        raise LoweringError(
            source, f"the file is too long to be checked: {words:,} words, more than {limits.TEXT_WORDS:,}", 0
        )
    return words


def prepare() -> None:
    """Import what lowering needs."""
    import_libcst()
    import retainlint.lowering.program  # noqa: F401


def lower_body(source: Source, head: Head) -> Code:
    """A function that `lower` left without its body; unknown where that can't be read safely."""
    import_libcst()
    from retainlint.lowering.program import lower_waiting

    return lower_waiting(source, head)
