"""What the code around a place says of names, lists, caches and loops, however it is laid out."""

from __future__ import annotations

import time

import pytest
from fake_pipeline import span

from retainlint.incident import Moment
from retainlint.rules.cache_hints import fills_cache, is_cached, is_kept_for_later, is_now_and_then, is_renewed
from retainlint.rules.loop_hints import (
    backward_within,
    is_below,
    is_drawn_anew,
    is_gone_through_again,
    steps_within,
    uses_gradients,
)
from retainlint.rules.source_hints import (
    assigned,
    backward_around,
    carried_name,
    detached_as,
    draws_reals,
    enclosing_function,
    flows_into,
    goes_into_itself,
    input_of,
    is_added_to,
    is_begun_again,
    is_bounded,
    is_default,
    is_given,
    is_item_of,
    is_joined,
    is_list,
    is_made_between,
    is_made_of_itself,
    is_of_parameters,
    is_returned,
    is_returned_there,
    is_used_between,
    kept_in,
    list_taken_from,
    only_changes,
    opens_block,
    sole_name,
    stands_alone,
    statement,
    unrecorded_in,
)
from retainlint.text.source import Source, Span


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("out, h = cell(x, h)", "h"),
        ("self.h = cell(x, self.h)", "self.h"),
        ("h = cell(x)", ""),
        ("total += cell(x)", "total"),
        ("total = total + cell(x) / n", "total"),
        ("(h, c) = cell(x, (h, c))", "h"),
        ("out, (h, c) = cell(x, (h, c))", "h"),
        ("out, h = cell(\n    x,\n    h,\n)", "h"),
        ("h: Tensor = cell(x, h)", "h"),
        ("x, kept[n] = cell(x, kept[n])", ""),
        ("h = cell(x).mul(h.mean())", "h"),
        ("h = cell('h')  # h", ""),
        ("x = cell(x2)", ""),
        ("if cell(x) == x: pass", ""),
        ("cell(x)", ""),
    ],
)
def test_what_a_statement_makes_from_itself(text: str, name: str) -> None:
    assert carried_name(span(Source("m.py", text), "cell(")) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("fake = G(z)", "fake"),
        ("self.fake = G(z)  # images", "self.fake"),
        ("a, b = G(z)", ""),
        ("loss = f(G(z))", ""),
        ("total += G(z)", ""),
        ("G(z)", ""),
        ("y = G(z) + 1", ""),
        ("fake = (\n    G(z)\n)", "fake"),
        ("x = 1; fake = G(z)", "fake"),
        ("(fake,) = G(z)", "fake"),
        ("fake = kept = G(z)", ""),
        ("fake = await G(z)", ""),
    ],
)
def test_the_variable_that_holds_just_a_call(text: str, name: str) -> None:
    assert sole_name(span(Source("m.py", text), "G(z)")) == name


def test_names_that_a_statement_binds() -> None:
    assert assigned(span(Source("m.py", "if x:\n    self.a, b = f(x)\n"), "f(x)")) == ("self.a", "b")
    assert assigned(span(Source("m.py", "f(x)\n"), "f(x)")) == ()


def test_lists_are_what_is_appended_to() -> None:
    source = Source("m.py", "self.losses.append(f(x))\n")
    assert is_list("self.losses", source)
    assert not is_list("losses", source)
    assert kept_in(span(source, "f(x)")) == "self.losses"
    assert kept_in(span(Source("m.py", "y = f(x)"), "f(x)")) == ""


@pytest.mark.parametrize(
    ("text", "cached"),
    [
        ("def w(self):\n    if self._w is None:\n        self._w = f(x)\n", True),
        ("if key not in self.seen:\n    y = f(x)\n", True),
        ("@cached_property\ndef w(self):\n    return f(x)\n", True),
        ("if h is None:\n    h = zeros()\nh = f(x)\n", False),
        ("@property\ndef w(self):\n    return f(x)\n", False),
    ],
)
def test_what_is_looked_up_first_is_cached(text: str, cached: bool) -> None:
    assert is_cached(span(Source("m.py", text), "f(x)")) is cached


