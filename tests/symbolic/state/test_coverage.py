"""Which functions lead to walks by what they mention; those whose text speaks of none stay unread."""

from __future__ import annotations

from retainlint import ir
from retainlint.lowering import lower
from retainlint.symbolic.state.coverage import count, names_leading_to_backward
from retainlint.text.source import Source

TEXT = """
def walk(loss):
    loss.backward()

def leads(loss):
    return walk(loss)

def starts(loss):
    return leads(loss)

def speaks(loss):
    # walk, leads and starts
    return loss + 1

def other(loss):
    return [each for each in loss]

class Trainer:
    def fit(self, loss):
        return self.inner(starts(loss))

    def inner(self, loss):
        return loss + 1111111
"""


def test_walkers_are_told_through_what_they_call() -> None:
    names = {"walk", "leads", "starts", "fit"}
    assert names_leading_to_backward(lower(Source("t.py", TEXT))) - {"backward", "manual_backward", "autograd"} == names
    assert names_leading_to_backward(lower(Source("t.py", TEXT), whole=True)) == names_leading_to_backward(
        lower(Source("t.py", TEXT))
    )


def test_what_speaks_of_none_is_not_lowered_for_that() -> None:
    program = lower(Source("t.py", TEXT))
    names_leading_to_backward(program)
    unread = [
        each.code.name
        for each in program.module.body
        if isinstance(each, ir.MakeFunction) and isinstance(each.code, ir.Deferred) and "body" not in vars(each.code)
    ]
    assert unread == ["other"]


def test_walks_are_counted_without_the_rest() -> None:
    program = lower(Source("t.py", TEXT + "def again(loss):\n    return torch.autograd.functional.vjp(walk, loss)\n"))
    assert count(program) == count(lower(program.source, whole=True)) == 2
    [other] = [
        each.code for each in program.module.body if isinstance(each, ir.MakeFunction) if each.code.name == "other"
    ]
    assert "body" not in vars(other)
