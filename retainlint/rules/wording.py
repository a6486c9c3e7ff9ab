"""How rules put source text, places and lists into a sentence that fits on one line."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from retainlint.diagnostic import Severity
from retainlint.incident import Condition, Witness
from retainlint.text.source import Source, Span

WIDTH = 44
"""Characters of source text that a sentence can carry."""

CONDITIONS = 6
"""Conditions that a note can carry."""

_PAIRS = {")": "(", "]": "[", "}": "{"}
_CLOSERS = {opener: closer for closer, opener in _PAIRS.items()}
_BRANCHES = {
    "for": ("runs", "runs no iteration"),
    "while": ("runs", "runs no iteration"),
    "except": ("catches", "doesn't catch"),
    "case": ("matches", "doesn't match"),
}
_ANY_FAILURE = re.compile(r"except( Exception| BaseException)?( as \w+)?")
_NOUNS = {
    **dict.fromkeys(("Mul", "Mm", "Mv", "Dot", "Bmm"), ("product", r"[*@]|mul|\bmm|\bmv|dot|einsum")),
    "Div": ("quotient", r"/|div"),
    "Pow": ("power", r"\*\*|pow|square"),
    "Addmm": ("linear layer", r"linear|Linear|addmm"),
    "Convolution": ("convolution", r"[Cc]onv"),
}


def short(text: str, width: int = WIDTH) -> str:
    """Source text on one line: control characters escaped, the longest brackets emptied first, then cut."""
    line = _joined(text)
    line = re.sub(r"(?<=[(\[{]) | (?=[)\]}])", "", line) if line != text else line
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in line)
    line = _emptied(line, width) if len(line) > width else line
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


def _joined(text: str) -> str:
    """The rows of a text on one, without their margins and the backslashes that join them."""
    first, *others = re.split(r"[\r\n\f]+", text.strip())
    rows = [first, *(row.lstrip() for row in others)]
    joined = [row.rstrip().removesuffix("\\").rstrip() for row in rows[:-1]]
    return " ".join(filter(None, [*joined, rows[-1]]))


def code(text: str, width: int = WIDTH) -> str:
    """Source text in backticks, made short."""
    return f"`{short(text, width)}`"


def named(name: str, otherwise: str) -> str:
    """A variable in backticks; words about one ("the loaded weights") as they are; `otherwise` without a name."""
    bare = re.sub(r"(?:\.\w+_\([^()]*\))+$", "", name)  # `w` is what `w.mul_(2)` returns
    return (bare if re.fullmatch(r"[a-z]+(?: [a-z]+)+", bare) else code(bare)) if bare else otherwise


def listed(parts: Sequence[str], most: int = 3) -> str:
    """`a`; `a` and `b`; `a`, `b` and `c`; `a`, `b`, `c` and 4 more."""
    shown = list(parts[:most]) + ([f"{len(parts) - most} more"] if len(parts) > most else [])
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def place(span: Span, home: Source) -> str:
    """`line 9` (`cell 2, line 9`), or `model.py:9` where that is another file than the finding's."""
    if span.source is home:
        return span.line
    text = short(str(span), 1000)
    return text if len(text) <= WIDTH else f"…{text[1 - WIDTH :]}"


def keeps(op: str, saved: tuple[str, ...], text: str) -> str:
    """What the operation written as `text` keeps for the backward pass: "this product saves `t` and `a`"; "" if not known."""
    names = ["its result" if n == "result" else "its input" if n == "self" else code(n, 24) for n in saved if n]
    if not names:
        return ""
    stem = re.sub(r"Backward\w*$", "", op)
    noun, hint = _NOUNS.get(stem, ("", ""))
    if stem and not noun:
        snake_case = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", stem).lower()
        noun, hint = f"`{snake_case}`", rf"(?i:\b_?{re.escape(snake_case)}\b|\b{re.escape(stem)}\b)"
    saves = f"saves {listed(list(dict.fromkeys(names)))}"
    return f"this {noun} {saves}" if noun and re.search(hint, text) else saves


def graded(conditions: tuple[Condition, ...], severity: Severity) -> Severity:
    """A finding that needs two conditions or more, which may exclude each other, is a warning; so is one that needs
    some failure to be caught, of which nobody knows whether it comes."""
    caught = any(each.taken and _ANY_FAILURE.fullmatch(each.span.text) for each in conditions)
    return Severity.WARNING if caught or len(_outcomes(conditions)) > 1 else severity


