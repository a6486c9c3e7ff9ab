"""Texts that would crash or stall libcst are refused in time, in words for people; each case runs in a process of its own."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

from retainlint import ir
from retainlint.lowering import LoweringError, limits, lower
from retainlint.lowering.guards import too_deep
from retainlint.text.source import Source

LOWER = """
import sys
from retainlint.lowering import LoweringError, lower
from retainlint.text.source import Source
try:
    print("lowered", len(lower(Source("t.py", sys.stdin.read())).module.body) > 0)
except LoweringError as error:
    print("refused", error)
"""

DEEP = {
    "brackets": "x = " + "[" * 1500 + "1" + "]" * 1500,
    "calls": "x = " + "f(" * 1200 + "1" + ")" * 1200,
    "in an f-string": "x = f'{" + "(" * 1500 + "1" + ")" * 1500 + "}'",
    "f-strings": "x = " + 'f"{' * 3000 + "1" + '}"' * 3000,
    "chain": "x = a" + ".b()" * 5000,
    "chain over rows": "x = (a\n" + "  .b()\n" * 5000 + ")",
    "sum": "x = " + "+".join("a" * 20000),
    "not": "x = " + "not " * 20000 + "a",
    "unary": "x = " + "-" * 20000 + "a",
    "lambda": "x = " + "lambda:" * 20000 + "a",
    "conditional": "x = " + "a if b else " * 20000 + "c",
    "subscripts": "x = a" + "[0]" * 5000,
    "strings": "x = (" + "'a'\n" * 20000 + ")",
    "elif": "if a: b\n" + "elif c: d\n" * 20000,
    "elif in elif": "".join(" " * i + "if a:\n" + " " * i + " b\n" + (" " * i + "elif c:\n" + " " * i + " d\n") * 99 for i in range(20)) + " " * 20 + "e",
    "case": "match a:\n" + "  case 1: b\n" * 9000,
    "conditions": "x = [a for b in c" + " if d" * 20000 + "]",
}  # fmt: skip

WIDE = {
    "sum": "x = " + "+".join("a" * 900),
    "chain": "x = a" + ".b()" * 300,
    "brackets": "x = " + "[" * 190 + "1" + "]" * 190,
    "elif": "if a: b\n" + "elif c: d\n" * 900,
    "list": "x = [" + "-1, (2), f(3),\n" * 3000 + "]",
    "smileys": "x = 1  # :( [ {\n" * 3000 + "y = ':('\n" * 3000,
    "style sheet": 'x = f"""' + "a {{ b: {c} }} don't\n" * 3000 + '"""',
    "semicolons": "a();" * 3000,
    "rows": "x = a.b(c)\n" * 5000,
    "function of 5,000 rows": "def f(a):\n" + "".join(f"    for i{n} in a:\n        if i{n}: a = i{n}\n        b = a\n    c{n} = a\n    while b: break\n" for n in range(1000)),
    "loops in loops": "def f(a):\n" + "".join(" " * n + f"while a: x{n} = a\n" + " " * n + "while True:\n" for n in range(1, 20)) + " " * 20 + "break\n",
    "with": "with " + ", ".join(["a"] * 20000) + ": b",
    "blanks": " \t\n" * 3000,
}  # fmt: skip


