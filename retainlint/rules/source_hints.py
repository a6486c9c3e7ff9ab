"""Reads the text around a place, to choose the words and the order of the cures; it decides no finding."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from retainlint.incident import Moment
from retainlint.startup.records import record
from retainlint.text.source import INITIALISERS, Source, Span, spelt

LONGEST = 400
"""Characters of a row that are read."""
_GRADIENTS = re.compile(r"zero_grad\(|\.grad\b")


def _row(source: Source, row: int) -> str:
    """What is read of a row: enough for a statement, and no more of one that was written to keep patterns busy."""
    return source.row_text(row)[:LONGEST]


@record
class _Assignment:
    """`out, h = cell(x, h)`: the names on its left, its sign, and what stands behind that in its first row."""

    names: tuple[str, ...]
    sign: str
    value: str


def _assignment(row: str) -> _Assignment | None:
    """The assignment to plain names that a row holds, if it is one. No pattern here goes back over the row."""
    left, equals, value = row.partition("=")
    if not equals or value.startswith("="):
        return None
    sign = left[-1:] + "=" if left[-1:] in tuple("-+*/@") else "="
    targets = left[: 1 - len(sign)] if len(sign) > 1 else left
    parts = [part.strip() for part in targets.strip().removeprefix("(").removesuffix(")").split(",")]
    names = tuple(part for part in parts if part)
    if not names or not all(re.fullmatch(r"[A-Za-z_][\w.]*", name) for name in names):
        return None
    return _Assignment(names, sign, value)


def assigned(span: Span) -> tuple[str, ...]:
    """The names that the statement binds in whose first row `span` begins."""
    found = _assignment(_row(span.source, span.row))
    return found.names if found else ()


def binds_there(name: str, span: Span) -> bool:
    """Whether the function that a place stands in binds a name, in its row or below."""
    header, _ = _function(span)
    rows = _below(span.source, span.row - 1, indent(_row(span.source, header)) if header else -1)
    return any(name in found.names for text in rows if (found := _assignment(text)) is not None)


def sole_name(span: Span) -> str:
    """The variable that is bound to just what stands at `span`; "" if more is done with it, or two are."""
    found = _assignment(_row(span.source, span.row))
    if found is None or found.sign != "=" or len(found.names) > 1:
        return ""
    value = found.value.partition("  #")[0].strip()
    return found.names[0] if value == span.text.split("\n")[0].strip() else ""


def carried_name(span: Span) -> str:
    """The variable that the statement of `span` makes from itself: `h` in `out, h = cell(x, h)`; "" if there is none."""
    found = _assignment(_row(span.source, span.row))
    if found is None:
        return ""
    if found.sign != "=":
        return found.names[0]
    used = re.findall(r"(?<![\w.])[A-Za-z_][\w.]*", f"{found.value} {span.text[:LONGEST]}")
    return next((name for name in found.names if name in used), "")


def is_named(name: str, text: str) -> bool:
    """Whether a variable stands in a text."""
    return name != "" and re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", text) is not None


def flows_into(name: str, first: Span, last: Span) -> set[str]:
    """A variable, and those that the rows between two places of one text make of it."""
    names = {name}
    for row in range(first.end_place[0] + 1, last.row) if first.source is last.source else ():
        found = _assignment(_row(first.source, row))
        if found is not None and any(is_named(each, found.value) for each in names):
            names |= {*found.names}
    return names


def is_list(name: str, source: Source) -> bool:
    """Whether the program appends to what has this name."""
    return re.search(rf"{spelt(name)}\.(?:append|appendleft|extend)\(", source.text) is not None


def is_item_of(name: str, listed: str, source: Source) -> bool:
    """Whether a loop, or a comprehension, runs over a list by this name for each item."""
    if not name.isidentifier():
        return False
    own = rf"(?:\w+\.)*{re.escape(listed.rpartition('.')[2])}"
    if re.search(rf"\bfor {name} in {own}(?![\w.(\[])", source.text) is not None:
        return True
    together = re.finditer(r"\bfor ([\w, ]{1,100}) in zip\(([\w., ]{1,200})\)", source.text)
    pairs = (zip(each[1].split(","), each[2].split(","), strict=False) for each in together if "," in each[1])
    return any(one.strip() == name and re.fullmatch(own, other.strip()) for each in pairs for one, other in each)


def list_taken_from(span: Span) -> str:
    """The list of which the text of `span` takes an item or a slice: `losses` in `losses[-n:]`; "" if there is none."""
    found = re.match(r"([A-Za-z_][\w.]*)\[", span.text)
    return found[1] if found is not None and is_list(found[1], span.source) else ""


def is_default(name: str, span: Span) -> bool:
    """Whether a list, dict or set of this name is the default of an argument, in the header of the function around, and so made
    once for all calls."""
    row, _ = _function(span)
    header = "".join(_row(span.source, each) for each in range(row, min(row + 12, span.row))) if row else ""
    made = r"(?:\[\]|\{\}|(?:list|dict|set|defaultdict|deque)\()"
    return re.search(rf"[(,]\s*{re.escape(name)}\s*(?::[^=,()]*)?=\s*{made}", header) is not None


def is_bounded(name: str, source: Source) -> bool:
    """Whether the program makes it a `deque`, drops its oldest items, or reads the last ones alone: it isn't to be emptied."""
    own = spelt(name)
    made = rf"{own}\b[^=\n]*= *(?:\w+\.)?deque\("
    dropped = rf"{own}\.(?:pop\(0\)|popleft\(\))|del +{own}\[(?:0\]|:)|{own} *= *{own}\[-|{own}\[-[^]:\n]{{1,40}}:\]"
    return re.search(f"{made}|{dropped}", source.text) is not None


