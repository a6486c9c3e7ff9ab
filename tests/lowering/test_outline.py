"""What is lowered when it is first asked for is what the whole file gives: instructions, spans, liveness, scopes."""

from __future__ import annotations

import builtins
import re
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retainlint import ir, program
from retainlint.lowering import lower, outline
from retainlint.lowering.outline import _spoken
from retainlint.text.prefilter import backward, may_backpropagate
from retainlint.text.source import Source, Span

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
CODE = ("name", "qualname", "span", "params", "local_names", "is_generator", "is_async", "registers", "annotated",
        "backward_passes", "body")  # fmt: skip
BUILTINS = frozenset(dir(builtins))

PROGRAMS = {
    "decorated": "@wrap\n@other(1)\ndef f(a=g(), *, b: int = 2):\n    # first\n    x = a + b  # last\n    return x\nf(1)\n",
    "first statement is decorated": "def f(a):\n    @wrap\n    def inner(b): return a + b\n    return inner(a)\ny = 1\n",
    "class": "class C(B):\n    z = 1\n    def m(self):\n        '''Doc é.'''\n        return self.__p + z\n    w = m\n",
    "not ascii": "s = 'é日本'\ndef f(é):\n    '日本'; y = 'é' + é\n    return y, 'ö'\nt = 'ü'\n",
    "tabs": "def f(a):\n\tif a:\n\t\treturn a + 1\n\treturn a + 2\nclass C:\n\tdef g(self):\n\t\tx = [1,\n2]\n\t\treturn x\n",
    "carriage returns": "def f(a):\r\n    b = a + 1\r\n    return b * 2\r\nx = f(1)\r\n",
    "no last newline": "x = 1\ndef f(a):\n    b = a + 1\n    return b * 2",
    "semicolons": "def f(a):\n    b = a + 1; c = b * 22222; return c;\ndef g(a): b = a + 1111111111111; return b\n",
    "generator": "def f(a):\n    for x in a:\n        yield x + 1\nasync def g(a):\n    async for x in a:\n        await x\n",
    "global": "n = 0\ndef f(a):\n    global n\n    n = n + a\n    return n\nif n:\n    n = f(n)\nwhile n: n = f(n)\n",
    "eval": "a = b = 1\ndef f(x):\n    return eval('a') + xxxxxx\nif f(b):\n    c = f(1)\nfor d in b: f(d)\n",
    "vars of an object": "a = b = 1\n# vars()\ndef f(x):\n    return vars(x), xxxxxxxxxx\nif f(b):\n    c = f(1)\n",
    "vars of here": "a = b = 1\ndef f(x):\n    return vars(x), vars(), 1\nif f(b):\n    c = f(1)\n",
    "vars in parentheses": "a = b = 1\ndef f(x):\n    return vars(  # none\n    ), 1\nif f(b):\n    c = f(1)\n",
    "in branches": "try:\n    def f(a):\n        return a + 11111111111\nexcept E:\n    def f(a):\n        return a + 22222222222\n",
    "comprehension": "def f(a):\n    return [b + aaaaaaa for b in xs]\nxs = [f(x) for x in ys if x]\nz = a and b\n",
    "string over rows": "def f(a):\n    x = '''\nnot code\n  def g(): pass\n'''\n    return x + a\ny = 1\n",
    "continued": "def f(a):\\\n  return a + 1111111111111111\ndef g(a):\n    b = a + \\\n1\n    return b\nx = 1\n",
    "type parameters": "def f[T](a: T):\n    return a + 11111111111111\nclass C[T]:\n    def m(self):\n        return T, 111111111\n",
    "walrus": "def f(a):\n    if (b := a + 1):\n        return b\n    return [c := b, c]\n",
    "nothing but a text": "def f(a):\n    '''A long text, and nothing else.'''\n",
    "form feed": "x = 1\n\f\ndef f(a):\n    return a + 11111111111111\n",
    "what symtable refuses": "def f(a):\n    x = a\n    global x\n    return x\nif x:\n    f(x)\n",
    "f-string over rows": "def f(a):\n    x = f'''\n{a}\n\n  {a.backward()}\n'''\n    return x\ndef g(a):\n    return a + 11111111111\n",
    "annotations": "def f(a: Dict[str, 'é'], *b: x.y, c: (A | B) | C = 1, **d: (Dict[str,\n int])) -> Union[\n  A,  # one\n B]:\n    z: List[int] = [a]\n    return a + 11111\nw: t.C = f(1)\n",
    "annotated fields": "class C:\n    a: List[int]\n    b: ClassVar[int] = 1\n    c: 'typing.ClassVar[int]' = 2\n    d: t.Tensor = field(x)\n    e[f(0)].g: t.H\n    def m(self)->t.Tensor: return self.a\n",
    "annotations that bind": "def f(a: List[(T := int)]) -> t.C: return a\nif f(T): f(T)\nx: List[(U := int)] = U\n",
    "annotations of walks": "def f(a: t.Tensor, b: List[int] = g(1)) -> t.Tensor:\n    a.backward()\n    def inner(c: t.Tensor): return c\n",
    "blanks behind": "def f(a):\n    return a + 11111111111111   \n    # more\n  # and more\n\n\nx = 1\n   ",
}  # fmt: skip


