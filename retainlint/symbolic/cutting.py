"""Whether a network that is not followed may cut what it is given off from where that was built."""

from __future__ import annotations

import re

from retainlint import ir
from retainlint.symbolic.between import OWN, said
from retainlint.symbolic.classes import find
from retainlint.symbolic.state import State
from retainlint.symbolic.values import Closure, Value

_CUT = re.compile(r"\.detach_?\(|\bVariable\([^()]*\.data\b")


def may_cut(state: State, obj: Value, forward: ir.Code) -> bool:
    """As one does that begins each call with a detached state: by what its forward says, and the methods of its own that
    this names."""
    reached, waiting = {forward}, [forward]
    while waiting:
        code = waiting.pop()
        if said(_CUT, code):
            return True
        for name in said(OWN, code):
            found = find(state, obj, name)
            if isinstance(found, Closure) and found.code not in reached:
                reached.add(found.code)
                waiting.append(found.code)
    return False
