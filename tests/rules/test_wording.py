"""Source text, places and lists in sentences of one line."""

from __future__ import annotations

import time

import pytest
from machine import Machine

from retainlint.diagnostic import Severity
from retainlint.incident import Condition
from retainlint.rules.modified_rules import rewritten
from retainlint.rules.source_hints import enclosing_function
from retainlint.rules.wording import circumstances, graded, keeps, listed, named, place
from retainlint.text.quoting import WIDTH, short
from retainlint.text.source import Source, Span


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("loss.backward()", "loss.backward()"),
        ("f(\n    a,\n    b,\n)", "f(a, b,)"),
        ("f(a, \\\n  b)", "f(a, b)"),
        ("torch.autograd.grad(outputs=y, inputs=x, grad_outputs=v)", "torch.autograd.grad(…)"),
        (
            "((prediction - target_value) ** 2 + penalty).mean().backward()",
            "((prediction - target_v…)).mean().backward()",
        ),
        ("(a.float() * torch.rand(5)).mean().backward()", "(a.float() * torch.rand…).mean().backward()"),
        ("a['\x1b[31m']", "a['\\x1b[31m']"),
        ("f([one, two, three, four, five, six, seven, '\x1b[31m'])", "f(…)"),
        ("", ""),
    ],
)
def test_source_text_is_made_short_and_safe(text: str, told: str) -> None:
    assert short(text) == told


def test_thousands_of_brackets_take_no_time() -> None:
    begun = time.process_time()
    assert short("f(" + "(a)[b]" * 4_000 + ").g()") == "f(…).g()"
    assert short("(a)[b]" * 4_000).endswith("…")
    assert short("f(" + "[" * 4_000 + "a") == "f(" + "[" * (WIDTH - 3) + "…"
    assert time.process_time() - begun < 5


@pytest.mark.parametrize("text", ["x" * 500, "f(" * 300, ")" * 300, "a\x00\n" * 100, "(" * 100 + ")" * 100 + "y" * 99])
def test_short_text_is_never_long(text: str) -> None:
    assert len(short(text)) <= WIDTH
    assert short(text).isprintable()


@pytest.mark.parametrize(
    ("name", "told"),
    [("h", "`h`"), ("self.w.mul_(0.9)", "`self.w`"), ("the loaded weights", "the loaded weights"), ("", "it")],
)
def test_a_variable_is_named(name: str, told: str) -> None:
    assert named(name, "it") == told


def test_lists() -> None:
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"


@pytest.mark.parametrize(
    ("op", "saved", "text", "told"),
    [
        ("MvBackward0", ("t", "a"), "t @ a", "this product saves `t` and `a`"),
        ("ExpBackward0", ("result",), "torch.exp(w)", "this `exp` saves its result"),
        ("MseLossBackward0", ("self", "target"), "F.mse_loss(p, t)", "this `mse_loss` saves its input and `target`"),
        ("PowBackward0", ("self",), "x ** 2", "this power saves its input"),
        ("AddmmBackward0", ("h", "w"), "model(x)", "saves `h` and `w`"),
        ("AddmmBackward0", (), "model(x)", ""),
        ("", ("x",), "model(x)", "saves `x`"),
    ],
)
def test_what_an_operation_keeps(op: str, saved: tuple[str, ...], text: str, told: str) -> None:
    assert keeps(op, saved, text) == told


def test_place_in_another_file_is_named() -> None:
    home, other = Source("a.py", "x\ny\n"), Source("b.py", "x\ny\n")
    assert place(Span(home, 2, 3), home) == "line 2"
    assert place(Span(other, 2, 3), home) == "b.py:2"
    far = "a/" * 40 + "model.py"
    assert place(Span(Source(far, "x\ny\n"), 2, 3), home) == f"{far}:2"


