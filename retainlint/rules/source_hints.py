"""Reads the code around a place, to choose the words and the order of the cures; it decides no finding.

Of a text that this Python can't parse there is no hint.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, takewhile

from retainlint.incident import Moment
from retainlint.text.distribution_names import CHOICES, REALS
from retainlint.text.draws import draws_noise
from retainlint.text.loop_headers import gone_through
from retainlint.text.source import INITIALISERS, Source, Span
from retainlint.text.syntax import (
    Binding,
    SyntaxTree,
    bindings,
    bound,
    called,
    dotted,
    heads,
    is_function,
    names,
    parameters,
    syntax_of,
)

_NO_STATEMENT = ast.Pass()
NO_FUNCTION = ast.FunctionDef("", ast.arguments([], [], None, [], [], None, []), [], [])


class Place:
    """The statement in which a span begins, what that binds, and the function and all else around it. At module level the
    function has no name, no arguments and no body."""

    def __init__(self, span: Span) -> None:
        self.span, self.tree = span, syntax_of(span.source)
        self.statement = self.tree.statement_of(span) or _NO_STATEMENT
        self.bindings = [*bindings(self.statement)]
        self.around = [*self.tree.above(self.statement)]
        self.function = next(filter(is_function, self.around), NO_FUNCTION)

    @property
    def expression(self) -> ast.expr | None:
        return self.tree.expression(self.span)

    @property
    def tests(self) -> list[ast.expr]:
        """What was asked by the `if`s around, and held."""
        inside = zip(self.around, [self.statement, *self.around])
        return [up.test for up, inner in inside if isinstance(up, ast.If) and inner in up.body]


def assigned(span: Span) -> tuple[str, ...]:
    """The names that the statement binds in which `span` begins."""
    return tuple(each.name for each in Place(span).bindings if each.name)


def sole_name(span: Span) -> str:
    """The variable that is bound to just what stands at `span`; "" if more is done with it, or two are."""
    place = Place(span)
    match place.bindings:
        case [Binding(value=value, is_anew=True) as one] if value is place.expression:
            return one.name
    return ""


def carried_name(span: Span) -> str:
    """The variable that the statement of `span` makes from itself: `h` in `out, h = cell(x, h)`; "" if there is none, or if an
    item may be meant: in `x, states[n] = cell(x, states[n])`."""
    made = Place(span).bindings
    used = {name for each in made for name in names(each.value if each.is_anew else each.target)}
    return next((each.name for each in made if each.name in used), "") if all(each.name for each in made) else ""


def goes_into_itself(name: str, span: Span) -> bool:
    """Whether the statement of a span makes a variable of what it was: `mean = 0.9 * mean + 0.1 * x`."""
    return any(each.name == name and each.is_anew and name in names(each.value) for each in Place(span).bindings)


def is_made_of_itself(span: Span) -> bool:
    """Whether the statement of a span gives anything a value that is made of the one before."""
    tree, made = syntax_of(span.source), Place(span).bindings
    return any(each.is_anew and tree.reads(each.value, tree.spelling(each.target)) for each in made)


def statement(span: Span) -> str:
    """The text of `span`; where it is what an assignment changes (`h[:, 0]`), the whole assignment."""
    place, found = Place(span), Place(span).expression
    is_item = isinstance(found, ast.Subscript) and isinstance(found.ctx, ast.Store)
    around = (each for each in place.tree.above(found) if not isinstance(each, ast.Tuple))
    is_whole = is_item and next(around) is place.statement
    return place.tree.text[span.start : place.tree.end(place.statement)] if is_whole else span.text


def stands_alone(call: Span) -> bool:
    """Whether nothing is bound to what a call, or a chain of calls that begins with it, returns."""
    place = Place(call)
    match place.statement:
        case ast.Expr(ast.Await(value)) | value:
            return value is not _NO_STATEMENT and place.tree.start(value) == call.start


def gives_nothing(call: Span) -> bool:
    """Whether a call is a statement by itself: nothing is done with what it returns."""
    match (place := Place(call)).statement:
        case ast.Expr(ast.Await(value)) | ast.Expr(value):
            return value is place.expression
    return False


def is_returned_there(call: Span) -> bool:
    """Whether its statement returns it."""
    return isinstance(Place(call).statement, ast.Return)


def opens_block(call: Span) -> bool:
    """Whether a call stands in the header of a `with`."""
    return isinstance(Place(call).statement, ast.With | ast.AsyncWith)


def caching_block(loop: Span) -> str:
    """What keeps computed weights around a loop, `parametrize.cached()`; "" where nothing does."""
    place = Place(loop)
    blocks = (each for each in place.tree.above(place.statement) if isinstance(each, ast.With))
    contexts = (item.context_expr for each in blocks for item in each.items)
    return next(
        (place.tree.of(each) for each in contexts if isinstance(each, ast.Call) and called(each) == "cached"), ""
    )


def undone_behind(change: Span, call: Span, backward_pass: Span) -> Span | None:
    """What puts back, behind a backward pass in the same body, what a change made through `call` has put into weights: itself, or
    by a function that stands beside that of the change."""
    tree, made = syntax_of(backward_pass.source), Place(change)
    statement, temporary = Place(backward_pass).statement, tree.statement_of(call)
    body = tree.body(statement)
    if body is None or temporary is None or (own := tree.within(temporary, body.statements)) is None:
        return None
    made_by = [pair for node in ast.walk(made.statement) for pair in _put_into(made.tree, node)]
    back = {(to, word) for to, way in made_by for word in ("copy_", _OPPOSITE.get(way))}
    known = {called(node) for node in ast.walk(own) if isinstance(node, ast.Call)}
    for each in body.statements[body.statements.index(statement) + 1 :]:
        called_there = {called(node) for node in ast.walk(each) if isinstance(node, ast.Call)} - known
        functions = [
            node for node in made.tree.below(made.tree.tree) if is_function(node) and node.name in called_there
        ]
        places = [(tree, each), *((made.tree, function) for function in functions)]
        if not back.isdisjoint(
            pair for where, up in places for node in ast.walk(up) for pair in _put_into(where, node)
        ):
            return Span(backward_pass.source, tree.start(each), tree.end(each))
    return None


def step_behind(backward_pass: Span) -> Span | None:
    """The last step that its body takes behind a backward pass and before the next, of what zeroes gradients if any does."""
    tree, statement = syntax_of(backward_pass.source), Place(backward_pass).statement
    body = tree.body(statement)
    below = body.statements[body.statements.index(statement) + 1 :] if body is not None else []
    behind = [*chain(*map(ast.walk, takewhile(lambda each: not calls_one_of(ast.walk(each), ("backward",)), below)))]
    steps = [each for each in behind if isinstance(each, ast.Call) and called(each).endswith("step")]
    zeroed = {dotted(each.func).removesuffix(".zero_grad") for each in tree.calls if called(each) == "zero_grad"}
    known = [each for each in steps if zeroed & {dotted(each.func).rpartition(".")[0], *map(dotted, each.args)} - {""}]
    last = next(iter(known[-1:] or steps), None)
    return None if last is None else Span(backward_pass.source, tree.start(last), tree.end(last))


def is_zeroed_between(first: Span, last: Span) -> bool | None:
    """Whether gradients are zeroed between two places; None if the first doesn't stand above the last in its body."""
    tree, made, statement = syntax_of(last.source), Place(first).statement, Place(last).statement
    body = tree.body(statement)
    own = None if body is None else tree.within(made, body.statements)
    if body is None or own is None or first.start > last.start:
        return None
    return any(calls_one_of(ast.walk(each), ("zero_grad",)) for each in body.upto(own, statement))


