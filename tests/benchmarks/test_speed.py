"""The speed benchmark's own parts; nothing here is timed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.speed import files, floor, page
from benchmarks.speed.contenders import BARE, FLOOR, OURS, WARM, contenders
from benchmarks.speed.timing import Failed, Figure, Run, in_turn, once, ratio, work_ratio
from retainlint.text.prefilter import may_backpropagate

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def python(code: str) -> tuple[str, ...]:
    return sys.executable, "-c", code


def test_commands_run_in_turn_and_the_first_turn_is_not_counted(tmp_path: Path) -> None:
    log = tmp_path / "log"
    write = "open({!r}, 'a').write({!r})"
    commands = {name: python(write.format(str(log), name)) for name in "ab"}
    found = in_turn(commands, 2, ENVIRONMENT, 60)
    assert log.read_text() == "ababab"
    assert [len(runs) for runs in found.values() if isinstance(runs, list)] == [2, 2]


def test_a_command_that_fails_says_why_and_is_not_run_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = python(f"open({str(log)!r}, 'a').write('x'); raise SystemExit(2)")
    found = in_turn({"a": command}, 3, ENVIRONMENT, 60)
    assert isinstance(found["a"], Failed) and log.read_text() == "x"
    with pytest.raises(Failed, match="longer than"):
        once(python("import time; time.sleep(60)"), ENVIRONMENT, 0.2)
    with pytest.raises(Failed):
        once((str(tmp_path / "nothing"),), ENVIRONMENT, 60)


PEAKS = """
import os, sys
from benchmarks.speed.timing import once
for size in (1, 200 << 20):
    print(once((sys.executable, "-c", f"x = b'1' * {size}"), dict(os.environ), 60).peak)
"""


def test_a_run_knows_its_peak() -> None:
    # a child's peak counts from what its parent held, so the parent is a small process of its own
    done = subprocess.run(python(PEAKS), capture_output=True, text=True, check=True, env=ENVIRONMENT)
    small, large = map(float, done.stdout.split())
    assert 150 < large - small < 250


def test_ratios_are_taken_pair_by_pair() -> None:
    ours, floors = [Run(2, 1, 1), Run(8, 1, 1), Run(3, 1, 1)], [Run(1, 1, 1), Run(4, 1, 1), Run(1, 1, 1)]
    assert ratio(ours, floors) == 2
    assert work_ratio([Run(1, 6, 1), Run(1, 2, 1), Run(1, 9, 1)], [Run(9, 2, 1), Run(9, 2, 1), Run(9, 1, 1)]) == 3
    assert Figure.of(ours).wall == 3


def test_the_page_keeps_what_stands_around_the_figures(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n")
    table = page.times({"tree": {FLOOR: [Run(1, 1, 30)], OURS: [Run(2, 3, 60)], "other": Failed("gone")}})
    page.put(readme, table)
    text = readme.read_text()
    assert "old" not in text and text.startswith("before\n") and text.endswith("\nafter\n")
    assert "| tree | retainlint | 2.00 | 3.00 | 60 | 2.00 | 3.00 | 1 |" in text and "| tree | other | gone |" in text


def test_the_single_files_are_what_they_are_called(tmp_path: Path) -> None:
    trains, reads = (place.read_bytes() for place in files.write(tmp_path).values())
    assert may_backpropagate(trains) and not may_backpropagate(reads)
    for data in (trains, reads):
        assert 250 < data.count(b"\n") < 350
        compile(data, "file", "exec")


def test_the_floor_parses_the_definitions_that_walk() -> None:
    text = "x = 1\ndef f(a):\n    pass\nclass C:\n    def g(self):\n        a.backward()\n    def h(self): pass\n"
    assert list(floor._definitions(text)) == ["if 1:\n    def g(self):\n        a.backward()\n"]


def test_what_is_ours_is_always_timed() -> None:
    assert list(contenders("x", ""))[:4] == [OURS, WARM, FLOOR, BARE]


def test_stages_are_told(tmp_path: Path) -> None:
    from benchmarks.speed import stages

    place = files.write(tmp_path)["a file that trains"]
    clock = stages.Clock()
    assert stages._one(clock, str(place), place.read_bytes()) > 1
    assert set(clock.spent) == set(stages.STAGES) and clock.spent["explore"] > 0
