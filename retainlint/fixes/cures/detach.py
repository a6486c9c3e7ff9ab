"""`.detach()` where a graph is handed on: from turn to turn of a loop, at a use, or where a value is kept."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import zip_longest
from typing import TypeGuard

from retainlint.diagnostic import Detach, Diagnostic, Edit, Fix, Label
from retainlint.fixes.code import EditableCode, Uneditable
from retainlint.fixes.cures.arguments import detached_arguments
from retainlint.fixes.cures.averages import averaged
from retainlint.fixes.cures.containers import is_bound_to_list, is_container, stored, ways_to_store
from retainlint.fixes.cures.own_item import others_detached
from retainlint.fixes.cures.weights import weighed
from retainlint.fixes.edits import rewritten, telling, unsafe
from retainlint.fixes.proof import FREES, REACHED
from retainlint.fixes.statements import calls, calls_of, first, reads, writes
from retainlint.startup.records import replace
from retainlint.text.quoting import short
from retainlint.text.source import INITIALISERS, Span
from retainlint.text.syntax import FunctionNode, LoopNode, ScopeNode, bound, called, is_function, parameters


def entering(code: EditableCode, body: LoopNode | FunctionNode, name: str) -> list[ast.expr]:
    """Where the value of the turn before is read: up to the statement that binds the name anew."""
    writes = code.writes(body, name)
    binding = code.statement(code.start(writes[0])) if writes else None
    if binding is body:  # it is what the loop runs over
        return []
    end = code.end(binding) if binding is not None else len(code.text)
    return [read for read in code.reads(body, name) if code.start(read) < end]


def carried_names(code: EditableCode, body: LoopNode | FunctionNode, names: list[str]) -> list[str]:
    """Names into which any of `names` is put in the body, and which the next turn reads."""
    found = []
    for node in ast.walk(body):
        if isinstance(node, ast.Assign | ast.AugAssign) and reads(node) & set(names):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found += [code.of(each) for each in targets if isinstance(each, ast.Name | ast.Attribute)]
    return [name for name in dict.fromkeys(found) if name not in names and entering(code, body, name)]


_CLASS = re.compile(r"^[A-Z]\w*$")


_EACH = re.compile(r"\b(\w)\.detach\(\) for")
"""What detaches each item of a container, by one letter."""

ROWS = 3
"""Of the ways to write what detaches a name, those tried at each place; the others are tried at one."""


_GUARDS = {", where it isn't None": " is not None", ", where it is a tensor": "is_tensor("}
"""What is said of a statement that stands under a question."""


@dataclass
class Carried:
    """One name, and the loop or function that carries it."""

    code: EditableCode
    name: str
    body: LoopNode | FunctionNode
    backward_pass: Span
    seen: tuple[str, ...] = ()  # what detaches it and all that is carried beside it, where that was seen
    is_within: bool = False  # one iteration comes there again and again: it would be cut within one graph

    def fixes(self) -> Iterator[Fix]:
        """At the start of each turn if it has a value then, at its end, where it is kept."""
        noun = f"call of `{self.body.name}`" if is_function(self.body) else "iteration"
        yield from self._stored()
        used = entering(self.code, self.body, self.name)
        if is_function(self.body) and len(used) == 1:
            yield unsafe(f"Detach `{self.name}` where it is used", self.code.detached(used[0]))
        start, end = f"at the start of each {noun}", f"at the end of each {noun}"
        known = [row for row in self._rows if "[-1]" not in row] if self._is_known_before() else []
        if self._is_now_and_then():  # then the iterations between are one graph
            for row in self._rows_behind()[:ROWS]:
                yield from self._put(row, "after backward", self._after_backward)
        held = [f"if {self.name} is not None:\n    " + row.replace("\n", "\n    ") for row in known[:ROWS]]
        for row in (*held * self._begins_empty, *known[:ROWS]):
            yield from self._put(row, start, self._at_start)
        for row in self._rows:
            yield from self._put(row, end, self._at_end)
        for row in self._rows[:ROWS]:
            yield from self._put(row, "after backward", self._after_backward)
        for place in self._yields():
            for row in (*self._rows[:1], *self._row_with_others()):
                yield from self._put(row, "after the `yield`", partial(self.code.after, place))
        yield from self._kept()
        for row in held * (not self._begins_empty):
            yield from self._put(row, start, self._at_start)
        if noun == "iteration" and self._begins_empty:
            yield from self._put(f"{self.name} = None", start, self._at_start)
        if known and (row := _EACH.sub(r"\1 if \1 is None else \1.detach() for", known[0])) != known[0]:
            yield from self._put(row, start, self._at_start)  # some of its items may begin as None
        if known and (torch := self.code.torch):  # it may begin as a number
            yield from self._put(f"if {torch}.is_tensor({self.name}):\n    {known[0]}", start, self._at_start)

    def _yields(self) -> list[ast.stmt]:
        """Where the generator that carries it hands out what it has computed, and waits until that was used."""
        scope = self.body if is_function(self.body) else self.code.scope(self.body)
        statements = (each for each in self.code.below(scope) if isinstance(each, ast.Expr | ast.Assign))
        return [each for each in statements if isinstance(each.value, ast.Yield)] if is_function(scope) else []

    def _row_with_others(self) -> Iterator[str]:
        """What detaches it and what the same statement makes anew of itself: `c`, of `h, c = cell(x, (h, c))`."""
        for write in self.code.writes(self.body, self.name):
            statement = self.code.statement(self.code.start(write))
            names = sorted(writes(statement) & reads(statement)) if isinstance(statement, ast.Assign) else []
            if len(names) > 1:
                yield "\n".join(f"{name} = {name}.detach()" for name in names)

    @cached_property
    def _begins_empty(self) -> bool:
        """Whether an object gives its attribute of this name None."""
        own = self.name.rpartition(".")[2]
        begun = (each.value for each in self.code.bound_as(f"self.{own}"))
        return own != self.name and any(
            isinstance(part, ast.Constant) and part.value is None for each in begun for part in ast.walk(each)
        )

    def _put(self, row: str, where: str, edit: Callable[[str], Edit]) -> Iterator[Fix]:
        """A row put there, if that can be done."""
        rows = row.split("\n")
        said = "; ".join(each.strip() for each in rows if not each.endswith(":"))
        guard = next((words for words, sign in _GUARDS.items() if rows[0].endswith(":") and sign in rows[0]), "")
        with suppress(Uneditable):
            yield unsafe(f"`{said}` {where}{guard}", edit(row))

    @cached_property
    def _rows(self) -> tuple[str, ...]:
        """How a statement may detach it, as it is or as a leaf of its own, where the program asks for gradients of something. The
        run refuses what it isn't."""
        first, *others = self._plain_rows
        leaf = first.replace(".detach()", ".detach().requires_grad_()")
        is_asked = bool(calls_of([self.code.tree], "grad")) and leaf != first and ".requires_grad_" not in first
        around = next(up for up in self.code.above(self.body) if is_function(up) or isinstance(up, ast.Module))
        block = around.body if is_function(around) or isinstance(around, ast.Module) else []
        ahead = [each for each in block if not is_function(each) and self.code.end(each) < self.code.start(self.body)]
        begun = (write for each in ahead for write in self.code.writes(each, self.name))
        is_owned = any(reads(self.code.parents[each]) & self._owned for each in begun)  # and would be cut off
        return (first, *([leaf] if is_asked and not is_owned else ()), *others)

    @cached_property
    def _plain_rows(self) -> tuple[str, ...]:
        """As a tensor, a record of this text, a tuple, what is packed with it, or a list."""
        name = self.name
        if self.seen:
            return ("\n".join(self._row_for_each),)
        if is_container(self.code, name):
            is_list = is_bound_to_list(self.code, name)
            last = f"{name}[-1] = {name}[-1].detach()"
            if _is_used_up(self.code, name):
                last = f"if {name}:\n    {last}"
            return (self._begun(f"{name} = [t.detach() for t in {name}]"), last) if is_list else (last,)
        return (self._begun(f"{name} = {name}.detach()"),)

    @cached_property
    def _row_for_each(self) -> tuple[str, ...]:
        """What detaches each of what was seen."""
        return tuple(map(self._begun, self.seen))

    def _begun(self, row: str) -> str:
        """A statement that detaches something: whose gradient the program asks for begins anew as a leaf, but for what is
        made of weights that an optimiser holds."""
        name = row.partition(" = ")[0]
        scope = self.body if is_function(self.body) else self.code.scope(self.body)
        given = [each.args[1] for each in calls_of([scope], "grad") if len(each.args) > 1]
        if name not in set().union(*map(reads, given)):
            return row
        made = [
            each
            for each in self.code.writes(self.code.tree, name)
            if isinstance(self.code.parents.get(each), ast.Assign)
        ]
        trained = any(reads(self.code.parents[each]) & self._owned for each in made)
        return row if trained else row.replace(".detach()", ".detach().requires_grad_()")

    @cached_property
    def _owned(self) -> set[str]:
        """What optimisers are given, by its names."""
        optimisers = (each for each in calls([self.code.tree], _CLASS) if "optim" in self.code.of(each.func))
        return set().union(*(reads(each) for call in optimisers for each in call.args))

    def _rows_behind(self) -> tuple[str, ...]:
        """Behind a backward pass: but for what is bound anew there."""
        backward_pass = self.code.statement_of(self.backward_pass)
        block = self.code.block(backward_pass).statements if backward_pass is not None else ()
        behind = [
            each
            for each in block
            if backward_pass is not None and self.code.start(each) > self.code.start(backward_pass)
        ]
        bound = set().union(*(writes(each) - reads(each) for each in behind if isinstance(each, ast.Assign)))
        kept = [row for row in self._row_for_each if row.partition(" = ")[0] not in bound]
        return ("\n".join(kept),) if kept else self._rows

    def _is_known_before(self) -> bool:
        """Whether the name has a value when the body is entered; an attribute has one if its object is made with it."""
        if not self.name.isidentifier():
            every, own = self.code.below(self.code.tree), self.name.removeprefix("self.")
            made = any(self.code.writes(each, self.name) for each in every if getattr(each, "name", "") in INITIALISERS)
            of_class = (part for each in every if isinstance(each, ast.ClassDef) for part in each.body)
            return own == self.name or made or any(own in bound(each) for each in of_class)
        if isinstance(self.body, ast.FunctionDef | ast.AsyncFunctionDef):
            return self.name in parameters(self.body.args)
        scope, start = self.code.scope(self.body), self.code.start(self.body)
        is_bound = any(self.code.start(each) < start for each in self.code.writes(scope, self.name))
        return self.name in parameters(scope) or is_bound

    def _is_now_and_then(self) -> bool:
        """Whether not each iteration comes to the backward pass."""
        backward_pass = self.code.statement_of(self.backward_pass)
        above = list(self.code.above(backward_pass)) if backward_pass is not None else []
        if self.body not in above:
            return self._is_of_its_object(backward_pass) and any(
                isinstance(up, ast.If) and up in self.code.below(self.body)
                for call in calls_of([self.body], getattr(self.code.scope(backward_pass), "name", ""))
                for up in self.code.above(call)
            )
        return any(isinstance(each, ast.If) for each in above[: above.index(self.body)])

    def _is_of_its_object(self, backward_pass: ast.stmt | None) -> TypeGuard[ast.stmt]:
        """Whether a backward pass stands in a method beside that which carries an attribute."""
        if backward_pass is None or not self.name.startswith("self.") or not is_function(self.body):
            return False
        scope = self.code.scope(backward_pass)
        return is_function(scope) and self.code.parents[scope] is self.code.parents[self.body]

    def _at_start(self, row: str) -> Edit:
        return self.code.before(first(self.body.body), row)

    def _at_end(self, row: str) -> Edit:
        last = self.body.body[-1]
        if isinstance(last, ast.Return) and last.value is not None and self.code.reads(last, self.name):
            return self._before_result(last, last.value, row)
        if isinstance(last, ast.Return | ast.Continue | ast.Break | ast.Raise):
            return self.code.before(last, row)
        return self.code.after(last, row)

    def _before_result(self, last: ast.Return, value: ast.expr, row: str) -> Edit:
        """What is returned is computed of what is still to have its graph."""
        name = next((each for each in ("result", "returned") if not self.code.holds(each)), None)
        if name is None or value.lineno != last.lineno:
            raise Uneditable("there is no name for the result")
        put, text = self.code.before(last, row), self.code.text
        computed = f"{self.code.indent(last)}{name} = {text[self.code.start(value) : self.code.end(value)]}\n"
        return Edit(put.start, self.code.end(last), f"{computed}{put.text}{self.code.indent(last)}return {name}")

    def _after_backward(self, row: str) -> Edit:
        backward_pass = self.code.statement_of(self.backward_pass)
        if self._is_of_its_object(backward_pass):
            return self.code.after(backward_pass, row)
        if backward_pass is None or self.body not in self.code.above(backward_pass):
            raise Uneditable("the walk is elsewhere")
        return self.code.after(backward_pass, row)

    def _stored(self) -> Iterator[Fix]:
        """What a list, and each that was seen beside it, is given, detached as it is put there: whole, or one part of it."""
        names = dict.fromkeys((self.name, *(each.partition(" = ")[0] for each in self.seen)))
        rows = {each.partition(" = ")[0]: each for each in self.seen}
        given = [
            ways_to_store(self.code, rows.get(name, ""), *each)
            for name in names
            for each in stored(self.code, self.body, name)
        ]
        for number in range(max(map(len, given), default=0)):
            with suppress(Uneditable):
                yield self._as_given([each[min(number, len(each) - 1)] for each in given if each])

    def _as_given(self, ways: list[tuple[Edit, ...]]) -> Fix:
        rows = []
        for edits in ways:
            first = edits[0]
            statement = self.code.statement(first.start - (first.start == first.end))  # what is put behind may end it
            start, end = self.code.rows(statement) if statement is not None else (edits[0].start, edits[-1].end)
            rows.append(" ".join(rewritten(self.code.text[start:end], start, edits).split()))
        return unsafe(f"Store it detached: `{'`, `'.join(rows)}`", *(edit for edits in ways for edit in edits))

    def _kept(self) -> Iterator[Fix]:
        """Each statement that binds the name, with what it binds detached."""
        for write in self.code.writes(self.body, self.name):
            statement = self.code.statement(self.code.start(write))
            if isinstance(statement, ast.Assign) and statement.targets == [write]:
                value = statement.value
                parts = value.elts if isinstance(value, ast.Tuple) else [value]
                yield unsafe(f"Keep a detached `{self.name}`", *(self.code.detached(part) for part in parts))