def is_added_to(name: str, source: Source) -> bool:
    """Whether a statement makes a sum over iterations of what has this name, and nothing else of it: `total += loss`,
    `total = 0.9 * total + loss`."""
    word = re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)")
    for row in range(1, len(source.row_starts) + 1):
        found = _assignment(text) if name in (text := _row(source, row)) else None
        if found is None or name not in found.names:
            continue
        if found.sign in ("+=", "-="):
            return not word.search(found.value)
        terms = _outside_brackets(found.value)
        if found.sign == "=" and word.search(terms) and re.search(r"[+-]", terms):
            return len(word.findall(found.value)) == 1
    return False


def _outside_brackets(text: str) -> str:
    depth, kept = 0, []
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        if not depth:
            kept.append(char)
    return "".join(kept)


_ADDING = r"\.(?:append|appendleft|extend|push|add|put)\("


def kept_in(span: Span) -> str:
    """The list that the statement of `span` adds to, `losses` in `losses.append(f(x))`, or one that another adds what this
    one binds to, or an item of it, as it is; "" if there is none."""
    source, rows = span.source, [span.row]
    if name := sole_name(span):
        part = rf"[^\n]{{0,80}}?(?<![\w.]){re.escape(name)}(?:\[[^\[\]\n]{{0,80}}\])?[,)]"
        rows += [source.place(each.start())[0] for each in re.finditer(_ADDING + part, source.text)]
    lists = (re.match(rf"\s*([\w.]+){_ADDING}", _row(source, row)) for row in rows)
    return next((match[1] for match in lists if match), "")


def is_cached(span: Span) -> bool:
    """Whether what is computed at `span` is looked up first: below `if ... is None`, `if ... not in ...`."""
    return any(re.match(r"\s*(?:@.*cache|if .*\b(?:is None|not in)\b)", text) for _, text in _headers(span))


def is_joined(name: str, source: Source) -> bool:
    """Whether what a list holds is put together as tensors, or the list is handed to who may do so."""
    held = rf"(?:\w+\.)*{re.escape(name.rpartition('.')[2])}"
    joins = rf"\b(?:stack|cat|concat|concatenate|[vhd]stack|pad_sequence)\(\s*(?:\[[^][]*\bin\s+|[\w.]+\()?{held}\b"
    returned = rf"^[ \t]*return[ \t]+(?:[\w.]+,[ \t]*)*{held}[ \t]*(?:,|#|$)"
    return re.search(f"{joins}|{returned}", source.text, re.MULTILINE) is not None


