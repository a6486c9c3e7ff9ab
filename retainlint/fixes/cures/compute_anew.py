"""A graph computed again before the walk that finds it freed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from retainlint.diagnostic import ComputeAnew, Diagnostic
from retainlint.fixes.code import Code
from retainlint.fixes.edits import Applicability, Fix
from retainlint.fixes.statements import around, calls, copied_before, dependents, reads, writes

MOST = 6
"""Statements that are written a second time; more are a function to be made."""

_SPOILS = re.compile(r"backward|step|grad$")
"""What frees a graph, or changes what it needs."""

_DOES = re.compile(r"backward|step|zero_grad")


def compute_anew(code: Code, cure: ComputeAnew, diagnostic: Diagnostic) -> Iterator[Fix]:
    if cure.backward_pass.source is not code.source or cure.built.source is not code.source:
        return
    backward_pass, built = code.statement(cure.backward_pass.start), code.statement(cure.built.start)
    if backward_pass is None or built is None or backward_pass is built:
        return
    while code.within(backward_pass, code.block(built).statements) is None:
        up = code.parents[built]
        if not isinstance(up, ast.stmt) or isinstance(up, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return
        built = up
    block = code.block(built)
    anchor = around(code, block, backward_pass)
    if anchor is built:
        return
    chain = dependents(built, block.upto(built, anchor), reads(backward_pass))
    again = [each for each in chain if not calls([each], _DOES)]
    if built not in again or len(again) > MOST:
        return
    behind = _behind_what_spoils(again, block.upto(built, anchor))
    place = behind[0] if behind else backward_pass  # what stands there is computed anew as it is, once the rest is
    again = [each for each in again if each not in behind]
    if not again:
        return
    names = ", ".join(sorted(name for name in set().union(*map(writes, again)) if not name.endswith(".*")))
    what = f"`{names}`" if names else f"`{code.of(built)}`"
    yield Fix(Applicability.UNSAFE, f"Compute {what} again before this walk", (copied_before(code, place, again),))


def _behind_what_spoils(chain: list[ast.stmt], between: list[ast.stmt]) -> list[ast.stmt]:
    """Those of some statements that stand behind the last walk or step between what is built and its second walk."""
    spoils = [number for number, each in enumerate(between) if calls([each], _SPOILS)]
    return [each for each in chain if spoils and each in between[spoils[-1] :]]
