"""What RTL203 and RTL204 have in common: graphs that outlive their iteration, graded by what stays alive with them."""

from __future__ import annotations

import re
from functools import partial

from retainlint.diagnostic import AsNumber, Detach, Diagnostic, Help, Label
from retainlint.incident import Kept
from retainlint.rules.source_hints import carried_name, is_given, is_joined
from retainlint.rules.warning_rule import WarningRule, loop_at, name_of
from retainlint.rules.wording import place
from retainlint.startup.records import replace
from retainlint.text.quoting import code, short


class KeptRule(WarningRule[Kept]):
    """A rule for graphs that are kept from iteration to iteration; `stored`: in a container, not in a total."""

    kind = Kept
    stored: bool

    def holds(self, incident: Kept) -> bool:
        return incident.stored == self.stored

    def report(self, incident: Kept) -> Diagnostic:
        return self.warning(
            incident,
            self._message(incident),
            "keeps the graph of each iteration" if incident.alive else "keeps the nodes of each iteration's graph",
            *self._helps(incident),
            *_unrecorded(incident),
            *self._labels(incident),
            notes=(_grade(incident),),
        )

    def _message(self, incident: Kept) -> str:
        what = f"{code(incident.item.text)} is {'put into' if self.stored else 'added to'} {code(incident.holder)}"
        if incident.inside and not self.stored:
            what = f"{code(incident.kept.span.text)} adds a tensor to {_total(incident)}"
        elif _is_helper(incident):
            what = f"{code(incident.primary.text)} puts a tensor into {code(incident.holder)}"
        if not incident.alive:
            until = f"stay until {_until(incident)}" if incident.reset else "are never let go"
            return f"{what} with its graph in each iteration: its nodes {until}"
        if incident.bare:
            return f"{what} with its graph in each iteration, and no backward pass ever frees it"
        until = f"until {_until(incident)}" if incident.reset else f"as long as {code(incident.holder)} holds it"
        if _is_retained(incident):
            return f"{what} with its graph in each iteration, and what the graphs saved is retained: all of it stays alive {until}"
        why = "no backward pass ever frees it: all that it saved stays alive"
        return f"{what} with its graph in each iteration, and {why} {until}"

    def _labels(self, incident: Kept) -> tuple[Label, ...]:
        labels = [Label(incident.loop, "")]
        if incident.kept.span != incident.primary:
            labels.append(Label(incident.kept.span, "kept here"))
        if incident.backward_pass is not None and not incident.alive:
            labels.append(Label(incident.backward_pass.moment.span, "frees what the graph saved, not the graph"))
        return tuple(labels)

    def _helps(self, incident: Kept) -> tuple[Help, ...]:
        text, item = incident.item.text, _spelt(incident.item.text)
        is_tensor = incident.single is False or (self.stored and _is_joined(incident))
        number = AsNumber(incident.item, is_tensor)
        cut = Detach(incident.item, name_of(text))
        if _is_helper(incident) and is_given(incident.item):
            detached = Help("hand it the tensor detached, with `.detach()`", (replace(number, joined=True),))
            if is_tensor or not incident.single:
                return (detached,) if is_tensor else (detached, Help("the number, with `.item()`, if it is one"))
            return Help("hand it the number, with `.item()`", (number,)), Help("the tensor, with `.detach()`")
        if incident.inside:
            return (
                Help(f"keep detached tensors, with `.detach()`{'' if is_tensor else ', or numbers, with `.item()`'}"),
            )
        if self.stored:
            detached = Help(f"keep `{item}.detach()`", (number if is_tensor else cut,))
            one = Help(f"keep the number `{item}.item()`", (number,))
            if not incident.single:
                one = Help("keep the number, with `.item()`, if it is one")
            return (detached,) if is_tensor or _is_many(text) else (detached, one)
        if not name_of(text) or is_tensor:
            detached = Help(f"add `{item}.detach()`, without its graph", (cut,))
            one = Help("add the number, with `.item()`, if it is one", (number,))
            return (detached,) if is_tensor else (detached, one)
        slow = Help(f"add `{item}.detach()` where waiting for the device costs too much", (cut,))
        return Help(f"add the number, `{item}.item()`", (number,)), slow


def _spelt(text: str) -> str:
    """An expression as `.detach()` can stand behind it."""
    return short(text if re.fullmatch(r"[\w.]+(\([^()]*(\([^()]*\)[^()]*)*\))?", text) else f"({text})")


def _is_joined(incident: Kept) -> bool:
    """Whether what the list holds is put together as tensors."""
    return any(map(partial(is_joined, incident.holder), {incident.kept.span.source, incident.primary.source}))


def _unrecorded(incident: Kept) -> tuple[Help, ...]:
    """Graphs that no backward pass frees, as in an evaluation, need not be built."""
    unused = incident.alive and not _is_retained(incident)
    return (Help("compute it under `torch.no_grad()`, if nothing is trained by it"),) if unused else ()


def _total(incident: Kept) -> str:
    """What a sum of a list is bound to: `outs` in `outs = torch.cat([outs, out])`."""
    name = carried_name(incident.kept.span)
    return code(name) if name else "what it holds"


def _is_helper(incident: Kept) -> bool:
    """Whether it is kept in a function that the loop calls: what was handed over is then spelt elsewhere."""
    return incident.kept.span != incident.primary


def _is_retained(incident: Kept) -> bool:
    """Whether backward went through the graphs, and what they saved was kept for another time."""
    return incident.backward_pass is not None and incident.backward_pass.retained


def _is_many(text: str) -> bool:
    """Whether something holds many numbers: a slice, as `output[:, :1]`."""
    inside = text[:-1].rpartition("]")[2].partition("[")[2]
    return text.endswith("]") and ":" in inside


def _grade(incident: Kept) -> str:
    home = incident.primary.source
    loop = loop_at(incident.loop, home)
    if not incident.alive:
        until = f" until {_until(incident)}" if incident.reset else ""
        return f"note: small, but it grows with each iteration of {loop}{until}: what the graphs saved was freed, their nodes stay"
    if incident.bare:
        return f"note: small, but it grows with each iteration of {loop}: its nodes stay, which save nothing"
    if _is_retained(incident):
        return f"note: grows with each iteration of {loop}: the backward call on {_line(incident)} retains what the graphs saved"
    return f"note: grows with each iteration of {loop} by all that the forward pass saved"


def _until(incident: Kept) -> str:
    assert incident.reset is not None
    return f"{place(incident.reset, incident.primary.source)} {'empties it' if incident.stored else 'sets it back'}"


def _line(incident: Kept) -> str:
    assert incident.backward_pass is not None
    return place(incident.backward_pass.moment.span, incident.primary.source)
