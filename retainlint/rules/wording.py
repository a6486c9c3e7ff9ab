"""How rules put source text, places and lists into a sentence that fits on one line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from retainlint.diagnostic import Severity
from retainlint.incident import STAND_INS, Condition, Witness
from retainlint.startup.records import replace
from retainlint.text.quoting import code, short
from retainlint.text.source import Source, Span

CONDITIONS = 6
"""Conditions that a note can carry."""

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


_WORDS = re.compile(r"[a-z]+(?: [a-z]+)+")


def named(name: str, otherwise: str) -> str:
    """A variable in backticks; words about one ("the loaded weights") as they are; `otherwise` without a name."""
    changes = [*re.finditer(r"(?:\.\w+_\([^()]*\))+", name)]
    bare = name[: changes[-1].start()] if changes and changes[-1].end() == len(name) else name  # `w` of `w.mul_(2)`
    return (bare if _WORDS.fullmatch(bare) else code(bare)) if bare else otherwise


def listed(parts: Sequence[str], most: int = 3) -> str:
    """`a`; `a` and `b`; `a`, `b` and `c`; `a`, `b`, `c` and 4 more."""
    shown = list(parts[:most]) + ([f"{len(parts) - most} more"] if len(parts) > most else [])
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def place(span: Span, home: Source) -> str:
    """`line 9` (`cell 2, line 9`), or `model.py:9` where that is another file than the finding's."""
    if span.source is home:
        return span.line
    return short(str(span), 1000)  # whole, to be opened from where it is read


def keeps(op: str, saved: tuple[str, ...], text: str) -> str:
    """What the operation written as `text` keeps for the backward pass: "this product saves `t` and `a`"; "" if not known."""
    said = {"result": "its result", "self": "its input"}
    names = [said.get(n) or (n if _WORDS.fullmatch(n) else code(n, 24)) for n in saved if n]
    if not names:
        return ""
    stem = re.sub(r"Backward\w*$", "", op)
    noun, hint = _NOUNS.get(stem, ("", ""))
    if stem and not noun and re.search(rf"\b{re.escape(stem)}\b", text):
        noun, hint = code(stem), re.escape(stem)  # a function of the program's own
    elif stem and not noun and op == f"{stem}Backward" and op not in STAND_INS:
        return f"{code(stem)} saves {listed(list(dict.fromkeys(names)))}"  # a custom function
    elif stem and not noun:
        snake_case = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", stem).lower()
        noun, hint = f"`{snake_case}`", rf"(?i:\b_?{re.escape(snake_case)}\b|\b{re.escape(stem)}\b)"
    saves = f"saves {listed(list(dict.fromkeys(names)))}"
    return f"this {noun} {saves}" if noun and re.search(hint, text) else saves


def graded(conditions: tuple[Condition, ...], severity: Severity) -> Severity:
    """A finding that needs two conditions or more, which may exclude each other, is a warning; so is one that needs
    some failure to be caught, of which nobody knows whether it comes, or an option to be other than by default."""
    others = any(each.by_default is False for each in conditions)
    caught = any(each.taken and _ANY_FAILURE.fullmatch(each.span.text) for each in conditions)
    return Severity.WARNING if caught or others or len(_outcomes(conditions)) > 1 else severity


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
    of_gradient = re.fullmatch(r"(\w+Backward\d*)Backward", node)
    node = f"the gradient of {of_gradient[1]}" if of_gradient is not None else short(node)
    node = "a call that isn't seen" if node in STAND_INS else node
    return f'core: {when} raised "{short(raised, 100)}"' + (f" at {node} ({at})" if node and at else "")


def _outcomes(conditions: tuple[Condition, ...]) -> list[dict[bool, Condition]]:
    """Each condition once, with the ways that it went; in a loop it may have gone both. Which item was chosen says as well
    which were not."""
    chosen = {each.span for each in conditions if each.item and each.taken}
    outcomes: dict[Span, dict[bool, Condition]] = {}
    for condition in conditions:
        if condition.item and condition.span in chosen and not condition.taken:
            continue
        ways = outcomes.setdefault(condition.span, {})
        other = ways.setdefault(condition.taken, condition)
        if condition.item not in other.item.split(", "):
            ways[condition.taken] = replace(other, item=f"{other.item}, {condition.item}")
    return list(outcomes.values())


_BACKWARD_CALL = re.compile(r"[\w.]{1,200}(?<![a-z])(?:backward|grad)\(|\(.{1,200}\)\.backward\([^()]*\)\Z")


def _condition_text(outcomes: dict[bool, Condition], home: Source) -> str:
    span = next(iter(outcomes.values())).span
    item = next(iter(outcomes.values())).item
    words = _BRANCHES.get(next(iter(span.text.split()), ""), ("is true", "is false"))
    if _BACKWARD_CALL.match(span.text) is not None:  # which doesn't say itself whether it keeps its graph
        words = ("keeps its graph", "keeps no graph")
    words = (f"is the item under {code(item)}", f"is no item under {code(item)}") if item else words
    ways = [
        f"{words[not taken]} in iteration {outcomes[taken].iteration}"
        if outcomes[taken].iteration
        else words[not taken] + (" at one time" if taken else " at another") * (len(outcomes) > 1)
        for taken in sorted(outcomes, reverse=True)
    ]
    other = ", not by default" if all(each.by_default is False for each in outcomes.values()) else ""
    return f"{code(span.text)} {' and '.join(ways)} ({place(span, home)}{other})"
