"""Writes small programs at random: full of branches, loops and ways out of them, and of names that may be unbound."""

from __future__ import annotations

from collections.abc import Callable

Choose = Callable[[int], int]
"""Gives a number from 0 up to, not including, its argument."""

PRELUDE = """
from contextlib import suppress
class OutOfFuel(BaseException): pass
fuel = 6
def tick():
    global fuel
    fuel -= 1
    if fuel < 0: raise OutOfFuel
def show(x):
    print(x if not callable(x) else "function")
    return x
def kind(error):  # Python says UnboundLocalError or NameError as its implementation of comprehensions has it
    return "NameError" if isinstance(error, NameError) else type(error).__name__
class Manager:
    def __init__(self, catch): self.catch = catch
    def __enter__(self): print("enter"); return 1
    def __exit__(self, cls, error, trace): print("exit", kind(error)); return self.catch and cls is not OutOfFuel
def gives(x): return x
def fails(x): raise ValueError(x)
"""

_ERRORS = ("ValueError", "(TypeError, KeyError)", "NameError", "Exception", "gives(ValueError)")


class Writer:
    """One program. `depth` bounds how far statements nest."""

    def __init__(self, choose: Choose) -> None:
        self.choose = choose
        self.loops = 0
        self.depth = 0
        self.names = ["a", "b", "c"]

    def program(self) -> str:
        body = self._block(3, "    ")
        return (
            f"{PRELUDE}def main(a, b):\n    c = a\n{body}    return a, b, c\n"
            "for given in (0, 1, 3):\n    fuel = 6\n    try: print('main', main(given, 2))\n"
            "    except BaseException as error: print(kind(error))\n"
        )

    def _one(self, *kinds: Callable[[], str]) -> str:
        return kinds[self.choose(len(kinds))]()

    def _name(self) -> str:
        """A name to read. Most are read once or never, or little would be dead."""
        return self.names[self.choose(len(self.names))]

    def _target(self) -> str:
        if self.choose(2):
            self.names.append(f"v{len(self.names)}")
            return self.names[-1]
        return self._name()

    # -- expressions ----------------------------------------------------------------------------------------------

    def _value(self, depth: int = 2) -> str:
        if depth == 0:
            return self._one(self._name, self._name, lambda: str(self.choose(4)))

        def inner() -> str:
            return self._value(depth - 1)

        return self._one(
            self._name,
            lambda: str(self.choose(4)),
            lambda: f"({inner()} + {inner()})",
            lambda: f"({inner()} if {inner()} else {inner()})",
            lambda: f"({inner()} {('and', 'or')[self.choose(2)]} {inner()})",
            lambda: f"({inner()} < {inner()} <= {inner()})",
            lambda: f"(not {inner()})",
            lambda: f"show({inner()})",
            lambda: f"({self._target()} := {inner()})",
            lambda: f"[{inner()}, {inner()}][{self.choose(3)}]",
            lambda: f"len([x for x in range({self.choose(4)}) if x != {inner()}])",
            lambda: f"[({self._target()} := x) for x in range({self.choose(3)})]",
            lambda: f"(lambda y: y + {inner()})({inner()})",
            lambda: f"{'fails' if self.choose(4) == 0 else 'gives'}({inner()})",
        )

    # -- statements -----------------------------------------------------------------------------------------------

    def _block(self, depth: int, indent: str) -> str:
        return "".join(self._statement(depth, indent) for _ in range(1 + self.choose(3)))

    def _statement(self, depth: int, indent: str) -> str:
        simple = (self._assignment, self._assignment, self._shown, self._shown, self._jump, self._small)
        nested = (self._if, self._for, self._while, self._try, self._try, self._with, self._match, self._function)
        if depth == 0 or self.choose(5) < 2:
            return f"{indent}{self._one(*simple)}\n"
        return nested[self.choose(len(nested))](depth - 1, indent)

    def _assignment(self) -> str:
        value = self._value()
        return f"{self._target()} = {value}"

    def _shown(self) -> str:
        return f"print({self._value(1)})"

    def _small(self) -> str:
        return self._one(
            lambda: f"{self._name()} += {self._value(1)}",
            lambda: f"{self._target()}, {self._target()} = {self._value(1)}, {self._value(1)}",
            lambda: f"del {self._name()}" if self.choose(4) == 0 else "pass",
            lambda: f"assert {self._value(1)}, {self._value(0)}",
            lambda: "pass",
        )

    def _jump(self) -> str:
        in_loop = [lambda: "break", lambda: "continue", lambda: "break", lambda: "continue"] if self.loops else []
        return self._one(
            *in_loop,
            lambda: f"return {self._value(1)}",
            lambda: f"raise ValueError({self._value(0)})",
            lambda: "raise KeyError",
            lambda: "raise",
        )

    def _if(self, depth: int, indent: str) -> str:
        text = f"{indent}if {self._value()}:\n{self._block(depth, indent + '    ')}"
        for _ in range(self.choose(3) // 2):
            text += f"{indent}elif {self._value()}:\n{self._block(depth, indent + '    ')}"
        return text + self._maybe("else", depth, indent)

    def _maybe(self, word: str, depth: int, indent: str) -> str:
        return f"{indent}{word}:\n{self._block(depth, indent + '    ')}" if self.choose(2) else ""

    def _iterations(self, head: str, depth: int, indent: str) -> str:
        self.loops += 1
        body = self._block(depth, indent + "    ")
        self.loops -= 1
        return f"{indent}{head}:\n{indent}    tick()\n{body}" + self._maybe("else", depth, indent)

    def _for(self, depth: int, indent: str) -> str:
        iterable = self._one(lambda: f"range({self.choose(4)})", lambda: f"[{self._value(1)}, {self._value(1)}]")
        return self._iterations(f"for {self._target()} in {iterable}", depth, indent)

    def _while(self, depth: int, indent: str) -> str:
        return self._iterations(f"while {self._one(lambda: 'True', self._value)}", depth, indent)

    def _try(self, depth: int, indent: str) -> str:
        text = f"{indent}try:\n{self._block(depth, indent + '    ')}"
        handlers = self.choose(3)
        for _ in range(handlers):
            # What a handler binds isn't read behind it: ir unbinds it only where the handler ends by itself.
            kind = _ERRORS[self.choose(len(_ERRORS))]
            bound = f" as error:\n{indent}    print(kind(error))\n" if self.choose(2) else ":\n"
            text += f"{indent}except {kind}{bound}{self._block(depth, indent + '    ')}"
        if handlers:
            text += self._maybe("else", depth, indent)
        if not handlers or self.choose(3) == 0:
            loops, self.loops = self.loops, 0 if self.choose(2) else self.loops
            text += f"{indent}finally:\n{self._block(depth, indent + '    ')}"
            self.loops = loops
        return text

    def _with(self, depth: int, indent: str) -> str:
        item = self._one(
            lambda: "suppress(ValueError)",
            lambda: "Manager(False)",
            lambda: "Manager(catch=True)",
            lambda: f"Manager(0) as {self._target()}",
            lambda: f"Manager(False), Manager(catch=1) as {self._target()}",
        )
        return f"{indent}with {item}:\n{self._block(depth, indent + '    ')}"

    def _match(self, depth: int, indent: str) -> str:
        patterns = ("0", "1 | 2", "[x, y]", "[x, *y]", "int(z)", "None", "[1, _] | [_, 1]", "True", self._target())
        text = f"{indent}match {self._value()}:\n"
        for _ in range(1 + self.choose(2)):
            pattern = patterns[self.choose(len(patterns))]
            text += f"{indent}    case {pattern} if {self._value(1)}:\n{self._block(depth, indent + '        ')}"
        return text

    def _function(self, depth: int, indent: str) -> str:
        if self.depth:
            return f"{indent}{self._assignment()}\n"
        self.depth, loops, self.loops = 1, self.loops, 0
        declared = self._one(lambda: "pass", lambda: "nonlocal c", lambda: "nonlocal a, b")
        body = self._block(depth, indent + "    ")
        self.depth, self.loops = 0, loops
        name = self._target()
        return f"{indent}def inner(a=a):\n{indent}    {declared}\n{body}{indent}{name} = inner({self._value(1)})\n".replace(
            "(a=a):\n" + indent + "    nonlocal a", "(z=a):\n" + indent + "    nonlocal a"
        )