def circumstances(conditions: tuple[Condition, ...], assumptions: tuple[str, ...], home: Source) -> tuple[str, ...]:
    """The notes that say what a finding rests on; assumptions are clauses ("calling `model` builds a graph")."""
    notes = []
    if conditions:
        every = _outcomes(conditions)
        texts = [_condition_text(outcomes, home) for outcomes in every[:CONDITIONS]] + [""] * len(every[CONDITIONS:])
        together = "; whether they can hold together is unknown" if len(texts) > 1 else ""
        notes.append(f"note: happens if {listed(texts, most=CONDITIONS)}{together}")
    if assumptions:
        notes.append(f"note: assumes that {', and that '.join(assumptions)}")
    return tuple(notes)


def core_note(witness: Witness | None, op: str, sentence: str, when: str, at: str) -> str:
    """What the reference core raised: `when` ("iteration 2", "backward"), at which backward function, built `at`."""
    raised = re.split(r" \(or |[.:](?:\s|$)", witness.error)[0] if witness else sentence
    node = (witness.node if witness else "") or op
    return f'core: {when} raised "{short(raised, 100)}"' + (f" at {short(node)} ({at})" if node and at else "")


def _outcomes(conditions: tuple[Condition, ...]) -> list[dict[bool, Condition]]:
    """Each condition once, with the ways that it went; in a loop it may have gone both."""
    outcomes: dict[Span, dict[bool, Condition]] = {}
    for condition in conditions:
        outcomes.setdefault(condition.span, {}).setdefault(condition.taken, condition)
    return list(outcomes.values())


def _condition_text(outcomes: dict[bool, Condition], home: Source) -> str:
    span = next(iter(outcomes.values())).span
    words = _BRANCHES.get(next(iter(span.text.split()), ""), ("is true", "is false"))
    ways = [
        f"{words[not taken]} in iteration {outcomes[taken].iteration}"
        if outcomes[taken].iteration
        else words[not taken] + (" at one time" if taken else " at another") * (len(outcomes) > 1)
        for taken in sorted(outcomes, reverse=True)
    ]
    return f"{code(span.text)} {' and '.join(ways)} ({place(span, home)})"


def _emptied(line: str, width: int) -> str:
    """The line without the insides of its longest brackets, as many as make it short enough."""
    holes: list[tuple[int, int]] = []
    closings: dict[int, str] = {}
    left = len(line)
    for start, end in sorted(_brackets(line), key=lambda pair: (pair[0] - pair[1], -pair[1])):
        if left <= width:
            break
        at = bisect_right(holes, (start, end))
        if at and holes[at - 1][1] >= end:
            continue  # it lies in one that is emptied
        kept = max(width - (left - (end - start)) - 1, 0) if start == 1 else 0  # nothing stands before it
        lengths = (n for n in range(kept, 0, -1) if n + len(_closing(line[start : start + n])) <= kept)
        begun = len(line[: start + next(lengths, 0)].rstrip())
        closing = _closing(line[start:begun])
        closings[begun] = closing
        holes.insert(at, (begun, end))
        left -= end - begun - 1 - len(closing)
    ends = [0, *(end for _, end in holes)]
    parts = [line[end:start] + f"…{closings[start]}" for end, (start, _) in zip(ends, holes)]
    return "".join(parts) + line[ends[-1] :]


def _closing(part: str) -> str:
    """What closes the brackets that a part of a line leaves open."""
    opened: list[str] = []
    for character in part:
        if character in _CLOSERS:
            opened.append(_CLOSERS[character])
        elif opened and character == opened[-1]:
            opened.pop()
    return "".join(reversed(opened))


def _brackets(line: str) -> Iterator[tuple[int, int]]:
    """Where the insides of brackets start and end that hold anything to be left out."""
    opened: list[tuple[str, int]] = []
    waiting = dict.fromkeys(_PAIRS.values(), 0)
    for at, character in enumerate(line):
        if character in waiting:
            opened.append((character, at))
            waiting[character] += 1
        elif waiting.get(_PAIRS.get(character, "")):
            opener, start = "", 0
            while opener != _PAIRS[character]:  # others are brackets inside a string
                opener, start = opened.pop()
                waiting[opener] -= 1
            if at > start + 2 or line[start + 1 : at] not in ("", "…"):
                yield start + 1, at