def test_a_decorator_counts_for_its_own_function_alone() -> None:
    text = (
        "@cache\ndef early(x):\n    return x.exp()\n\nh = early(w)\n@other\n@cache\ndef late(x):\n    return x.sin()\n"
    )
    source = Source("m.py", text)
    assert [is_cached(span(source, part)) for part in ("x.exp()", "early(w)", "x.sin()")] == [True, False, True]


def test_the_list_of_which_a_part_is_taken_is_named() -> None:
    source = Source("m.py", "self.seen.append(x)\na = torch.stack(self.seen[-n:])\nb = table[0]\n")
    assert list_taken_from(span(source, "self.seen[-n:]")) == "self.seen"
    assert list_taken_from(span(source, "table[0]")) == ""


@pytest.mark.parametrize(
    ("text", "is_item"),
    [
        ("for lp in self.kept: pass", True),
        ("-sum(lp * g for lp, g in zip(self.kept, returns))", True),
        ("for g, lp in zip(returns, agent.kept): pass", True),
        ("for g, lp in zip(self.kept, returns): pass", False),
        ("for lp, g in zip(self.kept[1:], returns): pass", False),
        ("for lp in zip(self.kept, returns): pass", False),
        ("for n, lp in enumerate(self.kept): pass", True),
        ("x = [f(lp)\n     for lp\n     in self.kept]", True),
        ("note = 'for lp in self.kept'  # for lp in self.kept", False),
    ],
)
def test_a_loop_over_a_list_alone_or_beside_others_gives_its_items(text: str, is_item: bool) -> None:
    assert is_item_of("lp", "agent.kept", Source("m.py", text)) is is_item


def test_whether_a_loop_wants_gradients_by_themselves() -> None:
    text = "for x in xs:\n    zero_grad()\n\n    x.backward()\noptimizer.step()\n"
    loop = span(Source("m.py", text), "for x in xs:")
    assert uses_gradients(loop)
    assert backward_within(loop)
    assert not steps_within(loop)
    stepping = Source("m.py", text.replace("\noptimizer", "\n    optimizer"))
    assert not uses_gradients(span(stepping, "for x in xs:"))


def test_a_gradient_that_is_computed_with() -> None:
    used = Source("m.py", "g = grad(a, w)\nb = loss(w - g)\nb.backward()\n")
    looked_at = Source("m.py", "g = grad(a, w)\nb = loss(w + g.sign())\nb.backward()\n")
    for source, expected in ((used, True), (looked_at, False)):
        first, second = span(source, "grad(a, w)"), span(source, "b.backward()")
        assert is_used_between(("g",), first, second) is expected


def test_a_root_that_is_made_between() -> None:
    source = Source("m.py", "step()\nloss = f(x)\nloss.backward()\n")
    first, second = span(source, "step()"), span(source, "loss.backward()")
    assert is_made_between("loss + other", first, second)
    assert not is_made_between("other", first, second)
    assert not is_made_between("x", first, second)


def test_assignments_to_an_index_are_told_whole() -> None:
    source = Source("m.py", "h[:, 0] = 1.0  # why\nh[0].zero_()\nw[i] == 2\n")
    assert statement(span(source, "h[:, 0]")) == "h[:, 0] = 1.0"
    assert statement(span(source, "h[0].zero_()")) == "h[0].zero_()"
    assert statement(span(source, "w[i]")) == "w[i]"


def test_where_a_tensor_lost_its_graph() -> None:
    source = Source("m.py", "s = h.detach()  # kept\ntotal = torch.tensor(losses).sum()\ns.zero_()\ntotal.backward()\n")
    assert detached_as("s", span(source, "s.zero_()")) == "h.detach()"
    assert detached_as("h", span(source, "s.zero_()")) == ""


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("old = torch.stack(self.kept).detach()", True),
        ("all = torch.cat([x.flatten() for x in agent.kept])", True),
        ("return rewards, kept", True),
        ("print(sum(kept) / len(kept))", False),
        ("return sum(kept) / len(kept)", False),
        ("x = torch.cat([a, b])\nfor each in kept: pass", False),
    ],
)
def test_a_list_whose_tensors_are_put_together_is_known(text: str, joined: bool) -> None:
    assert is_joined("self.kept", Source("a.py", text)) is joined


