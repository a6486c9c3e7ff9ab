"""Reads a Freed incident as a story: which iteration or call built the graph, which freed it, which needed it again."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

from retainlint.incident import Freed, Moment
from retainlint.rules.loop_hints import is_below
from retainlint.rules.source_hints import (
    Place,
    binds_there,
    carried_name,
    enclosing_function,
    flows_into,
    gives_nothing,
    is_named,
    kept_in,
    list_taken_from,
    sole_name,
)
from retainlint.rules.wording import place
from retainlint.startup.records import record
from retainlint.text import alike
from retainlint.text.quoting import code, short
from retainlint.text.source import Source, Span


@record
class Again:
    """The loop, or the method that is called again, of which one iteration spoils the graph and a later one needs it.

    `built` is the iteration that built the graph; None if it was built before.
    """

    loop: Span
    built: int | None
    spoilt: int
    needed: int
    is_call: bool

    @property
    def noun(self) -> str:
        return "call" if self.is_call else "iteration"

    @property
    def iterable(self) -> str:
        """What a `for` loop runs over, if it is simple enough to be written again; else ""."""
        header = re.match(r"(?:async\s+)?for\s+\w+\s+in\s+([\w.]+)\s*:?$", self.loop.text)
        return header[1] if header else ""

    def picks(self, root: str) -> bool:
        """Whether `root` is what the loop runs over, one after the other: `loss`, `losses[i]`."""
        is_pick = re.fullmatch(r"[\w.]+(\[[^()]*\])?", root) is not None
        return is_pick and not targets(self.loop).isdisjoint(re.findall(r"\w+", root))

    def goes_through(self, names: Iterable[str]) -> bool:
        """Whether the loop runs over what one of these names stands for, alone or beside others."""
        return any(is_named(name, self.loop.text.partition(" in ")[2]) for name in names)


@record
class FreedStory:
    """One incident, with what the rules ask of it."""

    incident: Freed

    @cached_property
    def again(self) -> Again | None:
        return again(self.incident.built, self.incident.freed.moment, self.incident.reused.moment)

    @property
    def is_carried(self) -> bool:
        """Built in an earlier iteration than the one that needs it."""
        return self.again is not None and self.again.built is not None and self.again.built < self.again.needed

    @property
    def is_of_init(self) -> bool:
        """Derived while an object was made, or at module level and used in later calls, not just handed to them."""
        if not self.incident.in_init or enclosing_function(self.incident.built.span):
            return self.incident.in_init
        return any(moment.frames for moment in self.incident.via)

    @property
    def home(self) -> Source:
        return self.incident.primary.source

    @property
    def first(self) -> Span:
        return self.incident.freed.moment.span

    @property
    def second(self) -> Span:
        return self.incident.reused.moment.span

    @property
    def first_call(self) -> Span:
        """The call through which the first is called, in the nearest common caller of both; the first itself if it stands there."""
        return outer_call(self.incident.freed.moment, self.incident.reused.moment) or self.first

    @property
    def second_call(self) -> Span:
        """The same of the second."""
        return outer_call(self.incident.reused.moment, self.incident.freed.moment) or self.second

    @property
    def is_one_place(self) -> bool:
        return self.first == self.second

    @property
    def backward_pass(self) -> str:
        """The backward pass that fails, in backticks."""
        return code(self.second.text)

    @property
    def first_backward(self) -> str:
        """The backward pass that frees, in backticks, with its line where the text alone doesn't tell it from the other."""
        text = code(self.first.text)
        return (
            text if text != self.backward_pass and self.first.source is self.home else f"{text} ({self.at(self.first)})"
        )

    @property
    def first_is_grad(self) -> bool:
        """The freeing backward pass is a call of autograd.grad."""
        return re.match(r"[\w.]*\bgrad\(", self.first.text) is not None

    @property
    def maker(self) -> Span:
        """The expression that built the graph, as it stands in the function of the backward pass or nearest to it."""
        return outer_call(self.incident.built, self.nearest) or self.incident.built.span

    @property
    def is_left_over(self) -> bool:
        """What is shared was left by an earlier call or iteration: its function makes it behind the backward pass that needs it."""
        built, reused = self.incident.built, self.incident.reused.moment
        made = outer_call(built, reused) or built.span
        is_behind = shared_frames(built, reused) == len(reused.frames) and made.start > self.second.end
        return is_behind and self.name.startswith("self.") and made.source is self.home

    @property
    def is_made_outside(self) -> bool:
        """What built the graph stands in a function that calls the one with the loop."""
        reused = self.incident.reused.moment
        loop = next((each for each in reused.iterations if self.again and each.loop == self.again.loop), None)
        return loop is not None and shared_frames(self.incident.built, reused) < loop.depth

    @property
    def nearest(self) -> Moment:
        """Of the two backward passes the one that shares more calls with what built the graph."""
        backward_passes = self.incident.reused.moment, self.incident.freed.moment
        return max(backward_passes, key=lambda backward_pass: shared_frames(self.incident.built, backward_pass))

    @cached_property
    def name(self) -> str:
        """The variable that holds what is shared: as the function of the backward pass calls it, where the machine saw it by
        another name inside a call (the argument `x` of a network), or saw none."""
        recorded, way = self.incident.name, self.incident.via
        if self.incident.in_init or recorded.startswith("self."):
            return recorded
        if recorded and not (way and outer_call(way[-1], self.incident.reused.moment)):
            return recorded
        here = sole_name(self.maker) if self.maker.source is self.home and not self.is_put_aside else ""
        if self.is_part:
            return recorded
        is_container = any(
            root.startswith(f"{here}[") for root in (self.incident.freed.root, self.incident.reused.root)
        )
        if recorded and not self._is_handed_on(here):
            return recorded
        return recorded if is_container else here or recorded

    @cached_property
    def is_put_aside(self) -> bool:
        """Whether what makes what is shared gives none of it, but a number or what nobody reads: the graph was put elsewhere, as into
        the buffer of an object."""
        here, made = sole_name(self.maker), Place(self.maker)
        is_read = any(True for _ in made.tree.reads(made.tree.scope_around(made.statement), here))
        return here.isidentifier() and (here in self.incident.numbers or not is_read)

    def _is_handed_on(self, name: str) -> bool:
        """Whether the call in which the way to the graph ends, or its root, is given what a name holds."""
        reused = self.incident.reused
        call = outer_call(self.incident.via[-1], reused.moment) if self.incident.via else None
        if call is None or call.source is not self.maker.source:
            return True
        names = flows_into(name, self.maker, self.second)
        return any(is_named(each, text) for each in names for text in (call.text, reused.root))

    @property
    def is_part(self) -> bool:
        """Whether what is shared is an attribute of what is made as a whole: `data.returns` of `data = collect(policy)`."""
        here = sole_name(self.maker) if self.maker.source is self.home else ""
        return here != "" and self.incident.name.startswith(f"{here}.")

    @property
    def what(self) -> str:
        """What is shared: the variable that holds it, else the expression that built it; without backticks."""
        return short(self.name or self.maker.text)

    @cached_property
    def carried(self) -> str:
        """What hands the graph on to the next iteration, without backticks: as the function of the backward pass calls it, if it can
        be told; else as the machine saw it; "" if neither knows."""
        built = self.incident.built.span
        if self.incident.name.startswith("self."):
            return short(self.incident.name)
        taken = (list_taken_from(each.span) for each in reversed(self.incident.via))
        if listed := next(filter(None, taken), ""):
            return short(listed)
        here = carried_name(self.maker) if self.maker != built and "." not in self.incident.name else ""
        gathering = [each.name for each in self.incident.holders if each.gathers]
        if here and len(gathering) == len(self.incident.holders) == 1:
            return short(gathering[0])
        return short(here or self.incident.name or carried_name(built) or kept_in(built))

    @property
    def renewal(self) -> str:
        """What is to be done anew, as an order: the call that makes what is shared, if nothing is bound to what it returns; else to
        compute what is shared, or what stands for it where a loop binds its name (`for x, t in ...`)."""
        name = re.escape(self.name)
        if self.maker != self.incident.built.span and gives_nothing(self.maker):
            return f"call `{short(self.maker.text)}`"
        bound = name and re.search(rf"\bfor\b[^:\n]{{0,80}}(?<![\w.]){name}\b[^:\n]{{0,80}}\bin\b", self.home.text)
        is_own = is_named("self", self.maker.text) or binds_there(self.name, self.maker)
        is_of_another = self.name.startswith("self.") and not is_own
        if bound or self._is_met_inside or is_of_another:
            return f"compute `{short(self.maker.text)}`"
        whole, dot, _ = self.name.partition(".")
        is_field = dot and whole == sole_name(self.maker)  # of what was made
        return f"compute `{whole if is_field else self.what}`"

    @property
    def second_is_grad(self) -> bool:
        """The backward pass that fails is a call of autograd.grad."""
        return re.match(r"[\w.]*\bgrad\(", self.second.text) is not None

    def cut(self, taker: str) -> str:
        """How `taker` (a loss, in backticks) is kept from going through what is shared."""
        if self.what in self.incident.aggregates:
            return f"detach what {taker} takes of `{self.what}`"
        if self.name and not self._is_met_inside:
            return f"use `{self.what}.detach()` for {taker}"
        item = self.incident.via[-1].span.text if self.incident.via else ""
        if gives_nothing(self.maker) and re.fullmatch(r"[A-Za-z_][\w.]*\[[\w.]+\]", item):
            return f"use `{item}.detach()` for {taker}"
        return f"detach what {taker} takes from `{short(self.maker.text) if self._is_met_inside else self.what}`"

    @property
    def _is_met_inside(self) -> bool:
        """Whether the name is one of a function that the backward pass's own calls, and goes through more there than what is
        shared: each layer's input, in a loop of a `forward`."""
        way = self.incident.via
        if not way or self.name != self.incident.name or not outer_call(way[-1], self.incident.reused.moment):
            return False
        return bool(way[-1].iterations[len(self.incident.reused.moment.iterations) :])

    @property
    def roots(self) -> tuple[str, str]:
        """The first and the second backward pass's roots, without backticks."""
        return short(self.incident.freed.root), short(self.incident.reused.root)

    @property
    def root_is_named(self) -> bool:
        """The name of the shared graph stands in the text of the second backward pass's root: `total`, `sum(losses)`."""
        name = self.name
        return bool(name) and re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", self.incident.reused.root) is not None

    def at(self, span: Span) -> str:
        return place(span, self.home)

    @property
    def loop(self) -> str:
        """The loop as one points at it: "this loop" if it is the backward pass's innermost, else by its line or name."""
        assert self.again is not None
        loop = self.again.loop
        if self.again.is_call:
            return f"the calls of {code(re.sub(r'^(async )?def |(?<! ) *[(:].*', '', short(loop.text, 200)))}"
        called = any(is_below(loop, frame) for frame in self.incident.reused.moment.frames)
        inside = self.second.source is loop.source and loop.start <= self.second.start and not called
        inside = inside and self.incident.reused.moment.iterations[-1].loop == loop
        return "this loop" if inside else f"the loop on {self.at(loop)}"

    @property
    def iterations(self) -> tuple[str, str]:
        """The iteration that frees and the iteration that needs; the first names its loop where the backward pass stands in several."""
        assert self.again is not None
        names_loop = self.again.is_call or self.loop != "this loop"
        of = f" of {self.loop.removeprefix('the calls of ')}" if names_loop else ""
        return f"{self.again.noun} {self.again.spoilt}{of}", f"{self.again.noun} {self.again.needed}"


