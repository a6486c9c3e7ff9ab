"""Runs the same program under real torch and on the core, and tells where they differ.

python -m tests.numeric.differential --programs 5000
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .judges import Judge, core, torch_or_skip
from .random_programs import PREAMBLE, Program, make

RECORD = Path(__file__).with_name("recorded.json")
"""What torch 2.13.0 did with some programs, for where it is not installed."""

TOLERANCE = 1e-9
LITERAL = re.compile(r"\d+\.\d+")
"""A number of a leaf."""

LARGE = 1e6
"""Where a program's numbers grow beyond this, rounding decides over them: then only errors and flags are compared."""

NUDGE, JUMP = 1e-11, 1e-6
"""Where changing all literals by a part of NUDGE changes what torch itself finds by more than JUMP, rounding decides too."""


@dataclass
class Trace:
    """What happened: one entry a statement, then the state of all variables at the end."""

    steps: list[Any]
    state: dict[str, Any]


def first_sentence(message: str) -> str:
    """The part of an error message without shapes and versions."""
    return re.split(r"[.:](?:\s|$)|\n", message.strip(), maxsplit=1)[0]


def run(torch: Any, functional: Any, program: Program) -> Trace:
    """Run each statement; one that raises is noted, and the next goes on from there with a constant in its place."""
    names: dict[str, Any] = {"torch": torch, "F": functional, "nn": torch.nn}
    exec(PREAMBLE, names)
    steps: list[Any] = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for statement in program.statements:
                target = statement.split(" = ")[0].strip().split("    ")[-1]
                try:
                    exec(statement, names)
                    steps.append(_seen(names.get(target), named="autograd.grad" not in statement))
                except Exception as error:  # noqa: BLE001 -- any error is a result
                    steps.append((type(error).__name__, first_sentence(str(error))))
                if target in program.shapes and not _is_tensor(names.get(target)):
                    names[target] = torch.full(program.shapes[target], 0.7, dtype=torch.float64)
            state = {n: _seen(value, named=False, whole=True) for n, value in names.items() if _is_tensor(value)}
    finally:
        torch.set_grad_enabled(True)
    return Trace(steps, state)


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "requires_grad") and hasattr(value, "tolist")


def _seen(value: Any, named: bool = True, whole: bool = False) -> Any:
    """What is compared of a tensor; with `named`, its node's name too (double backward has names of its own)."""
    if not _is_tensor(value):
        return None
    try:
        node = value.grad_fn
    except RuntimeError as error:
        return ("grad_fn", first_sentence(str(error)))
    plain = value.detach()
    if getattr(plain, "_is_zerotensor", bool)():  # torch's zeros without memory, a gradient's, can't be read
        plain = plain + plain.new_zeros(())
    kind = type(node).__name__ if node is not None and named else node is not None
    seen: list[Any] = [tuple(value.shape), plain.tolist(), value.requires_grad, value.is_leaf, kind]
    if whole:
        grad = value.grad
        seen.append(None if grad is None else (grad.detach().tolist(), grad.requires_grad))
    return seen


def same(left: Any, right: Any, tolerance: float = TOLERANCE) -> bool:
    """Equal, numbers to the tolerance."""
    if isinstance(left, float) and isinstance(right, float):
        if math.isnan(left) or math.isnan(right) or math.isinf(left) or math.isinf(right):
            return (math.isnan(left) and math.isnan(right)) or left == right
        return abs(left - right) <= tolerance * max(1.0, abs(left), abs(right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key], tolerance) for key in left)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(same(a, b, tolerance) for a, b in zip(left, right))
    return bool(left == right)


def difference(program: Program, real: Any, ours: Any) -> str | None:
    """What differs first, in words; None if nothing does. `real` and `ours` are pairs (torch, functional)."""
    theirs, mine = run(real[0], real[1], program), run(ours[0], ours[1], program)
    found = _first_difference(program, theirs, mine)
    if found is None:
        return None
    if _largest([theirs.steps, list(theirs.state.values())]) > LARGE or on_the_edge(program, real, theirs):
        found = _first_difference(program, _without_numbers(theirs), _without_numbers(mine))
    return found


