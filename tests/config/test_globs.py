"""What patterns match, as ruff's do."""

from __future__ import annotations

import pytest

from retainlint.config.globs import Globs

ROOT = "/r/o.ot"


def matches(pattern: str, place: str) -> bool:
    return Globs([(pattern, ROOT)]).match(f"{ROOT}/{place}")


@pytest.mark.parametrize(
    ("pattern", "place"),
    [
        ("x.py", "x.py"), ("x.py", "a/b/x.py"), ("./x.py", "x.py"), ("*.py", "a/x.py"), ("tests", "a/tests"),
        ("tests/", "a/tests"), ("a/x.py", "a/x.py"), ("a/*.py", "a/b/x.py"), ("a/*", "a/b/x.py"), ("a/**", "a/b/x.py"),
        ("a/**/x.py", "a/x.py"), ("a/**/x.py", "a/b/c/x.py"), ("**/x.py", "x.py"), ("**/b/*", "a/b/x.py"),
        ("x?.py", "x1.py"), ("x[0-9].py", "x1.py"), ("x[!0-9].py", "xa.py"), ("x[^0-9].py", "xa.py"), ("x[]].py", "x].py"),
        ("{x,y}.py", "a/y.py"), ("a/{b,c}/x.py", "a/c/x.py"), (r"x\*.py", "x*.py"), ("x[.py", "x[.py"), ("{x.py", "{x.py"),
        ("/r/o.ot/a/*", "a/x.py"), ("x+(1).py", "x+(1).py"), ("[a&&b].py", "&.py"),
    ],
)  # fmt: skip
def test_it_matches(pattern: str, place: str) -> None:
    assert matches(pattern, place)


@pytest.mark.parametrize(
    ("pattern", "place"),
    [
        ("x.py", "ax.py"), ("x.py", "x.pyc"), ("*.py", "x.pyi"), ("x.py", "xxpy"), ("b/x.py", "a/b/x.py"),
        ("tests", "tests/x.py"), ("a/**/x.py", "ab/x.py"), ("x[0-9].py", "xa.py"), (r"x\*.py", "xy.py"), ("", "x.py"),
        ("/", "x.py"), ("./", "x.py"), ("[z-a].py", "z.py"), ("/a/x.py", "a/x.py"),
    ],
)  # fmt: skip
def test_it_does_not(pattern: str, place: str) -> None:
    assert not matches(pattern, place)


def test_the_root_is_no_pattern() -> None:
    assert not Globs([("a/*", ROOT)]).match("/r/oXot/a/x.py")


def test_what_covers_a_directory_covers_all_below_it_up_to_the_root() -> None:
    globs = Globs([("tests", ROOT), ("r", ROOT)])
    assert globs.cover(f"{ROOT}/a/tests/b/x.py", ROOT)
    assert not globs.cover(f"{ROOT}/a/b/x.py", ROOT), "a directory above the root is no business of a pattern's"
    assert not globs.cover("/elsewhere/x.py", ROOT)
    assert not Globs([]).cover(f"{ROOT}/x.py", ROOT)
