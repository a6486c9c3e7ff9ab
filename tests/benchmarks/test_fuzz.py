"""The fuzzer: its texts come from their numbers, what fails is seen, told and shrunk; and a small share of it runs here."""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path

import pytest

from benchmarks.fuzz import cases, equality, judging, kills, patterns, shrinking, watching
from benchmarks.fuzz.__main__ import main
from benchmarks.fuzz.cases import KINDS, Case
from benchmarks.fuzz.equality import Way
from benchmarks.fuzz.judging import Failure
from benchmarks.fuzz.watching import Bounds

watched = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the watch reads /proc")

FEW = 60
"""So many texts are checked here; a long run is started by hand."""


def test_a_text_comes_from_its_number() -> None:
    recipe = cases.recipe(3, (), ())
    texts = [recipe.make(number) for number in range(30)]
    assert texts == [recipe.make(number) for number in range(30)]
    assert len({text.data for text in texts}) > 25


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_makes_texts(kind: str) -> None:
    recipe = cases.recipe(1, (kind,), ())
    assert {recipe.make(number).kind for number in range(5)} == {kind}


@watched
def test_a_share_of_texts_does_no_harm(capsys: pytest.CaptureFixture[str]) -> None:
    """Never more than ten seconds and 500 MiB, no internal error, no program refused."""
    assert main(["--count", str(FEW), "--seed", "2", "--patience", "0", "--seconds", "30"]) == 0, (
        capsys.readouterr().out
    )
    assert "failures: none" in capsys.readouterr().out


LONG = 20_000


@pytest.mark.parametrize("pattern", patterns.patterns(), ids=lambda pattern: pattern.where)
def test_patterns_take_time_in_proportion(pattern: patterns.Pattern) -> None:
    """What grows with the square of a text's length takes twenty times as long as is allowed, or more."""
    for before, pump in patterns.attacks(pattern.text, pattern.flags):
        for aim in (before + pump * (LONG // len(pump)) + "\0", (before + pump) * (LONG // len(before + pump))):
            assert pattern.seconds(aim[:LONG]) < 0.25, (pattern.text, before, pump)


# -- the watch -----------------------------------------------------------------------------------------------------


def outcomes(count: int, monkeypatch: pytest.MonkeyPatch, judge: object, bounds: Bounds) -> list[Failure | None]:
    monkeypatch.setattr(watching, "judged", judge)
    made = [Case(number, "odd", "f.py", b"") for number in range(count)]
    return [each.failure for each in watching.run(range(count), made.__getitem__, bounds)]


@watched
def test_what_hangs_is_ended_and_the_rest_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def judge(case: Case) -> Failure | None:
        while case.number == 1:
            pass
        return None

    found = outcomes(3, monkeypatch, judge, Bounds(seconds=0.3))
    assert [each and each.kind for each in found] == [None, "hang", None]


@watched
def test_what_takes_too_much_memory_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[bytes] = []

    def judge(case: Case) -> Failure | None:
        if case.number == 0:
            kept.append(b"x" * 400 * 2**20)
            time.sleep(3)
        return None

    import resource

    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024  # what is forked has so much from the start
    found = outcomes(2, monkeypatch, judge, Bounds(memory=own + 200))
    assert [each and each.kind for each in found] == ["memory", None]


@watched
def test_a_process_that_dies_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def judge(case: Case) -> Failure | None:
        if case.number == 0:
            os.kill(os.getpid(), 9)
        return None

    found = outcomes(2, monkeypatch, judge, Bounds())
    assert [each and each.kind for each in found] == ["died", None]
    assert found[0] is not None and "-9" in found[0].mark


# -- what counts as a failure, and what is left of it --------------------------------------------------------------


def crashing(*_: object, **__: object) -> None:
    raise ZeroDivisionError("odd")


def test_an_internal_error_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retainlint.checking.pipeline.diagnose", crashing)
    found = judging.judged(Case(1, "odd", "f.py", b"loss.backward()\n"))
    assert found is not None and found.kind == "crash" and "ZeroDivisionError" in found.mark


def test_a_program_that_is_refused_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "ast", type("Lenient", (), {"parse": staticmethod(lambda data: None)}))
    monkeypatch.setattr(judging, "compile", lambda *_, **__: None, raising=False)
    found = judging.judged(Case(1, "odd", "f.py", b"loss.backward(\n"))
    assert found is not None and found.kind == "refused"


@watched
def test_a_failure_is_kept_and_shrunk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def judge(case: Case) -> Failure | None:
        return Failure("crash", "odd", "story") if b"odd" in case.data else None

    monkeypatch.setattr(watching, "judged", judge)
    rows = b"".join(b"row %d\n" % number for number in range(30))
    case = Case(0, "mutated", "f.py", rows + b"an odd row\n" + rows)
    assert shrinking.shrunk(case, Failure("crash", "odd"), Bounds(), 60) == b"odd"
    monkeypatch.setattr(cases.Recipe, "make", lambda self, number: case)
    assert main(["--count", "1", "--out", str(tmp_path / "out")]) == 1
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "000000_crash.py",
        "000000_crash.whole.py",
        "000000_crash.json",
    }
    assert (tmp_path / "out" / "000000_crash.py").read_bytes() == b"odd"


