"""Programs that call what the linter has models of, with too few, too many and odd arguments, and go on with what comes of it."""

from __future__ import annotations

import ast
import builtins
import keyword
import random
import re
import textwrap
from functools import cache
from pathlib import Path

import retainlint
from benchmarks.fuzz.vocabulary import CONSTANTS, PRELUDE
from retainlint.autograd.operations import by_name

CALLS = 12
"""In one program: a crash in one hides what the others do."""

OWNERS = ("x", "loss", "net", "opt", "items", "losses", "f", "torch", "nn", "F", "f()", "x.grad", "[x]", "(x, y)", "{x}", "{1: x}", "'a{}'", "b'a'", "(1)", "iter([x])", "type(net)", "zip(x)", "range(3)", "z")  # fmt: skip
"""What methods are asked of."""

_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


@cache
def names() -> tuple[str, ...]:
    """All words of the machine's tables and comparisons that may be names in a program, Python's own, and torch's operations."""
    found = {*vars(builtins), *by_name()}
    for path in Path(retainlint.__file__).parent.glob("symbolic/**/*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        prose = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
                found.update(word for word in re.split(r"[\s|:,]+", node.value) if _NAME.fullmatch(word))
    found = {name for name in found if not any(map(keyword.iskeyword, name.split(".")))}
    return tuple(sorted(found))


def program(dice: random.Random) -> str:
    """Some calls, each with what may come of it, between what any program begins with and two backward passes."""
    rows = ["z = x"]
    for _ in range(CALLS):
        name = dice.choice(names())
        root = name.partition(".")[0]
        if root != name:
            rows.append(f"import {root}")
        elif dice.random() < 0.7 and not hasattr(builtins, name):
            name = f"{dice.choice(OWNERS)}.{name}"
        call = f"{name}({_arguments(dice)})"
        use = textwrap.indent(dice.choice(_USES).format(call), "  ")
        rows.append(f"try:\n{use}\nexcept: z = x")  # what raises ends no more than itself
    return "\n".join((PRELUDE, *rows, "loss.backward()", "loss.backward()\n"))


_USES = (
    "z = {}", "z = {}", "z = {}", "loss = loss * {}", "for z in {}: loss = loss + z", "with {} as z: loss = loss * z",
    "if {}: loss.backward()", "z, *y = {}", "z = {}(x)", "z = {}[0]", "net.a = {}", "del z; z = {}", "losses += {}", "z = [*{}]", "z = lambda: {}\nz()",
    "@{}\ndef z(a, *b): return a", "class Z({}): pass\nz = Z()", "assert {}", "z = {}.backward()", "try: z = {}\nfinally: z = x",
)  # fmt: skip


def _arguments(dice: random.Random) -> str:
    """Mostly too few or too many."""
    given = [
        dice.choice((_operand, _operand, _operand, _odd))(dice) for _ in range(dice.choice((0, 0, 1, 1, 1, 2, 3, 6)))
    ]
    named = {dice.choice(names()).rpartition(".")[2]: _operand(dice) for _ in range(dice.choice((0, 0, 0, 1, 2)))}
    spelt = (*given, *(f"{name}={value}" for name, value in named.items()))
    return ", ".join(sorted(spelt, key=lambda each: each.startswith("**")))


def _operand(dice: random.Random) -> str:
    return dice.choice((*OWNERS, *map(repr, CONSTANTS), "lambda *a: x", "-1", "slice(0)", "[x for x in losses]"))


def _odd(dice: random.Random) -> str:
    return dice.choice(
        ("*x", "*[x]", "*()", "*f()", "**{}", "**f()", "**{'a b': x}", "**items", "*'ab'", "*range(10**9)")
    )
