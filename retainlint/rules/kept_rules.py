"""What RTL203 and RTL204 have in common: graphs that outlive their turn, graded by what stays alive with them."""

from __future__ import annotations

import re

from retainlint.diagnostic import AsNumber, Cure, Detach, Diagnostic, Label
from retainlint.incident import Kept
from retainlint.rules.source_hints import carried_name
from retainlint.rules.warning_rule import WarningRule, loop_at, name_of
from retainlint.rules.wording import code, place, short


class KeptRule(WarningRule[Kept]):
    """A rule for graphs that are kept from turn to turn; `stored`: in a container, not in a total."""

    kind = Kept
    stored: bool

    def holds(self, incident: Kept) -> bool:
        return incident.stored == self.stored

    def report(self, incident: Kept) -> Diagnostic:
        return self.warning(
            incident,
            self._message(incident),
            "keeps the graph of each turn" if incident.alive else "keeps the nodes of each turn's graph",
            self._help(incident),
            *self._labels(incident),
            cures=self._cures(incident),
            notes=(_grade(incident),),
        )

    def _message(self, incident: Kept) -> str:
        what = f"{code(incident.item.text)} is {'put into' if self.stored else 'added to'} {code(incident.holder)}"
        if incident.inside and not self.stored:
            what = f"{code(incident.kept.span.text)} adds a tensor to {_total(incident)}"
        elif _is_helper(incident):
            what = f"{code(incident.primary.text)} puts a tensor into {code(incident.holder)}"
        if not incident.alive:
            return f"{what} with its graph in each turn: its nodes are never let go"
        if _is_retained(incident):
            return f"{what} with its graph in each turn, and what the graphs saved is retained: all of it stays alive"
        return f"{what} with its graph in each turn, and the graphs are never walked: all they saved stays alive"

    def _labels(self, incident: Kept) -> tuple[Label, ...]:
        labels = [Label(incident.loop, "")]
        if incident.kept.span != incident.primary:
            labels.append(Label(incident.kept.span, "kept here"))
        if incident.backward_pass is not None and not incident.alive:
            labels.append(Label(incident.backward_pass.moment.span, "frees what the graph saved, not the graph"))
        return tuple(labels)

    def _help(self, incident: Kept) -> str:
        if _is_helper(incident):
            return "hand it the number, with `.item()`; or the tensor, with `.detach()`"
        text = incident.item.text
        if incident.inside:
            return "keep tensors that were detached, with `.detach()`, or their numbers, with `.item()`"
        item = short(text if re.fullmatch(r"[\w.]+(\([^()]*(\([^()]*\)[^()]*)*\))?", text) else f"({text})")
        number, cut = f"`{item}.item()`", f"`{item}.detach()`"
        if self.stored and _is_many(text):
            return f"keep {cut}"
        if self.stored:
            return f"keep {cut}, or the number {number}"
        if not name_of(text):
            return f"add {cut}, without its graph; or the number, with `.item()`, if it is one"
        return f"add the number, {number}, or {cut} where waiting for the device costs too much"

    def _cures(self, incident: Kept) -> tuple[Cure, ...]:
        if incident.inside:
            return ()
        if _is_helper(incident):
            return (AsNumber(incident.item),)
        detach = Detach(incident.item, name_of(incident.item.text))
        if self.stored and _is_many(incident.item.text):
            return (detach,)
        return (detach, AsNumber(incident.item)) if self.stored else (AsNumber(incident.item), detach)


def _total(incident: Kept) -> str:
    """What a sum of a list is bound to: `outs` in `outs = torch.cat([outs, out])`."""
    name = carried_name(incident.kept.span)
    return code(name) if name else "what it holds"


def _is_helper(incident: Kept) -> bool:
    """Whether it is kept in a function that the loop calls: what was handed over is then spelt elsewhere."""
    return incident.kept.span != incident.primary


def _is_retained(incident: Kept) -> bool:
    """Whether the graphs were walked, and what they saved kept for another walk."""
    return incident.backward_pass is not None and incident.backward_pass.retained


def _is_many(text: str) -> bool:
    """Whether something holds many numbers: a slice, as `output[:, :1]`."""
    inside = text[:-1].rpartition("]")[2].partition("[")[2]
    return text.endswith("]") and ":" in inside


def _grade(incident: Kept) -> str:
    home = incident.primary.source
    loop = loop_at(incident.loop, home)
    if not incident.alive:
        return f"note: small, but it grows with each turn of {loop}: what the graphs saved was freed, their nodes stay"
    if _is_retained(incident):
        return f"note: grows with each turn of {loop}: the walk on {_line(incident)} retains what the graphs saved"
    return f"note: grows with each turn of {loop} by all that the forward pass saved"


def _line(incident: Kept) -> str:
    assert incident.backward_pass is not None
    return place(incident.backward_pass.moment.span, incident.primary.source)