_OPPOSITE = {"add_": "sub_", "sub_": "add_"}


def _put_into(tree: SyntaxTree, node: ast.AST) -> Iterator[tuple[str, str]]:
    """What a method changes in place, without using a gradient that was accumulated: of an item of a loop, what that goes through."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or ".grad" in tree.of(node):
        return
    if not node.func.attr.endswith("_"):
        return
    target = node.func.value
    loops = (up for up in tree.above(node) if isinstance(up, ast.For))
    listed = (over for loop in loops for each, over in gone_through(loop) if dotted(target) in names(each))
    yield tree.of(next(listed, target)), node.func.attr


def is_of_parameters(span: Span) -> bool:
    """Whether the statement of `span` goes through the parameters of a module."""
    place = Place(span)
    return calls_one_of(place.tree.own(place.statement), ("parameters", "named_parameters"))


def list_taken_from(span: Span) -> str:
    """The list of which the text of `span` takes an item or a slice: `losses` in `losses[-n:]`; "" if there is none."""
    taken = (dotted(each.value) for each in heads(Place(span).expression) if isinstance(each, ast.Subscript))
    return next((name for name in taken if name and is_list(name, span.source)), "")


def given_by_name(text: str) -> tuple[str, ...]:
    """The names that a call is given, `f(x, a.b)`; a name itself."""
    tree = syntax_of(Source("", text))
    match tree.tree.body:
        case [ast.Expr(ast.Call() as call)]:
            return tuple(tree.of(each) for each in call.args if isinstance(each, ast.Name | ast.Attribute))
        case [ast.Expr(ast.Name() | ast.Attribute())]:
            return (text,)
    return ()


def named_outside(name: str, at: Span, calls: Sequence[Span]) -> str:
    """What an argument of the function around a place is called where the outermost of these calls stands, which lead there; the
    name itself where none does, or it is none of its arguments."""
    for call in reversed(calls):
        made, taken = Place(call).expression, [each.arg for each in Place(at).function.args.args]
        if not isinstance(made, ast.Call) or any(isinstance(each, ast.Starred) for each in made.args):
            return name
        own = taken[1:] if taken[:1] in (["self"], ["cls"]) else taken
        given = dict(zip(own, made.args)) | {each.arg: each.value for each in made.keywords if each.arg in taken}
        if name not in given:
            return name
        name, at = syntax_of(call.source).of(given[name]), call
    return name


def input_of(call: str) -> str:
    """What goes into `torch.round(x)` or `x.round()`; "" of another text."""
    tree = syntax_of(Source("", call))
    match tree.tree.body:
        case [ast.Expr(ast.Call(ast.Attribute(ast.Name("torch")), [given], []))]:
            return tree.of(given)
        case [ast.Expr(ast.Call(ast.Attribute(given), [], []))]:
            return tree.of(given)
    return ""


# -- between two places ------------------------------------------------------------------------------------------


def is_named(name: str, text: str) -> bool:
    """Whether a variable stands in a text."""
    return name != "" and re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", text) is not None


def _names_in(text: str) -> set[str]:
    """The names in the text of an expression."""
    return names(syntax_of(Source("", f"({text}\n)")).tree)


def _between(first: Span, last: Span) -> list[Binding]:
    """What whole statements between two places of one text bind to a name."""
    tree = syntax_of(first.source)
    there = (each for each in tree.bindings if first.source is last.source and first.end <= tree.start(each.statement))
    return [each for each in there if each.name and tree.end(each.statement) <= last.start]


def flows_into(name: str, first: Span, last: Span) -> set[str]:
    """A variable, and those that the statements between two places of one text make of it."""
    made = {name}
    for each in _between(first, last):
        made |= {each.name} if made & names(each.value) else set()
    return made


def is_made_between(root: str, first: Span, second: Span) -> bool:
    """Whether a name in the text `root` is bound behind `first` and before `second`."""
    wanted = _names_in(root)
    return any(each.name in wanted for each in _between(first, second))


def is_used_between(given: tuple[str, ...], first: Span, second: Span) -> bool:
    """Whether a gradient bound at `first` is computed with, not only looked at, before or at `second`, or in the rest of its
    function, if that stands elsewhere; behind `second` as well, if that is itself a gradient to be trained through."""
    place, tree = Place(first), syntax_of(first.source)
    if _is_looked_at(tree, place.expression):
        return False
    last = tree.statement_of(second) if first.start < second.start else None
    end = len(tree.text) if last is None or "create_graph=True" in second.text else tree.end(last)
    reads = (node for name in given for node in tree.reads(tree.scope_around(place.statement), name))
    return any(first.end <= tree.start(node) < end and not _is_looked_at(tree, node) for node in reads)


def _is_looked_at(tree: SyntaxTree, node: ast.AST | None) -> bool:
    """Whether nothing goes on of a tensor but what has no graph: `g.norm().item()`."""
    return any(getattr(up, "attr", "") in ("sign", "detach", "data", "item") for up in tree.taken(node))


# -- the function around it --------------------------------------------------------------------------------------


def enclosing_function(span: Span) -> str:
    """The name of the function whose body holds `span`; "" at module level."""
    return Place(span).function.name


def overriding(span: Span) -> str:
    """The name of the method around a span, if it overrides that of a class of the same text; else ""."""
    place = Place(span)
    owner, name = place.tree.parents.get(place.function), place.function.name
    bases = {dotted(each) for each in owner.bases} if isinstance(owner, ast.ClassDef) else set()
    parts = (part for each in place.tree.definitions if each.name in bases for part in each.body)
    return name if any(is_function(part) and part.name == name for part in parts) else ""


def closed_over(made: Span, used: Iterable[Span]) -> tuple[str, str, Span] | None:
    """What the statement of a span binds for the function that is defined beside it, and reads it at one of the other places: by
    its name, the function's, and where that stands."""
    place = Place(made)
    for use in filter(lambda each: each.source is made.source, used):
        within = [each for each in Place(use).around if is_function(each)]
        for inner, outer in zip(within, within[1:]):
            own = bound(inner) | parameters(inner)
            taken = (each for each in assigned(made) if each not in own and place.tree.reads(inner, each))
            is_free = own.isdisjoint(name for each in place.bindings for name in names(each.value))
            if outer is place.function and is_free and (name := next(taken, "")):
                return name, inner.name, Span(made.source, place.tree.start(inner), place.tree.end(inner))
    return None


