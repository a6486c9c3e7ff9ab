"""The lowering keeps the meaning: programs, some written at random, run as ir print what they print in Python."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from io import StringIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lowering.ir_interpreter import execute
from lowering.python_programs import EXCEPTION_GROUPS, GROUPS_THAT_RAISE, PROGRAMS, STARRED_INDEX, TYPE_PARAMETERS
from lowering.random_programs import Writer


def in_python(text: str) -> str:
    with redirect_stdout(StringIO()) as out:
        exec(compile(text, "program.py", "exec"), {"__name__": "program"})
    return out.getvalue()


def as_ir(text: str) -> str:
    with redirect_stdout(StringIO()) as out:
        execute(text, {"__name__": "program"})
    return out.getvalue()


@pytest.mark.parametrize("name", PROGRAMS)
def test_prints_what_python_prints(name: str) -> None:
    assert as_ir(PROGRAMS[name]) == in_python(PROGRAMS[name])


def test_starred_index() -> None:
    assert as_ir(STARRED_INDEX) == "(1, 2, 3) ('a',)\n"


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters are syntax since 3.12")
def test_type_parameters() -> None:
    assert as_ir(TYPE_PARAMETERS) == in_python(TYPE_PARAMETERS)


def test_type_parameters_are_read_by_any_python() -> None:
    assert as_ir(TYPE_PARAMETERS) == "T\n2 4 outer\n"


def test_exception_groups_are_read_by_any_python() -> None:
    assert as_ir(EXCEPTION_GROUPS) == "else\nfinal\n"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exception groups are there since 3.11")
def test_exception_groups() -> None:
    assert as_ir(GROUPS_THAT_RAISE) == in_python(GROUPS_THAT_RAISE)


@st.composite
def programs(draw: st.DrawFn) -> str:
    return Writer(lambda count: draw(st.integers(0, count - 1))).program()


@given(programs())
@settings(max_examples=200, deadline=None, derandomize=True)
def test_what_is_written_at_random_prints_what_python_prints(text: str) -> None:
    try:
        compile(text, "program.py", "exec")
    except SyntaxError:  # a name is used before it is declared nonlocal, or a pattern hides those behind it
        return
    assert as_ir(text) == in_python(text)
