"""Offsets: what libcst's own position provider says, at a sixth of its price, whatever a text is made of."""

from __future__ import annotations

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider
from lowering.python_programs import EXCEPTION_GROUPS, PROGRAMS, TYPE_PARAMETERS

from retainlint.lowering import LoweringError
from retainlint.lowering.parse import parse
from retainlint.lowering.positions import align, measure
from retainlint.text.source import Source

TEXTS = {
    "tabs": "if x:\n\ty = f( a ,\tb )\n\tif y:\n\t        z = (1)\n\telse:\n\t\tpass\n",
    "crlf": "def f(a,\r\n      b=1):\r\n    return '''a\r\nb''' + g(a)\r\n\r\nf(1)\r\n",
    "mixed line ends": "x = 1\r\ny = (2,\n 3)\r\nz = '''a\r\nb\n'''\n",
    "wide and astral": "é = '漢字😀' + f(é, '𝒳')  # 😀\n数 = é[1:]; 数.吗()\n",
    "combining": "e\u0301 = 1\nx = 'e\u0301' + f(e\u0301)\n",
    "decorators": "@a.b(1)\n# between\n\n@c\n\n# more\nasync def f(x: int = 1, *, y) -> str:\n    await g(x)\n\n\n@d\nclass C(B, k=1): pass\n",
    "nested f-strings": "x = f'{a + f\"{b!r:>{w}}\"} {c(1)=}' f'''{d}\n{e[0]}'''\n",
    "continued": "x = a + \\\n    b.c( \\\n  d)\nassert x, \\\n  y\n",
    "parentheses": "x = ((a)) + ( # one )\n  (b)  # two )\n)\nfor (i) in ((j)): pass\nwith ((k) as l): pass\n",
    "semicolons": "a = 1; b = 2;\nif a: b(); c()\n",
    "no line end": "x = 1\nif x:\n    y(x)  # end",
    "blank tail": "x = 1\n\n   ",
    "only blanks": "  \n \t\n",
    "empty": "",
    "header": "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n\n'''doc'''\n\nimport a.b as c, d\nfrom . import (e,\n  f as g,)\n",
    "form feed alone": "x = 1\n\f\ny = x\n",
    "form feed inside": "x =\f1\ny = 'a\fb' # \f\nz = x\n",
    "line separators": "x = 'a\x85\u2028\u2029\x1c' + y # \u2028\nz = x\n",
    "exceptions": "try:\n  a()\nexcept (A, B) as e:\n  b()\nexcept C:\n  pass\nexcept:\n  c()\nelse:\n  d()\nfinally:\n  e()\n",
    "lambda": "f = lambda a, *b, c=1, **d: (yield a)\ng = [x async for x in y if z if (w) for v in x]\n",
    **{f"program {name}": text for name, text in PROGRAMS.items()},
    "type parameters": TYPE_PARAMETERS,
    "exception groups": EXCEPTION_GROUPS,
}

SHIFTED = {
    "byte-order mark": "\ufeffx = f(y)\nz = x\n",
    "form feed before code": "x = 1\n\fdef f(a):\n    return g(a)\n\f\n\fy = f(x)\n",
    "form feed in an indent": "if x:\n \f  y = f(x)\n    \f  z = y\n",
    "lone carriage returns": "x = 1\ry = f(x)\rif y:\r    z = '''a\rb''' + y\r",
    "mark and feeds": "\ufeff\fx = 1\r\f\fy = f(x)\n",
    "blanks at the end": "x = f(y)\n        ",
    "feeds at the end": "x = f(y)\n\f",
    "backslashes alone on a row": "x = 1\n\\\nif x:\n    y = f(x)\n\\\n    z = f(y +\n\\\n y)\r\n\\\r\nz = g(x)\n",
    "blank before a colon": "try:\n  f(x)\nexcept E :\n  g(y)\nexcept (F, G) as e :\n  h(z)\n",
    "blank behind a conversion": "x = f'{y!s  } {z}' + f(y)\n",
    "all of them": "\ufeff\ftry:\r\tf(x)\r\n\fexcept  E :\r\n\t\tg(y) # \f\r\f  ",
}


@pytest.mark.parametrize("name", TEXTS)
def test_agrees_with_the_position_provider(name: str) -> None:
    text = TEXTS[name]
    source = Source(name, text)
    wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
    expected = wrapper.resolve(PositionProvider)
    offsets, _ = measure(wrapper.module)
    nodes = {id(node): node for node in expected}
    assert offsets or not wrapper.module.body
    for key, (start, end) in offsets.items():
        span = expected[nodes[key]]
        told = tuple(source.offset(place.line, place.column + 1) for place in (span.start, span.end))
        assert (start, end) == told, (type(nodes[key]).__name__, text[start:end])


