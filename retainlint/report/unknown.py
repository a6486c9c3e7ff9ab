"""What the machine couldn't follow, for `--show-unknown`: a line each, by place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from retainlint.report.places import pointed
from retainlint.report.terminal import Style, safe

if TYPE_CHECKING:
    from retainlint.incident import Gap


def render(gaps: Iterable[Gap], style: Style) -> Iterator[str]:
    """`path:row:column: not followed: reason`, each place and reason once."""
    ordered = sorted(gaps, key=lambda gap: (gap.span.source.name, gap.span.start, gap.reason))
    yield from dict.fromkeys(_line(gap, style) for gap in ordered)


def _line(gap: Gap, style: Style) -> str:
    place = style.paint(f"{pointed(gap.span)}:", "strong")
    return f"{place} {style.paint('not followed', 'secondary')}: {safe(gap.reason)}\n"
