"""Tells networks of a single layer: nothing that their own walk needs is a weight, so that a step before it is legal."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from benchmarks.truth.sites import CUTS, NETWORK, Scope, bindings, own

_ONE = re.compile(r"(Linear|Bilinear|Conv\w*|\w*Norm\w*|\w+Cell)$")
_MANY = re.compile(r"(LSTM|GRU|RNN|Transformer\w*|MultiheadAttention)$")
_PLAIN = re.compile(
    r"(\w*ReLU\d?|\w*ELU|Tanh|\w*[sS]igmoid|\w*Softmax\d?d?|Dropout\w*|Flatten|Unflatten|Identity|\w*Pool\dd|Upsample|Sequential|"
    r"ModuleList|ModuleDict|Parameter|Variable|\w*Tensor|\w*Loss|\w*Error|Adam\w*|SGD|RMSprop|Embedding\w*)$"
)
"""Nothing that their own walk needs is a weight of theirs; embeddings save indices alone."""
_BASES = {"Module", "object", "LightningModule", "Sequential"}
_BUILTIN = {"super", "__init__", "int", "float", "str", "len", "range", "print", "list", "tuple", "dict", "isinstance"}
_ASKED = {"parameters", "named_parameters", "modules", "children", "buffers", "state_dict", "register_buffer"}
"""Methods of a module that make no layer."""
_MODULES = {"torch", "np", "nn", "math", "init", "F"}
_SAME = {"to", "cuda", "cpu", "double", "float", "half", "train", "eval"}
"""Methods that give back the module they are called on."""
_COPIES = {"clone", "clone_module", "copy", "deepcopy"}
FROZEN = re.compile(r"requires_grad\w*(\s*=\s*|\()False|set_requires_grad|freeze")
DEEP = 3
"""So many modules may hand a class on, so many names a variable."""


@dataclass(frozen=True)
class Place:
    """Where a walk stands: its module, that module's file, its function."""

    tree: ast.Module
    path: Path | None
    scope: Scope

    @property
    def home(self) -> ast.ClassDef | None:
        """The class whose method the walk is in."""
        return next((n for n in ast.walk(self.tree) if isinstance(n, ast.ClassDef) and self.scope in n.body), None)

    def made(self, target: ast.expr) -> list[ast.expr]:
        """All that is bound to a variable, or to an attribute of `self`."""
        match target:
            case ast.Name(name):
                statements = (*own(self.scope), *own(self.tree))
                return [_part(each, name, value) for each in statements for one, value in bindings(each) if one == name]
            case ast.Attribute(ast.Name("self"), name):
                inside = ast.walk(self.home) if self.home is not None else ()
                return [each.value for each in inside if isinstance(each, ast.Assign) and _sets(each, name)]
        return []


def steps_what_is_saved(place: Place, values: list[ast.expr], optimizer: ast.expr) -> bool:
    """Whether a step of `optimizer` surely spoils the graph that `values` build, by the convention for what can't be
    read: two layers that learn."""
    if any(isinstance(value, ast.Call) and _last(value.func) in _COPIES for value in values):
        return False  # the graph may be that of a copy, which the optimiser doesn't move
    if any(re.search(r"opt\w*\.parameters\(", ast.unparse(_first_argument(each))) for each in place.made(optimizer)):
        return False  # it learns how another one steps
    networks = {ast.dump(call.func): call.func for value in values for call in _calls(value)}
    owned = {name for each in place.made(optimizer) for name in _names(place, _first_argument(each), DEEP)}
    stepped = [func for func in networks.values() if not owned or owned & set(_names(place, func, DEEP))]
    counts = [_layers_of(place, func) for func in stepped]
    return bool(counts) and (None in counts or sum(each or 0 for each in counts) > 1)


def _first_argument(value: ast.expr) -> ast.expr:
    return value.args[0] if isinstance(value, ast.Call) and value.args else value


def _names(place: Place, value: ast.AST, depth: int) -> Iterator[str]:
    """The variables and attributes of `self` that an expression is made of, and those that these were made of."""
    for node in ast.walk(value):
        if isinstance(node, ast.Name) and node.id not in ("self", "nn", "torch", "optim"):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            yield "self" if node.attr in ("parameters", "forward") else f"self.{node.attr}"
        else:
            continue
        if depth:
            for each in place.made(node):
                yield from _names(place, each, depth - 1)


def _calls(value: ast.AST) -> Iterator[ast.Call]:
    if isinstance(value, ast.Attribute) and value.attr in CUTS:
        return
    if isinstance(value, ast.Call) and NETWORK.search(_last(value.func)):
        yield value
    for inner in ast.iter_child_nodes(value):
        yield from _calls(inner)


def _last(func: ast.expr) -> str:
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""


