"""What the text around a place says of names, lists, caches and loops."""

from __future__ import annotations

import pytest
from fake_pipeline import span

from retainlint.rules.source_hints import (
    assigned,
    body,
    carried_name,
    detached_as,
    is_cached,
    is_given,
    is_item_of,
    is_joined,
    is_list,
    is_made_between,
    is_used_between,
    kept_in,
    list_taken_from,
    sole_name,
    statement,
    uses_gradients,
)
from retainlint.text.source import Source


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("out, h = cell(x, h)", "h"),
        ("self.h = cell(x, self.h)", "self.h"),
        ("h = cell(x)", ""),
        ("total += cell(x)", "total"),
        ("total = total + cell(x) / n", "total"),
        ("(h, c) = cell(x, (h, c))", "h"),
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
    ],
)
def test_the_variable_that_holds_just_a_call(text: str, name: str) -> None:
    assert sole_name(span(Source("m.py", text), "G(z)")) == name


def test_names_that_a_statement_binds() -> None:
    assert assigned(span(Source("m.py", "    self.a, b = f(x)\n"), "f(x)")) == ("self.a", "b")
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
        ("for lp in self.kept:", True),
        ("-sum(lp * g for lp, g in zip(self.kept, returns))", True),
        ("for g, lp in zip(returns, agent.kept):", True),
        ("for g, lp in zip(self.kept, returns):", False),
        ("for lp, g in zip(self.kept[1:], returns):", False),
        ("for lp in zip(self.kept, returns):", False),
    ],
)
def test_a_loop_over_a_list_alone_or_beside_others_gives_its_items(text: str, is_item: bool) -> None:
    assert is_item_of("lp", "agent.kept", Source("m.py", text)) is is_item


def test_a_loop_s_body_and_whether_it_wants_gradients_by_themselves() -> None:
    text = "for x in xs:\n    zero_grad()\n\n    x.backward()\noptimizer.step()\n"
    loop = span(Source("m.py", text), "for x in xs:")
    assert body(loop) == "    zero_grad()\n\n    x.backward()"
    assert uses_gradients(loop)
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
