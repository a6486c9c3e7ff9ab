"""The machine on new and rare spellings, each program judged by torch first, where this Python can read it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from machine import Machine
from symbolic.machine_programs import HEAD

PROGRAMS = {
    "a walk fails under except*": """
l = w.exp().sum()
l.backward()
try:
    l.backward()
except* RuntimeError:
    pass
m = w.exp().sum()
m.backward()
m.backward()  #!
""",
    "another exception is expected by except*": """
l = w.exp().sum()
l.backward()
try:
    l.backward()  #!
except* KeyError:
    pass
""",
    "the second handler of except* takes it": """
l = w.exp().sum()
l.backward()
m = w.exp().sum()
try:
    l.backward()
except* KeyError:
    m.backward()
except* RuntimeError:
    m.backward()
m.backward()  #!
""",
    "two handlers of except* run": """
l = w.exp().sum()
m = w.exp().sum()
try:
    raise ExceptionGroup("g", [KeyError("a"), ValueError("b")])
except* KeyError:
    l.backward()
except* ValueError:
    l.backward()  #!
""",
    "one exception runs one handler of except*": """
l = w.exp().sum()
try:
    raise KeyError("a")
except* KeyError:
    l.backward()
except* (ValueError, TypeError):
    l.backward()
""",
    "what except* doesn't take goes on": """
l = w.exp().sum()
l.backward()
try:
    try:
        raise KeyError
    except* ValueError:
        pass
    l.backward()
except KeyError:
    pass
""",
    "what except* raises is a group": """
l = w.exp().sum()
l.backward()
try:
    try:
        raise KeyError("a")
    except* KeyError:
        raise
    finally:
        m = w.exp().sum()
    l.backward()
except* KeyError:
    m.backward()
m.backward()  #!
""",
    "an alias is no walk": """
l = w.exp().sum()
type Walk = l.backward()
l.backward()
l.backward()  #!
""",
    "a generic class": """
class Net[T](nn.Module):
    def __init__(self):
        super().__init__()
        self.__net = nn.Linear(3, 3)
    def forward(self, x): return self.__net(x).exp()
def loss[T: torch.Tensor](t: T) -> T: return t.sum()
l = loss(Net[int]()(x))
l.backward()
l.backward()  #!
""",
    "private names of two classes": """
class A:
    def __init__(self): self.__l = w.exp().sum()
    def walk(self): self.__l.backward()  #!
class B(A):
    def __init__(self):
        super().__init__()
        self.__l = w.exp().sum()
    def walk_own(self): self.__l.backward()
b = B()
b.walk()
b.walk_own()
b.walk()
""",
    "a private method is not overridden": """
class A:
    def __init__(self): self.l = w.exp().sum()
    def __walk(self): self.l.backward()  #!
    def run(self): self.__walk()
class B(A):
    def __walk(self): pass
b = B()
b.run()
b.run()
""",
    "private names by their full name": """
class A:
    __kept = w.exp().sum()
    def walk(self, __l): __l.backward()
A().walk(A._A__kept)
A._A__kept.backward()  #!
""",
    "a text is a key": """
losses = {}
for phase in ("train", "val"):
    losses[f"{phase}_loss"] = w.exp().sum()
losses["train_loss"].backward()
losses["val_loss"].backward()
losses[f"{'train'}_loss"].backward()  #!
""",
    "a text names an attribute": """
class Box: pass
box = Box()
for i in range(2):
    setattr(box, f"loss{i}", w.exp().sum())
getattr(box, f"loss{0}").backward()
getattr(box, f"loss{1}").backward()
box.loss1.backward()  #!
""",
    "texts that differ in their letters": """
import sys
name = sys.argv[0]
losses = {f"{name}_a": w.exp().sum(), f"{name}_b": w.exp().sum()}
losses[f"{name}_a"].backward()
losses[f"{name}_b"].backward()
""",
    "an unset annotation": """
l: torch.Tensor
class Box:
    total: int
    l: torch.Tensor = w.exp().sum()
Box.l.backward()
Box().l.backward()  #!
""",
    "a class variable is no field": """
from typing import ClassVar
@dataclass
class Box:
    scale: ClassVar[int] = 3
    l: torch.Tensor = None
box = Box(w.exp().sum())
box.l.backward()
box.l.backward()  #!
""",
}
"""`#!` marks the line on which torch raises first, if it does."""


def expected(text: str) -> int | None:
    return next((row for row, line in enumerate(text.splitlines(), 1) if line.endswith("#!")), None)


@pytest.mark.parametrize("name", PROGRAMS)
def test_says_what_torch_says(machine: Machine, name: str) -> None:
    text = HEAD + PROGRAMS[name]
    exploration = machine(text)
    rows = exploration.lines
    assert rows[:1] == [row for row in [expected(text)] if row is not None]
    assert exploration.gaps == ()


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
@pytest.mark.parametrize("name", PROGRAMS)
def test_torch_says_it(name: str, tmp_path: Path) -> None:
    from judge_torch import judge

    text = HEAD + PROGRAMS[name]
    try:
        compile(text, "program.py", "exec")
    except SyntaxError:
        pytest.skip("this Python can't read it")
    script = tmp_path / "program.py"
    script.write_text(text, encoding="utf-8")
    assert judge(script).line == expected(text)
