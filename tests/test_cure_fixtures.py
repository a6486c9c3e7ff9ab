"""Torch on the programs with an expert's cure: each raises as it says, and its cured version runs to its end."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from cure_fixtures import CURES, SENTENCES, Example, examples, fingerprint, same_grads

HAS_TORCH = importlib.util.find_spec("torch") is not None
EXAMPLES = examples()


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


@pytest.mark.skipif(not HAS_TORCH, reason="torch isn't installed")
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_torch_raises_in_the_program_and_runs_what_the_expert_wrote(example: Example) -> None:
    from judge_torch import judge

    first = example.failures[0]
    failed = judge(example.folder / "program.py", project=example.folder)
    assert failed.raises
    assert (Path(failed.file or "").name, failed.line) == (first.file, first.line)
    assert SENTENCES[first.error] in (failed.sentence or "")
    cured = judge(example.folder / "expert.py", project=example.folder)
    assert not cured.raises
    assert same_grads(fingerprint(cured), example.grads)
