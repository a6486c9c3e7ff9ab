"""Programs written at random run as ir as they run in Python, though all that isn't live is forgotten on the way."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from lowering.random_programs import Writer
from lowering.test_meaning import as_ir, in_python


@st.composite
def programs(draw: st.DrawFn) -> str:
    return Writer(lambda count: draw(st.integers(0, count - 1))).program()


@given(programs())
@settings(max_examples=200, deadline=None, derandomize=True)
def test_prints_what_python_prints(text: str) -> None:
    try:
        compile(text, "program.py", "exec")
    except SyntaxError:  # a name is used before it is declared nonlocal, or a pattern hides those behind it
        return
    assert as_ir(text) == in_python(text)