@pytest.mark.parametrize(
    ("header", "given"),
    [
        ("def note(self, loss):", True),
        ("def note(\n    self,\n    loss=None,  # a tensor\n) -> None:", True),
        ("def note(self, x):", False),
        ("class Loss:", False),
    ],
)
def test_what_a_function_was_given(header: str, given: bool) -> None:
    assert is_given(span(Source("m.py", f"{header}\n    self.total += loss.mean()\n"), "loss.mean()")) is given
    assert not is_given(span(Source("m.py", f"{header}\n    self.total += self.loss\n"), "self.loss"))
    assert is_given(span(Source("m.py", f"{header}\n    self.kept.append((1, loss))\n"), "1, loss")) is given


def test_a_function_is_known_by_its_body_alone() -> None:
    text = "def f(x): return g(x)\n@cache\ndef late(\n    n=zeros(),\n):\n  # why\n    return lambda: n + 1\ny = 2\n"
    source = Source("m.py", text)
    found = [enclosing_function(span(source, part)) for part in ("g(x)", "zeros()", "n + 1", "y")]
    assert found == ["f", "", "late", ""]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("with torch.no_grad():  # a: b\n    y = f(x)\n", "with torch.no_grad()"),
        (
            "with (\n    torch.no_grad(),\n    autocast() as a,\n):\n    y = f(x)\n",
            "with (\n    torch.no_grad(),\n    autocast() as a,\n)",
        ),
        ("@torch.inference_mode(\n)\n@other\ndef g(x):\n    if x:\n        return f(x)\n", "@torch.inference_mode(\n)"),
        ("with open('no_grad'):  # torch.no_grad()\n    y = f(x)\n", None),
        ("with torch.no_grad():\n    pass\ny = f(x)\n", None),
        ("@torch.no_grad()\ndef g(x): pass\n\ndef h(x):\n    return f(x)\n", None),
    ],
)
def test_where_nothing_is_recorded(text: str, found: str | None) -> None:
    block = unrecorded_in(Moment(span(Source("m.py", text), "f(x)")))
    assert (block and block.text) == found


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("if key not in known:\n    known[key] = f(x)\n", "known[key]"),
        ("if not (\n    key in known\n):\n    known[key] = f(x)\n", "known[key]"),
        ("if w is None: w = f(x)\n", "w"),
        ("if w is not None:\n    pass\nelse:\n    w = f(x)\n", "w"),
        ("if self.w is not None:\n    return self.w\nself.w = f(x)\n", "self.w"),
        ("if ok and self.w is not None:\n    return self.w\n\nself.w = f(\n    x)\n", "self.w"),
        ("if w is None or old > 3:\n    w = f(x)\n", ""),
        ("if train:\n    train_loss = f(x)\n", ""),
        ("if w is None:\n    y = f(x)\n", ""),
    ],
)
def test_what_is_bound_as_it_was_not_there_yet(text: str, filled: str) -> None:
    at = text.index("f(")
    assert fills_cache(Span(Source("m.py", text), at, text.index(")", at) + 1)) == filled


@pytest.mark.parametrize(
    ("text", "renewed", "now_and_then"),
    [
        ("if w is None or age >= 3:\n    w = f(x)\n", True, False),
        ("if (\n    w is None\n    or step % 4 == 0\n):\n    w = f(x)\n", True, True),
        ("if a:\n    pass\nelif step % 4 == 0:\n    w = f(x)\n", False, True),
        ("if step % 4 == 0:\n    pass\nelse:\n    w = f(x)\n", False, False),
        ("if w is None:  # or age > 3\n    w = f(x)\n", False, False),
    ],
)
def test_what_is_computed_now_and_then(text: str, renewed: bool, now_and_then: bool) -> None:
    there = span(Source("m.py", text), "f(x)")
    assert (is_renewed(there), is_now_and_then(there)) == (renewed, now_and_then)