def _layers_of(place: Place, func: ast.expr) -> int | None:
    """How many layers the network that is called by `func` has; None if that can't be read."""
    if isinstance(func, ast.Attribute) and func.attr in ("forward", "training_step"):
        func = func.value
    if isinstance(func, ast.Name) and func.id == "self":
        return None if place.home is None else _layers_in(place.home)
    made = place.made(func)
    if not made and isinstance(func, ast.Name) and (cls := _class(place.tree, place.path, func.id, DEEP)) is not None:
        return _layers_in(cls)  # made in the same expression, or in one that the walk's root comes from
    counts = {_layers_made(place, value) for value in made}
    return counts.pop() if len(counts) == 1 else None


def _part(statement: ast.stmt, name: str, value: ast.expr) -> ast.expr:
    """What of `a, b = one, two` is bound to a name."""
    match statement:
        case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)) if len(targets) == len(values):
            pairs = zip(targets, values)
            return next((v for target, v in pairs if isinstance(target, ast.Name) and target.id == name), value)
    return value


def _sets(statement: ast.Assign, name: str) -> bool:
    return any(isinstance(each, ast.Attribute) and each.attr == name for each in statement.targets)


def _layers_made(place: Place, value: ast.expr) -> int | None:
    """How many layers has what an expression makes?"""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _SAME:
        value = value.func.value
    if not isinstance(value, ast.Call):
        return None
    name = _last(value.func)
    if _ONE.match(name) or name == "Sequential":
        return _counted(value)
    found = _class(place.tree, place.path, name, DEEP) if isinstance(value.func, ast.Name) else None
    return None if found is None else _layers_in(found)


def _layers_in(cls: ast.ClassDef) -> int | None:
    if any(isinstance(each, ast.Attribute) and each.attr in ("no_grad", "detach") for each in ast.walk(cls)):
        return 0  # nobody knows which of them the graph needs
    count = 0
    for base in cls.bases:
        name = _last(base)
        if not _ONE.match(name) and name not in _BASES:
            return None
        count += bool(_ONE.match(name))
    inside = _counted(cls)
    return None if inside is None else count + inside


def _counted(node: ast.AST) -> int | None:
    """The layers that are made in a piece of code, in a loop twice; None if it makes what can't be read."""
    count = 0
    for each in ast.walk(node):
        if isinstance(each, ast.FunctionDef) and each.name == "__init__":
            calls = (call for call in ast.walk(each) if isinstance(call, ast.Call))
            if any(_may_help(call.func) for call in calls):
                return None
        if isinstance(each, (ast.For, ast.ListComp, ast.GeneratorExp)):
            count += sum(isinstance(call, ast.Call) and bool(_ONE.match(_last(call.func))) for call in ast.walk(each))
        if not isinstance(each, ast.Call) or not _last(each.func)[:1].isupper():
            continue
        name = _last(each.func)
        if _MANY.match(name):
            count += 2
        elif _ONE.match(name):
            count += 1
        elif not _PLAIN.match(name):
            return None
    return count


def _may_help(func: ast.expr) -> bool:
    """Whether a call may be one of a helper that makes layers."""
    if _last(func)[:1].isupper() or _last(func) in _BUILTIN | _ASKED:
        return False
    depth = 0
    while isinstance(func, ast.Attribute):
        func, depth = func.value, depth + 1
    if isinstance(func, ast.Name) and func.id == "self":
        return depth < 2
    return not isinstance(func, ast.Call) and not (depth and isinstance(func, ast.Name) and func.id in _MODULES)


def _class(tree: ast.Module, path: Path | None, name: str, depth: int) -> ast.ClassDef | None:
    """The class that a module knows by a name, perhaps from another module of the project."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == name:
            return node
    if path is None or not depth:
        return None
    for node in ast.walk(tree):
        for alias in node.names if isinstance(node, ast.ImportFrom) else ():
            if (alias.asname or alias.name) in (name, "*") and isinstance(node, ast.ImportFrom):
                wanted = name if alias.name == "*" else alias.name
                for file in _files(path, node):
                    if found := _class(_parsed(file), file, wanted, depth - 1):
                        return found
    return None


def _files(path: Path, node: ast.ImportFrom) -> Iterator[Path]:
    """The files of a project that an import may mean."""
    parts = node.module.split(".") if node.module else []
    homes = [path.parents[node.level - 1]] if 0 < node.level <= len(path.parents) else list(path.parents)[:6]
    for home in homes:
        stem = home.joinpath(*parts)
        yield from (file for file in (stem.with_suffix(".py"), stem / "__init__.py") if file.is_file())


@lru_cache(maxsize=64)
def _parsed(file: Path) -> ast.Module:
    try:
        return ast.parse(file.read_bytes())
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])