def is_of_parameters(span: Span) -> bool:
    """Whether the row of `span` goes through the parameters of a module."""
    return re.search(r"\bparameters\(|\bnamed_parameters\(", _row(span.source, span.row)) is not None


def is_renewed(span: Span) -> bool:
    """Whether what is computed at `span` is kept for some time on purpose: below `if ... is None or ... >= ...`."""
    return any(re.match(r"\s*if [^#]*\bis None or [^#]*(?:[<>]|%)", text) for _, text in _headers(span))


def is_now_and_then(span: Span) -> bool:
    """Whether what is computed at `span` is so every few times alone: below `if step % 4 == 0`."""
    return any(re.match(r"\s*(?:el)?if [^#]*%", text) for _, text in _headers(span))


def fills_cache(span: Span) -> str:
    """What the statement of `span` binds, if just that is looked up before: `if key not in known: known[key] = f(key)`."""
    row = _row(span.source, span.row).strip()
    return row.partition(" = ")[0] if any(map(row.startswith, _looked_up(span))) else ""


def is_kept_for_later(span: Span) -> bool:
    """Whether a row below binds to an attribute what the statement of `span` makes, behind a question that returns it."""
    names, (header, _) = assigned(span), _function(span)
    if len(names) != 1 or not header:
        return False
    below = _below(span.source, span.end_place[0], indent(_row(span.source, header)))
    rows = (each for text in below if (each := _assignment(text)) is not None)
    kept = {each.names[0] for each in rows if each.sign == "=" and each.value.partition("#")[0].strip() == names[0]}
    return any("." in name and name in kept for name in _found_above(span.source, span.row, "return"))


def _looked_up(span: Span) -> Iterator[str]:
    """What is asked for before a row is reached: by an `if` around it, by that of its `else`, or by one above it that returns."""
    source = span.source
    for row, text in _headers(span):
        if found := re.match(r"\s*if (?:.* not in )?(\S+?)(?: is None)?:", text):
            yield found[1]
        if text.strip() == "else:":
            yield from _found_above(source, row, "")
    yield from _found_above(source, span.row, "return")


def _found_above(source: Source, row: int, then: str) -> Iterator[str]:
    """What is asked for by an `if` above a row, in the same block, behind which stands what begins so."""
    margin = indent(_row(source, row))
    for above in range(row - 1, 0, -1):
        text = _row(source, above)
        if text.strip() and indent(text) < margin:
            return
        if indent(text) != margin or not _row(source, above + 1).strip().startswith(then):
            continue
        if found := re.match(r"\s*if (?:.* in )?(\S+?)(?: is not None)?:", text):
            yield found[1]
        elif then and text.lstrip().startswith("if "):  # one of several questions
            yield from re.findall(r"(?<![\w.])([A-Za-z_][\w.]*) is not None\b", text)


def unrecorded_in(moment: Moment) -> Span | None:
    """The decorator, or the header of the block, under which no graph is recorded at a moment: in the function that it
    stands in, or one of those that call it."""
    for span in (moment.span, *reversed(moment.frames)):
        for row, text in _headers(span):
            if found := re.match(r"\s*(@.*|with .*)(?:no_grad|inference_mode|set_grad_enabled)\b[^:#]*", text):
                start = span.source.offset(row, indent(text) + 1)
                return Span(span.source, start, start + len(found[0].strip()))
    return None


def _headers(span: Span) -> Iterator[tuple[int, str]]:
    """The headers of the blocks around a row, the innermost first, and the decorators of a function among them."""
    rows, own = span.source, _row(span.source, span.row)
    margin, decorating = indent(own), own.lstrip().startswith(("def ", "class ", "async def "))
    for above in range(span.row - 1, 0, -1):
        if margin == 0 and not decorating:
            return
        text = _row(rows, above)
        start, depth = text.lstrip()[:1], indent(text)
        if start in ("", ")", "#") or depth > margin:
            continue
        decorating = depth < margin or (decorating and start == "@")
        if decorating:
            margin = depth
            yield above, text