def targets(loop: Span) -> frozenset[str]:
    """The names that a `for` loop binds."""
    header = re.match(r"(?:async\s+)?for\s+(\S.*?)\sin\s", loop.text, re.DOTALL)
    return frozenset(re.findall(r"\w+", header[1])) if header else frozenset()


def again(built: Moment, spoilt: Moment, needed: Moment) -> Again | None:
    """The outermost loop that the last two moments stand in, in different iterations."""
    later = {(iteration.loop, iteration.is_call): iteration.number for iteration in needed.iterations}
    before = {(iteration.loop, iteration.is_call): iteration.number for iteration in built.iterations}
    for iteration in spoilt.iterations:
        key = (iteration.loop, iteration.is_call)
        number = later.get(key, iteration.number)
        if number < iteration.number:  # the loop was entered anew
            return None
        if number > iteration.number:
            return Again(iteration.loop, before.get(key), iteration.number, number, iteration.is_call)
    return None


def outer_call(inner: Moment, of: Moment) -> Span | None:
    """The call through which `inner` happened, in the function where `of` happened or in their nearest common caller."""
    shared = shared_frames(inner, of)
    return inner.frames[shared] if shared < len(inner.frames) else None


def shared_frames(one: Moment, other: Moment) -> int:
    """How many calls, from the outermost, both happened in."""
    return alike(one.frames, other.frames)
