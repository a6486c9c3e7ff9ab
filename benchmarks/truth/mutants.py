"""Breaks a working file in the ways that people do: each class of mutation, where it certainly raises.

What is certain rests on these conventions, beside what is read: the walk is reached unless it stands behind an
`exit()`, in a loop in two turns at least; the root's graph saves something (it comes from a network, a loss, or an operation
that saves); a network whose class can't be read has two layers or more, all of which learn, and the optimiser that steps
right behind a walk owns them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.truth.apart import taken_apart
from benchmarks.truth.networks import FROZEN, Place, steps_what_is_saved
from benchmarks.truth.sites import (
    Scope,
    Site,
    bindings,
    called,
    calls_network,
    computed,
    drawn,
    flowing,
    sites,
    stands_alone,
    walked_root,
)  # fmt: skip

_HINDRANCE = re.compile(rf"{FROZEN.pattern}|\bgrad\(|\.grad\b")
"""Where gradients are computed or read by themselves, what is hoisted may raise elsewhere; where weights are frozen, nowhere."""
_LAYER = re.compile(r"nn\.\w*(?:Linear|Conv|LSTM|GRU|RNN|Norm|Embedding)\w*\(")


@dataclass(frozen=True)
class Mutant:
    """A changed text, the row where it raises, and the rows of the function that holds it."""

    kind: str
    text: str
    row: int
    rows: tuple[int, int]
    function: str


@dataclass
class Text:
    """The rows of a working file, and what was changed in them."""

    rows: list[str]
    tree: ast.Module
    path: Path | None

    @property
    def whole(self) -> str:
        return "\n".join(self.rows)

    def mutant(self, kind: str, site: Site, edits: dict[int, list[str]], raising: tuple[int, int]) -> Mutant:
        """Put other rows in place of the given ones; it raises at the second number of `raising` in the rows put for the first."""
        out: list[str] = []
        at = 0
        for number, row in enumerate(self.rows, 1):
            if number == raising[0]:
                at = len(out) + 1 + raising[1]
            out += edits.get(number, [row])
        low, high = span(site.scope, len(self.rows))
        name = "" if isinstance(site.scope, ast.Module) else site.scope.name
        return Mutant(kind, "\n".join(out) + "\n", at, (low, high + len(out) - len(self.rows)), name)

    def of(self, node: ast.stmt) -> list[str]:
        return self.rows[node.lineno - 1 : node.end_lineno]

    def without(self, node: ast.stmt) -> dict[int, list[str]]:
        blank = re.match(r"\s*", self.rows[node.lineno - 1])
        first = {node.lineno: [f"{blank[0] if blank else ''}pass"]}
        return first | {number: [] for number in range(node.lineno + 1, (node.end_lineno or node.lineno) + 1)}

    def indent(self, node: ast.stmt) -> str:
        return self.rows[node.lineno - 1][: node.col_offset]


def span(scope: Scope, rows: int) -> tuple[int, int]:
    return (1, rows) if isinstance(scope, ast.Module) else (scope.lineno, scope.end_lineno or rows)


def mutants(text: str, path: Path | None = None) -> Iterator[Mutant]:
    """Every mutant of a file; none if it isn't Python 3, or has nothing to do with torch. `path` is where it stands,
    to read the classes of networks that it imports."""
    if not re.search(r"^\s*(import|from) (torch|pytorch_lightning|lightning)\b", text, re.MULTILINE):
        return
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    held = Text(re.split(r"\r\n|\r|\n", text), tree, path)
    if any(len(row.splitlines()) > 1 for row in held.rows):
        return  # a form feed: rows would be counted in two ways
    for site in sites(tree, held.rows):
        if any(isinstance(each, ast.Expr) and _is_exit(each.value) for each in site.suite[: site.index]):
            continue
        for make in MAKERS:
            mutant = make(held, site)
            if mutant is not None:
                yield mutant


def _doubled(text: Text, site: Site) -> Mutant | None:
    if site.retained:
        return None
    rows = text.of(site.statement)
    return text.mutant(
        "backward pass doubled", site, {site.statement.end_lineno or 0: [rows[-1], *rows]}, (_end(site), 1)
    )


def _looped(text: Text, site: Site) -> Mutant | None:
    if site.retained:
        return None
    statement, blank = site.statement, text.indent(site.statement)
    edits = text.without(statement)
    step = "\t" if blank.endswith("\t") else "    "
    edits[statement.lineno] = [f"{blank}for _again in range(2):", *(f"{step}{row}" for row in text.of(statement))]
    return text.mutant("backward pass put into a loop", site, edits, (statement.lineno, 1))


def _repeated(text: Text, site: Site) -> Mutant | None:
    rest = site.suite[site.index + 1 :]
    if site.retained or not rest:
        return None
    inner = [node for each in rest for node in ast.walk(each)]
    if any(
        isinstance(node, (ast.Return, ast.Raise, ast.Break, ast.Continue, ast.Yield, ast.Try, ast.Global))
        for node in inner
    ):
        return None
    if any(
        isinstance(node, ast.Name) and node.id == site.root and not isinstance(node.ctx, ast.Load) for node in inner
    ):
        return None
    if any(_is_call_on(node, site.root, {"detach_", "backward"}) or _is_exit(node) for node in inner):
        return None
    last = rest[-1]
    if not stands_alone(last, text.rows):
        return None
    end = last.end_lineno or last.lineno
    return text.mutant(
        "backward pass repeated at the suite's end",
        site,
        {end: [text.rows[end - 1], *text.of(site.statement)]},
        (end, 1),
    )


def _carried(text: Text, site: Site) -> Mutant | None:
    loop = site.loop
    if site.retained or loop is None or not _turns_twice(loop) or not _is_plain(site.statement):
        return None
    if not any(
        _binds(each, site.root)
        for each in ast.walk(loop)
        if isinstance(each, ast.stmt) and each.lineno < site.statement.lineno
    ):
        return None  # nothing new is computed in a turn
    blank, statement = text.indent(site.statement), site.statement
    edits = text.without(statement)
    edits[loop.lineno] = [f"{text.indent(loop)}carried = 0", *edits.get(loop.lineno, [text.rows[loop.lineno - 1]])]
    edits[statement.lineno] = [f"{blank}carried = carried + {site.root}", f"{blank}carried.backward()"]
    return text.mutant("total carried over iterations", site, edits, (statement.lineno, 1))


def _hoisted(text: Text, site: Site) -> Mutant | None:
    loop = site.loop
    if (
        site.retained
        or loop is None
        or not _turns_twice(loop)
        or loop.body is not site.suite
        or _HINDRANCE.search(text.whole)
    ):
        return None
    reached = drawn(site.suite, site.index, site.root)
    at = next(
        (n for n in sorted(reached or ()) if isinstance(site.suite[n], ast.Assign) and _is_forward(site.suite[n])), None
    )
    if at is None:
        return None
    head = site.suite[: at + 1]
    names = {name for name, _ in bindings(head[-1])}
    if any(
        not isinstance(each, (ast.Assign, ast.Expr, ast.AnnAssign)) or not stands_alone(each, text.rows)
        for each in head
    ):
        return None
    if any(walked_root(each) or _is_exit(each) for each in head) or any(
        _binds(each, n) for each in site.suite[at + 1 :] for n in names
    ):
        return None
    if any(_walks_one_of(site, n, at + 1) for n in range(at + 1, site.index)):
        return None  # it would raise there
    blank = text.indent(loop)
    before = (
        [f"{blank}{ast.unparse(loop.target)} = next(iter({ast.unparse(loop.iter)}))"]
        if isinstance(loop, ast.For)
        else []
    )
    before += [f"{blank}{row}" for each in head for row in ast.unparse(each).splitlines()]
    edits = text.without(head[-1])
    edits[loop.lineno] = [*before, *edits.get(loop.lineno, [text.rows[loop.lineno - 1]])]
    return text.mutant("forward hoisted", site, edits, (site.statement.lineno, 0))


def _walks_one_of(site: Site, at: int, below: int) -> bool:
    """Whether the statement at `at` may walk what one of the first `below` statements of the suite computes."""
    walked = walked_root(site.suite[at])
    if walked is None:
        return any(isinstance(n, ast.Attribute) and n.attr == "backward" for n in ast.walk(site.suite[at]))
    reached = drawn(site.suite, at, walked[0])
    return reached is None or any(n < below and _is_forward(site.suite[n]) for n in reached)


def _undetached(text: Text, site: Site) -> Mutant | None:
    """`D(fake.detach())` is walked, and `D(fake)`, in this order or the other: the later walk raises."""
    for at, statement in enumerate(site.suite[: site.index]):
        for node in ast.walk(statement) if isinstance(statement, ast.Assign) else ():
            match node:
                case ast.Call(ast.Attribute(ast.Name(name), "detach") as cut, []):
                    partner = _partner(site, at, name, cut)
                    if partner and node.lineno == node.end_lineno and name != site.root:
                        row = text.rows[node.lineno - 1].encode()
                        changed = row[: node.col_offset] + name.encode() + row[node.end_col_offset :]
                        return text.mutant(
                            "detach deleted", site, {node.lineno: [changed.decode()]}, (site.statement.lineno, 0)
                        )
    return None


def _partner(site: Site, at: int, name: str, cut: ast.Attribute) -> bool:
    """Whether an earlier walk frees the graph that this one reaches once the cut is gone (or the other way round)."""
    made = drawn(site.suite, at, name)
    if not made or not _is_forward(site.suite[max(made)]):
        return False  # another call, such as a buffer's, may cut by itself
    forwards = {n for n in made if _is_forward(site.suite[n])}
    spared = drawn(site.suite, site.index, site.root, cut)
    for n, earlier in enumerate(site.suite[: site.index]):
        walked = walked_root(earlier)
        if walked is None or walked[1]:
            continue
        one, two = drawn(site.suite, n, walked[0], cut), drawn(site.suite, site.index, site.root)
        before = drawn(site.suite, n, walked[0])
        if None in (one, two, before, spared) or (at in (one or ()) and at in (spared or ())):
            continue
        assert one is not None and two is not None and before is not None and spared is not None
        if forwards & one & spared and not (forwards & before & two):
            return max(forwards & one & spared) < n
    return False


def _unretained(text: Text, site: Site) -> Mutant | None:
    """The walk before this one keeps what both need: without, this one raises."""
    mine = drawn(site.suite, site.index, site.root)
    for n in range(site.index - 1, -1, -1):
        walked = walked_root(site.suite[n])
        if walked is None:
            continue
        if not walked[1] or not stands_alone(site.suite[n], text.rows):
            return None
        theirs = drawn(site.suite, n, walked[0])
        both = {k for k in (mine or frozenset()) & (theirs or frozenset()) if k < n}
        shared = {k for k in both if _is_forward(site.suite[k])}
        if not shared or taken_apart(site.suite, max(both), mine or frozenset(), theirs or frozenset()):
            return None
        if site.suite[n].lineno != site.suite[n].end_lineno:
            return None
        if any("grad" in called(each) for each in site.suite[n + 1 : site.index]):  # that raises before
            return None
        row = text.rows[site.suite[n].lineno - 1]
        changed = re.sub(r",?\s*retain_graph\s*=\s*True", "", row)
        if changed == row:
            return None
        return text.mutant("retain_graph deleted", site, {site.suite[n].lineno: [changed]}, (site.statement.lineno, 0))
    return None


def _stepped(text: Text, site: Site) -> Mutant | None:
    """The walk is kept and repeated, and the optimiser's step stands between: its weights were saved."""
    values = computed(site.scope, site.root, _end(site))
    if site.retained or not _is_plain(site.statement) or not any(calls_network(value) for value in values):
        return None
    if len(_LAYER.findall(text.whole)) == 1 or FROZEN.search(text.whole):
        return None  # a single layer's weight isn't needed to walk it
    for later in site.suite[site.index + 1 :]:
        if walked_root(later):
            return None
        match later:
            case ast.Expr(ast.Call(ast.Attribute(owner, "step"), _)) if re.search(
                r"opt|solver|trainer", ast.unparse(owner), re.I
            ):
                place = Place(text.tree, text.path, site.scope)
                if not stands_alone(later, text.rows) or not steps_what_is_saved(place, values, owner):
                    return None
                blank = text.indent(site.statement)
                rows = [
                    f"{blank}{site.root}.backward(retain_graph=True)",
                    *text.of(later),
                    f"{blank}{site.root}.backward()",
                ]
                edits = text.without(site.statement) | {site.statement.lineno: rows}
                return text.mutant(
                    "step between two backward passes", site, edits, (site.statement.lineno, len(rows) - 1)
                )
            case ast.If() | ast.For() | ast.While() | ast.With() | ast.Try():
                return None
    return None


