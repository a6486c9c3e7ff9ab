"""Reads the loops around a place, to choose the words and the order of the cures; it decides no finding."""

from __future__ import annotations

import ast
import re

from retainlint.rules.source_hints import NO_FUNCTION, Place, calls_one_of, carried_name, is_called, is_named
from retainlint.text.source import Span
from retainlint.text.syntax import LoopNode, SyntaxTree, bindings, bound, dotted, heads, is_function, names, syntax_of


def _inside(loop: Span) -> list[ast.AST]:
    """All that a loop, or a function that is called again, holds in its body."""
    header = syntax_of(loop.source).headed(loop)
    return [] if header is None else [each for part in header.body for each in ast.walk(part)]


def is_below(loop: Span, place: Span) -> bool:
    """Whether a place stands in the body of a loop."""
    return Place(place).statement in _inside(loop)


def carried_over_yield(made: Span) -> tuple[str, Span] | None:
    """The variable that the statement of a place in a generator makes from itself, and the only `yield` there, if it stands in a
    loop that is around both: what goes on between them is carried to the next one, unless a statement begins it anew."""
    tree, place, name = syntax_of(made.source), Place(made), carried_name(made)
    own = [each for each in tree.below(place.function) if tree.function_around(each) is place.function]
    match [each for each in own if isinstance(each, ast.Yield | ast.YieldFrom)]:
        case [ast.Yield() as only] if name.isidentifier() and isinstance(tree.parents[only], ast.Expr):
            loop = tree.loop_around(only)
            around = Span(made.source, tree.start(loop), tree.end(loop)) if loop is not None else made
            bound_there = [each for part in _inside(around) for each in bindings(part) if each.name == name]
            is_begun = any(name not in names(each.value if each.is_anew else each.statement) for each in bound_there)
            if place.statement in _inside(around) and not is_begun:
                return name, Span(made.source, tree.start(only), tree.end(only))
    return None


def steps_within(loop: Span) -> bool:
    """Whether an optimiser steps in the body of a loop."""
    return calls_one_of(_inside(loop), ("step",))


def sums_anew(loop: Span, name: str) -> bool:
    """Whether what each iteration adds up by a name, in several places or in a loop of its own, is begun with a number before the
    loop, and read by nobody behind it: a sum of one iteration, which isn't set back."""
    tree = syntax_of(loop.source)
    header = tree.headed(loop)
    if header is None or is_function(header):
        return False
    scope, body = tree.scope_around(header), _inside(loop)
    made = [each for each in tree.bound_in(scope) if each.name == name]
    within = [each for each in made if each.statement in body]
    outside = [each for each in made if each not in within]
    is_begun = any(tree.end(each.statement) <= loop.start for each in outside)
    is_read = any(tree.start(each) >= tree.end(header) for each in tree.reads(scope, name))
    inner = [each for part in body if isinstance(part, LoopNode) for each in ast.walk(part)]
    adds_more = len(within) > 1 or any(each.statement in inner for each in within)
    is_number = all(isinstance(each.value, ast.Constant) for each in outside)
    is_set_back = any(isinstance(each.value, ast.Constant) and each.is_anew for each in within)
    return is_begun and is_number and not is_set_back and adds_more and not is_read


def backward_within(loop: Span) -> bool:
    """Whether backward is called in the body of a loop."""
    return calls_one_of(_inside(loop), ("backward",))


def uses_gradients(loop: Span) -> bool:
    """Each iteration clears or reads gradients, and takes no step: then it wants its own by themselves."""
    uses = calls_one_of(_inside(loop), ("zero_grad",)) or any(
        getattr(each, "attr", "") == "grad" for each in _inside(loop)
    )
    return uses and not steps_within(loop)


def _header(loop: Span) -> tuple[set[str], str]:
    """The names that the header of a loop binds, and what it goes through as a whole; "" for what has no name."""
    header = syntax_of(loop.source).headed(loop)
    if not isinstance(header, ast.For | ast.AsyncFor):
        return set(), ""
    match header.iter:
        case ast.Call(ast.Name("enumerate"), [over]) | over:
            return bound(header.target), dotted(over)


def is_gone_through_again(inner: Span, outer: Span) -> bool:
    """Whether an inner loop runs over one collection as a whole in each iteration of the outer: it stands below that, and nobody
    binds or changes the collection meanwhile."""
    (_, over), (targets, _) = _header(inner), _header(outer)
    made = {*targets, *(each.name for part in _inside(outer) for each in bindings(part))}
    is_other = any(f"{over}.".startswith(f"{each}.") for each in made - {""})
    return over != "" and is_below(outer, inner) and not is_other and not is_called(over, _CHANGES, inner.source)


_CHANGES = ("append", "appendleft", "extend", "insert", "pop", "popleft", "remove", "clear", "put", "add")


def is_drawn_anew(outer: Span, given: str) -> bool:
    """Whether each iteration of a loop draws by chance what the text `given` is made of, by a call that is the same in each, or
    takes it of a loader that shuffles: it has nothing to do with that of the iteration before."""
    tree, (targets, over) = syntax_of(outer.source), _header(outer)
    if over and any(is_named(each, given) for each in targets):
        return is_shuffled(outer)
    made = [each for part in _inside(outer) for each in bindings(part)]
    changing = {*targets, *(each.name for each in made)}
    drawn = (each.value for each in made if is_named(each.name, given) and changing.isdisjoint(names(each.value)))
    return any(_draws(each, tree) for each in drawn)


def is_shuffled(loop: Span) -> bool:
    """Whether a loop runs over a loader that shuffles: a batch has nothing to do with the one before."""
    tree, (_, over) = syntax_of(loop.source), _header(loop)
    loaders = (each.value for each in tree.bound_as(over) if calls_one_of([each.value], ("DataLoader",)))
    return any(re.search(r"\bshuffle=True", tree.of(each)) for each in loaders)


def _draws(value: ast.expr, tree: SyntaxTree) -> bool:
    """Whether a function of the module, or torch's own, draws by chance, and nothing in it goes on from call to call."""
    function = next((name for each in heads(value) if isinstance(each, ast.Call) and (name := dotted(each.func))), "")
    own = next((each for each in tree.below(tree.tree) if is_function(each) and each.name == function), NO_FUNCTION)
    words, goes_on = names(own), (ast.Yield, ast.YieldFrom, ast.Global, ast.Nonlocal)
    is_same = words.isdisjoint({"next", "self"}) and not any(isinstance(each, goes_on) for each in tree.below(own))
    return function.startswith("torch.rand") or (is_same and any("rand" in each for each in words))
