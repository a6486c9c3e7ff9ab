"""Kills runs that write fixes, at random moments, and looks at what they leave: `python -m benchmarks.fuzz.kills --count 1000`."""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from retainlint.checking import linter
from retainlint.commands.fix import fix
from retainlint.config import Configs, Settings
from retainlint.text.writing import rewrite

FILES = 4

LOOP = """\
import torch
w = torch.ones(2, requires_grad=True)
for _ in range({count}):
    loss = (w * w).sum()
    loss.backward(retain_graph=True)
"""
"""What is fixed drops `retain_graph`, which nothing needs."""

CONFIGS = Configs.alike(Settings())


def texts() -> dict[str, bytes]:
    """Files by name, each with a row that makes it longer than what is written at once."""
    return {
        f"m{number}.py": (LOOP.format(count=number + 2) + f"# {'x' * 300_000}\n").encode() for number in range(FILES)
    }


def write_fixes() -> None:
    """Fix all files of the working directory."""
    result = linter.check(["."], CONFIGS)
    fix(result.diagnostics, (), CONFIGS, write=True)


def rewrite_for_ever() -> None:
    """Put other texts into the place of the files, again and again: whenever this is killed, one is being written."""
    while True:
        for name, before in texts().items():
            rewrite(name, before, before[::-1])
            rewrite(name, before[::-1], before)


def run(folder: Path, deed: Callable[[], None], wait: float | None = None) -> int:
    """Do something with fresh files in another process, killed so many seconds later unless it is done: its exit code."""
    for name, data in texts().items():
        (folder / name).write_bytes(data)
    child = os.fork()
    if child == 0:
        try:
            os.chdir(folder)
            deed()
        finally:
            os._exit(0)
    if wait is not None:
        time.sleep(wait)
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(arguments: Sequence[str] | None = None) -> int:
    """1 if a file was neither as it was nor as it was to become."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz.kills", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="kills (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="(default: %(default)s)")
    asked = parser.parse_args(arguments)
    seen = kill(asked.count, asked.seed)
    print(", ".join(f"{number} {what}" for what, number in sorted(seen.items())))
    return 1 if seen["broken"] else 0


def kill(count: int, seed: int = 0) -> Counter[str]:
    """How many runs were killed, how many were done before, and how their files were found: old, new or broken."""
    dice, seen = random.Random(seed), Counter[str]()
    linter.prepare()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        begun = time.monotonic()
        run(folder, write_fixes)
        whole, after = time.monotonic() - begun, {name: (folder / name).read_bytes() for name in texts()}
        assert not set(after.values()) & set(texts().values()), "nothing was fixed"
        while seen["killed"] < count:
            deed, most = ((write_fixes, whole), (rewrite_for_ever, 0.2))[seen["killed"] % 2]
            seen["killed" if run(folder, deed, dice.uniform(0, most)) else "done"] += 1
            for name, before in texts().items():
                found = (folder / name).read_bytes()
                seen["old" if found == before else "new" if found in (after[name], before[::-1]) else "broken"] += 1
            for scrap in folder.glob(".*"):
                seen["scraps"] += 1
                scrap.unlink()
    return seen


if __name__ == "__main__":
    sys.exit(main())
