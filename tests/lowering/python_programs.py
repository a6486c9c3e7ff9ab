"""Small programs that print what they do, one for each corner of the language that the lowering has to turn."""

from __future__ import annotations

PROGRAMS: dict[str, str] = {}


def program(name: str, text: str) -> None:
    PROGRAMS[name] = text


program(
    "closures",
    """
def counter(start):
    count = start
    def step(by=1):
        nonlocal count
        count += by
        return count
    def peek():
        return count
    return step, peek
a, peek_a = counter(3)
b, peek_b = counter(10)
print(a(), a(5), b(), peek_a(), peek_b())
late = [lambda: i for i in range(3)]
print([f() for f in late])
early = [lambda i=i: i for i in range(3)]
print([f() for f in early])
def outer():
    x = 1
    def middle():
        def inner():
            nonlocal x
            x = x + 1
            return x
        return inner
    f = middle()
    return f() + f() * 10 + x * 100
print(outer())
def recursive(n):
    def fact(k):
        return 1 if k <= 1 else k * fact(k - 1)
    return fact(n)
print(recursive(6))
""",
)

program(
    "globals",
    """
total = 0
def add(n):
    global total, fresh
    total += n
    fresh = n
add(2); add(40)
print(total, fresh)
def shadow():
    total = 5
    def read():
        global total
        return total
    return read(), total
print(shadow())
def unbound():
    print(total)
    total = 1
try:
    unbound()
except UnboundLocalError as e:
    print("unbound")
del fresh
try:
    fresh
except NameError:
    print("gone")
""",
)

program(
    "loops",
    """
for i in range(5):
    if i == 1:
        continue
    if i == 3:
        break
    print(i)
else:
    print("never")
print("after", i)
for i in []:
    pass
else:
    print("else of an empty loop")
n = 3
while n:
    n -= 1
    if n == 1: continue
    print(n)
else:
    print("while else")
while True:
    n += 1
    if n > 4: break
else:
    print("never")
def search(rows, wanted):
    for row in rows:
        for cell in row:
            if cell == wanted:
                break
        else:
            continue
        return row
    return None
print(search([[1, 2], [3, 4]], 3), search([[1]], 9))
def both():
    out = []
    for a in range(4):
        for b in range(a):
            if b == 2: break
        else:
            if a == 0: continue
            break
        out.append(a)
    else:
        out.append("else")
    return out
print(both())
def carried(n):
    previous = None
    for k in range(n):
        if previous is not None:
            print("before", previous)
        previous = k * k
    return previous
print(carried(3), carried(0))
def inner_else():
    for a in range(3):
        for b in range(2):
            pass
        else:
            if a == 1:
                break
        print("turn", a)
    return a, b
print(inner_else())
for (a, b), *c in [((1, 2), 3, 4), ((5, 6),)]:
    print(a, b, c)
""",
)

program(
    "try",
    """
def run(kind):
    log = []
    try:
        log.append("body")
        if kind == 1: raise ValueError("v")
        if kind == 2: raise KeyError("k")
        if kind == 3: return log
    except ValueError as e:
        log.append(("value", str(e)))
    except (KeyError, IndexError) as e:
        log.append(type(e).__name__)
    else:
        log.append("else")
    finally:
        log.append("final")
        print(log)
    return log
for kind in range(4): print(run(kind))
def override():
    for i in range(3):
        try:
            if i == 0: continue
            return "try"
        finally:
            print("finally", i)
            if i == 1: break
    return "after"
print(override())
def swallow():
    try:
        raise ValueError
    finally:
        return "swallowed"
print(swallow())
def nested():
    x = 0
    try:
        x = 1
        try:
            x = 2
            raise ValueError("inner")
        except KeyError:
            print("no")
        finally:
            print("x", x)
            x = 3
    except ValueError as e:
        print("outer", e, x)
        try:
            raise
        except ValueError as again:
            print("again", again)
    try:
        print(e)
    except UnboundLocalError:
        print("e is gone")
nested()
def reads_old():
    value = "old"
    try:
        value = int("x")
    except ValueError:
        print(value)
    value = "new"
    try:
        value = int("7")
    except ValueError:
        print("no")
    print(value)
reads_old()
def deletes():
    try:
        raise ValueError
    except ValueError as e:
        del e
    print("fine")
deletes()
try:
    try:
        raise KeyError("a")
    except KeyError as e:
        raise ValueError("b") from e
except ValueError as e:
    print(type(e).__name__)
def loop_try():
    found = None
    for text in ["x", "1", "y", "2"]:
        try:
            number = int(text)
        except ValueError:
            print("skip", text, found)
            continue
        found = number
    else:
        print("done", number)
    return found
print(loop_try())
assert True, "never"
try:
    assert 1 > 2, "said " + "so"
except AssertionError as e:
    print(e.args)
try:
    assert 0
except AssertionError as e:
    print(e.args)
""",
)

