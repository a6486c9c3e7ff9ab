"""What `retainlint check` was asked for besides settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from retainlint.commands.given import Given
    from retainlint.commands.working import Means
    from retainlint.config import Asked


class Fixing:
    """What was asked of fixes. With `diff` nothing is written; `only` reports nothing else."""

    def __init__(self, diff: bool, only: bool, show: bool, exit_non_zero: bool) -> None:
        self.diff, self.only, self.show, self.exit_non_zero = diff, only, show, exit_non_zero


class Options:
    """`width` in columns, `output_file` "" for standard output. If a text is `given`, it is checked instead of paths."""

    def __init__(
        self,
        paths: tuple[str, ...],
        asked: Asked,
        fixing: Fixing,
        means: Means,
        *,
        exit_zero: bool,
        quiet: bool,
        colour: bool,
        width: int,
        output_file: str,
        statistics: bool,
        show_unknown: bool,
    ) -> None:
        self.paths, self.asked, self.fixing, self.means = paths, asked, fixing, means
        self.given: Given | None = None
        self.exit_zero, self.quiet, self.colour, self.width = exit_zero, quiet, colour, width
        self.output_file, self.statistics, self.show_unknown = output_file, statistics, show_unknown
