"""The output formats that there are, for those who only want their names."""

from __future__ import annotations


def names() -> list[str]:
    from retainlint.report import FORMATS

    return list(FORMATS)
