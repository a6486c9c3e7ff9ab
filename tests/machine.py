"""The machine as tests ask it: it explores a text, perhaps with modules beside it, and hands over what it saw."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from textwrap import dedent

from retainlint.diagnostic import Diagnostic
from retainlint.incident import Exploration, Gap, Incident, Waste
from retainlint.lowering import LoweringError, lower, lower_partly
from retainlint.program import Program
from retainlint.project.call_index import CallIndex
from retainlint.project.import_resolution import Modules
from retainlint.project.module_loading import Project
from retainlint.rules import diagnose
from retainlint.symbolic import explore
from retainlint.symbolic.state import limits
from retainlint.text.files import Held
from retainlint.text.source import Source


@dataclass(frozen=True)
class Explored:
    """What the machine saw of a program; incidents, waste and gaps stand in the order in which it tells of them."""

    exploration: Exploration
    modules_read: list[str] = field(default_factory=list)
    """Names of the modules that it asked for, sorted."""

    @property
    def incidents(self) -> tuple[Incident, ...]:
        return self.exploration.incidents

    @property
    def waste(self) -> tuple[Waste, ...]:
        return self.exploration.waste

    @property
    def gaps(self) -> tuple[Gap, ...]:
        return self.exploration.gaps

    @property
    def steps(self) -> int:
        return self.exploration.steps

    @property
    def incident(self) -> Incident:
        """The only incident."""
        (only,) = self.incidents
        return only

    @property
    def lines(self) -> list[int]:
        """Where the incidents are."""
        return [incident.primary.row for incident in self.incidents]

    @property
    def wasted(self) -> list[int]:
        """Where the waste is."""
        return [waste.primary.row for waste in self.waste]

    @property
    def places(self) -> list[tuple[str, int]]:
        """In which files the incidents are, and where, sorted."""
        return sorted((incident.primary.source.name, incident.primary.row) for incident in self.incidents)

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """What the rules say of the incidents."""
        return list(map(diagnose, self.incidents))

    @property
    def warnings(self) -> list[Diagnostic]:
        """What the rules say of the waste."""
        return list(map(diagnose, self.waste))

    @property
    def failures(self) -> list[tuple[int, str]]:
        """Where the incidents are, each with the code of the rule that explains it."""
        return [(each.primary.span.row, each.code) for each in self.diagnostics]

    @property
    def told(self) -> list[tuple[int, str]]:
        """The failures, and where the waste is with its codes; sorted."""
        return sorted([*self.failures, *((each.primary.span.row, each.code) for each in self.warnings)])

    def says(self, words: str) -> bool:
        """Whether the reason of a gap holds these words."""
        return any(words in gap.reason for gap in self.gaps)


@dataclass(frozen=True)
class Machine:
    """Called with the text of `main.py`, it explores it as the linter would."""

    budget: int = limits.ENTRY_STEPS
    lowered: Callable[[Source], Program] = lower_partly
    """How modules are lowered."""

    def within(self, budget: int) -> Machine:
        """A machine of so many steps."""
        return replace(self, budget=budget)

    def lowering(self, lowered: Callable[[Source], Program]) -> Machine:
        """A machine that lowers modules so."""
        return replace(self, lowered=lowered)

    def __call__(self, text: str, /, **modules: str) -> Explored:
        """Modules lie beside the text by their names, `__` for `/`; without any it has no project, and imports are unknown.

        All texts are dedented.
        """
        main = Source("main.py", dedent(text))
        if not modules:
            return Explored(explore(lower(main), self.budget))
        return self.among({**{_place(name): module for name, module in modules.items()}, main.name: text})

    def among(self, files: Mapping[str, str], entry: str = "main.py") -> Explored:
        """Explore a file among others, by their names; all texts are dedented."""
        texts = {name: dedent(text).encode() for name, text in files.items()}
        project = _Noting(Modules(entry, Held(texts)), self.lowered, texts[entry])
        explored = explore(lower(Source(entry, texts[entry].decode())), self.budget, project)
        return Explored(explored, sorted(project.asked))


def _place(module: str) -> str:
    """The file of a module; `a__init` is that of the package `a`."""
    return re.sub(r"/init$", "/__init__", module.replace("__", "/")) + ".py"


class _Noting(Project):
    """A project that notes which modules were asked for; one that can't be lowered is none, for the reason why."""

    def __init__(self, modules: Modules, lowered: Callable[[Source], Program], text: bytes) -> None:
        super().__init__(CallIndex(modules, text), _or_reason(lowered))
        self.asked: list[str] = []

    def program(self, place: str) -> Program | str | None:
        self.asked.append(self.dotted(place))
        return super().program(place)


def _or_reason(lowered: Callable[[Source], Program]) -> Callable[[Source], Program | str]:
    def lower_or_say_why(source: Source) -> Program | str:
        try:
            return lowered(source)
        except LoweringError as error:
            return error.reason

    return lower_or_say_why