def _is_forward(statement: ast.stmt) -> bool:
    return any(calls_network(value) and any(True for _ in flowing(value)) for _, value in bindings(statement))


def _end(site: Site) -> int:
    return site.statement.end_lineno or site.statement.lineno


def _is_plain(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and not statement.value.args
        and not statement.value.keywords
    )


def _binds(statement: ast.stmt, name: str) -> bool:
    return any(one == name for one, _ in bindings(statement))


def _is_exit(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) in ("exit", "sys.exit", "quit", "os._exit")


def _is_call_on(node: ast.AST, name: str, methods: set[str]) -> bool:
    match node:
        case ast.Call(ast.Attribute(ast.Name(one), method)):
            return one == name and method in methods
    return False


def _turns_twice(loop: ast.For | ast.While) -> bool:
    """Whether nothing says that the loop ends with its first turn."""
    if any(isinstance(each, (ast.Break, ast.Return, ast.Raise)) for each in loop.body):
        return False
    match loop:
        case ast.For(_, ast.Call(ast.Name("range"), [ast.Constant(int(count))])):
            return count > 1
        case ast.For(_, ast.List(items) | ast.Tuple(items)):
            return len(items) > 1
    return True


MAKERS: Sequence[Callable[[Text, Site], Mutant | None]] = (
    _doubled, _looped, _repeated, _carried, _hoisted, _undetached, _unretained, _stepped,
)  # fmt: skip
