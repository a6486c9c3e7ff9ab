"""What one file's check depends on besides its bytes: hashable, picklable."""

from __future__ import annotations

from typing import NamedTuple


class Settings(NamedTuple):
    """`codes` are the rules that are on, None stands for every rule; `suppressions` whether comments count.

    With `thorough`, a failure counts that the program itself catches, and a file is run though no walk stands in it.
    """

    codes: frozenset[str] | None = None
    suppressions: bool = True
    thorough: bool = False

    def wants(self, code: str) -> bool:
        return self.codes is None or code in self.codes
