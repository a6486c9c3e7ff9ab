"""`retainlint rules`: the table of all rules."""

from __future__ import annotations

from typing import TextIO


def rules(out: TextIO) -> int:
    from retainlint.rules import RULES

    rows = [("CODE", "NAME", "LEVEL", "WHAT IT FINDS")]
    rows += [(rule.code, rule.name, rule.severity.value, rule.summary) for rule in RULES]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        out.write("  ".join([*cells, row[3]]).rstrip() + "\n")
    return 0
