"""What a file's check will ask of the disk, gathered so that it can be sent to a machine that has another one."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field

from retainlint.project.import_resolution import Modules
from retainlint.text.files import Disk

FARTHEST = 30
"""So many modules of a file's project are sent with it; what else is needed is asked for."""


@dataclass
class Shipped:
    """Files of another machine, as far as they were sent; names count from its working directory `here`.

    What wasn't sent is answered as if it weren't there, and written down in `asked`: the answer has to be asked for, and
    the check made again.
    """

    here: str
    there: dict[str, bool] = field(default_factory=dict)
    texts: dict[str, bytes | None] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    asked: set[tuple[str, str]] = field(default_factory=set)

    ir_store = None

    def exists(self, place: str) -> bool:
        if place not in self.there:
            self.asked.add(("exists", place))
        return self.there.get(place, False)

    def read(self, place: str) -> bytes | None:
        if place not in self.texts:
            self.asked.add(("read", place))
        return self.texts.get(place)

    def real(self, place: str) -> str:
        if place not in self.places:
            self.asked.add(("real", place))
        return self.places.get(place, place)

    def answer(self, asked: Iterable[tuple[str, str]], disk: Disk) -> None:
        """Add what was asked for."""
        for question, place in asked:
            if question == "exists":
                self.there[place] = disk.exists(place)
            elif question == "read":
                self.texts[place] = disk.read(place)
            else:
                self.places[place] = disk.real(place)


class _Noted(Disk):
    """The disk, with all its answers put into a parcel."""

    def __init__(self, parcel: Shipped) -> None:
        super().__init__()
        self._parcel = parcel

    def exists(self, place: str) -> bool:
        return self._parcel.there.setdefault(place, super().exists(place))

    def read(self, place: str) -> bytes | None:
        if place not in self._parcel.texts:
            self._parcel.texts[place] = super().read(place)
        return self._parcel.texts[place]

    def real(self, place: str) -> str:
        return self._parcel.places.setdefault(place, super().real(place))


def gathered(names: list[str]) -> Shipped:
    """Files with the modules of their projects to which their imports lead, as far as can be told by a glance."""
    parcel = Shipped(os.getcwd())
    disk = _Noted(parcel)
    for name in names:
        modules = Modules(name, disk)
        pending, seen = [modules.place(name)], set[str]()
        while pending and len(seen) < FARTHEST:
            place = pending.pop(0)
            if place in seen:
                continue
            seen.add(place)
            pending += modules.imported(place, disk.read(place) or b"")
    return parcel