def _first_difference(program: Program, theirs: Trace, mine: Trace) -> str | None:
    for number, (statement, a, b) in enumerate(zip(program.statements, theirs.steps, mine.steps)):
        if not same(a, b):
            return f"statement {number}: {statement}\n  torch: {a}\n  core:  {b}"
    for name, value in theirs.state.items():
        if not same(value, mine.state.get(name)):
            return f"at the end, {name}:\n  torch: {value}\n  core:  {mine.state.get(name)}"
    return None


def on_the_edge(program: Program, real: Any, theirs: Trace) -> bool:
    """Whether rounding decides over numbers of the program: a sum that is 0 but for rounding has a sign, or none.

    Torch alone is asked, so that no fault of the core is excused by it: the programs run again with literals that
    differ by less than matters. Equal literals stay equal, so that exact ties (two equal elements, of which one is the
    largest) remain ties, and are compared.
    """
    for step in (NUDGE, -NUDGE):  # what passes through 0 has one sign with the first, the other with the second

        def nudged(literal: re.Match[str], step: float = step) -> str:
            number = float(literal.group())
            return repr(number * (1 + step * math.cos(1000 * number)))

        statements = [LITERAL.sub(nudged, s) if "torch.tensor(" in s else s for s in program.statements]
        other = run(real[0], real[1], Program(statements, program.leaves, program.shapes))
        if not same([other.steps, other.state], [theirs.steps, theirs.state], JUMP):
            return True
    return False


def _largest(value: Any) -> float:
    if isinstance(value, float):
        return 0.0 if math.isnan(value) else abs(value)
    return max(map(_largest, value), default=0.0) if isinstance(value, (list, tuple)) else 0.0


def _without_numbers(value: Any) -> Any:
    if isinstance(value, Trace):
        return Trace(_without_numbers(value.steps), {n: _without_numbers(v) for n, v in value.state.items()})
    if isinstance(value, (list, tuple)):
        return [_without_numbers(entry) for entry in value]
    return 0.0 if isinstance(value, float) else value


def pairs() -> tuple[Judge, Judge]:
    """Real torch and the core."""
    return torch_or_skip(), core()


def record(count: int) -> int:
    """Write what real torch does with the first programs whose numbers stay small."""
    real, _ = pairs()
    made = []
    for seed in range(count):
        program = make(seed, 10)
        trace = run(real.torch, real.functional, program)
        if _largest([trace.steps, list(trace.state.values())]) < LARGE:
            made.append(
                {"statements": program.statements, "shapes": program.shapes, "steps": trace.steps, "state": trace.state}
            )
    RECORD.write_text("[\n" + ",\n".join(json.dumps(entry) for entry in made) + "\n]\n", encoding="utf-8")
    return 0


def main() -> int:
    """Run many programs; print those that differ, and figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--programs", type=int, default=1000)
    options.add_argument("--start", type=int, default=0, help="the first seed")
    options.add_argument("--length", type=int, default=12, help="statements a program, about")
    options.add_argument("--show", type=int, default=5, help="differing programs to print in full")
    options.add_argument(
        "--record", action="store_true", help="write what torch does with the first programs, and stop"
    )
    chosen = options.parse_args()
    if chosen.record:
        return record(chosen.programs)
    real, ours = pairs()
    began, differing = time.monotonic(), 0
    outcomes: Counter[str] = Counter()
    for seed in range(chosen.start, chosen.start + chosen.programs):
        program = make(seed, chosen.length)
        found = difference(program, real, ours)
        errors = [
            step[1] for step in run(real[0], real[1], program).steps if isinstance(step, tuple) and len(step) == 2
        ]
        outcomes.update({"programs": 1, "statements": len(program.statements), "programs that raise": bool(errors)})
        outcomes.update(f"raised: {sentence[:90]}" for sentence in errors)
        if found is not None:
            differing += 1
            if differing <= chosen.show:
                print(f"--- seed {seed}\n{program.text}\n>>> {found}\n")
    for text, count in outcomes.most_common(40):
        print(f"{count:7}  {text}")
    print(f"{differing} of {chosen.programs} differ; {time.monotonic() - began:.0f} s")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