def body(loop: Span) -> str:
    """The rows below a loop's header that are indented deeper."""
    rows = loop.source
    return "\n".join(_below(rows, loop.end_place[0], indent(_row(rows, loop.row))))


def _below(rows: Source, header: int, margin: int) -> Iterator[str]:
    for row in range(header + 1, len(rows.row_starts) + 1):
        text = _row(rows, row)
        if text.strip() and indent(text) <= margin:
            return
        yield text


def only_changes(change: Span, name: str) -> str:
    """The function around, if it takes what has this name and returns nothing: its caller goes on with what it has changed."""
    row, _ = _function(change)
    header = _row(change.source, row) if row else ""
    found = re.match(r"\s*(?:async )?def (\w+)\((.*)", header)
    if found is None or not re.search(rf"(?<![\w.]){re.escape(name.partition('[')[0])}\b", found[2]):
        return ""
    below = _below(change.source, row, indent(header))
    return "" if any(re.match(r"\s*(?:return +\S|yield\b)", text) for text in below) else found[1]


def stands_alone(call: Span) -> bool:
    """Whether nothing is bound to what a call, or a chain of calls that begins with it, returns."""
    row = call.source.row_text(call.row)
    return row.lstrip().startswith(call.text.split("\n")[0]) or row[: call.column - 1].rstrip().endswith((":", ";"))


def is_returned_there(call: Span) -> bool:
    """Whether its row returns it."""
    return call.source.row_text(call.row).lstrip().startswith("return ")


_REALS = r"\b(Normal|MultivariateNormal|LowRankMultivariateNormal|LogNormal|Laplace|Uniform|Gumbel|StudentT|Cauchy)\("


def draws_reals(span: Span) -> bool:
    """Whether a text draws from distributions of real numbers alone, and asks for no log-probability."""
    text = span.source.text
    is_discrete = re.search(
        r"\b(Categorical|Bernoulli|Binomial|Multinomial|OneHotCategorical|Poisson|Geometric)\(", text
    )
    return re.search(_REALS, text) is not None and is_discrete is None and "log_prob" not in text


def input_of(call: str) -> str:
    """What goes into `torch.round(x)` or `x.round()`; "" of another text."""
    if found := re.fullmatch(r"torch\.\w+\((.+)\)", call, re.DOTALL):
        return found[1] if "," not in found[1] else ""
    found = re.fullmatch(r"(.+)\.\w+\(\)", call, re.DOTALL)
    return found[1].removeprefix("(").removesuffix(")") if found is not None else ""


def steps_within(loop: Span) -> bool:
    """Whether an optimiser steps in the body of a loop."""
    below = _below(loop.source, loop.end_place[0], indent(_row(loop.source, loop.row)))
    return any(re.search(r"\bstep\(\)|\.step\(", text) for text in below)


def backward_around(span: Span) -> bool:
    """Whether the function that `span` stands in calls backward."""
    row, _ = _function(span)
    below = _below(span.source, row, indent(_row(span.source, row))) if row else ()
    return re.search(r"backward\(|\bgrad\(", "\n".join(below)) is not None


def is_returned(name: str, span: Span) -> bool:
    """Whether the function around returns what has this name, and so computes with it."""
    row, _ = _function(span)
    below = _below(span.source, row, indent(_row(span.source, row))) if row else ()
    return any(re.match(rf"\s*return {re.escape(name)}\s*(?:#|$)", text) for text in below)


def enclosing_function(span: Span) -> str:
    """The name of the function whose body holds `span`; "" at module level."""
    return _function(span)[1]