MOST_USES = 12
"""Uses of one name that are tried."""


def detach(code: EditableCode, cure: Detach, diagnostic: Diagnostic) -> Iterator[Fix]:
    for fix in _detachings(code, cure, diagnostic):
        yield replace(fix, cuts=cure.meant)


def _detachings(code: EditableCode, cure: Detach, diagnostic: Diagnostic) -> Iterator[Fix]:
    names = _names(code, cure, diagnostic)
    if cure.made:
        yield from _where_made(code, cure, diagnostic)
    if cure.share:
        yield from _shares(code, cure)
        return
    if cure.iteration is None:
        yield from _leaves_of_their_own(code)
    if cure.iteration is not None:
        yield from _own_places(code, [cure.name, *(each.name for each in cure.holders)])
        yield from detached_arguments(code, names, diagnostic)
    lasting = tuple(each for each in cure.holders if not _is_used_up(code, each.name))
    told = tuple(each for each in lasting if each.name.rpartition(".")[2] == cure.name.rpartition(".")[2])
    ways = [
        _held(code, replace(cure, holders=holders), diagnostic)
        for holders in dict.fromkeys((told, lasting, cure.holders))
    ]
    for fixes in zip_longest(*ways):  # what else holds such a graph need not hand it on
        yield from filter(None, fixes)
    if cure.iteration is not None:
        carried = _over_iterations(code, cure, diagnostic, names)
        own = {name for name, _ in carried} & {cure.name, f"self.{cure.name.rpartition('.')[2]}"}
        yield from _reached(code, cure.name, diagnostic) if not own else ()
        for name, body in carried:
            there = _seen_from(code, body, name)
            if code.class_around(body) is not None or not there.startswith("self."):
                yield from _made(Carried(code, there, body, diagnostic.primary.span).fixes())
    for name in names:
        yield from _made(_uses(code, name, cure, diagnostic, _twins(code, names)))
    yield from _made(_derived(code, cure, names))
    for label in diagnostic.labels:
        if not label.primary and (found := code.expression(label.span)):
            yield unsafe(f"Detach `{short(code.of(found))}`", code.detached(found))
    if cure.meant and cure.iteration is None:
        yield from others_detached(code, diagnostic)