program(
    "comprehensions",
    """
x = "kept"
print([x for x in range(4) if x % 2], x)
print({x: y for x, y in [(1, 2), (3, 4)]}, {k % 2 for k in range(5)}, sum(k for k in range(4)))
print([(a, b) for a in range(3) if a for b in range(a) if b < 2], [[c for c in range(d)] for d in range(3)])
def f(n):
    k = 10
    out = [k + n for n in range(n) if (last := n) >= 0]
    return out, n, last
print(f(3))
print([y := 1, y ** 2], y)
print([z for x in [[1, 2], [3]] for z in x], x)
def g():
    fs = [lambda: v for v in range(3)]
    return [h() for h in fs]
print(g())
class C:
    n = 3
    squares = [k * k for k in range(n)]
    pairs = {a: a for a in range(n)}
    adders = [lambda y: y + q for q in range(2)]
print(C.squares, C.pairs, [add(10) for add in C.adders], sorted(k for k in vars(C) if not k.startswith("_")))
print([i for i in range(5) if i if i > 2], [*range(3), *[9]], {**{1: 2}, 3: 4}, {*range(2)})
def same_name(x):
    return [x for x in x if x]
print(same_name([0, 1, 2]))
def nested_same(rows):
    return [[x for x in x] for x in rows]
print(nested_same([[1], [2, 3]]))
print(any(c > 2 for c in range(4)), list(e for e in "ab"), dict((k, 1) for k in "ab"))
def walrus_outer():
    if any((hit := n) > 3 for n in range(10)):
        return hit >= 4
print(walrus_outer())
""",
)

program(
    "classes",
    """
class Base:
    count = 0
    def __init__(self, name):
        self.name = name
        Base.count += 1
    def hello(self): return "hello " + self.name
    @property
    def loud(self): return self.name.upper()
    @staticmethod
    def twice(x): return 2 * x
    @classmethod
    def make(cls, *args, **kw): return cls(*args, **kw)
class Child(Base):
    count = Base.count + 5
    def __init__(self, name, extra=None):
        super().__init__(name)
        self.extra = extra
    def hello(self):
        return super().hello() + "!"
c = Child.make("bob", extra=[1])
print(c.hello(), c.loud, c.twice(4), Child.count, Base.count, c.extra)
c.extra += [2]
c.extra[0] -= 5
c.tag: int = 3
del c.tag
print(c.extra, hasattr(c, "tag"))
name = "global"
class Scope:
    before = name
    name = "class"
    after = name
    def read(self): return name
print(Scope.before, Scope.after, Scope().read())
def make(n):
    class Local:
        value = n
        def get(self): return n + self.value
        class Inner:
            deep = n * 2
    return Local
print(make(4)().get(), make(5).Inner.deep)
class Meta(type):
    def __new__(mcs, name, bases, ns, flag=False):
        made = super().__new__(mcs, name, bases, ns)
        made.flag = flag
        return made
class Flagged(metaclass=Meta, flag=True): pass
print(Flagged.flag)
class Branchy:
    if 1 > 0:
        chosen = "yes"
    else:
        chosen = "no"
    for k in range(3):
        last = k
print(Branchy.chosen, Branchy.last, Branchy.k)
bases = (dict,)
class Starred(*bases): pass
print(Starred(a=1))
""",
)

