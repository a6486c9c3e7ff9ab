"""Where statements, expressions and names stand in a text."""

from __future__ import annotations

import ast

import pytest
from fake_pipeline import span

from retainlint.text.source import Source
from retainlint.text.syntax import REFUSED, SyntaxTree, bindings, dotted, heads, names, syntax_of


def test_offsets_count_characters() -> None:
    tree = SyntaxTree(Source("m.py", "é = 'äö'; b = f(é,\r\n  'ü', c)\rd = b\n"))
    assert [tree.of(each) for each in tree.tree.body] == ["é = 'äö'", "b = f(é,\r\n  'ü', c)", "d = b"]
    assert [tree.of(each) for each in tree.calls[0].args] == ["é", "'ü'", "c"]


def test_the_innermost_statement_of_a_place() -> None:
    source = Source("m.py", "@d\ndef f(a=1):\n    if a: g(\n        a)\n\nx = 2  # why\n")
    tree = SyntaxTree(source)
    found = [tree.statement_of(span(source, part)) for part in ("@d", "a=1", "a: g", "a)", "x", "# why")]
    kinds = [ast.FunctionDef, ast.If, ast.Expr, ast.Assign]
    assert [type(each) for each in found if each is not None] == kinds
    assert (found[0], found[-1]) == (None, None)


def test_an_expression_in_its_brackets() -> None:
    source = Source("m.py", "y = (  # why\n    f(x)\n)\nprint(f'{f(x)}')\n")
    tree = SyntaxTree(source)
    for text in ("f(x)", "(  # why\n    f(x)\n)"):
        found = tree.expression(span(source, text))
        assert found is not None
        assert tree.of(found) == "f(x)"
    assert tree.expression(span(source, "f(x)", 1)) is None
    assert tree.expression(span(source, "y = (")) is None


def test_names_of_objects() -> None:
    tree = SyntaxTree(Source("m.py", "self.h = a.b.h\nh = self.h[0]\nf().h = other . h\n"))
    assert [tree.of(each) for each in tree.alike("self.h")] == ["self.h", "self.h"]
    assert sorted(map(tree.of, tree.alike("agent.h"))) == ["a.b.h", "other . h", "self.h", "self.h"]
    assert [tree.of(each) for each in tree.named(tree.tree, "self.h[0]")] == ["self.h[0]"]
    assert [tree.of(each) for each in tree.named(tree.tree, "f().h")] == ["f().h"]
    assert names(tree.tree.body[0]) == {"self", "self.h", "a", "a.b", "a.b.h"}


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("a, (b, c.d) = f(x), (g(x), h(x))", [("a", "f(x)"), ("b", "g(x)"), ("c.d", "h(x)")]),
        ("a, *b = x = f(x)", [("a", "f(x)"), ("b", "f(x)"), ("x", "f(x)")]),
        ("a, b = *x, y", [("a", "(*x, y)"), ("b", "(*x, y)")]),
        ("a[0] += x", [("", "x")]),
        ("a: int = 1", [("a", "1")]),
        ("a: int", []),
        ("for a in x: pass", []),
    ],
)
def test_what_is_bound_to_what(text: str, bound: list[tuple[str, str]]) -> None:
    found = bindings(ast.parse(text).body[0])
    assert [(each.name, ast.unparse(each.value)) for each in found] == bound


def test_what_functions_within_a_scope_bind_is_theirs() -> None:
    tree = SyntaxTree(
        Source("m.py", "a = 1\ndef f():\n    b = self.c = 2\n    lambda: (d := 3)\nclass A:\n    e = 4\n")
    )
    assert [each.name for each in tree.bound_in(tree.tree)] == ["a", "self.c", "e"]
    assert [each.name for each in tree.bound_in(tree.tree.body[1])] == ["b", "self.c"]
    assert [each.value for each in tree.bound_as("b")] == [tree.bindings[1].value]


def test_what_an_expression_begins_with() -> None:
    found = ast.parse("f(x)[0].y", mode="eval").body
    assert [ast.unparse(each) for each in heads(found)] == ["f(x)[0].y", "f(x)[0]", "f(x)", "f"]
    assert dotted(found) == ""
    assert dotted(ast.parse("a." * 31 + "a", mode="eval").body) == ""


def test_a_text_that_python_cannot_parse_is_as_an_empty_one() -> None:
    for text in ("print 'no'", "a\0b", "(" * 400, "a" + " + a" * 50_000):
        source = Source("m.py", text)
        assert syntax_of(source).statement(0) is None
        with pytest.raises(REFUSED):
            SyntaxTree(source)