def _held(code: EditableCode, cure: Detach, diagnostic: Diagnostic) -> Iterator[Fix]:
    """What detaches all that was seen to hold the graph."""
    holding = [*_seen(code, cure, diagnostic)] if cure.holders else []
    for each in sorted(holding, key=lambda each: each.is_within or not any(stored(code, each.body, each.name))):
        yield from _made(each.fixes())


def _where_made(code: EditableCode, cure: Detach, diagnostic: Diagnostic) -> Iterator[Fix]:
    """What binds the name at the place where it is made, or, if a called function makes it, in that of the backward pass."""
    spans = [span for span in (cure.span, diagnostic.primary.span) if span.source is code.source]
    found = [code.statement_of(span) for span in spans]
    around = [code.scope(each) for each in found[-1:] if each is not None]
    found += [code.statement(code.start(each)) for scope in around for each in code.writes(scope, cure.name)]
    for made in found:
        if isinstance(made, ast.Assign) and cure.name in map(code.of, made.targets):
            yield unsafe(f"Detach `{cure.name}` where it is made", code.detached(made.value))


def _own_places(code: EditableCode, names: list[str]) -> Iterator[Fix]:
    """`plans[i] = step(x, plans[i])`: what stood in the same place, detached where the next is computed of it."""
    for each in code.below(code.tree):
        match each:
            case ast.Assign([ast.Subscript() as target], value) if code.of(target.value) in names:
                if read := [node for node in code.reads(value, code.of(target)) if node is not value]:
                    words = f"Detach `{code.of(target)}` where the next is computed of it"
                    yield telling(words, *map(code.detached, read))


