"""Patterns that wait are what `re` makes of them, and are compiled once."""

from __future__ import annotations

import re
from typing import Any

import pytest

from retainlint.startup.lazy_patterns import pattern


def test_it_is_compiled_when_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[Any] = []
    plain = re.compile

    def compile(*asked: Any) -> Any:
        compiled.append(asked)
        return plain(*asked)

    monkeypatch.setattr(re, "compile", compile)
    waiting = pattern("A(b+)", re.IGNORECASE)
    assert not compiled
    for _ in range(3):
        found = waiting.search("xabBx")
        assert found is not None and found[1] == "bB"
    assert compiled == [("A(b+)", re.IGNORECASE)]
    assert waiting.sub(r"\1", "aB") == "B"
    assert waiting.pattern == "A(b+)"


def test_what_is_no_pattern_is_told_when_it_is_asked() -> None:
    wrong = pattern(b"(")
    with pytest.raises(re.error):
        wrong.search(b"")
    with pytest.raises(AttributeError):
        pattern("a").nothing  # type: ignore[attr-defined]  # noqa: B018
