"""Where function bodies stand that can wait to be parsed, and a module's statements as parts with what each needs and changes, told by Python: nothing is lowered for that."""

from __future__ import annotations

import ast
import re
import symtable
import sys
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from retainlint.lowering import bindings, limits
from retainlint.lowering.bindings import Kinds, kinds_of, last_word, nested
from retainlint.lowering.effects import StatementEffects, look, look_into
from retainlint.lowering.guards import too_deep
from retainlint.program import Effect, Part
from retainlint.startup.records import record
from retainlint.text import prefilter, stubs
from retainlint.text.source import Source
from retainlint.text.syntax import REFUSED, SyntaxTree, tree_of

_DEFINES = re.compile(r"(?:@|(?:async[ \t]+)?def\b|class\b)")

_HEAD = re.compile(r"^(?:async[ \t]+)?(def|class)[ \t]+(\w+)", re.MULTILINE)


class Known:
    """The functions and classes of a module, by its tree."""

    def __init__(self, tree: ast.Module, kinds: Kinds) -> None:
        self.kinds = kinds
        self.nodes: dict[str, list[ast.AST]] = {}
        for node in _definitions(tree.body):
            self.nodes.setdefault(node.name, []).append(node)
        self.seen: dict[tuple[str, bool], StatementEffects] = {}

    def follow(self, effects: StatementEffects) -> None:
        """Add what the functions change that are called, and those that they call."""
        done: set[tuple[str, bool]] = set()
        pending = _called_names(effects)
        for hook in self._hooks(effects.derives):
            inner = look_into(hook, self.kinds, dropped=True)
            effects.add(inner)
            pending += _called_names(inner)
        while pending:
            asked = pending.pop()
            if asked in done:
                continue
            done.add(asked)
            if len(done) > limits.FUNCTIONS_FOLLOWED:
                effects.outside = True
                return
            inner = self._effects(*asked)
            effects.add(inner)
            pending += _called_names(inner)

    def effect(self, name: str, dropped: bool) -> Effect:
        """What a call of a function, or class, may change, and what is done with what it gives, if that isn't `dropped`;
        or a call of a method of what else the name is bound to: that, and whatever the module holds beside it."""
        if self.kinds.own.get(name) not in ("def", "class"):
            held = frozenset(each for each, kind in self.kinds.own.items() if kind == "data")
            return Effect(held, holds=True, origin=self.kinds.imported.get(name))
        effects = StatementEffects(drops={name}) if dropped else StatementEffects(calls={name})
        self.follow(effects)
        return Effect(frozenset(effects.changes), effects.outside or effects.sees, uses=tuple(effects.uses))

    def definitions(self, name: str) -> list[ast.AST]:
        return self.nodes.get(name, [])

    def _hooks(self, bases: set[str]) -> Iterator[ast.FunctionDef]:
        """The functions that are told of a class which is derived from some of the module's."""
        done: set[str] = set()
        pending = [*bases]
        while pending:
            name = pending.pop()
            if name in done or self.kinds.own.get(name) != "class":
                continue
            done.add(name)
            for node in self.definitions(name):
                if isinstance(node, ast.ClassDef):
                    yield from (
                        each
                        for each in node.body
                        if isinstance(each, ast.FunctionDef) and each.name == "__init_subclass__"
                    )
                    pending += [base.id for base in node.bases if isinstance(base, ast.Name)]

    def _effects(self, name: str, dropped: bool) -> StatementEffects:
        if (name, dropped) not in self.seen:
            found = self.seen[name, dropped] = StatementEffects()
            for node in self.definitions(name):
                one = look_into(node, self.kinds, dropped)
                found.add(one)
                found.calls |= one.calls
                found.drops |= one.drops
        return self.seen[name, dropped]