program(
    "arguments",
    """
def show(a, /, b, *rest, c=3, d, **more):
    print(a, b, rest, c, d, sorted(more.items()))
show(1, 2, d=4)
show(1, 2, 3, 4, d=5, c=6, e=7)
show(*[1, 2, 3], **{"d": 1, "z": 2})
show(1, *(2,), d=0, *[9])
def say(x): print("say", x); return x
def take(*a, **k): print(a, k)
take(say(1), k=say(2), *[say(3)])
def defaults(a, b=[], *, key=say("once")):
    b.append(a)
    return b, key
print(defaults(1), defaults(2))
print((lambda x, *y, z=5, **w: (x, y, z, w))(1, 2, 3, q=4))
def only(*, k): return k
try: only(1)
except TypeError: print("TypeError")
def annotated(a: "int" = 1, *args: str, b: "list[int]" = None) -> None: return a
print(annotated())
""",
)

program(
    "match",
    """
from collections import deque
class Point:
    __match_args__ = ("x", "y")
    def __init__(self, x, y): self.x, self.y = x, y
class Color:
    RED = "red"
def what(v):
    match v:
        case 0: return "zero"
        case 1 | 2 | -3: return "small"
        case True: return "never"
        case None: return "none"
        case Color.RED: return "red"
        case "a" | "b" as letter: return "letter " + letter
        case []: return "empty"
        case [x]: return ("one", x)
        case [1, *rest, 9]: return ("one to nine", rest)
        case [Point(x=0), _, *_]: return "point first"
        case (a, b) if a == b: return ("pair", a)
        case (int() | float() as a, str(b)): return ("number and text", a, b)
        case {"k": [k1, k2], **rest}: return ("mapping", k1, k2, rest)
        case {"type": t}: return ("type", t)
        case {}: return "a mapping"
        case Point(x=0, y=0): return "origin"
        case Point(0, y): return ("on y", y)
        case Point(x, y) if x == y: return ("diagonal", x)
        case Point(): return "point"
        case str(): return "text"
        case float(f): return ("float", f)
        case [*_]: return "sequence"
        case _: return "else"
values = [0, 1, 2, -3, True, False, None, "red", "a", "zz", [], [5], [1, 9], [1, 2, 3, 9], (4, 4), (1, "q"), (2.5, "r"),
    {"k": [1, 2], "m": 3}, {"type": 7}, {}, {"q": 1}, Point(0, 0), Point(0, 5), Point(3, 3), Point(1, 2), 2.5, b"ab",
    [Point(0, 1), 2], deque([1, 2, 9]), range(7), {1, 2}, object, (1, 2, 3, 4)]
for v in values: print(what(v))
def bind(v):
    match v:
        case (a, 1) | (1, a): return a
        case {"x": (p, q)} | [p, q, _]: return p, q
    return "nothing"
print(bind((5, 1)), bind((1, 6)), bind({"x": (1, 2)}), bind([7, 8, 9]), bind(3))
def guard(v):
    seen = []
    match v:
        case x if seen.append(x): pass
        case y if y > 3: seen.append("big")
        case z: seen.append("rest")
    return seen, x
print(guard(5), guard(1))
match 5:
    case n: print("n", n)
def loops(items):
    for item in items:
        match item:
            case "stop": break
            case "skip": continue
            case other: print(other)
    else:
        return "all"
    return "some"
print(loops(["a", "skip", "b", "stop", "c"]), loops([]))
match (1, 2), 3:
    case (a, b), c: print(a, b, c)
""",
)