@pytest.mark.parametrize(
    ("text", "taken", "told"),
    [
        ("flag", True, "`flag` is true (line 1)"),
        ("flag", False, "`flag` is false (line 1)"),
        ("for x in xs", False, "`for x in xs` runs no iteration (line 1)"),
        ("except ValueError", True, "`except ValueError` catches (line 1)"),
        ("format", True, "`format` is true (line 1)"),
    ],
)
def test_conditions_are_told_by_what_they_are(text: str, taken: bool, told: str) -> None:
    home = Source("a.py", text)
    (note,) = circumstances((Condition(Span(home, 0, len(text)), taken),), (), home)
    assert note == f"note: happens if {told}"


def test_condition_met_again_in_a_loop_is_one_condition() -> None:
    home = Source("a.py", "i % 2 or j")
    i, j = Span(home, 0, 5), Span(home, 9, 10)
    same = (Condition(i, True), Condition(i, True))
    assert graded(same, Severity.ERROR) is Severity.ERROR
    assert circumstances(same, (), home) == ("note: happens if `i % 2` is true (line 1)",)
    both = (Condition(i, True), Condition(i, False))
    assert graded(both, Severity.ERROR) is Severity.ERROR
    (note,) = circumstances(both, (), home)
    assert note == "note: happens if `i % 2` is true at one time and is false at another (line 1)"
    assert graded((*same, Condition(j, True)), Severity.ERROR) is Severity.WARNING


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("except", Severity.WARNING),
        ("except Exception as e", Severity.WARNING),
        ("except StopIteration", Severity.ERROR),
        ("except (ValueError, KeyError)", Severity.ERROR),
    ],
)
def test_nobody_knows_whether_just_any_failure_comes(text: str, severity: Severity) -> None:
    span = Span(Source("a.py", text), 0, len(text))
    assert graded((Condition(span, True),), Severity.ERROR) is severity
    assert graded((Condition(span, False),), Severity.ERROR) is Severity.ERROR


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x += 1", "`x = x + 1`"),
        ("self.h **= 2", "`self.h = self.h ** 2`"),
        ("y.clamp_(max=2)", "`y = y.clamp(max=2)`"),
        ("buffer[0] = 1", ""),
        ("w.copy_(v)", ""),
        ("x == 1", ""),
    ],
)
def test_change_written_out_of_place(text: str, told: str) -> None:
    assert rewritten(text) == told


FUNCTIONS = """
class A:
    def __init__(self, n):
        if n:
            self.s = (
                one)
    x = two
    async def run(self):
        def inner():
            return 1
        return three
top = four
"""


@pytest.mark.parametrize(("text", "name"), [("one", "__init__"), ("two", ""), ("three", "run"), ("four", "")])
def test_enclosing_function_is_read_off_the_rows(text: str, name: str) -> None:
    source = Source("a.py", FUNCTIONS)
    start = FUNCTIONS.rindex(text)
    assert enclosing_function(Span(source, start, start + len(text))) == name


HANDED_ON = """import torch
def handed(loss, **kwargs):
    (loss * 2).backward(**kwargs)
def listed(loss, *args):
    loss.backward(*args)
def train(flags, n):
    w = torch.ones(3, requires_grad=True)
    loss = (w * w).sum()
    {call}
    loss.backward()
"""


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("handed(loss, retain_graph=flags.retain)", "`flags.retain` is false (line 9)"),
        ("handed(loss, **{'retain_graph': flags.retain})", "`flags.retain` is false (line 9)"),
        ("listed(loss, None, flags.retain)", "`flags.retain` is false (line 9)"),
        ("handed(loss, retain_graph=n > 3)", "`(loss * 2).backward(**kwargs)` keeps no graph (line 3)"),
    ],
)
def test_what_is_handed_on_is_called_by_its_own_name(machine: Machine, call: str, said: str) -> None:
    (told,) = machine(HANDED_ON.format(call=call)).diagnostics
    assert f"note: happens if {said}" in told.notes
