"""`Tap`, a parser of options whose fields are these."""

import dataclasses

from retainlint.stubs import filled, unknown

MODULES = ("tap",)


@dataclasses.dataclass
class Tap:
    def parse_args(self, args=None, known_only=False, **ways):
        return filled(self) if args is None else unknown()


def tapify(function, args=None, **ways):
    return filled(function)