@pytest.mark.parametrize("name", [name for name in TEXTS if name != "blank tail"])
def test_counts_every_character(name: str) -> None:
    """libcst itself loses the blanks behind the last line end."""
    assert measure(cst.parse_module(TEXTS[name]))[1] == len(TEXTS[name])


@pytest.mark.parametrize("name", TEXTS)
def test_aligning_finds_what_counting_finds(name: str) -> None:
    module = cst.parse_module(TEXTS[name])
    assert align(module, TEXTS[name]) == measure(module)[0]


def test_what_is_more_than_white_space_is_not_aligned() -> None:
    module = cst.parse_module("x = f(y)\n")
    assert align(module, "x = f(z)\n") is None
    assert align(module, "x = f(y)\nz\n") is None
    assert align(module, "x =\\\n f( y ) \n\n") is not None


class _Leaves(cst.CSTVisitor):
    """Names and numbers spell themselves; calls end with a parenthesis."""

    def __init__(self, text: str, offsets: dict[int, tuple[int, int]]) -> None:
        self.text = text
        self.offsets = offsets
        self.seen = 0

    def visit_Name(self, node: cst.Name) -> None:
        self._spells(node, node.value)

    def visit_Integer(self, node: cst.Integer) -> None:
        self._spells(node, node.value)

    def visit_Call(self, node: cst.Call) -> None:
        start, end = self.offsets[id(node)]
        assert self.text[end - 1] == ")"
        assert start == self.offsets[id(node.func)][0] - len(node.func.lpar)

    def _spells(self, node: cst.CSTNode, value: str) -> None:
        start, end = self.offsets[id(node)]
        assert self.text[start:end] == value
        self.seen += 1


@pytest.mark.parametrize("name", [*TEXTS, *SHIFTED])
def test_places_stand_in_the_text_as_it_was_given(name: str) -> None:
    text = {**TEXTS, **SHIFTED}[name]
    tree = parse(Source(name, text))
    leaves = _Leaves(text, tree.offsets)
    tree.module.visit(leaves)
    assert leaves.seen or not tree.module.body


def test_a_changed_libcst_is_noticed() -> None:
    """If generating code stopped asking the state for positions, no expression would have one."""
    module = cst.parse_module("loss.backward(retain_graph=True)\n")
    offsets, length = measure(module)
    assert length == len("loss.backward(retain_graph=True)\n")
    assert (0, len("loss.backward(retain_graph=True)")) in offsets.values()


REFUSED = {
    "brackets around what is annotated": "(x): int = 1\n((y)) : int\nif x:\n    (z.a): int = 2; (z[0]): int\nd = {\n  (k): 1,\n}\n",
    "a form feed before an indentation": "class N:\n    def f(self):\n\f     loss.backward()\n    def g(self): pass\n",
    "form feeds within one": "if a:\r\n  \f \f     loss.backward()\r\n     # b\r\n     c\r\n",
    "a form feed behind a backslash": "if a:\n  b = 1 + \\\n\f 2\n\f  c\n",
    "a backslash in an indentation": "def f(x):\n    y = g(x)\n    \\\n    y.h()\n\t\nif x:\r\n  \\\r\n  f(x)\r\n",
    "blanks behind tabs, one block deeper": "def f(x):\r\n\t  if x:\r\n\t\t  y = g(x)\r\n\t  h(y)\r\n",
    "comments behind the last line, indented less": "if x:\n    loss.backward()\n   # c\n   # d\n\n",
    "a comment behind the last line": "if x:\n    loss.backward()\n    # c\n    ",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_python_reads_and_libcst_does_not_is_read_as_what_means_the_same(name: str) -> None:
    text = REFUSED[name]
    compile(text, "a.py", "exec")
    tree = parse(Source("a.py", text))
    names = _Names(tree.offsets)
    tree.module.visit(names)
    assert names.places
    for spelled, start, end in names.places:
        assert spelled in (text[start + aside : end + aside] for aside in range(3))  # by the brackets that it stood in
        assert end - start == len(spelled)


class _Names(cst.CSTVisitor):
    """Each name, and where it stands."""

    def __init__(self, offsets: dict[int, tuple[int, int]]) -> None:
        self.offsets = offsets
        self.places: list[tuple[str, int, int]] = []

    def visit_Name(self, node: cst.Name) -> None:
        self.places.append((node.value, *self.offsets[id(node)]))


def test_what_is_no_python_stays_refused() -> None:
    for text in ("if x:\n        y()\n\tz()\n", "(x y): int\n", "(x): int: int\n", "def f():\n\f  a\n     b\n"):
        with pytest.raises(LoweringError):
            parse(Source("a.py", text))
