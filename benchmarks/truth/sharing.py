"""Tells whether a program's walks pass over a common node, and so whether it could have failed: torch is asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchmarks.truth.judging import verdicts
from benchmarks.truth.program import Generated

PROBE = """
import torch as _torch
import torch.autograd as _autograd
_seen = {}
def _below(roots):
    found, ahead = {}, [root.grad_fn for root in roots if hasattr(root, "grad_fn")]
    while ahead:
        node = ahead.pop()
        if node is not None and id(node) not in found and type(node).__name__ != "AccumulateGrad":
            found[id(node)] = node
            ahead += [below for below, _ in node.next_functions]
    return found
def _watched(walk):
    def watching(roots, *args, **kwargs):
        roots = list(roots) if not isinstance(roots, _torch.Tensor) else [roots]
        nodes = _below(roots)
        if nodes.keys() & _seen.keys():
            print("SHARED")
        _seen.update(nodes)
        return walk(roots, *args, **kwargs)
    return watching
_autograd.backward = _watched(_autograd.backward)
_autograd.grad = _watched(_autograd.grad)
"""


def shares(program: Generated, folder: Path) -> bool:
    """Whether two walks of the program met, in the run with all flags off."""
    probed = replace(program, flags=())
    return any("SHARED" in verdict.stdout for verdict in verdicts(probed, PROBE + program.text, folder))