def _shares(code: EditableCode, cure: Detach) -> Iterator[Fix]:
    """What goes into running averages, detached there."""
    if not cure.sought:
        yield from _averaged_together(code, [f"self.{each.name.rpartition('.')[2]}" for each in cure.holders])
    held = [cure.name, *(each.name for each in cure.holders)]
    for name in dict.fromkeys((*held, *(f"self.{each.rpartition('.')[2]}" for each in held))):
        if not cure.sought:
            yield from averaged(code, name)
        yield from weighed(code, name)


def _averaged_together(code: EditableCode, names: list[str]) -> Iterator[Fix]:
    """What goes into several averages that are carried beside each other, each detached there."""
    found = [(name, fix) for name in names if (fix := next(averaged(code, name), None)) is not None]
    if len(found) > 1:
        (_, first), *others = found
        also = " and ".join(f"`{name}`" for name, _ in others)
        edits = [edit for _, fix in found for edit in fix.edits]
        yield replace(first, message=f"{first.message}, and so for {also}", edits=tuple(edits), tells=True)


def _leaves_of_their_own(code: EditableCode) -> Iterator[Fix]:
    """Who keeps the gradient of what it is given can begin a graph of its own there."""
    for call in calls_of([code.tree], "retain_grad"):
        statement, kept = code.parents[call], call.func
        if isinstance(statement, ast.Expr) and isinstance(kept, ast.Attribute) and isinstance(kept.value, ast.Name):
            row = f"{kept.value.id} = {kept.value.id}.detach().requires_grad_()"
            message = f"`{row}` in place of `{code.of(statement)}`"
            yield telling(message, code.replaced(statement, row))


