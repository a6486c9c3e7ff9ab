"""A record is a frozen dataclass in all that can be seen of it."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import pytest

from retainlint.startup.records import record
from retainlint.startup.records import replace as replaced


@record
class Point:
    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list, compare=False)
    hidden: str = field(default="h", repr=False)


@record
class Named(Point):
    """With a name."""

    name: str = field(kw_only=True)


@record(eq=False)
class Thing:
    x: int


@record(kw_only=True)
class ByName:
    x: int
    y: int = 1


@record
class Checked:
    x: int

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("below zero")


def twin() -> Any:
    """What the standard library makes of `Point`."""

    @dataclass(frozen=True)
    class Point:
        x: int
        y: int = 0
        tags: list[str] = field(default_factory=list, compare=False)
        hidden: str = field(default="h", repr=False)

    return Point


@pytest.mark.parametrize("values", [(1,), (1, 2), (1, 2, ["a"]), (1, 2, ["a"], "z")])
def test_it_is_what_the_standard_library_makes(values: tuple[Any, ...]) -> None:
    ours, theirs = Point(*values), twin()(*values)
    assert repr(ours) == repr(theirs).rpartition("<locals>.")[2]
    assert hash(ours) == hash(theirs)
    assert [f.name for f in fields(ours)] == [f.name for f in fields(theirs)] and is_dataclass(ours)
    assert type(ours).__match_args__ == type(theirs).__match_args__
    assert ours == Point(*values) and ours != theirs and ours != Point(7)
    assert replace(ours, y=5) == Point(ours.x, 5, ours.tags, ours.hidden)


def test_what_is_not_compared_tells_nothing_apart() -> None:
    assert Point(1, 2, ["a"]) == Point(1, 2, ["b"]) and hash(Point(1, 2, ["a"])) == hash(Point(1, 2))
    assert Point(1).tags is not Point(1).tags


def test_what_is_noted_on_it_is_no_part_of_it() -> None:
    noted = Point(1)
    vars(noted)["hash"] = 7
    assert noted == Point(1) and repr(noted) == repr(Point(1))
    assert "hash" not in vars(replace(noted, y=2))


def test_what_was_sent_here_is_compared_before_any_was_made() -> None:
    """A worker gets its first object out of a pickle, which calls no `__init__`."""

    @record
    class Sent:
        x: int

    one, other = Sent.__new__(Sent), Sent.__new__(Sent)
    for each in (one, other):
        vars(each)["x"] = 3
    others: list[Any] = [Point(3), 3]
    assert all(one != each for each in others)
    assert one == other
    assert {one: 1}[other] == 1
    assert pickle.loads(pickle.dumps(Point(1, 2))) == copy.copy(Point(1, 2)) == Point(1, 2)


def test_fields_are_inherited_and_some_are_given_by_name() -> None:
    assert Named(1, name="n") == Named(1, 0, name="n") != Named(1, name="m")
    assert Named(1, name="n") != Point(1)
    assert ByName(x=3).y == 1
    with pytest.raises(TypeError):
        Named(1, 2, [], "h", "n")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="x"):
        Point()  # type: ignore[call-arg]


def test_a_field_may_be_called_self() -> None:
    @record
    class Call:
        self: int
        other: int = 0

    assert Call(self=3).self == 3 and Call(3) == Call(self=3) and hash(Call(3)) == hash(Call(self=3, other=0))


def test_a_hash_of_its_own_stays() -> None:
    @record
    class Hashed:
        x: int

        def __hash__(self) -> int:
            return 7

    assert hash(Hashed(1)) == 7 and Hashed(1) == Hashed(1) != Hashed(2) and {Hashed(1): "one"}[Hashed(1)] == "one"


def test_without_equality_it_is_itself_alone() -> None:
    thing = Thing(1)
    assert thing == thing and thing != Thing(1) and len({thing, Thing(1)}) == 2


def test_what_it_does_when_made_is_done() -> None:
    with pytest.raises(ValueError, match="below"):
        Checked(-1)
    assert Checked(1).x == 1


def test_it_is_matched_by_its_fields() -> None:
    match Point(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)
        case _:
            pytest.fail("not matched")


def test_another_with_some_fields_changed() -> None:
    """`replace` is the standard library's, but for the time that it takes."""

    @record
    class Call:
        self: int
        other: int = 0

    point = Point(1, 2, ["a"], "z")
    vars(point)["noted"] = 7
    made = replaced(point, y=5)
    assert made == replace(point, y=5) and made.tags is point.tags and made.hidden == "z"
    assert type(made) is Point and "noted" not in vars(made)
    assert replaced(Named(1, name="n"), name="m") == Named(1, name="m")
    assert replaced(Call(3), self=4) == Call(4)
    with pytest.raises(ValueError, match="below"):
        replaced(Checked(1), x=-1)
    with pytest.raises(TypeError, match="z"):
        replaced(point, z=1)