def test_what_is_kept_for_later_calls() -> None:
    text = (
        "def g(self):\n    if self.w is not None:\n        return self.w\n    w = f(x)\n    self.w = {}\n    return w\n"
    )
    assert is_kept_for_later(span(Source("m.py", text.format("w")), "f(x)"))
    assert not is_kept_for_later(span(Source("m.py", text.format("w + 1")), "f(x)"))


@pytest.mark.parametrize(
    ("default", "made"), [("[]", True), ("{\n    }", True), ("deque()", True), ("None", False), ("other([])", False)]
)
def test_a_default_is_made_once(default: str, made: bool) -> None:
    text = f"def g(\n    x, *,  # kept=[]\n    kept: list = {default},\n    last=1,\n):\n    kept.append(f(x))\n"
    assert is_default("kept", span(Source("m.py", text), "f(x)")) is made
    assert not is_default("last", span(Source("m.py", text), "f(x)"))


@pytest.mark.parametrize(
    ("text", "bounded"),
    [
        ("self.kept = deque(\n    maxlen=3)", True),
        ("self.kept, self.other = collections.deque(), 1", True),
        ("self.kept.pop(0)", True),
        ("del self.kept[:2]", True),
        ("loss = sum(self.kept[-n:])", True),
        ("self.kept.pop()", False),
        ("x = self.kept[-1]", False),
        ("# self.kept.pop(0)\nother.kept.popleft()", False),
    ],
)
def test_a_list_that_drops_its_oldest(text: str, bounded: bool) -> None:
    assert is_bounded("self.kept", Source("m.py", text)) is bounded
    assert is_bounded("agent.kept", Source("m.py", text)) is (bounded or "popleft" in text)


@pytest.mark.parametrize(
    ("text", "added"),
    [
        ("total += f(x)", True),
        ("total = 0.9 * total + f(x)", True),
        ("total = (\n    total\n    + f(x)\n)", True),
        ("total += total", False),
        ("total = f(total) + 1", False),
        ("total *= 2", False),
        ("total = g(x)  # total = total + f(x)", False),
    ],
)
def test_a_sum_over_iterations(text: str, added: bool) -> None:
    assert is_added_to("total", Source("m.py", text)) is added


def test_what_a_list_is_given_as_it_is() -> None:
    text = "loss = f(x)\nself.kept.append(\n    ({}, 1),\n)\n"
    for given, kept in (("loss", "self.kept"), ("loss[0]", "self.kept"), ("g(loss)", ""), ("x[loss]", "")):
        assert kept_in(span(Source("m.py", text.format(given)), "f(x)")) == kept


def test_what_is_made_of_what_it_was() -> None:
    source = Source("m.py", "mean = (0.9 * mean\n    + f(x))\nw[0] = g(w[0])\nother = h(x)\n")
    assert goes_into_itself("mean", span(source, "f(x)"))
    assert [is_made_of_itself(span(source, part)) for part in ("f(x)", "g(w[0])", "h(x)")] == [True, True, False]
    first, last = span(source, "mean"), span(source, "h(x)")
    assert flows_into("w", first, last) == {"w"}
    assert flows_into("w", first, Span(source, len(source.text), len(source.text))) == {"w"}


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("if a: f(x)", True),
        ("y = 1; f(x).g()", True),
        ("await f(x)", True),
        ("y = (\n    f(x))", False),
        ("g(\n    f(x))", False),
        ("y = {1: f(x)}", False),
    ],
)
def test_a_call_that_stands_alone(text: str, alone: bool) -> None:
    assert stands_alone(span(Source("m.py", text), "f(x)")) is alone