def _is_used_up(code: EditableCode, name: str) -> bool:
    """Whether a list that things are put into is emptied at times: what it holds until then is to be trained."""
    own = f"self.{name.rpartition('.')[2]}"
    return any(is_container(code, each) and code.is_emptied(each) for each in (name, own))


def _seen(code: EditableCode, cure: Detach, diagnostic: Diagnostic) -> Iterator[Carried]:
    """What the machine saw that an iteration hands on: by its names in the loop, and, before that if it belongs to another
    object, by those that this one's methods have for it; but not where a generator that the loop runs over calls these."""
    loop = code.headed(cure.iteration) if cure.iteration is not None else None
    rows = {each.name: each.row for each in cure.holders}
    own = {name: row for name, row in rows.items() if loop is not None and _outlives(code, loop, name)}
    here = [Carried(code, next(iter(own)), loop, diagnostic.primary.span, tuple(own.values()))] if own and loop else []
    is_asking = any(label.text and label.span == cure.iteration for label in diagnostic.labels)
    if is_asking or not any("." in name.removeprefix("self.") for name in own):
        yield from here
    if is_asking and here:
        return
    owners: dict[str, list[str]] = {}
    late: list[Carried] = []
    for name in rows:
        owners.setdefault(name.rpartition(".")[0], []).append(name)
    for owner, names in owners.items():
        if owner == "":
            yield from _rebound(code, {name: rows[name] for name in names}, diagnostic)
        if owner == "" or (owner == "self" and loop is not None):  # of a comprehension a method does all
            continue
        parts = owner.split(".")
        for prefix in (".".join(parts[:end]) for end in range(len(parts), 0, -1)):
            theirs = {f"self{name.removeprefix(prefix)}": rows[name].replace(f"{prefix}.", "self.") for name in names}
            bodies = [
                body
                for body in code.below(code.tree)
                if isinstance(body, ast.FunctionDef)
                and (body.name == "__call__" or not body.name.startswith("__"))
                and any(code.reads(body, name) for name in theirs)
            ]
            # where it is only read, what is kept would go on to grow
            for body in sorted(bodies, key=lambda body: not any(code.writes(body, name) for name in theirs)):
                found = Carried(code, next(iter(theirs)), body, diagnostic.primary.span, tuple(theirs.values()))
                if _is_called_in_loop(code, body) or (loop is not None and _is_called_within(code, loop, owner, body)):
                    found.is_within = True
                    late.append(found)
                else:
                    yield found
    if any("." in name.removeprefix("self.") for name in own):
        yield from here
    yield from late


