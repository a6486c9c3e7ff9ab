"""What each piece of Python becomes, judged by hand; that it means the same is for test_meaning."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import dedent

import libcst as cst
import pytest
from lowering.printer import printed

from retainlint import ir
from retainlint.lowering import lower
from retainlint.lowering.program import _VALUES as VALUES
from retainlint.text.source import Source

TRAINING = """\
def train(model, loader: Loader, *, steps=3):
    total = 0
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward(retain_graph=True)
        total += loss.item()
    return [lambda: total for _ in range(steps)]
"""

SNAPSHOTS = {
    TRAINING: """\
    code <module>(); local train; captured criterion range
      Const r0 3
      MakeFunction r1
        code train(normal model, normal loader: Loader, keyword steps = r0); local _#0 loader loss model steps total x y; captured total
          Const r0 0
          Store 'total' local src=r0
          Load r1 'loader' local
          For iterable=r1 item=r2
           body:
            Unpack (r3 r4) src=r2
            Store 'x' local src=r3
            Store 'y' local src=r4
            Load r5 'criterion' global
            Load r6 'model' local
            Load r7 'x' local
            Call r8 func=r6 (r7)
            Load r9 'y' local
            Call r10 func=r5 (r8 r9)
            Store 'loss' local src=r10
            Load r11 'loss' local
            GetAttr r12 obj=r11 'backward'
            Const r13 True
            Call r14 func=r12 (retain_graph=r13)
            Load r15 'total' local
            Load r16 'loss' local
            GetAttr r17 obj=r16 'item'
            Call r18 func=r17 ()
            Binary r19 '+' left=r15 right=r18 True
            Store 'total' local src=r19
          Load r21 'range' global
          Load r22 'steps' local
          Call r23 func=r21 (r22)
          Build r20 list ()
          For iterable=r23 item=r24 True
           body:
            Store '_#0' local src=r24
            MakeFunction r25
              code train.<locals>.<lambda>()
                Load r0 'total' enclosing
                Return src=r0
            Append container=r20 r25
          Return src=r20
      Store 'train' global src=r1""",
    "x = a < b < c": """\
    code <module>(); local x
      Load r0 'a' global
      Load r2 'b' global
      Compare r3 '<' left=r0 right=r2
      If cond=r3
       then:
        Load r4 'c' global
        Compare r5 '<' left=r2 right=r4
        Move r1 src=r5
       orelse:
        Move r1 src=r3
      Store 'x' global src=r1""",
    "x = a and b or c": """\
    code <module>(); local x
      Load r0 'a' global
      If cond=r0
       then:
        Load r2 'b' global
        Move r1 src=r2
       orelse:
        Move r1 src=r0
      If cond=r1
       then:
        Move r3 src=r1
       orelse:
        Load r4 'c' global
        Move r3 src=r4
      Store 'x' global src=r3""",
    "assert a, m": """\
    code <module>()
      Load r0 'a' global
      If cond=r0
       orelse:
        Load r1 'AssertionError' global
        Load r2 'm' global
        Call r3 func=r1 (r2)
        Raise src=r3""",
    "a.b[i] += c": """\
    code <module>()
      Load r0 'a' global
      GetAttr r1 obj=r0 'b'
      Load r2 'i' global
      GetItem r3 obj=r1 index=r2
      Load r4 'c' global
      Binary r5 '+' left=r3 right=r4 True
      SetItem obj=r1 index=r2 src=r5""",
    "x[1:, ..., *y] = z": """\
    code <module>()
      Load r0 'z' global
      Load r1 'x' global
      Const r2 1
      Const r3 None
      Const r4 None
      Build r5 slice (r2 r3 r4)
      Const r6 Ellipsis
      Load r7 'y' global
      Build r8 tuple (r5 r6 *r7)
      SetItem obj=r1 index=r8 src=r0""",
    "a, (b, *c) = d = e": """\
    code <module>(); local a b c d
      Load r0 'e' global
      Unpack (r1 r2) src=r0
      Store 'a' global src=r1
      Unpack (r3 r4) src=r2 1
      Store 'b' global src=r3
      Store 'c' global src=r4
      Store 'd' global src=r0""",
    "import a.b, c.d as e\nfrom ..f import g as h\nfrom . import *": """\
    code <module>(); local a e h
      Import r0 'a.b'
      Store 'a' global src=r0
      Import r1 'c.d' ''
      Store 'e' global src=r1
      Import r2 'f' 'g' 2
      Store 'h' global src=r2
      Import r3 '' '*' 1""",
    "@a\n@b.c(1)\nclass D(E, *f, metaclass=g, **h):\n    x: int = 1\n    y: str\n": """\
    code <module>(); local D
      Load r0 'a' global
      Load r1 'b' global
      GetAttr r2 obj=r1 'c'
      Const r3 1
      Call r4 func=r2 (r3)
      Load r5 'E' global
      Load r6 'f' global
      Load r7 'g' global
      Load r8 'h' global
      MakeClass r9 (r5 *r6 metaclass=r7 **r8)
        code D(); local x y
          Const r0 1
          Store 'x' local src=r0
      Decorate r10 decorator=r4 target=r9
      Decorate r11 decorator=r0 target=r10
      Store 'D' global src=r11""",
    "async def f():\n    async with a as b, c: return (yield await d)\n": """\
    code <module>(); local f; captured a c d
      MakeFunction r0
        code f(); local b; generator; async
          Load r0 'a' global
          With context=r0 r1
           body:
            Store 'b' local src=r1
            Load r2 'c' global
            With context=r2 r3
             body:
              Load r4 'd' global
              Await r5 src=r4
              Yield r6 src=r5
              Return src=r6
      Store 'f' global src=r0""",
    "try: a\nexcept (B, C) as e: raise\nexcept: pass\nelse: d\nfinally: g": """\
    code <module>(); local e
      Try
       body:
        Load r0 'a' global
       handler:
        Handler type=r4 r1
         test:
          Load r2 'B' global
          Load r3 'C' global
          Build r4 tuple (r2 r3)
         body:
          Store 'e' global src=r1
          Raise
          Const r5 None
          Store 'e' global src=r5
          Delete 'e' global
       handler:
        Handler r6
       orelse:
        Load r7 'd' global
       final:
        Load r8 'g' global""",
    "x = f'{a!r:>{b}}' 'c'; y = 'd' \"e\"; z = {**a, b: c}": """\
    code <module>(); local x y z
      Load r0 'a' global
      Load r1 'b' global
      Build r2 string (r1) '>' ''
      Build r3 string (r0!r:r2) '' 'c'
      Store 'x' global src=r3
      Const r4 'de'
      Store 'y' global src=r4
      Load r5 'a' global
      Load r6 'b' global
      Load r7 'c' global
      Build r8 dict (*r5 r6:r7)
      Store 'z' global src=r8""",
    "x = t'{a} {b:{c}}'; lazy_ = (*a, *b)": """\
    code <module>(); local lazy_ x
      Load r0 'a' global
      Load r1 'b' global
      Load r2 'c' global
      Build r3 string (r2) '' ''
      Build r4 template (r0 r1:r3) '' ' ' ''
      Store 'x' global src=r4
      Load r5 'a' global
      Load r6 'b' global
      Build r7 tuple (*r5 *r6)
      Store 'lazy_' global src=r7""",
    "class _C:\n    __x: int\n    def f(self, __p): self.__x += __p; del self.__y.__z__": """\
    code <module>(); local _C
      MakeClass r0 ()
        code _C(); local _C__x f
          MakeFunction r0
            code _C.f(normal self, normal _C__p); local _C__p self
              Load r0 'self' local
              GetAttr r1 obj=r0 '_C__x'
              Load r2 '_C__p' local
              Binary r3 '+' left=r1 right=r2 True
              SetAttr obj=r0 '_C__x' src=r3
              Load r4 'self' local
              GetAttr r5 obj=r4 '_C__y'
              DelAttr obj=r5 '__z__'
          Store 'f' local src=r0
      Store '_C' global src=r0""",
    "type X[T] = a[T]\ntry: b\nexcept* E: c\nd.e: f": """\
    code <module>(); local X
      MakeType r0 'X'
      Store 'X' global src=r0
      Try True
       body:
        Load r1 'b' global
       handler:
        Handler type=r3 r2
         test:
          Load r3 'E' global
         body:
          Load r4 'c' global
      Load r5 'd' global""",
    "match a:\n    case B.c: d\n    case e if e: pass": """\
    code <module>(); local e
      Load r0 'a' global
      Load r1 'B' global
      GetAttr r2 obj=r1 'c'
      Compare r3 '==' left=r0 right=r2
      If cond=r3
       then:
        Load r4 'd' global
       orelse:
        Const r5 None
        Move r5 src=r0
        Store 'e' global src=r5
        Load r6 'e' global
        If cond=r6
         then:
          Move r7 src=r6
         orelse:
          Move r7 src=r6
        If cond=r7""",
}


@pytest.mark.parametrize("text", SNAPSHOTS)
def test_becomes(text: str) -> None:
    if text.startswith("x = t'") and not hasattr(cst, "TemplatedString"):
        pytest.skip("libcst reads t-strings since 1.9")
    assert printed(lower(Source("t.py", text), whole=True).module) == dedent(SNAPSHOTS[text])


# -- spans --------------------------------------------------------------------------------------------------------


def instructions(block: ir.Block) -> Iterator[ir.Instr | ir.Handler]:
    """Every instruction, those of inner blocks and codes behind the one that holds them."""
    for instr in block:
        yield instr
        if isinstance(instr, (ir.MakeFunction, ir.MakeClass)):
            yield from instructions(instr.code.body)
        for name in ("test", "then", "body", "orelse", "final"):
            yield from instructions(getattr(instr, name, ()))
        for handler in getattr(instr, "handlers", ()):
            yield handler
            yield from instructions((*handler.test, *handler.body))


def spelled(text: str, kind: type) -> list[str]:
    return [instr.span.text for instr in instructions(lower(Source("t.py", text)).module.body) if type(instr) is kind]


@pytest.mark.parametrize(
    ("text", "kind", "spans"),
    [
        ("(loss.sum()) . backward( )", ir.Call, ["loss.sum()", "(loss.sum()) . backward( )"]),
        ("x = ( # (\n  (a) + b)\n", ir.Binary, ["(a) + b"]),
        ("for  i  in ( ( j ) ) :\n  pass\nelse: pass", ir.For, ["for  i  in ( ( j ) )"]),
        ("async def f():\n  async for i in j: pass", ir.For, ["async for i in j"]),
        ("[a for (b) in (c # )\n ) if d for e in f]", ir.For, ["for (b) in (c # )\n )", "for e in f"]),
        ("while (a): b", ir.While, ["while (a)"]),
        ("if (a): b\nelif c + d: e", ir.If, ["a", "c + d"]),
        ("with (a) as b, c(): d", ir.With, ["(a) as b", "c()"]),
        ("with (a as b, c()): d", ir.With, ["a as b", "c()"]),
        (
            "try: a\nexcept (B) as c: d\nexcept (E): f\nexcept: g",
            ir.Handler,
            ["except (B) as c", "except (E)", "except"],
        ),
        ("a, (b) = c[0], d.e = f", ir.Store, ["a", "b"]),
        ("a = c[0] = d.e = f", ir.SetItem, ["c[0]"]),
        ("a = c[0] = d.e = f", ir.SetAttr, ["d.e"]),
        ("x  +=  (y)", ir.Binary, ["x  +=  (y)"]),
        ("a < (b) < c", ir.Compare, ["a < (b)", "(b) < c"]),
        ("@d . e\n# c\ndef f(x = 1): pass", ir.MakeFunction, ["f"]),
        ("@d . e\n# c\ndef f(x = 1): pass", ir.Decorate, ["d . e"]),
        ("x = (lambda a, *b : a)", ir.MakeFunction, ["lambda a, *b : a"]),
        ("x = f'{ a . b }' 'c'", ir.GetAttr, ["a . b"]),
        ("return_ = x [ 1 : ,]", ir.Build, ["1 :", "1 :"]),
        ("assert a . b , c", ir.Raise, ["assert a . b , c"]),
    ],
)
def test_spans(text: str, kind: type, spans: list[str]) -> None:
    assert spelled(text, kind) == spans


def test_arguments_and_parameters_have_places() -> None:
    program = lower(Source("t.py", "def f(a : int = 1, * b, **c): pass\nf(x, k = y, * z)\n"))
    made, call = (
        next(instr for instr in program.module.body if isinstance(instr, kind)) for kind in (ir.MakeFunction, ir.Call)
    )
    assert isinstance(made, ir.MakeFunction) and isinstance(call, ir.Call)
    assert [(p.name, p.kind, p.annotation, p.span and p.span.text) for p in made.code.params] == [
        ("a", "normal", "int", "a"),
        ("b", "star", None, "b"),
        ("c", "doublestar", None, "c"),
    ]
    assert [arg.span and arg.span.text for arg in call.args] == ["x", "k = y", "* z"]


# -- codes --------------------------------------------------------------------------------------------------------


def codes(text: str) -> dict[str, ir.Code]:
    module = lower(Source("t.py", text)).module
    made = [instr for instr in instructions(module.body) if isinstance(instr, (ir.MakeFunction, ir.MakeClass))]
    return {"": module, **{instr.code.qualname: instr.code for instr in made}}


def test_registers_are_counted_in_each_code() -> None:
    for code in codes(TRAINING).values():
        written = [
            register
            for instr in instructions(tuple(i for i in code.body))
            if not isinstance(instr, (ir.MakeFunction, ir.MakeClass))
            for register in (*getattr(instr, "dsts", ()), getattr(instr, "dst", None))
            if register is not None
        ]
        assert len(set(written)) <= code.registers or code.qualname == ""


def test_walks_are_told_by_the_text_of_a_code_and_those_inside_it() -> None:
    text = "def a():\n  def b(): l.backward()\n  def c(): l.sum()\nclass D:\n  def e(s): return torch.autograd.grad(x, y)\ndef f(): o.zero_grad()\n"
    assert {name: code.backward_passes for name, code in codes(text).items()} == {
        "": True,
        "a": True,
        "a.<locals>.b": True,
        "a.<locals>.c": False,
        "D": True,
        "D.e": True,
        "f": False,
    }


def test_captured_are_the_locals_that_inner_codes_use() -> None:
    text = """\
