"""RTL104: what an earlier iteration or call built is carried into the next, whose backward needs it again."""

from __future__ import annotations

import os
import re

from retainlint import diagnostic as cures
from retainlint.diagnostic import Cure, Help
from retainlint.rules import cache_hints
from retainlint.rules import source_hints as hints
from retainlint.rules.freed_rules import FreedRule, not_recorded
from retainlint.rules.loop_hints import (
    carried_over_yield,
    is_drawn_anew,
    is_gone_through_again,
    is_shuffled,
    steps_within,
    sums_anew,
)
from retainlint.rules.story import FreedStory, outer_call, shared_frames
from retainlint.rules.wording import listed
from retainlint.startup.records import replace
from retainlint.text.quoting import code, short
from retainlint.text.source import Span


class CarriedGraph(FreedRule):
    """A graph that an earlier iteration or call built is carried into the next one, whose backward pass needs it again.

    A hidden state, a running total, a list of losses, an attribute: what is kept over iterations keeps its graph. The
    backward pass of iteration 1 freed it; that of iteration 2 goes back through the kept tensor into iteration 1.

    Detach the state at the start of each iteration: `h = h.detach()`, and `state = tuple(s.detach() for s in state)`
    for an LSTM (truncated backpropagation through time). Keep totals as numbers: `total += loss.item()`. To train
    through all iterations, call backward once, after the loop. What an iteration only computes ahead for the next
    (`value = next_value`), compute there again: the weights have moved on. `retain_graph=True` is no cure: each
    iteration would go through all before it, and fail as soon as an `optimizer.step()` stands between them.
    """

    code = "RTL104"

    def fits(self, story: FreedStory) -> bool:
        return story.is_carried

    def built(self, story: FreedStory) -> str:
        return f"built in {story.again.noun} {story.again.built}" if story.again else "built here"

    def message(self, story: FreedStory) -> str:
        assert story.again is not None
        held = _names(story)
        if story.root_is_named and (not held or story.what in held or _is_total(story)):
            return f"{story.backward_pass} backpropagates again through what `{story.what}` keeps of an earlier {story.again.noun}"
        carried = held[0] if story.root_is_named and len(held) == 1 else story.carried
        name = f" through `{carried}`" if carried else ""
        return f"{story.backward_pass} reaches{name} into the graph of an earlier {story.again.noun}, which is freed"

    def helps(self, story: FreedStory) -> tuple[Help, ...]:
        assert story.again is not None
        noun, what = story.again.noun, story.carried or story.what
        root, source = story.incident.reused.root, story.incident.built.span.source
        gathering = (each.name for each in story.incident.holders if each.gathers)
        held = tuple(name for name in gathering if not root.startswith(f"{name}["))  # not by its places
        if len(held) == len(story.incident.holders) > 0 and not hints.is_list(what, source):
            what = held[0]  # lists of another object
        where = next((m.span for m in reversed(story.incident.via) if m.span.text == what), story.maker)
        if (over := _over_yield(story)) is not None:
            where, what, _ = over
        whole = cures.Detach(
            where, what, story.again.loop, holders=story.incident.holders, sought=story.incident.sought
        )
        cut: tuple[Cure, ...] = (replace(whole, share=True), whole)
        total: tuple[Cure, ...] = (cures.SumLosses((story.second,)),)
        calls = story.incident.built.frames[shared_frames(story.incident.built, story.incident.reused.moment) :]
        if written := _written(story):
            words = f"change a copy: {code(f'{written} = {written}.clone()')} before it, as the list that it comes from keeps what is written"
            return (Help(words, (cures.OutOfPlace(story.incident.built.span),)),)
        if any(map(cache_hints.is_renewed, (*calls, story.incident.built.span))):
            plain = not_recorded(story, "as it is renewed only now and then: between, it is one of weights of before")
            return (*plain, Help(_detached(story), cut))
        if plain := not_recorded(story, where=cache_hints.fills_cache):
            return (*plain, Help(_detached(story), cut))
        if cached := next(filter(None, map(cache_hints.fills_cache, (*calls, story.incident.built.span))), ""):
            return _of_a_cache(story, cached, (*calls, story.incident.built.span))
        if story.incident.trained and any(map(any, map(cache_hints.cached_under, (*calls, story.incident.built.span)))):
            anew = _of_a_cache(story, what, (*reversed(calls), story.incident.built.span))
            return (*_of_the_first(story), *anew)
        if story.incident.term and not held and not _is_averaged(story):
            return (_of_a_term(story, calls),)
        if hints.is_list(what, source) or what in held:
            return _of_a_list(story, what, held, cut)
        if _is_total(story):
            return _of_a_total(story, what, cut, total)
        if (block := hints.caching_block(story.again.loop)) and not story.again.is_call:
            words = f"`with {block}:` within each {noun}, around the forward pass alone: around the loop it keeps the weights, and their graph"
            return (Help(words),)
        if story.incident.cached or cache_hints.is_cached(story.incident.built.span):
            made = what if what.replace(".", "").isidentifier() else short(story.incident.built.span.text)
            anew = _of_a_cache(story, made, (*reversed(calls), story.incident.built.span))
            kept = Help(_detached(story), cut)
            trained = cache_hints.is_kept_for_later(story.incident.built.span) or story.incident.trained
            plain = not_recorded(story, "as no loss is to train it") if trained is False else ()
            return {None: (*anew, kept), True: anew, False: (*plain, kept)}[trained]
        if states := _of_a_sequence(story):
            words = f"let {listed([code(each) for each in states])} begin anew at the start of each {noun}"
            words += ": the sequence that it belongs to ended with the one before"
            return (Help(words, (cures.BeginAnew(story.again.loop, states),)),)
        return _of_a_state(story, what, cut, total)

    fails = {
        "a hidden state": """
              w, h = torch.randn(3, 3, requires_grad=True), torch.zeros(1, 3)
              for _ in range(3):
            +     h = h.detach()
                  h = torch.tanh(h @ w + 1)  #~ built
                  h.sum().backward()  #~ freed #~ reused RTL104
        """,
        "a value that is computed ahead": """
              net, state = torch.nn.Linear(2, 1), torch.randn(2)
              optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            - value = net(state)
              for reward in range(3):
            +     value = net(state)
                  state = torch.randn(2)
                  next_value = net(state)  #~ built
                  loss = (reward + next_value - value).pow(2).sum()
                  optimizer.zero_grad()
                  loss.backward()  #~ freed #~ reused RTL104
                  optimizer.step()
            -     value = next_value
        """,
        "a running total": """
              model, total = torch.nn.Linear(4, 1), 0
              for batch in torch.randn(3, 2, 4):
                  total = total + (model(batch) ** 2).mean()  #~ built
            -     total.backward()  #~ freed #~ reused RTL104
            + total.backward()
        """,
        "a state kept on an object": """
              class Memory:
                  cell, state = torch.nn.Linear(3, 3), torch.zeros(1, 3)
                  def step(self, x):
            -         self.state = torch.tanh(self.cell(self.state + x))  #~ built
            +         self.state = torch.tanh(self.cell(self.state.detach() + x))
                      self.state.sum().backward()  #~ freed #~ reused RTL104

              memory = Memory()
              for x in torch.randn(3, 1, 3):
                  memory.step(x)
        """,
    }
    runs = {
        "a total of losses that backward has used": """
            w, total = torch.ones(3, requires_grad=True), 0
            for _ in range(3):
                (loss := (w * w).sum()).backward()
                total = total + loss
        """,
        "a state that saves nothing": """
            w, h = torch.ones(3, requires_grad=True), torch.zeros(3)
            for _ in range(3):
                (h := h + w).sum().backward()
        """,
    }