def _rebound(code: EditableCode, rows: Mapping[str, str], diagnostic: Diagnostic) -> Iterator[Carried]:
    """What functions carry on that say so of a name of the function around them, by `nonlocal`."""
    for body in code.below(code.tree):
        if isinstance(body, ast.FunctionDef):
            said = {name for each in body.body if isinstance(each, ast.Nonlocal) for name in each.names}
            for name in rows.keys() & said:
                if code.reads(body, name):
                    yield Carried(code, name, body, diagnostic.primary.span, (rows[name],))


def _is_called_in_loop(code: EditableCode, method: ast.FunctionDef) -> bool:
    """Whether a method of the same class calls it in a loop of its own."""
    own = code.class_around(method)
    made = calls_of([own], method.name) if own is not None else ()
    return any(isinstance(up, LoopNode) for call in made for up in code.above(call) if up in code.below(own or method))


def _is_called_within(code: EditableCode, loop: LoopNode | FunctionNode, owner: str, method: ast.FunctionDef) -> bool:
    """Whether a loop within an iteration calls a method of what that calls `owner`."""
    named = {f"{owner}.{method.name}", *([owner] if method.name in ("forward", "__call__") else ())}
    made = [each for each in code.below(loop) if isinstance(each, ast.Call) and code.of(each.func) in named]
    inner = set(code.below(loop)) - {loop}
    return any(isinstance(up, LoopNode) and up in inner for each in made for up in code.above(each))


def _outlives(code: EditableCode, body: LoopNode | FunctionNode, name: str) -> bool:
    """Whether what a name holds at the end of an iteration is there in the next."""
    root = name.partition(".")[0]
    if is_function(body):
        return root == "self"
    return bool(entering(code, body, root) if code.writes(body, root) else code.reads(body, root)) or "." in name