program(
    "operators",
    """
def t(v, name): print(name, end=" "); return v
print(t(1, "a") and t(0, "b") and t(2, "c"))
print(t(0, "a") or t("", "b") or t(3, "c"))
print(t(1, "a") if t(0, "b") else t(2, "c"))
print(t(1, "a") < t(2, "b") < t(3, "c"), t(1, "a") > t(2, "b") < t(3, "c"), 1 < 2 == 2 != 3 in [3])
print(not 0, -3, +4, ~5, not (1 and 0), - -2, 2 ** -1, -2 ** 2)
x0 = 1
print(7 // 2, 7 % 3, 1 << 4, 255 >> 2, 6 & 3, 6 | 3, 6 ^ 3, 2 ** 10, 7 / 2)
print(3 in [1, 2, 3], 4 not in [1], None is None, x0 is not None, (1 < 2) is True)
x = [1, 2]
y = x
x += [3]
print(y, y is x)
x = x + [4]
print(y, x)
class Box: pass
box = Box(); box.n = 1
def get(): print("get"); return box
get().n += 5
print(box.n)
d = {"a": [1, 2, 3]}
def key(): print("key"); return "a"
d[key()][1:] *= 2
d["b"] = d["c"] = 0
d["b"] -= 1
print(d)
v = 5
v **= 2; v //= 2; v %= 7; v <<= 3; v >>= 1; v |= 1; v &= 23; v ^= 2; v /= 2
print(v)
a = b = c = [0]
b.append(1)
print(a, c)
(p, q), [r, *s] = (1, 2), "xyz"
print(p, q, r, s)
*m, n = range(4); print(m, n)
i = 0
i, arr = 1, [9, 9]
i, arr[i] = 0, 5
print(i, arr)
print((w := 4) + w, w)
print([1, 2, 3, 4][1:-1], "abcdef"[::2], [1, 2, 3][:2], "abc"[-1], [0, 1, 2][1:])
class Idx:
    def __getitem__(self, k): return k
print(Idx()[1, 2:3, ::4], Idx()[1,], Idx()[...], Idx()[(1, 2)], Idx()[:])
del arr[0], d["a"]
print(arr, d)
print(10_000, 0xFF, 0b11, 0o17, 1e3, 1_0.5, 3j, .5, 'a' "b" r'\\n', b"x" b"y", '''t'''"", "\\x41\\u00e9", ...)
print(1 if 0 else 2 if 0 else 3, (1, 2) + (3,), (), (1,), {}, [])
lst = [0, 1, 2]
def index(): print("index"); return 0
lst[index()], lst[1] = lst[1], lst[index()]
print(lst)
""",
)

program(
    "with",
    """
from contextlib import contextmanager, suppress
class Manager:
    def __init__(self, name, eat=False): self.name, self.eat = name, eat
    def __enter__(self): print("enter", self.name); return self.name.upper()
    def __exit__(self, kind, error, trace):
        print("exit", self.name, kind.__name__ if kind else None)
        return self.eat
with Manager("a") as a, Manager("b") as b:
    print(a, b)
with Manager("eats", eat=True) as quiet_catch:
    raise ValueError
print("went on")
try:
    with Manager("outer"), Manager("inner") as (x, *y):
        print(x, y)
        raise KeyError
except KeyError:
    print("key")
def leaves():
    for i in range(3):
        with Manager(str(i)):
            if i == 0: continue
            if i == 1: return i
print(leaves())
def suppressed():
    value = "before"
    with suppress(ValueError):
        value = int("nope")
        value = "never"
    return value
print(suppressed())
@contextmanager
def managed(n):
    print("in", n)
    try:
        yield n * 2
    finally:
        print("out", n)
with managed(4) as m:
    print(m)
with (Manager("p") as p, Manager("q")):
    print(p)
class Holder: pass
with Manager("attr") as Holder.value: pass
print(Holder.value)
""",
)

