"""What is remembered of texts is bounded by how much they hold together, not by how many they are."""

from __future__ import annotations

import pytest

from retainlint.text import recalling
from retainlint.text.recalling import Recalled, recalled


def test_what_is_known_is_not_asked_again() -> None:
    asked: list[str] = []

    @recalled
    def shout(text: str) -> str:
        asked.append(text)
        return text.upper()

    assert [shout(text) for text in ("a", "b", "a", "a")] == ["A", "B", "A", "A"]
    assert asked == ["a", "b"]


@pytest.mark.parametrize("size", [0, 10, 100_000, 10**9])
def test_texts_are_forgotten_by_what_they_hold(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recalling, "KEPT_TEXT", 300_000)
    kept, most = Recalled[int, int](lambda *_: size), 0
    for number in range(5_000):
        assert kept.of(number, lambda: number) == number  # noqa: B023 -- asked at once
        most = max(most, len(kept) if number % 100 < 3 else 0)
        assert kept.of(0, lambda: 0) == 0  # what is asked time and again stays
    assert 2 <= most * (size + recalling.EACH) <= 2 * 300_000 + 4 * (size + recalling.EACH)
