"""Programs that say little and mean much: what grows by doubling, nests, branches, recurs or shares."""

from __future__ import annotations

import random
from collections.abc import Callable

from benchmarks.fuzz.vocabulary import PRELUDE

END = "\nloss.backward()\nloss.backward()\n"


def program(dice: random.Random) -> str:
    """One or two shapes between what any program begins with and two backward passes."""
    pieces = [dice.choice(SHAPES)(dice) for _ in range(dice.choice((1, 1, 1, 2)))]
    if dice.random() < 0.3:  # within a function or a loop
        head = dice.choice(
            (
                "def work(self, x, *a, **k):\n",
                "for _ in range(3):\n",
                "class C(nn.Module):\n  def forward(self, x):\n",
                "while x:\n",
            )
        )
        pieces = [head + "".join(f"    {row}\n" for row in "\n".join(pieces).split("\n"))]
    return PRELUDE + "\n".join(pieces) + END


def _size(dice: random.Random) -> int:
    return dice.choice((12, 25, 60, 150, 400, 1_500))


def _known(dice: random.Random) -> str:
    return dice.choice(
        (
            "1",
            "2",
            "'ab'",
            "[0]",
            "(1, 2)",
            "2.0",
            "1j",
            "b'a'",
            "x",
            "[x]",
            "range(9)",
            "{1: 2}",
            "{1}",
            "True",
            "'%s'",
            "float('inf')",
        )
    )


def _growing(dice: random.Random) -> str:
    step = dice.choice(("v = v * v", "v = v + v", "v += v", "v *= 9", "v = v ** v", "v = v << 9", "v = [v, v]", "v = (v, v)", "v = f'{v}{v}'", "v = '%s%s' % (v, v)", "v = {v: v}", "v = {0: v, 1: v}", "v = str(v) + str(v)", "v = v.join([v] * 9)", "v = v.replace('a', v)", "v = [*v, *v]", "v = {**v, **v}", "v = v @ v", "v = torch.cat([v, v])", "v = lambda v=v: v", "v = list(v) * 9", "v = zip(v, v)", "v = v.__add__(v)", "v = sum([v, v])", "v = v, v, v"))  # fmt: skip
    times = _size(dice)
    rows = [step] * min(times, 400) if dice.random() < 0.6 else [f"for _ in range({times}):", f"    {step}"]
    return "\n".join(
        [f"v = {_known(dice)}", *rows, "loss = loss * v" if dice.random() < 0.5 else "loss = loss + len(v)"]
    )


def _numbers(dice: random.Random) -> str:
    big = dice.choice(("10**10**5", "9**9**9", "1 << 10**7", "2**(2**20)", "-1 << 99999", "7**-9999", "1e308**2", "0**-1", "10**400 / 3", "math.factorial(10**5)", "pow(3, 10**7)", "pow(3, 10**9, 7)", "math.comb(10**5, 10**4)", "math.lcm(*range(1, 10**4))", "math.gcd(*range(10**6))", "int('9' * 10**5)", "int('f' * 10**5, 16)", "float('9' * 10**4)", "sum(range(10**9))", "max(range(10**9))", "round(10**400, -399)", "divmod(10**4000, 7)", "hash(10**9999)", "(10**9999).bit_length()", "str(10**5000)", "math.perm(9**5)", "complex('nan')**9", "float('inf') // 1", "int(float('nan'))", "round(float('inf'))", "1 << -1", "5 % 0", "2**0.5**-9999"))  # fmt: skip
    return f"import math\nn = {big}\nfor i in range(n): x = x * n\nloss = loss * n\nif n > 3: loss.backward()"


def _texts(dice: random.Random) -> str:
    text = dice.choice(("'%99999999d' % 1", "'%.99999999f' % 1", "'{:99999999}'.format(1)", "f'{1:99999999}'", "f'{1:{10**9}}'", "format(1, '999999999')", "'a' * 10**9", "'a'.ljust(10**9)", "'a'.center(10**9)", "'a'.zfill(10**9)", "'\\t'.expandtabs(10**9)", "'a'.join(['b'] * 10**8)", "'ab'.replace('', 'c' * 10**6)", "b'a' * 10**9", "bytes(10**9)", "bytearray(10**9)", "'a' * -10**9", "[0] * 10**9", "(0,) * 10**9", "list(range(10**9))", "set(range(10**8))", "dict.fromkeys(range(10**8))", "'%s' * 10**5 % ((1,) * 10**5)", "'{}' * 10**5", "'a,' * 10**6", "('a' * 10**6).split('a')", "'{0.__class__}'.format(1)", "'{0[0]}'.format([1])", "'%(a)s' % {'a': 1}", "'%*.*f' % (10**8, 10**8, 1.0)", "chr(10**7)", "'\\ud800'.encode()", "'é'.encode('ascii')", "b'\\xff'.decode()", "'a'.encode('no-such')", "int('x')", "float('')", "ord('ab')"))  # fmt: skip
    return f"s = {text}\nfor c in s: loss = loss + len(c)\nd = {{s: loss}}\nloss = d[s] + len(s)"