def outer(a, b, c, d):
    e = f = 1
    class K:
        b = 1
        def m(self): return a, b
    def middle():
        def inner():
            nonlocal c
            c = 1
            return e
        d = 2
        return d
    def own(f): return f
    return [lambda: v for v in d]
"""
    captured = {name: set(code.captured) for name, code in codes(text).items()}
    assert captured["outer"] == {"a", "b", "c", "e", "v#0"}
    assert captured["outer.<locals>.middle"] == set() == captured["outer.<locals>.K"]


def test_what_ir_cannot_say_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(VALUES, cst.Await)  # type: ignore[misc]
    program = lower(Source("t.py", "async def f(): return await g()\n"))
    assert [(gap.span.text, gap.reason) for gap in program.gaps] == [("await g()", "a Await expression")]


def test_new_syntax_leaves_no_gap() -> None:
    text = "type X[T: a = b] = c\ndef f[*A, **P](): pass\nclass K[T]: pass\ntry: pass\nexcept* E: pass\nx: int\n"
    assert lower(Source("t.py", text)).gaps == ()


def test_annotated_are_the_fields_of_a_dataclass() -> None:
    text = "class K:\n    a: int\n    b: ClassVar[int] = 1\n    c: 'typing.ClassVar' = 2\n    e.f: int\n    __g: int = 1\n    ClassVars: X"
    assert codes(text)["K"].annotated == ("a", "_K__g", "ClassVars")


# -- liveness -----------------------------------------------------------------------------------------------------


def lives(text: str, kind: type, which: str = "live") -> list[set[str]]:
    return [
        set(getattr(instr, which).names)
        for instr in instructions(lower(Source("t.py", text)).module.body)
        if type(instr) is kind
    ]


def test_what_a_turn_makes_anew_is_dead_at_its_start() -> None:
    text = "def f(m, l):\n  for x in l:\n    loss = m(x)\n    loss.backward()\n  return m\n"
    assert lives(text, ir.For, "live_iteration") == [{"m"}]
    assert lives(text, ir.For) == [{"m"}]


def test_what_a_turn_reads_of_an_earlier_one_is_live() -> None:
    text = "def f(m, l):\n  h = 0\n  for x in l:\n    if x: h = h.detach()\n    h = m(x, h)\n"
    assert lives(text, ir.For, "live_iteration") == [{"m", "h"}]
    assert lives(text, ir.If) == [{"m", "h", "x"}]


def test_endless_loops_keep_what_a_break_lets_out() -> None:
    text = "def f(m):\n  while True:\n    y = m()\n    if y: break\n  return y\n"
    assert lives(text, ir.While, "live_iteration") == [{"m"}]
    assert lives(text, ir.While) == [{"y"}]


def test_inner_loops_start_anew() -> None:
    text = "def f(l):\n  for x in l:\n    s = 0\n    for y in x:\n      t = y\n      s += t\n    print(s)\n"
    assert lives(text, ir.For, "live_iteration") == [set(), {"s"}]


def test_handlers_may_read_what_was_before_the_body() -> None:
    text = "def f(x):\n  a = b = 0\n  try:\n    if x: pass\n    a = b = x()\n  except E:\n    print(a)\n"
    assert lives(text, ir.If) == [{"a", "x"}]


def test_plain_managers_let_exceptions_through() -> None:
    text = "def f(m, l):\n  for x in l:\n    with {}:\n      if x: pass\n      loss = m(x)\n    print(loss)\n"
    assert lives(text.format("torch.no_grad()"), ir.If) == [{"m", "x"}]
    assert lives(text.format("pytest.raises(E)"), ir.If) == [{"m", "x", "loss"}]


def test_names_of_classes_and_of_eval_are_always_live() -> None:
    assert lives("class C:\n  a = b = 1\n  if a: pass\n", ir.If) == [{"a", "b"}]
    assert lives("def f(a):\n  b = 1\n  if a: pass\n  return eval('b')\n", ir.If) == [{"a", "b"}]