def _of_a_total(story: FreedStory, what: str, cut: tuple[Cure, ...], total: tuple[Cure, ...]) -> tuple[Help, ...]:
    """Of a sum over the iterations, on which each of them calls backward."""
    assert story.again is not None
    built, holders = story.incident.built, _names(story)
    own = cures.BackwardAlone(story.second, (story.maker, built.span, *reversed(built.frames)))
    holder = holders[0] if len(holders) == 1 else what
    words = f"call backward on the loss of this {story.again.noun} alone, and add detached values to `{holder}`"
    alone = Help(words, (own,) if story.incident.averaged else (own, *cut))  # cut, it would train by a share
    once = f"after the {'last call' if story.again.is_call else 'loop'}"
    summed = Help(f"call backward on `{story.roots[1]}` once, {once}", total)
    if sums_anew(story.again.loop, what):
        words = f"set `{what}` back to what it is before the loop at the start of each {story.again.noun}: it is added to that of the one before"
        anew = Help(words, (cures.StartAgain(story.again.loop, what, is_sum=True),))
        alone = replace(alone, cures=(own,), needs_proof=True)
        return (anew, alone) if story.incident.stepped or steps_within(story.again.loop) else (anew, summed)
    if story.incident.stepped:
        return (alone,)
    return (alone, summed) if steps_within(story.again.loop) else (summed, alone)


