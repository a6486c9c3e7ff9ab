"""Every differentiable operator of torch, on the samples that torch tests it with: `python -m benchmarks.truth.operators`.

A sample becomes small programs: one that calls backward twice, and one for each tensor, the result too, that is changed in
place between forward and backward; for each choice of who requires a gradient. Torch runs them, the linter reads them.
Needs torch and expecttest, which torch's own tests import.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import json
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from typing import Any

LARGEST = 3000
"""Elements of a sample's tensors."""

WRITTEN = 48
"""Elements of a tensor of floats whose values a program states; those of larger ones are drawn."""

SECOND, MODIFIED, NO_GRAPH, RUNS, OTHER = "second time", "modified", "no graph", "runs", "other"
_SAYS = {"second time": SECOND, "modified by an inplace": MODIFIED, "does not require grad": NO_GRAPH}


@dataclass(frozen=True)
class Program:
    """One program, and what torch does with it; `form` is how the operator is called, `tried` what is done then."""

    operator: str
    form: str
    tried: str
    torch: str
    text: str


class NotWritten(Exception):
    """A sample has an argument that no program can state."""


def operators() -> list[Any]:
    """What torch knows of its differentiable operators, by its own tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db
    return [
        each for each in op_db if each.supports_autograd and not each.name.startswith(("_", "torch.ops", "masked."))
    ]


def programs(operator: Any, samples: int) -> Iterator[Program]:
    """The programs of so many samples, each of another shape, the smallest first."""
    for sample in _samples(operator, samples):
        tensors: dict[str, Any] = {}
        try:
            first = _written(sample.input, tensors)
            rest = [_written(value, tensors) for value in sample.args]
            rest += [f"{name}={_written(value, tensors)}" for name, value in sample.kwargs.items()]
        except NotWritten:
            continue
        floats = [name for name, tensor in tensors.items() if tensor.is_floating_point()]
        for form, call in _calls(operator, sample, first, ", ".join(rest)):
            choices = _choices(len(floats)) if form in ("function", "in place") else [(True,) * len(floats)]
            for chosen in choices:
                needing = {name for name, need in zip(floats, chosen) if need}
                yield from _tried(operator.name, form, call, tensors, needing)


def _samples(operator: Any, count: int) -> list[Any]:
    import torch

    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(itertools.islice(operator.sample_inputs("cpu", torch.float32, requires_grad=False), 60))
    found.sort(key=lambda each: sum(t.numel() for t in (each.input, *each.args) if isinstance(t, torch.Tensor)))
    kinds: dict[Any, Any] = {}
    for each in found:
        named = ((name, _kind(value)) for name, value in sorted(each.kwargs.items()))
        kinds.setdefault((tuple(map(_kind, (each.input, *each.args))), tuple(named)), each)
    return list(kinds.values())[:count]


def _kind(value: Any) -> str:
    import torch

    if isinstance(value, torch.Tensor):
        return f"tensor {value.dim()}"
    return repr(value) if isinstance(value, (bool, str)) else type(value).__name__


def _written(value: Any, tensors: dict[str, Any]) -> str:
    """An argument as code; tensors by names."""
    import torch

    if isinstance(value, torch.Tensor):
        if value.layout is not torch.strided or value.is_complex() or not 0 < value.numel() <= LARGEST:
            raise NotWritten
        name = next((name for name, known in tensors.items() if known is value), f"x{len(tensors)}")
        tensors[name] = value
        return name
    if type(value) in (list, tuple, torch.Size):
        inner = ", ".join(_written(each, tensors) for each in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"
    if isinstance(value, slice):
        return f"slice({value.start}, {value.stop}, {value.step})"
    if value is None or isinstance(value, (bool, int, float, str, torch.dtype, torch.memory_format)):
        return repr(value)
    raise NotWritten


def _calls(operator: Any, sample: Any, first: str, rest: str) -> Iterator[tuple[str, str]]:
    """The ways to call it: as a function, by its other names, as a method, in place."""
    import torch

    both = ", ".join(part for part in (first, rest) if part)
    for form, name in (("function", operator.name), *(("other name", alias.name) for alias in operator.aliases)):
        if callable(_found(torch, name)):
            yield form, f"torch.{name}({both})"
    if operator.name == "__getitem__":
        yield "method", f"{first}[{rest}]"
    elif isinstance(sample.input, torch.Tensor) and callable(getattr(torch.Tensor, operator.name, None)):
        yield "method", f"{first}.{operator.name}({rest})"
        if operator.inplace_variant is not None and hasattr(torch.Tensor, f"{operator.name}_"):
            yield "in place", f"{first}.{operator.name}_({rest})"


def _found(home: Any, path: str) -> Any:
    for part in path.split("."):
        home = getattr(home, part, None)
    return home


def _choices(count: int) -> list[tuple[bool, ...]]:
    """Who requires a gradient: every choice of up to three, else each alone, and all."""
    if count <= 3:
        return [choice for choice in itertools.product((True, False), repeat=count) if any(choice)]
    return [tuple(i == j for j in range(count)) for i in range(count)] + [(True,) * count]


def _tried(operator: str, form: str, call: str, tensors: dict[str, Any], needing: set[str]) -> Iterator[Program]:
    head = ["import torch", 'inf, nan = float("inf"), float("nan")']
    head += [f"{name} = {_made(tensor, name in needing)}" for name, tensor in tensors.items()]
    if form == "in place":  # not of a leaf, which torch refuses
        name, _, behind = call.partition(".")
        head += [f"changed = {name} + 0", f"out = changed.{behind}"]
    else:
        head.append(f"out = {call}")
    for result, tensor in _results("\n".join(head)):
        root = f"loss = {result}.{'real.' if tensor.is_complex() else ''}sum()"
        endings = {"once": [root, "loss.backward()"], "twice": [root, "loss.backward()", "loss.backward()"]}
        for name, each in {} if form == "in place" else {**tensors, result: tensor}.items():
            changed = f"{name}.detach()" if name == result else name
            # what leaves the values as they are counts as a change
            change = f"{changed}.logical_or_({changed})" if each.dtype.itemsize == 1 else f"{changed}.mul_(1)"
            endings[f"change of {name}"] = [root, "with torch.no_grad():", f"    {change}", "loss.backward()"]
        for tried, rows in endings.items():
            text = "\n".join([*head, *rows, ""])
            yield Program(operator, form, tried, verdict(text), text)


def _made(tensor: Any, needs: bool) -> str:
    asked = ", requires_grad=True" if needs else ""
    if tensor.is_floating_point() and tensor.numel() > WRITTEN:
        return f"torch.rand({list(tensor.shape)}, dtype={tensor.dtype}{asked})"
    return f"torch.tensor({tensor.tolist()}, dtype={tensor.dtype}{asked})"


def _results(head: str) -> list[tuple[str, Any]]:
    """The tensors that a call gives, up to three of those that have a graph; none if it fails."""
    import torch

    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(head, names)
        except Exception:  # noqa: BLE001 a sample that can't be called like that
            return []
    out = names["out"]
    several = (
        [(f"out[{at}]", each) for at, each in enumerate(out)] if isinstance(out, (list, tuple)) else [("out", out)]
    )
    tensors = [(name, each) for name, each in several if isinstance(each, torch.Tensor)]
    return [(name, each) for name, each in tensors if each.requires_grad][:3] or [
        (name, each) for name, each in tensors if len(tensors) == 1 and each.is_floating_point()
    ]


def verdict(text: str) -> str:
    """What torch does with a program."""
    import torch

    torch.manual_seed(0)
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(text, {})
        except RuntimeError as error:
            return next((word for says, word in _SAYS.items() if says in str(error)), OTHER)
        except Exception:  # noqa: BLE001 nothing that a graph is to blame for
            return OTHER
    return RUNS


RIGHT, ALARM, MISSED, OTHER_RULE = "right", "false alarm", "missed", "another rule"


def judged(program: Program) -> str:
    """How the linter's findings compare with what torch does."""
    from retainlint import check_source

    told = {each.code for each in check_source(program.text, select=["RTL1"], isolated=True)}
    if program.torch == RUNS:
        return ALARM if told else RIGHT
    meant = {MODIFIED: {"RTL111"}, NO_GRAPH: {"RTL112"}}.get(program.torch, told - {"RTL111", "RTL112"})
    return RIGHT if told & meant else OTHER_RULE if told else MISSED