def is_given(span: Span) -> bool:
    """Whether an expression names a parameter of the function whose body it stands in, as far as its header is read."""
    header, (row, _) = "", _function(span)
    while row and row < span.row and not header.rstrip().endswith(":"):
        header += _row(span.source, row).partition("#")[0]
        row += 1
    named = {*re.findall(r"(?<![.\w])[^\W\d]\w*", span.text)} - {"self", "cls"}
    return not named.isdisjoint(re.findall(r"\w+", header.partition("(")[2]))


def _function(span: Span) -> tuple[int, str]:
    """Row and name of the header of the function around; 0 and "" at module level."""
    found = ((row, re.match(r"\s*(?:async\s+)?def\s+(\w+)", text)) for row, text in _headers(span))
    return next(((row, header[1]) for row, header in found if header), (0, ""))


def uses_gradients(loop: Span) -> bool:
    """Each iteration clears or reads gradients, and takes no step: then it wants its own by themselves."""
    text = body(loop)
    return _GRADIENTS.search(text) is not None and ".step(" not in text


def is_used_between(names: tuple[str, ...], first: Span, second: Span) -> bool:
    """Whether a gradient bound at `first` is computed with, not only looked at, before or at `second`, or in the rest of its
    function, if that stands elsewhere; behind `second` as well, if that is itself a gradient to be trained through."""
    source = first.source
    if source is second.source and first.row < second.row:
        rows = "\n".join(_row(source, row) for row in range(first.row + 1, second.row + 1))
    else:
        rows = "\n".join(_below(source, first.end_place[0], indent(_row(source, first.row)) - 1))
    if source is second.source and "create_graph=True" in second.text:
        rows += "\n" + "\n".join(_below(source, second.end_place[0], indent(_row(source, second.row)) - 1))
    is_looked_at = r"(?:\.\w+\([^()\n]*\))*\.(?:sign|detach|data|item)\b"
    bound_to = _row(source, first.row).partition(first.text.split("\n")[0])[2]
    if re.match(rf"(?:\[[^][\n]*\])?{is_looked_at}", bound_to):
        return False
    return any(re.search(rf"(?<![\w.]){re.escape(name)}\b(?!{is_looked_at})", rows) for name in names)


def is_made_between(root: str, first: Span, second: Span) -> bool:
    """Whether a name in the text `root` is bound in a row behind `first` and before `second`."""
    if first.source is not second.source:
        return False
    rows = (_row(first.source, row) for row in range(first.end_place[0] + 1, second.row))
    names = set(re.findall(r"[A-Za-z_][\w.]*", root))
    return any(names & set(found.names) for row in rows if (found := _assignment(row)))


def detached_as(name: str, span: Span) -> str:
    """The text that `name` was bound to above `span`, if that ends with `.detach()`; else ""."""
    bound = re.compile(rf"\s*{re.escape(name)}\s*=\s*(\S.*\.detach\(\))\s*(?:#.*)?$")
    for row in range(span.row - 1, 0, -1):
        if match := bound.match(_row(span.source, row)):
            below = _below(span.source, row, indent(_row(span.source, row)) - 1)
            found = (each for text in below if (each := _assignment(text)))
            return "" if any(name in each.names for each in found) else match[1]  # in a loop it may be another by now
    return ""


def goes_into_itself(name: str, span: Span) -> bool:
    """Whether the row of a span makes a variable of what it was: `mean = 0.9 * mean + 0.1 * x`."""
    own = re.escape(name)
    return re.match(rf"{own}\s*=[^=].*(?<![\w.]){own}(?!\w)", _row(span.source, span.row).strip()) is not None


def is_made_of_itself(span: Span) -> bool:
    """Whether the row of a span gives anything a value that is made of the one before."""
    target = re.match(r"([\w.]+(?:\[[^]\n]*\])?)\s*=(?!=)", _row(span.source, span.row).strip())
    return target is not None and goes_into_itself(target[1], span)


def opens_block(call: Span) -> bool:
    """Whether a call stands in the header of a `with`."""
    return re.match(r"\s*(async )?with\b", _row(call.source, call.row)) is not None