def _of_a_state(story: FreedStory, what: str, cut: tuple[Cure, ...], total: tuple[Cure, ...]) -> tuple[Help, ...]:
    """Of what each iteration hands on to the next."""
    assert story.again is not None
    noun, once = story.again.noun, f"after the {'last call' if story.again.is_call else 'loop'}"
    words = f"compute `{what}` at the start of each {noun}, instead of handing it on from the one before"
    in_each = Help(words, (cures.ComputeInEach(story.again.loop),), needs_proof=True)
    ahead: tuple[Help, ...] = (in_each,) if what.isidentifier() and not story.again.is_call else ()
    words = f"begin each {noun} with what `{what}` is before the {noun}s"
    begin = Help(words, (cures.StartAgain(story.again.loop, what),), needs_proof=True)
    begun = (begin,) if what.isidentifier() and not story.again.is_call else ()
    states = tuple(_names(story))
    if states and all("." in each for each in states):
        words = f"put {listed([code(each) for each in states])} back at the start of each {noun}"
        begun = (Help(words, (cures.PutBack(states),), needs_proof=True),)
    built, now = story.incident.built, story.incident.reused.moment
    reset = _reset(story)
    if len(built.iterations) > len(now.iterations):  # an iteration is a sequence of its own
        ahead, reset = reset or ahead, ()
    if begun and states and is_shuffled(story.again.loop):
        return (*begun, *ahead, Help(_detached(story), cut))
    is_outermost = (
        now.iterations[0].loop == story.again.loop
    )  # else the next iteration around it would go through it again
    words = f"call backward once, {once}, if gradients are to flow through all {noun}s"
    through = Help(words, total, needs_proof=not is_outermost)
    if story.incident.predicted:
        words = f"keep what {code(short(story.maker.text))} is made of, in place of `{what}`, and compute it again in each {noun}"
        again = tuple(cures.KeepInput(each, what) for each in (built.span, *reversed(built.frames)))
        return (*ahead, Help(f"{words}: detached, the loss would train its target alone", again))
    if story.incident.stepped:
        return (*ahead, Help(_detached(story), cut), *reset, *begun)
    if story.incident.trained is not None:  # detached, it wouldn't be
        return (*ahead, *(begun if states else ()), through)
    return (*ahead, Help(_detached(story), cut), through)


def _written(story: FreedStory) -> str:
    """The name of the data that an iteration writes into, of a list that holds the same for all of them; "" for none."""
    span = story.incident.built.span
    text = span.text + span.source.text[span.end : span.end + 12].lstrip()[:3]  # a place, and what it is set by
    found = re.match(r"([A-Za-z_]\w*)(?:\[.*\]\s*[-+*/]?=(?!=)|\.\w+_\()", text, re.DOTALL)
    lies_in = [each.name for each in story.incident.holders if each.containers[:1] == ("list",)]
    return found[1] if found is not None and lies_in and found[1] not in lies_in else ""


