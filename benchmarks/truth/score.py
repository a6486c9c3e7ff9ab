"""Compares what torch did with what the linter said, and sums up over many programs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from benchmarks.truth.judging import Reading, Truth
from benchmarks.truth.layers import layers
from benchmarks.truth.operations import table
from benchmarks.truth.program import Generated


@dataclass(frozen=True)
class Result:
    """One program, judged and linted."""

    program: Generated
    truth: Truth
    reading: Reading
    unreached: frozenset[int] = frozenset()  # findings at lines that no assignment makes run: torch says nothing there

    shares: bool = False  # it runs though two of its walks meet, where that was asked

    @property
    def raises(self) -> bool:
        return bool(self.truth.lines)

    @property
    def hits(self) -> set[int]:
        return set(self.truth.lines) & set(self.reading.lines)

    @property
    def verdict(self) -> str:
        """ "right", or what is wrong: "mistake" (the generator's), "crash", "false alarm", "miss", "wrong line"."""
        if self.truth.mistake:
            return "mistake"
        if self.reading.crash:
            return "crash"
        if not self.raises:
            return "false alarm" if set(self.reading.lines) - self.unreached else "right"
        if not self.hits:
            return "miss"
        return "right" if len(self.hits) == len(self.truth.lines) else "wrong line"

    @property
    def further(self) -> set[int]:
        """Findings in a raising program at lines where nothing raised first."""
        return set(self.reading.lines) - set(self.truth.lines) if self.raises else set()


@dataclass
class Tally:
    """Counts over the programs that were added."""

    verdicts: Counter[str] = field(default_factory=Counter)
    raising: int = 0
    found: int = 0
    exact: int = 0
    lines: int = 0
    lines_found: int = 0
    false: int = 0
    further: int = 0
    unreached: int = 0
    sharing: int = 0
    gaps: int = 0
    seconds: list[float] = field(default_factory=list)
    kinds: Counter[tuple[str, bool]] = field(default_factory=Counter)
    tags: dict[str, Counter[str]] = field(default_factory=dict)
    rows: Counter[str] = field(default_factory=Counter)

    def add(self, result: Result) -> None:
        self.verdicts[result.verdict] += 1
        if result.truth.mistake:
            return
        for tag in result.program.tags:
            self.tags.setdefault(tag, Counter())[result.verdict] += 1
        self.rows.update(result.program.rows)
        self.seconds.append(result.reading.seconds)
        self.sharing += result.shares
        self.gaps += bool(result.reading.gaps)
        self.further += len(result.further)
        if not result.raises:
            self.false += len(set(result.reading.lines) - result.unreached)
            self.unreached += len(result.unreached)
            return
        self.raising += 1
        self.found += bool(result.hits)
        self.exact += len(result.hits) == len(result.truth.lines)
        self.lines += len(result.truth.lines)
        self.lines_found += len(result.hits)
        self.kinds.update((kind, line in result.hits) for line, kind in result.truth.lines.items())

    @property
    def judged(self) -> int:
        return sum(self.verdicts.values()) - self.verdicts["mistake"]

    def table(self) -> str:
        """The figures, for people."""
        total = sum(self.verdicts.values())
        right = self.lines_found
        times = sorted(self.seconds) or [0.0]
        head = [
            f"programs    {total}, of which {self.verdicts['mistake']} mistakes of the generator ({_share(self.verdicts['mistake'], total)})",
            f"raise       {self.raising} of {self.judged} ({_share(self.raising, self.judged)})",
            f"recall      {self.found}/{self.raising} = {_share(self.found, self.raising)}   programs that raise and have a finding at an expected line",
            f"exact line  {self.exact}/{self.raising} = {_share(self.exact, self.raising)}   every line that raises first under some assignment is found",
            f"precision   {right}/{right + self.false} = {_share(right, right + self.false)}   findings at a raising line, against those in programs that never raise",
            f"further     {self.further} findings in raising programs, at lines behind the first failure; {self.unreached} at lines that never run",
            f"gaps        {self.gaps} programs with something not followed; crashes {self.verdicts['crash']}",
            f"time        {1000 * sum(times) / len(times):.0f} ms a program, median {1000 * times[len(times) // 2]:.0f}, slowest {1000 * times[-1]:.0f}",
        ]
        if self.sharing:
            head.insert(
                2,
                f"share       {self.sharing} of {self.judged} ({_share(self.sharing, self.judged)}) run though walks meet in one graph",
            )
        head.append(
            f"rows        {len(self.rows)} of the operation table's {len(every_row())} occur, the rarest in {min(self.rows.values(), default=0)} programs"
        )
        return "\n".join([*head, "", *self._by_kind(), "", *self._by_tag()])

    def _by_kind(self) -> list[str]:
        lines = [f"{'failure':<24}{'lines':>8}{'found':>8}"]
        for kind in sorted({kind for kind, _ in self.kinds}):
            found, missed = self.kinds[kind, True], self.kinds[kind, False]
            lines.append(f"{kind:<24}{found + missed:>8}{_share(found, found + missed):>8}")
        return lines

    def _by_tag(self) -> list[str]:
        lines = [f"{'construct':<24}{'programs':>9}{'right':>8}{'miss':>6}{'line':>6}{'false':>6}"]
        for tag, counts in sorted(self.tags.items()):
            total = sum(counts.values())
            cells = "".join(f"{counts[verdict]:>6}" for verdict in ("miss", "wrong line", "false alarm"))
            lines.append(f"{tag:<24}{total:>9}{_share(counts['right'], total):>8}{cells}")
        return lines


def every_row() -> set[str]:
    """The rows of the table of operations that some template or layer reaches."""
    found = {row for operations in table().values() for one in operations for row in one.rows}
    return found | {row for layer in layers() for row in layer.rows}


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f}%" if whole else "-"