def test_shrinking_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a text of many pieces, too, of which each is a try."""
    monkeypatch.setattr(watching, "run", lambda *_: [watching.Outcome(0, Failure("crash", "odd"), 0, 0)])
    begun = time.monotonic()
    shrinking.shrunk(Case(0, "odd", "f.py", b"a." * 100_000), Failure("crash", "other"), Bounds(), 0.2)
    assert time.monotonic() - begun < 5


# -- kills ---------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_killed_runs_leave_old_texts_or_new_ones() -> None:
    seen = kills.kill(6)
    assert seen["killed"] == 6 and seen["broken"] == 0
    assert seen["old"] + seen["new"] == kills.FILES * (seen["killed"] + seen["done"])


# -- equality ------------------------------------------------------------------------------------------------------


def _finding(name: str, row: int, *related: tuple[str, int]) -> equality.Finding:
    places = [{"filename": file, "location": {"row": at}} for file, at in related]
    return {"code": "RTL101", "filename": name, "location": {"row": row}, "related": places}


def test_a_failure_told_at_its_call_is_no_other_one() -> None:
    whole = [_finding("a.py", 3), _finding("b.py", 5), _finding("b.py", 9)]
    at_call, other = _finding("a.py", 7, ("b.py", 5)), _finding("a.py", 7, ("b.py", 6))
    assert equality.apart(whole, [_finding("a.py", 3), at_call], ["a.py"]) == ([], [])
    assert equality.apart(whole, [at_call, other], ["a.py"]) == ([_finding("a.py", 3)], [other])


def test_what_was_not_followed_is_no_finding() -> None:
    assert equality.findings('[{"code": null}, {"code": "RTL101"}]') == [{"code": "RTL101"}]


PROJECTS = ("gan_over_modules_without_detach", "hidden_state_kept_in_forward", "registry_builds_a_stateful_model")


def test_no_seed_number_of_processes_or_order_makes_a_difference(tmp_path: Path) -> None:
    """Nor all of them together: each finding, gap and help is the same, byte for byte."""
    for project in PROJECTS:
        shutil.copytree(cases.FIXTURES / "projects" / "raises" / project, tmp_path / project)
    files = equality.files_of(tmp_path)
    for name in files:  # so long that it pays to share them
        path = tmp_path / name
        path.write_text(f"{path.read_text(encoding='utf-8')}\n# {'x' * (400_000 // len(files))}\n", encoding="utf-8")
    one, two = (
        equality.said(tmp_path, Way("", ("--no-cache", "--jobs", jobs), paths, environment=(("PYTHONHASHSEED", seed),)))
        for jobs, paths, seed in (("1", tuple(files), "0"), ("2", tuple(reversed(files)), "4711"))
    )
    assert len(equality.findings(one[0])) == len(PROJECTS) and one == two
