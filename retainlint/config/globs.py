"""Patterns of paths as ruff understands them: `*` crosses slashes, a pattern without a slash is matched with names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import lru_cache


@lru_cache(maxsize=1024)
def _regex(pattern: str) -> str:
    """`?`, `*`, `**`, `[a-z]`, `[!a]`, `{a,b}` and `\\` as a regular expression for a path with forward slashes."""
    out: list[str] = []
    at, depth = 0, 0
    while at < len(pattern):
        sign = pattern[at]
        at += 1
        if sign == "*":
            start = at - 1
            while pattern[at : at + 1] == "*":
                at += 1
            if at - start > 1 and pattern[at : at + 1] == "/" and pattern[:start][-1:] in ("", "/"):
                out.append("(?:.*/)?")
                at += 1
            else:
                out.append(".*")
        elif sign == "?":
            out.append(".")
        elif sign == "[":
            end = pattern.find("]", at + (2 if pattern[at : at + 1] in ("!", "^") else 1))
            if end < 0:
                out.append(r"\[")
                continue
            inner, at = pattern[at:end], end + 1
            negated = inner[0] in "!^"
            body = re.sub(r"([\\\[\]^&~|])", r"\\\1", inner[1:] if negated else inner)
            out.append(f"[{'^' if negated else ''}{body}]")
        elif sign == "{" and "}" in pattern[at:]:
            depth += 1
            out.append("(?:")
        elif sign == "}" and depth:
            depth -= 1
            out.append(")")
        elif sign == "," and depth:
            out.append("|")
        elif sign == "\\" and at < len(pattern):
            out.append(re.escape(pattern[at]))
            at += 1
        else:
            out.append(re.escape(sign))
    return "".join(out) + ")" * depth


class Globs:
    """Patterns, each with the directory that it is relative to. Those that mean nothing match nothing.

    Most are plain names (`.venv`) or endings (`*.py`): they are looked up, and only the others compiled.
    """

    def __init__(self, patterns: Iterable[tuple[str, str]]) -> None:
        names: set[str] = set()
        endings: set[str] = set()
        odd: list[str] = []
        paths: list[str] = []
        for pattern, root in patterns:
            bare = pattern.rstrip("/")
            if bare.startswith("./"):
                bare = bare[2:]
            if not bare:
                continue
            if _is_plain(bare):
                names.add(bare)
            elif bare[0] == "*" and _is_plain(bare[1:]):
                endings.add(bare[1:])
            else:
                if "/" not in bare:
                    odd.append(_regex(bare))
                paths.append(_regex(bare) if os.path.isabs(bare) else f"{re.escape(_slashed(root))}/{_regex(bare)}")
        self._plain, self._endings = frozenset(names), tuple(endings)
        self._names, self._paths = _compiled(odd), _compiled(paths)

    def match(self, place: str) -> bool:
        """Whether a pattern matches this absolute path, or its last part."""
        name = place[place.rfind(os.sep) + 1 :]
        if name in self._plain or name.endswith(self._endings):
            return True
        if self._names is not None and self._names.fullmatch(name):
            return True
        return self._paths is not None and self._paths.fullmatch(_slashed(place)) is not None

    def cover(self, place: str, root: str) -> bool:
        """Whether a pattern matches this absolute path or a directory between it and `root`, itself left out."""
        while not self.match(place):
            above = os.path.dirname(place)
            if above in (place, root) or len(above) < len(root):
                return False
            place = above
        return True


def _is_plain(pattern: str) -> bool:
    """Whether it stands for a name, and nothing else."""
    return not any(sign in "*?[]{},\\/" for sign in pattern)


def _slashed(place: str) -> str:
    return place.rstrip(os.sep).replace(os.sep, "/")


def _compiled(regexes: list[str]) -> re.Pattern[str] | None:
    right: list[str] = []
    for regex in regexes:
        try:
            re.compile(regex)
        except re.error:  # such as a range that runs backwards
            continue
        right.append(f"(?:{regex})")
    return re.compile("|".join(right), re.DOTALL) if right else None
