"""What a statement binds, reads and may change when it is run, told by Python's own tree: too much rather than too little."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from retainlint.lowering.bindings import (
    BLOCKS,
    KNOWN,
    Kinds,
    asks_for_main,
    asks_for_types,
    bound_by,
    given_back,
    nested,
    origins,
    stored,
    way_to,
)
from retainlint.program import ASKING, Origin, Use


@dataclass
class StatementEffects:
    """What was seen so far."""

    binds: set[str] = field(default_factory=set)
    reads: set[str] = field(default_factory=set)
    changes: set[str] = field(default_factory=set)
    keeps: set[str] = field(default_factory=set)  # names whose values may be kept by what is bound
    calls: set[str] = field(default_factory=set)  # the module's functions and classes that may be called
    drops: set[str] = field(default_factory=set)  # those that are called, and nobody has what they give
    derives: set[str] = field(default_factory=set)  # the classes that one is derived from
    imports: dict[Origin, None] = field(default_factory=dict)
    uses: dict[Use, None] = field(default_factory=dict)
    outside: bool = False  # whether something of another module may be changed
    sees: bool = False  # whether names may be read and bound that aren't spelt
    stars: bool = False

    def add(self, called: StatementEffects) -> None:
        """Add what a function does that is called."""
        self.changes |= called.changes
        self.uses.update((use, None) for use in called.uses if use.alone or use.registers or use.decorates)
        self.outside |= called.outside
        self.sees |= called.sees


_MILD = frozenset("""isinstance issubclass len print str int float bool repr type callable id hash tuple list dict set frozenset
    sorted min max sum any all range enumerate zip getattr hasattr property staticmethod classmethod super""".split())  # fmt: skip
"""Builtins that change nothing that they are given."""

_CHANGING = frozenset(("setattr", "delattr"))

_SEEING = frozenset(("globals", "locals", "vars", "exec", "eval"))


READ, KEPT, GIVEN, CALLED, CHANGED = range(5)
"""How a name is used: looked at, kept by something, given to a call, called, changed."""


def look(nodes: Iterable[ast.AST], kinds: Kinds) -> StatementEffects:
    """What statements of a module do."""
    looker = _Looker(kinds, frozenset())
    for node in nodes:
        looker.statement(node)
    return looker.effects


def look_into(node: ast.AST, kinds: Kinds, dropped: bool = False) -> StatementEffects:
    """What the body of a function does that is called, or of all methods of a class. What it gives may be called too, if
    that isn't `dropped`."""
    own, declared = set[str](), set[str]()
    inner = Kinds(kinds.own, dict(kinds.imported))
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            own.add(each.id)
        elif isinstance(each, ast.arg):
            own.add(each.arg)
        elif isinstance(each, ast.Global):
            declared.update(each.names)
        elif isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and each is not node:
            own.add(each.name)
        elif isinstance(each, (ast.Import, ast.ImportFrom)):
            inner.imported.update(dict(bound_by(each)))
    looker = _Looker(inner, frozenset(own - declared - (inner.imported.keys() - kinds.imported.keys())), inside=True)
    looker.asleep = frozenset() if isinstance(node, ast.ClassDef) or not dropped else frozenset(given_back(node))
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.stmt):
            looker.statement(part)
        elif isinstance(part, ast.expr):
            looker.expression(part, READ)
    looker.effects.changes |= looker.effects.keeps | declared
    return looker.effects


