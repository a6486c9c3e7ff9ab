"""What follows the findings: counts of each rule, the line that closes a report, what couldn't be followed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from retainlint.diagnostic import Diagnostic, Json
    from retainlint.incident import Gap
    from retainlint.report.terminal import Style


def render(diagnostics: Iterable[Diagnostic], style: Style, *, as_json: bool = False) -> Iterator[str]:
    """The rules with findings, the most frequent first: `12  RTL101  [*] backward-in-loop`; a star says "has fixes"."""
    found = list(diagnostics)
    first = {diagnostic.code: diagnostic for diagnostic in found}
    fixable = Counter(diagnostic.code for diagnostic in found if diagnostic.fix is not None)
    counts = sorted(Counter(diagnostic.code for diagnostic in found).items(), key=lambda item: (-item[1], item[0]))
    if as_json:
        from retainlint.report.json import dumped

        yield dumped([_row(first[code], count, fixable[code]) for code, count in counts], indent=2) + "\n"
        return
    wide = max((len(str(count)) for _, count in counts), default=0)
    for code, count in counts:
        star = "" if not fixable else "[*] " if fixable[code] == count else "[-] " if fixable[code] else "[ ] "
        painted = style.paint(code, first[code].severity.value)
        yield f"{count:>{wide}}  {painted}  {star}{first[code].name}\n"


def _row(diagnostic: Diagnostic, count: int, fixable: int) -> Json:
    return {
        "code": diagnostic.code,
        "name": diagnostic.name,
        "count": count,
        "fixable": fixable == count,
        "fixable_count": fixable,
    }


def summary(diagnostics: Sequence[Diagnostic], style: Style, files: int) -> str:
    """`Found 2 errors and 1 warning. 9 files checked.`"""
    checked = f"{counted(files, 'file')} checked."
    if not diagnostics:
        return f"{style.paint('All checks passed!', 'good')} {checked}"
    severities = [diagnostic.severity.value for diagnostic in diagnostics]
    parts = [counted(severities.count(word), word) for word in ("error", "warning") if word in severities]
    found = f"Found {' and '.join(parts)}."
    return f"{style.paint(found, 'strong')} {checked}"


def unfollowed(backward_passes: int, named: bool) -> str:
    """`2 backward passes could not be followed.`; "" where all could. Without `--show-unknown` nothing names them."""
    if not backward_passes:
        return ""
    many = f"{backward_passes} backward pass{'' if backward_passes == 1 else 'es'} could not be followed"
    return f"{many}." if named else f"{many}: `--show-unknown` names {'it' if backward_passes == 1 else 'them'}."


def fixable(diagnostics: Iterable[Diagnostic]) -> str:
    """`[*] 2 fixable with `--fix`, 1 hidden with `--unsafe-fixes``; "" where nothing is."""
    kinds = Counter(diagnostic.fix.applicability.value for diagnostic in diagnostics if diagnostic.fix is not None)
    safe, unsafe = kinds["safe"], kinds["unsafe"]
    if not unsafe:
        return f"[*] {safe} fixable with `--fix`." if safe else ""
    hidden = f"{unsafe} hidden with `--unsafe-fixes`."
    return f"[*] {safe} fixable with `--fix`, {hidden}" if safe else f"No safe fixes, {hidden}"


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def render_gaps(gaps: Iterable[Gap], style: Style) -> Iterator[str]:
    """`path:row:column: not followed: reason`, each place and reason once."""
    ordered = sorted(gaps, key=lambda gap: (gap.span.source.name, gap.span.start, gap.reason))
    yield from dict.fromkeys(_gap_line(gap, style) for gap in ordered)


def _gap_line(gap: Gap, style: Style) -> str:
    from retainlint.report.places import pointed  # a run without findings needs no places
    from retainlint.report.terminal import safe

    place = style.paint(f"{pointed(gap.span)}:", "strong")
    return f"{place} {style.paint('not followed', 'secondary')}: {safe(gap.reason)}\n"