def _of_part(given: tuple[int, int, int, str]) -> list[tuple[Program, str]]:
    part, parts, samples, only = given
    mine = (each for at, each in enumerate(operators()) if at % parts == part and fnmatch(each.name, only))
    return [(p, judged(p)) for each in mine for p in programs(each, samples) if p.torch != OTHER]


def measured(samples: int, jobs: int, only: str = "*") -> Iterator[tuple[Program, str]]:
    """All programs, and how they were judged; of operators whose name matches a pattern."""
    parts = jobs * 16
    with ProcessPoolExecutor(jobs) as pool:
        for found in pool.map(_of_part, [(part, parts, samples, only) for part in range(parts)]):
            yield from found


def table(rows: Iterable[tuple[Program, str]]) -> tuple[str, dict[str, Counter[str]]]:
    """The figures, and what came of each operator."""
    by_verdict: dict[str, Counter[str]] = defaultdict(Counter)
    by_operator: dict[str, Counter[str]] = defaultdict(Counter)
    for program, word in rows:
        by_verdict[program.torch][word] += 1
        by_operator[program.operator][word] += 1
    lines = [
        "| torch | programs | right | false alarm | missed | another rule |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for kind, words in sorted(by_verdict.items()):
        every = words.total()
        cells = (f"{words[word]}" for word in (ALARM, MISSED, OTHER_RULE))
        lines.append(f"| {kind} | {every} | {words[RIGHT] / every:.1%} | {' | '.join(cells)} |")
    whole = sum(set(words) == {RIGHT} for words in by_operator.values())
    return "\n".join([*lines, "", f"{whole} of {len(by_operator)} operators are right in every program."]), by_operator


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.truth.operators", description=__doc__)
    parser.add_argument("--samples", type=int, default=4, help="of each operator (default: 4)")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="operators whose name matches it")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--log", help="write each program and what came of it there, as lines of JSON")
    given = parser.parse_args(arguments)
    rows = list(measured(given.samples, given.jobs, given.only))
    if given.log:
        with open(given.log, "w", encoding="utf-8") as log:
            log.writelines(json.dumps({**asdict(program), "judged": word}) + "\n" for program, word in rows)
    text, by_operator = table(rows)
    print(text)
    for name, words in sorted(by_operator.items()):
        if set(words) != {RIGHT}:
            print(f"{name}: {', '.join(f'{count} {word}' for word, count in words.items())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