class KnownByParts(Known):
    """The same by a module's text and its parts: what is defined in one of its own is only parsed when it is called."""

    def __init__(self, text: str, parts: Sequence[Part]) -> None:
        self.text = text
        self.waiting: dict[str, list[Part]] = {}
        rows = list(self._outer(parts))
        tree = tree_of("".join(rows))
        super().__init__(tree, kinds_of(tree.body))
        for name in self.waiting:
            self.nodes[name] = [node for node in self.nodes[name] if not _is_stub(node)]

    def definitions(self, name: str) -> list[ast.AST]:
        for part in self.waiting.pop(name, ()):
            self.nodes[name] += _definitions(tree_of(self.text[part.start : part.end]).body)
        return super().definitions(name)

    def _outer(self, parts: Sequence[Part]) -> Iterator[str]:
        """The text, with the bodies left out of what is defined in a part of its own."""
        for part in parts:
            head = _HEAD.search(self.text, part.start, part.end) if len(part.binds) == 1 else None
            if head is None or head[2] not in part.binds or not _DEFINES.match(self.text, part.start):
                yield self.text[part.start : part.end] + "\n"
            else:
                self.waiting.setdefault(head[2], []).append(part)
                yield f"{head[1]} {head[2]}(): ...\n"


def _is_stub(node: ast.AST) -> bool:
    return isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.end_lineno == node.lineno and _is_dots(node.body)


def _is_dots(body: list[ast.stmt]) -> bool:
    return len(body) == 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)


def _called_names(effects: StatementEffects) -> list[tuple[str, bool]]:
    """The functions that are called, and whether what they give is dropped."""
    return [*((name, False) for name in effects.calls), *((name, True) for name in effects.drops)]