def statement(span: Span) -> str:
    """The text of `span`; where it is what an assignment changes (`h[:, 0]`), the whole assignment."""
    row, column = span.end_place
    rest = re.match(r"\s*[-+*/@]?=(?!=)[^#]*", _row(span.source, row)[column - 1 :])
    return span.text + (rest[0].rstrip() if rest and span.text.endswith("]") else "")


def indent(text: str) -> int:
    return len(text) - len(text.lstrip())


_OVER = re.compile(r"(?:async\s+)?for\s[^\n]{1,200}?\sin\s+(?:enumerate\()?([\w.]+)\)?\s*:?$")
_CHANGES = r"\.(?:append|appendleft|extend|insert|pop|popleft|remove|clear|put|add)\("


def is_gone_through_again(inner: Span, outer: Span) -> bool:
    """Whether an inner loop runs over one collection as a whole in each iteration of the outer: it stands below that, and nobody
    binds or changes the collection meanwhile."""
    found = _OVER.match(inner.text)
    if found is None or inner.source is not outer.source or inner.row <= outer.row:
        return False
    rows, own = body(outer), spelt(found[1])
    is_below = inner.row <= outer.end_place[0] + rows.count("\n") + 1 and indent(
        _row(inner.source, inner.row)
    ) > indent(_row(outer.source, outer.row))
    bound = any(found[1] in each.names for row in rows.split("\n") if (each := _assignment(row)) is not None)
    header = re.match(r"[^\n]{1,200}?\sin\s", outer.text)
    given = header is not None and is_named(found[1].partition(".")[0], header[0])
    return is_below and not bound and not given and re.search(own + _CHANGES, inner.source.text) is None


MOST_BEGUN = 50
"""Places of which it is asked whether an attribute is begun anew there."""


def is_begun_again(name: str, source: Source) -> bool:
    """Whether something else than what makes its object gives an attribute what it begins with: None, or zeros."""
    begun = islice(re.finditer(rf"{spelt(name)}\s?=\s?(?:None|torch\.zeros)\b", source.text), MOST_BEGUN)
    return any(enclosing_function(Span(source, each.start(), each.end())) not in ("", *INITIALISERS) for each in begun)


def is_drawn_anew(outer: Span, given: str) -> bool:
    """Whether each iteration of a loop draws by chance what the text `given` is made of, by a call that is the same in each, or
    takes it of a loader that shuffles: it has nothing to do with that of the iteration before."""
    rows = [each for row in body(outer).split("\n") if (each := _assignment(row)) is not None]
    header = re.match(r"(?:async\s+)?for\s([^\n]{1,200}?)\sin\s", outer.text)
    targets = re.findall(r"\w+", header[1]) if header else []
    if (over := _OVER.match(outer.text)) is not None and any(is_named(each, given) for each in targets):
        shuffled = rf"{spelt(over[1])}\s?=\s?[\w.]*DataLoader\([^\n]{{0,300}}shuffle=True"
        return re.search(shuffled, outer.source.text) is not None
    changing = {*targets, *(name for each in rows for name in each.names)}
    for each in rows:
        call = re.match(r"\s*([A-Za-z_][\w.]*)\(([^#]*)\)\s*$", each.value.partition("  #")[0])
        if call is None or not any(is_named(name, given) for name in each.names):
            continue
        if changing.isdisjoint(re.findall(r"[A-Za-z_]\w*", call[2])) and _draws(call[1], outer.source):
            return True
    return False


def _draws(function: str, source: Source) -> bool:
    """Whether a function of the module, or torch's own, draws by chance, and nothing in it goes on from call to call."""
    if function.startswith("torch.rand"):
        return True
    for row in range(1, len(source.row_starts) + 1):
        text = _row(source, row)
        if text.lstrip().startswith(f"def {function}("):
            own = "\n".join(_below(source, row, indent(text)))
            return "rand" in own and re.search(r"\b(?:next|yield|global|nonlocal|self)\b", own) is None
    return False
