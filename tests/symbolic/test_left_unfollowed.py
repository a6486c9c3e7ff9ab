"""What a method that isn't followed sets on its object is no longer known; the rest is."""

from retainlint.ir import Code
from retainlint.source import Source, Span
from retainlint.symbolic.between import forget_set
from retainlint.symbolic.state import State
from retainlint.symbolic.values import Const, Instance, Ref

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


def test_what_it_sets_is_forgotten() -> None:
    start = TEXT.index("forward")
    method = Code("forward", "Net.forward", Span(Source("net.py", TEXT), start, start + len("forward")), ())
    state = State()
    names = ("attention", "hidden", "cell", "total", "size", "kept", "keys")
    receiver = state.new(Instance(Ref(0), dict.fromkeys(names, Const(1))))
    forget_set(state, receiver, method)
    held = state.heap[receiver.id]
    assert isinstance(held, Instance)
    assert set(held.attrs) == {"total", "size", "kept", "keys"}
