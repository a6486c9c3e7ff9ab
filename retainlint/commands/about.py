"""What a report may say of this tool whatever was found: its version, its rules, and how a witness is replayed for a drawing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retainlint.commands import has_core
from retainlint.startup.version import __version__

if TYPE_CHECKING:
    from retainlint.incident import Witness
    from retainlint.report.graph_life import Life
    from retainlint.report.run import Run


def about_us(docs: str = "") -> Run:
    """All but what a run adds. `docs` is the address of the documentation's site, without one "" """
    from retainlint.report.run import RuleText, Run
    from retainlint.rules import RULES

    site = docs.rstrip("/")
    pages = {rule.code: f"{site}/rules/{rule.code}/" if site else "" for rule in RULES}
    rules = tuple(RuleText(rule.code, rule.name, rule.severity, rule.explanation, pages[rule.code]) for rule in RULES)
    return Run(__version__, rules, replay=_replay if has_core() else None)


def _replay(witness: Witness) -> Life | None:
    from retainlint.commands.lives import life_of

    return life_of(witness)
