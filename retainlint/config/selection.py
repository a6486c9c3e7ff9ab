"""Which rules are on: selectors from several layers of configuration, weighed by how specific they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from retainlint.config.words import ConfigError, meant, shown

_NONE: frozenset[str] = frozenset()


class KnownRules:
    """What rules there are: each code's name, the codes that are off unless selected, and those that are on unless
    ignored, whatever is selected: that a file couldn't be read must not look like success."""

    def __init__(self, names: Mapping[str, str], off: frozenset[str] = _NONE, always: frozenset[str] = _NONE) -> None:
        self.names, self.off, self.always = names, off, always

    @property
    def default(self) -> frozenset[str]:
        return frozenset(self.names) - self.off

    def selected(self, selector: str) -> tuple[int, list[str]]:
        """How specific a selector is (its length, a whole code's for a name) and the codes that it stands for.

        A selector is a code, a prefix of codes, a rule's name, or ALL, in any case. Raises ConfigError if it selects
        nothing.
        """
        upper = selector.strip().upper()
        if upper == "ALL":
            return 1, list(self.names)
        codes = [code for code in self.names if upper and code.startswith(upper)]
        if codes:
            return 1 + len(upper), codes
        by_name = [code for code, name in self.names.items() if name.upper() == upper]
        if by_name:
            return 1 + len(by_name[0]), by_name
        hint = meant(selector, [*self.names, *self.names.values()], "`retainlint rules` lists what there is")
        raise ConfigError(f"unknown rule {shown(selector)}{hint}")


class Selection:
    """What one layer says: `select` None leaves what is on below as it is, but for the other two."""

    def __init__(
        self, select: tuple[str, ...] | None = None, extend: tuple[str, ...] = (), ignore: tuple[str, ...] = ()
    ) -> None:
        self.select, self.extend, self.ignore = select, extend, ignore


def chosen_codes(layers: Iterable[Selection], known: KnownRules) -> frozenset[str]:
    """The codes that are on, given the layers from the weakest to the strongest.

    As in ruff, a `select` starts afresh: it forgets what weaker layers selected and ignored. Within a layer the longer
    selector wins, and `ignore` wins where both are equally long. Nothing selected stands for the default.
    """
    on = set(known.default)
    for layer in layers:
        wanted: dict[str, tuple[int, bool]] = {}
        for selectors, switch in (((*(layer.select or ()), *layer.extend), True), (layer.ignore, False)):
            for selector in selectors:
                weight, codes = known.selected(selector)
                for code in codes:
                    best = wanted.get(code, (0, False))[0]
                    if weight > best or (weight == best and not switch):
                        wanted[code] = (weight, switch)
        if layer.select is not None:
            on = set(known.always)
        on = (on - wanted.keys()) | {code for code, (_, switch) in wanted.items() if switch}
    return frozenset(on)


class Settings(NamedTuple):
    """`codes` are the rules that are on, None stands for every rule; `suppressions` whether comments count.

    With `thorough`, a failure counts that the program itself catches, and a file is run though no backward stands in it.
    With `tried`, each help is tried before it is told, and a fix is found. `stubs` are frameworks' stand-ins of the
    project's own, each by its name and its text.
    """

    codes: frozenset[str] | None = None
    suppressions: bool = True
    thorough: bool = False
    tried: bool = True
    stubs: tuple[tuple[str, str], ...] = ()

    def wants(self, code: str) -> bool:
        return self.codes is None or code in self.codes
