"""What the models know of torch's own libraries: the machine against real torch on short programs."""

from __future__ import annotations

import traceback
import warnings
from typing import Any

import pytest
from machine import Machine
from symbolic.models.torch.library_programs import HEAD, PROGRAMS

GRAPH_ERRORS = ("second time", "inplace operation", "in-place operation", "does not require grad")


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_program_is_judged_as_torch_judges_it(machine: Machine, name: str) -> None:
    pytest.importorskip("torch")
    text = HEAD + PROGRAMS[name]
    assert machine(text).lines == _raises_on(name, text)


def _raises_on(name: str, text: str) -> list[int]:
    """The line where torch raises, alone; none if it doesn't."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(text, f"{name}.py", "exec"), scope)
        except RuntimeError as error:
            assert any(words in str(error) for words in GRAPH_ERRORS), error
            frames = traceback.extract_tb(error.__traceback__)
            return [frame.lineno or 0 for frame in frames if frame.filename == f"{name}.py"][-1:]
    return []