def _definitions(body: Sequence[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node
            continue
        pending += nested(node)


@record
class Extent:
    """Statements that share rows: from their first character to their last."""

    start: int
    end: int
    nodes: tuple[ast.stmt, ...]


def plan(source: Source, tree: ast.Module) -> tuple[Part, ...]:
    """The parts of a module."""
    kinds = kinds_of(tree.body)
    known = Known(tree, kinds)
    extents = list(_extents(source, tree.body))
    seen = [look(extent.nodes, kinds) for extent in extents]
    tied = _tied(seen)
    for effects in seen:
        known.follow(effects)
        effects.changes.update(*[tied.get(name, ()) for name in effects.changes])
    if any(effects.sees for effects in seen):
        return (_whole(source, seen),)
    own = frozenset(name for effects in seen for name in effects.binds)
    return tuple(_part(extent, effects, own) for extent, effects in zip(extents, seen))


def _part(extent: Extent, effects: StatementEffects, own: frozenset[str]) -> Part:
    uses = tuple(use for use in effects.uses if use.alone or use.attributes or use.registers or use.decorates)
    binds, reads, changes = frozenset(effects.binds), frozenset(effects.reads & own), frozenset(effects.changes & own)
    imports = tuple(effects.imports)
    return Part(extent.start, extent.end, binds, reads, changes, imports, uses, effects.outside, effects.stars)


def _whole(source: Source, seen: Sequence[StatementEffects]) -> Part:
    """All of a module that reads or binds names which nobody spells."""
    binds = frozenset(name for effects in seen for name in effects.binds)
    return Part(0, len(source.text), binds, frozenset(), frozenset(), always=True, stars=True)


def _tied(seen: Sequence[StatementEffects]) -> dict[str, set[str]]:
    """The names by whose values a change may be seen that is made by another: what one keeps the other has."""
    groups: dict[str, set[str]] = {}
    for effects in seen:
        if effects.keeps:
            group = set(effects.binds | effects.keeps)
            for name in list(group):
                group |= groups.get(name, set())
            groups.update(dict.fromkeys(group, group))
    return groups


def _extents(source: Source, body: Sequence[ast.stmt]) -> Iterator[Extent]:
    """The statements, those together that share a row."""
    nodes: list[ast.stmt] = []
    first = last = 0
    for node in body:
        begin = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
        if nodes and begin <= last:
            nodes.append(node)
            last = node.end_lineno or begin
            continue
        if nodes:
            yield _extent(source, first, last, nodes)
        nodes, first, last = [node], begin, node.end_lineno or begin
    if nodes:
        yield _extent(source, first, last, nodes)


def _extent(source: Source, first: int, last: int, nodes: list[ast.stmt]) -> Extent:
    start = source.row_starts[first - 1]
    end = source.row_starts[last] if last < len(source.row_starts) else len(source.text)
    return Extent(start, end, tuple(nodes))


_CRASHES = sys.version_info < (3, 11)
"""Whether `ast` takes what is nested as deeply as you like, and its process with it."""


_DEFINED = r"def(?<!\wdef)\s+(\w*backward)\b"  # a pattern is looked for by the letters with which it starts

_IMPORTED = r"from(?<!\wfrom)\s+torch\.autograd[\w.]*\s+import\b[^\n]*\b(Function)\b"

_BACKWARD = r"backward\b"

_GRAD = r"grad(?<!\wgrad)\s*\("

_ASKS = re.compile(r"[ \t]*\([ \t\n]*[^\s)#]")

_FAR = sys.maxsize


@record
class Outline:
    """`walks` are the offsets at which a walk is written; `bodies` tells of the functions that aren't inside of others
    where each body starts and where it ends, `types` the same of the annotations there, which are never computed. `parts`
    are the module's statements, if they were asked for."""

    backward_passes: tuple[int, ...]
    bodies: tuple[tuple[int, int], ...]
    types: tuple[tuple[int, int], ...]
    parts: tuple[Part, ...] = ()

    def aside(self) -> dict[int, int]:
        """The bodies in which no walk stands: from their starts to their ends."""
        backward_passes = sorted(self.backward_passes)
        return {
            start: end
            for start, end in self.bodies
            if bisect_left(backward_passes, start) == bisect_left(backward_passes, end)
        }


def outline(source: Source, *, parts: bool = False) -> Outline | None:
    """The outline of a text, with its `parts` if asked; None where this Python can't read it, or where its places can't be
    relied on."""
    text = source.text
    if "\f" in text or "\0" in text or (_CRASHES and too_deep(text) is not None):
        return None
    try:
        tree = tree_of(text)
        places = SyntaxTree(source, tree)
        spoken = _spoken(text) if prefilter.may_backpropagate(text.encode(errors="replace")) else ()
        rows = sorted({source.place(end - 1)[0] for end in spoken})
        backward_passes: list[int] = []
        if rows:
            own = {name for name in re.findall(_DEFINED, text) if not prefilter.only_speaks(name)} | {
                "backward",
                "manual_backward",
            }
            functions = {"torch.autograd.Function", "autograd.Function", *re.findall(_IMPORTED, text)}
            spelled = bindings.without(tree, text, list(_backward_passes(tree, rows, own, functions)))
            backward_passes = sorted({places.end(node) - 1 for node in spelled})
        outer = list(_outer(tree))
        functions_ = (each for each in outer if not isinstance(each, ast.AnnAssign))
        bodies = [body for function in functions_ if (body := _body(places, function)) is not None]
        types = [place for each in outer for type in _types(each) if (place := _type(places, type)) is not None]
        planned = plan(source, tree) if parts else ()
    except REFUSED:
        return None
    return Outline(tuple(backward_passes), tuple(bodies), tuple(types), planned)


def _spoken(text: str) -> Iterator[int]:
    """Where a walk may be spelt, by the end of one of a few words: they are found many times as fast as `walks.WALK`, and
    whatever that finds ends with one of them."""
    patterns = [_BACKWARD, _GRAD]
    others = prefilter.others()
    if any(word in text for word in others.steps + others.callers):
        patterns.append(others.spelt)
    if any(each.package in text for each in prefilter.trainers()):
        yield from (end for _, end in prefilter.trained(text))
    yield from (found.end() for pattern in patterns for found in re.finditer(pattern, text))


def _backward_passes(
    tree: ast.AST, rows: list[int], own: set[str], functions: set[str]
) -> Iterator[ast.expr | ast.stmt]:
    """The nodes in some rows that spell a walk: what is only spoken of, in a comment or a text, is none; nor is what a
    gradient function does in its own methods. `own` are the methods that may be handed on without being called,
    `functions` the spellings of `torch.autograd.Function`."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base) in functions for base in node.bases):
            continue
        for child in ast.iter_child_nodes(node):
            child = child.value if isinstance(child, ast.Attribute) and _is_asked(node, child) else child
            last = getattr(child, "end_lineno", None)
            first = min(
                getattr(child, "lineno", 0), *(each.lineno for each in getattr(child, "decorator_list", ())), _FAR
            )
            if last is None or bisect_left(rows, first) < bisect_right(rows, last):
                pending.append(child)
        if isinstance(node, ast.Attribute):
            if node.attr in own and isinstance(node.ctx, ast.Load) and not prefilter.is_of_class(last_word(node.value)):
                yield node
        elif isinstance(node, ast.Call) and _called(node.func):
            yield node.func
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name in prefilter.others().steps:
            yield node.body[-1]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            packages = {package for package, _ in stubs.overridden()}
            if node.module.partition(".")[0] in packages or any(each.name == prefilter.TRAINER for each in node.names):
                yield node


def _is_asked(node: ast.AST, part: ast.Attribute) -> bool:
    """Whether a part of a node is only asked about: what is compared, negated or looked up by isn't called for that."""
    match node:
        case ast.Compare(ops=ops):
            return all(isinstance(op, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)) for op in ops)
        case ast.Dict(keys=keys):
            return any(key is part for key in keys)
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _called(func: ast.expr) -> bool:
    """Whether a call of this is a walk: of `backward` and the like, of `autograd.grad`, or of what was imported by such a
    name."""
    name = last_word(func)
    return (
        name == "grad"
        or name.endswith(prefilter.others().callers)
        or (name.endswith("backward") and not prefilter.only_speaks(name))
    )


def _outer(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.AnnAssign]:
    """The functions of a module and of the classes in it, and what is annotated there; a class with type parameters lends
    them to its methods at once."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if getattr(node, "type_params", ()):
            continue
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.AnnAssign)):
            yield node
            continue
        pending += nested(node)


def _types(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.AnnAssign) -> Iterator[ast.expr]:
    """The annotations that are worth being put aside."""
    if isinstance(node, ast.AnnAssign):
        found = [node.annotation]
    else:
        args = node.args
        every = (*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg)
        found = [each.annotation for each in every if each is not None and each.annotation is not None]
        found += [node.returns] if node.returns is not None else []
    return (each for each in found if isinstance(each, (ast.Subscript, ast.Attribute, ast.BinOp)))


def _body(tree: SyntaxTree, function: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[int, int] | None:
    """Where the statements of a function start and end; None if they don't start a row."""
    first = function.body[0]
    start, source = tree.first(first), tree.source
    row = source.row_starts[source.place(start)[0] - 1]
    if source.text[row:start].strip(" \t"):
        return None
    end = tree.end(function.body[-1])
    return (start, end) if end - start >= limits.PARTIAL_BODY else None


def _type(tree: SyntaxTree, node: ast.expr) -> tuple[int, int] | None:
    """Where an annotation starts and ends; None for one that binds a name."""
    start, end = tree.start(node), tree.end(node)
    return None if tree.text.find(":=", start, end) >= 0 else (start, end)


def names_used(text: str) -> set[str] | None:
    """The module's names, and builtins, that the functions of a text use; None where this Python won't say.

    A `vars` that is only asked for the names of an object (`vars(obj)`) isn't among them.
    """
    found: set[str] = set()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pending = [(symtable.symtable(text, "<text>", "exec"), True)]
    except REFUSED:  # of a `global` behind a use, say
        return None
    while pending:
        table, of_module = pending.pop()
        if isinstance(table, symtable.Function):
            of_module = of_module and ".0" in table.get_parameters()  # a comprehension, which is part of the module's
            if not of_module:
                found.update(table.get_globals())
        pending += [(inner, of_module) for inner in table.get_children()]
    if "vars" in found and _only_asks_objects(text):
        found.discard("vars")
    return found


def _only_asks_objects(text: str) -> bool:
    """Whether each `vars` in a text is called with an object, and so reads no names of the code around it."""
    if not any(_ASKS.match(text, found.end()) is None for found in re.finditer(r"\bvars\b", text)):
        return True
    nodes = list(ast.walk(tree_of(text)))
    asking = {id(node.func) for node in nodes if isinstance(node, ast.Call) and (node.args or node.keywords)}
    return all(id(node) in asking for node in nodes if isinstance(node, ast.Name) and node.id == "vars")
