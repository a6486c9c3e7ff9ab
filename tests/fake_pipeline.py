"""Stand-ins for the middle of the pipeline, so that its ends can be tested without it."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from retainlint.diagnostic import Diagnostic, Help, Label, Severity
from retainlint.incident import Condition, Entry, Exploration, Witness
from retainlint.lowering import LoweringError
from retainlint.text.source import Source, Span


def span(source: Source, text: str, nth: int = 0) -> Span:
    """The place of the nth occurrence, from 0, of a text."""
    at = [match.start() for match in re.finditer(re.escape(text), source.text)][nth]
    return Span(source, at, at + len(text))


def label(source: Source, text: str, words: str = "", *, nth: int = 0, primary: bool = False) -> Label:
    return Label(span(source, text, nth), words, primary)


def finding(
    *labels: Label, severity: Severity = Severity.ERROR, notes: tuple[str, ...] = (), help: str = ""
) -> Diagnostic:
    return Diagnostic(
        "RTL101", "backward-in-loop", severity, "it is walked twice", labels, notes, (Help(help),) if help else ()
    )


def fake_pipeline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every `bad.backward()` becomes an RTL101, found twice; `BUG` is a bug of ours; `((` can't be lowered."""

    def lower(source: Source, *_: object, **__: object) -> Any:
        if "((" in source.text:
            raise LoweringError(source, "never closed", source.text.index("(("))
        return SimpleNamespace(source=source, module=SimpleNamespace(backward_passes=True))

    def explore(program: Any, **_: object) -> Exploration:
        source: Source = program.source
        if "BUG" in source.text:
            raise RecursionError("too deep")
        places = [span(source, "bad.backward()", nth) for nth in range(source.text.count("bad.backward()"))]
        incidents: Any = (*places[::-1], *places)
        entries = [Entry((source.name, name), frozenset(), steps) for name, steps in (("", 1), ("fit", 3))]
        return Exploration(incidents, (), entries=tuple(entries))

    def diagnose(place: Span) -> Diagnostic:
        condition = Condition(Span(place.source, 0, 1), True)
        witness = Witness((condition,), "import torch\nprint('witness')\n", "second time", "MulBackward0")
        labels = (Label(place, "walked again", primary=True),)
        return Diagnostic("RTL101", "backward-in-loop", Severity.ERROR, "it is walked twice", labels, witness=witness)

    monkeypatch.setattr("retainlint.lowering.lower", lower, raising=False)
    monkeypatch.setattr("retainlint.cache.ir_store.IrStore.keep", lambda *_: None)
    monkeypatch.setattr("retainlint.symbolic.explore", explore, raising=False)
    monkeypatch.setattr("retainlint.rules.diagnose", diagnose, raising=False)
