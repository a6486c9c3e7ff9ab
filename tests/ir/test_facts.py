"""What is known of code by Python's tree, whether its body is lowered or not."""

import pytest

from retainlint import ir
from retainlint.ir import facts
from retainlint.ir.facts import Facts
from retainlint.lowering import lower
from retainlint.text.source import Source


def facts_of(text: str, name: str = "f") -> Facts:
    body = lower(Source("a.py", text)).module.body
    made = (each.code for each in ir.walk(body, classes=True) if isinstance(each, ir.MakeFunction | ir.MakeClass))
    return next(code.facts for code in made if code.name == name)


def method(body: str) -> Facts:
    rows = "".join(f"        {row}\n" for row in body.splitlines())
    return facts_of(f"class A:\n    def f(self, x):\n{rows}")


@pytest.mark.parametrize(
    ("body", "bound", "changed", "cleared"),
    [
        ("self.a = x", {"a"}, {"a"}, set()),
        ("self.a: Tensor = None", {"a"}, {"a"}, {"a"}),
        ("self.a: Tensor", set(), set(), set()),
        ("self.a += x", set(), {"a"}, set()),
        ("self.a[0][1] = x", set(), {"a"}, set()),
        ("self.a[0].add_(x)", set(), {"a"}, set()),
        ("self.a.add(x)", set(), set(), set()),
        ("self.a == x", set(), set(), set()),
        ("f(a=self.a)", set(), set(), set()),
        ("# self.a = x\nx", set(), set(), set()),
        ("self.a = self.b = []", {"a", "b"}, {"a", "b"}, {"a", "b"}),
        ("self.a, self.b = None, x", {"a", "b"}, {"a", "b"}, {"a"}),
        ("self.a, self.b = (each.detach() for each in x)", {"a", "b"}, {"a", "b"}, {"a", "b"}),
        ("self.a = torch.zeros(2).to(x)", {"a"}, {"a"}, {"a"}),
        ("self.a = x.data", {"a"}, {"a"}, {"a"}),
        ("self.a = False", {"a"}, {"a"}, set()),
        ("for self.a, b in x: pass", {"a"}, {"a"}, set()),
    ],
)
def test_what_is_set_on_the_object(body: str, bound: set[str], changed: set[str], cleared: set[str]) -> None:
    found = method(body)
    assert (set(found.bound), set(found.changed), set(found.cleared)) == (bound, changed, cleared)


@pytest.mark.parametrize(
    ("call", "receiver", "name"),
    [
        ("train(x)", "", "train"),
        ("self.train(x)", "self", "train"),
        ("self.model.train(x)", "model", "train"),
        ("super().train(x)", "super()", "train"),
        ("make(x).train(x)", ")", "train"),
        ("'-'.join(x)", ")", "join"),
    ],
)
def test_what_is_called_on_what(call: str, receiver: str, name: str) -> None:
    first = method(call).calls[0]
    assert (first.receiver, first.name) == (receiver, name)


def test_what_has_no_name_is_no_call_of_one() -> None:
    assert not method("x[0](x)").calls


def test_what_a_call_is_given() -> None:
    calls = method("train(x, lr=rate)\ntrain(make(x))\ntrain(self.net)").calls
    assert [set(each.given) for each in calls if each.name == "train"] == [
        {"x", "rate"},
        {"make", "x"},
        {"self", "net"},
    ]
    assert [each.is_given_new for each in calls if each.name == "train"] == [False, True, True]


def test_calls_come_in_their_order() -> None:
    calls = method("grad(True)\nif x:\n    step(x)\ngrad(False)").calls
    assert [(each.name, each.switches()) for each in calls] == [("grad", True), ("step", None), ("grad", False)]


def test_a_loop_has_facts_of_its_own() -> None:
    found = method("self.a = None\nfor b in x:\n    while b:\n        self.step(b)\n    self.b = 0")
    (outer,) = found.loops
    (inner,) = outer.loops
    assert [set(each.own) for each in (found, outer, inner)] == [{"a", "step", "b"}, {"step", "b"}, {"step"}]
    assert (found.calls_own("step"), set(outer.cleared), set(inner.cleared)) == (1, {"b"}, set())


def test_decorators_are_not_part_of_a_function_and_inner_functions_are() -> None:
    found = facts_of("@outside(1)\nasync def f(x):\n    @inside\n    def g(): return x.detach()\n    return 'named'\n")
    assert "outside" not in found.names and {"inside", "g", "x", "named"} <= found.names
    assert found.detaches and found.texts == {"named"}


def test_comments_and_prose_say_nothing() -> None:
    assert facts_of("def f(x):\n    'calls backward some day'\n    return x  # backward\n").names == {"x"}


def test_a_body_that_waits_is_not_lowered_for_its_facts() -> None:
    (made, *_) = lower(Source("a.py", "def f(x):\n    return train(x, [1, 2, 3])\n")).module.body
    assert isinstance(made, ir.MakeFunction) and isinstance(made.code, ir.Deferred)
    assert [each.name for each in made.code.facts.calls] == ["train"]
    assert "body" not in vars(made.code)


def test_a_module_and_what_it_imports() -> None:
    text = "import a.b as c\nfrom d.e import f\nfrom . import g\nfrom .j import k\ntry:\n    def h(): import i\nexcept E: import l\n"
    source = Source("a.py", text)
    found = lower(source).module.facts
    assert found.defined == {"h"} and {"c", "f", "g", "i", "j", "k"} <= found.imported
    assert facts.packages(source) == {"a", "d", "i", "l"}


@pytest.mark.parametrize(
    ("text", "measured", "has_remainder"),
    [
        ("i % 2 == 0", {"i"}, True),
        ("len(seen) >= 3", {"seen"}, False),
        ("a and b == 3", {"b"}, False),
        ("3 == a", set(), False),
        ("a is None", set(), False),
    ],
)
def test_what_a_condition_measures(text: str, measured: set[str], has_remainder: bool) -> None:
    found = facts.of_text(text)
    assert (set(found.measured), found.has_remainder) == (measured, has_remainder)


def test_of_what_python_cannot_read_anything_may_be_so() -> None:
    found = facts.of_text("for self.a in ???")
    assert {"self", "a"} <= found.names & found.own & found.bound & found.cleared
