"""Registers that nobody reads any more are told for each place; and paths that differ in nothing alive go on as one."""

from __future__ import annotations

from machine import Machine

from retainlint import ir
from retainlint.lowering import lower
from retainlint.symbolic.merging.merge_states import spent
from retainlint.text.source import Source

HEAD = "import torch\nmodel = torch.nn.Linear(2, 2)\n"
BACKWARD = "    loss = model(x).sum()\n    loss.backward()\n"


def function(body: str) -> ir.Code:
    module = lower(Source("main.py", f"def f(a, b, c):\n{body}")).module
    return next(instr.code for instr in module.body if isinstance(instr, ir.MakeFunction))


def dead(code: ir.Code, block: ir.Block, index: int) -> frozenset[int]:
    return frozenset(each for each, begun in spent(code).behind(block).items() if begun <= index)


def test_what_is_read_later_is_not_spent() -> None:
    code = function("    a.add(b.size(c))\n    return a\n")
    gone: frozenset[int] = frozenset()
    for index, instr in enumerate(code.body):
        assert gone <= (gone := dead(code, code.body, index))
        written = {getattr(each, "dst", None) for each in code.body[: index + 1]} - {None}
        later = {
            register
            for each in code.body[index + 1 :]
            for register in (
                getattr(each, "src", None),
                getattr(each, "obj", None),
                getattr(each, "func", None),
                *(arg.value for arg in getattr(each, "args", ())),
            )
        }
        assert gone == written - later, instr


def test_what_an_outer_block_reads_is_not_spent() -> None:
    code = function("    return g(a if b else c)\n")
    (branch,) = [instr for instr in code.body if isinstance(instr, ir.If)]
    chosen = branch.then[-1]
    assert isinstance(chosen, ir.Move)
    assert dead(code, branch.then, len(branch.then) - 1) == {chosen.src}


def test_a_block_of_another_code_tells_nothing() -> None:
    code, other = function("    return g(a, b)\n"), function("    return g(a, b)\n")
    assert dead(code, other.body, len(other.body) - 1) == frozenset()


def training(body: str, helper: str = "") -> str:
    return f"{HEAD}{helper}def train(x, options):\n{body}{BACKWARD}"


def asked(number: int) -> str:
    return f"    kind{number} = None\n    if options.flag{number}:\n        kind{number} = options.other\n"


def test_what_told_two_paths_apart_is_forgotten_with_its_last_reader(machine: Machine) -> None:
    """Whoever reads it is a branch of its own, run for each of them."""
    told = "".join(f"{asked(n)}    if options.loud{n}:\n        print(kind{n})\n" for n in range(8))
    once = "".join(f"{asked(n)}    if options.loud{n}:\n        print(0)\n" for n in range(8))
    assert machine(training(told)).steps < 2 * machine(training(once)).steps


def test_what_a_call_was_given_tells_nobody_apart_behind_it(machine: Machine) -> None:
    helper = "def note(kind):\n    if kind is None:\n        return\n    print(kind)\n"
    calls = "".join(f"    note(options.other if options.flag{n} else None)\n" for n in range(8))
    assert machine(training(calls, helper)).steps < 50 * 8