def test_what_a_function_returns() -> None:
    text = "def g(w, out):\n    w.f(x)\n    def inner(): return w\n    yielded = [w]\n{}"
    source = Source("m.py", text.format("    return\n"))
    assert only_changes(span(source, "w.f(x)"), "w[0]") == "g"
    assert only_changes(span(source, "w.f(x)"), "other") == ""
    assert not is_returned("w", span(source, "w.f(x)"))
    returning = Source("m.py", text.format("    return (  # it\n        w)\n"))
    assert only_changes(span(returning, "w.f(x)"), "w") == ""
    assert is_returned("w", span(returning, "w.f(x)"))
    assert is_returned_there(span(Source("m.py", "return g(\n    f(x))"), "f(x)"))


def test_what_stands_in_a_header() -> None:
    source = Source("m.py", "with (\n    f(x),\n):\n    for p in net.parameters():\n        g(p)\n")
    assert opens_block(span(source, "f(x)"))
    assert not opens_block(span(source, "g(p)"))
    assert is_of_parameters(span(source, "p in"))
    assert not is_of_parameters(span(source, "g(p)"))


def test_what_stands_in_a_loop() -> None:
    text = "for x in xs:  # step()\n    y = 'backward()'\nelse:\n    opt.step()\nz = f(x)\n"
    source = Source("m.py", text)
    loop = span(source, "for x in xs")
    assert is_below(loop, span(source, "y ="))
    assert not is_below(loop, span(source, "f(x)"))
    assert not steps_within(loop)
    assert not backward_within(loop)
    assert backward_around(span(Source("m.py", "def g():\n    return f(x)\n    loss.backward(\n)"), "f(x)"))


def test_a_gradient_is_used_in_the_rest_of_its_function() -> None:
    text = "def g():\n    if a:\n        s = grad(\n            a, w)\n    {}\n\ndef h(s):\n    return s * 2\n"
    for use, used in (
        ("return s * 2", True),
        ("print(f'{s}')", False),
        ("return s.norm().item()", False),
        ("s = 1", False),
    ):
        source = Source("m.py", text.format(use))
        there = span(source, "grad(\n            a, w)")
        assert is_used_between(("s",), there, there) is used


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("for e in range(3):\n    for (\n        x\n    ) in self.xs:\n        f(x)\n", True),
        ("for e in range(3):\n    for n, x in enumerate(self.xs):\n        f(x)\n", True),
        ("for e in range(3):\n    self.xs = g(e)\n    for x in self.xs:\n        f(x)\n", False),
        ("for e in range(3):\n    for x in self.xs:\n        self.xs.pop()\n", False),
        ("for self in range(3):\n    for x in self.xs:\n        f(x)\n", False),
        ("for e in range(3):\n    pass\nfor x in self.xs:\n        f(x)\n", False),
    ],
)
def test_a_collection_that_is_gone_through_again(text: str, again: bool) -> None:
    source = Source("m.py", text)
    inner = text.rindex("for ")
    outer = Span(source, 0, text.index(":"))
    assert is_gone_through_again(Span(source, inner, text.index(":", inner)), outer) is again


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("for e in range(3):\n    x = torch.randn(\n        2).to(d)\n    f(x)\n", True),
        ("def made(n):\n    return torch.rand(n)\n\nfor e in range(3):\n    x, y = made(3)\n    f(x)\n", True),
        ("for e in range(3):\n    x = made(e)\n    f(x)\n\ndef made(n):\n    return torch.rand(n)\n", False),
        ("def made(n):\n    yield torch.rand(n)\n\nfor e in range(3):\n    x = made(3)\n    f(x)\n", False),
        ("data = DataLoader(\n    d, shuffle=True)\nfor x in data:\n    f(x)\n", True),
        ("data = DataLoader(d)  # shuffle=True\nfor x in data:\n    f(x)\n", False),
    ],
)
def test_what_each_iteration_draws_anew(text: str, drawn: bool) -> None:
    source, at = Source("m.py", text), text.index("for ")
    assert is_drawn_anew(Span(source, at, text.index(":", at)), "f(x)") is drawn