def is_called_around(call: str, loop: Span) -> bool:
    """Whether a statement of the function around a loop, or of one that calls that, is such a call: what it puts back is carried
    on in between, and on purpose."""
    place, tree = Place(loop), syntax_of(loop.source)
    own = place.tree.scope_around(place.statement)
    for node in ast.walk(tree.tree):
        if isinstance(node, ast.Expr) and tree.of(node) == call:
            scope = tree.scope_around(node)
            if scope is own or (place.function.name and calls_one_of([scope], (place.function.name,))):
                return True
    return False


def binds_there(name: str, span: Span) -> bool:
    """Whether the function that a place stands in binds a name, in its statement or below."""
    place = Place(span)
    made = place.tree.bound_in(place.tree.scope_around(place.statement))
    return any(each.name == name and place.tree.end(each.statement) > span.start for each in made)


def detached_as(name: str, span: Span) -> str:
    """The text that `name` was bound to above `span`, and nothing else below, if that ends with `.detach()`; else ""."""
    place = Place(span)
    scopes = (up for up in place.around if is_function(up) or isinstance(up, ast.Module))
    made = ([each.value for each in place.tree.bound_in(scope) if each.name == name] for scope in scopes)
    match next(filter(None, made), None):
        case [*_, ast.Call(ast.Attribute(attr="detach")) as cut] if place.tree.end(cut) <= span.start:
            return place.tree.of(cut)
    return ""