def _elifs(dice: random.Random) -> str:
    arms = "\n".join(f"elif y > {number} or f({number}): loss = loss * x + {number}" for number in range(_size(dice)))
    return f"if f(): pass\n{arms}\nelse: loss = loss + 1"


def _ifs(dice: random.Random) -> str:
    """Conditions in a row: each doubles the paths."""
    deed = dice.choice(
        (
            "loss = loss + x",
            "items[{n}] = loss",
            "losses.append(loss)",
            "x = x * {n}",
            "net.a{n} = x",
            "v{n} = loss",
            "loss.backward()",
        )
    )
    return "\n".join(
        f"if f({n}): {deed.format(n=n)}" + ("" if dice.random() < 0.5 else "\nelse: y = y + 1")
        for n in range(_size(dice))
    )


def _nested(dice: random.Random) -> str:
    head = dice.choice(("for a{n} in range({t}):", "for a{n} in f({n}):", "while f({n}):", "if f({n}):", "with f({n}) as a{n}:", "try:", "def g{n}(x):", "class C{n}(nn.Module):", "match f({n}):", "async def g{n}(x):"))  # fmt: skip
    deep = min(_size(dice), 19 if head[0] in "fw" and dice.random() < 0.7 else 95)
    rows: list[str] = []
    for n in range(deep):
        rows.append("  " * n + head.format(n=n, t=dice.choice((2, 3, 10, "len(x)"))))
        if head.startswith("match"):
            rows[-1] += f"\n{'  ' * n} case {n}:"
    rows.append("  " * deep + dice.choice(("loss = loss * x", "loss.backward()", "losses.append(loss)", "x = x + 1")))
    if head == "try:":
        rows += [f"{'  ' * n}except E{n}: loss = loss + {n}" for n in reversed(range(deep))]
    return "\n".join(rows)


def _deep(dice: random.Random) -> str:
    size = _size(dice)
    one, many = dice.choice((("(", ")"), ("[", "]"), ("f(", ")"), ("-", ""), ("not ", ""), ("~", ""), ("lambda: ", ""), ("x if y else ", ""), ("{0: ", "}"), ("x + (", ")"), ("x[", "]"), ("await ", ""), ("*", ""), ("x or ", ""), ("f'{", "}'"), ("[x for x in ", "]"), ("(x := ", ")")))  # fmt: skip
    return f"z = {one * size}x{many * size}\nloss = loss * z"


def _chains(dice: random.Random) -> str:
    link = dice.choice(
        (
            ".x",
            "(x)",
            "[0]",
            ".view(-1)",
            " + x",
            " * x",
            " and x",
            " or f()",
            " < x",
            ", x",
            " @ x",
            ".a.b()",
            " if f() else x",
            " is not x",
            " ** x",
            "(*x, **y)",
            " == x",
            ".mul_(x)",
            "\\\n + x",
        )
    )
    return f"z = x{link * _size(dice)}\nloss = loss * z"


def _classes(dice: random.Random) -> str:
    size = min(_size(dice), 150)
    shape = dice.randrange(5)
    if shape == 0:  # diamonds
        rows = ["class A0: pass", "class B0(A0): pass"]
        rows += [f"class A{n}(A{n - 1}, B{n - 1}): pass\nclass B{n}(A{n - 1}, B{n - 1}): pass" for n in range(1, size)]
        return "\n".join([*rows, f"loss = loss * A{size - 1}()(x)"])
    if shape == 1:
        names = ", ".join(f"C{n}" for n in range(size))
        return "\n".join(
            [
                *(f"class C{n}(nn.Module):\n  def forward(self, x): return super().forward(x)" for n in range(size)),
                f"class D({names}): pass",
                "loss = D()(x).sum()",
            ]
        )
    if shape == 2:
        methods = "\n".join(
            f"  def m{n}(self): self.a{n} = self.m{(n * 7 + 1) % size}(); return self.m{(n * 5 + 2) % size}() + x"
            for n in range(size)
        )
        return f"class C(nn.Module):\n{methods}\nloss = C().m0() * x"
    if shape == 3:
        return "\n".join(
            [
                "class C0(nn.Module): pass",
                *(
                    f"class C{n}(C{n - 1}):\n  def forward(self, x): return super().forward(x) * 2"
                    for n in range(1, size)
                ),
                f"loss = C{size - 1}()(x)",
            ]
        )
    return "\n".join(
        [
            "class C(nn.Module):",
            *(f"  a{n} = property(lambda self: self.a{(n + 1) % size})" for n in range(size)),
            "loss = C().a0 * x",
        ]
    )