def test_what_is_begun_again() -> None:
    text = "class A:\n    def __init__(self):\n        self.h = None\n    def {}(self):\n        {}\n"
    for name, row, begun in (
        ("reset", "self.h, self.c = None, None", True),
        ("reset", "self.h = torch.zeros(\n            2).to(d)", True),
        ("reset", "h = None  # self.h = None", False),
        ("__post_init__", "self.h = None", False),
    ):
        assert is_begun_again("self.h", Source("m.py", text.format(name, row))) is begun


def test_what_goes_into_a_call() -> None:
    calls = (
        "torch.round(f(x, y))",
        "(a + b).round()",
        "torch.where(a, b)",
        "F.relu(x)",
        "x.round(2)",
        "a b",
        "x[0].sign( )",
    )
    assert [input_of(call) for call in calls] == ["f(x, y)", "a + b", "", "", "", "", "x[0]"]


def test_draws_of_real_numbers() -> None:
    for text, real in (
        ("d = Normal(\n    m, s)", True),
        ("d = torch.distributions.Beta(a, b)  # log_prob", True),
        ("d = Normal(m, s), Categorical(p)", False),
        ("d = Normal(m, s).log_prob(x)", False),
        ("d = 'Normal()'", False),
    ):
        assert draws_reals(Span(Source("m.py", text), 0, 1)) is real


def test_of_what_python_cannot_parse_there_is_no_hint() -> None:
    source = Source("m.py", "h = cell(h)\nfor x in xs:\n    h.append(1)\nprint 'no'\n")
    there, loop = span(source, "cell(h)"), span(source, "for x in xs")
    assert (assigned(there), carried_name(there), sole_name(there), kept_in(there)) == ((), "", "", "")
    assert (fills_cache(there), enclosing_function(there), detached_as("h", there)) == ("", "", "")
    assert statement(there) == "cell(h)"
    assert unrecorded_in(Moment(there)) is None
    for found in (is_list("h", source), is_joined("h", source), is_bounded("h", source), is_added_to("h", source)):
        assert not found
    assert not (
        steps_within(loop) or uses_gradients(loop) or is_gone_through_again(loop, loop) or is_drawn_anew(loop, "h")
    )
    assert not (stands_alone(there) or is_cached(there) or is_given(there) or is_default("h", there))


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"h{n} = cell(h{n}, x)\n" for n in range(10_000)),
        "h = [" + "cell(h), " * 20_000 + "]\n",
        *("h = " + "h + " * deep + "cell(h)\n" for deep in (900, 2_500)),
        *("h = cell(h)" + ".a(h)[0]" * deep + "\n" for deep in (300, 900)),
        *("if " + "not " * deep + "h:\n    h = cell(h)\n" for deep in (900, 2_500)),
        "h = " + "é + " * 20_000 + "cell(h)\n",
        "h = " + ".".join("h" * 2_000) + "\n" + "h.append(cell(h))\n" * 5_000,
        "h = " + "[".join("h" * 150) + "]" * 149 + "\n",
        "def f(h):\n" + "    if h is None:\n        h = cell(h)\n" * 5_000,
    ],
)
def test_a_hostile_text_takes_time_in_proportion(text: str) -> None:
    source, begun = Source("m.py", text), time.process_time()
    whole = Span(source, 0, 5)
    for at in (0, len(text) // 2, len(text) - 8):
        there = Span(source, at, min(at + 7, len(text)))
        for ask in (
            assigned,
            carried_name,
            sole_name,
            kept_in,
            fills_cache,
            is_cached,
            is_renewed,
            list_taken_from,
            is_of_parameters,
            is_made_of_itself,
            stands_alone,
            is_given,
        ):
            ask(there)
        detached_as("h", there)
        is_used_between(("h", "h.h"), whole, there)
        is_made_between("h", whole, there)
        flows_into("h", whole, there)
    for name in ("h", "self.h", "a.h", "h[0].x"):
        is_list(name, source), is_bounded(name, source), is_added_to(name, source), is_begun_again(name, source)
    assert time.process_time() - begun < 10