CACHED_NAMED = 3
"""Attributes that are cached together are named beside each other, if they are no more than these."""


def _of_a_cache(story: FreedStory, cached: str, places: tuple[Span, ...]) -> tuple[Help, ...]:
    """Of what is kept from when it was first asked for, at one of these places; a dict of such is emptied."""
    beside = dict.fromkeys(name for each in places for name in cache_hints.filled_beside(cached, each))
    every = dict.fromkeys((cached, *beside)) if len(beside) <= CACHED_NAMED else [cached]
    words = f"compute {listed([code(short(each)) for each in every])} where {'they are' if len(every) > 1 else 'it is'} used"
    words += ", each time: what is cached keeps its graph"
    function, decorator = next(filter(any, map(cache_hints.cached_under, places)), ("", ""))
    if function:
        off = (
            f"make `{function}` a plain `@property`"
            if decorator.endswith("cached_property")
            else f"take `@{short(decorator)}` off `{function}`"
        )
        words = f"{off}: what is cached keeps its graph"
    anew = Help(words, tuple(map(cures.Uncache, places)))
    stores = _dicts(story)
    if emptied := _reset(story, late=True):
        return (*emptied, anew)
    if not stores:
        kept = tuple(each for each in _names(story) if "." in each)
        words = f"put {listed([code(each) for each in kept] or [code(cached)])} back at the start of each iteration"
        return (*([Help(words, (cures.PutBack(kept, cached=True),), needs_proof=True)] if kept else ()), anew)
    words = f"empty `{stores[0]}` after each step: what it keeps was made with the weights of before"
    return Help(words, (cures.Clear(story.second, stores[0], stores),)), anew


def _of_the_first(story: FreedStory) -> tuple[Help, ...]:
    """Of what a network made that the first of two losses has no use for, and the second trains: detached where that alone reads
    it."""
    if (astray := story.incident.astray) is None:
        return ()
    others = {frame for each in story.incident.via for frame in each.frames}
    own = [each for each in (astray.span, *reversed(astray.frames)) if each not in others]
    own = [each for each in own if all(each != moment.span for moment in story.incident.via)]
    read = [(each, names) for each in own if (names := hints.given_by_name(each.text))]
    words = "the optimiser that steps then doesn't train what made it"
    return tuple(
        Help(
            f"use {code(f'{name}.detach()')} on {story.at(span)}: {words}",
            (cures.Detach(span, name, meant=True),),
            needs_proof=True,
        )
        for span, names in read[:1]
        for name in names
    )


def _of_a_term(story: FreedStory, calls: tuple[Span, ...]) -> Help:
    """Of what an earlier iteration's loss added beside others, and a later one adds again."""
    assert story.again is not None
    noun, made = story.again.noun, code(story.incident.name or story.maker.text)
    if tables := _dicts(story):
        words = f"empty {listed([code(each) for each in tables])} at the start of each {noun}: what it still holds is from the one before"
        return Help(words, (cures.BeginAnew(story.again.loop, tables),))
    if any(map(cache_hints.is_now_and_then, (*calls, story.incident.built.span))):
        kept = listed([code(name) for name in _names(story)]) or made
        there = f"detach {kept} after the backward of the one that computes it, if it is to be trained there alone"
        return Help(f"compute {made} again in each {noun}, or {there}")
    return Help(
        f"compute {made} again in each {noun}, or leave it out of those between: detached, it would train nothing"
    )


def _is_averaged(story: FreedStory) -> bool:
    """Whether what is carried goes on as a part of its own next value, as a moving average does."""
    incident = story.incident
    if incident.total and hints.is_made_of_itself(incident.built.span):
        return True
    return story.carried != "" and any(hints.goes_into_itself(story.carried, each.span) for each in incident.via)