def in_a_process(text: str) -> str:
    ran = subprocess.run([sys.executable, "-c", LOWER], input=text, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr[-500:]
    return ran.stdout


@pytest.mark.parametrize("name", DEEP)
def test_too_deep_is_refused(name: str) -> None:
    said = in_a_process(DEEP[name])
    assert said.startswith("refused t.py:") and "nested too deeply" in said


@pytest.mark.parametrize("name", WIDE)
def test_wide_is_read(name: str) -> None:
    assert in_a_process(WIDE[name]) == f"lowered {name != 'blanks'}\n"


def test_the_limits_are_where_they_say() -> None:
    assert too_deep("(" * limits.BRACKET_DEPTH + ")" * limits.BRACKET_DEPTH) == limits.BRACKET_DEPTH - 1
    assert too_deep("(" * (limits.BRACKET_DEPTH - 1) + ")" * (limits.BRACKET_DEPTH - 1)) is None
    assert too_deep("a" + "+a" * limits.CHAINED_LINKS) is None
    assert too_deep("a" + "+a" * (limits.CHAINED_LINKS + 1)) == 2 * limits.CHAINED_LINKS + 1
    assert too_deep("if a: b\n" + "elif c: d\n" * limits.NESTED_ARMS) is None
    assert too_deep("if a: b\n" + "elif c: d\n" * (limits.NESTED_ARMS + 1)) is not None
    assert too_deep(("if a: b\n" + "elif c: d\n" * limits.NESTED_ARMS) * 3) is None


@pytest.mark.parametrize(
    ("text", "row", "column", "words"),
    [
        ("x = 1\nprint 'a'\n", 2, 1, "not valid Python: Missing parentheses in call to 'print'"),
        ("x = 1\n\0\n", 2, 1, "null byte"),
        ("def f(:\n  pass\n", 1, 7, "not valid Python"),
        ("if x:\n  y\n z\n", 3, None, "not valid Python: unindent"),
        ("\n\nx = '\ud800'\n", 3, 6, "can't be encoded"),
        ("x = (\n", 1, 5, "not valid Python: '(' was never closed"),
        ("x = $\n", 1, None, "not"),
        ("try:\n  pass\nexcept E, e:\n  pass\nexec 'a' in b\n", None, None, "not valid Python"),
        ("f(**a, *b) = 3 = \n", 1, None, "not valid Python"),
        ("x = 'abc\n", 1, 5, "not valid Python: unterminated string"),
    ],
)
def test_what_is_not_python_is_refused(text: str, row: int | None, column: int | None, words: str) -> None:
    with pytest.raises(LoweringError, match=words.replace("(", r"\(")) as raised:
        lower(Source("t.py", text))
    assert row is None or raised.value.row == row
    assert column is None or raised.value.column == column
    assert raised.value.reason in str(raised.value)


@pytest.mark.parametrize("text", ["", "\n", "# only a comment", "\ufeff", "\f\n", "   "])
def test_nothing_is_a_program(text: str) -> None:
    program = lower(Source("t.py", text))
    assert program.module.body == () and program.module.span.text == text


def test_warnings_of_the_text_are_not_said(recwarn: pytest.WarningsRecorder) -> None:
    lower(Source("t.py", "x = '\\d'\ny = 1 is 1\n"))
    with pytest.raises(LoweringError):
        lower(Source("t.py", "x = '\\d'\ny = = 1\n"))
    assert not recwarn.list


def test_so_many_words_are_parsed_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long text each body by itself, when it is asked for; one that is too long alone is unknown, and the rest is read."""
    monkeypatch.setattr(limits, "PIECE_WORDS", 100)
    bodies = [f"def f{number}(x):\n" + f"    x = x + {number}\n" * 12 + "    x.backward()\n" for number in range(4)]
    long = "def long(x):\n" + "    x = x + 1\n" * 30 + "    x.backward()\n"
    program = lower(Source("t.py", "\n".join([*bodies, long])))
    made = [each.code for each in program.module.body if isinstance(each, ir.MakeFunction)]
    opaque = [any(isinstance(each, ir.Opaque) for each in code.body) for code in made]
    assert opaque == [False] * 4 + [True]
    with pytest.raises(LoweringError, match=r"too long to be checked: 1.. words in one piece, more than 100"):
        lower(Source("t.py", "x = 1\n" * 40))


def test_the_recursion_limit_is_given_back() -> None:
    before = sys.getrecursionlimit()
    lower(Source("t.py", "x = 1\n"))
    with pytest.raises(LoweringError):
        lower(Source("t.py", "x = = 1\n"))
    assert sys.getrecursionlimit() == before


def test_a_refusal_passes_between_processes() -> None:
    with pytest.raises(LoweringError) as raised:
        lower(Source("t.py", "x = 1\ny = = 1\n"))
    again = pickle.loads(pickle.dumps(raised.value))
    assert (str(again), again.row, again.reason) == (str(raised.value), 2, raised.value.reason)
