"""What a method that isn't followed sets on its object is no longer known; and what it is given may be cut off."""

from retainlint.ir import Code, MakeFunction, walk
from retainlint.lowering import lower
from retainlint.symbolic.interpreter.calls import may_cut
from retainlint.symbolic.state.havoc import forget_set
from retainlint.symbolic.state.state import State
from retainlint.symbolic.state.values import ClassObj, Closure, Const, External, Instance, Ref
from retainlint.text.source import Source

TEXT = """
class Net:
    def forward(self, x):
        self.attention = self.keys(x)
        self.hidden, self.cell = self.lstm(x)
        self.total += x
        if self.size == 3:
            self.log(size=self.kept)

    def other(self):
        self.kept = None
"""


def methods_of(text: str) -> dict[str, Code]:
    body = lower(Source("net.py", text)).module.body
    found = [each.code for each in walk(body, classes=True) if isinstance(each, MakeFunction)]
    return {code.qualname: code for code in found}


def test_what_it_sets_is_forgotten() -> None:
    method = methods_of(TEXT)["Net.forward"]
    state = State()
    names = ("attention", "hidden", "cell", "total", "size", "kept", "keys")
    receiver = state.new(Instance(Ref(0), dict.fromkeys(names, Const(1))))
    forget_set(state, receiver, method)
    held = state.heap[receiver.id]
    assert isinstance(held, Instance)
    assert set(held.attrs) == {"total", "size", "kept", "keys"}


CUTTING = """
class Memory(nn.Module):
    def repackage(self, state):
        return state.detach()

    def forward(self, x, state):
        return self.cell(x, self.repackage(state))


class Cell(nn.Module):
    def value(self, x):
        return self(x).detach()

    def forward(self, x, state):
        return self.linear(x) + state
"""


def made(state: State, name: str, *methods: str) -> tuple[Ref, Code]:
    """An object of that class, and the code of its last method, its forward."""
    codes = methods_of(CUTTING)
    found = {each: Closure(codes[f"{name}.{each}"], 0, ()) for each in methods}
    cls = ClassObj(name, (External("torch.nn.Module"),), found, next(iter(found.values())).code)
    return state.new(Instance(state.new(cls), {})), found[methods[-1]].code


def test_a_network_that_detaches_may_cut_what_it_is_given() -> None:
    state = State()
    assert may_cut(state, *made(state, "Memory", "repackage", "forward"))


def test_what_its_forward_does_not_name_cuts_nothing() -> None:
    state = State()
    assert not may_cut(state, *made(state, "Cell", "value", "forward"))