def _of_a_list(story: FreedStory, what: str, held: tuple[str, ...], cut: tuple[Cure, ...]) -> tuple[Help, ...]:
    """Of a list that each iteration adds to, and `held` are its names and those of lists beside it."""
    assert story.again is not None
    incident, noun = story.incident, story.again.noun
    if (own := hints.kept_in(incident.built.span) or what) and hints.is_default(own, incident.built.span):
        words = f"make {code(own)} anew in each call: the default of an argument is made once, and outlives the call"
        return (Help(words, (cures.MakeInCall(incident.built.span, own),)),)
    read = next((moment.span for moment in reversed(incident.via) if moment.span.text == what), None)
    owner = next((each.owner for each in incident.holders if each.name in held), None)
    reset = next((call for each in incident.holders if each.name in held for call in each.resets[:1]), "")
    if owner is None or not any(
        reset.rpartition(".")[0] == name.rpartition(".")[0] and hints.empties(owner, reset) for name in held
    ):
        reset = ""
    clear = Help(f"clear `{what}` after each backward", (cures.Clear(story.second, what, held, read, owner, reset),))
    is_window = any(each.containers[:1] == ("deque",) for each in incident.holders)
    if not is_window and (emptied := _reset(story)):  # what a window holds is meant for later iterations
        return (*emptied, clear)
    one_each = len(incident.built.iterations) <= len(incident.reused.moment.iterations)  # else it is of one sequence
    bounded = (
        (incident.fed and one_each and not incident.by_item)
        or is_window
        or hints.is_bounded(what, incident.built.span.source)
    )
    if bounded and incident.total:  # a moving mean
        entered = (outer_call(moment, incident.reused.moment) for moment in incident.via)
        added = tuple(dict.fromkeys(span for span in entered if span is not None))
        words = f"call backward on the loss of this {noun} alone, and add detached values to `{what}`"
        return (Help(words, (cures.BackwardAlone(story.second, added), *cut)),)
    if bounded:
        made = short(story.maker.text)
        clear = Help(f"keep in `{what}` what `{made}` is made of, and make it again in each {noun}")
    named = listed([code(each) for each in (held if what in held else (what,))])
    detached = Help(f"keep detached values in {named}", cut, needs_proof=bounded or story.root_is_named)
    is_indexed = any(re.search(r"\]\[-?\d+\]$", moment.span.text) for moment in incident.via)
    if not is_indexed and any(
        each.name == what and each.containers[:2] == ("dict", "list") for each in incident.holders
    ):
        return (detached, clear) if bounded else (clear,)  # lists by their names
    is_seen = any(each.name == what and each.containers == ("list",) and each.gathers for each in incident.holders)
    sources = {moment.span.source for moment in (incident.built, incident.reused.moment, *incident.via)}
    if any(hints.has_places(what, each) for each in sources) or not (
        is_seen or any(hints.is_list(what, each) for each in sources)
    ):
        return (detached,)  # it has places, which stay
    is_item = any(hints.is_item_of(incident.name, what, moment.span.source) for moment in incident.via)
    is_used_up = is_item or incident.name.rpartition(".")[2] in ("", what.rpartition(".")[2])
    is_used_up = is_used_up and not story.root_is_named
    if incident.stepped:
        return (clear, detached) if is_used_up or incident.term else (detached, clear)
    once = f"after the {'last call' if story.again.is_call else 'loop'}"
    return (
        detached,
        clear,
        Help(f"call backward on `{story.roots[1]}` once, {once}", (cures.SumLosses((story.second,)),)),
    )


def _reset(story: FreedStory, *, late: bool = False) -> tuple[Help, ...]:
    """What empties the object that holds such graphs, by a method that the program has for it, and calls nowhere around the loop;
    `late`, behind the step, of what is made with the weights."""
    assert story.again is not None
    calls = tuple(dict.fromkeys(call for each in story.incident.holders for call in each.resets))
    if not calls or any(hints.is_called_around(each, story.again.loop) for each in calls):
        return ()
    when = "after each step" if late else f"at the start of each {story.again.noun}"
    words = f"call {listed([code(each) for each in calls])} {when}"
    return (Help(words, (cures.CallResets(story.again.loop, calls, late),), needs_proof=True),)


