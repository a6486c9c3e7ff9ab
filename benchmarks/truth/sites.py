"""Finds the walks in a working file whose mutation certainly raises, and what their roots are computed from."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Definition = ast.FunctionDef | ast.AsyncFunctionDef
Scope = Definition | ast.Module

NETWORK = re.compile(
    r"(net|model|policy|actor|critic|generator|discriminator|encoder|decoder|agent|learner|module|forward|cnn|rnn|lstm|gru|vae|"
    r"likelihood|mlp|transformer)\w*$|^(G|D|Q|F|net\w*|G_\w+|D_\w+)$",
    re.IGNORECASE,
)
"""Names under which people call a network. What it saves is conventional: more than one layer, all of which learn."""
ENGINE = re.compile(r"fabric|accelerator|engine|booster", re.IGNORECASE)
"""Names of what walks a loss that it is given: each statement may compute that anew."""
FRESH = {
    "tensor",
    "zeros",
    "ones",
    "rand",
    "randn",
    "empty",
    "full",
    "arange",
    "as_tensor",
    "from_numpy",
    "zeros_like",
    "ones_like",
}
"""Calls that make a tensor without a graph."""
CUTS = {"detach", "item", "data", "numpy", "tolist", "argmax", "size", "shape", "device", "dtype", "no_grad"}
SAVING = {
    "exp",
    "log",
    "pow",
    "sqrt",
    "matmul",
    "mm",
    "bmm",
    "sigmoid",
    "tanh",
    "softmax",
    "log_softmax",
    "norm",
    "prod",
    "var",
    "std",
    "logsumexp",
}
GUARDS = re.compile(r"raises|assertRaises|no_grad|inference_mode|suppress|set_grad_enabled|enable_grad")


@dataclass(frozen=True)
class Site:
    """A statement `root.backward(...)` of its own, `index` in `suite`; `parents` from the scope's body inward."""

    scope: Scope
    parents: tuple[ast.stmt, ...]
    suite: Sequence[ast.stmt]
    index: int
    root: str
    retained: bool

    @property
    def statement(self) -> ast.stmt:
        return self.suite[self.index]

    @property
    def loop(self) -> ast.For | ast.While | None:
        """The loop whose body runs the walk in every turn: only `with` stands between."""
        for parent in reversed(self.parents):
            if isinstance(parent, (ast.For, ast.While)):
                return parent
            if not isinstance(parent, ast.With):
                return None
        return None


def sites(tree: ast.Module, lines: Sequence[str]) -> list[Site]:
    """The walks of a module whose root is a variable that its own function computes by operations that save."""
    return [site for site in _in_scope(tree, lines) if _is_certain(site)]


def _in_scope(tree: ast.Module, lines: Sequence[str]) -> Iterator[Site]:
    foreign = {id(each) for node in ast.walk(tree) if _is_function_class(node) for each in ast.walk(node)}
    foreign |= {id(each) for arm in _switched_off(tree) for node in arm for each in ast.walk(node)}
    for scope in ast.walk(tree):
        if isinstance(scope, Scope) and id(scope) not in foreign and not _is_guarded(scope):
            found = _in_suite(scope, (), scope.body, lines)
            yield from (site for site in found if id(site.statement) not in foreign)


def _switched_off(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    """The arms that a constant of the module decides against: nothing in them runs as it is written."""
    bound: dict[str, list[ast.expr]] = {}
    for statement in tree.body:
        for name, value in bindings(statement):
            bound.setdefault(name, []).append(value)
    stored = Counter(name for node in ast.walk(tree) for name in _stored(node))
    for node in ast.walk(tree):
        if isinstance(node, ast.If):
            test, off = node.test, node.body
            if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
                test, off = test.operand, node.orelse
            name = test.id if isinstance(test, ast.Name) else ""
            match bound.get(name, ()):
                case [ast.Constant(constant)] if stored[name] == 1:
                    yield (node.orelse if off is node.body else node.body) if bool(constant) else off


def _stored(node: ast.AST) -> Iterator[str]:
    """The names that a node binds, parameters and all."""
    match node:
        case ast.Name(name, ast.Store()) | ast.arg(name) | ast.FunctionDef(name) | ast.ClassDef(name):
            yield name
        case ast.alias(name, as_name):
            yield as_name or name


def _is_function_class(node: ast.AST) -> bool:
    return isinstance(node, ast.ClassDef) and any("Function" in ast.unparse(base) for base in node.bases)


def _is_guarded(scope: Scope) -> bool:
    if isinstance(scope, ast.Module):
        return False
    arguments = {each.arg for each in scope.args.args}
    return "ctx" in arguments or any(GUARDS.search(ast.unparse(each)) for each in scope.decorator_list)


def _in_suite(
    scope: Scope, parents: tuple[ast.stmt, ...], suite: Sequence[ast.stmt], lines: Sequence[str]
) -> Iterator[Site]:
    for index, statement in enumerate(suite):
        if isinstance(statement, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
            return  # nothing behind it runs
        walked = walked_root(statement)
        if walked is not None and stands_alone(statement, lines):
            yield Site(scope, parents, suite, index, *walked)
        if isinstance(statement, ast.With) and any(
            GUARDS.search(ast.unparse(each.context_expr)) for each in statement.items
        ):
            continue
        if isinstance(statement, (ast.If, ast.For, ast.While, ast.With)):
            for inner in (statement.body, getattr(statement, "orelse", [])):
                yield from _in_suite(scope, (*parents, statement), inner, lines)


def walked_root(statement: ast.stmt) -> tuple[str, bool] | None:
    """The variable that a statement walks and whether it keeps the graph; None for any other statement."""
    match statement:
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(root), "backward"), args, keywords)):
            named = {each.arg: each.value for each in keywords}
            kept = named.pop("retain_graph", None)
            if len(args) > 1 or "create_graph" in named or None in named or ENGINE.search(root):
                return None
            if kept is not None and not (isinstance(kept, ast.Constant) and isinstance(kept.value, bool)):
                return None
            return root, isinstance(kept, ast.Constant) and bool(kept.value)
    return None