program(
    "generators",
    """
def gen(n):
    got = []
    for i in range(n):
        x = yield i
        if x: got.append(x)
    return got
def outer():
    r = yield from gen(3)
    yield ("returned", r)
print(list(outer()))
g = gen(3)
print(next(g), g.send("a"), next(g))
try: next(g)
except StopIteration as e: print("stop", e.value)
def clean():
    try:
        yield 1
        yield 2
    except GeneratorExit:
        print("closed")
        raise
    finally:
        print("cleaned")
c = clean(); next(c); c.close()
def catches():
    while True:
        try:
            yield "ready"
        except ValueError as e:
            print("caught", e)
            return
d = catches(); next(d)
try: d.throw(ValueError("v"))
except StopIteration: print("ended")
def expr():
    x = [(yield 1), (yield 2)]
    print(x)
e = expr(); next(e); e.send("p")
try: e.send("q")
except StopIteration: pass
def fib():
    a, b = 0, 1
    while True:
        yield a
        a, b = b, a + b
for n in fib():
    if n > 30: break
    print(n, end=" ")
print()
it = iter([1])
def first_two():
    return next(it), next(it)
try: first_two()
except StopIteration: print("plain stop")
""",
)

program(
    "async",
    """
import asyncio
class Managed:
    async def __aenter__(self): print("enter"); return 5
    async def __aexit__(self, *a): print("exit"); return False
class Ticks:
    def __init__(self, n): self.n = n
    def __aiter__(self): return self
    async def __anext__(self):
        if not self.n: raise StopAsyncIteration
        self.n -= 1
        return self.n
async def double(x):
    await asyncio.sleep(0)
    return x * 2
async def main():
    async with Managed() as m:
        print(m, await double(m))
    async for t in Ticks(3):
        if t == 1: continue
        print(t)
    else:
        print("else")
    print([t async for t in Ticks(2)], [await double(v) for v in range(2)])
    return await double(4) + await double(1)
print(asyncio.run(main()))
""",
)

program(
    "decorators",
    """
def mark(label):
    print("make", label)
    def wrap(f):
        print("apply", label)
        return f if isinstance(f, type) else lambda *a: (label, f(*a))
    return wrap
@mark("outer")
@mark("inner")
def f(x=print("default")): return x
print(f(3))
@mark("class")
class C:
    @mark("method")
    def m(self): return 1
print(C().m())
""",
)

program(
    "deletes",
    """
x = [1, 2, 3, 4]
del x[0], x[-1]
print(x)
del (x[0]), [x[0]]
print(x)
a = b = 1
del a, (b)
print("a" in globals(), "b" in globals())
def f():
    y = 1
    del y
    try: y
    except UnboundLocalError: return "unbound"
print(f())
def g(n):
    for i in range(n):
        t = i
        if i % 2: del t
        else: print(t)
    return n
print(g(3))
""",
)

program(
    "imports",
    """
import math, os.path as path, collections.abc
from math import pi as PI, sqrt
from string import *
import importlib.util
print(math.floor(PI), sqrt(9), path.join("a", "b"), collections.abc.Mapping.__name__, digits, importlib.util.__name__)
def local():
    import json as j
    from json import dumps
    return j.dumps([1]) + dumps({})
print(local())
""",
)

program(
    "names_read_unseen",
    """
def f():
    a = 1
    if a:
        b = 2
    return sorted(locals().items())
print(f())
def g():
    hidden = 3
    for i in range(2):
        hidden += i
    return eval("hidden + i")
print(g())
unspelled = 4
if unspelled: also = 5
def h():
    return eval("unspelled + also"), sorted(name for name in globals() if name in ("unspelled", "also"))
print(h())
""",
)

program(
    "live_across",
    """
def f(flag, items):
    first = items[0]
    later = "later"
    total = 0
    for item in items:
        if flag and item > 1:
            total += item + (10 if item > 2 else 20)
        else:
            total -= first
        while total > 40:
            total -= 7
            if total == 44:
                break
        else:
            kept = item
    return total, later, [first + (item if flag else 0) for item in items], kept
print(f(True, [1, 2, 3, 4]), f(False, [1, 2]))
def g(n):
    x = 0
    while True:
        if n == x: y = "found"; break
        x += 1
        try:
            if x > 5: raise ValueError(x)
        except ValueError as e:
            y = str(e)
            break
        finally:
            z = x
    return x, y, z if x else None
print(g(3), g(9))
def h(a):
    r = a.get("k") or (a.get("l") and a.get("m")) or "none"
    s = {"r": r, **({"t": 1} if r else {}), "u": [r, *(x for x in "ab" if x != r)]}
    return max(len(r), *(len(v) if isinstance(v, list) else 0 for v in s.values()), key=lambda v: -v if r == "x" else v)
print(h({}), h({"k": "x"}), h({"l": 1, "m": "long text"}))
def swap():
    old, new = 1, 2
    for _ in range(3):
        old, new = new, old + new
        if new > 4:
            keep = old
    return old, new, keep
print(swap())
def returns_in_finally(n):
    out = []
    for i in range(n):
        try:
            out.append(i)
            if i == 1: return out
        finally:
            out.append("f")
    return "end", out
print(returns_in_finally(1), returns_in_finally(3))
""",
)