class _Looker:
    def __init__(self, kinds: Kinds, local: frozenset[str], inside: bool = False) -> None:
        self.kinds, self.local, self.inside = kinds, local, inside
        self.effects = StatementEffects()
        self.in_class = 0
        self.for_types = self.decorates = False
        self.asleep: frozenset[str] = frozenset()  # functions that nobody calls

    # -- statements -----------------------------------------------------------------------------------------------

    def statement(self, node: ast.AST) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.function(node)
            case ast.ClassDef():
                self.class_(node)
            case ast.Import() | ast.ImportFrom():
                self.import_(node)
            case ast.Expr(value=value):
                self.expression(value, READ, alone=True)
            case ast.If(test=test) if asks_for_main(test):
                for each in node.orelse:
                    self.statement(each)
            case ast.If(test=test):
                before, self.for_types = self.for_types, self.for_types or asks_for_types(test)
                self.expression(test, READ)
                if asks_for_types(test) and not any(isinstance(each, ast.ImportFrom) for each in node.orelse):
                    for each in node.body:
                        self.statement(each)
                else:
                    self.within(node)
                self.for_types = before
            case _:
                self.plain(node)

    def plain(self, node: ast.AST) -> None:
        """Assignments, loops and the like: what they are given is kept by what they bind, or given to what they do."""
        use = GIVEN if isinstance(node, (ast.For, ast.AsyncFor, ast.With, ast.AsyncWith, ast.Match)) else KEPT
        for name, value in ast.iter_fields(node):
            if name in BLOCKS or name in ("handlers", "cases", "annotation", "type_comment"):
                continue
            for part in value if isinstance(value, list) else (value,):
                if isinstance(part, ast.withitem):
                    self.expression(part.context_expr, GIVEN)
                    if part.optional_vars is not None:
                        self.expression(part.optional_vars, READ)
                elif isinstance(part, ast.expr):
                    test = name in ("test", "type", "exc", "cause", "msg")
                    self.expression(part, READ if test else use)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self.name(node.target.id, CHANGED)
        if not self.inside and not self.in_class:
            self.effects.binds.update(stored(node))
        self.within(node)

    def within(self, node: ast.AST) -> None:
        for each in nested(node):
            if isinstance(each, ast.match_case):
                for part in (each.pattern, each.guard):
                    for inner in ast.walk(part) if part is not None else ():
                        if isinstance(inner, ast.expr):
                            self.expression(inner, READ)
                if not self.in_class and not self.inside:
                    self.effects.binds.update(stored(each))
                self.within(each)
            else:
                self.statement(each)

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.decorators(node)
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.expression(default, KEPT)
        if self.inside:
            for each in node.body if node.name not in self.asleep else ():
                self.statement(each)
        elif not self.in_class:
            self.effects.binds.add(node.name)

    def class_(self, node: ast.ClassDef) -> None:
        self.decorators(node)
        for each in (*node.bases, *(keyword.value for keyword in node.keywords)):
            self.expression(each, KEPT)
        self.effects.derives.update(each.id for each in node.bases if isinstance(each, ast.Name))
        if any(keyword.arg != "metaclass" for keyword in node.keywords):  # an `__init_subclass__` takes them
            for root, way in map(way_to, node.bases):
                if root is not None and root in self.kinds.imported and root not in self.local:
                    self.use(root, way, alone=True)
        if not self.in_class and not self.inside:
            self.effects.binds.add(node.name)
        self.in_class += 1
        for statement in node.body:
            self.statement(statement)
        self.in_class -= 1

    def decorators(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        for each in node.decorator_list:
            self.decorates = True
            self.expression(each, CALLED)
            self.decorates = False
            for given in each.args if isinstance(each, ast.Call) else ():
                self.change(*way_to(given))  # a table that what is defined here is entered in

    def import_(self, node: ast.Import | ast.ImportFrom) -> None:
        if not self.for_types:
            self.effects.imports.update(dict.fromkeys(origins(node)))
        if not self.inside and not self.in_class:
            self.effects.binds.update(name for name, _ in bound_by(node))
        self.effects.stars |= any(alias.name == "*" for alias in node.names)

    # -- expressions ----------------------------------------------------------------------------------------------

    def expression(self, node: ast.expr, use: int, *, alone: bool = False) -> None:
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                self.name(name, use)
            case ast.Attribute(value=value, attr=attribute):
                self.attribute(node, value, attribute, use)
            case ast.Subscript(value=value, slice=index):
                stored = not isinstance(node.ctx, ast.Load)
                self.expression(value, CHANGED if stored else GIVEN if use == CALLED else use)
                self.expression(index, READ)
            case ast.Call():
                self.call(node, use, alone)
            case ast.NamedExpr(target=target, value=value):
                if not self.inside and not self.in_class:
                    self.effects.binds.add(target.id)
                self.expression(value, KEPT)
            case ast.Lambda(body=body):
                self.expression(body, READ)
            case ast.Compare() | ast.BinOp() | ast.UnaryOp() | ast.JoinedStr():
                self.children(node, READ)
            case _:
                self.children(node, GIVEN if use == CALLED else max(use, KEPT))

    def children(self, node: ast.AST, use: int) -> None:
        for each in ast.iter_child_nodes(node):
            if isinstance(each, ast.expr):
                self.expression(each, use)
            elif isinstance(each, ast.comprehension):
                self.expression(each.iter, use)
                for condition in each.ifs:
                    self.expression(condition, READ)

    def attribute(self, node: ast.Attribute, value: ast.expr, name: str, use: int) -> None:
        if not isinstance(node.ctx, ast.Load):
            if not self.change(*way_to(node)):
                self.expression(value, CHANGED)
            return
        if use == CHANGED and self.change(*way_to(node)):
            return
        if use == CALLED:
            root, way = way_to(node)
            if root is not None and root in self.kinds.imported and root not in self.local:
                self.use(root, way, alone=False)
                return
            use = READ if name in ASKING else CHANGED
        self.expression(value, use)

    def call(self, node: ast.Call, use: int, alone: bool) -> None:
        func = node.func
        root, way = way_to(func)
        given = GIVEN
        if isinstance(func, ast.Name) and func.id in _MILD and func.id not in self.kinds.own:
            given = max(use, KEPT) if use != CALLED else KEPT
        elif isinstance(func, ast.Name) and func.id in _CHANGING:
            given = CHANGED
        elif root is not None and root not in self.local and self.is_known(root):
            given = GIVEN if alone and self.is_torch(root) else KEPT
        if root is not None and root in self.kinds.imported and root not in self.local:
            self.use(root, way, alone)
        elif (
            alone and isinstance(func, ast.Name) and self.kinds.own.get(func.id) == "def" and func.id not in self.local
        ):
            self.effects.reads.add(func.id)
            self.effects.drops.add(func.id)
        else:
            before, self.decorates = self.decorates, self.decorates or isinstance(func, ast.Call)
            self.expression(func, CALLED)
            self.decorates = before
        for each in (*node.args, *(keyword.value for keyword in node.keywords)):
            if isinstance(each, ast.Starred):
                each = each.value
            if alone:
                self.change(*way_to(each))
            self.expression(each, given)
            if given == CHANGED:
                given = READ  # `setattr(thing, name, value)`

    # -- names ----------------------------------------------------------------------------------------------------

    def is_known(self, root: str) -> bool:
        origin = self.kinds.imported.get(root)
        return origin is not None and not origin.level and origin.module.partition(".")[0] in KNOWN

    def is_torch(self, root: str) -> bool:
        return self.kinds.imported[root].module.partition(".")[0] == "torch"

    def change(self, root: str | None, way: tuple[str, ...]) -> bool:
        """Note what may be changed, if it is something of another module of the project; whether it is."""
        if root is None or root not in self.kinds.imported or root in self.local or self.is_known(root):
            return False
        self.effects.reads.add(root)
        self.effects.uses[Use(self.kinds.imported[root], way, alone=True, called=False)] = None
        return True

    def use(self, root: str, way: tuple[str, ...], alone: bool) -> None:
        self.effects.reads.add(root)
        origin = self.kinds.imported[root]
        if not self.is_known(root):
            self.effects.uses[Use(origin, way, alone, decorates=self.decorates)] = None
        elif alone and (origin.name, *way)[-1].endswith("set_grad_enabled"):
            self.effects.outside = True

    def name(self, name: str, use: int) -> None:
        if name in self.local:
            return
        effects, kind = self.effects, self.kinds.own.get(name)
        if kind is None and name in _SEEING and name not in self.kinds.imported:
            effects.sees = True
        effects.reads.add(name)
        if use == CALLED and name in self.kinds.imported:
            self.use(name, (), alone=False)
        if kind in ("def", "class") and use == CALLED:
            effects.calls.add(name)
        if use == CHANGED:
            self.change(name, ())
        if (
            (kind == "data" and use >= GIVEN)
            or (kind == "class" and use in (GIVEN, CHANGED))
            or (kind == "def" and use == CHANGED)
        ):
            effects.changes.add(name)
        elif kind == "data" and use == KEPT:
            effects.keeps.add(name)
