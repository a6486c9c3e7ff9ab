"""How `import torch` finds the face for a while."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType

from retainlint.autograd.face.lacking import LackingModule
from retainlint.autograd.face.namespace import build


class _Finder(importlib.abc.MetaPathFinder):
    """Answers for every module below `torch` that isn't there."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname == "torch" or fullname.startswith("torch."):
            raise LackingModule(fullname)
        return None


@contextmanager
def installed() -> Iterator[ModuleType]:
    """Within this block, `import torch` gives the face; afterwards all is as it was."""
    made = build()
    finder = _Finder()
    hidden = {name: sys.modules.pop(name) for name in list(sys.modules) if name == "torch" or name.startswith("torch.")}
    sys.modules.update(made)
    sys.meta_path.insert(0, finder)
    try:
        yield made["torch"]
    finally:
        sys.meta_path.remove(finder)
        for name in made:
            sys.modules.pop(name, None)
        sys.modules.update(hidden)