program(
    "live_at_landings",
    """
from contextlib import suppress
def old_value():
    x = "old"
    try:
        if 1: y = 1
        x = int("no")
    except ValueError:
        return x
def only_in_handler():
    z = "z"
    try:
        if 1: y = 1
        int("no")
    except (ValueError if y else KeyError):
        return z
def old_value_suppressed():
    value = "before"
    with suppress(ValueError):
        if 1: y = 1
        value = int("no")
    return value
def behind_a_break_in_try():
    w = "w"
    while True:
        try:
            break
        finally:
            if 1: y = 1
    return w
def next_turn_after_finally():
    k = "k"
    for i in range(3):
        if i == 2: return k
        try:
            continue
        finally:
            if 1: y = 1
        return "never"
def bare_raise():
    r = "r"
    try:
        try:
            raise ValueError
        except ValueError:
            if 1: y = 1
            raise
    except ValueError:
        return r
def raised():
    r = "r"
    try:
        if 1: y = 1
        raise ValueError
    except ValueError:
        return r
def returned():
    r = "r"
    try:
        if 1: y = 1
        return 1
    finally:
        print(r)
def only_in_body(n):
    k, out = "k", []
    while n:
        n -= 1
        out.append(k)
    return len(out)
def continued(n):
    k = "k"
    while n:
        if n == 1: return k
        n -= 1
        if 1: y = 1
        continue
def behind_a_break(n):
    m = "m"
    while n:
        if n == 1: break
        n -= 1
    else:
        return "else"
    return m
def set_in_else(n):
    x = "x"
    for i in range(n):
        if i == 3: break
    else:
        x = "else"
    return x
def behind_an_endless_loop():
    k, out = "k", []
    for i in range(2):
        while True: break
        out.append(k)
    return out
def in_else_of_a_while(n):
    k = "k"
    while n:
        n -= 1
    else:
        return k
def test_of_a_while(n):
    k = 0
    while n > (k if n else 1):
        n -= 1
    return n
def made_by_a_test_for_its_else(n):
    while [(k := n), n and 1][1]:
        n -= 1
    else:
        return k
def made_by_a_test_of_two(n):
    while (k := n) and (n - 1 if n else 0):
        n -= 1
    else:
        return k
def read_in_finally_alone(n):
    q = "q"
    for i in range(n):
        try:
            if i == 1: break
            if 1: y = 1
        finally:
            if 1: y = 1
            print(q)
    return i
def deep_in_loops(n):
    k, total = 3, 0
    for a in range(n):
        for b in range(n):
            for c in range(n):
                if a + b + c == 2: continue
                total += 1
            if total > 5: break
        else:
            total += k
    return total
print(old_value(), only_in_handler(), old_value_suppressed(), behind_a_break_in_try(), next_turn_after_finally())
print(bare_raise(), raised(), returned(), only_in_body(2), continued(3), behind_a_break(2), behind_a_break(0))
print(set_in_else(2), set_in_else(9), behind_an_endless_loop(), in_else_of_a_while(2), test_of_a_while(3))
print(made_by_a_test_for_its_else(2), made_by_a_test_of_two(3))
print(read_in_finally_alone(3), deep_in_loops(3))
""",
)