def _recursive(dice: random.Random) -> str:
    size = dice.choice((1, 2, 5, 30))
    body = dice.choice(("g{o}(n - 1) + g{p}(n - 1)", "g{o}(g{p}(n))", "[g{o}(i) for i in range(n)]", "g{o}(n + 1) if n else g{p}(n // 2)", "g{o}(*n, **n)", "(lambda: g{o}(n) or g{p}(n))()", "sum(g{o}(m) for m in [n] * 9)", "g{o}(x * n) * g{p}(x)", "yield_(g{o}, g{p})"))  # fmt: skip
    rows = [
        f"def g{n}(n=3):\n  if f(): return x * x\n  {dice.choice(('return', 'return', 'yield', 'loss.backward(); return'))} {body.format(o=(n + 1) % size, p=(n * 3 + 2) % size)}"
        for n in range(size)
    ]
    return "\n".join([*rows, f"loss = loss * g0({dice.choice(('3', '40', '10**9', 'x', '-1', '[1]', 'g0'))})"])


def _wide(dice: random.Random) -> str:
    size = _size(dice)
    many = ", ".join(dice.choice(("x{n}", "x", "{n}", "x * {n}", "f({n})", "x{n}=x")).format(n=n) for n in range(size))
    return dice.choice((f"z = [{many}]\nloss = sum(z)", f"z = f({many})\nloss = loss * z", f"def g({many}): return x0\nloss = loss * g(x)", f"z = {{{many}}}\nfor a in z: loss = loss + a", f"z = torch.stack([{many}])\nloss = loss + z.sum()", f"from torch import {many}\nloss = loss * x1", f"del {many}", f"global {many}", f"{many} = f()"))  # fmt: skip


def _shared(dice: random.Random) -> str:
    """Graphs, lists and objects in which everything hangs on everything."""
    size = _size(dice)
    row = dice.choice(("a{n} = a{m} * a{k}", "a{n} = [a{m}, a{k}]", "a{n} = {{1: a{m}, 2: a{k}}}", "a{n} = a{m} if f() else a{k}", "a{n} = a{m}; a{n}.b = a{k}", "a{n} = lambda: (a{m}, a{k})", "a{n} = net(a{m}) + a{k}", "a{m}.append(a{k}); a{n} = a{m}", "a{n} = a{m}.detach() + a{k}", "a{n} = a{m}.mul_(a{k})"))  # fmt: skip
    rows = [row.format(n=n, m=max(n - 1, 0), k=max(n - dice.choice((1, 2, 9)), 0)) for n in range(1, size)]
    return "\n".join(["a0 = x" if "append" not in row else "a0 = [x]", *rows, f"loss = loss * a{size - 1}"])


def _tangled(dice: random.Random) -> str:
    """What holds itself, or one thing by many ways, in the hands of who goes through what it holds."""
    size = _size(dice)
    heap = dice.choice(("v.x{n} = v", "v[{n}] = v", "v.append(v)", "o = A(); o.a = v; o.b = v; v = o", "v = [v, v, v]", "v = {{'a': v, 'b': v}}", "v = (v, v)", "v = nn.Sequential(v, v)", "v = nn.ModuleList([v, v])", "v.m{n} = v; v.p{n} = nn.Parameter(x)", "v.t{n} = v.x.exp() * x; v.x{n} = v", "u.x{n} = v; v.y{n} = u", "v = lambda v=v: (v, v)", "v = functools.partial(f, v, v)", "v.register_buffer('b{n}', x); v.c{n} = v"))  # fmt: skip
    first = dice.choice(("A()", "[]", "{}", "[x * x]", "{'k': x.exp()}", "(x,)", "net", "nn.Linear(1, 1)"))
    use = dice.choice(("f(v)", "x = f.run(v, v)", "z = copy.deepcopy(v)", "x = net(v)", "opt = optim.SGD(v.parameters())", "z = torch.utils._pytree.tree_map(lambda t: t * x, v)", "z = [*v.modules()]", "v = v if f() else net", "print(v == v, str(v), repr(v), hash(v), bool(v))", "z = sorted(v)", "z = v.state_dict(); v.load_state_dict(z)", "v.apply(lambda m: f(m))", "for z in v: loss = loss + z", "z = vars(v); z.update(z)", "z = list(v.named_parameters())", "x = torch.stack(v)", "v.to('cpu'); v.eval(); v.requires_grad_(False)", "z = torch.func.functional_call(v, dict(v.named_parameters()), x)", "del v", "z = isinstance(v, A) and v in v", "torch.save(v, 'v'); v = torch.load('v')", "z = v[0][1][0] if f() else v['a']['b']", "z = [v.a, v.b, v.x1]"))  # fmt: skip
    rows = [heap.format(n=n) for n in range(min(size, 400))]
    again = ["for _ in range(3):", f"  {use}", "  (x * x).sum().backward()"]
    return "\n".join(
        ["import copy, functools", "class A(nn.Module): pass", f"u = v = {first}", "v.x = x * x", *rows, *again]
    )