def differs(a: object, b: object, way: str = "") -> str | None:
    """Where two programs differ first; builtins and what the module's functions use are no difference in liveness."""
    if type(a) is not type(b) and not (isinstance(a, ir.Code) and isinstance(b, ir.Code)):
        return f"{way}: {a} against {b}"
    if isinstance(a, Span) and isinstance(b, Span):
        return None if (a.start, a.end) == (b.start, b.end) else f"{way}: {a.text!r} against {b.text!r}"
    if isinstance(a, ir.Live) and isinstance(b, ir.Live):
        same = a.registers == b.registers and a.names - BUILTINS == b.names - BUILTINS
        return None if same else f"{way}: {a} against {b}"
    if isinstance(a, ir.Code) or (is_dataclass(a) and not isinstance(a, type)):
        names = CODE if isinstance(a, ir.Code) else [each.name for each in fields(a)]
        found = (differs(getattr(a, name), getattr(b, name), f"{way}.{name}") for name in names)
        return next(filter(None, found), None)
    if isinstance(a, tuple) and isinstance(b, tuple):
        found = (differs(x, y, f"{way}[{i}]") for i, (x, y) in enumerate(zip(a, b, strict=False)))
        return f"{way}: {len(a)} against {len(b)}" if len(a) != len(b) else next(filter(None, found), None)
    return None if a == b else f"{way}: {a!r} against {b!r}"


def is_same_by_parts(text: str, name: str = "t.py") -> str | None:
    return differs(lower(Source(name, text), whole=True).module, lower(Source(name, text)).module)


@pytest.mark.parametrize("name", PROGRAMS)
def test_parts_are_what_the_whole_gives(name: str) -> None:
    text = PROGRAMS[name]
    if name == "type parameters" and outline(Source("t.py", text)) is None:
        pytest.skip("this Python knows no type parameters")
    assert is_same_by_parts(text) is None


@pytest.mark.parametrize("folder", ["raises", "runs", "unknown"])
def test_parts_of_fixtures_are_what_the_whole_gives(folder: str) -> None:
    waiting = 0
    for path in sorted((FIXTURES / folder).glob("*.py"))[::4]:
        text = path.read_text(encoding="utf-8")
        assert is_same_by_parts(text, path.name) is None, path.name
        found = outline(Source(path.name, text))
        waiting += found is not None and bool(found.aside())
    assert waiting or folder == "unknown"


def test_annotations_are_put_aside() -> None:
    text = "def f(é: Dict[str, int], b: int, *c: t.Tensor) -> List[\n  int]:\n    return 1\nx: t.Tensor = 1\n"
    found = outline(Source("t.py", text))
    assert found is not None
    assert [text[start:end] for start, end in sorted(found.types)] == [
        "Dict[str, int]",
        "t.Tensor",
        "List[\n  int]",
        "t.Tensor",
    ]
    [made] = [i.code for i in lower(Source("t.py", text)).module.body if isinstance(i, ir.MakeFunction)]
    assert [param.annotation for param in made.params] == ["Dict[str, int]", "int", "t.Tensor"]


