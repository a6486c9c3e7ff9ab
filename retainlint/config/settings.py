"""What one file's check depends on besides its bytes: frozen, hashable, picklable."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """`codes` are the rules that are on, None stands for every rule; `suppressions` whether comments count."""

    codes: frozenset[str] | None = None
    suppressions: bool = True

    def wants(self, code: str) -> bool:
        return self.codes is None or code in self.codes
