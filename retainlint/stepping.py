"""Whether a trainer walks what the steps of a text's classes return, told by the names from which these are derived."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retainlint.naming import DEFINED, Naming, defined, imported, methods
from retainlint.patterns import pattern
from retainlint.spelling import may_spell_walk, spoken
from retainlint.walks import STEPS, may_walk

if TYPE_CHECKING:
    from retainlint.modules import Modules

TRAINERS = ("LightningModule", "Trainer")
"""With what the name ends of a class that has the steps of its heirs walked."""

_STEP = pattern(rb"\bdef[ \t]+(?:%s)(?=[ \t]*\()" % "|".join(STEPS).encode())
_HEAD = pattern(r"[ \t]*\(([^()]*)(\(?)")
_BASE = pattern(r"(?<![\w.])[A-Za-z_][\w.]*(?![\w.]|[ \t]*=)")
_SUBSCRIPT = pattern(r"\[[^\[\]]*\]")


def may_step(modules: Modules | None, data: bytes) -> bool:
    """Whether a walk may stand in a text whose walks are spelt, if it is but a step's: some class that has one is derived
    from what walks its result. Without `modules` only the text's own names tell."""
    if _STEP.search(data) is None or may_spell_walk(_STEP.sub(b"def step", data)):
        return True
    text = spoken(data)
    if any(trainer in text for trainer in TRAINERS):
        return True
    return modules is not None and _derives(Naming(modules, text))


def _derives(names: Naming) -> bool:
    """Whether a class of the entry that has a step is derived from a trainer, from what nobody can tell, or from a class in
    whose module a walk stands: perhaps of what the step returns."""
    pending = [(names.place, name) for name in _stepping(names.text)]
    seen: set[tuple[str, str]] = set()
    while pending:
        asked = pending.pop()
        if asked in seen:
            continue
        seen.add(asked)
        if asked[0] != names.place and may_walk(names.read(asked[0]).encode()):
            return True
        above = _above(names, *asked)
        if above is None or names.is_spent:
            return True
        pending += above
    return False


def _stepping(text: str) -> list[str]:
    """The classes of a text that have a step."""
    classes = dict.fromkeys(head[3] for head in DEFINED.finditer(text) if head[2] == "class")
    return [name for name in classes if not methods(defined(text, name)[1]).keys().isdisjoint(STEPS)]


def _above(names: Naming, place: str, name: str) -> list[tuple[str, str]] | None:
    """What the definition of a class names: the classes from which it is derived, or whose name it is, by their modules'
    places; None for a trainer, and for what nobody can tell."""
    text = names.read(place)
    kind, body = defined(text, name)
    if kind != "class":
        return _origins(names, place, text, name)
    head = _HEAD.match(body)
    if head is None:
        return []
    if head[2]:  # a call
        return None
    found: list[tuple[str, str]] = []
    for base in _BASE.findall(_SUBSCRIPT.sub("", head[1])):
        above = _named(names, place, text, base)
        if above is None:
            return None
        found += above
    return found


def _named(names: Naming, place: str, text: str, base: str) -> list[tuple[str, str]] | None:
    """What a base leads to, as it is spelt."""
    *packages, last = base.split(".")
    if last.endswith(TRAINERS):
        return None
    if not packages:
        return [(place, last)] if defined(text, last)[0] == "class" else _origins(names, place, text, last)
    found = [module for package in packages if (module := names.module(place, text, package)) is not None]
    return [(module, last) for module in found]


def _origins(names: Naming, place: str, text: str, name: str) -> list[tuple[str, str]] | None:
    """Where a name comes from that is no class of the text itself."""
    origin = imported(text)[0].get(name)
    if origin is not None and origin.name.endswith(TRAINERS):
        return None
    found = list(names.origins(place, text, name))
    unknown = origin is None and not found and any(trainer in text for trainer in TRAINERS)
    return None if unknown else found
