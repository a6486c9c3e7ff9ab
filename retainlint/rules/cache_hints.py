"""What a text says of what is computed when it is first asked for, and kept: caches, and what is renewed now and then."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from retainlint.rules.source_hints import Place, assigned
from retainlint.text.source import Span
from retainlint.text.syntax import (
    bindings,
    dotted,
    heads,
    is_function,
)


def is_cached(span: Span) -> bool:
    """Whether what is computed at `span` is looked up first: below `if ... is None`, `if ... not in ...`."""
    asked = (each for test in Place(span).tests for each in ast.walk(test))
    return cached_under(span) != ("", "") or any(map(_is_missing, asked))


def cached_under(span: Span) -> tuple[str, str]:
    """The function around `span` whose results a decorator keeps, and that decorator; "" and "" if there is none."""
    place = Place(span)
    decorated = ((up, place.tree.of(each)) for up in place.around for each in getattr(up, "decorator_list", ()))
    return next(((up.name, each) for up, each in decorated if is_function(up) and "cache" in each), ("", ""))


def is_renewed(span: Span) -> bool:
    """Whether what is computed at `span` is kept for some time on purpose: below `if ... is None or ... >= ...`."""
    either = (each for each in Place(span).tests if isinstance(each, ast.BoolOp) and isinstance(each.op, ast.Or))
    either = (each for each in either if any(map(_is_missing, each.values)))
    counts = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Mod)
    return any(isinstance(part, counts) for each in either for part in ast.walk(each))


def is_now_and_then(span: Span) -> bool:
    """Whether what is computed at `span` is so every few times alone: below `if step % 4 == 0`."""
    return any(isinstance(each, ast.Mod) for test in Place(span).tests for each in ast.walk(test))


def fills_cache(span: Span) -> str:
    """What the statement of `span` binds, if just that is looked up before: `if key not in known: known[key] = f(key)`."""
    place = Place(span)
    spelling, tests = place.tree.spelling, place.tests
    ifs = ((up.test, up.test in tests) for up in place.around if isinstance(up, ast.If))
    around = (each for test, holds in ifs if not isinstance(test, ast.BoolOp) for each in _missing(test, holds))
    asked = {spelling(each) for each in (*around, *_returned_above(place))} - {""}
    filled = (each.target for each in place.bindings if each.is_anew)
    return next((place.tree.of(each) for each in filled if any(spelling(of) in asked for of in heads(each))), "")


def filled_beside(cached: str, span: Span) -> tuple[str, ...]:
    """The attributes that are bound in the same body as one of them, which is looked up before."""
    place = Place(span)
    body = place.tree.body(place.statement)
    made = [each.name for part in body.statements for each in bindings(part) if "." in each.name] if body else []
    return tuple(made) if cached in made else ()


def is_kept_for_later(span: Span) -> bool:
    """Whether a statement below binds to an attribute what that of `span` makes, behind a question that returns it."""
    place, made = Place(span), assigned(span)
    asked = {dotted(each) for each in _returned_above(place)}
    kept = (each for each in place.tree.bound_in(place.function) if "." in each.name and each.name in asked)
    below = (each for each in kept if place.tree.start(each.statement) > span.start)
    return any(made == (dotted(each.value),) for each in below)


def _returned_above(place: Place) -> Iterator[ast.expr]:
    """What an `if` above, in the same block, returns where it is there."""
    block = place.tree.body(place.statement)
    for each in block.before(place.statement) if block is not None else ():
        if isinstance(each, ast.If) and isinstance(each.body[-1], ast.Return):
            yield from _missing(each.test, False)


def _missing(test: ast.expr, holds: bool) -> Iterator[ast.expr]:
    """What may not be there yet, if a test holds, or if it doesn't."""
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, holds = test.operand, not holds
    match test:
        case ast.BoolOp(values=values):
            for each in values:
                yield from _missing(each, holds)
        case ast.Compare(asked, [op], [ast.Constant(None)]) if isinstance(op, ast.Is if holds else ast.IsNot):
            yield asked
        case ast.Compare(_, [op], [asked]) if isinstance(op, ast.NotIn if holds else ast.In):
            yield asked
        case ast.Name() | ast.Attribute() | ast.Subscript() if not holds:
            yield test


def _is_missing(test: ast.AST) -> bool:
    return isinstance(test, ast.Compare) and any(_missing(test, True))