def _made(fixes: Iterator[Fix]) -> Iterator[Fix]:
    """The fixes that can be made."""
    with suppress(Uneditable):
        yield from fixes


def _names(code: EditableCode, cure: Detach, diagnostic: Diagnostic) -> list[str]:
    """What the cure names, then what the statements that build the graph bind."""
    names = [cure.name] if code.holds(cure.name) else []
    for span in [cure.span, *(label.span for label in diagnostic.labels if not label.primary)]:
        built = code.statement_of(span)
        if isinstance(built, ast.Assign):
            bound = (each for target in built.targets for each in ast.walk(target))
            names += [
                code.of(e) for e in bound if isinstance(e, ast.Name | ast.Attribute) and isinstance(e.ctx, ast.Store)
            ]
    return list(dict.fromkeys(names))


def _places(code: EditableCode, cure: Detach, diagnostic: Diagnostic) -> list[Span]:
    spans = (cure.span, *(label.span for label in diagnostic.labels))
    return [span for span in dict.fromkeys(spans) if span.source is code.source]


def _over_iterations(
    code: EditableCode, cure: Detach, diagnostic: Diagnostic, names: list[str]
) -> list[tuple[str, LoopNode | FunctionNode]]:
    """Each name with what is run anew in each turn and carries it; first the names that a turn reads before it binds
    them, and of others those into which they are put."""
    found = []
    bodies: list[LoopNode | FunctionNode] = []
    loop = code.headed(cure.iteration) if cure.iteration is not None else None
    if loop is not None:
        bodies.append(loop)
    for span in _places(code, cure, diagnostic):
        statement = code.statement(span.start)
        scope = code.scope(statement) if statement is not None else None
        if scope is not None and is_function(scope) and (loop is None or scope not in code.above(loop)):
            assert isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef)
            bodies.append(scope)
    for body in dict.fromkeys(bodies):
        for name in [*names, *carried_names(code, body, names)]:
            if (code.writes(body, name) or is_container(code, name)) and (name, body) not in found:
                found.append((name, body))
    return sorted(found, key=lambda each: not entering(code, each[1], each[0]))


def _seen_from(code: EditableCode, body: LoopNode | FunctionNode, name: str) -> str:
    """An attribute of `self` as it is called where that is another object, which has made the one that holds it:
    `self.bank.keys`."""
    classes = [node for node in code.below(code.tree) if isinstance(node, ast.ClassDef)]
    makers = [each for each in classes if name.startswith("self.") and code.writes(each, name)]
    own = code.class_around(body)
    if not makers or own in makers or (own is not None and own.bases):
        return name
    made = {each.name for each in makers}
    for around in (own, code.tree) if own is not None else (code.scope(body), code.tree):
        for node in code.below(around):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and len(node.targets) == 1:
                target, maker = node.targets[0], node.value.func
                is_local = isinstance(target, ast.Name) or (own is not None and around is own)
                if isinstance(maker, ast.Name) and maker.id in made and is_local:
                    return f"{ast.unparse(target)}{name.removeprefix('self')}"
    return name