def functions(program: program.Program) -> dict[str, ir.Code]:
    return {i.code.name: i.code for i in program.module.body if isinstance(i, ir.MakeFunction)}


def test_only_what_walks_is_lowered_at_once() -> None:
    text = "def f(a):\n    a.sum().backward()\n    return a + 1\ndef g(a):\n    return a + 11111111111\n"
    found = functions(lower(Source("t.py", text)))
    assert (type(found["f"]), type(found["g"])) == (ir.Code, ir.Deferred)
    assert (found["f"].backward_passes, found["g"].backward_passes) == (True, False)
    assert [type(instr) for instr in found["g"].body][-1] is ir.Return
    assert "body" not in vars(functions(lower(Source("t.py", text)))["g"])


@pytest.mark.skipif(
    sys.version_info < (3, 11), reason="what is nested so deeply crashes this Python: it reads none of it"
)
def test_a_body_that_cannot_be_read_is_unknown() -> None:
    text = "def f(a):\n    return a" + "+a" * 1500 + "\nx = 1\n"
    body = functions(lower(Source("t.py", text)))["f"].body
    assert [type(instr) for instr in body] == [ir.Opaque]
    assert "can't be read" in body[0].reason  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "backward_passes"),
    [
        ("loss.backward()", 1),
        ("# loss.backward()\n'''x.backward()'''\n", 0),
        ("step = loss.backward\n", 1),
        ("torch.autograd.grad(y, x)\n", 1),
        ("from torch.autograd import grad\ng = grad(y, x)\n", 1),
        ("def backward(ctx, g): return g\n", 0),
        ("class FBackward(Base): pass\n", 0),
        (
            "class C:\n    @staticmethod\n    def m(s):\n        'a.backward()'\n        s.manual_backward(\n            loss)\n",
            1,
        ),
        ("x = f'{loss.backward()}'\n", 1),
        ("x.\\\n  backward()\n", 1),
        ("ctx.save_for_backward(x)\n", 0),
        ("self.max_backward = 3\nprint(self.max_backward)\n", 0),
        ("self.run(self.my_backward)\ndef my_backward(self, loss): loss.backward()\n", 2),
        ("self.my_backward(loss)\n", 1),
        ("class F(torch.autograd.Function):\n    def backward(ctx, g):\n        g.backward()\n", 0),
        (
            "from torch.autograd import Function\nclass F(Function):\n    def backward(ctx, g):\n        g.backward()\n",
            0,
        ),
        ("class Function: pass\nclass F(Function):\n    def run(self, g):\n        g.backward()\n", 1),
        ("class F(nn.Module):\n    def backward(ctx, g):\n        g.backward()\n", 1),
    ],
)
def test_a_walk_that_is_only_spoken_of_is_none(text: str, backward_passes: int) -> None:
    found = outline(Source("t.py", text))
    assert found is not None and len(found.backward_passes) == backward_passes


WORDS = [
    "backward",
    "grad",
    "save_for_",
    "set_",
    "_after_",
    ".",
    "def ",
    "(",
    " ",
    "\n",
    "x",
    "_",
    "é",
    "autograd",
    ")",
    "training_step",
    "loss_scaler",
]


@given(st.lists(st.sampled_from(WORDS), max_size=12).map("".join))
def test_bytes_tell_of_every_walk_that_the_text_tells_of(text: str) -> None:
    assert may_backpropagate(text.encode()) == (re.search(backward(), text) is not None)


@given(st.lists(st.sampled_from([*WORDS, "from transformers import Trainer", "forward"]), max_size=12).map("".join))
def test_a_walk_ends_where_one_of_its_words_does(text: str) -> None:
    source = Source("t.py", text)
    rows = {source.place(end - 1)[0] for end in _spoken(text)}
    for found in re.finditer(backward(), text):
        word = found.start() + len(found[0].rstrip(" \n(")) - 1  # the bracket may stand rows below its word
        assert {source.place(word)[0], source.place(found.end() - 1)[0]} & rows