def is_given(span: Span) -> bool:
    """Whether an expression names a parameter of the function whose body it stands in."""
    given = parameters(Place(span).function.args) - {"self", "cls"}
    return not given.isdisjoint(_names_in(span.text))


def is_default(name: str, span: Span) -> bool:
    """Whether a list, dict or set of this name is the default of an argument of the function around, and so made once."""
    args = Place(span).function.args
    last = [*args.posonlyargs, *args.args][::-1]
    defaults = (*zip(last, args.defaults[::-1]), *zip(args.kwonlyargs, args.kw_defaults))
    made = [value for each, value in defaults if each.arg == name and value is not None]
    is_written = any(isinstance(each, ast.List | ast.Dict | ast.Set) for each in made)
    return is_written or calls_one_of(made, ("list", "dict", "set", "defaultdict", "deque"))


def only_changes(change: Span, name: str) -> str:
    """The function around, if it takes what has this name and returns nothing: its caller goes on with what it has changed."""
    tree, function = syntax_of(change.source), Place(change).function
    ends = (each for each in tree.below(function) if isinstance(each, ast.Return | ast.Yield | ast.YieldFrom))
    gives = (
        each.value is not None or isinstance(each, ast.Yield) for each in ends if tree.function_around(each) is function
    )
    given = parameters(function.args) - {"self", "cls"}
    return function.name if name.partition("[")[0] in given and not any(gives) else ""


