"""The limits of reading a text in one table, as symbolic/state/limits.py has those of the machine, which lowering can't know.

Beyond most of them libcst crashes the process, or takes minutes. `docs/limits.md` is written from both tables.
"""

from __future__ import annotations

# Reading a text

TEXT_ROWS = 30_000
"""Rows of a text that is read: beyond, where libcst takes minutes and gigabytes, the file is not checked, and that is said."""

TEXT_WORDS = 190_000
"""Words and signs of such a text; beyond, the same."""

PIECE_WORDS = 80_000
"""Words and signs that are parsed at a time, as the statements of a module or the body of a function: each takes libcst up to
four kilobytes. A longer body is unknown; of a module's own statements, the same as above."""

BRACKET_DEPTH = 200
"""Brackets one inside the other. Python's own parser goes no deeper, and libcst crashes at 1,200; beyond, the file is not
checked, and that is said, as for the next three."""

CHAINED_LINKS = 1_000
"""Operators, calls and strings that hang on each other; libcst crashes at 4,000, and is slow long before."""

NESTED_QUOTES = 20
"""F-strings that stand within each other in different quotes."""

NESTED_ARMS = 1_000
"""`elif`s, which nest, behind an `if` and those around it; libcst crashes somewhere below 30,000."""

NESTED_CONTEXTS = 100
"""Contexts of one `with` that stand inside each other (Python itself takes twenty); further ones are unknown, which is
said."""

PARSER_FRAMES = 12_000
"""Python frames that the deepest text which these let through may need."""

FUNCTIONS_FOLLOWED = 40
"""Functions that are looked into to see what one name may change; beyond, it may change anything."""

PARTIAL_BODY = 20
"""Characters of a function's body that is worth being read on its own, when it is called; a shorter one is read at once."""
