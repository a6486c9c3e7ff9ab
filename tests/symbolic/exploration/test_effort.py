"""Texts that grow, nest and branch as fast as can be end in time: their steps are few, or their effort is spent, and that is said."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from typing import Any, cast

import pytest
from machine import Machine

from retainlint import ir
from retainlint.autograd.graph import Edge, Node, leaf
from retainlint.incident import Iteration, Moment
from retainlint.ir import facts
from retainlint.symbolic.detectors.claims import later_iteration
from retainlint.symbolic.models.unknown import call_results
from retainlint.symbolic.state import limits
from retainlint.symbolic.state.effort import Effort, OutOfSteps
from retainlint.symbolic.state.graphs import Birth, Graphs
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import PROVEN, Closure, Const, Method, Partial, Tuple, Value
from retainlint.text.source import Source, Span

HEAD = "import torch\nw = torch.ones(3, requires_grad=True)\nloss = (w * w).sum()\n"
TWICE = "loss.backward()\nloss.backward()\n"


def doubled(begin: str, again: str) -> str:
    return f"{HEAD}{begin}\n" + f"{again}\n" * 40 + TWICE


def arms(count: int) -> str:
    return f"{HEAD}if a:\n    pass\n" + "".join(f"elif a == {n}: loss = loss * {n}\n" for n in range(count)) + TWICE


def nested(head: str, depth: int, body: str) -> str:
    heads = "".join(f"{' ' * n}{head.format(n=n)}:\n" for n in range(depth))
    return f"{HEAD}{heads}{' ' * depth}{body}\n{TWICE}"


def diamonds(count: int) -> str:
    rows = "".join(
        f"class L{n}(A{n - 1}): pass\nclass R{n}(A{n - 1}): pass\nclass A{n}(L{n}, R{n}): pass\n"
        for n in range(1, count + 1)
    )
    return f"{HEAD}class A0(torch.nn.Module): pass\n{rows}net = A{count}()\n{TWICE}"


def choices(count: int) -> str:
    rest = "loss"
    for n in range(count):
        rest = f"(loss * {n} if a{n} else {rest})"
    return f"{HEAD}x = {rest}\n{TWICE}"


GROWING = {
    "a list that is added to itself": doubled("x = [0]", "x += x"),
    "a list of itself twice": doubled("x = [0]", "x = [*x, *x]"),
    "a tuple that is added to itself": doubled("x = (0,)", "x = x + x"),
    "tuples in tuples": doubled("x = (0,)", "x = (x, x)"),
    "pairs of pairs": doubled("x = (0, 1)", "x = tuple(zip(x, x))"),
    "zips of zips": doubled("x = (0, 1)", "x = zip(x, x)") + "for y in x: loss = loss + 1\n",
    "dicts in dicts under conditions": doubled("x = {'a': 0}", "x = {'a': x, 'b': x}")
    + "if a: x = {'a': x, 'b': loss * 2}\nprint(x)\n",
    "dicts in dicts": doubled("x = {'a': 0}", "x = {'a': x, 'b': x}"),
    "a number that is squared": doubled("x = 3", "x = x * x"),
    "a text that is formatted into itself": doubled("x = 'ab'", "x = '{0}{0}'.format(x)"),
    "the same with a sign": doubled("x = 'ab'", "x = '%s%s' % (x, x)"),
    "the same by its method, of which no number is known": doubled("x = b'a'", "x = x.__add__(x)")
    + "loss = loss + len(x)\n",
    "the same joined": doubled("x = 'ab'", "x = x.join([x, x])"),
    "the same in an f-string": doubled("x = 'ab'", "x = f'{x}{x}'"),
    "columns too wide": f"{HEAD}x = '%1000000000d' % 3\ny = f'{{3:1000000000}}'\nz = 'x'.ljust(10**9)\n{TWICE}",
    "known loops": nested("for i{n} in range(10)", 11, "loss = loss * w.sum()"),
    "unknown loops": nested("for i{n} in range(a{n})", 12, "loss = loss * w.sum()"),
    "loops with a condition": nested("while a{n}", 10, "loss = loss * w.sum()"),
    "a long chain of arms": arms(80),
    "a long chain of arms that return": f"{HEAD}def train(a, loss):\n    if a == 0: return\n"
    + "".join(f"    elif a == {n}: return\n" for n in range(1, 300))
    + "    loss.backward()\n    loss.backward()\ntrain(a, loss)\n",
    "choices in each other": choices(40),
    "classes that share their ancestors": diamonds(30),
    "remainders without a common one": f"{HEAD}for i in range(n):\n"
    + "".join(f"    if i % {n} == {n - 1}: loss.backward(); loss = (w * w).sum()\n" for n in (64, 63, 61, 59))
    + TWICE,
    "names that are bound under many conditions": HEAD
    + "[{{3 for b in hash if id}} for (pow or 'l').r in slice if chr(max) if 'd' and property"
    + " for *float, in max('l' ** hasattr, v)(eval, f) if len for range in -len if pow()"
    + f" if 1(loss)(set if str else complex)]\n{TWICE}",
    "a `with` of many contexts": f"{HEAD}with {', '.join(f'c{n}()' for n in range(400))}:\n    loss.backward()\n{TWICE}",
}


@pytest.mark.parametrize("name", GROWING)
def test_what_grows_or_nests_is_followed_to_its_end(
    machine: Machine, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CONDITIONS_TOLD", 100)
    exploration = machine(GROWING[name])
    assert exploration.lines
    assert exploration.steps < limits.ENTRY_STEPS / 4
    assert not exploration.says("was not followed to its end")


def test_contexts_beyond_what_python_takes_are_a_gap(machine: Machine) -> None:
    exploration = machine(GROWING["a `with` of many contexts"])
    assert exploration.says("a `with` of more than 100 contexts")


def test_effort_that_is_spent_ends_an_entry_and_no_other(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    functions = "def train():\n    loss = (w * w).sum()\n    loss.backward()\n    loss.backward()\n"
    monkeypatch.setattr(limits, "ENTRY_EFFORT", 300)
    exploration = machine(arms(40) + functions)
    assert exploration.says("the module was not followed to its end: its paths take too much to compare")
    assert exploration.lines == [(arms(40) + functions).count("\n")]


def test_what_nests_deeper_than_the_machine_can_go_is_a_gap(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    functions = "def train():\n    loss = (w * w).sum()\n    loss.backward()\n    loss.backward()\n"
    monkeypatch.setattr(limits, "INTERPRETER_FRAMES", 200)
    monkeypatch.setattr("sys.setrecursionlimit", lambda _: None)
    monkeypatch.setattr("retainlint.symbolic.interpreter.machine.Interpreter.part", _too_deep)
    exploration = machine(f"{HEAD}if a:\n    pass\n{TWICE}{functions}")
    assert exploration.says("the module was not followed to its end: it is nested too deeply")
    assert exploration.lines


def _too_deep(*_: object) -> None:
    raise RecursionError


def test_a_file_whose_entries_all_take_much_ends(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    body = "".join(f"    if options.flag{n}:\n        x = x * {n + 2}\n" for n in range(6))
    text = HEAD + "".join(
        f"def train{n}(x, options):\n{body}    loss = (x * w).sum()\n    loss.backward()\n    loss.backward()\n"
        for n in range(12)
    )
    monkeypatch.setattr(limits, "LATE_ENTRY_STEPS", 30)
    monkeypatch.setattr(limits, "FILE_EFFORT", 5_000)
    some = machine(text)
    assert some.says("its budget of 30 steps ran out")
    assert 0 < len(some.lines) < 12
    monkeypatch.undo()
    assert len(machine(text).lines) == 12


def test_effort_is_counted_by_entry_and_by_file() -> None:
    effort = Effort()
    assert effort.limit == min(limits.ENTRY_EFFORT, limits.FILE_EFFORT_LATE - limits.ENTRY_STEPS * limits.STEP_EFFORT)
    effort.add(int(effort.limit))
    assert effort.share == effort.limit / limits.ENTRY_EFFORT
    with pytest.raises(OutOfSteps):
        effort.add(1)
    assert effort.is_spent
    assert effort.begin(0, 9_000) == 9_000
    assert not effort.is_spent
    file = Effort()
    assert file.begin(limits.FILE_EFFORT // limits.STEP_EFFORT, 9_000) == 9_000
    assert file.begin(1, 9_000) == limits.LATE_ENTRY_STEPS
    assert file.begin(limits.FILE_EFFORT_LATE // limits.STEP_EFFORT, 9_000) == 0


def test_an_entry_near_the_end_of_a_file_may_still_compare_states() -> None:
    file = Effort()
    left = limits.ENTRY_STEPS // 2
    steps = file.begin(limits.FILE_EFFORT_LATE // limits.STEP_EFFORT - left, limits.ENTRY_STEPS)
    assert left // 2 < steps < left
    assert file.limit >= (left - steps - 1) * limits.STEP_EFFORT > 0


def test_pairs_of_answers_count_up_to_a_number(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs: list[int] = []
    add = Effort.add

    def noted(effort: Effort, units: int) -> None:
        pairs.append(units)
        add(effort, units)

    monkeypatch.setattr(Effort, "add", noted)
    machine(arms(150))
    bound = len([*combinations(range(limits.PAIRED_ANSWERS), 2)])
    assert max(pairs) < (limits.PATHS + 2) ** 2 * bound / 4 + (limits.PATHS + 2) * 400


def test_views_of_one_tensor_share_what_stands_for_it(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []
    build = Graphs.build

    def noted(graphs: Graphs, state: State, operation: str, *args: Any, **options: Any) -> Edge | None:
        built.append(operation)
        return build(graphs, state, operation, *args, **options)

    monkeypatch.setattr(Graphs, "build", noted)
    views = "".join(f"v{n} = x[{n}]\n" for n in range(20))
    changes = "".join(f"x.mul_({n})\n" for n in range(2, 7))
    exploration = machine(f"{HEAD}x = w * 1\n{views}{changes}loss = (v3 * v4).sum()\n{TWICE}")
    assert exploration.lines
    assert built.count("alias") == 5


def test_each_part_of_a_long_sum_is_not_read_for_itself(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    of_text = facts.of_text

    def noted(text: str) -> facts.Facts:
        read.append(text)
        return of_text(text)

    monkeypatch.setattr(facts, "of_text", noted)
    rows = " + ".join(["(w * w).sum()"] * 200)
    exploration = machine(f"{HEAD}while w:\n    loss = {rows}\n    total = loss * 2\n{TWICE}")
    assert exploration.lines
    assert sum(map(len, read)) < 20 * len(rows)


def test_iterations_that_two_moments_share_are_not_compared() -> None:
    class Untouched:
        __hash__ = None  # type: ignore[assignment]

        def __eq__(self, other: object) -> bool:
            raise AssertionError

    shared = [Iteration(cast(Span, Untouched()), 1) for _ in range(60)]
    loop = Span(Source("a.py", "for x in y: pass\n"), 0, 11)
    first, second = Iteration(loop, 1), Iteration(loop, 2)
    assert later_iteration((*shared, first), (*shared, second)) is second
    assert later_iteration((*shared, second), (*shared, first)) is None


def test_a_tuple_holds_no_more_tuples_than_its_limit() -> None:
    value = Tuple((Const(0),))
    for _ in range(40):
        value = Tuple((value, value))
        assert value.nested <= limits.NESTED_VALUES
        assert len(value.items) == 2
    flat = Tuple((Tuple((Const(0), Const(1))),) * (limits.NESTED_VALUES + 1))
    assert all(isinstance(each, Tuple) for each in flat.items)


@pytest.mark.parametrize(
    "made",
    [
        lambda value: Partial(value, (value,), (("a", value),)),
        lambda value: Tuple((Method(value, "x"), Method(value, "y"))),
        lambda value: Closure(cast(ir.Code, None), 0, (("a", value), ("b", value))),
    ],
)
def test_no_value_holds_more_by_value_than_its_limit(made: Callable[[Value], Tuple | Partial | Closure]) -> None:
    value = made(Const(0))
    for _ in range(40):
        value = made(value)
        assert value.nested <= limits.NESTED_VALUES


def test_what_an_object_holds_by_many_ways_is_gone_through_once(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    visited = 0
    visit = call_results._doubt

    def counting(state: State, value: Value) -> Iterable[Value]:
        nonlocal visited
        visited += 1
        return visit(state, value)

    monkeypatch.setattr(call_results, "_doubt", counting)
    rows = "".join(f"a.x{n} = a\n" for n in range(50))
    text = f"import torch\nclass A: pass\na = A()\n{rows}w = torch.ones(2, requires_grad=True)\n"
    machine(f"{text}def f(call):\n    for _ in range(3):\n        call(a)\n        w.exp().sum().backward()\n")
    assert 0 < visited < 100


@pytest.mark.parametrize("first, step", [("[w.exp()]", "[a, a, a]"), ("[]", "a.append(a) or a"), ("w", "{1: a, 2: a}")])
def test_a_tree_that_holds_itself_is_not_mapped_over(machine: Machine, first: str, step: str) -> None:
    rows = f"a = {step}\n" * 40
    text = (
        f"import torch\nfrom torch.utils._pytree import tree_map\nw = torch.ones(2, requires_grad=True)\na = {first}\n"
    )
    assert machine(f"{text}{rows}b = tree_map(lambda t: t, a)\nw.exp().sum().backward()\n").incidents == ()


def test_searches_that_find_their_node_count() -> None:
    graphs, first = Graphs(), leaf("w")
    node, made = first, Moment(Span(Source("a.py", "w * w\n"), 0, 5), (), ())
    for order in range(100):
        node = Node("MulBackward0", next=(Edge(node),), order=order)
        graphs.births[node] = Birth(made, PROVEN, (PROVEN,), ())
    assert graphs.leads(Edge(node), first)
    assert graphs.effort.units >= 100
    assert len(graphs.way(Edge(node), first, PROVEN)) == 101
    assert graphs.effort.units >= 200


def test_the_text_is_not_gone_through_again_for_each_condition_of_a_failure(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = 0
    walk = ir.walk

    def counting(block: ir.Block, *, classes: bool = False) -> Iterator[ir.Instr]:
        nonlocal counted
        for instr in walk(block, classes=classes):
            counted += 1
            yield instr

    monkeypatch.setattr(ir, "walk", counting)
    rows = 200
    machine(HEAD + "".join(f"if f({n}): loss.backward()\n" for n in range(rows)))
    assert counted < 1000 * rows
