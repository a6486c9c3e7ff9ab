"""What a run was asked for: which rules, and whether the source's own suppressions count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


class ConfigError(Exception):
    """A setting that means nothing; the text is written for people."""


@dataclass(frozen=True)
class Settings:
    """All that one file's check depends on besides its bytes; `codes` None stands for every rule."""

    codes: frozenset[str] | None = None
    suppressions: bool = True

    def wants(self, code: str) -> bool:
        return self.codes is None or code in self.codes


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` was probably meant to be."""
    from difflib import SequenceMatcher

    def likeness(candidate: str) -> tuple[float, int]:
        meant = candidate.casefold()
        same_places = sum(a == b for a, b in zip(typed, meant, strict=False))
        return round(SequenceMatcher(None, typed, meant).ratio(), 6), same_places

    typed = word.casefold()
    best = max(known, key=likeness, default=None)
    return best if best is not None and likeness(best)[0] >= 0.6 else None


def chosen_codes(select: Iterable[str], ignore: Iterable[str], names: Mapping[str, str]) -> frozenset[str]:
    """The codes that are on. `names` maps each known code to its rule's name.

    A selector is a code, a prefix of codes, a rule's name, or ALL, in any case. As in ruff the longer selector wins,
    and `ignore` wins where both are equally long. Nothing selected stands for everything.
    Raises ConfigError for a selector that selects nothing.
    """
    wanted = dict.fromkeys(names, (0, False))
    for selectors, on in ((list(select) or ["ALL"], True), (list(ignore), False)):
        for selector in selectors:
            weight, codes = _selected(selector, names)
            for code in codes:
                best = wanted[code][0]
                if weight > best or (weight == best and not on):
                    wanted[code] = (weight, on)
    return frozenset(code for code, (_, on) in wanted.items() if on)


def _selected(selector: str, names: Mapping[str, str]) -> tuple[int, list[str]]:
    """How specific a selector is (its length, a whole code's for a name) and the codes that it stands for."""
    upper = selector.strip().upper()
    if upper == "ALL":
        return 1, list(names)
    codes = [code for code, name in names.items() if upper and code.startswith(upper)]
    if codes:
        return 1 + len(upper), codes
    by_name = [code for code, name in names.items() if name.upper() == upper]
    if by_name:
        return 1 + len(by_name[0]), by_name
    near = nearest(selector, [*names, *names.values()])
    hint = f"; did you mean '{near}'?" if near else "; `retainlint rules` lists what there is"
    raise ConfigError(f"unknown rule '{selector}'{hint}")