def is_returned(name: str, span: Span) -> bool:
    """Whether the function around returns what has this name, and so computes with it."""
    tree, function = syntax_of(span.source), Place(span).function
    returned = (tree.parents[each] for each in tree.reads(function, name))
    return any(isinstance(each, ast.Return) and tree.function_around(each) is function for each in returned)


def is_for_effect(span: Span) -> bool:
    """Whether the function around returns nothing, and computes nothing that a backward pass goes through."""
    tree, function = syntax_of(span.source), Place(span).function
    own = [each for each in tree.below(function) if tree.function_around(each) is function]
    is_named = function.name not in ("", "forward")
    return is_named and not any(isinstance(each, ast.Return) and each.value is not None for each in own)


def backward_around(span: Span) -> bool:
    """Whether the function that `span` stands in calls backward."""
    place = Place(span)
    names = (called(each) for each in place.tree.below(place.function) if isinstance(each, ast.Call))
    return any(name == "grad" or name.endswith("backward") for name in names)


# -- the blocks around it ----------------------------------------------------------------------------------------


def unrecorded_in(moment: Moment) -> Span | None:
    """The decorator, or the header of the block, under which no graph is recorded at a moment: in the function that it
    stands in, or one of those that call it."""
    for place in map(Place, (moment.span, *reversed(moment.frames))):
        tree, source = place.tree, place.span.source
        for up in place.around:
            for each in filter(_switches, reversed(getattr(up, "decorator_list", ()))):
                return Span(source, tree.decorator(each), tree.end(each))
            if isinstance(up, ast.With) and any(_switches(item.context_expr) for item in up.items):
                end = tree.end(up.items[-1].optional_vars or up.items[-1].context_expr)
                rest = tree.text[end:].lstrip(", \t\r\n")
                return Span(source, tree.start(up), len(tree.text) - len(rest) + 1 if rest.startswith(")") else end)
    return None


def _switches(node: ast.AST) -> bool:
    """Whether it speaks of what switches gradients off."""
    words = {name.rpartition(".")[2] for name in names(node)}
    return not words.isdisjoint({"no_grad", "inference_mode", "set_grad_enabled"})


# -- a name in the whole text ------------------------------------------------------------------------------------


def calls_one_of(nodes: Iterable[ast.AST], given: tuple[str, ...]) -> bool:
    """Whether one of the nodes calls what has one of these names."""
    return any(isinstance(each, ast.Call) and called(each) in given for each in nodes)


def is_called(name: str, methods: tuple[str, ...], source: Source) -> bool:
    """Whether one of some methods is called of what has this name."""
    return any(called(call) in methods for call in syntax_of(source).calls_on(name))


def is_list(name: str, source: Source) -> bool:
    """Whether the program appends to what has this name."""
    return is_called(name, ("append", "appendleft", "extend"), source)


