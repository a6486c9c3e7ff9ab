"""What is timed: the linter, what can't be avoided, and other linters, each as a command for one tree."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping

OURS, WARM, FLOOR, BARE = "retainlint", "retainlint, warm", "floor", "libcst on whole files"


def contenders(path: str, tools: str) -> dict[str, tuple[str, ...]]:
    """Name to command; other linters that aren't installed, in the folder `tools` or on the PATH, are left out."""
    here = (sys.executable, "-m")
    found: dict[str, tuple[str, ...]] = {
        OURS: (*here, "retainlint", "check", "--no-cache", "--isolated", "--quiet", path),
        WARM: (*here, "retainlint", "check", "--isolated", "--quiet", path),
        FLOOR: (*here, "benchmarks.speed.floor", path),
        BARE: (*here, "benchmarks.speed.floor", "--bare", path),
    }
    others = {
        "ruff": ("ruff", "check", "--select", "F", "--no-cache", "--isolated", path),
        "flake8": ("flake8", "--isolated", "--jobs", "1", "--select", "F", path),
        "torchfix": ("torchfix", "--select", "ALL", path),
        "torch-preflight": ("torch-preflight", path),
    }
    for name, (program, *arguments) in others.items():
        place = shutil.which(program, path=os.pathsep.join([tools, os.environ.get("PATH", "")]))
        if place is not None:
            found[name] = (place, *arguments)
    return found


def environment(scratch: str) -> Mapping[str, str]:
    """That of this process, in which Python keeps what it has compiled, in a place of its own."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {
        **inherited,
        "PYTHONPYCACHEPREFIX": scratch,
        "PYTHONPATH": os.getcwd(),
        "RETAINLINT_CACHE_DIR": f"{scratch}.results",
    }