def _loops(dice: random.Random) -> str:
    """Loops behind loops, and what they carry."""
    size = min(_size(dice), 150)
    carry = dice.choice(
        (
            "h = net(h)",
            "h, x = x, h",
            "losses.append(loss)",
            "items[i] = items.get(i, 0) + loss",
            "loss = loss + h",
            "h = h[i]",
            "del items[i]",
            "i += 1",
            "h = [h, i]",
            "opt.step()",
            "loss.backward(retain_graph=f())",
            "if f(): break",
            "if f(i): continue",
            "h = h if i % 7 == 3 else x",
        )
    )
    heads = (
        "for i in range(1000):",
        "for i, j in enumerate(f()):",
        "while i < 10**9:",
        "for i in items:",
        "for i in iter(f, 0):",
        "for i in [*range(50)]:",
        "while True:",
        "for h in losses:",
    )
    return "h, i = x, 0\n" + "\n".join(f"{dice.choice(heads)}\n  {carry}\n  if f({n}): break" for n in range(size))


def _python(dice: random.Random) -> str:
    """Python's own tools on what is odd for them."""
    call = dice.choice(("itertools.product(range(99), repeat=99)", "itertools.permutations(range(99))", "itertools.chain(*[[x]] * 10**6)", "itertools.count()", "itertools.cycle([x])", "itertools.repeat(x)", "functools.reduce(lambda a, b: [a, b], range(10**6))", "zip(*[range(10**6)] * 99)", "map(f, range(10**9))", "sorted(range(10**7))", "reversed(1)", "enumerate(1, 'a')", "range(1, 2, 0)", "range(10**30)[10**29]", "range(10)[::0]", "slice(1, 2, 0)", "[1, 2, 3][::0]", "[1][2.5]", "[1]['a']", "(1)[0]", "'a'['b']", "{}[[]]", "{[]: 1}", "{{}}", "{x: x}[x]", "len(5)", "iter(5)", "next(5)", "next(iter([]))", "max()", "max(5)", "min('a', 1)", "sum('a')", "sum([[1]], [])", "int('1', 99)", "int([], 2)", "chr(-1)", "pow(0, -1)", "pow(2, 3, 0)", "round('a')", "abs('a')", "divmod('a', 1)", "hash([])", "isinstance(1, 1)", "issubclass(1, 1)", "super(1, 2).x", "type(1, 2, 3)", "type('A', (), 5)", "setattr(x, 5, 6)", "getattr(x, 5)", "vars(5)", "dict(5)", "dict([1])", "dict([(1, 2, 3)])", "tuple(5)", "'{'.format()", "'{1}'.format()", "'%d' % 'a'", "'%' % 1", "'%(a)s' % 1", "f'{1:z}'", "f'{x!r:{5}}'", "bytes('a')", "'a'.join(5)", "'a'.split('')", "'a'.split(sep=5)", "'a'.replace()", "[].index(5)", "[].pop()", "{}.pop()", "[1, 2].pop(9)", "[].insert()", "[].append()", "{}.update(5)", "set().add([])", "x.expand(-1, 10**18)", "torch.ones(10**18)", "torch.ones(-1)", "torch.zeros('a')", "x.view(0, -1, -1)", "x.split(0)", "x.chunk(10**9)", "x.unbind(9)", "x[10**30]", "x['a']", "x[...,...]", "x[None,] * 10**9", "nn.Linear(-1, 10**30)", "nn.Sequential(*[net] * 10**6)", "nn.ModuleList(range(10**6))", "torch.stack([])", "torch.cat(5)", "torch.autograd.grad()", "x.backward(1, 2, 3, 4, 5, 6)", "x.register_hook()", "optim.SGD()", "x.index_add()", "x.to()", "x.sum(dim=[[]])", "torch.einsum('ij,jk->' * 99, x)", "torch.no_grad(5, 6)", "x.requires_grad_('a')"))  # fmt: skip
    return f"import itertools, functools\nz = {call}\nfor i in z: loss = loss + i\nloss = loss * z"


SHAPES: tuple[Callable[[random.Random], str], ...] = (
    _growing, _numbers, _texts, _elifs, _ifs, _nested, _deep, _chains, _classes, _recursive, _wide, _shared, _tangled, _loops, _python, _python,
)  # fmt: skip
