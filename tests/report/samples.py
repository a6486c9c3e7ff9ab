"""Findings to be reported: plain ones, several files, a notebook, a hostile source, files that weren't checked."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from fake_pipeline import finding, label

from retainlint.diagnostic import Applicability, Diagnostic, Edit, Fix, Help, Label, Replacement, Severity
from retainlint.incident import Gap, Witness
from retainlint.report import render
from retainlint.report.run import RuleText, Run
from retainlint.report.terminal import Style
from retainlint.startup.records import replace
from retainlint.text.source import Source, Span

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"

SOURCE = Source("pkg/m.py", "é = a * b\nif flag:\n    '𝔘'; loss.backward(\n    )\n")
TOLD = replace(
    finding(
        label(SOURCE, "a * b", "built: `a[0](b)`"),
        label(SOURCE, "if flag:"),
        label(SOURCE, "loss.backward(\n    )", "walked", primary=True),
        help="detach `{a}`; or `[x](http://evil)`",
        notes=("core: n",),
    ),
    fix=Fix(Applicability.UNSAFE, "drop it", (Edit(SOURCE.offset(3, 10), SOURCE.offset(4, 6), ""),)),
)

OTHER = Source("other/model.py", "def forward(x):\n    return x * w\n")
SEVERAL = finding(
    label(OTHER, "x * w", "built here"),
    label(SOURCE, "a * b", "frees it"),
    label(SOURCE, "loss.backward(\n    )", "needs it", primary=True),
    severity=Severity.WARNING,
)
ACROSS = replace(
    SEVERAL,
    fix=Fix(
        Applicability.UNSAFE,
        "both",
        TOLD.fix.edits if TOLD.fix else (),
        elsewhere=(Replacement(Span(OTHER, 0, 3), "d"),),
    ),
)
"""Its fix edits two files."""

NOTEBOOK = Source.of_cells("nb.ipynb", ["import torch\n", "y = t @ a\n", "# walks\ny.backward()"])
IN_CELLS = finding(label(NOTEBOOK, "t @ a", "built"), label(NOTEBOOK, "y.backward()", "walked", primary=True))

UNREAD = Diagnostic(
    "RTL900", "file-not-checked", Severity.ERROR, "not checked: null bytes",
    (Label(Span(Source("bad.py", ""), 0, 0), "", primary=True),), helps=(Help("mend it"),),
)  # fmt: skip

EVIL = "x\x1b]0;owned\x07\x00##vso[task.setvariable]##[error]%0A::error::<b>&]]>\"'\u202e\ufffe\ud800]({0})"
HOSTILE_SOURCE = Source(f"::error::{EVIL.replace(chr(0), '')}\n,:;%.py", f"a = '{EVIL}'; b.backward()\n::error::q\n")
HOSTILE = finding(
    label(HOSTILE_SOURCE, f"'{EVIL}'", f"saves {EVIL}"),
    label(HOSTILE_SOURCE, "b.backward()", "::error::walked", primary=True),
    notes=(f"note: {EVIL} " + "::error::wrapped " * 20,),
    help=f"::error::{EVIL}\r\n##vso[task.logissue type=error]x",
)

RUDE = Diagnostic("RTL102", "backward-twice", Severity.ERROR, EVIL, HOSTILE.labels)

ALL = (TOLD, SEVERAL, IN_CELLS, UNREAD, HOSTILE, RUDE)

WITNESSED = Diagnostic(
    TOLD.code, TOLD.name, TOLD.severity, TOLD.message, TOLD.labels, witness=Witness((), "import torch\n", "e", "N")
)

RUN = Run(
    version="1.2.3",
    rules=(
        RuleText("RTL101", "backward-in-loop", Severity.ERROR, "A graph is walked again.\n\nUse `h[0].detach()`."),
        RuleText("RTL900", "file-not-checked", Severity.ERROR, "A file could not be read.", "https://example.org/900"),
    ),
    files=7,
    gaps=(Gap(Span(OTHER, 4, 11), "a call of what isn't known"),),
    crashes={"bad.py": "Traceback:\n  x\nValueError: broken: twice\n"},
)


def written(name: str, *diagnostics: Diagnostic, run: Run = RUN, style: Style | None = None) -> str:
    return "".join(render(name, diagnostics, style or Style(), run))


@cache
def from_life() -> tuple[Diagnostic, ...]:
    """What the linter finds in some of the fixtures, one of each rule at least."""
    from retainlint.lowering import lower
    from retainlint.rules import diagnose
    from retainlint.symbolic import explore

    found: list[Diagnostic] = []
    for path in sorted((FIXTURES / "raises").glob("*.py"))[1::12]:
        source = Source.decode(f"fixtures/raises/{path.name}", path.read_bytes())
        found += map(diagnose, explore(lower(source)).incidents)
    assert len({d.code for d in found}) > 4
    return tuple(found)