def stands_alone(statement: ast.stmt, lines: Sequence[str]) -> bool:
    """Whether a statement shares its rows with no other."""
    row, last = lines[statement.lineno - 1], lines[(statement.end_lineno or statement.lineno) - 1]
    behind = last.encode()[statement.end_col_offset :].strip()
    return not row.encode()[: statement.col_offset].strip() and (not behind or behind.startswith(b"#"))


def _is_certain(site: Site) -> bool:
    values = computed(site.scope, site.root, site.statement.lineno)
    return any(_saves(each) for each in values)


def computed(scope: Scope, root: str, row: int) -> list[ast.expr]:
    """All expressions of a scope, above a row, that the variable may be computed from, cuts left out."""
    assigned: dict[str, list[ast.expr]] = {}
    for statement in own(scope):
        if statement.lineno < row:
            for name, value in bindings(statement):
                assigned.setdefault(name, []).append(value)
    reached, waiting, values = {root}, [root], []
    while waiting:
        for value in assigned.get(waiting.pop(), ()):
            values.append(value)
            for name in flowing(value):
                if name not in reached:
                    reached.add(name)
                    waiting.append(name)
    return values


def own(scope: Scope) -> Iterator[ast.stmt]:
    """The statements of a scope, those of definitions inside it left out."""
    waiting: list[ast.AST] = list(scope.body)
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.stmt):
            yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            waiting += [each for each in ast.iter_child_nodes(node) if isinstance(each, (ast.stmt, ast.excepthandler))]


def bindings(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    match statement:
        case ast.Assign(targets, value):
            for target in targets:
                yield from ((name, value) for name in named(target))
        case ast.AugAssign(target, _, value) | ast.AnnAssign(target, _, ast.expr() as value):
            yield from ((name, value) for name in named(target))


def named(target: ast.expr) -> Iterator[str]:
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def flowing(value: ast.AST, spared: ast.AST | None = None) -> Iterator[str]:
    """The variables whose graph flows into an expression; a cut lets nothing through, but for the `spared` one."""
    if isinstance(value, ast.Attribute) and value.attr in CUTS and value is not spared:
        return
    if isinstance(value, ast.Name):
        yield value.id
    for inner in ast.iter_child_nodes(value):
        yield from flowing(inner, spared)


def called(value: ast.AST) -> Iterator[str]:
    """The last name of each call in an expression, cut parts left out."""
    if isinstance(value, ast.Attribute) and value.attr in CUTS:
        return
    if isinstance(value, ast.Call):
        match value.func:
            case ast.Attribute(_, name) | ast.Name(name):
                yield name
    for inner in ast.iter_child_nodes(value):
        yield from called(inner)


def calls_network(value: ast.AST) -> bool:
    return any(NETWORK.search(name) for name in called(value))


def _saves(value: ast.expr) -> bool:
    names = set(called(value))
    if names & FRESH and not names - FRESH:
        return False
    functional = any(
        isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "F"
        for node in ast.walk(value)
    )
    losses = any(re.search(r"loss|criterion|entropy|mse|bce|mll|elbo", name, re.IGNORECASE) for name in names)
    return functional or losses or calls_network(value) or bool(names & SAVING)


def drawn(suite: Sequence[ast.stmt], index: int, root: str, spared: ast.AST | None = None) -> frozenset[int] | None:
    """Which statements of a suite the variable's graph is drawn from, just before the statement at `index`.

    None if one of its variables is bound where that can't be told: in a branch, or a loop.
    """
    reached: set[int] = set()
    waiting = [(root, index)]
    while waiting:
        name, before = waiting.pop()
        for at in range(before - 1, -1, -1):
            statement = suite[at]
            if isinstance(statement, (ast.If, ast.For, ast.While, ast.With, ast.Try)):
                if any(
                    name in {one for one, _ in bindings(each)}
                    for each in ast.walk(statement)
                    if isinstance(each, ast.stmt)
                ):
                    return None
            values = [value for one, value in bindings(statement) if one == name]
            if not values:
                continue
            if at not in reached:
                reached.add(at)
                waiting += [(one, at) for value in values for one in flowing(value, spared)]
                if isinstance(statement, ast.AugAssign):
                    waiting.append((name, at))
            break
    return frozenset(reached)