def _twins(code: EditableCode, names: list[str]) -> set[str]:
    """The names that are bound to what the same function returns: `real, fake = G(x), G(y)`, `b = G(z)`."""
    made: dict[str, set[str]] = {}
    for node in code.below(code.tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            bound = {ast.unparse(each) for each in node.targets if isinstance(each, ast.Name | ast.Attribute)}
            made.setdefault(ast.unparse(node.value.func), set()).update(bound)
    return set().union(*(bound for bound in made.values() if bound & set(names)))


def _uses(code: EditableCode, name: str, cure: Detach, diagnostic: Diagnostic, twins: set[str]) -> Iterator[Fix]:
    """Each read of a name detached, those nearest above the place of the cure first, alone and with its twins in the
    statement; then all of them above it."""
    scopes = list[ScopeNode]()
    for span in _places(code, cure, diagnostic):
        with suppress(Uneditable):
            if (place := code.statement(span.start)) is not None and (scope := code.scope(place)) not in scopes:
                scopes.append(scope)
    message = f"Detach `{name}` where it is used"
    if cure.span == diagnostic.primary.span:
        yield from _reached(code, name, diagnostic)
    for scope in scopes:
        reads = [_item(code, read) for read in code.reads(scope, name) if _is_value(code, read)]
        above = [read for read in reads if code.start(read) < cure.span.end][::-1]
        below = [read for read in reads if code.start(read) >= cure.span.end]
        behind = [read for read in above if any(_is_behind(code, read, label) for label in diagnostic.labels)]
        if 0 < len(behind) <= MOST_USES and cure.span == diagnostic.primary.span:
            yield unsafe(message, *(code.detached(read) for read in behind))
        if 1 < len(above) <= MOST_USES and cure.meant:  # then the other losses aren't to train it either
            yield unsafe(message, *(code.detached(read) for read in above))
        for read in (*above, *below)[:MOST_USES]:
            yield unsafe(message, code.detached(read))
            statement = code.statement(code.start(read))
            together = [each for twin in sorted(twins) for each in code.reads(statement, twin)] if statement else []
            if len(together) > 1 and read in together:
                named = "`, `".join(dict.fromkeys(map(code.of, together)))
                yield unsafe(f"Detach `{named}` where they are used", *map(code.detached, together))
        if 1 < len(above) <= MOST_USES:
            yield unsafe(message, *(code.detached(read) for read in above))


def _reached(code: EditableCode, name: str, diagnostic: Diagnostic) -> Iterator[Fix]:
    """The read of a name by which the backward pass that fails has come to the graph, detached."""
    for label in diagnostic.labels:
        if label.text.startswith(REACHED) and label.span.text == name:
            if (read := code.expression(label.span)) is not None and _is_value(code, read):
                yield unsafe(f"Detach `{name}` where it is used", code.detached(read))


def _item(code: EditableCode, read: ast.expr) -> ast.expr:
    """What is read of a list, or a dict, that the text makes; else the read itself."""
    up = next(iter(code.above(read)), None)
    if not (isinstance(up, ast.Subscript) and up.value is read) or isinstance(up.slice, ast.Slice):
        return read
    made = (
        node.value
        for node in code.below(code.tree)
        if isinstance(node, ast.Assign) and code.of(read) in map(code.of, node.targets)
    )
    return up if any(isinstance(each, ast.ListComp | ast.List | ast.DictComp | ast.Dict) for each in made) else read


def _is_behind(code: EditableCode, read: ast.expr, label: Label) -> bool:
    """Whether it stands behind the backward pass that frees the graph."""
    return label.text == FREES and label.span.source is code.source and code.start(read) > label.span.end


def _derived(code: EditableCode, cure: Detach, names: list[str]) -> Iterator[Fix]:
    """What the function of a backward pass makes of these names, detached where it is made."""
    backward_pass = code.statement_of(cure.span)
    if backward_pass is None:
        return
    for node in ast.walk(code.scope(backward_pass)):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and reads(node) & set(names):
            if isinstance(node.targets[0], ast.Name | ast.Attribute) and code.start(node) < cure.span.start:
                name = code.of(node.targets[0])
                yield telling(f"Detach `{name}` where it is made", code.detached(node.value))


def _is_value(code: EditableCode, read: ast.expr) -> bool:
    """Whether it is read for itself, and not to call one of its methods, be walked or tell its shape."""
    up = code.parents[read]
    if not isinstance(up, ast.Attribute):
        return not (isinstance(up, ast.Call) and up.args == [read] and called(up) == "len")
    is_owner = isinstance(code.parents[up], ast.Call)
    return up.attr not in _FACTS and not (is_owner and up.attr in ("backward", "detach", "append", "item", *_ASKED))


_FACTS = ("shape", "dtype", "device", "ndim", "requires_grad", "is_leaf")
_ASKED = ("size", "dim", "numel", "stride", "is_floating_point")
"""What a tensor tells of itself, by name or when it is asked: none of it has a graph."""