def _of_a_sequence(story: FreedStory) -> tuple[str, ...]:
    """The attributes that hold what belongs to the sequence which one iteration goes through in a loop of its own: the next
    goes through the same again, or through one that has nothing to do with it."""
    assert story.again is not None
    incident, outer = story.incident, story.again.loop
    held = tuple(_names(story))
    within = [each.loop for each in incident.built.iterations if not each.is_call]
    inner = within[within.index(outer) + 1 :] if outer in within else []
    steps = {each.loop for moment in incident.via for each in moment.iterations}
    if story.again.is_call or not held or not inner or inner[0] not in steps:
        return ()
    if not all(each.detached == f"{each.name}.detach()" and "." in each.name for each in incident.holders):
        return ()
    if any(each.loop == inner[0] for each in incident.reused.moment.iterations):
        return ()  # it isn't gone through within one graph
    if is_gone_through_again(inner[0], outer):
        return held
    texts = {moment.span.source for moment in (incident.built, *incident.via)}
    is_put_back = all(any(hints.is_begun_again(name, text) for text in texts) for name in held)
    return held if is_put_back and is_drawn_anew(outer, story.maker.text) else ()


def _is_total(story: FreedStory) -> bool:
    """Backward is called on a sum over the iterations itself, not on what each computes of a state: `h.sum()`."""
    return story.incident.total or (
        story.root_is_named and hints.is_added_to(story.name, story.incident.built.span.source)
    )


def _names(story: FreedStory) -> list[str]:
    """The names by which what outlives an iteration is held."""
    return [each.name for each in story.incident.holders]


def _dicts(story: FreedStory) -> tuple[str, ...]:
    """Of these, the dicts."""
    return tuple(each.name for each in story.incident.holders if each.containers[:1] == ("dict",))


def _over_yield(story: FreedStory) -> tuple[Span, str, Span] | None:
    """Of a generator that the loop runs over: where it makes what it carries, by its name there, and the `yield` behind that."""
    built = story.incident.built
    calls = (*built.frames[shared_frames(built, story.incident.reused.moment) :], built.span)
    led = {each for moment in story.incident.via for each in (*moment.frames, moment.span)}
    calls = tuple(each for each in calls if any(each in one or one in each for one in led))
    found = ((each, carried_over_yield(each)) for each in (() if story.incident.holders else calls))
    return next(((each, *over) for each, over in found if over is not None), None)


def _detached(story: FreedStory) -> str:
    """How the carried variable loses its graph between iterations."""
    assert story.again is not None
    held = _names(story)
    noun, name = story.again.noun, story.carried if len(held) != 1 or story.carried in held else held[0]
    if (over := _over_yield(story)) is not None:
        return f"detach `{over[1]}` after the `yield` on {story.at(over[2])}"
    if not name:
        return f"detach what `{story.what}` hands on to the next {noun}"
    built, backpropagated = story.incident.built.span.source, story.second.source
    when = (
        f"at the start of each {noun}"
        if built is backpropagated
        else f"before {os.path.basename(built.name)} uses it again"
    )
    kept = next((each.containers for each in story.incident.holders if each.name == name), None)
    is_filled = kept is None and name in story.incident.aggregates
    texts = {moment.span.source for moment in (story.incident.built, *story.incident.via)}
    if kept is not None and kept[:1] in (("list",), ("deque",)):  # a method of it may put in what it is given
        is_filled = any(hints.is_list(name, each) for each in texts)
    values = "the values of " * (kept is not None and kept[:1] == ("dict",))
    return f"detach what is put into `{name}`" if is_filled else f"detach {values}`{name}` {when}"