def is_bounded(name: str, source: Source) -> bool:
    """Whether the program makes it a `deque`, drops its oldest items, or reads the last ones alone: it isn't to be emptied."""
    tree = syntax_of(source)
    held = [*tree.alike(name)]
    items = (up for up in map(tree.parents.__getitem__, held) if isinstance(up, ast.Subscript))  # lists by their names
    for node in (*held, *items):
        match tree.parents[node], tree.parents[tree.parents[node]]:
            case (
                (ast.Attribute(attr="pop"), ast.Call(args=[ast.Constant(0)]))
                | (ast.Subscript(slice=ast.Constant(0) | ast.Slice(lower=None), ctx=ast.Del()), _)
                | (ast.Subscript(slice=ast.Slice(ast.UnaryOp(ast.USub()), None)), _)
            ):
                return True
    is_deque = calls_one_of([each.value for each in tree.bound_as(name)], ("deque",))
    return is_deque or is_called(name, ("popleft",), source)


def is_added_to(name: str, source: Source) -> bool:
    """Whether a statement makes a sum over iterations of what has this name, and nothing else of it: `total += loss`,
    `total = 0.9 * total + loss`."""
    tree = syntax_of(source)
    for each in tree.bindings:
        operator = getattr(each.value if each.is_anew else each.statement, "op", None)
        if each.name != name or not isinstance(operator, ast.Add | ast.Sub):
            continue
        reads = tree.reads(each.value, name)
        if not each.is_anew:
            return not reads
        term = [*reads, *tree.taken(reads[0])][-1] if len(reads) == 1 else None
        if each.value in takewhile(lambda up: isinstance(up, ast.BinOp), tree.above(term)):
            return True
    return False


def is_item_of(name: str, listed: str, source: Source) -> bool:
    """Whether a loop, or a comprehension, runs over a list by this name for each item."""
    tree, last = syntax_of(source), listed.rpartition(".")[2]
    loops = (each for each in tree.below(tree.tree) if isinstance(each, ast.For | ast.AsyncFor | ast.comprehension))
    items = (each for loop in loops for each in gone_through(loop))
    return any(dotted(one) == name != "" and dotted(over).rpartition(".")[2] == last for one, over in items)


def kept_in(span: Span) -> str:
    """The list that the statement of `span` adds to, `losses` in `losses.append(f(x))`, or one that another adds what this
    one binds to, or an item of it, as it is; "" if there is none."""
    tree, name, own = syntax_of(span.source), sole_name(span), Place(span).statement
    for each in (own, *(tree.parents[call] for call in tree.calls if name)):
        match each:
            case ast.Expr(ast.Call(ast.Attribute(held, method), given, keywords)) if method in _ADDS and dotted(held):
                parts = (part for item in (*given, *(word.value for word in keywords)) for part in _parts(item))
                if each is own or any(dotted(part) == name for part in parts):
                    return dotted(held)
    return ""


def has_places(name: str, source: Source) -> bool:
    """Whether the items of a list by this name are set one by one, and none is added: it is as long as it was made."""
    tree, last = syntax_of(source), name.rpartition(".")[2]

    def is_it(node: ast.AST) -> bool:
        return dotted(node).rpartition(".")[2] == last

    adds = (each.func for each in tree.calls if isinstance(each.func, ast.Attribute) and each.func.attr in _ADDS)
    sets = (
        each for each in tree.below(tree.tree) if isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Store)
    )
    return any(is_it(each.value) for each in sets) and not any(is_it(each.value) for each in adds)


_ADDS = ("append", "appendleft", "extend", "push", "add", "put")


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    """An expression, or what it only puts together, or takes an item of."""
    match node:
        case ast.Tuple(parts) | ast.List(parts) | ast.Dict(_, parts):
            for each in parts:
                yield from _parts(each)
        case ast.Subscript(value) | value:
            yield value


def empties(cls: Span, call: str) -> bool:
    """Whether the method of a class that is called so empties what the object gathers, and does nothing else."""
    made, method = Place(cls).statement, call.rpartition(".")[2].removesuffix("()")
    inside = made.body if isinstance(made, ast.ClassDef) else []
    body = next((each.body for each in inside if isinstance(each, ast.FunctionDef) and each.name == method), [])
    return body != [] and all(map(_is_emptied, body))


