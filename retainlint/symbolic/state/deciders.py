"""Where a loop's iteration number decides what becomes of a path: as long as nothing does, iterations that leave the same state are alike."""

from __future__ import annotations

from collections.abc import Iterable

from retainlint import ir


class Deciders:
    """By the run of a loop, the branches (by the identity of their instruction) that its number decided; None stands for what
    is no branch: an index, a key, a call's argument. That stays.

    A branch is `idle` in that run once each of its arms was seen to leave no trace, or both to leave the same state: which
    of them is run makes no difference then.
    """

    def __init__(self) -> None:
        self._of: dict[int, set[int | None]] = {}
        self._traceless: dict[tuple[int, int], set[bool]] = {}

    def __contains__(self, loop: object) -> bool:
        return loop in self._of

    def isdisjoint(self, loops: Iterable[int]) -> bool:
        return self._of.keys().isdisjoint(loops)

    def add(self, loops: Iterable[int], branch: ir.If | None = None) -> bool:
        """Note what decided something; whether it may make a difference."""
        decider = None if branch is None else id(branch)
        found = [loop for loop in loops if branch is None or not self._is_idle(loop, branch)]
        for loop in found:
            self._of.setdefault(loop, set()).add(decider)
        return bool(found)

    def leaves_no_trace(self, loops: Iterable[int], branch: ir.If, arms: Iterable[bool]) -> None:
        """Note that some arms of a branch, if run, change nothing that is needed behind it."""
        for loop in loops:
            self._traceless.setdefault((loop, id(branch)), set()).update(arms)
            if self._is_idle(loop, branch):
                known = self._of.get(loop, set[int | None]())
                known.discard(id(branch))
                if not known:
                    self._of.pop(loop, None)

    def leaves_trace(self, loops: Iterable[int], branch: ir.If) -> None:
        """Note that an arm of a branch has changed something, whatever was seen before."""
        for loop in loops:
            self._traceless.pop((loop, id(branch)), None)
            self._of.setdefault(loop, set()).add(id(branch))

    def _is_idle(self, loop: int, branch: ir.If) -> bool:
        known = self._traceless.get((loop, id(branch)), ())
        return all(arm in known or not block for arm, block in ((True, branch.then), (False, branch.orelse)))