program(
    "text",
    """
a, b = 3, "w"
print(f"{a}" == "3", len(f"{a}{b}") > 0, len(f"none{a}") > 0, f"{a:>{a}}" != "")
print("x" f"y" "z" == "xyz" or True)
def spec(v, w): return f"{v!r:>{w}}", f"{v=}", f"{ v = }", f"{v=:>4}", f"{(v)=!s}"
print(spec("q", 5))
print(f"{{{a}}}\\t\\"'{b}\\\\", rf"\\{a}{{\\n", F"\\x41{a:0{a}d}", f'''{a}
"'{b}''', "{a}" f"{a}" "{{}}", f"", f"{a:{'>'}{a}}", f"{a!a}", f"{{{{")
print({f"{b}_loss": 1}["w_loss"])
""",
)

program(
    "private",
    """
__out = 1
def take(**k): return sorted(k)
class _Base:
    __shared = 1
    def __init__(self, __p=2): self.__x = __p; self.__dunder__ = 0
    def __hidden(self): return "base"
    def call(self): return self.__hidden(), take(__k=1), [__v for __v in (1, 2)], (lambda __z: __z)(3)
    class __Inner:
        def get(self, other): return other.__x
class Derived(_Base):
    def __hidden(self): return "derived"
    def both(self):
        def __local(): return self.__hidden()
        self.__y: int = 4
        self.__y += 1
        try: print(self.__x)
        except AttributeError as __e: print("AttributeError", __e)
        try: from os import __path
        except ImportError: print("ImportError")
        for __i in range(2): pass
        return __local(), sorted(vars(self)), __i
    def outside(self):
        global __made
        __made = 1
class __:
    __x = 5
    def get(self): return self.__x
d = Derived()
print(d.call(), d.both(), d._Base__x, _Base._Base__shared, d._Derived__hidden())
d.outside()
print(__out, "_Derived__made" in globals(), "__made" in globals(), __().get(), hasattr(_Base, "_Base__Inner"))
try: _Base._Base__Inner().get(d)
except AttributeError: print("AttributeError")
print(Derived(_Base__p=7)._Base__x)
""",
)

program(
    "annotations",
    """
def say(x): print("say", x); return {}
def f():
    x: say("never")
    say(1)[say]: int
    try: return x
    except UnboundLocalError: return "unbound"
print(f())
""",
)

program("empty", "")
program("only_a_comment", "# nothing")
program("no_line_end", "print('x')")

STARRED_INDEX = """
class Idx:
    def __getitem__(self, k): return k
print(Idx()[*[1, 2], 3], Idx()[*"a"])
"""

TYPE_PARAMETERS = """
T = "outer"
def f[T](x: T) -> T:
    return x
class Box[T]:
    def put(self, x: T): self.x = x; return self.x
type Alias[K] = dict[K, print("never")]
type Late = late()
def bounded[T: late()](x: T): return T.__name__
print(bounded(1))
print(f(2), Box().put(4), T)
"""

EXCEPTION_GROUPS = """
def run(kind):
    try:
        if kind: raise ExceptionGroup("g", [ValueError(1)])
    except* ValueError as e:
        print("values")
    else:
        print("else")
    finally:
        print("final")
run(0)
"""
GROUPS_THAT_RAISE = """
def say(x): print("say", x.__name__); return x
def run(error):
    try:
        try:
            left = 1
            if error: raise error
        except* say(ValueError) as e:
            left += len(e.exceptions)
            print("values", type(e).__name__, left)
        except* say(TypeError):
            left += 10
            print("types", left)
            raise KeyError("k")
        except* (OSError, IndexError) as e:
            print("others", left)
            raise
        else: print("else")
        finally: print("final")
    except BaseException as e:
        print(type(e).__name__, sorted(type(x).__name__ for x in getattr(e, "exceptions", ())))
    print("on")
run(None)
run(ValueError(1))
run(ZeroDivisionError(1))
run(ExceptionGroup("g", [ValueError(1), ValueError(2), ZeroDivisionError()]))
run(ExceptionGroup("g", [TypeError(1), ValueError(2)]))
run(TypeError(1))
"""