def _is_emptied(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(ast.Constant() | ast.Call(ast.Attribute(attr="clear"), [], [])):
            return True
        case ast.Assign(value=ast.List(elts=[]) | ast.Dict(keys=[]) | ast.Call(ast.Name("list" | "dict"), [], [])):
            return True
    return False


def is_joined(name: str, source: Source) -> bool:
    """Whether what a list holds is put together as tensors, or the list is handed to who may do so."""
    tree, last = syntax_of(source), name.rpartition(".")[2]
    joined = (
        part for call in tree.calls if called(call) in _JOINS for first in call.args[:1] for part in ast.walk(first)
    )
    returned = (each.value for each in tree.below(tree.tree) if isinstance(each, ast.Return) and each.value is not None)
    handed = (part for each in returned for part in (each.elts if isinstance(each, ast.Tuple) else [each]))
    return any(dotted(part).rpartition(".")[2] == last for part in chain(joined, handed))


_JOINS = ("stack", "cat", "concat", "concatenate", "vstack", "hstack", "dstack", "pad_sequence")


def is_begun_again(name: str, source: Source) -> bool:
    """Whether something else than what makes its object gives an attribute what it begins with: None, or zeros."""
    tree = syntax_of(source)
    begun = (tree.function_around(each.statement) for each in tree.bound_as(name) if _is_blank(each.value))
    return any(function is not None and function.name not in INITIALISERS for function in begun)


def _is_blank(value: ast.expr) -> bool:
    """None, or zeros, or several of these."""
    match value:
        case ast.Constant(None):
            return True
        case ast.Tuple(parts):
            return all(map(_is_blank, parts))
    return calls_one_of(heads(value), ("zeros",))


def is_judged(span: Span, root: str) -> bool:
    """Whether what the statement of `span` binds is itself what a loss of that name is computed of."""
    place, made = Place(span), assigned(span)
    losses = (each.value for each in place.tree.bound_as(root) if isinstance(each.value, ast.Call))
    return any(dotted(arg) in made for loss in losses for arg in loss.args)


def used_as_index(span: Span) -> tuple[bool, bool]:
    """Whether something is looked up by an index in the function that chooses it, and whether that computes a position of it."""
    place = Place(span)
    scope, waiting, known = place.tree.scope_around(place.statement), [place.expression], set[str]()
    looks_up = computes = False
    while waiting:
        node = waiting.pop()
        ups = [*takewhile(lambda up: not isinstance(up, ast.stmt | ast.Compare), place.tree.above(node))]
        if node is None or isinstance(place.tree.parents.get([node, *ups][-1]), ast.Compare):
            continue
        for inner, up in zip([node, *ups], ups):
            called_so = called(up) if isinstance(up, ast.Call) else ""
            computes |= isinstance(up, ast.BinOp) or called_so in _POSITIONS
            looks_up |= (isinstance(up, ast.Subscript) and inner is up.slice) or called_so in _LOOK_UPS
            if isinstance(up, ast.Call) and up.args == [node] and not hasattr(builtins, called_so):
                looks_up |= not dotted(up.func).startswith("torch.")  # a network, as it may be
        fresh = {each.name for each in bindings(place.tree.statement(place.tree.start(node)))} - known - {""}
        known |= fresh
        waiting += [each for name in fresh for each in place.tree.reads(scope, name)]
    return looks_up, computes


_POSITIONS = ("div", "remainder", "fmod", "floor_divide", "divmod", "unravel_index")
_LOOK_UPS = ("embedding", "index_select", "gather", "take_along_dim", "one_hot", "scatter", "scatter_")


def draws_reals(span: Span) -> bool:
    """Whether a text draws from distributions of real numbers alone, and asks for no log-probability."""
    made = {called(each) for each in syntax_of(span.source).calls}
    return not made.isdisjoint(REALS) and made.isdisjoint(CHOICES | {"log_prob"})


def is_made_of_noise(span: Span) -> bool:
    """Whether the statement of a span draws noise, or one does that binds what goes into it."""
    place = Place(span)
    makers = (each for name in names(place.statement) for each in place.tree.bindings if each.name == name)
    drawn = [each.statement for each in makers if place.tree.start(each.statement) < span.start]
    return draws_noise(place.tree, [place.statement, *drawn])
