"""Finds the smallest program that still shows a difference: `python -m benchmarks.truth.shrink failures/miss/*.py`."""

from __future__ import annotations

import argparse
import ast
import copy
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.truth.measure import compare
from benchmarks.truth.program import Generated
from benchmarks.truth.score import Result

BODIES = ("body", "orelse", "finalbody")


@dataclass(frozen=True)
class Symptom:
    """What has to stay: the verdict, and the kinds of failure on torch's or the linter's side."""

    verdict: str
    kinds: frozenset[str]


def symptom(result: Result) -> Symptom:
    missed = set(result.truth.lines) - result.hits
    alarms = {kind for line, kind in result.reading.lines.items() if line not in result.unreached}
    kinds = {result.truth.lines[line] for line in missed} or alarms
    return Symptom(result.verdict, frozenset({result.reading.crash[:30]} if result.reading.crash else kinds))


@dataclass
class Shrinker:
    """Tries smaller and smaller texts."""

    name: str
    folder: Path
    wanted: Symptom | None = None
    limit: int = 600
    tried: set[str] = field(default_factory=set)

    def judge(self, text: str) -> Result:
        flags = tuple(dict.fromkeys(re.findall(r'environ\.get\("(\w+)"|environ\.get\(\'(\w+)\'', text)))
        names = tuple(first or second for first, second in flags)
        program = Generated(self.name, text, names, frozenset(), frozenset())
        return compare(program, self.folder)

    def holds(self, tree: ast.Module) -> bool:
        text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        if text in self.tried or len(self.tried) >= self.limit:
            return False
        self.tried.add(text)
        try:
            return symptom(self.judge(text)) == self.wanted
        except (TimeoutError, ChildProcessError):
            return False

    def shrink(self, text: str) -> str:
        """The smallest text found that shows the same symptom."""
        tree = ast.parse(text)
        self.wanted = symptom(self.judge(ast.unparse(tree) + "\n"))
        smaller = True
        while smaller:
            smaller = False
            for kind in (halves, removals, unwrappings, simplifications):
                found = self._reduce(tree, kind)
                smaller |= found is not tree
                tree = found
        return ast.unparse(tree) + "\n"

    def _reduce(self, tree: ast.Module, kind: Callable[[ast.Module], Iterator[ast.Module]]) -> ast.Module:
        """Apply one kind of change wherever it keeps the symptom, going on behind each place where it did."""
        at = 0
        while True:
            for number, one in enumerate(kind(tree)):
                if number >= at and self.holds(one):
                    tree, at = one, number
                    break
            else:
                return tree


def _blocks(tree: ast.AST) -> Iterator[tuple[ast.AST, str, list[ast.stmt]]]:
    for node in ast.walk(tree):
        for name in BODIES:
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield node, name, block


def _edited(tree: ast.Module, number: int, start: int, end: int, by: list[ast.stmt]) -> ast.Module:
    changed = copy.deepcopy(tree)
    node, name, block = list(_blocks(changed))[number]
    block[start:end] = by
    if not block and name == "body" and not isinstance(node, ast.Module):
        block.append(ast.Pass())
    return changed


def halves(tree: ast.Module) -> Iterator[ast.Module]:
    """The module without a long run of its statements: what goes first, goes fast."""
    size = len(tree.body) // 2
    while size > 1:
        for start in range(len(tree.body) - size, -1, -size):
            yield _edited(tree, 0, start, start + size, [])
        size //= 2


def removals(tree: ast.Module) -> Iterator[ast.Module]:
    """The tree without one statement, the last first."""
    for number, (_, _, block) in enumerate(list(_blocks(tree))):
        for start in range(len(block) - 1, -1, -1):
            if not isinstance(block[start], ast.Pass):
                yield _edited(tree, number, start, start + 1, [])


def unwrappings(tree: ast.Module) -> Iterator[ast.Module]:
    """The tree with a compound statement replaced by one of its bodies."""
    for number, (_, _, block) in enumerate(list(_blocks(tree))):
        for place, statement in enumerate(block):
            if isinstance(statement, ast.FunctionDef | ast.ClassDef):
                continue
            for name in BODIES:
                inner = getattr(statement, name, None)
                if isinstance(inner, list) and inner:
                    yield _edited(tree, number, place, place + 1, copy.deepcopy(inner))


class _Replace(ast.NodeTransformer):
    def __init__(self, number: int, by: ast.expr) -> None:
        self.number, self.by, self.at = number, by, -1

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.expr):
            self.at += 1
            if self.at == self.number:
                return self.by
        return self.generic_visit(node)


def simplifications(tree: ast.Module) -> Iterator[ast.Module]:
    """The tree with an expression replaced by one of its parts, or a list or a call without one of them."""
    order: list[ast.expr] = []

    class _Number(ast.NodeVisitor):
        def visit(self, node: ast.AST) -> None:
            if isinstance(node, ast.expr):
                order.append(node)
            self.generic_visit(node)

    _Number().visit(tree)
    for number, node in enumerate(order):
        for part in _parts(node):
            changed = copy.deepcopy(tree)
            _Replace(number, copy.deepcopy(part)).visit(changed)
            yield changed


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.BinOp(left=left, right=right):
            yield from (left, right)
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.IfExp(body=body, orelse=orelse):
            yield from (body, orelse)
        case ast.Call(func=func, args=args, keywords=keywords):
            yield from args
            if isinstance(func, ast.Attribute) and func.attr not in ("backward", "step"):
                yield func.value
            for number in range(len(keywords)):
                yield ast.Call(func, args, keywords[:number] + keywords[number + 1 :])
        case ast.Subscript(value=value):
            yield value
        case ast.List(elts=elts) | ast.Tuple(elts=elts) if len(elts) > 1 and isinstance(node.ctx, ast.Load):
            for number in range(len(elts)):
                yield type(node)(elts[:number] + elts[number + 1 :], ast.Load())


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("programs", type=Path, nargs="+")
    options.add_argument("--out", type=Path, help="folder for the small programs; printed in any case")
    chosen = options.parse_args()
    if chosen.out is not None:
        chosen.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for path in chosen.programs:
            shrinker = Shrinker(path.stem, Path(folder))
            small = shrinker.shrink(path.read_text(encoding="utf-8"))
            result = shrinker.judge(small)
            text = f"{small}# {result.verdict}: torch {result.truth.mistake or result.truth.lines}, linter {result.reading.crash or result.reading.lines}\n"
            print(f"----- {path.name}\n{text}", flush=True)
            if chosen.out is not None:
                (chosen.out / path.name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
