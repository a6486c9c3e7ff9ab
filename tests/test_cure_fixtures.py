"""Torch on the programs with an expert's cure: each raises as it says, and its cured version runs to its end. What it said of
each is kept with a digest; every twenty-fourth is asked for again."""

from __future__ import annotations

import importlib.util
import json

import pytest
from cure_fixtures import CURES, RECORD, SENTENCES, Example, contradictions, examples

HAS_TORCH = importlib.util.find_spec("torch") is not None
EXAMPLES = examples()
JUDGED: dict[str, str] = json.loads(RECORD.read_text(encoding="utf-8"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_what_is_said_of_a_program_can_be_looked_up_in_it(example: Example) -> None:
    assert example.about and example.failures
    assert (example.folder / "expert.py").is_file()
    for failure in example.failures:
        assert failure.cure in CURES
        assert failure.error in SENTENCES
        assert failure.rows and failure.why
        assert failure.cure not in (*failure.acceptable, *failure.harmful)
        for place in (f"{failure.file}:{failure.line}", *failure.rows):
            name, _, row = place.partition(":")
            assert name in ("program.py", *example.modules)
            assert (example.folder / name).read_text(encoding="utf-8").splitlines()[int(row) - 1].strip()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_torch_has_judged_a_program_as_it_is(example: Example) -> None:
    """Else run `python tests/record_cures.py`."""
    assert JUDGED[example.name] == example.digest


@pytest.mark.skipif(not HAS_TORCH, reason="torch isn't installed")
@pytest.mark.parametrize("example", EXAMPLES[::24], ids=lambda example: example.name)
def test_torch_says_it_again(example: Example) -> None:
    assert contradictions(example) == []
