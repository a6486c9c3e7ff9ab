"""Where function bodies stand that can wait to be parsed, and which of the module's names they use, told by Python."""

from __future__ import annotations

import ast
import re
import symtable
import sys
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from retainlint.lowering import namesakes
from retainlint.lowering.depth import too_deep
from retainlint.lowering.plan import plan
from retainlint.parts import Part
from retainlint.records import record
from retainlint.source import Source
from retainlint.uncalled import is_of_class
from retainlint.walks import BY_OTHERS, STEPS, TRAINED, TRAINER, WALKERS, may_walk, only_speaks

SHORTEST = 20
"""Characters of a body that is worth a parse of its own."""

_CRASHES = sys.version_info < (3, 11)
"""Whether `ast` takes what is nested as deeply as you like, and its process with it."""

_REFUSED = (SyntaxError, ValueError, IndexError, RecursionError, MemoryError)
"""What this Python raises for a text that it can't read, and what comes of places in f-strings before 3.12."""

_DEFINED = r"def(?<!\wdef)\s+(\w*backward)\b"  # a pattern is looked for by the letters with which it starts
_IMPORTED = r"from(?<!\wfrom)\s+torch\.autograd[\w.]*\s+import\b[^\n]*\b(Function)\b"
_BACKWARD = r"backward\b"
_GRAD = r"grad(?<!\wgrad)\s*\("
_ASKS = re.compile(r"[ \t]*\([ \t\n]*[^\s)#]")
_FAR = sys.maxsize
_BLOCKS = ("body", "orelse", "handlers", "finalbody", "cases")


@record
class Outline:
    """`walks` are the offsets at which a walk is written; `bodies` tells of the functions that aren't inside of others
    where each body starts and where it ends, `types` the same of the annotations there, which are never computed. `parts`
    are the module's statements, if they were asked for."""

    walks: list[int]
    bodies: list[tuple[int, int]]
    types: list[tuple[int, int]]
    parts: tuple[Part, ...] = ()

    def aside(self) -> dict[int, int]:
        """The bodies in which no walk stands: from their starts to their ends."""
        walks = sorted(self.walks)
        return {start: end for start, end in self.bodies if bisect_left(walks, start) == bisect_left(walks, end)}


def outline(source: Source, *, parts: bool = False) -> Outline | None:
    """The outline of a text, with its `parts` if asked; None where this Python can't read it, or where its places can't be
    relied on."""
    text = source.text
    if "\f" in text or "\0" in text or (_CRASHES and too_deep(text) is not None):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
        places = _Places(source)
        spoken = _spoken(text) if may_walk(text.encode(errors="replace")) else ()
        rows = sorted({source.place(end - 1)[0] for end in spoken})
        walks: list[int] = []
        if rows:
            own = {name for name in re.findall(_DEFINED, text) if not only_speaks(name)} | {
                "backward",
                "manual_backward",
            }
            functions = {"torch.autograd.Function", "autograd.Function", *re.findall(_IMPORTED, text)}
            spelt = namesakes.without(tree, text, list(_walks(tree, rows, own, functions)))
            walks = sorted({places.end(node) - 1 for node in spelt})
        outer = list(_outer(tree))
        functions_ = (each for each in outer if not isinstance(each, ast.AnnAssign))
        bodies = [body for function in functions_ if (body := places.body(function)) is not None]
        types = [place for each in outer for type in _types(each) if (place := places.type(type)) is not None]
        planned = plan(source, tree) if parts else ()
    except _REFUSED:
        return None
    return Outline(walks, bodies, types, planned)


def _spoken(text: str) -> Iterator[int]:
    """Where a walk may be spelt, by the end of one of a few words: they are found many times as fast as `walks.WALK`, and
    whatever that finds ends with one of them."""
    patterns = [_BACKWARD, _GRAD]
    if any(word in text for word in STEPS + WALKERS):
        patterns.append(BY_OTHERS)
    if "transformers" in text or "skorch" in text:
        patterns.append(TRAINED)
    return (found.end() for pattern in patterns for found in re.finditer(pattern, text))


def _walks(tree: ast.AST, rows: list[int], own: set[str], functions: set[str]) -> Iterator[ast.expr | ast.stmt]:
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
            if node.attr in own and isinstance(node.ctx, ast.Load) and not is_of_class(_last(node.value)):
                yield node
        elif isinstance(node, ast.Call) and _called(node.func):
            yield node.func
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name in STEPS:
            yield node.body[-1]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            if node.module.startswith("skorch") or any(each.name == TRAINER for each in node.names):
                yield node


def _is_asked(node: ast.AST, part: ast.Attribute) -> bool:
    """Whether a part of a node is only asked about: what is compared, negated or looked up by isn't called for that."""
    match node:
        case ast.Compare(ops=ops):
            return all(isinstance(op, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)) for op in ops)
        case ast.Dict(keys=keys):
            return any(key is part for key in keys)
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _last(node: ast.expr) -> str:
    """The last word of a dotted name."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _called(func: ast.expr) -> bool:
    """Whether a call of this is a walk: of `backward` and the like, of `autograd.grad`, or of what was imported by such a
    name."""
    name = _last(func)
    return name == "grad" or name.endswith(WALKERS) or (name.endswith("backward") and not only_speaks(name))


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
        for name in _BLOCKS:
            pending += getattr(node, name, ())


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


class _Places:
    """Offsets of `ast`'s places, whose columns count bytes."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.is_ascii = source.text.isascii()

    def body(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[int, int] | None:
        """Where the statements of a function start and end; None if they don't start a row."""
        first = function.body[0]
        decorators = getattr(first, "decorator_list", None)
        head: ast.stmt | ast.expr = decorators[0] if decorators else first
        start = self._offset(head.lineno, head.col_offset)
        row = self.source.row_starts[head.lineno - 1]
        before = self.source.text[row:start]
        if before.strip(" \t") != ("@" if decorators else ""):
            return None
        start = row + len(before.rstrip("@")) if decorators else start
        end = self.end(function.body[-1])
        return (start, end) if end - start >= SHORTEST else None

    def type(self, node: ast.expr) -> tuple[int, int] | None:
        """Where an annotation starts and ends; None for one that binds a name."""
        start, end = self._offset(node.lineno, node.col_offset), self.end(node)
        return None if self.source.text.find(":=", start, end) >= 0 else (start, end)

    def end(self, node: ast.stmt | ast.expr) -> int:
        return self._offset(node.end_lineno or 0, node.end_col_offset or 0)

    def _offset(self, row: int, column: int) -> int:
        start = self.source.row_starts[row - 1]
        if self.is_ascii:
            return start + column
        return start + len(self.source.row_text(row).encode()[:column].decode())


def names_used(text: str) -> set[str] | None:
    """The module's names, and builtins, that the functions of a text use; None where this Python won't say.

    A `vars` that is only asked for the names of an object (`vars(obj)`) isn't among them.
    """
    found: set[str] = set()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pending = [(symtable.symtable(text, "<text>", "exec"), True)]
    except _REFUSED:  # of a `global` behind a use, say
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nodes = list(ast.walk(ast.parse(text)))
    asking = {id(node.func) for node in nodes if isinstance(node, ast.Call) and (node.args or node.keywords)}
    return all(id(node) in asking for node in nodes if isinstance(node, ast.Name) and node.id == "vars")
